"""Noise: what is added to a sum, where its randomness comes from, and how much of it is enough."""

from __future__ import annotations

from ostraka.mechanism.entropy import Entropy, Rehearsal
from ostraka.mechanism.gaussian import RoundedGaussian
from ostraka.mechanism.l2 import L2Noise
from ostraka.mechanism.l2_delta import l2_scale
from ostraka.mechanism.laplace import DiscreteLaplace

__all__ = ["Entropy", "Rehearsal", "L2Noise", "l2_scale", "DiscreteLaplace", "RoundedGaussian"]
