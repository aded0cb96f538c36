"""Greedy assembly of S against a naive reference (theory T6)."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import oracle
import strategies as own
from softcosine.errors import InvalidInputError
from softcosine.kernels.assembly import assemble_symmetric
from softcosine.matrix.assembly import assemble
from softcosine.matrix.rules import column_order
from softcosine.matrix.term_similarity_matrix import TermSimilarityMatrix
from softcosine.sources.source import Neighbors
from softcosine.text.vocabulary import Vocabulary
from toys import ToySource


@st.composite
def problems(draw):
    """Candidates (float32 in float64), a vocabulary with frequencies, a limit."""
    n = draw(own.sizes(own.MAX_TERMS))
    terms = draw(own.vocabularies(n))
    values = st.sampled_from((0.0, 0.0, 0.1, 0.25, 0.3, 0.5, 0.5, 0.9, 1.0))
    flat = draw(st.lists(values, min_size=n * n, max_size=n * n))
    candidates = np.array(flat, np.float32).astype(np.float64).reshape(n, n)
    if draw(st.booleans()):
        candidates = np.triu(candidates, 1) + np.triu(candidates, 1).T
    np.fill_diagonal(candidates, 0)
    frequencies = draw(st.lists(st.integers(0, 3), min_size=n, max_size=n))
    limit = draw(st.sampled_from((0, 1, 2, 3, 100)))
    return candidates, Vocabulary(terms, document_frequencies=frequencies), limit


def neighbors_of(candidates, terms):
    rows, columns = np.nonzero(candidates)
    return Neighbors.from_pairs(
        rows,
        columns,
        candidates[rows, columns].astype(np.float32),
        n_terms=len(terms),
        among=terms,
        max_neighbors=len(terms),
    )


ORDERS = ("rare_first", "frequent_first", "vocabulary")


def naive_order(vocabulary, order):
    terms, frequencies = vocabulary.terms, vocabulary.document_frequencies
    if order == "vocabulary":
        return sorted(range(len(terms)), key=lambda i: terms[i])
    sign = 1 if order == "rare_first" else -1
    return sorted(range(len(terms)), key=lambda i: (sign * frequencies[i], terms[i]))


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("strategy", ["symmetric", "dominant", "rows"])
@given(problem=problems())
def test_every_strategy_agrees_with_the_naive_one(strategy, order, problem):
    candidates, vocabulary, limit = problem
    S = assemble(
        neighbors_of(candidates, vocabulary.terms),
        vocabulary,
        max_neighbors=limit,
        strategy=strategy,
        order=order,
    )
    if strategy == "rows":
        expected = oracle.keep_rows(candidates, limit, vocabulary.terms)
    else:
        expected = oracle.keep_symmetric(
            candidates,
            limit,
            vocabulary.terms,
            naive_order(vocabulary, order),
            dominant=strategy == "dominant",
        )
    np.testing.assert_array_equal(S.toarray(), expected)
    assert S.dtype == np.float32
    assert S.has_canonical_format
    off_diagonal = S.toarray().astype(np.float64) - np.eye(len(vocabulary))
    assert np.count_nonzero(off_diagonal, axis=1).max() <= limit
    matrix = TermSimilarityMatrix(S, vocabulary)
    if strategy != "rows":
        assert matrix.symmetric
    if strategy == "dominant":
        assert matrix.dominant
        assert np.all(np.abs(off_diagonal).sum(axis=0) < 1)
        assert np.linalg.eigvalsh(S.toarray().astype(np.float64))[0] > 0


@given(problems())
def test_the_naive_order_is_the_oracles(problem):
    _, vocabulary, _ = problem
    rare = oracle.rare_first(vocabulary.document_frequencies, vocabulary.terms)
    assert column_order(vocabulary, "rare_first").tolist() == rare


@given(problems(), st.booleans())
def test_the_kernel_enters_pairs_on_both_sides(problem, dominant):
    candidates, vocabulary, limit = problem
    n = len(vocabulary)
    found = neighbors_of(candidates, vocabulary.terms)
    columns, values = np.zeros((n, limit), np.int32), np.zeros((n, limit), np.float32)
    counts = np.zeros(n, np.int32)
    order = np.arange(n, dtype=np.int32)
    assemble_symmetric(
        found.indptr, found.indices, found.similarities, order, limit, dominant,
        columns, values, counts, np.zeros(n),
    )  # fmt: skip
    S = np.eye(n)
    for i in range(n):
        S[i, columns[i, : counts[i]]] = values[i, : counts[i]]
    np.testing.assert_array_equal(
        S,
        oracle.keep_symmetric(candidates, limit, vocabulary.terms, range(n), dominant=dominant),
    )


def test_dominance_is_judged_on_what_is_stored():
    # In float32 a tenth is a little more than a tenth, so ten of them exceed 1.
    n = 11
    star = ToySource({("hub", f"leaf{chr(97 + i)}"): 0.1 for i in range(n - 1)})
    vocabulary = Vocabulary(["hub", *(f"leaf{chr(97 + i)}" for i in range(n - 1))])
    S = TermSimilarityMatrix.from_source(star, vocabulary, strategy="dominant", guard=False)
    stored = S.to_scipy().toarray().astype(np.float64)
    assert np.abs(stored[0]).sum() - 1 < 1
    assert S.statistics().max_neighbors == 9
    assert S.dominant


def test_a_vocabulary_without_frequencies_goes_by_its_strings():
    vocabulary = Vocabulary(["b", "c", "a"])
    for order in ORDERS:
        assert column_order(vocabulary, order).tolist() == [2, 0, 1]


def test_no_terms_and_no_neighbors_give_the_identity():
    for n in (0, 1, 3):
        vocabulary = Vocabulary.numbered(n)
        for strategy in ("symmetric", "dominant", "rows"):
            S = assemble(Neighbors.none(n), vocabulary, max_neighbors=5, strategy=strategy)
            np.testing.assert_array_equal(S.toarray(), np.eye(n))
            assert S.nnz == n


def good_neighbors():
    return Neighbors(
        np.array([0, 2, 3, 3]), np.array([1, 2, 0], np.int32), np.array([0.5, 0.25, 0.5], "f")
    )


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"indptr": np.array([0, 3])}, "neighbours of 1 terms, and 3 were asked for"),
        ({"indptr": np.array([0, 2, 1, 3])}, "indptr does not fit"),
        ({"indptr": np.array([0, 2, 3, 4])}, "indptr does not fit"),
        ({"indptr": np.array([1, 2, 3, 3])}, "indptr does not fit"),
        ({"indices": np.array([1, 3, 0], np.int32)}, "names neighbours 0 to 3"),
        ({"indices": np.array([1, -1, 0], np.int32)}, "names neighbours -1 to 1"),
        ({"indices": np.array([0, 2, 0], np.int32)}, "as its own neighbour"),
        ({"similarities": np.array([0.5, np.nan, 0.5], "f")}, "a similarity of nan"),
        ({"similarities": np.array([1.5, 0.5, 0.5], "f")}, "a similarity of 1.5"),
        ({"similarities": np.array([0.5, -0.5, 0.5], "f")}, "a similarity of -0.5"),
        ({"similarities": np.array([0.25, 0.5, 0.5], "f")}, "by decreasing similarity"),
    ],
)
def test_a_source_that_breaks_its_promises_is_refused(change, message):
    with pytest.raises(InvalidInputError, match=message):
        assemble(replace(good_neighbors(), **change), Vocabulary.numbered(3), max_neighbors=5)


def test_unknown_settings_name_the_known_ones():
    vocabulary = Vocabulary.numbered(3)
    for settings, message in (
        ({"strategy": "greedy"}, "strategy is 'greedy'; choose one of symmetric, dominant, rows"),
        ({"order": "alphabet"}, "order is 'alphabet'; choose one of rare_first"),
        ({"max_neighbors": -1}, "max_neighbors is -1"),
    ):
        with pytest.raises(InvalidInputError, match=message):
            assemble(good_neighbors(), vocabulary, **{"max_neighbors": 5, **settings})
