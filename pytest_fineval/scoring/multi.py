"""Several values in one answer: named or listed numbers, or a set of labels."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from itertools import pairwise
from typing import Any, Literal

from pytest_fineval.cases.model import Gold
from pytest_fineval.errors import InputError, nearest
from pytest_fineval.scoring.ask import Ask, Candidate, resolve
from pytest_fineval.scoring.base import AnswerScorer, CommonOptions, Tolerances, gold_fault
from pytest_fineval.scoring.candidates import read
from pytest_fineval.scoring.extract import Located, json_scalar, locate
from pytest_fineval.scoring.labels import LabelSet, check_aliases, folded, non_answer
from pytest_fineval.scoring.numeric import as_json, ask_of, compare, gold_number, read_number
from pytest_fineval.scoring.score import Score
from pytest_fineval.scoring.view import clean

Values = dict[str, Any] | list[Any]


class MultiOptions(CommonOptions, Tolerances):
    """Options of `multi`.

    `metric`: `all` needs every value, `fraction` counts the right ones, `set_exact` and `set_f1`
    compare label sets. `column` names the column of a table that holds the values.
    """

    item_kind: Literal["numeric", "label"] = "numeric"
    metric: Literal["all", "fraction", "set_exact", "set_f1"] = "all"
    ordered: bool = False
    empty_words: tuple[str, ...] = ()
    column: str | None = None
    aliases: dict[str, tuple[str, ...]] = {}
    literal: bool = False
    sign: Literal["signed", "direction", "magnitude"] = "signed"
    accept_bare_ratio: bool = False
    accept_base_units: bool = False
    accept_rounding: bool = False
    min_sig_digits: int = 3
    dash_is_zero: bool = False
    trailing_minus: bool = False


@dataclass(frozen=True, slots=True)
class Read:
    """Values read from an answer: candidates by item name, or in order; or why there are none."""

    named: dict[str, Candidate | None]
    listed: list[Candidate]
    failure: str | None = None


class MultiScorer(AnswerScorer):
    """`multi`: several numbers or labels; score in [0, 1] by `metric`."""

    Options = MultiOptions

    def __init__(self, identity: str, options: MultiOptions, gold: Gold):
        super().__init__(identity, options, gold)
        answer = gold.answer
        self.blank = options.unanswerable and answer is None
        if not self.blank and not isinstance(answer, list | dict):
            raise gold_fault(
                "answer", "a multi case needs a list of values or a map of them by name"
            )
        self.asks: dict[str, Ask] = {}
        self.named = isinstance(answer, dict)
        if options.item_kind == "label":
            self._prepare_labels(gold, options)
        else:
            self._prepare_numbers(gold, options)

    def _prepare_labels(self, gold: Gold, options: MultiOptions) -> None:
        if not gold.labels:
            raise gold_fault("labels", "a multi case of labels lists them")
        if self.named:
            raise gold_fault("answer", "a multi case of labels needs a list of them")
        check_aliases(options.aliases, gold.labels)
        self.labels = LabelSet(gold.labels, options.aliases, options.literal)
        answer = gold.answer if isinstance(gold.answer, list) else []
        found = [self.labels.named(str(item)) for item in answer]
        if None in found:
            wrong = answer[found.index(None)]
            raise gold_fault("answer", f"{wrong!r} is none of the labels")
        self.expected: Any = [label for label in found if label is not None]

    def _prepare_numbers(self, gold: Gold, options: MultiOptions) -> None:
        if options.metric in {"set_exact", "set_f1"}:
            raise InputError(f'"scorer.metric": {options.metric} compares labels; numbers have all or fraction')  # fmt: skip
        answer = gold.answer if gold.answer is not None else []
        names = list(answer) if isinstance(answer, dict) else [""]
        for name in {**(gold.units or {}), **(gold.scales or {})}:
            if self.named and name not in names:
                raise gold_fault(
                    "units", f'"{name}" is no item of the answer ({nearest(name, names)})'
                )
        for name in names:
            unit = (gold.units or {}).get(name, gold.unit)
            if unit is None:
                raise gold_fault("unit" if not gold.units else f"units.{name}", "a numeric item needs a unit")  # fmt: skip
            try:
                self.asks[name] = ask_of(unit, (gold.scales or {}).get(name, gold.scale), options)
            except ValueError as error:
                raise gold_fault("unit", str(error)) from None
        if isinstance(answer, dict):
            self.expected = {
                k: gold_number(v, self.asks[k], f"answer.{k}") for k, v in answer.items()
            }
        elif isinstance(answer, list):
            self.expected = [gold_number(v, self.asks[""], "answer") for v in answer]

    def judge(self, text: str) -> Score:
        """Read named values, listed values or labels, then compare by the metric."""
        keys: tuple[str, ...] = ("items", "values", "item map")
        if not self.named:
            of_labels = self.options.item_kind == "label"
            keys = ("items", "values", "labels", *(["item map"] if of_labels else []))
        located = locate(text, self.options, "multi", keys)
        if located.failure:
            return self.failed(located.failure, stage=located.stage)
        if self._says_empty(located):
            return self._sets([], located)
        if self.options.item_kind == "label":
            return self._judge_labels(located)
        read = self._named(located) if self.named else self._listed(located)
        found = [c for c in read.named.values() if c is not None] or read.listed
        if not found:
            said = read.failure or ("no_number" if located.from_json else non_answer(located.text))
            return self.failed(said or "no_number", stage=located.stage)
        return (
            self._compare_named(read, located)
            if self.named
            else self._compare_listed(read, located)
        )

    def _says_empty(self, located: Located) -> bool:
        if located.from_json:
            return located.value == [] and bool(self.options.empty_words)
        words = {folded(word) for word in self.options.empty_words}
        return folded(located.text).strip(" .!*\"'") in words

    # Labels

    def _judge_labels(self, located: Located) -> Score:
        if located.from_json:
            value = located.value
            if isinstance(value, dict):
                chosen = all(isinstance(applies, bool) for applies in value.values())
                value = [k for k, v in value.items() if v] if chosen else list(value.values())
            entries = value if isinstance(value, list) else [value]
            if value is None:
                return self.failed("no_answer", stage="json")
            if not all(isinstance(entry, str) for entry in entries):
                return self.failed("wrong_type", stage="json")
            found = [label for entry in entries for label in self._labels_in(clean(entry).text)]
            if not found:
                return self.failed("invalid_label", stage="json")
            return self._sets(found, located)
        found = self._labels_in(located.text)
        if not found and located.marked:
            found = self._labels_in(located.view.text)
        if not found:
            return self.failed(non_answer(located.text) or "no_label", stage=located.stage)
        return self._sets(found, located)

    def _labels_in(self, text: str) -> list[str]:
        whole = self.labels.named(text)
        if whole is not None:
            return [whole]
        return [mention.label for mention in self.labels.mentions(text) if not mention.rejected]

    def _sets(self, found: Sequence[str], located: Located) -> Score:
        parsed = list(dict.fromkeys(found))
        wanted = list(self.expected)
        common = len(set(parsed) & set(wanted))
        missing = [item for item in wanted if item not in parsed]
        extra = [item for item in parsed if item not in wanted]
        total = len(parsed) + len(wanted)
        f1 = 2 * common / total if total else 1.0
        right = parsed == wanted if self.options.ordered else not missing and not extra
        metric = self.options.metric
        value = f1 if metric == "set_f1" else float(right)
        if metric == "fraction":
            value = common / len(wanted) if wanted else float(not parsed)
        failure = "missing_items" if missing else "extra_items" if extra else None
        return Score(value, self.identity, parsed=parsed, failure=failure, stage=located.stage,
                     span=located.raw_span or located.span(located.start, located.end),
                     parts={"f1": f1}, details={"missing": missing, "extra": extra})  # fmt: skip

    # Named numbers

    def _named(self, located: Located) -> Read:
        if located.from_json:
            return self._named_json(located.value)
        table = self._from_table(located.text)
        if table is not None:
            return Read(table, [])
        found: dict[str, Candidate | None] = {}
        text = located.view.text
        places = self._name_places(text, located.start, located.end)
        leads = bool(places) and self._before(located, places, 0) is not None
        for number, (_, stop, name) in enumerate(places):
            if leads and (candidate := self._before(located, places, number)) is not None:
                found.setdefault(name, candidate)
                continue
            limit = places[number + 1][0] if number + 1 < len(places) else located.end
            inside = Located("marker", located.view, stop, limit)
            candidate = _first_value(read(text, inside, self.asks[name]))
            if candidate is not None:
                found[name] = candidate
        return Read({name: found.get(name) for name in self.expected}, [])

    def _before(
        self, located: Located, places: list[tuple[int, int, str]], number: int
    ) -> Candidate | None:
        """`$298.1 billion in products and $96.2 billion in services`: the value before its name."""
        at, _, name = places[number]
        since = places[number - 1][1] if number else located.start
        text = located.view.text
        link = re.search(r"\b(?:in|of|for|from|on)\s+(?:the\s+)?$", text[max(since, at - 24) : at])
        if link is None:
            return None
        pool = read(text, Located("marker", located.view, since, at), self.asks[name])
        fitting = [c for c in pool if c.fits and not c.label]
        return fitting[-1] if fitting else None

    def _name_places(self, text: str, start: int, end: int) -> list[tuple[int, int, str]]:
        """Where the declared names stand, longest name first where they overlap."""
        pattern, name_of = self._name_pattern()
        return [
            (match.start(), match.end(), name_of[_tight(match.group())])
            for match in pattern.finditer(text, start, end)
        ]

    def _name_pattern(self) -> tuple[re.Pattern[str], dict[str, str]]:
        names = {
            _tight(word): name
            for name in self.expected
            for word in (name, *self.options.aliases.get(name, ()))
        }
        words = [w for name in self.expected for w in (name, *self.options.aliases.get(name, ()))]
        body = "|".join(
            r"[\s_\-]*".join(map(re.escape, re.split(r"[\s_\-]+", word)))
            for word in sorted(words, key=len, reverse=True)
        )
        return re.compile(rf"(?<!\w)(?:{body})(?!\w)", re.IGNORECASE), names

    def _named_json(self, value: Any) -> Read:
        if isinstance(value, list) and all(isinstance(entry, dict) for entry in value):
            value = _merged(value)
        if not isinstance(value, dict):
            return Read({}, [], "no_answer" if value is None else "wrong_type")
        keys = {_tight(str(key)): item for key, item in value.items()}
        found: dict[str, Candidate | None] = {}
        failure = None
        for name in self.expected:
            words = (name, *self.options.aliases.get(name, ()))
            key = next((_tight(word) for word in words if _tight(word) in keys), None)
            found[name] = None
            if key is None:
                continue
            inner = Located("json", clean(""), value=keys[key], from_json=True, raw_span=(0, 0))
            picked, _ = read_number(inner, self.asks[name])
            found[name] = picked.candidate if not picked.failure else None
            failure = failure or picked.failure
        return Read(found, [], failure)

    def _from_table(self, text: str) -> dict[str, Candidate | None] | None:
        """Rows of a table with pipes whose first cell is a declared name."""
        rows = [
            line.strip().strip("|").split("|") for line in text.split("\n") if line.count("|") >= 2
        ]
        if len(rows) < 2:
            return None
        names = {_tight(w): n for n in self.expected for w in (n, *self.options.aliases.get(n, ()))}
        column = 1
        if self.options.column is not None:
            heads = [_tight(cell) for cell in rows[0]]
            wanted = _tight(self.options.column)
            column = heads.index(wanted) if wanted in heads else 1
        found: dict[str, Candidate | None] = {}
        for row in rows:
            name = names.get(_tight(row[0]))
            if name is None or column >= len(row):
                continue
            view = clean(row[column])
            cell = read(view.text, Located("marker", view, 0, len(view.text)), self.asks[name])
            found[name] = _first_value(cell)
        return {name: found.get(name) for name in self.expected} if found else None

    def _compare_named(self, read: Read, located: Located) -> Score:
        parsed: dict[str, Any] = {}
        right = 0
        for name, expected in self.expected.items():
            candidate = read.named.get(name)
            if candidate is None:
                continue
            result = compare(candidate, expected, self.asks[name], self.options)
            parsed[name] = as_json(result.value)
            right += result.passed is not None
        missing = len(parsed) < len(self.expected)
        return self._scored(parsed, right, len(self.expected), located, "missing_items" if missing else None)  # fmt: skip

    # Listed numbers

    def _listed(self, located: Located) -> Read:
        ask = self.asks[""]
        if located.from_json:
            value = located.value
            entries = value if isinstance(value, list) else [value]
            listed: list[Candidate] = []
            failure = None
            for entry in entries:
                inner = Located(
                    "json", clean(""), value=json_scalar(entry), from_json=True, raw_span=(0, 0)
                )
                if isinstance(entry, str) and len(entries) == 1:
                    view = clean(entry)
                    return Read({}, _list_values(Located("json", view, 0, len(view.text)), ask))
                picked, _ = read_number(inner, ask)
                failure = failure or picked.failure
                if picked.candidate is not None and not picked.failure:
                    listed.append(picked.candidate)
            return Read({}, listed, failure)
        listed = _list_values(located, ask)
        if not listed and located.marked:
            listed = _list_values(Located("text", located.view, 0, len(located.view.text)), ask)
        return Read({}, listed)

    def _compare_listed(self, read: Read, located: Located) -> Score:
        wanted: list[Decimal] = list(self.expected)
        values = read.listed
        pairs = zip(values, wanted, strict=False)
        parsed_of = {id(c): c.value for c in values}
        if self.options.ordered:
            results = [(c, compare(c, e, self.asks[""], self.options)) for c, e in pairs]
        else:
            results = self._matched(values, wanted)
        for candidate, result in results:
            parsed_of[id(candidate)] = result.value
        right = sum(result.passed is not None for _, result in results)
        failure = None
        if len(values) < len(wanted):
            failure = "missing_items"
        elif len(values) > len(wanted):
            failure = "extra_items"
        parsed = [as_json(parsed_of[id(candidate)]) for candidate in values]
        return self._scored(parsed, right, max(len(wanted), len(values)), located, failure)

    def _matched(
        self, values: list[Candidate], wanted: list[Decimal]
    ) -> list[tuple[Candidate, Any]]:
        """Each value with the first gold that it equals and that no other has taken."""
        left = list(wanted)
        results = []
        for candidate in values:
            tried = [(e, compare(candidate, e, self.asks[""], self.options)) for e in left]
            hit = next(((e, r) for e, r in tried if r.passed), None)
            if hit:
                left.remove(hit[0])
                results.append((candidate, hit[1]))
        return results

    def _scored(
        self, parsed: Values, right: int, total: int, located: Located, failure: str | None
    ) -> Score:
        fraction = right / total if total else float(not parsed)
        value = (
            fraction if self.options.metric == "fraction" else float(fraction == 1 and not failure)
        )
        return Score(value, self.identity, parsed=parsed, failure=failure, stage=located.stage,
                     span=located.raw_span or located.span(located.start, located.end),
                     parts={"fraction": fraction}, details={"right": right, "of": total})  # fmt: skip


def _tight(text: str) -> str:
    return re.sub(r"[\s_\-]+", "", clean(text).text.casefold()).strip("*:.")


def _merged(entries: list[dict[str, Any]]) -> dict[str, Any]:
    """A list of one-key objects, or of rows with a name and a value, as one map."""
    merged: dict[str, Any] = {}
    for entry in entries:
        name = next(
            (entry[key] for key in entry if str(key).casefold() in {"name", "item", "label"}), None
        )
        if isinstance(name, str):
            merged[name] = entry
        else:
            merged.update(entry)
    return merged


def _first_value(pool: list[Candidate]) -> Candidate | None:
    """The value bound to a name: the first that fits; explicit ones and results before others."""
    fitting = [c for c in pool if c.fits and not c.label]
    results = [c for c in fitting if c.result and not c.operand]
    clear = [c for c in fitting if not (c.operand or c.context or c.weak)]
    explicit = [c for c in clear if c.explicit]
    for choice in (results[-1:], explicit, clear, fitting):
        if choice:
            return choice[0]
    return None


def _list_values(located: Located, ask: Ask) -> list[Candidate]:
    """The values of a list in text: labels such as years left out, ranges with both their ends."""
    text = located.view.text
    pool = read(text, located, ask)
    for first, second in pairwise(pool):
        if second.range_with is first or _spans(text, first, second):
            _share_unit(text, first, second, ask)
    fitting = [c for c in pool if c.fits and not c.label and not c.margin and c.restates is None]
    results = [c for c in fitting if not c.operand]
    strong = [c for c in results or fitting if not c.weak]
    return strong or results or fitting


def _spans(text: str, first: Candidate, second: Candidate) -> bool:
    gap = text[first.reading.end : second.reading.start]
    return (
        bool(re.fullmatch(r"\s*(?:-|–|—|to|and|through)\s*", gap))
        and not first.label
        and not second.label
    )


def _share_unit(text: str, first: Candidate, second: Candidate, ask: Ask) -> None:
    """Give the bare end of a range the scale, unit or currency of the other."""
    a, b = first.reading, second.reading
    shared = replace(
        a,
        scale=a.scale if a.scale is not None else b.scale,
        unit=a.unit or b.unit,
        currencies=a.currencies or b.currencies,
        minor=a.minor or b.minor,
        per_share=a.per_share or b.per_share,
    )
    _become(first, resolve(text, shared, ask, None))
    other = replace(b, unit=b.unit or a.unit, currencies=b.currencies or a.currencies)
    _become(second, resolve(text, other, ask, None))


def _become(candidate: Candidate, other: Candidate) -> None:
    for name in ("reading", "value", "problem", "explicit", "half_unit", "noun", "year_like"):
        setattr(candidate, name, getattr(other, name))
