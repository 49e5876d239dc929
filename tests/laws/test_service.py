"""One path: over a service, the same contributions give the same sum, and so the same release.

What a party sends over HTTP are the bytes of its contribution's file, and what the service adds up
and publishes goes through the same tally and the same door as in one process and by files.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from ostraka import publishing
from ostraka.exchange import Receipt, Upload
from ostraka.poll import Poll
from ostraka.publishing import Keep
from ostraka.release import Release
from ostraka.service import closing, polls
from ostraka.service.service import Service
from ostraka.service.starting import prepare
from ostraka.tally import Tally
from tests.laws.cases import CASES, Case, M, World, by_files, in_process, vector
from tests.service.api.asking import Api, asking
from tests.service.made import ADMIN, READER, joined, settings_in

every_case = pytest.mark.parametrize("case", CASES, ids=str)


@pytest.fixture
def over_there(tmp_path: Path) -> Iterator[tuple[Service, Api]]:
    """A service with a budget that is large enough for all of it, and a way to ask it."""
    settings = settings_in(tmp_path, epsilon=1000.0, delta=0.5)
    service = prepare(settings).service
    with asking(service, settings) as api:
        yield service, api


def by_service(service: Service, api: Api, poll: Poll, world: World) -> None:
    """Every party over HTTP."""
    polls.add(service, ADMIN, poll.to_bytes())
    polls.open_poll(service, ADMIN, poll.digest)
    for member, (samples, labels) in zip(joined(service, *map(str, range(len(world)))), world):
        asked = Poll.from_bytes(api.get(f"/polls/{poll.digest}/file", member).content)
        made = asked.contribute(samples, labels, member.name)
        body = Upload.create(made.to_bytes(), 1, member.key).to_bytes()
        sent = api.put(f"/polls/{poll.digest}/contribution", member, content=body)
        assert sent.status_code == 200, sent.text
        Receipt.from_bytes(sent.content).check(service.key.public)


def ledgers_start(service: Service, poll: Poll) -> None:
    """A second round needs a ledger that knows the first one."""
    start = poll.method.start
    if start is not None:
        charge = service.ledger().charge(["somebody"], start.certificate)
        service.ledger().settle(charge, start)


@every_case
def test_over_a_service_the_total_and_the_release_are_the_same(
    case: Case, over_there: tuple[Service, Api], monkeypatch: pytest.MonkeyPatch
) -> None:
    service, api = over_there
    poll, world = case.poll(), case.world()
    ledgers_start(service, poll)
    by_service(service, api, poll, world)
    closing.freeze(service, ADMIN, poll.digest)
    seen: list[Tally] = []
    real = publishing.publish

    def noting(poll: Poll, tally: Tally, *, ledger: object, keep: Keep) -> object:
        seen.append(tally)
        return real(poll, tally, ledger=ledger, keep=keep)

    monkeypatch.setattr(closing, "publish", noting)
    closing.finish(service, poll.digest)
    (there,) = seen
    for here in (in_process(poll, world), by_files(poll, world)):
        assert (here.total == there.total).all()
        assert here.n_units == there.n_units == M
        assert vector(poll, here) == vector(poll, there)
    release = Release.from_bytes(closing.release(service, poll.digest, READER)[0])
    stated = release if poll.judged is None else release.evaluations[-1]
    assert stated.certificate == poll.certificate(M)
