"""Edit distances are exact, however neighbours are found, and give the formula's similarities."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import softcosine.similarity.spelling.edit_distance as module
import softcosine.similarity.spelling.nearby_strings as nearby_strings
from conftest import JIT
from oracle import levenshtein
from softcosine.errors import InvalidInputError
from softcosine.similarity.registry import source_from_state
from softcosine.similarity.spelling.edit_distance import EditDistanceSimilarity
from softcosine.similarity.spelling.nearby_strings import CodePoints, NearbyStrings, Scores
from softcosine.text.words import folded

# Few letters, so that strings are near one another; code points of every size, and lone surrogates.
LETTERS = "ab\u00e1\u00e9\u65e5\U0001f600\ud800\x00"
# Code points that agree in their last eight bits.
CONFUSING = "a\u0161\u0261\U00010061"

short = st.text(LETTERS[:3], max_size=5)
mixed = st.text(LETTERS, max_size=9)
alike = st.text(CONFUSING, max_size=6)
long = st.text("ab", min_size=10, max_size=40)


def similarity(left: str, right: str, source: EditDistanceSimilarity) -> np.float32:
    """The formula."""
    if left == right:
        return np.float32(1.0)
    left, right = folded(left), folded(right)
    distance, longer = levenshtein(left, right), max(len(left), len(right))
    if distance > source.max_distance or distance == longer:
        return np.float32(0.0)
    value = np.float32(min(source.cap, source.alpha * (1 - distance / longer) ** source.beta))
    return value if value >= np.float32(source.threshold) else np.float32(0.0)


def expected(
    source: EditDistanceSimilarity, terms: list[str], among: list[str], k: int
) -> list[list[tuple[int, float]]]:
    answer = []
    for term in terms:
        values = [similarity(term, other, source) for other in among]
        pairs = [(j, v) for j, v in enumerate(values) if v > 0.0 and among[j] != term]
        pairs.sort(key=lambda pair: (-pair[1], among[pair[0]], pair[0]))
        answer.append([(j, float(v)) for j, v in pairs[:k]])
    return answer


def found(
    source: EditDistanceSimilarity, terms: list[str], among: list[str] | tuple[str, ...], k: int
) -> list[list[tuple[int, float]]]:
    neighbors = source.neighbors(terms, among, max_neighbors=k)
    return [
        list(zip(*(part.tolist() for part in neighbors.of(i)), strict=True))
        for i in range(len(neighbors))
    ]


@st.composite
def near_one_another(draw: st.DrawFn) -> list[str]:
    """Strings, and others made of them by a few edits; some stand twice."""
    strings = draw(st.lists(st.one_of(short, mixed, alike, long), min_size=1, max_size=8))
    for _ in range(draw(st.integers(0, 8))):
        string = draw(st.sampled_from(strings))
        for _ in range(draw(st.integers(0, 4))):
            place = draw(st.integers(0, len(string)))
            letter = draw(st.sampled_from(["", *LETTERS]))
            string = string[:place] + letter + string[place + draw(st.integers(0, 1)) :]
        strings.append(string)
    return strings


settings = st.fixed_dictionaries(
    {
        "max_distance": st.sampled_from([1, 2, 3]),
        "threshold": st.sampled_from([0.0, 0.0, 0.05, 0.3, 0.6, 0.95, 1.0]),
        "alpha": st.sampled_from([1.8, 1.0, 0.5]),
        "beta": st.sampled_from([5.0, 1.0, 0.5]),
    }
)


@given(near_one_another(), near_one_another(), settings, st.sampled_from([1, 2, 5, 100]))
@example([""], ["", "a", "b", "ab"], {"threshold": 0.0}, 5)
@example(["a" * 40], ["a" * 40, "a" * 41, "a" * 38 + "b", "b" * 40], {"threshold": 0.0}, 5)
def test_neighbors_are_those_of_brute_force(
    terms: list[str], among: list[str], given_settings: dict[str, float], k: int
) -> None:
    source = EditDistanceSimilarity(**given_settings)
    assert found(source, terms, among, k) == expected(source, terms, among, k)
    assert found(source, terms, tuple(among), k) == expected(source, terms, among, k)


@given(near_one_another(), st.integers(1, 3), st.sampled_from([1, 3, 5, 9, 20]))
def test_deletions_and_pieces_find_the_same(strings: list[str], k: int, max_deleted: int) -> None:
    least = np.array([0, *range(2, k + 2)])
    prepared = NearbyStrings(strings, np.arange(len(strings)), least, max_deleted=max_deleted)
    asked = CodePoints.of(strings)
    scores = Scores.of(asked, k, lambda distance, longer: float(distance < longer))
    (part,) = prepared.find(asked, scores, 0, len(strings), max_found=100)
    pairs = sorted(zip(part.rows().tolist(), part.columns.tolist(), strict=True))
    assert pairs == [
        (i, j)
        for i, left in enumerate(strings)
        for j, right in enumerate(strings)
        if 0 < levenshtein(left, right) <= k
        if levenshtein(left, right) < max(len(left), len(right))
    ]


@given(near_one_another(), settings)
def test_similarities_are_those_of_the_formula(
    strings: list[str], given_settings: dict[str, float]
) -> None:
    source = EditDistanceSimilarity(**given_settings)
    pairs = [(left, right) for left in strings for right in strings]
    left, right = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
    truth = [similarity(*pair, source) for pair in pairs]
    assert source.similarities(left, right).tolist() == truth


@pytest.mark.parametrize("max_distance", [1, 2, 3])
def test_all_words_of_few_letters(max_distance: int) -> None:
    length = 5 if JIT else 3
    words = [""]
    for _ in range(length):
        words += [
            word + letter for word in words if len(word) >= len(words[-1]) for letter in "abc"
        ]
    source = EditDistanceSimilarity(max_distance=max_distance, threshold=0.0)
    left = [a for a in words for _ in words]
    values = source.similarities(left, words * len(words)).reshape(len(words), -1)
    neighbors = source.neighbors(words, words, max_neighbors=len(words))
    dense = np.zeros_like(values)
    dense[neighbors.rows(), neighbors.indices] = neighbors.similarities
    np.fill_diagonal(values, 0.0)
    assert np.array_equal(dense, values)
    assert values[:20, :20].tolist() == [
        [float(similarity(a, b, source)) if a != b else 0.0 for b in words[:20]] for a in words[:20]
    ]


@pytest.mark.parametrize("max_distance", [1, 2, 3])
def test_very_long_strings(max_distance: int) -> None:
    source = EditDistanceSimilarity(max_distance=max_distance)
    text = "na\U0001f600" * (3_000 if JIT else 100)
    n = len(text)
    among = [
        text[1:],
        text[:-1],
        "x" + text,
        text[: n // 2] + "xy" + text[n // 2 :],
        text[3:-1] + "x",
        text[: n // 3] + text[n // 3 + 3 :],
        text[:50],
        text,
    ]
    edits = [1, 1, 1, 2, 4, 3, n - 50, 0]
    (got,) = found(source, [text], among, 10)
    near = {j for j, distance in enumerate(edits) if 0 < distance <= max_distance}
    assert {j for j, _ in got} == near
    assert {value for _, value in got} == {float(np.float32(0.95))}
    values = source.similarities([text] * len(among), among)
    assert set(np.flatnonzero(values).tolist()) == near | {7}


def test_distances_of_random_pairs_agree_with_rapidfuzz() -> None:
    distance = pytest.importorskip("rapidfuzz").distance.Levenshtein.distance
    generator = np.random.default_rng(0)
    words = [
        "".join(generator.choice(list("abcd\u65e5"), size))
        for size in generator.integers(0, 12, 400 if JIT else 40)
    ]
    source = EditDistanceSimilarity(max_distance=3, threshold=0.0, alpha=1.0, beta=1.0)
    neighbors = source.neighbors(words, words, max_neighbors=len(words))
    got = {
        (int(i), int(j), round((1 - float(value)) * max(len(words[i]), len(words[j]))))
        for i, j, value in zip(
            neighbors.rows(), neighbors.indices, neighbors.similarities, strict=True
        )
    }
    truth = {
        (i, j, distance(a, b))
        for i, a in enumerate(words)
        for j, b in enumerate(words)
        if a != b and distance(a, b) <= 3 and distance(a, b) < max(len(a), len(b))
        if distance(a, b) > 0.05 * max(len(a), len(b))  # the cap takes no part
    }
    assert got == truth


def test_no_two_different_strings_are_equal() -> None:
    source = EditDistanceSimilarity(alpha=5.0)
    assert source.similarities(["a" * 30], ["a" * 31]).item() == np.float32(0.95)
    assert EditDistanceSimilarity(cap=0.5).similarities(["a" * 30], ["a" * 31]).item() == 0.5


def test_a_threshold_that_nothing_reaches_leaves_no_neighbor() -> None:
    source = EditDistanceSimilarity(threshold=1.0)
    assert found(source, ["abcdefgh"], ["abcdefgi"], 3) == [[]]
    assert source.similarities(["abcdefgh"], ["abcdefgi"]).item() == 0.0
    # Long strings only: 1 - 1/n reaches the threshold at n = 10.
    source = EditDistanceSimilarity(alpha=1.0, beta=1.0, threshold=0.9)
    assert found(source, ["a" * 10], ["a" * 9], 3)[0] != []
    assert found(source, ["a" * 9], ["a" * 8], 3)[0] == []


def test_more_is_found_than_there_is_room_for(monkeypatch: pytest.MonkeyPatch) -> None:
    words = [a + b + c for a in "abc" for b in "abc" for c in "abc"]
    source = EditDistanceSimilarity(threshold=0.0)
    before = found(source, words, words, 100)
    assert before == expected(source, words, words, 100)
    monkeypatch.setattr(nearby_strings, "_ROOM", 1)
    assert found(source, words, words, 100) == before


def test_threads_change_no_bit(monkeypatch: pytest.MonkeyPatch) -> None:
    generator = np.random.default_rng(1)
    words = tuple(
        "".join(generator.choice(list("abc"), size)) for size in generator.integers(1, 9, 150)
    )
    source = EditDistanceSimilarity(threshold=0.1)
    before = source.neighbors(words, words, max_neighbors=7)
    values = source.similarities(words[:-1], words[1:])
    for n_threads in (1, 2, 5):
        monkeypatch.setenv("SOFTCOSINE_THREADS", str(n_threads))
        monkeypatch.setattr(module, "_CHUNK_TERMS", 16)
        monkeypatch.setattr(nearby_strings, "_CHUNK", 16)
        again = EditDistanceSimilarity(threshold=0.1)
        after = again.neighbors(words, words, max_neighbors=7)
        for name in ("indptr", "indices", "similarities"):
            assert getattr(after, name).tobytes() == getattr(before, name).tobytes()
        assert again.similarities(words[:-1], words[1:]).tobytes() == values.tobytes()


def test_settings_are_kept() -> None:
    source = EditDistanceSimilarity(alpha=1.5, beta=3, max_distance=3, threshold=0.25, cap=0.9)
    again = source_from_state(source.state())
    assert isinstance(again, EditDistanceSimilarity)
    assert (
        repr(again)
        == repr(source)
        == ("EditDistanceSimilarity(alpha=1.5, beta=3, max_distance=3, threshold=0.25, cap=0.9)")
    )
    assert again.state() == source.state()


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("alpha", 0.0, "alpha is 0.0; it must be a finite number above 0"),
        ("alpha", math.nan, "alpha is nan; it must be a finite number above 0"),
        ("beta", -1.0, "beta is -1.0; it must be a finite number above 0"),
        ("beta", math.inf, "beta is inf; it must be a finite number above 0"),
        ("max_distance", 0, "max_distance is 0; it must be a whole number from 1 to 3"),
        ("max_distance", 4, "max_distance is 4; it must be a whole number from 1 to 3"),
        ("max_distance", 1.5, r"max_distance is 1\.5; it must be a whole number from 1 to 3"),
        ("threshold", 1.5, r"threshold is 1\.5; it must be a number from 0 to 1"),
        ("cap", 1.0, r"cap is 1\.0; it must be a number above 0 and below 1"),
        ("cap", 1 - 1e-12, r"cap is 0\.99.*; it must be a number above 0 and below 1"),
        ("alpha", "x", "alpha is 'x'; it must be a finite number above 0"),
    ],
)
def test_bad_settings_are_refused(name: str, value: float, message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        EditDistanceSimilarity(**{name: value})
