"""Yes or no: which of the two an answer says in a word of its own."""

from __future__ import annotations

import re
from decimal import Decimal
from itertools import pairwise
from typing import Any

from pytest_fineval.cases.model import Gold
from pytest_fineval.scoring.base import AnswerScorer, CommonOptions, gold_fault
from pytest_fineval.scoring.extract import Located, json_scalar, locate
from pytest_fineval.scoring.labels import SENTENCE, folded, non_answer
from pytest_fineval.scoring.score import Score
from pytest_fineval.scoring.view import clean

YES = ("yes", "true", "yep", "yeah", "yup", "affirmative", "y")
NO = ("no", "false", "nope", "nah", "n")
_WORD = re.compile(r"[^\W_]+(?:'[^\W_]+)?")
_GOES_ON = re.compile(
    r"[\"')]*\s*(?:$|[.,:;!?\n(–—|]|-\s|(?:because|since|as|it|there|this|they|the|that|we|i|indeed)\b)",
    re.IGNORECASE,
)
_BOTH = re.compile(r"\s*(?:,|/|\band\b|\bor\b|\bbut\b(?:\s+also)?)\s*")


class BooleanOptions(CommonOptions):
    """Options of `boolean`."""

    aliases: dict[str, tuple[str, ...]] = {}


class BooleanScorer(AnswerScorer):
    """`boolean`: a word for yes or no, never inferred from a full sentence; score 1 or 0."""

    Options = BooleanOptions

    def __init__(self, identity: str, options: BooleanOptions, gold: Gold):
        super().__init__(identity, options, gold)
        self._words: dict[str, bool] = {**dict.fromkeys(YES, True), **dict.fromkeys(NO, False)}
        self._added: set[str] = set()
        for name, words in options.aliases.items():
            meaning = self._words.get(folded(name))
            if meaning is None:
                raise gold_fault("answer", f'aliases name "{name}": only true and false have any')
            for word in map(folded, words):
                self._words[word] = meaning
                self._added.add(word)
        body = "|".join(re.escape(word) for word in sorted(self._words, key=len, reverse=True))
        self._pattern = re.compile(rf"(?<!\w)(?:{body})(?!\w)", re.IGNORECASE)
        self.expected: bool | None = None
        if not (options.unanswerable and gold.answer is None):
            answer = gold.answer
            self.expected = answer if isinstance(answer, bool) else self._word(str(answer))
            if self.expected is None:
                raise gold_fault("answer", "a boolean case needs yes or no (or true or false)")

    def judge(self, text: str) -> Score:
        """A word after a marker, the leading word, or the last sentence if it is one word."""
        located = locate(text, self.options, "boolean", ("label",))
        if located.failure:
            return self.failed(located.failure, stage=located.stage)
        if located.from_json:
            return self._structured(located)
        if located.marked:
            score = self._read(located, located.start, located.end)
            if score is not None:
                return score
            said = non_answer(located.text)
            if said:
                return self.failed(said, stage=located.stage)
        score = self._read(located, 0, len(located.view.text))
        if score is not None:
            return score
        if self._says_both(located.view.text):
            return self.failed("ambiguous", stage="text")
        said = None if located.marked else non_answer(located.view.text)
        one_word = len(_WORD.findall(located.text)) == 1
        return self.failed(said or ("invalid_label" if one_word else "no_label"), stage="text")

    def _read(self, located: Located, start: int, end: int) -> Score | None:
        text = located.view.text[start:end]
        first = self._pattern.search(text)
        if first is not None and not re.search(r"\w", text[: first.start()]):
            second = self._pattern.search(text, first.end())
            if (
                second is not None
                and _BOTH.fullmatch(text, first.end(), second.start())
                and self._meaning(first) != self._meaning(second)
            ):
                return self.failed("ambiguous", stage="leading")
            if self._stands(text, first):
                last = self._last_word(text)
                if last is not None and self._meaning(last) != self._meaning(first):
                    return self.failed("ambiguous", stage="leading")
                return self._scored(first, located, start, "leading")
        last = self._last_word(text)
        return self._scored(last, located, start, "last_word") if last is not None else None

    def _last_word(self, text: str) -> re.Match[str] | None:
        """The last sentence where it is one word for yes or no."""
        parts = list(SENTENCE.finditer(text))
        last_start = parts[-1].end() if parts else 0
        last = self._pattern.search(text, last_start)
        return last if last is not None and len(_WORD.findall(text[last_start:])) == 1 else None

    def _says_both(self, text: str) -> bool:
        """`both yes and no` within a sentence."""
        return any(
            self._meaning(first) != self._meaning(second)
            and _BOTH.fullmatch(text, first.end(), second.start()) is not None
            for first, second in pairwise(self._pattern.finditer(text))
        )

    def _stands(self, text: str, match: re.Match[str]) -> bool:
        """Whether a leading word answers: `No incident was found` is a sentence about incidents."""
        word = folded(match.group())
        after = text[match.end() :]
        if word in {"y", "n"} and word not in self._added:
            return not re.search(r"\w", after)
        if word in {"yes", "yep", "yeah", "yup", "nope", "nah"} or word in self._added:
            return True
        return _GOES_ON.match(after) is not None

    def _structured(self, located: Located) -> Score:
        value: Any = json_scalar(located.value)
        if value is None:
            return self.failed("no_answer", stage="json")
        if isinstance(value, list | dict):
            return self.failed("wrong_type", stage="json")
        read = value if isinstance(value, bool) else self._word(_text_of(value))
        if read is None:
            inner = Located("json", view := clean(_text_of(value)), 0, len(view.text), raw_span=located.raw_span)  # fmt: skip
            score = self._read(inner, 0, len(view.text))
            return score or self.failed(non_answer(view.text) or "invalid_label", stage="json")
        return self._verdict(read, located.raw_span or (0, 0), "json")

    def _word(self, word: str) -> bool | None:
        return self._words.get(folded(word).strip(" .,!*\"'"))

    def _meaning(self, match: re.Match[str]) -> bool:
        return self._words[folded(match.group())]

    def _scored(self, match: re.Match[str], located: Located, start: int, stage: str) -> Score:
        span = located.span(start + match.start(), start + match.end())
        stage = located.stage if located.marked else stage
        return self._verdict(self._meaning(match), span, stage)

    def _verdict(self, read: bool, span: tuple[int, int], stage: str) -> Score:
        right = 1.0 if read == self.expected else 0.0
        return Score(right, self.identity, parsed=read, stage=stage, span=span)


def _text_of(value: Any) -> str:
    return f"{value:f}" if isinstance(value, Decimal) and abs(value.adjusted()) < 30 else str(value)
