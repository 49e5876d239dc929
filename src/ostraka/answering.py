"""What a party answers a poll with, from files of its own: rows, or a classifier.

    what it has          what comes of it                         by
    a labelled table     what the poll asks of rows               `read_rows`, `contribute_rows`
    a trained model      its votes; or itself, on private samples `contribute_model`

The same on a command line and at a node of Flower. Errors are for the party's own eyes: they may
show an entry of its table.

Imported before anything has to be computed: so numpy is imported where it is used.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, final

if TYPE_CHECKING:
    from ostraka.datasets.tables import Table
    from ostraka.party.contribution import Contribution
    from ostraka.poll import Poll

__all__ = ["Given", "contribute_model", "contribute_rows", "count_persons", "no_rows", "read_rows"]


@final
@dataclass(frozen=True, slots=True)
class Given:
    """What a party's contribution is made of."""

    data: Path | None
    label_column: str | None
    person_column: str | None
    local: str
    model: Path | None
    trust: tuple[str, ...]
    jobs: int

    @property
    def is_nothing(self) -> bool:
        """Whether there is nothing to make one of."""
        return self.data is None and self.model is None


def read_rows(poll: Poll, given: Given) -> Table:
    """The party's own rows, by the poll's columns."""
    from ostraka.datasets import tables
    from ostraka.errors import InputError, ParameterError

    data, label_column, person_column = given.data, given.label_column, given.person_column
    if data is None:
        raise ParameterError("DATA", got=None, allowed="your labelled samples; or else --model")
    if label_column is None:
        raise ParameterError("--label-column", got=None, allowed="the column with the classes")
    if label_column in (poll.task.feature_names or ()):
        raise InputError(
            f"This poll also learns from the column {label_column!r}: whoever uses the model would "
            "have to know it beforehand.",
            "If it holds the classes, tell the coordinator to make the poll again with --drop "
            f"{label_column}. If not, name the column that does with --label-column.",
        )
    if (person_column is not None) is not (poll.promise.protects == "person"):
        allowed = (
            "a column where the poll protects persons, none elsewhere: this one protects one "
            f"{poll.promise.protects}"
        )
        raise ParameterError("--person-column", got=person_column, allowed=allowed)
    if person_column == label_column:
        allowed = "the column that says whose row it is, another one than the classes"
        raise ParameterError("--person-column", got=person_column, allowed=allowed)
    if data.is_dir():
        raise ParameterError(
            "data", got=str(data), allowed="one file: a party contributes its own rows"
        )
    table = tables.read(
        data,
        label_column=label_column,
        party_column=person_column,
        columns=poll.task.columns,
        n_columns=poll.task.n_columns,
        text_labels=isinstance(poll.task.classes[0], str),
        may_be_empty=True,
    )
    try:
        count_persons(table)
    except InputError:
        allowed = "a column with a name, a text or a whole number, in every row"
        raise ParameterError("--person-column", got=person_column, allowed=allowed) from None
    return table


def contribute_rows(poll: Poll, table: Table, given: Given, party: str) -> Contribution:
    """What the poll asks of rows."""
    from ostraka.errors import ParameterError
    from ostraka.party.training.named import named

    if given.local != "linear" and not poll.votes:
        allowed = f'"linear": in a poll by {poll.method.name} no classifier votes'
        raise ParameterError("--local", got=given.local, allowed=allowed)
    template = None if given.local == "linear" else named(given.local)
    samples = table.samples if len(table) else no_rows(poll)
    return poll.contribute(
        samples, table.labels, party, persons=table.parties, local=template, n_jobs=given.jobs
    )


def contribute_model(poll: Poll, given: Given, party: str) -> Contribution:
    """The votes of a classifier in a file; or the file, where it votes on private samples."""
    from ostraka.errors import ParameterError
    from ostraka.party.training.files import load_classifier

    others = (given.label_column, given.person_column, given.local)
    if given.data is not None or any(other not in (None, "linear") for other in others):
        allowed = "with --party and --out alone: the classifier was trained before"
        raise ParameterError("--model", got="together with rows", allowed=allowed)
    assert given.model is not None
    if poll.private_auxiliary:
        return poll.enclose(given.model, party, trusted=given.trust)
    with load_classifier(given.model, trusted=given.trust) as classifier:
        return poll.cast(classifier, party)


def no_rows(poll: Poll) -> Any:
    """A table of the poll's columns without a row: who has none counts all the same."""
    import numpy as np

    return np.zeros((0, poll.task.n_columns))


def count_persons(table: Table) -> int:
    """How many persons have rows in a table, where a column says whose they are."""
    from ostraka.party.names import canonical_each

    return 0 if table.parties is None else len(set(canonical_each(table.parties, len(table))))
