"""What searches and listings give back."""

from __future__ import annotations

import html
from collections.abc import Callable, Container, Iterator, Sequence
from dataclasses import dataclass, field, fields
from functools import partial
from typing import TYPE_CHECKING, Any, overload

from softcosine.index.search.facets import Facets
from softcosine.index.search.highlights import Snippet
from softcosine.index.search.plan import ALONE, Plan
from softcosine.index.search.rankings import TITLES
from softcosine.index.segment.documents import Document

if TYPE_CHECKING:
    import pandas as pd

    from softcosine.index.query.suggestions import Suggestion

__all__ = ["Hit", "Hits", "Listing"]

_SHOWN = 20  # words that did not count, where hits are printed
_PRINTED = 10  # hits
_WIDTH_OF_ID = 24


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
    title : str or None
        What the metadata name ``title``, or else the index's field of that name.
    """

    id: str
    score: float
    text: str
    metadata: dict[str, Any]
    number: int
    title: str | None
    _snippet: Callable[[str], Snippet] = field(repr=False, compare=False)

    @property
    def snippet(self) -> Snippet:
        """The passage that best shows why it was found."""
        return self._snippet(self.text)

    def __reduce__(self) -> tuple[Any, ...]:
        # What makes the snippet holds the whole index, so the snippet itself is kept.
        found = (self.id, self.score, self.text, self.metadata, self.number, self.title)
        return Hit, (*found, partial(_kept, self.snippet))


def _shortened(words: tuple[str, ...]) -> tuple[str, ...]:
    """Return a few words, and how many more there are."""
    few = words[:_SHOWN]
    return (*few, f"and {len(words) - len(few)} more") if len(words) > len(few) else few


def _title_html(hit: Hit) -> str:
    return f"<b>{html.escape(hit.title)}</b><br>" if hit.title else ""


def _kept(passage: Snippet, text: str) -> Snippet:
    """Return a snippet that was made already."""
    return passage


def _same(suggestions: tuple[Suggestion, ...]) -> tuple[Suggestion, ...]:
    """Return suggestions that were looked up already."""
    return suggestions


def _shown(hit: Hit) -> str:
    """Return the title of a hit, if it has one, and its passage."""
    passage = hit.snippet.text
    if not hit.title or passage.startswith(hit.title):
        return passage
    return f"{hit.title}: {passage}"


def _remade(values: dict[str, Any]) -> Hits:
    return Hits(**values)


def _line(text: str, width: int = 60) -> str:
    """Return a text as one short line that disturbs no terminal."""
    line = " ".join(text[: 4 * width].split())
    line = "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in line)
    return line if len(line) <= width else f"{line[: width - 1]}…"


@dataclass(frozen=True, slots=True, repr=False)
class Hits(Sequence[Hit]):
    """Documents by decreasing score, equal ones by insertion, or as `sort` says; of `Hit`.

    Printing it gives a table.

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
    mmr : float or None
        What the order strikes a balance with between score and difference, if it is not that of
        the scores alone; see `SoftIndex.search`.
    facets : dict of str to tuple of FacetCount
        For each key that was to be counted its values, and how many of all documents that match
        have them; see `softcosine.index.search.facets`.
    """

    query: str
    ranking: str
    hits: tuple[Hit, ...]
    outside: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    offset: int = 0
    plan: Plan = field(default=ALONE, compare=False)
    mmr: float | None = None
    facets: Facets = field(default_factory=dict)
    _suggest: Callable[[], tuple[Suggestion, ...]] = field(default=tuple, compare=False)

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
    def suggestions(self) -> tuple[Suggestion, ...]:
        """Indexed words of nearest spelling, for each unknown word of the query.

        Looked up when asked for: each word is compared with all that are indexed.
        """
        return self._suggest()

    @property
    def ids(self) -> list[str]:
        """Ids of the documents, best first."""
        return [hit.id for hit in self.hits]

    def to_pandas(self) -> pd.DataFrame:
        """One row a hit: rank (from `offset` + 1), id, score, text, each key of the metadata."""
        from softcosine.index.search.frames import data_frame

        columns: dict[str, Any] = {
            "rank": list(range(self.offset + 1, self.offset + len(self) + 1)),
            "id": self.ids,
            "score": [hit.score for hit in self.hits],
        }
        return data_frame(columns | _text_columns(self.hits, columns))

    def __reduce__(self) -> tuple[Any, ...]:
        # What looks suggestions up holds the whole index, so these themselves are kept.
        values = {one.name: getattr(self, one.name) for one in fields(self)}
        return _remade, ({**values, "_suggest": partial(_same, self.suggestions)},)

    def __repr__(self) -> str:
        shown = self.hits[:_PRINTED]
        rows = [("rank", "score", "id", TITLES.get(self.ranking, self.ranking))]
        rows += [
            (str(rank), f"{hit.score:.3f}", _line(hit.id, _WIDTH_OF_ID), _line(_shown(hit)))
            for rank, hit in enumerate(shown, self.offset + 1)
        ]
        rank, score, id, _ = (max(map(len, column)) for column in zip(*rows, strict=True))
        lines = [f"Hits for {_line(self.query)!r}: {len(self)}"] + [
            f"{row[0]:>{rank}}  {row[1]:>{score}}  {row[2]:<{id}}  {row[3]}".rstrip()
            for row in (rows if shown else [])
        ]
        if len(shown) < len(self):
            lines.append(f"and {len(self) - len(shown)} more")
        lines += [f"{label}: {', '.join(words)}" for label, words in self._notes() if words]
        return "\n".join(lines)

    def _notes(self) -> list[tuple[str, tuple[str, ...]]]:
        """Say what became of words that are not indexed, and of long queries."""
        return [
            ("in no document, searched by their neighbours", self.outside),
            ("unknown", self.unknown),
            ("did you mean", tuple(one.candidates[0].word for one in self.suggestions)),
            ("of a long query, not counted", _shortened(self.left_out)),
            (
                "ordered by relevance and difference, mmr",
                () if self.mmr is None else (f"{self.mmr:g}",),
            ),
        ]

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><td>{rank}</td><td>{hit.score:.3f}</td><td>{html.escape(hit.id)}</td>"
            f"<td style='text-align:left'>{_title_html(hit)}{hit.snippet.to_html()}</td></tr>"
            for rank, hit in enumerate(self.hits, self.offset + 1)
        )
        notes = [
            f"{label}: {html.escape(', '.join(words))}" for label, words in self._notes() if words
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
        Over all documents that pass; see `softcosine.index.search.facets`.
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
        from softcosine.index.search.frames import data_frame

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
