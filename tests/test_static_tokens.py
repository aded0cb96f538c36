"""Words made of WordPiece tokens; model2vec's folders, safetensors, and the hub's names."""

from __future__ import annotations

import gzip
import json
import sys
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.stats import spearmanr

from softcosine.errors import InvalidInputError, MalformedFileError, MissingDependencyError
from softcosine.similarity.embeddings.composed_vectors import ComposedVectors
from softcosine.similarity.embeddings.embedding import EmbeddingSimilarity
from softcosine.similarity.embeddings.vector_files import read_vectors
from softcosine.similarity.embeddings.word_pieces import WordPieces
from softcosine.similarity.registry import source_from_state

TOKENS = [
    "[PAD]", "[UNK]", "[CLS]", "un", "##fat", "##hom", "##able", "able", "tyre", "##s", "the",
    "-", "a", "##b", "ab", "##ba", "日", "本", "cafe", "##'", "é",
]  # fmt: skip
VECTORS = np.random.default_rng(0).standard_normal((len(TOKENS), 4)).astype(np.float32)
BERT = {
    "normalizer": {
        "type": "BertNormalizer",
        "clean_text": True,
        "handle_chinese_chars": True,
        "strip_accents": None,
        "lowercase": True,
    },
    "pre_tokenizer": {"type": "BertPreTokenizer"},
}


def cut(pieces: WordPieces, term: str, tokens: list[str] = TOKENS) -> list[str]:
    indptr, numbers = pieces.pieces([term])
    assert indptr.tolist() == [0, len(numbers)]
    return [tokens[number] for number in numbers]


CASES = {
    "unfathomable": ["un", "##fat", "##hom", "##able"],
    "Unfathomable": ["un", "##fat", "##hom", "##able"],
    "able": ["able"],
    "tyres": ["tyre", "##s"],
    "TYRE": ["tyre"],
    "aba": [],  # greedy: ab, then ##a is missing, though a ##ba would do
    "the-tyre": ["the", "-", "tyre"],
    "  the\ttyre ": ["the", "tyre"],
    "Café": ["cafe"],
    "日本": ["日", "本"],
    "unknown": [],
    "the unknown": ["the"],
    "[PAD]": [],
    "": [],
    "a" * 101: [],
}


@pytest.mark.parametrize("term", CASES)
def test_words_are_cut_greedily_into_pieces(term: str) -> None:
    assert cut(WordPieces(TOKENS), term) == CASES[term]


def tokenizer_file(
    steps: dict[str, Any], tokens: list[str] = TOKENS, *, kind: str = "WordPiece"
) -> dict[str, Any]:
    return {
        "added_tokens": [{"id": i, "content": tokens[i], "special": True} for i in range(3)],
        **steps,
        "model": {
            "type": kind,
            "unk_token": "[UNK]",
            "continuing_subword_prefix": "##",
            "max_input_chars_per_word": 100,
            "vocab": {token: i for i, token in enumerate(tokens)},
        },
    }


TOKENIZERS: dict[str, dict[str, Any]] = {
    "uncased": BERT,
    "cased": {
        "normalizer": {"type": "BertNormalizer", "lowercase": False},
        "pre_tokenizer": {"type": "BertPreTokenizer"},
    },
    "sequence": {
        "normalizer": {
            "type": "Sequence",
            "normalizers": [{"type": "NFD"}, {"type": "Lowercase"}, {"type": "StripAccents"}],
        },
        "pre_tokenizer": {"type": "BertPreTokenizer"},
    },
    "unchanged": {"normalizer": None, "pre_tokenizer": {"type": "BertPreTokenizer"}},
}
texts = st.text(
    # Of other classes some characters are classed differently by Python and by Rust.
    st.sampled_from("ables'tyrunfhom -éÉA日本\u0301\t\u200b_.B¿ẞİ²")
    | st.characters(
        max_codepoint=0x4FF,
        categories=["Lu", "Ll", "Lo", "Mn", "Nd", "No", "Pc", "Pd", "Po", "Sm", "Zs"],
    ),
    max_size=12,
)


@pytest.mark.parametrize("name", TOKENIZERS)
def test_the_tokenizers_library_cuts_the_same(name: str) -> None:
    tokenizers = pytest.importorskip("tokenizers")
    steps = TOKENIZERS[name]
    # Single characters as pieces, so that nearly all text can be cut.
    letters = "abcdefghijklmnopqrstuvwxyzßéÉABCL日本.-'_¿"
    tokens = [*TOKENS, *(c for c in letters if c not in TOKENS)]
    tokens += [f"##{c}" for c in letters if f"##{c}" not in tokens]
    file = tokenizer_file(steps, tokens)
    for step in ("normalizer", "pre_tokenizer"):
        if steps[step] and steps[step]["type"] == "BertNormalizer":
            full = {"clean_text": True, "handle_chinese_chars": True, "strip_accents": None}
            file[step] = {**full, **steps[step]}
    file |= {"version": "1.0", "truncation": None, "padding": None}
    file |= {"post_processor": None, "decoder": None}
    for token in file["added_tokens"]:
        token |= dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized"), False)
    theirs = tokenizers.Tokenizer.from_str(json.dumps(file))
    mine = WordPieces(tokens, steps)

    @given(texts)
    def same(text: str) -> None:
        if "ς" in text.lower() or "Σ" in text:
            return  # Python knows the sigma that ends a word
        expected = theirs.encode(text, add_special_tokens=False).tokens
        assert cut(mine, text, tokens) == [token for token in expected if token != "[UNK]"]

    same()


odd_texts = st.lists(
    texts
    | st.text(
        st.sampled_from("abAσΣς'’.:<=\u0338\u0301\u0307İ\xad日-_$ \x00\x01\x02\x0b\x1c\x7f\x85\xa0")
        | st.characters()
    )
    | st.sampled_from(["ab" * 60, "é" * 100, "é" * 101, "\ud800\udc00 ab", "\u037eb\u1fefa"]),
    max_size=6,
)  # fmt: skip


@pytest.mark.parametrize("prefix", ["##", ""])
@pytest.mark.parametrize("name", [*TOKENIZERS, "composed", "not cleaned"])
def test_many_texts_are_cut_as_one_word_after_the_other(name: str, prefix: str) -> None:
    more: dict[str, dict[str, Any]] = {
        "composed": {**BERT, "normalizer": {"type": "NFC"}},
        "not cleaned": {**BERT, "normalizer": {**BERT["normalizer"], "clean_text": False}},
    }
    letters = "abAsσςΣéi\u0307\x00\x01\x1c.'<=≮-日 \ud800"
    tokens = [*TOKENS, *letters, *(prefix + c for c in letters), "ab", prefix + "ab"]
    pieces = WordPieces(tokens, (TOKENIZERS | more)[name], prefix=prefix)

    @given(odd_texts)
    def same(given: list[str]) -> None:
        indptr, numbers = pieces.pieces(given)
        expected = [
            [number for word in pieces.split(text) for number in pieces.numbers(word)]
            for text in given
        ]
        assert [part.tolist() for part in np.split(numbers, indptr[1:-1])] == expected or not given
        assert indptr.tolist() == [0, *np.cumsum([*map(len, expected)])]

    same()


def test_a_word_is_the_mean_of_its_pieces() -> None:
    source = EmbeddingSimilarity.of_table(
        ComposedVectors(WordPieces(TOKENS), VECTORS), threshold=0.0, exponent=1.0
    )
    word = VECTORS[[3, 4, 5, 6]].astype(np.float64).mean(axis=0)
    for term, number in (("tyre", 8), ("the", 10), ("able", 7)):
        other = VECTORS[number].astype(np.float64)
        cosine = word @ other / np.linalg.norm(word) / np.linalg.norm(other)
        found = source.similarities(["Unfathomable"], [term]).item()
        assert found == pytest.approx(max(0.0, cosine), abs=1e-6)
    assert source.words == (
        "un", "able", "tyre", "the", "-", "a", "ab", "日", "本", "cafe", "é",
    )  # fmt: skip
    assert source.knows(["Unfathomable", "unknown", ""]).tolist() == [True, False, False]


def test_weights_rows_and_zero_pieces_are_honoured() -> None:
    vectors = np.array([[1, 0], [0, 1], [0, 0]], np.int8)
    pieces = WordPieces(["a", "b", "##b", "c", "##c"])
    table = ComposedVectors(
        pieces, vectors, weights=[2.0, 1.0, 1.0, 1.0, 0.0], rows=[0, 1, 1, 2, 0]
    )
    source = EmbeddingSimilarity.of_table(table, threshold=0.0, exponent=1.0)
    assert source.similarities(["ab"], ["a"]).item() == pytest.approx(2 / np.sqrt(5))
    assert source.similarities(["ac"], ["a"]).item() == 1.0
    assert source.knows(["c", "cc", "b"]).tolist() == [False, False, True]


@given(st.lists(st.sampled_from(["tyre", "unable", "nowhere", "the", "abs", "", "tyres"])))
def test_neither_repetition_nor_order_changes_a_composed_vector(terms: list[str]) -> None:
    table = ComposedVectors(WordPieces(TOKENS), VECTORS)
    place, numbers = table.look_up(terms)
    known = numbers >= 0
    units, _ = place.units(numbers[known])
    kept = [term for term, good in zip(terms, known.tolist(), strict=True) if good]
    for i, term in enumerate(kept):
        alone, own = table.look_up([term])
        assert alone.units(own)[0].tobytes() == units[i].tobytes()


def test_parts_that_are_gathered_do_not_change_a_bit(monkeypatch: pytest.MonkeyPatch) -> None:
    from softcosine.similarity.embeddings import composed_vectors

    terms = ["tyre", "unable", "nowhere", "unfathomables", "the"] * 3
    answers = set()
    for numbers in (1, 9, 1 << 20):
        monkeypatch.setattr(composed_vectors, "_NUMBERS", numbers)
        table = ComposedVectors(WordPieces(TOKENS), VECTORS)
        answers.add(table.of(terms).state()[1]["vectors"].tobytes())
    assert len(answers) == 1


def test_saved_then_built_anew_it_composes_the_same() -> None:
    table = ComposedVectors(
        WordPieces(TOKENS, TOKENIZERS["cased"]),
        VECTORS,
        weights=np.linspace(0.5, 2, len(TOKENS)),
        rows=np.arange(len(TOKENS))[::-1],
    )
    source = EmbeddingSimilarity.of_table(table, threshold=0.0)
    again = source_from_state(source.state())
    left, right = ["tyres", "TYRE", "unable"], ["the", "tyre", "unfathomable"]
    assert again.similarities(left, right).tobytes() == source.similarities(left, right).tobytes()
    assert again.knows(left).tolist() == [True, False, True]


def test_npz_with_suffix_pieces_is_composed(tmp_path: Path) -> None:
    path = tmp_path / "tokens.npz"
    np.savez(path, tokens=np.array(TOKENS), q=(VECTORS * 50).astype(np.int8))
    source = EmbeddingSimilarity.load(path)
    assert source.knows(["unfathomable"]).all()
    part = EmbeddingSimilarity.load(path, words=["Unfathomable", "tyre", "nowhere"])
    assert set(part.words) == {"Unfathomable", "tyre"}


def test_a_word_that_looks_like_a_suffix_piece_makes_no_tokenizer(tmp_path: Path) -> None:
    words = ["###", "U.S.", "Paris", *(f"w{i}" for i in range(300)), "##tag"]
    np.savez(tmp_path / "glove.npz", words=np.array(words), vectors=np.eye(len(words), 9) + 1)
    table = read_vectors(tmp_path / "glove.npz")
    assert table.words == tuple(words)
    assert table.look_up(["###", "U.S.", "Parisian"])[1].tolist() == [0, 1, -1]


def test_pieces_may_have_scales(tmp_path: Path) -> None:
    vectors, scales = np.array([[1, 2], [3, -4]], np.int8), np.array([0.5, 2.0])
    path = tmp_path / "pieces.npz"
    np.savez(path, tokens=np.array(["un", "##able"]), vectors=vectors, scales=scales)
    place, numbers = read_vectors(path).look_up(["unable"])
    np.testing.assert_allclose(place.units(numbers)[0][0], np.array([2, -4]) / 20**0.5, atol=1e-6)
    np.savez(path, tokens=np.array(["un", "##able"]), vectors=vectors, scales=np.ones(3))
    with pytest.raises(MalformedFileError, match="one number for each component, 2"):
        read_vectors(path)


def test_vectors_of_pieces_that_are_no_matrix_are_refused() -> None:
    with pytest.raises(InvalidInputError, match="different numbers of components"):
        ComposedVectors(WordPieces(["un", "##able"]), [[1.0, 2.0], [1.0]])
    with pytest.raises(InvalidInputError, match=r"shape \(2,\)"):
        ComposedVectors(WordPieces(["un", "##able"]), [1.0, 2.0])
    with pytest.raises(InvalidInputError, match="words is a single string"):
        ComposedVectors(WordPieces("un"), [[1.0, 2.0], [1.0, 3.0]])
    with pytest.raises(InvalidInputError, match="word 0 is 3, of type int"):
        ComposedVectors(WordPieces([3]), [[1.0, 2.0]])  # type: ignore[list-item]
    with pytest.raises(InvalidInputError, match="2 pieces but 1 vectors"):
        ComposedVectors(WordPieces(["un", "##able"]), [[1.0, 2.0]])


def test_sums_beyond_the_range_of_float32_keep_their_direction() -> None:
    pieces = WordPieces(["un", "##able"])
    source = EmbeddingSimilarity.of_table(
        ComposedVectors(pieces, np.array([[3e38, 3e38], [3e38, 3e38]], np.float32))
    )
    assert source.similarities(["unable"], ["un"]).item() == 1.0


def safetensors(arrays: dict[str, NDArray[Any]], types: dict[str, str] | None = None) -> bytes:
    names = {"f4": "F32", "f2": "F16", "f8": "F64", "i1": "I8", "i8": "I64", "u2": "BF16"}
    header: dict[str, Any] = {"__metadata__": {"format": "np"}}
    start = 0
    for name, array in arrays.items():
        header[name] = {
            "dtype": (types or {}).get(name, names[array.dtype.str[1:]]),
            "shape": array.shape,
            "data_offsets": [start, start + array.nbytes],
        }
        start += array.nbytes
    text = json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + b"".join(a.tobytes() for a in arrays.values())


def model_folder(folder: Path, **arrays: NDArray[Any]) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / "model.safetensors").write_bytes(safetensors(arrays or {"embeddings": VECTORS}))
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer_file(BERT)), encoding="utf-8")
    (folder / "config.json").write_text('{"model_type": "model2vec", "normalize": true}')
    return folder


def test_a_folder_of_model2vec_is_read(tmp_path: Path) -> None:
    folder = model_folder(tmp_path / "potion")
    expected = EmbeddingSimilarity.of_table(
        ComposedVectors(WordPieces(TOKENS), VECTORS), threshold=0.0
    )
    left, right = ["tyres", "unable", "日本"], ["tyre", "the", "able"]
    for path in (folder, folder / "model.safetensors"):
        source = EmbeddingSimilarity.load(path, threshold=0.0)
        found = source.similarities(left, right)
        assert found.tobytes() == expected.similarities(left, right).tobytes()
    part = EmbeddingSimilarity.load(folder, words=["Tyres", "un"])
    assert set(part.words) == {"Tyres", "un"}


def test_weights_and_mapping_of_model2vec_are_honoured(tmp_path: Path) -> None:
    mapping = np.arange(len(TOKENS))[::-1].copy()
    weights = np.linspace(0.1, 2, len(TOKENS)).astype(np.float32)
    folder = model_folder(tmp_path / "m", embeddings=VECTORS, weights=weights, mapping=mapping)
    expected = VECTORS[mapping] * weights[:, None]
    source = EmbeddingSimilarity.load(folder, threshold=0.0)
    other = EmbeddingSimilarity.of_table(
        ComposedVectors(WordPieces(TOKENS), expected), threshold=0.0
    )
    left, right = ["tyres", "unable"], ["tyre", "the"]
    np.testing.assert_allclose(
        source.similarities(left, right), other.similarities(left, right), atol=1e-6
    )


def test_a_static_model_of_sentence_transformers_is_read(tmp_path: Path) -> None:
    model_folder(tmp_path / "0_StaticEmbedding", **{"embedding.weight": VECTORS})
    assert EmbeddingSimilarity.load(tmp_path).knows(["unfathomable"]).all()


NUMBERS = {"F32": np.float32, "F16": np.float16, "F64": np.float64, "I8": np.int8}


def test_the_safetensors_library_writes_what_is_read(tmp_path: Path) -> None:
    writer = pytest.importorskip("safetensors.numpy")
    path = tmp_path / "x.safetensors"
    writer.save_file({"vectors": VECTORS, "other": VECTORS[:2]}, path, metadata={"a": "b"})
    with pytest.raises(MalformedFileError, match=r"no tokenizer\.json beside it"):
        read_vectors(path)
    (tmp_path / "tokenizer.json").write_text(json.dumps(tokenizer_file(BERT)), encoding="utf-8")
    assert len(read_vectors(path)) > 0


def changed(change: Callable[[dict[str, Any]], object]) -> bytes:
    file = tokenizer_file(BERT)
    change(file)
    return json.dumps(file).encode()


BROKEN: dict[str, tuple[str, bytes, str]] = {
    "another tokenizer": (
        "tokenizer.json", changed(lambda t: t["model"].update(type="Unigram")), "of type Unigram",
    ),
    "an unknown normalizer": (
        "tokenizer.json", changed(lambda t: t.update(normalizer={"type": "Magic"})),
        "normalises text by 'Magic', which is not known",
    ),
    "an unknown pre-tokenizer": (
        "tokenizer.json", changed(lambda t: t.update(pre_tokenizer={"type": "ByteLevel"})),
        "cuts text by 'ByteLevel'",
    ),
    "a tokenizer without tokens": (
        "tokenizer.json", changed(lambda t: t["model"].pop("vocab")), "not a readable tokenizer",
    ),
    "a tokenizer with a monstrous number": (
        "tokenizer.json", changed(lambda t: t["model"]["vocab"].update(x=2**63)),
        "not a readable tokenizer.*number 9223372036854775808",
    ),
    "a tokenizer without a prefix": (
        "tokenizer.json", changed(lambda t: t["model"].update(continuing_subword_prefix=None)),
        "not a readable tokenizer.*prefix is None",
    ),
    "a tokenizer that is no JSON": ("tokenizer.json", b"{", "not a readable tokenizer"),
    "fewer tokens": (
        "tokenizer.json", changed(lambda t: t["model"]["vocab"].popitem()), "20 pieces but 21 vec",
    ),
    "cut short": ("model.safetensors", safetensors({"e": VECTORS})[:-8], "was cut short"),
    "header cut short": ("model.safetensors", safetensors({"e": VECTORS})[:40], "was cut short"),
    "header damaged": (
        "model.safetensors", (9).to_bytes(8, "little") + b'{"a": 1, ' + bytes(9), "is damaged",
    ),
    "an unknown type": (
        "model.safetensors", safetensors({"e": VECTORS}, {"e": "F8_E5M2"}), "of type F8_E5M2; read",
    ),
    "no vectors": (
        "model.safetensors", safetensors({"a": VECTORS, "b": VECTORS}), "holds a, b; needed is",
    ),
    "the weights of an encoder": (
        "model.safetensors", safetensors({f"layer{i}": VECTORS for i in range(99)}),
        "layer3, layer4, ...; needed is .* is for EncoderSimilarity",
    ),
    "odd weights": (
        "model.safetensors", safetensors({"embeddings": VECTORS, "weights": VECTORS[0]}),
        r"weights have the shape \(4,\); there are 21",
    ),
    "odd mapping": (
        "model.safetensors",
        safetensors({"embeddings": VECTORS, "mapping": np.full(len(TOKENS), 99)}),
        "rows name vectors that are not among the 21",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_model_is_named(name: str, tmp_path: Path) -> None:
    file, content, message = BROKEN[name]
    folder = model_folder(tmp_path / "model")
    (folder / file).write_bytes(content)
    with pytest.raises(MalformedFileError, match=message) as raised:
        read_vectors(folder)
    assert str(folder) in str(raised.value)


def test_a_folder_without_a_model_is_named(tmp_path: Path) -> None:
    with pytest.raises(MalformedFileError, match=r"the folder has no model\.safetensors or 0_Stat"):
        read_vectors(tmp_path)


class Hub(types.ModuleType):
    """Stands for the hub: no test reaches the network."""

    def __init__(self, folder: Path) -> None:
        super().__init__("huggingface_hub")
        self.folder = folder
        self.asked: list[str] = []

    def snapshot_download(
        self, name: str, allow_patterns: list[str], local_files_only: bool
    ) -> str:
        assert "model.safetensors" in allow_patterns
        assert not local_files_only
        self.asked.append(name)
        if not name.startswith("minishlab/"):
            raise OSError("404 Client Error: no such repository")
        return str(self.folder)


def test_a_name_is_fetched_from_the_hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hub = Hub(model_folder(tmp_path / "snapshot"))
    monkeypatch.setitem(sys.modules, "huggingface_hub", hub)
    source = EmbeddingSimilarity.from_pretrained("minishlab/potion-base-4M", threshold=0.5)
    assert source.knows(["unfathomable"]).all()
    assert source.threshold == 0.5
    part = EmbeddingSimilarity.from_pretrained("minishlab/potion-base-4M", words=["tyre"])
    assert part.words == ("tyre",)
    with pytest.raises(InvalidInputError, match="'no/such' is no folder here and cannot be had"):
        EmbeddingSimilarity.from_pretrained("no/such")
    assert hub.asked == [*["minishlab/potion-base-4M"] * 2, "no/such"]
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    assert EmbeddingSimilarity.from_pretrained(str(hub.folder)).knows(["tyre"]).all()
    with pytest.raises(MissingDependencyError, match=r"pip install 'softcosine\[huggingface\]'"):
        EmbeddingSimilarity.from_pretrained("minishlab/potion-base-4M")


@pytest.mark.data
def test_the_reference_tokens_agree_with_people_as_published(data: Path) -> None:
    source = EmbeddingSimilarity.load(
        data / "vectors" / "potion_base_4m_int8.npz", threshold=0.0, exponent=1.0
    )
    with gzip.open(data / "wordsim" / "EN-WS-353-ALL.txt.gz", "rt", encoding="utf-8") as file:
        rows = [line.split() for line in file if line.strip()]
    left, right = [row[0] for row in rows], [row[1] for row in rows]
    scores = np.array([float(row[2]) for row in rows])
    similarities = source.similarities(left, right)
    assert source.knows(left + right).all()
    whole = set(source.words)
    kept = [i for i, row in enumerate(rows) if {row[0].lower(), row[1].lower()} <= whole]
    assert len(kept) == 329
    assert spearmanr(similarities[kept], scores[kept])[0] == pytest.approx(0.715, abs=0.003)
    # Words that have to be cut into pieces are known less well.
    assert spearmanr(similarities, scores)[0] == pytest.approx(0.660, abs=0.003)
