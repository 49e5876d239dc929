"""What was measured, as rows of tables; and on what."""

from __future__ import annotations

import os
import platform
import sqlite3
import tempfile
import time
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final, final

from benchmarks.service.measure import Measured
from benchmarks.tables import Rows

__all__ = ["PLAIN", "Run", "arrange", "describe_machine", "list_versions"]

N_SYNCS: Final = 200
SYNCED: Final = bytes(2**16)
PACKAGES: Final = ("fastapi", "uvicorn", "sqlalchemy", "psycopg", "cryptography", "numpy")
PLAIN: Final = "baseline"


@final
@dataclass(frozen=True, slots=True)
class Run:
    """What was measured on which server with which database."""

    database: str
    server: str
    measured: Measured


def arrange(runs: list[Run], n_clients: int) -> dict[str, Rows]:
    """Tables: how fast, what it used, and what was there afterwards."""
    sections: dict[str, Rows] = {}
    for title in dict.fromkeys(run.measured.work.title for run in runs):
        of_title = [run for run in runs if run.measured.work.title == title]
        size = len(of_title[0].measured.work.uploads[0])
        told = f"{title} of {size / 1000:.1f} KB from {n_clients} clients"
        plain = {
            run.database: run.measured.load.sent.rate for run in of_title if run.server == PLAIN
        }
        rows = [_row_of_speed(run, plain.get(run.database)) for run in of_title]
        sections[f"Taking in {told}"] = rows
        sections[f"Processor time and memory, {told}"] = [_row_of_use(run) for run in of_title]
        sections[f"Afterwards, {title}"] = [_row_of_check(run) for run in of_title]
    return sections


def _row_of_speed(run: Run, plain: float | None) -> dict[str, Any]:
    sent = run.measured.load.sent
    return {
        "database": run.database,
        "server": run.server,
        "acknowledged": len(sent.acknowledged),
        "a_second": round(sent.rate),
        "slowest_second": sent.slowest_second,
        "p50_ms": round(1e3 * sent.latency(0.5)),
        "p99_ms": round(1e3 * sent.latency(0.99)),
        "longest_ms": round(1e3 * sent.latency(1.0)),
        "times_baseline": "" if plain is None else sent.rate / plain,
    }


def _row_of_use(run: Run) -> dict[str, Any]:
    load, before_after = run.measured.load, run.measured.load.settled
    n = len(load.sent.acknowledged)
    first, last = before_after
    return {
        "database": run.database,
        "server": run.server,
        "server_ms": 1e3 * load.server / n,
        "client_ms": 1e3 * load.client / n,
        "database_ms": 1e3 * load.database / n,
        "MB_quarter": round(first / 1e6),
        "MB_end": round(last / 1e6),
        "bytes_each": round((last - first) / (0.75 * n)),
    }


def _row_of_check(run: Run) -> dict[str, Any]:
    checked = run.measured.checked
    return {
        "database": run.database,
        "server": run.server,
        "all_there": "no" if checked.problems else "yes",
        "sum_seconds": checked.sum_seconds,
        "close_seconds": _shown(checked.close_seconds),
        "release_seconds": _shown(checked.release_seconds),
    }


def _shown(seconds: float | None) -> float | str:
    return "" if seconds is None else seconds


def describe_machine() -> dict[str, Any]:
    """What kind of machine it is: a disk that syncs quickly makes single commits cheap."""
    took = []
    with tempfile.TemporaryFile() as file:
        for _ in range(N_SYNCS):
            file.write(SYNCED)
            file.flush()
            begun = time.perf_counter()
            os.fdatasync(file.fileno())
            took.append(1e3 * (time.perf_counter() - begun))
    took.sort()
    lines = Path("/proc/cpuinfo").read_text("utf-8").splitlines()
    models = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return {
        "processors": os.cpu_count(),
        "processor": models[0] if models else platform.machine(),
        "memory_gb": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9),
        "sync_p50_ms": took[N_SYNCS // 2],
        "sync_p99_ms": took[N_SYNCS * 99 // 100],
    }


def list_versions() -> dict[str, str]:
    """Of what the figures depend on."""
    found = {name: version(name) for name in PACKAGES}
    return {"python": platform.python_version(), "sqlite": sqlite3.sqlite_version, **found}
