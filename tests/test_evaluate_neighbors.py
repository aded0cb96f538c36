"""Labels by the vote of neighbours against a loop over documents."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from softcosine.errors import InvalidInputError
from softcosine.evaluate.datasets import ClassificationSet, seeded_splits
from softcosine.evaluate.documents import Documents
from softcosine.evaluate.neighbors import (
    VOTES,
    Choice,
    choose_neighbors,
    classified,
    nearest_labels,
)
from softcosine.evaluate.systems.system import Ranked
from toy_system import Overlap

words = st.lists(st.sampled_from("abcdef"), min_size=0, max_size=4).map(" ".join)
sets = st.lists(st.tuples(words, st.sampled_from("xyz")), min_size=6, max_size=14).filter(
    lambda rows: len({label for _, label in rows}) > 1
)


def labeled(rows, n_splits=1) -> ClassificationSet:
    texts, labels = zip(*rows, strict=True)
    splits = seeded_splits(len(rows), n_splits=n_splits)
    return ClassificationSet("toy", Documents.of(texts), labels, splits)


def voted(neighbors, labels, k, vote, usual):
    """The label of one document; its neighbours are (number, score), the nearest first."""
    total, first = Counter(), {}
    for place, (number, score) in enumerate(neighbors[:k]):
        weight = {"count": 1.0, "similarity": score, "square": score**2}[vote]
        total[labels[number]] += weight
        first.setdefault(labels[number], place)
    if not total:
        return usual
    best = max(total.values())
    return min((label for label in total if total[label] == best), key=first.__getitem__)


def neighbors_of(fitted, text, allowed):
    scores = [(number, fitted.score(text, other)) for number, other in enumerate(allowed)]
    found = [
        (number, score) for number, score in scores if score > 0 and allowed[number] is not None
    ]
    return sorted(found, key=lambda pair: (-pair[1], pair[0]))


@given(sets, st.integers(1, 5), st.sampled_from(list(VOTES)))
def test_the_label_is_that_of_a_count_of_votes(rows, k, vote):
    dataset = labeled(rows)
    (split,) = dataset.splits
    numbers = dataset.label_numbers
    found = classified(dataset, Overlap(), k=[k], votes=[vote])
    known = dataset.documents.taken(split.train)
    fitted = Overlap().fit(known)
    labels = numbers[split.train]
    usual = int(np.bincount(labels, minlength=len(dataset.classes)).argmax())
    expected = [
        voted(neighbors_of(fitted, dataset.documents.texts[n], known.texts), labels, k, vote, usual)
        for n in split.test
    ]
    assert found.labels[0].tolist() == expected
    assert found.choices[0].k == k


@given(sets, st.integers(2, 14), st.integers(0, 3))
def test_the_choice_is_that_of_cross_validation_one_document_at_a_time(rows, n_folds, seed):
    texts = [text for text, _ in rows]
    dataset = labeled(rows)
    documents, numbers = Documents.of(texts), dataset.label_numbers
    fitted = Overlap().fit(documents)
    grid, votes = (1, 2, 4), ("count", "similarity")
    found = choose_neighbors(
        fitted, documents, numbers, len(dataset.classes),
        k=grid, votes=votes, n_folds=n_folds, random_state=seed,
    )  # fmt: skip
    n = len(texts)
    folds = np.empty(n, int)
    folds[np.random.default_rng(seed).permutation(n)] = np.arange(n) % min(n_folds, n)
    usual = int(np.bincount(numbers).argmax())
    errors = {}
    for k in grid:
        for place, vote in enumerate(votes):
            wrong = 0
            for i, text in enumerate(texts):
                others = [
                    (j, score)
                    for j, score in neighbors_of(fitted, text, texts)
                    if folds[j] != folds[i]
                ]
                wrong += voted(others, numbers, k, vote, usual) != numbers[i]
            errors[k, place] = wrong / n
    k, place = min(errors, key=lambda key: (errors[key], key))
    assert found == Choice(k, votes[place], errors[k, place])


def test_a_document_never_votes_for_itself():
    # Alone, every document is like itself only; together, pairs of twins bear different labels.
    rows = [(word, label) for word in "abcdefgh" for label in "xy"]
    dataset = labeled(rows)
    documents = Documents.of([text for text, _ in rows])
    found = choose_neighbors(
        Overlap().fit(documents), documents, dataset.label_numbers, 2,
        k=[1], votes=["count"], n_folds=len(rows),
    )  # fmt: skip
    assert found.error == 1.0


def test_a_tie_goes_to_the_label_whose_first_voter_is_nearest():
    found = Ranked(np.array([[2, 0, 1, 3]]), np.array([[0.5, 0.5, 0.5, 0.5]]))
    labels = np.array([0, 0, 1, 1])
    for k, label in ((1, 1), (2, 1), (3, 0), (4, 1)):
        assert nearest_labels(found, labels, 2, Choice(k, "count", 0.0)).tolist() == [label]


def test_a_document_like_no_other_gets_the_most_frequent_label():
    found = Ranked(np.array([[-1, -1]]), np.zeros((1, 2)))
    labels = np.array([0, 1, 1])
    assert nearest_labels(found, labels, 2, Choice(2, "count", 0.0)).tolist() == [1]


def test_systems_learn_from_the_training_documents_of_each_split_alone():
    rows = [(word, label) for word in "abcdefgh" for label in "xy"]
    dataset, system, told = labeled(rows, n_splits=3), Overlap(), []
    found = classified(dataset, system, fitted=lambda place, own: told.append((place, own)))
    assert [place for place, _ in told] == [0, 1, 2]
    for (documents, background), split in zip(system.seen, dataset.splits, strict=True):
        assert documents.ids == dataset.documents.taken(split.train).ids
        assert background == ()
    assert len(found.choices) == 3


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"k": []}, r"k is \[\]"),
        ({"k": [0]}, r"k is \[0\]"),
        ({"votes": ["loud"]}, "no vote 'loud'; choose of count, similarity, square"),
        ({"votes": []}, "no vote was given"),
        ({"n_folds": 1}, "n_folds is 1"),
    ],
)
def test_settings_out_of_range_are_refused(settings, message):
    with pytest.raises(InvalidInputError, match=message):
        classified(labeled([("a", "x"), ("b", "y")] * 3), Overlap(), **settings)
