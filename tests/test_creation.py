"""Indexes made in one commit: at once or in batches, in a folder or in memory."""

from __future__ import annotations

import gc
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from softcosine.errors import IndexLockedError, InvalidInputError
from softcosine.index.directory import snapshot as snapshots
from softcosine.index.segment import segment as segments
from softcosine.index.soft_index import SoftIndex
from softcosine.index.writer import index_writer as writers
from softcosine.matrix.recipe import SimilarityRecipe
from softcosine.matrix.term_similarity_matrix import TermSimilarityMatrix
from softcosine.similarity.pairs import PairSimilarity
from softcosine.text.analyzer import Analyzer
from softcosine.text.vocabulary import Vocabulary
from softcosine.text.weighting import Weighting

WORDS = ["tea", "tyre", "tire", "wheel", "milk", "the"]
PAIRS = {("tyre", "tire"): 0.75, ("tea", "milk"): 0.5, ("wheel", "tire"): 0.25}
RULES = Analyzer("english", stop_words="english")
texts = st.lists(st.sampled_from(WORDS), max_size=5).map(" ".join)
documents = st.lists(st.fixed_dictionaries({"title": texts, "body": texts}), max_size=9)
limits = st.fixed_dictionaries(
    {"min_df": st.sampled_from([1, 2, 3, 0.25]), "max_df": st.sampled_from([1.0, 0.7, 4, 1])}
)
QUERIES = ("tire", "tea wheel", '"tyre tea"', "+milk -tea", '"tea wheel milk"')


def answers(index):
    return [
        [(hit.id, hit.score, hit.text, hit.metadata) for hit in index.search(query, k=9)]
        for query in QUERIES
    ]


@pytest.mark.parametrize("in_memory", [True, False])
@given(
    documents, limits, st.sampled_from([None, {"title": 2.0, "body": 1.0}]), st.booleans(),
    st.sampled_from([1, 2, 4]),
)  # fmt: skip
def test_batches_give_the_index_that_is_made_at_once(
    example_folder, in_memory, given_documents, chosen, fields, keep_texts, size
):
    given = given_documents if fields else [document["body"] for document in given_documents]
    options = {
        "source": PairSimilarity(PAIRS), "fields": fields, "positions": True,
        "keep_texts": keep_texts, "analyzer": RULES, **chosen,
    }  # fmt: skip
    whole = SoftIndex.from_texts(given, **options)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(writers, "MAX_DOCS", size)
        path = None if in_memory else example_folder() / "x.index"
        index = SoftIndex.create(path, **options)
        with index.writer(merge=None) as writer:
            writer.add_many([str(n) for n in range(len(given))], given)
    assert len(index) == len(whole) == len(given)
    # Limits bring terms into order; without, terms of later batches come behind.
    assert sorted(index.vocabulary.terms) == sorted(whole.vocabulary.terms)
    if index.vocabulary == whole.vocabulary:
        assert answers(index) == answers(whole)
        assert (index.S.to_scipy() != whole.S.to_scipy()).nnz == 0
    else:
        assert chosen == {"min_df": 1, "max_df": 1.0}
        for one, other in zip(answers(index), answers(whole), strict=True):
            assert sorted(hit[0] for hit in one) == sorted(hit[0] for hit in other)
    places = index.vocabulary.indices(whole.vocabulary.terms)
    for ours, theirs in zip(index.snapshot.statistics, whole.snapshot.statistics, strict=True):
        assert ours.average_length == theirs.average_length
        assert (ours.document_frequencies[places] == theirs.document_frequencies).all()
    if len(whole.vocabulary):
        counted = whole.vocabulary.document_frequencies
        assert (index.vocabulary.document_frequencies[places] == counted).all()


def test_texts_beyond_one_segment_have_one_sorted_vocabulary(monkeypatch):
    monkeypatch.setattr(segments, "MAX_DOCS", 2)
    index = SoftIndex.from_texts(["wheel", "milk tea", "tyre", "apple"], analyzer=RULES, plain=True)
    assert len(index.snapshot.segments) == 2
    assert list(index.vocabulary.terms) == sorted(index.vocabulary.terms)


def test_an_index_in_memory_is_written_like_one_in_a_folder():
    index = SoftIndex.create(plain=True)
    assert len(index) == 0
    assert index.search("tea").ids == []
    with index.writer() as writer:
        writer.add("a", "green tea", {"n": 1})
        writer.add("b", "black coffee")
    assert index.path is None
    assert index.search("tea", where={"n": 1}).ids == ["a"]
    with index.writer() as writer:
        writer.delete("a")
        writer.add("b", "white tea")
        writer.update_metadata("b", {"n": 2})
    assert [(one.id, one.metadata) for one in index.filter()] == [("b", {"n": 2})]
    assert index.search("tea").ids == ["b"]
    with index.writer() as writer:
        writer.add("c", "tea")
        writer.rollback()
    assert list(index) == ["b"]


def test_a_second_writer_in_memory_waits_for_the_first():
    index = SoftIndex.create(plain=True)
    with index.writer():
        with pytest.raises(IndexLockedError, match="another writer has this index open"):
            index.writer(timeout=0.01)
        other = SoftIndex.create(plain=True)
        other.writer(timeout=0).close()
    index.writer(timeout=0).close()


def test_the_first_commit_in_memory_makes_the_default_similarities():
    index = pickle.loads(pickle.dumps(SoftIndex.create(max_neighbors=2)))
    with index.writer() as writer:
        writer.add("bike", "The puncture in the tyre of the bike is mended.")
        writer.add("tea", "The tea is getting cold.")
    whole = SoftIndex.from_texts(
        ["The puncture in the tyre of the bike is mended.", "The tea is getting cold."],
        ids=["bike", "tea"], max_neighbors=2,
    )  # fmt: skip
    assert index.search("bicycle repair").ids == ["bike"]
    assert index.note == whole.note
    assert index.language == "english"
    assert answers(index) == answers(whole)
    assert max(len(index.S.neighbors(term)) for term in index.vocabulary.terms) <= 2


def test_similarities_and_weights_of_an_index_in_memory_are_set_like_those_of_a_folder(tmp_path):
    made = SoftIndex.from_texts(["tyre", "tire tea"], analyzer=RULES, plain=True)
    made.save(tmp_path / "x.index")
    S = TermSimilarityMatrix.from_source(PairSimilarity(PAIRS), made.vocabulary)
    indexes = made, SoftIndex.open(tmp_path / "x.index")
    for index in indexes:
        index.set_similarity(S, note="pairs")
        with index.writer() as writer:
            writer.add("2", "wheel")
        assert index.note == "pairs"
        assert index.vocabulary.terms[-1] == "wheel"
    assert answers(indexes[0]) == answers(indexes[1])


def test_weights_that_are_set_first_leave_the_limits_to_the_first_documents():
    index = SoftIndex.create(plain=True, min_df=2, analyzer=RULES)
    index.set_weighting(Weighting(k1=1.0))
    with index.writer() as writer:
        writer.add_many(["a", "b"], ["tea milk", "tea wheel"])
    assert index.vocabulary.terms == ("tea",)
    with index.writer() as writer:
        writer.add("c", "milk")
    assert set(index.vocabulary.terms) == {"tea", "milk"}


def test_phrases_of_a_list_that_is_set_later_do_not_become_terms():
    index = SoftIndex.from_texts(["disk space", "storage"], analyzer=RULES, plain=True)
    source = PairSimilarity({("disk space", "storage"): 0.5})
    S = TermSimilarityMatrix.from_source(source, index.vocabulary)
    index.set_similarity(S, source=source)
    with index.writer() as writer:
        writer.add("2", "a disk space full of disks")
    assert "disk space" not in index.vocabulary
    first = SoftIndex.from_texts(["disk space", "storage"], analyzer=RULES, source=source)
    assert "disk space" in first.vocabulary


def test_words_that_were_left_out_as_rare_are_no_stop_words_in_phrases():
    rules = Analyzer(stop_words=["of"])
    texts = [{"a": "king of spain"}, {"a": "king rare spain"}, {"a": "king spain"}]
    index = SoftIndex.from_texts(texts, fields=["a", "b"], analyzer=rules, plain=True, min_df=2)
    assert index.search('"king of spain"').ids == ["0"]
    assert index.search('"king spain"').ids == ["2"]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"min_df": -1}, "min_df is -1"),
        ({"max_df": 1.5}, "max_df is 1.5"),
        ({"S": TermSimilarityMatrix.identity(Vocabulary(["a"])), "plain": True}, "exclude each"),
        ({"plain": True, "max_neighbors": 3}, "S or plain leaves no source"),
        ({"max_neighbors": -2}, "max_neighbors is -2"),
        ({"plain": "no"}, "plain is 'no'; it must be True or False"),
        ({"keep_texts": "no"}, "keep_texts is 'no'"),
        ({"positions": 1}, "positions is 1; it must be True or False, or None"),
        ({"note": 3}, "note is 3; it must be a string"),
        ({"similarity": SimilarityRecipe(sources=["documents:x"])}, "as estimators get"),
    ],
)
def test_settings_that_make_no_sense_are_refused_and_nothing_is_made(tmp_path, settings, message):
    for path in (None, tmp_path / "x.index"):
        with pytest.raises(InvalidInputError, match=message):
            SoftIndex.create(path, **settings)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("in_memory", [True, False])
@pytest.mark.parametrize("memory", [None, 1 << 16])
def test_a_first_commit_that_failed_leaves_no_term_out(tmp_path, in_memory, memory):
    def made(name, failing):
        index = SoftIndex.create(
            None if in_memory else tmp_path / name, min_df=2, max_df=3,
            similarity=SimilarityRecipe(sources=["texts"]), analyzer=RULES,
        )  # fmt: skip

        def progress(what, done, total):
            if failing and what == "finding similar terms":
                raise KeyboardInterrupt

        with index.writer(memory=memory, progress=progress) as writer:
            writer.add_many(list("abc"), ["tea milk", "tea tyre", "wheel wheel"])
            if failing:
                with pytest.raises(KeyboardInterrupt):
                    writer.commit()
                failing = False
            writer.add_many(list("de"), ["wheel milk tea", "tyre"])
            writer.add("f", "tea milk")
        return index

    again, at_once = made("again", True), made("at once", False)
    assert again.vocabulary.terms == ("milk", "tyre", "wheel")
    assert again.vocabulary.terms == at_once.vocabulary.terms
    assert answers(again) == answers(at_once)


@pytest.mark.parametrize("in_memory", [True, False])
def test_a_failed_first_commit_that_leaves_no_term_out_raises_its_own_error(tmp_path, in_memory):
    index = SoftIndex.create(
        None if in_memory else tmp_path / "x", min_df=2, analyzer=RULES,
        similarity=SimilarityRecipe(sources=["texts"]),
    )  # fmt: skip
    failing = True

    def progress(what, done, total):
        if failing and what == "finding similar terms":
            raise OSError("full")

    with index.writer(progress=progress) as writer:
        writer.add_many(list("ab"), ["tea milk", "milk tea"])
        with pytest.raises(OSError, match="full"):
            writer.commit()
        failing = False
        writer.add_many(list("cd"), ["tyre", "tyre tea"])
    assert index.vocabulary.terms == ("milk", "tea", "tyre")


def test_terms_are_left_out_of_the_first_documents_with_words_and_no_others():
    index = SoftIndex.create(plain=True, min_df=2, analyzer=RULES)
    found = []
    for id, text in zip("abcd", ["", "tea", "milk", ""], strict=True):
        with index.writer() as writer:
            writer.add(id, text)
        found.append(index.vocabulary.terms)
    assert found == [(), (), ("milk",), ("milk",)]


@pytest.mark.parametrize("committed", [False, True])
@pytest.mark.parametrize("in_memory", [True, False])
def test_a_document_without_words_decides_nothing(tmp_path, in_memory, committed):
    source = PairSimilarity({("disk space", "storage"): 0.5})
    index = SoftIndex.create(None if in_memory else tmp_path / "x", source=source)
    writer = index.writer()
    with writer:
        writer.add_many(list("ab"), ["", "..."])
        if committed:
            writer.commit()
        else:
            writer._flush()
        writer.add("c", "a full disk space, it was on the house")
    assert "disk space" in index.vocabulary
    assert index.search("storage").ids == ["c"]
    assert index.language == "english"


@pytest.mark.parametrize("in_memory", [True, False])
def test_both_places_check_the_time_to_wait(tmp_path, in_memory):
    index = SoftIndex.create(None if in_memory else tmp_path / "x", plain=True)
    with index.writer(timeout=None):
        for timeout in (-1, -5.0, float("nan"), "3", True):
            with pytest.raises(InvalidInputError, match="a finite number of at least 0"):
                index.writer(timeout=timeout)


@pytest.mark.parametrize("in_memory", [True, False])
def test_a_writer_that_is_dropped_lets_another_one_in(tmp_path, in_memory):
    index = SoftIndex.create(None if in_memory else tmp_path / "x", plain=True)
    index.writer().add("a", "tea")
    gc.collect()
    with index.writer(timeout=0) as writer:
        writer.add("b", "tea")
    assert list(index) == ["b"]


def test_norms_in_memory_are_computed_once(monkeypatch):
    index = SoftIndex.from_texts(["tyre tea", "wheel milk", "tea"], source=PairSimilarity(PAIRS))
    computed = []

    def counted(segment, *args, **settings):
        computed.append(segment.n_docs)
        return soft_norms(segment, *args, **settings)

    soft_norms = snapshots.soft_norms
    monkeypatch.setattr(snapshots, "soft_norms", counted)
    before = [(hit.id, hit.score) for hit in index.similar("0")]
    with index.writer() as writer:
        writer.update_metadata("1", {"n": 1})
    assert [(hit.id, hit.score) for hit in index.similar("0")] == before
    assert computed == [3]
    with index.writer(merge=None) as writer:
        writer.add("3", "tyre")
        writer.commit(refresh=False)
    after = [(hit.id, hit.score) for hit in index.similar("0")]
    assert computed == [3, 1]
    fresh = SoftIndex(index.snapshot.changed())
    assert [(hit.id, hit.score) for hit in fresh.similar("0")] == after
    with index.writer() as writer:
        writer.add("4", "tyre")  # the statistics are counted anew
    index.similar("0")
    assert sum(computed[4:]) == 5
