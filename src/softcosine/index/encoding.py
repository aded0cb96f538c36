"""The encoder of an index: it reads documents when they are added, and queries of searches.

An index stores the name of its encoder, not the encoder.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from softcosine._progress import Report, silent
from softcosine._validation import check_number, check_whole
from softcosine.encoders.encoder import Prompts
from softcosine.encoders.loading import LIGHT, MINILM, MULTILINGUAL, query_table_of
from softcosine.errors import InvalidInputError, SoftCosineWarning, install_command
from softcosine.index.defaults import MEANING_WEIGHTS, STATIC_WEIGHTS
from softcosine.index.rankings import checked_weights
from softcosine.index.segment.coordinates import MAX_DIMENSIONS, unit_vector
from softcosine.text.language import names_of

if TYPE_CHECKING:
    from softcosine.encoders.encoder import GivenEncoder, NamedEncoder
    from softcosine.encoders.vector_cache import VectorCache
    from softcosine.space.meaning import GivenSpace, MeaningSpace

# Documents, and bytes of UTF-8, that `encoder="auto"` lets an encoder read: a minute on two cores
# at most; docs/decisions.md.
FEW = {MINILM: (5_000, 2_200_000), MULTILINGUAL: (10_000, 3_500_000)}
_MULTILINGUAL = "multilingual (multilingual-e5-small)"
# Least median cosine of coordinates by one encoder, and by that of documents and one of queries.
_ONE_ENCODER, _ONE_SPACE = 0.9, 0.5
_TEXTS = ("How do I mend a bicycle tyre?", "The invoice was paid twice.", "Rain is expected.")


@dataclass(frozen=True, slots=True)
class IndexEncoder:
    """An encoder, a cache of what it has read, and another encoder for queries.

    Attributes
    ----------
    encoder : NamedEncoder or None
        Of documents; None if it is not at hand.
    cache : VectorCache or None
        Of the texts of documents.
    queries : NamedEncoder or None
        Of queries, in the space of `encoder`, such as a smaller one that was trained for it; None
        for `encoder`.
    place : str or Path or None
        Of the cache of an encoder that the first documents choose.
    """

    encoder: NamedEncoder | None
    cache: VectorCache | None = None
    queries: NamedEncoder | None = None
    place: str | Path | None = None

    @classmethod
    def of(cls, model: GivenEncoder, cache: str | Path | None = None) -> Self:
        """Return the encoder of a name, a folder or an object (see `load_encoder`), or of a pair.

        InvalidInputError if a tuple is no pair, or its two encoders do not have one space.
        """
        from softcosine.encoders.loading import load_encoder

        if not isinstance(model, tuple):
            return cls(load_encoder(model)).cached(cache)
        if len(model) != 2 or model[1] is None:
            raise InvalidInputError(
                f"encoder is {model!r:.80}; needed is one encoder, or a pair: that of documents, "
                "None for that of the index, and that of queries."
            )
        documents, queries = (None if one is None else load_encoder(one) for one in model)
        pair = cls(documents, queries=queries)
        if documents is not None:
            space = pair.space()
            pair.check_coordinates(space, _TEXTS, pair.documents(space, _TEXTS))
        return pair.cached(cache)

    def cached(self, cache: str | Path | None) -> Self:
        """Return the encoder with a file of encoded texts, if one is given."""
        from softcosine.encoders.vector_cache import VectorCache

        if cache is None or self.encoder is None:
            return self
        return replace(self, cache=VectorCache(cache, self.encoder.name))

    @property
    def of_queries(self) -> NamedEncoder:
        """The encoder of queries."""
        encoder = self.queries or self.encoder
        assert encoder is not None
        return encoder

    def documents(
        self,
        meaning: MeaningSpace,
        texts: Sequence[str],
        language: str | None = None,
        report: Report = silent,
    ) -> NDArray[np.int8]:
        """Return the coordinates of the texts of documents, (n_texts, dimensions).

        Warns if the encoder is for English and the language of the index is another.
        """
        from softcosine.encoders.encoding import encode_texts

        assert self.encoder is not None
        self.check(meaning)
        english = getattr(self.encoder, "languages", None) == ("en",)
        if english and language not in (None, "none", "english"):
            warnings.warn(
                f"{self.encoder.name} is an encoder for English, and the language of the index is "
                f"{language.title()}: rankings get worse. Take one for {language.title()}, such as "
                f"{_MULTILINGUAL}, or none.",
                SoftCosineWarning,
                stacklevel=2,
            )
        vectors = encode_texts(
            self.encoder, texts, cache=self.cache,
            progress=lambda done, total: report("encoding texts", done, total),
            prompt=Prompts.of_model(self.encoder).document,
        )  # fmt: skip
        if not vectors.shape[1]:  # all texts are blank
            return np.zeros((len(texts), meaning.dimensions), np.int8)
        return meaning.coordinates(vectors)

    def query(self, meaning: MeaningSpace, text: str) -> NDArray[np.float64]:
        """Return the coordinates of a query, of length 1; zeros if it has none, as if empty.

        It is encoded alone, so that its bits do not depend on other queries.
        """
        from softcosine.encoders.encoding import encode_texts

        self.check(meaning)
        if not text.strip():
            return np.zeros(meaning.dimensions)
        reader = self.of_queries
        prompt = Prompts.of_model(reader).query
        return meaning.unit(encode_texts(reader, [text], zeros=True, prompt=prompt)[0])

    def space(self, given: GivenSpace | None = None) -> MeaningSpace:
        """Return a space of meaning: the given one, that of a file, or that of the encoder.

        A number cuts the encoder's vectors to their first components, and ``"static"`` is the space
        of the query table that the encoder's package brings. InvalidInputError if the
        space is of another encoder, or has too many dimensions.
        """
        from softcosine.encoders.encoding import encode_texts
        from softcosine.space.meaning import STATIC, MeaningSpace
        from softcosine.space.meaning_file import bundled_meaning, load_meaning

        if self.encoder is None:
            raise InvalidInputError("an encoder of queries was given, and none of documents.")
        if isinstance(given, str | Path) and str(given) == STATIC:
            given = None if self.encoder.name == MINILM else query_table_of(self.encoder.name)
        if isinstance(given, MeaningSpace | str | Path):
            space = given if isinstance(given, MeaningSpace) else load_meaning(given)
            if space.encoder != self.encoder.name:
                raise InvalidInputError(
                    f"the space of meaning is of the encoder {space.encoder!r}, and the encoder "
                    f"given is {self.encoder.name!r}; make one for it by softcosine admin teach."
                )
            return space
        if self.encoder.name == MINILM and given is None:
            return bundled_meaning()
        dimensions = self.encoder.dimensions
        if dimensions is None:
            dimensions = encode_texts(self.encoder, ["dimensions"]).shape[1]
        first = None
        if given is not None:
            check_whole("meaning_space", given, most=dimensions)
            first = np.eye(dimensions, given)
        space = MeaningSpace(self.encoder.name, projection=first, encoder_dimensions=dimensions)
        if space.dimensions > MAX_DIMENSIONS:
            raise InvalidInputError(
                f"the encoder {self.encoder.name!r} gives {dimensions} coordinates; an index "
                f"stores at most {MAX_DIMENSIONS:,} of a document."
            )
        return space

    def check(self, meaning: MeaningSpace) -> None:
        """Raise InvalidInputError if the space was made for another encoder."""
        if self.encoder is not None and self.encoder.name != meaning.encoder:
            raise InvalidInputError(
                f"the documents of this index have coordinates by the encoder {meaning.encoder!r}, "
                f"and the encoder given is {self.encoder.name!r}: vectors of two models cannot be "
                "compared. Pass that encoder, or make the index anew."
            )

    def check_coordinates(
        self, meaning: MeaningSpace, texts: Sequence[str], stored: NDArray[np.int8]
    ) -> None:
        """Raise InvalidInputError if an encoder does not reproduce the stored coordinates of texts.

        It is then another version of the encoder of documents, or for queries of another space.
        """
        from softcosine.encoders.encoding import encode_texts

        for encoder, least in ((self.encoder, _ONE_ENCODER), (self.queries, _ONE_SPACE)):
            if encoder is None:
                continue
            vectors = encode_texts(
                encoder, texts, zeros=True, prompt=Prompts.of_model(encoder).document
            )
            if vectors.shape[1] != meaning.encoder_dimensions:
                found = f"{vectors.shape[1]} dimensions in place of {meaning.encoder_dimensions}"
            else:
                pairs = zip(map(meaning.unit, vectors), map(unit_vector, stored), strict=True)
                median = float(np.median([one @ other for one, other in pairs]))
                if median >= least:
                    continue
                found = f"a median cosine of {median:.2f} with them; needed is {least:g}"
            raise InvalidInputError(
                f"the encoder {encoder.name!r} does not give the coordinates that the encoder "
                f"{meaning.encoder!r} gave documents: {found}. Take the version that read them, "
                "or for queries one that was trained for it, or make the index anew."
            )


def new_space(
    model: GivenEncoder, cache: str | Path | None, given: GivenSpace | None
) -> tuple[MeaningSpace, IndexEncoder | None]:
    """Return the space of an index and its encoder, which ``"static"`` has not.

    Parameters
    ----------
    model, cache
        As for `IndexEncoder.of`, or ``"static"`` for sums over the query table.
    given : MeaningSpace or path, optional
        As for `IndexEncoder.space`; with ``"static"``, a space whose query table is used.

    Raises
    ------
    InvalidInputError
        As of `IndexEncoder`, or if ``"static"`` is given a cache or a space without a table.
    """
    from softcosine.space.meaning import STATIC, MeaningSpace
    from softcosine.space.meaning_file import bundled_static, load_meaning

    if model != STATIC:
        encoder = IndexEncoder.of(model, cache)
        space = encoder.space(given)
        if space.static:
            raise InvalidInputError(
                f"the encoder is named {STATIC!r}, which is the way without an encoder; give it "
                "another name."
            )
        return space, encoder
    if cache is not None:
        raise InvalidInputError("encoder_cache is for an encoder, and 'static' has none.")
    if given is None:
        return bundled_static(), None
    if not isinstance(given, MeaningSpace | str | Path):
        raise InvalidInputError("a number as meaning_space cuts vectors of an encoder; pass one.")
    space = given if isinstance(given, MeaningSpace) else load_meaning(given)
    if space.table is None:
        raise InvalidInputError(
            f"the space of meaning of the encoder {space.encoder!r} has no query table, which "
            "encoder='static' needs; make one by softcosine admin teach."
        )
    return MeaningSpace(STATIC, table=space.table), None


@lru_cache(maxsize=4)
def light_encoder(name: str) -> IndexEncoder | None:
    """Return the encoder of a name if it is installed and needs no torch."""
    from softcosine.encoders.loading import installed_encoder

    encoder = installed_encoder(name)
    return None if encoder is None else IndexEncoder(encoder)


def encoder_at_hand(given: IndexEncoder | None, name: str) -> IndexEncoder | None:
    """Return the encoder that is given, else the installed one of a name, with its cache."""
    if given is not None and given.place is None:
        return given
    light = light_encoder(name)
    return light and light.cached(None if given is None else given.place)


def automatic_encoder(
    texts: Iterable[str], n_texts: int, language: str | None
) -> IndexEncoder | None:
    """Return the encoder of ``encoder="auto"`` for texts in a language; None for none.

    Without it, English texts have the bundled table, and others words alone.
    """
    name = MINILM if language == "english" else MULTILINGUAL
    most_texts, n_bytes = FEW[name]
    if n_texts > most_texts:
        return None
    for text in texts:
        n_bytes -= len(text.encode("utf-8", "surrogatepass"))
        if n_bytes < 0:
            return None
    return light_encoder(name)  # loading it takes longer than reading few texts


def how_to_add(language: str | None) -> str:
    """Return how texts that rank by words alone are searched by meaning; empty for English."""
    if language == "english":
        return ""
    named = "" if language in (None, "none") else f"{names_of(language)}: "
    if light_encoder(MULTILINGUAL) is None:
        told = "install softcosine-multilingual to search by meaning."
    else:
        told = (
            "to search by meaning, some minutes of encoding: softcosine admin encode INDEX "
            "--encoder multilingual."
        )
    return f"{named}{told}" if named else told[0].upper() + told[1:]


def chosen_encoder(
    meaning: MeaningSpace | None, model: GivenEncoder | None, cache: str | Path | None
) -> IndexEncoder:
    """Return the given encoder, by default that of a space of meaning.

    Raises
    ------
    InvalidInputError
        If there is neither, or the given one is not that of the space.
    """
    if meaning is not None and meaning.static:
        raise InvalidInputError(
            "this index has no encoder: its documents have coordinates by the query table; leave "
            "the encoder out, or let one read them: softcosine admin encode INDEX --encoder minilm."
        )
    if model is None and meaning is None:
        raise InvalidInputError('this index has no encoder yet; pass one, such as "minilm".')
    if model is None:
        assert meaning is not None
        return named_encoder(meaning.encoder).cached(cache)
    reader = IndexEncoder.of(model, cache)
    if meaning is not None:
        reader.check(meaning)
        if reader.encoder is None and (light := light_encoder(meaning.encoder)) is not None:
            reader = replace(reader, encoder=light.encoder)
    return reader


def named_encoder(name: str) -> IndexEncoder:
    """Return the encoder of a name that an index stores.

    It must be known here: an index does not decide which files are read or downloaded.

    Raises
    ------
    InvalidInputError
        If no encoder of the name is known.
    MissingDependencyError
        If it is not installed.
    """
    if (light := light_encoder(name)) is not None:
        return light
    if name not in LIGHT:
        raise InvalidInputError(f"the encoder {name!r} of this index is {how_to_get(name)}.")
    return _loaded(name)


@lru_cache(maxsize=1)
def _loaded(name: str) -> IndexEncoder:
    return IndexEncoder.of(name)  # by torch: too slow to load it for every query


def how_to_get(name: str) -> str:
    """Return why there is no encoder of a name, and what to do."""
    if name in LIGHT:
        return f"not installed ({install_command(LIGHT[name].extra)})"
    return "not known here (pass it: encoder= of SoftIndex.open, or --encoder)"


def default_weights(meaning: MeaningSpace) -> dict[str, float]:
    """Return the default weight of meaning in each ranking."""
    return STATIC_WEIGHTS if meaning.static else MEANING_WEIGHTS


def meaning_weights(given: Any, ranking: str, defaults: Mapping[str, float]) -> dict[str, float]:
    """Return the weight of meaning in each ranking.

    Parameters
    ----------
    given : float, mapping of rankings to float, or None
        A number is for `ranking`; the others keep their defaults.
    ranking : str
        The default of the index.
    defaults : mapping of rankings to float
    """
    if given is None:
        return dict(defaults)
    if isinstance(given, Mapping):
        return checked_weights({**defaults, **given})
    check_number("meaning", given, least=0)
    return checked_weights({**defaults, ranking: given})
