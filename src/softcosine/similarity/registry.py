"""Sources by name, by file, or by ``KIND:PLACE``."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import TYPE_CHECKING, Any

from softcosine._progress import Report, silent
from softcosine._textio import DAMAGED, unpacked
from softcosine.errors import InvalidInputError, MalformedFileError

if TYPE_CHECKING:
    from softcosine.similarity.source import TermSimilaritySource
    from softcosine.text.corpus import AnalyzedTexts
    from softcosine.text.vocabulary import Vocabulary


@dataclass(frozen=True, slots=True)
class SourceSettings:
    """Settings from which sources are made.

    Attributes
    ----------
    threshold, exponent : float or None
        For sources that compare vectors; None means the default of each source.
    texts : AnalyzedTexts or None
        Texts for sources that learn from texts.
    vocabulary : Vocabulary or None
        Vocabulary of texts that are not given.
    words : tuple of str or None
        Load the vectors of these words only; None loads all.
    report : callable
        Progress callback: called with (task, done, total or None).
    """

    threshold: float | None
    exponent: float | None
    texts: AnalyzedTexts | None
    words: tuple[str, ...] | None
    report: Report = silent
    vocabulary: Vocabulary | None = None

    def of_cosines(self) -> dict[str, Any]:
        """Return the keyword arguments for sources that compare vectors."""
        given = {"threshold": self.threshold, "exponent": self.exponent}
        return {name: value for name, value in given.items() if value is not None}


def _english(argument: str, settings: SourceSettings) -> TermSimilaritySource:
    from softcosine.similarity.embeddings.embedding import EmbeddingSimilarity

    return EmbeddingSimilarity.english(**settings.of_cosines())


def _vectors(path: str, settings: SourceSettings) -> TermSimilaritySource:
    from softcosine.similarity.embeddings.embedding import EmbeddingSimilarity

    return EmbeddingSimilarity.load(
        path,
        words=settings.words,
        progress=partial(settings.report, f"reading {Path(path).name}"),
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
        cache=kept_file("encoded.sqlite"),  # a later run continues here
        progress=partial(settings.report, f"encoding by {name}"),
        **settings.of_cosines(),
    )


def _synonyms(
    path: str, settings: SourceSettings, *, pinned: bool | None = None
) -> TermSimilaritySource:
    from softcosine.similarity.thesaurus.thesaurus import ThesaurusSimilarity

    source = ThesaurusSimilarity.load(
        path, pinned=pinned, progress=partial(settings.report, f"reading {Path(path).name}")
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
        path or None, progress=partial(settings.report, "reading WordNet")
    )


def _edit_distance(argument: str, settings: SourceSettings) -> TermSimilaritySource:
    from softcosine.similarity.spelling.edit_distance import EditDistanceSimilarity

    return EditDistanceSimilarity()


def _character_ngrams(argument: str, settings: SourceSettings) -> TermSimilaritySource:
    from softcosine.similarity.spelling.character_ngrams import CharacterNgramSimilarity

    return CharacterNgramSimilarity()


def _texts(argument: str, settings: SourceSettings) -> TermSimilaritySource:
    from softcosine.similarity.cooccurrence.cooccurrence import CooccurrenceSimilarity

    return CooccurrenceSimilarity.fit(
        texts_for("texts", settings),
        progress=partial(settings.report, "learning vectors from the texts"),
        **settings.of_cosines(),
    )


def _documents(argument: str, settings: SourceSettings) -> TermSimilaritySource:
    learn = getattr(settings.texts, "latent_similarity", None)
    if learn is None:
        raise no_documents()
    if argument and not argument.isdecimal():
        raise InvalidInputError(
            f"the source 'documents:{argument}' names no number of dimensions; write documents:100."
        )
    source: TermSimilaritySource = learn(int(argument or 100), **settings.of_cosines())
    return source


def no_documents() -> InvalidInputError:
    """Return the error of a source for estimators that an index is to use."""
    return InvalidInputError(
        "the source 'documents' learns from a matrix of documents, as estimators get; to learn "
        "from texts name 'texts'."
    )


def texts_for(name: str, settings: SourceSettings) -> AnalyzedTexts:
    """Return the texts to learn from; raise InvalidInputError if there are none."""
    if settings.texts is None:
        raise InvalidInputError(
            f"the source {name!r} learns from texts, and there are none; give it documents."
        )
    return settings.texts


@dataclass(frozen=True, slots=True)
class SourceKind:
    """A kind of sources: its constructor and its properties.

    Attributes
    ----------
    make : callable
        Takes the text after the colon in ``KIND:PLACE`` (empty without one) and the
        `SourceSettings`; returns a source.
    named, placed : bool
        Whether ``KIND``, and whether ``KIND:PLACE``, is a valid name.
    of_file : bool
        Whether the place is a file or folder, which must exist.
    learned : bool
        Whether the source learns from the texts.
    of_cosines : bool
        Whether the source takes a threshold and an exponent.
    of_vectors : bool
        Whether its vectors are given.
    """

    make: Callable[[str, SourceSettings], TermSimilaritySource]
    named: bool = False
    placed: bool = False
    of_file: bool = False
    learned: bool = False
    of_cosines: bool = False
    of_vectors: bool = False


_VECTORS: dict[str, Any] = {"of_cosines": True, "of_vectors": True}
_FILE: dict[str, Any] = {"placed": True, "of_file": True}
KINDS = {
    "english": SourceKind(_english, named=True, **_VECTORS),
    "wordnet": SourceKind(_wordnet, named=True, **_FILE),
    "texts": SourceKind(_texts, named=True, learned=True, of_cosines=True),
    "edit-distance": SourceKind(_edit_distance, named=True),
    "character-ngrams": SourceKind(_character_ngrams, named=True),
    "vectors": SourceKind(_vectors, **_FILE, **_VECTORS),
    "synonyms": SourceKind(_synonyms, **_FILE),
    "list": SourceKind(partial(_synonyms, pinned=True), **_FILE),
    "thesaurus": SourceKind(partial(_synonyms, pinned=False), **_FILE),
    "model": SourceKind(_model, placed=True, **_VECTORS),
    "encoder": SourceKind(_encoder, placed=True, **_VECTORS),
}
NAMES = tuple(name for name, kind in KINDS.items() if kind.named)
PREFIXES = tuple(name for name, kind in KINDS.items() if kind.placed)
ONLY = "only:"  # before a list of synonyms that the default source is not joined to
# For estimators only: their documents are a matrix.
_DOCUMENTS = SourceKind(_documents, named=True, placed=True, learned=True, of_cosines=True)

_VECTOR_SUFFIXES = (".vec", ".bin", ".npz", ".safetensors", ".glove")
_SYNONYM_SUFFIXES = (".csv", ".tsv", ".jsonl", ".syn", ".synonyms")


def source_named(name: str, settings: SourceSettings) -> TermSimilaritySource:
    """Make a source by its name.

    Other packages and the laboratory add kinds by entry points of the group ``softcosine.sources``;
    each is a `SourceKind`.

    Raises
    ------
    InvalidInputError, FileNotFoundError, MalformedFileError
    """
    from softcosine.similarity.overrides.guard import pieces_apart

    prefix, place = kind_and_place(name)
    kind, texts = _kind(prefix), settings.texts
    source = kind.make(place, settings)
    if not kind.learned or kind is _DOCUMENTS:
        return source
    # Character pairs of one word co-occur in every text.
    assert texts is not None  # else no source was made
    return pieces_apart(source, texts.vocabulary, segmented=texts.segmented)


def kind_named(name: str) -> SourceKind:
    """Return the kind of the source of a name; see `source_named`."""
    return _kind(kind_and_place(name)[0])


def needs_nothing(source: object) -> bool:
    """Whether it is the name of a source that needs no file, model or object. Reads nothing."""
    return isinstance(source, str) and (
        source in NAMES or source == "documents" or source in _added()
    )


def _kind(kind: str) -> SourceKind:
    if kind == "documents":
        return _DOCUMENTS
    if kind in KINDS:
        return KINDS[kind]
    added: SourceKind = _added()[kind].load()
    return added


@cache
def _added() -> dict[str, EntryPoint]:
    """Return the kinds that other packages and the laboratory add, by name."""
    return {one.name: one for one in entry_points(group="softcosine.sources")}


def kind_and_place(name: str) -> tuple[str, str]:
    """Return the kind and the place of a source's name."""
    name = name.removeprefix(ONLY)
    prefix, colon, place = name.partition(":")
    if prefix == "documents" or prefix in KINDS or prefix in _added():
        kind = _kind(prefix)
        if kind.placed if place else kind.named and not colon:
            if place and kind.of_file and not _exists(place):
                raise FileNotFoundError(f"there is no file {place}, which {name} names.")
            return prefix, place
    path = Path(name)
    if not name or not _exists(name):
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


def _exists(place: str) -> bool:
    try:
        return Path(place).exists()
    except OSError:  # a name that is too long, or a folder that may not be read
        return False


def _possible() -> str:
    names = [*NAMES, *(name for name in _added() if _kind(name).named)]
    places = [*PREFIXES, *(name for name in _added() if _kind(name).placed)]
    return (
        f"A source is one of the names {', '.join(names)}; or a file of word vectors "
        f"({', '.join(_VECTOR_SUFFIXES)}, .txt), or of synonyms ({', '.join(_SYNONYM_SUFFIXES)}, "
        f".txt); or a kind and a place, such as {':..., '.join(places)}:..."
    )


def _looks_like_vectors(path: Path) -> bool:
    """Whether a file starts like a file of vectors: with two counts, or mostly a word and numbers.

    Binary files count as vectors, because the reader of vectors supports more formats.
    """
    with path.open("rb") as file:
        try:
            start = unpacked(file).read(1 << 16)
        except DAMAGED:
            return False  # the reader raises the error
    if b"\0" in start:
        return True
    *whole, rest = start.split(b"\n")
    lines = [line.split() for line in (whole or [rest]) if line.strip()][:_LOOKED_AT]
    if lines and len(lines[0]) == 2 and all(field.isdigit() for field in lines[0]):
        return True
    # The majority decides, so that one truncated line has no effect.
    fitting = [len(fields) > 2 and all(map(_NUMBER.fullmatch, fields[-2:])) for fields in lines]
    return sum(fitting) > len(lines) / 2


_LOOKED_AT = 10  # lines
_NUMBER = re.compile(rb"[-+]?((\d+\.?\d*|\.\d+)(e[-+]?\d+)?|nan|inf)", re.IGNORECASE)
