"""Greedy assembly of S against a naive reference (theory T6)."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

import oracle
import strategies as own
from softcosine.errors import InvalidInputError
from softcosine.kernels.assembly import assemble_symmetric
from softcosine.matrix import building as answers
from softcosine.matrix.building import GrowingColumns, best_of_rows, with_diagonal
from softcosine.matrix.rules import Rules, column_order
from softcosine.matrix.term_similarity_matrix import TermSimilarityMatrix
from softcosine.similarity.neighbors import Neighbors
from softcosine.text.vocabulary import Vocabulary
from softcosine.text.weighting import Weighting
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


def assemble(
    neighbors, vocabulary, *, max_neighbors, order="rare_first", strategy="symmetric", **settings
):
    """S from the candidates of every term, where the columns choose once."""
    n = len(vocabulary)
    rules = Rules(max_neighbors, strategy=strategy, **settings)
    sequence = column_order(vocabulary, order)
    checked = answers.checked_answer(neighbors, n_asked=n, n_among=n, first=0)
    admitted = rules.admitted(checked)
    if strategy == "rows":
        return with_diagonal(best_of_rows(admitted, max_neighbors))
    columns = GrowingColumns(
        csr_array((n, n), dtype=np.float32), np.ones(n, bool), limit=max_neighbors,
        dominant=rules.dominant,
    )  # fmt: skip
    columns.enter(admitted, sequence)
    return columns.to_csr()


ORDERS = ("rare_first", "frequent_first", "idf", "vocabulary")


def naive_order(vocabulary, order):
    terms, frequencies = vocabulary.terms, vocabulary.document_frequencies
    if order == "vocabulary":
        return sorted(range(len(terms)), key=lambda i: terms[i])
    sign = -1 if order == "frequent_first" else 1
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
    matrix = TermSimilarityMatrix.from_entries(S, vocabulary)
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
    columns, values = np.zeros(n * limit, np.int32), np.zeros(n * limit, np.float32)
    starts = np.arange(n + 1) * limit
    ends = starts[:-1].copy()
    order = np.arange(n, dtype=np.int32)
    assemble_symmetric(
        found.indptr, found.indices, found.similarities, order, dominant,
        starts, ends, columns, values, np.zeros(n),
    )  # fmt: skip
    S = np.eye(n)
    for i in range(n):
        S[i, columns[starts[i] : ends[i]]] = values[starts[i] : ends[i]]
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
        (
            {"strategy": "greedy"},
            "strategy is 'greedy'; it must be one of symmetric, dominant, rows",
        ),
        ({"order": "alphabet"}, "order is 'alphabet'; choose one of rare_first"),
        ({"max_neighbors": -1}, "max_neighbors is -1"),
        ({"max_neighbors": 2.5}, "max_neighbors is 2.5"),
        ({"min_similarity": 1.5}, "min_similarity is 1.5"),
        ({"min_similarity": "much"}, "min_similarity is 'much'"),
        ({"min_similarity": np.nan}, "min_similarity is nan"),
        ({"order": [1, 2]}, r"order has shape \(2,\)"),
        ({"order": [1, 2, np.inf]}, "finite weight"),
        ({"order": [["a"], 2]}, "order cannot be read"),
    ):
        with pytest.raises(InvalidInputError, match=message):
            assemble(good_neighbors(), vocabulary, **{"max_neighbors": 5, **settings})


@pytest.mark.parametrize("strategy", ["symmetric", "dominant", "rows"])
@given(problem=problems(), least=st.sampled_from((0.0, 0.1, 0.3, 0.5, 1.0)))
def test_candidates_below_the_least_similarity_might_as_well_not_be_there(strategy, problem, least):
    candidates, vocabulary, limit = problem
    found = neighbors_of(candidates, vocabulary.terms)
    above = np.where(candidates >= np.float32(least), candidates, 0)
    np.testing.assert_array_equal(
        assemble(
            found, vocabulary, max_neighbors=limit, strategy=strategy, min_similarity=least
        ).toarray(),
        assemble(
            neighbors_of(above, vocabulary.terms),
            vocabulary,
            max_neighbors=limit,
            strategy=strategy,
        ).toarray(),
    )


@given(problems(), st.data())
def test_columns_choose_by_weights_of_ones_own(problem, data):
    candidates, vocabulary, limit = problem
    n, terms = len(vocabulary), vocabulary.terms
    weights = data.draw(st.lists(st.sampled_from((0.0, 0.5, 2.0)), min_size=n, max_size=n))
    S = assemble(neighbors_of(candidates, terms), vocabulary, max_neighbors=limit, order=weights)
    order = sorted(range(n), key=lambda i: (-weights[i], terms[i]))
    expected = oracle.keep_symmetric(candidates, limit, terms, order)
    np.testing.assert_array_equal(S.toarray(), expected)


def test_the_order_by_idf_is_that_of_every_idf():
    vocabulary = Vocabulary(list("abcdef"), document_frequencies=[3, 1, 2, 2, 5, 0], n_docs=5)
    assert (
        column_order(vocabulary, "idf").tolist() == column_order(vocabulary, "rare_first").tolist()
    )
    for idf in ("smooth", "bm25"):
        weights = Weighting(idf=idf).term_weights(vocabulary.document_frequencies, n_docs=5)
        assert (
            column_order(vocabulary, weights).tolist() == column_order(vocabulary, "idf").tolist()
        )


def full_source(candidates, terms):
    """A source that gives the symmetric candidates, however many are asked for."""
    return ToySource(
        {
            (terms[i], terms[j]): candidates[i, j]
            for i, j in zip(*np.nonzero(np.triu(candidates, 1)), strict=True)
        }
    )


def naive_build(candidates, vocabulary, limit, order, S=None, new=None):
    """What asking for `limit` candidates at a time leads to, column by column."""
    terms, n = vocabulary.terms, len(vocabulary)
    S = np.eye(n) if S is None else S.copy()
    choosing = set(range(n)) if new is None else set(new)
    cut = {i: oracle.by_similarity(candidates, i, terms) for i in choosing}
    asking = set(choosing)
    while asking:
        lists = {i: cut[i][:limit] for i in asking}
        for i in order:
            for j in lists.get(i, []):
                room = np.count_nonzero(S[[i, j]], axis=1) - 1 < limit
                if not S[i, j] and room.all():
                    S[i, j] = S[j, i] = np.float32(candidates[i, j])
        has_room = {i for i in range(n) if np.count_nonzero(S[i]) - 1 < limit}
        asking = {i for i in asking if len(lists[i]) == limit and i in has_room}
        partners = asking | (has_room - choosing)
        for i in asking:
            cut[i] = [j for j in oracle.by_similarity(candidates, i, terms) if j in partners]
    return S


@given(problems())
def test_columns_are_filled_while_there_are_neighbors_with_room(problem):
    candidates, vocabulary, limit = problem
    candidates = np.triu(candidates, 1) + np.triu(candidates, 1).T
    source = full_source(candidates, vocabulary.terms)
    S = TermSimilarityMatrix.from_source(
        source, vocabulary, max_neighbors=limit, guard=False, warn=False
    )
    entries = S.to_scipy().toarray()
    order = naive_order(vocabulary, "rare_first")
    np.testing.assert_array_equal(entries, naive_build(candidates, vocabulary, limit, order))
    held = np.count_nonzero(entries, axis=1) - 1
    assert held.max() <= limit
    for i, j in zip(*np.nonzero(candidates), strict=True):
        assert entries[i, j] or held[i] == limit or held[j] == limit
    # Everybody's first choice goes before anybody's second thought.
    once = assemble(
        source.neighbors(vocabulary.terms, vocabulary.terms, max_neighbors=limit),
        vocabulary,
        max_neighbors=limit,
    ).toarray()
    assert np.all((once == 0) | (once == entries))


def test_strangers_use_up_no_place():
    strangers = {("tea", f"stranger{i}"): 0.9 for i in range(200)}
    own = {("tea", f"leaf{chr(97 + i)}"): 0.5 for i in range(20)}
    source = ToySource({**strangers, **own})
    vocabulary = Vocabulary(["tea", *(pair[1] for pair in own)])
    S = TermSimilarityMatrix.from_source(source, vocabulary, max_neighbors=10, warn=False)
    assert S.statistics(eigenvalue=False).max_neighbors == 10
    assert len(S.neighbors("tea")) == 10


class Chunks(ToySource):
    """Records how many terms are asked for at a time."""

    def __init__(self, *arguments, **options):
        super().__init__(*arguments, **options)
        self.asked = []

    def neighbors(self, terms, among, *, max_neighbors):
        self.asked.append(len(terms))
        return super().neighbors(terms, among, max_neighbors=max_neighbors)


@pytest.mark.parametrize("strategy", ["symmetric", "dominant", "rows"])
@given(problem=problems())
def test_asking_in_chunks_changes_no_bit(strategy, problem):
    candidates, vocabulary, limit = problem
    candidates = np.triu(candidates, 1) + np.triu(candidates, 1).T
    source = full_source(candidates, vocabulary.terms)
    options = {"max_neighbors": limit, "strategy": strategy, "guard": False, "warn": False}
    whole = TermSimilarityMatrix.from_source(source, vocabulary, **options)
    told = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(answers, "CHUNK_TERMS", 2)
        source = Chunks(source.pairs)
        chunked = TermSimilarityMatrix.from_source(
            source, vocabulary, progress=lambda *now: told.append(now), **options
        )
    assert max(source.asked) <= 2 or source.asked[-1] <= len(vocabulary)
    n = len(vocabulary)
    assert told == [(min(i + 2, n), n) for i in range(0, n, 2)]
    for before, after in zip(whole.arrays, chunked.arrays, strict=True):
        np.testing.assert_array_equal(before, after)


def test_of_asymmetric_answers_the_first_column_that_chooses_decides():
    candidates = np.array([[0, 0.5, 0], [0.9, 0, 0.3], [0, 0.0, 0]], np.float32).astype(float)
    vocabulary = Vocabulary(list("abc"), document_frequencies=[2, 1, 3])
    found = neighbors_of(candidates, vocabulary.terms)
    rare = assemble(found, vocabulary, max_neighbors=5)
    assert rare[0, 1] == rare[1, 0] == np.float32(0.9)
    assert rare[2, 1] == rare[1, 2] == np.float32(0.3)
    frequent = assemble(found, vocabulary, max_neighbors=5, order="frequent_first")
    assert frequent[0, 1] == frequent[1, 0] == np.float32(0.5)


class Lying(ToySource):
    def __init__(self, answer):
        super().__init__({})
        self.answer = answer

    def neighbors(self, terms, among, *, max_neighbors):
        return self.answer


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (replace(good_neighbors(), indices=np.array([1, 3, 0], "i4")), "names neighbours 0 to 3"),
        (
            replace(good_neighbors(), indices=np.array([1.0, 2, 0])),
            "a flat array of integers",
        ),
        (
            replace(good_neighbors(), similarities=np.array([0.5, np.nan, 1], "f")),
            "similarity of nan",
        ),
        (replace(good_neighbors(), similarities=np.array([0.1, 0.2, 1], "f")), "decreasing"),
        (Neighbors.none(2), "gives the neighbours of 2 terms, and 3 were asked for"),
        ([[1], [2], []], "gives neighbours as list; a Neighbors is needed"),
    ],
)
def test_what_a_source_answers_is_checked(answer, message):
    for progress in (None, lambda done, total: None):
        with pytest.raises(InvalidInputError, match=message):
            TermSimilarityMatrix.from_source(
                Lying(answer), Vocabulary(list("abc")), guard=False, progress=progress
            )


def test_a_neighbor_that_is_named_twice_counts_once_or_is_refused():
    twice = Neighbors(np.array([0, 2, 2]), np.array([1, 1], "i4"), np.array([0.5, 0.5], "f"))
    vocabulary = Vocabulary(list("ab"))
    S = assemble(twice, vocabulary, max_neighbors=5)
    assert S.toarray().tolist() == [[1, 0.5], [0.5, 1]]
    with pytest.raises(InvalidInputError, match="a term twice"):
        assemble(twice, vocabulary, max_neighbors=5, strategy="rows")


@pytest.mark.parametrize("limit", [0, 1, 2, 10**9])
def test_any_limit_will_do(limit):
    source = ToySource({("a", "b"): 0.5, ("b", "c"): 0.25, ("a", "c"): 0.125})
    S = TermSimilarityMatrix.from_source(source, Vocabulary(list("abc")), max_neighbors=limit)
    assert S.statistics().max_neighbors == min(limit, 2)


@pytest.mark.parametrize("progress", [None, lambda done, total: None])
def test_joined_words_have_no_neighbors_and_are_not_asked_for(progress):
    joined, terms = "\u2060ebike", ["bike", "ebike", "\u2060ebike", "moped"]
    source = ToySource({("ebike", "moped"): 0.5, (joined, "moped"): 0.9, (joined, "bike"): 0.8})
    asked = []

    def neighbors(words, among, *, max_neighbors, answer=source.neighbors):
        asked.extend((*words, *among))
        return answer(words, among, max_neighbors=max_neighbors)

    source.neighbors = neighbors
    short = TermSimilarityMatrix.from_source(
        source, Vocabulary(terms[:2]), guard=False, progress=progress
    )
    for S in (
        TermSimilarityMatrix.from_source(source, Vocabulary(terms), guard=False, progress=progress),
        short.extend(Vocabulary(terms), source, progress=progress),
    ):
        assert S.neighbors("ebike") == [("moped", 0.5)]
        assert S.neighbors(joined) == []
    assert set(asked) == {"bike", "ebike", "moped"}


def test_answers_of_other_number_types_make_the_same_matrix():
    answer = good_neighbors()
    wide = Neighbors(
        answer.indptr.astype(np.int32),
        answer.indices.astype(np.int64),
        answer.similarities.astype(np.float64),
    )
    vocabulary = Vocabulary(list("abc"))
    narrow, other = (
        TermSimilarityMatrix.from_source(Lying(one), vocabulary, guard=False).to_scipy()
        for one in (answer, wide)
    )
    assert other.data.dtype == np.float32
    np.testing.assert_array_equal(narrow.toarray(), other.toarray())
