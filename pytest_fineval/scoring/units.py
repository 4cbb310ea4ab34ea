"""Units, currencies and scale words: what may stand beside a number, and how units convert."""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Context, Decimal

from pytest_fineval.errors import nearest
from pytest_fineval.scoring.reading import ARITHMETIC

DOLLARS = ("USD", "CAD", "AUD", "NZD", "HKD", "SGD", "TWD", "MXN", "BRL", "JMD", "BBD", "TTD")
RUPEES = ("INR", "PKR", "NPR", "LKR", "MUR", "BDT")
CRORE_CURRENCIES = ("INR", "NPR", "PKR", "BDT")
ISO = frozenset(
    [
        "AED",
        "AFN",
        "ALL",
        "AMD",
        "ANG",
        "AOA",
        "ARS",
        "AUD",
        "AWG",
        "AZN",
        "BAM",
        "BBD",
        "BDT",
        "BGN",
        "BHD",
        "BIF",
        "BMD",
        "BND",
        "BOB",
        "BRL",
        "BSD",
        "BTN",
        "BWP",
        "BYN",
        "BZD",
        "CAD",
        "CDF",
        "CHF",
        "CLP",
        "CNH",
        "CNY",
        "COP",
        "CRC",
        "CUP",
        "CVE",
        "CZK",
        "DJF",
        "DKK",
        "DOP",
        "DZD",
        "EGP",
        "ERN",
        "ETB",
        "EUR",
        "FJD",
        "FKP",
        "GBP",
        "GEL",
        "GHS",
        "GIP",
        "GMD",
        "GNF",
        "GTQ",
        "GYD",
        "HKD",
        "HNL",
        "HRK",
        "HTG",
        "HUF",
        "IDR",
        "ILS",
        "INR",
        "IQD",
        "IRR",
        "ISK",
        "JMD",
        "JOD",
        "JPY",
        "KES",
        "KGS",
        "KHR",
        "KMF",
        "KPW",
        "KRW",
        "KWD",
        "KYD",
        "KZT",
        "LAK",
        "LBP",
        "LKR",
        "LRD",
        "LSL",
        "LYD",
        "MAD",
        "MDL",
        "MGA",
        "MKD",
        "MMK",
        "MNT",
        "MOP",
        "MRU",
        "MUR",
        "MVR",
        "MWK",
        "MXN",
        "MYR",
        "MZN",
        "NAD",
        "NGN",
        "NIO",
        "NOK",
        "NPR",
        "NZD",
        "OMR",
        "PAB",
        "PEN",
        "PGK",
        "PHP",
        "PKR",
        "PLN",
        "PYG",
        "QAR",
        "RON",
        "RSD",
        "RUB",
        "RWF",
        "SAR",
        "SBD",
        "SCR",
        "SDG",
        "SEK",
        "SGD",
        "SHP",
        "SLE",
        "SOS",
        "SRD",
        "SSP",
        "STN",
        "SYP",
        "SZL",
        "THB",
        "TJS",
        "TMT",
        "TND",
        "TOP",
        "TRY",
        "TTD",
        "TWD",
        "TZS",
        "UAH",
        "UGX",
        "USD",
        "UYU",
        "UZS",
        "VES",
        "VND",
        "VUV",
        "WST",
        "XAF",
        "XAG",
        "XAU",
        "XCD",
        "XOF",
        "XPF",
        "YER",
        "ZAR",
        "ZMW",
        "ZWL",
    ]
)

_SYMBOLS: dict[str, tuple[str, ...]] = {
    "US$": ("USD",), "U.S.$": ("USD",), "USD$": ("USD",), "$US": ("USD",), "C$": ("CAD",),
    "CA$": ("CAD",), "CAD$": ("CAD",), "CDN$": ("CAD",), "CAN$": ("CAD",), "A$": ("AUD",),
    "AU$": ("AUD",), "AUD$": ("AUD",), "NZ$": ("NZD",), "HK$": ("HKD",), "S$": ("SGD",),
    "SG$": ("SGD",), "NT$": ("TWD",), "MX$": ("MXN",), "R$": ("BRL",), "$": DOLLARS,
    "€": ("EUR",), "£": ("GBP", "EGP", "GIP"), "¥": ("JPY", "CNY", "CNH"), "￥": ("JPY", "CNY"),
    "CN¥": ("CNY",), "RMB": ("CNY", "CNH"), "RMB¥": ("CNY",), "元": ("CNY", "TWD"),
    "円": ("JPY",), "₹": ("INR",), "₨": RUPEES, "Rs.": RUPEES, "Rs": RUPEES, "Re.": RUPEES,
    "Re": RUPEES, "₩": ("KRW",), "₽": ("RUB",), "₺": ("TRY",), "₴": ("UAH",), "₪": ("ILS",),
    "฿": ("THB",), "₫": ("VND",), "₦": ("NGN",), "₱": ("PHP",), "₸": ("KZT",), "zł": ("PLN",),
    "Kč": ("CZK",), "Ft": ("HUF",), "RM": ("MYR",), "Rp": ("IDR",), "R": ("ZAR",),
    "SFr.": ("CHF",), "Fr.": ("CHF",), "kr.": ("SEK", "NOK", "DKK", "ISK"),
    "kr": ("SEK", "NOK", "DKK", "ISK"),
}  # fmt: skip
_WORDS: dict[str, tuple[str, ...]] = {
    r"(?:u\.?s\.?a?|american)[ -]dollars?": ("USD",), r"canadian dollars?": ("CAD",),
    r"australian dollars?": ("AUD",), r"new zealand dollars?": ("NZD",),
    r"hong kong dollars?": ("HKD",), r"singapore dollars?": ("SGD",), r"dollars?": DOLLARS,
    r"euros?": ("EUR",), r"british pounds?|pounds? sterling|sterling": ("GBP",),
    r"pounds?": ("GBP", "EGP", "GIP"), r"(?:japanese )?yen": ("JPY",),
    r"(?:chinese )?yuan|renminbi": ("CNY", "CNH"), r"indian rupees?": ("INR",),
    r"pakistani rupees?": ("PKR",), r"rupees?": RUPEES, r"swiss francs?": ("CHF",),
    r"francs?": ("CHF", "XAF", "XOF"), r"rou?bles?|руб(?:\.|лей|ля|ль)?": ("RUB",),
    r"(?:korean )?won": ("KRW",), r"mexican pesos?": ("MXN",), r"reais|real\b": ("BRL",),
    r"(?:swedish )?kronor": ("SEK",), r"norwegian kroner": ("NOK",), r"danish kroner": ("DKK",),
    r"kroner": ("NOK", "DKK"), r"zlotys?|złotych": ("PLN",), r"rand": ("ZAR",),
    r"dirhams?": ("AED", "MAD"), r"riyals?": ("SAR", "QAR"), r"евро": ("EUR",),
    r"доллар\w{0,3}": DOLLARS,
}  # fmt: skip
_MINOR: dict[str, tuple[str, ...]] = {
    r"cents?|¢": (*DOLLARS, "EUR", "ZAR"), r"pence|penny|p(?![\w.])": ("GBP",),
    r"paise|paisa": ("INR", "PKR", "NPR"), r"c(?![\w.])": (*DOLLARS, "EUR", "ZAR"),
}  # fmt: skip


def _alternatives(parts: list[str]) -> str:
    return "|".join(sorted(map(re.escape, parts), key=len, reverse=True))


_CODES = "|".join(sorted(ISO))
_SIGNS = [symbol for symbol in _SYMBOLS if not symbol[-1].isalpha() and symbol[-1] != "."]
_LETTERED = [symbol for symbol in _SYMBOLS if symbol not in _SIGNS]
_CURRENCY_BEFORE = re.compile(
    rf"(?:(?<![A-Za-z])(?:{_alternatives([s for s in _SIGNS if s[0].isalpha()])})"
    rf"|{_alternatives([s for s in _SIGNS if not s[0].isalpha()])}|\$US"
    rf"|(?<![A-Za-z])(?:{_alternatives(_LETTERED)}|{_CODES}))$"
)
_CURRENCY_AFTER = re.compile(
    rf"(?P<sign>{_alternatives(_SIGNS)})(?!\s?\d)"
    rf"|(?P<code>{_CODES})(?![A-Za-z])|(?P<abbreviation>(?:{_alternatives(_LETTERED)}))(?!\w)"
)
_CURRENCY_WORD = re.compile(
    "|".join(f"(?P<w{i}>(?:{word}))(?!\\w)" for i, word in enumerate(_WORDS)), re.IGNORECASE
)
_CURRENCY_MINOR = re.compile("|".join(f"(?P<m{i}>{word})(?!\\w)" for i, word in enumerate(_MINOR)))

_SCALES: dict[str, int] = {
    r"hundreds?": 2, r"thousands?|thsd\.?|ths\.?|tsd\.?|mille|тыс(?:\.|яч\w{0,2})?": 3,
    r"lakhs?|lacs?|lakh": 5, r"millions?|millionen|mio\.?|mill\.|mln\.?|млн\.?|миллион\w{0,3}": 6,
    r"crores?|crs?\.?": 7, r"billions?|bln\.?": 9, r"milliarden?|milliards?|mrd\.?|mds?|млрд\.?|миллиард\w{0,3}": 9,
    r"trillions?|trn|трлн\.?|триллион\w{0,3}": 12, r"billionen|bio\.": 12,
}  # fmt: skip
_SHORT: dict[str, int] = {
    "k": 3, "K": 3, "m": 6, "M": 6, "mm": 6, "MM": 6, "mn": 6, "Mn": 6, "MN": 6, "b": 9, "B": 9,
    "bn": 9, "Bn": 9, "BN": 9, "t": 12, "T": 12, "tn": 12, "Tn": 12, "TN": 12,
}  # fmt: skip
_SCALE_WORD = re.compile(
    "|".join(f"(?P<s{i}>{word})(?![A-Za-z0-9])" for i, word in enumerate(_SCALES)), re.IGNORECASE
)
_SCALE_SHORT = re.compile(
    rf"(?P<short>{_alternatives(list(_SHORT))})(?=$|[^A-Za-z0-9'&]|(?:{_CODES})\b|€|\$|£)"
)
_SCALE_CJK = {"万": 4, "萬": 4, "億": 8, "亿": 8, "兆": 12, "千": 3, "百万": 6, "百萬": 6}
_CJK = re.compile(_alternatives(list(_SCALE_CJK)))
_GUARDED = Context(prec=40, Emax=999_999, Emin=-999_999)
_POWERS = [Decimal(10) ** power for power in range(20)]
_WORD_POWERS = list(_SCALES.values())
_GERMAN_BILLION = re.compile(r"billion(?:s|en)?$", re.IGNORECASE)

_UNITS: dict[str, str] = {
    "pp": r"percentage[- ]points?|percent[- ]points?|%[- ]?(?:points?|pts?)\b|pp(?:ts?)?\b|ppts?\b"
    r"|p\.p\.|prozentpunkte?n?|points? de pourcentage|п\.\s?п\.",
    "percent": r"%|per\s?cent(?:age)?\b|pct\b\.?|prozent|pour ?cent\b|процент\w{0,3}",
    "permille": r"‰|per mille?\b",
    "bps": r"bps?\b|bpts\b|basis[- ]points?|basispunkte?",
    "x": r"(?:x|×)(?!\s?[\d(]|\w)|times\b|-?fold\b",
    "ratio": r"ratio\b",
    "shares": r"(?:(?:common|ordinary|equity|preferred|preference|diluted|basic|outstanding|ads"
    r"|class [ab]) ){0,2}shares?\b|stock units?\b",
    "days": r"(?:(?:calendar|business|working|trading) )?days?\b|tage?\b|jours?\b",
    "weeks": r"weeks?\b|wks?\b",
    "months": r"months?\b|mos?\b\.?|monate?\b|mois\b",
    "quarters": r"quarters?\b",
    "years": r"years?\b|yrs?\b\.?|jahre?\b|ans?\b(?= ?[.,;)]|$)",
}
_UNIT = re.compile("|".join(f"(?P<{name}>{text})" for name, text in _UNITS.items()), re.IGNORECASE)
_PER_SHARE = re.compile(
    r"\s*(?:per|a|/|each)\s*(?:(?:diluted|basic|common|ordinary|equity|adjusted) ){0,3}"
    r"(?:shares?|ads|unit)\b|\s*each\b",
    re.IGNORECASE,
)

_FAMILY: dict[str, tuple[str, Decimal]] = {
    "percent": ("share", Decimal("0.01")),
    "pp": ("share", Decimal("0.01")),
    "permille": ("share", Decimal("0.001")),
    "bps": ("share", Decimal("0.0001")),
    "ratio": ("share", Decimal(1)),
    "x": ("share", Decimal(1)),
    "days": ("days", Decimal(1)),
    "weeks": ("days", Decimal(7)),
    "months": ("months", Decimal(1)),
    "quarters": ("months", Decimal(3)),
    "years": ("months", Decimal(12)),
}
KINDS = (*_FAMILY, "shares", "count", "year", "rank", "number")


@dataclass(frozen=True, slots=True)
class Unit:
    """A unit that a case declares.

    Attributes:
        kind: `money`, one of KINDS, or `free` for any other text.
        currency: ISO code of money.
        per_share: money a share.
        words: the words of a free unit, folded.
    """

    kind: str
    currency: str = ""
    per_share: bool = False
    words: str = ""

    @property
    def counts(self) -> bool:
        """Whether it counts things: a bracket round such a number never means a minus."""
        return self.kind in {"count", "shares", "days", "weeks", "months", "quarters", "years",
                             "year", "rank", "free"}  # fmt: skip


def parse_unit(text: str) -> Unit:
    """The unit that a case names.

    Raises:
        ValueError: empty, or three capitals (with or without `/share`) that are no currency.
    """
    word = text.strip()
    if not word:
        raise ValueError("a unit is needed, such as USD, USD/share, percent, ratio or count")
    code, slash, rest = word.partition("/")
    if code in ISO and (not slash or rest.strip().lower() == "share"):
        return Unit("money", currency=code, per_share=bool(slash))
    if slash and rest.strip().lower() == "share":
        raise ValueError(f'"{code}" is no ISO 4217 currency; {nearest(code, ISO)}')
    folded = word.lower()
    alias = {"%": "percent", "percentage": "percent", "bp": "bps", "day": "days", "year(s)": "years",
             "month": "months", "times": "x", "multiple": "x", "share": "shares"}  # fmt: skip
    kind = alias.get(folded, folded)
    return Unit(kind) if kind in KINDS else Unit("free", words=folded)


def factor(seen: str, declared: str) -> Decimal | None:
    """What a number in unit `seen` is multiplied by to be in unit `declared`; None: no way."""
    if seen == declared:
        return _POWERS[0]
    from_family, to_family = _FAMILY.get(seen), _FAMILY.get(declared)
    if from_family is None or to_family is None or from_family[0] != to_family[0]:
        return None
    return ARITHMETIC.divide(from_family[1], to_family[1])


def converted(value: Decimal, factor: Decimal) -> Decimal:
    """A value times a factor that may have been rounded: a twelfth of 18 is 1.5 exactly."""
    product = ARITHMETIC.multiply(value, factor)
    return product if factor == 1 or len(factor.as_tuple().digits) < 20 else _GUARDED.plus(product)


def currency_before(text: str, end: int) -> tuple[int, tuple[str, ...]] | None:
    """A currency that ends at `end`: where it starts and what it may mean."""
    sign = text[end - 1]
    if not sign.isalpha() and sign != ".":
        lone = _SYMBOLS.get(sign)
        if lone is None or end < 2 or not (text[end - 2].isalpha() or text[end - 2] == "."):
            return None if lone is None else (end - 1, lone)
    match = _CURRENCY_BEFORE.search(text, max(0, end - 6), end)
    if match is None:
        return None
    word = match.group()
    return match.start(), _SYMBOLS.get(word) or (word,)


def currency_after(text: str, at: int) -> tuple[int, tuple[str, ...], bool] | None:
    """A currency that starts at `at`: its end, what it may mean, and whether it is a hundredth."""
    match = _CURRENCY_AFTER.match(text, at)
    if match is not None:
        word = match.group(match.lastgroup or 0)
        return match.end(), _SYMBOLS.get(word) or (word,), False
    match = _CURRENCY_WORD.match(text, at)
    if match is not None:
        return match.end(), list(_WORDS.values())[int((match.lastgroup or "w0")[1:])], False
    match = _CURRENCY_MINOR.match(text, at)
    if match is not None:
        return match.end(), list(_MINOR.values())[int((match.lastgroup or "m0")[1:])], True
    return None


def scale_at(
    text: str, at: int, locale: str, *, spaced: bool = False
) -> tuple[int, Decimal] | None:
    """A scale word or letter that starts at `at`: its end and its factor.

    Args:
        spaced: a space stands before it; then a lone `b` or `t` is no scale.
    """
    match = _SCALE_WORD.match(text, at)
    if match is not None:
        power = _WORD_POWERS[int((match.lastgroup or "s0")[1:])]
        if power == 9 and locale in {"de", "fr"} and _GERMAN_BILLION.match(match.group()):
            power = 12
        return match.end(), _POWERS[power]
    match = _SCALE_SHORT.match(text, at)
    if match is not None and not (spaced and match.group() in {"b", "t"}):
        return match.end(), _POWERS[_SHORT[match.group()]]
    match = _CJK.match(text, at)
    if match is not None:
        return match.end(), _POWERS[_SCALE_CJK[match.group()]]
    return None


def unit_at(text: str, at: int) -> tuple[int, str] | None:
    """A unit word or sign that starts at `at`: its end and its kind."""
    match = _UNIT.match(text, at)
    return None if match is None else (match.end(), match.lastgroup or "")


def per_share_at(text: str, at: int) -> int | None:
    """The end of `per share` that starts at `at`."""
    match = _PER_SHARE.match(text, at)
    return None if match is None else match.end()
