"""Command ``softcosine collection map``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from softcosine.cli.derived import FromRequest, option
from softcosine.cli.options import Index, Threads
from softcosine.cli.output import console, print_json, printable
from softcosine.cli.pictures import Picture
from softcosine.cli.progress import Reporter
from softcosine.errors import InvalidInputError
from softcosine.index.requests import DedupeRequest, FilterRequest

if TYPE_CHECKING:
    from softcosine.evaluate.plots.document_map import DocumentMap


def draw_map(
    index: Index,
    options: Annotated[dict[str, Any], FromRequest(DedupeRequest, only=("by",))],
    filters: Annotated[dict[str, Any], FromRequest(FilterRequest, only=("where",))],
    picture: Picture,
    color_by: str | None = option(
        "--color-by FIELD", "Colour documents by this metadata field.", None
    ),
    max_documents: int = option(
        "--max-documents N", "Draw a random sample of N documents if there are more.", 2000, min=1
    ),
    threads: Threads = None,
    as_json: bool = option("--json", "Print places, regions and colours as JSON.", False),
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
    from softcosine.evaluate.plots.document_map import document_map
    from softcosine.index.soft_index import SoftIndex

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
