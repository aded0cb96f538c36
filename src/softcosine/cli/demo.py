"""Command ``softcosine demo``: searches in the names of Unicode symbols."""

from __future__ import annotations

import time
import unicodedata
from typing import TYPE_CHECKING, Annotated

from softcosine.cli.derived import argument, option
from softcosine.cli.http_server import serve_page
from softcosine.cli.options import Encoder
from softcosine.cli.output import (
    console,
    duration,
    grid,
    marked,
    pairs_shown,
    print_table,
    printable,
    score_shown,
)
from softcosine.cli.progress import Reporter
from softcosine.cli.symbols import open_symbols
from softcosine.errors import InvalidInputError, install_command

if TYPE_CHECKING:
    from softcosine.index.soft_index import SoftIndex


# No name has a word of these, and none has a word of the same stem.
QUESTIONS = ("illness", "infinite", "kitten", "burger", "weeping feline", "spouse")


def demo(
    words: Annotated[list[str] | None, argument("WORDS", "Your own query.")] = None,
    k: int | None = option("-k N", "Maximum number of results [3; 5 of your own].", None, min=1),
    page: bool = option("--page", "Search in your browser instead ('softcosine[serve]').", False),
    encoder: Encoder = "auto",
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
    """
    from softcosine.encoders.loading import MINILM
    from softcosine.index.encoding import light_encoder
    from softcosine.matrix.term_similarity_matrix import TermSimilarityMatrix

    lacks = encoder == "auto" and light_encoder(MINILM) is None
    chosen = None if lacks or encoder == "none" else MINILM if encoder == "auto" else encoder
    with Reporter() as report:
        opened = open_symbols(report, encoder=chosen)
    if page:
        if opened.path is None:
            told = f"the index was not stored ({opened.problem}), and the page needs it"
            raise InvalidInputError(f"{told}; set SOFTCOSINE_HOME to another folder.")
        serve_page(opened.path, " ".join(words or ("kitten",)))
        return
    out, index = console(), opened.index
    if not words:
        out.print(
            f"{len(index):,} symbols of Unicode {unicodedata.unidata_version}, searched by their "
            "names. No word of these\nqueries is in any name, not even its stem.\n"
        )
    plain = index.with_similarity(TermSimilarityMatrix.identity(index.vocabulary))
    index.search(QUESTIONS[0])  # loads the kernels
    questions = [" ".join(words)] if words else QUESTIONS
    seconds = sorted(_show(index, plain, one, k or (5 if words else 3)) for one in questions)
    if lacks and opened.built is not None:
        out.print(f"By words alone; more is found with {install_command('encoder')}.")
    built = f"Built the index in {duration(opened.built)}. " if opened.built is not None else ""
    median, each = duration(seconds[len(seconds) // 2]), "" if words else " each"
    out.print(f"{built}Searched in {median}{each}, once loaded.", style="dim")
    if opened.problem:
        told = f"The index was not stored ({opened.problem}); set SOFTCOSINE_HOME."
        out.print(told, style="yellow")
    if words:
        return
    meaning = index.snapshot.meaning
    out.print(
        "Scores are soft cosines, from 0 to 1, followed by the contributions of pairs of words.\n"
        if meaning is None
        else f"Scores are soft cosines of words plus the cosine of meaning by {meaning.encoder}.\n",
        style="dim",
    )
    out.print('Your own query:  softcosine demo "sick infant"')
    out.print("Your own texts:  softcosine index FILE -o my.index  (.jsonl .csv .txt, a folder)")
    out.print('                 softcosine search my.index "your words" --explain')


def _show(index: SoftIndex, plain: SoftIndex, question: str, k: int) -> float:
    """Print the results of soft and of plain cosine, and return the seconds of the first."""
    from rich.text import Text

    started = time.perf_counter()
    hits = index.search(question, k=k)
    seconds = time.perf_counter() - started
    out = console()
    out.print(printable(question), style="bold")
    table = grid({"min_width": 4, "justify": "right"}, {"width": 36}, {"style": "cyan"}, {})
    for hit in hits:
        pairs = pairs_shown(index.explain(question, hit.id).parts[:2])
        score, why = score_shown(hit.score), Text("\n".join(pairs), "dim")
        table.add_row(hit.id, marked(hit.snippet), score, why)
    if len(hits):
        print_table(table)
    else:
        no_words = "" if index.analyzer.words(question) else ": the query has no words"
        out.print(f"  nothing found{no_words}")
    if hits.unknown:
        out.print(f"  unknown words, ignored: {', '.join(map(printable, hits.unknown))}")
    equal = plain.search(question, k=2, ask="words", correct=False)
    found = "; ".join(f"{hit.id} {hit.text} {score_shown(hit.score)}" for hit in equal)
    out.print(f"  plain cosine: {found or 'nothing'}\n", style="dim")
    return seconds
