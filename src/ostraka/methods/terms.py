"""What the parties agree on besides the auxiliary set: how private, how regularised, calibrated by whom. Public, fixed beforehand."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, final, get_args

from ostraka.errors import ParameterError, TooFewPartiesError
from ostraka.losses import Loss, loss_for

__all__ = ["Terms", "Calibration"]

Calibration = Literal["paper", "tight"]


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """The terms of a poll by one of the paper's methods.

    Args:
        epsilon: the privacy loss, for a whole party. Smaller is more private, and noisier.
        lambda_: strength of the regulariser; must be chosen before any data is seen.
        calibration: "paper" takes the sensitivities and dimensions of Hamm et al. 2016; "tight" takes the smallest that we can prove, which
            means less noise for the same ε.
        loss: "logistic" (softmax beyond two classes) or "huber".
        least_parties: refuse to release for fewer parties than this.
        assumed_public: what was read from private data because it is taken to be public, such as "classes"; stated in the certificate.

    """

    epsilon: float
    lambda_: float = 1e-4
    calibration: Calibration = "tight"
    loss: str = "logistic"
    least_parties: int = 2
    assumed_public: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not 0.0 < self.epsilon < math.inf:
            raise ParameterError("epsilon", got=self.epsilon, allowed="a positive finite number, such as 1.0")
        if not 0.0 < self.lambda_ < math.inf:
            raise ParameterError("lambda", got=self.lambda_, allowed="a positive finite number, such as 1e-4")
        if self.calibration not in get_args(Calibration):
            raise ParameterError("calibration", got=self.calibration, allowed='"paper" or "tight"')
        if not self.least_parties >= 2:
            raise ParameterError("least_parties", got=self.least_parties, allowed="2 or more")
        loss_for(2, self.loss)

    def loss_for(self, n_classes: int) -> Loss:
        """The loss for this many classes."""
        return loss_for(n_classes, self.loss)

    def check_parties(self, n_parties: int) -> None:
        """Refuse too few parties."""
        if not n_parties >= self.least_parties:
            raise TooFewPartiesError(n_parties, self.least_parties)
