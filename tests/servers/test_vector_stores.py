"""The examples of docs/vector-stores.md in the stores themselves, compared with exact scores."""

from __future__ import annotations

import re

import numpy as np
import pytest

from conftest import ROOT, need_engine
from softcosine import SoftIndex

WORDS = (
    *("bicycle", "bike", "wheel", "tyre", "tire", "car", "automobile", "repair", "mend", "fix"),
    *("tea", "coffee", "cup", "drink", "pot", "flat", "puncture", "road", "garage", "engine"),
    *("mechanic", "tool", "pump", "shop", "price", "train", "station", "ticket", "kettle", "water"),
)
PAGE = (ROOT / "docs" / "vector-stores.md").read_text(encoding="utf-8")
SECTIONS = {
    title: re.findall(r"```python\n(.*?)```", body, re.DOTALL)
    for title, body in re.findall(r"^#+ (.*?)\n(.*?)(?=^## |\Z)", PAGE, re.DOTALL | re.MULTILINE)
}
# Lucene keeps nine bits of an impact; the sum is of float32.
ERRORS = {"Lucene": 2**-8, "OpenSearch and Elasticsearch": 2**-8}


@pytest.fixture
def check(tmp_path, monkeypatch):
    """Run the example of a section, and compare what it finds with the index."""
    monkeypatch.chdir(tmp_path)
    random = np.random.default_rng(0)
    texts = [" ".join(random.choice(WORDS, random.integers(2, 9))) for _ in range(80)]
    ids = [f"d{number}" for number in range(80)]
    SoftIndex.from_texts(texts, ids=ids, encoder=None, ranking="soft_cosine").save("faq.index")

    def run(title, *replacements):
        (begin,), (example,) = SECTIONS["Any vector store"], SECTIONS[title]
        for old, new in replacements:
            assert old in example
            example = example.replace(old, new)
        values = {}
        exec(begin + example, values)
        for name in {"server", "base", "client"} & values.keys():
            values[name].close()
        hits = SoftIndex.open("faq.index").search("mend a bicycle", k=80)
        exact = {hit.id: hit.score for hit in hits}
        found = values["found"]
        assert len(found) == 10
        factor = exact[hits.ids[0]] / max(found.values()) if title == "Annoy" else 1.0
        error = ERRORS.get(title, 1e-5)
        for place, (id, score) in enumerate(found.items()):
            assert score * factor == pytest.approx(exact[id], rel=error, abs=1e-5)
            assert exact[id] == pytest.approx(hits.hits[place].score, rel=2 * error, abs=1e-5)

    return run


@pytest.mark.parametrize(
    ("title", "package"),
    [
        ("Faiss", "faiss"), ("USearch", "usearch"), ("hnswlib", "hnswlib"), ("Annoy", "annoy"),
        ("Qdrant", "qdrant_client"), ("SQL", "sqlite3"),
    ],
)  # fmt: skip
def test_a_store_finds_the_exact_ten(check, title, package):
    need_engine(package)
    check(title)


def test_features_of_lucene_find_the_exact_ten(check, lucene):
    check("Lucene")


@pytest.mark.parametrize("server", ["opensearch", "elasticsearch"])
def test_features_of_a_server_find_the_exact_ten(check, request, server):
    pytest.importorskip("httpx")
    own = (
        ('"rank_features"', '"sparse_vector"'),
        (
            '{"rank_feature": {"field": f"impacts.{term}", "linear": {}, "boost": weight}}',
            '{"term": {"impacts": {"value": str(term), "boost": weight}}}',
        ),
    )
    check(
        "OpenSearch and Elasticsearch",
        ("http://localhost:9200", request.getfixturevalue(server)),
        ("/faq", "/vectors"),
        *(own if server == "elasticsearch" else ()),
    )


def test_every_example_of_the_page_is_run():
    assert set(SECTIONS) == {
        "Any vector store", "Faiss", "USearch", "hnswlib", "Annoy", "Qdrant", "Lucene",
        "OpenSearch and Elasticsearch", "SQL",
    }  # fmt: skip
    assert all(len(examples) == 1 for examples in SECTIONS.values())
