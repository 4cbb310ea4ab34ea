"""From a model's text to a reasoning chain: steps with values, and the final answer."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any, Literal

from pytest_fineval.scoring.chains.layout import lay_out, without_code
from pytest_fineval.scoring.chains.structured import JsonChain, JsonStep, read_json
from pytest_fineval.scoring.chains.value import stated_value
from pytest_fineval.scoring.view import CAP, clean

FinalSource = Literal["marker", "last_step"]
ParseStatus = Literal[
    "json", "markers", "numbered", "bullets", "lines", "answer_only", "empty", "truncated"
]

MOST_STEPS = 400
"""Steps read of one chain; the first and the last half of a longer one."""

MOST_BOXES = 50
"""Boxes that are looked for in lines."""

_TAG = re.compile(
    r"<(?P<close>/?)(?:think|thinking|thought|thoughts|reasoning|reflection|scratchpad|analysis)\s{0,9}>",
    re.IGNORECASE,
)
_ANSWER_TAG = re.compile(r"<(?:final_)?answer>", re.IGNORECASE)
_BREAK = re.compile(
    r"<br\s{0,3}/?>|</(?:p|li|div|h\d|tr|(?:final_)?answer)>|[\u2028\u2029\x85\v\f]", re.IGNORECASE
)
_MARKUP = re.compile(r"</?(?:b|strong|i|em|u|p|ul|ol|li|div|span|h\d|code)\s{0,3}>", re.IGNORECASE)
_POWER = re.compile(r"(?<=[\d)])\*\*(?=[-\d(])")


@dataclass(frozen=True, slots=True)
class Step:
    """One step.

    Attributes:
        text: cleaned text without the step's marker.
        value: the result it states, units as written and scale words multiplied in; None when it
            states none.
    """

    text: str
    value: Decimal | None = None


@dataclass(frozen=True, slots=True)
class Chain:
    """A reasoning chain as it was written.

    Attributes:
        final_answer: the last stated answer, else the last value of a step.
        final_source: where it was found; None without one. An answer that is stated without a
            number gives None, whatever the steps say.
        parse_status: what told the steps apart; `answer_only` without a step, `empty`, or
            `truncated` when a reasoning block never closes.
    """

    steps: tuple[Step, ...] = ()
    final_answer: Decimal | None = None
    final_source: FinalSource | None = None
    parse_status: ParseStatus = "empty"

    @property
    def values(self) -> list[Decimal | None]:
        """One value a step."""
        return [step.value for step in self.steps]

    @property
    def value_coverage(self) -> float:
        """Share of the steps that state a value; 0 without a step."""
        stated = sum(step.value is not None for step in self.steps)
        return stated / len(self.steps) if self.steps else 0.0


def parse_chain(text: str, locale: str = "en") -> Chain:
    """Read the steps and the final answer of a chain.

    Args:
        text: verbatim model output, English or Russian; of more than 200,000 characters head and
            tail count.
        locale: of its numbers; `ru`, `de` and `fr` have decimal commas.

    Returns:
        A Chain; without a step and an answer when nothing can be read. Never raises.
    """
    if len(text) > CAP:
        text = text[: CAP // 2] + "\n" + text[-CAP // 2 :]
    told = _without_reasoning(text.replace("\r\n", "\n").replace("\r", "\n"))
    if told is None:
        return Chain(parse_status="truncated")
    if "{" in told:
        written = read_json(told)
        if written is not None:
            return _from_json(written, told, locale)
    return _from_text(told, locale)


def _from_text(text: str, locale: str) -> Chain:
    view = clean(_POWER.sub("^", _plain(without_code(text))))
    boxes = [view.text[start:end] for start, end in view.boxes]
    laid = lay_out(view.text, boxes[-MOST_BOXES:])
    steps = tuple(Step(step, stated_value(step, locale)) for step in _few(laid.steps))
    answers = boxes or laid.answers
    status: ParseStatus = laid.layout or ("answer_only" if answers else "empty")
    return _finish(steps, answers[-1] if answers else None, locale, status)


def _plain(text: str) -> str:
    """The text with HTML's line ends as line ends, answer tags as markers, other tags left out."""
    if "<" in text:
        text = _ANSWER_TAG.sub("\nAnswer: ", text)
    return _MARKUP.sub("", _BREAK.sub("\n", text))


def _without_reasoning(text: str) -> str | None:
    """The text without closed reasoning blocks; None when one never closes."""
    if "<" not in text:
        return text
    kept: list[str] = []
    at, opened = 0, -1
    for tag in _TAG.finditer(text):
        if tag["close"]:
            # A block that only closes was opened by the prompt: all before it is reasoning.
            kept = kept if opened >= 0 else []
            at, opened = tag.end(), -1
        elif opened < 0:
            opened = tag.start()
            kept.append(text[at:opened])
    if opened >= 0:
        return None
    return "".join(kept) + text[at:]


def _few(steps: list[str]) -> list[str]:
    if len(steps) <= MOST_STEPS:
        return steps
    return steps[: MOST_STEPS // 2] + steps[-MOST_STEPS // 2 :]


def _from_json(written: JsonChain, text: str, locale: str) -> Chain:
    steps = tuple(_json_step(step, locale) for step in written.steps[:MOST_STEPS])
    status: ParseStatus = "json"
    if not written.listed:
        # Steps in text before an answer in JSON.
        before = _from_text(text[: written.start].rstrip("`json \n"), locale)
        if before.parse_status in {"markers", "numbered", "bullets"}:
            steps, status = before.steps, before.parse_status
    after = _from_text(text[written.end :].lstrip("` \n"), locale)
    if after.final_source == "marker":
        return replace(after, steps=steps, parse_status=status)
    if written.answered:
        final = _json_value(written.answer, locale, answer=True)
        return Chain(steps, final, None if final is None else "marker", status)
    return _finish(steps, None, locale, status)


def _json_step(step: JsonStep, locale: str) -> Step:
    text = clean(step.text).text.strip()
    if not step.stated:
        return Step(text, stated_value(text, locale))
    return Step(text, _json_value(step.value, locale))


def _json_value(value: Any, locale: str, *, answer: bool = False) -> Decimal | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, Decimal):
        return value if value.is_finite() else None
    if isinstance(value, str):
        return stated_value(clean(value).text, locale, answer=answer)
    if isinstance(value, list) and len(value) == 1:
        return _json_value(value[0], locale, answer=answer)
    if isinstance(value, dict):
        for key in ("value", "amount", "number", "answer", "result"):
            if key in value:
                return _json_value(value[key], locale, answer=answer)
    return None


def _finish(steps: tuple[Step, ...], answer: str | None, locale: str, status: ParseStatus) -> Chain:
    if answer is not None:
        final = stated_value(answer, locale, answer=True)
        return Chain(steps, final, None if final is None else "marker", status)
    last = next((step.value for step in reversed(steps) if step.value is not None), None)
    return Chain(steps, last, None if last is None else "last_step", status)
