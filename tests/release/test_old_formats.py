"""Files of earlier formats stay readable, and mean what they meant.

The releases in `files` (release format 1, certificate format 3) were written by the last commit
before the redesign, each from 40 made-up parties; `expected.json` holds what that code predicted
for a dozen samples, the digest it gave, and what it said all rounds cost. `refine` started from
`moments`. The certificates of formats 1 and 2 are those of the same releases, without the fields
that came later.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from ostraka.errors import FormatError, ParameterError
from ostraka.ledger import Budget, Cost, Ledger
from ostraka.mechanism.laws import verify
from ostraka.poll import Poll
from ostraka.public.auxiliary import AuxiliarySet
from ostraka.public.columns import Columns
from ostraka.publishing import publish
from ostraka.release import Release
from ostraka.release.certificate import Certificate, NoisySum, PerturbedMinimiser, sum_up
from ostraka.release.kernel_model import KernelModel
from ostraka.release.outlook import Outlook
from ostraka.tally import Tally
from ostraka.tensors import read_tensors, write_tensors
from tests.release.promised import MOMENTS

FILES = Path(__file__).parent / "files"
EXPECTED = json.loads((FILES / "expected.json").read_text("utf-8"))
SAMPLES = np.array(EXPECTED["samples"])
NAMES = list(EXPECTED["releases"])
KERNEL = json.loads((FILES / "kernel-6.json").read_text("utf-8"))
OLD_CERTIFICATES = sorted(path.name for path in FILES.glob("*-certificate-?.json"))

every_release = pytest.mark.parametrize("name", NAMES)
every_certificate = pytest.mark.parametrize("file", OLD_CERTIFICATES)


def path_of(name: str) -> Path:
    return FILES / f"{name}-1.ostraka"


def written(name: str) -> dict[str, Any]:
    """The certificate as it stands in the file."""
    _, metadata = read_tensors(path_of(name).read_bytes(), "release")
    content: dict[str, Any] = json.loads(metadata["certificate"])
    return content


def flat(file: str) -> dict[str, Any]:
    content: dict[str, Any] = json.loads((FILES / file).read_text("utf-8"))
    return content


def check_meaning(promised: Certificate, content: dict[str, Any]) -> None:
    """Every number of a flat certificate is where it now belongs."""
    parts = content["sensitivity_parts"]
    before = (content.get("start_epsilon", 0.0), content.get("start_delta", 0.0))
    assert (promised.round_epsilon, promised.round_delta) == (content["epsilon"], content["delta"])
    assert (promised.start_epsilon, promised.start_delta) == before
    assert promised.epsilon == sum_up(content["epsilon"], before[0])
    assert promised.delta == sum_up(content["delta"], before[1])
    assert (promised.norm, promised.rho) == (content.get("norm", "l2"), content.get("rho"))
    assert (promised.start, promised.persons, promised.poll) == (content.get("start"), None, None)
    same = ("method", "neighbours", "parties", "sensitivity", "noise", "noise_scale", "grid")
    same += ("auxiliary_samples", "auxiliary_digest", "dimension", "coordinates", "randomness")
    assert {name: getattr(promised, name) for name in same} == {
        name: content[name] for name in same
    }
    assert list(promised.assumed_public) == content["assumed_public"]
    own = promised.particular
    assert own.radius == content["radius"]
    if isinstance(own, NoisySum):
        assert content["lambda"] is None
        return
    assert (own.lambda_, own.solver_tolerance) == (content["lambda"], content["solver_tolerance"])
    assert (own.calibration, own.loss) == (content["calibration"], content["loss"])
    found = {"rule": own.rule, "bound": own.bound, "solver": own.solver, "rounding": own.rounding}
    assert {**found, "grid": own.on_grid} == parts
    assert own.gradient_factor is None


def test_there_is_a_file_of_every_kind() -> None:
    contents = [written(name) for name in NAMES]
    assert {content["method"] for content in contents} == {
        "soft", "vote", "avg", "cells", "moments", "consensus", "refine",
    }  # fmt: skip
    assert {content["format"] for content in contents} == {3}
    rules = {(content["method"], content["sensitivity_parts"]["rule"]) for content in contents}
    assert rules >= {
        ("soft", "stability"),
        ("soft", "paper"),
        ("vote", "stability"),
        ("vote", "ball"),
    }
    assert rules >= {("avg", "ball"), ("avg", "paper")}
    assert {content["noise"] for content in contents} == {"l2", "discrete laplace", "gaussian"}
    assert {content["loss"] for content in contents} == {"logistic", "softmax", "huber", "none"}
    assert any("auxiliary sample" in content["neighbours"] for content in contents)
    formats = [flat(file)["format"] for file in OLD_CERTIFICATES]
    assert (formats.count(1), formats.count(2)) == (7, 6)


@every_release
def test_an_old_release_predicts_what_it_predicted(name: str) -> None:
    release, expected = Release.load(path_of(name)), EXPECTED["releases"][name]
    assert release.predict(SAMPLES).tolist() == expected["predictions"]
    probabilities = np.array(expected["probabilities"])
    assert np.abs(release.predict_proba(SAMPLES) - probabilities).max() <= 1e-12
    assert release.statistic is None
    assert release.poll is None


@every_release
def test_an_old_release_promises_what_it_promised(name: str) -> None:
    promised, expected = Release.load(path_of(name)).certificate, EXPECTED["releases"][name]
    check_meaning(promised, written(name))
    totals = (expected["total_epsilon"], expected["total_delta"])
    assert (promised.epsilon, promised.delta) == totals
    kind = PerturbedMinimiser if promised.method in ("soft", "vote", "avg") else NoisySum
    assert isinstance(promised.particular, kind)
    assert verify(promised) <= promised.round_delta


@every_release
def test_an_old_release_keeps_the_name_that_ledgers_and_second_rounds_know(name: str) -> None:
    data = path_of(name).read_bytes()
    release = Release.load(path_of(name))
    digest = EXPECTED["releases"][name]["digest"]
    assert release.digest == hashlib.sha256(data).hexdigest() == digest


@every_release
def test_an_old_release_is_written_in_the_present_format(name: str, tmp_path: Path) -> None:
    release = Release.load(path_of(name))
    release.save(tmp_path / "again")
    _, metadata = read_tensors((tmp_path / "again").read_bytes(), "release")
    assert metadata["ostraka"] == "4"
    assert json.loads(metadata["certificate"])["format"] == 4
    again = Release.load(tmp_path / "again")
    assert again.certificate == release.certificate
    assert again.model.task == release.model.task
    assert (again.model.weights == release.model.weights).all()
    assert again.to_bytes() == release.to_bytes()
    assert again.digest == hashlib.sha256(release.to_bytes()).hexdigest() != release.digest


@every_release
def test_an_old_release_cannot_be_fitted_anew(name: str) -> None:
    with pytest.raises(ParameterError, match="a release of a statistic"):
        Release.load(path_of(name)).refit(penalty=1.0)


def test_the_second_round_is_of_the_first() -> None:
    first, second = (Release.load(path_of(name)) for name in ("moments", "refine"))
    assert second.certificate.start == first.digest
    assert second.certificate.start_epsilon == first.certificate.epsilon == 0.1
    assert second.certificate.round_epsilon == 0.2
    assert second.certificate.epsilon == sum_up(0.1, 0.2)
    assert json.loads(second.certificate.to_json())["epsilon"] == sum_up(0.1, 0.2)
    assert second.certificate.assumed_public == ("classes",)


def test_a_new_second_round_may_start_from_an_old_release(tmp_path: Path) -> None:
    """By the ledger that knows it: under the digest of the file that was written then."""
    start = Release.load(path_of("moments"))
    task = start.model.task
    auxiliary = AuxiliarySet(SAMPLES, task.classes, preprocessing=task.preprocessing)
    poll = Poll.create(auxiliary, method="refine", epsilon=0.5, parties=2, start=start)
    tally = Tally(poll)
    for party in range(2):
        tally.add(poll.contribute(np.zeros((0, 3)), [], party))
    ledger = Ledger.create(tmp_path / "ledger.db", Budget(epsilon=5.0))
    ledger.charge(["0", "1"], Cost.pure(0.1))
    with pytest.raises(ParameterError, match="one that this ledger has charged"):
        publish(poll, tally, ledger=ledger)
    ledger.settle(1, EXPECTED["releases"]["moments"]["digest"])
    release = publish(poll, tally, ledger=ledger)
    assert release.certificate.start == EXPECTED["releases"]["moments"]["digest"]
    assert release.certificate.epsilon == sum_up(0.5, 0.1)


@every_certificate
def test_an_old_certificate_means_what_it_meant(file: str) -> None:
    content = flat(file)
    promised = Certificate.from_json(json.dumps(content))
    check_meaning(promised, content)
    assert Certificate.from_json(promised.to_json()) == promised
    name = file.removesuffix(f"-certificate-{content['format']}.json")
    assert promised == Release.load(path_of(name)).certificate


# ---- what is refused -----------------------------------------------------------------------------


def refused(content: dict[str, Any], complaint: str) -> None:
    with pytest.raises(FormatError, match=complaint):
        Certificate.from_json(json.dumps(content))


SOFT_1, CELLS_2 = flat("soft-tight-certificate-1.json"), flat("cells-certificate-2.json")
SOFT_3, REFINE_3 = written("soft-tight"), written("refine")


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (SOFT_1 | {"norm": "l2"}, "later fields"),
        (SOFT_1 | {"rho": None}, "later fields"),
        ({n: v for n, v in CELLS_2.items() if n not in ("norm", "rho")} | {"format": 1}, "norm"),
        (SOFT_1 | {"format": 2}, "missing fields"),
        (SOFT_1 | {"format": 3}, "start_epsilon is None, not float"),
        (SOFT_1 | {"format": 4}, "particular"),
        (SOFT_1 | {"format": True}, "format"),
        (SOFT_1 | {"format": "1"}, "format"),
        (SOFT_1 | {"format": 1.0}, "format"),
        (SOFT_1 | {"format": None}, "format"),
        (CELLS_2 | {"start": None}, "later fields"),
        (SOFT_3 | {"round_epsilon": 1e-9}, "later fields"),
        (SOFT_3 | {"round_delta": 0.0}, "later fields"),
        (SOFT_3 | {"persons": None}, "later fields"),
        (SOFT_3 | {"poll": None}, "later fields"),
        (SOFT_3 | {"particular": {"kind": "noisy sum", "radius": None}}, "later fields"),
        (SOFT_3 | {"gradient_factor": 1.0}, "unknown fields"),
        (json.loads(MOMENTS.to_json()) | {"format": 3}, "sensitivity_parts"),
    ],
)
def test_formats_are_not_mixed(content: dict[str, Any], complaint: str) -> None:
    refused(content, complaint)


@pytest.mark.parametrize("name", sorted(SOFT_3))
@pytest.mark.parametrize("content", [SOFT_3, REFINE_3], ids=["soft", "refine"])
def test_every_field_of_an_old_certificate_is_needed(content: dict[str, Any], name: str) -> None:
    refused({other: value for other, value in content.items() if other != name}, ".")


@pytest.mark.parametrize("value", [None, True, [], {}, "x", -1.0, 10**400, 1e999])
@pytest.mark.parametrize("name", sorted(SOFT_3))
def test_no_value_in_an_old_certificate_gives_another_error(name: str, value: Any) -> None:
    for content in (SOFT_3, REFINE_3):
        text = json.dumps({**content, name: value})
        with contextlib.suppress(FormatError):
            assert isinstance(Certificate.from_json(text), Certificate)


HOSTILE: list[tuple[str, dict[str, Any], dict[str, Any], str]] = [
    ("a solver for a statistic", REFINE_3, {"solver_tolerance": 5.0}, "speaks of a minimiser"),
    ("the paper's calibration", CELLS_2, {"calibration": "paper"}, "speaks of a minimiser"),
    ("a lambda for cells", CELLS_2, {"lambda": 1e-4}, "speaks of a minimiser"),
    ("a loss for cells", CELLS_2, {"loss": "logistic"}, "speaks of a minimiser"),
    ("no lambda for soft", SOFT_3, {"lambda": None}, "lambda"),
    ("no loss for soft", SOFT_3, {"loss": "none"}, "loss"),
    ("what a party sends for soft", SOFT_3, {"rule": "contribution"}, "rule"),
    ("stability for moments", written("moments"), {"rule": "stability"}, "those of a statistic"),
    ("a bound below the sensitivity", written("consensus"), {"bound": 1e-3}, "of a statistic"),
    ("a sensitivity below its bound", CELLS_2, {"sensitivity": 1.9}, "of a statistic"),
    ("rounding for a statistic", CELLS_2, {"rounding": 1e-9}, "those of a statistic"),
    ("half the bound of the paper", written("soft-paper"), {"bound": 0.5}, "bound"),
    ("half of a ball", written("vote-ball"), {"bound": 50.0}, "bound"),
    ("half of a ball of avg", written("avg-tight"), {"bound": 0.05}, "bound"),
    ("half of a private set", written("soft-private-auxiliary"), {"bound": 0.5}, "bound"),
    ("a solver that is not counted", SOFT_3, {"solver": 0.0}, "solver"),
    ("an endless first round", REFINE_3, {"start_epsilon": 1e999}, "JSON|too large"),
    ("a first round below 0", REFINE_3, {"start_epsilon": -0.1}, "start_epsilon"),
    ("a first round that is none", REFINE_3, {"start_epsilon": True}, "start_epsilon is True"),
    ("a seed", SOFT_3, {"randomness": "dice"}, "randomness"),
]


@pytest.mark.parametrize(
    ("content", "change", "complaint"),
    [each[1:] for each in HOSTILE],
    ids=[each[0] for each in HOSTILE],
)
def test_a_hostile_old_certificate_is_refused(
    content: dict[str, Any], change: dict[str, Any], complaint: str
) -> None:
    parts = {n: change.get(n, value) for n, value in content["sensitivity_parts"].items()}
    top = {name: value for name, value in change.items() if name not in parts}
    refused({**content, **top, "sensitivity_parts": parts}, complaint)


@pytest.mark.parametrize("parts", [None, [], "x", {"bound": 1}, {}])
def test_damaged_parts_are_refused(parts: Any) -> None:
    refused({**SOFT_3, "sensitivity_parts": parts}, "sensitivity_parts")


def test_a_release_of_format_1_has_no_statistic() -> None:
    tensors, metadata = read_tensors(path_of("moments").read_bytes(), "release")
    statistic = np.zeros(written("moments")["dimension"])
    with pytest.raises(FormatError, match="it says format 1, but has a tensor of a later one"):
        Release.from_bytes(write_tensors({**tensors, "statistic": statistic}, metadata))
    later = {**metadata, "ostraka": "2"}
    found = Release.from_bytes(write_tensors({**tensors, "statistic": statistic}, later)).statistic
    assert found is not None
    assert not found.any()


def test_a_release_of_format_2() -> None:
    """Names of columns without a description, a statistic, and no outlook."""
    release = Release.load(FILES / "cells-2.ostraka")
    columns = release.model.task.columns
    assert columns == Columns.of_numbers(("age", "dose", "höhe"))
    assert release.outlook == Outlook()
    assert release.statistic is not None
    assert float(release.statistic.sum()) == 0.10623791217803955
    samples = np.random.default_rng(5).normal(size=(12, 3))
    chosen = [int(name == "ill") for name in release.predict(samples)]
    assert chosen == [1, 1, 1, 1, 0, 0, 0, 1, 1, 1, 0, 1]
    table = pd.DataFrame(samples, columns=columns.names)[["höhe", "age", "dose"]]
    assert (release.predict(table) == release.predict(samples)).all()
    again = Release.from_bytes(release.to_bytes())
    assert again.model.task == release.model.task
    assert again.to_bytes() == release.to_bytes()


def test_a_release_of_format_3() -> None:
    """Described columns, and an outlook that says how often a rehearsal was right."""
    release = Release.load(FILES / "cells-3.ostraka")
    assert release.model.task.feature_names == ("age", "ward")
    assert release.outlook.shares == (0.46582527160644527, 0.5341747283935547)
    assert (release.outlook.accuracy, release.outlook.kept) == (None, None)
    ages, wards = [71, 58, 50, 36, 38, 22], ["south", "south", "south", "north", "south", "north"]
    table = pd.DataFrame({"ward": wards, "age": ages})
    assert list(release.predict(table)) == ["ill", "ill", "ill", "well", "well", "well"]
    assert Release.from_bytes(release.to_bytes()).outlook == release.outlook


def test_a_release_of_format_6() -> None:
    """A kernel student beside the linear model, rows kept back, and an evaluation beside both."""
    release = Release.load(FILES / "kernel-6.ostraka")
    assert isinstance(release.model, KernelModel)
    assert release.model.landmarks.shape == (60, 5)
    assert release.keep_back == 3
    assert release.digest == KERNEL["digest"]
    assert release.to_bytes() == (FILES / "kernel-6.ostraka").read_bytes()
    samples = np.random.default_rng(5).uniform(-0.4, 0.4, (12, 5))
    assert release.predict(samples).tolist() == KERNEL["predictions"]
    assert np.abs(release.predict_proba(samples)[0] - KERNEL["probabilities"]).max() < 1e-12
    assert release.model.linear.predict(samples).tolist() == KERNEL["linear"]
    found = Release.load(FILES / "kernel-evaluated-6.ostraka")
    assert found.digest == release.digest
    assert len(found.evaluations) == 1
    assert found.to_bytes() == (FILES / "kernel-evaluated-6.ostraka").read_bytes()


def without(tensors: dict[str, Any], name: str) -> dict[str, Any]:
    return {other: value for other, value in tensors.items() if other != name}


def test_a_hostile_student_is_refused() -> None:
    tensors, metadata = read_tensors((FILES / "kernel-6.ostraka").read_bytes(), "release")
    held, weights = tensors["student.landmarks"], tensors["student.weights"]
    assert Release.from_bytes(write_tensors(tensors, metadata))

    def refuse(complaint: str, changed: dict[str, Any], **said: str) -> None:
        with pytest.raises(FormatError, match=complaint):
            Release.from_bytes(write_tensors(changed, {**metadata, **said}))

    refuse("its student does not fit", without(tensors, "student.landmarks"))
    refuse("its student does not fit", without(tensors, "student.weights"))
    refuse("its student does not fit", tensors, ostraka="5")
    refuse("weights and preprocessing", without(tensors, "weights"))
    refuse("weights and preprocessing", {**tensors, "student.width": held})
    for landmarks in (held[:-1], held[:, :-1], held * np.nan, held * 1e200, held[:0], held * 4.0):
        refuse("student", {**tensors, "student.landmarks": np.ascontiguousarray(landmarks)})
    refuse("student", {**tensors, "student.landmarks": held.astype(np.float32)})
    many = {
        "student.landmarks": np.zeros((2**14 + 1, 5)),
        "student.weights": np.zeros((2**14 + 2, 3)),
    }
    refuse("student", {**tensors, **many})
    for other in (weights[:-1], weights[:, :-1], weights * np.inf, weights.ravel()):
        with np.errstate(all="ignore"):
            refuse("student", {**tensors, "student.weights": np.ascontiguousarray(other)})
    bare = without(without(tensors, "student.landmarks"), "student.weights")
    assert not isinstance(
        Release.from_bytes(write_tensors(bare, {**metadata, "ostraka": "5"})).model, KernelModel
    )


def test_a_release_of_format_5() -> None:
    """Rows kept back, and an evaluation beside the release as it was."""
    release = Release.load(FILES / "cells-5.ostraka")
    assert release.keep_back == 3
    assert release.digest.startswith("73635e4c6c1f")
    assert release.to_bytes() == (FILES / "cells-5.ostraka").read_bytes()
    found = Release.load(FILES / "evaluated-5.ostraka")
    assert found.digest == release.digest
    assert (found.model.weights == release.model.weights).all()
    (stated,) = found.evaluations
    assert stated.digest.startswith("bd9a3c0d2750")
    assert (stated.keep_back, stated.certificate.epsilon) == (3, 4.0)
    assert stated.statistic[:2].tolist() == [0.13339996337890625, 0.3380577564239502]
    assert stated.accuracy is not None
    assert found.to_bytes() == (FILES / "evaluated-5.ostraka").read_bytes()
