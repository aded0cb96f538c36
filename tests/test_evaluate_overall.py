"""Several evaluations together."""

from __future__ import annotations

import json

import numpy as np
import pytest

from softcosine.errors import InvalidInputError
from softcosine.evaluate.datasets import PairSet, RankingSet
from softcosine.evaluate.documents import Documents
from softcosine.evaluate.evaluation import evaluate
from softcosine.evaluate.overall import check_together, overall
from softcosine.evaluate.significance import paired_bootstrap_of_collections
from toy_system import Overlap


def collection(name: str, n: int, seed: int) -> RankingSet:
    """A set of random words, whose judgements are random too."""
    rng = np.random.default_rng(seed)
    texts = [" ".join(rng.choice(list("abcdefgh"), 3)) for _ in range(2 * n)]
    ids = [f"d{i}" for i in range(n)]
    queries = [f"q{i}" for i in range(n)]
    qrels = {query: {ids[i]: 1 for i in rng.choice(n, 3)} for query in queries}
    documents = Documents.of(texts[:n], ids)
    return RankingSet(name, documents, Documents.of(texts[n:], queries), qrels)


def made(dataset, **settings):
    systems = [Overlap("cosine"), Overlap("heavy", {"a": 3.0, "b": 0.1})]
    settings = {"measures": ["map", "p@2"], "n_resamples": 300, **settings}
    return evaluate(dataset, systems, **settings)


def test_means_and_intervals_are_those_of_collections_that_count_the_same():
    parts = [made(collection("small", 5, 1)), made(collection("large", 40, 2))]
    found = overall(parts)
    for measure in ("map", "p@2"):
        ours, theirs = (
            [one.figures[name].per_unit[measure] for one in parts] for name in ("heavy", "cosine")
        )
        for relative, told in ((False, found.intervals), (True, found.gains)):
            expected = paired_bootstrap_of_collections(
                ours, theirs, relative=relative, n_resamples=300
            )
            assert told["heavy"][measure].to_dict() == pytest.approx(expected.to_dict())
        mean = np.mean([values.mean() for values in ours])
        assert found.values["heavy"][measure] == pytest.approx(mean)
    assert found.baseline == "cosine"
    assert repr(found) == "<Overall of cosine, heavy on small, large>"
    assert "| heavy | map |" in str(found)
    told = found.to_dict()
    assert json.loads(json.dumps(told)) == told
    assert list(told["datasets"]) == ["small", "large"]


def test_a_relative_gain_needs_a_baseline_above_zero():
    pairs = [
        PairSet(name, ("a", "b c", "d"), ("a", "b", "e"), np.array(scores))
        for name, scores in (("one", [3.0, 2.0, 1.0]), ("two", [1.0, 2.0, 3.0]))
    ]
    found = overall([made(one, measures=None) for one in pairs])
    assert found.measures == ("pearson", "spearman")
    assert found.gains == {}
    assert set(found.intervals["heavy"]) == {"pearson", "spearman"}


def test_what_does_not_go_together_is_refused():
    first, second = collection("one", 5, 1), collection("two", 5, 2)
    pairs = PairSet("pairs", ("a", "b"), ("a", "c"), np.array([1.5, 0.0]))
    with pytest.raises(InvalidInputError, match="1 evaluations were given"):
        overall([made(first)])
    with pytest.raises(InvalidInputError, match="two data sets are called 'one'"):
        overall([made(first), made(first)])
    with pytest.raises(InvalidInputError, match="one and two compare different systems"):
        overall([made(first), made(second, baseline="heavy")])
    with pytest.raises(InvalidInputError, match="one and two have intervals of different"):
        overall([made(first), made(second, confidence=0.9)])
    with pytest.raises(InvalidInputError, match="one, pairs have no measure in common"):
        check_together([first, pairs], None)
    check_together([first, second], None)
