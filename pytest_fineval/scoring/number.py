"""The one number reader of the project: from text to Decimal, with what stands beside the number.

It reads grouping (Western, Indian, Swiss, spaces), decimal commas, signs and accounting brackets,
e-notation and powers of ten, fractions, scale words, currencies and units. It does not know what
a case asks: `numeric` decides what fits.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from decimal import Decimal

from pytest_fineval.scoring.beside import look_left, look_right
from pytest_fineval.scoring.reading import ARITHMETIC, EXPONENT_CAP, Reading, Style
from pytest_fineval.scoring.words import WORD_NUMBER, words_to_decimal

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
_TOKEN_START = re.compile(r"[\d.½¼¾⅓⅔⅛⅜⅝⅞⅕⅖⅗⅘]")
_POWER = re.compile(r"\s?[×x*]\s?10\s?\^\s?\(?([-+−]?\d{1,9})\)?")
_POWER_SIGNS = frozenset("×x*^")
_OWN_POWER = re.compile(r"\s?\^\s?\(?([-+−]?\d{1,9})\)?")
_MIXED = re.compile(r" (\d{1,2})/(\d{1,3})(?![\d/])")


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
    while begin := _TOKEN_START.search(text, at, end):
        match = token.match(text, begin.start(), end)
        if match is None:
            at = begin.end()
            continue
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
        look_left(text, reading, start)
        look_right(text, reading, style, end)
        yield reading


def decimal_of(text: str, locale: str = "en") -> Decimal | None:
    """The plain number that the whole text is, grouping and sign included; else None.

    >>> decimal_of("1,00,000.50")
    Decimal('100000.50')
    """
    found = list(find_numbers(text.strip(), Style(locale=locale)))
    if len(found) != 1:
        return None
    reading = found[0]
    if reading.value is None or reading.scale or reading.unit or reading.currencies:
        return None
    if reading.start != 0 or reading.end != len(text.strip()):
        return None
    return -reading.value if reading.negative or reading.enclosed else reading.value


def _read(text: str, match: re.Match[str], style: Style, start: int, end: int) -> Reading:
    reading = Reading(match.start(), match.end(), match.start())
    _set_value(text, reading, match, style, end)
    look_left(text, reading, start)
    look_right(text, reading, style, end)
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
    whole, _, fraction = plain.partition(".")
    if match.end("digits") == match.end() and len(plain) < 60 and _stands_alone(text, reading.end):
        reading.value, reading.place = Decimal(plain), -len(fraction)
        reading.digits = len((whole + fraction).lstrip("0")) or 1
        return
    power = 0
    if exponent:
        power = _int(exponent[1:])
    powered = text[reading.end : reading.end + 2].strip()[:1] in _POWER_SIGNS
    times = _POWER.match(text, reading.end, end) if powered else None
    own = _OWN_POWER.match(text, reading.end, end) if powered and not times else None
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
    reading.place = power - len(fraction)
    reading.digits = len(plain.replace(".", "").lstrip("0")) or 1
    if power:
        value = ARITHMETIC.scaleb(value, power) if len(plain) < 60 else value.scaleb(power)
    if follows_vulgar := match.group("vulgar"):
        value = ARITHMETIC.add(value, _vulgar(follows_vulgar))
    elif reading.plain and (mixed := _MIXED.match(text, reading.end, end)) and int(mixed.group(2)):
        value += ARITHMETIC.divide(Decimal(mixed.group(1)), Decimal(mixed.group(2)))
        reading.end = mixed.end()
    elif text[reading.end : reading.end + 1] == "⁄":
        value = _divide(text, reading, value, style, end)
    reading.value = value


def _stands_alone(text: str, end: int) -> bool:
    """Whether no power, fraction or mixed number can follow: the common case, told cheaply."""
    follows = text[end : end + 2]
    sign = follows.strip()[:1]
    return not (
        sign in _POWER_SIGNS
        or sign == "⁄"
        or sign in _VULGAR
        or (follows[:1] == " " and sign.isdigit())
    )


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


_SPACERS = frozenset(" '_\u00a0")
_USUAL = re.compile(r"[1-9]\d{0,2}(?:,\d{3})+\.\d+")


def plain_digits(token: str, locale: str = "en") -> str | None:
    """A token of digits and separators as plain digits with a point; None when malformed.

    A comma or point groups when the digits after it come in threes (Indian: twos, then three);
    a lone separator is read by the locale; of two kinds the later one is the decimal mark.

    >>> plain_digits("1,00,000"), plain_digits("1.234,5"), plain_digits("11,11.11")
    ('100000', '1234.5', None)
    """
    if token.isdigit():
        return token
    if _USUAL.fullmatch(token):
        return token.replace(",", "")
    if not _SPACERS.isdisjoint(token):
        token = re.sub("[ '_]", "\u00a0", token)
        head, *groups = re.split("[.,]", token)
        parts = head.split("\u00a0")
        if any(len(part) != 3 for part in parts[1:]) or len(parts[0]) > 3 or len(groups) > 1:
            return None
        if groups and "\u00a0" in groups[0]:  # a fraction is never grouped
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
        whole_digits = _ungroup(whole.replace(".", ",").split(","))
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
