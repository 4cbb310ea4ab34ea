"""Labels and yes/no: which of a closed set of words an answer commits to."""

from __future__ import annotations

import re
import unicodedata
from typing import Any

from pytest_fineval.cases.model import Gold
from pytest_fineval.scoring.base import AnswerScorer, CommonOptions, gold_fault
from pytest_fineval.scoring.extract import Located, locate
from pytest_fineval.scoring.noise import non_answer
from pytest_fineval.scoring.score import Score

_NEGATION = re.compile(r"(?:\b(?:not|never|neither|nor|isn't|wasn't|hardly)\s+(?:\w+\s+)?)$")
_WRONG_AFTER = re.compile(r"^[^.\n]{0,40}\b(?:is|are)\s+(?:wrong|incorrect|false)\b")
_SENTENCE = re.compile(r"(?<=[.!?])\s+|\n+")
_WORD = re.compile(r"[^\W_]+(?:'[^\W_]+)?")

YES = ("yes", "true", "y", "yep", "yeah", "yup", "correct", "affirmative")
NO = ("no", "false", "n", "nope", "nah", "negative")


class LabelOptions(CommonOptions):
    """Options of `label`."""

    aliases: dict[str, tuple[str, ...]] = {}
    literal: bool = False


def folded(text: str, literal: bool = False) -> str:
    """Case, width, spaces, hyphens and underscores made one; `literal` keeps + and -."""
    text = unicodedata.normalize("NFKC", text).casefold()
    kept = r"[\s_]+" if literal else r"[\s_\-–]+"
    return re.sub(kept, " ", text).strip()


class LabelScorer(AnswerScorer):
    """`label`: one of the declared labels; score 1 or 0."""

    Options = LabelOptions

    def __init__(self, identity: str, options: LabelOptions, gold: Gold):
        super().__init__(identity, options, gold)
        if not gold.labels:
            raise gold_fault("labels", "a label case lists its labels")
        if gold.answer not in gold.labels:
            raise gold_fault("answer", f"{gold.answer!r} is none of the labels")
        if gold.positive is not None and gold.positive not in gold.labels:
            raise gold_fault("positive", f"{gold.positive!r} is none of the labels")
        names: list[tuple[str, str]] = []
        for label in gold.labels:
            for name in (label, *options.aliases.get(label, ())):
                names.append((folded(name, options.literal), label))
        # The longest name first, so that "not contradictory" is not read as "contradictory".
        self._names = sorted(names, key=lambda pair: -len(pair[0]))
        body = "|".join(re.escape(name) for name, _ in self._names)
        self._pattern = re.compile(rf"(?<![^\W_])(?:{body})(?![^\W_])")
        self._label_of = dict(self._names)

    def judge(self, text: str) -> Score:
        located = locate(text, self.options, "label", ("label",))
        if located.failure:
            return self.failed(located.failure, stage=located.stage)
        if located.from_json:
            if not isinstance(located.value, str):
                return self.failed("wrong_type", stage="json")
            label = self._label_of.get(folded(located.value, self.options.literal))
            if label is None:
                return self.failed("invalid_label", stage="json")
            return self._scored(label, located, "json")
        whole = located.text
        found = self._in(_first_line(whole) if located.marked else whole)
        if located.marked and found:
            return self._scored(found[0], located, located.stage)
        if not located.marked:
            missing = non_answer(whole)
            leading = self._leading(whole)
            if leading:
                return self._scored(leading, located, "leading")
            if missing and not found:
                return self.failed(missing[0], stage="text")
            for sentence in reversed(_SENTENCE.split(whole)):
                if re.search(r"\b(?:overall|classif\w+|therefore|label\w*)\b", sentence.casefold()):
                    stated = self._in(sentence)
                    if stated:
                        return self._scored(stated[-1], located, "sentence")
        distinct = list(dict.fromkeys(found))
        if len(distinct) == 1:
            return self._scored(distinct[0], located, "only")
        if distinct:
            return self.failed("ambiguous", stage="text")
        one_word = len(whole.split()) == 1 or located.marked
        return self.failed("invalid_label" if one_word else "no_label", stage="text")

    def _leading(self, text: str) -> str | None:
        match = self._pattern.match(folded(text, self.options.literal).lstrip("*#\"'( "))
        return self._label_of[match.group()] if match else None

    def _in(self, text: str) -> list[str]:
        """Labels in order, without those that are negated or called wrong."""
        plain = folded(text, self.options.literal)
        found = []
        for match in self._pattern.finditer(plain):
            name = match.group()
            if len(name) == 1 and not re.search(rf"(?<!\w){name.upper()}(?!\w)", text):
                continue
            if _NEGATION.search(plain[: match.start()]) or _WRONG_AFTER.search(
                plain[match.end() :]
            ):
                continue
            found.append(self._label_of[name])
        return found

    def _scored(self, label: str, located: Located, stage: str) -> Score:
        value = 1.0 if label == self.gold.answer else 0.0
        span = located.raw_span or located.span(located.start, located.end)
        return Score(value, self.identity, parsed=label, stage=stage, span=span)


class ExactScorer(AnswerScorer):
    """`exact`: the marked answer (else the whole text) equals the gold after normalisation."""

    Options = CommonOptions

    def __init__(self, identity: str, options: CommonOptions, gold: Gold):
        super().__init__(identity, options, gold)
        if not isinstance(gold.answer, str) or not gold.answer.strip():
            raise gold_fault("answer", "an exact case needs the text that is right")

    def judge(self, text: str) -> Score:
        located = locate(text, self.options, "label")
        if located.failure:
            return self.failed(located.failure, stage=located.stage)
        read = str(located.value) if located.from_json else located.text
        parsed = folded(read).strip(" .*\"'")
        right = parsed == folded(str(self.gold.answer)).strip(" .*\"'")
        return Score(float(right), self.identity, parsed=parsed[:200], stage=located.stage)


class BooleanOptions(CommonOptions):
    """Options of `boolean`."""

    aliases: dict[str, tuple[str, ...]] = {}


class BooleanScorer(AnswerScorer):
    """`boolean`: a word for yes or no, never inferred from a full sentence; score 1 or 0."""

    Options = BooleanOptions

    def __init__(self, identity: str, options: BooleanOptions, gold: Gold):
        super().__init__(identity, options, gold)
        self._words: dict[str, bool] = {**dict.fromkeys(YES, True), **dict.fromkeys(NO, False)}
        for name, words in options.aliases.items():
            self._words.update(dict.fromkeys((folded(w) for w in words), folded(name) in YES))
        expected = gold.answer if isinstance(gold.answer, bool) else self._word(str(gold.answer))
        if expected is None:
            raise gold_fault("answer", "a boolean case needs yes or no (or true or false)")
        self.expected: bool = expected

    def judge(self, text: str) -> Score:
        located = locate(text, self.options, "boolean", ("label",))
        if located.failure:
            return self.failed(located.failure, stage=located.stage)
        if located.from_json:
            value: Any = located.value
            read = value if isinstance(value, bool) else self._word(str(value))
            if read is None:
                return self.failed("invalid_label", stage="json")
            return self._scored(read, located, "json")
        sentences = [part for part in _SENTENCE.split(located.text.strip()) if part.strip()]
        first, last = sentences[0], sentences[-1]
        if re.match(r"\W*yes\s+and\s+no\b", first, re.IGNORECASE):
            return self.failed("ambiguous", stage="leading")
        words = _WORD.findall(first)
        leading = self._word(words[0]) if words else None
        if leading is not None and not self._goes_on(first, words):
            return self._scored(leading, located, located.stage if located.marked else "leading")
        final = _WORD.findall(last)
        if len(final) == 1 and self._word(final[0]) is not None:
            return self._scored(bool(self._word(final[0])), located, "last_word")
        missing = None if located.marked else non_answer(located.text)
        return self.failed(missing[0] if missing else "no_label", stage="text")

    def _word(self, word: str) -> bool | None:
        return self._words.get(folded(word).strip(" .,!*\"'"))

    @staticmethod
    def _goes_on(first: str, words: list[str]) -> bool:
        """A determiner, not an answer: "No company reported ..."."""
        after = re.match(r"\W*\w+([^\w\s]?)", first)
        bare = after is not None and not after.group(1)
        return words[0].casefold() == "no" and bare and len(words) > 3

    def _scored(self, value: bool, located: Located, stage: str) -> Score:
        span = located.raw_span or located.span(located.start, located.end)
        right = float(value == self.expected)
        return Score(right, self.identity, parsed=value, stage=stage, span=span)


def _first_line(text: str) -> str:
    return next((line for line in text.split("\n") if line.strip()), text)
