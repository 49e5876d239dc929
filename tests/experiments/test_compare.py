"""The comparison runs ours, the paper's and the peers on the same splits, and can be resumed."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from ostraka.datasets.dataset import Dataset, Labelled
from ostraka.errors import FormatError, InputError, ParameterError
from ostraka.experiments import compare as module
from ostraka.experiments.compare import (
    CompareSettings,
    compare,
    compare_trial,
    draw,
)
from ostraka.experiments.peers import PEERS
from ostraka.experiments.results import read_rows
from ostraka.experiments.trial import Measured
from tests.experiments.small import small_dataset, small_task  # noqa: F401

pytestmark = pytest.mark.usefixtures("small_task")
QUICK = CompareSettings(
    task="small",
    methods=("auto", "cells", "consensus", "soft"),
    inverse_epsilons=(0.01, 10.0),
    trials=2,
    draws=3,
)


def test_every_method_is_measured_at_every_epsilon(tmp_path: Path) -> None:
    rows = compare(small_dataset(3), QUICK, 40, tmp_path, n_jobs=1)
    found = {(row.method, row.calibration, row.inv_epsilon) for row in rows if row.inv_epsilon}
    expected = {(name, "pure", inverse) for name in QUICK.methods for inverse in (0.01, 10.0)}
    expected |= {
        (name, "delta", inverse) for name in ("auto", "consensus") for inverse in (0.01, 10.0)
    }
    assert found == expected
    assert all(row.trials == 6 for row in rows if row.inv_epsilon)
    names = {path.name for path in tmp_path.iterdir()}
    assert names == {
        "results.json",
        "results.csv",
        "run.json",
        "methods.md",
        "table.md",
        "figure.png",
        "figure.svg",
        "all.png",
        "all.svg",
        "trials",
    }
    accuracy = {(row.method, row.calibration, row.inv_epsilon): row.mean for row in rows}
    assert accuracy["auto", "pure", 0.01] > 0.9 > accuracy["auto", "pure", 10.0]


def test_a_finished_comparison_is_not_run_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = compare(small_dataset(), QUICK, 40, tmp_path, n_jobs=1)
    monkeypatch.setattr(module, "split", None)
    assert compare(small_dataset(), QUICK, 40, tmp_path, n_jobs=1) == first


def test_the_rows_of_a_comparison_can_be_read_and_drawn_again(tmp_path: Path) -> None:
    rows = compare(small_dataset(), QUICK, 40, tmp_path, n_jobs=1)
    assert read_rows(tmp_path, "small") == rows
    (tmp_path / "figure.png").unlink()
    draw(small_dataset(), read_rows(tmp_path, "small"), tmp_path)
    assert (tmp_path / "figure.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("text", ["task,method\nsmall,auto\n", "", "nothing\n"])
def test_other_rows_are_refused(text: str, tmp_path: Path) -> None:
    (tmp_path / "results.csv").write_text(text)
    with pytest.raises(FormatError, match=r"results\.csv"):
        read_rows(tmp_path, "small")


def test_guessing_takes_the_commonest_class_of_the_training_rows() -> None:
    from ostraka.experiments.tasks import score_guessing

    labels = {"train": [0, 1, 1, 2, 2], "test": [0, 0, 1]}
    repeats = {"train": None, "test": np.array([1, 2, 5])}
    parts = {
        name: Labelled(np.ones((len(each), 1)), np.array(each, dtype=np.int64), None, repeats[name])
        for name, each in labels.items()
    }
    assert score_guessing(Dataset(name="three", classes=("a", "b", "c"), **parts)) == 5 / 8


def test_methods_can_be_added_to_a_finished_comparison(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = compare(small_dataset(), replace(QUICK, methods=("cells",)), 40, tmp_path, n_jobs=1)
    ran: list[tuple[str, ...]] = []

    def counted(
        data: Dataset, settings: CompareSettings, n_parties: int, trial: int
    ) -> list[Measured]:
        ran.append(settings.methods)
        return compare_trial(data, settings, n_parties, trial)

    monkeypatch.setattr(module, "compare_trial", counted)
    both = compare(
        small_dataset(), replace(QUICK, methods=("soft", "cells")), 40, tmp_path, n_jobs=1
    )
    assert ran == [("soft",)] * QUICK.trials
    assert [row for row in both if row.method == "cells"] == first


def test_what_other_methods_did_stays_if_all_else_was_the_same(tmp_path: Path) -> None:
    first = compare(small_dataset(), replace(QUICK, methods=("soft",)), 40, tmp_path, n_jobs=1)
    cells = replace(QUICK, methods=("cells",))
    both = compare(small_dataset(), cells, 40, tmp_path, n_jobs=1)
    assert [row.method for row in both] == ["cells"] * 2 + ["soft"] * len(first)
    assert [row for row in both if row.method == "soft"] == first
    assert read_rows(tmp_path, "small") == both
    run = json.loads((tmp_path / "run.json").read_text())
    assert run["settings"]["methods"] == ["cells", "soft"]
    assert (tmp_path / "methods.md").read_text().count("\n") == 4
    with pytest.raises(InputError, match=r"holds another comparison.*another folder"):
        compare(small_dataset(), replace(cells, draws=4), 40, tmp_path, n_jobs=1)
    assert read_rows(tmp_path, "small") == both


@pytest.mark.parametrize("text", ["", "{}", '{"settings": {"task": "small", "magic": 1}}', "[]"])
def test_a_damaged_record_of_an_earlier_run_is_no_record(text: str, tmp_path: Path) -> None:
    (tmp_path / "run.json").write_text(text)
    rows = compare(small_dataset(), replace(QUICK, methods=("cells",)), 40, tmp_path, n_jobs=1)
    assert {row.method for row in rows} == {"cells"}


def test_the_commonest_class_is_found_privately(tmp_path: Path) -> None:
    data = small_dataset(3)
    rows = compare(data, replace(QUICK, methods=("commonest",)), 40, tmp_path, n_jobs=1)
    found = {row.inv_epsilon: row.mean for row in rows}
    shares = np.bincount(data.test.labels) / len(data.test.labels)
    assert min(abs(found[0.01] - share) for share in shares) < 1e-9, "one class for every row"
    assert shares.min() <= found[10.0] <= shares.max()


def test_trials_do_not_depend_on_which_methods_run() -> None:
    alone = CompareSettings(
        task="small", methods=("cells",), inverse_epsilons=(10.0,), trials=1, draws=3
    )
    both = CompareSettings(
        task="small", methods=("auto", "cells"), inverse_epsilons=(10.0,), trials=1, draws=3
    )
    found = [
        [each for each in compare_trial(small_dataset(), s, 40, 0) if each.method == "cells"]
        for s in (alone, both)
    ]
    assert found[0] == found[1]


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(PEERS))
def test_every_peer_can_be_compared(name: str) -> None:
    settings = CompareSettings(
        task="small", methods=(name,), inverse_epsilons=(0.01,), trials=1, draws=2
    )
    measured = compare_trial(small_dataset(), settings, 40, 0)
    (found,) = [each for each in measured if each.method == name]
    assert found.calibration == ("delta" if PEERS[name].private else "none")
    assert max(found.accuracies) > 0.6


@pytest.mark.parametrize(
    "change",
    [
        {"methods": ("magic",)},
        {"delta": 0.0},
        {"trials": 0},
        {"draws": 0},
        {"inverse_epsilons": (0.0,)},
    ],
)
def test_wrong_settings_are_refused(change: dict[str, object]) -> None:
    with pytest.raises(ParameterError, match="Allowed"):
        CompareSettings(**{"task": "small", **change})  # type: ignore[arg-type]


def test_settings_have_names() -> None:
    other = CompareSettings(
        task="small", methods=QUICK.methods, inverse_epsilons=(0.01, 10.0), trials=2, draws=4
    )
    assert other.digest != QUICK.digest
    json.dumps(other.digest)
