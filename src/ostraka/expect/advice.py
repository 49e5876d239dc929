"""What to say of a poll's promise before anybody is asked: from public things alone."""

from __future__ import annotations

import math

import numpy as np

from ostraka.errors import list_names
from ostraka.expect.unit import drowns, share_deviation
from ostraka.poll import ENOUGH, Poll
from ostraka.public.auxiliary import AuxiliarySet
from ostraka.public.columns import Number
from ostraka.public.numbers import is_sparse
from ostraka.public.promise import WEAK, plural
from ostraka.public.remarks import remark_label

__all__ = ["advise", "few", "look_at_public", "weak"]

CERTAIN = 20.0
"""From this ε on, how many times surer one may be is a number that nobody can picture."""
TINY = 50
"""With fewer public rows, nobody knows what is far and what is near."""


def advise(poll: Poll) -> list[str]:
    """A sentence or two for each thing that people may not have meant."""
    told = [weak(poll.promise.epsilon), _little(poll)]
    return [each for each in told if each is not None]


def weak(epsilon: float) -> str | None:
    """What to say of an ε that promises next to nothing."""
    if not epsilon > WEAK:
        return None
    surer = "as sure of somebody's data as if it had been shown"
    if epsilon < CERTAIN:
        times = f"{math.exp(epsilon):,.0f}"
        surer = f"{times} times surer of a guess about somebody's data than before"
    return (
        f"ε = {epsilon:g} hides next to nothing: whoever sees the model may be {surer}. Around 1 "
        "is a real promise."
    )


def _little(poll: Poll) -> str | None:
    told = drowns(poll)
    if told is None:
        return None
    return f"Expect {told} More parties, a larger ε, or protecting persons instead would help."


def few(poll: Poll, n_units: int) -> str | None:
    """What to say if far fewer came than a poll was made for."""
    if n_units >= ENOUGH * poll.expected_units:
        return None
    unit, off = poll.promise.protects, share_deviation(max(1, n_units), poll.promise.felt_epsilon)
    much = "by half and more" if off > 0.5 else f"by about {off:.2g}"
    if poll.judged is not None:
        return (
            f"{plural(unit, n_units)} of about {poll.expected_units:,} came. With so few, noise "
            f"moves every share of rows {much}. Wait for more if you can."
        )
    return (
        f"{plural(unit, n_units)} of about {poll.expected_units:,} came. What the poll said of how "
        f"good the model would be holds for {poll.expected_units:,}; with so few, noise moves even "
        f"the share of a class {much}. Wait for more if you can."
    )


def look_at_public(public: AuxiliarySet) -> list[str]:
    """What to say of the public table, to whoever begins with it."""
    told = [_tiny(public.n_samples)]
    if not public.private:
        told = [remark_label(public.columns, public.classes), _number_like(public), *told]
    return [each for each in told if each is not None]


def _number_like(public: AuxiliarySet) -> str | None:
    """What to say of public columns with another whole number in every row: case numbers?"""
    columns = public.columns
    if columns is None or public.samples is None:
        return None
    found, rows = [], public.encoded
    if len(rows) < TINY or is_sparse(rows):
        return None
    starts = np.cumsum([0, *(column.width for column in columns.columns)])
    for column, start in zip(columns.columns, starts):
        values = rows[:, start]
        if isinstance(column, Number) and column.kind == "number" and column.unit is None:
            whole = (values == np.floor(values)).all()
            found += [column.name] if whole and len(np.unique(values)) == len(values) else []
    if not found:
        return None
    return (
        f"In {list_names(found)} every public row has another whole number. If that is a case "
        "number or the like, it tells nothing of others: leave it out with --drop."
    )


def _tiny(n_rows: int) -> str | None:
    if n_rows >= TINY:
        return None
    return (
        f"The public table has {plural('row', n_rows)}. From so few nobody can tell how good a "
        "model will be, and models are worse. Give a few hundred or more."
    )
