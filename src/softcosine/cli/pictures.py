"""Command ``softcosine collection map``, and the option ``--plot`` of other commands."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from softcosine.cli.derived import MORE, FromRequest
from softcosine.cli.options import Index, Threads
from softcosine.cli.output import console, print_json, printable
from softcosine.cli.progress import Reporter
from softcosine.cli.tables import check_file
from softcosine.errors import InvalidInputError, MissingDependencyError
from softcosine.index.requests import DedupeRequest, FilterRequest

if TYPE_CHECKING:
    from softcosine.index.search.results import Hits
    from softcosine.index.soft_index import SoftIndex
    from softcosine.plots.document_map import DocumentMap


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


def draw_map(
    index: Index,
    options: Annotated[dict[str, Any], FromRequest(DedupeRequest, only=("by",))],
    filters: Annotated[dict[str, Any], FromRequest(FilterRequest, only=("where",))],
    picture: Picture,
    color_by: Annotated[
        str | None,
        typer.Option(metavar="FIELD", help="Colour documents by this metadata field."),
    ] = None,
    max_documents: Annotated[
        int,
        typer.Option(
            min=1, metavar="N", help="Draw a random sample of N documents if there are more."
        ),
    ] = 2000,
    threads: Threads = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print places, regions and colours as JSON.")
    ] = False,
) -> None:
    """Draw a map of the documents of an index.

      softcosine collection map faq.index --plot faq.png
      softcosine collection map faq.index --plot faq.png --color-by lang --where 'year>=2020'

    Each document is drawn near the documents most similar to it (--by); regions are named
    by their characteristic words. Documents that are close on the map are similar. Large distances
    and directions have no meaning. The same index gives the same map.

    JSON: documents of id, x, y, region (its place in the list, or -1) and value (of --color-by);
    regions of words, x, y and n_documents; n_candidates (documents that pass --where), left_out
    (ids of documents similar to no other), n_neighbors and kept_neighbors: the share of each
    document's nearest neighbours that are also its nearest on the map.
    """
    from softcosine.index.soft_index import SoftIndex
    from softcosine.plots.document_map import document_map

    plot = picture.plot
    if plot is None and not as_json:
        raise InvalidInputError("pass --plot FILE to draw the map, or --json to print its numbers.")
    picture.check()
    opened = SoftIndex.open(index)
    with Reporter() as report:
        made = document_map(
            opened, color_by=color_by, max_documents=max_documents, threads=threads,
            progress=report, **options, **filters,
        )  # fmt: skip
    if plot is not None:
        made.save(plot)
    if as_json:
        print_json(made.to_dict())
    else:
        _show(made, plot)


def _show(made: DocumentMap, plot: Path | None) -> None:

    out = console()
    for region in made.regions:
        out.print(f"{region.n_documents:>6,}  {printable(', '.join(region.words))}")
    out.print(f"{made.caption}: {printable(str(plot))}", style="dim")
