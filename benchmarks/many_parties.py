"""`PrivateClassifier.fit` of very many parties, against the work that cannot be avoided: a look at
every row, and one product of all rows with as many numbers as are sent.

Each runs in a process of its own, on one thread, so that the memory is its own.
"""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

__all__ = ["compare"]

N_PARTIES, SAMPLES_EACH, N_FEATURES, N_AUXILIARY = 100_000, 10, 50, 1000
PROGRAM = f"""
import json, resource, sys, time, warnings
import numpy as np
from threadpoolctl import threadpool_limits
from ostraka import PrivateClassifier

warnings.simplefilter("ignore")
rng = np.random.default_rng(0)
rows = rng.standard_normal(({N_PARTIES * SAMPLES_EACH}, {N_FEATURES}))
weights = rng.standard_normal({N_FEATURES})
labels = (rows @ weights + rng.standard_normal(len(rows)) > 0).astype(np.int64)
public = rng.standard_normal(({N_AUXILIARY}, {N_FEATURES}))
parties = np.repeat(np.arange({N_PARTIES}), {SAMPLES_EACH})


def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


def private():
    model = PrivateClassifier(epsilon=1.0, samples_each={SAMPLES_EACH}, natural=False)
    model.fit(rows, labels, parties=parties, auxiliary=public)


def bare():
    assert np.isfinite(rows).all()
    signed = rows * (2.0 * labels - 1.0)[:, np.newaxis]
    np.add.reduceat(signed @ np.eye({N_FEATURES}), np.arange({N_PARTIES}) * {SAMPLES_EACH}, axis=0)


work, before = locals()[sys.argv[1]], peak()
with threadpool_limits(limits=1):
    start = time.process_time()
    work()
    took = time.process_time() - start
print(json.dumps([took, peak() - before, peak()]))
"""


def compare() -> list[dict[str, Any]]:
    """Seconds of CPU, and gigabytes: beyond the rows, and in all."""
    names = {"bare": "numpy, means of all parties' rows", "private": "PrivateClassifier.fit"}
    found = {work: _run(work) for work in names}
    return [
        {
            "work": names[work],
            "seconds": took,
            "times_bare": took / found["bare"][0],
            "more_gigabytes": more,
            "gigabytes": peak,
        }
        for work, (took, more, peak) in found.items()
    ]


def _run(work: str) -> tuple[float, float, float]:
    command = [sys.executable, "-c", PROGRAM, work]
    said = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    took, more, peak = json.loads(said)
    return took, more, peak
