"""Runs: the same numbers for any number of workers, after an interruption, and on a cluster."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from ostraka.errors import ParameterError
from ostraka.experiments.engine import run_trials
from ostraka.experiments.settings import Settings
from ostraka.experiments.trial import Measured, run_trial
from tests.experiments.small import small_dataset, small_task  # noqa: F401

DIGITS = Settings(
    task="digits",
    methods=("soft", "indiv"),
    inverse_epsilons=(0.01, 1.0),
    trials=3,
    private_trials=6,
)


@pytest.fixture(scope="module")
def digits() -> Any:
    from ostraka.datasets import load

    return load("digits")


@pytest.fixture(scope="module")
def alone(digits: Any, tmp_path_factory: pytest.TempPathFactory) -> Any:
    return run_trials(digits, DIGITS, (50,), tmp_path_factory.mktemp("alone"), n_jobs=1)


def test_two_workers_give_the_same_numbers(digits: Any, alone: Any, tmp_path: Path) -> None:
    assert run_trials(digits, DIGITS, (50,), tmp_path, n_jobs=2) == alone


def test_trials_differ(alone: Any) -> None:
    assert len({trial.measured for trial in alone}) == 3


@pytest.mark.usefixtures("small_task")
class TestInterruption:
    SETTINGS = Settings(
        task="small", methods=("soft",), inverse_epsilons=(1.0,), trials=4, private_trials=8
    )

    def test_a_run_goes_on_where_it_stopped(self, tmp_path: Path) -> None:
        data = small_dataset()
        whole = run_trials(data, self.SETTINGS, (20, 40), tmp_path / "whole", n_jobs=1)

        def pull_the_plug(trials: Iterable[Any], total: int) -> Iterable[Any]:
            assert total == 8
            for n, trial in enumerate(trials):
                if n == 3:
                    raise KeyboardInterrupt
                yield trial

        with pytest.raises(KeyboardInterrupt):
            run_trials(
                data, self.SETTINGS, (20, 40), tmp_path / "part", n_jobs=1, watch=pull_the_plug
            )
        assert len(list((tmp_path / "part").rglob("*.json"))) == 3

        ran: list[tuple[int, int]] = []

        def counted(data: Any, settings: Settings, n_parties: int, trial: int) -> Any:
            ran.append((n_parties, trial))
            return run_trial(data, settings, n_parties, trial)

        again = run_trials(
            data, self.SETTINGS, (20, 40), tmp_path / "part", n_jobs=1, measure=counted
        )
        assert len(ran) == 5, "three trials were kept"
        assert again == whole

    def test_a_damaged_checkpoint_is_run_again(self, tmp_path: Path) -> None:
        data = small_dataset()
        whole = run_trials(data, self.SETTINGS, (20,), tmp_path, n_jobs=1)
        for damage, file in zip((b"", b"[{", b"[{}]", b"{}"), sorted(tmp_path.rglob("*.json"))):
            file.write_bytes(damage)
        assert run_trials(data, self.SETTINGS, (20,), tmp_path, n_jobs=1) == whole

    def test_other_settings_do_not_take_over_checkpoints(self, tmp_path: Path) -> None:
        data = small_dataset()
        run_trials(data, self.SETTINGS, (20,), tmp_path, n_jobs=1)
        other = Settings(
            task="small",
            methods=("soft",),
            inverse_epsilons=(1.0,),
            trials=4,
            private_trials=8,
            lambda_=1e-2,
        )
        changed = run_trials(data, other, (20,), tmp_path, n_jobs=1)
        assert len(list(tmp_path.iterdir())) == 2
        assert changed != run_trials(data, self.SETTINGS, (20,), tmp_path, n_jobs=1)

    def test_finished_runs_start_no_worker(self, tmp_path: Path) -> None:
        data = small_dataset()
        whole = run_trials(data, self.SETTINGS, (20,), tmp_path, n_jobs=1)

        def never(*_: Any) -> Any:
            raise AssertionError("a trial was run again")

        assert run_trials(data, self.SETTINGS, (20,), tmp_path, n_jobs=1, measure=never) == whole


def test_checkpoints_are_plain_json(digits: Any, tmp_path: Path) -> None:
    run_trials(digits, DIGITS, (50,), tmp_path, n_jobs=1)
    content = json.loads(next(tmp_path.rglob("*.json")).read_text())
    assert set(content[0]) == {each.name for each in fields(Measured)}


@pytest.mark.slow
def test_a_dask_cluster_of_two_workers_gives_the_same_numbers(
    digits: Any, alone: Any, tmp_path: Path
) -> None:
    distributed = pytest.importorskip("distributed", reason="needs the package distributed")
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=None, processes=True
    ) as cluster:
        found = run_trials(
            digits,
            DIGITS,
            (50,),
            tmp_path,
            n_jobs=-1,
            backend="dask",
            scheduler=cluster.scheduler_address,
        )
    assert found == alone


def test_a_cluster_that_is_not_there_is_named(digits: Any, tmp_path: Path) -> None:
    pytest.importorskip("distributed", reason="needs the package distributed")
    with pytest.raises(ParameterError, match="scheduler is missing"):
        run_trials(digits, DIGITS, (50,), tmp_path, backend="dask")
    with pytest.raises(ParameterError, match="that answers"):
        run_trials(digits, DIGITS, (50,), tmp_path, backend="dask", scheduler="tcp://127.0.0.1:1")


def test_an_unknown_backend_is_refused(digits: Any, tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="loky, dask or ray"):
        run_trials(digits, DIGITS, (50,), tmp_path, backend="cloud")  # type: ignore[arg-type]
