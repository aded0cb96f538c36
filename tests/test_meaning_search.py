"""Search by words and meaning against a dense oracle, and its bits on every path."""

from __future__ import annotations

import pickle
from itertools import combinations, product
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import oracle
import softcosine as sc
from softcosine.errors import InvalidInputError
from softcosine.index.directory.check import check_index
from softcosine.index.directory.store import Store
from softcosine.index.query.ready_query import FLOOR, FLOOR_OF_UNKNOWN, ReadyQuery
from softcosine.index.search.execution import FEW_WORDS
from softcosine.index.spaces import sum as sums
from softcosine.index.spaces.part import OTHERS, QUESTION, SHORT, TEXT
from softcosine.index.spaces.sum import meaning_of
from toy_encoder import DIMENSIONS, ToyEncoder, toy_space, vector
from toys import ToySource

WORDS = ("flat", "tyre", "moon", "tea", "green", "wheel", "red", "night")
SPACE = toy_space([*WORDS, "sun"])
texts = st.lists(st.lists(st.sampled_from(WORDS), max_size=5).map(" ".join), min_size=1, max_size=9)
queries = st.lists(st.sampled_from((*WORDS, "sun", "zzz")), min_size=1, max_size=4).map(" ".join)
weights = st.sampled_from((0.25, 1.0, 40.0, 1e6))
ways = st.sampled_from(("static", "encoder"))


def made(documents, **options):
    options = {"encoder": ToyEncoder(), "meaning_space": SPACE, "plain": True, **options}
    return sc.SoftIndex.from_texts(documents, language="english", **options)


def shown(hits):
    return [(hit.id, hit.score) for hit in hits]


def expected(index, documents, query, ask, weight):
    """Ids and scores by the definition: words + weight * cosine of the rounded coordinates."""
    words = np.zeros(len(documents))
    for hit in index.search(query, k=99, ask="words"):
        words[int(hit.id)] = hit.score
    rows = SPACE.coordinates(np.array([vector(text) for text in documents], np.float32))
    rows = rows.astype(np.float64)
    if ask == "encoder":
        unit = SPACE.unit(vector(query).astype(np.float32))
    else:
        parts = [(word, 1.0) for word in query.split()]
        static = SPACE.static_query(parts, index.snapshot.piece_frequencies)
        unit = np.zeros(DIMENSIONS) if static is None else static.vector
    lengths = np.linalg.norm(rows, axis=1)
    cosines = np.divide(rows @ unit, lengths, out=np.zeros(len(rows)), where=lengths > 0)
    asked = query.split()
    if len(asked) <= FEW_WORDS and set(asked) <= set(" ".join(documents).split()):
        cosines = cosines + [set(asked) <= set(text.split()) for text in documents]
    scores = words + weight * cosines
    unknown = bool(asked) and set(asked).isdisjoint(" ".join(documents).split())
    floor = FLOOR_OF_UNKNOWN if unknown else FLOOR
    hits = ((words > 0) | (cosines >= floor)) & (scores > 0)
    if not unit.any():
        hits, scores = words > 0, words
    return {str(i): scores[i] for i in np.flatnonzero(hits).tolist()}


@given(texts, queries, weights, ways)
def test_a_score_is_that_of_words_plus_the_weighted_cosine(documents, query, weight, ask):
    index = made(documents)
    hits = index.search(query, k=99, ask=ask, meaning=weight)
    right = expected(index, documents, query, ask, weight)
    near = {id for id, score in right.items() if score < 1e-9 * weight}
    assert {hit.id for hit in hits} - near == right.keys() - near
    for hit in hits:
        assert hit.score == pytest.approx(right[hit.id], rel=1e-12, abs=1e-12 * weight)
    order = [(-hit.score, hit.number) for hit in hits]
    assert order == sorted(order)


ENTRIES = [*WORDS, "sun", "zzz", "qqq", "green tea"]
own_pairs = st.dictionaries(
    st.sampled_from([*combinations(ENTRIES, 2)]), st.sampled_from((0.1, 0.5, 0.8)), max_size=6
)
own_queries = st.lists(st.sampled_from((*WORDS, "sun", "zzz")), min_size=1, max_size=4)


def said_in(documents, query, pairs):
    """Return the words of a query with what stands for each, and the text in own words."""
    held = [{*text.split(), *["green tea"] * ("green tea" in text)} for text in documents]
    indexed = set().union(*held) - ({"green tea"} - {word for pair in pairs for word in pair})
    own = {}
    for (a, b), value in pairs.items():
        own.setdefault(a, {})[b] = own.setdefault(b, {})[a] = float(np.float32(value))
    words, rest = [], list(query)
    while rest:
        phrase = " ".join(rest[:2])
        known = indexed.intersection([phrase, *own.get(phrase, ())])
        n = 2 if len(rest) > 1 and phrase in own and known else 1
        words.append(" ".join(rest[:n]))
        rest = rest[n:]
    standing = [{word: 1.0, **own.get(word, {})} for word in words]
    standing = [{term: one[term] for term in one if term in indexed} for one in standing]
    put, values = [], []
    for word in words:
        synonyms = own.get(word, {})
        some = [one for one in synonyms if one in indexed] or [*synonyms]
        values += [synonyms[one] for one in some]
        put.append(" ".join(sorted(some, key=[*synonyms].index)) or word)
    few = len(words) <= FEW_WORDS and all(standing)
    added = oracle.every_word(held, standing if few else [])
    return added, (" ".join(put), max(values)) if values else None, any(standing)


@settings(max_examples=200)
@given(texts, own_queries, own_pairs, weights, ways)
def test_own_synonyms_are_the_word_itself(documents, query, pairs, weight, ask):
    list_ = sc.PairSimilarity([(a, b, value) for (a, b), value in pairs.items()])
    options = {"encoder": ToyEncoder(), "meaning_space": SPACE, "language": "english"}
    index = sc.SoftIndex.from_texts(documents, source=list_, **options)
    text = " ".join(query)
    added, replaced, known = said_in(documents, query, pairs)
    parts = [(word, 1.0) for word in query]
    unit = SPACE.unit(vector(text).astype(np.float32))
    if replaced is not None:
        unit = unit + replaced[1] * SPACE.unit(vector(replaced[0]).astype(np.float32))
        parts += [(word, replaced[1]) for word in replaced[0].split()]
        unit /= np.linalg.norm(unit) or 1.0
    if ask == "static":
        static = SPACE.static_query(parts, index.snapshot.piece_frequencies)
        unit = np.zeros(DIMENSIONS) if static is None else static.vector
    rows = SPACE.coordinates(np.array([vector(one) for one in documents], np.float32))
    rows = rows.astype(np.float64)
    lengths = np.linalg.norm(rows, axis=1)
    cosines = np.divide(rows @ unit, lengths, out=np.zeros(len(rows)), where=lengths > 0)
    words = index.scores(text, [str(i) for i in range(len(documents))], ask="words")
    right = words + (weight * (cosines + added) if unit.any() else 0.0)
    hits = index.search(text, k=99, ask=ask, meaning=weight)
    assert [hit.score for hit in hits] == pytest.approx(
        [right[int(hit.id)] for hit in hits], rel=1e-6, abs=1e-6 * weight
    )
    assert {hit.id for hit in hits} >= {
        str(i) for i, one in enumerate(right) if one > 1e-6 * weight and words[i] > 0
    }
    assert ("Nothing contains" in hits.note) == (not known)
    assert shown(index.search_batch([text, "tea", text], k=99, ask=ask, meaning=weight)[2]) == (
        shown(hits)
    )
    for hit in hits[:2]:
        explanation = index.explain(text, hit.id, ask=ask, meaning=weight)
        near = pytest.approx(hit.score, rel=1e-6, abs=1e-6 * weight)
        assert sum(part.contribution for part in explanation.parts) == near


@pytest.mark.parametrize("ask", ["static", "encoder"])
def test_stop_words_among_few_words_change_nothing_of_what_every_word_adds(ask):
    index = made(["a wheel for the moon", "night and moon", "green tea"])

    def added(query, id="0"):
        parts = index.explain(query, id, ask=ask, meaning=10).parts
        return [part.contribution for part in parts if part.query_word == SHORT]

    for query in ("wheel moon", "wheel of a moon", "wheel, as it is on the moon"):
        assert added(query) == [10.0]
        assert added(query, "1") == []
    for query in ("the wheel of the moon", "wheel of the sun", "wheel of green tea and moon"):
        assert added(query) == []
    for query, share in (("A wheel", 0), ("FOR sun", 1 / 2), ("FOR the sun zzz", 1 / 3)):
        assert added(query) == [pytest.approx(10 * share)] * (share > 0)  # names in capitals
    assert added("for sun") == []


@given(texts, st.lists(st.sampled_from(WORDS), min_size=1, max_size=3), ways)
def test_meaning_ranks_no_document_above_one_with_every_word_of_a_short_query(texts, words, ask):
    index = made(texts)
    hits = index.search(" ".join(words), k=99, ask=ask)
    shared = [len(set(words) & set(texts[int(hit.id)].split())) for hit in hits]
    if len(set(words)) in shared:
        assert 0 not in shared[: len(shared) - shared[::-1].index(len(set(words)))]


@given(texts, queries, weights, ways, st.integers(1, 5), st.integers(0, 3))
def test_pages_are_those_of_the_whole_ranking(documents, query, weight, ask, k, offset):
    index = made(documents)
    whole = shown(index.search(query, k=99, ask=ask, meaning=weight))
    page = index.search(query, k=k, offset=offset, ask=ask, meaning=weight)
    assert shown(page) == whole[offset : offset + k]


@given(texts, st.lists(queries, min_size=1, max_size=5), ways, st.integers(1, 4))
def test_scores_have_the_same_bits_alone_in_a_batch_and_in_any_segments(
    documents, asked, ask, threads
):
    index = made(documents, keep_texts=True)
    alone = [shown(index.search(query, k=4, ask=ask)) for query in asked]
    together = index.search_batch(asked, k=4, ask=ask, threads=threads)
    assert [shown(hits) for hits in together] == alone
    apart = sc.SoftIndex.create(
        encoder=ToyEncoder(), meaning_space=SPACE, plain=True, language="english"
    )
    for number, text in enumerate(documents):
        with apart.writer(merge=None) as writer:
            writer.add(str(number), text)
    for few, most in ((sums._FEW, sums.MAX_DOCS), (0, 2)):  # also in many runs on several threads
        with patch.multiple(sums, _FEW=few, MAX_DOCS=most):
            assert [shown(apart.search(query, k=4, ask=ask)) for query in asked] == alone
    with apart.writer() as writer:
        writer.merge()
    assert [shown(apart.search(query, k=4, ask=ask)) for query in asked] == alone


@given(texts, queries, st.data())
def test_weight_0_gives_the_ranking_by_words_to_the_bit(documents, query, data):
    index, plain = made(documents), made(documents, encoder=None, meaning_space=None)
    right = shown(plain.search(query, k=99))
    assert shown(index.search(query, k=99, meaning=0)) == right
    assert shown(index.search(query, k=99, ask="words")) == right


@given(texts, queries, ways, weights)
def test_the_parts_of_an_explanation_sum_to_the_score(documents, query, ask, weight):
    index = made(documents)
    for hit in index.search(query, k=3, ask=ask, meaning=weight):
        explanation = index.explain(query, hit.id, ask=ask, meaning=weight)
        assert explanation.score == hit.score
        near = pytest.approx(hit.score, rel=1e-9, abs=1e-9 * weight)
        assert sum(part.contribution for part in explanation.parts) == near
        assert sum(share.contribution for share in explanation.words) == near
        assert sum(explanation.sums.values()) == near
        assert len(explanation.words) <= 5
        for share in explanation.words:
            assert share.same + share.similar + share.meaning == share.contribution
        words = {part.query_word for part in explanation.parts if part.space == "meaning"}
        assert words <= {*query.split(), QUESTION, OTHERS, SHORT}


@given(texts, queries, ways, st.sampled_from(WORDS))
def test_constraints_and_filters_hold_for_words_and_meaning(documents, query, ask, word):
    index = made(documents, metadata=[{"even": i % 2 == 0} for i in range(len(documents))])
    every = {hit.id: hit.score for hit in index.search(query, k=99, ask=ask)}
    having = {str(i) for i, text in enumerate(documents) if word in text.split()}
    even = {str(i) for i in range(0, len(documents), 2)}
    without = index.search(f"{query} -{word}", syntax=True, k=99, ask=ask)
    assert {hit.id: hit.score for hit in without} == {
        id: score for id, score in every.items() if id not in having
    }
    with_word = index.search(f"{query} +{word}", syntax=True, k=99, ask=ask)
    assert {hit.id for hit in with_word} <= having
    filtered = index.search(query, k=99, ask=ask, where={"even": True})
    assert {hit.id: hit.score for hit in filtered} == {
        id: score for id, score in every.items() if id in even
    }


@given(texts, st.data())
def test_deleted_and_replaced_documents_leave_an_index_as_made_anew(documents, data):
    gone = data.draw(st.sets(st.integers(0, len(documents) - 1), max_size=len(documents) - 1))
    index = made(documents)
    with index.writer() as writer:
        for number in sorted(gone):
            writer.delete(str(number))
        writer.add("0", documents[0] + " night")
    kept = [i for i in range(1, len(documents)) if i not in gone]
    anew = made(
        [documents[i] for i in kept] + [documents[0] + " night"],
        ids=[str(i) for i in kept] + ["0"],
    )
    for ask in ("static", "encoder"):
        assert shown(index.search("green night", k=99, ask=ask)) == shown(
            anew.search("green night", k=99, ask=ask)
        )


def test_documents_are_added_with_the_encoder_or_not_at_all(tmp_path):
    index = sc.SoftIndex.create(tmp_path / "x", encoder=ToyEncoder(), plain=True)
    with index.writer() as writer:
        writer.add("a", "green tea")
    other = sc.SoftIndex.open(tmp_path / "x")
    with other.writer() as writer, pytest.raises(InvalidInputError, match="is not known here"):
        writer.add("b", "green tea")
    with other.writer() as writer:
        assert writer.encode(ToyEncoder()) == 0


@pytest.mark.parametrize("at_once", [1, 3, 100])
def test_an_index_gets_coordinates_after_it_was_made(tmp_path, monkeypatch, at_once):
    monkeypatch.setattr("softcosine.index.writer.pending_commit._ENCODED_AT_ONCE", at_once)
    documents = ["green tea", "the moon", "", "a flat tyre"]
    index = sc.SoftIndex.create(tmp_path / "x", plain=True, language="english")
    with index.writer() as writer:
        writer.add_many(map(str, range(4)), documents)
    steps = []
    with index.writer(progress=lambda *step: steps.append(step)) as writer:
        writer.encode(ToyEncoder(), meaning_space=SPACE, meaning=3.0)
    encoded = [(done, total) for task, done, total in steps if task == "encoding texts"]
    assert {total for _, total in encoded} == {4}  # one bar, however many are in memory at once
    assert encoded == sorted(encoded)
    index = sc.SoftIndex.open(tmp_path / "x", encoder=ToyEncoder(), verify=True)
    assert index.snapshot.n_encoded == 3  # an empty text has no coordinates
    anew = made(documents, meaning=3.0)
    for ask in ("static", "encoder"):
        assert shown(index.search("moon tea", ask=ask)) == shown(anew.search("moon tea", ask=ask))


def test_facets_and_sorting_include_hits_by_meaning():
    index = made(
        ["moon", "night moon", "sun", "moon sun"],
        metadata=[{"n": 3}, {"n": 1}, {"n": 2}, {"n": 0}],
    )
    hits = index.search("moon", ask="encoder", facets=["n"], k=0)
    found = index.search("moon", ask="encoder", k=9, sort="n")
    assert sum(one[1] for one in hits.facets["n"]) == len(found)
    assert [hit.metadata["n"] for hit in found] == sorted(hit.metadata["n"] for hit in found)
    assert {hit.id: hit.score for hit in found} == {
        hit.id: hit.score for hit in index.search("moon", ask="encoder", k=9)
    }


def test_facets_and_sorted_hits_are_those_of_the_ranking_for_any_request():
    index = made(["moon", "red", "tea moon", "sun moon"], metadata=[{"n": i} for i in range(4)])
    requests = ({"expand": False, "min_score": 0}, {"min_score": 30.0}, {"min_score": 0.0})
    for ask, request in product(("static", "encoder"), requests):
        ranked = index.search("moon", ask=ask, **request)
        found = index.search("moon", ask=ask, sort="n", facets=["n"], **request)
        assert sorted(shown(found)) == sorted(shown(ranked))
        assert sum(one[1] for one in found.facets["n"]) == len(ranked)
        counted = index.search("moon", ask=ask, facets=["n"], k=1, **request)
        assert counted.facets == found.facets


def test_excluded_words_have_no_meaning():
    index = made(["green tea", "the moon"])
    for ask in ("static", "encoder"):
        assert (
            index.search("-moon", syntax=True, ask=ask).ids
            == index.search("-moon", syntax=True, ask="words").ids
        )
        assert shown(index.search("tea -moon", syntax=True, ask=ask)) == shown(
            index.search("tea", ask=ask, k=1)
        )


def test_the_weight_of_similar_documents_needs_coordinates():
    index = sc.SoftIndex.from_texts(["green tea", "green moon"], plain=True)
    assert index.similar("0", meaning=0).ids == ["1"]
    with pytest.raises(InvalidInputError, match="no coordinates"):
        index.similar("0", meaning=2.0)
    with pytest.raises(InvalidInputError, match="no coordinates"):
        index.explain_similar("0", "1", meaning=2.0)


def test_an_index_does_not_name_what_is_loaded(tmp_path):
    made(["green tea"]).save(tmp_path / "x")
    index = sc.SoftIndex.open(tmp_path / "x")
    with pytest.raises(InvalidInputError, match="'toy' of this index is not known here"):
        index.search("tea", ask="encoder")
    with index.writer() as writer, pytest.raises(InvalidInputError, match="not known here"):
        writer.encode()
    with pytest.raises(InvalidInputError, match="not known here"):
        sc.SoftIndex.open(tmp_path / "x", encoder_cache=tmp_path / "cache")
    assert "pass it" in index.search("tea").plan.reason


def test_a_query_whose_vector_is_zero_is_searched_by_words():
    class OfWords(ToyEncoder):
        def encode(self, texts, /):
            return super().encode(texts) * [["zzz" not in text] for text in texts]

    index = made(["green tea", "the moon"], encoder=OfWords())
    hits = index.search("tea zzz", ask="encoder")
    assert shown(hits) == shown(index.search("tea zzz", ask="words"))
    with pytest.raises(InvalidInputError, match="is zero"):
        made(["zzz"], encoder=OfWords())


def test_an_encoder_given_to_the_writer_reads_queries_and_later_documents(tmp_path):
    for path in (None, tmp_path / "x"):
        index = sc.SoftIndex.create(path, plain=True, language="english")
        with index.writer() as writer:
            writer.add("0", "green tea")
            writer.encode(ToyEncoder(), meaning_space=SPACE)
        with index.writer() as writer:
            writer.add("1", "the moon")
        anew = made(["green tea", "the moon"])
        assert shown(index.search("moon tea")) == shown(anew.search("moon tea", ask="encoder"))


def test_a_refresh_reads_no_table_again(tmp_path):
    made(["green tea"]).save(tmp_path / "x")
    index = sc.SoftIndex.open(tmp_path / "x", encoder=ToyEncoder())
    before = index.snapshot.meaning
    with index.writer() as writer:
        writer.add("1", "the moon")
    assert index.search("moon", ask="static").ids[0] == "1"
    assert index.snapshot.meaning is before


@pytest.mark.parametrize("ask", ["static", "encoder"])
def test_pairs_of_words_share_the_static_sums_of_both_texts(ask):
    index = made(["green tea", "red night red"])
    explanation = index.explain("moon tea", "1", ask=ask, meaning=2.0)
    found = {
        (part.query_word, part.document_word): part.contribution
        for part in explanation.parts
        if part.space == "meaning"
    }
    encoding, frequencies = meaning_of(index.snapshot), index.snapshot.piece_frequencies
    query = SPACE.static_query([("moon", 1.0), ("tea", 1.0)], frequencies)
    document = SPACE.static_query([(word, 1.0) for word in ("red", "night", "red")], frequencies)
    given = query.vector if ask == "static" else SPACE.unit(vector("moon tea").astype(np.float32))
    unit = encoding.unit(1)
    along = (given @ query.vector) * (unit @ document.vector)
    red = document.shares[0] + document.shares[2]
    for i, word in enumerate(query.words):
        assert found[word, "red"] == pytest.approx(2 * along * query.shares[i] @ red)
        rest = unit - (unit @ document.vector) * document.vector
        share = (given @ query.vector) * query.shares[i]
        assert found[word, TEXT] == pytest.approx(2 * share @ rest)
    assert ((QUESTION, "red") in found) == (ask == "encoder")


def test_weak_pairs_of_words_are_merged():
    index = made([" ".join(WORDS), "green"])
    for explanation in (
        index.explain(" ".join(WORDS[:5]), "0", ask="encoder"),
        index.explain_similar("0", "1", meaning=1),
        index.explain_similar("1", "0", meaning=1),
    ):
        parts = [part for part in explanation.parts if part.space == "meaning"]
        pairs = {(part.query_word, part.document_word) for part in parts}
        assert len(pairs) == len(parts) <= 16 + 4
        total = sum(part.contribution for part in explanation.parts)
        assert total == pytest.approx(explanation.score)
    assert (OTHERS, OTHERS) in {
        (part.query_word, part.document_word)
        for part in index.explain(" ".join(WORDS[:5]), "0", ask="encoder").parts
    }


def test_a_document_whose_text_is_not_stored_is_explained_as_a_whole():
    index = made(["green tea", "red night"], keep_texts=False)
    parts = index.explain("green moon", "0", ask="encoder").parts
    shown = {(p.query_word, p.document_word) for p in parts if p.space == "meaning"}
    assert shown == {("green", TEXT), ("moon", TEXT), (QUESTION, TEXT)}
    (whole,) = [p for p in index.explain_similar("0", "1").parts if p.space == "meaning"]
    assert (whole.query_word, whole.document_word) == (QUESTION, TEXT)


def test_similar_documents_of_one_without_coordinates_say_so():
    index = made(["green tea", " ", "green"])
    note = "Words alone are compared, as the document has no coordinates of meaning"
    assert index.similar("1").note == note
    assert index.similar("1").plan.ask == "words"
    assert not index.similar("0").note


def test_a_table_of_an_explanation_tells_meaning_from_words():
    pytest.importorskip("pandas")
    why = made(["green tea"]).explain("tea", "0", ask="static")
    assert set(why.to_pandas()["space"]) == {"words", "meaning"}


def test_encoding_again_changes_nothing(tmp_path):
    index = made(["green tea"])
    generation = index.snapshot.generation
    with index.writer() as writer:
        assert writer.encode(cache=tmp_path / "vectors") == 0
    assert index.snapshot.generation == generation


def test_a_query_of_unknown_words_is_answered_by_meaning():
    index = made(["the moon at night", "green tea"])
    hits = index.search("sun", ask="static")
    assert index.search("sun", ask="words").ids == []
    assert hits.unknown == ("sun",)
    assert (hits.plan.ask, hits.plan.method) == ("static", "meaning-alone")
    assert index.search("sun tea", ask="static").plan.method == "meaning"
    assert "; closest" not in repr(index.search("sun tea", ask="static"))


def test_hits_say_that_no_document_contains_the_words():
    index = made(list(WORDS))
    assert index.search("zzz", ask="static").note == "Nothing contains these words"
    hits = index.search("zzz", ask="encoder")
    assert hits.note == "Nothing contains these words; closest by meaning"
    assert hits.note in repr(hits)
    assert hits.note in hits._repr_html_()
    assert index.search("").note == "The query has no words"
    for query in ("zzz moon", "moon"):
        assert index.search(query).note == ""
    by_words = sc.SoftIndex.from_texts(["moon"], source=ToySource({("lune", "moon"): 0.5}))
    note = by_words.search("lune", ask="words").note
    assert note == "Nothing contains these words; closest by similar words"


@pytest.mark.parametrize("ask", ["static", "encoder"])
def test_excluded_words_alone_find_nothing(ask):
    index = made(["green tea", "moon", "tyre"])
    for query in ("-green", "-green -tea", '-"green tea"'):
        assert index.search(query, ask=ask, syntax=True).ids == []
        assert index.explain(query, "0", ask=ask, syntax=True).score == 0


@pytest.mark.parametrize(
    ("result", "message"),
    [
        (None, "shape () for 1 texts"),
        ("abc", "no array of numbers for 1 texts"),
        (np.ones((1, 0)), "shape (1, 0) for 1 texts"),
        (np.ones((1, 1 << 17)), "131072 coordinates; an index stores at most 65,536"),
    ],
)
def test_results_of_an_encoder_of_unknown_dimensions_are_checked(result, message):
    encoder = ToyEncoder()
    encoder.dimensions = None
    encoder.encode = lambda texts: result
    with pytest.raises(InvalidInputError) as raised:
        made(["green tea"], encoder=encoder, meaning_space=None)
    assert message in str(raised.value)


def test_a_package_without_a_query_table_is_named():
    with pytest.raises(InvalidInputError, match="no query table of the encoder 'toy' is installed"):
        made(["green tea"], meaning_space="static")


def test_similar_documents_by_words_and_meaning():
    index = made(["green tea", "green moon", "tea tea moon", "red wheel"])
    by_words = {hit.id: hit.score for hit in index.similar("0", meaning=0)}
    space = meaning_of(index.snapshot)
    cosines = space.prepare(ReadyQuery((), space.unit(0)))
    for hit in index.similar("0", meaning=2.0):
        cosine = cosines.exact(np.array([hit.number]))[0]
        assert hit.score == by_words.get(hit.id, 0.0) + 2.0 * cosine
        total = sum(p.contribution for p in index.explain_similar("0", hit.id, meaning=2.0).parts)
        assert total == pytest.approx(hit.score)


def test_several_fields_are_words_beside_one_meaning():
    documents = [{"title": "green", "body": "tea"}, {"title": "tea", "body": "moon night"}]
    index = sc.SoftIndex.from_texts(
        documents, fields={"title": 2, "body": 1}, encoder=ToyEncoder(), meaning_space=SPACE,
        plain=True,
    )  # fmt: skip
    by_words = {hit.id: hit.score for hit in index.search("tea", ask="words")}
    (top,) = index.search("tea", ask="encoder", k=1)
    rows = SPACE.coordinates(
        np.array([vector("green\ntea"), vector("tea\nmoon night")], np.float32)
    )
    row = rows[top.number].astype(float)
    cosine = row @ SPACE.unit(vector("tea").astype(np.float32)) / np.linalg.norm(row)
    assert top.score == pytest.approx(by_words[top.id] + 50 * (cosine + 1))


def test_other_weights_keep_the_encoder():
    index = made(["green tea", "the moon"])
    assert index.with_weighting(index.weighting).search("tea").plan.ask == "encoder"


def test_a_pickled_index_searches_by_meaning_with_the_same_bits():
    index = made(["green tea", "the moon"])
    sent = pickle.loads(pickle.dumps(index))
    assert shown(sent.search("tea", ask="static")) == shown(index.search("tea", ask="static"))


def test_an_index_of_old_statistics_and_new_terms_is_sound(tmp_path):
    made(["green tea", "the moon"]).save(tmp_path / "x")
    index = sc.SoftIndex.open(tmp_path / "x", encoder=ToyEncoder())
    with index.writer() as writer:
        writer.add("2", "sun and wheel")
        writer.commit(refresh=False)
    assert index.search("sun", ask="static").ids == ["2"]
    check_index(Store.open(tmp_path / "x"))


def test_a_plan_says_why_words_alone_were_searched(tmp_path):
    made(["green tea"], meaning_space=None).save(tmp_path / "x")
    index = sc.SoftIndex.open(tmp_path / "x")
    plan = index.search("tea").plan
    assert plan.ask == "words"
    assert ": words alone, as toy is not known here (pass it" in plan.reason
    for options in ({"ask": "words"}, {"meaning": 0}):
        assert "words alone" not in index.search("tea", **options).plan.reason


def test_vectors_of_two_models_are_never_compared(tmp_path):
    index = made(["green tea"])
    index.save(tmp_path / "x")
    with pytest.raises(InvalidInputError, match="encoder given is 'other'"):
        sc.SoftIndex.open(tmp_path / "x", encoder=ToyEncoder("other"))
    opened = sc.SoftIndex.open(tmp_path / "x")
    with opened.writer() as writer, pytest.raises(InvalidInputError, match="two models"):
        writer.encode(ToyEncoder("other"))
    with pytest.raises(InvalidInputError, match="is of the encoder 'toy'"):
        made(["green tea"], encoder=ToyEncoder("other"))


def test_an_index_without_coordinates_says_what_to_do():
    index = sc.SoftIndex.from_texts(["green tea"], plain=True)
    for options in ({"ask": "static"}, {"ask": "encoder"}, {"meaning": 3}):
        with pytest.raises(InvalidInputError, match="no coordinates"):
            index.search("tea", **options)
    assert index.search("tea", ask="words").ids == ["0"]
    with pytest.raises(InvalidInputError, match='encoder="minilm"'):
        sc.SoftIndex.create(encoder=None, meaning=4)
    with index.writer() as writer, pytest.raises(InvalidInputError, match="no encoder yet"):
        writer.encode()


@pytest.mark.parametrize("weight", [-1, float("nan"), float("inf"), "x", True, 1e7])
def test_weights_are_checked(weight):
    index = made(["green tea"])
    with pytest.raises(InvalidInputError):
        index.search("tea", meaning=weight)
    with pytest.raises(InvalidInputError):
        made(["green tea"], meaning=weight)


def test_an_encoder_that_fails_leaves_nothing_half(tmp_path):
    class Failing(ToyEncoder):
        fails = False

        def encode(self, texts, /):
            if self.fails:
                raise RuntimeError("no memory")
            return super().encode(texts)

    encoder = Failing()
    index = sc.SoftIndex.create(tmp_path / "x", encoder=encoder, meaning_space=SPACE, plain=True)
    with index.writer() as writer:
        writer.add("a", "green tea")
    before = shown(index.search("tea", ask="static"))
    encoder.fails = True
    writer = index.writer()
    writer.add("b", "tea")
    with pytest.raises(RuntimeError, match="no memory"):
        writer.commit()
    encoder.fails = False
    writer.close()
    assert (
        shown(sc.SoftIndex.open(tmp_path / "x", verify=True).search("tea", ask="static")) == before
    )


def test_every_word_counts_with_other_joints():
    index = made(["green 5mm tyre", "green mm night", "green 5 mm moon", "tea"])
    for query in ("green 5 mm", "green 5mm"):
        for id, counts in (("0", True), ("1", False), ("2", True)):
            told = [part.query_word for part in index.explain(query, id).parts]
            assert (SHORT in told) == counts, (query, id)
        assert {hit.id for hit in index.search(query, k=2)} == {"0", "2"}
        assert index.search(query).note == ""


def test_lengths_do_not_count_joined_words_after_a_merge_either(tmp_path):
    texts = ["e-mail on the moon", "up-to-date tyre", "green tea", "anti-slip night-tyre"]
    whole = made(texts, encoder=None, meaning_space=None)
    made(texts[:2], encoder=None, meaning_space=None).save(tmp_path / "x")
    with sc.SoftIndex.open(tmp_path / "x").writer() as writer:
        for number, text in enumerate(texts[2:], 2):
            writer.add(str(number), text)
        writer.merge()
    check_index(Store.open(tmp_path / "x"))
    merged = sc.SoftIndex.open(tmp_path / "x")
    lengths = merged.snapshot.segments[0].fields[0].lengths
    assert lengths.tolist() == [5.0, 4.0, 2.0, 4.0]
    for query in ("email", "night tyre", "antislip"):
        assert shown(merged.search(query)) == shown(whole.search(query))


@pytest.mark.parametrize("ask", ["static", "encoder"])
def test_sorted_and_counted_documents_are_the_hits(ask):
    # A word of more than half of the documents weighs nothing, and may still be all of a query; of
    # a long text it decides no meaning.
    documents = ["tea" + " moon night" * 40, "tea" + " wheel red" * 40, "tea green", "flat tyre"]
    index = made(
        documents, weighting=sc.Weighting(idf="probabilistic"), ranking="soft_cosine", meaning=2.0,
        metadata=[{"n": number} for number in range(len(documents))],
    )  # fmt: skip
    hits = index.search("tea", k=99, ask=ask)
    assert {hit.id for hit in hits} >= {"0", "1", "2"}
    by_key = index.search("tea", k=99, ask=ask, sort="n", facets=["n"], min_score=0)
    assert sorted(shown(by_key)) == sorted(shown(hits))
    assert sum(one.n_docs for one in by_key.facets["n"]) == len(hits)
