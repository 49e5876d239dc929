"""`ostraka key`, `sign` and `verify`, as people use them."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

from ostraka.cli.exits import EXIT_CODES
from ostraka.errors import SignatureError
from ostraka.experiments.ward_tables import make_patients
from tests.command import run_command


def run(folder: Path, words: str) -> str:
    done = run_command(folder, *words.split())
    assert done.returncode == 0, done.stderr
    return " ".join(done.stdout.split())


def refuse(folder: Path, words: str) -> tuple[str, int]:
    done = run_command(folder, *words.split())
    assert done.returncode != 0
    return " ".join(done.stderr.split()), done.returncode


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A signed poll, and a signed release of what four wards sent."""
    folder = tmp_path_factory.mktemp("signed")
    rng = np.random.default_rng(0)
    make_patients(100, rng).drop(columns="outcome").to_csv(folder / "public.csv", index=False)
    run(folder, "key create coordinator.key")
    (folder / "coordinator.pub").write_text(run(folder, "key show coordinator.key"))
    asked = "poll create public.csv --classes home,ward --parties 4 --epsilon 1 --method cells"
    run(folder, f"{asked} --out stay.poll")
    run(folder, f"{asked} --title Other --out other.poll")
    assert "Signed stay.poll.sig, by ed25519:" in run(
        folder, "sign stay.poll --key coordinator.key"
    )
    (folder / "inbox").mkdir()
    for ward in range(4):
        make_patients(30, rng).to_csv(folder / "own.csv", index=False)
        sent = f"--party ward-{ward} --label-column outcome --out inbox/{ward}.contribution"
        run(folder, f"contribute stay.poll own.csv {sent}")
    run(folder, "release stay.poll inbox --out m.ostraka --key coordinator.key")
    return folder


@pytest.fixture
def folder(made: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(made, tmp_path / "copy"))


def test_a_release_that_is_what_it_says(folder: Path) -> None:
    said = run(folder, "verify m.ostraka --signer coordinator.pub --poll stay.poll")
    for words in (
        "whom you named. Not a byte was changed since.",
        "Yes: computed anew from noise and sensitivity, ε = 1 for one party.",
        "Yes: its certificate, classes, columns and features follow",
        "How many took part, and the model's weights, are the word of whoever signed",
    ):
        assert words in said


def test_a_poll_that_is_what_it_says(folder: Path) -> None:
    key = (folder / "coordinator.pub").read_text()
    said = run(folder, f"verify stay.poll --signer {key}")
    assert "whom you named" in said
    assert "The poll " in said
    wrong, _ = refuse(folder, "verify stay.poll --poll stay.poll")
    assert "this is a poll itself" in wrong


def test_what_is_not_asked_is_not_claimed(folder: Path) -> None:
    said = run(folder, "verify m.ostraka")
    assert "Whose key that is, this does not show" in said
    assert "Not checked, and so it is not whether the sensitivity is right" in said
    (folder / "m.ostraka.sig").unlink()
    assert "Nobody: there is no file that ends in .sig beside it." in run(
        folder, "verify m.ostraka"
    )


def test_what_was_forged_is_refused(folder: Path) -> None:
    code = EXIT_CODES[SignatureError]
    run(folder, "key create other.key")
    run(folder, "sign m.ostraka --key other.key --force")
    said, left = refuse(folder, "verify m.ostraka --signer coordinator.pub")
    assert "It is signed by ed25519:" in said
    assert left == code
    shutil.copy(folder / "stay.poll.sig", folder / "m.ostraka.sig")
    said, left = refuse(folder, "verify m.ostraka")
    assert "The signature does not belong to this file" in said
    assert left == code
    (folder / "m.ostraka.sig").unlink()
    said, left = refuse(folder, "verify m.ostraka --signer coordinator.pub")
    assert "It is not signed" in said
    assert left == code
    said, _ = refuse(folder, "verify m.ostraka --poll other.poll")
    assert "and this is the poll" in said


def test_a_key_is_tried_before_anybody_pays(folder: Path) -> None:
    run(folder, "ledger init budgets.db --epsilon 5")
    (folder / "coordinator.key").write_text("no key")
    paid = "release stay.poll inbox --out n.ostraka --ledger budgets.db --key coordinator.key"
    said, _ = refuse(folder, paid)
    assert "holds no Ed25519 key" in said
    assert not (folder / "n.ostraka").exists()
    assert "ward-0" not in run(folder, "ledger show budgets.db")


def test_a_file_named_like_a_key_is_not_asked(folder: Path) -> None:
    """Else whoever packs an archive would say who is trusted."""
    run(folder, "key create evil.key")
    run(folder, "sign m.ostraka --key evil.key --force")
    trusted = (folder / "coordinator.pub").read_text().strip()
    planted = folder / trusted
    planted.parent.mkdir(parents=True, exist_ok=True)
    planted.write_text(run(folder, "key show evil.key"))
    said, left = refuse(folder, f"verify m.ostraka --signer {trusted}")
    assert "It is signed by ed25519:" in said
    assert left == EXIT_CODES[SignatureError]


def test_nothing_is_replaced_unasked(folder: Path) -> None:
    run(folder, "key create other.key")
    signed = (folder / "m.ostraka.sig").read_bytes()
    said, _ = refuse(folder, "sign m.ostraka --key other.key")
    assert "it may be a signature of somebody else; --force replaces it" in said
    assert (folder / "m.ostraka.sig").read_bytes() == signed
    run(folder, "sign m.ostraka --key coordinator.key")  # one's own
    secret = (folder / "other.key").read_bytes()
    shutil.copy(folder / "m.ostraka", folder / "other.ostraka")
    (folder / "other.key").rename(folder / "other.ostraka.sig")
    said, _ = refuse(folder, "sign other.ostraka --key other.ostraka.sig --force")
    assert "a file that is not the key, the poll, the ledger or what is signed" in said
    run(folder, "ledger init n.ostraka.sig --epsilon 5")
    kept = (folder / "n.ostraka.sig").read_bytes()
    paid = "release stay.poll inbox --out n.ostraka --ledger n.ostraka.sig"
    said, _ = refuse(folder, f"{paid} --key coordinator.key --force")
    assert "a file that is not the key, the poll, the ledger or what is signed" in said
    assert (folder / "n.ostraka.sig").read_bytes() == kept
    assert (folder / "other.ostraka.sig").read_bytes() == secret
    said, _ = refuse(
        folder, "release stay.poll inbox --out coordinator.key --key coordinator.key --force"
    )
    assert "a file that is not the poll, the ledger or the key" in said


def test_what_nobody_should_sign(folder: Path) -> None:
    for name in ("own.csv", "inbox/0.contribution"):
        said, _ = refuse(folder, f"sign {name} --key coordinator.key")
        assert "not a valid release" in said
        assert not (folder / f"{name}.sig").exists()


def test_a_place_for_the_signature_is_looked_for_before_anybody_pays(folder: Path) -> None:
    run(folder, "ledger init budgets.db --epsilon 5")
    (folder / "n.ostraka.sig").mkdir()
    paid = "release stay.poll inbox --out n.ostraka --ledger budgets.db --key coordinator.key"
    said, _ = refuse(folder, paid)
    assert "it is a folder" in said
    assert not (folder / "n.ostraka").exists()
    assert "ward-0" not in run(folder, "ledger show budgets.db")


def test_a_signature_of_an_older_file_is_told_of(folder: Path) -> None:
    said = run(folder, "release stay.poll inbox --out m.ostraka --force")
    assert "m.ostraka.sig signs an older file of this name" in said
