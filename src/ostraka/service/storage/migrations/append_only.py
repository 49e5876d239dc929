"""Tables whose rows are added, and never changed or removed, by whatever program."""

from __future__ import annotations

from collections.abc import Iterable

__all__ = ["refuse_changes"]


def refuse_changes(dialect: str, tables: Iterable[str]) -> list[str]:
    """The statements that make a database refuse changes to these tables."""
    if dialect == "sqlite":
        refuse = "BEGIN SELECT RAISE(ABORT, 'this table is append-only'); END"
        return [
            f"CREATE TRIGGER {table}_{what.lower()} BEFORE {what} ON {table} {refuse}"
            for table in tables
            for what in ("UPDATE", "DELETE")
        ]
    function = (
        "CREATE OR REPLACE FUNCTION ostraka_append_only() RETURNS trigger AS $$ BEGIN "
        "RAISE EXCEPTION 'this table is append-only'; END $$ LANGUAGE plpgsql"
    )
    return [
        function,
        *(
            f"CREATE TRIGGER {table}_stays BEFORE UPDATE OR DELETE OR TRUNCATE "
            f"ON {table} FOR EACH STATEMENT EXECUTE FUNCTION ostraka_append_only()"
            for table in tables
        ),
    ]
