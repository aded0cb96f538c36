"""Every system to compare keeps the same promises, shown by values."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from softcosine.errors import InvalidInputError
from softcosine.evaluate.documents import Documents
from softcosine.evaluate.systems import SYSTEMS, from_spec
from softcosine.evaluate.systems.encoder import Encoder
from softcosine.evaluate.systems.soft import Soft
from softcosine.similarity.embeddings.word_pieces import WordPieces
from softcosine.space.meaning import MeaningSpace
from softcosine.space.query_table import QueryTable

# Some twice, some empty, some of words that nobody knows.
TEXTS = [
    "the king is dead and the queen lives",
    "a flat tyre on the bicycle",
    "the tea is cold",
    "",
    "repairing the puncture of a bike wheel",
    "killed by the crown",
    "zzqx wwvk",
    "the queen drinks hot tea with the king, and the king drinks tea",
    "a flat tyre on the bicycle",
    "   \n",
    "wheels of cars and bikes",
    "coffee or tea for the monarch",
    "the tea is cold",
]
QUERIES = [
    "bicycle tyre repair",
    "the dead king",
    "",
    "tea",
    "vvbrq",
    "tea tea tea coffee",
    "the tea is cold",
    "monarch",
]
BACKGROUND = ["the bicycle of the king", "cold coffee is no tea", ""]
WORDS = sorted(set(re.findall(r"\w+", " ".join([*TEXTS, *QUERIES, *BACKGROUND]))))


UNKNOWN = {"zzqx", "wwvk", "vvbrq"}
KNOWN = sorted(set(WORDS) - UNKNOWN)


def letters(texts: list[str]) -> np.ndarray:
    """A toy encoder: how often the words of each text begin with each letter."""
    return np.array(
        [
            [
                sum(word[0] == letter for word in re.findall(r"\w+", text) if word not in UNKNOWN)
                for letter in "abcdefghijklmnopqrstuvwxyz"
            ]
            for text in texts
        ],
        np.float32,
    )


class Letters:
    """`letters` with two constants, so that no cosine is so low that a document is not found."""

    name = "letters"

    def encode(self, texts: list[str], /) -> np.ndarray:
        return np.hstack([letters(texts), np.full((len(texts), 2), 2, np.float32)])


def by_meaning(**settings: object) -> Soft:
    table = QueryTable.quantized(Letters().encode(KNOWN), WordPieces(KNOWN))
    space = MeaningSpace("letters", table=table)
    return Soft(encoder=Letters(), encoder_cache=None, meaning_space=space, **settings)


SYSTEMS_TO_TEST: dict[str, Callable[[], object]] = {
    spec: lambda spec=spec: from_spec(spec)
    for spec in (
        "cosine",
        "cosine:tf=raw,stop_words=english",
        "cosine:max_ngram=2",
        "bm25",
        "bm25:k1=0.9,b=0.4,method=robertson",
        "soft",
        "soft:encoder=none",
        "soft:sources=english+edit-distance,join=strongest,exponent=2,encoder=none",
        "soft:plain=true",
        "soft:strategy=rows,encoder=none",
        "soft_cosine",
        "soft_cosine:max_terms=2",
        "expansion",
        "expansion:by=cosine,weight=0.5",
        "lsi:n_components=5",
        "lsi",
        "lda:n_components=3,max_iter=4",
        "lda:n_components=3,by=cosine,online=true",
        "mean_vector",
        "mean_vector:weights=sif,remove_components=1",
        "mean_vector:weights=none,stop_words=english",
        "rwmd",
        "rwmd:sides=documents,weights=idf",
        "rwmd:sides=queries",
        "wmd",
        "wmd:depth=none,weights=idf",
        "gensim",
    )
} | {
    "encoder": lambda: Encoder(encode=letters),
    "soft:encoder=letters": by_meaning,
    "soft:encoder=letters,ask=static": lambda: by_meaning(ask="static"),
    "soft:encoder=letters,ranking=soft_cosine,meaning=0.5": lambda: by_meaning(
        ranking="soft_cosine", meaning=0.5
    ),
}

# What these cannot do, and why.
NO_PAIRS = {"soft:strategy=rows,encoder=none": "an asymmetric S compares no equals"}
NOT_EXPLAINED = ("lsi", "lda", "rwmd", "wmd", "gensim", "encoder", "mean_vector:weights=sif")
LEAVE_OUT = {  # documents of other words whose cosine of meaning is low
    "soft", "soft:encoder=letters", "soft:encoder=letters,ask=static",
    "soft:encoder=letters,ranking=soft_cosine,meaning=0.5",
}  # fmt: skip
ONE_SIDED = {"rwmd:sides=documents,weights=idf", "rwmd:sides=queries"}

DOCUMENTS = Documents.of(TEXTS, [f"d{number}" for number in range(len(TEXTS))])
ASKED = Documents.of(QUERIES)
ALL = np.arange(len(TEXTS))


@pytest.fixture(scope="module", params=SYSTEMS_TO_TEST, ids=str)
def spec(request):
    return request.param


@pytest.fixture(scope="module")
def system(spec):
    return SYSTEMS_TO_TEST[spec]()


@pytest.fixture(scope="module")
def fitted(system):
    return system.fit(DOCUMENTS)


@pytest.fixture(scope="module")
def scores(fitted):
    return np.array(fitted.scored(ASKED, [ALL] * len(ASKED)))


def order_of(scores, among=ALL):
    """The numbers of documents of a score other than 0, best first, then earliest."""
    numbers = sorted({*ALL} & {*among}, key=lambda number: (-scores[number], number))
    return [number for number in numbers if scores[number] != 0]


class TestEverySystem:
    def test_every_system_is_tested(self):
        assert {spec.partition(":")[0] for spec in SYSTEMS_TO_TEST} == set(SYSTEMS)

    def test_a_ranking_is_the_order_of_the_scores_to_the_bit(self, spec, fitted, scores):
        whole = fitted.ranked(ASKED, k=len(TEXTS)).numbers
        for k in (1, 3, len(TEXTS)):
            ranked = fitted.ranked(ASKED, k=k)
            assert ranked.numbers.shape == ranked.scores.shape == (len(QUERIES), k)
            assert ranked.numbers.dtype == np.int64
            assert ranked.scores.dtype == np.float64
            for row, own in enumerate(scores):
                expected = order_of(own, whole[row] if spec in LEAVE_OUT else ALL)[:k]
                n = len(expected)
                assert ranked.numbers[row].tolist() == expected + [-1] * (k - n)
                assert ranked.scores[row].tolist() == own[expected].tolist() + [0.0] * (k - n)

    def test_more_may_be_asked_for_than_there_are(self, fitted):
        some, all_of_them = fitted.ranked(ASKED, k=4), fitted.ranked(ASKED, k=len(TEXTS) + 30)
        np.testing.assert_array_equal(all_of_them.numbers[:, :4], some.numbers)
        np.testing.assert_array_equal(all_of_them.scores[:, :4], some.scores)
        assert (all_of_them.numbers[:, len(TEXTS) :] == -1).all()

    def test_a_batch_is_what_each_query_gets_alone(self, fitted, scores):
        together = fitted.ranked(ASKED, k=6)
        for row, id in enumerate(ASKED.ids):
            alone = Documents.of([QUERIES[row]], [id])
            ranked = fitted.ranked(alone, k=6)
            np.testing.assert_array_equal(ranked.numbers[0], together.numbers[row])
            np.testing.assert_array_equal(ranked.scores[0], together.scores[row])
            np.testing.assert_array_equal(fitted.scored(alone, [ALL])[0], scores[row])

    def test_candidates_are_scored_in_any_order(self, fitted, scores):
        chosen = np.array([7, 3, 1, 12, 0, 8])
        given = [chosen, chosen[::-1]] + [chosen[:n] for n in range(len(QUERIES) - 2)]
        for row, (numbers, own) in enumerate(zip(given, fitted.scored(ASKED, given), strict=True)):
            assert own.dtype == np.float64
            np.testing.assert_array_equal(own, scores[row][numbers])

    def test_equal_texts_score_alike_and_the_earlier_comes_first(self, fitted, scores):
        np.testing.assert_array_equal(scores[:, 1], scores[:, 8])
        np.testing.assert_array_equal(scores[:, 2], scores[:, 12])
        for numbers in fitted.ranked(ASKED, k=len(TEXTS)).numbers.tolist():
            for earlier, later in ((1, 8), (2, 12)):
                if earlier in numbers:
                    assert numbers.index(earlier) < numbers.index(later)

    def test_texts_without_words_are_not_found_and_find_nothing(self, fitted, scores):
        assert (scores[:, [3, 9]] == 0).all()
        assert (scores[2] == 0).all()
        assert (fitted.ranked(ASKED, k=3).numbers[2] == -1).all()

    def test_words_that_nobody_knows_find_nothing(self, system, scores):
        if getattr(system, "encoder", None) and system.ask != "static":
            pytest.skip("an encoder knows every word")
        assert (scores[4] == 0).all()

    def test_something_is_found_and_no_number_is_nan(self, fitted, scores):
        assert np.isfinite(scores).all()
        assert (scores > 0).any(axis=1)[[0, 1, 3, 5, 6]].all()
        # A text is nearest to itself, or as near as another of the same words.
        assert fitted.ranked(ASKED, k=1).numbers[6, 0] == 2 or scores[6, 2] >= scores[6].max() / 2

    def test_the_same_input_gives_the_same_answers(self, spec, fitted, scores):
        again = SYSTEMS_TO_TEST[spec]().fit(DOCUMENTS)
        np.testing.assert_array_equal(again.scored(ASKED, [ALL] * len(ASKED)), scores)
        first, second = fitted.ranked(ASKED, k=5), again.ranked(ASKED, k=5)
        np.testing.assert_array_equal(first.numbers, second.numbers)
        np.testing.assert_array_equal(first.scores, second.scores)

    def test_the_background_is_never_found(self, spec, system):
        with_background = system.fit(DOCUMENTS, background=BACKGROUND)
        ranked = with_background.ranked(ASKED, k=len(TEXTS) + len(BACKGROUND))
        assert ranked.numbers.max() < len(TEXTS)
        scores = np.array(with_background.scored(ASKED, [ALL] * len(ASKED)))
        assert np.isfinite(scores).all()
        for row, numbers in enumerate(ranked.numbers.tolist()):
            expected = order_of(scores[row], numbers if spec in LEAVE_OUT else ALL)
            assert [n for n in numbers if n >= 0] == expected

    def test_there_may_be_no_documents(self, system):
        for documents in (Documents.of([]), Documents.of(["", " "])):
            fitted = system.fit(documents)
            ranked = fitted.ranked(ASKED, k=2)
            assert ranked.numbers.tolist() == [[-1, -1]] * len(QUERIES)
            assert not ranked.scores.any()
            numbers = np.arange(len(documents))
            assert not np.any(fitted.scored(ASKED, [numbers] * len(ASKED)))

    def test_there_may_be_no_queries(self, fitted):
        nothing = Documents.of([])
        assert fitted.ranked(nothing, k=3).numbers.shape == (0, 3)
        assert fitted.scored(nothing, []) == []

    def test_partners_are_compared_one_by_one(self, spec, fitted):
        if spec in NO_PAIRS:
            pytest.skip(NO_PAIRS[spec])
        left = [TEXTS[0], TEXTS[1], "", "a brand new bicycle", TEXTS[4], "", TEXTS[7], "vvbrq"]
        right = [TEXTS[5], TEXTS[8], TEXTS[1], "new bicycles, brand new", TEXTS[10], "", "tea", "x"]
        together = fitted.paired(left, right)
        assert together.shape == (8,)
        assert together.dtype == np.float64
        assert np.isfinite(together).all()
        assert together[[2, 5]].tolist() == [0, 0]
        assert together[1] == pytest.approx(1.0)
        assert (together < 1 + 1e-9).all()
        alone = [fitted.paired([a], [b])[0] for a, b in zip(left, right, strict=True)]
        np.testing.assert_allclose(together, alone, atol=1e-9)
        if spec not in ONE_SIDED:
            np.testing.assert_allclose(fitted.paired(right, left), together, atol=1e-9)
        assert fitted.paired([], []).shape == (0,)

    def test_every_text_needs_a_partner(self, fitted):
        with pytest.raises(InvalidInputError, match="2 texts are to be compared with 1"):
            fitted.paired(["a", "b"], ["c"])

    def test_the_parts_of_an_explanation_sum_to_the_score(self, spec, fitted, scores):
        for row in range(len(QUERIES)):
            query = ASKED.taken([row])
            for number in ALL.tolist():
                told = fitted.explained(query, number)
                if spec.startswith(NOT_EXPLAINED):
                    assert told is None
                    continue
                assert told.score == scores[row, number]
                assert told.id == f"d{number}"
                parts = sum(part.contribution for part in told.parts)
                assert parts == pytest.approx(told.score, abs=1e-12)
                assert f"d{number}" in str(told)

    def test_fields_are_read_together(self, system):
        title = [" ".join(text.split()[:2]) for text in TEXTS]
        rest = [" ".join(text.split()[2:]) for text in TEXTS]
        fitted = system.fit(Documents(DOCUMENTS.ids, {"title": title, "text": rest}))
        whole = system.fit(
            Documents.of([f"{a}\n{b}" for a, b in zip(title, rest, strict=True)], DOCUMENTS.ids)
        )
        np.testing.assert_array_equal(
            fitted.scored(ASKED, [ALL] * len(ASKED)), whole.scored(ASKED, [ALL] * len(ASKED))
        )

    def test_its_name_is_a_spec_of_it(self, spec, system):
        if not spec.startswith(("encoder", "soft:encoder")):  # of a function that no spec can name
            assert system.name == spec
            canonical = replace(system, label=None)
            assert canonical.name.partition(":")[0] == spec.partition(":")[0]
            assert from_spec(canonical.name) == system

    def test_its_cost_or_what_it_is_made_of_can_be_told(self, fitted):
        assert isinstance(getattr(fitted, "note", ""), str)
