"""Links: those to the sources become text, and all others are followed in the built pages."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote

from sphinx.application import Sphinx
from sphinx.util import logging


class _Page(HTMLParser):
    """The names that a page can be entered by, and its links."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.anchors: set[str] = {""}
        self.links: set[str] = set()
        self.feed(path.read_text("utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        self.anchors |= {values.get("id") or "", (tag == "a" and values.get("name")) or ""}
        self.links |= {values.get("href") or "", values.get("src") or ""}


def unlink_sources(app: Sphinx, page: str, content: list[str]) -> None:
    """Show links to folders, and to pages that are not part of the site, as text."""
    here = app.env.doc2path(page).parent

    def shown(match: re.Match[str]) -> str:
        target = here / match[2]
        outside = target.suffix == ".md" and not target.resolve().is_relative_to(app.srcdir)
        return match[1] if outside or target.is_dir() else match[0]

    content[0] = re.sub(r"(?<!!)\[([^\]\n]+)\]\(([\w./-]+)\)", shown, content[0])


def check_links(app: Sphinx, exception: Exception | None) -> None:
    """Warn of each link that leads to no page, or to no place of a page."""
    if exception or app.builder.format != "html":
        return
    folder = Path(app.outdir)
    pages = {path: _Page(path) for path in sorted(folder.rglob("*.html"))}
    for path, page in pages.items():
        for link in sorted(page.links):
            if re.match(r"[a-z]+:|//", link):
                continue
            place, _, anchor = unquote(link).partition("#")
            target = (path.parent / place.partition("?")[0]).resolve() if place else path
            known = pages.get(target)
            if not target.exists() or (known and anchor not in known.anchors):
                logging.getLogger(__name__).warning("%s: broken link %s", path.name, link)


def setup(app: Sphinx) -> None:
    """Rewrite links as pages are read, and follow all of them in the built pages."""
    app.connect("source-read", unlink_sources)
    app.connect("build-finished", check_links)
