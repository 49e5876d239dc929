"""Settings are checked when made; their digest and streams change only with what matters."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from ostraka.errors import ParameterError
from ostraka.experiments.settings import Settings

BASE = Settings(task="har")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("methods", ("batch", "magic")),
        ("methods", ()),
        ("calibrations", ("loose",)),
        ("inverse_epsilons", (-1.0,)),
        ("inverse_epsilons", (float("nan"),)),
        ("trials", 0),
        ("private_trials", 9),
        ("lambda_", 0.0),
        ("seed", -1),
        ("local", "oracle"),
    ],
)
def test_what_is_not_allowed_is_refused(name: str, value: Any) -> None:
    with pytest.raises(ParameterError, match="Allowed"):
        replace(BASE, **{name: value})


def test_no_noise_is_always_measured_and_values_are_sorted() -> None:
    settings = replace(BASE, inverse_epsilons=(3.0, 0.1, 3.0))
    assert settings.inverse_epsilons == (0.0, 0.1, 3.0)
    assert settings.noisy == (0.1, 3.0)


@pytest.mark.parametrize(("trials", "draws"), [(10, 100), (3, 10), (7, 7)])
def test_draws_add_up(trials: int, draws: int) -> None:
    settings = replace(BASE, trials=trials, private_trials=draws)
    each = [settings.draws(trial) for trial in range(trials)]
    assert sum(each) == draws
    assert max(each) - min(each) <= 1


def test_avg_is_left_out_for_classifiers_without_parameters() -> None:
    assert "avg" not in replace(BASE, local="tree").methods
    with pytest.raises(ParameterError, match="linear"):
        replace(BASE, local="tree", methods=("avg",))


def test_the_digest_names_everything_that_numbers_depend_on() -> None:
    changed = [
        {"task": "digits"},
        {"methods": ("soft",)},
        {"calibrations": ("paper",)},
        {"inverse_epsilons": (1.0,)},
        {"trials": 5},
        {"private_trials": 50},
        {"lambda_": 1e-3},
        {"seed": 1},
        {"local": "tree"},
        {"natural_parties": True},
        {"centre": True},
        {"hypothesis": True},
    ]
    assert {next(iter(change)) for change in changed} == set(BASE.to_dict())
    digests = {
        replace(BASE, **change).digest  # type: ignore[arg-type]
        for change in changed
    } | {BASE.digest}
    assert len(digests) == len(changed) + 1
    assert replace(BASE).digest == BASE.digest


def test_streams_differ_by_trial_parties_and_purpose_but_not_by_the_choice_of_methods() -> None:
    def first(settings: Settings, *key: Any) -> float:
        return float(settings.stream(*key).random())

    drawn = {
        first(BASE, 10, 0, "soft"),
        first(BASE, 10, 1, "soft"),
        first(BASE, 11, 0, "soft"),
        first(BASE, 10, 0, "vote"),
    }
    assert len(drawn) == 4
    assert first(replace(BASE, methods=("soft",)), 10, 0, "soft") == first(BASE, 10, 0, "soft")
    assert first(replace(BASE, seed=1), 10, 0, "soft") != first(BASE, 10, 0, "soft")
