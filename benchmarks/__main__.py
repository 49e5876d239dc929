"""`python -m benchmarks`: run every comparison, print tables, write core.json and core.md.

The files go to benchmarks/results.
"""

from __future__ import annotations

import argparse
import platform
from pathlib import Path

import numpy as np
import scipy
import sklearn
from rich.console import Console
from threadpoolctl import threadpool_limits

from benchmarks import (
    casting,
    fitting,
    front_door,
    kdd99,
    local_training,
    many_parties,
    noise,
    solver,
    streaming,
)
from benchmarks.tables import RESULTS, Rows, draw_table, write_results


def main() -> None:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--out", type=Path, default=RESULTS, help="folder for core.json and core.md"
    )
    out = parser.parse_args().out
    console = Console()
    with console.status("Building the KDD-99 auxiliary problem"):
        auxiliary, shares = kdd99.auxiliary_problem()
    size = f"{auxiliary.n_samples} × {auxiliary.n_features}"
    sections: dict[str, Rows] = {}
    for threads, words in ((1, "one thread"), (None, "all cores")):
        with threadpool_limits(limits=threads, user_api="blas"):
            with console.status(f"Solvers, {words}"):
                sections[f"Solvers on KDD-99 ({size}), ‖∇R‖ ≤ 1e-8, {words}"] = solver.compare(
                    auxiliary, shares
                )
            with console.status(f"Ballots, {words}"):
                sections[f"Ballots of 5 000 linear classifiers on {size}, {words}"] = (
                    casting.compare(auxiliary)
                )
    with console.status("Noise"):
        sections["Exact ℓ2 draws"] = noise.compare()
        sections["Certified calibrations for ε = 1, δ = 1e-6"] = noise.calibrations()
    with console.status("Streams"):
        sections["Adding up what arrives"] = streaming.compare()
    with console.status("Local training"):
        sections["Local training, batched, against a loop over scikit-learn (‖∇R‖ ≤ 1e-8)"] = (
            local_training.compare()
        )
    with console.status("10 000 parties"):
        sections["A scikit-learn classifier for each of 10 000 parties"] = fitting.compare()
    with console.status("100 000 parties"):
        sections["`fit` of 100 000 parties of 10 × 50, one thread"] = many_parties.compare()
    with console.status("The front door"):
        sections |= at_the_front_door()
    for title, rows in sections.items():
        console.print(draw_table(title, rows))
    versions = {
        "python": platform.python_version(),
        "numpy": np.__version__,
        "scipy": scipy.__version__,
        "scikit-learn": sklearn.__version__,
    }
    write_results(out, "core", sections, versions=versions)


def at_the_front_door() -> dict[str, Rows]:
    """What everybody meets first, on one thread."""
    with threadpool_limits(limits=1, user_api="blas"):
        return {
            "Starting": front_door.start(),
            "`ostraka plan --auxiliary` on 5 000 × 100, 8 classes, one thread": front_door.plan(),
            "Predicting 1 000 000 × 50, one thread": front_door.predict(),
        }


if __name__ == "__main__":
    main()
