"""A project whose candidate is a live server, and what its run left behind."""

from __future__ import annotations

import json
import multiprocessing
import re
import socket
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.http_server import Reply, ScriptedServer, Seen, ok
from tests.project import Project, many

CASES = 8


def figure(seen: Seen) -> int:
    """The number in the question: case e003 asks for figure e003, which is 103."""
    found = re.search(r"figure e(\d+)", seen.body["messages"][-1]["content"])
    assert found is not None
    return int(found[1])


def right(seen: Seen) -> Reply:
    return ok(str(100 + figure(seen)))


def ask_live(
    project: Project,
    url: str,
    *,
    key: str = "",
    price: bool = True,
    timeout_s: float = 10,
    **run: Any,
) -> None:
    """The settings of a project whose candidate "new" answers live at this url."""
    values = {"max_attempts": 2, "retry_for_s": 5, "breaker_after": 3, **run}
    lines = [
        "[tool.fineval.models.new]",
        'client = "openai-compatible"',
        'model = "new"',
        f'base_url = "{url}"',
        f"timeout_s = {timeout_s}",
        "max_tokens = 16",
        *([f'api_key_env = "{key}"'] if key else []),
        *(["usd_per_million_input = 1.0", "usd_per_million_output = 10.0"] if price else []),
        "[tool.fineval.run]",
        *(f"{name} = {value}" for name, value in values.items()),
    ]
    project.models = ["old"]
    project.extra = "\n".join(lines)
    project.settings()


def small_suite(project: Project) -> None:
    project.suite("figures", many(CASES))
    project.answers("old", project.right())


def records(project: Project, folder: Path | None = None) -> list[dict[str, Any]]:
    path = (folder or project.run_folder()) / "records.jsonl"
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def kind(record: dict[str, Any]) -> str:
    """How a call ended: the client's error, else how the answer did."""
    answer = record["answer"]
    error = answer.get("error")
    return str(error["kind"] if error else answer.get("status", "ok"))


def attempts(found: list[dict[str, Any]]) -> int:
    # What has its default value is not written.
    return sum(record["answer"].get("attempts", 1) for record in found)


def last_line(done: pytest.RunResult) -> str:
    return [line for line in done.outlines if line.strip()][-1]


class MortalServer:
    """A server in a process of its own that can be killed, and started again on the same port."""

    def __init__(self, log: Path):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self._port = free.getsockname()[1]
        self._log = log
        self.url = f"http://127.0.0.1:{self._port}/v1"
        self._process: Any = None

    def start(self) -> None:
        spawn = multiprocessing.get_context("spawn")
        self._process = spawn.Process(target=_serve, args=(self._port, self._log), daemon=True)
        self._process.start()
        self._wait_for(lambda: _answers(self._port))

    def kill(self) -> None:
        """SIGKILL: the kernel resets what was open."""
        self._process.kill()
        self._process.join()

    def seen(self) -> int:
        return len(self._log.read_text().splitlines()) if self._log.exists() else 0

    def wait_for_requests(self, count: int) -> None:
        self._wait_for(lambda: self.seen() >= count)

    @staticmethod
    def _wait_for(happened: Callable[[], bool]) -> None:
        until = time.monotonic() + 30
        while not happened() and time.monotonic() < until:
            time.sleep(0.01)


def _answers(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def _serve(port: int, log: Path) -> None:
    def reply(seen: Seen) -> Reply:
        with log.open("a") as file:
            file.write(f"{figure(seen)}\n")
        made = right(seen)
        return Reply(body=made.body, delay_s=0.15)

    with ScriptedServer(reply, port=port):
        time.sleep(120)
