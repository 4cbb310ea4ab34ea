"""Client protocol, and the Request and Answer that pass through it.

A Request is built from a Candidate alone: it has no field that gold, a case id or a category
could travel in.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Literal, Protocol, runtime_checkable

from pydantic import ConfigDict, Field, JsonValue, field_validator

from pytest_fineval.cases.model import Candidate, digest
from pytest_fineval.settings import Frozen, ModelSettings

TEMPLATE = "plain@1"
"""Name and version of the prompt template below; part of every request's digest."""

STRUCTURED = "structured_output"
"""Option of a request whose answer is to be a JSON object; its value is the key of the answer."""


class Message(Frozen):
    role: Literal["system", "user", "assistant"]
    content: str


class Request(Frozen):
    """Everything that decides an answer, but for the sample index.

    Attributes:
        model: the model's own name at its provider.
        decoding: temperature, top_p, max_tokens, seed: only what is set.
        options: client-specific settings that are part of the model's identity.
        absent: set when the case has no question to send; only a recording can answer.
    """

    model_config = ConfigDict(
        frozen=True, extra="forbid", allow_inf_nan=False, ignored_types=(cached_property,)
    )

    model: str
    messages: tuple[Message, ...]
    decoding: dict[str, float | int] = {}
    options: dict[str, JsonValue] = {}
    template: str = TEMPLATE
    absent: str | None = None

    @cached_property
    def digest(self) -> str:
        """sha256 of the canonical request: the key of recordings and of the response cache."""
        return digest(self.model_dump(mode="json", exclude_defaults=False))


class Usage(Frozen):
    """Tokens as the provider counted them; None where it said nothing."""

    input_tokens: int | None = Field(None, ge=0)
    output_tokens: int | None = Field(None, ge=0)
    cached_tokens: int | None = Field(None, ge=0)


class ClientError(Frozen):
    """Why there is no answer. `kind` is counted, `message` is shown (secrets already redacted)."""

    kind: Literal[
        "recording_missing",
        "absent_candidate",
        "timeout",
        "connection",
        "rate_limited",
        "server",
        "bad_request",
        "unauthorized",
        "bad_response",
        "client_raised",
        "breaker_open",
        "cap_reached",
    ]
    message: str


class Answer(Frozen):
    """What came back for one request and sample.

    Attributes:
        text: verbatim; empty on an error.
        status: `ok`, or how it ended otherwise: `truncated` by the output budget, `filtered` by
            the provider, `empty`, `error` (then `error` says which).
        latency_s: wall time of the call that answered, seconds; 0 for a recording.
        attempts: calls started, retries included.
        model_returned, fingerprint: what the server says it is.
        source: `live`, `recording`, `cache` or `test` (given by the test itself).
    """

    text: str = ""
    status: Literal["ok", "empty", "truncated", "filtered", "error"] = "ok"
    error: ClientError | None = None
    finish_reason: str | None = None
    usage: Usage = Usage()
    cost_usd: float | None = Field(None, ge=0)
    latency_s: float = Field(0.0, ge=0)
    attempts: int = Field(1, ge=0)
    model_returned: str | None = None
    fingerprint: str | None = None
    source: Literal["live", "recording", "cache", "test"] = "live"

    @field_validator("text", mode="after")
    @classmethod
    def _encodable(cls, text: str) -> str:
        # A server may send half of a surrogate pair; no UTF-8 file could ever hold it.
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


@runtime_checkable
class Client(Protocol):
    """Anything that answers requests. It never raises for a failed call: it returns an Answer
    with an error. `sample` tells independent calls of one request apart (cache key, seed)."""

    async def answer(self, request: Request, sample: int) -> Answer: ...

    async def close(self) -> None: ...


def failed(kind: str, message: str, *, attempts: int = 1, latency_s: float = 0.0) -> Answer:
    """An answer that says why there is none."""
    return Answer(
        status="error",
        error=ClientError.model_validate({"kind": kind, "message": message}),
        attempts=attempts,
        latency_s=latency_s,
    )


def build_request(
    candidate: Candidate, model: ModelSettings, json_key: str | None = None
) -> Request:
    """The request that asks `model` about `candidate` (template `plain@1`).

    Order: passage, table, question, instructions; blocks separated by an empty line. An absent
    candidate gives a request without messages that only a recording can answer.

    Args:
        json_key: key of the answer where the case wants a JSON object; None where it does not.
            Asked for by the API's own means where the model's `structured_output` is on.
    """
    decoding: dict[str, float | int] = {"max_tokens": model.max_tokens}
    for name in ("temperature", "top_p", "seed"):
        value = getattr(model, name)
        if value is not None:
            decoding[name] = value
    messages: list[Message] = []
    if not candidate.absent:
        if model.system:
            messages.append(Message(role="system", content=model.system))
        messages.append(Message(role="user", content=render(candidate)))
    options = dict(model.options)
    if json_key is not None and model.structured_output:
        options[STRUCTURED] = json_key
    return Request(
        model=model.model,
        messages=tuple(messages),
        decoding=decoding,
        options=options,
        absent=candidate.absent,
    )


def render(candidate: Candidate) -> str:
    """The candidate as prompt text."""
    blocks = [
        candidate.text,
        _table(candidate.table) if candidate.table else None,
        candidate.question,
        candidate.instructions,
    ]
    return "\n\n".join(block.strip() for block in blocks if block and block.strip())


def _table(rows: Sequence[Sequence[str]]) -> str:
    lines = ["| " + " | ".join(cell.replace("|", "/") for cell in row) + " |" for row in rows]
    if len(lines) > 1:
        lines.insert(1, "|" + " --- |" * len(rows[0]))
    return "\n".join(lines)
