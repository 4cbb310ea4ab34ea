"""`fineval`: thin commands over the functions that the plugin uses too."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence

from pytest_fineval import __version__
from pytest_fineval.cli import (
    baseline,
    chains,
    compare,
    data,
    gate,
    heldout,
    lock,
    merge,
    plan,
    report,
    scoring,
    waive,
)
from pytest_fineval.cli.common import USAGE_ERROR, Command, Parser
from pytest_fineval.errors import InputError, MeasurementError


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; errors are one line on stderr and exit code 4."""
    parser = _parser()
    given = parser.parse_args(arguments)
    command: Command = given.command
    try:
        return command(given)
    except (InputError, MeasurementError) as error:
        print(f"fineval: {error}", file=sys.stderr)
        return USAGE_ERROR
    except BrokenPipeError:  # the reader of our output (head, less) has gone: not our fault
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0


def _parser() -> argparse.ArgumentParser:
    parser = Parser(prog="fineval", description="Gate model changes on finance evals.")
    parser.add_argument("--version", action="version", version=f"pytest-fineval {__version__}")
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    scoring.add_score(commands)
    gate.add_gate(commands)
    merge.add_merge(commands)
    compare.add_compare(commands)
    baseline.add_baseline(commands)
    waive.add_waive(commands)
    lock.add_lock(commands)
    heldout.add_heldout(commands)
    plan.add_plan(commands)
    data.add_import(commands)
    data.add_figures(commands)
    chains.add_chains(commands)
    data.add_demo(commands)
    report.add_report(commands)
    report.add_history(commands)
    return parser
