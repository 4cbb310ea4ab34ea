"""`fineval plan`: say what will be measured before it is."""

from __future__ import annotations

import argparse
from pathlib import Path

from pytest_fineval.cli.common import Commands, command, git_user
from pytest_fineval.errors import InputError


def add_plan(commands: Commands) -> None:
    parser = command(
        commands,
        "plan",
        "write down hypothesis, models, checks, thresholds and cases before a run",
        "fineval plan --hypothesis 'the new prompt reads tables better' -o plans/tables.json",
        _plan,
    )
    parser.add_argument("--hypothesis", required=True)
    parser.add_argument("-o", "--output", type=Path, required=True, metavar="FILE")
    parser.add_argument("--model", action="append", metavar="NAME", help="default: the candidate")
    parser.add_argument("--split", choices=("smoke", "full", "dev", "heldout"), default="full")
    parser.add_argument("--gate", choices=("smoke", "full", "deploy", "off"))
    parser.add_argument("--repeat", type=int, default=1, metavar="K", help="answers per case")
    parser.add_argument("--baseline", type=Path, help="default: the one of the settings")
    parser.add_argument(
        "--cases", type=Path, nargs="+", metavar="FILE", help="default: the case ledger's files"
    )
    parser.add_argument("--by", help="who plans it (default: git's user)")


def _plan(given: argparse.Namespace) -> int:
    from pytest_fineval.cli.lock import case_files, ledger, located
    from pytest_fineval.gate import baseline as baselines
    from pytest_fineval.gate.plan import register
    from pytest_fineval.gate.policy import draft
    from pytest_fineval.settings import load
    from pytest_fineval.store.manifest import identity

    settings = load(Path.cwd())
    models: list[str] = given.model or ([settings.candidate] if settings.candidate else [])
    if not models:
        raise InputError("no model is named: pass --model NAME, or set candidate in the settings")
    path = given.baseline or (Path(settings.baseline) if settings.baseline else None)
    signed = path is not None and path.exists()
    if given.output.exists():
        raise InputError("stands already; a plan is not rewritten", path=given.output)
    plan = register(
        [one.case for one in located(given.cases or case_files(ledger(None)))],
        hypothesis=given.hypothesis,
        models={name: identity(settings.model(name)) for name in models},
        candidate=next((name for name in models if name == settings.candidate), models[0]),
        split=given.split,
        gate=given.gate or {"smoke": "smoke", "heldout": "off"}.get(given.split, "full"),
        samples=given.repeat,
        policy=baselines.load(path).policy if signed and path else draft(settings),
        created_by=given.by or git_user(),
    )
    given.output.parent.mkdir(parents=True, exist_ok=True)
    given.output.write_text(plan.to_text(), encoding="utf-8", newline="\n")
    print(f"{given.output}: {sum(plan.n.values())} cases, plan {plan.digest[:12]}")
    print("commit it, then run:")
    print(f"pytest evals --fineval-split {given.split} --fineval-plan {given.output}")
    return 0
