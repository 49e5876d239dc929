"""The whole story, by real processes on loopback, on SQLite and on PostgreSQL.

A service, an admin, and parties, each of whom has a folder of its own and types the commands of the
docs: sixty dealt activities of the HAR data, of whom one changes its mind, one never shows up and
one has no network; then twenty who vote with classifiers of many kinds; then a poll that somebody's
budget refuses, and one that a site's own rules refuse.
"""

from __future__ import annotations

import csv
import json
import os
import re
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from multiprocessing import get_context
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import numpy as np
import pandas as pd
import pytest

from benchmarks.service.processes import READY, Server, words_to_serve
from ostraka import Release
from ostraka.datasets import load
from ostraka.service.starting import migrate_database
from tests.command import run_command
from tests.databases import new_database
from tests.service.made import settings_in

DATA = Path(os.environ.get("OSTRAKA_DATA") or "data")
HAR = [f"party-{number}" for number in range(1, 61)]
VOTERS = HAR[:20]
WAVERER, ABSENT, OFFLINE = "party-7", "party-59", "party-60"
LOCAL = ("linear", "tree", "forest", "bayes", "neighbours", "svm", "boosting", "lightgbm")
KEY = re.compile(r"ed25519:[A-Za-z0-9+/]{43}=")
COLUMNS = 100
"""Of 561: as many lines of the test as there are, and much faster to read."""


@dataclass
class Story:
    """What was said by whom, to be looked at."""

    folder: Path
    address: str
    key: str = ""
    polls: dict[str, str] = field(default_factory=dict)
    said: dict[str, CompletedProcess[str]] = field(default_factory=dict)

    def admin(self, *words: str) -> CompletedProcess[str]:
        return run_command(self.folder, *words, "--site", str(self.folder / "admin"))

    def ask(self, *words: str) -> str:
        """What an admin's command prints, which must succeed."""
        done = self.admin(*words)
        assert done.returncode == 0, (words, done.stdout, done.stderr)
        return done.stdout


def as_party(folder: Path, name: str, *words: str) -> CompletedProcess[str]:
    """A command typed at a party's machine."""
    own = folder / name
    own.mkdir(exist_ok=True)
    return run_command(own, *words, "--site", str(own / "site"))


def take_part(
    folder: Path, name: str, join: list[str] | None, contributions: list[list[str]]
) -> list[CompletedProcess[str]]:
    """In a process of its own: join, and contribute as often as it likes."""
    done = [] if join is None else [as_party(folder, name, *join)]
    return [*done, *(as_party(folder, name, "contribute", *each) for each in contributions)]


def write_tables(folder: Path) -> None:
    """Sixty parties of 122 rows, a public table, and rows to measure on."""
    har = load("har", DATA)
    names = [f"sensor {number}" for number in range(COLUMNS)]
    train = pd.DataFrame(har.train.samples[:, :COLUMNS].astype(float), columns=names)
    train["activity"] = np.array(har.classes)[har.train.labels]
    order = np.random.default_rng(5).permutation(len(train))
    for name, rows in zip(HAR, np.array_split(order, len(HAR)), strict=True):
        train.iloc[rows].to_csv(folder / f"{name}.csv", index=False)
    test = pd.DataFrame(har.test.samples[:, :COLUMNS].astype(float), columns=names)
    test["activity"] = np.array(har.classes)[har.test.labels]
    test[::3].drop(columns="activity").to_csv(folder / "public.csv", index=False)
    test[1::3].to_csv(folder / "new.csv", index=False)


def draft(story: Story, title: str, **options: str) -> str:
    """A poll, made, given to the service and opened; its address."""
    classes = "WALKING,WALKING_UPSTAIRS,WALKING_DOWNSTAIRS,SITTING,STANDING,LAYING"
    given = [word for name, value in options.items() for word in (f"--{name}", value)]
    given += [] if options["method"] == "consensus" else ["--samples-each", "120"]
    told = story.ask(
        *("poll", "create", "public.csv", "--title", title, "--classes", classes),
        *("--server", story.address, *given),
    )
    (address,) = re.findall(r"It is at (\S+), as draft", told)
    story.ask("poll", "open", address, "--yes")
    story.polls[title] = address
    return str(address)


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def story(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Story]:
    if not (DATA / "har.npz").exists():
        pytest.skip(f"har.npz is not in {DATA}; set OSTRAKA_DATA to the folder that holds it")
    folder = tmp_path_factory.mktemp("story")
    url = None
    if request.param == "postgresql":
        url = new_database(request.getfixturevalue("postgresql"))
        assert migrate_database(settings_in(folder, url)) == (None, "1")
    words = words_to_serve(settings_in(folder, url, grid=0.1), "--epsilon", "30", "--workers", "2")
    write_tables(folder)
    with (
        Server(words, log=folder / "log", ready=READY) as server,
        ProcessPoolExecutor(4, mp_context=get_context("spawn")) as machines,
    ):
        made = Story(folder, server.address)
        begin(made)
        vote_on_moments(made, machines)
        vote_by_classifiers(made, machines)
        refuse_by_budget(made, machines)
        refuse_by_rules(made)
        yield made


def begin(story: Story) -> None:
    log = (story.folder / "log").read_text("utf-8")
    (link,) = re.findall(r"ostraka join '(\S+)'", log)
    told = story.ask("join", link)
    (story.key,) = {each for each in KEY.findall(log) if each in told}


def run_all(
    story: Story, machines: ProcessPoolExecutor, jobs: dict[str, tuple[Any, list[list[str]]]]
) -> None:
    """Every party at its machine, four at a time."""
    waiting = {
        name: machines.submit(take_part, story.folder, name, join, contributions)
        for name, (join, contributions) in jobs.items()
    }
    for name, each in waiting.items():
        for done in each.result():
            assert done.returncode == 0, (name, done.stdout, done.stderr)
            story.said.setdefault(f"{name} {done.args[0]}", done)
        story.said.setdefault(f"{name} at last", done)


def vote_on_moments(story: Story, machines: ProcessPoolExecutor) -> None:
    folder = story.folder
    poll = draft(story, "Activities", parties="60", epsilon="10", method="moments")
    (folder / "names.txt").write_text("\n".join(HAR[:-1]), "utf-8")
    story.ask("invite", "--list", "names.txt", "--out", "invitations.csv")
    with (folder / "invitations.csv").open(encoding="utf-8") as file:
        codes = {row["name"]: row["command"].split()[1:] for row in csv.DictReader(file)}
    jobs: dict[str, tuple[Any, list[list[str]]]] = {}
    for name in HAR[:-1]:
        table = ["contribute", poll, f"../{name}.csv", "--label-column", "activity", "--yes"][1:]
        twice = [[poll, "../party-8.csv", "--label-column", "activity", "--yes"], table]
        jobs[name] = codes[name], {ABSENT: [], WAVERER: twice}.get(name, [table])
    run_all(story, machines, jobs)
    by_file(story, poll)
    story.ask("close", poll, "--out", "activities.ostraka", "--yes")


def by_file(story: Story, poll: str) -> None:
    """A party without any network: two files go in, and one comes back."""
    folder = story.folder
    story.ask("fetch", poll, "--poll", "--out", "activities.poll")
    words = ["contribute", "../activities.poll", f"../{OFFLINE}.csv"]
    words += ["--label-column", "activity", "--party", OFFLINE, "--out", "mine.contribution"]
    for each in (["policy", "set", "--epsilon-per-poll", "10"], words):
        done = as_party(folder, OFFLINE, *each)
        assert done.returncode == 0, done.stderr
    story.ask(
        "hand-in", poll, f"{OFFLINE}/mine.contribution", "--receipts", "receipts", "--new-party"
    )


def vote_by_classifiers(story: Story, machines: ProcessPoolExecutor) -> None:
    poll = draft(story, "By votes", parties="20", epsilon="10", method="consensus")
    jobs = {}
    for number, name in enumerate(VOTERS):
        kind = LOCAL[number % len(LOCAL)]
        words = [poll, f"../{name}.csv", "--label-column", "activity", "--yes", "--local", kind]
        jobs[name] = None, [words]
    run_all(story, machines, jobs)
    story.ask("close", poll, "--out", "votes.ostraka", "--yes")


def refuse_by_budget(story: Story, machines: ProcessPoolExecutor) -> None:
    """Party 3 has another budget now, and has spent 20 of it."""
    poor, few = "party-3", HAR[:5]
    story.ask("ledger", "allow", story.address, poor, "--epsilon", "22")
    poll = draft(story, "A third one", parties="60", epsilon="5", method="cells")
    words = ["--label-column", "activity", "--yes"]
    run_all(story, machines, {each: (None, [[poll, f"../{each}.csv", *words]]) for each in few})
    story.said["refused"] = story.admin("close", poll, "--yes")
    story.said["still open"] = story.admin("status", poll, "--json")
    story.said["accounts then"] = story.admin("ledger", "show", story.address, "--json")
    story.ask("close", poll, "--leave-out", poor, "--out", "third.ostraka", "--yes")


def refuse_by_rules(story: Story) -> None:
    poll = draft(story, "Too much", parties="60", epsilon="4", method="cells")
    strict = "party-5"
    done = as_party(story.folder, strict, "policy", "set", "--epsilon-per-poll", "3")
    assert done.returncode == 0, done.stderr
    words = [poll, f"../{strict}.csv", "--label-column", "activity", "--yes"]
    story.said["rules"] = as_party(story.folder, strict, "contribute", *words)
    story.said["nothing came"] = story.admin("status", poll, "--json")
    story.ask("poll", "abandon", poll, "--yes")


# ---- what came of it -----------------------------------------------------------------------------


def test_a_party_was_shown_what_leaves_before_it_left(story: Story) -> None:
    told = " ".join(story.said["party-1 contribute"].stdout.split())
    assert "whole numbers" in told
    assert "No row, no column and no file of yours" in told
    assert "It has arrived, as number 1" in told


def test_whoever_came_is_counted_and_charged_once(story: Story) -> None:
    poll = story.polls["Activities"]
    state = json.loads(story.ask("status", poll, "--json"))
    assert (state["state"], state["contributions"]) == ("released", 59)
    release = Release.load(story.folder / "activities.ostraka")
    assert release.certificate.parties == 59
    accounts = json.loads(story.said["accounts then"].stdout)["parties"]
    spent = {each["party"]: each["spent"]["epsilon"] for each in accounts}
    assert spent == {name: 20.0 if name in VOTERS else 10.0 for name in HAR if name != ABSENT}


@pytest.mark.parametrize("name", ["party-1", WAVERER, "party-58"])
def test_a_party_finds_that_it_was_counted(story: Story, name: str) -> None:
    told = as_party(story.folder, name, "status", story.polls["Activities"])
    assert "Counted: your receipt is on the service's signed list." in " ".join(told.stdout.split())


def test_one_changed_its_mind(story: Story) -> None:
    told = story.said[f"{WAVERER} at last"].stdout
    assert "What did I send before?" in told
    assert "It has arrived, as number 2" in told


def test_one_never_showed_up(story: Story) -> None:
    told = as_party(story.folder, ABSENT, "status", story.polls["Activities"])
    assert "None has arrived." in told.stdout
    told = as_party(story.folder, ABSENT, "status")
    assert "ε = 30 of ε = 30" in told.stdout, "and was not charged"


def test_one_came_by_file_and_can_tell(story: Story) -> None:
    """From files alone: its receipt, the list, and the service's key."""
    poll, folder = story.polls["Activities"], story.folder
    if not (folder / "activities.list").exists():
        story.ask("fetch", poll, "--list", "--out", "activities.list")
    done = run_command(
        folder / OFFLINE,
        *("verify", "../receipts/mine.receipt", "--list", "../activities.list"),
        *("--signer", story.key, "--contribution", "mine.contribution"),
    )
    assert done.returncode == 0, done.stderr
    told = " ".join(done.stdout.split())
    assert "Yes: not a byte of it was changed." in told
    assert "Yes: it is one of 59 on the list." in told


def test_after_closing_nothing_can_be_sent(story: Story) -> None:
    words = [story.polls["Activities"], "../party-2.csv", "--label-column", "activity", "--yes"]
    done = as_party(story.folder, "party-2", "contribute", *words)
    assert done.returncode == 28
    assert "nothing can be sent to it or changed any more" in done.stderr


@pytest.mark.parametrize("name", ["activities", "votes", "third"])
def test_a_release_is_verified_offline(story: Story, name: str) -> None:
    title = {"activities": "Activities", "votes": "By votes", "third": "A third one"}[name]
    file = f"{name}-asked.poll"
    story.ask("fetch", story.polls[title], "--poll", "--out", file, "--force")
    words = ("verify", f"{name}.ostraka", "--signer", story.key, "--poll", file)
    told = " ".join(run_command(story.folder, *words).stdout.split())
    assert "whom you named. Not a byte was changed since." in told
    assert "Yes: computed anew from noise and sensitivity" in told
    assert "certificate, classes, columns and features follow from" in told


def test_a_changed_release_is_refused(story: Story) -> None:
    content = bytearray((story.folder / "activities.ostraka").read_bytes())
    content[-5] ^= 1
    (story.folder / "changed.ostraka").write_bytes(content)
    beside = (story.folder / "activities.ostraka.sig").read_bytes()
    (story.folder / "changed.ostraka.sig").write_bytes(beside)
    done = run_command(story.folder, "verify", "changed.ostraka", "--signer", story.key)
    assert done.returncode == 25


def test_the_model_is_useful_and_the_onnx_file_says_the_same(story: Story) -> None:
    import onnxruntime

    folder = story.folder
    table = pd.read_csv(folder / "new.csv")
    truth = table.pop("activity").to_numpy()
    release = Release.load(folder / "activities.ostraka")
    told = release.predict(table)
    assert np.mean(told == truth) > 0.6, "the commonest activity is 0.18 of the rows"
    onnx = folder / "activities.onnx"
    if not onnx.exists():
        done = run_command(folder, "export", "activities.ostraka", "--onnx", onnx.name)
        assert done.returncode == 0, done.stderr
    session = onnxruntime.InferenceSession(onnx, providers=["CPUExecutionProvider"])
    given = {
        each.name: table[[each.name]].to_numpy() if each.name in table else table.to_numpy()
        for each in session.get_inputs()
    }
    labels = session.run(None, given)[0]
    assert np.mean(np.asarray(labels) == told) > 0.999, "but for rounding"


def test_twenty_voted_with_classifiers_of_many_kinds(story: Story) -> None:
    release = Release.load(story.folder / "votes.ostraka")
    assert (release.certificate.method, release.certificate.parties) == ("consensus", 20)


def test_a_budget_refuses_and_nobody_is_charged(story: Story) -> None:
    refused = story.said["refused"]
    assert refused.returncode == 40
    assert "party party-3 has" in refused.stderr
    assert "Nothing was drawn and nothing was spent." in refused.stderr
    state = json.loads(story.said["still open"].stdout)
    assert (state["state"], state["contributions"]) == ("open", 5)


def test_without_the_poor_one_it_is_released(story: Story) -> None:
    assert Release.load(story.folder / "third.ostraka").certificate.parties == 4
    told = json.loads(story.ask("ledger", "show", story.address, "--party", "party-3", "--json"))
    assert [each["spent"]["epsilon"] for each in told["parties"]] == [20.0]
    told = as_party(story.folder, "party-3", "status", story.polls["A third one"])
    assert "NOT COUNTED" in told.stdout, "and it can tell"


def test_own_rules_refuse_before_anything_leaves(story: Story) -> None:
    refused = story.said["rules"]
    assert refused.returncode == 26
    assert json.loads(story.said["nothing came"].stdout)["contributions"] == 0
    assert not list(story.folder.rglob(f"pending/{story.polls['Too much'][-64:]}*"))


def test_what_admins_did_is_in_the_log(story: Story) -> None:
    told = story.ask("status", story.address, "--log")
    for what in ("drafted a poll", "opened a poll", "closed a poll", "handed in", "abandoned"):
        assert what in told


def test_the_service_never_stumbled(story: Story) -> None:
    """Its log has no error, no traceback, and nothing secret."""
    log = (story.folder / "log").read_text("utf-8")
    lines = [json.loads(line) for line in log.splitlines() if line.startswith("{")]
    assert {line["level"] for line in lines} == {"info"}
    assert all(line["status"] < 500 for line in lines)
    assert "Traceback" not in log
    assert "ostraka_" not in log.replace("ostraka_polls", ""), "no token"
