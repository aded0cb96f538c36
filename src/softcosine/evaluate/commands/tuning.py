"""Command ``softcosine collection tune``."""

from __future__ import annotations

import hashlib
import os
import shlex
import shutil
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from softcosine.cli.derived import FromRequest, option
from softcosine.cli.failures import saying_how_to_go_on
from softcosine.cli.options import (
    Encoder,
    EncoderCache,
    Language,
    MeaningSpace,
    Overwrites,
    Stemmer,
    Threads,
)
from softcosine.cli.output import check_file, console, duration, print_json, printable
from softcosine.cli.progress import Reporter
from softcosine.errors import InvalidInputError
from softcosine.evaluate.commands.evaluating import show_table
from softcosine.evaluate.commands.judged import Judged
from softcosine.index.requests import ScoringOptions

if TYPE_CHECKING:
    from softcosine.evaluate.datasets.ranking import RankingSet
    from softcosine.evaluate.tuning.tuned import Tuned

_INTERRUPTED = 130


@dataclass(frozen=True)
class Search:
    """What a search tries: parameters of `softcosine.evaluate.tuning.tune`."""

    measure: str | None = option(
        "--measure",
        "Measure, such as ndcg@10, map or recall@100 [ndcg@10; map for candidates].", None,
    )  # fmt: skip
    sources: list[str] | None = option(
        "--source SOURCE",
        "Source of term similarity to try, as in 'index' (repeatable) [english and texts].",
        None, "similarity.registry:NAMES",
    )  # fmt: skip
    space: list[str] | None = option(
        "--try NAME=VALUES",
        "Values of a setting to try, such as exponent=2,4, or a fixed value, such as "
        "ranking=soft_bm25; repeatable.", None,
    )  # fmt: skip
    folds: int = option("--folds N", "Folds of the cross-validation.", 5)
    budget: int = option("--budget N", "Maximum number of settings per search.", 200, min=1)
    rule: str = option(
        "--rule",
        "Rule of the choice: mean, the best mean; or one_se, the settings closest to the default "
        "within one standard error of the best mean.",
        "one_se", "one_se", "mean",
    )  # fmt: skip
    test_split: list[str] | None = option(
        "--test-split NAME",
        "Split of the queries reserved for the test (repeatable) [test...].", None,
    )  # fmt: skip
    test_share: float | None = option(
        "--test-share SHARE",
        "Share of the queries reserved for the test, drawn at random; 0 for none [0.25 if there "
        "are no splits].", None,
    )  # fmt: skip
    score_test: bool = option("--test", "Score the test queries; do this once, at the end.", False)
    random_state: int = option("--seed N", "Seed of folds, test share and bootstrap.", 0, min=0)

    def settings(self) -> dict[str, Any]:
        """Return the parameters of a search."""
        from softcosine.evaluate.tuning.tuning import SOURCES

        return {
            **vars(self), "space": _space(self.space), "sources": self.sources or SOURCES,
            "test_split": self.test_split or None,
        }  # fmt: skip


@dataclass(frozen=True)
class Outputs:
    """What is written."""

    output: Path | None = option(
        "--output -o FILE", "File of the settings, for 'index --settings'.", None
    )
    index: Path | None = option(
        "--index INDEX", "Also index the documents with the settings.", None
    )
    report: Path | None = option("--report FILE", "Write a report as Markdown.", None)
    checkpoint: Path | None = option(
        "--checkpoint FILE",
        "Store figures, so that the same command can resume [beside -o].", None,
    )  # fmt: skip
    overwrite: Overwrites = False

    def check(self) -> None:
        """Check that all can be written, to different places."""
        from softcosine.storage import check_target

        names = {"output": "-o", "index": "--index", "report": "--report"}
        seen: dict[Path, str] = {}
        for name, flag in {**names, "checkpoint": "--checkpoint"}.items():
            if (path := getattr(self, name)) is None:
                continue
            if (other := seen.setdefault(path.absolute(), flag)) != flag:
                raise InvalidInputError(f"{other} and {flag} are both {path}; choose two paths.")
        for path in (self.output, self.report):
            check_file(path, overwrite=self.overwrite)
        if self.index is not None:
            check_target(self.index, "index", overwrite=self.overwrite)


def tune(
    judged: Judged,
    asking: Annotated[dict[str, Any], FromRequest(ScoringOptions, only=("ask",))],
    search: Search,
    outputs: Outputs,
    dataset: Annotated[
        Path | None,
        typer.Argument(
            metavar="[DATASET]",
            help="Judged queries in a format of 'evaluate': a folder of documents, queries and "
            "qrels, or questions with candidates.",
            readable=False,
        ),
    ] = None,
    language: Language = None,
    stemmer: Stemmer = None,
    encoder: Encoder = "auto",
    encoder_cache: EncoderCache = None,
    meaning_space: MeaningSpace = None,
    threads: Threads = None,
    as_json: bool = option("--json", "Print all results as JSON.", False),
) -> None:
    r"""Choose settings on judged queries: similarities, weights, ranking, fields, meaning.

      softcosine collection tune cranfield/ -o tuned.json
      softcosine index cranfield/corpus.jsonl.gz -o cranfield.index --settings tuned.json
      softcosine collection tune question_pairs.jsonl.gz --test-split test2016 --report tuned.md
      softcosine collection tune faq/ --source english --source synonyms.txt --try ranking=soft_bm25
      softcosine collection tune faq/ -o tuned.json --test
      softcosine collection tune faq/ -o tuned.json --encoder minilm --ask static

    The search starts from the defaults of 'index' and tries one setting after the other: sources
    and how to combine them, exponent, threshold, max_neighbors, scaling, ranking, k1, b, tf, idf,
    weights of fields, stop_words, stemmer and the weight of meaning (--encoder none leaves meaning
    out). It uses all queries except the test queries. The gain is measured by cross-validation: for
    each fold, the same search runs on the other folds, and its choice is compared with the default
    on that fold. If the interval of the difference is not above 0, the default is kept. The results
    also show the gain over BM25 and over the same settings without meaning.

    The search never uses the test judgements. --test scores the chosen settings and the default on
    the test queries; if you tune again after that, the test is not independent any more.

    A search takes minutes: on one processor about 5 for 1,400 documents and 169 queries, 8 for 317
    questions with 10 candidates each. Ctrl-C prints the best settings so far. The same command
    resumes from the stored figures.

    JSON: settings (to use), verdict, certain, gain (difference, low, high, p), against (the same
    over BM25 and without meaning), default, chosen and
    trials of settings, mean and folds, by_fold, test, commands, and the arguments of the search.
    """
    from softcosine.evaluate.tuning.settings import indexed
    from softcosine.evaluate.tuning.tuning import tune as tuned_by
    from softcosine.storage import write_text
    from softcosine.storage.home import kept_file

    outputs.check()
    found, given = _loaded(dataset, judged), _arguments(dataset, judged)
    started, output, index = time.perf_counter(), outputs.output, outputs.index
    kept = outputs.checkpoint or kept_figures(dataset or judged.parts["qrels"][0], output)
    _announce(kept)
    with saying_how_to_go_on(kept), Reporter() as progress:
        tuned = tuned_by(
            found, **search.settings(), language=language, stemmer=stemmer,
            encoder=encoder, encoder_cache=encoder_cache or "auto",
            meaning_space=meaning_space, **asking,
            kept=kept, threads=threads, progress=progress,
        )  # fmt: skip
        if output is not None:
            tuned.settings.save(output, overwrite=outputs.overwrite)
        if index is not None:
            made = indexed(
                found.documents, tuned.settings, meaning_space=meaning_space, progress=progress,
                encoder_cache=encoder_cache or kept_file("encoded.sqlite"),  # filled by the search
            )  # fmt: skip
            made.save(index, overwrite=outputs.overwrite)
    commands = commands_for(tuned, found, given, output, index)
    if outputs.report is not None:
        write_text(outputs.report, tuned.report(commands))
    if as_json:
        print_json({**tuned.to_dict(), "commands": commands})
    else:
        show_tuned(
            tuned, commands, time.perf_counter() - started, written=output is not None, kept=kept
        )
    if not tuned.complete:
        raise typer.Exit(_INTERRUPTED)


def _announce(kept: Path | None) -> None:
    """Print on standard error that the search takes minutes, and the checkpoint file."""
    where = "" if kept is None else f"; figures are stored in {printable(str(kept))}"
    console(stderr=True).print(
        f"Trying settings, which takes minutes{where}.", style="dim", soft_wrap=True
    )


def _arguments(dataset: Path | None, judged: Judged) -> list[str]:
    """Return the command-line arguments for a data set."""
    if dataset is not None:
        return [str(dataset)]
    files = ((f"--{name}", str(path)) for name, own in judged.parts.items() for path in own)
    return [piece for pair in files for piece in pair]


def _loaded(dataset: Path | None, judged: Judged) -> RankingSet:
    """Read a data set of queries; InvalidInputError if it is of another kind."""
    from softcosine.evaluate.datasets import RankingSet

    (found,) = judged.read([] if dataset is None else [dataset])
    if not isinstance(found, RankingSet):
        raise InvalidInputError(
            f"{dataset} is a {type(found).__name__} without queries; give a folder of "
            "documents, queries and qrels, or questions with candidates."
        )
    return found


def _space(given: list[str] | None) -> dict[str, list[Any]] | None:
    """Parse ``--try``: names of settings with comma-separated values.

    A value of fields is their weights: ``fields=none,title:2+text:1``.
    """
    if not given:
        return None
    space: dict[str, list[Any]] = {}
    for one in given:
        name, equals, told = one.partition("=")
        values = [value.strip() for value in told.split(",")]
        if not equals or not name.strip() or not all(values):
            raise InvalidInputError(
                f"--try is {one!r}; give a setting and its values, such as exponent=2,4."
            )
        name = name.strip()
        if name in space:
            raise InvalidInputError(f"--try has {name!r} twice; give all its values at once.")
        space[name] = [_value(name, value) for value in values]
    return space


_NUMBERS = {
    "exponent": float, "threshold": float, "k1": float, "b": float, "meaning": float,
    "max_neighbors": int,
}  # fmt: skip


def _value(name: str, told: str) -> Any:
    try:
        if name in _NUMBERS:
            return _NUMBERS[name](told)
        if name == "fields" and told != "none":
            pairs = [piece.rpartition(":") for piece in told.split("+")]
            return {field: float(weight) for field, _, weight in pairs}
    except ValueError:
        raise InvalidInputError(f"--try has {name}={told!r}; the value must be a number.") from None
    return None if told == "none" and name in ("fields", "stemmer", "stop_words") else told


_CORPUS = ("corpus.jsonl", "corpus.jsonl.gz", "documents.jsonl", "documents.jsonl.gz")
_SHOWN_VALUES = 5


def kept_figures(dataset: Path, output: Path | None) -> Path | None:
    """Return the checkpoint file: beside the output, or in the user's data folder.

    A new file beside the output starts as a copy of the one in the data folder. None if the data
    folder is not writable.
    """
    from softcosine.storage.home import kept_file

    name = hashlib.blake2b(str(dataset.resolve()).encode(), digest_size=8).hexdigest()
    own = kept_file(f"tuning-{name}.jsonl")
    if output is None:
        return own if own is not None and os.access(own.parent, os.W_OK) else None
    beside = output.with_name(f".{output.name}.figures")
    if own is not None and own.is_file() and not beside.exists():
        shutil.copyfile(own, beside)
    return beside


def commands_for(
    tuned: Tuned,
    found: RankingSet,
    options: Sequence[str],
    output: Path | None,
    index: Path | None,
) -> list[str]:
    """Return shell commands that index documents with the settings and evaluate them.

    Parameters
    ----------
    tuned : Tuned
    found : RankingSet
    options : sequence of str
        Command-line arguments for the data set.
    output, index : Path or None
        File of the settings, and an index made with them.
    """
    if index is not None:
        lines = [f'softcosine search {shlex.quote(str(index))} "your words"']
    else:
        fields = ""
        if tuned.settings.fields is None and found.documents.names != ("text",):
            fields = "".join(f" --text {shlex.quote(name)}" for name in found.documents.names)
        lines = [
            f"softcosine index {_documents(options)} -o {shlex.quote(f'{found.name}.index')}"
            f"{fields} --settings {shlex.quote(str(output or 'tuned.json'))}"
        ]
    spec = shlex.quote(f"cosine,bm25,soft,{tuned.settings.spec()}")
    return [*lines, f"softcosine evaluate {shlex.join(options)} --compare {spec}"]


def _documents(options: Sequence[str]) -> str:
    """Return the file of the documents, or the placeholder ``DOCUMENTS``."""
    if options[0] == "--documents":
        return shlex.quote(options[1])
    for name in _CORPUS:
        if (Path(options[0]) / name).is_file():
            return shlex.quote(str(Path(options[0]) / name))
    return "DOCUMENTS"


def show_tuned(
    tuned: Tuned, commands: list[str], seconds: float, *, written: bool, kept: Path | None
) -> None:
    """Print the settings, the figures for other values, and the gain.

    Parameters
    ----------
    tuned : Tuned
    commands : list of str
        Shell commands that use the settings.
    seconds : float
    written : bool
        Whether the settings were written to a file.
    kept : Path or None
        The checkpoint file.
    """
    from softcosine.evaluate.tables import Cell, Table
    from softcosine.evaluate.tuning.settings import shown
    from softcosine.evaluate.tuning.tuned import gain_told

    out = console()
    n_folds = len(tuned.default.folds)
    out.print(
        f"{tuned.dataset}: {tuned.measure} of {tuned.n_queries:,} queries in {n_folds} folds; "
        f"{tuned.parts}. Tried {len(tuned.trials)} settings in {duration(seconds)}.",
        style="dim",
    )
    effects = tuned.effects()
    default, chosen = tuned.default.settings.values(), tuned.chosen.settings.values()
    rows = []
    for name, value in default.items():
        others = ", ".join(
            f"{shown(other)} {mean:.4f}" for other, mean in effects.get(name, ())[:_SHOWN_VALUES]
        )
        changed = Cell(shown(chosen[name]), color="bold" if chosen[name] != value else "")
        rows.append((name, shown(value), changed, Cell(others, color="dim")))
    titles = ("setting", "default", "chosen", f"{tuned.measure} for other values of the setting")
    show_table(Table(titles, rows, n_left=4))
    out.print(
        f"On the training queries: {tuned.chosen.mean:.4f}, default {tuned.default.mean:.4f}.",
        style="dim",
    )
    out.print(tuned.verdict, style="bold" if tuned.certain else "yellow")
    for name, gain in tuned.against.items():
        out.print(f"Gain over {name}: {gain_told(gain, tuned.measure)}.", style="dim")
    if not tuned.complete and kept is not None:
        out.print(
            f"The same command resumes from the figures in {printable(str(kept))}.",
            style="dim", soft_wrap=True,
        )  # fmt: skip
    if tuned.test is not None:
        out.print(
            f"On {tuned.test.n_queries} test queries: {tuned.test.settings:.4f}, default "
            f"{tuned.test.default:.4f}; {gain_told(tuned.test.gain)}."
        )
    if not written:
        out.print(
            "The same command with -o tuned.json writes the settings without another search.",
            style="dim",
        )
    for command in commands:
        out.print(command, style="cyan", soft_wrap=True)
