"""The side of the items: ask, score, record. Runs in one process or in each xdist worker."""

from __future__ import annotations

import os
from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from pytest_fineval.cases.model import Candidate
from pytest_fineval.clients.base import Answer, Client, Request, build_request
from pytest_fineval.clients.callables import as_client
from pytest_fineval.clients.factory import client_for, recorded
from pytest_fineval.engine.budget import Budget
from pytest_fineval.engine.guard import guarded
from pytest_fineval.engine.prefetch import Job, Prefetcher
from pytest_fineval.report.text import visible
from pytest_fineval.session.collect import Ask
from pytest_fineval.session.options import Options
from pytest_fineval.settings import Settings
from pytest_fineval.store.record import ItemStatus, Record, status_of, stored

LOOK_AHEAD = 4
"""Window of started calls in units of the concurrency (measured: ENGINE, Prefetch)."""

NOT_RUN = frozenset({"cap_reached", "breaker_open"})
"""Client errors that mean the call was never made."""


class Asker:
    """Answers items through their model's client, ahead of their turn."""

    def __init__(self, settings: Settings, options: Options, *, ledger: Path, workers: int = 1):
        """
        Args:
            ledger: the file over which all processes of the run share the spend cap.
            workers: how many processes share the provider's limits.
        """
        cap = options.cap_usd
        self._budget = None if cap is None or not options.live else Budget(ledger, cap)
        self._workers = workers
        self._settings = settings
        self._options = options
        self._clients: dict[str, Client] = {}
        self._custom: dict[int, Client] = {}
        self._calls: Prefetcher | None = None
        self._secrets = _secrets(settings)
        self._case_of: dict[str, str] = {}

    def prepare(self, models: Iterable[str]) -> None:
        """Build the clients of these models, so that a wrong setting shows before any call.

        Raises:
            InputError: a client that cannot be built.
        """
        for model in models:
            self._client(model)

    def plan(self, asks: Iterable[Ask]) -> None:
        """Start answering these items, in this order, with their model's own client."""
        self._prefetcher.plan(self._job(ask, self._client(ask.model)) for ask in asks)

    @property
    def _prefetcher(self) -> Prefetcher:
        if self._calls is None:
            concurrency = self._options.concurrency
            window = concurrency if self._options.stops_early else LOOK_AHEAD * concurrency
            self._calls = Prefetcher(concurrency, window)
        return self._calls

    def record(self, ask: Ask, custom: Any = None, given: str | Answer | None = None) -> Record:
        """Ask (unless the test brings its own answer), score and make the record of one item.

        Args:
            custom: what the `fineval_client` fixture returned; None for the configured client.
            given: an answer that the test obtained itself.
        """
        request = self.request(ask)
        if given is None:
            answer = self._answer(ask, custom)
        elif isinstance(given, str):
            answer = Answer(text=given, status="ok" if given.strip() else "empty", source="test")
        else:
            answer = given
        answer = self._redacted(answer)
        score = stored(ask.scorer.score(answer.text, answer.status))
        status: ItemStatus = status_of(score, ask.planned.pass_mark)
        if answer.error is not None:
            status = "not_run" if answer.error.kind in NOT_RUN else "errored"
        return Record(
            case=ask.planned,
            model=ask.model,
            sample=ask.sample,
            status=status,
            request=request.digest,
            answer=answer,
            score=None if status == "not_run" else score,
        )

    def request(self, ask: Ask) -> Request:
        """What the model is asked: built from the candidate alone."""
        return build_request(ask.located.case.candidate, self._settings.model(ask.model))

    def drop(self, ask: Ask) -> None:
        """The item is over: an answer that it never asked for makes room for others."""
        if self._calls is not None and self._calls.is_planned(ask.key):
            self._calls.drop(ask.key)

    def close(self) -> None:
        """Cancel what is in flight and close the clients."""
        if self._calls is not None:
            self._calls.close()
            self._calls = None

    def _answer(self, ask: Ask, custom: Any) -> Answer:
        if custom is not None:
            return self._prefetcher.ask(self._job(ask, self._own(custom, ask.model)))
        if self._prefetcher.is_planned(ask.key):
            return self._prefetcher.take(ask.key)
        return self._prefetcher.ask(self._job(ask, self._client(ask.model)))

    def _job(self, ask: Ask, client: Client) -> Job:
        request = self.request(ask)
        if self._options.record != "none":
            self._case_of[request.digest] = ask.planned.id
        return Job(ask.key, client, request, ask.sample)

    def _client(self, model: str) -> Client:
        if model not in self._clients:
            self._clients[model] = client_for(
                model,
                self._settings,
                live=self._options.live,
                record=self._options.record,
                cases=self._case_of,
                guard=partial(self._guarded, model),
            )
        return self._clients[model]

    def _guarded(self, model: str, client: Client) -> Client:
        """Limits, retries and the spend cap around a live client."""
        return guarded(
            client,
            self._settings.model(model),
            self._settings.run,
            budget=self._budget,
            workers=self._workers,
        )

    def _own(self, custom: Any, model: str) -> Client:
        """The user's `fineval_client` as a Client, recorded when the run records."""
        if id(custom) not in self._custom:
            client = as_client(custom)
            if self._options.record != "none":
                client = recorded(
                    client,
                    model,
                    self._settings,
                    record=self._options.record,
                    cases=self._case_of,
                    guard=partial(self._guarded, model) if self._options.live else None,
                )
            self._custom[id(custom)] = client
        return self._custom[id(custom)]

    def _redacted(self, answer: Answer) -> Answer:
        text = answer.text
        message = answer.error.message if answer.error else ""
        for name, value in self._secrets:
            text = text.replace(value, f"[redacted {name}]")
            message = message.replace(value, f"[redacted {name}]")
        if text == answer.text and (answer.error is None or message == answer.error.message):
            return answer
        error = answer.error and answer.error.model_copy(update={"message": message})
        return answer.model_copy(update={"text": text, "error": error})


def _secrets(settings: Settings) -> list[tuple[str, str]]:
    names = {model.api_key_env for model in settings.models.values() if model.api_key_env}
    return [(name, os.environ[name]) for name in sorted(names) if os.environ.get(name)]


class Fineval:
    """The `fineval` fixture: what a test function can do with its case."""

    def __init__(self, ask: Ask, asker: Asker, custom: Any, strict: bool):
        self._ask = ask
        self._asker = asker
        self._custom = custom
        self._strict = strict
        self.record: Record | None = None

    @property
    def candidate(self) -> Candidate:
        """All that a model may see of the case: question, text, table, instructions."""
        return self._ask.located.case.candidate

    def check(self, answer: str | Answer | None = None) -> Record:
        """Score this case's answer and record it.

        Args:
            answer: the answer to score; without it the configured model (or the
                `fineval_client` fixture) is asked.

        Returns:
            The record: `.status`, `.score`, `.answer`.

        Raises:
            RuntimeError: called twice: a case has one record.
            pytest.fail.Exception: the case is not right and is `must_pass` (or the run strict).
        """
        if self.record is not None:
            raise RuntimeError(
                "fineval.check() was called twice in one test: a case has one record"
            )
        self.record = self._asker.record(self._ask, self._custom, answer)
        if self.record.status not in ("correct", "pending"):
            if self._ask.planned.must_pass:
                pytest.fail(self._explain("a must_pass case"), pytrace=False)
            if self._strict:
                pytest.fail(self._explain("--fineval-strict"), pytrace=False)
        return self.record

    def _explain(self, rule: str) -> str:
        record, gold = self.record, self._ask.located.case.gold
        assert record is not None  # noqa: S101 - called with the record just made
        score, answer = record.score, record.answer
        lines = [f"{record.case.id} is {record.status.replace('_', ' ')} ({rule})"]
        if answer is not None and answer.error is not None:
            lines.append(f"  client: {answer.error.kind}: {visible(answer.error.message, 200)}")
        elif answer is not None:
            lines.append(f"  answer:   {visible(answer.text, 200)}")
        if score is not None and answer is not None and answer.error is None:
            lines.append(f"  read:     {visible(str(score.parsed), 80)} ({score.failure or 'ok'})")
        lines.append(f"  expected: {visible(str(gold.answer), 80)} {gold.unit or ''}".rstrip())
        where = self._ask.located
        lines.append(f"  case:     {where.path.name}:{where.line}")
        return "\n".join(lines)
