"""What an estimator refuses before anything is spent, and who is counted."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.naive_bayes import GaussianNB

from ostraka import AuxiliarySet, PrivateClassifier
from ostraka.errors import (
    EntryError,
    InputError,
    LabelError,
    ParameterError,
    ShapeError,
    SharedRowsError,
    TooFewPartiesError,
    UnknownClassError,
)
from ostraka.ledger import Budget, Ledger
from tests.blobs import NAMES, PARTIES, PUBLIC, X, Y, almost_noiseless

# Promises that protect nobody make a test's answer sure; what is said of them has tests of its own.
pytestmark = pytest.mark.filterwarnings("ignore::ostraka.errors.PrivacyWarning")


@pytest.mark.parametrize(
    ("changes", "arguments", "error", "complaint"),
    [
        ({"epsilon": 0.0}, {}, ParameterError, "epsilon = 0.0"),
        ({"lambda_": -1.0}, {}, ParameterError, "lambda = -1.0"),
        ({"method": "hard"}, {}, ParameterError, "'auto', 'moments'"),
        (
            {"method": "avg", "local": GaussianNB()},
            {},
            ParameterError,
            "local.*not for method 'avg'.*it is for consensus",
        ),
        ({"classes": ["ash", "birch"]}, {}, UnknownClassError, "'cedar'"),
        (
            {"least_parties": 101},
            {},
            TooFewPartiesError,
            "100 parties have contributed, but at least 101",
        ),
        (
            {"method": "cells", "intercept": 0.3},
            {},
            ParameterError,
            "intercept = 0.3.*not for method 'cells'.*it is for soft",
        ),
        (
            {"method": "moments", "radius": 3.0},
            {},
            ParameterError,
            "radius = 3.0.*not for method 'moments'",
        ),
        ({}, {"parties": PARTIES[:5]}, ShapeError, "one name for each sample"),
        ({}, {"parties": np.zeros(len(X))}, TooFewPartiesError, "1 party"),
        (
            {},
            {"parties": None},
            ParameterError,
            "who holds each row; or else PrivateClassifier\\(rows_are_parties=True\\)",
        ),
        ({"rows_are_parties": True}, {}, ParameterError, "together with rows_are_parties=True"),
        (
            {"rows_are_parties": True, "ledger": "x.db"},
            {"parties": None},
            ParameterError,
            "rows have none",
        ),
        ({"rows_are_parties": True, "roll": ["a"]}, {"parties": None}, ParameterError, "roll"),
        ({"roll": ["0", "1"]}, {}, InputError, "is not on the roll"),
        (
            {"samples_each": 5},
            {},
            ParameterError,
            "samples_each.*not for method 'soft'.*it is for auto",
        ),
        ({}, {"auxiliary": X}, SharedRowsError, "auxiliary holds the private rows"),
        ({}, {"auxiliary": X.copy()}, SharedRowsError, "Give other samples"),
        ({}, {"auxiliary": np.r_[X[:90], PUBLIC[:80]]}, SharedRowsError, "holds the private rows"),
        (
            {},
            {"auxiliary": PUBLIC[:1]},
            InputError,
            "The auxiliary set has 1 row: that says nothing",
        ),
        (
            {},
            {"auxiliary": PUBLIC[[0, 0, 0]]},
            InputError,
            "All rows of the auxiliary set are alike",
        ),
        (
            {"method": "auto"},
            {"auxiliary": None},
            ParameterError,
            "public samples with the columns of X",
        ),
        ({}, {"auxiliary": None}, ParameterError, 'method="avg" with radius='),
        ({}, {"auxiliary": PUBLIC[:, :2]}, ShapeError, "4 columns, as X has"),
        (
            {},
            {"auxiliary": np.full((3, 4), np.nan)},
            EntryError,
            "The auxiliary set: column 0 holds a gap",
        ),
        ({}, {"y": np.full(len(X), "ash")}, LabelError, "one class only"),
        (
            {},
            {"auxiliary": AuxiliarySet.scaled(PUBLIC, ("a", "b"))},
            UnknownClassError,
            "is not among the 2 classes",
        ),
        (
            {"classes": list(NAMES)},
            {"auxiliary": AuxiliarySet.scaled(PUBLIC, ("a", "b"))},
            ParameterError,
            "auxiliary.classes",
        ),
    ],
)
def test_bad_input(
    changes: dict[str, Any], arguments: dict[str, Any], error: type[Exception], complaint: str
) -> None:
    given = {"y": Y, "parties": PARTIES, "auxiliary": PUBLIC, **arguments}
    with pytest.raises(error, match=complaint):
        almost_noiseless(**changes).fit(X, **given)


def test_the_classes_of_an_auxiliary_set_are_public() -> None:
    auxiliary = AuxiliarySet.scaled(PUBLIC, [*NAMES[::-1], "oak"], 0.5, standardise=True)
    model = almost_noiseless().fit(X, Y, parties=PARTIES, auxiliary=auxiliary)
    assert model.certificate_.assumed_public == ()
    assert model.classes_.tolist() == ["cedar", "birch", "ash", "oak"]
    assert model.score(X, Y) > 0.9


def test_terms_are_checked_before_anything_is_cast() -> None:
    def never(rows: np.ndarray) -> np.ndarray:
        raise AssertionError("asked although ε is wrong")

    with pytest.raises(ParameterError, match="epsilon"):
        PrivateClassifier("soft", epsilon=-1.0).fit_classifiers(
            [never], AuxiliarySet.scaled(PUBLIC, NAMES)
        )


def test_votes_need_votes() -> None:
    with pytest.raises(
        ParameterError, match='"consensus", "soft" or "vote" for classifiers that vote'
    ):
        almost_noiseless(method="avg").fit_classifiers([], AuxiliarySet.scaled(PUBLIC, NAMES))
    with pytest.raises(ParameterError, match="the list of classes"):
        almost_noiseless().fit_classifiers([], PUBLIC)
    with pytest.raises(TooFewPartiesError):
        almost_noiseless().fit_classifiers([], AuxiliarySet.scaled(PUBLIC, NAMES))


class TestWhoIsProtected:
    """A party is said, or rows are; who is on the roll counts; one party has one name."""

    def test_rows_are_said_to_be_rows(self) -> None:
        model = PrivateClassifier("avg", 1e6, rows_are_parties=True, radius=20.0).fit(X, Y)
        assert model.certificate_.protects == "row"
        assert "for one row, among 700 rows" in str(model.certificate_)

    def test_who_is_on_the_roll_and_has_no_rows_counts(self) -> None:
        roll = [*range(100), "empty ward"]
        for method in ("cells", "soft", "avg"):
            model = PrivateClassifier(method, 1e6, roll=roll, n_jobs=1).fit(
                X, Y, parties=PARTIES, auxiliary=PUBLIC
            )
            assert model.certificate_.parties == 101

    def test_one_party_by_many_names_is_one(self, tmp_path: Any) -> None:
        ledger = Ledger.create(tmp_path / "ledger.db", Budget(epsilon=3.0))
        forms = (
            PARTIES,
            PARTIES.astype(float),
            PARTIES.astype(str),
            np.char.add(PARTIES.astype(str), ".0"),
            PARTIES.astype("S"),
        )
        for names in forms:
            PrivateClassifier("cells", 0.5, ledger=ledger).fit(
                X, Y, parties=names, auxiliary=PUBLIC
            )
        assert len(ledger.accounts()) == 100
        assert float(ledger.spent("7").to_dict()["epsilon"]) == 2.5
        mixed = ["Ward A", "ward a ", "WARD A", "cafe\u0301", "caf\u00e9"] * 140
        model = PrivateClassifier("cells", 0.5, random_state=0).fit(
            X, Y, parties=mixed, auxiliary=PUBLIC
        )
        assert model.certificate_.parties == 2

    def test_names_that_could_be_read_in_two_ways_are_refused(self) -> None:
        for names in (PARTIES % 2 == 0, PARTIES + 0.5, [None, *PARTIES[1:]], [("a", 1)] * 700):
            with pytest.raises(InputError, match=r"part(y|ies).*Nothing was drawn"):
                PrivateClassifier("cells", 0.5).fit(X, Y, parties=names, auxiliary=PUBLIC)

    def test_rows_cannot_pass_for_the_parties_that_a_model_protects(self) -> None:
        """Set between the two: the evaluation would promise parties what only rows get."""
        model = PrivateClassifier("cells", 1.0, random_state=0)
        model.fit(X, Y, parties=PARTIES, auxiliary=PUBLIC)
        model.rows_are_parties = True
        with pytest.raises(
            ParameterError, match=r"the name of each row's party.*Nothing was drawn"
        ):
            model.evaluate(X, Y)
        model = PrivateClassifier("cells", 1.0, rows_are_parties=True, random_state=0)
        model.fit(X, Y, auxiliary=PUBLIC)
        model.rows_are_parties = False
        with pytest.raises(ParameterError, match=r"none, because this poll protects single rows"):
            model.evaluate(X, Y, parties=PARTIES)


@pytest.mark.parametrize("entry", [1.0, 1.7e308, 1e-320])
def test_what_one_row_holds_shows_in_no_evaluation(entry: float) -> None:
    """Numpy's traps are set: an overflow in one row would be an error in one world alone."""
    model = PrivateClassifier("cells", 1.0, classes=NAMES, random_state=0)
    model.fit(X, Y, parties=PARTIES, auxiliary=PUBLIC)
    rows = X.copy()
    rows[:40] = np.where(np.arange(40)[:, None] < 20, entry, -entry)
    with np.errstate(all="raise"):
        model.evaluate(rows, Y, parties=PARTIES)


@pytest.mark.parametrize("odd", [1j, ("a",), None, 3])
def test_labels_that_are_no_classes_are_refused_alike(odd: Any) -> None:
    labels = np.array([odd, *Y[1:]], dtype=object)
    model = PrivateClassifier("cells", 1.0, classes=NAMES, random_state=0)
    with pytest.raises(LabelError if odd is None else UnknownClassError, match="Nothing was drawn"):
        model.fit(X, labels, parties=PARTIES, auxiliary=PUBLIC)
    model.fit(X, Y, parties=PARTIES, auxiliary=PUBLIC)
    with pytest.raises(LabelError if odd is None else UnknownClassError, match="Nothing was drawn"):
        model.evaluate(X, labels, parties=PARTIES)


def test_one_odd_label_shows_nobody_elses() -> None:
    model = PrivateClassifier("cells", 1.0, classes=NAMES, random_state=0)
    with pytest.raises(UnknownClassError) as refused:
        model.fit(X, [3, *Y.tolist()[1:]], parties=PARTIES, auxiliary=PUBLIC)
    assert "'3'" not in str(refused.value)
    assert "Class 3 " in str(refused.value)


def test_nobody_on_a_roll_needs_rows_for_an_evaluation() -> None:
    roll = sorted({str(name) for name in PARTIES})
    model = PrivateClassifier("cells", 1.0, classes=NAMES, roll=roll, random_state=0)
    model.fit(X, Y, parties=PARTIES, auxiliary=PUBLIC)
    assert model.evaluate(X[:0], Y[:0], parties=PARTIES[:0], epsilon=1.0) is not None
