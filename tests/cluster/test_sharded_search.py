"""Shards answer as one index, to the bit."""

from __future__ import annotations

import pickle
from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import softcosine as sc
from sharded import frozen, in_folders, in_memory, one_index
from softcosine.cluster.sharded_index import ShardedIndex
from softcosine.errors import InvalidInputError, UnknownDocumentError

WORDS = [
    "tea", "green", "pot", "cup", "coffee", "tyre", "wheel", "bicycle", "car", "road", "repair",
    "broken", "flat", "drink", "kettle", "the", "garage", "engine",
]  # fmt: skip
QUERIES = [
    "green tea", "flat tyre", "+tea cup", "car -road", '"green tea" pot', "bicycle repair shop",
    "kettel", "the", "beverage", "unknownword", "automobile^2 tea", "+garage +engine", "",
    " ".join(WORDS), '-"flat tyre" wheel', "tea tea tea green",
]  # fmt: skip
RANKINGS = ["soft_bm25", "soft_tf_bm25", "soft_cosine", "inner_product", "expanded_cosine"]


def drawn_text(random):
    return " ".join(random.choice(WORDS, random.integers(0, 7)))


@cache
def epoch(kind):
    """An epoch of its own documents, of which the shards have others."""
    random = np.random.default_rng(len(kind))
    texts = [drawn_text(random) for _ in range(60)]
    options = {"language": "english", "ranking": "soft_bm25", "encoder": None}
    if kind == "fields":
        rows = [{"title": drawn_text(random), "body": text} for text in texts]
        return frozen(rows, fields={"title": 2, "body": 1}, **options)
    if kind == "static":
        options["encoder"] = "static"
    return frozen(texts, positions=kind == "words", **options)


def documents_of(kind, random, n_docs):
    found = []
    for number in range(n_docs):
        text = drawn_text(random)
        if kind == "fields":
            text = {"title": drawn_text(random), "body": text}
        metadata = {
            "n": int(random.integers(0, 4)), "tag": str(random.choice(["a", "b"])),
            "list": [1, "x"][: random.integers(0, 3)],
        }  # fmt: skip
        if random.random() < 0.2:
            del metadata["n"]
        found.append((number, f"doc{number}", text, metadata))
    return found


def seen(hits):
    """What hits say, but for the plan."""
    rows = [(hit.id, hit.score.hex(), hit.number, hit.text, hit.metadata) for hit in hits]
    snippets = [hit.snippet for hit in hits]
    words = hits.outside, hits.unknown, hits.left_out
    return rows, snippets, words, hits.facets, hits.suggestions, hits.plan.proven, hits.title


OPTIONS = st.fixed_dictionaries(
    {
        "k": st.sampled_from([0, 1, 3, 10, 100]),
        "ranking": st.sampled_from([None, *RANKINGS]),
    },
    optional={
        "offset": st.sampled_from([0, 2, 5]),
        "min_score": st.sampled_from([0.0, 0.3, 2.0]),
        "where": st.sampled_from([{"tag": "a"}, {"n": {">=": 2}}, {"tag": "none"}]),
        "expand": st.booleans(),
        "fuzzy": st.booleans(),
        "fill": st.booleans(),
        "keep_stop_words": st.booleans(),
        "max_terms": st.sampled_from([None, 2]),
        "facets": st.sampled_from([[], ["tag"], ["n", "list"]]),
        "order": st.sampled_from(
            [{}, {"exact_first": True}, {"mmr": 0.4}, {"sort": "n"}, {"sort": ["-n", "tag"]}]
        ),
        "first_stage": st.sampled_from([None, 0, 2, sc.FirstStage(None, 3), sc.FirstStage(1, 2)]),
        "meaning": st.sampled_from([None, 0.0, 3.0]),
    },
)


@given(
    st.sampled_from(["words", "fields", "static"]), st.integers(0, 2**32), st.integers(1, 7),
    st.integers(0, 25), OPTIONS, st.lists(st.sampled_from(QUERIES), min_size=1, max_size=3),
)  # fmt: skip
def test_searches_equal_those_of_one_index(kind, seed, n_shards, n_docs, options, queries):
    random = np.random.default_rng(seed)
    documents = documents_of(kind, random, n_docs)
    deleted = [one[1] for one in documents if random.random() < 0.2]
    order = options.pop("order", {})
    options = {**options, **order}
    if options.get("facets") or options.get("sort") or options.get("fill"):
        options.pop("first_stage", None)
    if kind != "static":
        options.pop("meaning", None)
    one = one_index(epoch(kind), documents, deleted, commits=2)
    many = in_memory(epoch(kind), documents, n_shards, deleted, commits=2)
    with many:
        assert len(many) == len(one)
        for own, other in zip(
            many.search_batch(queries, **options), one.search_batch(queries, **options),
            strict=True,
        ):  # fmt: skip
            assert seen(own) == seen(other)
            assert own.missing_shards == ()
        for own, other in zip(
            many.ranked(queries, **options), one.ranked(queries, **options), strict=True
        ):
            assert own.documents.tolist() == other.documents.tolist()
            assert own.scores.tolist() == other.scores.tolist()


@given(
    st.sampled_from(["words", "fields", "static"]), st.integers(0, 2**32), st.integers(1, 7),
    st.sampled_from(RANKINGS), st.sampled_from(QUERIES),
)  # fmt: skip
def test_documents_explanations_and_filters_equal_those_of_one_index(
    kind, seed, n_shards, ranking, query
):
    random = np.random.default_rng(seed)
    documents = documents_of(kind, random, 20)
    deleted = [one[1] for one in documents if random.random() < 0.2]
    one = one_index(epoch(kind), documents, deleted)
    with in_memory(epoch(kind), documents, n_shards, deleted) as many:
        assert list(many) == list(one)
        ids = list(one)[:4]
        assert many.get(ids) == one.get(ids)
        assert "doc0" in many or "doc0" in deleted
        assert 5 not in many
        assert many.scores(query, ids, ranking=ranking).tolist() == (
            one.scores(query, ids, ranking=ranking).tolist()
        )
        for id in ids:
            assert seen(many.similar(id, k=3, ranking=ranking)) == (
                seen(one.similar(id, k=3, ranking=ranking))
            )
            assert many.explain(query, id, ranking=ranking) == (
                one.explain(query, id, ranking=ranking)
            )
            assert many.explain_similar(id, ids[0]) == one.explain_similar(id, ids[0])
        for options in (
            {}, {"where": {"tag": "a"}, "k": 3, "offset": 1}, {"sort": "-n", "facets": ["list"]},
            {"k": None, "sort": ["tag", "n"]},
        ):  # fmt: skip
            assert many.filter(**options) == one.filter(**options)
        assert many.count() == one.count()
        assert many.count({"n": 1}) == one.count({"n": 1})
        assert many.neighbors("tea") == one.neighbors("tea")
        with pytest.raises(UnknownDocumentError):
            many.get(["nobody"])
        with pytest.raises(UnknownDocumentError):
            many.similar("nobody")
