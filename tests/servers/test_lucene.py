"""Lucene in this process: the arithmetic that the adapters of its servers claim, and faults."""

from __future__ import annotations

import json
import threading

import numpy as np
import pytest

import softcosine as sc
from softcosine.errors import InvalidInputError, ServerError
from softcosine.servers.documents import ServerDocument
from softcosine.servers.elasticsearch import Elasticsearch, OpenSearch
from softcosine.servers.field_comparison import compared
from softcosine.servers.field_search import search_field
from softcosine.servers.learning import learn_from
from softcosine.servers.marker import Marker
from softcosine.servers.registry import server_of
from softcosine.servers.server_index import ServerIndex
from softcosine.text.weighting import Weighting

WORDS = [
    "tea",
    "pot",
    "wheel",
    "tyre",
    "flat",
    "green",
    "c++",
    "a:b",
    "(x)",
    "AND",
    "ü*",
    "/",
    "~1",
]


def tiny(texts=("tea", "pot")):
    return sc.SoftIndex.from_texts(list(texts), plain=True, language="none")


def random_documents(random, n, n_terms):
    """Documents with impacts of all magnitudes."""
    for number in range(n):
        terms = np.sort(random.permutation(n_terms)[: random.integers(1, n_terms + 1)])
        impacts = np.exp(random.uniform(-12, 6, len(terms))).astype(np.float32)
        yield ServerDocument(
            str(number), bytes(16), terms, np.ones(len(terms)), impacts, None, "", "{}"
        )


@pytest.mark.parametrize("n_terms", [1, 3, 30])
def test_features_lose_less_than_the_error_that_adapters_claim_and_not_much_less(lucene, n_terms):
    random = np.random.default_rng(n_terms)
    documents = list(random_documents(random, 300, n_terms))
    server = server_of(lucene)
    with server.transaction():
        server.create(Marker.of(tiny().snapshot, "soft_bm25", vectors=False))
        assert server.put(documents) == []
    claimed = server.relative_error(n_terms)
    for adapter in (Elasticsearch, OpenSearch):
        assert adapter.relative_error(server, n_terms) == claimed
    greatest = 0.0
    for _ in range(200):
        weights = np.exp(random.uniform(-8, 0, n_terms))
        found = server.search(np.arange(n_terms), weights, 80, timeout=60.0)
        assert found.complete
        assert len(found.ids) == 80
        exact = np.array(
            [weights[documents[int(id)].terms] @ documents[int(id)].impacts for id in found.ids]
        )
        errors = exact / found.scores - 1.0
        assert errors.max() <= claimed
        assert errors.min() > -1e-6  # never above the exact score, except by rounding to float32
        greatest = max(greatest, errors.max())
    assert greatest > claimed / 2
    server.close()


@pytest.fixture
def field(lucene, tmp_path):
    """Makes a field of an index of Lucene of given texts, with the ids 0, 1, ..."""
    from softcosine.servers.lucene_classes import analyzer_of, java_path, lucene_classes
    from softcosine.servers.lucene_field import LuceneField

    opened = []

    def made(texts, *, written="core.WhitespaceAnalyzer", stored=True, vectors="", **options):
        classes = lucene_classes("here")
        document, index = classes.document, classes.index
        folder = tmp_path / f"field {len(opened)}"
        analyzer = analyzer_of(f"org.apache.lucene.analysis.{written}")
        writer = index.IndexWriter(
            classes.store.FSDirectory.open(java_path(folder)), index.IndexWriterConfig(analyzer)
        )
        kind = document.FieldType(document.TextField.TYPE_STORED)
        kind.setStored(stored)
        kind.setStoreTermVectors(bool(vectors))
        kind.setStoreTermVectorPositions(vectors == "positions")
        kind.freeze()
        ids = texts if isinstance(texts, dict) else {str(i): text for i, text in enumerate(texts)}
        for id, text in ids.items():
            one = document.Document()
            one.add(document.StringField("id", id, document.Field.Store.YES))
            one.add(document.Field("body", text, kind))
            writer.addDocument(one)
        writer.close()
        opened.append(LuceneField(folder, "body", **options))
        return opened[-1]

    yield made
    for one in opened:
        one.close()


def random_texts(random, n, longest, words=WORDS):
    return [" ".join(random.choice(words, random.integers(1, longest))) for _ in range(n)]


def indexed(texts, k1=1.2, b=0.75):
    return sc.SoftIndex.from_texts(
        [text.split() for text in texts], ids=[str(i) for i in range(len(texts))], plain=True,
        language="none", ranking="soft_bm25", weighting=Weighting(k1=k1, b=b),
    )  # fmt: skip


def scores(found):
    return dict(zip(found.ids, found.scores, strict=True))


@pytest.mark.parametrize(("k1", "b"), [(1.2, 0.75), (2.0, 0.3)])
def test_lucene_gives_short_documents_the_scores_of_soft_bm25(field, k1, b):
    random = np.random.default_rng(0)
    texts = random_texts(random, 300, 40)  # Lucene keeps lengths below 40
    index, own = indexed(texts, k1=k1, b=b), field(texts, k1=k1, b=b)
    for _ in range(100):
        query = list(random.choice(WORDS, random.integers(1, 6)))
        sent = index.expand(query, to="lucene", field="body", max_terms=None)
        exact = {hit.id: hit.score for hit in index.search(query, k=300)}
        assert scores(own.search(sent, 300)) == pytest.approx(exact, rel=1e-5)


def test_lengths_in_one_byte_only_raise_scores_and_by_less_than_an_eighth(field):
    random = np.random.default_rng(1)
    texts = random_texts(random, 300, 3000, WORDS + [f"w{number}" for number in range(1000)])
    index, own = indexed(texts), field(texts)
    greatest = 0.0
    for _ in range(100):
        query = list(random.choice(WORDS, random.integers(1, 6)))
        sent = index.expand(query, to="lucene", field="body", max_terms=None)
        exact = {hit.id: hit.score for hit in index.search(query, k=300)}
        found = scores(own.search(sent, 300))
        assert found.keys() == exact.keys()
        ratios = np.array([found[id] / exact[id] for id in exact])
        assert ratios.min() > 1.0 - 1e-5
        assert ratios.max() < 1.125
        greatest = max(greatest, ratios.max())
    assert greatest > 1.02


def test_candidates_of_a_field_get_the_scores_of_the_index(field):
    texts = random_texts(np.random.default_rng(2), 300, 200)
    index, own = indexed(texts), field(texts)
    for query in ("tea", "flat tyre", "green wheel pot", "+tea -pot", '"flat tyre" pot'):
        hits = search_field(index, own, query, k=5)
        assert [(hit.id, hit.score) for hit in hits] == [
            (hit.id, hit.score) for hit in index.search(query, k=5)
        ]
    assert (hits.plan.method, hits.plan.proven) == ("lucene", False)


def parsed(field, text, n):
    """The answers of Lucene to a query in its syntax."""
    from softcosine.servers.lucene_classes import lucene_classes

    classes = lucene_classes("here")
    analyzer = classes.analysis.core.WhitespaceAnalyzer()
    query = classes.queryparser.classic.QueryParser("body", analyzer).parse(text)
    searcher = classes.search.IndexSearcher(field._reader)
    searcher.setSimilarity(field._similarity)
    found = searcher.search(query, n).scoreDocs
    return {field._ids([one.doc])[0]: one.score for one in found}


def test_the_syntax_for_lucene_gives_the_scores_of_its_clauses(field):
    texts = random_texts(np.random.default_rng(4), 200, 30)
    index, own = indexed(texts), field(texts)
    for query in ([*WORDS], "tea", "+tea -pot wheel", 'green -"flat tyre"', '"tea pot"', "-tea"):
        sent = index.expand(query, to="lucene", field="body", max_terms=None)
        assert parsed(own, str(sent), 200) == pytest.approx(scores(own.search(sent, 200)))


PROSE = [
    "A flat tyre, on the Bicycle", "green tea in the pot", "Bicycle tires were punctured",
    "automobile wheels and cars", "the repair shop for cars", "the wheel of a bike", "tea for two",
    "generals of universities",  # Snowball's English stems these otherwise than Porter's
]  # fmt: skip


@pytest.mark.parametrize(
    ("analyzer", "written", "stemmer"),
    [("standard", "standard.StandardAnalyzer", None), ("english", "en.EnglishAnalyzer", "porter"),
     ("org.apache.lucene.analysis.core.SimpleAnalyzer", "core.SimpleAnalyzer", None)],
)  # fmt: skip
def test_an_index_is_learned_from_a_field_and_has_its_scores(field, analyzer, written, stemmer):
    own = field(PROSE, written=written, analyzer=analyzer, k1=1.5, b=0.6)
    index = learn_from(own)
    assert (index.analyzer.stemmer, index.weighting) == (stemmer, Weighting(k1=1.5, b=0.6))
    assert [one.text for one in index.get(list(index))] == PROSE
    found = compared(index.snapshot, own)
    assert (found.equal, found.advice, found.facts.k1_factor) == (1.0, (), False)
    for query in ("bicycle tires", "+tea -pot", '"flat tyre" wheel', "hot drink"):
        sent = index.expand(query, to="lucene", field="body", max_terms=None)
        exact = {hit.id: hit.score for hit in index.search(query, k=10)}
        assert scores(own.search(sent, 10)) == pytest.approx(exact, rel=1e-5)
        assert search_field(index, own, query).hits == index.search(query).hits


def test_differences_to_a_field_of_lucene_are_named(field):
    own = field(["C++ in a naïve Straße", *PROSE], written="standard.StandardAnalyzer")
    index = sc.SoftIndex.from_texts(["C++ Straße", *PROSE[:-1]], plain=True, encoder=None)
    found = compared(index.snapshot, own)
    assert ("C++", ("c++",), ("c",)) in [
        (one.word, one.index, one.server) for one in found.differences
    ]
    assert any("the server counts 9 documents, the index 8" in one for one in found.advice)
    wrong = field(PROSE, written="en.EnglishAnalyzer")
    (advice,) = compared(learn_from(wrong).snapshot, wrong).advice
    assert "document frequencies differ" in advice


def test_documents_that_the_index_lacks_are_scored_by_what_lucene_stores(field):
    index = learn_from(field(PROSE, written="standard.StandardAnalyzer"))
    every = {**{str(i): text for i, text in enumerate(PROSE)}, "new": "a flat bicycle on the pot"}
    query = '"flat bicycle" tea pot'
    wanted = None
    for options, reason in (
        ({}, "by their texts or term vectors"),
        ({"stored": False, "vectors": "positions"}, "by their texts or term vectors"),
        ({"stored": False}, "scored by the server alone"),
    ):
        own = field(every, written="standard.StandardAnalyzer", **options)
        hits = search_field(index, own, query, first_stage=None)
        assert reason in hits.plan.reason
        assert "new" in hits.ids
        wanted = wanted or [(hit.id, hit.score) for hit in hits]
        if "alone" not in reason:
            assert [(hit.id, hit.score) for hit in hits] == wanted
    with pytest.raises(InvalidInputError, match="does not store the texts"):
        learn_from(own)


def test_commands_take_the_address_of_an_index_of_lucene(field, tmp_path, run):
    field(PROSE, written="en.EnglishAnalyzer")
    url, learned = f"lucene://{tmp_path}/field%200?analyzer=english&b=.75", tmp_path / "learned"
    printed = run("learn-from", url, "--field", "body", "-o", learned)
    assert "Nothing differs" in printed
    assert "Nothing differs" in run("compare-server", learned, url, "--field", "body")
    words = ("search", learned, "bicycle tire", "--json")
    served = json.loads(run(*words, "--server", url, "--field", "body"))
    assert served["hits"] == json.loads(run(*words))["hits"]
    for wrong, message in (
        (url.replace("english", "nothing"), "Java has no analyzer 'nothing'"),
        (url.replace("english", "java.lang.String"), "Java has no analyzer"),
        (f"{url}x", "k1 and b"), (f"{url}&c=1", "unknown parameter"),
        ("lucene://host/folder", "unknown parameter"),
        (f"{url}&id=key", "no stored field 'key'"),
    ):  # fmt: skip
        printed = run("learn-from", wrong, "--field", "body", "-o", tmp_path / "x", code=2)
        assert message in " ".join(printed.split())


def test_fewer_words_are_sent_to_a_field_that_takes_no_more(field):
    from softcosine.servers.lucene_classes import lucene_classes

    words = [
        "tea",
        "coffee",
        "cup",
        "pot",
        "wheel",
        "tyre",
        "tire",
        "bicycle",
        "bike",
        "car",
        "repair",
        "drink",
        "flat",
    ]
    own = field(random_texts(np.random.default_rng(5), 300, 30, words))
    index = learn_from(own)
    searcher = lucene_classes("here").search.IndexSearcher
    most = searcher.getMaxClauseCount()
    every = search_field(index, own, "tea bike")
    try:
        searcher.setMaxClauseCount(4)
        hits = search_field(index, own, "tea bike")
        assert " words (the server takes no more), 100 candidates" in hits.plan.reason
        assert 2 < hits.plan.n_terms <= 4 < every.plan.n_terms
        assert not hits.plan.proven
        assert hits.ids[0] == every.ids[0]
        with pytest.raises(ServerError, match=r"more clauses than the server takes .* raise"):
            search_field(index, own, words)
    finally:
        searcher.setMaxClauseCount(most)
    assert "takes no more" not in every.plan.reason


def test_batches_are_as_small_as_lucene_takes_and_proofs_hold(lucene):
    from softcosine.servers.lucene_classes import lucene_classes

    texts = random_texts(np.random.default_rng(6), 300, 30)
    index = indexed(texts)
    with ServerIndex.connect(index, lucene) as served:
        served.export()
        searcher = lucene_classes("here").search.IndexSearcher
        most = searcher.getMaxClauseCount()
        try:
            searcher.setMaxClauseCount(4)
            hits = served.search(WORDS, exact=True)
            assert "13 of 13 terms in" in hits.plan.reason
            assert hits.plan.proven
            assert hits.hits == index.search(WORDS).hits
            few = served.search(WORDS)
            assert "3 of 13 terms (as many as the server takes)" in few.plan.reason
            searcher.setMaxClauseCount(1)
            assert served.search(WORDS, exact=True).hits == hits.hits
            with pytest.raises(ServerError, match="more clauses than the server takes"):
                served.search(WORDS, where={"any": [{"year": year} for year in range(5)]})
        finally:
            searcher.setMaxClauseCount(most)
        assert served.search(WORDS, exact=True).plan.n_terms == len(WORDS)


def test_a_field_that_is_not_there_is_named(field, tmp_path):
    from softcosine.servers.lucene_field import LuceneField

    field(["tea"])
    with LuceneField(tmp_path / "field 0", "body", id_field="id") as again:
        assert again.name == "body"
    with pytest.raises(InvalidInputError, match="has the field 'other'"):
        LuceneField(tmp_path / "field 0", "other")
    with pytest.raises(ServerError, match="no segments"):
        LuceneField(tmp_path / "nothing", "body")


def test_an_index_of_somebody_else_is_left_alone(field, tmp_path):
    field(["tea"])
    (tmp_path / "field 0").rename(tmp_path / "theirs")
    with ServerIndex.connect(tiny(), f"lucene://{tmp_path}", collection="theirs") as served:
        for work in (served.export, served.sync, lambda: served.export(overwrite=True)):
            with pytest.raises(ServerError, match="no marker of this version"):
                work()


def test_searches_see_the_last_commit_until_a_sync_ends(lucene):
    index = tiny(["tea", "green tea", "pot"] * 40)
    served = ServerIndex.connect(index, lucene)
    served.export()
    seen = []

    def look():
        with ServerIndex.connect(index, lucene) as other:
            seen.append(len(other.search("tea", k=100)))

    def between(what, done, total):
        thread = threading.Thread(target=look)
        thread.start()
        thread.join()

    served.export(overwrite=True, progress=between)
    assert seen == [80]
    with pytest.raises(ServerError, match="another sync"), served.server.transaction():
        ServerIndex.connect(index, lucene).sync()
    served.close()


@pytest.mark.parametrize("url", ["lucene://host/folder", "lucene:///", "lucene+http:///folder"])
def test_an_address_that_is_no_folder_is_refused(lucene, url):
    with pytest.raises(InvalidInputError, match="lucene:///folder"):
        ServerIndex.connect(tiny(), url)


def test_what_is_missing_is_named(lucene, monkeypatch, tmp_path):
    import jpype

    from softcosine.servers import lucene_classes

    monkeypatch.setattr(lucene_classes, "_KNOWN", "org.nothing.Nothing")
    monkeypatch.delenv("SOFTCOSINE_LUCENE")
    with pytest.raises(ServerError, match="SOFTCOSINE_LUCENE is not set"):
        server_of(lucene)
    monkeypatch.setenv("SOFTCOSINE_LUCENE", str(tmp_path))
    with pytest.raises(ServerError, match="no lucene-core in"):
        server_of(lucene)

    def no_java(*_, **__):
        raise jpype.JVMNotFoundException("No JVM shared library file (libjvm.so) found.")

    monkeypatch.setattr(jpype, "isJVMStarted", lambda: False)
    monkeypatch.setattr(jpype, "startJVM", no_java)
    with pytest.raises(ServerError, match="install Java 17 or later"):
        server_of(lucene)
