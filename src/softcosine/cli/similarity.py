"""``softcosine similarity``: term similarity matrices built, shown, asked, checked and compared."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

import typer

from softcosine.cli.options import (
    DecisionsFile,
    Encoding,
    Index,
    Join,
    Json,
    Language,
    Limit,
    MaxNeighbors,
    MinDf,
    Pattern,
    Stemmer,
    Summary,
    TextFields,
    Wait,
)
from softcosine.cli.pictures import Overwrite, check_plot
from softcosine.cli.sources import SOURCES_HELP
from softcosine.errors import InvalidInputError
from softcosine.index.writer.lock import WRITER_TIMEOUT

__all__ = ["build", "check", "diff", "exchange", "neighbors", "show"]

Matrix = Annotated[
    Path,
    typer.Argument(metavar="MATRIX", help="A folder that 'similarity build' or 'index' wrote."),
]


def build(
    sources: Annotated[
        list[str] | None, typer.Argument(metavar="SOURCE", help=SOURCES_HELP, show_default=False)
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="MATRIX", help="The folder to write (needed)."),
    ] = None,
    vocabulary: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FILE",
            help="Documents whose words are meant, as 'index' reads them (repeatable); or an "
            "index, or a matrix, for the same words.",
        ),
    ] = None,
    words: Annotated[
        str | None,
        typer.Option(
            metavar="FILE", help="In place of --vocabulary: a plain list of words, one a line."
        ),
    ] = None,
    join: Join = "strongest",
    calibrate: Annotated[
        bool,
        typer.Option("--calibrate", help="Bring each source to one scale before joining."),
    ] = False,
    decisions: DecisionsFile = None,
    max_neighbors: MaxNeighbors = None,
    min_similarity: Annotated[
        float, typer.Option(metavar="S", help="Leave out similarities below it.")
    ] = 0.0,
    threshold: Annotated[
        float | None,
        typer.Option(metavar="COSINE", help="Least cosine of vectors that counts [0.3]."),
    ] = None,
    exponent: Annotated[
        float | None, typer.Option(metavar="E", help="Power that their cosines are raised to [4].")
    ] = None,
    approximate: Annotated[
        str | None,
        typer.Option(
            metavar="ENGINE",
            help="Let faiss, usearch or torch (on a GPU) propose the neighbours of vectors; what "
            "share of the nearest it finds is measured.",
        ),
    ] = None,
    strategy: Annotated[
        str, typer.Option(help="symmetric, dominant (fewer, surely definite) or rows.")
    ] = "symmetric",
    order: Annotated[
        str,
        typer.Option(help="Which words choose first: rare, frequent, idf or none (by spelling)."),
    ] = "rare",
    balanced: Annotated[
        bool | None,
        typer.Option(
            "--balanced/--as-given",
            help="Keep many neighbours of a word from outweighing it [balanced, where a source is "
            "named].",
        ),
    ] = None,
    definite: Annotated[
        bool,
        typer.Option(
            "--definite",
            help="Multiply all by the largest factor after which no soft cosine exceeds 1.",
        ),
    ] = False,
    guard: Annotated[
        bool,
        typer.Option(
            "--guard/--no-guard", help="Keep antonyms apart, and terms with digits alone."
        ),
    ] = True,
    keep_source: Annotated[
        bool,
        typer.Option(
            "--keep-source/--no-source",
            help="Keep the sources in the matrix, for words that it does not have.",
        ),
    ] = True,
    resume: Annotated[
        bool,
        typer.Option(
            "--resume/--in-one-piece",
            help="Keep what was found, to go on after an interruption; in one piece, vectors are "
            "compared up to twice as fast.",
        ),
    ] = True,
    language: Language = None,
    stemmer: Stemmer = None,
    min_df: MinDf = None,
    text_fields: TextFields = None,
    format: Annotated[
        str | None,
        typer.Option(help="Of --vocabulary: jsonl, json, csv, tsv, lines, text or parquet."),
    ] = None,
    encoding: Encoding = "utf-8",
    pattern: Pattern = None,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace a matrix of that name.")
    ] = False,
    as_json: Summary = False,
) -> None:
    r"""Build the matrix of which words are similar, from one or several sources.

      softcosine similarity build --vocabulary faq.jsonl -o faq.matrix
      softcosine similarity build english synonyms.txt --vocabulary faq.jsonl -o faq.matrix
      softcosine similarity build glove.6B.100d.txt wordnet edit-distance --join noisy-or \
          --calibrate --decisions pins.txt --vocabulary faq.index -o faq.matrix
      softcosine index faq.jsonl -o faq.index --similarity faq.matrix

    Files of vectors and of synonyms are told apart by their endings, and .txt by what is in it;
    vectors:FILE and synonyms:FILE say which it is. With several sources the strongest similarity
    counts, unless --join says otherwise.

    Similarities are balanced: divided by the roots of both words' sums of similarities, where
    these exceed 1, so that a word's many neighbours do not outweigh it and no soft cosine exceeds
    1. --as-given leaves them as the sources say, and --definite multiplies all by one factor
    instead. Pinned pairs, and those of synonyms:FILE, keep their value; thesaurus:FILE is a list
    that is balanced as other sources are, such as a large one that you did not write.

    JSON: matrix, terms, neighbors, mean_neighbors, max_neighbors, mean_similarity, symmetric,
    dominant, balanced, shrunk, sources, bytes, seconds, note, and list_use as of 'index'.
    """
    from softcosine.cli.matrices import show_built
    from softcosine.cli.matrix_building import Plan, built_matrix, recipe_of
    from softcosine.cli.progress import Reporter

    if output is None:
        raise InvalidInputError("--output is missing: name the folder to write by -o MATRIX.")
    if (not vocabulary) == (words is None):
        raise InvalidInputError(
            "the words of the matrix come from --vocabulary FILE (documents, an index, a matrix) "
            "or from --words FILE (a list); give one of the two."
        )
    recipe = recipe_of(
        sources=sources or (), join=join, calibrate=calibrate, decisions=decisions,
        max_neighbors=max_neighbors, min_similarity=min_similarity, threshold=threshold,
        exponent=exponent, approximate=approximate, strategy=strategy, order=order,
        balanced=balanced, definite=definite, guard=guard,
    )  # fmt: skip
    plan = Plan(
        recipe=recipe, output=output, vocabulary=tuple(vocabulary or ()), words=words,
        keep_source=keep_source, resume=resume, language=language, stemmer=stemmer, min_df=min_df,
        text_fields=tuple(text_fields or ()), format=format, encoding=encoding, pattern=pattern,
        overwrite=overwrite,
    )  # fmt: skip
    started = time.perf_counter()
    with Reporter() as report:
        S, note, use = built_matrix(plan, report)
    show_built(S, note, use, output, time.perf_counter() - started, as_json)


def show(
    matrix: Matrix,
    plot: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Draw the histograms too: .png, .svg or .pdf."),
    ] = None,
    overwrite: Overwrite = False,
    as_json: Json = False,
) -> None:
    """Tell what a matrix holds and how it was made, with histograms.

      softcosine similarity show faq.matrix
      softcosine similarity show faq.matrix --plot faq.png

    JSON: matrix, bytes, statistics {n_terms, n_neighbors, mean_neighbors, ...}, histograms
    {neighbors, similarities} of edges and counts, and settings: how it was made.
    """
    from softcosine.cli.maintenance import bytes_of
    from softcosine.cli.matrices import show_facts, show_histogram
    from softcosine.cli.matrix_words import opened_matrix
    from softcosine.cli.output import print_json

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
        bool, typer.Option("--origins", help="Say which source each neighbour comes from.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Show which words of a matrix are similar to a word.

      softcosine similarity neighbors faq.matrix tyre puncture -k 5

    A word that the matrix does not have is asked of the sources that are kept with it.
    JSON: word, indexed, and neighbors of word and similarity, with --origins also origin.
    """
    from softcosine.cli.matrix_words import neighbors_record, opened_with_source
    from softcosine.cli.output import print_json, show_neighbors

    S, source = opened_with_source(matrix)
    if origins and source is None:
        raise InvalidInputError(
            f"{matrix} keeps no source, so that the origins of its similarities are not known; "
            "build it without --no-source."
        )
    for word in words:
        record, told = neighbors_record(S, source, word, k, origins)
        if as_json:
            print_json(record)
        else:
            show_neighbors(record, told, [])


def check(matrix: Matrix, as_json: Json = False) -> None:
    """Read a matrix whole, compare its checksums, and say whether it is positive semidefinite.

      softcosine similarity check faq.matrix

    If it is not, soft cosines above 1 can occur; the factor says how much smaller similarities
    would have to be. A file that has changed ends the command with exit code 1.
    JSON: matrix, files, bytes, symmetric, dominant, smallest_eigenvalue, definite, factor, seconds.
    """
    from softcosine.cli.maintenance import bytes_of
    from softcosine.cli.matrices import definiteness_told
    from softcosine.cli.matrix_words import opened_matrix
    from softcosine.cli.output import console, duration, print_json, printable, size
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
        f"{printable(str(matrix))} is whole: {facts['files']} files, {size(bytes_of(matrix))}, "
        f"checked in {duration(time.perf_counter() - started)}."
    )
    out.print(definiteness_told(facts))


def _verified(matrix: Path) -> int:
    """Compare all checksums of a matrix or an index, and return how many files it has."""
    from softcosine.cli.maintenance import files_of
    from softcosine.cli.vocabularies import stored_kind
    from softcosine.storage import open_folder

    if stored_kind(matrix) == "index":
        from softcosine.index.directory.check import check_index
        from softcosine.index.directory.store import Store

        return files_of(check_index(Store.open(matrix)))
    folder = open_folder(matrix, "matrix")
    folder.verify()
    return len(folder.files)


def diff(
    before: Annotated[Path, typer.Argument(metavar="BEFORE", help="A matrix, or an index.")],
    after: Annotated[Path, typer.Argument(metavar="AFTER", help="Another one.")],
    k: Limit = 20,
    tolerance: Annotated[
        float, typer.Option(metavar="T", help="Similarities that differ by no more are equal.")
    ] = 0.0,
    as_json: Json = False,
) -> None:
    """Show what changed from one matrix to another: terms, and pairs, the largest change first.

      softcosine similarity diff old.matrix new.matrix -k 50

    JSON: before, after, added_terms, removed_terms, counts of the pairs added, removed, changed
    and equal, and the first changes of left, right, before, after and kind.
    """
    from softcosine.cli.matrices import difference_record, show_difference
    from softcosine.cli.matrix_words import opened_matrix
    from softcosine.cli.output import print_json

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
    """Give an index another matrix: its documents are not read again.

      softcosine similarity build english pins.txt --vocabulary faq.index -o new.matrix
      softcosine similarity set faq.index new.matrix

    Words of the index that the matrix does not have are asked of the sources that are kept with
    it; without these they are similar to themselves only. Searches see the change at once and
    whole; only the lengths of the documents are computed anew.

    JSON: index, matrix, documents, terms, generation, seconds, note.
    """
    from softcosine.cli.matrix_index import SavedMatrix
    from softcosine.cli.output import console, duration, print_json, printable
    from softcosine.cli.progress import Reporter
    from softcosine.cli.writing import writing

    started, saved = time.perf_counter(), SavedMatrix.open(matrix)
    with Reporter() as report, writing(index, wait=wait) as (opened, writer):
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
        console().print(f"{note} Set in {duration(seconds)}: {printable(str(index))}.")
