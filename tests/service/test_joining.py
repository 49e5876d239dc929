"""Invitations, and who has joined: a code is good for one key, once, and not for ever."""

from __future__ import annotations

import time
from typing import Any

import pytest
from sqlalchemy import select, update

from ostraka.errors import (
    AbsentError,
    AccessError,
    InputError,
    ParameterError,
    SignatureError,
    StateError,
)
from ostraka.exchange import JoinCode
from ostraka.service import joining
from ostraka.service.access import Who, digest_of, find
from ostraka.service.joining import Joined, renewal
from ostraka.service.service import Service
from ostraka.service.storage import tables
from ostraka.signing import SecretKey
from tests.service.made import ADMIN, Member, arrive, filled, joined, upload, who_is


def invite(service: Service, *names: str, **changes: Any) -> list[JoinCode]:
    with service.database.write() as connection:
        made = joining.invite(connection, ADMIN, service.key.public, names, **changes)
    return [code for _, code in made]


def join(service: Service, code: JoinCode, key: SecretKey, proof: bytes | None = None) -> Joined:
    with service.database.write() as connection:
        return joining.join(connection, code, key.public, proof or code.prove(key))


def lets_in(service: Service, token: str) -> bool:
    with service.database.read() as connection:
        return bool(find(connection, [digest_of(token)]))


KEY, OTHER = SecretKey.create(), SecretKey.create()


def test_a_code_lets_one_key_in(service: Service) -> None:
    (code,) = invite(service, " Ward  3")
    told = join(service, code, KEY)
    assert (told.role, told.name) == ("party", "ward 3")
    again = join(service, code, KEY)
    assert [lets_in(service, each.token) for each in (told, again)] == [False, True]
    with pytest.raises(StateError, match="used already, with another key"):
        join(service, code, OTHER)
    assert lets_in(service, again.token)


def test_the_key_must_be_ones_own(service: Service) -> None:
    (code,) = invite(service, "a")
    with pytest.raises(SignatureError):
        join(service, code, KEY, code.prove(OTHER))
    with pytest.raises(SignatureError):
        join(service, code, KEY, JoinCode.create(service.key.public).prove(KEY))
    assert join(service, code, KEY).name == "a"


def test_codes_that_let_nobody_in(service: Service) -> None:
    with pytest.raises(AccessError, match="Nobody has this code"):
        join(service, JoinCode.create(service.key.public), KEY)
    (first,) = invite(service, "a")
    (second,) = invite(service, "a")
    with pytest.raises(StateError, match="void or too old"):
        join(service, first, KEY)
    with service.database.write() as connection:
        connection.execute(update(tables.code).values(expires=int(time.time()) - 1))
    with pytest.raises(StateError, match="void or too old"):
        join(service, second, KEY)


def test_codes_are_kept_as_digests(service: Service) -> None:
    (code,) = invite(service, "a")
    with service.database.read() as connection:
        for table in tables.METADATA.sorted_tables:
            for row in connection.execute(select(table)):
                assert str(code) not in str(row)
                assert code.secret not in row


def test_who_has_joined_is_not_invited_by_mistake(service: Service) -> None:
    joined(service, "a", "b")
    with pytest.raises(InputError, match=r"Party a \(and 1 more\) has joined already.*--again"):
        invite(service, "c", "A", "b")
    assert len(invite(service, "a", again=True)) == 1
    invite(service, "a", role="reader")


@pytest.mark.parametrize(
    ("names", "changes"),
    [((), {}), (("a",), {"days": 0}), (("a",), {"days": 366}), (("a", "A"), {}), (("\x1b",), {})],
)
def test_invitations_that_make_no_sense(
    service: Service, names: tuple[str, ...], changes: dict[str, Any]
) -> None:
    with pytest.raises((InputError, ParameterError)):
        invite(service, *names, **changes)
    of_parties = select(tables.code).where(tables.code.c.role == "party")
    with service.database.read() as connection:
        assert connection.execute(of_parties).first() is None


def test_invited_again_the_old_key_and_token_end(service: Service) -> None:
    poll, _ = filled(service, ["b"])
    (old,) = joined(service, "a")
    arrive(service, (poll, old, upload(poll, old)))
    (code,) = invite(service, "a", again=True)
    assert lets_in(service, old.token), "until somebody joins by it"
    told = join(service, code, OTHER)
    assert not lets_in(service, old.token)
    new = Member("a", OTHER, told.token)
    assert who_is(service, new).key == OTHER.public
    stolen = Member("a", old.key, told.token)
    (refused,) = arrive(service, (poll, stolen, upload(poll, stolen, 2)))
    assert isinstance(refused, SignatureError)
    (accepted,) = arrive(service, (poll, new, upload(poll, new, 2)))
    assert accepted.revision == 2, "its place in the poll is the same"


# ---- another key ---------------------------------------------------------------------------------


def renew(service: Service, member: Member, new: SecretKey, **changes: Any) -> Joined:
    message = renewal(service.key.public, new.public)
    old, by_new = changes.get("old", member.key), changes.get("by_new", new)
    with service.database.write() as connection:
        return joining.renew(
            connection,
            changes.get("who") or who_is(service, member),
            service.key.public,
            new.public,
            (old.sign(message), by_new.sign(message)),
        )


def test_another_key_by_the_old_one(service: Service) -> None:
    (member,) = joined(service, "a")
    told = renew(service, member, OTHER)
    assert lets_in(service, told.token)
    assert lets_in(service, member.token), "for a while, in case the answer was lost"
    assert who_is(service, Member("a", OTHER, told.token)).key == OTHER.public
    again = renew(service, member, OTHER)  # the answer was lost: the same once more
    assert lets_in(service, again.token)
    with service.database.read() as connection:
        expiry = connection.execute(
            select(tables.token.c.expires).where(tables.token.c.digest == member.token_digest)
        ).scalar_one()
    assert expiry <= time.time() + joining.GRACE_SECONDS


def test_another_key_needs_both(service: Service) -> None:
    (member,) = joined(service, "a")
    with pytest.raises(SignatureError):
        renew(service, member, OTHER, old=SecretKey.create())
    with pytest.raises(SignatureError):
        renew(service, member, OTHER, by_new=member.key)
    assert who_is(service, member).key == member.key.public


def test_a_code_from_before_lets_nobody_in_with_the_old_key(service: Service) -> None:
    (code,) = invite(service, "a")
    told = join(service, code, KEY)
    renew(service, Member("a", KEY, told.token), OTHER)
    with pytest.raises(StateError, match="void"):
        join(service, code, KEY)


def test_readers_renew_and_staff_do_not(service: Service) -> None:
    (reader,) = joined(service, "r", role="reader")
    assert renew(service, reader, OTHER).role == "reader"
    staff = Who(role="admin", name="ann@example.org", vouched=True)
    with pytest.raises(AccessError, match="token of your organisation"):
        renew(service, reader, OTHER, who=staff)


# ---- nothing more --------------------------------------------------------------------------------


def test_revoked(service: Service) -> None:
    poll, _ = filled(service, ["b"])
    (member,) = joined(service, "a")
    (unused,) = invite(service, "a", again=True)
    with service.database.write() as connection:
        joining.revoke(connection, ADMIN, "A ")
    assert not lets_in(service, member.token)
    (answer,) = arrive(service, (poll, member, upload(poll, member)))
    assert isinstance(answer, AccessError)
    with pytest.raises(StateError, match="void"):
        join(service, unused, OTHER)
    (code,) = invite(service, "a")
    assert lets_in(service, join(service, code, OTHER).token)


def test_nobody_to_revoke(service: Service) -> None:
    with (
        pytest.raises(AbsentError, match="No party nobody has joined"),
        service.database.write() as connection,
    ):
        joining.revoke(connection, ADMIN, "nobody")


def test_admins_are_revoked_too(service: Service) -> None:
    (admin,) = joined(service, "ben", role="admin")
    with service.database.write() as connection:
        joining.revoke(connection, ADMIN, "ben", "admin")
    assert not lets_in(service, admin.token)
