"""A chain written as JSON: its list of steps and its answer, read as far as it goes."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

STEP_KEYS = ("steps", "reasoning_steps", "solution_steps", "chain", "reasoning", "solution", "шаги",
             "решение")  # fmt: skip
ANSWER_KEYS = ("final_answer", "answer", "final", "final_result", "result", "final_value", "ответ",
               "итоговый_ответ", "итог")  # fmt: skip
TEXT_KEYS = ("description", "text", "step", "explanation", "content", "name", "title", "expression",
             "calculation", "formula", "описание", "шаг", "текст")  # fmt: skip
VALUE_KEYS = ("value", "result", "output", "answer", "значение", "результат")

_ATTEMPTS = 32
"""Objects tried, and places tried at which a cut-off one may be closed."""

_REPAIRS = 4
"""Cut-off objects that are tried."""

_DEPTH = 64
_BAD_ESCAPE = re.compile(r'\\(?!["\\/bfnrtu])')
_TRAILING_COMMA = re.compile(r",(?=\s{0,200}[}\]])")
_DECODER = json.JSONDecoder(parse_float=Decimal, parse_int=Decimal, strict=False)


@dataclass(frozen=True, slots=True)
class JsonStep:
    """One step: its text, and the value where the object states one.

    Attributes:
        stated: the object has a field for the value; `value` is then what stands there.
    """

    text: str
    value: Any = None
    stated: bool = False


@dataclass(frozen=True, slots=True)
class JsonChain:
    """Steps and answer of a chain in JSON.

    Attributes:
        answered: there is a field for the answer.
        listed: there is a field for the steps.
        start, end: where the object stands in the text.
    """

    steps: tuple[JsonStep, ...]
    answer: Any = None
    answered: bool = False
    listed: bool = True
    start: int = 0
    end: int = 0


def read_json(text: str) -> JsonChain | None:
    """The last object of the text that holds steps or an answer; None without one.

    Args:
        text: raw text, with or without a fence or words around the JSON. An object that is cut off
            is read up to its last complete field.
    """
    best: JsonChain | None = None
    for value, start, end in _values(text):
        found = _chain(value)
        if found is not None:
            best = replace(found, start=start, end=end)
    return best


_START = re.compile(r"\{\s{0,200}[\"}]|\[\s{0,200}\{")
_TOKEN = re.compile(r'"(?:[^"\\]|\\.){0,20000}"|[{}\[\],]')
_FAILED = object()


def _values(text: str) -> Iterator[tuple[Any, int, int]]:
    """Outermost JSON objects and lists of the text with their spans, in order."""
    at, repairs = 0, 0
    for _ in range(_ATTEMPTS):
        found = _START.search(text, at)
        if found is None:
            return
        at = found.start()
        stop, cuts = _extent(text, at)
        value: Any = _FAILED
        if stop is not None:
            value = _loads(text[at:stop])
        elif repairs < _REPAIRS:
            # One that never closes is read up to its last complete field.
            repairs += 1
            stop = len(text)
            tried = (_loads(text[at:cut] + closers) for cut, closers in reversed(cuts))
            value = next((each for each in tried if each is not _FAILED), _FAILED)
        if value is _FAILED:
            at += 1
            continue
        yield value, at, stop or len(text)
        at = stop or len(text)


def _loads(text: str) -> Any:
    for source in (text, _TRAILING_COMMA.sub("", _BAD_ESCAPE.sub(r"\\\\", text))):
        try:
            return _DECODER.decode(source)
        except (ValueError, RecursionError, ArithmeticError):
            continue
    return _FAILED


def _extent(text: str, at: int) -> tuple[int | None, list[tuple[int, str]]]:
    """The end of the object at `at`; without one, where it can be cut and what closes it there."""
    closers: list[str] = []
    cuts: list[tuple[int, str]] = []
    for match in _TOKEN.finditer(text, at):
        sign = match.group()
        if sign in "{[":
            closers.append("}" if sign == "{" else "]")
            if len(closers) > _DEPTH:
                return None, []
        elif sign in "}]":
            if not closers or closers.pop() != sign:
                return None, []
            if not closers:
                return match.end(), []
            cuts.append((match.end(), "".join(reversed(closers))))
        elif sign == ",":
            cuts.append((match.start(), "".join(reversed(closers))))
    cuts.append((len(text.rstrip(" \n\t\r`")), "".join(reversed(closers))))
    return None, cuts[-_ATTEMPTS:]


def _chain(value: Any) -> JsonChain | None:
    if isinstance(value, list):
        steps = tuple(_step(item) for item in value if isinstance(item, dict))
        has_texts = steps and all(step.text for step in steps)
        return JsonChain(steps) if has_texts and len(steps) == len(value) else None
    if not isinstance(value, dict):
        return None
    folded = _folded(value)
    kinds = (list, dict)
    listed = next((folded[key] for key in STEP_KEYS if isinstance(folded.get(key), kinds)), None)
    if isinstance(listed, dict):
        listed = list(listed.values())
    key = next((key for key in ANSWER_KEYS if key in folded), None)
    if listed is None and key is None:
        return None
    steps = tuple(_step(item) for item in listed or [])
    return JsonChain(steps, folded.get(key or ""), key is not None, listed is not None)


def _step(item: Any) -> JsonStep:
    if not isinstance(item, dict):
        return JsonStep(item if isinstance(item, str) else json.dumps(item, default=str))
    folded = _folded(item)
    texts = [folded[key] for key in TEXT_KEYS if isinstance(folded.get(key), str)]
    key = next((key for key in VALUE_KEYS if key in folded), None)
    return JsonStep(" ".join(texts), folded.get(key or ""), key is not None)


def _folded(value: dict[str, Any]) -> dict[str, Any]:
    return {re.sub(r"[\s-]+", "_", key.strip()).casefold(): item for key, item in value.items()}
