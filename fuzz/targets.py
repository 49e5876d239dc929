"""The readers, by name: from which seeds, how hostile inputs are made, and what happens next."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cache
from pathlib import Path
from random import Random
from typing import Any, Final

import httpx
import numpy as np

from fuzz import asking, seeds
from fuzz.files import change_headed, change_ledger, change_tensors
from fuzz.judge import Step, Target
from fuzz.mutate import change_bytes, change_text
from fuzz.trees import change_json
from ostraka.client import Client
from ostraka.client.address import read_address, read_link, read_poll_address
from ostraka.client.membership import Membership
from ostraka.errors import OstrakaError
from ostraka.exchange import JoinCode, Manifest, Receipt, Upload
from ostraka.exchange.upload import HEADER as UPLOAD
from ostraka.ledger import Cost, Ledger
from ostraka.party.contribution import HEADER, Contribution, Kind, payload_bytes
from ostraka.party.sealed import open_share
from ostraka.poll import Poll
from ostraka.release import Release
from ostraka.release.certificate import Certificate
from ostraka.sealing import Card, Opener
from ostraka.signing import PublicKey, Signature
from ostraka.site import Rules
from ostraka.tally import Tally
from ostraka.trustee import Answer, Request
from ostraka.verifying import check_noise, check_release, read_signed

__all__ = ["TARGETS"]


# ---- polls and what is sent to them --------------------------------------------------------------


def _after_poll(poll: Poll) -> Iterable[Step]:
    persons = poll.expected_units if poll.promise.protects == "person" else None
    strict = Rules(epsilon_per_poll=0.1, least_parties=10, methods=("cells",))
    yield lambda: repr(poll)
    yield lambda: str(poll.certificate(poll.expected_units, persons))
    yield lambda: Tally(poll, rehearsal=True).total
    yield lambda: Rules().check(poll)
    yield lambda: strict.check(poll)


def _answer(poll: Poll) -> Iterable[Step]:
    """What a party's machine does with a poll."""
    task = poll.task
    whose = ["a", "b"] if poll.promise.protects == "person" else None
    rows: Any = np.linspace(-1.0, 1.0, 2 * task.n_columns).reshape(2, task.n_columns)
    if task.columns is not None:
        rows = {name: [0.5, None] for name in task.columns.names}
    if not (poll.private_auxiliary or poll.votes):  # what trains classifiers takes longer
        yield lambda: poll.contribute(rows, task.classes[:2], "ward 1", persons=whose)


def _count(contribution: Contribution) -> Iterable[Step]:
    """By every poll, as if it had been sent to that one."""
    for poll in _asked():
        yield lambda poll=poll: _count_in(poll, replace(contribution, poll=poll.digest))


def _count_in(poll: Poll, given: Contribution) -> None:
    tally = Tally(poll)
    tally.check(given)
    if poll.is_sealed:  # only a server can count it
        open_share(given, Opener.of(seeds.KEY), poll.domain.dimension)
        return
    try:
        tally.add(given)
    except OstrakaError as error:
        raise AssertionError("what was checked was refused") from error
    _ = tally.total


def _after_trustee(answer: Answer) -> Iterable[Step]:
    """By the coordinator who has asked."""
    request = Request.from_bytes(seeds.to_trustee()[0])
    yield lambda: answer.check(request.poll, request)


@cache
def _asked() -> tuple[Poll, ...]:
    return tuple(
        Poll.from_bytes(each) for each in (*seeds.polls()[:10], seeds.made_polls()[-1].to_bytes())
    )


def _promised(fields: tuple[Any, ...]) -> int:
    """How many bytes stand behind the header of a contribution."""
    _, _, kind, _, size, n_classes, _, n_name = fields
    known = kind in set(Kind)
    return int(n_name + payload_bytes(Kind(kind), size, n_classes)) if known else 0


# ---- releases ------------------------------------------------------------------------------------


def _after_release(release: Release) -> Iterable[Step]:
    task, columns = release.model.task, release.model.task.columns
    yield lambda: f"{release!r} {release.certificate} {release.outlook.describe(task.classes)}"
    for each in release.evaluations:
        yield lambda each=each: f"{each!r} {each.describe(task.classes)} {each.facts(task.classes)}"
    yield lambda: check_release(release)
    for poll in _asked_for(release):
        yield lambda poll=poll: check_release(release, poll)
    rows: Any = np.linspace(-1.0, 1.0, task.n_columns)[None]
    if columns is not None:
        rows = {name: [0.5, None] for name in columns.names}
    yield lambda: _predict(release, rows)


def _predict(release: Release, rows: Any) -> None:
    with np.errstate(all="ignore"):  # weights may be so large that no double holds a score
        release.predict_proba(rows)


def _asked_for(release: Release) -> list[Poll]:
    known = {each.poll for each in release.certificates}
    return [poll for poll in _asked() if poll.digest in known]


# ---- what travels --------------------------------------------------------------------------------


def _after_upload(upload: Upload) -> Iterable[Step]:
    yield lambda: upload.check(seeds.KEY.public)
    yield lambda: Contribution.from_bytes(upload.contribution)


def _after_manifest(listed: Manifest) -> Iterable[Step]:
    yield lambda: listed.check(seeds.KEY.public)
    yield lambda: (listed.parties, listed.counts(bytes(32)), repr(listed))


def _after_code(code: JoinCode) -> Iterable[Step]:
    yield lambda: code.check_service(seeds.KEY.public)
    yield lambda: code.request(seeds.KEY, seeds.KEY.public).check(seeds.KEY.public)


# ---- what a site keeps ---------------------------------------------------------------------------


def _load_membership(data: bytes) -> Membership:
    path = _scratch() / "party.json"
    path.write_bytes(data)
    return Membership.load(path)


def _save_membership(member: Membership) -> bytes:
    member.save()
    return (member.folder / f"{member.role}.json").read_bytes()


def _open_ledger(data: bytes) -> Ledger:
    path = _scratch() / "ledger"
    path.unlink(missing_ok=True)
    path.with_name("ledger-journal").unlink(missing_ok=True)
    path.write_bytes(data)
    return Ledger(path, patience=0.0)


def _after_ledger(ledger: Ledger) -> Iterable[Step]:
    yield lambda: f"{ledger.budget} {ledger.protects}"
    yield lambda: [f"{each.party} {each.left} of {each.budget}" for each in ledger.accounts()]
    yield lambda: [f"{each.day} {each.cost} {each.note}" for each in ledger.history()]
    yield lambda: ledger.drawn(2)
    yield ledger.audit
    yield lambda: ledger.charge(["ward 1"], Cost(epsilon=0.125))


@cache
def _scratch() -> Path:
    """A folder for as long as this process is there."""
    memory = Path("/dev/shm")
    _KEPT.append(tempfile.TemporaryDirectory(dir=memory if os.access(memory, os.W_OK) else None))
    return Path(_KEPT[0].name)


_KEPT: Final[list[tempfile.TemporaryDirectory[str]]] = []


# ---- addresses, and what is answered there -------------------------------------------------------


def _text(data: bytes) -> str:
    """As a command line has it."""
    return data.decode("utf-8", "surrogateescape")


def _bytes(value: object) -> bytes:
    return str(value).encode("utf-8", "surrogateescape")


def _ask(address: str) -> Iterable[Step]:
    """The first thing that is done with an address."""
    yield lambda: httpx.URL(f"{address}/v1/")


def _link(data: bytes) -> str:
    service, code = read_link(_text(data), plain=True)
    return f"{service}/join#{code}"


def _after_answer(answer: bytes) -> Iterable[Step]:
    """Whatever was asked, this was answered."""
    client = _client(answer)
    yield client.identity
    yield client.me
    yield lambda: client.invite(["ward 1"])
    code = JoinCode.parse(seeds.codes()[0].decode())
    yield lambda: client.join(code, seeds.KEY, seeds.KEY.public)
    yield lambda: client.poll(seeds.DIGEST)
    yield lambda: client.poll_signature(seeds.DIGEST)
    yield lambda: client.manifest(seeds.DIGEST)
    yield lambda: client.contribute(seeds.DIGEST, b"")
    for ask in (client.parties, client.polls, client.accounts, client.audit):
        yield lambda ask=ask: next(ask(), None)
    yield lambda: next(client.contributors(seeds.DIGEST), None)


def _client(answer: bytes) -> Client:
    opening, _, content = answer.partition(b"\n")
    status, _, kind = opening.partition(b" ")
    with suppress(ValueError):
        number = int(status) if status.isdigit() else 200
        number = number if 200 <= number < 600 else 200

    def reply(_: httpx.Request) -> httpx.Response:
        headers = {b"content-type": kind.replace(b"\r", b"")}
        return httpx.Response(number, headers=headers, content=content)

    client = _any_client()
    client._http._transport = httpx.MockTransport(reply)
    return client


@cache
def _any_client() -> Client:
    return Client("http://localhost", patience=0.0)


def _change_answer(data: bytes, rng: Random, others: Sequence[bytes]) -> bytes:
    opening, end, content = data.partition(b"\n")
    if rng.random() < 0.1:
        return change_bytes(data, rng, others)
    said = [each.partition(b"\n")[2] for each in others]
    return opening + end + change_json(content, rng, said)


TARGETS: Final[dict[str, Target]] = {
    "poll": Target(
        seeds=seeds.polls, read=Poll.from_bytes, write=Poll.to_bytes, steps=_after_poll,
        mutate=change_tensors, one_form=True, short=200,
    ),
    "answer": Target(
        seeds=seeds.polls, read=Poll.from_bytes, steps=_answer, mutate=change_tensors, short=100,
    ),
    "contribution": Target(
        seeds=seeds.contributions, read=Contribution.from_bytes, write=Contribution.to_bytes,
        steps=_count, mutate=change_headed(HEADER, change_bytes, _promised), one_form=True,
    ),
    "card": Target(
        seeds=seeds.cards, read=Card.from_bytes, write=Card.to_bytes, mutate=change_json,
        one_form=False, steps=lambda card: (card.__str__,),
    ),
    "to-trustee": Target(
        seeds=seeds.to_trustee, read=Request.from_bytes, write=Request.to_bytes,
        steps=lambda asked: (lambda: asked.digest,), mutate=change_tensors, one_form=True,
        short=200,
    ),
    "of-trustee": Target(
        seeds=seeds.of_trustee, read=Answer.from_bytes, write=Answer.to_bytes,
        steps=_after_trustee, mutate=change_tensors, one_form=True, short=300,
    ),
    "release": Target(
        seeds=seeds.releases, read=Release.from_bytes, write=Release.to_bytes,
        steps=_after_release, mutate=change_tensors, short=300,
    ),
    "certificate": Target(
        seeds=seeds.certificates, read=lambda data: Certificate.from_json(_text(data)),
        write=lambda found: found.to_json().encode(), mutate=change_json,
        steps=lambda found: (found.__str__, lambda: check_noise(found)),
    ),
    "signed": Target(seeds=seeds.polls, read=read_signed, mutate=change_tensors, short=300),
    "signature": Target(
        seeds=seeds.signatures, read=Signature.from_bytes, write=Signature.to_bytes,
        steps=lambda found: (lambda: found.check(b"content"),), mutate=change_json,
    ),
    "key": Target(
        seeds=seeds.keys, read=lambda data: PublicKey.parse(_text(data)), write=_bytes,
        steps=lambda key: (lambda: key.check(bytes(64), b"content"),), mutate=change_text,
    ),
    "upload": Target(
        seeds=seeds.uploads, read=Upload.from_bytes, write=Upload.to_bytes, steps=_after_upload,
        mutate=change_headed(UPLOAD, change_headed(HEADER, change_bytes, _promised)),
        one_form=True,
    ),
    "receipt": Target(
        seeds=seeds.receipts, read=Receipt.from_bytes, write=Receipt.to_bytes,
        steps=lambda given: (lambda: given.check(seeds.KEY.public),), mutate=change_json,
    ),
    "manifest": Target(
        seeds=seeds.manifests, read=Manifest.from_bytes, write=Manifest.to_bytes,
        steps=_after_manifest, mutate=change_json, one_form=True,
    ),
    "code": Target(
        seeds=seeds.codes, read=lambda data: JoinCode.parse(_text(data)), write=_bytes,
        steps=_after_code, mutate=change_text,
    ),
    "rules": Target(
        seeds=seeds.rules, read=Rules.from_bytes, write=Rules.to_bytes, mutate=change_json,
        steps=lambda held: (held.describe, *((lambda p=p: held.check(p)) for p in _asked()[:2])),
    ),
    "membership": Target(
        seeds=seeds.memberships, read=_load_membership, write=_save_membership, mutate=change_json,
        steps=lambda member: (lambda: repr(member),),
    ),
    "ledger": Target(
        seeds=seeds.ledgers, read=_open_ledger, steps=_after_ledger, mutate=change_ledger, short=50,
    ),
    "address": Target(
        seeds=seeds.addresses, read=lambda data: read_address(_text(data), plain=True),
        write=_bytes, steps=_ask, mutate=change_text,
    ),
    "own-address": Target(
        seeds=seeds.addresses, read=lambda data: read_address(_text(data)), write=_bytes,
        mutate=change_text,
    ),
    "poll-address": Target(
        seeds=seeds.poll_addresses, read=lambda data: read_poll_address(_text(data), plain=True),
        write=_bytes, steps=lambda found: _ask(found.service), mutate=change_text,
    ),
    "link": Target(
        seeds=seeds.links, read=_link, write=_bytes, mutate=change_text,
    ),
    "reply": Target(
        seeds=seeds.answers, read=lambda data: data, steps=_after_answer, mutate=_change_answer,
        short=50,
    ),
    "request": Target(
        seeds=asking.requests, read=asking.ask, steps=asking.checks, mutate=asking.change_request,
        short=200,
    ),
}  # fmt: skip
