"""Another S and other term weights in all shards at once: searches stay those of one index."""

from __future__ import annotations

import json
import shutil

import numpy as np
import pytest
from typer.testing import CliRunner

import softcosine as sc
from killing import Victims
from sharded import QUERIES, RANKINGS, WORDS, built, drawn_text, seen
from softcosine.cli.app import app
from softcosine.cluster.manifest import ShardsManifest
from softcosine.cluster.sharded_check import check_shards
from softcosine.cluster.sharded_writer import ShardedWriter
from softcosine.errors import InvalidInputError, SoftCosineWarning, VocabularyMismatchError
from softcosine.index.directory import store_writer
from softcosine.index.encoding import IndexEncoder
from softcosine.index.writer.growing import rebuilt
from softcosine.matrix.term_similarity_matrix import TermSimilarityMatrix
from softcosine.similarity.overrides.decisions import Decision, Decisions, decided
from softcosine.similarity.pairs import PairSimilarity
from softcosine.text.vocabulary import Vocabulary
from toy_encoder import ToyEncoder, toy_space

OPTIONS = {"language": "english", "ranking": "soft_bm25", "encoder": None}


def drawn_similarity(random, vocabulary):
    """S from random pairs of terms, and their source."""
    terms = [term for term in vocabulary if random.random() < 0.6]
    pairs = [
        (left, right, float(random.choice([0.25, 0.5, 0.9])))
        for left in terms for right in terms if left < right and random.random() < 0.2
    ]  # fmt: skip
    source = PairSimilarity([*pairs, ("kettle", "boiler", 0.8)])
    return TermSimilarityMatrix.from_source(source, vocabulary, warn=False), source


def check(one, path):
    with sc.ShardedIndex.open(path) as many:
        assert (many.epoch, many.note, many.ranking) == (one.epoch, one.note, one.ranking)
        for ranking in RANKINGS:
            for options in ({}, {"mmr": 0.5}, {"first_stage": 3}):
                asked = {"ranking": ranking, **options}
                if options.get("first_stage") and ranking == "expanded_cosine":
                    continue
                found = many.search_batch([*QUERIES, "boiler"], **asked)
                alone = one.search_batch([*QUERIES, "boiler"], **asked)
                for own, other in zip(found, alone, strict=True):
                    assert seen(own) == seen(other), asked
        id = next(iter(one.documents.all_ids()))
        assert seen(many.similar(id)) == seen(one.similar(id))
        assert list(many.pairs(min_similarity=0.3)) == list(one.pairs(min_similarity=0.3))
    assert [file.name for file in path.glob("*epoch*")] == [ShardsManifest.read(path).epoch_folder]
    assert not list(path.glob(".*"))
    assert not check_shards(path).damage


@pytest.mark.parametrize("seed", range(4))
def test_searches_equal_those_of_one_index_with_the_same_changes(tmp_path, seed):
    random, path = np.random.default_rng(seed), tmp_path / "x"
    texts = [drawn_text(random) for _ in range(40)] + [" ".join(WORDS)]
    ids = [f"d{number}" for number in range(len(texts))]
    built(path, texts, n_shards=int(random.integers(1, 5)), **OPTIONS)
    one = sc.SoftIndex.from_texts(texts, ids=ids, **OPTIONS)
    check(one, path)
    for step in range(4):
        S, source = drawn_similarity(random, one.vocabulary)
        added = [(f"n{step}-{number}", drawn_text(random)) for number in range(3)]
        gone = str(random.choice(ids))
        ids.remove(gone)
        weighting = sc.Weighting(k1=float(random.uniform(0.5, 2)), b=0.4)
        refresh = step == 3
        with ShardedWriter(path) as many, one.writer() as alone:
            for writer in (many, alone):
                writer.add(*added[0])
                writer.set_similarity(S, source=source if step else None, note=f"step {step}")
                writer.delete(gone)
                if step == 1:
                    writer.set_weighting(weighting)
                if step == 2:
                    writer.set_weighting(weighting, ranking="soft_cosine")
                writer.add_many(*zip(*added[1:], strict=True))
                writer.commit(refresh)
        check(one, path)
    before = ShardsManifest.read(path)
    for number in range(3):  # what an epoch does not cover
        with ShardedWriter(path) as many, one.writer() as alone:
            for writer in (many, alone):
                if number < 2:
                    writer.set_weighting(one.weighting, ranking=RANKINGS[number])
                else:
                    writer.set_similarity(S, source=source, note="another")
        check(one, path)
    after = ShardsManifest.read(path)
    assert after.epoch == before.epoch
    assert after.epoch_folder != before.epoch_folder


def test_decisions_change_all_shards_as_one_index(tmp_path):
    random, path = np.random.default_rng(1), tmp_path / "x"
    texts = [drawn_text(random) for _ in range(30)] + [" ".join(WORDS)]
    ids = [f"d{number}" for number in range(len(texts))]
    built(path, texts, **OPTIONS)
    one = sc.SoftIndex.from_texts(texts, ids=ids, **OPTIONS)
    lines = Decision("tea", "=", "wheel", 0.75), Decision("car", "!", "bicycle")
    with sc.ShardedIndex.open(path) as many:
        S, source = rebuilt(many.S, decided(many.source, Decisions(lines)), many.analyzer)
        for index in (many, one):
            with index.writer() as writer:
                writer.set_similarity(S, source=source, note=index.note)
        assert many.source.decisions.lines == lines  # it sees the commit
    check(one, path)


def test_changes_are_visible_after_a_commit_alone(tmp_path):
    path = tmp_path / "x"
    one = built(path, ["green tea", "black tea", "flat tyre"] * 4, plain=True, encoder=None)
    before, commit = one.epoch, ShardsManifest.read(path).checksum
    S, source = drawn_similarity(np.random.default_rng(0), one.vocabulary)
    with ShardedWriter(path) as writer:
        with pytest.raises(VocabularyMismatchError):
            writer.set_similarity(TermSimilarityMatrix.identity(Vocabulary(["tea"])))
        writer.set_similarity(S, source=source)
        assert ShardsManifest.read(path).checksum == commit
        writer.rollback()
        writer.commit()
        assert ShardsManifest.read(path).checksum == commit
        writer.set_similarity(one.S)
        writer.set_similarity(S, source=source)  # the last one counts
        writer.commit()
        after = ShardsManifest.read(path)
        assert after.epoch != before
        writer.set_similarity(S, source=source)
        writer.commit()
        assert ShardsManifest.read(path) == after
        writer.set_similarity(one.S)
    assert ShardsManifest.read(path).epoch == before
    for number in range(3):
        index = sc.SoftIndex.open(path / f"shard-000{number}")
        with pytest.raises(InvalidInputError, match="is a shard of"):
            index.set_similarity(S)
    with one.writer() as writer, pytest.raises(InvalidInputError, match="is frozen"):
        writer.set_similarity(S)


@pytest.mark.parametrize("at", range(1, 9))
def test_a_full_disk_leaves_the_epoch_of_before(tmp_path, monkeypatch, at):
    path, random = tmp_path / "x", np.random.default_rng(2)
    texts = [drawn_text(random) for _ in range(20)] + [" ".join(WORDS)]
    ids = [f"d{number}" for number in range(len(texts))]
    built(path, texts, **OPTIONS)
    one = sc.SoftIndex.from_texts(texts, ids=ids, **OPTIONS)
    S, source = drawn_similarity(random, one.vocabulary)
    before, calls, real = ShardsManifest.read(path), [], store_writer.open_folder

    def failing(*arguments, **options):
        calls.append(1)
        if len(calls) == at:
            raise OSError(28, "No space left on device")
        return real(*arguments, **options)

    def switch(writer):
        writer.set_similarity(S, source=source)
        writer.commit()

    writer = ShardedWriter(path)
    with monkeypatch.context() as patch:
        patch.setattr(store_writer, "open_folder", failing)
        with pytest.raises(OSError, match="space"):
            switch(writer)
    assert ShardsManifest.read(path) == before
    assert not check_shards(path).damage
    if at % 2:
        writer.rollback()
    switch(writer)
    writer.close()
    with one.writer() as alone:
        switch(alone)
    check(one, path)


def test_killed_writers_leave_one_epoch_in_all_shards(tmp_path):
    path, random = tmp_path / "x", np.random.default_rng(3)
    one = built(path, [drawn_text(random) for _ in range(20)] + [" ".join(WORDS)], **OPTIONS)
    spaces = [drawn_similarity(random, one.vocabulary) for _ in range(2)]

    def write(say):
        say(0)
        number = 0
        while True:
            number += 1
            with ShardedWriter(path) as writer:
                writer.set_similarity(spaces[number % 2][0], source=spaces[number % 2][1])
                writer.add(f"k{number}", "green tea")
            say(number)

    victims = Victims(write, usual=0.3)
    for _ in range(8):
        victims.killed(0)
        assert not check_shards(path).damage
        with sc.ShardedIndex.open(path) as index:
            assert index.search("green tea").ids
    with ShardedWriter(path):
        own = ShardsManifest.read(path)
        assert [one.name for one in path.glob("*epoch*")] == [own.epoch_folder]
        assert not list(path.glob(".*"))


def same_by_meaning(one, path, **options):
    with sc.ShardedIndex.open(path, **options) as many:
        assert (many.epoch, many.snapshot.n_encoded) == (one.epoch, one.snapshot.n_encoded)
        for asked in ({}, {"ask": "words"}, {"first_stage": 3}, {"meaning": 5.0}):
            found = many.search_batch(QUERIES, **asked)
            for own, other in zip(found, one.search_batch(QUERIES, **asked), strict=True):
                assert seen(own) == seen(other), asked
        assert seen(many.similar("d0")) == seen(one.similar("d0"))
    assert not check_shards(path).damage


def test_shards_are_encoded_as_one_index(tmp_path):
    path, random = tmp_path / "x", np.random.default_rng(6)
    texts = [" ".join(WORDS[:3]), "", *(drawn_text(random) for _ in range(30)), " ".join(WORDS)]
    ids = [f"d{number}" for number in range(len(texts))]
    built(path, texts, n_shards=4, **OPTIONS)
    one = sc.SoftIndex.from_texts(texts, ids=ids, **OPTIONS)
    model = ToyEncoder()

    def encoded(*arguments, added=(), **options):
        n_read = set()
        for writer in (ShardedWriter(path), one.writer()):
            with writer:
                for id in added:
                    writer.add(id, "green tea the wheel")
                n_read.add(writer.encode(*arguments, **options))
                writer.commit(False)
        assert len(n_read) == 1
        return n_read.pop()

    with ShardedWriter(path) as writer:
        with pytest.raises(InvalidInputError, match="no encoder yet"):
            writer.encode()
        before = ShardsManifest.read(path)
        writer.encode("static")
        writer.rollback()
        writer.commit()
        assert ShardsManifest.read(path) == before
    assert encoded("static", added=["n1"]) > 20
    same_by_meaning(one, path)
    space, cache = toy_space(WORDS), tmp_path / "cache"
    assert encoded(model, meaning_space=space, cache=cache, added=["n2"]) > 20
    same_by_meaning(one, path, encoder=model)
    n_texts = len(model.texts)
    assert encoded(model, cache=cache) == 0
    assert encoded(model, meaning={"soft_bm25": 3.0, "soft_cosine": 0}, cache=cache) == 0
    assert len(model.texts) == n_texts
    same_by_meaning(one, path, encoder=model)
    with one.writer() as writer:
        writer.add("n3", "green wheel")
        writer.commit(False)
    with pytest.warns(SoftCosineWarning, match="estimated"), ShardedWriter(path) as writer:
        writer.add("n3", "green wheel")
    with ShardedWriter(path) as writer:
        assert writer.encode(model) == 1
    same_by_meaning(one, path, encoder=model)


def test_an_index_keeps_the_encoder_of_its_writer_through_commits(tmp_path, monkeypatch):
    path, model = tmp_path / "x", ToyEncoder()
    built(path, ["green tea", "flat tyre", " ".join(WORDS)], n_shards=2, **OPTIONS)
    with sc.ShardedIndex.open(path) as many:
        with many.writer() as writer:
            writer.encode(model, meaning_space=toy_space(WORDS))
        many.search("pot of tea", ask="encoder")
        assert model.texts[-1] == "pot of tea"
        with many.writer() as writer:
            writer.add("new", "green wheel")
        assert model.texts[-1] == "green wheel"
    with sc.ShardedIndex.open(path, encoder=model) as many:
        monkeypatch.setattr(IndexEncoder, "of", None)  # it is not loaded again
        with many.writer() as writer:
            writer.delete("new")
        assert many.encoder.encoder is model
        assert not many.refresh()


def test_killed_encoders_leave_one_epoch_in_all_shards(tmp_path):
    path, random = tmp_path / "x", np.random.default_rng(7)
    built(path, [drawn_text(random) for _ in range(30)] + [" ".join(WORDS)], **OPTIONS)

    def write(say):
        say(0)
        with ShardedWriter(path) as writer:
            writer.encode("static")
        say(1)
        with ShardedWriter(path) as writer:
            writer.encode(ToyEncoder(), meaning_space=toy_space(WORDS))
        say(2)

    copy = tmp_path / "copy"
    shutil.copytree(path, copy)
    victims = Victims(write, usual=0.2)
    for _ in range(6):
        victims.killed(0)
        assert not check_shards(path).damage
        shutil.rmtree(path)
        shutil.copytree(copy, path)


def test_commands_encode_shards(tmp_path):
    def run(*arguments, code=0):
        result = CliRunner().invoke(app, [str(one) for one in arguments])
        assert result.exit_code == code, result.output
        return result.output

    path, random = tmp_path / "x", np.random.default_rng(8)
    built(path, [drawn_text(random) for _ in range(20)] + [" ".join(WORDS)], **OPTIONS)
    assert "has no encoder yet" in run("encode", path, code=2)
    told = json.loads(run("encode", path, "--encoder", "static", "--json"))
    assert told["new"] == told["encoded"] > 10
    assert json.loads(run("info", path, "--json"))["meaning"]["encoded"] == told["encoded"]
    assert "the weight of meaning in soft_bm25 is 7" in run("encode", path, "--meaning", 7)
    with sc.ShardedIndex.open(path) as index:
        assert index.snapshot.settings.meaning_weights["soft_bm25"] == 7


def test_commands_change_the_similarities_of_shards(tmp_path):
    def run(*arguments, code=0):
        result = CliRunner().invoke(app, [str(one) for one in arguments])
        assert result.exit_code == code, result.output
        return result.output

    path, random = tmp_path / "x", np.random.default_rng(5)
    texts = [drawn_text(random) for _ in range(20)] + [" ".join(WORDS)]
    ids = [f"d{number}" for number in range(len(texts))]
    built(path, texts, **OPTIONS)
    one = sc.SoftIndex.from_texts(texts, ids=ids, **OPTIONS)
    one.save(tmp_path / "one")
    (tmp_path / "pins.txt").write_text("tea = wheel 0.5\n")
    build = ("similarity", "build", "english", "--decisions", tmp_path / "pins.txt")
    made = json.loads(run(*build, "--vocabulary", path, "-o", tmp_path / "S", "--json"))
    assert made["terms"] == len(one.vocabulary)
    message = run(
        "similarity", "build", "texts", "--vocabulary", path, "-o", tmp_path / "T", code=2
    )
    assert "learns from texts, and there are none; give it documents" in message
    told = json.loads(run("similarity", "set", path, tmp_path / "S", "--json"))
    assert (told["index"], told["documents"]) == (str(path), 21)
    run("similarity", "set", tmp_path / "one", tmp_path / "S")
    check(sc.SoftIndex.open(tmp_path / "one"), path)
    assert '"wheel"' in run("similarity", "neighbors", path, "tea", "--json")
    assert "is intact" in run("similarity", "check", path)
    shutil.rmtree(path / "shard-0001")
    assert run("similarity", "set", path, tmp_path / "S", code=1)
