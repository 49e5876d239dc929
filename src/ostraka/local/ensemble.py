"""The ballots of a whole ensemble of linear classifiers, cast and counted together.

    paper   code name   meaning
    w_j     weights[j]  the parameters of party j: d numbers (two classes), or d by K
    X       features    the N rows of the auxiliary set
    M       n_parties   how many classifiers

Guarantee: the tally is that of M ballots, one by one: with two classes party j votes for index 1 where x·w_j ≥ 0,
otherwise for index 0; with a column per class for the largest score, of equal ones the lowest index.

How: a block of scores is one matrix product, kept small enough to stay in the cache until its signs have been counted.
Parties lie along the first axis, and at most 255 at a time, so that adding up votes is a sum of bytes along whole lines
of memory, which costs a few hundredths of the product. The N by M scores never exist at once.

Why not sum the scores' signs with `count_nonzero` or an integer sum? Both widen every byte to eight first, and take as
long as the product.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ostraka.auxiliary import AuxiliarySet
from ostraka.errors import InputError, NonFiniteError, ParameterError, ShapeError
from ostraka.preprocessing import Features, is_sparse
from ostraka.tally import Tally

__all__ = ["tally_linear"]

PARTIES_PER_BYTE = 255
"""So many votes can be counted in one byte."""

WEIGHTS_FIT = 2.0**400
"""Scores of weights up to this cannot overflow, because rows are inside the unit ball."""

Scores = NDArray[np.float64]
"""One block, of shape (parties, samples)."""


def tally_linear(weights: NDArray[Any], auxiliary: AuxiliarySet, *, chunk_rows: int = 1024, chunk_parties: int = 240) -> Tally:
    """Cast and count the ballots of linear classifiers on the features of an auxiliary set.

    Args:
        weights: of shape (M, d) if there are two classes, or (M, d, K); d is `auxiliary.n_features`.
        auxiliary: what is voted on.
        chunk_rows: samples per block. With chunk_parties it says how much memory is needed: 8 bytes for each of their
            product.
        chunk_parties: parties per block, at most 255.

    """
    given = np.asarray(weights)
    _check_weights(given, auxiliary)
    if not chunk_rows >= 1:
        raise ParameterError("chunk_rows", got=chunk_rows, allowed="at least 1")
    if not 1 <= chunk_parties <= PARTIES_PER_BYTE:
        raise ParameterError("chunk_parties", got=chunk_parties, allowed=f"1 to {PARTIES_PER_BYTE}")
    counts = np.zeros((auxiliary.n_classes, auxiliary.n_samples), dtype=np.int64)
    for first in range(0, given.shape[0], chunk_parties):
        parties = _comparable_weights(given[first : first + chunk_parties], first)
        for start in range(0, auxiliary.n_samples, chunk_rows):
            samples = slice(start, start + chunk_rows)
            counts[:, samples] += _block_counts(parties, auxiliary.features[samples], auxiliary.n_classes)
    tally = Tally(auxiliary)
    tally.add_counts(counts.T, given.shape[0])
    return tally


def _check_weights(weights: NDArray[Any], auxiliary: AuxiliarySet) -> None:
    n_features, n_classes = auxiliary.n_features, auxiliary.n_classes
    ends = [(n_features, n_classes)] + ([(n_features,)] if n_classes == 2 else [])
    if weights.shape[1:] not in ends or weights.shape[0] < 1:
        shapes = " or ".join(f"(parties, {', '.join(map(str, end))})" for end in reversed(ends))
        raise ShapeError("weights", got=weights.shape, allowed=f"{shapes} with at least one party")
    if weights.dtype.kind not in "biuf":
        raise InputError(f"weights are of type {weights.dtype}.", "Give real numbers.")


def _comparable_weights(weights: NDArray[Any], first: int) -> NDArray[np.float64]:
    """Give one matrix (d, parties) for each score that is compared, stacked; refuse NaN and infinity.

    A party whose scores could overflow is divided by a power of two, which changes no comparison.
    """
    with np.errstate(over="ignore"):
        columns = np.atleast_3d(weights).astype(np.float64).transpose(2, 1, 0)
    peaks = np.abs(columns).max(axis=(0, 1))
    bad = np.flatnonzero(~np.isfinite(peaks))
    if bad.size:
        raise NonFiniteError("weights", row=first + int(bad[0]))
    if np.any(peaks > WEIGHTS_FIT):
        exponents = np.where(peaks > WEIGHTS_FIT, np.frexp(peaks)[1], 0)
        columns = np.ldexp(columns, -exponents)
    return np.ascontiguousarray(columns)


def _block_counts(parties: NDArray[np.float64], features: Features, n_classes: int) -> NDArray[np.uint8]:
    """Count the votes of a block of parties on a block of samples: (K, samples)."""
    if parties.shape[0] == 1:
        for_second = _counted(_scores(parties[0], features) >= 0.0)
        return np.stack((parties.shape[2] - for_second, for_second))
    best = _scores(parties[0], features)
    votes = np.zeros(best.shape, dtype=np.min_scalar_type(n_classes - 1))
    for index in range(1, n_classes):
        scores = _scores(parties[index], features)
        # Strictly larger: of equal scores the lowest index keeps the vote. Indices only grow, so the latest one is the
        # maximum, which numpy takes many times faster than it writes where a mask says so.
        np.maximum(votes, (scores > best).view(np.uint8) * votes.dtype.type(index), out=votes)
        np.maximum(best, scores, out=best)
    return np.stack([_counted(votes == index) for index in range(n_classes)])


def _scores(weights: NDArray[np.float64], features: Features) -> Scores:
    scores: Scores = (features @ weights).T if is_sparse(features) else weights.T @ features.T
    return scores


def _counted(chosen: NDArray[np.bool_]) -> NDArray[np.uint8]:
    """Sum a block of votes over its parties, byte by byte."""
    sums: NDArray[np.uint8] = np.add.reduce(chosen.view(np.uint8), axis=0, dtype=np.uint8)
    return sums
