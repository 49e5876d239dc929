"""Settings: handed to worker processes whole; what makes no sense is refused."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from ostraka.errors import ParameterError
from ostraka.service.settings import VARIABLE, Settings


def test_to_workers_and_back(monkeypatch: pytest.MonkeyPatch) -> None:
    made = Settings(
        data="somewhere",
        epsilon=2.5,
        issuer="https://id.example.org",
        audience="ostraka",
        admins=("ann@example.org",),
        readers=("rea@example.org", "ray@example.org"),
    )
    monkeypatch.setenv(VARIABLE, "")
    made.export()
    assert Settings.imported() == made
    assert os.environ[VARIABLE]


def test_where_things_are() -> None:
    plain = Settings(data="somewhere")
    assert plain.database_url == f"sqlite:///{Path('somewhere').absolute()}/service.db"
    assert plain.key_path == Path("somewhere/service.key")
    other = Settings(database="postgresql://x/y", files="s3://bucket/x", key="other.key")
    assert (other.database_url, other.files_url) == ("postgresql://x/y", "s3://bucket/x")
    assert other.key_path == Path("other.key")


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ({"admins": ("a@b",)}, "oidc_issuer"),
        ({"readers": ("a@b",)}, "oidc_issuer"),
        ({"issuer": "https://id.example.org"}, "oidc_audience"),
    ],
)
def test_half_of_it(given: dict[str, Any], named: str) -> None:
    with pytest.raises(ParameterError, match=named):
        Settings(**given)
