"""Contributions in the database: a later revision replaces an earlier one, and nothing else."""

from __future__ import annotations

import traceback

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import text

from ostraka.errors import ServiceError
from ostraka.service.service import Service
from ostraka.service.storage import contributions
from ostraka.service.storage.contributions import Row


@pytest.fixture
def places(service: Service) -> Service:
    """Two polls and three parties."""
    poll = "poll (digest, title, facts, has_roll, state) VALUES ('{}', '', '', false, 'open')"
    with service.database.write() as connection:
        for each in "pq":
            connection.execute(text("INSERT INTO " + poll.format(each)))
        for each in "abc":
            connection.execute(text(f"INSERT INTO party (name, joined) VALUES ('{each}', '')"))
    return service


def row(
    party: int = 1, revision: int = 1, content: bytes = b"x", poll: int = 1, generation: int = 1
) -> Row:
    return Row(
        poll=poll,
        party=party,
        generation=generation,
        revision=revision,
        commitment=content * 32,
        persons=None,
        salt=b"s",
        signature=b"g",
        content=content,
    )


def put(service: Service, *rows: Row) -> set[tuple[int, int]]:
    with service.database.write() as connection:
        return contributions.put(connection, rows)


def kept(service: Service, poll: int = 1) -> dict[str, bytes]:
    with service.database.read() as connection:
        return {
            name: bytes(content) for name, _, _, content in contributions.stream(connection, poll)
        }


def test_several_at_once(places: Service) -> None:
    assert put(places, row(3), row(1), row(2), row(1, poll=2)) == {(1, 1), (1, 2), (1, 3), (2, 1)}
    assert kept(places) == {"a": b"x", "b": b"x", "c": b"x"}
    assert kept(places, 2) == {"a": b"x"}


def test_a_later_one_replaces(places: Service) -> None:
    assert put(places, row(1, 2, b"x"))
    assert put(places, row(1, 3, b"y")) == {(1, 1)}
    assert kept(places) == {"a": b"y"}


def test_the_same_once_more_is_as_good(places: Service) -> None:
    for _ in range(3):
        assert put(places, row(1, 2, b"x")) == {(1, 1)}


def test_an_earlier_one_or_another_of_the_same_number_does_not(places: Service) -> None:
    put(places, row(1, 5, b"x"))
    assert put(places, row(1, 4, b"y"), row(2, 1, b"z")) == {(1, 2)}
    assert put(places, row(1, 5, b"y")) == set()
    assert kept(places) == {"a": b"x", "b": b"z"}


def test_what_was_handed_in_can_be_replaced(places: Service) -> None:
    assert put(places, row(1, 0, b"x"))
    assert put(places, row(1, 0, b"y"))
    assert kept(places) == {"a": b"y"}
    assert put(places, row(1, 1, b"z"))
    assert put(places, row(1, 0, b"w")) == set()
    assert kept(places) == {"a": b"z"}


@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(sent=st.lists(st.tuples(st.integers(1, 4), st.sampled_from([b"x", b"y"])), max_size=8))
def test_in_any_order(places: Service, sent: list[tuple[int, bytes]]) -> None:
    """Whatever comes in whatever order: acknowledged is what is there, or something later."""
    with places.database.write() as connection:
        connection.execute(text("DELETE FROM contribution"))
    best = 0
    for revision, content in sent:
        there = bool(put(places, row(1, revision, content)))
        held = kept(places)["a"]
        assert there == (revision > best or (revision == best and held == content))
        best = max(best, revision) if there else best
        assert not there or held == content


def test_counted_found_and_erased(places: Service) -> None:
    put(places, row(1)._replace(persons=4), row(2)._replace(persons=5))
    with places.database.write() as connection:
        assert contributions.count(connection, 1) == (2, 9)
        assert contributions.count(connection, 2) == (0, None)
        found = contributions.find(connection, "p", 1)
        assert found == (0, b"x" * 32, False, False), "of an earlier key"
        connection.execute(text("UPDATE party SET generation = 1"))
        assert contributions.find(connection, "p", 1) == (1, b"x" * 32, False, False)
        assert contributions.find(connection, "p", 3) is None
        contributions.erase(connection, 1)
        assert contributions.find(connection, "p", 1) == (1, b"x" * 32, False, False)
        assert contributions.count(connection, 1) == (2, 9)
        found = connection.execute(text("SELECT content, salt, signature FROM contribution"))
        assert {tuple(each) for each in found} == {(None, None, None)}


def test_a_later_key_comes_before_a_later_revision(places: Service) -> None:
    assert put(places, row(revision=9, content=b"x", generation=1))
    assert put(places, row(revision=1, content=b"y", generation=2))
    assert not put(places, row(revision=10, content=b"z", generation=1))
    assert not put(places, row(revision=0, content=b"h", generation=0)), "handed in"
    assert put(places, row(revision=1, content=b"y", generation=2)), "the very same"


def test_what_was_sent_is_in_no_error(places: Service) -> None:
    """It would end in a log: PostgreSQL quotes a row that it does not take."""
    secret = b"what a party has sent"
    bad = row(content=secret)._replace(commitment=None)  # type: ignore[arg-type]
    with pytest.raises(ServiceError, match="cannot use its database") as caught:
        put(places, bad)
    told = "".join(traceback.format_exception(caught.value))
    assert secret.hex() not in told
    assert secret.decode() not in told
