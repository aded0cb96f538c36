"""What searches and listings give back."""

from __future__ import annotations

import html
from collections.abc import Callable, Container, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, overload

from softcosine.index.documents import Document
from softcosine.index.facets import Facets
from softcosine.index.plan import ALONE, Plan
from softcosine.index.rankings import TITLES
from softcosine.index.snippet import Snippet

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Hit", "Hits", "Listing"]

_SHOWN = 20  # words that did not count, in a notebook's view


@dataclass(frozen=True, slots=True)
class Hit:
    """A document that was found.

    Attributes
    ----------
    id : str
    score : float
        See the ranking of `Hits`; a soft cosine lies between 0 and 1 for a definite S.
    text : str
    metadata : dict
    number : int
        How many documents were inserted before it.
    """

    id: str
    score: float
    text: str
    metadata: dict[str, Any]
    number: int
    _snippet: Callable[[str], Snippet] = field(repr=False, compare=False)

    @property
    def snippet(self) -> Snippet:
        """The passage that best shows why it was found."""
        return self._snippet(self.text)

    def __reduce__(self) -> tuple[Any, ...]:
        # What makes the snippet holds the whole index, so the snippet itself is kept.
        found = (self.id, self.score, self.text, self.metadata, self.number)
        return Hit, (*found, partial(_kept, self.snippet))


def _shortened(words: tuple[str, ...]) -> tuple[str, ...]:
    """Return a few words, and how many more there are."""
    few = words[:_SHOWN]
    return (*few, f"and {len(words) - len(few)} more") if len(words) > len(few) else few


def _kept(passage: Snippet, text: str) -> Snippet:
    """Return a snippet that was made already."""
    return passage


@dataclass(frozen=True, slots=True)
class Hits(Sequence[Hit]):
    """Documents by decreasing score, equal ones by insertion, or as `sort` says; of `Hit`.

    Attributes
    ----------
    query : str
    ranking : str
        What the scores are.
    outside : tuple of str
        Words of the query that no document has, searched by their neighbours.
    unknown : tuple of str
        Words of the query that neither the documents nor the source of similarities have.
    left_out : tuple of str
        Words of a long query that did not count; see ``max_terms`` of `SoftIndex.search`.
    offset : int
        How many better documents were passed over.
    plan : Plan
        How the answer was found, and why so.
    facets : dict of str to tuple of FacetCount
        For each key that was to be counted its values, and how many of all documents that match
        have them; see `softcosine.index.facets`.
    """

    query: str
    ranking: str
    hits: tuple[Hit, ...]
    outside: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    offset: int = 0
    plan: Plan = field(default=ALONE, repr=False, compare=False)
    facets: Facets = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.hits)

    @overload
    def __getitem__(self, position: int) -> Hit: ...
    @overload
    def __getitem__(self, position: slice) -> tuple[Hit, ...]: ...
    def __getitem__(self, position: int | slice) -> Hit | tuple[Hit, ...]:
        return self.hits[position]

    def __iter__(self) -> Iterator[Hit]:
        return iter(self.hits)

    @property
    def ids(self) -> list[str]:
        """Ids of the documents, best first."""
        return [hit.id for hit in self.hits]

    def to_pandas(self) -> pd.DataFrame:
        """One row a hit: rank (from `offset` + 1), id, score, text, each key of the metadata."""
        from softcosine.index.frames import data_frame

        columns: dict[str, Any] = {
            "rank": list(range(self.offset + 1, self.offset + len(self) + 1)),
            "id": self.ids,
            "score": [hit.score for hit in self.hits],
        }
        return data_frame(columns | _text_columns(self.hits, columns))

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><td>{rank}</td><td>{hit.score:.3f}</td><td>{html.escape(hit.id)}</td>"
            f"<td style='text-align:left'>{hit.snippet.to_html()}</td></tr>"
            for rank, hit in enumerate(self.hits, self.offset + 1)
        )
        notes = [
            f"{label}: {html.escape(', '.join(words))}"
            for label, words in (
                ("in no document, searched by their neighbours", self.outside),
                ("unknown", self.unknown),
                ("of a long query, not counted", _shortened(self.left_out)),
            )
            if words
        ]
        note = f"<p>{'; '.join(notes)}</p>" if notes else ""
        return (
            f"<table><caption>{html.escape(self.query)}</caption><thead><tr><th></th>"
            f"<th>{TITLES[self.ranking]}</th><th>id</th><th>text</th></tr>"
            f"</thead><tbody>{rows}</tbody></table>{note}"
        )


@dataclass(frozen=True, slots=True)
class Listing(Sequence[Document]):
    """Documents that pass a filter, by insertion or as `sort` says; a sequence of `Document`.

    Attributes
    ----------
    documents : tuple of Document
        Each with its id, text and metadata.
    n_matching : int
        How many documents pass, shown or not.
    offset : int
        How many before these were passed over.
    facets : dict of str to tuple of FacetCount
        Over all documents that pass; see `softcosine.index.facets`.
    """

    documents: tuple[Document, ...]
    n_matching: int
    offset: int = 0
    facets: Facets = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.documents)

    @overload
    def __getitem__(self, position: int) -> Document: ...
    @overload
    def __getitem__(self, position: slice) -> tuple[Document, ...]: ...
    def __getitem__(self, position: int | slice) -> Document | tuple[Document, ...]:
        return self.documents[position]

    def __iter__(self) -> Iterator[Document]:
        return iter(self.documents)

    @property
    def ids(self) -> list[str]:
        """Ids of the documents, in order."""
        return [document.id for document in self.documents]

    def to_pandas(self) -> pd.DataFrame:
        """One row a document: id, text, each key of the metadata."""
        from softcosine.index.frames import data_frame

        columns: dict[str, Any] = {"id": self.ids}
        return data_frame(columns | _text_columns(self.documents, columns))


def _text_columns(
    documents: Sequence[Hit] | Sequence[Document], before: Container[str]
) -> dict[str, Any]:
    """Return text and each key of the metadata, renamed where a column before has its name."""
    columns: dict[str, Any] = {"text": [document.text for document in documents]}
    for key in dict.fromkeys(key for document in documents for key in document.metadata):
        name = key if key != "text" and key not in before else f"metadata.{key}"
        columns[name] = [document.metadata.get(key) for document in documents]
    return columns
