"""The ledger: who may still take part, who took part in what, and what it cost.

A charge is made *before* anything that was drawn is seen, for all parties of a release or for none.
It stays, whatever happens next: an open charge, without a release, counts as spent and is never
refunded, because nobody can tell how much of the draw was seen.

Running sums are never trusted: before a charge is granted, those of its parties are added up again
from their charges, so that a flipped bit cannot give anybody a second budget.

What is drawn is drawn in the very transaction that charges for it, and kept beside the charge:
after a crash there is either no charge, and nobody has seen what was drawn, or a charge with what
it has paid for, of which the release can still be made. Nothing else that was computed from private
data is kept: only names, costs, notes, and digests of what was promised and published. Of the time
only the day is kept, since the time between two charges would reveal how long a computation on
private data took.
"""

from __future__ import annotations

import hashlib
import os
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, Self, final

from ostraka.errors import (
    BudgetError,
    FormatError,
    InputError,
    LedgerError,
    ParameterError,
    WrongTypeError,
    nothing_spent,
    printable,
)
from ostraka.ledger.amounts import Amount, Budget, Cost
from ostraka.ledger.sqlite import SqliteFile
from ostraka.ledger.storage import DIGEST, LONGEST_NOTE, Account, Charge, Rows, Storage
from ostraka.party.names import canonical, canonical_list

if TYPE_CHECKING:
    from ostraka.release.certificate import Certificate

__all__ = ["Ledger", "add_up", "digest_of"]


class _Certified(Protocol):
    @property
    def digest(self) -> str: ...


class _Published(Protocol):
    @property
    def digest(self) -> str: ...

    @property
    def certificate(self) -> _Certified: ...


@final
class Ledger:
    """A ledger, in a file or in another `Storage`. Many threads and processes may use one at once.

    `Ledger.create` makes a file, and `Ledger(path)` opens one; `Ledger(storage)` keeps the same
    rules in a database of your own. Parties go by canonical names (`ostraka.party.names`).
    """

    def __init__(
        self, kept: str | os.PathLike[str] | Storage, *, patience: float | None = None
    ) -> None:
        self.storage = _storage(kept, patience)
        with self.storage.transaction(write=False) as rows:
            self._budget, self._protects = rows.budget(), rows.unit()

    @classmethod
    def create(cls, path: str | os.PathLike[str], budget: Budget, protects: str = "party") -> Self:
        """A new ledger, with this budget for every party that has no other.

        `protects`: whose loss an account bounds, a whole party's, or that of each of its persons.
        """
        if protects not in ("party", "person"):
            raise ParameterError("protects", got=protects, allowed='"party" or "person"')
        return cls(SqliteFile.create(path, _amount(budget), protects))

    @property
    def path(self) -> Path | None:
        """The file, if it is one."""
        return self.storage.path if isinstance(self.storage, SqliteFile) else None

    @property
    def budget(self) -> Amount:
        """The budget of every party that was not given another."""
        return self._budget

    @property
    def protects(self) -> str:
        """Whose loss an account bounds."""
        return self._protects

    def allow(self, parties: Iterable[Any], budget: Budget) -> None:
        """Give some parties another budget of the same kind.

        Once a party has been charged, its budget can only be lowered.
        """
        names, amount = canonical_list(parties), _amount(budget)
        with self.storage.transaction(write=True) as rows:
            for account in _add_up_accounts(rows, names):
                _check_allowance(account, amount)
            rows.add_allowance(names, amount)

    def charge(
        self,
        parties: Iterable[Any],
        cost: Cost | Certificate,
        note: str = "",
        certificate: Certificate | str | None = None,
        draw: Callable[[], Sequence[int]] | None = None,
    ) -> Charge:
        """Charge every party of a release, or, if one cannot pay, none. Call it before the draw.

        Or hand over the draw: it is called when everybody can pay, and what it gives is kept with
        the charge, or forgotten with it. Do not use it before this returns.

        Ideally `cost` is the certificate itself, so that no other release can be recorded for the
        charge. With a bare `Cost`, `certificate` (or its digest) says what was promised.
        """
        with nothing_spent():
            asked, promised = _read_cost(cost, certificate)
            for given in (cost, certificate):
                self._check_unit(getattr(given, "protects", self._protects))
            names, note = canonical_list(parties), printable("note", note, LONGEST_NOTE)
        day = datetime.now(UTC).date().isoformat()
        # A transaction that an error ends changes nothing.
        with nothing_spent(), self.storage.transaction(write=True) as rows:
            accounts = _add_up_accounts(rows, names)
            spent = _spent_after(accounts, asked.amount(rows.budget().kind))
            id_ = rows.add_charge(day=day, cost=asked, note=note, certificate=promised, spent=spent)
            if draw is not None:
                rows.add_draw(id_, draw())
        return Charge(
            id=id_, day=day, cost=asked, note=note, n_parties=len(names), certificate=promised
        )

    def check(self, parties: Iterable[Any], cost: Cost | Certificate) -> None:
        """Refuse what `charge` would refuse at this moment, and charge nobody."""
        asked, _ = _read_cost(cost, None)
        self._check_unit(getattr(cost, "protects", self._protects))
        names = canonical_list(parties)
        with nothing_spent(), self.storage.transaction(write=False) as rows:
            _spent_after(_add_up_accounts(rows, names), asked.amount(rows.budget().kind))

    def drawn(self, charge: Charge | int) -> list[int] | None:
        """What was drawn for a charge, noise included; None if it was not kept."""
        with self.storage.transaction(write=False) as rows:
            return rows.drawn(charge.id if isinstance(charge, Charge) else charge)

    def _check_unit(self, unit: str) -> None:
        """Refuse a release that hides one person in a ledger of whole parties.

        It does not bound what a whole party loses; the other way round it does.
        """
        if unit not in ("party", self._protects):
            raise InputError(
                f"This release protects one {unit}, "
                "but the ledger keeps accounts of whole parties.",
                "Keep it in a ledger of persons: "
                "`ostraka ledger init NEW --protects person ...`, or "
                'Ledger.create(..., protects="person").',
            )

    def settle(self, charge: Charge | int, release: _Published | str) -> None:
        """Record the release that an open charge was made for.

        Its certificate must be the one that was charged. If a bare cost was charged, the SHA-256 of
        the published file is enough.
        """
        digest, promised = _read_release(release)
        id_ = charge.id if isinstance(charge, Charge) else charge
        with self.storage.transaction(write=True) as rows:
            found = next((one for one in rows.charges() if one.id == id_), None)
            if found is None:
                raise self._refuse(f"has no charge {id_}", "Its history lists them all.")
            if found.digest is not None:
                problem = f"has the release {found.digest[:12]}... for charge {id_} already"
                raise self._refuse(problem, "Charge anew for another release.")
            if found.certificate is not None and promised != found.certificate:
                other = "a digest alone does not show" if promised is None else "is not this one's"
                problem = f"made charge {id_} for the certificate {found.certificate[:12]}..., "
                remedy = "Give the release that was made with it."
                raise self._refuse(f"{problem}which {other}", remedy)
            rows.add_settlement(found.id, digest)

    def spent(self, party: Any) -> Amount:
        """What a party has spent, open charges included."""
        return self.account(party).spent

    def left(self, party: Any) -> Amount:
        """What a party may still spend."""
        return self.account(party).left

    def account(self, party: Any) -> Account:
        """A party's account; one that was never named has spent nothing."""
        with self.storage.transaction(write=False) as rows:
            return rows.accounts([canonical(party)])[0]

    def accounts(self) -> list[Account]:
        """Every party's account, least left first."""
        with self.storage.transaction(write=False) as rows:
            found, whole = rows.accounts(rows.names()), rows.budget()
        return sorted(found, key=lambda account: (account.left.share_of(whole), account.party))

    def history(self, party: Any = None) -> list[Charge]:
        """All charges, or one party's, oldest first."""
        with self.storage.transaction(write=False) as rows:
            return rows.charges(None if party is None else canonical(party))

    def open_charges(self) -> list[Charge]:
        """Charges without a recorded release: interrupted, or still going on. Counted as spent."""
        return [charge for charge in self.history() if charge.is_open]

    def if_fixed_beforehand(self, party: Any, delta: float | None = None) -> float:
        """For information: the ε, at δ, of a party's releases, if all had been fixed beforehand.

        Needs dp-accounting.
        """
        from ostraka.ledger.beforehand import compose_epsilon

        budgeted = self.budget.to_dict().get("delta")
        if delta is None and budgeted is None:
            raise ParameterError("delta", got=None, allowed="a δ, in a ledger without one")
        costs = [charge.cost for charge in self.history(party)]
        return compose_epsilon(costs, float(budgeted or 0) if delta is None else delta)

    def audit(self) -> int:
        """Add everything up again, and return how many charges there are.

        A ledger that contradicts itself is refused.
        """
        with self.storage.transaction(write=False) as rows:
            for name in rows.names():
                _check_canonical(name)
            return add_up(rows)

    def _refuse(self, problem: str, remedy: str) -> LedgerError:
        return LedgerError(self.storage.place, problem, remedy, outcome="Nothing was recorded.")

    def __repr__(self) -> str:
        return f"Ledger({self.storage.place!r})"


def digest_of(path: str | os.PathLike[str]) -> str:
    """The SHA-256 of a published file."""
    with Path(path).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def add_up(rows: Rows) -> int:
    """Check every party's sum against its charges one by one; how many charges there are."""
    rows.check()
    charges = {charge.id: charge for charge in rows.charges()}
    taken: defaultdict[str, Counter[Cost]] = defaultdict(Counter)
    n_parties: Counter[int] = Counter()
    for id_, name in rows.shares():
        if id_ not in charges:
            raise FormatError("ledger", f"party {name} has a share in a charge that is not there")
        taken[name][charges[id_].cost] += 1
        n_parties[id_] += 1
    accounts = rows.accounts(rows.names())
    _check_sums(accounts, taken)
    for account in accounts:
        if not account.spent.fits(account.budget):
            problem = f"party {account.party} has spent {account.spent}, more than its budget "
            raise FormatError("ledger", f"{problem}{account.budget}")
    if n_parties != {charge.id: charge.n_parties for charge in charges.values()}:
        raise FormatError("ledger", "a charge does not have as many parties as it says")
    return len(charges)


def _storage(kept: object, patience: float | None) -> Storage:
    if isinstance(kept, str | os.PathLike):
        return SqliteFile(kept) if patience is None else SqliteFile(kept, patience=patience)
    if not isinstance(kept, Storage):
        raise WrongTypeError("The ledger", kept, "a path, or a Storage")
    if patience is not None:
        raise ParameterError("patience", got=patience, allowed="with a path only")
    return kept


def _amount(budget: object) -> Amount:
    if not isinstance(budget, Budget):
        raise WrongTypeError("The budget", budget, "a Budget, for example Budget(epsilon=5)")
    return budget.amount


def _read_cost(cost: object, certificate: object) -> tuple[Cost, str | None]:
    """What is charged, and the digest of what was promised."""
    from ostraka.release.certificate import Certificate

    for given in (cost, certificate):
        if isinstance(given, Certificate):
            asked = Cost.of(given)
            if cost not in (given, asked) or certificate not in (None, given, given.digest):
                remedy = "Charge the certificate alone: it says what it costs."
                raise InputError(f"The certificate, of {asked}, is not that of the cost.", remedy)
            return asked, given.digest
    if not isinstance(cost, Cost):
        needed = "a Certificate, or a Cost, for example Cost.of(certificate)"
        raise WrongTypeError("The cost", cost, needed)
    if not (certificate is None or _is_digest(certificate)):
        allowed = "a Certificate, or its digest in 64 hexadecimal digits"
        raise ParameterError("certificate", got=certificate, allowed=allowed)
    return cost, None if certificate is None else str(certificate)


def _read_release(release: object) -> tuple[str, str | None]:
    """The digest of what was published, and of its certificate if that is known."""
    given: tuple[Any, Any] = (release, None)
    if not isinstance(release, str):
        certificate = getattr(release, "certificate", None)
        given = getattr(release, "digest", None), getattr(certificate, "digest", "")
    digest, promised = given
    if not (_is_digest(digest) and (promised is None or _is_digest(promised))):
        allowed = "a release, or the SHA-256 of a published file in 64 hexadecimal digits: "
        raise ParameterError("release", got=release, allowed=f"{allowed}digest_of(path)")
    return digest, promised


def _is_digest(given: object) -> bool:
    return isinstance(given, str) and DIGEST.fullmatch(given) is not None


def _add_up_accounts(rows: Rows, names: list[str]) -> list[Account]:
    """The accounts, if their running sums are the sums of their charges."""
    accounts = rows.accounts(names)
    taken: defaultdict[str, Counter[Cost]] = defaultdict(Counter)
    for name, cost, n in rows.costs(names):
        taken[name][cost] += n
    _check_sums(accounts, taken)
    return accounts


def _check_sums(accounts: Iterable[Account], taken: defaultdict[str, Counter[Cost]]) -> None:
    """Every party's running sum is the sum of what its charges cost, exactly."""
    totals: dict[frozenset[tuple[Cost, int]], Amount] = {}  # many parties took part in the same
    for account in accounts:
        costs = taken[account.party]
        key = frozenset(costs.items())
        if key not in totals:
            totals[key] = _total(costs, Amount.zero(account.budget.kind))
        if (totals[key], costs.total()) != (account.spent, account.n_releases):
            problem = f"what party {account.party} has spent is not the sum of its charges"
            raise FormatError("ledger", f"it is damaged: {problem}")


def _total(costs: Counter[Cost], zero: Amount) -> Amount:
    total = zero
    for cost, n in costs.items():
        try:
            total += cost.amount(zero.kind).times(n)
        except InputError as error:
            raise FormatError("ledger", f"a charge cannot be counted ({error.problem})") from None
    return total


def _spent_after(accounts: list[Account], asked: Amount) -> dict[str, Amount]:
    """What every party will have spent, or a `BudgetError` if one of them cannot pay."""
    after = {account.party: account.spent + asked for account in accounts}
    poor = [account for account in accounts if not after[account.party].fits(account.budget)]
    if poor:
        raise _too_expensive(poor, asked)
    return after


def _too_expensive(poor: list[Account], asked: Amount) -> BudgetError:
    first = poor[0]
    short = max((a - b) / a for a, b in zip(asked.values, first.left.values, strict=True) if a)
    return BudgetError(
        first.party, asked=asked, left=first.left, short=float(short), n_others=len(poor) - 1
    )


def _check_allowance(account: Account, amount: Amount) -> None:
    if amount.kind is not account.budget.kind:
        unit = " and ".join(account.budget.to_dict())
        problem = f"The budget {amount} is of another kind than the ledger's."
        raise InputError(problem, f"Give {unit}.")
    if account.n_releases and not amount.fits(account.budget):
        raise InputError(
            f"Party {account.party} has been charged already, and {amount} is more than the "
            f"{account.budget} that it was promised.",
            "Budgets can be raised before the first charge only.",
        )
    if not account.spent.fits(amount):
        problem = f"Party {account.party} has spent {account.spent} already, more than {amount}."
        raise InputError(problem, "Give at least that.")


def _check_canonical(name: str) -> None:
    try:
        form = canonical(name)
    except InputError:
        form = ""
    if form != name:
        raise FormatError("ledger", f"the name of party {name} is not in its canonical form")
