"""What searches may ask for beside words, against a plain statement over the documents."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import settings as examples
from hypothesis import strategies as st

import strategies as own
from conftest import JIT
from expected import RANKINGS, scores
from softcosine.errors import InvalidInputError, UnknownDocumentError
from softcosine.index.query.filters import Where
from softcosine.index.query.parser import Clause
from softcosine.index.query.phrases import holds_phrase, phrase_words, running_words
from softcosine.index.segment import segment as segments_of
from softcosine.index.segment.documents import MemoryDocuments
from softcosine.index.segment.inverting import positions_of
from softcosine.index.segment.statistics import FieldStatistics
from softcosine.index.soft_index import SoftIndex
from softcosine.text.analyzer import Analyzer
from softcosine.text.vocabulary import Vocabulary
from softcosine.text.weighting import Weighting
from toys import ToySource, similarity_matrix

# Not all of them need stand in documents; "the" is a stop word, and "zz" is in no vocabulary.
TERMS = ("apple", "bus", "car", "dog", "egg")
ANALYZER = Analyzer(stop_words=["the"])
RAW = Weighting("raw", "smooth")

words = st.sampled_from([*TERMS, *TERMS, "the", "zz"])
texts = st.lists(st.sampled_from([*TERMS, *TERMS, "the"]), max_size=7).map(" ".join)


@dataclass(frozen=True)
class Documents:
    """Texts, their metadata, and S over TERMS."""

    texts: list[str]
    metadata: list[dict | None]
    S: np.ndarray

    def counts(self):
        rows = [Counter(text.split()) for text in self.texts]
        return np.array([[row[term] for term in TERMS] for row in rows], float)

    def index(self, **settings):
        return SoftIndex.from_texts(
            self.texts, metadata=self.metadata, S=similarity_matrix(self.S, Vocabulary(TERMS)),
            **{"analyzer": ANALYZER, "weighting": RAW, **settings},
        )  # fmt: skip


@st.composite
def collections(draw, max_docs=7):
    n_docs = draw(st.integers(1, max_docs))
    some = st.none() | st.fixed_dictionaries(
        {}, optional={"n": st.integers(0, 3), "x": st.booleans()}
    )
    return Documents(
        draw(st.lists(texts, min_size=n_docs, max_size=n_docs)),
        draw(st.lists(some, min_size=n_docs, max_size=n_docs)),
        draw(own.symmetric_matrices(len(TERMS))),
    )


def _clause(parts, kind, phrase, weight):
    return Clause((" " if phrase else "-").join(parts), kind, phrase, weight)


clauses = st.builds(
    _clause,
    st.lists(words, min_size=1, max_size=3),
    st.sampled_from(["should", "should", "must", "must_not"]),
    st.booleans(),
    st.sampled_from([1.0, 1.0, 2.0, 0.5]),
)
queries = st.lists(clauses, max_size=4)
wheres = st.sampled_from(
    [None, {}, {"n": 1}, {"n": {">=": 1}}, {"not": {"x": True}}, {"any": [{"n": 0}, {"x": False}]}]
)


def written(query):
    return " ".join(map(str, query))


def counts_of(query):
    """How often each term counts."""
    counts = dict.fromkeys(TERMS, 0.0)
    for clause in query:
        for word in clause.text.replace("-", " ").split():
            if word in counts and clause.kind != "must_not":
                counts[word] += clause.weight
    return np.array(list(counts.values()))


def holds(text, clause):
    """Whether a document holds what a clause is of; a clause of stop words holds nothing back."""
    asked = [word for word in clause.text.replace("-", " ").split() if word != "the"]
    if clause.phrase:
        return holds_phrase(running_words(text, ANALYZER), phrase_words(clause.text, ANALYZER))
    return set(asked) <= set(text.split())


def meets(text, query):
    """Whether a document meets the demands of a query."""
    for clause in query:
        if set(clause.text.replace("-", " ").split()) <= {"the"}:
            continue
        if clause.kind == "must_not" and holds(text, clause):
            return False
        if (clause.kind == "must" or (clause.kind == "should" and clause.phrase)) and not holds(
            text, clause
        ):
            return False
    return True


def plain_answer(index, documents, query, *, k=10, offset=0, min_score=0.0, where=None,
                 ranking="soft_bm25", expand=True):  # fmt: skip
    """What a search must give, document by document: numbers and scores."""
    asked = {term for term, n in zip(TERMS, counts_of(query), strict=True) if n}
    found = []
    for number, text in enumerate(documents.texts):
        score = index.explain(written(query), str(number), ranking=ranking, syntax=True).score
        held = set(text.split())
        if (
            score > 0
            and score >= min_score
            and meets(text, query)
            and (where is None or Where.parse(where).matches(documents.metadata[number] or {}))
            and (expand or asked & held)
        ):
            found.append((-score, number))
    return [(number, -score) for score, number in sorted(found)][offset : offset + k]


def answer(hits):
    return [(hit.number, hit.score) for hit in hits]


@examples(max_examples=150 if JIT else 10)
@given(
    collections(), queries, wheres, st.sampled_from(RANKINGS), st.booleans(),
    st.sampled_from([0.0, 0.5, 1.5]), st.sampled_from([1, 2, 10]), st.sampled_from([0, 0, 1, 3]),
)  # fmt: skip
def test_every_demand_is_met(documents, query, where, ranking, expand, min_score, k, offset):
    index = documents.index(ranking=ranking)
    asked = {
        "where": where, "expand": expand, "min_score": min_score,
        "k": k, "offset": offset,
    }  # fmt: skip
    hits = index.search(written(query), syntax=True, **asked)
    assert answer(hits) == plain_answer(index, documents, query, ranking=ranking, **asked)
    assert hits.offset == offset
    # Scores are those of the oracle, whatever is demanded.
    truth = scores(ranking, counts_of(query)[None], documents.counts(), documents.S, idf="smooth",
                   k1=RAW.k1, b=RAW.b)[0]  # fmt: skip
    for hit in hits:
        assert hit.score == pytest.approx(truth[hit.number], rel=1e-6)
        assert hit.text == documents.texts[hit.number]
        assert hit.metadata == (documents.metadata[hit.number] or {})


@given(
    collections(),
    st.lists(queries, max_size=5),
    wheres,
    st.sampled_from([1, 2, None]),
)
def test_a_batch_of_demanding_queries_gives_what_single_searches_give(
    documents, many, where, threads
):
    index = documents.index()
    asked = {"where": where, "k": 3}
    alone = [index.search(written(query), syntax=True, **asked) for query in many]
    assert index.search_batch(map(written, many), threads=threads, syntax=True, **asked) == alone


@given(collections(), queries, wheres, st.integers(1, 4))
def test_pages_make_up_the_whole(documents, query, where, size):
    index = documents.index()
    asked = {"where": where}
    whole = index.search(written(query), syntax=True, k=99, **asked)
    pages = [
        index.search(written(query), syntax=True, k=size, offset=offset, **asked)
        for offset in range(0, len(documents.texts) + size, size)
    ]
    assert [hit for page in pages for hit in page] == list(whole)
    assert not index.search(written(query), syntax=True, offset=10**6, **asked)


def without(index, gone):
    """The index with some documents deleted."""
    snapshot = index.snapshot
    segments = []
    for segment, first in zip(snapshot.segments, snapshot.documents.firsts, strict=True):
        live = np.array([first + n not in gone for n in range(segment.n_docs)], bool)
        segments.append(replace(segment, live=live))
    statistics = FieldStatistics.of(
        [segment.fields[0] for segment in segments], len(index.vocabulary),
        live=[segment.live for segment in segments],
    )  # fmt: skip
    return SoftIndex(snapshot.changed(segments=tuple(segments), statistics=(statistics,)))


def cut_index(documents, size, **settings):
    with patch.object(segments_of, "MAX_DOCS", size):
        return documents.index(**settings)


@given(
    collections(), st.lists(queries, min_size=1, max_size=3), wheres, st.sampled_from(RANKINGS),
    st.sampled_from([1, 2, 3]), st.sets(st.integers(0, 6)),
)  # fmt: skip
def test_segments_and_deletions_change_no_bit(documents, many, where, ranking, size, gone):
    asked = {"where": where, "k": 3}
    whole, cut = documents.index(ranking=ranking), cut_index(documents, size, ranking=ranking)
    assert len(cut.snapshot.segments) == -(-len(documents.texts) // size)
    for query in map(written, many):
        assert cut.search(query, syntax=True, **asked) == whole.search(query, syntax=True, **asked)
    left = [n for n in range(len(documents.texts)) if n not in gone]
    rest = SoftIndex.from_texts(
        [documents.texts[n] for n in left], ids=[str(n) for n in left],
        metadata=[documents.metadata[n] for n in left], S=whole.S, analyzer=ANALYZER,
        weighting=RAW, ranking=ranking,
    )  # fmt: skip
    for index in (without(whole, gone), without(cut, gone)):
        assert len(index) == len(left)
        for query in map(written, many):
            hits, expected = (
                index.search(query, syntax=True, **asked),
                rest.search(query, syntax=True, **asked),
            )
            assert [(hit.id, hit.score) for hit in hits] == [(h.id, h.score) for h in expected]
            assert [hit.number for hit in hits] == [int(hit.id) for hit in hits]
        assert all(str(n) not in index for n in gone)


@examples(max_examples=10)
@given(
    collections(), st.lists(queries, min_size=1, max_size=3), wheres,
    st.sampled_from([1, 3, 99]),
)  # fmt: skip
def test_a_saved_index_answers_to_the_bit(example_folder, documents, many, where, size):
    index = documents.index()
    path = example_folder() / "index"
    cut_index(documents, size).save(path)
    opened = SoftIndex.open(path)
    for query in map(written, many):
        asked = {"where": where, "k": 4, "offset": 1}
        assert opened.search(query, syntax=True, **asked) == index.search(
            query, syntax=True, **asked
        )


@given(collections(), queries, st.sampled_from([1, 2, 99]))
def test_kept_positions_and_texts_give_the_same_phrases(documents, query, size):
    by_texts = cut_index(documents, size)
    segments = []
    for segment, first in zip(by_texts.snapshot.segments, by_texts.documents.firsts, strict=True):
        own_texts = documents.texts[first : first + segment.n_docs]
        positions = positions_of(own_texts, ANALYZER, by_texts.vocabulary)
        ids = [str(first + n) for n in range(segment.n_docs)]
        forgotten = MemoryDocuments(own_texts, ids=ids, keep_texts=False)
        segments.append(replace(segment, positions=(positions,), documents=forgotten))
    kept = SoftIndex(by_texts.snapshot.changed(segments=tuple(segments)))
    assert answer(kept.search(written(query), syntax=True)) == answer(
        by_texts.search(written(query), syntax=True)
    )


# --- Odd queries --------------------------------------------------------------------------------

FLAT = Documents(
    ["flat tyre", "tyre flat", "flat the tyre", "e mail", "mail flat", "tyre"],
    [None] * 6,
    np.eye(5),
)


def flat_index(**settings):
    return SoftIndex.from_texts(
        FLAT.texts, **{"analyzer": ANALYZER, "plain": True, "weighting": RAW, **settings}
    )


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("", []),
        (" ", []),
        ("the", []),
        ("-tyre", []),  # nothing has a score
        ('-"flat tyre"', []),
        ("+nobody", []),
        ("tyre +nobody", []),
        ("tyre -nobody", [0, 1, 2, 5]),
        ('tyre "nobody knows"', []),
        ('tyre -"nobody knows"', [0, 1, 2, 5]),
        ("tyre +the", [0, 1, 2, 5]),
        ('tyre "the" -the', [0, 1, 2, 5]),
        ('tyre "the the"', [0, 1, 2, 5]),
        ("tyre", [0, 1, 2, 5]),
        ("+tyre", [0, 1, 2, 5]),
        ('"tyre"', [0, 1, 2, 5]),
        ("tyre +flat", [0, 1, 2, 4]),
        ("tyre -flat", [5]),
        ('tyre -"flat"', [5]),
        ('"flat tyre"', [0]),
        ('+"flat tyre"', [0]),
        ('"the flat tyre the"', [0]),
        ('"flat the tyre"', [2]),
        ('"flat of tyre"', []),  # of is no stop word, and in no document
        ('"flat tyre tyre"', []),
        ('"tyre flat"', [1]),
        ('flat -"flat tyre"', [1, 2, 4]),
        ("+e-mail", [3]),
        ("mail -e-mail", [4]),
        ("flat -mail-e", [0, 1, 2, 4]),  # only what holds both is kept out
        ("flat +mail-flat", [4]),
        ('flat mail -"mail flat"', [0, 1, 2, 3]),
        ("+tyre -tyre", []),
        ("tyre tyre^2 +tyre", [0, 1, 2, 5]),
    ],
)
def test_odd_queries_find_what_they_say(query, found):
    index = flat_index()
    assert sorted(hit.number for hit in index.search(query, syntax=True)) == found
    with patch.object(segments_of, "MAX_DOCS", 2):
        cut = flat_index()
    assert sorted(hit.number for hit in cut.search(query, syntax=True)) == found
    hits = index.search(query, expand=False, syntax=True)
    assert sorted(hit.number for hit in hits) == found


def test_syntax_can_be_left_to_plain_text():
    index = flat_index()
    assert index.search("flat -tyre", syntax=False) == replace_query(
        index.search("flat tyre"), "flat -tyre"
    )
    assert index.search(["flat", "-tyre"]).unknown == ("-tyre",)  # tokens have no operators


def replace_query(hits, query):
    return replace(hits, query=query)


@given(collections(), st.sampled_from(RANKINGS), st.sampled_from([0.5, 2.0, 3.0]))
def test_a_weight_counts_as_so_many_mentions(documents, ranking, weight):
    index = documents.index(ranking=ranking)
    weighed = index.search(f"apple^{weight:g} bus", syntax=True)
    if weight == int(weight):
        repeated = index.search("apple " * int(weight) + "bus")
        assert answer(weighed) == answer(repeated)
    assert answer(index.search(f'"apple"^{weight:g} bus', syntax=True)) == answer(
        index.search(f"+apple^{weight:g} bus", syntax=True)
    )
    # A weight on all clauses changes no order.
    heavy = index.search(f"apple^{weight:g} bus^{weight:g}", syntax=True, k=99)
    assert {hit.number for hit in heavy} == {hit.number for hit in index.search("apple bus", k=99)}


def test_words_too_rare_to_be_indexed_are_held_by_nobody():
    index = SoftIndex.from_texts(
        ["tea rare", "tea", "tea"], analyzer=Analyzer(), plain=True, min_df=2
    )
    assert not index.search("tea +rare", syntax=True)
    assert not index.search('tea "rare"')
    assert len(index.search("tea -rare", syntax=True)) == 3


def test_a_phrase_needs_texts_or_positions():
    index = flat_index()
    (segment,) = index.snapshot.segments
    forgotten = MemoryDocuments(FLAT.texts, keep_texts=False)
    bare = SoftIndex(index.snapshot.changed(segments=(replace(segment, documents=forgotten),)))
    for query in ('"flat tyre"', 'flat -"flat tyre"'):
        with pytest.raises(InvalidInputError, match="neither the places of words nor the texts"):
            bare.search(query)
    assert [hit.number for hit in bare.search('"tyre" +flat', syntax=True)] == [0, 1, 2]
    assert bare.search("tyre")[0].text == ""


def test_texts_are_read_only_where_a_phrase_is_still_in_question():
    index = SoftIndex.from_texts(
        FLAT.texts, metadata=[{"n": n} for n in range(6)], analyzer=ANALYZER, plain=True
    )
    read = []
    with patch.object(
        MemoryDocuments,
        "text",
        lambda self, number: read.append(number) or FLAT.texts[number],
    ):
        hits = index.search('"flat tyre"', where={"n": {"<": 2}}, k=1)
    assert hits.ids == ["0"]
    assert set(read) == {0, 1}


# --- Long queries -------------------------------------------------------------------------------


@given(
    collections(),
    st.lists(st.sampled_from(TERMS), max_size=12),
    st.integers(1, 6),
    st.sampled_from(RANKINGS),
)
@example(
    Documents(["apple bus", "bus car"], [None, None], np.eye(5)), ["apple", "car"], 1, "soft_bm25"
)
def test_of_a_long_query_the_terms_of_largest_weight_count(documents, query, most, ranking):
    index = documents.index(ranking=ranking)
    counts = Counter(query)
    weights = index.words().summands[0][1].ranking.term_weights
    order = sorted(counts, key=lambda term: (-counts[term] * weights[TERMS.index(term)], term))
    kept, dropped = order[:most], order[most:]
    found = index.search(query, max_terms=most)
    assert found.left_out == tuple(sorted(dropped))
    short = [term for term in query if term in kept]
    assert answer(found) == answer(index.search(short, max_terms=None))
    assert index.search(short, max_terms=most).left_out == ()
    for hit in found:
        why = index.explain(query, hit.id, max_terms=most)
        assert why.score == hit.score
        assert {part.query_word for part in why.parts} <= set(kept)


def test_words_outside_the_vocabulary_count_in_any_long_query():
    index = SoftIndex.from_texts(
        ["coffee", "tea bus", "car"], analyzer=Analyzer(),
        source=ToySource({("mocha", "coffee"): 0.75}),
    )  # fmt: skip
    hits = index.search("mocha tea bus car", max_terms=1)
    assert hits.outside == ("mocha",)
    assert len(hits.left_out) == 2
    assert "0" in hits.ids
    # A demand holds whether its word counts or not.
    assert index.search("tea car +bus", syntax=True, max_terms=1).ids == ["1"]


def test_neighbors_of_a_word_outside_are_asked_for_once_a_commit():
    asked: list[str] = []

    class Heard(ToySource):
        def neighbors(self, terms, among, *, max_neighbors):
            asked.extend(terms)
            return super().neighbors(terms, among, max_neighbors=max_neighbors)

    pairs = {("mocha", "coffee"): 0.75, ("mocha", "cocoa"): 0.5}
    index = SoftIndex.from_texts(["coffee", "tea"], analyzer=Analyzer(), source=Heard(pairs))
    first = index.search("mocha tea")
    asked.clear()
    again = index.search_batch(["mocha tea", "tea mocha"])
    assert [answer(one) for one in again] == [answer(first)] * 2
    assert [hit.score for hit in again[0]] == [hit.score for hit in first]
    assert not asked
    with index.writer() as writer:
        writer.add("2", "cocoa")
    assert "2" in index.search("mocha").ids
    assert asked.count("mocha") == 1


# --- Documents as queries -----------------------------------------------------------------------


@given(collections(), wheres, st.sampled_from(RANKINGS), st.sampled_from([1, 2, 99]))
def test_similar_documents_can_be_filtered(documents, where, ranking, size):
    index = cut_index(documents, size)
    for number, text in enumerate(documents.texts):
        scored = [
            (-index.explain_similar(str(number), str(other), ranking=ranking).score, other)
            for other in range(len(documents.texts))
            if other != number
        ]
        passing = [
            (other, -score)
            for score, other in sorted(scored)
            if score < 0
            and (where is None or Where.parse(where).matches(documents.metadata[other] or {}))
        ]
        for k in (1, 99):
            hits = index.similar(str(number), k=k, where=where, ranking=ranking)
            assert answer(hits) == passing[:k]
        assert hits.query == f"like {number}"
        assert text == documents.texts[number]


def test_deleted_documents_are_like_nothing():
    index = without(flat_index(), {0})
    assert "0" not in index.similar("1").ids
    with pytest.raises(UnknownDocumentError):
        index.similar("0")
    with pytest.raises(UnknownDocumentError):
        index.explain("tyre", "0")


# --- Plans --------------------------------------------------------------------------------------


def test_hits_say_how_they_were_found():
    index = flat_index()
    cases = [
        ("tyre", {}, "terms", "a single query"),
        ("+tyre flat", {"syntax": True}, "terms", "a single query"),
        ("tyre", {"expand": False}, "sharing", "share a term"),
        ("nobody", {}, "nothing", "no document has a term"),
        ("", {}, "nothing", "no document has a term"),
    ]
    for query, settings, method, reason in cases:
        plan = index.search(query, **settings).plan
        assert plan.method == method
        assert reason in plan.reason
    negative = SoftIndex.from_texts(
        ["a", "b"],
        analyzer=Analyzer(),
        S=similarity_matrix([[1, -0.5], [-0.5, 1]], Vocabulary(["a", "b"])),
    )
    assert negative.search("a").plan.method == "all"
    assert "similarities are negative" in negative.search("a").plan.reason


def test_a_batch_says_what_it_weighed():
    index = flat_index()
    few = index.search_batch(["tyre", "flat"], threads=1)
    assert few[0].plan.method == "terms"
    many = index.search_batch(["tyre flat mail e"] * 60, ranking="soft_bm25", threads=1)
    assert many[0].plan.method == "panel"
    for hits in (*few, *many):
        assert "postings" in hits.plan.reason
    assert answer(many[0]) == answer(index.search("tyre flat mail e", ranking="soft_bm25"))


# --- Settings -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"offset": -1}, "offset is -1; it must be a whole number of 0 or more"),
        ({"offset": 1.5}, "offset is 1.5"),
        ({"offset": True}, "offset is True"),
        ({"offset": None}, "offset is None"),
        ({"max_terms": 0}, "max_terms is 0; it must be a whole number of 1 or more, or None"),
        ({"max_terms": 2.0}, "max_terms is 2.0"),
        ({"max_terms": False}, "max_terms is False"),
        ({"k": -1}, "k is -1"),
        ({"min_score": np.nan}, "min_score is"),
        ({"where": {"n": {"like": 1}}}, "like"),
        ({"where": "n = 1"}, "where is 'n = 1'; it must be a mapping"),
        ({"ranking": "best"}, "ranking is 'best'"),
    ],
)
def test_bad_settings_are_named(settings, message):
    index = flat_index()
    with pytest.raises(InvalidInputError, match=message):
        index.search("tyre", **settings)
    with pytest.raises(InvalidInputError, match=message):
        index.search_batch([], **settings)


def test_numbers_of_numpy_are_numbers():
    index = flat_index()
    assert index.search("tyre", k=np.int64(2), offset=np.int32(1), max_terms=np.int8(5)).ids == [
        "0",
        "1",
    ]


# --- Analyzers ----------------------------------------------------------------------------------


def test_demands_are_of_stems_where_words_are_stemmed():
    index = SoftIndex.from_texts(
        ["my flat tyres", "tyre, flatly", "tyre"], analyzer=Analyzer("english"), plain=True
    )
    assert set(index.search("+tyres", syntax=True).ids) == {"0", "1", "2"}
    assert index.search('"flat tyre"').ids == ["0"]
    assert index.search("tyre -flats", syntax=True).ids == ["2"]


def test_pairs_of_words_as_terms_change_no_demand():
    index = flat_index(analyzer=Analyzer(stop_words=["the"], max_ngram=2))
    assert sorted(index.search('"flat tyre"').ids) == ["0"]
    assert sorted(index.search("+flat +tyre", syntax=True).ids) == ["0", "1", "2"]
    assert sorted(index.search("flat -tyre", syntax=True).ids) == ["4"]


@pytest.mark.parametrize(
    "query", ["\ud800 tyre", "+\ud800", '"\ud800 tyre"', "tyre\x00^2", "\u202e+tyre"]
)
def test_no_character_is_too_odd_for_a_query(query, tmp_path):
    index = flat_index()
    index.save(tmp_path / "index")
    for one in (index, SoftIndex.open(tmp_path / "index")):
        hits = one.search(query)
        assert {hit.number for hit in hits} <= {0, 1, 2, 5}
        assert hits == index.search(query)


# --- Plain questions ----------------------------------------------------------------------------

PAGES = {
    "ls": "ls: list directory contents. -l uses a long listing format with sizes and owners.",
    "tar": "tar: save many files in an archive. -x, --extract gets files from an archive.",
    "rm": "rm: remove files or directories. -r, --recursive removes a directory with its contents.",
    "cp": "cp: copy files.",
}


@pytest.mark.parametrize(
    ("question", "page"),
    [
        ("what does ls -l do", "ls"),
        ("tar -extract archive", "tar"),
        ("remove directory with rm -recursive", "rm"),
    ],
)
def test_a_question_about_an_option_finds_its_page(question, page):
    index = SoftIndex.from_texts(PAGES.values(), ids=PAGES, plain=True)
    hits = index.search(question)
    assert hits.ids[0] == page
    assert (hits.required, hits.excluded) == ((), ())
    assert index.search_batch([question]) == [hits]
    assert index.explain(question, page).score == hits[0].score
    assert page not in index.search(question, syntax=True).ids
    assert index.expand(question, to="lucene") == index.expand(question, to="lucene", syntax=False)


def test_hits_say_what_the_operators_require_and_exclude():
    index = flat_index()
    hits = index.search('tyre +flat^2 -wheel "flat tyre" +the', syntax=True)
    assert (hits.required, hits.excluded) == (("flat", '"flat tyre"'), ("wheel",))
    assert 'With: flat, "flat tyre".\nWithout: wheel.' in repr(hits)
    assert index.search('tyre -"wheel"').excluded == ('"wheel"',)
    assert index.search('"flat" -"wheel"', syntax=False).required == ()


def test_a_list_of_texts_is_not_one_query():
    index = flat_index()
    with pytest.raises(InvalidInputError, match=r"'flat tyre' contains a blank; .* search_batch"):
        index.search(["flat tyre", "wheel"])
    assert len(index.search_batch(["flat tyre", "wheel"])) == 2
    assert index.search(["flat", "tyre"]).ids == index.search("flat tyre").ids


def found(texts, query, **options):
    """The texts that a search finds by words alone, the best first."""
    positions = options.pop("positions", None)
    index = SoftIndex.from_texts(texts, plain=True, language="none", positions=positions)
    return [hit.text for hit in index.search(query, k=9, **options)]


@pytest.mark.parametrize(
    ("texts", "query"),
    [
        (["valve QX-771 brass", "valve QX-772 brass", "valve ZR-771 brass"], "QX771"),
        (["valve QX771 brass", "valve QX 772 brass", "valve ZR 771 brass"], "qx-771"),
        (["valve QX 771 brass", "valve QX772 brass", "valve ZR771 brass"], "QX.771 valve"),
        (["6204-2RS", "6205-2RS", "6204-ZZ"], "62042rs"),
        (["6204-2RS", "6205-2RS", "6204-ZZ"], "62042 RS"),
        (["62042RS", "6205-2RS", "6204 ZZ"], "6204/2RS"),
        (["fuse 16A glass", "fuse 10 A glass"], "16 A fuse"),
        (["fuse 16 A glass", "fuse 10A glass"], "fuse 16A"),
        (["bolt M8x40 zinc", "bolt M6 x 40 zinc", "bolt M8x50 zinc"], "M8 x 40"),
        (["resistor 4k7", "4 resistors, 7 k"], "4 k7"),
        (["the B.B.C. news", "the C.B.S. news", "b and c"], "bbc"),
        (["a BSc degree", "a B.A. degree", "Sc fiction"], "B.Sc."),
        (["a re-usable cup", "a usable cup", "re: cup"], "reusable"),
        (["a reusable cup", "a usable cup", "a re: cup"], "re-usable cup"),
        (["R&D budget", "D budget", "R budget"], "rd"),
        (["the file user_name", "the user", "a name"], "username"),
    ],
)
def test_words_are_found_with_other_joints(texts, query):
    assert found(texts, query)[:1] == texts[:1]
    best, *others = SoftIndex.from_texts(texts, plain=True, language="none").search(query, k=9)
    assert all(other.score < best.score for other in others)
    assert best.snippet.marks
    assert {mark.kind for mark in best.snippet.marks} == {"exact"}


def test_numbers_stay_what_they_are():
    assert found(["15 mm", "1 5"], "5 mm") == ["15 mm", "1 5"]
    for text, query in [
        ("3.11", "311"), ("10-20", "1020"), ("2024-05-01", "20240501"), ("10.0.0.1", "10001"),
        ("1 000", "1000"), ("1/2in", "12in"), ("5 mm", "15 mm bolt"[:2] + "0"),
    ]:  # fmt: skip
        assert found([text, "tea"], query) == []
        assert found([query, "tea"], text) == []


@pytest.mark.parametrize(
    "query", ["lamp 60 W", "which lamp is for 60 W", "lamp 60 W 230 V 50 Hz 2 bar", "60 W lamp 9"]
)
def test_units_are_found_beside_words_that_no_document_has(query):
    texts = ["the pump of 40W is old", "this pump needs 60W"]
    hits = SoftIndex.from_texts(texts, plain=True, language="english").search(query)
    assert hits[0].text == texts[1]
    assert "Nothing contains" not in hits.note
    assert "60" not in hits.unknown


@pytest.mark.parametrize("positions", [True, False])
def test_operators_and_phrases_take_other_joints(positions):
    texts = ["a lamp of 60W here", "60 W, no lamp of it", "the anti-slip mat", "an antislip mat"]
    for query, wanted in [
        ('"lamp of 60 W"', {0}), ('"60W no"', {1}), ("+60W", {0, 1}), ('"60-W here"', {0}),
        ('"antislip mat"', {2, 3}), ('"anti-slip mat"', {2, 3}), ("+antislip", {2, 3}),
        ('lamp -"60 W"', set()), ('"the anti-slip mat"', {2}), ('"slip anti"', set()),
    ]:  # fmt: skip
        assert set(found(texts, query, syntax=True, positions=positions)) == {
            texts[number] for number in wanted
        }


def test_joined_words_change_no_score_of_other_queries():
    texts = ["up-to-date e-mail clients", "mail to the client", "B.B.C. mail server, up and down"]
    indexes = [
        SoftIndex.from_texts(texts, plain=True, analyzer=Analyzer("english", joints=joints))
        for joints in (True, False)
    ]
    for query in ("mail", "e-mail client", "up to date", "B.B.C.", "down-mail", "server client"):
        hits = [index.search(query, ranking="soft_tf_bm25") for index in indexes]
        assert hits[0].ids == hits[1].ids
        assert [hit.score for hit in hits[0]] == [hit.score for hit in hits[1]]


def test_a_word_in_capitals_with_dots_is_not_the_stop_word():
    index = SoftIndex.from_texts(["the U.S. market", "the market of tea"], language="english")
    assert index.search("what is it of us market", ask="words").unknown == ()
    assert "\u2060us" not in index.explain("us market", "0", ask="words").query


def test_emoji_are_words():
    texts = ["hot \U0001f525 offer", "I \u2764\ufe0f Rome", "plain"]
    assert found(texts, "\U0001f525") == texts[:1]
    assert found(texts, "\u2764") == texts[1:2]
    index = SoftIndex.from_texts(texts, plain=True)
    hits = index.search("\U0001f355 plain")
    assert (hits.ids, hits.unknown) == (["2"], ("\U0001f355",))


def test_an_unmatched_quotation_mark_is_said():
    index = SoftIndex.from_texts(["refund of money", "money"], plain=True)
    said = "A quotation mark has no partner, so it is read as text"
    for query in ('"refund money', "refund money\u201d", "\u00abrefund", 'money "'):
        assert index.search(query).note == said
        assert index.search(query, syntax=False).note == ""
    assert index.search("\u201czzz").note == f"{said}. Nothing contains these words"
    for query in ('5" money', "\u201crefund of\u201d", '"a"b money', "don't"):
        assert said not in index.search(query).note
