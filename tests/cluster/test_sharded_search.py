"""Shards answer as one index, to the bit."""

from __future__ import annotations

import shutil
import threading
import time
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import softcosine as sc
from sharded import (
    QUERIES,
    RANKINGS,
    documents_of,
    epoch,
    epoch_name,
    frozen,
    in_folders,
    in_memory,
    one_index,
    seen,
    shard_of,
)
from softcosine.cluster.manifest import epoch_folder
from softcosine.cluster.sharded_index import ShardedIndex
from softcosine.cluster.sharded_writer import ShardedWriter
from softcosine.cluster.shards import Shards
from softcosine.cluster.workers import ThreadWorkers
from softcosine.errors import (
    CorruptIndexError,
    DeadlineExceededError,
    IndexFormatError,
    InvalidInputError,
    UnknownDocumentError,
)
from softcosine.index.search.execution import Search
from softcosine.index.search.matches import Matches
from toy_encoder import ToyEncoder

OPTIONS = st.fixed_dictionaries(
    {
        "k": st.sampled_from([0, 1, 3, 10, 100]),
        "ranking": st.sampled_from([None, *RANKINGS]),
    },
    optional={
        "offset": st.sampled_from([0, 2, 5]),
        "min_score": st.sampled_from([0.0, 0.3, 2.0]),
        "where": st.sampled_from([{"tag": "a"}, {"n": {">=": 2}}, {"tag": "none"}]),
        "expand": st.booleans(),
        "correct": st.booleans(),
        "fill": st.booleans(),
        "keep_stop_words": st.booleans(),
        "max_terms": st.sampled_from([None, 2]),
        "facets": st.sampled_from([[], ["tag"], ["n", "list"]]),
        "order": st.sampled_from([{}, {"mmr": 0.4}, {"sort": "n"}, {"sort": ["-n", "tag"]}]),
        "first_stage": st.sampled_from([None, 0, 2, sc.FirstStage(None, 3), sc.FirstStage(1, 2)]),
        "meaning": st.sampled_from([None, 0.0, 3.0]),
    },
)


@given(
    st.sampled_from(["words", "fields", "static"]), st.integers(0, 2**32), st.integers(1, 7),
    st.integers(0, 25), OPTIONS, st.lists(st.sampled_from(QUERIES), min_size=1, max_size=3),
)  # fmt: skip
def test_searches_equal_those_of_one_index(kind, seed, n_shards, n_docs, options, queries):
    random = np.random.default_rng(seed)
    documents = documents_of(kind, random, n_docs)
    deleted = [one[1] for one in documents if random.random() < 0.2]
    order = options.pop("order", {})
    options = {**options, **order}
    if options.get("facets") or options.get("sort") or options.get("fill"):
        options.pop("first_stage", None)
    if kind != "static":
        options.pop("meaning", None)
    one = one_index(epoch(kind), documents, deleted, commits=2)
    many = in_memory(epoch(kind), documents, n_shards, deleted, commits=2)
    with many:
        assert len(many) == len(one)
        for own, other in zip(
            many.search_batch(queries, **options), one.search_batch(queries, **options),
            strict=True,
        ):  # fmt: skip
            assert seen(own) == seen(other)
            assert [hit.number for hit in own] == [int(hit.id.removeprefix("doc")) for hit in own]
            assert own.missing_shards == ()
        for own, other in zip(
            many.ranked(queries, **options), one.ranked(queries, **options), strict=True
        ):
            ids = [f"doc{number}" for number in own.documents.tolist()]
            assert ids == [one.documents.id(number) for number in other.documents.tolist()]
            assert own.scores.tolist() == other.scores.tolist()


@given(
    st.sampled_from(["words", "fields", "static"]), st.integers(0, 2**32), st.integers(1, 7),
    st.sampled_from(RANKINGS), st.sampled_from(QUERIES),
)  # fmt: skip
def test_documents_explanations_and_filters_equal_those_of_one_index(
    kind, seed, n_shards, ranking, query
):
    random = np.random.default_rng(seed)
    documents = documents_of(kind, random, 20)
    deleted = [one[1] for one in documents if random.random() < 0.2]
    one = one_index(epoch(kind), documents, deleted)
    with in_memory(epoch(kind), documents, n_shards, deleted) as many:
        assert list(many) == list(one)
        ids = list(one)[:4]
        assert many.get(ids) == one.get(ids)
        assert "doc0" in many or "doc0" in deleted
        assert 5 not in many
        assert many.scores(query, ids, ranking=ranking).tolist() == (
            one.scores(query, ids, ranking=ranking).tolist()
        )
        for id in ids:
            assert seen(many.similar(id, k=3, ranking=ranking)) == (
                seen(one.similar(id, k=3, ranking=ranking))
            )
            assert many.explain(query, id, ranking=ranking) == (
                one.explain(query, id, ranking=ranking)
            )
            assert many.explain_similar(id, ids[0]) == one.explain_similar(id, ids[0])
        for options in (
            {}, {"where": {"tag": "a"}, "k": 3, "offset": 1}, {"sort": "-n", "facets": ["list"]},
            {"k": None, "sort": ["tag", "n"]},
        ):  # fmt: skip
            assert many.filter(**options) == one.filter(**options)
        assert many.count() == one.count()
        assert many.count({"n": 1}) == one.count({"n": 1})
        assert many.neighbors("tea") == one.neighbors("tea")
        with pytest.raises(UnknownDocumentError):
            many.get(["nobody"])
        with pytest.raises(UnknownDocumentError):
            many.similar("nobody")


def test_equal_scores_go_by_the_order_of_insertion_into_all_shards():
    documents = [(number, f"doc{number}", "green tea", None) for number in range(40)]
    with in_memory(epoch("words"), documents, 5) as many:
        assert [hit.number for hit in many.search("tea", k=40)] == list(range(40))
        assert [hit.number for hit in many.search("tea", k=3, offset=11)] == [11, 12, 13]


def test_shards_score_only_the_candidates_of_the_whole(monkeypatch):
    scored = []
    score = Search.scores

    def counting(self, query, documents):
        scored.append(len(documents))
        return score(self, query, documents)

    monkeypatch.setattr(Search, "scores", counting)
    with in_memory(epoch("words"), documents_of("words", np.random.default_rng(1), 60), 4) as many:
        many.search("green tea", k=2, first_stage=sc.FirstStage(2, 5))
    assert len(scored) == 4
    assert sum(scored) == 5


@pytest.mark.smoke
def test_an_index_opened_from_its_folder_equals_one_index(tmp_path):
    random = np.random.default_rng(3)
    documents = documents_of("words", random, 30)
    folder = in_folders(epoch("words"), tmp_path / "big.shards", documents, 3, ["doc3"])
    one = one_index(epoch("words"), documents, ["doc3"])
    with sc.ShardedIndex.open(folder) as many:
        assert repr(many) == "ShardedIndex(29 documents in 3 shards)"
        assert many.epoch == epoch_name(epoch("words"))
        assert (many.n_shards, many.path) == (3, folder)
        assert many.vocabulary == one.vocabulary
        for query in QUERIES:
            assert seen(many.search(query)) == seen(one.search(query))
        with many.writer() as writer, one.writer() as other:
            for target in (writer, other):
                target.add("new", "green tea")
                target.delete("doc5")
        assert many.count() == one.count() == 29
        for query in QUERIES:
            assert seen(many.search(query)) == seen(one.search(query))


@pytest.fixture
def folder(tmp_path):
    documents = documents_of("words", np.random.default_rng(4), 12)
    return in_folders(epoch("words"), tmp_path / "big.shards", documents, 3)


def test_a_shard_of_another_epoch_is_refused(folder):
    shutil.rmtree(folder / "shard-0001")
    other = frozen(["green tea", "flat tyre"], language="english", encoder=None)
    shard_of(other, folder / "shard-0001", numbered=True)
    with pytest.raises(IndexFormatError, match=r"shard-0001 no longer has .* not fit those"):
        ShardedIndex.open(folder)
    place = folder / epoch_folder(epoch_name(epoch("words")))
    shutil.rmtree(place)
    shard_of(other, place)
    with pytest.raises(CorruptIndexError, match="has another epoch"):
        ShardedIndex.open(folder)


def test_a_shard_with_another_commit_is_refused(folder):
    shutil.rmtree(folder / "shard-0002")
    shard_of(epoch("words"), folder / "shard-0002", numbered=True)
    with pytest.raises(IndexFormatError, match="shard-0002 no longer has the commit"):
        ShardedIndex.open(folder)


def test_a_closed_index_says_so(folder):
    index = ShardedIndex.open(folder)
    writer = index.writer()
    index.close()
    for call in (
        lambda: index.search("tea"), lambda: index.search_batch(["tea"]), lambda: "doc1" in index,
        lambda: index.similar("doc1"), lambda: index.get(["doc1"]), index.filter, index.refresh,
        lambda: index.explain("tea", "doc1"), lambda: index.scores("tea", ["doc1"]),
    ):  # fmt: skip
        with pytest.raises(InvalidInputError, match="this index is closed; open it again"):
            call()
    with writer:
        writer.add("new", "tea")  # the writer is open, and does not open the index again
    index.close()


def test_calls_of_shards_end_if_they_are_closed_meanwhile():
    begun, go = threading.Semaphore(0), threading.Event()

    def call(*_):
        begun.release()
        go.wait()

    workers = ThreadWorkers([SimpleNamespace(call=call)])
    running = [
        threading.Thread(target=workers.scatter, args=("", {0: ()}, None), daemon=True)
        for _ in range(16)
    ]
    for one in running:
        one.start()
    for _ in range(8):
        begun.acquire()
    while workers._pool._work_queue.qsize() < 8:
        time.sleep(0.01)
    workers.close()
    go.set()
    for one in running:
        one.join(10)
        assert not one.is_alive()


def test_a_call_of_shards_that_are_closed_before_it_begins_says_so():
    class Closing(ThreadWorkers):
        def scatter(self, *arguments):
            shards.close()
            return super().scatter(*arguments)

    shards = Shards(Closing([None]), ["shard-0000"], None)
    with pytest.raises(InvalidInputError, match="this index is closed; open it again"):
        shards.one(0, "counts")


def test_a_filter_lists_the_documents_of_one_commit(folder, monkeypatch):
    joined = Matches.joined

    def refreshed(*arguments):
        assert index.refresh()
        return joined(*arguments)

    with ShardedIndex.open(folder) as index:
        with ShardedWriter(folder) as writer:
            writer.delete("doc1")
        monkeypatch.setattr(Matches, "joined", refreshed)
        assert len(index.filter(k=None)) == 12


def test_missing_folders_are_named(folder, tmp_path):
    with pytest.raises(FileNotFoundError, match="there is no sharded index at"):
        ShardedIndex.open(tmp_path / "nothing")
    with pytest.raises(InvalidInputError, match="replicas are processes"):
        ShardedIndex.open(folder, replicas=2)
    shutil.rmtree(folder / "shard-0000")
    with pytest.raises(FileNotFoundError, match="shard-0000"):
        ShardedIndex.open(folder)


class Slow:
    """A shard whose answers take longer than a search may."""

    def __init__(self, shard):
        self.shard, self.waiting = shard, 0.0

    def call(self, method, arguments):
        time.sleep(self.waiting)
        return self.shard.call(method, arguments)


def test_a_slow_shard_is_named_and_the_others_answer():
    documents = [(number, f"doc{number}", "green tea", {"n": number}) for number in range(40)]
    slow = []

    def workers(shards):
        slow.append(Slow(shards[1]))
        return ThreadWorkers([shards[0], slow[0], *shards[2:]])

    with in_memory(epoch("words"), documents, 3, workers=workers, timeout=0.5) as many:
        of_slow = {hit.id for hit in many.search("tea", k=40)} - {
            id for id in many if many._shards.number_of(id) != 1
        }
        slow[0].waiting = 2.0
        for options in (
            {},
            {"mmr": 0.5},
            {"sort": "n"},
            {"fill": True},
            {"first_stage": 2},
        ):
            start = time.monotonic()
            hits = many.search("tea", k=40, **options)
            assert time.monotonic() - start < 1.5
            assert hits.missing_shards == ("shard-0001",)
            assert not hits.plan.proven
            assert {hit.id for hit in hits} == {one[1] for one in documents} - of_slow
            assert "documents are missing: shard-0001." in repr(hits)
        id = min(of_slow)
        for call, *arguments in ((many.similar, id), (many.get, [id]), (many.explain, "tea", id)):
            with pytest.raises(DeadlineExceededError, match=r"shard-0001 did not answer within 0"):
                call(*arguments)
        with pytest.raises(DeadlineExceededError, match="shard-0001"):
            many.filter({"n": 1})
        slow[0].waiting = 0.0
        assert many.search("tea", k=40).missing_shards == ()


def test_a_late_shard_is_named_if_only_the_caller_has_a_deadline():
    workers = SimpleNamespace(scatter=lambda *_: {})
    with (
        pytest.raises(DeadlineExceededError, match="shard-0000 did not answer within 60 seconds"),
        sc.using_deadline(60),
    ):
        Shards(workers, ["shard-0000"], None).one(0, "counts")


def test_the_deadline_of_the_caller_ends_a_search():
    documents = [(number, f"doc{number}", "green tea", None) for number in range(9)]

    def workers(shards):
        slow = [Slow(shard) for shard in shards]
        for one in slow:
            one.waiting = 0.3
        return ThreadWorkers(slow)

    with (
        in_memory(epoch("words"), documents, 2, workers=workers) as many,
        pytest.raises(DeadlineExceededError, match="the search was ended"),
        sc.using_deadline(0.1),
    ):
        many.search("tea")


def test_shards_explain_by_the_encoder_like_one_index():
    """Shards have no encoder: the query is read before, and the nearest sentence after."""
    texts = ["green tea. flat tyre", "car road. moon. wheel", "kettle", "cup 東京。大阪。"]
    documents = [(n, f"doc{n}", text, {}) for n, text in enumerate(texts)]
    epoch = sc.SoftIndex.from_texts(["tea pot"], encoder=ToyEncoder(), language="english")
    one = one_index(epoch, documents)
    with in_memory(epoch, documents, 3) as many:
        for query in ("green tyre", "the wheel", "大阪", "", "kettle"):
            for _, id, _, _ in documents:
                assert many.explain(query, id) == one.explain(query, id)
        assert one.explain("flat tyre", "doc0").passage == "flat tyre"
        assert "tyre" in [part.query_word for part in one.explain("green tyre", "doc0").parts]
