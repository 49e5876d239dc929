"""A poll at a service, as parties and admins see it: what is sent or not, and what they hear."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from unittest import mock

import numpy as np
import pytest
from sqlalchemy import update

from benchmarks.service.processes import READY, Server, words_to_serve
from ostraka.experiments.ward_tables import make_patients
from ostraka.service import rotation
from ostraka.service.settings import Settings
from ostraka.service.starting import open_service
from ostraka.service.storage import tables
from tests.cli.test_members import Place, link_in
from tests.service.made import settings_in

WARDS = ("ward-1", "ward-2", "ward-3")


@pytest.fixture(scope="module")
def settings(tmp_path_factory: pytest.TempPathFactory) -> Settings:
    return settings_in(tmp_path_factory.mktemp("sending"))


@pytest.fixture(scope="module")
def place(settings: Settings) -> Iterator[Place]:
    """With three wards that have joined, and their tables."""
    folder, rng = Path(settings.data).parent, np.random.default_rng(0)
    make_patients(100, rng).drop(columns="outcome").to_csv(folder / "public.csv", index=False)
    make_patients(20, rng).to_csv(folder / "own.csv", index=False)
    with Server(words_to_serve(settings), log=folder / "log", ready=READY) as server:
        made = Place(folder, server.address)
        made.told("ann", "join", link_in(folder / "log"))
        for ward, code in zip(WARDS, made.invite(*WARDS), strict=True):
            made.told(ward, "join", made.address, code)
        yield made


def a_poll(place: Place, title: str, *, opened: bool = True) -> str:
    """The address of a new poll."""
    asked = "poll create public.csv --classes home,ward --parties 30 --epsilon 1 --method cells"
    told = place.told("ann", *asked.split(), "--title", title, "--server", place.address)
    (where,) = {word.rstrip(",.") for word in told.split() if f"{place.address}/polls/" in word}
    if opened:
        place.told("ann", "poll", "open", where, "--yes")
    return where


def sending(where: str, *more: str) -> tuple[str, ...]:
    return ("contribute", where, "own.csv", "--label-column", "outcome", "--yes", *more)


def refused(place: Place, who: str, *words: str, code: int) -> str:
    done = place.run(who, *words)
    assert done.returncode == code, (words, done.stdout, done.stderr)
    return " ".join(done.stderr.split())


def test_what_next_is_for_a_poll_at_a_service(place: Place) -> None:
    where = a_poll(place, "next")
    told = place.told("ward-1", "poll", "show", where)
    assert f"ostraka contribute {where} mine.csv --label-column COLUMN" in told
    assert f"ostraka close {where}" in told
    for word in ("--party NAME", "INBOX", "Where the coordinator keeps a ledger"):
        assert word not in told
    assert "Where the coordinator keeps a ledger" not in place.told("ward-1", *sending(where))


def test_a_file_of_a_poll_that_is_at_a_service_is_not_for_everybody(place: Place) -> None:
    asked = "poll create public.csv --classes home,ward --parties 30 --epsilon 1 --method cells"
    more = ("--title", "both", "--out", "both.poll", "--server", place.address)
    told = place.told("ann", *asked.split(), *more)
    assert "Wrote both.poll. Parties get the poll from the service" in told
    assert "Send it to every party" not in told
    assert "INBOX" not in told


def test_rules_and_the_address_of_a_poll(place: Place) -> None:
    where = a_poll(place, "rules")
    place.told("ward-2", "policy", "set", "--epsilon-per-poll", "1")
    assert "Your rules allow this poll." in place.told("ward-2", "policy", "check", where)
    assert "It is counted when you send it." in place.told("ward-2", *sending(where))
    assert "for 1 poll" in place.told("ward-2", "policy", "show")
    assert "It was counted when you answered it before." in place.told("ward-2", *sending(where))
    place.told("ward-2", "policy", "set", "--epsilon-per-poll", "0.5")
    refused(place, "ward-2", "policy", "check", where, code=26)
    (place.folder / "ward-2" / "rules.json").unlink()


def test_nothing_waits_to_be_sent(place: Place) -> None:
    where = a_poll(place, "waiting")
    told = refused(place, "ward-1", "contribute", where, code=19)
    assert told.startswith("Error: Nothing is waiting to be sent to this poll. To contribute, name")
    assert told.endswith("--label-column COLUMN Nothing was sent.")
    place.told("ward-1", *sending(where))
    assert "Your number 1 has arrived" in refused(place, "ward-1", "contribute", where, code=19)


def test_whoever_was_left_out_hears_that(place: Place) -> None:
    where = a_poll(place, "left out")
    for ward in WARDS:
        place.told(ward, *sending(where))
    told = refused(place, "ann", "close", where, "--leave-out", "ward-33", code=29)
    assert "Party ward-33 has not contributed to this poll. Did you mean 'ward-3'?" in told
    assert told.endswith("It was not closed, and nobody was charged.")
    told = place.told("ann", "close", where, "--leave-out", "Ward-3", "--yes")
    assert "2 of about 30, without ward-3; at least 2 are needed." in told
    told = place.told("ward-3", "status", where)
    assert "NOT COUNTED, and not charged: the coordinator left your contribution out" in told
    told = refused(place, "ward-3", *sending(where), code=28)
    assert "the coordinator left your contribution out when it was closed" in told
    assert told.endswith("Nothing was computed and nothing was sent.")
    assert "Counted: your receipt" in place.told("ward-1", "status", where)
    assert "unless the coordinator left it out" in refused(
        place, "ward-1", *sending(where), code=28
    )


def test_too_small_a_budget_is_told_early(place: Place) -> None:
    where = a_poll(place, "poor")
    assert "too little left" not in place.told("ann", "status", where)
    smaller = ("ledger", "allow", place.address, "ward-3", "--delta", "1e-5", "--epsilon")
    place.told("ann", *smaller, "0.5")
    assert "LESS THAN IT COSTS" in place.told("ward-3", "status", where)
    assert "LESS THAN" not in place.told("ward-1", "status", where)
    place.told("ward-3", *sending(where))
    told = place.told("ann", "status", where)
    assert "Who has too little left ward-3. To close without: --leave-out ward-3" in told
    assert "ward-3" not in place.told("ward-1", "status", where)


def test_another_budget_is_for_names_that_are_known(place: Place) -> None:
    words = ("ledger", "allow", place.address, "ward-11", "--epsilon", "2", "--delta", "1e-5")
    told = refused(place, "ann", *words, code=19)
    assert "The service knows no party ward-11. Nobody was given another budget." in told
    assert "Did you mean 'ward-1'?" in told
    assert "ward-11 may lose" in place.told("ann", *words, "--new-party")
    assert "ward-11 may lose" in place.told("ann", *words), "now it is known"


def test_whoever_is_invited_is_no_misspelt_name(place: Place) -> None:
    where = a_poll(place, "by file")
    place.told("ann", "fetch", where, "--poll", "--out", "file.poll")
    own = "contribute file.poll own.csv --label-column outcome --party ward-4"
    place.told("ann", *own.split(), "--out", "4.contribution")
    place.invite("ward-4")
    told = refused(place, "ann", "hand-in", where, "4.contribution", code=19)
    assert "Party ward-4 is invited, and has not joined. Nothing was handed in." in told
    assert "Did you mean" not in told
    assert "ward-4: invited, and has not joined; until" in place.told("ann", "status", "--parties")
    assert "has arrived" in place.told("ann", "hand-in", where, "4.contribution", "--new-party")


def test_an_archive_takes_nothing_in(place: Place, settings: Settings) -> None:
    where = a_poll(place, "archive")
    service = open_service(settings)

    def become(archive: bool) -> None:
        with service.database.write() as connection:
            connection.execute(update(tables.service).values(is_archive=archive))

    become(True)
    for who in ("ann", "ward-1"):
        told = place.told(who, "status", where)
        assert "open, in an archive. This service is an archive, restored from a backup" in told
        assert "What next? Nothing here" in told
        assert "contributions can be sent" not in told
    (place.folder / "bad.csv").write_bytes(b"\xff\xfe")
    told = refused(place, "ward-1", *sending(where)[:2], "bad.csv", *sending(where)[3:], code=28)
    assert "takes nothing in" in told, "before a row is read"
    assert told.endswith("Nothing was computed and nothing was sent.")
    told = refused(place, "ann", "invite", "ward-9", code=28)
    assert "parties could do nothing here" in told
    assert told.endswith("Nobody was invited.")
    assert "ostraka join" in place.told("ann", "invite", "rea", "--role", "reader")
    become(False)
    service.database.close()


def test_a_service_that_is_away(tmp_path: Path) -> None:
    settings = settings_in(tmp_path)
    with Server(words_to_serve(settings), log=tmp_path / "log", ready=READY) as server:
        place = Place(tmp_path, server.address)
        place.told("ann", "join", link_in(tmp_path / "log"))
        (code,) = place.invite("ward-1")
        place.told("ward-1", "join", place.address, code)
    where = f"{place.address}/polls/{'0' * 64}"
    with mock.patch("ostraka.client.client.FIRST_PAUSE", 100.0):
        told = refused(place, "ward-1", *sending(where), code=35)
    assert "does not answer" in told
    assert told.endswith("Nothing was sent, and nothing is kept here to be sent.")
    (pending,) = [path for path in (tmp_path / "ward-1").rglob("pending") if path.is_dir()]
    assert not list(pending.iterdir())


def test_after_a_theft_nobody_goes_on_unasked(tmp_path: Path) -> None:
    """Whatever a party or an admin looks at."""
    settings = settings_in(tmp_path)
    words, log = words_to_serve(settings), tmp_path / "log"
    with Server(words, log=log, ready=READY) as server:
        place = Place(tmp_path, server.address)
        place.told("ann", "join", link_in(log))
    service = open_service(settings)
    rotation.rotate(service, settings.key_path, stolen=True)
    service.database.close()
    same = mock.patch("benchmarks.service.processes._free_port", return_value=server.port)
    with same, Server(words, log=log, ready=READY):
        for asked in (["status"], ["status", "--log"], ["invite", "x"], ["revoke", "x", "--yes"]):
            told = refused(place, "ann", *asked, code=25)
            assert "the old one does not vouch for it" in told
            assert "ostraka join ADDRESS CODE --again" in told
