"""``encoder="auto"``, the default: the light encoder reads the first documents if they are few."""

from __future__ import annotations

import json

import numpy as np
import pytest

import softcosine as sc
from softcosine.encoders import loading
from softcosine.encoders.loading import MINILM, MULTILINGUAL
from softcosine.evaluate.systems.soft import Soft
from softcosine.index import encoding
from softcosine.index.encoding import light_encoder
from softcosine.space.meaning_file import bundled_meaning
from toy_encoder import ToyEncoder, vector

TEXTS = ["the flat tyre of my bike", "the moon rises in the evening", "green tea is in the pot"]
GERMAN = ["Der Hund schläft heute nicht im Garten, und die Katze ist auch nicht da."]


class Light(ToyEncoder):
    dimensions = bundled_meaning().encoder_dimensions

    def encode(self, texts):
        self.texts += texts
        return np.array([np.resize(vector(text), self.dimensions) for text in texts], np.float32)


@pytest.fixture
def light(monkeypatch, automatic_encoder):
    """The encoder that is installed; a test may remove it."""
    encoders = {MINILM: Light(MINILM)}
    monkeypatch.setattr(loading, "installed_encoder", encoders.get)
    light_encoder.cache_clear()
    yield encoders
    light_encoder.cache_clear()


def few(monkeypatch, n_texts, n_bytes=1 << 20):
    monkeypatch.setattr(encoding, "FEW", dict.fromkeys(encoding.FEW, (n_texts, n_bytes)))


def hits(index, query="bike moon"):
    return [(hit.id, hit.score) for hit in index.search(query)]


def test_few_english_documents_are_read_by_the_encoder(light):
    chosen = sc.SoftIndex.from_texts(TEXTS)
    assert sorted(light[MINILM].texts) == sorted(TEXTS)
    line = "words, similar words and meaning (by all-MiniLM-L6-v2)"
    assert chosen.info()["ranked_by"] == chosen.search("moon").plan.ranks == line
    assert "of the query by a table" in chosen.search("moon", ask="static").plan.ranks
    told = 'Documents are encoded by all-MiniLM-L6-v2; encoder="static" is faster.'
    assert told in chosen.note
    assert chosen.note == chosen.info()["note"]


def test_the_english_table_is_named_for_english_texts_alone(light):
    index = sc.SoftIndex.from_texts(TEXTS, encoder=light[MINILM], language="german")
    assert index.note.endswith("Documents are encoded by all-MiniLM-L6-v2.")


def test_what_is_chosen_ranks_as_if_it_was_named(light):
    chosen = sc.SoftIndex.from_texts(TEXTS)
    named = sc.SoftIndex.from_texts(TEXTS, encoder=light[MINILM])
    assert hits(chosen) == hits(named)
    assert {**chosen.info(), "commit": ""} == {**named.info(), "commit": ""}
    for options in ({}, {"meaning": 0.0}, {"ranking": "soft_tf_bm25"}):
        near, same = (one.similar("0", **options) for one in (chosen, named))
        assert [(hit.id, hit.score) for hit in near] == [(hit.id, hit.score) for hit in same]
    assert "meaning (by all-MiniLM-L6-v2)" in chosen.similar("0").plan.ranks


def test_none_is_a_name_for_words_alone(light, tmp_path):
    (tmp_path / "docs.csv").write_text("\n".join(["id,text", *(f"{t[4:8]},{t}" for t in TEXTS)]))
    planned = sc.ShardPlan([tmp_path / "docs.csv"], encoder="none")
    made = [
        sc.SoftIndex.from_texts(TEXTS, encoder="none"),
        sc.ShardedIndex.open(planned.build(tmp_path / "shards")),
    ]
    for index in made:
        assert index.info()["meaning"] is None
        assert index.search("moon").plan.ranks == "words and similar words"
    assert light[MINILM].texts == []
    assert Soft(encoder="none") == Soft(encoder=None)


@pytest.mark.parametrize(
    ("bound", "options"),
    [((2, 1 << 20), {}), ((9, 70), {}), (None, {"keep_texts": False}), (None, {})],
)
def test_otherwise_they_rank_by_the_table(light, monkeypatch, bound, options):
    if bound is not None:
        few(monkeypatch, *bound)
    elif not options:
        light.clear()
    chosen = sc.SoftIndex.from_texts(TEXTS, **options)
    named = sc.SoftIndex.from_texts(TEXTS, encoder="static", **options)
    assert chosen.info()["meaning"] == named.info()["meaning"]
    assert hits(chosen) == hits(named)
    assert "meaning (by a bundled table)" in chosen.search("moon").plan.ranks
    assert "people's own questions; the encoder minilm gains 25 %" in chosen.note


def test_an_encoder_that_is_not_chosen_is_not_loaded(light, monkeypatch):
    monkeypatch.setattr(loading, "installed_encoder", lambda name: pytest.fail(f"loads {name}"))
    few(monkeypatch, 2)
    assert "table" in sc.SoftIndex.from_texts(TEXTS).info()["ranked_by"]


def test_texts_in_another_language_rank_by_words(light):
    index = sc.SoftIndex.from_texts(GERMAN)
    assert (index.language, index.info()["ranked_by"]) == ("german", "words and similar words")
    assert not light[MINILM].texts


@pytest.mark.parametrize("options", [{"plain": True}, {"ranking": "soft_cosine"}, {"meaning": 0}])
def test_what_ranks_by_words_reads_no_text(light, options):
    chosen = sc.SoftIndex.from_texts(TEXTS, **options)
    named = sc.SoftIndex.from_texts(TEXTS, encoder="static", **options)
    assert chosen.info() == {**named.info(), "commit": chosen.commit}
    assert not light[MINILM].texts


@pytest.mark.parametrize("given", [3, 10, 40, {"soft_bm25": 3, "soft_tf_bm25": 4}])
def test_a_weight_is_that_of_whatever_is_chosen(light, monkeypatch, given):
    chosen = sc.SoftIndex.from_texts(TEXTS, meaning=given)
    named = sc.SoftIndex.from_texts(TEXTS, meaning=given, encoder=light[MINILM])
    assert chosen.info()["meaning"] == named.info()["meaning"]
    few(monkeypatch, 2)
    chosen = sc.SoftIndex.from_texts(TEXTS, meaning=given)
    named = sc.SoftIndex.from_texts(TEXTS, meaning=given, encoder="static")
    assert chosen.info()["meaning"] == named.info()["meaning"]


def test_a_cache_is_of_the_encoder_that_may_be_chosen(light, run, tmp_path, monkeypatch):
    cache, file, path = tmp_path / "x.cache", tmp_path / "docs.txt", tmp_path / "x.index"
    file.write_text("\n".join(TEXTS))
    for _ in range(2):
        run("index", file, "-o", path, "--overwrite", "--encoder-cache", cache)
    assert sorted(light[MINILM].texts) == sorted(TEXTS)  # once
    found = [score for _, score in hits(sc.SoftIndex.open(path))]
    assert found == [score for _, score in hits(sc.SoftIndex.from_texts(TEXTS))]
    few(monkeypatch, 2)
    for place in (None, tmp_path / "y.index"):
        by_table = sc.SoftIndex.create(place, encoder_cache=cache)
        named = sc.SoftIndex.create(encoder="static")
        for texts in (TEXTS, ["the sun rises in the morning"]):  # two commits
            for index in (by_table, named):
                with index.writer() as writer:
                    writer.add_many([text[:9] for text in texts], texts)
            assert hits(by_table) == hits(named)
    assert light[MINILM].texts.count("the sun rises in the morning") == 0
    told = run(
        "index", file, "-o", path, "--overwrite", "--plain", "--encoder-cache", cache, code=2
    )
    assert "are for an index with an encoder" in told


def test_the_choice_is_made_once_by_the_first_words_and_stored(light, tmp_path, monkeypatch):
    path = tmp_path / "x.index"
    index = sc.SoftIndex.create(path)
    with index.writer() as writer:
        writer.add("blank", " ")
    index = sc.SoftIndex.open(path)
    with index.writer(memory=1 << 16) as writer:
        for number, text in enumerate(TEXTS):
            writer.add(str(number), text)
    assert sc.SoftIndex.open(path).info()["meaning"]["encoder"] == MINILM
    few(monkeypatch, 2)
    with index.writer() as writer:
        writer.add("later", "the sun rises in the morning")
    assert index.info()["meaning"]["encoded"] == 4

    light.clear()
    light_encoder.cache_clear()
    static = sc.SoftIndex.from_texts(TEXTS)
    light[MINILM] = Light(MINILM)
    light_encoder.cache_clear()
    with static.writer() as writer:
        writer.add("later", "the sun rises in the morning")
    assert static.info()["meaning"]["encoder"] == "static"
    assert not light[MINILM].texts


def test_shards_rank_by_the_table(light, tmp_path):
    records = [json.dumps({"id": str(i), "text": text}) for i, text in enumerate(TEXTS * 3)]
    (tmp_path / "docs.jsonl").write_text("\n".join(records), "utf-8")
    planned = sc.ShardPlan([tmp_path / "docs.jsonl"], docs_per_shard=5)
    planned.build(tmp_path / "all.shards", jobs=1)
    meaning = sc.ShardedIndex.open(tmp_path / "all.shards").info()["meaning"]
    assert (meaning["encoder"], meaning["weights"]["soft_tf_bm25"]) == ("static", 10.0)


def test_the_command_line_chooses_and_says_what_else_there_is(light, run, tmp_path, monkeypatch):
    file, path = tmp_path / "docs.txt", tmp_path / "x.index"
    file.write_text("\n".join(TEXTS))
    making = ("index", file, "-o", path, "--overwrite")
    assert f"Encoded 3 documents by {MINILM}." in run(*making)
    assert "meaning (by all-MiniLM-L6-v2)" in " ".join(run("info", path).split())
    record = json.loads(run(*making, "--encoder", "static", "--json"))
    assert record["meaning"]["encoder"] == "static"
    few(monkeypatch, 2)
    shown = " ".join(run(*making).split())
    assert "Meaning is by a bundled table of word pieces" in shown
    assert "To use minilm: softcosine admin encode" in shown
    assert "as no texts are stored" in " ".join(run(*making, "--no-texts").split())
    assert "To use minilm" not in run(*making, "--encoder", "static")
    light.clear()
    light_encoder.cache_clear()
    assert "minilm is not installed: pip install" in " ".join(run(*making).split())


MANY = [*GERMAN, "Das Fahrrad ist nicht in der Garage, und der Schlüssel ist auch weg."]
CZECH = ["Pes dnes nespí na zahradě a kočka tam také není.", "Kde je klíč od kola, který tu byl?"]


@pytest.fixture
def multilingual(light):
    """Both encoders that are installed."""
    light[MULTILINGUAL] = Light(MULTILINGUAL)
    return light


@pytest.mark.parametrize("texts", [MANY, CZECH, ["zażółć gęślą", "jaźń"]])
def test_texts_in_another_language_are_read_by_the_encoder_of_many(multilingual, texts):
    index = sc.SoftIndex.from_texts(texts)
    named = sc.SoftIndex.from_texts(texts, encoder=multilingual[MULTILINGUAL])
    assert multilingual[MULTILINGUAL].texts.count(texts[0]) == 2
    assert hits(index, "Hund klíč") == hits(named, "Hund klíč")
    assert index.info()["meaning"] == named.info()["meaning"]
    assert index.note.endswith("Documents are encoded by multilingual-e5-small.")
    assert not multilingual[MINILM].texts


def test_english_texts_beside_others_are_read_by_the_encoder_of_many(multilingual):
    texts = [*TEXTS, "where is the key of my bike", *MANY]
    index = sc.SoftIndex.from_texts(texts)
    assert index.language == "english+german"
    assert index.info()["meaning"]["encoder"] == MULTILINGUAL
    del multilingual[MULTILINGUAL]
    light_encoder.cache_clear()
    note = sc.SoftIndex.from_texts(texts).note
    assert "English and German: install softcosine-multilingual to search by meaning." in note


def test_what_was_not_read_says_how_to_search_by_meaning(multilingual, monkeypatch, tmp_path, run):
    few(monkeypatch, 1)
    index = sc.SoftIndex.from_texts(MANY)
    assert index.info()["meaning"] is None
    assert "German: to search by meaning, some minutes of encoding: softcosine" in index.note
    del multilingual[MULTILINGUAL]
    light_encoder.cache_clear()
    told = "German: install softcosine-multilingual to search by meaning."
    assert sc.SoftIndex.from_texts(MANY).note.endswith(told)
    (tmp_path / "de.txt").write_text("\n".join(MANY), "utf-8")
    made = run("index", tmp_path / "de.txt", "-o", tmp_path / "x.index")
    assert told in " ".join(made.split())
    for options in ({"encoder": None}, {"plain": True}, {"keep_texts": False}, {"meaning": 0}):
        assert "by meaning" not in sc.SoftIndex.from_texts(MANY, **options).note
    assert "by meaning" not in sc.SoftIndex.from_texts(MANY, language="none").note


def test_several_batches_and_a_cache_are_of_the_encoder_of_many_too(multilingual, tmp_path):
    for _ in range(2):
        index = sc.SoftIndex.create(encoder_cache=tmp_path / "x.cache")
        with index.writer(memory=1 << 16) as writer:
            for number, text in enumerate(MANY * 2):
                writer.add(str(number), text)
        assert hits(index, "Hund") == hits(sc.SoftIndex.from_texts(MANY * 2), "Hund")
    assert multilingual[MULTILINGUAL].texts.count(MANY[1]) == 1 + 2  # the cache has it once


def test_an_evaluation_takes_what_an_index_takes(multilingual):
    assert Soft()._encoder("german", MANY) == (MULTILINGUAL, None)
    assert Soft()._encoder("english", TEXTS) == (MINILM, None)
    assert Soft(language="none")._encoder("none", MANY) == (None, None)
    multilingual.clear()
    light_encoder.cache_clear()
    assert Soft()._encoder("german", MANY) == (None, None)
