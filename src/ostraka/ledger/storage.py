"""What a ledger keeps, and what it asks of whoever keeps it.

The rules of spending are in `book.py` and see only a `Storage`: a file (`sqlite.py`, the only SQL),
or the database of a service. A storage knows nothing about budgets; it keeps rows, and promises:

- *Isolated.* While one transaction writes, no other does, from its first read on: a charge reads
  the sums and then writes new ones.
- *Atomic.* After any exception inside a transaction, everything is as it was before.
- *Durable.* When a writing transaction has been left without an error, it stays.
- *Append-only.* Charges, what was drawn for them, shares, allowances and settlements are neither
  changed nor removed.
- *Exact.* Amounts are Fractions; keep them as text p/q (`Amount.to_text`), never as doubles.

It raises a `LedgerError` if it cannot work, and a `FormatError` if something is damaged.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Protocol, final, runtime_checkable

from ostraka.ledger.amounts import Amount, Cost

__all__ = ["DIGEST", "LONGEST_NOTE", "Account", "Charge", "Rows", "Storage"]

LONGEST_NOTE = 2000
DIGEST = re.compile("[0-9a-f]{64}")


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Charge:
    """One line of the ledger."""

    id: int
    day: str
    cost: Cost
    note: str
    n_parties: int
    certificate: str | None = None
    """Digest of the promise that was charged; None if a bare cost was."""
    digest: str | None = None
    """SHA-256 of the published file; None while no release is recorded."""

    @property
    def is_open(self) -> bool:
        """Charged, but no release recorded: counted as spent."""
        return self.digest is None


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """What one party may spend, what it has spent, and in how many releases."""

    party: str
    budget: Amount
    spent: Amount
    n_releases: int

    @property
    def left(self) -> Amount:
        """Budget minus spent, exactly."""
        return self.budget - self.spent


class Rows(Protocol):
    """What can be read and added within one transaction. Names are canonical, none twice."""

    def unit(self) -> str:
        """Whose loss an account bounds: "party", or "person" for each person of a holder."""

    def budget(self) -> Amount:
        """The budget of every party that has no allowance of its own."""

    def names(self) -> list[str]:
        """Every party that was ever named."""

    def accounts(self, names: Sequence[str]) -> list[Account]:
        """For these parties, in their order: last allowance, running sum, number of charges."""

    def costs(self, names: Sequence[str]) -> Iterable[tuple[str, Cost, int]]:
        """What these parties were charged, from the charges themselves: party, cost, how often."""

    def charges(self, party: str | None = None) -> list[Charge]:
        """All charges, or one party's, oldest first."""

    def shares(self) -> Iterable[tuple[int, str]]:
        """Who took part in what: a charge's number and a party, for all of them."""

    def check(self) -> None:
        """Report whatever damage the storage can find by itself."""

    def add_allowance(self, names: Sequence[str], amount: Amount) -> None:
        """Another budget for these parties, from now on."""

    def add_charge(
        self,
        *,
        day: str,
        cost: Cost,
        note: str,
        certificate: str | None,
        spent: Mapping[str, Amount],
    ) -> int:
        """A charge of all parties in `spent`, whose running sums become these; its number."""

    def add_draw(self, charge: int, numbers: Sequence[int]) -> None:
        """What was drawn for a charge: noise on it already, so that the charge has paid for it."""

    def drawn(self, charge: int) -> list[int] | None:
        """The same; None if nothing was kept for this charge."""

    def add_settlement(self, charge: int, digest: str) -> None:
        """The release of a charge that has none."""


@runtime_checkable
class Storage(Protocol):
    """Where a ledger is kept."""

    @property
    def place(self) -> str:
        """What messages call it: a path, or an address without its password."""

    def transaction(self, *, write: bool) -> AbstractContextManager[Rows]:
        """Everything done inside happens, or, after any error, none of it."""
