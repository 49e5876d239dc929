"""What the parties agree on besides the auxiliary set: how private, how regularised, calibrated by whom. Public, fixed beforehand."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, final, get_args

from ostraka.errors import ParameterError, TooFewPartiesError, count, number
from ostraka.losses import Loss, loss_for

__all__ = ["Terms", "Calibration"]

Calibration = Literal["paper", "tight"]

# Far beyond what anybody needs, and far within what doubles can hold: every bound is computed without overflow or underflow.
EPSILONS = (1e-12, 1e18)
LAMBDAS = (1e-12, 1e12)
N_PARTIES_BOUND = 2**40


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
        object.__setattr__(self, "epsilon", number("epsilon", self.epsilon, *EPSILONS))
        object.__setattr__(self, "lambda_", number("lambda", self.lambda_, *LAMBDAS))
        object.__setattr__(self, "least_parties", count("least_parties", self.least_parties, 2))
        if self.calibration not in get_args(Calibration):
            raise ParameterError("calibration", got=self.calibration, allowed='"paper" or "tight"')
        loss_for(2, self.loss)

    def loss_for(self, n_classes: int) -> Loss:
        """The loss for this many classes."""
        return loss_for(n_classes, self.loss)

    def checked_parties(self, n_parties: int) -> int:
        """The number of parties as a Python integer; too few are refused."""
        given = count("n_parties", n_parties, 0, N_PARTIES_BOUND)
        if given < self.least_parties:
            raise TooFewPartiesError(given, self.least_parties)
        return given
