"""Unknown words: what may be meant, and searches by that."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from softcosine import EditDistanceSimilarity, SoftIndex, Weighting
from softcosine.similarity.spelling.nearby_strings import WordList
from softcosine.text.analyzer import Analyzer
from softcosine.text.vocabulary import Vocabulary
from test_edit_distance import levenshtein
from toys import ToySource, similarity_matrix
from written import created, opened, written

TEXTS = [
    "a puncture in the bike's tyre",
    "libraries open at noon, the library by the river at ten",
    "bicycle repairs are received at the library",
    "liberty and bicycles",
]
words = st.text("abc", min_size=0, max_size=9)


def stemmed(texts=TEXTS, **options):
    return SoftIndex.from_texts(texts, analyzer=Analyzer(stemmer="english"), plain=True, **options)


def told(hits):
    return {
        one.word: [(other.word, other.distance, other.n_docs) for other in one.candidates]
        for one in hits.suggestions
    }


@given(st.lists(words, max_size=12, unique=True), words, st.sampled_from([1, 2, 3]))
def test_a_word_list_finds_what_comparing_all_finds(strings, word, k):
    value = EditDistanceSimilarity(threshold=0.1, beta=2.0).value
    expected = []
    for number, other in enumerate(strings):
        distance = levenshtein(word, other)
        similarity = value(distance, max(len(word), len(other))) if 0 < distance <= k else 0.0
        if similarity > 0.0:
            expected.append((number, distance, similarity))
    assert WordList(strings).find(word, value, k) == expected


def test_a_word_list_reads_letters_of_any_script_and_long_words():
    strings = ["чашка", "чашки", "茶" * 70, "a" * 5000, "\ud800bcdefg", "🙂🙃abcd"]
    value = EditDistanceSimilarity().value
    for number, string in enumerate(strings):
        changed = f"{string}x" if len(string) > 5 else string.replace("ш", "м")
        assert number in [found[0] for found in WordList(strings).find(changed, value, 2)]


def test_an_unknown_word_suggests_the_nearest_form_of_the_texts():
    index = stemmed()
    assert told(index.search("libary")) == {"libary": [("library", 1, 2), ("liberty", 2, 1)]}
    assert told(index.search("libbraries opn")) == {
        "libbraries": [("libraries", 1, 2)],
        "opn": [("open", 1, 1)],
    }
    assert told(index.search("bycicle")) == {"bycicle": [("bicycle", 2, 2)]}
    assert told(index.search("puncture tyre")) == {}
    assert told(index.search("zzzzzzzz")) == {}


def test_two_exchanged_letters_are_one_edit_whatever_the_ending():
    index = stemmed()
    assert told(index.search("tyer")) == {"tyer": [("tyre", 1, 1)]}
    # The texts have another form of the stem.
    assert told(index.search("recieving")) == {"recieving": [("received", 1, 1)]}


def test_a_token_longer_than_all_words_is_compared_with_none(monkeypatch):
    index = stemmed()
    monkeypatch.setattr(WordList, "find", lambda *arguments: pytest.fail("it is compared"))
    monkeypatch.setattr(Analyzer, "stem", lambda *arguments: pytest.fail("it is stemmed"))
    assert index.snapshot.spellings.suggestion("x" * 10_000).candidates == ()


def test_candidates_stand_by_distance_then_frequency_then_string():
    index = SoftIndex.from_texts(
        ["rates", "dates dates", "dates", "gates mates", "gate", "mats", "fates hates"],
        plain=True, analyzer=Analyzer(),
    )  # fmt: skip
    assert told(index.search("lates"))["lates"] == [
        ("dates", 1, 2), ("fates", 1, 1), ("gates", 1, 1), ("hates", 1, 1), ("mates", 1, 1),
    ]  # fmt: skip


def test_words_that_a_source_knows_are_no_misspellings():
    index = SoftIndex.from_texts(
        ["wheel", "tires"], source=ToySource({("tyres", "wheel"): 0.5}), analyzer=Analyzer()
    )
    hits = index.search("tyres tirez")
    assert hits.outside == ("tyres",)
    assert told(hits) == {"tirez": [("tires", 1, 1)]}


def test_deleted_documents_count_for_no_suggestion(tmp_path):
    store = created(tmp_path / "x", plain=True)
    written(store, {"a": "library", "b": "library liberty", "c": "tea"}, merge=None)
    index = opened(store)
    assert told(index.search("libary"))["libary"][0] == ("library", 1, 2)
    before = index.search("libary")
    with index.writer(merge=None) as writer:
        writer.delete("a")
        writer.add("d", "librarys")
    assert told(index.search("libary")) == {
        "libary": [("library", 1, 1), ("liberty", 2, 1), ("librarys", 2, 1)]
    }
    with index.writer() as writer:
        writer.delete("b")
    assert told(index.search("libary")) == {"libary": [("librarys", 2, 1)]}
    assert told(before)["libary"][0] == ("library", 1, 2)  # as it was when it was searched


def test_every_field_counts_and_a_document_once():
    index = SoftIndex.from_texts(
        [{"title": "library", "body": "library"}, {"body": "library"}, {"title": "tea"}],
        fields=["title", "body"], plain=True, analyzer=Analyzer(),
    )  # fmt: skip
    assert told(index.search("libary")) == {"libary": [("library", 1, 2)]}
    assert index.search("libary", fuzzy=True).ids == ["0", "1"]


def test_suggestions_change_no_answer_and_survive_pickling():
    index = stemmed()
    hits = index.search("libary bicycle")
    assert hits.unknown == ("libary",)
    assert [(h.id, h.score) for h in hits] == [(h.id, h.score) for h in index.search("bicycle")]
    again = pickle.loads(pickle.dumps(hits))
    assert again == hits
    assert again.suggestions == hits.suggestions != ()


def test_suggestions_are_looked_up_only_when_they_are_asked_for(monkeypatch):
    index = stemmed()
    hits = index.search_batch(["libary"] * 3)
    assert "spellings" not in vars(index.snapshot)
    assert hits[0].suggestions
    assert "spellings" in vars(index.snapshot)


class TestFuzzy:
    """fuzzy=True."""

    def test_unknown_words_are_searched_by_their_neighbours_in_spelling(self):
        index = stemmed()
        assert index.search("libary").ids == []
        hits = index.search("libary", fuzzy=True)
        assert sorted(hits.ids) == ["1", "2", "3"]
        assert hits.outside == ("libary",)
        assert hits.unknown == ()
        assert told(hits)["libary"][0][0] == "library"

    def test_a_score_is_that_of_a_row_by_edit_distance(self):
        texts = ["library", "liberty tea", "tea"]
        index = SoftIndex.from_texts(
            texts, plain=True, analyzer=Analyzer(), weighting=Weighting("raw", "none"),
            ranking="inner_product",
        )  # fmt: skip
        near, far = EditDistanceSimilarity().similarities(["libary"] * 2, ["library", "liberty"])
        found = {hit.id: hit.score for hit in index.search("libary^3 tea", syntax=True, fuzzy=True)}
        assert found == pytest.approx({"0": 3 * near, "1": 3 * far + 1, "2": 1})

    def test_norms_take_the_row_in(self):
        # As if "libary" were a term that is similar to "library" and "liberty".
        near, far = EditDistanceSimilarity().similarities(["libary"] * 2, ["library", "liberty"])
        S = [[1, near, far, 0], [near, 1, 0, 0], [far, 0, 1, 0], [0, 0, 0, 1]]
        terms = ["libary", "library", "liberty", "tea"]
        texts = [["library"], ["liberty", "tea"], ["tea"]]
        whole = SoftIndex.from_texts(
            texts, S=similarity_matrix(np.array(S), Vocabulary(terms)), analyzer=Analyzer(),
            weighting=Weighting("raw", "none"), ranking="soft_cosine",
        )  # fmt: skip
        index = SoftIndex.from_texts(
            texts, plain=True, analyzer=Analyzer(), weighting=Weighting("raw", "none"),
            ranking="soft_cosine",
        )  # fmt: skip
        query = ["libary", "library", "tea"]
        expected = {hit.id: hit.score for hit in whole.search(query)}
        found = {hit.id: hit.score for hit in index.search(query, fuzzy=True)}
        assert found == pytest.approx(expected, abs=1e-6)

    def test_explanations_say_that_words_are_similar_by_spelling_and_sum_to_the_score(self):
        index = stemmed()
        for ranking in ("soft_bm25", "soft_cosine"):
            for hit in index.search("libary bicycle", fuzzy=True, ranking=ranking):
                why = index.explain("libary bicycle", hit.id, fuzzy=True, ranking=ranking)
                assert why.score == hit.score
                assert sum(part.contribution for part in why.parts) == pytest.approx(hit.score)
        why = index.explain("libary bicycle", "2", fuzzy=True)
        assert {(p.query_word, p.document_word, p.spelled) for p in why.parts} == {
            ("libary", "library", True), ("bicycle", "bicycle", False),
        }  # fmt: skip
        assert "libary ~ library" in str(why)
        assert str(why).count("by spelling") == 1
        assert not any(part.spelled for part in index.explain("libary bicycle", "2").parts)

    def test_it_changes_nothing_where_all_words_are_known(self):
        index = stemmed()
        for query in ("library", "+library -bicycle", '"bicycle repairs"', ""):
            assert index.search(query, fuzzy=True) == index.search(query)

    def test_what_is_demanded_is_demanded_as_it_is_spelled(self):
        index = stemmed()
        assert index.search("+libary bicycle", syntax=True, fuzzy=True).ids == []
        assert index.search('"libary" bicycle', fuzzy=True).ids == []
        assert index.search("bicycle -libary", syntax=True, fuzzy=True) == index.search(
            "bicycle -libary", syntax=True
        )

    def test_numbers_and_codes_are_not_taken_for_each_other(self):
        index = SoftIndex.from_texts(
            ["error E10425", "version2 of it"], plain=True, analyzer=Analyzer()
        )
        hits = index.search("E10426 versions", fuzzy=True)
        assert hits.ids == []
        assert hits.unknown == ("e10426", "versions")
        assert told(hits) == {
            "e10426": [("e10425", 1, 1)], "versions": [("version2", 1, 1)],
        }  # fmt: skip

    def test_a_batch_gives_the_bits_of_single_queries(self):
        index = stemmed()
        queries = ["libary", "bycicle tyer", "noon", "liberti recieving"]
        for query, hits in zip(queries, index.search_batch(queries, fuzzy=True), strict=True):
            assert index.search(query, fuzzy=True) == hits

    def test_balanced_rows_do_not_outweigh_a_word(self):
        source = ToySource({("dates", "fruit"): 0.5})
        texts = ["dates fruit", "gates", "mates", "fates", "rates", "hates"]
        index = SoftIndex.from_texts(texts, source=source, analyzer=Analyzer(), encoder=None)
        assert index.S.scales is not None
        hits = index.search("lates", fuzzy=True)
        assert len(hits) == 5
        value = EditDistanceSimilarity().value(1, 5)
        parts = index.explain("lates", hits[0].id, fuzzy=True).parts
        assert parts[0].similarity == pytest.approx(value / np.sqrt(5 * value))

    def test_saved_indexes_answer_alike(self, tmp_path):
        index = stemmed()
        index.save(tmp_path / "x")
        again = SoftIndex.open(tmp_path / "x")
        for query in ("libary bycicle", "recieving"):
            assert again.search(query, fuzzy=True) == index.search(query, fuzzy=True)
            assert again.search(query).suggestions == index.search(query).suggestions
