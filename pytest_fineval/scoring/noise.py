"""Numbers in prose that are labels and not values, values that are context, and non-answers."""

from __future__ import annotations

import re
from bisect import bisect_right

_MONTH = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?"
    r"|sep(?:t(?:ember)?)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\.?"
)
_YEAR = r"(?:19|20)\d{2}"
_REFERENCE = (
    r"notes?|pages?|pp?\.|items?|sections?|sec\.|§{1,2}|articles?|art\.|regulations?|reg\.|rules?"
    r"|schedules?|exhibits?|tables?|figures?|fig\.|chapters?|parts?|clauses?|paragraphs?|paras?\.?"
    r"|appendix|annex|steps?|questions?|cases?|lines?|rows?|columns?|topics?|subtopic|levels?|tier"
    r"|basel|phase|stage|type|class|series|form|circular|no\.|nos\.|number|asc|asu|ifrs|ias|ind as"
    r"|gaap|sfas|fasb|sic|ifric|frs|sebi|option|footnotes?|fn\.?|slide|sheet|version|v\.|ref\."
    r"|chunk|document|doc|source|context|paragraph"
)
LABELS = re.compile(
    rf"""
    \b(?:10-[KQ](?:/A)?|8-K(?:/A)?|6-K|20-F|40-F|S-[1348]|F-[134]|13[DFG]|DEF\ ?14A|144A|Form\ 1099|1099-\w{{1,4}}|W-[29]
        |401\(?k\)?|403\(?b\)?|10b-5|10b5-1)\b
    |\b(?:fiscal|financial|calendar|tax|assessment)?[ ]?years?\s+(?:ended|ending)?\s*{_YEAR}(?:\s?[-–/]\s?\d{{2,4}})?\b
    |\b(?:fiscal|calendar|FY|CY|AY|F\.Y\.)\s?['-]?\d{{2,4}}(?:\s?[-–/]\s?\d{{2,4}})?(?!\d|[.,]\d|%)
    |\b(?:Q[1-4]|[1-4]Q|H[12]|[12]H)(?:\s?[-–/]?\s?(?:FY|CY)?\s?'?\d{{2,4}})?\b(?![.,]\d|%)
    |\b[369]M\s?(?:FY|CY)?\s?'?\d{{2,4}}\b
    |\b{_MONTH}\s+\d{{1,2}}(?:st|nd|rd|th)?(?:\s?(?:,|\ )\s?{_YEAR})?\b(?![.,]\d|%)
    |\b\d{{1,2}}(?:st|nd|rd|th)?\s+(?:of\s+)?{_MONTH}(?:,?\s+{_YEAR})?\b(?!\w)
    |\b{_MONTH},?\s+{_YEAR}\b
    |\b{_YEAR}[-/.]\d{{1,2}}[-/.]\d{{1,2}}(?:T[\d:.]{{4,15}}Z?)?\b|\b\d{{1,2}}[-/.]\d{{1,2}}[-/.]{_YEAR}\b
    |\b\d{{1,2}}:\d{{2}}(?::\d{{2}})?\b
    |\b(?:{_REFERENCE})\s*\(?(?:\#|no\.?\s?)?\d+[A-Za-z]?(?:[.-]\d+){{0,4}}(?![\d%]|[,.]\d)(?:\s?\(\w{{1,4}}\)){{0,5}}
        (?:\s?(?:,|and|&|-|–|to)\s?\d{{1,3}}(?![\d%,.]\d?))?
    |\[\d{{1,3}}(?:\s?[,–-]\s?\d{{1,3}}){{0,6}}\]
    |\b(?:S&P|S\ &\ P|Standard\ &\ Poor's|Russell|Nasdaq|Nikkei|FTSE|Dow(?:\ Jones)?|Stoxx|Euro\ ?Stoxx|CAC
        |DAX|Nifty|Sensex|BSE|ASX|TSX|CSI|KOSPI|IBEX|MDAX|Hang\ Seng|Fortune|Forbes|Global|HSCEI|SMI)
        [ -]?\d{{2,4}}\b
    |\b(?:7-Eleven|7-11|Forever\ 21|Century\ 21|Motel\ 6|Phillips\ 66|20th\ Century|21st\ Century|Studio\ 54
        |Boeing\ 7\d7|V-8|G-?20|G-?7|Industry\ 4\.0|Covid-?\ ?19|Web3|\d(?:st|nd|rd|th)\s+(?:quarter|half|month))\b
    |(?<![$€£¥₹\d.,])\b3M(?='s|,?\ (?:Co|Company|Inc|India)\b|\ [a-z]{{4,}}(?<!dollars)(?<!shares)(?<!euros))
    |\b(?:at|by|with)\ 3M\b
    |\b\d{{1,3}}-(?:weeks?|wk|months?|years?|yr|days?|quarters?|for)\b(?:[- ](?:ended|period|old|bond|note|treasury))?
    |\b\d{{1,2}}\s(?:weeks?|months?)\s(?:ended|ending)\b
    |\bT\s?\+\s?\d\b
    |(?:^|\n)[ ]{{0,8}}(?:[-*•]\s+)?\(?\d{{1,2}}[.)][ ]+(?=\S)
    |(?:^|\n)[ ]{{0,8}}\#{{1,6}}\s+\d{{1,2}}[.)]?[ ]+(?=[A-Za-z])
    """,
    re.VERBOSE | re.IGNORECASE,
)
"""Spans whose numbers are labels: forms, years, quarters, dates, references, list numbers, names."""

_YEARS_IN_CONTEXT = re.compile(
    rf"\b(?:in|for|during|since|until|through|vs\.?|versus|the|year-end)"
    rf"\s+(?:the\s+(?:year\s+)?)?{_YEAR}\b(?!\s?(?:%|x\b|million|billion|thousand|crore|lakh|[.,]\d|shares|units|days))"
    rf"|\({_YEAR}\)|\b{_YEAR}(?:\s?[-–/]\s?(?:{_YEAR}|\d\d))?\s?(?:[:)]|'s\b|annual|10-[KQ]|fiscal|form|results|report|filing)"
    rf"|(?<=\w\s){_YEAR}:",
    re.IGNORECASE,
)

CODE = re.compile(r"```[^\n`]{0,30}\n.*?```", re.DOTALL)

CONTEXT = re.compile(
    r"\b(?:versus|vs\.?|compar(?:ed|es|ing|ison) (?:with|to)|against|above|below|exceed(?:s|ed|ing)?"
    r"|(?:higher|lower|better|worse|less|greater|up|down|rounded|rounding|change|increase|decrease)"
    r" (?:than|from)|than|prior[- ](?:year|period|quarter)|previous(?:ly)?|last year|year[- ]ago|a year earlier"
    r"|requirement|threshold|minimum|benchmark|consensus|guidance|target|statutory|industry average"
    r"|instead of|rather than|not)\b",
    re.IGNORECASE,
)
"""Words after which a value is what the answer is compared with, to the end of the clause."""

FROM = re.compile(
    r"\bfrom\s+(?:about |approximately |roughly |around |the |an? |last year's |prior[- ]year )?$",
    re.IGNORECASE,
)
CONTEXT_AFTER = re.compile(
    r"[\s)]{0,3}(?:(?:regulatory|capital|statutory|legal|minimum|required)\s+){0,3}(?:(?:a|one) year (?:earlier|ago|before)"
    r"|(?:in|for|during) (?:the )?(?:prior|previous|preceding|last) (?:year|period|quarter)"
    r"|last year|previously|requirement|minimum|threshold|benchmark|consensus|target|limit|hurdle"
    r"|(?:is|are|was) (?:generally|typically|usually|often|considered))",
    re.IGNORECASE,
)
SUBORDINATE = re.compile(
    r"\b(?:which|representing|based on|because|since|calculated (?:as|from)|computed (?:as|from)|derived from|reflecting)\b",
    re.IGNORECASE,
)
RESULT_VERB = re.compile(
    r"\s*(?:(?:is|was|equals?|gives?|yields?|comes? to|results? in|equates? to|amounts? to|makes?|totals?)\b\s*)?"
    r"(?:equal to|about|approximately|roughly|~|≈|:)?\s*",
    re.IGNORECASE,
)
CLAUSE_END = re.compile(r"[;\n]|,(?!\d)|\.(?!\d)|\b(?:was|were|is|are|equals?)\b|=")
ASIDE = re.compile(
    r"\b(?:generally|typically|usually|rule of thumb|as a rule|industry average|for reference|sanity check)\b"
    r"|^\s*(?:\(?note\b|nb\b|caveat|disclaimer|source)",
    re.IGNORECASE,
)
"""A sentence that comments and does not answer."""

REFUSAL = re.compile(
    r"\b(?:I(?:'m| am)?|we|as an ai[^.\n]{0,60})\b[^.\n]{0,40}?\b(?:can(?:'t|not| not)|could(?:n't| not)|unable to"
    r"|not able to|won't|will not|must decline|decline|refuse|not (?:allowed|permitted|comfortable)[^.\n]{0,10})"
    r"\s+(?:to\s+)?(?:help|assist|provide|answer|comply|do that|do this|give|offer|share|respond|complete|fulfil|fulfill|support|advise)"
    r"|\b(?:can(?:'t|not)|unable to|not able to)\s+(?:help|assist|comply|answer)\b"
    r"|\bI (?:must |have to )?(?:decline|refuse)\b|\bagainst my (?:guidelines|policy)",
    re.IGNORECASE,
)
_MISSING_VERB = r"(?:disclos|report|provid|stat|specif|giv|mention|show|break|broken|identif)"
NO_ANSWER = re.compile(
    r"\bnot\s+(?:\w+ly\s+|been\s+|explicitly\s+)?"
    r"(?:disclosed|reported|provided|stated|specified|given|mentioned|shown|available|applicable"
    r"|found|known|determinable|calculable|meaningful)\b"
    rf"|\b(?:do|does|did|is|was|has|have)(?:n't| not)\s+(?:\w+ly\s+)?{_MISSING_VERB}"
    r"|\b(?:can(?:'t|not| not)|could(?:n't| not)|unable to|not possible to|impossible to|no way to|not able to)\s+(?:be\s+)?(?:\w+ly\s+)?"
    r"(?:determin|calculat|comput|find|found|deriv|locat|identif|infer|tell|say|know|verif|establish|ascertain|estimat|access|see)"
    r"|\b(?:no|not enough|insufficient|lack(?:s|ing)?(?: the)?|without)\s+(?:\w+\s+){0,2}"
    r"(?:information|data|disclosure|figure|detail|context)s?\b"
    r"|\b(?:don't|do not|doesn't|does not)\s+(?:know\b|appear in|have (?:\w+ ){0,2}(?:access|information|data|details|figures|context|enough))"
    r"|\bno access\b|\bhave no (?:way|access|information|data)"
    r"|\b(?:filing|document|report|text|passage|table|excerpt|context|statements?|10-[KQ])\b[^.\n]{0,30}\b(?:do|does)(?:n't| not)\s+(?:list|include|contain|present|say|tell|address|cover)"
    r"|\bundisclosed\b|\bunknown\b|\bno (?:such )?(?:figure|amount|value|answer|number) (?:is|was|can)\b",
    re.IGNORECASE,
)
MISSING_WORD = re.compile(
    r"\W*(?:n\s?[./]?\s?a\.?|n/?d|null|none|nothing|unknown|unavailable|undisclosed|not (?:available|applicable"
    r"|disclosed|reported|provided|stated|specified|given|mentioned|found|known|determinable|meaningful)|nm|n\.m\.|no answer|-?\?+|tbd)\W*",
    re.IGNORECASE,
)
NOT_FINITE = re.compile(r"\W*(?:[+-]?\s?(?:nan|inf(?:inity)?)|∞)\W*", re.IGNORECASE)
DASH = re.compile(r"[\s$€£₹]*(?:-{1,3}|–|—|−)[\s.]*")


def label_spans(text: str, start: int, end: int) -> list[tuple[int, int]]:
    """Spans of label-like numbers and of code in `text[start:end]`, sorted by start."""
    spans = [match.span() for match in LABELS.finditer(text, start, end)]
    spans += [match.span() for match in _YEARS_IN_CONTEXT.finditer(text, start, end)]
    return sorted(spans)


def covered(spans: list[tuple[int, int]], at: int) -> bool:
    """Whether an offset lies in one of the sorted spans (overlaps of two allowed)."""
    index = bisect_right(spans, (at, 1 << 60))
    return any(begin <= at < stop for begin, stop in spans[max(0, index - 3) : index])


def non_answer(text: str) -> tuple[str, int] | None:
    """The kind of non-answer that a text states and where: `refusal` or `no_answer`."""
    found = [
        (match.start(), kind)
        for kind, pattern in (("refusal", REFUSAL), ("no_answer", NO_ANSWER))
        if (match := pattern.search(text))
    ]
    if not found:
        return None
    at, kind = min(found)
    return kind, at
