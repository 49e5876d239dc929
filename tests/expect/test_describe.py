"""A poll in plain words and as facts: of every method, for persons, for a private auxiliary set."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pandas as pd
import pytest

from ostraka.expect.describe import contribution_bytes, describe, facts, say_sent
from ostraka.party.contribution import HEADER
from ostraka.poll import Poll
from ostraka.public.auxiliary import AuxiliarySet
from ostraka.public.catalogue import CATALOGUE
from ostraka.public.preprocessing import Preprocessing
from ostraka.public.task import Task
from tests.laws.cases import PURE, Case, D, M
from tests.mechanism.worlds import unit_rows

QUESTIONS = [
    "Poll",
    "What is learnt?",
    "Who is asked?",
    "What is in this file?",
    "What leaves my machine?",
    "What does it cost me?",
    "What does ε mean for me?",
    "Whom do I have to trust?",
    "Will the model be any good?",
    "What next?",
    "Digest",
]
of_persons = [case for case in PURE if case.method != "refine" and not case.shift]
every_case = pytest.mark.parametrize("case", PURE, ids=str)


def private_poll(**changes: Any) -> Poll:
    samples = unit_rows(np.random.default_rng(0), 30, D)
    auxiliary = AuxiliarySet(samples, ("no", "yes"), preprocessing=Preprocessing(), private=True)
    return Poll.create(auxiliary, **{"method": "soft", "epsilon": 1.0, "parties": M, **changes})


# ---- sizes ---------------------------------------------------------------------------------------


@every_case
def test_a_contribution_is_as_long_as_was_said(case: Case) -> None:
    poll = case.poll()
    for party in ("a", "ward 3", "größe"):
        contribution = poll.contribute(*case.world()[0], party)
        name = len(contribution.party.encode("utf-8"))
        assert contribution_bytes(poll) == len(contribution.to_bytes()) - name
        said = facts(poll)
        assert said["numbers"] == contribution.values.size
        assert said["bytes"] == contribution_bytes(poll)


@pytest.mark.parametrize("case", of_persons, ids=str)
def test_so_is_one_for_many_persons(case: Case) -> None:
    poll = case.poll(protects="person", parties=None, persons=M)
    samples, labels = case.world(sizes=(30,))[0]
    contribution = poll.contribute(samples, labels, "north", persons=np.arange(30) % 7)
    assert contribution_bytes(poll) == len(contribution.to_bytes()) - len("north")
    assert facts(poll)["numbers"] == contribution.values.size
    assert contribution_bytes(poll) > contribution_bytes(case.poll())  # type: ignore[operator]


def test_how_long_a_classifier_file_is_nobody_knows() -> None:
    poll = private_poll()
    assert contribution_bytes(poll) is None
    assert (facts(poll)["bytes"], facts(poll)["numbers"]) == (None, None)
    assert say_sent(poll) == "a classifier file (ONNX or skops)"


@pytest.mark.parametrize(("n_classes", "bits"), [(2, 1), (3, 2), (5, 3)])
def test_votes_take_as_few_bits_as_there_are_classes(n_classes: int, bits: int) -> None:
    poll = Case("soft", n_classes, calibration="tight").poll()
    n = poll.auxiliary_samples
    assert n is not None
    assert contribution_bytes(poll) == HEADER.size + -(-n * bits // 8)


# ---- words ---------------------------------------------------------------------------------------


@every_case
def test_every_poll_answers_what_people_ask(case: Case) -> None:
    poll = case.poll(title="Beds")
    told = describe(poll)
    assert list(told) == QUESTIONS
    assert all(answer and answer.isprintable() for answer in told.values())
    assert told["Poll"] == "Beds"
    of_classes = f"a classifier for {', '.join(map(str, poll.task.classes))}"
    assert of_classes in told["What is learnt?"].lower()
    assert f"from {D} columns" in told["What is learnt?"]
    each = getattr(poll.method, "samples_each", None)
    rows = "" if each is None else f" of about {each} rows each"
    assert f"Made for about {M} parties{rows}, at least 2 needed" in told["Who is asked?"]
    assert CATALOGUE[case.method].words[1:] in told["What leaves my machine?"]
    assert f"{facts(poll)['numbers']:,} " in told["What leaves my machine?"]
    assert "No row, no column, no file of yours." in told["What leaves my machine?"]
    assert "between two versions of one party's data" in told["What does ε mean for me?"]
    rounds = 88.1 if case.method == "refine" else 73.2
    assert f"right at most {rounds}% of the time" in told["What does ε mean for me?"]
    assert told["What does it cost me?"].startswith("Every party that takes part spends ε = 1 of")
    assert "ostraka contribute POLL" in told["What next?"]
    assert "holder" not in " ".join(told.values())
    assert told["Digest"].startswith(poll.digest)


def test_a_poll_without_a_title_says_so() -> None:
    assert describe(Case("cells", 2).poll())["Poll"] == "(without a title)"


def test_every_column_is_named_with_its_kind() -> None:
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.uniform(-1, 1, (40, 9)), columns=[f"c{j}" for j in range(9)])
    table["seen"] = "2026-11-16"
    table["smokes"] = [True, False] * 20
    table["job"] = ["clerk", None, "nurse", "miner"] * 10
    poll = Poll.create(table, classes=["no", "yes"], method="cells", epsilon=1.0, parties=M)
    told = describe(poll)["What is learnt?"]
    assert "from 12 columns: c0 (number), c1 (number), " in told
    assert "c8 (number), seen (date), smokes (yes or no), job (3 texts)" in told
    assert facts(poll)["column_names"] == list(table.columns)
    one = Task(classes=("no", "yes"), n_features=1)
    single = Poll.create(one, method="avg", epsilon=1.0, parties=M)
    assert "from 1 column" in describe(single)["What is learnt?"]


def test_a_roll_is_named_and_long_ones_are_cut() -> None:
    names = [f"ward-{j}" for j in range(11)]
    poll = Case("cells", 2).poll(parties=None, roll=names)
    told = describe(poll)["Who is asked?"]
    assert told.startswith("The 11 parties on its roll (ward-0, ward-1,")
    assert "ward-7, ...), with rows or without; made for about 11 parties" in told
    assert "ward-8" not in told
    assert facts(poll)["roll"] == names


def test_persons_are_told_whom_they_trust_and_what_two_holders_mean() -> None:
    poll = Case("moments", 3).poll(protects="person", parties=None, persons=5000)
    told = describe(poll)
    assert "about 5,000 persons" in told["Who is asked?"]
    leaves = told["What leaves my machine?"]
    assert leaves.startswith("The sum over its persons of how its labels vary")
    assert "and how many persons" in leaves
    meant = told["What does ε mean for me?"]
    assert "two versions of one person's data" in meant
    assert "Whoever has data at two holders is protected less: the guess is right at most" in meant
    trusted = told["Whom do I have to trust?"]
    assert "Every holder is trusted to bound what each of its own persons adds" in trusted


def test_rows_are_told_that_it_is_rows() -> None:
    poll = Case("cells", 2).poll(protects="row", parties=1000)
    assert "two versions of one row" in describe(poll)["What does ε mean for me?"]
    assert "about 1,000 rows" in describe(poll)["Who is asked?"]


def test_a_private_auxiliary_set_is_not_shown() -> None:
    told = describe(private_poll())
    leaves = told["What leaves my machine?"]
    assert leaves.startswith("A classifier file (ONNX or skops), and nothing else.")
    assert "on samples that are private themselves" in leaves
    said = facts(private_poll())
    assert (said["auxiliary_samples"], said["auxiliary_private"]) == (30, True)


def test_a_delta_is_told() -> None:
    poll = Case("moments", 2, delta=1e-6).poll()
    assert "ε = 1, δ = 1e-6 of its" in describe(poll)["What does it cost me?"]
    assert "right at most 73.2% of the time" in describe(poll)["What does ε mean for me?"]
    assert facts(poll)["delta"] == 1e-6
    assert facts(Case("cells", 2, delta=1e-6).poll())["delta"] == 0.0


def test_a_second_round_tells_what_both_cost() -> None:
    poll = Case("refine", 3).poll()
    start = poll.method.start
    assert start is not None
    told = describe(poll)["What does it cost me?"]
    assert f"starts from the release {start.digest[:12]}, which has cost ε = 1 already" in told
    assert "together ε = 2." in told
    assert facts(poll)["start"] == start.digest
    assert "starts from" not in describe(Case("moments", 3).poll())["What does it cost me?"]


def test_a_huge_epsilon_does_not_overflow() -> None:
    told = describe(Case("cells", 2).poll(epsilon=1e6))["What does ε mean for me?"]
    assert "right nearly 100% of the time" in told
    assert "ε = 1e+06 protects against little; around 1 is a real promise." in told


# ---- what to expect ------------------------------------------------------------------------------


def test_auto_says_what_it_found_on_made_up_labels() -> None:
    poll = Case("moments", 3).poll(parties=100)
    chosen = Poll.create(Case("moments", 3).auxiliary(), epsilon=1.0, parties=100)
    told = describe(chosen)["Will the model be any good?"]
    assert f"models learnt {chosen.forecast:.0%} of what can be learnt" in told
    assert facts(chosen)["forecast_kept"] == chosen.forecast
    assert "share of a class" in describe(poll)["Will the model be any good?"]


@pytest.mark.parametrize("method", ["soft", "vote", "avg"])
def test_the_papers_methods_compare_noise_with_the_longest_model(method: str) -> None:
    case = Case(method, 2, calibration="tight")
    verdicts = [
        describe(case.poll(epsilon=epsilon))["Will the model be any good?"].rpartition(": ")[2]
        for epsilon in (0.01, 1e4)
    ]
    assert verdicts == ["little is left.", "little is lost."]


def test_the_papers_ball_is_not_taken_for_a_model() -> None:
    """It is 1/λ wide, but no model is longer than √(ω/λ): that is what noise is compared with."""
    asked = {"epsilon": 20.0, "parties": 40, "lambda_": 1e-4}
    tight, paper = (
        describe(Case("avg", 2, calibration=calibration).poll(**asked))[
            "Will the model be any good?"
        ]
        for calibration in ("tight", "paper")
    )
    assert "little is lost" in tight
    assert "little is left" in paper


# ---- facts ---------------------------------------------------------------------------------------


@every_case
def test_facts_are_plain_values_that_agree_with_the_poll(case: Case) -> None:
    poll = case.poll(title="Beds", least_parties=3)
    said = json.loads(json.dumps(facts(poll)))
    assert said == facts(poll)
    assert (said["title"], said["digest"], said["method"]) == ("Beds", poll.digest, case.method)
    assert said["classes"] == list(range(case.n_classes))
    assert (said["columns"], said["column_names"]) == (D, None)
    assert (said["epsilon"], said["delta"], said["protects"]) == (1.0, 0.0, "party")
    assert (said["least_parties"], said["expected"], said["roll"]) == (3, M, None)
    assert said["sends"] == CATALOGUE[case.method].words
    assert said["auxiliary_samples"] == poll.auxiliary_samples
    assert said["auxiliary_private"] is False
