"""Numbers written in words: one hundred and twenty, zero point five, two and a half billion."""

from __future__ import annotations

import re
from decimal import Decimal

_UNITS = {
    word: number
    for number, word in enumerate(
        [
            "zero",
            "one",
            "two",
            "three",
            "four",
            "five",
            "six",
            "seven",
            "eight",
            "nine",
            "ten",
            "eleven",
            "twelve",
            "thirteen",
            "fourteen",
            "fifteen",
            "sixteen",
            "seventeen",
            "eighteen",
            "nineteen",
        ]
    )
}
_TENS = {
    word: 10 * number
    for number, word in enumerate(
        ["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"], 2
    )
}
_TENS["fourty"] = 40
_BIG = {
    "thousand": 10**3,
    "lakh": 10**5,
    "lac": 10**5,
    "million": 10**6,
    "crore": 10**7,
    "billion": 10**9,
    "trillion": 10**12,
}
_PARTS = {"half": (1, 2), "halves": (1, 2), "third": (1, 3), "thirds": (1, 3), "quarter": (1, 4),
          "quarters": (1, 4), "fourth": (1, 4), "fourths": (1, 4), "fifth": (1, 5),
          "fifths": (1, 5), "tenth": (1, 10), "tenths": (1, 10), "eighth": (1, 8),
          "eighths": (1, 8)}  # fmt: skip
_BIG.update({word + "s": value for word, value in list(_BIG.items())})

_START = "|".join(sorted([*_UNITS, *_TENS, "nil"], key=len, reverse=True))
_CARDINAL = "|".join(sorted([*_UNITS, *_TENS, "hundred", "dozen", *_BIG], key=len, reverse=True))
_PART = "|".join(sorted(_PARTS, key=len, reverse=True))
WORD_NUMBER = re.compile(
    rf"\b(?:(?:an?\s+(?:hundred|thousand|million|billion|lakh|crore|dozen|half|third|quarter)"
    rf"|{_START}|half|hundred|dozen)\b(?:(?:[\s-]+(?:and\s+)?(?:an?\s+)?|\s+(?=point\b))"
    rf"(?:{_CARDINAL}|{_PART}|point)\b){{0,40}})",
    re.IGNORECASE,
)
"""A run of number words."""

_SPLIT = re.compile(r"[\s-]+")


def words_to_decimal(text: str) -> tuple[Decimal, Decimal | None] | None:
    """The value of a run of number words, and the scale 1 if it holds a word from thousand up.

    A run with such a word states its full size; one without is a bare number.

    >>> words_to_decimal("one and a half billion")
    (Decimal('1500000000.0'), Decimal('1'))
    """
    spoken = [word for word in _SPLIT.split(text.lower()) if word not in {"a", "an"}]
    words = [word for word in spoken if word != "and"]
    if not words or words[-1] == "point":
        return None
    if words == ["nil"]:
        return Decimal(0), None
    total, group, scaled = Decimal(0), Decimal(0), False
    seen = False
    place: Decimal | None = None
    added = False
    for word in spoken:
        if word == "and":
            added = True
            continue
        if word in _UNITS or word in _TENS:
            number = Decimal(_UNITS.get(word, _TENS.get(word, 0)))
            if place is not None:
                group += number * place
                place /= 10
            else:
                group += number
            seen = True
        elif word == "point":
            place = Decimal("0.1")
        elif word in {"hundred", "dozen"}:
            group = (group if seen else Decimal(1)) * (100 if word == "hundred" else 12)
            seen = True
        elif word in _PARTS:
            top, bottom = _PARTS[word]
            part = Decimal(top) / Decimal(bottom)
            # "two thirds" and "one half" divide, "two and a half" adds
            group = group * part if seen and not added else group + part
            seen = True
        elif word in _BIG:
            factor = Decimal(_BIG[word])
            if seen and group:
                total, group = _add_scaled(total, group, factor)
            else:
                total, group = (
                    _add_scaled(total, Decimal(1), factor) if not total else (total * factor, group)
                )
            scaled, seen, place = True, False, None
        else:
            return None
        added = False
    return total + group, Decimal(1) if scaled else None


def _add_scaled(total: Decimal, group: Decimal, factor: Decimal) -> tuple[Decimal, Decimal]:
    return total + group * factor, Decimal(0)
