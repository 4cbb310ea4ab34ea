"""A client for the own-history protocol: earlier turns are answered first, by the same model."""

from __future__ import annotations

import asyncio
import re

from pytest_fineval.clients.base import Answer, Client, Message, Request
from pytest_fineval.clients.providers import OpenAICompatibleClient
from pytest_fineval.scoring.official.base import final_answer
from pytest_fineval.settings import ModelSettings

_TURN = re.compile(r"^Question ([0-9]{1,3}): ", re.MULTILINE)
_ASKED = re.compile(r"^Answer question ([0-9]{1,3})\. ", re.MULTILINE)
MAX_ANSWER = 500
"""Characters of an earlier answer that a later turn is shown."""


def client(model: ModelSettings) -> OwnHistory:
    """`client = "pytest_fineval.tracks.own_history:client"`: an OpenAI-compatible endpoint that is
    asked turn by turn."""
    return OwnHistory(OpenAICompatibleClient(model))


class OwnHistory:
    """Answers a turn after the turns before it, whose answers it writes into the prompt.

    Every turn of a conversation is asked once a sample, however many later turns need it, as long
    as one process asks them. What a later turn sees of an earlier answer is its final line. A
    request that is no conversation passes through unchanged.
    """

    def __init__(self, inner: Client):
        self.inner = inner
        self._asked: dict[tuple[str, int], asyncio.Future[Answer]] = {}

    async def answer(self, request: Request, sample: int) -> Answer:
        """The answer to the last turn of the request."""
        key = (request.digest, sample)
        running = self._asked.get(key)
        if running is None or running.cancelled():
            running = asyncio.ensure_future(self._answer(request, sample))
            self._asked[key] = running
        # Another turn may wait for the same call: a waiter that gives up must not end it.
        return await asyncio.shield(running)

    async def _answer(self, request: Request, sample: int) -> Answer:
        earlier = earlier_turns(request)
        if earlier is None:
            return await self.inner.answer(request, sample)
        answers = [await self.answer(turn, sample) for turn in earlier]
        failed = next((answer for answer in answers if answer.status == "error"), None)
        if failed is not None:
            # Without its history the turn would be another question.
            return failed.model_copy(update={"cost_usd": None, "usage": type(failed.usage)()})
        shown = [final_answer(answer.text)[:MAX_ANSWER] or "(none)" for answer in answers]
        return await self.inner.answer(with_answers(request, shown), sample)

    async def close(self) -> None:
        """Close the client below."""
        await self.inner.close()


def earlier_turns(request: Request) -> list[Request] | None:
    """The requests of the turns before the last one, as the track words them; None for a request
    that is no conversation with two or more turns."""
    if not request.messages:
        return None
    prompt = request.messages[-1].content
    starts = _starts(prompt)
    asked = _ASKED.search(prompt, starts[-1]) if starts else None
    if asked is None or len(starts) < 2:
        return None
    found = []
    for number, start in enumerate(starts[1:], 1):
        how = f"Answer question {number}. " + prompt[asked.end() :]
        found.append(_with_prompt(request, prompt[:start].rstrip("\n") + "\n\n" + how))
    return found


def with_answers(request: Request, answers: list[str]) -> Request:
    """The request with an answer line after each question but the last."""
    prompt = request.messages[-1].content
    starts = _starts(prompt)
    parts = [prompt[: starts[0]]]
    for number, (start, end) in enumerate(zip(starts, [*starts[1:], len(prompt)], strict=True), 1):
        parts.append(prompt[start:end])
        if number <= len(answers):
            parts.append(f"Answer {number}: {' '.join(answers[number - 1].split())}\n")
    return _with_prompt(request, "".join(parts))


def _starts(prompt: str) -> list[int]:
    """Where the turns start; the report before them may hold such a line, too."""
    found = [(int(match[1]), match.start()) for match in _TURN.finditer(prompt)]
    firsts = [place for place, (number, _) in enumerate(found) if number == 1]
    return [start for _, start in found[firsts[-1] :]] if firsts else []


def _with_prompt(request: Request, prompt: str) -> Request:
    changed = Message(role=request.messages[-1].role, content=prompt)
    # Not a copy: a copy would keep the digest of the request it was made of.
    fields = {name: getattr(request, name) for name in Request.model_fields}
    return Request(**{**fields, "messages": (*request.messages[:-1], changed)})
