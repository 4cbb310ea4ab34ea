"""Which client answers for a model name, and what a user's own callable may do."""

from __future__ import annotations

import asyncio
import functools
import json
import os
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from pytest_fineval.cases.model import Candidate
from pytest_fineval.clients.base import Answer, Client, Request, build_request, failed
from pytest_fineval.clients.callables import as_client
from pytest_fineval.clients.factory import client_for, recorded, recordings_path
from pytest_fineval.clients.providers import OpenAICompatibleClient
from pytest_fineval.clients.recording import Recorder, RecordingClient
from pytest_fineval.errors import InputError
from pytest_fineval.settings import ModelSettings, Settings
from tests.http_server import ScriptedServer

REQUEST = build_request(Candidate(question="How much?"), ModelSettings(model="m"))


def settings(root: Path, **model: Any) -> Settings:
    return Settings(root=root, models={"new": ModelSettings(**{"model": "m", **model})})


def ask(client: Client, request: Request = REQUEST, sample: int = 0) -> Answer:
    async def run() -> Answer:
        try:
            return await client.answer(request, sample)
        finally:
            await client.close()

    return asyncio.run(run())


@pytest.mark.parametrize("client", ["recording", "openai-compatible", "local", "pkg.mod:make"])
def test_without_live_only_recordings_answer(tmp_path: Path, client: str) -> None:
    made = client_for("new", settings(tmp_path, client=client), live=False)
    assert isinstance(made, RecordingClient)
    assert ask(made).error.kind == "recording_missing"


def test_live_answers_are_recorded_and_replayed_offline(tmp_path: Path) -> None:
    with ScriptedServer() as server:
        project = settings(tmp_path, client="openai-compatible", base_url=server.url)
        cases = {REQUEST.digest: "fq-1"}
        client = client_for("new", project, live=True, record="new", cases=cases)
        assert isinstance(client, Recorder)
        assert isinstance(client.client, OpenAICompatibleClient)
        assert ask(client).source == "live"
    answer = ask(client_for("new", project, live=False))
    assert (answer.text, answer.source) == ("42", "recording")
    path = tmp_path / "evals/recordings/new.jsonl"
    assert json.loads(path.read_text())["case"] == "fq-1"


def test_a_guard_is_around_the_live_client_only(tmp_path: Path) -> None:
    guarded = []

    def guard(client: Client) -> Client:
        guarded.append(client)
        return client

    with ScriptedServer() as server:
        project = settings(tmp_path, client="openai-compatible", base_url=server.url)
        client_for("new", project, live=False, guard=guard)
        assert guarded == []
        client_for("new", project, live=True, guard=guard)
    assert isinstance(guarded[0], OpenAICompatibleClient)


def test_the_recording_file_can_be_named(tmp_path: Path) -> None:
    project = settings(tmp_path, recordings="other/answers.jsonl")
    assert recordings_path("new", project) == tmp_path / "other/answers.jsonl"
    assert recordings_path("own", project) == tmp_path / "evals/recordings/own.jsonl"


def test_recording_needs_live(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="needs --fineval-live"):
        client_for("new", settings(tmp_path), live=False, record="new")


@pytest.mark.parametrize("live", [True, False])
@pytest.mark.parametrize(
    ("client", "says"),
    [
        ("openai-compatable", 'did you mean "openai-compatible"'),
        ("antropic", 'did you mean "anthropic"'),
    ],
)
def test_an_unknown_client_names_what_works(
    tmp_path: Path, client: str, says: str, live: bool
) -> None:
    with pytest.raises(InputError) as caught:
        client_for("new", settings(tmp_path, client=client), live=live)
    assert says in str(caught.value)
    assert "[tool.fineval.models.new]" in str(caught.value)
    assert str(tmp_path / "pyproject.toml") in str(caught.value)


def test_a_client_that_cannot_be_built_names_the_model(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"\[tool\.fineval\.models\.new\] .*needs base_url"):
        client_for("new", settings(tmp_path, client="openai-compatible"), live=True)


def test_a_dotted_path_gives_the_users_own_pipeline(tmp_path: Path) -> None:
    (tmp_path / "my_pipeline_a.py").write_text(
        "def make(settings):\n"
        "    return lambda request: settings.model + request.messages[-1].content\n"
    )
    project = settings(tmp_path, client="my_pipeline_a:make")
    assert ask(client_for("new", project, live=True)).text == "mHow much?"


def test_an_installed_package_brings_a_client(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "shop_pipeline.py").write_text(
        "def make(settings):\n    return lambda request: 'from the shop'\n"
    )
    info = tmp_path / "shop-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: shop\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[pytest_fineval.clients]\nshop = shop_pipeline:make\n")
    monkeypatch.syspath_prepend(tmp_path)
    assert ask(client_for("new", settings(tmp_path, client="shop"), live=True)).text == (
        "from the shop"
    )
    with pytest.raises(InputError, match='did you mean "shop"'):
        client_for("new", settings(tmp_path, client="shp"), live=True)


@pytest.mark.parametrize(
    ("client", "says"),
    [
        ("no_such_module_x:make", "No module named"),
        ("my_pipeline_b:mke", 'did you mean "make"'),
        ("my_pipeline_b:broken", "ZeroDivisionError"),
        ("my_pipeline_b:number", "got int"),
        ("my pipeline:make", "package.module:factory"),
        (":make", "package.module:factory"),
    ],
)
def test_a_dotted_path_that_does_not_work_says_why(
    tmp_path: Path, client: str, says: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "my_pipeline_b.py").write_text(
        "def make(s): ...\ndef broken(s): 1 / 0\ndef number(s): return 7\n"
    )
    with pytest.raises(InputError) as caught:
        client_for("new", settings(tmp_path, client=client), live=True)
    assert says in str(caught.value)


def answer_text(request: Request) -> str:
    return f"said {request.messages[-1].content}"


async def answer_later(request: Request) -> str:
    await asyncio.sleep(0)
    return answer_text(request)


class Pipeline:
    async def __call__(self, request: Request) -> str:
        return answer_text(request)


@pytest.mark.parametrize(
    "call",
    [
        answer_text,
        answer_later,
        Pipeline(),
        functools.partial(answer_later),
        lambda request: answer_later(request),
        lambda request: Answer(text=answer_text(request)),
    ],
)
def test_any_callable_receives_the_request(call: Any) -> None:
    answer = ask(as_client(call))
    assert (answer.text, answer.status) == ("said How much?", "ok")
    assert answer.latency_s > 0


def fail_softly(request: Request) -> str:
    pytest.fail("not today")


def raise_value(request: Request) -> str:
    raise ValueError("secret-key-1 is\nwrong")


async def raise_later(request: Request) -> str:
    raise KeyError("x")


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (raise_value, "ValueError: [redacted] is wrong"),
        (raise_later, "KeyError: 'x'"),
        (fail_softly, "Failed: not today"),
        (lambda _: next(iter(())), "StopIteration"),
        (lambda _: None, "returned NoneType: return the text or an Answer"),
        (lambda _: {"text": "7"}, "returned dict"),
    ],
)
def test_what_a_callable_does_wrong_is_an_error_of_its_case(call: Any, says: str) -> None:
    answer = ask(as_client(call, secrets=["secret-key-1"]))
    assert answer.error is not None
    assert answer.error.kind == "client_raised"
    assert says in answer.error.message


def test_a_callable_that_hangs_is_a_timeout() -> None:
    release = threading.Event()
    try:
        answer = ask(as_client(lambda _: release.wait(20), timeout_s=0.1))
    finally:
        release.set()
    assert answer.error is not None
    assert answer.error.kind == "timeout"


def test_sync_callables_overlap() -> None:
    client = as_client(lambda _: time.sleep(0.2) or "x")

    async def run() -> list[Answer]:
        return await asyncio.gather(*(client.answer(REQUEST, i) for i in range(50)))

    started = time.perf_counter()
    assert {answer.text for answer in asyncio.run(run())} == {"x"}
    assert time.perf_counter() - started < 3


class Raising:
    closed = False

    async def answer(self, request: Request, sample: int) -> Answer:
        if sample:
            return failed("server", "down")
        raise RuntimeError(f"bug in {request.model}")

    async def close(self) -> None:
        self.closed = True


def test_a_users_client_that_raises_is_caught_and_closed() -> None:
    raising = Raising()
    assert ask(as_client(raising)).error.kind == "client_raised"
    assert ask(as_client(raising), sample=1).error.kind == "server"
    assert raising.closed


@pytest.mark.parametrize("wrong", [7, None, Raising, object()])
def test_what_cannot_be_asked_is_refused(wrong: object) -> None:
    with pytest.raises(InputError, match="takes the Request"):
        as_client(wrong)


def test_an_absent_candidate_does_not_reach_a_callable() -> None:
    asked: list[Request] = []
    request = build_request(Candidate(absent="prompt lost"), ModelSettings(model="m"))
    answer = ask(as_client(lambda each: asked.append(each) or "x"), request)
    assert answer.error is not None
    assert answer.error.kind == "absent_candidate"
    assert asked == []


def test_a_cancelled_call_is_cancelled() -> None:
    async def run() -> None:
        task = asyncio.ensure_future(as_client(lambda _: time.sleep(0.3)).answer(REQUEST, 0))
        await asyncio.sleep(0.05)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(run())


def test_a_users_client_can_be_recorded(tmp_path: Path) -> None:
    project = settings(tmp_path)
    client = recorded(as_client(answer_text), "own", project, record="new")
    assert ask(client).text == "said How much?"
    assert (tmp_path / "evals/recordings/own.jsonl").exists()


def test_the_key_of_a_users_pipeline_is_redacted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(os.environ, "PIPELINE_KEY", "k-12345678")
    (tmp_path / "my_pipeline_c.py").write_text(
        "import os\ndef make(s):\n    return lambda request: os.environ['PIPELINE_KEY']\n"
    )
    project = settings(tmp_path, client="my_pipeline_c:make", api_key_env="PIPELINE_KEY")
    assert ask(client_for("new", project, live=True)).text == "[redacted]"
