"""A contribution on its way: kept before it is sent, until it has arrived, and its receipt after.

If the network fails, or somebody interrupts, the very same bytes can be sent again later: nothing
is computed anew, and the service takes them once.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from ostraka.client.client import Client
from ostraka.client.membership import Membership
from ostraka.client.shapes import PollState
from ostraka.errors import SignatureError
from ostraka.exchange import Manifest, Receipt, Upload
from ostraka.exchange.upload import HEADER
from ostraka.files import read_regular, write_atomically
from ostraka.party.contribution import LARGEST_FILE, Contribution
from ostraka.poll import Poll
from ostraka.tensors import LARGEST_FILE as LARGEST_POLL

__all__ = [
    "fetch_list",
    "fetch_poll",
    "keep",
    "next_revision",
    "pending",
    "receipt",
    "send",
    "was_counted",
]


def fetch_poll(member: Membership, client: Client, digest: str, *, signed: bool = True) -> Poll:
    """A poll, if it is the one of this address and the service has signed it; drafts are not."""
    content = client.poll_file(digest)
    poll = Poll.from_bytes(content)
    if poll.digest != digest or len(content) > LARGEST_POLL:
        raise SignatureError(
            "The poll that the service sends is not the one of this address.",
            "Compare the address with the one that you were given, and tell the coordinator.",
        )
    if not signed:
        return poll
    signature = client.poll_signature(digest)
    signature.check(content)
    if signature.key != member.service:
        raise SignatureError(
            f"The poll is signed by {signature.key}, not by the service that you have joined.",
            "Do not answer it, and tell the coordinator.",
        )
    return poll


def next_revision(member: Membership, state: PollState) -> int:
    """The number of a party's next contribution to a poll, as far as service and party know."""
    waiting = pending(member, state.digest)
    before = 0 if state.mine is None else state.mine.revision
    return 1 + max(before, 0 if waiting is None else waiting.revision)


def keep(member: Membership, made: Contribution, revision: int) -> Upload:
    """Sign a contribution and keep it until it has arrived."""
    upload = Upload.create(made.to_bytes(), revision, member.key())
    path = _path(member, "pending", made.poll, "upload")
    write_atomically(path, upload.to_bytes(), private=True)
    return upload


def pending(member: Membership, digest: str) -> Upload | None:
    """What was made for a poll and has not arrived, as far as is known here."""
    path = _path(member, "pending", digest, "upload")
    if not path.is_file():
        return None
    return Upload.from_bytes(read_regular(path, "upload", LARGEST_FILE + HEADER.size))


def send(member: Membership, client: Client, digest: str, upload: Upload) -> Receipt:
    """Send it, check the receipt, and keep that."""
    given = client.contribute(digest, upload.to_bytes())
    given.check(member.service)
    expected = (digest, member.name, upload.revision, upload.commitment)
    if (given.poll, given.party, given.revision, given.commitment) != expected:
        raise SignatureError(
            "The receipt is for another contribution than was sent.",
            "Tell the coordinator, and look at ostraka status before you send anything again.",
        )
    kept = replace(given, salt=upload.salt)
    write_atomically(_path(member, "receipts", digest, "receipt"), kept.to_bytes(), private=True)
    _path(member, "pending", digest, "upload").unlink(missing_ok=True)
    return kept


def receipt(member: Membership, digest: str) -> Receipt | None:
    """What the service has confirmed for a poll."""
    path = _path(member, "receipts", digest, "receipt")
    if not path.is_file():
        return None
    return Receipt.from_bytes(read_regular(path, "receipt", 10_000))


def fetch_list(member: Membership, client: Client, digest: str) -> Manifest:
    """What is counted of a poll; a list of another service or poll is refused."""
    listed = client.manifest(digest)
    listed.check(member.service)
    if listed.poll != digest:
        raise SignatureError(
            "The list that the service sends is of another poll.", "Tell the coordinator."
        )
    return listed


def was_counted(member: Membership, client: Client, given: Receipt) -> bool:
    """Whether the service's list has what a receipt is for."""
    listed = fetch_list(member, client, given.poll)
    return listed.counts(given.commitment)


def _path(member: Membership, kind: str, digest: str, ending: str) -> Path:
    folder = member.folder / kind
    folder.mkdir(parents=True, exist_ok=True)
    return folder / f"{digest}.{ending}"
