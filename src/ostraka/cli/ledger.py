"""`ostraka ledger`: what every party has spent, and what is left; in a file, or at a service."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ostraka.cli.choices import PARTY, UnitName
from ostraka.cli.help import Command, Group, examples, option
from ostraka.cli.members import PLAIN
from ostraka.cli.options import SITE, WHOSE_ACCOUNT
from ostraka.errors import say_number

if TYPE_CHECKING:
    from rich.table import Table

    from ostraka.ledger import Account, Amount, Budget, Charge, Ledger

EXAMPLES = examples(
    "ostraka ledger init parties.ledger --epsilon 5",
    "ostraka ledger show parties.ledger",
    "ostraka ledger history parties.ledger --party ward-3",
)
FEW = 20
OPEN = "charged but no release recorded: counted as spent"

app = typer.Typer(
    name="ledger",
    cls=Group,
    no_args_is_help=True,
    rich_markup_mode="rich",
    epilog=EXAMPLES,
    help="Keep the account of what every party has spent, over all releases.\n\n"
    "A release is charged to all its parties before anything is drawn, or else refused. Nothing "
    "is ever refunded.",
)

File = Annotated[Path, typer.Argument(help="The ledger, as made by `ostraka ledger init`.")]
Place = Annotated[
    str,
    typer.Argument(
        help="The ledger, as made by `ostraka ledger init`; or the address of a service, for its "
        "admins."
    ),
]


@app.command(
    cls=Command,
    epilog=examples(
        "ostraka ledger init parties.ledger --epsilon 5",
        "ostraka ledger init parties.ledger --rho 0.5",
        "ostraka ledger init parties.ledger --epsilon 5 --delta 1e-6 --concentrated",
    ),
)
def init(
    file: Annotated[
        Path,
        typer.Argument(help="Where to make the ledger. An existing one is never replaced."),
    ],
    epsilon: Annotated[
        float | None,
        option(None, "The most ε that a party may lose over all releases.", of="number"),
    ] = None,
    delta: Annotated[
        float | None,
        option(
            None, "The most δ that a party may lose as well; leave it out for pure ε.", of="number"
        ),
    ] = None,
    rho: Annotated[
        float | None,
        option(
            None,
            "Count ρ of zCDP instead, for releases that are many and small, or Gaussian.",
            of="number",
        ),
    ] = None,
    concentrated: Annotated[
        bool,
        option(None, "Count the largest ρ that implies the given ε and δ.", "--concentrated"),
    ] = False,
    protects: Annotated[UnitName, WHOSE_ACCOUNT] = PARTY,
) -> None:
    """Make a ledger with one budget for every party."""
    from ostraka.ledger import Ledger

    budget = _budget(epsilon, delta, rho, concentrated)
    Ledger.create(file, budget, protects.value)
    implied = ""
    if concentrated and epsilon is not None and delta is not None:
        implied = f", which implies ε={epsilon:g}, δ={say_number(delta)}"
    whose = "party" if protects is PARTY else "person of every party"
    typer.echo(f"Made {file}: every {whose} may spend {budget}{implied}.")


@app.command(
    cls=Command,
    epilog=examples(
        "ostraka ledger show parties.ledger",
        "ostraka ledger show parties.ledger --party ward-3",
        "ostraka ledger show parties.ledger --json | jq .parties",
        "ostraka ledger show https://polls.example.org",
    ),
)
def show(
    file: Place,
    party: Annotated[
        str | None,
        option(None, "Only this party; case, spaces, and 3 or 3.0 make no difference.", of="name"),
    ] = None,
    everyone: Annotated[
        bool, typer.Option("--all", help=f"Every party, not only the {FEW} with the least left.")
    ] = False,
    json: Annotated[
        bool,
        typer.Option("--json", help="Print all of it as JSON instead, amounts exact as p/q too."),
    ] = False,
    plain: Annotated[bool, PLAIN] = False,
    site: Annotated[Path | None, SITE] = None,
) -> None:
    """Show what parties have spent and have left, least left first."""
    from ostraka.client.address import is_address
    from ostraka.ledger import Ledger

    if is_address(file):
        from ostraka.cli.accounts import show_at

        few = None if everyone else FEW
        show_at(file, party, few=few, json=json, plain=plain, site=site)
        return
    ledger = Ledger(file)
    accounts = ledger.accounts() if party is None else [ledger.account(party)]
    if party is not None and not accounts[0].n_releases and not json:
        typer.echo(_explain_no_charge(ledger, accounts[0]))
        return
    if json:
        shown = [_account(one) for one in accounts if party is None or _is_known(ledger, one)]
        _echo_json({"budget": _numbers(ledger.budget), "parties": shown, **_open_json(ledger)})
        return
    _print_accounts(ledger, accounts, accounts if everyone else accounts[:FEW])
    _print_open(ledger)


@app.command(
    cls=Command,
    epilog=examples(
        "ostraka ledger history parties.ledger",
        "ostraka ledger history parties.ledger --party ward-3 --json",
    ),
)
def history(
    file: Place,
    party: Annotated[
        str | None, option(None, "Only the releases that this party took part in.", of="name")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print it as JSON instead.")] = False,
    plain: Annotated[bool, PLAIN] = False,
    site: Annotated[Path | None, SITE] = None,
) -> None:
    """List the charges, oldest first."""
    from ostraka.client.address import is_address
    from ostraka.ledger import Ledger

    if is_address(file):
        from ostraka.cli.accounts import history_at

        history_at(file, party, json=json, plain=plain, site=site)
        return
    ledger = Ledger(file)
    charges = ledger.history(party)
    if json:
        _echo_json({"charges": [_charge(one) for one in charges]})
        return
    if not charges:
        account = None if party is None else ledger.account(party)
        nothing = "Nothing has been charged."
        typer.echo(nothing if account is None else _explain_no_charge(ledger, account))
        return
    from rich.text import Text

    table = _table("charge", "day", "costs each", "parties", "release", "note")
    for one in charges:
        release = (one.digest or "open")[:12]
        cells = (str(one.id), one.day, str(one.cost), f"{one.n_parties:,}", release, one.note)
        table.add_row(*map(Text, cells))
    _console().print(table)
    _print_open(ledger)


@app.command(
    cls=Command,
    epilog=examples(
        "ostraka ledger allow parties.ledger ward-3 --epsilon 2",
        "ostraka ledger allow https://polls.example.org ward-3 --epsilon 2 \\\n    --delta 1e-5",
    ),
)
def allow(
    file: Place,
    parties: Annotated[list[str], typer.Argument(help="Who gets it.")],
    epsilon: Annotated[
        float | None, option(None, "The most ε that each of them may lose.", of="number")
    ] = None,
    delta: Annotated[
        float | None,
        option(
            None,
            "The most δ. Where the budget has a δ, as a service's has, ε and δ are given together.",
            of="number",
        ),
    ] = None,
    rho: Annotated[
        float | None, option(None, "The most ρ, in a ledger that counts zCDP.", of="number")
    ] = None,
    new_party: Annotated[
        bool,
        option(None, "At a service: also of names that it does not know yet.", "--new-party"),
    ] = False,
    plain: Annotated[bool, PLAIN] = False,
    site: Annotated[Path | None, SITE] = None,
) -> None:
    """Give some parties another budget than all others. Who was charged before gets a lower one
    only.
    """
    from ostraka.client.address import is_address
    from ostraka.errors import ParameterError
    from ostraka.ledger import Budget, Ledger

    budget = Budget(epsilon=epsilon, delta=delta, rho=rho)
    if is_address(file):
        from ostraka.cli.accounts import allow_at

        allow_at(file, parties, budget, new_party=new_party, plain=plain, site=site)
    else:
        if new_party:
            allowed = "with the address of a service; a ledger's file takes every name"
            raise ParameterError("--new-party", got=True, allowed=allowed)
        Ledger(file).allow(parties, budget)
    typer.echo(f"From now on {', '.join(parties)} may lose {budget} in all.")


@app.command(cls=Command, epilog=examples("ostraka ledger audit parties.ledger"))
def audit(file: File) -> None:
    """Add everything up anew, exactly; a ledger that contradicts itself is refused."""
    from ostraka.ledger import Ledger

    ledger = Ledger(file)
    n_charges = ledger.audit()
    added = "1 charge adds up" if n_charges == 1 else f"{n_charges} charges add up"
    typer.echo(f"{added}, and every party is within its budget.")
    _print_open(ledger)


def _budget(
    epsilon: float | None, delta: float | None, rho: float | None, concentrated: bool
) -> Budget:
    from ostraka.errors import ParameterError
    from ostraka.ledger import Budget

    if not concentrated:
        return Budget(epsilon=epsilon, delta=delta, rho=rho)
    if epsilon is None or delta is None or rho is not None:
        allowed = "with --epsilon and --delta, without --rho"
        raise ParameterError("--concentrated", got=True, allowed=allowed)
    return Budget.concentrated(epsilon, delta)


def _is_known(ledger: Ledger, account: Account) -> bool:
    return account.n_releases > 0 or account.budget != ledger.budget


def _explain_no_charge(ledger: Ledger, account: Account) -> str:
    if _is_known(ledger, account):
        return f"Party {account.party} was never charged. It may spend {account.budget}."
    return (
        f"This ledger does not know party {account.party}: it was never charged. "
        f"A new party may spend {ledger.budget}; check the name."
    )


def _print_accounts(ledger: Ledger, accounts: list[Account], shown: list[Account]) -> None:
    from rich.text import Text

    table = _table("party", "spent", "left", "releases")
    for one in shown:
        cells = (one.party, str(one.spent), str(one.left), str(one.n_releases))
        table.add_row(*map(Text, cells))
    console = _console()
    whose = "party" if ledger.protects == "party" else "person of every party"
    console.print(f"Every {whose} may spend {ledger.budget}, unless another budget was given.")
    console.print(table if shown else "No party has been charged.")
    if len(shown) < len(accounts):
        others = f"{len(accounts) - len(shown):,} more parties"
        console.print(f"{others} have at least as much left; --all shows them.")


def _print_open(ledger: Ledger) -> None:
    from rich.text import Text

    console = _console()
    for one in ledger.open_charges():
        note = f" ({one.note})" if one.note else ""
        what = f"Charge {one.id} of {one.day}, {one.cost} for {one.n_parties:,} parties{note}"
        console.print(Text(f"{what}: {OPEN}."), soft_wrap=True)


def _table(*columns: str) -> Table:
    from rich.table import Table

    table = Table()
    for name in columns:
        counts = name in ("charge", "parties", "releases")
        table.add_column(name, justify="right" if counts else "left")
    return table


def _console() -> Any:
    from rich.console import Console

    return Console(highlight=False)


def _echo_json(content: dict[str, Any]) -> None:
    from json import dumps

    typer.echo(dumps(content, sort_keys=True, ensure_ascii=False))


def _numbers(amount: Amount) -> dict[str, Any]:
    """The nearest doubles by name, and the exact numbers."""
    doubles = {name: float(value) for name, value in amount.to_dict().items()}
    return {**doubles, "exact": amount.to_text().split(" ")}


def _account(one: Account) -> dict[str, Any]:
    amounts = {"budget": one.budget, "spent": one.spent, "left": one.left}
    numbers = {name: _numbers(amount) for name, amount in amounts.items()}
    return {"party": one.party, "releases": one.n_releases, **numbers}


def _charge(one: Charge) -> dict[str, Any]:
    cost = {name: getattr(one.cost, name) for name in ("epsilon", "delta", "rho")}
    return {
        "id": one.id,
        "day": one.day,
        "cost": {name: value for name, value in cost.items() if value is not None},
        "note": one.note,
        "parties": one.n_parties,
        "certificate": one.certificate,
        "digest": one.digest,
    }


def _open_json(ledger: Ledger) -> dict[str, Any]:
    return {"open_charges": [_charge(one) for one in ledger.open_charges()]}
