"""Local classifiers by name, for the command line and for experiments."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ostraka.errors import ParameterError

__all__ = ["NAMES", "named"]


def _sklearn(module: str, name: str, **options: Any) -> Callable[[], Any]:
    def make() -> Any:
        from importlib import import_module

        return getattr(import_module(module), name)(**options)

    return make


_MAKERS: dict[str, Callable[[], Any]] = {
    "logistic": _sklearn("sklearn.linear_model", "LogisticRegression", max_iter=1000),
    "tree": _sklearn("sklearn.tree", "DecisionTreeClassifier", random_state=0),
    "forest": _sklearn(
        "sklearn.ensemble", "RandomForestClassifier", n_estimators=20, random_state=0
    ),
    "neighbours": _sklearn("sklearn.neighbors", "KNeighborsClassifier", n_neighbors=1),
    "bayes": _sklearn("sklearn.naive_bayes", "GaussianNB"),
    "svm": _sklearn("sklearn.svm", "SVC"),
    "boosting": _sklearn(
        "sklearn.ensemble", "GradientBoostingClassifier", n_estimators=20, random_state=0
    ),
    "xgboost": _sklearn("xgboost", "XGBClassifier", n_estimators=20, n_jobs=1),
    "lightgbm": _sklearn(
        "lightgbm", "LGBMClassifier", n_estimators=20, min_child_samples=1, n_jobs=1, verbose=-1
    ),
}
MIXTURE = ("logistic", "tree", "bayes", "neighbours", "svm")
NAMES = ("linear", *_MAKERS, "mixed")


def named(name: str) -> Any:
    """The unfitted classifier of this name; None for "linear", the paper's; a list for "mixed"."""
    if name == "linear":
        return None
    if name == "mixed":
        return [_MAKERS[each]() for each in MIXTURE]
    if name not in _MAKERS:
        raise ParameterError("local", got=name, allowed=", ".join(NAMES))
    try:
        return _MAKERS[name]()
    except ImportError:
        raise ParameterError(
            "local", got=name, allowed=f"another name, unless you pip install {name}"
        ) from None
