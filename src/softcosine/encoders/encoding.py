"""Encoding many texts: each once, checked, in batches, with a cache on disk."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from softcosine._progress import Progress
from softcosine._validation import check_whole
from softcosine.encoders.encoder import Encode, NamedEncoder
from softcosine.encoders.vector_cache import VectorCache
from softcosine.errors import InvalidInputError, SoftCosineWarning


def encode_texts(
    encoder: NamedEncoder,
    texts: Sequence[str],
    *,
    cache: VectorCache | None = None,
    progress: Progress | None = None,
    batch_size: int = 256,
    zeros: bool = False,
    prompt: str = "",
) -> NDArray[np.float32]:
    """Return the vector of each text, shape (n_texts, dimensions).

    Equal texts are encoded once; a text of white space only gets zeros. With a cache, a later run
    continues after the last complete batch of an interrupted one.

    Parameters
    ----------
    encoder : NamedEncoder
        As `load_encoder` returns it.
    texts : sequence of str
    cache : VectorCache, optional
        Cache of the encoder's name.
    progress : callable, optional
        Called as ``progress(done, total)`` after each batch, in texts to encode.
    batch_size : int, default 256
        Number of texts per call of the encoder and per write to the cache.
    zeros : bool, default False
        Whether zero vectors are allowed.
    prompt : str, default ""
        What every text is to begin with, see `Prompts`.

    Raises
    ------
    InvalidInputError
        If the encoder does not return one finite vector for each text, all of its dimensions, or
        one is zero, or its `n_truncated` is no number. Batches before that are in the cache.

    Warns
    -----
    SoftCosineWarning
        If texts are longer than the encoder reads.
    """
    check_whole("batch_size", batch_size)
    rows = dict.fromkeys(prompt + text for text in texts if text.strip())
    vectors = {} if cache is None else cache.get(list(rows))
    dimensions = encoder.dimensions or 0
    lacking = [text for text in rows if text not in vectors or not vectors[text].any()]
    n_truncated = encoder.n_truncated(lacking)
    check_whole(f"n_truncated() of the encoder {encoder.name!r}", n_truncated, least=0)
    if n_truncated:
        warnings.warn(
            f"{n_truncated:,} of {len(lacking):,} texts are longer than the {encoder.max_tokens} "
            f"tokens that {encoder.name} reads; only their beginnings are encoded.",
            SoftCosineWarning,
            stacklevel=2,
        )
    for batch, encoded in encoded_batches(
        encoder.encode,
        lacking,
        cache=cache,
        progress=progress,
        batch_size=batch_size,
        dimensions=dimensions,
        zeros=zeros,
    ):
        vectors.update(zip(batch, encoded, strict=True))
    if vectors:
        dimensions = len(next(iter(vectors.values())))
    encoded = np.zeros((len(texts), dimensions), np.float32)
    for row, text in enumerate(texts):
        if text.strip():
            encoded[row] = vectors[prompt + text]
    return encoded


def encoded_batches(
    encode: Encode,
    texts: Sequence[str],
    *,
    cache: VectorCache | None,
    progress: Progress | None,
    batch_size: int,
    dimensions: int,
    zeros: bool,
) -> Iterator[tuple[list[str], NDArray[np.float32]]]:
    """Encode distinct texts; yield each batch with its checked vectors, which are in the cache.

    Parameters
    ----------
    dimensions : int
        Number of components that vectors must have; 0 if unknown.
    zeros : bool
        Whether zero vectors are allowed.

    Raises
    ------
    InvalidInputError
        If a result is not one finite vector for each text, all of one number of dimensions.
    """
    for start in range(0, len(texts), batch_size):
        batch = list(texts[start : start + batch_size])
        vectors = _checked(encode(list(batch)), batch, dimensions, zeros=zeros)
        dimensions = vectors.shape[1]
        if cache is not None:
            cache.put(batch, vectors)
            # Another process may have written a text first; then its vector is used.
            stored = cache.get(batch)
            vectors = np.stack([stored.get(*pair) for pair in zip(batch, vectors, strict=True)])
        yield batch, vectors
        if progress is not None:
            progress(min(start + batch_size, len(texts)), len(texts))


def _checked(
    vectors: ArrayLike, texts: list[str], dimensions: int, *, zeros: bool
) -> NDArray[np.float32]:
    """Return the checked output of a model."""
    try:
        if np.iscomplexobj(vectors):
            raise TypeError("they are complex")  # a cast would drop the imaginary parts
        with np.errstate(over="ignore"):  # becomes infinity, which is reported
            matrix = np.asarray(vectors, dtype=np.float32)
    except (ValueError, TypeError) as error:
        raise InvalidInputError(
            f"the model gave no array of numbers for {len(texts)} texts ({error}); needed is one "
            "vector for each."
        ) from None
    if matrix.ndim != 2 or len(matrix) != len(texts) or matrix.shape[1] == 0:
        raise InvalidInputError(
            f"the model gave an array of shape {matrix.shape} for {len(texts)} texts; needed is "
            f"({len(texts)}, dimensions)."
        )
    if dimensions and matrix.shape[1] != dimensions:
        raise InvalidInputError(
            f"the model gave vectors of {matrix.shape[1]} dimensions; needed are {dimensions}, as "
            "of all its vectors."
        )
    usable = {"holds NaN or infinity": np.isfinite(matrix).all(axis=1)}
    if not zeros:
        usable["is zero"] = matrix.any(axis=1)
    for problem, good in usable.items():
        if not good.all():
            raise InvalidInputError(
                f"the model's vector of {texts[int(np.argmin(good))]!r:.80} {problem}; leave the "
                "text out, or mend the model."
            )
    return matrix
