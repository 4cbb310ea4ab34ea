"""What an item shows and records."""

import json

from tests.project import many, number_case


def records(project):
    lines = (project.run_folder() / "records.jsonl").read_text(encoding="utf-8").splitlines()
    return {record["case"]["id"]: record for record in map(json.loads, lines)}


def test_each_case_is_one_item_with_its_own_status_letter_and_word(project):
    project.suite("numbers", many(3))
    project.answers("new", {"e000": "100", "e001": "7", "e002": "I cannot help with that."})
    project.settings()
    done = project.pytest("--fineval-baseline", "none", "-v")
    done.stdout.fnmatch_lines(
        [
            "*test_numbers[[]e000[]] CORRECT*",
            "*test_numbers[[]e001[]] WRONG*",
            "*test_numbers[[]e002[]] UNSCORED*",
            "*1 correct, 1 wrong, 1 unscored*",
        ]
    )
    assert done.ret == 0


def test_a_wrong_answer_is_a_measurement_and_not_a_failure(project):
    project.suite("numbers", many(2))
    project.answers("new", project.right("e000"))
    project.settings()
    done = project.pytest("--fineval-baseline", "none")
    assert done.ret == 0
    done.stdout.fnmatch_lines(["*test_numbers.py w.*"])


def test_the_record_keeps_answer_score_and_what_was_read(project):
    project.suite("numbers", many(1))
    project.answers("new", {"e000": "The figure is $100."})
    project.settings()
    project.pytest("--fineval-baseline", "none")
    record = records(project)["e000"]
    assert record["status"] == "correct"
    assert record["answer"]["text"] == "The figure is $100."
    assert record["score"]["value"] == 1
    assert float(record["score"]["parsed"]) == 100
    assert record["score"]["scorer"] == "numeric@1"
    start, end = record["score"]["span"]
    assert "100" in record["answer"]["text"][start:end]


def test_a_test_may_score_an_answer_that_it_obtained_itself(project):
    project.suite("numbers", many(1), body='fineval.check("it is 100")')
    project.settings()
    project.pytest("--fineval-baseline", "none")
    assert records(project)["e000"]["answer"]["source"] == "test"
    assert records(project)["e000"]["status"] == "correct"


def test_a_test_sees_the_candidate_and_no_gold(project):
    body = (
        "assert fineval.candidate.question == 'What is figure e000?'\n"
        "    assert not [n for n in dir(fineval) if 'gold' in n.lower()]\n"
        "    fineval.check()"
    )
    project.suite("numbers", many(1), body=body)
    project.answers("new", project.right())
    project.settings()
    assert project.pytest("--fineval-baseline", "none").ret == 0


def test_a_test_that_never_checks_leaves_an_unchecked_record(project):
    project.suite("numbers", many(1), body="pass")
    project.settings()
    project.pytest("--fineval-baseline", "none")
    assert records(project)["e000"]["status"] == "unchecked"
    assert "never called" in records(project)["e000"]["note"]


def test_a_test_that_raises_before_its_check_is_unchecked_and_fails(project):
    project.suite("numbers", many(1), body="assert 0, 'boom'")
    project.settings()
    done = project.pytest("--fineval-baseline", "none")
    assert done.ret == 1
    assert records(project)["e000"]["status"] == "unchecked"


def test_a_skipped_item_is_unchecked_and_makes_no_green_run(project):
    project.suite("numbers", many(6))
    project.answers("old", project.right())
    project.answers("new", project.right())
    project.settings()
    project.baseline()
    module = project.root / "evals" / "test_numbers.py"
    text = module.read_text(encoding="utf-8")
    module.write_text(text.replace("    fineval.check()", "    pytest.skip('slow')"), "utf-8")
    done = project.pytest()
    assert done.ret == 1
    assert project.verdict()["outcome"] == "invalid"


def test_checking_twice_is_an_error_of_the_test(project):
    project.suite("numbers", many(1), body="fineval.check(); fineval.check()")
    project.answers("new", project.right())
    project.settings()
    done = project.pytest("--fineval-baseline", "none")
    assert done.ret == 1
    done.stdout.fnmatch_lines(["*called twice in one test*"])


def test_strict_fails_the_item_and_says_what_was_read_and_expected(project):
    project.suite("numbers", many(1))
    project.answers("new", {"e000": "it is 7"})
    project.settings()
    done = project.pytest("--fineval-baseline", "none", "--fineval-strict")
    assert done.ret == 1
    done.stdout.fnmatch_lines(["*e000 is wrong*", "*answer:*it is 7*", "*expected:*100*USD*"])


def test_a_must_pass_case_that_is_wrong_fails_its_item(project):
    project.suite("numbers", [number_case("a", 1, must_pass=True), number_case("b", 2)])
    project.answers("new", {"a": "7", "b": "7"})
    project.settings()
    done = project.pytest("--fineval-baseline", "none")
    assert done.ret == 1
    done.assert_outcomes(failed=1)
    done.stdout.fnmatch_lines(["*a is wrong (a must_pass case)*"])


def test_repeats_and_models_are_items_of_their_own(project):
    project.suite("numbers", many(1))
    project.answers("old", project.right(), samples=2)
    project.answers("new", project.right(), samples=2)
    project.settings()
    done = project.pytest(
        "--fineval-model", "old", "--fineval-model", "new", "--fineval-repeat", "2",
        "--fineval-baseline", "none", "-v",
    )  # fmt: skip
    for name in ("e000-old-0", "e000-old-1", "e000-new-0", "e000-new-1"):
        done.stdout.fnmatch_lines([f"*test_numbers[[]{name}[]] CORRECT*"])


def test_a_recording_miss_is_an_error_of_that_case_and_names_the_remedy(project):
    project.suite("numbers", many(2))
    project.answers("new", {"e000": "100"})
    project.settings()
    done = project.pytest("--fineval-baseline", "none", "-v", "--fineval-show", "wrong")
    done.stdout.fnmatch_lines(["*e001[]] ERRORED*", "*recording_missing*--fineval-record*"])
    record = records(project)["e001"]
    assert record["status"] == "errored"
    assert record["answer"]["error"]["kind"] == "recording_missing"


def test_a_split_takes_only_its_cases_and_held_out_ones_stay_shut(project):
    cases = [
        number_case("a", 1, splits=["smoke"]),
        number_case("b", 2),
        number_case("c", 3, splits=["heldout"]),
    ]
    project.suite("numbers", cases)
    project.answers("new", project.right())
    project.settings()
    smoke = project.pytest("--collect-only", "-q", "--fineval-split", "smoke")
    full = project.pytest("--collect-only", "-q")
    assert [line[-3:] for line in smoke.outlines if "[" in line] == ["[a]"]
    assert [line[-3:] for line in full.outlines if "[" in line] == ["[a]", "[b]"]


def test_a_suite_without_a_case_in_the_split_has_no_item_at_all(project):
    project.suite("numbers", [number_case("a", 1, splits=["smoke"])])
    project.suite("others", [number_case("b", 2)])
    project.answers("new", project.right())
    project.settings()
    done = project.pytest("--fineval-split", "smoke", "--fineval-baseline", "none")
    done.stdout.fnmatch_lines(["*1 correct*"])
    done.stdout.no_fnmatch_line("*skipped*")


def test_hostile_answers_cannot_colour_the_terminal_or_start_a_line(project):
    project.suite("numbers", many(1))
    project.answers("new", {"e000": "\x1b[31m\n::error::owned\r\u202e7"})
    project.settings()
    done = project.pytest("--fineval-baseline", "none", "--fineval-show", "wrong")
    text = done.stdout.str()
    assert "\x1b[31m" not in text
    assert "\u202e" not in text
    assert not [line for line in done.outlines if line.startswith("::")]
    assert "::error::owned" in text
