"""What an estimator has from public things: classes, columns, the auxiliary set, an earlier round.

    what is given                      what comes of it
    an `AuxiliarySet`                  itself
    public samples                     an auxiliary set by the map to features that suits the method
    none, but a radius                 made-up points in a ball of that size
    an earlier release (`start`)       its classes, its columns and its map

Nothing private is seen here, except how many columns the samples have, and their names.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Self, final

import numpy as np

from ostraka.errors import ParameterError
from ostraka.given import plain
from ostraka.public.auxiliary import WHAT, AuxiliarySet
from ostraka.public.classes import ClassName
from ostraka.public.columns import Columns, check_samples, is_table
from ostraka.public.describe import describe_columns, read_description
from ostraka.public.prepare import prepare
from ostraka.release import Rehearsed, Release

__all__ = ["PublicSide"]


@final
@dataclass(frozen=True, slots=True)
class PublicSide:
    """The public parameters of an estimator, the start loaded."""

    method: str
    classes: Iterable[ClassName] | None
    columns: Any
    radius: float | None
    intercept: float
    start: Release | Rehearsed | None

    @classmethod
    def of(cls, estimator: Any) -> Self:
        """Those of this estimator."""
        start = estimator.start
        if isinstance(start, str | os.PathLike):
            start = Release.load(start)
        return cls(
            method=estimator.method,
            classes=estimator.classes,
            columns=estimator.columns,
            radius=estimator.radius,
            intercept=estimator.intercept,
            start=start if isinstance(start, Release | Rehearsed) else None,
        )

    def list_classes(self, auxiliary: Any) -> Iterable[ClassName] | None:
        """The list of classes, wherever it is public; None if it has to come from the labels."""
        if self.classes is not None:
            return self.classes
        if isinstance(auxiliary, AuxiliarySet):
            return auxiliary.classes
        return None if self.start is None else self.start.model.task.classes

    def describe(self, auxiliary: Any) -> Columns | None:
        """What the columns of tables are; None where nobody says."""
        if isinstance(auxiliary, AuxiliarySet):
            return auxiliary.columns
        check_samples(auxiliary, WHAT)
        if self.start is not None:
            return self.start.model.task.columns
        if isinstance(self.columns, Columns):
            return self.columns
        said = self.columns
        if isinstance(said, str | os.PathLike):
            said = read_description(said)
        if is_table(auxiliary) or said is not None:
            return describe_columns(auxiliary, said)
        return None

    def prepare(
        self,
        auxiliary: Any,
        classes: tuple[ClassName, ...],
        columns: Columns | None,
        n_columns: int,
        names: Any = None,
    ) -> AuxiliarySet:
        """The auxiliary set with its public preprocessing.

        `n_columns` and `names` are those of the samples: for made-up points.
        """
        if isinstance(auxiliary, AuxiliarySet):
            if auxiliary.classes != classes:
                raise ParameterError(
                    "auxiliary.classes", got=auxiliary.classes, allowed=str(classes)
                )
            return auxiliary
        if auxiliary is None:
            return self._fill_ball(classes, columns, n_columns, names)
        return prepare(
            auxiliary,
            classes,
            self.method,
            columns=columns,
            radius=self.radius,
            intercept=self.intercept,
            like=None if self.start is None else self.start.model.task,
        )

    def prepare_for_votes(self, auxiliary: Any) -> AuxiliarySet:
        """The auxiliary set for classifiers that exist already."""
        if isinstance(auxiliary, AuxiliarySet):
            return auxiliary
        if self.classes is None:
            allowed = "the list of classes, or give an AuxiliarySet"
            raise ParameterError("classes", got=None, allowed=allowed)
        named = plain(np.asarray(list(self.classes)))
        return self.prepare(auxiliary, named, self.describe(auxiliary), 0)

    def _fill_ball(
        self, classes: tuple[ClassName, ...], columns: Columns | None, n_columns: int, names: Any
    ) -> AuxiliarySet:
        """Points in a ball, for those who have no public samples but know how long samples are."""
        assert self.radius is not None
        ball = AuxiliarySet.synthetic(
            n_columns, classes, radius=self.radius, constant=self.intercept
        )
        if columns is None and names is not None:
            columns = Columns.of_numbers(names)
        return AuxiliarySet.restored(ball.features, classes, ball.preprocessing, columns)
