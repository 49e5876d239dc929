"""The auxiliary problem of the paper's intrusion task, labelled softly by an ensemble.

It has 43 000 connections of KDD-99, one-hot encoded.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ostraka.datasets import load
from ostraka.experiments.tasks import TASKS, split
from ostraka.party.training.votes import count_linear_votes
from ostraka.public.auxiliary import AuxiliarySet

__all__ = ["auxiliary_problem"]

N_PARTIES = 300


def auxiliary_problem(seed: int = 0) -> tuple[AuxiliarySet, NDArray[np.float64]]:
    """The auxiliary set and the share of votes for "attack" on each of its samples."""
    drawn = split(load("kdd99"), TASKS["kdd99"], N_PARTIES, np.random.default_rng(seed))
    blocks = count_linear_votes(drawn.parties, drawn.auxiliary.features, 2, 1e-4, "logistic")
    counts = np.sum([block for _, block in blocks], axis=0)
    return drawn.auxiliary, counts[:, 1] / len(drawn.parties)
