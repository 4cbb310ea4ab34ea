"""From a model's name in the settings to the Client that answers."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path

from pytest_fineval.clients.base import Client
from pytest_fineval.clients.callables import as_client
from pytest_fineval.clients.providers import OpenAICompatibleClient
from pytest_fineval.clients.recording import Recorder, RecordingClient, Recordings, RecordMode
from pytest_fineval.dotted import named
from pytest_fineval.errors import InputError, nearest
from pytest_fineval.settings import ModelSettings, Settings

BUILT_IN = ("recording", "openai-compatible", "local")
VENDORS = ("openai", "anthropic", "google")
ENTRY_POINTS = "pytest_fineval.clients"
"""Group of the entry points by which a package brings clients: name -> factory(settings)."""

Guard = Callable[[Client], Client]
"""Puts limits and the spend cap around a live client (`engine.limits.guarded`)."""


def client_for(
    name: str,
    settings: Settings,
    *,
    live: bool,
    record: RecordMode = "none",
    cases: Mapping[str, str] | None = None,
    guard: Guard | None = None,
) -> Client:
    """The client that answers for one model of the settings.

    Args:
        name: of a `[tool.fineval.models.NAME]` table.
        settings: the project's settings.
        live: may anything but recordings answer? Without it there is never a network call.
        record: what to do with live answers (`RecordMode`).
        cases: digest of a request -> case id, for the recorded lines; may be filled later.
        guard: wraps the live client, under the recordings: what is replayed is not limited.

    Returns:
        A RecordingClient, or a Recorder around the live client.

    Raises:
        InputError: no such model or client, a client that cannot be built (missing key, base_url
            or package), recording without `live`, or a broken recording file.
    """
    model = settings.model(name)
    place = settings.root / "pyproject.toml"
    _check_client_name(model.client, f"[tool.fineval.models.{name}] client", place)
    if not live:
        if record != "none":
            raise InputError(f"--fineval-record {record} needs --fineval-live")
        return RecordingClient(Recordings.load(recordings_path(name, settings)))
    if model.client == "recording":
        return RecordingClient(Recordings.load(recordings_path(name, settings)))
    try:
        client = _live(model, settings.root)
    except InputError as error:
        if error.path is not None:
            raise
        raise InputError(f"[tool.fineval.models.{name}] {error.fault}", path=place) from error
    return recorded(client, name, settings, record=record, cases=cases, guard=guard)


def recorded(
    client: Client,
    name: str,
    settings: Settings,
    *,
    record: RecordMode,
    cases: Mapping[str, str] | None = None,
    guard: Guard | None = None,
) -> Recorder:
    """A live client (built in or the user's own) with the recordings of model `name` around it.

    Raises:
        InputError: the recording file is broken.
    """
    recordings = Recordings.load(recordings_path(name, settings))
    return Recorder(client if guard is None else guard(client), recordings, record, cases)


def recordings_path(name: str, settings: Settings) -> Path:
    """The recording file of a model: its `recordings` setting, else NAME.jsonl in the folder of
    recordings; both relative to the project's root."""
    model = settings.models.get(name)
    if model is not None and model.recordings:
        return settings.root / model.recordings
    return settings.root / settings.recordings / f"{name}.jsonl"


def _check_client_name(client: str, setting: str, place: Path) -> None:
    if ":" in client or client in BUILT_IN or client in VENDORS:
        return
    plugged = _plugged()
    if client not in plugged:
        known = [*BUILT_IN, *VENDORS, *plugged]
        raise InputError(
            f'{setting} = "{client}" is unknown; {nearest(client, known)} '
            '(or "package.module:factory")',
            path=place,
        )


def _plugged() -> dict[str, EntryPoint]:
    """Clients that installed packages bring, by name."""
    return {one.name: one for one in entry_points(group=ENTRY_POINTS)}


def _live(model: ModelSettings, root: Path) -> Client:
    if model.client == "openai-compatible":
        return OpenAICompatibleClient(model)
    if model.client == "local":
        from pytest_fineval.clients.local import LocalClient

        return LocalClient(model)
    secret = os.environ.get(model.api_key_env or "", "")
    made: object
    if model.client in VENDORS:
        from pytest_fineval.clients import vendors

        made = vendors.VENDORS[model.client](model, os.environ)
    else:
        made = _made(model, root)
    return as_client(made, timeout_s=model.timeout_s, secrets=(secret,) if secret else ())


def _made(model: ModelSettings, root: Path) -> object:
    """What the factory at a dotted path or of an entry point returns for these settings."""
    setting = f'client = "{model.client}"'
    dotted = model.client if ":" in model.client else _plugged()[model.client].value
    factory = named(dotted, root, setting)
    try:
        return factory(model)
    except InputError:
        raise
    except Exception as error:
        raise InputError(f"{setting} raised {type(error).__name__}: {error}") from error
