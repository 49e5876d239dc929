"""Tokens of an issuer: whom they let in, and everything that looks like one and is none."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa

from ostraka.errors import ParameterError, ServiceError
from ostraka.service import staff as module
from ostraka.service.access import Who
from ostraka.service.settings import Settings
from ostraka.service.staff import DISCOVERY, KEPT, LEEWAY, PAUSE, Staff
from tests.client.served import Answer, Asked, Clock, Stranger, stranger
from tests.service.api.asking import asking, check_problem
from tests.service.made import settings_in, start

RSA, OTHER_RSA = (rsa.generate_private_key(65537, 2048) for _ in range(2))
EC, ED = ec.generate_private_key(ec.SECP256R1()), ed25519.Ed25519PrivateKey.generate()
KINDS = {"RS256": RSA, "ES256": EC, "EdDSA": ED}
AUDIENCE, HOUR = "ostraka", 3600


def jwk(key: Any, name: str, **more: Any) -> dict[str, Any]:
    """A public key as issuers show it."""
    alg = next(alg for alg, kind in KINDS.items() if type(kind) is type(key))
    kind = jwt.get_algorithm_by_name(alg)
    return {**json.loads(kind.to_jwk(key.public_key())), "kid": name, **more}  # type: ignore[attr-defined]


def said(value: Any, status: int = 200, **headers: str) -> Answer:
    return Answer(status, json.dumps(value).encode(), headers)


@dataclass
class Issuer:
    """Vouches for people, as far as it answers."""

    server: Stranger
    keys: list[Any] = field(default_factory=lambda: [jwk(RSA, "one")])
    discovery: Answer | None = None
    answer: Answer | None = None

    def __post_init__(self) -> None:
        self.server.says(self._say)

    @property
    def address(self) -> str:
        return self.server.address

    @property
    def n_asked(self) -> int:
        """How often it was asked for its keys, or for where they are."""
        return sum(asked.path == DISCOVERY for asked in self.server.asked)

    def _say(self, asked: Asked) -> Answer:
        if asked.path == DISCOVERY:
            held = {"issuer": self.address, "jwks_uri": f"{self.address}/keys"}
            return self.discovery or said(held)
        return self.answer or said({"keys": self.keys})

    def token(self, key: Any = RSA, alg: str = "RS256", name: Any = "one", **changes: Any) -> str:
        """For Ann, now, unless it says otherwise; None takes something out."""
        now = int(time.time())
        claims = {
            "iss": self.address,
            "aud": AUDIENCE,
            "sub": "4711",
            "iat": now,
            "exp": now + HOUR,
            "email": "ann@example.org",
            "email_verified": True,
            **changes,
        }
        given = {name: value for name, value in claims.items() if value is not None}
        return jwt.encode(given, key, algorithm=alg, headers={"kid": name} if name else None)


@pytest.fixture(scope="module")
def _server() -> Iterator[Stranger]:
    with stranger() as made:
        yield made


@pytest.fixture
def issuer(_server: Stranger) -> Issuer:
    _server.asked.clear()
    return Issuer(_server)


@pytest.fixture
def settings(tmp_path: Path, issuer: Issuer) -> Settings:
    return settings_in(
        tmp_path,
        issuer=issuer.address,
        audience=AUDIENCE,
        admins=("Ann@Example.org", "kim@example.org", "jörg@example.org"),
        readers=("rea@example.org", "ann@example.org"),
    )


@pytest.fixture
def staff(settings: Settings) -> Staff:
    made = Staff.of(settings)
    assert made is not None
    return made


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """Of the keys; tokens have the time of day."""
    made = Clock()
    monkeypatch.setattr(module, "time", made)
    return made


ANN = Who(role="admin", name="ann@example.org", vouched=True)


# ---- who comes in --------------------------------------------------------------------------------


def test_a_good_token(staff: Staff, issuer: Issuer) -> None:
    assert staff.identify(issuer.token()) == ANN
    found = staff.identify(issuer.token(email="rea@example.org"))
    assert found == Who(role="reader", name="rea@example.org", vouched=True)


@pytest.mark.parametrize("alg", KINDS)
def test_keys_of_every_kind(staff: Staff, issuer: Issuer, alg: str) -> None:
    issuer.keys = [jwk(key, name) for name, key in KINDS.items()]
    assert staff.identify(issuer.token(KINDS[alg], alg, alg)) == ANN


@pytest.mark.parametrize(
    "changes",
    [
        {"aud": ["other", AUDIENCE]},
        {"iat": int(time.time()) - 2 * HOUR},
        {"email": "ANN@EXAMPLE.ORG"},
        {"nbf": int(time.time()) - 5},
    ],
)
def test_other_good_ones(staff: Staff, issuer: Issuer, changes: dict[str, Any]) -> None:
    assert staff.identify(issuer.token(**changes)) == ANN


def test_a_slash_more_or_less(staff: Staff, issuer: Issuer) -> None:
    assert staff.identify(issuer.token(iss=issuer.address + "/")) == ANN


def test_nobody_comes_this_way_without_an_issuer() -> None:
    assert Staff.of(Settings()) is None


# ---- who does not --------------------------------------------------------------------------------


WRONG: dict[str, dict[str, Any]] = {
    "another issuer": {"iss": "https://evil.example.org"},
    "no issuer": {"iss": None},
    "an issuer that begins alike": {"iss": "http://127.0.0.1"},
    "for somebody else": {"aud": "another service"},
    "for nobody": {"aud": None},
    "for a part of the name": {"aud": "ostr"},
    "too old": {"exp": int(time.time()) - LEEWAY - 60},
    "for ever": {"exp": None},
    "until infinity": {"exp": float("inf")},
    "until nan": {"exp": float("nan")},
    "until a word": {"exp": "tomorrow"},
    "from the future": {"iat": int(time.time()) + HOUR},
    "made at no time": {"iat": None},
    "not yet": {"nbf": int(time.time()) + HOUR},
    "of nobody": {"sub": None},
    "without mail": {"email": None},
    "mail that is no text": {"email": ["ann@example.org"]},
    "mail that nobody has checked": {"email_verified": None},
    "mail that was not verified": {"email_verified": False},
    "mail that is said to be": {"email_verified": "true"},
    "mail that is 1": {"email_verified": 1},
    "not on the list": {"email": "eve@example.org"},
    "nearly on the list": {"email": " ann@example.org"},
    "with more behind it": {"email": "ann@example.org\n"},
    "a letter of another alphabet": {"email": "\u212aim@example.org"},
    "a letter that looks alike": {"email": "ann@e\u0445ample.org"},
    "another case of another letter": {"email": "JÖRG@example.org"},
}


@pytest.mark.parametrize("name", WRONG)
def test_claims_that_do_not_count(staff: Staff, issuer: Issuer, name: str) -> None:
    assert staff.identify(issuer.token()) == ANN
    assert staff.identify(issuer.token(**WRONG[name])) is None


def test_letters_of_other_alphabets_stay_what_they_are(staff: Staff, issuer: Issuer) -> None:
    found = staff.identify(issuer.token(email="jörg@example.org"))
    assert found is not None
    assert found.name == "jörg@example.org"


def part(value: Any) -> str:
    return base64.urlsafe_b64encode(json.dumps(value).encode()).rstrip(b"=").decode()


def forged(token: str, alg: str, secret: bytes | None, **header: Any) -> str:
    """The same claims, signed by whoever knows what everybody knows."""
    claims = token.split(".")[1]
    signed = f"{part({'alg': alg, 'kid': 'one', **header})}.{claims}"
    if secret is None:
        return f"{signed}."
    made = hmac.new(secret, signed.encode(), hashlib.sha256).digest()
    return f"{signed}.{base64.urlsafe_b64encode(made).rstrip(b'=').decode()}"


def public_forms(key: Any) -> list[bytes]:
    """A public key as files hold it: nobody's secret."""
    kinds, public = serialization.PublicFormat, key.public_key()
    pem, der = serialization.Encoding.PEM, serialization.Encoding.DER
    forms = [public.public_bytes(each, kinds.SubjectPublicKeyInfo) for each in (pem, der)]
    return [*forms, forms[0].rstrip(), json.dumps(jwk(key, "one")).encode(), b""]


def test_signed_with_what_everybody_knows(staff: Staff, issuer: Issuer) -> None:
    token = issuer.token()
    for secret in public_forms(RSA):
        assert staff.identify(forged(token, "HS256", secret)) is None
        assert staff.identify(forged(token, "RS256", secret)) is None


@pytest.mark.parametrize("alg", ["none", "None", "NONE", "", "RS256"])
def test_not_signed(staff: Staff, issuer: Issuer, alg: str) -> None:
    assert staff.identify(forged(issuer.token(), alg, None)) is None


def test_a_secret_that_the_issuer_shows(staff: Staff, issuer: Issuer) -> None:
    secret = b"s" * 32
    shown = base64.urlsafe_b64encode(secret).rstrip(b"=").decode()
    issuer.keys += [{"kty": "oct", "k": shown, "kid": "two", "alg": "HS256"}]
    assert staff.identify(forged(issuer.token(), "HS256", secret, kid="two")) is None


def test_signed_by_others(staff: Staff, issuer: Issuer) -> None:
    assert staff.identify(issuer.token(OTHER_RSA)) is None
    assert staff.identify(issuer.token(OTHER_RSA, name="two")) is None
    assert staff.identify(issuer.token(EC, "ES256")) is None
    head, claims, signature = issuer.token().split(".")
    other = issuer.token(email="rea@example.org").split(".")[1]
    assert staff.identify(f"{head}.{other}.{signature}") is None
    assert staff.identify(f"{head}.{claims}.{signature[:-4]}AAAA") is None


def test_a_key_that_the_token_brings_along(staff: Staff, issuer: Issuer) -> None:
    """Or the address of one: only the issuer's count."""
    now = int(time.time())
    claims = {"iss": issuer.address, "aud": AUDIENCE, "sub": "x", "iat": now, "exp": now + HOUR}
    claims |= {"email": "ann@example.org", "email_verified": True}
    for more in (
        {"jwk": jwk(OTHER_RSA, "one")},
        {"jku": f"{issuer.address}/mine"},
        {"x5u": f"{issuer.address}/mine"},
    ):
        headers = {"kid": "one", **more}
        token = jwt.encode(claims, OTHER_RSA, algorithm="RS256", headers=headers)
        assert staff.identify(token) is None
    assert not any(asked.path == "/mine" for asked in issuer.server.asked)


def test_a_key_for_something_else(staff: Staff, issuer: Issuer) -> None:
    issuer.keys = [jwk(RSA, "one", use="enc")]
    assert staff.identify(issuer.token()) is None
    assert staff.identify(issuer.token(name=None)) is None


@pytest.mark.parametrize(
    "token",
    ["", ".", "..", "a.b.c", "x" * 10_000, "é.é.é", "\x00", "e30.e30.e30", "eyJhbGciOiJub25lIn0.."]
    + [f"{part({'alg': 'RS256', 'kid': kid})}.e30.AA" for kid in (1, None, [], {}, "\ud800")]
    + [base64.urlsafe_b64encode(b"[" * 50_000).decode() + ".e30.AA"],
)
def test_what_is_no_token(staff: Staff, token: str) -> None:
    assert staff.identify(token) is None


# ---- the issuer ----------------------------------------------------------------------------------


def test_it_is_asked_seldom(staff: Staff, issuer: Issuer, clock: Clock) -> None:
    """Its keys are kept; whoever comes with names that it does not know is no reason to ask."""
    for _ in range(5):
        assert staff.identify(issuer.token()) == ANN
    assert issuer.n_asked == 1
    for number in range(20):
        assert staff.identify(issuer.token(name=f"made up {number}")) is None
    assert issuer.n_asked == 1
    clock.now += PAUSE
    for number in range(20):
        assert staff.identify(issuer.token(name=f"made up {number}")) is None
    assert issuer.n_asked == 2
    assert staff.identify(issuer.token()) == ANN
    clock.now += KEPT
    for _ in range(5):
        assert staff.identify(issuer.token()) == ANN
    assert issuer.n_asked == 3


def test_two_at_once_ask_it_once(staff: Staff, issuer: Issuer, clock: Clock) -> None:
    """Also if one of them was held up for as long as the other has asked."""
    keys = staff._keys
    real, meanwhile = keys._asking, [lambda: staff.identify(issuer.token())]

    class HeldUp:
        def acquire(self, **how: Any) -> bool:
            if meanwhile:
                meanwhile.pop()()
            return real.acquire(**how)

        def release(self) -> None:
            real.release()

    keys._asking = HeldUp()  # type: ignore[assignment]
    assert staff.identify(issuer.token()) == ANN
    assert issuer.n_asked == 1


def test_a_new_key_is_found_soon(staff: Staff, issuer: Issuer, clock: Clock) -> None:
    assert staff.identify(issuer.token()) == ANN
    issuer.keys = [jwk(RSA, "one"), jwk(OTHER_RSA, "two")]
    clock.now += PAUSE
    assert staff.identify(issuer.token(OTHER_RSA, name="two")) == ANN


def test_a_key_that_was_withdrawn_ends_here_too(staff: Staff, issuer: Issuer, clock: Clock) -> None:
    token = issuer.token()
    assert staff.identify(token) == ANN
    issuer.keys = [jwk(OTHER_RSA, "two")]
    clock.now += KEPT - 1
    assert staff.identify(token) == ANN
    clock.now += 1
    assert staff.identify(token) is None
    assert staff.identify(issuer.token(OTHER_RSA, name="two")) == ANN


def test_while_it_is_away_old_keys_count_no_longer_than_they_may(
    staff: Staff, issuer: Issuer, clock: Clock
) -> None:
    token = issuer.token()
    assert staff.identify(token) == ANN
    issuer.discovery = Answer(503)
    clock.now += KEPT - 1
    assert staff.identify(token) == ANN
    with pytest.raises(ServiceError):
        staff.identify(issuer.token(name="unknown"))
    assert staff.identify(token) == ANN
    clock.now += PAUSE
    for _ in range(3):
        with pytest.raises(ServiceError, match="cannot ask the issuer"):
            staff.identify(token)
    assert issuer.n_asked == 3
    issuer.discovery = None
    clock.now += PAUSE
    assert staff.identify(token) == ANN


RSA_JWK = jwk(RSA, "one")
ANSWERS: dict[str, Answer] = {
    "an error": Answer(500),
    "no such page": Answer(404),
    "nothing": Answer(200, b""),
    "a page": Answer(200, b"<html>"),
    "bytes": Answer(200, b"\xff"),
    "a list": said([]),
    "null": said(None),
    "no keys": said({"keys": []}),
    "keys that are none": said({"keys": {"x": 1}}),
    "a name that is a list": said({"keys": [{**RSA_JWK, "kid": ["one"]}]}),
    "deep": Answer(200, b"[" * 100_000),
    "without end": Answer(200, b" " * (module.LARGEST + 1) + b"{}"),
    "cut off": Answer(200, b'{"keys": [', announced=1000),
    "hanging up": Answer(None),
}


@pytest.mark.parametrize("which", ["discovery", "answer"])
@pytest.mark.parametrize("name", ANSWERS)
def test_answers_that_are_none(staff: Staff, issuer: Issuer, which: str, name: str) -> None:
    setattr(issuer, which, ANSWERS[name])
    with pytest.raises(ServiceError, match="cannot ask the issuer") as told:
        staff.identify(issuer.token())
    assert issuer.address in str(told.value)


@pytest.mark.parametrize("change", [{"issuer": "https://evil.example.org"}, {"issuer": None}])
def test_another_issuer_answers(staff: Staff, issuer: Issuer, change: dict[str, Any]) -> None:
    held = {"issuer": issuer.address, "jwks_uri": f"{issuer.address}/keys", **change}
    issuer.discovery = said(held)
    with pytest.raises(ServiceError):
        staff.identify(issuer.token())


@pytest.mark.parametrize(
    "place",
    [
        "http://example.org/keys",
        "file:///etc/passwd",
        "ftp://127.0.0.1/x",
        "",
        "//x",
        None,
        5,
        "data:application/json,{}",
        "http://a@127.0.0.1/x",
        "https://127.0.0.1:1/keys",
    ],
)
def test_keys_at_a_place_that_anybody_could_answer(
    staff: Staff, issuer: Issuer, place: Any
) -> None:
    issuer.discovery = said({"issuer": issuer.address, "jwks_uri": place})
    with pytest.raises(ServiceError):
        staff.identify(issuer.token())


@pytest.mark.parametrize("scheme", ["data", "file"])
def test_keys_that_no_server_has_shown(
    staff: Staff, issuer: Issuer, tmp_path: Path, scheme: str
) -> None:
    """Good ones, from where a request would find them, and nobody vouches for them."""
    keys = json.dumps({"keys": issuer.keys}).encode()
    (tmp_path / "keys").write_bytes(keys)
    packed = base64.b64encode(keys).decode()
    place = {"data": f"data:;base64,{packed}", "file": f"file://{tmp_path}/keys"}[scheme]
    issuer.discovery = said({"issuer": issuer.address, "jwks_uri": place})
    with pytest.raises(ServiceError):
        staff.identify(issuer.token())


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
@pytest.mark.parametrize("which", ["discovery", "answer"])
def test_no_detours(staff: Staff, issuer: Issuer, status: int, which: str) -> None:
    elsewhere = {"Location": f"{issuer.address}/elsewhere"}
    setattr(issuer, which, Answer(status, headers=elsewhere))
    with pytest.raises(ServiceError):
        staff.identify(issuer.token())
    assert not any(asked.path == "/elsewhere" for asked in issuer.server.asked)


def test_nobody_there(clock: Clock, issuer: Issuer) -> None:
    nowhere = Staff("http://127.0.0.1:1", AUDIENCE, {"ann@example.org": "admin"})
    with pytest.raises(ServiceError, match="cannot ask the issuer"):
        nowhere.identify(issuer.token())


@pytest.mark.parametrize(
    "address",
    [
        "http://id.example.org",
        "http://192.0.2.1",
        "ftp://id.example.org",
        "id.example.org",
        "",
        "https://ann@id.example.org",
        "https://id.example.org?x",
        "https://id.example.org#x",
        "https://",
        "http://127.0.0.1.example.org",
        "https://id.example.org:x",
    ],
)
def test_issuers_that_are_refused(address: str) -> None:
    with pytest.raises(ParameterError, match="oidc_issuer"):
        Settings(issuer=address, audience=AUDIENCE)


# ---- over HTTP -----------------------------------------------------------------------------------


def test_staff_and_parties_at_one_door(settings: Settings, issuer: Issuer) -> None:
    service = start(settings)
    with asking(service, settings) as api:
        assert api.get("/me", issuer.token()).json()["name"] == "ann@example.org"
        assert api.get("/parties", issuer.token()).status_code == 200
        reader = issuer.token(email="rea@example.org")
        check_problem(api.get("/parties", reader), 403, "AccessError")
        for wrong in (issuer.token(aud="x"), issuer.token(OTHER_RSA), "a.b.c", "ostraka_x"):
            told = check_problem(api.get("/me", wrong), 401, "AccessError")
            assert "unknown, too old or withdrawn" in told
        form = {"names": ["c"]}
        assert api.post("/invitations", issuer.token(), json=form).status_code == 200
        line = api.get("/audit", issuer.token()).json()["items"][-1]
        assert line["who"] == "admin ann@example.org"
        path = f"/polls/{'0' * 64}/contribution"
        check_problem(api.put(path, issuer.token(), content=b"x"), 403, "AccessError")
    service.database.close()


def test_without_the_issuer_others_come_in_still(settings: Settings, issuer: Issuer) -> None:
    from tests.service.made import joined

    service = start(settings)
    (member,) = joined(service, "a")
    issuer.discovery = Answer(500)
    with asking(service, settings) as api:
        answer = api.get("/me", issuer.token())
        told = check_problem(answer, 503, "ServiceError")
        assert told.startswith("The service cannot ask the issuer of staff's tokens")
        assert issuer.address not in answer.text
        assert api.get("/me", member).status_code == 200
    service.database.close()


def test_a_right_token_is_not_counted_against_its_address(
    settings: Settings, issuer: Issuer
) -> None:
    service = start(settings)
    with asking(service, settings) as api:
        for _ in range(40):
            assert api.get("/me", issuer.token()).status_code == 200
        assert api.app.state.failures._left == {}
    service.database.close()
