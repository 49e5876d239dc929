"""How good a model can be expected to be: what is known of that without asking anybody again.

    name here   meaning
    kept        how much of what can be learnt without privacy models of a rehearsal learnt; the
                poll knew it
    accuracy    how often the model takes itself to be right: the mean probability, over the
                auxiliary samples, of the class that it chooses; unknown where noise drowns it
    off         how far from the truth that is, four times out of five
    shares      how common each class is among the parties, from what was released
    deviation   by how much noise typically moves such a share

All of it is public: the rehearsal saw public samples alone, and everything else is computed from
the noisy statistic. `off` grows with the noise; its two constants were measured on tables with
natural and with dealt parties (docs/comparison.md), and cover no auxiliary samples that are unlike
the private ones.
"""

from __future__ import annotations

import json
import math
from dataclasses import asdict, dataclass
from typing import Any, final

from ostraka.errors import FormatError, ParameterError

__all__ = ["Outlook"]

LEAST_OFF, OFF_PER_DEVIATION = 0.03, 0.25
"""off² is the square of the first, plus the second for each unit of `deviation`."""
EARLIER = {"agreement", "shares", "deviation"}
"""What releases of format 3 say; how often a rehearsal was right meant something else then."""
TOO_NOISY = 0.15
"""Where noise moves a share by more than this, the commonest class cannot be told."""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Outlook:
    """What to expect; None where nothing is known."""

    kept: float | None = None
    accuracy: float | None = None
    off: float | None = None
    shares: tuple[float, ...] | None = None
    deviation: float | None = None

    def __post_init__(self) -> None:
        shares = (self.kept, self.accuracy, *(self.shares or ()))
        sizes = (self.off, self.deviation)
        numbers = (*shares, *sizes)
        known = all(each is None or type(each) is float for each in numbers)
        known = known and None not in (self.shares or ())
        if not (
            known
            and all(each is None or 0.0 <= each <= 1.0 for each in shares)
            and all(each is None or 0.0 <= each < math.inf for each in sizes)
        ):
            raise ParameterError("outlook", got=numbers, allowed="shares from 0 to 1, or none")
        if (self.shares is None) is not (self.deviation is None):
            raise ParameterError("outlook", got=numbers, allowed="shares with their deviation")
        if (self.accuracy is None) is not (self.off is None):
            raise ParameterError("outlook", got=numbers, allowed="an accuracy with its error")

    @classmethod
    def of(cls, kept: float | None, accuracy: float, shares: Any, deviation: float) -> Outlook:
        """From noisy shares, which need not be possible ones.

        Where noise drowns even these, nothing is said of the accuracy: it would be made of noise.
        """
        off = math.sqrt(LEAST_OFF**2 + OFF_PER_DEVIATION * deviation)
        told = not deviation > TOO_NOISY
        held = [min(max(float(share), 0.0), 1.0) for share in shares]
        total = sum(held)
        possible = [share / total if total > 0.0 else 1.0 / len(held) for share in held]
        return cls(
            kept=kept,
            accuracy=min(max(float(accuracy), 0.0), 1.0) if told else None,
            off=off if told else None,
            shares=tuple(possible),
            deviation=float(deviation),
        )

    def describe(self, classes: tuple[Any, ...]) -> str:
        """The same in sentences."""
        sentences = (self._say_accuracy(), self._guessing(classes), self._say_kept(), UNMEASURED)
        return " ".join(each for each in sentences if each)

    @property
    def _drowned(self) -> bool:
        return self.deviation is not None and self.deviation > TOO_NOISY

    def _say_accuracy(self) -> str:
        if self._drowned:
            return "There was too much noise to tell how often the model is right."
        if self.accuracy is None or self.off is None:
            return ""
        low, high = (min(max(self.accuracy + sign * self.off, 0.0), 1.0) for sign in (-1, 1))
        return (
            f"By what was released, the model is right for about {self.accuracy:.0%} of such "
            f"samples (four times out of five between {low:.0%} and {high:.0%})."
        )

    def _say_kept(self) -> str:
        if self.kept is None:
            return ""
        return (
            f"In a rehearsal on labels made of the public samples, models like this one learnt "
            f"{self.kept:.0%} of what can be learnt without privacy."
        )

    def _guessing(self, classes: tuple[Any, ...]) -> str:
        if self.shares is None or self.deviation is None or self._drowned:
            unknown = "" if self.shares is None else ", and here the noise is too large to tell"
            return (
                f"Always naming the commonest of {len(classes)} classes is right for at least "
                f"{1.0 / len(classes):.0%}; for how many depends on how common it is{unknown}."
            )
        commonest = max(range(len(classes)), key=lambda k: self.shares[k])  # type: ignore[index]
        about = f", give or take {self.deviation:.0%}" if self.deviation >= 0.005 else ""
        return (
            f"Always naming {str(classes[commonest])!r}, the commonest class, would be right for "
            f"about {self.shares[commonest]:.0%}{about}."
        )

    def to_json(self) -> str:
        """Canonical JSON."""
        return json.dumps(asdict(self), sort_keys=True, separators=(",", ":"), allow_nan=False)

    @classmethod
    def from_json(cls, text: str, n_classes: int) -> Outlook:
        """Of what came from anyone; anything unexpected is refused."""
        try:
            content = json.loads(text)
            shares = content["shares"]
            if set(content) == EARLIER:
                content = {name: content[name] for name in ("shares", "deviation")}
            elif set(content) != {"accuracy", "deviation", "kept", "off", "shares"}:
                raise ValueError
            if shares is not None and not (isinstance(shares, list) and len(shares) == n_classes):
                raise ValueError
            content["shares"] = None if shares is None else tuple(shares)
            return cls(**content)
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError, OverflowError):
            raise FormatError("release", "its outlook is damaged") from None


UNMEASURED = (
    "Nobody has measured how good this very model is: try it on labelled rows that anybody may see."
)
