"""What a service answers, as values. What is not of the form that is expected is refused."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self, final

from ostraka.exchange.code import JoinCode, admission
from ostraka.exchange.succession import Succession
from ostraka.sealing import Card
from ostraka.signing import PublicKey

__all__ = [
    "Account",
    "Charged",
    "Contributor",
    "Identity",
    "Invited",
    "Joined",
    "Me",
    "Mine",
    "Party",
    "PollState",
    "Terms",
    "read_invited",
    "read_line",
    "read_next",
]


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Joined:
    """What somebody has who has joined."""

    role: str
    name: str
    token: str
    signature: bytes = b""

    @classmethod
    def read(cls, held: Any) -> Self:
        """From JSON."""
        texts = {name: _text(held[name]) for name in ("role", "name", "token")}
        return cls(**texts, signature=bytes.fromhex(_text(held["signature"])))

    def check(self, service: PublicKey, key: PublicKey) -> None:
        """Refuse what this service has not said to the holder of this key."""
        said = admission(key, self.role, self.name, self.token)
        service.check(self.signature, said, what="answer")


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """A service's key, and its earlier ones' words for the next."""

    key: PublicKey
    earlier: tuple[Succession, ...]
    archive: bool = False
    card: Card | None = None

    @classmethod
    def read(cls, held: Any) -> Self:
        """From JSON."""
        links = (
            Succession(
                PublicKey.parse(_text(one["old"])),
                PublicKey.parse(_text(one["new"])),
                bytes.fromhex(_text(one["signature"])),
            )
            for one in held["earlier"]
        )
        key = PublicKey.parse(_text(held["key"]))
        archive, card = _is_so(held["archive"]), Card.from_json(held["card"])
        return cls(key=key, earlier=tuple(links), archive=archive, card=card)


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Me:
    """Who somebody is at a service, and their account if they are a party."""

    role: str
    name: str
    account: Account | None

    @classmethod
    def read(cls, held: Any) -> Self:
        """From JSON."""
        account = None if held["account"] is None else Account.read(held["account"])
        return cls(role=_text(held["role"]), name=_text(held["name"]), account=account)


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Mine:
    """Which contribution of one's own has arrived."""

    revision: int
    commitment: bytes
    handed_in: bool
    unread: bool = False
    """Whether a trustee could not open its half, so that it does not count."""

    @classmethod
    def read(cls, held: Any) -> Self:
        """From JSON."""
        return cls(
            revision=_count(held["revision"]),
            commitment=bytes.fromhex(_text(held["commitment"])),
            handed_in=_is_so(held["handed_in"]),
            unread=_is_so(held["unread"]),
        )


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class PollState:
    """A poll, beside its file."""

    digest: str
    title: str
    state: str
    contributions: int
    persons: int | None
    release: str | None
    facts: dict[str, Any]
    price: dict[str, float] | None
    mine: Mine | None
    trouble: str | None

    @classmethod
    def read(cls, held: Any) -> Self:
        """From JSON."""
        mine, persons, price = held["mine"], held["persons"], held["price"]
        return cls(
            digest=_text(held["digest"]),
            title=_text(held["title"]),
            state=_text(held["state"]),
            contributions=_count(held["contributions"]),
            persons=None if persons is None else _count(persons),
            release=None if held["release"] is None else _text(held["release"]),
            facts=_facts(held["facts"]),
            price=None if price is None else _numbers(price),
            mine=None if mine is None else Mine.read(mine),
            trouble=None if held["trouble"] is None else _text(held["trouble"]),
        )


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """What a party may lose, has lost, and has left."""

    party: str
    budget: dict[str, float]
    spent: dict[str, float]
    left: dict[str, float]
    releases: int

    @classmethod
    def read(cls, held: Any) -> Self:
        """From JSON."""
        return cls(
            party=_text(held["party"]),
            budget=_numbers(held["budget"]),
            spent=_numbers(held["spent"]),
            left=_numbers(held["left"]),
            releases=_count(held["releases"]),
        )


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """What everybody may lose who has no other budget, and of whom that is."""

    budget: dict[str, float]
    protects: str

    @classmethod
    def read(cls, held: Any) -> Self:
        """From JSON."""
        return cls(budget=_numbers(held["budget"]), protects=_text(held["protects"]))


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Charged:
    """One charge: what each of some parties has paid, and for which release."""

    id: int
    day: str
    note: str
    parties: int
    cost: dict[str, float]
    release: str | None

    @classmethod
    def read(cls, held: Any) -> Self:
        """From JSON."""
        release = held["release"]
        return cls(
            id=_count(held["id"]),
            day=_text(held["day"]),
            note=_text(held["note"]),
            parties=_count(held["parties"]),
            cost=_numbers(held["cost"]),
            release=None if release is None else _text(release),
        )


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Contributor:
    """Who has contributed."""

    party: str
    revision: int
    handed_in: bool

    @classmethod
    def read(cls, held: Any) -> Self:
        """From JSON."""
        return cls(
            party=_text(held["party"]),
            revision=_count(held["revision"]),
            handed_in=_is_so(held["handed_in"]),
        )


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Party:
    """Who is known to a service."""

    name: str
    joined: str
    has_key: bool
    revoked: bool

    @classmethod
    def read(cls, held: Any) -> Self:
        """From JSON."""
        return cls(
            name=_text(held["name"]),
            joined=_text(held["joined"]),
            has_key=_is_so(held["has_key"]),
            revoked=_is_so(held["revoked"]),
        )


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Invited:
    """Who has a code, and has not joined with it yet."""

    name: str
    role: str
    until: str

    @classmethod
    def read(cls, held: Any) -> Self:
        """From JSON."""
        return cls(**{name: _text(held[name]) for name in ("name", "role", "until")})


def read_invited(held: Any) -> tuple[str, JoinCode]:
    """Whom a code is for, and the code."""
    return _text(held["name"]), JoinCode.parse(_text(held["code"]))


def read_line(held: Any) -> dict[str, Any]:
    """One line of the log of what admins have done."""
    texts = {name: _text(held[name]) for name in ("at", "who", "what", "about")}
    return {"id": _count(held["id"]), **texts}


def read_next(held: Any) -> str | None:
    """With what the next page is asked for; None after the last one."""
    return None if held is None else _text(held)


def _count(given: Any) -> int:
    if type(given) is not int:
        raise ValueError("not a whole number")
    return given


def _is_so(given: Any) -> bool:
    if type(given) is not bool:
        raise ValueError("neither true nor false")
    return given


def _numbers(given: Any) -> dict[str, float]:
    if not isinstance(given, dict):
        raise ValueError("not numbers by name")
    return {_text(name): _number(value) for name, value in given.items()}


def _number(given: Any) -> float:
    if type(given) not in (int, float) or not abs(given) < float("inf"):
        raise ValueError("not a number")
    return float(given)


def _facts(given: Any) -> dict[str, Any]:
    """What is told of a poll; what people are shown of it has the form that they expect."""
    held = dict(_clean(given))
    for name in ("method", "protects"):
        _text(held[name])
    for name in ("expected", "least_parties"):
        _count(held[name])
    _number(held["epsilon"])
    if held["delta"] is not None:
        _number(held["delta"])
    if not isinstance(held["classes"], list):
        raise ValueError("not a list of classes")
    return held


def _clean(given: Any) -> Any:
    """JSON of any form, in which every text is printable."""
    if isinstance(given, dict):
        return {_text(name): _clean(value) for name, value in given.items()}
    if isinstance(given, list):
        return [_clean(value) for value in given]
    return _text(given) if isinstance(given, str) else given


def _text(given: Any) -> str:
    """Printable text: what a service answers may end on a terminal."""
    if not isinstance(given, str) or not given.isprintable():
        raise ValueError("not printable text")
    return given
