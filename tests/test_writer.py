"""An index on disk is written: documents added, replaced, deleted, merged, S and W exchanged."""

from __future__ import annotations

import multiprocessing
import os
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from itertools import pairwise

import numpy as np
import pytest

from crafted import patch_array
from softcosine.errors import (
    CorruptIndexError,
    IndefiniteMatrixError,
    IndexLockedError,
    InvalidInputError,
    SoftCosineWarning,
    UnknownDocumentError,
    VocabularyMismatchError,
)
from softcosine.index.directory.check import check_index
from softcosine.index.directory.store import Store
from softcosine.index.query.phrases import (
    running_words,
)
from softcosine.index.segment.positions import (
    LEFT_OUT,
)
from softcosine.index.soft_index import SoftIndex
from softcosine.index.writer import index_writer as writers
from softcosine.index.writer import pending_commit as drafts
from softcosine.index.writer.merging import MergePolicy
from softcosine.matrix.recipe import SimilarityRecipe
from softcosine.matrix.term_similarity_matrix import TermSimilarityMatrix
from softcosine.similarity.overrides.decision_list import Decisions
from softcosine.similarity.overrides.decisions import decided
from softcosine.similarity.pairs import PairSimilarity
from softcosine.text.analyzer import Analyzer
from softcosine.text.vocabulary import Vocabulary
from softcosine.text.weighting import Weighting
from test_store import Steps
from toys import similarity_matrix
from written import created, opened, writing, written

TEXTS = {"a": "tire wheel", "b": "tea coffee tea", "c": "tyre"}
SOURCE = PairSimilarity([("tire", "tyre", 0.875), ("tea", "coffee", 0.25)])


@pytest.fixture
def store(tmp_path):
    return created(tmp_path / "x", source=SOURCE)


@pytest.fixture
def unsynced(monkeypatch):
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)


def test_leaving_the_writer_commits_and_an_exception_rolls_back(store):
    with writing(store) as writer:
        writer.add("a", "tire wheel")
        assert len(opened(store)) == 0
    assert list(opened(store)) == ["a"]

    def fail():
        with writing(store) as writer:
            writer.add("b", "tea")
            writer.delete("a")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert list(opened(store)) == ["a"]
    assert store.generation() == 2
    for call in (writer.commit, writer.rollback, writer.merge, lambda: writer.add("x", "y")):
        with pytest.raises(InvalidInputError, match="this writer is closed"):
            call()
    writer.close()


def test_a_rollback_keeps_the_writer(store):
    with writing(store) as writer:
        writer.add_many(list(TEXTS), TEXTS.values())
        writer.commit()
        writer.delete("a")
        writer.add("d", "milk")
        writer.merge()
        writer.rollback()
        writer.add("e", "milk")
    assert list(opened(store)) == ["a", "b", "c", "e"]
    check_index(store)


def test_a_document_with_a_known_id_is_replaced_and_stands_last(store):
    with writing(store) as writer:
        writer.add_many(list(TEXTS), TEXTS.values())
        writer.add("a", "milk")
    index = opened(store)
    assert list(index) == ["b", "c", "a"]
    assert len(index.snapshot.segments) == 1
    with writing(store, merge=None) as writer:
        writer.add("b", "water")
        writer.add("b", "wine", {"n": 1})
    index = opened(store)
    assert list(index) == ["c", "a", "b"]
    assert index.documents.text(index.documents.number("b")) == "wine"
    assert index.search("tea").ids == []
    check_index(store)


def test_deleting_says_whether_there_was_one(store):
    written(store, TEXTS)
    with writing(store, merge=None) as writer:
        assert writer.delete("a")
        with pytest.raises(UnknownDocumentError, match="no document with the id 'a' in the index"):
            writer.delete("a")
        assert not writer.delete("a", missing_ok=True)
        writer.add("a", "tire")
        assert writer.delete("a")
        writer.add("b", "milk")
        assert writer.delete("b")  # the new one and the one that it would have replaced
        assert not writer.delete("b", missing_ok=True)
    assert list(opened(store)) == ["c"]
    with writing(store) as writer:
        writer.delete("c")
    index = opened(store)
    assert (len(index), index.search("tyre").ids) == (0, [])
    check_index(store)


def test_a_commit_of_nothing_writes_nothing(store):
    with writing(store) as writer:
        assert writer.commit() == writer.generation == 1
        assert writer.commit(refresh=True) == 1
        writer.delete("x", missing_ok=True)
        writer.merge()
        assert writer.commit() == 1
    assert store.generation() == 1
    check_index(store)
    with writing(store) as writer:
        writer.add("empty", "")
    assert list(opened(store)) == ["empty"]
    check_index(store)


def test_whoever_has_it_open_keeps_the_generation_until_refreshed(store):
    index = written(store, TEXTS)
    before = index.search(["tea"])
    assert before.ids == ["b"]
    with writing(store, merge=MergePolicy(2, min_docs=1)) as writer:
        for number in range(5):
            writer.add("b", "tea coffee tea " + "wine " * number)
            writer.add(f"n{number}", "milk")
            writer.commit()
        writer.merge()
    assert [(hit.id, hit.score, hit.text) for hit in index.search(["tea"])] == [
        (hit.id, hit.score, hit.text) for hit in before
    ]
    assert index.refresh()
    assert list(index) == ["a", "c", *[f"n{number}" for number in range(4)], "b", "n4"]
    assert len(index.snapshot.segments) == 1


@pytest.mark.usefixtures("unsynced")
def test_documents_are_written_in_bounded_batches(tmp_path, monkeypatch):
    monkeypatch.setattr(writers, "DECIDING_SIZE", 0)
    store = created(tmp_path / "x", plain=True)
    with writing(store, memory=1 << 16, merge=None) as writer:
        for number in range(50):
            writer.add(str(number), f"word{number} " + "tea " * 240)
    index = opened(store)
    assert len(index.snapshot.segments) > 5
    assert list(index) == [str(number) for number in range(50)]
    with writing(store) as writer:
        writer.merge()
    assert index.refresh()
    (segment,) = index.snapshot.segments
    assert segment.live is None
    assert list(index) == [str(number) for number in range(50)]
    assert index.search("word7 tea", k=2).ids == ["7", "0"]
    check_index(store)


@pytest.mark.usefixtures("unsynced")
def test_many_small_segments_answer_the_same_bits_as_one(tmp_path, monkeypatch):
    rng = np.random.default_rng(0)
    words = ["tire", "tyre", "tea", "coffee", "wheel", "milk"]
    # All words first, so that both number them alike.
    texts = {"all": " ".join(words)}
    texts |= {str(n): " ".join(rng.choice(words, rng.integers(0, 6))) for n in range(60)}
    whole = written(created(tmp_path / "whole", source=SOURCE), texts)
    monkeypatch.setattr(writers, "MAX_DOCS", 7)
    cut = written(created(tmp_path / "cut", source=SOURCE), texts, merge=None)
    assert len(cut.snapshot.segments) == 9
    for ranking in ("soft_bm25", "soft_cosine", "inner_product", "expanded_cosine"):
        for query in (["tea"], ["tire", "milk", "milk"]):
            one, other = (index.search(query, k=50, ranking=ranking) for index in (whole, cut))
            assert one.ids == other.ids
            assert [hit.score for hit in one] == [hit.score for hit in other]


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such limit")
@pytest.mark.usefixtures("unsynced")
def test_more_segments_than_files_may_be_open(tmp_path, monkeypatch):
    resource = pytest.importorskip("resource")
    monkeypatch.setattr(writers, "MAX_DOCS", 1)
    store = created(tmp_path / "x", plain=True)
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(soft, 200), hard))
    try:
        texts = {str(number): f"tea {'milk' * (number % 3)}" for number in range(400)}
        index = written(store, texts, merge=None)
        assert len(index.snapshot.segments) == 400
        assert index.search("tea", k=3).ids == ["0", "3", "6"]
        with writing(store) as writer:
            assert writer.delete("200")
        assert index.refresh()
        # The policy has joined them meanwhile.
        assert len(index.snapshot.segments) < 20
        assert len(index) == 399
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


IDS = ["", "z" * 10**6, "ä", "\ud800", "\0", "a\0b", "🙂", " ", "A", "a", "1", "01"]


def test_ids_may_be_any_strings(store):
    with writing(store) as writer:
        writer.add_many(IDS, [f"w{number}" for number in range(len(IDS))])
    with writing(store, merge=None) as writer:
        for number, id in enumerate(IDS[::2]):
            writer.add(id, f"v{number}")
        writer.delete("a\0b")
    index = opened(store)
    left = [id for id in IDS[1::2] if id != "a\0b"]
    assert list(index) == [*left, *IDS[::2]]
    for id in [*left, *IDS[::2]]:
        assert index.documents.id(index.documents.number(id)) == id
    assert "a\0b" not in index
    check_index(store)


def test_a_long_id_is_shortened_in_messages(store):
    with writing(store) as writer:
        with pytest.raises(UnknownDocumentError) as caught:
            writer.delete("z" * 10**6)
        assert len(str(caught.value)) < 200


BAD_DOCUMENTS = {
    "an id that is no string": ((3, "x"), "the id is 3, of type int; ids are strings"),
    "no text": (("i", None), "the text of document 'i' is"),
    "a number": (("i", 3), "the text of document 'i' is"),
    "bytes": (("i", b"x"), "the text of document 'i' is"),
    "a token that is none": (("i", ["x", 3]), "token 1 of the text of document 'i' is"),
    "an unknown field": (("i", {"title": "x"}), "has a field 'title', and the index has 'text'"),
    "a field that is no string": (("i", {"text": ["x"]}), "field 'text' of document 'i' is"),
    "metadata that is no mapping": (("i", "x", [1]), "metadata of document 'i' is of type list"),
    "metadata that JSON lacks": (("i", "x", {"a": {1}}), "'i' cannot be written as JSON"),
    "metadata that is no number": (("i", "x", {"a": float("nan")}), "cannot be written as JSON"),
}


@pytest.mark.parametrize("kind", BAD_DOCUMENTS)
def test_what_is_no_document_is_refused_and_changes_nothing(store, kind):
    arguments, message = BAD_DOCUMENTS[kind]
    with writing(store) as writer:
        writer.add("i", "tea")
        with pytest.raises(InvalidInputError, match=message):
            writer.add(*arguments)
    assert opened(store).search("tea").ids == ["i"]


def test_columns_that_do_not_go_together_are_refused(store):
    with writing(store) as writer:
        for ids, texts, metadata, message in (
            (["a"], ["x", "y"], None, "there are fewer ids than documents"),
            (["a", "b"], ["x"], None, "there are more ids than documents"),
            (["a"], ["x"], [], "there are fewer metadata than documents"),
            (["a"], ["x"], [None, None], "there are more metadata than documents"),
            ("ab", ["x", "y"], None, "ids is of type str; pass a list"),
            (["a"], "x", None, "texts is a single string; wrap it"),
            (["a"], ["x"], {"a": 1}, "metadata is of type dict; pass a list"),
            (["a"], ["x"], 3, "metadata is of type int; pass a list"),
        ):
            with pytest.raises(InvalidInputError, match=message):
                writer.add_many(ids, texts, metadata)
        writer.rollback()
        writer.add_many(iter("ab"), (text for text in ["tea", "milk"]), iter([None, {"n": 1}]))
    index = opened(store)
    assert [index.documents.metadata(number) for number in (0, 1)] == [{}, {"n": 1}]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"memory": 100}, "memory is 100; it must be a whole number of 65,536 or more"),
        ({"memory": 1e9}, "memory is 1000000000.0; it must be"),
        ({"merge": 10}, "merge is of type int; pass a MergePolicy, or None"),
        ({"timeout": -1}, "timeout is -1; it must be a finite number of at least 0"),
    ],
)
def test_settings_that_make_no_sense_are_refused_and_lock_nothing(store, settings, message):
    with pytest.raises(InvalidInputError, match=message):
        writing(store, **settings)
    writing(store).close()


def test_there_is_one_writer(store):
    with writing(store) as writer:
        writer.add("a", "tea")
        with pytest.raises(IndexLockedError, match="another writer of this same process"):
            writing(store, timeout=0)
        with pytest.raises(InvalidInputError, match="refresh is 1; it must be True, False or None"):
            writer.commit(refresh=1)


def test_texts_and_token_lists_may_be_mixed(tmp_path):
    store = created(tmp_path / "x", plain=True)
    with writing(store, merge=None) as writer:
        writer.add("a", "Tea, tea")
        writer.add("b", ["Tea", "tea"])
        writer.add("c", np.array(["tea"]))
        writer.add("d", {"text": "TEA"})
    index = opened(store)
    assert list(index) == ["a", "b", "c", "d"]
    assert index.vocabulary.terms == ("Tea", "tea")
    assert [index.documents.text(n) for n in range(4)] == ["Tea, tea", "Tea tea", "tea", "TEA"]
    check_index(store)


def test_several_fields_are_spaces_of_their_own(tmp_path):
    store = created(tmp_path / "x", plain=True, fields={"title": 2, "body": 1}, positions=True)
    with writing(store) as writer:
        writer.add("a", {"title": "tea", "body": "milk and more milk"})
        writer.add("b", {"body": "tea tea"})
        with pytest.raises(InvalidInputError, match="has the fields 'title', 'body', so"):
            writer.add("c", "tea")
    with writing(store, merge=None) as writer:
        writer.add("c", {"title": "milk", "body": "tea"})
    index = opened(store)
    assert index.search("tea", k=3).ids == ["a", "b", "c"]
    assert index.documents.text(0) == "tea\nmilk and more milk"
    before = [(hit.id, hit.score) for hit in index.search("milk tea")]
    with writing(store) as writer:
        writer.merge()
    check_index(store)
    assert [(hit.id, hit.score) for hit in opened(store).search("milk tea")] == before


def test_running_words_are_kept_if_asked_for(tmp_path):
    analyzer = Analyzer("english", stop_words="english", min_length=2)
    store = created(tmp_path / "x", plain=True, analyzer=analyzer, positions=True)
    texts = ["the kings of Spain, a king", "", "of", "doing what Spain does"]
    with writing(store, merge=None) as writer:
        for number, text in enumerate(texts):
            writer.add(str(number), text)
            writer.commit()
        writer.delete("2")
        writer.add("tokens", ["the", "kings"])
        writer.merge()
    index = opened(store)
    (segment,) = index.snapshot.segments
    (positions,) = segment.positions
    kept = [texts[0], texts[1], texts[3], ["the", "kings"]]
    for text, (first, last) in zip(kept, pairwise(positions.token_offsets), strict=True):
        numbers = [
            LEFT_OUT if word is None else index.vocabulary.index(word)
            for word in running_words(text, analyzer)
        ]
        assert positions.tokens[first:last].tolist() == numbers
    check_index(store)


def test_texts_are_kept_only_if_asked_for(tmp_path):
    store = created(tmp_path / "x", analyzer=None, texts=False)
    index = written(store, {"a": "green tea", "b": "black tea"})
    with writing(store) as writer:
        writer.add("c", "tea")
        writer.merge()
    assert index.refresh()
    assert [hit.text for hit in index.search("tea")] == ["", "", ""]
    check_index(store)


def test_an_empty_commit_merges_nothing(store):
    written(store, {"a": "tea"}, merge=None)
    written(store, {"b": "milk"}, merge=None)
    with writing(store, merge=MergePolicy(2)) as writer:
        assert writer.commit() == 3
        assert len(list((store.path / "parts").iterdir())) == len(store.read().parts)
    assert len(opened(store).snapshot.segments) == 2


@pytest.mark.parametrize("threads", [1, 2])
def test_a_buffer_that_could_not_be_written_stays_and_takes_no_more(store, monkeypatch, threads):
    monkeypatch.setattr(writers, "MAX_DOCS", 2)
    n_buffered = 2 * threads  # with two threads, a batch is in flight beside the buffer
    with writing(store, threads=threads) as writer:
        with monkeypatch.context() as patch:
            Steps(patch, 3)
            writer.add_many(list("abcd")[:n_buffered], ["tea and milk"] * n_buffered)
            for _ in range(3):
                with pytest.raises(OSError, match="free space"):
                    writer.add("e", "wine")
                Steps(patch, 3)
        writer.add("e", "wine")
    assert list(opened(store)) == [*"abcd"[:n_buffered], "e"]
    check_index(store)


@pytest.mark.parametrize("decide", [False, True])
def test_a_source_that_was_given_makes_the_s_that_from_texts_makes(tmp_path, decide):
    source = SOURCE
    if decide:
        source = decided(source, Decisions.of(pinned={("tires", "milk"): 0.5}))
    texts = {"a": "tires and wheels", "b": "tea, coffee, milk", "c": "tyres"}
    analyzer = Analyzer("english")
    memory = SoftIndex.from_texts(list(texts.values()), source=source, analyzer=analyzer)
    index = SoftIndex.create(tmp_path / "x", source=source, analyzer=analyzer)
    with index.writer() as writer:
        writer.add_many(list(texts), texts.values())
    assert index.vocabulary == memory.vocabulary
    np.testing.assert_array_equal(index.S.to_scipy().toarray(), memory.S.to_scipy().toarray())
    with index.writer() as writer:
        writer.add("d", "a tire of milk wheels")
    assert index.S.similarity("tire", "milk") == (0.5 if decide else 0.0)
    check_index(Store.open(tmp_path / "x"))


def test_an_index_that_was_saved_is_written_on(tmp_path):
    SoftIndex.from_texts(CORPUS[:5]).save(tmp_path / "x")
    index = SoftIndex.open(tmp_path / "x")
    with index.writer() as writer:
        writer.add("new", "a puppy chases the kittens")
        writer.delete("0")
    assert index.search("kitten").ids[0] == "new"
    assert len(index) == 5
    check_index(Store.open(tmp_path / "x"))


CORPUS = [
    f"the {animal} sleeps in the {place} and the {animal} eats {food}"
    for animal in ("cat", "dog", "horse", "cow")
    for place in ("house", "garden", "field")
    for food in ("fish", "hay", "grass", "bread")
]


@pytest.mark.usefixtures("unsynced")
def test_what_a_new_index_learns_is_what_from_texts_learns(tmp_path, monkeypatch):
    memory = SoftIndex.from_texts(CORPUS, ranking="soft_bm25", encoder=None)
    for name, most in (("at once", 1000), ("in batches", 7)):
        monkeypatch.setattr(writers, "MAX_DOCS", most)
        store = created(tmp_path / name, analyzer=None, weighting=memory.weighting)
        index = written(store, {str(n): text for n, text in enumerate(CORPUS)}, merge=None)
        assert index.analyzer == memory.analyzer
        assert index.note == memory.note
        places = index.vocabulary.indices(memory.vocabulary.terms)
        own = index.S.to_scipy().toarray()[np.ix_(places, places)]
        np.testing.assert_array_equal(own, memory.S.to_scipy().toarray())
        for query in ("kitten food", "meadow"):
            one, other = memory.search(query), index.search(query)
            assert one.ids == other.ids
            np.testing.assert_allclose(
                [hit.score for hit in one], [hit.score for hit in other], rtol=1e-12
            )
        check_index(store)
        assert not [path for path in store.path.iterdir() if path.suffix == ".tmp"]


def test_the_first_texts_tell_their_language(tmp_path):
    texts = {"a": "der Hund schläft im Garten und bellt nicht", "b": "die Katze frisst Fische"}
    index = written(created(tmp_path / "x", analyzer=None), texts)
    assert index.analyzer == Analyzer("german")
    assert index.language == SoftIndex.open(tmp_path / "x").language == "german"
    assert "This looks like German: stemmed, stop words ignored in questions" in index.note
    assert "katz" in index.vocabulary


def test_texts_without_words_decide_nothing(tmp_path):
    store = created(tmp_path / "x", analyzer=None)
    written(store, {"a": "...", "b": ""})
    check_index(store)
    index = written(store, {"c": "kittens eating fishes"})
    assert index.analyzer == Analyzer("english")
    assert index.search("cat").ids == ["c"]
    check_index(store)


def test_texts_and_token_lists_are_learned_together(tmp_path):
    settings = {"similarity": SimilarityRecipe(sources=["texts"]), "analyzer": Analyzer()}
    alone = SoftIndex.from_texts(CORPUS, **settings)
    mixed = SoftIndex.create(tmp_path / "x", **settings)
    with mixed.writer() as writer:
        writer.add("0", "a text that is replaced")
        for number, text in enumerate(CORPUS):
            writer.add(str(number), text.split() if 20 <= number < 40 else text)
    assert alone.vocabulary == mixed.vocabulary
    assert alone.S.to_scipy().nnz > len(alone.S)
    np.testing.assert_array_equal(alone.S.to_scipy().toarray(), mixed.S.to_scipy().toarray())


def test_without_texts_nothing_is_learned_from_them():
    recipe = SimilarityRecipe(sources=["texts"])
    with pytest.raises(InvalidInputError, match="does not keep the texts"):
        SoftIndex.from_texts(CORPUS, similarity=recipe, keep_texts=False)


def test_new_terms_get_rows_from_the_source(store):
    index = written(store, {"a": "tire"})
    assert index.S.neighbors("tire") == []
    written(store, {"b": "tyre", "c": "coffee tea"})
    assert index.refresh()
    assert index.vocabulary.terms == ("tire", "coffee", "tea", "tyre")
    assert [term for term, _ in index.S.neighbors("tire")] == ["tyre"]
    assert index.search("tire").ids == ["a", "b"]


def test_another_source_may_be_given_for_new_terms(store):
    other = PairSimilarity([("tire", "milk", 0.5)])
    written(store, {"a": "tire"})
    index = written(store, {"b": "tyre milk"}, source=other)
    assert [term for term, _ in index.S.neighbors("tire")] == ["milk"]


def test_s_is_exchanged_and_no_posting_rewritten(store):
    index = written(store, TEXTS)
    parts = [segment.part for segment in index.snapshot.segments]
    S = similarity_matrix(
        [[1 if i == j else 0.5 for j in range(5)] for i in range(5)], index.vocabulary
    )
    with writing(store) as writer:
        writer.set_similarity(S)
        writer.commit()
        writer.add("d", "milk")
    assert index.refresh()
    assert [segment.part for segment in index.snapshot.segments][:1] == parts
    assert set(index.search("tea").ids) == {"a", "b", "c"}
    assert index.S.neighbors("milk") == []
    assert index.note == ""
    check_index(store)
    truth = index.with_similarity(index.S)
    for query in ("tea", "milk tire"):
        hits = truth.search(query, ranking="soft_cosine")
        assert [(hit.id, hit.score) for hit in index.search(query, ranking="soft_cosine")] == [
            (hit.id, hit.score) for hit in hits
        ]


def test_s_of_other_terms_is_refused(store):
    index = written(store, TEXTS)
    with writing(store) as writer:
        for S in (
            TermSimilarityMatrix.identity(Vocabulary(index.vocabulary.terms[::-1])),
            TermSimilarityMatrix.identity(Vocabulary(index.vocabulary.terms[:-1])),
            TermSimilarityMatrix.identity(Vocabulary([*index.vocabulary.terms, "milk"])),
        ):
            with pytest.raises(VocabularyMismatchError, match=r"not the 5 of this index"):
                writer.set_similarity(S)
        with pytest.raises(InvalidInputError, match="S is of type ndarray"):
            writer.set_similarity(np.eye(5))


def test_an_s_too_indefinite_to_rank_by_is_refused_at_the_commit(tmp_path):
    S = [[1.0, -0.75, -0.75], [-0.75, 1.0, -0.75], [-0.75, -0.75, 1.0]]
    store = created(tmp_path / "x", plain=True, ranking="soft_cosine")
    index = written(store, {"a": "tea milk wine"})
    bad = similarity_matrix(S, index.vocabulary)
    with writing(store) as writer:
        writer.set_similarity(bad)
        with pytest.raises(IndefiniteMatrixError):
            writer.commit()
        writer.rollback()
    assert store.generation() == 2
    # Other rankings need no norms.
    with writing(store) as writer:
        writer.set_similarity(bad)
        writer.set_weighting(Weighting(), ranking="soft_bm25")
    assert index.refresh()
    assert index.snapshot.segments[0].norms is None
    check_index(store)
    with writing(store) as writer:
        writer.set_similarity(TermSimilarityMatrix.identity(index.vocabulary))
    assert index.refresh()
    assert index.snapshot.segments[0].norms is not None
    check_index(store)


def test_weights_are_exchanged(store):
    index = written(store, TEXTS)
    with writing(store) as writer:
        writer.set_weighting(Weighting(tf="raw", idf="none"), ranking="inner_product")
        with pytest.raises(InvalidInputError, match="ranking is 'best'"):
            writer.set_weighting(Weighting(), ranking="best")
        with pytest.raises(InvalidInputError, match="weighting"):
            writer.set_weighting("raw")
    assert index.refresh()
    assert [(hit.id, hit.score) for hit in index.search(["tea"])] == [("b", 2.25)]
    check_index(store)


def test_statistics_stay_until_many_documents_have_come_or_gone(tmp_path, monkeypatch):
    monkeypatch.setattr(drafts, "_ALWAYS_REFRESHED", 0)
    store = created(tmp_path / "x", plain=True)

    def counted():
        (statistics,) = opened(store).snapshot.statistics
        return statistics.n_docs

    written(store, {str(number): "tea" for number in range(20)})
    assert counted() == 20
    written(store, {"x": "tea", "y": "milk"})
    assert counted() == 20
    norms = [segment.norms for segment in opened(store).snapshot.segments]
    assert all(own is not None for own in norms)
    with writing(store) as writer:
        writer.delete("x")
        writer.commit(refresh=True)
        assert counted() == 21
        writer.add("z", "wine")
        writer.commit(refresh=False)
        assert counted() == 21
        writer.add_many(["a", "b", "c"], ["wine"] * 3)
        writer.commit()
        assert counted() == 25
    check_index(store)


def flipped(content, start):
    content[-8] ^= 1


def test_a_merge_finds_damage_and_keeps_what_there_is(store):
    written(store, TEXTS)
    index = written(store, {"d": "milk"}, merge=None)
    part = index.snapshot.segments[0].part
    for name in ("0.npys", "documents.sqlite"):
        file = store.path / "parts" / part / name
        whole = file.read_bytes()
        if name == "0.npys":
            patch_array(file.parent, "0/lengths", flipped)
        else:
            file.write_bytes(whole[:-8] + bytes([whole[-8] ^ 1]) + whole[-7:])
        with writing(store) as writer:
            with pytest.raises(CorruptIndexError, match=f"{name} has changed since it was written"):
                writer.merge()
            writer.rollback()
        with pytest.raises(CorruptIndexError, match=f"{name} has changed since it was written"):
            check_index(store)
        file.write_bytes(whole)
    assert list(opened(store)) == ["a", "b", "c", "d"]
    check_index(store)


def test_a_commit_stands_where_joining_its_segments_fails(store):
    written(store, {"a": "tea"}, merge=None)
    index = written(store, {"b": "milk"}, merge=None)
    part = store.path / "parts" / index.snapshot.segments[0].part
    patch_array(part, "0/lengths", flipped)
    with writing(store, merge=MergePolicy(2)) as writer:
        writer.add("c", "wine")
        with pytest.warns(SoftCosineWarning, match=r"commit stands, .*0\.npys has changed"):
            writer.commit()
        assert list(opened(store)) == ["a", "b", "c"]
        assert len(list((store.path / "parts").iterdir())) == len(store.read().parts)
        patch_array(part, "0/lengths", flipped)
        writer.add("d", "water")
    index = opened(store)
    assert list(index) == ["a", "b", "c", "d"]
    assert len(index.snapshot.segments) == 1
    check_index(store)


@pytest.mark.usefixtures("unsynced")
def test_no_merge_takes_much_more_than_the_memory(tmp_path, monkeypatch):
    monkeypatch.setattr(drafts, "_ALWAYS_MERGED", 10)
    monkeypatch.setattr(writers, "MAX_DOCS", 1)
    store = created(tmp_path / "x", plain=True)
    texts = {str(number): "tea milk wine " * (number % 2) for number in range(12)}
    index = written(store, texts, memory=1 << 16, merge=MergePolicy(2, min_docs=16))
    assert [segment.n_docs for segment in index.snapshot.segments] == [12]
    monkeypatch.setattr(drafts, "_MERGED_POSTING", 1 << 16)
    store = created(tmp_path / "y", plain=True)
    index = written(store, texts, memory=1 << 16, merge=MergePolicy(2, min_docs=16))
    assert [segment.n_docs for segment in index.snapshot.segments] == [7, 5]
    assert list(index) == list(texts)
    check_index(store)


def search_until(path, done):
    """Search while another process or thread writes; the last version that was found."""
    index, last = SoftIndex.open(path), 0
    while True:
        finished = done.is_set()
        index.refresh()
        hits = index.search("tea", k=5)
        assert sorted(hits.ids) == ["a", "b"]
        (version,) = {hit.metadata["n"] for hit in hits}
        assert {hit.text for hit in hits} == {f"tea v{version}"}
        assert version >= last
        last = version
        if finished:
            return last


@pytest.mark.usefixtures("unsynced")
def test_many_search_while_one_writes_and_merges(tmp_path):
    store = created(tmp_path / "x", plain=True)
    with writing(store) as writer:
        writer.add_many(["a", "b"], ["tea v0", "tea v0"], [{"n": 0}, {"n": 0}])
    context = multiprocessing.get_context("spawn")
    with context.Manager() as manager, ThreadPoolExecutor(2) as threads:
        done = manager.Event()
        with ProcessPoolExecutor(1, mp_context=context) as processes:
            searching = [
                pool.submit(search_until, store.path, done)
                for pool in (threads, threads, processes)
            ]
            try:
                with writing(store, merge=MergePolicy(2, min_docs=1)) as writer:
                    for n in range(1, 41):
                        writer.add_many(["a", "b"], [f"tea v{n}"] * 2, [{"n": n}] * 2)
                        writer.add("c", "milk")
                        writer.commit()
            finally:
                done.set()
            assert [future.result() for future in searching] == [40, 40, 40]


def test_a_deleted_document_of_negative_norm_stops_no_search(tmp_path):
    """x'Sx = 3 - 6 * .875 for the document that holds all three words."""
    S = TermSimilarityMatrix.from_matrix(
        1.875 * np.eye(3) - 0.875, Vocabulary(["tea", "tire", "wheel"]), warn=False
    )
    settings = {"S": S, "analyzer": Analyzer(), "weighting": Weighting("raw")}
    index = SoftIndex.create(tmp_path / "x", **settings)
    with index.writer() as writer:
        writer.add_many(["a", "b", "c"], ["tea", "tea wheel tire", "wheel"])
    with pytest.raises(IndefiniteMatrixError, match="document 1"):
        index.search("wheel", ranking="soft_cosine")
    with index.writer(merge=None) as writer:
        writer.delete("b")
    assert index.snapshot.segments[0].n_docs == 3
    check_index(Store.open(index.path))
    expected = SoftIndex.from_texts(["tea", "wheel"], ids=["a", "c"], **settings)
    in_memory = SoftIndex(index.snapshot.changed())
    index.save(tmp_path / "copy")
    for one in (index, SoftIndex.open(index.path), SoftIndex.open(tmp_path / "copy"), in_memory):
        for query in ("wheel", "tea", "tire"):
            hits = one.search(query, ranking="soft_cosine")
            assert [(hit.id, hit.score) for hit in hits] == [
                (hit.id, hit.score) for hit in expected.search(query, ranking="soft_cosine")
            ]
        assert list(one.pairs(k=1)) == list(expected.pairs(k=1))
    # Nor does it stop a commit where soft cosines rank, or one with other weights.
    index.set_weighting(Weighting("log"), ranking="soft_cosine")
    assert index.search("wheel").ids == ["c"]


def test_a_merge_that_cuts_a_segment_in_two_takes_each_document_once(tmp_path, monkeypatch):
    monkeypatch.setattr("softcosine.index.writer.merging.MAX_DOCS", 4)
    index = SoftIndex.create(tmp_path / "x", plain=True)
    for ids in ("abc", "def"):
        with index.writer(merge=None) as writer:
            for id in ids:
                writer.add(id, f"tea {id}")
    with index.writer(merge=None) as writer:
        writer.merge()
    assert list(index) == list("abcdef")
    assert sorted(index.search("tea", k=10).ids) == list("abcdef")
    with index.writer(merge=None) as writer:
        writer.merge()  # nothing is left to do, and the full segment stays as it is
    assert list(index) == list("abcdef")


def test_a_writer_counts_the_documents_of_its_changes(store):
    with writing(store) as writer:
        assert writer.n_docs == 0
        for id, text in TEXTS.items():
            writer.add(id, text)
        writer.add("a", "tea")
        assert writer.n_docs == 3
        writer.delete("b")
        writer.add("d", "tea")
        assert writer.n_docs == 3
    assert len(opened(store)) == 3
