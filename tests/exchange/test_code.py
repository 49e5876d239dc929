"""Join codes: read as people write them, good for one service, and proof of a key."""

from __future__ import annotations

import pytest

from ostraka.errors import FormatError, SignatureError
from ostraka.exchange import JoinCode
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


def test_whoever_joins_holds_the_key() -> None:
    code, key = JoinCode.create(SERVICE.public), SecretKey.create()
    proof = code.prove(key)
    code.check_proof(key.public, proof)
    for other, given in ((JoinCode.create(SERVICE.public), key.public), (code, OTHER.public)):
        with pytest.raises(SignatureError, match="request to join"):
            other.check_proof(given, proof)
