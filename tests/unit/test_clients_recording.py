"""Recordings: what is kept, how it is found again, and what a crash leaves."""

from __future__ import annotations

import asyncio
import json
import multiprocessing
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_fineval.clients.base import Answer, Message, Request, Usage, failed
from pytest_fineval.clients.recording import Recorder, RecordingClient, Recordings
from pytest_fineval.errors import InputError


def request(prompt: str = "How much?", absent: str | None = None) -> Request:
    messages = () if absent else (Message(role="user", content=prompt),)
    return Request(model="m", messages=messages, decoding={"max_tokens": 8}, absent=absent)


class Echo:
    """A live client that says the prompt, how often it was asked before, and the sample."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, int]] = []

    async def answer(self, request: Request, sample: int) -> Answer:
        await asyncio.sleep(0)
        prompt = request.messages[0].content
        self.asked.append((prompt, sample))
        if prompt == "fail":
            return failed("server", "HTTP 500")
        return Answer(
            text=f"{prompt} #{len(self.asked)} s{sample}",
            usage=Usage(input_tokens=3, output_tokens=2),
            cost_usd=0.5,
            latency_s=1.5,
            attempts=3,
            model_returned="m-1",
        )

    async def close(self) -> None:
        self.asked.append(("closed", 0))


def ask(client: object, *requests: Request, sample: int = 0) -> list[Answer]:
    async def run() -> list[Answer]:
        try:
            return await asyncio.gather(*(client.answer(r, sample) for r in requests))
        finally:
            await client.close()

    return asyncio.run(run())


def record(path: Path, mode: str, *requests: Request, sample: int = 0, **more: object) -> list:
    return ask(Recorder(Echo(), Recordings.load(path), mode, **more), *requests, sample=sample)


def test_a_recorded_answer_is_replayed_without_cost_and_with_its_usage(tmp_path: Path) -> None:
    path = tmp_path / "m.jsonl"
    record(path, "new", request())
    [answer] = ask(RecordingClient(Recordings.load(path)), request())
    assert answer == Answer(
        text="How much? #1 s0",
        usage=Usage(input_tokens=3, output_tokens=2),
        cost_usd=0.0,
        model_returned="m-1",
        source="recording",
    )


def test_a_line_holds_only_what_matters(tmp_path: Path) -> None:
    path = tmp_path / "m.jsonl"
    record(path, "new", request(), cases={request().digest: "fq-1"})
    assert json.loads(path.read_text()) == {
        "request": request().digest,
        "sample": 0,
        "case": "fq-1",
        "answer": {
            "text": "How much? #1 s0",
            "usage": {"input_tokens": 3, "output_tokens": 2},
            "model_returned": "m-1",
        },
    }


def test_a_missing_recording_says_what_to_do(tmp_path: Path) -> None:
    [answer] = ask(RecordingClient(Recordings.load(tmp_path / "m.jsonl")), request())
    assert answer.error is not None
    assert answer.error.kind == "recording_missing"
    assert "m.jsonl" in answer.error.message
    assert "--fineval-live --fineval-record new" in answer.error.message


def test_samples_are_recorded_apart(tmp_path: Path) -> None:
    path = tmp_path / "m.jsonl"
    record(path, "new", request(), sample=0)
    record(path, "new", request(), sample=1)
    recordings = Recordings.load(path)
    texts = [recordings.get(request().digest, sample) for sample in (0, 1, 2)]
    assert [text and text.text for text in texts] == ["How much? #1 s0", "How much? #1 s1", None]


def test_lines_are_sorted_by_case_then_sample_then_digest(tmp_path: Path) -> None:
    path = tmp_path / "m.jsonl"
    requests = [request(name) for name in ("z", "a", "k")]
    cases = {r.digest: f"case-{r.messages[0].content}" for r in requests}
    for sample in (1, 0):
        record(path, "new", *requests, sample=sample, cases=cases)
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert [(line["case"], line["sample"]) for line in lines] == [
        (f"case-{name}", sample) for name in "akz" for sample in (0, 1)
    ]


def test_mode_new_asks_only_what_is_missing(tmp_path: Path) -> None:
    path = tmp_path / "m.jsonl"
    record(path, "new", request("a"))
    echo = Echo()
    answers = ask(Recorder(echo, Recordings.load(path), "new"), request("a"), request("b"))
    assert [answer.source for answer in answers] == ["recording", "live"]
    assert echo.asked == [("b", 0), ("closed", 0)]
    assert len(path.read_text().splitlines()) == 2


def test_mode_once_asks_nothing_where_a_file_exists(tmp_path: Path) -> None:
    path = tmp_path / "m.jsonl"
    assert record(path, "once", request("a"))[0].status == "ok"
    a, b = record(path, "once", request("a"), request("b"))
    assert (a.source, b.error.kind) == ("recording", "recording_missing")


def test_mode_all_replaces_what_was_there(tmp_path: Path) -> None:
    path = tmp_path / "m.jsonl"
    record(path, "new", request("a"), request("b"))
    ask(Recorder(Echo(), Recordings.load(path), "all"), request("b"))
    recordings = Recordings.load(path)
    assert recordings.get(request("b").digest, 0).text == "b #1 s0"
    assert recordings.get(request("a").digest, 0).text == "a #1 s0"


def test_mode_none_records_nothing(tmp_path: Path) -> None:
    path = tmp_path / "m.jsonl"
    assert record(path, "none", request())[0].source == "live"
    assert list(tmp_path.iterdir()) == []


def test_an_unknown_mode_names_the_nearest(tmp_path: Path) -> None:
    with pytest.raises(InputError, match='did you mean "once"'):
        Recorder(Echo(), Recordings.load(tmp_path / "m.jsonl"), "onc")


def test_a_failed_call_is_never_recorded(tmp_path: Path) -> None:
    path = tmp_path / "m.jsonl"
    [answer] = record(path, "new", request("fail"))
    assert answer.status == "error"
    assert not path.exists()
    with pytest.raises(ValueError, match="never recorded"):
        Recordings.load(path).add("0" * 64, 0, answer, case=None, replace=False)


def test_the_same_request_twice_is_asked_once(tmp_path: Path) -> None:
    echo = Echo()
    recorder = Recorder(echo, Recordings.load(tmp_path / "m.jsonl"), "all")
    first, second = ask(recorder, request("a"), request("a"))
    assert first.text == second.text
    assert echo.asked == [("a", 0), ("closed", 0)]


@pytest.mark.parametrize("mode", ["none", "once", "new", "all"])
def test_an_absent_candidate_is_answered_by_recordings_alone(tmp_path: Path, mode: str) -> None:
    path = tmp_path / "m.jsonl"
    there, gone = request(absent="prompt lost, row 1"), request(absent="prompt lost, row 2")
    line = {"request": there.digest, "sample": 0, "answer": {"text": "7"}}
    path.write_text(json.dumps(line) + "\n")
    found, failure = record(path, mode, there, gone)
    assert (found.text, found.source) == ("7", "recording")
    assert (failure.error.kind, failure.attempts) == ("absent_candidate", 0)
    assert "row 2" in failure.error.message


def test_a_hand_written_line_needs_only_the_text(tmp_path: Path) -> None:
    path = tmp_path / "m.jsonl"
    path.write_text(json.dumps({"request": "a" * 64, "answer": {"text": " "}}))
    assert Recordings.load(path).get("a" * 64, 0).status == "empty"


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        ("{", "not valid JSON"),
        ('{"request": "abc", "answer": {"text": ""}}', '"request"'),
        ('{"request": "%s", "answer": {"txt": ""}}' % ("a" * 64), "text"),
        ('{"request": "%s", "answer": {"text": "", "status": "error"}}' % ("a" * 64), "status"),
        ("[" * 100_000, "not valid JSON"),
    ],
)
def test_a_broken_line_names_file_and_line(tmp_path: Path, line: str, fault: str) -> None:
    path = tmp_path / "m.jsonl"
    good = json.dumps({"request": "b" * 64, "answer": {"text": "1"}})
    path.write_text(f"{good}\n\n{line}\n{good.replace('b', 'c')}\n")
    with pytest.raises(InputError, match=r"m\.jsonl:3: ") as caught:
        Recordings.load(path)
    assert fault in str(caught.value)


def test_a_duplicate_names_both_lines(tmp_path: Path) -> None:
    path = tmp_path / "m.jsonl"
    line = json.dumps({"request": "b" * 64, "answer": {"text": "1"}})
    path.write_text(f"{line}\n\n{line}\n")
    with pytest.raises(InputError, match=r"m\.jsonl:3: lines 1 and 3"):
        Recordings.load(path)


def test_what_a_crash_left_is_read_and_continued(tmp_path: Path) -> None:
    path = tmp_path / "m.jsonl"
    first = Recordings.load(path)
    first.add(request("a").digest, 0, Answer(text="1"), case=None, replace=False)
    with first.journal.open("ab") as file:
        file.write(b'{"request": "abc')  # the process died here
    second = Recordings.load(path)
    assert second.get(request("a").digest, 0).text == "1"
    second.add(request("b").digest, 0, Answer(text="2"), case=None, replace=False)
    Recordings.load(path).compact()
    assert len(path.read_text().splitlines()) == 2
    assert not first.journal.exists()


def test_another_process_that_was_first_wins(tmp_path: Path) -> None:
    path = tmp_path / "m.jsonl"
    one, two = Recordings.load(path), Recordings.load(path)
    key = request("a").digest
    one.add(key, 0, Answer(text="first"), case=None, replace=False)
    kept = two.add(key, 0, Answer(text="second"), case=None, replace=False)
    assert (kept.text, kept.source) == ("first", "recording")
    one.compact()
    three = two.add(request("b").digest, 0, Answer(text="3"), case=None, replace=False)
    assert three.text == "3"
    two.compact()
    assert len(Recordings.load(path).entries) == 2


def _write(path: Path, worker: int) -> None:
    recordings = Recordings.load(path)
    for number in range(40):
        shared, own = request(f"shared {number}"), request(f"{worker} {number}")
        for each in (shared, own):
            recordings.add(each.digest, 0, Answer(text=f"{worker}"), case=None, replace=False)
        if number % 10 == worker:
            recordings.compact()
    recordings.compact()


def test_several_processes_lose_and_double_nothing(tmp_path: Path) -> None:
    path = tmp_path / "m.jsonl"
    workers = [
        multiprocessing.get_context("spawn").Process(target=_write, args=(path, number))
        for number in range(3)
    ]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
        assert worker.exitcode == 0
    assert len(Recordings.load(path).entries) == 40 + 3 * 40
    assert not Recordings(path).journal.exists()


@given(text=st.text(max_size=60))
def test_any_text_comes_back_as_it_was(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    path = tmp_path_factory.mktemp("r") / "m.jsonl"
    Recordings.load(path).add("a" * 64, 3, Answer(text=text), case=None, replace=False)
    Recordings.load(path).compact()
    assert Recordings.load(path).get("a" * 64, 3).text == text
