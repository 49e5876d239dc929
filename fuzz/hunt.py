"""One reader in a process of its own, guided by what its code has not done yet.

`python -m fuzz.hunt NAME SECONDS SEED`; lines of JSON tell how far it is and what was found. What
it finds goes to `fuzz/found`, the shortest input of each kind.

With atheris, inputs that make code of ours do something new are changed further. Without it, the
valid ones alone are, over and over.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import sys
import tempfile
import time
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any, Final, NoReturn, final

if TYPE_CHECKING:
    from fuzz.judge import Target

__all__ = ["FOUND", "Hunter", "hunt"]

FOUND: Final = Path(__file__).parent / "found"
LONGEST: Final = 60_000
PULSE: Final = 0.5


@final
class Hunter:
    """Judges inputs, keeps those that something is wrong with, and tells of both."""

    def __init__(self, name: str, target: Target, seconds: float) -> None:
        self._name, self._target = name, target
        self._until, self._told = time.monotonic() + seconds, 0.0
        self._runs, self._sizes = 0, dict[str, int]()

    def run(self, data: bytes) -> None:
        """One input."""
        from fuzz.judge import judge

        self._runs += 1
        found = judge(self._target, data)
        if found is not None and len(data) < self._sizes.get(found.kind, LONGEST):
            new = found.kind not in self._sizes
            self._sizes[found.kind] = len(data)
            path = keep(self._name, found.kind, data)
            if new:
                self._tell(kind=found.kind, told=found.told, path=str(path))
        if time.monotonic() > self._told + PULSE:
            self._told = time.monotonic()
            self._tell()

    @property
    def over(self) -> bool:
        """Whether the time is up."""
        return time.monotonic() > self._until

    def end(self) -> NoReturn:
        """Tell for the last time; libFuzzer comes back by no other way."""
        self._tell()
        os._exit(0)

    def _tell(self, **found: str) -> None:
        print(json.dumps({"runs": self._runs, **found}), flush=True)


def keep(name: str, kind: str, data: bytes) -> Path:
    """The file of what has the same cause."""
    FOUND.mkdir(exist_ok=True)
    path = FOUND / f"{name}-{hashlib.sha256(kind.encode()).hexdigest()[:8]}"
    path.write_bytes(data)
    return path


def hunt(name: str, seconds: float, seed: int) -> NoReturn:
    """Until the time is up."""
    guided = find_spec("atheris") is not None
    with _watched() if guided else contextlib.nullcontext():
        from fuzz.judge import bounded, judge
        from fuzz.targets import TARGETS

        target = TARGETS[name]
        seeds = list(target.seeds())
        for each in seeds:
            judge(target, each)  # what is imported on the way is watched, too
    hunter = Hunter(name, target, seconds)
    with bounded():
        for each in seeds:
            hunter.run(each)
        if guided:
            _guided(hunter, target, seeds, seed)
        rng = Random(seed)
        while not hunter.over:
            hunter.run(target.mutate(rng.choice(seeds), rng, seeds))
    hunter.end()


def _watched() -> contextlib.AbstractContextManager[Any]:
    import atheris

    watched: contextlib.AbstractContextManager[Any] = atheris.instrument_imports(
        include=["ostraka"]
    )
    return watched


def _guided(hunter: Hunter, target: Target, seeds: Sequence[bytes], seed: int) -> None:
    import atheris

    def run(data: bytes) -> None:
        if hunter.over:
            hunter.end()
        hunter.run(data)

    def change(data: bytes, most: int, number: int) -> bytes:
        rng = Random(number)
        if rng.random() < 0.05:  # it knows what was compared with what
            blind: bytes = atheris.Mutate(data, most)
            return blind
        return target.mutate(data, rng, seeds)[:most]

    with tempfile.TemporaryDirectory() as corpus:
        for each in seeds:
            (Path(corpus) / hashlib.sha256(each).hexdigest()).write_bytes(each)
        FOUND.mkdir(exist_ok=True)
        options = (f"-seed={seed}", f"-max_len={LONGEST}", "-rss_limit_mb=0", "-timeout=120")
        prefix = f"-artifact_prefix={FOUND / 'killed-'}"
        atheris.Setup([sys.argv[0], corpus, *options, prefix], run, custom_mutator=change)
        atheris.Fuzz()


if __name__ == "__main__":
    hunt(sys.argv[1], float(sys.argv[2]), int(sys.argv[3]))
