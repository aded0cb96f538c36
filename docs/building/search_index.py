"""A softcosine index of this documentation: one document a section, by the defaults.

    softcosine search build/docs.index "how do I get rid of duplicates"

An id is the address of a section, or of a class or function, in the built pages; ``--where
kind=Tutorials`` keeps those below one heading of the first page. Tables of results and the list of
decisions are left out: they answer no question of a user.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path

from docutils.nodes import Element, Node, Text, section, title
from sphinx.addnodes import desc
from sphinx.application import Sphinx

import softcosine as sc
from building.navigation import sections as menu

LEFT_OUT = ("benchmarks/", "results/", "decisions", "measurements", "reference/tables")


def text_of(node: Node) -> str:
    """Return the text of a node without the parts that are documents of their own."""
    if isinstance(node, Text):
        return str(node)
    if isinstance(node, section | title) or is_name(node):
        return ""
    return " ".join(filter(None, map(text_of, node.children)))


def is_name(node: Node) -> bool:
    """Whether a node documents a class or function of a module; members belong to their class."""
    return isinstance(node, desc) and isinstance(node.parent, section)


def records(tree: Element, page: str, kind: str) -> Iterator[dict[str, str]]:
    """Yield what a page has to say, by its sections and names."""
    for place in tree.findall(lambda node: isinstance(node, section) or is_name(node)):
        text = " ".join(filter(None, map(text_of, place.children)))
        if isinstance(place, desc):
            anchors = place[0]["ids"]
            name = anchors[0] if anchors else ""
        else:
            anchors, parts = place["ids"], [place]
            while isinstance(parts[0].parent, section):
                parts.insert(0, parts[0].parent)
            name = " › ".join(part.next_node(title).astext() for part in parts)
        if text and anchors:
            yield {"id": f"{page}#{anchors[0]}", "title": name, "text": text, "kind": kind}


def write_index(app: Sphinx, exception: Exception | None) -> None:
    """Write ``docs.index`` beside the folder of the built pages."""
    if exception or app.builder.format != "html":
        return
    kinds = {page: kind for kind, pages in menu(Path(app.srcdir)).items() for page in pages}
    found = [
        record
        for page in sorted(app.env.found_docs)
        if not page.startswith(LEFT_OUT) and page != app.config.root_doc
        for record in records(
            app.env.get_doctree(page),
            app.builder.get_target_uri(page),
            kinds.get(page, "Reference"),
        )
    ]
    logging.getLogger("softcosine").setLevel(logging.WARNING)
    index = sc.SoftIndex.from_texts(
        [record["title"] + "\n" + record["text"] for record in found],
        ids=[record["id"] for record in found],
        metadata=[{"title": record["title"], "kind": record["kind"]} for record in found],
    )
    index.save(Path(app.outdir).parent / "docs.index", overwrite=True)


def setup(app: Sphinx) -> None:
    """Have the index written after the pages."""
    app.connect("build-finished", write_index)
