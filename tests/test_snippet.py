"""The passage shown for a hit, and the words marked in it."""

from __future__ import annotations

import html
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

import strategies as own
from softcosine.index.search import execution, highlights
from softcosine.index.search.highlights import (
    Mark,
    Snippet,
    Worths,
    by_worth,
    sentences,
    without_title,
)
from softcosine.index.soft_index import SoftIndex
from softcosine.text.analyzer import Analyzer
from softcosine.text.words import joined_runs
from toys import ToySource

PLAIN = Analyzer()


def marked(found):
    return found.marked(lambda word, kind: f"[{word}]" if kind == "exact" else f"({word})")


def worths(**weights):
    """What terms are worth, each like a query word of its own."""
    return {term: (weight, kind, term) for term, (weight, kind) in weights.items()}


def snippet(text, analyzer, weights, **options):
    return highlights.snippet(text, Worths(analyzer, weights, {}), **options)


def test_matching_words_are_marked_where_they_stand():
    found = snippet(
        "Green TEA, and coffee.", PLAIN, worths(tea=(2.0, "exact"), coffee=(1.0, "near"))
    )
    assert found.text == "Green TEA, and coffee."
    assert found.marks == (Mark(6, 9, "exact"), Mark(15, 21, "near"))
    assert marked(found) == "Green [TEA], and (coffee)."
    assert str(found) == found.text
    assert found.to_html() == "Green <b>TEA</b>, and <i>coffee</i>."


def test_all_words_of_a_text_that_is_shown_whole_are_marked():
    text = f"tea {'x' * 220} tea"
    assert marked(snippet(text, PLAIN, worths(tea=(1.0, "exact")))) == f"[tea] {'x' * 220} [tea]"


@given(st.lists(st.sampled_from(["tea", "cup", "wörter", "filler,"]), max_size=14))
def test_white_space_of_any_kind_is_one_space(words):
    weights = worths(tea=(1.0, "exact"), cup=(0.5, "near"))
    found = snippet(" ".join(words), PLAIN, weights, width=90)
    for space in ("\t", "\n", "\N{NO-BREAK SPACE}", "\N{ZERO WIDTH SPACE}"):
        assert snippet(space.join(words), PLAIN, weights, width=90) == found


def test_markup_in_a_text_is_escaped():
    found = snippet("<b>tea</b> & <tea>", PLAIN, worths(tea=(1.0, "exact")))
    assert found.to_html() == ("&lt;b&gt;<b>tea</b>&lt;/b&gt; &amp; &lt;<b>tea</b>&gt;")


def test_the_heaviest_passage_of_a_long_text_is_chosen():
    filler = "nothing of interest stands here and so on " * 30
    text = f"{filler}tea once. {filler}green tea with coffee at last. {filler}"
    weights = worths(tea=(1.0, "exact"), coffee=(0.5, "near"))
    found = snippet(text, PLAIN, weights)
    assert "green [tea] with (coffee) at last" in marked(found)
    assert found.text.startswith("…")
    assert found.text.endswith("…")
    assert len(found.text) <= 242
    # The same word over and over weighs no more than once.
    many = f"tea tea tea tea tea. {filler} tea and coffee. {filler}"
    assert "[tea] and (coffee)" in marked(snippet(many, PLAIN, weights))


@given(st.lists(st.sampled_from(["tea", "mug", "cup", "pot.", *["filler."] * 9]), min_size=20))
def test_no_passage_from_another_sentence_is_heavier(words):
    weights = {
        "tea": (1.0, "exact", "tea"), "mug": (0.5, "near", "cup"), "cup": (0.75, "exact", "cup"),
        "pot": (0.5, "near", "pot"),
    }  # fmt: skip
    text, width = " ".join(words), 100

    def weight(passage):
        held = [weights[term] for term in PLAIN.terms(passage) if term in weights]
        likest = {word: max(w for w, _, own in held if own == word) for _, _, word in held}
        return sum(likest.values())

    found = snippet(text, PLAIN, weights, width=width)
    starts = [0, *(i + 2 for i, c in enumerate(text) if c == ".")]
    for start in starts:
        whole = text[start if start > 20 else 0 :][:width].rpartition(" ")[0]
        assert weight(whole) <= weight(found.text) + 1e-9


def test_a_rare_word_outweighs_many_terms_that_are_like_a_common_one():
    filler = "nothing of interest stands here and so on. " * 10
    text = f"{filler}Tea, coffee, cocoa and juice are drinks. {filler}A spouted pot. {filler}"
    weights = {
        **dict.fromkeys(("tea", "coffee", "cocoa", "juice"), (1.0, "near", "drink")),
        "drinks": (1.5, "exact", "drink"), "spouted": (3.0, "exact", "spouted"),
    }  # fmt: skip
    assert marked(snippet(text, PLAIN, weights)).startswith("…A [spouted] pot.")


def test_equal_passages_and_texts_without_a_query_word_are_compared_by_meaning():
    filler = "nothing of interest stands here and so on. " * 10
    text = f"{filler}Black tea. {filler}Green tea. {filler}A drink of leaves. {filler}"

    def nearest(to):
        return lambda texts: next(i for i, one in enumerate(texts) if one.startswith(to))

    one, none = worths(tea=(1.0, "exact")), worths(leaves=(1.0, "near"), so=(3.0, "near"))
    assert snippet(text, PLAIN, one).text.startswith("…Black tea.")
    assert snippet(text, PLAIN, one, nearest=nearest("Green")).text.startswith("…Green tea.")
    found = snippet(text, PLAIN, none, nearest=nearest("A drink"))
    assert marked(found).startswith("…A drink of (leaves).")
    assert "(so)" in marked(snippet(text, PLAIN, none))


def test_licences_are_shown_only_for_words_that_stand_nowhere_else():
    filler = "nothing of interest stands here and on. " * 10
    licence = "Copyright (C) 2001 Tea Company. You may redistribute this free tea software. "
    weights = worths(tea=(1.0, "exact"), software=(1.0, "exact"))
    assert "[tea] [software]" in marked(snippet(f"{filler}{licence}", PLAIN, weights))
    found = snippet(f"{licence}{filler}Free tea. {filler}", PLAIN, weights)
    assert marked(found).startswith("…Free [tea]. nothing")
    found = snippet(f"{filler}Free tea. All rights reserved. {filler}", PLAIN, weights)
    assert marked(found) == "…Free [tea].…"
    assert sentences(f"{licence}Free tea.") == [(len(licence), len(licence) + 9)]
    assert len(sentences(licence.strip())) == 2


def test_a_title_is_not_repeated():
    documents = [{"title": "Green tea", "body": "from China"}, {"title": "Greens", "body": ""}]
    index = SoftIndex.from_texts(documents, fields=["title", "body"], plain=True)
    assert [hit.snippet.text for hit in index.search("green china greens")] == [
        "from China", "Greens"
    ]  # fmt: skip
    assert without_title("Greens grow", "Green") == "Greens grow"


def test_a_text_without_a_match_shows_its_beginning():
    text = "word " * 200
    found = snippet(text, PLAIN, worths(tea=(1.0, "exact")))
    assert found.marks == ()
    assert found.text.startswith("word word")
    assert found.text.endswith("…")
    assert snippet("", PLAIN, {}) == Snippet("", ())
    assert snippet("short", PLAIN, {}) == Snippet("short", ())


def test_white_space_and_control_characters_are_folded():
    found = snippet("a\n\n\ttea\0b\u00a0 c", PLAIN, worths(tea=(1.0, "exact")))
    assert found.text == "a tea b c"
    assert marked(found) == "a [tea] b c"


def test_stop_words_and_stems_are_those_of_the_analyzer():
    english = Analyzer("english", stop_words="english")
    found = snippet("The runs", english, worths(run=(1.0, "exact"), the=(9.0, "exact")))
    assert marked(found) == "The [runs]"


def test_overlapping_words_are_marked_as_one():
    # Scripts without spaces are cut into pairs of characters.
    weights = worths(東京=(1.0, "near"), 京都=(1.0, "exact"))
    found = snippet("ここ東京都。", PLAIN, weights)
    assert marked(found) == "ここ[東京都]。"
    assert marked(snippet("東京 京都", PLAIN, weights)) == "(東京) [京都]"


def test_words_of_no_weight_are_not_marked():
    found = snippet("tea coffee", PLAIN, worths(tea=(0.0, "exact"), coffee=(-1.0, "near")))
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
    weights = worths(**{term: value for word, value in words.items() for term in PLAIN.terms(word)})
    found = snippet(text, PLAIN, weights, width=width)
    assert len(found.text) <= width + 2
    end = 0
    for mark in found.marks:
        assert end <= mark.start < mark.end <= len(found.text)
        end = mark.end
        shown = PLAIN.terms(found.text[mark.start : mark.end])
        assert any(weights.get(term, (0, "", ""))[0] > 0 for term in shown) or not shown
    assert "".join(found.marked(lambda word, kind: word)) == found.text
    stripped = found.to_html()
    for tag in ("<b>", "</b>", "<i>", "</i>"):
        stripped = stripped.replace(tag, "")
    assert html.unescape(stripped) == found.text
    assert all(c.isprintable() for c in found.text)


def test_similar_words_of_little_weight_are_not_marked():
    pairs = {("room", "space"): 0.3, ("much", "rather"): 0.03, ("hard", "tough"): 0.06}
    index = SoftIndex.from_texts(
        ["room", "much room hard", "rather tough space"], source=ToySource(pairs), analyzer=PLAIN,
    )  # fmt: skip
    (last,) = [hit for hit in index.search("how much room is hard") if hit.id == "2"]
    assert marked(last.snippet) == "rather (tough) (space)"


def test_words_before_the_first_sentence_with_a_match_are_marked_where_they_are_shown():
    text = f"Tea: yes. Green tea {'is sold here ' * 30}"
    found = snippet(text, PLAIN, worths(tea=(1.0, "exact"), green=(1.0, "exact")))
    assert marked(found).startswith("[Tea]: yes. [Green] [tea] is")


def test_hits_know_their_snippets():
    index = SoftIndex.from_texts(
        ["Green tea here", "black coffee"], source=ToySource({("tea", "coffee"): 0.5}),
        analyzer=PLAIN,
    )  # fmt: skip
    hits = index.search("tea")
    assert [marked(hit.snippet) for hit in hits] == ["Green [tea] here", "black (coffee)"]
    assert marked(index.similar("0")[0].snippet) == "black (coffee)"


def test_of_many_long_texts_the_beginnings_are_searched(monkeypatch):
    long = "filler " * 10_000
    texts = [f"tea pot {number}. {long}. Some green tea" for number in range(40)]
    index = SoftIndex.from_texts(texts, plain=True, encoder=None)
    monkeypatch.setattr(execution, "_READ", 400_000)
    read, words_in = [], highlights.words_in

    def counting(text, cut):
        read.append(len(text))
        return words_in(text, cut)

    monkeypatch.setattr(highlights, "words_in", counting)
    for hit in index.search("green tea", k=5):  # all of each text
        assert hit.snippet.text.endswith("green tea")
    assert sum(read) > 5 * 70_000
    read.clear()
    for hit in index.search("green tea", k=40):
        passage = hit.snippet
        assert passage.text.startswith("tea pot")
        assert passage.text.endswith("…")
        assert [mark.start for mark in passage.marks] == [0]
    assert sum(read) <= 400_000 + len("green tea")


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        (
            "今日は雨です。傘を持って！ 行きますか？はい",
            ["今日は雨です。", "傘を持って！", "行きますか？", "はい"],
        ),
        ("「行きますか？」と言った。終わり", ["「行きますか？」", "と言った。", "終わり"]),
        ("ええ！？本当。", ["ええ！？", "本当。"]),
        ("มีหลาย ๆ ปัญหา ต้องแก้ไข", ["มีหลาย ๆ ปัญหา", "ต้องแก้ไข"]),
        ("ฝนตก 3 วัน", ["ฝนตก 3 วัน"]),
        ("ຝົນຕົກ ເອົາຄັນຮົ່ມ", ["ຝົນຕົກ", "ເອົາຄັນຮົ່ມ"]),
        ("ភ្លៀង។ យកឆ័ត្រ", ["ភ្លៀង។", "យកឆ័ត្រ"]),
        ("မိုးရွာတယ်။ထီးယူပါ", ["မိုးရွာတယ်။", "ထီးယူပါ"]),
        ("बारिश है। छाता लो", ["बारिश है।", "छाता लो"]),
        ("هل تمطر؟ نعم", ["هل تمطر؟", "نعم"]),
        ("z. B. 3.5 km", ["z.", "B.", "3.5 km"]),
        ("", [""]),
    ],
)
def test_sentences_end_as_their_script_ends_them(text, parts):
    assert [text[slice(*one)] for one in sentences(text)] == parts


@pytest.mark.parametrize("unit", ["กี่", "日本語", "ភ្លៀង", "ကျေးဇူး"])
def test_passages_of_text_without_spaces_end_behind_a_whole_character(unit):
    text = f"{unit * 200}"
    for width in range(230, 246):
        found = snippet(text, PLAIN, {}, width=width).text.removesuffix("…")
        assert width // 2 < len(found) <= width
        assert not unicodedata.category(text[len(found)]).startswith("M")


def test_a_long_word_is_cut_where_the_passage_ends():
    found = snippet(f"see {'x' * 900}", PLAIN, {})
    assert len(found.text) == 241


def test_words_with_joints_are_marked_beside_others():
    index = SoftIndex.from_texts(["anti-slip mats, green tea"], plain=True, encoder=None)
    (hit,) = index.search("green antislip")
    assert marked(hit.snippet) == "[anti]-[slip] mats, [green] tea"


def worths_by_definition(text, analyzer, weights):
    """What the words of a text are worth by their places, each word read alone."""
    spans = analyzer.spans(text)
    kept = [place for place, span in enumerate(spans) if analyzer.keeps(span.word)]
    stems = [stem for place in kept for stem in analyzer.stem([spans[place].word])]
    terms = [(kept[a:b], " ".join(stems[a:b])) for a, b in analyzer.ranges(stems)]
    terms += [(range(a, b), *analyzer.stem([word])) for a, b, word in joined_runs(text, spans)]
    found = {}
    for places, term in terms:
        worth = weights.get(term, (0.0, "", ""))
        found |= {
            one: max(found.get(one, worth), worth, key=by_worth) for one in places if worth[0] > 0.0
        }
    return [one.start for one in spans], [one.end for one in spans], dict(sorted(found.items()))


def windows_by_definition(text, starts, ends, found, width):
    """Starts of the passages of nearly the greatest weight, every passage weighed."""
    pieces = highlights._pieces(text, starts, width, licences=True)
    licensed = {place for first, last, own in pieces if own for place in range(first, last)}
    counted = {place: worth for place, worth in found.items() if place not in licensed}
    exact = {place for place, worth in found.items() if worth[1] == "exact"}
    plain = [piece for piece in pieces if not piece[2]]
    if plain and (not exact or exact - licensed):
        pieces, found = plain, counted
    weights = []
    for first, last, _ in pieces:
        begin = 0 if starts[first] <= 20 else starts[first]
        words = {}
        for place, (weight, _, word) in found.items():
            if place >= first and ends[place] < begin + width:
                words[word] = max(weight, words.get(word, 0.0))
        held = any(first <= place < last for place in found)
        weights.append(sum(words.values()) if held else 0.0)
    least = 0.9 * max(weights) if exact else 0.0
    near = [one[0] for one, weight in zip(pieces, weights, strict=True) if weight >= least]
    return [text[starts[one] : starts[one] + width] for one in near]


LICENCES = ("All rights reserved", "Copyright 1999", "without any warranty", "was issued as is")
SAID = (*own.WORDS, "anti-slip", "dog's", "\u6771\u4eac\u90fd", *LICENCES)


@given(
    st.lists(
        st.tuples(
            st.sampled_from(SAID), st.sampled_from([" ", " ", ". ", "\n", "\u3002", "! ", "-"])
        ),
        max_size=60,
    ),
    st.lists(
        st.tuples(
            st.sampled_from([*SAID, "antislip", "rights reserved"]),
            st.sampled_from([-1.0, 0.5, 0.95, 1.0]),
            st.sampled_from(["exact", "near"]),
        ),
        max_size=4,
    ),
    st.sampled_from([PLAIN, Analyzer("english", max_ngram=2), Analyzer("german", min_length=2)]),
    st.sampled_from([40, 90, 240]),
)
def test_passages_are_chosen_as_if_every_word_and_passage_were_weighed(
    said, terms, analyzer, width
):
    text = "".join(map("".join, said))
    weights = {
        term: (weight, kind, word) for word, weight, kind in terms for term in analyzer.terms(word)
    }
    expected = worths_by_definition(text, analyzer, weights)
    worths = Worths(analyzer, weights, {})
    for _ in range(2):  # once more with remembered stems
        assert worths.located(text) == expected
        asked = []
        highlights.snippet(text, worths, nearest=asked.append, width=width)
        if len(text) > width and expected[0]:
            windows = windows_by_definition(text, *expected, width)
            assert asked == ([windows] if len(windows) > 1 else [])
