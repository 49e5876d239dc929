"""A service that speaks TLS itself, with a certificate of an authority of its own."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from benchmarks.service.processes import READY, Server, words_to_serve
from tests.certificates import write_certificate
from tests.command import run_command
from tests.service.made import settings_in


@pytest.mark.parametrize("workers", ["1", "2"])
def test_over_tls(tmp_path: Path, workers: str) -> None:
    certificate, secret = write_certificate(tmp_path)
    words = words_to_serve(settings_in(tmp_path), "--workers", workers)
    words += ["--tls-certificate", str(certificate), "--tls-key", str(secret)]
    log = tmp_path / "log"
    with Server(words, log=log, ready=READY, ca=certificate) as server:
        (link,) = re.findall(r"ostraka join '(\S+)'", log.read_text("utf-8"))
        assert link.startswith(server.address)
        stranger = run_command(tmp_path, "join", link, "--site", "nobody")
        assert stranger.returncode == 35
        told = " ".join(stranger.stderr.split())
        assert "shows a certificate that is not trusted here (self-signed certificate" in told
        assert "Nothing was sent." in told
        done = run_command(tmp_path, "join", link, "--ca", "cert.pem", "--site", "ann")
        assert done.returncode == 0, done.stderr
        told = run_command(tmp_path, "status", "--site", "ann")
        assert "admin admin" in told.stdout, told.stderr
