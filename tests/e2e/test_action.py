"""The composite action: its scripts are run by a real shell, as GitHub would run them."""

import os
import re
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def scripts():
    text = (ROOT / "action.yml").read_text(encoding="utf-8")
    return [
        textwrap.dedent(block)
        for block in re.findall(r"^      run: \|\n((?: {8}.*\n|\n)+)", text, re.M)
    ]


@pytest.fixture(scope="module")
def judged(tmp_path_factory):
    """The first two steps on this project's own suites, with the damaged model."""
    folder = tmp_path_factory.mktemp("job")
    files = {name: folder / name for name in ("GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY")}
    for path in files.values():
        path.touch()
    run = str(folder / "run")
    environment = {
        **os.environ,
        **{name: str(path) for name, path in files.items()},
        **{
            "SUITE": "evals",
            "SPLIT": "full",
            "GATE": "",
            "TRUST_REF": "",
            "PYTHON": sys.executable,
        },
        **{
            "MORE": "\n".join(
                ["--fineval-model", "damaged", "-p", "no:cacheprovider", "--fineval-run", run]
            )
        },
        **{"GITHUB_RUN_ID": "1", "GITHUB_RUN_ATTEMPT": "1", "GITHUB_ACTION": "__self"},
        **{"GITHUB_WORKSPACE": str(ROOT), "COMMENT": "false", "PULL_REQUEST": ""},
        **{"RUN": run, "CODE": "1"},
    }
    done = [
        subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script],
            **{
                "cwd": ROOT,
                "env": environment,
                "capture_output": True,
                "text": True,
                "check": False,
            },
        )
        for script in scripts()
    ]
    return folder, files, done


def test_a_blocked_run_is_judged_and_passes_its_exit_code_on(judged):
    _, files, (judge, _) = judged
    assert judge.returncode == 0, judge.stderr
    assert "fineval: BLOCK" in judge.stdout
    assert "exit-code=1\n" in files["GITHUB_OUTPUT"].read_text(encoding="utf-8")


def test_what_the_evals_print_is_not_obeyed(judged):
    _, _, (judge, _) = judged
    token = re.match(r"::stop-commands::([0-9a-f]{32})\n", judge.stdout).group(1)
    assert judge.stdout.endswith(f"\n::{token}::\n")


def test_the_report_is_written_shown_and_kept(judged):
    folder, files, (_, report) = judged
    assert report.returncode == 0, report.stderr
    summary = files["GITHUB_STEP_SUMMARY"].read_text(encoding="utf-8")
    assert summary.startswith("## ⛔ fineval: BLOCK")
    assert "::error file=baselines/main.json,line=1" in report.stdout
    assert report.stdout.count("::warning file=evals/cases/") == 10
    assert (folder / "run" / "report.html").exists()
    assert (folder / "run" / "junit.xml").exists()


def test_no_input_is_pasted_into_a_script():
    found = scripts()
    assert len(found) == 2
    assert not any("${{" in script for script in found)


def test_action_and_example_workflows_hold_the_security_rules():
    workflows = sorted((ROOT / "docs" / "workflows").glob("*.yml"))
    assert len(workflows) >= 4
    done = subprocess.run(
        [
            str(Path(sys.executable).with_name("zizmor")),
            *("--offline", "--quiet", str(ROOT / "action.yml"), *map(str, workflows)),
        ],
        **{"capture_output": True, "text": True, "check": False},
    )
    assert done.returncode == 0, done.stdout


def test_the_nightly_shards_are_joined_and_judged_by_the_workflows_own_script(tmp_path):
    """Real shards of this project's suites, laid out as download-artifact lays them out."""

    def evals(folder, *arguments):
        command = [sys.executable, "-m", "pytest", "evals", "-q", "-p", "no:cacheprovider"]
        command += ["--fineval-run", str(tmp_path / folder), *arguments]
        return subprocess.run(command, cwd=ROOT, check=False, stdout=subprocess.DEVNULL).returncode

    whole = evals("whole")
    for number in range(1, 5):
        assert evals(f"shards/shard-{number}", "--fineval-shard", f"{number}/4") == 0
    workflow = (ROOT / "docs" / "workflows" / "nightly.yml").read_text(encoding="utf-8")
    (script,) = re.findall(r"^      - run: \|\n((?: {10}.*\n)+)", workflow, re.M)
    assert "${{" not in script
    summary = tmp_path / "summary"
    summary.touch()
    script = textwrap.dedent(script).replace("shards/*", f"{tmp_path}/shards/*")
    merged = str(tmp_path / "nightly")
    done = subprocess.run(
        ["bash", "-eo", "pipefail", "-c", script.replace(".fineval/runs/nightly", merged)],
        **{
            "cwd": ROOT,
            "env": {
                **os.environ,
                "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
                "GITHUB_STEP_SUMMARY": str(summary),
                "GITHUB_WORKSPACE": str(ROOT),
            },
            "capture_output": True,
            "text": True,
            "check": False,
        },
    )
    assert done.returncode == whole, done.stderr
    found = [(tmp_path / name / "verdict.json").read_bytes() for name in ("nightly", "whole")]
    assert found[0] == found[1]
    assert "fineval: " in summary.read_text(encoding="utf-8")
    assert (tmp_path / "nightly" / "report.html").exists()
