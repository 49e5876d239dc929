"""Adding up what arrives, against the work that cannot be avoided: reading and summing.

Ballots come from a file, contributions from memory.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.timing import best_times
from ostraka.party.contribution import Contribution, Kind
from ostraka.tally.domain import Ball, Ballots

__all__ = ["compare"]

N_BALLOTS, N_SAMPLES = 100_000, 43_000
N_CONTRIBUTIONS, DIMENSION, BLOCK = 1_000_000, 300, 10_000
N_DIFFERENT = 50


def compare() -> list[dict[str, Any]]:
    """Seconds, and how many times the bare work could have been done meanwhile."""
    return [_ballots(), _contributions()]


def _ballots() -> dict[str, Any]:
    generator = np.random.default_rng(0)
    several = [_ballot(generator, party).to_bytes() for party in range(N_DIFFERENT)]
    size = len(several[0])
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "ballots"
        with path.open("wb") as file:
            for start in range(0, N_BALLOTS, N_DIFFERENT):
                file.writelines(several[: min(N_DIFFERENT, N_BALLOTS - start)])
            file.flush()
            os.fsync(file.fileno())

        def read() -> None:
            for _ in _pieces(path, size):
                pass

        def tally() -> None:
            counted = Ballots(n_samples=N_SAMPLES, n_classes=2).new_sum()
            for piece in _pieces(path, size):
                given = Contribution.from_bytes(piece)
                counted.add_rows(given.values[None], [given.party])

        seconds = best_times({"bare": read, "ours": tally}, rounds=2)
    return _row(
        f"{N_BALLOTS} ballots of {N_SAMPLES} votes from a file, against reading it", seconds
    )


def _ballot(generator: np.random.Generator, party: int) -> Contribution:
    votes = generator.integers(0, 2, N_SAMPLES, dtype=np.uint8)
    name = f"party {party:04d}"  # of the same length, so that all pieces have one size
    return Contribution(poll="0" * 64, party=name, kind=Kind.BALLOT, values=votes, n_classes=2)


def _contributions() -> dict[str, Any]:
    generator = np.random.default_rng(0)
    ball = Ball(norm="l2", length=2**24, dimension=DIMENSION)
    block = ball.round_entries(generator.standard_normal((BLOCK, DIMENSION)) * 2.0**19)

    def bare() -> None:
        total = np.zeros(DIMENSION, dtype=np.int64)
        for _ in range(N_CONTRIBUTIONS // BLOCK):
            total += block.sum(axis=0)

    def ours() -> None:
        summed, names = ball.new_sum(), ["a party"] * BLOCK
        for _ in range(N_CONTRIBUTIONS // BLOCK):
            summed.add_rows(block, names)

    return _row(
        f"{N_CONTRIBUTIONS} contributions of {DIMENSION} integers, against summing them unchecked",
        best_times({"bare": bare, "ours": ours}),
    )


def _pieces(path: Path, size: int) -> Iterator[bytes]:
    with path.open("rb") as file:
        # Read from the disk, not from memory.
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        while piece := file.read(size):
            yield piece


def _row(work: str, seconds: dict[str, float]) -> dict[str, Any]:
    return {
        "work": work,
        "seconds": seconds["ours"],
        "bare_seconds": seconds["bare"],
        "times_bare": seconds["ours"] / seconds["bare"],
    }
