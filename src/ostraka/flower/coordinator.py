"""A `ServerApp` that asks a poll and publishes, as `ostraka release` does.

    step       what                                                   nobody has paid until
    prepare    read the run config and the poll; finish what an
               earlier run was interrupted in, refuse a second one
    ask        send the poll to nodes, count their answers
    check      enough nodes, enough parties, every party can pay
    publish    charge and draw in one transaction, solve, write       here

Every refusal before that says that nothing was drawn and nothing was spent.
"""

from __future__ import annotations

from logging import INFO, WARNING
from typing import Any

from flwr.app import Context
from flwr.common import log
from flwr.serverapp import Grid, ServerApp

from ostraka.errors import InputError, ParameterError, nothing_spent
from ostraka.files import check_distinct, check_new, check_writable
from ostraka.flower.asking import check_nodes, collect
from ostraka.flower.inbox import Inbox, check_folder
from ostraka.flower.settings import Order
from ostraka.ledger import Ledger
from ostraka.poll import Poll
from ostraka.releasing import Asking, publish_release, refuse_again, resume_release
from ostraka.tally import Tally

__all__ = ["serve", "server"]

SAYING = Asking(again="again=true", recover="recover=true")


def serve(grid: Grid, context: Context) -> None:
    """Ask the poll of the run config, and write its release."""
    with nothing_spent():
        order = Order.read(context.run_config)
        poll = _prepare(order)
    # Where persons are protected, which charges are this poll's is known when all have answered.
    known = poll.promise.protects == "party" and not poll.is_sealed
    if known and _is_finished(poll, Tally(poll), order):
        return
    log(INFO, "Asking the poll %s, for %g seconds at most.", poll.digest[:12], order.deadline)
    counting = collect(poll, grid, order)
    log(INFO, "%s", counting.report())
    with nothing_spent():
        check_nodes(counting, order)
    if isinstance(counting.tally, Inbox):
        _keep(counting.tally, order)
        return
    if _is_finished(poll, counting.tally, order):
        return
    released, stopped = publish_release(poll, counting.tally, order.ledger, order.out)
    log(INFO, "Wrote %s: %s", order.out, released.certificate)
    if stopped is not None:
        log(WARNING, "%s", stopped)


def _prepare(order: Order) -> Poll:
    """The poll, and everything that would be refused later, before anybody is asked."""
    poll = Poll.load(order.poll)
    if poll.is_sealed:
        _check_sealed(order)
        return poll
    check_new(order.out, order.force, "force=true replaces it")
    check_writable(order.out)
    check_distinct(order.out, (order.poll, order.ledger), "the poll or the ledger", "out")
    if order.ledger is not None:
        Ledger(order.ledger)
    if poll.private_auxiliary:
        raise InputError(
            "This poll has private auxiliary samples, which the server of a federation would see.",
            "Collect it by files: ostraka contribute, then ostraka release --auxiliary.",
        )
    if poll.promise.protects == "row":
        raise InputError(
            "This poll protects single rows, and nodes answer for parties, by name.",
            "Make it with --protects party, or person.",
        )
    return poll


def _check_sealed(order: Order) -> None:
    """Of a poll with a trustee things are kept here, and nothing is charged."""
    check_folder(order.out)
    check_writable(order.out)
    for name, given in (("ledger", order.ledger), ("again", order.again), ("force", order.force)):
        if given:
            allowed = "nothing, for a poll with a trustee: ostraka release charges and releases it"
            raise ParameterError(name, got=given, allowed=allowed)


def _keep(inbox: Inbox, order: Order) -> None:
    """What came, for the coordinator, who has the key."""
    inbox.save(order.out)
    log(
        INFO,
        "Wrote %d sealed contributions to %s. Nothing was drawn yet. Next: ostraka release %s %s "
        "--key FILE --request NAME.request",
        inbox.n_parties,
        order.out,
        order.poll,
        order.out,
    )


def _is_finished(poll: Poll, tally: Tally, order: Order) -> bool:
    """Whether an earlier run has charged for this poll; its release is written, if it was not."""
    if order.ledger is None or order.again:
        return False
    released = resume_release(
        poll, tally, order.ledger, order.out, lost=order.recover, asking=SAYING
    )
    if released is None:
        refuse_again(poll, tally, order.ledger, SAYING)
        return False
    log(INFO, "An earlier run has charged everybody. Wrote its release to %s.", order.out)
    return True


def _create_server() -> Any:
    made = ServerApp()
    made.main()(serve)
    return made


server = _create_server()
