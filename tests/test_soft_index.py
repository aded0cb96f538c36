"""SoftIndex: from texts to ranked answers, against the oracle; saved and opened."""

from __future__ import annotations

import logging
import stat

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import oracle
import strategies as own
from expected import IDF, RANKINGS, TF, assert_ranked, query_tf, scores
from softcosine.errors import (
    AlreadyExistsError,
    CorruptIndexError,
    DuplicateIdError,
    IndefiniteMatrixError,
    IndexFormatError,
    InvalidInputError,
    UnknownDocumentError,
    VocabularyMismatchError,
)
from softcosine.index.soft_index import SoftIndex
from softcosine.matrix.term_similarity_matrix import TermSimilarityMatrix
from softcosine.similarity.overrides.guard import Guarded
from softcosine.similarity.registry import SourceKind, register_source
from softcosine.text.analyzer import Analyzer
from softcosine.text.vocabulary import Vocabulary
from softcosine.text.weighting import Weighting
from toys import SavableToySource, ToySource, similarity_matrix

register_source("tests-toy", SourceKind(SavableToySource))

RAW = Weighting("raw", "none")


def tokens_of(counts, terms):
    return [
        [term for term, n in zip(terms, row, strict=True) for _ in range(int(n))] for row in counts
    ]


def index_of(c, terms, *, ranking="soft_cosine", weighting=RAW):
    return SoftIndex.from_texts(
        tokens_of(c.counts, terms),
        S=similarity_matrix(c.S, Vocabulary(terms)),
        analyzer=Analyzer(),
        weighting=weighting,
        ranking=ranking,
    )


def ranked(hits):
    return [hit.number for hit in hits], [hit.score for hit in hits]


@given(
    own.collections(matrices=own.similarity_matrices),
    st.data(),
    st.sampled_from(RANKINGS),
    st.sampled_from(TF),
    st.sampled_from(IDF),
    st.sampled_from([1, 3, 20]),
)
def test_searches_agree_with_the_oracle(c, data, ranking, tf, idf, k):
    terms = data.draw(own.vocabularies(c.n_terms))
    index = index_of(c, terms, ranking=ranking, weighting=Weighting(tf, idf))
    truth = scores(ranking, c.queries, c.counts, c.S, tf=tf, idf=idf)
    for query, expected in zip(tokens_of(c.queries, terms), truth, strict=True):
        ids, found = ranked(index.search(query, k=k))
        positive = np.where(expected > 1e-12, expected, 0)
        assert all(score > 0 for score in found)
        # Scores that are 0 but for rounding may be left out or not.
        sure = np.count_nonzero(positive)
        assert len(ids) >= min(k, sure)
        assert_ranked(ids, found, expected, k=len(ids))


@given(own.collections(matrices=own.asymmetric_matrices), st.data())
def test_asymmetric_similarities_can_be_searched(c, data):
    terms = data.draw(own.vocabularies(c.n_terms))
    for ranking in RANKINGS:
        index = index_of(c, terms, ranking=ranking)
        truth = scores(ranking, c.queries, c.counts, c.S)
        for query, expected in zip(tokens_of(c.queries, terms), truth, strict=True):
            ids, found = ranked(index.search(query, k=20))
            assert_ranked(ids, found, expected, k=np.count_nonzero(expected > 1e-12))


@given(own.collections(matrices=own.similarity_matrices), st.data())
def test_a_batch_gives_what_single_searches_give(c, data):
    terms = data.draw(own.vocabularies(c.n_terms))
    index = index_of(c, terms)
    queries = tokens_of(c.queries, terms)
    alone = [index.search(query, k=5) for query in queries]
    for threads in (1, 3, None):
        together = index.search_batch(queries, k=5, threads=threads)
        assert together == alone
    assert index.search_batch(iter(queries), k=5) == alone
    assert index.search_batch([]) == []


@given(own.collections(matrices=own.similarity_matrices), st.data())
def test_options_filter_the_full_answer(c, data):
    terms = data.draw(own.vocabularies(c.n_terms))
    index = index_of(c, terms)
    query = tokens_of(c.queries, terms)[0]
    every = index.search(query, k=99)
    for bound in (-1, 0, 0.5, 1.0, 2):
        found = index.search(query, k=99, min_score=bound)
        assert list(found) == [hit for hit in every if hit.score >= bound]
    sharing = [bool(set(query) & set(document)) for document in tokens_of(c.counts, terms)]
    found = index.search(query, k=99, expand=False)
    assert list(found) == [hit for hit in every if sharing[hit.number]]
    for ranking in RANKINGS:
        assert index.search(query, ranking=ranking).ranking == ranking


# --- Words that no document contains ------------------------------------------------------------

OUTSIDE = ToySource(
    {
        # Indefinite, and tea and coffee hand out more than 1: what a source says of outside words
        # is shrunk and balanced with S.
        ("tea", "coffee"): 0.875,
        ("zebra", "coffee"): 0.875,
        ("mocha", "coffee"): 0.75,
        ("mocha", "tea"): 0.25,
        ("latte", "coffee"): 0.625,
        ("latte", "mocha"): 0.875,
        ("car", "bus"): 0.5,
        ("tram", "bus"): 0.5,
        ("tram", "car"): 0.25,
    },
    known=["lonely"],
)
INSIDE_TERMS = ("bus", "car", "coffee", "tea", "zebra")
OUTSIDE_TERMS = ("latte", "lonely", "mocha", "tram")
ALL_TERMS = INSIDE_TERMS + OUTSIDE_TERMS


def extended_matrix(inside=None):
    """S over the indexed and the outside words together, shrunk or balanced (theory)."""
    pairs = [[OUTSIDE.similarities([a], [b])[0] for b in ALL_TERMS] for a in ALL_TERMS]
    S = np.array(pairs, np.float64)
    if inside is None:
        return S
    factor, n = inside.settings.get("shrunk", 1.0), len(INSIDE_TERMS)
    scales = np.ones(len(S))
    if inside.scales is not None:
        scales = 1 / np.sqrt(np.maximum(1.0, (S[:, :n] - np.eye(len(S), n)).sum(axis=1)))
    return np.where(np.eye(len(S)) == 1, 1.0, factor * S * np.outer(scales, scales))


inside_words = st.lists(st.sampled_from(INSIDE_TERMS), max_size=5)
any_words = st.lists(st.sampled_from([*ALL_TERMS, "nobody"]), max_size=6)


@pytest.mark.parametrize("ranking", RANKINGS)
@pytest.mark.parametrize("tf", TF)
@own.FEWER
@given(
    documents=st.lists(inside_words, min_size=1, max_size=6),
    queries=st.lists(any_words, min_size=1, max_size=3),
    idf=st.sampled_from(IDF),
    balanced=st.booleans(),
)
def test_outside_words_are_axes_of_a_larger_space(tf, ranking, documents, queries, idf, balanced):
    # Every indexed term must be there, so that the index's vocabulary is INSIDE_TERMS.
    documents = [*documents, list(INSIDE_TERMS)]
    index = SoftIndex.from_texts(
        documents, source=OUTSIDE, analyzer=Analyzer(), weighting=Weighting(tf, idf),
        ranking=ranking, encoder=None,
    )  # fmt: skip
    assert index.vocabulary.terms == INSIDE_TERMS
    if not balanced:
        shrunk = TermSimilarityMatrix.from_source(OUTSIDE, index.vocabulary, definite=True)
        assert shrunk.settings["shrunk"] < 1
        index = index.with_similarity(shrunk, source=OUTSIDE)
    S = extended_matrix(index.S)
    counts = np.array([[d.count(t) for t in ALL_TERMS] for d in documents], float)
    Q = np.array([[q.count(t) for t in ALL_TERMS] for q in queries], float)
    if ranking == "expanded_cosine":  # the expanded query is a vector of indexed terms
        weights = oracle.idf(oracle.document_frequencies(counts), len(counts), idf)
        average = counts.sum(axis=1).mean()
        reached = oracle.weighted(query_tf(Q, tf, average), weights) @ S
        reached[:, len(INSIDE_TERMS) :] = 0
        truth = oracle.soft_cosine(
            reached, oracle.weighted(oracle.tf(counts, tf), weights), np.eye(len(S))
        )
    else:
        truth = scores(ranking, Q, counts, S, tf=tf, idf=idf)
    for query, expected in zip(queries, truth, strict=True):
        hits = index.search(query, k=99)
        ids, found = ranked(hits)
        assert_ranked(ids, found, expected, k=np.count_nonzero(expected > 1e-12), tolerance=1e-6)
        assert hits.outside == tuple(sorted(set(query) & set(OUTSIDE_TERMS) - {"lonely"}))
        assert set(hits.unknown) == set(query) & {"nobody", "lonely"}


def test_outside_words_find_documents_by_their_neighbors():
    index = SoftIndex.from_texts(
        [["coffee"], ["tea"], ["car"]], source=OUTSIDE, analyzer=Analyzer(), weighting=RAW,
        ranking="soft_cosine",
    )  # fmt: skip
    hits = index.search("mocha")
    assert hits.ids == ["0", "1"]
    assert hits.outside == ("mocha",)
    assert [hit.score for hit in hits] == [0.75, 0.25]
    assert len(index.search("mocha", expand=False)) == 0
    assert len(index.search("lonely")) == 0
    assert index.search("lonely").unknown == ("lonely",)  # similar to no word
    assert index.search("nobody").unknown == ("nobody",)
    assert index.neighbors("mocha") == [("coffee", 0.75), ("tea", 0.25)]
    assert index.neighbors("mocha", k=1) == [("coffee", 0.75)]
    assert index.neighbors("coffee") == [("tea", 0.875)]
    assert index.neighbors("nobody") == []
    without = index.with_similarity(index.S)
    assert without.search("mocha").unknown == ("mocha",)


def test_a_word_that_takes_its_own_stem_is_asked_as_it_was_typed():
    source = ToySource({("jogging", "running"): 0.5})
    index = SoftIndex.from_texts(
        ["he was running", "she sat"], source=source, analyzer=Analyzer("english"),
        ranking="soft_cosine", weighting=RAW,
    )  # fmt: skip
    hits = index.search("jogging")
    assert hits.outside == ("jogging",)
    assert hits.ids == ["0"]
    assert index.explain("jogging", "0").parts[0].document_word == "running"


# --- Ordinary use -------------------------------------------------------------------------------


def small(**settings):
    return SoftIndex.from_texts(
        ["green tea", "black coffee", "tea and coffee", ""],
        **{"plain": True, "analyzer": Analyzer(), **settings},
    )


def test_an_index_says_what_it_holds():
    index = small(ids=["a", "b", "c", "d"])
    assert len(index) == 4
    assert repr(index) == "SoftIndex(4 documents, 5 terms)"
    assert "a" in index
    assert "0" not in index
    assert 0 not in index
    assert index.note == "Only equal words count: S = I."
    assert "3" in small()
    assert index.vocabulary.terms == ("and", "black", "coffee", "green", "tea")


def test_equal_scores_rank_by_insertion():
    index = SoftIndex.from_texts(["x y", "y x", "x", "y", "x y"], plain=True, analyzer=Analyzer())
    for ranking in RANKINGS:
        ids = index.search("x y", ranking=ranking).ids
        assert [id for id in ids if id in "014"] == ["0", "1", "4"]
    assert index.search("x y", k=2, ranking="soft_cosine").ids == ["0", "1"]


def test_similar_documents_leave_out_the_document_itself():
    index = small()
    hits = index.similar("0", k=10)
    assert hits.ids == ["2"]
    assert hits.query == "like 0"
    assert hits.ranking == "soft_cosine"
    twice = SoftIndex.from_texts(["x", "x", "x"], plain=True, analyzer=Analyzer())
    assert twice.similar("1", k=2).ids == ["0", "2"]
    assert twice.similar("1", k=1).ids == ["0"]
    assert len(index.similar("3")) == 0
    with pytest.raises(UnknownDocumentError, match="no document with the id 'x'"):
        index.similar("x")


def test_another_matrix_or_weighting_ranks_the_same_postings():
    index = small()
    S = np.eye(5)
    S[2, 4] = S[4, 2] = 0.5
    soft = index.with_similarity(similarity_matrix(S, index.vocabulary))
    assert soft.snapshot.segments[0].fields is index.snapshot.segments[0].fields
    assert index.search("coffee").ids == ["1", "2"]
    assert soft.search("coffee").ids == ["2", "1", "0"]
    raw = soft.with_weighting(RAW, ranking="inner_product")
    assert [hit.score for hit in raw.search("coffee tea")] == [3, 1.5, 1.5]
    assert soft.with_weighting(RAW).ranking == soft.ranking
    with pytest.raises(VocabularyMismatchError, match="S has 2 terms, but the index has 5"):
        index.with_similarity(similarity_matrix(np.eye(2)))
    with pytest.raises(VocabularyMismatchError):
        index.with_similarity(similarity_matrix(np.eye(5)))
    with pytest.raises(InvalidInputError, match="S is of type ndarray"):
        index.with_similarity(np.eye(5))


def test_words_that_a_given_matrix_lacks_are_like_no_other():
    S = similarity_matrix([[1, 0.5], [0.5, 1]], Vocabulary(["tea", "coffee"]))
    index = small(plain=False, S=S, ranking="soft_cosine", weighting=RAW)
    assert index.vocabulary.starts_with(S.vocabulary)
    assert set(index.search("coffee").ids) == {"0", "1", "2"}
    assert index.S.neighbors("black") == []
    assert len(index.search("black"))
    disjoint = small(plain=False, S=similarity_matrix([[1]], Vocabulary(["x"])))
    assert len(disjoint.search("x")) == 0
    none = small(plain=False, S=similarity_matrix(np.empty((0, 0)), Vocabulary([])))
    assert none.search("tea") == small(plain=True).search("tea")


def test_sources_are_guarded_and_balanced():
    source = ToySource({("tea", "coffee"): 1.0, ("coffee", "x1"): 1.0, ("tea", "milk"): 1.0})
    index = SoftIndex.from_texts(
        ["tea coffee x1 milk"], source=source, analyzer=Analyzer(), weighting=RAW
    )
    assert isinstance(index.source, Guarded)
    assert index.S.neighbors("x1") == []
    assert index.S.statistics().smallest_eigenvalue >= -1e-6
    assert index.S.settings["balanced"]


def test_indefinite_similarities_are_not_clipped():
    chain = similarity_matrix([[1, 1, 0], [1, 1, 1], [0, 1, 1]], Vocabulary(["a", "b", "c"]))
    index = SoftIndex.from_texts(
        ["a c", "b"], S=chain, analyzer=Analyzer(), weighting=RAW, ranking="soft_cosine"
    )
    assert index.search("b").ids == ["0", "1"]
    assert index.search("b")[0].score == pytest.approx(np.sqrt(2))
    negative = similarity_matrix(np.eye(3) - 0.9 * (1 - np.eye(3)), Vocabulary(["a", "b", "c"]))
    with pytest.raises(IndefiniteMatrixError, match="for document 0"):
        SoftIndex.from_texts(
            ["a b c"], S=negative, analyzer=Analyzer(), weighting=RAW, ranking="soft_cosine"
        )
    index = SoftIndex.from_texts(
        ["a", "b"], S=negative, analyzer=Analyzer(), language="none", weighting=RAW,
        ranking="soft_cosine",
    )  # fmt: skip
    with pytest.raises(IndefiniteMatrixError):
        index.search("a b c")
    assert index.search("a").ids == ["0"]


def test_progress_is_told():
    told = []
    SoftIndex.from_texts(["tea"], source=ToySource({}), progress=lambda *step: told.append(step))
    assert {what for what, *_ in told} >= {"finding similar terms", "inverting"}


def test_the_default_index_understands_english():
    index = SoftIndex.from_texts(
        ["a puncture in the bike's tyre", "the tea is getting cold", "an old bicycle"],
        ids=["tyre", "tea", "bicycle"],
    )
    assert index.search("cycling").ids[0] in ("bicycle", "tyre")
    assert "tea" not in index.search("bike").ids
    assert "English" in index.note


# --- Degenerate collections ---------------------------------------------------------------------


@pytest.mark.parametrize("ranking", RANKINGS)
@pytest.mark.parametrize("texts", [[], [""], ["", " . "], [[]], [[], []]])
def test_nothing_to_find_is_an_empty_answer(texts, ranking, tmp_path):
    index = SoftIndex.from_texts(texts, plain=True, ranking=ranking)
    assert len(index) == len(texts)
    for query in ("tea", "", [], ["tea"]):
        assert len(index.search(query)) == 0
    for number in range(len(texts)):
        assert len(index.similar(str(number))) == 0
        assert index.explain("tea", str(number)).score == 0
    index.save(tmp_path / "x")
    opened = SoftIndex.open(tmp_path / "x", verify=True)
    assert len(opened) == len(texts)
    assert len(opened.search("tea")) == 0


def test_an_empty_corpus_has_defaults_too():
    for texts in ([], [""], ["tea"]):
        index = SoftIndex.from_texts(texts)
        assert len(index.search("coffee")) <= len(texts)


@pytest.mark.parametrize("ranking", RANKINGS)
def test_one_document_of_one_term(ranking):
    index = SoftIndex.from_texts(["tea"], plain=True, weighting=RAW, ranking=ranking)
    hits = index.search("tea", k=100)
    assert hits.ids == ["0"]
    assert np.isfinite(hits[0].score)
    if "cosine" in ranking:
        assert hits[0].score == 1


def test_a_query_of_ten_thousand_words():
    words = [f"w{i}" for i in range(200)]
    index = SoftIndex.from_texts(
        [" ".join(words[i : i + 5]) for i in range(0, 200, 5)], plain=True, ranking="soft_cosine"
    )
    query = " ".join(words * 50)
    hits = index.search(query, k=100)
    assert len(hits) == 40
    assert hits.hits == index.search(query.split(), k=100).hits
    # No document shares more with it than another, but for rounding.
    np.testing.assert_allclose([hit.score for hit in hits], hits[0].score)
    assert len(index.search(" ".join(f"x{i}" for i in range(10_000))).unknown) == 10_000


# --- Saving and opening -------------------------------------------------------------------------


def toy_index(source=None, **settings):
    return SoftIndex.from_texts(
        ["green tea\0 \ud800 tea", "black coffee", "tea and coffee", ""],
        ids=["a\0", "\udc00", "ça", "d"],
        metadata=[{"n": 1, "x": [None, True, "\ud800"]}, None, {}, {"n": 2}],
        source=source or SavableToySource({("tea", "coffee"): 0.5, ("mocha", "coffee"): 0.75}),
        analyzer=Analyzer(),
        **settings,
    )


@pytest.mark.parametrize("ranking", RANKINGS)
def test_an_opened_index_answers_to_the_bit_as_before(tmp_path, ranking):
    index = toy_index(ranking=ranking, weighting=Weighting("bm25", "smooth", k1=0.9))
    index.save(tmp_path / "x")
    for opened in (
        SoftIndex.open(tmp_path / "x"),
        SoftIndex.open(str(tmp_path / "x"), verify=True),
    ):
        assert len(opened) == len(index)
        assert opened.ranking == ranking
        assert opened.weighting == index.weighting
        assert opened.vocabulary == index.vocabulary
        assert opened.note == index.note
        for query in ("tea", "mocha", "coffee tea nobody", "", ["green", "mocha"]):
            before, after = index.search(query), opened.search(query)
            assert before == after
            assert [h.score.hex() for h in before] == [h.score.hex() for h in after]
            assert [str(h.snippet) for h in before] == [str(h.snippet) for h in after]
            for hit in before:
                assert index.explain(query, hit.id) == opened.explain(query, hit.id)
        assert opened.similar("a\0") == index.similar("a\0")
        assert opened.explain_similar("ça", "a\0") == index.explain_similar("ça", "a\0")
        assert "a\0" in opened
        assert "a" not in opened
        assert opened.search("tea")[0].metadata == index.search("tea")[0].metadata
    SoftIndex.open(tmp_path / "x").save(tmp_path / "y")
    assert SoftIndex.open(tmp_path / "y").search("mocha") == index.search("mocha")


@given(own.collections(matrices=own.similarity_matrices), st.data())
def test_any_index_is_opened_as_it_was_saved(example_folder, c, data):
    terms = data.draw(own.vocabularies(c.n_terms))
    index = index_of(c, terms)
    path = example_folder() / "x"
    index.save(path)
    opened = SoftIndex.open(path)
    for query in tokens_of(c.queries, terms):
        for ranking in RANKINGS:
            assert opened.search(query, ranking=ranking) == index.search(query, ranking=ranking)


def test_a_source_that_cannot_be_saved_is_given_again(tmp_path, caplog):
    source = ToySource({("tea", "coffee"): 0.5, ("mocha", "coffee"): 0.75})
    index = toy_index(source)
    with caplog.at_level(logging.WARNING):
        index.save(tmp_path / "x")
    assert "cannot be saved" in caplog.text
    opened = SoftIndex.open(tmp_path / "x")
    assert opened.search("mocha").unknown == ("mocha",)
    assert opened.search("tea") == index.search("tea")
    given_again = SoftIndex.open(tmp_path / "x", source=Guarded(source))
    assert given_again.search("mocha") == index.search("mocha")


def test_a_saved_index_replaces_an_index_only(tmp_path):
    index = toy_index()
    index.save(tmp_path / "x")
    with pytest.raises(AlreadyExistsError):
        index.save(tmp_path / "x")
    index.save(tmp_path / "x", overwrite=True)
    similarity_matrix([[1]]).save(tmp_path / "S")
    with pytest.raises(AlreadyExistsError, match="is no softcosine index"):
        index.save(tmp_path / "S", overwrite=True)
    with pytest.raises(IndexFormatError, match="holds a softcosine matrix"):
        SoftIndex.open(tmp_path / "S")
    with pytest.raises(IndexFormatError, match="holds a softcosine index"):
        TermSimilarityMatrix.load(tmp_path / "x")
    with pytest.raises(FileNotFoundError):
        SoftIndex.open(tmp_path / "y")


def test_an_index_may_be_saved_over_itself(tmp_path):
    index = toy_index()
    index.save(tmp_path / "x")
    opened = SoftIndex.open(tmp_path / "x")
    expected = index.search("tea")
    opened.save(tmp_path / "x", overwrite=True)
    assert SoftIndex.open(tmp_path / "x").search("tea") == expected
    assert sorted(p.name for p in tmp_path.iterdir()) == ["x"]


def test_every_damaged_file_is_named(tmp_path):
    toy_index().save(tmp_path / "x")
    files = [p for p in (tmp_path / "x").rglob("*") if p.is_file() and p.name != "manifest.json"]
    assert len(files) > 5
    for file in files:
        content = file.read_bytes()
        changed = bytearray(content)
        changed[len(content) // 2] ^= 255
        file.write_bytes(changed)
        with pytest.raises(CorruptIndexError, match=file.name):
            SoftIndex.open(tmp_path / "x", verify=True)
        file.write_bytes(content[:-1])
        with pytest.raises(CorruptIndexError, match=file.name):
            SoftIndex.open(tmp_path / "x")
        file.unlink()
        with pytest.raises(CorruptIndexError, match=file.name):
            SoftIndex.open(tmp_path / "x")
        file.write_bytes(content)
    SoftIndex.open(tmp_path / "x", verify=True)


def test_an_index_on_read_only_media_is_searched(tmp_path):
    index = toy_index()
    index.save(tmp_path / "x")
    places = [tmp_path / "x", *(tmp_path / "x").rglob("*")]
    for place in places:
        place.chmod(stat.S_IREAD | (stat.S_IEXEC if place.is_dir() else 0))
    try:
        assert SoftIndex.open(tmp_path / "x", verify=True).search("tea") == index.search("tea")
        assert sorted([tmp_path / "x", *(tmp_path / "x").rglob("*")]) == sorted(places)
    finally:
        for place in places:
            place.chmod(stat.S_IRWXU)


# --- What cannot be used ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"source": ToySource({}), "plain": True}, "exclude each other"),
        ({"S": similarity_matrix([[1]]), "plain": True}, "exclude each other"),
        ({"S": similarity_matrix([[1]]), "max_neighbors": 5}, "S or plain leaves no source"),
        ({"plain": True, "max_neighbors": 5}, "S or plain leaves no source"),
        ({"S": np.eye(2)}, "S is of type ndarray"),
        ({"source": {"a": "b"}}, "the source is {'"),
        ({"plain": True, "ranking": "bm25"}, "ranking is 'bm25'"),
        ({"plain": True, "ids": ["a"]}, "there are fewer ids than documents"),
        ({"plain": True, "ids": "ab"}, "ids is of type str"),
        ({"plain": True, "ids": 5}, "ids is of type int"),
        ({"plain": True, "ids": ["a", 2]}, "the id of document 1 is 2, of type int"),
        ({"plain": True, "ids": ["a", None]}, "the id of document 1 is None"),
        ({"plain": True, "metadata": [{}]}, "there are fewer metadata than documents"),
        ({"plain": True, "metadata": {"a": 1}}, "metadata is of type dict"),
        ({"plain": True, "metadata": [{}, 3]}, "the metadata of document '1' is of type int"),
        (
            {"plain": True, "metadata": [{}, {"x": np.nan}]},
            "document '1' cannot be written",
        ),
        ({"plain": True, "metadata": [{"x": {1}}, {}]}, "document '0' cannot be written as JSON"),
        ({"source": ToySource({}), "max_neighbors": -1}, "max_neighbors is -1"),
    ],
)
def test_bad_arguments_are_named(settings, message):
    with pytest.raises(InvalidInputError, match=message):
        SoftIndex.from_texts(["a", "b"], **settings)


def test_an_id_stands_for_one_document():
    with pytest.raises(DuplicateIdError, match="documents 0 and 2 have the same id 'a'"):
        SoftIndex.from_texts(["x", "y", "z"], ids=["a", "b", "a"], plain=True)


@pytest.mark.parametrize(
    "texts", ["tea", b"tea", {"a": "tea"}, None, 5, [5], [None], ["a", 5], [["a", 5]], [b"x"]]
)
def test_what_is_no_text_is_refused(texts):
    with pytest.raises(InvalidInputError):
        SoftIndex.from_texts(texts, plain=True)


@pytest.mark.parametrize(
    "query", [None, 5, b"tea", {"tea": 1}, ["tea", 5], [None], ("tea", b"x"), [["tea"]]]
)
def test_what_is_no_query_is_refused(query):
    index = small()
    with pytest.raises(InvalidInputError):
        index.search(query)
    with pytest.raises(InvalidInputError):
        index.explain(query, "0")
    with pytest.raises(InvalidInputError):
        index.parse(query)


def test_two_stems_that_come_to_one_word_outside_count_it_twice():
    # The stem of the first is the second, which has another stem: the source knows one word.
    source = ToySource({("abolition", "slavery"): 0.5})
    index = SoftIndex.from_texts(["slavery", "tea"], source=source, analyzer=Analyzer("english"))
    (word,) = index.parse("abolitionism abolition abolition").outside
    assert (word.word, word.frequency) == ("abolition", 3)
    assert index.search("abolitionism abolition")[0].id == "0"


def test_tokens_may_come_in_any_sequence():
    index = small()
    expected = index.search(["tea", "coffee"])
    assert index.search(("tea", "coffee")) == expected
    assert index.search(np.array(["tea", "coffee"])) == expected


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"k": -1}, "k is -1"),
        ({"k": True}, "k is True"),
        ({"k": 2.5}, "k is 2.5"),
        ({"k": None}, "k is None"),
        ({"k": "3"}, "k is '3'"),
        ({"min_score": np.nan}, "min_score is nan"),
        ({"min_score": "0.5"}, "min_score is '0.5'"),
        ({"ranking": "bm25"}, "ranking is 'bm25'"),
    ],
)
def test_bad_settings_of_a_search_are_named(settings, message):
    index = small()
    with pytest.raises(InvalidInputError, match=message):
        index.search("tea", **settings)
    with pytest.raises(InvalidInputError, match=message):
        index.similar("0", **settings)
    with pytest.raises(InvalidInputError, match=message):
        index.search_batch([], **settings)


def test_queries_are_a_list():
    for queries in ("tea", None, 5):
        with pytest.raises(InvalidInputError, match="queries is "):
            small().search_batch(queries)
    for threads in (0, 1.5):
        with pytest.raises(InvalidInputError, match="threads is "):
            small().search_batch(["tea"], threads=threads)


def test_unknown_ids_are_named():
    index = small()
    for id in ("4", "-1", "00", "x", "", "9" * 5000, "²"):
        assert id not in index
        for ask in (
            lambda name=id: index.explain("tea", name),
            lambda name=id: index.similar(name),
            lambda name=id: index.explain_similar(name, "0"),
            lambda name=id: index.explain_similar("0", name),
        ):
            with pytest.raises(UnknownDocumentError, match="there is no document with the id"):
                ask()
