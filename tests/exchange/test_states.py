"""Only an open poll takes contributions."""

from __future__ import annotations

import pytest

from ostraka.errors import StateError
from ostraka.exchange.states import STATES, check_open


def test_an_open_poll() -> None:
    check_open("open")


@pytest.mark.parametrize("state", [each for each in STATES if each != "open"])
def test_any_other(state: str) -> None:
    with pytest.raises(StateError, match="not open yet" if state == "draft" else state):
        check_open(state)
