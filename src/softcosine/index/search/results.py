"""Results of searches and of filters."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar, overload

from softcosine.index.query.suggestions import Suggestion
from softcosine.index.requests import TITLES
from softcosine.index.search.facets import Facets
from softcosine.index.search.highlights import Snippet
from softcosine.index.search.notebook import escaped, html_table
from softcosine.index.segment.documents import Document
from softcosine.index.spaces.plan import ALONE, Plan

if TYPE_CHECKING:
    import pandas as pd

_SHOWN = 20  # ignored words in printed hits
_CANDIDATES = 3  # suggestions for a word
_PRINTED = 10  # printed hits
_WIDTH_OF_ID = 24
_WIDTH_OF_TEXT = 240  # in a notebook


@dataclass(frozen=True, slots=True)
class Hit:
    """A document of a search result.

    Attributes
    ----------
    id : str
    score : float
        See `Hits.ranking`; a soft cosine lies between 0 and 1 for a definite S.
    text : str
    metadata : dict
    number : int
        Number of documents inserted before it.
    title : str or None
        The ``title`` of the metadata, or else the text of the field ``title``, or of the first of
        several fields if it is short.
    """

    id: str
    score: float
    text: str
    metadata: dict[str, Any]
    number: int
    title: str | None
    _snippet: Callable[[str, str | None], Snippet] = field(repr=False, compare=False)

    _lazy: ClassVar = {"snippet": Snippet}

    @classmethod
    def _read(
        cls, id: str, score: float, text: str = "", metadata: dict[str, Any] | None = None,
        number: int = -1, title: str | None = None, snippet: Snippet | None = None,
    ) -> Hit:  # fmt: skip
        """Return a hit that a server sent."""
        passage = Snippet("", ()) if snippet is None else snippet
        return cls(id, score, text, metadata or {}, number, title, partial(_known, passage))

    @property
    def heading(self) -> str:
        """The title on one line; empty if there is none or the snippet begins with it."""
        title = " ".join((self.title or "").split())
        return "" if self.snippet.text.startswith(title) else title

    @property
    def snippet(self) -> Snippet:
        """The passage that matches the query best, after a title that begins the text."""
        return self._snippet(self.text, self.title)

    def __reduce__(self) -> tuple[Any, ...]:
        # Pickle the snippet: the function that computes it refers to the whole index.
        found = (self.id, self.score, self.text, self.metadata, self.number, self.title)
        return Hit, (*found, partial(_known, self.snippet))


def _shortened(words: tuple[str, ...]) -> tuple[str, ...]:
    """Return the first words, and the number of the others."""
    few = words[:_SHOWN]
    return (*few, f"and {len(words) - len(few)} more") if len(words) > len(few) else few


def _known(value: Any, *_: object) -> Any:
    """Return a value that was computed before it was pickled or sent."""
    return value


def _line(text: str, width: int = 60) -> str:
    """Return a text as one short line without control characters."""
    line = " ".join(text[: 4 * width].split())
    line = "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in line)
    return line if len(line) <= width else f"{line[: width - 1]}…"


_Row = TypeVar("_Row", Hit, Document)


class _Rows(Sequence[_Row]):
    """Hits or documents in order, with ids, on a page that begins at an offset."""

    __slots__ = ()

    @property
    def _rows(self) -> tuple[_Row, ...]:
        raise NotImplementedError

    def __len__(self) -> int:
        return len(self._rows)

    @overload
    def __getitem__(self, position: int) -> _Row: ...
    @overload
    def __getitem__(self, position: slice) -> tuple[_Row, ...]: ...
    def __getitem__(self, position: int | slice) -> _Row | tuple[_Row, ...]:
        return self._rows[position]

    @property
    def ids(self) -> list[str]:
        """Ids of the documents, in order."""
        return [row.id for row in self._rows]

    def _table(self, **columns: Any) -> pd.DataFrame:
        """Return a table of columns, texts and metadata, renamed if a column has their name."""
        from softcosine.index.frames import data_frame

        columns["text"] = [row.text for row in self]
        for key in dict.fromkeys(key for row in self for key in row.metadata):
            name = f"metadata.{key}" if key in columns else key
            columns[name] = [row.metadata.get(key) for row in self]
        return data_frame(columns)


@dataclass(frozen=True, slots=True, repr=False)
class Hits(_Rows[Hit]):
    """A sequence of `Hit`, by decreasing score (ties: earlier first), or as `sort` orders them.

    Prints as a table.

    Attributes
    ----------
    query : str
    ranking : str
        The ranking of the scores.
    outside : tuple of str
        Query words that are in no document; they match by their neighbors.
    unknown : tuple of str
        Query words that no document has, nor a word like them.
    left_out : tuple of str
        Ignored words of a long query; see ``max_terms`` of `SoftIndex.search`.
    required, excluded : tuple of str
        Words and ``"phrases"`` that every hit contains, or none does, by operators of the query.
    offset : int
        Number of better documents that were skipped.
    plan : Plan
        How the search was executed, and why.
    mmr : float or None
        The weight of the score in a ranking by maximal marginal relevance; see `SoftIndex.search`.
    facets : dict of str to tuple of FacetCount
        For each requested key, its values and their counts over all matching documents; see
        `softcosine.index.search.facets`.
    corrected : mapping of str to str
        Misspelt words of the query, and the indexed words that were searched in their place; see
        ``correct`` of `SoftIndex.search`.
    missing_shards : tuple of str
        Shards of a sharded index that did not answer within its ``timeout``: their documents are
        missing.
    note : str
        What the hits have in common with the query if no document has a word of it, why there are
        none, such as a filter that no document passes, and keys of ``sort`` and ``facets`` that no
        document has; else empty.
    """

    query: str
    ranking: str
    hits: tuple[Hit, ...]
    outside: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    required: tuple[str, ...] = ()
    excluded: tuple[str, ...] = ()
    offset: int = 0
    plan: Plan = field(default=ALONE, compare=False)
    mmr: float | None = None
    facets: Facets = field(default_factory=dict)
    missing_shards: tuple[str, ...] = ()
    corrected: Mapping[str, str] = field(default_factory=dict)
    note: str = ""
    _suggest: Callable[[], tuple[Suggestion, ...]] = field(default=tuple, compare=False)

    _lazy: ClassVar = {"suggestions": tuple[Suggestion, ...]}

    @classmethod
    def _read(cls, suggestions: tuple[Suggestion, ...] = (), **values: Any) -> Hits:
        """Return the hits that a server sent."""
        return cls(**values, _suggest=partial(_known, suggestions))

    @property
    def _rows(self) -> tuple[Hit, ...]:
        return self.hits

    @property
    def suggestions(self) -> tuple[Suggestion, ...]:
        """Indexed words of nearest spelling for each unknown word of the query.

        Computed on first access, for the first 100 words, by comparison with every indexed word.
        """
        return self._suggest()

    @property
    def title(self) -> str:
        """What the scores are."""
        title = TITLES.get(self.ranking, self.ranking)
        return title if self.plan.ask == "words" else f"{title} + meaning"

    def to_pandas(self) -> pd.DataFrame:
        """Return a table, one row per hit: rank (from `offset` + 1), id, score, text, metadata."""
        ranks = list(range(self.offset + 1, self.offset + len(self) + 1))
        return self._table(rank=ranks, id=self.ids, score=[hit.score for hit in self.hits])

    def __reduce__(self) -> tuple[Any, ...]:
        # Pickle the suggestions: the function that computes them refers to the whole index.
        values = {one.name: getattr(self, one.name) for one in fields(self)}
        return partial(Hits, **{**values, "_suggest": partial(_known, self.suggestions)}), ()

    def __repr__(self) -> str:
        shown = self.hits[:_PRINTED]
        rows = [("rank", "score", "id", self.title)]
        rows += [
            (str(rank), f"{hit.score:.3f}", _line(hit.id, _WIDTH_OF_ID),
             _line(f"{hit.heading}: {hit.snippet}".removeprefix(": ")))
            for rank, hit in enumerate(shown, self.offset + 1)
        ]  # fmt: skip
        rank, score, id, _ = (max(map(len, column)) for column in zip(*rows, strict=True))
        lines = [f"Hits for {_line(self.query)!r}: {len(self)}"] + [
            f"{row[0]:>{rank}}  {row[1]:>{score}}  {row[2]:<{id}}  {row[3]}".rstrip()
            for row in (rows if shown else [])
        ]
        if len(shown) < len(self):
            lines.append(f"and {len(self) - len(shown)} more")
        return "\n".join([*lines, *self.notes])

    @property
    def notes(self) -> list[str]:
        """What became of the words of the query, in sentences, for people."""
        corrected = tuple(f"{new} for {word}" for word, new in self.corrected.items())
        by_meaning = self.plan.ask != "words" and len(self.hits)
        unknown = "which count by meaning alone" if by_meaning else "ignored"
        replaced = ", replaced by similar words" if self.hits else ""
        meant = (
            f"{' or '.join(own.word for own in one.candidates[:_CANDIDATES])} for {one.word}"
            for one in self.suggestions
        )
        notes = [
            ("Searched {}; correct=False searches as written.", corrected),
            ("{}.", (self.note,) if self.note else ()),
            ("With: {}.", self.required),
            ("Without: {}.", self.excluded),
            (f"Words in no document{replaced}: {{}}.", self.outside),
            (f"Unknown words, {unknown}: {{}}.", self.unknown),
            ("Did you mean: {}?", tuple(filter(None, ["; ".join(meant)]))),
            ("The query is long; these words have the lowest weights and were ignored: {}.",
             _shortened(self.left_out)),
            ("Ordered by relevance and difference, mmr {}.",
             () if self.mmr is None else (f"{self.mmr:g}",)),
            ("Shards that did not answer in time, whose documents are missing: {}.",
             self.missing_shards),
        ]  # fmt: skip
        return [text.format(", ".join(words)) for text, words in notes if words]

    def _repr_html_(self) -> str:
        rows = [
            (str(rank), f"{hit.score:.3f}", escaped(hit.id),
             f"<b>{escaped(hit.heading)}</b><br>" * bool(hit.heading) + hit.snippet.to_html())
            for rank, hit in enumerate(self.hits, self.offset + 1)
        ]  # fmt: skip
        notes = self.notes if rows else ["Nothing found.", *self.notes]
        header = ("", escaped(self.title), "id", "text")
        return html_table(self.query, header, rows, left=(2, 3), notes=notes)


@dataclass(frozen=True, slots=True, repr=False)
class Listing(_Rows[Document]):
    """A sequence of `Document` that pass a filter, by insertion or as `sort` orders them.

    Prints as a table.

    Attributes
    ----------
    documents : tuple of Document
        Each with its id, text and metadata.
    n_matching : int
        Number of all documents that pass the filter.
    offset : int
        Number of documents that were skipped.
    facets : dict of str to tuple of FacetCount
        Over all documents that pass the filter; see `softcosine.index.search.facets`.
    """

    documents: tuple[Document, ...]
    n_matching: int
    offset: int = 0
    facets: Facets = field(default_factory=dict)

    @property
    def _rows(self) -> tuple[Document, ...]:
        return self.documents

    def to_pandas(self) -> pd.DataFrame:
        """Return a table, one row per document: id, text, metadata."""
        return self._table(id=self.ids)

    def __repr__(self) -> str:
        shown = self.documents[:_PRINTED]
        ids = [_line(document.id, _WIDTH_OF_ID) for document in shown]
        width = max(map(len, ids), default=0)
        lines = [self._counted()]
        lines += [
            f"  {id:<{width}}  {_line(document.text)}".rstrip()
            for id, document in zip(ids, shown, strict=True)
        ]
        if len(shown) < len(self):
            lines.append(f"and {len(self) - len(shown)} more")
        return "\n".join(lines)

    def _counted(self) -> str:
        if not self.documents:
            return f"0 of {self.n_matching} documents"
        first, last = self.offset + 1, self.offset + len(self)
        return f"Documents {first} to {last} of {self.n_matching}"

    def _repr_html_(self) -> str:
        rows = [
            (escaped(one.id), escaped(_line(one.text, _WIDTH_OF_TEXT)), escaped(_metadata(one)))
            for one in self.documents
        ]
        return html_table(self._counted(), ("id", "text", "metadata"), rows, left=(0, 1, 2))


def _metadata(document: Document) -> str:
    return ", ".join(f"{key}: {_line(str(value))}" for key, value in document.metadata.items())
