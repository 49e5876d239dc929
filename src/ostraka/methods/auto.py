"""`auto`: which of our methods a poll should take, found out on synthetic labels before anything private is touched.

The auxiliary set is labelled in eighteen ways that have nothing to do with the truth: by random lines, and by clusters with random classes.
For each labelling, parties are made up from auxiliary rows, both methods are rehearsed with seeded noise, and the one that agrees more
often with the labels wins. Everything comes from the auxiliary set and public numbers: the choice is free, and anybody can repeat it.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from types import ModuleType

import numpy as np

from ostraka.auxiliary import AuxiliarySet
from ostraka.classes import Indices
from ostraka.local.parties import Parties
from ostraka.losses import Array
from ostraka.methods import cells, moments
from ostraka.methods.statistic import StatisticPlan, StatisticTerms, check_public
from ostraka.noise import Entropy, Rehearsal
from ostraka.release import ChargeFirst, Rehearsed, Release
from ostraka.whitening import Whitening

__all__ = ["agreement", "candidates", "choose", "plan", "release", "rehearsed_agreement"]

N_LABELLINGS = 6
"""Of each of three kinds."""
CLUSTERED_ROWS = 1000
MOST_PARTIES = 2000
"""So many are made up; with more, their mean would be the same to within what matters here."""
MOST_ROWS = 5000
MOST_SAMPLES = 50
"""So many does a made-up party have at most: two thousand of them leave no sampling error to speak of."""
METHODS: dict[str, ModuleType] = {"moments": moments, "cells": cells}


def choose(auxiliary: AuxiliarySet, n_parties: int, terms: StatisticTerms) -> tuple[str, StatisticPlan]:
    """The better method and its plan."""
    check_public(auxiliary, terms)
    best = max(candidates(terms), key=lambda name: agreement(name, auxiliary, n_parties, terms))
    return best, METHODS[best].plan(auxiliary, n_parties, terms)


def candidates(terms: StatisticTerms) -> tuple[str, ...]:
    """Which methods can keep the terms: `cells` has discrete Laplace noise and no other."""
    return tuple(METHODS) if terms.noise == "auto" else ("moments",)


def agreement(name: str, auxiliary: AuxiliarySet, n_parties: int, terms: StatisticTerms) -> float:
    """How well a method would do on made-up labels, on as many auxiliary rows as are enough to tell."""
    small = _sampled(auxiliary)
    return rehearsed_agreement(name, METHODS[name].plan(small, n_parties, terms), small, terms)


def plan(auxiliary: AuxiliarySet, n_parties: int, terms: StatisticTerms) -> StatisticPlan:
    """The plan of the better method."""
    return choose(auxiliary, n_parties, terms)[1]


def release(
    parties: Parties,
    auxiliary: AuxiliarySet,
    terms: StatisticTerms,
    source: Entropy | Rehearsal | None = None,
    charge: ChargeFirst = None,
) -> Release | Rehearsed:
    """One classifier by the better method."""
    name, planned = choose(auxiliary, len(parties), terms)
    return planned.publish(planned.added(METHODS[name].contributions(parties, planned)), source or Entropy(), charge)


def rehearsed_agreement(name: str, planned: StatisticPlan, auxiliary: AuxiliarySet, terms: StatisticTerms) -> float:
    """How often models learnt from made-up parties agree with the made-up labels, on average over labellings."""
    features, n_parties = auxiliary.features, planned.certificate.parties
    made_up = min(n_parties, MOST_PARTIES)
    found = []
    for labels, rows, seed in _worlds(auxiliary, made_up, min(terms.samples_each, MOST_SAMPLES)):
        starts = np.arange(made_up + 1) * (len(rows) // made_up)
        parties = Parties(features[rows], labels[rows], starts, np.arange(made_up))
        summed = planned.added(METHODS[name].contributions(parties, planned))
        total = [unit * n_parties // made_up for unit in summed.total]
        model = planned.model(planned.law.publish(total, Rehearsal(seed)))
        scores = features @ model.weights
        chosen = scores >= 0.0 if scores.ndim == 1 else scores.argmax(axis=1)
        found.append(np.mean(chosen == labels))
    return float(np.mean(found))


@lru_cache(maxsize=2)
def _worlds(auxiliary: AuxiliarySet, made_up: int, each: int) -> list[tuple[Indices, Indices, int]]:
    """Labels of the auxiliary rows, which of them the parties hold, and a seed for the noise: the same for every method and every ε."""
    generator = np.random.default_rng(1)
    return [
        (labels, generator.integers(0, auxiliary.n_samples, made_up * each), int(generator.integers(2**31)))
        for labels in _labellings(auxiliary.features, auxiliary.n_classes, generator)
    ]


@lru_cache(maxsize=2)
def _sampled(auxiliary: AuxiliarySet) -> AuxiliarySet:
    """So many rows are enough to tell the methods apart."""
    if auxiliary.n_samples <= MOST_ROWS:
        return auxiliary
    rows = np.random.default_rng(2).permutation(auxiliary.n_samples)[:MOST_ROWS]
    return AuxiliarySet(auxiliary.features[np.sort(rows)], auxiliary.classes)


def _labellings(features: Array, n_classes: int, generator: np.random.Generator) -> Iterator[Indices]:
    """Labels that a line explains, with weights in proportion to a direction's extent, and labels that clusters explain."""
    from sklearn.cluster import KMeans

    whitening = Whitening.of(features)
    extents = whitening.basis * np.sqrt(whitening.values)
    for _ in range(N_LABELLINGS):
        scores = features @ (extents @ generator.standard_normal((whitening.rank, n_classes)))
        yield np.argmax(scores - np.median(scores, axis=0), axis=1)
    for n_clusters in (n_classes, 2 * n_classes):
        for _ in range(N_LABELLINGS):
            rows = features[generator.permutation(len(features))[:CLUSTERED_ROWS]]
            n_distinct = len(np.unique(rows, axis=0))
            found = KMeans(min(n_clusters, n_distinct), n_init=1, random_state=int(generator.integers(2**31))).fit(rows)
            centres = found.cluster_centers_
            nearest = np.argmax(features @ centres.T - np.einsum("ij,ij->i", centres, centres) / 2.0, axis=1)
            yield generator.permutation(np.arange(len(centres)) % n_classes)[nearest]
