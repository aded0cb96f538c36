"""Similar pairs and groups over shards: those of one index, to the bit."""

from __future__ import annotations

import random

import numpy as np
import pytest

import softcosine as sc
from sharded import built, documents_of, epoch, in_folders
from softcosine.cluster import all_pairs
from softcosine.cluster.all_pairs import groups_of_shards, pairs_of_shards
from softcosine.cluster.sharded_writer import ShardedWriter
from softcosine.errors import InvalidInputError

WORDS = ["tea", "coffee", "mug", "kettle", "tyre", "wheel", "road", "bicycle", "flat", "puncture"]


def texts_of(seed, n):
    chosen = random.Random(seed)
    texts = [" ".join(chosen.choices(WORDS, k=chosen.randint(1, 6))) for _ in range(n)]
    return [*texts, *texts[:5], ""]


@pytest.mark.parametrize("by", ["words", "meaning", "both"])
@pytest.mark.parametrize("n_shards", [1, 2, 5])
def test_pairs_and_groups_are_those_of_one_index(tmp_path, by, n_shards):
    one = built(tmp_path / "x", texts_of(n_shards, 60), n_shards=n_shards)
    with ShardedWriter(tmp_path / "x") as writer, one.writer() as whole:
        for target in (writer, whole):
            target.add("d3", "tea and a kettle")
            target.delete("d7")
    options = {"min_similarity": 0.6, "by": by}
    found = list(pairs_of_shards(tmp_path / "x", **options))
    assert found == list(one.pairs(**options))
    assert len(found) > 20
    for method in ("components", "leaders"):
        groups = groups_of_shards(tmp_path / "x", method=method, **options)
        assert groups == one.dedupe(method=method, **options)


def test_the_least_similarity_is_reached_in_the_order_of_insertion(tmp_path):
    one = built(tmp_path / "x", texts_of(1, 80))
    scores = np.unique([pair.score for pair in one.pairs(min_similarity=0.3)])
    for least in scores[:: max(1, len(scores) // 20)].tolist():
        found = list(pairs_of_shards(tmp_path / "x", min_similarity=least))
        assert found == list(one.pairs(min_similarity=least))


BAD = [
    ("pairs", {"min_similarity": 0}), ("pairs", {"min_similarity": "x"}),
    ("pairs", {"min_similarity": 1.5}), ("pairs", {"min_similarity": 0.5, "by": "sound"}),
    ("pairs", {"min_similarity": 0.5, "threads": 0}), ("dedupe", {"min_similarity": -1}),
    ("dedupe", {"min_similarity": 2}), ("dedupe", {"method": "friends"}),
    ("dedupe", {"by": "sound"}), ("dedupe", {"threads": "all"}),
]  # fmt: skip


@pytest.mark.parametrize(("method", "options"), BAD)
def test_bad_options_are_refused_at_once_as_by_one_index(tmp_path, monkeypatch, method, options):
    one = built(tmp_path / "x", texts_of(2, 20))
    monkeypatch.setattr(all_pairs, "_InsertionOrder", None)
    with sc.ShardedIndex.open(tmp_path / "x") as many:
        said = []
        for index in (one, many):
            with pytest.raises(InvalidInputError) as kept:
                getattr(index, method)(**options)
            said.append(str(kept.value))
    assert said[0] == said[1]


def test_what_pairs_of_shards_do_not_have_is_said(tmp_path):
    one, seen = built(tmp_path / "x", texts_of(2, 300)), []
    with sc.ShardedIndex.open(tmp_path / "x") as many:
        found = many.pairs(min_similarity=0.8, progress=lambda *done: seen.append(done))
        assert list(found) == list(one.pairs(min_similarity=0.8))
        assert seen[-1] == (305 * 304 // 2,) * 2
        with pytest.raises(InvalidInputError, match="leave out k and ranking"):
            many.pairs(k=3)
        with pytest.raises(InvalidInputError, match="leave out k and ranking"):
            many.pairs(min_similarity=0.5, ranking="inner_product")


@pytest.mark.parametrize("by", ["words", "meaning"])
def test_what_the_documents_lack_is_said_at_once(tmp_path, by):
    kind = "fields" if by == "words" else "words"
    in_folders(epoch(kind), tmp_path / "x", documents_of(kind, np.random.default_rng(1), 5), 2)
    with sc.ShardedIndex.open(tmp_path / "x") as many:
        for call in (lambda: many.pairs(min_similarity=0.5, by=by), lambda: many.dedupe(by=by)):
            with pytest.raises(InvalidInputError, match=r"has the fields|have no coordinates"):
                call()
