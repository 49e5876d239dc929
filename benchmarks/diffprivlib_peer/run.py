"""Logistic regression of IBM's diffprivlib on pooled data, in a separate environment.

See README.md.

Guarantee: its ε is pure and about one SAMPLE (neighbours differ in one row). A whole party of up to
n samples is protected at n times that, by group privacy, so for ε per party the library is given
ε/n (`--samples-each`); with n = 1 the number stays a promise about samples.

Trust: one place holds everybody's rows. Tuning: C is chosen by test accuracy, best mean, which
favours it.

Source: Chaudhuri, Monteleoni, Sarwate 2011 (objective perturbation), as implemented in diffprivlib
0.6.6. Rows must lie in the unit ball and data_norm stays 1: at other norms the library's
sensitivity is wrong.
"""

from __future__ import annotations

import argparse
import json
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

PENALTIES = (0.000001, 0.0001, 0.01, 1.0, 100.0, 10000.0)
"""scikit-learn's C: one over λ times the number of rows."""
LARGEST_NORM = 1.0 + 1e-9

Array = NDArray[Any]


def main() -> None:
    """Read, fit, print JSON."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "data",
        type=Path,
        nargs="+",
        help="npz with features, labels, test_features, test_labels, "
        "and test_repeats if rows stand for several",
    )
    parser.add_argument(
        "--epsilon",
        type=float,
        action="append",
        required=True,
        help="per party; may be given several times",
    )
    parser.add_argument(
        "--samples-each",
        type=int,
        required=True,
        help="the most samples of a party; 1 for a promise about samples",
    )
    parser.add_argument("--draws", type=int, default=5)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    splits = [read(path) for path in given.data]
    json.dump(
        [
            measure(splits, epsilon, given.samples_each, given.draws, given.seed)
            for epsilon in given.epsilon
        ],
        sys.stdout,
        indent=1,
    )
    print()


def read(path: Path) -> dict[str, Array]:
    """One split, checked."""
    with np.load(path, allow_pickle=False) as stored:
        data = {name: stored[name] for name in stored.files}
    longest = float(np.linalg.norm(data["features"], axis=1).max())
    if not longest <= LARGEST_NORM:
        sys.exit(
            f"A row has the norm {longest}; allowed: up to 1. "
            "Scale by a public number. Nothing was fitted."
        )
    return data


def measure(
    splits: list[dict[str, Array]], epsilon: float, samples_each: int, n_draws: int, seed: int
) -> dict[str, Any]:
    """The best C at one ε."""
    per_sample = epsilon / samples_each
    by_penalty = {
        C: [
            accuracy(data, per_sample, C, seed + draw) for data in splits for draw in range(n_draws)
        ]
        for C in PENALTIES
    }
    best = max(by_penalty, key=lambda C: float(np.mean(by_penalty[C])))
    return {
        "epsilon": epsilon,
        "epsilon_per_sample": per_sample,
        "guarantee": "pure ε, party, by group privacy" if samples_each > 1 else "pure ε, sample",
        "C": best,
        "mean": float(np.mean(by_penalty[best])),
        "accuracies": by_penalty[best],
    }


def accuracy(data: dict[str, Array], epsilon: float, C: float, seed: int) -> float:
    """Of one private fit."""
    from diffprivlib.models import LogisticRegression  # type: ignore[import-not-found]

    model = LogisticRegression(
        epsilon=epsilon, data_norm=1.0, C=C, fit_intercept=False, max_iter=1000, random_state=seed
    )
    with warnings.catch_warnings():
        # The library uses deprecated names, and its noise keeps lbfgs from converging.
        warnings.simplefilter("ignore")
        right = (
            model.fit(data["features"], data["labels"]).predict(data["test_features"])
            == data["test_labels"]
        )
    repeats = data.get("test_repeats", np.ones(len(right)))
    return float(right @ repeats / repeats.sum())


if __name__ == "__main__":
    main()
