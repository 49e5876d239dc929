"""What the tests of the ledger are made of: certificates, releases, and a storage in memory."""

from __future__ import annotations

import copy
import threading
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from types import SimpleNamespace
from typing import Any

from ostraka.errors import FormatError
from ostraka.ledger import Account, Amount, Budget, Charge, Cost, Ledger, Rows, Storage
from ostraka.release.certificate import Certificate, NoisySum, sum_up


def a_certificate(epsilon: float = 0.5, delta: float = 0.0, **changes: Any) -> Certificate:
    """Of a moments release, Gaussian if there is a δ."""
    scale = 2.0 / epsilon if delta == 0.0 else 64.0
    start = (changes.get("start_epsilon", 0.0), changes.get("start_delta", 0.0))
    given: dict[str, Any] = {
        "method": "moments",
        "epsilon": sum_up(epsilon, start[0]),
        "delta": sum_up(delta, start[1]),
        "round_epsilon": epsilon,
        "round_delta": delta,
        "neighbours": "replace one party",
        "parties": 3,
        "auxiliary_samples": 100,
        "auxiliary_digest": "ab" * 32,
        "sensitivity": 2.0,
        "noise": "l2" if delta == 0.0 else "gaussian",
        "noise_scale": scale,
        "rho": None if delta == 0.0 else 2.0**-10,
        "grid": 2.0**-20,
        "dimension": 7,
        "coordinates": "all features",
        "particular": NoisySum(radius=1.0),
    }
    return Certificate(**{**given, **changes})


def a_release(certificate: Certificate, digest: str = "0123456789abcdef" * 4) -> Any:
    """Whatever was published under a certificate."""
    return SimpleNamespace(digest=digest, certificate=certificate)


@dataclass
class Kept:
    """Rows in lists and dictionaries."""

    whole: Amount
    spent: dict[str, Amount] = field(default_factory=dict)
    allowed: dict[str, Amount] = field(default_factory=dict)
    lines: list[tuple[Charge, tuple[str, ...]]] = field(default_factory=list)
    settled: dict[int, str] = field(default_factory=dict)
    kept: dict[int, list[int]] = field(default_factory=dict)

    def unit(self) -> str:
        return "party"

    def budget(self) -> Amount:
        return self.whole

    def names(self) -> list[str]:
        return list(self.spent)

    def accounts(self, names: Sequence[str]) -> list[Account]:
        zero = Amount.zero(self.whole.kind)
        return [
            Account(
                party=name,
                budget=self.allowed.get(name, self.whole),
                spent=self.spent.get(name, zero),
                n_releases=sum(name in parties for _, parties in self.lines),
            )
            for name in names
        ]

    def costs(self, names: Sequence[str]) -> Iterable[tuple[str, Cost, int]]:
        for name in names:
            found = Counter(charge.cost for charge, parties in self.lines if name in parties)
            yield from ((name, cost, n) for cost, n in found.items())

    def charges(self, party: str | None = None) -> list[Charge]:
        return [
            replace(charge, digest=self.settled.get(charge.id))
            for charge, parties in self.lines
            if party is None or party in parties
        ]

    def shares(self) -> Iterable[tuple[int, str]]:
        return [(charge.id, name) for charge, parties in self.lines for name in parties]

    def check(self) -> None:
        if not set(self.settled) <= {charge.id for charge, _ in self.lines}:
            raise FormatError("ledger", "a release of no charge")

    def add_allowance(self, names: Sequence[str], amount: Amount) -> None:
        for name in names:
            self.spent.setdefault(name, Amount.zero(self.whole.kind))
            self.allowed[name] = amount

    def add_charge(
        self,
        *,
        day: str,
        cost: Cost,
        note: str,
        certificate: str | None,
        spent: Mapping[str, Amount],
    ) -> int:
        id_ = len(self.lines) + 1
        charge = Charge(
            id=id_, day=day, cost=cost, note=note, n_parties=len(spent), certificate=certificate
        )
        self.lines.append((charge, tuple(spent)))
        self.spent.update(spent)
        return id_

    def add_draw(self, charge: int, numbers: Sequence[int]) -> None:
        self.kept[charge] = list(numbers)

    def drawn(self, charge: int) -> list[int] | None:
        return self.kept.get(charge)

    def add_settlement(self, charge: int, digest: str) -> None:
        self.settled[charge] = digest


class InMemory:
    """A `Storage` as a service might write one; this one forgets when the process ends."""

    place = "memory"

    def __init__(self, budget: Amount) -> None:
        self.kept = Kept(budget)
        self.lock = threading.Lock()

    @contextmanager
    def transaction(self, *, write: bool) -> Iterator[Rows]:
        with self.lock:
            before = copy.deepcopy(self.kept)
            try:
                yield self.kept
            except BaseException:
                self.kept = before
                raise
            assert write or self.kept == before


def in_memory(budget: Budget) -> Ledger:
    """A ledger without a file."""
    storage: Storage = InMemory(budget.amount)
    return Ledger(storage)
