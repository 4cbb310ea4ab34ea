"""`fineval`: thin commands over the functions that the plugin uses too."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NoReturn, TypeAlias

from pytest_fineval import __version__
from pytest_fineval.errors import InputError, MeasurementError

USAGE_ERROR = 4
"""Exit code of bad input: pytest's own for a usage error."""

Command = Callable[[argparse.Namespace], int]


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


class _Parser(argparse.ArgumentParser):
    """argparse with our exit code for bad usage."""

    def error(self, message: str) -> NoReturn:
        self.print_usage(sys.stderr)
        self.exit(USAGE_ERROR, f"{self.prog}: {message}\n")


Commands: TypeAlias = "argparse._SubParsersAction[_Parser]"


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="fineval", description="Gate model changes on finance evals.")
    parser.add_argument("--version", action="version", version=f"pytest-fineval {__version__}")
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    _add_score(commands)
    _add_gate(commands)
    _add_baseline(commands)
    _add_import(commands)
    _add_demo(commands)
    return parser


def _command(
    commands: Commands,
    name: str,
    help_text: str,
    example: str,
    run: Command | None = None,
) -> _Parser:
    parser = commands.add_parser(
        name,
        help=help_text,
        description=f"{help_text[0].upper()}{help_text[1:]}.",
        epilog=f"example: {example}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    if run is not None:
        parser.set_defaults(command=run)
    return parser


def _add_score(commands: Commands) -> None:
    parser = _command(
        commands,
        "score",
        "score answers of a JSONL file offline, one line out for each line in",
        "fineval score answers.jsonl   "
        '# lines like {"id": "a", "scorer": {"name": "numeric"}, "gold": {"answer": 14.5, '
        '"unit": "percent"}, "output": "14.5%"}',
        _score,
    )
    parser.add_argument("file", type=Path)


def _score(given: argparse.Namespace) -> int:
    from pytest_fineval.cases.model import json_line
    from pytest_fineval.scoring.offline import score_line

    for number, line in enumerate(_text(given.file).split("\n"), start=1):
        if not line.strip():
            continue
        try:
            parsed = json.loads(line)
            scored = score_line(parsed)
        except InputError as error:
            raise InputError(error.fault, path=given.file, line=number) from error
        except ValueError as error:
            raise InputError(f"not JSON: {error}", path=given.file, line=number) from error
        print(json_line(scored))
    return 0


def _add_gate(commands: Commands) -> None:
    parser = _command(
        commands,
        "gate",
        "judge a finished run again, without a model call; exit codes as pytest's",
        "fineval gate .fineval/runs/20261130T101500Z-1a2b --baseline baselines/main.json",
        _gate,
    )
    parser.add_argument("run", type=Path, help="a run's folder")
    parser.add_argument("--baseline", type=Path, help="default: the one of the settings")
    parser.add_argument("--mode", choices=("smoke", "full", "deploy"))
    parser.add_argument("--json", action="store_true", help="print verdict.json instead")


def _gate(given: argparse.Namespace) -> int:
    from pytest_fineval.gate import baseline
    from pytest_fineval.gate.again import judge_again
    from pytest_fineval.report import terminal
    from pytest_fineval.report.summary import summarize
    from pytest_fineval.store.run import read

    run = read(given.run)
    verdict = judge_again(run, root=Path.cwd(), baseline=given.baseline, mode=given.mode)
    if given.json:
        sys.stdout.write(verdict.to_bytes().decode())
        return verdict.exit_code or 0
    path = given.baseline or (Path(run.manifest.baseline) if run.manifest.baseline else None)
    before = baseline.scored_answers(path) if path and path.exists() else {}
    out = terminal.Plain(sys.stdout)
    terminal.write(summarize(verdict, run.manifest, run.records, before, run.folder), out, "lost")
    terminal.write_verdict(verdict, out)
    return verdict.exit_code or 0


def _add_baseline(commands: Commands) -> None:
    group = _command(
        commands,
        "baseline",
        "propose, sign and verify what candidates are compared with",
        "fineval baseline propose .fineval/runs/RUN --reason 'first baseline' "
        "-o baselines/main.json",
    ).add_subparsers(metavar="ACTION", required=True)

    propose = _command(
        group,
        "propose",
        "make a baseline of one or more whole runs; it gates nothing before it is signed",
        "fineval baseline propose .fineval/runs/RUN --reason 'first baseline' "
        "-o baselines/main.json",
        _propose,
    )
    propose.add_argument("runs", type=Path, nargs="+", metavar="RUN")
    propose.add_argument("--reason", required=True)
    propose.add_argument("-o", "--output", type=Path, required=True, metavar="FILE")
    propose.add_argument("--by", help="who proposes it (default: git's user)")

    sign = _command(
        group,
        "sign",
        "sign a baseline with your SSH key",
        "fineval baseline sign baselines/main.json --key ~/.ssh/id_ed25519",
        _sign,
    )
    sign.add_argument("file", type=Path)
    sign.add_argument("--key", type=Path, required=True)

    verify = _command(
        group,
        "verify",
        "check signature, signer, dates and raw answers of a baseline",
        "fineval baseline verify baselines/main.json",
        _verify,
    )
    verify.add_argument("file", type=Path)
    verify.add_argument("--allowed-signers", type=Path, help="default: beside the baseline")


def _propose(given: argparse.Namespace) -> int:
    from pytest_fineval.gate import baseline
    from pytest_fineval.gate.propose import propose
    from pytest_fineval.settings import load
    from pytest_fineval.store import run as runs

    proposal = propose(
        [runs.read(folder) for folder in given.runs],
        settings=load(Path.cwd()),
        reason=given.reason,
        created_by=given.by or _git_user(),
        name=given.output.stem,
        predecessor=given.output if given.output.exists() else None,
    )
    baseline.write(proposal.baseline, proposal.companion, given.output)
    for warning in proposal.warnings:
        print(f"warning: {warning}", file=sys.stderr)
    for name, figures in proposal.baseline.aggregates.items():
        noise = "" if figures.noise is None else f", noise f {100 * figures.noise:.1f} %"
        print(f"{name}: {figures.mean:.3f} (n={figures.n}, {figures.samples} a case{noise})")
    print(f"{given.output} waits for a signature: fineval baseline sign {given.output} --key KEY")
    return 0


def _sign(given: argparse.Namespace) -> int:
    from pytest_fineval.gate.signoff import sign

    print(f"signed: {sign(given.file, given.key)}")
    return 0


def _verify(given: argparse.Namespace) -> int:
    from pytest_fineval.gate import baseline
    from pytest_fineval.gate.signoff import ALLOWED_SIGNERS, verify

    signers = given.allowed_signers or given.file.parent / ALLOWED_SIGNERS
    signer = verify(given.file, signers)
    loaded = baseline.load(given.file)
    print(
        f"{given.file}: signed by {signer.principal}, valid until {loaded.valid_until}, "
        f"policy {loaded.policy.digest[:12]}"
    )
    return 0


def _add_import(commands: Commands) -> None:
    parser = _command(
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


def _add_demo(commands: Commands) -> None:
    group = _command(
        commands, "demo", "the offline model of the examples", "fineval demo fetch-model"
    ).add_subparsers(metavar="ACTION", required=True)
    _command(
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


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"cannot be read: {error}", path=path) from error


def _git_user() -> str:
    import subprocess

    try:
        done = subprocess.run(
            ["git", "config", "user.name"],  # noqa: S607 - the user's own git, wherever it is
            capture_output=True,
            text=True,
            check=False,
            timeout=10,
        )
        name = done.stdout.strip()
    except OSError:
        name = ""
    if not name:
        raise InputError("who proposes it? git has no user.name: pass --by NAME")
    return name
