"""The registry of sources: by name, ``KIND:PLACE`` or file, and by the kind of a saved state."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, partial
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import TYPE_CHECKING, Any

from softcosine._progress import Progress, Report, silent
from softcosine._textio import DAMAGED, unpacked
from softcosine.errors import InvalidInputError, MalformedFileError

if TYPE_CHECKING:
    from softcosine.similarity.source import SourceState, TermSimilaritySource
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

    threshold: float | None = None
    exponent: float | None = None
    texts: AnalyzedTexts | None = None
    words: tuple[str, ...] | None = None
    report: Report = silent
    vocabulary: Vocabulary | None = None

    def progress(self, task: str) -> Progress:
        """Return the progress callback of one task."""
        return partial(self.report, task)

    def of_cosines(self) -> dict[str, Any]:
        """Return the keyword arguments for sources that compare vectors."""
        given = {"threshold": self.threshold, "exponent": self.exponent}
        return {name: value for name, value in given.items() if value is not None}


def _english(cls: Any, _: str, settings: SourceSettings) -> Any:
    return cls.english(**settings.of_cosines())


def _vectors(cls: Any, path: str, settings: SourceSettings) -> Any:
    progress = settings.progress(f"reading {Path(path).name}")
    return cls.load(path, words=settings.words, progress=progress, **settings.of_cosines())


def _model(cls: Any, name: str, settings: SourceSettings) -> Any:
    settings.report(f"loading {name}", 0, None)
    return cls.from_pretrained(name, words=settings.words, **settings.of_cosines())


def _encoder(cls: Any, name: str, settings: SourceSettings) -> Any:
    from softcosine.storage.home import kept_file

    cache = kept_file("encoded.sqlite")  # a later run continues here
    progress = settings.progress(f"encoding by {name}")
    return cls(name, cache=cache, progress=progress, **settings.of_cosines())


def _synonyms(cls: Any, path: str, settings: SourceSettings, pinned: bool | None = None) -> Any:
    source = cls.load(path, pinned=pinned, progress=settings.progress(f"reading {Path(path).name}"))
    if not len(source.neighbors(source.words, source.words, max_neighbors=1).indices):
        raise MalformedFileError(
            path,
            "it makes no two words similar; needed are lines such as tyre, tire. If it is of "
            "vectors, say vectors:FILE.",
        )
    return source


def _texts(cls: Any, _: str, settings: SourceSettings) -> Any:
    progress = settings.progress("learning vectors from the texts")
    return cls.fit(texts_for("texts", settings), progress=progress, **settings.of_cosines())


def _documents(_: Any, dimensions: str, settings: SourceSettings) -> Any:
    learn = getattr(settings.texts, "latent_similarity", None)
    if learn is None:
        raise no_documents()
    if dimensions and not dimensions.isdecimal():
        raise InvalidInputError(
            f"the source 'documents:{dimensions}' names no number of dimensions; write "
            "documents:100."
        )
    return learn(int(dimensions or 100), **settings.of_cosines())


def _by_default(cls: Any, _: str, settings: SourceSettings) -> Any:
    return cls()


def no_documents() -> InvalidInputError:
    """Return the error for a source of estimators that an index cannot use."""
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
    """A kind of sources: its class, and how a name makes a source.

    Attributes
    ----------
    home : str or type
        The class, or ``"module:Class"``, which is imported on first use. Sources that can be saved
        have a class method ``from_state``.
    make : callable, optional
        Makes the source of a name from the class, the text after the colon in ``KIND:PLACE`` (empty
        without one) and the `SourceSettings`; by default with the defaults of the class.
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

    home: str | type
    make: Callable[[Any, str, SourceSettings], Any] = _by_default
    named: bool = False
    placed: bool = False
    of_file: bool = False
    learned: bool = False
    of_cosines: bool = False
    of_vectors: bool = False

    def source_class(self) -> Any:
        """Import and return the class of the sources."""
        if not isinstance(self.home, str):
            return self.home
        module, _, name = self.home.partition(":")
        return getattr(import_module(module), name)


_HERE = "softcosine.similarity"
_EMBEDDING = f"{_HERE}.embeddings.embedding:EmbeddingSimilarity"
_COOCCURRENCE = f"{_HERE}.cooccurrence.cooccurrence:CooccurrenceSimilarity"
_THESAURUS = f"{_HERE}.thesaurus.thesaurus:ThesaurusSimilarity"
_COMBINED = f"{_HERE}.combine.combined"
_VECTORS: dict[str, Any] = {"of_cosines": True, "of_vectors": True}
_FILE: dict[str, Any] = {"placed": True, "of_file": True}
# All kinds, by the name of a source and by `SourceState.kind`, in which "_" stands for "-".
KINDS = {
    "english": SourceKind(_EMBEDDING, _english, named=True, **_VECTORS),
    "texts": SourceKind(_COOCCURRENCE, _texts, named=True, learned=True, of_cosines=True),
    "edit-distance": SourceKind(
        f"{_HERE}.spelling.edit_distance:EditDistanceSimilarity", named=True
    ),
    "character-ngrams": SourceKind(
        f"{_HERE}.spelling.character_ngrams:CharacterNgramSimilarity", named=True
    ),
    "vectors": SourceKind(_EMBEDDING, _vectors, **_FILE, **_VECTORS),
    "synonyms": SourceKind(_THESAURUS, _synonyms, **_FILE),
    "list": SourceKind(_THESAURUS, partial(_synonyms, pinned=True), **_FILE),
    "thesaurus": SourceKind(_THESAURUS, partial(_synonyms, pinned=False), **_FILE),
    "model": SourceKind(_EMBEDDING, _model, placed=True, **_VECTORS),
    "encoder": SourceKind(
        f"{_HERE}.embeddings.encoder:EncoderSimilarity", _encoder, placed=True, **_VECTORS
    ),
    "embedding": SourceKind(_EMBEDDING),
    "distilled": SourceKind(_EMBEDDING),  # saved by earlier versions
    "cooccurrence": SourceKind(_COOCCURRENCE),
    "pairs": SourceKind(f"{_HERE}.pairs:PairSimilarity"),
    "strongest": SourceKind(f"{_COMBINED}:StrongestSimilarity"),
    "noisy-or": SourceKind(f"{_COMBINED}:NoisyOrSimilarity"),
    "first": SourceKind(f"{_COMBINED}:FirstSimilarity"),
    "scaled": SourceKind(f"{_COMBINED}:ScaledSimilarity"),
    "decided": SourceKind(f"{_HERE}.overrides.decisions:DecidedSimilarity"),
    "guarded": SourceKind(f"{_HERE}.overrides.guard:Guarded"),
}
NAMES = tuple(name for name, kind in KINDS.items() if kind.named)
PREFIXES = tuple(name for name, kind in KINDS.items() if kind.placed)
JOINS = ("strongest", "noisy-or", "first")
ONLY = "only:"  # before a list of synonyms that the default source is not joined to
# For estimators only, whose documents are a matrix: not among the names, and not saved.
_DOCUMENTS = KINDS["documents"] = SourceKind(
    object, _documents, named=True, placed=True, learned=True, of_cosines=True
)
_OWN = frozenset(KINDS)

_VECTOR_SUFFIXES = (".vec", ".bin", ".npz", ".safetensors", ".glove")
_SYNONYM_SUFFIXES = (".csv", ".tsv", ".jsonl", ".syn", ".synonyms")


def register_source(name: str, kind: SourceKind) -> None:
    """Register a kind of source in this process.

    To register a kind for every process, a package declares an entry point of the group
    ``softcosine.sources`` with the name and the `SourceKind`.

    Parameters
    ----------
    name : str
        The `SourceState.kind` that the source's ``state()`` returns, and the name of its sources if
        `SourceKind.named` or `SourceKind.placed`. Prefix it with the name of your project.
    kind : SourceKind

    Raises
    ------
    InvalidInputError
        If the library has a kind of this name.
    """
    name = name.replace("_", "-")
    if name in _OWN:
        raise InvalidInputError(
            f"the source kind {name!r} is the library's own; register yours by another name."
        )
    KINDS[name] = kind


def find_kind(name: str) -> SourceKind | None:
    """Return the kind of this name, of the library, registered or of an entry point; or None."""
    name = name.replace("_", "-")
    if name not in KINDS and name in _added():
        KINDS[name] = _added()[name].load()
    return KINDS.get(name)


@cache
def _added() -> dict[str, EntryPoint]:
    """Return the kinds that other packages and the laboratory add, by name."""
    points = entry_points(group="softcosine.sources")
    return {point.name.replace("_", "-"): point for point in points}


def source_from_state(state: SourceState) -> TermSimilaritySource:
    """Build the source that a state describes.

    Raises
    ------
    InvalidInputError
        If its kind is not registered in this process.
    """
    source: TermSimilaritySource = _kind_of(state).source_class().from_state(state)
    return source


def check_kinds(state: SourceState) -> None:
    """Raise InvalidInputError if a source or a source inside it has an unregistered kind."""
    _kind_of(state)
    for part in state.parts:
        check_kinds(part)


def _kind_of(state: SourceState) -> SourceKind:
    kind = find_kind(state.kind)
    if kind is None or kind is _DOCUMENTS:
        raise InvalidInputError(
            f"a source of kind {state.kind!r} was saved, but no such kind is known here; install "
            "the package that has it, import the module that calls register_source for it, or "
            "build what was saved anew."
        )
    return kind


def join_by(name: str, sources: Sequence[TermSimilaritySource]) -> TermSimilaritySource:
    """Join sources by the name of a join in `JOINS`."""
    joined: TermSimilaritySource = KINDS[name].source_class()(sources)
    return joined


def source_named(name: str, settings: SourceSettings) -> TermSimilaritySource:
    """Make a source by its name.

    Raises
    ------
    InvalidInputError, FileNotFoundError, MalformedFileError
    """
    kind, (_, place), texts = kind_named(name), kind_and_place(name), settings.texts
    source: TermSimilaritySource = kind.make(kind.source_class(), place, settings)
    if not kind.learned or kind is _DOCUMENTS:
        return source
    from softcosine.text.words import pair_in_run

    assert texts is not None  # else no source was made
    if not texts.segmented and any(map(pair_in_run, texts.vocabulary.terms)):
        # Character pairs of one word co-occur in every text.
        guarded = KINDS["guarded"].source_class()
        source = guarded(source, antonyms=None, isolate_digits=False, separate_pieces=True)
    return source


def kind_named(name: str) -> SourceKind:
    """Return the kind of the source of a name; see `source_named`."""
    kind = find_kind(kind_and_place(name)[0])
    assert kind is not None
    return kind


def needs_nothing(source: object) -> bool:
    """Whether it is the name of a source that needs no file, model or object. Reads nothing."""
    kind = find_kind(source) if isinstance(source, str) else None
    return kind is not None and kind.named


def kind_and_place(name: str) -> tuple[str, str]:
    """Return the kind and the place of a source's name."""
    name = name.removeprefix(ONLY)
    prefix, colon, place = name.partition(":")
    kind = find_kind(prefix)
    if kind is not None and (kind.placed if place else kind.named and not colon):
        if place and kind.of_file and not _exists(place):
            raise FileNotFoundError(f"there is no file {place}, which {name} names.")
        return prefix.replace("_", "-"), place
    path = Path(name)
    if not name or not _exists(name):
        if "/" in name or path.suffix:
            raise FileNotFoundError(f"there is no file {name}. {_possible()}")
        raise InvalidInputError(f"the source {name!r} is not understood. {_possible()}")
    if path.is_dir():
        wordnet = (path / "data.noun").exists() and find_kind("wordnet")
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
    added = {name: kind for name in _added() if (kind := find_kind(name))}
    names = [*NAMES, *(name for name, kind in added.items() if kind.named)]
    places = [*PREFIXES, *(name for name, kind in added.items() if kind.placed)]
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
