"""The exact sum of ballots.

    paper   code name    meaning
    M       n_parties    how many ballots were added
    –       counts       counts[i, k]: how many parties gave class k to auxiliary sample i
    α       shares()     counts / M, the soft labels
    v       majority()   the class with most votes

Guarantee: counts are exact integers, so the order of adding does not matter, and replacing one ballot moves the counts
of a sample by at most one up and one down. A ballot that does not fit is refused and changes nothing. Memory does not
depend on M.

Counts are private until noise has been added: this is the coordinator's own sheet, not something to publish.
"""

from __future__ import annotations

from typing import IO, Any, final

import numpy as np
from numpy.typing import NDArray

from ostraka.auxiliary import AuxiliarySet
from ostraka.ballot import Ballot
from ostraka.ballot_format import BallotHeader, opening
from ostraka.errors import FormatError, InputError, OtherAuxiliarySetError, ParameterError, ShapeError, TooFewPartiesError, WrongTypeError

__all__ = ["Tally"]

# Up to here, one comparison per class beats addressing every count by its index (measured at N = 43 000).
N_CLASSES_COMPARED = 6
BALLOTS_IN_A_BYTE = 255

# Far above any number of parties, and far below where sums of 64 bit integers, or their conversion to float64, stop
# being exact.
N_PARTIES_BOUND = 2**40


@final
class Tally:
    """How many parties voted for what, on one auxiliary set."""

    __slots__ = ("_auxiliary", "_counts", "_n_parties", "_n_recent", "_recent", "_sample_offsets")

    def __init__(self, auxiliary: AuxiliarySet) -> None:
        if not isinstance(auxiliary, AuxiliarySet):
            raise WrongTypeError("The auxiliary set", auxiliary, "an AuxiliarySet, for example AuxiliarySet.scaled(samples, classes)")
        self._auxiliary = auxiliary
        # One contiguous line of counts per class, so that adding runs along memory.
        self._counts: NDArray[np.int64] = np.zeros((auxiliary.n_classes, auxiliary.n_samples), dtype=np.int64)
        self._sample_offsets = np.arange(auxiliary.n_samples)
        self._n_parties = 0
        n_lines = auxiliary.n_classes - 1 if auxiliary.n_classes <= N_CLASSES_COMPARED else 0
        self._recent = np.zeros((n_lines, auxiliary.n_samples), dtype=np.uint8)
        self._n_recent = 0

    def __repr__(self) -> str:
        return f"Tally(n_parties={self.n_parties}, n_samples={self.n_samples}, n_classes={self.n_classes})"

    @property
    def auxiliary(self) -> AuxiliarySet:
        """The set that was voted on."""
        return self._auxiliary

    @property
    def n_parties(self) -> int:
        """M: how many ballots were added."""
        return self._n_parties

    @property
    def n_samples(self) -> int:
        """N."""
        return self._auxiliary.n_samples

    @property
    def n_classes(self) -> int:
        """K."""
        return self._auxiliary.n_classes

    @property
    def counts(self) -> NDArray[np.int64]:
        """A read-only view of the counts, of shape (N, K)."""
        self._settle()
        view = self._counts.T
        view.flags.writeable = False
        return view

    def add(self, ballot: Ballot) -> None:
        """Count one ballot; refuse one that was cast on another auxiliary set."""
        self._check(ballot)
        if self.n_classes <= N_CLASSES_COMPARED:
            self._count_in_bytes(ballot)
        else:
            # Each sample is addressed once, so the plain += of numpy counts right.
            self._counts.reshape(-1)[ballot.votes.astype(np.int64) * self.n_samples + self._sample_offsets] += 1
        self._n_parties += 1

    def _check(self, ballot: Ballot) -> None:
        if not isinstance(ballot, Ballot):
            raise WrongTypeError("The ballot", ballot, "a Ballot; for bytes, Ballot.from_bytes(...)")
        if ballot.auxiliary_digest != self._auxiliary.digest:
            raise OtherAuxiliarySetError(ballot.auxiliary_digest, self._auxiliary.digest)
        if ballot.n_samples != self.n_samples:
            raise ShapeError("The ballot", got=ballot.votes.shape, allowed=f"{self.n_samples} votes")
        if ballot.n_classes != self.n_classes:
            raise ParameterError("n_classes of the ballot", got=ballot.n_classes, allowed=f"{self.n_classes}")

    def add_stream(self, stream: IO[bytes]) -> int:
        """Count ballots that stand one after another, to the end of the stream; give their number.

        One that is no ballot of this poll is refused with its place in the stream; those before its block of 255 are counted.
        """
        header = BallotHeader(n_classes=self.n_classes, n_samples=self.n_samples, auxiliary_digest=self._auxiliary.digest)
        start = opening(header)
        size, before = len(start) + header.n_vote_bytes, self._n_parties
        while block := _read_fully(stream, size * BALLOTS_IN_A_BYTE):
            rows = np.frombuffer(block[: len(block) // size * size], dtype=np.uint8).reshape(-1, size)
            alike = bool((rows[:, : len(start)] == np.frombuffer(start, dtype=np.uint8)).all())
            if header.bits_per_vote == 1 and alike and len(block) % size == 0 and not (rows[:, -1] >> (header.n_samples % 8 or 8)).any():
                self._add_packed(rows[:, len(start) :])
            else:
                self._add_one_by_one(block, size, self._n_parties - before)
        return self._n_parties - before

    def _add_packed(self, packed: NDArray[np.uint8]) -> None:
        """Count up to 255 ballots of one bit per vote, whose headers were found to be right, together."""
        votes = np.unpackbits(packed, axis=1, count=self.n_samples, bitorder="little").sum(axis=0, dtype=np.uint8)
        self._settle()
        self._counts[1] += votes
        self._counts[0] += len(packed) - votes.astype(np.int64)
        self._n_parties += len(packed)

    def _add_one_by_one(self, block: bytes, size: int, place: int) -> None:
        """The slow way, which knows what is wrong; all are read before one is counted."""
        ballots = []
        for number, start in enumerate(range(0, len(block), size)):
            try:
                ballots.append(Ballot.from_bytes(block[start : start + size], n_samples_bound=self.n_samples))
                self._check(ballots[-1])
            except (FormatError, InputError) as error:
                where = f"number {place + number} (counting from 0) is none of this poll"
                raise FormatError("stream of ballots", f"{where}: {error.problem.removesuffix('.')}") from None
        for ballot in ballots:
            self.add(ballot)

    def _count_in_bytes(self, ballot: Ballot) -> None:
        """Count up to 255 ballots in bytes, an eighth of the memory that is touched otherwise; class 0 is what is left."""
        for index, line in enumerate(self._recent, start=1):
            line += ballot.votes if self.n_classes == 2 else (ballot.votes == index)
        self._n_recent += 1
        if self._n_recent == BALLOTS_IN_A_BYTE:
            self._settle()

    def _settle(self) -> None:
        """Move what was counted in bytes to the counts."""
        if self._n_recent:
            self._counts[1:] += self._recent
            self._counts[0] += self._n_recent - self._recent.sum(axis=0, dtype=np.int64)
            self._recent[:] = 0
            self._n_recent = 0

    def add_counts(self, counts: NDArray[Any], n_ballots: int) -> None:
        """Count many ballots that were cast together.

        Args:
            counts: integers of shape (N, K): for each sample how many of those ballots chose each class.
            n_ballots: how many ballots these are; every row must sum to it.

        """
        given = np.asarray(counts)
        if given.shape != self.counts.shape:
            raise ShapeError("counts", got=given.shape, allowed=f"{self.counts.shape}, samples by classes")
        if given.dtype.kind not in "iu":
            raise InputError(f"counts are of type {given.dtype}.", "Give integers: shares cannot be summed exactly.")
        if not 1 <= n_ballots <= N_PARTIES_BOUND:
            raise ParameterError("n_ballots", got=n_ballots, allowed=f"1 to {N_PARTIES_BOUND}")
        # Each count is bounded before they are summed, so that no sum can wrap around.
        if not (int(given.min()) >= 0 and int(given.max()) <= n_ballots):
            raise InputError(f"counts run from {given.min()} to {given.max()}.", f"Allowed: 0 to {n_ballots}, the ballots.")
        sums = given.sum(axis=1, dtype=np.int64)
        wrong = np.flatnonzero(sums != n_ballots)
        if wrong.size:
            raise InputError(
                f"counts of sample {wrong[0]} sum to {sums[wrong[0]]}, but {n_ballots} ballots were cast.",
                "Every ballot has exactly one vote per sample.",
            )
        self._counts += given.T.astype(np.int64, copy=False)
        self._n_parties += int(n_ballots)

    def shares(self) -> NDArray[np.float64]:
        """α: which part of the parties chose each class, of shape (N, K)."""
        self._need_a_party()
        self._settle()
        return np.ascontiguousarray(self._counts.T) / float(self._n_parties)

    def majority(self) -> NDArray[np.int64]:
        """v: the index of the class with most votes, of shape (N,).

        Of equal counts the lowest index wins; with two classes the second one does, which is the paper's v(x) = +1.
        """
        self._need_a_party()
        self._settle()
        if self.n_classes == 2:
            return np.asarray(self._counts[1] >= self._counts[0], dtype=np.int64)
        return np.asarray(np.argmax(self._counts, axis=0), dtype=np.int64)

    def _need_a_party(self) -> None:
        if self._n_parties < 1:
            raise TooFewPartiesError(self._n_parties, 1)


def _read_fully(stream: IO[bytes], size: int) -> bytes:
    """So many bytes, or all that are left: pipes and sockets give less at a time."""
    pieces, missing = [], size
    while missing and (piece := stream.read(missing)):
        pieces.append(piece)
        missing -= len(piece)
    return b"".join(pieces)
