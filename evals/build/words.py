"""Numbers, amounts, dates and requests as English, German and Russian filings word them."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from decimal import Decimal

LANGUAGES = ("en", "de", "ru")
SCALES = {
    "units": 1,
    "thousands": 1_000,
    "lakh": 100_000,
    "millions": 1_000_000,
    "crore": 10_000_000,
    "billions": 1_000_000_000,
}
SYMBOLS = {"USD": "$", "EUR": "€", "INR": "₹"}
NBSP = "\u00a0"

# What stands behind a number in running text. German and Russian abbreviate, as their filings do:
# an abbreviation is the same in every case and number.
_SCALE_WORDS: dict[str, Mapping[str, str]] = {
    "en": {
        "units": "", "thousands": " thousand", "lakh": " lakh",
        "millions": " million", "crore": " crore", "billions": " billion",
    },
    "de": {"units": "", "thousands": " Tsd.", "millions": " Mio.", "billions": " Mrd."},
    "ru": {"units": "", "thousands": " тыс.", "millions": " млн", "billions": " млрд"},
}  # fmt: skip
_MONEY = {("de", "EUR"): "Euro", ("ru", "RUB"): "руб."}
_PER_SHARE = {"en": " per share", "de": " je Aktie", "ru": " на акцию"}
_IN_SCALE: dict[str, Mapping[str, str]] = {
    "en": {
        "units": "", "thousands": "thousands of ", "lakh": "lakhs of ",
        "millions": "millions of ", "crore": "crores of ", "billions": "billions of ",
    },
    "de": {
        "units": "", "thousands": "Tausend ", "millions": "Millionen ", "billions": "Milliarden ",
    },
    "ru": {
        "units": "рублях", "thousands": "тысячах рублей", "millions": "миллионах рублей",
        "billions": "миллиардах рублей",
    },
}  # fmt: skip
_PLURAL_OF_MONEY = {"USD": "dollars", "EUR": "euros", "INR": "rupees"}
_REQUESTS: dict[str, Mapping[str, str]] = {
    "en": {
        "amount": "Answer with the figure only, in {scale}.",
        "per share": "Answer with the amount per share only, in {scale}.",
        "percent": "Answer with the percentage only, to one decimal.",
        "percent as stated": "Answer with the percentage only.",
        "x": "Answer with the ratio only, to two decimals.",
        "bps": "Answer in basis points.",
        "count": "Answer with the number only.",
        "date": "Answer with the date only.",
        "sentence": "Answer in one short sentence.",
        "not stated": 'If the text does not say, answer "not stated".',
        "highest": "List the names from highest to lowest, separated by commas.",
        "lowest": "List the names from lowest to highest, separated by commas.",
        "ties": "Put = between names that are equal.",
        "yes or no": "Answer yes or no.",
        "yes or no first": "Start your answer with Yes or No.",
        "choice": "Answer with one word: {choice}.",
        "or": " or ",
        "summary": "Keep the figures.",
    },
    "de": {
        "amount": "Antworte nur mit dem Betrag in {scale}.",
        "per share": "Antworte nur mit dem Betrag je Aktie in {scale}.",
        "percent": "Antworte nur mit dem Prozentsatz, auf eine Nachkommastelle.",
        "x": "Antworte nur mit der Kennzahl, auf zwei Nachkommastellen.",
        "count": "Antworte nur mit der Zahl.",
        "date": "Antworte nur mit dem Datum.",
        "sentence": "Antworte in einem kurzen Satz.",
        "highest": "Nenne die Namen vom höchsten zum niedrigsten Wert, durch Kommas getrennt.",
        "yes or no": "Antworte mit Ja oder Nein.",
        "choice": "Antworte mit einem Wort: {choice}.",
        "or": " oder ",
        "summary": "Nenne die Zahlen.",
    },
    "ru": {
        "amount": "Ответьте только числом, в {scale}.",
        "per share": "Ответьте только суммой на акцию, в {scale}.",
        "percent": "Ответьте только числом процентов, с одним знаком после запятой.",
        "x": "Ответьте только значением коэффициента, с двумя знаками после запятой.",
        "count": "Ответьте только числом.",
        "date": "Ответьте только датой.",
        "sentence": "Ответьте одним коротким предложением.",
        "highest": "Перечислите названия от большего к меньшему через запятую.",
        "yes or no": "Ответьте «да» или «нет».",
        "choice": "Ответьте одним словом: {choice}.",
        "or": " или ",
        "summary": "Сохраните цифры.",
    },
}  # fmt: skip
_MONTHS = {
    "en": (
        "January", "February", "March", "April", "May", "June", "July", "August", "September",
        "October", "November", "December",
    ),
    "de": (
        "Januar", "Februar", "März", "April", "Mai", "Juni", "Juli", "August", "September",
        "Oktober", "November", "Dezember",
    ),
    "ru": (
        "января", "февраля", "марта", "апреля", "мая", "июня", "июля", "августа", "сентября",
        "октября", "ноября", "декабря",
    ),
}  # fmt: skip


def number(value: Decimal, language: str = "en", *, indian: bool = False) -> str:
    """A number without its sign: `1,234.5`, `1.234,5`, `1 234,5` or, Indian, `1,23,456.7`."""
    whole, _, decimals = f"{abs(value):f}".partition(".")
    if indian and len(whole) > 3:
        head, groups = whole[:-3], [whole[-3:]]
        while head:
            groups.append(head[-2:])
            head = head[:-2]
        whole = ",".join(reversed(groups))
    else:
        separator = {"en": ",", "de": ".", "ru": NBSP}[language]
        whole = f"{int(whole):,}".replace(",", separator)
    point = "." if language == "en" else ","
    return f"{whole}{point}{decimals}" if decimals else whole


def amount(value: Decimal, scale: str, currency: str, language: str) -> str:
    """Money in running text: `$41.2 million`, `41,2 Mio. Euro`, `41,2 млн руб.`."""
    size, word = number(value, language, indian=currency == "INR"), _SCALE_WORDS[language][scale]
    sign = "-" if value < 0 else ""
    if language == "en":
        return f"{sign}{SYMBOLS[currency]}{size}{word}"
    return f"{sign}{size}{word} {_MONEY[language, currency]}"


def quantity(value: Decimal, unit: str, currency: str, language: str) -> str:
    """A figure that is no amount of money: `2.90x`, `4.25%`, `$2.45 per share`."""
    if unit == "per share":
        return amount(value, "units", currency, language) + _PER_SHARE[language]
    size = ("-" if value < 0 else "") + number(value, language)
    if unit == "percent":
        return f"{size} %" if language == "de" else f"{size}%"
    return f"{size}x" if unit == "x" and language == "en" else size


def header(scale: str, currency: str, language: str) -> str:
    """The corner of a table: `$ millions`, `₹ crore`, `Mio. Euro`, `млн руб.`; `$` for units."""
    if language == "en":
        return SYMBOLS[currency] if scale == "units" else f"{SYMBOLS[currency]} {scale}"
    return f"{_SCALE_WORDS[language][scale]} {_MONEY[language, currency]}".strip()


def cell(value: Decimal, currency: str, language: str) -> str:
    """A number in a table: a negative in brackets, in a German one with a minus sign."""
    size = number(value, language, indian=currency == "INR")
    if value >= 0:
        return size
    return f"-{size}" if language == "de" else f"({size})"


def counted(value: Decimal, forms: tuple[str, ...], language: str) -> str:
    """A whole number with its noun in the right number: `1 store`, `2 магазина`, `5 магазинов`.

    Args:
        value: a whole number, at least 0.
        forms: one and many (English, German); one, few and many (Russian).

    Raises:
        ValueError: the number is not whole, or the language needs another count of forms.
    """
    if value != int(value) or len(forms) != (3 if language == "ru" else 2):
        raise ValueError(f"{value} {forms}: a whole number and every form of its noun are needed")
    if language != "ru":
        form = forms[0] if value == 1 else forms[1]
    elif value % 10 == 1 and value % 100 != 11:
        form = forms[0]
    else:
        few = 2 <= value % 10 <= 4 and not 12 <= value % 100 <= 14
        form = forms[1] if few else forms[2]
    return f"{number(value, language)} {form}"


def day(when: date, language: str) -> str:
    """A date: `June 30, 2025`, `30. Juni 2025`, `30 июня 2025 года`."""
    month = _MONTHS[language][when.month - 1]
    if language == "en":
        return f"{month} {when.day}, {when.year}"
    return f"{when.day}{'.' if language == 'de' else ''} {month} {when.year}" + (
        " года" if language == "ru" else ""
    )


def request(kind: str, language: str, **parts: str) -> str:
    """An instruction by its kind: `percent`, `highest`, `yes or no` ...

    Raises:
        KeyError: the language has no words for it.
    """
    return _REQUESTS[language][kind].format(**parts)


def in_scale(scale: str, currency: str, language: str) -> str:
    """What an answer is to be given in: `millions of dollars`, `Millionen Euro`."""
    words = _IN_SCALE[language][scale]
    if language == "ru":
        return words
    return words + (_PLURAL_OF_MONEY[currency] if language == "en" else _MONEY[language, currency])
