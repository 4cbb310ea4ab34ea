"""What stands around a number: is it a label, an operand, an aside, or what the answer is
compared with?"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence

from pytest_fineval.scoring.reading import Reading

_MONTHS = frozenset(
    "jan january feb february mar march apr april may jun june jul july aug august sep sept september"
    " oct october nov november dec december".split()
)
_REFERENCES = frozenset(
    "note notes page pages p pp item items section sections sec article articles art regulation regulations"
    " reg rule rules schedule schedules exhibit exhibits table tables figure figures fig chapter chapters part"
    " parts clause clauses paragraph paragraphs para paras appendix annex step steps question questions case"
    " line lines row rows column columns topic topics subtopic level levels tier basel phase stage type class"
    " series form circular no nos asc asu ifrs ias as gaap sfas fasb sic ifric frs sebi option footnote"
    " footnotes fn slide sheet version v ref chunk document doc source sources context rank §".split()
)
_INDICES = frozenset(
    "s&p poor's russell nasdaq nikkei ftse dow jones stoxx cac dax nifty sensex bse asx tsx csi kospi ibex mdax"
    " seng fortune forbes global hscei smi covid forever century motel phillips studio boeing msci topix".split()
)
_FISCAL = frozenset("fiscal fy cy ay calendar year years ended ending f.y".split())
_BEFORE_YEAR = frozenset(
    "in for during since until through vs versus the year-end end early late mid".split()
)
_AFTER_YEAR = re.compile(
    r"\s?(?:[:)]|'s\b|(?:annual|fiscal|form|results?|reports?|filings?|figures?|levels?)\b|10-[KQ])",
    re.IGNORECASE,
)
_WORD_BEFORE = re.compile(r"([A-Za-z§][A-Za-z&.'-]*)[ \u00a0]?[#(.]{0,2}[ \u00a0]?$")
_WORD_AFTER = re.compile(r"(?:st|nd|rd|th)?[ \u00a0](?:of )?([A-Za-z]+)")
_LIST_AFTER = re.compile(r"[.)][ \t]+(?=\S)")
_PERIOD_AFTER = re.compile(r"[ \u00a0](?:ended|ending)\b", re.IGNORECASE)
_NAME_3M = re.compile(
    r"M(?:'s\b|,? (?:Co|Company|Inc|India)\b|(?= [a-z]{4,})(?! (?:dollars|shares|euros|units|in)\b))"
)
_AT_3M = re.compile(r"\b(?:at|by|with)\s$")
_FOLLOWS = re.compile(r"(?:,| and| &| to|[-–/.]| ?\(|, and)?\s?")
_DATE = re.compile(r"\d{1,4}([-/.])\d{1,2}\1\d{1,4}")


class Labels:
    """Tells numbers that are labels from values, one after the other in reading order.

    Labels are years, quarters, dates, times, references to notes, pages and rules, list numbers,
    citations, forms, periods such as `52-week`, and names such as S&P 500 or 3M.

    Args:
        durations: the case asks for one, so `30-day` is a value.
    """

    def __init__(self, text: str, start: int, durations: bool = False):
        self._text = text
        self._start = start
        self._durations = durations
        self._last_end = -1
        self._last_label = False
        self._date_end = -1

    def is_label(self, reading: Reading) -> bool:
        """Whether this number is one; call it for every number of the text in order."""
        label = reading.name or self._decide(reading)
        self._last_end, self._last_label = reading.end, label
        return label

    def _decide(self, reading: Reading) -> bool:
        text, at, end = self._text, reading.at, reading.end
        if at < self._date_end:
            return True
        after = text[end : end + 1]
        if reading.compound:
            return not self._durations  # 52-week, 5-year
        if after == "-" and text[end + 1 : end + 2].isalpha():
            return True  # 10-K
        before = text[at - 1] if at > self._start else "\n"
        if before == "+" and text[at - 2 : at - 1].isalpha():
            return True  # T+2
        if reading.scale is not None and text[at : at + 2] == "3M" and not reading.currencies:
            return bool(_NAME_3M.match(text, at + 1) or _AT_3M.search(text[max(0, at - 6) : at]))
        if reading.unit is not None:
            return _PERIOD_AFTER.match(text, end) is not None  # twelve months ended
        if reading.currencies or reading.scale is not None or reading.value is None:
            return False
        return self._is_plain_label(reading, before, after)

    def _is_plain_label(self, reading: Reading, before: str, after: str) -> bool:
        text, at, end = self._text, reading.at, reading.end
        date = _DATE.match(text, at)
        if date is not None:
            self._date_end = date.end()
            return True
        if before == "[" and after in {"]", ",", "-", "–"}:
            return True
        if before == "(" and text[at - 2 : at - 1].isalnum():
            return True  # the (1) of 17(1)(a)
        if after == "(" and text[end + 2 : end + 3] == ")" and text[end + 1 : end + 2].isalpha():
            return True  # 401(k), 13(d)
        if (after == ":" and text[end + 1 : end + 3].isdigit()) or (
            before == ":" and text[at - 2 : at - 1].isdigit()
        ):
            return True  # 10:30
        if not reading.plain:
            return self._after_reference(reading)
        if self._is_list_number(reading) or self._after_reference(reading):
            return True
        year = reading.value is not None and 1900 <= reading.value <= 2100
        if year and _AFTER_YEAR.match(text, end) and (before in " (\n" or at == self._start):
            return True
        follower = _WORD_AFTER.match(text, end)
        if follower and follower.group(1).lower() in _MONTHS and not year:
            return follower.group(1) != "may"
        return self._continues(reading, year)

    def _after_reference(self, reading: Reading) -> bool:
        """Whether the word before makes it a reference, a year, a date or an index."""
        text, at = self._text, reading.at
        match = _WORD_BEFORE.search(text[max(self._start, at - 18) : at])
        if match is None:
            return False
        word = match.group(1).lower().rstrip(".-")
        if word in _REFERENCES or word in _INDICES:
            return word != "as" or text[max(0, at - 7) : at - 1].lower().endswith("ind as")
        if not reading.plain:
            return False
        value = int(reading.value or 0)
        if word in _FISCAL:
            return reading.digits == 4 or (
                reading.digits <= 2 and word in {"fy", "cy", "ay", "f.y"}
            )
        if word in _MONTHS:
            return (value <= 31 or 1900 <= value <= 2100) and (
                word != "may" or match.group(1) == "May"
            )
        return word in _BEFORE_YEAR and 1900 <= value <= 2100

    def _is_list_number(self, reading: Reading) -> bool:
        text, at = self._text, reading.at
        if reading.digits > 2 or (reading.value or 0) > 20 or not _LIST_AFTER.match(text, reading.end - (text[reading.end - 1] == ")")):  # fmt: skip
            return False
        lead = text[max(0, at - 24) : at]
        line = lead.rpartition("\n")[2]
        return (len(line) < 24 or at == 24) and not line.strip(" \t-*•(#")

    def _continues(self, reading: Reading, year: bool) -> bool:
        """Whether it goes on with the label before: `Notes 3 and 4`, `June 30, 2023`, `2022-23`."""
        if self._last_end < 0 or reading.at - self._last_end > 6 or not self._last_label:
            return False
        gap = self._text[self._last_end : reading.at]
        if not _FOLLOWS.fullmatch(gap):
            return False
        return year or (gap.strip() != "" and reading.digits <= 3)


_CUES = re.compile(
    r"(?P<stop>[;\n=]|,(?!\d)|(?<!vs)\.(?!\d))"
    r"|\b(?=[vcabehlwgpurdtmison])(?:(?P<context>versus|vs\.?|compar(?:ed|es|ing|ison) (?:with|to)|against|above|below|exceed(?:s|ed|ing)?"
    r"|(?:higher|lower|better|worse|less|greater|up|down|rounded|rounding|change|increase|decrease) (?:than|from)"
    r"|than|prior[- ](?:year|period|quarter)|previous(?:ly)?|last year|year[- ]ago|requirement|threshold|minimum"
    r"|benchmark|consensus|guidance|target|statutory|industry average|instead of|rather than|not"
    r"|of which|of whom|including|the other)"
    r"|(?P<explains>which|representing|based on|because|since|calculated (?:as|from)|computed (?:as|from)|derived from"
    r"|reflecting)"
    r"|(?P<verb>was|were|is|are|equals?))\b"
)
"""Cues in lower case: letters of one case are found twice as fast."""
_RESULT_VERB = re.compile(
    r"\s*(?:(?:is|was|equals?|gives?|yields?|comes? to|results? in|equates? to|amounts? to|makes?|totals?)\b\s*)?"
    r"(?:equal to|about|approximately|roughly|~|≈|:)?\s*",
    re.IGNORECASE,
)
_FROM = re.compile(
    r"\s+(?:about |approximately |roughly |around |the |an? |last year's |prior[- ]year )?",
    re.IGNORECASE,
)
_CONTEXT_AFTER = re.compile(
    r"[\s)]{0,3}(?:(?:regulatory|capital|statutory|legal|minimum|required)\s+){0,3}(?:(?:a|one) year (?:earlier|ago|before)"
    r"|(?:in|for|during) (?:the )?(?:prior|previous|preceding|last) (?:year|period|quarter)"
    r"|last year|previously|requirement|minimum|threshold|benchmark|consensus|target|limit|hurdle"
    r"|(?:is|are|was) (?:generally|typically|usually|often|considered))",
    re.IGNORECASE,
)
_OPERATOR = r"minus|plus|less|times|(?:divided|multiplied) by|over"
_OPERATORS = (*"×*/+÷−-–x", "minus", "plus", "less", "times", " by", "over")
_OPERATOR_AFTER = re.compile(
    rf"[ )]{{0,2}}(?:[×*/+÷]|[-−–](?=\s)|(?<=\s)x(?=\s)|(?<=\s)(?:{_OPERATOR})(?=\s))\s?[\d($€£₹]"
)
_OPERATOR_BEFORE = re.compile(
    r"[\d)%A-Za-z]\s?(?:[×*/+÷−]|(?<=\s)[-–x](?=\s))[\s(]{0,2}$"
    rf"|(?:\d|illion|%|\))\s(?:{_OPERATOR})\s[\s(]?$"
)
_RESULT = re.compile(r"[=≈]\s?(?:(?:about|approximately|roughly|~)\s?)?$")
_BRACKET = re.compile(r"[()\n]")
REACH = 160
"""Characters before a number in which a cue still speaks about it."""


class Surroundings:
    """Cues and brackets of one text, found once; `of` tells what they say about a number."""

    def __init__(self, text: str, start: int, end: int):
        self._text = text
        self._start = start
        folded = text.lower()
        cues = list(_CUES.finditer(folded if len(folded) == len(text) else text, start, end))
        self._cue_starts = [cue.start() for cue in cues]
        self._cues = [(cue.lastgroup or "", cue.start(), cue.end()) for cue in cues]
        self._brackets = _outer_brackets(text, start, end) if "(" in text else []

    def role(self, reading: Reading) -> str:
        """`result` right after an equals sign, `margin` after plus-minus, `operand` of an
        operation; else empty. An operand is never a result."""
        tail = self._text[max(self._start, reading.start - 24) : reading.start]
        if _OPERATOR_AFTER.match(self._text, reading.end) or (
            tail.rstrip(" (\n\u00a0").endswith(_OPERATORS) and _OPERATOR_BEFORE.search(tail)
        ):
            return "operand"
        if ("=" in tail or "≈" in tail) and _RESULT.search(tail):
            return "result"
        return "margin" if tail.rstrip().endswith(("±", "+/-", "+-")) else ""

    def is_context(self, reading: Reading) -> bool:
        """What the answer is compared with, derived from or explained by."""
        at = reading.start
        origin = self._text.rfind("from", max(self._start, at - 32), at)
        if origin >= 0 and _FROM.fullmatch(self._text, origin + 4, at):
            return True
        if _CONTEXT_AFTER.match(self._text, reading.end):
            return True
        same_clause = True
        for index in range(bisect_right(self._cue_starts, at - 1) - 1, -1, -1):
            kind, start, end = self._cues[index]
            if start < at - REACH:
                break
            if kind == "context" and same_clause and end <= at:
                return True
            if kind == "stop" and self._text[start] == "\n":
                break
            if kind == "stop" and self._text[start] == "." and self._text[end : end + 1].isspace():
                break
            if kind in {"stop", "verb"}:
                same_clause = False
            if kind == "explains":
                return self._explains(start, end, at)
        return False

    def _explains(self, start: int, end: int, at: int) -> bool:
        """A clause that explains an earlier number; right after its verb stands the result."""
        earlier = self._text[max(self._start, start - REACH) : start]
        sentence = re.split(r"\n|\.\s", earlier)[-1]
        return bool(re.search(r"\d", sentence)) and not _RESULT_VERB.fullmatch(self._text, end, at)

    def is_inside(self, reading: Reading) -> bool:
        """Within round brackets that are not its own minus."""
        index = bisect_right(self._brackets, (reading.at, 1 << 60)) - 1
        if index < 0 or self._brackets[index][1] <= reading.at:
            return False
        own = reading.enclosed and reading.lead == "alone"
        return not own or self._brackets[index][0] < reading.start


def _outer_brackets(text: str, start: int, end: int) -> list[tuple[int, int]]:
    """Spans of round brackets that open and close on one line, outermost only."""
    found, depth, opened = [], 0, -1
    for match in _BRACKET.finditer(text, start, end):
        sign = match.group()
        if sign == "\n":
            depth = 0
        elif sign == "(":
            if depth == 0:
                opened = match.start()
            depth += 1
        elif depth:
            depth -= 1
            if depth == 0:
                found.append((opened, match.end()))
    return found


def covered(spans: Sequence[tuple[int, int]], at: int) -> bool:
    """Whether an offset lies in one of the sorted, disjoint spans."""
    index = bisect_right(spans, (at, 1 << 60)) - 1
    return index >= 0 and spans[index][0] <= at < spans[index][1]
