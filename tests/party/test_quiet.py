"""Under `quietly()` nothing shows, and afterwards everything is as it was."""

from __future__ import annotations

import contextlib
import ctypes
import io
import logging
import os
import random
import subprocess
import sys
import threading
import time
import warnings
from typing import Any

import numpy as np
import pytest

from ostraka.party import quiet
from ostraka.party.quiet import is_quiet, quietly, restart_streams, streams_kept


def talk() -> None:
    """Every way in which a classifier can reveal something."""
    print("python")
    print("python", file=sys.stderr)
    sys.stdout.buffer.write(b"bytes")
    os.write(1, b"descriptor")
    os.write(2, b"descriptor")
    ctypes.CDLL(None).printf(b"compiled ")  # stays in C's own buffer until somebody writes it out
    logging.getLogger("a.library").critical("log")
    logging.getLogger("a.library").log(1000, "log")
    warnings.warn("warning", stacklevel=1)
    np.float64(1e-200) * np.float64(1e-200)
    np.float64(1.0) / np.float64(0.0)
    subprocess.run([sys.executable, "-c", "print('child')"], check=True)


def shown(capfd: pytest.CaptureFixture[str]) -> str:
    ctypes.CDLL(None).fflush(None)
    return "".join(capfd.readouterr())


class TestNothingShows:
    @pytest.mark.parametrize("capture", ["capfd", "capsys"])
    def test_whatever_is_said(
        self, capture: str, request: pytest.FixtureRequest, caplog: pytest.LogCaptureFixture
    ) -> None:
        captured = request.getfixturevalue(capture)
        with np.errstate(all="raise"), quietly():
            talk()
        assert "".join(captured.readouterr()) == ""
        assert not caplog.records

    def test_these_tests_would_see_it(
        self, capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
    ) -> None:
        with pytest.warns(UserWarning, match="warning"), np.errstate(all="ignore"):
            talk()
        text = shown(capfd)
        for word in ("python", "bytes", "descriptor", "compiled", "child"):
            assert word in text
        assert len(caplog.records) == 2

    def test_what_was_said_before_and_after_is_seen(
        self, capfd: pytest.CaptureFixture[str]
    ) -> None:
        printf = ctypes.CDLL(None).printf
        sys.stdout.write("before ")
        printf(b"before-c ")
        with quietly():
            sys.stdout.write("inside ")
            printf(b"inside-c ")
        sys.stdout.write("after")
        assert shown(capfd).split() == ["before", "before-c", "after"]

    def test_whoever_kept_the_old_stream_is_swallowed_too(self) -> None:
        """Into its buffer, which would be written out later, when all is open again."""
        code = """
import sys
from ostraka.party.quiet import quietly
mine = sys.stdout
with quietly():
    mine.write("inside")
mine.write("after")
"""
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
        assert (done.stdout, done.stderr) == (b"after", b"")

    def test_a_classifier_that_moves_the_filters_moves_them_for_itself(self) -> None:
        with quietly():
            with quietly():
                warnings.simplefilter("error")
                np.seterr(all="raise")
            warnings.warn("nobody sees it", stacklevel=1)
            assert np.geterr()["divide"] == "ignore"

    def test_with_streams_of_any_kind(self, monkeypatch: pytest.MonkeyPatch) -> None:
        closed = io.StringIO()
        closed.close()
        for stream in (None, io.StringIO(), closed, object()):
            monkeypatch.setattr(sys, "stdout", stream)
            monkeypatch.setattr(sys, "stderr", stream)
            with quietly():
                print("inside")
            assert sys.stdout is sys.stderr is stream
            assert not isinstance(stream, io.StringIO) or stream.closed or not stream.getvalue()

    @pytest.mark.parametrize("closed", ["1", "2", "0, 1", "0, 1, 2"])
    def test_with_descriptors_that_are_closed(self, closed: str) -> None:
        code = f"""
import os
for number in ({closed},): os.close(number)
from ostraka.party.quiet import quietly
before = sorted(os.listdir("/proc/self/fd"))
with quietly():
    os.write(1, b"inside"); os.write(2, b"inside")
assert sorted(os.listdir("/proc/self/fd")) == before
os._exit(7)
"""
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False)
        assert (done.returncode, done.stdout, done.stderr) == (7, b"", b"")

    def test_lightgbm_as_it_comes(self, capfd: pytest.CaptureFixture[str]) -> None:
        lightgbm = pytest.importorskip("lightgbm", reason="lightgbm is not installed")
        rows, labels = np.random.default_rng(0).normal(size=(60, 3)), np.arange(60) % 2
        # Whether it prints is global to it; another test may have told it not to.
        lightgbm.LGBMClassifier(n_estimators=1, verbose=1).fit(rows, labels)
        capfd.readouterr()
        lightgbm.LGBMClassifier(n_estimators=2).fit(rows, labels)
        assert "positive: 30" in shown(capfd), "it prints how many rows of each class there are"
        with quietly():
            lightgbm.LGBMClassifier(n_estimators=2).fit(rows, labels)
        assert shown(capfd) == ""

    def test_a_handler_that_was_made_inside_works_afterwards(self) -> None:
        with quietly():
            handler = logging.StreamHandler()
        for stream in (handler.stream, handler.stream.buffer):
            stream.close()
            stream.flush()
        handler.emit(logging.makeLogRecord({"msg": "afterwards"}))
        assert handler.stream.fileno() == 2
        assert handler.stream.writable()


def state() -> list[Any]:
    python, numpys = random.getstate(), np.random.get_state(legacy=True)  # noqa: NPY002
    return [
        python,
        [np.asarray(part).tolist() for part in numpys],
        np.geterr(),
        list(warnings.filters),
        warnings.showwarning,
        logging.root.manager.disable,
        sys.stdout,
        sys.stderr,
        [(os.fstat(number).st_dev, os.fstat(number).st_ino) for number in (0, 1, 2)],
        sorted(os.listdir("/proc/self/fd")),  # noqa: PTH208
        is_quiet(),
    ]


def disturb() -> None:
    random.random()
    np.random.random()  # noqa: NPY002
    random.seed(5)
    np.random.seed(5)  # noqa: NPY002
    np.seterr(all="raise")
    warnings.simplefilter("always")
    logging.disable(logging.DEBUG)
    sys.stdout = sys.stderr = io.StringIO()
    os.close(1)


@pytest.mark.skipif(sys.platform != "linux", reason="counts descriptors in /proc")
class TestAfterwards:
    def test_everything_is_as_it_was(self) -> None:
        before = state()
        with quietly():
            assert is_quiet()
            disturb()
        assert state() == before

    def test_also_after_an_error_and_an_interruption(self) -> None:
        before = state()
        for error in (ValueError, KeyboardInterrupt, SystemExit, GeneratorExit):
            with contextlib.suppress(error), quietly():
                disturb()
                raise error
            assert state() == before

    def test_also_when_nested(self) -> None:
        before = state()
        with quietly():
            with quietly():
                disturb()
            assert is_quiet()
            with pytest.raises(ValueError, match="inner"), quietly():
                raise ValueError("inner")
            talk_quietly = sys.stdout
            talk_quietly.write("x")
        assert state() == before

    def test_a_level_of_the_callers_stays(self) -> None:
        logging.disable(logging.INFO)
        try:
            with quietly():
                pass
            assert logging.root.manager.disable == logging.INFO
        finally:
            logging.disable(logging.NOTSET)

    def test_streams_alone(self) -> None:
        before = state()
        with streams_kept():
            random.random()
            np.random.random()  # noqa: NPY002
            assert not is_quiet()
        assert state() == before

    def test_a_restart_is_always_the_same(self) -> None:
        with streams_kept():
            draws = []
            for _ in range(2):
                restart_streams()
                draws.append((random.random(), np.random.random()))  # noqa: NPY002
                random.seed(8)
                np.random.seed(8)  # noqa: NPY002
            assert draws[0] == draws[1]

    def test_another_generator_behind_numpys_stream_comes_back(self) -> None:
        before = np.random.get_bit_generator()
        np.random.set_bit_generator(np.random.PCG64(3))
        try:
            expected = np.random.get_state(legacy=False)["state"]  # noqa: NPY002
            with quietly():
                np.random.random()  # noqa: NPY002
            assert np.random.get_state(legacy=False)["state"] == expected  # noqa: NPY002
        finally:
            np.random.set_bit_generator(before)


def draws_in_threads(context: Any) -> list[list[float]]:
    """Two threads that seed the stream they share, wait, and draw."""
    found: list[list[float]] = [[], []]

    def work(which: int) -> None:
        for _ in range(5):
            with context():
                random.seed(which)
                time.sleep(0.005)
                found[which].append(random.random())

    threads = [threading.Thread(target=work, args=(which,)) for which in (0, 1)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return found


class TestThreads:
    def test_take_turns(self, capfd: pytest.CaptureFixture[str]) -> None:
        expected = [[random.Random(which).random()] * 5 for which in (0, 1)]
        for context in (quietly, streams_kept):
            assert draws_in_threads(context) == expected
        assert sys.stdout.write("here") == 4
        assert shown(capfd) == "here"

    def test_without_turns_this_would_be_seen(self) -> None:
        expected = [[random.Random(which).random()] * 5 for which in (0, 1)]
        assert draws_in_threads(contextlib.nullcontext) != expected

    def test_only_the_thread_that_is_in_it_is_quiet(self) -> None:
        seen: list[bool] = []
        with quietly():
            thread = threading.Thread(target=lambda: seen.append(is_quiet()))
            thread.start()
            thread.join()
        assert seen == [False]

    @pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
    @pytest.mark.filterwarnings("ignore::DeprecationWarning")  # newer Pythons warn of such forks
    def test_a_fork_does_not_wait_for_a_thread_that_it_has_not(self) -> None:
        inside, leave = threading.Event(), threading.Event()

        def hold() -> None:
            with quietly():
                inside.set()
                leave.wait(10.0)

        thread = threading.Thread(target=hold)
        thread.start()
        inside.wait(10.0)
        child = os.fork()
        if child == 0:
            with quietly():
                os._exit(7)
        leave.set()
        thread.join()
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7


def test_mutants_are_caught(monkeypatch: pytest.MonkeyPatch, capfd: Any) -> None:
    """These tests fail without its parts: each promise above can be seen broken."""
    parts = {"_print_nothing": ("python", "descriptor", "compiled"), "_log_nothing": ("log",)}
    for part, words in parts.items():
        with monkeypatch.context() as patch:
            patch.setattr(quiet, part, contextlib.nullcontext)
            handler = logging.StreamHandler(io.StringIO())
            logging.getLogger("a.library").addHandler(handler)
            with quietly():
                talk()
            logging.getLogger("a.library").removeHandler(handler)
        text = shown(capfd) + handler.stream.getvalue()
        assert all(word in text for word in words)
