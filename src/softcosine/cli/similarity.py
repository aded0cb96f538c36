"""Commands of ``softcosine similarity``: build, show, neighbors, check, set, diff."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from softcosine.cli.completing import names_of, stored_kind
from softcosine.cli.maintenance import bytes_of, files_of
from softcosine.cli.matrix_building import SOURCES_HELP, Recipe, Terms, built_matrix
from softcosine.cli.matrix_index import (
    SavedMatrix,
    neighbors_record,
    opened_matrix,
    opened_with_source,
)
from softcosine.cli.options import (
    Index,
    Json,
    Limit,
    Overwrites,
    Reading,
    Summary,
    Wait,
)
from softcosine.cli.output import (
    console,
    duration,
    print_json,
    print_note,
    print_table,
    printable,
    program,
    show_neighbors,
    size,
)
from softcosine.cli.progress import Reporter
from softcosine.cli.writing import changing
from softcosine.errors import InvalidInputError
from softcosine.index.writer.lock import WRITER_TIMEOUT

if TYPE_CHECKING:
    from softcosine.matrix.list_use import ListUse
    from softcosine.matrix.term_similarity_matrix import MatrixDifference, TermSimilarityMatrix

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


def show(matrix: Matrix, as_json: Json = False) -> None:
    """Show the size and settings of a matrix.

      softcosine similarity show faq.matrix

    JSON: matrix, bytes, statistics {n_terms, n_neighbors, mean_neighbors, ...}, and settings of the
    build.
    """
    S = opened_matrix(matrix)
    if not as_json:
        show_facts(S, matrix, bytes_of(matrix))
        return
    figures = S.statistics(eigenvalue=False).to_dict()
    del figures["smallest_eigenvalue"]
    print_json(
        {
            "matrix": str(matrix),
            "bytes": bytes_of(matrix),
            "statistics": figures,
            "settings": S.settings,
        }
    )


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
    from softcosine.matrix.definiteness import ROUNDING, lowest_eigenvalue, shrinking_factor

    started = time.perf_counter()
    n_files = _verified(matrix)
    S = opened_matrix(matrix)
    lowest = lowest_eigenvalue(S.to_scipy()).value if S.symmetric else None
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


_BAR_WIDTH = 50


def show_built(
    S: TermSimilarityMatrix,
    note: str,
    use: ListUse | None,
    output: Path,
    seconds: float,
    as_json: bool,
) -> None:
    """Print the summary of a matrix that was built."""
    from softcosine.text.analyzer import Analyzer

    figures = S.statistics(eigenvalue=False)
    shrunk = float(S.settings.get("shrunk", 1.0))
    if as_json:
        names = ("mean_neighbors", "max_neighbors", "mean_similarity", "symmetric", "dominant")
        facts = {"matrix": str(output), "terms": figures.n_terms, "neighbors": figures.n_neighbors}
        facts |= {name: getattr(figures, name) for name in names}
        facts |= {"balanced": S.scales is not None, "shrunk": shrunk}
        facts |= {"sources": _sources(S.settings), "bytes": bytes_of(output), "seconds": seconds}
        print_json({**facts, "note": note, "list_use": None if use is None else use.to_dict()})
        return
    out, shown = console(), printable(str(output))
    out.print(
        f"Found {figures.n_neighbors:,} neighbours of {figures.n_terms:,} terms, "
        f"{figures.mean_neighbors:.1f} per term, in {duration(seconds)}: {shown} "
        f"({size(bytes_of(output))})."
    )
    analyzer = S.settings.get("analyzer")
    print_note(
        note,
        S.settings.get("language"),
        Analyzer() if analyzer is None else Analyzer.from_dict(analyzer),
    )
    if use is not None:
        out.print(str(use), style="dim", markup=False)
    out.print(f"Show it: {program()} similarity show {shown}", style="dim")


def show_facts(S: TermSimilarityMatrix, path: Path, n_bytes: int) -> None:
    """Print the figures of a matrix and how it was made."""
    from rich.table import Table

    figures, settings = S.statistics(eigenvalue=False), S.settings
    limits = [f"at most {settings['max_neighbors']}"] if "max_neighbors" in settings else []
    if settings.get("min_similarity"):
        limits.append(f"at least {settings['min_similarity']:g}")
    if S.scales is not None:
        limits.append("balanced")
    if settings.get("shrunk", 1.0) < 1:
        limits.append(f"all times {settings['shrunk']:.3f}")
    kind = "symmetric" if figures.symmetric else "asymmetric"
    sources = _sources(settings)
    lines = {
        "terms": f"{figures.n_terms:,}",
        "neighbours": (
            f"{figures.n_neighbors:,}: {figures.n_terms_with_neighbors:,} of "
            f"{figures.n_terms:,} terms have some, {figures.mean_neighbors:.1f} per term on "
            f"average, {figures.max_neighbors} at most"
        ),
        "similarity": f"{figures.mean_similarity:.2f} on average",
        "kind": f"{kind}, diagonally dominant" if figures.dominant else kind,
        "limits": ", ".join(limits),
        "order": str(settings.get("order", "")).replace("_", " "),
        "sources": ", ".join(sources),
        "combined by": settings["recipe"]["combine"] if len(sources) > 1 else "",
        "made from": settings.get("source", ""),
        "words": ", ".join(settings.get("vocabulary", ())),
        "extended": ", ".join(f"by {one['terms']:,} terms" for one in settings.get("extended", ())),
        "on disk": size(n_bytes),
    }
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(style="dim", no_wrap=True)
    table.add_column(ratio=1, overflow="fold")
    for name, value in lines.items():
        if value:
            table.add_row(name, printable(value))
    console().print(printable(str(path)), style="bold")
    print_table(table)


def definiteness_told(facts: dict[str, Any]) -> str:
    """Return a sentence on definiteness from the facts that ``check --json`` prints."""
    if not facts["symmetric"]:
        return "It is asymmetric and only fit for searches; build it with --strategy symmetric."
    lowest = f"its smallest eigenvalue is {facts['smallest_eigenvalue']:.3g}"
    if facts["dominant"]:
        return f"It is strictly diagonally dominant, so positive definite; {lowest}."
    if facts["definite"]:
        return f"It is positive semidefinite: {lowest}, so no soft cosine exceeds 1."
    return (
        f"It is not positive semidefinite: {lowest}, so soft cosines above 1 can occur. "
        f"Build it with --definite to multiply the similarities by {facts['factor']:.3f}."
    )


def difference_record(
    found: MatrixDifference, before: Path, after: Path, limit: int
) -> dict[str, Any]:
    """Return the difference of two matrices as ``diff --json`` prints it."""
    names = ("left", "right", "before", "after", "kind")
    return {
        "before": str(before), "after": str(after), "added_terms": list(found.added_terms),
        "removed_terms": list(found.removed_terms), "counts": found.counts(),
        "changes": [
            {name: getattr(change, name) for name in names} for change in found.changes[:limit]
        ],
    }  # fmt: skip


def show_difference(found: MatrixDifference, limit: int) -> None:
    """Print the pairs with the largest changes, the added and removed terms, and a summary."""
    from rich.table import Table

    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    table.add_column("pair", style="green", overflow="fold")
    table.add_column("before", justify="right", no_wrap=True)
    table.add_column("after", justify="right", no_wrap=True)
    table.add_column(style="dim", justify="right", no_wrap=True)
    for change in found.changes[:limit]:
        values = (f"{value:.3f}" if value else "-" for value in (change.before, change.after))
        table.add_row(printable(f"{change.left} ~ {change.right}"), *values, change.kind)
    out = console()
    if found.changes:
        print_table(table)
    if len(found.changes) > limit:
        out.print(f"and {len(found.changes) - limit:,} more pairs; -k shows more.", style="dim")
    for name, terms in (("Added", found.added_terms), ("Removed", found.removed_terms)):
        if terms:
            more = ", ..." if len(terms) > limit else ""
            out.print(f"{name} terms: {', '.join(map(printable, terms[:limit]))}{more}")
    out.print(f"{found.summary()}.")


def _sources(settings: Mapping[str, Any]) -> list[str]:
    """Return the names of the sources of a matrix."""
    recipe = settings.get("recipe")
    return [] if recipe is None else recipe["sources"] or ["default"]
