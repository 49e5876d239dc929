"""Settings for all tests, made before numpy and scipy are loaded."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

# Tests run side by side; more threads would only get in each other's way.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("SCIPY_ARRAY_API", "1")  # one of scikit-learn's checks asks for it
# Whoever runs the tests may have rules.
os.environ.pop("OSTRAKA_SITE", None)
os.environ["XDG_CONFIG_HOME"] = str(Path(tempfile.gettempdir()) / "no-settings-of-ostraka")

if find_spec("hypothesis"):  # the estimator's tests run without it, too
    from hypothesis import settings

    settings.register_profile("unhurried", deadline=None)  # a busy machine is no reason to fail
    settings.load_profile("unhurried")


@pytest.fixture(scope="session")
def postgresql() -> Iterator[str]:
    """The URL of a PostgreSQL server; without one on this machine its tests are skipped."""
    from benchmarks.service.postgresql import Absent, run_postgresql

    try:
        with run_postgresql() as cluster:
            yield cluster.url
    except Absent as absent:
        pytest.skip(f"PostgreSQL cannot be started here: {absent}")


@pytest.fixture
def nothing_left_open(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Databases of services that a test has opened are closed when it ends."""
    from ostraka.service.storage.database import Database

    opened: list[Database] = []
    real = Database.open

    def opening(url: str) -> Database:
        opened.append(real(url))
        return opened[-1]

    monkeypatch.setattr(Database, "open", opening)
    yield
    for database in opened:
        database.close()


def pytest_report_header() -> list[str]:
    """Polls over Flower are tested in an environment of their own, because of what Flower pins."""
    missing = "tests/flower is left out: Flower is not installed here. Run them: make test-flower"
    return [] if find_spec("flwr") else [missing]


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """With CI set, everything a test needs is installed: a skipped test is a failed one."""
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    skipped = reporter.stats.get("skipped", []) if reporter else []
    if os.environ.get("CI") and skipped and not hasattr(session.config, "workerinput"):
        print(f"\n{len(skipped)} tests were skipped, which counts as failed where CI is set.")
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
