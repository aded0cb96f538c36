"""Word mover's distance and its bounds, against linear programs and plain loops."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog
from scipy.sparse import csr_array

from softcosine.evaluate.documents import Documents
from softcosine.evaluate.systems import from_spec
from softcosine.evaluate.systems import wmd as transport_module
from softcosine.evaluate.systems.wmd import Movable, emd, solver


def least_cost(a, b, costs):
    """The transport problem as a linear program."""
    n, m = costs.shape
    rows = [np.kron(np.eye(n)[i], np.ones(m)) for i in range(n)]
    columns = [np.kron(np.ones(n), np.eye(m)[j]) for j in range(m)]
    found = linprog(costs.ravel(), A_eq=np.array([*rows, *columns]), b_eq=[*a, *b], method="highs")
    return found.fun


def relaxed(a, b, costs):
    """The cost of moving a to b's places and b to a's, each share to the nearest."""
    one = sum(share * min(row) for share, row in zip(a, costs.tolist(), strict=True))
    other = sum(share * min(column) for share, column in zip(b, costs.T.tolist(), strict=True))
    return one, other


@st.composite
def texts(draw):
    """A few points, documents as counts of them, and a query."""
    n_words = draw(st.integers(1, 6))
    coordinates = st.lists(st.integers(-2, 2), min_size=3, max_size=3).filter(any)
    points = np.array(draw(st.lists(coordinates, min_size=n_words, max_size=n_words)), float)
    row = st.lists(st.sampled_from((0, 0, 1, 1, 2)), min_size=n_words, max_size=n_words)
    counts = np.array(draw(st.lists(row, min_size=1, max_size=7)), float)
    query = np.array(draw(row.filter(any)), float)[None, :]
    return points, counts, query


def prepared(points, counts, query):
    documents = Movable.of(csr_array(counts), points)
    asked = documents.query(Movable.of(csr_array(query), points), 0)
    unit = points / np.linalg.norm(points, axis=1, keepdims=True)
    distances = np.linalg.norm(unit[:, None] - unit[None], axis=2)
    return documents, asked, distances


@given(texts())
def test_distances_are_those_of_the_definitions(drawn):
    _, counts, query = drawn
    documents, asked, distances = prepared(*drawn)
    known = np.flatnonzero(counts.any(axis=1))
    np.testing.assert_array_equal(np.flatnonzero(documents.known), known)
    own = np.flatnonzero(query[0])
    share = query[0, own] / query.sum()
    to, back = documents.to_query(asked), documents.from_query(asked, known)
    both = documents.relaxed(asked, known)
    solve = solver()
    for place, number in enumerate(known.tolist()):
        words = np.flatnonzero(counts[number])
        shares = counts[number, words] / counts[number].sum()
        costs = distances[np.ix_(own, words)]
        out, into = relaxed(share, shares, costs)
        np.testing.assert_allclose([to[number], back[place]], [into, out], atol=1e-6)
        assert both[place] == max(to[number], back[place])
        exact = emd(solve, asked, *documents.words_of(number))
        assert exact == pytest.approx(least_cost(share, shares, costs), abs=1e-6)
        assert exact >= both[place] - 1e-9
        only = documents.only(number)
        np.testing.assert_array_equal(only.known, [True])
        np.testing.assert_array_equal(only.points, documents.points[words])


@given(texts(), st.integers(1, 4), st.integers(1, 3))
def test_pruning_loses_none_of_the_nearest(drawn, k, together):
    documents, asked, _ = prepared(*drawn)
    known = np.flatnonzero(documents.known)
    every = documents.relaxed(asked, known)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(transport_module, "_TOGETHER", together)
        numbers, costs = documents.relaxed_nearest(asked, k=k)
    assert len(set(numbers.tolist())) == len(numbers)
    order = np.lexsort((known, every))[:k]
    found = np.lexsort((numbers, costs))[:k]
    assert numbers[found].tolist() == known[order].tolist()
    assert costs[found].tolist() == every[order].tolist()


TEXTS = [
    "the king is dead", "a flat tyre on the bicycle", "hot tea and cold coffee", "zzqx",
    "wheels of bikes and cars", "the queen drinks tea", "a monarch died", "the bicycle tyre",
]  # fmt: skip
QUERIES = Documents.of(["bicycle wheel", "the death of a queen", "tea"])
ALL = np.arange(len(TEXTS))


def test_a_ranking_by_pruning_is_that_of_all_distances():
    fitted = from_spec("wmd:depth=none").fit(Documents.of(TEXTS))
    scores = np.array(fitted.scored(QUERIES, [ALL] * 3))
    for k in (1, 2, 8):
        ranked = fitted.ranked(QUERIES, k=k)
        for row in range(3):
            order = np.lexsort((ALL, -scores[row]))
            expected = [n for n in order.tolist() if scores[row, n] > 0][:k]
            assert [n for n in ranked.numbers[row].tolist() if n >= 0] == expected


def test_only_so_many_documents_as_the_depth_says_are_ranked():
    documents = Documents.of(TEXTS)
    fitted, relaxed_one = from_spec("wmd:depth=3").fit(documents), from_spec("rwmd").fit(documents)
    nearest = relaxed_one.ranked(QUERIES, k=3).numbers
    found = fitted.ranked(QUERIES, k=8).numbers
    assert (found[:, 3:] == -1).all()
    np.testing.assert_array_equal(np.sort(found[:, :3]), np.sort(nearest))


def test_the_cost_of_exact_distances_is_told():
    fitted = from_spec("wmd").fit(Documents.of(TEXTS))
    assert fitted.note.startswith("0 transport problems in 0.0 s")
    fitted.scored(QUERIES, [ALL] * 3)
    assert fitted.note.startswith("21 transport problems")  # one text has no known word
    fitted.paired(["tea"], ["coffee"])
    assert fitted.note.startswith("22 transport problems")


def test_equal_texts_are_at_no_distance_and_words_in_another_order_are_equal():
    for name in ("wmd", "rwmd", "rwmd:sides=documents", "rwmd:sides=queries"):
        fitted = from_spec(name).fit(Documents.of(TEXTS))
        same = fitted.paired(["a flat tyre on the bicycle"], ["the bicycle on a flat tyre"])
        assert same[0] == pytest.approx(1.0, abs=1e-9)


def test_one_sided_distances_take_what_is_contained_for_equal():
    queries = from_spec("rwmd:sides=queries").fit(Documents.of(TEXTS))
    documents = from_spec("rwmd:sides=documents").fit(Documents.of(TEXTS))
    asked = Documents.of(["tyre"])
    assert queries.scored(asked, [np.array([7])])[0][0] == pytest.approx(1.0)
    assert documents.scored(asked, [np.array([7])])[0][0] < 0.8
