"""The vendors' SDKs against real servers on 127.0.0.1 that speak each vendor's wire format."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_fineval.cases.model import Candidate
from pytest_fineval.clients.base import Answer, Usage, build_request
from pytest_fineval.clients.factory import client_for
from pytest_fineval.clients.retry_after import RetryLaterError
from pytest_fineval.clients.vendors import VENDORS
from pytest_fineval.errors import InputError
from pytest_fineval.settings import ModelSettings, Settings
from tests.http_server import (
    Reply,
    ScriptedServer,
    Seen,
    completion,
    html,
    json_reply,
    reset_mid_body,
    slow,
)

KEY = "sk-very-secret-0123456789"


def message(text: str, stop: str = "end_turn", **more: Any) -> dict[str, Any]:
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "served-model",
        "content": [
            {"type": "thinking", "thinking": "so 41", "signature": "x"},
            {"type": "text", "text": text},
        ],
        "stop_reason": stop,
        "usage": {
            "input_tokens": 4,
            "cache_read_input_tokens": 8,
            "cache_creation_input_tokens": 0,
            "output_tokens": 3,
        },
        **more,
    }


def content(text: str, stop: str = "STOP", **more: Any) -> dict[str, Any]:
    return {
        "candidates": [
            {
                "content": {
                    "role": "model",
                    "parts": [{"text": "so 41", "thought": True}, {"text": text}],
                },
                "finishReason": stop,
            }
        ],
        "usageMetadata": {
            "promptTokenCount": 12,
            "cachedContentTokenCount": 8,
            "candidatesTokenCount": 2,
            "thoughtsTokenCount": 1,
        },
        "modelVersion": "served-model",
        **more,
    }


def chat(text: str, stop: str = "stop") -> dict[str, Any]:
    usage = {
        "prompt_tokens": 12,
        "completion_tokens": 3,
        "prompt_tokens_details": {"cached_tokens": 8},
    }
    return completion(text, finish=stop, usage=usage)


@dataclass(frozen=True)
class Wire:
    """How one vendor's API looks from the server's side."""

    name: str
    reply: Callable[..., dict[str, Any]]
    path: str
    root: str
    stops: tuple[str, str, str]


WIRES = [
    Wire(
        "openai",
        chat,
        "/v1/chat/completions",
        "/v1",
        ("stop", "length", "content_filter"),
    ),
    Wire("anthropic", message, "/v1/messages", "", ("end_turn", "max_tokens", "refusal")),
    Wire(
        "google",
        content,
        "/models/m-1:generateContent",
        "",
        ("STOP", "MAX_TOKENS", "SAFETY"),
    ),
]


@pytest.fixture(params=WIRES, ids=lambda wire: wire.name)
def wire(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Wire:
    pytest.importorskip({"google": "google.genai"}.get(request.param.name, request.param.name))
    monkeypatch.setenv("VENDOR_KEY", KEY)
    found: Wire = request.param
    return found


def ask(
    wire: Wire,
    script: list[Reply] | Callable[[Seen], Reply],
    *,
    sample: int = 0,
    json_key: str | None = None,
    **more: Any,
) -> tuple[Answer, list[Seen]]:
    with ScriptedServer(script) as server:
        base = server.url.removesuffix("/v1") + wire.root
        model = ModelSettings(
            client=wire.name, model="m-1", base_url=base, api_key_env="VENDOR_KEY", **more
        )
        project = Settings(root=Path("/nowhere"), models={"m": model})

        async def run() -> Answer:
            client = client_for("m", project, live=True)
            try:
                request = build_request(Candidate(question="How much?"), model, json_key)
                return await client.answer(request, sample)
            finally:
                await client.close()

        return asyncio.run(run()), server.seen


def test_an_answer_carries_what_the_server_said(wire: Wire) -> None:
    answer, [seen] = ask(wire, [json_reply(wire.reply("$4.2 million"))])
    assert (answer.text, answer.status, answer.error) == ("$4.2 million", "ok", None)
    assert answer.finish_reason == wire.stops[0]
    assert answer.usage == Usage(input_tokens=12, output_tokens=3, cached_tokens=8)
    assert answer.model_returned == "served-model"
    assert answer.latency_s > 0
    assert seen.path.endswith(wire.path)
    assert any(KEY in value for value in seen.headers.values())


def test_the_request_holds_the_settings_and_nothing_of_ours(wire: Wire) -> None:
    more: dict[str, Any] = {"temperature": 0.25, "top_p": 0.9, "system": "Be brief."}
    if wire.name != "anthropic":
        more["seed"] = 7
    _, [seen] = ask(wire, [json_reply(wire.reply("42"))], sample=2, max_tokens=96, **more)
    sent = json.dumps(seen.body)
    for value in ("How much?", "Be brief.", "0.25", "0.9", "96"):
        assert value in sent
    assert wire.name == "anthropic" or '"seed": 9' in sent
    assert "sample" not in sent


def test_json_is_asked_for_where_the_case_wants_it(wire: Wire) -> None:
    _, [seen] = ask(
        wire, [json_reply(wire.reply('{"total": 4}'))], json_key="total", structured_output=True
    )
    if wire.name == "openai":
        assert seen.body["response_format"] == {"type": "json_object"}
    elif wire.name == "anthropic":
        asked = seen.body["output_config"]["format"]
        assert (asked["type"], asked["schema"]["required"]) == ("json_schema", ["total"])
    else:
        assert seen.body["generationConfig"]["responseMimeType"] == "application/json"
    assert "structured_output" not in json.dumps(seen.body)
    _, [seen] = ask(wire, [json_reply(wire.reply("4"))], json_key=None, structured_output=True)
    assert "json" not in json.dumps(seen.body)


def test_a_cut_answer_a_filtered_one_and_an_empty_one_are_told_apart(wire: Wire) -> None:
    for stop, status in zip(wire.stops, ("ok", "truncated", "filtered"), strict=True):
        answer, _ = ask(wire, [json_reply(wire.reply("I cannot", stop))])
        assert (answer.text, answer.status) == ("I cannot", status)
    answer, _ = ask(wire, [json_reply(wire.reply(" "))])
    assert answer.status == "empty"


def test_a_prompt_that_google_blocks_is_filtered(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("google.genai")
    monkeypatch.setenv("VENDOR_KEY", KEY)
    blocked = {"promptFeedback": {"blockReason": "SAFETY"}, "usageMetadata": {}}
    answer, _ = ask(WIRES[2], [json_reply(blocked)])
    assert (answer.status, answer.finish_reason) == ("filtered", "SAFETY")


@pytest.mark.parametrize(
    ("status", "kind"),
    [(400, "bad_request"), (401, "unauthorized"), (403, "unauthorized"), (404, "bad_request"),
     (408, "timeout"), (429, "rate_limited"), (500, "server"), (529, "server")],
)  # fmt: skip
def test_a_refusal_is_one_call_of_its_kind(wire: Wire, status: int, kind: str) -> None:
    said = {"error": {"type": "t", "code": status, "status": "S", "message": f"no {KEY} today"}}
    headers = (("Content-Type", "application/json"), ("Retry-After", "7"))
    answer, seen = ask(wire, [json_reply(said, status=status, headers=headers)])
    assert answer.error is not None
    assert answer.error.kind == kind
    assert answer.error.message == f"HTTP {status}: no [redacted] today"
    assert len(seen) == 1
    if kind in {"rate_limited", "server"}:
        assert isinstance(answer.error, RetryLaterError)
        assert answer.error.retry_after_s == 7


@pytest.mark.parametrize(
    ("reply", "kinds"),
    [
        (html(), {"bad_response"}),
        (json_reply([1, 2]), {"bad_response"}),
        (json_reply({}), {"bad_response"}),
        (Reply(body=b'{"choices": [{"mess'), {"bad_response"}),
        (reset_mid_body(), {"connection"}),
        (slow(5), {"timeout"}),
    ],
    ids=["html", "a list", "nothing", "cut", "reset", "slow"],
)
def test_what_is_no_answer_is_an_error_of_its_kind(
    wire: Wire, reply: Reply, kinds: set[str]
) -> None:
    answer, seen = ask(wire, [reply], timeout_s=1.0)
    assert answer.error is not None
    assert answer.error.kind in kinds, answer.error
    assert len(seen) == 1


def test_no_redirect_takes_the_key_along(wire: Wire) -> None:
    with ScriptedServer([json_reply(wire.reply("stolen"))]) as other:
        away = Reply(status=307, headers=(("Location", other.url),))
        answer, _ = ask(wire, [away])
    assert answer.error is not None
    assert other.seen == []


@settings(deadline=None, max_examples=60)
@given(
    st.recursive(
        st.none() | st.booleans() | st.floats() | st.integers() | st.text(),
        lambda inner: st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["content", "candidates", "usage", "usageMetadata", "text", "parts",
                             "stop_reason", "finishReason", "model", "choices", "message"]),
            inner, max_size=4,
        ),
        max_leaves=12,
    )
)  # fmt: skip
def test_no_body_breaks_a_reader(value: Any) -> None:
    for made in VENDORS.values():
        client = object.__new__(made)
        client._key = KEY
        client._read(json.dumps(value).encode())


def test_what_a_vendor_needs_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VENDOR_KEY", KEY)
    faults = [
        ({}, "api_key_env"),
        ({"api_key_env": "VENDOR_KEY", "seed": 1}, "takes no seed"),
        ({"api_key_env": "VENDOR_KEY", "options": {"n": 2}}, 'may not set "n"'),
        ({"api_key_env": "NO_SUCH_KEY"}, "NO_SUCH_KEY"),
    ]
    pytest.importorskip("anthropic")
    for more, said in faults:
        model = ModelSettings(client="anthropic", model="m", **more)
        with pytest.raises(InputError, match=said):
            client_for("m", Settings(root=Path("/nowhere"), models={"m": model}), live=True)


def test_a_missing_sdk_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pytest_fineval.clients.vendors.find_spec", lambda _: None)
    for name in VENDORS:
        model = ModelSettings(client=name, model="m", api_key_env="VENDOR_KEY")
        with pytest.raises(InputError, match=rf"pytest-fineval\[{name}\]"):
            client_for("m", Settings(root=Path("/nowhere"), models={"m": model}), live=True)
