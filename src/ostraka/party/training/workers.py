"""Batches of parties, spread over processes or done one by one; never over threads.

Threads share the global random streams, the warning filters and the standard streams: one party
could shift what another draws, or show what another prints. So there are processes (joblib's loky,
or a cluster that the caller made joblib's backend), or there is one batch at a time: under a
backend that shares memory, inside somebody else's parallel work, and outside the main thread.
Batches come back in the order of the parties, so that neither the number of workers nor which of
them finishes first changes a result.

Only `work` sees rows: the progress bar runs between batches, where nothing is swallowed.

Not covered: other threads of a process that draw from the global streams while a party trains
there. Dask's own threads do so, from Python's stream; parties take turns there too, but what a
template draws from that stream is then not the same every time.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeAlias

from ostraka.party.quiet import is_quiet
from ostraka.party.rows import Parties

__all__ = ["Watch", "in_batches"]

PARALLEL_FROM = 256
"""Fewer parties are not worth starting workers for."""
BATCHES_PER_WORKER = 16

Watch: TypeAlias = Callable[[Iterable[Any], int], Iterable[Any]]
"""(batches as they arrive, how many) ↦ the same batches: a place for a progress bar."""


def in_batches(
    work: Callable[[Parties, Any], Any],
    parties: Parties,
    task: Any,
    n_jobs: int | None,
    watch: Watch | None,
) -> Iterator[Any]:
    """What `work(batch, task)` gives, in order; begun when the first batch is asked for."""
    workers = _n_workers(n_jobs) if len(parties) >= PARALLEL_FROM else 1
    size = max(1, -(-len(parties) // (workers * BATCHES_PER_WORKER)))
    cuts = range(0, len(parties), size)
    batches = (parties.part(first, min(first + size, len(parties))) for first in cuts)
    done = _done(work, batches, task, workers)
    return iter(watch(done, len(cuts)) if watch else done)


def _done(
    work: Callable[[Parties, Any], Any],
    batches: Iterable[Parties],
    task: Any,
    workers: int,
) -> Iterator[Any]:
    from joblib import Parallel, delayed
    from joblib.parallel import get_active_backend

    if workers == 1 or _n_workers(workers) == 1:  # asked again: this may be another place by now
        yield from (work(batch, task) for batch in batches)
        return
    streams = getattr(get_active_backend()[0], "supports_return_generator", False)
    parallel = Parallel(n_jobs=workers, return_as="generator" if streams else "list")
    yield from parallel(delayed(work)(batch, task) for batch in batches)


def _n_workers(n_jobs: int | None) -> int:
    """How many processes may work: one, unless they are processes and nobody else is at work."""
    from joblib import effective_n_jobs
    from joblib.parallel import get_active_backend

    backend, _ = get_active_backend()
    shares_memory = getattr(backend, "supports_sharedmem", False)
    in_threads = threading.current_thread() is not threading.main_thread()
    # A quiet thread holds the turn: a backend in this process would wait for it forever.
    if shares_memory or backend.nesting_level or in_threads or is_quiet():
        return 1
    return int(effective_n_jobs(n_jobs))
