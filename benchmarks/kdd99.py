"""The auxiliary problem of the paper's intrusion task: 43 000 connections of KDD-99, one-hot encoded, labelled softly by an ensemble."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ostraka.auxiliary import AuxiliarySet
from ostraka.local.ensemble import tally_linear
from ostraka.local.linear import train
from ostraka.model import Task

__all__ = ["auxiliary_problem", "data_folder"]

FILE = "kddcup.data_10_percent.gz"
CATEGORICAL = [1, 2, 3]
N_AUXILIARY, N_PARTIES, SAMPLES_EACH = 43_000, 300, 22


def data_folder() -> Path:
    """Where the data sets lie, or an explanation."""
    folder = Path(os.environ.get("OSTRAKA_DATA") or "data")
    if not (folder / FILE).exists():
        raise SystemExit(
            f"The benchmarks need {FILE} (KDD Cup 1999, UCI Machine Learning Repository, data set 130).\n"
            f"It is not in {folder}. Put it there, or set OSTRAKA_DATA to the folder that holds it."
        )
    return folder


def auxiliary_problem(seed: int = 0) -> tuple[AuxiliarySet, NDArray[np.float64]]:
    """The auxiliary set and the share of votes for "attack" on each of its samples."""
    table = pd.read_csv(data_folder() / FILE, header=None)
    table = table.astype(dict.fromkeys(CATEGORICAL, "category"))  # all categories of the file, also those that the sample lacks
    order = np.random.default_rng(seed).permutation(len(table))[: N_AUXILIARY + N_PARTIES * SAMPLES_EACH]
    table = table.iloc[order]
    attack = np.where(table[41] == "normal.", "normal", "attack")
    rows = _encoded(table.drop(columns=41))
    auxiliary = AuxiliarySet.scaled(rows[:N_AUXILIARY], ("normal", "attack"))
    parties = np.arange(N_AUXILIARY, len(rows)).reshape(N_PARTIES, SAMPLES_EACH)
    task = Task.of(auxiliary)
    weights = np.stack([train(rows[party], attack[party], task) for party in parties])
    return auxiliary, tally_linear(weights, auxiliary).shares()[:, 1]


def _encoded(table: pd.DataFrame) -> NDArray[np.float64]:
    """Categories one-hot, counts on a logarithmic scale, every column in [0, 1]."""
    numbers = np.log1p(table.drop(columns=CATEGORICAL).to_numpy(dtype=np.float64))
    numbers /= np.maximum(numbers.max(axis=0), 1e-12)
    categories = pd.get_dummies(table[CATEGORICAL]).to_numpy(dtype=np.float64)
    return np.hstack([numbers, categories])
