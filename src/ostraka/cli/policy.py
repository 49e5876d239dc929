"""`ostraka policy`: a party's own rules, which its machine heeds before anything leaves it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ostraka.cli.choices import PARTY, UnitName
from ostraka.cli.help import Command, Group, examples, option
from ostraka.cli.members import PLAIN, fetch_at
from ostraka.cli.options import SITE
from ostraka.cli.screen import print_answers, print_mind

if TYPE_CHECKING:
    from ostraka.site import Site

EXAMPLES = examples(
    "ostraka policy set --epsilon-per-poll 1 --epsilon-per-year 3 \\\n    --least-parties 20",
    "ostraka policy show",
    "ostraka policy check stroke.poll",
)
NO_RULES = (
    "You have no rules, so ostraka contribute answers every poll, and counts none. Make some: "
    "ostraka policy set --epsilon-per-poll 1 --epsilon-per-year 3 --least-parties 20"
)
UNKNOWN = (
    "polls are counted since you have rules. What you answered before that is not in the account "
    "of this year."
)

app = typer.Typer(
    name="policy",
    cls=Group,
    no_args_is_help=True,
    rich_markup_mode="rich",
    epilog=EXAMPLES,
    help="Say which polls your machine may answer, and how much it may give away in a year.\n\n"
    "[bold]ostraka contribute[/] refuses all others before it looks at your rows, whoever asks.",
)


@app.command(
    name="set",
    cls=Command,
    epilog=examples(
        "ostraka policy set --epsilon-per-poll 1 --epsilon-per-year 3 \\\n    --least-parties 20",
        "ostraka policy set --epsilon-per-year 3 --delta-per-year 1e-5 \\\n"
        "    --methods moments,cells",
    ),
)
def set_rules(
    *,
    epsilon_per_poll: Annotated[
        float | None, option(None, "The largest ε of a poll.", of="number")
    ] = None,
    epsilon_per_year: Annotated[
        float | None,
        option(
            None,
            "The most ε that all polls of a calendar year (UTC) may cost you together, with those "
            "that you have answered since you have rules.",
            of="number",
        ),
    ] = None,
    delta_per_year: Annotated[
        float | None,
        option(None, "The most δ, as well. Without it, polls with a δ are refused.", of="number"),
    ] = None,
    least_parties: Annotated[
        int | None,
        option(None, "The poll must say that it waits for so many parties.", of="number"),
    ] = None,
    methods: Annotated[
        str | None,
        option(None, "Methods that may be used, separated by commas. Default: all.", of="names"),
    ] = None,
    protects: Annotated[
        UnitName,
        option(
            None,
            "party: only polls that protect all of your rows at once. person: also those that "
            "protect every person of yours.",
            of="party|person",
        ),
    ] = PARTY,
    site: Annotated[Path | None, SITE] = None,
) -> None:
    """Set all rules anew. What is not named is allowed, but for polls with a δ or for persons."""
    from ostraka.cli.words import words
    from ostraka.errors import ParameterError
    from ostraka.site import Rules, Site, default_folder

    rules = Rules(
        epsilon_per_poll=epsilon_per_poll,
        epsilon_per_year=epsilon_per_year,
        delta_per_year=delta_per_year,
        least_parties=least_parties,
        methods=None if methods is None else tuple(words(methods)),
        protects=protects.value,
    )
    folder = default_folder() if site is None else site
    if folder is None:
        raise ParameterError("--site", got=None, allowed="a folder: you have none for settings")
    had_limit, made = _has_limit(folder), Site(folder, rules)
    made.save()
    _print(made)
    if epsilon_per_year is not None and not had_limit:
        print_mind(UNKNOWN)


@app.command(cls=Command, epilog=examples("ostraka policy show"))
def show(*, site: Annotated[Path | None, SITE] = None) -> None:
    """Show your rules, and what is left of this year."""
    from ostraka.site import Site

    found = Site.find(site)
    if found is None:
        typer.echo(NO_RULES)
        return
    _print(found)


@app.command(cls=Command, epilog=examples("ostraka policy check stroke.poll"))
def check(
    file: Annotated[
        str,
        typer.Argument(
            help="A poll, as written by `ostraka poll create`, or its address at a service that "
            "you have joined."
        ),
    ],
    *,
    site: Annotated[Path | None, SITE] = None,
    plain: Annotated[bool, PLAIN] = False,
) -> None:
    """Tell whether your rules allow a poll; nothing is counted."""
    from ostraka.client.address import is_address
    from ostraka.poll import Poll
    from ostraka.site import Site

    poll = fetch_at(site, file, plain=plain) if is_address(file) else Poll.load(file)
    found = Site.find(site)
    if found is None:
        typer.echo(NO_RULES)
        return
    found.check(poll)
    before = found.answered(poll)
    paid = "" if before is None else f" It was counted already, when you answered as {before!r}."
    typer.echo(f"Your rules allow this poll.{paid} Nothing was counted and nothing was written.")


def _has_limit(folder: Path) -> bool:
    """Whether there are rules that say something of a year."""
    from ostraka.errors import OstrakaError
    from ostraka.site import Site

    try:
        there = Site.find(folder)
    except (OstrakaError, OSError):  # none yet, or damaged ones, which are replaced
        return False
    return there is not None and there.rules.epsilon_per_year is not None


def _print(site: Site) -> None:
    from ostraka.public.promise import plural

    left, ledger = site.left(), site.ledger()
    n = 0 if ledger is None else len(ledger.history())
    counted = {"Spent this year": f"{site.spent()}, for {plural('poll', n)}"}
    if left is not None:
        counted["Left of this year"] = str(left)
    print_answers({"Rules": str(site.folder), **site.rules.describe(), **counted})
