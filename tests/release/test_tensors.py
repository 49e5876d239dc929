"""Arrays and a little text in one file: one content has one form, and hostile ones are refused."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ostraka import tensors
from ostraka.errors import FormatError
from ostraka.tensors import canonical_json, parse_json, read_tensors, write_tensors

ARRAYS: dict[str, Any] = {
    "b": np.arange(6.0).reshape(2, 3),
    "a": np.array([1, -(2**62)]),
    "c.d": np.zeros(1, dtype=np.uint8),
}
META = {"z": "1", "ä": "ü\n", "empty": ""}


def test_arrays_and_texts_come_back() -> None:
    arrays, metadata = read_tensors(write_tensors(ARRAYS, META), "thing")
    assert metadata == META
    assert set(arrays) == set(ARRAYS)
    for name, array in ARRAYS.items():
        assert arrays[name].dtype == array.dtype
        assert (arrays[name] == array).all()
        assert arrays[name].shape == array.shape


def test_one_content_has_one_form_whatever_the_order() -> None:
    backwards = dict(reversed(ARRAYS.items()))
    texts = dict(reversed(META.items()))
    assert write_tensors(ARRAYS, META) == write_tensors(backwards, texts)
    data = write_tensors(ARRAYS, META)
    length = int.from_bytes(data[:8], "little")
    header = data[8 : 8 + length].decode("ascii")
    assert header.rstrip(" ") == canonical_json(json.loads(header))
    assert length % 8 == 0
    assert write_tensors(*read_tensors(data, "thing")) == data


def test_a_header_that_is_too_long_is_not_parsed(monkeypatch: pytest.MonkeyPatch) -> None:
    data = write_tensors(ARRAYS, META)
    monkeypatch.setattr(tensors, "LARGEST_HEADER", 50)
    with pytest.raises(FormatError, match="cut short or damaged"):
        read_tensors(data, "thing")


@pytest.mark.parametrize("metadata", [{"a": 1}, {"a": None}, [], "text", 3])
def test_metadata_that_is_no_text_is_refused(metadata: Any) -> None:
    text = json.dumps({"__metadata__": metadata}).encode()
    with pytest.raises(FormatError, match=r"This is not a valid thing.*Nothing was loaded"):
        read_tensors(len(text).to_bytes(8, "little") + text, "thing")


@given(st.binary(max_size=200))
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    try:
        arrays, metadata = read_tensors(data, "thing")
    except FormatError:
        return
    assert isinstance(arrays, dict)
    assert isinstance(metadata, dict)


def test_numbers_come_back_to_the_last_bit_and_none_is_not_a_number() -> None:
    for number in (0.1, 1e-320, math.pi, -1e300, 2**60):
        assert json.loads(canonical_json([number])) == [number]
    for number in (math.nan, math.inf, -math.inf):
        with pytest.raises(ValueError, match="not JSON compliant"):
            canonical_json([number])
    assert canonical_json({"b": "ü", "a": [1, None]}) == '{"a":[1,null],"b":"\\u00fc"}'


@pytest.mark.parametrize(
    "text", ["", "{", "NaN", '{"a": NaN}', '{"a": 1e999}', '{"a": -Infinity}', "[" * 100_000]
)
def test_what_is_no_json_is_refused(text: str) -> None:
    with pytest.raises(FormatError, match="it is not JSON"):
        parse_json(text, "thing")


@pytest.mark.parametrize("text", ["[]", "3", '"a"', "null", "true"])
def test_what_is_no_object_is_refused(text: str) -> None:
    with pytest.raises(FormatError, match="it is not a JSON object"):
        parse_json(text, "thing")
    assert parse_json('{"a": 1}', "thing") == {"a": 1}
