"""Made-up parties: their sums are those of what such parties would contribute."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_matrix

from ostraka.methods import made_up
from ostraka.methods.base import Options, Work
from ostraka.methods.made_up import N_WORLDS, World, adder, worlds
from ostraka.methods.registry import METHODS
from ostraka.party.rows import Parties
from ostraka.public import measured
from ostraka.public.auxiliary import AuxiliarySet
from ostraka.public.prepare import prepare
from ostraka.public.promise import Promise
from ostraka.solve.losses import Array
from ostraka.tally.domain import Units
from tests.mechanism.worlds import unit_rows

EXTENTS = np.array([1.0, 0.7, 0.5, 0.3, 0.1])


def auxiliary(n_classes: int, n: int = 120) -> AuxiliarySet:
    rows = unit_rows(np.random.default_rng(0), n, len(EXTENTS)) * EXTENTS
    return AuxiliarySet(rows, tuple(range(n_classes)))


def contributed(method: object, world: World) -> Units:
    """The sum of what parties with these rows send."""
    sizes = np.concatenate([np.full(len(held), held.shape[1]) for held in world.held])
    rows = np.concatenate([held.ravel() for held in world.held])
    starts, names = np.cumsum([0, *sizes]), [str(party) for party in range(len(sizes))]
    features = world.auxiliary.features[rows]
    parties = Parties(features, world.labels[rows], starts, names)
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
    for world in worlds(given, 30, 4)[::3]:
        methods = [
            METHODS[name].create(world.auxiliary, 30, Promise(epsilon=epsilon), options)
            for epsilon in (0.05, 100.0, 1.0)
        ]
        assert len({method.domain.dimension for method in methods}) > 1
        for method, found in zip(methods, adder(methods)(world), strict=True):
            gaps = np.abs(found - contributed(method, world))
            assert gaps.max() <= (1 if name == "moments" else 0)


def test_worlds_label_every_row_and_repeat() -> None:
    given = auxiliary(3)
    found = worlds(given, 30, 4)
    assert len(found) == N_WORLDS
    for world, again in zip(found, worlds.__wrapped__(given, 30, 4), strict=True):
        assert world.labels.shape == (given.n_samples,)
        assert sum(len(held) for held in world.held) == 30
        assert set(world.labels.tolist()) <= {0, 1, 2}
        assert (world.labels == again.labels).all()
        for held, same in zip(world.held, again.held, strict=True):
            assert (held == same).all()
        assert world.seed == again.seed
        assert 0.3 <= world.guess() <= 0.97
        assert world.guess() - 0.02 <= world.without_privacy() <= 1.0


def test_natural_parties_are_of_unlike_sizes_and_live_in_corners() -> None:
    given = auxiliary(2, n=600)
    (alike,) = worlds(given, 300, 8, natural=False)[0].held
    assert alike.shape == (300, 8)
    natural = worlds(given, 300, 8, natural=True)[2].held  # the narrowest corners
    assert [held.shape for held in natural] == [(90, 2), (120, 8), (90, 32)]

    def apart(held: Array) -> float:
        return float(given.features[held].mean(axis=1).std(axis=0).sum())

    assert apart(natural[1]) > 1.5 * apart(alike)
    kinds = [len(world.held) for world in worlds(given, 300, 8)]
    assert sorted(kinds) == [1] * 6 + [3] * 6, "where nobody has said what they are: half and half"


def test_worlds_of_columns_leave_out_the_column_that_is_the_label() -> None:
    """A column that others do not tell cannot be learnt, and one that they tell can."""
    rng = np.random.default_rng(0)
    told = rng.choice(["a", "b", "c"], 400)
    guess = np.where(rng.random(400) < 0.6, told, rng.choice(["a", "b", "c"], 400))
    table = pd.DataFrame(
        {
            "told": told,
            "tells": [f"of {each}" for each in guess],
            "other": rng.choice(["d", "e", "f"], 400),
        }
    )
    public = prepare(table, ("x", "y", "z"), "auto")
    by_column = worlds(public, 20, 5)[:3]
    widths = [world.auxiliary.samples.shape[1] for world in by_column]
    assert widths == [6, 6, 6], "the three values of a column are left out together"
    gained = sorted(world.without_privacy() - world.guess() for world in by_column)
    assert gained[0] < 0.1
    assert gained[1] > 0.2


def test_which_worlds_there_are_depends_on_what_columns_are() -> None:
    """Clusters where all is measured; none of them where all is categories."""
    rng = np.random.default_rng(0)
    measured = prepare(rng.standard_normal((300, 5)), (0, 1), "auto")
    categories = pd.DataFrame({name: rng.choice(list("uvw"), 300) for name in "abcdefgh"})
    for public, n_alike in ((measured, 11), (prepare(categories, (0, 1), "auto"), 6)):
        found = worlds(public, 20, 5)
        assert len(found) == N_WORLDS
        assert sum(world.auxiliary is public for world in found) == n_alike


def test_without_columns_there_are_clusters_and_lines() -> None:
    rows = csr_matrix(unit_rows(np.random.default_rng(0), 60, 4))
    public = prepare(rows, (0, 1), "auto")
    found = worlds(public, 20, 5)
    assert len(found) == N_WORLDS
    assert all(world.auxiliary is public for world in found)


def test_large_sets_are_sampled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measured, "MOST_ROWS", 50)
    given = auxiliary(2, n=60)
    small = worlds.__wrapped__(given, 20, 5)[-1].auxiliary
    assert small.n_samples == 50
    assert {row.tobytes() for row in small.features} <= {row.tobytes() for row in given.features}
    few = auxiliary(2, n=50)
    assert worlds.__wrapped__(few, 20, 5)[-1].auxiliary is few


def test_choices_are_judged_by_row_or_by_class() -> None:
    world = worlds(auxiliary(3), 30, 4)[-1]
    one = np.full_like(world.labels, np.bincount(world.labels).argmax())
    assert world.judge(one) == world.guess() == np.mean(one == world.labels)
    assert world.judge(one, "balanced") == world.guess("balanced") == pytest.approx(1.0 / 3.0)
    assert world.judge(world.labels, "balanced") == 1.0
    assert 1.0 / 3.0 < world.without_privacy("balanced") <= 1.0
