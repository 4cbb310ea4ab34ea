"""Model text is hostile: how it is made safe to print on one line of a terminal or a CI log."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

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


def shown(text: str) -> str:
    """Text of several lines with every control character made visible and harmless.

    Line breaks and tabs stay. Other control characters become their pictures, bidirectional and
    other invisible format characters their code points in brackets: what a reviewer reads is then
    in the order in which it was written, and nothing is hidden from view.
    """
    normal = text.replace("\r\n", "\n")
    return normal if normal.isascii() and normal.isprintable() else "".join(map(_shown, normal))


def _shown(c: str) -> str:
    if c in "\n\t":
        return c
    code, category = ord(c), unicodedata.category(c)
    if code < 0x20:
        return chr(0x2400 + code)
    # Joiners shape letters in many scripts and reorder nothing.
    hidden = category in {"Cc", "Cf", "Zl", "Zp", "Cs"} and c not in "\u200c\u200d"
    return f"[U+{code:04X}]" if hidden else c


def clipped(text: str, most: int, span: tuple[int, int] | None = None) -> tuple[str, str, str]:
    """A text around the value read from it: before, value, after; what is left out is counted.

    Args:
        most: characters to keep, about; the value's surroundings come first.
        span: of the value within the text; without one the value is empty.
    """
    start, end = span or (len(text), len(text))
    if not 0 <= start <= end <= len(text):
        start = end = len(text)
    head, value, tail = text[:start], text[start:end], text[end:]
    if span is None:
        return _cut(head, most, keep_end=False), "", ""
    if len(text) > most:
        value = _cut(value, most // 3, keep_end=False)
        head, tail = _cut(head, most // 3, keep_end=True), _cut(tail, most // 3, keep_end=False)
    return head, value, tail


def _cut(text: str, most: int, *, keep_end: bool) -> str:
    left_out = len(text) - most
    if left_out <= 0:
        return text
    mark = f"[{left_out:,} characters left out]"
    return f"{mark} {text[-most:]}" if keep_end else f"{text[:most]} {mark}"


def columns(rows: Sequence[Sequence[str]], left: int = 1) -> list[str]:
    """Rows of equal length as aligned lines: so many columns to the left, the others to the right.

    Raises:
        ValueError: the rows differ in length.
    """
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(
            cell.ljust(width) if place < left else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]
