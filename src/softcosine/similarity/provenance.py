"""Where a similarity comes from: the similarity by each source, and which source decides."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softcosine.similarity.combine.combined import (
    FirstSimilarity,
    ScaledSimilarity,
    StrongestSimilarity,
)
from softcosine.similarity.composite import SourceOfOne, SourceOfSources
from softcosine.similarity.embeddings.embedding import EmbeddingSimilarity
from softcosine.similarity.embeddings.english import english_table
from softcosine.similarity.embeddings.vector_table import DeferredTable
from softcosine.similarity.in_terms import ListInTerms
from softcosine.similarity.overrides.decisions import DecidedSimilarity
from softcosine.similarity.overrides.guard import Guarded
from softcosine.similarity.source import TermSimilaritySource, check_pairs, equal_strings

Terms = Sequence[str]


@dataclass(frozen=True, slots=True)
class Origin:
    """The similarity of a pair by a source, and by the sources inside it.

    Attributes
    ----------
    name : str
        Name of the source, such as "english", "texts" or "strongest", or of the rule that decides
        instead: "pinned", "forbidden", "isolated", "antonyms", "digits", "same word".
    similarity : float
    counts : bool
        Whether the final similarity depends on it.
    note : str
        How the similarity below was changed, such as "times 0.5".
    parts : tuple of Origin
        Origins by the sources inside.
    """

    name: str
    similarity: float
    counts: bool = True
    note: str = ""
    parts: tuple[Origin, ...] = ()

    def leaves(self) -> Iterator[Origin]:
        """Iterate over the origins without parts, in order: the sources that are not joins."""
        if not self.parts:
            yield self
        for part in self.parts:
            yield from part.leaves()

    def notes(self) -> Iterator[str]:
        """Iterate over the notes on the way to the final similarity, the last change first."""
        if self.counts and self.note:
            yield self.note
        for part in self.parts:
            yield from part.notes()

    def __str__(self) -> str:
        """Return one line: deciding sources and changes, then the other sources in brackets."""
        said = list(self._voices())
        shown = [voice for voice, counts in said if counts]
        others = [voice for voice, counts in said if not counts]
        line = ", ".join([*shown, *self.notes()]) or "no source"
        return f"{line} ({', '.join(others)})" if others else line

    def _voices(self) -> Iterator[tuple[str, bool]]:
        """Return name, similarity and whether it counts, of each leaf."""
        for leaf in self.leaves():
            if leaf.similarity > 0.0:
                yield f"{leaf.name} {leaf.similarity:.2f}", leaf.counts
            elif leaf.counts:
                yield leaf.name, True

    def to_dict(self) -> dict[str, Any]:
        """Return the origin as JSON types, without empty notes and parts."""
        record: dict[str, Any] = {
            "name": self.name,
            "similarity": self.similarity,
            "counts": self.counts,
        }
        if self.note:
            record["note"] = self.note
        if self.parts:
            record["parts"] = [part.to_dict() for part in self.parts]
        return record

    @classmethod
    def from_dict(cls, record: Mapping[str, Any]) -> Origin:
        """Return the origin that `to_dict` returned."""
        parts = tuple(map(cls.from_dict, record.get("parts", ())))
        return cls(**{**record, "parts": parts})


def origins(source: TermSimilaritySource, left: Terms, right: Terms) -> list[Origin]:
    """Return the origin of the similarity of each pair ``(left[i], right[i])``.

    Only the library's own composite sources are resolved into their parts.

    Parameters
    ----------
    source : TermSimilaritySource
    left, right : sequence of str, of one length

    Raises
    ------
    InvalidInputError
        If the two sequences differ in length.

    Examples
    --------
    >>> from softcosine.similarity.combine.combined import strongest
    >>> from softcosine.similarity.overrides.decisions import pinned
    >>> from softcosine.similarity.embeddings.embedding import EmbeddingSimilarity
    >>> vectors = EmbeddingSimilarity(["tyre", "tire", "hoop"], [[3, 4], [4, 3], [4, 3]])
    >>> source = pinned(strongest(vectors), {("tyre", "tire"): 0.95})
    >>> for origin in origins(source, ["tyre", "tyre"], ["tire", "hoop"]):
    ...     print(origin)
    pinned 0.95 (vectors 0.85)
    vectors 0.85
    """
    n_pairs = check_pairs(left, right)
    names = _names(source)
    counts = np.ones(n_pairs, np.bool_)
    found = _explain(source, left, right, counts, names)
    for i in np.flatnonzero(equal_strings(left, right)).tolist():
        found[i] = Origin("same word", 1.0)
    return found


def overruled(source: TermSimilaritySource, word: str) -> list[str]:
    """Return the words that your decisions forbid as neighbours of a word, in order.

    Decisions are searched in the source and in the sources inside it.
    """
    found = set()
    if isinstance(source, DecidedSimilarity):
        found.update(source.forbidden(word))
    for part in _parts(source):
        found.update(overruled(part, word))
    return sorted(found)


def _names(source: TermSimilaritySource) -> dict[int, str]:
    """Return the short names of the sources inside a source, by id; equal names are numbered."""
    leaves: dict[int, str] = {}

    def collect(part: TermSimilaritySource) -> None:
        parts = _parts(part)
        for inner in parts:
            collect(inner)
        if not parts and id(part) not in leaves:
            leaves[id(part)] = name_of(part)

    collect(source)
    several = Counter(leaves.values())
    met: Counter[str] = Counter()
    for key, name in leaves.items():
        met[name] += 1
        leaves[key] = f"{name} {met[name]}" if several[name] > 1 else name
    return leaves


def name_of(source: TermSimilaritySource) -> str:
    """Return the short name of a source, such as "english", "texts" or "vectors".

    It is the attribute `name` of the source (a thesaurus: the name of its file, or "wordnet by
    path"), else the attribute `label` of its class, else the name of the class in lower case.

    Examples
    --------
    >>> name_of(EmbeddingSimilarity(["tyre", "tire"], [[3, 4], [4, 3]]))
    'vectors'
    """
    if isinstance(source, ListInTerms):
        source = source.source
    name = getattr(source, "name", None)
    if isinstance(name, str) and name:
        return name
    if isinstance(source, EmbeddingSimilarity) and _is_english(source):
        return "english"
    kind = type(source).__name__
    plain = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", kind.removesuffix("Similarity") or kind).lower()
    return str(getattr(source, "label", plain))


def _is_english(source: EmbeddingSimilarity) -> bool:
    """Whether a source uses the bundled English table, or a copy of it."""
    if isinstance(source.table, DeferredTable) and source.table.bundled:
        return True
    table = english_table()
    return len(source) == len(table) and source.words == table.words


def _parts(source: TermSimilaritySource) -> tuple[TermSimilaritySource, ...]:
    """Return the sources directly inside a source."""
    return source.sources if isinstance(source, SourceOfSources) else ()


def _explain(
    source: TermSimilaritySource,
    left: Terms,
    right: Terms,
    counts: NDArray[np.bool_],
    names: Mapping[int, str],
) -> list[Origin]:
    """Explain pairs; `counts` is true where the final similarity depends on this source."""
    values = source.similarities(left, right)
    parts = _parts(source)
    others: list[list[Origin]] = [[] for _ in left]
    notes = [""] * len(left)
    if isinstance(source, SourceOfSources) and not isinstance(source, SourceOfOne):
        says = np.array([part.similarities(left, right) for part in parts])
        resting = _deciding(source, left, right, says) & counts
    else:
        resting = counts[np.newaxis].copy()
        for i, note, other in _overrulings(source, left, right):
            notes[i] = note
            if other is not None:
                resting[0, i] = False
                others[i].append(Origin(other, float(values[i]), bool(counts[i])))
    below = [
        _explain(part, left, right, rests, names)
        for part, rests in zip(parts, resting, strict=False)
    ]
    name = names.get(id(source)) or name_of(source)
    return [
        Origin(
            name,
            float(values[i]),
            bool(counts[i]),
            notes[i],
            (*others[i], *(origin[i] for origin in below)),
        )
        for i in range(len(left))
    ]


def _overrulings(
    source: TermSimilaritySource, left: Terms, right: Terms
) -> Iterator[tuple[int, str, str | None]]:
    """Yield the pairs that a source with one part changes: a note, or the deciding rule."""
    if isinstance(source, ScaledSimilarity):
        yield from ((i, f"times {source.factor:g}", None) for i in range(len(left)))
    elif isinstance(source, Guarded):
        opposed = source.antonyms.opposed(left, right)
        for i in np.flatnonzero(source.apart(left, right)).tolist():
            yield i, "", "antonyms" if opposed[i] else "digits"
    elif isinstance(source, DecidedSimilarity):
        for i, (kind, value) in enumerate(source.verdicts(left, right)):
            if kind == "weighed":
                if value != 1.0:
                    yield i, f"times {value:g}", None
            else:
                yield i, "", kind


def _deciding(
    join: SourceOfSources, left: Terms, right: Terms, says: NDArray[np.float32]
) -> NDArray[np.bool_]:
    """Which parts of a joined source decide, given what they say; shape (n_parts, n_pairs)."""
    decide: NDArray[np.bool_] = says > 0.0
    if isinstance(join, StrongestSimilarity):
        decide &= says == says.max(axis=0)
    elif isinstance(join, FirstSimilarity):
        decide = np.array([part.knows(left) & part.knows(right) for part in join.sources])
        decide &= np.cumsum(decide, axis=0) == 1
    return decide
