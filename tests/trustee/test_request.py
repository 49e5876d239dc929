"""Requests: signed by the poll's coordinator, frozen, in one form."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from ostraka.errors import FormatError, InputError, OstrakaError, SignatureError
from ostraka.party.contribution import Kind
from ostraka.party.sealed import open_share, seal
from ostraka.sealing import Opener
from ostraka.sealing.shares import wrap
from ostraka.tensors import read_tensors, write_tensors
from ostraka.trustee import Request
from ostraka.trustee.request import Entry, servers_of
from tests.laws.cases import Case, M
from tests.laws.sealed import ask, look_like_chance, sealed_poll, send_plain
from tests.sealing.made import COORDINATOR, TRUSTEE
from tests.trustee.conftest import CASE, Made

FILES = Path(__file__).parent / "files"


def test_there_and_back(made: Made) -> None:
    request = made.request
    again = Request.from_bytes(request.to_bytes())
    assert again.digest == request.digest
    assert again.entries == request.entries
    assert again.poll.digest == made.poll.digest
    assert [entry.party for entry in request.entries] == sorted(map(str, range(M)))


def test_order_leaves_no_trace(made: Made) -> None:
    assert ask(made.poll, made.sent[::-1]).to_bytes() == made.request.to_bytes()


def test_a_known_request_is_still_read() -> None:
    """Of November 2026."""
    request = Request.from_bytes((FILES / "known.request").read_bytes())
    assert request.digest == (FILES / "known.digest").read_text().strip()


def test_another_coordinator_cannot_ask(made: Made) -> None:
    with pytest.raises(SignatureError):
        Request.sign(made.poll, list(made.request.entries), TRUSTEE)


def changed(made: Made, **tensors: object) -> bytes:
    held, metadata = read_tensors(made.request.to_bytes(), "request")
    return write_tensors({**held, **tensors}, metadata)  # type: ignore[dict-item]


def test_what_was_changed_is_refused(made: Made) -> None:
    data, request = made.request.to_bytes(), made.request
    held, metadata = read_tensors(data, "request")
    envelopes = held["envelopes"].copy()
    envelopes[0] ^= 1
    bad = [
        changed(made, envelopes=envelopes),
        changed(made, envelopes=envelopes[:-1]),
        changed(made, ends=held["ends"] + 1),
        changed(made, ends=held["ends"][::-1].copy()),
        changed(made, ends=held["ends"].astype(np.float64)),
        changed(made, names=np.full_like(held["names"], 0xFF)),
        changed(made, names=np.frombuffer(b"A" * held["names"].size, dtype=np.uint8)),
        changed(made, persons=np.ones(M, dtype=np.int64)),
        changed(made, more=np.ones(1)),
        changed(made, poll=held["poll"][:-3]),
        write_tensors(held, {**metadata, "signature": "zz"}),
        write_tensors(held, {**metadata, "ostraka-request": "2"}),
        write_tensors({k: v for k, v in held.items() if k != "ends"}, metadata),
        data[:-1],
        b"",
    ]
    for each in bad:
        with pytest.raises(OstrakaError):
            Request.from_bytes(each)
    twice = (request.entries[0], request.entries[0])
    with pytest.raises(FormatError, match="each once"):
        replace(request, entries=twice)


def test_persons_are_in_it_where_they_are_protected() -> None:
    poll = sealed_poll(CASE, protects="person", parties=None, persons=20)
    rows, labels = CASE.world()[4]
    names = [f"p{i % 5}" for i in range(len(labels))]
    sent = [poll.contribute(rows, labels, holder, persons=names) for holder in ("a", "b")]
    assert all(each.kind is Kind.SEALED_SUM for each in sent)
    request = ask(poll, sent)
    assert [entry.persons for entry in request.entries] == [5, 5]
    without = [Entry(entry.party, None, entry.envelope, entry.digest) for entry in request.entries]
    with pytest.raises(FormatError, match="is damaged"):
        Request.sign(poll, without, COORDINATOR)


def test_who_is_not_on_the_roll_is_not_asked_about(made: Made) -> None:
    roll = sealed_poll(CASE, roll=["0", "1"], parties=None)
    with pytest.raises(FormatError, match="not on the poll's roll"):
        Request.sign(roll, list(made.request.entries), COORDINATOR)


def test_a_poll_without_a_trustee() -> None:
    poll = Case("cells", 2).poll()
    with pytest.raises(InputError, match="has no trustee"):
        servers_of(poll)


def test_what_a_coordinator_has_looks_like_chance(made: Made) -> None:
    """Everything that it has on its disk, opened with its key, and everything on the wire, of
    parties that all have the same. False alarms: 2e-6.
    """
    servers, opener = made.poll.promise.servers, Opener.of(COORDINATOR)
    assert servers is not None
    (alike,) = send_plain(made.poll, [CASE.world()[0]])
    sent = [seal(alike, servers) for _ in range(300)]
    shares = [open_share(each, opener, made.poll.domain.dimension) for each in sent]
    assert look_like_chance(sent, shares)
    in_clear = [share * np.uint64(0) + wrap(alike.values) for share in shares]
    assert not look_like_chance(sent, in_clear), "the mutant that splits nothing"
