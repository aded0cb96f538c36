"""``softcosine index --similarity``: an index over a matrix that was built before."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from softcosine.errors import InvalidInputError

if TYPE_CHECKING:
    from softcosine.cli.reading import ReadDocuments
    from softcosine.index.soft_index import SoftIndex
    from softcosine.matrix.term_similarity_matrix import TermSimilarityMatrix
    from softcosine.sources.source import TermSimilaritySource
    from softcosine.text.vocabulary import Vocabulary

__all__ = ["index_with_matrix"]

Progress = Callable[[str, int, "int | None"], None]


def index_with_matrix(
    path: Path,
    documents: ReadDocuments,
    *,
    stemmer: str | None,
    min_df: int | float,
    ranking: str | None,
    report: Progress,
) -> SoftIndex:
    """Index documents with the similarities of a saved matrix.

    Words of the documents that the matrix does not have are asked of the sources that are kept
    with it; without these they are similar to themselves only.

    Raises
    ------
    InvalidInputError
        If the documents are to be stemmed otherwise than the matrix's words, or the matrix has
        none of their words.
    """
    from softcosine.cli.vocabularies import analyzed_texts
    from softcosine.index.soft_index import SoftIndex
    from softcosine.matrix.term_similarity_matrix import TermSimilarityMatrix
    from softcosine.text.analyzer import Analyzer

    S, source = TermSimilarityMatrix.load(path), TermSimilarityMatrix.load_source(path)
    settings = S.settings.get("analyzer")
    rules = None if settings is None else Analyzer.from_dict(settings)
    if rules is not None and stemmer not in (None, rules.stemmer or "none"):
        raise InvalidInputError(
            f"--stemmer is {stemmer!r}, but the words of {path} were "
            f"{'not stemmed' if rules.stemmer is None else f'stemmed by {rules.stemmer!r}'}; "
            "leave --stemmer out, or build the matrix anew."
        )
    analyzed, rules = analyzed_texts(
        documents.texts, stemmer, min_df=min_df, report=report, analyzer=rules
    )
    over, n_known = _over(S, analyzed.vocabulary, source, report)
    n = len(analyzed.vocabulary)
    if n and not n_known:
        raise InvalidInputError(
            f"{path} has none of the {n} words of the documents; build it for them: "
            "similarity build --vocabulary FILE."
        )
    options: dict[str, Any] = {} if ranking is None else {"ranking": ranking}
    made = SoftIndex.from_texts(
        documents.texts, ids=documents.ids, metadata=documents.metadata, S=over, analyzer=rules,
        progress=report, **options,
    )  # fmt: skip
    if source is not None:
        made = made.with_similarity(over, source=source)
    note = f"Similarities come from {path}"
    note += (
        "."
        if n_known == n
        else f", which has {n_known:,} of the {n:,} terms"
        + (
            "; the others have no similar words."
            if source is None
            else "; for the others its sources were asked."
        )
    )
    return made.with_note(note)


def _over(
    S: TermSimilarityMatrix,
    vocabulary: Vocabulary,
    source: TermSimilaritySource | None,
    report: Progress,
) -> tuple[TermSimilarityMatrix, int]:
    """Return S over a vocabulary, and how many of its terms it has."""
    from softcosine.text.vocabulary import Vocabulary

    known = [term for term in vocabulary if term in S.vocabulary]
    if source is None or len(known) == len(vocabulary) or not known:
        return S.restricted(vocabulary), len(known)
    part = S.restricted(Vocabulary(known))
    return part.extend(
        vocabulary,
        source,
        definite="shrunk" in S.settings,
        guard=False,
        warn=False,
        progress=lambda done, total: report("finding similar terms", done, total),
    ), len(known)
