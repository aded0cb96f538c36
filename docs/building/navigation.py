"""The first page and the menu of the site, made of README.md and its lists of links."""

from __future__ import annotations

import re
from pathlib import Path

from sphinx.application import Sphinx

# Pages that the build makes, below the headings of README.md to which they belong.
MADE = {"Reference": ["reference/commands", "reference/api"], "Results": ["reference/tables"]}


def sections(folder: Path) -> dict[str, list[str]]:
    """Return the pages that README.md links to, each once, by their headings."""
    contents: dict[str, list[str]] = {}
    listed: set[str] = set()
    for part in re.split("^## ", (folder / "README.md").read_text("utf-8"), flags=re.M)[1:]:
        heading, _, body = part.partition("\n")
        pages = [link for link in re.findall(r"\]\(([\w-]+)\.md\)", body) if link not in listed]
        contents[heading] = list(dict.fromkeys(pages)) + MADE.get(heading, [])
        listed.update(pages)
    return contents


def write_pages(app: Sphinx) -> None:
    """Write the first page and the list of tables."""
    folder = Path(app.srcdir)
    text = (folder / "README.md").read_text("utf-8").replace("# Documentation", "# softcosine", 1)
    for heading, pages in sections(folder).items():
        text += (
            f"\n```{{toctree}}\n:hidden:\n:caption: {heading}\n\n" + "\n".join(pages) + "\n```\n"
        )
    (folder / "index.md").write_text(text, "utf-8")
    tables = "# All tables\n"
    for heading, pages in (("Quality", "/results/*"), ("Speed", "/benchmarks/*")):
        tables += f"\n## {heading}\n\n```{{toctree}}\n:glob:\n:titlesonly:\n\n{pages}\n```\n"
    (folder / "reference").mkdir(exist_ok=True)
    (folder / "reference" / "tables.md").write_text(tables, "utf-8")


def setup(app: Sphinx) -> None:
    """Have the first page and the menu written before pages are read."""
    app.connect("builder-inited", write_pages)
