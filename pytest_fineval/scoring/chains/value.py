"""The value that one step, or one answer, states: its last number that is no operand or label.

Numbers are read by the project's one reader; here is decided which of them is the result.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from itertools import islice

from pytest_fineval.scoring.number import find_numbers
from pytest_fineval.scoring.reading import ARITHMETIC, Reading, Style
from pytest_fineval.scoring.surroundings import Labels

MOST_CHARACTERS = 20_000
"""Of a longer step the end is read: the result stands there."""

MOST_SENTENCES = 20
"""Sentences of an answer that are tried one by one."""

_EQUALITY = re.compile(r"(?<![<>!])={1,3}(?!>)|[≈≃≅~∼]")
_COMPARISON = re.compile(r"[<>≤≥≠]|!=")
_SENTENCE_END = re.compile(r"[.!?;][ \u00a0]+(?=[A-ZА-ЯЁ])|\n")
_STEP_REFERENCE = re.compile(
    r"\b(?:steps?|шаг(?:а|е|у|ом|и|ов)?|этап(?:а|е|у|ом|ы|ов)?)\s?[№#]?\s?\d{1,3}\b", re.IGNORECASE
)
_LONE_POINT = re.compile(r"(?<![\d.,])(\d{1,3})\.(\d{3})(?![\d]|[.,]\d)")
_SPACE_GROUP = re.compile(r"(?<![\w.,])(\d{1,3}) (?=\d{3}(?!\d))")
_YEAR_AFTER = re.compile(r"[ \u00a0]?(?:гг?\.|год(?:а|у|ом|ы|ов)?\b)|[ \u00a0]?(?:кв\.|квартал)")
_YEAR_BEFORE = re.compile(r"(?<!\w)(?:в|за)[ \u00a0]$", re.IGNORECASE)

_SPACES = " \u00a0"
_OPERATORS = frozenset("+*/×÷·∙⋅^⁄")
_DASHES = frozenset("-−–")
_CLOSERS = frozenset(")]}%")
_OPENERS = _SPACES + "([{|$€£₽"
_LETTER_X = re.compile(r"[\d)%][ \u00a0]?[xXхХ]$")
_X_OPERAND = re.compile(r"[xXхХ][ \u00a0]?[\d(]")
_WORD_BEFORE = re.compile(
    r"(?:divided by|multiplied by|times|plus|умножить на|умноженное на|разделить на|делённое на"
    r"|плюс|%[ \u00a0]?of|% от)$",
    re.IGNORECASE,
)
_WORD_AFTER = re.compile(
    r"(?:divided by|multiplied by|times|plus|minus|умножить на|умноженное на|разделить на"
    r"|делённое на|плюс|минус)[ \u00a0(]{1,3}[\d$€£₽(]",
    re.IGNORECASE,
)
_OF_AFTER = re.compile(r"(?:of|от)[ \u00a0]{1,2}[$€£₽]?\d", re.IGNORECASE)
_REMARK = re.compile(
    r"(?:this|that|these|which|the|so|it|its|i\.e|here|это|то есть|т\.\s?е|что|такова)\b",
    re.IGNORECASE,
)
_RATE = re.compile(r"/[^\W\d_]{2,}")


@dataclass(frozen=True, slots=True)
class Stated:
    """A number that a text states as its result; offsets are those of that text."""

    value: Decimal
    start: int
    end: int


def stated_value(text: str, locale: str = "en", *, answer: bool = False) -> Decimal | None:
    """The result that a step or an answer states.

    Args:
        text: cleaned text of one step, without its number; or what follows an answer marker.
        locale: decides between decimal and grouping commas, as everywhere.
        answer: a lone fraction is then a value, not arithmetic that is not carried out.

    Returns:
        The last number after the last equality or approximation sign, else the last number;
        scale words multiplied in, percent and other units as written. None when the text states
        none, or only a formula.
    """
    found = stated(text, locale, answer=answer)
    return None if found is None else found.value


def stated(text: str, locale: str = "en", *, answer: bool = False) -> Stated | None:
    """As `stated_value`, with the place of the number."""
    offset = max(0, len(text) - MOST_CHARACTERS)
    text = prepared(text[offset:], locale)
    if answer:
        # The answer is committed to in its first sentence; what follows explains it.
        for sentence in islice(_SENTENCE_END.finditer(text), MOST_SENTENCES):
            found = _last(text[: sentence.start()], locale, answer=True)
            if found is not None:
                return found
    found = _last(text, locale, answer=answer)
    return None if found is None else Stated(found.value, offset + found.start, offset + found.end)


def _last(text: str, locale: str, *, answer: bool) -> Stated | None:
    start = 0
    for sign in _EQUALITY.finditer(text):
        if text[sign.end() :].strip(_SPACES + "\n.,;"):
            start = sign.end()
    # The bound of a comparison is no result: in "= 1.5 > 1.2" it is 1.5.
    bound = _COMPARISON.search(text, start)
    end = bound.start() if bound and any(c.isdigit() for c in text[start : bound.start()]) else None
    last: Stated | None = None
    for reading in results(text, locale, start, end, answer=answer):
        last = Stated(_signed(text, reading, start), reading.start, reading.end)
    return last


def results(
    text: str, locale: str, start: int = 0, end: int | None = None, *, answer: bool = False
) -> Iterator[Reading]:
    """Numbers of a span that are neither operands nor labels, from left to right.

    The only number of an answer is no label: a year can be asked for.
    """
    labels = Labels(text, start)
    head = start
    while head < len(text) and text[head] in _SPACES:
        head += 1
    whole = answer and len(list(find_numbers(text, Style(locale=locale), start, end))) == 1
    for reading in find_numbers(text, Style(locale=locale), start, end):
        label = labels.is_label(reading)
        if reading.value is None or reading.ordinal or _is_identifier(text, reading):
            continue
        first = reading.start <= head
        if label and not ((first and start) or whole or _glued_unit(text, reading)):
            continue
        if locale == "ru" and _is_russian_year(text, reading):
            continue
        if _is_operand(text, reading, equated=start > 0, answer=answer):
            continue
        yield reading


def prepared(text: str, locale: str) -> str:
    """The text with references to steps blanked out; the length stays the same.

    A space between one digit group and three more digits groups in any language. Russian groups with spaces, never with points: a lone point there is a decimal one, which the
    reader of numbers would take for grouping before three digits.
    """
    text = _STEP_REFERENCE.sub(lambda match: " " * len(match.group()), text)
    text = _SPACE_GROUP.sub("\\1\u00a0", text)
    return _LONE_POINT.sub(r"\1,\2", text) if locale == "ru" else text


def _signed(text: str, reading: Reading, start: int) -> Decimal:
    value = reading.value or Decimal(0)
    if reading.scale is not None:
        value = ARITHMETIC.multiply(value, reading.scale)
    before = text[max(start, reading.start - 3) : reading.start].rstrip(_SPACES)
    accounting = reading.enclosed and reading.lead == "alone" and (not before or before[-1] in ":=")
    return -value if reading.negative or accounting else value


def _is_identifier(text: str, reading: Reading) -> bool:
    """Letters right before it: Q3, CF1, x2."""
    return reading.name and not _glued_unit(text, reading)


def _glued_unit(text: str, reading: Reading) -> bool:
    """An own unit written right after the number, as in `25р`: no name of something else."""
    before = text[reading.at - 1 : reading.at]
    after = text[reading.end : reading.end + 1]
    return (
        reading.name
        and not (before.isalpha() or before in {"-", "_"})
        and after.isalpha()
        and not after.isascii()
    )


def _is_russian_year(text: str, reading: Reading) -> bool:
    if not reading.plain or reading.value is None:
        return False
    after = _YEAR_AFTER.match(text, reading.end)
    if 1900 <= reading.value <= 2100:
        before = _YEAR_BEFORE.search(text[max(0, reading.at - 4) : reading.at])
        return after is not None or (before is not None and reading.scale is None)
    return after is not None and text[after.start() : after.end()].strip(_SPACES).startswith("кв")


def _is_operand(text: str, reading: Reading, *, equated: bool, answer: bool) -> bool:
    """Whether an operation joins it to something: then it is no result.

    Args:
        equated: it stands after an equality sign, where a dash before a name is a minus.
    """
    if "⁄" in text[reading.at : reading.end]:
        return not answer
    before = text[max(0, reading.start - 24) : reading.start].rstrip(_OPENERS)
    after = text[reading.end : reading.end + 24].lstrip(_SPACES + ")]}")
    glued = not text[reading.end : reading.end + 1].isspace()
    if text[reading.end - 1] == "×" and after[:1].isalnum():
        return True  # the reader takes the sign for the unit of a multiple
    if reading.unit == "percent" and _OF_AFTER.match(after):
        return True
    return _joined_before(before, text, reading, equated) or _joined_after(after, glued, equated)


def _joined_before(before: str, text: str, reading: Reading, equated: bool) -> bool:
    if not before:
        return False
    sign = before[-1]
    if sign in _OPERATORS:
        # A lone slash between words ("and/or 5") joins nothing.
        return len(before) > 1 and (
            before[-2].isalnum() or before[-2] in _CLOSERS or before[-2] in _SPACES
        )
    if sign in _DASHES:
        rest = before[:-1].rstrip(_SPACES)
        previous = rest[-1:]
        ranged = (
            sign == "–"
            and rest == before[:-1]
            and before.endswith(sign)
            and text[reading.start - 1] == sign
        )
        if previous.isdigit() or previous in _CLOSERS:
            return not ranged
        return equated and sign != "–" and previous.isalpha()
    if reading.signed and (sign.isdigit() or sign in _CLOSERS):
        return True  # "100 minus 5": the reader takes the word for a sign
    return bool(_LETTER_X.search(before) or _WORD_BEFORE.search(before))


def _joined_after(after: str, glued: bool, equated: bool) -> bool:
    if not after:
        return False
    sign, rest = after[0], after[1:].lstrip(_OPENERS + "-−")
    if sign in _OPERATORS:
        if sign == "/" and glued and _RATE.match(after):
            return False  # 12 USD/month
        return bool(rest) and (rest[0].isalnum() or rest[0] in "√.")
    if sign in _DASHES:
        follows = after[1:].lstrip(_OPENERS)
        if follows[:1].isdigit() or follows[:1] == ".":
            return not (sign == "–" and glued)
        named = sign != "–" and not glued and after[1:2] in _SPACES and follows[:1].isalpha()
        return equated and named and not _REMARK.match(follows)
    return bool(_X_OPERAND.match(after) or _WORD_AFTER.match(after))
