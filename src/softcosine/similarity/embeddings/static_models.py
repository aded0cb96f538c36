"""Static vectors of word pieces in safetensors files, with the tokenizer beside them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softcosine.errors import InvalidInputError
from softcosine.similarity.embeddings.composed_vectors import ComposedVectors
from softcosine.similarity.embeddings.word_pieces import WordPieces

_TYPES = {f"F{8 * size}": f"<f{size}" for size in (8, 4, 2)} | {"BF16": "<u2", "U8": "u1"}
_TYPES |= {f"I{8 * size}": f"<i{size}" for size in (8, 4, 2, 1)}
_VECTORS = ("embeddings", "embedding.weight", "vectors", "weight")
_FILES = ("model.safetensors", "0_StaticEmbedding/model.safetensors")
# The files of a table of static vectors on the hub.
HUB_FILES = (
    *("config.json", "model.safetensors", "tokenizer.json", "modules.json"),
    "0_StaticEmbedding/*",
)
_LONGEST_HEADER = 100_000_000  # as in the reference implementation


def is_safetensors(magic: bytes) -> bool:
    """Whether a file starts like safetensors: a length of eight bytes, then a brace."""
    return (
        len(magic) > 8
        and magic[8:9] == b"{"
        and int.from_bytes(magic[:8], "little") < _LONGEST_HEADER
    )


def read_folder(folder: Path) -> ComposedVectors:
    """Return the vectors of a model2vec folder, or of a static sentence-transformers model.

    Raises
    ------
    InvalidInputError
        If ``model.safetensors`` is missing, or as in `read_safetensors`.
    """
    for name in _FILES:
        if (folder / name).is_file():
            return read_safetensors(folder / name)
    raise InvalidInputError(
        f"the folder has no {' or '.join(_FILES)}; name a file, or a folder of model2vec."
    )


def read_safetensors(path: Path) -> ComposedVectors:
    """Return the vectors of a safetensors file, with ``tokenizer.json`` beside it.

    model2vec's ``weights`` and ``mapping`` of tokens are applied.

    Raises
    ------
    InvalidInputError
        If a file violates its format, or the files do not fit each other.
    """
    arrays = _tensors(path)
    matrices = [name for name, array in arrays.items() if array.ndim == 2]
    name = next((name for name in _VECTORS if name in matrices), None)
    if name is None and len(matrices) == 1:
        name = matrices[0]
    if name is None:
        names = ", ".join([*arrays][:5]) + (", ..." if len(arrays) > 5 else "")
        raise InvalidInputError(
            f"the file holds {names or 'nothing'}; needed is a matrix of vectors, named "
            f"{' or '.join(_VECTORS)}. A neural encoder is for EncoderSimilarity."
        )
    tokenizer = path.parent / "tokenizer.json"
    if not tokenizer.is_file():
        raise InvalidInputError(
            "there is no tokenizer.json beside it, which names the pieces of its vectors."
        )
    pieces = _pieces_of_tokenizer(tokenizer)
    weights, rows = arrays.get("weights"), arrays.get("mapping")
    return ComposedVectors(pieces, arrays[name], weights=weights, rows=rows)


def _tensors(path: Path) -> dict[str, NDArray[Any]]:
    """Memory-map the arrays of a safetensors file."""
    size = path.stat().st_size
    with path.open("rb") as file:
        length = int.from_bytes(file.read(8), "little")
        if not 0 < length <= min(size - 8, _LONGEST_HEADER):
            raise InvalidInputError(
                f"the header is to have {length} bytes, of {size} in all; it was cut short."
            )
        try:
            header = json.loads(file.read(length))
            header.pop("__metadata__", None)
            return {name: _tensor(path, facts, 8 + length) for name, facts in header.items()}
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise InvalidInputError(f"the header is damaged: {error!r}") from None


def _tensor(path: Path, facts: Mapping[str, Any], start: int) -> NDArray[Any]:
    if facts["dtype"] not in _TYPES:
        raise InvalidInputError(
            f"a tensor is of type {facts['dtype']}; read are {', '.join(_TYPES)}."
        )
    dtype = np.dtype(_TYPES[facts["dtype"]])
    shape = tuple(int(n) for n in facts["shape"])
    first, last = facts["data_offsets"]
    n_numbers = int(np.prod(shape, dtype=object))
    held = path.stat().st_size - start
    if not 0 <= first <= last <= held or last - first != n_numbers * dtype.itemsize:
        raise InvalidInputError(
            f"a tensor of shape {shape} is to lie at bytes {first} to {last} of {held}; the file "
            "was cut short or is damaged."
        )
    if not n_numbers:
        return np.zeros(shape, dtype)
    array = np.memmap(path, dtype, "r", start + first, shape)
    if facts["dtype"] == "BF16":  # bfloat16 is the upper half of a float32
        return (array.astype(np.uint32) << 16).view(np.float32)
    return array


def _pieces_of_tokenizer(path: Path) -> WordPieces:
    """Return the word pieces of a Hugging Face tokenizer file."""
    try:
        return WordPieces.from_tokenizer(json.loads(path.read_text(encoding="utf-8")))
    except InvalidInputError as error:
        raise InvalidInputError(
            f"{error} Otherwise make a table of words with the library that the model comes from, "
            "and give it as arrays."
        ) from None
    except (ValueError, RecursionError) as error:
        raise InvalidInputError(f"not a readable tokenizer: {error!r}") from None
