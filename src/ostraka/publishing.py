"""The one door through which anything leaves: check, dry run, charge and draw, solve.

Guarantee (publishing.proof.md): what comes out is (ε, δ)-differentially private for one protected
unit of the poll, and its certificate says so. Whatever fails before noise is drawn fails before
anybody is charged; a refused charge changes nothing, and draws nothing. With a ledger, noise is
drawn in the transaction that charges: whoever pays gets the one release that was drawn for it, if
need be by `resume`, after a crash.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypeAlias, TypeVar

from ostraka.errors import (
    FormatError,
    InputError,
    LedgerWarning,
    ParameterError,
    RehearsalError,
    ShiftWarning,
    WrongTypeError,
    nothing_spent,
    warn_caller,
)
from ostraka.ledger import Charge, Ledger
from ostraka.mechanism import Entropy, Rehearsal
from ostraka.mechanism.laws import Exact
from ostraka.mechanism.mechanism import Mechanism
from ostraka.methods.after_noise.shift import remark
from ostraka.methods.base import Method, Start
from ostraka.poll import Poll
from ostraka.release import Rehearsed, Release
from ostraka.release.certificate import FROM_A_SEED, FROM_THE_SYSTEM, Certificate, NoisySum
from ostraka.release.evaluation import Evaluation
from ostraka.sealing.shares import centre
from ostraka.solve.losses import Array
from ostraka.tally import Tally

__all__ = [
    "Stopped",
    "check",
    "earlier_charges",
    "publish",
    "resume",
    "stated",
    "warn_afterwards",
    "warn_of_shift",
]

Out = TypeVar("Out", Release, Rehearsed)
Keep: TypeAlias = Callable[[Release], None]


class Stopped(KeyboardInterrupt):
    """A Ctrl-C after the charge. What was paid for is there all the same: `release`.

    It has the model without a student, which takes longest.
    """

    def __init__(self, release: Release) -> None:
        self.release = release
        super().__init__(
            "A Ctrl-C came after everybody was charged. The release was made all the same, without "
            'a student: release.refit(student="kernel") can teach one later.'
        )


def publish(
    poll: Poll,
    tally: Tally,
    source: Entropy | Rehearsal | None = None,
    ledger: Ledger | str | os.PathLike[str] | None = None,
    *,
    keep: Keep | None = None,
) -> Release | Rehearsed:
    """One classifier from everything that was added up; or, of a poll that evaluates one, the same
    release with the evaluation beside it.

    Args:
        poll: what was asked.
        tally: what was sent, `Tally(poll)`.
        source: `Entropy()`, the default, publishes; a `Rehearsal` draws from a seed and costs
            nothing.
        ledger: if given, every party is charged before noise is drawn, or nothing is released.
        keep: is given the release before the ledger records it: what is recorded was kept.

    Raises `Stopped`, with the release, on a Ctrl-C while the model is fitted.
    """
    source = Entropy() if source is None else source
    with nothing_spent():
        _check(poll, tally, source)
        certificate = poll.certificate(tally.n_parties, tally.n_units)
        mechanism = poll.mechanism(tally.n_units)
        book = None if isinstance(source, Rehearsal) else _open(ledger, poll)
        if poll.is_sealed and book is None and not isinstance(source, Rehearsal):
            allowed = "one, for a poll with a trustee: two answers would be two releases"
            raise ParameterError("ledger", got=None, allowed=allowed)
    if isinstance(source, Rehearsal):
        return _draw(poll, tally, mechanism, certificate, source)
    if certificate.randomness != FROM_THE_SYSTEM:
        raise RehearsalError  # the poll rests on something that hides nobody
    # Once without anything private: what fails for want of memory, or by a mistake of ours, fails
    # before anybody is charged.
    _rehearse_outcome(poll, mechanism, certificate)
    hide = _hider(poll, tally, mechanism, source)
    drawn: list[Exact] = []

    def draw() -> Exact:
        drawn.append(hide())
        return drawn[-1]

    charge, stopped = None, False
    if book is None:
        draw()
    else:
        charge = book.charge(tally.names, certificate, _note(poll), draw=draw)
    noisy = drawn[-1]
    try:
        release = _outcome(poll, mechanism, certificate, noisy, Release)
    except KeyboardInterrupt:  # a student takes seconds; whoever cannot wait gets its teacher
        release = _outcome(poll, mechanism, certificate, noisy, Release, taught=False)
        stopped = True
    try:
        if keep is not None:
            keep(release)
        if book is not None and charge is not None:
            _settle(book, charge, stated(poll, release))
    except KeyboardInterrupt:
        stopped = True
    if stopped:
        raise Stopped(release)
    return release


def resume(
    poll: Poll,
    tally: Tally,
    ledger: Ledger | str | os.PathLike[str],
    *,
    lost: bool = False,
    keep: Keep | None = None,
) -> Release | None:
    """The release of a charge that this poll has, and that was interrupted before there was one.

    It is made of what was drawn for the charge. Nothing is drawn, and nobody is charged again. None
    if there is no such charge. `lost`: also of one whose release is recorded, once more. `keep`: as
    in `publish`.
    """
    book = _open(ledger, poll)
    if book is None:
        return None
    for charge in reversed(earlier_charges(poll, tally, book)):
        if charge.certificate != _digest_for(poll, tally, charge):
            continue  # for other persons than those who are counted now
        noisy = book.drawn(charge) if lost or charge.is_open else None
        if noisy is None:
            continue
        n_units = tally.n_units if poll.promise.protects == "person" else charge.n_parties
        certificate, mechanism = (
            poll.certificate(charge.n_parties, n_units),
            poll.mechanism(n_units),
        )
        if len(noisy) != mechanism.dimension:
            raise FormatError("ledger", f"what was drawn for charge {charge.id} is damaged")
        release = _outcome(poll, mechanism, certificate, noisy, Release)
        if charge.is_open:
            if keep is not None:
                keep(release)
            _settle(book, charge, stated(poll, release))
        elif stated(poll, release).digest != charge.digest:  # somebody did not wait for a student
            teacher = _outcome(poll, mechanism, certificate, noisy, Release, taught=False)
            release = teacher if stated(poll, teacher).digest == charge.digest else release
        return release
    return None


def stated(poll: Poll, release: Release) -> Release | Evaluation:
    """What a charge was made for: the release, or the evaluation that was added to it."""
    return release if poll.judged is None else release.evaluations[-1]


def check(poll: Poll, tally: Tally, ledger: Ledger | str | os.PathLike[str] | None = None) -> None:
    """Refuse what `publish` would refuse before it draws; nothing is drawn and nobody charged."""
    with nothing_spent():
        _check(poll, tally, Entropy())
        book = _open(ledger, poll)
    if book is not None:
        book.check(tally.names, poll.certificate(tally.n_parties, tally.n_units))


def earlier_charges(
    poll: Poll, tally: Tally, ledger: Ledger | str | os.PathLike[str]
) -> list[Charge]:
    """What the ledger has charged for this very poll, released or not.

    A charge's note names its poll. (Of earlier versions it does not; there the certificate does,
    whose digest is kept, for as many parties as stand beside the charge, and as many persons as
    there are now.)
    """
    book = ledger if isinstance(ledger, Ledger) else Ledger(ledger)
    mark = _mark(poll)
    return [
        entry
        for entry in book.history()
        if entry.note.endswith(mark) or entry.certificate == _digest_for(poll, tally, entry)
    ]


def _digest_for(poll: Poll, tally: Tally, entry: Charge) -> str:
    """Of the certificate that this poll would have for a charge's number of parties."""
    of_persons = poll.promise.protects == "person"
    if entry.n_parties < (1 if of_persons else poll.promise.least_parties):
        return ""
    if of_persons and tally.n_units < 1:
        return ""
    return poll.certificate(entry.n_parties, tally.n_units).digest


def _hider(poll: Poll, tally: Tally, mechanism: Mechanism, source: Entropy) -> Callable[[], Exact]:
    """What draws: noise on the vector, or on the sum of shares that has a trustee's noise already.

    Whatever takes long, or may fail, is done before.
    """
    if tally.shares is not None:
        shares = tally.shares.total
        return lambda: centre(mechanism.hide(shares, source))
    vector = poll.method.statistic(tally.total, mechanism)
    return lambda: mechanism.draw(vector, source)


def _check(poll: object, tally: object, source: object) -> None:
    if not isinstance(poll, Poll):
        raise WrongTypeError("The poll", poll, "a Poll: Poll.create(...) or Poll.load(path)")
    if not isinstance(tally, Tally):
        raise WrongTypeError("The tally", tally, "a Tally of this poll, Tally(poll)")
    if tally.poll is not poll and tally.poll.digest != poll.digest:
        allowed = f"one of the poll {poll.digest[:12]}..."
        raise ParameterError("tally", got=f"one of {tally.poll.digest[:12]}...", allowed=allowed)
    Mechanism.check(source)
    if poll.is_sealed:
        _check_sealed(tally, source)
    poll.promise.check_units(tally.n_units)


def _check_sealed(tally: Tally, source: object) -> None:
    """A release needs the trustee's half; a rehearsal can be made in the clear alone."""
    if isinstance(source, Rehearsal):
        if tally.shares is not None:
            allowed = "a tally in the clear, Tally(poll, rehearsal=True), for a rehearsal"
            raise ParameterError("tally", got="one of shares", allowed=allowed)
    elif tally.shares is None or not tally.shares.is_complete:
        raise InputError(
            "This poll is sealed, and the trustee's answer is not there yet.",
            "Send the trustee the request, and add the answer first.",
        )


def _open(ledger: Any, poll: Poll) -> Ledger | None:
    if ledger is None:
        return None
    if poll.promise.protects == "row":
        allowed = (
            "none where every row is a party of its own: rows have no names to keep accounts by"
        )
        raise ParameterError("ledger", got="a ledger", allowed=allowed)
    book = ledger if isinstance(ledger, Ledger) else Ledger(ledger)
    start = poll.method.start
    # A second round whose first one the ledger does not know: it could not tell what both cost.
    if start is not None and not any(_is_start(entry, start) for entry in book.history()):
        raise ParameterError(
            "start",
            got=f"the release {start.digest[:12]}",
            allowed="one that this ledger has charged and recorded: make both with the same ledger",
        )
    return book


def _is_start(entry: Charge, start: Start) -> bool:
    """The release itself, charged under the certificate that the poll states for it."""
    return entry.digest == start.digest and entry.certificate in (None, start.certificate.digest)


def _draw(
    poll: Poll, tally: Tally, mechanism: Mechanism, certificate: Certificate, source: Rehearsal
) -> Rehearsed:
    noisy = mechanism.draw(poll.method.statistic(tally.total, mechanism), source)
    seeded = replace(certificate, randomness=FROM_A_SEED)
    return _outcome(poll, mechanism, seeded, noisy, Rehearsed)


def _rehearse_outcome(poll: Poll, mechanism: Mechanism, certificate: Certificate) -> None:
    """Of zeros; and, as of these classes always overlap, as if they hardly did."""
    nothing = [0] * mechanism.dimension
    _outcome(poll, mechanism, certificate, nothing, Release, strict=True)
    if getattr(poll.method, "student", None) == "auto":
        method: Method = replace(poll.method, student="linear")  # type: ignore[type-var]
        trained = replace(poll, method=method)
        trained.conclude(mechanism.mean(nothing), mechanism, taught=False, strict=True)


def _outcome(
    poll: Poll,
    mechanism: Mechanism,
    certificate: Certificate,
    noisy: Exact,
    kind: type[Out],
    *,
    taught: bool = True,
    strict: bool = False,
) -> Out:
    mean = mechanism.mean(noisy)
    if poll.judged is not None:
        return poll.judged.add_evaluation(_evaluate(poll.judged, certificate, mean), kind)
    refittable = isinstance(certificate.particular, NoisySum) and hasattr(poll.method, "student")
    model, outlook = poll.conclude(mean, mechanism, taught=taught, strict=strict)
    return kind(
        model=model,
        certificate=certificate,
        statistic=mean if refittable else None,
        shift=poll.surprise(mean, mechanism),
        outlook=outlook,
        keep_back=poll.keep_back,
        poll=poll.detach(),
    )


def _evaluate(judged: Release | Rehearsed, certificate: Certificate, mean: Array) -> Evaluation:
    return Evaluation(
        release=judged.digest,
        certificate=certificate,
        keep_back=judged.keep_back,
        statistic=mean,
    )


def _note(poll: Poll) -> str:
    """What people read of a charge; its end says which poll it was for."""
    what = f"{poll.method.name}: {poll.title}" if poll.title else poll.method.name
    return f"{what}{_mark(poll)}"


def _mark(poll: Poll) -> str:
    return f" [poll {poll.digest[:16]}]"


def _settle(book: Ledger, charge: Charge, release: Release | Evaluation) -> None:
    """Record the release. It is made and paid for.

    Losing it because it cannot be recorded would help nobody.
    """
    try:
        book.settle(charge, release)
    except Exception as error:
        if any((one.id, one.digest) == (charge.id, release.digest) for one in book.history()):
            return  # whoever resumed at the same time has recorded this very release
        problem = getattr(error, "problem", f"cannot be written ({error})")
        told = (
            f"The release was made and charged, but not recorded: the ledger {problem}. Its "
            "charge stays open."
        )
        warn_afterwards(told, LedgerWarning)


def warn_of_shift(outcome: Release | Rehearsed, weighted: bool) -> None:
    """Say that private and auxiliary samples are unlike.

    From what was released, when all is done.
    """
    told = remark(outcome.shift, weighted)
    if told is not None:
        warn_afterwards(told, ShiftWarning)


def warn_afterwards(told: str, kind: type[Warning]) -> None:
    """Warn without failing.

    Where warnings are errors, or whoever shows them fails, a release that was paid for would be
    lost with the expression that made it.
    """
    with contextlib.suppress(Exception):
        warn_caller(told, kind)
