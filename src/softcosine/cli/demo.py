"""Command ``softcosine demo``: searches in the names of Unicode symbols."""

from __future__ import annotations

import time
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from softcosine.cli.http_server import serve_page
from softcosine.cli.options import Encoder, Json
from softcosine.cli.output import (
    console,
    duration,
    hits_record,
    marked,
    pairs_shown,
    print_json,
    print_table,
    printable,
    program,
    score_shown,
)
from softcosine.cli.progress import Reporter
from softcosine.cli.symbols import open_symbols
from softcosine.errors import InvalidInputError, install_command
from softcosine.index.wire import wire

if TYPE_CHECKING:
    from softcosine.cli.symbols import OpenedSymbols
    from softcosine.index.search.explanation import Explanation
    from softcosine.index.search.results import Hits
    from softcosine.index.soft_index import SoftIndex
    from softcosine.text.vocabulary import Vocabulary


# The demo searches the first of these that share no word and no stem with any name.
CANDIDATES = (
    "illness", "infinite", "kitten", "burger", "weeping feline", "spouse", "radiation", "voting",
    "laughter", "forbidden", "insect", "alcohol", "puppy", "infant", "danger", "spacecraft",
)  # fmt: skip
_N_QUESTIONS = 6


@dataclass(frozen=True, slots=True)
class _Answer:
    """Results of soft and plain cosine for a query."""

    hits: Hits
    why: tuple[Explanation, ...]
    seconds: float
    plain: Hits
    asked: bool


def demo(
    words: Annotated[
        list[str] | None, typer.Argument(metavar="WORDS", help="Your own query.")
    ] = None,
    k: Annotated[
        int | None, typer.Option("-k", min=1, metavar="N", help="Maximum number of results.")
    ] = None,
    rebuild: Annotated[
        bool, typer.Option("--rebuild", help="Build the index of the names again.")
    ] = False,
    page: Annotated[
        bool, typer.Option("--page", help="Search in your browser instead ('softcosine[serve]').")
    ] = False,
    encoder: Encoder = "auto",
    as_json: Json = False,
) -> None:
    """Search Unicode's symbols by meaning; needs no files and no download.

      softcosine demo
      softcosine demo "sick infant" -k 5
      softcosine demo --page

    The first call indexes the names of the symbols of this Python version and stores the index in
    your data folder (SOFTCOSINE_HOME sets another folder). Without arguments, the command runs six
    queries whose words are in no name, not even stemmed. It prints the soft cosine (0 to 1), the
    pairs of words behind it, and the results of plain cosine. Where the encoder minilm is installed
    it reads the names once, in some seconds, and the cosine of meaning is added (--encoder none
    leaves it out).

    JSON: unicode, symbols, index, built_seconds, and answers as of 'search', whose ids are the
    characters, with the hits of plain cosine as plain.
    """
    from softcosine.encoders.loading import MINILM
    from softcosine.index.encoding import light_encoder
    from softcosine.matrix.term_similarity_matrix import TermSimilarityMatrix

    lacks = encoder == "auto" and light_encoder(MINILM) is None
    if encoder == "auto":
        encoder = MINILM
    with Reporter() as report:
        report.announce("The first call builds the index, which takes some seconds.")
        opened = open_symbols(
            report, rebuild=rebuild, encoder=None if lacks or encoder == "none" else encoder
        )
    if page:
        if opened.path is None:
            raise InvalidInputError(
                f"the index was not stored ({opened.problem}), and the page needs it; set "
                "SOFTCOSINE_HOME to another folder."
            )
        serve_page(opened.path, " ".join(words or ("kitten",)))
        return
    index = opened.index
    questions = choose_questions(index.vocabulary, CANDIDATES)
    if words:
        questions = (" ".join(words),)
    k = k or (5 if words else 3)
    plain = index.with_similarity(TermSimilarityMatrix.identity(index.vocabulary))
    answers = [answer(index, plain, question, k) for question in questions]
    if as_json:
        print_json(_record(opened, answers))
        return
    out = console()
    if not words:
        out.print(
            f"{len(index):,} symbols of Unicode {unicodedata.unidata_version}, searched by their "
            "names. No word of these\nqueries is in any name, not even its stem.\n"
        )
    for one in answers:
        _show(one)
    if lacks and opened.built is not None:
        out.print(f"By words alone; more is found with {install_command('encoder')}.")
    _show_end(opened, answers, own=bool(words))


def choose_questions(vocabulary: Vocabulary, candidates: Sequence[str]) -> tuple[str, ...]:
    """Return the first candidates of which no word, even stemmed, is in a vocabulary.

    Parameters
    ----------
    vocabulary : Vocabulary
        Vocabulary of the names, stemmed or not.
    candidates : sequence of str
    """
    from softcosine.text.analyzer import Analyzer

    stemming = Analyzer("english")
    words: Iterable[str] = vocabulary.terms
    if vocabulary.forms is not None:
        words = (form for forms in vocabulary.forms for form in forms)
    known = list(words)
    taken = {*vocabulary.terms, *known, *stemming.stem(known)}

    def absent(question: str) -> bool:
        return taken.isdisjoint(stemming.words(question) + stemming.terms(question))

    return tuple(filter(absent, candidates))[:_N_QUESTIONS]


def answer(index: SoftIndex, plain: SoftIndex, question: str, k: int) -> _Answer:
    """Search both indexes, and time the soft one after a first search that loads its kernels."""
    index.search(question, k=k)
    started = time.perf_counter()
    hits = index.search(question, k=k)
    seconds = time.perf_counter() - started
    why = tuple(index.explain(question, hit.id) for hit in hits)
    asked = bool(index.analyzer.words(question))
    return _Answer(
        hits, why, seconds, plain.search(question, k=k, ask="words", correct=False), asked
    )


def _record(opened: OpenedSymbols, answers: list[_Answer]) -> dict[str, Any]:
    return {
        "unicode": unicodedata.unidata_version,
        "symbols": len(opened.index),
        "index": None if opened.path is None else str(opened.path),
        "built_seconds": opened.built,
        "answers": [
            {**hits_record(one.hits, one.seconds, one.why, 0.0), "plain": wire(one.plain.hits)}
            for one in answers
        ],
    }


def _show(one: _Answer) -> None:
    from rich.table import Table
    from rich.text import Text

    out = console()
    out.print(printable(one.hits.query), style="bold")
    table = Table.grid(padding=(0, 2, 0, 0), expand=False)
    table.add_column(min_width=4, justify="right")
    table.add_column(width=36)
    table.add_column(style="cyan", no_wrap=True)
    table.add_column()
    for hit, why in zip(one.hits, one.why, strict=True):
        table.add_row(
            hit.id,
            marked(hit.snippet),
            score_shown(hit.score),
            Text("\n".join(pairs_shown(why.parts[:2])), "dim"),
        )
    if len(one.hits):
        print_table(table)
    else:
        out.print(f"  nothing found{'' if one.asked else ': the query has no words'}")
    if one.hits.unknown:
        out.print(f"  unknown words, ignored: {', '.join(map(printable, one.hits.unknown))}")
    found = "; ".join(f"{hit.id} {hit.text} {score_shown(hit.score)}" for hit in one.plain[:2])
    out.print(f"  plain cosine: {found or 'nothing'}\n", style="dim")


def _show_end(opened: OpenedSymbols, answers: list[_Answer], *, own: bool) -> None:

    out = console()
    seconds = sorted(one.seconds for one in answers)[len(answers) // 2]
    built = f"Built the index in {duration(opened.built)}. " if opened.built is not None else ""
    each = "" if len(answers) == 1 else " each"
    out.print(f"{built}Searched in {duration(seconds)}{each}, once loaded.", style="dim")
    if opened.problem:
        out.print(
            f"The index was not stored ({opened.problem}); set SOFTCOSINE_HOME to another folder.",
            style="yellow",
        )
    if own:
        return
    meaning = opened.index.snapshot.meaning
    scores = (
        "Scores are soft cosines, from 0 to 1, followed by the contributions of pairs of words."
        if meaning is None
        else f"Scores are soft cosines of words plus the cosine of meaning by {meaning.encoder}."
    )
    out.print(f"{scores}\n", style="dim")
    name = program()
    out.print(f'Your own query:  {name} demo "sick infant"')
    out.print(f"Your own texts:  {name} index FILE -o my.index  (.jsonl .csv .txt, a folder)")
    out.print(f'                 {name} search my.index "your words" --explain')
