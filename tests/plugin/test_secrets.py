"""A planted API key is in no byte that a run wrote, whoever sends it back and wherever."""

from __future__ import annotations

import json
import textwrap
from pathlib import Path

import httpx2  # noqa: F401 - imported once for all runs in this process, as in conftest.py
import pytest

from pytest_fineval.clients import pricing, providers
from pytest_fineval.engine import guard
from tests.http_server import (
    Reply,
    ScriptedServer,
    Seen,
    completion,
    error,
    html,
    json_reply,
    ok,
)
from tests.plugin.live_server import ask_live, figure, kind, records
from tests.project import Project, many

LOADED = (pricing, providers, guard)
"""Named so that they, too, are imported once."""

VARIABLE = "TEST_PROVIDER_KEY"
KEY = "sk-planted/Zq7RvTw9XyLm2Np4Bk8c"
PIECE = 10
"""Characters of the key in a row that already give it away."""

PIECES = {KEY[start : start + PIECE] for start in range(len(KEY) - PIECE + 1)}
IN_JSON = KEY.replace("/", "\\/")


def traces(data: bytes) -> list[str]:
    """Pieces of the key in a file's bytes, also as JSON or a URL writes it."""
    text = data.decode("utf-8", "replace")
    text = text.replace("\\/", "/").replace("%2F", "/").replace("\\u002d", "-")
    return sorted(piece for piece in PIECES if piece in text)


def leaks(root: Path, *shown: str) -> dict[str, list[str]]:
    """Every file below root, and every text shown, that holds a piece of the key."""
    found = {
        str(path.relative_to(root)): traces(path.read_bytes())
        for path in root.rglob("*")
        if path.is_file()
    }
    found |= {f"shown {number}": traces(text.encode()) for number, text in enumerate(shown)}
    return {name: pieces for name, pieces in found.items() if pieces}


def echoes() -> list[Reply]:
    """A reply for each case: the key in every place where a server can put it."""
    everywhere = completion(f"{KEY} is your key", finish=f"stop {KEY}", model=KEY, usage={KEY: 1})
    everywhere["system_fingerprint"] = "x" * 290 + KEY
    refusal = completion(None)
    refusal["choices"][0]["message"]["refusal"] = f"I will not say {KEY}."
    return [
        json_reply(everywhere),
        json_reply(refusal),
        error(400, f"bad header: Bearer {KEY}"),
        error(401, "x" * 285 + KEY),  # a message that is cut in the middle of the key
        error(500, f"{KEY * 200}"),
        json_reply({"error": {"message": KEY, "code": KEY}}),
        Reply(body=f'{{"choices": "{"x" * 1985}{KEY}'.encode()),  # cut there, too
        Reply(body=f'{{"choices": "{IN_JSON}"'.encode()),
        Reply(body=b"\n" * 1990 + f'{{"got": "{IN_JSON}'.encode()),
        html(),
        Reply(body=KEY.encode(), headers=(("Content-Type", f"text/{KEY}"),)),
        Reply(status=302, headers=(("Location", f"http://127.0.0.1/{KEY}"), ("X-Key", KEY))),
        ok(f'{{"echo": "{IN_JSON}"}}'),
    ]


@pytest.fixture
def planted(project: Project, monkeypatch: pytest.MonkeyPatch) -> Project:
    monkeypatch.setenv(VARIABLE, KEY)
    return project


def everything_that_writes(*more: str) -> tuple[str, ...]:
    """Options under which a run writes and shows as much as it can."""
    return (
        *("--fineval-live", "--fineval-record", "new", "--fineval-baseline", "none"),
        *("--fineval-show", "all", "--fineval-strict", "--showlocals", "-vv", "-ra"),
        *("--junitxml", "junit.xml", "-o", "junit_logging=all", "--log-level", "DEBUG"),
        *("--log-file", "debug.log", "--log-file-level", "DEBUG", "--full-trace"),
        *more,
    )


def test_a_key_that_the_server_sends_back_is_in_no_byte_that_the_run_wrote(
    planted: Project,
) -> None:
    replies = echoes()

    def echo(seen: Seen) -> Reply:
        assert seen.headers["authorization"] == f"Bearer {KEY}"  # it was really sent
        return replies[figure(seen)]

    planted.suite("figures", many(len(replies)))
    with ScriptedServer(echo) as server:
        ask_live(planted, server.url, key=VARIABLE, max_attempts=1, breaker_after=100)
        done = planted.pytest(*everything_that_writes())
        assert len(server.seen) == len(replies)
    root = planted.root
    written = [str(path.relative_to(root)) for path in root.rglob("*") if path.is_file()]
    for name in ("junit.xml", "debug.log", "evals/recordings/new.jsonl"):
        assert name in written
    assert leaks(root, done.stdout.str(), done.stderr.str()) == {}
    # The answers are there, without the key.
    found = sorted(records(planted), key=lambda record: record["case"]["id"])
    assert len(found) == len(replies)
    assert [kind(record) for record in found[:4]] == ["ok", "ok", "bad_request", "unauthorized"]
    assert found[0]["answer"]["text"].endswith(" is your key")
    assert "redacted" in (root / "evals/recordings/new.jsonl").read_text(encoding="utf-8")


def test_a_key_that_a_users_own_client_lets_slip_is_in_no_byte_either(planted: Project) -> None:
    planted.suite("figures", many(4))
    planted.models = ["old"]
    planted.extra = textwrap.dedent(
        f"""
        [tool.fineval.models.new]
        client = "own_pipeline:make"
        model = "new"
        api_key_env = "{VARIABLE}"
        """
    )
    planted.settings()
    (planted.root / "own_pipeline.py").write_text(
        textwrap.dedent(
            f"""
            import os
            from pytest_fineval.clients.base import Answer, failed

            def make(settings):
                key = os.environ["{VARIABLE}"]

                def ask(request):
                    question = request.messages[-1].content
                    if "e000" in question:
                        return f"it is {{key}}"
                    if "e001" in question:
                        raise OSError(f"no route with {{key}}")
                    if "e002" in question:
                        return Answer(text=key, model_returned=key, fingerprint=key)
                    return failed("server", f"refused {{key}}")

                return ask
            """
        ),
        encoding="utf-8",
    )
    done = planted.pytest(*everything_that_writes())
    assert leaks(planted.root, done.stdout.str(), done.stderr.str()) == {}
    found = sorted(records(planted), key=lambda record: record["case"]["id"])
    assert [kind(record) for record in found] == ["ok", "client_raised", "ok", "server"]


def test_the_search_finds_a_key_that_is_there(tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "a").write_text(json.dumps({"key": KEY}), encoding="utf-8")
    (tmp_path / "b").write_bytes(b"\x00\xff" + KEY[5:17].encode())
    (tmp_path / "c").write_text(f'"{IN_JSON}"', encoding="utf-8")
    (tmp_path / "d").write_text("sk-planted", encoding="utf-8")
    assert sorted(leaks(tmp_path, f"Bearer {KEY}", "nothing")) == [
        "b",
        "c",
        "d",
        "deep/a",
        "shown 0",
    ]
