"""What ``softcosine tune`` prints, and how its outcome is used."""

from __future__ import annotations

import hashlib
import os
import shlex
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from softcosine.evaluate.datasets.ranking import RankingSet
    from softcosine.evaluate.tuning.tuned import Tuned

__all__ = ["commands_for", "kept_figures", "show_tuned"]

_CORPUS = ("corpus.jsonl", "corpus.jsonl.gz", "documents.jsonl", "documents.jsonl.gz")
_SHOWN_VALUES = 5


def kept_figures(dataset: Path, output: Path | None) -> Path | None:
    """Return the file that keeps figures: beside the output, or among the user's data.

    A new one beside the output begins with what was kept among the user's data. None where nothing
    can be kept there.
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
    """Return lines that use the settings: to index documents, and to compare with others.

    Parameters
    ----------
    tuned : Tuned
    found : RankingSet
    options : sequence of str
        What names the data set to a command.
    output, index : Path or None
        Where the settings, and an index by them, were written.
    """
    from softcosine.cli.calling import program

    if index is not None:
        lines = [f'{program()} search {shlex.quote(str(index))} "your words"']
    else:
        fields = ""
        if tuned.settings.fields is None and found.documents.names != ("text",):
            fields = "".join(f" --text {shlex.quote(name)}" for name in found.documents.names)
        lines = [
            f"{program()} index {_documents(options)} -o {shlex.quote(f'{found.name}.index')}"
            f"{fields} --settings {shlex.quote(str(output or 'tuned.json'))}"
        ]
    spec = shlex.quote(f"cosine,bm25,soft,{tuned.settings.spec()}")
    return [*lines, f"{program()} evaluate {shlex.join(options)} --compare {spec}"]


def _documents(options: Sequence[str]) -> str:
    """Return the file of the documents, as far as the arguments tell it."""
    if options[0] == "--documents":
        return shlex.quote(options[1])
    for name in _CORPUS:
        if (Path(options[0]) / name).is_file():
            return shlex.quote(str(Path(options[0]) / name))
    return "DOCUMENTS"


def show_tuned(
    tuned: Tuned, commands: list[str], seconds: float, *, written: bool, kept: Path | None
) -> None:
    """Print the settings, what each would have given at other values, and what they bring.

    Parameters
    ----------
    tuned : Tuned
    commands : list of str
        Lines that use the settings.
    seconds : float
    written : bool
        Whether the settings are in a file.
    kept : Path or None
        The file that keeps figures.
    """
    from softcosine.cli.output import console, duration, printable, show_table
    from softcosine.evaluate.tables import Cell, Table
    from softcosine.evaluate.tuning.settings import shown

    out = console()
    n_folds = len(tuned.default.folds)
    out.print(
        f"{tuned.dataset}: {tuned.measure} of {tuned.n_queries:,} queries in {n_folds} folds; "
        f"{tuned.parts}. {len(tuned.trials)} settings tried in {duration(seconds)}.",
        style="dim",
    )
    effects = tuned.effects()
    default, chosen = tuned.default.settings.to_dict(), tuned.chosen.settings.to_dict()
    rows = []
    for name, value in default.items():
        others = ", ".join(
            f"{shown(other)} {mean:.4f}" for other, mean in effects.get(name, ())[:_SHOWN_VALUES]
        )
        changed = Cell(shown(chosen[name]), color="bold" if chosen[name] != value else "")
        rows.append((name, shown(value), changed, Cell(others, color="dim")))
    titles = ("setting", "default", "chosen", f"{tuned.measure} with all else as chosen")
    show_table(Table(titles, rows, n_left=4))
    out.print(
        f"On the queries that they were chosen on: {tuned.chosen.mean:.4f}, the default "
        f"{tuned.default.mean:.4f}.",
        style="dim",
    )
    out.print(tuned.verdict, style="bold" if tuned.certain else "yellow")
    if not tuned.complete and kept is not None:
        out.print(
            f"The same command goes on from the figures kept in {printable(str(kept))}.",
            style="dim", soft_wrap=True,
        )  # fmt: skip
    if tuned.test is not None:
        gain = tuned.test.gain
        out.print(
            f"Test, {tuned.test.n_queries} queries: {tuned.test.settings:.4f}, the default "
            f"{tuned.test.default:.4f}; {gain.difference:+.4f} [{gain.low:+.4f}, {gain.high:+.4f}]."
        )
    if not written:
        out.print(
            "The same command with -o tuned.json writes the settings, from the figures kept.",
            style="dim",
        )
    for command in commands:
        out.print(command, style="cyan", soft_wrap=True)
