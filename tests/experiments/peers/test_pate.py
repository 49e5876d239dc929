from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from ostraka.experiments.peers import PEERS, pate
from ostraka.experiments.peers.pate import (
    CONFIDENT_GRID,
    Confidence,
    answer_scale,
    check_scale,
    confident_labels,
    gnmax_labels,
    noisy_winners,
    votes,
)
from ostraka.party.rows import Parties
from tests.experiments.peers.test_pooled import peer_data

PATES = ("pate", "pate-confident")


def composed_delta(epsilon: float, parts: list[tuple[float, int]]) -> float:
    """By dp-accounting, for Gaussians of (noise multiplier, how many)."""
    from dp_accounting.dp_event import GaussianDpEvent
    from dp_accounting.pld import PLDAccountant

    accountant = PLDAccountant(value_discretization_interval=1e-3)
    for multiplier, times in parts:
        accountant.compose(GaussianDpEvent(multiplier), times)
    return float(accountant.get_delta(epsilon))


@pytest.mark.parametrize("n_classes", [2, 3])
def test_one_party_moves_a_query_by_root_two_and_its_largest_count_by_one(n_classes: int) -> None:
    data = peer_data(n_classes, n_parties=70, equal=False)
    before = votes(data)
    assert before.shape == (150, n_classes)
    assert (before.sum(axis=1) == 70).all()
    changed = 0.0
    for party in range(5):
        labels = data.parties.labels.copy()
        own = slice(data.parties.starts[party], data.parties.starts[party + 1])
        labels[own] = (labels[own] + 1) % n_classes
        after = votes(
            replace(
                data,
                parties=Parties(
                    data.parties.features, labels, data.parties.starts, data.parties.names
                ),
            )
        )
        distances = ((after - before) ** 2).sum(axis=1)  # squared: whole numbers
        changed = max(changed, distances.max())
        assert distances.max() <= 2
        assert np.abs(after.max(axis=1) - before.max(axis=1)).max() <= pate.LARGEST_COUNT_CHANGE
    assert changed == 2, "so a sensitivity of 1 would be too small"
    assert changed <= pate.VOTE_CHANGE**2 * (1.0 + 1e-15)


@pytest.mark.parametrize("epsilon", [0.1, 3.0])
@pytest.mark.parametrize("asked", [25, 400])
def test_all_answers_together_cost_what_is_promised(
    epsilon: float, asked: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    scale = answer_scale(epsilon, 1e-6, asked)
    # dp-accounting's δ is rounded up.
    assert composed_delta(epsilon, [(scale / math.sqrt(2.0), asked)]) <= 1e-6 * 1.2
    monkeypatch.setattr(pate, "VOTE_CHANGE", 1.0)
    assert (
        composed_delta(epsilon, [(answer_scale(epsilon, 1e-6, asked) / math.sqrt(2.0), asked)])
        > 3e-6
    )


@pytest.mark.parametrize("setting", CONFIDENT_GRID[:8:3])
@pytest.mark.parametrize("epsilon", [0.3, 3.0])
def test_checks_and_answers_together_cost_what_is_promised(
    setting: Confidence, epsilon: float
) -> None:
    answered = setting.answered(setting.asked)
    checks = check_scale(epsilon, 1e-6, setting.asked, setting.checks_share)
    answers = answer_scale(epsilon, 1e-6, answered, 1.0 - setting.checks_share)
    both = [(checks, setting.asked), (answers / math.sqrt(2.0), answered)]
    assert composed_delta(epsilon, both) <= 1e-6 * 1.2  # theirs is rounded up
    unpaid = [
        (checks, setting.asked),
        (answer_scale(epsilon, 1e-6, answered) / math.sqrt(2.0), answered),
    ]
    assert composed_delta(epsilon, unpaid) > 1.5e-6, (
        "answers that forget the checks would be caught"
    )


def test_noise_has_the_scale_that_was_asked_for() -> None:
    n, scale = 20_000, 10.0
    counts = np.tile([[round(math.sqrt(2.0) * scale * 1000), 0]], (n, 1))
    wrong = noisy_winners(counts, scale * 1000, np.random.default_rng(0)).mean()
    # One standard deviation ahead: 0.1587 wrong, ± 0.0026; six of them
    # fail by chance with a probability of 2e-9.
    assert abs(wrong - 0.1587) < 0.0157


def test_no_more_is_answered_than_was_paid_for() -> None:
    counts = np.tile([[90, 10]], (120, 1))
    setting = Confidence(asked=100, answered_share=0.25, threshold=0.5, checks_share=0.2)
    labels = confident_labels(counts, 100, setting, 1e3, 1e-6, np.random.default_rng(0))
    assert len(labels.rows) == len(set(labels.rows.tolist())) == 25
    assert (labels.classes == 0).all()
    nobody = confident_labels(
        counts, 100, replace(setting, threshold=0.95), 1e3, 1e-6, np.random.default_rng(0)
    )
    assert len(nobody.rows) == 0


def test_the_labels_noise_grows_with_the_queries() -> None:
    counts = np.tile([[60, 40]], (2000, 1))
    few, many = (
        gnmax_labels(counts, asked, 5.0, 1e-6, np.random.default_rng(0)).classes.mean()
        for asked in (100, 2000)
    )
    assert few < many


@pytest.mark.parametrize("name", PATES)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_accuracy_tends_to_the_noiseless_students_as_epsilon_grows(
    name: str, n_classes: int
) -> None:
    data = peer_data(n_classes, equal=False)
    free = PEERS[name].accuracies(data, 1e4, 1e-6, np.random.default_rng(0), 2)
    tight = PEERS[name].accuracies(data, 1e-3, 1e-6, np.random.default_rng(0), 2)
    assert len(free) == len(tight) == 2
    assert min(free) > 0.85
    assert np.mean(tight) < np.mean(free)


@pytest.mark.parametrize("name", PATES)
def test_the_generator_decides(name: str) -> None:
    data = peer_data(2, n_parties=20)
    first, again, other = (
        PEERS[name].accuracies(data, 0.3, 1e-6, np.random.default_rng(seed), 2)
        for seed in (5, 5, 6)
    )
    assert first == again
    assert first != other


def test_students_without_answers_guess() -> None:
    data = peer_data(2, n_parties=20)
    nothing = pate.Labels(np.zeros(0, dtype=np.intp), np.zeros(0, dtype=np.intp))
    for accuracies in pate._students(data, [nothing]):
        assert 0.3 < accuracies[0] < 0.7
