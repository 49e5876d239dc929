"""Polls: what is asked, how far it has come, and what came out."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Path, Request
from sqlalchemy import Connection, select
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from ostraka.ledger import Amount
from ostraka.service import closing, handing_in, polls, sealed
from ostraka.service.access import Who
from ostraka.service.accounts import price_of
from ostraka.service.api.bodies import read_body
from ostraka.service.api.door import Admin, Anyone, Party, service_of
from ostraka.service.api.pages import After, Limit, Name, by_name
from ostraka.service.api.shapes import (
    ClosingShape,
    ContributorShape,
    MineShape,
    Page,
    PollShape,
    ReceiptShape,
)
from ostraka.service.polls import Shown
from ostraka.service.service import Service
from ostraka.service.storage import contributions, tables
from ostraka.tensors import LARGEST_FILE

__all__ = ["Digest", "numbers_of", "router"]

router = APIRouter(tags=["polls"])
Digest = Annotated[str, Path(pattern="^[0-9a-f]{64}$", description="The poll's sha256.")]
BINARY: dict[int | str, dict[str, Any]] = {
    200: {"content": {"application/octet-stream": {"schema": {"type": "string"}}}}
}
FILE = {
    "requestBody": {
        "required": True,
        "content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}},
    }
}
MOST_POLL = min(LARGEST_FILE, 2**28)


@router.get("/polls")
def list_polls(
    request: Request, who: Anyone, state: str | None = None, after: After = 0, limit: Limit = 100
) -> Page[PollShape]:
    """Polls that you may see, newest first."""
    service = service_of(request)
    with service.database.read() as connection:
        found = polls.listed(connection, who, state=state, after=after, limit=limit)
        items = [
            _shape(shown, who, mine=_mine(connection, shown.digest, who)) for _, shown in found
        ]
    following = str(found[-1][0]) if len(found) == limit else None
    return Page(items=items, next=following)


@router.put("/polls/{digest}", openapi_extra=FILE)
async def add_poll(request: Request, who: Admin, digest: Digest) -> PollShape:
    """Upload a poll's file, as a draft. The same once more changes nothing."""
    service = service_of(request)
    content = await read_body(request, MOST_POLL, "The poll")

    def add() -> PollShape:
        polls.check_digest(content, digest)
        polls.add(service, who, content)
        return _show(service, digest, who)

    return await run_in_threadpool(add)


@router.get("/polls/{digest}")
def show_poll(request: Request, who: Anyone, digest: Digest) -> PollShape:
    """One poll; for a party with its own contribution and the price."""
    return _show(service_of(request), digest, who)


@router.get("/polls/{digest}/file", response_class=Response, responses=BINARY)
def fetch_poll(request: Request, who: Anyone, digest: Digest) -> Response:
    """The poll's file, whose sha256 is its address."""
    service = service_of(request)
    with service.database.read() as connection:
        polls.find(connection, digest, who)
    return _binary(service.blobs.get(digest))


@router.get("/polls/{digest}/signature", response_class=Response, responses=BINARY)
def fetch_signature(request: Request, who: Anyone, digest: Digest) -> Response:
    """The service's signature of the poll's file."""
    with service_of(request).database.read() as connection:
        return _binary(polls.signed(connection, digest, who))


@router.post("/polls/{digest}/open")
def open_poll(request: Request, who: Admin, digest: Digest) -> PollShape:
    """Let parties contribute. From now on the poll is signed."""
    service = service_of(request)
    polls.open_poll(service, who, digest)
    return _show(service, digest, who)


@router.post("/polls/{digest}/close", status_code=202)
def close_poll(
    request: Request, who: Admin, digest: Digest, closing_shape: ClosingShape | None = None
) -> PollShape:
    """Freeze the list of what is counted, and begin to make the release; it cannot be undone.

    The answer comes before the release is made: ask for the poll until it is released. Once more
    goes on where an interrupted one stopped.
    """
    service = service_of(request)
    left_out = [] if closing_shape is None else closing_shape.leave_out
    closing.freeze(service, who, digest, leave_out=left_out)
    request.app.state.finisher.ask(digest)
    return _show(service, digest, who)


@router.post("/polls/{digest}/abandon")
def abandon_poll(request: Request, who: Admin, digest: Digest) -> PollShape:
    """End a poll without a release, and erase what was sent."""
    service = service_of(request)
    polls.abandon(service, who, digest)
    return _show(service, digest, who)


@router.get("/polls/{digest}/manifest", response_class=Response, responses=BINARY)
def fetch_manifest(request: Request, who: Anyone, digest: Digest) -> Response:
    """The signed list of what is counted, once the poll is closed."""
    return _binary(closing.manifest(service_of(request), digest, who))


@router.get("/polls/{digest}/request", response_class=Response, responses=BINARY)
def fetch_request(request: Request, who: Admin, digest: Digest) -> Response:
    """What the trustee of a sealed poll is asked, once the poll is closed."""
    return _binary(sealed.request(service_of(request), digest, who))


@router.put("/polls/{digest}/answer", openapi_extra=FILE)
async def answer_poll(request: Request, who: Admin, digest: Digest) -> PollShape:
    """Hand in the trustee's answer: the release of a sealed poll is made of it."""
    service = service_of(request)
    most = await run_in_threadpool(sealed.largest, service, digest)
    content = await read_body(request, most, "The answer")

    def take() -> PollShape:
        sealed.take_answer(service, who, digest, content)
        request.app.state.finisher.ask(digest)
        return _show(service, digest, who)

    return await run_in_threadpool(take)


@router.get("/polls/{digest}/release", response_class=Response, responses=BINARY)
def fetch_release(request: Request, who: Anyone, digest: Digest) -> Response:
    """The release's file."""
    return _binary(closing.release(service_of(request), digest, who)[0])


@router.get("/polls/{digest}/release/signature", response_class=Response, responses=BINARY)
def fetch_release_signature(request: Request, who: Anyone, digest: Digest) -> Response:
    """The service's signature of the release's file."""
    return _binary(closing.release(service_of(request), digest, who)[1])


@router.get("/polls/{digest}/contribution")
def show_own(request: Request, who: Party, digest: Digest) -> MineShape:
    """Which contribution of yours has arrived."""
    with service_of(request).database.read() as connection:
        polls.find(connection, digest, who)
        found = _mine(connection, digest, who)
    if found is None:
        raise polls.nothing_sent()
    return found


@router.get("/polls/{digest}/contributions")
def list_contributors(
    request: Request, who: Admin, digest: Digest, after: Name = "", limit: Limit = 100
) -> Page[ContributorShape]:
    """Who has contributed, by name; nothing of what."""
    kept, party = tables.contribution, tables.party
    with service_of(request).database.read() as connection:
        found = polls.find(connection, digest, who)
        query = (
            select(party.c.name, kept.c.revision, kept.c.generation)
            .join(party, party.c.id == kept.c.party)
            .where(kept.c.poll == found.id)
        )
        rows = connection.execute(by_name(query, party.c.name, after=after).limit(limit)).all()
    items = [
        ContributorShape(party=name, revision=revision, handed_in=generation == 0)
        for name, revision, generation in rows
    ]
    return Page(items=items, next=items[-1].party if len(items) == limit else None)


@router.put(
    "/polls/{digest}/contributions/{party}",
    openapi_extra=FILE,
    response_model_exclude_none=True,
)
async def hand_in(request: Request, who: Admin, digest: Digest, party: str) -> ReceiptShape:
    """Hand in a contribution's file for a party that has no network, and get its receipt."""
    service = service_of(request)
    most = await run_in_threadpool(handing_in.largest, service, digest)
    content = await read_body(request, most, "The contribution")
    receipt = await run_in_threadpool(handing_in.hand_in, service, who, digest, party, content)
    return ReceiptShape.model_validate_json(receipt.to_bytes())


def _show(service: Service, digest: str, who: Who) -> PollShape:
    with service.database.read() as connection:
        shown = polls.show(connection, digest, who)
        mine = _mine(connection, digest, who)
    price = numbers_of(price_of(service, service.poll(digest)))
    return _shape(shown, who, mine=mine, price=price)


def _mine(connection: Connection, digest: str, who: Who) -> MineShape | None:
    if who.role != "party" or who.party is None:
        return None
    found = contributions.find(connection, digest, who.party)
    if found is None:
        return None
    return MineShape(
        revision=found.revision,
        commitment=found.commitment.hex(),
        handed_in=found.handed_in,
        unread=found.unread,
    )


def _shape(shown: Shown, who: Who, **more: Any) -> PollShape:
    return PollShape(
        digest=shown.digest,
        title=shown.title,
        state=shown.state,  # type: ignore[arg-type]
        contributions=shown.contributions,
        persons=shown.persons,
        release=shown.release,
        facts=shown.facts,
        trouble=shown.trouble if who.role == "admin" else None,
        **more,
    )


def numbers_of(amount: Amount | None) -> dict[str, float] | None:
    """An amount as JSON shows it."""
    if amount is None:
        return None
    return {name: float(value) for name, value in amount.to_dict().items()}


def _binary(content: bytes) -> Response:
    return Response(content, media_type="application/octet-stream")
