"""Every name gives a local classifier that parties can train."""

from __future__ import annotations

import re
import sys
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import make_blobs

from ostraka.errors import ParameterError
from ostraka.party.rows import Parties
from ostraka.party.training.named import NAMES, named
from ostraka.party.training.votes import count_linear_votes, count_votes

X, Y = make_blobs(360, centers=[[-4.0, 0.0], [4.0, 0.0], [0.0, 6.0]], random_state=0)
X = X / np.linalg.norm(X, axis=1).max()
PUBLIC, TRUTH, X, Y = X[:60], Y[:60], X[60:], Y[60:]
NEEDS = {"xgboost": "xgboost", "lightgbm": "lightgbm"}


def counted(name: str, parties: Parties) -> np.ndarray:
    """The votes of parties that train the classifier of this name."""
    if name in NEEDS:
        pytest.importorskip(NEEDS[name], reason=f"{name} is not installed")
    template = named(name)
    if template is None:
        batches = count_linear_votes(parties, PUBLIC, 3, 1e-3, "logistic", n_jobs=1)
    else:
        templates = template if isinstance(template, list) else [template]
        batches = count_votes(parties, PUBLIC, 3, templates, n_jobs=1)
    return np.sum([counts for _, counts in batches], axis=0)


@pytest.mark.parametrize("name", NAMES)
def test_parties_can_train_it(name: str) -> None:
    counts = counted(name, Parties.group(X, Y, np.arange(len(X)) % 25))
    assert counts.sum(axis=1).tolist() == [25] * len(PUBLIC)
    assert (counts.argmax(axis=1) == TRUTH).mean() > 0.9


@pytest.mark.parametrize("name", NAMES)
def test_parties_with_hardly_any_rows_can_train_it(name: str) -> None:
    """Two rows, of one class or of two: their votes count like anybody's."""
    counts = counted(name, Parties.group(X[:60], Y[:60], np.arange(60) // 2))
    assert counts.sum(axis=1).tolist() == [30] * len(PUBLIC)


def test_linear_is_the_papers_own_and_mixed_is_a_list() -> None:
    assert named("linear") is None
    kinds = {type(template).__name__ for template in named("mixed")}
    assert kinds == {
        "LogisticRegression",
        "DecisionTreeClassifier",
        "GaussianNB",
        "KNeighborsClassifier",
        "SVC",
    }


@pytest.mark.parametrize(
    "name", [name for name in NAMES if name not in ("linear", "mixed", *NEEDS)]
)
def test_each_call_gives_a_new_unfitted_classifier(name: str) -> None:
    one, other = named(name), named(name)
    assert one is not other
    assert type(clone(one)) is type(other)
    assert not hasattr(one, "classes_")


@pytest.mark.parametrize("given", ["Forest", "", "knn", None, 3])
def test_an_unknown_name_is_refused_with_the_list_of_all(given: Any) -> None:
    allowed = (
        "linear, logistic, tree, forest, neighbours, bayes, svm, boosting, xgboost, lightgbm, mixed"
    )
    assert allowed == ", ".join(NAMES)
    given_text = "is missing. Needed" if given is None else f"= {given!r} is not allowed. Allowed"
    complaint = re.escape(f"local {given_text}: {allowed}.")
    with pytest.raises(ParameterError, match=complaint):
        named(given)


@pytest.mark.parametrize("name", NEEDS)
def test_a_package_that_is_not_there_is_named(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(
        ParameterError,
        match=f"local = '{name}' is not allowed. "
        f"Allowed: another name, unless you pip install {name}.",
    ):
        named(name)


def test_the_command_line_names_them_all() -> None:
    pytest.importorskip("typer", reason="typer is not installed (pip install 'ostraka[cli]')")
    from typing import get_type_hints

    from ostraka.cli.learn import learn

    described = get_type_hints(learn, include_extras=True)["local"].__metadata__[0].help
    assert ", ".join(NAMES) in described
