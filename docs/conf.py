"""Build the documentation: the pages of this folder, and what `building` makes beside them.

``make docs`` runs ``sphinx-build -W``: a broken link, an error in a docstring, a page that the menu
lacks, or a name in backticks that leads nowhere fails the build.
"""

from __future__ import annotations

import re
import sys
from importlib import import_module
from pathlib import Path

from docutils.nodes import Element
from sphinx.application import Sphinx

import softcosine

sys.path.insert(0, str(Path(__file__).parent))

project = "softcosine"
version = release = softcosine.__version__
copyright = "the softcosine authors"  # Sphinx's name
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.mathjax", "numpydoc"]
MADE_HERE = ("navigation", "api", "commands", "links", "search_index")
extensions += [f"building.{name}" for name in MADE_HERE]
exclude_patterns = ["README.md"]  # index.md is made of it
html_theme = "furo"
html_title = "softcosine"
smartquotes = False  # they would make a dash of --option
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
suppress_warnings = ["myst.header", "misc.highlighting_failure"]


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
    """Show names without a page, and leave out what others document."""
    app.connect("missing-reference", accept)
    app.connect("autodoc-skip-member", skip)
