"""The ledger: exact sums, all or none, never forgotten.

Attacked by threads, processes, kill -9, damage and mutants.
"""

from __future__ import annotations

import contextlib
import hashlib
import math
import multiprocessing
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ostraka.errors import (
    BudgetError,
    FormatError,
    InputError,
    LedgerError,
    OstrakaError,
    ParameterError,
    RehearsalError,
    WrongTypeError,
)
from ostraka.ledger import (
    Account,
    Amount,
    Budget,
    Cost,
    Kind,
    Ledger,
    SqliteFile,
    book,
    digest_of,
    sqlite,
    sqlite_schema,
)
from ostraka.ledger.amounts import exact_number, exact_text
from ostraka.ledger.conversion import implies, largest_rho
from ostraka.mechanism.gaussian import RoundedGaussian
from tests.ledger.made import a_certificate, a_release

FILES = Path(__file__).parent / "files"
DIGEST = "0123456789abcdef" * 4
HALF = Cost.pure(0.5)
WARDS = ["ward-1", "ward-2", "ward-3"]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "parties.ledger"


def a_ledger(path: Path, **budget: float) -> Ledger:
    return Ledger.create(path, Budget(**(budget or {"epsilon": 5.0})))


def amount(**values: float) -> Amount:
    return Budget(**values).amount


def content(path: Path) -> tuple[bytes, list[str]]:
    """The bytes, and what SQLite reads out of them."""
    with closing(sqlite3.connect(path)) as db:
        return path.read_bytes(), list(db.iterdump())


class TestBudgetsAndCosts:
    @pytest.mark.parametrize(
        "given", [{}, {"delta": 0.1}, {"epsilon": 1, "rho": 1}, {"delta": 0.1, "rho": 1}]
    )
    def test_a_budget_is_of_one_kind(self, given: dict[str, float]) -> None:
        with pytest.raises(
            ParameterError, match="epsilon alone, or rho alone, or epsilon and delta"
        ):
            Budget(**given)

    @pytest.mark.parametrize(
        "bad", [0, -1.0, math.nan, math.inf, "1", True, 10**400, Fraction(1, 3), 2**60 + 1, [1.0]]
    )
    @pytest.mark.parametrize("name", ["epsilon", "rho"])
    def test_amounts_are_positive_doubles(self, name: str, bad: Any) -> None:
        for kind in (Budget, Cost):
            with pytest.raises(ParameterError, match="a positive double, finite"):
                kind(**{name: bad})

    @pytest.mark.parametrize("bad", [-0.1, 1.0, 2.0, math.nan])
    def test_delta_is_below_one(self, bad: float) -> None:
        for make in (
            lambda: Budget(epsilon=1, delta=bad),
            lambda: Cost.approximate(1, bad),
            lambda: Budget.concentrated(1, bad),
        ):
            with pytest.raises(ParameterError, match="a positive double below 1"):
                make()

    def test_a_cost_says_something(self) -> None:
        for bad in (
            {},
            {"delta": 0.1},
            {"delta": 0.1, "rho": 1.0},
            {"epsilon": 1.0, "gaussian": True},
        ):
            with pytest.raises(ParameterError):
                Cost(**bad)

    @pytest.mark.parametrize(
        ("cost", "kind", "counted"),
        [
            (Cost.pure(0.1), Kind.PURE, (Fraction(0.1),)),
            (Cost.pure(0.1), Kind.ZCDP, (Fraction(0.1) ** 2 / 2,)),
            (Cost.pure(0.1), Kind.APPROXIMATE, (Fraction(0.1), 0)),
            (Cost.zcdp(0.3), Kind.ZCDP, (Fraction(0.3),)),
            (Cost.approximate(0.1, 1e-6), Kind.APPROXIMATE, (Fraction(0.1), Fraction(1e-6))),
            (Cost.approximate(0.1, 0.0), Kind.PURE, (Fraction(0.1),)),
            (Cost(epsilon=1.0, delta=1e-6, rho=0.02), Kind.ZCDP, (Fraction(0.02),)),
            (
                Cost(epsilon=1.0, delta=1e-6, rho=0.02),
                Kind.APPROXIMATE,
                (Fraction(1), Fraction(1e-6)),
            ),
            (Cost(epsilon=1.0, rho=0.02), Kind.ZCDP, (Fraction(0.02),)),
            (Cost(epsilon=0.1, rho=0.02), Kind.ZCDP, (Fraction(0.1) ** 2 / 2,)),
        ],
    )
    def test_what_a_cost_counts_as(
        self, cost: Cost, kind: Kind, counted: tuple[Fraction, ...]
    ) -> None:
        assert cost.amount(kind) == Amount(kind, counted)

    @pytest.mark.parametrize(
        ("cost", "kind", "why"),
        [
            (
                Cost.approximate(1, 1e-6),
                Kind.PURE,
                "costs ε=1, δ=1e-6, but the ledger counts ε: no ε alone bounds it",
            ),
            (
                Cost.approximate(1, 1e-6),
                Kind.ZCDP,
                "the ledger counts ρ: with δ above 0 no ρ bounds it",
            ),
            (Cost.zcdp(0.1), Kind.PURE, "costs ρ=0.1, but the ledger counts ε"),
            (Cost.zcdp(0.1), Kind.APPROXIMATE, "counts ε and δ: a bound on ρ implies"),
        ],
    )
    def test_what_cannot_be_counted_is_refused(
        self, path: Path, cost: Cost, kind: Kind, why: str
    ) -> None:
        budget = {
            Kind.PURE: Budget(epsilon=9),
            Kind.ZCDP: Budget(rho=9),
            Kind.APPROXIMATE: Budget(epsilon=9, delta=0.1),
        }[kind]
        ledger = Ledger.create(path, budget)
        before = content(path)
        with pytest.raises(InputError, match=why) as refused:
            ledger.charge(WARDS, cost)
        assert str(refused.value).endswith("Nothing was drawn and nothing was spent.")
        assert content(path) == before

    def test_the_cost_of_a_certificate(self) -> None:
        assert Cost.of(a_certificate(epsilon=50.0)) == Cost.pure(50.0)
        with pytest.raises(RehearsalError):
            Cost.of(a_certificate(randomness="seed"))
        gaussian = a_certificate(epsilon=1.0, delta=1e-6)
        assert Cost.of(gaussian) == Cost(epsilon=1.0, delta=1e-6, rho=2.0**-10, gaussian=True)

    def test_a_second_round_costs_what_it_costs_alone(self) -> None:
        second = a_certificate(
            epsilon=0.5, method="refine", start="cd" * 32, start_epsilon=2.0, start_delta=1e-6
        )
        assert (second.epsilon, second.delta) == (2.5, 1e-6)
        assert Cost.of(second) == Cost.pure(0.5)

    @given(st.floats(min_value=0, max_value=sys.float_info.max, allow_subnormal=True))
    def test_numbers_survive_the_file(self, value: float) -> None:
        for exact in (Fraction(value), Fraction(min(value, 1e154)) ** 2 / 2):
            assert exact_number(exact_text(exact)) == exact

    def test_a_number_beyond_all_budgets_is_refused(self) -> None:
        with pytest.raises(FormatError, match="larger than any budget"):
            exact_number(f"{int(sys.float_info.max) + 1}/1")

    def test_a_cost_beyond_all_budgets_is_refused_in_words(self, tmp_path: Path) -> None:
        """Half of its square is no double."""
        ledger = Ledger.create(tmp_path / "a.ledger", Budget(rho=1.0))
        with pytest.raises(BudgetError, match=r"ρ=more than 2e\+308, but party a has ρ=1 left"):
            ledger.charge(["a"], Cost.pure(1e200))

    @pytest.mark.parametrize(
        "text",
        ["1", "-1/2", "1/0", "1/2/3", " 1/2", "1/2\n", "٣/2", "9" * 5000 + "/1", b"1/2", None, 0.5],
    )
    def test_what_is_no_number_is_refused(self, text: Any) -> None:
        with pytest.raises(FormatError, match="is not a number p/q"):
            exact_number(text)


class TestConversion:
    @pytest.mark.parametrize("epsilon", [0.01, 0.5, 1.0, 5.0, 40.0])
    @pytest.mark.parametrize("delta", [0.2, 1e-3, 1e-6, 1e-12])
    def test_the_gaussian_of_that_rho_keeps_the_promise(self, epsilon: float, delta: float) -> None:
        """An attack by a mechanism whose curve is known; Bun and Steinke's form is never better."""
        rho = Budget.concentrated(epsilon, delta).rho
        assert rho is not None
        assert (
            RoundedGaussian(
                scale=math.nextafter(1 / math.sqrt(2 * rho), math.inf), dimension=1
            ).delta(epsilon, 1.0)
            <= delta
        )
        closed = (math.sqrt(math.log(1 / delta) + epsilon) - math.sqrt(math.log(1 / delta))) ** 2
        assert rho >= closed

    @pytest.mark.parametrize(("epsilon", "delta"), [(1.0, 1e-6), (0.01, 1e-3), (40.0, 0.2)])
    def test_it_is_the_largest_that_is_shown(self, epsilon: float, delta: float) -> None:
        rho = largest_rho(epsilon, delta)
        assert implies(rho, epsilon, delta)
        assert not implies(math.nextafter(rho, math.inf), epsilon, delta)

    def test_the_bound_against_a_search_over_orders_in_high_precision(self) -> None:
        import mpmath

        with mpmath.workdps(40):
            for epsilon, delta in ((1.0, 1e-6), (5.0, 1e-9), (0.1, 0.05)):
                rho = mpmath.mpf(largest_rho(epsilon, delta))
                orders = [1 + mpmath.mpf(2) ** (mpmath.mpf(k) / 16) for k in range(-300, 300)]
                bounds = [
                    mpmath.exp((a - 1) * (a * rho - epsilon)) / (a - 1) * (1 - 1 / a) ** a
                    for a in orders
                ]
                assert delta * 0.99 <= min(bounds) <= delta * 1.01

    @pytest.mark.parametrize("factor", [1.0, 0.98])
    def test_pure_loss_counts_as_its_square_halved(self, factor: float) -> None:
        """Randomised response attains αε²/2 for small ε: with 2 % less the law is broken.

        That is how a mutant is caught.
        """
        kept = []
        for epsilon in (0.01, 0.1, 1.0, 4.0):
            rho = factor * float(Cost.pure(epsilon).amount(Kind.ZCDP).values[0])
            p = 1 / (1 + math.exp(-epsilon))
            for order in (1.01, 2.0, 5.0, 30.0):
                moment = p**order * (1 - p) ** (1 - order) + (1 - p) ** order * p ** (1 - order)
                kept.append(math.log(moment) / (order - 1) <= order * rho * (1 + 1e-9))
        assert all(kept) == (factor == 1.0)


class TestCharging:
    def test_a_check_refuses_what_a_charge_would_and_charges_nobody(self, path: Path) -> None:
        ledger = a_ledger(path, epsilon=0.75)
        for _ in range(3):
            ledger.check(["a", "b"], a_certificate(0.5))
        assert (ledger.history(), ledger.accounts()) == ([], [])
        ledger.charge(["a"], a_certificate(0.5))
        with pytest.raises(BudgetError, match="party a has"):
            ledger.check(["a", "b"], a_certificate(0.5))
        assert len(ledger.history()) == 1

    def test_the_whole_story(self, path: Path, tmp_path: Path) -> None:
        ledger = a_ledger(path, epsilon=1.0)
        published = tmp_path / "model.ostraka"
        published.write_bytes(b"weights")
        charge = ledger.charge(WARDS, HALF, "poll 7")
        assert ledger.open_charges() == [charge]
        assert charge.is_open
        ledger.settle(charge, digest_of(published))
        assert Ledger(path).open_charges() == []
        (kept,) = Ledger(path).history("ward-2")
        assert (kept.cost, kept.note, kept.n_parties, kept.digest) == (
            HALF,
            "poll 7",
            3,
            digest_of(published),
        )
        assert ledger.history("ward-9") == []
        assert ledger.spent("ward-1") == ledger.left("ward-1") == amount(epsilon=0.5)
        assert ledger.left("ward-9") == ledger.budget == amount(epsilon=1.0)
        assert ledger.account("ward-1").n_releases == 1
        assert ledger.audit() == 1

    def test_who_cannot_pay_is_named_and_nothing_changes(self, path: Path) -> None:
        ledger = a_ledger(path, epsilon=0.75)
        ledger.charge(["ward-3"], HALF)
        before = content(path)
        with pytest.raises(BudgetError) as refused:
            ledger.charge([*WARDS, "newcomer"], HALF)
        assert str(refused.value) == (
            "This release costs ε=0.5, but party ward-3 has ε=0.25 left. "
            "Leave out who cannot pay, or ask for less. "
            "Nothing was drawn and nothing was spent."
        )
        error = refused.value
        assert (error.party, error.asked, error.left, error.n_others) == (
            "ward-3",
            amount(epsilon=0.5),
            amount(epsilon=0.25),
            0,
        )
        assert content(path) == before
        ledger.charge(["ward-1"], HALF)
        with pytest.raises(
            BudgetError, match=r"party ward-1 has ε=0.25 left \(and 1 more party has too little\)"
        ):
            ledger.charge(WARDS, HALF)

    def test_a_budget_can_be_spent_to_the_last_bit(self, path: Path) -> None:
        ledger = a_ledger(path, epsilon=0.5)
        ledger.charge(WARDS, HALF)
        assert ledger.left("ward-1") == Amount.zero(Kind.PURE)
        with pytest.raises(BudgetError):
            ledger.charge(["ward-1"], Cost.pure(math.ulp(0.0)))

    def test_ten_times_the_double_0_1_is_more_than_1_and_it_says_so(self, path: Path) -> None:
        ledger = a_ledger(path, epsilon=1.0)
        for _ in range(9):
            ledger.charge(["a"], Cost.pure(0.1))
        with pytest.raises(
            BudgetError,
            match=r"costs ε=0.1, but party a has ε=0.1 left, "
            r"short by 5.6e-16 of it: doubles are counted exactly",
        ):
            ledger.charge(["a"], Cost.pure(0.1))

    def test_both_numbers_of_epsilon_and_delta_are_limits(self, path: Path) -> None:
        ledger = a_ledger(path, epsilon=1.0, delta=1e-6)
        ledger.charge(["a"], Cost.approximate(1.0, 1e-6))  # exactly the budget, once
        ledger.charge(["b"], Cost.approximate(0.1, 1e-6))
        with pytest.raises(BudgetError, match=r"has ε=0.9, δ=0 left"):
            ledger.charge(["b"], Cost.approximate(0.1, 1e-9))
        ledger.charge(["b"], Cost.pure(0.25))
        with pytest.raises(BudgetError):
            ledger.charge(["b"], Cost.pure(0.75))

    @pytest.mark.parametrize(
        ("parties", "kind", "complaint"),
        [
            ([], InputError, "No party is named"),
            ("ward-1", WrongTypeError, "a list of names"),
            (7, WrongTypeError, "a list of names"),
            ([7.5], ParameterError, "party = 7.5 is not allowed. Allowed: texts or whole numbers"),
            ([None], ParameterError, "texts or whole numbers"),
            ([True], ParameterError, "texts or whole numbers"),
            ([7, "7.0"], InputError, "Party 7 is named more than once"),
            (["Ward 3", " ward  3"], InputError, "Party ward 3 is named more than once"),
            (
                ["a", "b", "a"],
                InputError,
                "Party a is named more than once. A party takes part once",
            ),
            (["caf\u00e9", "cafe\u0301"], InputError, "Party caf\u00e9 is named more than once"),
            ([""], ParameterError, "not empty"),
            (["  "], ParameterError, "not empty"),
            (["a\x1b[2J"], ParameterError, "printable text"),
            (["\ud800"], ParameterError, "printable text"),
            (["a" * 501], ParameterError, "up to 500"),
        ],
    )
    def test_names(self, path: Path, parties: Any, kind: type[Exception], complaint: str) -> None:
        ledger = a_ledger(path)
        before = content(path)
        with pytest.raises(kind, match=complaint):
            ledger.charge(parties, HALF)
        assert content(path) == before

    @pytest.mark.parametrize(
        "ways",
        [
            ["caf\u00e9", "cafe\u0301", "CAF\u00c9"],
            [3, 3.0, "3", "003", "3.0", b"3", np.int64(3), np.float64(3)],
            ["Ward 3", " ward 3", "WARD  3", "ward\u00a03"],
        ],
    )
    def test_one_party_under_many_ways_of_writing_has_one_account(
        self, path: Path, ways: list[Any]
    ) -> None:
        ledger = a_ledger(path, epsilon=float(len(ways)))
        ledger.allow([ways[-1]], Budget(epsilon=float(len(ways)) / 2))
        for way in ways:
            ledger.charge([way], HALF)
        for way in ways:
            assert ledger.spent(way) == amount(epsilon=len(ways) / 2)
            assert ledger.account(way) == ledger.accounts()[0]
            assert len(ledger.history(way)) == len(ways)
            with pytest.raises(BudgetError):
                ledger.charge([way, "other"], HALF)
        assert ledger.audit() == len(ways)

    def test_names_come_from_any_holder(self, path: Path) -> None:
        ledger = a_ledger(path)
        for held in (
            np.array(["a", "b"]),
            pd.Series(["A", "b "]),
            {"a", "b"},
            (name for name in "ab"),
        ):
            assert ledger.charge(held, HALF).n_parties == 2
        assert [one.party for one in ledger.accounts()] == ["a", "b"]

    def test_other_objects_are_named(self, path: Path) -> None:
        ledger = a_ledger(path)
        with pytest.raises(WrongTypeError, match=r"Cost.of\(certificate\)"):
            ledger.charge(WARDS, 0.5)  # type: ignore[arg-type]
        with pytest.raises(WrongTypeError, match="a Budget"):
            ledger.allow(WARDS, 0.5)  # type: ignore[arg-type]
        with pytest.raises(WrongTypeError, match="a Budget"):
            Ledger.create(path.with_name("other"), 0.5)  # type: ignore[arg-type]
        with pytest.raises(ParameterError, match="printable text of up to 2000"):
            ledger.charge(WARDS, HALF, "a\nb")

    def test_a_charge_is_settled_once_and_only_if_it_is_there(self, path: Path) -> None:
        ledger = a_ledger(path)
        charge = ledger.charge(WARDS, HALF)
        for bad in ("", "0" * 63, "G" * 64, DIGEST.upper(), None, DIGEST.encode(), a_certificate()):
            with pytest.raises(ParameterError, match="SHA-256 of a published file"):
                ledger.settle(charge, bad)  # type: ignore[arg-type]
        with pytest.raises(LedgerError, match=r"has no charge 2\. .* Nothing was recorded\."):
            ledger.settle(2, DIGEST)
        ledger.settle(charge.id, DIGEST)
        with pytest.raises(
            LedgerError, match=r"has the release 0123456789ab... for charge 1 already"
        ):
            ledger.settle(charge, "f" * 64)
        assert ledger.history()[0].digest == DIGEST

    def test_a_certificate_is_charged_and_only_its_release_is_recorded(self, path: Path) -> None:
        ledger, promised, other = a_ledger(path), a_certificate(0.5), a_certificate(0.25)
        charge = ledger.charge(WARDS, promised, "poll 7")
        assert (charge.cost, charge.certificate) == (HALF, promised.digest)
        assert Ledger(path).history() == [charge]
        before = content(path)
        with pytest.raises(
            LedgerError,
            match=r"made charge 1 for the certificate .*, which is not this one's\. "
            r".* Nothing was recorded\.",
        ):
            ledger.settle(charge, a_release(other))
        with pytest.raises(
            LedgerError,
            match=r"which a digest alone does not show\. Give the release .* "
            r"Nothing was recorded\.",
        ):
            ledger.settle(charge, DIGEST)
        with pytest.raises(LedgerError, match="not this one's"):
            ledger.settle(charge, a_release(a_certificate(0.5, randomness="seed")))
        for bad in ("", None, 7):
            with pytest.raises(ParameterError, match="a release, or"):
                ledger.settle(charge, a_release(promised, digest=bad))
        assert content(path) == before
        ledger.settle(charge, a_release(promised))
        (kept,) = Ledger(path).history()
        assert (kept.digest, kept.certificate) == (DIGEST, promised.digest)
        with pytest.raises(LedgerError, match="already"):
            ledger.settle(charge, a_release(promised))
        assert ledger.audit() == 1

    def test_a_bare_cost_is_settled_by_a_release_too(self, path: Path) -> None:
        ledger = a_ledger(path)
        ledger.settle(ledger.charge(WARDS, HALF), a_release(a_certificate()))
        assert ledger.history()[0].digest == DIGEST

    def test_a_cost_may_come_with_its_certificate(self, path: Path) -> None:
        ledger, promised = a_ledger(path), a_certificate(0.5)
        for cost, certificate in (
            (HALF, promised),
            (HALF, promised.digest),
            (promised, promised),
            (promised, promised.digest),
        ):
            charge = ledger.charge(WARDS, cost, certificate=certificate)
            assert (charge.cost, charge.certificate) == (HALF, promised.digest)
        before = content(path)
        for cost, certificate in (
            (Cost.pure(0.25), promised),
            (promised, a_certificate(0.25)),
            (promised, DIGEST),
        ):
            with pytest.raises(
                InputError, match=r"is not that of the cost\. Charge the certificate alone"
            ):
                ledger.charge(WARDS, cost, certificate=certificate)
        for bad in ("", 7, DIGEST.upper()):
            with pytest.raises(ParameterError, match="a Certificate, or its digest"):
                ledger.charge(WARDS, HALF, certificate=bad)  # type: ignore[arg-type]
        with pytest.raises(RehearsalError):
            ledger.charge(WARDS, a_certificate(randomness="seed"))
        assert content(path) == before

    def test_parties_may_have_budgets_of_their_own(self, path: Path) -> None:
        ledger = a_ledger(path, epsilon=1.0)
        ledger.allow(["rich"], Budget(epsilon=3.0))
        ledger.allow(["poor"], Budget(epsilon=0.25))
        with pytest.raises(BudgetError, match=r"party poor has ε=0.25 left"):
            ledger.charge(["rich", "poor", "other"], HALF)
        ledger.charge(["rich", "other"], HALF)
        assert [one.party for one in ledger.accounts()] == ["poor", "other", "rich"], (
            "least left first"
        )
        with pytest.raises(
            InputError,
            match="has been charged already, and ε=4 is more than the ε=3 that it was promised",
        ):
            ledger.allow(["rich"], Budget(epsilon=4.0))
        with pytest.raises(InputError, match=r"has spent ε=0.5 already, more than ε=0.25"):
            ledger.allow(["rich"], Budget(epsilon=0.25))
        with pytest.raises(InputError, match="another kind"):
            ledger.allow(["poor"], Budget(rho=1.0))
        ledger.allow(["rich"], HALF_BUDGET)
        ledger.allow(["poor"], Budget(epsilon=9.0))
        assert (ledger.left("rich"), ledger.left("poor")) == (
            Amount.zero(Kind.PURE),
            amount(epsilon=9.0),
        )
        assert ledger.audit() == 1

    @pytest.mark.slow
    def test_a_hundred_thousand_parties_are_one_transaction(
        self, path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        ledger = a_ledger(path)
        seen: list[str] = []
        patched_connection(monkeypatch, lambda db: Recording(db, seen))
        names = [f"party {k}" for k in range(100_000)]
        ledger.charge(names, HALF)
        assert [text for text in seen if text.startswith(("BEGIN", "COMMIT"))] == [
            "BEGIN IMMEDIATE",
            "COMMIT",
        ]
        assert ledger.account(names[-1]).spent == amount(epsilon=0.5)
        assert ledger.history()[0].n_parties == 100_000

    def test_a_charge_asks_as_little_after_many_charges_and_of_many_parties(
        self, path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        ledger = a_ledger(path)
        seen: list[str] = []
        patched_connection(monkeypatch, lambda db: Recording(db, seen))
        counts = []
        for n_parties in (10, 10, 10, 400, 400, 400):
            seen.clear()
            ledger.charge([f"party {k}" for k in range(n_parties)], Cost.pure(0.1))
            counts.append(len(seen))
        assert len(set(counts)) == 1, f"statements of each charge: {counts}"

    def test_adding_up_looks_parties_up_and_reads_no_table_from_end_to_end(
        self, path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        ledger = a_ledger(path)
        seen: list[str] = []
        patched_connection(monkeypatch, lambda db: Recording(db, seen))
        ledger.charge(["a", "b"], HALF)
        (adding,) = {text for text in seen if "GROUP BY asked.key" in text}
        with closing(sqlite3.connect(path)) as db:
            plan = [row[3] for row in db.execute("EXPLAIN QUERY PLAN " + adding, ("[]",))]
        assert [step for step in plan if step.startswith("SEARCH")]
        assert [step for step in plan if step.startswith("SCAN") and "asked" not in step] == []


HALF_BUDGET = Budget(epsilon=0.5)


def patched_connection(
    monkeypatch: pytest.MonkeyPatch, change: Callable[[sqlite3.Connection], Any]
) -> None:
    """Every connection that the ledger opens from now on, after `change`."""
    real = sqlite._connect

    def connected(path: Path, patience: float) -> Any:
        db = real(path, patience)
        return change(db) or db

    monkeypatch.setattr(sqlite, "_connect", connected)


class Failing:
    """A connection whose commits fail as on a broken disk."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self.db = db

    def __getattr__(self, name: str) -> Any:
        return getattr(self.db, name)

    def execute(self, statement: str, *arguments: Any) -> Any:
        if statement == "COMMIT" and self.db.total_changes:
            error = sqlite3.OperationalError("disk I/O error")
            error.sqlite_errorcode = sqlite3.SQLITE_IOERR
            raise error
        return self.db.execute(statement, *arguments)


class Recording(Failing):
    """A connection that keeps what it was told to do."""

    def __init__(self, db: sqlite3.Connection, seen: list[str]) -> None:
        super().__init__(db)
        self.seen = seen

    def execute(self, statement: str, *arguments: Any) -> Any:
        self.seen.append(statement)
        return self.db.execute(statement, *arguments)


# ---- laws ----------------------------------------------------------------------------------------

EPSILONS = st.one_of(
    st.sampled_from([0.1, 0.3, 1.0, 2.5]), st.floats(min_value=1e-12, max_value=4.0)
)
COSTS = {
    Kind.PURE: st.builds(Cost.pure, EPSILONS),
    Kind.ZCDP: st.one_of(st.builds(Cost.zcdp, EPSILONS), st.builds(Cost.pure, EPSILONS)),
    Kind.APPROXIMATE: st.one_of(
        st.builds(Cost.pure, EPSILONS), st.builds(Cost.approximate, EPSILONS, st.floats(1e-9, 1e-3))
    ),
}
BUDGETS = {
    Kind.PURE: Budget(epsilon=3.0),
    Kind.ZCDP: Budget(rho=2.0),
    Kind.APPROXIMATE: Budget(epsilon=5.0, delta=1e-3),
}


@st.composite
def stories(draw: Any) -> tuple[Budget, list[tuple[list[str], Cost]]]:
    kind = draw(st.sampled_from(list(Kind)))
    parties = st.lists(st.sampled_from("abcd"), min_size=1, unique=True)
    return BUDGETS[kind], draw(st.lists(st.tuples(parties, COSTS[kind]), max_size=12))


def check_story(
    budget: Budget,
    charges: list[tuple[list[str], Cost]],
    make: Callable[[Path, Budget], Ledger] = Ledger.create,
) -> None:
    """Against a model in Fractions: charged if and only if all can pay, and then exactly that.

    Spent is the sum; spent + left is the budget; never over it.
    """
    with tempfile.TemporaryDirectory() as folder:
        ledger = make(Path(folder) / "l", budget)
        spent = {name: Amount.zero(budget.kind) for name in "abcd"}
        for parties, cost in charges:
            asked = cost.amount(budget.kind)
            after = {
                name: tuple(a + b for a, b in zip(spent[name].values, asked.values))
                for name in parties
            }
            affordable = all(
                a <= b for values in after.values() for a, b in zip(values, budget.amount.values)
            )
            try:
                ledger.charge(parties, cost)
                made = True
            except BudgetError:
                made = False
            assert made == affordable
            if made:
                spent |= {name: Amount(budget.kind, values) for name, values in after.items()}
            for name in "abcd":
                assert ledger.spent(name) == spent[name]
                total = ledger.spent(name) + ledger.left(name)
                assert total == budget.amount
                assert all(left >= 0 for left in ledger.left(name).values)
        assert ledger.audit() == len(ledger.history())


@settings(max_examples=60, deadline=None)
@given(stories())
def test_every_sequence_of_charges(story: tuple[Budget, list[tuple[list[str], Cost]]]) -> None:
    check_story(*story)


def check_race(path: Path) -> None:
    """Eight threads want sixteen releases of ε = 1 from parties that have ε = 5.

    Five are made, none is lost, nobody fails otherwise.
    """
    ledger = a_ledger(path)

    def attempt(k: int) -> bool:
        try:
            Ledger(path).charge(["common", f"own {k}"], Cost.pure(1.0))
        except BudgetError:
            return False
        return True

    with ThreadPoolExecutor(8) as pool:
        made = list(pool.map(attempt, range(16)))
    assert sum(made) == 5
    assert ledger.left("common") == Amount.zero(Kind.PURE)
    assert len(ledger.history()) == ledger.audit() == 5
    assert [ledger.account(f"own {k}").n_releases for k in range(16)] == list(map(int, made))


def slowly(monkeypatch: pytest.MonkeyPatch) -> None:
    """Widen the gap between reading the sums and writing them."""
    real = sqlite._SqliteRows.accounts

    def read(*arguments: Any) -> Any:
        found = real(*arguments)
        time.sleep(0.01)
        return found

    monkeypatch.setattr(sqlite._SqliteRows, "accounts", read)


def test_threads_take_turns(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    slowly(monkeypatch)
    check_race(path)


def attempts(path: Path, start: Any, made: Any) -> None:
    """One process of the race."""
    ledger = Ledger(path)
    start.wait()
    for k in range(40):
        with contextlib.suppress(BudgetError):
            made.put(ledger.charge(["common", f"{os.getpid()} {k}"], Cost.pure(0.1)).id)
    made.put(None)


def test_two_processes_neither_overspend_nor_lose_a_charge(path: Path) -> None:
    ledger = a_ledger(path, epsilon=5.0)
    spawn = multiprocessing.get_context("spawn")
    start, made = spawn.Barrier(2), spawn.Queue()
    workers = [spawn.Process(target=attempts, args=(path, start, made)) for _ in range(2)]
    for worker in workers:
        worker.start()
    ids: list[int] = []
    ended = 0
    while ended < 2:
        one = made.get(timeout=120)
        ended += one is None
        ids += [] if one is None else [one]
    for worker in workers:
        worker.join(60)
        assert worker.exitcode == 0
    assert len(ids) == 49, "fifty times the double 0.1 is more than 5"
    assert sorted(ids) == [charge.id for charge in ledger.history()] == list(range(1, 50))
    assert ledger.spent("common") == Amount(Kind.PURE, (49 * Fraction(0.1),))
    assert ledger.audit() == 49


class TestCrashes:
    CODE = """
import os, signal, sys
from ostraka.ledger import Cost, Ledger, sqlite
def die(*arguments):
    os.kill(os.getpid(), signal.SIGKILL)
{before}
Ledger(sys.argv[1]).charge(["a", "b"], Cost.pure(0.5), "interrupted")
die()
"""

    def killed(self, path: Path, before: str = "") -> None:
        done = subprocess.run(
            [sys.executable, "-c", self.CODE.format(before=before), str(path)], check=False
        )
        assert done.returncode == -signal.SIGKILL

    def test_killed_between_charge_and_release(self, path: Path) -> None:
        a_ledger(path, epsilon=0.75)
        self.killed(path)
        ledger = Ledger(path)
        (charge,) = ledger.open_charges()
        assert (charge.note, charge.cost) == ("interrupted", HALF)
        assert ledger.left("a") == amount(epsilon=0.25), "counted as spent"
        with pytest.raises(BudgetError):
            ledger.charge(["a"], HALF)
        ledger.settle(charge, DIGEST)
        assert ledger.left("a") == amount(epsilon=0.25), "and settling gives nothing back"

    @pytest.mark.parametrize("step", ["_add_parties", "_add_shares", "add_charge"])
    def test_killed_while_charging(self, path: Path, step: str) -> None:
        ledger = a_ledger(path)
        rows = "sqlite._SqliteRows"
        self.killed(
            path,
            f"real = {rows}.{step}\n{rows}.{step} = lambda *args, **kw: (real(*args, **kw), die())",
        )
        assert ledger.history() == ledger.accounts() == []
        assert ledger.audit() == 0

    def test_killed_with_the_pages_already_in_the_file(self, path: Path) -> None:
        """A cache of one page makes SQLite write before the commit: the journal must undo it."""
        ledger = a_ledger(path)
        ledger.charge(["z"], HALF)
        before = content(path)[1]
        code = """
import sys
from ostraka.ledger import Cost, Ledger, sqlite
ledger = Ledger(sys.argv[1])
sqlite._PRAGMAS += ("PRAGMA cache_size=1",)
sqlite._commit = lambda *arguments: __import__("os").kill(__import__("os").getpid(), 9)
ledger.charge([f"party {k}" for k in range(5000)], Cost.pure(0.5))
"""
        done = subprocess.run([sys.executable, "-c", code, str(path)], check=False)
        assert done.returncode == -signal.SIGKILL
        assert path.with_name(path.name + "-journal").exists()
        assert ledger.audit() == 1
        assert content(path)[1] == before

    def test_an_interrupt_inside_changes_nothing(
        self, path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        ledger = a_ledger(path)
        before = content(path)

        def interrupt(*arguments: Any) -> None:
            raise KeyboardInterrupt

        monkeypatch.setattr(sqlite._SqliteRows, "_add_shares", interrupt)
        with pytest.raises(KeyboardInterrupt):
            ledger.charge(WARDS, HALF)
        assert content(path) == before


# ---- files ---------------------------------------------------------------------------------------


class TestFiles:
    def test_where_there_is_no_ledger(self, tmp_path: Path) -> None:
        with pytest.raises(FileNotFoundError, match="there is no such ledger"):
            Ledger(tmp_path / "none")
        with pytest.raises(FileNotFoundError, match="there is no such folder"):
            a_ledger(tmp_path / "none" / "l")
        with pytest.raises(IsADirectoryError):
            Ledger(tmp_path)
        os.mkfifo(tmp_path / "pipe")
        with pytest.raises(FormatError, match="not a regular file"):
            Ledger(tmp_path / "pipe")

    def test_a_ledger_is_never_replaced(self, path: Path) -> None:
        a_ledger(path).charge(WARDS, HALF)
        before = content(path)
        with pytest.raises(FileExistsError, match="never replaced"):
            a_ledger(path)
        assert content(path) == before

    def test_names_of_files_are_taken_as_they_are(self, tmp_path: Path) -> None:
        for name in ("a?mode=memory", "b#c", "d%20e", "ε δ"):
            a_ledger(tmp_path / name).charge(["a"], HALF)
            assert Ledger(str(tmp_path / name)).audit() == 1

    def test_a_making_that_fails_leaves_nothing(
        self, path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(sqlite_schema, "_schema", lambda _: ["CREATE NONSENSE"])
        with pytest.raises(LedgerError):
            a_ledger(path)
        assert not path.exists()

    @pytest.mark.parametrize(
        ("opening", "complaint"),
        [
            (b"", "it is empty"),
            (b"PK\x03\x04" + b"\0" * 600, "begins like a zip file"),
            (b"\x80\x04" + b"\0" * 600, "begins like a pickle"),
            (b"party,epsilon\n" * 100, "it begins like a text"),
            (b"SQLite format 3\x00" + b"\xff" * 600, "it is not an SQLite file|damaged"),
        ],
    )
    def test_foreign_files(self, path: Path, opening: bytes, complaint: str) -> None:
        path.write_bytes(opening)
        with pytest.raises(FormatError, match=complaint):
            Ledger(path)
        assert path.read_bytes() == opening

    @pytest.mark.parametrize(
        ("statement", "complaint"),
        [
            ("PRAGMA application_id=7", "an SQLite file of another program"),
            ("PRAGMA user_version=4", "it is of version 4; this Ostraka reads versions 2 and 3"),
            ("PRAGMA user_version=2", "its tables or triggers"),
            ("DROP TABLE drawn", "its tables or triggers"),
            ("DROP TRIGGER charge_is_not_changed", "its tables or triggers"),
            (
                "CREATE TRIGGER sly AFTER INSERT ON charge BEGIN SELECT 1; END",
                "its tables or triggers",
            ),
            ("CREATE VIEW sly AS SELECT 1", "its tables or triggers"),
            ("ALTER TABLE charge ADD COLUMN votes TEXT", "its tables or triggers"),
        ],
    )
    def test_hostile_schemas(self, path: Path, statement: str, complaint: str) -> None:
        ledger = a_ledger(path)
        with closing(sqlite3.connect(path)) as db:
            db.execute(statement)
            db.commit()
        for use in (lambda: Ledger(path), lambda: ledger.charge(WARDS, HALF), ledger.audit):
            with pytest.raises(FormatError, match=complaint):
                use()

    def test_rows_can_only_be_added(self, path: Path) -> None:
        ledger = a_ledger(path)
        ledger.allow(["ward-1"], Budget(epsilon=4.0))
        ledger.settle(ledger.charge(WARDS, HALF), DIGEST)
        before = content(path)
        columns = {
            "budget": "amount",
            "party": "spent",
            "allowance": "amount",
            "charge": "epsilon",
            "share": "party",
            "settlement": "digest",
        }
        with closing(sqlite3.connect(path)) as db:
            for table, column in columns.items():
                for statement in (
                    f"UPDATE {table} SET {column} = {column}",
                    f"DELETE FROM {table}",
                    f"INSERT OR REPLACE INTO {table} SELECT * FROM {table}",
                ):
                    with pytest.raises(sqlite3.IntegrityError, match="append-only"):
                        db.execute(statement)
            with pytest.raises(sqlite3.IntegrityError, match="append-only"):
                db.execute("UPDATE party SET name = 'other', n_releases = n_releases + 1")
        assert content(path) == before

    @pytest.mark.parametrize(
        ("statement", "complaint"),
        [
            (
                "INSERT INTO party VALUES (9, 'Ward 3', '0/1', 0)",
                "the name of party Ward 3 is not in its canonical form",
            ),
            ("INSERT INTO party VALUES (9, '3.0', '0/1', 0)", "not in its canonical form"),
            ("INSERT INTO party VALUES (9, '  ', '0/1', 0)", "not in its canonical form"),
            ("UPDATE party SET spent = '0/1', n_releases = n_releases + 1", "is not the sum"),
            ("UPDATE party SET spent = '9/1', n_releases = n_releases + 1", "is not the sum"),
            (
                "INSERT INTO charge VALUES (7, '2026-01-01', '1/2', NULL, NULL, 0, '', 2, NULL)",
                "as many parties as it says",
            ),
            (
                "INSERT INTO charge VALUES (7, '2026-01-01', '1/3', NULL, NULL, 0, '', 2, NULL)",
                "is not a double",
            ),
            (
                "INSERT INTO charge VALUES (7, '2026-01-01', 'x', NULL, NULL, 0, '', 2, NULL)",
                "is not a number",
            ),
            (
                "INSERT INTO charge VALUES (7, '2026-01-01', NULL, NULL, NULL, 0, '', 2, NULL)",
                "charge 7 is damaged",
            ),
            (
                "INSERT INTO charge VALUES (7, x'00', '1/2', NULL, NULL, 0, '', 2, NULL)",
                "charge 7 is damaged",
            ),
            (
                "INSERT INTO charge VALUES "
                "(7, '2026-01-01', '1/2', NULL, NULL, 0, char(27), 2, NULL)",
                "charge 7 is damaged",
            ),
            (
                "INSERT INTO charge VALUES "
                "(7, '2026-01-01', '1/2', NULL, NULL, 0, CAST(x'ff' AS TEXT), 2, NULL)",
                "UTF-8",
            ),
            (
                "INSERT INTO charge VALUES (7, '2026-01-01', '1/2', NULL, NULL, 0, '', 2, 'none')",
                "charge 7 is damaged",
            ),
            ("INSERT INTO settlement VALUES (1, 'none')", "charge 1 is damaged"),
            ("INSERT INTO party VALUES (9, char(27), '0/1', 0)", "not printable"),
            ("INSERT INTO party VALUES (9, 'x', '1/0', 0)", "is not a number"),
            ("INSERT INTO share VALUES (99, 1)", "it is damaged"),
        ],
    )
    def test_what_contradicts_itself_is_found(
        self, path: Path, statement: str, complaint: str
    ) -> None:
        ledger = a_ledger(path)
        ledger.charge(WARDS, HALF)
        with closing(sqlite3.connect(path)) as db:
            db.execute(statement)
            db.commit()
        with pytest.raises(FormatError, match=complaint):
            ledger.audit()

    def test_a_file_that_says_more_was_spent_than_allowed(self, path: Path) -> None:
        ledger = a_ledger(path, epsilon=0.5)
        ledger.charge(["a"], HALF)
        with closing(sqlite3.connect(path)) as db:
            db.execute("INSERT INTO allowance (party, amount) VALUES (1, '1/4')")
            db.commit()
        with pytest.raises(FormatError, match="more than its budget"):
            ledger.audit()

    @settings(
        max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
    )
    @given(
        cut=st.floats(0, 0.9999),
        flips=st.lists(st.tuples(st.floats(0, 0.9999), st.integers(1, 255)), max_size=3),
    )
    def test_damage_is_refused_or_harmless_but_never_a_crash(
        self, cut: float, flips: list[tuple[float, int]]
    ) -> None:
        """Damage may change a budget, which nobody can see; it raises no errors but ours."""
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "l"
            ledger = a_ledger(path)
            ledger.charge(WARDS, HALF)
            whole = bytearray(path.read_bytes())
            for place, mask in flips:
                whole[int(place * len(whole))] ^= mask
            path.write_bytes(whole if flips else whole[: int(cut * len(whole))])
            for use in (
                lambda: Ledger(path).accounts(),
                ledger.history,
                lambda: ledger.charge(WARDS, HALF),
                ledger.audit,
            ):
                try:
                    use()
                    assert flips, "a file that was cut short is always refused"
                except (OstrakaError, OSError):
                    pass

    def test_locked_too_long(self, path: Path) -> None:
        a_ledger(path)
        ledger = Ledger(path, patience=0.05)
        with closing(sqlite3.connect(path, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            with pytest.raises(
                LedgerError,
                match=r"in use by another process for too long\. "
                r".*Nothing was drawn and nothing was spent",
            ):
                ledger.charge(WARDS, HALF)
            other.execute("ROLLBACK")
        ledger.charge(WARDS, HALF)

    def test_a_reader_in_the_way_of_a_commit(self, path: Path) -> None:
        a_ledger(path)
        ledger = Ledger(path, patience=0.05)
        with closing(sqlite3.connect(path, isolation_level=None)) as other:
            other.execute("BEGIN")
            other.execute("SELECT * FROM charge").fetchall()
            with pytest.raises(LedgerError, match="in use by another process"):
                ledger.charge(WARDS, HALF)
        assert ledger.history() == []
        ledger.charge(WARDS, HALF)
        assert ledger.audit() == 1

    def test_a_writer_waits_for_its_turn(self, path: Path) -> None:
        ledger = a_ledger(path)
        other = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        other.execute("BEGIN IMMEDIATE")
        threading.Timer(0.2, other.execute, ["ROLLBACK"]).start()
        ledger.charge(WARDS, HALF)
        assert ledger.audit() == 1
        other.close()

    def test_a_full_disk(self, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        ledger = a_ledger(path)
        before = content(path)
        patched_connection(monkeypatch, lambda db: db.execute("PRAGMA max_page_count=1") and None)
        with pytest.raises(
            LedgerError,
            match=r"does not fit on the disk\. Make room\. Nothing was drawn and nothing was spent",
        ):
            ledger.charge([f"party {k}" for k in range(2000)], HALF)
        assert content(path) == before

    def test_a_commit_that_fails_in_the_midst_is_called_uncertain(
        self, path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        ledger = a_ledger(path)
        patched_connection(monkeypatch, Failing)
        with pytest.raises(
            LedgerError, match=r"Nothing was released; whether it was charged is uncertain\."
        ):
            ledger.charge(WARDS, HALF)

    @pytest.mark.skipif(not hasattr(os, "geteuid"), reason="needs users")
    def test_a_file_that_may_only_be_read(self) -> None:
        with tempfile.TemporaryDirectory() as folder, as_somebody_else(Path(folder)):
            path = Path(folder) / "l"
            ledger = a_ledger(path)
            ledger.charge(WARDS, HALF)
            path.chmod(0o444)
            Path(folder).chmod(0o555)
            assert ledger.spent("ward-1") == amount(epsilon=0.5)
            with pytest.raises(
                LedgerError,
                match=r"cannot be written\. Allow writing .* "
                r"Nothing was drawn and nothing was spent",
            ):
                ledger.charge(WARDS, HALF)
            with pytest.raises(PermissionError):
                a_ledger(Path(folder) / "new")
            Path(folder).chmod(0o755)
            path.chmod(0o000)
            with pytest.raises(PermissionError, match="may not be read"):
                Ledger(path)

    def test_commits_are_synchronised_with_their_folder(self, path: Path) -> None:
        a_ledger(path)
        with SqliteFile(path).transaction(write=True) as rows:
            db = rows._db  # type: ignore[attr-defined]
            assert db.execute("PRAGMA synchronous").fetchone() == (3,)
            assert db.execute("PRAGMA journal_mode").fetchone() == ("delete",)

    def test_a_changed_schema_asks_for_a_new_version(self) -> None:
        """When this fails: raise VERSION, and keep a file of the old one."""
        digests = {
            version: hashlib.sha256("\n".join(sqlite_schema._schema(version)).encode()).hexdigest()
            for version in (2, sqlite_schema.VERSION)
        }
        assert digests == {
            2: "94ab45bf9cded5af9dc221cfaf8df5a53aba0838274f8f8b9230ecf7fbc844f1",
            3: "ceed2f6dd7175759c6e4b6a6e50e58e4751d34042b86b8e32358c5a8ddc65e33",
        }

    def test_a_file_of_version_2_is_read_and_grows(self, path: Path) -> None:
        shutil.copy(FILES / "version-2.ledger", path)
        old = path.read_bytes()
        ledger = Ledger(path)
        first, second = ledger.history()
        assert (first.is_open, second.is_open) == (True, False)
        assert [ledger.drawn(each) for each in (first, second)] == [None, None]
        assert ledger.left("ward 2") == amount(epsilon=1.5)
        assert path.read_bytes() == old, "reading changes nothing"
        with pytest.raises(BudgetError):
            ledger.charge(["ward 2"], Cost.pure(4.0), draw=lambda: [1])
        assert path.read_bytes() == old, "nor does what is refused"
        charge = ledger.charge(["ward 2"], Cost.pure(0.5), draw=lambda: [1, -2])
        assert Ledger(path).drawn(charge) == [1, -2]
        assert ledger.history()[:2] == [first, second]
        assert ledger.audit() == 3
        other = path.with_name("new")
        a_ledger(other)
        with closing(sqlite3.connect(path)) as grown, closing(sqlite3.connect(other)) as new:
            assert sqlite_schema._objects(grown) == sqlite_schema._objects(new)

    @pytest.mark.parametrize("text", ["", "{}", "[1.5]", "[true]", '["1"]', "[1,", "nonsense"])
    def test_damaged_draws_are_refused(self, path: Path, text: str) -> None:
        ledger = a_ledger(path)
        with closing(sqlite3.connect(path)) as db:
            db.execute(
                "INSERT INTO charge VALUES (1, '2026-11-18', '1/1', NULL, NULL, 0, '', 1, NULL)"
            )
            db.execute("INSERT INTO drawn VALUES (1, ?)", (text,))
            db.commit()
        with pytest.raises(FormatError, match="what was drawn for charge 1 is damaged"):
            ledger.drawn(1)

    def test_the_clock_is_kept_by_the_day_alone(self, path: Path) -> None:
        ledger = a_ledger(path)
        assert len(ledger.charge(WARDS, HALF).day) == len("2026-01-01")
        assert not any(":" in line for line in content(path)[1] if line.startswith("INSERT"))


@contextlib.contextmanager
def as_somebody_else(folder: Path) -> Iterator[None]:
    """Root may write everywhere, so become somebody who may not."""
    if os.geteuid() != 0:
        yield
        return
    os.chown(folder, 65534, 65534)
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)


# ---- information ---------------------------------------------------------------------------------


class TestIfFixedBeforehand:
    @pytest.mark.parametrize(("epsilon", "n"), [(0.1, 40), (0.5, 3), (2.0, 1)])
    def test_pure_losses_against_randomised_response(
        self, path: Path, epsilon: float, n: int
    ) -> None:
        """n-fold randomised response is the worst case: its δ, a binomial sum, is not above it."""
        ledger = a_ledger(path, epsilon=5.0, delta=1e-5)
        for _ in range(n):
            ledger.charge(["a"], Cost.pure(epsilon))
        found = ledger.if_fixed_beforehand("a")
        assert found <= math.nextafter(float(ledger.spent("a").values[0]), math.inf), (
            "never worse than the sum"
        )
        p = 1 / (1 + math.exp(-epsilon))
        terms = (
            math.comb(n, k)
            * (p**k * (1 - p) ** (n - k) - math.exp(found) * p ** (n - k) * (1 - p) ** k)
            for k in range(n + 1)
        )
        assert sum(max(0.0, term) for term in terms) <= 1e-5 * (1 + 1e-6)
        assert n < 40 or found < 0.8 * 4.0, "and better where there are many"

    def test_gaussians_against_their_curve(self, path: Path) -> None:
        ledger = a_ledger(path, rho=1.0)
        for _ in range(3):
            ledger.charge(["a"], Cost(rho=0.02, gaussian=True))
        found = ledger.if_fixed_beforehand("a", delta=1e-6)
        exact = RoundedGaussian(scale=1 / math.sqrt(2 * 0.06), dimension=1)
        assert exact.delta(found, 1.0) <= 1e-6 * (1 + 1e-6)
        assert exact.delta(found * 0.99, 1.0) > 1e-6

    def test_mixtures_and_what_has_no_figure(self, path: Path) -> None:
        ledger = a_ledger(path, epsilon=5.0, delta=1e-4)
        assert ledger.if_fixed_beforehand("a") == 0.0
        ledger.charge(["a"], Cost.approximate(0.5, 1e-6))
        ledger.charge(["a"], Cost.pure(0.5))
        ledger.charge(["a"], Cost(epsilon=1.0, delta=1e-6, rho=0.02, gaussian=True))
        assert 1.0 <= ledger.if_fixed_beforehand("a") <= math.nextafter(2.0, 3.0)
        other = a_ledger(path.with_name("other"), rho=1.0)
        other.charge(["a"], Cost.zcdp(0.1))
        with pytest.raises(ParameterError, match="a δ, in a ledger without one"):
            other.if_fixed_beforehand("a")
        with pytest.raises(InputError, match="not known to be Gaussian"):
            other.if_fixed_beforehand("a", delta=1e-6)


# ---- mutants: what the laws must catch -----------------------------------------------------------

TENTHS = (Budget(epsilon=1.0), [(["a"], Cost.pure(0.1))] * 11)
ONE_IS_POOR = (Budget(epsilon=1.0), [(["b"], Cost.pure(1.0)), (["a", "b", "c"], HALF)])
TO_THE_LAST_BIT = (Budget(epsilon=1.0), [(["a"], HALF), (["a"], HALF)])
TWO_LIMITS = (
    Budget(epsilon=1.0, delta=1e-6),
    [(["a"], Cost.approximate(0.25, 1e-6)), (["a"], Cost.approximate(0.25, 1e-6))],
)
CONCENTRATED = (Budget(rho=0.5), [(["a"], Cost.pure(1.0)), (["a"], Cost.pure(1e-3))])


def never_refuses(self: Amount, within: Amount) -> bool:
    return True


def in_doubles(self: Amount, within: Amount) -> bool:
    return all(float(a) <= float(b) for a, b in zip(self.values, within.values))


def strictly(self: Amount, within: Amount) -> bool:
    return all(a < b for a, b in zip(self.values, within.values))


def the_first_number_only(self: Amount, within: Amount) -> bool:
    return self.values[0] <= within.values[0]


@pytest.mark.parametrize(
    ("mutant", "story"),
    [
        (never_refuses, TENTHS),
        (in_doubles, TENTHS),
        (strictly, TO_THE_LAST_BIT),
        (the_first_number_only, TWO_LIMITS),
        (never_refuses, CONCENTRATED),
    ],
)
def test_a_wrong_comparison_is_caught(
    monkeypatch: pytest.MonkeyPatch, mutant: Any, story: Any
) -> None:
    check_story(*story)
    monkeypatch.setattr(Amount, "fits", mutant)
    with pytest.raises((AssertionError, FormatError)):
        check_story(*story)


def rounded_sum(self: Amount, other: Amount) -> Amount:
    return Amount(
        self.kind, tuple(Fraction(float(a) + float(b)) for a, b in zip(self.values, other.values))
    )


def test_rounded_sums_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Amount, "__add__", rounded_sum)
    with pytest.raises((AssertionError, FormatError)):
        check_story(*TENTHS)


def test_checking_the_first_party_only_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    def mutant(accounts: list[Account], asked: Amount) -> dict[str, Amount]:
        correct(accounts[:1], asked)
        return {one.party: one.spent + asked for one in accounts}

    check_story(*ONE_IS_POOR)
    correct = book._spent_after
    monkeypatch.setattr(book, "_spent_after", mutant)
    with pytest.raises(AssertionError):
        check_story(*ONE_IS_POOR)


class Unlocked(Failing):
    """A connection without transactions."""

    def execute(self, statement: str, *arguments: Any) -> Any:
        return (
            None
            if statement in ("BEGIN IMMEDIATE", "COMMIT", "ROLLBACK")
            else self.db.execute(statement, *arguments)
        )


class LockedLate(Failing):
    """A connection that takes the lock when it first writes."""

    def execute(self, statement: str, *arguments: Any) -> Any:
        return self.db.execute("BEGIN" if statement == "BEGIN IMMEDIATE" else statement, *arguments)


@pytest.mark.parametrize("mutant", [Unlocked, LockedLate])
def test_a_late_lock_is_caught(path: Path, monkeypatch: pytest.MonkeyPatch, mutant: Any) -> None:
    a_ledger(path).charge(["z"], HALF)
    slowly(monkeypatch)
    patched_connection(monkeypatch, mutant)
    with pytest.raises((AssertionError, LedgerError, FormatError)):
        check_race(path.with_name("race"))


class TestWhoseLoss:
    def test_a_ledger_of_parties_refuses_what_protects_less(self, tmp_path: Path) -> None:
        ledger = Ledger.create(tmp_path / "parties.db", Budget(epsilon=5.0))
        assert ledger.protects == "party"
        for neighbours, persons in (("replace one person", 9), ("replace one row", None)):
            promised = a_certificate(neighbours=neighbours, persons=persons)
            with pytest.raises(
                InputError,
                match=r"protects one (person|row), but the ledger keeps",
            ):
                ledger.charge(["a"], promised)
        assert ledger.history() == []

    def test_a_ledger_of_persons_takes_what_protects_persons_or_whole_parties(
        self, tmp_path: Path
    ) -> None:
        ledger = Ledger.create(tmp_path / "persons.db", Budget(epsilon=5.0), protects="person")
        ledger.charge(["a"], a_certificate(neighbours="replace one person", persons=9))
        ledger.charge(["a"], a_certificate())
        with pytest.raises(InputError, match="protects one row"):
            ledger.charge(["a"], a_certificate(neighbours="replace one row"))
        again = Ledger(tmp_path / "persons.db")
        assert (again.protects, len(again.history())) == ("person", 2)
        with pytest.raises(ParameterError, match='"party" or "person"'):
            Ledger.create(tmp_path / "rows.db", Budget(epsilon=5.0), protects="row")
