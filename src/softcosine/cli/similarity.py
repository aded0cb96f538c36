"""Commands of ``softcosine similarity``: build, show, neighbors, check, set."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from softcosine.cli.completing import names_of, stored_kind
from softcosine.cli.derived import option
from softcosine.cli.maintenance import bytes_of, files_of
from softcosine.cli.options import (
    Index,
    Json,
    Language,
    Limit,
    MinDf,
    Overwrites,
    Reading,
    Sources,
    Stemmer,
    Summary,
    Wait,
)
from softcosine.cli.output import (
    console,
    duration,
    neighbors_told,
    print_json,
    print_note,
    printable,
    show_facts,
    show_neighbors,
    size,
)
from softcosine.cli.progress import Reporter
from softcosine.cli.saved_matrix import SavedMatrix
from softcosine.cli.vocabularies import Corpus, document_limit, read_corpus, read_words
from softcosine.cli.writing import changing
from softcosine.errors import InvalidInputError
from softcosine.index.wire import wire
from softcosine.index.writer.lock import WRITER_TIMEOUT
from softcosine.similarity.registry import NAMES, PREFIXES

if TYPE_CHECKING:
    from softcosine._progress import Report
    from softcosine.matrix.list_use import ListUse
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

    def of(self, sources: list[str] | None) -> SimilarityRecipe:
        """Return the recipe of these sources."""
        return self.recipe(
            sources, threshold=self.threshold, exponent=self.exponent,
            scaling="definite" if self.definite else "auto",
        )  # fmt: skip


@dataclass(frozen=True)
class Terms:
    """Where the terms of a matrix come from."""

    vocabulary: list[str] | None = option(
        "--vocabulary FILE",
        "Source of the terms: documents as 'index' reads them (repeatable), or an index, or a "
        "matrix.",
        None,
    )
    words: str | None = option(
        "--words FILE", "Instead of --vocabulary: a list of words, one per line.", None
    )
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
        rules = {"language": self.language, "stemmer": self.stemmer}
        if self.words is None:
            return read_corpus(
                self.vocabulary or (), reading, **rules, min_df=document_limit(self.min_df),
                phrases=recipe.phrases(), report=report,
            )  # fmt: skip
        if self.min_df is not None:
            raise InvalidInputError(
                "--min-df needs documents, but --words is a list; leave it out."
            )
        return read_words(self.words, encoding=reading.encoding, **rules)


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
    output: Path | None = option("--output -o MATRIX", "The folder to write (required).", None),
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

    Similarities are balanced: divided by the square roots of both words' sums of similarities, if
    these exceed 1. The neighbours of a word then weigh no more than the word itself, and no soft
    cosine exceeds 1. --definite scales all by one factor instead. Pinned pairs and pairs of
    synonyms:FILE keep their value; thesaurus:FILE is balanced like other sources and suits large
    lists of other authors.

    JSON: as of 'similarity show', and seconds, note, and list_use as of 'index'.
    """
    from softcosine.matrix.list_use import list_use
    from softcosine.storage import check_target

    if output is None:
        raise InvalidInputError("--output is missing: name the folder to write by -o MATRIX.")
    check_target(output, "matrix", overwrite=overwrite)
    started, made = time.perf_counter(), recipe.of(sources or None)
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
    note = built.note if len(S) else "The vocabulary is empty."
    note = " ".join(filter(None, (note, _indefinite(S), corpus.note)))
    _show_built(S, note, use, output, time.perf_counter() - started, as_json)


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


def _show_built(
    S: TermSimilarityMatrix,
    note: str,
    use: ListUse | None,
    output: Path,
    seconds: float,
    as_json: bool,
) -> None:
    from softcosine.text.analyzer import Analyzer

    facts = _facts(S, output)
    if as_json:
        print_json({**facts, "seconds": seconds, "note": note, "list_use": wire(use)})
        return
    out, shown, figures = console(), printable(str(output)), facts["statistics"]
    out.print(
        f"Found {figures['n_neighbors']:,} neighbours of {figures['n_terms']:,} terms, "
        f"{figures['mean_neighbors']:.1f} per term, in {duration(seconds)}: {shown} "
        f"({size(facts['bytes'])})."
    )
    rules = S.settings.get("analyzer")
    analyzer = Analyzer() if rules is None else Analyzer.from_dict(rules)
    print_note(note, S.settings.get("language"), analyzer)
    if use is not None:
        out.print(str(use), style="dim", markup=False)
    out.print(f"Show it: softcosine similarity show {shown}", style="dim")


def _facts(S: TermSimilarityMatrix, path: Path) -> dict[str, Any]:
    """Return what ``show --json`` prints."""
    figures = wire(S.statistics(eigenvalue=False))
    del figures["smallest_eigenvalue"]
    return {
        "matrix": str(path), "bytes": bytes_of(path), "statistics": figures,
        "settings": S.settings,
    }  # fmt: skip


def show(matrix: Matrix, as_json: Json = False) -> None:
    """Show the size and settings of a matrix.

      softcosine similarity show faq.matrix

    JSON: matrix, bytes, statistics {n_terms, n_neighbors, mean_neighbors, ...}, and settings of the
    build.
    """
    S = SavedMatrix.open(matrix).S
    facts = _facts(S, matrix)
    if as_json:
        print_json(facts)
        return
    figures, settings = facts["statistics"], S.settings
    limits = [f"at most {settings['max_neighbors']}"] if "max_neighbors" in settings else []
    if settings.get("min_similarity"):
        limits.append(f"at least {settings['min_similarity']:g}")
    if S.scales is not None:
        limits.append("balanced")
    if settings.get("shrunk", 1.0) < 1:
        limits.append(f"all times {settings['shrunk']:.3f}")
    kind = "symmetric" if S.symmetric else "asymmetric"
    recipe = settings.get("recipe")
    sources = [] if recipe is None else recipe["sources"] or ["default"]
    show_facts(str(matrix), {
        "terms": f"{figures['n_terms']:,}",
        "neighbours": f"{figures['n_neighbors']:,}: {neighbors_told(figures)}",
        "kind": f"{kind}, diagonally dominant" if S.dominant else kind,
        "limits": ", ".join(limits),
        "order": str(settings.get("order", "")).replace("_", " "),
        "sources": ", ".join(sources),
        "combined by": recipe["combine"] if recipe and len(sources) > 1 else "",
        "made from": settings.get("source", ""),
        "words": ", ".join(settings.get("vocabulary", ())),
        "extended": ", ".join(f"by {one['terms']:,} terms" for one in settings.get("extended", ())),
        "on disk": size(facts["bytes"]),
    })  # fmt: skip


def neighbors(
    matrix: Matrix,
    words: Annotated[list[str], typer.Argument(metavar="WORD", help="Single words.")],
    k: Limit = 10,
    origins: bool = option("--origins", "Show the source of each neighbour.", False),
    as_json: Json = False,
) -> None:
    """Show the words of a matrix similar to a word.

      softcosine similarity neighbors faq.matrix tyre puncture -k 5

    Words outside the matrix are looked up in the sources stored with it.
    JSON: as of 'terms'.
    """
    opened = SavedMatrix.open(matrix).index(words)
    for word in words:
        show_neighbors(opened.term(word, k=k), origins, as_json)


def check(matrix: Matrix, as_json: Json = False) -> None:
    """Check the checksums of a matrix, and whether it is positive semidefinite.

      softcosine similarity check faq.matrix

    If it is not, soft cosines above 1 can occur; the factor is the scale of the similarities that
    prevents this. A damaged file ends the command with exit code 1.
    JSON: matrix, files, bytes, symmetric, dominant, smallest_eigenvalue, definite, factor, seconds.
    """
    from softcosine.matrix.definiteness import ROUNDING, lowest_eigenvalue, shrinking_factor

    started, n_files = time.perf_counter(), _verified(matrix)
    S = SavedMatrix.open(matrix).S
    lowest = lowest_eigenvalue(S.to_scipy()).value if S.symmetric else None
    definite = S.symmetric and (S.dominant or (lowest is not None and lowest >= -ROUNDING))
    factor = shrinking_factor(S.to_scipy()) if S.symmetric and not definite else 1.0
    seconds, n_bytes = time.perf_counter() - started, bytes_of(matrix)
    if as_json:
        print_json({
            "matrix": str(matrix), "files": n_files, "bytes": n_bytes, "symmetric": S.symmetric,
            "dominant": S.dominant, "smallest_eigenvalue": lowest, "definite": definite,
            "factor": factor, "seconds": seconds,
        })  # fmt: skip
        return
    if lowest is None:
        told = "It is asymmetric and only fit for searches."
    elif S.dominant:
        told = "It is strictly diagonally dominant, so positive definite"
    elif definite:
        told = "It is positive semidefinite, so no soft cosine exceeds 1"
    else:
        told = (
            "It is not positive semidefinite, so soft cosines above 1 can occur; build it with "
            f"--definite to multiply the similarities by {factor:.3f}"
        )
    out = console()
    out.print(
        f"{printable(str(matrix))} is intact: {n_files} files, {size(n_bytes)}, checked in "
        f"{duration(seconds)}."
    )
    out.print(told if lowest is None else f"{told}; its smallest eigenvalue is {lowest:.3g}.")


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
        saved.check_stemmer(opened.analyzer.stemmer, str(index))
        made = saved.build(opened.vocabulary, report=report)
        writer.set_similarity(made.S, source=made.source, note=made.note)
        report("computing lengths", 0, None)
        writer.commit()
    seconds = time.perf_counter() - started
    if as_json:
        print_json({
            "index": str(index), "matrix": str(matrix), "documents": len(opened),
            "terms": len(opened.vocabulary), "generation": opened.snapshot.generation,
            "seconds": seconds, "note": made.note,
        })  # fmt: skip
    else:
        console().print(f"{made.note} Replaced in {duration(seconds)}: {printable(str(index))}.")
