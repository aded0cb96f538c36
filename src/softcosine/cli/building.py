"""What ``softcosine similarity build`` does, from words and sources to a matrix on disk."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from softcosine.cli.failures import saying_how_to_go_on
from softcosine.errors import InvalidInputError

if TYPE_CHECKING:
    from softcosine.cli.sources import SourceSettings
    from softcosine.cli.vocabularies import Corpus
    from softcosine.matrix.list_use import ListUse
    from softcosine.matrix.term_similarity_matrix import TermSimilarityMatrix
    from softcosine.sources.constraints.decision_list import Decisions
    from softcosine.sources.source import TermSimilaritySource

__all__ = ["Plan", "built_matrix", "document_limit"]

Progress = Callable[[str, int, "int | None"], None]

_ORDERS = {
    "rare": "rare_first",
    "frequent": "frequent_first",
    "idf": "idf",
    "none": "vocabulary",
}


@dataclass(frozen=True, slots=True)
class Plan:
    """What was asked for on the command line; see `softcosine.cli.similarity.build`."""

    sources: tuple[str, ...]
    output: Path
    vocabulary: tuple[str, ...]
    words: str | None
    join: str
    calibrate: bool
    decisions: Path | None
    max_neighbors: int | None
    min_similarity: float
    threshold: float | None
    exponent: float | None
    approximate: str | None
    strategy: str
    order: str
    balanced: bool | None
    definite: bool
    guard: bool
    keep_source: bool
    resume: bool
    language: str | None
    stemmer: str | None
    min_df: str | None
    text_fields: tuple[str, ...]
    format: str | None
    encoding: str
    pattern: str | None
    overwrite: bool


def built_matrix(plan: Plan, report: Progress) -> tuple[TermSimilarityMatrix, str, ListUse | None]:
    """Build a matrix and write it; returned with what is to be said about it and its lists.

    What is wrong with the arguments is found out before anything is read or learned.
    """
    from softcosine.cli.sources import (
        SourceSettings,
        check_sources,
        decisions_in,
        finished_source,
        words_outside,
    )
    from softcosine.matrix.kept import KeptAnswers
    from softcosine.matrix.list_use import list_use
    from softcosine.matrix.rules import Rules
    from softcosine.matrix.term_similarity_matrix import TermSimilarityMatrix
    from softcosine.storage import check_target

    check_target(plan.output, "matrix", overwrite=plan.overwrite)
    if plan.order not in _ORDERS:
        raise InvalidInputError(
            f"there is no order {plan.order!r}; choose one of {', '.join(_ORDERS)}."
        )
    Rules(plan.max_neighbors or 0, plan.min_similarity, plan.strategy)  # type: ignore[arg-type]
    of_cosines = plan.threshold is not None or plan.exponent is not None
    check_sources(plan.sources, plan.join, of_cosines=of_cosines, engine=plan.approximate)
    if plan.calibrate and not plan.sources:
        raise InvalidInputError("--calibrate is of sources that are named; name some.")
    if plan.words is not None and plan.min_df is not None:
        raise InvalidInputError("--min-df is of documents, and --words is a list; leave it out.")
    decisions = decisions_in(plan.decisions)
    if plan.definite and plan.strategy == "rows":
        raise InvalidInputError(
            "--strategy rows gives an asymmetric matrix, which cannot be made definite; leave "
            "--definite out, or take another strategy."
        )
    if plan.balanced and plan.strategy == "rows":
        raise InvalidInputError(
            "--strategy rows gives an asymmetric matrix, which cannot be balanced; take another "
            "strategy, or say --as-given."
        )
    corpus = _corpus(plan, decisions, report)
    settings = SourceSettings(
        threshold=plan.threshold,
        exponent=plan.exponent,
        texts=corpus.texts,
        words=None if plan.keep_source else _needed(corpus),
        report=report,
        engine=plan.approximate,
    )
    source, note = _source(plan, corpus, settings)
    source = finished_source(
        source, decisions, corpus.vocabulary, analyzer=corpus.analyzer, language=corpus.language,
        guard=plan.guard,
    )  # fmt: skip
    folder = (
        plan.output.absolute().parent / f".{plan.output.name}.building" if plan.resume else None
    )
    report("finding similar terms", 0, len(corpus.vocabulary))
    with saying_how_to_go_on(folder):
        S = TermSimilarityMatrix.from_source(
            source,
            corpus.vocabulary,
            max_neighbors=plan.max_neighbors,
            min_similarity=plan.min_similarity,
            strategy=plan.strategy,  # type: ignore[arg-type]
            order=_ORDERS[plan.order],
            balanced=_is_balanced(plan),
            definite=plan.definite,
            guard=False,  # it is guarded already, where it is to be
            analyzer=corpus.analyzer,
            warn=False,
            progress=lambda done, total: report("finding similar terms", done, total),
            resume=folder,
        )
    S = TermSimilarityMatrix.from_entries(
        S.to_scipy(),
        S.vocabulary,
        representatives=S.representatives,
        settings={**S.settings, **_record(plan, corpus)},
        scales=S.scales,
    )
    report("writing", 0, None)
    S.save(plan.output, source=source if plan.keep_source else None, overwrite=plan.overwrite)
    if folder is not None:
        KeptAnswers(folder).remove()
    if not len(S):
        note = note or "There are no words to find similarities for."
    outside = words_outside(decisions, corpus.vocabulary, analyzer=corpus.analyzer)
    recall = settings.recall_told()
    use = list_use(S, source, analyzer=corpus.analyzer, queries=plan.keep_source)
    note = " ".join(filter(None, (note, recall, outside, _indefinite(S), corpus.note)))
    return S, note, use


def document_limit(given: str) -> int | float:
    """Read ``--min-df``: a number of documents, or a share of them."""
    try:
        return int(given) if given.isdecimal() else float(given)
    except ValueError:
        raise InvalidInputError(
            f"--min-df is {given!r}; it must be a number of documents or a share of them."
        ) from None


def _corpus(plan: Plan, decisions: Decisions | None, report: Progress) -> Corpus:
    from softcosine.cli.vocabularies import read_corpus, read_words
    from softcosine.sources.named import phrases_named

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
        phrases=(
            *phrases_named(plan.sources),
            *(() if decisions is None else decisions.pinned_words()),
        ),
        report=report,
    )


def _source(
    plan: Plan, corpus: Corpus, settings: SourceSettings
) -> tuple[TermSimilaritySource, str]:
    """Return the sources, joined, and what is to be said about them."""
    from softcosine.cli.sources import joined_source

    if not plan.sources:
        return _default_source(corpus, settings.report)
    return joined_source(plan.sources, plan.join, settings, on_one_scale=plan.calibrate)


def _default_source(corpus: Corpus, report: Progress) -> tuple[TermSimilaritySource, str]:
    if corpus.texts is None:
        raise InvalidInputError(
            "no source was named, and there are no texts to learn from; name one, such as "
            "english, or give documents by --vocabulary FILE."
        )
    from softcosine.index.defaults import default_source

    chosen = default_source(
        corpus.texts,
        language=corpus.language,
        progress=lambda done, total: report("learning from the texts", done, total),
    )
    return chosen.source, chosen.note


def _needed(corpus: Corpus) -> tuple[str, ...]:
    forms = corpus.vocabulary.forms or ()
    return (*corpus.vocabulary.terms, *(form for own in forms for form in own))


def _is_balanced(plan: Plan) -> bool:
    """Whether S is balanced: where nobody says, as `SoftIndex.from_texts` does with a source."""
    if plan.balanced is not None:
        return plan.balanced
    return bool(plan.sources) and not plan.definite and plan.strategy == "symmetric"


def _record(plan: Plan, corpus: Corpus) -> dict[str, Any]:
    """Return what the matrix is to say of how it was made."""
    record: dict[str, Any] = {
        "sources": list(plan.sources) or ["default"],
        "join": plan.join,
        "calibrated": plan.calibrate,
        "vocabulary": list(plan.vocabulary) if plan.words is None else [plan.words],
    }
    if plan.decisions is not None:
        record["decisions"] = str(plan.decisions)
    if corpus.analyzer is not None:
        record["analyzer"] = corpus.analyzer.to_dict()
    if corpus.language is not None:
        record["language"] = corpus.language
    return record


def _indefinite(S: TermSimilarityMatrix) -> str:
    """Say where soft cosines above 1 can occur, or what it has cost that they cannot."""
    from softcosine.matrix.definiteness import ROUNDING, smallest_eigenvalue

    shrunk = float(S.settings.get("shrunk", 1.0))
    if shrunk < 1.0:
        return f"Similarities were multiplied by {shrunk:.3g}, so that no soft cosine exceeds 1."
    if not S.symmetric or S.dominant:
        return ""
    lowest = smallest_eigenvalue(S.to_scipy(), tolerance=1e-2)
    if lowest >= -ROUNDING:
        return ""
    return (
        f"It is not positive semidefinite (an eigenvalue is {lowest:.3g}), so that soft cosines "
        f"above 1 can occur; --definite would multiply similarities by {1 / (1 - lowest):.2g}."
    )
