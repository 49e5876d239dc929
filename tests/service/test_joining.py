"""Invitations, and who has joined: a code is good for one key, once, and not for ever."""

from __future__ import annotations

import contextlib
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
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
from ostraka.exchange.upload import MOST_REVISIONS
from ostraka.service import arrivals, joining
from ostraka.service.access import Who, digest_of, find
from ostraka.service.joining import Joined, renewal
from ostraka.service.service import Service
from ostraka.service.storage import contributions, tables
from ostraka.signing import SecretKey
from tests.service.made import ADMIN, Member, arrive, filled, joined, upload, who_is


def invite(service: Service, *names: str, **changes: Any) -> list[JoinCode]:
    with service.database.write() as connection:
        made = joining.invite(connection, ADMIN, service.key.public, names, **changes)
    return [code for _, code in made]


def join(service: Service, code: JoinCode, holder: SecretKey, **changes: Any) -> Joined:
    asked = replace(code.request(holder, service.key.public), **changes)
    with service.database.write() as connection:
        return joining.join(connection, asked, service.key.public)


def lets_in(service: Service, token: str) -> bool:
    with service.database.read() as connection:
        return bool(find(connection, [digest_of(token)]))


def waiting(service: Service, role: Any = "party") -> list[str]:
    with service.database.read() as connection:
        return sorted(name for name, _ in connection.execute(joining.waiting(role)))


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
    public = service.key.public
    other, another = code.request(OTHER, public), JoinCode.create(public).request(KEY, public)
    for change in (
        {"key": OTHER.public},
        {"by_key": other.by_key},
        {"by_code": another.by_code},
        {"key": OTHER.public, "by_key": other.by_key},  # somebody in between, with a key of theirs
    ):
        with pytest.raises(SignatureError):
            join(service, code, KEY, **change)
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


def test_who_has_an_old_token_alone_cannot_renew(service: Service) -> None:
    """It counts for a while after a renewal; another renewal needs the new key."""
    for role in ("party", "reader", "admin"):
        (member,) = joined(service, f"m {role}", role=role)
        new = SecretKey.create()
        renew(service, member, new)
        thief = SecretKey.create()
        with pytest.raises(SignatureError):
            renew(service, member, thief, old=thief)
        with pytest.raises(SignatureError):
            renew(service, member, thief)


def test_a_used_code_is_void_after_an_hour(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    (code,) = invite(service, "a", days=30)
    join(service, code, KEY)
    now = time.time()
    monkeypatch.setattr(time, "time", lambda: now + joining.AGAIN_SECONDS - 10)
    join(service, code, KEY)
    monkeypatch.setattr(time, "time", lambda: now + joining.AGAIN_SECONDS + 10)
    with pytest.raises(StateError, match="void or too old"):
        join(service, code, KEY)


def test_a_code_of_an_admin_is_void_after_a_renewal(service: Service) -> None:
    (code,) = invite(service, "zoe", role="admin")
    told = join(service, code, KEY)
    renew(service, Member("zoe", KEY, told.token), OTHER)
    with pytest.raises(StateError, match="void"):
        join(service, code, KEY)


def test_one_key_is_one_name(service: Service) -> None:
    codes = invite(service, "a", "b")
    join(service, codes[0], KEY)
    with pytest.raises(InputError, match="Somebody else has joined with this key"):
        join(service, codes[1], KEY)


def test_whoever_had_stolen_a_key_has_no_last_word(service: Service) -> None:
    """Not even with the largest revision that there is."""
    poll, _ = filled(service, ["b"])
    (stolen,) = joined(service, "a")
    (receipt,) = arrive(service, (poll, stolen, upload(poll, stolen, MOST_REVISIONS)))
    assert receipt.revision == MOST_REVISIONS
    (code,) = invite(service, "a", again=True)
    mine = Member("a", OTHER, join(service, code, OTHER).token)
    with service.database.read() as connection:
        shown = contributions.find(connection, poll.digest, who_is(service, mine).party or 0)
    assert shown is not None
    assert (shown.revision, shown.handed_in) == (0, False), "a first one by the new key is next"
    (accepted,) = arrive(service, (poll, mine, upload(poll, mine, 1)))
    assert accepted.revision == 1
    with service.database.read() as connection:
        kept = contributions.find(connection, poll.digest, who_is(service, mine).party or 0)
    assert kept is not None
    assert kept.commitment == accepted.commitment


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


def test_who_is_revoked_meanwhile_stays_out(service: Service) -> None:
    """Their request began before, and its last line comes after."""
    (party,) = joined(service, "a")
    (admin,) = joined(service, "ben", role="admin")
    before = {each.name: who_is(service, each) for each in (party, admin)}
    with service.database.write() as connection:
        joining.revoke(connection, ADMIN, "a")
        joining.revoke(connection, ADMIN, "ben", "admin")
    with pytest.raises(AccessError, match="withdrawn"):
        renew(service, party, OTHER, who=before["a"])
    with pytest.raises(AccessError, match="withdrawn"), service.write_as(before["ben"]):
        pytest.fail("nothing is done for them")


def test_revoked_between_the_check_and_the_writing(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    poll, _ = filled(service, ["b"])
    (member,) = joined(service, "a")
    real = arrivals.Writer._write

    def late(self: arrivals.Writer, checked: Any) -> None:
        with service.database.write() as connection:
            joining.revoke(connection, ADMIN, "a")
        real(self, checked)

    with monkeypatch.context() as patched:
        patched.setattr(arrivals.Writer, "_write", late)
        (answer,) = arrive(service, (poll, member, upload(poll, member)))
    assert isinstance(answer, AccessError)
    with service.database.read() as connection:
        assert contributions.count(connection, 1)[0] == 1, "b's alone"


def test_invited_twice_at_once_one_code_is_good(service: Service) -> None:
    with ThreadPoolExecutor(4) as pool:
        made = list(pool.map(lambda _: invite(service, "a")[0], range(4)))
    good = []
    for code in made:
        with contextlib.suppress(StateError):
            good.append(join(service, code, KEY))
    assert len(good) == 1


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


def test_who_is_invited_and_has_not_joined(service: Service) -> None:
    used, _, _ = invite(service, "a", "b", "old")
    invite(service, "b")  # once more: the first one is void
    invite(service, "r", role="reader")
    join(service, used, SecretKey.create())
    known = tables.code
    with service.database.write() as connection:
        connection.execute(update(known).where(known.c.name == "old").values(expires=1))
    assert waiting(service) == ["b"]
    assert waiting(service, "reader") == ["r"]
