"""The sentence encoder without torch: its weights as an ONNX graph, run by onnxruntime.

The graph is built here from the same model.safetensors as sentence-transformers loads, so there is
no export to keep and no second file to trust. It starts in a second instead of ten and takes 200
MB of packages instead of 1.4 GB.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from pytest_fineval.scoring.embeddings import BATCH, ENCODER, WIDTH, Vectors, model_folder

PACKAGES = ("onnx", "onnxruntime", "safetensors", "tokenizers")
"""What it needs: the extra `onnx`."""

_OPSET = 20
_MASKED = np.array(-1e9, dtype=np.float32)


class OnnxEmbedder:
    """all-MiniLM-L6-v2 by onnxruntime, on the CPU; equal to sentence-transformers within 1e-6.

    Raises:
        MeasurementError: the weights are not installed, or are others.
    """

    identity = ENCODER

    def __init__(self) -> None:
        self._folder = model_folder()
        self._ready: tuple[Any, Any] | None = None

    def encode(self, texts: Sequence[str]) -> Vectors:
        """float32 (n, 384), each row of length 1; batches of 32 texts of like length."""
        vectors: Vectors = np.empty((len(texts), WIDTH), dtype=np.float32)
        if not texts:
            return vectors
        if self._ready is None:
            self._ready = _tokenizer(self._folder), _session(self._folder)
        tokenizer, session = self._ready
        order = sorted(range(len(texts)), key=lambda i: len(texts[i]))
        for start in range(0, len(order), BATCH):
            batch = order[start : start + BATCH]
            encoded = tokenizer.encode_batch([texts[i] for i in batch])
            mask = np.array([row.attention_mask for row in encoded], dtype=np.float32)
            given = {
                "tokens": np.array([row.ids for row in encoded], dtype=np.int64),
                "positions": np.arange(mask.shape[1], dtype=np.int64),
                "mask": mask,
            }
            [hidden] = session.run(["hidden"], given)
            vectors[batch] = _pooled(hidden, mask)
        return vectors


def _pooled(hidden: npt.NDArray[np.float32], mask: npt.NDArray[np.float32]) -> Vectors:
    """Mean over the tokens that are no padding, scaled to length 1."""
    mean = np.einsum("bsd,bs->bd", hidden, mask) / mask.sum(axis=1, keepdims=True)
    return np.asarray(mean / np.linalg.norm(mean, axis=1, keepdims=True), dtype=np.float32)


def _tokenizer(folder: Path) -> Any:
    from tokenizers import Tokenizer

    settings = json.loads((folder / "sentence_bert_config.json").read_text("utf-8"))
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.enable_truncation(settings["max_seq_length"])
    tokenizer.enable_padding()
    return tokenizer


def _session(folder: Path) -> Any:
    import onnxruntime
    from safetensors.numpy import load_file

    config = json.loads((folder / "config.json").read_text("utf-8"))
    graph = _Graph(load_file(folder / "model.safetensors"))
    model = graph.bert(config["num_hidden_layers"], config["num_attention_heads"],
                       config["layer_norm_eps"])  # fmt: skip
    return onnxruntime.InferenceSession(
        model.SerializeToString(), providers=["CPUExecutionProvider"]
    )


class _Graph:
    """The nodes of a BERT encoder (Devlin et al. 2019), named by the values they give."""

    def __init__(self, weights: Mapping[str, npt.NDArray[np.float32]]):
        self._weights = weights
        self._constants: dict[str, npt.NDArray[Any]] = {}
        self._nodes: list[Any] = []

    def bert(self, layers: int, heads: int, epsilon: float) -> Any:
        """The whole model: tokens and positions (int64) and mask (float32) to hidden states."""
        from onnx import TensorProto, helper, numpy_helper

        inputs = [("tokens", TensorProto.INT64, ["b", "s"]), ("positions", TensorProto.INT64, ["s"]),
                  ("mask", TensorProto.FLOAT, ["b", "s"])]  # fmt: skip
        x = self._embeddings(epsilon)
        bias = self._hidden_from("mask")
        for layer in range(layers):
            x = self._layer(x, bias, f"encoder.layer.{layer}", heads, epsilon)
        self._nodes.append(helper.make_node("Identity", [x], ["hidden"]))
        graph = helper.make_graph(
            self._nodes,
            "encoder",
            [helper.make_tensor_value_info(*given) for given in inputs],
            [helper.make_tensor_value_info("hidden", TensorProto.FLOAT, ["b", "s", WIDTH])],
            [numpy_helper.from_array(array, name) for name, array in self._constants.items()],
        )
        # The oldest form of the file that has this set of operators: any onnxruntime reads it.
        return helper.make_model(
            graph, ir_version=9, opset_imports=[helper.make_opsetid("", _OPSET)]
        )

    def _embeddings(self, epsilon: float) -> str:
        words = self._op("Gather", self._weight("embeddings.word_embeddings.weight"), "tokens")
        places = self._op(
            "Gather", self._weight("embeddings.position_embeddings.weight"), "positions"
        )
        kind = self._weights["embeddings.token_type_embeddings.weight"][0]
        first = self._op("Add", words, self._constant("embeddings.first_kind", kind))
        return self._normed(self._op("Add", first, places), "embeddings.LayerNorm", epsilon)

    def _hidden_from(self, mask: str) -> str:
        """What is added to the attention scores: 0 for a token, far below 0 for padding."""
        padding = self._op("Sub", self._constant("one", np.array(1, dtype=np.float32)), mask)
        bias = self._op("Mul", padding, self._constant("masked", _MASKED))
        return self._op("Unsqueeze", bias, self._constant("axes", np.array([1, 2])))

    def _layer(self, x: str, bias: str, name: str, heads: int, epsilon: float) -> str:
        width = WIDTH // heads
        split = self._constant("split", np.array([0, 0, heads, width]))
        query, key, value = (
            self._op("Reshape", self._linear(x, f"{name}.attention.self.{part}"), split)
            for part in ("query", "key", "value")
        )
        scores = self._op(
            "MatMul",
            self._op("Transpose", query, perm=[0, 2, 1, 3]),
            self._op("Transpose", key, perm=[0, 2, 3, 1]),
        )
        root = self._constant("root", np.array(math.sqrt(width), dtype=np.float32))
        scores = self._op("Add", self._op("Div", scores, root), bias)
        mixed = self._op(
            "MatMul",
            self._op("Softmax", scores, axis=-1),
            self._op("Transpose", value, perm=[0, 2, 1, 3]),
        )
        joined = self._op(
            "Reshape",
            self._op("Transpose", mixed, perm=[0, 2, 1, 3]),
            self._constant("join", np.array([0, 0, WIDTH])),
        )
        attended = self._linear(joined, f"{name}.attention.output.dense")
        x = self._normed(
            self._op("Add", attended, x), f"{name}.attention.output.LayerNorm", epsilon
        )
        inner = self._op("Gelu", self._linear(x, f"{name}.intermediate.dense"))
        outer = self._linear(inner, f"{name}.output.dense")
        return self._normed(self._op("Add", outer, x), f"{name}.output.LayerNorm", epsilon)

    def _linear(self, x: str, name: str) -> str:
        across = np.ascontiguousarray(self._weights[f"{name}.weight"].T)
        product = self._op("MatMul", x, self._constant(f"{name}.across", across))
        return self._op("Add", product, self._weight(f"{name}.bias"))

    def _normed(self, x: str, name: str, epsilon: float) -> str:
        scale, shift = self._weight(f"{name}.weight"), self._weight(f"{name}.bias")
        return self._op("LayerNormalization", x, scale, shift, axis=-1, epsilon=epsilon)

    def _weight(self, name: str) -> str:
        return self._constant(name, self._weights[name])

    def _constant(self, name: str, array: npt.NDArray[Any]) -> str:
        self._constants[name] = array
        return name

    def _op(self, kind: str, *inputs: str, **attributes: Any) -> str:
        from onnx import helper

        output = f"{kind}_{len(self._nodes)}"
        self._nodes.append(helper.make_node(kind, list(inputs), [output], **attributes))
        return output
