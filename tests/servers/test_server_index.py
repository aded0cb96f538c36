"""An index on a server: the same results as the index, updates, filters, and what can go wrong."""

from __future__ import annotations

import copy
import random
import threading

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import softcosine as sc
from server_processes import free_port
from softcosine.errors import (
    AlreadyExistsError,
    InvalidInputError,
    MissingDependencyError,
    ServerError,
)
from softcosine.index.search.first_stage import FirstStage
from softcosine.servers.documents import documents_of
from softcosine.servers.marker import Marker
from softcosine.servers.server_index import ServerIndex
from toy_encoder import ToyEncoder, toy_space
from toys import ToySource

# Words with digits have no similar ones.
WORDS = ["w" + "".join("abcdefghij"[int(digit)] for digit in str(i)) for i in range(60)]
# Chains of similar words, so that expanded queries reach many terms.
SOURCE = ToySource(
    {
        (WORDS[i], WORDS[i + step]): similarity
        for step, similarity in ((1, 0.7), (2, 0.4), (7, 0.3))
        for i in range(len(WORDS) - step)
    }
)
TRANSACTIONAL = ("postgresql", "lucene")
RANKINGS = ("soft_tf_bm25", "soft_bm25", "inner_product", "soft_cosine", "expanded_cosine")


def texts(n, seed=0):
    drawn = random.Random(seed)
    return [" ".join(drawn.choices(WORDS, k=drawn.randint(0, 25))) for _ in range(n)]


def made(n=150, **options):
    metadata = [{"year": 2000 + i % 9, "tags": ["odd"] if i % 2 else ["even", i]} for i in range(n)]
    options = {"source": SOURCE, "metadata": metadata, "language": "none", **options}
    return sc.SoftIndex.from_texts(texts(n), **options)


def queries(n=12):
    drawn = random.Random(7)
    return [" ".join(drawn.choices(WORDS, k=drawn.randint(1, 5))) for _ in range(n)]


def shown(hits):
    return [(hit.id, hit.score) for hit in hits]


@pytest.mark.parametrize("ranking", RANKINGS)
def test_proven_answers_are_those_of_the_index_to_the_bit(connect, ranking):
    index = made(ranking=ranking)
    served = connect(index)
    assert served.export().n_sent == len(index)
    n_proven = 0
    for query in queries():
        for options in ({}, {"first_stage": FirstStage(2, 12)}, {"k": 3, "offset": 2}):
            page = {key: options[key] for key in ("k", "offset") if key in options}
            hits, exact = served.search(query, **options), index.search(query, **page)
            n_proven += hits.plan.proven
            if hits.plan.proven:
                assert shown(hits) == shown(exact)
            scores = {hit.id: hit.score for hit in index.search(query, k=len(index))}
            assert all(hit.score == scores[hit.id] for hit in hits)
            assert hits.plan.method == served.server.name
    assert (n_proven > 10) == (not ranking.endswith("cosine"))


def test_all_terms_and_enough_candidates_prove_every_answer(connect):
    index = made()
    served = connect(index)
    served.export()
    for query in queries():
        hits = served.search(query, exact=True, first_stage=FirstStage(1, 10))
        assert hits.plan.proven
        assert shown(hits) == shown(index.search(query))
    assert shown(served.search("unheard", exact=True)) == []


def test_several_fields_are_searched_with_their_weights(connect):
    both = [
        {"title": one, "body": other} for one, other in zip(texts(80), texts(80, 3), strict=True)
    ]
    index = sc.SoftIndex.from_texts(
        both, fields={"title": 2.5, "body": 1.0}, source=SOURCE, language="none"
    )
    served = connect(index)
    served.export()
    for query in queries():
        hits = served.search(query, exact=True)
        assert hits.plan.proven
        assert shown(hits) == shown(index.search(query))


def test_a_sync_sends_what_has_changed_and_nothing_for_a_new_matrix_or_new_weights(connect):
    index = made()
    served = connect(index)
    served.export()
    assert not served.sync()
    with index.writer() as writer:
        writer.add("new", "wb wc brandnew")
    with pytest.raises(ServerError, match="softcosine sync"):
        served.search("wb")
    assert served.sync().n_sent == 1
    with index.writer() as writer:
        writer.delete("3")
        writer.add("5", "wj wj")
    synced = served.sync()
    assert (synced.n_sent, synced.n_deleted) == (1, 1)
    with index.writer() as writer:
        writer.commit(refresh=True)
    assert not served.sync()
    index.set_similarity(sc.TermSimilarityMatrix.identity(index.vocabulary))
    assert not served.sync()
    for query in [*queries(), "brandnew"]:
        hits = served.search(query, exact=True)
        assert hits.plan.proven
        assert shown(hits) == shown(index.search(query))


def test_lengths_stay_those_of_the_export_and_proofs_allow_for_it(connect):
    index = made(40)
    served = connect(index)
    served.export()
    with index.writer() as writer:
        for number in range(40):
            writer.add(f"long {number}", " ".join(texts(6, seed=number)))
        writer.commit(refresh=True)
    synced = served.sync()
    assert synced.n_sent == 40
    marker = served.server.marker()[0]
    assert marker.inflation(index.snapshot) > 1.5
    proven = [served.search(query, first_stage=FirstStage(candidates=20)) for query in queries()]
    for hits, query in zip(proven, queries(), strict=True):
        if hits.plan.proven:
            assert shown(hits) == shown(index.search(query))
    for query in queries():
        assert shown(served.search(query, exact=True)) == shown(index.search(query))


WHERE = [
    {"year": 2003},
    {"year": {">=": 2002, "<": 2005}},
    {"tags": ["odd"]},
    {"tags": {"contains": 4}},
    {"tags": {"contains": "even"}},
    {"tags": {"icontains": "EVEN"}},
    {"not": {"year": {"in": [2001, 2004.0, "2005"]}}},
    {"any": [{"year": 2000}, {"nothing": {"exists": True}}]},
    {"nothing": {"!=": 1}},
    {"year": {"<": "z"}},
    {"all": []},
    {"any": []},
]


@pytest.mark.parametrize("where", WHERE, ids=str)
def test_filters_give_the_answers_of_the_index(connect, where):
    index = made()
    served = connect(index)
    served.export()
    for query in queries(5):
        hits = served.search(query, where=where, exact=True)
        assert hits.plan.proven
        assert shown(hits) == shown(index.search(query, where=where))
        assert "filtered by" in hits.plan.reason


def test_other_versions_of_servers_give_the_answers_of_the_index(other_version):
    index = made()
    with ServerIndex.connect(index, other_version) as served:
        served.export()
        for query in queries():
            for where in (None, {"year": {">=": 2003}, "tags": {"contains": "even"}}):
                hits = served.search(query, where=where, exact=True)
                assert hits.plan.proven
                assert shown(hits) == shown(index.search(query, where=where))
        with index.writer() as writer:
            writer.add("new", "wb wc")
            writer.delete("3")
        synced = served.sync()
        assert (synced.n_sent, synced.n_deleted) == (1, 1)
        assert shown(served.search("wb", exact=True)) == shown(index.search("wb"))


def test_operators_of_a_query_hold_for_the_answers(connect):
    index = made()
    served = connect(index)
    served.export()
    for query in ("+wb wc", "wd -we -wf", '"wb wc" wd', "wb^3 wc"):
        assert shown(served.search(query, exact=True)) == shown(index.search(query))


@pytest.mark.parametrize("ask", ["words", "static", "encoder"])
@pytest.mark.parametrize("weight", [0.5, 5.0])
def test_meaning_counts_as_in_the_index(connect, ask, weight):
    index = made(encoder=ToyEncoder(), meaning_space=toy_space(WORDS), plain=True, source=None)
    served = connect(index)
    served.export()
    for query in queries():
        options = {"ask": ask, "meaning": weight}
        hits, exact = served.search(query, **options), index.search(query, **options)
        assert set(shown(hits)) <= set(shown(index.search(query, k=150, **options)))
        if hits.plan.proven:
            assert shown(hits) == shown(exact)
        found = len(set(hits.ids) & set(exact.ids)) / max(1, len(exact))
        assert found >= 0.9
        by_index = ask != "words" and not served.server.stores_vectors
        assert ("nearest by meaning are the index's" in hits.plan.reason) == by_index
        for where in ({"year": 2003}, {"year": {"<": 2005}}):
            hits = served.search(query, where=where, exact=True, **options)
            assert shown(hits) == shown(index.search(query, where=where, **options))
            assert hits.plan.proven


def test_more_candidates_are_the_default_where_the_sum_of_the_server_is_not_the_score(connect):
    index = sc.SoftIndex.from_texts(
        ["wb"] * 400, encoder=ToyEncoder(), meaning_space=toy_space(WORDS), plain=True
    )
    served = connect(index)
    for ranking, ask, n in (
        ("soft_bm25", "words", 100), ("soft_tf_bm25", "words", 300), ("soft_bm25", "static", 300),
    ):  # fmt: skip
        served.export(ranking=ranking, overwrite=True)
        plan = served.search("wb", ask=ask).plan
        least, most = n, n if ask == "words" else len(index)
        assert least <= plan.n_candidates <= most
        assert (
            served.search("wb", ask="words", first_stage=FirstStage(32, 50)).plan.n_candidates == 50
        )


ODD = [
    "", " ", "\0", "a\0b", "\ud800", "\x1a", "\x1a0000", "a/b", "a'b", 'a"b', "a\\b", "{}", "%s",
    "é", "e\u0301", "\U0001f600", "\n", "\t", "A", "a", "x" * 9000, "0", "null", ";", "\u2028",
]  # fmt: skip


def test_ids_and_texts_have_every_odd_character(connect):
    index = sc.SoftIndex.from_texts(
        [f"wb {id}" for id in ODD],
        ids=ODD,
        metadata=[{"id": id, id or "empty": [id]} for id in ODD],
        language="none",
    )
    served = connect(index)
    assert served.export().n_sent == len(ODD)
    assert not served.sync()
    assert served.search("wb", k=100).ids == index.search("wb", k=100).ids
    with index.writer() as writer:
        for id in ODD[::2]:
            writer.delete(id)
    assert served.sync().n_deleted == len(ODD[::2])
    assert served.search("wb", k=100).ids == index.search("wb", k=100).ids


def test_a_document_has_twenty_thousand_terms(connect):
    long = " ".join(f"t{number}" for number in range(20_000))
    index = sc.SoftIndex.from_texts([long, "t1 t2"], language="none", plain=True)
    served = connect(index)
    served.export()
    query = " ".join(f"t{number}" for number in range(3000))
    hits = served.search(query, max_terms=None)
    most = served.server.max_terms
    assert hits.plan.n_terms == min(3000, most or 3000)
    assert hits.plan.proven == (most is None)
    if hits.plan.proven:
        assert shown(hits) == shown(index.search(query, max_terms=None))
    # As many conditions as the server filters by, of the kind that needs most clauses.
    least = [{"not": {"not": {"year": {"<": number}}}} for number in range(32)]
    hits = served.search(query, max_terms=None, exact=True, where={"not": {"any": least}})
    assert "filtered by the index" not in hits.plan.reason
    assert (hits.plan.n_terms, hits.plan.proven) == (3000, True)
    assert ("in 4 batches" in hits.plan.reason) == (most is not None)
    assert shown(hits) == shown(index.search(query, max_terms=None))
    assert served.search("t1", exact=True).ids == ["1", "0"]


def test_english_texts_are_served_by_their_words_and_meaning(connect):
    subjects = ["bicycle", "cup of tea", "wheel", "car", "dog"]
    index = sc.SoftIndex.from_texts(
        [f"the {subject} of number {number} is {'new' if number % 3 else 'old'} and ready"
         for number in range(30) for subject in subjects]
    )  # fmt: skip
    assert (index.ranking, index.snapshot.meaning.static) == ("soft_tf_bm25", True)
    served = connect(index)
    served.export()
    assert served.ranking == index.ranking
    for query in ("old bike", "hot drink", "tyre of an automobile", "barking"):
        hits, exact = served.search(query, exact=True), index.search(query)
        assert hits.plan.ask == "static"
        if hits.plan.proven:
            assert shown(hits) == shown(exact)


def test_an_empty_index_grows(connect):
    index = sc.SoftIndex.from_texts([], language="none")
    served = connect(index)
    served.export()
    assert shown(served.search("wb")) == []
    with index.writer() as writer:
        writer.add("a", "wb wc")
        writer.commit(refresh=True)
    assert served.sync().n_sent == 1
    assert shown(served.search("wb")) == shown(index.search("wb")) != []


def test_a_collection_is_only_replaced_on_request_and_only_our_own(connect):
    index = made(20)
    served = connect(index)
    with pytest.raises(ServerError, match="export the index first"):
        served.search("wb")
    with pytest.raises(ServerError, match="export the index first"):
        served.sync()
    served.export()
    with pytest.raises(AlreadyExistsError, match="overwrite=True"):
        served.export()
    assert served.export(overwrite=True, ranking="inner_product").n_sent == 20
    assert shown(served.search("wb")) == shown(index.search("wb", ranking="inner_product"))


def test_a_collection_of_another_index_is_refused(connect):
    served = connect(made(20))
    served.export()
    others = {
        "its terms are not those": sc.SoftIndex.from_texts(["x y"], language="none"),
        "exported with fields": sc.SoftIndex.from_texts(
            [{"title": "wb", "body": ""}], fields=["title", "body"], language="none"
        ),
        "exported with k1": made(20, weighting=sc.Weighting(k1=2.0)),
    }
    for problem, other in others.items():
        partner = ServerIndex(other, served.server)
        with pytest.raises(ServerError, match=problem):
            partner.sync()
        with pytest.raises(ServerError, match=problem):
            partner.search("wb")


@pytest.fixture
def small_batches(monkeypatch):
    monkeypatch.setattr("softcosine.servers.sync._MOST_DOCUMENTS", 50)


def test_an_export_that_breaks_off_is_not_searched_and_the_next_sync_completes_it(
    connect, small_batches
):
    index = made(120)
    served = connect(index)

    def broken(what, done, total):
        if done >= 100:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        served.export(progress=broken)
    with pytest.raises(ServerError, match=r"export the index first|broke off"):
        served.search("wb")
    if served.server.marker() is None:  # of a transaction, nothing is left
        assert served.export().n_sent == 120
    else:
        assert 0 < served.sync().n_sent < 120
    assert shown(served.search("wb", exact=True)) == shown(index.search("wb"))


def test_of_two_syncs_at_once_one_is_refused_and_nothing_is_mixed(connect, small_batches):
    index = made(120)
    served = connect(index)
    served.export()
    with index.writer() as writer:
        for number in range(110):
            writer.add(str(number), "wb")
    second = ServerIndex(index, copy.copy(served.server))
    refused, inside = [], []

    def between(what, done, total):
        if done >= 50 and not inside:
            inside.append(True)
            if served.server.name in TRANSACTIONAL:
                return
            second.sync()

    try:
        served.sync(progress=between)
    except ServerError as error:
        refused.append(error)
    if served.server.name not in TRANSACTIONAL:
        assert "another sync" in str(refused[0])
    assert not second.sync()
    assert shown(served.search("wb", k=5, exact=True)) == shown(index.search("wb", k=5))


def test_a_server_that_is_down_is_named_with_its_address_and_without_the_password(url):
    scheme = url.partition(":")[0]
    if scheme == "lucene":
        pytest.skip("runs in this process")
    password, database = ("", "") if scheme == "qdrant" else ("somebody:secret@", "")
    if scheme == "postgresql":
        database = "/db"
    down = f"{scheme}://{password}127.0.0.1:{free_port()}{database}"
    with pytest.raises(ServerError, match=r"127\.0\.0\.1") as error:
        ServerIndex.connect(made(1), down, timeout=2)
    assert "secret" not in str(error.value)
    assert error.value.server == scheme
    assert isinstance(error.value, ConnectionError)


@pytest.mark.parametrize(
    ("url", "problem"),
    [
        ("faq", "has no scheme"),
        ("mongodb://host", "must be one of"),
        ("postgresql://host:port/x", "not a URL"),
        (7, "pass a URL"),
    ],
)
def test_an_address_that_is_none_is_refused(url, problem):
    with pytest.raises(InvalidInputError, match=problem):
        ServerIndex.connect(made(1), url)


@pytest.mark.parametrize("name", ["", "A", "a-b", "1a", "a" * 49, "é", 'x"; DROP', None])
def test_a_collection_has_a_plain_name(name):
    with pytest.raises(InvalidInputError, match="the collection is"):
        ServerIndex.connect(made(1), "postgresql://127.0.0.1/x", collection=name)


@pytest.mark.parametrize("wrong", [{"first_stage": -1}, {"exact": 1}, {"timeout": 0}, {"k": 0.5}])
def test_limits_are_checked(connect, wrong):
    served = connect(made(5))
    served.export()
    with pytest.raises(InvalidInputError):
        served.search("wb", **wrong)


def test_a_server_with_a_limit_of_terms_gets_the_heaviest(connect, monkeypatch):
    index = made()
    served = connect(index)
    served.export()
    monkeypatch.setattr(type(served.server), "max_terms", 5)
    hits = served.search("wb wca wea")
    assert hits.plan.n_terms == 5
    assert hits.ids[0] == index.search("wb wca wea").ids[0]


def test_more_terms_than_a_server_takes_are_sent_in_batches_and_proven(connect, monkeypatch):
    index = made(300)
    served = connect(index)
    served.export()
    monkeypatch.setattr(type(served.server), "max_terms", 5)
    few = 0
    for query in queries():
        for where in (None, {"year": {">=": 2004}}):
            hits = served.search(query, k=3, where=where, exact=True, first_stage=FirstStage(1, 5))
            assert hits.plan.proven
            assert shown(hits) == shown(index.search(query, k=3, where=where))
            few += "batches" in hits.plan.reason and hits.plan.n_candidates < len(index)
    assert few > 0


def test_as_many_candidates_as_a_server_returns_can_prove_answers(connect, monkeypatch):
    index = made(300)
    served = connect(index)
    served.export()
    monkeypatch.setattr(type(served.server), "max_candidates", 40)
    n_proven = 0
    for query in queries():
        hits = served.search(query, k=3, exact=True, first_stage=FirstStage(1, 5))
        assert hits.plan.n_candidates <= 40
        n_proven += hits.plan.proven
        if hits.plan.proven:
            assert shown(hits) == shown(index.search(query, k=3))
    assert n_proven > 0


def test_documents_hold_impacts_whose_products_with_expanded_queries_are_scores():
    for ranking in ("soft_bm25", "inner_product"):
        index = made(60, ranking=ranking)
        snapshot = index.snapshot
        marker = Marker.of(snapshot, ranking, vectors=False)
        (searcher,) = snapshot.searcher(ranking).searchers
        scores = {hit.id: hit.score for hit in index.search("wb wf", k=60)}
        from softcosine.index.search.candidate_queries import vectors_of

        ((vector,),) = vectors_of(snapshot, ["wb wf"], ranking)
        expanded = searcher.expanded(vector)
        weights = np.zeros(len(snapshot.S))
        weights[expanded.terms] = expanded.weights * expanded.factor
        for document in documents_of(snapshot, marker):
            score = float(weights[document.terms] @ document.impacts.astype(np.float64))
            assert score == pytest.approx(scores.get(document.id, 0.0), rel=1e-6)


@given(st.floats(0.1, 50), st.floats(0.1, 50), st.integers(1, 40), st.integers(1, 60))
def test_an_impact_grows_with_the_average_length_at_most_by_its_ratio(old, new, tf, length):
    k1, b = 1.2, 0.75

    def impact(average):
        return tf * (k1 + 1) / (tf + k1 * (1 - b + b * length / average))

    assert impact(new) <= impact(old) * max(1.0, new / old) * (1 + 1e-12)


def test_a_marker_is_stored_and_read():
    marker = Marker.of(made(5).snapshot, "soft_bm25", vectors=True)
    assert Marker.from_json(marker.to_json()) == marker
    for wrong in ({}, {"softcosine": True}, {**marker.to_json(), "more": 1}):
        with pytest.raises(InvalidInputError):
            Marker.from_json(wrong)


def test_several_threads_search_one_server(connect):
    index = made()
    served = connect(index)
    served.export()
    found = {}

    def work(query):
        found[query] = shown(served.search(query, exact=True))

    threads = [threading.Thread(target=work, args=(query,)) for query in queries()]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == {query: shown(index.search(query)) for query in queries()}


def test_a_missing_client_is_named_with_the_command_that_installs_it(monkeypatch):
    import sys

    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    for url, package in (
        ("postgresql://127.0.0.1/x", "postgres"),
        ("qdrant://127.0.0.1/x", "qdrant"),
        ("lucene:///x", "lucene"),
    ):
        for module in (url.partition(":")[0], "lucene_classes"):
            monkeypatch.delitem(sys.modules, f"softcosine.servers.{module}", raising=False)
        with pytest.raises(MissingDependencyError, match=rf"softcosine\[{package}\]"):
            ServerIndex.connect(made(1), url)
