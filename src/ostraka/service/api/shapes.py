"""What goes in and out as JSON."""

from __future__ import annotations

from typing import Annotated, Any, Generic, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field

__all__ = [
    "AccountShape",
    "AllowanceShape",
    "AuditShape",
    "BudgetShape",
    "ChargeShape",
    "ClosingShape",
    "ContributorShape",
    "InvitationShape",
    "InvitedShape",
    "JoinShape",
    "JoinedShape",
    "MeShape",
    "MineShape",
    "Page",
    "PartyShape",
    "PollShape",
    "ProblemShape",
    "ReceiptShape",
    "RenewalShape",
    "RevocationShape",
    "ServiceShape",
    "SuccessionShape",
    "WaitingShape",
]

Item = TypeVar("Item")
Digest = Annotated[str, Field(pattern="^[0-9a-f]{64}$")]
Name = Annotated[str, Field(min_length=1, max_length=500)]
Signature = Annotated[str, Field(pattern="^[0-9a-f]{128}$")]
KeyText = Annotated[str, Field(max_length=60, examples=["ed25519:..."])]


class Shape(BaseModel):
    """Nothing beside what is named."""

    model_config = ConfigDict(extra="forbid")


class Page(Shape, Generic[Item]):
    """Some of many; `next` asks for those that follow, as the parameter `after`."""

    items: list[Item]
    next: str | None = None


class ProblemShape(Shape):
    """An error (RFC 9457)."""

    type: str
    title: str
    status: int
    detail: str
    request: str


class SuccessionShape(Shape):
    """An earlier key of the service, and its word for the next one."""

    old: str
    new: str
    signature: str


class CardShape(Shape):
    """The service as a coordinator whom parties seal to."""

    name: str
    key: str
    sealing: str
    signature: str


class ServiceShape(Shape):
    """Which service this is."""

    ostraka: str
    key: str
    earlier: list[SuccessionShape]
    archive: bool
    card: CardShape


class JoinShape(Shape):
    """The public part of a code, and the key of whoever joins; both sign the request."""

    code: KeyText
    key: KeyText
    by_code: Signature
    by_key: Signature


class RenewalShape(Shape):
    """Another key, signed by the old one and by itself."""

    key: KeyText
    by_old: Signature
    by_new: Signature


class JoinedShape(Shape):
    """What somebody has who has joined, signed by the service. The token is not shown again."""

    role: Literal["admin", "party", "reader"]
    name: str
    token: str
    signature: Signature


class AccountShape(Shape):
    """What a party may lose, has lost, and has left; exact numbers as text."""

    party: str
    budget: dict[str, float]
    spent: dict[str, float]
    left: dict[str, float]
    releases: int


class MeShape(Shape):
    """Who asks, and their account if they are a party."""

    role: str
    name: str
    account: AccountShape | None = None


class PollShape(Shape):
    """A poll, beside its file."""

    digest: str
    title: str
    state: Literal["draft", "open", "closed", "released", "abandoned"]
    contributions: int
    persons: int | None
    release: str | None
    facts: dict[str, Any]
    price: dict[str, float] | None = None
    mine: MineShape | None = None
    trouble: str | None = None
    """For admins: why a closed poll is not released."""


class MineShape(Shape):
    """Whether somebody's own contribution has arrived, and which."""

    revision: int
    commitment: str
    handed_in: bool
    unread: bool


class ContributorShape(Shape):
    """Who has contributed; nothing of what."""

    party: str
    revision: int
    handed_in: bool


class ClosingShape(Shape):
    """How a poll is closed."""

    leave_out: list[Name] = []


class ReceiptShape(Shape):
    """The service's word that a contribution has arrived."""

    ostraka: str
    poll: str
    party: str
    revision: int
    commitment: str
    signature: str
    salt: str | None = None


class InvitationShape(Shape):
    """Who is invited, and as what."""

    names: Annotated[list[Name], Field(min_length=1, max_length=100_000)]
    role: Literal["admin", "party", "reader"] = "party"
    days: Annotated[int, Field(ge=1, le=365)] = 30
    again: bool = False


class InvitedShape(Shape):
    """A code for somebody. It is not shown again."""

    name: str
    code: str


class WaitingShape(Shape):
    """Who has a code, and has not joined with it yet."""

    name: str
    role: Literal["admin", "party", "reader"]
    until: str
    """The last day on which it is good."""


class RevocationShape(Shape):
    """Who may do nothing more."""

    name: Name
    role: Literal["admin", "party", "reader"] = "party"


class PartyShape(Shape):
    """Who is known here."""

    name: str
    joined: str
    has_key: bool
    revoked: bool


class BudgetShape(Shape):
    """What every party may lose that has no other budget."""

    budget: dict[str, float]
    protects: str


class AllowanceShape(Shape):
    """Another budget for some parties."""

    names: Annotated[list[Name], Field(min_length=1, max_length=100_000)]
    epsilon: Annotated[float, Field(gt=0, allow_inf_nan=False)] | None = None
    delta: Annotated[float, Field(gt=0, lt=1, allow_inf_nan=False)] | None = None
    rho: Annotated[float, Field(gt=0, allow_inf_nan=False)] | None = None


class ChargeShape(Shape):
    """One line of the accounts."""

    id: int
    day: str
    note: str
    parties: int
    cost: dict[str, float]
    release: str | None


class AuditShape(Shape):
    """One thing that an admin has done."""

    id: int
    at: str
    who: str
    what: str
    about: str
