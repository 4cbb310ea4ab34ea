"""Trends over runs: score, cost, noise and verdict by category, as a table and as a drawing."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from markupsafe import Markup, escape
from pydantic import ValidationError

from pytest_fineval.errors import InputError
from pytest_fineval.gate.verdict import Verdict
from pytest_fineval.report.figures import noise, spending
from pytest_fineval.report.summary import points
from pytest_fineval.report.text import shown
from pytest_fineval.store.run import MANIFEST, VERDICT, Run, read

FALLING_RUNS = 4
"""Runs that fall one after the other before it is called a trend."""

# Each has a contrast of at least 3 with a white page and with a dark one.
COLOURS = ("#3b82f6", "#ea580c", "#16a34a", "#c026d3", "#a16207", "#e11d48", "#0d9488", "#8b5cf6")
DASHES = ("", "6 3", "2 3", "8 3 2 3")
WIDTH, HEIGHT, LEFT, BOTTOM, TOP = 720, 240, 40, 30, 10


@dataclass(frozen=True)
class Point:
    """One category of one run's gated model."""

    score: float
    n: int
    noise: float | None


@dataclass(frozen=True)
class Past:
    """One run in a row of runs.

    Attributes:
        drops: by check name, (drop, allowed drop), as shares of 1; empty when not judged.
    """

    run_id: str
    started: str
    model: str
    split: str
    outcome: str
    usd: float | None
    categories: dict[str, Point]
    drops: dict[str, tuple[float, float]]


@dataclass(frozen=True)
class History:
    """Runs from the oldest to the newest.

    Attributes:
        head, rows: a table. svg: the scores over time. warnings: drift, one sentence each.
    """

    runs: tuple[Past, ...]
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    svg: Markup
    warnings: tuple[str, ...]


def trace(folders: Sequence[Path]) -> History:
    """The history of some runs.

    Args:
        folders: of runs, in any order; a folder that holds runs stands for all of them.

    Raises:
        InputError: a folder is no run and holds none.
    """
    read_once = {run.manifest.run_id: run for folder in folders for run in _runs(folder)}
    past = sorted((_past(run) for run in read_once.values()), key=lambda p: (p.started, p.run_id))
    names = list(dict.fromkeys(name for one in past for name in one.categories))
    head = ("started", "model", "split", "verdict", "cost", *names)
    rows = tuple(
        (
            one.started.replace("T", " ").removesuffix("+00:00"),
            shown(one.model),
            one.split,
            one.outcome.replace("_", " "),
            "-" if one.usd is None else f"${one.usd:.4f}",
            *(_cell(one.categories.get(name)) for name in names),
        )
        for one in past
    )
    return History(tuple(past), head, rows, drawing(past, names), tuple(warnings(past)))


def warnings(past: Sequence[Past]) -> list[str]:
    """What no single verdict sees: slow falls within the limit, and a baseline left behind.

    Only runs of one model name and one split are followed: others are no series.
    """
    found = []
    series: dict[tuple[str, str], list[Past]] = {}
    for one in past:
        series.setdefault((one.model, one.split), []).append(one)
    for (model, split), runs in series.items():
        last = runs[-1]
        for name in last.categories:
            scores = [run.categories[name].score for run in runs if name in run.categories]
            tail = scores[-FALLING_RUNS:]
            if len(tail) == FALLING_RUNS and all(b < a for a, b in pairwise(tail)):
                found.append(
                    f"{name} of {shown(model)} ({split}) fell in each of the last {FALLING_RUNS} "
                    f"runs, {points(tail[0] - tail[-1])} points in all: each step may pass, "
                    "the sum is a regression"
                )
        for name, (drop, allowed) in last.drops.items():
            if drop < -allowed:
                found.append(
                    f"{name} of {shown(model)} ({split}) is {points(-drop)} points above its "
                    f"baseline, more than the allowed drop of {points(allowed)}: that much could "
                    "be lost unseen; propose a newer baseline"
                )
    return found


def drawing(past: Sequence[Past], names: Sequence[str]) -> Markup:
    """The scores over runs as one SVG, readable in light and dark, no script, no font."""
    step = (WIDTH - LEFT - 12) / max(1, len(past) - 1)
    high = HEIGHT - BOTTOM - TOP
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {_height(names)}" '
        f'width="{WIDTH}" role="img" aria-label="Score by category over {len(past)} runs" '
        'font-family="sans-serif" font-size="12" fill="#64748b">'
    ]
    for share in (0.0, 0.25, 0.5, 0.75, 1.0):
        y = TOP + high * (1 - share)
        parts.append(
            f'<line x1="{LEFT}" x2="{WIDTH - 12}" y1="{y:.1f}" y2="{y:.1f}" stroke="#94a3b8" '
            f'stroke-opacity=".45"/><text x="{LEFT - 6}" y="{y + 4:.1f}" '
            f'text-anchor="end">{share:.2f}</text>'
        )
    for number, name in enumerate(names):
        colour, dash = COLOURS[number % len(COLOURS)], DASHES[number // len(COLOURS) % len(DASHES)]
        lines: dict[tuple[str, str], list[tuple[float, float]]] = {}
        for i, one in enumerate(past):
            if name in one.categories:
                place = (LEFT + i * step, TOP + high * (1 - one.categories[name].score))
                # Another model or split is another series: no line may join them.
                lines.setdefault((one.model, one.split), []).append(place)
        for places in lines.values():
            line = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
            parts.append(
                f'<polyline points="{line}" fill="none" stroke="{colour}" stroke-width="2" '
                f'stroke-dasharray="{dash}"/>'
            )
            parts += [
                f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colour}"/>' for x, y in places
            ]
        x, y = LEFT + number % 4 * 165, HEIGHT + number // 4 * 18
        parts.append(
            f'<line x1="{x}" x2="{x + 20}" y1="{y - 4}" y2="{y - 4}" stroke="{colour}" '
            f'stroke-width="3" stroke-dasharray="{dash}"/>'
            f'<text x="{x + 26}" y="{y}">{escape(shown(name))}</text>'
        )
    for i in sorted({0, len(past) - 1}) if past else ():
        anchor = "start" if i == 0 else "end"
        when = past[i].started[:16].replace("T", " ")
        parts.append(
            f'<text x="{LEFT + i * step:.1f}" y="{HEIGHT - BOTTOM + 12}" '
            f'text-anchor="{anchor}">{escape(when)}</text>'
        )
    return Markup("".join(parts) + "</svg>")  # noqa: S704 - every text above is escaped


def _height(names: Sequence[str]) -> int:
    return HEIGHT + 18 * math.ceil(max(1, len(names)) / 4) - 8


def _runs(folder: Path) -> list[Run]:
    if (folder / MANIFEST).exists():
        return [read(folder)]
    inside = sorted(path.parent for path in folder.glob(f"*/{MANIFEST}"))
    if not inside:
        raise InputError("holds no run (a folder with manifest.json)", path=folder)
    return [read(path) for path in inside]


def _past(run: Run) -> Past:
    manifest = run.manifest
    gated = [
        r for r in run.records if r.model == manifest.candidate and r.sample < manifest.samples
    ]
    categories = {}
    for name in dict.fromkeys(record.case.category for record in gated):
        scores: dict[str, list[float]] = {}
        for record in gated:
            if record.case.category == name:
                scores.setdefault(record.case.id, []).append(record.value)
        means = [math.fsum(s) / len(s) for s in scores.values()]
        categories[name] = Point(math.fsum(means) / len(means), len(means), noise(scores.values()))
    verdict = _verdict(run)
    return Past(
        run_id=manifest.run_id,
        started=manifest.started,
        model=manifest.candidate,
        split=manifest.split,
        outcome=verdict.outcome if verdict else "not judged",
        usd=spending(run.records).usd,
        categories=categories,
        drops={
            check.name: (check.drop, check.max_drop)
            for check in (verdict.checks if verdict else ())
            if check.drop is not None and check.max_drop is not None
        },
    )


def _verdict(run: Run) -> Verdict | None:
    try:
        return Verdict.model_validate_json((run.folder / VERDICT).read_bytes())
    except FileNotFoundError:
        return None
    except (OSError, ValidationError) as error:
        raise InputError("is no verdict of this version", path=run.folder / VERDICT) from error


def _cell(point: Point | None) -> str:
    if point is None:
        return "-"
    return f"{point.score:.3f}" + ("" if point.noise is None else f" (f {100 * point.noise:.1f} %)")
