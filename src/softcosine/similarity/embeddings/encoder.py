"""Term similarity by the vectors of a neural encoder; each term is encoded once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from os import PathLike
from typing import ClassVar, Self

from numpy.typing import ArrayLike

from softcosine._progress import Progress
from softcosine._validation import check_type, check_whole
from softcosine.encoders.encoder import Encode, Encoder, NamedEncoder
from softcosine.encoders.loading import canonical_name, encode_function, load_encoder
from softcosine.encoders.vector_cache import VectorCache
from softcosine.errors import InvalidInputError
from softcosine.similarity.embeddings.compared_vectors import ComparedVectors
from softcosine.similarity.embeddings.encoded_vectors import EncodedVectors
from softcosine.similarity.source import SourceState


class EncoderSimilarity(ComparedVectors):
    r"""Term similarity by the cosine of an encoder's vectors (theory T14).

    Each term is encoded once, by itself, on first use. Its vector is stored in memory, in the cache
    on disk, and in the saved source. So a vocabulary needs one pass of the encoder, and queries of
    its words need none. The similarity is that of `EmbeddingSimilarity`.

    Parameters
    ----------
    model : str, callable, object with ``encode``, or None
        A name or folder, as for `softcosine.encoders.loading.load_encoder`, loaded on first use;
        or a callable that turns a list of strings into an array (n_terms, dimensions). None: only
        terms in the cache are known.
    cache : path, optional
        Cache file of vectors by model name and term; created if missing. Interrupted encoding
        continues after the last complete batch. Several processes may share the file.
    name : str, optional
        Name of the model in the cache. By default the name given as `model`.
    batch_size : int, default 256
        Number of terms per call of the model and per write to the cache.
    threshold, exponent : float
        As for `EmbeddingSimilarity`.
    progress : callable, optional
        Called as ``progress(done, total)`` after each batch, in terms to encode.

    Raises
    ------
    InvalidInputError
        If a setting is out of range, or a model with a cache has no name. When terms are encoded:
        if the model returns NaN, or not one vector of constant length per term.
    MissingDependencyError
        When a term is encoded by a named model whose package is not installed.
    MalformedFileError
        If the file is not a cache, or is damaged.

    Examples
    --------
    >>> def letters(terms):
    ...     return [[term.count(letter) for letter in "abcdefgr"] for term in terms]
    >>> source = EncoderSimilarity(letters)
    >>> source.similarities(["bread", "bread"], ["beard", "cage"]).tolist()
    [1.0, 0.03999999910593033]
    """

    __slots__ = ("name",)

    kind: ClassVar[str] = "encoder"

    def __init__(
        self,
        model: str | Encode | Encoder | None,
        *,
        cache: str | PathLike[str] | None = None,
        name: str | None = None,
        batch_size: int = 256,
        threshold: float = 0.3,
        exponent: float = 4.0,
        progress: Progress | None = None,
    ) -> None:
        check_whole("batch_size", batch_size)
        if name is None and isinstance(model, str):
            name = canonical_name(model)
        check_type("the model's name", name, str | None, "pass a string")
        if name is None and cache is not None:
            raise InvalidInputError(
                "the cache keeps vectors by the model's name, which is not given; add name=, and "
                "another one whenever the model changes."
            )
        encode = _encode_by(model)
        stored = None if cache is None or name is None else VectorCache(cache, name)
        table = EncodedVectors(encode, stored, batch_size=batch_size, progress=progress)
        self.name = name
        self._set(table, threshold, exponent)

    def __repr__(self) -> str:
        return (
            f"EncoderSimilarity({self.name!r}, {len(self)} terms x {self.dimensions}, "
            f"threshold={self.threshold:g}, exponent={self.exponent:g})"
        )

    def encode(self, terms: Sequence[str]) -> EncoderSimilarity:
        """Encode terms without a vector now, instead of on first use.

        Returns
        -------
        EncoderSimilarity
            Itself.
        """
        self.table.look_up(terms)
        return self

    def state(self) -> SourceState:
        """State from which a source can be built, with the vectors of the terms.

        The model is not included, so the built source knows these terms only.
        """
        state = super().state()
        return replace(state, settings={"name": self.name, **state.settings})

    @classmethod
    def from_state(cls, state: SourceState) -> Self:
        """Build the source from its state, without a model."""
        settings = dict(state.settings)
        name = settings.pop("name")
        source = super().from_state(replace(state, settings=settings))
        source.name = name
        return source


def _encode_by(model: str | Encode | Encoder | None) -> Encode | None:
    """Return the encoding function of a model."""
    if model is None:
        return None
    if isinstance(model, str):
        return _Named(model)
    return encode_function(model)


class _Named:
    """A model by name, loaded on the first call."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._model: NamedEncoder | None = None

    def __call__(self, terms: list[str]) -> ArrayLike:
        if self._model is None:
            self._model = load_encoder(self.name)
        return self._model.encode(terms)
