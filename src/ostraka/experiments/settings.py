"""The settings of an experiment: everything that its numbers depend on, besides the data."""

from __future__ import annotations

import hashlib
import json
import platform
import zlib
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version
from typing import Any, final, get_args

import numpy as np

from ostraka.errors import ParameterError, count, number
from ostraka.methods.base import LAMBDAS, Calibration
from ostraka.party.training.named import NAMES

__all__ = [
    "METHODS",
    "REFERENCES",
    "HYPOTHESIS",
    "INVERSE_EPSILONS",
    "Settings",
    "digest",
    "stream",
    "versions",
]

METHODS = ("soft", "avg", "vote")
REFERENCES = ("batch", "indiv")
HYPOTHESIS = "exp-radius"
INVERSE_EPSILONS = (0.0, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0)
LARGEST_INVERSE = 1e6
PACKAGES = ("ostraka", "numpy", "scipy", "scikit-learn", "numba", "joblib", "python-flint")


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The settings of a run.

    Two runs with the same settings, on the same data and versions, give the same numbers.

    Args:
        task: the name of the data set.
        methods: which of `batch`, `soft`, `avg`, `vote`, `indiv`.
        calibrations: "paper", "tight" or both.
        inverse_epsilons: where to measure; 0 stands for no noise.
        trials: random splits into parties, auxiliary set and rest.
        private_trials: draws of noise in all, spread over the splits.
        lambda_: the regulariser, local and global.
        seed: the start of every random stream.
        local: the parties' classifier, by name.
        natural_parties: parties as they are in the data, instead of random ones of equal size.
        centre: subtract the mean before principal components are taken. The paper's numbers come
            out without it (docs/reproduction.md).
        hypothesis: also draw noise whose length is exponential, without the factor D: NOT private;
            see docs/reproduction.md.

    """

    task: str
    methods: tuple[str, ...] = ("batch", *METHODS, "indiv")
    calibrations: tuple[Calibration, ...] = ("paper", "tight")
    inverse_epsilons: tuple[float, ...] = INVERSE_EPSILONS
    trials: int = 10
    private_trials: int = 100
    lambda_: float = 1e-4
    seed: int = 0
    local: str = "linear"
    natural_parties: bool = False
    centre: bool = False
    hypothesis: bool = False

    def __post_init__(self) -> None:
        _check_choices("methods", self.methods, (*METHODS, *REFERENCES))
        _check_choices("calibrations", self.calibrations, get_args(Calibration))
        inverse = tuple(
            sorted(
                {
                    number("inv-epsilon", value, 0.0, LARGEST_INVERSE)
                    for value in self.inverse_epsilons
                }
                | {0.0}
            )
        )
        object.__setattr__(self, "inverse_epsilons", inverse)
        object.__setattr__(self, "lambda_", number("lambda", self.lambda_, *LAMBDAS))
        count("trials", self.trials, 1, 10**6)
        count("private-trials", self.private_trials, self.trials, 10**8)
        count("seed", self.seed, 0)
        if self.local not in NAMES:
            raise ParameterError("local", got=self.local, allowed=", ".join(NAMES))
        if self.local != "linear" and "avg" in self.methods:
            # avg averages the parameters of linear classifiers.
            kept = tuple(method for method in self.methods if method != "avg")
            if not kept:
                raise ParameterError("local", got=self.local, allowed='"linear" for the method avg')
            object.__setattr__(self, "methods", kept)

    @property
    def private_methods(self) -> tuple[str, ...]:
        """The methods that get noise."""
        return tuple(method for method in METHODS if method in self.methods)

    @property
    def noisy(self) -> tuple[float, ...]:
        """The values of 1/ε at which noise is drawn."""
        return tuple(value for value in self.inverse_epsilons if value > 0.0)

    def draws(self, trial: int) -> int:
        """How many draws of noise a trial makes, so that all together make `private_trials`."""
        each, rest = divmod(self.private_trials, self.trials)
        return each + int(trial < rest)

    def stream(self, n_parties: int, trial: int, *purpose: str) -> np.random.Generator:
        """A separate random stream for every trial and purpose.

        Leaving a method out changes nothing for the others.
        """
        return stream(self.seed, self.task, n_parties, trial, *purpose)

    def to_dict(self) -> dict[str, Any]:
        """As plain values."""
        return asdict(self)

    @property
    def digest(self) -> str:
        """A name for settings and versions, with which a checkpoint must agree."""
        return digest(self.to_dict())


def stream(seed: int, task: str, n_parties: int, trial: int, *purpose: str) -> np.random.Generator:
    """A random stream for one purpose in one trial."""
    words = [zlib.crc32(word.encode()) for word in (task, *purpose)]
    return np.random.default_rng([seed, n_parties, trial, *words])


def digest(settings: dict[str, Any]) -> str:
    """A name for settings and versions."""
    text = json.dumps({"versions": versions(), **settings}, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def versions() -> dict[str, str | None]:
    """The versions of everything that numbers depend on; None for what is not installed."""
    return {"python": platform.python_version(), **{name: _version(name) for name in PACKAGES}}


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _check_choices(name: str, given: tuple[str, ...], known: tuple[str, ...]) -> None:
    unknown = [value for value in given if value not in known]
    if unknown or not given:
        raise ParameterError(
            name, got=", ".join(unknown) or "nothing", allowed="some of " + ", ".join(known)
        )
