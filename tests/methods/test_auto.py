"""`auto`: a choice from public things alone, the same every time, on any set."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pytest

from ostraka.auxiliary import AuxiliarySet
from ostraka.errors import ParameterError, TooFewPartiesError, WrongTypeError
from ostraka.local.parties import Parties
from ostraka.losses import Array
from ostraka.methods import auto
from ostraka.methods.statistic import StatisticTerms
from ostraka.noise import Rehearsal
from ostraka.release import Release
from tests.sensitivity.worlds import unit_rows

TERMS = StatisticTerms(epsilon=1.0, samples_each=3)


def auxiliary(n_classes: int, n: int = 90) -> AuxiliarySet:
    return AuxiliarySet(unit_rows(np.random.default_rng(0), n, 4) * [1, 0.7, 0.5, 0.3], tuple(range(n_classes)))


def parties(n_classes: int, seed: int, n: int = 40) -> Parties:
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, n_classes, 2 * n) if seed else np.zeros(2 * n, dtype=int)
    return Parties.group(unit_rows(rng, 2 * n, 4), labels, np.arange(2 * n) % n)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_the_choice_is_one_of_the_two_and_the_same_every_time(n_classes: int, delta: float) -> None:
    terms = StatisticTerms(epsilon=1.0, samples_each=3, delta=delta)
    (name, planned), (again, same) = (auto.choose(auxiliary(n_classes), 40, terms) for _ in range(2))
    assert name == again == planned.certificate.method
    assert name in ("moments", "cells")
    assert planned.certificate == same.certificate == auto.METHODS[name].plan(auxiliary(n_classes), 40, terms).certificate


@pytest.mark.parametrize("n_classes", [2, 3])
def test_private_data_does_not_sway_the_choice(n_classes: int) -> None:
    planned = auto.plan(auxiliary(n_classes), 40, TERMS).certificate
    for seed in (0, 1, 2):
        release = auto.release(parties(n_classes, seed), auxiliary(n_classes), TERMS)
        assert isinstance(release, Release)
        assert release.certificate == planned


def test_nothing_of_the_parties_but_their_number_is_read_before_the_plan(monkeypatch: pytest.MonkeyPatch) -> None:
    """The mutant that looks at labels first is caught by parties that have none to look at."""

    class Sealed:
        def __len__(self) -> int:
            return 40

        def __getattr__(self, name: str) -> Any:
            raise AssertionError(name)

    class Planned(Exception):
        pass

    def choose(*given: Any) -> Any:
        assert given[1] == 40
        raise Planned

    monkeypatch.setattr(auto, "choose", choose)
    with pytest.raises(Planned):
        auto.release(Sealed(), auxiliary(2), TERMS)  # type: ignore[arg-type]
    with pytest.raises(AssertionError, match="labels"):
        _ = Sealed().labels


def test_numpys_global_stream_is_left_alone() -> None:
    before = np.random.get_state()[1].tolist()  # noqa: NPY002
    auto.plan(auxiliary(2), 40, TERMS)
    assert np.random.get_state()[1].tolist() == before  # noqa: NPY002


def test_where_they_differ_clearly_the_better_one_is_taken() -> None:
    for n_parties, epsilon in ((5, 0.01), (5000, 100.0)):
        terms = StatisticTerms(epsilon=epsilon, samples_each=3)
        agreement = {
            name: auto.rehearsed_agreement(name, method.plan(auxiliary(3), n_parties, terms), auxiliary(3), terms)
            for name, method in auto.METHODS.items()
        }
        chosen = auto.choose(auxiliary(3), n_parties, terms)[0]
        assert agreement[chosen] >= max(agreement.values())
        assert all(0.0 <= share <= 1.0 for share in agreement.values())


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize(
    "features",
    [
        unit_rows(np.random.default_rng(1), 5, 4),
        unit_rows(np.random.default_rng(1), 1, 4),
        np.full((5, 3), 0.3),
        np.zeros((6, 2)),
        np.repeat(np.eye(2) * 0.9, 4, axis=0),
        np.concatenate([np.zeros((30, 2)), [[0.5, 0.5]]]),
    ],
    ids=["five rows", "one row", "constant", "zero", "two distinct", "an outlier"],
)
def test_small_and_poor_sets_have_a_choice(features: Array, n_classes: int) -> None:
    given = AuxiliarySet(features, tuple(range(n_classes)))
    name, planned = auto.choose(given, 10, TERMS)
    assert name == planned.certificate.method
    rows = np.resize(features, (20, features.shape[1]))
    release = auto.release(Parties.group(rows, np.arange(20) % n_classes, np.arange(20) % 10), given, TERMS, Rehearsal(0))
    assert np.isfinite(release.model.weights).all()


def test_large_parties_and_many_take_no_longer() -> None:
    """A made-up party has a bounded number of samples: a million would not fit into memory."""
    started = time.monotonic()
    auto.plan(auxiliary(2), 10**6, StatisticTerms(epsilon=0.01, samples_each=10**6))
    assert time.monotonic() - started < 60.0


def test_bad_input_is_refused() -> None:
    with pytest.raises(TooFewPartiesError, match="Nothing was drawn"):
        auto.plan(auxiliary(2), 1, TERMS)
    with pytest.raises(WrongTypeError, match="StatisticTerms"):
        auto.plan(auxiliary(2), 10, 1.0)  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="n_parties"):
        auto.plan(auxiliary(2), 2.5, TERMS)  # type: ignore[arg-type]
