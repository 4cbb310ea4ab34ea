"""The one number reader of the project: from text to Decimal, with what stands beside the number.

It reads grouping (Western, Indian, Swiss, spaces), decimal commas, signs and accounting brackets,
e-notation and powers of ten, fractions, scale words, currencies and units. It does not know what
a case asks: `numeric` decides what fits.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Context, Decimal

from pytest_fineval.scoring import units
from pytest_fineval.scoring.words import WORD_NUMBER, words_to_decimal

EXPONENT_CAP = 400
"""Numbers of this many digits or powers of ten are out of range."""

ARITHMETIC = Context(prec=60, Emax=999_999, Emin=-999_999)
"""Decimal arithmetic of all comparisons: exact for every number a person writes."""

_ONE = Decimal(1)
_VULGAR = {"½": "0.5", "¼": "0.25", "¾": "0.75", "⅓": None, "⅔": None, "⅛": "0.125", "⅜": "0.375",
           "⅝": "0.625", "⅞": "0.875", "⅕": "0.2", "⅖": "0.4", "⅗": "0.6", "⅘": "0.8"}  # fmt: skip
_SPACED = r"\d{1,3}(?:\u00a0\d{3})+(?:[.,]\d+)?(?!\d)|\d{1,3}(?:[ ]\d{3}){2,}(?:[.,]\d+)?(?!\d)"
_SPACED_ONCE = r"\d{1,3}(?:[ \u00a0]\d{3})+(?:[.,]\d+)?(?!\d)"
_TOKEN = r"""
    (?P<digits>%s|\d+(?:[.,'_]\d+)*|(?<![\w.])[.]\d+)
    (?:(?P<exponent>[eE][+−-]?\d{1,20})(?![\w.]*\d))?
    (?:\ ?(?P<vulgar>[½¼¾⅓⅔⅛⅜⅝⅞⅕⅖⅗⅘]))?
    |(?P<alone>[½¼¾⅓⅔⅛⅜⅝⅞⅕⅖⅗⅘])
"""
_TOKENS = {
    spaced: re.compile(_TOKEN % (_SPACED_ONCE if spaced else _SPACED), re.VERBOSE)
    for spaced in (False, True)
}
_POWER = re.compile(r"\s?[×x*]\s?10\s?\^\s?\(?([-+−]?\d{1,9})\)?")
_OWN_POWER = re.compile(r"\s?\^\s?\(?([-+−]?\d{1,9})\)?")
_MIXED = re.compile(r" (\d{1,2})/(\d{1,3})(?![\d/])")
_ODDS = re.compile(r"(?: ?: ?| to )1(?:\.0{1,2})?(?![\d:%]|[.,]\d)")
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
    ["is", "was", "are", "were", "be", "been", "being", "of", "to", "at", "by", "equals", "equal", "equaled", "totaled", "totalled", "reached", "came", "approximately", "about", "roughly", "nearly", "around", "than", "a", "an", "the", "reported", "posted", "recorded", "us"]
)
_LAST_WORD = re.compile(r"([A-Za-z]+)$")


@dataclass(frozen=True, slots=True)
class Style:
    """How a case wants numbers read.

    Attributes:
        locale: `de`, `fr` and `ru` have decimal commas.
        crore: whether Cr means crore (else a credit mark that changes nothing).
        letters: whether a lone letter may be a scale (m = million) and not a unit (m = months).
        trailing_minus: whether `1,234-` is negative.
        odds: whether `2.5:1` and `2.5 to 1` are the multiple 2.5.
        own: a letter that stands for the declared unit (`m` where months are asked).
        own_unit: that unit.
    """

    locale: str = "en"
    crore: bool = True
    letters: bool = True
    trailing_minus: bool = False
    odds: bool = False
    own: str = ""
    own_unit: str = ""


@dataclass(slots=True)
class Reading:
    """One number as written, with what stands beside it; offsets are those of the text read.

    Attributes:
        value: magnitude before scale; None when malformed or out of range (see `fault`).
        negative: an explicit minus stands before it.
        enclosed: brackets hold the number alone; `lead` says what stands before them: `alone`,
            `word` or `number`.
        bracketed: an opening bracket stands right before it.
        scale: factor of explicit scale words, None without any; `noted`: from a note `(in ...)`.
        unit: kind of unit seen (`percent`, `bps`, `days`...), None without any.
        currencies: ISO codes that the currency seen may mean; `minor`: it is a hundredth of it.
        place: power of ten of the last digit written, scale left out.
        digits: significant digits written.
        spelled: written in words.
        name: letters are glued to it: part of a name, not a value.
    """

    start: int
    end: int
    at: int
    value: Decimal | None = None
    fault: str | None = None
    negative: bool = False
    enclosed: bool = False
    lead: str = "alone"
    bracketed: bool = False
    scale: Decimal | None = None
    noted: bool = False
    unit: str | None = None
    currencies: tuple[str, ...] = ()
    minor: bool = False
    per_share: bool = False
    place: int = 0
    digits: int = 0
    spelled: bool = False
    ordinal: bool = False
    name: bool = False
    plain: bool = False
    signed: bool = False


def find_numbers(
    text: str, style: Style, start: int = 0, end: int | None = None, margin: int = 0
) -> Iterator[Reading]:
    """All numbers written in digits in `text[start:end]`, left to right, without overlap.

    Args:
        margin: how far outside the span signs, currencies and units may stand.
    """
    end = len(text) if end is None else end
    floor, limit = max(0, start - margin), min(len(text), end + margin)
    token = _TOKENS[style.locale in {"fr", "ru", "de"}]
    at = start
    while match := token.search(text, at, end):
        reading = _read(text, match, style, floor, limit)
        yield reading
        at = max(reading.end, match.end())


def find_spelled(
    text: str, style: Style, start: int = 0, end: int | None = None
) -> Iterator[Reading]:
    """All numbers written in words in `text[start:end]`."""
    end = len(text) if end is None else end
    for match in WORD_NUMBER.finditer(text, start, end):
        spelled = words_to_decimal(match.group())
        if spelled is None:
            continue
        value, scale = spelled
        reading = Reading(match.start(), match.end(), match.start(), value=value, spelled=True)
        reading.scale = scale
        reading.digits = len(value.as_tuple().digits)
        _look_left(text, reading, start)
        _look_right(text, reading, style, end)
        yield reading


def decimal_of(text: str, locale: str = "en") -> Decimal | None:
    """The plain number that the whole text is, grouping and sign included; else None.

    >>> decimal_of("1,00,000.50")
    Decimal('100000.50')
    """
    found = list(find_numbers(text.strip(), Style(locale=locale)))
    if len(found) != 1 or found[0].value is None or found[0].scale or found[0].unit:
        return None
    reading = found[0]
    if reading.start != 0 or reading.end != len(text.strip()) or reading.value is None:
        return None
    return -reading.value if reading.negative or reading.enclosed else reading.value


def _read(text: str, match: re.Match[str], style: Style, start: int, end: int) -> Reading:
    reading = Reading(match.start(), match.end(), match.start())
    _set_value(text, reading, match, style, end)
    _look_left(text, reading, start)
    _look_right(text, reading, style, end)
    return reading


def _set_value(text: str, reading: Reading, match: re.Match[str], style: Style, end: int) -> None:
    """Value, last place and significant digits of the token, powers and fractions included."""
    alone = match.group("alone")
    if alone:
        reading.value = _vulgar(alone)
        reading.digits = 1
        return
    token, exponent = match.group("digits"), match.group("exponent")
    plain = plain_digits(token, style.locale)
    reading.plain = plain == token and "." not in token and exponent is None
    if plain is None:
        reading.fault = "malformed_number"
        reading.name = token.count(".") > 1 and "," not in token
        return
    power = 0
    if exponent:
        power = _int(exponent[1:])
    times = _POWER.match(text, reading.end, end)
    own = None if times else _OWN_POWER.match(text, reading.end, end)
    if times:
        power += _int(times.group(1))
        reading.end = times.end()
    elif own and plain == "10":
        plain, power = "1", _int(own.group(1))
        reading.end = own.end()
    if abs(power) >= EXPONENT_CAP or len(plain) >= EXPONENT_CAP:
        reading.fault = "out_of_range"
        return
    value = Decimal(plain)
    fraction = plain.partition(".")[2]
    reading.place = power - len(fraction)
    reading.digits = max(1, len(plain.replace(".", "").lstrip("0")))
    if power:
        value = ARITHMETIC.scaleb(value, power) if len(plain) < 60 else value.scaleb(power)
    if match.group("vulgar"):
        value = ARITHMETIC.add(value, _vulgar(match.group("vulgar")))
    elif reading.plain and (mixed := _MIXED.match(text, reading.end, end)) and int(mixed.group(2)):
        value += ARITHMETIC.divide(Decimal(mixed.group(1)), Decimal(mixed.group(2)))
        reading.end = mixed.end()
    elif text[reading.end : reading.end + 1] == "⁄":
        value = _divide(text, reading, value, style, end)
    reading.value = value


def _divide(text: str, reading: Reading, value: Decimal, style: Style, end: int) -> Decimal:
    """The fraction whose bar stands right after the reading."""
    below = _TOKENS[False].match(text, reading.end + 1, end)
    plain = plain_digits(below.group("digits"), style.locale) if below and below["digits"] else None
    if below is None or plain is None or len(plain) > 60 or not Decimal(plain):
        reading.name = True
        return value
    reading.end = below.end()
    reading.place, reading.digits = -28, 28
    return ARITHMETIC.divide(value, Decimal(plain))


def _vulgar(sign: str) -> Decimal:
    text = _VULGAR[sign]
    return Decimal(text) if text else ARITHMETIC.divide(Decimal("⅓⅔".index(sign) + 1), Decimal(3))


def _int(text: str) -> int:
    return int(text.replace("−", "-"))


def plain_digits(token: str, locale: str = "en") -> str | None:
    """A token of digits and separators as plain digits with a point; None when malformed.

    A comma or point groups when the digits after it come in threes (Indian: twos, then three);
    a lone separator is read by the locale; of two kinds the later one is the decimal mark.

    >>> plain_digits("1,00,000"), plain_digits("1.234,5"), plain_digits("11,11.11")
    ('100000', '1234.5', None)
    """
    if token.isdigit():
        return token
    token = re.sub("[ '_]", "\u00a0", token)
    if "\u00a0" in token:
        head, *groups = re.split("[.,]", token)
        parts = head.split("\u00a0")
        if any(len(part) != 3 for part in parts[1:]) or len(parts[0]) > 3 or len(groups) > 1:
            return None
        return "".join(parts) + ("." + groups[0] if groups else "")
    if token[0] == ".":
        return "0" + token
    comma, point = token.count(","), token.count(".")
    if comma and point:
        mark = "," if token.rfind(",") > token.rfind(".") else "."
        if token.count(mark) > 1:
            return None
        whole, _, fraction = token.rpartition(mark)
        whole_digits = _ungroup(re.split("[.,]", whole))
        return None if whole_digits is None else f"{whole_digits}.{fraction}"
    mark = "," if comma else "."
    parts = token.split(mark)
    if len(parts) > 2:
        return _ungroup(parts)
    head, tail = parts
    decimal_mark = "," if locale in {"de", "fr", "ru"} else "."
    groups_of_three = len(tail) == 3 and len(head) <= 3 and head.lstrip("0") == head
    if mark != decimal_mark and groups_of_three and head:
        return head + tail
    return f"{head}.{tail}"


def _ungroup(parts: list[str]) -> str | None:
    head, *middle = parts
    if not head or (head.startswith("0") and middle):
        return None
    western = len(head) <= 3 and all(len(part) == 3 for part in middle)
    indian = (
        len(head) <= 2
        and len(middle) >= 1
        and len(middle[-1]) == 3
        and all(len(part) == 2 for part in middle[:-1])
    )
    return "".join(parts) if western or indian else None


def _look_left(text: str, reading: Reading, floor: int) -> None:
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
            known = before and units.currency_before(text, before.start() - (text[before.start() - 1] == " "))  # fmt: skip
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


def _look_right(text: str, reading: Reading, style: Style, end: int) -> None:
    """Closing bracket, scale words, currency, unit and scale note after the number."""
    at = reading.end
    if text.startswith("/-", at):
        at += 2
    elif ordinal := _ORDINAL.match(text, at, end):
        reading.ordinal = True
        reading.end = ordinal.end()
        return
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
        if char == ")" and not closed:
            closed = reading.enclosed = True
            at = word + 1
            continue
        if char == "-" and word == at and text[word + 1 : word + 2].isalpha():
            word += 1
            scale = units.scale_at(text, word, style.locale, spaced=True)
            if scale is None or scale[0] - word < 3:
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
    note = _NOTE_AFTER.match(text, at, end)
    if note and not scales:
        _apply_note(reading, note, style)
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


def _apply_note(reading: Reading, note: re.Match[str], style: Style) -> None:
    word = note.group("scale") or note.group("plain") or ""
    reading.scale, reading.noted = note_scale(word), True
    if not reading.currencies:
        for name in ("currency", "of"):
            seen = (note.group(name) or "").strip()
            found = units.currency_after(seen, 0) if seen else None
            if found:
                reading.currencies = found[1]


def note_scale(word: str) -> Decimal | None:
    """The factor of the scale word of a note such as `(in thousands)`."""
    if word.strip("'s").startswith("000"):
        return Decimal(1000)
    found = units.scale_at(word, 0, "en")
    return found[1] if found else None


SCALE_NOTE = re.compile(
    rf"\(\s*{_NOTE}[^()\n]{{0,60}}\)|(?:\b(?:figures|amounts|values|numbers|dollars|all|USD)\b|[$€£₹])[^.\n()\d]{{0,30}}\bin\s+"
    r"(?P<plain>thousands|millions|billions|lakhs?|crores?)\b",
    re.IGNORECASE,
)
"""A note that gives the scale of the amounts around it, as `(In thousands, except ...)`."""
