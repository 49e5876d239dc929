"""A service that speaks TLS itself, with a certificate of an authority of its own."""

from __future__ import annotations

import re
import socket
from pathlib import Path
from unittest import mock

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
        assert "You are  admin, at" in told.stdout, told.stderr


def test_a_service_without_tls_and_one_that_is_nowhere(tmp_path: Path) -> None:
    """At once: no other try would change it."""
    words = words_to_serve(settings_in(tmp_path))
    with (
        Server(words, log=tmp_path / "log", ready=READY) as server,
        mock.patch("time.sleep", side_effect=AssertionError("tried again")),
    ):
        (code,) = re.findall(r"/join#([a-z2-7-]{48})", (tmp_path / "log").read_text("utf-8"))
        address = server.address.replace("http:", "https:")
        done = run_command(tmp_path, "join", address, code, "--site", "nobody")
        assert done.returncode == 35
        told = " ".join(done.stderr.split())
        assert "does not speak TLS" in told
        assert "begins with http://" in told
        assert "SSL" not in told
        unknown = socket.gaierror(socket.EAI_NONAME, "Name or service not known")
        with mock.patch("socket.getaddrinfo", side_effect=unknown):
            done = run_command(tmp_path, "join", "https://x.example", code, "--site", "nobody")
        assert done.returncode == 35
        told = " ".join(done.stderr.split())
        assert "nobody knows a host of this name" in told
        assert told.endswith("Nothing was sent.")
