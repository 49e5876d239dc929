"""A site's own rules and account: what it refuses, what it counts, and that rows decide nothing."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ostraka import AuxiliarySet, Poll, site
from ostraka.errors import FormatError, ParameterError, RulesError
from ostraka.site import ACCOUNT, Rules, Site, default_folder

PUBLIC = AuxiliarySet.scaled(np.random.default_rng(0).standard_normal((60, 3)), ("a", "b"))


def asked(epsilon: float = 1.0, **options: Any) -> Poll:
    options = {"method": "cells", "parties": 30, "least_parties": 20, **options}
    return Poll.create(PUBLIC, epsilon=epsilon, **options)


STRICT = Rules(
    epsilon_per_poll=1.0, epsilon_per_year=2.0, least_parties=20, methods=("cells", "moments")
)


def test_a_poll_within_all_rules(tmp_path: Path) -> None:
    here = Site(tmp_path / "site", STRICT)
    here.save()
    assert Site.find(tmp_path / "site") == here
    here.check(asked())


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"epsilon": 1.0000001}, "it asks ε = 1, and 1 is allowed"),
        ({"epsilon": 2.0}, "it asks ε = 2, and 1 is allowed"),
        ({"least_parties": 19}, "it would release for 19, and 20 are needed"),
        ({"method": "consensus"}, "it learns by consensus, and cells, moments is allowed"),
        ({"method": "moments", "delta": 1e-6}, "it has δ = 1e-06, and only polls without a δ"),
        ({"protects": "person", "persons": 300}, "it protects one person, and not one party"),
    ],
)
def test_each_rule(options: dict[str, Any], complaint: str) -> None:
    with pytest.raises(RulesError, match=complaint) as refused:
        STRICT.check(asked(**options))
    assert len(refused.value.broken) == 1
    assert "Nothing was computed, and nothing leaves this machine." in str(refused.value)
    Rules(delta_per_year=0.1, epsilon_per_year=9.0, protects="person").check(asked(**options))


def test_all_broken_rules_are_named_at_once() -> None:
    with pytest.raises(RulesError) as refused:
        STRICT.check(asked(3.0, least_parties=2, method="consensus"))
    assert len(refused.value.broken) == 3


def test_a_year_is_an_account(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    here = Site(tmp_path, STRICT)
    first, second, third = (asked(title=title) for title in "abc")
    for poll in (first, first, second):
        here.charge(poll)  # a poll is counted once, however often it is answered
    assert here.has_paid(first)
    assert not here.has_paid(third)
    with pytest.raises(RulesError, match=r"it costs .* and .* is left of this year"):
        here.check(third)
    with pytest.raises(RulesError):
        here.charge(third)
    here.check(first)
    assert here.ledger().spent(ACCOUNT).values == (2,)  # type: ignore[union-attr]

    class Later(site.datetime):  # type: ignore[name-defined, misc]
        @classmethod
        def now(cls, tz: Any = None) -> Any:
            return super().now(tz).replace(year=3000)

    monkeypatch.setattr(site, "datetime", Later)
    here.charge(third)
    assert sorted(path.name[:6] for path in tmp_path.glob("*.db")) == ["spent-", "spent-"]


def test_smaller_rules_hold_at_once_and_larger_ones_next_year(tmp_path: Path) -> None:
    Site(tmp_path, STRICT).charge(asked(title="a"))
    tighter = Site(tmp_path, replace(STRICT, epsilon_per_year=1.5))
    with pytest.raises(RulesError, match="left of this year"):
        tighter.check(asked(title="b"))
    none_left = Site(tmp_path, replace(STRICT, epsilon_per_year=0.5))
    assert none_left.left().values == (0,)  # type: ignore[union-attr]
    larger = Site(tmp_path, replace(STRICT, epsilon_per_year=50.0))
    larger.charge(asked(title="b"))
    with pytest.raises(RulesError, match="left of this year"):
        larger.check(asked(title="c"))
    uncounted = Site(tmp_path, replace(STRICT, epsilon_per_year=None))
    uncounted.charge(asked(title="c"))
    assert uncounted.left() is None


def test_delta_is_counted_too(tmp_path: Path) -> None:
    rules = Rules(epsilon_per_year=10.0, delta_per_year=1.5e-6)
    here = Site(tmp_path, rules)
    here.charge(asked(method="moments", delta=1e-6))
    here.check(asked())
    with pytest.raises(RulesError, match="left of this year"):
        here.check(asked(method="moments", delta=1e-6, title="more"))


@pytest.mark.parametrize(
    "wrong",
    [
        {"epsilon_per_poll": 0.0},
        {"epsilon_per_poll": float("nan")},
        {"epsilon_per_year": -1.0},
        {"delta_per_year": 1e-6},
        {"delta_per_year": 2.0, "epsilon_per_year": 1.0},
        {"least_parties": 1},
        {"methods": ("cells", "magic")},
        {"methods": ()},
        {"methods": ("auto",)},
        {"protects": "row"},
    ],
)
def test_rules_that_make_no_sense(wrong: dict[str, Any]) -> None:
    with pytest.raises(ParameterError):
        Rules(**wrong)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{}",
        "[]",
        '{"ostraka":"rules 2"}',
        '{"ostraka":"rules 1","epsilon_per_pole":1.0}',
        '{"ostraka":"rules 1","epsilon_per_poll":"1"}',
        '{"ostraka":"rules 1","epsilon_per_poll":0.0}',
        '{"ostraka":"rules 1","epsilon_per_poll":true}',
        '{"ostraka":"rules 1","methods":"cells"}',
        '{"ostraka":"rules 1","methods":[["cells"]]}',
        '{"ostraka":"rules 1","least_parties":2.5}',
    ],
)
def test_damaged_rules_are_refused_and_not_ignored(tmp_path: Path, text: str) -> None:
    (tmp_path / "rules.json").write_text(text)
    with pytest.raises(FormatError, match="set of rules"):
        Site.find(tmp_path)


@given(st.binary(max_size=200))
def test_noise_is_no_set_of_rules(data: bytes) -> None:
    with pytest.raises(FormatError):
        Rules.from_bytes(data)


def test_where_rules_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OSTRAKA_SITE", str(tmp_path))
    assert default_folder() == tmp_path
    assert Site.find() is None
    monkeypatch.delenv("OSTRAKA_SITE")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    assert default_folder() == tmp_path / "ostraka"
    monkeypatch.delenv("XDG_CONFIG_HOME")
    assert default_folder() == Path.home() / ".config" / "ostraka"
