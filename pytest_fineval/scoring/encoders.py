"""The sentence encoders of a project, each with its cache of embeddings.

Which encoder a case needs stands in its scorer's options as the encoder's identity (a name and a
digest of its weights): another encoder is then another scorer version, and the ledger sees it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from pydantic import Field

from pytest_fineval.cases.model import Case
from pytest_fineval.dotted import named
from pytest_fineval.errors import InputError, MeasurementError, nearest
from pytest_fineval.scoring.embeddings import (
    ENCODER,
    Embedder,
    EmbeddingCache,
    cache_path,
    default_embedder,
)
from pytest_fineval.settings import ENCODER_NAME, Frozen, Settings


class EncoderOptions(Frozen):
    """For a scorer that embeds texts: by which encoder."""

    encoder: str = Field(ENCODER, pattern=ENCODER_NAME)


def encoder_of(case: Case) -> str:
    """Identity of the encoder by which a case's texts are embedded."""
    return str(case.scorer.options.get("encoder", ENCODER))


def check(case: Case, settings: Settings) -> None:
    """Refuse a case whose encoder the project does not have.

    Raises:
        InputError: names the encoder and the nearest one that is there.
    """
    encoder = encoder_of(case)
    if encoder not in (known := {ENCODER, *settings.encoders}):
        raise InputError(
            f'scorer "{case.scorer.name}": encoder "{encoder}" is not in [tool.fineval.encoders]; '
            + nearest(encoder, known)
        )


class Embeddings:
    """Caches and encoders by the encoder's identity; read when one is first asked for."""

    def __init__(self, settings: Settings):
        self._settings = settings
        self._caches: dict[str, EmbeddingCache] = {}

    def of(self, encoder: str) -> tuple[EmbeddingCache, Callable[[], Embedder]]:
        """The cache of an encoder, and what makes the encoder when the cache lacks a text.

        Raises:
            InputError: the cache is broken.
        """
        if encoder not in self._caches:
            path = cache_path(self._settings.root / self._settings.recordings, encoder)
            self._caches[encoder] = EmbeddingCache.load(path, encoder)
        made = default_embedder if encoder == ENCODER else partial(self._own, encoder)
        return self._caches[encoder], made

    def save(self) -> None:
        """Write the caches to which something was added."""
        for encoder, cache in self._caches.items():
            if cache.added:
                cache.save(cache_path(self._settings.root / self._settings.recordings, encoder))

    def _own(self, encoder: str) -> Embedder:
        dotted = self._settings.encoders.get(encoder)
        if dotted is None:
            raise MeasurementError(
                f'encoder "{encoder}" is not in [tool.fineval.encoders]; '
                + nearest(encoder, {ENCODER, *self._settings.encoders})
            )
        setting = f'[tool.fineval.encoders] "{encoder}" = "{dotted}"'
        try:
            made: Embedder = named(dotted, self._settings.root, setting)()
        except InputError as error:
            raise MeasurementError(error.fault) from error
        except Exception as error:
            raise MeasurementError(f"{setting} raised {type(error).__name__}: {error}") from error
        said = getattr(made, "identity", None)
        if said != encoder:
            raise MeasurementError(f"{setting} gives the encoder {said!r}: the names must agree")
        return made
