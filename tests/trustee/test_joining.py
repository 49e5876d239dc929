"""The coordinator's half: the very parties that the trustee has counted."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from ostraka.errors import (
    InputError,
    KeyMismatchError,
    OtherPollError,
    ParameterError,
    SealError,
    SignatureError,
    StateError,
    TooFewPartiesError,
)
from ostraka.ledger import Budget, Ledger
from ostraka.party.contribution import Contribution
from ostraka.poll import Poll
from ostraka.publishing import earlier_charges, publish
from ostraka.release import Release
from ostraka.trustee import Answer, Asking, Joining, Request
from tests.laws.cases import M
from tests.laws.sealed import ask, join, new_desk, send
from tests.sealing.made import COORDINATOR, TRUSTEE
from tests.trustee.conftest import CASE, Made


def broken(made: Made, place: int, at: int) -> None:
    """One bit of a party's contribution is turned."""
    values = made.sent[place].values.copy()
    values[at] ^= 1
    made.sent[place] = replace(made.sent[place], values=values)


def test_a_half_that_the_trustee_cannot_open_falls_out_on_both_sides(
    made: Made, tmp_path: Path
) -> None:
    broken(made, 2, 60)
    request = made.request
    assert len(request.entries) == M, "the coordinator cannot see it"
    answer = made.desk.answer(request)
    assert answer.left_out == ("2",)
    joining = Joining(made.poll, request, answer, COORDINATOR)
    for given in made.sent:
        if given.party == "2":
            with pytest.raises(InputError, match="left out on both sides"):
                joining.add(given)
        else:
            joining.add(given)
    tally = joining.tally()
    assert tally.names == [str(j) for j in range(M) if j != 2]
    book = Ledger.create(tmp_path / "b.db", Budget(epsilon=5.0))
    release = publish(made.poll, tally, ledger=book)
    assert isinstance(release, Release)
    assert release.certificate.parties == M - 1
    (charge,) = made.desk.ledger.history()
    assert charge.n_parties == M - 1
    assert made.desk.ledger.account("2").spent.to_dict()["epsilon"] == 0


def test_a_half_that_the_coordinator_cannot_open_is_never_asked_about(made: Made) -> None:
    broken(made, 2, 100)
    asking = Asking(made.poll, COORDINATOR)
    for given in made.sent[:2]:
        asking.add(given)
    with pytest.raises(SealError, match="party 2 has sealed to the coordinator"):
        asking.add(made.sent[2])
    assert asking.names == ["0", "1"]


def test_what_came_later_does_not_count(made: Made) -> None:
    request, late = ask(made.poll, made.sent[1:]), made.sent[0]
    answer = made.desk.answer(request)
    joining = Joining(made.poll, request, answer, COORDINATOR)
    with pytest.raises(InputError, match="was not in the request"):
        joining.add(late)
    changed = made.poll.contribute(*CASE.world()[3], 3)
    with pytest.raises(InputError, match="was not in the request"):
        joining.add(changed)


def test_somebody_who_is_missing_stops_it(made: Made) -> None:
    """Else the sum would be of two different sets, and worth nothing."""
    request = made.request
    answer = made.desk.answer(request)
    with pytest.raises(StateError, match="has counted party 7, and what 7 sent is not here"):
        join(made.poll, request, answer, made.sent[:-1])
    with pytest.raises(StateError, match="what 5 and 2 more sent"):
        join(made.poll, request, answer, made.sent[:-3])


def test_a_party_counts_once(made: Made) -> None:
    asking = Asking(made.poll, COORDINATOR)
    asking.add(made.sent[0])
    with pytest.raises(InputError, match="is in already"):
        asking.add(made.sent[0])
    request = made.request
    joining = Joining(made.poll, request, made.desk.answer(request), COORDINATOR)
    joining.add(made.sent[0])
    with pytest.raises(InputError):
        joining.add(made.sent[0])


def test_only_the_coordinators_key_opens(made: Made) -> None:
    for what in (Asking, lambda *a: Joining(made.poll, made.request, None, a[1])):  # type: ignore[arg-type]
        with pytest.raises(KeyMismatchError, match=r"Give the secret key of St\. Mary"):
            what(made.poll, TRUSTEE)


def test_an_answer_is_for_one_request(made: Made) -> None:
    answer = made.desk.answer(made.request)
    other = ask(made.poll, made.sent[1:])
    with pytest.raises(InputError, match="the answer to another request"):
        Joining(made.poll, other, answer, COORDINATOR)


@pytest.mark.parametrize("what", ["share", "left_out", "poll", "request"])
def test_an_answer_that_was_changed(made: Made, what: str) -> None:
    answer = made.desk.answer(made.request)
    share = answer.share.copy()
    share[0] += np.uint64(1)
    values = {"share": share, "left_out": ("3",), "poll": "ab" * 32, "request": "ab" * 32}
    changed = replace(answer, **{what: values[what]})
    with pytest.raises(SignatureError):
        Joining(made.poll, made.request, changed, COORDINATOR)


def test_an_answer_of_somebody_else(made: Made) -> None:
    """Who has the request, and is not the trustee."""
    request = made.request
    forged = Answer.sign(
        request, (), np.zeros(made.poll.domain.dimension, dtype=np.uint64), COORDINATOR
    )
    with pytest.raises(SignatureError):
        Joining(made.poll, request, forged, COORDINATOR)


def test_too_few_are_not_asked_about(made: Made) -> None:
    asking = Asking(made.poll, COORDINATOR)
    asking.add(made.sent[0])
    with pytest.raises(TooFewPartiesError):
        asking.request()


def test_another_poll(made: Made, tmp_path_factory: pytest.TempPathFactory) -> None:
    from tests.laws.sealed import sealed_poll, servers_with

    desk = new_desk(tmp_path_factory.mktemp("other") / "desk")
    poll = sealed_poll(CASE, servers_with(desk))
    with pytest.raises(OtherPollError):
        Asking(poll, COORDINATOR).add(made.sent[0])
    request = ask(poll, send(poll, CASE.world()))
    with pytest.raises(InputError, match="for another poll"):
        Joining(made.poll, request, made.desk.answer(made.request), COORDINATOR)
    with pytest.raises(InputError, match="names another trustee"):
        made.desk.answer(request)
    assert isinstance(request, Request)


def test_without_a_ledger_nothing_is_released(made: Made) -> None:
    """A trustee that answers twice would have two draws of the coordinator's noise."""
    tally = join(made.poll, made.request, made.desk.answer(made.request), made.sent)
    with pytest.raises(ParameterError, match=r"ledger is missing.*Nothing was drawn"):
        publish(made.poll, tally)


def of_persons(made: Made) -> tuple[Poll, list[Contribution]]:
    """Three holders of some persons each."""
    servers = made.poll.promise.servers
    poll = CASE.poll(servers=servers, protects="person", parties=None, persons=20, title="Persons")
    rows, labels = CASE.world()[4]
    names = [f"p{i % 5}" for i in range(len(labels))]
    return poll, [poll.contribute(rows, labels, holder, persons=names) for holder in "abc"]


def test_a_second_answer_is_no_second_release_of_persons_either(made: Made, tmp_path: Path) -> None:
    """However many persons a dishonest trustee leaves out: the charge names its poll."""
    poll, sent = of_persons(made)
    request = ask(poll, sent)
    book = Ledger.create(tmp_path / "b.db", Budget(epsilon=5.0), "person")
    zeros = np.zeros(poll.domain.dimension, dtype=np.uint64)
    for left_out in ((), ("a",), ("b",)):
        answer = Answer.sign(request, left_out, zeros, made.desk.secret)
        tally = join(poll, request, answer, [each for each in sent if each.party not in left_out])
        assert len(earlier_charges(poll, tally, book)) == (0 if not left_out else 1)
        if not left_out:
            publish(poll, tally, ledger=book)


def test_what_was_changed_after_the_request_does_not_count(made: Made) -> None:
    """Not the coordinator's half, nor how many persons there are."""
    poll, sent = of_persons(made)
    request = ask(poll, sent)
    zeros = np.zeros(poll.domain.dimension, dtype=np.uint64)
    answer = Answer.sign(request, (), zeros, made.desk.secret)
    other = poll.contribute(*CASE.world()[4], "a", persons=list(range(30)))
    swapped = other.values.copy()
    swapped[:80] = sent[0].values[:80]
    for changed in (replace(other, values=swapped), replace(sent[0], n_persons=1_000_000)):
        joining = Joining(poll, request, answer, COORDINATOR)
        with pytest.raises(InputError, match="was not in the request"):
            joining.add(changed)
