"""What parties have spent, and what admins have done."""

from __future__ import annotations

from fastapi import APIRouter, Request
from sqlalchemy import select

from ostraka.ledger import Budget, Ledger
from ostraka.party.names import canonical_list
from ostraka.service import audit
from ostraka.service.accounts import accounts_of, shown_charges, with_accounts
from ostraka.service.api.door import Admin, service_of
from ostraka.service.api.pages import After, Limit, Name, by_name
from ostraka.service.api.parties import account_shape
from ostraka.service.api.polls import numbers_of
from ostraka.service.api.shapes import (
    AccountShape,
    AllowanceShape,
    AuditShape,
    BudgetShape,
    ChargeShape,
    Page,
)
from ostraka.service.storage.ledger import Within

__all__ = ["router"]

router = APIRouter(tags=["accounts"])


@router.get("/budget")
def show_budget(request: Request, _who: Admin) -> BudgetShape:
    """What every party may lose that has no other budget."""
    ledger = service_of(request).ledger()
    return BudgetShape(budget=numbers_of(ledger.budget) or {}, protects=ledger.protects)


@router.get("/accounts")
def list_accounts(
    request: Request, _who: Admin, search: Name = "", after: Name = "", limit: Limit = 100
) -> Page[AccountShape]:
    """Who has spent what, by name: of those who took part in something, or have a budget of their
    own.
    """
    service, known = service_of(request), with_accounts()
    query = by_name(select(known.c.name), known.c.name, after=after, search=search).limit(limit)
    with service.database.read() as connection:
        names = list(connection.execute(query).scalars())
        accounts = accounts_of(service, connection, names)
    following = names[-1] if len(names) == limit else None
    return Page(items=[account_shape(each) for each in accounts], next=following)


@router.post("/allowances", status_code=204)
def allow(request: Request, who: Admin, given: AllowanceShape) -> None:
    """Give some parties another budget; once somebody was charged, only a lower one."""
    names = canonical_list(given.names)
    budget = Budget(epsilon=given.epsilon, delta=given.delta, rho=given.rho)
    with service_of(request).write_as(who) as connection:
        Ledger(Within(connection)).allow(names, budget)
        audit.note_names(connection, who, f"allowed {budget}", names)


@router.get("/charges")
def list_charges(
    request: Request, _who: Admin, after: After = 0, limit: Limit = 100
) -> Page[ChargeShape]:
    """Every charge for what is released, oldest first."""
    history = shown_charges(service_of(request), after)
    items = [
        ChargeShape(
            id=each.id,
            day=each.day,
            note=each.note,
            parties=each.n_parties,
            cost={
                name: value
                for name in ("epsilon", "delta", "rho")
                if (value := getattr(each.cost, name)) is not None
            },
            release=each.digest,
        )
        for each in history[:limit]
    ]
    return Page(items=items, next=str(items[-1].id) if len(history) > limit else None)


@router.get("/audit")
def list_audit(
    request: Request, _who: Admin, after: After = 0, limit: Limit = 100
) -> Page[AuditShape]:
    """What admins have done, oldest first."""
    with service_of(request).database.read() as connection:
        lines = audit.read(connection, after, limit)
    items = [
        AuditShape(id=line.id, at=line.at, who=line.who, what=line.what, about=line.about)
        for line in lines
    ]
    return Page(items=items, next=str(items[-1].id) if len(items) == limit else None)
