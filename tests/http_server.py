"""A real HTTP server on 127.0.0.1 that answers chat completions as scripted."""

from __future__ import annotations

import json
import socket
import struct
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any


@dataclass(frozen=True)
class Reply:
    """One scripted response.

    Attributes:
        reset_after: bytes of the body after which the connection is reset; None for never.
        delay_s: wait before the first byte.
        trickle_s: wait before each byte of the body.
    """

    status: int = 200
    body: bytes = b""
    headers: tuple[tuple[str, str], ...] = (("Content-Type", "application/json"),)
    delay_s: float = 0.0
    trickle_s: float = 0.0
    reset_after: int | None = None


def completion(
    text: Any,
    *,
    finish: str | None = "stop",
    model: str = "served-model",
    usage: Any = None,
    **more: Any,
) -> dict[str, Any]:
    return {
        "id": "c-1",
        "object": "chat.completion",
        "model": model,
        "system_fingerprint": "fp-1",
        "choices": [
            {
                "index": 0,
                "finish_reason": finish,
                "message": {"role": "assistant", "content": text},
            }
        ],
        "usage": {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}
        if usage is None
        else usage,
        **more,
    }


def json_reply(value: Any, **how: Any) -> Reply:
    return Reply(body=json.dumps(value).encode(), **how)


def ok(text: Any = "42", **how: Any) -> Reply:
    return json_reply(completion(text, **how))


def slow(seconds: float, text: str = "42") -> Reply:
    return json_reply(completion(text), delay_s=seconds)


def rate_limited(retry_after: str | None = None) -> Reply:
    wait = () if retry_after is None else (("Retry-After", retry_after),)
    return json_reply(
        {"error": {"message": "slow down", "code": "rate_limit_exceeded"}},
        status=429,
        headers=(("Content-Type", "application/json"), *wait),
    )


def error(status: int, message: str = "it broke") -> Reply:
    return json_reply({"error": {"message": message}}, status=status)


def reset_mid_body() -> Reply:
    return Reply(body=json.dumps(completion("42")).encode(), reset_after=20)


def html(status: int = 200) -> Reply:
    return Reply(
        status=status, body=b"<html>portal</html>", headers=(("Content-Type", "text/html"),)
    )


@dataclass
class Seen:
    """A request as it arrived."""

    path: str
    headers: dict[str, str]
    body: Any
    at: float


class LocalServer:
    """A server on 127.0.0.1 for the length of a `with` block."""

    def _serve(self, server: ThreadingHTTPServer) -> None:
        self._server = server
        self._thread = threading.Thread(target=server.serve_forever, args=(0.05,))
        self._thread.start()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


@dataclass
class ScriptedServer(LocalServer):
    """Answers request i with script[i], the last one from there on; or with what a function of
    the request makes. On a free port, unless one is given."""

    script: list[Reply] | Callable[[Seen], Reply] = field(default_factory=lambda: [ok()])
    seen: list[Seen] = field(default_factory=list)
    in_flight: int = 0
    most_in_flight: int = 0
    port: int = 0

    def __enter__(self) -> ScriptedServer:
        lock = threading.Lock()
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True

            def do_POST(self) -> None:
                size = int(self.headers.get("Content-Length", 0))
                request = Seen(
                    self.path,
                    {k.lower(): v for k, v in self.headers.items()},
                    json.loads(self.rfile.read(size)),
                    time.monotonic(),
                )
                with lock:
                    number = len(outer.seen)
                    outer.seen.append(request)
                    outer.in_flight += 1
                    outer.most_in_flight = max(outer.most_in_flight, outer.in_flight)
                try:
                    script = outer.script
                    reply = (
                        script(request)
                        if callable(script)
                        else script[min(number, len(script) - 1)]
                    )
                    self._send(reply)
                except (BrokenPipeError, ConnectionResetError):
                    self.close_connection = True
                finally:
                    with lock:
                        outer.in_flight -= 1

            def _send(self, reply: Reply) -> None:
                time.sleep(reply.delay_s)
                self.send_response(reply.status)
                for name, value in reply.headers:
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(reply.body)))
                self.end_headers()
                if reply.reset_after is not None:
                    self.wfile.write(reply.body[: reply.reset_after])
                    self.wfile.flush()
                    # Linger 0: the close sends RST, as a dying load balancer does.
                    self.connection.setsockopt(
                        socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0)
                    )
                    self.connection.close()
                    self.close_connection = True
                elif reply.trickle_s:
                    for byte in reply.body:
                        self.wfile.write(bytes([byte]))
                        self.wfile.flush()
                        time.sleep(reply.trickle_s)
                else:
                    self.wfile.write(reply.body)

            def log_message(self, *args: Any) -> None:
                """Stay silent."""

        class Server(ThreadingHTTPServer):
            daemon_threads = True
            request_queue_size = 256

            def handle_error(self, *args: Any) -> None:
                """A client that went away is part of many scripts."""

        self._serve(Server(("127.0.0.1", outer.port), Handler))
        return self

    @property
    def url(self) -> str:
        """The base_url of a client."""
        return f"http://127.0.0.1:{self._server.server_address[1]}/v1"
