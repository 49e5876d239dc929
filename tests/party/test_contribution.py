"""Contributions: one form for one content, and nothing but a FormatError for anything else."""

from __future__ import annotations

import contextlib
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ostraka.errors import FormatError, ParameterError
from ostraka.party.contribution import HEADER, Contribution, Kind, vote_dtype

DIGEST = "0123456789abcdef" * 4
FILES = Path(__file__).parent / "files"


def made(kind: Kind, values: Any, **changes: Any) -> Contribution:
    return Contribution(
        **{"poll": DIGEST, "party": "ward-3", "kind": kind, "values": np.asarray(values), **changes}
    )


EACH = {
    "vector": made(Kind.VECTOR, [1, -2, 3, 2**24]),
    "ballot": made(Kind.BALLOT, [0, 1, 2, 2, 1], n_classes=3),
    "vectors": made(Kind.VECTORS, [2**40, -(2**40)], n_persons=2**20),
    "ballots": made(Kind.BALLOTS, [[2, 1], [3, 0]], n_classes=2, n_persons=3),
    "nobody": made(Kind.VECTORS, [0, 0], n_persons=0),
    "classifier": made(Kind.CLASSIFIER, np.frombuffer(b"PK and more", dtype=np.uint8)),
}
names = st.sampled_from(["a", "ward-3", "3", "é", "北", "x" * 400])


@st.composite
def contributions(draw: Any) -> Contribution:
    kind = draw(st.sampled_from(list(Kind)))
    n = draw(st.integers(1, 40))
    party, K = draw(names), draw(st.sampled_from([2, 3, 4, 5, 256, 257, 70_000]))
    if kind is Kind.VECTOR:
        return made(
            kind, draw(st.lists(st.integers(-(2**30), 2**30), min_size=n, max_size=n)), party=party
        )
    if kind is Kind.BALLOT:
        votes = draw(st.lists(st.integers(0, K - 1), min_size=n, max_size=n))
        return made(kind, votes, party=party, n_classes=K)
    if kind is Kind.VECTORS:
        sums = draw(st.lists(st.integers(-(2**60), 2**60), min_size=n, max_size=n))
        return made(kind, sums, party=party, n_persons=draw(st.integers(0, 2**38)))
    if kind is Kind.BALLOTS:
        counts = np.array(
            draw(st.lists(st.integers(0, 9), min_size=3 * n, max_size=3 * n))
        ).reshape(n, 3)
        return made(kind, counts, party=party, n_classes=3, n_persons=9)
    content = np.frombuffer(draw(st.binary(min_size=1, max_size=50)), dtype=np.uint8)
    more = {"n_persons": draw(st.integers(0, 2**38))} if kind is Kind.SEALED_SUM else {}
    return made(kind, content, party=party, **more)


@given(contributions())
def test_round_trip(given_: Contribution) -> None:
    written = given_.to_bytes()
    read = Contribution.from_bytes(written)
    assert read == given_
    assert read.to_bytes() == written
    assert (read.values == given_.values).all()
    assert read.values.dtype == given_.values.dtype
    assert (read.party, read.kind, read.n_classes, read.n_persons) == (
        given_.party, given_.kind, given_.n_classes, given_.n_persons,
    )  # fmt: skip


@pytest.mark.parametrize("n_classes", [2, 3, 300])
@pytest.mark.parametrize("n_samples", [2**16 - 1, 2**16, 2**16 + 1, 200_003])
def test_round_trip_of_long_ballots(n_classes: int, n_samples: int) -> None:
    votes = np.random.default_rng(0).integers(0, n_classes, n_samples)
    read = Contribution.from_bytes(made(Kind.BALLOT, votes, n_classes=n_classes).to_bytes())
    assert (read.values == votes).all()
    assert read.values.dtype == vote_dtype(n_classes)


@pytest.mark.parametrize("name", EACH)
def test_version_2_stays_readable(name: str) -> None:
    """Files of this version, written once."""
    assert Contribution.load(FILES / f"{name}-2.contribution") == EACH[name]


@settings(max_examples=300)
@given(contributions(), st.data())
def test_any_truncation_and_any_extension_is_refused(given_: Contribution, data: Any) -> None:
    written = given_.to_bytes()
    cut = data.draw(st.integers(0, len(written) - 1))
    for damaged in (written[:cut], written + data.draw(st.binary(min_size=1, max_size=9))):
        with pytest.raises(FormatError, match="Nothing was loaded"):
            Contribution.from_bytes(damaged)


@settings(max_examples=500)
@given(
    contributions(),
    st.lists(st.tuples(st.integers(0, 300), st.integers(0, 255)), min_size=1, max_size=4),
)
def test_any_mutation_gives_a_contribution_or_a_format_error(
    given_: Contribution, changes: list[tuple[int, int]]
) -> None:
    damaged = bytearray(given_.to_bytes())
    for place, value in changes:
        damaged[place % len(damaged)] = value
    try:
        read = Contribution.from_bytes(bytes(damaged))
    except FormatError:
        return
    assert read.to_bytes() == bytes(damaged)


@settings(max_examples=300)
@given(st.binary(max_size=200), st.booleans())
def test_any_bytes_give_a_contribution_or_a_format_error(data: bytes, with_opening: bool) -> None:
    data = (b"OSTRAKON\x02" + data) if with_opening else data
    with contextlib.suppress(FormatError):
        assert Contribution.from_bytes(data).to_bytes() == data


def header(**changes: Any) -> bytes:
    values = {
        "magic": b"OSTRAKON",
        "version": 2,
        "kind": 1,
        "poll": bytes(32),
        "n": 1,
        "K": 0,
        "persons": 0,
        "name": 1,
        **changes,
    }
    return HEADER.pack(*values.values())


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"", "it has only 0 bytes"),
        (b"OSTR", "only 4 bytes"),
        (b"NOSTRAKA and so on", "begins like a text"),
        (b"OSTRAKON\x02", "its header alone has 64; it was cut off"),
        (header(version=1) + b"a" + bytes(4), "it has version 1, but only version 2"),
        (header(version=3) + b"a" + bytes(4), "version 3"),
        (header(kind=9) + b"a" + bytes(4), "unknown kind, 9"),
        (header(K=5) + b"a" + bytes(4), "contradicts itself"),
        (header(kind=2, K=1) + b"a" + bytes(1), "contradicts itself"),
        (header(persons=4) + b"a" + bytes(4), "contradicts itself"),
        (header(n=2**60) + b"a" + bytes(4), "its header promises"),
        (header(n=0) + b"a", "at least one"),
        (header(name=0) + bytes(4), "canonical form"),
        (header() + b"A" + bytes(4), "canonical form"),
        (header() + b" " + bytes(4), "canonical form"),
        (header() + b"\xff" + bytes(4), "canonical form"),
        (header(name=3) + b"3.0" + bytes(4), "canonical form"),
        (header(kind=2, K=3, n=1) + b"a" + b"\x03", "indices below 3"),
        (header(kind=2, K=2, n=1) + b"a" + b"\x02", "unused bits"),
        (header(kind=4, K=2, n=3, persons=1) + b"a" + bytes(24), "the same per class"),
        (header(kind=3, persons=2**39) + b"a" + bytes(8), "n_persons"),
    ],
)
def test_what_is_refused_and_why(data: bytes, text: str) -> None:
    with pytest.raises(FormatError, match=text):
        Contribution.from_bytes(data)


def test_sizes_are_checked_before_memory_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*_: Any, **__: Any) -> Any:
        raise AssertionError("memory was taken")

    for name in ("empty", "frombuffer", "unpackbits"):
        monkeypatch.setattr(np, name, never)
    for kind, K in ((1, 0), (2, 2), (3, 0), (4, 2), (5, 0)):
        with pytest.raises(FormatError, match="promises"):
            Contribution.from_bytes(header(kind=kind, K=K, n=2**62) + b"a" + bytes(100))


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_a_pickle_under_another_name(protocol: int) -> None:
    with pytest.raises(FormatError):
        Contribution.from_bytes(pickle.dumps({"a": 1}, protocol))
    if protocol >= 2:
        with pytest.raises(FormatError, match="a pickle, which could run code"):
            Contribution.from_bytes(pickle.dumps({"a": 1}, protocol))


def test_files(tmp_path: Path) -> None:
    import os

    EACH["vector"].save(tmp_path / "a.contribution")
    assert Contribution.load(tmp_path / "a.contribution") == EACH["vector"]
    with pytest.raises(IsADirectoryError):
        Contribution.load(tmp_path)
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(FormatError, match="not a regular file"):
        Contribution.load(tmp_path / "pipe")
    with pytest.raises(FormatError, match="of type str"):
        Contribution.from_bytes("text")  # type: ignore[arg-type]


def test_the_numbers_stay_secret_and_cannot_be_changed() -> None:
    for each in EACH.values():
        assert "values" not in repr(each)
        with pytest.raises(ValueError, match="read-only"):
            each.values[...] = 0
    assert EACH["vector"] != made(Kind.VECTOR, [1, -2, 3, 4])
    assert EACH["vector"] != "something else"
    assert len({hash(each) for each in EACH.values()}) == len(EACH)


@pytest.mark.parametrize(
    ("kind", "values", "changes", "text"),
    [
        (Kind.VECTOR, [1.0], {}, "whole numbers"),
        (Kind.VECTOR, [True], {}, "whole numbers"),
        (Kind.VECTOR, [], {}, "whole numbers|at least one"),
        (Kind.VECTOR, [2**31], {}, "31 bits"),
        (Kind.VECTOR, [1], {"n_classes": 2}, "for votes alone"),
        (Kind.VECTOR, [1], {"n_persons": 2}, "for sums alone"),
        (Kind.VECTOR, [1], {"poll": "abc"}, "64 hexadecimal"),
        (Kind.VECTOR, [1], {"party": ""}, "not empty"),
        (Kind.VECTOR, [1], {"party": True}, "party"),
        (Kind.BALLOT, [0, 1], {}, "for votes alone"),
        (Kind.BALLOT, [0, 2], {"n_classes": 2}, "indices below 2"),
        (Kind.BALLOT, [0, -1], {"n_classes": 2}, "indices below 2"),
        (Kind.VECTORS, [1], {}, "for sums alone"),
        (Kind.VECTORS, [1], {"n_persons": -1}, "n_persons"),
        (Kind.BALLOTS, [1, 2, 3], {"n_classes": 2, "n_persons": 1}, "the same per class"),
    ],
)
def test_values_that_are_refused(
    kind: Kind, values: Any, changes: dict[str, Any], text: str
) -> None:
    with pytest.raises(ParameterError, match=text):
        made(kind, values, **changes)
