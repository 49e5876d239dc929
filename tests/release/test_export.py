"""The ONNX graph predicts what the release predicts, row by row, wherever the release predicts at
all.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from ostraka.errors import NonFiniteError
from ostraka.party.training.ensemble import linear_counts
from ostraka.poll import Poll
from ostraka.public.auxiliary import AuxiliarySet
from ostraka.public.columns_format import columns_from_json
from ostraka.public.preprocessing import Preprocessing
from ostraka.publishing import publish
from ostraka.release import Release
from ostraka.release.certificate import Certificate
from ostraka.release.export import to_onnx
from ostraka.release.graph import OPSET
from ostraka.release.kernel_model import KernelModel
from ostraka.release.model import LinearModel
from ostraka.tally import Tally

onnx = pytest.importorskip("onnx", reason="onnx is not installed (pip install 'ostraka[models]')")
onnxruntime = pytest.importorskip(
    "onnxruntime", reason="onnxruntime is not installed (pip install 'ostraka[models]')"
)

N_COLUMNS = 4
RNG = np.random.default_rng(7)
PUBLIC = RNG.standard_normal((30, N_COLUMNS)) * [1.0, 10.0, 0.1, 3.0] + [0.0, 5.0, 1.0, -2.0]
CENTER, SCALE = PUBLIC.mean(axis=0), PUBLIC.std(axis=0)
COMPONENTS = RNG.standard_normal((N_COLUMNS, 3))

PREPROCESSINGS = {
    "plain": Preprocessing(radius=20.0),
    "constant": Preprocessing(radius=20.0, constant=0.5),
    "center": Preprocessing(radius=20.0, center=CENTER),
    "scale": Preprocessing(radius=5.0, constant=0.4, scale=SCALE),
    "standardised": Preprocessing(radius=2.0, constant=0.5, center=CENTER, scale=SCALE),
    "components": Preprocessing(radius=30.0, components=COMPONENTS),
    "everything": Preprocessing(
        radius=3.0, constant=0.3, center=CENTER, scale=SCALE, components=COMPONENTS
    ),
    "tiny radius": Preprocessing(radius=1e-300, constant=0.5),
    "huge radius": Preprocessing(radius=1e200, center=CENTER),
    "fitted": Preprocessing.fit(PUBLIC, 0.5, standardise=True, quantile=0.8),
}
CLASSES = {
    "texts": ("no", "yes"),
    "whole numbers": (5, -3),
    "many texts": ("a", "b", "ü"),
    "many whole numbers": (9, 2, 4, -(2**62)),
}


def a_release(
    classes: tuple[Any, ...] = ("no", "yes"),
    preprocessing: Preprocessing | None = None,
    samples: Any = PUBLIC,
) -> Release:
    auxiliary = AuxiliarySet(
        samples, classes, preprocessing=preprocessing or PREPROCESSINGS["constant"]
    )
    shape = (
        (8, auxiliary.n_features) if len(classes) == 2 else (8, auxiliary.n_features, len(classes))
    )
    poll = Poll.create(auxiliary, method="soft", epsilon=20.0, lambda_=0.05, parties=8)
    tally = Tally(poll)
    weights = np.random.default_rng(3).standard_normal(shape)
    tally.add_block(range(8), linear_counts(weights, auxiliary.features, len(classes)))
    release = publish(poll, tally)
    assert isinstance(release, Release)
    return release


def with_weights(release: Release, weights: Any) -> Release:
    return Release(
        model=replace(release.model, weights=np.asarray(weights, dtype=float)),
        certificate=release.certificate,
    )


def session_of(release: Release) -> Any:
    return onnxruntime.InferenceSession(to_onnx(release), providers=["CPUExecutionProvider"])


def predicted(session: Any, samples: Any) -> tuple[np.ndarray, np.ndarray]:
    labels, probabilities = session.run(
        ["label", "probabilities"], {"samples": np.asarray(samples, dtype=np.float64)}
    )
    return np.asarray(labels), probabilities


def awkward_rows() -> np.ndarray:
    """Ordinary rows, rows far outside, zeros, and numbers whose squares, differences or products
    leave the doubles.
    """
    generator = np.random.default_rng(11)
    ordinary = generator.standard_normal((3000, N_COLUMNS)) * 3.0
    powers = generator.standard_normal((1500, N_COLUMNS)) * 10.0 ** generator.integers(
        -320, 308, (1500, 1)
    )
    mixed = generator.standard_normal((1500, N_COLUMNS)) * 10.0 ** generator.integers(
        -320, 308, (1500, N_COLUMNS)
    )
    limits = np.finfo(np.float64)
    corners = generator.choice(
        [0.0, -0.0, limits.max, limits.min, limits.tiny, 5e-324, 1e200, -1e200, 1e154, 1.0],
        (500, N_COLUMNS),
    )
    return np.concatenate(
        [ordinary, ordinary[:500] * 1e6, powers, mixed, corners, np.zeros((1, N_COLUMNS))]
    )


ROWS = awkward_rows()


def decided(release: Release, rows: np.ndarray) -> np.ndarray:
    """Rows whose two best scores differ by more than a sum in another order could round away, or
    not at all.
    """
    features, weights = release.model.task.features(rows), release.model.weights
    columns = np.stack([np.zeros_like(weights), weights], axis=1) if weights.ndim == 1 else weights
    best = np.sort(features @ columns, axis=1)
    margin, size = best[:, -1] - best[:, -2], np.abs(features) @ np.abs(columns).max(axis=1)
    return (margin > 1e-14 * size + 1e-300) | (size == 0.0)


@pytest.mark.parametrize("preprocessing", PREPROCESSINGS.values(), ids=PREPROCESSINGS)
@pytest.mark.parametrize("classes", CLASSES.values(), ids=CLASSES)
def test_the_same_labels_and_probabilities(
    classes: tuple[Any, ...], preprocessing: Preprocessing
) -> None:
    released = a_release(classes, preprocessing)
    spread = with_weights(
        released, np.random.default_rng(5).uniform(-9, 9, released.model.weights.shape)
    )
    for release in (released, spread):
        labels, probabilities = predicted(session_of(release), ROWS)
        expected = release.predict(ROWS)
        sure = decided(release, ROWS)
        assert sure[:3500].all()
        assert sure.mean() > 0.8
        assert labels[sure].tolist() == expected[sure].tolist()
        assert np.abs(probabilities - release.predict_proba(ROWS)).max() <= 1e-9
        assert (labels.dtype.kind == "i") == isinstance(classes[0], int)
    assert len(set(expected.tolist())) > 1, (
        "a test in which every row has the same class would say little"
    )


@pytest.mark.parametrize("preprocessing", PREPROCESSINGS.values(), ids=PREPROCESSINGS)
@pytest.mark.parametrize("classes", CLASSES.values(), ids=CLASSES)
def test_a_kernel_student_gives_the_same_labels_and_probabilities(
    classes: tuple[Any, ...], preprocessing: Preprocessing
) -> None:
    auxiliary = AuxiliarySet(PUBLIC, classes, preprocessing=preprocessing)
    poll = Poll.create(auxiliary, method="cells", epsilon=1.0, parties=8, student="kernel")
    task, rng = poll.task, np.random.default_rng(5)
    linear = LinearModel(task=task, weights=rng.uniform(-9, 9, task.weight_shape))
    weights = rng.uniform(-9, 9, (len(PUBLIC) + 1, *task.weight_shape[1:]))
    model = KernelModel(linear=linear, landmarks=auxiliary.features, weights=weights)
    release = Release(model=model, certificate=poll.certificate(8))
    labels, probabilities = predicted(session_of(release), ROWS)
    assert np.abs(probabilities - release.predict_proba(ROWS)).max() <= 1e-9
    scores = np.sort(model.probabilities(task.features(ROWS)), axis=1)
    sure = scores[:, -1] - scores[:, -2] > 1e-9
    assert sure.mean() > 0.9
    assert labels[sure].tolist() == release.predict(ROWS)[sure].tolist()


FINITE = st.floats(allow_nan=False, allow_infinity=False)
EVERYTHING = a_release(("a", "b", "c"), PREPROCESSINGS["everything"])
EVERYTHING_SESSION = session_of(EVERYTHING)


@settings(deadline=None)
@given(
    samples=hnp.arrays(
        np.float64, st.tuples(st.integers(1, 5), st.just(N_COLUMNS)), elements=FINITE
    )
)
def test_any_finite_sample(samples: np.ndarray) -> None:
    _, probabilities = predicted(EVERYTHING_SESSION, samples)
    assert np.abs(probabilities - EVERYTHING.predict_proba(samples)).max() <= 1e-9


def test_a_row_too_long_to_be_squared_keeps_its_direction() -> None:
    release = with_weights(a_release(preprocessing=PREPROCESSINGS["plain"]), [1.0, 0.0, 0.0, 0.0])
    rows = np.array(
        [[1e200, 0, 0, 0], [-1e200, 0, 0, 0], [1e308, -1e308, 1e308, 0], [-1e308, 0, 0, 0]]
    )
    labels, probabilities = predicted(session_of(release), rows)
    assert labels.tolist() == release.predict(rows).tolist() == ["yes", "no", "yes", "no"]
    assert probabilities[0, 1] > 0.7, "not the tie that a lost row would give"


def test_a_row_that_the_map_takes_beyond_the_doubles_counts_as_zero() -> None:
    release = a_release(
        preprocessing=Preprocessing(
            center=-np.full(N_COLUMNS, 1e308), scale=np.full(N_COLUMNS, 1e300), constant=0.5
        )
    )
    rows = np.array(
        [[1e308, 0, 0, 0], [-1e308, -1e308, -1e308, -1e308], [1e308, 1e308, 1e308, 1e308]]
    )
    labels, probabilities = predicted(session_of(release), rows)
    assert labels.tolist() == release.predict(rows).tolist()
    assert probabilities[0].tolist() == probabilities[1].tolist(), "as if it were the centre"


@pytest.mark.parametrize(
    "preprocessing",
    [PREPROCESSINGS["plain"], PREPROCESSINGS["components"]],
    ids=["plain", "components"],
)
def test_of_equal_scores_the_second_of_two_classes_wins_and_the_first_of_more(
    preprocessing: Preprocessing,
) -> None:
    zero = np.zeros((3, N_COLUMNS))
    for classes, winner in (
        (("no", "yes"), "yes"),
        ((4, 2), 2),
        (("a", "b", "c"), "a"),
        ((7, 8, 9), 7),
    ):
        release = a_release(classes, preprocessing)
        labels, probabilities = predicted(session_of(release), zero)
        assert labels.tolist() == release.predict(zero).tolist() == [winner] * 3
        assert np.abs(probabilities - 1.0 / len(classes)).max() <= 1e-15


def test_the_first_of_the_largest_scores_wins_also_in_the_middle() -> None:
    release = a_release(("a", "b", "c", "d"), PREPROCESSINGS["plain"])
    release = with_weights(release, np.outer([1.0, 0.0, 0.0, 0.0], [-1.0, 2.0, 2.0, 1.0]))
    rows = np.array([[1.0, 0, 0, 0], [-1.0, 0, 0, 0]])
    assert (
        predicted(session_of(release), rows)[0].tolist()
        == release.predict(rows).tolist()
        == ["b", "a"]
    )


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("name", ["plain", "constant", "standardised", "everything"])
def test_where_the_release_refuses_the_graph_says_nan(name: str, bad: float) -> None:
    release = a_release(preprocessing=PREPROCESSINGS[name])
    rows = np.ones((2, N_COLUMNS))
    rows[1, 2] = bad
    with pytest.raises(NonFiniteError, match=r"row 1 .*Every number must be finite"):
        release.predict(rows)
    _, probabilities = predicted(session_of(release), rows)
    assert np.isnan(probabilities[1]).all()
    assert np.abs(probabilities[:1] - release.predict_proba(rows[:1])).max() <= 1e-9, (
        "the other rows are as they were"
    )


def test_no_samples_give_no_labels() -> None:
    for preprocessing in PREPROCESSINGS.values():
        labels, probabilities = predicted(
            session_of(a_release(preprocessing=preprocessing)), np.empty((0, N_COLUMNS))
        )
        assert (labels.shape, probabilities.shape) == ((0,), (0, 2))


def test_probabilities_of_huge_weights_stay_probabilities() -> None:
    release = with_weights(
        a_release(preprocessing=PREPROCESSINGS["plain"]), [1e6, -1e7, 1e5, 1e300]
    )
    labels, probabilities = predicted(session_of(release), ROWS)
    sure = decided(release, ROWS)
    assert labels[sure].tolist() == release.predict(ROWS)[sure].tolist()
    assert np.abs(probabilities.sum(axis=1) - 1.0).max() <= 1e-9


def test_the_certificate_and_the_names_of_columns_are_in_the_metadata() -> None:
    names = ["age", "bmi", "höhe", "weight"]
    for samples, expected in ((pd.DataFrame(PUBLIC, columns=names), names), (PUBLIC, None)):
        release = a_release(samples=samples)
        written = session_of(release).get_modelmeta().custom_metadata_map
        assert set(written) == {"ostraka.certificate", "ostraka.columns"}
        assert Certificate.from_json(written["ostraka.certificate"]) == release.certificate
        content = json.loads(written["ostraka.columns"])
        columns = columns_from_json(content, "graph")
        assert columns == release.model.task.columns
        assert (None if columns is None else list(columns.names)) == expected


def test_the_graph_is_plain_and_declares_what_it_needs() -> None:
    model = onnx.load_from_string(to_onnx(a_release()))
    onnx.checker.check_model(model, full_check=True)
    assert [(each.domain, each.version) for each in model.opset_import] == [("", OPSET)]
    assert model.ir_version == 8, "as onnxruntime 1.18, the oldest that we ask for, can load"
    session = session_of(a_release())
    assert [(given.name, given.type, given.shape[1:]) for given in session.get_inputs()] == [
        ("samples", "tensor(double)", [N_COLUMNS])
    ]
    outputs = [(given.name, given.type) for given in session.get_outputs()]
    assert outputs == [("label", "tensor(string)"), ("probabilities", "tensor(double)")]


def test_without_onnx_the_error_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(ImportError, match="onnx"):
        to_onnx(a_release())
