"""A whole small project in a temporary folder: cases, recordings, settings, signed baselines."""

from __future__ import annotations

import io
import json
import shutil
import subprocess
from collections.abc import Callable, Iterable, Mapping
from contextlib import chdir, redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

import pytest

from pytest_fineval.cases import files
from pytest_fineval.cases.model import Case
from pytest_fineval.cli import main
from pytest_fineval.clients.base import Answer, build_request
from pytest_fineval.clients.recording import Recordings
from pytest_fineval.settings import ModelSettings
from pytest_fineval.store import run as runs

CATEGORIES = ("extraction", "reasoning")


def number_case(name: str, answer: object, **fields: Any) -> dict[str, Any]:
    """A case that asks for one figure in USD."""
    return {
        "id": name,
        "category": "extraction",
        "candidate": {"question": f"What is figure {name}?"},
        "gold": {"answer": answer, "unit": "USD"},
        "scorer": {"name": "numeric", "abs_tol": 0.001},
        **fields,
    }


def many(n: int, category: str = "extraction", prefix: str = "e", **fields: Any) -> list[Any]:
    """n cases whose gold is 100, 101, ..."""
    return [number_case(f"{prefix}{i:03}", 100 + i, category=category, **fields) for i in range(n)]


class Project:
    """Writes the project's files and runs real pytest in it."""

    def __init__(self, pytester: pytest.Pytester):
        self.pytester = pytester
        self.root = pytester.path
        self.cases: list[Case] = []
        self.models = ["old", "new"]
        self.extra = ""
        self.gate = ""
        self.categories: tuple[str, ...] = ("extraction",)

    def settings(self) -> None:
        lines = [
            "[tool.fineval]",
            'candidate = "new"',
            'baseline = "baselines/main.json"',
            f"categories = {json.dumps(list(self.categories))}",
            *(
                f'[tool.fineval.models.{name}]\nclient = "recording"\nmodel = "{name}"'
                for name in self.models
            ),
            "[tool.fineval.gate]",
            self.gate,
            self.extra,
            "[tool.pytest.ini_options]",
            'addopts = "-p no:randomly -p no:cacheprovider"',
        ]
        (self.root / "pyproject.toml").write_text("\n".join(lines), encoding="utf-8")

    def suite(self, name: str, cases: Iterable[Mapping[str, Any]], body: str = "") -> None:
        """A case file and the test module that asks it."""
        made = [Case.model_validate(case) for case in cases]
        self.cases += made
        files.write(self.root / "evals" / "cases" / f"{name}.jsonl", made)
        body = body or "fineval.check()"
        module = (
            "import pytest\n\n\n"
            f'@pytest.mark.fineval("cases/{name}.jsonl")\n'
            f"def test_{name}(fineval):\n    {body}\n"
        )
        (self.root / "evals" / f"test_{name}.py").write_text(module, encoding="utf-8")

    def answers(
        self, model: str, texts: Mapping[str, str], samples: int | Iterable[int] = 1
    ) -> None:
        """Record these answers, by case id, for a model: so many samples, or these."""
        path = self.root / "evals" / "recordings" / f"{model}.jsonl"
        recordings = Recordings.load(path)
        settings = ModelSettings(client="recording", model=model)
        for case in self.cases:
            if case.id in texts:
                request = build_request(case.candidate, settings).digest
                for sample in range(samples) if isinstance(samples, int) else samples:
                    answer = Answer(text=texts[case.id], source="recording")
                    recordings.add(request, sample, answer, case=case.id, replace=True)
        recordings.compact()

    def right(self, *but: str) -> dict[str, str]:
        """The right answer of every case; a wrong number for the ids named."""
        return {case.id: "7" if case.id in but else str(case.gold.answer) for case in self.cases}

    def pytest(self, *arguments: str) -> pytest.RunResult:
        """Real pytest in the project's folder; in a process of its own where workers start."""
        if "-n" in arguments:
            return self.pytester.runpytest_subprocess("evals", *arguments)
        return self.pytester.runpytest_inprocess("evals", *arguments)

    def baseline(self, model: str = "old", *, signed: bool = True, repeat: int = 1) -> Path:
        """Run a model, propose the run as the baseline, sign it with a fresh key."""
        folder = self.root / "runs" / f"base-{model}"
        done = self.pytest(
            *("--fineval-model", model, "--fineval-gate", "off"),
            *("--fineval-run", str(folder), "--fineval-repeat", str(repeat)),
        )
        assert done.ret == 0, done.stdout.str()
        path = self.root / "baselines" / "main.json"
        self.fineval(
            "baseline", "propose", str(folder), "--reason", "test", "-o", str(path), "--by", "t"
        )
        if signed:
            self.sign(path)
        return path

    def sign(self, path: Path, principal: str = "owner@example.com") -> None:
        """Sign with a fresh key whose public half is allowed."""
        key = self.root / "owner_key"
        if not key.exists():
            make_key(key)
            public = key.with_suffix(".pub").read_text(encoding="utf-8")
            allowed = path.parent / "allowed_signers"
            allowed.write_text(f"{principal} {public}", encoding="utf-8")
        self.fineval("baseline", "sign", str(path), "--key", str(key))

    def fineval(self, *arguments: str, fails: bool = False) -> subprocess.CompletedProcess[str]:
        """The command line, run here: `tests/e2e` starts it as the process that users start."""
        out, err = io.StringIO(), io.StringIO()
        with chdir(self.root), redirect_stdout(out), redirect_stderr(err):
            try:
                code = main(arguments)
            except SystemExit as stop:  # argparse: --help, or a usage error
                code = int(stop.code or 0)
        done = subprocess.CompletedProcess(arguments, code, out.getvalue(), err.getvalue())
        assert fails or done.returncode == 0, done.stdout + done.stderr
        return done

    def run_folder(self) -> Path:
        """The folder of the only run under .fineval/runs."""
        (folder,) = (self.root / ".fineval" / "runs").iterdir()
        return folder

    def verdict(self, folder: Path | None = None) -> dict[str, Any]:
        """verdict.json of a run."""
        path = (folder or self.run_folder()) / runs.VERDICT
        loaded: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        return loaded


BUILT: dict[str, tuple[Path, list[Case], tuple[str, ...]]] = {}
"""Projects that were built once in this process, by name."""


def once(project: Project, name: str, build: Callable[[Project], None], keep: Path) -> Project:
    """Build a project, or copy it from the first time: runs and signatures take seconds.

    Args:
        keep: a new folder that outlives the test, for the copy.
    """
    if name in BUILT:
        folder, cases, categories = BUILT[name]
        shutil.copytree(folder, project.root, dirs_exist_ok=True)
        project.cases, project.categories = list(cases), categories
        return project
    build(project)
    shutil.copytree(project.root, keep, dirs_exist_ok=True)
    BUILT[name] = (keep, list(project.cases), project.categories)
    return project


def make_key(path: Path) -> None:
    """An ed25519 key pair without a passphrase, made by the real ssh-keygen."""
    if shutil.which("ssh-keygen") is None:
        pytest.fail("the tests need OpenSSH's ssh-keygen")
    subprocess.run(
        ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "test", "-f", str(path)], check=True
    )
