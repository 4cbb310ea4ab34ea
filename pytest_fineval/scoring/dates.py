"""Dates: one day, month, quarter, year or fiscal year, cut to the granularity that is asked."""

from __future__ import annotations

import calendar
import re
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal

from pytest_fineval.cases.model import Gold
from pytest_fineval.scoring.base import AnswerScorer, CommonOptions, gold_fault
from pytest_fineval.scoring.extract import Located, json_scalar, locate
from pytest_fineval.scoring.labels import non_answer
from pytest_fineval.scoring.numeric import label_pattern
from pytest_fineval.scoring.score import Score
from pytest_fineval.scoring.view import clean

Granularity = Literal["day", "month", "quarter", "year", "fiscal_year"]
_FINENESS = {"year": 0, "fiscal_year": 0, "quarter": 1, "month": 2, "day": 3}


class DateOptions(CommonOptions):
    """Options of `date`.

    `day_first` decides 03/04/2024; without it such a date is ambiguous. `fiscal_year_label` says
    which of its years names FY 2023-24.
    """

    granularity: Granularity = "day"
    day_first: bool | None = None
    fiscal_year_label: Literal["end", "start"] | None = None


@dataclass(slots=True)
class Moment:
    """A date as written, as fine as it was written; `fault` says why it is none."""

    start: int
    end: int
    year: int | None = None
    quarter: int | None = None
    month: int | None = None
    day: int | None = None
    fiscal: bool = False
    fault: str | None = None

    @property
    def fineness(self) -> int:
        """0 year, 1 quarter, 2 month, 3 day."""
        if self.day is not None:
            return 3
        return 2 if self.month is not None else 1 if self.quarter is not None else 0

    def cut(self, granularity: str) -> str | None:
        """The value at a granularity; None when this is coarser."""
        if self.year is None or self.fineness < _FINENESS[granularity]:
            return None
        if granularity in {"year", "fiscal_year"}:
            return str(self.year)
        if granularity == "quarter":
            quarter = self.quarter or ((self.month or 1) + 2) // 3
            return f"{self.year}-Q{quarter}"
        if granularity == "month":
            return f"{self.year:04d}-{self.month:02d}"
        return f"{self.year:04d}-{self.month:02d}-{self.day:02d}"


_MONTHS = {
    name: number
    for number, names in enumerate(
        (
            "jan january janvier januar января январь enero", "feb february février fevrier februar февраля февраль febrero",
            "mar march mars märz maerz марта март marzo", "apr april avril апреля апрель abril",
            "may mai мая май mayo", "jun june juin juni июня июнь junio", "jul july juillet juli июля июль julio",
            "aug august août aout августа август agosto", "sep sept september septembre сентября сентябрь septiembre",
            "oct october octobre oktober октября октябрь octubre okt", "nov november novembre ноября ноябрь noviembre",
            "dec december décembre decembre dezember декабря декабрь diciembre dez",
        ),
        1,
    )
    for name in names.split()
}  # fmt: skip
_ORDINALS = {"first": 1, "second": 2, "third": 3, "fourth": 4, "final": 4, "last": 4,
             "1st": 1, "2nd": 2, "3rd": 3, "4th": 4}  # fmt: skip
_MONTH = r"(?:" + "|".join(sorted(map(re.escape, _MONTHS), key=len, reverse=True)) + r")(?!\w)\.?"
_YEAR = r"(?:1[5-9]|2[0-4])\d{2}"
_FISCAL = r"(?:FY|F\.Y\.|fiscal(?:\s{1,3}year)?|financial\s{1,3}year|A\.?Y\.?)"
_DATE = re.compile(
    rf"""
    (?<![\d.,$€£₹])(?P<iso_y>{_YEAR})(?P<iso_s>[-/. ])(?P<iso_m>\d{{1,2}})(?P=iso_s)(?P<iso_d>\d{{1,2}})(?:[T ]\d{{2}}:[\d:.]{{2,15}}(?:Z|[+-]\d{{2}}:?\d{{2}})?|(?!\d))
    |(?<!\d)(?P<compact>(?:19|20)\d{{2}}(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01]))(?!\d)
    |(?<![\w])(?P<mdy_m>{_MONTH})\s{{0,3}}(?P<mdy_d>\d{{1,2}})(?:st|nd|rd|th)?(?!\d)(?:(?:\s{{0,3}},\s{{0,3}}|\s{{1,3}})(?P<mdy_y>{_YEAR})(?!\d))?
    |(?<![\d.,/])(?P<dmy_d>\d{{1,2}})(?:st|nd|rd|th|er|\.)?(?:\s{{1,3}}day)?\s{{0,3}}(?:of\s{{1,3}})?[-/ ]?(?P<dmy_m>{_MONTH})(?:\s{{0,3}},?\s{{0,3}}[-/ ]?\s{{0,3}}'?(?P<dmy_y>{_YEAR}|(?<=[-/'])\d\d)(?!\d))?
    |(?<![\w])(?P<my_m>{_MONTH})(?:\s{{0,3}},?\s{{0,3}}(?:of\s{{1,3}})?|[-/])'?(?P<my_y>{_YEAR}|(?<=[-/'])\d\d)(?!\d)
    |(?<![\d.,/])(?P<num_a>\d{{1,2}})(?P<num_s>[-/.])(?P<num_b>\d{{1,2}})(?P=num_s)(?P<num_y>\d{{4}}|\d{{2}})(?![\d/])
    |(?<![\d.,])(?P<ym_y>{_YEAR})[-/](?P<ym_m>0[1-9]|1[0-2])(?![\d-])
    |(?<![\d/])(?P<sm_m>0?[1-9]|1[0-2])/(?P<sm_y>{_YEAR})(?!\d)
    |(?<![\w])(?:(?:Q|quarter\s)(?P<q_a>\d)|(?P<q_b>[1-4])Q|(?P<q_w>first|second|third|fourth|final|last|1st|2nd|3rd|4th)(?:\s{{1,3}}fiscal)?[\s-]{{1,3}}quarter)
        (?:\s{{0,3}}(?:of|in|,|-|/)?\s{{0,3}}(?:the\s{{1,3}})?(?P<q_f>{_FISCAL}\s{{0,3}})?'?(?P<q_y>{_YEAR}|\d{{2}})(?![\d.,%]\d?))?
    |(?<![\w])(?P<yq_f>{_FISCAL}\s{{0,3}})?(?P<yq_y>{_YEAR}|(?<=FY)\d\d)[\s-]{{0,3}}(?:Q(?P<yq_a>[1-4])|(?P<yq_b>[1-4])Q)(?!\w)
    |(?<![\w])(?P<fy>{_FISCAL})\s{{0,3}}['-]?(?P<fy_a>{_YEAR}|\d{{2}})(?:\s?[-–/]\s?(?P<fy_b>{_YEAR}|\d{{2}}))?(?![\d])
    |(?<![\d.,$€£₹-])(?P<span_a>{_YEAR})\s?[-–/]\s?(?P<span_b>{_YEAR}|\d{{2}})(?![\d-])
    |(?<![\d.,$€£₹])(?P<y>{_YEAR})(?![\d%]|[.,]\d)
    """,
    re.VERBOSE | re.IGNORECASE,
)


def find_dates(text: str, options: DateOptions) -> list[Moment]:
    """All dates of a text in order, each as fine as written."""
    found = []
    for match in _DATE.finditer(text):
        moment = _moment(match, options)
        if moment is not None:
            found.append(moment)
    for first, second in pairwise(found):
        if first.year is None and _LINK.fullmatch(text, first.end, second.start):
            first.year = second.year  # "June 30 or July 1, 2024"
            _check(first)
    for moment in found:
        if moment.year is None and moment.fault is None:
            moment.fault = "too_coarse"
    return found


_LINK = re.compile(r"\s*(?:,|or|and|to|-|–|through|/)\s*(?:on\s+)?", re.IGNORECASE)


def _moment(match: re.Match[str], options: DateOptions) -> Moment | None:
    part = match.groupdict()
    moment = Moment(match.start(), match.end())

    def number(name: str) -> int:
        return int(part[name])

    if part["iso_y"]:
        moment.year, moment.month, moment.day = number("iso_y"), number("iso_m"), number("iso_d")
    elif part["compact"]:
        digits = part["compact"]
        moment.year, moment.month, moment.day = int(digits[:4]), int(digits[4:6]), int(digits[6:])
    elif part["mdy_m"] or part["dmy_m"]:
        form = "mdy" if part["mdy_m"] else "dmy"
        moment.month, moment.day = _month(part[f"{form}_m"]), number(f"{form}_d")
        moment.year = _year(part[f"{form}_y"]) if part[f"{form}_y"] else None
    elif part["my_m"]:
        moment.month, moment.year = _month(part["my_m"]), _year(part["my_y"])
    elif part["num_a"]:
        _numeric_date(moment, number("num_a"), number("num_b"), _year(part["num_y"]), options)  # fmt: skip
    elif part["ym_y"] or part["sm_y"]:
        form = "ym" if part["ym_y"] else "sm"
        moment.year, moment.month = number(f"{form}_y"), number(f"{form}_m")
    elif part["q_a"] or part["q_b"] or part["q_w"]:
        word = part["q_a"] or part["q_b"]
        moment.quarter = int(word) if word else _ORDINALS[part["q_w"].lower()]
        moment.year = _year(part["q_y"]) if part["q_y"] else None
    elif part["yq_y"]:
        moment.quarter = int(part["yq_a"] or part["yq_b"])
        moment.year = _year(part["yq_y"])
    elif part["fy"] or part["span_a"]:
        form = "fy" if part["fy"] else "span"
        _fiscal_year(moment, _year(part[f"{form}_a"]), part[f"{form}_b"], options)
    else:
        moment.year = number("y")
    _check(moment)
    return moment


def _month(word: str) -> int:
    return _MONTHS[word.lower().rstrip(".")]


def _year(digits: str) -> int:
    """Two digits mean 1970 to 2069."""
    year = int(digits)
    return year if len(digits) == 4 else year + (2000 if year < 70 else 1900)


def _numeric_date(moment: Moment, first: int, second: int, year: int, options: DateOptions) -> None:
    """Day and month of 03/04/2024: by what can be, then by what the case declares."""
    day_first = options.day_first
    if day_first is None and (options.locale != "en" or first == second):
        day_first = True
    if day_first is None and first > 12 >= second:
        day_first = True
    if day_first is None and second > 12 >= first:
        day_first = False
    moment.year = year
    if day_first is None:
        moment.month, moment.day = first, second
        moment.fault = "invalid_date" if first > 12 else "ambiguous_date"
        return
    # A day above 12 in the month's place is a date of the other order, whatever is declared.
    if (second if day_first else first) > 12 >= (first if day_first else second):
        day_first = not day_first
    moment.day, moment.month = (first, second) if day_first else (second, first)


def _fiscal_year(moment: Moment, first: int, last: str | None, options: DateOptions) -> None:
    moment.fiscal = True
    moment.year = first
    if last is None:
        return
    end = int(last) if len(last) == 4 else first - first % 100 + int(last)
    if end < first:
        end += 100
    if options.fiscal_year_label is None:
        moment.fault = "ambiguous_date"
    moment.year = end if options.fiscal_year_label == "end" else first


def _check(moment: Moment) -> None:
    """No such quarter, month or day: do not roll over. Without a year, February has 29 days."""
    if moment.fault:
        return
    if moment.quarter is not None and not 1 <= moment.quarter <= 4:
        moment.fault = "invalid_date"
    if moment.month is None:
        return
    if not 1 <= moment.month <= 12:
        moment.fault = "invalid_date"
    elif moment.day is not None:
        last = calendar.monthrange(moment.year or 2000, moment.month)[1]
        if not 1 <= moment.day <= last:
            moment.fault = "invalid_date"


class DateScorer(AnswerScorer):
    """`date`: a date at the asked granularity; score 1 or 0."""

    Options = DateOptions

    def __init__(self, identity: str, options: DateOptions, gold: Gold):
        super().__init__(identity, options, gold)
        self.label = label_pattern(options.label)
        self.expected: str | None = None
        if not (options.unanswerable and gold.answer is None):
            self.expected = self._gold_date(gold.answer)

    def _gold_date(self, answer: Any) -> str:
        asked = self.options.granularity
        found = find_dates(str(answer), self.options) if isinstance(answer, str | int) else []
        if len(found) != 1 or found[0].fault:
            raise gold_fault("answer", f"{answer!r} is no date that can be read (write 2023-12-31)")
        value = found[0].cut(asked)
        if value is None:
            raise gold_fault("answer", f"{answer!r} is coarser than the asked granularity {asked}")
        return value

    def judge(self, text: str) -> Score:
        """Structured or marked answer, then the declared label, then the last date that fits."""
        located = locate(text, self.options, "date", ("date",))
        if located.failure:
            return self.failed(located.failure, stage=located.stage)
        if located.from_json:
            value = json_scalar(located.value)
            if value is None:
                return self.failed("no_answer", stage="json")
            if isinstance(value, bool | list | dict):
                return self.failed("wrong_type", stage="json")
            view = clean(str(value))
            located = Located("json", view, 0, len(view.text), raw_span=located.raw_span)
        elif not located.marked and self.label is not None:
            for match in reversed(list(self.label.finditer(located.text))):
                stop = located.text.find("\n", match.end())
                inner = Located(
                    "label", located.view, match.end(), stop if stop >= 0 else located.end
                )
                if find_dates(inner.text, self.options):
                    located = inner
                    break
        return self._read(located)

    def _read(self, located: Located) -> Score:
        text, asked, stage = located.text, self.options.granularity, located.stage
        found = find_dates(text, self.options)
        said = non_answer(text)
        if said and not (located.marked and found):
            return self.failed(said, stage=stage)
        if not found:
            if located.marked and located.stage != "json":
                return self._read(Located("text", located.view, 0, len(located.view.text)))
            return self.failed("no_answer", stage=stage)
        fitting = [m for m in found if m.fault is None and m.cut(asked) is not None]
        if asked == "fiscal_year" and any(m.fiscal for m in fitting):
            fitting = [m for m in fitting if m.fiscal]
        if not fitting:
            if asked == "day" and _DAYS_OFFERED.search(text):
                return self.failed("ambiguous", stage=stage)
            faults = [m.fault for m in found if m.fault and m.fineness >= _FINENESS[asked]]
            return self.failed(faults[-1] if faults else "too_coarse", stage=stage)
        values = list(dict.fromkeys(m.cut(asked) for m in fitting))
        hedged = any(
            a.cut(asked) != b.cut(asked)
            and _OR.search(text, a.end, b.start)
            and b.start - a.end < 40
            for a, b in pairwise(fitting)
        )
        if hedged or _DAYS_OFFERED.search(text) or (len(values) > 1 and self.options.strict):
            return self.failed("ambiguous", stage=stage)
        chosen = fitting[0] if stage == "label" else fitting[-1]
        value = chosen.cut(asked)
        start, end = located.start + chosen.start, located.start + chosen.end
        return Score(
            1.0 if value == self.expected else 0.0,
            self.identity,
            parsed=value,
            stage=stage,
            span=located.span(start, end),
            ambiguous=len(values) > 1,
            details={"dates": [text[m.start : m.end] for m in found[:20]]},
        )


_OR = re.compile(r"\bor\b", re.IGNORECASE)
_DAYS_OFFERED = re.compile(
    rf"(?<!\w)(?:{_MONTH}\s*\d{{1,2}}(?:st|nd|rd|th)?\s+or\s+\d{{1,2}}(?:st|nd|rd|th)?(?![\d/:.-])"
    rf"|\d{{1,2}}(?:st|nd|rd|th)?\s+or\s+\d{{1,2}}(?:st|nd|rd|th)?\s+{_MONTH})",
    re.IGNORECASE,
)
"""Two days of one month: `March 4 or 5, 2024`."""
