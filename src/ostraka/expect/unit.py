"""Whom a poll can protect and still leave a model: a whole party, or a person.

    letter  name here   meaning
    M       n_units     how many are protected
    s       –           the standard deviation that noise puts on the share of one class, √8/(Mε)

Whatever the method, a model knows at least the shares of the classes. A party that is replaced moves
them by 2 in L1, so hiding it takes noise of deviation √8/(Mε) on each; where that is not small, no
model can be. Holders are often few and persons many: the same rows, protected person by person, carry
a model where protected holder by holder they cannot.
"""

from __future__ import annotations

import math

from ostraka.public.promise import plural

__all__ = ["advise_unit", "share_deviation"]

ENOUGH = 0.06
"""Shares known to within this leave room for a model: Mε of about 50."""


def share_deviation(n_units: int, epsilon: float) -> float:
    """How far noise moves the share of a class, typically."""
    return math.sqrt(8.0) / (n_units * epsilon)


def advise_unit(
    protects: str, n_parties: int, samples_each: int, n_persons: int | None, epsilon: float
) -> str | None:
    """A word of advice on whom to protect; None where there is nothing to say."""
    n_units = n_parties if n_persons is None else n_persons
    off = share_deviation(n_units, epsilon)
    if protects == "party" and off > ENOUGH:
        rows = n_parties * samples_each
        told = (
            f"With {plural('party', n_parties)} and ε = {epsilon:g} the noise that hides a whole party "
            f"moves even the share of a class by about {min(off, 1.0):.2f}: expect little of a model."
        )
        if share_deviation(rows, epsilon) <= ENOUGH:
            return (
                f"{told} If it is persons whose data must be hidden, and each holder may bound them, "
                f"--protects person makes one: {plural('row', rows)} are enough."
            )
        return f"{told} More parties or a larger ε would help."
    if protects == "person" and off > ENOUGH:
        return (
            f"With {plural('person', n_units)} and ε = {epsilon:g} the noise moves the share of a class "
            f"by about {min(off, 1.0):.2f}: expect little of a model."
        )
    if protects == "person" and share_deviation(n_parties, epsilon) <= ENOUGH:
        return (
            f"{plural('party', n_parties)} are enough to protect whole parties at ε = {epsilon:g}, "
            "which promises more: --protects party."
        )
    return None
