"""What stands beside a number: sign, brackets, currency, scale words, unit, scale note."""

from __future__ import annotations

import re
from decimal import Decimal

from pytest_fineval.scoring import units
from pytest_fineval.scoring.reading import Reading, Style
from pytest_fineval.scoring.words import WORD_NUMBER

_ONE = Decimal(1)
_HYPHENATED = frozenset({"x", "days", "weeks", "months", "quarters", "years"})
_ODDS = re.compile(r"(?: ?: ?| to |-to-)1(?:\.0{1,2})?(?![\d:%]|[.,]\d)")
_ORDINAL = re.compile(r"(?:st|nd|rd|th)\b")
_NEGATION = re.compile(r"(?<!\w)(?:minus|negative|минус|moins)$", re.IGNORECASE)
_SCALE_BEFORE = re.compile(
    r"(?<![A-Za-z])(?:thousands?|millions?|mn|mm|m|billions?|bn|k|lakhs?|crores?|cr)\.?$",
    re.IGNORECASE,
)
_NOTE = (
    r"(?:(?:all|amounts?|figures?|values?|expressed|stated|reported|presented|shown|are|is|rounded)"
    r"\s+){0,5}(?:in\s+)?(?P<currency>(?:U\.?S\.?\s?)?(?:dollars|\$)|[€£₹¥]|Rs\.?|[A-Z]{3}|euros?|rupees)?"
    r"\s*(?:in\s+)?(?P<scale>thousands?|millions?|mn|mm|billions?|bn|lakhs?|crores?|'?000s?)\b'?s?"
    r"(?:\s+of\s+(?P<of>[A-Za-z.$€£₹ ]{1,24}))?"
)
_NOTE_AFTER = re.compile(rf"\s*\(\s*{_NOTE}[^()\n]{{0,40}}\)|,?\s+in\s+(?P<plain>thousands|millions|billions|lakhs?|crores?)\b", re.IGNORECASE)  # fmt: skip
_LINKING = frozenset(
    [
        "is",
        "was",
        "are",
        "were",
        "be",
        "been",
        "being",
        "of",
        "to",
        "at",
        "by",
        "equals",
        "equal",
        "equaled",
        "totaled",
        "totalled",
        "reached",
        "came",
        "approximately",
        "about",
        "roughly",
        "nearly",
        "around",
        "than",
        "a",
        "an",
        "the",
        "reported",
        "posted",
        "recorded",
        "us",
    ]
)
_LAST_WORD = re.compile(r"([A-Za-z]+)$")


_ENDS = frozenset(".,;:!?\n\"'=|]<>")
_NOTE_STARTS = frozenset("(i,")
_WORD = re.compile(r"[A-Za-z]+")
_PLAIN_WORDS = frozenset(
    "in and or for to was is were are from at the as by on with which that this but compared versus than"
    " after before during while due up down higher lower of about approximately only total revenue margin rate income over under above below has have had".split()
)


def _plain_word(text: str, at: int) -> bool:
    """A frequent word that is neither unit nor scale: spares looking it up among them."""
    match = _WORD.match(text, at)
    return match is not None and match.group() in _PLAIN_WORDS


def _common_before(text: str, end: int, floor: int) -> bool:
    """A frequent word before a number that is no sign and no currency."""
    return text[text.rfind(" ", max(floor, end - 16), end) + 1 : end].lower() in _PLAIN_WORDS


def look_left(text: str, reading: Reading, floor: int) -> None:
    """Sign, currency, opening bracket and spoken minus before the number."""
    at = first = reading.start
    opened = -1
    for _ in range(6):
        end = at
        while end > floor and at - end < 2 and text[end - 1] in " \u00a0":
            end -= 1
        if end <= floor:
            break
        char = text[end - 1]
        if char in _ENDS or (end < at and char.islower() and _common_before(text, end, floor)):
            break
        if char in "-−–—":
            if reading.signed or not _is_minus(text, end - 1, end == at, floor):
                reading.name = reading.name or (
                    end == first and end - 1 > floor and text[end - 2].isalpha() and char == "-"
                )
                break
            reading.negative = reading.signed = True
            at = end - 1
        elif char == "+" and end == at and (end - 1 == floor or not text[end - 2].isalnum()):
            reading.signed = True
            at = end - 1
        elif char == "(" and opened < 0:
            opened = at = end - 1
        elif char in "~≈" and not text[max(floor, end - 2) : end - 1].isdigit():
            at = end - 1
        elif (
            not reading.currencies
            and (found := units.currency_before(text, end))
            and (found[0] >= floor and (end == at or text[found[0] : end] != "R"))
        ):
            at, reading.currencies = found
        elif char.isalpha() or char == ".":
            if end == first and char.isalpha():
                reading.name = text[max(floor, end - 2) : end].upper() not in {"FY", "CY"}
                break
            negation = _NEGATION.search(text, max(floor, end - 8), end)
            if negation:
                reading.negative = reading.signed = True
                at = negation.start()
                break
            before = _SCALE_BEFORE.search(text, max(floor, end - 10), end)
            known = before and _currency_of_scale(text, before.start(), floor)
            if not (before and known and not reading.currencies):
                break
            scale = units.scale_at(text, before.start(), "en")
            reading.scale = scale[1] if scale else None
            at, reading.currencies = known
        else:
            break
    if opened >= 0:
        reading.bracketed = True
        reading.lead = _lead(text, at if at < opened else opened, floor)
    reading.start = at


def _currency_of_scale(text: str, at: int, floor: int) -> tuple[int, tuple[str, ...]] | None:
    """The currency before a scale word that starts at `at`, with at most one space between."""
    end = at - 1 if at > floor and text[at - 1] == " " else at
    known = units.currency_before(text, end) if end > floor else None
    return known if known and known[0] >= floor else None


def _is_minus(text: str, at: int, glued: bool, floor: int) -> bool:
    """Whether the dash at `at` is a minus and neither a hyphen, a range, a bullet nor a minus of
    an expression."""
    before = text[at - 1] if at > floor else "\n"
    if before in "-−–—" or before.isalnum() or before in ")%]":
        return False
    back = at
    while back and text[back - 1] in " \u00a0":
        back -= 1
    previous = text[back - 1] if back else "\n"
    if before in "$€£¥₹":
        return glued and not (at - 2 >= floor and text[at - 2].isdigit())
    if not glued:
        return previous in ":=(|≈"
    return not (previous.isdigit() or previous in ")%")


def _lead(text: str, at: int, floor: int) -> str:
    """What stands before an opening bracket: nothing that it could restate, a word or a number."""
    before = text[max(floor, at - 24) : at].rstrip(" \u00a0")
    if not before or before[-1] in ":=|,;\n-–—>≈~$€£¥₹":
        return "alone"
    if before[-1].isdigit() or before[-1] == "%":
        return "number"
    word = _LAST_WORD.search(before)
    if word is None:
        return "word" if before[-1] in ")\"'" else "alone"
    if word.group(1).lower() in _LINKING:
        return "alone"
    return "number" if WORD_NUMBER.fullmatch(word.group(1)) else "word"


def look_right(text: str, reading: Reading, style: Style, end: int) -> None:
    """Closing bracket, scale words, currency, unit and scale note after the number."""
    at = reading.end
    next_sign = text[at : at + 1]
    if next_sign.isalpha() and (ordinal := _ORDINAL.match(text, at, end)):
        reading.ordinal = True
        reading.end = ordinal.end()
        return
    if text.startswith("/-", at):
        at += 2
    elif style.trailing_minus and text.startswith("-", at) and not text[at + 1 : at + 2].isalnum():
        reading.negative = True
        at += 1
    if style.odds and (odds := _ODDS.match(text, at, end)):
        reading.unit, at = "x", odds.end()
    first, closed, outside = at, not reading.bracketed, False
    scales = 0
    for _ in range(7):
        word = at
        while word < end and word - at < 2 and text[word] in " \u00a0":
            word += 1
        if word >= end:
            break
        char = text[word]
        if char in _ENDS:
            break
        if char == ")" and not closed:
            closed = reading.enclosed = True
            at = word + 1
            continue
        if char == "-" and word == at and text[word + 1 : word + 2].isalpha():
            unit = units.unit_at(text, word) or units.unit_at(text, word + 1)
            scale = units.scale_at(text, word + 1, style.locale, spaced=True)
            if unit is not None and unit[1] in _HYPHENATED and reading.unit is None:
                reading.unit, at = unit[1], unit[0]
                reading.compound = unit[1] != "x"
                break
            if scale is None or scale[0] - word < 4:
                break
            word += 1
        elif char.isalpha() and char.isascii() and _plain_word(text, word):
            break
        step = _step_right(text, word, reading, style, glued=word == first, scales=scales)
        if step is None:
            break
        if step[1] == "scale":
            scales += 1
        outside = outside or (closed and reading.enclosed and step[1] in {"scale", "percent"})
        at = step[0]
    if reading.bracketed and not closed:
        reading.bracketed, reading.enclosed = True, False
    follows = text[at : at + 2].strip()[:1]
    note = _NOTE_AFTER.match(text, at, end) if follows in _NOTE_STARTS and not scales else None
    if note:
        _apply_note(reading, note)
        at = note.end()
    if outside and reading.lead == "word":
        reading.lead = "alone"
    if at == first and at < end and (text[at].isalpha() or text[at] == "_"):
        reading.name = True
    if reading.per_share and reading.currencies == () and reading.unit is None:
        reading.unit = "per share"
    reading.end = max(reading.end, at)


def _step_right(
    text: str, at: int, reading: Reading, style: Style, *, glued: bool, scales: int
) -> tuple[int, str] | None:
    """Read one word after the number into the reading; None when nothing is known there."""
    if scales < 3 and reading.unit is None:
        scale = units.scale_at(text, at, style.locale, spaced=not glued)
        if scale is not None and _is_scale(text, at, scale[0], style):
            word = text[at : scale[0]].lower().rstrip(".")
            if word in {"cr", "crs"} and not style.crore:
                return scale[0], "credit"
            reading.scale = (reading.scale or _ONE) * scale[1]
            return scale[0], "scale"
    if text.startswith("of ", at) and scales and not reading.currencies:
        at += 3
    if reading.unit is None:
        if style.own and text[at].lower() == style.own and not text[at + 1 : at + 2].isalnum():
            reading.unit = style.own_unit
            return at + 1, style.own_unit
        unit = units.unit_at(text, at)
        if unit is not None and not (reading.currencies and unit[1] != "shares"):
            reading.unit = unit[1]
            return unit[0], unit[1]
    if not reading.currencies and reading.unit is None:
        currency = units.currency_after(text, at)
        single = currency is not None and currency[0] - at == 1 and text[at].isalpha()
        if currency is not None and (glued or not single):
            reading.currencies, reading.minor = currency[1], currency[2]
            return currency[0], "currency"
    if not reading.per_share and (stop := units.per_share_at(text, at)) is not None:
        reading.per_share = True
        return stop, "share"
    return None


def _is_scale(text: str, at: int, stop: int, style: Style) -> bool:
    """A lone letter is a scale only where the case's unit leaves room for one."""
    return style.letters or stop - at > 2 or not text[at].isascii()


def _apply_note(reading: Reading, note: re.Match[str]) -> None:
    word = note.group("scale") or note.group("plain") or ""
    reading.scale, reading.noted = _note_scale(word), True
    if not reading.currencies:
        for name in ("currency", "of"):
            seen = (note.group(name) or "").strip()
            found = units.currency_after(seen, 0) if seen else None
            if found:
                reading.currencies = found[1]


def _note_scale(word: str) -> Decimal | None:
    """The factor of the scale word of a note such as `(in thousands)`."""
    if word.strip("'s").startswith("000"):
        return Decimal(1000)
    found = units.scale_at(word, 0, "en")
    return found[1] if found else None


_SCALE_NOTE = re.compile(
    rf"\(\s*{_NOTE}[^()\n]{{0,60}}\)"
    r"|(?:\b(?:figures|amounts|values|numbers|dollars|all|USD)\b|[$€£₹])[^.\n()\d]{0,30}\bin\s+"
    r"(?P<plain>thousands|millions|billions|lakhs?|crores?)\b",
    re.IGNORECASE,
)
_IN_SCALE = re.compile(r"in\s{1,4}(?:thousands|millions|billions|lakh|crore)")
_SCALE_HINT = re.compile(
    r"[Tt]housand|THOUSAND|[MmBb]illion|[MB]ILLION|[Cc]rore|[Ll]akh|\(.{0,40}(?:mn|bn|mm|000)"
)


def scale_note(text: str) -> Decimal | None:
    """The scale of a note on the amounts around it, as `(In thousands, except ...)`."""
    if "(" not in text and not _IN_SCALE.search(text.lower()):
        return None
    if not _SCALE_HINT.search(text):
        return None
    match = _SCALE_NOTE.search(text)
    return _note_scale(match.group("scale") or match.group("plain")) if match else None
