"""Commands of ``softcosine similarity``: build, show, neighbors, check, set."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from softcosine.cli.completing import names_of
from softcosine.cli.derived import option
from softcosine.cli.maintenance import bytes_of
from softcosine.cli.options import (
    Index,
    Json,
    Overwrites,
    Reading,
    Sources,
    Summary,
    Wait,
)
from softcosine.cli.output import (
    duration,
    language_hint,
    neighbors_told,
    print_json,
    print_result,
    show_facts,
    size,
)
from softcosine.cli.progress import Reporter
from softcosine.cli.saved_matrix import SavedMatrix
from softcosine.cli.vocabularies import Corpus, Terms
from softcosine.cli.writing import changing, show_change, written
from softcosine.index.wire import wire
from softcosine.index.writer.lock import WRITER_TIMEOUT
from softcosine.similarity.registry import NAMES, PREFIXES

if TYPE_CHECKING:
    from softcosine.matrix.recipe import SimilarityRecipe
    from softcosine.matrix.term_similarity_matrix import TermSimilarityMatrix

Matrix = Annotated[
    Path,
    typer.Argument(metavar="MATRIX", help="A folder that 'similarity build' or 'index' wrote."),
]


@dataclass(frozen=True)
class Recipe(Sources):
    """How sources make a matrix of its own."""

    threshold: float | None = option(
        "--threshold COSINE", "Minimum cosine of word vectors [0.3].", None
    )
    exponent: float | None = option(
        "--exponent E", "Exponent of the cosines of word vectors [4].", None
    )
    definite: bool = option(
        "--definite",
        "Scale all similarities by the largest factor for which no soft cosine exceeds 1.",
        False,
    )


def build(
    recipe: Recipe,
    terms: Terms,
    reading: Reading,
    sources: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="SOURCE",
            autocompletion=names_of("similarity.registry:NAMES"),
            help=f"A name ({', '.join(NAMES)}), a file of vectors or of synonyms, or KIND:PLACE "
            f"({', '.join(PREFIXES)}); docs/lab.md lists more. Default: as in 'index'.",
            show_default=False,
        ),
    ] = None,
    output: Path = option("--output -o MATRIX", "The folder to write.", ...),
    overwrite: Overwrites = False,
    as_json: Summary = False,
) -> None:
    r"""Build a term similarity matrix from one or several sources.

      softcosine similarity build --vocabulary faq.jsonl -o faq.matrix
      softcosine similarity build english synonyms.txt --vocabulary faq.jsonl -o faq.matrix
      softcosine similarity build glove.6B.100d.txt wordnet edit-distance --join noisy-or \
          --decisions pins.txt --vocabulary faq.index -o faq.matrix
      softcosine index faq.jsonl -o faq.index --similarity faq.matrix

    Files of vectors and of synonyms are recognised by their endings, .txt files by their content;
    vectors:FILE and synonyms:FILE fix the kind. Synonyms alone stand before the default source,
    unless written only:FILE. Of several sources the largest similarity counts,
    unless --join names another method.

    Similarities are balanced: divided by the square roots of both words' sums of similarities, if
    these exceed 1. The neighbours of a word then weigh no more than the word itself, and no soft
    cosine exceeds 1. --definite scales all by one factor instead. Pinned pairs and pairs of
    synonyms:FILE keep their value; thesaurus:FILE is balanced like other sources and suits large
    lists of other authors.

    JSON: as of 'similarity show', and seconds, note, and list_use as of 'index'.
    """
    from softcosine.matrix.list_use import list_use
    from softcosine.storage import check_target

    check_target(output, "matrix", overwrite=overwrite)
    started = time.perf_counter()
    made = recipe.recipe(
        sources or None, threshold=recipe.threshold, exponent=recipe.exponent,
        scaling="definite" if recipe.definite else "auto",
    )  # fmt: skip
    with Reporter() as report:
        corpus = terms.corpus(made, reading, report)
        built = made.build(
            corpus.vocabulary, corpus.texts, analyzer=corpus.analyzer, language=corpus.language,
            report=report,
        )  # fmt: skip
        S = _with_settings(built.S, made, corpus, terms.vocabulary or [terms.words])
        report("writing", 0, None)
        S.save(output, source=built.source, overwrite=overwrite)
    use = list_use(S, built.source, analyzer=corpus.analyzer)
    seconds, facts = time.perf_counter() - started, _facts(S, output)
    figures, shrunk = facts["statistics"], S.settings.get("shrunk", 1.0)
    notes = (
        built.note if len(S) else "The vocabulary is empty.",
        f"All similarities are multiplied by {shrunk:.3g}, so no soft cosine exceeds 1."
        if shrunk < 1 else _definiteness(figures)[1],
        corpus.note,
    )  # fmt: skip
    print_result(
        {**facts, "seconds": seconds, "note": " ".join(filter(None, notes)), "list_use": wire(use)},
        as_json,
        f"Found {figures['n_neighbors']:,} neighbours of {figures['n_terms']:,} terms, "
        f"{figures['mean_neighbors']:.1f} per term, in {duration(seconds)}: {output} "
        f"({size(facts['bytes'])}).",
        *notes, language_hint(corpus.note), "" if use is None else str(use),
        f"Show it: softcosine similarity show {output}",
    )  # fmt: skip


def _with_settings(
    S: TermSimilarityMatrix, recipe: SimilarityRecipe, corpus: Corpus, inputs: list[Any]
) -> TermSimilarityMatrix:
    """Return a matrix whose settings say what it was made of."""
    record: dict[str, Any] = {"vocabulary": inputs, "recipe": recipe.to_dict()}
    if corpus.analyzer is not None:
        record["analyzer"] = corpus.analyzer.to_dict()
    if corpus.language is not None:
        record["language"] = corpus.language
    return type(S).from_entries(
        S.to_scipy(), S.vocabulary, representatives=S.representatives, scales=S.scales,
        settings={**S.settings, **record},
    )  # fmt: skip


def _definiteness(figures: dict[str, Any]) -> tuple[str, str]:
    """Return what kind of matrix it is, and a note if soft cosines above 1 can occur."""
    from softcosine.matrix.definiteness import ROUNDING

    if not figures["symmetric"]:
        return "asymmetric, only fit for searches", ""
    if figures["dominant"]:
        return "symmetric, strictly diagonally dominant, so positive definite", ""
    if (lowest := figures["smallest_eigenvalue"]) >= -ROUNDING:
        return "symmetric, positive semidefinite, so no soft cosine exceeds 1", ""
    return "symmetric", (
        f"It is not positive semidefinite (an eigenvalue is {lowest:.3g}), so soft cosines above 1 "
        f"can occur; --definite would multiply all similarities by {1 / (1 - lowest):.3g}."
    )


def _facts(S: TermSimilarityMatrix, path: Path) -> dict[str, Any]:
    """Return what ``build --json`` and ``show --json`` print."""
    return {
        "matrix": str(path), "bytes": bytes_of(path), "statistics": wire(S.statistics()),
        "settings": S.settings,
    }  # fmt: skip


def show(matrix: Matrix, as_json: Json = False) -> None:
    """Show the size and settings of a matrix, and whether it is positive semidefinite.

      softcosine similarity show faq.matrix

    If it is not, soft cosines above 1 can occur. The command compares the files of a matrix with
    their checksums ('admin check' those of an index); a damaged one ends it with exit code 1.

    JSON: matrix, bytes, statistics {n_terms, n_neighbors, mean_neighbors, smallest_eigenvalue
    (null if asymmetric), ...}, and settings of the build.
    """
    S = SavedMatrix.open(matrix, verify=True).S
    facts = _facts(S, matrix)
    if as_json:
        print_json(facts)
        return
    figures, settings = facts["statistics"], S.settings
    kind, note = _definiteness(figures)
    names = ("max_neighbors", "min_similarity", "shrunk", "order", "source")
    recipe = settings.get("recipe", {"sources": (), "combine": ""})
    show_facts(str(matrix), {
        "terms": f"{figures['n_terms']:,}",
        "neighbours": f"{figures['n_neighbors']:,}: {neighbors_told(figures)}",
        "kind": kind if S.scales is None else f"{kind}; balanced",
        **{name: str(settings[name]) for name in names if settings.get(name)},
        "sources": ", ".join(recipe["sources"] or ["default"]),
        "combined by": recipe["combine"],
        "words": ", ".join(settings.get("vocabulary", ())),
        "extended": ", ".join(f"by {one['terms']:,} terms" for one in settings.get("extended", ())),
        "on disk": size(facts["bytes"]),
        "note": note,
    })  # fmt: skip


def exchange(
    index: Index,
    matrix: Annotated[Path, typer.Argument(metavar="MATRIX", help="A matrix, or an index.")],
    wait: Wait = WRITER_TIMEOUT,
    as_json: Summary = False,
) -> None:
    """Replace the term similarity matrix of an index without reading its documents again.

      softcosine similarity build english pins.txt --vocabulary faq.index -o new.matrix
      softcosine similarity set faq.index new.matrix

    Words of the index outside the matrix are looked up in the sources stored with it; without
    sources they are similar only to themselves. The command commits the change at once, and
    computes the lengths of the documents again.

    JSON: index, matrix, documents, terms, segments, generation, bytes, seconds, note.
    """
    started, saved = time.perf_counter(), SavedMatrix.open(matrix)
    with Reporter() as report, changing(index, wait=wait) as (opened, writer):
        saved.check_stemmer(opened.analyzer.stemmer, str(index))
        made = saved.build(opened.vocabulary, report=report)
        writer.set_similarity(made.S, source=made.source, note=made.note)
        report("computing lengths", 0, None)
        writer.commit()
        facts = written(opened, index, started)
    facts |= {"matrix": str(matrix), "terms": len(opened.vocabulary), "note": made.note}
    show_change(facts, "Replaced the similarities", as_json)
