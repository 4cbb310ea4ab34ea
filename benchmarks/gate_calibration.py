"""How often the gate stops a change that changed nothing, and how often it catches a real drop.

    python benchmarks/gate_calibration.py            prints the tables
    python benchmarks/gate_calibration.py --write    puts them and the plot into docs/

The rules are the gate's own functions, beside "block when any category dropped by more than its
limit", which is what a fixed threshold does. Five categories with the default limits and the
overall check. Nothing is random between two runs of this script.

A simulated case has a true state (right or wrong) that each answer shows with an error e, so that
f = 2 e (1 - e) of the verdicts differ when nothing changed. A true drop turns states of one
category from right to wrong.
"""

from __future__ import annotations

import argparse
import json
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import lru_cache
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from pytest_fineval.gate.baseline import BaselineCase
from pytest_fineval.gate.decide import decide_counts
from pytest_fineval.gate.looks import Use, exit_code, look
from pytest_fineval.gate.pairing import Pair
from pytest_fineval.gate.policy import Policy, draft
from pytest_fineval.settings import CATEGORIES, DEFAULT_MAX_DROP, GateSettings, Settings
from pytest_fineval.stats.intervals import wilson
from pytest_fineval.store.record import PlannedCase, Record, StoredScore

ROOT = Path(__file__).resolve().parents[1]
DOC, PLOT = ROOT / "docs" / "calibration.md", ROOT / "docs" / "calibration.svg"
DATA = ROOT.parent / "shared" / "data"

SIZES = (20, 40, 100, 200)
NOISES = (0.0, 0.02, 0.05, 0.10, 0.20)
ACCURACIES = (0.6, 0.8, 0.95)
DROPS = (0.05, 0.10, 0.20)
BASELINE_SAMPLES = 5
WHOLE_NOISES = (0.02, 0.05, 0.10)

Bits = npt.NDArray[np.bool_]


# What is simulated.


def error_of(noise: float) -> float:
    """The error of one answer with which `noise` of the verdicts differ."""
    return float((1 - np.sqrt(1 - 2 * noise)) / 2)


def feasible(accuracy: float, noise: float) -> bool:
    """Can answers that differ this much be right this often?"""
    error = error_of(noise)
    return error <= accuracy <= 1 - error


def truths(rng: np.random.Generator, n: int, accuracy: float, noise: float) -> Bits:
    """True states of n cases whose answers are right with this accuracy."""
    error = error_of(noise)
    return rng.random(n) < (accuracy - error) / (1 - 2 * error)


def dropped(rng: np.random.Generator, truth: Bits, drop: float, noise: float) -> Bits:
    """The states after a true drop of accuracy by `drop`."""
    share = drop / (1 - 2 * error_of(noise)) / max(float(truth.mean()), 1e-12)
    worse: Bits = truth & (rng.random(truth.size) >= share)
    return worse


def answers(rng: np.random.Generator, truth: Bits, noise: float, samples: int) -> Bits:
    """Whether each of a case's answers is right: one row a case."""
    seen: Bits = truth[:, None] ^ (rng.random((truth.size, samples)) < error_of(noise))
    return seen


# Single answers: the decision from counts.


@lru_cache(maxsize=200_000)
def decided(n: int, flips: tuple[tuple[int, int], ...], alpha: float) -> str:
    """The gate's outcome for (lost, gained) of each category."""
    tables = {
        name: {"n": n, "b": lost, "c": gained, "max_drop": DEFAULT_MAX_DROP[name]}
        for name, (lost, gained) in zip(CATEGORIES, flips, strict=True)
    }
    return decide_counts(tables, alpha, DEFAULT_MAX_DROP["overall"])[0]


def fixed_threshold(n: int, flips: Sequence[tuple[int, int]]) -> bool:
    """Block when any category, or the mean of all, dropped by more than its limit."""
    drops = [(lost - gained) / n for lost, gained in flips]
    limits = [DEFAULT_MAX_DROP[name] for name in CATEGORIES]
    over = any(drop > limit + 1e-9 for drop, limit in zip(drops, limits, strict=True))
    return over or sum(drops) / len(drops) > DEFAULT_MAX_DROP["overall"] + 1e-9


@dataclass(frozen=True)
class Rates:
    """Shares of simulated runs."""

    fixed: float
    block: float
    inconclusive: float
    strict: float


def single(
    n: int, accuracy: float, noise: float, drop: float, runs: int, seed: Sequence[int]
) -> Rates:
    """One answer each side; a true drop lies in the category `reasoning` alone.

    Args:
        n: cases a category.
        runs: simulated runs.

    Returns:
        Share blocked by the fixed threshold, blocked and inconclusive by the gate at alpha .05,
        and blocked by the gate at alpha .01.
    """
    rng = np.random.default_rng(seed)
    flips = np.empty((runs, len(CATEGORIES), 2), dtype=np.int64)
    for place, name in enumerate(CATEGORIES):
        truth = truths(rng, runs * n, accuracy, noise)
        after = dropped(rng, truth, drop, noise) if drop and name == "reasoning" else truth
        before = answers(rng, truth, noise, 1)[:, 0].reshape(runs, n)
        now = answers(rng, after, noise, 1)[:, 0].reshape(runs, n)
        flips[:, place, 0] = (before & ~now).sum(axis=1)
        flips[:, place, 1] = (~before & now).sum(axis=1)
    counted = Counter(
        tuple((int(lost), int(gained)) for lost, gained in one) for one in flips.tolist()
    )

    def share(holds: Callable[[tuple[tuple[int, int], ...]], bool]) -> float:
        return sum(times for one, times in counted.items() if holds(one)) / runs

    return Rates(
        fixed=share(lambda one: fixed_threshold(n, one)),
        block=share(lambda one: decided(n, one, 0.05) == "block"),
        inconclusive=share(lambda one: decided(n, one, 0.05) == "inconclusive"),
        strict=share(lambda one: decided(n, one, 0.01) == "block"),
    )


# Several answers, floors, must-pass cases and second looks: the verdict over whole runs.

_CASE = PlannedCase(id="x", digest="x", category="x", cluster="x", suite="x", scorer="exact@1")
_RECORDS = tuple(
    Record(
        case=_CASE,
        model="new",
        sample=0,
        status="correct" if right else "wrong",
        score=StoredScore(value=float(right), scorer="exact@1", parsed=right),
    )
    for right in (False, True)
)


@lru_cache(maxsize=500_000)
def baseline_case(
    category: str, name: str, scores: tuple[float, ...], must_pass: bool
) -> BaselineCase:
    """One case of the baseline, built once for all simulated runs."""
    return BaselineCase(
        digest="x",
        category=category,
        cluster=name,
        suite="x",
        must_pass=must_pass,
        scores=scores,
    )


def simulated_policy(floor: float) -> Policy:
    """The default policy, with a floor under every category and overall."""
    floors = dict.fromkeys((*CATEGORIES, "overall"), floor)
    return draft(Settings(root=Path(), gate=GateSettings(floor=floors)))


def exits(
    n: int, noise: float, samples: int, use: Use, runs: int, seed: Sequence[int]
) -> Mapping[str, float]:
    """Outcomes of whole runs in which nothing changed.

    Four of five cases are truly right. Floors lie 5 points below the accuracy of the suite; the
    first case of each category that was right in five baseline answers is must-pass. A deploy
    takes its second look.

    Returns:
        Shares of each outcome, and of `stopped`: exit codes other than 0.
    """
    rng = np.random.default_rng(seed)
    truth = np.arange(n) < round(0.8 * n)
    error = error_of(noise)
    policy = simulated_policy(float(truth.mean()) * (1 - 2 * error) + error - 0.05)
    outcomes: Counter[str] = Counter()
    for _ in range(runs):
        first: list[Pair] = []
        second: dict[str, Pair] = {}
        for category in CATEGORIES:
            before = answers(rng, truth, noise, BASELINE_SAMPLES)
            now = answers(rng, truth, noise, 6)
            proven = set(np.flatnonzero(before.all(axis=1))[:1].tolist())
            for i, (old, new) in enumerate(
                zip(before[:, :samples].tolist(), now.tolist(), strict=True)
            ):
                name = f"{category}-{i:03}"
                case = baseline_case(category, name, tuple(map(float, old)), i in proven)
                given = tuple(_RECORDS[right] for right in new)
                confirming = given[1:3] if i in proven and not new[0] else ()
                first.append(Pair.of(name, case, given[:1], confirming))
                if use == "deploy":
                    second[name] = Pair.of(name, case, given[3:])
        looked = look(first, policy, use, same_model=True, fresh=second, bounded=False)
        outcomes[looked.outcome] += 1
        outcomes["stopped"] += exit_code(looked.outcome, use) != 0
    return {name: outcomes[name] / runs for name in ("block", "inconclusive", "stopped")}


# Real answers.


def real_models(name: str) -> dict[str, dict[str, tuple[str, bool]]]:
    """By model or run: item -> (category, right). Empty without the data."""
    models: dict[str, dict[str, tuple[str, bool]]] = {}
    if name == "IndiaFinBench":
        for row in _lines(DATA / "indiafinbench" / "model_item_correct.jsonl"):
            for model, right in row["correct"].items():
                models.setdefault(model, {})[row["id"]] = (row["task_type"], bool(right))
    else:
        for row in _lines(DATA / "jfinqa" / "model_runs.jsonl"):
            found = models.setdefault(row["run"], {})
            found[row["id"]] = (row["subtask"], bool(row["correct"]))
    return models


def _lines(path: Path) -> list[dict[str, Any]]:
    if not path.exists():
        return []
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line]


@dataclass(frozen=True)
class Real:
    """Shares over ordered pairs of models, as they are and with their sides swapped at random."""

    pairs: int
    discordant: float
    worse_fixed: float
    worse_gate: float
    null_fixed: float
    null_gate: float
    null_strict: float


def real(models: Mapping[str, Mapping[str, tuple[str, bool]]], swaps: int) -> Real:
    """Real pairs of models: the gate beside the fixed threshold (3 points each, 2 overall).

    Swapping the two sides of each case at random keeps the real pattern of disagreement and takes
    every true difference away: whatever blocks then blocks for nothing.
    """
    rng = np.random.default_rng(20_240_601)
    found: Counter[str] = Counter()
    shares: list[float] = []
    pairs = list(permutations(sorted(models), 2))
    for old, new in pairs:
        table: dict[str, list[int]] = {}
        for item, (category, before) in models[old].items():
            after = models[new][item][1]
            row = table.setdefault(category, [0, 0, 0])
            row[0] += 1
            row[1] += before and not after
            row[2] += after and not before
        total = sum(row[0] for row in table.values())
        shares.append(sum(row[1] + row[2] for row in table.values()) / total)
        found["worse_fixed"] += _real_fixed(table)
        found["worse_gate"] += _real_gate(table, 0.05)
        for _ in range(swaps):
            swapped = {}
            for category, (n, lost, gained) in table.items():
                worse = int(rng.binomial(lost + gained, 0.5))
                swapped[category] = [n, worse, lost + gained - worse]
            found["null_fixed"] += _real_fixed(swapped)
            found["null_gate"] += _real_gate(swapped, 0.05)
            found["null_strict"] += _real_gate(swapped, 0.01)
    runs = max(1, len(pairs))
    return Real(
        pairs=len(pairs),
        discordant=float(np.mean(shares)),
        worse_fixed=found["worse_fixed"] / runs,
        worse_gate=found["worse_gate"] / runs,
        null_fixed=found["null_fixed"] / (runs * swaps),
        null_gate=found["null_gate"] / (runs * swaps),
        null_strict=found["null_strict"] / (runs * swaps),
    )


def _real_fixed(table: Mapping[str, Sequence[int]]) -> bool:
    drops = [(lost - gained) / n for n, lost, gained in table.values()]
    total = sum(row[0] for row in table.values())
    overall = sum(row[1] - row[2] for row in table.values()) / total
    return max(drops) > 0.03 + 1e-9 or overall > 0.02 + 1e-9


def _real_gate(table: Mapping[str, Sequence[int]], alpha: float) -> bool:
    tables = {
        name: {"n": n, "b": lost, "c": gained, "max_drop": 0.03}
        for name, (n, lost, gained) in table.items()
    }
    return decide_counts(tables, alpha, 0.02)[0] == "block"


# Tables and plot.


def percent(share: float) -> str:
    """A share as a percentage with one decimal."""
    return f"{100 * share:.1f}"


def markdown(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table, figures to the right."""
    lines = [f"| {' | '.join(head)} |", "|" + " --: |" * len(head)]
    return "\n".join(lines + [f"| {' | '.join(row)} |" for row in rows])


def in_parallel(function: Callable[..., Any], cells: Sequence[tuple[Any, ...]]) -> list[Any]:
    """The function's results for each cell, in order; every cell brings its own seed."""
    with ProcessPoolExecutor() as pool:
        return list(pool.map(function, *zip(*cells, strict=True)))


def null_rows(runs: int) -> list[tuple[int, float, float, Rates]]:
    """The grid on which nothing changed: (cases, accuracy, noise, rates)."""
    grid = [
        (n, accuracy, noise)
        for n in SIZES
        for accuracy in ACCURACIES
        for noise in NOISES
        if feasible(accuracy, noise)
    ]
    cells = [(n, a, f, 0.0, runs, (n, int(100 * a), int(100 * f))) for n, a, f in grid]
    return [(*key, rates) for key, rates in zip(grid, in_parallel(single, cells), strict=True)]


def null_table(rows: Sequence[tuple[int, float, float, Rates]]) -> str:
    """False blocks for each size and noise; accuracies side by side."""
    body = []
    for n in SIZES:
        for noise in NOISES:
            cells = {acc: r for m, acc, f, r in rows if (m, f) == (n, noise)}

            def across(pick: Callable[[Rates], float], cells: dict[float, Rates] = cells) -> str:
                return " / ".join(
                    percent(pick(cells[acc])) if acc in cells else "-" for acc in ACCURACIES
                )

            body.append(
                (
                    str(n),
                    f"{100 * noise:.0f} %",
                    across(lambda r: r.fixed),
                    across(lambda r: r.block),
                    across(lambda r: r.strict),
                    across(lambda r: r.inconclusive),
                )
            )
    head = ("cases a category", "f", "fixed threshold", "gate, alpha .05", "gate, alpha .01",
            "inconclusive (exit 0)")  # fmt: skip
    return markdown(head, body)


def power_rows(runs: int) -> list[tuple[int, float, float, Rates]]:
    """A true drop in one category at accuracy 0.8: (cases, noise, drop, rates)."""
    grid = [(n, f, d) for n in SIZES for f in (0.05, 0.10) for d in DROPS]
    cells = [(n, 0.8, f, d, runs, (n, int(100 * f), int(100 * d), 7)) for n, f, d in grid]
    return [(*key, rates) for key, rates in zip(grid, in_parallel(single, cells), strict=True)]


def power_table(rows: Sequence[tuple[int, float, float, Rates]]) -> str:
    """Caught drops."""
    head = ("cases a category", "f", "true drop", "fixed threshold", "gate blocks",
            "gate blocks or is inconclusive")  # fmt: skip
    return markdown(
        head,
        [
            (
                str(n),
                f"{100 * f:.0f} %",
                f"{100 * d:.0f} pts",
                percent(r.fixed),
                percent(r.block),
                percent(r.block + r.inconclusive),
            )
            for n, f, d, r in rows
        ],
    )


def exit_table(runs: int) -> str:
    """P(exit not 0 | nothing changed) by mode."""
    settings: list[tuple[Use, int]] = [
        ("smoke", 4), ("full", 40), ("full", 200), ("deploy", 40), ("deploy", 200),
    ]  # fmt: skip
    lines = [(use, n, samples) for use, n in settings for samples in (1, BASELINE_SAMPLES)]
    cells = [
        (n, noise, samples, use, _times(runs, n), (n, samples, int(100 * noise), len(use)))
        for use, n, samples in lines
        for noise in WHOLE_NOISES
    ]
    found = iter(in_parallel(exits, cells))
    body = [
        (use, str(5 * n), str(samples), *(_stopped(next(found), runs, n) for _ in WHOLE_NOISES))
        for use, n, samples in lines
    ]
    head = ("mode", "cases", "baseline samples", *(f"f = {100 * f:.0f} %" for f in WHOLE_NOISES))
    return markdown(head, body)


def _times(runs: int, n: int) -> int:
    return runs if n < 100 else runs // 2


def _stopped(found: Mapping[str, float], runs: int, n: int) -> str:
    times = _times(runs, n)
    ends = wilson(round(found["stopped"] * times), times)
    share, blocked = percent(found["stopped"]), percent(found["block"])
    return f"{share} ({percent(ends.low)}-{percent(ends.high)}), blocked {blocked}"


def real_table(swaps: int) -> str:
    """Real models, as they are and with their sides swapped."""
    body = []
    for name in ("IndiaFinBench", "jfinqa"):
        models = real_models(name)
        if not models:
            continue
        r = real(models, swaps)
        body.append(
            (
                name,
                str(r.pairs),
                percent(r.discordant),
                percent(r.worse_fixed),
                percent(r.worse_gate),
                percent(r.null_fixed),
                percent(r.null_gate),
                percent(r.null_strict),
            )
        )
    head = ("data", "ordered pairs", "verdicts that differ", "as they are: fixed",
            "as they are: gate", "swapped: fixed", "swapped: gate .05",
            "swapped: gate .01")  # fmt: skip
    return markdown(head, body)


def plot(
    null: Sequence[tuple[int, float, float, Rates]],
    power: Sequence[tuple[int, float, float, Rates]],
) -> str:
    """False blocks and caught drops against the number of cases, as SVG."""
    at_10 = {n: r for n, accuracy, f, r in null if (accuracy, f) == (0.8, 0.10)}
    caught = {n: r for n, f, d, r in power if (f, d) == (0.10, 0.10)}
    curves = [
        ("fixed threshold, nothing changed", "#c0392b", "", {n: r.fixed for n, r in at_10.items()}),
        ("gate, nothing changed", "#1f618d", "", {n: r.block for n, r in at_10.items()}),
        ("fixed threshold, drop of 10 points", "#c0392b", "6 4",
         {n: r.fixed for n, r in caught.items()}),
        ("gate, drop of 10 points", "#1f618d", "6 4", {n: r.block for n, r in caught.items()}),
    ]  # fmt: skip
    left, top, width, height = 60, 40, 460, 260

    def x(n: int) -> float:
        return left + width * SIZES.index(n) / (len(SIZES) - 1)

    def y(share: float) -> float:
        return top + height * (1 - share)

    out = [
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 820 350" '
        'font-family="sans-serif" font-size="13">',
        "<title>Share of runs that are blocked, at a noise f of 10 %</title>",
        '<rect width="820" height="350" fill="#fff"/>',
        f'<text x="{left}" y="22">Share of runs that are blocked (f = 10 %, accuracy 0.8)</text>',
    ]
    for tick in (0, 0.05, 0.25, 0.5, 0.75, 1):
        dash = ' stroke-dasharray="2 3"' if tick == 0.05 else ""
        out.append(
            f'<line x1="{left}" x2="{left + width}" y1="{y(tick):.1f}" y2="{y(tick):.1f}" '
            f'stroke="{"#000" if tick == 0.05 else "#ddd"}"{dash}/>'
            f'<text x="{left - 8}" y="{y(tick) + 4:.1f}" text-anchor="end">'
            f"{100 * tick:.0f} %</text>"
        )
    out += [
        f'<text x="{x(n):.1f}" y="{top + height + 20}" text-anchor="middle">{n}</text>'
        for n in SIZES
    ]
    out.append(
        f'<text x="{left + width / 2}" y="{top + height + 40}" text-anchor="middle">'
        "cases a category</text>"
    )
    for place, (name, colour, dash, values) in enumerate(curves):
        points = " ".join(f"{x(n):.1f},{y(share):.1f}" for n, share in values.items())
        style = f'stroke="{colour}" stroke-width="2" stroke-dasharray="{dash}"'
        row = top + 20 + 24 * place
        out.append(f'<polyline points="{points}" fill="none" {style}/>')
        out.append(f'<line x1="540" x2="575" y1="{row}" y2="{row}" {style}/>')
        out.append(f'<text x="582" y="{row + 4}">{name}</text>')
    return "\n".join([*out, "</svg>"]) + "\n"


def put(text: str, name: str, table: str) -> str:
    """The document with the table between `begin NAME` and `end NAME` replaced."""
    pattern = re.compile(rf"(<!-- begin {name} -->\n).*?(\n<!-- end {name} -->)", re.DOTALL)
    if not pattern.search(text):
        raise SystemExit(f"{DOC} has no place for the table {name}")
    return pattern.sub(lambda found: found.group(1) + "\n" + table + "\n" + found.group(2), text)


def main() -> None:
    """Print the tables, or write them into the documentation."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--write", action="store_true", help="into docs/ too")
    parser.add_argument("--runs", type=int, default=2000, help="runs a cell of single answers")
    parser.add_argument("--whole-runs", type=int, default=200, help="runs a cell of whole verdicts")
    given = parser.parse_args()
    null, power = null_rows(given.runs), power_rows(given.runs)
    tables = {
        "null": null_table(null),
        "power": power_table(power),
        "real": real_table(20),
        "exits": exit_table(given.whole_runs),
    }
    for name, table in tables.items():
        print(f"\n{name}\n{table}")
    if given.write:
        text = DOC.read_text(encoding="utf-8")
        for name, table in tables.items():
            text = put(text, name, table)
        DOC.write_text(text, encoding="utf-8")
        PLOT.write_text(plot(null, power), encoding="utf-8")


if __name__ == "__main__":
    main()
