"""Commands ``softcosine collection pairs`` and ``dedupe``."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import closing
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from softcosine.cli.derived import FromRequest, option
from softcosine.cli.opening import any_index, facts_of, is_served
from softcosine.cli.options import AnyIndex, Json, Threads
from softcosine.cli.output import console, counted, duration, print_json, printable, score_shown
from softcosine.cli.progress import Reporter
from softcosine.errors import InvalidInputError
from softcosine.index.requests import DedupeRequest, PairsRequest
from softcosine.index.wire import wire

if TYPE_CHECKING:
    from softcosine.cli.progress import Reporter
    from softcosine.client import RemoteIndex
    from softcosine.index.near_duplicates.similar import SimilarGroup
    from softcosine.index.search.searchable import Searchable


_READ = 100  # groups whose texts are read together
_SHOWN = 60  # characters of a text


def pairs(
    index: AnyIndex,
    options: Annotated[dict[str, Any], FromRequest(PairsRequest)],
    threads: Threads = None,
    as_json: Json = False,
) -> None:
    """Find all pairs of similar documents, or the nearest neighbours of every document.

      softcosine collection pairs faq.index --min 0.8
      softcosine collection pairs faq.index -k 10 --json > neighbors.jsonl
      softcosine collection pairs faq.index --min 0.8 --by meaning
      softcosine collection pairs faq.index --min 0.8 --json | jq -c 'select(.score < 0.9)'

    A line has the similarity (0 to 1) and two ids, separated by tabs. Without -k each pair is
    printed once, as soon as it is found, in document order; with -k all pairs are printed at the
    end, the most similar of each document first, and a pair can occur in both directions. Results
    are exact.

    JSON: one line per pair: id, other, score, and with -k also rank.
    """
    k, report, n_pairs = options.get("k"), Reporter(), 0
    # Lines printed on a terminal show the progress themselves; a bar would disturb them.
    shown = k is None and sys.stdout.isatty()
    with any_index(index, threads=threads) as opened, report:
        found = opened.pairs(**options, **_of_folders(index, threads, None if shown else report))
        if k is not None:
            report.stop()
        with closing(iter(found)) as rows:
            for _, group in groupby(rows, lambda pair: pair.id):
                for rank, pair in enumerate(group, 1):
                    n_pairs += 1
                    if as_json:
                        print_json(wire(pair) | ({} if k is None else {"rank": rank}))
                    else:
                        ids = f"{printable(pair.id)}\t{printable(pair.other)}"
                        sys.stdout.write(f"{score_shown(pair.score)}\t{ids}\n")
        n_docs = len(opened)
        _say_what_lacks_coordinates(opened, options["by"])
    if not n_pairs and not as_json:
        _say_nothing_found(options["min_similarity"])
    what = "pair" if k is None else "neighbour"
    _conclude(f"{counted(n_pairs, what)} among {counted(n_docs, 'document')}", report)


def dedupe(
    index: AnyIndex,
    options: Annotated[dict[str, Any], FromRequest(DedupeRequest, defaults={"method": "leaders"})],
    keep: str | None = option(
        "--keep first", "Print the ids to delete: all but the first of each group.", None, "first"
    ),
    threads: Threads = None,
    as_json: Json = False,
) -> None:
    """Find groups of near duplicates among the documents of an index.

      softcosine dedupe faq.index --min 0.95
      softcosine dedupe faq.index --min 0.95 --keep first > drop.txt
      softcosine delete faq.index --from drop.txt

    A group begins with its earliest document; the other documents follow with their similarity to
    it. Beside each id is the beginning of the text, if the index stores it.

    JSON: one line per group: id (of the first document), and others of id, other and score; with
    --keep one line per document to delete: id (the document that stays), other, score.
    """
    if keep not in (None, "first"):
        raise InvalidInputError(f"--keep is {keep!r}; the only choice is 'first'.")
    with any_index(index, threads=threads) as opened, Reporter() as report:
        groups = opened.dedupe(**options, **_of_folders(index, threads, report))
        n_docs = len(opened)
        _say_what_lacks_coordinates(opened, options["by"])
        report.stop()
        if keep is None:
            _show_groups(opened, groups, as_json)
        else:
            _show_dropped(groups, as_json)
    if not groups and not as_json:
        _say_nothing_found(options["min_similarity"])
    n_others = sum(len(group.others) for group in groups)
    told = f"{counted(len(groups), 'group')} of {counted(len(groups) + n_others, 'document')}"
    _conclude(f"{told}, {n_others:,} to delete, among {n_docs:,}", report)


def _show_groups(
    index: Searchable | RemoteIndex, groups: Sequence[SimilarGroup], as_json: bool
) -> None:

    if as_json:
        for group in groups:
            print_json(wire(group))
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
    from softcosine.text.analyzer import shortened

    dropped = [one for group in groups for one in group.others]
    for one in () if as_json else dropped:
        if len(one.other.splitlines()) != 1:
            raise InvalidInputError(
                f"the id {shortened(one.other)} contains a line break; use --json."
            )
    shown = printable if sys.stdout.isatty() else str  # programs get unescaped ids
    for one in dropped:
        if as_json:
            print_json(wire(one))
        else:
            sys.stdout.write(f"{shown(one.other)}\n")


def _say_nothing_found(least: float | None) -> None:
    """Print on standard error that no documents are similar."""
    so = f"have a similarity of at least {least:g}" if least else "are similar"
    console(stderr=True).print(f"Nothing found: no two documents {so}.")


def _say_what_lacks_coordinates(opened: Searchable | RemoteIndex, by: str) -> None:
    """Print on standard error how many documents could not be compared by meaning."""
    facts = None if by == "words" else facts_of(opened)
    if facts is not None and (n_left := len(opened) - facts["encoded"]):
        so = "left out" if by == "meaning" else "compared by words alone"
        console(stderr=True).print(f"Without coordinates, and {so}: {counted(n_left, 'document')}.")


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


def _conclude(told: str, report: Reporter) -> None:
    """Print a summary on standard error, if that is a terminal."""
    sys.stdout.flush()
    if sys.stderr.isatty():
        console(stderr=True).print(f"{told}, in {duration(report.seconds)}.", style="dim")
