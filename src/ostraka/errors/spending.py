"""What would be published, spent or known otherwise than it should."""

from __future__ import annotations

from ostraka.errors.root import OstrakaError
from ostraka.errors.words import NOTHING_HAPPENED

__all__ = ["RehearsalError", "CloneError", "BudgetError", "LedgerError", "PrecisionError"]


class RehearsalError(OstrakaError):
    """Something seeded was about to be published."""

    def __init__(self) -> None:
        super().__init__(
            "This result was drawn with a seed, so its noise can be computed and it protects "
            "nobody. Draw it again without a Rehearsal to publish it. Nothing was written."
        )


class CloneError(OstrakaError):
    """A cloned estimator was about to release."""

    def __init__(self) -> None:
        super().__init__(
            "This estimator is a clone, as GridSearchCV and cross_val_score make many of, and "
            "each fit would be a release that costs every "
            "party ε. Set random_state to rehearse on public or synthetic data, then fit one "
            "estimator of your own. " + NOTHING_HAPPENED
        )


class BudgetError(OstrakaError):
    """A release costs more than a party has left."""

    def __init__(
        self, party: str, *, asked: object, left: object, short: float, n_others: int
    ) -> None:
        self.party, self.asked, self.left, self.short, self.n_others = (
            party,
            asked,
            left,
            short,
            n_others,
        )
        others = (
            f" (and {n_others} more {'party has' if n_others == 1 else 'parties have'} too little)"
            if n_others
            else ""
        )
        rounded = (
            f", short by {short:.2g} of it: doubles are counted exactly, so give budgets a little "
            "room"
            if short < 1e-5
            else ""
        )
        super().__init__(
            f"This release costs {asked}, but party {party} has {left} left{rounded}{others}. "
            f"Leave out who cannot pay, or ask for less. {NOTHING_HAPPENED}"
        )


class LedgerError(OstrakaError):
    """A ledger that could not be written or read, or not that way."""

    def __init__(
        self, path: object, problem: str, remedy: str, outcome: str = NOTHING_HAPPENED
    ) -> None:
        self.path, self.problem, self.remedy, self.outcome = path, problem, remedy, outcome
        super().__init__(f"The ledger {str(path)!r} {problem}. {remedy} {outcome}")


class PrecisionError(OstrakaError):
    """A point was asked for more precisely than it is known."""

    def __init__(self, *, known: float, asked: float) -> None:
        self.known, self.asked = known, asked
        super().__init__(
            f"The minimiser is known to within {known:.3g}, but {asked:.3g} was asked for. Solve "
            "with a smaller tolerance."
        )
