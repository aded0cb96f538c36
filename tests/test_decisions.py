"""A person's decisions: the file, its errors, and what they do to a source, against all pairs."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from softcosine.errors import InvalidInputError, MalformedFileError
from softcosine.similarity.in_terms import TermKeys
from softcosine.similarity.overrides.decision_files import read_decisions
from softcosine.similarity.overrides.decision_list import Decision, Decisions
from softcosine.similarity.overrides.decisions import DecidedSimilarity, decided, pinned, without
from softcosine.similarity.registry import SourceKind, register_source, source_from_state
from softcosine.similarity.source import TermSimilaritySource
from softcosine.text.analyzer import Analyzer
from softcosine.text.vocabulary import Vocabulary
from tables import TERMS, Table, drawn, square
from toys import SavableToySource, ToySource

FILE = r"""
# what our customers mean
tyre = tire 0.9             # this similarity
Colour = color
"new york" = nyc 0.95
hot ! cold
java * coffee 0.2
python * .5
E1042 !
ACME only
C# = "#\"sharp\\" 1e-1	# a tab before the comment
only only
= = ! 0.25
linux = 95
"""


def written(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "decisions.txt"
    path.write_text(text, encoding="utf-8")
    return path


def test_a_file_holds_one_decision_a_line(tmp_path: Path) -> None:
    expected = (
        Decision("tyre", "=", "tire", 0.9),
        Decision("Colour", "=", "color", 1.0),
        Decision("new york", "=", "nyc", 0.95),
        Decision("hot", "!", "cold"),
        Decision("java", "*", "coffee", 0.2),
        Decision("python", "*", None, 0.5),
        Decision("E1042", "!"),
        Decision("ACME", "only"),
        Decision("C#", "=", '#"sharp\\', 0.1),
        Decision("only", "only"),
        Decision("=", "=", "!", 0.25),
        Decision("linux", "=", "95"),
    )
    assert read_decisions(written(tmp_path, FILE)).lines == expected
    for ends in ("\r\n", "\r"):
        path = tmp_path / "windows.txt"
        path.write_bytes(b"\xef\xbb\xbf" + FILE.replace("\n", ends).encode())
        assert read_decisions(path).lines == expected
    assert len(read_decisions(written(tmp_path, "# nothing\n\n   \n"))) == 0
    assert len(read_decisions(written(tmp_path, ""))) == 0


words = st.text(st.sampled_from(' ab#"\\=!*ß\n\r\t日nr'), min_size=1, max_size=4)


@st.composite
def lines(draw: st.DrawFn, among: st.SearchStrategy[str] = words) -> Decision:
    word, other = draw(among), draw(st.none() | among)
    if other is not None and other.casefold() == word.casefold():
        other = None
    signs = ("!", "*", "only") if other is None else ("=", "!", "*")
    value = draw(st.sampled_from((0.0, 0.1, 0.5, 1.0)) | st.floats(0, 1))
    return Decision(word, draw(st.sampled_from(signs)), other, value)


def consistent(lines: list[Decision]) -> Decisions:
    """As many of the lines as do not contradict earlier ones."""
    kept = Decisions()
    for line in lines:
        try:
            kept = Decisions((*kept.lines, line))
        except InvalidInputError:
            continue
    return kept


@given(st.lists(lines(), max_size=6))
def test_what_is_written_is_read_back(lines: list[Decision]) -> None:
    decisions = consistent(lines)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "decisions.txt"
        path.write_bytes(decisions.text().encode())
        assert read_decisions(path) == decisions


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("tyre = tire 0.9\ntyre tire 0.9\n", 2, "'tyre tire 0.9' has none of =, !, * and only"),
        ("new york = nyc 0.9", 1, 'put what has spaces in quotes: "new york" = nyc 0.9'),
        ("tyre", 1, "has none of"),
        ('tyre "=" tire', 1, "has none of"),
        ("nyc = new york 0.9", 1, "has 2 words after =, where 1 can stand"),
        ("nyc =", 1, "has 0 words after ="),
        ("nyc = york big", 1, "ends with 'big'; needed is a number"),
        ("java *", 1, "has no weight"),
        ("java * coffee", 1, "ends with 'coffee'; needed is a number in"),
        ('java * "0.5"', 1, "ends with '0.5'; needed is a number in"),
        ("a ! b c", 1, "has 2 words after !, where 0 or 1 can stand"),
        ("a only b", 1, "has 1 words after only, where 0 can stand"),
        ('\n\n"tyre = tire', 3, "a quote that is not closed"),
        ('ty"re = tire', 1, "a quote that is not closed, or not at the edge"),
        ('"" = tire', 1, "a decision is about ''; needed is a word"),
        ("tyre = tire 1.5", 1, "'tyre' and 'tire' are given 1.5; needed is a similarity in"),
        ("tyre * tire -1", 1, "'tyre' and 'tire' are given -1.0; needed is a weight in"),
        ("tyre * nan", 1, "'tyre' is given nan; needed is a weight in"),
        ("tyre = Tyre 0.5", 1, "'tyre' and 'Tyre' are one word"),
        (
            "tyre = tire 0.9\n# so\nTIRE = Tyre 0.8",
            3,
            "'TIRE' and 'Tyre' are pinned to 0.8, but 'tyre' and 'tire' are pinned to 0.9 in "
            "line 1; take one of the two lines out",
        ),
        ("a = b 0.9\nb ! a", 2, "'b' and 'a' are forbidden, but 'a' and 'b' are pinned to 0.9"),
        ("a ! b\nb = a", 2, "'b' and 'a' are pinned to 1, but 'a' and 'b' are forbidden in line 1"),
        ("a = b\na * b 0.5", 2, "'a' and 'b' are weighed by 0.5, but"),
        ("a * 0.5\nA * 0.6", 2, "'A' is weighed by 0.6, but 'a' is weighed by 0.5 in line 1"),
        ("a !\nb = A 0.5", 2, "'b' and 'A' are pinned to 0.5, but 'a' is isolated in line 1"),
        ("b = a 0.5\nA !", 2, "'A' is isolated, but 'b' and 'a' are pinned to 0.5 in line 1"),
        (
            "a only\na * 0.5",
            2,
            "'a' is weighed by 0.5, but 'a' is restricted to its pinned",
        ),
    ],
)
def test_every_error_names_its_line(tmp_path: Path, text: str, line: int, message: str) -> None:
    path = written(tmp_path, text)
    with pytest.raises(MalformedFileError) as raised:
        read_decisions(path)
    assert raised.value.line == line
    assert str(raised.value).startswith(f"{path}, line {line}: ")
    assert message in str(raised.value)


def test_a_file_that_is_no_text_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "decisions.txt"
    path.write_bytes(b"caf\xe9 = coffee")
    with pytest.raises(MalformedFileError, match=r"line 1: this is not utf-8"):
        read_decisions(path)


@pytest.mark.parametrize("start", ['{"text": ', "a,b,c,", '"never closed '])
def test_a_file_of_another_kind_is_shown_cut_with_what_is_needed(tmp_path, start) -> None:
    path = written(tmp_path, start + "word " * 1000)
    with pytest.raises(MalformedFileError) as raised:
        read_decisions(path)
    assert "A file of decisions holds one a line: tyre = tire 0.9, hot ! cold" in str(raised.value)
    assert len(str(raised.value)) < len(str(path)) + 400


def test_saying_the_same_twice_is_no_contradiction() -> None:
    pairs = {("a", "b"): 0.5, ("B", "A"): 0.5, ("c", "d"): 0.0}
    decisions = Decisions.of(pinned=pairs, forbidden=[("d", "c")], isolated=["c", "C"])
    assert len(decisions) == 6
    assert decisions.text().splitlines()[-2:] == ["c !", "C !"]


def test_contradictions_in_code_are_refused_too() -> None:
    with pytest.raises(InvalidInputError, match=r"'b' and 'a' are pinned to 0\.5, but 'a' and 'b'"):
        Decisions.of(pinned={("a", "b"): 0.6, ("b", "a"): 0.5})
    toy = ToySource({("a", "b"): 0.5})
    for pairs in ({("a", "b"): 2.0}, {("a", "a"): 0.5}, {("a", ""): 0.5}):
        with pytest.raises(InvalidInputError):
            pinned(toy, pairs)


def test_what_is_no_pair_and_no_number_is_named() -> None:
    for value in ("high", None, 10**400):
        with pytest.raises(InvalidInputError, match=r"'a' and 'b' are given .*; needed is"):
            Decisions.of(pinned={("a", "b"): value})  # type: ignore[dict-item]
    for pairs in (["ab"], [("a",)], [3], [("a", "b", 0.5)]):
        with pytest.raises(InvalidInputError, match=r"is no pair of words; give two"):
            Decisions.of(forbidden=pairs)  # type: ignore[arg-type]
    with pytest.raises(InvalidInputError, match="pinned is of type list; pass pairs and numbers"):
        pinned(ToySource({}), [("a", "b", 0.5)])  # type: ignore[arg-type]
    with pytest.raises(InvalidInputError, match="a decision is about 3; needed is a word"):
        Decisions.of(isolated=[3])  # type: ignore[list-item]
    toy = ToySource({})
    with pytest.raises(InvalidInputError, match="the decisions are 'a ! b'"):
        decided(toy, "a ! b")  # type: ignore[arg-type]
    with pytest.raises(InvalidInputError, match="it must be a term similarity source"):
        without("toy", [("a", "b")])  # type: ignore[arg-type]
    with pytest.raises(InvalidInputError, match="the sign is '~'"):
        Decision("a", "~", "b")  # type: ignore[arg-type]
    with pytest.raises(InvalidInputError, match="is pinned to no other word"):
        Decision("a", "=")
    with pytest.raises(InvalidInputError, match="'only' takes one word, here 'a'"):
        Decision("a", "only", "b")


def defined(S: NDArray[np.float32], decisions: Decisions) -> NDArray[np.float32]:
    """All similarities from the definition, pair by pair."""
    answer = np.eye(len(TERMS), dtype=np.float32)
    verdicts = {line.key: line.verdict for line in decisions}
    for i, a in enumerate(TERMS):
        for j, b in enumerate(TERMS):
            pair = verdicts.get(frozenset((a, b)), ("weighed", 1.0))
            alone = [verdicts.get(frozenset((word,)), ("weighed", 1.0)) for word in (a, b)]
            if a == b:
                continue
            if pair[0] == "pinned":
                answer[i, j] = pair[1]
            elif any(verdict[0] in ("isolated", "only") for verdict in alone):
                answer[i, j] = 0.0
            else:
                answer[i, j] = float(S[i, j]) * (alone[0][1] * alone[1][1] * pair[1])
    return answer


@given(drawn(), st.lists(lines(st.sampled_from((*TERMS, "zz"))), max_size=8), st.integers(1, 6))
def test_a_decided_source_is_the_definition(table: Table, lines: list[Decision], k: int) -> None:
    decisions = consistent(lines)

    class Patient(Table):
        """Knows no strings that are not its own, and is asked about them."""

        def similarities(self, left, right):
            inside = [a in TERMS and b in TERMS for a, b in zip(left, right, strict=True)]
            pairs = [(a, b) for a, b, there in zip(left, right, inside, strict=True) if there]
            answer = np.zeros(len(left), np.float32)
            answer[inside] = super().similarities(*zip(*pairs, strict=True)) if pairs else []
            return answer

    source = decided(Patient(table.S, list(table.known.values())), decisions)
    expected = defined(table.S, decisions)
    assert square(source).tolist() == expected.tolist()
    for terms in (TERMS, TERMS[:1], list(TERMS)):
        found = source.neighbors(terms, (*TERMS, "zz"), max_neighbors=k)
        for i, term in enumerate(terms):
            values = {word: expected[i, j] for j, word in enumerate(TERMS)}
            values["zz"] = source.similarities([term], ["zz"]).item()
            order = sorted(values, key=lambda word: (-values[word], word))
            order = [word for word in order if word != term and values[word] > 0][:k]
            assert [(*TERMS, "zz")[j] for j in found.of(i)[0]] == order
            assert found.of(i)[1].tolist() == [values[word] for word in order]


def neighbors_of(source: TermSimilaritySource, word: str, among: list[str], k: int) -> list[str]:
    return [among[i] for i in source.neighbors([word], among, max_neighbors=k).of(0)[0]]


def test_what_is_forbidden_or_weighed_down_uses_up_no_place() -> None:
    among = [f"w{i:03}" for i in range(200)]
    toy = ToySource({("a", word): 1 - i / 400 for i, word in enumerate(among)})
    source = without(toy, [("a", word) for word in among[:150]])
    assert neighbors_of(source, "A".lower(), among, 3) == ["w150", "w151", "w152"]
    weights = dict.fromkeys(among[:150], 0.25)
    source = decided(toy, Decisions.of(weighed=weights, isolated=["w151"]))
    assert neighbors_of(source, "a", among, 3) == ["w150", "w152", "w153"]
    source = decided(toy, Decisions.of(weighed={"a": 0.5, ("a", "w000"): 0.1}))
    assert neighbors_of(source, "a", among, 2) == ["w001", "w002"]


def test_pinned_neighbours_come_in_though_nobody_knows_them() -> None:
    toy = ToySource({("tyre", "wheel"): 0.5})
    source = pinned(toy, {("tyre", "new york"): 0.75, ("E7", "Tyre"): 0.25, ("hub", "rim"): 0.0})
    among = ["wheel", "new york", "e7", "E7", "rim"]
    assert neighbors_of(source, "tyre", among, 9) == ["new york", "wheel", "E7", "e7"]
    assert source.knows(["new york", "e7", "hub", "else"]).tolist() == [True, True, False, False]
    assert source.similarities(["NEW YORK", "e7"], ["tyre", "E7"]).tolist() == [0.75, 0.0]


def test_decisions_above_decisions_win() -> None:
    toy = ToySource({("a", "b"): 0.5})
    assert without(pinned(toy, {("a", "b"): 0.75}), [("b", "a")]).similarities(["a"], ["b"]) == 0.0
    assert pinned(without(toy, [("a", "b")]), {("a", "b"): 0.75}).similarities(["a"], ["b"]) == 0.75


def test_decisions_are_saved_with_the_source() -> None:
    register_source("tests-toy", SourceKind(SavableToySource))
    toy = SavableToySource({("a", "b"): 0.5})
    for decisions in (Decisions(), Decisions.of(pinned={("new york", "a"): 0.1}, only=["b"])):
        source = source_from_state(decided(toy, decisions).state())
        assert isinstance(source, DecidedSimilarity)
        assert source.decisions == decisions


def test_under_stemming_decisions_reach_every_form() -> None:
    vocabulary = Vocabulary(
        ["tire", "tyre", "hot", "x"],
        forms=[["tires", "Tire"], ["tyres", "tyre", "TYRED"], ["hot", "hotter"], ["x"]],
    )
    decisions = Decisions.of(
        pinned={("tyre", "tire"): 0.9, ("tyres", "tires"): 0.8}, isolated=["hotter"], only=["zz"]
    )
    keys = TermKeys(vocabulary=vocabulary)
    wide = decisions.in_terms(keys)
    assert wide.lines[: len(decisions)] == decisions.lines
    assert wide.in_terms(keys) == wide
    source = decided(ToySource({}), decisions).in_terms(keys)
    left, right = ["tires", "tire", "tires", "tires"], ["tyres", "tyred", "tyre", "TYRED"]
    assert {kind for kind, _ in source.verdicts(left, right)} == {"pinned"}
    assert source.similarities(left, right).tolist() == pytest.approx([0.8, 0.9, 0.9, 0.9])
    assert source.verdicts(["hot", "zz"], ["x", "x"]) == [("isolated", 0.0)] * 2
    assert source.in_terms(keys) is source
    clashing = Decisions.of(pinned={("hot", "x"): 0.5}, isolated=["hotter"])
    assert clashing.in_terms(keys).lines == clashing.lines


def test_decisions_reach_terms_by_forms_that_no_text_has() -> None:
    analyzer = Analyzer("english", max_ngram=2)
    decisions = Decisions.of(
        pinned={("automobile", "Truck"): 0.9, ("New Yorks", "cafe\u0301"): 0.5},
        forbidden=[("automobile", "nyc")],
        isolated=["?!"],
    )
    source = decided(ToySource({}), decisions).in_terms(TermKeys(analyzer))
    left, right = ["automobiles", "new york"], ["trucks", "cafés"]
    assert source.similarities(left, right).tolist() == pytest.approx([0.9, 0.5])
