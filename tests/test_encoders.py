"""Sentence encoders: by name, on ONNX Runtime, and many texts with a cache."""

from __future__ import annotations

import json
import pickle
import shutil
import sys
import types
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from softcosine._progress import silent
from softcosine.encoders import loading
from softcosine.encoders.encoder import Prompts, card_languages
from softcosine.encoders.encoding import encode_texts
from softcosine.encoders.loading import canonical_name, load_encoder
from softcosine.encoders.onnx_encoder import OnnxEncoder
from softcosine.encoders.onnx_folder import OnnxFolder
from softcosine.encoders.vector_cache import VectorCache
from softcosine.errors import (
    InvalidInputError,
    MalformedFileError,
    MissingDependencyError,
    SoftCosineWarning,
)
from softcosine.index.encoding import IndexEncoder

LONG = "a long text, whose key in the cache is a digest " * 3
TEXTS = ["tyre", "", "a flat tyre", LONG, " \t", "tyre", "\ud800", LONG + "x"]


class Counting:
    """Encoder that records the texts it encodes."""

    name = "counting"
    dimensions = 3
    max_tokens = 5

    def __init__(self) -> None:
        self.texts: list[str] = []

    def n_truncated(self, texts: list[str]) -> int:
        return sum(len(text.split()) > self.max_tokens for text in texts)

    def encode(self, texts: list[str]) -> NDArray[np.float64]:
        self.texts += texts
        return np.array([vector(text) for text in texts])


def vector(text: str) -> list[float]:
    return [1.0 + len(text), float(ord(text[0])), float(len(text.split()))]


def encoded(encoder: Any, texts: list[str], **options: Any) -> NDArray[np.float32]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SoftCosineWarning)
        return encode_texts(encoder, texts, **options)


@given(st.lists(st.sampled_from(TEXTS)), st.integers(1, 4))
def test_each_text_gets_its_vector_and_is_encoded_once(texts: list[str], batch_size: int) -> None:
    encoder = Counting()
    found = encoded(encoder, texts, batch_size=batch_size)
    expected = [vector(text) if text.strip() else [0.0] * 3 for text in texts]
    assert found.dtype == np.float32
    assert found.tolist() == np.array(expected, np.float32).reshape(-1, 3).tolist()
    assert sorted(encoder.texts) == sorted({text for text in texts if text.strip()})


def test_an_interrupted_run_continues(tmp_path: Path) -> None:
    texts = [f"text {i:03}" for i in range(10)]
    first, second, third = Counting(), Counting(), Counting()
    calls: list[tuple[int, int]] = []

    def interrupt(done: int, total: int) -> None:
        calls.append((done, total))
        if done == 6:
            raise KeyboardInterrupt

    cache = VectorCache(tmp_path / "c", "counting")
    with pytest.raises(KeyboardInterrupt):
        encode_texts(first, texts, cache=cache, progress=interrupt, batch_size=3)
    assert calls == [(3, 10), (6, 10)]
    found = encode_texts(second, texts, cache=cache)
    assert len(second.texts) == 4
    assert found.tolist() == encode_texts(third, texts).tolist()


def test_long_texts_are_cached_by_their_digests(tmp_path: Path) -> None:
    encoder = Counting()
    found = encoded(encoder, TEXTS, cache=VectorCache(tmp_path / "c", "counting"))
    again = Counting()
    other = VectorCache(tmp_path / "c", "counting")
    assert encoded(again, TEXTS, cache=other).tobytes() == found.tobytes()
    assert again.texts == []
    assert LONG.encode() not in (tmp_path / "c").read_bytes()
    encoded(again, TEXTS, cache=VectorCache(tmp_path / "c", "another model"))
    assert sorted(again.texts) == sorted(encoder.texts)


def test_texts_longer_than_the_encoder_reads_are_counted_once() -> None:
    with pytest.warns(SoftCosineWarning, match=r"2 of 5 .* the 5 tokens that counting re") as told:
        encode_texts(Counting(), TEXTS, batch_size=1)
    assert len(told) == 1


BAD: dict[str, tuple[Callable[[list[str]], object], str]] = {
    "NaN": (lambda texts: [[1.0, 2.0, np.nan]] * len(texts), "'a' holds NaN or infinity"),
    "zero": (lambda texts: np.zeros((len(texts), 3)), "'a' is zero; leave the text out"),
    "rows": (lambda texts: np.ones((1, 3)), r"shape \(1, 3\) for 2 texts; needed is \(2, d"),
    "dimensions": (lambda texts: np.ones((len(texts), 4)), "4 dimensions; needed are 3"),
    "complex": (lambda texts: np.full((len(texts), 3), 1 + 2j), "no array of .* are complex"),
    "large": (lambda texts: np.full((len(texts), 3), 1e300), "'a' holds NaN or infinity"),
    "strings": (lambda texts: [["x"]] * len(texts), "no array of numbers for 2 texts"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_results_are_refused_and_not_cached(name: str, tmp_path: Path) -> None:
    encoder = Counting()
    encode, message = BAD[name]
    encoder.encode = encode  # type: ignore[method-assign,assignment]
    cache = VectorCache(tmp_path / "c", "counting")
    with pytest.raises(InvalidInputError, match=message):
        encode_texts(encoder, ["a", "b"], cache=cache)
    assert cache.get(["a", "b"]) == {}


def test_functions_and_objects_get_a_name() -> None:
    encoder = Counting()
    assert load_encoder(encoder) is encoder
    named = load_encoder(encoder.encode, name="mine")
    assert (named.name, named.dimensions, named.max_tokens) == ("mine", None, None)
    assert encode_texts(named, ["tyre"]).tolist() == [vector("tyre")]
    assert load_encoder(encoder, name="mine").name == "mine"
    with pytest.raises(InvalidInputError, match="the encoder has no name; add name="):
        load_encoder(lambda texts: np.ones((len(texts), 2)))
    with pytest.raises(InvalidInputError, match="the encoder has no name; add name="):
        load_encoder(encoder.encode, name=" ")
    with pytest.raises(InvalidInputError, match="the model is of type int; needed is the name"):
        load_encoder(3, name="three")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("sizes", "message"),
    [
        ({"dimensions": "3"}, "dimensions of the encoder 'counting' is '3'"),
        ({"dimensions": 2.5}, "dimensions of the encoder 'counting' is 2.5"),
        ({"max_tokens": "many"}, "max_tokens of the encoder 'counting' is 'many'"),
        ({"n_truncated": lambda texts: "two"}, "n_truncated.. of .* is 'two'; it must be a whole"),
        ({"n_truncated": lambda texts: None}, "n_truncated.. of .* is None"),
    ],
)
def test_sizes_that_are_no_numbers_are_named(sizes: dict[str, Any], message: str) -> None:
    encoder = Counting()
    vars(encoder).update(sizes)
    with pytest.raises(InvalidInputError, match=message):
        encode_texts(load_encoder(encoder), TEXTS)


class SentenceTransformer:
    """Stands for the class of sentence-transformers."""

    max_seq_length = 4
    made: list[tuple[str, dict[str, Any]]]

    def __init__(self, place: str, **options: Any) -> None:
        self.made.append((place, options))
        if place == "nowhere":
            raise OSError("no file named config.json\nand more")

    def bfloat16(self) -> None:
        self.made.append(("bfloat16", {}))

    def get_sentence_embedding_dimension(self) -> int:
        return 3

    def tokenizer(self, texts: list[str], **options: Any) -> dict[str, list[list[int]]]:
        return {"input_ids": [[1, *range(len(text.split())), 2] for text in texts]}

    def encode(self, texts: list[str], **options: Any) -> NDArray[np.float64]:
        return Counting().encode(texts)


@pytest.fixture
def by_torch(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, dict[str, Any]]]:
    SentenceTransformer.made = []
    module = types.ModuleType("sentence_transformers")
    module.SentenceTransformer = SentenceTransformer  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "sentence_transformers", module)
    return SentenceTransformer.made


NAMES = ["minilm", "all-MiniLM-L6-v2", "sentence-transformers/all-MiniLM-L6-v2"]


@pytest.mark.parametrize("name", NAMES)
def test_minilm_is_found_in_the_package_that_is_there(
    name: str, monkeypatch: pytest.MonkeyPatch, by_torch: list[tuple[str, dict[str, Any]]]
) -> None:
    assert canonical_name(name) == "all-MiniLM-L6-v2"
    monkeypatch.setitem(sys.modules, "softcosine_minilm", None)
    assert load_encoder(name).name == "all-MiniLM-L6-v2"
    assert load_encoder(name, download=False).name == "all-MiniLM-L6-v2"
    assert by_torch == [
        (NAMES[2], {"device": None, "local_files_only": False}),
        (NAMES[2], {"device": None, "local_files_only": True}),
    ]
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    with pytest.raises(
        MissingDependencyError, match=r"pip install \./packages/softcosine-minilm '\.\[e"
    ):
        load_encoder(name)


def test_other_names_are_models_of_sentence_transformers(
    by_torch: list[tuple[str, dict[str, Any]]], monkeypatch: pytest.MonkeyPatch
) -> None:
    encoder = load_encoder("some/model", device="cpu")
    assert (encoder.name, encoder.dimensions, encoder.max_tokens) == ("some/model", 3, 4)
    with pytest.warns(SoftCosineWarning, match=r"1 of 2 texts .* 4 tokens that some/model reads"):
        assert encode_texts(encoder, ["tyre", "a flat tyre"]).shape == (2, 3)
    assert load_encoder("minilm", device="cpu").name == "all-MiniLM-L6-v2"  # not by ONNX
    with pytest.raises(InvalidInputError, match=r"'nowhere' could not .*config.json\); give a"):
        load_encoder("nowhere")
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    with pytest.raises(MissingDependencyError, match=r"'softcosine\[sentence-transformers\]'"):
        load_encoder("some/model")


def onnx_folder(folder: Path, **files: Any) -> Path:
    """Folder of an encoder without its weights; files are given by stem, None for no file."""
    content: dict[str, Any] = {
        "model.onnx": "", "tokenizer.json": {}, "modules.json": None,
        "config.json": {"hidden_size": 3, "max_position_embeddings": 8},
        "1_Pooling/config.json": {"pooling_mode_mean_tokens": True}, **files,
    }  # fmt: skip
    for name, written in content.items():
        if written is not None:
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            text = written if isinstance(written, str) else json.dumps(written)
            (folder / name).write_text(text, "utf-8")
    return folder


def test_onnx_models_of_the_hub_are_in_its_cache(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, by_torch: list[tuple[str, dict[str, Any]]]
) -> None:
    hub, asked = types.ModuleType("huggingface_hub"), []
    folder = onnx_folder(tmp_path)

    def snapshot_download(name: str, *, allow_patterns: list[str], local_files_only: bool) -> str:
        asked.append((name, local_files_only))
        if name == "no/such":
            raise OSError("404 Client Error: no such repository")
        assert {"onnx/model.onnx", "tokenizer.json", "config.json"} <= set(allow_patterns)
        return str(folder)

    hub.snapshot_download = snapshot_download  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "huggingface_hub", hub)
    monkeypatch.setattr(loading, "OnnxEncoder", lambda path, *, name, threads: (path, name))
    assert load_encoder("hub:some/model") == (folder, "some/model")
    assert load_encoder(f"hub:{NAMES[2]}", download=False) == (folder, "all-MiniLM-L6-v2")
    assert asked == [("some/model", False), (NAMES[2], True)]
    assert load_encoder("hub:some/model", device="cpu").name == "some/model"  # by torch
    with pytest.raises(
        InvalidInputError, match=r"'no/such' .* cannot be had from the Hugging Face"
    ):
        load_encoder("hub:no/such")
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    with pytest.raises(MissingDependencyError, match=r"'softcosine\[huggingface\]'"):
        load_encoder("hub:some/model")


def modules(*names: str) -> list[dict[str, str]]:
    return [{"type": f"sentence_transformers.models.{name}"} for name in names]


def test_settings_are_read_from_the_files_of_sentence_transformers(tmp_path: Path) -> None:
    read = OnnxFolder.read(onnx_folder(tmp_path / "mine"))
    assert (read.name, read.dimensions, read.max_tokens) == ("mine", 3, 8)
    assert (read.pooling, read.normalize, read.languages) == ("mean", True, ())
    files = {
        "model.onnx": None,
        "onnx/model.onnx": "",
        "sentence_bert_config.json": {"max_seq_length": 6},
        "1_Pooling/config.json": {"pooling_mode_cls_token": True},
        "modules.json": modules("Transformer", "Pooling"),
        "README.md": "---\nlicense: mit\nlanguage:\n- en\n- de\ntags:\n- x\n---\nlanguage: fr",
    }
    read = OnnxFolder.read(onnx_folder(tmp_path / "other", **files))
    assert (read.max_tokens, read.pooling, read.normalize) == (6, "cls", False)
    assert (read.model.parent.name, read.languages) == ("onnx", ("en", "de"))


@pytest.mark.parametrize(
    ("card", "languages"),
    [
        ("---\nlanguage: en\n---\n", ("en",)), ('---\nlanguage: ["en", de]\n---', ("en", "de")),
        ("---\nlicense: mit\n---\nlanguage: en", ()), ("# A model", ()), ("", ()),
    ],
)  # fmt: skip
def test_the_header_of_a_model_card_names_languages(card: str, languages: tuple[str, ...]) -> None:
    assert card_languages(card) == languages


def test_minilm_is_for_english() -> None:
    data = Path(__file__).parents[1] / "packages/softcosine-minilm/src/softcosine_minilm/data"
    assert OnnxFolder.read(data).languages == ("en",)


PROMPTS = "config_sentence_transformers.json"

MALFORMED: dict[str, tuple[dict[str, Any], str]] = {
    "model": ({"model.onnx": None}, "no ONNX model; needed is model.onnx or onnx/model.onnx"),
    "tokenizer": ({"tokenizer.json": None}, "needed is unigram.npz or tokenizer.json"),
    "config": ({"config.json": "{"}, "config.json: not readable as JSON"),
    "dimensions": ({"config.json": {}}, "config.json: dimensions, max_tokens or normalize"),
    "module": ({"modules.json": modules("CNN")}, "a module CNN; only Transformer, Pooling"),
    "prompts": ({PROMPTS: {"prompts": {"query": 3}}}, "prompts is {'query': 3}; needed are texts"),
    "default prompt": (
        {PROMPTS: {"prompts": {"query": "q: "}, "default_prompt_name": "passage"}},
        "the default prompt is 'passage'; prompts has query",
    ),
    "prompts left out": (
        {
            PROMPTS: {"prompts": {"query": "q: "}},
            "1_Pooling/config.json": {"pooling_mode_mean_tokens": True, "include_prompt": False},
        },
        "leaves prompts out of the mean",
    ),
    "pooling": (
        {"1_Pooling/config.json": {"pooling_mode_max_tokens": True}},
        "pooling is 'pooling_mode_max_tokens'; it must be mean or cls",
    ),
}


@pytest.mark.parametrize("name", MALFORMED)
def test_a_malformed_folder_is_refused(name: str, tmp_path: Path) -> None:
    files, message = MALFORMED[name]
    with pytest.raises(MalformedFileError, match=message):
        OnnxEncoder(onnx_folder(tmp_path, **files))


def test_a_folder_that_was_downloaded_in_half_is_no_model_for_torch(tmp_path: Path) -> None:
    with pytest.raises(MalformedFileError, match=r"needed is unigram\.npz or tokenizer\.json"):
        load_encoder(onnx_folder(tmp_path, **{"tokenizer.json": None}))


def test_missing_packages_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with pytest.raises(MissingDependencyError, match=r"onnxruntime.*'\.\[encoder\]'"):
        load_encoder(onnx_folder(tmp_path))


@pytest.mark.parametrize("package", ["softcosine_minilm", "onnxruntime", "tokenizers"])
def test_the_package_that_minilm_lacks_is_named(
    package: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    absent = (package, "sentence_transformers")
    for name in ("softcosine_minilm", "onnxruntime", "tokenizers"):
        monkeypatch.setitem(sys.modules, name, types.ModuleType(name))
    sys.modules["softcosine_minilm"].folder = None
    for name in absent:
        monkeypatch.setitem(sys.modules, name, None)
    needed = f"needs the package {package.replace('_', '-')}, .*'..encoder.'"
    with pytest.raises(MissingDependencyError, match=needed):
        load_encoder("minilm")


def test_damaged_weights_are_refused(tmp_path: Path) -> None:
    pytest.importorskip("onnxruntime")
    pytest.importorskip("tokenizers")
    with pytest.raises(MalformedFileError, match=r"the (model|tokenizer) cannot be loaded: "):
        load_encoder(onnx_folder(tmp_path))


@pytest.mark.parametrize("bug", [TypeError, ValueError, RuntimeError])
def test_a_bug_of_the_library_is_not_taken_for_a_damaged_model(
    bug: type[Exception], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("onnxruntime")

    def failing(path: Path, max_tokens: int | None) -> None:
        raise bug("ours")

    monkeypatch.setattr("softcosine.encoders.onnx_encoder.tokenizer_of", failing)
    with pytest.raises(bug, match=r"^ours$"):
        load_encoder(onnx_folder(tmp_path))


SENTENCES = [
    "How do I repair a bicycle?", "tyre", "", "\ud800 lone", "Ärger mit dem Reifen 🚲",
    "word " * 400, "A puncture in the inner tube is mended with a patch and glue.",
    "The tea is getting cold.",
]  # fmt: skip


@pytest.fixture(scope="module")
def minilm() -> OnnxEncoder:
    pytest.importorskip("onnxruntime")
    folder = pytest.importorskip("softcosine_minilm").folder()
    return OnnxEncoder(folder, threads=1)


def test_minilm_encodes_meaning(minilm: OnnxEncoder) -> None:
    assert (minilm.name, minilm.dimensions, minilm.max_tokens) == ("all-MiniLM-L6-v2", 384, 256)
    vectors = minilm.encode(SENTENCES)
    assert vectors.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, rtol=1e-6)
    near, far = vectors[[6, 7]] @ vectors[0]
    assert near > far + 0.2
    assert minilm.n_truncated(SENTENCES) == 1
    assert minilm.encode([]).shape == (0, 384)
    assert isinstance(load_encoder("minilm"), OnnxEncoder)


def test_a_text_has_the_same_bits_alone_in_a_list_and_on_any_threads(minilm: OnnxEncoder) -> None:
    expected = minilm.encode(SENTENCES)
    for i, text in enumerate(SENTENCES):
        assert minilm.encode([text])[0].tobytes() == expected[i].tobytes()
    for threads in (2, 5):
        other = load_encoder("minilm", threads=threads)
        assert other.encode(SENTENCES).tobytes() == expected.tobytes()
        assert other.encode(SENTENCES[::-1]).tobytes() == expected[::-1].tobytes()
    copied = pickle.loads(pickle.dumps(minilm))
    assert copied.encode(SENTENCES).tobytes() == expected.tobytes()


def test_a_folder_of_sentence_transformers_gives_the_same_vectors(
    minilm: OnnxEncoder, tmp_path: Path
) -> None:
    folder = sys.modules["softcosine_minilm"].folder()
    onnx_folder(tmp_path, **{"config.json": {"hidden_size": 384}, "model.onnx": None})
    (tmp_path / "onnx").mkdir()
    (tmp_path / "sentence_bert_config.json").write_text('{"max_seq_length": 256}', "utf-8")
    shutil.copy(folder / "model.onnx", tmp_path / "onnx")
    shutil.copy(folder / "tokenizer.json", tmp_path)
    other = load_encoder(tmp_path)
    assert other.name == tmp_path.name
    assert other.encode(SENTENCES).tobytes() == minilm.encode(SENTENCES).tobytes()  # type: ignore[attr-defined]


def test_queries_and_documents_begin_with_the_prompts_of_the_model(
    minilm: OnnxEncoder, tmp_path: Path
) -> None:
    folder = sys.modules["softcosine_minilm"].folder()
    prompts = {"prompts": {"query": "question: ", "passage": "answer: "}}
    onnx_folder(
        tmp_path, **{"config.json": {"hidden_size": 384}, "model.onnx": None, PROMPTS: prompts}
    )
    for file in ("model.onnx", "tokenizer.json"):
        shutil.copy(folder / file, tmp_path)
    encoder = IndexEncoder.of(str(tmp_path), tmp_path / "cache")
    assert Prompts.of_model(encoder.encoder) == ("question: ", "answer: ")
    space = encoder.space()
    query = encoder.query(space, "tyre")
    assert query.tolist() == space.unit(minilm.encode(["question: tyre"])[0]).tolist()
    for _ in range(2):  # the second time by the cache
        own = encoder.documents(space, ["tyre", " "], "english", silent)
        expected = space.coordinates(minilm.encode(["answer: tyre"]))
        assert own.tolist() == [expected[0].tolist(), [0] * 384]


def test_a_default_prompt_is_added_once() -> None:
    class Model:
        name, prompts, default_prompt_name = "prompted", {"document": "d: ", "any": "a: "}, "any"

        def encode(self, texts: list[str], prompt: str = "a: ") -> NDArray[np.float64]:
            return np.array([vector(prompt + text) for text in texts])

    encoder = IndexEncoder.of(Model())
    assert Prompts.of_model(encoder.encoder) == ("a: ", "d: ")
    space = encoder.space()
    expected = space.unit(np.array(vector("a: tyre"), np.float32))
    assert encoder.query(space, "tyre").tolist() == expected.tolist()


@pytest.mark.parametrize(
    ("source", "needed"),
    [
        ("", "softcosine-multilingual '.[multilingual]' in a clone of softcosine"),
        ("def fol", "softcosine-multilingual '.[multilingual]' in a clone of softcosine"),
        (
            "from pathlib import Path\ndef folder(): return Path(__file__).parent\n",
            "needed is model.onnx or onnx/model.onnx; install softcosine-multilingual anew.",
        ),
    ],
)
def test_half_a_package_of_an_encoder_is_an_error(tmp_path, monkeypatch, source, needed):
    pytest.importorskip("onnxruntime")
    package = tmp_path / "softcosine_multilingual"
    package.mkdir()
    (package / "__init__.py").write_text(source)
    monkeypatch.delitem(sys.modules, package.name, raising=False)
    monkeypatch.syspath_prepend(tmp_path)
    # Without the package the model is one of sentence-transformers, which may not be here either.
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    with pytest.raises((InvalidInputError, MissingDependencyError)) as error:
        load_encoder("multilingual")
    sys.modules.pop(package.name, None)
    assert str(error.value).endswith(needed)


def test_prompts_may_be_in_the_file_that_no_model_lacks(tmp_path: Path) -> None:
    """Of a package half of whose files are there, no vectors come without the prompts."""
    data = "packages/softcosine-multilingual/src/softcosine_multilingual/data"
    own = json.loads((Path(__file__).parents[1] / data / "config.json").read_text("utf-8"))
    folder = onnx_folder(tmp_path, **{"config.json": own, PROMPTS: {"prompts": {"query": "q: "}}})
    assert OnnxFolder.read(folder).prompts == Prompts("query: ", "passage: ")
