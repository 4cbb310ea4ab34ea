"""The plugin among pytest's own features and other plugins."""

import subprocess
import sys
import xml.etree.ElementTree as ET

import pytest

from tests.project import many


@pytest.fixture
def blocked(project):
    """A project whose candidate is blocked."""
    project.suite("extraction", many(30))
    project.answers("old", project.right())
    project.answers("new", project.right(*(f"e{i:03}" for i in range(12))))
    project.settings()
    project.baseline()
    return project


def test_gate_rows_stand_in_junit_with_the_failed_check(blocked):
    blocked.pytest("--junitxml", "out.xml")
    suite = ET.parse(blocked.root / "out.xml").getroot().find("testsuite")  # noqa: S314 - our own file
    rows = {case.get("name"): case for case in suite if case.get("classname") == "fineval-gate"}
    assert rows["extraction"].find("failure") is not None
    assert "drop 40.0 pts" in rows["extraction"].find("failure").text
    assert suite.get("tests") == str(30 + len(rows))
    text = (blocked.root / "out.xml").read_text()
    assert "fineval_record" not in text


def test_gate_rows_never_enter_the_cache_of_failed_tests(blocked):
    settings = blocked.root / "pyproject.toml"
    settings.write_text(settings.read_text().replace("-p no:cacheprovider", ""))
    assert blocked.pytest().ret == 1
    done = blocked.pytest("--lf", "--fineval-gate", "off")
    assert (
        "fineval-gate"
        not in (blocked.root / ".pytest_cache").joinpath("v", "cache", "nodeids").read_text()
    )
    assert done.ret == 0


def test_gate_rows_do_not_count_for_maxfail(blocked):
    done = blocked.pytest("--maxfail", "1")
    assert done.ret == 1
    done.stdout.no_fnmatch_line("*stopping after*")
    assert blocked.verdict()["outcome"] == "block"


def test_collect_only_asks_nothing_and_leaves_no_run(blocked):
    done = blocked.pytest("--collect-only", "-q")
    assert done.ret == 0
    assert not (blocked.root / ".fineval").exists()


def test_without_the_terminal_plugin_the_exit_code_still_tells(blocked):
    assert blocked.pytest("-p", "no:terminal").ret == 1


def test_without_xdist_the_plugin_works(blocked):
    assert blocked.pytest("-p", "no:xdist").ret == 1


def test_without_the_plugin_the_marker_is_unknown_and_nothing_breaks_elsewhere(blocked):
    (blocked.root / "test_plain.py").write_text("def test_x():\n    pass\n")
    done = blocked.pytester.runpytest_subprocess("test_plain.py", "-p", "no:fineval")
    assert done.ret == 0


def test_quiet_output_ends_with_the_verdict(blocked):
    done = blocked.pytest("-q")
    assert [line for line in done.outlines if line.strip()][-1].startswith("fineval: BLOCK")


def test_a_random_order_gives_the_same_verdict(blocked):
    settings = blocked.root / "pyproject.toml"
    settings.write_text(settings.read_text().replace("-p no:randomly", ""))
    for seed in ("1", "2"):
        blocked.pytest("--randomly-seed", seed, "--fineval-run", seed)
    first, second = (blocked.root / seed / "verdict.json" for seed in ("1", "2"))
    assert first.read_bytes() == second.read_bytes()


def test_the_help_shows_every_option_in_one_group(pytester):
    done = pytester.runpytest("--help")
    text = done.stdout.str()
    start = text.index("fineval: gate a model change")
    group = text[start : text.index("\n\n", start)]
    for name in ("split", "model", "baseline", "gate", "live", "record", "repeat", "run", "cap"):
        assert f"--fineval-{name}" in group
    assert len(group.splitlines()) < 45


HEAVY = (
    "numpy", "scipy", "pydantic", "datasets", "torch", "httpx2", "jinja2", "rapidfuzz", "regex",
    "pytest_fineval.session", "pytest_fineval.settings",
)  # fmt: skip


def loaded(folder, *options):
    """Which heavy modules a collection without evals leaves loaded."""
    program = (
        "import sys, pytest\n"
        f"pytest.main(['--collect-only', '-q', *{options!r}])\n"
        f"print('LOADED', *[name for name in {HEAVY!r} if name in sys.modules])\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=folder, capture_output=True, text=True, check=True
    )
    return done.stdout.splitlines()[-1].split()


def test_an_unrelated_run_imports_nothing_heavy_because_of_this_plugin(pytester):
    pytester.makepyfile("def test_x():\n    pass\n")
    # Other installed plugins may load numpy by themselves: only the difference is ours.
    assert loaded(pytester.path) == loaded(pytester.path, "-p", "no:fineval")
