"""The OpenAI-compatible client against a real server on 127.0.0.1."""

from __future__ import annotations

import asyncio
import json
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_fineval.cases.model import Candidate
from pytest_fineval.clients.base import Answer, Client, Request, Usage, build_request
from pytest_fineval.clients.providers import MAX_BODY, OpenAICompatibleClient, parse
from pytest_fineval.clients.retry_after import retry_after
from pytest_fineval.errors import InputError
from pytest_fineval.settings import ModelSettings
from tests.http_server import (
    Reply,
    ScriptedServer,
    completion,
    error,
    html,
    json_reply,
    ok,
    rate_limited,
    reset_mid_body,
    slow,
)

KEY = "sk-very-secret-0123456789"


def model(server: ScriptedServer, **settings: Any) -> ModelSettings:
    return ModelSettings(client="openai-compatible", model="m-1", base_url=server.url, **settings)


def request_for(settings: ModelSettings, question: str = "How much?") -> Request:
    return build_request(Candidate(question=question), settings)


def ask(settings: ModelSettings, *, sample: int = 0, env: dict[str, str] | None = None) -> Answer:
    async def run() -> Answer:
        client = OpenAICompatibleClient(settings, env=env or {})
        assert isinstance(client, Client)
        try:
            return await client.answer(request_for(settings), sample)
        finally:
            await client.close()

    return asyncio.run(run())


def answer_to(reply: Reply, **settings: Any) -> Answer:
    with ScriptedServer([reply]) as server:
        return ask(model(server, **settings))


def test_an_answer_carries_what_the_server_said() -> None:
    usage = {
        "prompt_tokens": 12,
        "completion_tokens": 3,
        "prompt_tokens_details": {"cached_tokens": 8},
    }
    answer = answer_to(json_reply(completion("$4.2 million", usage=usage)))
    assert answer.latency_s > 0
    assert answer.model_copy(update={"latency_s": 0}) == Answer(
        text="$4.2 million",
        finish_reason="stop",
        usage=Usage(input_tokens=12, output_tokens=3, cached_tokens=8),
        model_returned="served-model",
        fingerprint="fp-1",
    )


def test_the_request_holds_messages_decoding_and_options() -> None:
    schema = {"type": "json_object"}
    with ScriptedServer() as server:
        settings = model(
            server,
            system="Be brief.",
            temperature=0,
            top_p=0.5,
            max_tokens=9,
            options={"response_format": schema},
            api_key_env="MY_KEY",
        )
        ask(settings, env={"MY_KEY": KEY})
    [seen] = server.seen
    assert seen.path == "/v1/chat/completions"
    assert seen.headers["authorization"] == f"Bearer {KEY}"
    assert seen.body == {
        "model": "m-1",
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "How much?"},
        ],
        "temperature": 0,
        "top_p": 0.5,
        "max_tokens": 9,
        "response_format": schema,
    }


def test_sample_i_sends_seed_plus_i() -> None:
    with ScriptedServer() as server:
        for sample in (0, 1, 5):
            ask(model(server, seed=100), sample=sample)
        ask(model(server), sample=1)
    assert [seen.body.get("seed") for seen in server.seen] == [100, 101, 105, None]


def test_the_newer_output_limit_replaces_the_older_one() -> None:
    with ScriptedServer() as server:
        ask(model(server, options={"max_completion_tokens": 50}))
    assert "max_tokens" not in server.seen[0].body
    assert server.seen[0].body["max_completion_tokens"] == 50


@pytest.mark.parametrize(
    ("text", "finish", "status"),
    [
        ("4", "stop", "ok"),
        ("4", None, "ok"),
        ("4", "length", "truncated"),
        ("", "length", "truncated"),
        ("", "content_filter", "filtered"),
        ("  \n", "stop", "empty"),
        (None, "tool_calls", "empty"),
    ],
)
def test_how_an_answer_ended_is_its_status(text: str, finish: str, status: str) -> None:
    answer = answer_to(ok(text, finish=finish))
    assert (answer.status, answer.finish_reason) == (status, finish)


def test_a_refusal_is_what_the_model_said() -> None:
    reply = completion(None)
    reply["choices"][0]["message"]["refusal"] = "I cannot advise on that."
    assert answer_to(json_reply(reply)).text == "I cannot advise on that."


def test_content_in_parts_is_joined() -> None:
    parts = [{"type": "text", "text": "4"}, {"type": "image"}, {"type": "text", "text": "2"}]
    assert answer_to(ok(parts)).text == "42"


def test_half_a_character_does_not_break_the_answer() -> None:
    assert answer_to(ok("a\ud83d b \ud83d\ude00")).text == "a\ufffd b \U0001f600"


@pytest.mark.parametrize(
    ("reply", "kind", "says"),
    [
        (error(400, "context too long"), "bad_request", "context too long"),
        (error(404), "bad_request", "HTTP 404"),
        (error(401), "unauthorized", "HTTP 401"),
        (error(403), "unauthorized", "HTTP 403"),
        (error(408), "timeout", "HTTP 408"),
        (rate_limited(), "rate_limited", "slow down"),
        (error(500), "server", "it broke"),
        (error(503), "server", "HTTP 503"),
        (html(502), "server", "portal"),
        (json_reply({"error": "plain words"}, status=500), "server", "plain words"),
        (json_reply({"error": {"message": "quota"}}), "bad_response", "quota"),
        (json_reply({"choices": []}), "bad_response", "no choices"),
        (json_reply({"choices": [7]}), "bad_response", "without a message"),
        (json_reply({"choices": [{"message": {"content": 7}}]}), "bad_response", "no text"),
        (json_reply([1]), "bad_response", "not a JSON object"),
        (Reply(body=b'{"choices": ['), "bad_response", "not valid JSON"),
        (Reply(body=b"[" * 200_000), "bad_response", "not valid JSON"),
        (Reply(), "bad_response", "an empty body"),
        (html(), "bad_response", 'content type "text/html"'),
        (Reply(status=302, headers=(("Location", "http://x/"),)), "bad_response", "HTTP 302"),
        (
            Reply(body=b"no gzip at all", headers=(("Content-Encoding", "gzip"),)),
            "bad_response",
            "decoded",
        ),
        (reset_mid_body(), "connection", "Error"),
    ],
)
def test_a_failed_call_is_counted_by_its_kind(reply: Reply, kind: str, says: str) -> None:
    answer = answer_to(reply)
    assert answer.status == "error"
    assert answer.error is not None
    assert answer.error.kind == kind
    assert says in answer.error.message
    assert answer.text == ""


def test_a_slow_server_is_a_timeout() -> None:
    answer = answer_to(slow(5), timeout_s=0.2)
    assert answer.error is not None
    assert (answer.error.kind, answer.error.message) == (
        "timeout",
        "no complete answer within 0.2 s",
    )
    assert answer.latency_s < 2


def test_a_trickle_cannot_hold_a_call_open() -> None:
    answer = answer_to(Reply(body=b" " * 1000, trickle_s=0.05), timeout_s=0.3)
    assert answer.error is not None
    assert answer.error.kind == "timeout"
    assert answer.latency_s < 2


def test_a_server_that_is_not_there_is_a_connection_error() -> None:
    with ScriptedServer() as server:
        settings = model(server)
    answer = ask(settings)
    assert answer.error is not None
    assert answer.error.kind == "connection"


def test_an_endless_body_is_cut_off() -> None:
    answer = answer_to(Reply(body=b" " * (MAX_BODY + 1)))
    assert answer.error is not None
    assert answer.error.kind == "bad_response"


@pytest.mark.parametrize("status", [200, 401, 429, 500])
def test_the_key_never_shows(status: int) -> None:
    long = "x" * 280  # a message that is cut in the middle of the key
    with ScriptedServer([error(status, f"{long} {KEY} is wrong")]) as server:
        answer = ask(model(server, api_key_env="MY_KEY"), env={"MY_KEY": KEY})
    assert answer.error is not None
    assert KEY[:8] not in answer.model_dump_json()
    with ScriptedServer([ok(f"your key is {KEY}")]) as server:
        answer = ask(model(server, api_key_env="MY_KEY"), env={"MY_KEY": KEY})
    assert answer.text == "your key is [redacted]"


def test_a_message_is_one_line_without_control_codes() -> None:
    answer = answer_to(error(500, "one\n::error::two\x1b[31m three"))
    assert answer.error is not None
    assert answer.error.message == "HTTP 500: one ::error::two [31m three"


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"base_url": None}, "needs base_url"),
        ({"base_url": "localhost:8000"}, "http://"),
        ({"base_url": "http://me:pw@host/v1"}, "api_key_env"),
        ({"base_url": "http://[::1/v1"}, "no URL"),
        ({"api_key_env": "NOT_SET"}, "NOT_SET"),
        ({"options": {"stream": True}}, '"stream"'),
        ({"options": {"messages": []}}, '"messages"'),
    ],
)
def test_settings_that_cannot_work_are_refused(settings: dict[str, Any], says: str) -> None:
    base = {"client": "openai-compatible", "model": "m", "base_url": "http://127.0.0.1:1/v1"}
    with pytest.raises(InputError) as caught:
        OpenAICompatibleClient(ModelSettings(**{**base, **settings}), env={})
    assert says in str(caught.value)


def test_a_query_in_base_url_stays_behind_the_path() -> None:
    with ScriptedServer() as server:
        settings = model(server).model_copy(update={"base_url": server.url + "/?api-version=1"})
        ask(settings)
    assert server.seen[0].path == "/v1/chat/completions?api-version=1"


def test_an_absent_candidate_is_not_sent() -> None:
    with ScriptedServer() as server:
        settings = model(server)
        client = OpenAICompatibleClient(settings, env={})
        request = build_request(Candidate(absent="lost"), settings)
        answer = asyncio.run(client.answer(request, 0))
    assert answer.error is not None
    assert answer.error.kind == "absent_candidate"
    assert server.seen == []


def test_calls_overlap_and_share_connections() -> None:
    with ScriptedServer(lambda _: slow(0.2)) as server:
        settings = model(server)

        async def run() -> list[Answer]:
            client = OpenAICompatibleClient(settings, env={})
            try:
                return await asyncio.gather(
                    *(client.answer(request_for(settings), sample) for sample in range(30))
                )
            finally:
                await client.close()

        started = time.perf_counter()
        answers = asyncio.run(run())
        assert time.perf_counter() - started < 3
    assert {answer.status for answer in answers} == {"ok"}
    assert server.most_in_flight > 15


def test_one_client_serves_two_event_loops() -> None:
    with ScriptedServer() as server:
        settings = model(server)
        client = OpenAICompatibleClient(settings, env={})
        for _ in range(2):
            assert asyncio.run(client.answer(request_for(settings), 0)).status == "ok"


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    "choices",
                    "message",
                    "content",
                    "usage",
                    "prompt_tokens",
                    "error",
                    "model",
                    "refusal",
                ]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@given(value=json_values)
def test_no_body_makes_the_client_raise(value: Any) -> None:
    parse(json.dumps(value).encode())
    parse(json.dumps({"choices": [{"message": value}], "usage": value, "model": value}).encode())


@given(body=st.binary(max_size=60))
def test_no_bytes_make_the_client_raise(body: bytes) -> None:
    parse(body)


def test_retry_after_is_seconds_or_a_date() -> None:
    from datetime import UTC, datetime

    now = datetime(2026, 3, 1, 12, 0, 0, tzinfo=UTC)
    assert retry_after("7", now) == 7
    assert retry_after(" 1.5 ", now) == 1.5
    assert retry_after("Sun, 01 Mar 2026 12:01:30 GMT", now) == 90
    assert retry_after("Sun, 01 Mar 2026 11:00:00 GMT", now) == 0
    assert [retry_after(text, now) for text in (None, "", "soon", "-3", "nan", "٣")] == [None] * 6


@given(header=st.text(max_size=40))
def test_no_header_makes_the_client_raise(header: str) -> None:
    from datetime import UTC, datetime

    wait = retry_after(header, datetime.now(UTC))
    assert wait is None or wait >= 0
