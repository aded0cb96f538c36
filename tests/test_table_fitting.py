"""Query tables fitted for an encoder: the loss, its gradient, repeatability, and bad input."""

import time

import numpy as np
import pytest

from softcosine import SoftIndex
from softcosine.encoders.encoder import Prompts
from softcosine.encoders.vector_cache import VectorCache
from softcosine.errors import InvalidInputError, SoftCosineError
from softcosine.space.meaning_file import load_meaning, save_meaning
from softcosine.space.table_fitting import (
    FitSettings,
    fit_meaning,
    fit_table,
    loss_and_gradient,
    measure_prediction,
    piece_counts,
    principal_directions,
    sif_start,
    word_pieces_of,
)
from toy_encoder import DIMENSIONS, ToyEncoder

WORDS = [
    "tea", "pot", "cup", "milk", "sugar", "lemon", "kettle", "water", "leaf", "spoon", "bread",
    "butter", "jam", "honey", "toast", "egg", "salt", "oil", "pan", "knife", "fork", "plate",
    "table", "chair", "lamp", "door", "window", "roof", "wall", "floor",
]  # fmt: skip
WHOLE = WORDS[:-3]  # the last words are in pieces
PIECES = ["[PAD]", "[CLS]", *WHOLE, "ro", "##of", "wal", "##l", "flo", "##or", "##e"]
TOKENIZER = {
    "model": {"type": "WordPiece", "vocab": {piece: i for i, piece in enumerate(PIECES)}},
    "normalizer": {"type": "BertNormalizer", "lowercase": True},
    "pre_tokenizer": {"type": "BertPreTokenizer"},
    "added_tokens": [{"id": 0, "content": "[PAD]", "special": True}],
}
SMALL = FitSettings(epochs=30, batch=32, rate=0.02)


class Taught(ToyEncoder):
    tokenizer = TOKENIZER


def sentences(n, seed=0):
    rng = np.random.default_rng(seed)
    return [" ".join(rng.choice(WORDS, rng.integers(2, 7))) for _ in range(n)]


def fitted(encoder=None, texts=None, **others):
    settings = {"dimensions": 4, "settings": SMALL} | others
    return fit_meaning(encoder or Taught(), texts or sentences(120), **settings)


def test_the_gradient_is_that_of_finite_differences():
    rng = np.random.default_rng(0)
    sums = rng.normal(size=(7, 5))
    targets = rng.normal(size=(7, 5))
    targets /= np.linalg.norm(targets, axis=1, keepdims=True)
    settings = FitSettings(kl_weight=0.4, temperature=0.3)
    _, gradient = loss_and_gradient(sums, targets, settings)
    for place in np.ndindex(*sums.shape):
        step = np.zeros_like(sums)
        step[place] = 1e-6
        above, below = (loss_and_gradient(sums + s, targets, settings)[0] for s in (step, -step))
        assert gradient[place] == pytest.approx((above - below) / 2e-6, abs=1e-8)


def test_the_loss_is_that_of_its_definition():
    rng = np.random.default_rng(1)
    sums, targets = rng.normal(size=(2, 6, 4))
    targets /= np.linalg.norm(targets, axis=1, keepdims=True)
    unit = sums / np.linalg.norm(sums, axis=1, keepdims=True)
    expected = 0.0
    for s, e in zip(unit, targets, strict=True):
        p, q = (np.exp(targets @ v / 0.05) for v in (e, s))
        p, q = p / p.sum(), q / q.sum()
        expected += (1 - s @ e + 0.1 * (p * np.log(p / q)).sum()) / 6
    assert loss_and_gradient(sums, targets, FitSettings())[0] == pytest.approx(expected)


def test_the_fit_lowers_the_loss():
    encoder, texts = Taught(), sentences(120)
    pieces = word_pieces_of(encoder)
    counts = piece_counts(pieces, texts, None)
    targets = encoder.encode(texts)
    targets /= np.linalg.norm(targets, axis=1, keepdims=True)
    alone = np.random.default_rng(0).normal(size=(len(PIECES), DIMENSIONS)).astype(np.float32)
    start = sif_start(alone, counts, 1e-3)
    table = fit_table(counts, targets, start, SMALL)
    before, after = (loss_and_gradient(counts @ t, targets, SMALL)[0] for t in (start, table))
    assert after < 0.3 * before


def test_sums_predict_texts_that_the_fit_has_not_read():
    space = fitted(texts=sentences(400), dimensions=6)
    held = measure_prediction(space, Taught(), sentences(60, seed=1))
    assert held.n_texts == 60
    assert held.mean_cosine > 0.95
    assert held.recall > 0.7


def test_recall_counts_the_nearest_other_texts():
    space, texts = fitted(), sentences(15, seed=3)
    found = measure_prediction(space, Taught(), texts)
    table = space.table
    S = np.array([table.coordinates(table.piece_numbers(t)).sum(axis=0) for t in texts])
    E = np.array([space.unit(v) for v in Taught().encode(texts)])
    S /= np.linalg.norm(S, axis=1, keepdims=True)
    assert found.mean_cosine == pytest.approx(np.mean([s @ e for s, e in zip(S, E, strict=True)]))
    shares = []
    for i in range(15):
        near = [set(sorted({*range(15)} - {i}, key=lambda j: -M[i] @ E[j])[:10]) for M in (S, E)]
        shares.append(len(near[0] & near[1]) / 10)
    assert found.recall == pytest.approx(np.mean(shares))


def test_one_text_has_no_neighbours():
    assert np.isnan(measure_prediction(fitted(), Taught(), ["tea pot"]).recall)


def test_counts_are_those_of_the_pieces_that_the_encoder_reads():
    pieces = word_pieces_of(Taught())
    texts = ["tea roof tea", "sugar", "xyz", "roof floor"]
    expected = np.zeros((4, len(PIECES)))
    for row, text in enumerate(texts):
        for number in [n for word in pieces.split(text) for n in pieces.numbers(word)][:3]:
            expected[row, number] += 1
    counts = piece_counts(pieces, texts, 5)
    np.testing.assert_array_equal(counts.toarray(), expected)
    assert piece_counts(pieces, texts, None).sum() > expected.sum()


def test_the_start_makes_common_pieces_small():
    counts = piece_counts(word_pieces_of(Taught()), ["tea tea tea cup"], None)
    alone = np.ones((len(PIECES), 2), np.float32)
    start = sif_start(alone, counts, 0.25)[:, 0]
    tea, cup, pot = (start[PIECES.index(word)] for word in ("tea", "cup", "pot"))
    assert (tea, cup, pot) == (pytest.approx(0.25), pytest.approx(0.5), 1.0)


def test_directions_are_orthonormal_and_keep_the_most():
    rng = np.random.default_rng(2)
    vectors = (rng.normal(size=(50, 4)) * [1, 5, 0.1, 3]).astype(np.float32)
    P = principal_directions(vectors, 2)
    np.testing.assert_allclose(P.T @ P, np.eye(2), atol=1e-12)
    assert np.abs(P).argmax(axis=0).tolist() == [1, 3]
    assert (P[[1, 3], [0, 1]] > 0).all()


class Crowded(Taught):
    """Its vectors have a large common part, and are of length 1."""

    def encode(self, texts):
        vectors = np.zeros((len(texts), DIMENSIONS + 1), np.float32)
        vectors[:, 0] = 1.0
        vectors[:, 1:] = super().encode(texts)
        vectors[:, 1:] /= 2.0 * np.linalg.norm(vectors[:, 1:], axis=1, keepdims=True)
        return vectors

    @property
    def dimensions(self):
        return DIMENSIONS + 1


def test_what_all_vectors_have_in_common_is_left_out():
    space = fitted(Crowded(), texts=sentences(400), dimensions=6)
    assert np.abs(space.projection[0]).max() < 0.2
    held = measure_prediction(space, Crowded(), sentences(60, seed=1))
    assert held.mean_cosine > 0.95
    assert held.recall > 0.7
    whole = principal_directions(Crowded().encode(sentences(50)), DIMENSIONS + 1)
    assert np.abs(whole[0]).max() > 0.9  # all directions are asked for


def test_texts_and_pieces_are_encoded_as_queries():
    encoder = Taught()
    encoder.prompts = Prompts("water ", "lemon ")
    space = fitted(encoder)
    assert encoder.texts
    assert all(text.startswith("water ") for text in encoder.texts)
    encoder.texts.clear()
    measure_prediction(space, encoder, sentences(12, seed=1))
    assert all(text.startswith("water ") for text in encoder.texts)


def test_of_a_large_vocabulary_the_pieces_of_the_texts_get_vectors():
    encoder = Taught()
    many = [f"{letter}{i:05}" for letter in ("x", "X", "Y") for i in range(24_000)]
    vocabulary = [["<s>", 0.0], *([f"\u2581{word}", -1.0] for word in [*WORDS, *many])]
    encoder.tokenizer = UNIGRAM | {"model": {"type": "Unigram", "vocab": vocabulary}}
    start = time.process_time()
    assert word_pieces_of(encoder).texts().count("x00001") == 1
    assert time.process_time() - start < 8  # 100 where each piece copies the vocabulary
    space = fitted(encoder, texts=sentences(400), dimensions=6)
    assert sorted(space.table.pieces.texts()) == sorted(WORDS)
    assert measure_prediction(space, encoder, sentences(60, seed=1)).mean_cosine > 0.95


def test_pieces_are_encoded_without_their_prefix_and_special_tokens_are_zero():
    encoder = Taught()
    space = fitted(encoder)
    assert "of" in encoder.texts
    assert not any("##" in text or "[" in text for text in encoder.texts)
    assert not space.table.coordinates([0, 1]).any()
    assert space.table.coordinates([2]).any()


def test_equal_texts_give_an_equal_space_to_the_byte(tmp_path):
    first, again = fitted(), fitted()
    save_meaning(first, tmp_path / "a.npz")
    save_meaning(again, tmp_path / "b.npz")
    assert (tmp_path / "a.npz").read_bytes() == (tmp_path / "b.npz").read_bytes()
    assert load_meaning(tmp_path / "a.npz") == first
    assert fitted(settings=FitSettings(epochs=3, batch=32, seed=1)) != first


def test_an_interrupted_fit_continues_with_the_cache(tmp_path):
    class Failing(Taught):
        def encode(self, texts):
            if len(self.texts) > 300:
                raise RuntimeError("out of memory")
            return super().encode(texts)

    texts = list(dict.fromkeys(sentences(700)))
    cache = tmp_path / "vectors"
    with pytest.raises(RuntimeError, match="out of memory"):
        fitted(Failing(), texts, cache=cache)
    encoder = Taught()
    space = fitted(encoder, texts, cache=cache)
    assert space == fitted(texts=texts)
    assert len(encoder.texts) < len(texts)
    last = Taught()
    assert fitted(last, texts, cache=cache) == space
    assert last.texts == []
    assert len(VectorCache(cache, "toy").get(texts)) == len(texts)


def test_progress_names_the_stages():
    calls = []
    fitted(progress=lambda *call: calls.append(call))
    stages = list(dict.fromkeys(stage.split(" (")[0] for stage, _, _ in calls))
    assert stages == ["encoding texts", "encoding word pieces", "fitting"]
    assert calls[-1][1] == calls[-1][2] == 30 * (120 // 32)


def test_an_index_uses_the_space():
    space = fitted(texts=sentences(400), dimensions=6)
    texts = ["tea pot", "bread butter jam", "roof wall floor"]
    index = SoftIndex.from_texts(texts, encoder=Taught(), meaning_space=space)
    hits = index.search("kettle tea", ask="static")
    assert hits.plan.ask == "static"
    assert hits[0].id == "0"


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"dimensions": 3}, "dimensions is 3; it must be even"),
        ({"dimensions": 0}, "dimensions is 0"),
        ({"dimensions": 8}, "vectors of 'toy' have 6; it must not be larger"),
        ({"texts": ["tea", "tea", " ", "cup"]}, "2 different texts are too few for 4 dimensions"),
        ({"texts": "tea pot"}, "texts is a single string"),
        ({"texts": ["tea", 3]}, "a text is of type int"),
        ({"encoder": ToyEncoder()}, "tokenizer of the encoder 'toy' is unknown"),
        ({"encoder": lambda texts: texts}, "the encoder has no name"),
    ],
)
def test_bad_input_is_named(changed, message):
    with pytest.raises(InvalidInputError, match=message):
        fitted(**changed)


def test_another_tokenizer_is_refused_by_name():
    encoder = Taught()
    encoder.tokenizer = {"model": {"type": "WordLevel", "vocab": {}}}
    with pytest.raises(InvalidInputError, match=r"'toy'.*of type WordLevel; needed is"):
        fitted(encoder)


MARKED = {f"\u2581{word}": i for i, word in enumerate(WHOLE)} | {
    piece.replace(" ", "\u2581"): len(WHOLE) + i
    for i, piece in enumerate(["<s>", " Ro", "of", " wal", "l", " flo", "or", "OF", " Tea", " "])
}
UNIGRAM = {
    "model": {"type": "Unigram", "vocab": [[piece, -1.0] for piece in MARKED]},
    "normalizer": {"type": "Sequence", "normalizers": [{"type": "Precompiled"}]},
    "pre_tokenizer": {"type": "Metaspace"},
    "added_tokens": [{"id": len(WHOLE), "content": "<s>", "special": True}],
}
BYTES = {
    "model": {
        "type": "BPE",
        "vocab": {p.replace("\u2581", "\u0120"): i for p, i in MARKED.items()},
    },
    "pre_tokenizer": {"type": "ByteLevel"},
    "added_tokens": UNIGRAM["added_tokens"],
}


@pytest.mark.parametrize("tokenizer", [UNIGRAM, BYTES])
def test_pieces_of_bpe_and_unigram_are_those_of_their_vocabulary(tokenizer):
    encoder = Taught()
    encoder.tokenizer = tokenizer
    pieces = word_pieces_of(encoder)
    assert pieces.n_pieces == len(MARKED)
    cut = [pieces.numbers(word) for word in pieces.split("Tea roof, WALL ofro xyz")]
    ro, of, wal, ll = (len(WHOLE) + i for i in (1, 2, 3, 4))
    assert cut == [[0], [ro, of], [], [wal, ll], [], []]
    assert [pieces.texts()[i] for i in (0, ro, of)] == ["tea", "ro", "of"]
    unused = [i for i, text in enumerate(pieces.texts()) if not text]
    assert unused == [len(WHOLE) + i for i in (0, 7, 8, 9)]
    space = fitted(encoder, texts=sentences(400), dimensions=6)
    assert measure_prediction(space, encoder, sentences(60, seed=1)).mean_cosine > 0.95


def test_characters_of_several_bytes_are_pieces_of_byte_level_bpe():
    encoder = Taught()
    # "é" as two bytes, and the first of them alone, which is no text
    encoder.tokenizer = BYTES | {
        "model": {"type": "BPE", "vocab": {"\u0120t": 0, "\u00c3\u00a9": 1, "\u00c3": 2}}
    }
    pieces = word_pieces_of(encoder)
    assert pieces.numbers("té") == [0, 1]
    assert pieces.texts() == ["t", "é", ""]


@pytest.mark.parametrize(
    "tokenizer",
    [
        {},
        {"model": {"vocab": {"a": "b"}}},
        {"model": {"vocab": {"a": 10**12}}},
        {"model": {"vocab": {"a": 0}, "continuing_subword_prefix": 3}},
        {"model": {"vocab": {"a": 0}}, "normalizer": {"type": "Precompiled"}},
        {"model": {"type": "Unigram", "vocab": {"a": 9}}},
        {"model": {"type": "Unigram", "vocab": [3]}},
        {"model": {"type": "BPE", "vocab": {"a</w>": 0}}},
        [],
    ],
)
def test_a_damaged_tokenizer_is_refused(tokenizer):
    encoder = Taught()
    encoder.tokenizer = tokenizer
    with pytest.raises(InvalidInputError, match=r"'toy'.*tokenizer"):
        fitted(encoder)


@pytest.mark.parametrize(("bad", "message"), [(np.nan, "NaN"), (0.0, "zero")])
def test_unusable_vectors_are_refused(bad, message):
    class Bad(Taught):
        def encode(self, texts):
            return np.full((len(texts), DIMENSIONS), bad)

    with pytest.raises(InvalidInputError, match=message):
        fitted(Bad())


def test_a_space_of_another_encoder_is_not_measured():
    with pytest.raises(InvalidInputError, match="is to be measured with the encoder 'other'"):
        measure_prediction(fitted(), Taught("other"), sentences(20))


@pytest.mark.parametrize(
    ("name", "value"),
    [("epochs", 0), ("batch", 1), ("rate", 0), ("temperature", -1), ("kl_weight", -1), ("sif", 0)],
)
def test_settings_out_of_range_are_refused(name, value):
    with pytest.raises(SoftCosineError, match=f"{name} is"):
        FitSettings(**{name: value})
