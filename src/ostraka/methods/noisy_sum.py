"""What methods share that add noise to the sum of what parties send.

These are `moments`, `cells`, `refine`, `avg` and `consensus`.

    letter  name here   meaning
    M       n_units     public, and only a divisor: the promise is about the sum,
                        so a wrong M cannot break it
    g       grid        what one unit of the lattice is worth, a power of two
    B       ball        what a party may send; two of its points are at most 2·length apart

Guarantee (noisy_sum.proof.md): the release is (ε, δ)-differentially private for one protected unit.
Everything after the noise is post-processing.
"""

from __future__ import annotations

import math

import numpy as np

from ostraka.errors import ParameterError
from ostraka.mechanism.laplace import DiscreteLaplace
from ostraka.mechanism.laws import l1_law, l2_law
from ostraka.mechanism.mechanism import Mechanism
from ostraka.public.promise import Promise
from ostraka.release.certificate import NoisySum
from ostraka.solve.losses import Array
from ostraka.tally.domain import Ball, longest

__all__ = ["differences", "hidden_ball", "hidden_sum", "lattice", "numbers_sent"]


def lattice(radius: float, dimension: int) -> tuple[float, Ball]:
    """The finest grid on which this L2 ball can be summed in 64 bits, and the ball in its units."""
    grid = math.ldexp(1.0, math.ceil(math.log2(radius / longest(dimension))))
    length = max(1, math.floor(radius / grid))
    return grid, Ball(norm="l2", length=length, dimension=dimension)


def hidden_ball(
    ball: Ball, grid: float, promise: Promise, n_units: int, coordinates: str
) -> Mechanism:
    """The noise for a sum of vectors of a ball: ℓ2 or Gaussian in L2, discrete Laplace in L1."""
    radius = ball.length * grid
    if ball.norm == "l2":
        return hidden_sum(
            float(ball.diameter), ball.dimension, grid, promise, n_units, coordinates, radius
        )
    if promise.noise != "auto":
        allowed = '"auto" for the method cells, whose noise is discrete Laplace; or moments'
        raise ParameterError("noise", got=promise.noise, allowed=allowed)
    return Mechanism(
        law=l1_law(promise.epsilon, ball.diameter, ball.dimension),
        grid=grid,
        sensitivity=ball.diameter * grid,
        delta=0.0,
        divisor=promise.check_units(n_units),
        coordinates=coordinates,
        particular=NoisySum(radius=radius),
        n_noises=promise.n_noises,
    )


def hidden_sum(
    sensitivity: float,
    dimension: int,
    grid: float,
    promise: Promise,
    n_units: int,
    coordinates: str,
    radius: float | None = None,
) -> Mechanism:
    """The noise for a sum of whole numbers that one unit moves by this much in L2."""
    law = l2_law(promise.epsilon, promise.delta, sensitivity, dimension, promise.noise)
    return Mechanism(
        law=law,
        grid=grid,
        sensitivity=sensitivity * grid,  # exact: the grid is a power of two
        delta=0.0 if isinstance(law, DiscreteLaplace) else promise.delta,
        divisor=promise.check_units(n_units),
        coordinates=coordinates,
        particular=NoisySum(radius=radius),
        n_noises=promise.n_noises,
    )


def differences(weights: Array) -> Array:
    """With two classes one column says everything: the second minus the first."""
    if weights.shape[1] > 2:
        return np.ascontiguousarray(weights)
    return np.ascontiguousarray(weights[:, 1] - weights[:, 0])


def numbers_sent(n_directions: int, n_classes: int) -> str:
    """What the numbers of a vector mean, for the certificate."""
    directions = (
        "1 whitened direction" if n_directions == 1 else f"{n_directions} whitened directions"
    )
    if n_classes == 2:
        return f"{directions}, the difference of two classes"
    return f"{directions}, {n_classes - 1} differences of classes"
