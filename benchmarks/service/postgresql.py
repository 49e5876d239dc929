"""A PostgreSQL server of its own, in a temporary folder, as Debian's packages install it: every
setting is the default (fsync and synchronous_commit are on), and it listens at a socket in the
folder alone.

PostgreSQL refuses to run as root: then it runs as the user `postgres`, whom the packages make.
"""

from __future__ import annotations

import contextlib
import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, final

__all__ = ["Absent", "Cluster", "run_postgresql"]

PACKAGES: Final = Path("/usr/lib/postgresql")
USER: Final = "postgres"
PATIENCE: Final = "60"


class Absent(Exception):
    """There is no PostgreSQL that could be started, and why."""


@final
@dataclass(frozen=True, slots=True)
class Cluster:
    """A server that runs."""

    url: str
    process: int
    version: str
    control: Callable[..., object]
    """`pg_ctl` of this server: "stop" and "start", with options."""


@contextlib.contextmanager
def run_postgresql() -> Iterator[Cluster]:
    """A new server with an empty database, until the end of the block."""
    programs, rights = _find_programs(), _find_rights()
    with tempfile.TemporaryDirectory(prefix="ostraka-postgresql-") as name:
        folder = Path(name)
        data, log = folder / "data", folder / "log"
        if rights:
            os.chown(folder, rights["user"], rights["group"])

        def run(program: str, *words: str | Path) -> str:
            done = subprocess.run(
                [programs / program, *words],
                cwd=folder,
                stdout=subprocess.PIPE if program == "postgres" else subprocess.DEVNULL,
                stderr=subprocess.PIPE if program == "initdb" else subprocess.DEVNULL,
                text=True,
                **rights,
            )
            if done.returncode:
                told = done.stderr or (log.read_text("utf-8") if log.exists() else "")
                raise Absent(f"{program} failed: {' '.join(told.split())[-300:]}")
            return str(done.stdout)

        version = run("postgres", "--version").split()[2]
        run("initdb", "-D", data, "-U", USER, "-A", "trust", "-E", "UTF8", "--no-locale")
        options = f"-c listen_addresses= -k {folder}"

        def control(what: str, *more: str) -> None:
            run("pg_ctl", what, "-w", "-t", PATIENCE, "-D", data, "-l", log, "-o", options, *more)

        control("start")
        try:
            process = int((data / "postmaster.pid").read_text("ascii").split()[0])
            yield Cluster(f"postgresql://{USER}@/{USER}?host={folder}", process, version, control)
        finally:
            control("stop", "-m", "fast")


def _find_programs() -> Path:
    installed = [path.parent for path in PACKAGES.glob("*/bin/initdb")]
    if installed:
        return max(installed, key=lambda path: float(path.parent.name))
    found = shutil.which("initdb")
    if found is None:
        raise Absent("initdb is not installed (on Debian: the package postgresql)")
    return Path(found).resolve().parent


def _find_rights() -> dict[str, Any]:
    """As whom it runs, for `subprocess`."""
    if os.geteuid() != 0:
        return {}
    try:
        found = pwd.getpwnam(USER)
    except KeyError:
        raise Absent(f"it cannot run as root, and there is no user {USER}") from None
    return {"user": found.pw_uid, "group": found.pw_gid, "extra_groups": []}
