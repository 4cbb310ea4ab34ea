"""The embedded model: llama.cpp inside the process, asked over 127.0.0.1 like any provider."""

from __future__ import annotations

import asyncio
import os
import secrets
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from pytest_fineval.clients.base import Answer, Request, failed
from pytest_fineval.clients.local_models import fetch_model, model_file
from pytest_fineval.clients.providers import OpenAICompatibleClient
from pytest_fineval.clients.recording import absent
from pytest_fineval.clients.wording import one_line
from pytest_fineval.errors import InputError
from pytest_fineval.settings import ModelSettings

__all__ = ["LocalClient", "fetch_model"]

CONTEXT = 4096
"""Tokens of prompt and answer together; the model was trained on 8192."""

MOST_THREADS = 2
"""More gain nothing on a model this small. The number of threads does not change the text."""

KEY = "FINEVAL_LOCAL_KEY"


class LocalClient:
    """Answers from a GGUF file on the CPU, one call at a time.

    One at a time because a batch of several changes the last bits of each, and with them now and
    then an answer: here the same request and seed give the same text. The engine's version and the
    file's digest stand in every answer's fingerprint: another build may answer otherwise.
    """

    def __init__(self, settings: ModelSettings):
        """
        Args:
            settings: `model` is one of `local_models.MODELS`; `options` go to the server.

        Raises:
            InputError: the engine or the model file is missing, or the name is unknown.
        """
        if find_spec("xllamacpp") is None:
            raise InputError(
                'the package xllamacpp is missing: pip install "pytest-fineval[local]"'
            )
        self._settings = settings
        self._file = model_file(settings.model)
        self.fingerprint = f"xllamacpp {version('xllamacpp')}, gguf {self._file.sha256[:16]}"
        self._turn = asyncio.Lock()
        self._server: Any = None
        self._client: OpenAICompatibleClient | None = None

    async def answer(self, request: Request, sample: int) -> Answer:
        if request.absent:
            return absent(request)
        async with self._turn:
            if self._client is None:
                try:
                    self._client = await asyncio.to_thread(self._start)
                except Exception as error:  # whatever the engine raises: this call has no answer
                    return failed("server", one_line(f"the embedded model did not start: {error}"))
            answer = await self._client.answer(request, sample)
        if answer.status == "error":
            return answer
        return answer.model_copy(update={"fingerprint": self.fingerprint, "cost_usd": 0.0})

    async def close(self) -> None:
        if self._client is not None:
            await self._client.close()
        self._client = None
        self._server = None  # the engine stops when nothing refers to it

    def _start(self) -> OpenAICompatibleClient:
        # The server listens on the machine: without a key any local process could use it.
        key = secrets.token_hex(16)
        self._server = _serve(self._file.path, self._settings.model, key)
        settings = self._settings.model_copy(
            update={"base_url": self._server.listening_address + "/v1", "api_key_env": KEY}
        )
        return OpenAICompatibleClient(settings, env={KEY: key}, proxies=False)


def _serve(path: Path, name: str, key: str) -> Any:
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = str(path)
    params.model_alias = {name}
    params.api_keys = [key]
    params.n_ctx = CONTEXT
    params.n_parallel = 1
    params.n_gpu_layers = 0
    # What an earlier prompt left in the cache was computed in other batches: see the class.
    params.cache_prompt = False
    params.cache_ram_mib = 0
    # The threads wait for each other in a loop, so one that is kept from its core stalls all: leave
    # a core to the tests.
    count = max(1, min(MOST_THREADS, (os.cpu_count() or 1) - 1))
    for threads in (params.cpuparams, params.cpuparams_batch):
        threads.n_threads = count
        threads.poll = 0  # do not spin while waiting: the cores are shared with the tests
    params.warmup = False
    params.verbosity = 0
    params.ui = False
    params.endpoint_slots = False
    return xllamacpp.Server(params)
