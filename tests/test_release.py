from __future__ import annotations

import contextlib
import json
import os
import pickle
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from safetensors.numpy import save

from ostraka.auxiliary import AuxiliarySet
from ostraka.errors import FormatError, RehearsalError
from ostraka.local.ensemble import tally_linear
from ostraka.methods import soft
from ostraka.methods.terms import Terms
from ostraka.noise import Rehearsal
from ostraka.release import Rehearsed, Release

RNG = np.random.default_rng(0)


def a_release(classes: tuple[Any, ...] = ("no", "yes"), source: Rehearsal | None = None, constant: float = 0.5) -> Any:
    auxiliary = AuxiliarySet.scaled(RNG.uniform(-1, 1, (20, 2)), classes, constant, standardise=True)
    shape = (6, 3) if len(classes) == 2 else (6, 3, len(classes))
    return soft.release(tally_linear(RNG.standard_normal(shape), auxiliary), Terms(epsilon=50.0, lambda_=0.1), source)


@pytest.fixture(scope="module")
def release() -> Release:
    return a_release()


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
    assert loaded.model.task.preprocessing.center is not None
    assert [path.name for path in tmp_path.iterdir()] == ["model.ostraka"], "no temporary file is left"


def test_a_rehearsal_is_another_type_and_cannot_be_saved(tmp_path: Path) -> None:
    rehearsed = a_release(source=Rehearsal(0))
    assert isinstance(rehearsed, Rehearsed)
    with pytest.raises(RehearsalError, match=r"drawn with a seed.*Nothing was written"):
        rehearsed.save(tmp_path / "model.ostraka")
    assert not list(tmp_path.iterdir())
    assert "A REHEARSAL" in str(rehearsed.certificate)
    with pytest.raises(RehearsalError):
        Release(model=rehearsed.model, certificate=rehearsed.certificate)


def test_an_interrupted_write_leaves_the_old_file(tmp_path: Path, release: Release, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "model.ostraka"
    release.save(path)
    before = path.read_bytes()
    monkeypatch.setattr(os, "fsync", lambda _: (_ for _ in ()).throw(KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        a_release().save(path)
    assert path.read_bytes() == before
    assert len(list(tmp_path.iterdir())) == 1


def content_of(release: Release, tmp_path: Path) -> tuple[bytes, dict[str, str]]:
    release.save(tmp_path / "good")
    data = (tmp_path / "good").read_bytes()
    size = struct.unpack("<Q", data[:8])[0]
    return data, json.loads(data[8 : 8 + size])["__metadata__"]


def refused(tmp_path: Path, data: bytes) -> str:
    path = tmp_path / "bad"
    path.write_bytes(data)
    with pytest.raises(FormatError, match=r"not a valid (release|certificate).*Nothing was loaded") as caught:
        Release.load(path)
    return str(caught.value)


def test_hostile_files_are_refused(tmp_path: Path, release: Release) -> None:
    data, meta = content_of(release, tmp_path)
    weights = {"weights": release.model.weights}
    task = json.loads(meta["task"])

    def with_task(**changes: Any) -> bytes:
        return save(weights, metadata={**meta, "task": json.dumps({**task, **changes})})

    assert "a pickle, which could run code" in refused(tmp_path, pickle.dumps({"weights": [1.0]}))
    assert "safetensors" in refused(tmp_path, b"")
    assert "safetensors" in refused(tmp_path, data[:-1])
    assert "safetensors" in refused(tmp_path, data + b"\0")
    assert "safetensors" in refused(tmp_path, struct.pack("<Q", 2**60) + data[8:])
    assert "metadata" in refused(tmp_path, save(weights))
    assert "metadata" in refused(tmp_path, save(weights, metadata={**meta, "ostraka": "2"}))
    assert "metadata" in refused(tmp_path, save(weights, metadata={**meta, "more": "x"}))
    assert "tensors" in refused(tmp_path, save({**weights, "other": np.zeros(2)}, metadata=meta))
    assert "type float32" in refused(tmp_path, save({"weights": np.zeros(3, np.float32)}, metadata=meta))
    assert "NaN or infinite" in refused(tmp_path, save({"weights": np.full(3, np.nan)}, metadata=meta))
    assert "shape" in refused(tmp_path, save({"weights": np.zeros((3, 5))}, metadata=meta))
    assert "preprocessing.scale" in refused(tmp_path, save({**weights, "preprocessing.scale": np.zeros(2, np.int64)}, metadata=meta))
    assert "not above 0" in refused(tmp_path, save({**weights, "preprocessing.scale": np.zeros(2)}, metadata=meta))
    assert "n_features = 3 is not allowed" in refused(tmp_path, save({**weights, "preprocessing.center": np.zeros(5)}, metadata=meta))
    assert "certificate" in refused(tmp_path, save(weights, metadata={**meta, "certificate": "{}"}))
    assert "damaged" in refused(tmp_path, save(weights, metadata={**meta, "task": "null"}))
    assert "damaged" in refused(tmp_path, with_task(preprocessing={"radius": 1.0}))
    assert "damaged" in refused(tmp_path, with_task(preprocessing={"radius": "1", "constant": 0.0}))
    assert "radius" in refused(tmp_path, with_task(preprocessing={"radius": -1.0, "constant": 0.0}))
    assert "classes" in refused(tmp_path, with_task(classes=["only"]))
    assert "classes" in refused(tmp_path, with_task(classes=[["no"], "yes"]))
    assert "feature_names" in refused(tmp_path, with_task(feature_names=["a"]))


def test_a_file_that_is_too_large_is_not_read(tmp_path: Path, release: Release, monkeypatch: pytest.MonkeyPatch) -> None:
    data, _ = content_of(release, tmp_path)
    monkeypatch.setattr("ostraka.release.MAX_BYTES", 10)
    assert "more than 10" in refused(tmp_path, data)


@settings(max_examples=300, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(data=st.data())
def test_any_damage_gives_a_format_error_or_the_same_kind_of_value(tmp_path: Path, release: Release, data: st.DataObject) -> None:
    content = bytearray(content_of(release, tmp_path)[0])
    for _ in range(data.draw(st.integers(1, 4))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    path = tmp_path / "bad"
    path.write_bytes(bytes(content[: data.draw(st.integers(len(content) // 2, len(content)))]))
    with contextlib.suppress(FormatError):
        assert isinstance(Release.load(path), Release)


def test_folders_and_missing_folders_are_named(tmp_path: Path, release: Release) -> None:
    with pytest.raises(IsADirectoryError, match="it is a folder"):
        Release.load(tmp_path)
    with pytest.raises(FileNotFoundError, match="nowhere"):
        release.save(tmp_path / "nowhere" / "x.ostraka")


def test_a_release_is_readable_as_any_new_file(tmp_path: Path, release: Release) -> None:
    (tmp_path / "other").touch()
    release.save(tmp_path / "model")
    assert (tmp_path / "model").stat().st_mode == (tmp_path / "other").stat().st_mode


def test_a_missing_file_says_so(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        Release.load(tmp_path / "nothing")
