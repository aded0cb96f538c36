"""The reference of Python names, made of docstrings."""

from __future__ import annotations

from collections.abc import Iterable
from importlib import import_module
from pathlib import Path

from sphinx.application import Sphinx

import softcosine

# Folders of the package, and the headings under which their public names stand.
FOLDERS = {
    "index": "The index",
    "cluster": "Shards",
    "encoders": "Sentence encoders",
    "similarity": "Sources of term similarity",
    "matrix": "The term similarity matrix",
    "text": "Texts",
    "space": "Measures and transforms",
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
)


def homes() -> dict[str, list[str]]:
    """Return the public names of the package by the folder that each is defined in."""
    names: dict[str, list[str]] = {}
    for name in sorted(softcosine.__all__, key=lambda name: (name != "SoftIndex", name.lower())):
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
    names = {key: [f"softcosine.{name}" for name in found] for key, found in homes().items()}
    pages = {"index": page(FOLDERS["index"], names["index"]), "results": page("Results", RESULTS)}
    pages |= {key: page(FOLDERS[key], names[key]) for key in FOLDERS if key in names}
    for door, title in (("sklearn", "Estimators of scikit-learn"), ("lab", "The laboratory")):
        own = sorted(import_module(f"softcosine.{door}").__all__, key=str.lower)
        pages[door] = page(title, [f"softcosine.{door}.{name}" for name in own])
    errors = ["Errors", "======", "", ".. automodule:: softcosine.errors", ""]
    pages |= {"errors": "\n".join(errors)}
    for key, text in pages.items():
        (folder / f"{key}.rst").write_text(text, "utf-8")
    contents = [
        "Python API",
        "==========",
        "",
        ".. toctree::",
        "",
        *(f"   {page}" for page in pages),
        "",
    ]
    (folder / "api.rst").write_text("\n".join(contents), "utf-8")


def setup(app: Sphinx) -> None:
    """Have the reference written before pages are read."""
    app.connect("builder-inited", write_reference)
