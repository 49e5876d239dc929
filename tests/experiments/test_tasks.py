"""Splits: disjoint, of the right sizes, and prepared from the auxiliary samples alone."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse

from ostraka.datasets.dataset import Dataset, Labelled
from ostraka.errors import InputError, ParameterError
from ostraka.experiments.tasks import TASKS, check_fits, n_natural, split
from tests.experiments.small import SMALL, small_dataset


def stream(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def test_sizes() -> None:
    drawn = split(small_dataset(), SMALL, 30, stream())
    assert drawn.auxiliary.n_samples == SMALL.n_auxiliary
    assert len(drawn.parties) == 30
    assert set(np.diff(drawn.parties.starts)) == {SMALL.samples_each}
    assert drawn.test.n_samples == 300


def test_no_row_is_public_and_private_at_once() -> None:
    data = small_dataset()
    drawn = split(
        data, replace(SMALL, prepare=lambda samples, centre: lambda rows: rows / 10.0), 60, stream()
    )
    rows = [row.tobytes() for row in np.vstack([drawn.auxiliary.features, drawn.parties.features])]
    assert len(rows) == len(set(rows)) == SMALL.n_auxiliary + 60 * SMALL.samples_each


def test_two_trials_draw_different_parties() -> None:
    one, other = (split(small_dataset(), SMALL, 30, stream(seed)) for seed in (0, 1))
    assert not np.array_equal(one.parties.labels, other.parties.labels)


@pytest.mark.parametrize("name", ["har", "kdd99", "digits"])
@pytest.mark.parametrize("centre", [False, True])
def test_features_follow_from_the_auxiliary_samples_alone(name: str, centre: bool) -> None:
    """Private and test rows may be anything: the map and the auxiliary features do not move.

    Every row stays in the unit ball.
    """
    generator = stream(3)
    samples = generator.random((400, 70)).astype(np.float32)
    task = replace(TASKS[name], n_auxiliary=200, samples_each=5)

    def data(scale: float) -> Dataset:
        order = stream(7).permutation(400)  # as split() will draw it
        moved = samples.copy()
        moved[order[200:]] *= scale
        labels = np.arange(400) % 2
        return Dataset(
            name="x",
            classes=("a", "b"),
            train=Labelled(moved, labels),
            test=Labelled(moved[:50], labels[:50]),
        )

    calm, wild = (split(data(scale), task, 40, stream(7), centre=centre) for scale in (1.0, 1e6))
    assert np.array_equal(calm.auxiliary.features, wild.auxiliary.features)
    for part in (wild.parties.features, wild.test.features):
        assert np.linalg.norm(part, axis=1).max() <= 1.0


def test_centring_takes_the_mean_away() -> None:
    samples = (stream(1).random((400, 70)) + 5.0).astype(np.float32)
    labels = np.arange(400) % 2
    data = Dataset(
        name="x",
        classes=("a", "b"),
        train=Labelled(samples, labels),
        test=Labelled(samples, labels),
    )
    task = replace(TASKS["har"], n_auxiliary=300)
    with_mean, without = (
        split(data, task, 10, stream(), centre=centre).auxiliary.features.mean(axis=0)
        for centre in (False, True)
    )
    assert np.linalg.norm(with_mean) > 0.5
    assert np.linalg.norm(without) < 1e-6


def test_sparse_rows_get_the_features_of_dense_ones_up_to_a_rotation() -> None:
    dense = stream(1).random((400, 80)) * (stream(2).random((400, 80)) < 0.3)
    dense[:, 50:] = dense[:, :30]  # rank 50, so that fifty components hold everything
    labels = np.arange(400) % 2
    grams = []
    for samples in (dense, scipy.sparse.csr_matrix(dense)):
        data = Dataset(
            name="x",
            classes=("a", "b"),
            train=Labelled(samples, labels),
            test=Labelled(samples, labels),
        )
        features = split(data, replace(TASKS["url"], n_auxiliary=300), 10, stream()).test.features
        grams.append(features @ features.T)
    assert np.abs(grams[0] - grams[1]).max() < 1e-6


def test_natural_parties_are_the_sources() -> None:
    drawn = split(small_dataset(), SMALL, 0, stream(), natural=True)
    assert list(drawn.parties.names) == ["a", "b", "c"]
    assert drawn.parties.starts[-1] == 600 - SMALL.n_auxiliary
    assert n_natural(small_dataset()) == 3


def test_without_sources_there_are_no_natural_parties() -> None:
    data = small_dataset()
    bare = Dataset(
        name="small",
        classes=data.classes,
        train=Labelled(data.train.samples, data.train.labels),
        test=data.test,
    )
    with pytest.raises(InputError, match="do not say where they came from"):
        n_natural(bare)


@pytest.mark.parametrize("n_parties", [0, 1, 91, 10**9])
def test_too_many_or_too_few_parties_are_refused(n_parties: int) -> None:
    with pytest.raises(ParameterError, match="2 to 90"):
        check_fits(small_dataset(), SMALL, n_parties)
    check_fits(small_dataset(), SMALL, 90)
