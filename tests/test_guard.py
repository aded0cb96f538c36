"""Opposites and codes stay apart, and use up no neighbour's place."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from softcosine.errors import IndexFormatError, InvalidInputError
from softcosine.similarity.combine.combined import strongest
from softcosine.similarity.embeddings.embedding import EmbeddingSimilarity
from softcosine.similarity.overrides.antonyms import Antonyms
from softcosine.similarity.overrides.decisions import pinned
from softcosine.similarity.overrides.guard import Guarded, guarded
from softcosine.similarity.pairs import PairSimilarity
from softcosine.similarity.registry import source_from_state

ALIKE = ["hot", "cold", "COLD", "Cold", "cool", "warm", "E1042", "٣", "mild"]


def alike() -> EmbeddingSimilarity:
    return EmbeddingSimilarity(ALIKE, [[1.0, 0.01 * i] for i in range(len(ALIKE))])


def test_dropped_neighbors_use_up_no_place() -> None:
    source = Guarded(alike(), antonyms=Antonyms([("hot", "cold"), ("hot", "cool")]))
    for k in (1, 2, 3):
        indices, _ = source.neighbors(["hot"], ALIKE, max_neighbors=k).of(0)
        assert [ALIKE[i] for i in indices] == ["warm", "mild"][:k]


def test_terms_with_digits_of_any_script_stand_alone() -> None:
    source = Guarded(alike(), antonyms=None)
    assert source.similarities(["E1042", "٣", "hot"], ["hot", "hot", "٣"]).tolist() == [0.0] * 3
    assert source.similarities(["E1042"], ["E1042"]).tolist() == [1.0]
    assert np.diff(source.neighbors(["E1042", "٣"], ALIKE, max_neighbors=5).indptr).sum() == 0
    open_source = Guarded(alike(), antonyms=None, isolate_digits=False)
    assert open_source.similarities(["E1042"], ["hot"]).item() > 0.9


def test_the_english_antonyms_come_with_the_package() -> None:
    antonyms = Antonyms.english()
    assert Antonyms.english() is antonyms
    assert len(antonyms) > 1000
    assert antonyms.opposed(["hot", "Cold", "hot"], ["cold", "HOT", "warm"]).tolist() == [
        True,
        True,
        False,
    ]
    assert Guarded(alike()).antonyms == antonyms
    assert Guarded(alike(), antonyms=None).antonyms == Antonyms([])


def test_pairs_are_unordered_and_kept_once() -> None:
    antonyms = Antonyms([("Up", "down"), ("down", "up"), ("in", "out")])
    assert antonyms.pairs == {("down", "up"), ("in", "out")}
    assert len(antonyms) == 2
    assert antonyms.of("UP") == {"down"}
    assert antonyms.of("left") == frozenset()


def test_wrong_antonyms_are_refused() -> None:
    with pytest.raises(InvalidInputError, match="its own antonym"):
        Antonyms([("hot", "HOT")])
    for wrong in ("ab", ("hot",), ("hot", 3), ("hot", "cold", "warm"), 3):
        with pytest.raises(InvalidInputError, match=r"is no pair of words; give"):
            Antonyms([wrong])  # type: ignore[list-item]
    with pytest.raises(InvalidInputError, match="antonyms is 'german'"):
        Guarded(alike(), antonyms="german")  # type: ignore[arg-type]


def test_a_persons_decisions_stand_above_the_guard() -> None:
    words = ["hot", "cold", "E1", "E2"]
    vectors = EmbeddingSimilarity(words, [[1, 0], [1, 0.1], [1, 0.2], [1, 0.3]])
    source = guarded(pinned(vectors, {("hot", "cold"): 0.25, ("E1", "E2"): 0.5}))
    assert source.similarities(["hot", "E1"], ["cold", "E2"]).tolist() == [0.25, 0.5]
    assert source.similarities(["hot"], ["E1"]).tolist() == [0.0]
    below = guarded(guarded(vectors))
    assert isinstance(below, Guarded)
    assert below.source is vectors


def test_only_sources_are_guarded() -> None:
    with pytest.raises(InvalidInputError, match="the source is 'english'"):
        Guarded("english")  # type: ignore[arg-type]


def test_the_bundled_antonyms_are_kept_by_reference():
    inner = EmbeddingSimilarity(["hot", "cold"], [[1, 0], [1, 0.1]])
    state = Guarded(inner).state()
    assert not state.arrays
    again = source_from_state(state)
    assert again.antonyms == Antonyms.english()
    assert again.similarities(["hot"], ["cold"]).tolist() == [0.0]
    assert Guarded(inner, antonyms=Antonyms(Antonyms.english().pairs)).state() == state
    own = Guarded(inner, antonyms=Antonyms([("hot", "cold")])).state()
    assert source_from_state(own).antonyms == Antonyms([("hot", "cold")])
    wrong = {**state.settings["antonyms"], "sha256": "0" * 64, "softcosine": "9.9"}
    with pytest.raises(IndexFormatError, match=r"antonyms_en.txt.*pip install"):
        source_from_state(replace(state, settings={**state.settings, "antonyms": wrong}))


NUMBERED = ["a1", "b2", "b3", "bee", "cee", "dee"]
some_pairs = st.dictionaries(
    st.sampled_from([*combinations(NUMBERED, 2)]), st.sampled_from([0.25, 0.5, 0.75]), max_size=8
)


@given(some_pairs, st.integers(1, 5), st.booleans())
def test_terms_with_digits_are_like_what_a_list_says_and_nothing_else(listed, k, pinned):
    learned = EmbeddingSimilarity(NUMBERED, [[1.0, 0.01 * i] for i in range(len(NUMBERED))])
    source = Guarded(strongest(learned, PairSimilarity(listed, pinned=pinned)), antonyms=None)
    for one in NUMBERED:
        others = [other for other in NUMBERED if other != one]
        values = source.similarities([one] * len(others), others).tolist()
        for other, value in zip(others, values, strict=True):
            said = (one, other) in listed or (other, one) in listed
            alone = any(map(str.isdigit, one + other))
            assert (value > 0.0) == (not alone or (said and pinned))
        best = sorted((-value, other) for other, value in zip(others, values, strict=True) if value)
        indices, similarities = source.neighbors([one], NUMBERED, max_neighbors=k).of(0)
        assert [NUMBERED[i] for i in indices] == [other for _, other in best[:k]]
        assert similarities.tolist() == [-value for value, _ in best[:k]]
