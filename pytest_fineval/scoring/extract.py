"""Where in a model's text the answer stands: the first stages, in the order of the contract.

0 client status (see `base`) - 1 empty, reasoning blocks - 2 run-on - 3 structured - 4 marker.
What a number is and which one counts (stages 5 to 8) is in `candidates`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from pytest_fineval.scoring.base import CommonOptions
from pytest_fineval.scoring.view import CAP, View, clean

JSON_DEPTH = 32
_ATTEMPTS = 48

_THINK = "think|thinking|thought|thoughts|reasoning|reflection|scratchpad|analysis"
_THINK_TAG = re.compile(rf"<(?P<close>/?)(?:antml:)?(?:{_THINK})\s*>", re.IGNORECASE)
# Runs of blanks are bounded in all patterns: two of them side by side would try every split.
_RUN_ON = re.compile(
    r"\n[ \t]{0,16}(?:[*_#]{0,4}[ \t]{0,16})(?:(?:next |new )?(?:question|problem|exercise)[ \t]{0,16}(?:\#?\d{0,4}[ \t]{0,16}[*_]{0,3}[ \t]{0,16}[:.)]|\#?\d{1,4}[ \t]{0,16}[*_]{0,3}[ \t]{0,16}(?=\n))"
    r"|Q[ \t]{0,16}[*_]{0,3}:|(?:user|human)[ \t]{0,16}[*_]{0,3}:|<\|?(?:user|im_start|endoftext|eot_id)\|?>)",
    re.IGNORECASE,
)
_INVISIBLE = re.compile(r"[\s\u200b-\u200f\u2060\ufeff]*")
_FENCE = re.compile(r"```[ \t]*[\w+-]{0,20}[ \t]*\n?(.*?)```", re.DOTALL)

_LOCALE_ANSWER = {
    "en": "",
    "de": r"|(?:endg(?:ü|ue)ltige\s+)?antwort|(?:end)?ergebnis",
    "fr": r"|r[ée]ponse(?:\s+finale)?|r[ée]sultat(?:\s+final)?",
    "ru": r"|(?:итоговый\s+|окончательный\s+)?ответ|итого?",
}
_KIND_WORDS = {
    "number": "",
    "label": r"|(?:final\s+)?(?:label|classification|class|category|grade|rating|sentiment|verdict|decision"
    r"|conclusion|prediction|stance|judge?ment|opinion|choice|option|assessment|determination|response)",
    "boolean": r"|(?:final\s+)?(?:verdict|decision|conclusion|label|response)",
    "ranking": r"|(?:final\s+)?(?:ranking|rank order|order|ranked list|ranked order)",
    "date": "",
    "multi": r"",
}
_TAG = re.compile(r"<(?P<close>/?)(?P<tag>answer|final_answer|final)>", re.IGNORECASE)
_CONNECTOR = (
    r"(?:\s{0,8}\([^()\n]{0,40}\))?(?:\s{1,8}(?:to|for|in|of)\b[^.:=\n]{1,80}?)?"
    r"(?:\s{0,8}\"?\s{0,8}(?:[:=：]+|->|→|[-–—](?=\s))\s{0,8}|\s{1,8}(?:is|was|are|would be|should be|comes to)(?=[\s:])(?:\s{0,8}:)?\s{0,8}(?:therefore|thus|approximately)?\s{0,8})"
)


@dataclass(slots=True)
class Located:
    """The part of an answer that is to be read.

    Attributes:
        stage: `json`, `tag`, `box`, `marker` or `text`; `empty` or `reasoning` with a failure.
        view: cleaned text; `start` and `end` bound the part to read.
        failure: nothing can be read, and why.
        value: the JSON value; `siblings` are the other fields of its object.
        from_json: `value` is set.
        raw_span: span of the JSON source in the raw text.
    """

    stage: str
    view: View
    start: int = 0
    end: int = 0
    failure: str | None = None
    value: Any = None
    siblings: dict[str, Any] | None = None
    from_json: bool = False
    raw_span: tuple[int, int] | None = None

    @property
    def marked(self) -> bool:
        """Whether the model itself says that its answer stands here."""
        return self.stage in {"json", "tag", "box", "marker"}

    @property
    def text(self) -> str:
        """The cleaned part to read."""
        return self.view.text[self.start : self.end]

    def span(self, start: int, end: int) -> tuple[int, int]:
        """Offsets in the raw text of a span of the view's text."""
        return self.raw_span or self.view.raw_span(start, end)


def locate(raw: str, options: CommonOptions, kind: str, keys: tuple[str, ...] = ()) -> Located:
    """Stages 1 to 4: the committed part of an answer, or the whole text where none is marked.

    Args:
        raw: verbatim text.
        options: what the case declares.
        kind: `number`, `label`, `boolean`, `ranking`, `date` or `multi`: decides marker words.
        keys: further JSON keys that may hold the answer, after `answer`.

    Returns:
        A Located; with `failure` set there is nothing to read.
    """
    start, end, failure = body(raw)
    if failure:
        return Located("empty" if failure == "empty" else "reasoning", View(""), failure=failure)
    end = cut_run_on(raw, start, end)
    structured = from_json(raw, start, end, options, keys)
    if structured is not None:
        return structured
    view = clean(raw, start, end)
    if not view.text.strip():
        return Located("empty", view, failure="empty")
    found = marked(view, options, kind)
    if found is not None:
        return found
    return Located("text", view, 0, len(view.text))


def body(raw: str) -> tuple[int, int, str | None]:
    """Stage 1: the answer without its reasoning blocks, or `empty` / `truncated`."""
    start = 0
    open_at = -1
    if "<" in raw:
        for match in _THINK_TAG.finditer(raw):
            if match.group("close"):
                start, open_at = match.end(), -1
            elif open_at < 0:
                open_at = match.start()
    if open_at >= 0:
        return start, len(raw), "truncated"
    blank = _INVISIBLE.match(raw, start)
    if blank is not None and blank.end() == len(raw):
        return start, len(raw), "empty"
    return start, len(raw), None


def cut_run_on(raw: str, start: int, end: int) -> int:
    """Stage 2: the end of the answer, before a new line that starts a new question."""
    for match in _RUN_ON.finditer(raw, start, end):
        if raw[start : match.start()].strip():
            return match.start()
    return end


def from_json(
    raw: str, start: int, end: int, options: CommonOptions, keys: tuple[str, ...]
) -> Located | None:
    """Stage 3: the value under the answer key; None where free text has to be read instead."""
    only = options.answer_format == "json"
    wanted = (options.answer_key,) if options.answer_key else ("answer", *keys)
    open_object = False
    for text, offset in _json_sources(raw, start, end):
        value, span, unclosed = _parse(text, wanted)
        open_object = open_object or unclosed
        if span is None:
            continue
        place = (offset + span[0], offset + span[1])
        found = _answer_in(value, wanted)
        if found is not None:
            return Located("json", View(""), value=found[0], siblings=found[1], from_json=True, raw_span=place)  # fmt: skip
        bare = isinstance(value, list) or (isinstance(value, dict) and "item map" in keys)
        if bare and (not only or isinstance(value, dict)):
            return Located("json", View(""), value=value, from_json=True, raw_span=place)
    if only:
        failure = "truncated" if open_object else "no_structured_answer"
        return Located("json", View(""), failure=failure)
    if open_object and raw[start:end].lstrip(" \n\t`jsonJSON").startswith("{"):
        return Located("json", View(""), failure="truncated")
    return None


def _json_sources(raw: str, start: int, end: int) -> list[tuple[str, int]]:
    """Texts that may be JSON, the most binding first: last fence, then the whole text."""
    if "{" not in raw[start:end] and "[" not in raw[start:end]:
        return []
    if end - start > CAP:
        start = end - CAP
    fences = [
        (match.group(1), start + match.start(1))
        for match in _FENCE.finditer(raw[start:end])
        if match.group(1).lstrip()[:1] in ("{", "[")
    ]
    return [*reversed(fences[-8:]), (raw[start:end], start)]


class _NonFinite:
    """Stands for NaN and the infinities, which are no JSON."""


NON_FINITE = _NonFinite()
_DECODER = json.JSONDecoder(
    parse_float=Decimal, parse_int=Decimal, parse_constant=lambda _: NON_FINITE, strict=False
)


def _parse(text: str, wanted: tuple[str, ...]) -> tuple[Any, tuple[int, int] | None, bool]:
    """The JSON value that the text is, else the last object in it that has the key.

    Returns:
        The value, its span (None: nothing found), and whether an object opens and never closes.
    """
    stripped = text.strip()
    lead = len(text) - len(text.lstrip())
    if stripped[:1] in ("{", "["):
        value, stop = _decode(text, lead)
        if stop is not None and not text[stop:].strip():
            return value, (lead, stop), False
    best: tuple[Any, tuple[int, int]] | None = None
    at, attempts = text.find("{"), 0
    unclosed = False
    while at >= 0 and attempts < _ATTEMPTS:
        attempts += 1
        value, stop = _decode(text, at)
        if stop is None:
            unclosed = unclosed or _never_closes(text, at)
            at = text.find("{", at + 1)
            continue
        if isinstance(value, dict) and _answer_in(value, wanted) is not None:
            best = value, (at, stop)
        at = text.find("{", stop)
    if best:
        return best[0], best[1], False
    return None, None, unclosed


def _decode(text: str, at: int) -> tuple[Any, int | None]:
    head = text[at : at + 4096]
    if head.count("[") + head.count("{") > 4 * JSON_DEPTH and re.match(r"[\[{\s]{32}", head):
        return None, None
    try:
        value, stop = _DECODER.raw_decode(text, at)
    except (ValueError, RecursionError, ArithmeticError):
        return None, None
    return value, stop


def _never_closes(text: str, at: int) -> bool:
    """Whether the braces that open at `at` are never all closed."""
    return text.count("{", at) > text.count("}", at)


def _answer_in(value: Any, wanted: tuple[str, ...]) -> tuple[Any, dict[str, Any]] | None:
    if not isinstance(value, dict):
        return None
    folded = {str(key).strip().casefold(): key for key in value}
    for name in wanted:
        key = folded.get(name.casefold())
        if key is not None:
            rest = {str(k).casefold(): v for k, v in value.items() if k != key}
            return value[key], rest
    return None


def json_scalar(value: Any) -> Any:
    """A JSON value without the one-element lists around it; empty text and lists are None."""
    for _ in range(JSON_DEPTH):
        if not (isinstance(value, list) and len(value) == 1):
            break
        value = value[0]
    return None if value in ("", []) else value


def marked(view: View, options: CommonOptions, kind: str) -> Located | None:
    """Stage 4: the text that the last answer tag, non-empty box or answer marker commits to."""
    found: list[Located] = []
    text = view.text
    if "<" in text:
        found += [Located("tag", view, start, end) for start, end in _tagged(text)]
    if view.boxes:
        start, end = view.boxes[-1]
        found.append(Located("box", view, start, end))
    if found:
        found = [max(found, key=lambda item: item.start)]
    last = None
    if kind not in {"number", "date", "multi"} or options.locale != "en" or _may_mark(text):
        last = _last_marker(text, _marker(options.locale, kind), kind)
    if last is not None and (not found or last[0] > found[0].end):
        start, end = last
        inner = [item for item in found if start <= item.start < end]
        if not inner:
            return Located("marker", view, start, end)
    return found[0] if found else None


def _tagged(text: str) -> Iterator[tuple[int, int]]:
    """What stands between an answer tag and the next closing tag of its name, blanks left out."""
    opened: dict[str, int] = {}
    for match in _TAG.finditer(text):
        name = match.group("tag").lower()
        if not match.group("close"):
            opened.setdefault(name, match.end())
        elif name in opened:
            start = opened.pop(name)
            if text[start : match.start()].strip():
                yield start, match.start()


def _may_mark(text: str) -> bool:
    return "####" in text or "answer" in text.lower()


_FIRM = re.compile(r"answer|[:=：#]|->|→", re.IGNORECASE)
_MARKERS: dict[tuple[str, str], re.Pattern[str]] = {}


def _marker(locale: str, kind: str) -> re.Pattern[str]:
    """The marker pattern of a locale and kind of answer."""
    key = (locale, kind)
    if key not in _MARKERS:
        words = (
            r"(?:(?:final|correct|overall|short|direct)\s+)?answers?"
            + _LOCALE_ANSWER[locale]
            + _KIND_WORDS[kind]
        )
        _MARKERS[key] = re.compile(
            rf"(?<![\w-])(?:{words}){_CONNECTOR}"
            r"|(?<!\w)final\s+answer\b\s*"
            r"|(?:^|\n)[ \t]*(?:\#{1,6}\s*)?answer[ \t]*(?=\n)"
            r"|\#{4}[ ]*(?=[^\n#]{1,40}(?:\n|$))",
            re.IGNORECASE,
        )
    return _MARKERS[key]


def _last_marker(text: str, pattern: re.Pattern[str], kind: str) -> tuple[int, int] | None:
    """The scope of the last marker that something follows.

    Other kinds than numbers have many marker words: there `Label: x` beats `the label is x`.
    """
    last: tuple[int, int] | None = None
    strong = False
    for match in pattern.finditer(text):
        scope = _scope(text, match.end(), kind)
        if scope is None or _opens_reasoning(text, match, scope):
            continue
        firm = kind == "number" or bool(_FIRM.search(match.group()))
        if firm or not strong:
            last, strong = scope, firm
    return last


def _opens_reasoning(text: str, match: re.Match[str], scope: tuple[int, int]) -> bool:
    """`the answer is based on ...`: the words after the marker announce no value."""
    if text[match.end() - 1 : match.end()] in ":=" or not match.group().strip():
        return False
    return bool(re.match(r"(?:based|derived|given|found|calculated as|computed as) ", text[scope[0] : scope[0] + 16]))  # fmt: skip


def _scope(text: str, at: int, kind: str) -> tuple[int, int] | None:
    """From a marker to the end of the first non-empty line (ranking, multi: of the block)."""
    start = at
    while start < len(text) and (text[start].isspace() or text[start] in '*_:"'):
        start += 1
    if start >= len(text):
        return None
    if kind in {"ranking", "multi"}:
        end = text.find("\n\n", start)
        return start, len(text) if end < 0 else end
    end = text.find("\n", start)
    end = len(text) if end < 0 else end
    if (at > 0 and text[max(0, at - 12) : at].rstrip().endswith('":')) or '":' in text[
        max(0, at - 4) : at
    ]:
        end = _json_field_end(text, start, end)
    return start, end


_FIELD_END = re.compile(r",\s{0,8}\"|\}")


def _json_field_end(text: str, start: int, end: int) -> int:
    """The end of a field of JSON that is not well formed."""
    match = _FIELD_END.search(text, start, min(end, start + 4000))
    return match.start() if match else end
