"""The `ostraka` command: its subcommands, and what happens to their errors."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from importlib import import_module
from typing import TYPE_CHECKING, Any, NoReturn

if TYPE_CHECKING:
    from typer import Typer

    from ostraka.errors import ParameterError

__all__ = ["main"]

PANELS = {
    "Take part in a poll": ("poll", "contribute", "release", "evaluate", "trustee"),
    "Run or use a service": (
        "serve",
        "invite",
        "join",
        "status",
        "close",
        "fetch",
        "hand-in",
        "revoke",
        "backup",
        "restore",
    ),
    "Learn in one place": ("learn", "predict", "score", "inspect", "export"),
    "Look ahead": ("demo", "plan"),
    "Accounts": ("ledger", "policy"),
    "Trust": ("verify", "sign", "key"),
    "Research": ("compare", "reproduce"),
}
"""The commands, in the order in which people need them; each has a module of its name."""
COMMANDS = tuple(name for members in PANELS.values() for name in members)
MISSING = (
    "The command line needs a few more packages. Install them with: pip install 'ostraka[cli]'"
)
FOR_SERVICES = "A service needs more packages. Install them with: pip install 'ostraka[service]'"
BEFORE = (
    "Options of serve stand before the word after it: ostraka serve --data FOLDER rotate, say. "
    "Nothing was changed."
)
SPENDS = (["learn"], ["release"], ["close"], ["trustee"])
SERVES = (["serve"], ["backup"], ["restore"])
TOLD = re.compile(r"\b(Nothing|Nobody|No file) (is|was|has|have)\b|\bwas not used\b")
"""Errors that say by themselves what did not happen."""
STOPPED = (
    "Interrupted. No file was left half-written; finished parts are kept, and the same command "
    "goes on from there."
)
SPENDING = (
    "Interrupted. No file was left half-written. If a ledger was charged already, ostraka ledger "
    "history shows a charge without a release."
)


def main() -> NoReturn:
    """Run the command line; every error that we foresee is one message and one exit code."""
    try:
        import typer
        from rich.console import Console
    except ImportError:
        sys.stderr.write(MISSING + "\n")
        sys.exit(33)
    from ostraka.cli.exits import INTERRUPTED, code_of
    from ostraka.errors import NOTHING_HAPPENED, InputError

    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")  # a terminal without ε still gets the rest
    console = Console(stderr=True, highlight=False, soft_wrap=True)
    try:
        application = build(*sys.argv[1:2])
        # Typer turns Ctrl-C into an exit code, in some versions.
        left = application(standalone_mode=False)
    except (typer.Abort, KeyboardInterrupt):
        left = INTERRUPTED
    except Exception as error:
        show = getattr(error, "show", None)  # wrong usage, which typer explains itself
        if show is not None:
            show()
            if sys.argv[1:2] == ["serve"] and hasattr(error, "option_name"):
                console.print(BEFORE, markup=False)
            sys.exit(getattr(error, "exit_code", 2))
        code = code_of(error)
        if code is None:
            raise
        if isinstance(error, InputError) and not error.outcome and not TOLD.search(str(error)):
            spends = sys.argv[1:2] in SPENDS
            error.outcome = NOTHING_HAPPENED if spends else "Nothing was written."
        console.print("[bold red]Error:[/] ", end="")
        console.print(explain(error), markup=False)
        sys.exit(code)
    if left == INTERRUPTED:
        console.print(SPENDING if sys.argv[1:2] in SPENDS else STOPPED)
    sys.exit(left if isinstance(left, int) else 0)


def explain(error: Exception) -> str:
    """The error's own words; for files, which file and what to do."""
    from ostraka.errors import ParameterError
    from ostraka.ledger.sqlite import NO_LEDGER

    if isinstance(error, FileNotFoundError) and error.strerror == NO_LEDGER:
        return (
            f"There is no ledger {str(error.filename)!r}. Check the path, or make one with the "
            "most that a party may lose in "
            "all: ostraka ledger init FILE --epsilon 5. Nothing was drawn and nothing was spent."
        )
    if isinstance(error, FileNotFoundError) and error.filename:
        nothing = "Nothing was drawn and nothing was written."
        if sys.argv[1:2] not in SPENDS:
            nothing = "Nothing was written."
        return f"There is no file or folder {str(error.filename)!r}. Check the path. {nothing}"
    if isinstance(error, OSError) and error.filename:
        return f"{str(error.filename)!r} cannot be used: {error.strerror}. Nothing was written."
    if isinstance(error, ParameterError):
        return _name_flag(error)
    if isinstance(error, ImportError):
        if "pip install" in str(error):
            return str(error)
        return f"{error}. {FOR_SERVICES if sys.argv[1:2] in SERVES else MISSING}"
    return str(error)


def _name_flag(error: ParameterError) -> str:
    """The error's words, with the parameter called as it is called on a command line."""
    flag = f"--{error.name.rstrip('_').replace('_', '-')}"
    known = any(flag in _flags(command) for command in _walk(build(*sys.argv[1:2])))
    return str(error).replace(error.name, flag, 1) if known else str(error)


def _walk(command: Any) -> Iterator[Any]:
    yield command
    for each in getattr(command, "commands", {}).values():
        yield from _walk(each)


def _flags(command: Any) -> list[str]:
    return [flag for parameter in command.params for flag in parameter.opts]


def build(first: str | None = None) -> Any:
    """The application, with its commands in panels, in the order in which people need them.

    If the first word of a command line is a command, only that one is built, to save time.
    """
    import typer

    from ostraka.cli.help import Group, examples

    app = typer.Typer(
        name="ostraka",
        cls=Group,
        no_args_is_help=True,
        rich_markup_mode="rich",
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
        help=(
            "One differentially private classifier from the data of many parties, without anyone "
            "showing their data.\n\n"
            "Try [bold]ostraka demo[/] first; [bold]ostraka demo --tables wards[/] writes tables "
            "to try the rest on. Where parties may not pool their rows, the "
            "coordinator runs [bold]ostraka poll create[/], every party runs [bold]ostraka "
            "contribute[/] on its own machine, and the coordinator runs [bold]ostraka release[/]. "
            "Where one process may see all rows, [bold]ostraka learn[/] does it in one step. "
            "[bold]ostraka plan[/] says what to expect."
        ),
        epilog=f"{examples('ostraka demo', 'ostraka learn --help')}\n\n"
        "The how-to pages of the docs have exit codes, formats and more examples.",
    )

    @app.callback()
    def options(
        version: bool = typer.Option(
            False, "--version", help="Show the version and exit.", is_eager=True, callback=_version
        ),
    ) -> None:
        pass

    names = [first] if first in COMMANDS else list(COMMANDS)
    for panel, members in PANELS.items():
        for name in members:
            if name in names:
                _add(app, name, panel)
    command = typer.main.get_command(app)
    command.commands = {name: command.commands[name] for name in names}  # type: ignore[attr-defined]
    return command


def _add(app: Typer, name: str, panel: str) -> None:
    """Put a command, or a group of them, into a panel of the help."""
    from ostraka.cli.help import Command

    word = name.replace("-", "_")
    module = import_module(f"ostraka.cli.{word}")
    if hasattr(module, "app"):
        app.add_typer(module.app, rich_help_panel=panel)
        return
    epilog = getattr(module, "EXAMPLES", None)
    app.command(name, cls=Command, epilog=epilog, rich_help_panel=panel)(getattr(module, word))


def _version(shown: bool) -> None:
    if shown:
        import typer

        from ostraka import __version__

        typer.echo(f"ostraka {__version__}")
        raise typer.Exit
