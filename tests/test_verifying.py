"""Releases checked from files alone: whatever was forged is refused."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from ostraka import AuxiliarySet, Poll, Release, Tally, publish
from ostraka.errors import FormatError, InputError, SignatureError
from ostraka.release.model import LinearModel
from ostraka.signing import SecretKey, Signature
from ostraka.verifying import check_noise, check_release, check_signature

KEY, OTHER = SecretKey.create(), SecretKey.create()
RNG = np.random.default_rng(0)


def asked(epsilon: float = 1.0, **options: Any) -> Poll:
    auxiliary = AuxiliarySet.scaled(RNG.standard_normal((60, 3)), ("a", "b"))
    return Poll.create(auxiliary, epsilon=epsilon, parties=10, **options)


def released(poll: Poll) -> Release:
    tally = Tally(poll)
    for name in range(10):
        rows = RNG.standard_normal((4, 3))
        labels = np.where(rows[:, 0] > 0.0, "a", "b")
        tally.add(poll.contribute(rows, labels, name))
    made = publish(poll, tally)
    assert isinstance(made, Release)
    return made


class TestSigner:
    """Who signed."""

    def test_nobody(self) -> None:
        assert check_signature(b"x", None, None) is None
        with pytest.raises(SignatureError, match=r"not signed.*ends in \.sig"):
            check_signature(b"x", None, KEY.public)

    def test_whoever_it_was(self) -> None:
        signature = Signature.of(b"x", KEY)
        assert check_signature(b"x", signature, None) == KEY.public
        assert check_signature(b"x", signature, KEY.public) == KEY.public

    def test_somebody_else(self) -> None:
        with pytest.raises(SignatureError, match=r"signed by ed25519:.*, not by ed25519:"):
            check_signature(b"x", Signature.of(b"x", OTHER), KEY.public)

    def test_another_content(self) -> None:
        for signer in (None, KEY.public):
            with pytest.raises(SignatureError, match="was changed"):
                check_signature(b"y", Signature.of(b"x", KEY), signer)


@pytest.mark.parametrize("options", [{"method": "cells"}, {"method": "moments", "delta": 1e-5}])
class TestNoise:
    """Whether the noise gives what is promised, and whether the poll leads there."""

    def test_a_release_as_it_was_made(self, options: dict[str, Any]) -> None:
        poll = asked(**options)
        made = released(poll)
        read = Release.from_bytes(made.to_bytes())
        check_release(read)
        check_release(read, Poll.from_bytes(poll.to_bytes()))

    def test_less_noise_than_it_takes(self, options: dict[str, Any]) -> None:
        promised = asked(**options).certificate(10)
        check_noise(promised)
        with pytest.raises((FormatError, ValueError)):
            check_noise(replace(promised, noise_scale=promised.noise_scale * 0.9))

    def test_another_poll(self, options: dict[str, Any]) -> None:
        made = released(asked(**options))
        with pytest.raises(InputError, match=r"comes from the poll .*and this is the poll"):
            check_release(made, asked(2.0, **options))

    def test_a_certificate_that_the_poll_does_not_lead_to(self, options: dict[str, Any]) -> None:
        """It claims more noise than this poll leads to: true to itself, and made up."""
        poll = asked(**options)
        made = released(poll)
        claimed = replace(made.certificate, noise_scale=made.certificate.noise_scale * 2)
        forged = Release(model=made.model, certificate=claimed, statistic=made.statistic)
        check_release(forged)
        with pytest.raises(FormatError, match="does not follow from the poll: noise_scale"):
            check_release(forged, poll)


def test_an_evaluation_is_checked_by_its_own_poll() -> None:
    first = asked(method="cells")
    judged = released(first)
    poll = Poll.evaluate(judged, epsilon=1.0, parties=10)
    evaluated = released(poll)
    check_release(evaluated, poll)
    check_release(evaluated, first)


def forge(made: Release, **changes: Any) -> Release:
    kept = {"model": made.model, "certificate": made.certificate, "statistic": made.statistic}
    return Release(**{**kept, "keep_back": made.keep_back, **changes})


class TestAbout:
    """Certificates that follow from the poll, of models that do not."""

    def test_classes_the_other_way_round(self) -> None:
        poll = asked(method="cells")
        made = released(poll)
        task = replace(made.model.task, classes=("b", "a"))
        forged = forge(made, model=LinearModel(task=task, weights=made.model.linear.weights))
        with pytest.raises(FormatError, match="classes, columns or features are not those"):
            check_release(forged, poll)

    def test_features_from_elsewhere(self) -> None:
        poll = asked(method="cells")
        made = released(poll)
        moved = replace(made.model.task.preprocessing, radius=2.0)
        task = replace(made.model.task, preprocessing=moved)
        forged = forge(made, model=LinearModel(task=task, weights=made.model.linear.weights))
        with pytest.raises(FormatError, match="classes, columns or features are not those"):
            check_release(forged, poll)

    def test_rows_that_were_not_kept_back(self) -> None:
        poll = asked(method="cells")
        with pytest.raises(FormatError, match="other rows were kept back than the poll says"):
            check_release(forge(released(poll), keep_back=5), poll)

    def test_more_parties_than_were_asked(self) -> None:
        poll = asked(method="cells", roll=range(10))
        made = released(poll)
        check_release(made, poll)
        with pytest.raises(FormatError, match="11 parties took part, and its poll asked 10"):
            check_release(forge(made, certificate=poll.certificate(11)), poll)


class TestEvaluations:
    """Statements that are true, of something else."""

    def test_of_another_release(self) -> None:
        judged, other = released(asked(method="cells")), released(asked(method="cells"))
        poll = Poll.evaluate(judged, epsilon=1.0, parties=10)
        stated = released(poll).evaluations[0]
        forged = other.add_evaluation(replace(stated, release=other.digest), Release)
        check_release(forged)
        with pytest.raises(FormatError, match="the poll evaluates another release"):
            check_release(forged, poll)

    def test_of_rows_that_were_not_kept_back(self) -> None:
        judged = released(asked(method="cells"))
        poll = Poll.evaluate(judged, epsilon=1.0, parties=10)
        stated = replace(released(poll).evaluations[0], keep_back=5)
        forged = judged.add_evaluation(stated, Release)
        for asked_for in (None, poll):
            with pytest.raises(FormatError, match="of other rows than were kept back"):
                check_release(forged, asked_for)

    def test_twice(self) -> None:
        evaluated = released(Poll.evaluate(released(asked(method="cells")), epsilon=1.0, parties=9))
        twice = evaluated.add_evaluation(evaluated.evaluations[0], Release)
        with pytest.raises(FormatError, match="it has two evaluations by one poll"):
            check_release(twice)

    def test_by_a_poll_that_was_asked_once(self) -> None:
        poll = Poll.evaluate(released(asked(method="cells")), epsilon=1.0, parties=10)
        found = released(poll)
        stated = found.evaluations[0]
        cheaper = replace(stated.certificate, epsilon=0.1, round_epsilon=0.1, noise_scale=20.0)
        forged = found.add_evaluation(replace(stated, certificate=cheaper), Release)
        with pytest.raises(FormatError, match="it has two evaluations by one poll"):
            check_release(forged)
        alone = poll.judged.add_evaluation(forged.evaluations[1], Release)  # type: ignore[union-attr]
        check_release(alone)
        with pytest.raises(FormatError, match="does not follow from the poll"):
            check_release(alone, poll)

    def test_that_protects_somebody_else(self) -> None:
        judged = released(asked(method="cells"))
        stated = released(Poll.evaluate(judged, epsilon=1.0, parties=10)).evaluations[0]
        promised = replace(stated.certificate, neighbours="replace one row")
        with pytest.raises(InputError, match="one that protects one row"):
            judged.add_evaluation(replace(stated, certificate=promised), Release)
