"""What ``softcosine evaluate`` prints for people."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from softcosine.evaluate.differences import Differences
    from softcosine.evaluate.evaluation import Evaluation
    from softcosine.evaluate.overall import Overall

__all__ = ["show_differences", "show_evaluation", "show_overall"]


def show_evaluation(made: Evaluation) -> None:
    """Print a table of values, the best in bold, then the differences to the baseline."""
    from rich.table import Table
    from rich.text import Text

    from softcosine.cli.showing import console, print_table, printable
    from softcosine.evaluate.reports import cells, notes_of, seconds_shown

    out = console()
    mark = "" if out.is_terminal else "*"  # where nothing can be bold
    found = cells(made)
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    table.add_column("", style="green", overflow="fold")
    for measure in made.measures:
        table.add_column(measure, justify="right", no_wrap=True)
    table.add_column("seconds", justify="right", style="dim", no_wrap=True)
    for name, own in found.items():
        values = [
            Text(f"{cell.value}{mark}", style="bold")
            if cell.best
            else Text(f"{cell.value}{' ' * len(mark)}")
            for cell in own.values()
        ]
        table.add_row(printable(name), *values, seconds_shown(made, name))
    print_table(table)
    _show_intervals(made)
    marked = any(cell.best for own in found.values() for cell in own.values())
    for note in [*notes_of(made), *(["* is the best of a measure"] if mark and marked else [])]:
        out.print(f"{printable(note).removesuffix('.')}.", style="dim")


def _show_intervals(made: Evaluation) -> None:
    """Print the differences to the baseline, one a line."""
    from rich.table import Table
    from rich.text import Text

    from softcosine.cli.showing import console, print_table, printable
    from softcosine.evaluate.reports import cells

    if not made.intervals:
        return
    console().print("")
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    table.add_column("", style="green", overflow="fold")
    for title in ("", f"to {made.baseline}", f"{made.confidence:.0%} interval", "p"):
        table.add_column(title, justify="right" if title else "left", no_wrap=bool(title))
    for name, own in cells(made).items():
        for place, (measure, cell) in enumerate(own.items()):
            interval = made.intervals.get(name, {}).get(measure)
            if interval is None:
                continue
            color = ("green" if cell.better else "red") if cell.significant else ""
            difference, _, reach = cell.change.partition(" ")
            shown = [Text(told, style=color) for told in (difference, reach, f"{interval.p:.4f}")]
            table.add_row("" if place else printable(name), measure, *shown)
    print_table(table)
    console().print("")


def show_differences(found: Differences) -> None:
    """Print the largest wins and losses, and by which words they came."""
    from softcosine.cli.showing import console, printable
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
    """Print the means over data sets, their differences and relative gains."""
    from rich.table import Table
    from rich.text import Text

    from softcosine.cli.showing import console, print_table, printable
    from softcosine.evaluate.measures import lower_is_better

    confidence = f"{together.evaluations[0].confidence:.0%}"
    console().print(f"{together.title}:", style="bold")
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    table.add_column("", style="green", overflow="fold")
    for title in ("", "mean", f"to {together.baseline}", f"{confidence} interval", "p"):
        table.add_column(title, justify="right" if title else "left", no_wrap=True)
    table.add_column("gain", justify="right", no_wrap=True)
    table.add_column(f"{confidence} interval", justify="right", no_wrap=True)
    for name, own in together.values.items():
        for place, (measure, value) in enumerate(own.items()):
            row = ["" if place else printable(name), measure, f"{value:.4f}"]
            interval = together.intervals.get(name, {}).get(measure)
            if interval is None:
                table.add_row(*row)
                continue
            better = (interval.difference > 0.0) != lower_is_better(measure)
            color = ("green" if better else "red") if interval.significant else ""
            gain = together.gains.get(name, {}).get(measure)
            told = [
                f"{interval.difference:+.4f}",
                f"[{interval.low:+.4f}, {interval.high:+.4f}]",
                f"{interval.p:.4f}",
                *(
                    ()
                    if gain is None
                    else (f"{gain.difference:+.1%}", f"[{gain.low:+.1%}, {gain.high:+.1%}]")
                ),
            ]
            table.add_row(*row, *(Text(text, style=color) for text in told))
    print_table(table)
