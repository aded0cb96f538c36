"""The rules for words, and what an analyzer makes of them."""

from __future__ import annotations

import json
import pickle
import unicodedata
from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from softcosine.errors import InvalidInputError
from softcosine.text import words
from softcosine.text.analyzer import Analyzer
from softcosine.text.corpus import analyze
from softcosine.text.words import JOINED, MAX_WORD_LENGTH, find_words, normalize

# Letters of many scripts, marks, digits, joiners, invisible and broken characters, side by side.
TROUBLE = (
    "abzAZ09 '.+#-_,\n\u2019\u02bc\u00b7\u05f3\u05d0\u00df\u0130\ufb01\u00bd\u00e9e\u0301\u0307"
    "\u00ad\u200b\u200c\u200d\ufeff\u0640\u0627\u0663\u0915\u094d\u0937\u3042\u30a2\u30fc\u3099"
    "\u6771\u4eac\u90fd\uff21\uff11\uff76\uff9e\u0e01\u0e31\u0e33\u0e55\u0e97\u1780\u17d2\u17a2"
    "\ud55c\u1100\u1161\u11a8\u0149\u1e9b\u0323\x00\x1c\x85\u00a0\u3000\ud800\U0001d400"
    "\ufe0f\u20e3\u2764\U0001f3fd\U0001f1e9\U000e0067/&\U00020000\U0001f600\u0344\u0345\u00a8\uff3f\u04b0\u0470"
)
texts = st.one_of(
    st.text(st.sampled_from(TROUBLE), max_size=30),
    st.text(st.characters(exclude_categories=()), max_size=20),
)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("The Tyres, of (the) CAR.", ["the", "tyres", "of", "the", "car"]),
        ("don't O'Reilly l\u2019homme r'n'b", ["don't", "o'reilly", "l'homme", "r'n'b"]),
        ("dog's dogs' it's 1990's 'quoted'", ["dog", "dogs", "it", "1990", "quoted"]),
        ("e-mail state_of_the-art", ["e", "mail", "state", "of", "the", "art"]),
        ("3.11 v3.11.4 1.1.1.1 1,000 .5 6.", ["3.11", "v3.11.4", "1.1.1.1", "1", "000", "5", "6"]),
        ("E1042 AB-12/X end.Next x.5", ["e1042", "ab", "12", "x", "end", "next", "x", "5"]),
        ("C++ c++11 C# c#m notepad++ A+", ["c++", "c++", "11", "c#", "c", "m", "notepad", "a"]),
        ("ﬁne Straße İstanbul ＡＢＣ", ["fine", "strasse", "istanbul", "abc"]),
        ("½ ① x²", ["1", "2", "1", "x2"]),
        ("co\u00adoperate می\u200cخواهم", ["cooperate", "میخواهم"]),
        ("हिन्दी текст", ["हिन्दी", "текст"]),
        ("한국어 문장", ["한국어", "문장"]),
        ("col\u00b7lecció צה\u05f4ל", ["col\u00b7lecció", "צה\u05f4ל"]),
        ("東", ["東"]),
        ("東京都", ["東京", "京都"]),
        ("Python入門 3.11", ["python", "入門", "3.11"]),
        ("第3章", ["第", "3", "章"]),
        ("カ\u309aあ", ["カ\u309aあ"]),
        ("กินข้าว", ["กิน", "นข้", "ข้า", "าว"]),
        ("ปี ๒๕๖๓", ["ปี", "๒๕๖๓"]),
        ("\u0301 \u0301a \ud800 \x00a\x00b", ["a", "a", "b"]),
        ("", []),
        (" \n\t---", []),
        ("hot\U0001f525 \u2764\ufe0f\u2764", ["hot", "\U0001f525", "\u2764", "\u2764"]),
        ("\U0001f44d\U0001f3fd \U0001f44d", ["\U0001f44d", "\U0001f44d"]),  # a skin tone
        (3 * "\U0001f1e9\U0001f1ea", 3 * ["\U0001f1e9\U0001f1ea"]),  # flags
        ("\U0001f469\u200d\U0001f52cx", ["\U0001f469\u200d\U0001f52c", "x"]),  # woman scientist
        ("1\ufe0f\u20e3 #\ufe0f\u20e3", ["1\u20e3", "#\u20e3"]),
        ("\U0001f3f4\U000e0067\U000e007f", ["\U0001f3f4\U000e0067\U000e007f"]),
        ("a \u2192 b \u00a9 \u20ac5 \u2122 \u2116", ["a", "b", "5", "tm", "no"]),
    ],
)  # fmt: skip
def test_words_follow_the_stated_rules(text, words):
    assert Analyzer().words(text) == words


def test_words_are_cut_at_the_stated_length():
    long = "x" * MAX_WORD_LENGTH
    assert Analyzer().words(f"{long} {long}y {long[:-2]}'sy") == [long, long, long[:-2]]
    (span,) = Analyzer().spans(long + "yy")
    assert (span.start, span.end, span.word) == (0, MAX_WORD_LENGTH + 2, long)


@given(texts)
def test_words_are_normalized_and_not_empty(text):
    for word in Analyzer().words(text):
        assert 0 < len(word) <= MAX_WORD_LENGTH
        assert "_" not in word
        assert unicodedata.is_normalized("NFC", word) or any(
            unicodedata.category(c) == "Mn" for c in word
        )


@given(texts)
def test_a_word_read_again_is_itself(text):
    for word in Analyzer().words(text):
        assert find_words(word) == [word]


@given(texts)
@example("1\u00bd\u00ad'S _\ufb03x")
def test_spans_have_the_words_and_lie_in_the_text(text):
    spans = Analyzer().spans(text)
    assert [span.word for span in spans] == Analyzer().words(text)
    assert all(0 <= span.start < span.end <= len(text) for span in spans)
    assert [span.start for span in spans] == sorted(span.start for span in spans)


@given(texts)
@example("it's a dog's \u2026 \u2018co\u00adop\u2019 e\u0301t\u00e9")
def test_places_are_those_of_characters_that_are_normalised_one_by_one(text):
    spans = Analyzer().spans(text)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(words, "_stays_one", lambda character: False)
        assert spans == Analyzer().spans(text)


@given(
    st.lists(
        st.sampled_from(
            ["\ufb01ne", "Stra\u00dfe", "\u0130da", "E1042", "e\u0301t\u00e9", "\uff21\u00ad\uff22"]
        )
    )
)
def test_spans_point_to_the_original_characters(words):
    text = " \u00bd ".join(words)
    found = [text[span.start : span.end] for span in Analyzer().spans(text)]
    assert [piece for piece in found if piece != "\u00bd"] == words


def test_spans_of_a_possessive_leave_the_ending_out():
    (span,) = Analyzer().spans("Dog's")
    assert (span.start, span.end, span.word) == (0, 3, "dog")


@given(texts)
def test_normalizing_twice_changes_no_word(text):
    once = normalize(text)
    assert find_words(normalize(once)) == find_words(once)


def test_stop_words_go_before_stemming_and_are_normalized():
    analyzer = Analyzer("english", stop_words=["THE", "running", "Don\u2019t"])
    assert analyzer.terms("The runs don't stop running") == ["run", "stop"]
    assert analyzer == Analyzer("english", stop_words=["don't", "the", "running"])


def test_english_stop_words_keep_negation():
    analyzer = Analyzer(stop_words="english")
    assert analyzer.terms("It's not what they're about, isn't it?") == ["not"]


def test_words_with_digits_are_not_stemmed():
    assert Analyzer("english").terms("ties 7ties 3.11s") == ["tie", "7ties", "3.11s"]


def test_stemming_survives_surrogates_and_nul():
    assert Analyzer("english").terms(["ties", "\ud800ties", "ti\0es"])[:2] == ["tie", "\ud800ties"]


@pytest.mark.parametrize(
    ("text", "joined"),
    [
        ("anti-slip KX-9916 S.W.A.T. AT&T A/B", ["antislip", "kx9916", "swat", "att", "ab"]),
        ("snake_case_name co\u2010op", ["snakecasename", "coop"]),
        ("6204-2RS 10-pack", ["62042rs", "10pack"]),
        ("\uff21\uff0d\uff22 \u6771\u4eac-A Ph.D. x--y x - y", ["ab", "phd"]),
        ("10-20 2024-05-01 192.168.1.1 1/2in 1/2 3.5mm $5", []),
        ("a.b.c.d.e", ["abcde"]),
        ("U.N.E.S.C.O. ab.c.d.e.f.g", ["unesco"]),  # the second is an address
        ("antidisestablish-mentarianism", []),  # 29 letters
    ],
)  # fmt: skip
def test_joints_make_words_of_words(text, joined):
    found = [term for term in Analyzer().terms(text) if term.startswith(JOINED)]
    assert found == [JOINED + word for word in joined]
    assert Analyzer(joints=False).terms(text) == Analyzer().words(text)


def test_a_joined_word_follows_its_parts_and_is_no_part_of_ngrams():
    analyzer = Analyzer("english", stop_words=["the"], max_ngram=2)
    assert analyzer.terms("The-Tyres-repaired, cheap") == [
        "tyre", "tyre repair", "repair", "repair cheap", f"{JOINED}thetyresrepair", "cheap",
    ]  # fmt: skip
    assert ("\u2060email", "\u2060emails") in analyzer.terms_and_words("e-mails")


def test_ngrams_follow_the_word_they_begin_with():
    analyzer = Analyzer(max_ngram=3, stop_words=["of"])
    assert analyzer.terms("cup of green tea") == [
        "cup", "cup green", "cup green tea", "green", "green tea", "tea",
    ]  # fmt: skip


def test_short_words_can_be_left_out():
    assert Analyzer(min_length=2).terms("a cup \u6771") == ["cup"]


def test_tokens_are_taken_as_they_are():
    tokens = ["New York", "THE", "x-y", ""]
    assert Analyzer(stop_words=["the"]).terms(tokens) == ["New York", "THE", "x-y"]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: Analyzer().words(None), "the text is None"),
        (lambda: Analyzer().spans(3), "of type int"),
        (lambda: Analyzer().terms(b"tea"), "bytes; decode"),
        (lambda: Analyzer().terms(float("nan")), "nan"),
        (lambda: Analyzer().terms(["a", None]), "token 1 of the document is None"),
        (lambda: Analyzer().terms({"a"}), "of type set"),
        (lambda: Analyzer("klingon"), "stemmer is 'klingon'"),
        (lambda: Analyzer(stop_words="klingon"), "no list of stop words"),
        (lambda: Analyzer(stop_words=[1]), "1 among stop_words is no string"),
        (lambda: Analyzer(max_ngram=0), "max_ngram is 0"),
        (lambda: Analyzer(phrases="disk space"), "phrases is a single string"),
        (lambda: Analyzer(phrases=[3]), "3 among phrases is no string"),
        (lambda: Analyzer(min_length=True), "min_length is True"),
        (lambda: Analyzer.from_dict({"rules": 0}), "version 0"),
        (lambda: Analyzer.from_dict({"rules": 1, "stems": 2}), "has the settings"),
    ],
)
def test_errors_say_what_is_wrong(call, message):
    with pytest.raises(InvalidInputError, match=message):
        call()


def test_settings_survive_storing():
    analyzer = Analyzer("german", stop_words=["und"], max_ngram=2, min_length=3)
    assert Analyzer.from_dict(analyzer.to_dict()) == analyzer
    assert pickle.loads(pickle.dumps(analyzer)) == analyzer
    assert hash(analyzer) == hash(Analyzer.from_dict(analyzer.to_dict()))
    before = Analyzer("german", joints=False)
    assert (before.to_dict()["rules"], analyzer.to_dict()["rules"]) == (1, 2)
    assert Analyzer.from_dict(before.to_dict()) == before != Analyzer("german")


def test_lemmas_come_before_the_stemmer():
    analyzer = Analyzer("english", lemmas={"Went": "go", "news": "news", "E5": "five"})
    assert analyzer.terms("Went went goes newspapers news e5") == [
        "go", "go", "goe", "newspap", "news", "five"
    ]  # fmt: skip
    assert analyzer.lemmas == (("e5", "five"), ("news", "news"), ("went", "go"))


@pytest.mark.parametrize("stemmer", [None, "english"])
def test_an_analyzer_with_lemmas_is_stored_and_compared_with_them(stemmer):
    analyzer = Analyzer(stemmer, lemmas={"went": "go"}, phrases=["went home"])
    again = Analyzer.from_dict(json.loads(json.dumps(analyzer.to_dict())))
    assert again == analyzer
    assert hash(again) == hash(analyzer)
    assert again != Analyzer(stemmer, phrases=["went home"])
    assert again.terms("go home") == ["go", "go home", "home"]
    assert analyzer.stems


@pytest.mark.parametrize("stemmer", [None, "english"])
def test_a_corpus_with_lemmas_has_the_terms_and_forms_of_its_texts(stemmer):
    analyzer = Analyzer(stemmer, lemmas={"went": "go", "gone": "go"})
    texts = ["we went", "gone with the winds", "go go went"]
    analyzed = analyze(texts, analyzer)
    found = [
        [analyzed.vocabulary.terms[token] for token in analyzed.tokens[start:end]]
        for start, end in pairwise(analyzed.offsets)
    ]
    assert found == [analyzer.terms(text) for text in texts]
    assert analyzed.vocabulary.forms is not None
    forms = dict(zip(analyzed.vocabulary.terms, analyzed.vocabulary.forms, strict=True))
    assert set(forms["go"]) == {"went", "gone", "go"}


@pytest.mark.parametrize("lemmas", [{"two words": "one"}, {"a": ""}, {"a": "two words"}, [("a",)]])
def test_lemmas_are_single_words(lemmas):
    with pytest.raises(InvalidInputError, match="single words to single words"):
        Analyzer(lemmas=lemmas)
