"""PostgreSQL: our table of postings beside ``sparsevec`` of pgvector, on 20 Newsgroups.

Run ``python benchmarks/sparse_vectors.py URL`` with a database that can have the extension. All
search the same impacts for the same expanded queries (soft BM25): the table of `ServerIndex`, one
``sparsevec`` column read whole, and its HNSW index, each by few terms or by all, and in one
statement of two stages: candidates by few terms, then their scores by all.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial

import psycopg

from first_stage import drawn_queries
from measure import interleave, write_report
from newsgroups import newsgroups
from softcosine import FirstStage, SoftIndex
from softcosine.index.search.candidate_queries import vectors_of
from softcosine.servers.documents import documents_of
from softcosine.servers.query_terms import SentTerms, query_terms
from softcosine.servers.server_index import ServerIndex

K, TERMS, CANDIDATES = 10, 32, 200
MOST = 1000  # non-zeros of a vector in an index of pgvector
COLLECTION = "softcosine_benchmark"
SCAN = "SELECT id FROM sparse ORDER BY impacts <#> %s LIMIT %s"
STAGES = """SELECT id FROM (SELECT id, impacts FROM sparse ORDER BY impacts <#> %s LIMIT %s) AS best
    ORDER BY impacts <#> %s LIMIT %s"""


def written(terms: Sequence[int], values: Sequence[float], size: int) -> str:
    """Return a vector as pgvector reads it; it counts from 1."""
    entries = ",".join(f"{term + 1}:{value!r}" for term, value in zip(terms, values, strict=True))
    return f"{{{entries}}}/{size}"


def fill(connection: psycopg.Connection, index: SoftIndex, served: ServerIndex) -> list[float]:
    """Make the table of vectors and its index; return the seconds of each."""
    found = served.server.marker()
    assert found is not None
    size = len(index.vocabulary)
    began = time.perf_counter()
    connection.execute("CREATE EXTENSION IF NOT EXISTS vector")
    connection.execute("DROP TABLE IF EXISTS sparse")
    connection.execute(
        f"CREATE TABLE sparse (id text PRIMARY KEY, n integer, impacts sparsevec({size}))"
    )
    with connection.cursor() as cursor, cursor.copy("COPY sparse FROM STDIN") as copy:
        for one in documents_of(index.snapshot, found[0]):
            vector = written(one.terms.tolist(), one.impacts.tolist(), size)
            copy.write_row((one.id, len(one.terms), vector))
    connection.execute("ANALYZE sparse")
    middle = time.perf_counter()
    connection.execute("SET maintenance_work_mem = '512MB'")
    connection.execute(
        "CREATE INDEX sparse_graph ON sparse USING hnsw (impacts sparsevec_ip_ops) "
        f"WHERE n <= {MOST}"
    )
    return [middle - began, time.perf_counter() - middle]


def number(connection: psycopg.Connection, query: str, *values: str) -> int:
    """Return the number that a query selects."""
    ((found,),) = connection.execute(query, values).fetchall()
    return int(found)


def sizes(connection: psycopg.Connection, *relations: str) -> float:
    """Return the size of tables with their indexes, in MB."""
    query = "SELECT pg_total_relation_size(%s::regclass)"
    return sum(number(connection, query, one) for one in relations) / 1e6


def _each(find: Callable[[int], list[str]], places: Sequence[int]) -> list[list[str]]:
    return [find(place) for place in places]


def main(arguments: Sequence[str]) -> None:
    """Write the report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("url")
    parser.add_argument("--queries", type=int, default=100)
    parser.add_argument("--documents", type=int)
    parser.add_argument("--runs", type=int, default=5)
    options = parser.parse_args(arguments)
    texts = newsgroups()[: options.documents]
    index = SoftIndex.from_texts(texts, ranking="soft_bm25", encoder=None)
    queries = drawn_queries(index, options.queries)
    size, searcher = len(index.vocabulary), index.snapshot.searcher()
    few: list[SentTerms] = []
    every: list[SentTerms] = []
    for vectors in vectors_of(index.snapshot, queries):
        few.append(query_terms(searcher, vectors, n=TERMS))
        every.append(query_terms(searcher, vectors, n=None))
    exact = [index.search(query, k=K, syntax=False).ids for query in queries]
    with (
        ServerIndex.connect(index, options.url, collection=COLLECTION) as served,
        psycopg.connect(options.url, autocommit=True) as connection,
    ):
        connection.execute("SET jit = off")
        began = time.perf_counter()
        served.export(overwrite=True)
        seconds = {"table of postings": time.perf_counter() - began}
        seconds["sparsevec"], seconds["sparsevec, HNSW"] = fill(connection, index, served)
        megabytes = {
            "table of postings": sizes(
                connection, f"{COLLECTION}_postings", f"{COLLECTION}_documents"
            ),
            "sparsevec": sizes(connection, "sparse") - sizes(connection, "sparse_graph"),
            "sparsevec, HNSW": sizes(connection, "sparse"),
        }

        def vector(sent: SentTerms) -> str:
            return written(sent.terms.tolist(), sent.weights.tolist(), size)

        def of_table(sent: SentTerms, n: int = K) -> list[str]:
            return served.server.search(sent.terms, sent.weights, n).ids

        def scanned(sent: SentTerms) -> list[str]:
            return [id for (id,) in connection.execute(SCAN, (vector(sent), K))]

        def staged(number: int, condition: str = "") -> list[str]:
            sql = STAGES.replace("FROM sparse ", f"FROM sparse {condition} ")
            values = (vector(few[number]), CANDIDATES, vector(every[number]), K)
            return [id for (id,) in connection.execute(sql, values)]

        def graph(number: int) -> list[str]:
            connection.execute("SET enable_seqscan = off")
            connection.execute(f"SET hnsw.ef_search = {CANDIDATES}")
            found = staged(number, f"WHERE n <= {MOST}")
            connection.execute("SET enable_seqscan = on")
            return found

        def both(number: int) -> list[str]:
            stage = FirstStage(TERMS, CANDIDATES)
            return served.search(queries[number], k=K, first_stage=stage, syntax=False).ids

        ways: dict[str, Callable[[int], list[str]]] = {
            "table of postings: few terms, first ten": lambda i: of_table(few[i]),
            "table of postings: all terms, first ten": lambda i: of_table(every[i]),
            "table of postings: few terms, 200 candidates, exact by the index": both,
            "sparsevec: few terms, first ten": lambda i: scanned(few[i]),
            "sparsevec: all terms, first ten": lambda i: scanned(every[i]),
            "sparsevec: few terms, 200 candidates, exact by SQL": staged,
            "sparsevec, HNSW: few terms, 200 candidates, exact by SQL": graph,
        }
        places = range(len(queries))
        calls = {way: partial(_each, find, places) for way, find in ways.items()}
        found = {way: call() for way, call in calls.items()}
        timings = interleave(calls, runs=options.runs)
        n_long = number(connection, f"SELECT count(*) FROM sparse WHERE n > {MOST}")
        connection.execute("DROP TABLE sparse")
        served.server.drop()
    rows: list[dict[str, object]] = []
    for way, ids in found.items():
        store, _, how = way.partition(": ")
        pairs = zip(exact, ids, strict=True)
        recall = statistics.mean(len({*right} & {*own}) / len(right) for right, own in pairs)
        seconds_each = statistics.median(timings[way].seconds) / len(queries)
        rows.append({
            "stored as": store, "search": how, "recall@10": round(recall, 4),
            "ms a query": round(seconds_each * 1e3, 1), "made in s": round(seconds[store], 1),
            "MB": round(megabytes[store], 1),
        })  # fmt: skip
    n_few, n_every = (statistics.mean(len(one.terms) for one in own) for own in (few, every))
    facts: dict[str, object] = {
        "documents": len(index), "terms of a query, few": round(n_few, 1),
        "terms of a query, all": round(n_every, 1), "queries": len(queries),
        "timed rounds": options.runs, "documents too long for the index of pgvector": n_long,
    }  # fmt: skip
    notes = (
        "Recall of the ten best of the index. The table of postings holds texts, metadata and "
        "checksums of documents as well, which the table of vectors lacks.",
        "One connection, one query at a time. HNSW with the defaults of pgvector, ef_search "
        f"{CANDIDATES}.",
    )
    title = "PostgreSQL: a table of postings beside sparse vectors of pgvector"
    print(write_report("sparse_vectors", title, rows, facts, notes=notes))


if __name__ == "__main__":
    main(sys.argv[1:])
