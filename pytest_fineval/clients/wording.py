"""Text from outside made fit for records and messages: valid Unicode, no secret, one line."""

from __future__ import annotations

import re
from collections.abc import Iterable

REDACTED = "[redacted]"
MESSAGE_LIMIT = 300
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]+")


def well_formed(text: str) -> str:
    """The text with lone surrogates (half characters in escaped JSON) replaced by U+FFFD: they
    cannot be written as UTF-8."""
    if text.isascii():
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def redact(text: str, secrets: Iterable[str]) -> str:
    """The text without any of the secrets."""
    for secret in secrets:
        if secret:
            text = text.replace(secret, REDACTED)
    return text


def one_line(text: str, secrets: Iterable[str] = ()) -> str:
    """A message of a provider or an exception as one short line without secrets.

    The secrets go first: a cut in the middle of one would leave its beginning.
    """
    line = _CONTROL.sub(" ", redact(well_formed(text), secrets)).strip()
    return line if len(line) <= MESSAGE_LIMIT else line[: MESSAGE_LIMIT - 3] + "..."
