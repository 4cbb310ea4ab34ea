"""A number as it is written: what the reader of numbers is told, and what it hands on."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Context, Decimal

EXPONENT_CAP = 400
"""Numbers of this many digits or powers of ten are out of range."""

ARITHMETIC = Context(prec=60, Emax=999_999, Emin=-999_999)
"""Decimal arithmetic of all comparisons: exact for every number a person writes."""


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
        plain: digits only; signed: a sign stands before it; ordinal: as in `3rd`.
        compound: joined to its unit by a hyphen, as in `30-day`.
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
    compound: bool = False
