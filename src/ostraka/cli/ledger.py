"""`ostraka ledger`: what every party has spent, and what is left."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from rich.table import Table

    from ostraka.ledger import Account, Amount, Budget, Charge, Ledger

EXAMPLES = (
    "Examples: [bold]ostraka ledger init parties.ledger --epsilon 5[/]   [bold]ostraka ledger show parties.ledger[/]   "
    "[bold]ostraka ledger history parties.ledger --party ward-3[/]"
)
FEW = 20
OPEN = "charged but no release recorded: counted as spent"

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode="rich",
    epilog=EXAMPLES,
    help="Keep the account of what every party has spent, over all releases.\n\n"
    "A release is charged to all its parties before anything is drawn, or refused; nothing is ever refunded.",
)

File = Annotated[Path, typer.Argument(help="The ledger, as `ostraka ledger init` makes.")]


@app.command(
    epilog="Examples: [bold]ostraka ledger init parties.ledger --epsilon 5[/]   [bold]ostraka ledger init parties.ledger --rho 0.5[/]   "
    "[bold]ostraka ledger init parties.ledger --epsilon 5 --delta 1e-6 --concentrated[/]"
)
def init(
    file: Annotated[Path, typer.Argument(help="Where to make the ledger. One that is there is never replaced.")],
    epsilon: Annotated[float | None, typer.Option(help="The most ε that a party may lose over all releases.")] = None,
    delta: Annotated[float | None, typer.Option(help="The most δ that may be added to it. Without it, pure ε is counted.")] = None,
    rho: Annotated[float | None, typer.Option(help="Count ρ of zCDP instead: for many small, or Gaussian, releases.")] = None,
    concentrated: Annotated[bool, typer.Option(help="Count the largest ρ that implies the given ε and δ.")] = False,
) -> None:
    """Make a ledger with one budget for every party."""
    from ostraka.ledger import Ledger

    budget = _budget(epsilon, delta, rho, concentrated)
    Ledger.create(file, budget)
    implied = f", which implies ε={epsilon:g}, δ={delta:g}" if concentrated else ""
    typer.echo(f"Made {file}: every party may spend {budget}{implied}.")


@app.command(
    epilog="Examples: [bold]ostraka ledger show parties.ledger[/]   [bold]ostraka ledger show parties.ledger --party ward-3[/]   "
    "[bold]ostraka ledger show parties.ledger --json | jq .parties[/]"
)
def show(
    file: File,
    party: Annotated[str | None, typer.Option(help="Only this party.")] = None,
    everyone: Annotated[bool, typer.Option("--all", help=f"Every party, not only the {FEW} with the least left.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print all of it as JSON instead, amounts exact as p/q too.")] = False,
) -> None:
    """Show what parties have spent and have left, least left first."""
    from ostraka.ledger import Ledger

    ledger = Ledger(file)
    accounts = ledger.accounts() if party is None else [ledger.account(party)]
    if json:
        _echo_json({"budget": _numbers(ledger.budget), "parties": [_account(one) for one in accounts], **_open_json(ledger)})
        return
    _print_accounts(ledger, accounts, accounts if everyone else accounts[:FEW])
    _print_open(ledger)


@app.command(
    epilog="Examples: [bold]ostraka ledger history parties.ledger[/]   [bold]ostraka ledger history parties.ledger --party ward-3 --json[/]"
)
def history(
    file: File,
    party: Annotated[str | None, typer.Option(help="Only the releases that this party took part in.")] = None,
    json: Annotated[bool, typer.Option("--json", help="Print it as JSON instead.")] = False,
) -> None:
    """List the charges, oldest first."""
    from ostraka.ledger import Ledger

    ledger = Ledger(file)
    charges = ledger.history(party)
    if json:
        _echo_json({"charges": [_charge(one) for one in charges]})
        return
    from rich.text import Text

    table = _table("charge", "day", "costs each", "parties", "release", "note")
    for one in charges:
        cells = (str(one.id), one.day, str(one.cost), f"{one.n_parties:,}", (one.digest or "open")[:12], one.note)
        table.add_row(*map(Text, cells))
    _console().print(table if charges else "Nothing has been charged.")
    _print_open(ledger)


@app.command(epilog="Example: [bold]ostraka ledger audit parties.ledger[/]")
def audit(file: File) -> None:
    """Add everything up anew, exactly; a ledger that contradicts itself is refused."""
    from ostraka.ledger import Ledger

    ledger = Ledger(file)
    typer.echo(f"{ledger.audit()} charges add up, and every party is within its budget.")
    _print_open(ledger)


def _budget(epsilon: float | None, delta: float | None, rho: float | None, concentrated: bool) -> Budget:
    from ostraka.errors import ParameterError
    from ostraka.ledger import Budget

    if not concentrated:
        return Budget(epsilon=epsilon, delta=delta, rho=rho)
    if epsilon is None or delta is None or rho is not None:
        raise ParameterError("--concentrated", got=True, allowed="with --epsilon and --delta, without --rho")
    return Budget.concentrated(epsilon, delta)


def _print_accounts(ledger: Ledger, accounts: list[Account], shown: list[Account]) -> None:
    from rich.text import Text

    table = _table("party", "spent", "left", "releases")
    for one in shown:
        table.add_row(Text(one.party), Text(str(one.spent)), Text(str(one.left)), str(one.n_releases))
    console = _console()
    console.print(f"Every party may spend {ledger.budget}, unless it was given another budget.")
    console.print(table if shown else "No party has been charged.")
    if len(shown) < len(accounts):
        console.print(f"{len(accounts) - len(shown):,} more parties have at least as much left; --all shows them.")


def _print_open(ledger: Ledger) -> None:
    from rich.text import Text

    console = _console()
    for one in ledger.open_charges():
        note = f" ({one.note})" if one.note else ""
        console.print(Text(f"Charge {one.id} of {one.day}, {one.cost} for {one.n_parties:,} parties{note}: {OPEN}."), soft_wrap=True)


def _table(*columns: str) -> Table:
    from rich.table import Table

    table = Table()
    for name in columns:
        table.add_column(name, justify="right" if name in ("charge", "parties", "releases") else "left")
    return table


def _console() -> Any:
    from rich.console import Console

    return Console(highlight=False)


def _echo_json(content: dict[str, Any]) -> None:
    from json import dumps

    typer.echo(dumps(content, sort_keys=True, ensure_ascii=False))


def _numbers(amount: Amount) -> dict[str, Any]:
    """The nearest doubles by name, and the exact numbers."""
    return {**{name: float(value) for name, value in amount.to_dict().items()}, "exact": amount.to_text().split(" ")}


def _account(one: Account) -> dict[str, Any]:
    amounts = {"budget": _numbers(one.budget), "spent": _numbers(one.spent), "left": _numbers(one.left)}
    return {"party": one.party, "releases": one.n_releases, **amounts}


def _charge(one: Charge) -> dict[str, Any]:
    cost = {name: value for name in ("epsilon", "delta", "rho") if (value := getattr(one.cost, name)) is not None}
    return {"id": one.id, "day": one.day, "cost": cost, "note": one.note, "parties": one.n_parties, "digest": one.digest}


def _open_json(ledger: Ledger) -> dict[str, Any]:
    return {"open_charges": [_charge(one) for one in ledger.open_charges()]}
