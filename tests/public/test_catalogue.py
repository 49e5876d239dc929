"""One list of methods, and the classes, options and certificates that it must agree with."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import pytest

from ostraka.errors import ParameterError
from ostraka.methods.base import Options, Work
from ostraka.methods.registry import METHODS
from ostraka.public.catalogue import CATALOGUE, PRIVATE, Entry, check_options, entry, taking
from ostraka.public.promise import Promise
from ostraka.release.certificate import NoisySum, PerturbedMinimiser
from ostraka.tally.domain import Ball, Ballots
from tests.laws.cases import CASES, Case, M

every_entry = pytest.mark.parametrize("listed", CATALOGUE.values(), ids=lambda each: each.name)


def test_the_classes_are_those_of_the_list() -> None:
    assert set(METHODS) == set(CATALOGUE) - {"auto"}
    assert PRIVATE[0] == "auto"
    assert set(CATALOGUE) - set(PRIVATE) == {"evaluation"}, "a model does not come of it"
    assert all(METHODS[name].name == name for name in METHODS)
    assert all(each.name == name for name, each in CATALOGUE.items())


def test_every_option_that_is_listed_can_be_given_and_the_other_way_round() -> None:
    listed = frozenset().union(*(each.options for each in CATALOGUE.values()))
    of_a_method = {each.name for each in fields(Options)}
    of_the_promise = {"delta", "noise"}
    of_the_work = {"local"}
    assert listed == of_a_method | of_the_promise | of_the_work
    assert of_the_promise <= {each.name for each in fields(Promise)}
    assert of_the_work <= {each.name for each in fields(Work)}
    assert not of_a_method & {each.name for each in fields(Promise)}


OTHER: dict[str, Any] = {
    "samples_each": 3,
    "shift": True,
    "penalty": 0.5,
    "lambda_": 0.25,
    "calibration": "paper",
    "loss": "huber",
    "ball": 0.125,
    "delta": 1e-6,
    "noise": "l2",
}


@pytest.mark.parametrize("option", OTHER)
@pytest.mark.parametrize("method", [name for name in METHODS if CATALOGUE[name].learns])
def test_an_option_is_heeded_or_refused(method: str, option: str) -> None:
    """Used: the poll is a different one."""
    case = Case(method, 2, calibration=None if method in _OURS else "tight")
    if option not in CATALOGUE[method].options:
        with pytest.raises(ParameterError, match=f"{option.rstrip('_')} = .*not for method"):
            case.poll(**{option: OTHER[option]})
    elif (method, option) == ("cells", "noise"):
        with pytest.raises(ParameterError, match="whose noise is discrete Laplace"):
            case.poll(noise="l2")
    else:
        assert case.poll(**{option: OTHER[option]}).digest != case.poll().digest


_OURS = [name for name in METHODS if CATALOGUE[name].needs_auxiliary]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_entries_say_what_the_methods_do(case: Case) -> None:
    poll, listed = case.poll(), CATALOGUE[case.method]
    kind = NoisySum if listed.perturbs == "sum" else PerturbedMinimiser
    assert isinstance(poll.certificate(M).particular, kind)
    assert isinstance(poll.domain, Ballots if listed.sends == "votes" else Ball)
    assert ("δ" in listed.promise) == ("delta" in listed.options and case.method != "cells")


@every_entry
def test_entries_speak_of_a_party(listed: Entry) -> None:
    assert listed.words
    assert listed.words[0].islower()
    assert not listed.words.endswith(".")
    assert listed.promise.startswith("ε")


def test_an_unknown_method_is_refused_with_all_that_there_are() -> None:
    for name in ("histogram", "", None, 3, ["soft"], "evaluation"):
        with pytest.raises(ParameterError, match=r"method (=|is) .*'auto', 'moments', 'cells'"):
            entry(name)  # type: ignore[arg-type]
    assert entry("soft") is CATALOGUE["soft"]


def test_what_would_be_ignored_is_refused_with_who_would_heed_it() -> None:
    check_options("soft", {"lambda_": 0.1, "calibration": "paper", "loss": "huber", "local": 3})
    check_options("auto", {})
    check_options("moments", {"lambda_": None, "ball": None})
    with pytest.raises(
        ParameterError, match=r"lambda = 0.1 .*'moments', .*consensus, soft, vote, avg"
    ):
        check_options("moments", {"lambda_": 0.1})
    with pytest.raises(ParameterError, match=r"ball = 1.0 .*it is for avg"):
        check_options("soft", {"loss": "huber", "ball": 1.0})
    with pytest.raises(ParameterError, match=r"delta = .*'avg'.* it is for auto, moments, cells"):
        check_options("avg", {"delta": 1e-6})
    with pytest.raises(ParameterError, match=r"colour = 'red' .*method 'avg'.* it is for none"):
        check_options("avg", {"colour": "red"})
    with pytest.raises(ParameterError, match="method"):
        check_options("histogram", {})


def test_who_takes_an_option() -> None:
    assert taking("ball") == ["avg"]
    assert taking("start") == ["refine"]
    assert taking("calibration") == ["soft", "vote", "avg"]
    assert taking("colour") == []
