"""What an encoder of many languages adds to words in fifteen languages, English among them.

Collections of questions of the evaluation data (German, Czech, Italian, English), and, made as
these from free texts of Debian 12, others on which nothing was chosen: pages of GNOME's help, each
searched by its one-line description, guides of LibreOffice's help, each searched by its heading,
and the Chinese and Japanese texts of `ideographs`. The query is taken out of its page. Queries that
are not translated, occur twice, stand in their page or have fewer than 4 words or more than 30 (in
Chinese and Japanese fewer than 4 characters) are left out. Up to 500 are asked, by a seeded sample;
pages that no query is about are left out from 1,000 pages on. German and Czech questions are asked
of the English pages too. Nothing but the defaults is used; intervals are 95 % paired bootstrap
intervals over the queries.

    python benchmarks/multilingual.py FOLDER  # Translation-LANGUAGE, usr/share/help,
                                              # usr/share/libreoffice/help

Needs softcosine-multilingual and the extras ``chinese`` and ``japanese``.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from html import unescape
from multiprocessing import get_context
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ideographs import LANGUAGES, Row, collection, packages, pages
from measure import REPORTS, data_folder, parser_of, process_peak, write_report
from softcosine.encoders.encoder import Prompts
from softcosine.encoders.loading import MULTILINGUAL, installed_encoder
from softcosine.evaluate import evaluate
from softcosine.evaluate import load as load_set
from softcosine.evaluate.datasets.ranking import RankingSet
from softcosine.evaluate.documents import Documents
from softcosine.evaluate.significance import paired_bootstrap_of_collections

QUESTIONS = {
    "gnomedesc-de": "German", "gnomedesc-cs": "Czech", "lohelp-cs": "Czech", "itafaq": "Italian",
    "gnomedesc-en": "English", "covidq": "English", "medicationqa": "English",
}  # fmt: skip
HELP = {
    "fr": "French", "es": "Spanish", "pt_BR": "Portuguese", "pl": "Polish", "ru": "Russian",
    "sv": "Swedish", "hu": "Hungarian", "el": "Greek", "ko": "Korean", "zh_CN": "Chinese",
    "ja": "Japanese",
}  # fmt: skip
GUIDES = {"de": "German", "fr": "French", "es": "Spanish", "ru": "Russian", "zh-CN": "Chinese"}
ENGLISH, FOREIGN = "gnomedesc-en", ("gnomedesc-de", "gnomedesc-cs")
LONGEST_QUERY, N_DOCUMENTS, N_TIMED = 30, 1_000, 30
WORDS, BOTH = "words, the default", "words and meaning"
SYSTEMS = {
    "BM25": "bm25",
    WORDS: "soft:encoder=none",
    BOTH: "soft:encoder=multilingual,encoder_cache={cache}",
    "encoder alone": "encoder:model=multilingual,cache={cache}",
}
SPOKEN = {*QUESTIONS.values(), *HELP.values()} - {"English"}
_MEASURE = "ndcg@10"

Values = NDArray[np.float64]


def guides(folder: Path) -> Iterator[Row]:
    """Yield the guides of LibreOffice's help, with their headings as queries."""
    for path in sorted(folder.glob("text/*/guide/*.html")):
        page = path.read_text("utf-8").partition('id="DisplayArea"')[2].partition("<footer")[0]
        heading = re.search("<h1.*?</h1>", page, re.DOTALL)
        if heading:
            query, text = (
                " ".join(unescape(re.sub("<[^>]*>", " ", html)).split())
                for html in (heading[0], page[heading.end() :])
            )
            yield str(path.relative_to(folder)), query, text


def judged(
    name: str, language: str, rows: Iterable[Row], original: Iterable[Row] = ()
) -> RankingSet:
    """Return a collection of what is translated, without many documents of no query."""
    english = {id: query for id, query, _ in original}
    translated = (row for row in rows if row[1] != english.get(row[0]))
    if language in ("Chinese", "Japanese"):
        documents, asked = collection(translated)
    else:
        documents, asked = collection(translated, lambda text: len(text.split()), LONGEST_QUERY)
    ids = {row[0] for row in asked}
    others = [row[0] for row in documents if row[0] not in ids]
    ids.update(others[: max(0, N_DOCUMENTS - len(ids))])
    kept = [row for row in documents if row[0] in ids]
    queries = Documents.of([row[1] for row in asked], ids=[row[0] for row in asked])
    texts = Documents.of([row[2] for row in kept], ids=[row[0] for row in kept])
    return RankingSet(name, texts, queries, {row[0]: {row[0]: 1.0} for row in asked})


def collections(folder: Path) -> Iterator[tuple[str, RankingSet]]:
    """Yield the language and the set of each collection, those of the evaluation data first."""
    known = {}
    for name, language in QUESTIONS.items():
        found = load_set(data_folder() / "questions" / name)
        assert isinstance(found, RankingSet)
        known[name] = found
        yield language, found
    for name in FOREIGN:
        found = known[name]
        ids = set(known[ENGLISH].documents.ids)
        qrels = {id: own for id, own in found.qrels.items() if ids.issuperset(own)}
        both = replace(known[ENGLISH], name=f"{name}, English texts")
        yield f"{QUESTIONS[name]} questions", replace(both, queries=found.queries, qrels=qrels)
    for kind, place, read, source, languages in (
        ("help", "usr/share/help", pages, "C", HELP),
        ("guides", "usr/share/libreoffice/help", guides, "en-US", GUIDES),
    ):
        original = list(read(folder / place / source))
        for code, language in languages.items():
            rows = read(folder / place / code)
            yield language, judged(f"{kind}-{code}", language, rows, original)
    for code in LANGUAGES:
        rows = packages(folder / f"Translation-{code}", code)
        yield HELP[code], judged(f"packages-{code}", HELP[code], rows)


def encoded(texts: list[str]) -> tuple[float, float]:
    """Return the processor seconds of encoding documents, and the peak memory of the process."""
    encoder = installed_encoder(MULTILINGUAL)
    assert encoder is not None
    started, prompt = time.process_time(), Prompts.of_model(encoder).document
    encoder.encode([prompt + text for text in texts])
    return time.process_time() - started, process_peak() or 0.0


def gain(figures: list[dict[str, Values]], *, than: str = WORDS) -> str:
    """Return the mean gain of words and meaning, in per cent, with its interval."""
    found = paired_bootstrap_of_collections(
        [own[BOTH] for own in figures], [own[than] for own in figures], relative=True
    )
    return f"{100 * found.difference:+.1f} [{100 * found.low:+.1f}, {100 * found.high:+.1f}]"


def main() -> None:
    """Measure, and write the report."""
    parser = parser_of(__doc__, cache=Path("multilingual.sqlite"))
    parser.add_argument("folder", type=Path, help="of Translation-* and usr/share/help")
    options = parser.parse_args()
    specs = {name: spec.format(cache=options.cache) for name, spec in SYSTEMS.items()}
    figures: dict[str, dict[str, Values]] = {}
    rows: list[dict[str, object]] = []
    peak = 0.0
    for language, own in collections(options.folder):
        found = evaluate(own, list(specs.values()), measures=[_MEASURE], n_resamples=100)
        figures[own.name] = values = {
            name: found.figures[spec].per_unit[_MEASURE] for name, spec in specs.items()
        }
        texts = own.documents.texts
        sample = np.random.default_rng(0).choice(len(texts), N_TIMED, replace=False)
        with ProcessPoolExecutor(1, get_context("spawn")) as pool:
            seconds, memory = pool.submit(encoded, [texts[i] for i in sample]).result()
        peak = max(peak, memory)
        rows.append({
            "language": language,
            "collection": own.name,
            "documents": len(texts),
            "queries": len(own.judged),
            **{name: round(100 * float(value.mean()), 1) for name, value in values.items()},
            f"gain over {WORDS}, %": gain([values]),
            "s of encoding": round(seconds / N_TIMED * len(texts)),
        })  # fmt: skip
        print(rows[-1], flush=True)
    others = [str(row["collection"]) for row in rows if row["language"] in SPOKEN]
    new = [name for name in others if name not in QUESTIONS]
    for label, names in (("all but English", others), ("those on which nothing was chosen", new)):
        own_figures = [figures[name] for name in names]
        rows.append({
            "language": f"mean of {label}",
            **{
                system: round(100 * float(np.mean([own[system].mean() for own in own_figures])), 1)
                for system in SYSTEMS
            },
            f"gain over {WORDS}, %": gain(own_figures),
        })  # fmt: skip
    below = [name for name, own in figures.items() if own[BOTH].mean() < own[WORDS].mean()]
    notes = [
        f"Gain of {BOTH} over BM25, mean of all but English: "
        f"{gain([figures[name] for name in others], than='BM25')} %; over the encoder alone: "
        f"{gain([figures[name] for name in others], than='encoder alone')} %.",
        f"Below {WORDS}: {', '.join(below) or 'no collection'}. English texts take minilm by "
        "default ([questions](questions.md)).",
        f"Encoding: processor seconds of {N_TIMED} documents at random, for all; a process that "
        f"encodes them has at most {peak:.0f} MiB.",
    ]
    title = "What does an encoder of many languages add to words?"
    facts = {"encoder": "softcosine-multilingual (int8)", "measure": "nDCG@10, times 100"}
    print(
        write_report(
            "languages", title, rows, facts, notes=notes,
            folder=REPORTS.parent / "results", script="multilingual",
        )
    )  # fmt: skip


if __name__ == "__main__":
    main()
