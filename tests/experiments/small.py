"""A small data set and a task to match, so that whole experiments run in a second."""

from __future__ import annotations

import numpy as np
import pytest

from ostraka.datasets.dataset import Dataset, Labelled
from ostraka.experiments import tasks
from ostraka.experiments.tasks import PaperTask
from ostraka.public.preprocessing import Preprocessing


def small_dataset(n_classes: int = 2, n: int = 900, d: int = 6, seed: int = 0) -> Dataset:
    """Gaussian blobs around points of the simplex; sources alternate between three."""
    generator = np.random.default_rng(seed)
    labels = generator.integers(0, n_classes, n)
    samples = generator.standard_normal((n, d)) * 0.6
    samples[np.arange(n), labels] += 2.0
    cut = n * 2 // 3
    sources = np.array(["a", "b", "c"])[np.arange(n) % 3]
    return Dataset(
        name="small",
        classes=tuple(map(str, range(n_classes))),
        train=Labelled(samples[:cut], labels[:cut], sources[:cut]),
        test=Labelled(samples[cut:], labels[cut:]),
    )


SMALL = PaperTask(
    name="small",
    title="Small",
    panels=(20, 40),
    samples_each=5,
    n_auxiliary=150,
    prepare=lambda samples, centre: Preprocessing.fit(samples),
)


@pytest.fixture
def small_task(monkeypatch: pytest.MonkeyPatch) -> PaperTask:
    monkeypatch.setitem(tasks.TASKS, "small", SMALL)
    return SMALL
