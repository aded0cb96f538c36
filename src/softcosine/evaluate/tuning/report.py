"""The outcome of tuning as a page of Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from softcosine.evaluate.tuning.settings import shown
from softcosine.evaluate.tuning.tuned import Tuned

__all__ = ["report"]

_SHOWN_TRIALS = 15


def report(tuned: Tuned, commands: Sequence[str] = ()) -> str:
    """Return what was chosen, what it brings, how it was found out, and how to use it.

    Parameters
    ----------
    tuned : Tuned
    commands : sequence of str
        Lines that use the settings.
    """
    measure, default = tuned.measure, tuned.default.settings
    lines = [f"# Settings tuned on {tuned.dataset}", "", tuned.verdict, ""]
    lines += [
        f"{measure} of {tuned.n_queries} labelled queries, in {len(tuned.default.folds)} folds; "
        f"{tuned.parts}. Each search tried at most {tuned.budget} settings"
        f"{', and the budget ended one before it was done' if tuned.exhausted else ''}; the rule "
        f"was {tuned.rule}, the seed {tuned.random_state}.",
        "",
    ]
    lines += ["## Settings", ""]
    used, chosen = tuned.settings.to_dict(), tuned.chosen.settings.to_dict()
    rows: list[tuple[str, ...]] = [
        (name, shown(value), shown(chosen[name]), shown(used[name]))
        for name, value in default.to_dict().items()
    ]
    lines += _table(("setting", "default", "chosen", "to be used"), rows)
    lines += _table(
        ("", measure),
        [
            ("default, on all queries", f"{tuned.default.mean:.4f}"),
            ("chosen, on the queries it was chosen on (too good)", f"{tuned.chosen.mean:.4f}"),
        ],
    )
    if tuned.by_fold:
        lines += ["## Chosen without each fold, and measured on it", ""]
        rows = [
            (str(one.n_queries), f"{one.default:.4f}", f"{one.chosen:.4f}",
             one.settings.told(default))
            for one in tuned.by_fold
        ]  # fmt: skip
        lines += _table(("queries", "default", "chosen", "chosen settings"), rows)
    if tuned.test is not None:
        gain = tuned.test.gain
        lines += ["## Test", ""]
        lines += _table(
            ("queries", "default", "settings to be used", "difference"),
            [
                (str(tuned.test.n_queries), f"{tuned.test.default:.4f}",
                 f"{tuned.test.settings:.4f}",
                 f"{gain.difference:+.4f} [{gain.low:+.4f}, {gain.high:+.4f}]")
            ],
        )  # fmt: skip
    lines += ["## Each setting, with all others as chosen", ""]
    rows = [
        (name, ", ".join(f"{shown(value)} {mean:.4f}" for value, mean in values))
        for name, values in tuned.effects().items()
    ]
    lines += _table(("setting", f"values and {measure} on all queries"), rows)
    lines += [f"## The best of {len(tuned.trials)} settings that were tried", ""]
    rows = [
        (f"{trial.mean:.4f}", trial.settings.told(default))
        for trial in tuned.trials[:_SHOWN_TRIALS]
    ]
    lines += _table((measure, "against the default"), rows)
    if commands:
        lines += ["## To use them", "", *(f"    {command}" for command in commands), ""]
    return "\n".join(lines)


def _table(head: Sequence[str], rows: Iterable[Sequence[Any]]) -> list[str]:
    def line(cells: Sequence[Any]) -> str:
        return f"| {' | '.join(str(cell).replace('|', chr(92) + '|') for cell in cells)} |"

    return [line(head), f"|{'---|' * len(head)}", *map(line, rows), ""]
