"""Look-ahead: order, bounds, cancellation."""

import asyncio
import time

import pytest

from pytest_fineval.clients.base import Answer, Message, Request
from pytest_fineval.engine.prefetch import Job, Prefetcher


class Slow:
    """A real asynchronous client that waits, and counts what it sees."""

    def __init__(self, wait_s: float = 0.02, fail: bool = False):
        self.wait_s, self.fail = wait_s, fail
        self.running = self.most = self.started = 0
        self.cancelled = 0
        self.closed = False

    async def answer(self, request: Request, sample: int) -> Answer:
        self.started += 1
        self.running += 1
        self.most = max(self.most, self.running)
        try:
            await asyncio.sleep(self.wait_s)
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        finally:
            self.running -= 1
        if self.fail:
            raise OSError("no route")
        return Answer(text=f"{request.messages[0].content}/{sample}")

    async def close(self) -> None:
        self.closed = True


def job(client: Slow, key: int) -> Job:
    request = Request(model="m", messages=(Message(role="user", content=str(key)),))
    return Job(key, client, request, 0)


@pytest.fixture
def prefetcher():
    made = Prefetcher(concurrency=4, window=8)
    yield made
    made.close()


def test_answers_come_back_under_their_own_key_whatever_the_order_of_asking(prefetcher):
    client = Slow()
    prefetcher.plan(job(client, key) for key in range(20))
    for key in reversed(range(20)):
        assert prefetcher.take(key).text == f"{key}/0"
    assert client.started == 20


def test_no_more_calls_than_the_concurrency_are_in_flight(prefetcher):
    client = Slow()
    prefetcher.plan(job(client, key) for key in range(30))
    for key in range(30):
        prefetcher.take(key)
    assert client.most == 4


def test_no_more_than_the_window_is_started_before_somebody_takes(prefetcher):
    client = Slow(wait_s=0.001)
    prefetcher.plan(job(client, key) for key in range(30))
    time.sleep(0.2)
    assert client.started == 8
    prefetcher.take(0)
    time.sleep(0.1)
    assert client.started == 9


def test_a_dropped_job_frees_its_place(prefetcher):
    client = Slow(wait_s=0.001)
    prefetcher.plan(job(client, key) for key in range(12))
    for key in range(4):
        prefetcher.drop(key)
    time.sleep(0.2)
    assert client.started == 12
    assert not prefetcher.is_planned(0)


def test_a_client_that_raises_costs_one_case_and_says_why(prefetcher):
    client = Slow(fail=True)
    prefetcher.plan([job(client, 0)])
    answer = prefetcher.take(0)
    assert answer.status == "error"
    assert answer.error.message == "OSError: no route"


def test_closing_cancels_what_is_in_flight_and_closes_the_client():
    client = Slow(wait_s=30)
    prefetcher = Prefetcher(concurrency=2, window=2)
    prefetcher.plan(job(client, key) for key in range(5))
    time.sleep(0.1)
    began = time.monotonic()
    prefetcher.close()
    assert time.monotonic() - began < 5
    assert client.cancelled == 2
    assert client.closed


def test_a_call_beside_the_plan_is_answered_at_once(prefetcher):
    assert prefetcher.ask(job(Slow(), 7)).text == "7/0"
