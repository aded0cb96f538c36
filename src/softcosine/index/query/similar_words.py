"""The terms most similar to a word, and the sources that say so."""

from __future__ import annotations

from typing import Any

from softcosine.errors import InvalidInputError, UnknownTermError
from softcosine.index.query.query_vectors import ParsedQuery
from softcosine.matrix.term_similarity_matrix import TermSimilarityMatrix
from softcosine.similarity.provenance import origins, overruled
from softcosine.similarity.source import TermSimilaritySource
from softcosine.text.analyzer import shortened


def neighbors_of(
    word: str, parsed: ParsedQuery, S: TermSimilarityMatrix, *, k: int
) -> list[tuple[str, float]]:
    """Return the k terms most similar to a parsed word, by their representatives.

    Raises
    ------
    InvalidInputError
        If the word contains no term, or several.
    """
    n_terms = len(parsed.terms) + len(parsed.outside) + len(parsed.unknown)
    if n_terms != 1:
        raise InvalidInputError(
            f"the word {shortened(word)} holds {n_terms} terms; needed is one. Ask for several "
            "words one by one."
        )
    if parsed.outside:
        found = parsed.outside[0]
        pairs = [
            (S.representative(int(j)), float(s))
            for j, s in zip(found.terms, found.similarities, strict=True)
        ]
        # Balancing can change the order.
        return sorted(pairs, key=lambda pair: (-pair[1], pair[0]))[:k]
    if not len(parsed.terms):
        return []
    term = S.vocabulary.term(int(parsed.terms[0]))
    return [
        (S.representative(S.vocabulary.index(other)), similarity)
        for other, similarity in S.neighbors(term, k=k)
    ]


def similar_words(
    word: str,
    parsed: ParsedQuery,
    S: TermSimilarityMatrix,
    source: TermSimilaritySource | None,
    *,
    k: int,
) -> dict[str, Any]:
    """Return a parsed word's neighbours, and with a source their origins; see `SoftIndex.term`.

    Raises
    ------
    InvalidInputError, UnknownTermError
    """
    if parsed.unknown and not len(parsed.terms) and not parsed.outside:
        raise UnknownTermError(
            f"{shortened(word)} is not indexed, and no source has similar words for it."
        )
    pairs: list[dict[str, Any]] = [
        {"word": other, "similarity": value} for other, value in neighbors_of(word, parsed, S, k=k)
    ]
    record: dict[str, Any] = {"word": word, "indexed": not parsed.outside, "neighbors": pairs}
    if source is None:
        return record
    # Sources know words, so the representative of the term is looked up.
    known = parsed.outside[0].word if parsed.outside else None
    asked = known or S.representatives[parsed.terms[0]]
    forbidden: list[dict[str, Any]] = [{"word": other} for other in overruled(source, asked)]
    others = [str(one["word"]) for one in (*pairs, *forbidden)]
    told = origins(source, [asked] * len(others), others)
    for one, origin in zip((*pairs, *forbidden), told, strict=True):
        one["origin"] = origin.to_dict()
    return {**record, "forbidden": forbidden}
