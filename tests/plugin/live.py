"""Projects whose pipeline is slow and counts its calls in a file: one line a call."""

from __future__ import annotations

from pathlib import Path

from tests.project import Project, many

CALL = """
import asyncio
import pathlib
import pytest

LOG = pathlib.Path({log!r})


def note(text):
    with LOG.open("a") as file:
        file.write(text + "\\n")


async def call(model, request):
    question = request.messages[-1].content
    note("+ " + model + " " + question)
    await asyncio.sleep({wait_s})
    note("- " + model + " " + question)
    return str(100 + int(question[-4:-1]))
"""

PIPELINE = """

@pytest.fixture(scope={scope!r})
def fineval_client():
    async def ask(request):
        return await call("own", request)

    return ask
"""

FACTORY = """

def make(settings):
    async def ask(request):
        return await call(settings.model, request)

    return ask
"""


def pipeline(project: Project, wait_s: float, scope: str = "session") -> None:
    """A `fineval_client` fixture whose every answer is right."""
    text = _call(project, wait_s) + PIPELINE.format(scope=scope)
    (project.root / "evals" / "conftest.py").write_text(text, encoding="utf-8")


def live(project: Project, n: int, wait_s: float, *, concurrency: int, body: str = "") -> None:
    """A project of n cases with a live model that is made by a factory of its own."""
    project.suite("extraction", many(n), body=body)
    project.extra = f"[tool.fineval.run]\nconcurrency = {concurrency}"
    project.settings()
    path = project.root / "pyproject.toml"
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace('client = "recording"', 'client = "slow:make"'), encoding="utf-8")
    (project.root / "slow.py").write_text(_call(project, wait_s) + FACTORY, encoding="utf-8")


def calls(project: Project) -> list[str]:
    """The calls that were started so far: model and question."""
    return [line[2:] for line in _log(project) if line.startswith("+")]


def most_in_flight(project: Project) -> int:
    """How many calls overlapped."""
    flying = most = 0
    for line in _log(project):
        flying += 1 if line.startswith("+") else -1
        most = max(most, flying)
    return most


def _call(project: Project, wait_s: float) -> str:
    return CALL.format(log=str(project.root / "log"), wait_s=wait_s)


def _log(project: Project) -> list[str]:
    path: Path = project.root / "log"
    return path.read_text(encoding="utf-8").splitlines() if path.exists() else []
