"""A user's own pipeline as a Client: any callable, sync or async, with one argument."""

from __future__ import annotations

import asyncio
import contextvars
import inspect
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

from pytest_fineval.clients.base import Answer, Client, Request, failed
from pytest_fineval.clients.recording import absent
from pytest_fineval.clients.wording import one_line, redact, well_formed
from pytest_fineval.errors import InputError

Pipeline = Callable[[Request], Any]


def as_client(
    obj: object, *, timeout_s: float | None = None, secrets: Sequence[str] = ()
) -> Client:
    """A Client from what a user wrote.

    Args:
        obj: a Client, or a callable that receives exactly one argument, the `Request`
            (`request.messages[-1].content` is the prompt text; `request.decoding` and
            `request.options` come from the settings), and returns the answer's text or an
            `Answer`. A sync callable runs in a thread of its own, an async one in the event loop;
            calls overlap, up to the run's concurrency.
        timeout_s: seconds a call may take (> 0); None for no limit.
        secrets: strings that must not show in a message or an answer.

    Returns:
        A Client that never raises: what the callable raises, and a result that is neither text
        nor an Answer, is an answer with the error `client_raised`.

    Raises:
        InputError: the object can be neither asked nor called.
    """
    if isinstance(obj, Client) and not isinstance(obj, type):
        return CallableClient(_asker(obj), timeout_s, secrets, closing=obj)
    if not callable(obj) or isinstance(obj, type):
        raise InputError(
            f"a client is a callable that takes the Request, or an object with "
            f"async answer(request, sample) and async close(); got {type(obj).__name__} {obj!r:.60}"
        )
    return CallableClient(_one_argument(obj), timeout_s, secrets)


class CallableClient:
    """What `as_client` returns."""

    def __init__(
        self,
        call: Callable[[Request, int], Any],
        timeout_s: float | None,
        secrets: Sequence[str],
        closing: Client | None = None,
    ):
        self._call = call
        self._timeout_s = timeout_s
        self._secrets = secrets
        self._closing = closing

    async def answer(self, request: Request, sample: int) -> Answer:
        if request.absent:
            return absent(request)
        started = time.perf_counter()
        limit = asyncio.timeout(self._timeout_s)
        try:
            async with limit:
                result = await self._call(request, sample)
        except (asyncio.CancelledError, KeyboardInterrupt, SystemExit):
            raise
        except BaseException as error:  # pytest.fail and pytest.skip are no Exceptions
            latency = time.perf_counter() - started
            if limit.expired():
                message = f"no answer within {self._timeout_s:g} s"
                return failed("timeout", message, latency_s=latency)
            message = one_line(f"{type(error).__name__}: {error}", self._secrets)
            return failed("client_raised", message, latency_s=latency)
        return self._as_answer(result, time.perf_counter() - started)

    async def close(self) -> None:
        if self._closing is not None:
            await self._closing.close()

    def _as_answer(self, result: object, latency_s: float) -> Answer:
        if isinstance(result, Answer):
            timed = result.model_copy(update={"latency_s": result.latency_s or latency_s})
            return without_secrets(timed, self._secrets)
        if isinstance(result, str):
            text = redact(well_formed(result), self._secrets)
            status = "ok" if text.strip() else "empty"
            return Answer.model_validate({"text": text, "status": status, "latency_s": latency_s})
        return failed(
            "client_raised",
            f"the client returned {type(result).__name__}: return the text or an Answer",
            latency_s=latency_s,
        )


def without_secrets(answer: Answer, secrets: Sequence[str]) -> Answer:
    """The answer with no secret left in any field that a text from outside stands in."""
    if not secrets:
        return answer
    names = ("text", "finish_reason", "model_returned", "fingerprint")
    fields: dict[str, Any] = {
        name: redact(value, secrets)
        for name in names
        if (value := getattr(answer, name)) is not None
    }
    if answer.error is not None:
        message = redact(answer.error.message, secrets)
        fields["error"] = answer.error.model_copy(update={"message": message})
    return answer.model_copy(update=fields)


def _asker(client: Client) -> Callable[[Request, int], Any]:
    async def ask(request: Request, sample: int) -> Any:
        return await client.answer(request, sample)

    return ask


def _one_argument(call: Pipeline) -> Callable[[Request, int], Any]:
    is_async = inspect.iscoroutinefunction(call) or inspect.iscoroutinefunction(
        getattr(call, "__call__", None)  # noqa: B004 - not asked whether, but what is called
    )

    async def ask(request: Request, _: int) -> Any:
        result = call(request) if is_async else await _in_thread(call, request)
        return await result if inspect.isawaitable(result) else result

    return ask


async def _in_thread(call: Pipeline, request: Request) -> Any:
    # Not the loop's executor: that has few threads, and a call that hangs would hold up the exit
    # of the interpreter. A daemon thread costs 0.1 ms and is left behind when it hangs.
    loop = asyncio.get_running_loop()
    future: asyncio.Future[Any] = loop.create_future()
    context = contextvars.copy_context()

    def settle(result: Any, error: BaseException | None) -> None:
        if future.cancelled():
            return
        if error is None:
            future.set_result(result)
        else:
            future.set_exception(error)

    def run() -> None:
        result, error = None, None
        try:
            result = context.run(call, request)
        except BaseException as raised:  # whatever it is belongs to this call, not to the thread
            error = raised
            if isinstance(raised, StopIteration | KeyboardInterrupt | SystemExit):
                # These cannot be put into a future, or would stop the event loop.
                error = RuntimeError(f"{type(raised).__name__}: {raised}")
        try:
            loop.call_soon_threadsafe(settle, result, error)
        except RuntimeError:
            # The loop was closed while the call was still running: nobody waits any more.
            return

    threading.Thread(target=run, name="fineval-client", daemon=True).start()
    return await future
