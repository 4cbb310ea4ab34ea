"""`fineval compare`: k models on the same cases, against one reference."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_fineval.cli.common import Commands, command
from pytest_fineval.errors import InputError

if TYPE_CHECKING:
    from pytest_fineval.gate.compare import Contestant
    from pytest_fineval.store.run import Run


def add_compare(commands: Commands) -> None:
    parser = command(
        commands,
        "compare",
        "compare models with one reference, corrected for how many were tried",
        "fineval compare .fineval/runs/RUN-B .fineval/runs/RUN-C --reference .fineval/runs/RUN-A",
        _compare,
    )
    parser.add_argument("runs", type=Path, nargs="+", metavar="RUN")
    parser.add_argument(
        "--reference",
        metavar="RUN",
        help="a run's folder (its gated model), or a model of the runs named (default: the gated "
        "model of the first run)",
    )
    parser.add_argument(
        "--allow",
        action="append",
        default=[],
        metavar="FIELD",
        help="compare although this differs: data, split, evidence, decoding, budget, system, "
        "template, scorer",
    )
    parser.add_argument("--json", action="store_true")


def _compare(given: argparse.Namespace) -> int:
    from pytest_fineval.gate.compare import compare, contestants
    from pytest_fineval.report.comparison import lines
    from pytest_fineval.store.run import read

    folders = list(dict.fromkeys(path.resolve() for path in given.runs))
    runs = [read(folder) for folder in folders]
    wanted: str | None = given.reference
    if wanted is not None and not _names_a_model(wanted, runs):
        runs = _reference_first(runs, Path(wanted).resolve())
        wanted = None
    models = contestants(runs)
    reference = _reference(models, runs[0], wanted)
    found = compare(reference, [one for one in models if one is not reference], allow=given.allow)
    print(found.model_dump_json() if given.json else "\n".join(lines(found)))
    return 0


def _names_a_model(wanted: str, runs: list[Run]) -> bool:
    return any(wanted.partition("@")[0] in run.manifest.models for run in runs)


def _reference_first(runs: list[Run], folder: Path) -> list[Run]:
    from pytest_fineval.store.run import MANIFEST, read

    if not (folder / MANIFEST).exists():
        known = ", ".join(model for run in runs for model in run.manifest.models)
        raise InputError(
            f'the reference "{folder.name}" is neither a run nor one of the models: {known}'
        )
    return [read(folder), *(run for run in runs if run.folder != folder)]


def _reference(models: list[Contestant], first: Run, wanted: str | None) -> Contestant:
    candidate = first.manifest.candidate
    names = (wanted,) if wanted else (candidate, f"{candidate}@{first.manifest.run_id}")
    for one in models:
        if one.label in names:
            return one
    known = ", ".join(one.label for one in models)
    raise InputError(f'several runs measured "{wanted}": name one of {known}')
