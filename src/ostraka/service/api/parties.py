"""Who takes part: joining, invitations, and one's own place."""

from __future__ import annotations

from datetime import UTC, datetime

from fastapi import APIRouter, Request
from sqlalchemy import select

from ostraka import __version__
from ostraka.errors import FormatError, InputError
from ostraka.exchange import JoinRequest, admission
from ostraka.ledger import Account
from ostraka.service import joining, rotation
from ostraka.service.access import Role
from ostraka.service.accounts import left_of
from ostraka.service.api import door
from ostraka.service.api.door import Admin, Anyone, service_of
from ostraka.service.api.pages import Limit, Name, by_name
from ostraka.service.api.polls import numbers_of
from ostraka.service.api.shapes import (
    AccountShape,
    CardShape,
    InvitationShape,
    InvitedShape,
    JoinedShape,
    JoinShape,
    MeShape,
    Page,
    PartyShape,
    RenewalShape,
    RevocationShape,
    ServiceShape,
    SuccessionShape,
    WaitingShape,
)
from ostraka.service.joining import Joined
from ostraka.service.service import Service
from ostraka.service.storage import tables
from ostraka.signing import PublicKey

__all__ = ["account_shape", "public", "router"]

public = APIRouter(tags=["joining"])
router = APIRouter(tags=["parties"])


@public.get("/service")
def show_service(request: Request) -> ServiceShape:
    """Which service this is, and its key. Compare the key with what your code says."""
    service = service_of(request)
    with service.database.read() as connection:
        service.check_key(connection)
        links = rotation.earlier(connection)
        is_archive = service.is_archive(connection)
    earlier = [
        SuccessionShape(old=str(each.old), new=str(each.new), signature=each.signature.hex())
        for each in links
    ]
    return ServiceShape(
        ostraka=__version__,
        key=str(service.key.public),
        earlier=earlier,
        archive=is_archive,
        card=CardShape(**request.app.state.card.to_json()),
    )


@public.post("/joins")
def join(request: Request, given: JoinShape) -> JoinedShape:
    """Join with a code and a key of your own. The same once more gives another token."""
    service = service_of(request)
    try:
        asked = JoinRequest(
            code=PublicKey.parse(given.code),
            key=PublicKey.parse(given.key),
            by_code=bytes.fromhex(given.by_code),
            by_key=bytes.fromhex(given.by_key),
        )
        asked.check(service.key.public)
        with service.database.read() as connection:
            joining.check_known(connection, asked.digest)
    except (FormatError, InputError):
        door.fail(request)
        raise
    with service.database.write() as connection:
        service.check_key(connection)
        joined = joining.join(connection, asked, service.key.public)
    return _joined(service, asked.key, joined)


@router.get("/me")
def show_me(request: Request, who: Anyone) -> MeShape:
    """Who you are here; for a party, its account."""
    if who.role != "party":
        return MeShape(role=who.role, name=who.name)
    account = left_of(service_of(request), who.name)
    return MeShape(role=who.role, name=who.name, account=account_shape(account))


@router.post("/me/key")
def renew(request: Request, who: Anyone, given: RenewalShape) -> JoinedShape:
    """Another key and another token; the old ones end."""
    service = service_of(request)
    proofs = bytes.fromhex(given.by_old), bytes.fromhex(given.by_new)
    key = PublicKey.parse(given.key)
    with service.database.write() as connection:
        service.check_key(connection)
        joined = joining.renew(connection, who, service.key.public, key, proofs)
    return _joined(service, key, joined)


@router.post("/invitations")
def invite(request: Request, who: Admin, given: InvitationShape) -> Page[InvitedShape]:
    """Codes with which people can join, one each. They are not shown again."""
    service = service_of(request)
    with service.write_as(who) as connection:
        if given.role == "party":
            service.check_may_invite(connection)
        made = joining.invite(
            connection,
            who,
            service.key.public,
            given.names,
            role=given.role,
            days=given.days,
            again=given.again,
        )
    return Page(items=[InvitedShape(name=name, code=str(code)) for name, code in made])


@router.get("/invitations")
def list_invited(
    request: Request, _who: Admin, role: Role = "party", after: Name = "", limit: Limit = 100
) -> Page[WaitingShape]:
    """Who has a code and has not joined with it yet, by name."""
    query = by_name(joining.waiting(role), tables.code.c.name, after=after).limit(limit)
    with service_of(request).database.read() as connection:
        rows = connection.execute(query).all()
    items = [
        WaitingShape(
            name=name, role=role, until=datetime.fromtimestamp(expires, UTC).date().isoformat()
        )
        for name, expires in rows
    ]
    return Page(items=items, next=items[-1].name if len(items) == limit else None)


@router.post("/revocations", status_code=204)
def revoke(request: Request, who: Admin, given: RevocationShape) -> None:
    """Let somebody do nothing more here: keys, tokens and codes end."""
    with service_of(request).write_as(who) as connection:
        joining.revoke(connection, who, given.name, given.role)


@router.get("/parties")
def list_parties(
    request: Request, _who: Admin, search: Name = "", after: Name = "", limit: Limit = 100
) -> Page[PartyShape]:
    """Who is known here, by name."""
    known = tables.party
    query = by_name(select(known), known.c.name, after=after, search=search).limit(limit)
    with service_of(request).database.read() as connection:
        rows = connection.execute(query).all()
    items = [
        PartyShape(
            name=row.name,
            joined=row.joined,
            has_key=row.public_key is not None,
            revoked=row.revoked,
        )
        for row in rows
    ]
    return Page(items=items, next=items[-1].name if len(items) == limit else None)


def account_shape(account: Account) -> AccountShape:
    """An account as JSON shows it."""
    return AccountShape(
        party=account.party,
        budget=numbers_of(account.budget) or {},
        spent=numbers_of(account.spent) or {},
        left=numbers_of(account.left) or {},
        releases=account.n_releases,
    )


def _joined(service: Service, key: PublicKey, joined: Joined) -> JoinedShape:
    signature = service.key.sign(admission(key, joined.role, joined.name, joined.token))
    return JoinedShape(
        role=joined.role, name=joined.name, token=joined.token, signature=signature.hex()
    )
