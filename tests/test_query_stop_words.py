"""Stop words of a query: they count only where nothing else is left, or where they are marked."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from softcosine.index.soft_index import SoftIndex
from softcosine.similarity.pairs import PairSimilarity
from softcosine.text.analyzer import Analyzer
from softcosine.text.stop_words import stop_word_lists

TEXTS = [
    "How do I mend the flat tyre of my bike?",
    "The Who play at the arena in the spring",
    "what to do about the tea that is cold",
    "Do not do what you do not want to do",
    "A wheel for the car, and how to put it on",
    "State of the art of tea",
]
FUNCTION = ["how", "do", "the", "of", "what", "is", "to", "who", "my"]
CONTENT = ["tyre", "mend", "tea", "wheel", "arena", "zebra"]
index = SoftIndex.from_texts(TEXTS, language="english", encoder=None)
words = st.lists(st.sampled_from(FUNCTION + CONTENT), max_size=7)


def n_docs(word):
    return sum(word in Analyzer().words(text) for text in TEXTS)


def found(query, **settings):
    return [(hit.id, hit.score) for hit in index.search(query, **settings)]


@given(words)
def test_a_query_finds_what_its_content_words_find(query):
    content = [word for word in query if word in CONTENT]
    expected = content or query
    if set(content) == {"zebra"} and len(query) <= 2 * len(content):
        expected = [word for word in query if n_docs(word) <= 3]  # no document has a zebra
    for asked, plain in ((" ".join(query), " ".join(expected)), (query, expected)):
        assert found(asked) == found(plain) == found(plain, keep_stop_words=True)


@given(words, words)
def test_a_batch_is_one_by_one_with_and_without_stop_words(one, other):
    queries = [" ".join(one), " ".join(other)]
    for keep in (False, True):
        batch = index.search_batch(queries, keep_stop_words=keep)
        assert batch == [index.search(query, keep_stop_words=keep) for query in queries]


def test_stop_words_count_where_nothing_else_is_left():
    assert index.search("The Who", k=1).ids == ["1"]
    assert found("what to do") == found("what to do", keep_stop_words=True) != []


def test_marked_stop_words_count():
    assert set(index.search("+who tea", syntax=True).ids) == {"1"}
    assert index.search('"state of the art"').ids == ["5"]
    assert set(index.search('"what to do" tea').ids) == {"2"}
    assert found("tea the^2", syntax=True) != found("tea")
    assert found("tea -the", syntax=True) == [
        (id, score) for id, score in found("tea") if id == "none"
    ]


def test_a_quoted_or_demanded_word_leaves_the_others_stop_words():
    assert found("how do I mend +tyre", syntax=True) == found("mend +tyre", syntax=True)


def test_all_words_count_on_request():
    assert found("how do I mend", keep_stop_words=True) != found("how do I mend")
    explanation = index.explain("how do I mend", "0")
    assert {part.query_word for part in explanation.parts} == {"mend"}
    whole = index.explain("how do I mend", "0", keep_stop_words=True)
    assert {"how", "do"} < {part.query_word for part in whole.parts}
    for one, score in ((explanation, found("how do I mend")), (whole, None)):
        assert sum(part.contribution for part in one.parts) == pytest.approx(one.score)
        assert score is None or (("0", one.score) in score)


def test_the_language_of_the_index_says_which_words_they_are():
    texts = ["Wie flicke ich den Reifen an dem Rad?", "Der Tee ist kalt", "Was ist das?"]
    german = SoftIndex.from_texts(texts, language="german")
    assert german.search("Wie ist der Tee?").ids == german.search("Tee").ids == ["1"]
    unknown = SoftIndex.from_texts(texts, language="none")
    assert len(unknown.search("Wie ist der Tee?")) == 3


def test_phrases_of_a_list_are_terms_though_they_hold_stop_words():
    source = PairSimilarity({("state of the art", "tea"): 0.5})
    made = SoftIndex.from_texts(TEXTS, language="english", source=source)
    assert "state of the art" in made.search("the state of the art", k=1)[0].text.lower()
    assert {part.query_word for part in made.explain("the state of the art", "5").parts} >= {
        "state of the art"
    }


def test_stop_words_that_the_index_leaves_out_stay_out():
    rules = Analyzer("english", stop_words="english")
    made = SoftIndex.from_texts(TEXTS, analyzer=rules, language="english", plain=True)
    assert made.search("the who").ids == []


def test_a_listed_phrase_of_stop_words_counts():
    source = PairSimilarity({("how to", "tutorial"): 0.8, ("the who", "band"): 0.9})
    listed = SoftIndex.from_texts(
        ["how to bake bread", "a bread tutorial", "bread is good", "a band"],
        source=source, language="english",
    )  # fmt: skip

    def scores(query, **settings):
        return {hit.id: hit.score for hit in listed.search(query, ask="words", **settings)}

    assert scores("how to bread")["1"] > scores("bread")["1"]
    assert set(scores("the who")) == {"3"}
    assert set(scores("how to")) == {"0", "1"}
    assert set(scores("the bread")) == set(scores("bread"))


NAMES = SoftIndex.from_texts(
    [
        "Contact of the IT department", "Bring an umbrella as it is raining",
        "US tax for employees", "Tell us about your holiday", "Guidelines of the WHO",
        "Who waters the plants?", "A laptop",
    ],
    language="english", encoder=None,
)  # fmt: skip


@pytest.mark.parametrize(
    ("query", "name", "ids"),
    [
        ("IT support", "it", "01"), ("contact IT", "it", "01"), ("IT 2024", "it", "01"),
        ("US visa", "us", "23"), ("US-tax", "us", "23"), ("WHO rules", "who", "45"),
        ("new WHO guidelines", "who", "45"),
    ],
)  # fmt: skip
def test_stop_words_in_capitals_are_names(query, name, ids):
    hits = NAMES.search(query)
    assert {*ids} <= {*hits.ids}
    assert not hits.note
    for id in ids:
        exact = {part.query_word for part in NAMES.explain(query, id).parts if part.exact}
        assert name in exact


def test_stop_words_in_small_letters_and_operators_in_capitals_are_no_names():
    for query in ("contact it", "us-tax", "new who guidelines", "HOW DO I CONTACT IT FOR A laptop"):
        words = {part.query_word for id in "0123456" for part in NAMES.explain(query, id).parts}
        assert words.isdisjoint({"it", "us", "who", "how", "do"})
    assert found("tyre AND tea OR zebra") == found("tyre tea zebra")


def test_stop_words_in_capitals_are_names_in_every_language():
    n_languages, other = 0, "qqxy" * 5
    for language, stop_words in stop_word_lists().items():
        word = min((one for one in stop_words if one.upper() != one and one[1:]), default="")
        if word and word.upper().lower() == word:
            made = SoftIndex.from_texts([f"{word} zz", other], language=language, plain=True)
            assert {*made.search(f"{word.upper()} {other}").ids} == {"0", "1"}, (language, word)
            assert made.search(f"{word} {other}").ids == ["1"], (language, word)
            n_languages += 1
    assert n_languages > 20


@given(words)
def test_questions_in_capitals_are_those_in_small_letters(query):
    asked = " ".join(query)
    assert found(asked.upper()) == found(asked)
    if len("".join(query)) > 6:  # more capitals than small letters
        assert found(f"{asked.upper()} iPhone") == found(f"{asked} iphone")


def test_stop_words_beside_as_many_words_that_no_document_has_count():
    assert {"4", "5"} <= {*NAMES.search("who zzyx").ids}
    assert NAMES.search("who is it zzyx").ids == []
    assert NAMES.search("who is it zzyx").note == "Nothing contains zzyx"
    assert NAMES.search("zzyx").note == "Nothing contains these words"


def test_stop_words_of_token_lists_may_have_capitals():
    tokens = SoftIndex.from_texts([["The", "tea"], ["The", "tyre"]], language="english", plain=True)
    assert tokens.search(["The", "tea"]).ids == ["0"]
    assert tokens.search(["The"]).ids == ["0", "1"]
