"""The library's accounts in the service's database: rows for `ostraka.ledger.Ledger`, and no rules.

A charge that is made for a poll takes the poll's one place for a charge, in the same transaction:
whoever comes second, from whatever host, is refused before anything is drawn for it.

Why not one implementation for this and a ledger's file: that one needs nothing but Python's
sqlite3, and its file is checked down to the schema whenever it is opened, since people mail it.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any, final

from sqlalchemy import (
    Connection,
    String,
    and_,
    cast,
    column,
    exists,
    func,
    insert,
    literal,
    select,
    text,
    update,
)
from sqlalchemy.dialects.postgresql import JSON
from sqlalchemy.exc import DBAPIError, IntegrityError

from ostraka.errors import FormatError, InputError, LedgerError, ServiceError, StateError, printable
from ostraka.ledger import Account, Amount, Charge, Cost, Rows
from ostraka.ledger.amounts import Kind, exact_number, exact_text
from ostraka.ledger.storage import DIGEST, LONGEST_NOTE
from ostraka.service.storage import tables
from ostraka.service.storage.database import Database

__all__ = ["Accounts", "Within", "lock_accounts", "rows_of"]

WHAT = "ledger"


def lock_accounts(connection: Connection) -> None:
    """Until the end of the transaction nobody else charges."""
    connection.execute(select(tables.budget).with_for_update()).all()


def rows_of(connection: Connection) -> Rows:
    """The accounts within a transaction of somebody else's."""
    return _Rows(connection, None)


@final
class Accounts:
    """A `Storage` for a ledger; `poll`: the id of the poll that it charges for, if for one."""

    def __init__(self, database: Database, poll: int | None = None) -> None:
        self._database, self._poll = database, poll

    @property
    def place(self) -> str:
        """The database."""
        return self._database.place

    @contextlib.contextmanager
    def transaction(self, *, write: bool) -> Iterator[Rows]:
        """Writers take turns: they lock the row of the budget, which everybody reads first."""
        opened = self._database.write() if write else self._database.read()
        try:
            with opened as connection:
                if write:
                    lock_accounts(connection)
                yield _Rows(connection, self._poll)
        except ServiceError as error:
            if isinstance(error.__cause__, IntegrityError):
                raise FormatError(WHAT, "it is damaged") from error
            raise self._unanswered(error.__cause__) from error

    def _unanswered(self, cause: BaseException | None) -> LedgerError:
        lost = isinstance(cause, DBAPIError) and cause.connection_invalidated
        outcome = "Nothing was released; whether it was charged is uncertain." if lost else None
        remedy = "Try again: what was charged is found, and is not charged again."
        problem = "does not answer"
        if outcome is None:
            return LedgerError(self.place, problem, remedy)
        return LedgerError(self.place, problem, remedy, outcome=outcome)


@final
class Within:
    """A `Storage` for a ledger in a transaction of somebody else's: what it does ends with that."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    @property
    def place(self) -> str:
        """The database."""
        return self._connection.engine.url.render_as_string(hide_password=True)

    @contextlib.contextmanager
    def transaction(self, *, write: bool) -> Iterator[Rows]:
        """The rows; nobody else charges until the end of the transaction around this one."""
        if write:
            lock_accounts(self._connection)
        yield rows_of(self._connection)


@final
class _Rows:
    """The statements, in a transaction that somebody else ends."""

    def __init__(self, connection: Connection, poll: int | None) -> None:
        self._connection, self._poll = connection, poll

    def unit(self) -> str:
        return str(self._whole()[2])

    def budget(self) -> Amount:
        kind, amount, _ = self._whole()
        return Amount.from_text(Kind(kind), amount)

    def _whole(self) -> tuple[Any, ...]:
        rows = self._connection.execute(
            select(tables.budget.c.kind, tables.budget.c.amount, tables.budget.c.unit)
        ).all()
        known = {kind.value for kind in Kind}
        if len(rows) != 1 or rows[0][0] not in known or rows[0][2] not in ("party", "person"):
            raise FormatError(WHAT, "its budget is missing or of an unknown kind")
        return tuple(rows[0])

    def names(self) -> list[str]:
        query = select(tables.ledger_party.c.name).order_by(tables.ledger_party.c.id)
        return list(self._connection.execute(query).scalars())

    def accounts(self, names: Sequence[str]) -> list[Account]:
        budget, party, asked = self.budget(), tables.ledger_party, self._listed(names)
        zero, read = Amount.zero(budget.kind), dict[str, Amount]()

        def amount(given: str | None, otherwise: Amount) -> Amount:
            if given is None:
                return otherwise
            if given not in read:
                read[given] = Amount.from_text(budget.kind, given)
            return read[given]

        last = (
            select(tables.allowance.c.amount)
            .where(tables.allowance.c.party == party.c.id)
            .order_by(tables.allowance.c.id.desc())
            .limit(1)
            .scalar_subquery()
        )
        query = (
            select(asked.c.value, last, party.c.spent, func.coalesce(party.c.n_releases, 0))
            .select_from(asked.outerjoin(party, party.c.name == asked.c.value))
            .order_by(asked.c.place)
        )
        return [
            Account(
                party=name,
                budget=amount(allowed, budget),
                spent=amount(spent, zero),
                n_releases=n_releases,
            )
            for name, allowed, spent, n_releases in self._connection.execute(query)
        ]

    def costs(self, names: Sequence[str]) -> Iterator[tuple[str, Cost, int]]:
        asked, party, charge = self._listed(names), tables.ledger_party, tables.charge
        cost = (charge.c.epsilon, charge.c.delta, charge.c.rho, charge.c.gaussian)
        query = (
            select(asked.c.value, func.count(), *cost)
            .select_from(
                asked.join(party, party.c.name == asked.c.value)
                .join(tables.share, tables.share.c.party == party.c.id)
                .join(charge, charge.c.id == tables.share.c.charge)
            )
            .group_by(asked.c.value, *cost)
        )
        read: dict[tuple[Any, ...], Cost] = {}
        for name, n, *texts in self._connection.execute(query):
            key = tuple(texts)
            if key not in read:
                read[key] = _cost(*texts)
            yield name, read[key], n

    def charges(self, party: str | None = None) -> list[Charge]:
        charge, settled = tables.charge, tables.settlement
        query = select(
            charge.c.id,
            charge.c.day,
            charge.c.epsilon,
            charge.c.delta,
            charge.c.rho,
            charge.c.gaussian,
            charge.c.note,
            charge.c.n_parties,
            charge.c.certificate,
            settled.c.digest,
        ).select_from(charge.outerjoin(settled, settled.c.charge == charge.c.id))
        if party is not None:
            known = tables.ledger_party
            took_part = and_(
                tables.share.c.charge == charge.c.id,
                tables.share.c.party == known.c.id,
                known.c.name == party,
            )
            query = query.where(exists().where(took_part))
        found = self._connection.execute(query.order_by(charge.c.id))
        return [_charge(tuple(row)) for row in found]

    def shares(self) -> Iterator[tuple[int, str]]:
        query = select(tables.share.c.charge, tables.ledger_party.c.name).join(
            tables.ledger_party, tables.ledger_party.c.id == tables.share.c.party
        )
        yield from (tuple(row) for row in self._connection.execute(query))

    def check(self) -> None:
        """SQLite's own checks of the whole file; PostgreSQL checks pages by itself."""
        if self._connection.dialect.name != "sqlite":
            return
        found = self._connection.execute(text("PRAGMA integrity_check(1)")).scalar_one()
        if found != "ok":
            raise FormatError(WHAT, f"it is damaged ({found})")

    def add_allowance(self, names: Sequence[str], amount: Amount) -> None:
        self._add_parties(names)
        party, asked = tables.ledger_party, self._listed(names)
        chosen = select(party.c.id, literal(amount.to_text())).join(
            asked, party.c.name == asked.c.value
        )
        added = insert(tables.allowance).from_select(["party", "amount"], chosen)
        self._connection.execute(added)

    def add_charge(
        self,
        *,
        day: str,
        cost: Cost,
        note: str,
        certificate: str | None,
        spent: Mapping[str, Amount],
    ) -> int:
        self._add_parties(list(spent))
        added = self._connection.execute(
            insert(tables.charge).values(
                day=day,
                epsilon=_text(cost.epsilon),
                delta=_text(cost.delta),
                rho=_text(cost.rho),
                gaussian=cost.gaussian,
                note=note,
                n_parties=len(spent),
                certificate=certificate,
            )
        )
        (id_,) = added.inserted_primary_key or (0,)
        self._take_place(int(id_))
        self._add_shares(int(id_), spent)
        return int(id_)

    def _take_place(self, id_: int) -> None:
        """One poll has one charge, whoever makes it."""
        if self._poll is None:
            return
        poll = tables.poll
        free = and_(poll.c.id == self._poll, poll.c.state == "closed", poll.c.charge.is_(None))
        taken = self._connection.execute(update(poll).where(free).values(charge=id_))
        if taken.rowcount != 1:
            raise StateError(
                "This poll has been charged already, or has ended.",
                "Ask for its state: its release is made of what was drawn then.",
            )

    def _add_parties(self, names: Sequence[str]) -> None:
        """Rows for those that have none yet."""
        asked, party = self._listed(names), tables.ledger_party
        missing = (
            select(asked.c.value, literal(Amount.zero(self.budget().kind).to_text()), literal(0))
            .where(~exists().where(party.c.name == asked.c.value))
            .order_by(asked.c.place)
        )
        self._connection.execute(
            insert(party).from_select(["name", "spent", "n_releases"], missing)
        )

    def _add_shares(self, id_: int, spent: Mapping[str, Amount]) -> None:
        asked, party = self._listed(list(spent)), tables.ledger_party
        chosen = select(party.c.id, literal(id_)).join(asked, party.c.name == asked.c.value)
        self._connection.execute(insert(tables.share).from_select(["party", "charge"], chosen))
        by_total: dict[str, list[str]] = {}  # most parties have spent the same
        for name, total in spent.items():
            by_total.setdefault(total.to_text(), []).append(name)
        for total_text, names in by_total.items():
            some = select(self._listed(names).c.value)
            self._connection.execute(
                update(party)
                .where(party.c.name.in_(some))
                .values(spent=total_text, n_releases=party.c.n_releases + 1)
            )

    def add_draw(self, charge: int, numbers: Sequence[int]) -> None:
        written = json.dumps(list(numbers), separators=(",", ":"))
        self._connection.execute(insert(tables.drawn).values(charge=charge, numbers=written))

    def drawn(self, charge: int) -> list[int] | None:
        query = select(tables.drawn.c.numbers).where(tables.drawn.c.charge == charge)
        found = self._connection.execute(query).scalar_one_or_none()
        if found is None:
            return None
        with contextlib.suppress(ValueError, RecursionError):
            numbers = json.loads(found)
            if isinstance(numbers, list) and all(type(number) is int for number in numbers):
                return numbers
        raise FormatError(WHAT, f"what was drawn for charge {charge} is damaged")

    def add_settlement(self, charge: int, digest: str) -> None:
        self._connection.execute(insert(tables.settlement).values(charge=charge, digest=digest))

    def _listed(self, names: Sequence[str]) -> Any:
        """Names as a table with the columns value and place, however many they are."""
        written = json.dumps(list(names))
        if self._connection.dialect.name == "sqlite":
            each = func.json_each(written).table_valued(column("value", String), column("key"))
            return select(each.c.value, each.c.key.label("place")).subquery()
        listed = func.json_array_elements_text(cast(literal(written), JSON)).table_valued(
            column("value", String), with_ordinality="place"
        )
        listed = listed.render_derived()
        return select(listed.c.value, listed.c.place).subquery()


def _text(value: float | None) -> str | None:
    return None if value is None else exact_text(Fraction(value))


def _charge(row: tuple[Any, ...]) -> Charge:
    id_, day, epsilon, delta, rho, gaussian, note, n_parties, certificate, digest = row
    if not all(each is None or DIGEST.fullmatch(each) for each in (certificate, digest)):
        raise FormatError(WHAT, f"charge {id_} is damaged")
    try:
        return Charge(
            id=id_,
            day=printable("day", day, 10),
            cost=_cost(epsilon, delta, rho, gaussian),
            note=printable("note", note, LONGEST_NOTE),
            n_parties=n_parties,
            certificate=certificate,
            digest=digest,
        )
    except InputError as error:
        raise FormatError(WHAT, f"charge {id_} is damaged ({error.problem})") from None


def _cost(epsilon: Any, delta: Any, rho: Any, gaussian: Any) -> Cost:
    values = [None if each is None else float(exact_number(each)) for each in (epsilon, delta, rho)]
    return Cost(epsilon=values[0], delta=values[1], rho=values[2], gaussian=bool(gaussian))
