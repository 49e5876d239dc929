"""The ballots of a whole ensemble of linear classifiers, cast and counted together.

    paper   code name   meaning
    w_j     weights[j]  the parameters of party j: d numbers (two classes), or d by K
    X       features    the N rows of the auxiliary set, inside the unit ball
    M       n_parties   how many classifiers

Guarantee: the counts are those of M ballots, one by one: with two classes party j votes for index 1
where x·w_j ≥ 0, otherwise for index 0; with a column per class, for the largest score. Among equal
scores the first wins, counting from the party's own class `first[j]` on and round. Ties are common,
because classes that a party has never seen score alike, and a rule that always favours the lowest
index would bend the shares of votes (by 0.02 of accuracy on HAR).

Scores are sums of whole numbers: weights and rows are rounded to 25 bits, each party's on its own,
so that every product and sum is exact in doubles (`products.proof.md`). A party's votes do not
depend on who else is in the block, not even where scores tie.

How: a block of scores is one matrix product, kept small enough to stay in the cache until its signs
have been counted. Parties lie along the first axis, and at most 255 at a time, so that adding up
votes is a sum of bytes along whole lines of memory, which costs a few hundredths of the product.
The N by M scores never exist at once.

Why not sum the scores' signs with `count_nonzero` or an integer sum? Both first widen every byte to
eight, and take as long as the product.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ostraka.errors import InputError, NonFiniteError, ParameterError, ShapeError
from ostraka.party.products import FACTOR_BITS
from ostraka.public.numbers import Features, is_sparse

__all__ = ["linear_counts"]

PARTIES_PER_BYTE = 255
"""The most votes that can be counted in one byte."""

Scores = NDArray[np.float64]
"""One block, of shape (parties, samples)."""


def linear_counts(
    weights: NDArray[Any],
    features: Features,
    n_classes: int,
    first: NDArray[Any] | None = None,
    *,
    chunk_rows: int = 1024,
    chunk_parties: int = 240,
) -> NDArray[np.int64]:
    """Cast and count the ballots of linear classifiers on features: (N, K).

    Args:
        weights: of shape (M, d) if there are two classes, or (M, d, K).
        features: (N, d), dense or csr, every row inside the unit ball.
        n_classes: K.
        first: for each party the class that wins its ties first; None: 0, 1, 2, ... and round.
        chunk_rows: samples per block; times chunk_parties it says how much memory is needed:
            8 bytes for each.
        chunk_parties: parties per block, at most 255.

    """
    given, n_samples = np.asarray(weights), features.shape[0]
    _check_weights(given, features.shape[1], n_classes)
    if not chunk_rows >= 1:
        raise ParameterError("chunk_rows", got=chunk_rows, allowed="at least 1")
    if not 1 <= chunk_parties <= PARTIES_PER_BYTE:
        raise ParameterError("chunk_parties", got=chunk_parties, allowed=f"1 to {PARTIES_PER_BYTE}")
    counts = np.zeros((n_classes, n_samples), dtype=np.int64)
    blocks = list(_rotate_blocks(given, first, n_classes, chunk_parties))
    for start in range(0, n_samples, chunk_rows):
        samples = slice(start, start + chunk_rows)
        rows = _whole_rows(features[samples])
        for shift, block in blocks:
            counted = _block_counts(block, rows, n_classes)
            counts[:, samples] += np.roll(counted, shift, axis=0)
    return counts.T


def _check_weights(weights: NDArray[Any], n_features: int, n_classes: int) -> None:
    ends = [(n_features, n_classes)] + ([(n_features,)] if n_classes == 2 else [])
    if weights.shape[1:] not in ends or weights.shape[0] < 1:
        shapes = " or ".join(f"(parties, {', '.join(map(str, end))})" for end in reversed(ends))
        raise ShapeError("weights", got=weights.shape, allowed=f"{shapes} with at least one party")
    if weights.dtype.kind not in "biuf":
        raise InputError(f"weights are of type {weights.dtype}.", "Give real numbers.")


def _rotate_blocks(
    weights: NDArray[Any], first: NDArray[Any] | None, n_classes: int, chunk_parties: int
) -> Iterator[tuple[int, NDArray[np.float64]]]:
    """Parties grouped by first class, with their columns in the order in which ties are decided."""
    if weights.ndim == 2:  # one score, whose sign decides
        firsts = np.zeros(len(weights), dtype=np.int64)
    else:
        firsts = np.arange(len(weights)) % n_classes if first is None else np.asarray(first)
    for shift in np.unique(firsts).tolist():
        same = np.flatnonzero(firsts == shift)
        for start in range(0, len(same), chunk_parties):
            chosen = same[start : start + chunk_parties]
            yield shift, np.roll(_whole_weights(weights[chosen], chosen), -shift, axis=0)


def _whole_weights(weights: NDArray[Any], places: NDArray[Any]) -> NDArray[np.float64]:
    """One matrix (d, parties) of whole numbers for each score that is compared, stacked.

    NaN and infinity are refused. A party's weights are divided by a power of two that makes the
    longest column at most 1, which changes no comparison.
    """
    with np.errstate(all="ignore"):
        columns = np.atleast_3d(weights).astype(np.float64).transpose(2, 1, 0)
        peaks = np.abs(columns).max(axis=(0, 1))
        bad = np.flatnonzero(~np.isfinite(peaks))
        if bad.size:
            raise NonFiniteError("weights", row=int(places[bad[0]]))
        columns = np.ldexp(columns, -np.frexp(peaks)[1])  # entries up to 1: no square overflows
        lengths = np.sqrt(np.square(columns).sum(axis=1)).max(axis=0)
        return np.ascontiguousarray(np.rint(np.ldexp(columns, FACTOR_BITS - np.frexp(lengths)[1])))


def _whole_rows(features: Features) -> Features:
    """Rows of the unit ball, in whole numbers."""
    if is_sparse(features):
        rows = features.copy()
        rows.data = np.rint(rows.data * 2.0**FACTOR_BITS)
        return rows
    return np.rint(features * 2.0**FACTOR_BITS)


def _block_counts(
    parties: NDArray[np.float64], features: Features, n_classes: int
) -> NDArray[np.uint8]:
    """Count the votes of a block of parties on a block of samples: (K, samples)."""
    if parties.shape[0] == 1:
        for_second = _count(_scores(parties[0], features) >= 0.0)
        return np.stack((parties.shape[2] - for_second, for_second))
    best = _scores(parties[0], features)
    votes = np.zeros(best.shape, dtype=np.min_scalar_type(n_classes - 1))
    for index in range(1, n_classes):
        scores = _scores(parties[index], features)
        # Strictly larger: among equal scores the earliest keeps the vote. Indices only grow, so
        # the latest one is the maximum, which numpy computes many times faster than a masked write.
        np.maximum(votes, (scores > best).view(np.uint8) * votes.dtype.type(index), out=votes)
        np.maximum(best, scores, out=best)
    return np.stack([_count(votes == index) for index in range(n_classes)])


def _scores(weights: NDArray[np.float64], features: Features) -> Scores:
    scores: Scores = (features @ weights).T if is_sparse(features) else weights.T @ features.T
    return scores


def _count(chosen: NDArray[np.bool_]) -> NDArray[np.uint8]:
    """Sum a block of votes over its parties, byte by byte."""
    sums: NDArray[np.uint8] = np.add.reduce(chosen.view(np.uint8), axis=0, dtype=np.uint8)
    return sums
