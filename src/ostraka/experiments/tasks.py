"""The paper's tasks, two of our own, and how a trial splits them.

Scale and principal components are fitted on a trial's auxiliary samples alone, then every row is
clipped to the unit ball: no other private row affects what happens to a private row.

Source: Hamm, Cao, Belkin, ICML 2016, section 6, for the sizes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from ostraka.datasets.dataset import Dataset, Labelled
from ostraka.errors import InputError, ParameterError, count
from ostraka.party.rows import Parties
from ostraka.public.auxiliary import AuxiliarySet
from ostraka.public.classes import Indices
from ostraka.public.components import occupied_columns, principal_components
from ostraka.public.numbers import Features, Samples, is_sparse
from ostraka.public.preprocessing import Preprocessing
from ostraka.public.whitening import half_whiten

__all__ = [
    "TASKS",
    "PaperTask",
    "Split",
    "Test",
    "check_fits",
    "score_guessing",
    "half_whiten_features",
    "n_natural",
    "own_task",
    "split",
]

N_COMPONENTS = 50


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class PaperTask:
    """Sizes of an experiment, and the public way from samples to features."""

    name: str
    title: str
    panels: tuple[int, ...]
    """Numbers of parties in the paper, one panel of the figure each."""
    samples_each: int
    n_auxiliary: int
    prepare: Callable[[Samples, bool], Callable[[Samples], Features]]
    """From auxiliary samples, and whether to subtract their mean, to a map to features."""


@final
@dataclass(frozen=True, slots=True, eq=False)
class Test:
    """What accuracy is measured on; a row may stand for several equal ones."""

    features: Features
    labels: Indices
    repeats: NDArray[np.int64]

    @property
    def n_samples(self) -> int:
        """With repetitions."""
        return int(self.repeats.sum())


@final
@dataclass(frozen=True, slots=True, eq=False)
class Split:
    """One trial's view of the data."""

    auxiliary: AuxiliarySet
    parties: Parties
    test: Test


def split(
    data: Dataset,
    task: PaperTask,
    n_parties: int,
    generator: np.random.Generator,
    *,
    natural: bool = False,
    centre: bool = False,
    rare: float = 1.0,
) -> Split:
    """Draw an auxiliary set and parties from the training rows.

    Parties are random, or (`natural`) follow where the rows came from. With `rare` below 1 the
    auxiliary set is not like the private data: it keeps only this share of every second class.
    """
    train = data.train
    n = train.labels.shape[0]
    order = generator.permutation(n)
    public, rest = order[: task.n_auxiliary], order[task.n_auxiliary :]
    if rare < 1.0:
        public = public[(train.labels[public] % 2 == 0) | (generator.random(len(public)) < rare)]
    private, names = _natural(train, rest) if natural else _equal(rest, n_parties, task)
    features = task.prepare(train.samples[public], centre)
    shown = train.samples[public]
    if isinstance(features, Preprocessing):  # the choice of a method looks at columns, too
        auxiliary = AuxiliarySet(shown, data.classes, preprocessing=features)
    else:
        auxiliary = AuxiliarySet(features(shown), data.classes)
    parties = Parties.group(features(train.samples[private]), train.labels[private], names)
    repeats = np.ones_like(data.test.labels) if data.test.repeats is None else data.test.repeats
    return Split(auxiliary, parties, Test(features(data.test.samples), data.test.labels, repeats))


def own_task(name: str, samples_each: int, n_auxiliary: int) -> PaperTask:
    """The task of a table of the user's own."""
    return PaperTask(
        name=name,
        title=name,
        panels=(),
        samples_each=samples_each,
        n_auxiliary=n_auxiliary,
        prepare=_standardise,
    )


def n_natural(data: Dataset) -> int:
    """How many natural parties the training rows have."""
    if data.train.sources is None:
        raise InputError(
            f"The rows of {data.name} do not say where they came from.",
            "Natural parties: har (people), urls (collections).",
        )
    return len(np.unique(data.train.sources))


def score_guessing(data: Dataset) -> float:
    """The accuracy of guessing: always the commonest class in training."""
    seen, asked = (
        np.bincount(part.labels, weights=part.repeats, minlength=len(data.classes))
        for part in (data.train, data.test)
    )
    return float(asked[np.argmax(seen)] / asked.sum())


def check_fits(data: Dataset, task: PaperTask, n_parties: int) -> None:
    """Refuse more parties than there are rows for."""
    most = (data.train.labels.shape[0] - task.n_auxiliary) // task.samples_each
    if not 2 <= count("parties", n_parties, 0) <= most:
        each = f"{task.samples_each} samples each, {task.n_auxiliary} rows being public"
        raise ParameterError("parties", got=n_parties, allowed=f"2 to {most}: {each}")


def _equal(
    rest: NDArray[np.intp], n_parties: int, task: PaperTask
) -> tuple[NDArray[np.intp], NDArray[Any]]:
    return rest[: n_parties * task.samples_each], np.repeat(np.arange(n_parties), task.samples_each)


def _natural(train: Labelled, rest: NDArray[np.intp]) -> tuple[NDArray[np.intp], NDArray[Any]]:
    assert train.sources is not None
    return rest, train.sources[rest]


def _components(samples: Samples, centre: bool) -> Callable[[Samples], Features]:
    """Principal components of the auxiliary samples, scaled by the longest of them."""
    # Columns that are empty in all auxiliary samples say nothing.
    kept = occupied_columns(samples) if is_sparse(samples) else None
    narrow = samples if kept is None else samples[:, kept]
    mean, components = principal_components(narrow, N_COMPONENTS, centre=centre)
    fitted = Preprocessing(center=mean if centre else None, components=components).scale_to(narrow)
    return fitted if kept is None else lambda rows: fitted(rows[:, kept])


def half_whiten_features(
    samples: Samples,
    centre: bool,  # noqa: ARG001
    n_classes: int,
) -> Callable[[Samples], Features]:
    """What our methods and their peers see: `whitening.half_whiten`, of columns that occur."""
    kept = occupied_columns(samples) if is_sparse(samples) else None
    fitted = half_whiten(samples if kept is None else samples[:, kept], n_classes)
    return fitted if kept is None else lambda rows: fitted(rows[:, kept])


def _ranges(samples: Samples, centre: bool) -> Callable[[Samples], Features]:  # noqa: ARG001
    """Columns divided by their largest value in an auxiliary sample, rows by the longest norm.

    One-hot rows stay non-negative.
    """
    largest = np.abs(samples).max(axis=0).astype(np.float64)
    return Preprocessing(scale=np.where(largest > 0.0, largest, 1.0)).scale_to(samples)


def _standardise(samples: Samples, centre: bool) -> Callable[[Samples], Features]:  # noqa: ARG001
    return Preprocessing.fit(samples, standardise=True, quantile=0.95)


TASKS = {
    task.name: task
    for task in (
        PaperTask(
            name="har",
            title="Activity (UCI HAR)",
            panels=(1000,),
            samples_each=6,
            n_auxiliary=1352,
            prepare=_components,
        ),
        PaperTask(
            name="kdd99",
            title="Intrusion (KDD-99)",
            panels=(5000, 10000, 20000),
            samples_each=22,
            n_auxiliary=43000,
            prepare=_ranges,
        ),
        PaperTask(
            name="url",
            title="Malicious URL",
            panels=(5000, 10000, 20000),
            samples_each=9,
            n_auxiliary=16000,
            prepare=_components,
        ),
        PaperTask(
            name="urls",
            title="Malicious URLs (stand-in)",
            panels=(5000, 10000, 20000),
            samples_each=9,
            n_auxiliary=16000,
            prepare=_components,
        ),
        PaperTask(
            name="digits",
            title="Handwritten digits",
            panels=(200,),
            samples_each=5,
            n_auxiliary=400,
            prepare=_standardise,
        ),
    )
}
