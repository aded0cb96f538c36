"""Explanation of a score: the contribution of each pair of query and document words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from softcosine.index.query.query_vectors import ParsedQuery
from softcosine.index.rankings import TITLES
from softcosine.index.search.frequency_searcher import FrequencySearcher
from softcosine.index.search.notebook import bar, escaped, html_table
from softcosine.index.search.searcher import Searcher
from softcosine.index.search.top_docs import QueryVector

if TYPE_CHECKING:
    import pandas as pd

    from softcosine.index.search.meaning import QueryMeaning
    from softcosine.space.meaning import StaticQuery

# In parts of meaning: the document as a whole, what words do not explain, and words of less weight.
DOCUMENT, REST = "(meaning)", "(the rest of what the encoder read)"
ROUNDING = "(rounding)"
OTHERS = "(other words)"
_SHOWN_PAIRS = 16  # strongest pairs of the meaning; the others are merged
_ROUNDING = 1e-12


@dataclass(frozen=True, slots=True)
class Part:
    """The contribution of one pair of words to a score.

    Attributes
    ----------
    query_word, document_word : str
    similarity : float
        s_ij; 1 for equal terms.
    contribution : float
        In units of the score.
    exact : bool
        Whether both words are the same term, such as two forms of one stem.
    field : str
        Field of the document word; empty in an index of one field.
    space : {"words", "meaning"}
        In ``meaning`` a word can be the rest of what the encoder read (`REST`), the words of all
        weaker pairs (`OTHERS`), or, if its text is not stored, the document as a whole
        (`DOCUMENT`).
    """

    query_word: str
    document_word: str
    similarity: float
    contribution: float
    exact: bool
    field: str = ""
    space: Literal["words", "meaning"] = "words"

    @property
    def sign(self) -> str:
        """``=`` for an exact pair, ``~`` for a similar one, ``≈`` for meaning."""
        if self.space == "meaning":
            return "≈"
        return "=" if self.exact else "~"


@dataclass(frozen=True, slots=True)
class Explanation:
    """The contributions to a score, largest first; they sum to the score.

    Prints as a table.
    """

    query: str
    id: str
    score: float
    parts: tuple[Part, ...]
    ranking: str

    def __str__(self) -> str:
        lines = [f"score {self.score:.4f} ({self.title}) of document {self.id}"]
        if not self.parts:
            return f"{lines[0]}: no word of it is like a word of the query"
        left = max(len(part.query_word) for part in self.parts)
        right = max(len(part.document_word) for part in self.parts)
        lines += [
            f"  {part.query_word:>{left}} {part.sign} "
            f"{part.document_word:<{right}}  {part.similarity:.2f}  adds {part.contribution:.4f}"
            f"{'  in ' + part.field if part.field else ''}"
            for part in self.parts
        ]
        return "\n".join(lines)

    @property
    def title(self) -> str:
        """The ranking and its score."""
        title = TITLES.get(self.ranking, self.ranking)
        return f"{title} + meaning" if self.by_meaning else title

    @property
    def by_meaning(self) -> bool:
        """Whether some parts are of meaning."""
        return any(part.space == "meaning" for part in self.parts)

    @property
    def several_fields(self) -> bool:
        """Whether the index has several fields."""
        return any(part.field for part in self.parts)

    def _repr_html_(self) -> str:
        fields = self.several_fields
        greatest = max((abs(part.contribution) for part in self.parts), default=0.0)
        rows = [
            (
                escaped(part.query_word),
                part.sign,
                escaped(part.document_word),
                *([escaped(part.field)] if fields else []),
                f"{part.similarity:.2f}",
                f"{part.contribution:.4f}",
                bar(part.contribution, greatest),
            )
            for part in self.parts
        ]
        own = ["field"] if fields else []
        return html_table(
            f"{self.query}: {self.id}",
            ("query", "", "document", *own, "similarity", "adds", ""),
            rows,
            left=(2, 6) if fields else (2, 5),
            foot=("", "", "", *[""] * fields, escaped(self.title), f"{self.score:.4f}", ""),
            notes=() if rows else ("no word of the document is like a word of the query",),
        )

    def to_pandas(self) -> pd.DataFrame:
        """Return a table, one row per pair, largest first.

        With the field if there are several, and the space if there is meaning.
        """
        from softcosine.index.search.frames import data_frame

        names = ["query_word", "document_word", "similarity", "contribution", "exact"]
        if self.several_fields:
            names.append("field")
        if self.by_meaning:
            names.append("space")
        return data_frame({name: [getattr(part, name) for part in self.parts] for name in names})


def meaning_parts(
    unit: NDArray[np.float64] | None,
    meaning: QueryMeaning,
    static: tuple[StaticQuery | None, StaticQuery | None],
    rest: str = REST,
) -> list[Part]:
    """Return the contributions of pairs of words to a weighted cosine, and the rest (theory T19).

    The weaker pairs of a query and a document whose words are known are merged.

    Parameters
    ----------
    unit : ndarray of shape (dimensions,), float64, or None
        Coordinates of the document, of length 1.
    meaning : QueryMeaning
    static : tuple of StaticQuery or None
        The words of the query and of the document, where they are known.
    rest : str
        What the words of the document leave.
    """
    if unit is None:
        return []
    queries, left = _decomposed(meaning.unit, static[0], REST, REST)
    words, right = _decomposed(unit, static[1], DOCUMENT, rest)
    cosines = left @ right.T
    merged = np.zeros(cosines.shape, np.bool_)
    if words != [DOCUMENT]:
        order = np.argsort(-np.abs(cosines), axis=None, kind="stable")
        merged.flat[order[_SHOWN_PAIRS:]] = True
    cells = [(queries[i], words[j], float(cosines[i, j])) for i, j in np.argwhere(~merged).tolist()]
    left_over = np.array([word == REST for word in queries])
    right_over = np.array([word == rest for word in words])
    for first, rows in ((OTHERS, ~left_over), (REST, left_over)):
        for second, columns in ((OTHERS, ~right_over), (rest, right_over)):
            cell = merged & rows[:, np.newaxis] & columns
            if cell.any():
                cells.append((first, second, float(cosines[cell].sum())))
    return [
        Part(first, second, cosine, meaning.weight * cosine, exact=False, space="meaning")
        for first, second, cosine in cells
    ]


def _decomposed(
    unit: NDArray[np.float64], static: StaticQuery | None, whole: str, rest: str
) -> tuple[list[str], NDArray[np.float64]]:
    """Return distinct words and their summands of some coordinates, the rest last.

    Without words, the only summand is the `whole`.
    """
    if static is None:
        return [whole], unit[np.newaxis]
    rows: dict[str, int] = {}
    places = [rows.setdefault(word, len(rows)) for word in static.words]
    summands = np.zeros((len(rows) + 1, len(unit)))
    np.add.at(summands, places, float(unit @ static.vector) * static.shares)
    summands[-1] = unit - summands.sum(axis=0)
    if np.abs(summands[-1]).max() <= _ROUNDING:
        return [*rows], summands[:-1]
    return [*rows, rest], summands


def word_parts(
    searcher: Searcher,
    vector: QueryVector,
    parsed: ParsedQuery,
    document: int,
    document_words: Mapping[str, str],
) -> list[Part]:
    """Return the contribution of each pair of words to the score of one field.

    `document_words` has, for each term, its word in the text of the document.
    """
    S = searcher.S
    searched, local = searcher.part_of(document)
    terms, values = searched.coordinates(local, local + 1)
    weights, outside_weights, factor = _weights(searcher, vector, document)
    held = dict(zip(terms.tolist(), values.tolist(), strict=True))
    indptr, indices, data = S.arrays
    words: list[tuple[str, float, int, NDArray[Any], NDArray[Any]]] = [
        (word, weight, i, indices[row], data[row])
        for word, weight, i in zip(
            parsed.words, weights.tolist(), parsed.terms.tolist(), strict=True
        )
        for row in [slice(indptr[i], indptr[i + 1])]
    ]
    words += [
        (one.word, weight, -1, one.terms, one.similarities)
        for one, weight in zip(parsed.outside, outside_weights.tolist(), strict=True)
    ]
    parts = []
    for word, weight, own, others, similarities in words:
        for j, similarity in zip(others.tolist(), similarities.tolist(), strict=True):
            contribution = weight * similarity * held.get(j, 0.0) * factor
            if contribution != 0.0:
                term = S.vocabulary.term(j)
                shown = document_words.get(term, term)
                parts.append(Part(word, shown, similarity, contribution, j == own))
    return parts


def _weights(
    searcher: Searcher, vector: QueryVector, document: int
) -> tuple[NDArray[np.float64], NDArray[np.float64], float]:
    """Return the weight of each query word in a document, of words outside, and their factor."""
    part, local = searcher.part_of(document)
    ranking = part.ranking
    if not isinstance(searcher, FrequencySearcher):
        factor = searcher.expanded(vector).factor * float(ranking.factors[local])
        return vector.weights, vector.extra_weights, factor
    # A pair contributes q_i s_ij idf_j tf_jd (k1 + 1) / (x_i + K_d); x_i is the soft frequency.
    frequencies = searcher.frequencies(vector, document)
    idf = np.append(
        ranking.term_weights[vector.terms], [ranking.absent_weight] * len(vector.extra_weights)
    )
    counts = np.append(vector.weights, vector.extra_weights) / idf
    saturated = np.divide(
        counts, frequencies + ranking.saturation[local], out=np.zeros_like(counts),
        where=frequencies > 0,
    )  # fmt: skip
    n = len(vector.terms)
    return saturated[:n], saturated[n:], 1.0
