"""What an index is does not depend on how its writer batched the documents of a commit."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from softcosine import Analyzer, PairSimilarity, SimilarityRecipe, SoftIndex
from softcosine.index.writer import document, index_writer

WORDS = [
    *("run", "runs", "running", "cat", "Cats", "dog", "dogs", "house", "houses"),
    *("tyre", "tires", "tea", "teas", "new", "york", "city"),
]
PAIRS = PairSimilarity({("new york", "city"): 0.75, ("tire", "tyre"): 0.9})
SETTINGS = {
    "learned": {"language": "none"},
    "learned from stems": {"language": "german"},
    "learned, detected": {},
    "learned from two fields": {"language": "none", "fields": {"title": 2.0, "body": 1.0}},
    "vectors and spelling": {"language": "english"},
    "vectors of two fields": {"language": "english", "fields": {"title": 2.0, "body": 1.0}},
    "without rare terms": {"language": "english", "min_df": 2},
    "n-grams and positions": {"analyzer": Analyzer("english", max_ngram=2), "positions": True},
    "phrases": {"language": "english", "similarity": SimilarityRecipe(sources=[PAIRS])},
    "given": {"language": "english", "source": PAIRS, "positions": True},
}
IDS = st.sampled_from("abcdef")
# Metadata fill the buffer of a writer, which is 4,096 characters here, or 8,192.
ADDED = st.tuples(
    IDS, st.lists(st.sampled_from(WORDS), max_size=6), st.sampled_from([0, 2500, 5000])
)
COMMITS = st.lists(st.lists(ADDED | IDS, min_size=1, max_size=8), min_size=1, max_size=2)


def written(folder: Path | None, commits, memory, **given):
    index = SoftIndex.create(folder, **given)
    with index.writer(memory=memory) as writer:
        writer.add("z", {"title": "tea", "body": "tea"} if "fields" in given else "tea")
        for changes in commits:
            for change in changes:
                if isinstance(change, str):
                    writer.delete(change, missing_ok=True)
                    continue
                id, words, n_filling = change
                text = " ".join(words)
                if "fields" in given:
                    text = {"title": " ".join(words[:2]), "body": text}
                writer.add(id, text, {"filling": "x" * n_filling})
            writer.commit()
    index.refresh()
    return index


def scores_of(index):
    return [
        [(hit.id, hit.score.hex()) for hit in index.search(query, k=10, ranking=ranking)]
        for query in ("running cats", "tire", "city", "new york houses", "unknown tea")
        for ranking in ("soft_bm25", "soft_cosine")
    ]


def assert_equal(one, other):
    assert one.vocabulary.terms == other.vocabulary.terms
    assert one.vocabulary.forms == other.vocabulary.forms
    np.testing.assert_array_equal(one.S.to_scipy().toarray(), other.S.to_scipy().toarray())
    assert one.snapshot.statistics == other.snapshot.statistics
    assert (one.language, one.note, one.epoch) == (other.language, other.note, other.epoch)
    assert scores_of(one) == scores_of(other)


@pytest.mark.parametrize("name", SETTINGS)
@settings(max_examples=8)
@given(on_disk=st.booleans(), commits=COMMITS, memory=st.sampled_from([1 << 16, 1 << 17]))
def test_an_index_does_not_depend_on_batches(name, on_disk, commits, memory):
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(index_writer, "DECIDING_SIZE", 0 if "language" in SETTINGS[name] else 1 << 22)
        paths = [Path(folder) / name if on_disk else None for name in ("one", "many")]
        one = written(paths[0], commits, None, **SETTINGS[name])
        many = written(paths[1], commits, memory, **SETTINGS[name])
        assert_equal(one, many)


def test_new_words_of_a_commit_are_numbered_together():
    commits = [
        [("a", ["tea"], 0)],
        [("b", ["york"], 5000), ("c", ["city"], 5000), ("b", ["dog"], 0)],
    ]
    index = written(None, commits, 1 << 16, language="none", plain=True)
    assert index.vocabulary.terms == ("tea", "city", "dog")


@pytest.mark.parametrize("memory", [None, 1 << 16, 1 << 20])
def test_the_first_documents_decide_the_language_in_any_batches(monkeypatch, memory):
    for module in (document, index_writer):
        monkeypatch.setattr(module, "DECIDING_SIZE", 10_000)
    german = ["Der Hund und die Katze sind nicht in dem Haus, und das ist auch so"]
    english = ["The dog and the cats are in the house, and that is how it has to be"]
    documents = [(str(n), english if n < 10 else german, 2_000) for n in range(60)]
    index = written(None, [documents], memory)
    assert index.language == "english"
