"""Dependency trees in CoNLL-U, and the paths in them."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from softcosine.errors import InvalidInputError, MalformedFileError
from softcosine.lab.syntactic.dependency import (
    DependencyTree,
    SyntacticNgrams,
    join_path,
    read_documents,
    read_trees,
    split_path,
)
from softcosine.text.analyzer import Analyzer
from softcosine.text.corpus import analyze

Row = tuple[str, str, int, str]

# The dog's owner didn't eat the small red apple.
ROWS: list[Row] = [
    ("Owners", "NOUN", 3, "nsubj"),
    ("did", "AUX", 3, "aux"),
    ("eat", "VERB", 0, "root"),
    ("red", "ADJ", 5, "amod"),
    ("Apples", "NOUN", 3, "obj"),
    (".", "PUNCT", 3, "punct"),
]


def conllu(rows: list[Row], *, comments: str = "") -> str:
    lines = [
        f"{i}\t{word}\t{word.lower()}\t{tag}\t_\t_\t{head}\t{relation}\t_\t_"
        for i, (word, tag, head, relation) in enumerate(rows, start=1)
    ]
    return comments + "\n".join(lines) + "\n\n"


def written(folder: Path, text: str) -> Path:
    path = folder / "trees.conllu"
    path.write_text(text, encoding="utf-8", newline="")
    return path


def test_a_sentence_is_read_with_its_comments(tmp_path: Path) -> None:
    path = written(tmp_path, conllu(ROWS, comments="# sent_id = 1\n# text = Owners did ...\n"))
    (tree,) = read_trees(path)
    assert tree.words == ("Owners", "did", "eat", "red", "Apples", ".")
    assert tree.lemmas[4] == "apples"
    assert tree.tags[2] == "VERB"
    assert tree.heads == (2, 2, -1, 4, 2, 2)
    assert tree.relations[3] == "amod"
    assert tree.comments == ("sent_id = 1", "text = Owners did ...")
    assert len(tree) == 6


def test_multiword_tokens_and_empty_nodes_are_passed_over(tmp_path: Path) -> None:
    lines = conllu([("Vamos", "VERB", 0, "root"), ("a", "ADP", 3, "case"), ("o", "X", 1, "obl")])
    rows = lines.splitlines()
    rows.insert(1, "2-3\tao\t_\t_\t_\t_\t_\t_\t_\t_")
    rows.insert(3, "2.1\tempty\t_\t_\t_\t_\t_\t_\t_\t_")
    (tree,) = read_trees(written(tmp_path, "\r\n".join(rows)))  # and no blank line at the end
    assert tree.words == ("Vamos", "a", "o")
    assert tree.heads == (-1, 2, 0)


def test_gzipped_files_byte_order_marks_and_blank_lines(tmp_path: Path) -> None:
    path = tmp_path / "trees.conllu.gz"
    text = "\ufeff\n\n" + conllu(ROWS[:3]) + "\n\n" + conllu(ROWS)
    path.write_bytes(gzip.compress(text.encode()))
    assert [len(tree) for tree in read_trees(path)] == [3, 6]
    path.write_bytes(gzip.compress(text.encode())[:-9])
    with pytest.raises(MalformedFileError, match="cut short or damaged"):
        list(read_trees(path))


@pytest.mark.parametrize("text", ["", "\n", "# only = a comment\n", "\ufeff"])
def test_files_without_sentences_give_none(tmp_path: Path, text: str) -> None:
    assert list(read_trees(written(tmp_path, text))) == []
    assert list(read_documents(written(tmp_path, text))) == []


def test_documents_begin_at_newdoc(tmp_path: Path) -> None:
    new = "# newdoc id = x\n"
    text = conllu(ROWS) + conllu(ROWS, comments=new) + conllu(ROWS) + conllu(ROWS, comments=new)
    documents = list(read_documents(written(tmp_path, text)))
    assert [len(document) for document in documents] == [1, 2, 1]
    plain = list(read_documents(written(tmp_path, conllu(ROWS) * 3)))
    assert [len(document) for document in plain] == [3]


@pytest.mark.parametrize(
    ("text", "line", "problem"),
    [
        ("1\tone\n", 1, "has 2 columns"),
        ("1 one _ _ _ _ 0 root _ _\n", 1, "has 1 columns"),
        (conllu(ROWS[:3]) + "2\ta\t_\t_\t_\t_\t0\t_\t_\t_\n", 5, "'2' where 1 is due"),
        ("1\ta\t_\t_\t_\t_\t0\t_\t_\t_\n1\ta\t_\t_\t_\t_\t0\t_\t_\t_\n", 2, "'1' where 2 is due"),
        ("1\ta\t_\t_\t_\t_\t_\t_\t_\t_\n", 1, "the head of 'a' is '_'"),
        ("1\ta\t_\t_\t_\t_\t-1\t_\t_\t_\n", 1, "the head of 'a' is '-1'"),
        ("1\ta\t_\t_\t_\t_\t2\t_\t_\t_\n", 1, "is 2, but the sentence has 1 words"),
        ("1\ta\t_\t_\t_\t_\t1\t_\t_\t_\n", 1, "'a' hangs on itself"),
        (f"1\ta\t_\t_\t_\t_\t{'9' * 5000}\t_\t_\t_\n", 1, "needed is a number"),
        ("x-2\ta\t_\t_\t_\t_\t1\t_\t_\t_\n", 1, "'x-2' is no number"),
        (
            conllu([("r", "_", 0, "_")])
            + conllu(
                [("r", "_", 0, "_"), ("a", "_", 4, "_"), ("b", "_", 2, "_"), ("c", "_", 3, "_")]
            ),
            4,
            "'a' hangs on itself",
        ),
        ("1\ta\t_\t_\t_\t_\t0\t_\t_\t_\n# late\n", 2, "has 1 columns"),
    ],
)
def test_malformed_files_are_named_with_the_line(
    tmp_path: Path, text: str, line: int, problem: str
) -> None:
    path = written(tmp_path, text)
    with pytest.raises(MalformedFileError, match=problem) as caught:
        list(read_trees(path))
    assert caught.value.line == line
    assert str(path) in str(caught.value)


def test_other_encodings_are_named(tmp_path: Path) -> None:
    path = tmp_path / "latin.conllu"
    path.write_bytes(conllu([("für", "_", 0, "_")]).encode("latin-1"))
    with pytest.raises(MalformedFileError, match="is not utf-8"):
        list(read_trees(path))


def test_a_damaged_archive_is_named(tmp_path: Path) -> None:
    packed = bytearray(gzip.compress(conllu(ROWS * 200).encode()))
    packed[len(packed) // 2] ^= 0xFF
    path = tmp_path / "trees.conllu.gz"
    for content in (packed, packed[:40], b"no archive"):
        path.write_bytes(content)
        with pytest.raises(MalformedFileError, match=r"trees\.conllu\.gz"):
            list(read_trees(path))


def tree_of(heads: list[int], tags: list[str] | None = None) -> DependencyTree:
    words = tuple(f"w{i}" for i in range(len(heads)))
    kinds = tuple(tags or ["X"] * len(heads))
    relations = tuple(f"r{i}" for i in range(len(heads)))
    return DependencyTree(words, words, kinds, tuple(heads), relations)


def test_paths_run_down_the_tree() -> None:
    tree = tree_of([-1, 0, 1, 0], ["VERB", "NOUN", "ADJ", "PUNCT"])
    assert SyntacticNgrams(3).terms(tree) == ["w0>w1", "w1>w2", "w0>w1>w2"]
    assert SyntacticNgrams(2, min_length=1, leave_out=()).terms(tree) == [
        *("w0", "w1", "w0>w1", "w2", "w1>w2", "w3", "w0>w3"),
    ]
    assert SyntacticNgrams(3, relations=True).terms(tree) == [
        *("w0>:r1>w1", "w1>:r2>w2", "w0>:r1>w1>:r2>w2"),
    ]
    assert SyntacticNgrams(2, parts="tag").terms(tree) == ["VERB>NOUN", "NOUN>ADJ"]
    assert SyntacticNgrams(2).terms([tree, tree]) == ["w0>w1", "w1>w2"] * 2


def test_nothing_passes_a_word_that_is_left_out() -> None:
    assert SyntacticNgrams(3, leave_out=["DET"]).terms(tree_of([-1, 0, 1], ["X", "DET", "X"])) == []
    lemmas = DependencyTree(("A", "b", "Cs"), ("a", "_", "C"), ("X",) * 3, (-1, 0, 0), ("",) * 3)
    assert SyntacticNgrams(2, parts="lemma").terms(lemmas) == ["a>c"]


@st.composite
def trees(draw: st.DrawFn) -> DependencyTree:
    """Trees and forests whose words hang on others before or after them."""
    n = draw(st.integers(0, 8))
    order = draw(st.permutations(range(n)))
    heads = [-1] * n
    for i in range(1, n):
        heads[order[i]] = draw(st.sampled_from([-1, *order[:i], *order[:i]]))
    return tree_of(heads)


@given(trees(), st.integers(1, 5), st.integers(0, 3))
def test_paths_are_all_chains_of_heads(tree: DependencyTree, least: int, more: int) -> None:
    def chains(end: int) -> list[list[int]]:
        """All chains that end with a word, by what it hangs on."""
        head = tree.heads[end]
        return [[end], *([*chain, end] for chain in (chains(head) if head >= 0 else []))]

    expected = [
        ">".join(f"w{i}" for i in chain)
        for end in range(len(tree))
        for chain in sorted(chains(end), key=len)
        if least <= len(chain) <= least + more
    ]
    assert SyntacticNgrams(least + more, min_length=least).terms(tree) == expected


@given(st.lists(st.text("a>\\:", max_size=3), min_size=1, max_size=4))
def test_a_path_is_cut_where_it_was_joined(parts: list[str]) -> None:
    assert split_path(join_path(parts)) == tuple(parts)


def test_terms_go_through_the_text_entry_points(tmp_path: Path) -> None:
    rules = SyntacticNgrams(2)
    documents = list(rules.read(written(tmp_path, conllu(ROWS, comments="# newdoc\n") * 2)))
    assert documents[0] == ["eat>owners", "eat>did", "apples>red", "eat>apples"]
    analyzed = analyze(documents)
    assert sorted(documents[0]) == list(analyzed.vocabulary.terms)
    assert Analyzer().terms(documents[1]) == documents[1]


@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        ({"max_length": 1}, "max_length is 1; it must be a whole number of 2 or more"),
        ({"min_length": 0}, "min_length is 0"),
        ({"max_length": "3"}, "max_length is '3'"),
        ({"parts": "letters"}, "parts is 'letters'"),
        ({"leave_out": "PUNCT"}, "leave_out is a single string"),
    ],
)
def test_settings_out_of_range_are_refused(settings: dict[str, object], problem: str) -> None:
    with pytest.raises(InvalidInputError, match=problem):
        SyntacticNgrams(**settings)  # type: ignore[arg-type]
