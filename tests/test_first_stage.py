"""Searches with a first stage: which terms and candidates it keeps, and what is proven."""

from __future__ import annotations

import json
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import strategies as own
from expected import RANKINGS
from softcosine import FirstStage, SoftIndex, Weighting
from softcosine.errors import InvalidInputError
from softcosine.evaluate.documents import Documents
from softcosine.evaluate.systems.table import from_spec
from softcosine.index.query.query_vectors import QueryVector
from softcosine.index.query.ready_query import ReadyQuery
from softcosine.index.search.first_stage import Staged, by_heaviest_terms, n_candidates
from softcosine.index.segment.coordinates import Coordinates
from softcosine.index.spaces.expansion import heaviest_terms
from softcosine.index.spaces.frequencies import SoftFrequencies
from softcosine.index.spaces.meaning import Meaning
from softcosine.index.spaces.space import Limits
from softcosine.index.spaces.sum import Sum
from test_meaning_search import SPACE, WORDS
from toy_encoder import ToyEncoder
from toys import searcher_of, similarity_matrix, space_of

N_DOCS, N_TERMS = 300, 120
CUTS = (20, 130)
STAGES = [FirstStage(n, candidates) for n in (0, 1, 4, None) for candidates in (1, 10, 1000)]
# Rankings whose scores are sums over the terms of the expanded query.
SUMS = [ranking for ranking in RANKINGS if ranking != "soft_tf_bm25"]


def expanded(seed):
    random = np.random.default_rng(seed)
    terms = random.permutation(N_TERMS)[: random.integers(1, N_TERMS)].astype(np.int32)
    weights = random.choice([-1.0, 0.0, 0.5, 1.0, 3.0], len(terms))
    impacts = random.choice([0.0, 0.5, 2.0], N_TERMS)
    own = terms[: random.integers(0, len(terms) + 1)]
    return terms, weights, impacts, own


@given(st.integers(0, 10_000), st.sampled_from([0, 1, 5, 32, 500, None]))
def test_the_own_terms_and_the_heaviest_others_are_kept(seed, n):
    terms, weights, impacts, own = expanded(seed)
    kept = heaviest_terms(terms, weights, impacts, own, n=n)
    others = sorted(
        (-abs(weight) * impacts[term], term)
        for term, weight in zip(terms.tolist(), weights, strict=True)
        if term not in own
    )
    wanted = len(terms) if n is None else max(n, 2 * n - len(own))
    assert set(terms[kept]) == {*own, *(term for _, term in others[:wanted])}
    order = np.random.default_rng(seed).permutation(len(terms))
    again = heaviest_terms(terms[order], weights[order], impacts, own, n=n)
    assert set(terms[order][again]) == set(terms[kept])


@given(st.data(), st.sampled_from(SUMS), st.booleans(), st.booleans())
def test_no_document_gets_more_of_a_term_than_its_greatest_impact(data, ranking, real, deleted):
    real = real and ranking != "soft_bm25"
    n_docs, n_terms = data.draw(own.sizes(own.MAX_DOCS)), data.draw(own.sizes(own.MAX_TERMS))
    X = data.draw((own.coordinates if real else own.counts)(n_docs, n_terms))
    X[0, 0] = 0.5 if real else 3.0
    live = np.ones(n_docs, bool)
    live[-1] = not deleted
    S, weighting = similarity_matrix(np.eye(n_terms)), None if real else Weighting("log")
    whole, cut = (
        searcher_of(X, S, ranking, weighting, cuts=cuts, live=live) for cuts in ([], [n_docs // 2])
    )
    whole, cut = whole.space, cut.space
    found = whole.greatest_impacts
    np.testing.assert_array_equal(found, cut.greatest_impacts)
    for term in range(n_terms):
        values = [0.0]
        for document in np.flatnonzero(live):
            part, number = whole.part_of(document)
            (row, counts), ranked = part.segment.row(number), part.ranking
            value = dict(zip(row.tolist(), counts, strict=True)).get(term, 0.0)
            if value and not real:
                level = np.searchsorted(part.segment.frequencies, value)
                value = ranked.table[level]
                if ranking == "soft_bm25":
                    value *= (ranked.k1 + 1) / (value + ranked.saturation[number])
            values.append(value * ranked.factors[number] / (part.segment.scales[number]))
        assert found[term] == pytest.approx(max(values), rel=1e-6)
        assert found[term] >= max(values) * (1 - 1e-12)


def made(seed, *, signs=(1.0,), weights=(1.0,), ranking="soft_bm25", cuts=CUTS, dimensions=0):
    """Words, the sum of words and perhaps meaning, and some queries."""
    random = np.random.default_rng(seed)
    upper = np.triu(random.choice([0.0, 0.3, 0.8], (40, 40), p=[0.8, 0.1, 0.1]), 1)
    S = upper * random.choice(signs, upper.shape) * (1.0 if ranking.endswith("bm25") else 0.1)
    S = similarity_matrix(S + S.T + np.eye(40))
    live = random.random(N_DOCS) < 0.9
    spaces = []
    for field in range(len(weights)):
        X = np.where(random.random((N_DOCS, 40)) < 0.9, 0, random.integers(1, 6, (N_DOCS, 40)))
        X[random.integers(0, N_DOCS, 40)] = X[0]  # ties
        settings = {"cuts": cuts, "live": live, "field": field}
        spaces.append(space_of(X * 1.0, S, ranking, Weighting("log"), **settings))
    words = Sum(spaces[0].parts, tuple(zip(weights, spaces, strict=True)))
    summands, queries = [(1.0, words)], []
    if dimensions:
        rows = random.integers(-127, 128, (N_DOCS, dimensions)).astype(np.int8)
        segments = [[part.segment] for part in words.segments]
        own = [Coordinates.of(some) for some in np.split(rows, cuts)]
        meaning = Meaning(segments, [part.first for part in words.segments], own)
        summands.append((random.choice([1e-6, 0.5, 40.0]), meaning))
    for n_words in (0, 1, 3, 8):
        vectors = []
        for _ in weights:
            terms = np.sort(random.choice(40, n_words, replace=False)).astype(np.int32)
            vectors.append(QueryVector(terms, random.choice([1.0, 0.7, 3.3], n_words)))
        unit = random.standard_normal(dimensions) if dimensions else None
        unit = unit / np.linalg.norm(unit) if dimensions else None
        queries.append(ReadyQuery(tuple(vectors), unit))
    return words, Sum(words.segments, tuple(summands)), queries


def exact(ranking, query, **options):
    return ranking.prepare(query).best(Limits(**options))


def bits(top):
    return top.documents.tolist(), top.scores.tolist()


CASES = [
    {},
    {"ranking": "soft_cosine"},
    {"ranking": "expanded_cosine"},
    {"ranking": "soft_tf_bm25"},
    {"ranking": "soft_tf_bm25", "signs": (1.0, -1.0)},
    {"ranking": "soft_tf_bm25", "dimensions": 2, "weights": (1.0, 3.0)},
    {"signs": (1.0, -1.0)},
    {"weights": (2.0, 0.3)},
    {"dimensions": 3},
    {"dimensions": 2, "weights": (1.0, 3.0)},
]


def search_in_two_stages(words, ranking, queries, stage, *, k, min_score=0.0, **options):
    """Return the k best candidates of each query; without candidates, the k best documents."""
    tops = []
    for query in queries:
        n = n_candidates(stage, k, query)
        first = by_heaviest_terms(query, words, stage.terms).best(Limits(k=n, **options))
        scores = ranking.prepare(query).exact(first.documents)
        found = Staged(first, scores, n, stage, min_score, query.unit is not None)
        all_of_them = {"k": k, "min_score": min_score, **options}
        tops.append(
            exact(ranking, query, **all_of_them) if found.searched_exactly else found.best(k)
        )
    return tops


@pytest.mark.parametrize("case", CASES)
def test_hits_are_candidates_in_the_exact_order_and_what_is_proven_is_true(case):
    random = np.random.default_rng(0)
    for seed in range(3):
        words, ranking, queries = made(seed, **case)
        allowed = np.split(random.random(N_DOCS) < 0.7, CUTS)
        for stage in STAGES:
            for k, least, masks in ((1, 0.0, None), (7, 0.1, allowed), (N_DOCS, 0.0, None)):
                options = {"k": k, "min_score": least, "allowed": masks}
                tops = search_in_two_stages(words, ranking, queries, stage, **options)
                for query, top in zip(queries, tops, strict=True):
                    every = exact(ranking, query, **{**options, "k": N_DOCS})
                    right = dict(zip(*bits(every), strict=True))
                    documents, scores = bits(top)
                    assert [right[document] for document in documents] == scores
                    assert documents == sorted(documents, key=lambda d: (-right[d], d))
                    best = exact(ranking, query, **options)
                    if top.plan.proven:
                        assert bits(top) == bits(best)
                    if query.unit is None:
                        assert top.plan.proven == (stage.terms is None)


@pytest.mark.parametrize("case", CASES)
def test_candidates_are_the_best_by_the_terms_that_are_kept(case):
    words, ranking, queries = made(1, **case)
    every = np.flatnonzero(np.concatenate([part.live for part in words.segments]))
    for stage in STAGES:
        tops = search_in_two_stages(words, ranking, queries, stage, k=1)
        for query, top in zip(queries, tops, strict=True):
            first = np.zeros(len(every))
            for (weight, space), vector in zip(words.summands, query.vectors, strict=True):
                linear = space.ranking.linear
                expanded = space.prepare(query).bounding(space.greatest_impacts)
                asked = None if linear else SoftFrequencies.of(space.S, space.ranking, vector)
                kept = heaviest_terms(
                    expanded.terms, expanded.weights, space.greatest_impacts, vector.terms,
                    n=stage.terms,
                )  # fmt: skip
                shorter = dict(zip(expanded.terms[kept], expanded.weights[kept], strict=True))
                for place, document in enumerate(every):
                    part, number = space.part_of(document)
                    terms, counts = part.segment.row(number)
                    ranked, total = part.ranking, 0.0
                    levels = np.searchsorted(part.segment.frequencies, counts)
                    values = dict(zip(terms.tolist(), ranked.table[levels], strict=True))
                    if asked is not None:
                        shares = zip(asked.terms.tolist(), asked.shares, strict=True)
                        parts = [
                            (term in shorter) * s * values.get(term, 0.0) for term, s in shares
                        ]
                        bounds = pairwise(asked.pointers.tolist())
                        soft = np.array([max(0.0, sum(parts[i:j])) for i, j in bounds])
                        saturated = soft / (soft + ranked.saturation[number])
                        first[place] += (
                            weight * ranked.factors[number] * (asked.amounts @ saturated)
                        )
                        continue
                    for term, value in values.items():
                        if ranked.saturation.shape[0]:
                            value *= (ranked.k1 + 1) / (value + ranked.saturation[number])
                        total += shorter.get(term, 0.0) * value
                    first[place] += weight * expanded.factor * ranked.factors[number] * total
            order = np.lexsort((every, -first.round(12)))[: stage.candidates]
            candidates = every[order[first[order] > 1e-12]]
            if query.unit is not None and not len(candidates):
                assert top.plan.method in ("meaning", "meaning-alone", "meaning-all")
                continue
            assert top.plan.n_candidates == len(candidates)
            scores = ranking.prepare(query).exact(candidates)
            assert top.scores.tolist() == scores[scores > 0][:0].tolist() or (
                top.scores[0] == scores.max()
            )


@pytest.mark.parametrize("case", CASES)
def test_batches_threads_and_segments_give_the_same_bits(case):
    words, ranking, queries = made(2, **case)
    whole, whole_ranking, _ = made(2, **case, cuts=())
    for stage in STAGES:
        tops = search_in_two_stages(words, ranking, queries * 3, stage, k=5, threads=2)
        for place, query in enumerate(queries * 3):
            for one, other in ((words, ranking), (whole, whole_ranking)):
                (alone,) = search_in_two_stages(one, other, [query], stage, k=5, threads=1)
                assert bits(alone) == bits(tops[place])
                assert alone.plan == tops[place].plan


TEXTS = [" ".join(np.random.default_rng(i).choice(WORDS, 4)) for i in range(40)]


def shown(hits):
    return [(hit.id, hit.score) for hit in hits]


def toy_index(**options):
    return SoftIndex.from_texts(
        TEXTS, plain=True, language="english", metadata=[{"n": i % 3} for i in range(40)], **options
    )


def test_a_search_in_two_stages_is_an_option_of_searches():
    index = toy_index()
    exact = index.search("flat tyre", k=5)
    assert exact.plan.proven
    assert exact.plan.n_terms is None
    for stage in (0, 32, FirstStage(None), FirstStage(4, 7)):
        for options in (
            *({"syntax": True}, {"offset": 3}, {"where": {"n": 1}}, {"ranking": "soft_cosine"}),
            *({"mmr": 0.5}, {"min_score": 0.5}, {"expand": False}),
        ):
            for query in ("flat tyre", "+flat tyre -moon", ["flat", "wheel"], "zzz", ""):
                hits = index.search(query, k=5, first_stage=stage, **options)
                if "mmr" not in options or hits.plan.proven:
                    assert shown(hits) == shown(index.search(query, k=5, **options))
                one_of_two = index.search_batch([query, "tea"], k=5, first_stage=stage, **options)
                assert one_of_two[0] == hits
    for hit in index.search("flat tyre", first_stage=0):
        assert index.explain("flat tyre", hit.id).score == hit.score
    plan = index.search("flat tyre", k=5, first_stage=FirstStage(4, 7)).plan
    assert (plan.method, plan.proven, plan.n_candidates) == ("first-stage", False, 7)


def test_with_meaning_the_best_by_words_are_scored_in_both_spaces():
    index = toy_index(encoder=ToyEncoder(), meaning_space=SPACE)
    exact = index.search("flat tyre", k=40, meaning=1.0)
    found = index.search("flat tyre", k=5, meaning=1.0, first_stage=FirstStage(None))
    by_words = {hit.id for hit in index.search("flat tyre", k=40, ask="words")}
    assert shown(found) == [pair for pair in shown(exact) if pair[0] in by_words][:5]
    assert found.plan.ask == "encoder"
    assert "toy" in found.plan.reason
    alone = index.search("lion", k=5, meaning=1.0)
    stage = index.search("lion", k=5, meaning=1.0, first_stage=8)
    assert shown(stage) == shown(alone) != []
    assert stage.plan == alone.plan


@pytest.mark.parametrize("options", [{"sort": "n"}, {"facets": ["n"]}, {"fill": True}])
def test_what_needs_every_document_is_refused(options):
    with pytest.raises(InvalidInputError, match="first_stage"):
        toy_index().search("tea", first_stage=32, **options)


@pytest.mark.parametrize("wrong", [-1, 1.5, True, "32", (32, 100)])
def test_other_first_stages_are_refused(wrong):
    with pytest.raises(InvalidInputError, match="first_stage"):
        toy_index().search("tea", first_stage=wrong)


@pytest.mark.parametrize("text", ["", "x", "32:", "32:x", "-1", "32:0", "all:all", "1:2:3"])
def test_texts_of_no_first_stage_are_refused(text):
    with pytest.raises(InvalidInputError, match="first stage"):
        FirstStage.parse(text)


@pytest.mark.parametrize("text", ["32", "32:200", "all", "all:1000", "0:1"])
def test_a_first_stage_is_read_as_it_is_written(text):
    assert str(FirstStage.parse(text)) == text


def test_systems_search_in_two_stages():
    spec = "soft:plain=true,first_stage=all:1000"
    assert from_spec(spec).name == spec
    documents, queries = Documents.of(TEXTS), Documents.of(["flat tyre", "green tea"])
    found = from_spec(spec).fit(documents).ranked(queries, k=5)
    right = from_spec("soft:plain=true").fit(documents).ranked(queries, k=5)
    np.testing.assert_array_equal(found.numbers, right.numbers)
    few = from_spec("soft:plain=true,first_stage=0:2").fit(documents).ranked(queries, k=5)
    np.testing.assert_array_equal(few.numbers, right.numbers)
    with pytest.raises(InvalidInputError, match="first_stage"):
        from_spec("soft:first_stage=many")


def test_the_command_line_searches_in_two_stages(run, tmp_path):
    folder = tmp_path / "index"
    toy_index().save(folder)
    told = json.loads(run("search", folder, "flat", "--first-stage", "4:9", "--plan", "--json"))
    assert told["plan"]["method"] == "first-stage"
    assert told["plan"]["proven"] is False
    assert "proven equal" in run("search", folder, "flat", "--first-stage", "all", "--plan")
    assert "such as 32" in run("search", folder, "flat", "--first-stage", "x", code=2)
