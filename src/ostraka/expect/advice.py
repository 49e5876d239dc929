"""What to say of a poll's promise before anybody is asked: from public things alone."""

from __future__ import annotations

import math

from ostraka.expect.unit import drowns
from ostraka.poll import Poll

__all__ = ["WEAK", "advise"]

WEAK = 10.0
"""From here on ε is a formality: e¹⁰ is 22 026."""


def advise(poll: Poll) -> list[str]:
    """A sentence or two for each thing that people may not have meant."""
    told = [_weak(poll.promise.epsilon), _little(poll)]
    return [each for each in told if each is not None]


def _weak(epsilon: float) -> str | None:
    if not epsilon > WEAK:
        return None
    times = f"{math.exp(epsilon):,.0f}" if epsilon < 20.0 else f"e^{epsilon:g}"
    return (
        f"ε = {epsilon:g} hides next to nothing: whoever sees the model may be {times} times surer "
        "of a guess about somebody's data than before. Around 1 is a real promise."
    )


def _little(poll: Poll) -> str | None:
    told = drowns(poll)
    if told is None:
        return None
    return f"Expect {told} More parties, a larger ε, or protecting persons instead would help."
