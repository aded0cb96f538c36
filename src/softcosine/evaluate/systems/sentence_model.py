"""Sentence encoders with a cache of vectors and a record of their time."""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from softcosine._file_lock import FileLock
from softcosine._progress import Progress
from softcosine.encoders.encoder import Encode, Prompts
from softcosine.encoders.vector_cache import VectorCache
from softcosine.similarity.embeddings.encoded_vectors import EncodedVectors
from softcosine.storage import write_text

_KEPT = 256  # texts per write to the cache


class SentenceModel:
    """Sentence encoder that encodes each text once, with a cache in memory and on disk.

    It is an encoder for `SoftIndex` too.

    Parameters
    ----------
    name : str
        Name of the model.
    load : callable
        Returns the function from texts to vectors; called with the first text to encode.
    cache : path, optional
        Cache file of vectors; a file beside it records the seconds.
    progress : callable, optional
        Called as ``progress(done, total)``, in texts to be encoded.
    """

    dimensions = max_tokens = None  # unknown before the model is loaded
    spent = 0.0  # seconds of all models, loading included

    def __init__(
        self,
        name: str,
        load: Callable[[], Encode],
        *,
        cache: Path | None,
        progress: Progress | None = None,
    ) -> None:
        self.name = name
        self._load = load
        self._encode: Encode | None = None
        self._record = None if cache is None else _Record(cache)
        self._n_encoded, self._seconds = 0, 0.0
        self._n_asked = 0
        self._table = EncodedVectors(
            self._timed,
            None if cache is None else VectorCache(cache, name),
            batch_size=_KEPT,
            progress=progress,
        )

    @property
    def prompts(self) -> Prompts:
        """Prompts of the model for queries and documents; loads the model."""
        return Prompts.of_model(self._model)

    def knows_words(self, text: str) -> bool:
        """Whether the model may know the words of a text (see `OnnxEncoder`); loads it."""
        knows = getattr(self._model, "knows_words", None)
        return knows is not None and bool(knows(text))

    def vectors(self, texts: Sequence[str], prompt: str = "") -> NDArray[np.float64]:
        """Return vectors of unit length, (n_texts, dimensions); zero for blank texts."""
        texts = [prompt + text if text.strip() else text for text in texts]
        n_before, before = self._n_encoded, self._seconds
        table, numbers = self._table.look_up(texts)
        if self._record is not None and self._n_encoded > n_before:
            self._record.add(self.name, self._n_encoded - n_before, self._seconds - before)
        self._n_asked = len(self._table)
        vectors = np.zeros((len(texts), max(1, self._table.dimensions)))
        known = np.flatnonzero(numbers >= 0)
        if len(known):
            units, scales = table.units(numbers[known])
            vectors[known] = units.astype(np.float64) * scales[:, None]
        return vectors

    def encode(self, texts: list[str], /) -> NDArray[np.float64]:
        """Return `vectors`."""
        return self.vectors(texts)

    def n_truncated(self, texts: list[str]) -> int:
        """Return 0, since the model is loaded only for texts that are not cached."""
        return 0

    @property
    def note(self) -> str:
        """Note on the number of encoded texts, their time, and the number of cached texts."""
        told = f"{self.name}: {self._n_encoded:,} texts encoded"
        if self._n_encoded:
            told += f" in {self._seconds:.1f} s ({_rate(self._n_encoded, self._seconds)})"
        there = self._n_asked - self._n_encoded
        if there > 0:
            told += f", {there:,} taken from the cache"
            n_texts, seconds = (0, 0.0) if self._record is None else self._record.of(self.name)
            if n_texts:
                told += f", which was filled at {_rate(n_texts, seconds)}"
        return f"{told}."

    @property
    def _model(self) -> object:
        """The object whose method encodes; None for a function."""
        return getattr(self._loaded(), "__self__", None)

    def _loaded(self) -> Encode:
        if self._encode is None:
            began = time.perf_counter()
            self._encode = self._load()
            SentenceModel.spent += time.perf_counter() - began
        return self._encode

    def _timed(self, texts: list[str]) -> ArrayLike:
        encode, started = self._loaded(), time.perf_counter()
        vectors = encode(texts)
        seconds = time.perf_counter() - started
        self._seconds += seconds
        SentenceModel.spent += seconds
        self._n_encoded += len(texts)
        return vectors


class _Record:
    """Record of the texts and seconds of each model in a cache."""

    def __init__(self, cache: Path) -> None:
        self._path = cache.with_name(f"{cache.name}.seconds.json")

    def of(self, name: str) -> tuple[int, float]:
        """Return the numbers of texts and of seconds; 0 if unknown."""
        try:
            known = self._read()[name]
            return int(known["texts"]), float(known["seconds"])
        except (KeyError, TypeError, ValueError):
            return 0, 0.0

    def add(self, name: str, n_texts: int, seconds: float) -> None:
        """Add texts and seconds; a failure to write is ignored."""
        with contextlib.suppress(OSError), FileLock(self._path.with_suffix(".lock"), timeout=10.0):
            before, spent = self.of(name)
            sums = {"texts": before + n_texts, "seconds": spent + seconds}
            write_text(self._path, json.dumps({**self._read(), name: sums}))

    def _read(self) -> dict[str, Any]:
        try:
            known = json.loads(self._path.read_text("utf-8"))
        except (OSError, ValueError):
            return {}
        return known if isinstance(known, dict) else {}


def _rate(n_texts: int, seconds: float) -> str:
    return f"{n_texts / max(seconds, 1e-9):,.0f} a second"
