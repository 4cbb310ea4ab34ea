"""A data set hub on 127.0.0.1: as much of its protocol as downloading a snapshot needs."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tests.http_server import LocalServer

_RESOLVE = re.compile(r"/datasets/(?P<repo>[^/]+/[^/]+)/resolve/(?P<revision>[^/]+)/(?P<file>.+)")
_REVISION = re.compile(r"/api/datasets/(?P<repo>[^/]+/[^/]+)/revision/(?P<revision>[^/?]+)")
_TREE = re.compile(r"/api/datasets/(?P<repo>[^/]+/[^/]+)/tree/(?P<revision>[^/?]+)")


@dataclass
class HubStub(LocalServer):
    """Serves `files[(repo, revision)][path]`; `seen` lists what was asked for."""

    files: dict[tuple[str, str], Mapping[str, bytes]] = field(default_factory=dict)
    seen: list[str] = field(default_factory=list)

    def __enter__(self) -> HubStub:
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                self._answer(body=True)

            def do_HEAD(self) -> None:
                self._answer(body=False)

            def _answer(self, *, body: bool) -> None:
                outer.seen.append(f"{self.command} {self.path}")
                found = _RESOLVE.fullmatch(self.path.split("?")[0])
                if found:
                    self._file(found, body)
                    return
                for pattern, make in ((_REVISION, _info), (_TREE, _tree)):
                    found = pattern.match(self.path)
                    if found:
                        held = self._held(found)
                        if held is not None:
                            text = json.dumps(make(found["repo"], found["revision"], held))
                            self._send(
                                200, text.encode(), body, {"Content-Type": "application/json"}
                            )
                        return
                self._send(404, b"{}", body, {"X-Error-Code": "RepoNotFound"})

            def _held(self, found: re.Match[str]) -> Mapping[str, bytes] | None:
                held = outer.files.get((found["repo"], found["revision"]))
                if held is None:
                    self._send(404, b"{}", True, {"X-Error-Code": "RevisionNotFound"})
                return held

            def _file(self, found: re.Match[str], body: bool) -> None:
                held = self._held(found)
                if held is None:
                    return
                content = held.get(found["file"])
                if content is None:
                    self._send(404, b"", body, {"X-Error-Code": "EntryNotFound"})
                    return
                headers = {
                    "ETag": f'"{hashlib.sha256(content).hexdigest()}"',
                    "X-Repo-Commit": found["revision"],
                    "Content-Type": "application/octet-stream",
                }
                self._send(200, content, body, headers)

            def _send(
                self, status: int, content: bytes, body: bool, headers: Mapping[str, str]
            ) -> None:
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                if body and self.command != "HEAD":
                    self.wfile.write(content)

            def log_message(self, *args: Any) -> None:
                """Stay silent."""

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        server.daemon_threads = True
        self._serve(server)
        return self

    @property
    def url(self) -> str:
        """What HF_ENDPOINT has to be."""
        return f"http://127.0.0.1:{self._server.server_address[1]}"


def _info(repo: str, revision: str, files: Mapping[str, bytes]) -> dict[str, Any]:
    siblings = [{"rfilename": name} for name in files]
    return {"id": repo, "sha": revision, "siblings": siblings, "private": False, "tags": []}


def _tree(repo: str, revision: str, files: Mapping[str, bytes]) -> list[dict[str, Any]]:
    return [
        {
            "type": "file",
            "path": name,
            "size": len(content),
            "oid": hashlib.sha256(content).hexdigest(),
        }
        for name, content in files.items()
    ]
