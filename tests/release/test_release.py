"""A release comes back from its file as it was; what is not exactly one is refused."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import pickle
import struct
import threading
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from safetensors.numpy import save

from ostraka.errors import FormatError, ParameterError, RehearsalError
from ostraka.mechanism import Rehearsal
from ostraka.poll import Poll
from ostraka.public.auxiliary import AuxiliarySet
from ostraka.publishing import publish
from ostraka.release import Rehearsed, Release
from ostraka.tally import Tally
from tests.laws.cases import Case, in_process
from tests.release.promised import AVG, SOFT

RNG = np.random.default_rng(0)
CLASSES = ("no", "yes")


def a_release(
    classes: tuple[Any, ...] = CLASSES, source: Rehearsal | None = None, constant: float = 0.5
) -> Any:
    """A small release by `soft` that predicts from two columns."""
    samples = RNG.uniform(-1, 1, (20, 2))
    auxiliary = AuxiliarySet.scaled(samples, classes, constant, standardise=True)
    poll = Poll.create(auxiliary, method="soft", epsilon=50.0, lambda_=0.1, parties=6)
    tally = Tally(poll)
    for party in range(6):
        weights = RNG.standard_normal((2, len(classes)))
        tally.add(poll.cast(lambda rows, w=weights: np.array(classes)[(rows @ w).argmax(1)], party))
    return publish(poll, tally, source)


@cache
def of_a_statistic(method: str = "moments") -> Release:
    case = Case(method, 3)
    poll = case.poll()
    return publish(poll, in_process(poll, case.world()))  # type: ignore[return-value]


@pytest.fixture(scope="module")
def release() -> Release:
    return a_release()


# ---- there and back ------------------------------------------------------------------------------


@pytest.mark.parametrize("classes", [("no", "yes"), (5, 3), ("a", "b", "c", "ü")])
def test_a_release_comes_back_from_its_file(tmp_path: Path, classes: tuple[Any, ...]) -> None:
    original = a_release(classes)
    original.save(tmp_path / "model.ostraka")
    loaded = Release.load(tmp_path / "model.ostraka")
    samples = RNG.uniform(-3, 3, (40, 2))
    assert loaded.certificate == original.certificate
    assert loaded.model.task == original.model.task
    assert (loaded.predict(samples) == original.predict(samples)).all()
    assert (loaded.predict_proba(samples) == original.predict_proba(samples)).all()
    assert loaded.score(samples, original.predict(samples)) == 1.0
    assert loaded.model.task.preprocessing.center is not None
    assert loaded.statistic is None
    assert [path.name for path in tmp_path.iterdir()] == ["model.ostraka"], (
        "no temporary file is left"
    )


@pytest.mark.parametrize("method", ["moments", "cells", "consensus", "refine"])
def test_the_statistic_comes_back_too(method: str) -> None:
    original = of_a_statistic(method)
    loaded = Release.from_bytes(original.to_bytes())
    assert original.statistic is not None
    assert loaded.statistic is not None
    assert loaded.statistic.shape == (loaded.certificate.dimension,)
    assert (loaded.statistic == original.statistic).all()
    assert loaded.to_bytes() == original.to_bytes()


def test_a_statistic_cannot_be_changed() -> None:
    original = of_a_statistic()
    given = np.array(original.statistic)
    made = replace(original, statistic=given)
    given[0] += 1.0
    assert (made.statistic == original.statistic).all()
    for each in (made, Release.from_bytes(made.to_bytes())):
        with pytest.raises(ValueError, match="read-only"):
            each.statistic[0] = 7.0  # type: ignore[index]


def test_one_release_has_one_file_and_one_digest(tmp_path: Path, release: Release) -> None:
    release.save(tmp_path / "model")
    data = (tmp_path / "model").read_bytes()
    assert data == release.to_bytes() == Release.from_bytes(data).to_bytes()
    assert release.digest == Release.from_bytes(data).digest == hashlib.sha256(data).hexdigest()
    assert release.digest != a_release().digest
    other = Release.from_bytes(data).model
    moved = replace(release, model=replace(other, weights=other.weights + 2.0**-40))
    assert moved.digest != release.digest
    header = data[8 : 8 + struct.unpack("<Q", data[:8])[0]].decode("ascii")
    content = json.loads(header)
    assert header.rstrip() == json.dumps(content, sort_keys=True, separators=(",", ":"))
    assert content["__metadata__"]["ostraka"] == "4"


def test_another_form_of_the_same_content_has_another_digest(release: Release) -> None:
    """Its digest is that of the file: whoever wrote it otherwise wrote another file."""
    arrays = {"weights": release.model.weights}
    arrays |= {
        f"preprocessing.{n}": a for n, a in release.model.task.preprocessing.arrays().items()
    }
    data = save(arrays, metadata=content_of(release)[1])
    padded = struct.pack("<Q", struct.unpack("<Q", data[:8])[0] + 8)
    length = struct.unpack("<Q", data[:8])[0]
    data = padded + data[8 : 8 + length] + b" " * 8 + data[8 + length :]
    loaded = Release.from_bytes(data)
    assert loaded.certificate == release.certificate
    assert loaded.digest == hashlib.sha256(data).hexdigest() != release.digest


def test_a_rehearsal_is_another_type_and_cannot_be_saved(tmp_path: Path) -> None:
    rehearsed = a_release(source=Rehearsal(0))
    assert isinstance(rehearsed, Rehearsed)
    with pytest.raises(RehearsalError, match=r"drawn with a seed.*Nothing was written"):
        rehearsed.save(tmp_path / "model.ostraka")
    assert not list(tmp_path.iterdir())
    assert not hasattr(rehearsed, "to_bytes")
    assert "A REHEARSAL" in str(rehearsed.certificate)
    with pytest.raises(RehearsalError):
        Release(model=rehearsed.model, certificate=rehearsed.certificate)


def test_an_interrupted_write_leaves_the_old_file(
    tmp_path: Path, release: Release, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "model.ostraka"
    release.save(path)
    before = path.read_bytes()
    monkeypatch.setattr(os, "fsync", lambda _: (_ for _ in ()).throw(KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        a_release().save(path, overwrite=True)
    assert path.read_bytes() == before
    assert len(list(tmp_path.iterdir())) == 1


def test_a_release_is_readable_as_any_new_file(tmp_path: Path, release: Release) -> None:
    (tmp_path / "other").touch()
    release.save(tmp_path / "model")
    assert (tmp_path / "model").stat().st_mode == (tmp_path / "other").stat().st_mode


# ---- what a release may not be -------------------------------------------------------------------


def test_there_is_no_more_noise_than_weights(release: Release) -> None:
    for promised in (AVG, SOFT):
        accepted = replace(promised, dimension=release.model.weights.size)
        assert Release(model=release.model, certificate=accepted).certificate == accepted
        one_more = replace(promised, dimension=release.model.weights.size + 1)
        with pytest.raises(ParameterError, match=r"dimension = 4.*up to 3, the number of weights"):
            Release(model=release.model, certificate=one_more)


def test_a_statistic_is_as_long_as_promised() -> None:
    original = of_a_statistic()
    for shape in ((original.certificate.dimension + 1,), (1, original.certificate.dimension), ()):
        with pytest.raises(ParameterError, match=r"statistic = .*as its certificate says"):
            replace(original, statistic=np.zeros(shape))


def test_a_model_that_is_what_was_released_has_no_statistic(release: Release) -> None:
    n = release.certificate.dimension
    averaged = Release(model=release.model, certificate=replace(AVG, dimension=n))
    for each in (release, averaged):
        with pytest.raises(ParameterError, match=f"none for the method {each.certificate.method}"):
            replace(each, statistic=np.zeros(n))
        tensors = {**arrays_of(each), "statistic": np.zeros(n)}
        with pytest.raises(FormatError, match=r"in its certificate, statistic = .* is not allowed"):
            Release.from_bytes(save(tensors, metadata=content_of(each)[1]))


# ---- hostile files -------------------------------------------------------------------------------


def content_of(release: Release) -> tuple[bytes, dict[str, str]]:
    data = release.to_bytes()
    size = struct.unpack("<Q", data[:8])[0]
    return data, json.loads(data[8 : 8 + size])["__metadata__"]


def arrays_of(release: Release) -> dict[str, Any]:
    named = release.model.task.preprocessing.arrays().items()
    return {"weights": release.model.weights, **{f"preprocessing.{n}": a for n, a in named}}


def refused(tmp_path: Path, data: bytes) -> str:
    path = tmp_path / "bad"
    path.write_bytes(data)
    told = r"not a valid (release|certificate).*Nothing was loaded"
    with pytest.raises(FormatError, match=told) as caught:
        Release.load(path)
    return str(caught.value)


def raw(header: Any, body: bytes = b"") -> bytes:
    """A file with any header at all."""
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + body


def test_hostile_files_are_refused(tmp_path: Path, release: Release) -> None:
    data, meta = content_of(release)
    weights = arrays_of(release)
    task = json.loads(meta["task"])

    def written(arrays: dict[str, Any], **changes: str) -> bytes:
        return save({**weights, **arrays}, metadata={**meta, **changes})

    def with_task(**changes: Any) -> bytes:
        return written({}, task=json.dumps({**task, **changes}))

    assert Release.from_bytes(written({})).certificate == release.certificate
    assert Release.from_bytes(with_task()).model.task == release.model.task
    assert "a pickle, which could run code" in refused(tmp_path, pickle.dumps({"weights": [1.0]}))
    assert "a numpy file" in refused(tmp_path, b"\x93NUMPY\x01\x00")
    assert "a zip file" in refused(tmp_path, b"PK\x03\x04" + b"\0" * 30)
    assert "a gzip file" in refused(tmp_path, b"\x1f\x8b\x08" + b"\0" * 30)
    assert "cut short or damaged" in refused(tmp_path, b"")
    assert "cut short or damaged" in refused(tmp_path, data[:-1])
    assert "cut short or damaged" in refused(tmp_path, data + b"\0")
    assert "cut short or damaged" in refused(tmp_path, struct.pack("<Q", 2**60) + data[8:])
    assert "metadata" in refused(tmp_path, save(weights))
    assert "metadata" in refused(tmp_path, written({}, ostraka="7"))
    assert "format 1 to 6" in refused(tmp_path, written({}, ostraka="0"))
    assert "metadata" in refused(tmp_path, written({}, more="x"))
    assert "tensors" in refused(tmp_path, written({"other": np.zeros(2)}))
    no_weights = save({"preprocessing.scale": np.ones(2)}, metadata=meta)
    assert "tensors" in refused(tmp_path, no_weights)
    assert "type float32" in refused(tmp_path, written({"weights": np.zeros(3, np.float32)}))
    assert "NaN or infinite" in refused(tmp_path, written({"weights": np.full(3, np.nan)}))
    assert "NaN or infinite" in refused(tmp_path, written({"weights": np.full(3, np.inf)}))
    assert "shape" in refused(tmp_path, written({"weights": np.zeros((3, 5))}))
    assert "shape" in refused(tmp_path, written({"weights": np.zeros((3, 1, 1))}))
    assert "shape" in refused(tmp_path, written({"weights": np.zeros(0)}))
    whole = {"preprocessing.scale": np.zeros(2, np.int64)}
    assert "preprocessing.scale" in refused(tmp_path, written(whole))
    assert "not above 0" in refused(tmp_path, written({"preprocessing.scale": np.zeros(2)}))
    wide = {"preprocessing.center": np.zeros(5), "preprocessing.scale": np.ones(5)}
    assert "n_features = 3 is not allowed" in refused(tmp_path, written(wide))
    assert "certificate" in refused(tmp_path, written({}, certificate="{}"))
    seeded = release.certificate.to_json().replace('"operating system"', '"seed"')
    assert "it is a rehearsal" in refused(tmp_path, written({}, certificate=seeded))
    assert "in its certificate, dimension = 7" in refused(
        tmp_path, written({}, certificate=SOFT.to_json())
    )
    for text in ("null", "[]", '"x"', "1"):
        assert "it is not a JSON object" in refused(tmp_path, written({}, task=text))
    for text in ("{}", '{"classes":1,"feature_names":1,"preprocessing":1}'):
        assert "damaged" in refused(tmp_path, written({}, task=text))
    assert "JSON" in refused(tmp_path, written({}, task="[" * 100_000))
    assert "damaged" in refused(tmp_path, with_task(more=1))
    assert "damaged" in refused(tmp_path, with_task(preprocessing={"radius": 1.0}))
    assert "damaged" in refused(tmp_path, with_task(preprocessing={"radius": "1", "constant": 0.0}))
    assert "damaged" in refused(tmp_path, with_task(preprocessing=[]))
    assert "damaged" in refused(tmp_path, with_task(classes="no"))
    assert "radius" in refused(tmp_path, with_task(preprocessing={"radius": -1.0, "constant": 0.0}))
    assert "classes" in refused(tmp_path, with_task(classes=["only"]))
    assert "classes" in refused(tmp_path, with_task(classes=[["no"], "yes"]))
    assert "it describes 1 columns" in refused(tmp_path, with_task(feature_names=["a"]))


def test_a_hostile_statistic_is_refused(tmp_path: Path) -> None:
    original = of_a_statistic()
    arrays, meta = arrays_of(original), content_of(original)[1]
    n = original.certificate.dimension
    assert Release.from_bytes(save({**arrays, "statistic": np.zeros(n)}, metadata=meta))
    for wrong, complaint in [
        (np.zeros(n + 1), "as its certificate says|statistic = "),
        (np.zeros((n, 1)), "statistic"),
        (np.zeros(0), "its statistic have"),
        (np.zeros(n, np.float32), "its statistic have type float32"),
        (np.full(n, np.nan), "its statistic have"),
        (np.full(n, np.inf), "its statistic have"),
    ]:
        assert "statistic" in refused(tmp_path, save({**arrays, "statistic": wrong}, metadata=meta))
        with pytest.raises(FormatError, match=complaint):
            Release.from_bytes(save({**arrays, "statistic": wrong}, metadata=meta))


HEADERS: dict[str, bytes] = {
    "nothing": raw(b""),
    "one letter": raw(b"{"),
    "no JSON": raw(b"\xff\xfe"),
    "no object": raw([]),
    "null": raw(b"null"),
    "nested": raw(b"[" * 100_000),
    "no tensors": raw({}),
    "metadata of numbers": raw({"__metadata__": {"ostraka": 2}}),
    "metadata that is none": raw({"__metadata__": []}),
    "a tensor that is none": raw({"weights": 3}),
    "a tensor without a shape": raw(
        {"weights": {"dtype": "F64", "data_offsets": [0, 8]}}, b"\0" * 8
    ),
    "offsets beyond the file": raw(
        {"weights": {"dtype": "F64", "shape": [2**40], "data_offsets": [0, 2**43]}}
    ),
    "offsets in reverse": raw(
        {"weights": {"dtype": "F64", "shape": [1], "data_offsets": [8, 0]}}, b"\0" * 8
    ),
    "an overflowing shape": raw(
        {"weights": {"dtype": "F64", "shape": [2**62, 2**62], "data_offsets": [0, 8]}}, b"\0" * 8
    ),
    "an unknown type": raw(
        {"weights": {"dtype": "X99", "shape": [1], "data_offsets": [0, 8]}}, b"\0" * 8
    ),
    "a type that numpy lacks": raw(
        {"weights": {"dtype": "F8_E4M3", "shape": [8], "data_offsets": [0, 8]}}, b"\0" * 8
    ),
    "two tensors in one place": raw(
        {
            name: {"dtype": "F64", "shape": [1], "data_offsets": [0, 8]}
            for name in ("weights", "statistic")
        },
        b"\0" * 8,
    ),
}


@pytest.mark.parametrize("data", HEADERS.values(), ids=HEADERS)
def test_hostile_headers_are_refused(tmp_path: Path, data: bytes) -> None:
    assert refused(tmp_path, data)


@pytest.mark.parametrize("make", [a_release, of_a_statistic], ids=["soft", "moments"])
def test_a_file_cut_off_anywhere_is_refused(make: Callable[[], Release]) -> None:
    data = make().to_bytes()
    assert len(data) < 4000
    for length in range(len(data)):
        with pytest.raises(FormatError, match=r"Nothing was loaded"):
            Release.from_bytes(data[:length])


def test_a_file_that_is_too_large_is_not_read(
    tmp_path: Path, release: Release, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ostraka.release.release.LARGEST_FILE", 10)
    assert "more than 10" in refused(tmp_path, release.to_bytes())


def test_a_giant_is_not_read(tmp_path: Path) -> None:
    """A sparse file of eight gigabytes takes no room on the disk, and none in memory."""
    path = tmp_path / "giant"
    with path.open("wb") as file:
        file.truncate(2**33)
    with pytest.raises(FormatError, match=f"giant has {2**33} bytes, more than {2**31}"):
        Release.load(path)


@settings(
    max_examples=300, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None
)
@given(data=st.data())
def test_any_damage_gives_a_format_error_or_the_same_kind_of_value(
    tmp_path: Path, release: Release, data: st.DataObject
) -> None:
    original = data.draw(st.sampled_from([release, of_a_statistic()]))
    content = bytearray(original.to_bytes())
    for _ in range(data.draw(st.integers(1, 4))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    path = tmp_path / "bad"
    path.write_bytes(bytes(content[: data.draw(st.integers(len(content) // 2, len(content)))]))
    with contextlib.suppress(FormatError):
        assert isinstance(Release.load(path), Release)


# ---- what is no file -----------------------------------------------------------------------------


def within(seconds: float, work: Callable[[], Any]) -> BaseException:
    """What `work` raises; a failure if it waits."""
    caught: list[BaseException] = []

    def run() -> None:
        try:
            work()
        except BaseException as error:  # handed to the test
            caught.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(seconds)
    assert not thread.is_alive(), "it waits for somebody to write"
    assert caught, "it was accepted"
    return caught[0]


def test_a_pipe_is_refused_and_nobody_waits(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    error = within(60.0, lambda: Release.load(path))
    assert isinstance(error, FormatError)
    assert "pipe is not a regular file" in str(error)
    (tmp_path / "link").symlink_to(path)
    assert isinstance(within(60.0, lambda: Release.load(tmp_path / "link")), FormatError)


def test_a_device_is_refused() -> None:
    for device in ("/dev/null", "/dev/zero"):
        error = within(60.0, lambda device=device: Release.load(device))  # type: ignore[misc]
        assert isinstance(error, FormatError)
        assert "is not a regular file" in str(error)


def test_a_link_to_a_release_is_as_good_as_the_release(tmp_path: Path, release: Release) -> None:
    release.save(tmp_path / "model")
    (tmp_path / "link").symlink_to(tmp_path / "model")
    assert Release.load(tmp_path / "link").digest == release.digest


def test_folders_and_missing_folders_are_named(tmp_path: Path, release: Release) -> None:
    with pytest.raises(IsADirectoryError, match="it is a folder"):
        Release.load(tmp_path)
    with pytest.raises(FileNotFoundError, match="nowhere"):
        release.save(tmp_path / "nowhere" / "x.ostraka")


def test_a_missing_file_says_so(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        Release.load(tmp_path / "nothing")
