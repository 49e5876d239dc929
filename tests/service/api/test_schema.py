"""The description of the routes, taken at its word by a program that tries to break them."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from benchmarks.service.processes import READY, Server, words_to_serve
from tests.service.made import a_poll, add_poll, filled, joined, settings_in, start

pytestmark = pytest.mark.slow
CHECKS = (
    "not_a_server_error",
    "status_code_conformance",
    "content_type_conformance",
    "response_schema_conformance",
)
ROLES = ("admin", "party", "reader")
RATE = 1e6


@dataclass(frozen=True)
class Running:
    """A service with polls in two states, and whoever asks it."""

    address: str
    tokens: dict[str, str]
    polls: dict[str, str]


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    folder = tmp_path_factory.mktemp("schema")
    settings = settings_in(folder, rate=RATE)
    service = start(settings)
    poll, _ = filled(service, ["a", "b", "c"])
    draft = add_poll(service, a_poll(title="A draft"), opened=False)
    tokens = {role: joined(service, f"the {role}", role=role)[0].token for role in ROLES}
    service.database.close()
    words = words_to_serve(settings, "--rate", f"{RATE:.0f}")
    with Server(words, log=folder / "log", ready=READY) as server:
        yield Running(server.address, tokens, {"open": poll.digest, "draft": draft.digest})
    assert "Traceback" not in (folder / "log").read_text("utf-8")


@pytest.mark.parametrize("state", ["open", "draft"])
@pytest.mark.parametrize("role", ROLES)
def test_whatever_is_asked_the_answer_is_of_the_form_that_is_described(
    running: Running, role: str, state: str, tmp_path: Path
) -> None:
    """Every route, with what the description allows and with what it does not."""
    config = tmp_path / "schemathesis.toml"
    config.write_text(f'[parameters]\n"path.digest" = "{running.polls[state]}"\n', "utf-8")
    words = ["-m", "schemathesis.cli", "--config-file", str(config), "run"]
    words += [f"{running.address}/v1/openapi.json", "--checks", ",".join(CHECKS)]
    words += ["--header", f"Authorization: Bearer {running.tokens[role]}"]
    words += ["--max-examples", "15", "--seed", "7", "--generation-database", "none"]
    done = subprocess.run(
        [sys.executable, *words], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout[-5000:] + done.stderr[-2000:]
