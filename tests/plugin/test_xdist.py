"""Several workers: the same verdict, and nothing lost."""

import json

from tests.project import many


def ready(project, body=""):
    project.suite("extraction", many(30), body=body)
    project.answers("old", project.right())
    project.answers("new", project.right("e001", "e002", "e011"))
    project.settings()


def test_two_workers_give_the_same_verdict_bytes_as_one_process(project):
    ready(project)
    project.baseline()
    one = project.pytest("--fineval-run", "one")
    two = project.pytest("--fineval-run", "two", "-n", "2")
    assert one.ret == two.ret
    bytes_of_one = (project.root / "one" / "verdict.json").read_bytes()
    assert (project.root / "two" / "verdict.json").read_bytes() == bytes_of_one


def test_every_record_of_every_worker_arrives_once(project):
    ready(project)
    project.pytest("--fineval-run", "run", "-n", "2", "--fineval-baseline", "none")
    lines = (project.root / "run" / "records.jsonl").read_text().splitlines()
    names = sorted(json.loads(line)["case"]["id"] for line in lines)
    assert names == [f"e{i:03}" for i in range(30)]


def test_words_and_letters_are_shown_under_xdist_too(project):
    ready(project)
    done = project.pytest("-n", "2", "--fineval-baseline", "none", "-v")
    done.stdout.fnmatch_lines(
        ["*WRONG*test_extraction[[]e001[]]*", "model new, split full: 27 correct, 3 wrong"]
    )


def test_a_worker_killed_in_the_middle_makes_the_run_invalid_and_names_the_lost_case(project):
    body = (
        "import os, signal\n"
        "    if fineval.candidate.question == 'What is figure e013?':\n"
        "        os.kill(os.getpid(), signal.SIGKILL)\n"
        "    fineval.check()"
    )
    ready(project, body)
    project.answers("new", project.right())
    module = project.root / "evals" / "test_extraction.py"
    deadly = module.read_text()
    module.write_text(deadly.replace("SIGKILL", "SIGCONT"))
    project.baseline()
    module.write_text(deadly)
    done = project.pytest("-n", "2")
    assert done.ret == 1
    (folder,) = (project.root / ".fineval" / "runs").iterdir()
    verdict = project.verdict(folder)
    assert verdict["outcome"] == "invalid"
    assert any("e013" in lost for lost in verdict["lost"])
    assert "e013" in [line for line in done.outlines if line.strip()][-1]
    lines = (folder / "records.jsonl").read_text().splitlines()
    assert len(lines) == 29


def test_a_usage_error_of_the_baseline_ends_the_run_with_4(project):
    ready(project)
    project.baseline(signed=False)
    done = project.pytest("-n", "2")
    assert done.ret == 4
    assert "main.json" in done.stderr.str()


def test_k_is_not_judged_under_xdist(project):
    ready(project)
    project.baseline()
    done = project.pytest("-n", "2", "-k", "e001 or e002")
    assert done.ret == 0
    assert "NOT JUDGED" in done.stdout.str()
