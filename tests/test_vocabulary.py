"""Vocabularies: order, lookups, storing, and those of other libraries."""

from __future__ import annotations

import contextlib
import pickle
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from softcosine.errors import InvalidInputError, NotFittedError, UnknownTermError
from softcosine.text.packing import PackedLists, PackedStrings, pack_strings, unpack_strings
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


@given(st.lists(strings, max_size=8), st.lists(strings, max_size=3))
def test_packed_strings_are_a_sequence(given_strings, more):
    packed = PackedStrings(*pack_strings(given_strings))
    assert len(packed) == len(given_strings)
    for i in range(-len(given_strings), len(given_strings)):
        assert packed[i] == given_strings[i]
    for i in (len(given_strings), -len(given_strings) - 1):
        with pytest.raises(IndexError):
            packed[i]
    assert list(packed) == list(packed.strings()) == given_strings
    longer = packed.extended(more)
    assert list(longer) == [*given_strings, *more]
    assert longer == PackedStrings.of((*given_strings, *more)) == pickle.loads(pickle.dumps(longer))
    assert longer.starts_with(packed)
    assert packed.starts_with(longer) == (packed == longer) == (not more)
    assert packed != given_strings


@given(st.lists(st.lists(strings, max_size=3), max_size=6), st.lists(st.lists(strings), max_size=2))
def test_packed_lists_are_a_sequence_of_tuples(lists, more):
    expected = [tuple(strings) for strings in lists]
    stored = PackedLists.of(lists)
    packed = PackedLists(PackedStrings(stored.flat.blob, stored.flat.offsets), stored.bounds)
    assert len(packed) == len(expected)
    assert [packed[i] for i in range(len(expected))] == expected
    assert [packed[-1 - i] for i in range(len(expected))] == expected[::-1]
    assert list(packed.lists()) == expected
    longer = packed.extended(more)
    assert list(longer.lists()) == [*expected, *map(tuple, more)]
    assert pickle.loads(pickle.dumps(longer)).lists() == longer.lists()
    with pytest.raises(IndexError):
        packed[len(expected)]


@contextmanager
def reading(n, *, checked_at_once=-1):
    """Let look-ups read all terms where `n` times as many as there are would be asked for."""
    with (
        patch("softcosine.text.terms._READ_MEANWHILE", n),
        patch("softcosine.text.vocabulary._CHECKED_AT_ONCE", checked_at_once),
    ):
        yield


READING = pytest.mark.parametrize("n", [0, 1 << 30])


def stored(vocabulary):
    """The same, as it is after it was stored and opened."""
    return Vocabulary.from_arrays(vocabulary.to_arrays())


@READING
@given(term_lists, st.lists(strings, max_size=5))
def test_look_ups_in_a_stored_vocabulary_are_those_of_the_terms(n, terms, others):
    with reading(n):
        vocabulary = stored(Vocabulary(terms))
        asked = [*terms[::-1], *others]
        expected = [terms.index(term) if term in terms else -1 for term in asked]
        assert [vocabulary.get(term) for term in asked] == expected
        assert vocabulary.indices(asked).tolist() == expected
        assert vocabulary.indices(iter(asked)).dtype == np.int32
        assert [term in vocabulary for term in asked] == [i >= 0 for i in expected]
        assert [vocabulary.term(i) for i in range(len(terms))] == terms
        assert vocabulary.ranks().tolist() == Vocabulary(terms).ranks().tolist()
        assert hash(vocabulary) == hash(Vocabulary(terms))
        assert vocabulary == Vocabulary(terms) == vocabulary
        assert vocabulary == stored(Vocabulary(terms))
        assert vocabulary != stored(Vocabulary([*terms, "longer than five"]))
        assert 3 not in vocabulary
        vocabulary.check()


@READING
@given(term_lists, st.data())
def test_an_extended_vocabulary_is_one_of_all_the_terms(n, terms, data):
    cut = data.draw(st.integers(0, len(terms)))
    form_lists = st.lists(st.lists(strings, max_size=2), min_size=len(terms), max_size=len(terms))
    forms = data.draw(st.none() | form_lists)
    frequencies = data.draw(
        st.none() | st.lists(st.integers(0, 9), min_size=len(terms), max_size=len(terms))
    )
    whole = Vocabulary(terms, document_frequencies=frequencies, n_docs=9, forms=forms)
    with reading(n):
        old = Vocabulary(terms[:cut], forms=forms and forms[:cut])
        used = stored(old)
        assert used.indices(terms[:cut]).tolist() == list(range(cut))
        assert used.terms == tuple(terms[:cut])
        for before in (old, stored(old), used):
            after = before.extended(
                terms[cut:], document_frequencies=frequencies, n_docs=9, forms=forms and forms[cut:]
            )
            assert after == whole
            assert hash(after) == hash(whole)
            assert after.indices(terms).tolist() == list(range(len(terms)))
            assert [after.get(term) for term in terms] == list(range(len(terms)))
            assert after.forms == whole.forms
            assert [after.forms_of(i) for i in range(len(terms))] == list(
                whole.forms or ((),) * len(terms)
            )
            assert after.starts_with(before)
            assert before.starts_with(after) == (cut == len(terms))
            assert before.terms == tuple(terms[:cut])
            found, expected = after.to_arrays(), whole.to_arrays()
            assert found.keys() == expected.keys()
            for name, array in expected.items():
                np.testing.assert_array_equal(found[name], array)
            after.check()


@pytest.mark.parametrize(
    ("terms", "settings", "message"),
    [
        (["tea"], {}, "has the term 'tea' already"),
        (["x", "x"], {}, "'x' is there twice"),
        ("tea", {}, "wrap it in a list"),
        ([3], {}, "term 0 is 3"),
        (["x"], {"document_frequencies": [1]}, "there are 3 terms"),
        (["x"], {"document_frequencies": [1, 1, 9], "n_docs": 3}, "reaches from 1 to 9"),
        (["x"], {"n_docs": -1}, "n_docs is -1"),
        (["x"], {"forms": []}, "forms has 0 entries but there are 1 new terms"),
        (["x"], {"forms": [["x"]]}, "the 2 old terms have no forms, and some are given"),
    ],
)
def test_what_cannot_be_appended_is_told(terms, settings, message):
    with pytest.raises(InvalidInputError, match=message):
        Vocabulary(["tea", "coffee"]).extended(terms, **settings)


def test_terms_with_forms_are_extended_by_terms_with_forms():
    with pytest.raises(InvalidInputError, match="the 1 old terms have forms, and none are given"):
        Vocabulary(["tea"], forms=[["teas"]]).extended(["x"])
    assert Vocabulary(["tea"], forms=[["teas"]]).extended([]).forms == (("teas",),)
    assert Vocabulary([]).extended(["x"], forms=[["xs"]]).forms == (("xs",),)
    assert Vocabulary([], forms=[]).extended(["x"]).forms is None


def test_a_large_stored_vocabulary_is_not_read_on_opening():
    arrays = Vocabulary(
        ["b", "a", "c"], document_frequencies=[1, 2, 3], n_docs=3, forms=[["bs"], [], ["cs", "c"]]
    ).to_arrays()
    with (
        reading(0),
        patch("softcosine.text.packing.unpack_strings", side_effect=AssertionError("all read")),
    ):
        vocabulary = Vocabulary.from_arrays(arrays)
        assert vocabulary.indices(["c", "x", "a", "b"]).tolist() == [2, -1, 1, 0]
        assert vocabulary.term(2) == "c"
        assert vocabulary.forms_of(2) == ("cs", "c")
        assert vocabulary.ranks().tolist() == [1, 0, 2]
        assert vocabulary == Vocabulary.from_arrays(arrays)
        longer = vocabulary.extended(["ab"], forms=[["abs"]])
        assert longer.indices(["ab", "c"]).tolist() == [3, 2]
        assert hash(longer.extended([])) == hash(longer)
        assert longer.to_arrays()["term_order"].tolist() == [1, 3, 0, 2]
        with pytest.raises(AssertionError, match="all read"):
            vocabulary.check()


def test_arrays_of_earlier_versions_have_no_order():
    arrays = Vocabulary(["b", "a"]).to_arrays()
    del arrays["term_order"]
    vocabulary = Vocabulary.from_arrays(arrays)
    assert vocabulary.indices(["a", "b", "c"]).tolist() == [1, 0, -1]
    assert vocabulary.get("a") == 1
    assert vocabulary.extended(["aa"]).ranks().tolist() == [2, 0, 1]
    assert vocabulary.to_arrays()["term_order"].tolist() == [1, 0]
    twice = {"terms": np.frombuffer(b"aa", np.uint8), "term_offsets": np.array([0, 1, 2])}
    with pytest.raises(InvalidInputError, match="there twice"):
        Vocabulary.from_arrays(twice)


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("term_order", np.array([0, 1], np.int32)),
        ("term_order", np.array([1, 1], np.int32)),
        ("term_order", np.array([1, 2], np.int32)),
        ("term_order", np.array([1, -1], np.int32)),
        ("terms", np.array([255, 97], np.uint8)),
        ("terms", np.array([97, 97], np.uint8)),
        ("term_offsets", np.array([0, 3, 2])),
        ("forms", np.array([255, 255], np.uint8)),
        ("form_offsets", np.array([0, 3, 2])),
        ("form_bounds", np.array([0, 3, 2])),
        ("document_frequencies", np.array([0, 4])),
    ],
)
def test_damage_is_found_by_the_check_and_is_an_error_of_ours_before(name, wrong):
    whole = Vocabulary(["b", "a"], document_frequencies=[1, 1], n_docs=2, forms=[["b"], ["a"]])
    arrays = {**whole.to_arrays(), name: wrong}
    with pytest.raises(InvalidInputError):
        Vocabulary.from_arrays(arrays)
    with reading(0):
        vocabulary = Vocabulary.from_arrays(arrays)
        for ask in (
            lambda: [vocabulary.get(term) for term in ("a", "b", "c")],
            lambda: [vocabulary.term(i) for i in range(2)],
            lambda: [vocabulary.forms_of(i) for i in range(2)],
            lambda: vocabulary.extended(["ab"], forms=[[]]),
            vocabulary.ranks,
            vocabulary.to_arrays,
        ):
            with contextlib.suppress(InvalidInputError):
                ask()
        with pytest.raises(InvalidInputError):
            vocabulary.check()


@pytest.mark.parametrize(
    ("name", "wrong", "message"),
    [
        ("term_order", np.array([0], np.int32), "the stored order of the 2 terms"),
        ("term_order", np.array([0, 1], np.int64), "the stored order of the 2 terms"),
        ("term_offsets", np.array([0, 1, 1]), "rise from 0 to 2"),
        ("form_bounds", np.array([0, 1, 1]), "do not divide 2 strings"),
        ("document_frequencies", np.array([0.5, 1.0]), "pass integers"),
    ],
)
def test_sizes_are_checked_on_opening_however_large(name, wrong, message):
    whole = Vocabulary(["b", "a"], document_frequencies=[1, 1], n_docs=2, forms=[["b"], ["a"]])
    with reading(0), pytest.raises(InvalidInputError, match=message):
        Vocabulary.from_arrays({**whole.to_arrays(), name: wrong})


def test_several_threads_may_open_the_terms_at_once():
    terms = [f"term {i}" for i in range(2000)]
    arrays = Vocabulary(terms, forms=[[term] for term in terms]).to_arrays()
    with reading(0):
        vocabulary = Vocabulary.from_arrays(arrays)

        def ask(first):
            numbers = vocabulary.indices(terms[first::8]).tolist()
            return numbers, vocabulary.terms, vocabulary.forms, vocabulary.ranks().tolist()

        with ThreadPoolExecutor(8) as pool:
            for first, (numbers, read, forms, ranks) in enumerate(pool.map(ask, range(8))):
                assert numbers == list(range(first, 2000, 8))
                assert read == tuple(terms)
                assert forms == tuple((term,) for term in terms)
                assert ranks == Vocabulary(terms).ranks().tolist()
