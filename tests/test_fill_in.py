"""Orders of elimination, and the entries of factors counted without computing these."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

from conftest import JIT
from softcosine.errors import InvalidInputError
from softcosine.kernels.elimination import (
    column_counts,
    elimination_tree,
    minimum_degree,
    postorder,
)
from softcosine.matrix.term_similarity_matrix import TermSimilarityMatrix
from softcosine.space.fill_in import FillIn, estimate_fill_in, planned
from softcosine.text.vocabulary import Vocabulary
from toys import similarity_matrix

MAX_TERMS = 30 if JIT else 12


@st.composite
def graphs(draw, max_terms=MAX_TERMS):
    """Symmetric structures with a full diagonal: trees, knots, parts that do not touch."""
    n = draw(st.integers(1, max_terms))
    S = np.eye(n, dtype=bool)
    pairs = st.tuples(st.integers(0, n - 1), st.integers(0, n - 1))
    for i, j in draw(st.lists(pairs, max_size=draw(st.sampled_from((n // 2, 2 * n, 6 * n))))):
        S[i, j] = S[j, i] = True
    for knot in draw(st.lists(st.lists(st.integers(0, n - 1), max_size=6), max_size=2)):
        S[np.ix_(knot, knot)] = True
    return S


@st.composite
def graphs_and_orders(draw):
    S = draw(graphs())
    return S, np.array(draw(st.permutations(range(len(S)))), np.int32)


def similarities(S):
    """Similarities of a structure, small enough to be definite."""
    return similarity_matrix(
        np.where(S, 0.5 / len(S), 0.0) + np.diag(np.full(len(S), 1.0)) * (1 - 0.5 / len(S))
    )


def symbolic_factor(S, order):
    """Where the factor has entries: what is eliminated links all that it was linked to."""
    L = S[np.ix_(order, order)].copy()
    for k in range(len(L)):
        below = k + 1 + np.flatnonzero(L[k + 1 :, k])
        L[np.ix_(below, below)] = True
    return np.tril(L)


def compressed(S):
    rows, columns = np.nonzero(S)
    indptr = np.searchsorted(rows, np.arange(len(S) + 1)).astype(np.int64)
    return indptr, columns.astype(np.int32)


def ordered_by_minimum_degree(S):
    order = np.empty(len(S), np.int32)
    minimum_degree(*compressed(S), order)
    return order


def exact_minimum_degree(S):
    """Entries of the factor where a term of the very least degree is always taken."""
    links = S & ~np.eye(len(S), dtype=bool)
    left, entries = np.ones(len(S), bool), 0
    for _ in range(len(S)):
        degrees = np.where(left, links.sum(axis=1), len(S))
        term = int(np.argmin(degrees))
        beside = np.flatnonzero(links[term])
        entries += 1 + len(beside)
        links[np.ix_(beside, beside)] = True
        links[term] = links[:, term] = False
        np.fill_diagonal(links, False)
        left[term] = False
    return entries


@given(graphs_and_orders())
def test_tree_and_counts_are_those_of_the_symbolic_factor(drawn):
    S, order = drawn
    n = len(S)
    ranks, parents, sequence = (np.empty(n, np.int32) for _ in range(3))
    ranks[order] = np.arange(n)
    counts = np.empty(n, np.int64)
    structure = compressed(S)
    elimination_tree(*structure, order, ranks, parents)
    postorder(parents, sequence)
    column_counts(*structure, order, ranks, parents, sequence, counts)
    L = symbolic_factor(S, order)
    below = [np.flatnonzero(L[k + 1 :, k]) + k + 1 for k in range(n)]
    assert parents.tolist() == [rows[0] if len(rows) else -1 for rows in below]
    assert counts.tolist() == L.sum(axis=0).tolist()
    # Children come before their parents, and what is below a node right before it.
    assert sorted(sequence.tolist()) == list(range(n))
    places = np.argsort(sequence)
    sizes = np.ones(n, int)
    for node in sequence:
        if parents[node] >= 0:
            assert places[node] < places[parents[node]]
            sizes[parents[node]] += sizes[node]
    for node in sequence:
        if parents[node] >= 0:
            assert places[node] > places[parents[node]] - sizes[parents[node]]


@given(graphs())
def test_the_estimate_is_the_true_number_of_entries(S):
    n = len(S)
    made = planned(similarities(S))
    assert sorted(made.pivots.tolist()) == list(range(n))
    L = symbolic_factor(S, made.pivots)
    found = made.fill_in
    assert found.n_entries == L.sum()
    assert made.counts.tolist() == L.sum(axis=0).tolist()
    assert found.n_stored == np.tril(S).sum()
    assert found.ratio == L.sum() / np.tril(S).sum() >= 1
    assert found.n_operations == sum(c * (c + 1) // 2 for c in L.sum(axis=0).tolist())
    assert found.memory == 12 * found.n_entries + 8 * (n + 1)
    reach = np.linalg.matrix_power(S.astype(float), n) > 0
    parts = {tuple(row) for row in reach}
    assert found.n_components == len(parts)
    assert found.largest_component == max(map(sum, parts))
    own = made.components[np.argsort(made.pivots)]
    assert np.array_equal(own[:, None] == own, reach)


@given(graphs())
def test_minimum_degree_gives_every_term_once_and_the_same_each_time(S):
    order = ordered_by_minimum_degree(S)
    assert sorted(order.tolist()) == list(range(len(S)))
    assert order.tolist() == ordered_by_minimum_degree(S).tolist()


def test_minimum_degree_fills_in_hardly_more_than_with_exact_degrees():
    generator = np.random.default_rng(0)
    ours, exact = 0, 0
    for _ in range(40 if JIT else 10):
        n = int(generator.integers(10, MAX_TERMS + 1))
        S = generator.random((n, n)) < generator.choice([0.05, 0.1, 0.2])
        S = S | S.T | np.eye(n, dtype=bool)
        ours += symbolic_factor(S, ordered_by_minimum_degree(S)).sum()
        exact += exact_minimum_degree(S)
    assert ours <= 1.02 * exact


@pytest.mark.parametrize("n", [2, 10, MAX_TERMS])
def test_minimum_degree_leaves_trees_as_they_are(n):
    generator = np.random.default_rng(n)
    S = np.eye(n, dtype=bool)
    for i in range(1, n):
        j = generator.integers(i)
        S[i, j] = S[j, i] = True
    assert estimate_fill_in(similarities(S)).ratio == 1


def test_terms_with_very_many_neighbours_come_last():
    n = 300
    S = np.eye(n, dtype=bool)
    hubs = [7, 100]
    for hub, stop in zip(hubs, (250, n), strict=True):
        S[hub, :stop] = S[:stop, hub] = True
    made = planned(similarities(S))
    assert sorted(made.pivots.tolist()) == list(range(n))
    assert made.pivots[-2:].tolist() == hubs
    assert made.fill_in.n_entries == symbolic_factor(S, made.pivots).sum()


def test_lists_are_compacted_where_they_run_out_of_room():
    # A grid eliminated from inside makes large elements out of many small ones.
    side = 40 if JIT else 8
    numbers = np.arange(side * side).reshape(side, side)
    S = np.eye(side * side, dtype=bool)
    for a, b in ((numbers[1:], numbers[:-1]), (numbers[:, 1:], numbers[:, :-1])):
        S[a.ravel(), b.ravel()] = S[b.ravel(), a.ravel()] = True
    found = estimate_fill_in(similarities(S))
    assert found.n_entries < symbolic_factor(S, np.arange(len(S))).sum()


def test_similarities_of_zero_link_nothing():
    matrix = csr_array((np.array([1, 0, 0, 1], np.float32), [0, 1, 0, 1], [0, 2, 4]), shape=(2, 2))
    found = estimate_fill_in(TermSimilarityMatrix.from_entries(matrix, Vocabulary.numbered(2)))
    assert (found.n_entries, found.n_stored, found.n_components) == (2, 2, 2)


def test_nothing_and_one_term_have_estimates():
    for n in (0, 1):
        found = estimate_fill_in(similarity_matrix(np.eye(n)))
        assert found == FillIn(n, n, n, n, n, n)
        assert found.ratio == 1


def test_an_estimate_tells_of_itself():
    text = str(estimate_fill_in(similarity_matrix(np.ones((3, 3)) / 2 + np.eye(3) / 2)))
    assert text.startswith("3 terms: the factor has 6 entries")


def test_what_has_no_estimate_says_why():
    with pytest.raises(InvalidInputError, match="a change of basis needs a symmetric one"):
        estimate_fill_in(similarity_matrix([[1, 0.5], [0, 1]]))
    with pytest.raises(InvalidInputError, match="S is of type ndarray"):
        estimate_fill_in(np.eye(2))
