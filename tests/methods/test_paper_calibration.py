"""Paper calibration draws the paper's noise: the scale is the printed one, up to the stated solver and grid terms."""

from __future__ import annotations

import math

import numpy as np
import pytest

from ostraka.auxiliary import AuxiliarySet
from ostraka.certificate import Certificate
from ostraka.methods import avg, soft, vote
from ostraka.methods.terms import Terms
from ostraka.model import Task
from ostraka.preprocessing import Preprocessing
from tests.sensitivity.worlds import unit_rows

M, N, D, LAMBDA, EPSILON = 1000, 200, 6, 1e-4, 0.3
ROOT2 = math.sqrt(2)


def certificates(n_classes: int) -> dict[str, Certificate]:
    auxiliary = AuxiliarySet(unit_rows(np.random.default_rng(0), N, D), tuple(range(n_classes)))
    terms = Terms(epsilon=EPSILON, lambda_=LAMBDA, calibration="paper")
    return {
        "soft": soft.plan(auxiliary, M, terms).certificate,
        "vote": vote.plan(auxiliary, M, terms).certificate,
        "avg": avg.plan(Task.of(auxiliary), M, terms).certificate,
    }


@pytest.mark.parametrize(
    ("method", "n_classes", "rate"),
    [
        ("soft", 2, M * LAMBDA * EPSILON / 2),
        ("soft", 5, M * LAMBDA * EPSILON / ROOT2),
        ("vote", 2, LAMBDA * EPSILON / 2),
        ("vote", 5, LAMBDA * EPSILON / ROOT2),
        ("avg", 2, M * LAMBDA * EPSILON / 2),
        ("avg", 5, M * LAMBDA * EPSILON / (2 * ROOT2)),
    ],
)
def test_the_density_falls_at_the_papers_rate(method: str, n_classes: int, rate: float) -> None:
    """Density ∝ exp(−rate·‖η‖) means scale = 1/rate."""
    certificate = certificates(n_classes)[method]
    assert 1 / rate <= certificate.noise_scale <= (1 / rate) * (1 + 2e-6)
    assert certificate.dimension == (D if n_classes == 2 else D * n_classes)
    parts = certificate.sensitivity_parts
    assert parts.rule == "paper"
    assert parts.solver + parts.rounding + parts.grid <= 2e-6 * parts.bound


def test_a_private_auxiliary_set_costs_soft_the_papers_factor() -> None:
    auxiliary = AuxiliarySet(unit_rows(np.random.default_rng(0), N, D), (0, 1), preprocessing=Preprocessing(), private=True)
    terms = Terms(epsilon=EPSILON, lambda_=LAMBDA, calibration="paper")
    s = 2 / (LAMBDA * M) * (N + M - 1) / N
    assert s <= soft.plan(auxiliary, M, terms).certificate.sensitivity_parts.bound <= s * (1 + 1e-11)
    s = 2 / LAMBDA
    assert s <= vote.plan(auxiliary, M, terms).certificate.sensitivity_parts.bound <= s * (1 + 1e-11)
