"""A number written in any supported form is read back as that number."""

from decimal import Decimal

from hypothesis import given
from hypothesis import strategies as st

from pytest_fineval.cases.model import Gold, ScorerSpec
from pytest_fineval.scoring.number import plain_digits
from pytest_fineval.scoring.registry import prepare
from pytest_fineval.scoring.words import words_to_decimal
from tests.fuzz.budget import tried

ONES = [
    *("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"),
    *("eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen"),
    "nineteen",
]
TENS = ["", "", "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"]

numbers = st.decimals(
    min_value=Decimal("-99999999"), max_value=Decimal("99999999"), allow_nan=False, places=2
)
"""With cents, both signs, up to 100 million."""


def plain(number):
    """Digits with a point, without exponent."""
    return f"{number:f}"


def grouped(number, comma=",", point="."):
    """Thousands in threes."""
    return f"{number:,f}".replace(",", "\0").replace(".", point).replace("\0", comma)


def indian(number):
    """Lakh and crore grouping: three digits, then twos."""
    whole, _, rest = plain(abs(number)).partition(".")
    head, tail = whole[:-3], whole[-3:]
    pairs = []
    while head:
        pairs.insert(0, head[-2:])
        head = head[:-2]
    return ("-" if number < 0 else "") + ",".join([*pairs, tail]) + (f".{rest}" if rest else "")


def spoken(number):
    """A whole number below a trillion in English words."""
    for size, name in ((10**9, "billion"), (10**6, "million"), (1000, "thousand")):
        if number >= size:
            rest = number % size
            return f"{spoken(number // size)} {name}" + (f" {spoken(rest)}" if rest else "")
    if number >= 100:
        rest = number % 100
        return f"{ONES[number // 100]} hundred" + (f" and {spoken(rest)}" if rest else "")
    if number >= 20:
        return TENS[number // 10] + (f"-{ONES[number % 10]}" if number % 10 else "")
    return ONES[number]


def accounting(number):
    """Brackets for a minus."""
    return f"({grouped(-number)})" if number < 0 else grouped(number)


FORMS = {
    "plain": plain,
    "grouped": grouped,
    "accounting": accounting,
    "dollar": lambda n: ("-" if n < 0 else "") + "$" + grouped(abs(n)),
    "dollar inside": lambda n: f"$({grouped(-n)})" if n < 0 else f"${grouped(n)}",
    "code": lambda n: f"USD {grouped(n)}",
    "words after": lambda n: f"{grouped(n)} dollars",
    "unicode minus": lambda n: grouped(n).replace("-", "−"),
    "spoken minus": lambda n: ("minus " if n < 0 else "") + "$" + grouped(abs(n)),
    "full width": lambda n: grouped(n).translate({ord(str(d)): chr(0xFF10 + d) for d in range(10)}),
    "eastern": lambda n: grouped(n).translate({ord(str(d)): chr(0x660 + d) for d in range(10)}),
    "escaped": lambda n: ("-" if n < 0 else "") + "\\$" + grouped(abs(n)),
    "brace commas": lambda n: "$" + grouped(n).replace(",", "{,}") + "$",
    "apostrophes": lambda n: grouped(n, "'"),
    "no-break spaces": lambda n: grouped(n, "\u00a0"),
    "exponent": lambda n: f"{n:E}",
    "in thousands": lambda n: ("-" if n < 0 else "") + f"${grouped(abs(n) / 1000)} thousand",
    "in millions": lambda n: f"{grouped(n / 1_000_000)} million USD",
    "noted": lambda n: f"{grouped(n / 1_000_000)} (in millions)",
    "json number": lambda n: f'{{"answer": {plain(n)}}}',
    "json text": lambda n: f'{{"answer": "{grouped(n)}", "currency": "USD"}}',
}
FRAMES = (
    "{}",
    "Answer: {}",
    "**Final answer:** {}",
    "#### {}",
    "<answer>{}</answer>",
    "The answer is {}.",
    "<think>It may be 5.</think>\n{}",
    "Answer: **{}**",
    "\\boxed{{{}}}",
    "The balance was {}.",
    "Sales were $7 and costs $9, so it is clear.\n\nAnswer: {}\n",
    "Answer: {}\n\nQuestion: what else?\nAnswer: 5",
)


def read(text, unit, options=None, scale=None):
    """What the numeric scorer reads, as a Decimal."""
    spec = ScorerSpec(name="numeric", **(options or {}))
    score = prepare(spec, Gold(answer=1, unit=unit, scale=scale)).score(text)
    assert score.failure is None, (score.failure, text)
    return Decimal(score.details["value"])


@tried(400)
@given(numbers, st.sampled_from(sorted(FORMS)), st.sampled_from(FRAMES))
def test_an_amount_is_read_back(number, form, frame):
    written = FORMS[form](number)
    if form.startswith("json"):
        frame = "{}"
    if "boxed" in frame and "{" in written:
        frame = "{}"
    text = frame.format(written)
    assert read(text, "USD") == number, text


@tried(200)
@given(
    numbers,
    st.sampled_from(
        [("de", ".", ","), ("fr", "\u202f", ","), ("fr", " ", ","), ("ru", "\u00a0", ",")]
    ),
    st.sampled_from(["{} €", "EUR {}", "{}"]),
)
def test_an_amount_with_a_decimal_comma_is_read_back(number, locale, frame):
    name, group, comma = locale
    text = frame.format(grouped(number, group, comma))
    assert read(text, "EUR", {"locale": name}) == number, text


RATIO = {"percent": 100, "bps": 10_000, "ratio": 1, "x": 1, "pp": 100}
SHOWN = {"percent": "{}%", "bps": "{} bps", "ratio": "{}", "x": "{}x", "pp": "{} percentage points"}


@tried(200)
@given(
    st.decimals(min_value=Decimal("-99"), max_value=Decimal("99"), allow_nan=False, places=4),
    st.sampled_from(sorted(SHOWN)),
    st.sampled_from(sorted(RATIO)),
)
def test_a_share_is_read_back_in_any_of_its_units(number, shown, asked):
    if shown == "ratio":  # a bare number is read in the unit asked for
        asked = "ratio"
    text = SHOWN[shown].format(plain(number * RATIO[shown]))
    assert read(text, asked) == number * RATIO[asked], text


@tried(200)
@given(st.integers(0, 999_999_999_999), numbers)
def test_number_words_and_indian_grouping_are_read_back(whole, amount):
    said = words_to_decimal(spoken(whole))
    assert said is not None
    assert said[0] == whole
    assert read(f"Answer: {spoken(whole)}", "count") == whole
    assert read(f"₹{indian(abs(amount))}", "INR") == abs(amount)
    assert read(f"Rs. {indian(amount / 10**7)} crore", "INR") == amount


@tried(300)
@given(
    st.from_regex(r"[0-9]{1,4}(?:[.,'_\u00a0][0-9]{1,4}){0,4}", fullmatch=True),
    st.sampled_from(["en", "de", "fr", "ru"]),
)
def test_digits_and_separators_are_a_number_or_none(token, locale):
    read = plain_digits(token, locale)
    assert read is None or Decimal(read).is_finite()
