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
    chains = {name: case for name, case in cases.items() if has_chain(case)}
    if chains:
        from pytest_fineval.scoring.encoders import Embeddings, encoder_of
        from pytest_fineval.settings import load

        embeddings = Embeddings(load(Path.cwd()))
        # Figures of two encoders cannot be compared, so each has a part of its own.
        for encoder in sorted({encoder_of(case) for case in chains.values()}):
            same = {name: case for name, case in chains.items() if encoder_of(case) == encoder}
            found = outcomes(records, same, *embeddings.of(encoder), profile)
            yield Part(f"gold chains, profile {profile}, encoder {encoder}", "fuzzy_f1", found)
