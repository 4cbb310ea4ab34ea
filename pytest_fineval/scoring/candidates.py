"""Which number of a text is the answer: the later stages, in the order of the contract.

5 declared label - 6 equality chain - 7 last candidate that fits - 8 hedges and ranges. A text that
the model itself marked as its answer is read by `pick_marked`, free text by `pick_prose`.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass, field
from decimal import Decimal
from itertools import pairwise

from pytest_fineval.scoring import noise
from pytest_fineval.scoring.ask import Ask, Candidate, agree, resolve
from pytest_fineval.scoring.beside import scale_note
from pytest_fineval.scoring.extract import Located
from pytest_fineval.scoring.number import find_numbers, find_spelled
from pytest_fineval.scoring.surroundings import Labels, Surroundings, covered


@dataclass(slots=True)
class Pick:
    """The candidate that counts, or why there is none."""

    stage: str
    candidate: Candidate | None = None
    failure: str | None = None
    ambiguous: bool = False
    candidates: list[Candidate] = field(default_factory=list)


_SENTENCE = re.compile(r"[.!?][\"')\]]*[ \u00a0]+(?=\S)|\n+")
_ABBREVIATION = re.compile(
    r"(?:^|[\s(])(?:Rs|Re|No|Nos|Inc|Corp|Ltd|Co|vs|approx|ca|i\.e|e\.g|Fig|St|U\.S|U\.K|Mr|Mrs|Dr|pp?|cf|Sec|Art"
    r"|Para|Reg|F\.Y|Mio|Mrd|Tsd|Fr|kr|Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sept?|Oct|Nov|Dec|incl|excl|est|avg|\d{1,2})\.$",
    re.IGNORECASE,
)


def sentences(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Spans of the sentences and lines of `text[start:end]`, blank ones left out."""
    at = start
    for match in _SENTENCE.finditer(text, start, end):
        if match.group()[0] == ".":
            window = text[max(at, match.start() - 8) : match.start() + 1]
            listed = len(window.strip()) <= 3 and window.strip()[:1].isdigit()
            abbreviated = _ABBREVIATION.search(window)
            if text[match.end()].islower() or listed or (abbreviated and not window[-2].isdigit()):
                continue
        if text[at : match.start()].strip():
            yield at, match.start() + 1
        at = match.end()
    if text[at:end].strip():
        yield at, end


def pick(located: Located, ask: Ask) -> Pick:
    """The number that a located answer commits to."""
    text = located.view.text
    whole = text[located.start : located.end]
    early = _not_a_number(whole, located.stage, ask)
    if early is not None:
        return early
    pool = read(text, located, ask)
    if located.marked:
        picked = pick_marked(text, located, pool, ask)
        if picked is not None:
            return picked
        if located.stage == "json":
            return Pick("json", failure="no_number", candidates=pool)
        pool = read(text, Located("text", located.view, 0, len(text)), ask)
    return pick_prose(text, pool, ask)


def _not_a_number(whole: str, stage: str, ask: Ask) -> Pick | None:
    """Texts that are no number as a whole: nan, a dash, N/A."""
    if len(whole) > 80:
        return None
    if noise.NOT_FINITE.fullmatch(whole):
        return Pick(stage, failure="non_finite")
    if noise.DASH.fullmatch(whole):
        if not ask.dash_is_zero:
            return Pick(stage, failure="no_number")
        return Pick(stage, candidate=Candidate.zero(whole))
    if noise.MISSING_WORD.fullmatch(whole):
        return Pick(stage, failure="no_answer")
    return None


def read(text: str, located: Located, ask: Ask) -> list[Candidate]:
    """All candidates of the located text, with what speaks for and against each."""
    start, end = located.start, located.end
    fraction = _FRACTION.fullmatch(text, start, end)
    if fraction:
        bar = fraction.start("bar")
        text = f"{text[:bar]}⁄{text[bar + 1 :]}"
    code = [m.span() for m in noise.CODE.finditer(text, start, end)] if "```" in text else []
    if code and not "".join(_outside(text, start, end, code)).strip():
        code = []
    note = _note(text, ask)
    margin = 24 if located.stage == "box" else 0
    labels = Labels(text, start, ask.durations)
    found: list[Candidate] = []
    for reading in find_numbers(text, ask.style, start, end, margin):
        if not covered(code, reading.at):
            candidate = resolve(text, reading, ask, note)
            candidate.label = reading.name if ask.keeps_labels else labels.is_label(reading)
            found.append(candidate)
    if not any(c.fits and not c.label for c in found):
        written = [(c.reading.start, c.reading.end) for c in found]
        for reading in find_spelled(text, ask.style, start, end):
            if not (covered(code, reading.at) or covered(written, reading.at)):
                candidate = resolve(text, reading, ask, note)
                found.append(candidate)
        found.sort(key=lambda c: c.reading.start)
    if len(found) == 1 and not found[0].reading.name:
        reading = found[0].reading
        if not (
            text[start : reading.start].strip(" [\n") or text[reading.end : end].strip(" ].\n")
        ):
            found[0].label = False  # what is all of an answer is no label within it
    if found:
        _weigh(text, start, end, found)
    _join(text, found, ask)
    return found


def _weigh(text: str, start: int, end: int, found: list[Candidate]) -> None:
    """What the surroundings of each candidate say about it."""
    around = Surroundings(text, start, end)
    for candidate in found:
        reading = candidate.reading
        role = around.role(reading)
        candidate.result, candidate.margin = role == "result", role == "margin"
        candidate.operand = role == "operand"
        if not candidate.label:
            candidate.context = around.is_context(reading)
            candidate.inside = around.is_inside(reading)


_FRACTION = re.compile(r"[\s$(*]*[-−]?\d[\d,.]{0,20}\s?(?P<bar>/)\s?\d[\d,.]{0,20}[\s$).*]*")
"""A text that is one fraction: elsewhere a stroke divides, and its sides are operands."""


def _outside(text: str, start: int, end: int, spans: list[tuple[int, int]]) -> Iterator[str]:
    at = start
    for begin, stop in spans:
        yield text[at:begin]
        at = stop
    yield text[at:end]


def _note(text: str, ask: Ask) -> Decimal | None:
    """The scale that a note such as `(In thousands)` gives to amounts without one."""
    if ask.unit.kind != "money" or ask.unit.per_share:
        return None
    return scale_note(text)


_COMPARISON = re.compile(
    r"\b(?:in|for|during)\s+(?:FY|fiscal|Q[1-4]|(?:19|20)\d\d|the (?:prior|previous))|prior|previous|last year|ago|earlier"
    r"|vs\b|versus|compared",
    re.IGNORECASE,
)
_RESTATING = re.compile(
    r"[ \u00a0]*\([ ]?(?:i\.e\.,?|that is,?|equivalent(?:ly)?(?: to)?|about|approximately|approx\.?|roughly|or about|=|equal to)\s*",
    re.IGNORECASE,
)
_RANGE_LINK = re.compile(r"\s*(?:-|–|—|~|to|and|through|bis|à|до)\s*", re.IGNORECASE)
_OR_LINK = re.compile(
    r"[\s,;(]*\b(?:and/)?or\b[\s,]*(?:(?:about|approximately|roughly|maybe|possibly|perhaps|even|alternatively|equivalently|around"
    r"|nearly|some|else|rather|just|i\.e\.|~|≈|=)[\s,]*){0,3}\(?",
    re.IGNORECASE,
)
_AND_LINK = re.compile(r"[\s,;/&]*(?:\b(?:and|then|also)\b)?[\s,]*", re.IGNORECASE)
_CHANGE = re.compile(
    r"\b(?:gr[eo]w\w*|r[oi]s\w+|increas\w+|declin\w+|decreas\w+|f[ea]ll\w*|drop\w*|improv\w+|mov\w+|went|go(?:es|ing)|chang\w+"
    r"|expand\w+|narrow\w+|widen\w+|up|down|reduc\w+|jump\w*|climb\w*|slip\w*|shr[aiu]nk\w*|contract\w*|swung)\b",
    re.IGNORECASE,
)


def _join(text: str, found: list[Candidate], ask: Ask) -> None:
    """Links between neighbours: restatements in brackets, ranges, hedges."""
    for first, second in pairwise(found):
        if first.label or second.label:
            continue
        a, b = first.reading, second.reading
        gap = text[a.end : b.start]
        if len(gap) > 60:
            if _either(text, a.start, gap) and first.fits and second.fits:
                second.hedges = first
            continue
        beside = (b.bracketed and not gap.strip(" \u00a0~≈")) or _RESTATING.fullmatch(gap)
        if beside and first.fits:
            ratio = ask.as_ratio(first) if second.fits and second.explicit else None
            if ratio is not None and agree(ratio, second, ask):
                first.restates = second  # "0.064 (6.4%)": the side with the asked unit is meant
                second.inside = False
            elif first.explicit or not second.explicit:
                second.restates = first
                trailing = text[b.end : b.end + 40].partition(")")[0]
                alike = first.explicit == second.explicit and second.fits and not second.operand
                if alike and not agree(first, second, ask) and not _COMPARISON.search(trailing):
                    first.contradicted = True
            continue
        if not second.fits:
            continue
        if first.fits and _is_range(text, first, gap):
            second.range_with = first
        elif first.fits and (_OR_LINK.fullmatch(gap) or _either(text, a.start, gap)):
            second.hedges = first


def _either(text: str, at: int, gap: str) -> bool:
    return bool(re.search(r"\bor\b", gap) and re.search(r"\beither\b", text[max(0, at - 40) : at], re.IGNORECASE))  # fmt: skip


def _is_range(text: str, first: Candidate, gap: str) -> bool:
    link = _RANGE_LINK.fullmatch(gap)
    if link is None:
        return False
    word = gap.strip().lower()
    before = text[max(0, first.reading.start - 80) : first.reading.start]
    if word == "and":
        return bool(re.search(r"\bbetween\s+(?:about |approximately |roughly )?$", before, re.IGNORECASE))  # fmt: skip
    if word == "to":
        sentence = re.split(r"[\n;]|\.\s", before)[-1]
        if re.search(r"\brang", sentence, re.IGNORECASE):
            return True
        return not _CHANGE.search(sentence)
    if word == "-" and gap != word:
        return "=" not in text[first.reading.end : first.reading.end + 60]
    return bool(word)


def pick_marked(text: str, located: Located, pool: list[Candidate], ask: Ask) -> Pick | None:
    """Stage 4 read: the value that a marked text commits to; None when it holds no value."""
    stage = located.stage
    places = [candidate.reading.at for candidate in pool]
    for start, end in sentences(text, located.start, located.end):
        here = pool[bisect_left(places, start) : bisect_left(places, end)]
        if not any(c.fits and not c.label for c in here):
            if noise.non_answer(text[start:end]):
                break
            continue
        chained = _chain(here, ask)
        if chained is not None:
            return _judged(Pick(stage, chained, candidates=pool), here, ask)
        best = _best(here)
        if best.weak and any(c.problem for c in here if not c.label):
            break
        rivals = [c for c in _tier(here) if c is not best and not agree(c, best, ask)]
        lead = text[start : here[0].reading.start]
        value_first = not re.search(r"\w", re.sub(r"(?i)about|approximately|approx\.?|roughly|around|nearly|circa", "", lead))  # fmt: skip
        if rivals and value_first:
            first = _tier(here)[0]
            gap = _between(text, _tier(here))
            if _AND_LINK.fullmatch(gap) or re.search(r"\band\b|\bor\b", gap):
                return Pick(stage, failure="ambiguous", ambiguous=True, candidates=pool)
            best = first
        picked = Pick(stage, best, candidates=pool, ambiguous=bool(rivals))
        return _judged(picked, here, ask)
    said = noise.non_answer(located.text)
    if said:
        return Pick(stage, failure=said[0], candidates=pool)
    return _unfit(stage, pool)


_BREAK = re.compile(
    r"\b(?:which|that|calculated|computed|derived|based|because|since|given|represent\w*|of|as|with|on|from|divid\w+|using"
    r"|than|vs|versus|compared|where|while|after|before|per|over|rounded|obtained|plus|less|up|down)\b|=",
    re.IGNORECASE,
)


def _between(text: str, tier: list[Candidate]) -> str:
    """The text between the first two values, up to a word that subordinates what follows."""
    gap = text[tier[0].reading.end : tier[1].reading.start]
    return "" if not gap else gap if not _BREAK.search(gap) else "subordinate"


def pick_prose(text: str, pool: list[Candidate], ask: Ask) -> Pick:
    """Stages 5 to 8 on free text."""
    labelled = _labelled(text, pool, ask)
    if labelled is not None:
        return _judged(Pick("label", labelled, candidates=pool), pool, ask)
    spans = list(sentences(text, 0, len(text)))
    if spans:
        start, end = spans[-1]
        here = [c for c in pool if start <= c.reading.at < end]
        chained = _chain(here, ask)
        if chained is not None:
            return _judged(Pick("chain", chained, candidates=pool), here, ask)
    fitting = [c for c in pool if c.fits and not c.label]
    said = noise.non_answer(text)
    asides = (
        [span for span in spans if noise.ASIDE.search(text[slice(*span)])]
        if len(spans) > 1 and noise.may_comment(text)
        else []
    )
    for candidate in fitting:
        candidate.aside = covered(asides, candidate.reading.at)
    best = _best(fitting) if fitting else None
    if said and (best is None or said[1] < best.reading.start or _supposed(text, spans, best)):
        return Pick("non_answer", failure=said[0], candidates=pool)
    if best is None or (
        best.weak and any(c.problem for c in pool if not c.label and not c.operand)
    ):
        return _unfit("last_candidate", pool) or Pick("last_candidate", failure="no_number", candidates=pool)  # fmt: skip
    rivals = [c for c in _tier(fitting) if c is not best and not agree(c, best, ask)]
    stage = "last_candidate" if rivals else "candidate"
    picked = Pick(stage, best, ambiguous=bool(rivals), candidates=pool)
    return _judged(picked, fitting, ask)


_SUPPOSED = re.compile(r"\b(?:if|assum\w+|suppos\w+|hypothetical\w*)\b", re.IGNORECASE)


def _supposed(text: str, spans: list[tuple[int, int]], candidate: Candidate) -> bool:
    """Whether the sentence of a candidate sets it under a condition."""
    at = candidate.reading.start
    start = max((span[0] for span in spans if span[0] <= at), default=0)
    return _SUPPOSED.search(text, start, at) is not None


def _labelled(text: str, pool: list[Candidate], ask: Ask) -> Candidate | None:
    """Stage 5: the value bound to the last `label: / was / is / =`."""
    if ask.label is None:
        return None
    places = [candidate.reading.at for candidate in pool]
    for match in reversed(list(ask.label.finditer(text))):
        stop = text.find("\n", match.end())
        span = next(sentences(text, match.end(), len(text) if stop < 0 else stop), None)
        if span is None:
            continue
        near = pool[bisect_left(places, span[0]) : bisect_left(places, span[1])]
        here = [c for c in near if c.fits and not c.label]
        chained = _chain(here, ask)
        if chained is not None:
            return chained
        clear = [c for c in here if not (c.operand or c.context or c.inside)] or here
        if clear:
            explicit = [c for c in clear if c.explicit]
            return (explicit or clear)[0]
    return None


def _chain(here: list[Candidate], ask: Ask) -> Candidate | None:
    """Stage 6: the result of the last equality, if no rival with an explicit unit follows."""
    results = [c for c in here if c.result and not c.operand]
    if not results:
        return None
    last = results[-1]
    if not last.fits or last.label or last.inside:
        return None
    later = [c for c in here if c.reading.start > last.reading.start and not c.label]
    rival = any(c.fits and c.explicit and not c.context for c in later)
    if rival and not last.explicit:
        return None
    if not last.explicit and (ratio := ask.as_ratio(last)) is not None:
        for other in here:  # "14.5% = 0.145": one value, the side with the asked unit is meant
            if other.fits and other.explicit and not other.label and agree(ratio, other, ask):
                return other
    return last


def _tier(pool: list[Candidate]) -> list[Candidate]:
    """The candidates that least speaks against."""
    usable = [c for c in pool if c.fits and not c.label and not c.margin and c.restates is None]
    if not usable:
        usable = [c for c in pool if c.fits and not c.label]
    least = min(c.penalty for c in usable)
    return [c for c in usable if c.penalty == least]


def _best(pool: list[Candidate]) -> Candidate:
    return _tier(pool)[-1]


def _judged(picked: Pick, here: list[Candidate], ask: Ask) -> Pick:
    """Stage 8: hedges, ranges and self-contradictions around the picked value."""
    chosen = picked.candidate
    if chosen is None:
        return picked
    for candidate in here:
        if candidate is chosen or candidate.range_with is chosen or candidate.hedges is chosen:
            if candidate.range_with is not None:
                return Pick(
                    picked.stage, failure="range", ambiguous=True, candidates=picked.candidates
                )
            other = candidate.hedges
            if other is not None:
                kept = _one_value(other, candidate, ask)
                if kept is None:
                    return Pick(picked.stage, failure="ambiguous", ambiguous=True, candidates=picked.candidates)  # fmt: skip
                picked.candidate = kept
                picked.ambiguous = False
    if chosen.contradicted or (picked.candidate is not None and picked.candidate.contradicted):
        return Pick(picked.stage, failure="ambiguous", ambiguous=True, candidates=picked.candidates)
    if picked.candidate is not None and picked.candidate.problem:
        return Pick(picked.stage, failure=picked.candidate.problem, candidates=picked.candidates)
    if picked.ambiguous and ask.strict:
        return Pick(picked.stage, failure="ambiguous", ambiguous=True, candidates=picked.candidates)
    return picked


def _one_value(first: Candidate, second: Candidate, ask: Ask) -> Candidate | None:
    """The one value that two sides of an `or` state, or None when they differ."""
    if agree(first, second, ask):
        exact = second.reading.unit == ask.unit.kind and first.reading.unit != ask.unit.kind
        return second if exact else first
    for bare, explicit in ((first, second), (second, first)):
        ratio = ask.as_ratio(bare)
        if explicit.explicit and ratio is not None and agree(ratio, explicit, ask):
            return explicit
    return None


def _unfit(stage: str, pool: list[Candidate]) -> Pick | None:
    """Why no candidate fits: the last problem of the gravest kind; None without any number."""
    real = [c for c in pool if not c.label and not c.margin]
    for problem in ("out_of_range", "malformed_number", "wrong_currency", "unit_mismatch"):
        found = [c for c in real if c.problem == problem]
        if found:
            shown = found[-1] if problem == "wrong_currency" else None
            return Pick(stage, shown, failure=problem, candidates=pool)
    return None
