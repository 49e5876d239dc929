"""A reverse proxy that speaks TLS and passes nothing but what nodes ask of a SuperLink."""

from __future__ import annotations

import http.client
import ssl
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

__all__ = ["FleetProxy"]

FLEET = "/v1/fleet/"
HOP_BY_HOP = {"connection", "keep-alive", "transfer-encoding", "content-length", "host"}


class FleetProxy:
    """In front of a SuperLink, until the end of the block; `asked` are the paths that came."""

    def __init__(self, superlink: str, tls: tuple[Path, Path]) -> None:
        self.asked: set[str] = set()
        proxy, trust = self, ssl.create_default_context(cafile=tls[0])

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                proxy.asked.add(self.path)
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                if not self.path.startswith(FLEET):
                    self.answer(404, [], b"")
                    return
                there = http.client.HTTPSConnection(superlink, context=trust, timeout=60.0)
                kept = {k: v for k, v in self.headers.items() if k.lower() not in HOP_BY_HOP}
                there.request("POST", self.path, body, kept)
                said = there.getresponse()
                headers = [(k, v) for k, v in said.getheaders() if k.lower() not in HOP_BY_HOP]
                self.answer(said.status, headers, said.read())
                there.close()

            do_GET = do_POST

            def answer(self, status: int, headers: list[tuple[str, str]], body: bytes) -> None:
                self.send_response(status)
                for name, value in headers:
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: Any) -> None: ...

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        own = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        own.load_cert_chain(*tls)
        self._server.socket = own.wrap_socket(self._server.socket, server_side=True)
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self.address = f"127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> FleetProxy:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
