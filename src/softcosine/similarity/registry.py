"""Kinds of sources by what a user calls them: a name, a file, or ``KIND:`` and a file."""

from __future__ import annotations

import gzip
import re
import zlib
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache, partial
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import TYPE_CHECKING, Any

from softcosine.errors import InvalidInputError, MalformedFileError
from softcosine.similarity.progress import Report, silent

if TYPE_CHECKING:
    from softcosine.similarity.embeddings.approximate import ApproximateSimilarity
    from softcosine.similarity.source import TermSimilaritySource
    from softcosine.text.corpus import AnalyzedTexts
    from softcosine.text.stream import TextStream
    from softcosine.text.vocabulary import Vocabulary

__all__ = [
    "KINDS",
    "LEARNED",
    "NAMES",
    "OF_COSINES",
    "PREFIXES",
    "PROPOSED",
    "SourceSettings",
    "source_named",
    "told",
]


@dataclass(frozen=True, slots=True)
class SourceSettings:
    """What sources are made with.

    Attributes
    ----------
    threshold, exponent : float or None
        Of cosines and other scales of vectors; None takes what each source has.
    texts : AnalyzedTexts or TextStream or None
        What sources that learn from texts learn from.
    vocabulary : Vocabulary or None
        Of a stream of texts.
    words : tuple of str or None
        The only words whose vectors are needed; None for all.
    report : callable
        Told what is being done, how far it is, and out of how many or None.
    engine : str or None
        What proposes the neighbours of vectors; None compares all.
    approximated : list of (str, ApproximateSimilarity)
        What sources it came to propose for.
    """

    threshold: float | None
    exponent: float | None
    texts: AnalyzedTexts | TextStream | None
    words: tuple[str, ...] | None
    report: Report = silent
    vocabulary: Vocabulary | None = None
    engine: str | None = None
    approximated: list[tuple[str, ApproximateSimilarity]] = field(default_factory=list)

    def of_cosines(self) -> dict[str, Any]:
        """Return the settings of sources that compare vectors."""
        given = {"threshold": self.threshold, "exponent": self.exponent}
        return {name: value for name, value in given.items() if value is not None}

    def progress(self, what: str) -> Callable[[int, int], None]:
        """Return what a source reports to."""
        return lambda done, total: self.report(what, done, total)

    def proposed(self, name: str, source: TermSimilaritySource) -> TermSimilaritySource:
        """Let the engine propose a source's neighbours, if there is one and it has vectors."""
        from softcosine.similarity.embeddings.approximate import ApproximateSimilarity
        from softcosine.similarity.embeddings.embedding import EmbeddingSimilarity
        from softcosine.similarity.embeddings.encoder import EncoderSimilarity

        if self.engine is None or not isinstance(source, EmbeddingSimilarity | EncoderSimilarity):
            return source
        self.approximated.append((name, ApproximateSimilarity(source, self.engine)))
        return self.approximated[-1][1]

    def recall_told(self) -> str:
        """Say how many of the nearest neighbours the engine was measured to find."""
        return " ".join(
            f"{self.engine} found {source.recall:.1%} of the nearest neighbours by {name}, "
            "measured on a sample."
            for name, source in self.approximated
            if source.recall is not None
        )


def _english(argument: str, settings: SourceSettings) -> TermSimilaritySource:
    from softcosine.similarity.embeddings.embedding import EmbeddingSimilarity

    return EmbeddingSimilarity.english(**settings.of_cosines())


def _vectors(path: str, settings: SourceSettings) -> TermSimilaritySource:
    from softcosine.similarity.embeddings.embedding import EmbeddingSimilarity

    return EmbeddingSimilarity.load(
        path,
        words=settings.words,
        progress=settings.progress(f"reading {Path(path).name}"),
        **settings.of_cosines(),
    )


def _model(name: str, settings: SourceSettings) -> TermSimilaritySource:
    from softcosine.similarity.embeddings.embedding import EmbeddingSimilarity

    settings.report(f"loading {name}", 0, None)
    return EmbeddingSimilarity.from_pretrained(name, words=settings.words, **settings.of_cosines())


def _encoder(name: str, settings: SourceSettings) -> TermSimilaritySource:
    from softcosine.similarity.embeddings.encoder import EncoderSimilarity
    from softcosine.storage.home import kept_file

    return EncoderSimilarity(
        name,
        cache=kept_file("encoded.sqlite"),  # a later run goes on from there
        progress=settings.progress(f"encoding by {name}"),
        **settings.of_cosines(),
    )


def _synonyms(
    path: str, settings: SourceSettings, *, pinned: bool | None = None
) -> TermSimilaritySource:
    from softcosine.similarity.thesaurus.thesaurus import ThesaurusSimilarity

    source = ThesaurusSimilarity.load(
        path, pinned=pinned, progress=settings.progress(f"reading {Path(path).name}")
    )
    if not len(source.neighbors(source.words, source.words, max_neighbors=1).indices):
        raise MalformedFileError(
            path,
            "it makes no two words similar; needed are lines such as tyre, tire. If it is of "
            "vectors, say vectors:FILE.",
        )
    return source


def _wordnet(path: str, settings: SourceSettings) -> TermSimilaritySource:
    from softcosine.similarity.thesaurus.thesaurus import ThesaurusSimilarity

    return ThesaurusSimilarity.from_wordnet(
        path or None, progress=settings.progress("reading WordNet")
    )


def _edit_distance(argument: str, settings: SourceSettings) -> TermSimilaritySource:
    from softcosine.similarity.spelling.edit_distance import EditDistanceSimilarity

    return EditDistanceSimilarity()


def _character_ngrams(argument: str, settings: SourceSettings) -> TermSimilaritySource:
    from softcosine.similarity.spelling.character_ngrams import CharacterNgramSimilarity

    return CharacterNgramSimilarity()


def _phonetic(argument: str, settings: SourceSettings) -> TermSimilaritySource:
    from softcosine.lab.phonetic import PhoneticSimilarity

    return PhoneticSimilarity()


def _texts(argument: str, settings: SourceSettings) -> TermSimilaritySource:
    from softcosine.similarity.cooccurrence.cooccurrence import CooccurrenceSimilarity

    return CooccurrenceSimilarity.fit(
        _learned_from("texts", settings),
        progress=settings.progress("learning vectors from the texts"),
        **settings.of_cosines(),
    )


def _association(argument: str, settings: SourceSettings) -> TermSimilaritySource:
    from softcosine.similarity.cooccurrence.association import AssociationSimilarity

    return AssociationSimilarity.fit(
        _learned_from("association", settings),
        progress=settings.progress("counting what stands together"),
    )


def _second_order(argument: str, settings: SourceSettings) -> TermSimilaritySource:
    from softcosine.similarity.cooccurrence.second_order import SecondOrderSimilarity

    return SecondOrderSimilarity.fit(
        _learned_from("second-order", settings),
        progress=settings.progress("comparing the company of words"),
    )


def _regression(argument: str, settings: SourceSettings) -> TermSimilaritySource:
    from softcosine.lab.regression.source import RegressionSimilarity

    return RegressionSimilarity.fit(
        _learned_from("regression", settings), progress=settings.progress("regression")
    )


def _snos(argument: str, settings: SourceSettings) -> TermSimilaritySource:
    from softcosine.lab.snos.source import SnosSimilarity
    from softcosine.text.corpus import AnalyzedTexts

    texts = _learned_from("snos", settings)
    if not isinstance(texts, AnalyzedTexts):
        raise InvalidInputError(
            "the source 'snos' must see all texts at once, and these are more than --memory "
            "allows; give more, or leave it out."
        )
    return SnosSimilarity.fit(
        texts,
        progress=settings.progress("spreading similarities"),
        **settings.of_cosines(),
    )


def _clicks(path: str, settings: SourceSettings) -> TermSimilaritySource:
    from softcosine.lab.snos.source import SnosSimilarity

    source = SnosSimilarity.load(
        path,
        reading=settings.progress(f"reading {Path(path).name}"),
        progress=settings.progress("spreading similarities"),
        **settings.of_cosines(),
    )
    if not source.words:
        raise MalformedFileError(
            path,
            "it makes no two queries similar; needed are lines of query, page and perhaps the "
            "number of clicks, with pages that several queries led to.",
        )
    return source


def _documents(argument: str, settings: SourceSettings) -> TermSimilaritySource:
    learn = getattr(settings.texts, "latent_similarity", None)
    if learn is None:
        raise InvalidInputError(
            "the source 'documents' learns from a matrix of documents, as estimators get; to learn "
            "from texts name 'texts'."
        )
    if argument and not argument.isdecimal():
        raise InvalidInputError(
            f"the source 'documents:{argument}' names no number of dimensions; write documents:100."
        )
    source: TermSimilaritySource = learn(int(argument or 100), **settings.of_cosines())
    return source


def _learned_from(name: str, settings: SourceSettings) -> Any:
    if settings.texts is None:
        raise InvalidInputError(
            f"the source {name!r} learns from texts, and there are none; give it documents."
        )
    return settings.texts


_Maker = Callable[[str, SourceSettings], "TermSimilaritySource"]


def _of_texts(make: _Maker) -> _Maker:
    """Keep apart the pieces of words, which stand together in every text."""

    def made(argument: str, settings: SourceSettings) -> TermSimilaritySource:
        from softcosine.similarity.overrides.guard import pieces_apart

        source, texts = make(argument, settings), settings.texts
        assert texts is not None  # or it would not have been made
        vocabulary = settings.vocabulary or texts.vocabulary
        assert vocabulary is not None
        return pieces_apart(source, vocabulary, segmented=texts.segmented)

    return made


NAMES: dict[str, _Maker] = {
    "english": _english,
    "wordnet": _wordnet,
    "texts": _of_texts(_texts),
    "association": _of_texts(_association),
    "second-order": _of_texts(_second_order),
    "regression": _of_texts(_regression),
    "snos": _of_texts(_snos),
    "edit-distance": _edit_distance,
    "character-ngrams": _character_ngrams,
    "phonetic": _phonetic,
}
PREFIXES: dict[str, _Maker] = {
    "vectors": _vectors,
    "synonyms": _synonyms,
    "list": partial(_synonyms, pinned=True),
    "thesaurus": partial(_synonyms, pinned=False),
    "wordnet": _wordnet,
    "model": _model,
    "encoder": _encoder,
    "clicks": _clicks,
}
# The last is for estimators alone, which have documents as a matrix.
KINDS: dict[str, _Maker] = {**NAMES, **PREFIXES, "documents": _documents}
LEARNED = ("documents", "texts", "association", "second-order", "regression", "snos")
_OF_FILES = ("vectors", "synonyms", "list", "thesaurus", "wordnet", "clicks")
PROPOSED = ("english", "vectors", "model", "encoder")
OF_COSINES = ("documents", "english", "texts", "snos", "vectors", "model", "encoder", "clicks")

_VECTOR_SUFFIXES = (".vec", ".bin", ".npz", ".npy", ".kv", ".model", ".safetensors", ".glove")
_SYNONYM_SUFFIXES = (".csv", ".tsv", ".jsonl", ".syn", ".synonyms")


def source_named(name: str, settings: SourceSettings) -> TermSimilaritySource:
    """Make a source by its name.

    Other packages add kinds by entry points of the group ``softcosine.sources``: each a callable
    that takes what follows the colon in ``KIND:ARGUMENT`` (empty without one) and the
    `SourceSettings`, and returns a source.

    Raises
    ------
    InvalidInputError, FileNotFoundError, MalformedFileError
    """
    kind, argument = told(name)
    return _maker(kind)(argument, settings)


def _maker(kind: str) -> _Maker:
    if kind in KINDS:
        return KINDS[kind]
    maker: _Maker = _added()[kind].load()
    return maker


@cache
def _added() -> dict[str, EntryPoint]:
    """Return the kinds of sources that other packages add, by name."""
    return {one.name: one for one in entry_points(group="softcosine.sources")}


def told(name: str) -> tuple[str, str]:
    """Return the kind of a source and what it is made of."""
    if name in NAMES:
        return name, ""
    prefix, colon, place = name.partition(":")
    if prefix == "documents":
        return prefix, place
    if prefix not in KINDS and not Path(name).exists() and prefix in _added():
        return prefix, place
    if colon and prefix in PREFIXES and place:
        if prefix in _OF_FILES and not Path(place).exists():
            raise FileNotFoundError(f"there is no file {place}, which {name} names.")
        return prefix, place
    path = Path(name)
    if not path.exists():
        if "/" in name or path.suffix:
            raise FileNotFoundError(f"there is no file {name}. {_possible()}")
        raise InvalidInputError(f"the source {name!r} is not understood. {_possible()}")
    if path.is_dir():
        wordnet = any((path / file).exists() for file in ("data.noun", "synsets.tsv.gz"))
        return ("wordnet" if wordnet else "vectors"), name
    plain = path.name.lower().removesuffix(".gz")
    if plain.endswith(_VECTOR_SUFFIXES):
        return "vectors", name
    if plain.endswith(_SYNONYM_SUFFIXES):
        return "synonyms", name
    return ("vectors" if _looks_like_vectors(path) else "synonyms"), name


def _possible() -> str:
    return (
        f"A source is one of the names {', '.join(NAMES)}; or a file of word vectors "
        f"({', '.join(_VECTOR_SUFFIXES)}, .txt), or of synonyms ({', '.join(_SYNONYM_SUFFIXES)}, "
        f".txt); or a kind and a place, such as {':..., '.join(PREFIXES)}:..."
    )


def _looks_like_vectors(path: Path) -> bool:
    """Whether a file begins as vectors do: by two counts, or mostly by a word and some numbers.

    Whatever is no text is left to the reader of vectors, which knows more formats.
    """
    with path.open("rb") as file:
        start = file.read(1 << 16)
    if start.startswith(b"\x1f\x8b"):
        try:
            with gzip.open(path) as unpacked:
                start = unpacked.read(1 << 16)
        except (EOFError, OSError, zlib.error):
            return False  # whoever reads it says what is wrong
    if b"\0" in start:
        return True
    *whole, rest = start.split(b"\n")
    lines = [line.split() for line in (whole or [rest]) if line.strip()][:_LOOKED_AT]
    if lines and len(lines[0]) == 2 and all(field.isdigit() for field in lines[0]):
        return True
    # A line that is cut short does not make a list of synonyms of the others.
    fitting = [len(fields) > 2 and all(map(_NUMBER.fullmatch, fields[-2:])) for fields in lines]
    return sum(fitting) > len(lines) / 2


_LOOKED_AT = 10  # lines
_NUMBER = re.compile(rb"[-+]?((\d+\.?\d*|\.\d+)(e[-+]?\d+)?|nan|inf)", re.IGNORECASE)
