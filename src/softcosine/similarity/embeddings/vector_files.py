"""Readers of word vector files, chosen by content; word2vec, GloVe and NumPy formats."""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from os import PathLike
from pathlib import Path
from typing import Any, BinaryIO, cast

import numpy as np
from numpy.typing import NDArray

from softcosine._progress import Progress
from softcosine._textio import DAMAGED, unpacked
from softcosine._threads import Workers
from softcosine._validation import check_list
from softcosine.errors import InvalidInputError, MalformedFileError
from softcosine.similarity.embeddings.composed_vectors import ComposedVectors
from softcosine.similarity.embeddings.fasttext_files import FASTTEXT_MAGIC, read_fasttext
from softcosine.similarity.embeddings.static_models import (
    is_safetensors,
    read_folder,
    read_safetensors,
)
from softcosine.similarity.embeddings.vector_text import GrowingRows, TextParser
from softcosine.similarity.embeddings.word_pieces import WordPieces, has_word_pieces
from softcosine.similarity.embeddings.word_vectors import WordVectors, checked_scales
from softcosine.storage import NPZ_ERRORS, checked_path

_PIECE = 4 << 20  # bytes per read
_SAMPLE = 8 << 10  # bytes read to detect the format
_LONGEST = 64 << 20  # maximum bytes of one word with its vector
_HEADER = re.compile(rb"\s*(\d{1,15})[ \t]+(\d{1,9})[ \t]*\r?\n")
_NUMERIC = frozenset(b"0123456789.+-eE \t\r\n")
_CONTROL = frozenset(range(32)) - frozenset(b"\t\n\r\x0b\x0c\x1c\x1d\x1e\x1f")
_NPZ_WORDS = ("words", "tokens", "vocab", "vocabulary", "terms", "keys", "labels", "index_to_key")
_NPZ_VECTORS = ("vectors", "v", "embeddings", "embedding", "matrix", "X", "q")
_PICKLE = tuple(b"\x80" + bytes([protocol]) for protocol in range(2, 6))
_ZIP = (b"PK\x03\x04", b"PK\x05\x06")  # the second is an empty one


def read_vectors(
    path: str | PathLike[str],
    *,
    words: Collection[str] | None = None,
    progress: Progress | None = None,
) -> WordVectors | ComposedVectors:
    """Return the word vectors of a file; the format is detected from the content, not the name.

    ================ ============================================================================
    word2vec text    first line ``n_words dimensions``, then one word with its numbers per line
                     (also fastText's ``.vec``); gzipped or not
    word2vec binary  the same first line, then each word, a space, and its float32 numbers, little
                     endian; gzipped or not
    GloVe            one word with its numbers per line; words may contain spaces; gzipped or not
    fastText binary  ``.bin``, not quantised; unknown words are composed of their n-grams
    ``.npz``         an array of words (``words``, ``tokens``, ``vocab``, ...; strings, or the bytes
                     of a text with one word per line), an array of vectors (``vectors``, ``v``,
                     ``q``, ...), and optionally ``scales``, a factor per component
    safetensors      the vectors of word pieces, with ``tokenizer.json`` beside it
    a folder         a model2vec model, or a static model of sentence-transformers
    ================ ============================================================================

    Text is UTF-8, with or without a byte order mark; invalid bytes become U+FFFD. Blank lines are
    skipped. If the words of arrays contain suffix pieces (``##able``), other words are composed of
    word pieces.

    Parameters
    ----------
    path : path
    words : collection of str, optional
        Return only these words, in any letter case, composed of n-grams or word pieces if
        necessary.
    progress : callable, optional
        Called as ``progress(done, total)``, in bytes of the file on disk.

    Raises
    ------
    FileNotFoundError
        If the file does not exist.
    InvalidInputError
        If `words` is a single string.
    MalformedFileError
        If the file violates its format, is truncated, does not match its header, or has an unknown
        format.
    """
    path = checked_path(path)
    if words is not None:
        check_list("words", words)
    try:
        table = _read(path, words, progress)
    except MalformedFileError:  # it names the line, or another file
        raise
    except InvalidInputError as error:
        raise MalformedFileError(path, str(error)) from error
    if progress is not None and path.is_file():
        size = path.stat().st_size
        progress(size, size)
    return table


def _read(
    path: Path, words: Collection[str] | None, progress: Progress | None
) -> WordVectors | ComposedVectors:
    """Read a file or folder; raise InvalidInputError if it violates its format."""
    if path.is_dir():
        return _kept(read_folder(path), words)
    with path.open("rb") as file:
        magic = file.read(16)
    if not magic:
        raise InvalidInputError("the file is empty; needed are words and their vectors.")
    if magic.startswith(_ZIP):
        return _read_npz(path, words)
    if magic.startswith(FASTTEXT_MAGIC):
        return _kept(read_fasttext(path), words)
    if is_safetensors(magic):
        return _kept(read_safetensors(path), words)
    with _opened(path, progress) as stream:
        return _read_stream(path, stream, _keys(words))


def _keys(words: Collection[str] | None) -> frozenset[str] | None:
    """Return the casefolded words to select."""
    return None if words is None else frozenset(word.casefold() for word in words)


def _kept(
    table: WordVectors | ComposedVectors, words: Collection[str] | None
) -> WordVectors | ComposedVectors:
    """Return the table of the selected words."""
    return table if words is None else table.of(sorted(set(words)))


@dataclass(frozen=True, slots=True)
class _VectorFile:
    """The decompressed bytes of a file, in blocks."""

    file: BinaryIO
    report: Callable[[], None]

    def pieces(self) -> Iterator[bytes]:
        """Yield the remaining bytes, and report the progress after each block."""
        while piece := self.file.read(_PIECE):
            yield piece
            self.report()


@contextmanager
def _opened(path: Path, progress: Progress | None) -> Iterator[_VectorFile]:
    """Open a file for reading, decompressed if necessary."""
    total = path.stat().st_size
    with path.open("rb") as raw:
        file = unpacked(raw)

        def report() -> None:
            if progress is not None:
                progress(raw.tell(), total)

        try:
            yield _VectorFile(file, report)
        except DAMAGED as error:
            raise InvalidInputError(f"the compressed file is damaged: {error}") from error


def _read_stream(path: Path, stream: _VectorFile, keep: frozenset[str] | None) -> WordVectors:
    """Read word2vec's or GloVe's format."""
    sample = stream.file.read(_SAMPLE).removeprefix(codecs.BOM_UTF8)
    header = _HEADER.match(sample)
    promised: tuple[int, int] | None = None
    if header is not None:
        promised = (int(header[1]), int(header[2]))
        sample = sample[header.end() :]
    binary = _is_binary(sample)
    if sample.startswith(_PICKLE):
        raise InvalidInputError(
            "it is a pickle, as gensim's save() writes; load it by gensim and pass the object to "
            "EmbeddingSimilarity.from_gensim, or save it by save_word2vec_format."
        )
    if promised is None and binary:
        raise InvalidInputError(
            "it is UTF-16 text; convert it: iconv -f utf-16 -t utf-8."
            if sample.startswith((b"\xff\xfe", b"\xfe\xff"))
            else f"the file begins with {sample[:8]!r}, which is neither text nor a known format; "
            "needed is word2vec text or binary, GloVe text (each also gzipped) or .npz."
        )
    if promised is not None and promised[1] == 0:
        raise MalformedFileError(path, "the header promises vectors of 0 dimensions.", line=1)
    pieces = chain((sample,), stream.pieces())
    if promised is not None and binary:
        return _read_binary(pieces, *promised, keep)
    with Workers() as workers:
        parser = TextParser(path, keep, promised=promised, workers=workers)
        rest = b""
        for piece in pieces:
            piece = rest + piece
            end = piece.rfind(b"\n") + 1
            parser.feed(piece[:end])
            rest = piece[end:]
            if len(rest) > _LONGEST:
                raise InvalidInputError(
                    f"a line is longer than {_LONGEST} bytes; needed are a word and its numbers on "
                    "each line."
                )
        parser.feed(rest)
    return parser.table()


def _is_binary(sample: bytes) -> bool:
    """Whether the start of a file is not text."""
    if any(byte in _CONTROL for byte in sample):
        return True
    try:
        codecs.getincrementaldecoder("utf-8")().decode(sample)  # it may end inside a character
    except UnicodeDecodeError:
        # Text in another encoding still consists mainly of numbers.
        return sum(byte in _NUMERIC for byte in sample) < 0.5 * len(sample)
    return False


def _read_binary(
    pieces: Iterator[bytes], n_words: int, dimensions: int, keep: frozenset[str] | None
) -> WordVectors:
    """Read what follows the header of word2vec's binary format."""
    width = 4 * dimensions
    words: list[str] = []
    rows = GrowingRows(dimensions)
    n_read = 0
    buffer = b""
    for piece in pieces:
        buffer += piece
        place = 0
        vectors: list[bytes] = []
        while n_read < n_words:
            space = buffer.find(b" ", place)
            end = space + 1 + width
            if space < 0 or len(buffer) < end:
                break
            n_read += 1
            word = buffer[place:space].lstrip(b"\r\n").decode("utf-8", "replace")
            if keep is None or word.casefold() in keep:
                words.append(word)
                vectors.append(buffer[space + 1 : end])
            place = end
        rows.add(len(vectors)).reshape(-1)[:] = np.frombuffer(b"".join(vectors), "<f4")
        buffer = buffer[place:]
        if n_read < n_words and len(buffer) > _LONGEST:
            raise InvalidInputError(
                f"word {n_read + 1} and its vector are longer than {_LONGEST} bytes; the header is "
                "wrong, or the file is of another format."
            )
        if n_read == n_words and buffer.strip():
            raise InvalidInputError(
                f"the header promises {n_words} words of {dimensions} dimensions, but the file "
                "goes on after them; it is of another format, or its header is wrong."
            )
    if n_read < n_words:
        raise InvalidInputError(
            f"the header promises {n_words} words of {dimensions} dimensions, but the file ends "
            f"after {n_read}; it was cut short, or is of another format."
        )
    return WordVectors(words, rows.matrix())


def _read_npz(path: Path, words: Collection[str] | None) -> WordVectors | ComposedVectors:
    """Read an ``.npz`` archive."""
    try:
        # Opened here, because np.load does not close a file that it cannot read.
        with path.open("rb") as file, np.load(file, allow_pickle=False) as archive:
            names = list(archive.files)
            words_name = next((name for name in _NPZ_WORDS if name in names), None)
            vectors_name = next((name for name in _NPZ_VECTORS if name in names), None)
            if words_name is None or vectors_name is None:
                raise InvalidInputError(
                    f"the archive holds {', '.join(names) or 'nothing'}; needed is an array of "
                    f"words ({', '.join(_NPZ_WORDS)}) and one of vectors "
                    f"({', '.join(_NPZ_VECTORS)})."
                )
            # NumPy returns members of the archive that are not arrays as bytes.
            their_words = np.asarray(archive[words_name])
            vectors = np.asarray(archive[vectors_name])
            scales = archive["scales"] if "scales" in names else None
    except InvalidInputError:
        raise
    except ValueError as error:
        problem = f"an array cannot be read ({error})"
        if "pickle" in str(error):
            problem = "an array holds Python objects, which are not read as they could run code"
        raise InvalidInputError(
            f"{problem}; save the words as an array of strings: np.array(words, dtype='U')."
        ) from None
    except NPZ_ERRORS as error:
        raise InvalidInputError(f"not a readable .npz archive: {error}") from error
    strings = _word_list(words_name, their_words)
    if has_word_pieces(strings):
        if scales is not None and vectors.ndim == 2:
            vectors = vectors * checked_scales(scales, vectors.shape[1])
        return _kept(ComposedVectors(WordPieces(strings), vectors), words)
    keep = _keys(words)
    if vectors.ndim == 2 and len(strings) == len(vectors) and keep is not None:
        kept = [i for i, word in enumerate(strings) if word.casefold() in keep]
        strings, vectors = [strings[i] for i in kept], vectors[kept]
    return WordVectors(strings, vectors, scales=scales)


def _word_list(name: str, words: NDArray[Any]) -> list[str]:
    """Return the strings of an array of words in one of the supported forms."""
    if words.ndim == 1 and words.dtype.kind == "U":
        return cast("list[str]", words.tolist())
    if words.ndim == 1 and words.dtype.kind == "S":
        return [word.decode("utf-8", "replace") for word in words.tolist()]
    if words.ndim == 1 and words.dtype == np.uint8:
        text = words.tobytes().decode("utf-8", "replace")
        return text.removesuffix("\n").split("\n") if text else []
    raise InvalidInputError(
        f"the array {name!r} is of type {words.dtype} and shape {words.shape}; needed are strings, "
        "or the bytes (uint8) of a text with one word a line."
    )
