"""Engines on disk: beside their index, stale, damaged, updated with it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

import crafted
from conftest import need_engine
from softcosine import SoftIndex, SoftNeighbors, Weighting
from softcosine.cli.maintenance import bytes_of
from softcosine.engines import registry
from softcosine.engines.engine_index import EngineIndex
from softcosine.errors import (
    AlreadyExistsError,
    CorruptIndexError,
    IndexFormatError,
    InvalidInputError,
    MissingDependencyError,
    NotFittedError,
)
from softcosine.index.directory.check import check_index
from softcosine.index.directory.commit import ENGINE_VERSION
from softcosine.index.directory.store import Store
from toy_engine import ENTRY, ToyEngine
from toys import similarity_matrix

WORDS = ["ant", "bee", "cat", "dog", "eel", "fox", "gnu", "hen", "ibis", "jay"]
FULL = Path("/dev/full")
MADE = {
    "faiss": {"factory": "Flat"},
    "annoy": {"width": 10_000},
    "hnswlib": {"width": 64},
    "usearch": {"exact": True},
}


def texts_of(n: int, seed: int = 5) -> list[str]:
    rng = np.random.default_rng(seed)
    return [" ".join(rng.choice(WORDS, 5)) for _ in range(n)]


@pytest.fixture(autouse=True)
def toy(monkeypatch):
    monkeypatch.setitem(registry.ENGINES, "toy", ENTRY)


@pytest.fixture
def index(tmp_path):
    texts = texts_of(40)
    S = SoftIndex.from_texts([" ".join(WORDS)], plain=True)
    made = SoftIndex.create(tmp_path / "a.index", plain=True, ranking="soft_cosine")
    with made.writer(merge=None) as writer:
        writer.add_many(map(str, range(40)), texts)
    assert len(S.vocabulary) == len(made.vocabulary)
    return made


def built(index, name, **more):
    if name != "toy":
        need_engine(name)
    return EngineIndex.build(index, name, threads=1, **{**MADE.get(name, {}), **more})


def check_same(fast, index, queries=("ant bee", "cat", "ibis jay fox")):
    for ours, theirs in zip(
        fast.hits(queries, k=10, rerank=100), index.search_batch(queries, k=10), strict=True
    ):
        assert list(ours) == list(theirs)


@pytest.mark.parametrize("name", [*MADE, "toy"])
class TestBesideAnIndex:
    def test_it_lies_in_the_index_and_is_found_there(self, index, name, tmp_path):
        path = built(index, name).save()
        assert path == tmp_path / "a.index" / "engines" / name
        again = EngineIndex.open_in(SoftIndex.open(tmp_path / "a.index"), name)
        check_same(again, index)
        assert not again.stale
        with pytest.raises(AlreadyExistsError):
            again.save()
        again.save(overwrite=True)

    def test_writers_and_checks_leave_it_alone(self, index, name, tmp_path):
        path = built(index, name).save()
        size = bytes_of(path)
        with index.writer() as writer:
            writer.add("new", "ant ant ant")
            writer.commit()
            writer.rollback()
        check_index(Store.open(tmp_path / "a.index"))
        assert bytes_of(path) == size

    def test_a_copy_of_both_is_good(self, index, name, tmp_path):
        built(index, name).save()
        shutil.copytree(tmp_path / "a.index", tmp_path / "b.index")
        check_same(EngineIndex.open_in(SoftIndex.open(tmp_path / "b.index"), name), index)

    def test_it_is_stale_after_a_commit(self, index, name, tmp_path):
        fast = built(index, name)
        path = fast.save()
        with index.writer() as writer:
            writer.delete("7")
        other = SoftIndex.open(tmp_path / "a.index")
        with pytest.raises(IndexFormatError, match=rf"is stale.*softcosine export INDEX {name}"):
            EngineIndex.open(path, other)
        assert fast.stale
        assert "7" in fast.hits(["dog eel fox gnu hen ant bee cat ibis jay"], k=40)[0].ids

    def test_no_answer_cannot_be_asked_for(self, index, name):
        with pytest.raises(InvalidInputError, match="k is 0"):
            built(index, name).hits(["ant"], k=0)

    def test_new_metadata_leave_it_fresh(self, index, name, tmp_path):
        path = built(index, name).save()
        with index.writer() as writer:
            writer.update_metadata("7", {"lang": "en"})
        again = EngineIndex.open(path, SoftIndex.open(tmp_path / "a.index"))
        (hits,) = again.hits(["dog eel fox gnu hen ant bee cat ibis jay"], k=40)
        assert {hit.id for hit in hits if hit.metadata} == {"7"}
        assert index.backup(tmp_path / "b.index").engines == (name,)
        for change in (lambda w: w.set_weighting(Weighting(tf="log")), lambda w: w.add("7", "ant")):
            with index.writer() as writer:
                change(writer)
            with pytest.raises(IndexFormatError, match="is stale"):
                EngineIndex.open_in(index, name)
            built(index, name).save(overwrite=True)


@pytest.mark.parametrize("name", ["faiss", "hnswlib", "usearch", "toy"])
@pytest.mark.parametrize("route", ["basis", "lsa"])
class TestUpdates:
    def test_it_follows_commits(self, index, name, route):
        fast = built(index, name, route=route)
        with index.writer(merge=None) as writer:
            for id in ("3", "9", "14"):
                writer.delete(id)
            writer.add("new", "ibis ibis cat")
            writer.add("5", "dog cat ant bee")  # replaced
            writer.commit(refresh=False)
        done = fast.update(threads=1)
        assert (done.n_added, done.n_deleted, done.rebuilt) == (2, 4, False)
        check_same(fast, index)
        assert len(fast) == 38
        path = fast.save()
        check_same(EngineIndex.open(path, index), index)
        # Renumbered by a merge: no vector changes.
        with index.writer() as writer:
            writer.merge()
            writer.commit(refresh=False)
        assert not fast.update()
        assert not fast.stale
        check_same(fast, index)

    def test_it_follows_on_opening_what_it_missed(self, index, name, route, tmp_path):
        path = built(index, name, route=route).save()
        with index.writer() as writer:
            writer.add("new", "ibis ibis cat")
            writer.delete("11")
            writer.commit(refresh=False)
        other = SoftIndex.open(tmp_path / "a.index")
        fast = EngineIndex.open(path, other, update=True, threads=1)
        assert (fast.updated.n_added, fast.updated.n_deleted) == (1, 1)
        check_same(fast, index)
        assert not EngineIndex.open(fast.save(overwrite=True), other, update=True).updated

    def test_new_weights_put_all_in_anew(self, index, name, route):
        fast = built(index, name, ranking="inner_product", route=route)
        with index.writer() as writer:
            writer.add("new", "ant ant ant bee")
            writer.commit(refresh=True)
        assert fast.update(threads=1).rebuilt
        (hits,) = fast.hits(["ant bee"], rerank=100)
        assert list(hits) == list(index.search("ant bee", ranking="inner_product"))


class TestWhatCannotFollow:
    def test_a_forest_never_changes(self, index):
        fast = built(index, "annoy")
        with index.writer() as writer:
            writer.delete("3")
            writer.commit(refresh=False)
        with pytest.raises(InvalidInputError, match="1 documents have changed, and it can delete"):
            fast.update()
        assert len(fast) == 40

    def test_another_basis_is_another_engine(self, index, tmp_path):
        fast = built(index, "faiss", route="basis")
        path = fast.save()
        with index.writer() as writer:
            writer.add("new", "koala")  # a term more
            writer.commit(refresh=False)
        with pytest.raises(InvalidInputError, match="S has changed, and with it the basis"):
            fast.update()
        with pytest.raises(IndexFormatError, match="is stale"):
            EngineIndex.open(path, index, update=True)

    def test_new_terms_and_another_s_pass_by_few_dimensions(self, index):
        fast = built(index, "faiss", route="lsa", ranking="soft_bm25")
        with index.writer() as writer:
            writer.add("new", "koala cat")
            writer.commit(refresh=False)
        assert fast.update(threads=1).n_added == 1
        assert (
            fast.hits(["koala cat"], rerank=50)[0].ids
            == index.search("koala cat", ranking="soft_bm25").ids
        )
        S = np.eye(len(index.S))
        S[0, 1] = S[1, 0] = 0.5
        index.set_similarity(similarity_matrix(S, index.vocabulary))
        assert fast.stale
        fast.update(threads=1)
        assert fast.hits(["ant"], rerank=50)[0].ids == index.search("ant", ranking="soft_bm25").ids


class TestInMemory:
    def test_it_is_good_for_an_equal_index(self, tmp_path):
        index = SoftIndex.from_texts(texts_of(20), plain=True)
        fast = built(index, "faiss")
        with pytest.raises(InvalidInputError, match="in memory alone"):
            fast.save()
        path = fast.save(tmp_path / "engine")
        check_same(EngineIndex.open(path, index), index)
        check_same(EngineIndex.open(path, SoftIndex.from_texts(texts_of(20), plain=True)), index)
        index.save(tmp_path / "a.index")
        check_same(EngineIndex.open(path, SoftIndex.open(tmp_path / "a.index")), index)
        for other in (texts_of(21), texts_of(20, seed=6)):
            with pytest.raises(IndexFormatError, match="is stale"):
                EngineIndex.open(path, SoftIndex.from_texts(other, plain=True))
        with pytest.raises(InvalidInputError, match="in memory alone"):
            EngineIndex.open_in(index, "faiss")

    def test_neighbors_of_other_rows_or_another_s_are_refused(self, tmp_path):
        X = np.eye(5) + 0.5
        neighbors = SoftNeighbors(similarity_matrix(np.eye(5))).fit(X)
        path = built(neighbors, "faiss").save(tmp_path / "engine")
        EngineIndex.open(path, SoftNeighbors(similarity_matrix(np.eye(5))).fit(X))
        S = np.eye(5)
        S[0, 1] = S[1, 0] = 0.25
        for other in (
            SoftNeighbors(similarity_matrix(np.eye(5))).fit(X + np.eye(5)),
            SoftNeighbors(similarity_matrix(S)).fit(X),
        ):
            with pytest.raises(IndexFormatError, match="is stale"):
                EngineIndex.open(path, other)
        with pytest.raises(InvalidInputError, match="ranks by inner_product"):
            EngineIndex.open(
                path, SoftNeighbors(similarity_matrix(S), ranking="inner_product").fit(X)
            )


# Each reads a file of an engine with its own library, and gives the rows and the scores of the ten
# best of each query. No softcosine in it.
PLAIN = {
    "faiss": """
import faiss
store = faiss.read_index(str(engine / "index.faiss"))
scores, rows = store.search(queries, 10)
""",
    "usearch": """
from usearch.index import Index
store = Index.restore(str(engine / "index.usearch"))
found = store.search(queries, 10, exact=True)
rows, scores = found.keys, 1.0 - found.distances
""",
    "hnswlib": """
import hnswlib
store = hnswlib.Index("ip", queries.shape[1])
store.load_index(str(engine / "index.hnsw"))
store.set_ef(64)
rows, distances = store.knn_query(queries, k=10)
scores = 1.0 - distances
""",
    "annoy": """
from annoy import AnnoyIndex
store = AnnoyIndex(queries.shape[1], "angular")
store.load(str(engine / "index.annoy"))
found = [store.get_nns_by_vector(q, 10, search_k=10_000, include_distances=True) for q in queries]
rows = [one for one, _ in found]
cosines = np.array([[1.0 - d * d / 2.0 for d in own] for _, own in found])
scores = cosines * np.linalg.norm(queries, axis=1, keepdims=True)
""",
}
OTHER_PROGRAM = """
import json, pathlib, sys
import numpy as np
folder = pathlib.Path(sys.argv[1])
engine = folder / "engine"
queries = np.load(sys.argv[2])
{search}
ids = [json.loads(line) for line in (folder / "ids.jsonl").open(encoding="utf-8")]
answers = [
    [(ids[row], float(score)) for row, score in zip(*own) if row >= 0 and score > 1e-6]
    for own in zip(rows, scores)
]
assert not any(name.startswith("softcosine") for name in sys.modules)
print(json.dumps(answers))
"""


def answers_of_another_program(name, folder, queries, tmp_path):
    np.save(tmp_path / "queries.npy", queries)
    done = subprocess.run(
        [sys.executable, "-c", OTHER_PROGRAM.format(search=PLAIN[name]), folder,
         tmp_path / "queries.npy"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("name", PLAIN)
class TestFromAnotherProgram:
    IDS = ("a\nb", '"quoted"', "ü\u2028", "", "null", "{}", *map(str, range(6, 30)))
    QUERIES = ("ant bee", "cat cat dog", "ibis jay fox")

    def made(self, tmp_path):
        index = SoftIndex.create(tmp_path / "a.index", plain=True, ranking="soft_bm25")
        texts = [f"{text} {WORDS[n % 10]}" for n, text in enumerate(texts_of(30))]
        with index.writer(merge=None) as writer:
            writer.add_many(self.IDS, texts)
        return index

    def check(self, name, fast, folder, tmp_path):
        found = answers_of_another_program(
            name, folder, fast.query_vectors(list(self.QUERIES)), tmp_path
        )
        for own, hits in zip(found, fast.hits(self.QUERIES, k=10), strict=True):
            assert len(own) == len(hits) > 0
            scores = {hit.id: hit.score for hit in hits}
            np.testing.assert_allclose([score for _, score in own], [*scores.values()], atol=2e-6)
            for id, score in own:  # equal scores may stand in another order
                assert abs(scores.get(id, min(scores.values())) - score) < 2e-6

    def test_the_file_and_the_ids_beside_it_give_the_same_ranking(self, name, tmp_path):
        fast = built(self.made(tmp_path), name)
        folder = fast.save()
        lines = (folder / "ids.jsonl").read_text(encoding="ascii").split("\n")
        assert [json.loads(line) for line in lines[:-1]] == list(self.IDS) == fast.document_ids()
        assert "ids.jsonl" in json.loads((folder / "manifest.json").read_text())["files"]
        self.check(name, fast, folder, tmp_path)

    def test_after_an_update_the_ids_are_true(self, name, tmp_path):
        index = self.made(tmp_path)
        fast = built(index, name)
        if not fast.capabilities.deletes:
            pytest.skip(f"{name} follows no change")
        fast.save()
        text = index.search("cat", k=1)[0].text
        with index.writer(merge=None) as writer:
            writer.delete("a\nb")
            writer.delete("7")
            writer.add("8", "jay jay ant")  # replaced
            writer.add("twin", text)
            writer.commit(refresh=False)
        assert fast.update(threads=1)
        folder = fast.save(overwrite=True)
        ids = fast.document_ids()
        assert ids.count(None) == 3
        assert set(ids) - {None} == {*self.IDS, "twin"} - {"a\nb", "7"}
        gone = [slot for slot, id in enumerate(ids) if id is None]
        assert not fast.document_vectors()[gone].any()
        self.check(name, fast, folder, tmp_path)


def test_opened_it_is_ranked_by_the_index_or_by_the_given_words(tmp_path):
    need_engine("faiss")
    texts = ["a flat tyre of a bicycle", "the tea is getting cold", "a dog barks at the postman"]
    SoftIndex.from_texts(texts, ranking="soft_tf_bm25", encoder="static").save(tmp_path / "a")
    index = SoftIndex.open(tmp_path / "a")
    for ranking, ask in ((None, None), ("soft_tf_bm25", "words"), ("soft_bm25", "words")):
        built(index, "faiss", route="lsa", ranking=ranking).save(overwrite=True)
        fast = EngineIndex.open_in(index, "faiss")
        assert (fast.ranking, fast.vector_ranking) == (ranking or "soft_tf_bm25", "soft_bm25")
        assert fast.linear == (ranking == "soft_bm25")
        (found,) = fast.hits(["flat tea"], rerank=3)
        assert list(found) == list(index.search("flat tea", ranking=ranking, ask=ask))
        with index.writer() as writer:
            writer.add(f"{ranking} {ask}", "tea and a dog")
        assert fast.update()
        (found,) = fast.hits(["flat tea"], rerank=6)
        assert list(found) == list(index.search("flat tea", ranking=ranking, ask=ask))


def test_an_engine_of_an_equal_index_with_other_ids_is_stale(tmp_path):
    need_engine("faiss")
    texts = texts_of(5)
    path = built(SoftIndex.from_texts(texts, ids=[*"abcde"], plain=True), "faiss").save(
        tmp_path / "e"
    )
    EngineIndex.open(path, SoftIndex.from_texts(texts, ids=[*"abcde"], plain=True))
    with pytest.raises(IndexFormatError, match="is stale"):
        EngineIndex.open(path, SoftIndex.from_texts(texts, ids=[*"abcdf"], plain=True))


def test_ids_that_change_alone_are_followed(tmp_path, index):
    fast = built(index, "toy")
    fast.save()
    text = index.search("ant", k=1)[0]
    with index.writer(merge=None) as writer:
        writer.delete(text.id)
        writer.add("renamed", text.text)
        writer.commit(refresh=False)
    assert not fast.update()  # no vector is new
    ids = (fast.save(overwrite=True) / "ids.jsonl").read_text().splitlines()
    assert '"renamed"' in ids
    assert json.dumps(text.id) not in ids


class TestDamage:
    def test_every_changed_file_is_found_before_the_engine_reads_it(self, index, tmp_path):
        for name in MADE:
            path = built(index, name).save(tmp_path / name)
            for file in [file for file in path.rglob("*") if file.is_file()]:
                whole = file.read_bytes()
                middle = len(whole) // 2
                for altered in (
                    whole[:middle],
                    whole[:middle] + bytes([whole[middle] ^ 255]) + whole[middle + 1 :],
                ):
                    file.write_bytes(altered)
                    with pytest.raises(CorruptIndexError):
                        EngineIndex.open(path, index)
                file.unlink()
                with pytest.raises(IndexFormatError):
                    EngineIndex.open(path, index)
                file.write_bytes(whole)
            EngineIndex.open(path, index)

    def test_what_is_no_engine_is_told(self, index, tmp_path):
        with pytest.raises(FileNotFoundError, match="there is no engine at"):
            EngineIndex.open(tmp_path / "nothing", index)
        with pytest.raises(IndexFormatError, match="softcosine engine was needed"):
            EngineIndex.open(tmp_path / "a.index", index)
        with pytest.raises(FileNotFoundError, match="softcosine export INDEX faiss"):
            EngineIndex.open_in(index, "faiss")
        with pytest.raises(InvalidInputError, match=r"engine is '\.\./parts'"):
            EngineIndex.open_in(index, "../parts")

    def test_settings_that_nobody_wrote_are_told(self, index, tmp_path):
        from softcosine.storage import signed_manifest, write_manifest

        path = built(index, "toy").save(tmp_path / "engine")
        stored = json.loads((path / "manifest.json").read_text(encoding="utf-8"))
        for change, message in (
            ({"engine": "lucid"}, "which this softcosine does not know"),
            ({"engine": None}, "which this softcosine does not know"),
            ({"route": "svd"}, "lacks a part of an engine"),
            ({"scale": None}, "lacks a part of an engine"),
            ({"asked": None}, "lacks a part of an engine"),
            ({"asked": {"depth": 3}}, "lacks a part of an engine"),
        ):
            settings = {**stored["settings"], **change}
            content = {"settings": settings, "files": stored["files"]}
            signed = signed_manifest("engine", ENGINE_VERSION, content)
            write_manifest(signed, path / "manifest.json")
            with pytest.raises(IndexFormatError, match=message):
                EngineIndex.open(path, index)

    @pytest.mark.parametrize(
        ("name", "change"),
        [
            ("numbers", lambda a: a + 10**9),
            ("numbers", lambda a: a * 0),
            ("numbers", lambda a: a[:-1]),
            ("numbers", lambda a: a.astype(np.float64)),
            ("zeros", lambda a: np.append(a, -3)),
            ("zeros", lambda a: np.append(a, 2**62)),
            ("digests", lambda a: a[:-1]),
            ("digests", lambda a: a.astype(np.int64)),
        ],
    )
    def test_documents_that_the_index_does_not_have_are_told(self, index, tmp_path, name, change):
        path = built(index, "toy").save(tmp_path / "engine")
        crafted.rewrite_array(path, "", name, change(crafted.read_array(path, "", name)))
        with pytest.raises(CorruptIndexError, match=r"not those of the index|was written"):
            EngineIndex.open(path, index)

    def test_a_file_that_the_package_cannot_read_names_both_versions(
        self, index, tmp_path, monkeypatch
    ):
        path = built(index, "toy").save(tmp_path / "engine")

        def fail(self, folder, *, n_dimensions):
            raise RuntimeError("from the future")

        monkeypatch.setattr(ToyEngine, "load", fail)
        with pytest.raises(CorruptIndexError, match="read by toy 1; it was written by toy 1: from"):
            EngineIndex.open(path, index)

    def test_without_its_package_it_is_told_how_to_get_it(self, index, tmp_path, monkeypatch):
        path = built(index, "faiss").save()
        monkeypatch.setitem(__import__("sys").modules, "faiss", None)
        with pytest.raises(MissingDependencyError, match="pip install"):
            EngineIndex.open(path, index)

    def test_an_engine_that_keeps_its_own_is_not_saved(self, index, tmp_path, monkeypatch):
        monkeypatch.setattr(ToyEngine, "persistent", False)
        with pytest.raises(InvalidInputError, match="keeps what it holds by itself"):
            built(index, "toy").save()

    def test_a_failure_leaves_nothing_behind(self, index, tmp_path, monkeypatch):
        fast = built(index, "toy")
        path = fast.save()
        before = sorted(file.name for file in path.rglob("*"))

        def fail(self, path, _array):
            path.write_bytes(b"half")
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(ToyEngine, "_write", fail)
        with pytest.raises(OSError, match="disk is probably full"):
            fast.save(overwrite=True)
        assert [file.name for file in path.parent.iterdir()] == ["toy"]
        assert sorted(file.name for file in path.rglob("*")) == before
        with pytest.raises(OSError, match="disk"):
            fast.save(tmp_path / "other")
        assert not (tmp_path / "other").exists()

    @pytest.mark.skipif(not FULL.exists(), reason="only Linux has a disk that is full")
    @pytest.mark.parametrize("name", ["faiss", "hnswlib", "usearch"])  # Annoy deletes first
    def test_a_full_disk_is_an_error_of_the_system(self, index, name):
        fast = built(index, name)
        for write in fast.state.engine.files().values():
            with pytest.raises(OSError):  # noqa: PT011  # each system says it its own way
                write(FULL)

    def test_a_graph_that_was_not_written_whole_is_an_error(self, index, tmp_path, monkeypatch):
        need_engine("hnswlib")
        fast = built(index, "hnswlib")
        monkeypatch.setattr(
            type(fast.state.engine), "_saved", lambda self, path: path.write_bytes(b"short")
        )
        with pytest.raises(OSError, match="disk is probably full"):
            fast.save(tmp_path / "engine")


class TestReplacedWhileOpened:
    def test_what_is_opened_is_one_engine_whole(self, tmp_path):
        need_engine("faiss")
        there = SoftIndex.from_texts(texts_of(40), plain=True)
        other = SoftIndex.from_texts(texts_of(40)[::-1], plain=True)
        mine, theirs = (built(one, "faiss", factory="Flat") for one in (there, other))
        path = tmp_path / "engine"
        mine.save(path)
        stop = threading.Event()

        def replace():
            while not stop.is_set():
                theirs.save(path, overwrite=True)
                mine.save(path, overwrite=True)

        thread = threading.Thread(target=replace)
        thread.start()
        try:
            good = 0
            while good < 20:
                try:
                    fast = EngineIndex.open(path, there)
                except CorruptIndexError:
                    raise
                except IndexFormatError:  # theirs, which is stale
                    continue
                check_same(fast, there)
                good += 1
        finally:
            stop.set()
            thread.join()


def test_vectors_beyond_float32_are_told_apart():
    need_engine("faiss")
    S = similarity_matrix(np.eye(3))
    X = np.array([[1.0, 0, 0], [0, 1, 0], [0, 0, 1]])
    for scale in (1e60, 1e-60):
        neighbors = SoftNeighbors(S, ranking="inner_product").fit(X * scale)
        fast = EngineIndex.build(neighbors, "faiss", factory="Flat")
        neighbors.fit(X[[1, 1, 0]] * scale)
        assert fast.update()
        assert fast.search(X[:2], 1).ids.ravel().tolist() == [2, 0]


def test_an_unfitted_owner_is_no_damage(tmp_path):
    need_engine("faiss")
    S = similarity_matrix(np.eye(2))
    fast = EngineIndex.build(SoftNeighbors(S).fit(np.eye(2)), "faiss", factory="Flat")
    fast.save(tmp_path / "engine")
    with pytest.raises(NotFittedError):
        EngineIndex.open(tmp_path / "engine", SoftNeighbors(S))


@pytest.mark.parametrize("factory", ["HNSW0", "HNSW1", "IVF2_HNSW1,Flat"])
def test_graphs_without_links_are_refused_before_faiss_fails(index, factory):
    need_engine("faiss")
    with pytest.raises(InvalidInputError, match="2 links or more"):
        built(index, "faiss", factory=factory)


def test_refining_is_left_to_the_index(index):
    need_engine("faiss")
    with pytest.raises(InvalidInputError, match="re-rank by rerank"):
        built(index, "faiss", factory="IVF2,Flat,RFlat")


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere paths are Unicode")
def test_paths_that_packages_cannot_read_are_told(index, tmp_path):
    fast = built(index, "hnswlib")
    with pytest.raises(InvalidInputError, match="no UTF-8"):
        fast.save(tmp_path / os.fsdecode(b"s\xff"))


@pytest.mark.parametrize("name", ["annoy", "faiss", "hnswlib", "usearch"])
def test_widths_of_any_size_are_looked_at_or_refused(index, name):
    need_engine(name)
    fast = built(index, name)
    for width in (2**31 - 1, 10**6):
        assert fast.search(["ant bee"], 3, width=width).ids.shape == (1, 3)
    with pytest.raises(InvalidInputError, match="width is 1000000"):
        fast.search(["ant bee"], 3, width=10**22)
