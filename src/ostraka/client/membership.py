"""What somebody has who has joined a service: address, the service's key, a token, and an own key.

    folder                              what
    SITE/services/HOST_PORT/            of one service, for its owner alone
        ROLE.json                       address, the service's public key, role, name, token
        ROLE.key                        the secret key that was made on joining
        pending/, receipts/             contributions on their way, and receipts (`sending`)

The service's key is the one that the code has named, and it has signed who one is here: from then
on nobody else can pass for it, even with another certificate. If the service changes its key, the
old one vouches for the new.

Staff whom an issuer vouches for have neither token nor key here: each time they bring the issuer's
token in the variable OSTRAKA_TOKEN. The service's key is then the one that it had at first.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, Self, final
from urllib.parse import quote, urlsplit

from ostraka.client.client import Client
from ostraka.client.shapes import Identity, Joined
from ostraka.errors import FormatError, InputError, RateError, SignatureError, naming_file
from ostraka.exchange import JoinCode
from ostraka.exchange.succession import follow
from ostraka.files import read_regular, write_atomically
from ostraka.signing import PublicKey, SecretKey
from ostraka.site import MEMBERSHIPS
from ostraka.tensors import canonical_json, parse_json

__all__ = ["ROLES", "TOKEN", "Membership", "find", "join", "join_as_staff", "renew"]

FORMAT: Final = "membership 1"
WHAT: Final = "membership"
LARGEST: Final = 100_000
ROLES: Final = ("admin", "party", "reader")
FIELDS: Final = ("address", "service", "role", "name", "token")
TOKEN: Final = "OSTRAKA_TOKEN"
"""A token that staff bring along each time. Who has joined with a code has another, kept here."""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Membership:
    """One role at one service."""

    folder: Path
    address: str
    service: PublicKey
    role: str
    name: str
    token: str
    ca: str | None = None

    @property
    def key_path(self) -> Path:
        """Where the secret key is."""
        return self.folder / f"{self.role}.key"

    def key(self) -> SecretKey:
        """The secret key."""
        return SecretKey.load(self.key_path)

    def client(self, **options: float) -> Client:
        """For requests as this member."""
        token = self.token or os.environ.get(TOKEN)
        if not token:
            raise _no_token()
        return Client(self.address, token, ca=self.ca, **options)

    @contextlib.contextmanager
    def session(self) -> Iterator[tuple[Membership, Client]]:
        """The same, by the key that the service has now, if the one known here vouches for it."""
        with self.client() as client:
            told = client.identity()
            yield self._following(told), client

    def _following(self, told: Identity) -> Membership:
        if told.key == self.service:
            return self
        follow(self.service, told.key, told.earlier)
        made = replace(self, service=told.key)
        made.save()
        return made

    def save(self) -> None:
        """Keep it, for its owner alone."""
        _make_folder(self.folder)
        held = {name: str(getattr(self, name)) for name in FIELDS}
        if self.ca is not None:
            held["ca"] = self.ca
        content = canonical_json({"ostraka": FORMAT, **held}).encode("ascii") + b"\n"
        write_atomically(self.folder / f"{self.role}.json", content, private=True)

    @classmethod
    def load(cls, path: Path) -> Self:
        """Read one; anything that is not one is refused."""
        with naming_file(path):
            held = parse_json(read_regular(path, WHAT, LARGEST).decode("utf-8", "replace"), WHAT)
            form, ca = held.pop("ostraka", None), held.pop("ca", None)
            known = form == FORMAT and set(held) == set(FIELDS)
            if not known or not all(isinstance(each, str) for each in held.values()):
                raise FormatError(WHAT, f"it is not of the form {FORMAT!r}")
            if held["role"] not in ROLES or not (ca is None or isinstance(ca, str)):
                raise FormatError(WHAT, "its role is unknown")
            service = PublicKey.parse(held.pop("service"))
        return cls(folder=path.parent, service=service, ca=ca, **held)


def find(site: Path, address: str | None, *roles: str) -> Membership:
    """The membership in one of these roles, in their order; without an address, the only one."""
    folder = site / MEMBERSHIPS
    if address is not None:
        found = [_folder_of(site, address)]
    else:
        found = sorted(folder.iterdir()) if folder.is_dir() else []
    members = [
        Membership.load(path)
        for place in found
        for role in roles
        if (path := place / f"{role}.json").is_file()
    ]
    members = [each for each in members if address in (None, each.address)]
    if not members:
        where = "any service" if address is None else address
        raise InputError(
            f"You have not joined {where} as {' or '.join(roles)} (looked in {folder}).",
            "Join with a code that the coordinator gives you: ostraka join ADDRESS CODE.",
        )
    if len({each.address for each in members}) > 1:
        known = ", ".join(sorted({each.address for each in members}))
        raise InputError(f"You have joined several services: {known}.", "Name one by --server.")
    return members[0]


def join(
    site: Path, address: str, code: JoinCode, *, ca: str | None = None, again: bool = False
) -> Membership:
    """Join a service, with a key that stays here. After an interruption the same call goes on.

    `again`: although somebody has joined it from this folder before, whose key in the same role
    ends.
    """
    folder = _folder_of(site, address)
    if not again:
        _refuse_taken(folder, address)
    with Client(address, ca=ca) as client:
        told = client.identity()
        service = told.key
        code.check_service(service, told.earlier)
        _make_folder(folder)
        key_path = folder / "joining.key"
        if not key_path.exists():
            SecretKey.create().save(key_path)
        with _forgotten_if_refused(key_path):
            joined = client.join(code, SecretKey.load(key_path), service)
    made = _member(folder, address, service, joined, ca)
    made.save()
    key_path.replace(made.key_path)  # last: until then the same call goes on
    return made


@contextlib.contextmanager
def _forgotten_if_refused(key_path: Path) -> Iterator[None]:
    """Of a key that the service has refused for good nothing stays.

    Whoever got no answer, or one of somebody else, sends the same key again.
    """
    try:
        yield
    except InputError as error:
        if not isinstance(error, RateError | SignatureError):
            key_path.unlink(missing_ok=True)
            with contextlib.suppress(OSError):  # others are there
                key_path.parent.rmdir()
        raise


def join_as_staff(site: Path, address: str, *, ca: str | None = None) -> Membership:
    """Note a service whose issuer vouches for whoever brings the token of the variable."""
    token = os.environ.get(TOKEN)
    if not token:
        raise _no_token()
    with Client(address, token, ca=ca) as client:
        me, service = client.me(), client.identity().key
    joined = Joined(role=me.role, name=me.name, token="")
    made = _member(_folder_of(site, address), address, service, joined, ca)
    made.save()
    return made


def renew(member: Membership) -> Membership:
    """Another key and another token for a member; after an interruption the same call goes on."""
    if not member.token:
        raise InputError(
            "You come with a token of your organisation, so there is nothing to renew here.",
            f"Get another token there, and put it into the variable {TOKEN}.",
        )
    fresh = member.folder / "renewing.key"
    with member.session() as (now, client):
        old = now.key()
        if not fresh.exists():
            SecretKey.create().save(fresh)
        joined = client.renew(now.service, old, SecretKey.load(fresh))
    made = replace(now, token=joined.token)
    made.save()
    fresh.replace(made.key_path)
    return made


def _refuse_taken(folder: Path, address: str) -> None:
    """Refuse what would take the place of somebody's key: a code is used up, and so is a name."""
    there = [Membership.load(path) for role in ROLES if (path := folder / f"{role}.json").is_file()]
    if there and not (folder / "joining.key").exists():  # else this one was interrupted
        known = " and ".join(f"{each.role} {each.name}" for each in there)
        raise InputError(
            f"You have joined {address} from this folder already, as {known}.",
            "Go on with that: ostraka status. Somebody else joins from a folder of their own "
            "(--site). If you were invited again, or in another role, say --again. The code was "
            "not used.",
        )


def _member(
    folder: Path, address: str, service: PublicKey, joined: Joined, ca: str | None
) -> Membership:
    if joined.role not in ROLES:
        raise FormatError(WHAT, "its role is unknown")
    return Membership(
        folder=folder,
        address=address,
        service=service,
        role=joined.role,
        name=joined.name,
        token=joined.token,
        ca=None if ca is None else str(Path(ca).absolute()),
    )


def _no_token() -> InputError:
    return InputError(
        f"The variable {TOKEN} has no token.",
        "Get one from your organisation's issuer, and put it there.",
    )


def _folder_of(site: Path, address: str) -> Path:
    parts = urlsplit(address)
    letters = f"{parts.hostname}_{parts.port or parts.scheme}{parts.path}"
    if parts.scheme == "http":  # on this machine, or a network of one's own
        letters = f"plain_{letters}"
    return site / MEMBERSHIPS / quote(letters, safe="")  # no two addresses have the same folder


def _make_folder(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    if os.name == "posix":
        folder.chmod(0o700)
