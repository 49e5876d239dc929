"""The application as a whole: every route is described, and nearly every one is locked."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from ostraka.service.api import app as module
from ostraka.service.service import Service
from ostraka.service.settings import VARIABLE, Settings
from tests.service.api.asking import DIGEST, Api, asking, check_problem

PUBLIC = {
    ("GET", "/v1/service"),
    ("POST", "/v1/joins"),
    ("GET", "/v1/health/live"),
    ("GET", "/v1/health/ready"),
}


def described(api: Api) -> Iterator[tuple[str, str]]:
    """Method and path of every route in the document."""
    for path, methods in api.get("/openapi.json").json()["paths"].items():
        for method in methods:
            yield method.upper(), path


def served(api: Api) -> set[str]:
    """The paths of all routes that the application has, in the document or not."""
    found = set[str]()
    waiting = list(api.app.routes)
    while waiting:
        route = waiting.pop()
        path = getattr(route, "path", None)
        waiting += [] if path is not None else list(getattr(route, "routes", []))
        found |= set() if path is None else {path}
    return found


def filled_in(path: str) -> str:
    return path.removeprefix("/v1").replace("{digest}", DIGEST).replace("{party}", "a")


def unlocked(api: Api, token: str | None) -> list[tuple[str, str]]:
    """Routes that have an answer for whoever has no token, or a wrong one."""
    found = []
    for method, path in described(api):
        if (method, path) in PUBLIC:
            continue
        answer = api.ask(method, filled_in(path), token, content=b"{}")
        if answer.status_code != 401:
            found.append((method, path))
            continue
        check_problem(answer, 401, "AccessError")
        assert answer.headers["www-authenticate"] == "Bearer"
    return found


@pytest.mark.parametrize("token", [None, "ostraka_wrong", "no.jwt.either"])
def test_nobody_gets_in_without_a_token(api: Api, token: str | None) -> None:
    assert len(set(described(api))) > 25
    api.app.state.failures = module.door.Limits(1000.0, 1000.0)
    assert unlocked(api, token) == []


def test_a_route_that_was_left_open_is_found(api: Api) -> None:
    api.app.get("/v1/secrets")(lambda: "all of them")
    assert unlocked(api, None) == [("GET", "/v1/secrets")]


@pytest.mark.parametrize("token", [None, "ostraka_wrong"])
def test_forms_to_nowhere_need_a_token_too(api: Api, token: str | None) -> None:
    for path in ("/nothing", "/joins/", "/JOINS", "/polls"):
        check_problem(api.post(path, token, json={}), 401, "AccessError")


def test_the_document_names_the_lock_of_every_route(api: Api) -> None:
    document = api.get("/openapi.json").json()
    for method, path in described(api):
        locked = "security" in document["paths"][path][method.lower()]
        assert locked == ((method, path) not in PUBLIC), path


def test_every_route_answers_with_problems_only(api: Api) -> None:
    document = api.get("/openapi.json").json()
    for method, path in described(api):
        told = document["paths"][path][method.lower()]["responses"]
        assert "default" in told, path
    assert "ProblemShape" in document["components"]["schemas"]
    assert "ReceiptShape" in document["components"]["schemas"]


def test_nothing_is_served_that_is_not_described(api: Api) -> None:
    plain = {f"/v1{path.removeprefix('/v1')}" for path in served(api) if path}
    hidden = {path for path in plain if "{" not in path} - {path for _, path in described(api)}
    assert hidden <= {"/v1/openapi.json"}


@pytest.mark.parametrize("path", ["/docs", "/redoc", "/openapi.json", "/", "/v1/docs", "/v1"])
def test_there_are_no_pages(api: Api, path: str) -> None:
    answer = api.get(f"http://polls.example.org{path}")
    assert "nothing at this address" in check_problem(answer, 404, "AbsentError")


def test_another_method_is_refused(api: Api) -> None:
    for method in ("DELETE", "PATCH", "OPTIONS"):
        answer = api.ask(method, "/service")
        assert "no such method" in check_problem(answer, 405, "AbsentError")


def test_a_slash_too_many_leads_nowhere(api: Api) -> None:
    """Least of all to wherever the request says that it has come."""
    answer = api.get("/service/", headers={"Host": "evil.example.org"})
    check_problem(answer, 404, "AbsentError")
    assert "location" not in answer.headers


def test_every_answer_is_marked(api: Api) -> None:
    for answer in (api.get("/service"), api.get("/me"), api.get("/nothing")):
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["cache-control"] == "no-store"
        assert len(answer.headers["x-request-id"]) == 16


def test_two_requests_have_two_numbers(api: Api) -> None:
    numbers = {api.get("/service").headers["x-request-id"] for _ in range(5)}
    assert len(numbers) == 5


def test_started_and_stopped(service: Service, settings: Settings) -> None:
    with asking(service, settings) as api:
        assert api.get("/health/live").status_code == 200
        writer, finisher = (getattr(api.app.state, name) for name in ("writer", "finisher"))
        assert writer._thread.is_alive()
        assert finisher._thread.is_alive()
    assert not writer._thread.is_alive()
    finisher._thread.join(60.0)
    assert not finisher._thread.is_alive()


def test_a_worker_is_set_up_like_the_one_that_started_it(
    service: Service, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(VARIABLE, "")
    monkeypatch.setattr(module.logging.config, "dictConfig", lambda _: None)
    settings.export()
    made = module.create_worker()
    assert made.state.service.key.public == service.key.public
    made.state.service.database.close()
