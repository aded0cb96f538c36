"""Terms under concepts: the best common concept counts, exactly, for pairs and for neighbours."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from softcosine.errors import InvalidInputError
from softcosine.similarity.registry import source_from_state
from softcosine.similarity.thesaurus import thesaurus as members
from softcosine.similarity.thesaurus.concepts import Concepts, concepts_of_groups, written_terms
from softcosine.similarity.thesaurus.thesaurus import ThesaurusSimilarity
from softcosine.text.analyzer import Analyzer
from softcosine.text.corpus import analyze
from test_sources_contract import as_lists, bits, brute_force, stored

WORDS = ("a", "b", "c", "d", "bank account", "straße", "")
ASKED = (*WORDS, "A", "Straße", "nowhere")
AMONG = ("b", "B", *WORDS, "elsewhere", "a", "A")

weights = st.lists(st.sampled_from((0.5, 1.0, 2.0, 3.0)), min_size=5, max_size=5)
entries = st.lists(
    st.tuples(
        st.integers(0, len(WORDS) - 1), st.integers(0, 4), st.sampled_from((0.0, 0.0, 1.0, 2.5))
    ),
    max_size=25,
)


def table(
    weights: list[float], entries: list[tuple[int, int, float]], threshold: float
) -> Concepts:
    of, concepts, extra = np.array(entries).reshape(-1, 3).T
    costs = np.array(weights)[concepts.astype(int)] + extra
    return Concepts.of_entries(
        WORDS, of.astype(int), concepts.astype(int), costs, np.array(weights), threshold=threshold
    )


def expected(
    weights: list[float],
    entries: list[tuple[int, int, float]],
    i: int,
    j: int,
    threshold: float,
    exponent: float,
) -> np.float32:
    """Similarity of two words from the definition."""
    best = np.float32(0.0)
    for word, concept, extra in entries:
        for other, same, also in entries:
            if (word, other, concept) == (i, j, same):
                w = weights[concept]
                best = max(best, np.float32(2 * w / (w + extra + w + also)))
    return np.float32(float(best) ** exponent) if best >= np.float32(threshold) else np.float32(0.0)


settings = {"threshold": st.sampled_from((0.0, 0.3, 0.5, 1.0)), "exponent": st.sampled_from((1, 2))}


@given(weights, entries, settings["threshold"], settings["exponent"])
def test_the_best_common_concept_counts(
    weights: list[float], entries: list[tuple[int, int, float]], threshold: float, exponent: float
) -> None:
    source = ThesaurusSimilarity(
        table(weights, entries, threshold), name="x", threshold=threshold, exponent=exponent
    )
    for i, left in enumerate(WORDS):
        for j, right in enumerate(WORDS):
            if i != j:
                value = expected(weights, entries, i, j, threshold, exponent)
                assert source.similarities([left], [right]).tolist() == [value]
    assert source.knows(WORDS).all()


@given(weights, entries, settings["threshold"], settings["exponent"], st.integers(1, 8))
def test_neighbors_are_those_of_brute_force(
    weights: list[float],
    entries: list[tuple[int, int, float]],
    threshold: float,
    exponent: float,
    k: int,
) -> None:
    source = ThesaurusSimilarity(
        table(weights, entries, threshold), name="x", threshold=threshold, exponent=exponent
    )
    found = source.neighbors(ASKED, AMONG, max_neighbors=k)
    assert as_lists(found) == brute_force(source, ASKED, AMONG, k)


def large() -> tuple[ThesaurusSimilarity, tuple[str, ...]]:
    random = np.random.default_rng(7)
    words = tuple(f"w{i}" for i in range(700))
    weights = random.integers(1, 9, 90).astype(np.float64)
    of, concepts = random.integers(0, 700, 4000), random.integers(0, 90, 4000)
    costs = weights[concepts] + random.integers(0, 6, 4000)
    concepts_table = Concepts.of_entries(words, of, concepts, costs, weights, threshold=0.4)
    return ThesaurusSimilarity(concepts_table, name="large", threshold=0.4, exponent=1.5), words


def test_blocks_and_threads_change_no_bit(monkeypatch: pytest.MonkeyPatch) -> None:
    source, words = large()
    expected = bits(source.neighbors(words, words, max_neighbors=9))
    for places, n_threads in ((1, 1), (5000, 3), (1 << 22, 1), (1 << 22, 4)):
        monkeypatch.setattr(members, "_BLOCK_PLACES", places)
        monkeypatch.setenv("SOFTCOSINE_THREADS", str(n_threads))
        assert bits(source.neighbors(words, words, max_neighbors=9)) == expected


def test_saved_then_built_anew_it_gives_the_same_bits() -> None:
    source, words = large()
    again = source_from_state(stored(source.state()))
    assert again.name == source.name == "large"
    assert (
        repr(again)
        == repr(source)
        == "ThesaurusSimilarity('large', 700 words, threshold=0.4, exponent=1.5)"
    )
    left, right = list(words), list(reversed(words))
    assert again.similarities(left, right).tobytes() == source.similarities(left, right).tobytes()
    expected = bits(source.neighbors(words, words, max_neighbors=9))
    assert bits(again.neighbors(words, words, max_neighbors=9)) == expected


def test_what_cannot_reach_the_threshold_is_left_out_of_the_table() -> None:
    small = table([1.0] * 5, [(0, 0, 0.0), (1, 0, 0.0), (2, 0, 2.5), (3, 1, 0.0)], 0.5)
    assert small.concepts.tolist() == [0, 0]
    assert small.weights.tolist() == [1.0]
    assert small.words == WORDS


def test_the_strongest_of_several_groups_counts() -> None:
    concepts = concepts_of_groups(
        [(["a", "b", "c"], 0.5), (["b", "a"], 0.75), (["a", "d"], 0.0), (["e"], 1.0)]
    )
    source = ThesaurusSimilarity(concepts, name="x")
    left, right = ["a", "b", "a", "a", "e"], ["b", "c", "d", "e", "e"]
    assert source.similarities(left, right).tolist() == [0.75, 0.5, 0.0, 0.0, 1.0]
    assert source.knows(["d", "e", "f"]).tolist() == [True, True, False]


@pytest.mark.parametrize("weight", [0.0, 1e-50, np.nan])
def test_weights_that_come_to_nothing_make_nothing_similar(weight: float) -> None:
    words = ("a", "b", "c")
    groups = concepts_of_groups([(words, weight)] * 50)
    rows, concepts = np.repeat(np.arange(3), 50), np.tile(np.arange(50), 3)
    damaged = Concepts.of_entries(words, rows, concepts, np.ones(150), np.full(50, weight))
    for table in (groups, damaged):
        source = ThesaurusSimilarity(table, name="x")
        assert source.knows(words).all()
        assert not source.similarities(["a"], ["b"]).any()
        assert not len(source.neighbors(words, words, max_neighbors=3).indices)


def test_terms_of_several_words_are_found_as_the_analyzer_writes_them(tmp_path: Path) -> None:
    path = tmp_path / "synonyms.txt"
    path.write_text("Attorney-at-Law, lawyer\nE-Bike, pedelec\nUSA, United  States\n")
    source = ThesaurusSimilarity.load(path, weight=0.5)
    analyzer = Analyzer(max_ngram=3)
    terms = analyze(["my attorney-at-law", "an E-bike", "the United States"], analyzer=analyzer)
    known = np.array(terms.vocabulary.terms)[source.knows(terms.vocabulary.terms)]
    assert known.tolist() == ["attorney at law", "e bike", "united states"]
    assert source.similarities(["attorney at law", "U S A"], ["Lawyer", "usa"]).tolist() == [0.5, 0]
    assert written_terms("bank_account") == ("bank account",)


def test_wrong_settings_are_refused() -> None:
    empty = concepts_of_groups([])
    with pytest.raises(InvalidInputError, match=r"threshold is 1.5; it must be a number"):
        ThesaurusSimilarity(empty, name="x", threshold=1.5)
    with pytest.raises(
        InvalidInputError, match="exponent is 0; it must be a finite number above 0"
    ):
        ThesaurusSimilarity(empty, name="x", exponent=0)
