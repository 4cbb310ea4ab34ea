"""Vendors' SDKs as clients: each carries the request; what comes back is read from its JSON here.

An SDK is imported with the first call. Its own retries are off: limits, retries and the spend cap
are around the client, and every call counts. Timeouts and redaction are those of `as_client`.
"""

from __future__ import annotations

import asyncio
import json
from abc import ABC, abstractmethod
from collections.abc import Mapping
from importlib.util import find_spec
from typing import Any, ClassVar

from pytest_fineval.clients.base import STRUCTURED, Answer, Request, Usage
from pytest_fineval.clients.faults import Fault, excerpt, failed, refusal
from pytest_fineval.clients.logs import NoSecrets
from pytest_fineval.clients.providers import OWN_KEYS, count, key_of, parse, word
from pytest_fineval.clients.recording import absent
from pytest_fineval.clients.wording import well_formed
from pytest_fineval.errors import InputError
from pytest_fineval.settings import ModelSettings


class VendorClient(ABC):
    """One vendor's API through its SDK.

    Raises:
        InputError: the extra is not installed, the key is not set, or a setting that this API
            does not have.
    """

    extra: ClassVar[str]
    package: ClassVar[str]

    def __init__(self, settings: ModelSettings, env: Mapping[str, str]):
        if not _installed(self.package):
            raise InputError(
                f'client "{self.extra}" needs its SDK: pip install "pytest-fineval[{self.extra}]"'
            )
        if settings.api_key_env is None:
            raise InputError(
                f'client "{self.extra}" needs api_key_env: the name of the variable with the key'
            )
        taken = [name for name in settings.options if name in OWN_KEYS]
        if taken:
            raise InputError(f'options may not set "{taken[0]}": use the model\'s own settings')
        self._key = key_of(settings.api_key_env, env)
        self._no_secrets = NoSecrets((self._key,))
        self._base_url = settings.base_url
        self._sdk: Any = None
        self._loop: asyncio.AbstractEventLoop | None = None

    async def answer(self, request: Request, sample: int) -> Answer:
        if request.absent:
            return absent(request)
        try:
            content = await self._send(self._connected(), request, sample)
            found = self._read(content)
        except Exception as error:  # each SDK has its own family of them
            found = self._fault(error)
        return failed(found, (self._key,)) if isinstance(found, Fault) else found

    async def close(self) -> None:
        if self._sdk is not None and self._loop is asyncio.get_running_loop():
            await self._disconnect(self._sdk)
        self._sdk = None
        self._no_secrets.take_off()

    def _connected(self) -> Any:
        loop = asyncio.get_running_loop()
        if self._sdk is None or self._loop is not loop:
            self._sdk, self._loop = self._connect(), loop
            self._no_secrets.put_on()
        return self._sdk

    @abstractmethod
    def _connect(self) -> Any:
        """The SDK's client, its own retries off."""

    @abstractmethod
    async def _disconnect(self, sdk: Any) -> None:
        """Close its connections."""

    @abstractmethod
    async def _send(self, sdk: Any, request: Request, sample: int) -> bytes:
        """The body of the reply."""

    @abstractmethod
    def _read(self, content: bytes) -> Answer | Fault:
        """What the body says."""

    @abstractmethod
    def _fault(self, error: Exception) -> Answer | Fault:
        """What an exception of the SDK says."""


class OpenAIClient(VendorClient):
    """OpenAI's chat completions by `openai`; sample i sends seed + i."""

    extra = package = "openai"

    def _connect(self) -> Any:
        import openai

        return openai.AsyncOpenAI(
            api_key=self._key,
            base_url=self._base_url,
            max_retries=0,
            http_client=_transport(),
        )

    async def _disconnect(self, sdk: Any) -> None:
        await sdk.close()

    async def _send(self, sdk: Any, request: Request, sample: int) -> bytes:
        options = dict(request.options)
        if options.pop(STRUCTURED, None):
            options["response_format"] = {"type": "json_object"}
        decoding = dict(request.decoding)
        if "seed" in decoding:
            decoding["seed"] += sample
        if "max_completion_tokens" in options:
            decoding.pop("max_tokens", None)
        reply = await sdk.chat.completions.with_raw_response.create(
            model=request.model,
            messages=[message.model_dump() for message in request.messages],
            **decoding,
            extra_body=options,
        )
        body: bytes = reply.http_response.content
        return body

    def _read(self, content: bytes) -> Answer | Fault:
        return parse(content, (self._key,))

    def _fault(self, error: Exception) -> Answer | Fault:
        import openai

        return _stainless(error, openai)


class AnthropicClient(VendorClient):
    """Anthropic's messages by `anthropic`. The API takes no seed: samples differ by themselves."""

    extra = package = "anthropic"

    def __init__(self, settings: ModelSettings, env: Mapping[str, str]):
        super().__init__(settings, env)
        if settings.seed is not None:
            raise InputError("this API takes no seed: remove it from the model's settings")

    def _connect(self) -> Any:
        import anthropic

        return anthropic.AsyncAnthropic(
            api_key=self._key,
            base_url=self._base_url,
            max_retries=0,
            http_client=_transport(),
        )

    async def _disconnect(self, sdk: Any) -> None:
        await sdk.close()

    async def _send(self, sdk: Any, request: Request, sample: int) -> bytes:  # noqa: ARG002
        body = {**request.decoding, **request.options}
        max_tokens = body.pop("max_tokens")
        if key := body.pop(STRUCTURED, None):
            body["output_config"] = {"format": {"type": "json_schema", "schema": _schema(str(key))}}
        system = [one.content for one in request.messages if one.role == "system"]
        if system:
            body["system"] = "\n\n".join(system)
        reply = await sdk.messages.with_raw_response.create(
            model=request.model,
            max_tokens=max_tokens,
            messages=[one.model_dump() for one in request.messages if one.role != "system"],
            extra_body=body,
        )
        content: bytes = reply.http_response.content
        return content

    def _read(self, content: bytes) -> Answer | Fault:
        reply = _object(content)
        blocks = reply.get("content") if reply else None
        if reply is None or not isinstance(blocks, list):
            return Fault("bad_response", f"not a message: {excerpt(content)}")
        text = _joined(blocks, lambda block: block.get("type") == "text")
        stop = word(reply.get("stop_reason"), (self._key,))
        said = _table(reply.get("usage"))
        cached = count(said.get("cache_read_input_tokens"))
        read = (
            count(said.get("input_tokens")),
            cached,
            count(said.get("cache_creation_input_tokens")),
        )
        # This API counts what came from its cache apart; elsewhere it is part of the input.
        whole = None if read[0] is None else sum(part or 0 for part in read)
        usage = Usage(
            input_tokens=whole,
            output_tokens=count(said.get("output_tokens")),
            cached_tokens=cached,
        )
        # Of the stop reason "refusal" the vendor's filter is the author, not the model.
        ended = {
            "max_tokens": "truncated",
            "model_context_window_exceeded": "truncated",
            "refusal": "filtered",
        }
        return _answer(
            text, ended.get(stop or ""), stop, usage, word(reply.get("model"), (self._key,))
        )

    def _fault(self, error: Exception) -> Answer | Fault:
        import anthropic

        return _stainless(error, anthropic)


class GoogleClient(VendorClient):
    """Google's generateContent by `google-genai`; sample i sends seed + i."""

    extra = "google"
    package = "google.genai"

    def _connect(self) -> Any:
        from google import genai

        # With a client handed in, the SDK does not pick a transport of its own.
        self._http = _transport()
        options = genai.types.HttpOptions(
            base_url=self._base_url,
            httpx_async_client=self._http,
            retry_options=genai.types.HttpRetryOptions(attempts=1),
        )
        return genai.Client(api_key=self._key, vertexai=False, http_options=options)

    async def _disconnect(self, sdk: Any) -> None:
        await sdk.aio.aclose()
        await self._http.aclose()

    async def _send(self, sdk: Any, request: Request, sample: int) -> bytes:
        config: dict[str, Any] = {**request.decoding, **request.options}
        config["max_output_tokens"] = config.pop("max_tokens")
        config["should_return_http_response"] = True
        if "seed" in config:
            config["seed"] += sample
        if config.pop(STRUCTURED, None):
            config["response_mime_type"] = "application/json"
        system = [one.content for one in request.messages if one.role == "system"]
        if system:
            config["system_instruction"] = "\n\n".join(system)
        reply = await sdk.aio.models.generate_content(
            model=request.model,
            contents=[
                {
                    "role": "model" if one.role == "assistant" else "user",
                    "parts": [{"text": one.content}],
                }
                for one in request.messages
                if one.role != "system"
            ],
            config=config,
        )
        return str(reply.sdk_http_response.body).encode()

    def _read(self, content: bytes) -> Answer | Fault:
        reply = _object(content)
        if reply is None:
            return Fault("bad_response", f"not a reply: {excerpt(content)}")
        said = _table(reply.get("usageMetadata"))
        counted = [count(said.get(name)) for name in ("candidatesTokenCount", "thoughtsTokenCount")]
        usage = Usage(
            input_tokens=count(said.get("promptTokenCount")),
            output_tokens=None if counted[0] is None else sum(part or 0 for part in counted),
            cached_tokens=count(said.get("cachedContentTokenCount")),
        )
        model = word(reply.get("modelVersion"), (self._key,))
        candidates = reply.get("candidates")
        if not candidates:
            why = _table(reply.get("promptFeedback")).get("blockReason")
            if not isinstance(why, str):
                return Fault("bad_response", f"no candidates: {excerpt(content)}")
            return _answer("", "filtered", word(why, (self._key,)), usage, model)
        first = candidates[0] if isinstance(candidates, list) else None
        if not isinstance(first, dict):
            return Fault("bad_response", f"no candidate: {excerpt(content)}")
        parts = _table(first.get("content")).get("parts")
        # What the model thought aloud is marked; it is not its answer.
        text = _joined(
            parts if isinstance(parts, list) else [], lambda part: not part.get("thought")
        )
        stop = word(first.get("finishReason"), (self._key,))
        ended = {"MAX_TOKENS": "truncated", **dict.fromkeys(_BLOCKED, "filtered")}
        return _answer(text, ended.get(stop or ""), stop, usage, model)

    def _fault(self, error: Exception) -> Answer | Fault:
        from google.genai import errors

        if isinstance(error, errors.APIError):
            headers = getattr(error.response, "headers", None) or {}
            body = json.dumps(error.details, default=str).encode()
            return refusal(int(error.code or 0), body, headers.get("retry-after"))
        return _broken(error)


def _installed(package: str) -> bool:
    try:
        return find_spec(package) is not None
    except ModuleNotFoundError:  # of "google.genai" already "google" is missing
        return False


VENDORS: dict[str, type[VendorClient]] = {
    one.extra: one for one in (OpenAIClient, AnthropicClient, GoogleClient)
}

_BLOCKED = ("SAFETY", "RECITATION", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "MODEL_ARMOR")


def _transport() -> Any:
    """Connections for a vendor's SDK: no redirect takes the key to another host, and the number of
    calls and their time are bounded by whoever calls."""
    import httpx2

    return httpx2.AsyncClient(
        limits=httpx2.Limits(max_connections=None, max_keepalive_connections=None),
        timeout=None,
        follow_redirects=False,
    )


def _stainless(error: Exception, sdk: Any) -> Answer | Fault:
    """The exceptions that the SDKs of OpenAI and Anthropic have in common."""
    if isinstance(error, sdk.APITimeoutError):
        return Fault("timeout", str(error))
    if isinstance(error, sdk.APIStatusError):
        response: Any = error.response
        return refusal(response.status_code, response.content, response.headers.get("retry-after"))
    if isinstance(error, sdk.APIConnectionError):
        return Fault("connection", f"{error} {error.__cause__ or ''}")
    return _broken(error)


def _broken(error: BaseException) -> Fault:
    """What an exception means that is none of the SDK's own.

    A connection that breaks while the body is read reaches some SDKs too late for their own family
    of exceptions: it comes as the transport's, or as something of the SDK's that it caused.
    """
    import httpcore2
    import httpx2

    said = f"{type(error).__name__}: {error}"
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, (TimeoutError, httpx2.TimeoutException, httpcore2.TimeoutException)):
            return Fault("timeout", said)
        if isinstance(
            cause,
            (OSError, httpx2.TransportError, httpcore2.NetworkError, httpcore2.ProtocolError),
        ):
            return Fault("connection", said)
        cause = cause.__cause__ or cause.__context__
    return Fault("bad_response", said)


def _schema(key: str) -> dict[str, Any]:
    """A JSON schema of an object with the answer alone: a value or a list of values."""
    kinds: list[dict[str, Any]] = [
        {"type": name} for name in ("string", "number", "boolean", "null")
    ]
    listed = {"type": "array", "items": {"type": "string"}}
    return {
        "type": "object",
        "properties": {key: {"anyOf": [*kinds, listed]}},
        "required": [key],
        "additionalProperties": False,
    }


def _object(content: bytes) -> dict[str, Any] | None:
    try:
        reply = json.loads(content)
    except (ValueError, RecursionError):
        return None
    return reply if isinstance(reply, dict) else None


def _table(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _joined(blocks: list[Any], wanted: Any) -> str:
    texts = [block.get("text") for block in blocks if isinstance(block, dict) and wanted(block)]
    return well_formed("".join(text for text in texts if isinstance(text, str)))


def _answer(
    text: str, ended: str | None, stop: str | None, usage: Usage, model: str | None
) -> Answer:
    return Answer.model_validate(
        {
            "text": text,
            "status": ended or ("ok" if text.strip() else "empty"),
            "finish_reason": stop,
            "usage": usage,
            "model_returned": model,
        }
    )
