"""jfinqa: the official one-percent match, and one that respects sign, unit and period."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from pydantic import Field

from pytest_fineval.cases.model import Gold
from pytest_fineval.scoring.official.base import (
    BenchmarkScorer,
    final_answer,
    gold_text,
    plain_number,
)
from pytest_fineval.scoring.score import Score
from pytest_fineval.settings import Frozen

REVISION = "04831da9a5cdf1d1399c8adcc499faed25adb41a"
"""Revision of github.com/ajtgjmdjp/jfinqa whose metric the official functions reproduce."""

REL_TOL = 0.01
"""Relative tolerance of the published metric."""

# The order decides: a compound unit has to go before the sign it ends with.
_ENDINGS = ("百万円", "千円", "億円", "兆円", "円", "ドル", "ポイント", "pt", "bps")

# 百万 before 千 would not change a verdict, but the first one found is the only one applied.
_BARE_MULTIPLIERS = (("千", 1e3), ("百万", 1e6), ("億", 1e8), ("兆", 1e12))

_PAST_TENSE = ("しました", "した")


def normalize(text: str) -> str:
    """The text as the official metric compares it.

    Args:
        text: an answer or a gold answer.

    Returns:
        Trimmed, NFKC, a leading triangle as "-", no commas between digits, a past-tense ending
        cut, lower case.

    Source: jfinqa, revision 04831da9.
    """
    text = unicodedata.normalize("NFKC", text.strip())
    if text[:1] in {"△", "▲"}:
        text = "-" + text[1:]
    text = re.sub(r"(?<=\d),(?=\d)", "", text)
    for ending in _PAST_TENSE:
        if text.endswith(ending):
            text = text.removesuffix(ending)
            break
    return text.lower().strip()


def read_number(text: str) -> float | None:
    """The number the official metric sees in a text, its unit cut off and not applied.

    Args:
        text: an answer, normalised or not.

    Returns:
        The number, or None where the characters left over spell none.
    """
    text = normalize(text)
    for ending in _ENDINGS:
        text = text.removesuffix(ending)
    factor = 1.0
    for word, multiplier in _BARE_MULTIPLIERS:
        if word in text:
            text, factor = text.replace(word, ""), multiplier
            break
    try:
        # Whatever stands between the digits goes, so that 2024年3月 becomes 20243.
        return float(re.sub(r"[^\d.\-+]", "", text)) * factor
    except ValueError:
        return None


def exact_match(answer: str, gold: str) -> bool:
    """Whether both texts are equal once normalised."""
    return normalize(answer) == normalize(gold)


def numerical_match(answer: str, gold: str, rel_tol: float = REL_TOL) -> bool:
    """The official verdict: equal within a share of the gold, else as text.

    Args:
        answer: what the model wrote, as it stands.
        gold: the gold answer.
        rel_tol: share of |gold| by which the answer may differ, inclusive.

    Returns:
        Right or wrong. A gold of 0 needs exactly 0; texts are compared where either side holds no
        number.

    Source: jfinqa, revision 04831da9.
    """
    seen, wanted = read_number(answer), read_number(gold)
    if seen is None or wanted is None:
        return exact_match(answer, gold)
    if wanted == 0:
        return seen == 0
    return abs(seen - wanted) / abs(wanted) <= rel_tol


# --- strict -------------------------------------------------------------------------------------

_MULTIPLIERS = {
    "": Decimal(1),
    "千": Decimal(10) ** 3,
    "万": Decimal(10) ** 4,
    "百万": Decimal(10) ** 6,
    "億": Decimal(10) ** 8,
    "兆": Decimal(10) ** 12,
}
_UNITS = {
    "": None,
    "円": "yen",
    "ドル": "dollar",
    "%": "percent",
    "ポイント": "points",
    "%ポイント": "points",
    "pt": "points",
    "bps": "bps",
    "倍": "times",
}
_SIGNS = {"¥": "yen", "$": "dollar"}
_NUMBER = r"[0-9]{1,3}(?:,[0-9]{3})+(?:\.[0-9]+)?|[0-9]+(?:\.[0-9]+)?"
_PART = re.compile(rf"({_NUMBER})\s*(百万|千|万|億|兆)?\s*")
_HEAD = re.compile(r"(?:約|およそ)?\s*([-+]?)\s*([¥$]?)\s*([-+]?)\s*")
_MINUS = str.maketrans(dict.fromkeys("−‐‑–—△▲", "-"))
_MAX_DIGITS = 60
# 9.9%減少 states a fall of 9.9 %; the longer word is tried first.
_DIRECTIONS = (("増加", 1), ("上昇", 1), ("増", 1), ("減少", -1), ("低下", -1), ("減", -1))


@dataclass(frozen=True, slots=True)
class Quantity:
    """A number as written, with its multiplier and unit apart.

    Attributes:
        number: the digits as written, signed.
        base: the number with its multiplier applied (5億 = 500000000).
        unit: yen, dollar, percent, points, bps, times; None where none is written.
        scaled: a multiplier was written.
    """

    number: Decimal
    base: Decimal
    unit: str | None
    scaled: bool


def read_quantity(text: str) -> Quantity | None:
    """The quantity a text consists of, or None where it holds anything else.

    Args:
        text: NFKC text of one line.

    Returns:
        The quantity. A triangle, any minus sign and accounting parentheses are negative; mixed
        multipliers add up (1億5,000万); a closing word of fall (減少) is negative; malformed
        grouping and a sign against such a word are no quantity.
    """
    text = text.translate(_MINUS).rstrip("。. ").strip()
    direction = next((item for item in _DIRECTIONS if text.endswith(item[0])), None)
    if direction:
        text = text.removesuffix(direction[0]).strip()
    negative = False
    if text.startswith("(") and text.endswith(")"):
        text, negative = text[1:-1].strip(), True
    head = _HEAD.match(text)
    if head is None or (head[1] and head[3]):
        return None
    negative ^= "-" in (head[1], head[3])
    if direction:
        if negative:
            return None
        negative = direction[1] < 0
    position, base, number, parts, scaled = head.end(), Decimal(0), Decimal(0), 0, False
    previous = None
    while part := _PART.match(text, position):
        factor = _MULTIPLIERS[part[2] or ""]
        # 1億5,000万 descends; anything else is two numbers, not one.
        if len(part[1]) > _MAX_DIGITS or (previous is not None and factor >= previous):
            return None
        number = Decimal(part[1].replace(",", ""))
        base, previous, position = base + number * factor, factor, part.end()
        parts, scaled = parts + 1, scaled or bool(part[2])
    rest = text[position:].strip().lower()
    if not parts or rest not in _UNITS:
        return None
    unit = _UNITS[rest] or _SIGNS.get(head[2])
    if parts > 1:
        number = base
    sign = -1 if negative else 1
    return Quantity(sign * number, sign * base, unit, scaled)


def strict_match(
    answer: str, gold: str, rel_tol: float = REL_TOL, scale: float | None = None
) -> tuple[bool, str | None]:
    """Compare the committed answer with the gold, units and periods included.

    Args:
        answer: what the model wrote; compared is what follows its last answer marker, else its
            last line.
        gold: the gold answer.
        rel_tol: share of |gold| by which a number may differ, inclusive.
        scale: factor of the table's unit (1e6 for million yen), for golds written without unit.

    Returns:
        The verdict, and a failure kind where nothing comparable was read. A bare number is read
        in the gold's unit; a written unit has to be the gold's. Where the gold has no unit, an
        amount in yen may be meant in yen or in the unit it is written in, unless `scale` says.
    """
    said = _committed(answer)
    if not said:
        return False, "empty"
    wanted = read_quantity(unicodedata.normalize("NFKC", gold).strip())
    seen = read_quantity(said)
    if wanted is None:
        return _words(said) == _words(gold), None
    if seen is None:
        return False, "no_number"
    pairs = _readings(seen, wanted, scale)
    if not pairs:
        return False, "wrong_currency" if "dollar" in (seen.unit, wanted.unit) else "unit_mismatch"
    tolerance = Decimal(str(rel_tol))
    return any(abs(s - w) <= tolerance * abs(w) for s, w in pairs), None


def _committed(text: str) -> str:
    return final_answer(unicodedata.normalize("NFKC", text))


def _readings(
    seen: Quantity, wanted: Quantity, scale: float | None
) -> list[tuple[Decimal, Decimal]]:
    money = {None, "yen"}
    if seen.unit is None and not seen.scaled:
        return [(seen.number, wanted.number)]
    if wanted.unit is None and not wanted.scaled and seen.unit in money:
        if scale is not None:
            return [(seen.base, wanted.base * Decimal(str(scale)))]
        return [(seen.base, wanted.base), (seen.number, wanted.number)]
    if seen.unit == wanted.unit or (seen.unit in money and wanted.unit in money):
        return [(seen.base, wanted.base)]
    return []


def _words(text: str) -> str:
    return normalize(unicodedata.normalize("NFKC", text).strip().rstrip("。. "))


# --- as scorers ---------------------------------------------------------------------------------


class Options(Frozen):
    """Options of both jfinqa scorers."""

    rel_tol: float = Field(REL_TOL, ge=0, le=1)


class OfficialScorer(BenchmarkScorer):
    """The published metric on the whole output: unit, scale and period are not looked at."""

    Options = Options

    def __init__(self, identity: str, options: Any, gold: Gold):
        super().__init__(identity, options, gold)
        self.wanted = gold_text(gold)

    def judge(self, text: str) -> Score:
        right = numerical_match(text, self.wanted, self.options.rel_tol)
        number = read_number(text)
        parsed = normalize(text) if number is None else plain_number(number)
        return self.verdict(right, parsed)


class StrictScorer(BenchmarkScorer):
    """The final answer with its sign, unit, multiplier and period."""

    Options = Options

    def __init__(self, identity: str, options: Any, gold: Gold):
        super().__init__(identity, options, gold)
        self.wanted = gold_text(gold)

    def judge(self, text: str) -> Score:
        said = _committed(text)
        right, failure = strict_match(text, self.wanted, self.options.rel_tol, self.gold.scale)
        seen = read_quantity(said)
        parsed = plain_number(seen.number) if seen else None if failure else said
        return self.verdict(right, parsed, failure)
