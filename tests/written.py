"""Indexes on disk for tests: created empty, written, and compared with a plain dictionary."""

from __future__ import annotations

from typing import get_args

import numpy as np

import oracle
from softcosine.index.defaults import checked_fields
from softcosine.index.directory.folder import FolderDirectory
from softcosine.index.directory.manifest import IndexSettings
from softcosine.index.directory.snapshot import Snapshot
from softcosine.index.directory.store import Store
from softcosine.index.directory.stored import write_part
from softcosine.index.rankings import Ranking
from softcosine.index.segment.statistics import FieldStatistics
from softcosine.index.soft_index import SoftIndex
from softcosine.index.writer.index_writer import IndexWriter
from softcosine.matrix.term_similarity_matrix import TermSimilarityMatrix
from softcosine.text.analyzer import Analyzer
from softcosine.text.vocabulary import Vocabulary
from softcosine.text.weighting import Weighting

PLAIN = Analyzer()
WEIGHTING = Weighting(tf="log", idf="smooth", k1=1.2, b=0.75)


def created(path, *, source=None, fields=None, analyzer=PLAIN, plain=False, **settings):
    """The store of an index of no documents."""

    def fill(writer):
        space = None
        if source is not None:
            empty = TermSimilarityMatrix.from_source(source, Vocabulary([]))
            space = write_part(writer, "space", empty, source)
        made = IndexSettings(
            fields=checked_fields(fields), analyzer=analyzer, space=space, plain=plain,
            **{"weighting": WEIGHTING, "ranking": "soft_bm25", **settings},
        )  # fmt: skip
        return made.to_dict(), made.parts

    return Store.create(path, fill)


def created_in_memory(*, source, **settings):
    """An index of no documents in memory, with the same settings."""
    made = IndexSettings(
        fields=checked_fields(None), analyzer=PLAIN, space="space",
        **{"weighting": WEIGHTING, "ranking": "soft_bm25", **settings},
    )  # fmt: skip
    S = TermSimilarityMatrix.from_source(source, Vocabulary([]))
    snapshot = Snapshot(made, (), S, source, (FieldStatistics.none(0),), generation=1)
    return SoftIndex(snapshot)


def opened(store):
    return SoftIndex.open(store.path)


def writing(store, *, source=None, **settings):
    """A writer of a store."""
    return IndexWriter(FolderDirectory(store, store.read(), source), **settings)


def written(store, documents, **settings):
    """Commit documents, a mapping of ids to texts."""
    with writing(store, **settings) as writer:
        writer.add_many(list(documents), documents.values())
    return opened(store)


class Model:
    """What an index must hold and answer: documents by id in order of insertion.

    Attributes
    ----------
    documents : dict of ids to (list of tokens, metadata)
    vocabulary : list of str
        Every term that ever was.
    counted : dict or None
        The documents that the statistics were counted of.
    pairs : dict of (str, str) to float
        S beside its diagonal.
    """

    def __init__(self, pairs):
        self.documents = {}
        self.vocabulary = []
        self.pairs = dict(pairs)
        self.counted = None

    def add(self, id, tokens, metadata):
        self.documents.pop(id, None)
        self.documents[id] = (tokens, metadata)

    def copy(self):
        other = Model(self.pairs)
        other.documents = dict(self.documents)
        other.vocabulary, other.counted = list(self.vocabulary), self.counted
        return other

    def counts(self, documents=None):
        documents = self.documents if documents is None else documents
        rows = [
            [tokens.count(term) for term in self.vocabulary] for tokens, _ in documents.values()
        ]
        return np.array(rows, np.float64).reshape(len(documents), len(self.vocabulary))

    def dense(self):
        S = np.eye(len(self.vocabulary))
        for i, left in enumerate(self.vocabulary):
            for j, right in enumerate(self.vocabulary):
                if i != j:
                    S[i, j] = self.pairs.get((left, right), 0.0)
        return S

    def scores(self, ranking, query, weighting):
        """Score of every document by the statistics that were counted last."""
        Q = np.array([[query.count(term) for term in self.vocabulary]], np.float64)
        Q = Q.reshape(1, len(self.vocabulary))
        counts, basis = self.counts(), self.counts(self.counted)
        df, n = oracle.document_frequencies(basis), len(basis)
        S = self.dense()
        if ranking == "soft_bm25":
            weights = np.sqrt(oracle.idf(df, n, "bm25"))
            average = basis.sum(axis=1).mean() if n else 0.0
            lengths = counts.sum(axis=1, keepdims=True)
            ratio = lengths / average if average else np.ones_like(lengths)
            K = weighting.k1 * (1 - weighting.b + weighting.b * ratio)
            impacts = np.where(counts > 0, counts * (weighting.k1 + 1) / (counts + K), 0.0)
            return oracle.soft_inner_product(Q * weights, impacts * weights, S)[0]
        weights = oracle.idf(df, n, weighting.idf)
        X, Y = oracle.tf(Q, weighting.tf) * weights, oracle.tf(counts, weighting.tf) * weights
        measure = {
            "soft_cosine": oracle.soft_cosine,
            "inner_product": oracle.soft_inner_product,
        }[ranking]
        return measure(X, Y, S)[0]


def assert_as_made_anew(index, documents, queries):
    """Everything is, to the bit, as in an index of the same documents that never changed.

    Statistics must have been refreshed. S is the same, and so are the numbers of the terms.

    Parameters
    ----------
    index : SoftIndex
    documents : dict of ids to (tokens, or texts by field, and metadata)
    queries : sequence of token lists
    """
    fields = {field.name: field.weight for field in index.fields}
    assert list(index) == list(documents)
    if not documents:
        return
    anew = SoftIndex.from_texts(
        [text for text, _ in documents.values()], ids=documents,
        fields=fields if len(fields) > 1 else None,
        metadata=[metadata for _, metadata in documents.values()], S=index.S, analyzer=PLAIN,
        weighting=index.weighting, ranking=index.ranking,
    )  # fmt: skip
    known = set(index.vocabulary.terms)
    queries = [[word for word in words if word in known] for words in queries]
    for where in (None, {"n": 1}, {"n": {"exists": False}}, {"not": {"é": None}}):
        assert index.count(where) == anew.count(where)
        asked = {"sort": "-n", "facets": ["n"]}
        assert index.filter(where, **asked) == anew.filter(where, **asked)
        for ranking in get_args(Ranking):
            for query in queries:
                for more in ({"k": 2}, {"k": 2, **asked}):
                    found, expected = (
                        one.search(query, where=where, ranking=ranking, **more)
                        for one in (index, anew)
                    )
                    assert shown(found) == shown(expected)
                    assert found.facets == expected.facets
    for id in documents:
        assert index.get([id]) == anew.get([id])
        assert shown(index.similar(id)) == shown(anew.similar(id))
        for query in queries:
            assert index.explain(query, id) == anew.explain(query, id)
    for asked in (
        ()
        if len(fields) > 1
        else ({"min_similarity": 0.125}, {"k": 2}, {"k": 1, "ranking": "inner_product"})
    ):
        assert list(index.pairs(**asked)) == list(anew.pairs(**asked))
    if len(fields) == 1:
        assert index.dedupe(min_similarity=0.5) == anew.dedupe(min_similarity=0.5)


def shown(hits):
    """All of the hits but their numbers, which have gaps where documents were deleted."""
    return [(hit.id, hit.score, hit.text, hit.metadata) for hit in hits]


def assert_same(index, model, queries, *, rankings, weighting):
    """The index holds the model's documents, in order, and ranks them as the oracle does."""
    ids = list(model.documents)
    live = index.documents.numbers.tolist()
    assert [index.documents.id(number) for number in live] == list(index) == ids
    assert len(index) == len(index.documents) == len(ids)
    for number, (id, (tokens, metadata)) in zip(live, model.documents.items(), strict=True):
        assert index.documents.number(id) == number
        assert index.documents.text(number) == " ".join(tokens)
        assert index.documents.metadata(number) == (metadata or {})
    assert sorted(index.vocabulary.terms) == sorted(model.vocabulary)
    places = index.vocabulary.indices(model.vocabulary)
    S = index.S.to_scipy().toarray()[np.ix_(places, places)]
    np.testing.assert_array_equal(S, model.dense().astype(np.float32))
    for ranking in rankings:
        for words in queries:
            # Others are looked up by what the source says of them.
            query = [word for word in words if word in model.vocabulary]
            truth = model.scores(ranking, query, weighting) if ids else np.empty(0)
            hits = index.search(query, k=len(ids) + 1, ranking=ranking)
            found = [hit.score for hit in hits]
            rows = [ids.index(hit.id) for hit in hits]
            assert sorted(rows) == np.flatnonzero(truth > 1e-12).tolist()
            np.testing.assert_allclose(found, truth[rows], rtol=1e-9, atol=1e-12)
            keys = [(-score, row) for score, row in zip(found, rows, strict=True)]
            assert keys == sorted(keys)


def tree(folder):
    """The bytes of every file of an index by its path."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name != "write.lock"
    }
