"""Sentence encoder, the dense baseline."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softcosine._progress import Progress
from softcosine.encoders.encoder import Encode
from softcosine.encoders.encoder import Encoder as AnyEncoder
from softcosine.encoders.loading import MINILM, canonical_name, load_encoder
from softcosine.errors import InvalidInputError
from softcosine.evaluate.documents import Documents
from softcosine.evaluate.systems.fitted import FittedVectors, products
from softcosine.evaluate.systems.rows import DenseRows
from softcosine.evaluate.systems.sentence_model import SentenceModel
from softcosine.evaluate.systems.settings import Kind, Settings, flag, optional, setting, text
from softcosine.storage.home import kept_file

one_encoder = Kind(
    "a model's name or folder",
    str,
    lambda value: bool(value) if isinstance(value, str) else hasattr(value, "encode"),
)


@dataclass(frozen=True, kw_only=True)
class Encoder(Settings):
    """Cosine of the vectors of a sentence encoder.

    The model truncates long texts: all-MiniLM-L6-v2 reads 256 word pieces.

    Parameters
    ----------
    model : str or None
        A folder, or the name of a model, as for `softcosine.encoders.loading.load_encoder`; None
        for all-MiniLM-L6-v2.
    cache : str or None
        Cache file of vectors by model and text; ``"auto"`` for a file in the user's data folder,
        None for no cache.
    download : bool
        Whether to download a model that is not on this machine; default no.
    device : str or None
        Device of the model, such as ``cpu``.
    encode : callable, optional
        Function from a list of texts to an array (n_texts, dimensions), instead of a model; not
        possible in a spec. Its vectors are cached only if `model` is given as their name.
    progress : callable, optional
        Called as ``progress(done, total)``, in texts to be encoded.
    label : str, optional
    """

    called = "encoder"
    model: str | None = setting(None, optional(text("a model's name or folder")), "the encoder")
    cache: str | None = setting("auto", optional(text("auto or a file")), "cache file of vectors")
    download: bool = setting(False, flag, "downloads a missing model")
    device: str | None = setting(None, optional(text("a device of torch")), "device of the model")
    encode: Callable[[list[str]], Any] | None = None
    progress: Progress | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.encode is not None and not callable(self.encode):
            raise InvalidInputError(
                f"encode of {self.called!r} is of type {type(self.encode).__name__}; needed is a "
                "function that turns a list of texts into an array."
            )

    def sentence_model(self) -> SentenceModel:
        """Return the model, which is loaded with the first text."""
        nameless = self.encode is not None and self.model is None
        cache = None if nameless or self.cache is None else self._cache_file(self.cache)
        name = "the given function" if nameless else canonical_name(self.model or MINILM)
        return SentenceModel(
            name,
            self._load,
            cache=cache,
            progress=self.progress,
        )

    def _load(self) -> Encode:
        if self.encode is not None:
            return self.encode
        return load_encoder(self.model or MINILM, download=self.download, device=self.device).encode

    @staticmethod
    def _cache_file(cache: str) -> Path | None:
        return kept_file("encoded.sqlite") if cache == "auto" else Path(cache)

    def fit(self, documents: Documents, *, background: Sequence[str] = ()) -> FittedVectors:
        """Encode the documents; the background is not used."""
        model = self.sentence_model()
        query, document = model.prompts

        def pairs(left: Sequence[str], right: Sequence[str]) -> NDArray[np.float64]:
            vectors = model.vectors([*left, *right], document)
            return products(vectors[: len(left)], vectors[len(left) :])

        rows = DenseRows(model.vectors(documents.texts, document))
        return FittedVectors(
            rows, partial(model.vectors, prompt=query), pairs, told=lambda: model.note
        )


def sentence_model(
    given: str | AnyEncoder, cache: str | Path | None, *, download: bool = False
) -> SentenceModel:
    """Return the model of a name, or of an object with ``encode``; see `Encoder`."""
    cache = None if cache is None else str(cache)
    if isinstance(given, str):
        return Encoder(model=given, cache=cache, download=download).sentence_model()
    name = getattr(given, "name", None)
    return Encoder(model=name, encode=given.encode, cache=cache).sentence_model()
