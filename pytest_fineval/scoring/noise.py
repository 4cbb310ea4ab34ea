"""Whole texts and sentences that state no value: non-answers, asides, code."""

from __future__ import annotations

import re

CODE = re.compile(r"```[^\n`]{0,30}\n.*?```", re.DOTALL)

ASIDE = re.compile(
    r"\b(?:generally|typically|usually|rule of thumb|as a rule|industry average|for reference|sanity check)\b"
    r"|^\s*(?:\(?note\b|nb\b|caveat|disclaimer|source)"
    r"|^\s*(?:this|that|it|the (?:figure|amount|value|number|result)) (?:is|was) (?:derived|calculated|computed|obtained|based)\b[^=]*$",
    re.IGNORECASE,
)
"""A sentence that comments and does not answer."""
_ASIDE_WORDS = (
    *("generally", "typically", "usually", "rule", "industry average", "for reference", "sanity"),
    *("note", "nb", "caveat", "disclaimer", "source"),
    *("derived", "calculated", "computed", "obtained", "based"),
)


def may_comment(text: str) -> bool:
    """Whether a text holds a word of ASIDE: tells the common case cheaply."""
    folded = text.lower()
    return any(word in folded for word in _ASIDE_WORDS)


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
_DENIALS = (
    *("n't", "no ", "no\n", "no\u00a0", "not ", "not\n", "not\u00a0", "cannot", "unable", "declin"),
    *("refus", "lack", "insuffic", "without", "undisclos", "unknown", "impossib", "against my"),
)
"""One of them stands in every non-answer: most texts have none, and are spared the patterns."""
MISSING_WORD = re.compile(
    r"\W*(?:n\s?[./]?\s?a\.?|n/?d|null|none|nothing|unknown|unavailable|undisclosed|not (?:available|applicable"
    r"|disclosed|reported|provided|stated|specified|given|mentioned|found|known|determinable|meaningful)|nm|n\.m\.|no answer|-?\?+|tbd)\W*",
    re.IGNORECASE,
)
NOT_FINITE = re.compile(r"\W*(?:[+-]?\s?(?:nan|inf(?:inity)?)|∞)\W*", re.IGNORECASE)
DASH = re.compile(r"[\s$€£₹]*(?:-{1,3}|–|—|−)[\s.]*")


def non_answer(text: str) -> tuple[str, int] | None:
    """The kind of non-answer that a text states and where: `refusal` or `no_answer`."""
    folded = text.lower()
    if not any(word in folded for word in _DENIALS):
        return None
    found = [
        (match.start(), kind)
        for kind, pattern in (("refusal", REFUSAL), ("no_answer", NO_ANSWER))
        if (match := pattern.search(text))
    ]
    if not found:
        return None
    at, kind = min(found)
    return kind, at
