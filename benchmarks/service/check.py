"""Afterwards: is everything there that was acknowledged, once, and is its sum exact?

check            by
receipts         the service's signature of each, and that it is for what was sent
rows             what is in the database, against the receipts: the same commitments
sum              the library's tally of the rows, against numpy's sum of what was sent
list             the signed list of what is counted, against the receipts
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final, final

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import select

from benchmarks.service.prepare import Work
from ostraka.client import Client
from ostraka.errors import OstrakaError
from ostraka.exchange import Manifest, Receipt, Upload
from ostraka.party.contribution import Contribution
from ostraka.poll import Poll
from ostraka.service.storage import contributions, tables
from ostraka.service.storage.database import Database
from ostraka.signing import PublicKey
from ostraka.tally import Tally

__all__ = [
    "Added",
    "add_up",
    "check_list",
    "check_rows",
    "check_sum",
    "close_poll",
    "read_receipts",
]

PAUSE: Final = 0.05


@final
@dataclass(frozen=True, slots=True)
class Added:
    """What is in the database for a poll."""

    commitments: list[bytes]
    total: NDArray[np.int64]
    seconds: float


def read_receipts(
    answers: list[bytes | None], work: Work, names: list[str], key: PublicKey
) -> tuple[list[bytes], list[str]]:
    """The commitments that were acknowledged, and what is wrong with their receipts."""
    found, problems = [], []
    for answer, upload, name in zip(answers, work.uploads, names):
        if answer is None:
            continue
        sent = Upload.from_bytes(upload)
        expected = (work.poll.digest, name, sent.revision, sent.commitment)
        try:
            given = Receipt.from_bytes(answer)
            given.check(key)
        except OstrakaError as error:
            problems.append(f"the receipt of {name} is none: {error}")
            continue
        if (given.poll, given.party, given.revision, given.commitment) != expected:
            problems.append(f"the receipt of {name} is for something else")
        found.append(given.commitment)
    return found, problems


def add_up(database: Database, poll: Poll) -> Added:
    """Read a poll's contributions as the service does, and add them up."""
    begun, tally, commitments = time.perf_counter(), Tally(poll), []
    with database.read() as connection:
        query = select(tables.poll.c.id).where(tables.poll.c.digest == poll.digest)
        id_ = int(connection.execute(query).scalar_one())
        for _, commitment, _, content in contributions.stream(connection, id_):
            commitments.append(bytes(commitment))
            tally.add(Contribution.from_bytes(content))
    return Added(commitments, tally.total, time.perf_counter() - begun)


def check_rows(acknowledged: Iterable[bytes], there: Iterable[bytes]) -> list[str]:
    """What is wrong with the rows of the database."""
    return list(_compare(list(acknowledged), list(there), "in the database"))


def check_sum(added: NDArray[np.int64], exact: NDArray[np.int64]) -> list[str]:
    """What is wrong with the sum."""
    if added.shape != exact.shape:
        return [f"the sum has the shape {added.shape}, not {exact.shape}"]
    n = int((added != exact).sum())
    return [f"{n} of {exact.size} numbers of the sum are wrong"] if n else []


def check_list(acknowledged: Iterable[bytes], listed: Manifest, key: PublicKey) -> list[str]:
    """What is wrong with the list that the service has signed."""
    try:
        listed.check(key)
    except OstrakaError as error:
        return [f"the list is not the service's: {error}"]
    return list(_compare(list(acknowledged), list(listed.commitments), "on the list"))


def close_poll(client: Client, digest: str) -> tuple[float, float]:
    """Close a poll; seconds until it is closed, and until it is released."""
    begun = time.perf_counter()
    client.close_poll(digest, [])
    closed = time.perf_counter()
    while client.poll(digest).state != "released":
        time.sleep(PAUSE)
    return closed - begun, time.perf_counter() - begun


def _compare(acknowledged: list[bytes], there: list[bytes], where: str) -> Iterator[str]:
    missing = set(acknowledged) - set(there)
    if missing:
        yield f"{len(missing)} acknowledged contributions are not {where}"
    more = set(there) - set(acknowledged)
    if more:
        yield f"{len(more)} contributions are {where} that were not acknowledged"
    for what, listed in (("acknowledged", acknowledged), (where, there)):
        if len(set(listed)) != len(listed):
            yield f"{len(listed) - len(set(listed))} contributions are {what} twice"
