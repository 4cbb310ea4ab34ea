"""How long a provider asks to be left alone: the Retry-After header on its way to the retries."""

from __future__ import annotations

from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from pydantic import Field

from pytest_fineval.clients.base import ClientError


class RetryLaterError(ClientError):
    """A ClientError that carries the provider's wish; the wish is not stored with a record."""

    retry_after_s: float | None = Field(None, ge=0, exclude=True)


def retry_after(header: str | None, now: datetime) -> float | None:
    """Seconds to wait by a Retry-After header.

    Args:
        header: delta seconds or an HTTP date; None where there is no header.
        now: timezone-aware time the header was received at.

    Returns:
        Seconds >= 0 (0 for a date that has passed), or None for no header or one that is neither.

    Source: RFC 9110, section 10.2.3.
    """
    text = (header or "").strip()
    if not text or len(text) > 64:
        return None
    if text.isascii() and text.replace(".", "", 1).isdigit():
        return float(text)
    try:
        moment = parsedate_to_datetime(text)
    except ValueError:
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return max(0.0, (moment - now).total_seconds())
