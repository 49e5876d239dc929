"""An evaluation tells the truth as often as it says, whatever the noise did."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom

from ostraka.poll import Poll
from ostraka.release.evaluation import Evaluation, count_cells
from ostraka.release.intervals import REACH, Estimate, average, find_share
from tests.laws.cases import Case, M

N_WORLDS = 2000
FAILURE = 1e-6
"""How likely a test of coverage is to fail if intervals hold 95 % exactly."""
LEAST = int(binom.ppf(FAILURE, N_WORLDS, 0.95))


def poll_for(n_classes: int, n_units: int = 1000, epsilon: float = 1.0) -> Poll:
    return Case("evaluation", n_classes).poll(epsilon=epsilon, parties=n_units)


def stated(poll: Poll, statistic: Any, keep_back: int | None = None) -> Evaluation:
    return Evaluation(
        release="0" * 64,
        certificate=poll.certificate(poll.expected_units),
        keep_back=keep_back,
        statistic=statistic,
    )


def as_sent(table: np.ndarray) -> np.ndarray:
    """The numbers that stand for shares, without noise."""
    if len(table) == 2:
        return table.ravel()
    right = float(np.trace(table))
    return np.concatenate([[right / 2, (table.sum() - right) / 2], table.ravel() / 2])


TRUTH = {
    2: np.array([[0.55, 0.05], [0.15, 0.25]]),
    3: np.array([[0.3, 0.05, 0.05], [0.02, 0.2, 0.08], [0.1, 0.0, 0.2]]),
    8: 0.2 / 56 * (1.0 - np.eye(8)) + np.diag([0.2, 0.2, 0.1, 0.1, 0.1, 0.05, 0.04, 0.01]),
}


@pytest.mark.parametrize("n_classes", TRUTH)
def test_without_noise_it_is_the_truth(n_classes: int) -> None:
    truth = TRUTH[n_classes]
    found = stated(poll_for(n_classes, epsilon=1e9), as_sent(truth))
    assert found.accuracy is not None
    assert abs(found.accuracy.value - np.trace(truth)) < 1e-9
    assert np.abs(found.table - truth).max() < 1e-9
    assert found.balanced_accuracy is not None
    recalls = np.diag(truth) / truth.sum(axis=1)
    assert abs(found.balanced_accuracy.value - recalls.mean()) < 1e-9
    assert np.abs(found.class_shares - truth.sum(axis=1)).max() < 1e-9
    assert found.noise is not None
    assert found.noise < 1e-6


def test_parties_without_rows_do_not_count() -> None:
    truth = TRUTH[3]
    found = stated(poll_for(3, epsilon=1e9), as_sent(0.2 * truth))
    assert found.accuracy is not None
    assert abs(found.accuracy.value - np.trace(truth)) < 1e-9


@pytest.mark.parametrize("n_classes", [3, 8])
def test_right_and_wrong_are_put_together_by_least_squares(n_classes: int) -> None:
    """Against numpy's own least squares, with the covariance that the code states."""
    K, rng = n_classes, np.random.default_rng(1)
    on = np.eye(K, dtype=bool).ravel()
    design = np.concatenate([[on / 2, ~on / 2], np.eye(K * K) / 2])
    noisy = rng.normal(size=count_cells(K))
    expected = np.linalg.lstsq(design, noisy, rcond=None)[0]
    poll = poll_for(K)
    found = stated(poll, noisy)
    assert np.abs(found._cells().ravel() - expected).max() < 1e-9
    v = 2.0 * (poll.certificate(1000).noise_scale / 1000) ** 2
    covariance = v * np.linalg.inv(design.T @ design)
    for chosen in (np.diag([1.0] * K), np.diag([1.0] + [0.0] * (K - 1))):
        right = chosen.ravel()
        wrong = (
            (1.0 - np.eye(K))
            if chosen.sum() > 1
            else (np.arange(K * K) < K).reshape(K, K) * (1 - np.eye(K))
        )
        exact = [part @ covariance @ part for part in (right, wrong.ravel())]
        counted = found._variances(int(right.sum()), int(wrong.sum()))
        assert np.allclose(counted, exact)


# ---- intervals -----------------------------------------------------------------------------------


def test_no_sum_of_laplace_noises_reaches_further_than_one() -> None:
    """P(|sum| > z deviations), from the characteristic function, for all kinds of weights."""
    t = np.linspace(1e-6, 200.0, 400_001)
    for n, ratio in itertools.product((1, 2, 3, 4, 8, 64), (1.0, 0.5, 0.1)):
        weights = ratio ** np.arange(n)
        shares = weights**2 / (weights**2).sum()
        law = np.prod([1.0 / (1.0 + share * t**2 / 2.0) for share in shares], axis=0)
        inside = 2.0 / np.pi * np.trapezoid(np.sin(REACH * t) / t * law, t)
        assert 1.0 - inside <= 0.05 + 1e-4


def test_an_interval_holds_the_share_and_shrinks_with_the_noise() -> None:
    widths = []
    for epsilon in (0.3, 1.0, 3.0, 100.0):
        found = stated(poll_for(2, epsilon=epsilon), as_sent(TRUTH[2])).accuracy
        assert found is not None
        assert 0.0 <= found.low < found.value < found.high <= 1.0
        widths.append(found.high - found.low)
    assert widths == sorted(widths, reverse=True)
    sampling = 2.0 * REACH * np.sqrt(0.8 * 0.2 / 1000)
    assert abs(widths[-1] - sampling) < 0.002


def test_shares_at_the_edge() -> None:
    """Always right, even with noise beyond: an interval with some room below 1."""
    for wrong in (0.0, 0.001, -0.001, -0.02, -0.2):
        found = find_share(1.0, wrong, 1e-6, 1e-6, 1000)
        assert found is not None
        assert found.value == min(1.0, 1.0 / (1.0 + wrong))
        assert found.high == 1.0
        assert 0.99 < found.low < 1.0
        mirrored = find_share(wrong, 1.0, 1e-6, 1e-6, 1000)
        assert mirrored is not None
        assert abs(mirrored.high + found.low - 1.0) < 1e-9


def test_too_much_noise_tells_nothing() -> None:
    found = stated(poll_for(2, n_units=2, epsilon=0.01), as_sent(TRUTH[2]))
    assert found.accuracy is None
    assert found.balanced_accuracy is None
    assert found.noise is None
    assert abs(found.table.sum() - 1.0) < 1e-12
    assert "too much noise to tell" in found.describe(["home", "ward"])


def test_a_class_that_is_too_rare_is_said_to_be_so() -> None:
    found = stated(poll_for(8), as_sent(TRUTH[8]))
    told = [each is not None for each in found.recalls]
    assert told == [True] * 7 + [False], "below 3 deviations, here 4.5 % of rows"
    text = found.describe(list("abcdefgh"))
    assert "Too rare for so much noise: 'h'." in text
    assert "those classes that can be told of" in text
    assert found.facts(list("abcdefgh"))["too_rare_to_tell"] == ["h"]


def test_a_mean_of_estimates() -> None:
    one, other = Estimate(0.5, 0.4, 0.7), Estimate(0.9, 0.8, 1.0)
    found = average([one, other])
    assert np.allclose(
        [found.value, found.low, found.high],
        [0.7, 0.7 - np.hypot(0.1, 0.1) / 2, 0.7 + np.hypot(0.2, 0.1) / 2],
    )
    assert average([one]) == one


def drawn(table: np.ndarray, poll: Poll, rng: np.random.Generator, rows_each: int) -> Evaluation:
    """Units with so many rows each, whose mean is the table; then noise."""
    K, n = len(table), poll.expected_units
    counts = rng.multinomial(rows_each, table.ravel() / table.sum(), size=n).mean(axis=0)
    mechanism = poll.mechanism(n)
    noise = mechanism.rehearse(rng, 1)[0]
    return stated(poll, as_sent(counts.reshape(K, K) / rows_each) + noise)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("n_classes", "n_units", "epsilon", "rows_each"),
    [
        (2, 1000, 1.0, 1),
        (2, 1000, 1.0, 5),
        (2, 40, 2.0, 1),
        (3, 300, 0.5, 1),
        (8, 1000, 1.0, 1),
        (8, 1000, 1.0, 5),
    ],
)
def test_intervals_hold_nineteen_times_out_of_twenty(
    n_classes: int, n_units: int, epsilon: float, rows_each: int
) -> None:
    """For units like these; one row each is the worst there is. Fails with probability 2e-6."""
    truth, rng = TRUTH[n_classes], np.random.default_rng(n_classes + n_units)
    poll, accuracy = poll_for(n_classes, n_units, epsilon), float(np.trace(truth))
    recalls = np.diag(truth) / truth.sum(axis=1)
    held = balanced = 0
    for _ in range(N_WORLDS):
        found = drawn(truth, poll, rng, rows_each)
        own = found.accuracy
        held += own is None or own.low <= accuracy <= own.high
        told = [r for r, each in zip(recalls, found.recalls) if each is not None]
        mean = found.balanced_accuracy
        balanced += mean is None or mean.low <= np.mean(told) <= mean.high
    assert held >= LEAST
    assert balanced >= LEAST


# ---- whatever comes ------------------------------------------------------------------------------

huge = st.floats(-(2.0**500), 2.0**500) | st.floats(-1e-3, 1e-3) | st.sampled_from([0.0, 1.0, -1.0])


@settings(max_examples=200, deadline=None)
@given(st.sampled_from([2, 3]), st.sampled_from([1e-9, 1.0, 1e9]), st.data())
def test_whatever_the_noise_does_it_can_be_told(K: int, epsilon: float, data: Any) -> None:
    numbers = data.draw(st.lists(huge, min_size=count_cells(K), max_size=count_cells(K)))
    with np.errstate(all="raise", under="ignore"):
        found = stated(poll_for(K, M, epsilon), numbers)
        text, facts = found.describe(range(K)), found.facts(range(K))
    assert text
    assert np.isfinite(facts["table"]).all()
    for each in (found.accuracy, *found.recalls, found.balanced_accuracy):
        assert each is None or 0.0 <= each.low <= each.value <= each.high <= 1.0


def test_it_says_whether_rows_were_kept_back_and_who_counts() -> None:
    poll = poll_for(2)
    honest = stated(poll, as_sent(TRUTH[2]), keep_back=5).describe(["home", "ward"])
    assert "by 1,000 parties on rows that were kept back from learning" in honest
    assert "Every party counts alike" in honest
    assert "Always naming 'home', the commonest class, would be right for about 60%." in honest
    assert "learnt from" not in honest
    flattering = stated(poll, as_sent(TRUTH[2])).describe(["home", "ward"])
    assert "No rows were kept back" in flattering
    assert "less often right" in flattering


@pytest.mark.parametrize(
    "change",
    [
        {"release": "x"},
        {"release": "A" * 64},
        {"keep_back": 1},
        {"statistic": [0.5, 0.5]},
        {"statistic": [0.5, 0.5, np.nan, 0.0]},
        {"statistic": np.zeros((2, 2))},
        {"certificate": Case("cells", 2).poll().certificate(M)},
    ],
)
def test_what_is_no_evaluation_is_refused(change: dict[str, Any]) -> None:
    poll = poll_for(2, M)
    good: dict[str, Any] = {
        "release": "0" * 64,
        "certificate": poll.certificate(M),
        "keep_back": None,
        "statistic": np.zeros(4),
    }
    Evaluation(**good)
    with pytest.raises(ValueError):  # noqa: PT011
        Evaluation(**{**good, **change})
    odd = replace(poll.certificate(M), dimension=5)
    with pytest.raises(ValueError, match="K² \\+ 2"):
        Evaluation(**{**good, "certificate": odd, "statistic": np.zeros(5)})
