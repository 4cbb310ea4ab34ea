"""Model text is hostile: how it is made safe to print on one line of a terminal or a CI log."""

from __future__ import annotations

import unicodedata

MOST_READ = 20_000
"""Characters of an answer that are looked at: what is cut later need not be cleaned."""


def visible(text: str, width: int = 100) -> str:
    """One printable line of at most `width` characters, quoted so that it never starts a line.

    Control, format and line-separating characters become spaces (escape sequences cannot colour
    or clear a terminal, bidirectional overrides cannot reorder it, and a CI system that obeys
    `::commands` at the start of a line never sees one).
    """
    cut = text[:MOST_READ]
    clean = "".join(" " if unicodedata.category(c)[0] in "CZ" else c for c in cut)
    line = " ".join(clean.split())
    if len(line) > width or len(text) > MOST_READ:
        line = line[: width - 1].rstrip() + "…"
    return f"“{line}”"
