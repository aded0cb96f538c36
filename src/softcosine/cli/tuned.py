"""Printed results of ``softcosine collection tune``, and its files of figures."""

from __future__ import annotations

import hashlib
import os
import shlex
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from softcosine.cli.calling import program
from softcosine.cli.output import console, duration, printable, show_table

if TYPE_CHECKING:
    from softcosine.evaluate.datasets.ranking import RankingSet
    from softcosine.evaluate.tuning.tuned import Tuned


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
