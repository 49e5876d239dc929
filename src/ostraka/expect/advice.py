"""What to say of a poll's promise before anybody is asked: from public things alone."""

from __future__ import annotations

import math

from ostraka.expect.unit import drowns
from ostraka.poll import Poll
from ostraka.public.columns import Category
from ostraka.public.promise import WEAK

__all__ = ["advise", "label_like", "weak"]


def advise(poll: Poll) -> list[str]:
    """A sentence or two for each thing that people may not have meant."""
    told = [weak(poll.promise.epsilon), _little(poll)]
    return [each for each in told if each is not None]


def weak(epsilon: float) -> str | None:
    """What to say of an ε that promises next to nothing."""
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


def label_like(poll: Poll) -> str | None:
    """What to say of a public column that holds the classes themselves: it may be the label."""
    classes = {str(name) for name in poll.task.classes}
    for column in poll.task.columns.columns if poll.task.columns is not None else ():
        if isinstance(column, Category) and classes <= set(column.values):
            return (
                f"The public column {column.name!r} holds the classes themselves. If it is the "
                f"label, nobody could predict without it: leave it out, --drop {column.name!r}."
            )
    return None
