"""A real HTTP server on 127.0.0.1 for any method, answering with a function of the request."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tests.http_server import Reply


@dataclass(frozen=True)
class Asked:
    method: str
    path: str
    body: Any


@contextmanager
def serve(answer: Callable[[Asked], Reply]) -> Iterator[str]:
    """The server's address while it runs."""

    class Handler(BaseHTTPRequestHandler):
        def respond(self) -> None:
            size = int(self.headers.get("Content-Length", 0))
            body = json.loads(self.rfile.read(size)) if size else None
            reply = answer(Asked(self.command, self.path, body))
            self.send_response(reply.status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(reply.body)))
            self.end_headers()
            self.wfile.write(reply.body)

        do_GET = do_POST = do_PATCH = respond  # noqa: N815 - the names that http.server calls

        def log_message(self, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
