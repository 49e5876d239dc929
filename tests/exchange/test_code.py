"""Join codes: read as people write them, good for one service, and proof of a key."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ostraka.errors import FormatError, SignatureError
from ostraka.exchange import JoinCode, Succession, admission
from ostraka.signing import SecretKey

SERVICE, OTHER = SecretKey.create(), SecretKey.create()


def test_read_as_people_write_it() -> None:
    code = JoinCode.create(SERVICE.public)
    written = str(code)
    assert len(written.split("-")) == 7
    for form in (written, written.upper(), written.replace("-", " "), written.replace("-", "")):
        assert JoinCode.parse(f" {form}\n") == code
    assert written not in repr(code)
    assert code.secret.hex() not in repr(code)


@pytest.mark.parametrize("change", ["short", "long", "digit", "letter", "empty", "ending"])
def test_what_is_no_code(change: str) -> None:
    written = str(JoinCode.create(SERVICE.public)).replace("-", "")
    other = {
        "short": written[:-1],
        "long": written + "a",
        "digit": written[:-1] + "1",
        "letter": "é" + written[1:],
        "empty": "",
        "ending": written[:-1] + ("b" if written[-1] != "b" else "d"),
    }[change]
    with pytest.raises(FormatError, match="join code") as caught:
        JoinCode.parse(other)
    assert written[:20] not in str(caught.value), "a code is not shown to whoever reads errors"


def test_codes_differ() -> None:
    made = [JoinCode.create(SERVICE.public) for _ in range(100)]
    assert len({each.secret for each in made}) == len({each.digest for each in made}) == 100


def test_of_this_service_alone() -> None:
    code = JoinCode.create(SERVICE.public)
    code.check_service(SERVICE.public)
    with pytest.raises(SignatureError, match="not the one that made this code"):
        code.check_service(OTHER.public)


def test_of_a_service_that_has_changed_its_key() -> None:
    code, links = JoinCode.create(SERVICE.public), [Succession.sign(SERVICE, OTHER.public)]
    code.check_service(OTHER.public, links)
    forged = [Succession(SERVICE.public, OTHER.public, b"x" * 64)]
    with pytest.raises(SignatureError):
        code.check_service(OTHER.public, forged)


def test_whoever_joins_holds_code_and_key() -> None:
    key = SecretKey.create()
    asked = JoinCode.create(SERVICE.public).request(key, SERVICE.public)
    asked.check(SERVICE.public)
    other = JoinCode.create(SERVICE.public).request(OTHER, SERVICE.public)
    for changed in (
        replace(asked, key=OTHER.public),
        replace(asked, code=other.code),
        replace(asked, by_code=other.by_code),
        replace(asked, by_key=other.by_key),
    ):
        with pytest.raises(SignatureError, match="request to join"):
            changed.check(SERVICE.public)
    with pytest.raises(SignatureError):
        asked.check(OTHER.public)


def test_a_request_gives_nothing_away_to_join_with() -> None:
    """Somebody in between sees it, and cannot put a key of their own in place of the party's."""
    code = JoinCode.create(SERVICE.public)
    asked = code.request(SecretKey.create(), SERVICE.public)
    sent = b"".join((asked.code.raw, asked.key.raw, asked.by_code, asked.by_key))
    assert code.secret not in sent
    assert asked.digest == code.digest
    assert asked.code.raw != code.digest


def test_who_is_let_in_under_which_name_is_part_of_the_answer() -> None:
    said = admission(SERVICE.public, "party", "ward 3", "token")
    others = [
        admission(OTHER.public, "party", "ward 3", "token"),
        admission(SERVICE.public, "admin", "ward 3", "token"),
        admission(SERVICE.public, "party", "ward 3t", "oken"),
        admission(SERVICE.public, "party", "ward 3", "another"),
    ]
    assert said not in others
