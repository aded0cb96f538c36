"""gensim's word vectors, in memory and in its saved files; nothing in a pickle is executed."""

from __future__ import annotations

import pickle
import tokenize
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from softcosine.errors import InvalidInputError, MalformedFileError
from softcosine.similarity.embeddings.composed_vectors import ComposedVectors
from softcosine.similarity.embeddings.subwords import Subwords
from softcosine.similarity.embeddings.word_vectors import WordVectors

if TYPE_CHECKING:
    from gensim.models import KeyedVectors

# Exceptions of NumPy for a damaged .npy file.
ARRAY_ERRORS = (ValueError, EOFError, OSError, SyntaxError, tokenize.TokenError)


def table_of(vectors: KeyedVectors) -> WordVectors | ComposedVectors:
    """Return the table of a KeyedVectors, or of a model with one as ``wv``.

    Raises
    ------
    InvalidInputError
        If it is neither.
    """
    holder = getattr(vectors, "wv", vectors)
    try:
        return _table(vars(holder))
    except (KeyError, TypeError, AttributeError):
        raise InvalidInputError(
            f"{type(vectors).__name__} is no KeyedVectors of gensim; needed are index_to_key and "
            "vectors."
        ) from None


def read_gensim(path: Path) -> WordVectors | ComposedVectors:
    """Return the vectors of a file saved by gensim's KeyedVectors, Word2Vec or FastText.

    gensim pickles its objects. Only strings, numbers and arrays are read from the pickle; no class
    or function is imported or called. Large arrays in files beside it are memory-mapped.

    Raises
    ------
    InvalidInputError, MalformedFileError
        If the file is another pickle or damaged, or an array is missing.
    """
    try:
        with path.open("rb") as file:
            saved = _Reader(file).load()
        beside = str(path)
        if isinstance(saved, _Inert) and isinstance(vars(saved).get("wv"), _Inert):
            saved = vars(saved)["wv"]
            beside += ".wv"
        fields = {name: _plain(value) for name, value in vars(saved).items()}
    except (pickle.UnpicklingError, EOFError, ValueError, TypeError, AttributeError, IndexError,
            KeyError, MemoryError, OverflowError, RecursionError) as error:  # fmt: skip
        raise InvalidInputError(
            f"the file is no pickle of gensim's, or is damaged: {error!r}"
        ) from None
    apart = fields.get("__numpys")
    for name in apart if isinstance(apart, list) else ():
        array = Path(f"{beside}.{name}.npy")
        try:
            fields[name] = np.load(array, mmap_mode="r", allow_pickle=False)
        except FileNotFoundError:
            raise InvalidInputError(
                f"gensim keeps {name} in {array.name}, which is missing beside it."
            ) from None
        except ARRAY_ERRORS as error:
            raise MalformedFileError(array, f"not a readable .npy array: {error}") from None
    try:
        return _table(fields)
    except (KeyError, TypeError):
        raise InvalidInputError(
            f"the pickle holds {', '.join(sorted(fields)) or 'nothing'}; needed is what gensim's "
            "KeyedVectors.save writes, with index_to_key and vectors."
        ) from None


def _table(fields: dict[str, Any]) -> WordVectors | ComposedVectors:
    """Return the table from the fields of a KeyedVectors; KeyError names a missing field."""
    words = fields["index2word"] if "index2word" in fields else fields["index_to_key"]
    if fields.get("vectors_ngrams") is None:
        return WordVectors([str(word) for word in words], fields["vectors"])
    if not fields.get("compatible_hash", True):
        raise InvalidInputError(
            "the n-grams were hashed by a fault of gensim before 3.8; save the vectors as word2vec "
            "text (save_word2vec_format), or train them again."
        )
    subwords = Subwords(
        words, min_n=fields["min_n"], max_n=fields["max_n"], n_buckets=fields["bucket"]
    )
    own, ngrams = fields["vectors_vocab"], fields["vectors_ngrams"]
    return ComposedVectors(
        subwords, np.vstack((own, ngrams)) if subwords.n_pieces > len(own) else own
    )


class _Inert(dict[Any, Any]):
    """Replaces an object of any class; stores its state and does nothing."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__()

    def __setstate__(self, state: Any) -> None:
        if isinstance(state, dict):
            vars(self).update(state)

    def append(self, item: Any) -> None:
        """Store an item of a list."""

    extend = add = append

    def __hash__(self) -> int:  # type: ignore[override]
        return id(self)


class _Dtype:
    """Data type of an array: its name and byte order."""

    def __init__(self, name: str, *_: Any) -> None:
        self.name = name

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        self.name = f"{state[1]}{self.name}" if state[1] in "<>" else self.name


class _Array:
    """A numeric array; other arrays are dropped."""

    def __init__(self, *_: Any) -> None:
        self.array: NDArray[Any] | None = None

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        _, shape, dtype, fortran, raw = state
        kind = np.dtype(dtype.name)
        if kind.kind in "iuf" and isinstance(raw, bytes):
            self.array = np.frombuffer(raw, kind).reshape(shape, order="F" if fortran else "C")


def _bytes(text: str, *_: Any) -> bytes:
    """Return the bytes that old pickles store as text."""
    return text.encode("latin-1")


_STAND_INS: dict[tuple[str, str], Any] = {
    ("numpy.core.multiarray", "_reconstruct"): _Array,
    ("numpy._core.multiarray", "_reconstruct"): _Array,
    ("numpy", "ndarray"): _Array,
    ("numpy", "dtype"): _Dtype,
    ("_codecs", "encode"): _bytes,
}


class _Reader(pickle.Unpickler):
    """Unpickler that imports nothing."""

    def __init__(self, file: BinaryIO) -> None:
        super().__init__(file, encoding="latin1")

    def find_class(self, module: str, name: str, /) -> Any:
        """Return the replacement of a class or function in the pickle."""
        return _STAND_INS.get((module, name), _Inert)


def _plain(value: Any) -> Any:
    return value.array if isinstance(value, _Array) else value
