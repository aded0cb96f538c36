"""Search space of tuning: the values of every setting, and their dependencies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

from softcosine._validation import check_choice
from softcosine.errors import InvalidInputError
from softcosine.evaluate.tuning.settings import COSINES, Settings
from softcosine.index.defaults import MEANING_WEIGHTS, RANKING, STATIC_WEIGHTS
from softcosine.index.requests import Ask
from softcosine.matrix.recipe import SimilarityRecipe, source_name
from softcosine.similarity.registry import JOINS, kind_named
from softcosine.similarity.source import TermSimilaritySource, usual_neighbors
from softcosine.space.meaning import STATIC
from softcosine.text.stop_words import stop_word_lists

_BM25 = ("soft_bm25", "soft_tf_bm25")
_Source = str | TermSimilaritySource

# In the order of the search: settings with the largest effect come first.
DIMENSIONS = (
    "ranking", "meaning", "stop_words", "stemmer", "sources", "exponent", "threshold",
    "max_neighbors", "scaling", "k1", "b", "tf", "idf", "fields",
)  # fmt: skip

_VALUES: dict[str, tuple[Any, ...]] = {
    "ranking": (*_BM25, "soft_cosine", "expanded_cosine", "inner_product"),
    "exponent": (1.0, 2.0, 3.0, 4.0, 5.0, 7.0),
    "threshold": (0.2, 0.3, 0.4, 0.5, 0.6),
    "max_neighbors": (5, 10, 25, 50, 100, 200),
    "scaling": ("definite", "balanced"),
    "k1": (0.6, 0.9, 1.2, 1.6, 2.0, 3.0),
    "b": (0.0, 0.3, 0.5, 0.75, 0.9),
    "tf": ("log", "raw", "binary", "bm25"),
    "idf": ("smooth", "probabilistic", "bm25", "none"),
}
_SCALES = ("meaning", "exponent", "threshold", "max_neighbors", "k1", "b")
_REAL = ("meaning", "exponent", "threshold", "k1", "b")
_SHARES = (0.25, 0.5, 1.0, 2.0, 4.0)  # weights of one field, where the others have weight 1
_MEANINGS = (
    0.0,
    0.25,
    0.5,
    1.0,
    1.5,
    2.0,
    4.0,
    8.0,
)  # weights, as multiples of the ranking's default
# The mean with a source that lacks a pair halves the similarity.
_JOINS = ("first", "strongest", "noisy-or")
_MOST_FIELDS = 4  # more would use up the budget of a search


def of_cosines(sources: Sequence[_Source]) -> bool:
    """Whether some named source uses an exponent and a threshold."""
    return any(isinstance(one, str) and kind_named(one).of_cosines for one in sources)


def _are_few(sources: Sequence[_Source]) -> bool:
    """Whether the sources are only good for few neighbours, such as co-occurrence in the texts."""
    return bool(sources) and all(
        kind_named(one).learned
        if isinstance(one, str)
        else usual_neighbors(one) < usual_neighbors(object())  # type: ignore[arg-type]
        for one in sources
    )


@dataclass(frozen=True, slots=True)
class Space:
    """The settings that a search may try.

    Attributes
    ----------
    default : Settings
        Settings without tuning; always tried first.
    values : mapping of str to tuple
        Values of each of `DIMENSIONS`; those of ``"sources"`` are pairs of sources and a join, and
        without those of ``"meaning"`` they are multiples of the ranking's default. They need not
        include the default.
    """

    default: Settings
    values: Mapping[str, tuple[Any, ...]]

    def starts(self) -> tuple[Settings, ...]:
        """Return the starts of a search: the default, and settings for the soft cosine.

        The two rankings need different similarities (docs/similarity.md), and a search by single
        changes does not get from one to the other.
        """
        found = [self.simplest(self.default)]
        cosine = self.default
        for name, value in (
            ("ranking", "soft_cosine"),
            ("exponent", 2.0),
            ("scaling", "balanced"),
        ):
            if value not in self.values.get(name, ()):
                return tuple(found)
            cosine = self._moved(cosine, name, value)
        if self.simplest(cosine) not in found:
            found.append(self.simplest(cosine))
        return tuple(found)

    def moves(self, settings: Settings, dimension: str, *, near: bool = False) -> list[Settings]:
        """Return the distinct settings that differ in one dimension, in the order of its values.

        Parameters
        ----------
        settings : Settings
        dimension : str
        near : bool
            Whether to use only the next smaller and the next larger value of a number.
        """
        if not _applies(settings, dimension):
            return []
        values = self.values.get(dimension, ())
        if dimension == "meaning" and not values:
            usual = _meaning_weights(settings)[settings.ranking]
            values = tuple(one * usual for one in _MEANINGS)
        own = settings[dimension] if dimension in _SCALES else None
        if near and own is not None:
            below = [value for value in values if value < own]
            above = [value for value in values if value > own]
            values = (*sorted(below)[-1:], *sorted(above)[:1])
        found: dict[str, Settings] = {}
        for value in values:
            moved = self.simplest(self._moved(settings, dimension, value))
            found.setdefault(moved.key(), moved)
        found.pop(settings.key(), None)
        return list(found.values())

    def simplest(self, settings: Settings) -> Settings:
        """Return equivalent settings, with the defaults for settings without effect."""
        idle = [name for name in _DEPENDENT if not _applies(settings, name)]
        return settings.changed(
            **{name: None if name in COSINES else self.default[name] for name in idle}
        )

    def _moved(self, settings: Settings, dimension: str, value: Any) -> Settings:
        if dimension == "sources":
            return self._with_sources(settings, *value)
        if dimension in COSINES and not _applies(settings, dimension):
            return settings
        changes = {dimension: value}
        if dimension == "ranking" and settings.meaning is not None:
            weights = _meaning_weights(settings)
            old, new = (weights.get(name, 0.0) for name in (settings.ranking, value))
            changes["meaning"] = settings.meaning / old * new if old else new
        return settings.changed(**changes)

    def _with_sources(
        self, settings: Settings, sources: tuple[_Source, ...], join: str
    ) -> Settings:
        changes: dict[str, Any] = dict.fromkeys(COSINES)
        if of_cosines(sources):
            known = [settings, self.default]
            for name, usual in COSINES.items():
                changes[name] = next((one[name] for one in known if one[name] is not None), usual)
        few = _are_few(sources)
        if few != _are_few(settings.similarity.sources or ()):
            usual_limit = self.default.similarity.max_neighbors or 0
            changes["max_neighbors"] = 10 if few else max(usual_limit, 100)
        return settings.changed(sources=sources, combine=join, **changes)


# Settings that have no effect with some others.
_DEPENDENT = ("combine", *COSINES, "max_neighbors", "scaling", "k1", "b", "tf", "idf")


def _applies(settings: Settings, name: str) -> bool:
    """Whether a setting has an effect with the others."""
    sources = settings.similarity.sources or ()
    if name in COSINES:
        return of_cosines(sources)
    if name in ("max_neighbors", "scaling"):
        return bool(sources)
    if name in ("tf", "idf"):
        return settings.ranking not in _BM25
    if name in ("k1", "b"):
        return settings.ranking in _BM25 or settings.weighting.tf == "bm25"
    if name == "meaning":
        return settings.encoder is not None and settings.ranking in MEANING_WEIGHTS
    return name != "combine" or len(sources) > 1


def _meaning_weights(settings: Settings) -> Mapping[str, float]:
    """Return the default weight of meaning in each ranking."""
    return STATIC_WEIGHTS if settings.encoder == STATIC else MEANING_WEIGHTS


def space_for(
    texts: Sequence[str],
    sources: Sequence[str | TermSimilaritySource],
    fields: Sequence[str],
    *,
    language: str | None = None,
    stemmer: str | None = None,
    encoder: str | None = STATIC,
    ask: Ask | None = None,
    given: Mapping[str, Sequence[Any]] | None = None,
) -> Space:
    """Return the space around the default settings of `softcosine index`.

    Texts are stemmed by their language. The default source is the bundled vectors for English, and
    character n-grams for other languages, whose space has no English vectors.

    Parameters
    ----------
    texts : sequence of str
    sources : sequence of str or TermSimilaritySource
        Sources to choose from.
    fields : sequence of str
        Fields of the documents.
    language : str, optional
        A language, or ``"none"``; default: that of the texts.
    stemmer : str, optional
        A language, or ``"none"``; default: that of the language.
    encoder : str or None
        Name of the encoder of the documents; ``"static"`` as for an index, None for words alone.
    ask : {"static", "encoder"}, optional
        How queries are encoded.
    given : mapping of str to sequence, optional
        See `space_around`.
    """
    default = Settings(
        language=language or "auto", stemmer=None if stemmer == "none" else stemmer or "auto"
    ).in_language_of(texts)  # fmt: skip
    is_english = default.language == "english"
    if encoder == STATIC:
        encoder = STATIC if is_english else None
    default = default.changed(encoder=encoder, ask=ask)
    if encoder is not None:
        default = default.changed(meaning=_meaning_weights(default)[RANKING])
    usual = {"combine": "first", "max_neighbors": 100, "scaling": "definite"}
    recipe = (
        SimilarityRecipe(sources=("english",), **usual, **COSINES)  # type: ignore[arg-type]
        if is_english
        else SimilarityRecipe(sources=("character-ngrams",), **usual)  # type: ignore[arg-type]
    )
    chosen = [one for one in sources if is_english or one != "english"]
    if not chosen and not (given or {}).get("sources"):
        raise InvalidInputError(
            "there is no source that knows the words of these documents; name one, such as "
            "character-ngrams."
        )
    return space_around(
        default.changed(similarity=recipe), sources=chosen, fields=fields, given=given
    )


def space_around(
    default: Settings,
    *,
    sources: Sequence[_Source],
    fields: Sequence[str],
    given: Mapping[str, Sequence[Any]] | None = None,
) -> Space:
    """Return the standard space around a default.

    Parameters
    ----------
    default : Settings
    sources : sequence of str or TermSimilaritySource
        All sources; the space has each one, and combinations in this order.
    fields : sequence of str
        Fields of the documents.
    given : mapping of str to sequence, optional
        Other values for some of `DIMENSIONS`; a single value fixes the setting.

    Raises
    ------
    InvalidInputError
        If a dimension is unknown, or a value is not valid.
    """
    language, analyzer = default.language, default.analyzer
    stemmers = [default.stemmer] if analyzer and not analyzer.stemmer else [default.stemmer, None]
    values = {
        **_VALUES,
        "sources": tuple(_joins_of(sources)),
        "fields": tuple(_weights_of(fields)),
        "stop_words": (None, language) if language in stop_word_lists() else (None,),
        "stemmer": tuple(dict.fromkeys(stemmers)),
    }
    known = {source_name(one): one for one in sources}
    fixed: dict[str, Any] = {}
    for name, own in (given or {}).items():
        check_choice("setting", name, DIMENSIONS)
        if isinstance(own, str) or not isinstance(own, Sequence) or not own:
            raise InvalidInputError(f"{name} is {own!r}; needed is a list of values to try.")
        values[name] = tuple(
            _sources_in(value, known) if name == "sources" else _read(default, name, value, fields)
            for value in own
        )
        if len(values[name]) == 1:
            fixed[name] = values[name][0]
    space = Space(default, values)
    for name, value in fixed.items():
        space = replace(space, default=space._moved(space.default, name, value))
    return replace(space, default=space.simplest(space.default))


def _joins_of(sources: Sequence[_Source]) -> list[tuple[tuple[_Source, ...], str]]:
    """Return S = I, single sources, pairs of sources and all sources, by each useful join."""
    found: list[tuple[tuple[_Source, ...], str]] = [((), "first")]
    found += [((one,), "first") for one in sources]
    groups: list[tuple[_Source, ...]] = [*combinations(sources, 2)]
    if len(sources) > 2:
        groups.append(tuple(sources))
    found += [(group, join) for group in groups for join in _JOINS]
    return found


def _weights_of(fields: Sequence[str]) -> list[tuple[tuple[str, float], ...] | None]:
    """Return the choices of fields: one text, and separate fields with several weights."""
    found: list[tuple[tuple[str, float], ...] | None] = [None]
    if not 2 <= len(fields) <= _MOST_FIELDS:
        return found
    for changed in fields[:-1] if len(fields) == 2 else fields:
        for share in _SHARES:
            weights = tuple((name, share if name == changed else 1.0) for name in fields)
            if weights not in found:
                found.append(weights)
    return found


def _sources_in(value: Any, known: Mapping[str, _Source]) -> tuple[tuple[_Source, ...], str]:
    """Return sources and their join; names in a string are joined by a plus."""
    join = "first"
    if isinstance(value, tuple) and len(value) == 2 and value[1] in JOINS:
        value, join = value
    if isinstance(value, str):
        value = () if value in ("", "none") else value.split("+")
    found = tuple(known.get(one, one) if isinstance(one, str) else one for one in value)
    for name in found:
        if isinstance(name, str):
            kind_named(name)  # raises if there is none
    return found, join


def _read(default: Settings, name: str, value: Any, fields: Sequence[str]) -> Any:
    """Return a value in the form of `Space.values`."""
    if name == "fields" and isinstance(value, Mapping):
        value = tuple(value.items())
    found = default.changed(**{name: value})[name]
    if name == "fields" and found is not None:
        weights = dict(found)
        if set(weights) != set(fields):
            raise InvalidInputError(
                f"fields are to be {', '.join(weights)}, and the documents have "
                f"{', '.join(fields)}; give each of these a weight."
            )
        return tuple((field, weights[field]) for field in fields)
    return float(found) if name in _REAL else found
