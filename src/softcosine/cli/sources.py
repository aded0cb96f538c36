"""From what a user calls a source to the source: a name, a file, or ``KIND:`` and a file."""

from __future__ import annotations

import gzip
import re
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from softcosine.errors import InvalidInputError, MalformedFileError

if TYPE_CHECKING:
    from softcosine.sources.constraints.decision_list import Decisions
    from softcosine.sources.source import TermSimilaritySource
    from softcosine.text.analyzer import Analyzer
    from softcosine.text.corpus import AnalyzedTexts
    from softcosine.text.vocabulary import Vocabulary

__all__ = [
    "JOINS",
    "SOURCES_HELP",
    "SourceSettings",
    "check_sources",
    "decisions_in",
    "finished_source",
    "joined_source",
    "learn_from_texts",
    "words_outside",
]

Progress = Callable[[str, int, "int | None"], None]


@dataclass(frozen=True, slots=True)
class SourceSettings:
    """What sources are made with.

    Attributes
    ----------
    threshold, exponent : float or None
        Of cosines and other scales of vectors; None takes what each source has.
    texts : AnalyzedTexts or None
        What sources that learn from texts learn from.
    words : tuple of str or None
        The only words whose vectors are needed; None for all.
    report : callable
        Told what is being done, how far it is, and out of how many or None.
    """

    threshold: float | None
    exponent: float | None
    texts: AnalyzedTexts | None
    words: tuple[str, ...] | None
    report: Progress

    def of_cosines(self) -> dict[str, Any]:
        """Return the settings of sources that compare vectors."""
        given = {"threshold": self.threshold, "exponent": self.exponent}
        return {name: value for name, value in given.items() if value is not None}

    def progress(self, what: str) -> Callable[[int, int], None]:
        """Return what a source reports to."""
        return lambda done, total: self.report(what, done, total)


def check_sources(names: Sequence[str], join: str, *, of_cosines: bool = False) -> None:
    """Find out what is wrong with what sources are called before anything is read.

    Parameters
    ----------
    names : sequence of str
        None for the sources that are taken by default.
    join : str
        One of `JOINS`.
    of_cosines : bool
        Whether a threshold or an exponent was given.

    Raises
    ------
    InvalidInputError
        If a name is not understood, or nobody can use a setting; names what is possible.
    FileNotFoundError
    """
    if join not in JOINS:
        raise InvalidInputError(f"there is no join {join!r}; choose one of {', '.join(JOINS)}.")
    told = [_told(name) for name in names]
    if of_cosines and not any(kind in _OF_COSINES for kind, _ in told):
        given = f"none of {', '.join(names)} has any" if names else "no source is named"
        raise InvalidInputError(
            f"--threshold and --exponent are of vectors, and {given}; leave them out, or use "
            "--min-similarity."
        )


def joined_source(
    names: Sequence[str], join: str, settings: SourceSettings, *, on_one_scale: bool = False
) -> tuple[TermSimilaritySource, str]:
    """Return the sources that were named, as one, and what is to be said about it.

    Parameters
    ----------
    names : sequence of str
        At least one.
    join : str
        One of `JOINS`.
    settings : SourceSettings
    on_one_scale : bool
        Whether each is calibrated to human judgements before it is joined, where the package has
        a calibration for it.

    Raises
    ------
    InvalidInputError
        As `check_sources`; or if there are no texts to learn from.
    FileNotFoundError, MalformedFileError
    """
    check_sources(names, join, of_cosines=bool(settings.of_cosines()))
    sources = [_KINDS[kind](argument, settings) for kind, argument in map(_told, names)]
    note = ""
    if on_one_scale:
        sources, left = _calibrated(sources, names)
        if left:
            note = f"There is no calibration for {', '.join(left)}: taken as they are."
    if len(sources) == 1:
        return sources[0], note
    import softcosine

    return getattr(softcosine, JOINS[join])(*sources), note


def learn_from_texts(names: Sequence[str]) -> bool:
    """Whether some of the sources that are named learn from texts."""
    return any(_told(name)[0] in _LEARNED for name in names)


def decisions_in(path: Path | None) -> Decisions | None:
    """Read a file of a person's decisions, if there is one."""
    if path is None:
        return None
    from softcosine.sources.constraints.decisions import read_decisions

    return read_decisions(path)


def finished_source(
    source: TermSimilaritySource,
    decisions: Decisions | None,
    vocabulary: Vocabulary,
    *,
    analyzer: Analyzer | None,
    guard: bool = True,
) -> TermSimilaritySource:
    """Put the guard above a source, and a person's decisions above the guard."""
    from softcosine.sources.constraints.guard import guarded

    whole: TermSimilaritySource = guarded(source) if guard else source
    if decisions is None:
        return whole
    from softcosine.sources.constraints.decisions import decided

    return decided(whole, decisions.for_vocabulary(vocabulary, analyzer=analyzer))


def words_outside(
    decisions: Decisions | None, vocabulary: Vocabulary, *, analyzer: Analyzer | None
) -> str:
    """Say what words were decided about that the vocabulary does not have, if any."""
    words = () if decisions is None else decisions.words_outside(vocabulary, analyzer=analyzer)
    if not words:
        return ""
    more = f" and {len(words) - _NAMED:,} more" if len(words) > _NAMED else ""
    return f"Decided about, but not in the vocabulary: {', '.join(words[:_NAMED])}{more}."


def _calibrated(
    sources: Sequence[TermSimilaritySource], names: Sequence[str]
) -> tuple[list[TermSimilaritySource], list[str]]:
    """Return sources on one scale, and the names of those that have no calibration."""
    from softcosine.sources.joins.calibration import calibrated

    made: list[TermSimilaritySource] = []
    left = []
    for source, name in zip(sources, names, strict=True):
        try:
            made.append(calibrated(source))
        except InvalidInputError:
            made.append(source)
            left.append(name)
    return made, left


def _english(argument: str, settings: SourceSettings) -> TermSimilaritySource:
    from softcosine.sources.vectors.embedding import EmbeddingSimilarity

    return EmbeddingSimilarity.english(**_settings(settings))


def _vectors(path: str, settings: SourceSettings) -> TermSimilaritySource:
    from softcosine.sources.vectors.embedding import EmbeddingSimilarity

    return EmbeddingSimilarity.load(
        path,
        words=settings.words,
        progress=settings.progress(f"reading {Path(path).name}"),
        **_settings(settings),
    )


def _model(name: str, settings: SourceSettings) -> TermSimilaritySource:
    from softcosine.sources.vectors.embedding import EmbeddingSimilarity

    settings.report(f"loading {name}", 0, None)
    return EmbeddingSimilarity.from_pretrained(name, words=settings.words, **_settings(settings))


def _encoder(name: str, settings: SourceSettings) -> TermSimilaritySource:
    from softcosine.sources.vectors.encoder import EncoderSimilarity

    return EncoderSimilarity(
        name, progress=settings.progress(f"encoding by {name}"), **settings.of_cosines()
    )


def _synonyms(path: str, settings: SourceSettings) -> TermSimilaritySource:
    from softcosine.sources.thesauri.thesaurus import ThesaurusSimilarity

    source = ThesaurusSimilarity.load(
        path, progress=settings.progress(f"reading {Path(path).name}")
    )
    if not len(source.neighbors(source.words, source.words, max_neighbors=1).indices):
        raise MalformedFileError(
            path,
            "it makes no two words similar; needed are lines such as tyre, tire. If it is of "
            "vectors, say vectors:FILE.",
        )
    return source


def _wordnet(path: str, settings: SourceSettings) -> TermSimilaritySource:
    from softcosine.sources.thesauri.thesaurus import ThesaurusSimilarity

    return ThesaurusSimilarity.from_wordnet(
        path or None, progress=settings.progress("reading WordNet")
    )


def _edit_distance(argument: str, settings: SourceSettings) -> TermSimilaritySource:
    from softcosine.sources.spelling.edit_distance import EditDistanceSimilarity

    return EditDistanceSimilarity()


def _character_ngrams(argument: str, settings: SourceSettings) -> TermSimilaritySource:
    from softcosine.sources.spelling.character_ngrams import CharacterNgramSimilarity

    return CharacterNgramSimilarity()


def _phonetic(argument: str, settings: SourceSettings) -> TermSimilaritySource:
    from softcosine.sources.spelling.phonetic import PhoneticSimilarity

    return PhoneticSimilarity()


def _texts(argument: str, settings: SourceSettings) -> TermSimilaritySource:
    from softcosine.sources.corpus.cooccurrence import CooccurrenceSimilarity

    return CooccurrenceSimilarity.fit(
        _learned_from("texts", settings),
        progress=settings.progress("learning vectors from the texts"),
        **_settings(settings),
    )


def _association(argument: str, settings: SourceSettings) -> TermSimilaritySource:
    from softcosine.sources.corpus.association import AssociationSimilarity

    return AssociationSimilarity.fit(
        _learned_from("association", settings),
        progress=settings.progress("counting what stands together"),
    )


def _second_order(argument: str, settings: SourceSettings) -> TermSimilaritySource:
    from softcosine.sources.corpus.second_order import SecondOrderSimilarity

    return SecondOrderSimilarity.fit(
        _learned_from("second-order", settings),
        progress=settings.progress("comparing the company of words"),
    )


def _regression(argument: str, settings: SourceSettings) -> TermSimilaritySource:
    from softcosine.sources.corpus.regression import RegressionSimilarity

    return RegressionSimilarity.fit(
        _learned_from("regression", settings), progress=settings.progress("regression")
    )


def _settings(settings: SourceSettings) -> dict[str, Any]:
    """Return the settings of vectors; those of `SoftIndex` where none are given."""
    return {"threshold": 0.3, "exponent": 4.0, **settings.of_cosines()}


def _learned_from(name: str, settings: SourceSettings) -> Any:
    if settings.texts is None:
        raise InvalidInputError(
            f"the source {name!r} learns from texts, and there are none; give documents by "
            "--vocabulary FILE."
        )
    return settings.texts


_Maker = Callable[[str, SourceSettings], "TermSimilaritySource"]

_NAMES: dict[str, _Maker] = {
    "english": _english,
    "wordnet": _wordnet,
    "texts": _texts,
    "association": _association,
    "second-order": _second_order,
    "regression": _regression,
    "edit-distance": _edit_distance,
    "character-ngrams": _character_ngrams,
    "phonetic": _phonetic,
}
_PREFIXES: dict[str, _Maker] = {
    "vectors": _vectors,
    "synonyms": _synonyms,
    "wordnet": _wordnet,
    "model": _model,
    "encoder": _encoder,
}
_KINDS: dict[str, _Maker] = {**_NAMES, **_PREFIXES}
_LEARNED = ("texts", "association", "second-order", "regression")
_OF_FILES = ("vectors", "synonyms", "wordnet")
_OF_COSINES = ("english", "texts", "vectors", "model", "encoder")

JOINS = {"strongest": "strongest", "mean": "mean", "noisy-or": "noisy_or", "first": "first"}

SOURCES_HELP = (
    f"A name ({', '.join(_NAMES)}), a file of vectors or of synonyms, or KIND:PLACE "
    f"({', '.join(_PREFIXES)}). By default what 'index' takes."
)

_VECTOR_SUFFIXES = (".vec", ".bin", ".npz", ".npy", ".kv", ".model", ".safetensors", ".glove")
_SYNONYM_SUFFIXES = (".csv", ".tsv", ".jsonl", ".syn", ".synonyms")


def _told(name: str) -> tuple[str, str]:
    """Return the kind of a source and what it is made of."""
    if name in _NAMES:
        return name, ""
    prefix, colon, place = name.partition(":")
    if colon and prefix in _PREFIXES and place:
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
        f"A source is one of the names {', '.join(_NAMES)}; or a file of word vectors "
        f"({', '.join(_VECTOR_SUFFIXES)}, .txt), or of synonyms ({', '.join(_SYNONYM_SUFFIXES)}, "
        f".txt); or a kind and a place, such as {':..., '.join(_PREFIXES)}:..."
    )


def _looks_like_vectors(path: Path) -> bool:
    """Whether a file begins as vectors do: by two counts, or a word and at least two numbers.

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
    return bool(lines) and all(
        len(fields) > 2 and all(map(_NUMBER.fullmatch, fields[-2:])) for fields in lines
    )


_LOOKED_AT = 10  # lines
_NAMED = 5  # words
_NUMBER = re.compile(rb"[-+]?((\d+\.?\d*|\.\d+)(e[-+]?\d+)?|nan|inf)", re.IGNORECASE)
