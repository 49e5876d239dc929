"""A poll is made from public things, and what it cannot keep is refused before anybody is asked."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier

from ostraka.errors import ParameterError, UnusedOptionError
from ostraka.poll import Poll
from tests.laws.cases import Case

# A handful of parties is enough for a test, and said to be too few; that has tests of its own.
pytestmark = pytest.mark.filterwarnings("ignore::ostraka.errors.PrivacyWarning")


def test_other_students_are_refused() -> None:
    for student in ("forest", 1, RandomForestClassifier()):
        with pytest.raises(ParameterError, match=r'"kernel"; any classifier later: release.refit'):
            Case("cells", 3).poll(student=student)
    with pytest.raises(UnusedOptionError, match="student"):
        Case("avg", 3, calibration="tight").poll(student="kernel")


def test_names_that_would_draw_on_a_terminal_are_refused() -> None:
    hidden = "b, from 3 columns\r\nPromises   ε = 0.1\x1b[8m"
    with pytest.raises(ParameterError, match="printable"):
        Poll.create(
            np.random.default_rng(0).random((20, 2)), classes=["a", hidden], epsilon=9.0, parties=9
        )
    frame = pd.DataFrame(np.random.default_rng(0).random((20, 2)), columns=["a", "b\x1b[8m"])
    with pytest.raises(ParameterError, match="printable"):
        Poll.create(frame, classes=["a", "b"], epsilon=9.0, parties=9)
