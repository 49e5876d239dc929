"""A poll with a trustee, by real processes on loopback: three parties by file and twenty over HTTP,
one that never comes, one whose half was damaged on the way; and what the coordinator could read.
"""

from __future__ import annotations

import csv
import re
import sqlite3
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import closing
from dataclasses import replace
from multiprocessing import get_context
from pathlib import Path
from unittest import mock

import numpy as np
import pytest

from benchmarks.service.processes import READY, Server, words_to_serve
from ostraka import Contribution, Release
from ostraka.answering import Given, contribute_rows, read_rows
from ostraka.exchange import Manifest
from ostraka.party.sealed import open_share
from ostraka.poll import Poll, asking
from ostraka.sealing import Opener
from ostraka.sealing.shares import Share, centre
from ostraka.signing import SecretKey
from ostraka.tally.domain import Units
from ostraka.trustee import Answer, Request
from tests.command import run_command
from tests.laws.sealed import is_whole_noise, look_like_chance
from tests.service.made import settings_in
from tests.service.test_story import Story, as_party, take_part

pytestmark = pytest.mark.slow
WARDS = [f"ward-{number}" for number in range(1, 25)]
BY_FILE, ABSENT, DAMAGED = WARDS[:3], WARDS[-1], "ward-2"


@pytest.fixture(scope="module")
def story(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Story]:
    folder = tmp_path_factory.mktemp("sealed")
    words = words_to_serve(settings_in(folder, grid=0.1), "--epsilon", "30", "--workers", "2")
    words += ["--name", "St. Mary"]
    run(folder, "demo", "--tables", "tables")
    run(folder, "trustee", "init", "trustee", "--name", "University")
    with (
        Server(words, log=folder / "log", ready=READY) as server,
        ProcessPoolExecutor(4, mp_context=get_context("spawn")) as machines,
    ):
        made = Story(folder, server.address)
        (link,) = re.findall(r"ostraka join '(\S+)'", (folder / "log").read_text("utf-8"))
        made.ask("join", link)
        ask_wards(made)
        answer_by_network(made, machines)
        answer_by_file(made)
        with closing(sqlite3.connect(folder / "data" / "service.db")) as database:
            rows = database.execute("SELECT content FROM contribution").fetchall()
            (folder / "seen").write_bytes(b"".join(content for (content,) in rows))
            (folder / "seen.sizes").write_text(" ".join(str(len(each)) for (each,) in rows))
        release(made)
        yield made


def run(folder: Path, *words: str) -> str:
    done = run_command(folder, *words)
    assert done.returncode == 0, (words, done.stdout, done.stderr)
    return done.stdout


def ask_wards(story: Story) -> None:
    told = story.ask(
        *("poll", "create", "tables/public.csv", "--title", "Home or ward"),
        *("--classes", "home,ward", "--parties", "24", "--samples-each", "50", "--epsilon", "8"),
        *("--least-parties", "20", "--trustee", "trustee/trustee.card"),
        *("--server", story.address),
    )
    assert "either the coordinator, St. Mary" in " ".join(told.split()).replace("Either", "either")
    (story.polls["stay"],) = re.findall(r"It is at (\S+), as draft", told)
    story.ask("poll", "open", story.polls["stay"], "--yes")
    story.ask("invite", *WARDS[3:], "--out", "invitations.csv")


def answer_by_network(story: Story, machines: ProcessPoolExecutor) -> None:
    with (story.folder / "invitations.csv").open(encoding="utf-8") as file:
        codes = {row["name"]: row["command"].split()[1:] for row in csv.DictReader(file)}
    poll, waiting = story.polls["stay"], {}
    for name in WARDS[3:]:
        table = [poll, f"../tables/wards/{name}.csv", "--label-column", "outcome", "--yes"]
        sent = [] if name == ABSENT else [table]
        waiting[name] = machines.submit(take_part, story.folder, name, codes[name], sent)
    for name, each in waiting.items():
        for done in each.result():
            assert done.returncode == 0, (name, done.stdout, done.stderr)
            story.said[name] = done


def answer_by_file(story: Story) -> None:
    folder, poll = story.folder, story.polls["stay"]
    story.ask("fetch", poll, "--poll", "--out", "stay.poll")
    for name in BY_FILE:
        words = ("contribute", "stay.poll", f"tables/wards/{name}.csv", "--label-column", "outcome")
        run(folder, *words, "--party", name, "--out", f"{name}.contribution")
    damage(folder / f"{DAMAGED}.contribution")
    files = [f"{name}.contribution" for name in BY_FILE]
    story.ask("hand-in", poll, *files, "--receipts", "receipts", "--new-party")


def damage(path: Path) -> None:
    """In the trustee's half, which the coordinator cannot look into."""
    given = Contribution.load(path)
    values = given.values.copy()
    values[60] ^= 1
    replace(given, values=values).save(path, overwrite=True)


def release(story: Story) -> None:
    poll = story.polls["stay"]
    story.ask("close", poll, "--yes", "--request", "stay.request")
    at = ("--at", "trustee", "--yes")
    run(story.folder, "trustee", "answer", "stay.request", "--out", "stay.answer", *at)
    run(story.folder, "trustee", "answer", "stay.request", "--out", "again.answer", *at)
    story.ask("close", poll, "--answer", "stay.answer", "--out", "stay.ostraka", "--yes")
    story.ask("fetch", poll, "--list", "--out", "stay.list")
    story.said["counted"] = as_party(story.folder, WARDS[5], "status", poll)


def test_the_release_verifies_and_says_whom_one_must_trust(story: Story) -> None:
    released = Release.load(story.folder / "stay.ostraka")
    assert released.certificate.parties == len(WARDS) - 2, "one is absent, one was damaged"
    one, other = released.certificate.servers
    assert (one.split(" (")[0], other.split(" (")[0]) == ("St. Mary", "University")
    told = run(story.folder, "verify", "stay.ostraka", "--poll", "stay.poll")
    assert "certificate, classes, columns and features follow from" in " ".join(told.split())


def test_the_damaged_half_fell_out_on_both_sides(story: Story) -> None:
    answer = Answer.from_bytes((story.folder / "stay.answer").read_bytes())
    assert answer.left_out == (DAMAGED,)
    request = Request.from_bytes((story.folder / "stay.request").read_bytes())
    assert len(request.entries) == len(WARDS) - 1
    assert Manifest.from_bytes((story.folder / "stay.list").read_bytes()).parties == 23
    log = " ".join(story.ask("status", "--log").split())
    assert "by the trustee" in log
    assert "handed in a trustee's answer" in log
    told = story.said["counted"].stdout
    assert "Counted: your receipt is on the service's signed list." in " ".join(told.split())


def test_the_trustee_answers_once(story: Story) -> None:
    first, again = ((story.folder / f"{name}.answer").read_bytes() for name in ("stay", "again"))
    assert first == again


def kept_by_coordinator(story: Story) -> tuple[Poll, list[Contribution], list[Share]]:
    """What was in its database before it asked the trustee, and what its key opens of it."""
    poll = Poll.load(story.folder / "stay.poll")
    opener = Opener.of(SecretKey.load(story.folder / "data" / "service.key"))
    data, sizes = (story.folder / "seen").read_bytes(), (story.folder / "seen.sizes").read_text()
    kept, start = [], 0
    for size in map(int, sizes.split()):
        kept.append(Contribution.from_bytes(data[start : start + size]))
        start += size
    return poll, kept, [open_share(each, opener, poll.domain.dimension) for each in kept]


def test_what_the_coordinator_had_looks_like_chance(story: Story) -> None:
    """All that was on its disk, which is all that was on its wire, also with its key; and the sum
    of its shares. False alarms: 2e-6.
    """
    poll, kept, shares = kept_by_coordinator(story)
    assert len(kept) == 23
    assert look_like_chance(kept, shares)
    total = centre(np.sum(shares, axis=0, dtype=np.uint64))
    most = poll.domain.length * len(kept)  # type: ignore[union-attr]
    assert max(map(abs, total)) > 1000 * most, "a plain sum would be within the ball"


def test_what_the_coordinator_sees_with_the_answer_is_the_sum_with_all_of_the_noise(
    story: Story,
) -> None:
    """Before it adds its own. The sum itself is computed here from everybody's tables. False alarm:
    1e-6.
    """
    poll, kept, shares = kept_by_coordinator(story)
    answer = Answer.from_bytes((story.folder / "stay.answer").read_bytes())
    counted = [n for n, each in enumerate(kept) if each.party != DAMAGED]
    ours = np.sum([shares[n] for n in counted], axis=0, dtype=np.uint64)
    plain = np.sum([in_clear(story, poll, kept[n].party) for n in counted], axis=0)
    noise = [seen - int(q) for seen, q in zip(centre(ours + answer.share), plain, strict=True)]
    law = poll.mechanism(len(counted)).law
    assert is_whole_noise(noise, law)
    assert not is_whole_noise(centre(answer.share), law), "alone it looks like chance, too"


def in_clear(story: Story, poll: Poll, party: str) -> Units:
    """What a party would have sent to a coordinator whom everybody trusts."""
    given = Given(
        data=story.folder / "tables" / "wards" / f"{party}.csv", label_column="outcome",
        person_column=None, local="linear", model=None, trust=(), jobs=1,
    )  # fmt: skip
    with mock.patch.object(asking, "seal", lambda plain, servers: plain):
        made: Units = contribute_rows(poll, read_rows(poll, given), given, party).values
    return made
