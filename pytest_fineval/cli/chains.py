"""`fineval chains`: completeness and diagnostics of a run's reasoning chains."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_fineval.cli.common import Commands, command

if TYPE_CHECKING:
    from pytest_fineval.cases.model import Case
    from pytest_fineval.report.diagnostics import Part
    from pytest_fineval.scoring.chains.metrics import Profile
    from pytest_fineval.store.record import Record


def add_chains(commands: Commands) -> None:
    parser = command(
        commands,
        "chains",
        "show what the reasoning chains of a run tell",
        "fineval chains .fineval/runs/20261130T101500Z-1a2b",
        _chains,
    )
    parser.add_argument("run", type=Path, help="a run's folder")
    parser.add_argument(
        "--profile", choices=("paper", "lenient"), default="paper", help="of the step metrics"
    )


def _chains(given: argparse.Namespace) -> int:
    from pytest_fineval.report.chains import locale_of
    from pytest_fineval.report.completeness import completeness, completeness_lines
    from pytest_fineval.report.diagnostics import lines
    from pytest_fineval.report.material import measured_cases
    from pytest_fineval.store.run import read

    run = read(given.run)
    measured, notices = measured_cases(run, Path.cwd())
    for notice in notices:
        print(f"note: {notice}", file=sys.stderr)
    cases = {name: located.case for name, located in measured.items() if located.case.gold.steps}
    records = [record for record in run.records if record.case.id in cases]
    if not records:
        print("no case of this run has gold steps; docs/steps.md tells how to write a rubric")
        return 0
    rows = completeness(records, lambda record: locale_of(cases[record.case.id]))
    print("\n".join(completeness_lines(rows)))
    for part in _parts(records, cases, given.profile):
        print("", *lines(part), sep="\n")
    return 0


def _parts(records: list[Record], cases: dict[str, Case], profile: Profile) -> Iterator[Part]:
    from pytest_fineval.report.chains import has_chain, outcomes, rubric_outcomes
    from pytest_fineval.report.diagnostics import Part

    rubric = rubric_outcomes(records, cases)
    if rubric:
        yield Part("rubric of named quantities", "steps", rubric)
    if any(has_chain(case) for case in cases.values()):
        from pytest_fineval.scoring.embeddings import EmbeddingCache, cache_path, default_embedder
        from pytest_fineval.settings import load

        cache = EmbeddingCache.load(cache_path(Path.cwd() / load(Path.cwd()).recordings))
        found = outcomes(records, cases, cache, default_embedder, profile)
        yield Part(f"gold chains, profile {profile}", "fuzzy_f1", found)
