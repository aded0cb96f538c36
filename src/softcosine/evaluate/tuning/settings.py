"""Settings of an index that tuning chooses, and their JSON file."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from dataclasses import fields as fields_of
from pathlib import Path
from typing import Any, Self

from softcosine._validation import check_choice, check_number
from softcosine.errors import AlreadyExistsError, InvalidInputError, MalformedFileError
from softcosine.evaluate.systems.settings import joined_names
from softcosine.index.defaults import RANKING, WEIGHTING
from softcosine.index.search.fields import checked_fields
from softcosine.index.search.rankings import check_ranking
from softcosine.matrix.rules import Rules
from softcosine.similarity.combine.by_name import JOINS
from softcosine.similarity.registry import kind_named
from softcosine.storage import write_text
from softcosine.text.analyzer import Analyzer
from softcosine.text.weighting import Weighting

__all__ = ["SCALINGS", "Settings", "shown"]

SCALINGS = ("definite", "balanced")

_FORMAT = "softcosine-settings"
_VERSION = 1


@dataclass(frozen=True, slots=True)
class Settings:
    """Sources of similarity, how S is made of them, and how documents are ranked.

    Attributes
    ----------
    sources : tuple of str
        Names of sources in the order of their combination; empty for S = I.
    join : {"first", "strongest", "mean", "noisy-or"}
        Method to combine several sources.
    exponent, threshold : float
        Exponent and minimum of the cosines of sources that compare vectors.
    max_neighbors : int
        Maximum number of similar terms per term in S.
    scaling : {"definite", "balanced"}
        Off-diagonal entries of S scaled by the largest factor that makes it positive semidefinite,
        or balanced (theory T6).
    ranking : str
        See `softcosine.index.search.rankings`.
    tf, idf, k1, b
        See `Weighting`. Soft BM25 uses only k1 and b.
    fields : tuple of (str, float), or None
        Fields with scores of their own and their weights; None joins all texts into one.
    stemmer : str or None
        Language of the stemmer.
    stop_words : str or None
        Language of the stop words to drop.

    Raises
    ------
    InvalidInputError
        If a setting is out of range.

    Examples
    --------
    >>> Settings().changed(exponent=2.0).differences(Settings())
    {'exponent': 2.0}
    """

    sources: tuple[str, ...] = ("english",)
    join: str = "first"
    exponent: float = 4.0
    threshold: float = 0.3
    max_neighbors: int = 100
    scaling: str = "definite"
    ranking: str = RANKING
    tf: str = WEIGHTING.tf
    idf: str = WEIGHTING.idf
    k1: float = WEIGHTING.k1
    b: float = WEIGHTING.b
    fields: tuple[tuple[str, float], ...] | None = None
    stemmer: str | None = None
    stop_words: str | None = None

    def __post_init__(self) -> None:
        given: Any = self.sources
        listed = isinstance(given, list | tuple)
        if not listed or not all(isinstance(name, str) and name for name in given):
            raise InvalidInputError(f"sources is {given!r}; needed is a list of names.")
        if len(set(given)) < len(given):
            raise InvalidInputError(f"sources is {given!r}; name each source once.")
        for name, value, possible in (
            ("join", self.join, JOINS),
            ("scaling", self.scaling, SCALINGS),
        ):
            check_choice(name, value, possible)
        check_number("exponent", self.exponent, above=0)
        check_number("threshold", self.threshold, least=0, most=1)
        Rules(self.max_neighbors)
        check_ranking(self.ranking)
        _ = self.weighting
        if not isinstance(self.stop_words, str | None):
            raise InvalidInputError(
                f"stop_words is {self.stop_words!r}; needed is a language, as english, or None."
            )
        _ = self.analyzer
        if self.fields is not None:
            chosen = checked_fields(dict(self.fields))
            object.__setattr__(self, "fields", tuple((one.name, one.weight) for one in chosen))
        for name in ("exponent", "threshold", "k1", "b"):
            object.__setattr__(self, name, float(getattr(self, name)))
        object.__setattr__(self, "sources", tuple(given))
        object.__setattr__(self, "max_neighbors", int(self.max_neighbors))

    @property
    def weighting(self) -> Weighting:
        """Weighting of terms."""
        return Weighting(tf=self.tf, idf=self.idf, k1=self.k1, b=self.b)

    @property
    def analyzer(self) -> Analyzer:
        """Analyzer of texts."""
        return Analyzer(self.stemmer, stop_words=self.stop_words)

    def changed(self, **changes: Any) -> Self:
        """Return a copy with some settings changed."""
        return replace(self, **changes)

    def differences(self, other: Settings) -> dict[str, Any]:
        """Return the values that differ from other settings, by name."""
        return {
            name: value for name, value in self.to_dict().items() if value != other.to_dict()[name]
        }

    def to_dict(self) -> dict[str, Any]:
        """Return the settings for JSON."""
        values = {one.name: getattr(self, one.name) for one in fields_of(self)}
        values["sources"] = list(self.sources)
        values["fields"] = None if self.fields is None else dict(self.fields)
        return values

    @classmethod
    def from_dict(cls, given: Mapping[str, Any]) -> Self:
        """Return settings from the result of `to_dict`; missing ones have their defaults.

        Raises
        ------
        InvalidInputError
            If one is unknown or invalid.
        """
        values = dict(given)
        unknown = sorted(set(values) - {one.name for one in fields_of(cls)})
        if unknown:
            raise InvalidInputError(
                f"there is no setting {unknown[0]!r}; there are "
                f"{', '.join(one.name for one in fields_of(cls))}."
            )
        if isinstance(values.get("sources"), list):
            values["sources"] = tuple(values["sources"])
        if values.get("fields") is not None:
            if not isinstance(values["fields"], Mapping):
                raise InvalidInputError(
                    f"fields is {values['fields']!r}; needed are names and their weights, such as "
                    '{"title": 2, "text": 1}.'
                )
            values["fields"] = tuple(values["fields"].items())
        try:
            return cls(**values)
        except (TypeError, OverflowError) as error:  # such as a number beyond any float
            raise InvalidInputError(f"a setting is of a wrong kind: {error}.") from error

    def spec(self) -> str:
        """Return the spec of these settings for ``softcosine evaluate --compare``.

        Raises
        ------
        InvalidInputError, FileNotFoundError
            If a source cannot be made by its name.
        """
        values = {name: str(own) for name, own in self.to_dict().items() if own is not None}
        values["stemmer"] = self.stemmer or "none"
        values["max_terms"] = "512"  # as in a search
        for name in ("sources", "fields", "scaling"):
            values.pop(name, None)
        if self.sources:
            values = {"sources": joined_names(self.sources), **values}
            values["definite"] = str(self.scaling == "definite").lower()
            values["balanced"] = str(self.scaling == "balanced").lower()
            if not any(kind_named(name).of_cosines for name in self.sources):
                del values["exponent"], values["threshold"]
        else:
            for name in ("join", "exponent", "threshold", "max_neighbors"):
                del values[name]
            values["plain"] = "true"
        if self.fields is not None:
            values["fields"] = joined_names(f"{name}:{weight}" for name, weight in self.fields)
        quoted = {name: f'"{own}"' if "," in own else own for name, own in values.items()}
        return "soft:" + ",".join(f"{name}={own}" for name, own in quoted.items())

    def key(self) -> str:
        """Return a string that is equal for equal settings."""
        return json.dumps(self.to_dict(), sort_keys=True)

    def save(self, path: str | Path, *, overwrite: bool = False) -> None:
        """Write the settings atomically as JSON.

        Raises
        ------
        AlreadyExistsError
        """
        target = Path(path)
        if target.exists() and not overwrite:
            raise AlreadyExistsError(
                f"{target} exists already; choose another name, or pass overwrite=True."
            )
        content = {"format": _FORMAT, "version": _VERSION, **self.to_dict()}
        write_text(target, json.dumps(content, indent=2) + "\n")

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Return the settings written by `save`.

        Raises
        ------
        FileNotFoundError
        MalformedFileError
            If the file is not a file of settings; the message has the reason.
        """
        source = Path(path)
        if not source.is_file():
            raise FileNotFoundError(f"there is no file {source}; 'tune' writes one by -o.")
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

    def told(self, other: Settings | None = None) -> str:
        """Return the settings as one line; with `other`, only the differing ones."""
        values = self.to_dict() if other is None else self.differences(other)
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
