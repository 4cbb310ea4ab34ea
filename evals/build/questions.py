"""Question builders: each words one question on a document and computes its gold from figures."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from decimal import ROUND_HALF_UP, Decimal
from typing import Any

from evals.build.figures import SCALES, Document

Input = Mapping[str, Any]


@dataclass(frozen=True)
class Question:
    """What a builder gives: the words for the model and, apart from them, the gold."""

    question: str
    instructions: str
    gold: dict[str, Any]
    scorer: dict[str, Any]
    pass_mark: float | None = None
    tags: dict[str, str] = field(default_factory=dict)


def figure(document: Document, case: Input) -> Question:
    """Extraction: one figure, as the document states it."""
    line, column = case["line"], case.get("column", document.columns[0])
    question = f"What was {_noun(case)}{_when(document, case, column)}?"
    scorer = {"name": "numeric", "rel_tol": 0.001}
    return _amount(document, case, document.value(line, column), question, scorer)


def total(document: Document, case: Input) -> Question:
    """Reasoning: the sum of several lines of the newest column."""
    lines = case["lines"]
    named = " plus ".join(_lower(line) for line in lines)
    when = _when(document, case, document.columns[0])
    question = f"How much {case.get('verb', 'was')} {named}{when}?"
    value = sum((document.value(line) for line in lines), Decimal(0))
    found = _amount(document, {**case, "line": lines[0]}, value, question, _REASONING)
    return _with_rubric(found, document, *((line, document.columns[0]) for line in lines))


def difference(document: Document, case: Input) -> Question:
    """Reasoning: one line minus another."""
    value = document.value(case["line"]) - document.value(case["of"])
    question = f"What is {_noun(case)} minus {_lower(case['of'])}?"
    found = _amount(document, case, value, question, _REASONING)
    column = document.columns[0]
    return _with_rubric(found, document, (case["line"], column), (case["of"], column))


def growth(document: Document, case: Input) -> Question:
    """Reasoning: percentage change from the second column to the first."""
    (new, old), (after, before) = document.columns[:2], document.figures[case["line"]][:2]
    question = f"By what percentage did {_noun(case)} change from {old} to {new}?"
    found = _percent(case, (after - before) / abs(before), question)
    return _with_rubric(found, document, (case["line"], new), (case["line"], old))


def share(document: Document, case: Input) -> Question:
    """Reasoning: one line as a percentage of another."""
    part = document.value(case["line"]) / document.value(case["of"])
    when = _when(document, case, document.columns[0])
    noun = _noun(case)
    question = f"{noun[0].upper() + noun[1:]} was what percentage of {_lower(case['of'])}{when}?"
    column = document.columns[0]
    operands = (case["line"], column), (case["of"], column)
    return _with_rubric(_percent(case, part, question), document, *operands)


def rank(document: Document, case: Input) -> Question:
    """Ranking: lines by one column, largest first."""
    column = case.get("column", document.columns[0])
    lines = case.get("lines", list(document.figures))
    ordered = sorted(lines, key=lambda line: document.value(line, column), reverse=True)
    if len({document.value(line, column) for line in lines}) != len(lines):
        raise ValueError(f"{document.id}: a tie has no right order")
    when = _when(document, case, column)
    which = ", ".join(lines) if "lines" in case else f"the {case['items']}"
    return Question(
        f"Rank {which} by {case['measure']}{when}.",
        "List the names from highest to lowest, separated by commas.",
        {"answer": ordered},
        {"name": "ranking"},
        pass_mark=0.7,
        tags={"items": str(len(ordered))},
    )


def rose(document: Document, case: Input) -> Question:
    """Classification, yes or no: is the first column above the second?"""
    after, before = document.figures[case["line"]][:2]
    return _yes_no(case, after > before, f"Did {_noun(case)} increase?")


def direction(document: Document, case: Input) -> Question:
    """Classification by label: did a line increase or decrease?"""
    after, before = document.figures[case["line"]][:2]
    if after == before:
        raise ValueError(f"{document.id}: {case['line']} did not move")
    words = {"increased": ["increase", "rose", "rise"], "decreased": ["decrease", "fell", "fall"]}
    answer = "increased" if after > before else "decreased"
    question = f"Did {_noun(case)} increase or decrease in {document.columns[0]}?"
    return _label(case, answer, words, question)


def larger(document: Document, case: Input) -> Question:
    """Classification, yes or no: is one line above another?"""
    question = f"Was {_noun(case)} larger than {_lower(case['of'])} in {document.columns[0]}?"
    return _yes_no(case, document.value(case["line"]) > document.value(case["of"]), question)


def covenant(document: Document, case: Input) -> Question:
    """Classification, yes or no: does a ratio keep within the maximum that a loan allows?"""
    kept = document.value(case["line"]) <= document.value(case["of"])
    return _yes_no(case, kept, "Did the company keep within this limit?")


def going_concern(document: Document, case: Input) -> Question:
    """Classification, yes or no: does the auditor doubt that the company can continue?"""
    question = "Is there substantial doubt that the company can continue as a going concern?"
    return _yes_no(case, document.facts["going_concern"] == "yes", question)


def guidance(document: Document, case: Input) -> Question:
    """Classification by label: was a forecast raised or lowered?"""
    action = document.action(case["line"])
    words = {"raised": ["raise"], "lowered": ["lower"]}
    if action not in words:
        raise ValueError(f"{document.id}: the forecast was {action}, which is no label")
    question = f"Did the company raise or lower its {_lower(case['line'])}?"
    return _label(case, action, words, question)


def profit(document: Document, case: Input) -> Question:
    """Classification by label: is the result a profit or a loss?"""
    answer = "profit" if document.value(case["line"]) > 0 else "loss"
    return _label(
        case, answer, {"profit": [], "loss": []}, "Did the company make a profit or a loss?"
    )


def movement(document: Document, case: Input) -> Question:
    """Summarization: one line's change and, where the document states it, the reason."""
    return _summary(f"{_moved(document, case['line'])}{_because(document)}.", 1)


def movements(document: Document, case: Input) -> Question:
    """Summarization: the changes of several lines."""
    moved = [_moved(document, case["lines"][0])]
    moved += [_moved(document, line, owner=False) for line in case["lines"][1:]]
    doubt = document.facts.get("going_concern") == "yes"
    tail = ", and there is substantial doubt about its going concern" if doubt else ""
    return _summary(", and ".join(moved) + tail + ".", 2)


def levels(document: Document, case: Input) -> Question:
    """Summarization: the figures of several lines in the newest column."""
    stated = [f"{line.lower()} of {document.words(line)}" for line in case["lines"]]
    return _summary(f"{document.company} had {' and '.join(stated)} in {document.columns[0]}.", 1)


def forecast(document: Document, case: Input) -> Question:
    """Summarization: a forecast and what it replaces."""
    line = case["line"]
    new, old = document.columns[:2]
    return _summary(
        f"{document.company} {document.action(line)} its {line.lower()} for 2025 to "
        f"{document.words(line, new)} from {document.words(line, old)}.",
        1,
    )


def plan(document: Document, case: Input) -> Question:
    """Summarization: what a company will spend, against the year before."""
    line, (new, old) = case["line"], document.columns[:2]
    return _summary(
        f"{document.company} will spend {document.words(line, new)} on {line.lower()} in {new}, "
        f"after {document.words(line, old)} in {old}.",
        1,
    )


BUILDERS: dict[str, Callable[[Document, Input], Question]] = {
    builder.__name__: builder
    for builder in (
        figure, total, difference, growth, share, rank, rose, direction, larger,
        covenant, going_concern, guidance, profit, movement, movements, levels, forecast, plan,
    )
}  # fmt: skip

# The final answer alone decides; the rubric says of a wrong one whether its operands were found.
_REASONING = {"name": "steps", "rel_tol": 0.005}
_SENTENCE = "Answer in one short sentence."


def _lower(line: str) -> str:
    return line[0].lower() + line[1:]


def _noun(case: Input) -> str:
    return str(case.get("noun", _lower(case["line"])))


def _when(document: Document, case: Input, column: str) -> str:
    # A document with a single column leaves no doubt; a case can ask for the date all the same.
    return f" in {column}" if case.get("dated", len(document.columns) > 1) else ""


def _form(case: Input, plain: str, sentence: str = _SENTENCE) -> str:
    return sentence if case.get("form") == "sentence" else plain


def _amount(
    document: Document, case: Input, value: Decimal, question: str, scorer: dict[str, Any]
) -> Question:
    gold: dict[str, Any] = {"answer": str(value), "unit": document.unit(case["line"])}
    plain = "Answer with the figure only."
    if gold["unit"] == "USD":
        gold["scale"] = SCALES[document.scale]
        plain = f"Answer with the figure only, in {document.scale} of dollars."
    return Question(question, _form(case, plain), gold, scorer)


def _percent(case: Input, share: Decimal, question: str) -> Question:
    answer = (100 * share).quantize(Decimal("0.01"), ROUND_HALF_UP)
    gold = {"answer": str(answer), "unit": "percent"}
    # Half of the last digit asked for, so that correct rounding never costs the point.
    scorer = {**_REASONING, "abs_tol": 0.05}
    plain = "Answer with the percentage only, to one decimal."
    return Question(question, _form(case, plain), gold, scorer)


def _with_rubric(found: Question, document: Document, *operands: tuple[str, str]) -> Question:
    """The question with the figures that its answer is worked out from: (line, column) each."""
    steps = [
        {
            "name": f"{_lower(line)} in {column}",
            "value": str(document.value(line, column)),
            "unit": document.unit(line),
            "scale": SCALES[document.scale],
            "rel_tol": 0,
        }
        for line, column in operands
    ]
    return replace(found, gold={**found.gold, "steps": steps})


def _yes_no(case: Input, truth: bool, question: str) -> Question:
    gold = {"answer": "yes" if truth else "no", "positive": "yes"}
    form = _form(case, "Answer yes or no.", "Start your answer with Yes or No.")
    return Question(question, form, gold, {"name": "boolean"})


def _label(case: Input, answer: str, words: Mapping[str, list[str]], question: str) -> Question:
    labels = list(words)
    choice = ", ".join(labels[:-1]) + f" or {labels[-1]}"
    aliases = {label: others for label, others in words.items() if others}
    scorer: dict[str, Any] = {"name": "label"}
    if aliases:
        scorer["aliases"] = aliases
    form = _form(case, f"Answer with one word: {choice}.")
    return Question(question, form, {"answer": answer, "labels": labels}, scorer)


def _summary(reference: str, sentences: int) -> Question:
    count = "one sentence" if sentences == 1 else "two sentences"
    return Question(
        f"Summarize the text above in {count}.",
        "Keep the figures.",
        {"answer": reference},
        {"name": "summary"},
        pass_mark=0.6,
    )


def _moved(document: Document, line: str, owner: bool = True) -> str:
    new, old = document.columns[:2]
    moved = document.movement(line, new, old)
    if not owner:
        return f"{line.lower()} {moved}"
    suffix = "'" if document.company.endswith("s") else "'s"
    return f"{document.company}{suffix} {line.lower()} {moved} in {new}"


def _because(document: Document) -> str:
    return f" because of {document.facts['cause']}" if "cause" in document.facts else ""
