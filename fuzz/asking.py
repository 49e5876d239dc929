"""Requests to a service as bytes: valid ones of every kind, hostile ones, and what answers owe.

    METHOD TARGET
    NAME: VALUE

    BODY

Never a fault of the service's own; errors are application/problem+json, of one form, in plain
words; what else is JSON can be read. Values of this process stand in braces, as `fuzz.stage` says.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from functools import cache
from random import Random
from typing import Any, Final
from urllib.parse import quote_from_bytes

from pydantic import ValidationError

from fuzz import seeds
from fuzz.files import change_tensors
from fuzz.judge import Mutator, Step
from fuzz.mutate import LETTERS, change_bytes, change_text, often
from fuzz.stage import LATE, PARTIES, Answer, Question, contribution_to, key_of, stage
from fuzz.trees import change_json
from ostraka.errors.codes import revive
from ostraka.exchange import Upload
from ostraka.poll import Poll
from ostraka.service.api.problems import MEDIA, TYPE
from ostraka.service.api.shapes import ProblemShape

__all__ = ["ask", "change_request", "checks", "questions", "requests"]

METHODS: Final = ("GET", "PUT", "POST", "DELETE", "HEAD", "PATCH", "OPTIONS", "TRACE", "X")
ROLES: Final = (b"{admin}", b"{party}", b"{late}", b"{reader}")
PRINTABLE: Final = bytes(range(0x21, 0x7F))
HEADERS: Final = (
    b"content-length: 0", b"content-length: -1", b"content-length: 1e3", b"content-length: 1000000",
    b"content-length: 99999999999999999999", b"content-length: 5", b"content-length:",
    b"content-length: \xb2", b"content-length: +5", b"content-length: 300000000",
    b"content-type: application/json; charset=utf-16", b"content-type: text/plain",
    b"content-type: multipart/form-data; boundary=", b"content-type: \xff/\xfe", b"content-type:",
    b"content-type: application/x-www-form-urlencoded", b"content-type: application/problem+json",
    b"content-encoding: gzip", b"transfer-encoding: chunked", b"expect: 100-continue",
    b"authorization: Bearer", b"authorization: Bearer \xe9\xff", b"authorization: Basic YTpi",
    b"authorization: bearer\t{admin}", b"authorization: Bearer  {admin} ", b"authorization:",
    b"authorization: Bearer ostraka_" + b"x" * 20_000, b"authorization: Bearer a.b.c",
    b"authorization: Bearer {admin}, Bearer {party}", b"cookie: a=b; =; \xff", b"host: \xff",
    b"accept: application/xml", b"range: bytes=0-1", b"if-none-match: *", b"origin: null",
    b"x-request-id: \xff\xfe", b"x-forwarded-for: ::1, \xff", b"x-http-method-override: DELETE",
    b"connection: upgrade", b"upgrade: websocket",
)  # fmt: skip
PIECES: Final = (
    b"%00", b"%ED%A0%80", b"%FF", b"%F0%9F%98%80", b"..", b".", b"", b"%2F", b"%2e%2e%2f", b"+",
    b"0" * 64, b"f" * 64, b"A" * 64, b"%C3%A9", b"e%CC%81", b"%E2%80%AE", b"%1B%5B31m", b"x" * 5000,
    b"None", b"null", b"-1", b"1e400", b"%25", b"%", b"%%", b"%zz",
)  # fmt: skip
QUERIES: Final = (b"after", b"limit", b"state", b"search", b"x", b"", b"after[]", b"%00")
NUMBERS: Final = (
    b"0", b"1", b"-1", b"2147483647", b"2147483648", b"9223372036854775807", b"9223372036854775808",
    b"1e400", b"nan", b"1.0", b"1_0", b"%D9%A3", b"%2B1", b"true", b"9" * 5000, b"1000", b"1001",
)  # fmt: skip


# ---- valid ones ----------------------------------------------------------------------------------


@cache
def questions() -> tuple[Question, ...]:
    """Of every kind, by whoever may ask them."""
    return tuple(_questions())


def requests() -> tuple[bytes, ...]:
    """The same as bytes."""
    return tuple(map(_written, questions()))


def _questions() -> Iterable[Question]:
    polls = {state: digest.encode() for state, digest in stage().polls.items()}
    for plain in (b"service", b"health/live", b"health/ready", b"openapi.json"):
        yield Question("GET", b"/v1/" + plain)
    listed = (
        b"me", b"budget", b"metrics", b"polls?state=open&limit=2", b"polls?after=3", b"charges",
        b"parties?search=w&limit=1", b"parties?after=ward%201", b"accounts?limit=1",
        b"audit?after=1", b"accounts?search=ward",
    )  # fmt: skip
    for path in listed:
        yield _as(b"{admin}", "GET", b"/v1/" + path)
    yield _as(b"{party}", "GET", b"/v1/me")
    yield _as(b"{party}", "GET", b"/v1/polls")
    for digest in polls.values():
        yield _as(b"{admin}", "GET", b"/v1/polls/" + digest)
    files = (b"file", b"signature", b"manifest", b"release", b"release/signature", b"contribution")
    for each in files:
        yield _as(b"{party}", "GET", b"/v1/polls/%s/%s" % (polls["released"], each))
    yield _as(b"{admin}", "GET", b"/v1/polls/%s/contributions?limit=1" % polls["open"])
    yield _as(b"{admin}", "POST", b"/v1/polls/%s/open" % polls["draft"])
    yield _as(b"{admin}", "POST", b"/v1/polls/%s/open" % polls["ready"])
    yield _as(b"{admin}", "POST", b"/v1/polls/%s/abandon" % polls["few"])
    left_out = {"leave_out": [PARTIES[0]]}
    yield _as(b"{admin}", "POST", b"/v1/polls/%s/close" % polls["open"], left_out)
    yield _as(b"{admin}", "POST", b"/v1/polls/%s/close" % polls["open"])
    asked = {name: f"{{{name}}}" for name in ("code", "key", "by_code", "by_key")}
    yield Question("POST", b"/v1/joins", JSON, _json(**asked))
    renewal = {"key": "{key}", "by_old": "{by_old}", "by_new": "{by_new}"}
    yield _as(b"{late}", "POST", b"/v1/me/key", renewal)
    invitation = {"names": ["ward 6", "ward 7"], "role": "party", "days": 30, "again": False}
    yield _as(b"{admin}", "POST", b"/v1/invitations", invitation)
    yield _as(b"{admin}", "POST", b"/v1/revocations", {"name": PARTIES[1], "role": "party"})
    allowance = {"names": ["ward 6"], "epsilon": 1.5, "delta": 1e-6, "rho": None}
    yield _as(b"{admin}", "POST", b"/v1/allowances", allowance)
    for place in (0, 9):
        content = seeds.polls()[place]
        path = b"/v1/polls/" + Poll.from_bytes(content).digest.encode()
        yield _as(b"{admin}", "PUT", path, content)
    poll = Poll.from_bytes(seeds.polls()[2])
    sent, path = contribution_to(poll, LATE).to_bytes(), b"/v1/polls/" + poll.digest.encode()
    upload = Upload.create(sent, 1, key_of(LATE)).to_bytes()
    yield _as(b"{late}", "PUT", path + b"/contribution", upload)
    yield _as(b"{admin}", "PUT", path + b"/contributions/ward%204", sent)


JSON: Final = ((b"content-type", b"application/json"),)


def _json(**given: Any) -> bytes:
    return json.dumps(given, sort_keys=True, separators=(",", ":")).encode()


def _as(who: bytes, method: str, target: bytes, body: bytes | dict[str, Any] = b"") -> Question:
    headers = ((b"authorization", b"Bearer " + who),)
    if isinstance(body, dict):
        return Question(method, target, headers + JSON, _json(**body))
    return Question(method, target, headers, body)


# ---- as bytes ------------------------------------------------------------------------------------


def _written(asked: Question) -> bytes:
    headers = b"".join(name + b": " + text + b"\n" for name, text in asked.headers)
    return asked.method.encode() + b" " + asked.target + b"\n" + headers + b"\n" + asked.body


def _taken_apart(data: bytes) -> tuple[bytes, bytes, list[bytes], bytes]:
    """Method, target, headers, body; whatever the bytes are."""
    opening, _, body = data.partition(b"\n\n")
    first, *headers = opening.split(b"\n")
    method, _, target = first.partition(b" ")
    return method, target, headers, body


def ask(data: bytes) -> Answer:
    """What the service answers to what a server would let through."""
    held = stage()
    for name, text in held.names.items():
        data = data.replace(name, text)
    method, target, headers, body = _taken_apart(data)
    path, mark, query = target.partition(b"?")
    asked = Question(
        method="".join(filter(str.isalpha, method.decode("ascii", "ignore")))[:20].upper() or "GET",
        target=b"/" + _plain(path).lstrip(b"/") + mark + _plain(query),
        headers=_headers(headers, body),
        body=body,
    )
    return held.ask(asked)


def _plain(text: bytes) -> bytes:
    """No letters but those that stand in a request's first line."""
    safe = PRINTABLE.replace(b"#", b"").decode()
    return quote_from_bytes(text, safe=safe).encode()


def _headers(lines: Iterable[bytes], body: bytes) -> list[tuple[bytes, bytes]]:
    found = []
    for line in lines:
        name, _, text = line.partition(b":")
        letters = bytes(each for each in name.lower() if each in PRINTABLE and each != 0x3A)
        value = bytes(each for each in text if each >= 0x20 or each == 0x09).strip(b" \t")
        if letters:
            found.append((letters, value))
    if b"content-length" not in dict(found):
        found.append((b"content-length", b"%d" % len(body)))
    return found


# ---- hostile ones --------------------------------------------------------------------------------


def change_request(data: bytes, rng: Random, others: Sequence[bytes]) -> bytes:
    """Another request."""
    if rng.random() < 0.03:
        return change_bytes(data, rng, others)
    method, target, headers, body = _taken_apart(data)
    for _ in range(often(rng)):
        do = rng.random()
        if do < 0.08:
            method = rng.choice(METHODS).encode()
        elif do < 0.25:
            target = _other_path(target, rng, others)
        elif do < 0.45:
            target = _other_query(target, rng)
        elif do < 0.62 or not body:
            headers = _other_headers(headers, rng)
        else:
            bodies = [_taken_apart(each)[3] for each in others]
            body = _changer(body)(body, rng, [each for each in bodies if each[:1] == body[:1]])
    return b"\n".join((method + b" " + target, *headers, b"", body))


def _changer(body: bytes) -> Mutator:
    if body[:1] in (b"{", b"["):
        return change_json
    return change_tensors if body[8:9] == b"{" else change_bytes


def _other_path(target: bytes, rng: Random, others: Sequence[bytes]) -> bytes:
    path, mark, query = target.partition(b"?")
    pieces = path.split(b"/")
    at = rng.randrange(1, len(pieces)) if len(pieces) > 1 else 0
    donor = _taken_apart(rng.choice(others))[1].partition(b"?")[0] if others else path
    put = rng.choice(
        (
            rng.choice(PIECES), rng.choice(LETTERS).encode("utf-8", "surrogatepass"),
            change_text(pieces[at], rng, ()), rng.choice(donor.split(b"/")), pieces[at] * 2,
        )
    )  # fmt: skip
    if rng.random() < 0.8:
        pieces[at] = put
    else:
        pieces.insert(at, put)
    return b"/".join(pieces) + mark + query


def _other_query(target: bytes, rng: Random) -> bytes:
    path, _, query = target.partition(b"?")
    asked = [each for each in query.split(b"&") if each]
    value = rng.choice(
        (rng.choice(NUMBERS), rng.choice(PIECES), rng.choice(LETTERS).encode("utf-8", "replace"))
    )
    name = rng.choice(QUERIES)
    if asked and rng.random() < 0.5:
        at = rng.randrange(len(asked))
        asked[at] = asked[at].partition(b"=")[0] + b"=" + value
    else:
        asked.append(rng.choice((name + b"=" + value, name, value, name + b"==" + value)))
    return path + b"?" + b"&".join(asked)


def _other_headers(headers: list[bytes], rng: Random) -> list[bytes]:
    do = rng.random()
    if do < 0.4 and headers:
        at = rng.randrange(len(headers))
        if headers[at].startswith(b"authorization"):
            return [
                *headers[:at],
                b"authorization: Bearer " + rng.choice(ROLES),
                *headers[at + 1 :],
            ]
        return headers[:at] + headers[at + 1 :]
    added = rng.choice(HEADERS)
    name = added.partition(b":")[0]
    kept = [each for each in headers if not each.startswith(name)] if do < 0.8 else headers
    return [*kept, added]


# ---- what answers owe ----------------------------------------------------------------------------


def checks(answer: Answer) -> Iterable[Step]:
    """One after the other."""
    yield lambda: no_fault(answer)
    yield lambda: one_form(answer)
    yield lambda: plain_words(answer)


def no_fault(answer: Answer) -> None:
    """Nothing went wrong in the service, and it has said something."""
    for error in answer.causes:
        raise error.__cause__ or error
    assert 200 <= answer.status < 500, f"status {answer.status}: {answer.content[:1000]!r}"


def one_form(answer: Answer) -> None:
    """An error is a problem, and JSON is JSON."""
    if answer.kind == "application/json" and answer.content:
        json.loads(answer.content)
    if answer.status < 400 or not answer.content:  # nothing is said to HEAD
        return
    assert answer.kind == MEDIA, f"{answer.status} as {answer.kind}: {answer.content[:1000]!r}"
    try:
        told = ProblemShape.model_validate_json(answer.content, strict=True)
    except ValidationError as error:
        raise AssertionError(f"no problem: {answer.content[:1000]!r}") from error
    assert told.status == answer.status
    assert told.type.startswith(TYPE)
    assert told.request
    assert (answer.status == 401) == (b"www-authenticate" in dict(answer.headers))


def plain_words(answer: Answer) -> None:
    """They are judged as those of an error here are."""
    if answer.status >= 400 and answer.content:
        told = ProblemShape.model_validate_json(answer.content)
        raise revive(told.type.removeprefix(TYPE), told.detail)
