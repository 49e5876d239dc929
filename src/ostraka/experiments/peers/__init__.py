"""Published ways to the same end, to compare ours with, at the level of a whole party.

All of them make one linear classifier from many parties.

Every peer is a function (data, ε, δ, generator, number of draws) ↦ accuracies, at the same δ, on
the same features; see `data.PeerData`. Those that are tuned are tuned for free, by test accuracy,
which favours them over ours.
"""

from __future__ import annotations

from ostraka.experiments.peers import gradient, local, pate, pooled
from ostraka.experiments.peers.data import DIRECTIONS, Accuracies, Peer, PeerData

__all__ = ["PEERS", "Accuracies", "Peer", "PeerData"]

_PARTY = "(ε, δ), party"
_ROUNDS = "coordinator, many rounds"
_FREE = "for free, the best of {} settings on test data: favours it"

PEERS: dict[str, Peer] = {
    peer.name: peer
    for peer in (
        Peer(
            name="pate",
            accuracies=pate.gnmax,
            guarantee=_PARTY,
            trust="coordinator sees votes",
            tuning=_FREE.format(2 * len(DIRECTIONS) * len(pate.ASKED) * len(pate.PENALTIES)),
        ),
        Peer(
            name="pate-confident",
            accuracies=pate.confident_gnmax,
            guarantee=_PARTY,
            trust="coordinator sees votes",
            tuning=_FREE.format(
                2 * len(DIRECTIONS) * len(pate.CONFIDENT_GRID) * len(pate.PENALTIES)
            ),
        ),
        Peer(
            name="dp-gd",
            accuracies=gradient.descent,
            guarantee=_PARTY,
            trust=_ROUNDS,
            tuning=_FREE.format(len(gradient.DESCENT_GRID)),
        ),
        Peer(
            name="dp-fedavg",
            accuracies=gradient.averaging,
            guarantee=_PARTY,
            trust=_ROUNDS,
            tuning=_FREE.format(len(gradient.AVERAGING_GRID)),
        ),
        Peer(
            name="dp-gd-public",
            accuracies=gradient.descent_public,
            guarantee=_PARTY,
            trust=_ROUNDS,
            tuning=_FREE.format(len(gradient.PUBLIC_GRID))
            + "; with our own students on public data, which published DP-GD has not",
        ),
        Peer(
            name="local-dp",
            accuracies=local.randomised_moments,
            guarantee="(ε, δ), party, against everybody",
            trust="nobody",
            tuning="none: public rules",
        ),
        Peer(
            name="pooled",
            accuracies=pooled.logistic_regression,
            guarantee="none: not private",
            trust="whoever holds all data",
            tuning=_FREE.format(len(pooled.LAMBDAS)),
            private=False,
        ),
    )
}
