"""The passage shown for a hit, and the words marked in it."""

from __future__ import annotations

import html

import pytest
from hypothesis import given
from hypothesis import strategies as st

import strategies as own
from softcosine.index.search.highlights import Mark, Snippet, snippet
from softcosine.index.soft_index import SoftIndex
from softcosine.text.analyzer import Analyzer
from toys import ToySource

PLAIN = Analyzer()


def marked(found):
    return found.marked(lambda word, kind: f"[{word}]" if kind == "exact" else f"({word})")


def test_matching_words_are_marked_where_they_stand():
    found = snippet(
        "Green TEA, and coffee.", PLAIN, {"tea": (2.0, "exact"), "coffee": (1.0, "near")}
    )
    assert found.text == "Green TEA, and coffee."
    assert found.marks == (Mark(6, 9, "exact"), Mark(15, 21, "near"))
    assert marked(found) == "Green [TEA], and (coffee)."
    assert str(found) == found.text
    assert found.to_html() == "Green <b>TEA</b>, and <i>coffee</i>."


def test_all_words_of_a_text_that_is_shown_whole_are_marked():
    text = f"tea {'x' * 220} tea"
    assert marked(snippet(text, PLAIN, {"tea": (1.0, "exact")})) == f"[tea] {'x' * 220} [tea]"


@given(st.lists(st.sampled_from(["tea", "cup", "wörter", "filler,"]), max_size=14))
def test_white_space_of_any_kind_is_one_space(words):
    weights = {"tea": (1.0, "exact"), "cup": (0.5, "near")}
    found = snippet(" ".join(words), PLAIN, weights, width=90)
    for space in ("\t", "\n", "\N{NO-BREAK SPACE}", "\N{ZERO WIDTH SPACE}"):
        assert snippet(space.join(words), PLAIN, weights, width=90) == found


def test_markup_in_a_text_is_escaped():
    found = snippet("<b>tea</b> & <tea>", PLAIN, {"tea": (1.0, "exact")})
    assert found.to_html() == ("&lt;b&gt;<b>tea</b>&lt;/b&gt; &amp; &lt;<b>tea</b>&gt;")


def test_the_heaviest_passage_of_a_long_text_is_chosen():
    filler = "nothing of interest stands here and so on " * 30
    text = f"{filler}tea once. {filler}green tea with coffee at last. {filler}"
    weights = {"tea": (1.0, "exact"), "coffee": (0.5, "near")}
    found = snippet(text, PLAIN, weights)
    assert "green [tea] with (coffee) at last" in marked(found)
    assert found.text.startswith("…")
    assert found.text.endswith("…")
    assert len(found.text) <= 242
    # The same word over and over weighs no more than once.
    many = f"tea tea tea tea tea. {filler} tea and coffee. {filler}"
    assert "[tea] and (coffee)" in marked(snippet(many, PLAIN, weights))


@given(st.lists(st.sampled_from(["tea", "cup", "pot", *["filler"] * 20]), min_size=20, max_size=80))
def test_no_other_passage_is_heavier(words):
    weights = {"tea": (1.0, "exact"), "cup": (0.75, "near"), "pot": (0.5, "near")}
    text, width = " ".join(words), 100

    def weight(passage):
        return sum(weights[term][0] for term in set(PLAIN.terms(passage)) if term in weights)

    found = snippet(text, PLAIN, weights, width=width)
    shown = weight(" ".join(found.text[mark.start : mark.end] for mark in found.marks))
    starts = [0, *(i + 1 for i, c in enumerate(text) if c == " ")]
    ends = [*(i for i, c in enumerate(text) if c == " "), len(text)]
    for start in starts:
        fitting = [end for end in ends if start < end <= start + width - 40]
        if fitting:
            assert weight(text[start : fitting[-1]]) <= shown


def test_a_text_without_a_match_shows_its_beginning():
    text = "word " * 200
    found = snippet(text, PLAIN, {"tea": (1.0, "exact")})
    assert found.marks == ()
    assert found.text.startswith("word word")
    assert found.text.endswith("…")
    assert snippet("", PLAIN, {}) == Snippet("", ())
    assert snippet("short", PLAIN, {}) == Snippet("short", ())


def test_white_space_and_control_characters_are_folded():
    found = snippet("a\n\n\ttea\0b\u00a0 c", PLAIN, {"tea": (1.0, "exact")})
    assert found.text == "a tea b c"
    assert marked(found) == "a [tea] b c"


def test_stop_words_and_stems_are_those_of_the_analyzer():
    english = Analyzer("english", stop_words="english")
    found = snippet("The runs", english, {"run": (1.0, "exact"), "the": (9.0, "exact")})
    assert marked(found) == "The [runs]"


def test_overlapping_words_are_marked_as_one():
    # Scripts without spaces are cut into pairs of characters.
    weights = {"東京": (1.0, "near"), "京都": (1.0, "exact")}
    found = snippet("ここ東京都。", PLAIN, weights)
    assert marked(found) == "ここ[東京都]。"
    assert marked(snippet("東京 京都", PLAIN, weights)) == "(東京) [京都]"


def test_words_of_no_weight_are_not_marked():
    found = snippet("tea coffee", PLAIN, {"tea": (0.0, "exact"), "coffee": (-1.0, "near")})
    assert found.marks == ()


@pytest.mark.parametrize("length", [239, 240, 241, 500, 5000])
def test_text_without_spaces_is_cut_too(length):
    for text in ("x" * length, "語" * length):
        found = snippet(text, PLAIN, {})
        assert len(found.text) <= 242


@given(
    own.sentences(max_size=80),
    st.dictionaries(
        st.sampled_from(own.WORDS),
        st.tuples(st.sampled_from([0.0, 0.5, 2.0]), st.sampled_from(["exact", "near"])),
    ),
    st.sampled_from([60, 100, 240]),
)
def test_marks_are_words_of_the_passage(text, words, width):
    weights = {term: value for word, value in words.items() for term in PLAIN.terms(word)}
    found = snippet(text, PLAIN, weights, width=width)
    assert len(found.text) <= width + 2
    end = 0
    for mark in found.marks:
        assert end <= mark.start < mark.end <= len(found.text)
        end = mark.end
        shown = PLAIN.terms(found.text[mark.start : mark.end])
        assert any(weights.get(term, (0, ""))[0] > 0 for term in shown) or not shown
    assert "".join(found.marked(lambda word, kind: word)) == found.text
    stripped = found.to_html()
    for tag in ("<b>", "</b>", "<i>", "</i>"):
        stripped = stripped.replace(tag, "")
    assert html.unescape(stripped) == found.text
    assert all(c.isprintable() for c in found.text)


def test_hits_know_their_snippets():
    index = SoftIndex.from_texts(
        ["Green tea here", "black coffee"], source=ToySource({("tea", "coffee"): 0.5}),
        analyzer=PLAIN,
    )  # fmt: skip
    hits = index.search("tea")
    assert [marked(hit.snippet) for hit in hits] == ["Green [tea] here", "black (coffee)"]
    assert marked(index.similar("0")[0].snippet) == "black (coffee)"
