"""Whom a poll can protect and still leave a model: a whole party, or a person.

    letter  name here   meaning
    M       n_units     how many are protected
    s       –           the standard deviation that noise puts on the share of one class, √8/(Mε)

Whatever the method, a model knows at least the shares of the classes. A party that is replaced
moves them by 2 in L1, so hiding it takes noise of deviation √8/(Mε) on each; where that is large,
no model can be. Holders are often few and persons many: the same rows, protected person by person,
carry a model where protected holder by holder they cannot.
"""

from __future__ import annotations

import math

from ostraka.poll import Poll
from ostraka.public.promise import plural

__all__ = ["advise_unit", "drowns", "share_deviation"]

TOO_MUCH = 0.2
"""Where shares are moved by more than this, little is left of any model: Mε below 14."""


def share_deviation(n_units: int, epsilon: float) -> float:
    """How far noise moves the share of a class, typically."""
    return math.sqrt(8.0) / (n_units * epsilon) if n_units else math.inf


def drowns(poll: Poll) -> str | None:
    """What to say of a poll whose noise leaves little of any model; None if it leaves enough."""
    n, epsilon, unit = poll.expected_units, poll.promise.epsilon, poll.promise.protects
    off = share_deviation(n, poll.promise.felt_epsilon)
    if off <= TOO_MUCH:
        return None
    whole = f"one {unit}" if unit != "party" else "a whole party"
    moved = "by half and more" if off > 0.5 else f"by about {off:.2f}"
    return (
        f"little. With {plural(unit, n)} and ε = {epsilon:g} the noise that hides {whole} moves "
        f"even the share of a class {moved}."
    )


def advise_unit(poll: Poll, n_parties: int, samples_each: int) -> str | None:
    """A word of advice on whom to protect, from the numbers that a poll was made with.

    None if there is nothing to say.
    """
    epsilon, unit = poll.promise.epsilon, poll.promise.protects
    felt = poll.promise.felt_epsilon
    if drowns(poll) is not None:
        n_rows = n_parties * samples_each
        of_rows = share_deviation(n_rows, felt)
        if unit != "party" or of_rows > TOO_MUCH:
            return "More parties, or a larger ε, would help."
        return (
            "If it is single persons whose data must be hidden, and every holder may be trusted "
            "to bound its own persons, --protects person helps: with about "
            f"{plural('row', n_rows)} in all the noise would move a share by about {of_rows:.2g} "
            "only."
        )
    if unit == "person" and share_deviation(n_parties, felt) <= TOO_MUCH:
        return (
            f"{plural('party', n_parties)} may be enough to protect whole parties at ε = "
            f"{epsilon:g}, which promises more: try --protects party."
        )
    return None
