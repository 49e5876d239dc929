"""The auxiliary set: the unlabelled samples on which the parties vote.

    paper   code name     meaning
    X       features      N rows inside the unit ball; what the methods compute with
    –       samples       the same N rows as they were given; what the parties' classifiers see
    N       n_samples     how many
    d       n_features    columns of `features`, the intercept included
    K       n_classes     how many classes; class k is `classes[k]`

Guarantee: every row of `features` has an exact norm of at most 1 (see `preprocessing`), and the
features cannot be changed afterwards. The digest names features, classes and preprocessing
together: two people with the same digest mean the same rows in the same order. A dense and a sparse
form of the same matrix are two sets with two digests.

Public or private: usually the set is public. With `private=True` each of its samples may be
somebody's secret [Hamm 2016, private auxiliary data]. Then nothing computed from it may be shown,
not even a digest, because a digest would confirm guesses: the set goes by a random name, and
`public_digest` is None. The names of columns and classes are published all the same, so they must
not come from private samples. A private table is not described either: its columns are numbers
without gaps, unless somebody says otherwise.
"""

from __future__ import annotations

import hashlib
import json
import secrets
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, final

import numpy as np

from ostraka.errors import ParameterError, ShapeError, WrongTypeError
from ostraka.public.classes import ClassName, check_classes
from ostraka.public.columns import Columns, check_samples, is_table, names_of
from ostraka.public.describe import describe_columns
from ostraka.public.numbers import Features, Samples, is_sparse
from ostraka.public.preprocessing import Preprocessing, inside_unit_ball

__all__ = ["AuxiliarySet"]

# The digest starts with this line. A change in what is hashed, or how, needs a new
# number here: digests are stored in polls and ballots.
DIGEST_FORM = b"ostraka auxiliary set, form 1\n"

ROWS_PER_UPDATE = 4096
WHAT = "The auxiliary set"


@final
@dataclass(frozen=True, slots=True, eq=False)
class AuxiliarySet:
    """Samples, the features made from them, and the classes that can be voted for.

    Args:
        samples: what the parties vote on, kept as given: an array, a list of rows, a data frame, or
            a sparse matrix (formats other than csr cannot be sliced and are converted to csr once).
        classes: the names of the classes. Their order is the order of class indices and is never
            changed.
        preprocessing: the public map from samples to features. None: the samples are features
            already, and must lie in the unit ball.
        columns: what a table's columns are; by default as `describe_columns` finds them. None for
            arrays.
        private: whether the samples themselves are private. Then `preprocessing` must not have
            been fitted on them.

    """

    samples: Samples = field(repr=False)
    classes: tuple[ClassName, ...]
    preprocessing: Preprocessing | None = field(default=None, kw_only=True)
    private: bool = field(default=False, kw_only=True)
    features: Features = field(init=False, repr=False)
    columns: Columns | None = field(default=None, kw_only=True, repr=False)
    _digest: str | None = field(init=False, repr=False, default=None)

    def __post_init__(self) -> None:
        samples = _own_copy(self.samples)  # the caller may still write to them
        object.__setattr__(self, "samples", samples)
        object.__setattr__(self, "classes", check_classes(self.classes))
        object.__setattr__(self, "private", bool(self.private))
        if self.private and self.preprocessing is None:
            raise ParameterError(
                "preprocessing",
                got=None,
                allowed="Preprocessing(radius=...) with a public radius: "
                "private samples are clipped",
            )
        columns = self.columns or _describe(samples, self.private)
        object.__setattr__(self, "columns", columns)
        encoded = samples if columns is None else columns.encode(samples, WHAT)
        object.__setattr__(self, "features", _frozen_features(encoded, self.preprocessing))

    @classmethod
    def scaled(
        cls,
        samples: Samples,
        classes: Iterable[ClassName],
        constant: float = 0.0,
        *,
        standardise: bool = False,
        quantile: float = 1.0,
        columns: Columns | None = None,
    ) -> AuxiliarySet:
        """Make a PUBLIC auxiliary set with a scale of its own: see `Preprocessing.fit`.

        There is no `private` here: the scale is published with the model, and one derived from
        private samples would reveal the longest of them. For a private set, agree on a radius
        beforehand and give `preprocessing=Preprocessing(radius=...)`.
        """
        check_samples(samples, WHAT)
        columns = columns or _describe(samples, private=False)
        encoded = samples if columns is None else columns.encode(samples, WHAT)
        fitted = Preprocessing.fit(encoded, constant, standardise=standardise, quantile=quantile)
        return cls(samples, check_classes(classes), preprocessing=fitted, columns=columns)

    @classmethod
    def synthetic(
        cls,
        n_columns: int,
        classes: Iterable[ClassName],
        *,
        radius: float = 1.0,
        constant: float = 0.0,
        n_samples: int = 1000,
    ) -> AuxiliarySet:
        """Make a public set of points spread evenly over a ball, always the same ones.

        It is for those who have no public samples. Votes on points that look like nobody's data
        say less than votes on real samples, so expect a lower accuracy.
        """
        generator = np.random.default_rng(0)
        rows = generator.standard_normal((n_samples, n_columns))
        rows *= (
            radius
            * generator.random((n_samples, 1)) ** (1.0 / n_columns)
            / np.linalg.norm(rows, axis=1, keepdims=True)
        )
        return cls(
            rows, tuple(classes), preprocessing=Preprocessing(radius=radius, constant=constant)
        )

    @classmethod
    def restored(
        cls,
        features: Features,
        classes: Iterable[ClassName],
        preprocessing: Preprocessing | None,
        columns: Columns | None,
        samples: Samples = None,
    ) -> AuxiliarySet:
        """A public set from a file, with its samples if they are needed.

        The features are the stored ones, to the last bit.
        """
        kept = _frozen_features(features, None)
        n_columns = (preprocessing or Preprocessing()).n_columns(kept.shape[1])
        n_columns = n_columns if columns is None else len(columns)
        if samples is not None and tuple(samples.shape) != (kept.shape[0], n_columns):
            allowed = f"({kept.shape[0]}, {n_columns}), a row for each row of features"
            raise ShapeError("The auxiliary samples", got=tuple(samples.shape), allowed=allowed)
        restored = object.__new__(cls)
        values = {
            "samples": samples,
            "classes": check_classes(classes),
            "preprocessing": preprocessing,
            "private": False,
            "features": kept,
            "columns": columns,
            "_digest": None,
        }
        for name, value in values.items():
            object.__setattr__(restored, name, value)
        return restored

    def __repr__(self) -> str:
        return (
            f"AuxiliarySet(n_samples={self.n_samples}, n_features={self.n_features}, "
            f"n_classes={self.n_classes}, private={self.private})"
        )

    @property
    def n_samples(self) -> int:
        """N."""
        return int(self.features.shape[0])

    @property
    def n_features(self) -> int:
        """Columns of `features`, the appended constant included."""
        return int(self.features.shape[1])

    @property
    def n_classes(self) -> int:
        """K."""
        return len(self.classes)

    @property
    def encoded(self) -> Any:
        """The samples as numbers, before the preprocessing."""
        return self.samples if self.columns is None else self.columns.encode(self.samples, WHAT)

    @property
    def digest(self) -> str:
        """Sha256 of features, classes and preprocessing, in hexadecimal; random if private."""
        digest = self._digest
        if digest is None:
            digest = secrets.token_hex(32) if self.private else _digest(self)
            object.__setattr__(self, "_digest", digest)
        return digest

    @property
    def public_digest(self) -> str | None:
        """The digest if it may be shown; None for a private set."""
        return None if self.private else self.digest

    def rows(self, start: int, stop: int) -> Samples:
        """Give a copy of samples[start:stop] in the container in which they came.

        A copy, because classifiers may change what they are given.
        """
        if self.samples is None:
            raise ParameterError(
                "samples",
                got=None,
                allowed="a poll whose parties vote: this one carries features alone",
            )
        if hasattr(self.samples, "iloc"):  # pandas
            return self.samples.iloc[start:stop].copy()
        if hasattr(self.samples, "slice"):  # polars, pyarrow: immutable
            return self.samples.slice(start, stop - start)
        return self.samples[start:stop].copy()


def _own_copy(samples: Samples) -> Samples:
    check_samples(samples, WHAT)
    if is_sparse(samples):
        return samples.tocsr(copy=True)
    if hasattr(samples, "iloc"):
        return samples.copy()
    return samples if hasattr(samples, "slice") else np.array(_readable(samples))


def _readable(samples: Samples) -> Samples:
    if isinstance(samples, bytes | dict | None):
        raise WrongTypeError(
            "The auxiliary samples",
            samples,
            "a matrix: an array, rows of numbers, a data frame or a sparse matrix",
        )
    return samples


def _frozen_features(samples: Samples, preprocessing: Preprocessing | None) -> Features:
    features = (
        inside_unit_ball(samples, "auxiliary samples")
        if preprocessing is None
        else preprocessing(samples)
    )
    if features.shape[0] < 1:
        raise ShapeError("The auxiliary set", got=tuple(features.shape), allowed="at least one row")
    if is_sparse(features):
        for array in (features.data, features.indices, features.indptr):
            array.flags.writeable = False
        return features
    # The caller may still write to the samples; the features must stay what the digest says.
    owned = features.copy() if np.may_share_memory(features, np.asarray(samples)) else features
    owned.flags.writeable = False
    return owned


def _describe(samples: Samples, private: bool) -> Columns | None:
    """A public table says what its columns are; of a private one only the names are public."""
    if not is_table(samples):
        return None
    names = names_of(samples) or ()
    return Columns.of_numbers(names) if private else describe_columns(samples)


def _digest(auxiliary: AuxiliarySet) -> str:
    """Hash the form, one line of canonical JSON, then the numbers as little-endian bytes."""
    features, preprocessing = auxiliary.features, auxiliary.preprocessing
    heading = {
        "classes": list(auxiliary.classes),
        "form": "csr" if is_sparse(features) else "dense",
        # A map that changes nothing gives the same set as no map at all.
        "preprocessing": None
        if preprocessing in (None, Preprocessing())
        else _preprocessing_heading(preprocessing),
        "shape": [int(length) for length in features.shape],
    }
    line = json.dumps(heading, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    sha = hashlib.sha256(DIGEST_FORM + line.encode("ascii") + b"\n")
    if is_sparse(features):
        sha.update(features.indptr.astype("<i8").tobytes())
        sha.update(features.indices.astype("<i8").tobytes())
        sha.update(features.data.astype("<f8").tobytes())
    else:
        for start in range(0, features.shape[0], ROWS_PER_UPDATE):
            # Adding 0.0 turns -0.0 into 0.0: they are the same number.
            block = features[start : start + ROWS_PER_UPDATE] + 0.0
            sha.update(block.astype("<f8", copy=False).tobytes())
    return sha.hexdigest()


def _preprocessing_heading(preprocessing: Preprocessing) -> dict[str, str]:
    arrays = {
        name: hashlib.sha256(array.astype("<f8").tobytes()).hexdigest()
        for name, array in preprocessing.arrays().items()
    }
    return {
        "constant": preprocessing.constant.hex(),
        "radius": preprocessing.radius.hex(),
        **arrays,
    }
