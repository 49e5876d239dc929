"""A SuperLink and SuperNodes as processes of their own, on loopback, ended whatever happens.

Flower's processes start others, some of which leave their group or outlive whoever started them.
All of them inherit one variable, by which exactly those that this federation has started are found.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final, final

__all__ = ["MARK", "OFFLINE", "TOOLS", "Federation", "end_all", "free_port", "wait_until"]

OFFLINE: Final = {
    "FLWR_TELEMETRY_ENABLED": "0",
    "FLWR_DISABLE_UPDATE_CHECK": "1",
    "FLWR_DISABLE_RUNTIME_DEPENDENCY_INSTALLATION": "1",
    "RAY_USAGE_STATS_ENABLED": "0",
}
MARK: Final = "OSTRAKA_FEDERATION"
TOOLS: Final = Path(sys.executable).parent
CONNECTION: Final = "here"
PATIENCE: Final = 120.0
PAUSE: Final = 0.2
KINDLY: Final = 20.0
ENDED: Final = ("finished:completed", "finished:failed", "finished:stopped")


@final
class Federation:
    """A SuperLink with all that belongs to it, in a folder, until the end of the block.

    `simulation`: it makes its nodes up. Otherwise nodes connect, with keys; `tls` is a certificate
    that is its own authority, and its key.
    """

    def __init__(
        self, folder: Path, *, simulation: bool = False, tls: tuple[Path, Path] | None = None
    ) -> None:
        self.folder, self._mark, self._tls = folder, uuid.uuid4().hex, tls
        self.address = f"127.0.0.1:{free_port()}"
        self._started: list[subprocess.Popen[bytes]] = []
        self._environment = {
            **os.environ,
            **OFFLINE,
            "FLWR_HOME": str(folder / "flower"),
            "PATH": f"{TOOLS}{os.pathsep}{os.environ['PATH']}",
            "OPENBLAS_NUM_THREADS": "1",
            MARK: self._mark,
        }
        self._environment.pop("CI", None)
        words = ["--simulation"] if simulation else ["--enable-supernode-auth"]
        host, port = self.address.split(":")
        self._words = [*words, "--host", host, "--port", port]

    def __enter__(self) -> Federation:
        self._write_connection()
        server, _ = self._trust()
        try:
            self.start("superlink", ["flower-superlink", *self._words, *server])
            wait_until(self._answers, "the SuperLink answers")
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        end_all(self._mark, self._reap)
        for process in self._started:  # its variables go a moment before it does
            process.wait(KINDLY)

    def start(self, name: str, words: list[str]) -> subprocess.Popen[bytes]:
        """A process of the federation, whose log is `name`.log."""
        with (self.folder / f"{name}.log").open("ab") as log:
            process = subprocess.Popen(
                [str(TOOLS / words[0]), *words[1:]],
                stdout=log,
                stderr=log,
                cwd=self.folder,
                env=self._environment,
            )
        self._started.append(process)
        return process

    def add_node(
        self, name: str, key: Path, through: str | None = None, **config: str | int
    ) -> subprocess.Popen[bytes]:
        """A SuperNode with a registered key: `key` is the secret one, `key`.pub the other.

        `through`: the address of a proxy, if it is to use one.
        """
        self.flwr("supernode", "register", f"{key}.pub", CONNECTION, "--name", name)
        own = " ".join(f"{name}={json.dumps(said)}" for name, said in config.items())
        _, node = self._trust()
        words = [
            "--superlink",
            through or self.address,
            "--auth-supernode-private-key",
            str(key),
            *node,
        ]
        words += ["--port", str(free_port()), "--node-config", own.replace("_", "-")]
        return self.start(name, ["flower-supernode", *words])

    def flwr(self, *words: str) -> str:
        """A command of Flower's, which must succeed; what it prints."""
        done = subprocess.run(
            [str(TOOLS / "flwr"), *words],
            cwd=self.folder,
            env=self._environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=PATIENCE,
        )
        if done.returncode:
            raise RuntimeError(f"flwr {' '.join(words)}:\n{done.stdout}\n{done.stderr}")
        return done.stdout

    def run(self, app: Path, config: dict[str, Any], *more: str) -> str:
        """Start a run of an app; its number."""
        said = " ".join(f"{name}={_toml(value)}" for name, value in config.items())
        words = ["run", str(app), CONNECTION, "--run-config", said, "--format", "json", *more]
        return str(json.loads(self.flwr(*words))["run-id"])

    def status(self, run: str) -> str:
        """How far a run has come."""
        told = json.loads(self.flwr("ls", CONNECTION, "--run-id", run, "--format", "json"))
        return str(told["runs"][0]["status"])

    def finish(self, run: str, patience: float = PATIENCE) -> str:
        """Wait for the end of a run; its log."""
        wait_until(lambda: self.status(run) in ENDED, f"run {run} ends", patience)
        return self.flwr("log", run, CONNECTION, "--show")

    def log(self, name: str) -> str:
        """What a process has written."""
        return (self.folder / f"{name}.log").read_text("utf-8", "replace")

    def _write_connection(self) -> None:
        home = Path(self._environment["FLWR_HOME"])
        home.mkdir(parents=True, exist_ok=True)
        trust = "insecure = true"
        if self._tls is not None:
            trust = f"root-certificates = {json.dumps(str(self._tls[0]))}"
        (home / "config.toml").write_text(
            f'[superlink]\ndefault = "{CONNECTION}"\n\n'
            f'[superlink.{CONNECTION}]\naddress = "{self.address}"\n{trust}\n',
            "utf-8",
        )

    def _trust(self) -> tuple[list[str], list[str]]:
        """What a server and a node are told of TLS."""
        if self._tls is None:
            return ["--insecure"], ["--insecure"]
        certificate, key = map(str, self._tls)
        server = ["--ssl-certfile", certificate, "--ssl-keyfile", key]
        return [*server, "--ssl-ca-certfile", certificate], ["--root-certificates", certificate]

    def _answers(self) -> bool:
        if self._started[-1].poll() is not None:
            raise RuntimeError(f"The SuperLink has not started:\n{self.log('superlink')}")
        host, port = self.address.split(":")
        with contextlib.suppress(OSError), socket.create_connection((host, int(port)), 1.0):
            return True
        return False

    def _reap(self) -> None:
        for process in self._started:
            process.poll()


def end_all(mark: str, reap: Callable[[], None] = lambda: None) -> None:
    """End every process that has this mark among its variables: kindly, then without asking."""
    for signalled in (signal.SIGTERM, signal.SIGKILL):
        deadline = time.monotonic() + KINDLY
        while (family := list(_family(mark))) and time.monotonic() < deadline:
            for process in family:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(process, signalled)
            time.sleep(PAUSE)
            reap()


def _family(mark: str) -> Iterator[int]:
    """Every process that carries the mark."""
    carried = f"{MARK}={mark}".encode()
    for path in Path("/proc").iterdir():
        if path.name.isdigit():
            with contextlib.suppress(OSError):
                if carried in (path / "environ").read_bytes().split(b"\0"):
                    yield int(path.name)


def wait_until(
    happened: Callable[[], bool], what: str, patience: float = PATIENCE, pause: float = PAUSE
) -> None:
    """Look again and again until something is so, or patience is over."""
    deadline = time.monotonic() + patience
    while not happened():
        if time.monotonic() > deadline:
            raise TimeoutError(f"After {patience:g} s it is still not so that {what}.")
        time.sleep(pause)


def _toml(value: Any) -> str:
    return json.dumps(str(value) if isinstance(value, Path) else value)


def free_port() -> int:
    """A port of loopback at which nobody listens yet."""
    with socket.socket() as tried:
        tried.bind(("127.0.0.1", 0))
        return int(tried.getsockname()[1])
