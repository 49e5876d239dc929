"""Made-up parties: their sums are those of what such parties would contribute."""

from __future__ import annotations

import numpy as np
import pytest

from ostraka.methods import made_up
from ostraka.methods.base import Options, Work
from ostraka.methods.made_up import N_WORLDS, World, adder, sample, worlds
from ostraka.methods.registry import METHODS
from ostraka.party.rows import Parties
from ostraka.public.auxiliary import AuxiliarySet
from ostraka.public.promise import Promise
from ostraka.tally.domain import Units
from tests.mechanism.worlds import unit_rows

EXTENTS = np.array([1.0, 0.7, 0.5, 0.3, 0.1])


def auxiliary(n_classes: int, n: int = 120) -> AuxiliarySet:
    rows = unit_rows(np.random.default_rng(0), n, len(EXTENTS)) * EXTENTS
    return AuxiliarySet(rows, tuple(range(n_classes)))


def contributed(method: object, given: AuxiliarySet, world: World) -> Units:
    """The sum of what parties with these rows send."""
    n_parties, each = world.rows.shape
    rows, starts = world.rows.ravel(), np.arange(n_parties + 1) * each
    names = [str(party) for party in range(n_parties)]
    parties = Parties(given.features[rows], world.labels[rows], starts, names)
    return sum(units.sum(axis=0) for _, units in method.contribute(parties, Work()))


@pytest.mark.parametrize("at_once", [2**21, 100], ids=["one block", "many blocks"])
@pytest.mark.parametrize("shift", [False, True])
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("name", ["moments", "cells"])
def test_sums_are_those_of_contributions(
    name: str, n_classes: int, shift: bool, at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """To the unit for whole numbers.

    A product may round otherwise, which moves a party by a unit at most.
    """
    monkeypatch.setattr(made_up, "NUMBERS_AT_ONCE", at_once)
    given, options = auxiliary(n_classes), Options(samples_each=4, shift=shift)
    methods = [
        METHODS[name].create(given, 30, Promise(epsilon=epsilon), options)
        for epsilon in (0.05, 100.0, 1.0)
    ]
    assert len({method.domain.dimension for method in methods}) > 1
    add = adder(methods)
    for world in worlds(given, 30, 4):
        for method, found in zip(methods, add(world), strict=True):
            gaps = np.abs(found - contributed(method, given, world))
            assert gaps.max() <= (1 if name == "moments" else 0)


def test_worlds_label_every_row_and_repeat() -> None:
    given = auxiliary(3)
    found = worlds(given, 30, 4)
    assert len(found) == N_WORLDS
    for world, again in zip(found, worlds.__wrapped__(given, 30, 4), strict=True):
        assert world.labels.shape == (given.n_samples,)
        assert world.rows.shape == (30, 4)
        assert set(world.labels.tolist()) <= {0, 1, 2}
        assert (world.labels == again.labels).all()
        assert (world.rows == again.rows).all()
        assert world.seed == again.seed


def test_large_sets_are_sampled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(made_up, "MOST_ROWS", 50)
    given = auxiliary(2, n=60)
    small = sample(given)
    assert small.n_samples == 50
    assert {row.tobytes() for row in small.features} <= {row.tobytes() for row in given.features}
    few = auxiliary(2, n=50)
    assert sample(few) is few
