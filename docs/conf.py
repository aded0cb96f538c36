"""Build the documentation: the pages of this folder, and a reference made of docstrings.

``make docs`` runs ``sphinx-build -W``: an error in a docstring, or a name in backticks that leads
nowhere, fails the build.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable
from importlib import import_module
from pathlib import Path

from docutils.nodes import Element
from sphinx.application import Sphinx

import softcosine

project = "softcosine"
version = release = softcosine.__version__
copyright = "the softcosine authors"  # Sphinx's name
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.mathjax", "numpydoc"]
html_theme = "furo"
html_title = "softcosine"
root_doc = "reference/contents"
default_role = "py:obj"
myst_heading_anchors = 4
myst_enable_extensions = ["dollarmath"]
myst_fence_as_directive = ["math"]
nitpicky = True
numpydoc_show_class_members = False
numpydoc_xref_param_type = False
autodoc_typehints = "none"  # numpydoc's sections give them
autodoc_member_order = "bysource"
autodoc_default_options = {"members": True, "inherited-members": "BaseEstimator,Sequence,Exception"}
# tests/test_documentation.py follows the links of pages, also those out of this folder.
suppress_warnings = ["myst.xref_missing", "myst.header", "misc.highlighting_failure"]

# Folders of the package, and the headings under which their public names stand.
FOLDERS = {
    "index": "The index",
    "similarity": "Sources of term similarity",
    "matrix": "The term similarity matrix",
    "text": "Texts",
    "space": "Measures and transforms",
    "engines": "Engines",
    "servers": "Servers",
    "client": "The client of a server",
    "evaluate": "Evaluation",
    "plots": "Pictures",
}
# What calls return: not imported, but looked up.
RESULTS = (
    "softcosine.client.RemoteIndex",
    "softcosine.index.search.results.Hits",
    "softcosine.index.search.results.Hit",
    "softcosine.index.search.results.Listing",
    "softcosine.index.segment.documents.Document",
    "softcosine.index.search.explanation.Explanation",
    "softcosine.index.search.highlights.Snippet",
    "softcosine.index.query.suggestions.Suggestion",
    "softcosine.index.near_duplicates.similar.SimilarPair",
    "softcosine.index.near_duplicates.similar.SimilarGroup",
    "softcosine.index.near_duplicates.results.NeighborGraph",
    "softcosine.index.near_duplicates.groups.DuplicateGroups",
)


def homes() -> dict[str, list[str]]:
    """Return the public names of the package by the folder that each is defined in."""
    names: dict[str, list[str]] = {}
    for name in sorted(softcosine.__all__, key=str.lower):
        home = getattr(getattr(softcosine, name), "__module__", "")
        folder = home.split(".")[1] if home.count(".") else ""
        if folder in FOLDERS:
            names.setdefault(folder, []).append(name)
    return names


def page(title: str, names: Iterable[str]) -> str:
    """Return a page that documents names, each as it is imported."""
    lines = [title, "=" * len(title), ""]
    for name in names:
        module, _, last = name.rpartition(".")
        kind = "class" if isinstance(getattr(import_module(module), last), type) else "function"
        lines += [f".. auto{kind}:: {name}", ""]
    return "\n".join(lines)


def write_reference(app: Sphinx) -> None:
    """Write the pages of the reference."""
    folder = Path(app.srcdir, "reference")
    folder.mkdir(exist_ok=True)
    pages = {
        key: page(FOLDERS[key], [f"softcosine.{name}" for name in names])
        for key, names in homes().items()
    }
    for door, title in (("sklearn", "Estimators of scikit-learn"), ("lab", "The laboratory")):
        names = sorted(import_module(f"softcosine.{door}").__all__, key=str.lower)
        pages[door] = page(title, [f"softcosine.{door}.{name}" for name in names])
    pages |= {"results": page("Results", RESULTS)}
    errors = ["Errors", "======", "", ".. automodule:: softcosine.errors", ""]
    pages |= {"errors": "\n".join(errors)}
    for key, text in pages.items():
        (folder / f"{key}.rst").write_text(text, "utf-8")
    contents = [
        "softcosine",
        "==========",
        "",
        ".. toctree::",
        "   :glob:",
        "",
        "   /README",
        "   /*",
    ]
    contents += [f"   {page}" for page in pages] + ["   /benchmarks/*", "   /results/*", ""]
    (folder / "contents.rst").write_text("\n".join(contents) + "\n", "utf-8")


def resolves(name: str) -> bool:
    """Whether a dotted name leads to a module or what one holds."""
    parts = name.split(".")
    if parts[0][0].isupper():  # a class, named without its module
        places = [module for key, module in sys.modules.items() if key.startswith("softcosine")]
        return any(hasattr(place, parts[0]) for place in places)
    for end in range(len(parts), 0, -1):
        try:
            value: object = import_module(".".join(parts[:end]))
        except ImportError:
            continue
        for part in parts[end:]:
            value = getattr(value, part, None)
        return value is not None
    return False


def accept(app: Sphinx, env: object, node: Element, shown: Element) -> Element | None:
    """Show a name without a page as it is: a parameter, or what exists and is not documented."""
    name: str = node["reftarget"]
    return shown if re.fullmatch("[a-z_][a-z0-9_]*|[A-Z]_?", name) or resolves(name) else None


def skip(
    app: Sphinx, what: str, name: str, member: object, skipped: bool, options: object
) -> bool | None:
    """Leave out what scikit-learn documents."""
    return True if str(getattr(member, "__module__", "")).startswith("sklearn.") else None


def setup(app: Sphinx) -> None:
    """Have the reference written before pages are read."""
    app.connect("builder-inited", write_reference)
    app.connect("missing-reference", accept)
    app.connect("autodoc-skip-member", skip)
