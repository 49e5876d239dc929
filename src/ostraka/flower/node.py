"""A `ClientApp` that answers a poll, as `ostraka contribute` does.

    step       what                                                       what it says if that fails
    read       the poll's bytes                                           poll
    heed       the site's own rules, before a row is read                 rules
    make       contributions, from the rows, on this machine alone        rows
    count      in the site's account, before anything leaves              rules

Guarantee: what leaves a node is contributions, or one of these three words. An exception is written
to the node's own log, and never travels: it may show an entry of a table. Flower would send it on,
so nothing is let through to it.

Not covered: whether a node answers, and when, depends on its rows in so far as a table that cannot
be read gives no contribution, and many rows take longer than few.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from logging import ERROR, INFO
from typing import Any, NamedTuple, TypeAlias

from flwr.app import Context, Message, RecordDict
from flwr.clientapp import ClientApp
from flwr.common import log

from ostraka.answering import contribute_model, contribute_rows, read_rows
from ostraka.errors import ParameterError, RulesError
from ostraka.flower import settings
from ostraka.flower.wire import Refusal, pack_contributions, pack_refusal, read_poll
from ostraka.party.contribution import Contribution
from ostraka.poll import Poll
from ostraka.site import Site

__all__ = ["Rows", "answer", "client", "create_client", "create_sharded_client"]


class Rows(NamedTuple):
    """One party's own rows: what a function that loads them gives. A plain tuple does, too."""

    samples: Any
    labels: Any
    party: Any
    persons: Any = None
    """Whose rows they are, one name per row, where the poll protects persons."""
    local: Any = None
    """What the party trains, where it votes; None for a linear classifier."""


Load: TypeAlias = Callable[[Context], tuple[Any, ...]]
LoadMany: TypeAlias = Callable[[Context], Iterable[tuple[Any, ...]]]
Make: TypeAlias = Callable[[Poll, Context], Iterable[Contribution]]


def create_client(load: Load) -> ClientApp:
    """A node with one party, whose rows `load(context)` gives: (samples, labels, party)."""
    return _create(lambda poll, context: [_contribute(poll, load(context))])


def create_sharded_client(load: LoadMany) -> ClientApp:
    """A node that stands for many parties, for simulations: `load(context)` gives them in turn."""
    return _create(lambda poll, context: (_contribute(poll, each) for each in load(context)))


def answer(make: Make, message: Message, context: Context) -> RecordDict:
    """What leaves a node, whatever happens on it."""
    try:
        poll = Poll.from_bytes(read_poll(message))
    except Exception as error:
        return _refuse(Refusal.POLL, error)
    try:
        sent = _heed_and_make(make, poll, context)
    except RulesError as error:
        return _refuse(Refusal.RULES, error)
    except Exception as error:
        return _refuse(Refusal.ROWS, error)
    log(INFO, "Answering the poll %s with %s contributions.", poll.digest[:12], len(sent))
    return pack_contributions(sent)


def _heed_and_make(make: Make, poll: Poll, context: Context) -> list[bytes]:
    config = context.node_config
    rules = Site.find(settings.read_path(config, "site"))
    if rules is not None:
        rules.check(poll, settings.find_party(config))
    try:
        made = list(make(poll, context))
    except RulesError as error:  # raised by whoever loads rows: it may depend on them
        raise RuntimeError("no contribution was made") from error
    if rules is not None:
        for each in made:
            rules.charge(poll, each.party)
    return [each.to_bytes() for each in made]


def _refuse(why: Refusal, error: Exception) -> RecordDict:
    log(ERROR, "No contribution is sent. The server hears one word: %s.", why, exc_info=error)
    return pack_refusal(why)


def _contribute(poll: Poll, given: tuple[Any, ...]) -> Contribution:
    rows = Rows(*given)
    return poll.contribute(
        rows.samples, rows.labels, rows.party, persons=rows.persons, local=rows.local
    )


def _from_files(poll: Poll, context: Context) -> list[Contribution]:
    """As `ostraka contribute` makes it, with the node config for options."""
    given = settings.read_given(context.node_config)
    party = settings.find_party(context.node_config)
    if party is None:
        raise ParameterError("party", got=None, allowed="your name in the poll")
    if given.model is not None:
        return [contribute_model(poll, given, party)]
    return [contribute_rows(poll, read_rows(poll, given), given, party)]


def _create(make: Make) -> ClientApp:
    made = ClientApp()

    def reply(message: Message, context: Context) -> Message:
        return Message(answer(make, message, context), reply_to=message)

    made.query()(reply)
    return made


client = _create(_from_files)
