"""Certificates to try things on: some made by hand of round numbers, one real one of every kind."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np

from ostraka.poll import Poll
from ostraka.public.auxiliary import AuxiliarySet
from ostraka.public.preprocessing import Preprocessing
from ostraka.release.certificate import Certificate, NoisySum, PerturbedMinimiser
from tests.laws.cases import Case, M
from tests.mechanism.worlds import unit_rows

MINIMISER = PerturbedMinimiser(
    calibration="tight",
    loss="logistic",
    lambda_=0.125,
    rule="stability",
    bound=1.0,
    solver=0.25,
    rounding=0.0,
    on_grid=0.125,
    radius=50.0,
    solver_tolerance=1e-10,
    gradient_factor=1.0,
)
SOFT = Certificate(
    method="soft",
    epsilon=0.5,
    delta=0.0,
    round_epsilon=0.5,
    round_delta=0.0,
    neighbours="replace one party",
    parties=8,
    auxiliary_samples=100,
    auxiliary_digest="ab" * 32,
    sensitivity=1.375,
    noise="l2",
    noise_scale=2.75,
    grid=2.0**-20,
    dimension=7,
    coordinates="all features",
    particular=MINIMISER,
    poll="ef" * 32,
)
CELLS = replace(
    SOFT,
    method="cells",
    sensitivity=2.0,
    norm="l1",
    noise="discrete laplace",
    noise_scale=4.0,
    dimension=30,
    coordinates="10 cells, 3 classes",
    particular=NoisySum(radius=1.0),
)
MOMENTS = replace(
    CELLS, method="moments", noise="l2", norm="l2", coordinates="5 whitened directions"
)
WITH_DELTA = replace(MOMENTS, delta=1e-6, round_delta=1e-6, noise_scale=1.5)
GAUSSIAN = replace(WITH_DELTA, noise="gaussian", noise_scale=20.0, rho=0.005)
CONSENSUS = replace(MOMENTS, method="consensus", particular=NoisySum(radius=None))
AVG = replace(MOMENTS, method="avg", auxiliary_samples=None, auxiliary_digest=None)
PERSONS = replace(MOMENTS, neighbours="replace one person", parties=3, persons=700)
ROWS = replace(CELLS, neighbours="replace one row", parties=900)
REFINE = replace(
    MOMENTS,
    method="refine",
    epsilon=3.5,
    delta=1e-7,
    start="cd" * 32,
    start_epsilon=3.0,
    start_delta=1e-7,
)
SUMS = {
    "cells": CELLS,
    "moments": MOMENTS,
    "moments with a delta": WITH_DELTA,
    "a gaussian": GAUSSIAN,
    "consensus": CONSENSUS,
    "avg": AVG,
    "persons": PERSONS,
    "rows": ROWS,
    "refine": REFINE,
}
BY_HAND = {"soft": SOFT, **SUMS}


@cache
def real(method: str, calibration: str, n_classes: int = 2, **options: Any) -> Certificate:
    """What a poll by one of the paper's methods promises, with a public auxiliary set."""
    case = Case(method, n_classes, calibration=calibration)
    return case.poll(**options).certificate(M)


@cache
def real_private(method: str, calibration: str, n_classes: int = 2, **options: Any) -> Certificate:
    """The same, where the auxiliary samples are secret too."""
    samples = unit_rows(np.random.default_rng(0), 60, 5)
    classes, public = tuple(range(n_classes)), Preprocessing()
    auxiliary = AuxiliarySet(samples, classes, preprocessing=public, private=True)
    asked = {"epsilon": 1.0, "parties": 40, "calibration": calibration, **options}
    return Poll.create(auxiliary, method=method, **asked).certificate(40)


def as_dict(certificate: Certificate) -> dict[str, Any]:
    content: dict[str, Any] = json.loads(certificate.to_json())
    return content


def changed(certificate: Certificate, change: dict[str, Any]) -> str:
    """Its JSON with other values; those under `particular` are changed one by one."""
    content = as_dict(certificate)
    own = {**content["particular"], **change.get("particular", {})}
    return json.dumps({**content, **change, "particular": own})
