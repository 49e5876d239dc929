"""Rows, known by one number each: accidents are noticed, and nothing else."""

from __future__ import annotations

import pickle
import warnings
from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from ostraka import PrivateClassifier
from ostraka.errors import PrivacyWarning, SharedRowsError
from ostraka.rows_seen import are_shared, mark_released, mark_used, row_keys, was_used

RNG = np.random.default_rng(0)


def test_a_key_depends_on_its_row_alone() -> None:
    rows = RNG.normal(size=(500, 7))
    keys = row_keys(rows)
    assert len(set(keys.tolist())) == 500
    assert (row_keys(rows[::-1])[::-1] == keys).all()
    assert (row_keys(rows[3:4]) == keys[3:4]).all()
    assert (row_keys(np.where(rows == 0, -0.0, rows)) == keys).all()
    swapped = rows[:, ::-1]
    assert not (row_keys(swapped) == keys).any(), "columns are not exchangeable"


def test_sparse_rows_have_keys_too() -> None:
    dense = np.where(RNG.random((50, 6)) < 0.5, RNG.normal(size=(50, 6)), 0.0)
    keys = row_keys(csr_matrix(dense))
    assert (keys == row_keys(csr_matrix(dense)[::-1])[::-1]).all()
    assert len(set(keys.tolist())) == len({row.tobytes() for row in dense})


@pytest.mark.parametrize("share", [0.0, 0.4, 0.6, 1.0])
def test_public_rows_that_are_private_ones(share: float) -> None:
    private, public = RNG.normal(size=(1000, 4)), RNG.normal(size=(200, 4))
    copied = int(200 * share)
    public[:copied] = private[RNG.permutation(1000)[:copied]]
    assert are_shared(public, private) is (share > 0.5)


@pytest.mark.parametrize("n_private", [10, 100, 300, 1000, 30_000])
@pytest.mark.parametrize("n_values", [1, 2, 10, 300, 3000])
@pytest.mark.parametrize("skewed", [False, True])
def test_coarse_rows_that_coincide_are_not_suspected(
    n_private: int, n_values: int, skewed: bool
) -> None:
    """Drawn apart, at most one row in e or so stands once in both, whatever it is drawn from.

    400 public rows: 200 of them would be five standard deviations above 400/e.
    """
    weights = np.arange(1, n_values + 1.0) ** (-1.0 if skewed else 0.0)
    public, private = (
        RNG.choice(n_values, (n, 1), p=weights / weights.sum()).astype(float)
        for n in (400, n_private)
    )
    assert not are_shared(public, private)


def test_an_estimator_refuses_them() -> None:
    X = RNG.normal(size=(300, 3))
    y, parties = np.where(X[:, 0] > 0, "a", "b"), np.arange(300) // 3
    with pytest.raises(SharedRowsError, match="Nothing was drawn and nothing was spent"):
        PrivateClassifier(random_state=0).fit(X, y, parties=parties, auxiliary=X[::2])


def test_a_second_release_of_the_same_rows() -> None:
    X, public = RNG.normal(size=(300, 3)), RNG.normal(size=(100, 3))
    y, parties = np.where(X[:, 0] > 0, "a", "b"), np.arange(300) // 3
    model = PrivateClassifier("cells", 1.0)
    model.fit(X, y, parties=parties, auxiliary=public)
    with pytest.warns(PrivacyWarning, match="costs every party its ε once more"):
        PrivateClassifier("cells", 1.0).fit(X[::-1], y[::-1], parties=parties, auxiliary=public)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        PrivateClassifier("cells", 1.0, random_state=0).fit(X, y, parties=parties, auxiliary=public)
    with warnings.catch_warnings():  # it is made and paid for: a warning must not lose it
        warnings.simplefilter("error")
        again = PrivateClassifier("cells", 1.0).fit(X, y, parties=parties, auxiliary=public)
    assert again.release_ is not None


def test_warnings_name_the_line_of_the_caller() -> None:
    X, public = RNG.normal(size=(300, 3)), RNG.normal(size=(100, 3))
    y, parties = np.where(X[:, 0] > 0, "a", "b"), np.arange(300) // 3
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        for _ in range(2):
            model = PrivateClassifier("cells", 11.0)
            model.fit(X, y, parties=parties, auxiliary=public)
        model.score(X, y)
    assert [each.filename for each in told] == [__file__] * 4
    lines = Path(__file__).read_text("utf-8").splitlines()
    calls = [lines[each.lineno - 1].strip().partition("(")[0] for each in told]
    assert calls == ["model.fit"] * 3 + ["model.score"]


def test_a_broken_display_of_warnings_loses_no_release(monkeypatch: pytest.MonkeyPatch) -> None:
    X, public = RNG.normal(size=(300, 3)), RNG.normal(size=(100, 3))
    y, parties = np.where(X[:, 0] > 0, "a", "b"), np.arange(300) // 3
    PrivateClassifier("cells", 1.0).fit(X, y, parties=parties, auxiliary=public)

    def fail(*_: object, **__: object) -> None:
        raise OSError("no terminal")

    with warnings.catch_warnings():
        warnings.simplefilter("always")
        monkeypatch.setattr(warnings, "showwarning", fail)
        again = PrivateClassifier("cells", 1.0).fit(X, y, parties=parties, auxiliary=public)
    assert again.release_ is not None


def test_an_accuracy_on_the_parties_own_rows() -> None:
    X, public = RNG.normal(size=(300, 3)), RNG.normal(size=(100, 3))
    y, parties = np.where(X[:, 0] > 0, "a", "b"), np.arange(300) // 3
    model = PrivateClassifier("cells", 1.0).fit(X, y, parties=parties, auxiliary=public)
    with pytest.warns(PrivacyWarning, match=r"own rows.*it flatters.*Measure on public rows"):
        model.score(X, y)
    labels = np.where(public[:, 0] > 0, "a", "b")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.score(public, labels)
        assert pickle.loads(pickle.dumps(model)).score(X, y) >= 0.0, "no key goes into a file"


def test_one_row_many_times_tells_nobody_whether_it_was_learnt_from() -> None:
    """Neither do nine rows; ten of the estimator's own are warned of."""
    rows, estimator = np.random.default_rng(0).normal(size=(30, 3)), PrivateClassifier()
    mark_used(estimator, rows)
    assert not was_used(estimator, np.repeat(rows[:1], 50, axis=0))
    assert not was_used(estimator, np.repeat(rows[:9], 50, axis=0))
    assert was_used(estimator, rows[:10])
    assert not was_used(estimator, rows[:10] + 1.0)


def test_what_was_released_is_told_by_all_rows() -> None:
    rows = RNG.normal(size=(20, 2))
    assert not mark_released(rows)
    assert mark_released(rows[::-1])
    assert not mark_released(rows[:19])


@pytest.mark.parametrize(
    ("epsilon", "n", "part"),
    [
        (11.0, 300, r"ε = 11 hides next to nothing.*59,874 times surer.*Around 1"),
        (50.0, 300, r"ε = 50 hides next to nothing.*as if it had been shown"),
        (0.01, 300, r"Expect little\. With 100 parties and ε = 0\.01 the noise.*More parties"),
    ],
)
def test_promises_that_people_may_not_have_meant(epsilon: float, n: int, part: str) -> None:
    X, public = RNG.normal(size=(n, 3)), RNG.normal(size=(100, 3))
    y, parties = np.where(X[:, 0] > 0, "a", "b"), np.arange(n) // 3
    with pytest.warns(PrivacyWarning, match=part):
        PrivateClassifier("cells", epsilon).fit(X, y, parties=parties, auxiliary=public)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        PrivateClassifier("cells", epsilon, random_state=0).fit(
            X, y, parties=parties, auxiliary=public
        )
