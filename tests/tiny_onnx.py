"""Folders of small sentence encoders in ONNX: pooling, and a dense layer after it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

_FLOAT, _INT64 = 1, 7  # element types of ONNX


def weights(words: Sequence[str], dimensions: int, seed: int = 0) -> NDArray[np.float32]:
    """Return a vector for each word, and one for all others in front of them."""
    rows = np.random.default_rng(seed).normal(size=(len(words) + 1, dimensions))
    return rows.astype(np.float32)


def write_encoder(
    folder: Path,
    words: Sequence[str],
    table: NDArray[np.float32],
    dense: NDArray[np.float32],
    *,
    outputs: Sequence[str] = ("token_embeddings", "sentence_embedding"),
    prompts: Mapping[str, str] | None = None,
) -> Path:
    """Write the mean of the words' rows of a table, times a dense layer, as a folder of ONNX."""
    from tokenizers import Tokenizer
    from tokenizers.models import WordLevel
    from tokenizers.pre_tokenizers import Whitespace

    folder.mkdir(parents=True)
    vocabulary = {"[UNK]": 0} | {word: number for number, word in enumerate(words, 1)}
    tokenizer = Tokenizer(WordLevel(vocabulary, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = Whitespace()
    tokenizer.save(str(folder / "tokenizer.json"))
    nodes = [
        _node("Gather", ["table", "input_ids"], "token_embeddings"),
        _node("ReduceMean", ["token_embeddings"], "mean", {"axes": [1], "keepdims": [0]}),
        _node("MatMul", ["mean", "dense"], "sentence_embedding"),
    ]
    shapes: dict[str, list[int | str]] = {
        "token_embeddings": ["batch", "tokens", table.shape[1]],
        "sentence_embedding": ["batch", dense.shape[1]],
    }
    graph = b"".join([
        *(_field(1, node) for node in nodes), _field(2, "tiny"),
        _field(5, _tensor("table", table)), _field(5, _tensor("dense", dense)),
        _field(11, _value("input_ids", _INT64, ["batch", "tokens"])),
        *(_field(12, _value(name, _FLOAT, shapes[name])) for name in outputs),
    ])  # fmt: skip
    model = _field(1, 8) + _field(7, graph) + _field(8, _field(1, "") + _field(2, 13))
    (folder / "model.onnx").write_bytes(model)
    settings: dict[str, Any] = {
        "config.json": {"hidden_size": table.shape[1], "max_position_embeddings": 64},
        "modules.json": [{"type": f"models.{one}"} for one in ("Transformer", "Pooling", "Dense")],
        "1_Pooling/config.json": {"pooling_mode_mean_tokens": True},
        "2_Dense/config.json": {"out_features": dense.shape[1]},
        "config_sentence_transformers.json": {"prompts": dict(prompts or {})},
    }
    for name, content in settings.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(json.dumps(content), "utf-8")
    return folder


def _varint(number: int) -> bytes:
    high, low = divmod(number, 128)
    return bytes([low | 128]) + _varint(high) if high else bytes([low])


def _field(number: int, value: int | str | bytes) -> bytes:
    """Return a field of a message of protocol buffers."""
    if isinstance(value, int):
        return _varint(number << 3) + _varint(value)
    content = value.encode() if isinstance(value, str) else value
    return _varint(number << 3 | 2) + _varint(len(content)) + content


def _node(
    kind: str, inputs: Sequence[str], output: str, attributes: Mapping[str, list[int]] | None = None
) -> bytes:
    found = b"".join(_field(1, name) for name in inputs) + _field(2, output) + _field(4, kind)
    for name, (value,) in (attributes or {}).items():
        several = name == "axes"
        content = _field(1, name) + _field(8 if several else 3, value)
        found += _field(5, content + _field(20, 7 if several else 2))
    return found


def _tensor(name: str, array: NDArray[np.float32]) -> bytes:
    dims = b"".join(_field(1, size) for size in array.shape)
    return dims + _field(2, _FLOAT) + _field(8, name) + _field(9, array.astype("<f4").tobytes())


def _value(name: str, kind: int, shape: Sequence[int | str]) -> bytes:
    dims = b"".join(_field(1, _field(1 if isinstance(n, int) else 2, n)) for n in shape)
    return _field(1, name) + _field(2, _field(1, _field(1, kind) + _field(2, dims)))
