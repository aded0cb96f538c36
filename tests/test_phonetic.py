"""Terms with one phonetic key are similar; the keys are jellyfish's."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oracle import levenshtein
from softcosine.errors import InvalidInputError, MissingDependencyError
from softcosine.similarity.registry import source_from_state
from toys import rows_of

jellyfish = pytest.importorskip("jellyfish")

import softcosine.lab.phonetic as module  # noqa: E402
from softcosine.lab.phonetic import ALGORITHMS, PhoneticSimilarity  # noqa: E402

WORDS = (
    *("night", "knight", "Knight", "nite", "nights", "write", "right", "rite", "wright", "Wright"),
    *("smith", "smyth", "Schmidt", "tire", "tyre", "tea", "toe", "tie", "na\u00efve", "naive"),
    *("o'neil", "oneil", "E1042", "3.11", "\u65e5\u672c", "\u043a\u043e\u0442", "", "a", "-", "'"),
)
terms = st.lists(
    st.one_of(st.sampled_from(WORDS), st.text("aeiktgh", max_size=5)), min_size=1, max_size=12
)


def similarity(left: str, right: str, source: PhoneticSimilarity) -> float:
    if left == right:
        return 1.0
    if not source.key(left) or source.key(left) != source.key(right):
        return 0.0
    if not source.tempered:
        return source.similarity
    a, b = left.casefold(), right.casefold()
    return source.similarity * (1 - levenshtein(a, b) / max(len(a), len(b)))


@given(terms, terms, st.sampled_from([*ALGORITHMS]), st.booleans(), st.sampled_from([1, 2, 100]))
def test_neighbors_and_similarities_are_those_of_the_definition(
    asked, among, algorithm, tempered, k
) -> None:
    source = PhoneticSimilarity(algorithm, tempered=tempered, similarity=0.75)
    left = [a for a in asked for _ in among]
    values = source.similarities(left, among * len(asked))
    truth = [similarity(a, b, source) for a, b in zip(left, among * len(asked), strict=True)]
    np.testing.assert_allclose(values, truth, rtol=1e-6)
    expected = []
    for term, row in zip(asked, values.reshape(len(asked), -1).tolist(), strict=True):
        pairs = [(j, v) for j, v in enumerate(row) if v > 0.0 and among[j] != term]
        expected.append(sorted(pairs, key=lambda pair: (-pair[1], among[pair[0]], pair[0]))[:k])
    for searched in (among, tuple(among)):
        assert rows_of(source.neighbors(asked, searched, max_neighbors=k)) == expected


@pytest.mark.parametrize(
    ("algorithm", "pair", "key"),
    [
        ("metaphone", ("knight", "night"), "NT"),
        ("soundex", ("smith", "smyth"), "S530"),
        ("nysiis", ("macdonald", "mcdonald"), "MCDANALD"),
        ("match_rating", ("color", "colour"), "CLR"),
    ],
)
def test_each_algorithm_gives_jellyfishs_keys(algorithm, pair, key) -> None:
    source = PhoneticSimilarity(algorithm)
    for term in pair:
        assert source.key(term) == getattr(jellyfish, ALGORITHMS[algorithm])(term)
        assert source.key(term) == key
    assert source.similarities(*([term] for term in pair)).item() == 0.5


def test_case_accents_hyphens_and_apostrophes_are_dropped() -> None:
    source = PhoneticSimilarity()
    assert source.key("NA\u00cfVE") == source.key("naive")
    assert source.key("o'Neil") == source.key("O\u2019Neil") == source.key("oneil")
    assert source.knows(["e-mail", "E1042", "\u65e5\u672c", "", "-"]).tolist() == [
        True, False, False, False, False,
    ]  # fmt: skip


def test_short_keys_say_nothing() -> None:
    assert not PhoneticSimilarity().knows(["tea", "tie"]).any()
    source = PhoneticSimilarity(min_key_length=1)
    assert source.similarities(["tea"], ["tie"]).item() == 0.5


def test_more_is_found_than_there_is_room_for(monkeypatch: pytest.MonkeyPatch) -> None:
    for tempered in (False, True):
        source = PhoneticSimilarity(tempered=tempered)
        before = rows_of(source.neighbors(WORDS, WORDS, max_neighbors=3))
        assert any(before)
        with monkeypatch.context() as patch:
            patch.setattr(module, "_ROOM", 2)
            patch.setattr(module, "_CHUNK_TERMS", 4)
            assert rows_of(source.neighbors(WORDS, WORDS, max_neighbors=3)) == before


def test_settings_are_kept() -> None:
    source = PhoneticSimilarity("nysiis", similarity=0.25, tempered=True, min_key_length=3)
    assert (
        repr(source_from_state(source.state()))
        == repr(source)
        == ("PhoneticSimilarity('nysiis', similarity=0.25, tempered=True, min_key_length=3)")
    )


def test_bad_settings_are_refused() -> None:
    with pytest.raises(
        InvalidInputError, match="it must be one of metaphone, soundex, nysiis, match"
    ):
        PhoneticSimilarity("caverphone")
    with pytest.raises(InvalidInputError, match=r"algorithm is \[\]; it must be one of"):
        PhoneticSimilarity([])  # type: ignore[arg-type]
    for value in (0.0, 1.0, 1 - 1e-12, "x"):
        with pytest.raises(
            InvalidInputError, match=rf"similarity is {value!r}; it must be a number"
        ):
            PhoneticSimilarity(similarity=value)
    with pytest.raises(InvalidInputError, match="min_key_length is 0; it must be a whole number"):
        PhoneticSimilarity(min_key_length=0)


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "jellyfish", None)
    with pytest.raises(MissingDependencyError, match=r"pip install 'softcosine\[phonetic\]'"):
        PhoneticSimilarity()
