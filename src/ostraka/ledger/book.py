"""The ledger: who may still take part, who took part in what, and what it cost.

A charge is made *before* anything is drawn, for all parties of a release or for none. It stays, whatever happens next: a crash between
charge and release leaves an open charge, which counts as spent and is never refunded, for nobody can tell what was seen of the draw.

Nothing computed from private data is kept: names, costs, notes and digests of published files. Of the time only the day, since the time
between two charges would tell how long a computation on private data took.
"""

from __future__ import annotations

import hashlib
import os
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Self, final

from ostraka.errors import BudgetError, FormatError, InputError, LedgerError, ParameterError, WrongTypeError, number
from ostraka.ledger.amounts import Amount, Budget, Cost
from ostraka.ledger.file import PATIENCE, make_file, transaction
from ostraka.ledger.names import names_of, printable
from ostraka.ledger.rows import (
    DIGEST,
    LONGEST_NOTE,
    Account,
    Charge,
    add_charge,
    add_parties,
    all_names,
    check_storage,
    read_accounts,
    read_budget,
    read_charges,
)

__all__ = ["Account", "Charge", "Ledger", "digest_of"]


@final
class Ledger:
    """A ledger in a file. `Ledger.create` makes one, `Ledger(path)` opens one; it may be used by many threads and processes at once."""

    def __init__(self, path: str | os.PathLike[str], *, patience: float = PATIENCE) -> None:
        self.path = Path(path)
        self.patience = number("patience", patience, 0.0, 86400.0)
        with transaction(self.path, self.patience, write=False) as db:
            self._budget = read_budget(db)

    @classmethod
    def create(cls, path: str | os.PathLike[str], budget: Budget) -> Self:
        """A new ledger, with the budget of every party that is not given another."""
        amount = _amount(budget)
        make_file(Path(path), amount.kind.value, amount.to_text())
        return cls(path)

    @property
    def budget(self) -> Amount:
        """The budget of every party that was not given another."""
        return self._budget

    def allow(self, parties: Iterable[str], budget: Budget) -> None:
        """Give some parties another budget of the same kind. Once a party has been charged, its budget can only be lowered."""
        names, amount = names_of(parties), _amount(budget)
        with transaction(self.path, self.patience, write=True) as db:
            for account in read_accounts(db, names):
                _check_allowance(account, amount)
            add_parties(db, names)
            rows = ((amount.to_text(), name) for name in names)
            db.executemany("INSERT INTO allowance (party, amount) SELECT id, ? FROM party WHERE name = ?", rows)

    def charge(self, parties: Iterable[str], cost: Cost, note: str = "") -> Charge:
        """Charge every party of a release, or, if one cannot pay, none. Call it before anything is drawn."""
        if not isinstance(cost, Cost):
            raise WrongTypeError("The cost", cost, "a Cost, for example Cost.of(certificate)")
        names, note = names_of(parties), printable("note", note, LONGEST_NOTE)
        with transaction(self.path, self.patience, write=True) as db:
            after = _spent_after(read_accounts(db, names), cost.amount(read_budget(db).kind))
            add_parties(db, names)
            made = add_charge(db, cost, note, names)
            rows = ((spent, name) for name, spent in after.items())
            db.executemany("UPDATE party SET spent = ?, n_releases = n_releases + 1 WHERE name = ?", rows)
        return made

    def settle(self, charge: Charge | int, digest: str) -> None:
        """Record the release that an open charge was made for, by the SHA-256 of its published file."""
        if not (isinstance(digest, str) and DIGEST.fullmatch(digest)):
            raise ParameterError("digest", got=digest, allowed="the SHA-256 of a published file, in 64 hexadecimal digits: digest_of(path)")
        id_ = charge.id if isinstance(charge, Charge) else charge
        with transaction(self.path, self.patience, write=True) as db:
            found = next((one for one in read_charges(db) if one.id == id_), None)
            if found is None:
                raise LedgerError(self.path, f"has no charge {id_}", "Its history lists them all.", outcome="Nothing was recorded.")
            if found.digest is not None:
                problem = f"has the release {found.digest[:12]}... for charge {id_} already"
                raise LedgerError(self.path, problem, "Charge anew for another release.", outcome="Nothing was recorded.")
            db.execute("INSERT INTO settlement (charge, digest) VALUES (?, ?)", (id_, digest))

    def spent(self, party: str) -> Amount:
        """What a party has spent, open charges included."""
        return self.account(party).spent

    def left(self, party: str) -> Amount:
        """What a party may still spend."""
        return self.account(party).left

    def account(self, party: str) -> Account:
        """A party's account; one that was never named has spent nothing."""
        with transaction(self.path, self.patience, write=False) as db:
            return read_accounts(db, names_of([party]))[0]

    def accounts(self) -> list[Account]:
        """Every party's account, least left first."""
        with transaction(self.path, self.patience, write=False) as db:
            found, whole = read_accounts(db, all_names(db)), read_budget(db)
        return sorted(found, key=lambda account: (account.left.share_of(whole), account.party))

    def history(self, party: str | None = None) -> list[Charge]:
        """All charges, or one party's, oldest first."""
        with transaction(self.path, self.patience, write=False) as db:
            return read_charges(db, None if party is None else names_of([party])[0])

    def open_charges(self) -> list[Charge]:
        """Charged, but no release recorded: an interrupted run, or one that is still going on. They count as spent."""
        return [charge for charge in self.history() if charge.is_open]

    def if_fixed_beforehand(self, party: str, delta: float | None = None) -> float:
        """For information: the ε, at δ, of a party's releases, had all of them been fixed before the first (needs dp-accounting)."""
        from ostraka.ledger.beforehand import composed_epsilon

        budgeted = self.budget.to_dict().get("delta")
        if delta is None and budgeted is None:
            raise ParameterError("delta", got=None, allowed="a δ, in a ledger without one")
        return composed_epsilon([charge.cost for charge in self.history(party)], float(budgeted or 0) if delta is None else delta)

    def audit(self) -> int:
        """Add everything up anew, and return how many charges there are; a file that contradicts itself is refused."""
        taken: dict[str, Counter[Cost]] = {}
        n_parties: Counter[int] = Counter()
        with transaction(self.path, self.patience, write=False) as db:
            check_storage(db)
            charges = {charge.id: charge for charge in read_charges(db)}
            for name, id_ in db.execute("SELECT name, charge FROM share JOIN party ON party.id = share.party"):
                taken.setdefault(name, Counter())[charges[id_].cost] += 1
                n_parties[id_] += 1
            _check_sums(read_accounts(db, all_names(db)), taken)
        if n_parties != {charge.id: charge.n_parties for charge in charges.values()}:
            raise FormatError("ledger", "a charge does not have as many parties as it says")
        return len(charges)

    def __repr__(self) -> str:
        return f"Ledger({str(self.path)!r})"


def digest_of(path: str | os.PathLike[str]) -> str:
    """The SHA-256 of a published file."""
    with Path(path).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _amount(budget: object) -> Amount:
    if not isinstance(budget, Budget):
        raise WrongTypeError("The budget", budget, "a Budget, for example Budget(epsilon=5)")
    return budget.amount


def _spent_after(accounts: list[Account], asked: Amount) -> dict[str, str]:
    """What every party will have spent, or a `BudgetError` if one of them cannot pay."""
    after = {account.party: account.spent + asked for account in accounts}
    poor = [account for account in accounts if not after[account.party].fits(account.budget)]
    if poor:
        raise _too_expensive(poor, asked)
    return {party: total.to_text() for party, total in after.items()}


def _too_expensive(poor: list[Account], asked: Amount) -> BudgetError:
    first = poor[0]
    short = max((a - b) / a for a, b in zip(asked.values, first.left.values, strict=True) if a)
    return BudgetError(first.party, asked=asked, left=first.left, short=float(short), n_others=len(poor) - 1)


def _check_allowance(account: Account, amount: Amount) -> None:
    if amount.kind is not account.budget.kind:
        unit = " and ".join(account.budget.to_dict())
        raise InputError(f"The budget {amount} is of another kind than the ledger's.", f"Give {unit}.")
    if account.n_releases and not amount.fits(account.budget):
        raise InputError(
            f"Party {account.party} has been charged already, and {amount} is more than the {account.budget} that it was promised.",
            "Budgets can be raised before the first charge only.",
        )
    if not account.spent.fits(amount):
        raise InputError(f"Party {account.party} has spent {account.spent} already, more than {amount}.", "Give at least that.")


def _check_sums(accounts: list[Account], taken: dict[str, Counter[Cost]]) -> None:
    """Every party's running sum is the sum of what its charges cost, and within its budget."""
    for account in accounts:
        costs = taken.get(account.party, Counter())
        total = Amount.zero(account.budget.kind)
        for cost, n in costs.items():
            total += cost.amount(total.kind).times(n)
        if (total, costs.total()) != (account.spent, account.n_releases):
            raise FormatError("ledger", f"what party {account.party} has spent is not the sum of its charges")
        if not total.fits(account.budget):
            raise FormatError("ledger", f"party {account.party} has spent {total}, more than its budget {account.budget}")
