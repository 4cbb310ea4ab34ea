"""`fineval import` and `fineval demo`: cases and models from outside."""

from __future__ import annotations

import argparse
from pathlib import Path

from pytest_fineval.cli.common import Commands, command
from pytest_fineval.tracks.names import MODULES


def add_import(commands: Commands) -> None:
    parser = command(
        commands,
        "import",
        "build cases (and recordings) from a public benchmark's file",
        "fineval import jfinqa runs.jsonl -o evals/cases/jfinqa.jsonl --predictions runs.jsonl",
        _import,
    )
    parser.add_argument("track", metavar="TRACK", help=", ".join(MODULES))
    parser.add_argument("source", help="a file, or hub:OWNER/NAME@REVISION (40 hex digits)")
    parser.add_argument("-o", "--output", type=Path, required=True, metavar="FILE")
    parser.add_argument("--split", help="of the source; default: the one in the file's name")
    parser.add_argument("--scorer", choices=("official", "strict"), help="default: the track's")
    parser.add_argument("--programs", action="store_true", help="ask for programs (FinQA)")
    parser.add_argument(
        "--own-history", action="store_true", help="earlier turns without gold answers (ConvFinQA)"
    )
    parser.add_argument(
        "--exclude", metavar="LIST", help="leave out faulty golds: NAME@V or a file"
    )
    parser.add_argument("--sha256", metavar="HEX", help="refuse a source with another digest")
    parser.add_argument("--predictions", type=Path, help="recorded answers of models")
    parser.add_argument("--recordings", type=Path, help="folder for the recorded answers")


def _import(given: argparse.Namespace) -> int:
    from pytest_fineval.tracks.importing import How, import_track, models

    how = How(
        scorer=given.scorer,
        split=given.split,
        exclude=given.exclude,
        sha256=given.sha256,
        predictions=given.predictions,
        recordings=given.recordings,
    )
    name = given.track
    name += "-own-history" * given.own_history + "-programs" * given.programs
    done = import_track(name, given.source, given.output, how)
    print(done.summary())
    for note in done.notes:
        print(f"note: {note}")
    print("\n".join(models(done)), end="")
    return 0


def add_figures(commands: Commands) -> None:
    parser = command(
        commands,
        "figures",
        "show a run's figures by track, with what they depend on",
        "fineval figures .fineval/runs/20261130T101500Z-1a2b",
        _figures,
    )
    parser.add_argument("run", type=Path, help="a run's folder")
    parser.add_argument("--model", help="default: the one that was gated")
    parser.add_argument("--json", action="store_true", help="one JSON object a track and line")


def _figures(given: argparse.Namespace) -> int:
    from pytest_fineval.cases.model import json_line
    from pytest_fineval.store.run import read
    from pytest_fineval.tracks.figures import as_json, figures, lines

    for found in figures(read(given.run), Path.cwd(), given.model):
        print(json_line(as_json(found)) if given.json else "\n".join(lines(found)))
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
