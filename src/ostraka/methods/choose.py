"""`auto`: which of our methods a poll should take, tested on synthetic labels.

When the poll is made, the auxiliary set is labelled in eighteen ways that have nothing to do with
the truth: by random lines, and by clusters with random classes. For each labelling, parties are
made up from auxiliary rows, both methods are rehearsed with seeded noise, and the one that agrees
more often with the labels wins. Everything comes from the auxiliary set and public numbers: the
choice costs no budget, and anybody can repeat it.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

import numpy as np

from ostraka.mechanism import Rehearsal
from ostraka.methods.base import Method, Options, Work, public_features
from ostraka.methods.registry import METHODS
from ostraka.party.rows import Parties
from ostraka.public.auxiliary import AuxiliarySet
from ostraka.public.classes import Indices
from ostraka.public.promise import Promise
from ostraka.public.task import Task
from ostraka.public.whitening import Whitening
from ostraka.solve.losses import Array

__all__ = ["CANDIDATES", "agreement", "candidates", "choose"]

CANDIDATES = ("moments", "cells")
N_LABELLINGS = 6
"""Labellings of each of three kinds."""
CLUSTERED_ROWS = 1000
MOST_PARTIES = 2000
"""At most this many are made up; with more, their mean would differ too little to matter here."""
MOST_ROWS = 5000
MOST_SAMPLES = 50
"""The most rows that a made-up party has: two thousand such parties have little sampling error."""


def choose(
    public: AuxiliarySet | Task, n_units: int, promise: Promise, options: Options
) -> tuple[str, float]:
    """The better method, and how often it agreed with made-up labels."""
    auxiliary, _ = public_features(public, "auto")
    found = {
        name: agreement(name, auxiliary, n_units, promise, options) for name in candidates(promise)
    }
    best = max(found, key=lambda name: found[name])
    return best, found[best]


def candidates(promise: Promise) -> tuple[str, ...]:
    """Which methods can keep the promise: `cells` has only discrete Laplace noise."""
    return CANDIDATES if promise.noise == "auto" else ("moments",)


def agreement(
    name: str, auxiliary: AuxiliarySet, n_units: int, promise: Promise, options: Options
) -> float:
    """How often models learnt from made-up parties agree with the made-up labels, on average."""
    small = _sampled(auxiliary)
    method: Method = METHODS[name].create(small, n_units, promise, options)
    mechanism = method.mechanism(promise, n_units)
    made_up = min(n_units, MOST_PARTIES)
    found = []
    for labels, rows, seed in _worlds(small, made_up, min(options.samples_each, MOST_SAMPLES)):
        starts = np.arange(made_up + 1) * (len(rows) // made_up)
        names = [str(party) for party in range(made_up)]
        parties = Parties(small.features[rows], labels[rows], starts, names)
        summed = sum(units.sum(axis=0) for _, units in method.contribute(parties, Work()))
        total = [int(unit) * n_units // made_up for unit in summed]
        mean = mechanism.mean(mechanism.draw(total, Rehearsal(seed)))
        with np.errstate(all="ignore"):
            scores = small.features @ method.weights(mean, mechanism)
        chosen = scores >= 0.0 if scores.ndim == 1 else scores.argmax(axis=1)
        found.append(np.mean(chosen == labels))
    return float(np.mean(found))


@lru_cache(maxsize=2)
def _worlds(auxiliary: AuxiliarySet, made_up: int, each: int) -> list[tuple[Indices, Indices, int]]:
    """Labels of the auxiliary rows, which of them the parties hold, and a seed for the noise.

    The same for every method and every ε.
    """
    generator = np.random.default_rng(1)
    return [
        (
            labels,
            generator.integers(0, auxiliary.n_samples, made_up * each),
            int(generator.integers(2**31)),
        )
        for labels in _labellings(auxiliary.features, auxiliary.n_classes, generator)
    ]


@lru_cache(maxsize=2)
def _sampled(auxiliary: AuxiliarySet) -> AuxiliarySet:
    """As many rows as it takes to tell the methods apart."""
    if auxiliary.n_samples <= MOST_ROWS:
        return auxiliary
    rows = np.random.default_rng(2).permutation(auxiliary.n_samples)[:MOST_ROWS]
    return AuxiliarySet(auxiliary.features[np.sort(rows)], auxiliary.classes)


def _labellings(
    features: Array, n_classes: int, generator: np.random.Generator
) -> Iterator[Indices]:
    """Labels that a line explains, and labels that clusters explain.

    The line's weights are in proportion to the extent of each direction.
    """
    from sklearn.cluster import KMeans

    whitening = Whitening.of(features)
    extents = whitening.basis * np.sqrt(whitening.values)
    for _ in range(N_LABELLINGS):
        drawn = generator.standard_normal((whitening.rank, n_classes))
        scores = features @ (extents @ drawn)
        yield np.argmax(scores - np.median(scores, axis=0), axis=1)
    for n_clusters in (n_classes, 2 * n_classes):
        for _ in range(N_LABELLINGS):
            rows = features[generator.permutation(len(features))[:CLUSTERED_ROWS]]
            n = min(n_clusters, len(np.unique(rows, axis=0)))
            seed = int(generator.integers(2**31))
            centres = KMeans(n, n_init=1, random_state=seed).fit(rows).cluster_centers_
            squares = np.einsum("ij,ij->i", centres, centres) / 2.0
            nearest = np.argmax(features @ centres.T - squares, axis=1)
            yield generator.permutation(np.arange(len(centres)) % n_classes)[nearest]
