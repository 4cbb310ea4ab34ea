"""Own history: a model answers a turn after its own answers to the turns before."""

import asyncio
import json

import pytest

from pytest_fineval.clients.base import Answer, build_request, failed
from pytest_fineval.settings import ModelSettings
from pytest_fineval.tracks import catalogue, convfinqa
from pytest_fineval.tracks.base import Record
from pytest_fineval.tracks.own_history import OwnHistory, client
from tests.http_server import ScriptedServer, ok

CONVERSATION = {
    "id": "Single_AB/2001/page_1.pdf-1",
    "filename": "AB/2001/page_1.pdf",
    # A report may hold the very line that starts a turn.
    "pre_text": ["Question 1: what did the auditor ask?"],
    "post_text": ["after ."],
    "table": [["", "2001"], ["revenue", "$ 120"]],
    "annotation": {
        "dialogue_break": ["revenue in\n2001?", "and before?", "the change?"],
        "turn_program": ["120", "100", "subtract(120, 100)"],
        "exe_ans_list": [120.0, 100.0, 20.0],
    },
}
MODEL = ModelSettings(client="x", model="m")


def cases(name="convfinqa-own-history"):
    return catalogue.find(name).track.build([Record(__file__, 1, CONVERSATION)])


def requests():
    return [build_request(case.candidate, MODEL) for case in cases()]


class Scripted:
    """Answers by the number of the question that is asked, and keeps the prompts."""

    def __init__(self, answers):
        self.answers = answers
        self.prompts = []
        self.samples = []

    async def answer(self, request, sample):
        await asyncio.sleep(0)
        prompt = request.messages[-1].content
        self.prompts.append(prompt)
        self.samples.append(sample)
        number = int(prompt.split("Answer question ")[1].split(".")[0])
        said = self.answers[number - 1]
        return said if isinstance(said, Answer) else Answer(text=said)

    async def close(self):
        """Nothing to close."""


def answered(inner, asked, samples=(0,)):
    async def run():
        own = OwnHistory(inner)
        return await asyncio.gather(
            *(own.answer(request, sample) for sample in samples for request in asked)
        )

    return asyncio.run(run())


def test_a_later_turn_sees_the_models_own_final_answers_and_no_gold():
    inner = Scripted(["Some steps.\nAnswer: 999", "Answer: 888", "Answer: 111"])
    found = answered(inner, requests()[2:])
    assert found[0].text == "Answer: 111"
    last = inner.prompts[-1]
    assert (
        "Question 1: revenue in 2001?\nAnswer 1: 999\nQuestion 2: and before?\nAnswer 2: 888\n"
        in last
    )
    assert "Some steps" not in last
    assert "100.0" not in last


def test_each_turn_is_asked_once_a_sample_whatever_the_order():
    inner = Scripted(["Answer: 1", "Answer: 2", "Answer: 3"])
    answered(inner, list(reversed(requests())))
    assert len(inner.prompts) == 3
    inner = Scripted(["Answer: 1", "Answer: 2", "Answer: 3"])
    answered(inner, requests(), samples=(0, 1))
    assert sorted(inner.samples) == [0, 0, 0, 1, 1, 1]


def test_the_first_turn_and_other_requests_pass_through_unchanged():
    inner = Scripted(["Answer: 1"])
    first = requests()[0]
    answered(inner, [first])
    assert inner.prompts == [first.messages[-1].content]


def test_without_its_history_a_turn_is_not_asked():
    broken = failed("server", "it broke")
    inner = Scripted(["Answer: 1", broken, "Answer: 3"])
    found = answered(inner, requests())
    assert [answer.status for answer in found] == ["ok", "error", "error"]
    assert len(inner.prompts) == 2


def test_an_empty_earlier_answer_is_shown_as_none():
    inner = Scripted(["", "Answer: 2", "Answer: 3"])
    answered(inner, requests()[1:2])
    assert "Answer 1: (none)\n" in inner.prompts[-1]


def test_the_factory_of_the_settings_asks_a_real_endpoint_turn_by_turn():
    with ScriptedServer([ok("Answer: 42")]) as server:
        model = ModelSettings(client="x:y", base_url=server.url, model="m")

        async def run():
            own = client(model)
            answer = await own.answer(build_request(cases()[2].candidate, model), 0)
            await own.close()
            return answer

        assert asyncio.run(run()).text == "Answer: 42"
    prompts = [seen.body["messages"][-1]["content"] for seen in server.seen]
    assert [prompt.count("Answer 1: 42") for prompt in prompts] == [0, 1, 1]
    assert [prompt.count("Answer 2: 42") for prompt in prompts] == [0, 0, 1]


def test_turn_and_conversation_accuracy_count_missing_turns_as_wrong():
    turns = cases()
    found = convfinqa.accuracy(turns, {turns[0].id: 1.0, turns[2].id: 1.0})
    assert found.turns == (2, 3)
    assert found.conversations == (0, 1)
    assert found.by_turn == {1: (1, 1), 2: (0, 1), 3: (1, 1)}
    whole = convfinqa.accuracy(turns, {case.id: 1.0 for case in turns})
    assert whole.conversations == (1, 1)


def test_turns_of_one_report_share_a_cluster_and_name_their_conversation():
    for number, case in enumerate(cases("convfinqa"), 1):
        assert case.cluster == CONVERSATION["filename"]
        assert case.tags["conversation"] == CONVERSATION["id"]
        assert case.tags["turn"] == str(number)


@pytest.mark.parametrize("part", ["dialogue_break", "turn_program", "exe_ans_list"])
def test_a_conversation_with_a_missing_turn_is_refused(part):
    annotation = {**CONVERSATION["annotation"], part: CONVERSATION["annotation"][part][:2]}
    record = Record("c.jsonl", 4, json.loads(json.dumps(CONVERSATION | {"annotation": annotation})))
    with pytest.raises(ValueError, match=r"c\.jsonl:4: .*one length"):
        catalogue.find("convfinqa").track.build([record])
