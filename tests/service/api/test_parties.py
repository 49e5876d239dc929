"""Joining over HTTP, and one's own place."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from ostraka.errors import SignatureError
from ostraka.exchange import JoinCode, Succession, admission
from ostraka.service import rotation
from ostraka.service.service import Service
from ostraka.service.settings import Settings
from ostraka.signing import PublicKey, SecretKey
from ostraka.signing.statement import statement
from tests.service.api.asking import Api, People, asking, check_problem
from tests.service.made import again, filled, joined

KEY, OTHER = SecretKey.create(), SecretKey.create()
both = pytest.mark.parametrize("database_url", ["sqlite", "postgresql"], indirect=True)


def form_of(
    service: Service, code: JoinCode, key: SecretKey = KEY, of: PublicKey | None = None
) -> dict[str, str]:
    """What somebody sends who joins; `of`: another service."""
    asked = code.request(key, of or service.key.public)
    return {
        "code": str(asked.code),
        "key": str(asked.key),
        "by_code": asked.by_code.hex(),
        "by_key": asked.by_key.hex(),
    }


def invite(api: Api, people: People, *names: str, **changes: Any) -> list[JoinCode]:
    answer = api.post("/invitations", people.admin, json={"names": names, **changes})
    assert answer.status_code == 200, answer.text
    return [JoinCode.parse(one["code"]) for one in answer.json()["items"]]


def join(api: Api, code: JoinCode, key: SecretKey = KEY, **changes: str) -> httpx.Response:
    return api.post("/joins", json={**form_of(api.app.state.service, code, key), **changes})


# ---- which service -------------------------------------------------------------------------------


def test_a_service_names_its_key(service: Service, settings: Settings) -> None:
    first = service.key.public
    rotation.rotate(service, settings.key_path, stolen=False)
    with asking(again(service, settings), settings) as api:
        held = api.get("/service").json()
    now = PublicKey.parse(held["key"])
    assert now != first
    (link,) = held["earlier"]
    known = Succession(
        PublicKey.parse(link["old"]),
        PublicKey.parse(link["new"]),
        bytes.fromhex(link["signature"]),
    )
    known.check()
    assert (known.old, known.new) == (first, now)


# ---- joining -------------------------------------------------------------------------------------


@both
@pytest.mark.parametrize("role", ["party", "reader", "admin"])
def test_joined_with_a_code(api: Api, people: People, role: str) -> None:
    (code,) = invite(api, people, " Ward  3", role=role)
    held = join(api, code).json()
    assert (held["role"], held["name"]) == (role, "ward 3")
    me = api.get("/me", held["token"]).json()
    assert (me["role"], me["name"]) == (role, "ward 3")
    assert (me["account"] is None) == (role != "party")


def test_the_same_once_more_gives_another_token(api: Api, people: People) -> None:
    (code,) = invite(api, people, "c")
    first, second = (join(api, code).json()["token"] for _ in range(2))
    assert first != second
    check_problem(api.get("/me", first), 401, "AccessError")
    assert api.get("/me", second).status_code == 200


def test_nobody_else_joins_with_it(api: Api, people: People) -> None:
    (code,) = invite(api, people, "c")
    token = join(api, code).json()["token"]
    told = check_problem(join(api, code, OTHER), 409, "StateError")
    assert "used already, with another key" in told
    assert api.get("/me", token).status_code == 200


def test_codes_and_keys_that_let_nobody_in(api: Api, people: People, service: Service) -> None:
    (code,) = invite(api, people, "c")
    unknown = JoinCode.create(service.key.public)
    form, other = form_of(service, code), form_of(service, unknown)
    answer = join(api, unknown)
    assert "Nobody has this code." in check_problem(answer, 401, "AccessError")
    elsewhere = form_of(service, code, of=OTHER.public)
    for change, status, kind in (
        (elsewhere, 422, "SignatureError"),
        ({"by_key": form_of(service, code, OTHER)["by_key"]}, 422, "SignatureError"),
        ({"by_code": other["by_code"]}, 422, "SignatureError"),
        ({"code": other["code"]}, 422, "SignatureError"),
        ({"key": str(OTHER.public)}, 422, "SignatureError"),
        ({"key": "ed25519:x"}, 400, "FormatError"),
        ({"key": "ed25519:" + "A" * 43 + "="}, 400, "FormatError"),
        ({"code": "x"}, 400, "FormatError"),
        ({"code": ""}, 400, "FormatError"),
        ({"by_code": "zz" * 64}, 422, "InputError"),
        ({"by_key": "00"}, 422, "InputError"),
        ({"more": "x"}, 422, "InputError"),
    ):
        check_problem(api.post("/joins", json={**form, **change}), status, kind)
    assert join(api, code).status_code == 200, "and the code is good still"


def test_the_code_itself_is_never_sent(api: Api, people: People, service: Service) -> None:
    """Whoever listens to the request can do nothing with it but repeat it."""
    (code,) = invite(api, people, "c")
    sent = str(form_of(service, code))
    for secret in (str(code), str(code).replace("-", ""), code.secret.hex()):
        assert secret not in sent
    stolen = {**form_of(service, code), "key": str(OTHER.public)}
    stolen["by_key"] = form_of(service, JoinCode.create(service.key.public), OTHER)["by_key"]
    check_problem(api.post("/joins", json=stolen), 422, "SignatureError")


def test_the_answer_is_signed_for_the_key_that_asked(
    api: Api, people: People, service: Service
) -> None:
    (code,) = invite(api, people, "c")
    held = join(api, code).json()
    said = admission(KEY.public, held["role"], held["name"], held["token"])
    service.key.public.check(bytes.fromhex(held["signature"]), said)
    for change in ({"name": "d"}, {"role": "admin"}, {"token": "ostraka_other"}):
        other = {**held, **change}
        said = admission(KEY.public, other["role"], other["name"], other["token"])
        with pytest.raises(SignatureError):
            service.key.public.check(bytes.fromhex(held["signature"]), said)


def test_a_key_is_one_names(api: Api, people: People) -> None:
    first, second = invite(api, people, "c", "d")
    assert join(api, first).status_code == 200
    told = check_problem(join(api, second), 422, "InputError")
    assert "Somebody else has joined with this key." in told
    assert join(api, second, OTHER).status_code == 200


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"null", b'"x"', b"\xff", b"[" * 5000])
def test_what_is_no_form(api: Api, content: bytes) -> None:
    answer = api.post("/joins", content=content, headers={"Content-Type": "application/json"})
    assert answer.status_code in (400, 422)
    assert check_problem(answer, answer.status_code, "InputError")


def test_secrets_are_not_said_again(api: Api, people: People) -> None:
    """Of whoever mistakes where they belong."""
    (code,) = invite(api, people, "c")
    text = str(code)
    form = form_of(api.app.state.service, code)
    wrong = [{**form, name: given} for name in form for given in (text, [text], {text: 1})]
    for answer in (
        *(api.post("/joins", json=each) for each in wrong),
        api.post(f"/joins?x={text}"),
    ):
        assert answer.status_code >= 400
        assert text not in answer.text


# ---- invitations ---------------------------------------------------------------------------------


def test_who_has_joined_is_not_invited_by_mistake(api: Api, people: People) -> None:
    answer = api.post("/invitations", people.admin, json={"names": ["A", "c"]})
    assert "Party a has joined already" in check_problem(answer, 422, "InputError")
    (code,) = invite(api, people, "A", again=True)
    assert api.get("/me", people.party).status_code == 200
    assert join(api, code).status_code == 200
    check_problem(api.get("/me", people.party), 401, "AccessError")


@pytest.mark.parametrize(
    "form",
    [
        {},
        {"names": []},
        {"names": "c"},
        {"names": ["c"], "role": "owner"},
        {"names": ["c"], "days": 0},
        {"names": ["c"], "days": 366},
        {"names": ["c"], "days": 1.5},
        {"names": ["c" * 501]},
        {"names": [""]},
        {"names": [3]},
        {"names": ["c"], "more": 1},
        {"names": ["\u0000"]},
        {"names": ["\x1b[2J"]},
        {"names": ["c", "C "]},
        {"names": [" "]},
    ],
)
def test_invitations_that_make_no_sense(api: Api, people: People, form: dict[str, Any]) -> None:
    answer = api.post("/invitations", people.admin, json=form)
    assert answer.status_code == 422
    check_problem(answer, 422, answer.json()["type"].rpartition(":")[2])
    what = [line["what"] for line in api.get("/audit", people.admin).json()["items"]]
    assert what.count("invited as party") == 1, "those of the fixture alone"


def test_a_lone_surrogate(api: Api, people: People) -> None:
    """What JSON can write and no text can hold."""
    for form in (b'{"names": ["\\ud800"]}', b'{"\\ud800": 1, "names": ["c"]}'):
        answer = api.post(
            "/invitations",
            people.admin,
            content=form,
            headers={"Content-Type": "application/json"},
        )
        assert answer.status_code == 422
        assert answer.json()["status"] == 422


# ---- another key ---------------------------------------------------------------------------------


def renewal(service: Service, old: SecretKey, new: SecretKey) -> dict[str, str]:
    message = statement("renewal 1", service.key.public.raw, new.public.raw)
    return {
        "key": str(new.public),
        "by_old": old.sign(message).hex(),
        "by_new": new.sign(message).hex(),
    }


@both
def test_another_key(api: Api, people: People, service: Service) -> None:
    form = renewal(service, people.party.key, KEY)
    first = api.post("/me/key", people.party, json=form).json()
    assert (first["role"], first["name"]) == ("party", "a")
    assert api.get("/me", first["token"]).status_code == 200
    assert api.get("/me", people.party).status_code == 200, "for a while"
    again = api.post("/me/key", people.party, json=form).json()
    assert api.get("/me", again["token"]).status_code == 200


def test_another_key_needs_both(api: Api, people: People, service: Service) -> None:
    party = people.party
    for old, new, by_new in ((OTHER, KEY, KEY), (party.key, KEY, OTHER)):
        form = {**renewal(service, old, new), "by_new": renewal(service, old, by_new)["by_new"]}
        form["key"] = str(new.public)
        check_problem(api.post("/me/key", party, json=form), 422, "SignatureError")
    form = renewal(service, people.other.key, KEY)
    check_problem(api.post("/me/key", party, json=form), 422, "SignatureError")


# ---- nothing more --------------------------------------------------------------------------------


@both
def test_revoked(api: Api, people: People) -> None:
    answer = api.post("/revocations", people.admin, json={"name": "A "})
    assert (answer.status_code, answer.content) == (204, b"")
    check_problem(api.get("/me", people.party), 401, "AccessError")
    held = {one["name"]: one for one in api.get("/parties", people.admin).json()["items"]}
    assert (held["a"]["revoked"], held["a"]["has_key"]) == (True, False)
    assert (held["b"]["revoked"], held["b"]["has_key"]) == (False, True)


def test_nobody_to_revoke(api: Api, people: People) -> None:
    answer = api.post("/revocations", people.admin, json={"name": "nobody"})
    assert "No party nobody has joined" in check_problem(answer, 404, "AbsentError")
    answer = api.post("/revocations", people.admin, json={"name": "rea", "role": "reader"})
    assert answer.status_code == 204
    check_problem(api.get("/me", people.reader), 401, "AccessError")


# ---- me ------------------------------------------------------------------------------------------


def test_ones_own_account_and_no_other(api: Api, service: Service) -> None:
    filled(service, ["x", "y"])
    (member,) = joined(service, "c")
    held = api.get("/me", member).json()
    account = held["account"]
    assert set(held) == {"role", "name", "account"}
    assert (account["party"], account["releases"]) == ("c", 0)
    assert account["left"] == account["budget"]
    assert account["spent"]["epsilon"] == 0
