"""Joining, inviting, revoking and looking, typed at the command line, with a real service."""

from __future__ import annotations

import json
import re
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from subprocess import CompletedProcess
from unittest import mock

import pytest

from benchmarks.service.processes import READY, Server, words_to_serve
from tests.command import run_command
from tests.service.made import a_poll, rows, settings_in


@dataclass
class Place:
    """A service, and people who each have a folder of their own."""

    folder: Path
    address: str

    def run(self, who: str, *words: str) -> CompletedProcess[str]:
        return run_command(self.folder, *words, "--site", str(self.folder / who))

    def told(self, who: str, *words: str) -> str:
        done = self.run(who, *words)
        assert done.returncode == 0, (words, done.stderr)
        return " ".join(done.stdout.split())

    def invite(self, *names: str) -> list[str]:
        """The codes."""
        done = self.run("ann", "invite", *names)
        assert done.returncode == 0, done.stderr
        return re.findall(r"ostraka join \S+ ([a-z2-7-]{48})", done.stdout)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    folder = tmp_path_factory.mktemp("members")
    with Server(words_to_serve(settings_in(folder)), log=folder / "log", ready=READY) as server:
        made = Place(folder, server.address)
        assert "as admin." in made.told("ann", "join", link_in(folder / "log"))
        yield made


def link_in(log: Path) -> str:
    """What the first start has printed for the first admin."""
    (link,) = re.findall(r"ostraka join '(\S+)'", log.read_text("utf-8"))
    return str(link)


def test_a_key_stays_with_its_owner(place: Place) -> None:
    (code,) = place.invite("Ward  1")
    told = place.told("ward-1", "join", place.address, code.upper().replace("-", " "))
    assert "as party ward 1." in told
    (key,) = (place.folder / "ward-1").rglob("party.key")
    assert stat.S_IMODE(key.stat().st_mode) == 0o600
    assert stat.S_IMODE(key.parent.stat().st_mode) == 0o700
    used = place.run("thief", "join", place.address, code)
    assert used.returncode == 28
    assert "tell the coordinator at once" in used.stderr


def test_a_code_of_another_service(place: Place) -> None:
    (code,) = place.invite("ward 2")
    other = code[:-1] + ("a" if code[-1] != "a" else "q")
    done = place.run("ward-2", "join", place.address, other)
    assert done.returncode in (20, 25)
    assert not list((place.folder / "ward-2").rglob("*.json"))


def test_a_typo_at_the_end_of_a_code(place: Place) -> None:
    (code,) = place.invite("ward 2")
    other = code[:-3] + ("a" if code[-3] != "a" else "b") + code[-2:]
    done = place.run("ward-2", "join", place.address, other)
    assert done.returncode == 25
    told = " ".join(done.stderr.split())
    assert told.index("most likely a letter") < told.index("somebody stands between you")
    assert told.endswith("The code was not used.")


def test_what_did_not_happen_is_said_once(place: Place) -> None:
    for words, told in (
        (["join", place.address, "abc"], "Nothing was sent, and nobody has joined."),
        (["policy", "check", "none.poll"], "Check the path. Nothing was written."),
        (["join", place.address], "or its whole link. Nothing was written."),
    ):
        done = place.run("nobody", *words)
        assert " ".join(done.stderr.split()).endswith(told), done.stderr
        assert "Nothing was loaded" not in done.stderr


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["join", "http://polls.example.org", "x"], 19),
        (["join", "ftp://127.0.0.1", "x"], 18),
        (["join", "http://127.0.0.1:1", "not-a-code"], 20),
        (["status", "http://127.0.0.1:1"], 19),
        (["invite"], 18),
        (["join", "http://127.0.0.1:1/polls/3f2a", "x"], 18),
        (["join", "https://127.0.0.1:1", "x", "--ca", "none.pem"], 30),
    ],
)
def test_what_is_refused_before_anybody_is_asked(place: Place, words: list[str], code: int) -> None:
    done = place.run("nobody", *words)
    assert done.returncode == code, done.stderr
    assert done.stderr.startswith("Error")


def test_invitations_go_into_a_file_for_ones_own_eyes(place: Place) -> None:
    (place.folder / "names.txt").write_text("ward 3\nward 4\n\n", "utf-8")
    out = place.folder / "codes.csv"
    words = ("invite", "--list", "names.txt", "--out", "codes.csv")
    assert "with 2 codes" in place.told("ann", *words)
    assert stat.S_IMODE(out.stat().st_mode) == 0o600
    assert place.run("ann", *words).returncode != 0, "it may hold codes that are not used yet"
    assert len(out.read_text("utf-8").splitlines()) == 3


def test_another_key_and_token(place: Place) -> None:
    (code,) = place.invite("ward 5")
    place.told("ward-5", "join", place.address, code)
    (key,) = (place.folder / "ward-5").rglob("party.key")
    before = key.read_bytes()
    assert "as before" in place.told("ward-5", "join", place.address, "--renew")
    assert key.read_bytes() != before
    assert "party ward 5" in place.told("ward-5", "status")


def test_revoked(place: Place) -> None:
    (code,) = place.invite("ward 6")
    place.told("ward-6", "join", place.address, code)
    place.told("ann", "revoke", "ward 6", "--yes")
    done = place.run("ward-6", "status")
    assert done.returncode == 27
    assert "unknown, too old or withdrawn" in done.stderr


def test_a_second_code_in_one_folder_is_not_used_by_mistake(place: Place) -> None:
    """Somebody who plays two wards on one machine would lose the first one's key."""
    one, other = place.invite("ward 8", "ward 9")
    place.told("ward-8", "join", place.address, one)
    done = place.run("ward-8", "join", place.address, other)
    assert done.returncode == 19
    assert "already, as party ward 8" in " ".join(done.stderr.split())
    assert "as party ward 9." in place.told("ward-9", "join", place.address, other)


def test_who_has_joined_is_listed_for_admins(place: Place) -> None:
    (code,) = place.invite("ward 10")
    place.told("ward-10", "join", place.address, code)
    assert "ward 10: joined, since" in place.told("ann", "status", "--parties")
    listed = json.loads(place.run("ann", "status", "--parties", "--json").stdout)["parties"]
    assert {"name", "joined", "has_key", "revoked"} == set(listed[0])
    assert place.run("ward-10", "status", "--parties").returncode == 19


def test_a_question_that_nobody_can_answer(place: Place) -> None:
    done = place.run("ann", "revoke", "ward 99")
    assert done.returncode == 18
    assert "Nobody was revoked." in done.stderr


def test_names_that_nobody_knows_are_not_handed_in(place: Place) -> None:
    """A misspelt party would count twice."""
    poll = a_poll(title="By file")
    poll.save(place.folder / "file.poll")
    place.told("ann", "poll", "upload", "file.poll")
    where = f"{place.address}/polls/{poll.digest}"
    place.told("ann", "poll", "open", where, "--yes")
    poll.contribute(*rows(), "ward 77").save(place.folder / "w.contribution")
    words = ("hand-in", where, "w.contribution")
    done = place.run("ann", *words)
    assert done.returncode == 19
    assert "knows no party ward 77. Nothing was handed in." in " ".join(done.stderr.split())
    assert "has arrived" in place.told("ann", *words, "--new-party")
    assert "has arrived" in place.told("ann", *words), "now it is known"
    assert "What leaves my machine?" in place.told("ann", "poll", "show", where)
    place.told("ann", "poll", "abandon", where, "--yes")


def test_a_party_is_no_admin(place: Place) -> None:
    (code,) = place.invite("ward 7")
    place.told("ward-7", "join", place.address, code)
    done = place.run("ward-7", "invite", "friend")
    assert done.returncode == 19
    assert "You have not joined" in done.stderr


def test_a_poll_from_draft_to_its_end(place: Place) -> None:
    poll = a_poll(title="A poll")
    poll.save(place.folder / "a.poll")
    assert "as draft" in place.told("ann", "poll", "upload", "a.poll")
    where = f"{place.address}/polls/{poll.digest}"
    assert json.loads(place.run("ann", "status", where, "--json").stdout)["state"] == "draft"
    assert "ostraka poll open" in place.told("ann", "status", where)
    assert "Open. Whoever is asked" in place.told("ann", "poll", "open", where, "--yes")
    early = place.run("ann", "close", where, "--yes")
    assert early.returncode == 16, "too few have contributed"
    assert json.loads(place.run("ann", "status", where, "--json").stdout)["state"] == "open"
    assert place.run("ann", "fetch", where, "--out", "m.ostraka").returncode == 28
    place.told("ann", "poll", "abandon", where, "--yes")
    assert json.loads(place.run("ann", "status", where, "--json").stdout)["state"] == "abandoned"
    log = place.told("ann", "status", "--log")
    for what in ("drafted a poll", "opened a poll", "abandoned a poll"):
        assert what in log


def test_a_dead_service(tmp_path: Path) -> None:
    words = words_to_serve(settings_in(tmp_path))
    with Server(words, log=tmp_path / "log", ready=READY):
        done = run_command(tmp_path, "join", link_in(tmp_path / "log"), "--site", "site")
        assert done.returncode == 0, done.stderr
    with mock.patch("time.sleep"), mock.patch("ostraka.client.client.FIRST_PAUSE", 100.0):
        done = run_command(tmp_path, "status", "--site", "site")
    assert done.returncode == 35
    assert "does not answer" in done.stderr
    assert "Traceback" not in done.stderr
