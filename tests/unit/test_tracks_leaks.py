"""The gold boundary: nothing but the allow-list gets into a candidate or over the wire."""

import asyncio
import json
import random

import pytest

from pytest_fineval.clients.base import build_request
from pytest_fineval.clients.providers import OpenAICompatibleClient
from pytest_fineval.settings import ModelSettings
from pytest_fineval.tracks import catalogue
from pytest_fineval.tracks.base import Record, read_records
from pytest_fineval.tracks.own_history import OwnHistory
from tests.http_server import ScriptedServer, ok
from tests.shared import shared

SAMPLES = {
    "finqa": "finqa/dev_sample.jsonl",
    "finqa-programs": "finqa/train_sample.jsonl",
    "convfinqa": "convfinqa/dev_conversations.jsonl",
    "convfinqa-programs": "convfinqa/dev_conversations.jsonl",
    "convfinqa-own-history": "convfinqa/dev_conversations.jsonl",
    "convfinqa-own-history-programs": "convfinqa/dev_conversations.jsonl",
    "tatqa": "tatqa/dev_sample.jsonl",
    "jfinqa": "jfinqa/questions_sample.jsonl",
    "indiafinbench": "indiafinbench/raw_sample.jsonl",
    "financereasoning": "financereasoning/sample.jsonl",
    "financemath": "financemath/validation_sample.jsonl",
}
SHOWN = {
    "finqa": ("qa.question", "table", "pre_text", "post_text"),
    "convfinqa": ("annotation.dialogue_break", "table", "pre_text", "post_text"),
    "tatqa": ("table.table", "paragraphs[].text", "paragraphs[].order", "questions[].question"),
    "jfinqa": ("pre_text", "post_text", "scale", "table.headers", "table.rows", "qa.question"),
    "indiafinbench": ("question", "context", "context_a", "context_b"),
    "financereasoning": ("question", "context"),
    "financemath": ("question", "tables"),
}
"""What the protocols allow, written down a second time: in the layout of the files."""

GOLD = {
    "finqa": ("qa.program_re", "qa.explanation", "qa.program"),
    "convfinqa": ("annotation.turn_program",),
    "tatqa": ("questions[].derivation", "questions[].answer"),
    "jfinqa": ("qa.program",),
    "indiafinbench": ("explanation", "task_type", "answer"),
    "financereasoning": ("python_solution", "function"),
    "financemath": ("python_solution", "topic"),
}
"""Gold fields whose text is searched for in every candidate."""


def shown_by(name):
    """Fields of the file that a protocol shows; gold history shows answers, which end before the
    turn that is asked (another test)."""
    history = name in {"convfinqa", "convfinqa-programs"}
    return SHOWN[benchmark(name)] + (("annotation.exe_ans_list",) if history else ())


def records_of(name):
    return read_records(shared(f"data/{SAMPLES[name]}"))


def benchmark(name):
    return name.split("-")[0]


def leaves(value, path=""):
    """Every leaf of a record with its path, without places in lists."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield from leaves(item, f"{path}.{key}" if path else key)
    elif isinstance(value, list) and value and not isinstance(value[0], str | int | float):
        for item in value:
            yield from leaves(item, path + "[]")
    else:
        yield path, value


def texts(value):
    if isinstance(value, str):
        return [value]
    return [text for item in value for text in texts(item)] if isinstance(value, list) else []


def marked(value, allowed, mark, path=""):
    """The record with a mark in every text that the protocol does not show."""
    if any(path == name or path.startswith(name + ("." if name else "")) for name in allowed):
        return value
    if isinstance(value, dict):
        return {
            key: marked(item, allowed, mark, f"{path}.{key}" if path else key)
            for key, item in value.items()
        }
    if isinstance(value, list):
        objects = bool(value) and isinstance(value[0], dict)
        return [marked(item, allowed, mark, path + ("[]" if objects else "")) for item in value]
    if path in KEPT or value is None or isinstance(value, bool):
        return value
    if value in ("yes", "no"):
        return "no" if value == "yes" else "yes"
    return f"{value} {mark}" if isinstance(value, str) else value + 7_777_777


KEPT = {
    # Words that the builders read and check; changed, they would be refused.
    "id", "filename", "question_id", "uid", "questions[].uid", "table.uid", "level", "task_type",
    "questions[].answer_type", "questions[].scale",
}  # fmt: skip


@pytest.mark.parametrize("name", SAMPLES)
def test_another_text_or_number_in_any_field_that_is_not_shown_changes_no_candidate(name):
    track = catalogue.find(name).track
    records = records_of(name)
    mark = "hidden-mark"
    changed = [
        Record(r.path, r.number, marked(dict(r.fields), shown_by(name), mark)) for r in records
    ]
    assert any(mark in json.dumps(record.fields) for record in changed)
    before, after = track.build(records), track.build(changed)
    assert [case.candidate for case in before] == [case.candidate for case in after]
    for case in after:
        seen = case.candidate.model_dump_json()
        assert mark not in seen
        assert "7777777" not in seen


@pytest.mark.parametrize("name", SAMPLES)
def test_no_gold_only_text_of_a_record_stands_in_its_candidates(name):
    track = catalogue.find(name).track
    searched = 0
    for record in records_of(name):
        shown, hidden = [], []
        for path, value in leaves(record.fields):
            if path in SHOWN[benchmark(name)] or any(
                path.startswith(allowed + "[]") for allowed in SHOWN[benchmark(name)]
            ):
                shown += texts(value)
            elif path in GOLD[benchmark(name)]:
                hidden += texts(value)
        page = "\n".join(shown).lower()
        # Gold that quotes its page (an extracted span, a bare figure) is no secret.
        secrets = {text for text in hidden if len(text) > 3 and text.lower() not in page}
        cases = track.build([record])
        for case in cases:
            seen = json.dumps(case.candidate.model_dump(), ensure_ascii=False)
            for secret in secrets:
                if secret in {"Yes", "No"} or _is_instruction(secret, case):
                    continue
                searched += 1
                assert secret not in seen, (case.id, secret)
            # An id that names the report or the answer key is no part of the question.
            assert case.id not in seen
    assert searched > 50


def _is_instruction(secret, case):
    """Words of our own instructions, such as True and False."""
    return secret in (case.candidate.instructions or "")


@pytest.mark.parametrize("name", ["convfinqa", "convfinqa-programs"])
def test_gold_history_ends_before_the_turn_that_is_asked(name):
    track = catalogue.find(name).track
    for record in records_of(name):
        for turn, case in enumerate(track.build([record])):
            dialogue = case.candidate.question.splitlines()
            assert len(dialogue) == 2 * turn + 1
            assert dialogue[-1].startswith(f"Question {turn + 1}: ")
            assert [line for line in dialogue if line.startswith("Answer ")] == [
                f"Answer {n}: {answer}"
                for n, answer in enumerate(record.fields["annotation"]["exe_ans_list"][:turn], 1)
            ]


@pytest.mark.parametrize("name", ["convfinqa-own-history", "convfinqa-own-history-programs"])
def test_own_history_shows_no_answer_at_all(name):
    track = catalogue.find(name).track
    for case in track.build(records_of(name)):
        assert "\nAnswer " not in case.candidate.question


async def ask(client, cases, model):
    await asyncio.gather(
        *(client.answer(build_request(case.candidate, model), 0) for case in cases)
    )
    await client.close()


@pytest.mark.parametrize("name", SAMPLES)
def test_what_goes_over_the_wire_holds_no_gold_and_no_case_id(name):
    track = catalogue.find(name).track
    records = random.Random(7).sample(records_of(name), 12)
    cases = track.build(records)[:60]
    with ScriptedServer([ok("Answer: 123456789")]) as server:
        model = ModelSettings(client="openai-compatible", base_url=server.url, model="m")
        client = OpenAICompatibleClient(model)
        asyncio.run(ask(OwnHistory(client) if "own" in name else client, cases, model))
    assert len(server.seen) >= len({case.candidate for case in cases})
    for seen in server.seen:
        wire = json.dumps([seen.body, seen.headers, seen.path], ensure_ascii=False)
        assert not any(case.id in wire for case in cases)
        assert not any(case.cluster and case.cluster in wire for case in cases)
        for word in (
            "gold",
            "exe_ans",
            "ground_truth",
            "reference_answer",
            "task_type",
            "program_re",
        ):
            assert f'"{word}"' not in wire
    prompts = {seen.body["messages"][-1]["content"] for seen in server.seen}
    for case in cases:
        program = case.gold.program
        for step in [program] if isinstance(program, str) else program or ():
            if "(" in step:
                assert not any(step in prompt for prompt in prompts), case.id
