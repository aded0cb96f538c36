"""The option ``--plot``."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from softcosine.cli.derived import MORE
from softcosine.cli.tables import check_file
from softcosine.errors import InvalidInputError, MissingDependencyError

if TYPE_CHECKING:
    from softcosine.index.search.results import Hits
    from softcosine.index.soft_index import SoftIndex


Plot = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE", help="Also draw a picture: .png, .svg or .pdf.", rich_help_panel=MORE
    ),
]
Overwrite = Annotated[
    bool,
    typer.Option("--overwrite", help="Let --plot replace an existing file.", rich_help_panel=MORE),
]


@dataclass(frozen=True)
class Picture:
    """A picture to draw beside the answer."""

    plot: Plot = None
    overwrite: Overwrite = False

    def check(self, rows: int = 0) -> None:
        """Check the picture, of `rows` documents if it is a heat map, before any work is done."""
        check_plot(self.plot, overwrite=self.overwrite, rows=rows)


def check_plot(path: Path | None, *, overwrite: bool, rows: int = 0) -> None:
    """Check the arguments of a picture; see `Picture.check`.

    Raises
    ------
    InvalidInputError
        If the file name has no known ending, or there are too many rows.
    AlreadyExistsError, FileNotFoundError
        See `check_file`.
    MissingDependencyError
        If matplotlib is not installed.
    """
    if path is None:
        return
    from softcosine.plots.drawing import checked_picture_path

    checked_picture_path(path)
    check_file(path, overwrite=overwrite)
    if rows:
        from softcosine.plots.heat_map import MOST_ROWS

        if rows > MOST_ROWS:
            raise InvalidInputError(
                f"--plot draws at most {MOST_ROWS} documents, not {rows:,}; take a smaller -k."
            )
    try:
        import matplotlib  # noqa: F401
    except ImportError as error:
        raise MissingDependencyError("matplotlib", "plots", "--plot") from error


def draw_hits(opened: SoftIndex, hits: Hits, path: Path, asked: str | None = None) -> None:
    """Draw a heat map of the similarities between the documents found, with their ranks.

    Parameters
    ----------
    opened : SoftIndex
    hits : Hits
    path : Path
    asked : str, optional
        Id of the document of ``similar``; it is drawn too.
    """
    from softcosine.plots.heat_maps import similarity_heat_map

    first = [] if asked is None else [asked]
    ranked = [f"{rank}. {hit.id}" for rank, hit in enumerate(hits, hits.offset + 1)]
    ids, labels = [*first, *hits.ids], [*first, *ranked]
    similarity_heat_map(opened, ids, labels=labels, title=hits.query).save(path)
