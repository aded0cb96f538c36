"""Commands ``softcosine pairs`` and ``dedupe``."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from contextlib import closing, nullcontext
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from softcosine._validation import check_choice
from softcosine.cli.completing import names_of
from softcosine.cli.options import AnyIndex, By, Json, Threads
from softcosine.cli.output import counted
from softcosine.cli.remote import any_index, is_served, name_of
from softcosine.errors import InvalidInputError

if TYPE_CHECKING:
    from softcosine.cli.progress import Reporter
    from softcosine.client import RemoteIndex
    from softcosine.index.near_duplicates.similar import SimilarGroup
    from softcosine.index.search.searchable import Searchable

__all__ = ["METHODS", "dedupe", "pairs"]

METHODS = ("leaders", "components")
_READ = 100  # groups whose texts are read together
_SHOWN = 60  # characters of a text


def pairs(
    index: AnyIndex,
    min_similarity: Annotated[
        float | None,
        typer.Option(
            "--min", metavar="S", help="Minimum similarity, above 0; required without -k."
        ),
    ] = None,
    k: Annotated[
        int | None,
        typer.Option(
            "-k", min=1, metavar="N", help="Find the N most similar documents of each document."
        ),
    ] = None,
    by: By = "words",
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE", help="File to write: .jsonl, .csv or .tsv."),
    ] = None,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace an existing file.")
    ] = False,
    threads: Threads = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one line of JSON per pair.")
    ] = False,
) -> None:
    """Find all pairs of similar documents, or the nearest neighbours of every document.

      softcosine pairs faq.index --min 0.8
      softcosine pairs faq.index -k 10 -o neighbors.csv
      softcosine pairs faq.index --min 0.8 --by meaning
      softcosine pairs faq.index --min 0.8 --json | jq -c 'select(.similarity < 0.9)'

    A line has the similarity (0 to 1) and two ids, separated by tabs. Without -k each pair is
    printed once, as soon as it is found, in document order; with -k all pairs are printed at the
    end, the most similar of each document first, and a pair can occur in both directions. Results
    are exact.

    JSON: first, second, similarity, and with -k also rank.
    """
    from softcosine.cli.progress import Reporter
    from softcosine.cli.tables import TableWriter, check_table

    if min_similarity is None and k is None:
        raise InvalidInputError(
            "pass the minimum similarity, such as --min 0.8, or the number of neighbours per "
            "document, such as -k 10."
        )
    if output is not None:
        check_table(output, overwrite=overwrite)
    started = time.perf_counter()
    # Lines printed on a terminal show the progress themselves; a bar would disturb them.
    shown = output is None and k is None and sys.stdout.isatty()
    report = Reporter()
    names = ("first", "second", "similarity", *(("rank",) if k is not None else ()))
    n_pairs, last, rank = 0, None, 0
    with (
        any_index(index, threads=threads) as opened,
        report,
    ):
        options = _of_folders(index, threads, None if shown else report)
        found = opened.pairs(
            min_similarity=min_similarity or 0.0, k=k, by=cast("Any", by), **options
        )
        if k is not None:
            report.stop()
        table = nullcontext(_lines(as_json)) if output is None else TableWriter(output, names)
        with closing(iter(found)) as rows, table as write:
            for pair in rows:
                rank = rank + 1 if pair.id == last else 1
                last = pair.id
                row: dict[str, Any] = {
                    "first": pair.id, "second": pair.other, "similarity": pair.score
                }  # fmt: skip
                write(row if k is None else {**row, "rank": rank})
                n_pairs += 1
        n_docs = _say_what_lacks_coordinates(opened, by, index)
    if not n_pairs and not as_json:
        _say_nothing_found(min_similarity)
    what = "pair" if k is None else "neighbour"
    _conclude(f"{counted(n_pairs, what)} among {counted(n_docs, 'document')}", started)


def dedupe(
    index: AnyIndex,
    min_similarity: Annotated[
        float, typer.Option("--min", metavar="S", help="Minimum similarity of near duplicates.")
    ] = 0.9,
    by: By = "words",
    method: Annotated[
        str,
        typer.Option(
            autocompletion=names_of("cli.near_duplicates:METHODS"),
            help="leaders (each document is similar to the first of its group) or components "
            "(chains of similar pairs form a group).",
        ),
    ] = "leaders",
    keep: Annotated[
        str | None,
        typer.Option(
            metavar="first",
            autocompletion=names_of("first"),
            help="Print the ids to delete: all but the first of each group.",
        ),
    ] = None,
    threads: Threads = None,
    as_json: Json = False,
) -> None:
    """Find groups of near duplicates among the documents of an index.

      softcosine dedupe faq.index --min 0.95
      softcosine dedupe faq.index --min 0.95 --keep first > drop.txt
      softcosine delete faq.index --from drop.txt

    A group begins with its earliest document; the other documents follow with their similarity to
    it. Beside each id is the beginning of the text, if the index stores it.

    JSON: one line per group: id (of the first document), and others of id and similarity; with
    --keep one line per id to delete: id, kept (the document that stays), similarity.
    """
    from softcosine.cli.progress import Reporter

    check_choice("method", method, METHODS)
    if keep not in (None, "first"):
        raise InvalidInputError(f"--keep is {keep!r}; the only choice is 'first'.")
    started = time.perf_counter()
    with (
        any_index(index, threads=threads) as opened,
        Reporter() as report,
    ):
        groups = opened.dedupe(
            min_similarity=min_similarity, method=method, by=cast("Any", by),
            **_of_folders(index, threads, report),
        )  # fmt: skip
        n_docs = _say_what_lacks_coordinates(opened, by, index)
        report.stop()
        if keep is None:
            _show_groups(opened, groups, as_json)
        else:
            _show_dropped(groups, as_json)
    if not groups and not as_json:
        _say_nothing_found(min_similarity)
    n_others = sum(len(group.others) for group in groups)
    _conclude(
        f"{counted(len(groups), 'group')} of {counted(len(groups) + n_others, 'document')}, "
        f"{n_others:,} to delete, among {n_docs:,}",
        started,
    )


def _lines(as_json: bool) -> Callable[[dict[str, Any]], None]:
    """Return the function that prints a pair."""
    from softcosine.cli.output import print_json, printable, score_shown

    def plain(row: dict[str, Any]) -> None:
        ids = f"{printable(row['first'])}\t{printable(row['second'])}"
        sys.stdout.write(f"{score_shown(row['similarity'])}\t{ids}\n")

    return print_json if as_json else plain


def _show_groups(
    index: Searchable | RemoteIndex, groups: Sequence[SimilarGroup], as_json: bool
) -> None:
    from softcosine.cli.output import print_json, printable, score_shown

    if as_json:
        for group in groups:
            others = [{"id": one.other, "similarity": one.score} for one in group.others]
            print_json({"id": group.id, "others": others})
        return
    for start in range(0, len(groups), _READ):
        rows = [
            row
            for group in groups[start : start + _READ]
            for row in (
                ("", group.id),
                *((f"  {score_shown(one.score)}  ", one.other) for one in group.others),
            )
        ]
        texts = {one.id: " ".join(one.text.split()) for one in index.get(id for _, id in rows)}
        for before, id in rows:
            text = texts[id] if len(texts[id]) <= _SHOWN else f"{texts[id][: _SHOWN - 1]}…"
            sys.stdout.write(f"{before}{printable(id)}{text and f'  {printable(text)}'}\n")


def _show_dropped(groups: Sequence[SimilarGroup], as_json: bool) -> None:
    from softcosine.cli.output import print_json, printable
    from softcosine.text.analyzer import shortened

    dropped = [one for group in groups for one in group.others]
    for one in () if as_json else dropped:
        if len(one.other.splitlines()) != 1:
            raise InvalidInputError(
                f"the id {shortened(one.other)} contains a line break and does not fit on a line; "
                "use --json."
            )
    shown = printable if sys.stdout.isatty() else str  # programs get unescaped ids
    for one in dropped:
        if as_json:
            print_json({"id": one.other, "kept": one.id, "similarity": one.score})
        else:
            sys.stdout.write(f"{shown(one.other)}\n")


def _say_nothing_found(least: float | None) -> None:
    """Print on standard error that no documents are similar."""
    from softcosine.cli.output import console

    so = f"have a similarity of at least {least:g}" if least else "are similar"
    console(stderr=True).print(f"Nothing found: no two documents {so}.")


def _say_what_lacks_coordinates(opened: Searchable | RemoteIndex, by: str, index: Path) -> int:
    """Print on standard error how many documents could not be compared by meaning.

    Returns
    -------
    int
        Number of all documents.
    """
    from softcosine.cli.meaning import facts_of
    from softcosine.cli.output import console, printable
    from softcosine.index.search.searchable import Searchable

    n_docs = len(opened)
    if by == "words":
        return n_docs
    facts = facts_of(opened) if isinstance(opened, Searchable) else opened.info()["meaning"]
    assert facts is not None
    if n_left := n_docs - facts["encoded"] - facts["estimated"]:
        so = "left out" if by == "meaning" else "compared by words alone"
        console(stderr=True).print(
            f"Without coordinates, and {so}: {counted(n_left, 'document')}; softcosine encode "
            f"{printable(name_of(index))} completes those that have texts."
        )
    return n_docs


def _of_folders(
    index: Path,
    threads: int | None,
    report: Reporter | None,
) -> dict[str, Any]:
    """Return the parameters of a comparison that a server does not take."""
    if is_served(index):
        return {}
    progress = None if report is None else partial(report, "comparing pairs")
    return {"threads": threads, "progress": progress}


def _conclude(told: str, started: float) -> None:
    """Print a summary on standard error, if that is a terminal."""
    from softcosine.cli.output import console, duration

    sys.stdout.flush()
    if sys.stderr.isatty():
        seconds = duration(time.perf_counter() - started)
        console(stderr=True).print(f"{told}, in {seconds}.", style="dim")
