"""A sharded simulation: many parties to a node, beside the same parties in one process."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Final, final

import numpy as np

from benchmarks.flower.crowd.crowd import create_poll, rows_of
from benchmarks.flower.federation import Federation
from ostraka.methods.base import Work
from ostraka.poll import Poll
from ostraka.release import Release
from ostraka.tally import Tally

__all__ = ["Measured", "measure"]

APP: Final = Path(__file__).parent / "crowd"
PATIENCE: Final = 600.0
N_PROCESSORS: Final = 2


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """How long it took, and whether the sums are the same to the last bit."""

    n_nodes: int
    n_parties: int
    poll_bytes: int
    contribution_bytes: int
    over_flower: float
    """Seconds from `flwr run` to the release."""
    in_process: float
    same: bool
    said: str


def measure(folder: Path, n_nodes: int, n_each: int) -> Measured:
    """Run one poll both ways, with a SuperLink of its own."""
    poll = create_poll(n_nodes * n_each)
    poll.save(folder / "asked.poll")
    config = {
        "poll": folder / "asked.poll",
        "out": folder / "made.ostraka",
        "deadline": PATIENCE,
        "least-nodes": n_nodes,
        "parties-per-node": n_each,
    }
    with Federation(folder, simulation=True) as federation:
        begun = time.perf_counter()
        nodes = f"num-supernodes={n_nodes} init-args-num-cpus={N_PROCESSORS}"
        nodes += " client-resources-num-cpus=1"
        run = federation.run(APP, config, "--federation-config", nodes)
        said = federation.finish(run, PATIENCE)
        over_flower = time.perf_counter() - begun
    if not (folder / "made.ostraka").exists():
        raise RuntimeError(f"There is no release:\n{said}\n{federation.log('superlink')}")
    assert Release.load(folder / "made.ostraka").certificate.parties == poll.expected_units
    there = np.load(folder / "made.npz")["total"]
    begun = time.perf_counter()
    here = _add_up(poll)
    return Measured(
        n_nodes=n_nodes,
        n_parties=poll.expected_units,
        poll_bytes=len(poll.to_bytes()),
        contribution_bytes=len(poll.contribute(*rows_of(0)[:3]).to_bytes()),
        over_flower=over_flower,
        in_process=time.perf_counter() - begun,
        same=bool((here.total == there).all()),
        said=said,
    )


def _add_up(poll: Poll) -> Tally:
    """Everybody's rows in one process."""
    held = [rows_of(party) for party in range(poll.expected_units)]
    samples = np.concatenate([rows.samples for rows in held])
    labels = np.concatenate([rows.labels for rows in held])
    names = [rows.party for rows in held for _ in rows.labels]
    tally = Tally(poll)
    for block in poll.blocks(poll.group(samples, poll.task.indices(labels), names), Work()):
        tally.add_block(*block)
    return tally
