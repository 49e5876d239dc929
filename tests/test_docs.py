"""The docs run, and they know every option, exit code and public name."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import ostraka
from ostraka.cli.app import build
from ostraka.cli.exits import EXIT_CODES

DOCS = Path(__file__).parent.parent / "docs"
SOURCE = Path(ostraka.__file__).parent
PAGES = {path.relative_to(DOCS).as_posix(): path.read_text("utf-8") for path in DOCS.rglob("*.md")}
COMMAND_LINE = PAGES["how-to/command-line.md"]


def test_the_tutorial_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```", PAGES["tutorial.md"], re.DOTALL)
    assert len(blocks) == 4
    names: dict[str, object] = {}
    for block in blocks:
        exec(compile(block, "tutorial.md", "exec"), names)
    printed = capsys.readouterr().out.splitlines()
    accuracies = [float(line) for line in printed if re.fullmatch(r"0\.\d+", line)]
    assert len(accuracies) == 2
    assert accuracies[0] > 0.8, "the tutorial says about 0.9"
    assert any("ε = 1 differential privacy" in line for line in printed)


@pytest.mark.parametrize(
    ("page", "last"),
    [
        ("how-to/choose.md", "10.0"),
        ("how-to/ledger.md", "ε=1 ε=4"),
        ("how-to/evaluate.md", "1.0"),
    ],
)
def test_the_samples_of_a_page_run_one_after_the_other(
    page: str,
    last: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    for block in re.findall(r"```python\n(.*?)```", PAGES[page], re.DOTALL):
        exec(compile(block, page, "exec"), names)
    assert capsys.readouterr().out.splitlines()[-1] == last


def options() -> set[str]:
    return {
        name
        for command in build().commands.values()
        for parameter in command.params
        for name in parameter.opts
        if name.startswith("--")
    }


@pytest.mark.parametrize("option", sorted(options() - {"--help"}))
def test_every_option_is_explained(option: str) -> None:
    assert f"`{option}" in COMMAND_LINE or f" {option} " in COMMAND_LINE


def test_every_command_and_exit_code_is_explained() -> None:
    for command in build().commands:
        assert f"ostraka {command}" in COMMAND_LINE
    for kind, code in EXIT_CODES.items():
        (row,) = [line for line in COMMAND_LINE.splitlines() if line.startswith(f"| {code} |")]
        assert kind.__name__ in row


@pytest.mark.parametrize("name", [name for name in ostraka.__all__ if name != "OstrakaError"])
def test_every_public_name_is_in_the_reference(name: str) -> None:
    assert re.search(rf"^::: ostraka\.[\w.]*{name}$", PAGES["reference.md"], re.MULTILINE)
    assert getattr(ostraka, name).__doc__


@pytest.mark.parametrize("page", PAGES)
def test_links_between_pages_lead_somewhere(page: str) -> None:
    for target in re.findall(r"\]\((?!http|#)([^)#]+)", PAGES[page]):
        path = (DOCS / page).parent / target
        proof = re.fullmatch(r"(?:\.\./)?proofs/(.+)\.md", target)  # pages that `hooks.py` makes
        if proof is not None:
            path = SOURCE / f"{proof[1]}.proof.md"
        assert path.exists(), f"{page} links to {target}"


def test_every_request_is_in_the_table_of_the_http_api() -> None:
    from ostraka.service.api import app as api
    from ostraka.service.api import uploads
    from ostraka.service.service import Service
    from ostraka.service.settings import Settings

    described = api.create(Service(*[None] * 3), Settings()).openapi()["paths"]  # type: ignore[arg-type]
    routes = {f"{verb.upper()} {path}" for path, each in described.items() for verb in each}
    assert f"PUT {uploads.PATH}" in routes
    told = set(re.findall(r"`((?:GET|PUT|POST) /v1/[^`]+)`", PAGES["http-api.md"]))
    assert told == routes | {"GET /v1/openapi.json"}


@pytest.mark.parametrize("task", ["har", "kdd99"])
def test_the_tables_of_the_reproduction_are_those_that_the_command_wrote(task: str) -> None:
    assert (DOCS / "reproduction" / task / "paper.md").read_text("utf-8") in (
        DOCS / "reproduction.md"
    ).read_text("utf-8")


def test_the_tables_of_speed_are_those_that_the_benchmark_wrote() -> None:
    results = DOCS.parent / "benchmarks" / "results" / "service.md"
    _, tables = results.read_text("utf-8").split("\n\n", 1)
    assert tables.strip() in PAGES["speed.md"]


def test_the_table_of_flower_is_the_one_that_the_benchmark_wrote() -> None:
    results = DOCS.parent / "benchmarks" / "results" / "flower.md"
    table = results.read_text("utf-8").split("\n\n")[2].strip()
    assert table in PAGES["how-to/flower.md"]


@pytest.mark.parametrize(
    "table",
    [
        "comparison/regret.md",
        "comparison/others.md",
        *sorted(str(path.relative_to(DOCS)) for path in (DOCS / "comparison").rglob("table.md")),
    ],
)
def test_the_tables_of_the_comparison_are_those_that_the_command_wrote(table: str) -> None:
    assert (DOCS / table).read_text("utf-8") in (DOCS / "comparison.md").read_text("utf-8")


@pytest.mark.parametrize(
    "table", sorted(str(path.relative_to(DOCS)) for path in (DOCS / "shift").rglob("table.md"))
)
def test_the_tables_of_a_shift_are_those_that_the_command_wrote(table: str) -> None:
    assert (DOCS / table).read_text("utf-8") in (DOCS / "how-to" / "shift.md").read_text("utf-8")


def test_the_tables_of_the_trustee_are_those_that_the_command_wrote() -> None:
    assert PAGES["comparison/trustee.md"].strip() in PAGES["how-to/trustee.md"]
