"""What a reader owes to whatever it is given, and who breaks that.

    a value, or an error of ours     nothing else is raised, and nothing warns
    in plain words                   short, printable, without the insides of Python
    soon, and in little memory       `SECONDS` of work, `ROOM` bytes beside what is there already
    the same again                   what was read is written as it came, if a content has one form;
                                     otherwise what is written is read and written as it is

What is done next with a value (checked, counted, shown) owes the first three, too.
"""

from __future__ import annotations

import contextlib
import resource
import signal
import sys
import traceback
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any, Final, TypeAlias, final

from ostraka.errors import OstrakaError

__all__ = ["Complaint", "Mutator", "Step", "Target", "bounded", "judge"]

SECONDS: Final = 5.0
ROOM: Final = 2**30
LONGEST: Final = 2000
PYTHON: Final = ("Traceback", " object at 0x", "<class ", "__init__", "NoneType")
"""What no person should have to read."""

Mutator: TypeAlias = Callable[[bytes, Random, Sequence[bytes]], bytes]
"""Other bytes of some, by chance; the rest are valid ones, of which parts may be taken."""
Step: TypeAlias = Callable[[], object]


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """One reader."""

    seeds: Callable[[], Sequence[bytes]]
    read: Callable[[bytes], Any]
    mutate: Mutator
    write: Callable[[Any], bytes | None] = lambda _: None
    """The bytes of a value; None of what has none."""
    steps: Callable[[Any], Iterable[Step]] = lambda _: ()
    """What is done next with a value."""
    one_form: bool = False
    """Whether whatever is accepted is written as it came."""
    short: int = 500
    """How many inputs a second or so is enough for."""


@final
@dataclass(frozen=True, slots=True)
class Complaint:
    """What a reader did that it must not do; `kind` is the same for what has the same cause."""

    kind: str
    told: str


class Overtime(BaseException):
    """No reader catches it by accident."""


def judge(target: Target, data: bytes) -> Complaint | None:
    """What is wrong with how an input is read; None if nothing is."""
    before = _most_memory()
    found = _judge(target, data)
    taken = _most_memory() - before
    if found is None and taken > ROOM // 4:
        return Complaint("much memory", f"{taken >> 20} MiB for {len(data)} bytes")
    return found


def _most_memory() -> int:
    """What this process has ever had, in bytes."""
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def _judge(target: Target, data: bytes) -> Complaint | None:
    doing = "reading"
    try:
        with _in_time(), warnings.catch_warnings():
            warnings.simplefilter("error")
            try:
                value = target.read(data)
            except OstrakaError as error:
                return _of_words(error)
            doing = "writing"
            again = _written_otherwise(target, value, data)
            if again is not None:
                return again
            doing = "going on"
            return _first(map(_take, target.steps(value)))
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # whatever else it is, it is what we look for
        return _of_error(error, doing)


@contextlib.contextmanager
def bounded() -> Iterator[None]:
    """Let whoever takes much more memory than there was before get none."""
    before = resource.getrlimit(resource.RLIMIT_AS)
    pages = int(Path("/proc/self/statm").read_text("ascii").split()[0])
    resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + ROOM, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)


@contextlib.contextmanager
def _in_time() -> Iterator[None]:
    """Seconds of work, not of waiting: a busy machine makes nobody late."""

    def late(*_: object) -> None:
        raise Overtime(f"more than {SECONDS:g} seconds of work")

    before = signal.signal(signal.SIGVTALRM, late)
    signal.setitimer(signal.ITIMER_VIRTUAL, SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0.0)
        signal.signal(signal.SIGVTALRM, before)


def _written_otherwise(target: Target, value: Any, data: bytes) -> Complaint | None:
    written = target.write(value)
    if written is None:
        return None
    if target.one_form and written != data:
        return Complaint("another form was accepted", f"{written[:500]!r} was read from it")
    again = target.write(target.read(written))
    if again != written:
        told = f"{written[:500]!r} becomes {(again or b'')[:500]!r}"
        return Complaint("not the same again", told)
    return None


def _take(step: Step) -> Complaint | None:
    try:
        step()
    except OstrakaError as error:
        return _of_words(error)
    return None


def _first(found: Iterable[Complaint | None]) -> Complaint | None:
    return next((each for each in found if each is not None), None)


def _of_words(error: OstrakaError) -> Complaint | None:
    text = str(error)
    if len(text) > LONGEST:
        kind = "too many words"
    elif not all(letter.isprintable() or letter == "\n" for letter in text):
        kind = "words that a terminal cannot show"
    elif any(word in text for word in PYTHON):
        kind = "words of Python"
    else:
        return None
    return Complaint(f"{kind}: {type(error).__name__} {_place(error)}", ascii(text[:LONGEST]))


def _of_error(error: BaseException, doing: str) -> Complaint:
    kind = f"{type(error).__name__} while {doing}, {_place(error)}"
    told = "".join(traceback.format_exception(error))
    return Complaint(kind, told[-4 * LONGEST :])


def _place(error: BaseException) -> str:
    """The innermost line of ours."""
    frames = traceback.extract_tb(error.__traceback__)
    ours = [frame for frame in frames if "/ostraka/" in frame.filename]
    found = (ours or list(frames))[-1]
    return f"in {Path(found.filename).name}, {found.name}"
