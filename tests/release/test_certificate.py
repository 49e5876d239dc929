"""A certificate says what it promises, and one that contradicts itself cannot be made or read."""

from __future__ import annotations

import contextlib
import json
import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ostraka.errors import FormatError, OstrakaError, ParameterError
from ostraka.mechanism.bounds import minimiser_radius
from ostraka.public.catalogue import LABEL_GAPS, SLOPE_BOUNDS
from ostraka.release.certificate import (
    AND_ONE_SAMPLE,
    Certificate,
    NoisySum,
    PerturbedMinimiser,
    neighbours_of,
    sum_up,
)
from ostraka.solve.losses import HuberHinge, Logistic, Softmax
from tests.release.promised import (
    AVG,
    BY_HAND,
    CELLS,
    CONSENSUS,
    GAUSSIAN,
    MINIMISER,
    MOMENTS,
    PERSONS,
    REFINE,
    ROWS,
    SOFT,
    SUMS,
    WITH_DELTA,
    as_dict,
    changed,
    real,
    real_private,
)

COMMON = {
    "format", "method", "epsilon", "delta", "round_epsilon", "round_delta", "neighbours", "parties",
    "persons", "auxiliary_samples", "auxiliary_digest", "sensitivity", "norm", "noise", "rho",
    "noise_scale", "grid", "dimension", "coordinates", "particular", "poll", "start",
    "start_epsilon", "start_delta", "randomness", "assumed_public",
}  # fmt: skip
OF_A_MINIMISER = {
    "kind", "calibration", "loss", "lambda", "rule", "bound", "solver", "rounding", "on_grid",
    "radius", "solver_tolerance", "gradient_factor",
}  # fmt: skip

every_one = pytest.mark.parametrize("certificate", BY_HAND.values(), ids=BY_HAND)


# ---- as JSON -------------------------------------------------------------------------------------


@every_one
def test_json_comes_back_and_is_canonical(certificate: Certificate) -> None:
    text = certificate.to_json()
    assert Certificate.from_json(text) == certificate
    assert text == json.dumps(json.loads(text), sort_keys=True, separators=(",", ":"))
    assert json.loads(text)["format"] == 4


@pytest.mark.parametrize("certificate", [MOMENTS, CELLS, WITH_DELTA], ids=["l2", "l1", "delta"])
def test_two_servers_are_in_format_5_alone(certificate: Certificate) -> None:
    """Without them a certificate keeps the form, and so the digest, that it always had."""
    assert "servers" not in json.loads(certificate.to_json())
    sealed = replace(certificate, servers=("a (key)", "b (key)"))
    text = sealed.to_json()
    assert Certificate.from_json(text) == sealed
    assert json.loads(text)["format"] == 5
    assert sealed.digest != certificate.digest
    for words in ("coordinator, a (key), or the trustee, b (key), is honest", "Each of the two"):
        assert words in str(sealed)
    assert (sealed.n_noises, certificate.n_noises) == (2, 1)
    for number, servers in ((4, ["a", "b"]), (5, []), (5, ["a"]), (5, ["a", "a"]), (5, "ab")):
        content = json.loads(text) | {"format": number, "servers": servers}
        with pytest.raises(FormatError):
            Certificate.from_json(json.dumps(content))
    content = json.loads(text)
    del content["servers"]
    with pytest.raises(FormatError):
        Certificate.from_json(json.dumps(content))


def test_a_minimiser_has_one_server() -> None:
    with pytest.raises(ParameterError, match="none, for a minimiser"):
        replace(SOFT, servers=("a", "b"))


@every_one
def test_nothing_in_it_can_have_come_from_private_data(certificate: Certificate) -> None:
    """The fields are a closed list: a new one has to be thought about here."""
    content = as_dict(certificate)
    assert set(content) == COMMON
    own = OF_A_MINIMISER if certificate is SOFT else {"kind", "radius"}
    assert set(content["particular"]) == own


def test_a_digest_tells_any_two_apart() -> None:
    digests = {certificate.digest for certificate in BY_HAND.values()}
    assert len(digests) == len(BY_HAND)
    assert all(len(bytes.fromhex(digest)) == 32 for digest in digests)
    assert replace(SOFT, assumed_public=("classes",)).digest != SOFT.digest
    assert Certificate.from_json(SOFT.to_json()).digest == SOFT.digest


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "not JSON"),
        ("[" * 100_000, "not JSON"),
        ("[]", "not a JSON object"),
        (changed(SOFT, {"format": 99}), "format"),
        (changed(SOFT, {"format": 0}), "format"),
        (changed(SOFT, {"format": True}), "format"),
        (changed(SOFT, {"format": "4"}), "format"),
        (changed(SOFT, {"format": 4.0}), "format"),
        (changed(SOFT, {"format": None}), "format"),
        (changed(SOFT, {"format": []}), "format"),
        (changed(SOFT, {"extra": 1}), r"unknown fields \['extra'\]"),
        (changed(SOFT, {"epsilon": "1"}), "epsilon is '1', not float"),
        (changed(SOFT, {"parties": True}), "parties is True, not int"),
        (changed(SOFT, {"parties": 1.5}), "parties is 1.5, not int"),
        (changed(SOFT, {"method": []}), "method"),
        (changed(SOFT, {"method": None}), "method"),
        (changed(SOFT, {"round_epsilon": -1.0}), "epsilon"),
        (changed(SOFT, {"assumed_public": "classes"}), "assumed_public is not a list of texts"),
        (changed(SOFT, {"assumed_public": [1]}), "assumed_public is not a list of texts"),
        (changed(SOFT, {"assumed_public": ["a\nb"]}), "assumed_public"),
        (changed(SOFT, {"coordinates": "\x1b[2J"}), "coordinates"),
        (changed(SOFT, {"particular": {"kind": "trust me"}}), "particular is not one of"),
        (changed(SOFT, {"particular": {"kind": []}}), "particular is not one of"),
        (changed(SOFT, {"particular": {"lambda_": 1.0}}), r"unknown fields \['lambda_'\]"),
        (changed(SOFT, {"particular": {"bound": 10**400}}), "too large"),
        (changed(SOFT, {"parties": 10**400}), "too large"),
        (changed(SOFT, {"dimension": 10**400}), "too large"),
        (changed(SOFT, {"round_epsilon": 1.0}).replace("1.0", "NaN", 1), "not JSON"),
        (changed(SOFT, {"round_epsilon": 1.5}).replace("1.5", "1e999", 1), "JSON"),
        (json.dumps({**as_dict(SOFT), "particular": None}), "particular is not one of"),
        (json.dumps({**as_dict(SOFT), "particular": []}), "particular is not one of"),
        (json.dumps({**as_dict(SOFT), "particular": {"kind": "noisy sum"}}), "missing fields"),
        (SOFT.to_json().replace('"method"', '"motto"'), "motto"),
    ],
)
def test_a_damaged_certificate_is_refused(text: str, complaint: str) -> None:
    with pytest.raises(FormatError, match=complaint):
        Certificate.from_json(text)


@pytest.mark.parametrize("name", sorted(COMMON))
def test_every_field_is_needed(name: str) -> None:
    content = as_dict(SOFT)
    del content[name]
    with pytest.raises(FormatError):
        Certificate.from_json(json.dumps(content))


@pytest.mark.parametrize("name", sorted(OF_A_MINIMISER))
def test_every_field_of_a_minimiser_is_needed(name: str) -> None:
    content = as_dict(SOFT)
    del content["particular"][name]
    with pytest.raises(FormatError, match=f"{name}|particular"):
        Certificate.from_json(json.dumps(content))


anything = st.recursive(
    st.none() | st.booleans() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@given(anything)
def test_any_json_gives_a_certificate_or_a_format_error(content: Any) -> None:
    with pytest.raises(OstrakaError):
        Certificate.from_json(json.dumps(content))


@given(
    st.sampled_from(list(BY_HAND.values())),
    st.sampled_from(sorted(COMMON | OF_A_MINIMISER)),
    anything | st.integers(),
    st.integers(1, 5),
)
def test_any_value_in_any_field_gives_a_certificate_or_a_format_error(
    certificate: Certificate, name: str, value: Any, number: int
) -> None:
    content = as_dict(certificate) | {"format": number}
    (content if name in COMMON else content["particular"])[name] = value
    with contextlib.suppress(FormatError):
        assert isinstance(Certificate.from_json(json.dumps(content)), Certificate)


# ---- what does not add up ------------------------------------------------------------------------

WITH_A_SAMPLE = f"replace one party{AND_ONE_SAMPLE}"
CONTRADICTIONS: list[tuple[str, Certificate, dict[str, Any], str]] = [
    ("no epsilon", SOFT, {"round_epsilon": 0.0}, "epsilon"),
    ("an epsilon below 0", SOFT, {"round_epsilon": -0.5}, "epsilon"),
    ("a total that is no total", SOFT, {"epsilon": 0.4}, "what all rounds cost"),
    ("a lambda below 0", SOFT, {"particular": {"lambda": -1.0}}, "lambda"),
    ("a delta for soft", SOFT, {"delta": 1e-6, "round_delta": 1e-6}, "delta"),
    ("a delta for discrete Laplace", CELLS, {"delta": 1e-6, "round_delta": 1e-6}, "delta"),
    ("a delta below 0", MOMENTS, {"delta": -1e-6, "round_delta": -1e-6}, "delta"),
    ("a delta of 1", WITH_DELTA, {"delta": 1.0, "round_delta": 1.0}, "delta"),
    ("a delta that is not its own", WITH_DELTA, {"delta": 1e-7}, "what all rounds cost"),
    ("no party", SOFT, {"parties": 0}, "parties"),
    ("no coordinate", SOFT, {"dimension": 0}, "parties, dimension, samples"),
    ("no sample", SOFT, {"auxiliary_samples": -1}, "parties, dimension, samples"),
    ("of zero samples", SOFT, {"auxiliary_samples": 0}, "parties, dimension, samples"),
    ("unknown neighbours", SOFT, {"neighbours": "replace one sample"}, "neighbours"),
    ("an unknown method", CELLS, {"method": "histogram"}, "method"),
    ("the method auto", CELLS, {"method": "auto"}, "method"),
    ("unknown noise", SOFT, {"noise": "none"}, "noise"),
    ("unknown randomness", SOFT, {"randomness": "dice"}, "randomness"),
    ("a digest that is none", SOFT, {"poll": "AB" * 32}, "poll"),
    ("a digest that is too short", SOFT, {"auxiliary_digest": "ab"}, "auxiliary_digest"),
    ("a sensitivity below its parts", SOFT, {"sensitivity": 1.37}, "sensitivity"),
    ("too little noise", SOFT, {"noise_scale": 2.7}, "noise_scale"),
    ("too little noise in L1", CELLS, {"noise_scale": 3.999}, "noise_scale = 3.999"),
    ("too little noise in L2", MOMENTS, {"noise_scale": 3.999}, "noise_scale = 3.999"),
    ("a grid that is no power of two", SOFT, {"grid": 0.3}, "grid"),
    ("a grid without its share", SOFT, {"grid": 0.25}, "on_grid"),
    ("a part below 0", SOFT, {"particular": {"rounding": -1e9}}, "rounding"),
    ("an unknown rule", SOFT, {"particular": {"rule": "trust me"}}, "rule"),
    ("an unknown loss", SOFT, {"particular": {"loss": "none"}}, "loss"),
    ("an unknown calibration", SOFT, {"particular": {"calibration": "loose"}}, "calibration"),
    ("a solver that is not counted", SOFT, {"particular": {"solver_tolerance": 1.0}}, "solver"),
    ("a solver that is not stated", SOFT, {"particular": {"solver_tolerance": None}}, "solver"),
    ("a Gaussian for soft", SOFT, {"noise": "gaussian", "rho": 0.1}, "noise|delta"),
    ("Laplace for soft", SOFT, {"noise": "discrete laplace", "norm": "l1"}, "noise"),
    ("rho for soft", SOFT, {"rho": 0.1}, "rho"),
    ("a Gaussian without rho", GAUSSIAN, {"rho": None}, "rho"),
    ("a Gaussian with rho 0", GAUSSIAN, {"rho": 0.0}, "rho"),
    ("a Gaussian without a delta", GAUSSIAN, {"delta": 0.0, "round_delta": 0.0}, "delta"),
    ("a rho that is too small", GAUSSIAN, {"rho": 0.00499999}, "rho"),
    ("l1 with l2 noise", MOMENTS, {"norm": "l1"}, "norm"),
    ("l2 with discrete Laplace noise", CELLS, {"norm": "l2"}, "norm"),
    ("another norm", CELLS, {"norm": "linf"}, "norm"),
    ("another method's noise", CELLS, {"noise": "l2", "norm": "l2"}, "noise"),
    ("cells' noise", REFINE, {"noise": "discrete laplace", "norm": "l1"}, "noise"),
    ("a ball without extent", MOMENTS, {"particular": {"radius": 0.0}}, "radius"),
    ("a ball below 0", REFINE, {"particular": {"radius": -1.0}}, "radius"),
    ("no ball for moments", MOMENTS, {"particular": {"radius": None}}, "radius"),
    ("no ball for avg", AVG, {"particular": {"radius": None}}, "radius"),
    ("a ball for votes", CONSENSUS, {"particular": {"radius": 0.5}}, "radius"),
    ("a ball beyond the sensitivity", MOMENTS, {"particular": {"radius": 1.01}}, "radius"),
    ("the same for cells", CELLS, {"particular": {"radius": 1.5}}, "radius"),
    ("half the sensitivity", CELLS, {"sensitivity": 1.0, "noise_scale": 2.0}, "radius"),
    ("no auxiliary set", REFINE, {"auxiliary_digest": None}, "auxiliary_digest"),
    ("of no size", CELLS, {"auxiliary_samples": None}, "auxiliary_digest"),
    ("too many numbers", REFINE, {"dimension": 10**9}, "dimension"),
    ("a sample with cells", CELLS, {"neighbours": WITH_A_SAMPLE}, "neighbours"),
    ("a second round from nowhere", REFINE, {"start": None}, "start"),
    ("a second round for nothing", REFINE, {"start_epsilon": 0.0, "epsilon": 0.5}, "start_epsilon"),
    ("a first round below 0", REFINE, {"start_delta": -1e-6, "delta": -1e-6}, "start_delta"),
    ("a first round with a delta above 1", REFINE, {"start_delta": 2.0}, "start_delta"),
    ("a start for a first round", MOMENTS, {"start": "cd" * 32}, "start"),
    ("a start that is no digest", REFINE, {"start": "first.ostraka"}, "start"),
    ("a second round that hides the first", REFINE, {"epsilon": 0.5}, "what all rounds cost"),
    ("a second round that hides its delta", REFINE, {"delta": 0.0}, "what all rounds cost"),
    ("persons who are not counted", PERSONS, {"persons": None}, "persons, neighbours"),
    ("persons who are not protected", MOMENTS, {"persons": 700}, "persons, neighbours"),
    ("persons among rows", ROWS, {"persons": 700}, "persons, neighbours"),
    ("nobody", PERSONS, {"persons": 0}, "parties"),
    ("less than nobody", PERSONS, {"persons": -3}, "parties"),
    ("no holder", PERSONS, {"parties": 0}, "parties"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("certificate", "change", "complaint"),
    [each[1:] for each in CONTRADICTIONS],
    ids=[each[0] for each in CONTRADICTIONS],
)
def test_a_certificate_that_contradicts_itself_is_refused(
    certificate: Certificate, change: dict[str, Any], complaint: str
) -> None:
    with pytest.raises(FormatError, match=complaint):
        Certificate.from_json(changed(certificate, change))


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("name", ["round_epsilon", "sensitivity", "noise_scale", "grid"])
def test_what_is_no_number_is_refused(name: str, number: float) -> None:
    with pytest.raises(ParameterError, match=f"{name} = .*positive finite number"):
        replace(MOMENTS, **{name: number})


@pytest.mark.parametrize("number", [math.nan, math.inf])
@pytest.mark.parametrize("name", ["bound", "solver", "rounding", "on_grid", "lambda_"])
def test_what_is_no_number_is_refused_among_the_parts(name: str, number: float) -> None:
    with pytest.raises(ParameterError, match=name.rstrip("_")):
        replace(SOFT, particular=replace(MINIMISER, **{name: number}))


@given(st.floats(1e-6, 1e6), st.floats(1e-6, 1e6))
def test_every_accepted_scale_covers_the_sensitivity_exactly(scale: float, epsilon: float) -> None:
    enough = Fraction(scale) * Fraction(epsilon) >= Fraction(SOFT.sensitivity)
    try:
        replace(SOFT, noise_scale=scale, epsilon=epsilon, round_epsilon=epsilon)
    except ParameterError:
        assert not enough
    else:
        assert enough


@pytest.mark.parametrize("method", ["moments", "cells", "consensus", "refine"])
def test_the_methods_that_release_a_sum_have_no_minimiser(method: str) -> None:
    given = next(each for each in SUMS.values() if each.method == method)
    with pytest.raises(ParameterError, match=f"a minimiser.*what {method} is"):
        replace(given, particular=MINIMISER, **_norms("l2"))


@pytest.mark.parametrize("method", ["soft", "vote"])
def test_the_methods_that_release_a_minimiser_have_no_sum(method: str) -> None:
    with pytest.raises(ParameterError, match=f"a noisy sum.*what {method} is"):
        replace(SOFT, method=method, particular=NoisySum(radius=0.5))


def test_avg_is_a_sum_and_was_a_minimiser() -> None:
    """In formats 1 to 3 the noise was on the mean of the parameters: 2b/M, by one of two rules."""
    assert Certificate.from_json(AVG.to_json()).particular == NoisySum(radius=1.0)
    ball = replace(MINIMISER, rule="ball", bound=1.0, radius=4.0, solver_tolerance=None, solver=0.0)
    old = replace(SOFT, method="avg", particular=ball, poll=None)
    assert replace(old, particular=replace(ball, rule="paper")).sensitivity == SOFT.sensitivity
    with pytest.raises(ParameterError, match="rule"):
        replace(old, particular=replace(ball, rule="stability"))
    with pytest.raises(ParameterError, match="bound"):
        replace(old, particular=replace(ball, radius=4.1))


def _norms(norm: str) -> dict[str, str]:
    return {"norm": norm, "noise": "l2" if norm == "l2" else "discrete laplace"}


# ---- the bound against λ, M, N, κ, μ -------------------------------------------------------------

REAL = {
    "soft, stability": real("soft", "tight", lambda_=0.1),
    "soft, stability, softmax": real("soft", "tight", 3, lambda_=0.1),
    "soft, stability, huber": real("soft", "tight", lambda_=0.1, loss="huber"),
    "soft, ball": real("soft", "tight", lambda_=1e-6),
    "soft, paper": real("soft", "paper", lambda_=0.1),
    "soft, paper, softmax": real("soft", "paper", 3, lambda_=0.1),
    "vote, stability": real("vote", "tight", lambda_=5.0),
    "vote, stability, softmax": real("vote", "tight", 3, lambda_=5.0),
    "vote, ball": real("vote", "tight", lambda_=1e-4),
    "vote, paper": real("vote", "paper", lambda_=0.1),
    "vote, paper, softmax": real("vote", "paper", 3, lambda_=0.1),
    "private, soft, stability": real_private("soft", "tight", lambda_=5.0),
    "private, soft, stability, softmax": real_private("soft", "tight", 3, lambda_=5.0),
    "private, soft, stability, huber": real_private("soft", "tight", lambda_=5.0, loss="huber"),
    "private, soft, ball": real_private("soft", "tight", lambda_=1e-6),
    "private, soft, paper": real_private("soft", "paper", lambda_=0.1),
    "private, soft, paper, softmax": real_private("soft", "paper", 3, lambda_=0.1),
    "private, vote, ball": real_private("vote", "tight", lambda_=1e-4),
    "private, vote, paper": real_private("vote", "paper", lambda_=0.1),
}
every_real_one = pytest.mark.parametrize("name", REAL)


def own(certificate: Certificate) -> PerturbedMinimiser:
    assert isinstance(certificate.particular, PerturbedMinimiser)
    return certificate.particular


def with_own(certificate: Certificate, **change: Any) -> Certificate:
    return replace(certificate, particular=replace(own(certificate), **change))


@every_real_one
def test_the_cases_are_what_they_are_called(name: str) -> None:
    parts, certificate = name.split(", "), REAL[name]
    private = parts[0] == "private"
    method, rule, *loss = parts[1:] if private else parts
    found = (certificate.method, own(certificate).rule, own(certificate).loss)
    assert found == (method, rule, *(loss or ["logistic"]))
    assert certificate.neighbours.endswith(AND_ONE_SAMPLE) is private
    assert Certificate.from_json(certificate.to_json()) == certificate


@every_real_one
def test_a_smaller_bound_is_refused(name: str) -> None:
    """Even if sensitivity and noise are as small as it would have them."""
    certificate = REAL[name]
    for share in (0.5, 0.999999):
        smaller = {"particular": replace(own(certificate), bound=share * own(certificate).bound)}
        with pytest.raises(ParameterError, match=r"bound = .* or more, for its λ, M, κ"):
            replace(certificate, **smaller)
        noise = {"sensitivity": share * certificate.sensitivity}
        noise["noise_scale"] = share * certificate.noise_scale
        with pytest.raises(ParameterError, match=r"bound|sensitivity"):
            replace(certificate, **smaller, **noise)


@every_real_one
def test_a_larger_bound_needs_a_larger_sensitivity(name: str) -> None:
    certificate = REAL[name]
    bound = 2.0 * own(certificate).bound
    with pytest.raises(ParameterError, match="at least the sum of its parts"):
        with_own(certificate, bound=bound)
    larger = 4.0 * certificate.sensitivity
    accepted = replace(
        certificate,
        sensitivity=larger,
        noise_scale=4.0 * certificate.noise_scale,
        particular=replace(own(certificate), bound=bound),
    )
    assert accepted.sensitivity == larger


@pytest.mark.parametrize("name", [name for name in REAL if "ball" not in name])
def test_a_weaker_regulariser_is_refused(name: str) -> None:
    with pytest.raises(ParameterError, match="bound"):
        with_own(REAL[name], lambda_=own(REAL[name]).lambda_ / 2.0)


@pytest.mark.parametrize("name", ["soft, stability", "soft, paper", "soft, paper, softmax"])
def test_fewer_parties_are_refused_for_soft(name: str) -> None:
    with pytest.raises(ParameterError, match="bound"):
        replace(REAL[name], parties=REAL[name].parties - 1)


def test_fewer_parties_or_samples_are_refused_for_a_private_set() -> None:
    certificate = REAL["private, soft, stability"]
    for change in ({"parties": 20}, {"auxiliary_samples": 30}, {"auxiliary_samples": None}):
        with pytest.raises(ParameterError, match="bound"):
            replace(certificate, **change)


def test_persons_are_the_shares_where_persons_are_protected() -> None:
    certificate = REAL["soft, stability"]
    persons = {"neighbours": "replace one person", "persons": certificate.parties}
    accepted = replace(certificate, parties=2, **persons)
    assert (accepted.n_units, accepted.parties) == (certificate.parties, 2)
    with pytest.raises(ParameterError, match="bound"):
        replace(certificate, neighbours="replace one person", persons=certificate.parties - 1)


def test_another_loss_is_refused() -> None:
    for name in ("soft, stability", "vote, stability", "private, soft, stability"):
        for loss in ("huber", "softmax"):
            with pytest.raises(ParameterError, match="bound"):
                with_own(REAL[name], loss=loss)


def test_another_factor_is_refused() -> None:
    certificate = REAL["soft, stability"]
    assert own(certificate).gradient_factor < 1.0  # type: ignore[operator]
    for factor in (1.0, 1.5, -0.5, math.nan):
        with pytest.raises(ParameterError, match="bound"):
            with_own(certificate, gradient_factor=factor)
    with pytest.raises(ParameterError, match="bound"):
        with_own(certificate, gradient_factor=None)
    # Certificates of formats 1 to 3 did not state it, and came from no poll.
    assert with_own(replace(certificate, poll=None), gradient_factor=None).poll is None


def test_a_ball_is_as_wide_as_its_radius() -> None:
    for name in ("soft, ball", "vote, ball", "private, soft, ball"):
        certificate = REAL[name]
        loss = {"logistic": Logistic(), "softmax": Softmax(3)}[own(certificate).loss]
        assert own(certificate).radius == minimiser_radius(loss, own(certificate).lambda_)
        for radius in (1.001 * own(certificate).radius, None):  # type: ignore[operator]
            with pytest.raises(ParameterError, match="bound"):
                with_own(certificate, radius=radius)


def test_a_private_set_has_no_digest() -> None:
    certificate = REAL["private, soft, stability"]
    assert certificate.auxiliary_digest is None
    assert certificate.auxiliary_samples == 60
    with pytest.raises(ParameterError, match="none for a private auxiliary set"):
        replace(certificate, auxiliary_digest="ab" * 32)


def test_the_constants_are_those_of_the_losses() -> None:
    for loss in (Logistic(), HuberHinge(), Softmax(5)):
        assert LABEL_GAPS[loss.name] == loss.label_gap
        assert SLOPE_BOUNDS[loss.name] == loss.slope_bound


# ---- rounds --------------------------------------------------------------------------------------


def test_epsilon_is_what_the_file_costs_and_round_epsilon_what_the_round_does() -> None:
    content = as_dict(REFINE)
    assert (content["epsilon"], content["delta"]) == (3.5, 1e-7)
    assert (content["round_epsilon"], content["round_delta"]) == (0.5, 0.0)
    assert (content["start_epsilon"], content["start_delta"]) == (3.0, 1e-7)
    first = as_dict(MOMENTS)
    assert first["epsilon"] == first["round_epsilon"] == 0.5
    assert first["start"] is None


def test_a_second_round_states_what_the_first_one_cost() -> None:
    text = str(REFINE)
    assert "ε = 3.5 differential privacy (δ = 1e-7)" in text
    assert "This round alone costs ε = 0.5 (δ = 0)." in text
    assert "started from the release cdcdcdcdcdcd, which had cost ε = 3 (δ = 1e-7)" in text
    assert "This round alone" not in str(MOMENTS)


@given(st.floats(1e-12, 1e12), st.floats(1e-12, 1e12))
def test_sums_are_rounded_up_and_by_one_double_at_most(one: float, other: float) -> None:
    total = sum_up(one, other)
    assert Fraction(total) >= Fraction(one) + Fraction(other)
    below = math.nextafter(total, 0.0)
    assert Fraction(below) < Fraction(one) + Fraction(other)


def test_totals_are_rounded_up() -> None:
    third = sum_up(0.1, 0.2)
    accepted = replace(
        REFINE, epsilon=third, round_epsilon=0.1, noise_scale=20.0, start_epsilon=0.2
    )
    assert Fraction(accepted.epsilon) >= Fraction(0.1) + Fraction(0.2)
    below = math.nextafter(third, 0.0)
    with pytest.raises(ParameterError, match="what all rounds cost"):
        replace(accepted, epsilon=below)
    tiny = {"round_epsilon": 1e-17, "start_epsilon": 1.0, "noise_scale": 1e18}
    with pytest.raises(ParameterError, match="what all rounds cost"):
        replace(REFINE, epsilon=1.0, **tiny)
    assert replace(REFINE, epsilon=math.nextafter(1.0, 2.0), **tiny).epsilon > 1.0


# ---- in words ------------------------------------------------------------------------------------


def test_it_speaks_plainly() -> None:
    text = str(SOFT)
    assert "ε = 0.5 differential privacy for one party's whole data set" in text
    assert "between two versions of one party's data" in text
    assert "right at most 62.3% of the time" in text
    assert "among 8 parties" in text
    assert "moves the result by at most 1.375" in text
    assert "ℓ2 noise of scale 2.75 hides that, in 7 coordinates" in text
    assert "λ = 0.125" in text
    assert "REHEARSAL" not in text
    assumed = str(replace(SOFT, assumed_public=("classes", "names")))
    told = "the list of classes, which was read from the parties' labels; names."
    assert f"Taken to be public: {told}" in assumed


@pytest.mark.parametrize("certificate", SUMS.values(), ids=SUMS)
def test_a_sums_certificate_speaks_plainly(certificate: Certificate) -> None:
    text = str(certificate)
    assert "moves the sum by at most 2" in text
    assert certificate.coordinates in text
    assert ("in L1" in text) == (certificate.norm == "l1")


def test_whom_it_protects_in_words() -> None:
    assert "among 700 persons at 3 holders" in str(PERSONS)
    assert "one person's whole data" in str(PERSONS)
    assert "trusted to have bounded what each of its persons adds" in str(PERSONS)
    assert "two holders is protected for 2ε" in str(PERSONS)
    assert "one row, among 900 rows" in str(ROWS)
    assert "holder" not in str(MOMENTS) + str(ROWS)
    text = str(REAL["private, soft, stability"])
    assert "one party's whole data set and one auxiliary sample, among 40 parties" in text
    assert "A REHEARSAL with seeded noise" in str(replace(SOFT, randomness="seed"))


def test_units() -> None:
    units = [(each.protects, each.n_units) for each in (MOMENTS, PERSONS, ROWS)]
    assert units == [("party", 8), ("person", 700), ("row", 900)]
    assert REAL["private, soft, ball"].protects == "party"
    assert neighbours_of("person") == "replace one person"
    assert neighbours_of("party", private_auxiliary=True) == f"replace one party{AND_ONE_SAMPLE}"
    for unit in ("person", "row"):
        with pytest.raises(ParameterError, match="party, where the auxiliary set is private too"):
            neighbours_of(unit, private_auxiliary=True)  # type: ignore[arg-type]
