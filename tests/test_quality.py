"""The share of one-word queries whose first answer lacks the word."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from softcosine.errors import InvalidInputError
from softcosine.index.quality import one_word_quality
from softcosine.index.soft_index import SoftIndex
from softcosine.matrix.term_similarity_matrix import TermSimilarityMatrix
from softcosine.text.analyzer import Analyzer
from softcosine.text.vocabulary import Vocabulary

WORDS = ["ant", "bee", "cat", "dog", "eel"]


def indexed(texts, similarity=0.0, ranking="soft_bm25"):
    vocabulary = Vocabulary(WORDS)
    dense = np.full((len(WORDS), len(WORDS)), similarity)
    np.fill_diagonal(dense, 1.0)
    S = TermSimilarityMatrix.from_matrix(dense, vocabulary)
    return SoftIndex.from_texts(texts, S=S, analyzer=Analyzer(), ranking=ranking)


@given(
    st.lists(st.lists(st.sampled_from(WORDS), max_size=4).map(" ".join), min_size=1, max_size=6),
    st.sampled_from([0.0, 0.5, 0.99]),
    st.sampled_from(["soft_bm25", "soft_cosine", "inner_product"]),
)
def test_it_is_what_searches_for_every_word_say(texts, similarity, ranking):
    index = indexed(texts, similarity, ranking)
    standing = {word for text in texts for word in text.split()}
    lacking = set()
    for word in standing:
        hits = index.search(word, k=1)
        if not hits or word not in hits[0].text.split():
            lacking.add(word)
    quality = one_word_quality(index)
    assert quality.n_words == len(standing)
    assert quality.n_lacking == len(lacking)
    assert {word for word, _ in quality.examples} <= lacking
    for word, id in quality.examples:
        assert index.search(word, k=1)[0].id == id


def test_bold_similarities_are_told_by_example():
    index = indexed(["ant", "bee bee bee bee bee ant ant dog", "cat"], 0.99, "inner_product")
    quality = one_word_quality(index)
    assert quality.n_words == 4
    assert quality.examples == (("cat", "1"),)
    assert quality.share == 0.25


def test_only_so_many_words_are_drawn_and_the_same_for_a_seed():
    texts = [f"word{i} word{i + 1} word{i + 2}" for i in range(0, 900, 3)]
    index = SoftIndex.from_texts(texts, plain=True)
    assert one_word_quality(index, 300) == one_word_quality(index, 300)
    assert one_word_quality(index, 300).n_words == 300
    assert one_word_quality(index).n_words == 900


def test_an_index_without_words_lacks_none():
    quality = one_word_quality(indexed([""]))
    assert (quality.n_words, quality.share) == (0, 0.0)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"n_words": 0}, "n_words is 0; it must be a whole number of 1 or more"),
        ({"n_words": 2.5}, "n_words is 2.5"),
        ({"seed": -1}, "seed is -1; it must be a whole number of 0 or more"),
    ],
)
def test_bad_settings_are_named(settings, message):
    with pytest.raises(InvalidInputError, match=message):
        one_word_quality(indexed(["ant"]), **settings)
