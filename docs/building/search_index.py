"""A softcosine index of this documentation by the defaults: sections, in passages of some 60 words.

    softcosine search build/docs.index "how do I get rid of duplicates"

An id is the address of a section, or of a class or function, in the built pages, with the number
of the passage if it is not the first; ``--where kind=Tutorials`` keeps those below one heading of
the first page. Code, tables of results and the list of decisions are left out: they answer no
question of a user.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path

from docutils.nodes import Element, Invisible, Node, TextElement, literal_block, row, section, title
from sphinx.addnodes import desc
from sphinx.application import Sphinx

import softcosine as sc
from building.navigation import sections as menu

PASSAGE = 60  # words at least, but for the only passage of a section
LEFT_OUT = ("benchmarks/", "results/", "decisions", "measurements", "reference/tables")


def blocks(node: Node) -> Iterator[str]:
    """Yield paragraphs and table rows below a node, without sections, names and code inside."""
    for child in node.children:
        if isinstance(child, section | title | Invisible | literal_block) or is_name(child):
            continue
        if isinstance(child, TextElement | row):
            yield " ".join(child.astext().split())
        else:
            yield from blocks(child)


def passages(node: Node) -> list[str]:
    """Return the text of a section or name, cut between blocks; a short end stays with the last."""
    found, start = [""], False
    for block in blocks(node):
        if start:
            found.append("")
        found[-1] = f"{found[-1]} {block}".strip()
        start = len(found[-1].split()) >= PASSAGE
    if len(found) > 1 and not start:
        end = found.pop()
        found[-1] += f" {end}"
    return list(filter(None, found))


def is_name(node: Node) -> bool:
    """Whether a node documents a class or function of a module; members belong to their class."""
    return isinstance(node, desc) and isinstance(node.parent, section)


def records(tree: Element, page: str, kind: str) -> Iterator[dict[str, str]]:
    """Yield what a page has to say, by its sections and names."""
    for place in tree.findall(lambda node: isinstance(node, section) or is_name(node)):
        if isinstance(place, desc):
            anchors = place[0]["ids"]
            name = anchors[0] if anchors else ""
        else:
            anchors, parts = place["ids"], [place]
            while isinstance(parts[0].parent, section):
                parts.insert(0, parts[0].parent)
            name = " › ".join(part.next_node(title).astext() for part in parts)
        if not anchors:
            continue
        for number, text in enumerate(passages(place), 1):
            id = f"{page}#{anchors[0]}" + (f" {number}" if number > 1 else "")
            yield {"id": id, "title": name, "text": text, "kind": kind}


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
