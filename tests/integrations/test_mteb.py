"""The adapter for mteb: its search protocol, and its own evaluation where it is installed."""

from __future__ import annotations

import pytest

import softcosine as sc
from softcosine.errors import NotFittedError
from softcosine.integrations.mteb import SoftSearch

CORPUS = [
    {"id": "bike", "title": "Bikes", "text": "how to mend a flat tyre"},
    {"id": "tea", "title": "", "text": "green tea"},
    {"id": "car", "text": "a tyre of a car"},
]
QUERIES = {"id": ["q1", "q2", "q3"], "text": ["mend my +tyre", "cup of tea", "nonsense"]}
TASK = {
    "task_metadata": None, "hf_split": "test", "hf_subset": "default", "encode_kwargs": {},
    "num_proc": None,
}  # fmt: skip


def test_results_are_the_searches_of_an_index():
    texts = ["Bikes\nhow to mend a flat tyre", "green tea", "a tyre of a car"]
    index = sc.SoftIndex.from_texts(texts, ids=["bike", "tea", "car"])
    model = SoftSearch()
    with pytest.raises(NotFittedError, match="call index first"):
        model.search(QUERIES, top_k=3, **TASK)
    model.index(CORPUS, **TASK)
    results = model.search(QUERIES, top_k=2, top_ranked=None, **TASK)
    hits = index.search("mend my +tyre", k=2, syntax=False)
    assert list(results["q1"].items()) == [(hit.id, hit.score) for hit in hits]
    assert list(results) == QUERIES["id"]
    assert results["q3"] == {}


def test_given_documents_are_reranked():
    model = SoftSearch(plain=True)
    model.index(CORPUS, **TASK)
    ranked = {"q1": ["tea", "car", "bike"], "q2": ["bike"]}
    results = model.search(QUERIES, top_k=2, top_ranked=ranked, **TASK)
    best = model.search(QUERIES, top_k=2, **TASK)
    assert list(results["q1"].items()) == list(best["q1"].items())
    assert results["q2"] == {"bike": 0.0}
    assert results["q3"] == {}


def test_mteb_evaluates_it(tmp_path):
    mteb = pytest.importorskip("mteb", reason="needs mteb, which is not installed (it needs torch)")
    datasets = pytest.importorskip("datasets")
    from mteb.abstasks.retrieval import AbsTaskRetrieval
    from mteb.abstasks.retrieval_dataset_loaders import RetrievalSplitData
    from mteb.models import SearchProtocol

    class FlatTyres(AbsTaskRetrieval):
        metadata = mteb.TaskMetadata(
            name="FlatTyres", description="tiny", dataset={"path": "a/b", "revision": "c"},
            type="Retrieval", category="t2t", eval_splits=["test"], eval_langs=["eng-Latn"],
            main_score="ndcg_at_10",
        )  # fmt: skip

        def load_data(self, *args, **kwargs):
            rows = [{"title": "", **row} for row in CORPUS]
            split = RetrievalSplitData(
                corpus=datasets.Dataset.from_list(rows),
                queries=datasets.Dataset.from_dict(QUERIES).select(range(2)),
                relevant_docs={"q1": {"bike": 1}, "q2": {"tea": 1}},
                top_ranked=None,
            )
            self.dataset = {"default": {"test": split}}
            self.data_loaded = True

    model = SoftSearch("softcosine/plain", plain=True)
    assert isinstance(model, SearchProtocol)
    assert model.mteb_model_meta.name == "softcosine/plain"
    result = mteb.evaluate(model, FlatTyres(), cache=None)
    assert result.task_results[0].get_score() == 1
