"""Commands of ``softcosine similarity``: build, show, neighbors, check, set, diff."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

import typer

from softcosine.cli.completing import names_of
from softcosine.cli.maintenance import bytes_of, files_of
from softcosine.cli.matrices import (
    definiteness_told,
    difference_record,
    show_built,
    show_difference,
    show_facts,
    show_histogram,
)
from softcosine.cli.matrix_building import Recipe, Terms, built_matrix
from softcosine.cli.matrix_index import SavedMatrix
from softcosine.cli.matrix_words import neighbors_record, opened_matrix, opened_with_source
from softcosine.cli.options import (
    Index,
    Json,
    Limit,
    Overwrites,
    Reading,
    Summary,
    Wait,
)
from softcosine.cli.output import console, duration, print_json, printable, show_neighbors, size
from softcosine.cli.pictures import Overwrite, check_plot
from softcosine.cli.progress import Reporter
from softcosine.cli.sources import SOURCES_HELP
from softcosine.cli.vocabularies import stored_kind
from softcosine.cli.writing import changing
from softcosine.errors import InvalidInputError
from softcosine.index.writer.lock import WRITER_TIMEOUT

Matrix = Annotated[
    Path,
    typer.Argument(metavar="MATRIX", help="A folder that 'similarity build' or 'index' wrote."),
]


def build(
    recipe: Recipe,
    terms: Terms,
    reading: Reading,
    sources: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="SOURCE",
            autocompletion=names_of("similarity.registry:NAMES"),
            help=SOURCES_HELP,
            show_default=False,
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="MATRIX", help="The folder to write (required)."),
    ] = None,
    keep_source: Annotated[
        bool,
        typer.Option(
            "--keep-source/--no-source",
            help="Store the sources with the matrix, for words outside it.",
        ),
    ] = True,
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
    vectors:FILE and synonyms:FILE fix the kind. Of several sources the largest similarity counts,
    unless --join names another method.

    Balanced similarities are divided by the square roots of both words' sums of similarities, if
    these exceed 1. The neighbours of a word then weigh no more than the word itself, and no soft
    cosine exceeds 1.
    --as-given keeps the values of the sources; --definite scales all by one factor instead. Pinned
    pairs and pairs of synonyms:FILE keep their value; thesaurus:FILE is balanced like other sources
    and suits large lists of other authors.

    JSON: matrix, terms, neighbors, mean_neighbors, max_neighbors, mean_similarity, symmetric,
    dominant, balanced, shrunk, sources, bytes, seconds, note, and list_use as of 'index'.
    """
    from softcosine.matrix.list_use import list_use
    from softcosine.storage import check_target

    if output is None:
        raise InvalidInputError("--output is missing: name the folder to write by -o MATRIX.")
    check_target(output, "matrix", overwrite=overwrite)
    started, made = time.perf_counter(), recipe.of(sources or ())
    with Reporter() as report:
        corpus = terms.corpus(made, reading, report)
        S, source, note = built_matrix(made, corpus, keep_source, terms.record(), report)
        report("writing", 0, None)
        S.save(output, source=source if keep_source else None, overwrite=overwrite)
    use = list_use(S, source, analyzer=corpus.analyzer, queries=keep_source)
    show_built(S, note, use, output, time.perf_counter() - started, as_json)


def show(
    matrix: Matrix,
    plot: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Also draw the histograms: .png, .svg or .pdf."),
    ] = None,
    overwrite: Overwrite = False,
    as_json: Json = False,
) -> None:
    """Show the size, settings and histograms of a matrix.

      softcosine similarity show faq.matrix
      softcosine similarity show faq.matrix --plot faq.png

    JSON: matrix, bytes, statistics {n_terms, n_neighbors, mean_neighbors, ...}, histograms
    {neighbors, similarities} of edges and counts, and settings of the build.
    """
    check_plot(plot, overwrite=overwrite)
    S = opened_matrix(matrix)
    picture = S.picture()
    if plot is not None:
        picture.save(plot)
    statistics = S.statistics(eigenvalue=False)
    if as_json:
        figures = statistics.to_dict()
        del figures["smallest_eigenvalue"]
        print_json(
            {
                "matrix": str(matrix),
                "bytes": bytes_of(matrix),
                "statistics": figures,
                "histograms": picture.to_dict(),
                "settings": S.settings,
            }
        )
        return
    show_facts(S, matrix, bytes_of(matrix))
    for histogram in (picture.neighbors, picture.similarities):
        show_histogram(histogram)


def neighbors(
    matrix: Matrix,
    words: Annotated[list[str], typer.Argument(metavar="WORD", help="Single words.")],
    k: Limit = 10,
    origins: Annotated[
        bool, typer.Option("--origins", help="Show the source of each neighbour.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Show the words of a matrix similar to a word.

      softcosine similarity neighbors faq.matrix tyre puncture -k 5

    Words outside the matrix are looked up in the sources stored with it.
    JSON: word, indexed, and neighbors of word and similarity, with --origins also origin.
    """
    S, source = opened_with_source(matrix)
    if origins and source is None:
        raise InvalidInputError(
            f"{matrix} has no stored source, so the origins are unknown; build it without "
            "--no-source."
        )
    for word in words:
        show_neighbors(neighbors_record(S, source, word, k, origins), origins, as_json)


def check(matrix: Matrix, as_json: Json = False) -> None:
    """Check the checksums of a matrix, and whether it is positive semidefinite.

      softcosine similarity check faq.matrix

    If it is not, soft cosines above 1 can occur; the factor is the scale of the similarities that
    prevents this. A damaged file ends the command with exit code 1.
    JSON: matrix, files, bytes, symmetric, dominant, smallest_eigenvalue, definite, factor, seconds.
    """
    from softcosine.matrix.definiteness import ROUNDING, shrinking_factor, smallest_eigenvalue

    started = time.perf_counter()
    n_files = _verified(matrix)
    S = opened_matrix(matrix)
    lowest = smallest_eigenvalue(S.to_scipy()) if S.symmetric else None
    definite = S.symmetric and (S.dominant or (lowest is not None and lowest >= -ROUNDING))
    factor = shrinking_factor(S.to_scipy()) if S.symmetric and not definite else 1.0
    facts = {
        "matrix": str(matrix),
        "files": n_files,
        "bytes": bytes_of(matrix),
        "symmetric": S.symmetric,
        "dominant": S.dominant,
        "smallest_eigenvalue": lowest,
        "definite": definite,
        "factor": factor,
        "seconds": time.perf_counter() - started,
    }
    if as_json:
        print_json(facts)
        return
    out = console()
    out.print(
        f"{printable(str(matrix))} is intact: {facts['files']} files, {size(bytes_of(matrix))}, "
        f"checked in {duration(time.perf_counter() - started)}."
    )
    out.print(definiteness_told(facts))


def _verified(matrix: Path) -> int:
    """Check all checksums of a matrix or an index, and return its number of files."""
    from softcosine.storage import open_folder

    if stored_kind(matrix) in ("index", "shards"):
        from softcosine.cluster.opening import epoch_path
        from softcosine.index.directory.check import check_index
        from softcosine.index.directory.store import Store

        return files_of(check_index(Store.open(epoch_path(matrix))))
    folder = open_folder(matrix, "matrix")
    folder.verify()
    return len(folder.files)


def diff(
    before: Annotated[Path, typer.Argument(metavar="BEFORE", help="A matrix, or an index.")],
    after: Annotated[Path, typer.Argument(metavar="AFTER", help="Another one.")],
    k: Limit = 20,
    tolerance: Annotated[
        float, typer.Option(metavar="T", help="Ignore differences of at most T.")
    ] = 0.0,
    as_json: Json = False,
) -> None:
    """Compare two matrices: terms, and pairs with the largest change first.

      softcosine similarity diff old.matrix new.matrix -k 50

    JSON: before, after, added_terms, removed_terms, counts of the pairs added, removed, changed
    and equal, and the first changes of left, right, before, after and kind.
    """
    found = opened_matrix(before).difference(opened_matrix(after), tolerance=tolerance)
    if as_json:
        print_json(difference_record(found, before, after, k))
    else:
        show_difference(found, k)


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

    JSON: index, matrix, documents, terms, generation, seconds, note.
    """
    started, saved = time.perf_counter(), SavedMatrix.open(matrix)
    with Reporter() as report, changing(index, wait=wait) as (opened, writer):
        saved.check_stems(index, opened.analyzer)
        S, note = saved.over(opened.vocabulary, report)
        writer.set_similarity(S, source=saved.source, note=note)
        report("computing lengths", 0, None)
        writer.commit()
    seconds = time.perf_counter() - started
    facts = {
        "index": str(index),
        "matrix": str(matrix),
        "documents": len(opened),
        "terms": len(opened.vocabulary),
        "generation": opened.snapshot.generation,
        "seconds": seconds,
        "note": note,
    }
    if as_json:
        print_json(facts)
    else:
        console().print(f"{note} Replaced in {duration(seconds)}: {printable(str(index))}.")
