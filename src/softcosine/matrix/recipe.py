"""`SimilarityRecipe`: how S is made, as a value (sources, combination, sparsity, scaling)."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self, get_args

from softcosine._progress import Report, silent
from softcosine._threads import takes_threads
from softcosine._validation import (
    check_choice,
    check_flag,
    check_list,
    check_number,
    check_type,
    plain_number,
)
from softcosine.errors import AlreadyExistsError, InvalidInputError, MalformedFileError
from softcosine.matrix.rules import Order, Rules, Strategy
from softcosine.similarity.default import antonyms_of, default_source
from softcosine.similarity.in_terms import TermKeys, in_terms, phrases_in
from softcosine.similarity.overrides.decision_files import decisions_of_lines
from softcosine.similarity.overrides.decision_list import Decisions
from softcosine.similarity.overrides.decisions import decided
from softcosine.similarity.overrides.guard import guarded
from softcosine.similarity.registry import (
    JOINS,
    ONLY,
    SourceSettings,
    join_by,
    kind_and_place,
    kind_named,
    needs_nothing,
    source_named,
)
from softcosine.similarity.source import checked_source
from softcosine.similarity.thesaurus.thesaurus import ThesaurusSimilarity
from softcosine.storage import checked_path, write_text

if TYPE_CHECKING:
    from softcosine.matrix.term_similarity_matrix import TermSimilarityMatrix
    from softcosine.similarity.source import TermSimilaritySource
    from softcosine.text.analyzer import Analyzer
    from softcosine.text.corpus import AnalyzedTexts
    from softcosine.text.vocabulary import Vocabulary

Scaling = Literal["auto", "none", "balanced", "definite"]

_FORMAT, _VERSION = "softcosine-recipe", 1
_ORDERS = get_args(Order)
# Settings of recipes of earlier releases.
_GONE = {
    "proposer": "all pairs are compared, so S is exact",
    "calibrate": 'combine the sources by "first" instead',
}
# Kinds of sources that are lists, and whether their pairs are pinned; None: depends on the size.
_LISTS = {"synonyms": None, "list": True}


@dataclass(frozen=True, slots=True)
class BuiltSimilarity:
    """The result of a recipe.

    Attributes
    ----------
    S : TermSimilarityMatrix
    source : TermSimilaritySource or None
        Source of similarities for words that are not terms; None if S = I.
    note : str
        Origin of the similarities, in a sentence.
    """

    S: TermSimilarityMatrix
    source: TermSimilaritySource | None
    note: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SimilarityRecipe:
    """How a term similarity matrix S is made.

    Parameters
    ----------
    sources : sequence of str or TermSimilaritySource, optional
        Names (``"english"``, ``"texts"``, ``"edit-distance"``), files of vectors or synonyms,
        ``KIND:PLACE``, or source objects. By default the source depends on the language of the
        texts; if all sources are lists of synonyms, they stand before this default, unless one is
        written ``only:FILE``. An empty sequence gives S = I.
    combine : {"strongest", "noisy-or", "first"}
        How the similarities by several sources are joined.
    threshold, exponent : float, optional
        For named sources that compare vectors; by default those of each source.
    overrides : Decisions, optional
        Your decisions, which take precedence over all sources.
    guard : bool
        Whether antonyms get similarity 0 and terms with digits have no neighbours.
    max_neighbors, min_similarity, strategy, order
        See `TermSimilarityMatrix.from_source`.
    scaling : {"auto", "none", "balanced", "definite"}
        See `TermSimilarityMatrix.from_source`. ``"auto"``: definite for the default sources,
        balanced for others, if S is symmetric.

    Raises
    ------
    InvalidInputError
        If a setting is unknown or out of range, or settings contradict each other.
    FileNotFoundError
        If the file of a source does not exist.

    Examples
    --------
    >>> import softcosine as sc
    >>> recipe = SimilarityRecipe(sources=[sc.PairSimilarity({("tyre", "tire"): 0.75})])
    >>> recipe.build(sc.Vocabulary(["tire", "tyre"])).S.neighbors("tyre")
    [('tire', 0.75)]
    """

    sources: Sequence[str | TermSimilaritySource] | None = None
    combine: str = "strongest"
    threshold: float | None = None
    exponent: float | None = None
    overrides: Decisions | None = None
    guard: bool = True
    max_neighbors: int | None = None
    min_similarity: float = 0.0
    strategy: Strategy = "symmetric"
    order: Order = "rare_first"
    scaling: Scaling = "auto"

    def __post_init__(self) -> None:
        given: Any = self.sources
        if given is not None:
            check_list("sources", given, "names or of sources", types=Sequence)
            object.__setattr__(self, "sources", tuple(given))
        check_type(
            "overrides",
            self.overrides,
            Decisions | None,
            "pass Decisions, or read them by read_decisions(path)",
        )
        check_flag("guard", self.guard)
        Rules(
            0 if self.max_neighbors is None else self.max_neighbors,
            self.min_similarity,
            self.strategy,
        )
        for name, possible in (("order", _ORDERS), ("scaling", get_args(Scaling))):
            check_choice(name, getattr(self, name), possible)
        if self.strategy == "rows" and self.scaling in ("balanced", "definite"):
            raise InvalidInputError(
                'strategy "rows" makes S asymmetric, which cannot be balanced or made definite; '
                'choose another strategy, or scaling="none".'
            )
        check_number("threshold", self.threshold, least=0, most=1, optional=True)
        check_number("exponent", self.exponent, above=0, optional=True)
        for name in ("max_neighbors", "min_similarity", "threshold", "exponent"):
            object.__setattr__(self, name, plain_number(getattr(self, name)))  # it becomes JSON
        if self.plain and self.overrides is not None:
            raise InvalidInputError(
                "overrides change the similarities of sources, and there are none (S = I); name a "
                "source, or leave the overrides out."
            )
        self._check_sources()

    def _check_sources(self) -> None:
        """Validate the sources before anything is read."""
        given = self.sources or ()
        for source in given:
            if not isinstance(source, str):
                checked_source(source)
        check_choice("combine", self.combine, JOINS)
        kinds = [kind_named(name) for name in self.names]
        shown = ", ".join(self.names) or "the default sources"
        of_cosines = (self.threshold, self.exponent) != (None, None)
        if of_cosines and given and not any(kind.of_cosines for kind in kinds):
            raise InvalidInputError(
                f"threshold and exponent are for named sources of vectors, and none of {shown} is "
                "one; leave them out, or set min_similarity."
            )

    @property
    def names(self) -> tuple[str, ...]:
        """The sources given by name."""
        return tuple(source for source in self.sources or () if isinstance(source, str))

    @property
    def adds_default(self) -> bool:
        """Whether the default source is joined too: all sources are lists, none ``only:FILE``."""
        return bool(self.sources) and all(
            isinstance(source, str)
            and not source.startswith(ONLY)
            and kind_and_place(source)[0] in (*_LISTS, "thesaurus")
            for source in self.sources or ()
        )

    @property
    def plain(self) -> bool:
        """Whether S = I."""
        return self.sources == ()

    @property
    def outside(self) -> tuple[str, ...]:
        """The sources that are files, models or objects, which others may not have."""
        given = self.sources or ()
        return tuple(source_name(source) for source in given if not needs_nothing(source))

    def absolute(self) -> Self:
        """Return the recipe with absolute paths of its files."""
        return replace(self, sources=self.sources and tuple(map(_absolute, self.sources)))

    def needs_texts(self) -> bool:
        """Whether building S needs the texts."""
        return any(kind_named(name).learned for name in self.names)

    @property
    def rules(self) -> dict[str, Any]:
        """Keyword arguments of `TermSimilarityMatrix.from_source` for this recipe."""
        scaling = self.scaling
        if scaling == "auto":
            scaling = "definite" if self.sources is None else "balanced"
            scaling = scaling if self.strategy == "symmetric" else "none"
        return {
            "max_neighbors": self.max_neighbors,
            "min_similarity": self.min_similarity,
            "strategy": self.strategy,
            "order": self.order,
            "balanced": scaling == "balanced",
            "definite": scaling == "definite",
        }

    def __copy__(self) -> Self:
        return self  # immutable

    def __deepcopy__(self, memo: object) -> Self:
        return self

    def changed(self, **changes: Any) -> Self:
        """Return the recipe with changed settings."""
        return replace(self, **changes)

    def phrases(self) -> tuple[str, ...]:
        """Return the words of lists and overrides; the analyzer takes phrases from them."""
        words: list[str] = []
        for source in self.sources or ():
            if not isinstance(source, str):
                words += phrases_in(source)
                continue
            kind, place = kind_and_place(source)
            if kind in _LISTS:
                words += phrases_in(ThesaurusSimilarity.load(place, pinned=_LISTS[kind]))
        if self.overrides is not None:
            words += [word for pair in self.overrides.pins() for word in pair]
        return tuple(words)

    def joined(
        self,
        texts: AnalyzedTexts | None = None,
        *,
        vocabulary: Vocabulary | None = None,
        language: str | None = None,
        words: Iterable[str] | None = None,
        report: Report = silent,
    ) -> tuple[TermSimilaritySource, str]:
        """Return the joined sources, without guard and overrides, and a note on their origin.

        Parameters
        ----------
        texts : AnalyzedTexts, optional
            Needed by sources that learn from texts.
        vocabulary : Vocabulary, optional
            Of the texts; needed without them.
        language : str, optional
            Of the texts.
        words : iterable of str, optional
            Load the vectors of these words only; all by default.
        report : callable, optional
            Called with (task, done, total or None).

        Raises
        ------
        InvalidInputError
            If there are no texts to learn from.
        FileNotFoundError, MalformedFileError
        """
        chosen = None if words is None else tuple(words)
        settings = SourceSettings(
            self.threshold, self.exponent, texts, chosen, report=report, vocabulary=vocabulary
        )
        if self.sources is None:
            return default_source(settings, language)
        made = [
            source_named(source, settings) if isinstance(source, str) else source
            for source in self.sources
        ]
        note = f"Similarities come from {', '.join(map(_noted, self.sources))}"
        note += f", joined by {self.combine}." if len(made) > 1 else "."
        source = made[0] if len(made) == 1 else join_by(self.combine, made)
        source, why = self.before_default(source, settings, language)
        return source, f"{note[:-1]}, before the default ones. {why}" if why else note

    def before_default(
        self, source: TermSimilaritySource, settings: SourceSettings, language: str | None
    ) -> tuple[TermSimilaritySource, str]:
        """Return the joined sources before the default one, and a note on it, if they are lists."""
        if not self.adds_default:
            return source, ""
        default, note = default_source(settings, language)
        join = "first" if self.combine == "first" else "strongest"
        return join_by(join, (source, default)), note

    def finished(
        self,
        source: TermSimilaritySource,
        *,
        vocabulary: Vocabulary | None = None,
        analyzer: Analyzer | None = None,
        language: str | None = None,
    ) -> TermSimilaritySource:
        """Return a source with the guard and then the overrides applied, and in terms."""
        if self.guard:
            source = guarded(source, antonyms=antonyms_of(language))
        if self.overrides is not None:
            source = decided(source, self.overrides)
        return in_terms(source, TermKeys(analyzer, vocabulary=vocabulary))

    @takes_threads
    def build(
        self,
        vocabulary: Vocabulary,
        texts: AnalyzedTexts | None = None,
        *,
        analyzer: Analyzer | None = None,
        language: str | None = None,
        words: Iterable[str] | None = None,
        threads: int | None = None,
        report: Report | None = None,
    ) -> BuiltSimilarity:
        """Make S.

        Parameters
        ----------
        vocabulary : Vocabulary
        texts : AnalyzedTexts, optional
            Needed by the default sources and by sources that learn from texts.
        analyzer : Analyzer, optional
            Analyzer of the terms.
        language : str, optional
            Of the texts, or ``"none"``. If unknown, the guard uses English antonyms.
        words : iterable of str, optional
            Load the vectors of these words only; all by default.
        threads : int, optional
            See `softcosine.using_threads`.
        report : callable, optional
            Called with (task, done, total or None).

        Raises
        ------
        InvalidInputError
            If there are no texts to learn from.
        FileNotFoundError, MalformedFileError
        """
        from softcosine.matrix.term_similarity_matrix import TermSimilarityMatrix

        tell = report or silent
        if self.plain:
            S = TermSimilarityMatrix.identity(vocabulary)
            return BuiltSimilarity(S, None, "Only equal words count: S = I.")
        source, note = self.joined(
            texts, vocabulary=vocabulary, language=language, words=words, report=tell
        )
        source = self.finished(source, vocabulary=vocabulary, analyzer=analyzer, language=language)
        tell("finding similar terms", 0, len(vocabulary))
        progress, rules = partial(tell, "finding similar terms"), {**self.rules, "warn": False}
        S = TermSimilarityMatrix.from_source(
            source, vocabulary, guard=False, analyzer=analyzer, progress=progress, **rules
        )
        notes = [note]
        if self.overrides is not None:
            n = len(self.overrides)
            notes.append(f"{n} {'decision overrides' if n == 1 else 'decisions override'} them.")
        return BuiltSimilarity(S, source, " ".join(notes))

    def to_dict(self) -> dict[str, Any]:
        """Return the recipe as JSON types.

        Raises
        ------
        InvalidInputError
            If a source is an object and not a name.
        """
        for source in self.sources or ():
            if not isinstance(source, str):
                raise InvalidInputError(
                    f"{source_name(source)} is a source without a name, which a file cannot hold; "
                    "give sources by name, or keep the matrix that the recipe builds."
                )
        values: dict[str, Any] = {field.name: getattr(self, field.name) for field in fields(self)}
        if self.sources is not None:
            values["sources"] = list(self.sources)
        if self.overrides is not None:
            values["overrides"] = self.overrides.text().splitlines()
        return {"format": _FORMAT, "version": _VERSION, **values}

    @classmethod
    def from_dict(cls, given: Mapping[str, Any], *, trusted: bool = True) -> Self:
        """Return the recipe from the result of `to_dict`; missing settings have their defaults.

        One from elsewhere, if `trusted` is false, cannot name files and models; none is looked for.

        Raises
        ------
        InvalidInputError
            If it is not a recipe, or has an unknown or invalid setting.
        FileNotFoundError
            If the file of a source does not exist.
        """
        if not isinstance(given, Mapping) or given.get("format", _FORMAT) != _FORMAT:
            raise InvalidInputError(
                f"the recipe is {given!r:.80}; needed is a mapping of settings, with the format "
                f"{_FORMAT!r}."
            )
        values = {name: value for name, value in given.items() if name not in ("format", "version")}
        if given.get("version", _VERSION) != _VERSION:
            raise InvalidInputError(
                f"the recipe is of version {given['version']!r}; this release reads {_VERSION}."
            )
        for name, advice in _GONE.items():
            if values.pop(name, None):
                raise InvalidInputError(
                    f'the recipe has the setting {name!r} of earlier releases; delete "{name}" '
                    f"from the recipe: {advice}."
                )
        known = [field.name for field in fields(cls)]
        if unknown := [name for name in values if name not in known]:
            raise InvalidInputError(
                f"a recipe has no setting {unknown[0]!r}; it has {', '.join(known)}."
            )
        sources = values.get("sources")
        for source in sources if isinstance(sources, list) and not trusted else ():
            if not needs_nothing(source):
                raise InvalidInputError(
                    f"the source {source!r:.100} is a file or a model, which a recipe of others "
                    "cannot name; name those of the library, or make it by 'softcosine index'."
                )
        if (lines := values.get("overrides")) is not None:
            values["overrides"] = decisions_of_lines(lines)
        try:
            return cls(**values)
        except TypeError as error:
            raise InvalidInputError(f"a setting of a recipe has a wrong type: {error}.") from error

    def save(self, path: str | Path, *, overwrite: bool = False) -> None:
        """Write the recipe to a JSON file.

        Raises
        ------
        InvalidInputError
            As `to_dict`.
        AlreadyExistsError, OSError
        """
        target = checked_path(path)
        if target.exists() and not overwrite:
            raise AlreadyExistsError(f"{target} exists already; pass overwrite=True to replace it.")
        write_text(target, json.dumps(self.to_dict(), indent=2) + "\n")

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read a recipe from a JSON file, written by `save` or by hand.

        Raises
        ------
        FileNotFoundError, MalformedFileError
        """
        if checked_path(path).is_dir():
            raise MalformedFileError(path, "it is a folder; a recipe is a file of JSON.")
        try:
            return cls.from_dict(json.loads(Path(path).read_text(encoding="utf-8")))
        except (ValueError, RecursionError) as error:
            raise MalformedFileError(path, f"it is no recipe: {error}") from error


def _absolute(source: str | TermSimilaritySource) -> str | TermSimilaritySource:
    if not isinstance(source, str):
        return source
    place = kind_and_place(source)[1]
    if not place or not Path(place).exists():
        return source
    return source.removesuffix(place) + str(Path(place).absolute())


def _noted(source: str | TermSimilaritySource) -> str:
    """Return a source for the note: of a file the name, not its folder."""
    if isinstance(source, str) and kind_named(source).of_file:
        place = kind_and_place(source)[1]
        return source.removesuffix(place) + Path(place).name
    return source_name(source)


def source_name(source: str | TermSimilaritySource) -> str:
    """Return the name of a source for people; of an object, that of its class."""
    return source if isinstance(source, str) else type(source).__name__
