"""Rankings: the order in which an answer lists known names, scored by rank correlation."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Literal

from pytest_fineval.cases.model import Gold
from pytest_fineval.scoring.base import AnswerScorer, CommonOptions, gold_fault
from pytest_fineval.scoring.extract import Located, locate
from pytest_fineval.scoring.labels import LabelSet, Mention, non_answer
from pytest_fineval.scoring.score import Score

Groups = list[list[str]]
"""Items in order, best first; items of one group are tied."""

MOST_ITEMS = 2000


class RankingOptions(CommonOptions):
    """Options of `ranking`. The score is clipped at 0 in any case; the raw value is in `parts`."""

    metric: Literal["spearman", "kendall"] = "spearman"
    clip_at_zero: bool = True
    on_missing: Literal["fail", "tie_last"] = "fail"
    on_extra: Literal["fail", "ignore"] = "fail"
    on_duplicate: Literal["fail", "first"] = "fail"
    ties: Literal["average", "fail"] = "average"
    order: Literal["descending", "ascending"] = "descending"
    honour_stated_direction: bool = False
    aliases: dict[str, tuple[str, ...]] = {}


@dataclass(slots=True)
class Listing:
    """What an answer lists: tie groups of entries, an unknown entry standing as None."""

    groups: list[list[str | None]]
    span: tuple[int, int] | None = None

    @property
    def names(self) -> list[str]:
        """Known items in order, duplicates kept."""
        return [item for group in self.groups for item in group if item is not None]

    @property
    def extra(self) -> int:
        """Entries that name no known item."""
        return sum(item is None for group in self.groups for item in group)


class RankingScorer(AnswerScorer):
    """`ranking`: Spearman (or Kendall tau-b) between gold and listed positions, clipped at 0."""

    Options = RankingOptions

    def __init__(self, identity: str, options: RankingOptions, gold: Gold):
        super().__init__(identity, options, gold)
        self.expected: Groups = []
        if not (options.unanswerable and gold.answer is None):
            self.expected = _gold_groups(gold.answer)
        self._items = [item for group in self.expected for item in group]
        for name in options.aliases:
            if name not in self._items:
                raise gold_fault("answer", f'aliases name "{name}", which is not ranked')
        self.names = LabelSet(self._items or ["\0"], options.aliases)

    def judge(self, text: str) -> Score:
        """Read the list, test duplicates, missing and extra items, then correlate."""
        located = locate(text, self.options, "ranking", ("ranking", "item map"))
        if located.failure:
            return self.failed(located.failure, stage=located.stage)
        if located.from_json:
            listing = self._from_value(located.value)
            if listing is None:
                return self.failed(
                    "no_answer" if located.value is None else "wrong_type", stage="json"
                )
            listing.span = located.raw_span
        else:
            listing = self._from_text(located)
        if not listing.names:
            said = None if located.from_json else non_answer(located.text)
            return self.failed(said or "missing_items", stage=located.stage)
        return self._judged(listing, located)

    def _judged(self, listing: Listing, located: Located) -> Score:
        options = self.options
        names = listing.names
        details = {"listed": names[:100], "extra": listing.extra}
        seen = set(names)
        if len(seen) < len(names) and options.on_duplicate == "fail":
            return self.failed("duplicate_items", stage=located.stage, **details)
        missing = [item for item in self._items if item not in seen]
        if missing and options.on_missing == "fail":
            return self.failed("missing_items", stage=located.stage, missing=missing, **details)
        if listing.extra and options.on_extra == "fail":
            return self.failed("extra_items", stage=located.stage, **details)
        groups = _distinct(listing.groups)
        parsed: Any = [item for group in groups for item in group]
        if any(len(group) > 1 for group in groups):
            if options.ties == "fail":
                return self.failed("ambiguous", stage=located.stage, **details)
            parsed = groups
        ranked = [*groups, missing] if missing else groups
        raw = correlate(self.expected, ranked, options.metric)
        if raw is None:
            return Score(0.0, self.identity, parsed=parsed, failure="undefined",
                         stage=located.stage, span=listing.span, details=details)  # fmt: skip
        return Score(max(0.0, raw), self.identity, parsed=parsed, stage=located.stage,
                     span=listing.span, parts={options.metric: raw}, details=details)  # fmt: skip

    def _from_value(self, value: Any) -> Listing | None:
        """JSON: a list best first (inner lists tie), rows with a rank, or a map of item to rank."""
        if isinstance(value, str):
            return self._from_lines(value)
        if isinstance(value, dict):
            ranks = {key: _rank(rank) for key, rank in list(value.items())[:MOST_ITEMS]}
            known = [
                (rank, [self._item(str(key))]) for key, rank in ranks.items() if rank is not None
            ]
            return Listing(_by_rank(known)) if known else None
        if not isinstance(value, list):
            return None
        rows: list[tuple[float | None, list[str | None]]] = []
        for entry in value[:MOST_ITEMS]:
            if isinstance(entry, dict):
                rank = next(
                    (_rank(entry[k]) for k in entry if str(k).casefold() in _RANK_HEADS), None
                )
                named = [self._item(str(v)) for v in entry.values() if isinstance(v, str)]
                rows.append((rank, [next((item for item in named if item), None)]))
            elif isinstance(entry, list):
                rows.append((None, [self._item(str(item)) for item in entry]))
            else:
                rows.append((None, [self._item(str(entry))]))
        ranked = [(rank, group) for rank, group in rows if rank is not None]
        if len(ranked) == len(rows):
            return Listing(_by_rank(ranked))
        return Listing([group for _, group in rows])

    def _item(self, text: str) -> str | None:
        whole = self.names.named(text)
        if whole is not None:
            return whole
        found = {mention.label for mention in self.names.mentions(text)}
        return found.pop() if len(found) == 1 else None

    def _from_text(self, located: Located) -> Listing:
        listing = self._from_lines(located.text)
        if located.marked and len(listing.names) < 2:
            whole = self._from_lines(located.view.text)
            if len(whole.names) > len(listing.names):
                located = Located("text", located.view, 0, len(located.view.text))
                listing = whole
        if listing.span:
            start, end = listing.span
            listing.span = located.span(located.start + start, located.start + end)
        if self.options.honour_stated_direction:
            text = located.view.text
            line = text.rfind("\n", 0, located.start) + 1  # "In ascending order: ..." is a marker
            stated = stated_order(text[line : located.end])
            if stated and stated != self.options.order:
                listing.groups.reverse()
        return listing

    def _from_lines(self, text: str) -> Listing:
        """The numbered, bulleted, table or chain list of a text, in that order of trust."""
        for read in (self._numbered, self._rank_lines, self._bulleted, self._table):
            listing = read(text)
            if listing is not None:
                return listing
        return self._chain(text)

    def _numbered(self, text: str) -> Listing | None:
        return self._block(text, _NUMBERED)

    def _bulleted(self, text: str) -> Listing | None:
        return self._block(text, _BULLETED)

    def _rank_lines(self, text: str) -> Listing | None:
        """Lines `name: rank` whose numbers are the ranks 1 to n, each once."""
        rows: list[tuple[float, list[str | None]]] = []
        for match in _RANK_LINE.finditer(text):
            item = self._item(match.group("entry"))
            if item is not None:
                rows.append((float(match.group("rank")), [item]))
        ranks = sorted(rank for rank, _ in rows)
        if len(rows) < 2 or ranks != list(range(1, len(rows) + 1)):
            return None
        return Listing(_by_rank(rows))

    def _block(self, text: str, pattern: re.Pattern[str]) -> Listing | None:
        """The list block that names most items; of equals the first."""
        best: Listing | None = None
        for block in _blocks(text, pattern):
            rows = [(float(m.group("rank") or 0), self._entry(m.group("entry"))) for m in block]
            numbers = [rank for rank, _ in rows]
            in_order = len(set(numbers)) <= 1 or numbers == list(range(1, len(numbers) + 1))
            groups = [group for _, group in rows] if in_order else _by_rank(rows)
            listing = Listing(groups, (block[0].start(), block[-1].end()))
            if len(set(listing.names)) > (len(set(best.names)) if best else 1):
                best = listing
        return best

    def _entry(self, text: str) -> list[str | None]:
        """One list entry: the name that leads it, or several joined by `=`; None for no name."""
        head = re.split(r"\s[–—:-]\s|:\s|\s\(|,\s(?=[a-z])", text, maxsplit=1)[0]
        parts = re.split(
            r"\s{0,4}(?:=|\btied? with\b)\s{0,4}", text if "=" in head or "tie" in text else head
        )
        found: list[str | None] = []
        for part in parts if len(parts) > 1 else [text]:
            mentions = self.names.mentions(part)
            item = mentions[0].label if mentions else None
            if item is None or item not in found:
                found.append(item)
        return found

    def _table(self, text: str) -> Listing | None:
        """A table with pipes: a rank column decides, else the order of rows."""
        rows = [_cells(line) for line in text.split("\n") if line.count("|") >= 2]
        rows = [row for row in rows if not all(re.fullmatch(r":?-+:?|", cell) for cell in row)]
        if len(rows) < 2:
            return None
        named = [(row, next((i for cell in row if (i := self._item(cell))), None)) for row in rows]
        header = rows[0] if named[0][1] is None else []
        column = next((i for i, cell in enumerate(header) if cell.casefold().strip("# ") in _RANK_HEADS or cell.strip() == "#"), None)  # fmt: skip
        body = named[1:] if header else named
        ranked: list[tuple[float | None, list[str | None]]] = []
        for row, item in body:
            ranked.append((_rank(row[column]) if column is not None and column < len(row) else None, [item]))  # fmt: skip
        if not any(item for _, group in ranked for item in group):
            return None
        if ranked and all(rank is not None for rank, _ in ranked):
            return Listing(_by_rank([(rank, group) for rank, group in ranked if rank is not None]))
        return Listing([group for _, group in ranked])

    def _chain(self, text: str) -> Listing:
        """Names in one sentence, split by >, commas, `then`; else the order of first mention."""
        mentions = self.names.mentions(text)
        best: list[Mention] = []
        span = (0, len(text))
        for start, end in _sentence_spans(text):
            here = [mention for mention in mentions if start <= mention.start < end]
            if _richness(here) > _richness(best):
                best, span = here, (start, end)
        if len({mention.label for mention in best}) < 2:
            first = list(dict.fromkeys(mention.label for mention in mentions))
            return Listing([[name] for name in first])
        groups = self._chained(text, span, best)
        return Listing(groups, (best[0].start, best[-1].end))

    def _chained(
        self, text: str, span: tuple[int, int], mentions: list[Mention]
    ) -> list[list[str | None]]:
        groups: list[list[str | None]] = []
        ascending = False
        at = span[0]
        for number, mention in enumerate(mentions):
            gap = text[at : mention.start]
            at = mention.end
            if number == 0:
                groups.append([mention.label])
                continue
            previous = groups[-1][-1]
            beside = re.fullmatch(r"[\s()/:–-]*(?:\w+\.?)?[\s()/]*", gap) and not _SPLIT.search(gap)
            if beside and mention.label in groups[-1]:
                continue
            ascending = ascending or "<" in gap
            unknown = _unknown_entries(gap)
            after = _TIED_AFTER.match(text, mention.end) and _PAIR_GAP.fullmatch(gap)
            if unknown == 0 and previous is not None and (after or _TIE_GAP.search(gap)):
                groups[-1].append(mention.label)
                continue
            groups += [[None]] * unknown
            groups.append([mention.label])
        groups += [[None]] * _unknown_entries(text[at : span[1]], last=True)
        return groups[::-1] if ascending else groups


_RANK_HEADS = frozenset(
    {"rank", "ranking", "position", "place", "#", "no", "no.", "order", "pos", "pos."}
)
_NUMBERED = re.compile(
    r"[ \t]*(?:[-*•][ \t]+)?(?:\#|rank[ \t]+|no\.[ \t]*)?\(?(?P<rank>\d{1,3})(?:st|nd|rd|th)?[.):][ \t]*(?P<entry>\S.*)",
    re.IGNORECASE,
)
_RANK_LINE = re.compile(
    r"^[ \t]{0,12}(?:[-*•][ \t]{1,4})?(?P<entry>[^\s:|][^\n:|]{0,80}?)[ \t]{0,4}(?::|=|-|–|—)[ \t]{0,12}(?:#|rank[ \t]{1,4})?(?P<rank>\d{1,3})(?:st|nd|rd|th)?[ \t.;,]{0,12}$",
    re.MULTILINE | re.IGNORECASE,
)
_BULLETED = re.compile(r"[ \t]*(?P<rank>)[-*•+–][ \t]+(?P<entry>\S.*)")
_SPLIT = re.compile(r",|;|>|<|→|->|\n|\bthen\b|\bfollowed by\b|\band\b|\bahead of\b|\bover\b")
_TIE_GAP = re.compile(r"=|\btied? with\b|\bequal(?:s| to)\b")
_TIED_AFTER = re.compile(r"\s+(?:(?:are|were|is)\s+)?(?:tied|equal)\b|\s*\(tied?\)")
_PAIR_GAP = re.compile(r"\s*(?:and|&|/)\s*")
_LINE_END = re.compile(r"\n")
_SENTENCE_END = re.compile(r"[.!?]\s+(?=[A-Z])|\n\s*\n")
_ASCENDING = re.compile(
    r"\b(?:ascending|increasing|(?:lowest|smallest|least|worst|weakest|slowest|bottom|low)(?:\s+\w+)?\s+(?:to|→|->)\s+(?:the\s+)?(?:highest|largest|most|best|strongest|fastest|top|high|biggest|greatest))\b",
    re.IGNORECASE,
)
_DESCENDING = re.compile(
    r"\b(?:descending|decreasing|(?:highest|largest|most|best|strongest|fastest|top|high|biggest|greatest)(?:\s+\w+)?\s+(?:to|→|->)\s+(?:the\s+)?(?:lowest|smallest|least|worst|weakest|slowest|bottom|low))\b",
    re.IGNORECASE,
)


def stated_order(text: str) -> str | None:
    """`ascending` or `descending` where a text says so, else None."""
    up, down = _ASCENDING.search(text), _DESCENDING.search(text)
    if up and (not down or up.start() < down.start()):
        return "ascending"
    return "descending" if down else None


def _gold_groups(answer: Any) -> Groups:
    """The gold as tie groups.

    Raises:
        InputError: no list of at least two distinct names.
    """
    if not isinstance(answer, list):
        raise gold_fault("answer", "a ranking case needs the list of names, the first on top")
    groups = [[item] if isinstance(item, str) else item for item in answer]
    names: list[str] = []
    for group in groups:
        if not isinstance(group, list) or not all(isinstance(i, str) and i.strip() for i in group):
            raise gold_fault("answer", "a ranking lists names (and lists of names that tie)")
        names += group
    if len({name.casefold() for name in names}) != len(names) or len(groups) < 2:
        raise gold_fault("answer", "a ranking needs at least two names, each once, not all tied")
    return groups


def _rank(value: Any) -> float | None:
    if isinstance(value, int | float | Decimal) and not isinstance(value, bool):
        number = float(value)
        return number if math.isfinite(number) else None
    found = re.match(r"\W{0,4}(\d{1,6})", str(value))
    return float(found.group(1)) if found else None


def _by_rank(rows: Sequence[tuple[float, list[str | None]]]) -> list[list[str | None]]:
    """Groups in the order of rank; equal ranks tie."""
    groups: dict[float, list[str | None]] = {}
    for rank, group in rows:
        groups.setdefault(rank, []).extend(group)
    return [groups[rank] for rank in sorted(groups)]


def _distinct(groups: list[list[str | None]]) -> Groups:
    """Known items only, each at its first place."""
    seen: set[str] = set()
    found: Groups = []
    for group in groups:
        kept = [item for item in group if item is not None and item not in seen]
        seen.update(kept)
        if kept:
            found.append(list(dict.fromkeys(kept)))
    return found


def _blocks(text: str, pattern: re.Pattern[str]) -> list[list[re.Match[str]]]:
    """Runs of list lines; blank and indented lines may stand between entries."""
    blocks: list[list[re.Match[str]]] = [[]]
    at = 0
    for line in text.split("\n"):
        match = pattern.match(text, at, at + len(line))
        number = match.group("rank") if match else None
        if match is None:
            if line.strip() and not line.startswith((" ", "\t")):
                blocks.append([])
        else:
            again = number == "1" and any(m.group("rank") == "1" for m in blocks[-1])
            if again and blocks[-1][-1].group("rank") != "1":
                blocks.append([])
            blocks[-1].append(match)
        at += len(line) + 1
    return [block for block in blocks if len(block) > 1]


def _richness(mentions: list[Mention]) -> tuple[int, int]:
    """More distinct names first, then fewer repetitions."""
    return len({mention.label for mention in mentions}), -len(mentions)


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def _sentence_spans(text: str) -> list[tuple[int, int]]:
    """Lines, then sentences and paragraphs: of those that name equally many the first counts."""
    spans: list[tuple[int, int]] = []
    for pattern in (_LINE_END, _SENTENCE_END):
        ends = [match.end() for match in pattern.finditer(text)]
        spans += zip([0, *ends], [*ends, len(text)], strict=True)
    return spans


def _unknown_entries(gap: str, last: bool = False) -> int:
    """Entries between two known names that look like names themselves."""
    parts = _SPLIT.split(re.sub(r"\([^()]*\)", " ", gap))
    inner = parts[1:] if last else parts[1:-1]
    count = 0
    for part in inner:
        words = part.strip(" .:-–\"'").split()
        named = bool(words) and len(words) <= 4 and all(word[:1].isupper() or not word[:1].isalpha() for word in words)  # fmt: skip
        count += named and any(word[:1].isalpha() for word in words)
    return count


def correlate(
    gold: Sequence[Sequence[str]], ranked: Sequence[Sequence[str]], metric: str
) -> float | None:
    """Rank correlation of two orders of the same items; ties share their mean rank.

    Args:
        gold, ranked: tie groups, best first.
        metric: `spearman` or `kendall`.

    Returns:
        A figure in [-1, 1], or None when all items of one side are tied.
    """
    wanted, given = _mid_ranks(gold), _mid_ranks(ranked)
    a = list(wanted.values())
    b = [given[item] for item in wanted]
    return kendall(a, b) if metric == "kendall" else spearman(a, b)


def _mid_ranks(groups: Sequence[Sequence[str]]) -> dict[str, float]:
    ranks: dict[str, float] = {}
    for group in groups:
        ranks.update(dict.fromkeys(group, len(ranks) + (len(group) + 1) / 2))
    return ranks


def ranks_of(values: Sequence[float]) -> list[float]:
    """Ranks from 1, ties sharing their mean rank."""
    order = sorted(range(len(values)), key=values.__getitem__)
    ranks = [0.0] * len(values)
    start = 0
    while start < len(order):
        stop = start
        while stop < len(order) and values[order[stop]] == values[order[start]]:
            stop += 1
        for index in order[start:stop]:
            ranks[index] = (start + stop + 1) / 2
        start = stop
    return ranks


def spearman(a: Sequence[float], b: Sequence[float]) -> float | None:
    """Spearman's rho: Pearson correlation of mid-ranks; None when one side is constant.

    Source: agrees with scipy.stats.spearmanr.
    """
    x, y = ranks_of(a), ranks_of(b)
    mean = (len(x) + 1) / 2
    both = math.fsum((i - mean) * (j - mean) for i, j in zip(x, y, strict=True))
    squares = math.fsum((i - mean) ** 2 for i in x) * math.fsum((j - mean) ** 2 for j in y)
    return None if squares == 0 else max(-1.0, min(1.0, both / math.sqrt(squares)))


def kendall(a: Sequence[float], b: Sequence[float]) -> float | None:
    """Kendall's tau-b; None when one side is constant.

    Source: agrees with scipy.stats.kendalltau (variant b).
    """
    balance = ties_a = ties_b = pairs = 0
    for i in range(len(a)):
        for j in range(i):
            x, y = a[i] - a[j], b[i] - b[j]
            pairs += 1
            ties_a += x == 0
            ties_b += y == 0
            balance += (x * y > 0) - (x * y < 0)
    squares = (pairs - ties_a) * (pairs - ties_b)
    return None if squares == 0 else balance / math.sqrt(squares)
