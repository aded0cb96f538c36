"""Searches that also give documents of score 0, or documents that differ from each other."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import oracle
import strategies as own
from softcosine import SoftIndex, Weighting
from softcosine.errors import InvalidInputError
from softcosine.index.query.constraints import Constraints
from softcosine.index.search.execution import by_marginal_relevance
from softcosine.text.analyzer import Analyzer
from softcosine.text.vocabulary import Vocabulary
from test_soft_index import index_of, tokens_of
from toys import similarity_matrix
from written import created, opened, written

WORDS = ["tea", "green", "pot", "tire", "wheel", "car"]
TEXTS = [
    "tea pot", "green tea", "car", "tire wheel", "tea", "wheel", "pot of green tea", "car tire", "",
]  # fmt: skip


def plain_index(texts=TEXTS, **options):
    metadata = [{"n": number, "even": number % 2 == 0} for number in range(len(texts))]
    return SoftIndex.from_texts(
        texts, plain=True, analyzer=Analyzer(), metadata=metadata, **options
    )


def found(hits):
    return [(hit.id, hit.score) for hit in hits]


class TestSharesOfTheBest:
    """What sort and facets take, without a minimum score."""

    TEXTS = ("tea pot", "tea", "tea of a shop that sells pots, cups and much else " * 3, "pot tea")

    def test_weak_matches_are_neither_sorted_nor_counted_unless_wanted(self):
        index = plain_index(self.TEXTS)
        scores = dict(found(index.search("pot tea", ranking="soft_bm25")))
        taken = {id for id, score in scores.items() if score >= 0.3 * max(scores.values())}
        assert 0 < len(taken) < len(scores)
        request = {"sort": "-n", "facets": ["even"], "ranking": "soft_bm25"}
        hits = index.search("pot tea", **request)
        assert hits.ids == sorted(taken, reverse=True)
        assert sum(one.n_docs for one in hits.facets["even"]) == len(taken)
        assert f"{len(taken)} of {len(scores)} documents that match at all are sorted and" in str(
            hits
        )
        every = index.search("pot tea", min_score=0, **request)
        assert every.ids == sorted(scores, reverse=True)
        assert every.note == ""

    def test_hits_in_the_order_of_scores_are_not_cut(self):
        index = plain_index(self.TEXTS)
        counted = index.search("pot tea", facets=["even"])
        assert found(counted) == found(index.search("pot tea"))
        assert "are counted, those from score" in counted.note

    def test_a_document_with_every_word_does_not_cut_off_all_others(self):
        texts = ["apple pie", "a pie with apples in it", "apple", "the moon and the sun"]
        index = SoftIndex.from_texts(texts, metadata=[{"n": n} for n in range(4)])
        hits = index.search("apple pie", sort="n")
        assert index.search("apple pie").hits[0].score > 3 * hits[2].score
        assert hits.ids == ["0", "1", "2"]


@pytest.mark.parametrize("ranking", ["soft_cosine", "soft_tf_bm25"])
def test_k_may_be_any_whole_number(ranking):
    index = plain_index()
    everything = index.search("tea", k=100, ranking=ranking)
    assert index.search("tea", k=10**12, ranking=ranking).hits == everything.hits


def test_a_phrase_is_looked_for_once_a_search(monkeypatch):
    index, calls = plain_index(), []
    mask = Constraints.mask
    monkeypatch.setattr(Constraints, "mask", lambda *given: calls.append(given) or mask(*given))
    index.search('"green tea"', facets=["n"], sort="n")
    assert len(calls) == len(index.snapshot.segments)


class TestFill:
    """fill=True."""

    def test_documents_of_score_0_follow_in_order_of_insertion(self):
        index = plain_index()
        best = found(index.search("tea", k=20))
        assert [id for id, _ in best] == ["4", "0", "1", "6"]
        filled = index.search("tea", k=20, fill=True)
        assert found(filled) == best + [(id, 0.0) for id in "23578"]
        assert [hit.text for hit in filled][-2:] == ["car tire", ""]
        assert found(index.search("tea", k=6, fill=True)) == found(filled)[:6]
        assert found(index.search("tea", k=2, fill=True)) == best[:2]
        assert found(index.search("nothing known", k=3, fill=True)) == [(id, 0.0) for id in "012"]

    def test_pages_of_a_filled_search_have_every_document_once(self):
        index = plain_index()
        whole = found(index.search("tea", k=20, fill=True))
        for k in (1, 2, 3, 5):
            pages = [
                index.search("tea", k=k, offset=offset, fill=True) for offset in range(0, 12, k)
            ]
            assert [hit for page in pages for hit in found(page)] == whole

    def test_filters_and_demands_hold_for_documents_of_score_0(self):
        index = plain_index()
        even = index.search("tea", k=20, fill=True, where={"even": True})
        assert even.ids == ["4", "0", "6", "2", "8"]
        assert index.search("tea -tire", syntax=True, k=20, fill=True).ids == [
            "4",
            "0",
            "1",
            "6",
            "2",
            "5",
            "8",
        ]
        assert index.search("tea +wheel", syntax=True, k=20, fill=True).ids == ["5", "3"]
        assert index.search("-tea", syntax=True, k=20, fill=True).ids == ["2", "3", "5", "7", "8"]

    def test_a_least_score_above_0_leaves_documents_of_0_out(self):
        index = plain_index()
        for least in (1e-9, 0.5):
            wanted = found(index.search("tea", k=20, min_score=least))
            assert found(index.search("tea", k=20, min_score=least, fill=True)) == wanted
        for least in (0.0, -1.0):
            assert len(index.search("tea", k=20, min_score=least, fill=True)) == len(TEXTS)

    def test_deleted_documents_do_not_come_back(self, tmp_path):
        store = created(tmp_path / "x", plain=True)
        written(store, {str(n): text for n, text in enumerate(TEXTS[:5])}, merge=None)
        with opened(store).writer(merge=None) as writer:
            for n, text in enumerate(TEXTS[5:], 5):
                writer.add(str(n), text)
            writer.delete("2")
            writer.add("3", "tire again")
        index = opened(store)
        assert index.search("tea", k=20, fill=True).ids == list("40165783")

    def test_documents_below_0_are_not_given(self):
        S = similarity_matrix([[1, -0.5], [-0.5, 1]], Vocabulary(["bad", "good"]))
        index = SoftIndex.from_texts(
            [["good"], ["bad"], [], ["good", "good", "bad", "bad"]], S=S, ranking="inner_product",
            weighting=Weighting("raw", "none"), analyzer=Analyzer(),
        )  # fmt: skip
        hits = index.search("good", k=9, fill=True, min_score=-10)
        assert found(hits) == [("0", 1.0), ("3", 1.0), ("2", 0.0)]

    def test_without_expansion_only_documents_of_score_0_follow(self):
        S = similarity_matrix([[1, 0.5], [0.5, 1]], Vocabulary(["tire", "tyre"]))
        index = SoftIndex.from_texts(
            [["tyre"], [], ["tire"]], S=S, analyzer=Analyzer(), ranking="soft_cosine"
        )
        assert index.search("tire", expand=False, fill=True).ids == ["2", "1"]

    @given(own.collections(matrices=own.similarity_matrices), st.integers(1, 9))
    def test_it_gives_all_documents_in_the_one_order(self, c, k):
        terms = [f"t{i}" for i in range(c.n_terms)]
        index = index_of(c, terms)
        truth = oracle.soft_cosine(c.queries, c.counts, c.S)
        queries = tokens_of(c.queries, terms)
        together = index.search_batch(queries, k=k, fill=True)
        for query, hits, scores in zip(queries, together, truth, strict=True):
            assert found(index.search(query, k=k, fill=True)) == found(hits)
            assert len(hits) == min(k, c.n_docs)
            positive = found(index.search(query, k=k))
            assert found(hits)[: len(positive)] == positive
            zeros = [n for n in range(c.n_docs) if abs(scores[n]) < 1e-12]
            rest = [hit.number for hit in hits][len(positive) :]
            assert rest == zeros[: len(rest)]

    def test_fields_are_filled_too(self):
        index = SoftIndex.from_texts(
            [{"title": "tea"}, {"body": "car"}, {"title": "car", "body": "green tea"}],
            fields={"title": 2.0, "body": 1.0}, plain=True, analyzer=Analyzer(),
        )  # fmt: skip
        assert index.search("tea", fill=True).ids == ["0", "2", "1"]


def plainly(scores, cosines, balance, n):
    """Maximal marginal relevance as its paper states it, over a matrix of cosines."""
    left, taken = list(range(len(scores))), []
    while left and len(taken) < n:
        best = max(
            left,
            key=lambda d: (
                balance * (scores[d] / scores[0])
                - (1.0 - balance) * max((cosines[e][d] for e in taken), default=0.0),
                -d,
            ),
        )
        left.remove(best)
        taken.append(best)
    return taken + left


class TestMarginalRelevance:
    """mmr=."""

    @given(
        st.lists(st.sampled_from([0.25, 0.5, 1.0, 2.0, 8.0]), min_size=1, max_size=8),
        st.data(),
        st.sampled_from([0.0, 0.25, 0.5, 0.75, 1.0]),
        st.integers(1, 9),
    )
    def test_the_order_is_that_of_the_plain_statement(self, scores, data, balance, n):
        scores = np.sort(scores)[::-1]
        m = len(scores)
        entries = st.sampled_from([-0.5, 0.0, 0.25, 0.5, 1.0])
        flat = data.draw(st.lists(entries, min_size=m * m, max_size=m * m))
        cosines = np.array(flat).reshape(m, m)
        order = by_marginal_relevance(scores, lambda place: cosines[place], balance=balance, n=n)
        assert order.tolist() == plainly(scores, cosines, balance, n)

    @pytest.mark.parametrize("ranking", ["soft_bm25", "soft_cosine"])
    @pytest.mark.parametrize("balance", [0.0, 0.3, 0.5, 0.9, 1.0])
    def test_answers_stand_as_the_formula_says_and_keep_their_scores(self, ranking, balance):
        rng = np.random.default_rng(0)
        texts = [" ".join(rng.choice(WORDS, rng.integers(1, 6))) for _ in range(120)]
        S = np.eye(6) + 0.25 * np.eye(6, k=1) + 0.25 * np.eye(6, k=-1)
        index = SoftIndex.from_texts(
            texts, S=similarity_matrix(S, Vocabulary(WORDS)), analyzer=Analyzer(), ranking=ranking
        )
        for k, n_candidates in ((5, 50), (12, 60)):
            best = index.search("tea green", k=n_candidates)
            cosines = {id: {h.id: h.score for h in index.similar(id, k=120)} for id in best.ids}
            matrix = [[cosines[a].get(b, 1.0) for b in best.ids] for a in best.ids]
            order = plainly([hit.score for hit in best], matrix, balance, k)
            hits = index.search("tea green", k=k, mmr=balance)
            assert found(hits) == [found(best)[place] for place in order[:k]]
            assert hits.mmr == balance
            (together,) = index.search_batch(["tea green"], k=k, mmr=balance)
            assert found(together) == found(hits)

    def test_one_is_the_order_of_the_scores(self):
        index = plain_index()
        assert found(index.search("tea", mmr=1)) == found(index.search("tea"))
        assert index.search("tea").mmr is None

    def test_a_copy_of_the_best_gives_way_to_what_differs(self):
        index = plain_index(["green tea pot", "green tea pot", "green car", "pot of soup and rice"])
        assert index.search("green tea pot", k=4).ids == ["0", "1", "2", "3"]
        assert index.search("green tea pot", k=4, mmr=0.5).ids[0] == "0"
        assert index.search("green tea pot", k=4, mmr=0.5).ids[-1] == "1"

    def test_pages_have_every_document_once_and_the_rest_follow_by_score(self):
        rng = np.random.default_rng(1)
        texts = [" ".join(rng.choice(WORDS, rng.integers(1, 6))) for _ in range(90)]
        index = plain_index(texts)
        scores = found(index.search("tea green", k=90))
        pages = [
            hit
            for offset in range(0, 100, 10)
            for hit in found(index.search("tea green", k=10, offset=offset, mmr=0.5))
        ]
        assert sorted(pages) == sorted(scores)
        assert sorted(pages[:50]) == sorted(scores[:50])
        assert pages[50:] == scores[50:]
        assert pages[:50] != scores[:50]

    def test_it_goes_with_filters_demands_and_filling(self):
        index = plain_index()
        hits = index.search(
            "tea -green", syntax=True, k=9, mmr=0.5, fill=True, where={"even": True}
        )
        assert set(hits.ids[:2]) == {"0", "4"}
        assert hits.ids[2:] == ["2", "8"]
        assert index.search("unknown", mmr=0.5).ids == []

    def test_fields_are_compared_by_their_mean(self):
        texts = [{"title": "tea", "body": "pot"}, {"title": "tea", "body": "pot"}, {"title": "tea"}]
        index = SoftIndex.from_texts(
            texts, fields={"title": 3.0, "body": 1.0}, plain=True, analyzer=Analyzer()
        )
        scores = {hit.id: hit.score for hit in index.search("tea")}
        first, *others = index.search("tea").ids
        like = {hit.id: hit.score / 4.0 for hit in index.similar(first)}
        marginal = {id: 0.5 * scores[id] / scores[first] - 0.5 * like.get(id, 0.0) for id in others}
        order = sorted(others, key=lambda other: (-marginal[other], int(other)))
        assert index.search("tea", mmr=0.5).ids[1] == order[0]

    @pytest.mark.parametrize("mmr", [-0.1, 1.1, float("nan"), True, "0.5"])
    def test_the_balance_is_a_share(self, mmr):
        with pytest.raises(InvalidInputError, match=r"mmr is .* a number from 0 to 1, or None"):
            plain_index().search("tea", mmr=mmr)

    def test_two_orders_exclude_each_other(self):
        with pytest.raises(InvalidInputError, match="sort and mmr are orders"):
            plain_index().search("tea", mmr=0.5, sort="n")
