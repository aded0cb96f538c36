"""The option ``--plot``; entry points name what draws."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from softcosine.cli.derived import flag, option
from softcosine.cli.entry_points import by_entry_point
from softcosine.cli.output import check_file

Plot = Annotated[
    Path | None, flag("--plot FILE", "Also draw a picture: .png, .svg or .pdf.", more=True)
]


@dataclass(frozen=True)
class Picture:
    """A picture to draw beside the answer."""

    plot: Plot = None
    overwrite: bool = option("--overwrite", "Let --plot replace a file.", False, more=True)

    def check(self, rows: int = 0) -> None:
        """Check the picture, of `rows` documents if it is a heat map, before any work is done."""
        check_plot(self.plot, overwrite=self.overwrite, rows=rows)

    def draw(self, what: str, *arguments: Any, **options: Any) -> None:
        """Draw the picture that the entry point `what` makes."""
        by_entry_point("pictures", what)(*arguments, **options).save(self.plot)


def check_plot(path: Path | None, *, overwrite: bool, rows: int = 0) -> None:
    """Check the arguments of a picture, if there is one."""
    if path is not None:
        by_entry_point("pictures", "check")(path, rows)
        check_file(path, overwrite=overwrite)
