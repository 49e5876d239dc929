"""Help can be read on a terminal of 80 columns: whole words, no long lines, panels, an example."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

pytest.importorskip("typer", reason="typer is not installed (pip install 'ostraka[cli]')")

from ostraka.cli.app import build
from ostraka.cli.help import DATA, METHOD, OUTPUT, PROMISE, examples

WIDTH = 80
PANELS = {
    "Take part in a poll": ["poll", "contribute", "release", "evaluate", "trustee"],
    "Run or use a service": [
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
    ],
    "Learn in one place": ["learn", "predict", "score", "inspect", "export"],
    "Look ahead": ["demo", "plan"],
    "Accounts": ["ledger", "policy"],
    "Trust": ["verify", "sign", "key"],
    "Research": ["compare", "reproduce"],
}


def listed(command: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, Any]]:
    yield " ".join(path), command
    for name, member in getattr(command, "commands", {}).items():
        yield from listed(member, (*path, name))


COMMANDS = dict(listed(build()))
EVERY = pytest.mark.parametrize("path", COMMANDS, ids=lambda path: path or "ostraka")


@pytest.fixture
def rendered(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Any:
    """The lines of a command's help, without frames and colours."""
    monkeypatch.setenv("COLUMNS", str(WIDTH))
    monkeypatch.setattr("typer.rich_utils.MAX_WIDTH", WIDTH)

    def render(path: str) -> list[str]:
        build()([*path.split(), "--help"], prog_name="ostraka", standalone_mode=False)
        plain = re.sub(r"\x1b\[[0-9;]*m", "", capsys.readouterr().out)
        return plain.splitlines()

    return render


def words(line: str) -> list[str]:
    return line.strip().strip("│").split()


def plain(markup: str) -> str:
    from rich.text import Text

    return Text.from_markup(markup).plain


def text_of(command: Any) -> Iterator[str]:
    """All that the help has to say, piece by piece."""
    yield command.help
    for each in command.params:
        yield each.help or ""
        yield " ".join(name for name in each.opts if name.startswith("--"))
    for member in getattr(command, "commands", {}).values():
        yield f"{member.name} {member.help.split(chr(10))[0]}"


@EVERY
def test_no_line_is_longer_than_the_terminal(path: str, rendered: Any) -> None:
    assert all(len(line) <= WIDTH for line in rendered(path))


@EVERY
def test_no_word_is_broken(path: str, rendered: Any) -> None:
    """Every word as often as the text has it: one that is broken here may be whole elsewhere."""
    shown = Counter(word for line in rendered(path) for word in words(line))
    wanted = Counter(word for text in text_of(COMMANDS[path]) for word in plain(text).split())
    assert not wanted - shown
    for word in shown:
        if word.startswith("<"):
            assert word.endswith(">"), "the value of an option, in one piece"


@EVERY
def test_an_example_can_be_pasted(path: str, rendered: Any) -> None:
    lines = {line.strip() for line in rendered(path)}
    example = plain(COMMANDS[path].epilog)
    assert example.startswith("Example")
    assert "ostraka" in example
    for line in example.splitlines():
        assert line.strip() in lines


def test_an_example_has_a_heading_for_its_number() -> None:
    assert examples("a") == "Example:\n[bold]a[/]"
    assert examples("a", "b") == "Examples:\n[bold]a[/]\n[bold]b[/]"


def test_commands_stand_in_panels_in_the_order_in_which_people_need_them(rendered: Any) -> None:
    found: dict[str, list[str]] = {}
    for name, command in COMMANDS[""].commands.items():
        found.setdefault(command.rich_help_panel, []).append(name)
    assert found == PANELS
    assert list(found) == list(PANELS)
    headings = [match[1] for line in rendered("") if (match := re.match(r"╭─ (.+?) ─", line))]
    assert headings == ["Options", *PANELS]


@pytest.mark.parametrize("path", ["learn", "poll create"])
def test_options_stand_in_panels(path: str, rendered: Any) -> None:
    headings = [match[1] for line in rendered(path) if (match := re.match(r"╭─ (.+?) ─", line))]
    assert headings == ["Arguments", DATA, PROMISE, METHOD, OUTPUT]
    (method,) = [each for each in COMMANDS[path].params if each.name == "method"]
    assert method.help.startswith("auto ")


@pytest.mark.parametrize("path", ["learn", "poll create"])
def test_every_choice_that_the_short_word_hides_is_named(path: str) -> None:
    from ostraka.cli.choices import CalibrationName, MethodName, NoiseName

    told = {each.name: each.help for each in COMMANDS[path].params}
    for name, choices in (
        ("method", MethodName),
        ("noise", NoiseName),
        ("calibration", CalibrationName),
    ):
        assert all(re.search(rf"\b{choice.value}\b", told[name]) for choice in choices)
