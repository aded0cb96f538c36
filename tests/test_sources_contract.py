"""Every source keeps the same promises; values are compared with all pairs, one by one."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from numpy.typing import NDArray

from softcosine.errors import InvalidInputError
from softcosine.lab.phonetic import PhoneticSimilarity
from softcosine.lab.regression.source import RegressionSimilarity
from softcosine.lab.snos.source import SnosSimilarity
from softcosine.lab.syntactic.source import SyntacticSimilarity
from softcosine.similarity.combine.combined import first, noisy_or, scaled, strongest
from softcosine.similarity.cooccurrence.cooccurrence import CooccurrenceSimilarity
from softcosine.similarity.embeddings.composed_vectors import ComposedVectors
from softcosine.similarity.embeddings.embedding import EmbeddingSimilarity
from softcosine.similarity.embeddings.encoder import EncoderSimilarity
from softcosine.similarity.embeddings.subwords import Subwords
from softcosine.similarity.embeddings.word_pieces import WordPieces
from softcosine.similarity.in_terms import TermKeys, in_terms
from softcosine.similarity.neighbors import Neighbors
from softcosine.similarity.overrides.antonyms import Antonyms
from softcosine.similarity.overrides.decision_list import Decisions
from softcosine.similarity.overrides.decisions import decided
from softcosine.similarity.overrides.guard import Guarded, guarded
from softcosine.similarity.pairs import PairSimilarity
from softcosine.similarity.registry import (
    SourceKind,
    SourceSettings,
    kind_named,
    needs_nothing,
    register_source,
    source_from_state,
    source_named,
)
from softcosine.similarity.source import (
    SourceState,
    TermSimilaritySource,
    state_of,
    usual_neighbors,
)
from softcosine.similarity.spelling.character_ngrams import CharacterNgramSimilarity
from softcosine.similarity.spelling.edit_distance import EditDistanceSimilarity
from softcosine.similarity.thesaurus.concepts import concepts_of_groups
from softcosine.similarity.thesaurus.thesaurus import ThesaurusSimilarity
from softcosine.text.analyzer import Analyzer
from softcosine.text.corpus import AnalyzedTexts, analyze
from toys import ToySource

WORDS = (
    "hot",
    "cold",
    "warm",
    "tyre",
    "tire",
    "Tyre",
    "E1042",
    "E1043",
    "3.11",
    "łódź",
    "日本",
    "",
)
ASKED = (*WORDS, "HOT", "Warm", "nowhere", "Straße")
# Duplicates, unknown strings and no order; more of them than neighbours are asked for.
AMONG = ("tire", "nowhere", *reversed(WORDS), "hot", "warm", "elsewhere", "HOT", "TIRE")


def embedding() -> EmbeddingSimilarity:
    # Few distinct numbers: cosines tie, and several vectors are the same.
    vectors = np.random.default_rng(3).integers(-1, 4, (len(WORDS), 3))
    vectors[vectors.sum(axis=1) == 0] = 1
    return EmbeddingSimilarity(WORDS, vectors, threshold=0.2)


def other_embedding() -> EmbeddingSimilarity:
    words = [*WORDS[::2], "elsewhere", "nowhere"]
    vectors = np.random.default_rng(4).integers(0, 3, (len(words), 4)) + 0.5
    return EmbeddingSimilarity(words, vectors, threshold=0.5, exponent=1.5)


def corpus() -> AnalyzedTexts:
    words = ["hot", "cold", "warm", "tyre", "tire", "E1042", "E1043", "日本"]
    random = np.random.default_rng(5)
    return analyze([list(random.choice(words, 6)) for _ in range(20)])


def cooccurrence() -> CooccurrenceSimilarity:
    return CooccurrenceSimilarity.fit(corpus(), dimensions=4, evidence=2.0, threshold=0.1)


def pairs() -> PairSimilarity:
    given = [("hot", "cold", 0.5), ("cold", "hot", 0.75), ("hot", "warm", 0.75), ("", "hot", 0.25)]
    given += [("tire", word, 0.75) for word in ("tyre", "Tyre", "E1042", "日本", "elsewhere")]
    return PairSimilarity([*given, ("łódź", "łódź", 1.0)])


DECISIONS = Decisions.of(
    pinned={("tyre", "tire"): 0.3, ("hot", "elsewhere"): 0.9, ("3.11", "TIRE"): 1.0},
    forbidden=[("hot", "cold")],
    weighed={("warm", "cold"): 0.5, "łódź": 0.5},
    isolated=["e1042"],
    only=["3.11"],
)


def thesaurus() -> ThesaurusSimilarity:
    groups = [(["hot", "warm"], 0.75), (["cold", "hot", "HOT"], 0.5), (["", "łódź"], 0.25)]
    groups += [(["tyre", "Tyre", "tire", "E1042"], 0.9), (["日本", "nowhere", "hot"], 0.625)]
    concepts = concepts_of_groups(groups)
    return ThesaurusSimilarity(concepts, name="groups", threshold=0.5, exponent=1.5)


STEMS = TermKeys(Analyzer("english"))


def word_list() -> ThesaurusSimilarity:
    # Two of its words come to the term of "tire", and two to that of "warm".
    groups = [(["hot", "warms"], 0.75), (["cold", "warm", "HOTs"], 0.5), (["", "łódź"], 0.25)]
    groups += [(["tyres", "tires", "E1042"], 0.9), (["Tired", "日本", "hot"], 0.625)]
    return ThesaurusSimilarity(concepts_of_groups(groups), name="list", listed=True, pinned=True)


def token_pieces() -> EmbeddingSimilarity:
    tokens = [
        "[UNK]",
        "h",
        "##ot",
        "c",
        "##old",
        "##ire",
        "t",
        "tyre",
        "warm",
        "##w",
        "e",
        "日",
        "3",
    ]
    vectors = np.random.default_rng(7).integers(-2, 4, (len(tokens), 3)).astype(np.int8)
    return EmbeddingSimilarity.of_table(ComposedVectors(WordPieces(tokens), vectors), threshold=0.1)


def ngrams() -> EmbeddingSimilarity:
    subwords = Subwords(WORDS[2:9], min_n=2, max_n=3, n_buckets=20)
    vectors = np.random.default_rng(8).integers(-2, 4, (27, 3)).astype(np.float32)
    return EmbeddingSimilarity.of_table(ComposedVectors(subwords, vectors))


def encoder() -> EncoderSimilarity:
    def model(terms: list[str]) -> list[list[float]]:
        return [[1.0, len(term) % 4, ord(term[0]) % 5 - 1] for term in terms]

    # What is saved without the model knows what was encoded before.
    return EncoderSimilarity(model, name="letters", threshold=0.2).encode([*ASKED, *AMONG])


def phonetic(algorithm: str, *, tempered: bool = False) -> PhoneticSimilarity:
    pytest.importorskip("jellyfish")
    return PhoneticSimilarity(algorithm, tempered=tempered, min_key_length=1)


SOURCES: dict[str, Callable[[], TermSimilaritySource]] = {
    "embedding": embedding,
    "int8 embedding": lambda: EmbeddingSimilarity(
        WORDS, np.random.default_rng(6).integers(-9, 90, (len(WORDS), 5)).astype(np.int8)
    ),
    "no words": lambda: EmbeddingSimilarity([], []),
    "token pieces": token_pieces,
    "n-grams": ngrams,
    "encoder": encoder,
    "edit distance": EditDistanceSimilarity,
    "three edits": lambda: EditDistanceSimilarity(max_distance=3, threshold=0.0),
    "character n-grams": lambda: CharacterNgramSimilarity(min_n=2, threshold=0.1),
    "heads of compounds": lambda: CharacterNgramSimilarity(compounds="german"),
    "phonetic": lambda: phonetic("metaphone"),
    "phonetic, tempered": lambda: phonetic("soundex", tempered=True),
    "cooccurrence": cooccurrence,
    "regression": lambda: RegressionSimilarity.fit(corpus(), threshold=0.0),
    "snos": lambda: SnosSimilarity.fit(corpus(), min_count=1, threshold=0.0),
    "syntactic": lambda: SyntacticSimilarity(embedding()),
    "pairs": pairs,
    "thesaurus": thesaurus,
    "guarded": lambda: Guarded(embedding(), antonyms=Antonyms([("hot", "cold"), ("hot", "warm")])),
    "unguarded": lambda: Guarded(embedding(), antonyms=None, isolate_digits=False),
    "scaled": lambda: scaled(embedding(), 0.5),
    "strongest": lambda: strongest(embedding(), scaled(other_embedding(), 0.75), cooccurrence()),
    "noisy or": lambda: noisy_or(embedding(), other_embedding(), cooccurrence()),
    "decided": lambda: decided(embedding(), DECISIONS),
    "first": lambda: first(other_embedding(), cooccurrence(), embedding()),
    "all together": lambda: Guarded(
        strongest(first(cooccurrence(), embedding()), scaled(noisy_or(other_embedding()), 0.5)),
        antonyms=Antonyms([("tire", "hot")]),
    ),
    "pairs in terms": lambda: in_terms(pairs(), STEMS),
    "list in terms": lambda: in_terms(word_list(), STEMS),
    "decided in terms": lambda: in_terms(decided(word_list(), DECISIONS), STEMS),
    "joined in terms": lambda: in_terms(
        strongest(first(pairs(), embedding()), scaled(word_list(), 0.5)), STEMS
    ),
}


def brute_force(
    source: TermSimilaritySource, terms: Sequence[str], among: Sequence[str], k: int
) -> list[list[tuple[int, np.float32]]]:
    """Neighbours from the definition: all pairs, sorted."""
    answer = []
    for term in terms:
        values = source.similarities([term] * len(among), among)
        pairs = [(j, values[j]) for j in range(len(among)) if values[j] > 0.0 and among[j] != term]
        answer.append(sorted(pairs, key=lambda pair: (-pair[1], among[pair[0]], pair[0]))[:k])
    return answer


def as_lists(neighbors: Neighbors) -> list[list[tuple[int, np.float32]]]:
    return [
        list(zip(*(part.tolist() for part in neighbors.of(i)), strict=True))
        for i in range(len(neighbors))
    ]


def bits(neighbors: Neighbors) -> tuple[bytes, bytes, bytes]:
    arrays = neighbors.indptr, neighbors.indices, neighbors.similarities
    return arrays[0].tobytes(), arrays[1].tobytes(), arrays[2].tobytes()


@pytest.fixture(scope="module", params=SOURCES)
def source(request: pytest.FixtureRequest) -> TermSimilaritySource:
    return SOURCES[request.param]()


def square(source: TermSimilaritySource, terms: Sequence[str]) -> NDArray[np.float32]:
    n = len(terms)
    left = [terms[i] for i in range(n) for _ in range(n)]
    right = [terms[j] for _ in range(n) for j in range(n)]
    return source.similarities(left, right).reshape(n, n)


class TestSourceContract:
    def test_similarities_are_symmetric_to_the_bit_and_at_most_one(
        self, source: TermSimilaritySource
    ) -> None:
        S = square(source, ASKED)
        assert S.dtype == np.float32
        assert S.tobytes() == np.ascontiguousarray(S.T).tobytes()
        assert S.min() >= 0.0
        assert S.max() <= 1.0

    def test_every_term_is_wholly_similar_to_itself_known_or_not(
        self, source: TermSimilaritySource
    ) -> None:
        assert source.similarities(ASKED, ASKED).tolist() == [1.0] * len(ASKED)

    def test_unknown_terms_are_similar_to_nothing_else(self, source: TermSimilaritySource) -> None:
        known = source.knows(ASKED)
        S = square(source, ASKED)
        np.fill_diagonal(S, 0.0)
        assert not S[~known].any()
        neighbors = source.neighbors(ASKED, AMONG, max_neighbors=5)
        assert not np.diff(neighbors.indptr)[~known].any()

    @pytest.mark.parametrize("k", [1, 2, 5, 100])
    def test_neighbors_are_those_of_brute_force(self, source: TermSimilaritySource, k: int) -> None:
        neighbors = source.neighbors(ASKED, AMONG, max_neighbors=k)
        assert neighbors.indptr.dtype == np.int64
        assert neighbors.indices.dtype == np.int32
        assert neighbors.similarities.dtype == np.float32
        assert as_lists(neighbors) == brute_force(source, ASKED, AMONG, k)

    def test_a_batch_equals_one_by_one(self, source: TermSimilaritySource) -> None:
        batch = as_lists(source.neighbors(ASKED, AMONG, max_neighbors=4))
        single = [as_lists(source.neighbors([t], AMONG, max_neighbors=4))[0] for t in ASKED]
        assert batch == single

    def test_a_remembered_tuple_a_new_tuple_and_a_list_give_the_same(
        self, source: TermSimilaritySource
    ) -> None:
        expected = bits(source.neighbors(ASKED, AMONG, max_neighbors=4))
        for among in (AMONG, list(AMONG), (*AMONG[:3], *AMONG[3:]), AMONG):
            assert bits(source.neighbors(ASKED, among, max_neighbors=4)) == expected

    def test_threads_that_search_different_tuples_do_not_meet(
        self, source: TermSimilaritySource
    ) -> None:
        searched = (AMONG, tuple(reversed(AMONG)), AMONG[::2])
        expected = [bits(source.neighbors(ASKED, among, max_neighbors=4)) for among in searched]
        interval = sys.getswitchinterval()
        sys.setswitchinterval(1e-6)
        try:
            with ThreadPoolExecutor(3) as pool:
                answers = list(
                    pool.map(
                        lambda i: bits(source.neighbors(ASKED, searched[i % 3], max_neighbors=4)),
                        range(24),
                    )
                )
        finally:
            sys.setswitchinterval(interval)
        assert answers == expected * 8

    def test_a_list_may_change_between_calls(self, source: TermSimilaritySource) -> None:
        among = list(AMONG)
        source.neighbors(ASKED, among, max_neighbors=4)
        among.reverse()
        expected = bits(source.neighbors(ASKED, tuple(among), max_neighbors=4))
        assert bits(source.neighbors(ASKED, among, max_neighbors=4)) == expected

    def test_nothing_asked_or_nothing_searched_gives_nothing(
        self, source: TermSimilaritySource
    ) -> None:
        assert len(source.neighbors((), AMONG, max_neighbors=3)) == 0
        unknown = () if source.knows(["nowhere else"]).any() else ("nowhere else",)
        for among, k in (((), 3), (unknown, 3), (AMONG, 0)):
            neighbors = source.neighbors(ASKED, among, max_neighbors=k)
            assert len(neighbors) == len(ASKED)
            assert len(neighbors.indices) == 0
        assert source.similarities([], []).shape == (0,)
        assert source.knows([]).shape == (0,)

    def test_wrong_calls_are_refused(self, source: TermSimilaritySource) -> None:
        with pytest.raises(InvalidInputError, match="left has 1 terms but right has 2"):
            source.similarities(["hot"], ["hot", "cold"])
        with pytest.raises(InvalidInputError, match="max_neighbors is -1"):
            source.neighbors(["hot"], ["cold"], max_neighbors=-1)

    def test_saved_then_built_anew_it_gives_the_same(
        self, source: TermSimilaritySource, request: pytest.FixtureRequest
    ) -> None:
        state = state_of(source)
        again = source_from_state(stored(state))
        if request.node.callspec.params["source"].endswith("in terms"):
            again = in_terms(again, STEMS)  # lists are saved as they were written
        assert type(again) is type(source)
        assert repr(again) == repr(source)
        assert again.knows(ASKED).tolist() == source.knows(ASKED).tolist()
        assert square(again, ASKED).tobytes() == square(source, ASKED).tobytes()
        expected = bits(source.neighbors(ASKED, AMONG, max_neighbors=4))
        assert bits(again.neighbors(ASKED, AMONG, max_neighbors=4)) == expected


def stored(state: SourceState) -> SourceState:
    """State as it comes back from a file: settings through JSON, arrays that cannot be written."""
    arrays = {name: array.copy() for name, array in state.arrays.items()}
    for array in arrays.values():
        assert array.dtype.kind in "iuf"
        array.flags.writeable = False
    parts = tuple(stored(part) for part in state.parts)
    return SourceState(state.kind, json.loads(json.dumps(dict(state.settings))), arrays, parts)


class Letters:
    """A source of a user's own: the share of common letters."""

    def knows(self, terms: Sequence[str]) -> NDArray[np.bool_]:
        return np.array([bool(term) for term in terms], np.bool_)

    def similarities(self, left: Sequence[str], right: Sequence[str]) -> NDArray[np.float32]:
        return np.array(
            [
                1.0 if a == b else len({*a} & {*b}) / max(1, len({*a} | {*b})) * bool(a and b)
                for a, b in zip(left, right, strict=True)
            ],
            np.float32,
        )

    def neighbors(
        self, terms: Sequence[str], among: Sequence[str], *, max_neighbors: int
    ) -> Neighbors:
        rows = np.repeat(np.arange(len(terms)), len(among))
        columns = np.tile(np.arange(len(among)), len(terms))
        left = [terms[i] for i in rows.tolist()]
        right = [among[j] for j in columns.tolist()]
        values = self.similarities(left, right)
        values[[a == b for a, b in zip(left, right, strict=True)]] = 0.0
        return Neighbors.from_pairs(
            rows, columns, values, n_terms=len(terms), among=among, max_neighbors=max_neighbors
        )


@pytest.mark.parametrize("wrap", ["guarded", "scaled", "decided"])
def test_what_a_source_advises_is_passed_on_by_what_changes_it(wrap: str) -> None:
    assert usual_neighbors(cooccurrence()) == 10
    assert usual_neighbors(WRAPPERS[wrap](cooccurrence())) == 10


def test_a_users_own_source_joins_with_others() -> None:
    joined = Guarded(strongest(Letters(), embedding()), antonyms=None)
    found = joined.neighbors(ASKED, AMONG, max_neighbors=3)
    assert as_lists(found) == brute_force(joined, ASKED, AMONG, 3)


def test_a_source_without_state_cannot_be_saved() -> None:
    with pytest.raises(InvalidInputError, match=r"Letters cannot be saved: it has no state\(\)"):
        state_of(strongest(embedding(), Letters()))


class SavedLetters(Letters):
    """`Letters` that can be saved."""

    def state(self) -> SourceState:
        return SourceState("tests_letters")

    @classmethod
    def from_state(cls, state: SourceState) -> SavedLetters:
        return cls()


def test_one_registration_gives_a_source_its_name_and_loads_it_again() -> None:
    kind = SourceKind(SavedLetters, named=True)
    register_source("tests-letters", kind)
    assert kind_named("tests-letters") is kind
    made = source_named("tests-letters", SourceSettings())
    assert isinstance(source_from_state(state_of(made)), SavedLetters)


def test_a_kind_without_a_constructor_by_name_is_no_name_of_a_source() -> None:
    register_source("tests.saved", SourceKind(SavedLetters))
    for name in ("tests.saved", "guarded", "pairs", "strongest", "noisy_or"):
        assert not needs_nothing(name)
        with pytest.raises((InvalidInputError, FileNotFoundError), match="A source is one of"):
            kind_named(name)


def test_unknown_kinds_and_the_librarys_own_names_are_refused() -> None:
    with pytest.raises(InvalidInputError, match="no such kind is known here"):
        source_from_state(SourceState("tests.never registered"))
    with pytest.raises(InvalidInputError, match="no such kind is known here"):
        source_from_state(SourceState("documents"))
    with pytest.raises(InvalidInputError, match="the library's own"):
        register_source("noisy_or", SourceKind(SavedLetters))


def test_pairs_are_ordered_by_similarity_then_string_and_cut_to_the_limit() -> None:
    neighbors = Neighbors.from_pairs(
        np.array([1, 1, 1, 1, 3]),
        np.array([0, 1, 2, 3, 3]),
        np.array([0.5, 0.5, 0.75, 0.0, 0.25]),
        n_terms=4,
        among=["b", "a", "c", "d"],
        max_neighbors=2,
    )
    assert as_lists(neighbors) == [[], [(2, 0.75), (1, 0.5)], [], [(3, 0.25)]]
    assert neighbors.rows().tolist() == [1, 1, 3]


class Foreign:
    """A source that a user wrote, one of whose answers is given."""

    def __init__(self, *, knows=None, neighbors=None, similarities=None):
        self.known, self.near, self.alike = knows, neighbors, similarities

    def knows(self, terms):
        return np.ones(len(terms), np.bool_) if self.known is None else self.known(terms)

    def neighbors(self, terms, among, *, max_neighbors):
        return Neighbors.none(len(terms)) if self.near is None else self.near

    def similarities(self, left, right):
        return np.zeros(len(left), np.float32) if self.alike is None else self.alike(left)


def first_has(indices, similarities):
    """Neighbours of the first of two terms."""
    n = len(indices)
    return Neighbors(np.array([0, n, n]), np.array(indices), np.array(similarities))


WRAPPERS = {
    "guarded": guarded,
    "strongest": lambda source: strongest(source, ToySource({})),
    "noisy_or": lambda source: noisy_or(source, ToySource({})),
    "first": lambda source: first(source, ToySource({})),
    "scaled": lambda source: scaled(source, 0.5),
    "decided": lambda source: decided(source, Decisions.of(pinned={("y", "z"): 0.5})),
}


@pytest.mark.parametrize("wrap", WRAPPERS)
@pytest.mark.parametrize(
    ("answer", "problem"),
    [
        ([[("b", 0.5)], []], "gives neighbours as list; a Neighbors is needed"),
        (Neighbors.none(3), "the neighbours of 3 terms, and 2 were asked for"),
        (first_has([7], [0.5]), "names neighbours 7 to 7, and there are the terms 0 to 1"),
        (first_has([-1], [0.5]), "names neighbours -1 to -1"),
        (first_has(["b"], [0.5]), "indices are an array of shape .* a flat array of integers"),
        (first_has([[1]], [0.5]), r"indices are an array of shape \(1, 1\)"),
        (first_has([1], ["x"]), "a flat array of float32 is needed"),
        (first_has([1], [1.5]), "gives a similarity of 1.5; similarities of neighbours lie above"),
        (first_has([1], [np.nan]), "gives a similarity of nan"),
        (first_has([1], [0.0]), "gives a similarity of 0.0"),
        (Neighbors([0, 1, 1], [1], [0.5]), "indptr are of type list"),
        (Neighbors(*[np.empty(0, np.int32)] * 2, np.empty(0, np.float32)), "of 0 terms"),
    ],
    ids=repr,
)
def test_neighbors_that_do_not_fit_the_question_are_named_in_any_wrapping(wrap, answer, problem):
    source = WRAPPERS[wrap](Foreign(neighbors=answer))
    with pytest.raises(InvalidInputError, match=problem):
        source.neighbors(("a", "b"), ("a", "b"), max_neighbors=2)


@pytest.mark.parametrize("wrap", WRAPPERS)
def test_a_list_of_bools_says_what_a_source_knows(wrap):
    source = WRAPPERS[wrap](Foreign(knows=lambda terms: [term == "a" for term in terms]))
    assert source.knows(["a", "b"]).tolist() == [True, False]


@pytest.mark.parametrize("wrap", WRAPPERS)
@pytest.mark.parametrize(
    "known",
    [lambda _: None, lambda _: True, lambda _: [True], lambda terms: [1] * len(terms)],
    ids=["None", "one bool", "too few", "integers"],
)
def test_an_answer_that_says_not_what_is_known_is_named(wrap, known):
    source = WRAPPERS[wrap](Foreign(knows=known))
    with pytest.raises(InvalidInputError, match=r"Foreign\.knows gives .* one bool a term"):
        source.knows(["a", "b"])


@pytest.mark.parametrize("wrap", WRAPPERS)
@pytest.mark.parametrize(
    ("value", "problem"),
    [
        ([0.5], "for 2 pairs; needed is an array of one number a pair"),
        (["x", "y"], "of one number a pair"),
        ([0.5, np.nan], r"Foreign\.similarities gives nan for 'b' and 'd'"),
        ([1.5, 0.5], "gives 1.5 for 'a' and 'c'; similarities lie in"),
        ([0.5, -0.5], "gives -0.5"),
    ],
    ids=repr,
)
def test_similarities_that_are_none_are_named(wrap, value, problem):
    source = WRAPPERS[wrap](Foreign(similarities=lambda _: value))
    with pytest.raises(InvalidInputError, match=problem):
        source.similarities(["a", "b"], ["c", "d"])
