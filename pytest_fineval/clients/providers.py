"""Live providers: one client for every endpoint that speaks OpenAI's chat completions."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import re
import time
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from pytest_fineval.clients.base import Answer, Request, Usage
from pytest_fineval.clients.recording import absent
from pytest_fineval.clients.retry_after import RetryLaterError, retry_after
from pytest_fineval.clients.wording import (
    MESSAGE_LIMIT,
    REDACTED,
    one_line,
    redact,
    well_formed,
)
from pytest_fineval.errors import InputError
from pytest_fineval.settings import ModelSettings

if TYPE_CHECKING:
    import httpx2

MAX_BODY = 32 * 1024 * 1024
"""Bytes read of one response: more than any answer, less than what hurts."""

OWN_KEYS = ("model", "messages", "stream", "n", "seed", "temperature", "top_p", "max_tokens")
"""What `options` may not set: it has its own setting, or would change what one call is."""

MOST_TOKENS = 10**9
"""A count beyond this is no count."""

FILTER_CODES = ("content_filter", "content_policy_violation")
"""With these, a 400 is the provider's filter speaking (Azure, OpenAI), not a faulty request."""

TRANSPORT = ("httpx2", "httpcore2")
"""Beginnings of the names of the transport's loggers."""

MIN_SECRET = 6
"""A key shorter than this is a placeholder ("none", "EMPTY"): redacting it would garble text."""

_ERROR_WORDS = re.compile(
    r"error|exception|overloaded|unavailable|rate.?limit|quota|timed? ?out|upstream|too many",
    re.IGNORECASE,
)


class OpenAICompatibleClient:
    """Asks `POST {base_url}/chat/completions` (OpenAI, Azure, vLLM, Ollama, llama.cpp, gateways).

    One pooled connection set a client. It never retries: limits, retries and the spend cap are
    around it. With a seed, sample i sends seed + i: samples are independent and repeatable.
    """

    def __init__(
        self,
        settings: ModelSettings,
        *,
        env: Mapping[str, str] | None = None,
        proxies: bool = True,
    ):
        """
        Args:
            settings: `base_url` is needed; `options` are added to the request body as they are.
            env: where the API key is read from, by the name in `api_key_env`.
            proxies: use the proxy that the environment names (HTTPS_PROXY and the like).

        Raises:
            InputError: no usable base_url, a key variable that is not set, or an option that has
                its own setting.
        """
        self._url = _endpoint(settings.base_url)
        key = _key(settings.api_key_env, os.environ if env is None else env)
        # Some servers write "/" as "\\/" in JSON.
        self._secrets = (key, key.replace("/", r"\/")) if len(key) >= MIN_SECRET else ()
        self._headers = {"Content-Type": "application/json", "Accept": "application/json"}
        if key:
            self._headers["Authorization"] = f"Bearer {key}"
        taken = [name for name in settings.options if name in OWN_KEYS]
        if taken:
            raise InputError(f'options may not set "{taken[0]}": use the model\'s own settings')
        self._no_secrets = _NoSecrets(self._secrets)
        self._timeout_s = settings.timeout_s
        self._proxies = proxies
        self._http: httpx2.AsyncClient | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    async def answer(self, request: Request, sample: int) -> Answer:
        if request.absent:
            return absent(request)
        started = time.perf_counter()
        reply = await self._post(_body(request, sample))
        latency = time.perf_counter() - started
        parsed = _parse(reply, self._secrets) if isinstance(reply, bytes) else reply
        if isinstance(parsed, _Fault):
            return self._failed(parsed, latency)
        return parsed.model_copy(update={"latency_s": latency})

    async def close(self) -> None:
        if self._http is not None and self._loop is asyncio.get_running_loop():
            await self._http.aclose()
        self._http = None
        for logger in _transport_loggers():
            logger.removeFilter(self._no_secrets)

    async def _post(self, body: bytes) -> bytes | Answer | _Fault:
        """The body of a 200 JSON response; a provider's refusal to answer; or why there is none."""
        import httpx2

        try:
            # httpx2 limits each read; this limits the call, so that a trickle cannot hold it open.
            async with (
                asyncio.timeout(self._timeout_s),
                self._pool().stream(
                    "POST", self._url, content=body, headers=self._headers
                ) as response,
            ):
                content = bytearray()
                async for block in response.aiter_bytes():
                    content += block
                    if len(content) > MAX_BODY:
                        return _Fault("bad_response", f"a response of more than {MAX_BODY} bytes")
        except (TimeoutError, httpx2.TimeoutException):
            return _Fault("timeout", f"no complete answer within {self._timeout_s:g} s")
        except httpx2.DecodingError as error:
            return _Fault("bad_response", f"the body cannot be decoded: {error}")
        except Exception as error:  # the transport's own errors, and an unusable proxy setting
            return _Fault("connection", f"{type(error).__name__}: {error}")
        # Before anything is cut to length: half a key is a secret, too.
        for secret in self._secrets:
            content = content.replace(secret.encode(), REDACTED.encode())
        if response.status_code != 200:
            return _refusal(response, bytes(content))
        kind = response.headers.get("content-type", "")
        if "json" not in kind.lower():
            return _Fault(
                "bad_response",
                f'expected JSON, got content type "{kind}": is base_url right? '
                + _excerpt(bytes(content)),
            )
        return bytes(content)

    def _pool(self) -> httpx2.AsyncClient:
        import httpx2

        loop = asyncio.get_running_loop()
        if self._http is None or self._loop is not loop:
            self._http = httpx2.AsyncClient(
                # The number of calls in flight is bounded by whoever calls, not by the pool.
                limits=httpx2.Limits(max_connections=None, max_keepalive_connections=None),
                timeout=httpx2.Timeout(self._timeout_s, pool=None),
                follow_redirects=False,  # a redirect would take the key to another host
                trust_env=self._proxies,
            )
            self._loop = loop
            for logger in _transport_loggers():
                logger.addFilter(self._no_secrets)
        return self._http

    def _failed(self, fault: _Fault, latency_s: float) -> Answer:
        error = RetryLaterError(
            kind=fault.kind,
            message=one_line(fault.message, self._secrets),
            retry_after_s=fault.retry_after_s,
        )
        return Answer(status="error", error=error, latency_s=latency_s)


class _NoSecrets(logging.Filter):
    """Takes secrets out of log lines: at level DEBUG the transport logs the headers it received,
    and a server may send the key back in one."""

    def __init__(self, secrets: Sequence[str]):
        super().__init__()
        self._secrets = secrets

    def filter(self, record: logging.LogRecord) -> bool:
        said = record.getMessage()
        if (redacted := redact(said, self._secrets)) != said:
            record.msg, record.args = redacted, ()
        return True


def _transport_loggers() -> list[logging.Logger]:
    # A filter of a logger does not see what its children log: each needs its own.
    names = [name for name in logging.root.manager.loggerDict if name.startswith(TRANSPORT)]
    return [logging.getLogger(name) for name in names]


class _Fault(NamedTuple):
    """Why a call gave no answer, before it is put into words for a reader."""

    kind: Literal[
        "timeout",
        "connection",
        "rate_limited",
        "server",
        "bad_request",
        "unauthorized",
        "bad_response",
    ]
    message: str
    retry_after_s: float | None = None


def _endpoint(base_url: str | None) -> str:
    if not base_url:
        raise InputError('client "openai-compatible" needs base_url, as "http://localhost:8000/v1"')
    if not base_url.startswith(("http://", "https://")):
        raise InputError(f'base_url "{base_url}" must begin with http:// or https://')
    if "@" in base_url.split("/", 3)[2]:
        raise InputError("base_url must not hold a user or password: name the key in api_key_env")
    import httpx2

    try:
        httpx2.URL(base_url)
    except httpx2.InvalidURL as error:
        raise InputError(f'base_url "{base_url}" is no URL: {error}') from error
    path, question, query = base_url.partition("?")
    return path.rstrip("/") + "/chat/completions" + question + query


def _key(variable: str | None, env: Mapping[str, str]) -> str:
    if variable is None:
        return ""
    key = env.get(variable, "").strip()
    if not key:
        raise InputError(
            f"the environment variable {variable} (api_key_env) is not set: "
            f"export {variable}=... with the provider's API key"
        )
    if not key.isascii() or not key.isprintable():
        raise InputError(f"the environment variable {variable} holds characters no API key has")
    return key


def _body(request: Request, sample: int) -> bytes:
    body: dict[str, Any] = {
        "model": request.model,
        "messages": [message.model_dump() for message in request.messages],
        **request.decoding,
        **request.options,
    }
    if "max_completion_tokens" in request.options:
        # The newer name of the same limit: endpoints that know it refuse both together.
        body.pop("max_tokens", None)
    if "seed" in request.decoding:
        body["seed"] = request.decoding["seed"] + sample
    return json.dumps(body, ensure_ascii=False, allow_nan=False).encode()


def _refusal(response: httpx2.Response, content: bytes) -> Answer | _Fault:
    status = response.status_code
    if status == 400 and _error_code(content) in FILTER_CODES:
        return Answer(status="filtered", finish_reason="content_filter")
    message = f"HTTP {status}: {_error_message(content)}"
    if status in (401, 403):
        return _Fault("unauthorized", message)
    wait = retry_after(response.headers.get("retry-after"), datetime.now(UTC))
    if status == 429:
        return _Fault("rate_limited", message, wait)
    if status >= 500:
        return _Fault("server", message, wait)
    if status == 408:
        return _Fault("timeout", message, wait)
    if status >= 400:
        return _Fault("bad_request", message)
    return _Fault("bad_response", f"{message} (not an answer: is base_url right?)")


def _parse(content: bytes, secrets: Sequence[str] = ()) -> Answer | _Fault:
    """An Answer from the body of a chat completion, without the secrets."""
    try:
        reply = json.loads(content)
    except (ValueError, RecursionError):
        return _Fault("bad_response", f"not valid JSON: {_excerpt(content)}")
    if not isinstance(reply, dict):
        return _Fault("bad_response", f"not a JSON object: {_excerpt(content)}")
    choices = reply.get("choices")
    if reply.get("error") and not choices:
        return _Fault("bad_response", f"an error with status 200: {_error_message(content)}")
    if not isinstance(choices, list) or not choices:
        return _Fault("bad_response", f"no choices: {_excerpt(content)}")
    choice = choices[0]
    message = choice.get("message") if isinstance(choice, dict) else None
    if isinstance(choice, dict) and (choice.get("error") or choice.get("finish_reason") == "error"):
        return _Fault("bad_response", f"an error in place of an answer: {_excerpt(content)}")
    if not isinstance(message, dict):
        return _Fault("bad_response", f"a choice without a message: {_excerpt(content)}")
    text = _text(message)
    if text is None:
        return _Fault("bad_response", f"content that is no text: {_excerpt(content)}")
    text = redact(text, secrets)
    finish = _word(choice.get("finish_reason"), secrets)
    usage = _usage(reply.get("usage"))
    if _is_error_text(text, usage):
        return _Fault("bad_response", f"a text that no model wrote (0 tokens): {text}")
    return Answer(
        text=text,
        status=_status(text, finish),
        finish_reason=finish,
        usage=usage,
        model_returned=_word(reply.get("model"), secrets),
        fingerprint=_word(reply.get("system_fingerprint"), secrets),
    )


def _is_error_text(text: str, usage: Usage) -> bool:
    """Gateways hand on a failure of the provider behind them as an answer of zero tokens. Servers
    that count no tokens at all say zero, too: theirs is an error only if it reads like one."""
    if usage.output_tokens != 0 or not text.strip():
        return False
    return bool(usage.input_tokens) or _ERROR_WORDS.search(text[:MESSAGE_LIMIT]) is not None


def _text(message: dict[str, Any]) -> str | None:
    content = message.get("content")
    if content is None:
        # A refusal of structured output stands in a field of its own; it is what the model said.
        content = message.get("refusal") or ""
    if isinstance(content, list):
        parts = [part.get("text") for part in content if isinstance(part, dict)]
        content = "".join(part for part in parts if isinstance(part, str))
    return well_formed(content) if isinstance(content, str) else None


def _status(text: str, finish: str | None) -> Literal["ok", "empty", "truncated", "filtered"]:
    if finish == "length":
        return "truncated"
    if finish == "content_filter":
        return "filtered"
    return "ok" if text.strip() else "empty"


def _usage(value: object) -> Usage:
    if not isinstance(value, dict):
        return Usage()
    details = value.get("prompt_tokens_details")
    return Usage(
        input_tokens=_count(value.get("prompt_tokens")),
        output_tokens=_count(value.get("completion_tokens")),
        cached_tokens=_count(details.get("cached_tokens")) if isinstance(details, dict) else None,
    )


def _count(value: object) -> int | None:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= MOST_TOKENS:
        return None
    return value


def _word(value: object, secrets: Sequence[str]) -> str | None:
    return one_line(value, secrets) if isinstance(value, str) else None


def _error(content: bytes) -> object:
    """The error in a provider's body: an object or a text; None where the body is another."""
    try:
        body = json.loads(content)
    except (ValueError, RecursionError):
        return None
    return body.get("error", body) if isinstance(body, dict) else None


def _error_code(content: bytes) -> object:
    error = _error(content)
    return error.get("code") if isinstance(error, dict) else None


def _error_message(content: bytes) -> str:
    """What a provider's error body says, whichever of the usual forms it has."""
    error = _error(content)
    if isinstance(error, str):
        return error
    if isinstance(error, dict):
        for name in ("message", "detail", "error", "code", "type"):
            if isinstance(error.get(name), str):
                return str(error[name])
    return _excerpt(content)


def _excerpt(content: bytes) -> str:
    return content[:2000].decode("utf-8", "replace") if content.strip() else "an empty body"
