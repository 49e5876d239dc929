"""`ostraka verify` of a receipt: who has signed it, and what people hear if another key has."""

from __future__ import annotations

from pathlib import Path

import pytest

from ostraka.exchange import Manifest, Receipt, commit
from ostraka.signing import SecretKey
from tests.command import run_command

OLD, NEW = SecretKey.create(), SecretKey.create()
POLL, SALT = "ab" * 32, b"s" * 32


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A receipt by the old key, and a list by the new one, as after a rotation."""
    commitment = commit(SALT, b"given")
    given = Receipt.sign(OLD, poll=POLL, party="ward 1", revision=0, commitment=commitment)
    (tmp_path / "w.receipt").write_bytes(given.to_bytes())
    listed = Manifest.sign(NEW, poll=POLL, commitments=[commitment], persons=None)
    (tmp_path / "p.list").write_bytes(listed.to_bytes())
    return tmp_path


def verify(folder: Path, *keys: SecretKey) -> tuple[int, str]:
    signers = [word for key in keys for word in ("--signer", str(key.public))]
    done = run_command(folder, "verify", "w.receipt", "--list", "p.list", *signers)
    return done.returncode, " ".join((done.stdout + done.stderr).split())


@pytest.mark.parametrize("keys", [(OLD, NEW), (NEW, OLD)])
def test_both_keys(folder: Path, keys: tuple[SecretKey, SecretKey]) -> None:
    code, told = verify(folder, *keys)
    assert code == 0, told
    assert "you named both" in told
    assert "one of 1 on the list" in told


@pytest.mark.parametrize(("key", "what"), [(OLD, "list of what counts"), (NEW, "receipt")])
def test_one_of_them_alone(folder: Path, key: SecretKey, what: str) -> None:
    code, told = verify(folder, key)
    assert code == 25
    assert f"The {what} was not signed by the key that you named, {key.public}; or" in told
    assert "--signer OLD --signer NEW" in told
    assert "manifest" not in told


def test_neither(folder: Path) -> None:
    others = (SecretKey.create(), SecretKey.create())
    code, told = verify(folder, *others)
    assert code == 25
    assert f"by none of the keys that you named: {others[0].public}, {others[1].public}" in told
