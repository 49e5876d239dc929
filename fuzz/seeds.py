"""Valid things of every kind, as small as they come; the same ones in every run."""

from __future__ import annotations

import json
import tempfile
import warnings
from collections.abc import Iterable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any, Final

import numpy as np
import pandas as pd
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from scipy.sparse import csr_matrix

from ostraka.exchange import JoinCode, Manifest, Receipt, Upload
from ostraka.ledger import Budget, Cost, Ledger
from ostraka.poll import Poll
from ostraka.public.auxiliary import AuxiliarySet
from ostraka.public.preprocessing import Preprocessing
from ostraka.release import Release
from ostraka.release.certificate import Certificate
from ostraka.release.evaluation import Evaluation
from ostraka.sealing import Card, Servers
from ostraka.sealing.shares import wrap
from ostraka.signing import SecretKey, Signature
from ostraka.site import Rules
from ostraka.trustee import Answer, Asking
from ostraka.trustee import Request as ToTrustee

__all__ = [
    "KEY", "addresses", "answers", "cards", "codes", "contributions", "keys", "ledgers", "links",
    "manifests", "memberships", "of_trustee", "poll_addresses", "polls", "receipts", "releases",
    "rules", "signatures", "to_trustee", "uploads",
]  # fmt: skip

FILES: Final = Path(__file__).parent.parent / "tests"
KEY: Final = SecretKey(Ed25519PrivateKey.from_private_bytes(bytes(range(32))))
DIGEST: Final = "0123456789abcdef" * 4
SERVICE: Final = "https://ostraka.example.org"
PARTIES: Final = 6
TRUSTEE: Final = SecretKey.from_seed(bytes(range(32, 64)))
SERVERS: Final = Servers(coordinator=Card.of("a", KEY), trustee=Card.of("b", TRUSTEE))


# ---- polls, and what is sent to them -------------------------------------------------------------


@cache
def polls() -> tuple[bytes, ...]:
    """One by every method, for whole parties and for persons; and the files of older formats."""
    old = [path.read_bytes() for path in sorted(FILES.glob("poll/files/*.poll"))]
    return (*(poll.to_bytes() for poll in made_polls()), *old)


@cache
def made_polls() -> tuple[Poll, ...]:
    """Those made here."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that so few parties hide nobody is known here
        return tuple(_make_polls())


def _make_polls() -> Iterable[Poll]:
    rng = np.random.default_rng(0)
    rows = rng.standard_normal((24, 3))
    public = AuxiliarySet.scaled(rows, ("ill", "well"))
    known: dict[str, Any] = {"epsilon": 1.0, "parties": PARTIES}
    cells = Poll.create(public, method="cells", title="Stroke, 2026", **known)
    yield cells
    yield Poll.create(
        public, method="moments", epsilon=1.0, delta=1e-6, noise="gaussian", protects="person",
        persons=30, roll=["ward 1", "ward 2", "ward 3"], samples_each=2, shift=True,
    )  # fmt: skip
    yield Poll.create(public, method="moments", student="kernel", keep_back=5, **known)
    yield Poll.create(public, method="vote", **known)
    yield Poll.create(public, method="consensus", protects="person", persons=30, **known)
    table = pd.DataFrame(
        {"age": rows[:, 0], "sex": ["f", "m", None] * 8, "dose": [0.5, np.nan] * 12}
    )
    yield Poll.create(table, classes=[0, 1, 2], method="consensus", **known)
    yield Poll.create(table, classes=[0, 1, 2], method="cells", **known)
    sparse = csr_matrix(np.where(rng.random((24, 4)) < 0.4, 0.3, 0.0))
    yield Poll.create(AuxiliarySet(sparse, ("no", "yes")), method="soft", **known)
    own = AuxiliarySet(
        rows, ("ill", "well"), preprocessing=Preprocessing(radius=2.0, constant=0.5), private=True
    )
    yield Poll.create(own, method="soft", **known)
    yield Poll.create(cells.task, method="avg", **known)
    start = _released(cells)
    yield Poll.create(public, method="refine", start=start, **known)
    yield Poll.evaluate(start, **known)
    yield Poll.create(public, method="cells", servers=SERVERS, **known)


@cache
def contributions() -> tuple[bytes, ...]:
    """To the polls made here; and some of every kind, from files."""
    rows, labels = np.linspace(-1.0, 1.0, 12).reshape(4, 3), np.array(["ill", "well"] * 2)
    found = []
    for poll in made_polls():
        if poll.task.classes == ("ill", "well") and not poll.private_auxiliary:
            whose = ["a", "a", "b", "c"] if poll.promise.protects == "person" else None
            found.append(poll.contribute(rows, labels, "ward 1", persons=whose).to_bytes())
    return (*found, *(path.read_bytes() for path in sorted(FILES.glob("*/files/*.contribution"))))


def cards() -> tuple[bytes, ...]:
    """Of both servers."""
    return SERVERS.coordinator.to_bytes(), SERVERS.trustee.to_bytes()


@cache
def to_trustee() -> tuple[bytes, ...]:
    """What a coordinator asks."""
    return (_asked_of_trustee().to_bytes(),)


@cache
def of_trustee() -> tuple[bytes, ...]:
    """What a trustee answers, with and without somebody left out."""
    asked = _asked_of_trustee()
    numbers = wrap(list(range(asked.poll.domain.dimension)))
    made = (Answer.sign(asked, names, numbers, TRUSTEE) for names in ((), ("ward 1",)))
    return tuple(each.to_bytes() for each in made)


@cache
def _asked_of_trustee() -> ToTrustee:
    poll = made_polls()[-1]
    asking = Asking(poll, KEY)
    for name in ("ward 1", "ward 2", "ward 3"):
        asking.add(poll.contribute(np.zeros((1, 3)), ["ill"], name))
    return asking.request()


def _released(poll: Poll) -> Release:
    """What could have come of it."""
    mechanism = poll.mechanism(PARTIES)
    mean = np.linspace(-0.1, 0.2, mechanism.dimension)
    model, outlook = poll.conclude(mean, mechanism)
    certificate, on_sum = poll.certificate(PARTIES, PARTIES), poll.method.name != "avg"
    return Release(
        model=model, certificate=certificate, statistic=mean if on_sum else None, outlook=outlook,
        keep_back=poll.keep_back,
    )  # fmt: skip


@cache
def releases() -> tuple[bytes, ...]:
    """Of polls made here, with and without an evaluation; and the files of older formats."""
    cells, _, kernel = made_polls()[:3]
    made = [_released(poll) for poll in (cells, kernel, made_polls()[6])]
    asked = Poll.evaluate(made[0], epsilon=1.0, parties=PARTIES)
    found = Evaluation(
        release=made[0].digest,
        certificate=asked.certificate(PARTIES),
        keep_back=None,
        statistic=np.array([0.4, 0.1, 0.1, 0.4]),
    )
    evaluated = made[0].add_evaluation(found, Release).to_bytes()
    old = [path.read_bytes() for path in sorted(FILES.glob("release/files/*.ostraka"))]
    return (*(each.to_bytes() for each in made), evaluated, *old)


@cache
def certificates() -> tuple[bytes, ...]:
    """Those of the releases; and older ones."""
    found = [Release.from_bytes(each).certificate for each in releases()]
    old = [path.read_bytes() for path in sorted(FILES.glob("release/files/*certificate-?.json"))]
    return (*(each.to_json().encode() for each in set(map(_whole, found))), *old)


def _whole(certificate: Certificate) -> Certificate:
    return replace(certificate)


# ---- who says so ---------------------------------------------------------------------------------


@cache
def signatures() -> tuple[bytes, ...]:
    """One."""
    return (Signature.of(b"content", KEY).to_bytes(),)


@cache
def keys() -> tuple[bytes, ...]:
    """With and without blanks around them."""
    return (str(KEY.public).encode(), f" {KEY.public}\n".encode())


# ---- what travels --------------------------------------------------------------------------------


@cache
def uploads() -> tuple[bytes, ...]:
    """Two, with what no chance is in."""
    made = (Upload.create(each, 1 + place, KEY) for place, each in enumerate(contributions()[:2]))
    still = (replace(each, salt=bytes(32), signature=bytes(64)) for each in made)
    return tuple(each.to_bytes() for each in still)


@cache
def receipts() -> tuple[bytes, ...]:
    """As it is given, and as it is kept."""
    made = Receipt.sign(KEY, poll=DIGEST, party="ward 1", revision=1, commitment=bytes(32))
    return (made.to_bytes(), replace(made, salt=bytes(32)).to_bytes())


@cache
def manifests() -> tuple[bytes, ...]:
    """Of parties, of persons, and of nobody."""
    listed = [bytes([each]) * 32 for each in range(3)]
    of_whom = (([], None), (listed, None), (listed, 30))
    made = (
        Manifest.sign(KEY, poll=DIGEST, commitments=given, persons=persons)
        for given, persons in of_whom
    )
    return tuple(each.to_bytes() for each in made)


@cache
def codes() -> tuple[bytes, ...]:
    """As it is written, and as people write it."""
    code = str(JoinCode(bytes(range(16)), bytes(range(10))))
    return (code.encode(), code.upper().replace("-", " ").encode())


@cache
def addresses() -> tuple[bytes, ...]:
    """Of services."""
    return tuple(
        text.encode()
        for text in (
            SERVICE, f"{SERVICE}:8443/at/ward/", "http://localhost:8000", "http://127.0.0.1",
            "https://[::1]:443", "https://user:secret@host", "https://host?x=1#y",
        )
    )  # fmt: skip


@cache
def poll_addresses() -> tuple[bytes, ...]:
    """Of polls."""
    return tuple(f"{SERVICE}{path}/polls/{DIGEST}".encode() for path in ("", "/v1", ":80/a"))


@cache
def links() -> tuple[bytes, ...]:
    """To join by."""
    return tuple(
        f"{SERVICE}{path}#{codes()[0].decode()}".encode() for path in ("/join", "/a/join/")
    )


# ---- what a site keeps ---------------------------------------------------------------------------


@cache
def rules() -> tuple[bytes, ...]:
    """None, and all of them."""
    strict = Rules(
        epsilon_per_poll=1.0, epsilon_per_year=2.5, delta_per_year=1e-5, least_parties=5,
        methods=("cells", "moments"), protects="person",
    )  # fmt: skip
    return (Rules().to_bytes(), strict.to_bytes())


@cache
def memberships() -> tuple[bytes, ...]:
    """With and without a certificate authority of its own."""
    held = {
        "ostraka": "membership 1", "address": SERVICE, "service": str(KEY.public), "role": "party",
        "name": "ward 1", "token": "secret",
    }  # fmt: skip
    both = (held, {**held, "ca": "ca.pem"})
    return tuple(
        json.dumps(each, sort_keys=True, separators=(",", ":")).encode() + b"\n" for each in both
    )


@cache
def ledgers() -> tuple[bytes, ...]:
    """Of every kind of budget; and an older one."""
    budgets = (Budget(epsilon=4.0), Budget(rho=2.0), Budget(epsilon=4.0, delta=1e-5))
    old = (FILES / "ledger/files/version-2.ledger").read_bytes()
    return (*map(_ledger, budgets), old)


def _ledger(budget: Budget) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "ledger"
        made = Ledger.create(path, budget)
        made.allow(["ward 2"], Budget(**{**_numbers(budget), budget.kind.names[0]: 1.5}))
        first = made.charge(["ward 1", "ward 2"], Cost(epsilon=0.5), "stroke")
        made.settle(first, DIGEST)
        made.charge(["ward 1"], Cost(epsilon=0.25), certificate=DIGEST, draw=lambda: [1, -2])
        return path.read_bytes()


def _numbers(budget: Budget) -> dict[str, float]:
    return {name: getattr(budget, name) for name in budget.kind.names}


# ---- what a service answers ----------------------------------------------------------------------


@cache
def answers() -> tuple[bytes, ...]:
    """A status, a type, and what is said, of each shape."""
    amount = {"epsilon": 1.0}
    account = {"party": "ward 1", "budget": amount, "spent": amount, "left": amount, "releases": 1}
    mine = {"revision": 1, "commitment": "ab" * 32, "handed_in": False, "unread": False}
    poll = {
        "digest": DIGEST, "title": "Stroke", "state": "open", "contributions": 3, "persons": None,
        "release": None, "facts": {"Method": "cells"}, "price": amount, "mine": mine,
        "trouble": None,
    }  # fmt: skip
    link = {"old": str(KEY.public), "new": str(KEY.public), "signature": "ab" * 64}
    party = {"name": "ward 1", "joined": "2026-01-01", "has_key": True, "revoked": False}
    contributor = {"party": "ward 1", "revision": 1, "handed_in": True}
    me = {"role": "party", "name": "ward 1"}
    said = (
        poll, {**me, "token": "secret"}, {"key": str(KEY.public), "earlier": [link]},
        {**me, "account": account}, {**me, "account": None}, {"items": [account], "next": None},
        {"items": [poll], "next": "2"}, {"items": [party], "next": None},
        {"items": [contributor], "next": None},
        {"items": [{"name": "ward 1", "code": codes()[0].decode()}]},
    )  # fmt: skip
    problem = {"type": "urn:ostraka:error:StateError", "detail": "This poll is not open yet."}
    good = (b"200 application/json\n" + json.dumps(each).encode() for each in said)
    bad = (
        b"%d application/problem+json\n" % status + json.dumps(problem).encode()
        for status in (409, 503)
    )
    return (*good, *bad)
