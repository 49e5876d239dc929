"""The how-to page on trustees, copied and pasted: three machines that share only what is mailed."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from ostraka import Contribution, Poll, Release
from ostraka.trustee import Answer, Request
from tests.command import run_command

pytestmark = pytest.mark.slow
PAGE = (Path(__file__).parents[2] / "docs" / "how-to" / "trustee.md").read_text("utf-8")
BLOCKS = re.findall(r'```sh title="[a-z]+"\n(.*?)```', PAGE, re.DOTALL)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """After all of the page, and what the shell has shown."""
    folder = tmp_path_factory.mktemp("trustee")
    tools = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", "".join(BLOCKS)],
        cwd=folder,
        env={**os.environ, "PATH": tools, "COLUMNS": "100", "HOME": str(folder)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    (folder / "shown").write_text(done.stdout, "utf-8")
    return folder


def shown(folder: Path) -> str:
    return " ".join((folder / "shown").read_text("utf-8").split())


def test_the_certificate_says_whom_one_must_trust(folder: Path) -> None:
    release = Release.load(folder / "hospital" / "stay.ostraka")
    certificate = release.certificate
    assert (certificate.parties, certificate.epsilon) == (12, 4.0)
    one, other = certificate.servers
    assert one.startswith("St. Mary (ed25519:")
    assert other.startswith("University of Athens (ed25519:")
    assert "This holds if the coordinator, St. Mary" in shown(folder)


def test_a_party_sees_whom_it_seals_to(folder: Path) -> None:
    told = " ".join((folder / "wards" / "last.txt").read_text("utf-8").split())
    assert "Either the coordinator, St. Mary (ed25519:" in told
    assert "in two halves, each of which looks like chance" in told


def test_it_passes_no_key_around(folder: Path) -> None:
    """The trustee's machine has nothing that opens the coordinator's half, and the other way."""
    keys = {str(path.relative_to(folder)) for path in folder.rglob("*.key")}
    assert keys == {"university/trustee/trustee.key", "hospital/coordinator.key"}
    assert all((folder / key).stat().st_mode & 0o077 == 0 for key in keys)


def test_what_was_mailed_has_the_forms_that_it_should(folder: Path) -> None:
    poll = Poll.load(folder / "university" / "stay.poll")
    request = Request.from_bytes((folder / "university" / "stay.request").read_bytes())
    answer = Answer.from_bytes((folder / "hospital" / "stay.answer").read_bytes())
    answer.check(poll, request)
    inbox = sorted((folder / "hospital" / "inbox").iterdir())
    assert len(inbox) == len(request.entries) == 12
    assert all(Contribution.load(path).is_sealed for path in inbox)


# ---- what is refused -----------------------------------------------------------------------------


def test_another_set_of_parties_has_no_answer(folder: Path) -> None:
    """Also by the command line."""
    (folder / "hospital" / "inbox" / "ward-1.contribution").rename(folder / "away")
    try:
        words = ("hospital/stay.poll", "hospital/inbox", "--key", "hospital/coordinator.key")
        done = run_command(folder, "release", *words, "--request", "second.request")
        assert done.returncode == 0, done.stderr
        at = ("--at", "university/trustee", "--out", "second.answer", "--yes")
        refused = run_command(folder, "trustee", "answer", "second.request", *at)
        assert refused.returncode == 28
        assert "never for another set of parties" in refused.stderr
        assert not (folder / "second.answer").exists()
        given = ("--request", "hospital/stay.request", "--answer", "hospital/stay.answer")
        without = run_command(folder, "release", *words, *given, "--out", "second.ostraka")
        assert "--ledger is missing" in without.stderr
        given = (*given, "--ledger", "hospital/budgets.db")
        missing = run_command(folder, "release", *words, *given, "--out", "second.ostraka")
        assert missing.returncode == 28
        assert "has counted party ward-1" in missing.stderr
    finally:
        (folder / "away").rename(folder / "hospital" / "inbox" / "ward-1.contribution")


@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        (["release", "hospital/stay.poll", "hospital/inbox", "--check"], 18, "--key is missing"),
        (
            ["release", "hospital/stay.poll", "hospital/inbox", "--key", "wrong.key", "--check"],
            38,
            "Give the secret key of St. Mary",
        ),
        (["trustee", "show", "--at", "nowhere"], 19, "There is no trustee in nowhere"),
        (["trustee", "show", "hospital/stay.poll", "--at", "university/trustee"], 20, "request"),
        (["trustee", "init", "university/trustee", "--name", "x"], 18, "nothing in it is replaced"),
        (
            ["key", "card", "wrong.key", "--name", "x", "--out", "wrong.key"],
            32,
            "is there already",
        ),
    ],
)
def test_what_is_refused(folder: Path, words: list[str], code: int, told: str) -> None:
    if not (folder / "wrong.key").exists():
        assert run_command(folder, "key", "create", "wrong.key").returncode == 0
    done = run_command(folder, *words)
    assert done.returncode == code, done.stderr
    assert told in " ".join(done.stderr.split())


@pytest.mark.parametrize("given", ["--trustee", "--coordinator"])
def test_one_card_is_not_enough(folder: Path, given: str) -> None:
    words = ("poll", "create", "hospital/tables/public.csv", "--classes", "home,ward")
    more = ("--parties", "40", "--epsilon", "2", "--out", "x.poll")
    done = run_command(folder, *words, *more, given, "hospital/trustee.card")
    assert done.returncode == 18
    assert "is missing" in done.stderr
