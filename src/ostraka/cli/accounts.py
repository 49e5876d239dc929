"""`ostraka ledger` at a service: the same questions, asked over there by an admin."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from ostraka.cli.members import member_of, say_amount
from ostraka.cli.screen import console

if TYPE_CHECKING:
    from ostraka.client import Client
    from ostraka.ledger import Budget

__all__ = ["allow_at", "history_at", "show_at"]


def show_at(
    address: str, party: str | None, *, few: int | None, json: bool, plain: bool, site: Path | None
) -> None:
    """What parties have spent and have left; least left first."""
    from dataclasses import asdict

    from ostraka.party.names import canonical

    with member_of(site, address, "admin", plain=plain).session() as (_, client):
        terms = client.terms()
        search = "" if party is None else str(canonical(party))
        found = [each for each in client.accounts(search) if search in ("", each.party)]
    if json:
        _echo({"budget": terms.budget, "parties": [asdict(each) for each in found]})
        return
    found.sort(key=lambda each: (list(each.left.values()), each.party))
    shown = found[:few]
    whose = "party" if terms.protects == "party" else "person of every party"
    print(f"Every {whose} may spend {say_amount(terms.budget)}, unless another budget was given.")
    _print(
        ("party", "spent", "left", "releases"),
        [
            (each.party, say_amount(each.spent), say_amount(each.left), str(each.releases))
            for each in shown
        ],
        "No such party has been charged, or has a budget of its own.",
    )
    if len(shown) < len(found):
        print(f"{len(found) - len(shown):,} more have at least as much left; --all shows them.")


def history_at(
    address: str, party: str | None, *, json: bool, plain: bool, site: Path | None
) -> None:
    """Charges, oldest first."""
    from dataclasses import asdict

    from ostraka.errors import ParameterError

    if party is not None:
        allowed = "with a ledger's file alone; a party sees its own account by ostraka status"
        raise ParameterError("--party", got=party, allowed=allowed)
    with member_of(site, address, "admin", plain=plain).session() as (_, client):
        found = list(client.charges())
    if json:
        _echo({"charges": [asdict(each) for each in found]})
        return
    _print(
        ("charge", "day", "costs each", "parties", "release", "note"),
        [
            (
                str(each.id),
                each.day,
                say_amount(each.cost),
                f"{each.parties:,}",
                (each.release or "open")[:12],
                each.note,
            )
            for each in found
        ],
        "Nothing has been charged.",
    )


def allow_at(
    address: str,
    parties: list[str],
    budget: Budget,
    *,
    new_party: bool,
    plain: bool,
    site: Path | None,
) -> None:
    """Give some parties another budget."""
    with member_of(site, address, "admin", plain=plain).session() as (_, client):
        if not new_party:
            _check_known(client, parties)
        client.allow(parties, epsilon=budget.epsilon, delta=budget.delta, rho=budget.rho)


def _check_known(client: Client, parties: list[str]) -> None:
    """Refuse names that nobody knows, which may be misspelt."""
    from ostraka.errors import InputError, suggest
    from ostraka.party.names import canonical_list

    known = {one.name for one in client.parties()} | {one.name for one in client.invited()}
    known |= {one.party for one in client.accounts()}
    strange = next((name for name in canonical_list(parties) if name not in known), None)
    if strange is not None:
        raise InputError(
            f"The service knows no party {strange}. Nobody was given another budget.",
            f"{suggest(strange, sorted(known))}If it is one that comes later, say --new-party.",
        )


def _print(columns: tuple[str, ...], rows: list[tuple[str, ...]], none: str) -> None:
    from rich.table import Table
    from rich.text import Text

    table = Table(*columns)
    for row in rows:
        table.add_row(*map(Text, row))
    console().print(table if rows else none)


def _echo(held: dict[str, Any]) -> None:
    from json import dumps

    print(dumps(held, sort_keys=True, ensure_ascii=False))
