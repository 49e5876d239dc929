"""A federation of real processes on loopback: TLS, five nodes with keys, and two polls.

The nodes reach the SuperLink through a proxy that hides everything but what nodes need.

First five holders answer from tables with the rows of several people each, who are protected, with
an app that has no code; one of them has rules of its own, which refuse. Then they answer another
poll by rows that an app of theirs loads; one is killed while it reads them.
"""

from __future__ import annotations

import contextlib
import errno
import http.client
import json
import os
import shutil
import ssl
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec

from benchmarks.flower.federation import Federation, wait_until
from ostraka import Release
from ostraka.datasets import load
from ostraka.ledger import Ledger
from ostraka.site import Rules, Site
from tests.certificates import write_certificate
from tests.command import run_command
from tests.flower.proxy import FleetProxy

DATA = Path(os.environ.get("OSTRAKA_DATA") or "data")
EXAMPLES = Path(__file__).parent.parent.parent / "examples" / "flower"
HOLDERS = ("amager", "bispebjerg", "gentofte", "herlev", "hvidovre")
STRICT, KILLED = HOLDERS[1], HOLDERS[4]
COLUMNS = 40
PATIENCE = 240.0


@dataclass
class Story:
    """What was said, and by whom."""

    folder: Path
    federation: Federation
    proxy: FleetProxy
    nodes: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)
    said: dict[str, str] = field(default_factory=dict)
    n_persons: int = 0

    def ask(self, *words: str) -> str:
        done = run_command(self.folder, *words)
        assert done.returncode == 0, (words, done.stdout, done.stderr)
        return done.stdout

    def config(self, name: str) -> dict[str, object]:
        return {
            "poll": self.folder / f"{name}.poll",
            "out": self.folder / f"{name}.ostraka",
            "ledger": self.folder / f"{name}.db",
            "deadline": PATIENCE,
            "least-nodes": 4,
            "wait-for-nodes": 5,
        }


def people() -> tuple[pd.DataFrame, pd.DataFrame]:
    """Rows with `subject` and `outcome`, and public rows: activities, or digits where none are."""
    if (DATA / "har.npz").exists():
        har = load("har", DATA)
        train, public = (pd.DataFrame(part.samples[:, :COLUMNS]) for part in (har.train, har.test))
        train["outcome"] = np.array(har.classes)[har.train.labels]
        train["subject"] = np.asarray(har.train.sources)
    else:
        digits = load("digits", DATA)
        train, public = (
            pd.DataFrame(part.samples[:, :COLUMNS]) for part in (digits.train, digits.test)
        )
        train["outcome"] = [f"digit {label}" for label in digits.train.labels]
        train["subject"] = np.arange(len(train)) % 30
    for table in (train, public):
        table.columns = [f"sensor {c}" if isinstance(c, int) else c for c in table.columns]
    return train, public[::4]


def write_tables(story: Story) -> None:
    train, public = people()
    public.to_csv(story.folder / "public.csv", index=False)
    subjects = train["subject"].unique()
    story.n_persons = len(subjects)
    for name, own in zip(HOLDERS, np.array_split(subjects, len(HOLDERS)), strict=True):
        rows = train[train["subject"].isin(own)]
        rows.to_csv(story.folder / f"{name}.csv", index=False)
        samples = rows.drop(columns=["subject", "outcome"]).to_numpy(float)
        labels = rows["outcome"].to_numpy(str)
        np.savez(story.folder / f"{name}.npz", samples=samples, labels=labels)
    classes = ",".join(sorted(train["outcome"].unique()))
    for name, *whom in (
        ("subjects", "--protects", "person", "--persons", str(story.n_persons)),
        ("holders", "--protects", "party"),
    ):
        story.ask(
            *("poll", "create", "public.csv", "--classes", classes, "--parties", "5", *whom),
            *("--epsilon", "2" if name == "subjects" else "0.5", "--method", "moments"),
            *("--samples-each", "100", "--out", f"{name}.poll"),
        )
        unit = ("--protects", "person") if name == "subjects" else ()
        story.ask("ledger", "init", f"{name}.db", "--epsilon", "5", *unit)


def write_key(path: Path) -> None:
    """A node's key, and beside it the public one that is registered."""
    key = ec.generate_private_key(ec.SECP384R1())
    path.touch(mode=0o600)
    path.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.OpenSSH,
            serialization.NoEncryption(),
        )
    )
    public = key.public_key().public_bytes(
        serialization.Encoding.OpenSSH, serialization.PublicFormat.OpenSSH
    )
    path.with_name(f"{path.name}.pub").write_bytes(public)


def add_nodes(story: Story) -> None:
    """Each with a table, rows, a name and perhaps rules; the last one's rows never come."""
    Site(story.folder / "rules", Rules(epsilon_per_poll=1.0)).save()
    os.mkfifo(story.folder / "pipe.npz")
    for name in HOLDERS:
        write_key(story.folder / name)
        rows = "pipe" if name == KILLED else name
        config = {
            "data": str(story.folder / f"{name}.csv"),
            "label_column": "outcome",
            "person_column": "subject",
            "rows": str(story.folder / f"{rows}.npz"),
            "party": name.title(),
        }
        if name == STRICT:
            config["site"] = str(story.folder / "rules")
        story.nodes[name] = story.federation.add_node(
            name, story.folder / name, story.proxy.address, **config
        )


@pytest.fixture(scope="module")
def story(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Story]:
    folder = tmp_path_factory.mktemp("federation")
    tls = write_certificate(folder)
    with Federation(folder, tls=tls) as federation, FleetProxy(federation.address, tls) as proxy:
        made = Story(folder, federation, proxy)
        write_tables(made)
        add_nodes(made)
        run = federation.run(EXAMPLES / "tables", made.config("subjects"))
        made.said["subjects"] = federation.finish(run, PATIENCE)
        own = shutil.copytree(EXAMPLES / "own", folder / "own")
        run = federation.run(own, made.config("holders"))
        with kept_waiting(folder / "pipe.npz"):
            made.nodes[KILLED].kill()
            made.said["holders"] = federation.finish(run, PATIENCE)
        yield made


@contextlib.contextmanager
def kept_waiting(pipe: Path) -> Iterator[None]:
    """Begins when somebody reads a pipe, who then waits in vain until the end of the block."""
    opened: list[int] = []

    def is_read() -> bool:
        try:
            opened.append(os.open(pipe, os.O_WRONLY | os.O_NONBLOCK))
        except OSError as error:
            if error.errno != errno.ENXIO:
                raise
        return bool(opened)

    wait_until(is_read, "the node reads its rows")
    try:
        yield
    finally:
        os.close(opened[0])


# ---- what came of it -----------------------------------------------------------------------------


def test_people_are_protected_at_their_holders(story: Story) -> None:
    promised = Release.load(story.folder / "subjects.ostraka").certificate
    told = story.said["subjects"]
    assert (promised.protects, promised.parties) == ("person", 4), told
    assert promised.persons is not None
    assert 4 <= promised.persons < story.n_persons
    assert "In: 4 (" in told


def test_own_rules_refuse_at_the_node_and_the_server_hears_one_word(story: Story) -> None:
    assert f"({STRICT}): its own rules refuse this poll" in story.said["subjects"]
    assert "1 is allowed" in story.federation.log(STRICT), "its own log says which rule"
    assert "1 is allowed" not in story.said["subjects"]


def test_a_killed_node_is_listed_and_the_others_count(story: Story) -> None:
    told = story.said["holders"]
    assert Release.load(story.folder / "holders.ostraka").certificate.parties == 4, told
    assert "it went away before it had answered" in told
    counted, _, refused = told.partition("Refused")
    assert f"({KILLED})" in refused
    assert KILLED not in counted


def test_whoever_counted_was_charged_and_nobody_else(story: Story) -> None:
    told = json.loads(story.ask("ledger", "show", "holders.db", "--json"))
    spent = {each["party"] for each in told["parties"]}
    assert spent == set(HOLDERS) - {KILLED}
    assert [charge.n_parties for charge in Ledger(story.folder / "holders.db").history()] == [4]


@pytest.mark.parametrize("name", ["subjects", "holders"])
def test_what_came_is_verified_and_predicts(story: Story, name: str) -> None:
    told = " ".join(story.ask("verify", f"{name}.ostraka", "--poll", f"{name}.poll").split())
    assert "Yes: computed anew from noise and sensitivity" in told
    public = pd.read_csv(story.folder / "public.csv")
    assert len(Release.load(story.folder / f"{name}.ostraka").predict(public)) == len(public)


def test_nodes_ask_for_nothing_but_what_a_proxy_may_pass(story: Story) -> None:
    assert all(path.startswith("/v1/fleet/") for path in story.proxy.asked)
    trust = ssl.create_default_context(cafile=story.folder / "cert.pem")
    for path in ("/v1/control/list-runs", "/v1/runtime/pull-messages", "/health"):
        stranger = http.client.HTTPSConnection(story.proxy.address, context=trust, timeout=10.0)
        stranger.request("POST", path, b"")
        assert stranger.getresponse().status == 404
        stranger.close()


def test_nothing_of_anybody_s_rows_is_in_a_log_of_others(story: Story) -> None:
    everything = story.federation.log("superlink") + "".join(story.said.values())
    assert "Traceback" not in everything
    assert "sensor" not in everything
