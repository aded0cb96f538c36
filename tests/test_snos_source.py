"""SNOS as a source of term similarity: from texts, from clicks, from any graph with names."""

from __future__ import annotations

import gzip

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import strategies as own
from softcosine.errors import InvalidInputError, MalformedFileError
from softcosine.lab.snos.learning import snos
from softcosine.lab.snos.source import SnosSimilarity, read_clicks, read_edges
from softcosine.matrix.term_similarity_matrix import TermSimilarityMatrix
from softcosine.similarity.registry import source_from_state
from softcosine.similarity.source import TermSimilaritySource, state_of
from softcosine.text.analyzer import Analyzer
from softcosine.text.corpus import analyze
from softcosine.text.vocabulary import Vocabulary

CLICKS = [
    ("cheap flights", "air.example", 5),
    ("low fares", "air.example", 2),
    ("low fares", "rail.example", 3),
    ("train tickets", "rail.example", 4),
    ("moon phases", "sky.example", 9),
]
TEXTS = ["flat tyre", "flat tire", "new tyre", "new tire", "new moon", "full moon"] * 5

edges = st.lists(
    st.tuples(
        st.sampled_from("abcdef"), st.sampled_from("UVWXYZ"), st.sampled_from([1, 2, 2.5, 0])
    ),
    max_size=15,
)


def square(source, names):
    n = len(names)
    left = [a for a in names for _ in range(n)]
    return source.similarities(left, list(names) * n).reshape(n, n)


@given(edges, st.sampled_from(["left", "right"]))
def test_similarities_are_soft_cosines_of_the_learned_space(graph, of):
    source = SnosSimilarity.from_graph(graph, of=of, threshold=0.0, tolerance=1e-10)
    read = read_edges(graph)
    names, B = (read.left, read.B) if of == "left" else (read.right, read.B.T)
    cosines = snos(B, normalize="both", tolerance=1e-10).soft_cosines
    np.testing.assert_allclose(square(source, names), np.minimum(cosines, 1.0), atol=1e-6)


def test_queries_are_similar_by_their_pages_and_by_similar_pages():
    source = SnosSimilarity.from_clicks(CLICKS)
    flights, fares, trains, moon = ("cheap flights", "low fares", "train tickets", "moon phases")
    close, far, none = source.similarities([flights] * 3, [fares, trains, moon])
    assert close > far > none == 0.0
    assert source.knows([flights, moon]).tolist() == [True, False]
    pages = SnosSimilarity.from_clicks(CLICKS, of="right")
    assert pages.similarities(["air.example"], ["rail.example"])[0] > 0.0


def test_clicks_count_by_their_logarithm_and_add_up():
    more = [(query, page, clicks - 1) for query, page, clicks in CLICKS]
    twice = [*more, *((query, page, 1) for query, page, _ in CLICKS)]
    logarithms = [(query, page, np.log1p(clicks)) for query, page, clicks in CLICKS]
    one = SnosSimilarity.from_clicks(CLICKS).matrix.toarray()
    for graph in (SnosSimilarity.from_clicks(twice), SnosSimilarity.from_graph(logarithms)):
        np.testing.assert_allclose(graph.matrix.toarray(), one, rtol=1e-6)


def test_terms_are_similar_that_stand_with_the_same_terms_though_never_together():
    source = SnosSimilarity.from_texts(TEXTS)
    tire, moon = source.similarities(["tyre"] * 2, ["tire", "moon"])
    assert tire > moon


def test_fit_is_what_from_texts_does():
    one, other = SnosSimilarity.from_texts(TEXTS), SnosSimilarity.fit(analyze(TEXTS))
    assert np.array_equal(one.matrix.toarray(), other.matrix.toarray())
    assert one.words == other.words


def test_rare_terms_and_terms_beyond_the_limit_are_left_out():
    source = SnosSimilarity.from_texts([*TEXTS, "flat earth"], min_count=2)
    assert not source.knows(["earth"])[0]
    few = SnosSimilarity.from_texts(TEXTS, max_terms=3)
    assert set(few.words) <= {"new", "flat", "moon", "tire", "tyre"}
    assert len(few.words) <= 3


def test_under_stemming_all_forms_of_a_term_are_known():
    texts = ["running shoes", "runs in a shoe", "run", "shoe"] * 5
    source = SnosSimilarity.from_texts(texts, Analyzer(stemmer="english"))
    assert source.knows(["running", "runs", "shoes"]).all()
    assert source.similarities(["running"], ["runs"])[0] == 1.0


def test_a_threshold_cuts_and_an_exponent_sharpens():
    names = ["cheap flights", "low fares", "train tickets"]
    plain = square(SnosSimilarity.from_clicks(CLICKS), names)
    sharp = square(SnosSimilarity.from_clicks(CLICKS, exponent=2.0), names)
    np.testing.assert_allclose(sharp, plain**2, rtol=1e-5)
    middle = float(np.sort(np.unique(plain))[1])
    cut = square(SnosSimilarity.from_clicks(CLICKS, threshold=middle), names)
    np.testing.assert_array_equal(cut, np.where(plain >= middle, plain, 0.0))


def test_it_is_a_source_that_can_be_kept_and_be_asked_for_a_matrix():
    source = SnosSimilarity.from_clicks(CLICKS)
    assert isinstance(source, TermSimilaritySource)
    again = source_from_state(state_of(source))
    assert isinstance(again, SnosSimilarity)
    assert again.learned == source.learned
    assert again.learned["normalize"] == "both"
    assert np.array_equal(again.matrix.toarray(), source.matrix.toarray())
    vocabulary = Vocabulary(["cheap flights", "low fares", "moon phases"])
    S = TermSimilarityMatrix.from_source(source, vocabulary, warn=False)
    assert [term for term, _ in S.neighbors("low fares")] == ["cheap flights"]
    assert "SnosSimilarity(3 pairs of 3 words" in repr(source)


@given(own.corpora())
def test_any_texts_can_be_learned_from(texts):
    source = SnosSimilarity.fit(analyze(texts), min_count=1)
    S = square(source, analyze(texts).vocabulary.terms)
    assert np.all((S >= 0.0) & (S <= 1.0))
    assert np.array_equal(S, S.T)


@pytest.mark.parametrize(
    ("edge", "message"),
    [
        (("query", "page"), "is no edge; give"),
        (("query", 3, 1.0), r"the edge \('query', 3\) is not between two strings"),
        (("query", "page", -1), "the weight of 'query' and 'page' is -1; it must be a finite"),
        (("query", "page", float("nan")), "it must be a finite number of at least 0"),
        (("query", "page", "3"), "the weight of 'query' and 'page' is '3'"),
    ],
)
def test_bad_edges_are_named(edge, message):
    for learn in (SnosSimilarity.from_graph, SnosSimilarity.from_clicks):
        with pytest.raises(InvalidInputError, match=message):
            learn([("a", "b", 1.0), edge])


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"of": "top"}, "of is 'top'; it must be one of left, right"),
        ({"threshold": 2.0}, "threshold is 2.0; it must be a number"),
        ({"exponent": 0}, "exponent is 0; it must be a finite number above 0"),
        ({"max_neighbors": 0}, "max_neighbors is 0; it must be a whole number of 1 or more"),
        ({"lam": 9.0, "normalize": "raw"}, "grow without bound"),
    ],
)
def test_bad_settings_say_what_was_needed(settings, message):
    with pytest.raises(InvalidInputError, match=message):
        SnosSimilarity.from_graph(CLICKS, **settings)


def test_what_is_no_corpus_is_refused():
    with pytest.raises(InvalidInputError, match=r"of type list; call fit\(softcosine.analyze"):
        SnosSimilarity.fit(["a text"])


# --- files of clicks ------------------------------------------------------------------------------

HEADED = "id\tQuery\tlocale\tpage\tclicks\n7\tCheap  Flights!\tpt\tair\t5\n8\tlow fares\t\tair\t2\n"


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("clicks.tsv", "cheap flights\tair\t5\nlow fares\tair\t2\n"),
        ("clicks.csv", 'query,page,clicks\n"cheap, flights",air,5\nlow fares,air,2\n'),
        ("clicks", HEADED),
        ("clicks.tsv.gz", HEADED),
    ],
)
def test_a_file_of_clicks_teaches_what_the_clicks_do(tmp_path, name, text):
    path = tmp_path / name
    path.write_bytes(gzip.compress(text.encode()) if name.endswith("gz") else text.encode())
    source = SnosSimilarity.load(path, threshold=0.05)
    clicks = [("cheap flights", "air", 5.0), ("low fares", "air", 2.0)]
    assert [page for _, page, _ in read_clicks(path)] == ["air", "air"]
    expected = SnosSimilarity.from_clicks(clicks, threshold=0.05)
    assert source.knows(["cheap flights", "low fares", "Cheap  Flights!"]).tolist() == [1, 1, 0]
    found = source.similarities(["cheap flights"], ["low fares"])
    assert found == expected.similarities(["cheap flights"], ["low fares"]) > 0


def test_lines_without_a_number_are_single_clicks(tmp_path):
    path = tmp_path / "clicks"
    path.write_text("a\tx\n\na\tx\nb\tx\n", encoding="utf-8")
    assert list(read_clicks(path)) == [("a", "x", 1.0), ("a", "x", 1.0), ("b", "x", 1.0)]


def test_clicks_of_queries_that_become_equal_are_added(tmp_path):
    path = tmp_path / "clicks"
    path.write_text("Tea\tx\t1\ntea\tx\t2\ncoffee\tx\t1\ntea\ty\t9\n", encoding="utf-8")
    expected = SnosSimilarity.from_clicks([("tea", "x", 3), ("coffee", "x", 1), ("tea", "y", 9)])
    found = SnosSimilarity.load(path).similarities(["tea"], ["coffee"])
    assert found == expected.similarities(["tea"], ["coffee"])


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "it has no clicks"),
        (b"alone\n", "line 1: .* is no query and page"),
        (b"a\tb\t1\n\tb\t1\n", "line 2"),
        (b"a\tb\t1\na\tb\tmany\n", "line 2: the number of clicks is 'many'"),
        (b"a\tb\na\tc\t5\n", "line 2: it has more than a query and a page"),
        (b"x" * 1000, r"line 1: \['x{78} is no query and page"),
        (b"a\tb\t-1\n", "the number of clicks is '-1'"),
        (b"a\tb\tnan\n", "the number of clicks is 'nan'"),
        (b"a\tb\t1\n\xff\tb\t1\n", "line 2: this is not utf-8"),
        (gzip.compress(b"a\tb\t1\n" * 999, mtime=0)[:-9], "cut short or damaged"),
    ],
)
def test_a_file_that_is_none_of_clicks_is_told(tmp_path, content, message):
    path = tmp_path / "clicks"
    path.write_bytes(content)
    with pytest.raises(MalformedFileError, match=message):
        SnosSimilarity.load(path)
