"""A kernel student: a curved model that learns a linear one's answers on the public auxiliary set.

It costs no budget, as nothing private is left in it.

    letter  name here    meaning
    X       features     public auxiliary features; at most `MOST_ROWS` of them, evenly spaced
    l_i     landmarks    at most `MOST_LANDMARKS` of these, evenly spaced
    k       –            k(x, l) = exp(−‖x − l‖²), of rows whose length is about 1
    Y       answers      onehot(argmax) of the teacher, or its probabilities; centred
    β       –            minimises ‖Y − k(X, l)β‖² + α·βᵀk(l, l)β   [Nyström; Williams and Seeger]

Then, as for a linear student, a constant sets how common classes are on average, and a factor
makes the student as sure as its teacher, of rows that neither has learnt from (`apart`): what a
release says of its own accuracy stays what it was, although the student is often better.

Where classes hardly overlap, the auxiliary rows lie in clumps. The line that noise has bent cuts
through the edges of some; a smooth function of nearness follows most rows of a clump and so mends
its edges. With two classes there are few such edges, and where classes overlap there are none:
measured, it gains nothing there (docs/how-to/choose.md). So by default it is taken for more than
two classes that hardly overlap, as far as what was released tells. Who asks for one elsewhere gets
one that learns probabilities: answers would cost up to 0.19 of the area under the curve.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ostraka.mechanism.mechanism import Mechanism
from ostraka.methods.after_noise.apart import hold_out, own_moves
from ostraka.methods.after_noise.student import Fitted, even_out, soften, sureness
from ostraka.methods.noisy_sum import differences
from ostraka.release.kernel_model import KernelModel, compare_rows
from ostraka.release.model import LinearModel
from ostraka.release.scoring import choose_classes
from ostraka.solve.losses import Array

__all__ = ["learn_kernel", "take_student"]

MOST_ROWS = 10_000
MOST_LANDMARKS = 1_500
MOST_JUDGED = 2_000
"""So many rows tell how sure a student is."""
RIDGE = 0.3
"""α."""
ROUNDING = 1e-8
"""Of N: what is added to the diagonal, so that landmarks that lie together can be told apart."""
ROWS_AT_ONCE = 1_000


def take_student(
    method: Any,
    mean: Array,
    mechanism: Mechanism,
    teacher: LinearModel,
    fitted: Fitted | None = None,
) -> KernelModel | None:
    """The kernel student of what a method has fitted, if there is to be one."""
    student = getattr(method, "student", "none")
    if student not in ("auto", "kernel"):
        return None
    can_tell = hasattr(method, "separates")
    helps = can_tell and method.n_classes > 2 and method.separates(mean, mechanism)
    if not (student == "kernel" or helps):
        return None
    objective = getattr(method, "objective", "accuracy")
    said = None if fitted is None else fitted.probabilities(objective)
    soft = getattr(method, "soft", can_tell and not helps)
    return learn_kernel(method.features, teacher, said, soft=soft)


def learn_kernel(
    features: Array, teacher: LinearModel, said: Array | None = None, *, soft: bool = False
) -> KernelModel:
    """The kernel ridge fit of the teacher's answers, or of its probabilities (`soft`).

    `said`: probabilities of each row by a teacher that has not learnt from it.
    """
    rows = _space(features, MOST_ROWS)
    probabilities = teacher.probabilities(rows) if said is None else _space(said, MOST_ROWS)
    landmarks = _space(rows, MOST_LANDMARKS)
    chosen = np.eye(probabilities.shape[1])[choose_classes(teacher.score_features(rows))]
    answers = probabilities if soft else chosen
    targets = answers - answers.mean(axis=0)
    slopes, gram = _fit(rows, landmarks, targets)
    fitted = np.concatenate(
        [compare_rows(block, landmarks) @ slopes for block in _cut(rows, ROWS_AT_ONCE)]
    )
    shares = probabilities.mean(axis=0)
    bias = (shares if soft else even_out(shares)) - fitted.mean(axis=0)
    near = compare_rows(_space(rows, MOST_JUDGED), landmarks)
    moves = own_moves(near, gram, np.ones(len(near)))
    apart = hold_out(_space(fitted, MOST_JUDGED), _space(targets, MOST_JUDGED), moves)
    factor = soften(apart + bias, sureness, sureness(probabilities))
    weights = differences(factor * np.vstack([slopes, bias]))
    return KernelModel(linear=teacher, landmarks=landmarks, weights=weights)


def _fit(rows: Array, landmarks: Array, answers: Array) -> tuple[Array, Array]:
    """β, and the matrix of its normal equations."""
    gram = RIDGE * compare_rows(landmarks, landmarks)
    aims = np.zeros((len(landmarks), answers.shape[1]))
    gram[np.diag_indices_from(gram)] += ROUNDING * len(rows)
    for block, wanted in zip(_cut(rows, ROWS_AT_ONCE), _cut(answers, ROWS_AT_ONCE)):
        near = compare_rows(block, landmarks)
        gram += near.T @ near
        aims += near.T @ wanted
    return np.asarray(np.linalg.solve(gram, aims)), gram


def _space(rows: Array, most: int) -> Array:
    """Evenly spaced rows, if there are more: whatever their order, which is public."""
    if len(rows) <= most:
        return rows
    return rows[np.linspace(0, len(rows) - 1, most).astype(np.intp)]


def _cut(rows: Array, step: int) -> list[Array]:
    return [rows[start : start + step] for start in range(0, len(rows), step)]
