"""Boosted words for Lucene's arithmetic, which Elasticsearch, OpenSearch and Solr have too."""

from __future__ import annotations

import numpy as np
import pytest

import softcosine as sc
from softcosine.errors import InvalidInputError
from softcosine.servers.field_comparison import compared
from softcosine.servers.field_search import search_field
from softcosine.servers.learning import learn_from
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


@pytest.fixture
def field(lucene, tmp_path):
    """Makes a field of an index of Lucene of given texts, with the ids 0, 1, ..."""
    from jpype import JClass

    from lucene_field import LuceneField, java_path

    opened = []

    def made(texts, *, written="core.WhitespaceAnalyzer", stored=True, vectors="", **options):
        document, index = lucene.document, lucene.index
        folder = tmp_path / f"field {len(opened)}"
        analyzer = JClass(f"org.apache.lucene.analysis.{written}")()
        writer = index.IndexWriter(
            lucene.store.FSDirectory.open(java_path(folder)), index.IndexWriterConfig(analyzer)
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
        opened.append(LuceneField(lucene, folder, "body", **options))
        return opened[-1]

    yield made
    for one in opened:
        one.reader.close()


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


def parsed(lucene, field, text, n):
    """The answers of Lucene to a query in its syntax."""
    analyzer = lucene.analysis.core.WhitespaceAnalyzer()
    query = lucene.queryparser.classic.QueryParser("body", analyzer).parse(text)
    searcher = lucene.search.IndexSearcher(field.reader)
    searcher.setSimilarity(field.similarity)
    found = searcher.search(query, n).scoreDocs
    return {field.ids([one.doc])[0]: one.score for one in found}


def test_the_syntax_for_lucene_gives_the_scores_of_its_clauses(lucene, field):
    texts = random_texts(np.random.default_rng(4), 200, 30)
    index, own = indexed(texts), field(texts)
    for query in ([*WORDS], "tea", "+tea -pot wheel", 'green -"flat tyre"', '"tea pot"', "-tea"):
        sent = index.expand(query, to="lucene", field="body", max_terms=None)
        assert parsed(lucene, own, str(sent), 200) == pytest.approx(scores(own.search(sent, 200)))


PROSE = [
    "A flat tyre, on the Bicycle", "green tea in the pot", "Bicycle tires were punctured",
    "automobile wheels and cars", "the repair shop for cars", "the wheel of a bike", "tea for two",
    "generals of universities",  # Snowball's English stems these otherwise than Porter's
]  # fmt: skip


@pytest.mark.parametrize(
    ("analyzer", "stemmer"),
    [("standard.StandardAnalyzer", None), ("en.EnglishAnalyzer", "porter"),
     ("core.SimpleAnalyzer", None)],
)  # fmt: skip
def test_an_index_is_learned_from_a_field_and_has_its_scores(field, analyzer, stemmer):
    own = field(PROSE, written=analyzer, analyzer=analyzer, k1=1.5, b=0.6)
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
        ({}, "by their texts"),
        ({"stored": False}, "1 that it lacks and the server has no text of are left out"),
    ):
        own = field(every, written="standard.StandardAnalyzer", **options)
        hits = search_field(index, own, query, first_stage=None)
        assert reason in hits.plan.reason
        found = [(hit.id, hit.score) for hit in hits]
        wanted = wanted or found
        assert found == [one for one in wanted if one[0] != "new" or not options]
    assert "new" in dict(wanted)
    with pytest.raises(InvalidInputError, match="does not store the texts"):
        learn_from(own)
