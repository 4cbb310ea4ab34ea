"""Rankings: the order in which an answer lists known names, scored by rank correlation."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal

from pytest_fineval.cases.model import Gold
from pytest_fineval.scoring.base import AnswerScorer, CommonOptions, gold_fault
from pytest_fineval.scoring.extract import locate
from pytest_fineval.scoring.labels import folded
from pytest_fineval.scoring.noise import non_answer
from pytest_fineval.scoring.score import Score

_LISTED = re.compile(r"^\s*(?:\d{1,2}[.):]|[-*•])\s+(.*)$")
_SPLIT = re.compile(r"\s*(?:,|;|>|→|->|\n|\band\b)\s*")


class RankingOptions(CommonOptions):
    """Options of `ranking`."""

    metric: Literal["spearman", "kendall"] = "spearman"
    clip_at_zero: bool = True
    on_missing: Literal["fail", "tie_last"] = "fail"
    on_extra: Literal["fail", "ignore"] = "fail"
    on_duplicate: Literal["fail", "first"] = "fail"
    ties: Literal["fail", "average"] = "fail"
    order: Literal["descending", "ascending"] = "descending"
    honour_stated_direction: bool = False
    aliases: dict[str, tuple[str, ...]] = {}


class RankingScorer(AnswerScorer):
    """`ranking`: Spearman (or Kendall tau-b) between gold and listed positions, clipped at 0."""

    Options = RankingOptions

    def __init__(self, identity: str, options: RankingOptions, gold: Gold):
        super().__init__(identity, options, gold)
        answer = gold.answer
        if not isinstance(answer, list) or not all(isinstance(item, str) for item in answer):
            raise gold_fault("answer", "a ranking case needs the list of names, the first on top")
        self._gold = [str(item) for item in answer]
        if len(set(map(folded, self._gold))) != len(self._gold) or len(self._gold) < 2:
            raise gold_fault("answer", "a ranking needs at least two names, each once")
        names = [
            (folded(name), item)
            for item in self._gold
            for name in (item, *options.aliases.get(item, ()))
        ]
        self._item_of = dict(names)
        ordered = sorted((name for name, _ in names), key=len, reverse=True)
        body = "|".join(map(re.escape, ordered))
        self._pattern = re.compile(rf"(?<![^\W_])(?:{body})(?![^\W_])")

    def judge(self, text: str) -> Score:
        located = locate(text, self.options, "ranking", ("ranking", "item map"))
        if located.failure:
            return self.failed(located.failure, stage=located.stage)
        stage = located.stage
        if located.from_json:
            value = located.value
            if isinstance(value, dict):
                listed = sorted(map(str, value), key=lambda name: float(value[name]))
            elif isinstance(value, list):
                listed = [str(item) for item in value]
            else:
                return self.failed("wrong_type", stage=stage)
            groups = [self._known(item) for item in listed]
            extra = sum(not group for group in groups)
        else:
            groups, extra = self._listed(located.text)
        read = [item for group in groups for item in group]
        if not read:
            missing = None if located.marked else non_answer(located.text)
            return self.failed(missing[0] if missing else "missing_items", stage=stage)
        return self._judged([group for group in groups if group], extra, stage)

    def _listed(self, text: str) -> tuple[list[list[str]], int]:
        """Groups of tied names in the order of the list, and how many entries name no item.

        A numbered or bulleted list is the source and later commentary is not; else the first
        line that names an item.
        """
        lines = [match.group(1) for line in text.split("\n") if (match := _LISTED.match(line))]
        if len(lines) < 2:
            named = [line for line in text.split("\n") if self._known(line)]
            several = [line for line in named if len(set(self._known(line))) > 1]
            lines = _SPLIT.split(several[0]) if several else named
        groups = [self._once(line) for line in lines if line.strip()]
        short = [line for line in lines if line.strip() and len(line.split()) <= 4]
        return groups, sum(not self._known(line) for line in short)

    def _once(self, line: str) -> list[str]:
        # A name with its alias beside it is one item; only "=" says that two are equal.
        if "=" in line:
            return [item for part in line.split("=") for item in self._known(part)[:1]]
        return self._known(line)[:1]

    def _known(self, text: str) -> list[str]:
        return [self._item_of[match.group()] for match in self._pattern.finditer(folded(text))]

    def _judged(self, groups: Sequence[Sequence[str]], extra: int, stage: str) -> Score:
        options = self.options
        read = [item for group in groups for item in group]
        if len(set(read)) < len(read) and options.on_duplicate == "fail":
            return self.failed("duplicate_items", stage=stage)
        missing = [item for item in self._gold if item not in read]
        if missing and options.on_missing == "fail":
            return self.failed("missing_items", stage=stage)
        if extra and options.on_extra == "fail":
            return self.failed("extra_items", stage=stage)
        positions: dict[str, float] = {}
        for group in [*groups, missing] if missing else groups:
            new = [item for item in dict.fromkeys(group) if item not in positions]
            rank = len(positions) + (len(new) + 1) / 2
            positions.update(dict.fromkeys(new, rank))
        ranks = [positions[item] for item in self._gold]
        if options.order == "ascending":
            ranks = [-rank for rank in ranks]
        target = [float(i) for i in range(len(ranks))]
        found = (kendall if options.metric == "kendall" else spearman)(target, ranks)
        parsed = list(dict.fromkeys(read))
        if found is None:
            return Score(0.0, self.identity, parsed=parsed, failure="undefined", stage=stage)
        return Score(
            max(0.0, found), self.identity, parsed=parsed, stage=stage,
            parts={options.metric: found},
        )  # fmt: skip


def spearman(a: Sequence[float], b: Sequence[float]) -> float | None:
    """Pearson correlation of two rank vectors; None when one of them is constant."""
    n = len(a)
    mean_a, mean_b = sum(a) / n, sum(b) / n
    both = sum((x - mean_a) * (y - mean_b) for x, y in zip(a, b, strict=True))
    square = sum((x - mean_a) ** 2 for x in a) * sum((y - mean_b) ** 2 for y in b)
    return None if square == 0 else round(both / square**0.5, 12)


def kendall(a: Sequence[float], b: Sequence[float]) -> float | None:
    """Kendall's tau-b; None when one side is constant."""
    concordance = ties_a = ties_b = pairs = 0
    for i in range(len(a)):
        for j in range(i):
            x, y = a[i] - a[j], b[i] - b[j]
            pairs += 1
            ties_a += x == 0
            ties_b += y == 0
            concordance += (x * y > 0) - (x * y < 0)
    square = (pairs - ties_a) * (pairs - ties_b)
    return None if square == 0 else round(concordance / float(square) ** 0.5, 12)
