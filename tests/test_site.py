"""A site's own rules and account: what it refuses, what it counts, and that rows decide nothing."""

from __future__ import annotations

import itertools
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ostraka import AuxiliarySet, Poll, site
from ostraka.errors import FormatError, InputError, ParameterError, RulesError
from ostraka.ledger import Budget, Ledger
from ostraka.site import Rules, Site, default_folder

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
        ({"method": "moments", "delta": 1e-6}, "it has δ = 1e-6, and only polls without a δ"),
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
        here.charge(poll, "me")  # a poll is counted once, however often it is answered
    assert here.answered(first) == "me"
    assert here.answered(third) is None
    with pytest.raises(RulesError, match=r"it costs ε=1, and ε=\S+ is left of this year"):
        here.check(third)
    with pytest.raises(RulesError):
        here.charge(third, "me")
    here.check(first)
    assert here.left().values == (0,)  # type: ignore[union-attr]

    class Later(site.datetime):  # type: ignore[name-defined, misc]
        @classmethod
        def now(cls, tz: Any = None) -> Any:
            return super().now(tz).replace(year=3000)

    monkeypatch.setattr(site, "datetime", Later)
    here.charge(third, "me")
    assert sorted(path.name[:6] for path in tmp_path.glob("*.db")) == ["spent-", "spent-"]


def test_a_second_name_is_refused(tmp_path: Path) -> None:
    here = Site(tmp_path, STRICT)
    here.charge(asked(), "Ward 1")
    here.charge(asked(), " ward  1")
    for step in (here.check, here.charge):
        with pytest.raises(RulesError, match="answered it as 'ward 1', and a second name"):
            step(asked(), "ward 2")


def test_the_rules_of_the_moment_are_what_counts(tmp_path: Path) -> None:
    for first, then in itertools.permutations(
        [(1.0, None), (1.0, 1e-6), (1.5, 1e-5), (10.0, None), (10.0, 1e-4)], 2
    ):
        folder = tmp_path / f"{first}-{then}"
        opened, changed = (
            Site(folder, Rules(epsilon_per_year=epsilon, delta_per_year=delta))
            for epsilon, delta in (first, then)
        )
        opened.save()
        opened.charge(asked(title="a"), "me")
        fits = then[0] >= 2.0
        if fits:
            changed.charge(asked(title="b"), "me")
        else:
            with pytest.raises(RulesError, match="left of this year"):
                changed.charge(asked(title="b"), "me")
        assert changed.left().values[0] == then[0] - 1 - fits  # type: ignore[union-attr]


def test_what_is_answered_is_counted_before_there_is_a_limit(tmp_path: Path) -> None:
    """So that a limit for the year that is set later holds for it."""
    first = Site(tmp_path / "site", Rules(epsilon_per_poll=2.0))
    assert first.spent().values == (0,)
    first.charge(asked(), "me")
    first.charge(asked(), "me")
    assert first.left() is None
    assert first.spent().values == (1,)
    with pytest.raises(RulesError, match="a second name"):
        first.check(asked(), "another")
    limited = Site(tmp_path / "site", Rules(epsilon_per_year=1.5))
    assert limited.left().values == (Fraction(1, 2),)  # type: ignore[union-attr]
    with pytest.raises(RulesError, match="left of this year"):
        limited.charge(asked(title="more"), "me")


def test_more_than_an_account_can_hold(tmp_path: Path) -> None:
    here = Site(tmp_path, Rules())
    here.charge(asked(1e9), "me")
    for step in (here.check, here.charge):
        with pytest.raises(RulesError, match="left of this year"):
            step(asked(1e9, title="more"), "me")
    assert here.ledger().audit() == 1  # type: ignore[union-attr]


def test_less_than_was_spent_leaves_nothing(tmp_path: Path) -> None:
    Site(tmp_path, STRICT).charge(asked(), "me")
    assert Site(tmp_path, replace(STRICT, epsilon_per_year=0.5)).left().values == (0,)  # type: ignore[union-attr]


def test_three_tenths_are_within_point_three(tmp_path: Path) -> None:
    here = Site(tmp_path, Rules(epsilon_per_year=0.3))
    for title in "abc":
        here.charge(asked(0.1, title=title), "me")
    with pytest.raises(RulesError):
        here.charge(asked(0.001, title="d"), "me")


def test_delta_is_counted_too(tmp_path: Path) -> None:
    here = Site(tmp_path, Rules(epsilon_per_year=10.0, delta_per_year=1.5e-6))
    here.charge(asked(method="moments", delta=1e-6), "me")
    here.check(asked())
    with pytest.raises(RulesError, match="left of this year"):
        here.check(asked(method="moments", delta=1e-6, title="more"))


def test_two_at_once_cannot_both_have_the_rest(tmp_path: Path) -> None:
    """Nor do they stumble over an account that the other one is making."""
    here = Site(tmp_path, Rules(epsilon_per_year=1.0))
    polls = [asked(title=str(n)) for n in range(8)]

    def answer(poll: Poll) -> bool:
        try:
            here.charge(poll, "me")
        except RulesError:
            return False
        return True

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(answer, polls)) == 1
        assert all(pool.map(answer, [poll for poll in polls if here.answered(poll)] * 8))
    assert len(here.ledger().history()) == 1  # type: ignore[union-attr]
    assert not list(tmp_path.glob(".spent*"))


def test_another_ledger_in_its_place_is_refused(tmp_path: Path) -> None:
    here = Site(tmp_path, STRICT)
    Ledger.create(here.files()[1], Budget(rho=5.0))
    with pytest.raises(FormatError, match="not made by ostraka policy"):
        here.charge(asked(), "me")
    here.files()[1].write_bytes(b"")
    with pytest.raises(FormatError, match=r"spent-\d+\.db.* it is empty"):
        here.check(asked())


@pytest.mark.parametrize(
    "wrong",
    [
        {"epsilon_per_poll": 0.0},
        {"epsilon_per_poll": float("nan")},
        {"epsilon_per_year": -1.0},
        {"delta_per_year": 1e-6},
        {"delta_per_year": 2.0, "epsilon_per_year": 1.0},
        {"delta_per_year": 1.0, "epsilon_per_year": 1.0},
        {"epsilon_per_year": 1e300},
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
        '{"ostraka":"rules 1","epsilon_per_poll":1.0,"epsilon_per_poll":9.0}',
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
    monkeypatch.setenv("OSTRAKA_SITE", "~/rules")
    assert default_folder() == Path.home() / "rules"
    monkeypatch.delenv("OSTRAKA_SITE")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    assert default_folder() == tmp_path / "ostraka"
    monkeypatch.delenv("XDG_CONFIG_HOME")
    assert default_folder() == Path.home() / ".config" / "ostraka"

    def homeless() -> Path:
        raise RuntimeError

    monkeypatch.setattr(Path, "home", homeless)
    assert default_folder() is None
    assert Site.find() is None


def test_rules_that_are_named_must_be_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert Site.find() is None, "nobody named any"
    with pytest.raises(InputError, match=r"There are no rules in .* Make some"):
        Site.find(tmp_path)
    monkeypatch.setenv("OSTRAKA_SITE", str(tmp_path / "typo"))
    with pytest.raises(InputError, match="There are no rules in"):
        Site.find()
    monkeypatch.delenv("OSTRAKA_SITE")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    (tmp_path / "ostraka").mkdir()
    assert Site.find() is None
    (tmp_path / "ostraka" / "rules.json").symlink_to(tmp_path / "gone")
    with pytest.raises(InputError, match="There are no rules in"):
        Site.find()
    (tmp_path / "file").write_text("")
    with pytest.raises(OSError, match="Not a directory"):
        Site.find(tmp_path / "file")
