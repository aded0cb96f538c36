"""What gensim holds and saves, read without running anything that its pickles name."""

from __future__ import annotations

import os
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from softcosine.errors import InvalidInputError, MalformedFileError
from softcosine.similarity.embeddings.embedding import EmbeddingSimilarity
from softcosine.similarity.embeddings.vector_files import read_vectors

WORDS = ["the", "Straße", "日本", "l'été", "7"]


def keyed_vectors(n: int = 5, dimensions: int = 3) -> Any:
    models = pytest.importorskip("gensim.models")
    vectors = models.KeyedVectors(dimensions)
    rows = np.random.default_rng(0).standard_normal((n, dimensions)).astype(np.float32)
    vectors.add_vectors(WORDS if n == 5 else [f"w{i}" for i in range(n)], rows)
    return vectors


def test_what_gensim_holds_and_saves_is_read(tmp_path: Path) -> None:
    vectors = keyed_vectors()
    path = tmp_path / "small.kv"
    vectors.save(str(path))
    for source in (EmbeddingSimilarity.from_gensim(vectors), EmbeddingSimilarity.load(path)):
        assert source.words == tuple(WORDS)
        assert source.state().arrays["vectors"].tobytes() == vectors.vectors.tobytes()
    assert read_vectors(path, words=["THE", "STRASSE"]).words == ("the", "Straße")


def test_arrays_that_gensim_saves_apart_are_found(tmp_path: Path) -> None:
    vectors = keyed_vectors(90, 7)
    path = tmp_path / "big.kv"
    vectors.save(str(path), separately=["vectors"])
    beside = tmp_path / "big.kv.vectors.npy"
    assert beside.exists()
    table = read_vectors(path)
    assert table.state()[1]["vectors"].tobytes() == vectors.vectors.tobytes()
    assert read_vectors(path, words=["w7"]).state()[1]["vectors"].tolist() == [
        vectors.vectors[7].tolist()
    ]
    beside.write_bytes(beside.read_bytes()[:100])
    with pytest.raises(MalformedFileError, match=r"vectors\.npy: not a readable \.npy"):
        read_vectors(path)
    beside.unlink()
    with pytest.raises(MalformedFileError, match=r"keeps vectors in big\.kv\.vectors\.npy, which"):
        read_vectors(path)


def test_a_whole_word2vec_model_is_read(tmp_path: Path) -> None:
    models = pytest.importorskip("gensim.models")
    model = models.Word2Vec([["a", "b", "c"]] * 9, vector_size=4, min_count=1, workers=1)
    model.save(str(tmp_path / "model"))
    table = read_vectors(tmp_path / "model")
    assert table.words == tuple(model.wv.index_to_key)
    assert EmbeddingSimilarity.from_gensim(model).words == table.words


class Harmful:
    """A pickle of it would call a function when it is loaded by Python itself."""

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.touch, (Path("harm was done"),)


def test_nothing_that_a_pickle_names_is_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for content in (Harmful(), {"vectors": Harmful()}, [Harmful(), os.getcwd]):
        (tmp_path / "evil.kv").write_bytes(pickle.dumps(content))
        with pytest.raises(MalformedFileError, match="pickle"):
            read_vectors(tmp_path / "evil.kv")
    assert not Path("harm was done").exists()


@pytest.mark.parametrize(
    "content",
    [
        pickle.dumps(3),
        pickle.dumps(np.ones(3)),
        pickle.dumps(np.array([None, Harmful])),
        pickle.dumps({"a": 1}),
        pickle.dumps([1, 2])[:-3],
        b"\x80\x04nonsense",
        b"\x80\x04.",
    ],
)
def test_other_pickles_are_refused(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "other.kv").write_bytes(content)
    with pytest.raises(MalformedFileError, match="pickle"):
        read_vectors(tmp_path / "other.kv")


def test_what_is_no_keyed_vectors_is_refused() -> None:
    for other in (3, "words", object()):
        with pytest.raises(InvalidInputError, match="is no KeyedVectors of gensim"):
            EmbeddingSimilarity.from_gensim(other)
