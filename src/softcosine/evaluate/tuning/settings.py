"""Settings of an index that tuning chooses, their JSON file, and `indexed`, an index with them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from dataclasses import fields as fields_of
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, get_args

from softcosine._validation import check_choice, check_number, check_type
from softcosine.errors import AlreadyExistsError, InvalidInputError, MalformedFileError
from softcosine.evaluate.documents import Documents
from softcosine.evaluate.systems.soft import Soft
from softcosine.index.defaults import RANKING, WEIGHTING, checked_fields
from softcosine.index.language import analyze_in_language, check_language
from softcosine.index.rankings import check_ranking
from softcosine.index.requests import Ask
from softcosine.index.soft_index import SoftIndex
from softcosine.matrix.recipe import SimilarityRecipe, source_name
from softcosine.space.meaning import STATIC
from softcosine.storage import write_text
from softcosine.text.analyzer import Analyzer
from softcosine.text.weighting import Weighting

if TYPE_CHECKING:
    from softcosine._progress import Report
    from softcosine.encoders.encoder import Encoder
    from softcosine.space.meaning import MeaningSpace


_FORMAT = "softcosine-settings"
_VERSION = 1
# Settings that the system has under the same names.
_SHARED = ("ranking", "language", "stemmer", "stop_words", "encoder", "ask", "meaning")
# The default exponent and threshold of cosines of vectors.
COSINES = {"exponent": 4.0, "threshold": 0.3}
# The name of each setting of a part, and the attribute that holds the part.
_PARTS = {
    own.name: part
    for part, kind in (("similarity", SimilarityRecipe), ("weighting", Weighting))
    for own in fields_of(kind)
}
# In reports.
_NAMES = (
    "sources", "combine", "exponent", "threshold", "max_neighbors", "scaling", "ranking",
    "tf", "idf", "k1", "b", "fields", "language", "stemmer", "stop_words", "encoder", "ask",
    "meaning",
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """How S is made, how texts are analysed, and how documents are ranked.

    Attributes
    ----------
    similarity : SimilarityRecipe
    language : str
        ``"auto"`` to detect it, ``"none"``, or a language; see `SoftIndex.from_texts`.
    stemmer : str or None
        ``"auto"`` for that of the language, another one, or None.
    stop_words : str or None
        Language of the stop words to drop.
    ranking : str
        See `softcosine.index.rankings`.
    weighting : Weighting
        Soft BM25 uses only k1 and b.
    fields : tuple of (str, float), or None
        Fields with scores of their own and their weights; None joins all texts into one.
    encoder : str or None
        Name of the encoder of the documents, or ``"static"``; None for a ranking by words alone.
    ask : {"static", "encoder"}, optional
        How searches encode queries; an index does not store it.
    meaning : float, optional
        Weight of meaning in the ranking; by default that of `SoftIndex`.

    Raises
    ------
    InvalidInputError, FileNotFoundError
        If a setting is out of range.

    Examples
    --------
    >>> Settings().changed(k1=1.2).differences(Settings())
    {'k1': 1.2}
    """

    similarity: SimilarityRecipe = SimilarityRecipe()  # noqa: RUF009  # immutable
    language: str = "auto"
    stemmer: str | None = "auto"
    stop_words: str | None = None
    ranking: str = RANKING
    weighting: Weighting = WEIGHTING
    fields: tuple[tuple[str, float], ...] | None = None
    encoder: str | None = None
    ask: Ask | None = None
    meaning: float | None = None

    def __post_init__(self) -> None:
        check_language(self.language)
        check_ranking(self.ranking)
        for name in ("stop_words", "stemmer", "encoder"):
            check_type(name, getattr(self, name), str | None, "pass a name")
        check_choice("ask", self.ask, get_args(Ask), optional=True)
        check_number("meaning", self.meaning, least=0, optional=True)
        if self.encoder is None and (self.ask, self.meaning) != (None, None):
            raise InvalidInputError(
                "ask and meaning are for documents with an encoder; add one, or leave them out."
            )
        _ = self.analyzer
        if self.fields is not None:
            chosen = checked_fields(dict(self.fields))
            object.__setattr__(self, "fields", tuple((one.name, one.weight) for one in chosen))

    @property
    def rules(self) -> dict[str, Any]:
        """Settings of the analyzer that override those of the language."""
        own = {} if self.stemmer == "auto" else {"stemmer": self.stemmer}
        return own if self.stop_words is None else {**own, "stop_words": self.stop_words}

    @property
    def analyzer(self) -> Analyzer | None:
        """Analyzer of texts; None if it depends on their language."""
        if self.language == "auto" and not self.rules:
            return None
        return Analyzer.for_language(
            "none" if self.language == "auto" else self.language, **self.rules
        )

    def in_language_of(self, texts: Sequence[str]) -> Self:
        """Return the settings with the language of texts in place of ``"auto"``."""
        if self.language != "auto":
            return self
        return self.changed(language=analyze_in_language(texts, rules=self.rules).language)

    def meaning_by(self, encoder: object) -> float | None:
        """Return the weight of meaning with an encoder; the default if it is of another kind."""
        return self.meaning if (encoder == STATIC) == (self.encoder == STATIC) else None

    def options(self, encoder: object) -> dict[str, Any]:
        """Return the options of `SoftIndex.create` for an index by an encoder, or by words."""
        return {
            "similarity": self.similarity, "weighting": self.weighting, "ranking": self.ranking,
            "fields": None if self.fields is None else dict(self.fields),
            "language": self.language, "analyzer": self.analyzer, "encoder": encoder,
            "meaning": None if encoder is None else self.meaning_by(encoder),
        }  # fmt: skip

    def __getitem__(self, name: str) -> Any:
        """Return a setting of `similarity`, of `weighting` or of its own."""
        return getattr(getattr(self, _PARTS[name]) if name in _PARTS else self, name)

    def changed(self, **changes: Any) -> Self:
        """Return a copy with some settings changed, by the names of the parts' settings too."""
        for part in dict.fromkeys(_PARTS.values()):
            own = {name: changes.pop(name) for name in [*changes] if _PARTS.get(name) == part}
            if own:
                changes[part] = replace(getattr(self, part), **own)
        return replace(self, **changes)

    def values(self) -> dict[str, Any]:
        """Return the settings by name, for people; sources are names."""
        found = {name: self[name] for name in _NAMES}
        if found["sources"] is not None:
            found["sources"] = list(map(source_name, found["sources"]))
        found["fields"] = None if self.fields is None else dict(self.fields)
        return found

    def differences(self, other: Settings) -> dict[str, Any]:
        """Return the values that differ from other settings, by name.

        Exponent and threshold are left out where one of both compares no vectors.
        """
        theirs = other.values()
        return {
            name: value
            for name, value in self.values().items()
            if value != theirs[name] and (name not in COSINES or None not in (value, theirs[name]))
        }

    def to_dict(self) -> dict[str, Any]:
        """Return the settings for JSON; source objects by their classes."""
        recipe, sources = self.similarity, self.values()["sources"]
        if sources is not None:
            recipe = recipe.changed(sources=recipe.names)
        return {
            **{own.name: getattr(self, own.name) for own in fields_of(self)},
            "similarity": {**recipe.to_dict(), "sources": sources},
            "weighting": asdict(self.weighting),
            "fields": None if self.fields is None else dict(self.fields),
        }

    @classmethod
    def from_dict(cls, given: Mapping[str, Any]) -> Self:
        """Return settings from the result of `to_dict`; missing ones have their defaults.

        Raises
        ------
        InvalidInputError
            If one is unknown or invalid.
        FileNotFoundError
            If the file of a source does not exist.
        """
        values, known = dict(given), [own.name for own in fields_of(cls)]
        if unknown := sorted(set(values) - set(known)):
            raise InvalidInputError(
                f"there is no setting {unknown[0]!r}; there are {', '.join(known)}."
            )
        if "similarity" in values:
            values["similarity"] = SimilarityRecipe.from_dict(values["similarity"])
        try:
            if "weighting" in values:
                values["weighting"] = replace(WEIGHTING, **values["weighting"])
            if values.get("fields") is not None:
                values["fields"] = tuple(values["fields"].items())
            return cls(**values)
        except (AttributeError, TypeError, OverflowError) as error:  # a number beyond any float
            raise InvalidInputError(f"a setting is of a wrong kind: {error}.") from error

    def spec(self) -> str:
        """Return the spec of these settings for ``softcosine evaluate --compare``.

        Raises
        ------
        InvalidInputError
            If a source is an object.
        """
        recipe = self.similarity
        automatic = recipe.plain or recipe.scaling == "auto"
        sources = None if recipe.sources is None else tuple(map(source_name, recipe.sources))
        system = Soft(
            sources=sources or None, plain=recipe.plain, join=recipe.combine,
            exponent=recipe.exponent, threshold=recipe.threshold,
            max_neighbors=recipe.max_neighbors,
            definite=None if automatic else recipe.scaling == "definite",
            balanced=None if automatic else recipe.scaling == "balanced",
            fields=None if self.fields is None else dict(self.fields), **asdict(self.weighting),
            max_terms=512,  # as in a search
            **{name: getattr(self, name) for name in _SHARED},
        )  # fmt: skip
        return system.name

    def key(self) -> str:
        """Return a string that is equal for equal settings."""
        return json.dumps(self.to_dict(), sort_keys=True)

    def save(self, path: str | Path, *, overwrite: bool = False) -> None:
        """Write the settings atomically as JSON.

        Raises
        ------
        AlreadyExistsError
        InvalidInputError
            If a source is an object.
        """
        target = Path(path)
        if target.exists() and not overwrite:
            raise AlreadyExistsError(
                f"{target} exists already; choose another name, or pass overwrite=True."
            )
        self.similarity.to_dict()  # raises for an object
        content = {"format": _FORMAT, "version": _VERSION, **self.to_dict()}
        write_text(target, json.dumps(content, indent=2) + "\n")

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Return the settings written by `save`.

        Raises
        ------
        FileNotFoundError
            If there is no such file, or a source is a file that is not there.
        MalformedFileError
            If the file is not a file of settings; the message has the reason.
        """
        source = Path(path)
        if not source.is_file():
            raise FileNotFoundError(
                f"there is no file {source}; 'collection tune' writes one by -o."
            )
        try:
            content = json.loads(source.read_text(encoding="utf-8"))
        except (ValueError, RecursionError) as error:
            raise MalformedFileError(source, f"it is no JSON: {error}.") from error
        if not isinstance(content, dict) or content.pop("format", None) != _FORMAT:
            raise MalformedFileError(
                source, f'it holds no settings: \'tune\' writes "format": "{_FORMAT}" in it.'
            )
        version = content.pop("version", None)
        if version != _VERSION:
            raise MalformedFileError(
                source, f"it is of version {version!r}, and this softcosine reads {_VERSION}."
            )
        try:
            return cls.from_dict(content)
        except InvalidInputError as error:
            raise MalformedFileError(source, str(error)) from error

    def told(self, other: Settings) -> str:
        """Return the settings that differ from others, as one line."""
        values = self.differences(other)
        return ", ".join(f"{name} {shown(value)}" for name, value in values.items()) or "the same"


def shown(value: Any) -> str:
    """Return a value of a setting as text."""
    if isinstance(value, Mapping):
        return " ".join(f"{name}={weight:g}" for name, weight in value.items())
    if isinstance(value, Sequence) and not isinstance(value, str):
        return "+".join(value) or "none"
    if isinstance(value, float):
        return f"{value:g}"
    return "none" if value is None else str(value)


def indexed(
    documents: Documents,
    settings: Settings,
    *,
    metadata: Sequence[Mapping[str, Any] | None] | None = None,
    encoder: str | Encoder | None = None,
    encoder_cache: str | Path | None = None,
    meaning_space: MeaningSpace | str | Path | None = None,
    progress: Report | None = None,
) -> SoftIndex:
    """Return an index of documents with the similarities, weights, ranking and fields of settings.

    Parameters
    ----------
    documents : Documents
        Documents with all fields of the settings; without fields in the settings, all fields are
        one text.
    settings : Settings
    metadata : sequence of mappings or None, optional
        One per document.
    encoder, encoder_cache, meaning_space
        See `SoftIndex.create`; the default encoder is that of the settings, if meaning counts.
        The cache is for encoders other than ``"static"``.
    progress : callable, optional
        Called with the step, the number done, and the total or None.

    Raises
    ------
    InvalidInputError
        If a field is missing, or a source is unknown.
    FileNotFoundError, MalformedFileError

    Examples
    --------
    >>> documents = Documents.of(["a puncture in the tyre", "the tea is cold"], ids=["bike", "tea"])
    >>> index = indexed(documents, Settings(language="english"))
    >>> index.search("flat tire").ids
    ['bike']
    """
    if encoder is None and settings.meaning != 0:
        encoder = settings.encoder
    if settings.rules:
        settings = settings.in_language_of(documents.texts)
    options = settings.options(encoder)
    if encoder is not None:
        options |= {"meaning_space": meaning_space}
        options |= {} if encoder == STATIC else {"encoder_cache": encoder_cache}
    index = SoftIndex.from_texts(
        documents.rows(options["fields"] or ()), ids=documents.ids, metadata=metadata,
        progress=progress, **options,
    )  # fmt: skip
    recipe = settings.similarity
    if not recipe.sources:
        return index
    joined = f", joined by {recipe.combine}" if len(recipe.sources) > 1 else ""
    names = ", ".join(map(source_name, recipe.sources))
    return index.with_note(f"Similarities come from {names}{joined}, by tuned settings.")
