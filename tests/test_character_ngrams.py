"""Cosines of character n-grams are exact, however neighbours are found."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import softcosine.similarity.spelling.character_ngrams as module
from conftest import JIT
from softcosine.errors import InvalidInputError
from softcosine.similarity.registry import source_from_state
from softcosine.similarity.spelling.character_ngrams import CharacterNgramSimilarity
from softcosine.text.analyzer import Analyzer
from softcosine.text.stop_words import stop_word_lists
from softcosine.text.words import folded
from toys import rows_of

strings = st.one_of(
    st.text("ab", max_size=6),
    st.text("ab\u65e5\U0001f600\ud800\x00", max_size=12),
    st.text("abc", min_size=10, max_size=40),
    st.text("ae\u00e4\u0161\u0301\u30fc\u30e6", max_size=5),
    st.sampled_from(["database", "databases", "data base", "bassinet", "abase", "based"]),
)


def ngrams(term: str, min_n: int, max_n: int) -> Counter[tuple[str, ...]]:
    """From the definition: runs of characters, with marks that no character equals."""
    term = folded(term)
    marked = ("begin", *term, "end") if term else ()
    return Counter(
        marked[i : i + n] for n in range(min_n, max_n + 1) for i in range(len(marked) - n + 1)
    )


def cosine(left: str, right: str, source: CharacterNgramSimilarity) -> float:
    a = ngrams(left, source.min_n, source.max_n)
    b = ngrams(right, source.min_n, source.max_n)
    dot = sum(count * b[ngram] for ngram, count in a.items())
    squares = [sum(count * count for count in counts.values()) for counts in (a, b)]
    return dot / math.sqrt(squares[0] * squares[1]) if dot else 0.0


def similarity(left: str, right: str, source: CharacterNgramSimilarity) -> np.float32:
    if left == right:
        return np.float32(1.0)
    value = cosine(left, right, source)
    if value and folded(left) == folded(right):
        return np.float32(0.9)
    if np.float32(value) < np.float32(source.threshold):
        return np.float32(0.0)
    return np.float32(min(value, 1.0) ** source.exponent)


def of_head(left: str, right: str) -> float:
    """From the definition, for every pair of forms: as written and stemmed, without accents."""
    stop_words = {form for word in stop_word_lists()["german"] for form in forms_of(word)}
    values = [0.0]
    for head, compound in (*product(forms_of(left), forms_of(right)),
                           *product(forms_of(right), forms_of(left))):  # fmt: skip
        before = compound[: len(compound) - len(head)]
        if compound.endswith(head) and len(head) >= 3 and len(before) >= 4 and before.isalpha():
            share = 0.0 if head in stop_words else len(head) / len(compound)
            values.append(share ** (2.55 if len(head) == 3 else 0.85))
    return max(values)


def forms_of(word: str) -> list[str]:
    return [folded(word), *map(folded, Analyzer("german").stem([word]))]


def by_pairs(source, terms, among, k):
    """Neighbours from the similarities of all pairs, one term after another."""
    answer = []
    for term in terms:
        values = source.similarities([term] * len(among), among).tolist()
        pairs = [(j, v) for j, v in enumerate(values) if v > 0.0 and among[j] != term]
        answer.append(sorted(pairs, key=lambda pair: (-pair[1], among[pair[0]], pair[0]))[:k])
    return answer


settings = st.fixed_dictionaries(
    {
        "min_n": st.sampled_from([1, 2, 3]),
        "max_n": st.sampled_from([3, 5]),
        "threshold": st.sampled_from([0.0, 0.1, 0.4, 0.7, 1.0]),
        "exponent": st.sampled_from([1.0, 2.0, 0.5]),
    }
)
some = st.lists(strings, min_size=1, max_size=10)


@given(some, settings)
def test_similarities_are_those_of_the_definition(terms, given_settings) -> None:
    source = CharacterNgramSimilarity(**given_settings)
    left = [a for a in terms for _ in terms]
    right = terms * len(terms)
    truth = [similarity(a, b, source) for a, b in zip(left, right, strict=True)]
    np.testing.assert_allclose(source.similarities(left, right), truth, rtol=1e-6)


parts = st.sampled_from(
    ["lampe", "Lampen", "tisch", "tür", "den", "schreib", "sch", "haus", "häuser"]
)
compounds = st.lists(st.lists(parts, min_size=1, max_size=4).map("".join), min_size=1, max_size=10)


@given(compounds)
@example(["lampe", "schreibtischlampe", "schlampe", "lampen", "schreibtisch-lampe"])
@example(["den", "hausden", "reihenhäuser", "haus", "küchentisch", "tisch"])
def test_heads_of_compounds_are_those_of_the_definition(terms) -> None:
    source = CharacterNgramSimilarity(compounds="german")
    left, right = [a for a in terms for _ in terms], terms * len(terms)
    truth = [max(similarity(a, b, source), of_head(a, b)) for a, b in zip(left, right, strict=True)]
    np.testing.assert_allclose(source.similarities(left, right), truth, rtol=1e-6)
    for k in (1, 100):
        assert rows_of(source.neighbors(terms, terms, max_neighbors=k)) == by_pairs(
            source, terms, terms, k
        )
    again = source_from_state(source.state())
    assert again.similarities(left, right).tolist() == source.similarities(left, right).tolist()


@given(some, some, settings, st.sampled_from([1, 3, 100]))
def test_neighbors_are_those_of_all_pairs(terms, among, given_settings, k) -> None:
    source = CharacterNgramSimilarity(**given_settings)
    truth = by_pairs(source, terms, among, k)
    assert rows_of(source.neighbors(terms, among, max_neighbors=k)) == truth
    assert rows_of(source.neighbors(terms, tuple(among), max_neighbors=k)) == truth


@pytest.mark.parametrize("threshold", [0.05, 0.3, 0.5, 0.7])
def test_leaving_common_ngrams_out_misses_nothing(threshold: float) -> None:
    generator = np.random.default_rng(0)
    pieces = ["ing", "tion", "er", "re", "a", "b", "work", "net", "un"]
    sizes = generator.integers(1, 6, 300 if JIT else 40)
    words = {"".join(generator.choice(pieces, size)) for size in sizes}
    words = sorted(words | {word + "s" for word in words})
    source = CharacterNgramSimilarity(threshold=threshold)
    truth = by_pairs(source, words, words, 20)
    assert rows_of(source.neighbors(words, words, max_neighbors=20)) == truth
    assert any(truth)


def test_short_terms_are_known_by_their_marks() -> None:
    source = CharacterNgramSimilarity()
    assert source.knows(["", "a", "ab"]).tolist() == [False, True, True]
    source = CharacterNgramSimilarity(min_n=4)
    assert source.knows(["", "a", "ab"]).tolist() == [False, False, True]
    assert source.similarities(["a", "ab"], ["a", "abc"]).tolist()[0] == 1.0


def test_very_long_strings() -> None:
    text = "na\U0001f600" * (5_000 if JIT else 50)
    source = CharacterNgramSimilarity()
    ((first, *_),) = rows_of(source.neighbors([text], [text[1:], "nan", text], max_neighbors=3))
    assert first[0] == 0
    assert first[1] > 0.9
    assert source.similarities([text], [text[1:]]).tolist() == [first[1]]


def test_more_is_found_than_there_is_room_for(monkeypatch: pytest.MonkeyPatch) -> None:
    words = tuple(a + b + c for a in "abc" for b in "abc" for c in "abc")
    source = CharacterNgramSimilarity(threshold=0.0)
    before = rows_of(source.neighbors(words, words, max_neighbors=30))
    assert before == by_pairs(source, words, words, 30)
    monkeypatch.setattr(module, "_ROOM", 1)
    assert rows_of(source.neighbors(words, words, max_neighbors=30)) == before


def test_threads_change_no_bit(monkeypatch: pytest.MonkeyPatch) -> None:
    generator = np.random.default_rng(1)
    words = tuple(
        "".join(generator.choice(list("abc"), size)) for size in generator.integers(1, 9, 100)
    )
    source = CharacterNgramSimilarity(threshold=0.2)
    before = source.neighbors(words, words, max_neighbors=7)
    for n_threads in (1, 2, 5):
        monkeypatch.setenv("SOFTCOSINE_THREADS", str(n_threads))
        monkeypatch.setattr(module, "_CHUNK_TERMS", 16)
        again = CharacterNgramSimilarity(threshold=0.2)
        after = again.neighbors(words, words, max_neighbors=7)
        for name in ("indptr", "indices", "similarities"):
            assert getattr(after, name).tobytes() == getattr(before, name).tobytes()


def test_settings_are_kept() -> None:
    source = CharacterNgramSimilarity(min_n=2, max_n=4, threshold=0.0, exponent=1.5)
    again = source_from_state(source.state())
    assert (
        repr(again)
        == repr(source)
        == "CharacterNgramSimilarity(min_n=2, max_n=4, threshold=0.0, exponent=1.5)"
    )
    pairs = ["walking", "talking"], ["talking", "walker"]
    same = source.similarities(*pairs).tobytes()
    assert again.similarities(*pairs).tobytes() == same


def test_weights_that_earlier_versions_learned_are_refused() -> None:
    state = CharacterNgramSimilarity().state()
    assert source_from_state(replace(state, arrays={"weights": np.ones(1, np.uint8)}))
    learned = replace(state, arrays={"weights": np.full(1 << 20, 3, np.uint8)})
    with pytest.raises(InvalidInputError, match="weights of n-grams"):
        source_from_state(learned)


def test_lengths_that_no_term_has_change_nothing_and_cost_nothing() -> None:
    source = CharacterNgramSimilarity(max_n=10**15)
    assert source.similarities(["abc"], ["abcd"]) == CharacterNgramSimilarity(max_n=6).similarities(
        ["abc"], ["abcd"]
    )


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"min_n": 0}, "min_n is 0; it must be a whole number of 1 or more"),
        ({"max_n": 4.5}, r"max_n is 4\.5; it must be a whole number"),
        ({"min_n": "3"}, "min_n is '3'; it must be a whole number"),
        ({"threshold": "x"}, r"threshold is 'x'; it must be a number from 0 to 1"),
        ({"exponent": None}, "exponent is None; it must be a finite number above 0"),
        ({"min_n": 4, "max_n": 3}, "max_n is 3; it must be a whole number of 4 or more"),
        ({"threshold": -0.1}, r"threshold is -0\.1; it must be a number from 0 to 1"),
        ({"exponent": 0.0}, r"exponent is 0\.0; it must be a finite number above 0"),
    ],
)
def test_bad_settings_are_refused(settings: dict[str, float], message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        CharacterNgramSimilarity(**settings)
