"""Vocabularies: order, lookups, storing, and those of other libraries."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from softcosine.errors import InvalidInputError, NotFittedError, UnknownTermError
from softcosine.text.analyzer import Analyzer
from softcosine.text.packing import pack_strings, unpack_strings
from softcosine.text.vocabulary import Vocabulary

strings = st.text(st.characters(exclude_categories=()), max_size=5)
term_lists = st.lists(strings, max_size=8, unique=True)


@given(st.lists(strings, max_size=8))
def test_packed_strings_come_back(given_strings):
    blob, offsets = pack_strings(given_strings)
    assert blob.dtype == np.uint8
    assert offsets.dtype == np.int64
    assert unpack_strings(blob, offsets) == given_strings


@pytest.mark.parametrize(
    ("blob", "offsets"),
    [
        ([97], []),
        ([97], [0]),
        ([97], [0, 2]),
        ([97], [1, 1]),
        ([97, 98], [0, 2, 1, 2]),
        ([255], [0, 1]),
    ],
)
def test_broken_packed_strings_are_refused(blob, offsets):
    with pytest.raises(InvalidInputError, match="pack_strings"):
        unpack_strings(np.array(blob, np.uint8), np.array(offsets, np.int64))


@given(term_lists)
def test_lookups_agree_with_the_order(terms):
    vocabulary = Vocabulary(terms)
    assert list(vocabulary) == list(vocabulary.terms) == terms
    assert len(vocabulary) == len(terms)
    assert [vocabulary.index(term) for term in terms] == list(range(len(terms)))
    assert vocabulary.indices([*terms, "not there"]).tolist() == [*range(len(terms)), -1]
    assert vocabulary.indices([]).dtype == np.int32
    assert all(term in vocabulary for term in terms)
    ranks = vocabulary.ranks()
    assert ranks.dtype == np.int32
    assert [terms[i] for i in np.argsort(ranks)] == sorted(terms)


def test_an_unknown_term_is_an_error_or_minus_one():
    vocabulary = Vocabulary(["tea"])
    assert vocabulary.get("coffee") == -1
    assert "coffee" not in vocabulary
    with pytest.raises(UnknownTermError, match="'coffee' is not among the 1 terms"):
        vocabulary.index("coffee")


@given(term_lists, st.data())
def test_stored_vocabularies_come_back_whole(terms, data):
    frequencies = data.draw(
        st.none() | st.lists(st.integers(0, 9), min_size=len(terms), max_size=len(terms))
    )
    forms = data.draw(
        st.none()
        | st.lists(st.lists(strings, max_size=3), min_size=len(terms), max_size=len(terms))
    )
    n_docs = data.draw(st.none() | st.integers(9, 20))
    vocabulary = Vocabulary(terms, document_frequencies=frequencies, n_docs=n_docs, forms=forms)
    for copy in (
        Vocabulary.from_arrays(vocabulary.to_arrays()),
        pickle.loads(pickle.dumps(vocabulary)),
    ):
        assert copy == vocabulary
        assert hash(copy) == hash(vocabulary)
        assert copy.forms == vocabulary.forms
        assert copy.n_docs == n_docs
        if frequencies is None:
            assert copy.document_frequencies is None
        else:
            assert copy.document_frequencies.tolist() == frequencies


def test_damaged_arrays_are_refused():
    arrays = Vocabulary(["tea"], document_frequencies=[1], n_docs=1, forms=[["tea"]]).to_arrays()
    with pytest.raises(InvalidInputError, match="'term_offsets' of the vocabulary is missing"):
        Vocabulary.from_arrays({"terms": arrays["terms"]})
    for name, wrong in [
        ("form_bounds", np.array([0, 2])),
        ("form_bounds", np.array([], np.int64)),
        ("document_frequencies", np.array([1, 1])),
        ("document_frequencies", np.array([2])),
        ("n_docs", np.array([], np.int64)),
    ]:
        with pytest.raises(InvalidInputError):
            Vocabulary.from_arrays({**arrays, name: wrong})


def test_equality_is_by_terms_in_order():
    assert Vocabulary(["a", "b"]) == Vocabulary(["a", "b"], document_frequencies=[1, 2])
    assert Vocabulary(["a", "b"]) != Vocabulary(["b", "a"])
    assert Vocabulary(["a"]) != ("a",)


def test_a_vocabulary_cannot_be_changed():
    frequencies = np.array([1, 2])
    vocabulary = Vocabulary(["a", "b"], document_frequencies=frequencies, n_docs=2)
    frequencies[0] = 2
    assert vocabulary.document_frequencies.tolist() == [1, 2]
    with pytest.raises(ValueError, match="read-only"):
        vocabulary.document_frequencies[0] = 2
    with pytest.raises(ValueError, match="read-only"):
        vocabulary.ranks()[0] = 1
    with pytest.raises(AttributeError):
        vocabulary.terms = ()


@pytest.mark.parametrize(
    ("arguments", "settings", "message"),
    [
        ("tea", {}, "wrap it in a list"),
        (["a", 1], {}, "term 1 is 1"),
        (["a", "b", "a"], {}, "'a' is there twice"),
        (["a"], {"n_docs": -1}, "n_docs is -1"),
        (["a"], {"document_frequencies": [1, 2]}, "one number for each term"),
        (["a"], {"document_frequencies": [1.0]}, "pass integers"),
        (["a"], {"document_frequencies": [3], "n_docs": 2}, "reaches from 3 to 3"),
        (["a"], {"document_frequencies": [-1]}, "reaches from -1"),
        (["a"], {"forms": []}, "forms has 0 entries"),
    ],
)
def test_errors_say_what_does_not_fit(arguments, settings, message):
    with pytest.raises(InvalidInputError, match=message):
        Vocabulary(arguments, **settings)


def test_texts_and_tokens_make_vocabularies():
    vocabulary = Vocabulary.from_texts(
        (text for text in ["Green tea", "the teas"]), analyzer=Analyzer("english"), max_df=1
    )
    assert vocabulary.terms == ("green", "the")
    assert Vocabulary.from_tokens([["Green tea"], ["B"]]).terms == ("B", "Green tea")
    assert Vocabulary.from_texts([]).terms == ()


def test_columns_without_terms_are_numbered():
    assert Vocabulary.numbered(11).terms[9:] == ("9", "10")
    assert Vocabulary.numbered(0).terms == ()


def test_sklearn_vectorizers_give_their_columns():
    text = pytest.importorskip("sklearn.feature_extraction.text")
    documents = ["green tea", "black tea", "green green coffee"]
    for vectorizer in (text.CountVectorizer(ngram_range=(1, 2)), text.TfidfVectorizer()):
        X = vectorizer.fit_transform(documents)
        vocabulary = Vocabulary.from_sklearn(vectorizer)
        assert list(vocabulary) == list(vectorizer.get_feature_names_out())
        assert X[1, vocabulary.index("black")] > 0
    assert Vocabulary.from_sklearn(text.CountVectorizer(vocabulary=["b", "a"])).terms == ("b", "a")
    with pytest.raises(NotFittedError, match="not fitted"):
        Vocabulary.from_sklearn(text.CountVectorizer())
    with pytest.raises(InvalidInputError, match="HashingVectorizer keeps no vocabulary"):
        Vocabulary.from_sklearn(text.HashingVectorizer())


class GensimLikeDictionary:
    def __init__(self, token2id, dfs, num_docs):
        self.token2id, self.dfs, self.num_docs = token2id, dfs, num_docs


def test_dictionaries_give_ids_and_frequencies():
    vocabulary = Vocabulary.from_gensim(GensimLikeDictionary({"tea": 1, "green": 0}, {1: 2}, 3))
    assert vocabulary.terms == ("green", "tea")
    assert vocabulary.document_frequencies.tolist() == [0, 2]
    assert vocabulary.n_docs == 3
    bare = Vocabulary.from_gensim(GensimLikeDictionary({"tea": 0}, {}, 0))
    assert bare.document_frequencies is None
    with pytest.raises(InvalidInputError, match="compactify"):
        Vocabulary.from_gensim(GensimLikeDictionary({"tea": 0, "green": 2}, {}, 0))
    with pytest.raises(InvalidInputError, match="no token2id"):
        Vocabulary.from_gensim({"tea": 0})


def test_real_gensim_dictionaries_are_understood():
    corpora = pytest.importorskip("gensim.corpora")
    dictionary = corpora.Dictionary([["green", "tea"], ["tea", "black", "tea"]])
    vocabulary = Vocabulary.from_gensim(dictionary)
    assert all(vocabulary.index(term) == i for term, i in dictionary.token2id.items())
    assert vocabulary.document_frequencies[vocabulary.index("tea")] == 2
    assert vocabulary.n_docs == 2


@pytest.mark.parametrize("junk", [[], None, 3, b"tea"])
def test_only_a_string_is_looked_up(junk):
    with pytest.raises(InvalidInputError, match="pass a string"):
        Vocabulary(["tea"]).index(junk)
