"""PostgreSQL: filters in SQL, transactions, and lost connections."""

from __future__ import annotations

import json
import threading

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

import softcosine as sc
from conftest import ROOT
from cut_proxy import CutProxy
from softcosine.errors import ServerError
from softcosine.index.query.filters import Where
from softcosine.index.search.first_stage import FirstStage
from softcosine.servers.server_index import ServerIndex
from test_filters import filters, metadata
from toy_encoder import DIMENSIONS, ToyEncoder, toy_space

psycopg = pytest.importorskip("psycopg")

TEXTS = [f"w{i % 7} w{i % 11} w{i % 13}" for i in range(60)]


@pytest.fixture
def index():
    return sc.SoftIndex.from_texts(TEXTS, plain=True, language="none")


@pytest.fixture
def served(postgresql, collection, index):
    with ServerIndex.connect(index, postgresql.url, collection=collection) as served:
        served.export()
        yield served


@pytest.fixture
def connection(postgresql):
    with psycopg.connect(postgresql.url, autocommit=True) as connection:
        yield connection


def ids(hits):
    return [(hit.id, hit.score) for hit in hits]


@settings(max_examples=150, suppress_health_check=list(HealthCheck))
@given(facts=metadata, condition=filters)
def test_filters_in_sql_hold_for_the_same_metadata(connection, facts, condition):
    from softcosine.servers.postgresql_filters import filter_of
    from softcosine.servers.storable_text import is_storable, storable_json

    where, _ = condition
    parsed = Where.parse(where)
    translated = filter_of(parsed)
    if translated is None or not is_storable(facts):
        return
    query = psycopg.sql.SQL("SELECT {} FROM (SELECT %s::jsonb AS metadata) AS one").format(
        translated
    )
    ((holds,),) = connection.execute(query, (storable_json(json.dumps(facts)),)).fetchall()
    assert holds == parsed.matches(facts)


def test_quotes_backslashes_and_percent_signs_in_filters_are_characters(
    postgresql, collection, index
):
    odd = ["100%", "%s", "%(x)s", "x'y", "\\", "\\'", "{0}", "$1", '"', "E'"]
    index = sc.SoftIndex.from_texts(
        ["w1"] * len(odd), metadata=[{"a": one, one: 1} for one in odd], plain=True,
        language="none",
    )  # fmt: skip
    with ServerIndex.connect(index, postgresql.url, collection=collection) as served:
        served.export()
        for one in odd:
            for where in ({"a": one}, {one.replace("\\", "\\\\"): 1}, {"a": {">=": one}},
                          {"a": {"contains": one}}):  # fmt: skip
                hits = served.search("w1", where=where)
                assert ids(hits) == ids(index.search("w1", where=where)) != []
                assert "filtered by postgresql" in hits.plan.reason


def test_a_table_of_somebody_else_is_refused_and_left_alone(
    postgresql, connection, collection, index
):
    for made in (
        f"CREATE TABLE {collection}_documents (a int)",
        f"CREATE TABLE {collection}_marker (a int)",
        f"CREATE TABLE {collection}_marker (marker jsonb, revision int); "
        f"INSERT INTO {collection}_marker VALUES ('{{}}', 1)",
    ):
        connection.execute(made)
        with ServerIndex.connect(index, postgresql.url, collection=collection) as served:
            for call in (
                served.export, served.sync, lambda: served.export(overwrite=True),
                lambda: served.search("w1"),
            ):  # fmt: skip
                with pytest.raises(ServerError, match=r"did not make|not usable"):
                    call()
        table = "documents" if "documents" in made else "marker"
        connection.execute(f"DROP TABLE {collection}_{table}")


def test_a_search_reconnects_after_a_restart_of_the_server(postgresql, served, index):
    before = ids(served.search("w1 w2"))
    postgresql.stop()
    with pytest.raises(ServerError, match="no connection"):
        served.search("w1 w2")
    postgresql.start()
    assert ids(served.search("w1 w2")) == before == ids(index.search("w1 w2"))


def test_a_sync_whose_connection_is_lost_changes_nothing(postgresql, served, index):
    marker = served.server.marker()
    with index.writer() as writer:
        for number in range(60):
            writer.add(str(number), "w3 w4")

    def lose(what, done, total):
        with psycopg.connect(postgresql.url, autocommit=True) as other:
            other.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                "WHERE application_name = 'softcosine'"
            )

    with pytest.raises(ServerError, match="no connection"):
        served.sync(progress=lose)
    assert served.server.marker() == marker
    assert served.sync().n_sent == 60
    assert ids(served.search("w3", exact=True)) == ids(index.search("w3"))


def test_a_reply_that_is_cut_short_is_an_error_and_not_a_short_answer(
    postgresql, served, collection, index
):
    proxy = CutProxy(postgresql.port)
    url = postgresql.url.replace(str(postgresql.port), str(proxy.port))
    expected = ids(index.search("w1 w2 w3"))
    n_errors = 0
    for n_bytes in (0, 5, 60, 700, 1100, 1500, 3000):
        with ServerIndex.connect(index, url, collection=collection) as cut:
            cut.search("w1")
            proxy.n_left = n_bytes
            try:
                assert ids(cut.search("w1 w2 w3", first_stage=FirstStage(32, 60))) == expected
            except ServerError:
                n_errors += 1
            proxy.n_left = None
    proxy.close()
    assert n_errors >= 3


def test_a_search_that_takes_too_long_is_an_error(served, connection, collection):
    connection.execute(
        f"""CREATE FUNCTION slow_{collection}() RETURNS boolean LANGUAGE plpgsql VOLATILE AS
        $$ BEGIN PERFORM pg_sleep(5); RETURN true; END $$"""
    )
    connection.execute(f"ALTER TABLE {collection}_postings RENAME TO {collection}_kept")
    connection.execute(
        f"CREATE VIEW {collection}_postings AS SELECT * FROM {collection}_kept "
        f"WHERE slow_{collection}()"
    )
    with pytest.raises(ServerError, match="longer than timeout"):
        served.search("w1", timeout=0.2)
    connection.execute(f"DROP VIEW {collection}_postings")
    connection.execute(f"ALTER TABLE {collection}_kept RENAME TO {collection}_postings")
    assert len(served.search("w1", timeout=5))


def test_of_two_syncs_at_once_the_second_waits_and_is_refused(
    postgresql, served, collection, index
):
    with index.writer() as writer:
        writer.add("new", "w1")
    errors = []

    def second():
        with ServerIndex.connect(index, postgresql.url, collection=collection) as other:
            try:
                other.sync()
            except ServerError as error:
                errors.append(error)

    thread = threading.Thread(target=second)

    def between(what, done, total):
        thread.start()
        thread.join(1)

    assert served.sync(progress=between).n_sent == 1
    thread.join()
    assert "another sync" in str(errors[0])
    assert not served.sync()
    assert ids(served.search("w1", exact=True)) == ids(index.search("w1"))


def test_a_search_during_a_sync_sees_the_old_state(postgresql, served, collection, index):
    refused = []
    with index.writer() as writer:
        writer.add("new", "w1")

    def between(what, done, total):
        with ServerIndex.connect(index, postgresql.url, collection=collection) as other:
            try:
                other.search("w1")
            except ServerError as error:
                refused.append(str(error))

    served.sync(progress=between)
    assert "it holds commit" in refused[0]


def test_postings_are_replaced_and_deleted_with_their_documents(
    served, connection, collection, index
):
    def n_postings():
        ((n,),) = connection.execute(f"SELECT count(*) FROM {collection}_postings").fetchall()
        return n

    def n_of_index():
        return sum(
            len(terms) for n in index.documents.numbers for terms, _ in index.snapshot.rows(n)
        )

    assert n_postings() == n_of_index()
    with index.writer() as writer:
        writer.add("3", "w1 w2 w3 w4 w5")
        writer.delete("4")
    served.sync()
    assert n_postings() == n_of_index()
    served.server.drop()
    assert served.server.marker() is None


@pytest.fixture
def pgvector(connection):
    ((available,),) = connection.execute(
        "SELECT count(*) FROM pg_available_extensions WHERE name = 'vector'"
    ).fetchall()
    if not available:
        pytest.skip("needs pgvector; .ci/servers fetches a PostgreSQL with it")
    connection.execute("CREATE EXTENSION vector")
    yield
    connection.execute("DROP EXTENSION vector CASCADE")


@pytest.mark.usefixtures("pgvector")
def test_coordinates_are_stored_and_searched_where_pgvector_is(postgresql, collection):
    words = [f"w{i}" for i in range(20)]
    options = {"encoder": ToyEncoder(), "meaning_space": toy_space([*words, "sun"])}
    index = sc.SoftIndex.from_texts(TEXTS, plain=True, language="none", **options)
    with ServerIndex.connect(index, postgresql.url, collection=collection) as served:
        served.export()
        for query in ("w1 w2", "w3 sun", "sun"):
            for ask in ("static", "encoder"):
                hits = served.search(query, ask=ask, meaning=2.0)
                assert ids(hits) == ids(index.search(query, ask=ask, meaning=2.0))
        unit = np.ones(DIMENSIONS) / np.sqrt(DIMENSIONS)
        near = served.server.nearest(unit, 5)
        cosines = index.snapshot.meaning_searcher().cosines(unit, np.arange(60))
        assert near.scores == pytest.approx(np.sort(cosines)[::-1][:5], abs=1e-6)
        with index.writer() as writer:
            writer.add("3", "")
        assert served.sync().n_sent == 1
        assert len(served.server.nearest(unit, 100).ids) == 59


def test_tls_is_required_away_from_this_machine(monkeypatch, postgresql, index):
    from softcosine.servers import postgresql as module

    given = {}

    def connect(url, **options):
        given.update(options)
        raise psycopg.OperationalError("not now")

    monkeypatch.setattr(module.psycopg, "connect", connect)
    for url, mode in {
        "postgresql://example.org/x": "require",
        "postgresql://example.org/x?sslmode=verify-full": None,
        "postgresql:///x?host=example.org": "require",
        "postgresql://127.0.0.1/x": None,
        "postgresql:///x": None,
        "postgresql://[::1]/x": None,
    }.items():
        given.clear()
        with pytest.raises(ServerError, match="not now"):
            ServerIndex.connect(index, url)
        assert given.get("sslmode") == mode


@pytest.mark.usefixtures("pgvector")
def test_a_tiny_case_of_the_benchmark_of_sparse_vectors_works(postgresql, monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    import sparse_vectors as benchmark

    made = []
    drawn = np.random.default_rng(0)
    words = [f"word{i}" for i in range(300)]
    texts = [" ".join(drawn.choice(words, 20)) for _ in range(50)]
    monkeypatch.setattr(benchmark, "newsgroups", lambda: texts)
    monkeypatch.setattr(benchmark, "write_report", lambda *given, **_: made.extend(given[2]))
    benchmark.main([postgresql.url, "--queries", "3", "--runs", "1"])
    assert len(made) == 7
    assert {row["recall@10"] for row in made if "HNSW" not in row["stored as"]} == {1.0}
