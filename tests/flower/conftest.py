"""Tests of polls over Flower, in the environment that has it: `make test-flower`.

Elsewhere nothing here is collected. Where these tests alone are asked for, none collected is an
error of pytest's, so that they cannot be left out by mistake.
"""

from __future__ import annotations

import warnings
from importlib.util import find_spec

import pytest

collect_ignore_glob = ["test_*.py"]
if find_spec("flwr"):
    collect_ignore_glob = []
    with warnings.catch_warnings():  # Flower pins an old typer, which a new click complains about
        warnings.simplefilter("ignore", DeprecationWarning)
        import flwr.common  # noqa: F401


@pytest.fixture(autouse=True, scope="session")
def a_run() -> None:
    """Messages say in which run and by whom they were made; Flower's processes set that."""
    from flwr.supercore.task_identity import TaskIdentity

    TaskIdentity.run_id, TaskIdentity.node_id, TaskIdentity.task_id = 1, 1, 1
