"""Reader of a matrix on disk or of an index, and the neighbours of a word in it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from softcosine.cli.vocabularies import stored_kind
from softcosine.errors import UnknownTermError

if TYPE_CHECKING:
    from softcosine.matrix.term_similarity_matrix import TermSimilarityMatrix
    from softcosine.similarity.source import TermSimilaritySource


def opened_matrix(path: Path) -> TermSimilarityMatrix:
    """Open a matrix, or the matrix of an index."""
    from softcosine.matrix.term_similarity_matrix import TermSimilarityMatrix

    if stored_kind(path) in ("index", "shards"):
        from softcosine.cluster.opening import open_epoch

        return open_epoch(path).S
    return TermSimilarityMatrix.load(path)


def opened_with_source(path: Path) -> tuple[TermSimilarityMatrix, TermSimilaritySource | None]:
    """Open a matrix, or the matrix of an index, and the source stored with it."""
    from softcosine.matrix.term_similarity_matrix import TermSimilarityMatrix

    if stored_kind(path) in ("index", "shards"):
        from softcosine.cluster.opening import open_epoch

        index = open_epoch(path)
        return index.S, index.source
    S, source = TermSimilarityMatrix.load(path), TermSimilarityMatrix.load_source(path)
    if source is None:
        return S, None
    from softcosine.similarity.in_terms import TermKeys, in_terms
    from softcosine.text.analyzer import Analyzer

    rules = S.settings.get("analyzer")
    analyzer = None if rules is None else Analyzer.from_dict(rules)
    return S, in_terms(source, TermKeys(analyzer, vocabulary=S.vocabulary))


def neighbors_record(
    S: TermSimilarityMatrix,
    source: TermSimilaritySource | None,
    word: str,
    k: int,
    origins: bool,
) -> dict[str, Any]:
    """Return a word's neighbours, perhaps with the origin of each."""
    term = _term(S, word)
    if term is not None:
        asked = S.representatives[S.vocabulary.index(term)]
        found = [
            (S.representatives[S.vocabulary.index(other)], similarity)
            for other, similarity in S.neighbors(term, k=k)
        ]
    else:
        from softcosine.matrix.outside import outside_rows
        from softcosine.text.words import normalize

        asked = word if source is not None and source.knows([word])[0] else normalize(word)
        if source is None or not source.knows([asked])[0]:
            raise UnknownTermError(
                f"{word!r} is not among the {len(S)} terms of the matrix"
                + (
                    ", and the matrix has no stored source."
                    if source is None
                    else ", and its sources do not have it."
                )
            )
        (row,) = outside_rows(S, [asked], source)
        others = (S.representatives[i] for i in row.terms.tolist())
        pairs = zip(others, row.similarities.tolist(), strict=True)
        found = sorted(pairs, key=lambda pair: (-pair[1], pair[0]))[:k]
    record: dict[str, Any] = {"word": word, "indexed": term is not None}
    record["neighbors"] = [{"word": other, "similarity": value} for other, value in found]
    if not origins or source is None:
        return record
    from softcosine.similarity.provenance import origins as origins_of

    told = origins_of(source, [asked] * len(found), [other for other, _ in found])
    for one, origin in zip(record["neighbors"], told, strict=True):
        one["origin"] = origin.to_dict()
    return record


def _term(S: TermSimilarityMatrix, word: str) -> str | None:
    """Return the term of a word: itself, normalised, the term it is a form of, or its stem."""
    from softcosine.text.analyzer import Analyzer
    from softcosine.text.words import normalize

    plain = normalize(word)
    for candidate in (word, plain):
        if candidate in S.vocabulary:
            return candidate
    for term, forms in zip(S.vocabulary.terms, S.vocabulary.forms or (), strict=False):
        if plain in forms:
            return term
    rules = S.settings.get("analyzer")
    terms = [] if rules is None else Analyzer.from_dict(rules).terms(word)
    return terms[0] if len(terms) == 1 and terms[0] in S.vocabulary else None
