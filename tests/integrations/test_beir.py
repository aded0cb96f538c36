"""The adapter for BEIR: its protocol, and its own evaluation where it is installed."""

from __future__ import annotations

import pytest

import softcosine as sc
from softcosine.integrations.beir import SoftSearch

CORPUS = {
    "bike": {"title": "Bikes", "text": "how to mend a flat tyre"},
    "tea": {"title": "", "text": "green tea"},
    "car": {"text": "a tyre of a car"},
    "q2": {"text": "tyre"},
}
QUERIES = {"q1": "mend my +tyre", "q2": "tyre", "q3": "nonsense"}


def test_results_are_the_searches_of_an_index():
    texts = ["Bikes\nhow to mend a flat tyre", "green tea", "a tyre of a car", "tyre"]
    index = sc.SoftIndex.from_texts(texts, ids=list(CORPUS))
    results = SoftSearch(search_options={"ranking": "soft_bm25"}).search(
        CORPUS, QUERIES, 2, "cos_sim"
    )
    hits = index.search("mend my +tyre", k=2, ranking="soft_bm25", syntax=False)
    assert list(results["q1"].items()) == [(hit.id, hit.score) for hit in hits]
    assert set(results["q2"]) == {"car", "bike"}  # without the document of the query's id
    assert results["q3"] == {}


def test_beir_evaluates_it():
    evaluation = pytest.importorskip(
        "beir.retrieval.evaluation", reason="needs beir, which is not installed (it needs torch)"
    )
    evaluator = evaluation.EvaluateRetrieval(SoftSearch(plain=True), k_values=[1, 3])
    results = evaluator.retrieve(CORPUS, QUERIES)
    qrels = {"q1": {"bike": 1}, "q2": {"car": 1, "bike": 1}}
    ndcg, _, recall, _ = evaluator.evaluate(qrels, results, evaluator.k_values)
    assert ndcg["NDCG@1"] == 1
    assert recall["Recall@3"] == 1
