"""Encoders are asked once for each text, and what that takes is told."""

from __future__ import annotations

import json
import sys
import types
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec

import numpy as np
import pytest

from softcosine.encoders.encoder import Prompts
from softcosine.errors import InvalidInputError
from softcosine.evaluate.documents import Documents
from softcosine.evaluate.systems import from_spec, named
from softcosine.evaluate.systems.sentence_model import SentenceModel
from softcosine.evaluate.systems.sentence_model import _Record as Record
from softcosine.index.soft_index import SoftIndex
from toy_encoder import ToyEncoder

TEXTS = ["tea", "a flat tyre", " ", "tea", "hot tea"]
DOCUMENTS = Documents.of(TEXTS)
QUERIES = Documents.of(["tea", "cold tea"])


class Toy:
    """Counts letters, and remembers what it was asked for."""

    def __init__(self):
        self.asked = []

    def __call__(self, texts):
        self.asked += texts
        return np.array([[text.count(letter) for letter in "aceht"] for text in texts], np.float32)


def test_every_text_is_encoded_once_and_never_again(tmp_path):
    toy, cache = Toy(), tmp_path / "encoded.sqlite"
    fitted = named("encoder", encode=toy, model="toy", cache=str(cache)).fit(DOCUMENTS)
    ranked = fitted.ranked(QUERIES, k=2)
    assert sorted(toy.asked) == ["a flat tyre", "cold tea", "hot tea", "tea"]
    assert fitted.note.startswith("toy: 4 texts encoded in ")
    again = Toy()
    second = named("encoder", encode=again, model="toy", cache=str(cache)).fit(DOCUMENTS)
    np.testing.assert_array_equal(second.ranked(QUERIES, k=2).scores, ranked.scores)
    assert again.asked == []
    assert second.note.startswith("toy: 0 texts encoded, 4 taken from the cache, which was filled")
    other = Toy()
    named("encoder", encode=other, model="another", cache=str(cache)).fit(DOCUMENTS)
    assert sorted(other.asked) == ["a flat tyre", "hot tea", "tea"]
    times = json.loads((tmp_path / "encoded.sqlite.seconds.json").read_text())
    assert {name: known["texts"] for name, known in times.items()} == {"toy": 4, "another": 3}


def test_the_seconds_of_a_system_are_without_encoding(monkeypatch):
    from softcosine.evaluate import answering
    from softcosine.evaluate.systems import sentence_model

    now = [0.0]

    def encode(texts):
        now[0] += 100
        return np.eye(len(texts))

    clock = types.SimpleNamespace(perf_counter=lambda: now[0])
    monkeypatch.setattr(sentence_model, "time", clock)
    monkeypatch.setattr(answering, "time", clock)
    watch = answering._Watch(named("encoder", encode=encode, model="toy"))
    fitted = watch.fit(DOCUMENTS)
    now[0] += 1
    assert watch.seconds == answering.Seconds(0.0, 1.0)
    assert "3 texts encoded in 100.0 s" in fitted.note


def test_a_ranking_by_words_and_meaning_shares_the_cache_of_the_encoder(tmp_path):
    cache = str(tmp_path / "encoded.sqlite")
    named("encoder", encode=Toy(), model="toy", cache=cache).fit(DOCUMENTS).ranked(QUERIES, k=2)
    toy = Toy()
    toy.name, toy.encode = "toy", toy
    fitted = named("soft", encoder=toy, encoder_cache=cache).fit(DOCUMENTS)
    fitted.ranked(QUERIES, k=2)
    assert toy.asked == ["dimensions"]  # of an encoder that does not state them
    assert "toy: 1 texts encoded" in fitted.note
    words, alone = (named("soft", **own).fit(DOCUMENTS).ranked(QUERIES, k=2)
                    for own in ({"encoder": toy, "ask": "words"}, {"encoder": None}))  # fmt: skip
    np.testing.assert_array_equal(words.scores, alone.scores)


def test_texts_are_encoded_with_the_prompts_of_the_model_as_in_an_index(tmp_path):
    class Prompted(Toy):
        name, prompts = "toy", Prompts("query: ", "passage: ")

        def encode(self, texts):
            return self(texts)

    toy, cache = Prompted(), str(tmp_path / "encoded.sqlite")
    fitted = named("soft", encoder=toy, encoder_cache=cache).fit(DOCUMENTS)
    found = fitted.ranked(QUERIES, k=2)
    encoded = [*(f"passage: {own}" for own in ("a flat tyre", "hot tea", "tea")),
               *(f"query: {own}" for own in ("cold tea", "tea"))]  # fmt: skip
    assert sorted(own for own in toy.asked if own != "dimensions") == encoded
    index = SoftIndex.from_texts(TEXTS, encoder=Prompted())
    expected = [index.scores(own, [str(number) for number in numbers])
                for own, numbers in zip(QUERIES.texts, found.numbers, strict=True)]  # fmt: skip
    np.testing.assert_allclose(found.scores, expected)
    alone = Prompted()
    named("encoder", encode=alone.encode).fit(DOCUMENTS).ranked(QUERIES, k=2)
    assert sorted(alone.asked) == encoded


def test_a_function_without_a_name_leaves_nothing_on_disk(monkeypatch, tmp_path):
    monkeypatch.setenv("SOFTCOSINE_HOME", str(tmp_path / "home"))
    named("encoder", encode=Toy()).fit(DOCUMENTS)
    named("encoder", encode=Toy(), model="toy", cache=None).fit(DOCUMENTS)
    assert not (tmp_path / "home").exists()
    named("encoder", encode=Toy(), model="toy").fit(DOCUMENTS)
    assert (tmp_path / "home" / "encoded.sqlite").exists()


def test_a_damaged_record_of_seconds_is_begun_anew(tmp_path):
    cache = tmp_path / "encoded.sqlite"
    record = tmp_path / "encoded.sqlite.seconds.json"
    for content in ("{", "[]", '{"toy": {"texts": "x"}}'):
        record.write_text(content)
        cache.unlink(missing_ok=True)
        fitted = named("encoder", encode=Toy(), model="toy", cache=str(cache)).fit(DOCUMENTS)
        assert fitted.note.startswith("toy: 3 texts encoded in ")
        assert json.loads(record.read_text())["toy"]["texts"] == 3


def test_no_seconds_are_lost_between_processes(tmp_path):
    with ThreadPoolExecutor(4) as pool:  # each with a record of its own, as another process
        list(pool.map(lambda _: Record(tmp_path / "encoded").add("toy", 1, 0.5), range(40)))
    assert Record(tmp_path / "encoded").of("toy") == (40, 20.0)


def test_scores_are_cosines_and_texts_of_white_space_have_none():
    fitted = named("encoder", encode=Toy()).fit(DOCUMENTS)
    vectors = Toy()([*TEXTS, *QUERIES.texts]).astype(float)
    vectors /= np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-300)
    vectors[2] = 0
    expected = vectors[5:] @ vectors[:5].T
    found = fitted.scored(QUERIES, [np.arange(5)] * 2)
    np.testing.assert_allclose(found, expected, atol=1e-6)
    np.testing.assert_allclose(fitted.paired(["tea", " "], ["hot tea", "tea"])[1], 0)
    blank = named("encoder", encode=Toy()).fit(Documents.of([" "]))
    assert blank.ranked(QUERIES, k=1).numbers.tolist() == [[-1], [-1]]


def test_progress_is_told_in_texts():
    told = []
    named("encoder", encode=Toy(), progress=lambda *step: told.append(step)).fit(DOCUMENTS)
    assert told == [(3, 3)]


def test_models_are_loaded_from_this_machine_alone_unless_it_is_asked_for(monkeypatch):
    asked = []

    class SentenceTransformer:
        def __init__(self, place, **settings):
            asked.append((place, settings))
            if place == "nowhere":
                raise OSError("no file named config.json\nand more")

        def encode(self, texts, **settings):
            return Toy()(texts)

    fake = types.ModuleType("sentence_transformers")
    fake.SentenceTransformer = SentenceTransformer
    monkeypatch.setitem(sys.modules, "sentence_transformers", fake)
    from_spec("encoder:model=mine,cache=none,device=cpu").fit(DOCUMENTS)
    from_spec("encoder:model=mine,cache=none,download=true").fit(DOCUMENTS)
    assert asked == [
        ("mine", {"device": "cpu", "local_files_only": True}),
        ("mine", {"device": None, "local_files_only": False}),
    ]
    with pytest.raises(
        InvalidInputError,
        match=r"'nowhere' could not be loaded \(no file named config.json\); give a folder, or",
    ):
        from_spec("encoder:model=nowhere,cache=none").fit(DOCUMENTS)


@pytest.mark.skipif(
    find_spec("softcosine_minilm") is None or find_spec("onnxruntime") is None,
    reason="needs softcosine-minilm and onnxruntime",
)
def test_minilm_knows_what_means_the_same():
    fitted = from_spec("encoder:cache=none").fit(
        Documents.of(["a puncture in the bike's tyre", "the tea is getting cold"])
    )
    assert fitted.ranked(Documents.of(["bicycle repair"]), k=1).numbers.tolist() == [[0]]
    assert fitted.note.startswith("all-MiniLM-L6-v2: ")


class Polyglot(ToyEncoder):
    def knows_words(self, text: str) -> bool:
        return "moin" in text


def test_a_model_says_which_words_it_knows():
    known = SentenceModel("toy", lambda: Polyglot().encode, cache=None)
    assert known.knows_words("moin moin")
    assert not known.knows_words("qwzrx")
    assert not SentenceModel("toy", lambda: ToyEncoder().encode, cache=None).knows_words("moin")
