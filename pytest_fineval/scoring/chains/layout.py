"""How a chain is laid out on lines: which lines start a step, which state the answer.

Step markers win over numbered lists, those over top-level bullets, those over plain lines.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Literal

Layout = Literal["markers", "numbered", "bullets", "lines"]

_DECOR = r"[^\w\n(\[{<+\-−.$€£₽]{0,12}"
_ORDINAL_WORDS = (
    r"one|two|three|four|five|six|seven|eight|nine|ten|первый|второй|третий|четв[её]ртый|пятый"
    r"|шестой|седьмой|восьмой|девятый|десятый|один|два|три|четыре|пять"
)
_STEP_WORD = r"(?:step|шаг|этап)"
_STEP_NUMBER = rf"[ \u00a0]{{0,3}}[№#]?[ ]?(?:\d{{1,3}}(?:\.\d{{1,2}}){{0,2}}[a-zа-я]?\b|(?:{_ORDINAL_WORDS})\b)"
_STEP_END = (
    r"(?:[ \u00a0]{0,3}(?:[:.)\]|—–]|-(?=\s)|$)|(?=[ \u00a0]{1,3}[^\W\d_(])|(?=[ \u00a0]{1,3}\())"
)
_MARKER = re.compile(
    rf"^{_DECOR}(?:[-*•][ ]{{1,3}}|\d{{1,2}}[.)][ ]{{1,3}})?[\[(]?"
    rf"(?:{_STEP_WORD}{_STEP_NUMBER}|\d{{1,2}}(?:-?(?:й|ый|ой|st|nd|rd|th))[ ]{_STEP_WORD}\b"
    rf"|(?:{_ORDINAL_WORDS}|first|second|third|fourth|fifth)[ ]{_STEP_WORD}\b){_STEP_END}",
    re.IGNORECASE,
)
_INLINE_MARKER = re.compile(
    r"(?<=[.;!?])[ \u00a0]{1,3}(?=(?:Step|STEP|Шаг|ШАГ|Этап|ЭТАП)[ \u00a0]\d{1,3}[ ]?[:.)])"
)
_NUMBERED = re.compile(
    r"^(?P<lead>[ \t]{0,12}(?:#{1,6}[ \t]{1,3}|\|[ ]{0,3})?)\(?\d{1,2}[.)][ \t]{1,8}(?=\S)"
)
_BULLET = re.compile(r"^(?P<lead>[ \t]{0,12})[-*•–—·▪◦‣●○+][ \t]{1,8}(?=\S)")
_RULE_SIGNS = frozenset("-*_=─—|:+ \t")
_HEADING = re.compile(r"^[ \t]{0,3}#{1,6}[ \t]+")
_ENVIRONMENT = re.compile(r"^[ \t]*\\(?:begin|end)\b[^\n]{0,60}$")
_FENCE_LINE = re.compile(r"^[ \t]{0,8}(?:```|~~~)[ \t]*(?P<language>[\w+-]{0,20})")
_PROSE_FENCES = frozenset({"", "text", "markdown", "md", "txt", "plaintext", "latex", "math"})

_ANSWER_WORDS = (
    r"(?:(?:final|correct|overall|numerical|numeric)[ ]{1,2}){0,2}answers?"
    r"|final[ ](?:result|value)"
    r"|(?:(?:окончательный|итоговый|финальный|конечный|правильный)[ ]{1,2}){0,2}ответ"
    r"|(?:окончательный|итоговый|конечный)[ ]результат"
)
_TOTAL_WORDS = r"итого?"
"""Also a usual name of a step: it states the answer only on a line that starts no step."""

_LEAD_IN = (
    r"(?:(?:so|thus|therefore|hence|then|and|finally|наконец|итак|следовательно|таким образом|значит|поэтому)"
    r"[ ]?,?[ ]{1,2}){0,2}(?:the|our|my|наш)?[ ]{0,2}"
)
_ANSWER = re.compile(
    rf"^{_DECOR}(?:[-*•][ ]{{1,3}})?{_LEAD_IN}(?:{_ANSWER_WORDS}|(?P<total>{_TOTAL_WORDS}))\b"
    r"(?P<of>[ ]?\([^()\n]{0,60}\)|[ ](?:to|for|of|на|для)[ ][^:=\n]{1,80}?(?=[ ]?[:=]|[ ]is\b))?"
    r"(?P<link>[ \u00a0]{0,3}(?::?=|:|：|->|→|\||[-–—](?=[\s\u00a0])){1,2}|[ ](?:is|was|equals|are|будет|равен|равна|составляет)\b(?![ ](?:based|derived|given|found|calculated|computed|obtained|determined|получ\w{{1,9}})\b)[ ]?:?"
    r"|[ \u00a0]{0,3}$|[ \u00a0]{1,3}(?=[-−+(]?[$€£₽]?[-−]?\.?\d))",
    re.IGNORECASE,
)
_INLINE_ANSWER = re.compile(
    rf"(?:(?<=[.;!?])|(?<=\.\))|(?<=[%\d]))[ \u00a0]{{1,3}}(?={_LEAD_IN}(?:{_ANSWER_WORDS})[ ]?:)"
    rf"|(?<=[.;!?])[ \u00a0]{{1,3}}(?={_LEAD_IN}(?:final |correct )?answer[ ]is[ ])",
    re.IGNORECASE,
)
_HASHES = re.compile(r"^[ \t]*####[ \t]*(?=[-−+(]?[$€£₽]?[-−]?\.?\d)")
_CONCLUDES = re.compile(
    r"^[ \t]*(?:so|thus|therefore|hence|итак|следовательно|таким образом|значит)\b", re.IGNORECASE
)


_REMARK = re.compile(
    r"^[ \t]*(?:note|notes|explanation|remark|disclaimer|примечание|пояснение|замечание)[ ]?:",
    re.IGNORECASE,
)


@dataclass(slots=True)
class Laid:
    """A text divided: the texts of its steps and of the answers it states, in order.

    Attributes:
        layout: what told the steps apart; None when there is no step.
        steps: text of each step without its marker; lines are joined by newlines.
        answers: what follows each answer marker.
        in_step: the step that each answer marker stands in, or None.
    """

    layout: Layout | None = None
    steps: list[str] = field(default_factory=list)
    answers: list[str] = field(default_factory=list)


def lay_out(text: str, boxes: list[str]) -> Laid:
    """Divide cleaned text into steps and answers.

    Args:
        text: cleaned text without reasoning blocks and code.
        boxes: contents of LaTeX boxes in it: a line that holds nothing else states an answer.
    """
    lines = _split(text)
    layout = _layout(lines)
    laid = Laid()
    if layout is None:
        return laid
    _fill(laid, lines, layout, {box.strip() for box in boxes})
    laid.layout = layout if laid.steps else None
    return laid


def without_code(text: str) -> str:
    """The text without fenced code; a fence that holds the chain itself is unwrapped."""
    if "```" not in text and "~~~" not in text:
        return text
    outside: list[str] = []
    prose: list[str] = []
    language: str | None = None
    for line in text.split("\n"):
        fence = _FENCE_LINE.match(line)
        if fence and language is None:
            language = fence["language"].lower()
            rest = line[fence.end() :]
            if "```" in rest:  # opened and closed on one line
                language = None
        elif fence:
            language = None
        elif language is None:
            outside.append(line)
        if not fence and (language is None or language in _PROSE_FENCES):
            prose.append(line)
    told = "\n".join(outside)
    has_steps = any(line.strip() and not _ANSWER.match(line) for line in outside)
    marked_inside = not any(map(_MARKER.match, outside)) and any(map(_MARKER.match, prose))
    return told if has_steps and not marked_inside else "\n".join(prose)


def _split(text: str) -> list[str]:
    """Lines; a marker that starts a sentence within a line starts a new one."""
    text = _INLINE_MARKER.sub("\n", text)
    text = _INLINE_ANSWER.sub("\n", text)
    return text.split("\n")


def _layout(lines: list[str]) -> Layout | None:
    if any(_MARKER.match(line) for line in lines):
        return "markers"
    if _top_level(lines, _NUMBERED) is not None:
        return "numbered"
    if _top_level(lines, _BULLET) is not None:
        return "bullets"
    return "lines" if any(line.strip() for line in lines) else None


def _is_rule(line: str) -> bool:
    """A horizontal rule, or the rule under a table's head."""
    signs = line.strip()
    return (
        len(signs) > 2
        and _RULE_SIGNS.issuperset(signs)
        and any(s in signs for s in ("--", "**", "__", "==", "──", "——"))
    )


def _top_level(lines: list[str], pattern: re.Pattern[str]) -> int | None:
    """The smallest indentation of a list's items; None without an item."""
    found = [
        _width(match["lead"])
        for line in lines
        if (match := pattern.match(line)) and not _is_answer(line) and not _is_rule(line)
    ]
    return min(found, default=None)


def _width(lead: str) -> int:
    return (
        len(lead.rstrip("#| ").expandtabs(4))
        if "#" in lead or "|" in lead
        else len(lead.expandtabs(4))
    )


def _is_answer(line: str) -> bool:
    return bool(_ANSWER.match(line) or _HASHES.match(line))


def _fill(laid: Laid, lines: list[str], layout: Layout, boxes: set[str]) -> None:
    item = {"numbered": _NUMBERED, "bullets": _BULLET}.get(layout)
    top = _top_level(lines, item) if item else None
    current: list[str] | None = None
    awaited = False  # an answer marker stood alone: its answer is the next line

    def close() -> None:
        nonlocal current
        if current is not None:
            laid.steps.append("\n".join(current).strip())
        current = None

    for number, line in enumerate(lines):
        if not line.strip() or _is_rule(line) or _ENVIRONMENT.match(line):
            continue
        if _is_table_head(lines, number):
            continue
        content = _start(line, layout, item, top)
        if awaited and (content is None or layout not in {"markers"}):
            laid.answers[-1] = _cell(line)
            awaited = False
            continue
        starts = content is not None and layout != "lines"
        marked = _answer_of(line if content is None else content, totals=not starts)
        if content is not None and marked is not None and layout != "markers":
            content = None  # a list item or a line that states the answer is no step
        if content is not None:
            close()
            awaited = False
            current = [_cell(content)]
            if marked is not None:
                laid.answers.append(marked)
            if layout == "lines":
                if _boxed_only(content, boxes):
                    current = None
                close()
            continue
        if marked is not None:
            close()
            laid.answers.append(marked)
            awaited = not marked.strip()
        elif (
            _REMARK.match(line)
            or _boxed_only(line, boxes)
            or (_CONCLUDES.match(line) and _holds_box(line, boxes))
        ):
            close()
        elif current is not None:
            current.append(_cell(line))
    close()
    laid.answers = [answer for answer in laid.answers if answer.strip()]


def _start(line: str, layout: Layout, item: re.Pattern[str] | None, top: int | None) -> str | None:
    """What follows the marker of a line that starts a step; None for other lines."""
    if layout == "lines":
        return None if _HEADING.match(line) and not _is_answer(line) else line
    pattern = _MARKER if item is None else item
    match = pattern.match(line)
    if match is None or (item is not None and _width(match["lead"]) != top):
        return None
    return line[match.end() :]


def _answer_of(line: str, *, totals: bool) -> str | None:
    """What a line states as the answer; None when it states none."""
    match = _ANSWER.match(line)
    if match is not None and (totals or not match["total"]):
        return _cell(line[match.end() :])
    match = _HASHES.match(line)
    return None if match is None else _cell(line[match.end() :])


def _cell(line: str) -> str:
    """A line without its list and table signs; cells are divided by a bar."""
    return line.strip().strip("|").strip()


def _is_table_head(lines: list[str], number: int) -> bool:
    """A table's head stands right above its rule."""
    return (
        "|" in lines[number]
        and number + 1 < len(lines)
        and "|" in lines[number + 1]
        and _is_rule(lines[number + 1])
    )


def _boxed_only(line: str, boxes: set[str]) -> bool:
    return line.strip(" \t.,:$") in boxes if boxes else False


def _holds_box(line: str, boxes: set[str]) -> bool:
    return any(box in line for box in boxes)
