"""Study 8: what nobody chose anything on: the documentation inside Python's standard library.

The first sentence of a docstring asks for the rest of it, which is searched without that sentence:
one right answer each. No setting was ever chosen on these texts. They come with Python itself, so
that figures differ a little from version to version.

    python studies/docstrings.py [--json] [--out FOLDER] [--without-encoder]
"""

from __future__ import annotations

import importlib
import inspect
import sys
import warnings
from collections.abc import Iterator, Sequence
from types import ModuleType
from typing import Any

from softcosine.evaluate import Documents, Evaluation, evaluate
from softcosine.evaluate.datasets import RankingSet
from study import Clock, argument_parser, markdown, versions, write

# Those that do something when they are imported, need a screen, or are gone in later versions.
_LEFT_OUT = frozenset(
    ("antigravity", "idlelib", "lib2to3", "test", "this", "tkinter", "turtle", "turtledemo")
)
_FEWEST_ASKED, _MOST_CHARACTERS, _FEWEST_WORDS = 4, 160, 15

WORDS = (
    "cosine", "bm25", "soft:encoder=none", "soft:encoder=static",
    "soft:encoder=static,stop_words=english", "lsi", "expansion",
)  # fmt: skip
MEANING = ("soft:encoder=minilm,ask=static", "soft:encoder=minilm,ask=encoder", "encoder")
MEASURES = ("ndcg@10", "map", "recall@100")


def documented() -> Iterator[tuple[str, Any]]:
    """Give what the standard library documents: functions, classes and their methods, by name."""
    for name in sorted(sys.stdlib_module_names - _LEFT_OUT):
        if name.startswith("_"):
            continue
        try:
            with warnings.catch_warnings(action="ignore"):
                module = importlib.import_module(name)
        except ImportError:  # of another system
            continue
        for place, one in _public(module):
            yield f"{name}.{place}", one
            if inspect.isclass(one):
                for method, function in _public(one):
                    yield f"{name}.{place}.{method}", function


def collection() -> RankingSet:
    """Return the docstrings without their first sentences, and these as queries."""
    found: dict[str, tuple[str, str]] = {}
    for name, one in documented():
        first, _, rest = (inspect.getdoc(one) or "").partition("\n\n")
        asked, text = " ".join(first.split()), " ".join(rest.split())
        short = len(asked) <= _MOST_CHARACTERS
        words = len(asked.split()) >= _FEWEST_ASKED and len(text.split()) >= _FEWEST_WORDS
        if short and words:
            found.setdefault(asked, (name, text))
    ids, texts = zip(*found.values(), strict=True)
    queries = Documents.of(list(found))
    return RankingSet(
        "docstrings",
        documents=Documents.of(texts, ids),
        queries=queries,
        qrels={query: {id: 1} for query, id in zip(queries.ids, ids, strict=True)},
    )


def page(made: Evaluation, seconds: float) -> list[str]:
    """Return the report as lines of Markdown."""
    rows = []
    for name, values in made.values.items():
        change = made.intervals.get(name, {}).get("ndcg@10")
        ends = () if change is None else (change.difference, change.low, change.high)
        told = "{:+.1f} [{:+.1f}, {:+.1f}]".format(*(100 * end for end in ends)) if ends else ""
        rows.append((name, *(f"{100 * values[measure]:.1f}" for measure in MEASURES), told))
    columns = ("system", *MEASURES, "nDCG@10 over cosine")
    return [
        "# Docstrings of Python's standard library",
        "",
        f"Each of {len(made.dataset.documents):,} queries is the first sentence of a docstring; "
        "the answer is the rest of that docstring. Nothing was chosen on these texts, and every "
        "system has its default settings. Values times 100; nDCG@10 against cosine with its 95 % "
        "paired bootstrap interval.",
        "",
        *markdown(columns, rows),
        "",
        "- A sentence and the rest of its docstring share most words, so similar words alone add "
        "little. Meaning without an encoder, the default for English, adds as much again.",
        "- Words and meaning together find more than the encoder alone, even where no query "
        "meets the encoder (`ask=static`).",
        "",
        *(f"- {name}: {told}" for name, told in made.told.items() if "encoded" in told),
        "",
        f"Made in {seconds / 60:.0f} minutes by `python studies/docstrings.py`, with Python "
        f"{versions()['python']}. Raw numbers: [docstrings.json](docstrings.json).",
    ]


def _public(owner: type | ModuleType) -> list[tuple[str, Any]]:
    return [(name, one) for name, one in vars(owner).items() if not name.startswith("_")]


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the study."""
    parser = argument_parser(__doc__)
    parser.add_argument("--without-encoder", action="store_true")
    given = parser.parse_args(arguments)
    report = Clock()
    systems = [*WORDS, *(() if given.without_encoder else MEANING)]
    made = evaluate(
        collection(), systems, measures=MEASURES, progress=lambda what, done, total: report(what)
    )
    write("docstrings", given, page(made, report.seconds), made.to_dict())


if __name__ == "__main__":
    main()
