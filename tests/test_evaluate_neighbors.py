"""Labels by the vote of neighbours against a loop over documents."""

from __future__ import annotations

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from softcosine.evaluate.datasets import ClassificationSet, seeded_splits
from softcosine.evaluate.documents import Documents
from softcosine.evaluate.neighbors import around_each_other, classified
from softcosine.sklearn.votes import VotingGrid
from toy_system import Overlap

words = st.lists(st.sampled_from("abcdef"), min_size=0, max_size=4).map(" ".join)
sets = st.lists(st.tuples(words, st.sampled_from("xyz")), min_size=6, max_size=14).filter(
    lambda rows: len({label for _, label in rows}) > 1
)
EQUAL = {"temperatures": (math.inf,), "hubnesses": (0.0,), "balances": (0.0,)}


def labeled(rows, n_splits=1) -> ClassificationSet:
    texts, labels = zip(*rows, strict=True)
    splits = seeded_splits(len(rows), n_splits=n_splits)
    return ClassificationSet("toy", Documents.of(texts), labels, splits)


def voted(neighbors, labels, n_classes, k, temperature, balance):
    """The label of one document; its neighbours are (number, score), the nearest first."""
    counts = np.bincount(labels, minlength=n_classes)
    if not neighbors:
        return int(counts.argmax())
    votes = np.zeros(n_classes)
    for place, (number, score) in enumerate(neighbors[:k]):
        vote = math.exp((score - neighbors[0][1]) / temperature)
        votes[labels[number]] += vote * (1.0 + 1e-6 * (place == 0))  # the nearest settles a tie
    return int((votes * np.maximum(counts / counts.sum(), 1e-9) ** -balance).argmax())


def neighbors_of(fitted, text, allowed):
    scores = [(number, fitted.score(text, other)) for number, other in enumerate(allowed)]
    return sorted(
        [(number, score) for number, score in scores if score > 0],
        key=lambda pair: (-pair[1], pair[0]),
    )


def others_of(fitted, texts, i):
    return [(j, score) for j, score in neighbors_of(fitted, texts[i], texts) if j != i]


@given(sets, st.integers(1, 5), st.sampled_from([math.inf, 0.3]), st.sampled_from([0.0, 0.5]))
def test_the_label_is_that_of_the_votes_summed(rows, k, temperature, balance):
    dataset = labeled(rows)
    (split,) = dataset.splits
    grid = VotingGrid((k,), (temperature,), (0.0,), (balance,))
    found = classified(dataset, Overlap(), grid=grid)
    known = dataset.documents.taken(split.train)
    fitted, labels = Overlap().fit(known), dataset.label_numbers[split.train]
    expected = [
        voted(
            neighbors_of(fitted, dataset.documents.texts[n], known.texts),
            labels, len(dataset.classes), k, found.choices[0].voting.temperature, balance,
        )
        for n in split.test
    ]  # fmt: skip
    assert found.labels[0].tolist() == expected
    assert found.choices[0].voting.n_neighbors == k


@given(sets)
def test_the_choice_has_the_least_error_of_leaving_one_out(rows):
    dataset = labeled(rows)
    (split,) = dataset.splits
    grid = VotingGrid((1, 2, 4), **EQUAL)
    (choice,) = classified(dataset, Overlap(), grid=grid).choices
    known = dataset.documents.taken(split.train)
    fitted, labels = Overlap().fit(known), dataset.label_numbers[split.train]
    n, n_classes = len(known), len(dataset.classes)
    errors = {}
    for k in grid.sizes:
        given_labels = [
            voted(others_of(fitted, known.texts, i), labels, n_classes, k, math.inf, 0.0)
            for i in range(n)
        ]
        errors[k] = np.mean(np.array(given_labels) != labels)
    k = choice.voting.n_neighbors
    assert errors[k] == choice.error == min(errors.values())
    assert k == min(k for k in errors if errors[k] == choice.error)


@given(sets)
def test_training_documents_are_ranked_for_each_other_and_never_for_themselves(rows):
    texts = [text for text, _ in rows]
    fitted = Overlap().fit(Documents.of(texts))
    found = around_each_other(fitted, Documents.of(texts), k=5)
    for i in range(len(texts)):
        expected = others_of(fitted, texts, i)[:5]
        near = found.numbers[i] >= 0
        assert list(zip(found.numbers[i][near], found.scores[i][near], strict=True)) == expected


def test_a_document_never_votes_for_itself():
    # Alone, every document is like itself only; together, pairs of twins bear different labels.
    rows = [(word, label) for word in "abcdefgh" for label in "xy"]
    documents = Documents.of([text for text, _ in rows])
    found = around_each_other(Overlap().fit(documents), documents, k=1)
    assert found.numbers[:, 0].tolist() == [n + 1 - 2 * (n % 2) for n in range(16)]


@given(sets)
def test_the_unit_of_scores_beyond_those_of_cosines_does_not_matter(rows):
    dataset = labeled([(text + " z", label) for text, label in rows])  # all share a word
    few, many = (
        classified(dataset, Overlap(weights=dict.fromkeys("abcdefz", weight)))
        for weight in (2.0, 2048.0)
    )
    assert many.labels[0].tolist() == few.labels[0].tolist()
    ratio = many.choices[0].voting.temperature / few.choices[0].voting.temperature
    assert ratio == 1024.0 or math.isnan(ratio)  # equal votes: infinite both


def test_a_document_like_no_other_gets_the_most_frequent_label():
    rows = [("a", "x"), ("a", "x"), ("b", "y"), ("a", "x"), ("a", "x"), ("", "y"), ("", "y")] * 3
    dataset = labeled(rows)
    (split,) = dataset.splits
    found = classified(dataset, Overlap())
    usual = int(np.bincount(dataset.label_numbers[split.train]).argmax())
    blank = [i for i, n in enumerate(split.test) if not rows[n][0]]
    assert {int(found.labels[0][i]) for i in blank} == {usual}


def test_systems_learn_from_the_training_documents_of_each_split_alone():
    rows = [(word, label) for word in "abcdefgh" for label in "xy"]
    dataset, system, told = labeled(rows, n_splits=3), Overlap(), []
    found = classified(dataset, system, fitted=lambda place, own: told.append((place, own)))
    assert [place for place, _ in told] == [0, 1, 2]
    for (documents, background), split in zip(system.seen, dataset.splits, strict=True):
        assert documents.ids == dataset.documents.taken(split.train).ids
        assert background == ()
    assert len(found.choices) == 3
