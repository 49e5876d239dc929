"""`soft`: the paper's own method. The share of votes for each class is a soft label; one party moves it by at most 1/M.

Source: Hamm, Cao, Belkin, ICML 2016, section 4.2 and Theorem 3.
"""

from __future__ import annotations

from ostraka.auxiliary import AuxiliarySet
from ostraka.methods.minimiser import PublicFacts, Stability, check_belongs, check_types, grid_minimiser, make_plan
from ostraka.methods.output_perturbation import Exact, Plan
from ostraka.methods.terms import Terms
from ostraka.noise import Entropy, Rehearsal
from ostraka.release import ChargeFirst, Rehearsed, Release
from ostraka.sensitivity.bounds import soft_stability, soft_stability_private_auxiliary
from ostraka.tally import Tally

__all__ = ["plan", "plan_from", "statistic", "release"]


def plan(auxiliary: AuxiliarySet, n_parties: int, terms: Terms) -> Plan:
    """What a release by this many parties will promise: known before anyone votes."""
    return plan_from(PublicFacts.of(auxiliary, geometry=terms.calibration == "tight"), n_parties, terms)


def plan_from(facts: PublicFacts, n_parties: int, terms: Terms) -> Plan:
    """The same from public facts alone, before there is an auxiliary set."""
    loss, n_parties = terms.loss_for(facts.n_classes), terms.checked_parties(n_parties)
    n, lambda_ = facts.n_samples, terms.lambda_
    stability = Stability(
        name="soft",
        public=lambda kappa, mu: soft_stability(kappa, mu, lambda_, n_parties),
        private=lambda kappa: soft_stability_private_auxiliary(kappa, loss, lambda_, n_parties, n),
    )
    return make_plan(facts, n_parties, terms, stability)


def statistic(tally: Tally, planned: Plan) -> Exact:
    """The private vector: the minimiser for the shares of votes, on the grid."""
    check_belongs(tally, planned, "soft")
    shares = tally.shares()
    labels = shares[:, 1] if tally.auxiliary.n_classes == 2 else shares
    return grid_minimiser(tally.auxiliary, labels, planned)


def release(tally: Tally, terms: Terms, source: Entropy | Rehearsal | None = None, charge: ChargeFirst = None) -> Release | Rehearsed:
    """One classifier from everybody's votes. A seeded `source` makes a rehearsal of it."""
    check_types(tally, terms)
    planned = plan(tally.auxiliary, tally.n_parties, terms)
    return planned.publish(statistic(tally, planned), source or Entropy(), charge)
