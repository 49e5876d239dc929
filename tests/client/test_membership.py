"""What somebody keeps who has joined: for its owner alone, and the same after an interruption."""

from __future__ import annotations

import json
import stat
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ostraka.client import Client, Membership
from ostraka.client import membership as module
from ostraka.client.membership import TOKEN, find, join, join_as_staff, renew
from ostraka.errors import (
    AccessError,
    FormatError,
    InputError,
    OstrakaError,
    RateError,
    ServiceError,
    SignatureError,
    StateError,
)
from ostraka.exchange import JoinCode
from ostraka.sealing import Card
from ostraka.service import joining, rotation
from ostraka.service.api.app import create
from ostraka.service.service import Service
from ostraka.service.settings import Settings
from ostraka.signing import PublicKey, SecretKey
from tests.client.served import Answer, Clock, Stranger, serve
from tests.client.test_client import said
from tests.service.made import ADMIN, again, joined

KEY = SecretKey.create()


def identity_of(key: SecretKey, *links: dict[str, str]) -> dict[str, Any]:
    """What a service says of itself."""
    return {
        "ostraka": "1",
        "key": str(key.public),
        "earlier": list(links),
        "archive": False,
        "card": Card.of("coordinator", key).to_json(),
    }


def code_for(service: Service, name: str, role: Any = "party", **changes: Any) -> JoinCode:
    with service.database.write() as connection:
        made = joining.invite(
            connection, ADMIN, service.key.public, [name], role=role, again=True, **changes
        )
    return made[0][1]


@pytest.fixture
def site(tmp_path: Path) -> Path:
    return tmp_path / "site"


@pytest.fixture
def member(site: Path, service: Service, address: str) -> Membership:
    """A party that has joined."""
    return join(site, address, code_for(service, "Ward 3"))


def only(site: Path) -> Membership:
    return find(site, None, "party", "admin", "reader")


def name_of(member: Membership) -> str:
    with member.client() as client:
        return client.me().name


def crash(*_: Any, **__: Any) -> None:
    raise KeyboardInterrupt


# ---- joining -------------------------------------------------------------------------------------


@pytest.mark.parametrize("role", ["party", "reader", "admin"])
def test_joined(site: Path, service: Service, address: str, role: str) -> None:
    made = join(site, address, code_for(service, "Ward 3", role))
    assert (made.role, made.name, made.address) == (role, "ward 3", address)
    assert made.service == service.key.public
    assert only(site) == made
    assert name_of(made) == "ward 3"
    files = {path.name for path in made.folder.iterdir()}
    assert files == {f"{role}.json", f"{role}.key"}


def test_only_its_owner_may_look(member: Membership) -> None:
    assert stat.S_IMODE(member.folder.stat().st_mode) == 0o700
    for path in member.folder.iterdir():
        assert stat.S_IMODE(path.stat().st_mode) == 0o600, path.name


def test_the_secret_key_stays_here(member: Membership, service: Service) -> None:
    secret = member.key_path.read_bytes()
    assert secret.startswith(b"-----BEGIN PRIVATE KEY-----")
    assert secret not in (member.folder / "party.json").read_bytes()


@pytest.mark.parametrize("place", ["before", "after", "saved"])
def test_an_interrupted_join_goes_on_with_the_same_key(
    site: Path, service: Service, address: str, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    """Before the service has heard of it, after that, and when all but the last step is done."""
    code, real = code_for(service, "a"), Client.join
    seen = list[PublicKey]()

    def watched(self: Client, code: JoinCode, key: SecretKey, known: PublicKey) -> Any:
        seen.append(key.public)
        if len(seen) == 1 and place == "before":
            raise KeyboardInterrupt
        return real(self, code, key, known)

    monkeypatch.setattr(Client, "join", watched)
    with monkeypatch.context() as patched:
        if place == "after":
            patched.setattr(Membership, "save", crash)
        if place == "saved":
            patched.setattr(Path, "replace", only_atomically(Path.replace))
        with pytest.raises(KeyboardInterrupt):
            join(site, address, code)
    made = join(site, address, code)
    assert seen == [made.key().public] * 2
    assert name_of(made) == "a"
    assert not (made.folder / "joining.key").exists()


def test_a_key_that_was_refused_for_good_is_forgotten(
    site: Path, service: Service, address: str
) -> None:
    unknown = JoinCode.create(service.key.public)
    with pytest.raises(AccessError, match="Nobody has this code"):
        join(site, address, unknown)
    assert not list(site.rglob("*.key"))
    assert not list((site / "services").iterdir())


@pytest.mark.parametrize("error", [ServiceError("x", "is away", "Wait."), RateError(1)])
def test_a_key_that_was_not_refused_is_sent_again(
    site: Path,
    service: Service,
    address: str,
    monkeypatch: pytest.MonkeyPatch,
    error: OstrakaError,
) -> None:
    def fail(*_: Any) -> None:
        raise error

    with monkeypatch.context() as patched:
        patched.setattr(Client, "join", fail)
        with pytest.raises(type(error)):
            join(site, address, code_for(service, "a"))
    (kept,) = site.rglob("joining.key")
    before = SecretKey.load(kept).public
    assert join(site, address, code_for(service, "a")).key().public == before


def only_atomically(real: Callable[..., Any]) -> Callable[..., Any]:
    """Moves files over others, but no key over another."""

    def move(self: Path, target: Any) -> Any:
        return crash() if str(target).endswith(".key") else real(self, target)

    return move


def test_a_service_that_did_not_make_the_code(site: Path, service: Service, address: str) -> None:
    """Whoever answers there hears neither of the code nor of a key."""
    code = JoinCode.create(KEY.public)
    with pytest.raises(SignatureError, match="not the one that made this code"):
        join(site, address, code)
    assert not site.exists()


def test_whoever_stands_between_gets_nothing(
    site: Path, service: Service, stranger: Stranger
) -> None:
    """It knows which service is meant, and cannot sign an answer."""
    code = code_for(service, "a")
    token = "ostraka_theirs"
    stranger.says(
        said(identity_of(service.key)),
        said({"role": "party", "name": "a", "token": token, "signature": "00" * 64}),
    )
    with pytest.raises(SignatureError):
        join(site, stranger.address, code)
    assert len(stranger.asked) == 2
    assert not list(site.rglob("*.json"))


def test_a_code_that_was_used(site: Path, service: Service, address: str) -> None:
    code = code_for(service, "a")
    join(site / "one", address, code)
    with pytest.raises(StateError, match="used already, with another key"):
        join(site / "other", address, code)
    assert not list((site / "other").rglob("*.json"))


def test_several_roles_at_one_service(site: Path, service: Service, address: str) -> None:
    party = join(site, address, code_for(service, "a"))
    code = code_for(service, "b", "reader")
    with pytest.raises(InputError, match=r"already, as party a\. .* say --again"):
        join(site, address, code)
    reader = join(site, address, code, again=True)
    assert party.folder == reader.folder
    assert party.key().public != reader.key().public
    assert find(site, None, "reader", "party") == reader
    assert find(site, address, "party", "reader") == party


# ---- another key ---------------------------------------------------------------------------------


def test_renewed(site: Path, member: Membership) -> None:
    before = member.key().public
    made = renew(member)
    assert made.token != member.token
    assert made.key().public != before
    assert only(site) == made
    assert name_of(made) == "ward 3"
    assert stat.S_IMODE(made.key_path.stat().st_mode) == 0o600
    assert not (made.folder / "renewing.key").exists()


@pytest.mark.parametrize("place", ["before", "after", "saved"])
def test_an_interrupted_renewal_goes_on(
    site: Path, member: Membership, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    real, seen = Client.renew, list[PublicKey]()

    def watched(self: Client, known: PublicKey, old: SecretKey, new: SecretKey) -> Any:
        seen.append(new.public)
        if len(seen) == 1 and place == "before":
            raise KeyboardInterrupt
        return real(self, known, old, new)

    monkeypatch.setattr(Client, "renew", watched)
    with monkeypatch.context() as patched:
        if place == "after":
            patched.setattr(Membership, "save", crash)
        if place == "saved":
            patched.setattr(Path, "replace", only_atomically(Path.replace))
        with pytest.raises(KeyboardInterrupt):
            renew(member)
    made = renew(only(site))
    assert seen == [made.key().public] * 2
    assert name_of(made) == "ward 3"
    assert renew(made).token != made.token, "and once more, with the next"


# ---- a service with another key ------------------------------------------------------------------


@pytest.fixture
def rotated(
    member: Membership, service: Service, settings: Settings
) -> Iterator[Callable[..., tuple[Membership, Service]]]:
    """Gives the service another key, and says where it is then."""
    from contextlib import ExitStack

    with ExitStack() as stack:

        def rotate(times: int = 1, *, stolen: bool = False) -> tuple[Membership, Service]:
            now = service
            for _ in range(times):
                rotation.rotate(now, settings.key_path, stolen=stolen)
                now = again(now, settings)
            where = stack.enter_context(serve(create(now, settings)))
            return replace(member, address=where), now

        yield rotate


@pytest.mark.parametrize("times", [1, 2])
def test_a_key_that_the_old_one_vouches_for(
    rotated: Callable[..., tuple[Membership, Service]], times: int
) -> None:
    before, now = rotated(times)
    with before.session() as (member, client):
        assert member.service == now.key.public != before.service
        assert client.me().name == "ward 3"
    kept = Membership.load(member.folder / "party.json")
    assert kept.service == now.key.public, "the next time it is known"


def test_a_key_that_nobody_vouches_for(
    rotated: Callable[..., tuple[Membership, Service]],
) -> None:
    before, _ = rotated(stolen=True)
    with pytest.raises(SignatureError, match="the old one does not vouch"), before.session():
        pytest.fail("nothing may be done there")
    assert Membership.load(before.folder / "party.json").service == before.service


def test_whoever_passes_for_the_service(member: Membership, stranger: Stranger) -> None:
    from ostraka.exchange import Succession

    forged = Succession.sign(KEY, KEY.public)
    link = {
        "old": str(member.service),
        "new": str(KEY.public),
        "signature": forged.signature.hex(),
    }
    stranger.says(said(identity_of(KEY, link)))
    there = replace(member, address=stranger.address)
    with pytest.raises(SignatureError), there.session():
        pytest.fail("nothing may be done there")


def test_a_code_of_before_is_good_after(
    rotated: Callable[..., tuple[Membership, Service]], site: Path, service: Service
) -> None:
    code = code_for(service, "b")
    there, now = rotated()
    made = join(site / "b", there.address, code)
    assert (made.name, made.service) == ("b", now.key.public)


# ---- staff ---------------------------------------------------------------------------------------


def test_staff_bring_their_token(
    site: Path, service: Service, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    (admin,) = joined(service, "ann", role="admin")
    with pytest.raises(InputError, match="OSTRAKA_TOKEN has no token"):
        join_as_staff(site, address)
    monkeypatch.setenv(TOKEN, admin.token)
    made = join_as_staff(site, address)
    assert (made.role, made.name, made.token) == ("admin", "ann", "")
    assert admin.token not in (made.folder / "admin.json").read_text("utf-8")
    assert name_of(only(site)) == "ann"
    with pytest.raises(InputError, match="nothing to renew here"):
        renew(made)
    monkeypatch.delenv(TOKEN)
    with pytest.raises(InputError, match="OSTRAKA_TOKEN has no token"):
        made.client()


def test_a_wrong_token_of_staff(site: Path, address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(TOKEN, "ostraka_wrong")
    with pytest.raises(AccessError):
        join_as_staff(site, address)
    assert not list(site.rglob("*.json"))


def test_whoever_has_joined_comes_with_their_own(
    member: Membership, service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    (admin,) = joined(service, "ann", role="admin")
    monkeypatch.setenv(TOKEN, admin.token)
    assert name_of(member) == "ward 3"


# ---- which one -----------------------------------------------------------------------------------


def made_at(site: Path, address: str, role: str = "party", name: str = "a") -> Membership:
    made = Membership(
        folder=module._folder_of(site, address),
        address=address,
        service=KEY.public,
        role=role,
        name=name,
        token="ostraka_x",
    )
    made.save()
    return made


def test_none_of_them(site: Path) -> None:
    with pytest.raises(InputError, match="You have not joined any service as party or admin"):
        find(site, None, "party", "admin")
    made_at(site, "https://x.org")
    with pytest.raises(InputError, match="You have not joined any service as admin"):
        find(site, None, "admin")
    with pytest.raises(InputError, match=r"You have not joined https://y\.org as party"):
        find(site, "https://y.org", "party")


def test_one_of_several(site: Path) -> None:
    first, second = made_at(site, "https://x.org"), made_at(site, "https://y.org")
    assert find(site, "https://x.org", "party") == first
    assert find(site, "https://y.org", "party") == second
    with pytest.raises(InputError, match=r"several services: https://x\.org, https://y\.org\."):
        find(site, None, "party")


ADDRESSES = [
    "https://x.org",
    "http://x.org",
    "https://x.org:443",
    "https://x.org:8443",
    "http://x.org:8443",
    "https://x.org/o",
    "https://x.org/o/p",
    "https://x.org:8443/o",
    "https://x.org_8443",
    "https://x.org_https",
    "https://plain_x.org",
    "https://[::1]:8443",
    "https://x.org/%2f",
    "https://x.org/..",
]


def test_no_two_addresses_have_the_same_folder(site: Path) -> None:
    made = [made_at(site, address) for address in ADDRESSES]
    assert len({each.folder for each in made}) == len(ADDRESSES)
    for each in made:
        assert each.folder.parent == site / module.MEMBERSHIPS
        assert find(site, each.address, "party") == each


# ---- files of strangers --------------------------------------------------------------------------


def good() -> dict[str, Any]:
    return {
        "ostraka": "membership 1",
        "address": "https://x.org",
        "service": str(KEY.public),
        "role": "party",
        "name": "a",
        "token": "ostraka_x",
    }


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"[]",
        b"null",
        b"\xff\xfe",
        b"[" * 50_000,
        b" " * 100_001,
        *(
            json.dumps({**good(), **change}).encode()
            for change in (
                {"ostraka": "membership 2"},
                {"role": "owner"},
                {"role": "../x"},
                {"role": None},
                {"service": "x"},
                {"service": None},
                {"token": 5},
                {"name": ["a"]},
                {"ca": 5},
                {"more": "x"},
            )
        ),
        *(json.dumps({k: v for k, v in good().items() if k != name}).encode() for name in good()),
        json.dumps(good()).replace('"name"', '"name": "b", "name"').encode(),
    ],
)
def test_files_that_are_none(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "party.json"
    path.write_bytes(content)
    with pytest.raises((FormatError, SignatureError)) as told:
        Membership.load(path)
    assert "ostraka_x" not in str(told.value)


def test_a_folder_or_a_pipe_is_no_file(tmp_path: Path) -> None:
    import os

    (tmp_path / "folder.json").mkdir()
    os.mkfifo(tmp_path / "pipe.json")
    for name in ("folder", "pipe"):
        with pytest.raises((OSError, OstrakaError)):
            Membership.load(tmp_path / f"{name}.json")


def test_there_and_back(tmp_path: Path) -> None:
    path = tmp_path / "party.json"
    path.write_text(json.dumps({**good(), "ca": "/etc/own.pem"}), "utf-8")
    made = Membership.load(path)
    assert made.ca == "/etc/own.pem"
    made.save()
    assert Membership.load(path) == made
    assert stat.S_IMODE(path.stat().st_mode) == 0o600, "also when it was open before"


def test_a_key_that_others_may_read_is_refused(member: Membership) -> None:
    member.key_path.chmod(0o644)
    with pytest.raises(InputError, match="Others than you may read"):
        member.key()


def test_a_service_that_is_away(
    site: Path, service: Service, stranger: Stranger, clock: Clock
) -> None:
    stranger.says(Answer(503))
    with pytest.raises(ServiceError):
        join(site, stranger.address, code_for(service, "a"))
    assert not site.exists()
