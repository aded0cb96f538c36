"""gensim's word vectors: objects are taken, its pickles are refused unread."""

from __future__ import annotations

import gzip
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from softcosine.errors import InvalidInputError, MalformedFileError
from softcosine.similarity.embeddings.embedding import EmbeddingSimilarity
from softcosine.similarity.embeddings.vector_files import read_vectors

WORDS = ["the", "Straße", "日本", "l'été", "7"]


def keyed_vectors() -> Any:
    models = pytest.importorskip("gensim.models")
    vectors = models.KeyedVectors(3)
    rows = np.random.default_rng(0).standard_normal((5, 3)).astype(np.float32)
    vectors.add_vectors(WORDS, rows)
    return vectors


def test_what_gensim_holds_and_exports_is_read(tmp_path: Path) -> None:
    vectors = keyed_vectors()
    vectors.save_word2vec_format(str(tmp_path / "small.bin"), binary=True)
    for source in (
        EmbeddingSimilarity.from_gensim(vectors),
        EmbeddingSimilarity.load(tmp_path / "small.bin"),
    ):
        assert source.words == tuple(WORDS)
        assert source.state().arrays["vectors"].tobytes() == vectors.vectors.tobytes()


def test_a_whole_word2vec_model_is_taken() -> None:
    models = pytest.importorskip("gensim.models")
    model = models.Word2Vec([["a", "b", "c"]] * 9, vector_size=4, min_count=1, workers=1)
    assert EmbeddingSimilarity.from_gensim(model).words == tuple(model.wv.index_to_key)


@pytest.mark.parametrize("name", ["model", "small.kv", "small.kv.gz", "small.bin"])
def test_what_gensim_saves_is_refused_with_advice(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    keyed_vectors().save(str(path))
    with pytest.raises(MalformedFileError, match=r"pickle.*from_gensim, .*save_word2vec_format"):
        EmbeddingSimilarity.load(path)


class Harmful:
    """A pickle of it would call a function when it is loaded by Python itself."""

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.touch, (Path("harm was done"),)


@pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
@pytest.mark.parametrize("packed", [bytes, gzip.compress])
def test_pickles_are_never_run(
    protocol: int, packed: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("evil.kv").write_bytes(packed(pickle.dumps(Harmful(), protocol)))
    with pytest.raises(MalformedFileError, match="it is a pickle"):
        read_vectors("evil.kv")
    assert not Path("harm was done").exists()


def test_what_is_no_keyed_vectors_is_refused() -> None:
    for other in (3, "words", object()):
        with pytest.raises(InvalidInputError, match="is no KeyedVectors of gensim"):
            EmbeddingSimilarity.from_gensim(other)
