"""Search space of tuning: the values of every setting, and their dependencies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

from softcosine._validation import check_choice
from softcosine.errors import InvalidInputError
from softcosine.evaluate.tuning.settings import SCALINGS, Settings
from softcosine.similarity.combine.by_name import JOINS
from softcosine.text.stop_words import stop_word_lists

__all__ = ["DIMENSIONS", "Space", "space_around"]

_BM25 = ("soft_bm25", "soft_tf_bm25")

# In the order of the search: settings with the largest effect come first.
DIMENSIONS = (
    "ranking", "stop_words", "stemmer", "sources", "exponent", "threshold", "max_neighbors",
    "scaling", "k1", "b", "tf", "idf", "fields",
)  # fmt: skip

_VALUES: dict[str, tuple[Any, ...]] = {
    "ranking": (*_BM25, "soft_cosine", "expanded_cosine", "inner_product"),
    "exponent": (1.0, 2.0, 3.0, 4.0, 5.0, 7.0),
    "threshold": (0.2, 0.3, 0.4, 0.5, 0.6),
    "max_neighbors": (5, 10, 25, 50, 100, 200),
    "scaling": SCALINGS,
    "k1": (0.6, 0.9, 1.2, 1.6, 2.0, 3.0),
    "b": (0.0, 0.3, 0.5, 0.75, 0.9),
    "tf": ("log", "raw", "binary", "bm25"),
    "idf": ("smooth", "probabilistic", "bm25", "none"),
}
_SCALES = ("exponent", "threshold", "max_neighbors", "k1", "b")
_SHARES = (0.25, 0.5, 1.0, 2.0, 4.0)  # weights of one field, where the others have weight 1
# The mean with a source that lacks a pair halves the similarity.
_JOINS = ("first", "strongest", "noisy-or")
_MOST_FIELDS = 4  # more would use up the budget of a search


@dataclass(frozen=True, slots=True)
class Space:
    """The settings that a search may try.

    Attributes
    ----------
    default : Settings
        Settings without tuning; always tried first.
    values : mapping of str to tuple
        Values of each of `DIMENSIONS`; those of ``"sources"`` are pairs of names and a join. They
        need not include the default.
    of_cosines : frozenset of str
        Sources that use exponent and threshold.
    few_neighbors : frozenset of str
        Sources that are only good for few neighbours, such as co-occurrence in the texts.
    """

    default: Settings
    values: Mapping[str, tuple[Any, ...]]
    of_cosines: frozenset[str] = field(default_factory=frozenset)
    few_neighbors: frozenset[str] = field(default_factory=frozenset)

    def starts(self) -> tuple[Settings, ...]:
        """Return the starts of a search: the default, and settings for the soft cosine.

        The two rankings need different similarities (docs/similarity.md), and a search by single
        changes does not get from one to the other.
        """
        cosine = self.default.changed(ranking="soft_cosine", exponent=2.0, scaling="balanced")
        allowed = all(
            getattr(cosine, name) in self.values.get(name, ())
            for name in ("ranking", "exponent", "scaling")
        )
        found = [self.simplest(self.default)]
        if allowed and self.simplest(cosine) not in found:
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
        values = self.values.get(dimension, ())
        if near and dimension in _SCALES:
            own = getattr(settings, dimension)
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
        plain: set[str] = set()
        if len(settings.sources) < 2:
            plain |= {"join"}
        if not settings.sources:
            plain |= {"max_neighbors", "scaling"}
        if not self.of_cosines & set(settings.sources):
            plain |= {"exponent", "threshold"}
        if settings.ranking in _BM25:
            plain |= {"tf", "idf"}
        elif settings.tf != "bm25":
            plain |= {"k1", "b"}
        return settings.changed(**{name: getattr(self.default, name) for name in plain})

    def _moved(self, settings: Settings, dimension: str, value: Any) -> Settings:
        if dimension != "sources":
            return settings.changed(**{dimension: value})
        names, join = value
        moved = settings.changed(sources=names, join=join)
        few = bool(names) and set(names) <= self.few_neighbors
        if few != (bool(settings.sources) and set(settings.sources) <= self.few_neighbors):
            limit = 10 if few else max(self.default.max_neighbors, 100)
            moved = moved.changed(max_neighbors=limit)
        return moved


def space_around(
    default: Settings,
    *,
    sources: Sequence[str],
    of_cosines: frozenset[str],
    few_neighbors: frozenset[str],
    fields: Sequence[str],
    given: Mapping[str, Sequence[Any]] | None = None,
) -> Space:
    """Return the standard space around a default.

    Parameters
    ----------
    default : Settings
    sources : sequence of str
        All sources; the space has each one, and combinations in this order.
    of_cosines, few_neighbors
        See `Space`.
    fields : sequence of str
        Fields of the documents.
    given : mapping of str to sequence, optional
        Other values for some of `DIMENSIONS`; a single value fixes the setting.

    Raises
    ------
    InvalidInputError
        If a dimension is unknown, or a value is not valid.
    """
    values = {
        **_VALUES,
        "sources": tuple(_joins_of(sources)),
        "fields": tuple(_weights_of(fields)),
        "stop_words": (None, default.stemmer) if default.stemmer in stop_word_lists() else (None,),
        "stemmer": tuple(dict.fromkeys((default.stemmer, None))),
    }
    fixed: dict[str, Any] = {}
    for name, own in (given or {}).items():
        check_choice("setting", name, DIMENSIONS)
        if isinstance(own, str) or not isinstance(own, Sequence) or not own:
            raise InvalidInputError(f"{name} is {own!r}; needed is a list of values to try.")
        values[name] = tuple(_read(default, name, value, fields) for value in own)
        if len(values[name]) == 1:
            fixed[name] = values[name][0]
    space = Space(default, values, of_cosines, few_neighbors)
    for name, value in fixed.items():
        space = Space(space._moved(space.default, name, value), values, of_cosines, few_neighbors)
    return Space(space.simplest(space.default), values, of_cosines, few_neighbors)


def _joins_of(sources: Sequence[str]) -> list[tuple[tuple[str, ...], str]]:
    """Return S = I, single sources, pairs of sources and all sources, by each useful join."""
    found: list[tuple[tuple[str, ...], str]] = [((), "first")]
    found += [((name,), "first") for name in sources]
    groups = list(combinations(sources, 2))
    if len(sources) > 2:
        groups.append(tuple(sources))  # type: ignore[arg-type]
    found += [(tuple(names), join) for names in groups for join in _JOINS]
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


def _read(default: Settings, name: str, value: Any, fields: Sequence[str]) -> Any:
    """Return a value in the form of `Space.values`; source names are joined by a plus."""
    if name == "sources":
        names, join = value if _is_join(value) else (value, default.join)
        if isinstance(names, str):
            names = () if names in ("", "none") else tuple(names.split("+"))
        checked = default.changed(sources=tuple(names), join=join)
        return checked.sources, checked.join
    if name == "fields" and isinstance(value, Mapping):
        value = tuple(value.items())
    found = getattr(default.changed(**{name: value}), name)
    if name == "fields" and found is not None:
        weights = dict(found)
        if set(weights) != set(fields):
            raise InvalidInputError(
                f"fields are to be {', '.join(weights)}, and the documents have "
                f"{', '.join(fields)}; give each of these a weight."
            )
        return tuple((field, weights[field]) for field in fields)
    return found


def _is_join(value: Any) -> bool:
    return (
        isinstance(value, tuple)
        and len(value) == 2
        and not isinstance(value[0], str)
        and value[1] in JOINS
    )
