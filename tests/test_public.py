"""The names that people import."""

from __future__ import annotations

import pickle
import tomllib
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

import softcosine as sc
from softcosine import errors

ROOT = Path(__file__).resolve().parent.parent


@pytest.mark.parametrize("name", dir(sc))
def test_every_public_name_is_there_and_told(name):
    if name.startswith("Soft") and name not in sc.__all__:
        pytest.importorskip("sklearn")
    value = getattr(sc, name)
    assert name in dir(sc)
    assert name.startswith("__") or value.__doc__


@pytest.mark.parametrize(
    "error",
    [
        errors.MalformedFileError("a.jsonl", "this is no JSON", line=3),
        errors.MissingDependencyError("joblib", "shards", "Building shards"),
        errors.ProblemError("http://x", "refused", kind="busy"),
        errors.UnknownTermError("there is no tea"),
        errors.IndexLockedError("locked"),
        errors.AlreadyExistsError("it exists"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_errors_of_other_processes_are_the_same(error):
    other = pickle.loads(pickle.dumps(error))
    assert type(other) is type(error)
    assert (str(other), other.args, vars(other)) == (str(error), error.args, vars(error))


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
