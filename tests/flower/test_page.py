"""The how-to page on Flower, copied and pasted into one shell; and its table of variables."""

from __future__ import annotations

import os
import re
import subprocess
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks.flower.federation import MARK, OFFLINE, TOOLS, end_all, free_port
from ostraka import Release
from ostraka.flower.settings import Order
from ostraka.ledger import Ledger

ROOT = Path(__file__).parent.parent.parent
PAGE = (ROOT / "docs" / "how-to" / "flower.md").read_text("utf-8")
BLOCKS = re.findall(r'```sh title="[a-z, ]+"\n(.*?)```', PAGE, re.DOTALL)
CLONE = "examples/flower/tables"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Where a newcomer is after the page, and what the shell has shown."""
    folder, mark = tmp_path_factory.mktemp("page"), uuid.uuid4().hex
    script = "".join(BLOCKS).replace(CLONE, str(ROOT / CLONE)).replace("9092", str(free_port()))
    ports = " ".join(str(free_port()) for _ in range(4))
    script = f"ports=({ports})\n" + script.replace("910$n", "${ports[$n]}")
    environment = {**os.environ, "PATH": f"{TOOLS}{os.pathsep}{os.environ['PATH']}", MARK: mark}
    try:
        with (folder / "shown").open("wb") as shown:
            done = subprocess.run(
                ["bash", "-euo", "pipefail", "-c", script],
                cwd=folder,
                env={**environment, "HOME": str(folder), "COLUMNS": "100"},
                stdout=shown,
                stderr=subprocess.STDOUT,
                check=False,
                timeout=300.0,
            )
        logs = "".join(
            path.read_text("utf-8") for path in [folder / "shown", *folder.glob("*.log")]
        )
        assert done.returncode == 0, logs
        yield folder
    finally:
        end_all(mark)


def test_three_wards_are_counted_and_charged(folder: Path) -> None:
    release = Release.load(folder / "stay.ostraka")
    assert (release.certificate.parties, release.certificate.epsilon) == (3, 4.0)
    (charge,) = Ledger(folder / "budgets.db").history()
    assert (charge.n_parties, charge.digest) == (3, release.digest)


def test_the_log_says_who_is_in(folder: Path) -> None:
    shown = (folder / "shown").read_text("utf-8")
    (names,) = re.findall(r"In: 3 \((.*)\)", shown)
    assert sorted(names.split(", ")) == ["ward-1", "ward-2", "ward-3"]


def test_the_page_names_every_key_with_its_default() -> None:
    rows = dict(re.findall(r"^\| (`[a-z`, -]+) \|.*\| (.+) \|$", PAGE, re.MULTILINE))
    order = Order(poll=Path("/p"), out=Path("/o"))
    shown = {
        name: default for names, default in rows.items() for name in re.findall(r"[a-z-]+", names)
    }
    fields = {name.replace("_", "-"): getattr(order, name) for name in Order.__slots__}
    assert set(shown) == set(fields)
    for name in ("deadline", "least-nodes", "wait-for-nodes", "parties-per-node"):
        assert float(shown[name]) == fields[name]


def test_the_page_names_every_variable_that_keeps_flower_quiet() -> None:
    for name, value in OFFLINE.items():
        assert f"`{name}={value}`" in PAGE


def test_the_template_is_the_one_of_the_page() -> None:
    (shown,) = re.findall(r'```python title="app.py"\n(.*?)```', PAGE, re.DOTALL)
    held = (ROOT / "examples" / "flower" / "own" / "app.py").read_text("utf-8")
    assert held.partition('"""\n\n')[2] == shown


@pytest.mark.parametrize("name", ["tables", "own"])
def test_the_projects_say_what_there_is_to_say(name: str) -> None:
    import tomllib

    project = tomllib.loads((ROOT / "examples" / "flower" / name / "pyproject.toml").read_text())
    said = project["tool"]["flwr"]["app"]["config"]
    assert set(said) == {field.replace("_", "-") for field in Order.__slots__}
    read = Order.read({**said, "poll": "/p", "out": "/o"})
    assert read == Order(poll=Path("/p"), out=Path("/o"))
