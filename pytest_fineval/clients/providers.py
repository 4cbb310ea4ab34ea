"""Live providers: one client for every endpoint that speaks OpenAI's chat completions."""

from __future__ import annotations

import asyncio
import json
import os
import re
import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from pytest_fineval.clients.base import STRUCTURED, Answer, Request, Usage
from pytest_fineval.clients.faults import Fault, error_message, excerpt, failed, refusal
from pytest_fineval.clients.logs import NoSecrets
from pytest_fineval.clients.recording import absent
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
        key = key_of(settings.api_key_env, os.environ if env is None else env)
        # Some servers write "/" as "\\/" in JSON.
        self._secrets = (key, key.replace("/", r"\/")) if len(key) >= MIN_SECRET else ()
        self._headers = {"Content-Type": "application/json", "Accept": "application/json"}
        if key:
            self._headers["Authorization"] = f"Bearer {key}"
        taken = [name for name in settings.options if name in OWN_KEYS]
        if taken:
            raise InputError(f'options may not set "{taken[0]}": use the model\'s own settings')
        self._no_secrets = NoSecrets(self._secrets)
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
        parsed = parse(reply, self._secrets) if isinstance(reply, bytes) else reply
        if isinstance(parsed, Fault):
            return failed(parsed, self._secrets, latency_s=latency)
        return parsed.model_copy(update={"latency_s": latency})

    async def close(self) -> None:
        if self._http is not None and self._loop is asyncio.get_running_loop():
            await self._http.aclose()
        self._http = None
        self._no_secrets.take_off()

    async def _post(self, body: bytes) -> bytes | Answer | Fault:
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
                        return Fault("bad_response", f"a response of more than {MAX_BODY} bytes")
        except (TimeoutError, httpx2.TimeoutException):
            return Fault("timeout", f"no complete answer within {self._timeout_s:g} s")
        except httpx2.DecodingError as error:
            return Fault("bad_response", f"the body cannot be decoded: {error}")
        except Exception as error:  # the transport's own errors, and an unusable proxy setting
            return Fault("connection", f"{type(error).__name__}: {error}")
        # Before anything is cut to length: half a key is a secret, too.
        for secret in self._secrets:
            content = content.replace(secret.encode(), REDACTED.encode())
        if response.status_code != 200:
            return refusal(
                response.status_code, bytes(content), response.headers.get("retry-after")
            )
        kind = response.headers.get("content-type", "")
        if "json" not in kind.lower():
            return Fault(
                "bad_response",
                f'expected JSON, got content type "{kind}": is base_url right? '
                + excerpt(bytes(content)),
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
            self._no_secrets.put_on()
        return self._http


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


def key_of(variable: str | None, env: Mapping[str, str]) -> str:
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
    if body.pop(STRUCTURED, None):
        body["response_format"] = {"type": "json_object"}
    if "max_completion_tokens" in request.options:
        # The newer name of the same limit: endpoints that know it refuse both together.
        body.pop("max_tokens", None)
    if "seed" in request.decoding:
        body["seed"] = request.decoding["seed"] + sample
    return json.dumps(body, ensure_ascii=False, allow_nan=False).encode()


def parse(content: bytes, secrets: Sequence[str] = ()) -> Answer | Fault:
    """An Answer from the body of a chat completion, without the secrets."""
    try:
        reply = json.loads(content)
    except (ValueError, RecursionError):
        return Fault("bad_response", f"not valid JSON: {excerpt(content)}")
    if not isinstance(reply, dict):
        return Fault("bad_response", f"not a JSON object: {excerpt(content)}")
    choices = reply.get("choices")
    if reply.get("error") and not choices:
        return Fault("bad_response", f"an error with status 200: {error_message(content)}")
    if not isinstance(choices, list) or not choices:
        return Fault("bad_response", f"no choices: {excerpt(content)}")
    choice = choices[0]
    message = choice.get("message") if isinstance(choice, dict) else None
    if isinstance(choice, dict) and (choice.get("error") or choice.get("finish_reason") == "error"):
        return Fault("bad_response", f"an error in place of an answer: {excerpt(content)}")
    if not isinstance(message, dict):
        return Fault("bad_response", f"a choice without a message: {excerpt(content)}")
    text = _text(message)
    if text is None:
        return Fault("bad_response", f"content that is no text: {excerpt(content)}")
    text = redact(text, secrets)
    finish = word(choice.get("finish_reason"), secrets)
    usage = _usage(reply.get("usage"))
    if _is_error_text(text, usage):
        return Fault("bad_response", f"a text that no model wrote (0 tokens): {text}")
    return Answer(
        text=text,
        status=_ended(text, finish),
        finish_reason=finish,
        usage=usage,
        model_returned=word(reply.get("model"), secrets),
        fingerprint=word(reply.get("system_fingerprint"), secrets),
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


def _ended(text: str, finish: str | None) -> Literal["ok", "empty", "truncated", "filtered"]:
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
        input_tokens=count(value.get("prompt_tokens")),
        output_tokens=count(value.get("completion_tokens")),
        cached_tokens=count(details.get("cached_tokens")) if isinstance(details, dict) else None,
    )


def count(value: object) -> int | None:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= MOST_TOKENS:
        return None
    return value


def word(value: object, secrets: Sequence[str]) -> str | None:
    return one_line(value, secrets) if isinstance(value, str) else None
