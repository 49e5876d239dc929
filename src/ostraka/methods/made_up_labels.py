"""Labels for public rows that have nothing to do with the truth, but look as labels do.

    name here   meaning
    columns     a column of the public table is the label, all others are the features: columns of a
                table depend on each other much as a label depends on them, unless they are copies
    lines       a random softmax model, with classes more or less apart and more or less common
    clusters    classes are one cluster of the rows each, two, or four

Some of the labels are wrong. Which kinds there are depends on the table (`public.measured`): where
its columns are measured numbers, most of its worlds are clusters, where they are categories, none.

Everything is public.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from ostraka.methods.after_noise.denoise import signal_shares
from ostraka.methods.cells import count_distinct
from ostraka.public.auxiliary import AuxiliarySet
from ostraka.public.classes import Indices
from ostraka.public.measured import encoded_rows, share_measured
from ostraka.public.whitening import Whitening, half_whiten
from ostraka.solve.losses import Array

__all__ = ["N_WORLDS", "group_columns", "label_rows", "near_centres"]

N_WORLDS = 12
MOST_CLUSTERS = 9
"""Of the worlds, where all columns are measured numbers."""
CLUSTERED_ROWS = 1000
MOST_WRONG = 0.4
"""At most this share of the labels is drawn at random, in worlds of columns or clusters."""
COMMONEST = 0.97
"""A column in which one value is more common says nothing."""
COPIED = 0.7
"""A column is no label if this share of what guessing leaves open follows from the others."""
EVEN = 2.0
"""How evenly the values of a number fall into classes: the parameter of a Dirichlet law."""
MOST_TRIED = 40
APART = (0.7, 1.5, 3.0, 6.0)
"""How far apart the classes of lines are, one after another."""
RAREST = 1e-3

Labelled = tuple[AuxiliarySet, Indices]


def label_rows(auxiliary: AuxiliarySet, generator: np.random.Generator) -> list[Labelled]:
    """A dozen labellings, each with the rows that it labels."""
    small, encoded = _sample(auxiliary)
    n_clusters = round(MOST_CLUSTERS * share_measured(encoded))
    n_columns = 0 if encoded is None else (N_WORLDS - n_clusters) // 2
    found = []
    if encoded is not None and n_columns:
        found += list(_of_columns(auxiliary, encoded, n_columns, generator))
    found += list(_of_clusters(small, n_clusters, generator))
    return [*found, *_of_lines(small, N_WORLDS - len(found), generator)]


def near_centres(features: Array, n: int, generator: np.random.Generator) -> NDArray[np.int64]:
    """Which of so many clusters each row is in."""
    from sklearn.cluster import KMeans

    rows = features[generator.permutation(len(features))[:CLUSTERED_ROWS]]
    n, seed = min(n, count_distinct(rows)), int(generator.integers(2**31))
    centres = KMeans(n, n_init=1, random_state=seed).fit(rows).cluster_centers_
    squares = np.einsum("ij,ij->i", centres, centres) / 2.0
    return np.asarray(np.argmax(features @ centres.T - squares, axis=1))


def _sample(auxiliary: AuxiliarySet) -> tuple[AuxiliarySet, Array | None]:
    """So many rows are enough to tell methods apart; and the same rows before the preprocessing."""
    rows, encoded = encoded_rows(auxiliary)
    if auxiliary.n_samples <= len(rows):
        return auxiliary, encoded
    return AuxiliarySet(auxiliary.features[rows], auxiliary.classes), encoded


def _of_columns(
    auxiliary: AuxiliarySet, encoded: Array, n: int, generator: np.random.Generator
) -> Iterator[Labelled]:
    """As many as there are columns that can be labels."""
    groups = group_columns(encoded)
    if auxiliary.columns is not None:
        widths = [column.width for column in auxiliary.columns.columns]
        groups = np.repeat(np.arange(len(widths)), widths)
    found = 0
    for group in generator.permutation(groups[-1] + 1)[:MOST_TRIED]:
        labels = _labels_of(encoded[:, groups == group], auxiliary.n_classes, generator)
        rest = encoded[:, groups != group]
        rest = rest[:, (rest != rest[:1]).any(axis=0)]
        if labels is None or not rest.shape[1] or _is_copied(labels, rest):
            continue
        plain = auxiliary.preprocessing is None  # the samples are features already
        fitted = None if plain else half_whiten(rest, auxiliary.n_classes)
        yield (
            AuxiliarySet(rest, auxiliary.classes, preprocessing=fitted),
            _mix_up(labels, generator),
        )
        found += 1
        if found == n:
            return


def _is_copied(labels: Indices, rest: Array) -> bool:
    """Whether a line through the other columns tells nearly every label, as a copy of it would."""
    answers = np.eye(labels.max() + 1)[labels]
    # Of range 1 first: columns may hold numbers whose squares overflow.
    ranges = np.abs(rest).max(axis=0)
    rest = rest / np.where(ranges > 0.0, ranges, 1.0)
    spread = rest.std(axis=0)
    white = (rest - rest.mean(axis=0)) / np.where(spread > 0.0, spread, 1.0)
    gram = white.T @ white / len(white) + np.eye(white.shape[1]) / len(white)
    fitted = np.linalg.solve(gram, white.T @ (answers - answers.mean(axis=0)) / len(white))
    right = np.mean((white @ fitted + answers.mean(axis=0)).argmax(axis=1) == labels)
    guess = float(answers.mean(axis=0).max())
    return bool(right - guess > COPIED * (1.0 - guess))


def group_columns(encoded: Array) -> Indices:
    """Which columns belong together: neighbours of nothing but 0 and 1 of which no row has two.

    These are the values of one category, as far as one can tell.
    """
    groups = np.zeros(encoded.shape[1], dtype=np.int64)
    taken = np.ones(len(encoded), dtype=np.bool_)  # the first column opens a group
    for number, column in enumerate(encoded.T):
        here, flag = column != 0.0, bool(np.isin(column, (0.0, 1.0)).all())
        opens = not flag or bool((taken & here).any()) or number == 0
        groups[number] = groups[max(number - 1, 0)] + (opens and number > 0)
        taken = (here if opens else taken | here) if flag else np.ones_like(taken)
    return groups


def _labels_of(
    column: Array, n_classes: int, generator: np.random.Generator
) -> NDArray[np.int64] | None:
    """Classes by a column's values, or by what range they lie in; None if hardly any differ."""
    if column.shape[1] > 1 and np.isin(column, (0.0, 1.0)).all():
        values = np.where(column.any(axis=1), column.argmax(axis=1), column.shape[1])
        order = np.argsort(-np.bincount(values), kind="stable")
        ranks = np.empty(len(order), dtype=np.int64)
        ranks[order] = np.minimum(np.arange(len(order)), n_classes - 1)
        labels = ranks[values]
    else:
        cuts = np.cumsum(generator.dirichlet(np.full(n_classes, EVEN)))[:-1]
        numbers = column[:, 0]
        bounds = np.unique(np.quantile(numbers, cuts))
        labels = np.searchsorted(bounds, numbers, side="right").astype(np.int64)
    if np.bincount(labels).max() > COMMONEST * len(labels):
        return None
    return np.asarray(generator.permutation(n_classes)[labels], dtype=np.int64)


def _of_clusters(
    auxiliary: AuxiliarySet, n: int, generator: np.random.Generator
) -> Iterator[Labelled]:
    n_classes = auxiliary.n_classes
    for number in range(n):
        nearest = near_centres(auxiliary.features, n_classes * (1 << number % 3), generator)
        labels = generator.permutation(np.arange(nearest.max() + 1) % n_classes)[nearest]
        yield auxiliary, _mix_up(labels, generator)


def _of_lines(
    auxiliary: AuxiliarySet, n: int, generator: np.random.Generator
) -> Iterator[Labelled]:
    features, n_classes = auxiliary.features, auxiliary.n_classes
    whitening = Whitening.of(features, centred=True)
    white = (features - features.mean(axis=0)) @ whitening.map(whitening.rank)
    sizes = np.sqrt(signal_shares(whitening.values))[:, np.newaxis]
    for number in range(n):
        scores = white @ (sizes * generator.standard_normal((len(sizes), n_classes)))
        common = np.log(generator.dirichlet(np.ones(n_classes)) + RAREST)
        apart = APART[number % len(APART)] * scores + common
        labels = (apart + generator.gumbel(size=apart.shape)).argmax(axis=1)
        yield auxiliary, np.asarray(labels, dtype=np.int64)


def _mix_up(labels: Indices, generator: np.random.Generator) -> Indices:
    """Some of the labels are those of other rows."""
    wrong = generator.random(len(labels)) < generator.uniform(0.0, MOST_WRONG)
    return np.where(wrong, generator.permutation(labels), labels)
