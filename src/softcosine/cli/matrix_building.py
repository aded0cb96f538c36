"""Implementation of ``softcosine similarity build``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from softcosine._validation import check_choice
from softcosine.errors import InvalidInputError

if TYPE_CHECKING:
    from softcosine._progress import Report
    from softcosine.cli.vocabularies import Corpus
    from softcosine.matrix.list_use import ListUse
    from softcosine.matrix.recipe import SimilarityRecipe
    from softcosine.matrix.term_similarity_matrix import TermSimilarityMatrix

__all__ = ["ORDERS", "Plan", "built_matrix", "document_limit", "recipe_of"]

ORDERS = {
    "rare": "rare_first",
    "frequent": "frequent_first",
    "idf": "idf",
    "none": "vocabulary",
}


@dataclass(frozen=True, slots=True)
class Plan:
    """Arguments of ``softcosine similarity build``; see `softcosine.cli.similarity.build`."""

    recipe: SimilarityRecipe
    output: Path
    vocabulary: tuple[str, ...]
    words: str | None
    keep_source: bool
    language: str | None
    stemmer: str | None
    min_df: str | None
    text_fields: tuple[str, ...]
    format: str | None
    encoding: str
    pattern: str | None
    overwrite: bool


def recipe_of(
    *,
    sources: Sequence[str],
    join: str,
    decisions: Path | None,
    max_neighbors: int | None,
    min_similarity: float,
    threshold: float | None,
    exponent: float | None,
    strategy: str,
    order: str,
    balanced: bool | None,
    definite: bool,
    guard: bool,
) -> SimilarityRecipe:
    """Return the recipe of the options of ``softcosine similarity build``."""
    from softcosine.cli.sources import JOINS, decisions_in
    from softcosine.matrix.recipe import SimilarityRecipe

    check_choice("join", join, JOINS)
    check_choice("order", order, ORDERS)
    if strategy == "rows" and (definite or balanced):
        told = "--definite" if definite else "--balanced"
        raise InvalidInputError(
            f"--strategy rows gives an asymmetric matrix, which cannot be "
            f"{'made definite' if definite else 'balanced'}; leave {told} out, or choose another "
            "strategy."
        )
    scaling = "definite" if definite else {None: "auto", True: "balanced", False: "none"}[balanced]
    return SimilarityRecipe(
        sources=tuple(sources) or None, combine=join,
        threshold=threshold, exponent=exponent, overrides=decisions_in(decisions), guard=guard,
        max_neighbors=max_neighbors, min_similarity=min_similarity,
        strategy=strategy, order=ORDERS[order], scaling=scaling,  # type: ignore[arg-type]
    )  # fmt: skip


def built_matrix(plan: Plan, report: Report) -> tuple[TermSimilarityMatrix, str, ListUse | None]:
    """Build and write a matrix; returns it with a note and the use of its lists."""
    from softcosine.cli.sources import words_outside
    from softcosine.matrix.list_use import list_use
    from softcosine.matrix.term_similarity_matrix import TermSimilarityMatrix
    from softcosine.storage import check_target

    check_target(plan.output, "matrix", overwrite=plan.overwrite)
    if plan.words is not None and plan.min_df is not None:
        raise InvalidInputError("--min-df needs documents, but --words is a list; leave it out.")
    corpus = _corpus(plan, report)
    made = plan.recipe.build(
        corpus.vocabulary, corpus.texts, analyzer=corpus.analyzer, language=corpus.language,
        words=None if plan.keep_source else _needed(corpus), report=report,
    )  # fmt: skip
    S = TermSimilarityMatrix.from_entries(
        made.S.to_scipy(),
        made.S.vocabulary,
        representatives=made.S.representatives,
        settings={**made.S.settings, **_record(plan, corpus)},
        scales=made.S.scales,
    )
    report("writing", 0, None)
    S.save(plan.output, source=made.source if plan.keep_source else None, overwrite=plan.overwrite)
    note = made.note if len(S) else "The vocabulary is empty."
    outside = words_outside(plan.recipe.overrides, corpus.vocabulary, analyzer=corpus.analyzer)
    use = list_use(S, made.source, analyzer=corpus.analyzer, queries=plan.keep_source)
    note = " ".join(filter(None, (note, outside, _indefinite(S), corpus.note)))
    return S, note, use


def document_limit(given: str) -> int | float:
    """Parse ``--min-df``: a number of documents, or a share of them."""
    try:
        return int(given) if given.isdecimal() else float(given)
    except ValueError:
        raise InvalidInputError(
            f"--min-df is {given!r}; give a number of documents or a share of them."
        ) from None


def _corpus(plan: Plan, report: Report) -> Corpus:
    from softcosine.cli.vocabularies import read_corpus, read_words

    if plan.words is not None:
        return read_words(
            plan.words, encoding=plan.encoding, language=plan.language, stemmer=plan.stemmer
        )
    return read_corpus(
        plan.vocabulary,
        text_fields=plan.text_fields,
        format=plan.format,
        encoding=plan.encoding,
        pattern=plan.pattern,
        language=plan.language,
        stemmer=plan.stemmer,
        min_df=None if plan.min_df is None else document_limit(plan.min_df),
        phrases=plan.recipe.phrases(),
        report=report,
    )


def _needed(corpus: Corpus) -> tuple[str, ...]:
    forms = corpus.vocabulary.forms or ()
    return (*corpus.vocabulary.terms, *(form for own in forms for form in own))


def _record(plan: Plan, corpus: Corpus) -> dict[str, Any]:
    """Return the record of the build for the settings of the matrix."""
    record: dict[str, Any] = {
        "recipe": plan.recipe.to_dict(),
        "vocabulary": list(plan.vocabulary) if plan.words is None else [plan.words],
    }
    if corpus.analyzer is not None:
        record["analyzer"] = corpus.analyzer.to_dict()
    if corpus.language is not None:
        record["language"] = corpus.language
    return record


def _indefinite(S: TermSimilarityMatrix) -> str:
    """Return a note if soft cosines above 1 can occur, or if scaling prevents them."""
    from softcosine.matrix.definiteness import ROUNDING, smallest_eigenvalue

    shrunk = float(S.settings.get("shrunk", 1.0))
    if shrunk < 1.0:
        return f"All similarities are multiplied by {shrunk:.3g}, so no soft cosine exceeds 1."
    if not S.symmetric or S.dominant:
        return ""
    lowest = smallest_eigenvalue(S.to_scipy(), tolerance=1e-2)
    if lowest >= -ROUNDING:
        return ""
    return (
        f"It is not positive semidefinite (an eigenvalue is {lowest:.3g}), so soft cosines above 1 "
        f"can occur; --definite would multiply all similarities by {1 / (1 - lowest):.2g}."
    )
