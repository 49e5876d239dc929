"""Noise: what is added to a statistic, and where its randomness comes from."""

from __future__ import annotations

from ostraka.noise.entropy import Entropy, Rehearsal
from ostraka.noise.gaussian import RoundedGaussian
from ostraka.noise.l2 import L2Noise
from ostraka.noise.l2_delta import l2_scale
from ostraka.noise.laplace import DiscreteLaplace

__all__ = ["Entropy", "Rehearsal", "L2Noise", "l2_scale", "DiscreteLaplace", "RoundedGaussian"]
