"""Synonym files: what each format means, and every malformed line named by its number."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from softcosine.errors import InvalidInputError, MalformedFileError, SoftCosineWarning
from softcosine.similarity.thesaurus.synonym_files import read_groups
from softcosine.similarity.thesaurus.thesaurus import ThesaurusSimilarity


def groups(path: Path, text: str, **settings: str) -> list[tuple[list[str], float]]:
    path.write_text(text, encoding="utf-8")
    return list(read_groups(path, weight=0.5, **settings))


def test_solr_rules(tmp_path: Path) -> None:
    text = (
        "# vehicles\n"
        "tyre, tire,pneumatic tyre\n"
        "\n"
        "pc, laptop => computer, machine\n"
        "a\\,a, b\\=>c, d\\\\e, \\#1\n"
    )
    with pytest.warns(SoftCosineWarning, match="rules with =>: .* no direction"):
        found = groups(tmp_path / "synonyms.txt", text)
    assert found == [
        (["tyre", "tire", "pneumatic tyre"], 0.5),
        (["pc", "computer"], 0.5),
        (["pc", "machine"], 0.5),
        (["laptop", "computer"], 0.5),
        (["laptop", "machine"], 0.5),
        (["a,a", "b=>c", "d\\e", "#1"], 0.5),
    ]


@given(st.lists(st.text("ab,=>\\ ", min_size=1).map(str.strip).filter(bool), min_size=1))
def test_an_escaped_solr_line_is_read_as_it_was_meant(terms: list[str]) -> None:
    from softcosine.similarity.thesaurus.synonym_files import _solr_rule

    escaped = ["".join(f"\\{c}" if c in ",=\\ " else c for c in term) for term in terms]
    (found,) = _solr_rule(", ".join(escaped), 1.0)
    assert found == (terms, 1.0)


@pytest.mark.parametrize("head", ["", "word1,word2,similarity\n", "left,right,weight\n"])
def test_tables_with_and_without_a_header(tmp_path: Path, head: str) -> None:
    text = f'{head}car,automobile,0.75\n"tyre, black",tire,1\ncar, vehicle\n'
    expected = [
        (["car", "automobile"], 0.75),
        (["tyre, black", "tire"], 1.0),
        (["car", "vehicle"], 0.5),
    ]
    assert groups(tmp_path / "synonyms.csv", text) == expected
    tabs = text.replace('"tyre, black"', "tyre; black").replace(",", "\t")
    expected[1] = (["tyre; black", "tire"], 1.0)
    assert groups(tmp_path / "synonyms.tsv", tabs) == expected
    assert groups(tmp_path / "synonyms.txt", tabs) == expected


def test_a_first_line_of_two_words_is_a_header_only_if_it_names_columns(tmp_path: Path) -> None:
    assert groups(tmp_path / "a.csv", "word,synonym\ncar,auto\n") == [(["car", "auto"], 0.5)]
    assert len(groups(tmp_path / "a.csv", "house,home\ncar,auto\n")) == 2


def test_json_lines(tmp_path: Path) -> None:
    text = (
        '["car", "auto", 0.25]\n'
        '{"left": "tyre", "right": "tire"}\n'
        '{"word": "big", "synonym": "large", "weight": 1}\n'
    )
    expected = [(["car", "auto"], 0.25), (["tyre", "tire"], 0.5), (["big", "large"], 1.0)]
    assert groups(tmp_path / "a.jsonl", text) == expected


def test_paraphrase_lists(tmp_path: Path) -> None:
    text = (
        "[NN] ||| car ||| motor vehicle ||| PPDB2.0Score=5.1 A=0.2 ||| 0-0 ||| Equivalence\n"
        "[NP] ||| the [NN,1] ||| this [NN,1] ||| PPDB2.0Score=3.2 ||| 0-0 ||| Equivalence\n"
        "tyre ||| tire ||| 0.75\n"
        "big ||| large\n"
    )
    expected = [(["car", "motor vehicle"], 0.5), (["tyre", "tire"], 0.75), (["big", "large"], 0.5)]
    assert groups(tmp_path / "ppdb.txt", text) == expected
    assert groups(tmp_path / "lists.txt", "car auto automobile \nalone\n") == [
        (["car"], 0.5),
        (["car", "auto"], 0.5),
        (["car", "automobile"], 0.5),
        (["alone"], 0.5),
    ]


def test_gzipped_with_a_byte_order_mark_and_windows_line_ends(tmp_path: Path) -> None:
    path = tmp_path / "synonyms.txt.gz"
    path.write_bytes(gzip.compress("\ufefftyre, tire\r\ncafé, coffee\r\n".encode()))
    seen: list[tuple[int, int]] = []
    source = ThesaurusSimilarity.load(path, progress=lambda *at: seen.append(at))
    assert source.words == ("tyre", "tire", "café", "coffee")
    assert seen[-1] == (path.stat().st_size, path.stat().st_size)


@pytest.mark.parametrize(
    ("name", "text", "line", "message"),
    [
        ("a.txt", "a, b\nc => d => e\n", 2, "more than one =>"),
        ("a.txt", "a, b\n\nc,,d\n", 3, "has an empty term"),
        ("a.txt", "a => \n", 1, "has an empty term"),
        ("a.csv", "a,b\nc\n", 2, "is not two terms and optionally a weight"),
        ("a.csv", "a,b,c,d\n", 1, "for lists of equivalent terms pass format='solr'"),
        ("a.csv", "a,b,0.5\nc,d,high\n", 2, "the weight is 'high'; needed is a number in"),
        ("a.csv", "a,b,1.5\n", 1, "the weight is '1.5'"),
        ("a.csv", "a,b,nan\n", 1, "the weight is 'nan'"),
        ("a.csv", 'a,"b\n', 1, "cannot be cut into cells"),
        ("a.tsv", "a\tb\t-0.5\n", 1, "the weight is '-0.5'"),
        ("a.tsv", "a\t\t0.5\n", 1, "is not two terms"),
        ("a.jsonl", '["a", "b"]\n["a"\n', 2, "not JSON"),
        ("a.jsonl", '{"left": "a"}\n', 1, "does not name two terms"),
        ("a.jsonl", '"a"\n', 1, "is neither a list nor an object"),
        ("a.jsonl", '["a", 3]\n', 1, "is not two terms"),
        ("a.jsonl", '["a", "b", true]\n', 1, "the weight is True"),
        ("a.jsonl", f'["a", "b", 1{"0" * 400}]\n', 1, "the weight is 1000"),
        ("a.jsonl", f'["a", "b"]\n{"[" * 100_000}\n', 2, "not JSON"),
        ("a.txt", "a ||| b\nc ||| \n", 2, "is not two terms"),
    ],
)
def test_malformed_lines_are_named_by_their_number(
    tmp_path: Path, name: str, text: str, line: int, message: str
) -> None:
    with pytest.raises(MalformedFileError, match=message) as caught:
        groups(tmp_path / name, text)
    assert caught.value.line == line
    assert caught.value.path == tmp_path / name


def test_bytes_that_are_no_text_are_named_by_their_line(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes("tea,coffee\nthé,café\n".encode("latin-1"))
    with pytest.raises(MalformedFileError, match="line 2: this is not utf-8"):
        ThesaurusSimilarity.load(path)
    path.write_bytes(gzip.compress(b"tea,coffee\n" * 1000)[:-20])
    with pytest.raises(MalformedFileError, match="cut short or damaged"):
        ThesaurusSimilarity.load(path)


def test_wrong_settings_are_refused(tmp_path: Path) -> None:
    with pytest.raises(
        InvalidInputError, match="synonym format is 'xml'; it must be one of solr, csv"
    ):
        groups(tmp_path / "a.txt", "a, b", format="xml")
    with pytest.raises(
        InvalidInputError, match=r"weight is 0; it must be a number above 0 and at most 1"
    ):
        ThesaurusSimilarity.load(tmp_path / "a.txt", weight=0)
    with pytest.raises(FileNotFoundError):
        ThesaurusSimilarity.load(tmp_path / "missing.txt")


@pytest.mark.data
def test_the_lists_of_the_evaluation_data_are_read(data: Path) -> None:
    source = ThesaurusSimilarity.load(data / "lexica" / "counterfit_ppdb_synonyms.txt.gz")
    assert source.similarities(["modelling"], ["modeling"]).tolist() == [np.float32(0.8)]
