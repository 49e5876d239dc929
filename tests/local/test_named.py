"""Every name gives a local classifier that parties can train."""

from __future__ import annotations

import re
import sys
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import make_blobs

from ostraka import PrivateClassifier
from ostraka.errors import ParameterError
from ostraka.local.named import NAMES, named

X, Y = make_blobs(360, centers=[[-4.0, 0.0], [4.0, 0.0], [0.0, 6.0]], random_state=0)
PUBLIC, X, Y = X[:60], X[60:], Y[60:]
PARTIES = np.arange(len(X)) % 25
NEEDS = {"xgboost": "xgboost", "lightgbm": "lightgbm"}


@pytest.mark.parametrize("name", NAMES)
def test_parties_can_train_it(name: str) -> None:
    if name in NEEDS:
        pytest.importorskip(NEEDS[name], reason=f"{name} is not installed")
    model = PrivateClassifier(epsilon=1e9, local=named(name), n_jobs=1).fit(X, Y, parties=PARTIES, auxiliary=PUBLIC)
    assert model.score(X, Y) > 0.9
    assert model.certificate_.parties == 25


@pytest.mark.parametrize("name", NAMES)
def test_parties_with_hardly_any_rows_can_train_it(name: str) -> None:
    """Two rows, of one class or of two: no local classifier may fail, because a refusal would tell something about a party."""
    if name in NEEDS:
        pytest.importorskip(NEEDS[name], reason=f"{name} is not installed")
    few = PrivateClassifier(epsilon=1e9, local=named(name), n_jobs=1).fit(X[:60], Y[:60], parties=np.arange(60) // 2, auxiliary=PUBLIC)
    assert few.certificate_.parties == 30


def test_linear_is_the_papers_own_and_mixed_is_a_list() -> None:
    assert named("linear") is None
    kinds = {type(template).__name__ for template in named("mixed")}
    assert kinds == {"LogisticRegression", "DecisionTreeClassifier", "GaussianNB", "KNeighborsClassifier", "SVC"}


@pytest.mark.parametrize("name", [name for name in NAMES if name not in ("linear", "mixed", *NEEDS)])
def test_each_call_gives_a_new_unfitted_classifier(name: str) -> None:
    one, other = named(name), named(name)
    assert one is not other
    assert type(clone(one)) is type(other)
    assert not hasattr(one, "classes_")


@pytest.mark.parametrize("given", ["Forest", "", "knn", None, 3])
def test_an_unknown_name_is_refused_with_the_list_of_all(given: Any) -> None:
    allowed = "linear, logistic, tree, forest, neighbours, bayes, svm, boosting, xgboost, lightgbm, mixed"
    assert allowed == ", ".join(NAMES)
    complaint = re.escape(f"local = {given!r} is not allowed. Allowed: {allowed}. Nothing was drawn and nothing was spent.")
    with pytest.raises(ParameterError, match=complaint):
        named(given)


@pytest.mark.parametrize("name", NEEDS)
def test_a_package_that_is_not_there_is_named(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(ParameterError, match=f"local = '{name}' is not allowed. Allowed: another name, unless you pip install {name}."):
        named(name)


def test_the_command_line_names_them_all() -> None:
    pytest.importorskip("typer", reason="typer is not installed (pip install 'ostraka[cli]')")
    from typing import get_type_hints

    from ostraka.cli.learn import learn

    described = get_type_hints(learn, include_extras=True)["local"].__metadata__[0].help
    assert ", ".join(NAMES) in described
