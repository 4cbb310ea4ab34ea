"""The side of the items: ask, score, record. Runs in one process or in each xdist worker."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from pytest_fineval.cases.model import Candidate, Case
from pytest_fineval.clients.base import Answer, Client, Request, build_request
from pytest_fineval.clients.callables import as_client, without_secrets
from pytest_fineval.clients.factory import client_for, recorded
from pytest_fineval.engine.budget import Budget
from pytest_fineval.engine.cache import CachedClient, ResponseCache
from pytest_fineval.engine.guard import guarded
from pytest_fineval.engine.prefetch import Job, Prefetcher
from pytest_fineval.gate.further import confirmation_samples, upheld
from pytest_fineval.report.text import visible
from pytest_fineval.session.collect import Ask
from pytest_fineval.session.options import Options
from pytest_fineval.settings import Settings
from pytest_fineval.store.record import ItemStatus, Key, Record, status_of, stored

LOOK_AHEAD = 4
"""Window of started calls in units of the concurrency (measured: ENGINE, Prefetch)."""

LEDGER, ANSWERS = "spend.jsonl", "answers.sqlite"
"""Files of a run's folder beside its records: what calls cost, and answers not yet recorded."""

NOT_RUN = frozenset({"cap_reached", "breaker_open"})
"""Client errors that mean the call was never made."""


OWN_CLIENT = "answered by fineval_client"
"""Note on a record that the project's fixture answered: it ends with its tests."""


class Asker:
    """Answers items through their model's client, ahead of their turn."""

    def __init__(self, settings: Settings, options: Options, *, worker: int = 0, workers: int = 1):
        """
        Args:
            worker: which of the processes this is, >= 0.
            workers: how many processes share concurrency, provider limits and spend cap.
        """
        self._settings = settings
        self._options = options
        self._workers = workers
        more = worker % workers < options.concurrency % workers
        self._concurrency = max(1, options.concurrency // workers + more)
        self._folder: Path | None = None
        self._kept: Mapping[Key, Record] = {}
        self._store: ResponseCache | None = None
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

    def begin(self, folder: Path, kept: Mapping[Key, Record]) -> None:
        """The run's folder is open: calls may be made.

        Args:
            folder: where spend and answers are kept for all processes of the run.
            kept: what a run that is resumed has measured already: it is not asked again.
        """
        self._folder = folder
        self._kept = kept

    @property
    def begun(self) -> bool:
        return self._folder is not None

    def plan(self, turns: Iterable[tuple[int, Ask]], custom: Any = None) -> None:
        """Start answering items ahead of their turn.

        Args:
            turns: the items with their place in the order of the run.
            custom: what their `fineval_client` fixture returned; None for the configured client.
        """
        self._prefetcher.plan(
            self._job(ask, custom, turn) for turn, ask in turns if ask.key not in self._kept
        )

    @property
    def _prefetcher(self) -> Prefetcher:
        if self._calls is None:
            concurrency = self._concurrency
            window = concurrency if self._options.stops_early else LOOK_AHEAD * concurrency
            self._calls = Prefetcher(concurrency, window)
        return self._calls

    def record(self, ask: Ask, custom: Any = None, given: str | Answer | None = None) -> Record:
        """Ask (unless the test brings its own answer), score and make the record of one item.

        Args:
            custom: what the `fineval_client` fixture returned; None for the configured client.
            given: an answer that the test obtained itself.
        """
        if ask.key in self._kept:
            return self._kept[ask.key]
        request = self.request(ask)
        if given is None:
            answer = self._answer(ask, custom)
        elif isinstance(given, str):
            answer = Answer(text=given, status="ok" if given.strip() else "empty", source="test")
        else:
            answer = given
        answer = without_secrets(answer, self._secrets)
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
            note=OWN_CLIENT if custom is not None and given is None else None,
        )

    def request(self, ask: Ask) -> Request:
        """What the model is asked: built from the candidate alone."""
        case = ask.located.case
        return build_request(case.candidate, self._settings.model(ask.model), json_key(case))

    def drop(self, ask: Ask) -> None:
        """The item is over: an answer that it never asked for makes room for others."""
        if self._calls is not None and self._calls.is_planned(ask.key):
            self._calls.drop(ask.key)

    def close(self) -> None:
        """Cancel what is in flight and close the clients."""
        if self._calls is not None:
            self._calls.close()
            self._calls = None
        if self._store is not None:
            self._store.close()
            self._store = None

    def _answer(self, ask: Ask, custom: Any) -> Answer:
        if self._prefetcher.is_planned(ask.key):
            return self._prefetcher.take(ask.key)
        return self._prefetcher.ask(self._job(ask, custom, 0))

    def _job(self, ask: Ask, custom: Any, turn: int) -> Job:
        client = self._client(ask.model) if custom is None else self._own(custom, ask.model)
        request = self.request(ask)
        if self._options.record != "none":
            self._case_of[request.digest] = ask.planned.id
        return Job(ask.key, client, request, ask.sample, turn)

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
        """Limits, retries, spend cap and the run's cache around a live client."""
        settings = self._settings.model(model)
        cap = self._options.cap_usd if self._options.live else None

        def limited(budget: Budget | None, shared: Path | None = None) -> Client:
            run = self._settings.run
            workers = self._workers
            return guarded(client, settings, run, budget=budget, workers=workers, shared=shared)

        # Refuses a model without a price now; the ledger is in the run's folder, which is not
        # open yet.
        limited(None if cap is None else Budget(Path(tempfile.gettempdir()) / "fineval", cap))

        def in_run(folder: Path) -> Client:
            budget = None if cap is None else Budget(folder / LEDGER, cap)
            adapter = f"{settings.client} {settings.base_url or ''}"
            shared = folder if self._workers > 1 else None
            return CachedClient(limited(budget, shared), self._cache(folder), adapter)

        return _InRun(in_run, lambda: self._folder)

    def _cache(self, folder: Path) -> ResponseCache:
        if self._store is None:
            self._store = ResponseCache(folder / ANSWERS)
        return self._store

    def _own(self, custom: Any, model: str) -> Client:
        """The user's `fineval_client` as a Client, recorded when the run records."""
        if id(custom) not in self._custom:
            timeout_s = self._settings.model(model).timeout_s
            client = as_client(custom, timeout_s=timeout_s, secrets=self._secrets)
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


def can_ask_again(record: Record) -> bool:
    """Can a configured client still answer this after the tests have ended?"""
    brought = record.answer is not None and record.answer.source == "test"
    return not brought and record.note != OWN_CLIENT


class _InRun:
    """A client that is made with its first call: only then is the run's folder known."""

    def __init__(self, make: Callable[[Path], Client], folder: Callable[[], Path | None]):
        self._make = make
        self._folder = folder
        self._client: Client | None = None

    async def answer(self, request: Request, sample: int) -> Answer:
        if self._client is None:
            folder = self._folder()
            if folder is None:
                raise RuntimeError("asked before the run began")
            self._client = self._make(folder)
        return await self._client.answer(request, sample)

    async def close(self) -> None:
        if self._client is not None:
            await self._client.close()


def json_key(case: Case) -> str | None:
    """Key of the answer where a case wants a JSON object; None where it does not."""
    options = case.scorer.options
    return (
        str(options.get("answer_key") or "answer")
        if options.get("answer_format") == "json"
        else None
    )


def _secrets(settings: Settings) -> tuple[str, ...]:
    names = {model.api_key_env for model in settings.models.values() if model.api_key_env}
    return tuple(os.environ[name] for name in sorted(names) if os.environ.get(name))


class Fineval:
    """The `fineval` fixture: what a test function can do with its case."""

    def __init__(self, ask: Ask, asker: Asker, custom: Any, options: Options):
        self._ask = ask
        self._asker = asker
        self._custom = custom
        self._options = options
        self.record: Record | None = None
        self.confirming: list[Record] = []

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
            pytest.fail.Exception: the run is strict and the case not right; or the case is
                `must_pass` and two more samples did not show its failure to be noise. Among
                several samples (`--fineval-repeat`) the gate judges by their majority instead.
        """
        if self.record is not None:
            raise RuntimeError(
                "fineval.check() was called twice in one test: a case has one record"
            )
        self.record = self._asker.record(self._ask, self._custom, answer)
        if self._ask.planned.must_pass and self._options.repeat == 1:
            self._confirm(asked=answer is None)
        if self._options.strict and self.record.status not in ("correct", "pending"):
            pytest.fail(self._explain("--fineval-strict"), pytrace=False)
        return self.record

    def _confirm(self, *, asked: bool) -> None:
        """Ask a must-pass case that is not right twice more; most of the three decide."""
        record = self.record
        assert record is not None  # noqa: S101 - called with the record just made
        if record.status == "correct":
            return
        if asked and record.status != "not_run":
            # A pending score is known after the last item only: too late to ask then.
            self.confirming = [
                self._asker.record(replace(self._ask, sample=sample), self._custom)
                for sample in confirmation_samples(self._options.repeat)
            ]
        pending = any(one.status == "pending" for one in (record, *self.confirming))
        if not pending and not upheld([record], self.confirming, record.case.pass_mark):
            pytest.fail(self._explain("a must_pass case"), pytrace=False)

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
        if self.confirming:
            again = ", ".join(one.status.replace("_", " ") for one in self.confirming)
            lines.append(f"  again:    {again}")
        lines.append(f"  expected: {visible(str(gold.answer), 80)} {gold.unit or ''}".rstrip())
        where = self._ask.located
        lines.append(f"  case:     {where.path.name}:{where.line}")
        return "\n".join(lines)
