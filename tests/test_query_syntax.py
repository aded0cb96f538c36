"""The query language: operators where they are meant, plain text everywhere else."""

from __future__ import annotations

from functools import partial
from itertools import pairwise

import pytest
from hypothesis import assume, example, given, reject
from hypothesis import strategies as st

from softcosine.errors import InvalidInputError
from softcosine.index.query import parser
from softcosine.index.query.parser import Clause

parse_syntax = partial(parser.parse_syntax, syntax=True)

# Any characters, with those that mean something far oftener than by chance.
PIECES = (
    *("+", "-", '"', "^", "^2", "^0.5", "^1", "^.25", "^1e3", " ", "  ", "\n", "\u00a0", ".", ","),
    *("a", "tyre", "C++", "e-mail", "x^y", "5", "_", "é", "東京", "😀", "(", ")", "\x1f", "\ud800"),
)
queries = st.one_of(
    st.lists(st.sampled_from(PIECES), max_size=12).map("".join),
    st.text(st.characters(exclude_categories=()), max_size=12),
    st.lists(st.sampled_from(PIECES) | st.text(max_size=2), max_size=12).map("".join),
)


def parse(query):
    """Parse any text; the only error is that of a weight, which has its own test."""
    try:
        return parse_syntax(query)
    except InvalidInputError:
        reject()


def written_down(clauses):
    return " ".join(map(str, clauses))


def parsed(query):
    """The clauses in short: kind's sign, text in quotes if a phrase, weight if not 1."""
    return [
        (clause.kind, clause.phrase, clause.text, clause.weight) for clause in parse_syntax(query)
    ]


def should(text, weight=1.0):
    return ("should", False, text, weight)


def must(text, weight=1.0):
    return ("must", False, text, weight)


def must_not(text, weight=1.0):
    return ("must_not", False, text, weight)


def phrase(text, weight=1.0, kind="should"):
    return (kind, True, text, weight)


@pytest.mark.parametrize(
    ("query", "clauses"),
    [
        ("+tyre", [must("tyre")]),
        ("tyre +repair -car", [should("tyre"), must("repair"), must_not("car")]),
        ("  flat  tyre\t+repair\n", [should("flat  tyre"), must("repair")]),
        ("+e-mail", [must("e-mail")]),
        ("+C++ -c#", [must("C++"), must_not("c#")]),
        ("-5", [must_not("5")]),
        ("+東京", [must("東京")]),
        ("+repair, please", [must("repair,"), should("please")]),
        ('"flat tyre"', [phrase("flat tyre")]),
        ('" flat tyre "', [phrase("flat tyre")]),
        ('my "flat tyre", again', [should("my"), phrase("flat tyre"), should(", again")]),
        ('+"a b" -"c d"', [phrase("a b", 1, "must"), phrase("c d", 1, "must_not")]),
        ('"a" "b"', [phrase("a"), phrase("b")]),
        ('"+a -b"', [phrase("+a -b")]),
        ("tyre^2", [should("tyre", 2)]),
        ("flat tyre^.5 repair", [should("flat"), should("tyre", 0.5), should("repair")]),
        ("tyre^2, repair", [should("tyre", 2), should(", repair")]),
        ("tyre^2. repair", [should("tyre", 2), should("repair")]),
        ("+tyre^3 -car^2", [must("tyre", 3), must_not("car", 2)]),
        ('"flat tyre"^2', [phrase("flat tyre", 2)]),
        ('+"flat tyre"^2.25', [phrase("flat tyre", 2.25, "must")]),
        ("e-mail^2 C++^3", [should("e-mail", 2), should("C++", 3)]),
        ("tyre^1 repair", [should("tyre repair")]),
        ("+a^y", [must("a^y")]),
        ('+5" pipe', [must('5"'), should("pipe")]),
    ],
)  # fmt: skip
def test_operators_count_where_they_are_meant(query, clauses):
    assert parsed(query) == clauses


@pytest.mark.parametrize(
    "query",
    [
        "", " ", "tyre", "  two  words ", "well-known", "C++", "- item", "5 - 3", "e-mail", "a-b+c",
        "--force", "-- dash", "+", "-", "+ a", "-_x", "-😀", "-.5", '"', '""', '" "', 'an "open',
        '5" pipe', 'a 5" or 6" pipe', '"a"b', '("a b")', "x^y", "x^", "^2", "x^2^3", "x^2y", "x^-1",
        "...^2", "a\u2013b", 'say "', '-"', '+""', "C++ - a well-known 'language'",
    ],
)  # fmt: skip
def test_ordinary_text_is_one_plain_clause(query):
    syntax = parse_syntax(query)
    assert syntax == (Clause(query),)
    assert syntax[0].plain
    assert str(syntax[0]) == query


@given(queries)
@example('"a"+b')
@example('"a +b c"d')
@example("+a^1e3 b^1 c")
@example("x^0.000001 y^1000000")
def test_every_text_parses_and_is_given_back(query):
    syntax = parse(query)
    assert syntax
    assert parse_syntax(written_down(syntax)) == syntax
    if len(syntax) == 1 and syntax[0].plain and "^1" not in query:
        assert written_down(syntax) == query
    for before, after in pairwise(syntax):
        assert not (before.plain and after.plain)


@given(queries)
def test_no_letter_is_lost_or_moved(query):
    def letters(text):
        return [character for character in text if character.isalpha()]

    kept = [clause.text for clause in parse(query)]
    assert letters("".join(kept)) == letters(query)


words = st.sampled_from(["tyre", "e-mail", "C++", "5", "東京", "x,"])
clauses = st.builds(
    lambda text, kind, phrase, weight: Clause(text, kind, phrase, weight),
    words,
    st.sampled_from(["should", "must", "must_not"]),
    st.booleans(),
    st.sampled_from([1.0, 2.0, 0.5, 1e-6, 1e6, 1 / 3]),
)


@given(st.lists(clauses, min_size=1, max_size=5))
def test_clauses_that_are_written_down_are_found_again(written):
    assume(not any(a.plain and b.plain for a, b in pairwise(written)))
    assert parse_syntax(written_down(written)) == tuple(written)


@pytest.mark.parametrize(
    "query",
    ["a^0", 'x "a b"^0.0', "+a^0.00000001", "a^1000001", "a^" + "9" * 400, "a^.0" + "0" * 400],
)
def test_weights_that_cannot_be_meant_are_refused(query):
    with pytest.raises(
        InvalidInputError, match=r"the weight in .* positive numbers from 0\.000001"
    ):
        parse_syntax(query)


def test_only_strings_have_operators():
    assert parse_syntax(["+a", "b^2"]) == (Clause(["+a", "b^2"]),)


@pytest.mark.parametrize(
    "piece", ['"', '+"', 'a"', "a", "-", "+a", "a^", '"a" ', "^2", '" ', "a^2"]
)
def test_long_text_is_parsed_in_linear_time(piece):
    parse_syntax(piece * 100_000)


def test_only_quotes_are_operators_of_a_question():
    asked = {
        "what does ls -l do": ["what does ls -l do"],
        "chmod +x, x^2": ["chmod +x, x^2"],
        'grep -r "flat tyre" -"car"': ["grep -r", '"flat tyre"', '-"car"'],
    }
    for query, clauses in asked.items():
        assert list(map(str, parser.parse_syntax(query))) == clauses
        assert parser.parse_syntax(query, False) == (Clause(query),)


@given(queries)
def test_a_question_without_quotes_is_text(query):
    assume('"' not in query)
    assert parser.parse_syntax(query) == (Clause(query),)


@pytest.mark.parametrize(
    "query",
    [
        "\u201cflat tyre\u201d", "\u201eflat tyre\u201c", "\u00abflat tyre\u00bb",
        "\u00ab\u00a0flat tyre\u00a0\u00bb", "\u300cflat tyre\u300d",
        '"flat tyre\u201d', "\u201cflat tyre\"", "\uff02flat tyre\uff02", "\u300eflat tyre\u300f",
    ],
)  # fmt: skip
def test_typographic_quotation_marks_are_quotes(query):
    assert parsed(f"a {query} b") == [should("a"), ("should", True, "flat tyre", 1.0), should("b")]
    assert parsed(f"-{query}") == [("must_not", True, "flat tyre", 1.0)]
    assert parser.parse_syntax(query, syntax=False) == (Clause(query),)


def test_german_quotation_marks_within_a_sentence_set_words_off():
    assert parsed("\u00bbflat tyre\u00ab") == [("should", True, "flat tyre", 1.0)]
    assert parsed("+\u00bbflat tyre\u00ab") == [("must", True, "flat tyre", 1.0)]
    for sentence in ("a \u00bbflat tyre\u00ab b", "\u00bbflat\u00ab tyre"):
        assert parsed(sentence) == [should(sentence)]


def test_text_around_corner_brackets_has_no_blanks():
    assert parsed("\u6771\u4eac\u300c\u5927\u962a\u57ce\u300d\u306e") == [
        should("\u6771\u4eac"), ("should", True, "\u5927\u962a\u57ce", 1.0), should("\u306e"),
    ]  # fmt: skip
    assert parsed("\u300c\u5927\u962a\u300d^2") == [("should", True, "\u5927\u962a", 2.0)]
