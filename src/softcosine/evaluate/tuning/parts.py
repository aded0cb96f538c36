"""Division of judged queries into training and test queries, and into folds."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from softcosine._validation import check_number, check_whole
from softcosine.errors import InvalidInputError
from softcosine.evaluate.datasets.ranking import RankingSet

TEST_SHARE = 0.25
_LEAST_OF_A_FOLD = 2  # queries


@dataclass(frozen=True, slots=True)
class Parts:
    """Training and test queries of a data set.

    Attributes
    ----------
    tuned : RankingSet
        The data set with the training queries.
    test_queries : tuple of str
        Ids of the test queries.
    test_splits : tuple of str
        Names of the test splits, if chosen by name.
    told : str
        Description of the division.
    """

    tuned: RankingSet
    test_queries: tuple[str, ...]
    test_splits: tuple[str, ...]
    told: str

    def test(self, dataset: RankingSet) -> RankingSet:
        """Return the data set with the test queries.

        Raises
        ------
        InvalidInputError
            If there are no test queries, or no document is relevant to any of them.
        """
        if not self.test_queries:
            raise InvalidInputError(
                "no queries were left for a test; name a part of them, or hold out a share."
            )
        if self.test_splits:
            return dataset.part(*self.test_splits)
        return dataset.only(self.test_queries, name=f"{dataset.name} (held out)")


def parted(
    dataset: RankingSet,
    *,
    test_split: str | Sequence[str] | None = None,
    test_share: float | None = None,
    random_state: int = 0,
) -> Parts:
    """Divide a data set by the ids and splits of its queries, never by judgements.

    Parameters
    ----------
    dataset : RankingSet
    test_split : str or sequence of str, optional
        Splits to reserve for the test; default: those that begin with ``test``.
    test_share : float, optional
        Share of the queries to reserve at random if there are no such splits; default 0.25, and 0
        to train on all queries.
    random_state : int

    Raises
    ------
    InvalidInputError
        If a split does not exist, or there are no training queries.
    """
    if test_split is not None and test_share is not None:
        raise InvalidInputError(
            "the test is a part that is named, or a share that is drawn; give one of the two."
        )
    ids = dataset.queries.ids
    names = dataset.split_names
    splits = (test_split,) if isinstance(test_split, str) else tuple(test_split or ())
    for split in splits:
        if split not in names:
            there = f"its parts are {', '.join(names)}" if names else "its queries have no parts"
            raise InvalidInputError(
                f"{dataset.name} has no part {split!r}: {there}. Name one of them, or hold out a "
                "share of the queries."
            )
    if test_split is None and test_share is None:
        splits = dataset.test_names
    if splits:
        of = dataset.splits or {}
        test = tuple(id for id in ids if of.get(id) in splits)
        # Without a count, because a file can have only the splits of judged queries.
        told = f"left for the test: {', '.join(splits)}"
    else:
        test = _drawn(ids, TEST_SHARE if test_share is None else test_share, random_state)
        told = f"left for the test: {len(test)} of {len(ids)} queries, drawn by seed {random_state}"
    left = set(test)
    judged = [id for id in ids if id not in left and id in dataset.qrels]
    _check_judged(dataset, judged, told)
    return Parts(dataset.only(judged), test, splits, told)


def folds_of(n_queries: int, n_folds: int, random_state: int) -> list[NDArray[np.int64]]:
    """Return random folds of about equal size, each with query numbers in ascending order.

    Raises
    ------
    InvalidInputError
        If there are too few queries.
    """
    check_whole("folds", n_folds, least=2)
    if n_queries < _LEAST_OF_A_FOLD * n_folds:
        most = n_queries // _LEAST_OF_A_FOLD
        advice = f"use at most {most} folds, or" if most >= 2 else "please"
        raise InvalidInputError(
            f"{n_queries} labelled queries are left to choose on, the test part set aside; "
            f"{n_folds} folds need at least {_LEAST_OF_A_FOLD} queries each: {advice} label more."
        )
    order = np.random.default_rng(random_state).permutation(n_queries)
    return [np.sort(fold) for fold in np.array_split(order, n_folds)]


def _drawn(ids: Sequence[str], share: float, random_state: int) -> tuple[str, ...]:
    check_number("the share of the test", share, least=0, below=1)
    n_drawn = math.floor(share * len(ids) + 0.5)
    order = np.random.default_rng(random_state).permutation(len(ids))
    return tuple(ids[number] for number in np.sort(order[:n_drawn]).tolist())


def _check_judged(dataset: RankingSet, judged: Sequence[str], told: str) -> None:
    if not judged:
        raise InvalidInputError(
            f"no query of {dataset.name} that is to be chosen on has judgements ({told}); label "
            "some, or leave others for the test."
        )
    if not any(gain > 0 for id in judged for gain in dataset.qrels[id].values()):
        raise InvalidInputError(
            f"none of the {len(judged)} judged queries of {dataset.name} that are to be chosen on "
            f"has a relevant document ({told}), so that all settings would be equal; are the "
            "judgements those of these documents, with 1 or more for relevant?"
        )
