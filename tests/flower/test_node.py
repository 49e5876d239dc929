"""What leaves a node, whatever happens on it: contributions, or one public word."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from flwr.app import Context, Message, RecordDict
from sklearn.tree import DecisionTreeClassifier
from skops.io import dump

from ostraka.errors import RulesError
from ostraka.flower import Rows, client, create_client, create_sharded_client
from ostraka.flower.wire import read_answer
from ostraka.party.contribution import Contribution
from ostraka.poll import Poll
from ostraka.site import Rules, Site
from tests.flower.made import a_context, a_poll, a_question, made_by, some_rows
from tests.laws.cases import Case

POLL = a_poll()
SECRET = "the-secret-of-row-17"
REFUSED = {
    "poll": "it could not read the poll: does it have the same version of ostraka?",
    "rules": "its own rules refuse this poll",
    "rows": "it could not make a contribution: why is in its own log",
}


def load(context: Context) -> tuple[Any, ...]:
    return *some_rows(1), "North "


def answer_of(app: Any, poll: bytes | None = None, context: Context | None = None) -> Message:
    """As Flower calls a `ClientApp`."""
    asked = a_question(POLL.to_bytes() if poll is None else poll)
    answer: Message = app(asked, a_context() if context is None else context)
    return answer


def everything_said(message: Message) -> str:
    return repr(message.content.deflate()) + repr([r.deflate() for r in message.content.values()])


def test_it_sends_the_bytes_of_a_contribution_s_file() -> None:
    assert read_answer(answer_of(create_client(load))) == [made_by(POLL, "north")]


def test_a_node_may_stand_for_many() -> None:
    def many(context: Context) -> Any:
        for seed in range(3):
            yield Rows(*some_rows(seed), f"party {seed}")

    sent = read_answer(answer_of(create_sharded_client(many)))
    assert sent == [made_by(POLL, f"party {seed}", seed) for seed in range(3)]


def test_it_names_persons_where_the_poll_protects_them() -> None:
    poll = a_poll(protects="person", parties=None, persons=9)
    persons = ["ann", "ann", "bob", "cleo"]
    app = create_client(lambda context: (*some_rows(1), "north", persons))
    (sent,) = read_answer(answer_of(app, poll.to_bytes()))
    assert isinstance(sent, bytes)
    assert sent == poll.contribute(*some_rows(1), "north", persons=persons).to_bytes()
    assert Contribution.from_bytes(sent).n_persons == 3


def test_whoever_has_no_rows_counts_with_zeros() -> None:
    (sent,) = read_answer(answer_of(create_client(lambda context: (*some_rows(1, 0), "north"))))
    assert isinstance(sent, bytes)
    assert not Contribution.from_bytes(sent).values.any()


# ---- nothing private leaves ----------------------------------------------------------------------


def failing(error: Exception) -> Any:
    def load(context: Context) -> tuple[Any, ...]:
        raise error

    return load


@pytest.mark.parametrize(
    "error",
    [
        ValueError(SECRET),
        KeyError(SECRET),
        OSError(SECRET),
        RulesError([SECRET]),
        MemoryError(),
        RecursionError(SECRET),
    ],
)
@pytest.mark.parametrize("create", [create_client, create_sharded_client])
def test_an_exception_is_written_at_home_and_never_sent(
    error: Exception, create: Any, caplog: pytest.LogCaptureFixture
) -> None:
    logging.getLogger("flwr").addHandler(caplog.handler)
    answer = answer_of(create(failing(error)))
    logging.getLogger("flwr").removeHandler(caplog.handler)
    assert read_answer(answer) == REFUSED["rows"]
    assert SECRET not in everything_said(answer)
    assert not answer.has_error()
    assert type(error).__name__ in caplog.text


@pytest.mark.parametrize(
    "rows",
    [
        ([[0.1, 0.2, SECRET]], ["ill"], "north"),
        ([[0.1, 0.2, float("nan")]], ["ill"], "north"),
        ([[0.1, 0.2]], ["ill"], "north"),
        ([[0.1, 0.2, 0.3]], [SECRET], "north"),
        ([[0.1, 0.2, 0.3]], ["ill", "well"], "north"),
        ([[0.1, 0.2, 0.3]], ["ill"], ""),
        ([[0.1, 0.2, 0.3]], ["ill"]),
        (),
        None,
    ],
)
def test_whatever_is_wrong_with_rows_the_answer_is_the_same_to_the_byte(rows: Any) -> None:
    said = everything_said(answer_of(create_client(lambda context: rows)))
    assert said == everything_said(answer_of(create_client(failing(ValueError()))))


@pytest.mark.parametrize("poll", [b"", b"rubbish", POLL.to_bytes()[:-1], b"\x80"])
def test_what_is_no_poll_is_refused_before_rows_are_read(poll: bytes) -> None:
    read: list[int] = []
    app = create_client(lambda context: read.append(1))  # type: ignore[arg-type, func-returns-value]
    assert read_answer(answer_of(app, poll)) == REFUSED["poll"]
    assert not read


def test_a_message_without_a_poll_is_refused() -> None:
    asked = Message(RecordDict(), dst_node_id=1, message_type="query")
    assert read_answer(create_client(load)(asked, a_context())) == REFUSED["poll"]


# ---- the site's own rules ------------------------------------------------------------------------


def with_rules(folder: Path, **rules: Any) -> Context:
    Site(folder / "site", Rules(**rules)).save()
    return a_context(site=str(folder / "site"), party="north")


def test_rules_refuse_before_a_row_is_read(tmp_path: Path) -> None:
    read: list[int] = []
    app = create_client(lambda context: read.append(1))  # type: ignore[arg-type, func-returns-value]
    context = with_rules(tmp_path, epsilon_per_poll=0.5)
    assert read_answer(answer_of(app, context=context)) == REFUSED["rules"]
    assert not read


def test_a_poll_is_counted_in_the_account_of_the_year_before_anything_leaves(
    tmp_path: Path,
) -> None:
    context = with_rules(tmp_path, epsilon_per_year=1.0)
    first, again = (answer_of(create_client(load), context=context) for _ in range(2))
    assert read_answer(first) == read_answer(again) == [made_by(POLL, "north")]
    other = a_poll(title="another").to_bytes()
    assert read_answer(answer_of(create_client(load), other, context)) == REFUSED["rules"]
    found = Site.find(tmp_path / "site")
    assert found is not None
    assert found.answered(POLL) == "north"


def test_what_failed_is_not_counted(tmp_path: Path) -> None:
    context = with_rules(tmp_path, epsilon_per_year=1.0)
    assert read_answer(answer_of(create_client(failing(ValueError())), context=context))
    found = Site.find(tmp_path / "site")
    assert found is not None
    assert found.answered(POLL) is None


def test_rules_that_are_named_and_missing_protect_nobody_so_nothing_is_sent(
    tmp_path: Path,
) -> None:
    context = a_context(site=str(tmp_path / "nowhere"))
    assert read_answer(answer_of(create_client(load), context=context)) == REFUSED["rows"]


# ---- from files, as `ostraka contribute` ---------------------------------------------------------


def a_table(folder: Path) -> tuple[Poll, Path]:
    """A poll of a table's columns, and a party's own table."""
    samples, labels = some_rows(1, 20)
    table = pd.DataFrame(samples, columns=["age", "weight", "pulse"]).assign(outcome=labels)
    table.to_csv(folder / "mine.csv", index=False)
    public = pd.DataFrame(some_rows(2, 60)[0], columns=["age", "weight", "pulse"])
    poll = Poll.create(
        public, classes=["ill", "well"], epsilon=1.0, parties=5, method="cells", samples_each=9
    )
    return poll, folder / "mine.csv"


def test_from_a_file_it_sends_what_the_command_writes(tmp_path: Path) -> None:
    from tests.command import run_command

    poll, table = a_table(tmp_path)
    poll.save(tmp_path / "asked.poll")
    words = ("contribute", "asked.poll", "mine.csv", "--label-column", "outcome")
    done = run_command(tmp_path, *words, "--party", "north", "--out", "mine.contribution")
    assert done.returncode == 0, done.stderr
    context = a_context(data=str(table), label_column="outcome", party="north")
    sent = read_answer(answer_of(client, poll.to_bytes(), context))
    assert sent == [(tmp_path / "mine.contribution").read_bytes()]


@pytest.mark.parametrize(
    "change",
    [
        {"data": ""},
        {"data": "mine.csv"},
        {"data": "/nowhere/mine.csv"},
        {"party": ""},
        {"party": True},
        {"label_column": "weight"},
        {"label_column": "nothing"},
        {"local": "tree"},
        {"person_column": "outcome"},
    ],
)
def test_a_node_config_that_does_not_fit_sends_nothing(
    change: dict[str, Any], tmp_path: Path
) -> None:
    poll, table = a_table(tmp_path)
    said = {"data": str(table), "label_column": "outcome", "party": "north", **change}
    answer = answer_of(client, poll.to_bytes(), a_context(**said))
    assert read_answer(answer) == REFUSED["rows"]


def test_a_trained_model_votes(tmp_path: Path) -> None:
    case = Case("consensus", 2)
    poll, (samples, labels) = case.poll(), case.world(sizes=(30,))[0]
    dump(DecisionTreeClassifier(max_depth=2).fit(samples, labels), tmp_path / "mine.skops")
    trees = {"trust": "sklearn.tree._tree.Tree"}
    context = a_context(model=str(tmp_path / "mine.skops"), party="north", **trees)
    (sent,) = read_answer(answer_of(client, poll.to_bytes(), context))
    assert isinstance(sent, bytes)
    assert Contribution.from_bytes(sent).of_votes
