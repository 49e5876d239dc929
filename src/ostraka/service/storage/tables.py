"""The tables of a service.

    table          what is in a row
    service        which service this is: its public key, and the mark of its files
    succession     keys that it had before, each with its word for the next; never changed
    party          somebody who has joined, by canonical name, with the public key, and which one in
                   a row it is
    code           a join code, by its digest
    token          what somebody shows with every request, by its digest, and whose key can renew it
    poll           a poll, by its digest, and how far it has come
    asked          whom a poll asks, if it has a roll
    contribution   what a party has sent to a poll; erased when the poll has ended
    manifest       what is counted, frozen when the poll is closed
    answer         what the trustee of a sealed poll has answered
    outcome        a release that was made, and the file that holds it
    audit          what admins have done; never changed
    ledger_...     the library's accounts (`ledger.py`); never changed, but for running sums

Large files are not here, but under their digests in `blobs`.
"""

from __future__ import annotations

from typing import Final

from sqlalchemy import (
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    Table,
    Text,
    text,
)

from ostraka.exchange.states import STATES

__all__ = [
    "METADATA",
    "allowance",
    "answer",
    "asked",
    "audit",
    "budget",
    "charge",
    "code",
    "contribution",
    "drawn",
    "ledger_party",
    "manifest",
    "outcome",
    "party",
    "poll",
    "service",
    "settlement",
    "share",
    "succession",
    "token",
]

METADATA: Final = MetaData()

ROLES: Final = ("admin", "party", "reader")


def _one_of(column: str, values: tuple[str, ...]) -> CheckConstraint:
    listed = ", ".join(f"'{value}'" for value in values)
    return CheckConstraint(f"{column} IN ({listed})", name=f"{column}_is_known")


service: Final = Table(
    "service",
    METADATA,
    Column("id", Integer, primary_key=True),
    CheckConstraint("id = 1", name="one_service"),
    Column("public_key", LargeBinary, nullable=False),
    Column("files", Text, nullable=False),
    Column("is_archive", Boolean, nullable=False, server_default=text("false")),
)

succession: Final = Table(
    "succession",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("old", LargeBinary, nullable=False),
    Column("new", LargeBinary, nullable=False),
    Column("signature", LargeBinary),
)

party: Final = Table(
    "party",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("name", Text, nullable=False, unique=True),
    Column("public_key", LargeBinary, unique=True),
    Column("generation", Integer, nullable=False, server_default=text("0")),
    Column("joined", Text, nullable=False),
    Column("revoked", Boolean, nullable=False, server_default=text("false")),
)

code: Final = Table(
    "code",
    METADATA,
    Column("digest", LargeBinary, primary_key=True),
    Column("role", Text, nullable=False),
    _one_of("role", ROLES),
    Column("name", Text, nullable=False),
    Column("expires", BigInteger, nullable=False),
    Column("used_by", LargeBinary),
    Column("withdrawn", Boolean, nullable=False, server_default=text("false")),
)
Index("code_by_name", code.c.name)

token: Final = Table(
    "token",
    METADATA,
    Column("digest", LargeBinary, primary_key=True),
    Column("role", Text, nullable=False),
    _one_of("role", ROLES),
    Column("name", Text, nullable=False),
    Column("party", Integer, ForeignKey("party.id")),
    Column("public_key", LargeBinary),
    Column("expires", BigInteger, nullable=False),
    Column("withdrawn", Boolean, nullable=False, server_default=text("false")),
)
Index("token_by_name", token.c.name)

poll: Final = Table(
    "poll",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("digest", Text, nullable=False, unique=True),
    Column("title", Text, nullable=False),
    Column("facts", Text, nullable=False),
    Column("has_roll", Boolean, nullable=False),
    Column("state", Text, nullable=False),
    _one_of("state", STATES),
    Column("signature", LargeBinary),
    Column("charge", Integer, unique=True),
    Column("release", Text),
    Column("release_signature", LargeBinary),
    Column("trouble", Text),
)

asked: Final = Table(
    "asked",
    METADATA,
    Column("poll", Integer, ForeignKey("poll.id"), primary_key=True),
    Column("name", Text, primary_key=True),
)
Index("asked_by_name", asked.c.name)

contribution: Final = Table(
    "contribution",
    METADATA,
    Column("poll", Integer, ForeignKey("poll.id"), primary_key=True),
    Column("party", Integer, ForeignKey("party.id"), primary_key=True),
    Column("generation", Integer, nullable=False),
    Column("revision", Integer, nullable=False),
    Column("commitment", LargeBinary, nullable=False),
    Column("persons", BigInteger),
    Column("salt", LargeBinary),
    Column("signature", LargeBinary),
    Column("content", LargeBinary),
    Column("unread", Boolean, nullable=False, server_default=text("false")),
)

manifest: Final = Table(
    "manifest",
    METADATA,
    Column("poll", Integer, ForeignKey("poll.id"), primary_key=True),
    Column("content", LargeBinary, nullable=False),
)

answer: Final = Table(
    "answer",
    METADATA,
    Column("poll", Integer, ForeignKey("poll.id"), primary_key=True),
    Column("content", LargeBinary, nullable=False),
)

outcome: Final = Table(
    "outcome",
    METADATA,
    Column("poll", Integer, ForeignKey("poll.id"), primary_key=True),
    Column("stated", Text, primary_key=True),
    Column("file", Text, nullable=False),
)

audit: Final = Table(
    "audit",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("at", Text, nullable=False),
    Column("who", Text, nullable=False),
    Column("what", Text, nullable=False),
    Column("about", Text, nullable=False),
    Column("chain", LargeBinary, nullable=False),
)

budget: Final = Table(
    "ledger_budget",
    METADATA,
    Column("id", Integer, primary_key=True),
    CheckConstraint("id = 1", name="one_budget"),
    Column("kind", Text, nullable=False),
    Column("amount", Text, nullable=False),
    Column("unit", Text, nullable=False),
)

ledger_party: Final = Table(
    "ledger_party",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("name", Text, nullable=False, unique=True),
    Column("spent", Text, nullable=False),
    Column("n_releases", Integer, nullable=False),
)

allowance: Final = Table(
    "ledger_allowance",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("party", Integer, ForeignKey("ledger_party.id"), nullable=False),
    Column("amount", Text, nullable=False),
)
Index("ledger_allowance_of_party", allowance.c.party, allowance.c.id)

charge: Final = Table(
    "ledger_charge",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("day", Text, nullable=False),
    Column("epsilon", Text),
    Column("delta", Text),
    Column("rho", Text),
    Column("gaussian", Boolean, nullable=False),
    Column("note", Text, nullable=False),
    Column("n_parties", Integer, nullable=False),
    Column("certificate", Text),
)

share: Final = Table(
    "ledger_share",
    METADATA,
    Column("party", Integer, ForeignKey("ledger_party.id"), primary_key=True),
    Column("charge", Integer, ForeignKey("ledger_charge.id"), primary_key=True),
)

settlement: Final = Table(
    "ledger_settlement",
    METADATA,
    Column("charge", Integer, ForeignKey("ledger_charge.id"), primary_key=True),
    Column("digest", Text, nullable=False),
)

drawn: Final = Table(
    "ledger_drawn",
    METADATA,
    Column("charge", Integer, ForeignKey("ledger_charge.id"), primary_key=True),
    Column("numbers", Text, nullable=False),
)
