"""The methods to choose from, by name, with what each of them is about.

One list feeds the estimator, the command line, certificates, figures and docs. The classes that
do the work are in `methods`; a test keeps the two in step.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias, final

from ostraka.errors import ParameterError, UnusedOptionError

__all__ = [
    "CATALOGUE",
    "LABEL_GAPS",
    "PRIVATE",
    "SLOPE_BOUNDS",
    "Entry",
    "Student",
    "check_options",
    "entry",
    "taking",
]

OURS = frozenset({"delta", "noise", "penalty", "student"})
OF_LABELS = OURS | {"samples_each", "shift"}
OF_SHARES = OF_LABELS | {"objective"}
"""Those that release class shares can weigh classes otherwise."""
LOCAL = frozenset({"lambda_", "loss", "local"})

Student: TypeAlias = Literal["auto", "none", "linear", "kernel"]
"""What learns the fitted model's answers on the auxiliary set, after the noise and for free."""
LABEL_GAPS: Final = {"logistic": 1.0, "huber": 2.0, "softmax": math.sqrt(2.0) * (1.0 + 2.0**-40)}
"""κ of each loss: how far a sample's slope moves when its label moves from corner to corner."""
SLOPE_BOUNDS: Final = {"logistic": 1.0, "huber": 1.0, "softmax": math.sqrt(2.0) * (1.0 + 2.0**-40)}
"""G of each loss: the longest slope of a sample anywhere."""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One method."""

    name: str
    sends: Literal["labels", "votes", "parameters", "answers"]
    """What a party's contribution is made of."""
    perturbs: Literal["sum", "minimiser"]
    """What gets the noise."""
    options: frozenset[str]
    """Which settings it uses, besides ε; others are refused."""
    words: str
    """What a party sends, as part of a sentence."""
    promise: str = "ε"
    """Which promises it can make."""
    learns: bool = True
    """Whether a model comes of it; otherwise it speaks of one that is there."""

    @property
    def needs_auxiliary(self) -> bool:
        """Whether there must be public samples, and not only a public scale."""
        return self.perturbs == "sum" and self.sends in ("labels", "votes")


CATALOGUE: Final = {
    each.name: each
    for each in (
        Entry(
            name="auto",
            sends="labels",
            perturbs="sum",
            options=OF_SHARES | {"natural", "samples_largest"},
            words="whichever of moments and cells does better on labels made of public samples",
            promise="ε, pure; or (ε, δ)",
        ),
        Entry(
            name="moments",
            sends="labels",
            perturbs="sum",
            options=OF_SHARES,
            words="how its labels vary along a few public directions, and its class shares",
            promise="ε, pure; or (ε, δ)",
        ),
        Entry(
            name="cells",
            sends="labels",
            perturbs="sum",
            options=OF_SHARES,
            words="the shares of its rows by public cell and class",
            promise="ε, pure",
        ),
        Entry(
            name="consensus",
            sends="votes",
            perturbs="sum",
            options=OURS | LOCAL,
            words="one vote of its own classifier for each public sample",
            promise="ε, pure; or (ε, δ)",
        ),
        Entry(
            name="refine",
            sends="labels",
            perturbs="sum",
            options=OF_LABELS | {"start"},
            words="what an earlier release leaves unexplained of the labels, "
            "along a few directions",
            promise="ε, pure; or (ε, δ)",
        ),
        Entry(
            name="soft",
            sends="votes",
            perturbs="minimiser",
            options=LOCAL | {"calibration"},
            words="one vote of its own classifier for each public sample",
            promise="ε, pure",
        ),
        Entry(
            name="vote",
            sends="votes",
            perturbs="minimiser",
            options=LOCAL | {"calibration"},
            words="one vote of its own classifier for each public sample",
            promise="ε, pure",
        ),
        Entry(
            name="avg",
            sends="parameters",
            perturbs="sum",
            options=frozenset({"lambda_", "loss", "calibration", "ball"}),
            words="the parameters of its own linear classifier, in a ball of public size",
            promise="ε, pure",
        ),
        Entry(
            name="evaluation",
            sends="answers",
            perturbs="sum",
            options=frozenset(),
            words="the shares of its rows by their class and by the class that the model gives",
            promise="ε, pure",
            learns=False,
        ),
    )
}
PRIVATE: Final = tuple(each.name for each in CATALOGUE.values() if each.learns)
"""The names of the methods that a model can be made by, `auto` first."""


def entry(name: str) -> Entry:
    """The entry of a method to learn by, or an error that lists them all."""
    if not isinstance(name, str) or name not in PRIVATE:
        raise ParameterError("method", got=name, allowed=", ".join(map(repr, PRIVATE)))
    return CATALOGUE[name]


def taking(option: str) -> list[str]:
    """The methods that use an option."""
    return [each.name for each in CATALOGUE.values() if option in each.options]


def check_options(name: str, given: dict[str, Any]) -> None:
    """Refuse what a method would have to ignore, so that nobody believes it was used.

    None means that an option was not given.
    """
    heeded = entry(name).options
    for option, value in given.items():
        if value is not None and option not in heeded:
            shown = option.rstrip("_")
            raise UnusedOptionError(shown, got=value, method=name, others=taking(option))
