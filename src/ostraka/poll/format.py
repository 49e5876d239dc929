"""A poll on disk: one safetensors file, arrays as tensors, everything else as canonical JSON.

    tensor                          meaning
    preprocessing.*                 the public map from samples to features
    auxiliary.features              the auxiliary set as features; `.data`, `.indices` and `.indptr`
                                    if sparse
    auxiliary.samples               the same rows as parties' own classifiers see them, where they
                                    vote; of a described table `.0`, `.1`, ...: a column each, texts
                                    by their place in a list
    method.*                        the method's arrays

Of a private auxiliary set nothing is in the file. Files are parsed, then audited, then built.
"""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from ostraka.errors import FormatError, InputError
from ostraka.methods.parts import method_from_parts, method_parts
from ostraka.public.auxiliary import AuxiliarySet
from ostraka.public.numbers import is_sparse
from ostraka.public.promise import Promise
from ostraka.public.stored_table import StoredTable
from ostraka.public.task import Task
from ostraka.release.release import task_from_json, task_json
from ostraka.sealing import Servers
from ostraka.tensors import canonical_json, parse_json, read_tensors, write_tensors

if TYPE_CHECKING:
    from ostraka.poll.poll import Poll

__all__ = ["read_poll", "write_poll"]

# A new number with every change of the file's content; readers of old numbers stay, each with a
# file in the tests. A poll whose columns are not described, that has no forecast, keeps no rows
# back, asks for no kernel student, or trusts a coordinator alone, has the form that it always had.
FORMAT, DESCRIBED, FORECAST, KEEPING, STUDENT, SEALED = "1", "2", "3", "4", "5", "6"
CSR: Final = ("data", "indices", "indptr")
FIELDS: Final = {
    "title",
    "task",
    "n_features",
    "method",
    "promise",
    "expected_units",
    "roll",
    "auxiliary",
    "assumed_public",
    "forecast",
}

Arrays = dict[str, NDArray[Any]]


def write_poll(poll: Poll) -> bytes:
    """The bytes of a poll: one poll, one form."""
    settings, arrays = method_parts(poll.method)
    tensors = {f"method.{name}": array for name, array in arrays.items()}
    named = poll.task.preprocessing.arrays().items()
    tensors |= {f"preprocessing.{name}": array for name, array in named}
    task = task_json(poll.task)
    auxiliary: dict[str, Any] = {"samples": poll.auxiliary_samples, "sparse": None}
    if poll.auxiliary is not None and not poll.private_auxiliary:
        tensors |= _tensors("auxiliary.features", poll.auxiliary.features)
        if poll.votes:
            samples = _store(poll.auxiliary.samples, poll.task)
            if isinstance(samples, StoredTable):
                auxiliary["texts"] = samples.texts
            tensors |= _tensors("auxiliary.samples", samples)
        auxiliary["sparse"] = is_sparse(poll.auxiliary.features)
    content = {
        "title": poll.title,
        "task": task,
        "n_features": poll.task.n_features,
        "method": settings,
        "promise": _promise_json(poll.promise),
        "expected_units": poll.expected_units,
        "roll": None if poll.roll is None else list(poll.roll),
        "auxiliary": auxiliary,
        "assumed_public": list(poll.assumed_public),
        "forecast": poll.forecast,
    }
    number = DESCRIBED if "columns" in task else FORMAT
    number = number if poll.forecast is None else FORECAST
    if poll.keep_back is not None:
        number, content["keep_back"] = KEEPING, poll.keep_back
    if settings.get("student") == "kernel":
        number = STUDENT
    if poll.is_sealed:
        number = SEALED
    metadata = {"ostraka-poll": number, "poll": canonical_json(content)}
    return write_tensors(tensors, metadata)


def read_poll(kind: type[Poll], data: bytes) -> Poll:
    """Read a poll that came from anyone."""
    tensors, metadata = read_tensors(data, "poll")
    if "ostraka" in metadata:
        raise FormatError(
            "poll", "it is a release, which a poll ends with (see it with: ostraka inspect)"
        )
    number = metadata.get("ostraka-poll")
    numbers = (FORMAT, DESCRIBED, FORECAST, KEEPING, STUDENT, SEALED)
    if number not in numbers or set(metadata) != {"ostraka-poll", "poll"}:
        problem = f"its metadata is not that of an Ostraka poll of format 1 to {SEALED}"
        raise FormatError("poll", problem)
    content = parse_json(metadata["poll"], "poll")
    if set(content) - {"keep_back"} != FIELDS:
        raise FormatError("poll", "its fields are not those of a poll")
    if content["forecast"] is not None and number in (FORMAT, DESCRIBED):
        problem = "it was made by an earlier version, whose forecasts meant something else"
        raise FormatError("poll", f"{problem}: make it again")
    try:
        poll = _built(kind, content, tensors)
    except FormatError:
        raise
    except InputError as error:
        raise FormatError("poll", error.problem.removesuffix(".")) from None
    except (TypeError, ValueError, KeyError, AttributeError, OverflowError):
        raise FormatError("poll", "its content is damaged") from None
    if poll.to_bytes() != data:
        raise FormatError("poll", "it holds more than a poll, or in another form")
    return poll


def _built(kind: type[Poll], content: dict[str, Any], tensors: Arrays) -> Poll:
    promise = _promise(content["promise"])
    task = task_from_json(content["task"], tensors, content["n_features"], "poll")
    auxiliary = _auxiliary(content["auxiliary"], tensors, task)
    arrays = {
        name.removeprefix("method."): array
        for name, array in tensors.items()
        if name.startswith("method.")
    }
    features = None if auxiliary is None else auxiliary.features
    method = method_from_parts(content["method"], arrays, features)
    roll, forecast = content["roll"], content["forecast"]
    if not (
        roll is None or (isinstance(roll, list) and all(isinstance(each, str) for each in roll))
    ):
        raise FormatError("poll", "its roll is not a list of names")
    poll = kind(
        title=content["title"],
        task=task,
        method=method,
        promise=promise,
        expected_units=content["expected_units"],
        roll=None if roll is None else tuple(roll),
        auxiliary=auxiliary,
        auxiliary_samples=content["auxiliary"]["samples"],
        auxiliary_digest=None if auxiliary is None else auxiliary.digest,
        assumed_public=tuple(map(str, content["assumed_public"])),
        keep_back=content.get("keep_back"),
        forecast=None if forecast is None else float(forecast),
    )
    poll.mechanism(poll.expected_units)
    return poll


def _promise_json(promise: Promise) -> dict[str, Any]:
    held = {each.name: getattr(promise, each.name) for each in fields(promise)}
    del held["servers"]
    return held if promise.servers is None else held | {"servers": promise.servers.to_json()}


def _promise(held: dict[str, Any]) -> Promise:
    if "servers" not in held:
        return Promise(**held)
    return Promise(**{**held, "servers": Servers.from_json(held["servers"])})


def _auxiliary(described: dict[str, Any], tensors: Arrays, task: Task) -> AuxiliarySet | None:
    if described["sparse"] is None:
        return None
    features = _matrix("auxiliary.features", tensors, described["sparse"], task.n_features)
    samples = None
    if "texts" in described:
        names = enumerate(task.feature_names or ())
        held = {name: tensors[f"auxiliary.samples.{place}"] for place, name in names}
        samples = StoredTable(held, described["texts"])
    elif any(name.startswith("auxiliary.samples") for name in tensors):
        sparse = "auxiliary.samples" not in tensors
        samples = _matrix("auxiliary.samples", tensors, sparse, task.n_columns)
    restored = AuxiliarySet.restored(
        features, task.classes, task.preprocessing, task.columns, samples
    )
    if restored.n_samples != described["samples"] or restored.n_features != task.n_features:
        raise FormatError("poll", "its auxiliary set is not of the size that it says")
    return restored


def _store(samples: Any, task: Task) -> Any:
    """Tables of numbers without gaps as arrays: the names of their columns stand in the task."""
    if is_sparse(samples) or task.columns is None or not task.columns.are_known:
        return samples if is_sparse(samples) else np.asarray(samples, dtype=np.float64)
    table = StoredTable.of(samples, task.columns.names)
    return table if table.texts or table.has_gaps else np.stack(list(table.held.values()), axis=1)


def _tensors(name: str, matrix: Any) -> Arrays:
    if isinstance(matrix, StoredTable):
        places = enumerate(matrix.held.values())
        return {f"{name}.{place}": array for place, array in places}
    if not is_sparse(matrix):
        return {name: np.ascontiguousarray(matrix, dtype=np.float64)}
    kinds = {"data": np.float64, "indices": np.int64, "indptr": np.int64}
    return {f"{name}.{part}": getattr(matrix, part).astype(kinds[part]) for part in CSR}


def _matrix(name: str, tensors: Arrays, sparse: bool, n_columns: int) -> Any:
    if not sparse:
        return tensors[name]
    from scipy.sparse import csr_matrix

    data, indices, starts = (tensors[f"{name}.{part}"] for part in CSR)
    _check_csr(data, indices, starts, n_columns)
    return csr_matrix((data, indices, starts), shape=(starts.size - 1, n_columns))


def _check_csr(
    data: NDArray[Any], indices: NDArray[Any], starts: NDArray[Any], n_columns: int
) -> None:
    """Refuse what is no sparse matrix.

    scipy's own check lets some of it pass (ends without numbers, starts so far apart that their
    differences overflow), and its compiled code then reads and writes outside of the arrays.
    """
    kinds = [each.dtype.str for each in (data, indices, starts)] == ["<f8", "<i8", "<i8"]
    flat = data.ndim == indices.ndim == starts.ndim == 1 and starts.size > 0
    if not (
        kinds
        and flat
        and data.size == indices.size == starts[-1]
        and starts[0] == 0
        and np.all(starts[1:] >= starts[:-1])
        and np.all((indices >= 0) & (indices < n_columns))
    ):
        raise FormatError("poll", "its sparse rows are damaged")
