"""The case ledger in a real run: what collection refuses, and what it only says."""

import pytest

from tests.project import many, once


@pytest.fixture
def kept(project, tmp_path_factory):
    """Ten cases in a ledger, a signed baseline that had them right."""
    return once(project, "test_lock", build, tmp_path_factory.mktemp("built"))


def build(project):
    project.suite("extraction", many(10))
    project.answers("old", project.right())
    project.answers("new", project.right())
    project.settings()
    project.fineval("lock", "add", "evals/cases")
    project.baseline()


def case_file(project):
    return project.root / "evals" / "cases" / "extraction.jsonl"


def edit(path, old, new):
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new, 1), encoding="utf-8")


def test_what_the_ledger_holds_is_asked_and_the_ledger_is_signed(kept):
    done = kept.pytest()
    assert done.ret == 0
    assert kept.verdict()["outcome"] == "pass"
    assert (kept.root / "baselines" / "main.cases.lock").exists()


def test_a_changed_gold_is_refused_at_collection_and_its_line_named(kept):
    edit(case_file(kept), '"answer": 103', '"answer": 104')
    done = kept.pytest("--fineval-gate", "off")
    assert done.ret == 4
    done.stderr.fnmatch_lines(['*extraction.jsonl:4: case "e003"*fineval lock bump e003*'])
    assert not (kept.root / ".fineval").exists()


def test_a_removed_case_is_refused_even_without_a_baseline(kept):
    edit(case_file(kept), case_file(kept).read_text().splitlines(keepends=True)[2], "")
    done = kept.pytest("--fineval-baseline", "none")
    assert done.ret == 4
    assert "case e002 is gone" in done.stderr.str()


def test_workers_refuse_what_one_process_refuses(kept):
    edit(case_file(kept), '"answer": 103', '"answer": 104')
    done = kept.pytest("-n", "2")
    assert done.ret != 0
    assert "fineval lock bump e003" in done.stdout.str() + done.stderr.str()


def test_a_bumped_case_is_excluded_by_name_until_the_next_baseline(kept):
    edit(case_file(kept), '"answer": 103', '"answer": 104')
    kept.fineval("lock", "bump", "e003", "--reason", "the gold was wrong")
    done = kept.pytest()
    assert done.ret == 0
    assert kept.verdict()["excluded"] == ["e003 (bumped)"]
    assert kept.verdict()["checks"][0]["n"] == 9


def test_a_retired_case_is_excluded_by_name(kept):
    kept.fineval("lock", "retire", "e003", "--reason", "withdrawn")
    edit(case_file(kept), case_file(kept).read_text().splitlines(keepends=True)[3], "")
    done = kept.pytest()
    assert done.ret == 0
    assert kept.verdict()["excluded"] == ["e003 (retired)"]


def test_a_new_case_and_an_old_question_are_told(kept):
    again = many(10)[4] | {"id": "copy"}
    kept.suite("extraction", [*many(10), again])
    kept.answers("new", {"copy": "104"})
    done = kept.pytest()
    assert done.ret == 0
    text = done.stdout.str()
    assert "case copy asks the same as e004" in text
    assert "case copy is not in cases.lock yet" in text


def test_a_ledger_that_is_gone_is_refused(kept):
    (kept.root / "evals" / "cases.lock").unlink()
    done = kept.pytest()
    assert done.ret == 4
    assert "the case ledger is gone" in done.stderr.str()


def test_a_rewritten_ledger_is_refused_though_it_fits_the_cases(kept):
    (kept.root / "evals" / "cases.lock").unlink()
    edit(case_file(kept), '"answer": 103', '"answer": 104')
    kept.fineval("lock", "add", "evals/cases")
    done = kept.pytest()
    assert done.ret == 4
    assert "gone or were rewritten: e003" in done.stderr.str()
