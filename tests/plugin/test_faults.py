"""Whatever a provider does, each case is accounted for and the verdict is never green by accident.

A real server, real pytest, a signed baseline that had every case right.
"""

from __future__ import annotations

import shutil
import threading
import time
from collections import Counter
from pathlib import Path

import httpx2  # noqa: F401 - imported once for all runs in this process, as in conftest.py
import pytest

from pytest_fineval.clients import pricing, providers
from pytest_fineval.engine import guard
from tests.http_server import (
    Reply,
    ScriptedServer,
    Seen,
    completion,
    error,
    html,
    json_reply,
    ok,
    rate_limited,
    reset_mid_body,
    slow,
)
from tests.plugin.live_server import (
    CASES,
    MortalServer,
    ask_live,
    attempts,
    figure,
    kind,
    last_line,
    records,
    right,
    small_suite,
)
from tests.project import Project, many

LOADED = (pricing, providers, guard)
"""Named so that they, too, are imported once."""

NO_OUTPUT = {"prompt_tokens": 10, "completion_tokens": 0}
WORST = 20 + 2 * pricing.OVERHEAD_TOKENS + 16 * 10
"""Micro-dollars that one call can cost: a question of 20 bytes, 16 tokens of output."""


@pytest.fixture(scope="module")
def signed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the first test that needs the signed baseline leaves it for the others."""
    return tmp_path_factory.mktemp("signed") / "baselines"


@pytest.fixture
def judged(project: Project, signed: Path) -> Project:
    """A small suite with a signed baseline that had all its cases right."""
    small_suite(project)
    project.models = ["old", "new"]
    project.settings()
    if not signed.exists():
        project.baseline()
        shutil.rmtree(project.root / "runs")
        shutil.copytree(project.root / "baselines", signed)
    else:
        shutil.copytree(signed, project.root / "baselines")
    return project


def run_live(project: Project, *arguments: str) -> pytest.RunResult:
    started = time.monotonic()
    done = project.pytest("--fineval-live", *arguments)
    assert time.monotonic() - started < 60  # a few seconds, and much slack for a busy machine
    return done


def refuse_green(project: Project, done: pytest.RunResult) -> None:
    assert done.ret == 1
    assert project.verdict()["outcome"] == "invalid"
    assert last_line(done).startswith("fineval: INVALID")


def test_a_healthy_server_passes(judged: Project) -> None:
    with ScriptedServer(right) as server:
        ask_live(judged, server.url)
        done = run_live(judged)
    assert done.ret == 0
    assert judged.verdict()["outcome"] == "pass"
    assert len(server.seen) == CASES


STORMS: dict[str, tuple[Reply, str, bool]] = {
    # The fault; the kind it is counted as; is each call of it paid for?
    "429s": (rate_limited("0"), "rate_limited", False),
    "500s": (error(500), "server", False),
    "slow answers": (slow(3), "timeout", True),
    "resets in mid-body": (reset_mid_body(), "connection", True),
}


@pytest.mark.parametrize("fault", STORMS)
def test_a_dead_provider_is_left_alone_soon_and_the_run_is_invalid(
    judged: Project, fault: str
) -> None:
    reply, counted_as, paid = STORMS[fault]
    with ScriptedServer(lambda _: reply) as server:
        ask_live(judged, server.url, timeout_s=0.5, breaker_after=2)
        done = run_live(judged, "--fineval-concurrency", "2")
        calls = len(server.seen)
    refuse_green(judged, done)
    found = records(judged)
    assert sorted(record["case"]["id"] for record in found) == [f"e{n:03}" for n in range(CASES)]
    kinds = Counter(map(kind, found))
    assert set(kinds) == {counted_as, "breaker_open"}
    # What was in flight when the breaker opened ends, and no other call begins.
    assert 2 <= kinds[counted_as] <= 4
    assert {r["status"] for r in found if kind(r) == counted_as} == {"errored"}
    assert {r["status"] for r in found if kind(r) == "breaker_open"} == {"not_run"}
    # Each attempt is in the records, and in the money where it may have been billed.
    assert attempts(found) == calls
    cost = sum(record["answer"].get("cost_usd") or 0.0 for record in found)
    assert cost == pytest.approx(calls * WORST * 1e-6 if paid else 0.0)


BROKEN: tuple[tuple[Reply, str], ...] = (
    (Reply(body=b'{"choices": [{"mess'), "bad_response"),
    (json_reply(completion("1") | {"choices": []}), "bad_response"),
    (html(), "bad_response"),
    (json_reply({"error": {"message": "upstream", "code": 502}}), "bad_response"),
    (ok("Error: upstream provider overloaded, 103 jobs", usage=NO_OUTPUT), "bad_response"),
    (Reply(body=b" " * 500, trickle_s=0.1), "timeout"),
    (rate_limited("3600"), "rate_limited"),
    (error(401, "no such key"), "unauthorized"),
)


def test_no_broken_answer_is_read_as_one_and_each_is_counted_by_its_kind(
    judged: Project,
) -> None:
    with ScriptedServer(lambda seen: BROKEN[figure(seen)][0]) as server:
        ask_live(judged, server.url, timeout_s=1, breaker_after=100)
        done = run_live(judged)
    refuse_green(judged, done)
    found = sorted(records(judged), key=lambda record: record["case"]["id"])
    assert [kind(record) for record in found] == [expected for _, expected in BROKEN]
    assert {record["status"] for record in found} == {"errored"}
    # A timeout alone is tried again (of a slow machine there may be more).
    assert attempts(found) == len(server.seen) > CASES


def test_a_few_cases_that_fail_among_right_ones_are_not_overlooked(judged: Project) -> None:
    faults = {3: error(500), 4: BROKEN[0][0], 5: BROKEN[4][0]}
    with ScriptedServer(lambda seen: faults.get(figure(seen)) or right(seen)) as server:
        ask_live(judged, server.url)
        done = run_live(judged)
    refuse_green(judged, done)  # three of eight are more than the twentieth that may fail
    statuses = Counter(record["status"] for record in records(judged))
    assert statuses == {"correct": 5, "errored": 3}


def test_faults_that_pass_cost_a_second_attempt_and_no_case(judged: Project) -> None:
    failed = set()
    storms = list(STORMS.values())

    def script(seen: Seen) -> Reply:
        if figure(seen) in failed:
            return right(seen)
        failed.add(figure(seen))
        return storms[figure(seen) % 4][0]

    with ScriptedServer(script) as server:
        ask_live(judged, server.url, timeout_s=1)
        done = run_live(judged)
    assert done.ret == 0
    assert judged.verdict()["outcome"] == "pass"
    found = records(judged)
    assert attempts(found) == len(server.seen) == 2 * CASES
    cost = sum(record["answer"]["cost_usd"] for record in found)
    # An answer of 10 + 5 tokens costs 60 micro-dollars; half of the first attempts are paid for.
    assert cost == pytest.approx((CASES * 60 + CASES / 2 * WORST) * 1e-6)


def test_a_content_filter_is_told_from_a_refusal_and_neither_is_an_error(
    judged: Project,
) -> None:
    refusal = completion(None)
    refusal["choices"][0]["message"]["refusal"] = "I can't help with that."
    by_filter = json_reply(
        {"error": {"message": "The prompt was filtered.", "code": "content_filter"}}, status=400
    )
    replies = [ok("", finish="content_filter"), by_filter, json_reply(refusal)]

    with ScriptedServer(lambda seen: replies[min(figure(seen), 2)]) as server:
        ask_live(judged, server.url)
        done = run_live(judged)
    assert done.ret == 1
    assert judged.verdict()["outcome"] != "pass"
    assert len(server.seen) == CASES
    found = {record["case"]["id"]: record for record in records(judged)}
    assert [kind(found[f"e{n:03}"]) for n in range(4)] == ["filtered", "filtered", "ok", "ok"]
    assert {record["status"] for record in found.values()} == {"unscored"}
    assert {record["score"]["failure"] for record in found.values()} == {"refusal"}
    assert found["e002"]["answer"]["text"] == "I can't help with that."


def test_a_server_that_dies_and_comes_back_costs_no_case(judged: Project, tmp_path: Path) -> None:
    server = MortalServer(tmp_path / "seen")
    server.start()

    def die_and_come_back() -> None:
        server.wait_for_requests(3)
        server.kill()
        time.sleep(0.3)
        server.start()

    ask_live(judged, server.url, max_attempts=20, retry_for_s=60)
    fate = threading.Thread(target=die_and_come_back)
    fate.start()
    done = judged.pytest("--fineval-live", "--fineval-concurrency", "2")
    fate.join()
    server.kill()
    assert done.ret == 0
    assert judged.verdict()["outcome"] == "pass"
    found = records(judged)
    assert len(found) == CASES
    assert attempts(found) > CASES


def test_a_server_that_dies_for_good_ends_the_run_soon_and_not_green(
    judged: Project, tmp_path: Path
) -> None:
    server = MortalServer(tmp_path / "seen")
    server.start()

    def die() -> None:
        server.wait_for_requests(3)
        server.kill()

    ask_live(judged, server.url)
    fate = threading.Thread(target=die)
    fate.start()
    started = time.monotonic()
    done = judged.pytest("--fineval-live", "--fineval-concurrency", "2")
    fate.join()
    assert time.monotonic() - started < 60
    refuse_green(judged, done)
    kinds = Counter(map(kind, records(judged)))
    assert kinds.total() == CASES
    assert set(kinds) <= {"ok", "connection", "breaker_open"}
    assert kinds["connection"] >= 3


# Money, end to end


def test_at_the_cap_the_rest_is_not_run_and_the_run_is_invalid(judged: Project) -> None:
    with ScriptedServer(right) as server:
        ask_live(judged, server.url)
        done = run_live(judged, "--fineval-cap", str((3 * 60 + WORST) * 1e-6))
    refuse_green(judged, done)
    kinds = Counter(map(kind, records(judged)))
    # Room for three answers of 60 and the worst case of a fourth: fewer than eight.
    assert 4 <= kinds["ok"] == len(server.seen) < CASES
    assert kinds["cap_reached"] == CASES - kinds["ok"]


def test_a_cap_of_zero_answers_from_recordings_and_asks_nobody(judged: Project) -> None:
    with ScriptedServer(right) as server:
        ask_live(judged, server.url)
        run_live(judged, "--fineval-record", "new", "--fineval-run", "first")
        assert len(server.seen) == CASES
        path = judged.root / "evals" / "recordings" / "new.jsonl"
        path.write_text("".join(path.read_text().splitlines(keepends=True)[1:]))
        done = run_live(judged, "--fineval-record", "new", "--fineval-cap", "0")
        assert len(server.seen) == CASES
    refuse_green(judged, done)
    kinds = Counter(map(kind, records(judged)))
    assert kinds == {"ok": CASES - 1, "cap_reached": 1}


def test_a_cap_over_a_model_without_a_price_is_a_usage_error_before_any_call(
    judged: Project,
) -> None:
    with ScriptedServer(right) as server:
        ask_live(judged, server.url, price=False)
        done = run_live(judged, "--fineval-cap", "1")
        assert server.seen == []
    assert done.ret == 4
    assert "usd_per_million_input" in done.stderr.str()


def test_two_workers_and_a_provider_that_counts_nothing_stay_below_the_cap(
    project: Project,
) -> None:
    project.suite("figures", many(24))
    nothing = {"prompt_tokens": 0, "completion_tokens": 0}
    with ScriptedServer(lambda seen: ok(str(100 + figure(seen)), usage=nothing)) as server:
        ask_live(project, server.url)
        cap = 10.5 * WORST * 1e-6
        done = run_live(project, "-n", "2", "--fineval-cap", str(cap), "--fineval-baseline", "none")
    assert "NOT JUDGED" in last_line(done)
    found = records(project)
    assert len(found) == 24
    kinds = Counter(map(kind, found))
    assert kinds == {"ok": 10, "cap_reached": 14}
    assert len(server.seen) == attempts(found) == 10
