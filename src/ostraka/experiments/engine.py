"""Trials on all cores, or on a cluster; interrupted runs continue where they stopped.

Every finished trial is a small file. A trial's numbers follow from the settings, its number of
parties and its own number, so it does not matter which worker runs it, in which order, or in which
run.

joblib spreads the trials: `loky` over this machine's cores, `dask` and `ray` over a cluster that is
already running.
"""

from __future__ import annotations

import contextlib
import json
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal, Protocol, TypeAlias, final

from ostraka.datasets.dataset import Dataset
from ostraka.errors import ParameterError
from ostraka.experiments.trial import Measured, run_trial
from ostraka.files import write_atomically

__all__ = ["Backend", "Measure", "Seeded", "Trial", "n_finished", "run_trials"]

Backend = Literal["loky", "dask", "ray"]


class Seeded(Protocol):
    """Settings of any kind: how many trials, and a name for all that their numbers depend on."""

    @property
    def trials(self) -> int: ...  # noqa: D102
    @property
    def digest(self) -> str: ...  # noqa: D102


Measure: TypeAlias = Callable[[Dataset, Any, int, int], list[Measured]]
"""(data, settings, number of parties, number of the trial) ↦ what it measured.

It must be a function of a module, so that workers can find it.
"""


@final
@dataclass(frozen=True, slots=True)
class Trial:
    """What one trial measured."""

    n_parties: int
    number: int
    measured: tuple[Measured, ...]


def run_trials(
    data: Dataset,
    settings: Seeded,
    panels: Sequence[int],
    folder: Path,
    *,
    measure: Measure = run_trial,
    n_jobs: int = -1,
    backend: Backend = "loky",
    scheduler: str | None = None,
    watch: Callable[[Iterable[Any], int], Iterable[Any]] | None = None,
) -> list[Trial]:
    """All trials of all panels, in order; those already in `folder` are read, not run."""
    kept = _folder(folder, settings, data)
    kept.mkdir(parents=True, exist_ok=True)
    if n_jobs == 0:
        raise ParameterError("jobs", got=0, allowed="1 or more, or -1 for one per core")
    if scheduler is not None and backend == "loky":
        raise ParameterError(
            "scheduler", got=scheduler, allowed="none without a cluster; or --backend dask, or ray"
        )
    jobs = [
        (n_parties, number)
        for n_parties in sorted(panels, reverse=True)
        for number in range(settings.trials)
    ]
    found = {job: trial for job in jobs if (trial := _read(kept, *job)) is not None}
    missing = [job for job in jobs if job not in found]
    done = _run(data, settings, missing, measure, n_jobs, backend, scheduler)
    for trial in watch(done, len(missing)) if watch and missing else done:
        _write(kept, trial)
        found[trial.n_parties, trial.number] = trial
    return [found[job] for job in sorted(jobs)]


def n_finished(data: Dataset, settings: Seeded, panels: Sequence[int], folder: Path) -> int:
    """How many trials of such a run are already there."""
    kept = _folder(folder, settings, data)
    return sum(
        _read(kept, n_parties, number) is not None
        for n_parties in panels
        for number in range(settings.trials)
    )


def _folder(folder: Path, settings: Seeded, data: Dataset) -> Path:
    return folder / f"{settings.digest}-{_fingerprint(data)}"


def _run(
    data: Dataset,
    settings: Seeded,
    jobs: Sequence[tuple[int, int]],
    measure: Measure,
    n_jobs: int,
    backend: Backend,
    scheduler: str | None,
) -> Iterator[Trial]:
    from joblib import Parallel, delayed

    if not jobs:
        return
    with _spread(backend, scheduler, data, n_jobs):
        calls = (delayed(_trial)(measure, data, settings, *job) for job in jobs)
        yield from Parallel(return_as="generator_unordered")(calls)


def _trial(measure: Measure, data: Dataset, settings: Seeded, n_parties: int, number: int) -> Trial:
    return Trial(n_parties, number, tuple(measure(data, settings, n_parties, number)))


@contextlib.contextmanager
def _spread(backend: Backend, scheduler: str | None, data: Dataset, n_jobs: int) -> Iterator[None]:
    """Tell joblib where to run; a cluster gets the data once, not with every trial."""
    from joblib import parallel_config

    if backend == "loky":
        with parallel_config(backend="loky", n_jobs=n_jobs, inner_max_num_threads=1):
            yield
    elif backend == "dask":
        with (
            _dask_client(scheduler),
            parallel_config(backend="dask", n_jobs=n_jobs, scatter=[data]),
        ):
            yield
    elif backend == "ray":
        _register_ray(scheduler)
        with parallel_config(backend="ray", n_jobs=n_jobs):
            yield
    else:
        raise ParameterError("backend", got=backend, allowed="loky, dask or ray")


def _dask_client(scheduler: str | None) -> Any:
    try:
        from distributed import Client
    except ImportError:
        raise ParameterError(
            "backend", got="dask", allowed="loky, unless you pip install distributed"
        ) from None
    if scheduler is None:
        raise ParameterError(
            "scheduler",
            got=None,
            allowed="the address of a running Dask scheduler, such as tcp://host:8786",
        )
    try:
        return Client(scheduler, timeout=20)  # type: ignore[no-untyped-call]
    except (OSError, ValueError) as error:
        raise ParameterError(
            "scheduler",
            got=scheduler,
            allowed=f"the address of a Dask scheduler that answers ({error})",
        ) from None


def _register_ray(scheduler: str | None) -> None:
    try:
        import ray
        from ray.util.joblib import register_ray
    except ImportError:
        raise ParameterError(
            "backend", got="ray", allowed="loky, unless you pip install ray"
        ) from None
    if not ray.is_initialized():
        ray.init(address=scheduler or "auto")
    register_ray()


def _fingerprint(data: Dataset) -> str:
    """Tells apart data sets that have the same name."""
    shapes = repr((data.train.samples.shape, data.test.samples.shape)).encode()
    checksum = zlib.crc32(data.train.labels.tobytes(), zlib.crc32(shapes))
    checksum = zlib.crc32(data.test.labels.tobytes(), checksum)
    return f"{checksum:08x}"


def _file(folder: Path, n_parties: int, number: int) -> Path:
    return folder / f"{n_parties}-{number}.json"


def _write(folder: Path, trial: Trial) -> None:
    write_atomically(
        _file(folder, trial.n_parties, trial.number),
        json.dumps([asdict(each) for each in trial.measured]).encode(),
    )


def _read(folder: Path, n_parties: int, number: int) -> Trial | None:
    """A finished trial, or None; a file that does not hold one counts as none and is rewritten."""
    try:
        content = json.loads(_file(folder, n_parties, number).read_bytes())
        measured = [
            Measured(**{name: _listed(value) for name, value in each.items()}) for each in content
        ]
        return Trial(n_parties, number, tuple(measured)) if measured else None
    except (FileNotFoundError, ValueError, TypeError, KeyError):
        return None


def _listed(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value
