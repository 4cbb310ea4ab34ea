"""`fineval report` and `fineval history`: a run as a page, and runs over time."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from pytest_fineval.cli.common import Commands, command
from pytest_fineval.errors import InputError

SUFFIXES = ".html .md .json .csv .parquet .xml"


def add_report(commands: Commands) -> None:
    parser = command(
        commands,
        "report",
        "write what a run measured, in the format that the file's suffix names",
        "fineval report .fineval/runs/20261130T101500Z-1a2b -o report.html",
        _report,
    )
    parser.add_argument("run", type=Path, help="a run's folder")
    parser.add_argument(
        "-o",
        "--output",
        type=Path,
        action="append",
        default=[],
        metavar="FILE",
        help=f"repeatable; {SUFFIXES}",
    )
    parser.add_argument(
        "--history",
        type=Path,
        nargs="+",
        default=[],
        metavar="RUN",
        help="earlier runs (or a folder of runs) to show beside it in .html",
    )
    parser.add_argument(
        "--github",
        action="store_true",
        help="in a GitHub job: write the job summary and annotate cases and baseline",
    )
    parser.add_argument(
        "--comment",
        type=int,
        metavar="PR",
        help="write (or update) the one comment on this pull request; needs GITHUB_TOKEN",
    )


def add_history(commands: Commands) -> None:
    parser = command(
        commands,
        "history",
        "show score, cost, noise and verdict by category over several runs",
        "fineval history .fineval/runs -o trend.svg",
        _history,
    )
    parser.add_argument(
        "runs", type=Path, nargs="+", metavar="RUN", help="runs, or folders of runs"
    )
    parser.add_argument("-o", "--output", type=Path, metavar="FILE.svg", help="also draw it")


def _report(given: argparse.Namespace) -> int:
    from pytest_fineval.report import github
    from pytest_fineval.report.material import gather
    from pytest_fineval.report.view import view
    from pytest_fineval.report.write import check_suffix, write

    if not (given.output or given.github or given.comment):
        raise InputError("what is to be written? give -o FILE, --github or --comment PR")
    for path in given.output:
        check_suffix(path)
    material = gather(given.run, Path.cwd())
    page = view(material, given.history)
    for path in given.output:
        write(page, path)
        print(f"written: {path}")
    if given.github:
        for line in github.publish(page, Path.cwd(), os.environ):
            print(line)
    if given.comment:
        print(github.post_comment(github.comment(page), given.comment, os.environ))
    for notice in material.notices:
        print(f"note: {notice}", file=sys.stderr)
    return 0


def _history(given: argparse.Namespace) -> int:
    from pytest_fineval.report.history import trace
    from pytest_fineval.report.text import columns
    from pytest_fineval.store.run import write_atomically

    if given.output is not None and given.output.suffix.lower() != ".svg":
        raise InputError("a history is drawn as .svg", path=given.output)
    history = trace(given.runs)
    print("\n".join(columns([history.head, *history.rows], left=len(history.head))))
    for warning in history.warnings:
        print(f"warning: {warning}")
    if given.output is not None:
        write_atomically(given.output, str(history.svg) + "\n")
        print(f"written: {given.output}")
    return 0
