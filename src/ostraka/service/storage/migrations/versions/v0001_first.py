"""The first tables."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from ostraka.service.storage.migrations.append_only import refuse_changes

revision = "1"
down_revision = None
branch_labels = None
depends_on = None

APPEND_ONLY = (
    "answer",
    "audit",
    "ledger_budget",
    "ledger_allowance",
    "ledger_charge",
    "ledger_share",
    "ledger_settlement",
    "ledger_drawn",
    "outcome",
    "succession",
)


def upgrade() -> None:
    """From nothing."""
    op.create_table(
        "audit",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("at", sa.Text(), nullable=False),
        sa.Column("who", sa.Text(), nullable=False),
        sa.Column("what", sa.Text(), nullable=False),
        sa.Column("about", sa.Text(), nullable=False),
        sa.Column("chain", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_table(
        "code",
        sa.Column("digest", sa.LargeBinary(), nullable=False),
        sa.Column("role", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("expires", sa.BigInteger(), nullable=False),
        sa.Column("used_by", sa.LargeBinary(), nullable=True),
        sa.Column("withdrawn", sa.Boolean(), server_default=sa.text("false"), nullable=False),
        sa.CheckConstraint("role IN ('admin', 'party', 'reader')", name="role_is_known"),
        sa.PrimaryKeyConstraint("digest"),
    )
    op.create_index("code_by_name", "code", ["name"], unique=False)
    op.create_table(
        "ledger_budget",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("amount", sa.Text(), nullable=False),
        sa.Column("unit", sa.Text(), nullable=False),
        sa.CheckConstraint("id = 1", name="one_budget"),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_table(
        "ledger_charge",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("day", sa.Text(), nullable=False),
        sa.Column("epsilon", sa.Text(), nullable=True),
        sa.Column("delta", sa.Text(), nullable=True),
        sa.Column("rho", sa.Text(), nullable=True),
        sa.Column("gaussian", sa.Boolean(), nullable=False),
        sa.Column("note", sa.Text(), nullable=False),
        sa.Column("n_parties", sa.Integer(), nullable=False),
        sa.Column("certificate", sa.Text(), nullable=True),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_table(
        "ledger_party",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("spent", sa.Text(), nullable=False),
        sa.Column("n_releases", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("name"),
    )
    op.create_table(
        "party",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("public_key", sa.LargeBinary(), nullable=True),
        sa.Column("generation", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("joined", sa.Text(), nullable=False),
        sa.Column("revoked", sa.Boolean(), server_default=sa.text("false"), nullable=False),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("name"),
        sa.UniqueConstraint("public_key"),
    )
    op.create_table(
        "poll",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("digest", sa.Text(), nullable=False),
        sa.Column("title", sa.Text(), nullable=False),
        sa.Column("facts", sa.Text(), nullable=False),
        sa.Column("has_roll", sa.Boolean(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("signature", sa.LargeBinary(), nullable=True),
        sa.Column("charge", sa.Integer(), nullable=True),
        sa.Column("release", sa.Text(), nullable=True),
        sa.Column("release_signature", sa.LargeBinary(), nullable=True),
        sa.Column("trouble", sa.Text(), nullable=True),
        sa.CheckConstraint(
            "state IN ('draft', 'open', 'closed', 'released', 'abandoned')", name="state_is_known"
        ),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("charge"),
        sa.UniqueConstraint("digest"),
    )
    op.create_table(
        "service",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("public_key", sa.LargeBinary(), nullable=False),
        sa.Column("files", sa.Text(), nullable=False),
        sa.Column("is_archive", sa.Boolean(), server_default=sa.text("false"), nullable=False),
        sa.CheckConstraint("id = 1", name="one_service"),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_table(
        "succession",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("old", sa.LargeBinary(), nullable=False),
        sa.Column("new", sa.LargeBinary(), nullable=False),
        sa.Column("signature", sa.LargeBinary(), nullable=True),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_table(
        "asked",
        sa.Column("poll", sa.Integer(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(
            ["poll"],
            ["poll.id"],
        ),
        sa.PrimaryKeyConstraint("poll", "name"),
    )
    op.create_index("asked_by_name", "asked", ["name"], unique=False)
    op.create_table(
        "contribution",
        sa.Column("poll", sa.Integer(), nullable=False),
        sa.Column("party", sa.Integer(), nullable=False),
        sa.Column("generation", sa.Integer(), nullable=False),
        sa.Column("revision", sa.Integer(), nullable=False),
        sa.Column("commitment", sa.LargeBinary(), nullable=False),
        sa.Column("persons", sa.BigInteger(), nullable=True),
        sa.Column("salt", sa.LargeBinary(), nullable=True),
        sa.Column("signature", sa.LargeBinary(), nullable=True),
        sa.Column("content", sa.LargeBinary(), nullable=True),
        sa.Column("unread", sa.Boolean(), server_default=sa.text("false"), nullable=False),
        sa.ForeignKeyConstraint(
            ["party"],
            ["party.id"],
        ),
        sa.ForeignKeyConstraint(
            ["poll"],
            ["poll.id"],
        ),
        sa.PrimaryKeyConstraint("poll", "party"),
    )
    op.create_table(
        "ledger_allowance",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("party", sa.Integer(), nullable=False),
        sa.Column("amount", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(
            ["party"],
            ["ledger_party.id"],
        ),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index("ledger_allowance_of_party", "ledger_allowance", ["party", "id"], unique=False)
    op.create_table(
        "ledger_drawn",
        sa.Column("charge", sa.Integer(), nullable=False),
        sa.Column("numbers", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(
            ["charge"],
            ["ledger_charge.id"],
        ),
        sa.PrimaryKeyConstraint("charge"),
    )
    op.create_table(
        "ledger_settlement",
        sa.Column("charge", sa.Integer(), nullable=False),
        sa.Column("digest", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(
            ["charge"],
            ["ledger_charge.id"],
        ),
        sa.PrimaryKeyConstraint("charge"),
    )
    op.create_table(
        "ledger_share",
        sa.Column("party", sa.Integer(), nullable=False),
        sa.Column("charge", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(
            ["charge"],
            ["ledger_charge.id"],
        ),
        sa.ForeignKeyConstraint(
            ["party"],
            ["ledger_party.id"],
        ),
        sa.PrimaryKeyConstraint("party", "charge"),
    )
    op.create_table(
        "answer",
        sa.Column("poll", sa.Integer(), nullable=False),
        sa.Column("content", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(["poll"], ["poll.id"]),
        sa.PrimaryKeyConstraint("poll"),
    )
    op.create_table(
        "manifest",
        sa.Column("poll", sa.Integer(), nullable=False),
        sa.Column("content", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(
            ["poll"],
            ["poll.id"],
        ),
        sa.PrimaryKeyConstraint("poll"),
    )
    op.create_table(
        "outcome",
        sa.Column("poll", sa.Integer(), nullable=False),
        sa.Column("stated", sa.Text(), nullable=False),
        sa.Column("file", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(
            ["poll"],
            ["poll.id"],
        ),
        sa.PrimaryKeyConstraint("poll", "stated"),
    )
    op.create_table(
        "token",
        sa.Column("digest", sa.LargeBinary(), nullable=False),
        sa.Column("role", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("party", sa.Integer(), nullable=True),
        sa.Column("public_key", sa.LargeBinary(), nullable=True),
        sa.Column("expires", sa.BigInteger(), nullable=False),
        sa.Column("withdrawn", sa.Boolean(), server_default=sa.text("false"), nullable=False),
        sa.CheckConstraint("role IN ('admin', 'party', 'reader')", name="role_is_known"),
        sa.ForeignKeyConstraint(
            ["party"],
            ["party.id"],
        ),
        sa.PrimaryKeyConstraint("digest"),
    )
    op.create_index("token_by_name", "token", ["name"], unique=False)
    for statement in refuse_changes(op.get_bind().dialect.name, APPEND_ONLY):
        op.execute(statement)
