"""Made-up parties, many to a node, and a server that also keeps the sum it has published.

The sum is private, and is kept only because all of it is made up.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from flwr.app import Context

from ostraka.flower import Rows, coordinator, create_sharded_client, server
from ostraka.poll import Poll
from ostraka.public.auxiliary import AuxiliarySet
from ostraka.tally import Tally

__all__ = ["client", "create_poll", "rows_of", "server"]

CLASSES = ("bus", "train", "walk")
N_COLUMNS, N_ROWS, N_PUBLIC = 50, 5, 500


def create_poll(n_parties: int) -> Poll:
    """What the crowd is asked."""
    public = np.random.default_rng(0).normal(size=(N_PUBLIC, N_COLUMNS)) / 20.0
    auxiliary = AuxiliarySet(public, CLASSES)
    return Poll.create(
        auxiliary, epsilon=1.0, parties=n_parties, method="moments", samples_each=N_ROWS
    )


def rows_of(party: int) -> Rows:
    """The same rows for whoever asks."""
    rng = np.random.default_rng((1, party))
    samples = rng.normal(size=(N_ROWS, N_COLUMNS)) / 20.0
    return Rows(samples, rng.choice(CLASSES, N_ROWS), f"party {party}")


def load(context: Context) -> Iterator[Rows]:
    """The parties of one node."""
    n_each = int(context.run_config["parties-per-node"])
    first = int(context.node_config["partition-id"]) * n_each
    return (rows_of(party) for party in range(first, first + n_each))


client = create_sharded_client(load)
_publish = coordinator.publish_release  # type: ignore[attr-defined]


def _keep_sum(poll: Poll, tally: Tally, ledger: Path | None, out: Path) -> Any:
    np.savez(out.with_suffix(".npz"), total=tally.total, n_parties=tally.n_parties)
    return _publish(poll, tally, ledger, out)


coordinator.publish_release = _keep_sum  # type: ignore[attr-defined]
