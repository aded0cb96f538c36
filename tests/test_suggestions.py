"""Unknown words: what may be meant, and searches by that."""

from __future__ import annotations

import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from softcosine import SoftIndex
from softcosine.index.query.suggestions import spellings_of
from softcosine.similarity.spelling.nearby_strings import WordList
from softcosine.text.analyzer import Analyzer
from test_edit_distance import levenshtein
from toys import ToySource
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


def as_written(index, query, **options):
    return index.search(query, correct=False, **options)


def told(hits):
    return {
        one.word: [(other.word, other.distance, other.n_docs) for other in one.candidates]
        for one in hits.suggestions
    }


@given(st.lists(words, max_size=12, unique=True), words, st.sampled_from([1, 2, 3]))
def test_a_word_list_finds_what_comparing_all_finds(strings, word, k):
    distances = [levenshtein(word, other) for other in strings]
    expected = [(number, distance) for number, distance in enumerate(distances) if distance <= k]
    assert sorted(WordList(strings).find(word, k)) == expected


def test_a_word_list_reads_letters_of_any_script_and_long_words():
    strings = ["чашка", "чашки", "茶" * 70, "a" * 5000, "\ud800bcdefg", "🙂🙃abcd"]
    for number, string in enumerate(strings):
        changed = f"{string}x" if len(string) > 5 else string.replace("ш", "м")
        assert number in [found[0] for found in WordList(strings).find(changed, 2)]


def test_an_unknown_word_suggests_the_nearest_form_of_the_texts():
    index = stemmed()
    assert told(as_written(index, "libary")) == {"libary": [("library", 1, 2), ("liberty", 2, 1)]}
    assert told(as_written(index, "libbraries opn")) == {
        "libbraries": [("libraries", 1, 2)],
        "opn": [("open", 1, 1)],
    }
    assert told(as_written(index, "bycicle")) == {"bycicle": [("bicycle", 2, 2)]}
    assert told(as_written(index, "puncture tyre")) == {}
    assert told(as_written(index, "zzzzzzzz")) == {}


def test_two_exchanged_letters_are_one_edit_whatever_the_ending():
    index = stemmed()
    assert told(as_written(index, "tyer")) == {"tyer": [("tyre", 1, 1)]}
    # The texts have another form of the stem.
    assert told(as_written(index, "recieving")) == {"recieving": [("received", 1, 1)]}


@pytest.mark.parametrize(
    ("word", "meant"),
    [
        ("loreal", "l'oréal"),  # an apostrophe is missing
        ("zurch", "zürich"),
        ("zruich", "zürich"),  # transposed
        ("dvorac", "dvořák"),
        ("smorgasbrd", "smörgåsbord"),
        ("malmo", "malmø"),
        ("creme", "crème"),
        ("kréme", "crème"),
        ("Hotél", "hotel"),  # the accent is in the query
        ("οδοσ", "οδόσ"),
    ],
)
def test_accents_are_no_edits(word, meant):
    texts = ["L’Oréal shampoo", "hotels in Zürich, a hotel", "by Dvořák", "smörgåsbord in Malmø",
             "crème", "οδός"]  # fmt: skip
    index = SoftIndex.from_texts(texts, plain=True, analyzer=Analyzer())
    assert index.search(word).corrected == ({} if meant is None else {word.lower(): meant})


def test_a_token_longer_than_all_words_is_compared_with_none(monkeypatch):
    index = stemmed()
    monkeypatch.setattr(WordList, "find", lambda *arguments: pytest.fail("it is compared"))
    monkeypatch.setattr(Analyzer, "stem", lambda *arguments: pytest.fail("it is stemmed"))
    assert spellings_of(index.snapshot).suggestion("x" * 10_000).candidates == ()


def test_candidates_stand_by_distance_then_frequency_then_string():
    index = SoftIndex.from_texts(
        ["rates", "dates dates", "dates", "gates mates", "gate", "mats", "fates hates"],
        plain=True, analyzer=Analyzer(),
    )  # fmt: skip
    assert told(as_written(index, "lates"))["lates"] == [
        ("dates", 1, 2), ("fates", 1, 1), ("gates", 1, 1), ("hates", 1, 1), ("mates", 1, 1),
    ]  # fmt: skip


def test_words_that_a_source_knows_are_no_misspellings():
    index = SoftIndex.from_texts(
        ["wheel", "tires"], source=ToySource({("tyres", "wheel"): 0.5}), analyzer=Analyzer()
    )
    hits = as_written(index, "tyres tirez")
    assert hits.outside == ("tyres",)
    assert told(hits) == {"tirez": [("tires", 1, 1)]}


def test_deleted_documents_count_for_no_suggestion(tmp_path):
    store = created(tmp_path / "x", plain=True)
    written(store, {"a": "library", "b": "library liberty", "c": "tea"}, merge=None)
    index = opened(store)
    assert told(as_written(index, "libary"))["libary"][0] == ("library", 1, 2)
    before = as_written(index, "libary")
    with index.writer(merge=None) as writer:
        writer.delete("a")
        writer.add("d", "librarys")
    assert told(as_written(index, "libary")) == {
        "libary": [("library", 1, 1), ("liberty", 2, 1), ("librarys", 2, 1)]
    }
    with index.writer() as writer:
        writer.delete("b")
    assert told(as_written(index, "libary")) == {"libary": [("librarys", 2, 1)]}
    assert told(before)["libary"][0] == ("library", 1, 2)  # as it was when it was searched


def test_every_field_counts_and_a_document_once():
    index = SoftIndex.from_texts(
        [{"title": "library", "body": "library"}, {"body": "library"}, {"title": "tea"}],
        fields=["title", "body"], plain=True, analyzer=Analyzer(),
    )  # fmt: skip
    assert told(as_written(index, "libary")) == {"libary": [("library", 1, 2)]}


def test_suggestions_change_no_answer_and_survive_pickling():
    index = stemmed()
    hits = as_written(index, "libary bicycle")
    assert hits.unknown == ("libary",)
    assert [(h.id, h.score) for h in hits] == [
        (h.id, h.score) for h in as_written(index, "bicycle")
    ]
    again = pickle.loads(pickle.dumps(hits))
    assert again == hits
    assert again.suggestions == hits.suggestions != ()


def test_suggestions_are_looked_up_only_when_they_are_asked_for(monkeypatch):
    index = stemmed()
    hits = index.search_batch(["libary"] * 3, correct=False)
    monkeypatch.setattr(WordList, "find", lambda *arguments: pytest.fail("it is compared"))
    with pytest.raises(pytest.fail.Exception, match="it is compared"):
        _ = hits[0].suggestions


class TestCorrections:
    """correct=True, the default."""

    def test_a_misspelt_word_is_replaced_by_the_nearest_indexed_word(self):
        index = stemmed()
        assert index.search("libary", correct=False).ids == []
        hits = index.search("libary bicycle")
        assert hits.corrected == {"libary": "library"}
        assert hits.query == "libary bicycle"
        assert (hits.unknown, hits.outside, hits.suggestions) == ((), (), ())
        meant = index.search("library bicycle")
        assert [(h.id, h.score) for h in hits] == [(h.id, h.score) for h in meant]
        assert "Searched library for libary" in str(hits)

    @pytest.mark.parametrize(
        ("word", "meant"),
        [
            ("gren", None),  # four letters
            ("grene", "green"),
            ("gryne", None),  # two edits
            ("spredshet", "spreadsheet"),  # nine letters, two edits
            ("sprdshet", None),  # three edits
            ("rfc2821", None),
            ("dvorak", "dvořák"),
            ("cafe", "café"),
            ("GRENE", "green"),
        ],
    )
    def test_how_far_a_correction_may_be(self, word, meant):
        texts = ["green tea", "spreadsheet", "rfc2822", "dvořák in a café"]
        index = SoftIndex.from_texts(texts, plain=True, analyzer=Analyzer())
        assert index.search(word).corrected == ({} if meant is None else {word.lower(): meant})

    def test_words_of_documents_and_of_the_source_stay(self):
        index = SoftIndex.from_texts(
            ["bicycle", "bicycles"], source=ToySource({("tricycle", "bicycle"): 0.5}),
            analyzer=Analyzer(), encoder=None,
        )  # fmt: skip
        assert index.search("tricycle bicycles").corrected == {}

    def test_what_is_demanded_is_demanded_as_it_is_spelled(self):
        index = stemmed()
        for query in ("+libary bicycle", '"libary" bicycle', "bicycle -libary", "libary^2"):
            assert index.search(query, syntax=True) == index.search(
                query, syntax=True, correct=False
            )
        assert index.search(["libary"]).unknown == ("libary",)

    def test_explanations_sum_to_the_score(self):
        index = stemmed()
        for ranking in ("soft_bm25", "soft_cosine"):
            for hit in index.search("libary bicycle", ranking=ranking):
                why = index.explain("libary bicycle", hit.id, ranking=ranking)
                assert why.score == hit.score
                assert sum(part.contribution for part in why.parts) == pytest.approx(hit.score)
        assert {part.query_word for part in why.parts} <= {"library", "bicycle"}

    def test_fields_have_queries_of_their_own(self):
        index = SoftIndex.from_texts(
            [{"title": "library", "body": "bicycle"}], fields=["title", "body"], plain=True,
            analyzer=Analyzer(),
        )  # fmt: skip
        hits = index.search({"title": "libary", "body": "bycycle"})
        assert hits.corrected == {"libary": "library", "bycycle": "bicycle"}
        assert hits.ids == ["0"]

    def test_many_misspelt_words_are_bounded(self):
        index = SoftIndex.from_texts(["green tea"], plain=True, analyzer=Analyzer())
        words = [f"a{chr(97 + i % 26)}{chr(97 + i // 26)}aaa" for i in range(10_000 // 26)]
        assert index.search(" ".join([*words, "tea"])).ids == ["0"]
        assert index.search(" ".join([*words, "grene"])).corrected == {}
        assert len(index.search(" ".join([*words[:50], "grene"])).corrected) == 1

    def test_a_batch_gives_the_bits_of_single_queries(self):
        index = stemmed()
        queries = ["libary", "bycicle tyer", "noon", "liberti recieving"]
        for query, hits in zip(queries, index.search_batch(queries), strict=True):
            assert index.search(query) == hits

    def test_saved_indexes_answer_alike(self, tmp_path):
        index = stemmed()
        index.save(tmp_path / "x")
        again = SoftIndex.open(tmp_path / "x")
        for query in ("libary bycicle", "recieving"):
            assert again.search(query) == index.search(query)
