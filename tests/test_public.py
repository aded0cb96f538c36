"""The names that people import."""

from __future__ import annotations

import tomllib
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

import softcosine as sc

ROOT = Path(__file__).resolve().parent.parent


@pytest.mark.parametrize("name", dir(sc))
def test_every_public_name_is_there_and_told(name):
    if name.startswith("Soft") and name not in sc.__all__:
        pytest.importorskip("sklearn")
    value = getattr(sc, name)
    assert name in dir(sc)
    assert name.startswith("__") or value.__doc__


def test_a_name_that_is_not_there_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = sc.nothing


def test_the_version_stands_in_one_place_and_in_the_citation():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["dynamic"] == ["version"]
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"\nversion: {sc.__version__}\n" in citation


def test_no_modules_import_each_other_in_a_circle():
    """Counts imports inside functions and for type checking too."""
    grimp = pytest.importorskip("grimp")
    graph = grimp.build_graph("softcosine")
    imports = {one: graph.find_modules_directly_imported_by(one) for one in graph.modules}
    TopologicalSorter(imports).prepare()  # a CycleError shows the modules
