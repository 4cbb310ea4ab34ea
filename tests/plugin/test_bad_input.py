"""Each fault gives one clear line with file, line and remedy, exit code 4, and nothing asked."""

import json

import pytest

from tests.project import many, number_case


@pytest.fixture
def broken(project):
    """A project with one suite, whose case file the test then spoils."""
    project.suite("numbers", many(2))
    project.answers("new", project.right())
    project.settings()
    path = project.root / "evals" / "cases" / "numbers.jsonl"

    def spoil(*lines):
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
        return project.pytest("--fineval-baseline", "none")

    return spoil


def line(case):
    return json.dumps(case)


def refused(done, *patterns):
    assert done.ret == 4
    done.stderr.fnmatch_lines(list(patterns))
    assert "fineval: INVALID" in done.stderr.str()


def test_an_unknown_key_names_the_nearest_right_one(broken):
    case = {**number_case("a", 1), "categry": "extraction"}
    refused(
        broken(line(case)), '*cases/numbers.jsonl:1: unknown key "categry"*did you mean "category"*'
    )


def test_an_unknown_key_inside_the_candidate_is_named_with_its_path(broken):
    case = number_case("a", 1)
    case["candidate"]["qestion"] = "?"
    refused(broken(line(case)), '*unknown key "candidate.qestion"*did you mean "question"*')


def test_a_missing_key_is_named(broken):
    case = number_case("a", 1)
    del case["gold"]
    refused(broken(line(case)), '*numbers.jsonl:1: missing key "gold"*')


def test_an_id_that_stands_twice_names_both_lines(broken):
    done = broken(line(number_case("a", 1)), "", line(number_case("a", 2)))
    refused(done, '*numbers.jsonl:3: case "a": the id stands already in line 1*')


def test_an_id_in_two_suites_is_refused(project):
    project.suite("one", many(1))
    project.suite("two", many(1))
    project.answers("new", project.right())
    project.settings()
    done = project.pytest("--fineval-baseline", "none")
    refused(done, '*case "e000": the id is also in*test_one.py*')


def test_an_empty_file_is_refused(broken):
    refused(broken(""), "*numbers.jsonl: holds no case*")


def test_a_broken_json_line_is_named_by_its_number(broken):
    done = broken(line(number_case("a", 1)), '{"id": "b", ')
    refused(done, "*numbers.jsonl:2: *Invalid JSON*")


def test_a_missing_file_is_named(project):
    project.suite("numbers", many(1))
    (project.root / "evals" / "cases" / "numbers.jsonl").unlink()
    project.settings()
    refused(project.pytest("--fineval-baseline", "none"), "*numbers.jsonl: no such case file*")


def test_an_unknown_category_names_the_nearest(broken):
    refused(
        broken(line(number_case("a", 1, category="extracton"))),
        '*unknown category "extracton"*did you mean "extraction"*',
    )


def test_an_unknown_scorer_names_the_nearest(broken):
    refused(
        broken(line(number_case("a", 1, scorer={"name": "numric"}))),
        '*unknown scorer "numric"*did you mean "numeric"*',
    )


def test_an_unknown_scorer_option_names_the_nearest(broken):
    refused(
        broken(line(number_case("a", 1, scorer={"name": "numeric", "reltol": 0.1}))),
        '*numbers.jsonl:1: case "a"*unknown key "reltol"*did you mean "rel_tol"*',
    )


def test_a_numeric_case_without_a_unit_is_refused(broken):
    refused(broken(line(number_case("a", 1, gold={"answer": 1}))), '*case "a"*gold.unit*')


def test_a_gold_that_is_no_number_is_refused(broken):
    gold = {"answer": "not known", "unit": "USD"}
    refused(broken(line(number_case("a", 1, gold=gold))), '*case "a"*gold.answer*')


def test_nan_is_refused_as_gold(broken):
    text = line(number_case("a", 1)).replace('"answer": 1', '"answer": NaN')
    refused(broken(text), "*numbers.jsonl:1:*")


def test_all_faults_of_a_file_are_shown_at_once(broken):
    cases = [number_case(f"c{i}", 1, category="wrong") for i in range(3)]
    done = broken(*map(line, cases))
    for i in range(3):
        assert f"numbers.jsonl:{i + 1}:" in done.stderr.str()


def test_a_model_without_settings_names_the_table_to_add(project):
    project.suite("numbers", many(1))
    project.settings()
    done = project.pytest("--fineval-model", "nwe")
    refused(done, '*model "nwe" is not configured*tool.fineval.models.nwe*did you mean "new"*')


def test_no_model_at_all_says_how_to_configure_one(project):
    project.suite("numbers", many(1))
    project.models = []
    project.settings()
    path = project.root / "pyproject.toml"
    path.write_text(path.read_text().replace('candidate = "new"', ""))
    refused(project.pytest(), "*no model is configured: add a*tool.fineval.models.NAME*")


def test_an_unknown_setting_names_the_nearest(project):
    project.suite("numbers", many(1))
    project.extra = "[tool.fineval.run]\nconcurency = 3"
    project.settings()
    refused(project.pytest(), '*unknown key "run.concurency"*did you mean "concurrency"*')


def test_an_unwritable_run_folder_is_refused_before_anything_is_asked(project):
    project.suite("numbers", many(1))
    project.answers("new", project.right())
    project.settings()
    blocked = project.root / "file"
    blocked.write_text("not a folder")
    done = project.pytest("--fineval-run", str(blocked / "run"), "--fineval-baseline", "none")
    refused(done, "*run folder cannot be written*--fineval-run DIR*")


def test_a_run_folder_is_never_written_twice(project):
    project.suite("numbers", many(1))
    project.answers("new", project.right())
    project.settings()
    assert project.pytest("--fineval-run", "here", "--fineval-baseline", "none").ret == 0
    before = (project.root / "here" / "records.jsonl").read_bytes()
    done = project.pytest("--fineval-run", "here", "--fineval-baseline", "none")
    refused(done, "*already holds a run's records*")
    assert (project.root / "here" / "records.jsonl").read_bytes() == before


def test_a_marked_test_without_the_fixture_is_refused(project):
    project.suite("numbers", many(1))
    module = project.root / "evals" / "test_numbers.py"
    module.write_text(
        'import pytest\n@pytest.mark.fineval("cases/numbers.jsonl")\ndef test_x():\n    pass\n'
    )
    project.settings()
    refused(project.pytest(), "*does not take the `fineval` fixture*")


def test_a_marker_without_a_file_is_refused(project):
    project.suite("numbers", many(1))
    module = project.root / "evals" / "test_numbers.py"
    module.write_text("import pytest\n@pytest.mark.fineval\ndef test_x(fineval):\n    pass\n")
    project.settings()
    refused(project.pytest(), "*marker takes the names of case files*")


def test_the_fixture_without_the_marker_fails_that_test_only(project):
    project.suite("numbers", many(1))
    (project.root / "evals" / "test_other.py").write_text("def test_x(fineval):\n    pass\n")
    project.answers("new", project.right())
    project.settings()
    done = project.pytest("--fineval-baseline", "none")
    assert done.ret == 1
    done.stdout.fnmatch_lines(["*`fineval` needs @pytest.mark.fineval*"])


def test_a_broken_recording_file_is_named_by_its_line(project):
    project.suite("numbers", many(2))
    project.answers("new", project.right())
    project.settings()
    path = project.root / "evals" / "recordings" / "new.jsonl"
    lines = path.read_text().splitlines()
    path.write_text("\n".join([lines[0][:-5], lines[1]]) + "\n")
    refused(project.pytest("--fineval-baseline", "none"), "*recordings/new.jsonl:1:*")


def test_under_xdist_the_same_faults_are_usage_errors_of_the_run(broken, project):
    path = project.root / "evals" / "cases" / "numbers.jsonl"
    path.write_text(line({**number_case("a", 1), "categry": "x"}) + "\n", encoding="utf-8")
    done = project.pytest("--fineval-baseline", "none", "-n", "2")
    refused(done, '*numbers.jsonl:1: unknown key "categry"*')


def test_records_so_far_stay_readable_after_a_usage_error(project):
    project.suite("numbers", many(2))
    project.answers("new", project.right())
    project.settings()
    assert project.pytest("--fineval-run", "first", "--fineval-baseline", "none").ret == 0
    (project.root / "evals" / "cases" / "numbers.jsonl").write_text("{}\n")
    assert project.pytest("--fineval-run", "second").ret == 4
    lines = (project.root / "first" / "records.jsonl").read_text().splitlines()
    assert [json.loads(text)["status"] for text in lines] == ["correct", "correct"]
