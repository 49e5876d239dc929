"""How good a model can be expected to be: what is known of that without asking anybody again.

    name here   meaning
    agreement   how often models of a rehearsal on made-up labels were right; the poll knew it
    shares      how common each class is among the parties, from what was released
    deviation   by how much noise typically moves such a share

All of it is public: the rehearsal saw public samples alone, and the shares are computed from the
noisy statistic. None of it is the accuracy of this model, which nobody has measured.
"""

from __future__ import annotations

import json
import math
from dataclasses import asdict, dataclass
from typing import Any, final

from ostraka.errors import FormatError, ParameterError

__all__ = ["Outlook"]

TOO_NOISY = 0.15
"""Where noise moves a share by more than this, the commonest class cannot be told."""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Outlook:
    """What to expect; None where nothing is known."""

    agreement: float | None = None
    shares: tuple[float, ...] | None = None
    deviation: float | None = None

    def __post_init__(self) -> None:
        shares = (self.agreement, *(self.shares or ()))
        deviation = 0.0 if self.deviation is None else self.deviation
        numbers = (*shares, self.deviation)
        known = all(each is None or type(each) is float for each in numbers)
        if not (
            known
            and all(each is None or 0.0 <= each <= 1.0 for each in shares)
            and 0.0 <= deviation < math.inf
        ):
            raise ParameterError("outlook", got=numbers, allowed="shares from 0 to 1, or none")
        if (self.shares is None) is not (self.deviation is None):
            raise ParameterError("outlook", got=numbers, allowed="shares with their deviation")

    def describe(self, classes: tuple[Any, ...]) -> str:
        """The same in sentences."""
        return " ".join((self._say_rehearsal(), self._guessing(classes), UNMEASURED)).strip()

    def _say_rehearsal(self) -> str:
        if self.agreement is None:
            return ""
        return (
            f"In a rehearsal on made-up labels, models like this one were right for "
            f"{self.agreement:.0%} of the samples. Real labels are usually harder: take it as the "
            "best case."
        )

    def _guessing(self, classes: tuple[Any, ...]) -> str:
        if self.shares is None or self.deviation is None or self.deviation > TOO_NOISY:
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
            if set(content) != {"agreement", "shares", "deviation"}:
                raise ValueError
            if shares is not None and not (isinstance(shares, list) and len(shares) == n_classes):
                raise ValueError
            content["shares"] = None if shares is None else tuple(shares)
            return cls(**content)
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError, OverflowError):
            raise FormatError("release", "its outlook is damaged") from None


UNMEASURED = (
    "How good this very model is, nobody has measured: try it on labelled rows that anybody may "
    "see."
)
