"""Similar pairs and groups over shards: those of one index, in the order of the shards."""

from __future__ import annotations

import random

import numpy as np
import pytest

import softcosine as sc
from sharded import built, documents_of, epoch, in_folders
from softcosine.errors import InvalidInputError

WORDS = ["tea", "coffee", "mug", "kettle", "tyre", "wheel", "road", "bicycle", "flat", "puncture"]


def texts_of(seed, n):
    chosen = random.Random(seed)
    texts = [" ".join(chosen.choices(WORDS, k=chosen.randint(1, 6))) for _ in range(n)]
    return [*texts, *texts[:5], ""]


def by_ids(pairs):
    """Pairs whatever their order; the two directions of a pair differ by rounding."""
    return {frozenset(pair[:2]): pytest.approx(pair.score, rel=1e-12) for pair in pairs}


@pytest.mark.parametrize("by", ["words", "meaning", "both"])
@pytest.mark.parametrize("n_shards", [1, 2, 5])
def test_pairs_and_groups_are_those_of_one_index(tmp_path, by, n_shards):
    one = built(tmp_path / "x", texts_of(n_shards, 60), n_shards=n_shards)
    options = {"min_similarity": 0.6, "by": by}
    with sc.ShardedIndex.open(tmp_path / "x") as many:
        with many.writer() as writer, one.writer() as whole:
            for target in (writer, whole):
                target.add("d3", "tea and a kettle")
                target.delete("d7")
        found = by_ids(many.pairs(**options))
        assert found == by_ids(one.pairs(**options))
        assert len(found) > 20
        groups, expected = (
            {frozenset([group.id, *(pair.other for pair in group.others)]) for group in made}
            for made in (many.dedupe(**options), one.dedupe(**options))
        )
        assert groups == expected
        for group in many.dedupe(method="leaders", **options):
            assert all(by_ids([pair]).items() <= found.items() for pair in group.others)


@pytest.mark.parametrize("ranking", ["soft_cosine", "inner_product"])
def test_the_nearest_documents_of_each_are_those_of_one_index(tmp_path, ranking):
    one, seen = built(tmp_path / "x", texts_of(2, 60), n_shards=3), []
    progress = {"progress": lambda *done: seen.append(done)}
    with sc.ShardedIndex.open(tmp_path / "x") as many:
        near, expected = (
            {id: [pair.score for pair in pairs if pair.id == id] for id in one}
            for pairs in (
                list(many.pairs(k=3, ranking=ranking, **progress)),
                list(one.pairs(k=3, ranking=ranking)),
            )
        )
    for id, scores in near.items():
        np.testing.assert_allclose(scores, expected[id], rtol=1e-12)
    assert seen[-1][0] == seen[-1][1]


BAD = [
    ("pairs", {"min_similarity": 0}), ("pairs", {"min_similarity": "x"}),
    ("pairs", {"min_similarity": 1.5}), ("pairs", {"min_similarity": 0.5, "by": "sound"}),
    ("pairs", {"min_similarity": 0.5, "threads": 0}), ("dedupe", {"min_similarity": -1}),
    ("pairs", {"k": 3, "ranking": "soft_bm25"}),
    ("dedupe", {"min_similarity": 2}), ("dedupe", {"method": "friends"}),
    ("dedupe", {"by": "sound"}), ("dedupe", {"threads": "all"}),
]  # fmt: skip


@pytest.mark.parametrize(("method", "options"), BAD)
def test_bad_options_are_refused_at_once_as_by_one_index(tmp_path, method, options):
    one = built(tmp_path / "x", texts_of(2, 20))
    with sc.ShardedIndex.open(tmp_path / "x") as many:
        said = []
        for index in (one, many):
            with pytest.raises(InvalidInputError) as kept:
                getattr(index, method)(**options)
            said.append(str(kept.value))
    assert said[0] == said[1]


@pytest.mark.parametrize("by", ["words", "meaning"])
def test_what_the_documents_lack_is_said_at_once(tmp_path, by):
    kind = "fields" if by == "words" else "words"
    in_folders(epoch(kind), tmp_path / "x", documents_of(kind, np.random.default_rng(1), 5), 2)
    with sc.ShardedIndex.open(tmp_path / "x") as many:
        for call in (lambda: many.pairs(min_similarity=0.5, by=by), lambda: many.dedupe(by=by)):
            with pytest.raises(InvalidInputError, match=r"has the fields|have no coordinates"):
                call()
