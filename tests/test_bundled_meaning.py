"""The bundled space of meaning is what its card says, and is loaded lazily."""

import hashlib
import subprocess
import sys
from importlib.resources import files

import numpy as np
import pytest

from softcosine import SoftIndex
from softcosine.encoders.loading import MINILM
from softcosine.similarity.bundled import SHA256
from softcosine.space.meaning import PieceFrequencies
from softcosine.space.meaning_file import bundled_meaning, reference

FILE = files("softcosine.space") / "data" / "meaning.npz"
NOTHING_COUNTED = PieceFrequencies(np.zeros(0, np.int32), np.zeros(0), 1000)


@pytest.fixture(scope="module")
def space():
    return bundled_meaning()


def coordinates(space, text):
    return space.static_query([(text, 1.0)], NOTHING_COUNTED).vector


def test_the_file_has_the_checksum_that_indexes_refer_to():
    content = FILE.read_bytes()
    assert hashlib.sha256(content).hexdigest() == SHA256["meaning.npz"]
    assert len(content) < 4_800_000


def test_the_space_is_that_of_the_encoder(space):
    assert space.encoder == MINILM == "all-MiniLM-L6-v2"
    assert (space.encoder_dimensions, space.dimensions, len(space.table)) == (384, 256, 30_522)
    assert reference(space)["sha256"] == SHA256["meaning.npz"]


def test_the_projection_is_orthonormal(space):
    P = space.projection.astype(np.float64)
    np.testing.assert_allclose(P.T @ P, np.eye(256), atol=2e-3)


def test_words_are_cut_as_by_the_tokenizer(space):
    words = space.table.words_of("Unfathomable café, isn't it?")
    assert [word for word, _ in words] == [
        "unfathomable", "cafe", ",", "isn", "'", "t", "it", "?"
    ]  # fmt: skip
    assert [len(pieces) for _, pieces in words] == [4, 1, 1, 1, 1, 1, 1, 1]
    assert space.table.piece_numbers("[CLS] the")[-1] == 1996  # as in BERT's vocabulary


@pytest.mark.parametrize(
    ("query", "near", "far"),
    [
        ("car repair", "vehicle maintenance", "food"),
        ("my stomach hurts", "abdominal pain", "stock market"),
        ("how do I delete a file", "remove a document from disk", "play the violin"),
        ("heart attack", "cardiac arrest", "house painting"),
        ("cheap flights", "airline tickets", "fruit flies"),
    ],
)
def test_sums_of_pieces_are_nearer_to_texts_of_like_meaning(space, query, near, far):
    u = coordinates(space, query)
    assert u @ coordinates(space, near) > 0.15 + u @ coordinates(space, far)


def test_sums_of_pieces_approximate_the_encoder(space):
    pytest.importorskip("softcosine_minilm")
    pytest.importorskip("onnxruntime")
    from softcosine.encoders.loading import load_encoder

    texts = ["how to repair a bicycle", "pain in the chest", "the history of the printing press"]
    for text, vector in zip(texts, load_encoder("minilm").encode(texts), strict=True):
        assert coordinates(space, text) @ space.unit(vector) > 0.7


def test_an_index_without_meaning_does_not_load_the_space():
    code = (
        "import sys; from softcosine import SoftIndex; "
        "SoftIndex.from_texts(['a tea pot', 'a coffee cup'], encoder=None).search('tea'); "
        "sys.exit('softcosine.space.meaning_file' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_an_index_refers_to_the_space_and_does_not_copy_it(space, tmp_path):
    class Encoder:
        name, dimensions, max_tokens = MINILM, 384, 256

        def encode(self, texts):
            vectors = np.zeros((len(texts), 384))
            for row, text in enumerate(texts):
                vectors[row] = space.projection @ coordinates(space, text)
            return vectors

        def n_truncated(self, texts):
            return 0

    texts = ["repair of vehicles", "recipes for soup", "a walk in the forest"]
    index = SoftIndex.from_texts(texts, encoder=Encoder())
    index.save(tmp_path / "index")
    assert sum(f.stat().st_size for f in tmp_path.rglob("*") if f.is_file()) < 100_000
    hits = SoftIndex.open(tmp_path / "index").search("fix my car", ask="static")
    assert hits.plan.ask == "static"
    assert [hit.id for hit in hits][:1] == [index.search("fix my car", ask="static")[0].id]
