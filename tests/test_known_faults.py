"""What the known implementation gets wrong (docs/decisions.md); each fault is tested for here."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array, eye_array

from conftest import JIT
from softcosine.errors import (
    IndefiniteMatrixError,
    InvalidInputError,
    UnknownTermError,
    VocabularyMismatchError,
)
from softcosine.index.soft_index import SoftIndex
from softcosine.matrix.term_similarity_matrix import TermSimilarityMatrix
from softcosine.similarity.embeddings.embedding import EmbeddingSimilarity
from softcosine.sklearn.soft_neighbors import SoftNeighbors
from softcosine.space.measures import (
    soft_cosine_similarity,
    soft_inner_product,
    soft_norm,
    sparse_soft_cosine_similarity,
)
from softcosine.text.analyzer import Analyzer
from softcosine.text.vocabulary import Vocabulary
from softcosine.text.weighting import Weighting
from toys import ToySource, similarity_matrix

HALF = pytest.approx(np.sqrt(0.5), abs=1e-15)


def test_1_a_document_is_divided_by_its_whole_norm():
    # S = I, query {a}, document {a, b}: 0.7071, not 1, alone, in a batch and in pairs.
    identity = similarity_matrix(np.eye(2))
    assert soft_cosine_similarity([[1, 0]], [[1, 1]], identity)[0, 0] == HALF
    neighbors = SoftNeighbors(identity).fit([[1, 1], [0, 1]])
    assert neighbors.search([[1, 0]], k=1).scores[0, 0] == HALF
    assert neighbors.search([[1, 0]] * 3, k=1).scores.tolist() == [[HALF]] * 3
    index = SoftIndex.from_texts(
        ["a b", "b"], plain=True, analyzer=Analyzer(), weighting=Weighting("raw", "none"),
        ranking="soft_cosine",
    )  # fmt: skip
    assert index.search("a")[0].score == HALF
    assert [hits[0].score for hits in index.search_batch(["a", "a"])] == [HALF] * 2


def test_2_a_term_outside_the_matrix_is_no_crash():
    S = similarity_matrix(np.eye(2), Vocabulary(["a", "b"]))
    beyond = csr_array(([1.0, 1.0], ([0, 0], [0, 7])), shape=(1, 8))
    with pytest.raises(VocabularyMismatchError, match="Q has 8 terms but S has 2"):
        SoftNeighbors(S).fit([[1, 1]]).search(beyond)
    with pytest.raises(VocabularyMismatchError, match="X has 8 terms but S has 2"):
        SoftNeighbors(S).fit(beyond)
    with pytest.raises(VocabularyMismatchError, match="Y has 8 terms but S has 2"):
        soft_inner_product([[1, 1]], beyond, S)
    with pytest.raises(UnknownTermError, match="'zzz' is not among the 2 terms"):
        S.neighbors("zzz")
    index = SoftIndex.from_texts(
        ["a b"], S=S, analyzer=Analyzer(), language="none", ranking="soft_cosine"
    )
    assert index.search("a zzz")[0].score == index.search("a")[0].score
    assert index.search("a zzz").unknown == ("zzz",)


def test_3_words_outside_the_vocabulary_take_no_place_in_a_column():
    # A hundred better neighbours that no document has stand before the five that it has.
    outside = {("tea", f"outside{i}"): 0.9 for i in range(100)}
    inside = [f"inside{letter}" for letter in "abcde"]
    source = ToySource({**outside, **{("tea", word): 0.5 for word in inside}})
    vocabulary = Vocabulary(["tea", *inside])
    for strategy in ("symmetric", "rows"):
        S = TermSimilarityMatrix.from_source(
            source, vocabulary, max_neighbors=5, strategy=strategy, guard=False, warn=False
        )
        assert [word for word, _ in S.neighbors("tea")] == inside


@pytest.mark.parametrize("order", ["rare_first", "frequent_first", "vocabulary"])
def test_4_the_most_similar_neighbors_come_first(order):
    source = ToySource({("tea", "rare"): 0.3, ("tea", "close"): 0.9})
    vocabulary = Vocabulary(["tea", "rare", "close"], document_frequencies=[50, 60, 90], n_docs=100)
    dominant = TermSimilarityMatrix.from_source(
        source, vocabulary, strategy="dominant", order=order
    )
    # "tea" chooses first or second; "rare", a column of one, may go first where it is the rarest.
    if order == "rare_first":
        assert dominant.neighbors("tea") == [("close", pytest.approx(0.9))]
    for limit in (1, 2):
        S = TermSimilarityMatrix.from_source(
            source, vocabulary, max_neighbors=limit, order="rare_first", warn=False
        )
        assert S.neighbors("tea")[0] == ("close", pytest.approx(0.9))


def test_5_similarities_above_1_are_refused():
    with pytest.raises(InvalidInputError, match=r"a similarity of 1\.5.*at most 1"):
        TermSimilarityMatrix.from_source(ToySource({("a", "b"): 1.5}), Vocabulary(["a", "b"]))


def test_6_nothing_has_similarities_of_the_right_shape():
    S = similarity_matrix(np.eye(2))
    nothing, one = np.empty((0, 2)), [[1.0, 0]]
    assert soft_cosine_similarity(nothing, one, S).shape == (0, 1)
    assert soft_cosine_similarity(one, nothing, S).shape == (1, 0)
    assert soft_inner_product(nothing, nothing, S).shape == (0, 0)
    assert soft_cosine_similarity([[0, 0]], one, S).tolist() == [[0]]
    assert SoftNeighbors(S).fit(nothing).search(one).scores.shape == (1, 0)
    assert SoftNeighbors(S).fit(one).search(nothing).scores.shape == (0, 1)
    empty = SoftIndex.from_texts([], plain=True)
    assert len(empty.search("a")) == 0
    assert len(SoftIndex.from_texts(["a"], plain=True).search("")) == 0


def test_7_a_negative_square_is_an_error_with_its_repair():
    S = similarity_matrix(np.eye(3) - 0.9 * (1 - np.eye(3)))
    with pytest.raises(IndefiniteMatrixError, match=r"for document 0.*Use S\.shrunk\(\)"):
        soft_norm([[1, 1, 1]], S)
    with pytest.raises(IndefiniteMatrixError, match=r"Use S\.shrunk\(\)"):
        SoftNeighbors(S).fit([[1, 1, 1]])
    repaired = S.shrunk()
    assert soft_norm([[1, 1, 1]], repaired)[0] > 0
    assert SoftNeighbors(repaired).fit([[1, 1, 1]]).search([[1, 1, 1]]).scores[0, 0] == (
        pytest.approx(1)
    )


def test_8_all_pairs_stay_sparse():
    # As a dense array the answer would take 80 GB.
    n = 100_000
    X = eye_array(n, format="csr")
    S = TermSimilarityMatrix.identity(Vocabulary.numbered(n))
    found = sparse_soft_cosine_similarity(X, None, S)
    assert found.shape == (n, n)
    assert found.nnz == n
    assert found.diagonal().tolist() == [1.0] * n


def test_9_the_blocked_build_finds_the_exact_neighbors():
    generator = np.random.default_rng(0)
    n, k = (700, 10) if JIT else (60, 5)
    vectors = generator.standard_normal((n, 16)).astype(np.float32)
    vectors[n // 2 : n // 2 + 5] = vectors[0]  # ties
    words = [f"{letter}{i}" for i in range(-(-n // 3)) for letter in "bca"][:n]
    source = EmbeddingSimilarity(words, vectors, threshold=0.0, exponent=1.0)
    found = source.neighbors(words, words, max_neighbors=k)
    for i in range(n):
        similarities = source.similarities([words[i]] * n, words)
        best = sorted(
            (j for j in range(n) if j != i and similarities[j] > 0),
            key=lambda j: (-similarities[j], words[j]),
        )[:k]
        positions, values = found.of(i)
        assert positions.tolist() == best
        assert values.tolist() == similarities[best].tolist()
    units = vectors / np.linalg.norm(vectors.astype(np.float64), axis=1, keepdims=True)
    np.testing.assert_allclose(
        source.similarities([words[0]] * n, words), np.maximum(units @ units[0], 0), atol=1e-6
    )
