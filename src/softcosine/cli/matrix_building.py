"""Implementation of ``softcosine similarity build``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from softcosine._validation import check_choice
from softcosine.cli.completing import names_of
from softcosine.cli.options import (
    DecisionsFile,
    Join,
    Language,
    MaxNeighbors,
    MinDf,
    Reading,
    Stemmer,
)
from softcosine.cli.vocabularies import read_corpus, read_words
from softcosine.errors import InvalidInputError
from softcosine.similarity.combine.by_name import JOINS
from softcosine.similarity.registry import NAMES, PREFIXES

if TYPE_CHECKING:
    from softcosine._progress import Report
    from softcosine.cli.vocabularies import Corpus
    from softcosine.matrix.recipe import SimilarityRecipe
    from softcosine.matrix.term_similarity_matrix import TermSimilarityMatrix
    from softcosine.similarity.overrides.decision_list import Decisions
    from softcosine.similarity.source import TermSimilaritySource
    from softcosine.text.analyzer import Analyzer
    from softcosine.text.vocabulary import Vocabulary

ORDERS = {
    "rare": "rare_first",
    "frequent": "frequent_first",
    "idf": "idf",
    "none": "vocabulary",
}


@dataclass(frozen=True)
class Recipe:
    """How sources make a matrix."""

    join: Join = "strongest"
    decisions: DecisionsFile = None
    max_neighbors: MaxNeighbors = None
    min_similarity: Annotated[
        float, typer.Option(metavar="S", help="Drop similarities below S.")
    ] = 0.0
    threshold: Annotated[
        float | None,
        typer.Option(metavar="COSINE", help="Minimum cosine of word vectors [0.3]."),
    ] = None
    exponent: Annotated[
        float | None, typer.Option(metavar="E", help="Exponent of the cosines of word vectors [4].")
    ] = None
    strategy: Annotated[
        str,
        typer.Option(
            autocompletion=names_of("symmetric", "dominant", "rows"),
            help="symmetric, dominant (fewer entries, always positive definite) or rows "
            "(asymmetric).",
        ),
    ] = "symmetric"
    order: Annotated[
        str,
        typer.Option(
            autocompletion=names_of("cli.matrix_building:ORDERS"),
            help="Words whose neighbours are added first: rare, frequent, idf or none (by "
            "spelling).",
        ),
    ] = "rare"
    balanced: Annotated[
        bool | None,
        typer.Option(
            "--balanced/--as-given",
            help="Scale similarities, so that many neighbours of a word do not outweigh it "
            "[balanced if a source is named].",
        ),
    ] = None
    definite: Annotated[
        bool,
        typer.Option(
            "--definite",
            help="Scale all similarities by the largest factor for which no soft cosine exceeds 1.",
        ),
    ] = False
    guard: Annotated[
        bool,
        typer.Option(
            "--guard/--no-guard", help="Drop similarities of antonyms and of terms with digits."
        ),
    ] = True

    def of(self, sources: Sequence[str]) -> SimilarityRecipe:
        """Return the recipe of these sources."""
        from softcosine.matrix.recipe import SimilarityRecipe

        check_choice("join", self.join, JOINS)
        check_choice("order", self.order, ORDERS)
        if self.strategy == "rows" and (self.definite or self.balanced):
            told = "--definite" if self.definite else "--balanced"
            raise InvalidInputError(
                f"--strategy rows gives an asymmetric matrix, which cannot be "
                f"{'made definite' if self.definite else 'balanced'}; leave {told} out, or choose "
                "another strategy."
            )
        scaling = {None: "auto", True: "balanced", False: "none"}[self.balanced]
        same = ("threshold", "exponent", "guard", "max_neighbors", "min_similarity")
        options: dict[str, Any] = {name: getattr(self, name) for name in (*same, "strategy")}
        return SimilarityRecipe(
            sources=tuple(sources) or None, combine=self.join,
            overrides=decisions_in(self.decisions), order=ORDERS[self.order],  # type: ignore[arg-type]
            scaling="definite" if self.definite else scaling,  # type: ignore[arg-type]
            **options,
        )  # fmt: skip


@dataclass(frozen=True)
class Terms:
    """Where the terms of a matrix come from."""

    vocabulary: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FILE",
            help="Source of the terms: documents as 'index' reads them (repeatable), or an index, "
            "or a matrix.",
        ),
    ] = None
    words: Annotated[
        str | None,
        typer.Option(
            metavar="FILE", help="Instead of --vocabulary: a list of words, one per line."
        ),
    ] = None
    language: Language = None
    stemmer: Stemmer = None
    min_df: MinDf = None

    def corpus(self, recipe: SimilarityRecipe, reading: Reading, report: Report) -> Corpus:
        """Return the vocabulary, and texts to learn from."""
        if (not self.vocabulary) == (self.words is None):
            raise InvalidInputError(
                "the terms come from --vocabulary FILE (documents, an index, a matrix) or from "
                "--words FILE (a list); give one of the two."
            )
        if self.words is not None:
            if self.min_df is not None:
                raise InvalidInputError(
                    "--min-df needs documents, but --words is a list; leave it out."
                )
            return read_words(
                self.words, encoding=reading.encoding, language=self.language, stemmer=self.stemmer
            )
        return read_corpus(
            self.vocabulary or (), reading, language=self.language, stemmer=self.stemmer,
            min_df=None if self.min_df is None else document_limit(self.min_df),
            phrases=recipe.phrases(), report=report,
        )  # fmt: skip

    def record(self) -> dict[str, Any]:
        """Return what the settings of a matrix say of its terms."""
        return {"vocabulary": self.vocabulary if self.words is None else [self.words]}


def built_matrix(
    recipe: SimilarityRecipe,
    corpus: Corpus,
    keep_source: bool,
    record: dict[str, Any],
    report: Report,
) -> tuple[TermSimilarityMatrix, TermSimilaritySource | None, str]:
    """Build a matrix; returns it with its source and a note."""
    from softcosine.matrix.term_similarity_matrix import TermSimilarityMatrix

    forms = corpus.vocabulary.forms or ()
    needed = (*corpus.vocabulary.terms, *(form for own in forms for form in own))
    made = recipe.build(
        corpus.vocabulary, corpus.texts, analyzer=corpus.analyzer, language=corpus.language,
        words=None if keep_source else needed, report=report,
    )  # fmt: skip
    record |= {"recipe": recipe.to_dict()}
    if corpus.analyzer is not None:
        record["analyzer"] = corpus.analyzer.to_dict()
    if corpus.language is not None:
        record["language"] = corpus.language
    S = TermSimilarityMatrix.from_entries(
        made.S.to_scipy(), made.S.vocabulary, representatives=made.S.representatives,
        settings={**made.S.settings, **record}, scales=made.S.scales,
    )  # fmt: skip
    note = made.note if len(S) else "The vocabulary is empty."
    outside = words_outside(recipe.overrides, corpus.vocabulary, analyzer=corpus.analyzer)
    return S, made.source, " ".join(filter(None, (note, outside, _indefinite(S), corpus.note)))


def document_limit(given: str) -> int | float:
    """Parse ``--min-df``: a number of documents, or a share of them."""
    try:
        return int(given) if given.isdecimal() else float(given)
    except ValueError:
        raise InvalidInputError(
            f"--min-df is {given!r}; give a number of documents or a share of them."
        ) from None


def _indefinite(S: TermSimilarityMatrix) -> str:
    """Return a note if soft cosines above 1 can occur, or if scaling prevents them."""
    from softcosine.matrix.definiteness import ROUNDING, lowest_eigenvalue

    shrunk = float(S.settings.get("shrunk", 1.0))
    if shrunk < 1.0:
        return f"All similarities are multiplied by {shrunk:.3g}, so no soft cosine exceeds 1."
    if not S.symmetric or S.dominant:
        return ""
    lowest = lowest_eigenvalue(S.to_scipy(), tolerance=1e-2).value
    if lowest >= -ROUNDING:
        return ""
    return (
        f"It is not positive semidefinite (an eigenvalue is {lowest:.3g}), so soft cosines above 1 "
        f"can occur; --definite would multiply all similarities by {1 / (1 - lowest):.2g}."
    )


SOURCES_HELP = (
    f"A name ({', '.join(NAMES)}), a file of vectors or of synonyms, or KIND:PLACE "
    f"({', '.join(PREFIXES)}); docs/lab.md lists more. Default: as in 'index'."
)

_NAMED = 5  # words printed before "and N more"


def decisions_in(path: Path | None) -> Decisions | None:
    """Return the decisions of a file; None without a file."""
    if path is None:
        return None
    from softcosine.similarity.overrides.decisions import read_decisions

    return read_decisions(path)


def words_outside(
    decisions: Decisions | None, vocabulary: Vocabulary, *, analyzer: Analyzer | None
) -> str:
    """Return a note on words of the decisions that are not in the vocabulary; empty if none."""
    words = () if decisions is None else decisions.words_outside(vocabulary, analyzer=analyzer)
    if not words:
        return ""
    more = f" and {len(words) - _NAMED:,} more" if len(words) > _NAMED else ""
    return f"Words of the decisions outside the vocabulary: {', '.join(words[:_NAMED])}{more}."
