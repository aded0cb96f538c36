"""The laboratory: found by names, and never imported by what does not ask for it."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path

import pytest

from softcosine import SoftIndex, lab, strongest
from softcosine.lab import RegressionSimilarity
from softcosine.matrix.recipe import SimilarityRecipe
from softcosine.similarity.pairs import PairSimilarity
from softcosine.similarity.registry import SourceKind
from softcosine.text.corpus import analyze

ROOT = Path(__file__).resolve().parent.parent
ADDED = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["entry-points"]
TEXTS = ["river bank", "money bank", "bank", "river bank", "money bank", "tree"] * 5


@pytest.mark.parametrize("name", dir(lab))
def test_every_name_is_there_and_documented(name):
    if name in ("PairFeatures", "PairReranker", "SNOS"):
        pytest.importorskip("sklearn")
    assert getattr(lab, name).__doc__


def test_a_name_that_is_not_there_is_an_attribute_error():
    with pytest.raises(AttributeError, match=r"softcosine\.lab' has no attribute 'nothing'"):
        _ = lab.nothing


@pytest.mark.parametrize("group", ADDED)
def test_entry_points_are_installed_and_lead_somewhere(group):
    installed = {one.name: one.value for one in entry_points(group=group)}
    assert ADDED[group].items() <= installed.items(), "install the package again"
    for name, value in ADDED[group].items():
        found = EntryPoint(name, value, group).load()
        assert isinstance(found, SourceKind) if group == "softcosine.sources" else callable(found)


def test_recipes_find_its_sources_by_name():
    texts = analyze(TEXTS)
    built = SimilarityRecipe(sources=["regression"]).build(texts.vocabulary, texts)
    assert {term for term, _ in built.S.neighbors("bank")} == {"river", "money"}


def test_an_index_with_one_of_its_sources_opens_where_nothing_imported_it(tmp_path):
    source = strongest(
        RegressionSimilarity.fit(analyze(TEXTS)), PairSimilarity([("tree", "oak", 0.5)])
    )
    SoftIndex.from_texts(TEXTS, source=source).save(tmp_path / "x")
    code = (
        "import sys, softcosine as sc\n"
        "assert sc.SoftIndex.from_texts(['a flat tyre', 'a cup of tea']).search('tyre')\n"
        "assert not any(name.startswith('softcosine.lab') for name in sys.modules)\n"
        f"index = sc.SoftIndex.open({str(tmp_path / 'x')!r})\n"
        "print(index.neighbors('oak'))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout == "[('tree', 0.5)]\n", done.stderr
