"""What the README shows is what its commands print."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
SHOWN = re.findall(r"^```console\n\$ pytest (.*)\n((?:.*\n)+?)```$", README, re.MULTILINE)


def run(arguments: list[str], folder: Path) -> list[str]:
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            *arguments,
            "-p",
            "no:cacheprovider",
            "-p",
            "no:randomly",
            "--fineval-run",
            str(folder),
        ],
        cwd=ROOT,
        env={**os.environ, "COLUMNS": "100"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode in (0, 1), done.stdout + done.stderr
    return done.stdout.splitlines()


def test_the_readme_shows_some_runs():
    assert len(SHOWN) == 3


@pytest.mark.parametrize(("command", "shown"), SHOWN, ids=[command for command, _ in SHOWN])
def test_a_run_prints_what_the_readme_shows(command, shown, tmp_path):
    printed = iter(run(shlex.split(command), tmp_path / "run"))
    for line in shown.splitlines():
        # "..." stands for lines left out; the others come in this order.
        assert line == "..." or line in printed, f"not printed: {line}"


def test_the_baseline_is_one_that_the_readmes_commands_make(tmp_path):
    (block,) = re.findall(r"```sh\n(pytest evals --fineval-gate off.*?)```", README, re.DOTALL)
    ran, proposed, _, verified = (shlex.split(line) for line in block.splitlines())
    folder, path = tmp_path / "run", tmp_path / "main.json"
    run(ran[1:-2], folder)
    proposed = [str(folder) if part == ran[-1] else part for part in proposed]
    proposed = [str(path) if part == "baselines/main.json" else part for part in proposed]
    fineval = Path(sys.executable).with_name("fineval")
    for command in (proposed, verified):
        done = subprocess.run(
            [fineval, *command[1:]], cwd=ROOT, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
    committed = (ROOT / "baselines" / "main.answers.jsonl").read_bytes()
    assert (tmp_path / "main.answers.jsonl").read_bytes() == committed
