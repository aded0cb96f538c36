"""Groups of near duplicates, against the rules applied to all pairs at once."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import strategies
from conftest import JIT
from softcosine.errors import InvalidInputError
from softcosine.index.near_duplicates.all_pairs import pair_documents
from softcosine.index.near_duplicates.groups import find_groups
from softcosine.index.soft_index import SoftIndex
from test_all_pairs import many, matrix, parts_of, searched


def fewer_of(parts, S):
    """What compares some documents only, by number."""

    def fewer(numbers):
        own = [np.arange(part.segment.n_docs) + part.first for part in parts]
        live = [np.isin(own, numbers) for own in own]
        some = zip(parts, live, strict=True)
        return pair_documents([replace(part, live=mask) for part, mask in some], S)

    return fewer


def found(parts, S, **options):
    """Groups as a list of (first, {other: similarity})."""
    groups = find_groups(pair_documents(parts, S), fewer_of(parts, S), **options)
    listed = [
        (group.first, dict(zip(group.others.tolist(), group.similarities.tolist(), strict=True)))
        for group in groups
    ]
    assert len(listed) == len(groups)
    assert [first for first, _ in listed] == sorted(first for first, _ in listed)
    for first, others in listed:
        assert others
        assert list(others) == sorted(others)
        assert first < min(others)
    return listed


def components(similarities, minimum):
    """Connected components, by repeated joining."""
    group = {}
    for (i, j), s in similarities.items():
        if s >= minimum:
            joined = group.get(i, {i}) | group.get(j, {j})
            group.update(dict.fromkeys(joined, joined))
    distinct = {min(members): sorted(members) for members in group.values()}
    return [
        (first, {d: similarities[first, d] for d in members[1:]})
        for first, members in sorted(distinct.items())
    ]


def leaders(similarities, minimum):
    """Each document follows its most similar earlier leader, or leads."""
    groups = {}
    for d in sorted({number for pair in similarities for number in pair}):
        own = [(similarities[i, d], -i) for i in groups if similarities[i, d] >= minimum]
        if own:
            similarity, first = max(own)
            groups[-first][d] = similarity
        else:
            groups[d] = {}
    return [(first, others) for first, others in groups.items() if others]


@given(st.data())
def test_groups_are_those_of_the_rules(data):
    collection = data.draw(strategies.collections(matrices=strategies.symmetric_matrices))
    S, n = matrix(collection.S), collection.n_docs
    live = data.draw(st.none() | st.lists(st.booleans(), min_size=n, max_size=n))
    cuts = data.draw(st.sets(st.integers(0, n), max_size=2))
    parts = parts_of(collection.counts, S, live=live, cuts=cuts, gap=3)
    minimum = data.draw(st.sampled_from((0.2, 0.5, 0.8, 1.0)))
    similarities = searched(parts, S)
    assert found(parts, S, min_similarity=minimum) == components(similarities, minimum)
    by_leaders = found(parts, S, min_similarity=minimum, method="leaders")
    assert by_leaders == leaders(similarities, minimum)


@pytest.mark.parametrize("threads", [1, 3])
def test_groups_over_many_panels_are_those_of_the_rules(threads):
    X, S = many(220 if JIT else 80, 24)
    parts = parts_of(X, S, cuts=(50, 120 if JIT else 60))
    similarities = searched(parts, S)
    for minimum in (0.8, 0.95):
        options = {"min_similarity": minimum, "threads": threads}
        assert found(parts, S, **options) == components(similarities, minimum)
        assert found(parts, S, method="leaders", **options) == leaders(similarities, minimum)


def test_a_chain_is_one_component_and_two_groups_of_leaders():
    X = [[1, 0, 0, 0], [1, 1, 0, 0], [0, 1, 0, 0], [0, 0, 0, 5], [0, 1, 0, 0]]
    S = matrix(np.eye(4))
    parts = parts_of(X, S)
    near = pytest.approx(np.sqrt(0.5))
    assert found(parts, S, min_similarity=0.7) == [(0, {1: near, 2: 0.0, 4: 0.0})]
    by_leaders = found(parts, S, min_similarity=0.7, method="leaders")
    assert by_leaders == [(0, {1: near}), (2, {4: pytest.approx(1.0)})]


def test_documents_without_near_duplicates_have_no_groups():
    S = matrix(np.eye(2))
    for method in ("components", "leaders"):
        for X in (np.zeros((0, 2)), np.zeros((3, 2)), np.eye(2)):
            assert found(parts_of(X, S), S, min_similarity=0.5, method=method) == []


@pytest.mark.parametrize("method", ["single", None, 1])
def test_an_unknown_method_is_refused(method):
    S = matrix(np.eye(2))
    parts = parts_of(np.eye(2), S)
    with pytest.raises(InvalidInputError, match="it must be one of components, leaders"):
        find_groups(pair_documents(parts, S), fewer_of(parts, S), min_similarity=0.5, method=method)


def test_groups_of_any_similarity_are_refused():
    S = matrix(np.eye(2))
    parts = parts_of(np.eye(2), S)
    with pytest.raises(InvalidInputError, match="pass a number above 0"):
        find_groups(pair_documents(parts, S), fewer_of(parts, S), min_similarity=0.0)


@given(st.data())
def test_groups_of_equal_documents_are_those_of_the_rules(data):
    """Copies of a few documents in any order and segments; many similarities are just 1."""
    collection = data.draw(strategies.collections(matrices=strategies.symmetric_matrices))
    S, n = matrix(collection.S), collection.n_docs
    rows = data.draw(st.lists(st.integers(0, n - 1), min_size=3, max_size=20)) if n else []
    X = collection.counts[rows]
    live = data.draw(st.none() | st.lists(st.booleans(), min_size=len(rows), max_size=len(rows)))
    parts = parts_of(
        X, S, live=live, cuts=data.draw(st.sets(st.integers(0, len(rows)), max_size=2))
    )
    similarities = searched(parts, S)
    bounds = sorted(s for s in similarities.values() if s > 0) or [1.0]
    minimum = data.draw(st.sampled_from((0.5, 1.0, *bounds)))
    assert found(parts, S, min_similarity=minimum) == components(similarities, minimum)
    by_leaders = found(parts, S, min_similarity=minimum, method="leaders")
    assert by_leaders == leaders(similarities, minimum)


N_EQUAL = 4000 if JIT else 40


@pytest.mark.parametrize("by", ["words", "meaning", "both"])
@pytest.mark.parametrize("method", ["components", "leaders"])
def test_equal_texts_are_compared_once(by, method):
    """Of each text the first and the last document; the groups are those of all pairs."""
    texts, n_docs = ["green tea", "black tea", "a flat tyre", "green tea pot"], N_EQUAL
    index = SoftIndex.from_texts([texts[number % 4] for number in range(n_docs)], encoder="static")
    seen = []
    options = {"min_similarity": 0.9, "by": by, "method": method}
    groups = index.dedupe(progress=lambda done, total: seen.append(total), **options)
    assert set(seen) == {8 * 7 // 2}
    few = SoftIndex.from_texts([texts[number % 4] for number in range(8)], encoder="static")
    expected = [
        (
            own.id,
            {number for other in own.others for number in range(int(other.other) % 4, n_docs, 4)},
        )
        for own in few.dedupe(**options)
    ]
    assert [(own.id, {int(other.other) for other in own.others}) for own in groups] == [
        (first, {*numbers, *range(int(first), n_docs, 4)} - {int(first)})
        for first, numbers in expected
    ]
    score = next(pair.score for pair in index.pairs(by=by, k=1, min_similarity=0.9))
    assert {other.score for other in groups[0].others if int(other.other) % 4 == 0} == {score}
