"""Databases of a service, empty or with its tables."""

from __future__ import annotations

import secrets
from functools import cache

from sqlalchemy import create_engine, text

from ostraka.service.storage.database import Database
from ostraka.service.storage.migrations import migrate

__all__ = ["at", "database_with_tables", "new_database"]


def at(cluster: str, name: str) -> str:
    """The URL of a database on a PostgreSQL server, of which the URL of another one is known."""
    head, _, options = cluster.partition("?")
    return f"{head.rpartition('/')[0]}/{name}?{options}"


def new_database(cluster: str, template: str = "template1") -> str:
    """A new database on a PostgreSQL server, by URL."""
    name = f"t{secrets.token_hex(6)}"
    engine = create_engine(
        cluster.replace("postgresql:", "postgresql+psycopg:", 1), isolation_level="AUTOCOMMIT"
    )
    with engine.connect() as connection:
        connection.execute(text(f"CREATE DATABASE {name} TEMPLATE {template}"))
    engine.dispose()
    return at(cluster, name)


def database_with_tables(cluster: str) -> str:
    """A new database that has the tables of a service already."""
    return new_database(cluster, _template(cluster))


@cache
def _template(cluster: str) -> str:
    url = new_database(cluster)
    database = Database.open(url)
    migrate(database)
    database.close()
    return url.partition("?")[0].rpartition("/")[2]
