"""Whitening and half-whitened features: awkward sets, and one result on one machine."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_matrix

from ostraka.errors import NonFiniteError, ParameterError
from ostraka.poll import Poll
from ostraka.public import whitening
from ostraka.public.auxiliary import AuxiliarySet
from ostraka.public.task import Task
from ostraka.public.whitening import Whitening, half_whiten
from ostraka.publishing import publish
from ostraka.release import Release
from ostraka.release.model import LinearModel
from ostraka.solve.losses import Array
from ostraka.tally import Tally

RNG = np.random.default_rng(0)


def rows_of_rank(rank: int, n: int = 60, p: int = 7) -> Array:
    rng = np.random.default_rng(rank)
    rows = (
        rng.standard_normal((n, rank))
        * np.geomspace(1, 0.01, rank)
        @ rng.standard_normal((rank, p))
    )
    return rows / np.linalg.norm(rows, axis=1).max()


# ---- the directions ------------------------------------------------------------------------------


@pytest.mark.parametrize("rank", [1, 2, 5, 7])
def test_whitened_rows_have_the_identity_for_a_second_moment(rank: int) -> None:
    rows = rows_of_rank(rank)
    found = Whitening.of(rows)
    assert found.rank == rank
    for k in range(1, rank + 1):
        white = rows @ found.map(k)
        assert np.abs(white.T @ white / len(rows) - np.eye(k)).max() <= 1e-6


def test_directions_come_widest_first_with_their_largest_entry_positive() -> None:
    found = Whitening.of(rows_of_rank(6))
    assert (np.diff(found.values) <= 0.0).all()
    assert (found.basis[np.abs(found.basis).argmax(axis=0), np.arange(found.rank)] > 0.0).all()
    assert np.abs(found.basis.T @ found.basis - np.eye(found.rank)).max() <= 1e-12


def test_a_geometry_has_one_digest_and_another_has_another() -> None:
    rows = rows_of_rank(5)
    assert (
        Whitening.of(rows).digest == Whitening.of(rows.copy()).digest == Whitening.of(rows).digest
    )
    assert Whitening.of(rows).digest != Whitening.of(rows_of_rank(6)).digest


def test_blocks_of_rows_and_sparse_rows_give_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = rows_of_rank(5)
    whole = Whitening.of(rows)
    sparse = Whitening.of(csr_matrix(rows))
    monkeypatch.setattr(whitening, "BLOCK_ROWS", 7)
    blocked = Whitening.of(rows)
    for other in (sparse, blocked):
        assert other.rank == whole.rank
        assert np.abs(other.values - whole.values).max() <= 1e-14
        assert np.abs(other.map(3) - whole.map(3)).max() <= 1e-8 * np.abs(whole.map(3)).max()


@pytest.mark.parametrize(
    "rows",
    [
        np.zeros((4, 3)),
        np.ones((4, 3)) / 2,
        np.array([[0.6, 0.0, 0.8]]),
        np.array([[5e-324]]),
        np.eye(3),
    ],
)
def test_sets_with_hardly_any_extent_have_directions(rows: Array) -> None:
    found = Whitening.of(rows)
    assert found.rank >= 1
    assert np.isfinite(found.map(found.rank)).all()
    assert np.isfinite(rows @ found.map(found.rank)).all()


# ---- features ------------------------------------------------------------------------------------


def squared_norms(features: Array) -> list[Fraction]:
    return [sum((Fraction(value) ** 2 for value in row), Fraction(0)) for row in features.tolist()]


AWKWARD: dict[str, Any] = {
    "ordinary": RNG.standard_normal((40, 5)) * [1, 10, 0.1, 1, 1] + 3,
    "constant columns": np.concatenate(
        [RNG.standard_normal((40, 2)), np.full((40, 1), 7.0), np.zeros((40, 1))], axis=1
    ),
    "fewer rows than columns": RNG.standard_normal((4, 30)),
    "two rows": np.array([[1.0, 2.0], [3.0, -4.0]]),
    "whole numbers": RNG.integers(0, 3, (30, 4)),
    "lists": [[1, 2], [3, 5], [4, 4]],
    "numbers as objects": np.array([[1, 2.5], [3, 5], [4, 4]], dtype=object),
    "huge and tiny columns": RNG.standard_normal((30, 4)) * [1e300, 1e-150, 1.0, 1e-310],
    "an outlier": np.concatenate([RNG.standard_normal((30, 3)), [[1e12, 0, 0]]]),
    "mostly equal": np.concatenate([np.zeros((30, 3)), np.eye(3), -np.eye(3)]),
    "sparse": csr_matrix(np.where(RNG.random((40, 6)) < 0.3, RNG.random((40, 6)), 0.0)),
    "one distinct pair": np.repeat([[0.0, 1.0], [1.0, 1.0]], 5, axis=0),
}


@pytest.mark.parametrize("name", AWKWARD)
@pytest.mark.parametrize("n_classes", [2, 7])
def test_features_lie_in_the_unit_ball_exactly(name: str, n_classes: int) -> None:
    samples = AWKWARD[name]
    fitted = half_whiten(samples, n_classes)
    features = fitted(samples)
    assert isinstance(features, np.ndarray)
    assert max(squared_norms(features)) <= 1
    assert (features[:, -1] == fitted.constant).all()
    far = np.asarray(
        samples.toarray() if hasattr(samples, "toarray") else samples, dtype=np.float64
    )
    with np.errstate(over="ignore"):
        far = np.nan_to_num(far * 1e9, posinf=1e308, neginf=-1e308)
    assert max(squared_norms(fitted(far))) <= 1, "whatever the private samples are"


def test_ordinary_rows_are_unit_rows() -> None:
    features = half_whiten(AWKWARD["ordinary"], 2)(AWKWARD["ordinary"])
    assert (np.linalg.norm(features, axis=1) >= 1.0 - 1e-8).all()


def test_the_scale_of_a_column_and_its_shift_leave_no_trace() -> None:
    rows = RNG.standard_normal((50, 4))
    moved = rows * [1.0, 1e3, 1e-3, 7.0] + [0.0, 2e3, -9.0, 1990.0]
    one, other = half_whiten(rows, 3)(rows), half_whiten(moved, 3)(moved)
    assert np.abs(one - other).max() <= 1e-9


def test_a_number_counts_as_much_as_yes_and_no() -> None:
    """A year varies little beside its size, and as much as any other column."""
    answers, years = RNG.integers(0, 2, 500), 1990.0 + RNG.integers(0, 30, 500)
    scale = half_whiten(np.column_stack([answers, years]), 2).scale
    assert scale is not None
    assert scale[0] == 1.0
    assert np.isclose((years / scale[1]).std(), 0.5)


def test_numbers_of_one_unit_keep_their_proportions() -> None:
    """As pixels do: one at the margin, which is mostly 0, must not count as much as one that
    varies. One column in another unit, and they are numbers like all others.
    """
    pixels = RNG.integers(0, 17, (300, 12)).astype(np.float64)
    pixels[:, 0] *= RNG.random(300) < 0.02
    pixels[0] = 16.0
    scale = half_whiten(pixels, 3).scale
    assert scale is not None
    assert (scale == 16.0).all()
    priced = half_whiten(np.column_stack([pixels, 1e4 * RNG.random(300)]), 3).scale
    assert priced is not None
    assert np.allclose(priced[:12], 2.0 * pixels.std(axis=0))
    few = half_whiten(pixels[:, :5], 3).scale
    assert few is not None
    assert np.allclose(few, 2.0 * pixels[:, :5].std(axis=0)), "alike by chance"


def test_a_constant_as_rounded_is_no_number() -> None:
    rows = np.column_stack([RNG.random(40), np.full(40, 0.1) + 1e-17 * RNG.random(40)])
    rows[:20, 1] = np.nextafter(0.1, 1.0)
    scale = half_whiten(rows, 2).scale
    assert scale is not None
    assert 0.05 < scale[1] < 0.2


def test_sparse_and_dense_rows_of_one_map_give_the_same_features() -> None:
    sparse = AWKWARD["sparse"]
    fitted = half_whiten(sparse, 3)
    assert np.abs(fitted(sparse) - fitted(sparse.toarray())).max() <= 1e-12


@settings(max_examples=40, deadline=None)
@given(
    st.integers(2, 12),
    st.integers(1, 5),
    st.integers(0, 2**32 - 1),
    st.sampled_from([1e-100, 1e-8, 1.0, 1e8, 1e150]),
)
def test_any_set_with_two_different_rows_gives_features(
    n: int, p: int, seed: int, scale: float
) -> None:
    rng = np.random.default_rng(seed)
    rows = np.round(rng.standard_normal((n, p)), 1) * scale
    rows[0, 0], rows[1, 0] = -scale, scale
    fitted = half_whiten(rows, 2)
    features = fitted(rows)
    assert np.isfinite(features).all()
    assert max(squared_norms(features)) <= 1


@pytest.mark.parametrize(
    "rows", [np.ones((1, 3)), np.full((9, 2), 0.3), np.zeros((4, 4)), csr_matrix((3, 5))]
)
def test_a_set_without_any_difference_is_refused_in_words(rows: Any) -> None:
    with pytest.raises(ParameterError, match="the samples are all equal"):
        half_whiten(rows, 2)


def test_missing_numbers_are_refused() -> None:
    with pytest.raises(NonFiniteError, match="row 1"):
        half_whiten(np.array([[1.0, 2.0], [np.nan, 1.0], [0.0, 0.0]]), 2)


# ---- on the way to a release ---------------------------------------------------------------------


def a_release(samples: Any, n_classes: int) -> tuple[AuxiliarySet, Release]:
    auxiliary = AuxiliarySet(
        samples,
        tuple(f"c{k}" for k in range(n_classes)),
        preprocessing=half_whiten(samples, n_classes),
    )
    poll = Poll.create(auxiliary, method="moments", epsilon=5.0, parties=2)
    tally = Tally(poll)
    tally.add_block(["a", "b"], np.zeros((2, poll.domain.dimension), dtype=np.int64))
    release = publish(poll, tally)
    assert isinstance(release, Release)
    return auxiliary, release


@pytest.mark.parametrize(
    "name", ["ordinary", "sparse", "constant columns", "fewer rows than columns"]
)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_release_with_such_features_comes_back_from_its_file(
    tmp_path: Path, name: str, n_classes: int
) -> None:
    samples = AWKWARD[name]
    auxiliary, release = a_release(samples, n_classes)
    assert isinstance(release.model, LinearModel)
    assert release.model.task == Task.of(auxiliary)
    release.save(tmp_path / "model.ostraka")
    loaded = Release.load(tmp_path / "model.ostraka")
    assert loaded.certificate == release.certificate
    assert (loaded.predict(samples) == release.predict(samples)).all()
    assert (loaded.predict_proba(samples) == release.predict_proba(samples)).all()


@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_exported_model_agrees(n_classes: int) -> None:
    pytest.importorskip("onnx", reason="onnx is not installed (pip install 'ostraka[models]')")
    runtime = pytest.importorskip(
        "onnxruntime", reason="onnxruntime is not installed (pip install 'ostraka[models]')"
    )
    from ostraka.release.export import to_onnx

    samples = AWKWARD["ordinary"]
    _, release = a_release(samples, n_classes)
    session = runtime.InferenceSession(to_onnx(release), providers=["CPUExecutionProvider"])
    given = session.get_inputs()[0]
    kind = np.float64 if "double" in given.type else np.float32
    answers = session.run(None, {given.name: samples.astype(kind)})
    # Two scores may be equal but for rounding; those samples may go either way.
    scores = release.model.scores(samples)
    margins = (
        np.abs(scores)
        if scores.ndim == 1
        else np.diff(np.sort(scores, axis=1)[:, -2:], axis=1).ravel()
    )
    clear = margins > 1e-5 * np.abs(scores).max()
    assert (np.asarray(answers[0]).ravel()[clear] == release.predict(samples)[clear]).all()
