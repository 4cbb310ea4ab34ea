"""What every import has in common: manifest, splits, scorers, exclusions, licences, sources."""

import json

import pytest

from pytest_fineval.cases.files import read
from pytest_fineval.errors import InputError
from pytest_fineval.scoring.registry import SCORERS, prepare
from pytest_fineval.settings import CATEGORIES
from pytest_fineval.tracks import catalogue, hub
from pytest_fineval.tracks.base import Record
from pytest_fineval.tracks.faults import KNOWN, TAG
from pytest_fineval.tracks.importing import How, import_track, models
from pytest_fineval.tracks.manifest import MANIFEST, read_entry
from pytest_fineval.tracks.names import MODULES

MATH = {
    "question_id": "validation-1",
    "question": "What is the cost?",
    "tables": ["| a |\n|---|\n| 1 |"],
    "python_solution": "def solution():\n    return 0.54",
    "ground_truth": 0.54,
    "topic": "Portfolio",
}
CHAIN = {
    "seed": 3,
    "id": "c-1",
    "level": "basic",
    "domain": "Bonds",
    "topic": "Duration",
    "question": "Какова доходность?",
    "steps": [{"step": 1, "description": "шаг", "value": 7.44}],
    "final_answer": 7.44,
    "solution": "solution text",
    "details": "details text",
    "formula_latex": "x^2",
    "python_computation": "x = 7.44",
}
CHOICE = {
    "id": "f-1",
    "set": "cfa-1",
    "question": "Which one?",
    "options": ["first", "second", "third"],
    "answer": "B",
}
BENCH = {
    "financebench_id": "financebench_id_1",
    "company": "X",
    "doc_name": "X_2018_10K",
    "question_type": "metrics-generated",
    "question": "What is the capital expenditure (in USD millions)?",
    "answer": "$1577.00",
    "justification": "secret justification",
    "evidence": [
        {"evidence_text": "short", "doc_name": "X_2018_10K", "evidence_page_num": 5,
         "evidence_text_full_page": "The whole page with purchases (1,577)."},
    ],
}  # fmt: skip
TAT = {
    "table": {"uid": "t-1", "table": [["", "2019"], ["Sales", "5"]]},
    "paragraphs": [{"uid": "p", "order": 2, "text": "b"}, {"uid": "q", "order": 1, "text": "a"}],
    "questions": [
        {"uid": "c91ad938-6ad1-4481-8f6b-43ccd2f69926", "order": 1, "question": "difference?",
         "answer": 1.9, "answer_type": "arithmetic", "scale": "percent", "derivation": "17.1-15.2"},
        {"uid": "u-2", "order": 2, "question": "sales?", "answer": ["5"], "answer_type": "span",
         "scale": "", "derivation": ""},
    ],
}  # fmt: skip


def lines(path, *rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def cases_of(path):
    return [located.case for located in read(path, CATEGORIES)]


def entry_of(folder, name="c.jsonl"):
    return json.loads((folder / MANIFEST).read_text(encoding="utf-8"))[name]


@pytest.mark.parametrize("name", MODULES)
def test_every_track_declares_its_protocol(name):
    track = catalogue.find(name).track
    assert track.name == name
    assert track.revision
    assert track.licence.name
    assert track.licence.notice
    assert track.splits
    assert track.gold
    assert track.cluster
    assert track.role.evaluation_only
    assert not set(track.candidate) & set(track.gold)
    for scorer in (track.official, track.strict):
        assert scorer is None or scorer in SCORERS


def test_an_unknown_track_is_answered_with_the_nearest_one():
    with pytest.raises(InputError, match='did you mean "financemath"'):
        catalogue.find("financemaths")


def test_the_manifest_says_everything_that_a_figure_needs(tmp_path):
    source = lines(tmp_path / "validation.jsonl", MATH)
    import_track("financemath", source, tmp_path / "c.jsonl")
    entry = entry_of(tmp_path)
    assert entry["split"] == "validation"
    assert entry["evidence"] == "supplied"
    assert entry["tools"] == []
    assert entry["scorer"] == "financemath/strict"
    assert entry["scorers"] == {"official": "financemath/official", "strict": "financemath/strict"}
    assert entry["licence"]["available_for"] == "any use"
    assert entry["role"] == {
        "visibility": "public", "contamination": "possible", "evaluation_only": True,
    }  # fmt: skip
    assert entry["counts"] == {"records": 1, "cases": 1}
    assert read_entry(tmp_path / "c.jsonl") == entry


def test_a_case_file_changed_after_its_import_is_found_out(tmp_path):
    source = lines(tmp_path / "validation.jsonl", MATH)
    import_track("financemath", source, tmp_path / "c.jsonl")
    text = (tmp_path / "c.jsonl").read_text(encoding="utf-8")
    (tmp_path / "c.jsonl").write_text(text.replace("0.54", "0.55"), encoding="utf-8")
    with pytest.raises(InputError, match="was changed after its import"):
        read_entry(tmp_path / "c.jsonl")
    assert read_entry(tmp_path / "own.jsonl") is None


@pytest.mark.parametrize(
    ("file", "asked", "split"),
    [
        ("dev_sample.jsonl", None, "dev"),
        ("tatqa_dataset_train.jsonl", None, "train"),
        ("x.jsonl", None, "unknown"),
        ("x.jsonl", "test_gold", "test_gold"),
    ],
)
def test_the_split_is_the_one_named_or_the_one_in_the_files_name(tmp_path, file, asked, split):
    source = lines(tmp_path / file, TAT)
    import_track("tatqa", source, tmp_path / "c.jsonl", How(split=asked))
    assert entry_of(tmp_path)["split"] == split


def test_a_split_without_a_public_gold_is_refused(tmp_path):
    source = lines(tmp_path / "x.jsonl", TAT)
    with pytest.raises(InputError, match='no split "test" with a public gold'):
        import_track("tatqa", source, tmp_path / "c.jsonl", How(split="test"))


def test_the_other_scorer_can_be_asked_for_where_there_is_one(tmp_path):
    source = lines(tmp_path / "x.jsonl", MATH)
    import_track("financemath", source, tmp_path / "c.jsonl", How(scorer="official"))
    [case] = cases_of(tmp_path / "c.jsonl")
    assert prepare(case.scorer, case.gold).identity == "financemath/official@bdddc586"
    assert entry_of(tmp_path)["scorer"] == "financemath/official"
    with pytest.raises(InputError, match='track "finqa" has no official scorer'):
        import_track("finqa", source, tmp_path / "d.jsonl", How(scorer="official"))


def test_the_options_of_the_scorer_stay_when_it_is_changed(tmp_path):
    source = lines(tmp_path / "x.jsonl", TAT)
    import_track("tatqa", source, tmp_path / "c.jsonl", How(scorer="strict"))
    first, second = cases_of(tmp_path / "c.jsonl")
    assert first.scorer.options == {"answer_type": "arithmetic", "scale": "percent"}
    assert prepare(second.scorer, second.gold).identity == "tatqa/strict@1"


def test_tatqa_paragraphs_stand_in_their_order(tmp_path):
    import_track("tatqa", lines(tmp_path / "x.jsonl", TAT), tmp_path / "c.jsonl")
    assert cases_of(tmp_path / "c.jsonl")[0].candidate.text == "a\nb"


# -- faulty golds


def test_a_known_gold_fault_is_flagged_on_the_case_and_in_the_manifest(tmp_path):
    done = import_track("tatqa", lines(tmp_path / "x.jsonl", TAT), tmp_path / "c.jsonl")
    flagged, other = cases_of(tmp_path / "c.jsonl")
    assert "sign is wrong" in flagged.tags[TAG]
    assert TAG not in other.tags
    entry = entry_of(tmp_path)
    assert entry["gold_faults"]["list"] == "tatqa-faults@1"
    assert list(entry["gold_faults"]["cases"]) == [flagged.id]
    assert entry["excluded"] == {}
    assert "--exclude tatqa-faults@1" in done.notes[0]


def test_an_exclusion_list_leaves_its_cases_out_and_shows_in_the_manifest(tmp_path):
    source = lines(tmp_path / "x.jsonl", TAT)
    import_track("tatqa", source, tmp_path / "c.jsonl", How(exclude="tatqa-faults@1"))
    assert [case.id for case in cases_of(tmp_path / "c.jsonl")] == ["u-2"]
    excluded = entry_of(tmp_path)["excluded"]
    assert excluded["list"] == "tatqa-faults@1"
    assert list(excluded["cases"]) == ["c91ad938-6ad1-4481-8f6b-43ccd2f69926"]


def test_a_list_of_ones_own_can_be_applied(tmp_path):
    source = lines(tmp_path / "x.jsonl", TAT)
    own = tmp_path / "own.json"
    own.write_text(json.dumps({"name": "ours", "version": 2, "cases": {"u-2": "unclear"}}))
    import_track("tatqa", source, tmp_path / "c.jsonl", How(exclude=str(own)))
    assert entry_of(tmp_path)["excluded"] == {"list": "ours@2", "cases": {"u-2": "unclear"}}


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("tatqa-faults@9", 'here it is "tatqa-faults@1"'),
        ({"name": "o", "version": 1, "cases": {"u-9": "x"}}, 'names "u-9"'),
        ({"name": "o", "cases": {}}, 'missing key "version"'),
        (
            {
                "name": "o",
                "version": 1,
                "cases": {q["uid"]: "x" for q in TAT["questions"]},
            },
            "leaves no case",
        ),
    ],
)
def test_an_exclusion_list_that_fits_nothing_is_refused(tmp_path, given, message):
    if isinstance(given, dict):
        (tmp_path / "own.json").write_text(json.dumps(given))
        given = str(tmp_path / "own.json")
    source = lines(tmp_path / "x.jsonl", TAT)
    with pytest.raises(InputError, match=message):
        import_track("tatqa", source, tmp_path / "c.jsonl", How(exclude=given))
    assert not (tmp_path / "c.jsonl").exists()


def test_answers_of_excluded_cases_are_left_out_with_them(tmp_path):
    source = lines(tmp_path / "x.jsonl", TAT)
    answers = {question["uid"]: ["5", ""] for question in TAT["questions"]}
    (tmp_path / "model.json").write_text(json.dumps(answers, indent=2))
    how = How(exclude="tatqa-faults@1", predictions=tmp_path / "model.json")
    assert import_track("tatqa", source, tmp_path / "c.jsonl", how).runs == {"model": 1}


def test_every_known_list_has_a_name_of_its_own_and_says_why():
    names = [known.name for known in KNOWN.values()]
    assert len(set(names)) == len(names)
    for known in KNOWN.values():
        assert known.rules or known.cases
        assert all(reason.strip() for reason in known.cases.values())


# -- restricted benchmarks


def acknowledge(folder, benchmark, licence):
    (folder / "pyproject.toml").write_text(
        f'[tool.fineval.licences]\n{benchmark} = "{licence}"\n', encoding="utf-8"
    )


@pytest.mark.parametrize("name", ["financebench", "financebench-oracle"])
def test_financebench_is_refused_until_its_licence_is_acknowledged(tmp_path, name):
    source = lines(tmp_path / "b.jsonl", BENCH)
    out = tmp_path / ".fineval" / "restricted" / "b" / "cases.jsonl"
    with pytest.raises(InputError, match=r"non-commercial use only \(CC-BY-NC-4\.0"):
        import_track(name, source, out, root=tmp_path)
    acknowledge(tmp_path, "financebench", "MIT")
    with pytest.raises(InputError, match="non-commercial use only"):
        import_track(name, source, out, root=tmp_path)
    assert not out.exists()
    acknowledge(tmp_path, "financebench", "CC-BY-NC-4.0")
    assert import_track(name, source, out, root=tmp_path).cases == 1


def test_a_restricted_benchmark_is_written_only_where_git_and_ci_do_not_look(tmp_path):
    acknowledge(tmp_path, "financebench", "CC-BY-NC-4.0")
    source = lines(tmp_path / "b.jsonl", BENCH)
    answers = lines(tmp_path / "p.jsonl", {"run": "m", "id": "financebench_id_1", "predicted": "1"})
    inside = tmp_path / ".fineval" / "restricted" / "cases.jsonl"
    for out, how in (
        (tmp_path / "evals" / "cases.jsonl", How()),
        (tmp_path / ".fineval" / "restricted" / ".." / "runs" / "cases.jsonl", How()),
        (inside, How(predictions=answers, recordings=tmp_path / "evals" / "recordings")),
    ):
        with pytest.raises(InputError, match=r"write below \.fineval"):
            import_track("financebench", source, out, how, root=tmp_path)
    done = import_track("financebench", source, inside, How(predictions=answers), root=tmp_path)
    assert (inside.parent / ".gitignore").read_text() == "*\n"
    for path in done.written:
        assert path.is_relative_to(inside.parent)


def test_financebench_figures_are_cases_and_free_text_is_counted_as_left_out(tmp_path):
    acknowledge(tmp_path, "financebench", "CC-BY-NC-4.0")
    text = BENCH | {"financebench_id": "financebench_id_2", "answer": "Yes, because it grew."}
    source = lines(tmp_path / "b.jsonl", BENCH, text)
    out = tmp_path / ".fineval" / "restricted" / "c.jsonl"
    import_track("financebench", source, out, root=tmp_path)
    [case] = cases_of(out)
    scorer = prepare(case.scorer, case.gold)
    assert scorer.score("Answer: $1,577 million").value == 1
    assert scorer.score("Answer: $1.577 billion").value == 1
    assert scorer.score("Answer: $1,677 million").value == 0
    assert case.tags["restricted"] == "CC-BY-NC-4.0"
    [(reason, count)] = entry_of(out.parent)["counts"]["left_out"].items()
    assert "reviewed judge" in reason
    assert count == 1


def test_only_the_oracle_condition_shows_the_evidence(tmp_path):
    record = Record(tmp_path, 1, BENCH)
    [closed] = catalogue.find("financebench").track.build([record])
    [oracle] = catalogue.find("financebench-oracle").track.build([record])
    assert (closed.evidence, oracle.evidence) == ("closed-book", "gold-evidence")
    assert closed.candidate.text is None
    assert "The whole page" in oracle.candidate.text
    assert "justification" not in oracle.candidate.model_dump_json()


def test_finesse_takes_one_letter_and_refuses_a_gold_that_is_no_option(tmp_path):
    acknowledge(tmp_path, "finesse", "non-commercial-research")
    out = tmp_path / ".fineval" / "restricted" / "c.jsonl"
    import_track("finesse", lines(tmp_path / "f.jsonl", CHOICE), out, root=tmp_path)
    [case] = cases_of(out)
    scorer = prepare(case.scorer, case.gold)
    assert scorer.score("B").value == 1
    assert scorer.score("The answer is B.").value == 1
    assert scorer.score("A").value == 0
    assert "B. second" in case.candidate.question
    for change in ({"answer": "D"}, {"options": ["one"]}):
        source = lines(tmp_path / "f.jsonl", CHOICE | change)
        with pytest.raises(InputError, match=r"f\.jsonl:1"):
            import_track("finesse", source, out, root=tmp_path)


# -- chains


@pytest.mark.parametrize(("name", "word"), [("finchain", "Step"), ("rusfinchain", "Шаг")])
def test_chains_keep_their_steps_as_gold_and_prescribe_the_run_settings(tmp_path, name, word):
    done = import_track(name, lines(tmp_path / "x.jsonl", CHAIN), tmp_path / "c.jsonl")
    [case] = cases_of(tmp_path / "c.jsonl")
    assert case.gold.steps == ({"description": "шаг", "value": 7.44},)
    settings = "\n".join(models(done))
    for line in ("temperature = 0.1", "top_p = 0.9", "max_tokens = 1024", word):
        assert line in settings
    shown = case.candidate.model_dump_json()
    for secret in ("7.44", "solution text", "details text", "x^2", "c-1"):
        assert secret not in shown


def test_a_chain_without_a_final_answer_is_flagged_and_counts_against_every_number(tmp_path):
    null = CHAIN | {"id": "c-2", "final_answer": None}
    source = lines(tmp_path / "x.jsonl", CHAIN, null)
    import_track("rusfinchain", source, tmp_path / "c.jsonl")
    case = cases_of(tmp_path / "c.jsonl")[1]
    assert case.tags[TAG] == "the final answer is null"
    assert case.gold.steps
    assert prepare(case.scorer, case.gold).score("Ответ: 7,44").value == 0
    import_track("rusfinchain", source, tmp_path / "c.jsonl", How(exclude="finchain-faults@1"))
    assert [case.id for case in cases_of(tmp_path / "c.jsonl")] == ["c-1"]


def test_a_russian_final_answer_is_read_with_its_comma(tmp_path):
    import_track("rusfinchain", lines(tmp_path / "x.jsonl", CHAIN), tmp_path / "c.jsonl")
    [case] = cases_of(tmp_path / "c.jsonl")
    scorer = prepare(case.scorer, case.gold)
    assert scorer.score("Шаг 1: доходность = 7,44\nОтвет: 7,44").value == 1
    assert scorer.score("Ответ: 9,44").value == 0


# -- sources


@pytest.mark.parametrize(
    "source",
    [
        "hub:Owner/Name",
        "hub:Owner/Name@main",
        "hub:Owner/Name@716228c",
        "hub:Owner/Name@" + "G" * 40,
        "hub:Name@" + "a" * 40,
        "hub:Owner/../Name@" + "a" * 40,
    ],
)
def test_a_hub_source_without_its_full_revision_hash_is_refused(source):
    with pytest.raises(InputError, match=r"full hash|write hub:"):
        hub.parse(source)


def test_a_source_with_another_digest_than_asked_for_is_refused(tmp_path):
    source = lines(tmp_path / "x.jsonl", MATH)
    with pytest.raises(InputError, match="not the 00ff that was asked for"):
        import_track("financemath", source, tmp_path / "c.jsonl", How(sha256="00ff"))
    import_track("financemath", source, tmp_path / "c.jsonl")
    again = How(sha256=entry_of(tmp_path)["sha256"])
    import_track("financemath", source, tmp_path / "c.jsonl", again)


def test_recordings_without_predictions_are_refused(tmp_path):
    source = lines(tmp_path / "x.jsonl", MATH)
    with pytest.raises(InputError, match="it needs --predictions"):
        import_track("financemath", source, tmp_path / "c.jsonl", How(recordings=tmp_path))


# -- hostile records

VALID = {
    "financemath": MATH,
    "rusfinchain": CHAIN,
    "finesse": CHOICE,
    "financebench": BENCH,
    "financebench-oracle": BENCH,
    "tatqa": TAT,
    "finqa-programs": {
        "id": "AB/2001/page_1.pdf-1", "filename": "AB/2001/page_1.pdf", "pre_text": ["a"],
        "post_text": [], "table": [["", "2001"], ["revenue", "1"]],
        "qa": {"question": "q?", "answer": "1", "exe_ans": 1.0, "program": "add(1, 0)"},
    },
    "convfinqa": {
        "id": "Single_AB/2001/page_1.pdf-1", "filename": "AB/2001/page_1.pdf", "pre_text": ["a"],
        "post_text": [], "table": [["", "2001"], ["revenue", "1"]],
        "annotation": {"dialogue_break": ["q?"], "turn_program": ["1"], "exe_ans_list": [1.0]},
    },
    "jfinqa": {
        "id": "nr_1", "subtask": "s", "source_doc_id": "S1", "scale": "x", "pre_text": ["a"],
        "post_text": [], "table": {"headers": ["a"], "rows": [["b"]]},
        "qa": {"question": "q?", "answer": "1", "program": ["add(1, 0)"]},
    },
    "indiafinbench": {
        "id": "CON_1", "task_type": "contradiction_detection", "difficulty": "easy",
        "context_a": "a", "context_b": "b", "document_a": "d", "question": "q?", "answer": "No",
    },
    "indiafinbench-flags": {
        "id": "REG_1", "task_type": "numerical_reasoning", "difficulty": "easy",
        "correct": {"m": 1},
    },
    "financereasoning": {"question_id": "t-1", "question": "q?", "context": "c", "ground_truth": 1},
    "wealthops": {
        "id": "w", "household": "h", "task": "numerical", "question": "q?", "documents": ["d"],
        "table": [["a"]], "instructions": "i", "answer": "1", "unit": "EUR",
    },
}  # fmt: skip


def places(value, path=()):
    """Every place in a record."""
    items = value.items() if isinstance(value, dict) else enumerate(value)
    for key, item in items:
        yield (*path, key)
        if isinstance(item, dict | list):
            yield from places(item, (*path, key))


def spoiled(record, place, with_what):
    """The record with another value at one place; `...` takes the place out."""
    copy = json.loads(json.dumps(record))
    here = copy
    for part in place[:-1]:
        here = here[part]
    if with_what is ...:
        del here[place[-1]]
    else:
        here[place[-1]] = with_what
    return copy


def built_or_refused(track, record):
    """The line that an error names, and the cases if there was none."""
    try:
        return None, track.build([record])
    except InputError as error:
        return error.line, None


@pytest.mark.parametrize("name", VALID)
def test_a_record_spoiled_anywhere_gives_cases_or_an_error_that_names_it(tmp_path, name):
    track = catalogue.find(name).track
    assert track.build([Record(tmp_path, 1, VALID[name])])
    for place in places(VALID[name]):
        for value in (..., None, True, -1, 1e400, "", "x" * 50, [], {}, [[]], [None], {"a": 1}):
            record = spoiled(VALID[name], place, value)
            line, cases = built_or_refused(track, Record(tmp_path, 7, record))
            assert line == 7 or cases is not None, (place, value)


def test_a_gold_that_its_scorer_cannot_use_is_refused_at_the_import(tmp_path):
    question = TAT["questions"][0] | {"answer_type": "essay"}
    source = lines(tmp_path / "x.jsonl", TAT | {"questions": [question]})
    with pytest.raises(InputError, match=r"x\.jsonl:1: .*cannot be scored: .*answer_type"):
        import_track("tatqa", source, tmp_path / "c.jsonl")


def test_a_file_of_convfinqa_turns_is_told_from_one_of_conversations(tmp_path):
    turn = VALID["convfinqa"] | {"turn_ind": 0}
    with pytest.raises(InputError, match=r"x\.jsonl:1: holds a turn"):
        import_track("convfinqa", lines(tmp_path / "x.jsonl", turn), tmp_path / "c.jsonl")
