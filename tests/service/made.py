"""What the tests of services are made of: databases, a service, polls, and parties with keys."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ostraka.exchange import JoinCode, Receipt, Upload
from ostraka.party.contribution import Contribution
from ostraka.poll import Poll
from ostraka.public.auxiliary import AuxiliarySet
from ostraka.public.preprocessing import Preprocessing
from ostraka.service import access, arrivals, joining, polls
from ostraka.service.access import Who
from ostraka.service.arrivals import Arrival
from ostraka.service.service import Service
from ostraka.service.settings import Settings
from ostraka.service.starting import migrate_database, prepare
from ostraka.signing import SecretKey

ADMIN = Who(role="admin", name="ann")
READER = Who(role="reader", name="rea")
RNG = np.random.default_rng(7)
N_COLUMNS = 3


def settings_in(folder: Path, database: str | None = None, **changes: Any) -> Settings:
    return Settings(data=str(folder / "data"), database=database, **{"grid": 0.0, **changes})


def start(settings: Settings) -> Service:
    """A service that was started for the first time."""
    if settings.database is not None:
        migrate_database(settings)
    return prepare(settings).service


def again(service: Service, settings: Settings) -> Service:
    """The same service in another process, as far as it can tell."""
    from ostraka.service.starting import open_service

    assert service.key
    return open_service(settings)


# ---- polls ---------------------------------------------------------------------------------------


def public_set(n: int = 40) -> AuxiliarySet:
    scaled = Preprocessing(radius=2.0, constant=0.5)
    samples = RNG.random((n, N_COLUMNS))
    return AuxiliarySet(samples, ("ill", "well"), preprocessing=scaled)


def a_poll(method: str = "moments", **changes: Any) -> Poll:
    given: dict[str, Any] = {"epsilon": 1.0, "parties": 5, "least_parties": 2, **changes}
    return Poll.create(public_set(), method=method, **given)


def rows(n: int = 12) -> tuple[Any, Any]:
    samples = RNG.random((n, N_COLUMNS))
    return samples, np.where(samples[:, 0] > 0.5, "ill", "well")


def add_poll(service: Service, poll: Poll | None = None, *, opened: bool = True) -> Poll:
    poll = poll or a_poll()
    polls.add(service, ADMIN, poll.to_bytes())
    if opened:
        polls.open_poll(service, ADMIN, poll.digest)
    return poll


# ---- parties -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Member:
    """A party that has joined."""

    name: str
    key: SecretKey
    token: str

    @property
    def token_digest(self) -> bytes:
        return access.digest_of(self.token)


def joined(service: Service, *names: str, role: Any = "party") -> list[Member]:
    """Members who have joined with codes, as they do over the network."""
    with service.database.write() as connection:
        made = joining.invite(connection, ADMIN, service.key.public, names, role=role)
    return [_join(service, name, code) for name, code in made]


def _join(service: Service, name: str, code: JoinCode) -> Member:
    key = SecretKey.create()
    with service.database.write() as connection:
        told = joining.join(connection, code.request(key, service.key.public), service.key.public)
    assert told.name == name
    return Member(name, key, told.token)


def who_is(service: Service, member: Member) -> Who:
    with service.database.read() as connection:
        return access.find(connection, [member.token_digest])[member.token_digest]


def contribution(poll: Poll, name: str) -> Contribution:
    return poll.contribute(*rows(), name)


def upload(
    poll: Poll, member: Member, revision: int = 1, given: Contribution | None = None
) -> Upload:
    made = given or contribution(poll, member.name)
    return Upload.create(made.to_bytes(), revision, member.key)


def arrive(service: Service, *sent: tuple[Poll | str, Member, Upload | bytes]) -> list[Any]:
    """What a writer answers to these, all taken together."""
    answers: list[Any] = [None] * len(sent)

    def keep(index: int) -> Any:
        def answer(given: Any) -> None:
            assert answers[index] is None, "each is answered once"
            answers[index] = given

        return answer

    writer = arrivals.Writer(service)
    for index, (poll, member, body) in enumerate(sent):
        writer.add(
            Arrival(
                token=member.token_digest,
                poll=poll if isinstance(poll, str) else poll.digest,
                body=body if isinstance(body, bytes) else body.to_bytes(),
                answer=keep(index),
            )
        )
    writer.start()
    writer.close()
    assert all(each is not None for each in answers)
    return answers


def filled(
    service: Service, names: Iterable[str], poll: Poll | None = None
) -> tuple[Poll, list[Receipt]]:
    """An open poll to which these have contributed, and their receipts."""
    poll = add_poll(service, poll)
    members = joined(service, *names)
    answers = arrive(service, *((poll, each, upload(poll, each)) for each in members))
    assert all(isinstance(each, Receipt) for each in answers), answers
    return poll, answers
