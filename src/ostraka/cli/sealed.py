"""`ostraka release` of a sealed poll: first a request to the trustee, then, with its answer, a
tally like any other.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from ostraka.cli.screen import print_answers

if TYPE_CHECKING:
    from ostraka.client import Membership
    from ostraka.poll import Poll
    from ostraka.sealing import Servers
    from ostraka.signing import SecretKey
    from ostraka.tally import Tally
    from ostraka.trustee import Asking, Joining

__all__ = ["add_up", "check_given", "read_servers"]


def read_servers(
    trustee: Path | None, coordinator: Path | None, member: Membership | None = None
) -> Servers | None:
    """Whom a poll is sealed to, by two cards; None if parties trust the coordinator alone.

    `member`: of the service that is the coordinator, and has a card.
    """
    from ostraka.errors import ParameterError
    from ostraka.sealing import Card, Servers

    if trustee is None and coordinator is None:
        return None
    if trustee is None:
        allowed = "the card of a second server: ostraka trustee init"
        raise ParameterError("--trustee", got=None, allowed=allowed)
    if coordinator is None and member is not None:
        with member.session() as (_, client):
            card = client.identity().card
        assert card is not None
        return Servers(coordinator=card, trustee=Card.load(trustee))
    if coordinator is None:
        allowed = "your own card: ostraka key card FILE --name NAME --out CARD"
        raise ParameterError("--coordinator", got=None, allowed=allowed)
    return Servers(coordinator=Card.load(coordinator), trustee=Card.load(trustee))


def check_given(
    poll: Poll,
    secret: SecretKey | None,
    request: Path | None,
    answer: Path | None,
    ledger: Path | None,
) -> None:
    """Refuse what goes with another kind of poll."""
    from ostraka.errors import ParameterError

    given = request or answer
    if given is not None and not poll.is_sealed:
        allowed = "nothing: this poll has no trustee"
        name = "--request" if request else "--answer"
        raise ParameterError(name, got=str(given), allowed=allowed)
    if poll.is_sealed and secret is None:
        raise ParameterError("--key", got=None, allowed="the coordinator's, which opens its half")
    if answer is not None and ledger is None:
        allowed = "the accounts: a poll with a trustee is released once (ostraka ledger init)"
        raise ParameterError("--ledger", got=None, allowed=allowed)
    if answer is not None and request is None:
        raise ParameterError("--request", got=None, allowed="the one that this is the answer to")


def add_up(
    poll: Poll,
    secret: SecretKey,
    request: Path | None,
    answer: Path | None,
    count: Callable[[Asking | Joining], None],
) -> Tally | None:
    """The tally, with the trustee's answer; without one the request is written, and there is none.

    `count` lets everything that came be counted or refused by name.
    """
    from ostraka.files import read_regular
    from ostraka.tensors import LARGEST_FILE
    from ostraka.trustee import Answer, Asking, Joining, Request

    if answer is None:
        asking = Asking(poll, secret)
        count(asking)
        _ask(asking, request)
        return None
    assert request is not None
    asked = Request.from_bytes(read_regular(request, "request", LARGEST_FILE))
    given = Answer.from_bytes(read_regular(answer, "answer", LARGEST_FILE))
    joining = Joining(poll, asked, given, secret)
    count(joining)
    return joining.tally()


def _ask(asking: Asking, path: Path | None) -> None:
    """Freeze who is in, and say what comes next."""
    from ostraka.files import check_new, write_atomically

    made = asking.request()
    if path is None:
        typer.echo(
            "Enough came. Nothing was drawn and nothing was spent.\n"
            "What next? Run this command with --request NAME.request instead of --check: it "
            "freezes who is in, for the trustee."
        )
        return
    check_new(path, False, "it may have been answered; the trustee answers one for each poll")
    write_atomically(path, made.to_bytes())
    print_answers(
        {
            "Wrote": f"{path}, for {len(made.entries):,} parties. Nothing was drawn yet.",
            "What next?": "Send it to the trustee, who runs: ostraka trustee answer "
            f"{path.name} --out {path.stem}.answer. Keep the folder as it is. Then run this "
            f"command again, with --answer {path.stem}.answer --out {path.stem}.ostraka.",
        }
    )
