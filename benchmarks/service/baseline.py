"""The same over FastAPI and SQLAlchemy's ORM, as their documentation shows it: bodies of JSON read
by pydantic, bytes in base64, a session for each request, and a commit for each contribution.

All that decides is the same as in the service, by the same functions: token, signature, poll, party
and ball are checked, the receipt is signed, and tables, connections and their durability are the
service's own. It is slower by its form alone.

Why transactions on SQLite begin as writing ones: the ORM reads before it writes, and of two such
requests that began as reading ones SQLite refuses one. Why the session is no dependency: its steps
would each wait for a thread while all threads wait for the transaction that it holds.
"""

from __future__ import annotations

import json
import time
from typing import Annotated, Any

from fastapi import Depends, FastAPI, HTTPException, Request
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer
from pydantic import Base64Bytes, BaseModel
from sqlalchemy import select
from sqlalchemy.orm import DeclarativeBase, Session, sessionmaker

from ostraka.errors import OstrakaError
from ostraka.exchange import Receipt, Upload
from ostraka.service import access
from ostraka.service.arrivals import read_contribution
from ostraka.service.settings import Settings
from ostraka.service.starting import open_service
from ostraka.service.storage import tables
from ostraka.signing import PublicKey

__all__ = ["compose_body", "create"]


class Base(DeclarativeBase):
    """The service's tables as classes."""

    metadata = tables.METADATA


class TokenRow(Base):
    """Somebody's token."""

    __table__ = tables.token


class PartyRow(Base):
    """A party."""

    __table__ = tables.party


class PollRow(Base):
    """A poll."""

    __table__ = tables.poll


class ContributionRow(Base):
    """What a party has sent."""

    __table__ = tables.contribution


class UploadShape(BaseModel):
    """What is sent."""

    revision: int
    salt: Base64Bytes
    signature: Base64Bytes
    contribution: Base64Bytes


class ReceiptShape(BaseModel):
    """What is answered."""

    ostraka: str
    poll: str
    party: str
    revision: int
    commitment: str
    signature: str


def create() -> FastAPI:
    """The application in a worker process."""
    app = FastAPI()
    service = app.state.service = open_service(Settings.imported())
    app.state.sessions = sessionmaker(service.database.engine.execution_options(writes=True))
    with service.database.read() as connection:
        digests = list(connection.execute(select(tables.poll.c.digest)).scalars())
    for digest in digests:  # now: a request that did it would wait for those that wait for it
        service.empty_tally(digest)
    app.put("/contributions/{digest}")(put_contribution)
    app.get("/live")(_live)
    return app


def compose_body(upload: bytes) -> bytes:
    """An upload in the form that is sent here."""
    sent = Upload.from_bytes(upload)
    fields = {name: getattr(sent, name) for name in UploadShape.model_fields}
    return UploadShape.model_construct(**fields).model_dump_json().encode("ascii")


def _live() -> str:
    return "live"


def put_contribution(
    request: Request,
    digest: str,
    sent: UploadShape,
    shown: Annotated[HTTPAuthorizationCredentials, Depends(HTTPBearer())],
) -> ReceiptShape:
    """Check a contribution, and keep it."""
    service = request.app.state.service
    upload = Upload(**{name: getattr(sent, name) for name in UploadShape.model_fields})
    commitment = upload.commitment
    with request.app.state.sessions() as session:
        party = _find_party(session, shown.credentials)
        poll = _find_open(session, digest)
        try:
            upload.check(PublicKey(bytes(party.public_key)), commitment)
            empty = service.empty_tally(digest)
            given = read_contribution(empty, party.name, upload.contribution, service.key)
        except OstrakaError as error:
            raise HTTPException(422, str(error)) from error
        kept: Any = session.get(ContributionRow, (poll.id, party.id))
        if kept is None:
            kept = ContributionRow(poll=poll.id, party=party.id, generation=party.generation)
            session.add(kept)
        elif kept.revision >= upload.revision:
            raise HTTPException(409)
        kept.revision, kept.commitment, kept.persons = upload.revision, commitment, given.n_persons
        kept.salt, kept.signature, kept.content = upload.salt, upload.signature, upload.contribution
        name, revision = party.name, upload.revision
        session.commit()
    receipt = Receipt.sign(
        service.key, poll=digest, party=name, revision=revision, commitment=commitment
    )
    return ReceiptShape(**json.loads(receipt.to_bytes()))


def _find_party(session: Session, shown: str) -> Any:
    token: Any = session.get(TokenRow, access.digest_of(shown))
    party = None
    if token is not None and not token.withdrawn and token.expires > time.time():
        party = session.get(PartyRow, token.party)
    if party is None:
        raise HTTPException(401)
    return party


def _find_open(session: Session, digest: str) -> Any:
    query = select(PollRow).where(tables.poll.c.digest == digest)
    found: Any = session.scalars(query).one_or_none()
    if found is None:
        raise HTTPException(404)
    if found.state != "open":
        raise HTTPException(409)
    return found
