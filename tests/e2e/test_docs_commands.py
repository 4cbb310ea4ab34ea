"""The commands of the pages on cases, baselines and CI do what the pages say, in their order."""

import json
import os
import re
import shutil
import subprocess
import sys
from datetime import date, timedelta
from pathlib import Path

import pytest

from pytest_fineval.settings import load
from tests.e2e.test_docs import commands
from tests.project import Project, make_key, number_case

ROOT = Path(__file__).parents[2]
BIN = Path(sys.executable).parent
CANDIDATE = r"""
import re


def answer(request):
    figure = re.search(r"figure fq-(\d+)", request.messages[-1].content)
    return f"${100 + int(figure[1])}" if figure else "I do not know."


def make(settings):
    return answer
"""


@pytest.fixture
def project(pytester):
    """Two dozen cases, a model that runs in the process, this project's builder, a person's key."""
    found = Project(pytester)
    cases = [
        number_case(
            f"fq-{n:05}",
            100 + n,
            candidate={"question": f"What is figure fq-{n:05}?"},
            splits=["smoke"],
        )
        for n in range(24)
    ]
    found.suite("extraction", cases)
    found.models = []
    found.extra = "".join(
        f'[tool.fineval.models.{name}]\nclient = "candidate:make"\nmodel = "{name}"\n'
        for name in ("base", "new")
    )
    found.settings()
    (found.root / "candidate.py").write_text(CANDIDATE, encoding="utf-8")
    (found.root / ".gitconfig").write_text("[user]\nname = Ada\n", encoding="utf-8")
    (found.root / ".ssh").mkdir()
    make_key(found.root / ".ssh" / "id_ed25519")
    public = (found.root / ".ssh" / "id_ed25519.pub").read_text(encoding="utf-8")
    (found.root / "baselines").mkdir()
    (found.root / "baselines" / "allowed_signers").write_text(f"me@example.com {public}")
    line = {"id": "a", "scorer": {"name": "numeric", "abs_tol": 0},
            "gold": {"answer": 5, "unit": "USD"}, "output": "$5"}  # fmt: skip
    (found.root / "answers.jsonl").write_text(json.dumps(line) + "\n", encoding="utf-8")
    shutil.copytree(ROOT / "evals" / "build", found.root / "evals" / "build")
    return found


def run(project, command):
    return subprocess.run(
        ["bash", "-c", command],
        cwd=project.root,
        env={
            **os.environ,
            "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}",
            "HOME": str(project.root),
            "PYTHONPATH": os.pathsep.join((str(project.root), os.environ.get("PYTHONPATH", ""))),
        },
        capture_output=True,
        text=True,
        check=False,
    )


def works(project, command, code=0):
    done = run(project, command)
    assert done.returncode == code, f"{command}\n{done.stdout}{done.stderr}"
    return done.stdout + done.stderr


def edit(project, old, new):
    path = project.root / "evals" / "cases" / "extraction.jsonl"
    text = path.read_text(encoding="utf-8")
    changed = re.sub(old, new, text, count=1)
    assert changed != text
    path.write_text(changed, encoding="utf-8")


def page(name):
    return commands(ROOT / "docs" / name)


def record(project):
    for name in ("base", "new"):
        works(
            project,
            "pytest evals --fineval-live --fineval-record new --fineval-repeat 6 "
            f"--fineval-gate off --fineval-model {name} --fineval-run runs/{name}",
        )


def test_the_page_of_cases(project):
    record(project)
    propose, sign = (
        next(one for one in page("baselines.md") if one.startswith(f"fineval baseline {word}"))
        for word in ("propose", "sign")
    )
    works(project, propose)
    works(project, sign)
    said = {}
    for command in page("cases.md"):
        if command.startswith("python -m evals.build"):
            # A new project starts without this project's cases and ledger.
            shutil.rmtree(project.root / "evals" / "cases")
            (project.root / "evals" / "cases.lock").unlink()
            project.categories = tuple(load(ROOT).categories)
            project.settings()
        said[command] = works(project, command)
    assert "fq-00017" in said["pytest evals --collect-only -q"]
    assert "PASS" in said["pytest evals --fineval-show wrong"]
    assert json.loads(said["fineval score answers.jsonl"])["score"] == 1
    assert "no drift" in said["fineval lock check"]
    assert "200 added" in said["fineval lock add evals/cases"]
    for path in (ROOT / "evals" / "cases").glob("*.jsonl"):
        assert (project.root / "evals/cases" / path.name).read_bytes() == path.read_bytes()


def test_the_pages_of_baselines_and_ci(project):
    record(project)
    soon = (date.today() + timedelta(days=30)).isoformat()
    for shown in page("baselines.md"):
        command = re.sub(r"--until \d{4}-\d\d-\d\d", f"--until {soon}", shown)
        if command.startswith("fineval lock bump"):
            edit(project, '"answer": 117', '"answer": 117.0001')
        if command.startswith("fineval lock check"):
            edit(project, r'\{"id": "fq-00018".*\n', "")
        if command.startswith("fineval baseline propose"):
            works(project, "pytest evals --fineval-gate off --fineval-model base "
                           "--fineval-repeat 5 --fineval-run runs/again")  # fmt: skip
            command = command.replace("runs/base", "runs/again")
        if command.startswith("fineval waive"):
            stopped(project)
            command = command.replace(".fineval/runs/RUN", "runs/deploy")
        said = works(project, command)
        if command.startswith("fineval baseline rescore"):
            assert "waits for a signature" in said
            works(project, "fineval baseline sign baselines/main.json --key ~/.ssh/id_ed25519")
        if command.startswith("fineval waive"):
            waived = works(project, "fineval gate runs/deploy")
            assert "waived" in waived
    for command in page("ci.md"):
        if "RUN" in command:
            command = command.replace("RUN", "runs/ci")
        elif command.endswith("pytest evals"):
            command += " --fineval-run runs/ci"
        assert "PASS" in works(project, command)


def stopped(project):
    """A deploy verdict that may be waived: two answers are wrong."""
    path = project.root / "evals" / "recordings" / "new.jsonl"
    kept = path.read_text(encoding="utf-8")
    path.write_text(kept.replace('"$103"', '"$7"').replace('"$104"', '"$7"'), encoding="utf-8")
    done = run(project, "pytest evals --fineval-gate deploy --fineval-run runs/deploy")
    assert "INCONCLUSIVE" in done.stdout, done.stdout + done.stderr
    path.write_text(kept, encoding="utf-8")
