"""Whether a release is what it says, told from files alone: nobody has to be asked.

    question                                 answered from
    Who published it?                        the signature beside it, and a key that one trusts
    Does its noise give what it promises?    the certificate: ε and δ are computed anew from noise
                                             and sensitivity, for every evaluation too
    Is it what the poll asked for?           the poll: the whole certificate follows from it and
                                             from how many took part; so do classes, columns and
                                             features, and what an evaluation is about

What no file can tell: whether the noise was drawn as the certificate says, how many took part, and
whether the weights are those of the model that was learnt. That is the coordinator's word, and the
signature says whose.
"""

from __future__ import annotations

import numpy as np

from ostraka.errors import FormatError, InputError, SignatureError
from ostraka.mechanism.laws import verify
from ostraka.poll import Poll
from ostraka.public.task import Task
from ostraka.release import Release
from ostraka.release.certificate import Certificate, plain
from ostraka.release.release import task_json
from ostraka.signing import PublicKey, Signature
from ostraka.tensors import read_tensors

__all__ = ["check_follows", "check_noise", "check_release", "check_signature", "read_signed"]


def read_signed(content: bytes) -> Poll | Release:
    """What people sign: a poll or a release; anything else is refused."""
    _, metadata = read_tensors(content, "release")
    kind = Poll if "certificate" not in metadata and "evaluations" not in metadata else Release
    return kind.from_bytes(content)


def check_signature(
    content: bytes, signature: Signature | None, signer: PublicKey | None
) -> PublicKey | None:
    """Who signed this content; refused if it was changed, or if it is not by `signer`."""
    if signature is None and signer is not None:
        raise SignatureError(
            f"It is not signed, so nothing shows that {signer} wrote it.",
            "Ask whoever published it for the file that ends in .sig, and put it beside this one.",
        )
    if signature is None:
        return None
    signature.check(content)
    if signer is not None and signature.key != signer:
        raise SignatureError(
            f"It is signed by {signature.key}, not by {signer}.",
            "Do not use it, unless you know that the signer has a new key.",
        )
    return signature.key


def check_release(release: Release, poll: Poll | None = None) -> None:
    """Refuse a release that promises more than its noise gives, or that the poll does not give."""
    for each in release.certificates:
        check_noise(each)
    polls = [each.certificate.poll for each in release.evaluations]
    if len(set(polls)) < len(polls):
        raise _made_up("it has two evaluations by one poll")
    if any(each.keep_back != release.keep_back for each in release.evaluations):
        raise _made_up("an evaluation is of other rows than were kept back")
    if poll is not None:
        check_follows(release, poll)


def check_noise(promised: Certificate) -> float:
    """δ at the promised ε, computed anew; refused if it is more than was promised."""
    found = verify(promised)
    if not found <= promised.round_delta:
        problem = (
            f"its noise gives δ = {found:.3g} at ε = {promised.round_epsilon:g}, more than it "
            "promises"
        )
        raise FormatError("release", problem)
    return found


def check_follows(release: Release, poll: Poll) -> None:
    """Refuse a release of another poll, or one that its poll does not lead to.

    A poll that evaluates leads to a statement on the release.
    """
    promised = [each for each in release.certificates if each.poll == poll.digest]
    if not promised:
        raise InputError(
            f"The release comes from the poll {str(release.certificate.poll)[:12]}..., and this is "
            f"the poll {poll.digest[:12]}....",
            "Give the poll's very file: another version of it is another poll.",
        )
    for each in promised:
        _check_promised(each, poll)
    if poll.judged is None:
        _check_about(release.model.task, release.keep_back, poll)
    elif poll.judged.digest != release.digest:
        raise _made_up("the poll evaluates another release")


def _check_promised(promised: Certificate, poll: Poll) -> None:
    due = plain(poll.certificate(promised.parties, promised.persons))
    wrong = sorted(name for name, value in plain(promised).items() if value != due[name])
    if wrong:
        raise _made_up(f"its certificate does not follow from the poll: {', '.join(wrong)}")
    if poll.roll is not None and promised.parties > len(poll.roll):
        asked = f"its poll asked {len(poll.roll)}"
        raise _made_up(f"it says that {promised.parties} parties took part, and {asked}")


def _check_about(task: Task, keep_back: int | None, poll: Poll) -> None:
    ours, asked = task.preprocessing.arrays(), poll.task.preprocessing.arrays()
    alike = task_json(task) == task_json(poll.task) and ours.keys() == asked.keys()
    if not alike or not all(np.array_equal(ours[name], asked[name]) for name in ours):
        raise _made_up("its classes, columns or features are not those of the poll")
    if keep_back != poll.keep_back:
        raise _made_up("other rows were kept back than the poll says")


def _made_up(problem: str) -> FormatError:
    return FormatError("release", problem)
