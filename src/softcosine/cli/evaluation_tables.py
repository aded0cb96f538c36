"""Printed tables of ``softcosine evaluate``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from softcosine.cli.output import console, printable, show_table

if TYPE_CHECKING:
    from softcosine.evaluate.differences import Differences
    from softcosine.evaluate.evaluation import Evaluation
    from softcosine.evaluate.overall import Overall


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
