"""A cleaned copy of raw model text that remembers where each character came from.

Cleaning removes what is formatting only: Markdown emphasis, LaTeX wrapping, HTML entities,
zero-width and full-width characters, foreign digits. Nothing that carries value is dropped.
"""

from __future__ import annotations

import html
import re
import unicodedata
from bisect import bisect_right
from dataclasses import dataclass, field

CAP = 200_000
"""Characters read of one answer; of a longer one, head and tail."""


@dataclass(slots=True)
class View:
    """Cleaned text with its way back to the raw text.

    Attributes:
        text: the cleaned copy.
        bold: spans of `text` that were set in bold, in order.
        boxes: spans of `text` that were inside a LaTeX box, in order; empty boxes are left out.
    """

    text: str
    bold: list[tuple[int, int]] = field(default_factory=list)
    boxes: list[tuple[int, int]] = field(default_factory=list)
    _at: list[int] = field(default_factory=list)
    _raw: list[tuple[int, int, bool]] = field(default_factory=list)

    def raw_span(self, start: int, end: int) -> tuple[int, int]:
        """Offsets in the raw text of a span of the cleaned text."""
        if not self._at:
            return start, end
        if end <= start:
            return self._raw_start(start), self._raw_start(start)
        return self._raw_start(start), self._raw_end(end - 1)

    def _raw_start(self, index: int) -> int:
        at = bisect_right(self._at, index) - 1
        start, _, literal = self._raw[at]
        return start + index - self._at[at] if literal else start

    def _raw_end(self, index: int) -> int:
        at = bisect_right(self._at, index) - 1
        start, end, literal = self._raw[at]
        return start + index - self._at[at] + 1 if literal else end


_COMMANDS = {
    "times": "×",
    "cdot": "×",
    "div": "÷",
    "approx": "≈",
    "simeq": "≈",
    "sim": "~",
    "pm": "±",
    "to": "→",
    "rightarrow": "→",
    "Rightarrow": "→",
    "implies": "→",
    "therefore": " ",
    "quad": " ",
    "qquad": " ",
    "left": "",
    "right": "",
    "big": "",
    "Big": "",
    "displaystyle": "",
    "leq": "≤",
    "geq": "≥",
    "le": "≤",
    "ge": "≥",
    "gt": ">",
    "lt": "<",
    "percent": "%",
    "textdollar": "$",
    "euro": "€",
    "pounds": "£",
}
_WRAPPERS = [
    "text",
    "textbf",
    "textit",
    "textrm",
    "texttt",
    "textsf",
    "mathrm",
    "mathbf",
    "mathit",
    "mathsf",
    "operatorname",
    "mbox",
    "hbox",
    "emph",
    "underline",
    "color",
    "bf",
]
_BOXES = ("boxed", "fbox", "framebox")
_FRACTIONS = ("frac", "dfrac", "tfrac", "cfrac")

_PUNCTUATION = str.maketrans(
    {
        "’": "'",
        "‘": "'",
        "ʼ": "'",
        "“": '"',
        "”": '"',
        "„": '"',
        "«": '"',
        "»": '"',
        "\u2010": "-",
        "\u2011": "-",
        "\u2012": "–",
        "﹣": "-",
        "﹤": "<",
        "\u202f": "\u00a0",
        "\u2007": "\u00a0",
        "\u2009": "\u00a0",
        "\u200a": "\u00a0",
        "\u3000": " ",
        "\t": " ",
        "\r": "",
        "٫": ".",
        "٬": ",",
        "٪": "%",
        "∶": ":",
        "✕": "×",
        "✖": "×",
        "⨯": "×",
        "…": " ",
    }
)
_SUPERSCRIPTS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁺", "0123456789-+")

# Characters at which an edit may start: a scan for them alone is fast.
_EDITABLE = r"[$_*`\\{}&]|[^\n\x20-\x7e€£–—−×≈±é]"
_NEEDS_EDIT = re.compile(r"[_*`\\{}&]|\$\$|[^\n\x20-\x7e€£–—−×≈±é]|\$[^$\n]{1,400}\$")
_EDIT_START = re.compile(_EDITABLE)
_EDIT = re.compile(
    r"""
    (?P<entity>&(?:\#\d{1,6}|\#[xX][0-9a-fA-F]{1,5}|[a-zA-Z]{2,8});)
    |(?P<comma>\{,\})
    |(?P<fence>```)
    |(?P<bold>\*\*\*?|__)
    |(?P<command>\\[a-zA-Z]{2,14}\s?)
    |(?P<escape>\\[^a-zA-Z\s]|\\\ )
    |(?P<brace>[{}])
    |(?P<dollars>\$\$)
    |(?P<dollar>\$)
    |(?P<star>\*)
    |(?P<under>(?<![^\W_])_(?=[^\W_])|(?<=[^\W_])_(?![^\W_]))
    |(?P<tick>`)
    |(?P<super>[⁰¹²³⁴-⁹⁻⁺]{1,8})
    |(?P<gone>[\u200b-\u200f\u2060-\u2064\ufeff\u00ad\u202a-\u202e\u2066-\u2069\ufe0e\ufe0f])
    |(?P<wide>[\uff01-\uff5e])
    |(?P<digit>(?![0-9])\d)
    |(?P<mark>[’‘ʼ“”„«»‐‑‒﹣﹤\u202f\u2007\u2009\u200a\u3000\t\r٫٬٪∶✕✖⨯…])
    """,
    re.VERBOSE,
)
# An opening dollar of TeX math: it hugs what follows, as the closing one hugs what precedes.
_MATH = re.compile(
    r"(?<![\\$A-Za-z0-9])\$(?=[^\s$])((?:[^$\\\n]|\\[^\n]){1,400})(?<=\S)\$(?![\d$])"
)
_PLAIN_MATH = re.compile(r"[-+−(]?[\d.,]{1,30}\)?%?")
_NUMBER_MATH = re.compile(r"(?<![\\$A-Za-z0-9])\$([-+−(]?[\d.,]{1,30}\)?%?)\$(?![\d$])")
"""What is left of _MATH in a text without a command, a power or an equation."""
_ESCAPED = {"(": " ", ")": " ", "[": " ", "]": " ", ",": "\u00a0", ";": " ", ":": " ", "!": "",
            " ": " ", "\\": "\n"}  # fmt: skip


def clean(raw: str, start: int = 0, end: int | None = None) -> View:
    """The cleaned copy of `raw[start:end]`.

    Args:
        raw: verbatim model text.
        start, end: the part to read; of more than CAP characters only head and tail are kept.

    Returns:
        A View whose spans lead back to offsets in `raw`. Linear in the length.
    """
    end = len(raw) if end is None else end
    if end - start > CAP:
        half = CAP // 2
        return _build(raw, [(start, start + half), (end - half, end)])
    if start == 0 and end == len(raw) and not _NEEDS_EDIT.search(raw):
        return View(raw)
    return _build(raw, [(start, end)])


def _build(raw: str, pieces: list[tuple[int, int]]) -> View:
    view = View("")
    out: list[str] = []
    length = 0

    def add(text: str, raw_start: int, raw_end: int, literal: bool) -> None:
        nonlocal length
        if text:
            out.append(text)
            view._at.append(length)
            view._raw.append((raw_start, raw_end, literal))
            length += len(text)

    for number, (start, end) in enumerate(pieces):
        if number:
            add("\n", start, start, False)
        roles = _brace_roles(raw, start, end)
        math = _math_dollars(raw, start, end)
        bold_from = -1
        opened: list[int] = []
        at = start
        for sign in _EDIT_START.finditer(raw, start, end):
            match = _EDIT.match(raw, sign.start(), end) if sign.start() >= at else None
            new = None if match is None else _replacement(raw, match, roles, math)
            if match is None or new is None:
                continue
            begin, stop = match.span()
            add(raw[at:begin], at, begin, True)
            kind = match.lastgroup
            if kind == "bold":
                if bold_from < 0:
                    bold_from = length
                else:
                    view.bold.append((bold_from, length))
                    bold_from = -1
            elif kind == "brace" and roles.get(begin) == "box(":
                opened.append(length)
                new = ""
            elif kind == "brace" and roles.get(begin) == ")box":
                new = ""
                box_from = opened.pop() if opened else length
                view.boxes.append((box_from, length))
            add(new, begin, stop, False)
            at = stop
        add(raw[at:end], at, end, True)
    view.text = "".join(out)
    view.boxes = [box for box in view.boxes if view.text[box[0] : box[1]].strip()]
    return view


def _replacement(
    raw: str, match: re.Match[str], roles: dict[int, str], math: set[int]
) -> str | None:
    """What an edit puts in place of the match; None leaves it as it is."""
    kind, text, at = match.lastgroup, match.group(), match.start()
    match kind:
        case "entity":
            new = html.unescape(text)
            return None if new == text else new.translate(_PUNCTUATION)
        case "comma":
            return ","
        case "bold" | "tick" | "under" | "gone":
            return ""
        case "command":
            name = text[1:].rstrip()
            if name in _COMMANDS:
                return _COMMANDS[name]
            return "" if name in _WRAPPERS or name in _BOXES or name in _FRACTIONS else None
        case "escape":
            return _ESCAPED.get(text[1], text[1])
        case "brace":
            return roles.get(at, " ")
        case "dollars":
            return " "
        case "dollar":
            return " " if at in math else None
        case "star":
            return "" if _is_emphasis(raw, at) else None
        case "super":
            power = at >= 2 and raw[at - 2 : at] == "10"
            return "^" + text.translate(_SUPERSCRIPTS) if power else ""
        case "wide":
            return chr(ord(text) - 0xFEE0)
        case "digit":
            return str(unicodedata.decimal(text))
        case "mark":
            return text.translate(_PUNCTUATION)
    return None


def _is_emphasis(raw: str, at: int) -> bool:
    """A lone star is a multiplication or a bullet when both its sides are alike, else emphasis."""
    before = raw[at - 1] if at else "\n"
    after = raw[at + 1] if at + 1 < len(raw) else "\n"
    if before.isspace() and after.isspace():
        return False
    return not (before in ")]%" or before.isdigit()) or not (after in "($" or after.isdigit())


def _math_dollars(raw: str, start: int, end: int) -> set[int]:
    """Positions of dollar signs that only open and close TeX math."""
    found: set[int] = set()
    if raw.find("$", start, end) < 0:
        return found
    rich = any(raw.find(sign, start, end) >= 0 for sign in "\\^=")
    for match in (_MATH if rich else _NUMBER_MATH).finditer(raw, start, end):
        inner = match.group(1)
        if "\\" in inner or "^" in inner or "=" in inner or _PLAIN_MATH.fullmatch(inner):
            found.update((match.start(), match.end() - 1))
    return found


_BEFORE_BRACE = re.compile(r"\\([a-zA-Z]{2,14})\s?$")


def _brace_roles(raw: str, start: int, end: int) -> dict[int, str]:
    """What each matched brace that belongs to a LaTeX command is replaced by."""
    roles: dict[int, str] = {}
    if raw.find("\\", start, end) < 0 and raw.find("^{", start, end) < 0:
        return roles
    partner: dict[int, int] = {}
    stack: list[int] = []
    for match in re.finditer(r"(?<!\\)[{}]", raw[start:end]):
        at = start + match.start()
        if match.group() == "{":
            stack.append(at)
        elif stack:
            partner[stack.pop()] = at
    for opening, closing in sorted(partner.items()):
        if opening in roles:
            continue
        command = _BEFORE_BRACE.search(raw, max(start, opening - 16), opening)
        name = command.group(1) if command else ""
        if name in _BOXES:
            roles[opening], roles[closing] = "box(", ")box"
        elif name in _FRACTIONS and closing + 1 in partner:
            roles[opening], roles[closing] = "", "⁄"
            roles[closing + 1], roles[partner[closing + 1]] = "", ""
        elif name in _WRAPPERS or (opening and raw[opening - 1] in "^_"):
            roles[opening] = roles[closing] = ""
    return roles
