"""Contributions that come by file: in a party's name, by an admin's word."""

from __future__ import annotations

import pytest

from ostraka.errors import InputError, OstrakaError, StateError
from ostraka.exchange import Manifest, commit
from ostraka.service import audit, closing, handing_in
from ostraka.service.service import Service
from tests.service.made import ADMIN, a_poll, add_poll, arrive, contribution, filled, joined, upload


def test_by_file(service: Service) -> None:
    """Of a party that has never joined; its receipt opens the commitment."""
    poll, _ = filled(service, ["a"])
    content = contribution(poll, "ward 9").to_bytes()
    receipt = handing_in.hand_in(service, ADMIN, poll.digest, "Ward  9", content)
    receipt.check(service.key.public)
    assert receipt.salt is not None
    assert commit(receipt.salt, content) == receipt.commitment
    assert (receipt.party, receipt.revision) == ("ward 9", 0)
    with service.database.read() as connection:
        (line,) = audit.read(connection, 0, 100)[-1:]
    assert (line.what, line.about) == ("handed in a contribution", f"{poll.digest} ward 9")
    closing.freeze(service, ADMIN, poll.digest)
    listed = Manifest.from_bytes(closing.manifest(service, poll.digest, ADMIN))
    assert listed.counts(receipt.commitment)
    closing.finish(service, poll.digest)
    assert "ward 9" in [account.party for account in service.ledger().accounts()]


def test_what_a_party_has_sent_itself_counts(service: Service) -> None:
    poll = add_poll(service)
    (member,) = joined(service, "a")
    by_file = contribution(poll, "a").to_bytes()
    handing_in.hand_in(service, ADMIN, poll.digest, "a", by_file)
    (own,) = arrive(service, (poll, member, upload(poll, member)))
    assert own.revision == 1
    with pytest.raises(StateError, match="Party a has contributed itself"):
        handing_in.hand_in(service, ADMIN, poll.digest, "a", by_file)


def test_what_is_refused(service: Service) -> None:
    poll = add_poll(service, a_poll(roll=["a", "b"], parties=None))
    for name, content in (
        ("b", contribution(poll, "a").to_bytes()),
        ("a", b"no contribution"),
        ("c", b""),
    ):
        with pytest.raises(OstrakaError):
            handing_in.hand_in(service, ADMIN, poll.digest, name, content)
    stranger = a_poll(title="other").contribute([[0.0] * 3], ["ill"], "a").to_bytes()
    with pytest.raises(InputError):
        handing_in.hand_in(service, ADMIN, poll.digest, "a", stranger)


def test_after_closing(service: Service) -> None:
    poll, _ = filled(service, ["a", "b"])
    closing.freeze(service, ADMIN, poll.digest)
    content = contribution(poll, "c").to_bytes()
    with pytest.raises(StateError, match="nothing can be sent"):
        handing_in.hand_in(service, ADMIN, poll.digest, "c", content)
