"""One encoder for documents, another of its space for queries, and vectors cut short."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import softcosine as sc
from oracle import soft_cosine
from sharded import built
from softcosine.cluster.sharded_index import ShardedIndex
from softcosine.encoders.loading import load_encoder
from softcosine.errors import InvalidInputError, MalformedFileError
from tiny_onnx import weights, write_encoder

pytest.importorskip("onnxruntime")
pytest.importorskip("tokenizers")

WORDS = ["flat", "tyre", "moon", "rises", "green", "tea", "puncture", "mend", "query", "passage"]
TEXTS = {"bike": "flat tyre", "moon": "moon rises", "tea": "green tea", "mend": "mend puncture"}
QUERY = "puncture tyre"
TABLE = weights(WORDS, 4)
DENSE = np.random.default_rng(1).normal(size=(4, 6)).astype(np.float32)
PROMPTS = {"query": "query ", "document": "passage "}


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Exports of one model, the second less precise and with prompts, and three others."""
    root = tmp_path_factory.mktemp("models")
    given = {
        "docs": (TABLE, DENSE, None),
        "queries": (TABLE.round(1), DENSE.round(1), PROMPTS),
        "stranger": (weights(WORDS, 4, seed=2), DENSE, None),
        "narrow": (TABLE, DENSE[:, :5], None),
        "later/docs": (weights(WORDS, 4, seed=3), DENSE, None),
    }
    return {
        name: write_encoder(root / name, WORDS, table, dense, prompts=prompts)
        for name, (table, dense, prompts) in given.items()
    }


def expected(text: str, *, digits: int = 9) -> np.ndarray:
    table, dense = TABLE.round(digits), DENSE.round(digits)
    numbers = [1 + WORDS.index(word) for word in text.split()]
    return table[numbers].astype(float).mean(axis=0) @ dense


def cosines(query: np.ndarray, length: int = 6) -> dict[str, float]:
    documents = np.array([expected(text) for text in TEXTS.values()])[:, :length]
    found = soft_cosine(query[np.newaxis, :length], documents, np.eye(length))[0]
    return dict(zip(TEXTS, found.tolist(), strict=True))


def by_meaning(index: sc.SoftIndex | ShardedIndex) -> dict[str, float]:
    weight = index.snapshot.settings.meaning_weights["soft_bm25"]
    every = index.search(QUERY, k=9, ask="encoder")
    words = {hit.id: hit.score for hit in index.search(QUERY, k=9, ask="words")}
    return {hit.id: (hit.score - words.get(hit.id, 0.0)) / weight for hit in every}


def test_a_dense_layer_is_run_by_the_whole_model(models: dict[str, Path]) -> None:
    encoder = load_encoder(models["docs"])
    assert encoder.dimensions == 6
    found = encoder.encode(list(TEXTS.values()))
    assert found == pytest.approx(np.array([expected(text) for text in TEXTS.values()]), rel=1e-5)


def test_a_dense_layer_that_is_not_in_the_file_is_refused(tmp_path: Path) -> None:
    folder = write_encoder(tmp_path / "m", WORDS, TABLE, DENSE, outputs=["token_embeddings"])
    with pytest.raises(MalformedFileError, match="a module Dense, and its file no output sentence"):
        load_encoder(folder)
    (folder / "2_Dense" / "config.json").unlink()
    with pytest.raises(MalformedFileError, match="dimensions, max_tokens or normalize is missing"):
        load_encoder(folder)


@pytest.mark.parametrize("way", ["memory", "folder", "queries alone", "shards"])
def test_queries_are_read_by_their_own_encoder(
    way: str, models: dict[str, Path], tmp_path: Path
) -> None:
    docs, queries = str(models["docs"]), str(models["queries"])
    options = {"plain": True, "language": "none"}
    index = sc.SoftIndex.from_texts(TEXTS.values(), ids=TEXTS, encoder=(docs, queries), **options)
    if way == "shards":
        built(tmp_path / "a.shards", list(TEXTS.values()), encoder=docs, **options)
        with pytest.raises(InvalidInputError, match=r"needed is 0\.5"):
            ShardedIndex.open(tmp_path / "a.shards", encoder=(None, str(models["stranger"])))
        index = ShardedIndex.open(tmp_path / "a.shards", encoder=(docs, queries))
    elif way != "memory":
        index.save(tmp_path / "a.index")
        pair = (None, queries) if way == "queries alone" else (docs, queries)
        index = sc.SoftIndex.open(tmp_path / "a.index", encoder=pair)
    hits = index.search(QUERY, k=9)
    assert "the query was encoded by queries" in hits.plan.reason
    assert hits.plan.ranks == "words and meaning (by docs)"
    query = expected(f"query {QUERY}", digits=1)
    found, of_all = by_meaning(index), cosines(query)
    if way == "shards":
        of_all = {f"d{number}": one for number, one in enumerate(of_all.values())}
    assert found.keys() >= {id for id, cosine in of_all.items() if cosine > 0.3}
    for id, cosine_found in found.items():
        assert cosine_found == pytest.approx(of_all[id], abs=0.02)  # documents are int8


def test_others_are_refused_before_they_rank(models: dict[str, Path], tmp_path: Path) -> None:
    docs, path = str(models["docs"]), tmp_path / "a.index"
    sc.SoftIndex.from_texts(TEXTS.values(), ids=TEXTS, encoder=docs, language="none").save(path)
    for other, found in (
        ((None, str(models["stranger"])), r"median cosine of -?0\.\d\d with them; needed is 0\.5"),
        ((docs, str(models["stranger"])), r"needed is 0\.5"),
        ((None, str(models["narrow"])), "5 dimensions in place of 6"),
        (str(models["later/docs"]), r"needed is 0\.9. Take the version that read them"),
        ((docs,), "needed is one encoder, or a pair"),
        ((docs, None), "needed is one encoder, or a pair"),
        ((docs, docs, docs), "needed is one encoder, or a pair"),
        ((str(models["queries"]), docs), "the encoder given is 'queries'"),
    ):
        with pytest.raises(InvalidInputError, match=found):
            sc.SoftIndex.open(path, encoder=other)  # type: ignore[arg-type]
    with pytest.raises(InvalidInputError, match=r"needed is 0\.5"):
        sc.SoftIndex.from_texts(["tea"], encoder=(docs, str(models["stranger"])))
    with pytest.raises(InvalidInputError, match="an encoder of queries was given, and none of doc"):
        sc.SoftIndex.from_texts(["tea"], encoder=(None, docs))


def test_an_encoder_of_queries_reads_no_documents(models: dict[str, Path], tmp_path: Path) -> None:
    docs, queries, path = str(models["docs"]), str(models["queries"]), tmp_path / "a.index"
    sc.SoftIndex.from_texts(TEXTS.values(), ids=TEXTS, encoder=docs, language="none").save(path)
    index = sc.SoftIndex.open(path, encoder=(None, queries))
    with index.writer() as writer, pytest.raises(InvalidInputError, match="'docs' of this index"):
        writer.add("new", "moon tea")
    both = sc.SoftIndex.open(path, encoder=(docs, queries))
    with both.writer() as writer:
        writer.add("new", "moon tea")
    assert both.snapshot.n_encoded == 5
    assert "encoded by queries" in both.search(QUERY).plan.reason


def test_an_index_without_texts_is_not_checked(models: dict[str, Path], tmp_path: Path) -> None:
    path = tmp_path / "a.index"
    sc.SoftIndex.from_texts(
        TEXTS.values(), encoder=str(models["docs"]), keep_texts=False, language="none"
    ).save(path)
    assert sc.SoftIndex.open(path, encoder=(None, str(models["queries"]))).search(QUERY)


@pytest.mark.parametrize("kept", [1, 3, 6])
def test_vectors_are_cut_to_their_first_components(kept: int, models: dict[str, Path]) -> None:
    index = sc.SoftIndex.from_texts(
        TEXTS.values(), ids=TEXTS, encoder=str(models["docs"]), meaning_space=kept, plain=True,
        language="none",
    )  # fmt: skip
    assert index.snapshot.meaning.dimensions == kept
    of_all = cosines(expected(QUERY), kept)
    for id, found in by_meaning(index).items():
        assert found == pytest.approx(of_all[id], abs=0.02)


def test_components_to_keep_are_checked(models: dict[str, Path]) -> None:
    for wrong in (0, 7, True):
        with pytest.raises(InvalidInputError, match=r"meaning_space .* from 1 to 6"):
            sc.SoftIndex.from_texts(["tea"], encoder=str(models["docs"]), meaning_space=wrong)
    with pytest.raises(InvalidInputError, match="a number as meaning_space cuts vectors"):
        sc.SoftIndex.from_texts(["tea"], encoder="static", meaning_space=3)


def test_commands_take_an_encoder_of_queries(run, models: dict[str, Path], tmp_path: Path) -> None:
    file, path = tmp_path / "docs.jsonl", tmp_path / "a.index"
    lines = [json.dumps({"id": id, "text": text}) for id, text in TEXTS.items()]
    file.write_text("\n".join(lines), "utf-8")
    run("index", file, "-o", path, "--encoder", models["docs"], "--meaning-space", "4",
        "--language", "none")  # fmt: skip
    assert sc.SoftIndex.open(path).snapshot.meaning.dimensions == 4
    given = ("--query-encoder", models["queries"])
    assert "encoded by queries" in run("search", path, QUERY, "--plan", *given)
    assert json.loads(run("explain", path, QUERY, "mend", "--json", *given))["score"] > 0
    refused = run("search", path, QUERY, "--query-encoder", models["stranger"], code=2)
    assert "does not give the coordinates" in refused
