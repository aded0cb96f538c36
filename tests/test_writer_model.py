"""Any sequence of changes to an index on disk equals the same on a dictionary."""

from __future__ import annotations

import os
import pickle
import shutil
import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from softcosine.errors import UnknownDocumentError
from softcosine.index.directory.check import check_index
from softcosine.index.query.filters import Where
from softcosine.index.soft_index import SoftIndex
from softcosine.index.writer import index_writer as writers
from softcosine.index.writer import merging
from softcosine.index.writer.merging import MergePolicy
from softcosine.index.writer.pending_commit import PendingCommit
from softcosine.matrix.term_similarity_matrix import TermSimilarityMatrix
from softcosine.similarity.pairs import PairSimilarity
from softcosine.text.vocabulary import Vocabulary
from softcosine.text.weighting import Weighting
from written import (
    WEIGHTING,
    Model,
    assert_as_made_anew,
    assert_same,
    created,
    created_in_memory,
    opened,
    writing,
)

WORDS = ("tire", "tyre", "wheel", "tea", "coffee", "überall", "\ud800x")
PAIRS = {("tire", "tyre"): 0.875, ("tyre", "wheel"): 0.5, ("tea", "coffee"): 0.25}
IDS = ("a", "b", "ä\0", "\ud800", "", "zz")
METADATA = st.sampled_from(
    [None, {}, {"n": 1}, {"n": True}, {"n": "é", "m": 0}, {"é": [None, {"x": "\ud800"}]}]
)
WHERES = st.sampled_from([{"n": 1}, {"n": {"exists": False}}, {"é": {"exists": True}}])
QUERIES = (["tire"], ["tea", "wheel", "tea"], ["coffee", "überall"])


def both_ways(pairs):
    return {**pairs, **{(right, left): value for (left, right), value in pairs.items()}}


class Index(RuleBasedStateMachine):
    """An index on disk, open for writing or not, beside what it must hold."""

    def __init__(self):
        super().__init__()
        self.patch = pytest.MonkeyPatch()
        # Segments of few documents, and no waiting for the disk.
        self.patch.setattr(writers, "MAX_DOCS", 3)
        self.patch.setattr(merging, "MAX_DOCS", 4)
        self.patch.setattr(os, "fsync", lambda descriptor: None)
        # Whether a commit changes more than metadata: documents that are added and deleted before
        # they are written are no change.
        self.changed, commit = [], PendingCommit.commit

        def noting(draft, refresh):
            self.changed.append(draft.changed)
            return commit(draft, refresh)

        self.patch.setattr(PendingCommit, "commit", noting)
        self.folder = Path(tempfile.mkdtemp())
        self.writer = None

    def teardown(self):
        if hasattr(self, "index"):
            self.compare()
        if self.writer is not None:
            self.writer.close()
        self.patch.undo()
        shutil.rmtree(self.folder)

    @initialize(positions=st.booleans(), ranking=st.sampled_from(["soft_bm25", "soft_cosine"]))
    def create(self, positions, ranking):
        self.source = PairSimilarity([(a, b, value) for (a, b), value in PAIRS.items()])
        self.make(positions=positions, ranking=ranking)
        self.committed = Model(both_ways(PAIRS))
        self.draft = self.committed.copy()
        self.weighting = self.next_weighting = WEIGHTING
        self.compare()

    def make(self, **settings):
        self.store = created(self.folder / "x", source=self.source, **settings)
        self.index = opened(self.store)

    def begin(self):
        if self.writer is None:
            self.writer = self.opened_writer(MergePolicy(factor=2, min_docs=1, max_docs=4))

    def opened_writer(self, policy):
        return writing(self.store, merge=policy)

    def generation(self):
        return self.store.generation()

    def indexes(self):
        """The index refreshed, and one opened anew; both sound."""
        check_index(self.store)
        self.index.refresh()
        return self.index, opened(self.store)

    @rule(
        id=st.sampled_from(IDS),
        tokens=st.lists(st.sampled_from(WORDS), max_size=4),
        metadata=METADATA,
        as_text=st.booleans(),
    )
    def add(self, id, tokens, metadata, as_text):
        self.begin()
        tokens = [token for token in tokens if not as_text or token.isalpha()]
        self.writer.add(id, " ".join(tokens) if as_text else tokens, metadata)
        self.draft.add(id, tokens, metadata)

    @rule(id=st.sampled_from(IDS), missing_ok=st.booleans())
    def delete(self, id, missing_ok):
        self.begin()
        there = id in self.draft.documents
        if there or missing_ok:
            assert self.writer.delete(id, missing_ok=missing_ok) == there
        else:
            with pytest.raises(UnknownDocumentError):
                self.writer.delete(id)
        if there:
            del self.draft.documents[id]

    @rule(where=WHERES)
    def delete_where(self, where):
        self.begin()
        gone = [
            id
            for id, (_, metadata) in self.draft.documents.items()
            if Where.parse(where).matches(metadata or {})
        ]
        assert self.writer.delete(where=where) == len(gone)
        for id in gone:
            del self.draft.documents[id]

    @rule(id=st.sampled_from(IDS), metadata=METADATA, replace=st.booleans())
    def update_metadata(self, id, metadata, replace):
        self.begin()
        metadata = metadata or {}
        if id not in self.draft.documents:
            with pytest.raises(UnknownDocumentError):
                self.writer.update_metadata(id, metadata, replace=replace)
            return
        self.writer.update_metadata(id, metadata, replace=replace)
        tokens, before = self.draft.documents[id]
        self.draft.documents[id] = tokens, metadata if replace else {**(before or {}), **metadata}

    @precondition(lambda self: self.writer is not None)
    @rule(refresh=st.sampled_from([None, None, True, False]), leave=st.booleans())
    def commit(self, refresh, leave):
        before = self.generation()
        self.changed.clear()
        number = self.writer.commit(refresh)
        assert number == self.generation() >= before
        self.draft.vocabulary = list(self.writer.vocabulary.terms)
        # Without a change nothing is written, nor counted unless that is asked for; where only
        # metadata have changed, scores stay.
        if refresh or (self.changed[0] and (refresh is None or self.draft.counted is None)):
            self.draft.counted = dict(self.draft.documents)
        self.committed = self.draft.copy()
        self.weighting = self.next_weighting
        if leave:
            self.writer.__exit__(None, None, None)
            self.writer = None
        self.compare()

    @precondition(lambda self: self.writer is not None)
    @rule(leave=st.booleans())
    def roll_back(self, leave):
        if leave:
            self.writer.__exit__(ValueError, ValueError(), None)
            self.writer = None
        else:
            self.writer.rollback()
        self.draft = self.committed.copy()
        self.next_weighting = self.weighting
        self.compare()

    @precondition(lambda self: self.writer is not None)
    @rule()
    def merge(self):
        self.writer.merge()

    @precondition(lambda self: self.writer is not None)
    @rule(values=st.lists(st.sampled_from([0.0, 0.125, 0.5]), min_size=49, max_size=49))
    def set_similarity(self, values):
        terms = self.writer.vocabulary.terms
        n = len(terms)
        S = np.triu(np.array(values).reshape(7, 7)[:n, :n], 1)
        S = S + S.T
        pairs = {(terms[i], terms[j]): S[i, j] for i in range(n) for j in range(n) if i != j}
        S += np.eye(n)
        given = TermSimilarityMatrix.from_matrix(S, Vocabulary(terms), warn=False)
        self.writer.set_similarity(given)
        # Terms to come are like no other.
        self.draft.pairs = {pair: value for pair, value in pairs.items() if value}

    @precondition(lambda self: self.writer is not None)
    @rule(idf=st.sampled_from(["none", "smooth", "bm25"]), tf=st.sampled_from(["raw", "log"]))
    def set_weighting(self, idf, tf):
        self.next_weighting = Weighting(tf=tf, idf=idf, k1=1.5, b=0.5)
        self.writer.set_weighting(self.next_weighting)

    def compare(self):
        """The index is sound and equals what was committed, opened anew or refreshed."""
        for index in self.indexes():
            assert_same(
                index, self.committed, QUERIES,
                rankings=("soft_bm25", "soft_cosine"), weighting=self.weighting,
            )  # fmt: skip
        tokens = [own for own, _ in self.committed.documents.values()]
        counted = [own for own, _ in (self.committed.counted or {}).values()]
        if sorted(tokens) == sorted(counted):
            assert_as_made_anew(self.index, self.committed.documents, QUERIES)


class IndexInMemory(Index):
    """The same in memory; a snapshot that a reader holds never changes."""

    def make(self, **settings):
        self.index = created_in_memory(source=self.source, **settings)
        self.held = []

    def opened_writer(self, policy):
        return self.index.writer(merge=policy)

    def generation(self):
        return self.index.snapshot.generation

    def indexes(self):
        self.held = [*self.held[-3:], (SoftIndex(self.index.snapshot), self.contents(self.index))]
        for index, contents in self.held:
            assert self.contents(index) == contents
        return self.index, pickle.loads(pickle.dumps(self.index))

    def contents(self, index):
        return index.get(list(index)), [index.search(query) for query in QUERIES]


TestIndex = Index.TestCase
TestIndexInMemory = IndexInMemory.TestCase
TestIndex.settings = TestIndexInMemory.settings = settings(
    max_examples=max(2, settings().max_examples // 3), stateful_step_count=30
)


changes = st.one_of(
    st.tuples(
        st.just("add"),
        st.sampled_from(IDS),
        st.dictionaries(
            st.sampled_from(["title", "body"]),
            st.lists(st.sampled_from(WORDS[:5]), max_size=4).map(" ".join),
        ),
        METADATA,
    ),
    st.tuples(st.just("delete"), st.sampled_from(IDS)),
    st.tuples(st.just("delete where"), WHERES),
    st.tuples(st.just("update"), st.sampled_from(IDS), METADATA),
    st.tuples(st.sampled_from(["commit", "merge"])),
)


@settings(max_examples=max(5, settings().max_examples // 3))
@given(st.lists(changes, max_size=20), st.sampled_from(["soft_bm25", "soft_cosine"]))
def test_several_fields_after_any_changes_are_as_made_anew(many, ranking):
    documents = {}
    with pytest.MonkeyPatch.context() as patch, tempfile.TemporaryDirectory() as folder:
        patch.setattr(writers, "MAX_DOCS", 3)
        patch.setattr(os, "fsync", lambda descriptor: None)
        store = created(
            Path(folder) / "x", fields={"title": 2.0, "body": 1.0}, ranking=ranking,
            source=PairSimilarity([(a, b, value) for (a, b), value in PAIRS.items()]),
        )  # fmt: skip
        with writing(store, merge=MergePolicy(factor=2, min_docs=1, max_docs=4)) as writer:
            for change, *what in many:
                if change == "add":
                    id, texts, metadata = what
                    writer.add(id, texts, metadata)
                    documents.pop(id, None)
                    documents[id] = texts, metadata
                elif change == "delete":
                    assert writer.delete(*what, missing_ok=True) == (what[0] in documents)
                    documents.pop(what[0], None)
                elif change == "delete where":
                    where = Where.parse(what[0])
                    gone = [id for id, (_, own) in documents.items() if where.matches(own or {})]
                    assert writer.delete(where=what[0]) == len(gone)
                    for id in gone:
                        del documents[id]
                elif change == "update" and what[0] in documents:
                    id, metadata = what
                    writer.update_metadata(id, metadata or {})
                    texts, before = documents[id]
                    documents[id] = texts, {**(before or {}), **(metadata or {})}
                elif change == "commit":
                    writer.commit()
                elif change == "merge":
                    writer.merge()
            writer.commit(refresh=True)
        check_index(store)
        assert_as_made_anew(opened(store), documents, QUERIES)
