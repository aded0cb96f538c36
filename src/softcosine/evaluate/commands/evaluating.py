"""Command ``softcosine evaluate``."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any
from urllib.parse import quote

import typer

from softcosine._textio import numbered_lines
from softcosine.cli.derived import option
from softcosine.cli.output import check_file, console, print_json, print_table, printable
from softcosine.cli.pictures import Plot, check_plot
from softcosine.cli.progress import Reporter
from softcosine.errors import InvalidInputError
from softcosine.evaluate.commands.judged import Judged, names_in

if TYPE_CHECKING:
    from softcosine.evaluate.datasets import DataSet
    from softcosine.evaluate.differences import Differences
    from softcosine.evaluate.evaluation import Evaluation
    from softcosine.evaluate.overall import Overall
    from softcosine.evaluate.runs import Run
    from softcosine.evaluate.tables import Table

USUAL_SYSTEMS = "cosine,bm25,soft"
_LONGEST_NAME = 90  # of a data set or a system in a file name, which may have 255 bytes


@dataclass(frozen=True)
class Measuring:
    """How systems are measured: parameters of `softcosine.evaluate.evaluate`."""

    measures: str | None = option(
        "--measures NAMES", "Comma-separated measures: ndcg@10,map [by the data set].", None
    )
    baseline: str | None = option(
        "--baseline SYSTEM", "System to compare with [cosine, else the first].", None
    )
    depth: int = option("--depth N", "Number of documents ranked per query.", 1000, min=1)
    n_resamples: int = option("--resamples N", "Resamples of the bootstrap.", 10_000, min=1)
    random_state: int = option("--seed N", "Seed of the bootstrap.", 0, min=0)

    def settings(self) -> dict[str, Any]:
        """Return the parameters of an evaluation."""
        return {**vars(self), "measures": names_in(self.measures) if self.measures else None}


@dataclass(frozen=True)
class Results:
    """Where results go."""

    plot: Plot = None
    markdown: Path | None = option(
        "--markdown FILE", "Write the table and the differences as Markdown.", None
    )
    write_runs: Path | None = option(
        "--write-runs FOLDER", "Write a TREC run per system and data set.", None
    )
    overwrite: bool = option(
        "--overwrite", "Let --plot, --markdown and --write-runs replace files.", False
    )


def evaluate(
    *,
    judged: Judged,
    compare: str = option(
        "--compare SYSTEMS",
        "Comma-separated systems with settings: bm25:k1=0.9,b=0.4,lsi",
        USUAL_SYSTEMS,
    ),
    measuring: Measuring,
    n_differences: int = option(
        "--differences N",
        "Show and explain the N largest wins and losses of the last system.",
        0,
        min=0,
    ),
    run: list[str] | None = option("--run NAME=FILE", "Also compare a TREC run; repeatable.", None),
    background: list[Path] | None = option(
        "--background FILE", "More texts to learn from, one per line; repeatable.", None
    ),
    results: Results,
    datasets: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="DATASET...",
            help="Folders or files of judged collections; see above.",
            readable=False,
        ),
    ] = None,
    split: str | None = option(
        "--split NAME", "Split to score [splits named test..., if any].", None
    ),
    list_systems: bool = option("--systems", "List the systems and exit.", False),
    settings_of: str | None = option(
        "--settings SYSTEM", "List the settings of a system and exit.", None
    ),
    as_json: bool = option("--json", "Print all numbers as JSON.", False),
) -> None:
    """Compare systems on judged collections, with confidence intervals and tests.

      softcosine evaluate cranfield/
      softcosine evaluate cranfield/ --compare cosine,bm25,lsi,soft --plot cranfield.png
      softcosine evaluate cranfield/ cacm/ npl/ --measures ndcg@10
      softcosine evaluate question_pairs.jsonl.gz --split dev --differences 5
      softcosine evaluate --documents docs.trec.gz --queries topics.txt --qrels qrels.txt
      softcosine evaluate r8.jsonl --compare cosine,soft:exponent=3 --json

    DATASET has one of these formats, compressed or not, recognised by its content:

      retrieval       a folder with documents (corpus.jsonl, or TREC's <DOC>), queries (or topics)
                      and qrels (three columns, or TREC's four)
      questions       JSON lines with orgq_id, relq_id, org_subject, org_body, rel_subject, rel_body
                      and relevant
      classification  JSON lines with label, text and optionally split (train and test; default:
                      ten random splits)
      pairs           lines with a score and two sentences, separated by tabs
      words           lines with two words and a score

    The best value of every measure is bold. Differences to the baseline have 95% intervals and p
    values of a paired bootstrap over queries (documents, pairs): a difference is significant if its
    interval excludes 0. For several data sets, the means over data sets follow. Seconds are those
    of learning and of searching; the first use of a system compiles its kernels. Systems learn from
    texts, never from judgements. --write-runs writes rankings to files DATASET.SYSTEM.run (special
    characters as %XX), which --run reads.

    JSON: systems of NAME of MEASURE: value; intervals of NAME of MEASURE: difference, low, high, p
    and p_randomized (the randomisation test); baseline, dataset, n_units, ranges (intervals of
    values), seconds of NAME: fit and answer; and differences, with --differences. For several data
    sets: systems (means), intervals, gains (relative) and datasets, with all of this per data set.
    """
    from softcosine.evaluate.evaluation import evaluate as evaluated
    from softcosine.evaluate.overall import check_together
    from softcosine.evaluate.systems.table import from_spec, split_specs

    if list_systems or settings_of is not None:
        _tell_systems(settings_of)
        return
    check_plot(results.plot, overwrite=results.overwrite)
    check_file(results.markdown, overwrite=results.overwrite)
    systems = [spec for spec in split_specs(compare) if spec]
    for spec in systems:  # raise errors before anything is read
        from_spec(spec)
    runs = dict(_run(given, judged.encoding) for given in run or ())
    names, settings = [*systems, *runs], measuring.settings()
    if n_differences and len(names) == 1:
        raise InvalidInputError("--differences needs a second system to compare with.")
    found = [_tested(one, split) for one in judged.read(datasets or (), split)]
    if len(found) > 1:
        if results.plot is not None or n_differences or runs:
            raise InvalidInputError("--plot, --differences and --run take one data set at a time.")
        check_together(found, settings["measures"])
    texts = _background(background or (), judged.encoding)
    found = [replace(one, background=(*one.background, *texts)) for one in found]
    files = [
        _run_files(results.write_runs, one, systems, overwrite=results.overwrite) for one in found
    ]
    made, keep = [], names if n_differences else []
    with Reporter() as report:
        for one, own in zip(found, files, strict=True):
            made.append(evaluated(one, systems, **settings, runs=runs, progress=report, keep=keep))
            _write_runs(made[-1], own, overwrite=results.overwrite)
    if len(made) > 1:
        _conclude_several(made, results.markdown, as_json=as_json)
    else:
        _conclude(made[0], _differences(made[0], names[-1], n_differences), results, as_json)


def _conclude(
    made: Evaluation, differing: Differences | None, results: Results, as_json: bool
) -> None:
    from softcosine.storage import write_text

    if results.markdown is not None:
        more = f"\n{differing.to_markdown()}" if differing else ""
        write_text(results.markdown, made.to_markdown() + more)
    if results.plot is not None:
        made.chart().save(results.plot)
    if as_json:
        told = made.to_dict()
        print_json(told if differing is None else {**told, "differences": differing.to_dict()})
        return
    show_evaluation(made)
    if differing is not None:
        show_differences(differing)


def _conclude_several(made: Sequence[Evaluation], markdown: Path | None, *, as_json: bool) -> None:
    from softcosine.evaluate.overall import overall
    from softcosine.storage import write_text

    together = overall(made)
    if markdown is not None:
        tables = [f"## {one.dataset.name}\n\n{one.to_markdown()}" for one in made]
        write_text(markdown, "\n".join([together.to_markdown(), *tables]))
    if as_json:
        print_json(together.to_dict())
        return
    for one in made:
        show_evaluation(one)
        console().print("")
    show_overall(together)


def _tested(found: DataSet, split: str | None) -> DataSet:
    """Return only the test splits if no split is given and there are others."""
    from softcosine.evaluate.datasets import RankingSet

    if split is None and isinstance(found, RankingSet):
        tests = found.test_names
        if 0 < len(tests) < len(found.split_names):
            return found.part(*tests)
    return found


def _run(given: str, encoding: str) -> tuple[str, Run]:
    from softcosine.evaluate.runs import Run

    name, equals, path = given.partition("=")
    if not equals or not name.strip() or not path:
        raise InvalidInputError(
            f"--run is {given!r}; give a name and a file, such as bm25=run.txt."
        )
    return name.strip(), Run.read(path, encoding=encoding)


def _run_files(
    folder: Path | None, dataset: DataSet, systems: Sequence[str], *, overwrite: bool
) -> dict[str, Path]:
    """Return the run file of every system, after checking that it can be written."""
    from softcosine.evaluate.datasets import RankingSet
    from softcosine.files.trec_run import check_trec_ids

    if folder is None:
        return {}
    if not isinstance(dataset, RankingSet):
        raise InvalidInputError(
            f"{dataset.name} has no queries, so it has no runs; leave --write-runs out."
        )
    check_trec_ids("query", dataset.judged.ids)
    check_trec_ids("document", dataset.documents.ids)
    files = {name: folder / f"{_quoted(dataset.name)}.{_quoted(name)}.run" for name in systems}
    if not folder.is_dir():
        check_file(folder, overwrite=False)  # created with the first run
        return files
    for file in files.values():
        check_file(file, overwrite=overwrite)
    return files


def _write_runs(made: Evaluation, files: Mapping[str, Path], *, overwrite: bool) -> None:
    from softcosine.evaluate.runs import Run

    for name, file in files.items():
        found = made.answers[name]
        assert isinstance(found, Run)
        file.parent.mkdir(exist_ok=True)
        found.write(file, name=name, overwrite=overwrite)


def _quoted(name: str) -> str:
    """Return a valid file name for every file system, different for different names."""
    quoted = quote(name, safe=" ()+,=@")
    if len(quoted) <= _LONGEST_NAME:
        return quoted
    return f"{quoted[:_LONGEST_NAME]}-{hashlib.sha256(name.encode()).hexdigest()[:16]}"


def _background(paths: Sequence[Path], encoding: str) -> list[str]:
    return [line for path in paths for _, line in numbered_lines(path, encoding=encoding)]


def _differences(made: Evaluation, last: str, n: int) -> Differences | None:
    """Return the wins and losses of the last system that is not the baseline."""
    if not n:
        return None
    others = [name for name in made.figures if name != made.baseline]
    return made.differences(last if last in others else others[-1], n=n)


def _tell_systems(one: str | None) -> None:
    """Print the systems, or the settings of one."""
    from rich.table import Table

    from softcosine.evaluate.systems.table import SYSTEMS, described, from_spec

    if one is not None:
        from_spec(one)  # raises for an unknown system
        console().print(described(one.partition(":")[0].strip()))
        return
    table = Table(box=None, padding=(0, 2, 0, 0), show_header=False)
    table.add_column(style="green", no_wrap=True)
    table.add_column(overflow="fold")
    for name, entry in SYSTEMS.items():
        extra = f"; needs softcosine[{entry.extra}]" if entry.extra else ""
        table.add_row(name, f"{entry.what}{extra}")
    print_table(table)
    console().print(
        "--settings SYSTEM lists the settings of a system, as in bm25:k1=0.9,b=0.4.", style="dim"
    )


def show_evaluation(made: Evaluation) -> None:
    """Print a table of values with the best in bold, then the differences to the baseline."""
    from softcosine.evaluate.reports import evaluation_table, intervals_table

    out, table = console(), evaluation_table(made)
    show_table(table)
    if made.intervals:
        out.print("")
        show_table(intervals_table(made))
        out.print("")
    starred = not out.is_terminal and any(cell.best for row in table.cells for cell in row)
    for note in [*table.notes, *(["* is the best of a measure"] if starred else [])]:
        out.print(f"{printable(note).removesuffix('.')}.", style="dim")


def show_table(table: Table) -> None:
    """Print a table with the best values in bold, or with an asterisk outside a terminal."""
    from rich import table as rich_table
    from rich.text import Text

    mark = "" if console().is_terminal else "*"
    marked = any(cell.best for row in table.cells for cell in row)
    shown = rich_table.Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    for place, title in enumerate(table.header):
        if place < table.n_left:
            shown.add_column(title, style="" if place else "green", overflow="fold")
        else:
            shown.add_column(title, justify="right", no_wrap=True)
    for row in table.cells:
        texts = []
        for place, cell in enumerate(row):
            end = (
                "" if place < table.n_left else mark if cell.best else " " * (marked and len(mark))
            )
            style = " ".join(filter(None, ("bold" if cell.best else "", cell.color)))
            texts.append(Text(f"{printable(cell.text)}{end}", style))
        shown.add_row(*texts)
    print_table(shown)


def show_differences(found: Differences) -> None:
    """Print the largest wins and losses, and the pairs of words behind them."""
    from softcosine.evaluate.differences import headline, reasons, shown_line

    out = console()
    out.print("")
    out.print(f"{printable(found.title)}.", style="bold")
    for title, kept in (("Largest wins", found.wins), ("Largest losses", found.losses)):
        if kept:
            out.print(f"{title}:", style="dim")
        for one in kept:
            out.print(f"  {printable(headline(found, one))}")
            for shown in one.shown:
                out.print(f"      {printable(shown_line(found, shown))}", style="cyan")
                for line in reasons(found, shown):
                    out.print(f"          {printable(line)}", style="dim")


def show_overall(together: Overall) -> None:
    """Print means over data sets, their differences and relative gains."""
    console().print(f"{together.title}:", style="bold")
    show_table(together.table())
