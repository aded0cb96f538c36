"""Plans of shards: the epoch and the documents are those of one index of the same records."""

from __future__ import annotations

import json
import os
import tempfile
from contextlib import contextmanager
from pathlib import Path

import hypothesis
import numpy as np
import pytest
from hypothesis import strategies as st

from conftest import need_ray
from softcosine.cluster import splitting
from softcosine.cluster.manifest import ShardsManifest
from softcosine.cluster.ownership import owners_of
from softcosine.cluster.plan import ShardPlan
from softcosine.cluster.shard_building import loaded_encoders
from softcosine.cluster.tally import analysis_cache
from softcosine.errors import InvalidInputError
from softcosine.files import Fields, Record, RecordReader
from softcosine.index.soft_index import SoftIndex
from softcosine.index.writer import document as documents
from softcosine.matrix.term_similarity_matrix import TermSimilarityMatrix
from softcosine.similarity.pairs import PairSimilarity
from softcosine.text.analyzer import Analyzer
from softcosine.text.vocabulary import Vocabulary
from toy_encoder import ToyEncoder

ENGLISH = [
    "the flat tyres of a bicycle were repaired",
    "green tea and black teas with milk",
    "we repaired the tires of this car",
    "the engine and engines of the cars were loud",
    "a loud noise of the motor in the morning",
    "morning tea is served in new york",
    "he was killed in a car accident",
    "the dead man had a motor bike",
    "new tires for the bike",
    "a puncture is a flat tyre",
    "coffee in the morning",
    "the vehicle was repaired by a mechanic",
    "a mechanic of engines",
    "the noise of vehicles in york",
]
GERMAN = [
    "das Auto ist nicht kaputt und der Reifen ist platt",
    "der Motor des Autos war laut",
    "die Katze und der Hund sind im Garten",
    "die Katzen haben den Hund nicht gesehen",
    "ein Hund im Auto",
    "der Garten ist schön und die Gärten sind grün",
    "der Tee und die Milch sind auf dem Tisch",
    "die Tische sind aus Holz",
    "das Holz der Tische ist alt",
    "eine Tasse Tee im Garten",
]


def records(texts, n):
    """Records made of the texts, some of them with metadata."""
    rng = np.random.default_rng(0)
    for number in range(n):
        chosen = rng.choice(texts, rng.integers(0, 4))
        row = {"id": f"d{number}", "title": str(rng.choice(texts)) if number % 3 else ""}
        row["text"] = " ".join(" ".join(map(str, chosen)).split())
        yield row | ({"year": 2000 + number % 9} if number % 2 else {})


def written(folder, rows, n_files=2):
    rows, paths = list(rows), []
    for number in range(n_files):
        own = rows[number * len(rows) // n_files : (number + 1) * len(rows) // n_files]
        paths.append(folder / f"part-{number}.jsonl")
        paths[-1].write_text("\n".join(map(json.dumps, own)))
    return paths


def one_index(rows, path, **settings):
    """One index of the records, frozen, as `softcosine index` would make it."""
    index = SoftIndex.create(path, **settings)
    fields = tuple(settings.get("fields") or ()) or None
    reader = RecordReader(Fields(text=fields, separate=fields is not None))
    with index.writer() as writer:
        for row in rows:
            record = Record(row, "all.jsonl")
            writer.add(reader.id(record), reader.text(record), reader.metadata(record))
    with index.writer() as writer:
        writer.freeze()
    return index


@pytest.fixture
def small_chunks(monkeypatch):
    monkeypatch.setattr(splitting, "_LEAST_BYTES", 2000)


SETTINGS = {
    "plain": {"plain": True},
    "english": {},
    "bm25": {"ranking": "soft_bm25", "encoder": None},
    "fields": {"fields": {"title": 2.0, "text": 1.0}},
    "min_df": {"min_df": 3},
    "max_df": {"max_df": 0.4, "min_df": 2, "positions": True},
    "fields_min_df": {"fields": {"title": 2.0, "text": 1.0}, "min_df": 3, "max_df": 0.5},
    "phrases": {
        "source": PairSimilarity({("new york", "tea"): 0.5, ("car", "vehicle"): 0.75}),
        "max_df": 0.3,
    },
    "ngrams": {"analyzer": Analyzer(stemmer="english", max_ngram=2), "min_df": 2},
    "language": {"language": "english", "keep_texts": False},
}


@pytest.mark.parametrize("name", SETTINGS)
def test_shards_have_the_epoch_of_one_index(tmp_path, small_chunks, name):
    check_against_one_index(tmp_path, list(records(ENGLISH, 90)), SETTINGS[name])


@pytest.mark.parametrize("given", [{}, {"min_df": 4}, {"ranking": "soft_cosine"}])
def test_similarities_learned_from_all_texts_are_those_of_one_index(tmp_path, small_chunks, given):
    check_against_one_index(tmp_path, list(records(GERMAN, 90)), given, "Reifen im Garten")


WORDS = st.sampled_from(["new", "york", "yorks", "tea", "teas", "cars", "car", "york's", "a", "--"])
TEXTS = st.lists(WORDS, max_size=6).map(" ".join)
LIMITS = st.sampled_from([{}, {"min_df": 2}, {"max_df": 2}, {"min_df": 0.3, "max_df": 0.9}])
SIMILARITIES = st.sampled_from(
    [
        {"plain": True},
        {"source": PairSimilarity({("new york", "tea"): 0.5, ("cars", "car"): 0.75})},
        {"analyzer": Analyzer(max_ngram=3), "plain": True},
        {"analyzer": Analyzer(stemmer="english", max_ngram=2, stop_words="english")},
        {"analyzer": Analyzer(phrases=["new york tea"]), "language": "none", "plain": True},
    ]
)


@hypothesis.settings(max_examples=25)
@hypothesis.given(
    st.lists(st.tuples(TEXTS, TEXTS), min_size=1, max_size=12),
    LIMITS,
    SIMILARITIES,
    st.booleans(),
    st.integers(1, 3),
)
def test_any_collection_has_the_epoch_of_one_index(texts, limits, similarity, several, n_files):
    rows = [
        {"id": str(number), "title": title, "text": text}
        for number, (title, text) in enumerate(texts)
    ]
    given = {**limits, **similarity, "ranking": "soft_bm25", "encoder": None}
    if several:
        given["fields"] = {"title": 1.5, "text": 1.0}
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        plan = ShardPlan(written(folder, rows, min(n_files, len(rows))), docs_per_shard=4, **given)
        try:
            epoch = one_index(rows, folder / "one.index", **given).epoch
        except InvalidInputError:
            with pytest.raises(InvalidInputError, match="no words"):
                plan.build(folder / "all.shards")
        else:
            manifest = ShardsManifest.read(plan.build(folder / "all.shards"))
            assert (manifest.epoch, manifest.n_docs) == (epoch, len(rows))


def test_terms_of_a_given_matrix_keep_their_numbers(tmp_path, small_chunks):
    rows = list(records(ENGLISH, 90))
    S = TermSimilarityMatrix.from_source(
        PairSimilarity({("tyre", "tire"): 0.5}), Vocabulary(["tyre", "tire", "unused"])
    )
    given = {"S": S, "language": "none", "ranking": "soft_bm25"}
    check_against_one_index(tmp_path, rows, given)
    with pytest.raises(InvalidInputError, match="leave out terms that S has"):
        ShardPlan(written(tmp_path, rows), min_df=2, **given)


def test_plans_that_cannot_be_are_refused(tmp_path):
    (path,) = written(tmp_path, [{"id": "a", "title": "", "text": "tea"}], 1)
    for wrong in (
        {"docs_per_shard": 0},
        {"docs_per_shard": 1.5},
        {"language": "klingon"},
        {"fields": {"title": 1, "text": 1}, "text_fields": ["text"]},
    ):
        with pytest.raises(InvalidInputError):
            ShardPlan([path], **wrong)
    for paths in ([], str(path), [tmp_path / "none.jsonl"]):
        with pytest.raises((InvalidInputError, FileNotFoundError)):
            ShardPlan(paths)
    for wrong in ({"jobs": 0}, {"jobs": 1.5}, {"memory": 10}):
        with pytest.raises(InvalidInputError):
            ShardPlan([path]).build(tmp_path / "all.shards", **wrong)
    assert not (tmp_path / "all.shards").exists()


def test_the_first_documents_decide_the_language(tmp_path, monkeypatch):
    monkeypatch.setattr(documents, "DECIDING_SIZE", 10)
    rows = [{"id": "a", "title": "", "text": GERMAN[0]}, *records(ENGLISH, 30)]
    folder = ShardPlan(written(tmp_path, rows)).build(tmp_path / "all.shards")
    epoch = SoftIndex.open(folder / ShardsManifest.read(folder).epoch_folder)
    assert (epoch.language, len(epoch.vocabulary) > 40) == ("german", True)


@contextmanager
def started(backend):
    """Start what a backend of joblib needs."""
    if backend == "dask":
        need_ray("distributed")
        from distributed import Client, LocalCluster

        workers = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": None}
        with LocalCluster(**workers) as cluster, Client(cluster):
            yield
    elif backend == "ray":
        need_ray()
        import ray
        from ray.util.joblib import register_ray

        os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
        register_ray()
        ray.init("local", num_cpus=2, include_dashboard=False, log_to_driver=False)
        try:
            yield
        finally:
            ray.shutdown()
    else:
        yield


@pytest.mark.parametrize("backend", ["threading", "multiprocessing", "loky", "dask", "ray"])
def test_every_backend_builds_the_same_shards(tmp_path, small_chunks, backend):
    joblib = pytest.importorskip("joblib")
    rows = list(records(ENGLISH, 90))
    plan = ShardPlan(written(tmp_path, rows), docs_per_shard=25, encoder=None)
    one = ShardsManifest.read(plan.build(tmp_path / "one.shards"))
    with started(backend), joblib.parallel_config(backend, n_jobs=2):
        other = ShardsManifest.read(plan.build(tmp_path / "other.shards"))
    assert (one.epoch, one.next_number) == (other.epoch, other.next_number)
    assert [shard.n_docs for shard in one.shards] == [shard.n_docs for shard in other.shards]
    for shard in one.shards:
        own, same = (
            SoftIndex.open(tmp_path / name / shard.folder)
            for name in ("one.shards", "other.shards")
        )
        assert own.get(list(own)) == same.get(list(same))
        assert own.snapshot.documents.numbers.tolist() == same.snapshot.documents.numbers.tolist()


def test_files_of_several_formats_and_places_are_one_collection(tmp_path, small_chunks):
    pa, fsspec = pytest.importorskip("pyarrow"), pytest.importorskip("fsspec")
    from pyarrow import parquet

    rows = [{"title": "", "year": None, **row} for row in records(ENGLISH, 90)]
    (tmp_path / "a.json").write_text(json.dumps(rows[:30]))
    parquet.write_table(pa.Table.from_pylist(rows[30:60]), tmp_path / "b.parquet", row_group_size=9)
    with fsspec.open("memory://test/c.jsonl", "w") as file:
        file.write("\n".join(map(json.dumps, rows[60:])))
    paths = [tmp_path / "a.json", tmp_path / "b.parquet", "memory://test/c.jsonl"]
    folder = ShardPlan(paths, docs_per_shard=50).build(tmp_path / "all.shards")
    one = one_index(rows, tmp_path / "one.index")
    manifest = ShardsManifest.read(folder)
    assert (manifest.epoch, manifest.n_docs) == (one.epoch, 90)
    for facts in manifest.shards:
        shard = SoftIndex.open(folder / facts.folder)
        ids = list(shard.documents.all_ids())
        assert shard.get(ids) == one.get(ids)


class Unhashable(ToyEncoder):
    __hash__ = None


@pytest.mark.parametrize("given", [{}, {"fields": {"title": 2.0, "text": 1.0}, "min_df": 2}])
def test_documents_that_an_encoder_reads_are_encoded_once(tmp_path, small_chunks, given):
    encoder = Unhashable()
    rows = list(records(ENGLISH, 90))
    check_against_one_index(tmp_path, rows, {"encoder": encoder, **given})
    n_sampled, n_queries = len(rows), 1 + 4
    assert len(encoder.texts) <= 2 * len(rows) + n_sampled + n_queries
    assert not loaded_encoders
    assert not analysis_cache.cache_info().currsize


def check_against_one_index(tmp_path, rows, settings, query="loud motor of a tyre"):
    one = one_index(rows, tmp_path / "one.index", **settings)
    plan = ShardPlan(written(tmp_path, rows), docs_per_shard=25, **settings)
    folder = plan.build(tmp_path / "all.shards")
    manifest = ShardsManifest.read(folder)
    assert manifest.epoch == one.epoch
    assert (manifest.n_shards, manifest.n_docs, manifest.next_number) == (4, 90, 90)
    assert sorted(p.name for p in folder.iterdir()) == [
        manifest.epoch_folder, "manifest.json", "shard-0000", "shard-0001", "shard-0002",
        "shard-0003", "write.lock",
    ]  # fmt: skip
    epoch = SoftIndex.open(folder / manifest.epoch_folder)
    assert (epoch.epoch, len(epoch), epoch.language) == (one.epoch, 0, one.language)
    scores = {hit.id: hit for hit in one.search(query, k=90)}
    owners = owners_of([row["id"] for row in rows], 4)
    n_hits = 0
    for number, facts in enumerate(manifest.shards):
        known = {"encoder": settings["encoder"]} if settings.get("encoder") else {}
        shard = SoftIndex.open(folder / facts.folder, verify=True, **known)
        own = [i for i, owner in enumerate(owners) if owner == number]
        assert shard.epoch == one.epoch
        ids = [rows[i]["id"] for i in own]
        assert list(shard.documents.all_ids()) == ids
        (segment,) = shard.snapshot.segments
        assert segment.documents.insertion_numbers.tolist() == own
        assert shard.get(ids) == one.get(ids)
        hits = shard.search(query, k=90)
        n_hits += len(hits)
        for hit in hits:
            whole = scores[hit.id]
            assert (hit.score, hit.metadata, hit.text) == (
                whole.score, whole.metadata, whole.text
            )  # fmt: skip
    assert n_hits == len(scores) > 10
