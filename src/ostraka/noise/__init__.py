"""Noise: what is added to a statistic, and where its randomness comes from."""

from __future__ import annotations

from ostraka.noise.entropy import Entropy, Rehearsal
from ostraka.noise.l2 import L2Noise

__all__ = ["Entropy", "Rehearsal", "L2Noise"]
