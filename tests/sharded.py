"""Sharded indexes for tests, and the one index that has the same documents."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

import softcosine as sc
from softcosine.cluster.manifest import ShardFacts, ShardsManifest, epoch_folder, shard_folder
from softcosine.cluster.ownership import owners_of
from softcosine.cluster.shard import Shard
from softcosine.cluster.sharded_index import ShardedIndex
from softcosine.cluster.workers import ThreadWorkers
from softcosine.index.directory.folder import FolderDirectory
from softcosine.index.directory.memory import MemoryDirectory
from softcosine.index.directory.snapshot import Snapshot

WORDS = [
    "tea", "green", "pot", "cup", "coffee", "tyre", "wheel", "bicycle", "car", "road", "repair",
    "broken", "flat", "drink", "kettle", "the", "garage", "engine", "tea-pot", "teapot", "60W",
]  # fmt: skip
QUERIES = [
    "green tea", "flat tyre", "+tea cup", "car -road", '"green tea" pot', "bicycle repair shop",
    "kettel", "the", "beverage", "unknownword", "automobile^2 tea", "+garage +engine", "",
    " ".join(WORDS), '-"flat tyre" wheel', "tea tea tea green", "teapot", "60 W", "+tea-pot cup",
]  # fmt: skip
RANKINGS = ["soft_bm25", "soft_tf_bm25", "soft_cosine", "inner_product", "expanded_cosine"]


def drawn_text(random):
    return " ".join(random.choice(WORDS, random.integers(0, 7)))


def shard_of(index, path=None, *, numbered=False):
    """Return a frozen index without documents under the epoch of another."""
    snapshot, encoder = index.snapshot, index._directory.encoder
    settings = replace(
        snapshot.settings, segments=(), min_df=1, max_df=1.0, frozen=True, numbered=numbered
    )
    bare = Snapshot(
        settings, (), snapshot.S, snapshot.source, snapshot.statistics, generation=1,
        meaning=snapshot.meaning, stored_pieces=snapshot.piece_frequencies,
    )  # fmt: skip
    made = sc.SoftIndex(bare, MemoryDirectory(bare, encoder))
    if path is None:
        return made
    made.save(path)
    return sc.SoftIndex(*FolderDirectory.open(path, encoder=encoder))


@cache
def epoch_name(index):
    """Return the epoch of an index in memory, as of one in a folder."""
    with TemporaryDirectory() as folder:
        return shard_of(index, Path(folder) / "x").epoch


def filled(index, documents, deleted=(), *, commits=1):
    """Add (number, id, text, metadata) in some commits without merging, and delete some ids."""
    numbered = index.snapshot.settings.numbered
    with index.writer(merge=None) as writer:
        step = -(-len(documents) // commits) or 1
        for start in range(0, len(documents), step):
            for number, id, text, metadata in documents[start : start + step]:
                options = {"number": number} if numbered else {}
                writer.add(id, text, metadata, **options)
            writer.commit()
        for id in deleted:
            writer.delete(id)
    return index


def one_index(epoch, documents, deleted=(), *, commits=1):
    """Return the index under an epoch with all documents, in memory."""
    return filled(shard_of(epoch), documents, deleted, commits=commits)


def parts_of(documents, n_shards):
    """Return the documents of each shard."""
    owners = owners_of([one[1] for one in documents], n_shards).tolist()
    return [
        [one for one, owner in zip(documents, owners, strict=True) if owner == number]
        for number in range(n_shards)
    ]


def in_memory(
    epoch, documents, n_shards, deleted=(), *, commits=1, workers=ThreadWorkers, timeout=None
):
    """Return shards in memory as one index."""
    shards = []
    for part in parts_of(documents, n_shards):
        ids = {one[1] for one in part}
        own = [id for id in deleted if id in ids]
        shards.append(filled(shard_of(epoch, numbered=True), part, own, commits=commits))
    facts = tuple(
        ShardFacts(shard_folder(number), "", len(one)) for number, one in enumerate(shards)
    )
    manifest = ShardsManifest(epoch_name(epoch), len(documents), facts)
    opened = workers([Shard(one.snapshot) for one in shards])
    return ShardedIndex(shard_of(epoch), opened, manifest, Path(), timeout)


def in_folders(epoch, path, documents, n_shards, deleted=()):
    """Write shards to folders; return the path of the sharded index."""
    path.mkdir()
    shard_of(epoch, path / epoch_folder(epoch_name(epoch)))
    facts = []
    for number, part in enumerate(parts_of(documents, n_shards)):
        ids = {one[1] for one in part}
        shard = shard_of(epoch, path / shard_folder(number), numbered=True)
        filled(shard, part, [id for id in deleted if id in ids])
        facts.append(ShardFacts(shard_folder(number), shard.commit, len(shard)))
    ShardsManifest(epoch_name(epoch), len(documents), tuple(facts)).write(path)
    return path


def frozen(texts, **options):
    """Return an index of some texts whose epoch does not change."""
    index = sc.SoftIndex.from_texts(texts, **options)
    with index.writer() as writer:
        writer.freeze()
    return index


def built(path, texts, *, n_shards=3, metadata=None, **options):
    """Write shards of texts with the ids d0, d1, ... to a folder; return one index of them."""
    ids = [f"d{number}" for number in range(len(texts))]
    index = frozen(texts, ids=ids, metadata=metadata, **options)
    facts = metadata or [None] * len(texts)
    documents = list(zip(range(len(texts)), ids, texts, facts, strict=True))
    in_folders(index, path, documents, n_shards)
    return index


@cache
def epoch(kind):
    """An epoch of its own documents, of which the shards have others."""
    random = np.random.default_rng(len(kind))
    texts = [drawn_text(random) for _ in range(60)]
    options = {"language": "english", "ranking": "soft_bm25", "encoder": None}
    if kind == "fields":
        rows = [{"title": drawn_text(random), "body": text} for text in texts]
        return frozen(rows, fields={"title": 2, "body": 1}, **options)
    if kind == "static":
        options["encoder"] = "static"
    return frozen(texts, positions=kind == "words", **options)


def documents_of(kind, random, n_docs):
    found = []
    for number in range(n_docs):
        text = drawn_text(random)
        if kind == "fields":
            text = {"title": drawn_text(random), "body": text}
        metadata = {
            "n": int(random.integers(0, 4)), "tag": str(random.choice(["a", "b"])),
            "list": [1, "x"][: random.integers(0, 3)],
        }  # fmt: skip
        if random.random() < 0.2:
            del metadata["n"]
        found.append((number, f"doc{number}", text, metadata))
    return found


def seen(hits):
    """What hits say, but for the plan and numbers: an index renumbers after deleted segments."""
    rows = [(hit.id, hit.score.hex(), hit.text, hit.metadata) for hit in hits]
    snippets = [hit.snippet for hit in hits]
    words = hits.outside, hits.unknown, hits.left_out
    return rows, snippets, words, hits.facets, hits.suggestions, hits.plan.proven, hits.title
