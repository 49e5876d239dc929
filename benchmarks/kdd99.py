"""The auxiliary problem of the paper's intrusion task: 43 000 connections of KDD-99, one-hot encoded, labelled softly by an ensemble."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ostraka.auxiliary import AuxiliarySet
from ostraka.datasets import load
from ostraka.experiments.tasks import TASKS, split
from ostraka.local.parties import tally_linear_parties

__all__ = ["auxiliary_problem"]

N_PARTIES = 300


def auxiliary_problem(seed: int = 0) -> tuple[AuxiliarySet, NDArray[np.float64]]:
    """The auxiliary set and the share of votes for "attack" on each of its samples."""
    drawn = split(load("kdd99"), TASKS["kdd99"], N_PARTIES, np.random.default_rng(seed))
    return drawn.auxiliary, tally_linear_parties(drawn.parties, drawn.auxiliary, 1e-4, "logistic").shares()[:, 1]
