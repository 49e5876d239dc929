"""A contribution on its way: kept until it has arrived, and found on the list afterwards."""

from __future__ import annotations

import stat
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from ostraka.client import Client, Membership, sending
from ostraka.client.membership import join
from ostraka.errors import FormatError, OstrakaError, ServiceError, SignatureError, StateError
from ostraka.exchange import Manifest, Receipt, Upload, commit
from ostraka.poll import Poll
from ostraka.service import closing
from ostraka.service.service import Service
from ostraka.signing import SecretKey, Signature
from tests.client.test_membership import code_for
from tests.service.made import ADMIN, a_poll, add_poll, contribution, filled

KEY = SecretKey.create()


@pytest.fixture
def member(tmp_path: Path, service: Service, address: str) -> Membership:
    """Party a, which has joined."""
    return join(tmp_path / "site", address, code_for(service, "a"))


@pytest.fixture
def client(member: Membership) -> Iterator[Client]:
    with member.client() as made:
        yield made


@dataclass
class Forger:
    """A service that answers as a test tells it to."""

    file: bytes = b""
    signature: Signature | None = None
    receipt: Receipt | None = None
    listed: Manifest | None = None
    sent: bytes = b""

    def poll_file(self, _: str) -> bytes:
        return self.file

    def poll_signature(self, _: str) -> Any:
        return self.signature

    def contribute(self, _: str, upload: bytes) -> Any:
        self.sent = upload
        if self.receipt is None:
            raise ServiceError("https://x.org", "does not answer", "Try again.")
        return self.receipt

    def manifest(self, _: str) -> Any:
        return self.listed


def as_client(made: Forger) -> Any:
    return made


# ---- the poll ------------------------------------------------------------------------------------


def test_a_poll_is_fetched(member: Membership, client: Client, service: Service) -> None:
    poll = add_poll(service)
    assert sending.fetch_poll(member, client, poll.digest).digest == poll.digest


def test_polls_that_are_not_answered(member: Membership, service: Service) -> None:
    """Of another digest, signed by somebody else, or for another file."""
    poll, other = a_poll(), a_poll(title="other")
    good = Signature.of(poll.to_bytes(), service.key)
    sending.fetch_poll(member, as_client(Forger(poll.to_bytes(), good)), poll.digest)
    for file, signature, digest in (
        (other.to_bytes(), Signature.of(other.to_bytes(), service.key), poll.digest),
        (poll.to_bytes(), good, other.digest),
        (poll.to_bytes(), Signature.of(poll.to_bytes(), KEY), poll.digest),
        (poll.to_bytes(), Signature.of(other.to_bytes(), service.key), poll.digest),
        (poll.to_bytes(), Signature(service.key.public, bytes(64)), poll.digest),
        (poll.to_bytes(), Signature(KEY.public, good.signed), poll.digest),
    ):
        with pytest.raises(SignatureError):
            sending.fetch_poll(member, as_client(Forger(file, signature)), digest)
    with pytest.raises(FormatError):
        sending.fetch_poll(member, as_client(Forger(b"junk", good)), poll.digest)


# ---- on its way ----------------------------------------------------------------------------------


def kept(member: Membership, poll: Poll, revision: int = 1) -> Upload:
    return sending.keep(member, contribution(poll, member.name), revision)


def test_what_is_sent_is_kept_until_it_has_arrived(
    member: Membership, client: Client, service: Service
) -> None:
    poll = add_poll(service)
    assert sending.pending(member, poll.digest) is None
    made = kept(member, poll)
    assert sending.pending(member, poll.digest) == made
    assert sending.receipt(member, poll.digest) is None
    receipt = sending.send(member, client, poll.digest, made)
    assert sending.pending(member, poll.digest) is None
    assert sending.receipt(member, poll.digest) == receipt
    receipt.check(service.key.public)
    assert receipt.salt is not None
    assert commit(receipt.salt, made.contribution) == receipt.commitment


def test_only_its_owner_may_look(member: Membership, client: Client, service: Service) -> None:
    poll, other = add_poll(service), add_poll(service, a_poll(title="other"))
    kept(member, poll)
    sending.send(member, client, other.digest, kept(member, other))
    paths = [path for path in member.folder.rglob("*") if path.is_file()]
    assert {path.parent.name for path in paths} >= {"pending", "receipts"}
    for path in paths:
        assert stat.S_IMODE(path.stat().st_mode) == 0o600, path.name


def test_the_very_same_bytes_are_sent_again(
    member: Membership, client: Client, service: Service
) -> None:
    poll = add_poll(service)
    made, away = kept(member, poll), Forger()
    with pytest.raises(ServiceError):
        sending.send(member, as_client(away), poll.digest, made)
    waiting = sending.pending(member, poll.digest)
    assert waiting is not None
    assert waiting.to_bytes() == made.to_bytes() == away.sent
    receipt = sending.send(member, client, poll.digest, waiting)
    assert receipt.commitment == made.commitment


def test_an_answer_that_was_lost(member: Membership, client: Client, service: Service) -> None:
    """The service has it, and this side does not know: the same once more has the same answer."""
    poll = add_poll(service)
    made = kept(member, poll)
    first = client.contribute(poll.digest, made.to_bytes())
    waiting = sending.pending(member, poll.digest)
    assert waiting is not None
    again = sending.send(member, client, poll.digest, waiting)
    assert replace(again, salt=None) == first
    assert client.poll(poll.digest).contributions == 1


def test_what_is_refused_stays(member: Membership, client: Client, service: Service) -> None:
    poll, _ = filled(service, ["x", "y"])
    made = kept(member, poll)
    closing.freeze(service, ADMIN, poll.digest)
    with pytest.raises(StateError, match="nothing can be sent"):
        sending.send(member, client, poll.digest, made)
    assert sending.pending(member, poll.digest) == made
    assert sending.receipt(member, poll.digest) is None


def test_a_later_one_takes_the_place(member: Membership, client: Client, service: Service) -> None:
    poll = add_poll(service)
    for revision in (1, 2):
        receipt = sending.send(member, client, poll.digest, kept(member, poll, revision))
    assert sending.receipt(member, poll.digest) == receipt
    assert receipt.revision == 2
    with pytest.raises(StateError):
        sending.send(member, client, poll.digest, kept(member, poll, 1))
    assert sending.receipt(member, poll.digest) == receipt


# ---- receipts ------------------------------------------------------------------------------------


def test_receipts_that_are_refused(member: Membership, service: Service) -> None:
    """Each is signed by the service, and for something else; or not by the service."""
    poll = add_poll(service)
    made = kept(member, poll)
    right: dict[str, Any] = {
        "poll": poll.digest,
        "party": "a",
        "revision": 1,
        "commitment": made.commitment,
    }
    for change in (
        {"poll": "0" * 64},
        {"party": "b"},
        {"revision": 2},
        {"revision": 0},
        {"commitment": bytes(32)},
    ):
        given = Receipt.sign(service.key, **{**right, **change})
        with pytest.raises(SignatureError, match="for another contribution than was sent"):
            sending.send(member, as_client(Forger(receipt=given)), poll.digest, made)
    for given in (
        Receipt.sign(KEY, **right),
        replace(Receipt.sign(service.key, **right), signature=bytes(64)),
    ):
        with pytest.raises(SignatureError):
            sending.send(member, as_client(Forger(receipt=given)), poll.digest, made)
    assert sending.receipt(member, poll.digest) is None
    assert sending.pending(member, poll.digest) == made
    given = Receipt.sign(service.key, **right)
    sending.send(member, as_client(Forger(receipt=given)), poll.digest, made)
    assert sending.pending(member, poll.digest) is None


@pytest.mark.parametrize("kind", ["pending", "receipts"])
@pytest.mark.parametrize("content", [b"", b"junk", b"{}", b"\xff" * 20_000])
def test_files_that_are_none(member: Membership, kind: str, content: bytes) -> None:
    ending = {"pending": "upload", "receipts": "receipt"}[kind]
    (member.folder / kind).mkdir()
    (member.folder / kind / f"{'0' * 64}.{ending}").write_bytes(content)
    look = sending.pending if kind == "pending" else sending.receipt
    with pytest.raises(OstrakaError):
        look(member, "0" * 64)


# ---- counted -------------------------------------------------------------------------------------


@pytest.mark.parametrize("counted", [True, False])
def test_whether_it_was_counted(
    member: Membership, client: Client, service: Service, counted: bool
) -> None:
    poll, _ = filled(service, ["x", "y"])
    receipt = sending.send(member, client, poll.digest, kept(member, poll))
    with pytest.raises(StateError, match="there is no list yet"):
        sending.was_counted(member, client, receipt)
    closing.freeze(service, ADMIN, poll.digest, leave_out=[] if counted else ["a"])
    assert sending.was_counted(member, client, receipt) is counted


def test_lists_that_are_refused(member: Membership, service: Service) -> None:
    """Of another service, of another poll, or changed afterwards."""
    poll = a_poll()
    commitment = bytes(range(32))
    receipt = Receipt.sign(
        service.key, poll=poll.digest, party="a", revision=1, commitment=commitment
    )

    def listed(key: SecretKey, digest: str) -> Manifest:
        return Manifest.sign(key, poll=digest, commitments=[commitment], persons=None)

    good = listed(service.key, poll.digest)
    assert sending.was_counted(member, as_client(Forger(listed=good)), receipt)
    for wrong in (
        listed(KEY, poll.digest),
        listed(service.key, "0" * 64),
        replace(good, commitments=()),
        replace(good, commitments=(commitment, b"\xff" * 32)),
        replace(good, persons=5),
    ):
        with pytest.raises(SignatureError):
            sending.was_counted(member, as_client(Forger(listed=wrong)), receipt)
