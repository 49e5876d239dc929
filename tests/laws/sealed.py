"""Sealed polls, their parties and both servers, in one process: what tests on them share."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
from scipy import stats

from ostraka.ledger import Budget
from ostraka.mechanism.laplace import DiscreteLaplace
from ostraka.mechanism.laws import Law
from ostraka.party.contribution import Contribution
from ostraka.party.sealed import FOR_TRUSTEE
from ostraka.poll import Poll, asking
from ostraka.sealing import Servers
from ostraka.sealing.envelope import PUBLIC_BYTES
from ostraka.sealing.shares import Share
from ostraka.tally import Tally
from ostraka.trustee import Answer, Asking, Desk, Joining, Request
from tests.laws.cases import CASES, Case, World
from tests.sealing.made import COORDINATOR, SERVERS

SEALABLE = [case for case in CASES if case.method not in ("soft", "vote")]
REFUSED = [case for case in CASES if case.method in ("soft", "vote")]


def sealed_poll(case: Case, servers: Servers = SERVERS, **changes: Any) -> Poll:
    return case.poll(servers=servers, **changes)


def send(poll: Poll, world: World) -> list[Contribution]:
    """What every party sends."""
    return [poll.contribute(*rows, party) for party, rows in enumerate(world)]


def send_plain(poll: Poll, world: World) -> list[Contribution]:
    """The same, before it is sealed."""
    with mock.patch.object(asking, "seal", lambda plain, servers: plain):
        return send(poll, world)


def add_plain(poll: Poll, world: World) -> Tally:
    """The sum that nobody has, but a rehearsal."""
    tally = Tally(poll, rehearsal=True)
    for given in send_plain(poll, world):
        tally.add(given)
    return tally


def ask(poll: Poll, sent: list[Contribution]) -> Request:
    """By the coordinator; through the form in which it travels."""
    asking_ = Asking(poll, COORDINATOR)
    for given in sent:
        asking_.add(given)
    return Request.from_bytes(asking_.request().to_bytes())


def join(poll: Poll, request: Request, answer: Answer, sent: list[Contribution]) -> Tally:
    """By the coordinator, of what arrives."""
    joining = Joining(poll, request, Answer.from_bytes(answer.to_bytes()), COORDINATOR)
    for given in sent:
        joining.add(given)
    return joining.tally()


def new_desk(folder: Path, **budget: float) -> Desk:
    """A trustee of its own, whose accounts are large enough."""
    given = {"epsilon": 1000.0, "delta": 0.5, **budget}
    return Desk.create(folder, "Desk", Budget(**given))


def servers_with(desk: Desk) -> Servers:
    return Servers(coordinator=SERVERS.coordinator, trustee=desk.card)


def is_whole_noise(noise: Sequence[int], law: Law) -> bool:
    """Whether this is as large as one draw of a pure law; wrong once in 1e6.

    In the law's own norm (L1, or L2) it is Gamma(D) times the scale, but for rounding.
    """
    found = np.array([float(number) for number in noise])
    length = np.abs(found).sum() if isinstance(law, DiscreteLaplace) else np.linalg.norm(found)
    least, most = stats.gamma.ppf([5e-7, 1.0 - 5e-7], law.dimension) * law.scale
    return bool(least < length < most)


def look_like_chance(contributions: Sequence[Contribution], shares: Sequence[Share]) -> bool:
    """Whether no byte value is commoner than others in any of them; wrong once in 1e6 each.

    Without the ephemeral keys of envelopes: of 256 bits of such a key the highest is always 0.
    """
    sent = [np.delete(each.values, EPHEMERAL) for each in contributions]
    seen = (np.concatenate(sent), np.concatenate(list(shares)))
    counted = (np.bincount(each.view(np.uint8), minlength=256) for each in seen)
    return all(stats.chisquare(counts).pvalue > 1e-6 for counts in counted)


EPHEMERAL = np.r_[0:PUBLIC_BYTES, FOR_TRUSTEE : FOR_TRUSTEE + PUBLIC_BYTES]
