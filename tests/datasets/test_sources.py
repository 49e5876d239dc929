"""The table of files: nothing that would be trusted blindly, nothing made up."""

from __future__ import annotations

import os
import re
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from ostraka.datasets import download
from ostraka.datasets.sources import FILES, DataFile
from ostraka.errors import DownloadError

DOCS = (Path(__file__).parent.parent.parent / "docs" / "how-to" / "data.md").read_text("utf-8")
each_file = pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)


@each_file
def test_addresses_are_encrypted_unless_a_checksum_vouches(file: DataFile) -> None:
    for url in file.urls:
        address = urlsplit(url)
        assert address.scheme == "https" or (address.scheme == "http" and file.is_known), url
        assert "." in (address.hostname or ""), url


@each_file
def test_checksums_look_like_checksums(file: DataFile) -> None:
    for digest in (file.sha256, file.unpacked_sha256):
        assert digest is None or re.fullmatch("[0-9a-f]{64}", digest)
    assert file.is_known == (file.sha256 is not None or file.unpacked_sha256 is not None)


def test_names_are_plain_and_different() -> None:
    names = [file.name for file in FILES]
    assert len(set(names)) == len(names)
    assert all(Path(name).name == name for name in names)


@each_file
def test_every_file_and_address_is_documented(file: DataFile) -> None:
    assert f"`{file.name}`" in DOCS
    for url in file.urls:
        assert urlsplit(url).hostname in DOCS


@each_file
def test_the_copies_at_hand_are_the_files_meant(file: DataFile) -> None:
    path = Path(os.environ.get("OSTRAKA_DATA") or "data") / file.name
    if path.exists():
        download.verify(path, file)


@each_file
def test_a_file_without_an_address_says_what_it_is(file: DataFile, tmp_path: Path) -> None:
    if file.urls:
        return
    with pytest.raises(DownloadError, match="no public address has it") as caught:
        download.obtain(file, tmp_path)
    assert file.about in str(caught.value)
