"""What the tests of polls are made of: files that were changed by hand, and a private set."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from ostraka.poll import Poll
from ostraka.public.auxiliary import AuxiliarySet
from ostraka.public.preprocessing import Preprocessing
from ostraka.tensors import canonical_json, read_tensors, write_tensors


def private_poll() -> tuple[Poll, AuxiliarySet]:
    """A poll whose auxiliary samples are private, with them."""
    samples = np.random.default_rng(0).random((20, 3))
    own = AuxiliarySet(
        samples,
        ("ill", "well"),
        preprocessing=Preprocessing(radius=2.0, constant=0.5),
        private=True,
    )
    return Poll.create(own, method="soft", epsilon=1.0, parties=3), own


def rewritten(change: Any, poll: Poll) -> bytes:
    """The file of this poll, with content and tensors changed."""
    tensors, metadata = read_tensors(poll.to_bytes(), "poll")
    content = json.loads(metadata["poll"])
    tensors = dict(tensors)
    change(content, tensors)
    return write_tensors(tensors, {**metadata, "poll": canonical_json(content)})


def put(*path: str, value: Any) -> Any:
    """A change: this value at this place of the content."""

    def change(content: dict[str, Any], _: Any) -> None:
        for name in path[:-1]:
            content = content[name]
        content[path[-1]] = value

    return change
