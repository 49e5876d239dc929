"""What a fit says of a row apart from it: exactly what the fit to all other rows says."""

from __future__ import annotations

import numpy as np
import pytest

from ostraka.methods.after_noise.apart import hold_out, own_moves, ridge_apart
from ostraka.methods.after_noise.denoise import ridge
from ostraka.methods.after_noise.kernel import learn_kernel
from ostraka.methods.after_noise.student import softmax, sureness, teach
from tests.methods.after_noise.test_kernel import a_teacher, clumps

RNG = np.random.default_rng(4)


def test_it_is_what_the_fit_to_all_others_says() -> None:
    features, answers = RNG.standard_normal((25, 6)), np.eye(3)[RNG.integers(0, 3, 25)]
    apart = ridge_apart(features, answers, ridge(features, answers, 0.2), 0.2)
    for i in range(25):
        others = np.arange(25) != i
        # A row of 25 left out weighs 1/25 less, and the penalty is what it was.
        alone = ridge(features[others], answers[others], 0.2 * 25 / 24)
        assert np.abs(features[i] @ alone - apart[i]).max() < 1e-12


def test_a_student_of_weighted_rows_does_the_same() -> None:
    features = np.column_stack([RNG.standard_normal((30, 4)), np.full(30, 0.3)])
    scores, shares = RNG.standard_normal((30, 3)), np.array([0.5, 0.3, 0.2])
    rows = RNG.dirichlet(np.ones(30))
    _, apart = teach(features, scores, shares, 0.1, rows)
    answers = np.eye(3)[scores.argmax(axis=1)]
    for i in (0, 7, 29):
        others = np.delete(np.arange(30), i)
        kept = rows[others]
        mean, answered = kept @ features[others] / kept.sum(), kept @ answers[others] / kept.sum()
        weighted = (features[others] - mean) * kept[:, np.newaxis]
        gram = weighted.T @ (features[others] - mean) + 0.1 * np.eye(5)
        alone = np.linalg.solve(gram, weighted.T @ (answers[others] - answered))
        expected = answered + (features[i] - mean) @ alone + shares - rows @ answers
        assert np.abs(expected - apart[i]).max() < 1e-10


def test_a_row_that_nothing_else_moves_stays_finite() -> None:
    features = np.eye(4)
    moves = own_moves(features, features / 4.0, np.full(4, 0.25))
    assert moves == pytest.approx(np.ones(4))
    assert np.isfinite(hold_out(np.eye(4), np.eye(4), moves)).all()


@pytest.mark.parametrize("soft", [False, True])
def test_students_are_as_sure_of_new_rows_as_their_teacher_is(soft: bool) -> None:
    """With nearly as many columns or landmarks as rows, they know their own rows by heart."""
    rows, teacher = clumps(150, 4, spread=0.5)[0], a_teacher(4)
    fresh = clumps(3000, 4, seed=8, spread=0.5)[0]
    student, aim = learn_kernel(rows, teacher, soft=soft), sureness(teacher.probabilities(rows))
    off = sureness(student.probabilities(fresh)) - aim
    assert abs(off) < 0.03
    if not soft:
        assert sureness(student.probabilities(rows)) > aim + 0.03, "surer of what it has learnt"


def test_a_linear_student_is_less_sure_apart() -> None:
    wide = np.column_stack([RNG.standard_normal((80, 60)), np.ones(80)])
    fresh = np.column_stack([RNG.standard_normal((4000, 60)), np.ones(4000)])
    scores = wide @ RNG.standard_normal((61, 3))
    weights, apart = teach(wide, scores, np.full(3, 1.0 / 3.0))
    own, new, held = (
        sureness(softmax(4.0 * each)) for each in (wide @ weights, fresh @ weights, apart)
    )
    assert abs(held - new) < 0.05 < own - new
