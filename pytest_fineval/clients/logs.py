"""Secrets kept out of the log lines of the transport and of the vendors' SDKs."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from pytest_fineval.clients.wording import redact

LOGGERS = ("httpx2", "httpcore2", "openai", "anthropic", "google_genai")
"""Beginnings of the names of the loggers that may see a request or a response."""


class NoSecrets(logging.Filter):
    """Takes secrets out of log lines: at level DEBUG a transport logs the headers it received,
    and a server may send the key back in one."""

    def __init__(self, secrets: Sequence[str]):
        super().__init__()
        self._secrets = secrets

    def filter(self, record: logging.LogRecord) -> bool:
        said = record.getMessage()
        if (redacted := redact(said, self._secrets)) != said:
            record.msg, record.args = redacted, ()
        return True

    def put_on(self) -> None:
        """Filter every logger there is by now: a filter does not see what child loggers log."""
        for logger in _loggers():
            logger.addFilter(self)

    def take_off(self) -> None:
        for logger in _loggers():
            logger.removeFilter(self)


def _loggers() -> list[logging.Logger]:
    names = [name for name in logging.root.manager.loggerDict if name.startswith(LOGGERS)]
    return [logging.getLogger(name) for name in names]
