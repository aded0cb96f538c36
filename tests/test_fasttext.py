"""fastText's binary models, against fastText itself, gensim, and n-grams hashed in plain Python."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from softcosine.errors import InvalidInputError, MalformedFileError
from softcosine.similarity.embeddings.composed_vectors import ComposedVectors
from softcosine.similarity.embeddings.embedding import EmbeddingSimilarity
from softcosine.similarity.embeddings.subwords import Subwords
from softcosine.similarity.embeddings.vector_files import read_vectors
from softcosine.similarity.registry import source_from_state

WORDS = ["</s>", "the", "tyre", "Straße", "łódź", "日本語"]
ASKED = [*WORDS, "tyres", "puncture", "straße", "ó", "🙂🙂", "a", "日本", "x y"]
SETTINGS = [(3, 6, 50), (1, 3, 7), (0, 2, 9), (2, 2, 1), (0, 0, 100)]


def ngrams(word: str, min_n: int, max_n: int) -> Iterator[str]:
    """All n-grams of a word, as fastText's documentation describes them."""
    marked = f"<{word}>"
    for start in range(len(marked)):
        for n in range(max(min_n, 1), max_n + 1):
            stop = start + n
            boundary_mark = n == 1 and (start == 0 or stop == len(marked))
            if stop <= len(marked) and not boundary_mark:
                yield marked[start:stop]


def hashed(ngram: str) -> int:
    """FNV-1a in 32 bits, over bytes that are taken for signed."""
    value = 2166136261
    for byte in ngram.encode("utf-8", "surrogatepass"):
        value ^= byte if byte < 128 else byte | 0xFFFFFF00
        value = value * 16777619 % 2**32
    return value


def pieces(word: str, words: list[str], min_n: int, max_n: int, n_buckets: int) -> list[int]:
    own = [words.index(word)] if word in words else []
    if not max_n or word in ("</s>", ""):
        return own
    return own + [len(words) + hashed(g) % n_buckets for g in ngrams(word, min_n, max_n)]


def model_file(
    words: list[str],
    matrix: NDArray[np.float32],
    *,
    ngrams: tuple[int, int, int] = (3, 6, 50),
    version: int = 12,
    model: int = 2,
    labels: tuple[str, ...] = (),
    n_words: int | None = None,
    dimensions: int | None = None,
    quantised: bool = False,
    n_pruned: int = -1,
) -> bytes:
    min_n, max_n, n_buckets = ngrams
    dimensions = matrix.shape[1] if dimensions is None else dimensions
    header = [dimensions, 5, 5, 1, 5, 1, 1, model, n_buckets, min_n, max_n, 100]
    n_words = len(words) if n_words is None else n_words
    parts = [
        struct.pack("<ii12id", 793712314, version, *header, 1e-4),
        struct.pack("<3i2q", n_words + len(labels), n_words, len(labels), 999, n_pruned),
    ]
    entries = [(word, 0) for word in words] + [(label, 1) for label in labels]
    parts += [word.encode() + struct.pack("<xqb", 7, kind) for word, kind in entries]
    parts.append(struct.pack("<?2q", quantised, *matrix.shape))
    parts.append(matrix.astype("<f4").tobytes())
    parts.append(struct.pack("<?2q", False, 0, matrix.shape[1]))  # the output's matrix
    return b"".join(parts)


def matrix_for(words: list[str], n_buckets: int, dimensions: int = 5) -> NDArray[np.float32]:
    shape = (len(words) + n_buckets, dimensions)
    return np.random.default_rng(0).standard_normal(shape).astype(np.float32)


def written(path: Path, *, ngrams: tuple[int, int, int] = (3, 6, 50)) -> NDArray[np.float32]:
    matrix = matrix_for(WORDS, ngrams[2])
    path.write_bytes(model_file(WORDS, matrix, ngrams=ngrams))
    return matrix


@given(
    st.lists(st.text(max_size=9), max_size=6),
    st.sampled_from(SETTINGS),
    st.lists(st.text("abß日🙂\ud800 ", max_size=5), max_size=4),
)
def test_every_ngram_gets_its_row(
    terms: list[str], settings: tuple[int, int, int], more: list[str]
) -> None:
    min_n, max_n, n_buckets = settings
    words = list(dict.fromkeys(more))
    subwords = Subwords(words, min_n=min_n, max_n=max_n, n_buckets=n_buckets)
    # Terms that the vocabulary knows in another case are tested below.
    folded = {word.casefold() for word in words}
    terms = [t for t in terms if t in words or t.casefold() not in folded]
    indptr, rows = subwords.pieces([*terms, *words])
    expected = [pieces(term, words, *settings) for term in [*terms, *words]]
    found = [rows[indptr[i] : indptr[i + 1]].tolist() for i in range(len(expected))]
    assert [sorted(row) for row in found] == [sorted(row) for row in expected]


@pytest.mark.parametrize("settings", SETTINGS)
def test_a_model_is_read_and_its_words_are_means_of_pieces(
    settings: tuple[int, int, int], tmp_path: Path
) -> None:
    path = tmp_path / "model.bin"
    matrix = written(path, ngrams=settings)
    table = read_vectors(path)
    assert table.words == tuple(WORDS)
    place, numbers = table.look_up(ASKED)
    for term, number in zip(ASKED, numbers.tolist(), strict=True):
        rows = pieces("Straße" if term == "straße" else term, WORDS, *settings)
        assert (number >= 0) == bool(rows)
        if rows:
            expected = matrix[rows].astype(np.float64).mean(axis=0)
            units, scales = place.units(np.array([number]))
            expected /= np.linalg.norm(expected)
            np.testing.assert_allclose(units[0] * scales[0], expected, atol=2e-6)


def test_words_in_another_case_are_found_before_they_are_composed(tmp_path: Path) -> None:
    written(tmp_path / "model.bin")
    source = EmbeddingSimilarity.load(tmp_path / "model.bin", threshold=0.0)
    assert source.similarities(["TYRE", "STRASSE"], ["tyre", "Straße"]).tolist() == [1.0, 1.0]
    assert source.similarities(["TYRES"], ["tyres"]).item() < 1.0


def test_only_the_wanted_words_are_kept_composed_if_need_be(tmp_path: Path) -> None:
    written(tmp_path / "model.bin")
    whole = EmbeddingSimilarity.load(tmp_path / "model.bin")
    part = EmbeddingSimilarity.load(tmp_path / "model.bin", words={"tyre", "tyres", "日本", ""})
    assert set(part.words) == {"tyre", "tyres", "日本"}
    assert part.knows(["tyre", "the", "tyres"]).tolist() == [True, False, True]
    left, right = ["tyre", "tyre", "tyres"], ["tyres", "日本", "日本"]
    np.testing.assert_allclose(
        part.similarities(left, right), whole.similarities(left, right), atol=1e-6
    )
    assert part.state().arrays["vectors"].shape == (3, 5)


def test_a_model_of_words_alone_and_a_classifier(tmp_path: Path) -> None:
    matrix = matrix_for(WORDS, 100)
    path = tmp_path / "model.bin"
    # A classifier's buckets hold n-grams of words, which say nothing of single words.
    for version, model, ngram in ((12, 3, (0, 0, 100)), (11, 3, (3, 6, 100))):
        path.write_bytes(
            model_file(
                WORDS, matrix, ngrams=ngram, version=version, model=model, labels=("__label__a",)
            )
        )
        source = EmbeddingSimilarity.load(path)
        assert source.words == tuple(WORDS)
        assert source.knows(["the", "unheard"]).tolist() == [True, False]


def test_saved_then_built_anew_it_composes_the_same(tmp_path: Path) -> None:
    written(tmp_path / "model.bin")
    source = EmbeddingSimilarity.load(tmp_path / "model.bin", threshold=0.0)
    again = source_from_state(source.state())
    left, right = ASKED, ASKED[::-1]
    assert again.similarities(left, right).tobytes() == source.similarities(left, right).tobytes()


def test_gensim_composes_the_same(tmp_path: Path) -> None:
    fasttext = pytest.importorskip("gensim.models.fasttext")
    sentences = [["tyre", "Straße", "łódź", "the", "日本語"], ["the", "tyre", "a"]] * 9
    model = fasttext.FastText(
        sentences, vector_size=9, min_count=1, min_n=2, max_n=4, bucket=300, workers=1, seed=3
    )
    fasttext.save_facebook_model(model, str(tmp_path / "model.bin"))
    sources = [
        EmbeddingSimilarity.from_gensim(model.wv, threshold=0.0, exponent=1.0),
        EmbeddingSimilarity.from_gensim(model, threshold=0.0, exponent=1.0),
        EmbeddingSimilarity.load(tmp_path / "model.bin", threshold=0.0, exponent=1.0),
    ]
    left = ["tyre", "tyre", "tyres", "日本"]
    right = ["the", "tyres", "tyred", "日本語"]
    expected = [max(0.0, model.wv.similarity(a, b)) for a, b in zip(left, right, strict=True)]
    for source in sources:
        np.testing.assert_allclose(source.similarities(left, right), expected, atol=1e-5)


def test_fasttext_composes_the_same(tmp_path: Path) -> None:
    fasttext = pytest.importorskip("fasttext")
    text = tmp_path / "text.txt"
    text.write_text("the tyre of Straße łódź 日本語 🙂 a tyre the\n" * 60, encoding="utf-8")
    for settings in ({"minn": 1, "maxn": 4, "bucket": 300}, {"minn": 0, "maxn": 0}):
        model = fasttext.train_unsupervised(
            str(text), dim=7, minCount=1, epoch=1, thread=1, verbose=0, **settings
        )
        model.save_model(str(tmp_path / "model.bin"))
        table = read_vectors(tmp_path / "model.bin")
        assert list(table.words) == model.get_words()
        place, numbers = table.look_up(ASKED)
        for term, number in zip(ASKED, numbers.tolist(), strict=True):
            if term == "straße":
                continue  # not casefolded by fastText
            expected = model.get_word_vector(term)
            length = np.linalg.norm(expected)
            assert (number >= 0) == (length > 0)
            if number >= 0:
                units, scales = place.units(np.array([number]))
                np.testing.assert_allclose(units[0] * scales[0], expected / length, atol=2e-6)


SMALL = matrix_for(["a", "b"], 50, 3)
BROKEN = {
    "another version": (model_file(["a", "b"], SMALL, version=10), "format version 10; read are"),
    "quantised": (model_file(["a", "b"], SMALL, quantised=True), r"quantised \(.ftz\).* Take the"),
    "pruned": (model_file(["a", "b"], SMALL, n_pruned=4), "quantised"),
    "pruned without end": (model_file(["a", "b"], SMALL, n_pruned=2**62), "quantised"),
    "header cut short": (model_file(["a", "b"], SMALL)[:40], "ends within the header"),
    "words cut short": (
        model_file(["a", "b"], SMALL, n_words=999)[:150],
        "999 words and labels are promised, but the file ends after",
    ),
    "vectors cut short": (model_file(["a", "b"], SMALL)[:-200], "are promised, but the file ends"),
    "other dimensions": (model_file(["a", "b"], SMALL, dimensions=4), "4 dimensions .* 52 x 3"),
    "other buckets": (model_file(["a", "b"], SMALL, ngrams=(3, 6, 49)), "49 buckets .* 52 vec"),
    "n-grams upside down": (model_file(["a", "b"], SMALL, ngrams=(6, 3, 50)), "6 to 3 characters"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_model_is_named(name: str, tmp_path: Path) -> None:
    content, message = BROKEN[name]
    path = tmp_path / "broken.bin"
    path.write_bytes(content)
    with pytest.raises(MalformedFileError, match=message):
        read_vectors(path)


def test_a_damaged_vector_is_found_when_it_is_used(tmp_path: Path) -> None:
    matrix = matrix_for(WORDS, 50)
    matrix[2, 1] = np.nan
    path = tmp_path / "model.bin"
    path.write_bytes(model_file(WORDS, matrix))
    source = EmbeddingSimilarity.load(path)
    assert source.knows(["the"]).all()
    with pytest.raises(InvalidInputError, match=r"piece of a word \(row 2\) holds NaN"):
        source.knows(["tyre"])
    with pytest.raises(MalformedFileError, match=r"model.bin: .*\(row 2\) holds NaN"):
        EmbeddingSimilarity.load(path, words=["tyre"])


def test_settings_that_make_no_sense_are_refused() -> None:
    with pytest.raises(InvalidInputError, match="5 to 3 characters"):
        Subwords(["a"], min_n=5, max_n=3, n_buckets=9)
    with pytest.raises(InvalidInputError, match="0 buckets"):
        Subwords(["a"], min_n=1, max_n=3, n_buckets=0)
    with pytest.raises(InvalidInputError, match="10 pieces but 3 vectors"):
        ComposedVectors(Subwords(["a"], min_n=1, max_n=3, n_buckets=9), np.ones((3, 2)))
