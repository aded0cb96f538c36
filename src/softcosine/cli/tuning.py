"""``softcosine tune``: settings chosen on labelled queries."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from softcosine.cli.failures import saying_how_to_go_on
from softcosine.cli.judged import (
    Grades,
    JudgedDocuments,
    JudgedQrels,
    JudgedQueries,
    TopicFields,
    check_named,
    names_in,
    read_parts,
)
from softcosine.cli.options import Encoding, Stemmer, Threads
from softcosine.cli.tables import check_file
from softcosine.errors import InvalidInputError

if TYPE_CHECKING:
    from softcosine.evaluate.datasets.ranking import RankingSet

__all__ = ["tune"]

_INTERRUPTED = 130


def tune(
    dataset: Annotated[
        Path | None,
        typer.Argument(
            metavar="[DATASET]",
            help="Judged queries, as 'evaluate' reads them: a folder of documents, queries and "
            "qrels, or questions with candidates.",
            readable=False,
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", metavar="FILE", help="Write the settings there, for 'index'."
        ),
    ] = None,
    index: Annotated[
        Path | None,
        typer.Option(metavar="INDEX", help="Index the documents by the settings, too."),
    ] = None,
    measure: Annotated[
        str | None,
        typer.Option(help="Such as ndcg@10, map or recall@100 [ndcg@10; map of candidates]."),
    ] = None,
    sources: Annotated[
        list[str] | None,
        typer.Option(
            "--source",
            metavar="SOURCE",
            help="Similarities that may be chosen, as of 'index' (repeatable) [english and texts].",
        ),
    ] = None,
    tried: Annotated[
        list[str] | None,
        typer.Option(
            "--try",
            metavar="NAME=VALUES",
            help="Values of a setting in place of the usual ones, such as exponent=2,4 or, fixed, "
            "ranking=soft_bm25; repeatable.",
        ),
    ] = None,
    folds: Annotated[int, typer.Option(metavar="N", help="Of the cross-validation.")] = 5,
    budget: Annotated[
        int, typer.Option(min=1, metavar="N", help="Settings that a search may try.")
    ] = 200,
    rule: Annotated[
        str,
        typer.Option(
            help="What is chosen: mean, the best on the mean; or one_se, within one standard error "
            "of it what is most like the default."
        ),
    ] = "one_se",
    test_splits: Annotated[
        list[str] | None,
        typer.Option(
            "--test-split",
            metavar="NAME",
            help="The part of the queries that is left for the test (repeatable) [test...].",
        ),
    ] = None,
    test_share: Annotated[
        float | None,
        typer.Option(
            metavar="SHARE",
            help="Or a share of the queries, drawn by the seed; 0 for none [0.25 where there are "
            "no parts].",
        ),
    ] = None,
    test: Annotated[
        bool, typer.Option("--test", help="Score that part at the end: once, when you are done.")
    ] = False,
    documents: JudgedDocuments = None,
    queries: JudgedQueries = None,
    qrels: JudgedQrels = None,
    topic_fields: TopicFields = "title",
    stemmer: Stemmer = None,
    seed: Annotated[
        int, typer.Option(min=0, metavar="N", help="Of folds, the test's share and the bootstrap.")
    ] = 0,
    kind: Annotated[str | None, typer.Option(help="retrieval or questions [by its files].")] = None,
    grades: Grades = None,
    encoding: Encoding = "utf-8",
    report: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write a report there as Markdown.")
    ] = None,
    checkpoint: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Keep figures there, so that the same command goes on from them [beside -o].",
        ),
    ] = None,
    threads: Threads = None,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace files and an index of these names.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print all of it as JSON.")] = False,
) -> None:
    r"""Choose settings on labelled queries: similarities, weights, ranking, fields.

      softcosine tune cranfield/ -o tuned.json
      softcosine index cranfield/corpus.jsonl.gz -o cranfield.index --settings tuned.json
      softcosine tune question_pairs.jsonl.gz --test-split test2016 --report tuned.md
      softcosine tune faq/ --source english --source synonyms.txt --try ranking=soft_bm25
      softcosine tune faq/ -o tuned.json --test

    Tried are sources and how they are joined, exponent, threshold, max_neighbors, scaling, ranking,
    k1, b, tf, idf, weights of fields, stop_words and stemmer, one after the other, beginning with
    what 'index' does by default. The choice is made on all queries but those left for the test.
    What it brings is measured on queries that it has not seen: the same search chooses without
    each fold in turn, and its choice is compared with the default on that fold. Where the interval
    of the difference does not lie above 0, the default is kept.

    The test's judgements change nothing. --test scores the settings and the default on it when all
    is chosen; whoever tunes again after looking has no test any more.

    It takes minutes: about 3 of one processor for 1,400 documents and 169 queries, 8 for 317
    questions with 10 candidates each. Ctrl-C gives the best so far. The same command goes on from
    the figures that are kept.

    JSON: settings (to be used), verdict, certain, gain (difference, low, high, p), default, chosen
    and trials of settings, mean and folds, by_fold, test, commands, and how it was done.
    """
    from softcosine.cli.output import print_json
    from softcosine.cli.progress import Reporter
    from softcosine.cli.tuned import commands_for, kept_figures, show_tuned
    from softcosine.evaluate.tuning.tuning import SOURCES
    from softcosine.evaluate.tuning.tuning import tune as tuned_by
    from softcosine.storage import check_target, write_text

    _check_places({"-o": output, "--index": index, "--report": report, "--checkpoint": checkpoint})
    for path in (output, report):
        check_file(path, overwrite=overwrite)
    if index is not None:
        check_target(index, "index", overwrite=overwrite)
    place = _Place(dataset, tuple(documents or ()), tuple(queries or ()), tuple(qrels or ()))
    found = _loaded(place, kind=kind, grades=grades, fields=topic_fields, encoding=encoding)
    started = time.perf_counter()
    kept = checkpoint or kept_figures(place.named, output)
    _announce(kept)
    with saying_how_to_go_on(kept), Reporter() as progress:
        tuned = tuned_by(
            found, measure=measure, space=_space(tried), sources=sources or SOURCES, folds=folds,
            budget=budget, rule=rule, test_split=test_splits or None, test_share=test_share,
            score_test=test, random_state=seed, stemmer=stemmer,
            kept=kept, threads=threads, progress=progress,
        )  # fmt: skip
        if output is not None:
            tuned.settings.save(output, overwrite=overwrite)
        if index is not None:
            from softcosine.evaluate.tuning.indexing import indexed

            made = indexed(found.documents, tuned.settings, progress=progress)
            made.save(index, overwrite=overwrite)
    commands = commands_for(tuned, found, place.options, output, index)
    if report is not None:
        write_text(report, tuned.report(commands))
    if as_json:
        print_json({**tuned.to_dict(), "commands": commands})
    else:
        show_tuned(
            tuned, commands, time.perf_counter() - started, written=output is not None, kept=kept
        )
    if not tuned.complete:
        raise typer.Exit(_INTERRUPTED)


def _announce(kept: Path | None) -> None:
    """Say on standard error that it takes a while, and where figures are kept."""
    from softcosine.cli.output import console, printable

    where = "" if kept is None else f"; figures are kept in {printable(str(kept))}"
    console(stderr=True).print(f"Trying settings, for minutes{where}.", style="dim", soft_wrap=True)


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a data set lies: a folder or file, or its three parts."""

    dataset: Path | None
    documents: tuple[Path, ...]
    queries: tuple[Path, ...]
    qrels: tuple[Path, ...]

    @property
    def named(self) -> Path:
        """What stands for all of it."""
        return self.dataset or self.qrels[0]

    @property
    def options(self) -> list[str]:
        """The arguments that name it to another command."""
        if self.dataset is not None:
            return [str(self.dataset)]
        parts = {"documents": self.documents, "queries": self.queries, "qrels": self.qrels}
        return [
            piece
            for name, own in parts.items()
            for path in own
            for piece in (f"--{name}", str(path))
        ]


def _loaded(
    place: _Place, *, kind: str | None, grades: str | None, fields: str, encoding: str
) -> RankingSet:
    """Read a data set of queries.

    Raises
    ------
    InvalidInputError
        If it is of another kind, or not named as a whole.
    """
    from softcosine.evaluate.datasets import RankingSet, load

    parts = (place.documents, place.queries, place.qrels)
    check_named(place.dataset is not None, parts)
    if place.dataset is None:
        return read_parts(parts, grades=grades, topic_fields=fields, encoding=encoding)
    found = load(
        place.dataset, kind=kind, grades=grades, topic_fields=names_in(fields), encoding=encoding
    )
    if not isinstance(found, RankingSet):
        raise InvalidInputError(
            f"{place.dataset} is a {type(found).__name__}, without queries; to tune needs queries "
            "and judgements of documents: a folder of documents, queries and qrels, or questions "
            "with candidates."
        )
    return found


def _check_places(places: Mapping[str, Path | None]) -> None:
    """Raise InvalidInputError where one file is to hold two things."""
    seen: dict[Path, str] = {}
    for name, path in places.items():
        if path is None:
            continue
        other = seen.setdefault(path.absolute(), name)
        if other != name:
            raise InvalidInputError(f"{other} and {name} are both {path}; name two places.")


def _space(given: list[str] | None) -> dict[str, list[Any]] | None:
    """Read ``--try``: names of settings, and their values with commas between.

    Of fields, a value is their weights: ``fields=none,title:2+text:1``.
    """
    if not given:
        return None
    space: dict[str, list[Any]] = {}
    for one in given:
        name, equals, told = one.partition("=")
        values = [value.strip() for value in told.split(",")]
        if not equals or not name.strip() or not all(values):
            raise InvalidInputError(
                f"--try is {one!r}; needed are a setting and its values, such as exponent=2,4."
            )
        name = name.strip()
        if name in space:
            raise InvalidInputError(f"--try names {name!r} twice; give all its values at once.")
        space[name] = [_value(name, value) for value in values]
    return space


_NUMBERS = {"exponent": float, "threshold": float, "k1": float, "b": float, "max_neighbors": int}


def _value(name: str, told: str) -> Any:
    try:
        if name in _NUMBERS:
            return _NUMBERS[name](told)
        if name == "fields" and told != "none":
            pairs = [piece.rpartition(":") for piece in told.split("+")]
            return {field: float(weight) for field, _, weight in pairs}
    except ValueError:
        raise InvalidInputError(
            f"--try gives {name} the value {told!r}; a number was needed."
        ) from None
    return None if told == "none" and name in ("fields", "stemmer", "stop_words") else told
