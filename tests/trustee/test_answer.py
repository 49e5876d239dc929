"""Answers: signed by the poll's trustee, in one form."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from ostraka.errors import FormatError
from ostraka.tensors import canonical_json, parse_json, read_tensors, write_tensors
from ostraka.trustee import Answer, Request
from tests.trustee.conftest import Made

FILES = Path(__file__).parent / "files"


def test_there_and_back(made: Made) -> None:
    answer = made.desk.answer(made.request)
    again = Answer.from_bytes(answer.to_bytes())
    assert again.to_bytes() == answer.to_bytes()
    assert (again.share == answer.share).all()
    again.check(made.poll, made.request)


def test_a_known_answer_is_still_read() -> None:
    """Of November 2026, to the known request."""
    request = Request.from_bytes((FILES / "known.request").read_bytes())
    answer = Answer.from_bytes((FILES / "known.answer").read_bytes())
    answer.check(request.poll, request)
    assert answer.left_out == ("ward-2",)


@pytest.mark.parametrize(
    "changed",
    [
        {"ostraka": "answer 2"},
        {"poll": 3},
        {"left_out": "x"},
        {"left_out": [3]},
        {"left_out": ["\ud800"]},
        {"request": "\ud800"},
        {"poll": "a\nb"},
        {"more": 1},
    ],
    ids=str,
)
def test_what_is_no_answer(made: Made, changed: dict[str, object]) -> None:
    tensors, metadata = read_tensors(made.desk.answer(made.request).to_bytes(), "answer")
    held = parse_json(metadata["ostraka-answer"], "answer") | changed
    with pytest.raises(FormatError):
        Answer.from_bytes(
            write_tensors(tensors, metadata | {"ostraka-answer": canonical_json(held)})
        )


def test_other_numbers(made: Made) -> None:
    data = made.desk.answer(made.request).to_bytes()
    tensors, metadata = read_tensors(data, "answer")
    bad = [
        write_tensors({"share": tensors["share"].astype(np.int64)}, metadata),
        write_tensors({"share": tensors["share"].reshape(1, -1)}, metadata),
        write_tensors({"other": tensors["share"]}, metadata),
        write_tensors(tensors, metadata | {"signature": "zz"}),
        write_tensors(tensors, metadata | {"more": "x"}),
        data[:-1],
    ]
    for each in bad:
        with pytest.raises(FormatError):
            Answer.from_bytes(each)
