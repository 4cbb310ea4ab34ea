"""Why a call gave no answer: what a provider's refusal says, in our words."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Literal, NamedTuple

from pytest_fineval.clients.base import Answer
from pytest_fineval.clients.retry_after import RetryLaterError, retry_after
from pytest_fineval.clients.wording import one_line

FILTER_CODES = ("content_filter", "content_policy_violation")
"""With these, a 400 is the provider's filter speaking (Azure, OpenAI), not a faulty request."""


class Fault(NamedTuple):
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


def failed(fault: Fault, secrets: Sequence[str] = (), *, latency_s: float = 0.0) -> Answer:
    """The answer that stands for a fault; no secret is in its message."""
    error = RetryLaterError(
        kind=fault.kind,
        message=one_line(fault.message, secrets),
        retry_after_s=fault.retry_after_s,
    )
    return Answer(status="error", error=error, latency_s=latency_s)


def refusal(status: int, content: bytes, retry_header: str | None = None) -> Answer | Fault:
    """What a response other than 200 means.

    Args:
        status: of HTTP.
        content: the body; what it says of the error goes into the message.
        retry_header: the Retry-After header.

    Returns:
        A filtered Answer where the provider's content filter speaks, else a Fault.
    """
    if status == 400 and _code(content) in FILTER_CODES:
        return Answer(status="filtered", finish_reason="content_filter")
    message = f"HTTP {status}: {error_message(content)}"
    if status in (401, 403):
        return Fault("unauthorized", message)
    wait = retry_after(retry_header, datetime.now(UTC))
    if status == 429:
        return Fault("rate_limited", message, wait)
    if status >= 500:
        return Fault("server", message, wait)
    if status == 408:
        return Fault("timeout", message, wait)
    if status >= 400:
        return Fault("bad_request", message)
    return Fault("bad_response", f"{message} (not an answer: is base_url right?)")


def _error(content: bytes) -> object:
    """The error in a provider's body: an object or a text; None where the body is another."""
    try:
        body = json.loads(content)
    except (ValueError, RecursionError):
        return None
    return body.get("error", body) if isinstance(body, dict) else None


def _code(content: bytes) -> object:
    error = _error(content)
    return error.get("code") if isinstance(error, dict) else None


def error_message(content: bytes) -> str:
    """What a provider's error body says, whichever of the usual forms it has."""
    error = _error(content)
    if isinstance(error, str):
        return error
    if isinstance(error, dict):
        for name in ("message", "detail", "error", "code", "type"):
            if isinstance(error.get(name), str):
                return str(error[name])
    return excerpt(content)


def excerpt(content: bytes) -> str:
    return content[:2000].decode("utf-8", "replace") if content.strip() else "an empty body"
