"""What every method obeys where two servers add up what neither of them can read."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from ostraka.errors import InputError, ParameterError
from ostraka.ledger import Budget, Ledger
from ostraka.mechanism import Entropy, Rehearsal
from ostraka.mechanism.gaussian import RoundedGaussian
from ostraka.mechanism.laplace import DiscreteLaplace
from ostraka.mechanism.laws import Law, UnitL2, verify
from ostraka.party.contribution import Contribution
from ostraka.poll import Poll
from ostraka.publishing import publish
from ostraka.release import Rehearsed, Release
from ostraka.sealing.shares import centre
from ostraka.tally import Tally
from tests.laws.cases import Case, M, allowed, distance, replacements, stated
from tests.laws.sealed import (
    REFUSED,
    SEALABLE,
    add_plain,
    ask,
    join,
    new_desk,
    sealed_poll,
    send,
    send_plain,
    servers_with,
)
from tests.sealing.made import SERVERS

sealable = pytest.mark.parametrize("case", SEALABLE, ids=str)


@sealable
def test_a_poll_has_one_form(case: Case) -> None:
    poll = sealed_poll(case)
    again = Poll.from_bytes(poll.to_bytes())
    assert again.digest == poll.digest
    assert again.promise == poll.promise
    assert again.domain == poll.domain
    assert poll.digest != case.poll().digest


@sealable
def test_what_is_sent_has_one_size_and_one_form(case: Case) -> None:
    """Whatever the party has."""
    poll = sealed_poll(case)
    sent = send(poll, case.world())
    assert len({len(each.to_bytes()) for each in sent}) == 1
    for each in sent:
        assert Contribution.from_bytes(each.to_bytes()) == each


@sealable
def test_both_halves_are_the_plain_sum_to_the_last_bit(
    case: Case, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With both noises away: they are the only difference."""
    for law in (DiscreteLaplace, UnitL2, RoundedGaussian):
        monkeypatch.setattr(law, "noise", lambda self, source: [0] * self.dimension)
    desk = new_desk(tmp_path / "desk")
    poll = sealed_poll(case, servers_with(desk))
    plain = send_plain(poll, case.world())
    sent = [poll_seal(poll, each) for each in plain]
    request = ask(poll, sent)
    tally = join(poll, request, desk.answer(request), sent)
    assert tally.shares is not None
    assert centre(tally.shares.total) == [int(unit) for unit in add_plain(poll, case.world()).total]
    assert tally.n_units == M


def poll_seal(poll: Poll, plain: Contribution) -> Contribution:
    from ostraka.party.sealed import seal

    assert poll.promise.servers is not None
    return seal(plain, poll.promise.servers)


@sealable
def test_from_parties_to_a_release(case: Case, tmp_path: Path) -> None:
    """Both servers with ledgers; the certificate says whom one must trust."""
    desk = new_desk(tmp_path / "desk")
    poll = sealed_poll(case, servers_with(desk))
    book = Ledger.create(tmp_path / "b.db", Budget(epsilon=1000.0, delta=0.5))
    start = poll.method.start
    if start is not None:
        book.settle(book.charge(["somebody"], start.certificate), start)
    sent = send(poll, case.world())
    request = ask(poll, sent)
    tally = join(poll, request, desk.answer(request), sent)
    release = publish(poll, tally, ledger=book)
    assert isinstance(release, Release)
    promised = stated(release, case).certificate
    assert promised == poll.certificate(M)
    assert promised.servers == servers_with(desk).names
    assert promised.n_noises == 2
    assert verify(promised) <= promised.round_delta
    plain = case.poll().certificate(M)
    assert (promised.noise, promised.epsilon) == (plain.noise, plain.epsilon)
    for each in servers_with(desk).names:
        assert each in str(promised)
    (charge,) = desk.ledger.history()
    assert charge.certificate == promised.digest
    assert book.history()[-1].certificate == promised.digest
    assert Release.from_bytes(release.to_bytes()).digest == release.digest


@sealable
def test_either_noise_is_the_whole_noise(case: Case) -> None:
    """And together they have twice its variance, by which all that follows is told."""
    poll = sealed_poll(case)
    mechanism = poll.mechanism(M)
    one, scale = poll.method.mechanism(poll.promise, M), Fraction(mechanism.noise_scale)
    if mechanism.delta == 0.0:
        assert scale * Fraction(poll.promise.epsilon) >= Fraction(mechanism.sensitivity)
    assert one.law == mechanism.law
    alone = replace(mechanism, n_noises=1)
    assert mechanism.deviation == pytest.approx(np.sqrt(2.0) * alone.deviation)


@sealable
def test_no_replacement_moves_the_sum_further_than_promised(case: Case) -> None:
    """Of parties that run this code: nobody can check what they have sealed."""
    poll, world = sealed_poll(case), case.world()
    certificate = poll.certificate(M)
    (before,) = send_plain(poll, world[4:5])
    for other in replacements(case):
        (after,) = send_plain(poll, [other])
        gap = distance(before.values.tolist(), after.values.tolist(), certificate)
        assert gap <= allowed(certificate)


@sealable
def test_a_rehearsal_is_made_in_the_clear_and_never_released(case: Case) -> None:
    poll, world = sealed_poll(case), case.world()
    tally = add_plain(poll, world)
    assert isinstance(publish(poll, tally, Rehearsal(0)), Rehearsed)
    with pytest.raises(InputError, match="answer is not there yet"):
        publish(poll, tally)
    with pytest.raises(ParameterError, match="in the clear"):
        publish(poll, Tally(poll), Rehearsal(0))


@sealable
def test_without_the_trustee_nothing_is_released(case: Case) -> None:
    """And what the coordinator holds looks like chance; it is tested in tests/sealing."""
    poll, world = sealed_poll(case), case.world()
    tally = Tally(poll)
    for name, rows in enumerate(world):
        with pytest.raises(InputError, match="no server has what parties send in the clear"):
            tally.add(poll.contribute(*rows, name))
    with pytest.raises(InputError, match="answer is not there yet"):
        publish(poll, tally)


@pytest.mark.parametrize("case", REFUSED, ids=str)
def test_methods_that_need_checked_ballots_are_refused_by_name(case: Case) -> None:
    with pytest.raises(ParameterError, match=f"none for method '{case.method}'"):
        sealed_poll(case)


def test_plain_and_sealed_do_not_mix() -> None:
    case = Case("cells", 2)
    plain, sealed = case.poll(), sealed_poll(case)
    rows = case.world()[0]
    (in_clear,) = send_plain(sealed, [rows])
    with pytest.raises(InputError, match="a contribution in the clear, which this poll"):
        Tally(sealed).check(in_clear)
    moved = sealed.contribute(*rows, 0)
    object.__setattr__(moved, "poll", plain.digest)
    with pytest.raises(InputError, match="a sealed contribution, which this poll"):
        Tally(plain).add(moved)
    with pytest.raises(InputError, match="not sealed"):
        Tally(plain).add_share("a", np.zeros(1, dtype=np.uint64), None)


def test_laws_are_all_there_are() -> None:
    """Each has noise of any size, drawn without what it hides: the trustee's proof names them."""
    from typing import get_args

    assert set(get_args(Law)) == {UnitL2, DiscreteLaplace, RoundedGaussian}
    for law in get_args(Law):
        assert len(law(scale=3.0, dimension=4).noise(Entropy())) == 4


@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_sealed_second_round_rests_on_the_same_two_servers(n_classes: int) -> None:
    """Else its certificate would add up what somebody could read in the clear."""
    case = Case("refine", n_classes)
    assert sealed_poll(case).certificate(M).servers == SERVERS.names
    public = case.auxiliary()
    first = Case("moments", n_classes).poll()
    model = first.model(np.zeros(first.mechanism(M).dimension), first.mechanism(M))
    start = Release(model=model, certificate=first.certificate(M))
    with pytest.raises(ParameterError, match="same coordinator and trustee"):
        Poll.create(public, method="refine", epsilon=1.0, parties=M, start=start, servers=SERVERS)


def test_moments_of_votes_and_servers_go_together() -> None:
    """Ballots cannot be added up by two servers; moments can be checked by none."""
    plain, sealed = (Case("consensus", 3).poll(**more) for more in ({}, {"servers": SERVERS}))
    with pytest.raises(ParameterError, match="parties send ballots that"):
        replace(sealed, method=plain.method)
    with pytest.raises(ParameterError, match="coarse"):
        replace(plain, method=sealed.method)


@sealable
def test_a_party_looks_at_its_own_vector_before_it_seals_it(
    case: Case, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody can, afterwards. The mutant computes vectors that are too long."""
    poll = sealed_poll(case)
    real = type(poll.method).contribute

    def longer(self: object, parties: object, work: object) -> object:
        for names, units in real(self, parties, work):
            yield names, units + 2 * poll.domain.length  # type: ignore[union-attr]

    monkeypatch.setattr(type(poll.method), "contribute", longer)
    with pytest.raises(InputError, match="outside the"):
        poll.contribute(*case.world()[0], "a")
