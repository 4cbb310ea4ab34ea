"""Figures beside the verdict, none of which decides: intervals, distributions, confusion, cost."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Literal

from pytest_fineval.gate.checks import Check
from pytest_fineval.gate.configured import Asked, configured, pooled
from pytest_fineval.gate.pairing import Pair
from pytest_fineval.report.material import Material
from pytest_fineval.stats.agreement import classification_report
from pytest_fineval.stats.bootstrap import bootstrap_mean, seed_from
from pytest_fineval.stats.intervals import Interval, cluster_standard_error, tango
from pytest_fineval.store.record import Record

BINS = 10
CHANGED = 1e-9
Z95 = 1.959963984540054


@dataclass(frozen=True)
class Difference:
    """A check's paired difference with a two-sided 95 % interval, as shares of 1; worse is right.

    Attributes:
        method: how the interval was made, in words.
    """

    name: str
    drop: float
    low: float
    high: float
    limit: float
    outcome: str
    method: str


@dataclass(frozen=True)
class Histogram:
    """Counts of two sides over the same bins.

    Attributes:
        labels: of the bins. before, after: counts; `before` is empty without a baseline.
    """

    name: str
    labels: tuple[str, ...]
    before: tuple[int, ...]
    after: tuple[int, ...]


@dataclass(frozen=True)
class Confusion:
    """Gold label against read label. `rows[i][j]` counts gold i read as j.

    Attributes:
        positive: precision, recall and Wilson's interval of recall, where one label is positive.
    """

    category: str
    gold: tuple[str, ...]
    read: tuple[str, ...]
    rows: tuple[tuple[int, ...], ...]
    positive: str | None = None
    precision: float | None = None
    recall: float | None = None
    recall95: Interval | None = None


@dataclass(frozen=True)
class Spending:
    """Money, tokens and time of one run.

    Attributes:
        usd: None when no answer carries a price. latency_s: (median, 95th percentile, longest) of
            live answers; None when nothing was asked live.
        sources: where answers came from, counted.
    """

    usd: float | None
    usd_a_case: float | None
    input_tokens: int
    output_tokens: int
    latency_s: tuple[float, float, float] | None
    sources: Mapping[str, int]


def differences(material: Material) -> list[Difference]:
    """Interval of every check that compares with the baseline, in the verdict's order."""
    paired, fresh = material.pairs()
    if material.baseline is None or not paired:
        return []
    policy = material.baseline.policy
    members = {a.name: a for a in (*configured(paired, policy), *pooled(paired, policy))}
    found = []
    for check in material.verdict.checks:
        asked = members.get(check.name)
        if asked is None or check.drop is None or check.max_drop is None:
            continue
        seed = seed_from(material.verdict.policy_digest or "", check.name)
        interval, method = _interval(_looked_at(asked, check, fresh), seed)
        found.append(
            Difference(
                check.name, check.drop, interval.low, interval.high, check.max_drop,
                check.outcome, method,
            )
        )  # fmt: skip
    return found


def _looked_at(asked: Asked, check: Check, fresh: Mapping[str, Pair]) -> Sequence[Pair]:
    if check.look == 1:
        return asked.pairs
    return [fresh.get(one.id, one) for one in asked.pairs]


def _interval(paired: Sequence[Pair], seed: int) -> tuple[Interval, str]:
    drops = [one.before - one.after for one in paired]
    clusters = [one.case.cluster for one in paired]
    if len(set(clusters)) < len(clusters):
        error = cluster_standard_error(drops, clusters).small_sample
        if error is not None:
            centre = math.fsum(drops) / len(drops)
            around = Z95 * error
            return Interval(max(-1, centre - around), min(1, centre + around)), "clusters, normal"
    if all(drop in (-1.0, 0.0, 1.0) for drop in drops):
        lost, gained = drops.count(1.0), drops.count(-1.0)
        return tango(len(drops), lost, gained), "Tango score interval"
    made = bootstrap_mean(drops, seed=seed)
    return Interval(made.low, made.high), "bootstrap over cases"


def score_histograms(material: Material) -> list[Histogram]:
    """Distribution of case means, one histogram a category."""
    labels = tuple(f"{i / BINS:.1f} to {(i + 1) / BINS:.1f}" for i in range(BINS))
    after = _means(material)
    planned = {case.id: case.category for case in material.run.manifest.planned}
    found = []
    for category in dict.fromkeys(planned.values()):
        names = [name for name in after if planned.get(name) == category]
        before = _baseline_scores(material, names)
        found.append(
            Histogram(
                category,
                labels,
                _binned([math.fsum(s) / len(s) for s in before.values()]) if before else (),
                _binned([math.fsum(after[name]) / len(after[name]) for name in names]),
            )
        )
    return found


def variance_histogram(material: Material) -> Histogram | None:
    """How much the samples of one case differ: counts of cases by standard deviation.

    None when neither side has several samples a case.
    """
    scores = _means(material)
    before = _baseline_scores(material, scores)
    sides = [[_deviation(s) for s in side.values() if len(s) > 1] for side in (before, scores)]
    if not any(sides):
        return None
    # Scores lie in [0, 1], so that a standard deviation cannot pass one half.
    labels = tuple(f"{i / 20:.2f} to {(i + 1) / 20:.2f}" for i in range(BINS))
    return Histogram(
        "all cases", labels, *(_binned([2 * d for d in side]) if side else () for side in sides)
    )


def noise(scores: Iterable[Sequence[float]]) -> float | None:
    """f: the mean share of pairs of a case's samples that differ; None with one sample a case."""
    shares = [
        sum(abs(one - other) > CHANGED for one, other in combinations(s, 2)) / math.comb(len(s), 2)
        for s in scores
        if len(s) > 1
    ]
    return math.fsum(shares) / len(shares) if shares else None


def confusions(material: Material) -> list[Confusion]:
    """One matrix a category whose gold is a single label and whose scorer read labels."""
    found = []
    records = gated(material)
    for category in dict.fromkeys(record.case.category for record in records):
        cells: Counter[tuple[str, str]] = Counter()
        positives: set[str] = set()
        for record in records:
            located = material.cases.get(record.case.id)
            if record.case.category != category or located is None:
                continue
            gold = located.case.gold
            if located.case.scorer.name.partition("@")[0] not in {"label", "boolean"}:
                continue
            if not isinstance(gold.answer, str | bool):
                continue
            cells[_label(gold.answer), _read_label(record)] += 1
            if gold.positive is not None:
                positives.add(_label(gold.positive))
        if cells:
            found.append(_confusion(category, cells, positives))
    return found


def spending(records: Sequence[Record]) -> Spending:
    """Cost, tokens and latency over all records, second looks included: they were paid for."""
    answers = [record.answer for record in records if record.answer is not None]
    prices = [answer.cost_usd for answer in answers if answer.cost_usd is not None]
    times = sorted(a.latency_s for a in answers if a.source == "live" and a.latency_s > 0)
    cases = {record.case.id for record in records}
    usd = math.fsum(prices) if prices else None
    return Spending(
        usd=usd,
        usd_a_case=usd / len(cases) if usd is not None and cases else None,
        input_tokens=sum(answer.usage.input_tokens or 0 for answer in answers),
        output_tokens=sum(answer.usage.output_tokens or 0 for answer in answers),
        latency_s=(_rank(times, 0.5), _rank(times, 0.95), times[-1]) if times else None,
        sources=Counter(answer.source for answer in answers),
    )


def gated(material: Material) -> list[Record]:
    """The planned samples of the gated model."""
    manifest = material.run.manifest
    return [
        record
        for record in material.run.records
        if record.model == manifest.candidate and record.sample < manifest.samples
    ]


def _means(material: Material) -> dict[str, list[float]]:
    found: dict[str, list[float]] = {}
    for record in gated(material):
        found.setdefault(record.case.id, []).append(record.value)
    return found


def _baseline_scores(material: Material, names: Iterable[str]) -> dict[str, Sequence[float]]:
    if material.baseline is None:
        return {}
    cases = material.baseline.cases
    return {name: cases[name].scores for name in names if name in cases}


def _binned(shares: Sequence[float]) -> tuple[int, ...]:
    counts = [0] * BINS
    for share in shares:
        counts[min(BINS - 1, int(share * BINS + CHANGED))] += 1
    return tuple(counts)


def _deviation(scores: Sequence[float]) -> float:
    mean = math.fsum(scores) / len(scores)
    return math.sqrt(math.fsum((s - mean) ** 2 for s in scores) / len(scores))


def _rank(ordered: Sequence[float], share: float) -> float:
    """Nearest-rank percentile."""
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)]


NONE_READ: Literal["(none read)"] = "(none read)"


def _label(value: object) -> str:
    return ("yes" if value else "no") if isinstance(value, bool) else str(value).strip().casefold()


def _read_label(record: Record) -> str:
    parsed = record.score.parsed if record.score and record.scored else None
    return NONE_READ if parsed is None or isinstance(parsed, list | dict) else _label(parsed)


def _confusion(
    category: str, cells: Mapping[tuple[str, str], int], positives: set[str]
) -> Confusion:
    gold = tuple(sorted({one for one, _ in cells}))
    others = sorted({one for _, one in cells} - set(gold) - {NONE_READ})
    read = (*gold, *others, *([NONE_READ] if any(r == NONE_READ for _, r in cells) else []))
    rows = tuple(tuple(cells.get((g, r), 0) for r in read) for g in gold)
    if len(positives) != 1:
        return Confusion(category, gold, read, rows)
    (positive,) = positives
    tp = sum(n for (g, r), n in cells.items() if g == positive == r)
    fn = sum(n for (g, r), n in cells.items() if g == positive != r)
    fp = sum(n for (g, r), n in cells.items() if r == positive != g)
    rates = classification_report(tp, fp, fn, sum(cells.values()) - tp - fn - fp)
    return Confusion(
        category, gold, read, rows, positive, rates.precision, rates.recall, rates.recall_interval
    )
