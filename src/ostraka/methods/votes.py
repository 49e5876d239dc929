"""What `consensus`, `soft` and `vote` share: parties train classifiers and vote.

They vote on the auxiliary set.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ostraka.methods.base import Block, Work
from ostraka.party.rows import Parties
from ostraka.party.training.votes import count_linear_votes, count_votes
from ostraka.tally.domain import Ballots

__all__ = ["count_ballots"]


def count_ballots(
    parties: Parties,
    features: Any,
    domain: Ballots,
    lambda_: float,
    loss: str,
    work: Work,
    *,
    private: bool = False,
) -> Iterator[Block]:
    """The counts of all ballots, in blocks of parties.

    The ballots are those of the classifiers that `work` names, or of the paper's linear ones.
    `private`: the auxiliary samples are secret too, and are asked about one by one.
    """
    n, K = work.n_jobs, domain.n_classes
    if work.local is None:
        return count_linear_votes(parties, features, K, lambda_, loss, n_jobs=n, watch=work.watch)
    templates = work.local if isinstance(work.local, list | tuple) else [work.local]
    return count_votes(
        parties, features, K, templates, one_by_one=private, n_jobs=n, watch=work.watch
    )
