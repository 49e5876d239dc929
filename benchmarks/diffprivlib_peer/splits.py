"""Write splits of the comparison for diffprivlib.

Usage: python -m benchmarks.diffprivlib_peer.splits har 3 folder
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

from ostraka.datasets import load
from ostraka.experiments.compare import CompareSettings, draw_split
from ostraka.experiments.tasks import TASKS


def main() -> None:
    """One file for each trial."""
    task, n_trials, folder = sys.argv[1], int(sys.argv[2]), Path(sys.argv[3])
    data = load(task, None)
    folder.mkdir(parents=True, exist_ok=True)
    for trial in range(n_trials):
        drawn = draw_split(data, CompareSettings(task=task), TASKS[task].panels[0], trial)
        np.savez(
            folder / f"{task}-{trial}.npz",
            features=drawn.parties.features,
            labels=drawn.parties.labels,
            test_features=drawn.test.features,
            test_labels=drawn.test.labels,
            test_repeats=drawn.test.repeats,
        )


if __name__ == "__main__":
    main()
