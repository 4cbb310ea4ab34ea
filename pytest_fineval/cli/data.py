"""`fineval import` and `fineval demo`: cases and models from outside."""

from __future__ import annotations

import argparse
from pathlib import Path

from pytest_fineval.cli.common import Commands, command
from pytest_fineval.errors import InputError


def add_import(commands: Commands) -> None:
    parser = command(
        commands,
        "import",
        "build cases (and recordings) from a public benchmark's file",
        "fineval import jfinqa runs.jsonl -o evals/cases/jfinqa.jsonl --predictions runs.jsonl",
        _import,
    )
    parser.add_argument("track", choices=("jfinqa", "finqa"))
    parser.add_argument("source", type=Path)
    parser.add_argument("-o", "--output", type=Path, required=True, metavar="FILE")
    parser.add_argument("--predictions", type=Path, help="recorded runs (jfinqa)")
    parser.add_argument("--recordings", type=Path, help="folder for the recorded answers")


def _import(given: argparse.Namespace) -> int:
    from pytest_fineval.tracks.importing import import_finqa, import_jfinqa

    if given.track == "finqa":
        if given.predictions or given.recordings:
            raise InputError("finqa has no predictions to import")
        done = import_finqa(given.source, given.output)
    else:
        done = import_jfinqa(
            given.source,
            given.output,
            predictions=given.predictions,
            recordings=given.recordings,
        )
    print(done.summary())
    for model in done.runs:
        print(f'[tool.fineval.models."{model}"]\nclient = "recording"\nmodel = "{model}"')
    return 0


def add_demo(commands: Commands) -> None:
    group = command(
        commands, "demo", "the offline model of the examples", "fineval demo fetch-model"
    ).add_subparsers(metavar="ACTION", required=True)
    command(
        group,
        "fetch-model",
        "install the small local model and make its variants",
        "fineval demo fetch-model",
        _fetch_model,
    )


def _fetch_model(given: argparse.Namespace) -> int:  # noqa: ARG001 - a Command takes them
    from pytest_fineval.clients.local import fetch_model

    for path in fetch_model():
        print(path)
    return 0
