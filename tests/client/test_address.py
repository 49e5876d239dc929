"""Addresses as people write them: one form for each, and none that shows tokens to a network."""

from __future__ import annotations

import pytest

from ostraka.client.address import (
    PollAddress,
    is_address,
    read_address,
    read_link,
    read_poll_address,
)
from ostraka.errors import InputError, ParameterError

DIGEST = "0123456789abcdef" * 4
GOOD = {
    "https://polls.example.org": "https://polls.example.org",
    " https://polls.example.org/ \n": "https://polls.example.org",
    "HTTPS://Polls.Example.ORG": "https://polls.example.org",
    "https://polls.example.org:8443//": "https://polls.example.org:8443",
    "https://polls.example.org/ostraka/": "https://polls.example.org/ostraka",
    "https://polls.example.org/a%20b": "https://polls.example.org/a%20b",
    "https://192.0.2.7:1": "https://192.0.2.7:1",
    "https://[2001:DB8::7]:65535/x": "https://[2001:db8::7]:65535/x",
    "https://xn--stra-kna.example": "https://xn--stra-kna.example",
    "https://polls": "https://polls",
    "https://polls.example.org/v1/": "https://polls.example.org",
    "https://polls.example.org/v1x": "https://polls.example.org/v1x",
    "http://localhost:8470": "http://localhost:8470",
    "http://127.0.0.1:8470": "http://127.0.0.1:8470",
    "http://127.8.9.10": "http://127.8.9.10",
    "http://[::1]:8470": "http://[::1]:8470",
}
BAD = [
    "",
    "polls.example.org",
    "ftp://polls.example.org",
    "file:///etc/passwd",
    "javascript://x",
    "https://",
    "https:///x",
    "http://127.1",
    "https://1.2.3",
    "https://:443",
    "https://polls.example.org:0",
    "https://polls.example.org:65536",
    "https://polls.example.org:-1",
    "https://polls.example.org:x",
    "https://ann@polls.example.org",
    "https://ann:secret@polls.example.org",
    "https://good.org@evil.org",
    "https://polls.example.org?x",
    "https://polls.example.org/?",
    "https://polls.example.org#x",
    "https://polls.example.org/#",
    "https://polls example.org",
    "https://polls.example.org/a b",
    "https://polls.example.org/é",
    "https://polls.éxample.org",
    "https://-polls.example.org",
    "https://polls_.",
    "https://" + "a" * 254,
    "https://[::1",
    "https://[::1%25eth0]",
    "https://[fe80::1%eth0]",
    "https://[nonsense]",
    "https://polls.example.org\\@evil.org",
    "https://\x1b[2J",
    "https://polls.example.org/\x1b[2J",
    "https://polls.ex\nample.org",
    "https://polls.example.org/a\tb",
    "https://polls.example.org/\x00",
    "https://polls.example.org/\u202e",
]
OPEN = [
    "http://polls.example.org",
    "http://192.0.2.7",
    "http://10.0.0.1",
    "http://0.0.0.0",
    "http://128.0.0.1",
    "http://127.0.0.1.example.org",
    "http://localhost.example.org",
    "http://[::2]",
]


@pytest.mark.parametrize("text", GOOD)
def test_one_form(text: str) -> None:
    found = read_address(text)
    assert found == GOOD[text]
    assert read_address(found) == found


@pytest.mark.parametrize("text", BAD)
@pytest.mark.parametrize("plain", [False, True])
def test_what_is_no_address(text: str, plain: bool) -> None:
    with pytest.raises(ParameterError) as caught:
        read_address(text, plain=plain)
    assert str(caught.value).isprintable(), "what was given may end on a terminal"


@pytest.mark.parametrize("text", OPEN)
def test_without_encryption_only_on_purpose(text: str) -> None:
    with pytest.raises(InputError, match="is not encrypted"):
        read_address(text)
    assert read_address(text, plain=True) == text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("https://x.org", True),
        (" HTTP://x.org", True),
        ("https://", True),
        ("x.poll", False),
        ("./https://x", False),
        ("httpsx.poll", False),
        ("", False),
    ],
)
def test_an_address_or_a_file(text: str, expected: bool) -> None:
    assert is_address(text) is expected


# ---- polls ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("service", ["https://x.org", "https://x.org/o", "http://[::1]:8470"])
@pytest.mark.parametrize("form", ["{}/polls/{}", " {}/polls/{}/\n", "{}/v1/polls/{}"])
def test_a_poll(service: str, form: str) -> None:
    found = read_poll_address(form.format(service, DIGEST))
    assert found == PollAddress(service, DIGEST)
    assert str(found) == f"{service}/polls/{DIGEST}"
    assert read_poll_address(str(found)) == found


@pytest.mark.parametrize(
    "text",
    [
        "https://x.org",
        f"https://x.org/{DIGEST}",
        f"https://x.org/polls/{DIGEST[:-1]}",
        f"https://x.org/polls/{DIGEST}0",
        f"https://x.org/polls/{DIGEST.upper()}",
        f"https://x.org/polls/{DIGEST}//",
        f"https://x.org/polls/{DIGEST}?x",
        f"https://x.org/polls/{DIGEST}/file",
        f"https://x.org?/polls/{DIGEST}",
        f"https://x.org#/polls/{DIGEST}",
        f"https://a@x.org/polls/{DIGEST}",
        f"/polls/{DIGEST}",
        f"x.org/polls/{DIGEST}",
        f"https://x.org/polls/{DIGEST[:-1]}٠",
    ],
)
def test_what_is_no_poll(text: str) -> None:
    with pytest.raises(ParameterError):
        read_poll_address(text)


def test_a_poll_without_encryption() -> None:
    with pytest.raises(InputError, match="is not encrypted"):
        read_poll_address(f"http://x.org/polls/{DIGEST}")
    assert read_poll_address(f"http://x.org/polls/{DIGEST}", plain=True).service == "http://x.org"


# ---- links ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("https://x.org/join#abc-def", ("https://x.org", "abc-def")),
        (" https://x.org/o/join/#abc \n", ("https://x.org/o", "abc")),
        ("https://x.org/join/o/join#a", ("https://x.org/join/o", "a")),
    ],
)
def test_a_link(text: str, expected: tuple[str, str]) -> None:
    assert read_link(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "https://x.org/join",
        "https://x.org/join#",
        "https://x.org#abc",
        "https://x.org/jo#a",
        "",
        "x.org/join#a",
        "https://a@x.org/join#a",
        "https://x.org?/join#a",
        "/join#a",
    ],
)
def test_what_is_no_link(text: str) -> None:
    with pytest.raises(ParameterError):
        read_link(text)


def test_an_address_without_a_code() -> None:
    with pytest.raises(ParameterError, match=r"CODE is missing.*ostraka join ADDRESS CODE"):
        read_link("https://x.org")


def test_a_link_without_encryption() -> None:
    with pytest.raises(InputError, match="is not encrypted"):
        read_link("http://x.org/join#a")
    assert read_link("http://x.org/join#a", plain=True) == ("http://x.org", "a")
