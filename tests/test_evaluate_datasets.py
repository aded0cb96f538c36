"""Data sets: what is read from files as they are published, and what is said of broken ones."""

from __future__ import annotations

import gzip
import html
import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from softcosine.errors import (
    AlreadyExistsError,
    DuplicateIdError,
    InvalidInputError,
    MalformedFileError,
)
from softcosine.evaluate.datasets import (
    ClassificationSet,
    PairSet,
    RankingSet,
    Split,
    WordPairSet,
    load,
    read_collection,
    read_qrels,
    seeded_splits,
)
from softcosine.evaluate.datasets.grades import NOT_JUDGED
from softcosine.evaluate.documents import Documents
from softcosine.evaluate.runs import Run


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix == ".gz":
        path.write_bytes(gzip.compress(text.encode()))
    else:
        path.write_text(text, encoding="utf-8")
    return path


def json_lines(*rows) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


CORPUS = json_lines(
    {"_id": "a", "title": "Tyres", "text": "a flat tyre", "metadata": {}},
    {"_id": "b", "title": "", "text": "green tea"},
)
ASKED = json_lines({"_id": "q1", "text": "puncture"}, {"_id": "q2", "text": "tea"})
QRELS = "query-id\tcorpus-id\tscore\nq1\ta\t1\nq2\tb\t2\nq2\ta\t0\n"


@pytest.fixture
def folder(tmp_path) -> Path:
    """A folder as BEIR lays it out."""
    write(tmp_path / "toy" / "corpus.jsonl", CORPUS)
    write(tmp_path / "toy" / "queries.jsonl", ASKED)
    write(tmp_path / "toy" / "qrels" / "test.tsv", QRELS)
    return tmp_path / "toy"


def test_a_folder_as_beir_lays_it_out(folder):
    found = load(folder)
    assert isinstance(found, RankingSet)
    assert found.name == "toy"
    assert found.documents.ids == ("a", "b")
    assert found.documents.fields == {"title": ["Tyres", ""], "text": ["a flat tyre", "green tea"]}
    assert found.documents.texts == ["Tyres\na flat tyre", "green tea"]
    assert found.queries.fields == {"text": ["puncture", "tea"]}
    assert found.qrels == {"q1": {"a": 1}, "q2": {"b": 2, "a": 0}}
    assert (found.candidates, found.splits, found.notes) == (None, None, ())


def test_several_files_of_judgements_are_parts(folder):
    write(folder / "qrels" / "train.tsv", "q1\ta\t1\n")
    write(folder / "qrels" / "test.tsv", "q2\tb\t1\n")
    found = load(folder)
    assert found.splits == {"q1": "train", "q2": "test"}
    assert found.split_names == ("train", "test")
    part = load(folder, split="test")
    assert part.judged.ids == ("q2",)
    assert part.documents.ids == ("a", "b")
    assert part.name == "toy (test)"
    with pytest.raises(InvalidInputError, match="toy has no part 'dev'; it has train, test"):
        found.part("dev")


TREC = """<DOC>
<DOCNO> FT-1 </DOCNO>
<HEADLINE>Tyres &amp; tubes</HEADLINE>
<TEXT>
A <F P=1>flat</F> tyre, AT&T.
</TEXT>
</DOC>
<DOC><DOCNO>FT-2</DOCNO>green tea</DOC>
"""
TOPICS = """<top>
<num> Number: 301
<title> flat tyres
<desc> Description:
What to do about
a puncture?
<narr> Narrative:
Anything relevant.
</top>
<top><num>302</num><title>Topic: tea</title></top>
"""


@pytest.mark.parametrize("suffix", ["", ".gz"])
def test_the_files_of_trec(tmp_path, suffix):
    write(tmp_path / "t" / f"documents.trec{suffix}", TREC)
    write(tmp_path / "t" / f"topics.301-302.txt{suffix}", TOPICS)
    write(tmp_path / "t" / f"qrels.txt{suffix}", "301 0 FT-1 1\n301 0 FT-2 0\n302 0 FT-2 -2\n")
    found = load(tmp_path / "t")
    assert found.documents.ids == ("FT-1", "FT-2")
    assert found.documents.fields["title"] == ["Tyres & tubes", ""]
    assert " ".join(found.documents.fields["text"][0].split()) == "A flat tyre, AT&T."
    assert found.documents.fields["text"][1] == "green tea"
    assert found.queries.fields["text"] == ["flat tyres", "tea"]
    assert found.qrels == {"301": {"FT-1": 1, "FT-2": 0}, "302": {"FT-2": 0}}
    long = load(tmp_path / "t", topic_fields=("title", "description"))
    assert long.queries.fields["text"][0] == "flat tyres\nWhat to do about\na puncture?"
    with pytest.raises(InvalidInputError, match="the field of a topic is 'desc'"):
        load(tmp_path / "t", topic_fields=("desc",))


TEXTS = st.text(st.characters(codec="utf-8", exclude_categories=["C", "Zl", "Zp"]), max_size=12)
LISTS = st.lists(TEXTS.map(str.strip), min_size=1, max_size=4)


def as_json(texts) -> str:
    return json_lines(*({"id": i, "text": text} for i, text in enumerate(texts)))


def as_trec(texts) -> str:
    escaped = [html.escape(text).replace("&#x27;", "'") for text in texts]
    return "".join(
        f"<DOC>\n<DOCNO>{i}</DOCNO>\n<TEXT>\n{text}\n</TEXT>\n</DOC>\n"
        for i, text in enumerate(escaped)
    )


def as_tabs(texts) -> str:
    return "".join(f"{i}\t{text}\n" for i, text in enumerate(texts))


@pytest.mark.parametrize("written", [as_json, as_trec, as_tabs])
@given(texts=LISTS)
def test_texts_come_back_as_they_were_written(example_folder, written, texts):
    folder = example_folder()
    documents = write(folder / "d", written(texts))
    queries, qrels = write(folder / "q", "q\tx\n"), write(folder / "r", "q 0 0 1\n")
    found = read_collection([documents], [queries], [qrels], name="toy")
    assert found.documents.ids == tuple(map(str, range(len(texts))))
    assert found.documents.texts == texts


def test_the_three_parts_may_lie_anywhere_and_in_any_mixture(tmp_path):
    documents = [
        write(tmp_path / "1.trec", TREC),
        write(tmp_path / "2.jsonl", json_lines({"id": 3, "text": "tubes"})),
    ]
    queries = [write(tmp_path / "asked.txt", "1\tflat tyres\n2\ttea\n")]
    qrels = [write(tmp_path / "judged", "1\tFT-1\t1\n1\t3\t1\n")]
    found = read_collection(documents, queries, qrels, name="mine")
    assert found.documents.ids == ("FT-1", "FT-2", "3")
    assert found.qrels == {"1": {"FT-1": 1, "3": 1}}
    assert found.notes == ("queries without a judgement are not scored: 1 of 2 (2)",)


def test_codes_of_cranfield_become_gains_by_its_name_or_by_request(folder, tmp_path):
    write(folder / "qrels" / "test.tsv", "q1\ta\t1\nq1\tb\t4\nq2\tb\t-1\n")
    assert load(folder).qrels == {"q1": {"a": 1, "b": 4}}  # -1 in a file of gains: not judged
    asked = load(folder, grades="cleverdon")
    assert asked.qrels == {"q1": {"a": 4, "b": 1}, "q2": {"b": 0}}
    assert "Cleverdon's codes were read" in asked.notes[0]
    named = folder.rename(tmp_path / "Cranfield")
    assert load(named).qrels == asked.qrels
    assert load(named, grades="gains").qrels["q1"] == {"a": 1, "b": 4}
    write(named / "qrels" / "test.tsv", "q1\ta\t5\n")
    with pytest.raises(MalformedFileError, match="line 1: 5 is none of Cleverdon's codes"):
        load(named)
    with pytest.raises(
        InvalidInputError, match="grades is 'stars'; it must be one of gains, cleverdon"
    ):
        load(named, grades="stars")


def test_gains_may_be_no_whole_numbers(folder):
    write(folder / "qrels" / "test.tsv", "q1 0 a 0.5\nq1 0 b 2.0\nq2 0 b 1e-3\nq2 0 a -0.5\n")
    found = load(folder)
    assert found.qrels == {"q1": {"a": 0.5, "b": 2}, "q2": {"b": 0.001, "a": 0}}
    assert isinstance(found.qrels["q1"]["b"], int)
    with pytest.raises(MalformedFileError, match=r"line 1: 0\.5 is none of Cleverdon's codes"):
        load(folder, grades="cleverdon")


def test_minus_one_is_not_judged_and_a_query_of_nothing_else_is_not_scored(folder):
    write(folder / "qrels" / "test.tsv", "q1\ta\t1\nq1\tb\t-1\nq2\tb\t-1\nq2\ta\t-1\n")
    found = load(folder)
    assert found.qrels == {"q1": {"a": 1, "b": NOT_JUDGED}}
    assert found.notes == ("queries without a judgement are not scored: 1 of 2 (q2)",)
    write(folder / "qrels" / "test.tsv", "q1\ta\t1\nq1\tb\t-2\n")
    assert load(folder).qrels == {"q1": {"a": 1, "b": 0}}


def test_a_gain_that_is_no_finite_number_is_refused_in_memory_too():
    documents, queries = Documents.of("ab", "ab"), Documents.of("q", "q")
    with pytest.raises(InvalidInputError, match="gain of document 'b' for query 'q' of toy is nan"):
        RankingSet("toy", documents, queries, {"q": {"a": 1, "b": float("nan")}})


COVID = """<?xml version="1.0" encoding="UTF-8"?>
<topics task="COVIDSearch" batch="5">
  <topic number="1">
    <query>coronavirus origin</query>
    <question>what is the origin of COVID-19</question>
    <narrative>seeking range of information about the virus &amp; its evolution</narrative>
  </topic>
  <topic number='50'><query>mRNA vaccine</query><question>what is known
about an mRNA vaccine?</question></topic>
</topics>
"""


def test_the_topics_of_trec_covid_are_read_by_query_question_or_narrative(folder):
    write(folder / "queries.jsonl", COVID)
    (folder / "queries.jsonl").rename(folder / "topics-rnd5.xml")
    write(folder / "qrels" / "test.tsv", "1 0.5 a 2\n1 1 b 0\n50 4.5 b 1\n")
    found = load(folder)
    assert found.queries.ids == ("1", "50")
    assert found.queries.texts == ["coronavirus origin", "mRNA vaccine"]
    assert found.qrels == {"1": {"a": 2, "b": 0}, "50": {"b": 1}}
    for names in (("question",), ("description",)):
        asked = load(folder, topic_fields=names).queries.texts
        assert asked == ["what is the origin of COVID-19", "what is known\nabout an mRNA vaccine?"]
    both = load(folder, topic_fields=("query", "title", "narrative")).queries.texts
    assert both[0].startswith("coronavirus origin\nseeking range")
    assert both[0].endswith("virus & its evolution")
    with pytest.raises(
        MalformedFileError,
        match=r"line 8: topic 50 has no narrative to ask; .* it has title, description\.",
    ):
        load(folder, topic_fields=("narrative",))
    with pytest.raises(
        InvalidInputError,
        match=r"the field of a topic is 'answer'; it must be one of .*query, question",
    ):
        load(folder, topic_fields=("answer",))


def test_judgements_of_what_is_not_there_are_left_out_and_told(folder):
    write(folder / "qrels" / "test.tsv", "q1\ta\t1\nq1\tz\t1\nq9\ta\t1\nq2\tz\t1\n")
    found = load(folder)
    assert found.qrels == {"q1": {"a": 1}}
    assert found.notes == (
        "judged queries that are not among the queries were left out: 1 (q9)",
        "judgements of documents that are not in the collection were left out: 2 (z, z)",
        "queries without a judgement are not scored: 1 of 2 (q2)",
    )


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("qrels/test.tsv", "q1\ta\n", r"test.tsv, line 1: this line has 2 columns"),
        ("qrels/test.tsv", "q1\ta\t1\nq1\tb\tx\n", "line 2: the gain is 'x'; a number"),
        ("qrels/test.tsv", "q1\ta\t1\nq1\tb\tinf\n", "line 2: the gain is 'inf'"),
        ("qrels/test.tsv", "q1\ta\tnan\n", "line 1: the gain is 'nan'"),
        ("qrels/test.tsv", "q1\ta\t1\nq1\ta\t2\n", "line 2: document 'a' is judged twice"),
        ("qrels/test.tsv", "q7\ta\t1\n", "none of the 1 judged queries of toy is among its 2"),
        ("qrels/test.tsv", "q1\ta\t0\n", "no document of toy is relevant to any query"),
        ("qrels/test.tsv", "", r"test.tsv: there are no judgements in it"),
        ("qrels/test.tsv", "query-id\tcorpus-id\tscore\n", "there are no judgements in it"),
        (
            "corpus.jsonl",
            '{"_id": "a"}\n',
            "corpus.jsonl, line 1: there is no field 'text'",
        ),
        ("corpus.jsonl", '{"text": "a"}\n', "line 1: 'id' .or '_id'. is missing"),
        ("corpus.jsonl", '{"_id": "a", "text": [3]}\n', "the field 'text' is of type list"),
        (
            "corpus.jsonl",
            '{"_id": "a", "text": "x"}\n{\n',
            "line 2: this is no JSON .Expecting .* at column 2",
        ),
        ("corpus.jsonl", "{}\n[]\n", "line 1: there is no field 'text'; there are"),
        (
            "corpus.jsonl",
            '{"_id": "a", "id": "b", "text": "x"}\n',
            "line 1: the field 'id' is 'b' and the field '_id' is 'a'",
        ),
        ("corpus.jsonl", "", "corpus.jsonl: it is empty"),
        ("corpus.jsonl", "words\n", "line 1: these are no documents"),
        ("corpus.jsonl", "a\tx\nb\n", "line 2: no tab stands between"),
        ("corpus.jsonl", "<DOC>\n<TEXT>x\n", "line 1: <DOC> is not ended"),
        ("corpus.jsonl", "<DOC>\nx</DOC>\n", "line 1: this document has no <DOCNO>"),
        ("corpus.jsonl", "<DOC>\n<DOC>\n</DOC>", "line 2: <DOC> begins again, and the one of line"),
        ("queries.jsonl", "<top>\n<title> x\n</top>", "line 1: this topic has no <num>"),
        ("queries.jsonl", "<p>nothing</p>", "there are no queries in it"),
    ],
)
def test_what_is_wrong_with_a_collection_is_said_with_its_place(folder, name, text, message):
    write(folder / name, text)
    with pytest.raises(InvalidInputError, match=message):
        load(folder)


def test_an_id_that_comes_twice_is_named_with_its_line(folder):
    write(folder / "corpus.jsonl", CORPUS + CORPUS)
    with pytest.raises(DuplicateIdError, match=r"corpus\.jsonl, line 3: the id 'a' comes twice"):
        load(folder)


def test_text_of_another_encoding_is_named_with_its_line(folder):
    (folder / "corpus.jsonl").write_bytes(b"a\tx\nb\tcaf\xe9\n")
    with pytest.raises(MalformedFileError, match=r"line 2: this is not utf-8; name the encoding"):
        load(folder)
    assert load(folder, encoding="latin-1").documents.texts[1] == "café"
    with pytest.raises(InvalidInputError, match="there is no text encoding 'klingon'"):
        load(folder, encoding="klingon")


def test_windows_ends_of_lines_and_byte_order_marks_are_no_text(folder):
    text = "\ufeff" + CORPUS.replace("\n", "\r\n") + "\r\n"
    (folder / "corpus.jsonl").write_bytes(text.encode())
    (folder / "qrels" / "test.tsv").write_bytes(QRELS.replace("\n", "\r\n").encode())
    (folder / "queries.jsonl").write_bytes(b"q1\tpunc\rture\r\nq2\ttea\r\n")
    found = load(folder)
    assert found.documents.ids == ("a", "b")
    assert found.queries.texts == ["punc\rture", "tea"]


def test_a_compressed_file_that_is_cut_short_is_told(folder):
    whole = gzip.compress(CORPUS.encode() * 200)
    (folder / "corpus.jsonl").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(MalformedFileError, match="cut short or damaged"):
        load(folder)


QUESTION = {
    "split": "train", "orgq_id": "Q1", "relq_id": "Q1_R1", "relevant": True,
    "org_subject": "Massage oil", "org_body": "Where?", "rel_subject": "oil", "rel_body": None,
}  # fmt: skip


def question(**changed) -> dict:
    return {**QUESTION, **changed}


@pytest.fixture
def questions(tmp_path) -> Path:
    rows = [
        question(),
        question(relq_id="Q1_R2", relevant=False, rel_body="tea"),
        question(split="dev", orgq_id="Q2", relq_id="Q2_R1", relevant=True, rel_body="of dev"),
        question(split="test2016", orgq_id="Q3", relq_id="Q3_R1", relevant=False, rel_body="x"),
        question(split="test2016", orgq_id="Q3", relq_id="Q3_R2", label="Irrelevant"),
        question(split="test2016", orgq_id="Q4", relq_id="Q4_R1", relevant=None, label="Relevant"),
    ]
    rows[4].pop("relevant")
    return write(tmp_path / "set" / "question_pairs.jsonl.gz", json_lines(*rows))


def test_questions_with_candidates(questions):
    found = load(questions.parent)
    assert found.queries.ids == ("Q1", "Q2", "Q3", "Q4")
    assert found.queries.names == ("subject", "body")
    assert found.documents.texts[:2] == ["oil", "oil\ntea"]
    assert found.qrels["Q1"] == {"Q1_R1": 1, "Q1_R2": 0}
    assert found.qrels["Q3"] == {"Q3_R1": 0, "Q3_R2": 0}
    assert found.qrels["Q4"] == {"Q4_R1": 1}
    assert found.candidates["Q1"] == ("Q1_R1", "Q1_R2")
    assert [list(own) for own in found.candidate_numbers(found.judged)] == [
        [0, 1],
        [2],
        [3, 4],
        [5],
    ]


def test_a_part_learns_from_training_questions_and_from_no_other(questions):
    test = load(questions, split="test2016")
    assert test.judged.ids == ("Q3", "Q4")
    assert test.documents.ids == ("Q3_R1", "Q3_R2", "Q4_R1")
    assert test.background == ("Massage oil\nWhere?", "oil", "oil\ntea")
    assert load(questions, split="train").background == ()
    both = load(questions).part("train", "dev")
    assert both.judged.ids == ("Q1", "Q2")


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({}, "line 2: the candidate 'Q1_R1' of 'Q1' comes twice"),
        ({"relq_id": "x", "relevant": None}, "line 2: neither 'relevant'"),
        ({"relq_id": "x", "split": "dev"}, "line 2: 'Q1' is in 'train' and in 'dev'"),
        ({"relq_id": None}, "line 2: 'relq_id' is null; needed is a string or a number"),
        ({"orgq_id": ["Q1"]}, r"line 2: 'orgq_id' is .\"Q1\".; needed is"),
        ({"relq_id": "x", "rel_body": 7}, "line 2: the subject or body of 'x' is no string"),
    ],
)
def test_what_is_wrong_with_questions_is_said_with_its_line(tmp_path, changed, message):
    path = write(tmp_path / "q.jsonl", json_lines(question(), question(**changed)))
    with pytest.raises(MalformedFileError, match=message):
        load(path)


def test_of_a_question_with_two_texts_the_first_counts(tmp_path):
    rows = json_lines(question(), question(relq_id="r", org_body='"Where?"'))
    found = load(write(tmp_path / "q.jsonl", rows))
    assert found.queries.fields["body"] == ["Where?"]
    assert "of questions with several texts the first counts: 1 (Q1)" in found.notes[0]


LABELED = [
    {"id": "a", "label": "x", "split": "train", "text": "one"},
    {"id": "b", "label": "y", "split": "train", "text": "two"},
    {"id": "c", "label": "x", "split": "test", "text": "three", "title": "3"},
    {"id": "d", "label": "y", "split": "dev", "text": "four"},
]


def test_documents_with_labels_and_a_split(tmp_path):
    path = write(tmp_path / "toy.jsonl.gz", json_lines(*LABELED))
    found = load(path)
    assert isinstance(found, ClassificationSet)
    assert (found.name, found.classes, found.labels) == ("toy", ("x", "y"), ("x", "y", "x", "y"))
    (split,) = found.splits
    assert (split.train.tolist(), split.test.tolist()) == ([0, 1], [2])
    assert found.documents.texts == ["one", "two", "3\nthree", "four"]
    assert found.notes == ("documents of other parts were left out: 1 (dev)",)
    assert load(path, split="dev").splits[0].test.tolist() == [3]
    with pytest.raises(InvalidInputError, match="has no part 'x'; its lines name 'train', 'test'"):
        load(path, split="x")
    with pytest.raises(InvalidInputError, match="'train' is trained on"):
        load(path, split="train")


def test_labels_without_a_split_get_ten_seeded_ones(tmp_path):
    rows = [{"label": "xy"[i % 2], "text": str(i), "split": "all"} for i in range(30)]
    path = write(tmp_path / "toy.jsonl", json_lines(*rows))
    found, again = load(path), load(path)
    assert len(found.splits) == 10
    assert found.documents.ids[:2] == ("1", "2")
    for split, same in zip(found.splits, again.splits, strict=True):
        assert len(split.train) == 21
        assert sorted([*split.train, *split.test]) == list(range(30))
        assert np.array_equal(split.test, same.test)
    assert len({tuple(split.test) for split in found.splits}) == 10
    with pytest.raises(InvalidInputError, match="has no part 'test': its lines name no split"):
        load(path, split="test")


@given(st.integers(2, 60), st.integers(0, 5))
def test_the_first_splits_are_the_same_however_many_are_drawn(n, seed):
    few = seeded_splits(n, n_splits=2, random_state=seed)
    many = seeded_splits(n, n_splits=4, random_state=seed)
    for one, other in zip(few, many, strict=False):
        assert np.array_equal(one.train, other.train)
        assert np.array_equal(one.test, other.test)
        assert not set(one.train) & set(one.test)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([{"label": "x", "text": "a"}, {"label": "y"}], "line 2: 'text' is missing"),
        ([{"label": "x", "text": 1}], "line 1: 'text' is no string"),
        ([{"label": "x", "text": None}], "line 1: 'text' is no string"),
        ([{"label": None, "text": "a"}], "line 1: 'label' is null; needed is a string or a number"),
        ([{"label": ["x"], "text": "a"}], "line 1: 'label' is"),
        ([{"id": {}, "label": "x", "text": "a"}], "line 1: 'id' is {}"),
        ([{"id": 1, "label": "x", "text": ""}] * 2, "line 2: the id '1' comes twice"),
        ([{"label": "x", "text": "a"}] * 4, "has the label 'x' alone; at least two labels"),
        ([{"label": c, "text": "", "split": "test"} for c in "xy"], "has no part 'train'"),
    ],
)
def test_what_is_wrong_with_labels_is_said_with_its_line(tmp_path, rows, message):
    with pytest.raises(InvalidInputError, match=message):
        load(write(tmp_path / "toy.jsonl", json_lines(*rows)))


def test_what_is_null_is_missing(tmp_path):
    rows = [{"id": None, "title": None, "split": None, "label": i % 2, "text": "a"}
            for i in range(6)]  # fmt: skip
    found = load(write(tmp_path / "toy.jsonl", json_lines(*rows)))
    assert found.documents.ids == ("1", "2", "3", "4", "5", "6")
    assert found.documents.names == ("text",)
    assert (found.classes, len(found.splits)) == (("0", "1"), 10)
    asked = load(write(tmp_path / "q.jsonl", json_lines(question(split=None))))
    assert asked.splits is None


PAIRS = {
    "passed on": '5.000\tA man sings.\tA man is "singing.\tmain\tMSRvid\n1.5\tx\ty\tmain\tz\n',
    "published": 'm\tM\t2012\t7\t5.000\tA man sings.\tA man is "singing.\nm\tM\t1\t1\t1.5\tx\ty\n',
    "by header": 'index\tsentence1\tsentence2\tscore\n0\tA man sings.\tA man is "singing.\t5\n'
    "1\tx\ty\t1.5\n",
}


@pytest.mark.parametrize("text", PAIRS.values(), ids=PAIRS)
def test_pairs_of_sentences(tmp_path, text):
    found = load(write(tmp_path / "sts.tsv.gz", text))
    assert type(found) is PairSet
    assert (found.left, found.right) == (("A man sings.", "x"), ('A man is "singing.', "y"))
    assert found.scores.tolist() == [5.0, 1.5]
    assert not found.binary
    assert found.documents.texts == ["A man sings.", "x", 'A man is "singing.', "y"]


def test_paraphrases_by_their_header_with_a_byte_order_mark(tmp_path):
    text = "\ufeffQuality\t#1 ID\t#2 ID\t#1 String\t#2 String\n1\t7\t8\ta b\tb a\n0\t1\t2\tc\td\n"
    found = load(write(tmp_path / "msrp.tsv", text))
    assert (found.left, found.right, found.binary) == (("a b", "c"), ("b a", "d"), True)


WORDS = {
    "tabs": "tiger\tcat\t7.35\nbook\tpaper\t7.46\n",
    "blanks": "tiger cat 7.35\nbook paper 7.46\n",
    "WordSim-353": "Word 1,Word 2,Human (mean)\ntiger,cat,7.35\nbook,paper,7.46\n",
    "SimLex-999": "word1\tword2\tPOS\tSimLex999\ntiger\tcat\tN\t7.35\nbook\tpaper\tN\t7.46\n",
}


@pytest.mark.parametrize("text", WORDS.values(), ids=WORDS)
def test_pairs_of_words(tmp_path, text):
    found = load(write(tmp_path / "words.txt", text))
    assert isinstance(found, WordPairSet)
    assert (found.left, found.right) == (("tiger", "book"), ("cat", "paper"))
    assert found.scores.tolist() == [7.35, 7.46]


def test_prose_with_numbers_and_commas_is_no_list_of_pairs(tmp_path):
    path = write(tmp_path / "prose.txt", "2016, of course, was long\nand so on\n")
    with pytest.raises(InvalidInputError, match="it cannot be told what this file is"):
        load(path)
    with pytest.raises(InvalidInputError, match="it cannot be told what this file is"):
        load(write(path, "so it was, in the end, 7\n"))


def test_a_first_line_that_is_broken_is_told(tmp_path):
    with pytest.raises(MalformedFileError, match=r"a.jsonl: its first line is no JSON"):
        load(write(tmp_path / "a.jsonl", '{"label": "x", \n'))
    with pytest.raises(MalformedFileError, match=r"deep.jsonl: its first line is no JSON"):
        load(write(tmp_path / "deep.jsonl", '{"a":' * 200_000))
    with pytest.raises(MalformedFileError, match=r"b.jsonl: it is empty"):
        load(write(tmp_path / "b.jsonl", "\n\n"))


def test_a_query_belongs_to_one_part(folder):
    write(folder / "qrels" / "train.tsv", "q1\ta\t1\n")
    with pytest.raises(InvalidInputError, match=r"judges query 'q1', and so does the part 'test'"):
        load(folder)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a\tb\t1\na\tb\n", "line 2: this row has 2 columns; 3 were needed"),
        ("a\tb\t1\na\tb\tx\n", "line 2: the score is 'x', which is no number"),
        ("a\tb\t1\na\tb\tnan\n", "line 2: the score is 'nan', which is no number"),
        ("a\tb\t1\n", "has 1 pairs with 1 different scores"),
        ("a\tb\t1\nc\td\t1\n", "has 2 pairs with 1 different scores"),
    ],
)
def test_what_is_wrong_with_pairs_is_said_with_its_line(tmp_path, text, message):
    with pytest.raises(InvalidInputError, match=message):
        load(write(tmp_path / "words.txt", text))


def test_what_cannot_be_told_is_said_with_what_is_understood(tmp_path):
    write(tmp_path / "prose.txt", "It was the best of times, it was the worst of times.\n")
    with pytest.raises(InvalidInputError, match="it cannot be told what this file is"):
        load(tmp_path / "prose.txt")
    with pytest.raises(InvalidInputError, match=r"holds no data set, but prose.txt. Understood"):
        load(tmp_path)
    with pytest.raises(FileNotFoundError, match="does not exist"):
        load(tmp_path / "nowhere")
    with pytest.raises(InvalidInputError, match="it needs files or folders that begin with"):
        load(tmp_path, kind="retrieval")
    with pytest.raises(InvalidInputError, match="kind is 'novel'"):
        load(tmp_path / "prose.txt", kind="novel")
    with pytest.raises(MalformedFileError, match="line 1: this is no row of pairs"):
        load(tmp_path / "prose.txt", kind="pairs")


def test_a_collection_that_lacks_a_part_is_told_which(folder):
    (folder / "queries.jsonl").unlink()
    with pytest.raises(InvalidInputError, match=r"has documents and qrels but no queries; nee"):
        load(folder)


def test_a_folder_of_several_sets_asks_for_one(tmp_path):
    for name in ("a.tsv", "b.tsv"):
        write(tmp_path / name, WORDS["tabs"])
    with pytest.raises(InvalidInputError, match=r"holds 2 data sets; name one of: a.tsv, b.tsv"):
        load(tmp_path)
    (tmp_path / "b.tsv").unlink()
    assert load(tmp_path).name == "a"


def test_a_run_is_ordered_by_score_and_then_by_rank(tmp_path):
    path = write(tmp_path / "run", "q Q0 a 2 0.5 me\nq Q0 b 1 0.5 me\nq Q0 c 3 0.9 me\n")
    run = Run.read(path)
    assert run.rankings == {"q": ("c", "b", "a")}
    assert (run.rank("q", "a"), run.rank("q", "z"), run.rank("p", "a")) == (3, None, None)
    for text, message in (
        ("q a 1\n", "line 1: this line has 3 columns; a run has six"),
        ("q Q0 a x 1 me\n", "line 1: rank 'x' or score '1' is no number"),
        ("q Q0 a 1 2 me\nq Q0 b 2 nan me\n", "line 2: the score is NaN"),
        ("q Q0 a 1 2 me\nq Q0 a 2 1 me\n", "line 2: document 'a' comes twice"),
    ):
        with pytest.raises(MalformedFileError, match=message):
            Run.read(write(tmp_path / "run", text))


RUN_IDS = st.text(
    st.characters(exclude_categories=["Cs", "Z"], exclude_characters="\0"), min_size=1, max_size=4
).filter(lambda text: text.split() == [text] and "\ufeff" not in text)


@given(
    st.dictionaries(RUN_IDS, st.lists(RUN_IDS, unique=True).map(tuple), max_size=4),
    st.text(st.characters(codec="utf-8"), max_size=6),
)
def test_a_run_comes_back_as_it_was_written(example_folder, rankings, name):
    path = example_folder() / "run"
    Run(rankings).write(path, name=name)
    assert Run.read(path).rankings == {query: ids for query, ids in rankings.items() if ids}


def test_a_written_run_has_the_six_columns_of_trec_and_is_not_replaced_unasked(tmp_path):
    path = tmp_path / "a.run"
    run = Run({"q1": ("b", "a"), "q2": (), "q3": ("ü",)})
    run.write(path, name="soft bm25")
    text = "q1 Q0 b 1 2 soft_bm25\nq1 Q0 a 2 1 soft_bm25\nq3 Q0 ü 1 1 soft_bm25\n"
    assert path.read_text(encoding="utf-8") == text
    with pytest.raises(AlreadyExistsError, match=r"a\.run exists already; choose another name"):
        Run({}).write(path)
    assert path.read_text(encoding="utf-8") == text
    Run({}).write(path, overwrite=True)
    assert path.read_text(encoding="utf-8") == ""


@pytest.mark.parametrize("id", ["a b", "", "a\tb", " a", "a\u2003b", "a\n", "\ufeffa", "\ud800"])
def test_an_id_that_a_run_cannot_hold_is_named_and_nothing_is_written(tmp_path, id):
    for what, run in (("query", Run({id: ("a",)})), ("document", Run({"q": ("a", id)}))):
        with pytest.raises(InvalidInputError, match=f"cannot hold .*, the id of a {what}: its col"):
            run.write(tmp_path / "run")
    assert list(tmp_path.iterdir()) == []


def test_judgements_may_repeat_themselves(tmp_path):
    assert read_qrels(write(tmp_path / "q", "q 0 a 1\nq 0 a 1\n")) == {"q": {"a": 1}}


def test_documents_take_what_fits_together():
    documents = Documents.of(["x", "y", "z"], "abc")
    assert documents.taken([2, 0]).ids == ("c", "a")
    assert documents.taken([2, 0]).texts == ["z", "x"]
    assert documents.numbers() == {"a": 0, "b": 1, "c": 2}
    said = Documents(
        ("a", "b"), {"title": ["Flat tyre", "Tea"], "text": ["Flat  tyre now", "Teas"]}
    )
    assert said.texts == ["Flat  tyre now", "Tea\nTeas"]
    with pytest.raises(DuplicateIdError, match="the id 'a' comes twice"):
        Documents.of("xy", "aa")
    with pytest.raises(InvalidInputError, match="field 'text' has 2 texts for 1 documents"):
        Documents.of("xy", "a")
    with pytest.raises(InvalidInputError, match="without a field"):
        Documents(("a",), {})


def test_sets_made_by_hand_are_checked():
    documents, queries = Documents.of("ab", "ab"), Documents.of("q", "q")
    with pytest.raises(InvalidInputError, match="judgements of s name the document 'z'"):
        RankingSet("s", documents, queries, {"q": {"z": 1}})
    with pytest.raises(InvalidInputError, match="judgements of s name the query 'p'"):
        RankingSet("s", documents, queries, {"p": {"a": 1}})
    with pytest.raises(InvalidInputError, match="candidates of s name the document 'z'"):
        RankingSet("s", documents, queries, {"q": {"a": 1}}, candidates={"q": ("z",)})
    with pytest.raises(InvalidInputError, match="s has no documents"):
        RankingSet("s", Documents.of([]), queries, {"q": {}})
    with pytest.raises(InvalidInputError, match="s has no judged query"):
        RankingSet("s", documents, queries, {})
    made = RankingSet("s", documents, queries, {"q": {"a": 1}})
    with pytest.raises(InvalidInputError, match="s has no query 'p'"):
        made.only(["p"])
    with pytest.raises(InvalidInputError, match="s names no candidates"):
        made.candidate_numbers(queries)
    nothing = np.empty(0, np.int64)
    with pytest.raises(InvalidInputError, match="s has no documents to test on"):
        ClassificationSet("s", documents, ("x", "y"), (Split(np.array([0]), nothing),))
    with pytest.raises(
        InvalidInputError, match="trains on 1 of the documents that it tests on, such as"
    ):
        ClassificationSet("s", documents, ("x", "y"), (Split(np.array([0, 1]), np.array([1])),))
    with pytest.raises(InvalidInputError, match="s has no split"):
        ClassificationSet("s", documents, ("x", "y"), ())
    with pytest.raises(InvalidInputError, match="s has 1 labels for 2 documents"):
        ClassificationSet("s", documents, ("x",), ())
    with pytest.raises(InvalidInputError, match="one for each pair was needed"):
        PairSet("s", ("a",), ("b", "c"), np.zeros(2))


@pytest.mark.data
@pytest.mark.parametrize(
    ("path", "n_documents", "n_units", "notes"),
    [
        ("retrieval/cranfield", 1400, 225, "Cleverdon's codes"),
        ("retrieval/cacm", 3204, 52, "queries without a judgement are not scored: 12 of 64"),
        ("retrieval/npl", 11429, 93, ""),
        ("retrieval/lisa", 5999, 35, ""),
        ("retrieval/adi", 82, 35, ""),
        ("semeval", 3869, 387, "of questions with several texts"),
        ("classification/20news_bydate.jsonl.gz", 18846, 7532, ""),
        ("classification/r8.jsonl.gz", 7674, 2189, ""),
        ("classification/amazon.jsonl.gz", 8000, 2400, "no split is given"),
        ("classification/twitter.jsonl.gz", 3115, 935, "no split is given"),
        ("classification/classic4.jsonl.gz", 7097, 2130, "no split is given"),
        ("classification/ohsumed23.jsonl.gz", 7400, 4043, ""),
        ("sentences/stsb_train.tsv.gz", 11498, 5749, ""),
        ("sentences/stsb_dev.tsv.gz", 3000, 1500, ""),
        ("sentences/stsb_test.tsv.gz", 2758, 1379, ""),
        ("sentences/msrp_train.tsv.gz", 7152, 3576, ""),
        ("sentences/msrp_val.tsv.gz", 1000, 500, ""),
        ("sentences/msrp_test.tsv.gz", 3450, 1725, ""),
        ("wordsim/EN-WS-353-ALL.txt.gz", 706, 353, ""),
        ("wordsim/EN-SIMLEX-999.txt.gz", 1998, 999, ""),
        ("wordsim/EN-MEN-TR-3k.txt.gz", 6000, 3000, ""),
        ("wordsim/EN-RG-65.txt.gz", 130, 65, ""),
    ],
)
def test_the_evaluation_data_is_read(data, path, n_documents, n_units, notes):
    found = load(data / path)
    assert len(found.documents) == n_documents
    if isinstance(found, RankingSet):
        n = len(found.judged)
    else:
        n = len(found.splits[0].test) if isinstance(found, ClassificationSet) else len(found)
    assert n == n_units
    assert " ".join(found.notes).startswith(notes)
    assert bool(found.notes) == bool(notes)
    assert isinstance(found, WordPairSet) == path.startswith("wordsim")
