"""Paper calibration draws the paper's noise, of the printed scale.

It differs only by the stated solver and grid terms.
"""

from __future__ import annotations

import math

import numpy as np
import pytest

from ostraka.mechanism.mechanism import Mechanism
from ostraka.poll import Poll
from ostraka.public.auxiliary import AuxiliarySet
from ostraka.public.preprocessing import Preprocessing
from ostraka.release.certificate import PerturbedMinimiser
from tests.mechanism.worlds import unit_rows

M, N, D, LAMBDA, EPSILON = 1000, 200, 6, 1e-4, 0.3
ROOT2 = math.sqrt(2)


def mechanism(method: str, n_classes: int) -> Mechanism:
    auxiliary = AuxiliarySet(unit_rows(np.random.default_rng(0), N, D), tuple(range(n_classes)))
    return _poll(auxiliary, method).mechanism(M)


def _poll(auxiliary: AuxiliarySet, method: str) -> Poll:
    return Poll.create(
        auxiliary, method=method, epsilon=EPSILON, parties=M, lambda_=LAMBDA, calibration="paper"
    )


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
    made = mechanism(method, n_classes)
    assert 1 / rate <= made.noise_scale / made.divisor * (1 + 2e-6)
    assert made.noise_scale / made.divisor <= (1 / rate) * (1 + 2e-6)
    assert made.dimension == (D if n_classes == 2 else D * n_classes)
    own = made.particular
    if isinstance(own, PerturbedMinimiser):
        assert own.rule == "paper"
        assert own.solver + own.rounding + own.on_grid <= 2e-6 * own.bound
    else:
        assert method == "avg"


def test_a_private_auxiliary_set_costs_soft_the_papers_factor() -> None:
    auxiliary = AuxiliarySet(
        unit_rows(np.random.default_rng(0), N, D),
        (0, 1),
        preprocessing=Preprocessing(),
        private=True,
    )
    s = 2 / (LAMBDA * M) * (N + M - 1) / N
    assert s <= _poll(auxiliary, "soft").mechanism(M).particular.bound <= s * (1 + 1e-11)
    s = 2 / LAMBDA
    assert s <= _poll(auxiliary, "vote").mechanism(M).particular.bound <= s * (1 + 1e-11)
