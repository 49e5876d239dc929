"""What everybody meets first: starting, the command's help, a plan, predictions; against what none
of them can do without.

what        against
start       a Python that imports numpy and does nothing else
plan        scikit-learn's clustering of the same rows into as many cells as a plan needs at most
predict     the same steps written down in numpy, on all rows at once and in blocks
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.cluster import KMeans

from benchmarks.timing import best_times
from ostraka.public.task import Task
from ostraka.public.whitening import half_whiten
from ostraka.release.model import LinearModel

__all__ = ["plan", "predict", "start"]

COMMAND = "from ostraka.cli.app import main; main()"
ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
N_PLANNED, N_PLANNED_COLUMNS, N_CLASSES, N_CELLS = 5_000, 100, 8, 500
N_PREDICTED, N_COLUMNS, BLOCK_ROWS = 1_000_000, 50, 4096

Array = NDArray[np.float64]


def start() -> list[dict[str, Any]]:
    """Seconds until each is done, and how many times those of importing numpy."""
    codes = {
        "import numpy": ("import numpy",),
        "import ostraka": ("import ostraka",),
        "ostraka --help": (COMMAND, "--help"),
        "ostraka learn --help": (COMMAND, "learn", "--help"),
    }
    seconds = best_times({name: _process(*words) for name, words in codes.items()}, rounds=7)
    return [
        {"work": name, "seconds": took, "times_numpy": took / seconds["import numpy"]}
        for name, took in seconds.items()
    ]


def plan() -> list[dict[str, Any]]:
    """Processor seconds of a forecast on one thread, and how many times those of its largest
    clustering.
    """
    rows = _clustered_rows()
    clustering = KMeans(N_CELLS, n_init=3, random_state=0)
    began = time.process_time()
    clustering.fit(rows)
    yardstick = time.process_time() - began
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "public.csv"
        header = ",".join(f"c{column}" for column in range(rows.shape[1]))
        np.savetxt(path, rows, fmt="%.5f", delimiter=",", header=header, comments="")
        options = f"--parties 5000 --classes {N_CLASSES} --samples-each 20 --auxiliary {path}"
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        _process(COMMAND, "plan", *options.split())()
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
    took = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return [
        {"work": name, "cpu_seconds": seconds, "times_clustering": seconds / yardstick}
        for name, seconds in (("clustering", yardstick), ("plan", took))
    ]


def predict() -> list[dict[str, Any]]:
    """Seconds for each number of classes, and how many times those of numpy."""
    samples = np.random.default_rng(0).standard_normal((N_PREDICTED, N_COLUMNS))
    return [row for n_classes in (2, N_CLASSES) for row in _predict(samples, n_classes)]


def _predict(samples: Array, n_classes: int) -> list[dict[str, Any]]:
    preprocessing = half_whiten(samples[:5000], n_classes)
    n_features = preprocessing.n_features(N_COLUMNS)
    task = Task(classes=tuple(range(n_classes)), n_features=n_features, preprocessing=preprocessing)
    weights = np.random.default_rng(1).standard_normal(task.weight_shape)
    model = LinearModel(task=task, weights=weights)
    blocks = range(0, N_PREDICTED, BLOCK_ROWS)
    seconds = best_times(
        {
            "numpy": lambda: _bare(samples, model),
            "numpy in blocks": lambda: [
                _bare(samples[first : first + BLOCK_ROWS], model) for first in blocks
            ],
            "predict": lambda: model.predict(samples),
        }
    )
    return [
        {
            "work": name,
            "classes": n_classes,
            "seconds": took,
            "times_numpy": took / seconds["numpy"],
        }
        for name, took in seconds.items()
    ]


def _bare(samples: Array, model: LinearModel) -> NDArray[Any]:
    """Centre, scale, project, divide, clip, append, multiply, choose: nothing checked."""
    p = model.task.preprocessing
    assert p.center is not None
    assert p.scale is not None
    assert p.components is not None
    rows = (samples - p.center) / p.scale @ p.components / p.radius
    rows /= np.maximum(np.sqrt(np.einsum("ij,ij->i", rows, rows)), 1.0)[:, np.newaxis]
    rows *= np.sqrt(1.0 - p.constant**2)
    scores = np.column_stack([rows, np.full(len(rows), p.constant)]) @ model.weights
    return scores >= 0.0 if scores.ndim == 1 else scores.argmax(axis=1)


def _clustered_rows() -> Array:
    """Sixteen clouds of one shape."""
    generator = np.random.default_rng(0)
    centres = 1.5 * generator.standard_normal((16, N_PLANNED_COLUMNS))
    shape = generator.standard_normal((N_PLANNED_COLUMNS, N_PLANNED_COLUMNS)) / 10.0
    drawn = generator.standard_normal((N_PLANNED, N_PLANNED_COLUMNS)) @ shape
    rows: Array = centres[generator.integers(0, 16, N_PLANNED)] + drawn
    return rows


def _process(*words: str) -> Any:
    """What runs a Python of its own with this code and these arguments."""
    command, environment = [sys.executable, "-c", *words], {**os.environ, **ONE_THREAD}
    return lambda: subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env=environment)
