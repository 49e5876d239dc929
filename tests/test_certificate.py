from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ostraka.certificate import ONE_PARTY, Certificate, SensitivityParts
from ostraka.errors import FormatError, OstrakaError, ParameterError

PARTS = SensitivityParts(rule="stability", bound=1.0, solver=0.25, rounding=0.0, grid=0.125)
CERTIFICATE = Certificate(
    method="soft",
    calibration="tight",
    loss="logistic",
    epsilon=0.5,
    delta=0.0,
    neighbours=ONE_PARTY,
    parties=10,
    auxiliary_samples=100,
    auxiliary_digest="ab" * 32,
    lambda_=1e-4,
    sensitivity=1.375,
    sensitivity_parts=PARTS,
    noise="l2",
    noise_scale=2.75,
    grid=2.0**-20,
    dimension=7,
    coordinates="all features",
    radius=50.0,
    solver_tolerance=1e-10,
)
PROMISED = {
    "method", "calibration", "epsilon", "delta", "neighbours", "parties", "auxiliary_samples", "lambda", "sensitivity", "noise", "grid",
    "dimension", "solver_tolerance",
}  # fmt: skip


def test_json_has_the_promised_names_and_comes_back() -> None:
    content = json.loads(CERTIFICATE.to_json())
    assert set(content) >= PROMISED
    assert Certificate.from_json(CERTIFICATE.to_json()) == CERTIFICATE


def test_json_is_canonical() -> None:
    text = CERTIFICATE.to_json()
    assert text == json.dumps(json.loads(text), sort_keys=True, separators=(",", ":"))


def test_nothing_in_it_can_have_come_from_private_data() -> None:
    """The fields are a closed list: a new one has to be thought about here."""
    names = set(CERTIFICATE.to_dict())
    assert names == PROMISED | {
        "format", "loss", "auxiliary_digest", "sensitivity_parts", "noise_scale", "coordinates", "radius", "assumed_public", "randomness",
        "norm", "rho", "start", "start_epsilon", "start_delta",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"epsilon": 0.0}, "epsilon"),
        ({"epsilon": float("nan")}, "epsilon"),
        ({"epsilon": float("inf")}, "epsilon"),
        ({"lambda_": -1.0}, "lambda"),
        ({"delta": 1e-6}, "delta"),
        ({"parties": 0}, "parties"),
        ({"neighbours": "replace one sample"}, "neighbours"),
        ({"sensitivity": 1.37}, "at least the sum of its parts"),
        ({"noise_scale": 2.7}, "at least sensitivity/epsilon"),
        ({"grid": 0.3}, "a power of two"),
        ({"grid": 0.25}, "at least grid·√dimension"),
        ({"method": "hope"}, "'soft' or 'vote' or 'avg'"),
        ({"noise": "none"}, "noise"),
        ({"sensitivity_parts": replace(PARTS, bound=-1e9)}, "0 or more"),
        ({"sensitivity_parts": replace(PARTS, rule="trust me")}, "rule"),
        ({"sensitivity_parts": replace(PARTS, rule="ball")}, "the diameter of the ball"),
        ({"solver_tolerance": 1.0}, "at least 2·solver_tolerance/lambda"),
    ],
)
def test_a_promise_that_does_not_add_up_is_refused(change: dict[str, Any], complaint: str) -> None:
    with pytest.raises(ParameterError, match=complaint):
        replace(CERTIFICATE, **change)


@given(st.floats(1e-6, 1e6), st.floats(1e-6, 1e6))
def test_every_accepted_scale_covers_the_sensitivity_exactly(scale: float, epsilon: float) -> None:
    try:
        accepted = replace(CERTIFICATE, noise_scale=scale, epsilon=epsilon)
    except ParameterError:
        assert Fraction(scale) * Fraction(epsilon) < Fraction(CERTIFICATE.sensitivity)
    else:
        assert Fraction(accepted.noise_scale) * Fraction(accepted.epsilon) >= Fraction(accepted.sensitivity)


def damaged(**changes: Any) -> str:
    return json.dumps({**CERTIFICATE.to_dict(), **changes})


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "not JSON"),
        ("[" * 100_000, "not JSON"),
        ("[]", "not a JSON object"),
        (damaged(format=99), "format"),
        (damaged(extra=1), "unknown fields"),
        (damaged(epsilon="1"), "epsilon"),
        (damaged(parties=True), "parties"),
        (damaged(parties=1.5), "parties"),
        (damaged(epsilon=-1.0), "epsilon"),
        (damaged(sensitivity_parts=None), "sensitivity_parts"),
        (damaged(sensitivity_parts={"bound": 1}), "missing fields"),
        (damaged(epsilon=1.0).replace("1.0", "NaN", 1), "not JSON"),
        (damaged(noise_scale=1e-3), "noise_scale"),
        (damaged(sensitivity_parts={**CERTIFICATE.to_dict()["sensitivity_parts"], "bound": 10**400}), "too large"),
        (CERTIFICATE.to_json().replace('"method"', '"motto"'), "motto"),
    ],
)
def test_a_damaged_certificate_is_refused(text: str, complaint: str) -> None:
    with pytest.raises(FormatError, match=complaint):
        Certificate.from_json(text)


@given(st.recursive(st.none() | st.booleans() | st.floats() | st.text(), lambda x: st.lists(x) | st.dictionaries(st.text(), x)))
def test_any_json_gives_a_certificate_or_a_format_error(content: Any) -> None:
    with pytest.raises(OstrakaError):
        Certificate.from_json(json.dumps(content))


def test_it_speaks_plainly() -> None:
    text = str(CERTIFICATE)
    assert "ε = 0.5" in text
    assert "one party's whole data set" in text
    assert "10 parties" in text


# ---- methods that release a statistic; format 2 ----------------------------------------------------------------------------

CELLS = Certificate(
    method="cells",
    calibration="tight",
    loss="none",
    epsilon=0.5,
    delta=0.0,
    neighbours=ONE_PARTY,
    parties=10,
    auxiliary_samples=100,
    auxiliary_digest="ab" * 32,
    lambda_=None,
    sensitivity=2.0,
    sensitivity_parts=SensitivityParts(rule="contribution", bound=2.0, solver=0.0, rounding=0.0, grid=0.0),
    noise="discrete laplace",
    noise_scale=4.0,
    grid=2.0**-20,
    dimension=30,
    coordinates="10 cells, 3 classes",
    radius=1.0,
    solver_tolerance=None,
    norm="l1",
)
MOMENTS = replace(CELLS, method="moments", noise="l2", norm="l2", coordinates="5 whitened directions")
WITH_DELTA = replace(MOMENTS, delta=1e-6, noise_scale=1.5)
GAUSSIAN = replace(MOMENTS, noise="gaussian", delta=1e-6, noise_scale=20.0, rho=0.005)
CONSENSUS = replace(MOMENTS, method="consensus", radius=None)
STATISTICS = [CELLS, MOMENTS, WITH_DELTA, GAUSSIAN, CONSENSUS]


@pytest.mark.parametrize("certificate", STATISTICS, ids=lambda each: f"{each.method} {each.noise} {each.delta}")
def test_a_statistics_certificate_comes_back_and_speaks_plainly(certificate: Certificate) -> None:
    content = json.loads(certificate.to_json())
    assert content["format"] == 3
    assert content["lambda"] is None
    assert Certificate.from_json(certificate.to_json()) == certificate
    text = str(certificate)
    assert "moves the sum by at most 2" in text
    assert certificate.coordinates in text
    assert ("in L1" in text) == (certificate.norm == "l1")


def as_format_1(certificate: Certificate) -> dict[str, Any]:
    return {name: value for name, value in as_format_2(certificate).items() if name not in ("norm", "rho")} | {"format": 1}


def as_format_2(certificate: Certificate) -> dict[str, Any]:
    content = certificate.to_dict()
    return {name: value for name, value in content.items() if not name.startswith("start")} | {"format": 2}


def test_certificates_of_earlier_formats_mean_what_they_meant() -> None:
    assert Certificate.from_json(json.dumps(as_format_1(CERTIFICATE))) == CERTIFICATE
    for certificate in (CERTIFICATE, *STATISTICS):
        assert Certificate.from_json(json.dumps(as_format_2(certificate))) == certificate


REFINE = replace(MOMENTS, method="refine", start="cd" * 32, start_epsilon=3.0, start_delta=1e-7)


def test_a_second_round_states_what_the_first_one_cost() -> None:
    text = str(REFINE)
    assert "ε = 0.5 differential privacy" in text
    assert "started from the release cdcdcdcdcdcd, which had cost ε = 3 (δ = 1e-07): together ε = 3.5" in text
    assert Certificate.from_json(REFINE.to_json()) == REFINE
    assert (REFINE.total_epsilon, REFINE.total_delta) == (3.5, 1e-7)
    assert (MOMENTS.total_epsilon, MOMENTS.total_delta) == (0.5, 0.0)


def test_totals_are_rounded_up() -> None:
    third = replace(REFINE, epsilon=0.1, noise_scale=20.0, start_epsilon=0.2)
    assert Fraction(third.total_epsilon) >= Fraction(0.1) + Fraction(0.2)
    assert third.total_epsilon <= 0.1 + 0.2 + 1e-15
    tiny = replace(REFINE, start_epsilon=1.0, epsilon=1e-17, noise_scale=1e18)
    assert tiny.total_epsilon > 1.0


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (as_format_1(CERTIFICATE) | {"norm": "l2"}, "fields of a later one"),
        (as_format_1(CERTIFICATE) | {"rho": None}, "fields of a later one"),
        (as_format_1(CELLS), "norm"),
        (as_format_1(CERTIFICATE) | {"format": 2}, "missing fields"),
        (as_format_1(CERTIFICATE) | {"format": True}, "format"),
        (as_format_1(CERTIFICATE) | {"format": "1"}, "format"),
        (as_format_1(CERTIFICATE) | {"format": 3}, "missing fields"),
        (as_format_2(CELLS) | {"start": None}, "fields of a later one"),
        (as_format_1(CERTIFICATE) | {"format": 4}, "format"),
        (as_format_1(CERTIFICATE) | {"format": 1.0}, "format"),
        (as_format_1(CERTIFICATE) | {"format": None}, "format"),
    ],
)
def test_formats_are_not_mixed(content: dict[str, Any], complaint: str) -> None:
    with pytest.raises(FormatError, match=complaint):
        Certificate.from_json(json.dumps(content))


HOSTILE: list[tuple[str, Certificate, dict[str, Any], str]] = [
    ("a delta for soft", CERTIFICATE, {"delta": 1e-6}, "delta"),
    ("a delta for discrete Laplace", CELLS, {"delta": 1e-6}, "delta"),
    ("a negative delta", MOMENTS, {"delta": -1e-6}, "delta"),
    ("a ball without extent", MOMENTS, {"radius": 0.0}, "radius"),
    ("a negative ball", REFINE, {"radius": -1.0}, "radius"),
    ("no auxiliary set", REFINE, {"auxiliary_digest": None, "auxiliary_samples": None}, "auxiliary_digest"),
    ("a solver", REFINE, {"solver_tolerance": 5.0}, "solver_tolerance"),
    ("the paper's calibration", CELLS, {"calibration": "paper"}, "calibration"),
    ("another method's noise", CELLS, {"noise": "l2", "norm": "l2"}, "noise"),
    ("cells' noise", REFINE, {"noise": "discrete laplace", "norm": "l1"}, "noise"),
    ("too many numbers", REFINE, {"dimension": 10**9}, "dimension"),
    ("a second round from nowhere", REFINE, {"start": None}, "start"),
    ("a second round for nothing", REFINE, {"start_epsilon": 0.0}, "start_epsilon"),
    ("a negative first round", REFINE, {"start_delta": -1e-6}, "start_delta"),
    ("an endless first round", REFINE, {"start_epsilon": 1e999}, "start_epsilon|JSON|number"),
    ("a start for a first round", MOMENTS, {"start": "cd" * 32}, "start"),
    ("a start that is no digest", REFINE, {"start": "first.ostraka"}, "start"),
    ("a delta of 1", WITH_DELTA, {"delta": 1.0}, "delta"),
    ("l1 with l2 noise", MOMENTS, {"norm": "l1"}, "norm"),
    ("l2 with discrete Laplace noise", CELLS, {"norm": "l2"}, "norm"),
    ("another norm", CELLS, {"norm": "linf"}, "norm"),
    ("no lambda for soft", CERTIFICATE, {"lambda": None}, "lambda"),
    ("a lambda for cells", CELLS, {"lambda": 1e-4}, "lambda"),
    ("what a party sends for soft", CERTIFICATE, {"sensitivity_parts": {"rule": "contribution"}}, "rule"),
    ("stability for moments", MOMENTS, {"sensitivity_parts": {"rule": "stability"}}, "rule"),
    ("a Gaussian without rho", GAUSSIAN, {"rho": None}, "rho"),
    ("a Gaussian with rho 0", GAUSSIAN, {"rho": 0.0}, "rho"),
    ("a Gaussian without a delta", GAUSSIAN, {"delta": 0.0}, "rho"),
    ("a Gaussian for soft", CERTIFICATE, {"noise": "gaussian", "rho": 0.1}, "noise|delta"),
    ("Laplace for soft", CERTIFICATE, {"noise": "discrete laplace", "norm": "l1"}, "noise"),
    ("rho for soft", CERTIFICATE, {"rho": 0.1}, "rho"),
    ("a rho that is too small", GAUSSIAN, {"rho": 1e-9}, "rho"),
    ("no ball for moments", MOMENTS, {"radius": None}, r"radius"),
    (
        "a private auxiliary set",
        CELLS,
        {"neighbours": "replace one party and one auxiliary sample", "auxiliary_digest": None},
        "neighbours",
    ),
    ("no loss for soft", CERTIFICATE, {"loss": "none"}, "loss"),
    ("a bound below the diameter", MOMENTS, {"radius": 1.01}, r"bound"),
    ("the same for cells", CELLS, {"radius": 1.5}, r"bound"),
    ("a sensitivity below its bound", CELLS, {"sensitivity": 1.9}, "sensitivity = 1.9"),
    ("too little noise", CELLS, {"noise_scale": 3.999}, "noise_scale = 3.999"),
    ("too little noise in L2", MOMENTS, {"noise_scale": 3.999}, "noise_scale = 3.999"),
    ("an unknown method", CELLS, {"method": "histogram"}, "method"),
]


@pytest.mark.parametrize(("certificate", "change", "complaint"), [each[1:] for each in HOSTILE], ids=[each[0] for each in HOSTILE])
def test_a_hostile_certificate_is_refused(certificate: Certificate, change: dict[str, Any], complaint: str) -> None:
    content = certificate.to_dict()
    parts = {**content["sensitivity_parts"], **change.get("sensitivity_parts", {})}
    with pytest.raises(FormatError, match=complaint):
        Certificate.from_json(json.dumps({**content, **change, "sensitivity_parts": parts}))
