"""From a tally to a release in a file, once: what a coordinator does with what came.

    step       what                                                  by
    finish     the release of an earlier run that was interrupted    `resume_release`
    ask        whether the poll was charged before                   `refuse_again`
    publish    check, charge, draw, solve; write the file            `publish_release`

The same on a command line and in a server of Flower. Without a ledger nobody remembers: every call
is a release, and costs every party ε.

Imported before anything has to be computed: so numpy is imported where it is used.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from ostraka.poll import Poll
    from ostraka.release import Release
    from ostraka.tally import Tally

__all__ = ["Asking", "publish_release", "refuse_again", "resume_release", "save"]


class Asking(NamedTuple):
    """How somebody says where they are asked: to release once more, or to recover a lost one."""

    again: str = "--again"
    recover: str = "--recover"


def resume_release(
    poll: Poll, tally: Tally, ledger: Path, out: Path, *, lost: bool, asking: Asking
) -> Release | None:
    """Write what an earlier run has charged for and drawn, and not written; None if there is none.

    `lost`: also of one whose release is recorded, once more; it must be there.
    """
    from ostraka.errors import LedgerError
    from ostraka.publishing import resume

    released = resume(poll, tally, ledger, lost=lost)
    if released is None and lost:
        remedy = f"Leave out {asking.recover}: then there will be a release, and a charge."
        raise LedgerError(ledger, "has nothing that was drawn for this poll", remedy)
    if released is not None:
        save(released, out)
    return released


def refuse_again(poll: Poll, tally: Tally, ledger: Path, asking: Asking) -> None:
    """One poll is one release, unless somebody means it: another one costs as much again."""
    from ostraka.errors import LedgerError, say_number
    from ostraka.ledger import Ledger
    from ostraka.public.promise import plural
    from ostraka.publishing import earlier_charges

    before = earlier_charges(poll, tally, ledger)
    if not before:
        return
    last = before[-1]
    delta = poll.mechanism(tally.n_units or last.n_parties).delta
    if last.is_open and Ledger(ledger).drawn(last) is not None:  # only asked by --check
        raise LedgerError(
            ledger,
            f"has charged this poll already, on {last.day}, by a run that was interrupted",
            "Run this command without --check: the release is made of what was drawn then, and "
            "nobody is charged again.",
        )
    made = ", but has no release for it: was it interrupted?" if last.is_open else ""
    each, together = (
        f"ε = {n * poll.promise.epsilon:g}" + (f", δ = {say_number(n * delta)}" if delta else "")
        for n in (1, len(before) + 1)
    )
    what = "model" if poll.judged is None else "evaluation"
    raise LedgerError(
        ledger,
        f"has charged this poll already, on {last.day} for {plural('party', last.n_parties)}{made}",
        f"Use the {what} that was made; if it was lost, say {asking.recover}. Another one costs "
        f"{each} once more, {together} in all; if you mean it, say {asking.again}.",
    )


def publish_release(
    poll: Poll, tally: Tally, ledger: Path | None, out: Path
) -> tuple[Release, str | None]:
    """Charge, draw, solve, and write; and what to say if a Ctrl-C came in between."""
    from ostraka.publishing import Stopped, publish
    from ostraka.release import Release

    stopped = None
    try:
        released = publish(poll, tally, ledger=ledger)
    except Stopped as error:  # paid for: it must not be lost
        released, stopped = error.release, str(error)
    assert isinstance(released, Release)
    save(released, out)
    return released, stopped


def save(released: Release, out: Path) -> None:
    """Write a release that was paid for; where that fails, somewhere else."""
    import tempfile

    from ostraka.errors import LedgerError

    try:
        released.save(out, overwrite=True)  # whether it may be replaced was asked before
    except OSError as error:
        rescued = Path(tempfile.mkdtemp(prefix="ostraka-")) / out.name
        released.save(rescued)
        problem = f"release could not be written to {out} ({error.strerror})"
        raise LedgerError(
            out.name,
            problem,
            f"It was made and is kept in {rescued}: move it.",
            outcome="Nothing was lost.",
        ) from None
