"""Documents with labels and splits into training and test."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from softcosine.errors import InvalidInputError, MalformedFileError
from softcosine.evaluate.datasets.lines import json_objects, kept_fields, named, stem
from softcosine.evaluate.documents import Documents
from softcosine.files import id_field

N_SPLITS, TRAIN_SHARE = 10, 0.7  # usual in papers for data without a split
_WHOLE = ("all", "")


@dataclass(frozen=True, slots=True, repr=False)
class Split:
    """A split into training and test documents.

    Attributes
    ----------
    train, test : ndarray of int64
        Document numbers in ascending order.
    """

    train: NDArray[np.int64]
    test: NDArray[np.int64]

    def __repr__(self) -> str:
        return f"<Split: train {self.train.shape[0]:,}, test {self.test.shape[0]:,}>"


@dataclass(frozen=True, slots=True, repr=False)
class ClassificationSet:
    """Documents with labels and one or several splits.

    Parameters
    ----------
    name : str
    documents : Documents
    labels : tuple of str
        One per document.
    splits : tuple of Split
        The split of the file, or ten random ones; see `seeded_splits`.
    background : tuple of str
        More texts to learn statistics from.
    notes : tuple of str
        Notes of the reader.

    Raises
    ------
    InvalidInputError
        If the numbers of documents and labels differ, there is only one label, or a split has no
        training or test documents, or has a document in both.
    """

    name: str
    documents: Documents
    labels: tuple[str, ...]
    splits: tuple[Split, ...]
    background: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if len(self.labels) != len(self.documents):
            raise InvalidInputError(
                f"{self.name} has {len(self.labels)} labels for {len(self.documents)} documents."
            )
        if len(set(self.labels)) < 2:
            seen = f"the label {self.labels[0]!r} alone" if self.labels else "no documents"
            raise InvalidInputError(f"{self.name} has {seen}; at least two labels were needed.")
        if not self.splits:
            raise InvalidInputError(f"{self.name} has no split; see seeded_splits.")
        for split in self.splits:
            for what, numbers in (("train", split.train), ("test", split.test)):
                if numbers.shape[0] == 0:
                    raise InvalidInputError(f"{self.name} has no documents to {what} on.")
            both = np.intersect1d(split.train, split.test)
            if both.shape[0]:
                raise InvalidInputError(
                    f"{self.name} trains on {both.shape[0]:,} of the documents that it tests on, "
                    f"such as {self.documents.ids[both[0]]!r}; a document belongs to one part."
                )

    def __repr__(self) -> str:
        return (
            f"<ClassificationSet {self.name}: {len(self.documents):,} documents, "
            f"{len(self.classes)} classes, {len(self.splits)} splits>"
        )

    @property
    def classes(self) -> tuple[str, ...]:
        """The distinct labels, sorted."""
        return tuple(sorted(set(self.labels)))

    @property
    def label_numbers(self) -> NDArray[np.int64]:
        """The position of every document's label in `classes`."""
        number = {label: position for position, label in enumerate(self.classes)}
        return np.array([number[label] for label in self.labels], np.int64)


def seeded_splits(
    n_documents: int,
    *,
    n_splits: int = N_SPLITS,
    train_share: float = TRAIN_SHARE,
    random_state: int = 0,
) -> tuple[Split, ...]:
    """Return random splits; the i-th split does not depend on `n_splits`.

    Parameters
    ----------
    n_documents : int
    n_splits : int
    train_share : float
        Share of training documents, between 0 and 1; their number is rounded down.
    random_state : int
    """
    n_train = int(train_share * n_documents)
    drawn = [np.random.default_rng([random_state, i]).permutation(n_documents)
             for i in range(n_splits)]  # fmt: skip
    return tuple(Split(np.sort(order[:n_train]), np.sort(order[n_train:])) for order in drawn)


def read_classification(
    path: Path, *, split: str | None = None, encoding: str = "utf-8"
) -> ClassificationSet:
    """Return a data set from JSON lines with ``label`` and ``text``; id, title and split optional.

    The default id is the line number.

    Parameters
    ----------
    path : Path
    split : str, optional
        The split to test on, default ``test``; the training split is ``train``. If no line has a
        split, or all have ``all``, the splits are random.
    encoding : str

    Raises
    ------
    MalformedFileError
        If a line is malformed; the message has its number.
    """
    ids, labels, parts = [], [], []
    columns: dict[str, list[str]] = {"title": [], "text": []}
    seen: set[str] = set()
    for number, row in json_objects(path, ("label", "text"), encoding=encoding):
        try:
            id = named(row, id_field(row) or "id", usual=str(number))
            labels.append(named(row, "label"))
            parts.append(named(row, "split", usual=""))
        except ValueError as error:
            raise MalformedFileError(path, str(error), line=number) from None
        if id in seen:
            raise MalformedFileError(path, f"the id {id!r} comes twice.", line=number)
        seen.add(id)
        ids.append(id)
        for name, text in (("title", row.get("title") or ""), ("text", row["text"])):
            if not isinstance(text, str):
                raise MalformedFileError(path, f"{name!r} is no string.", line=number)
            columns[name].append(text)
    documents = Documents(tuple(ids), kept_fields(columns))
    splits, notes = _splits(path, parts, split)
    return ClassificationSet(stem(path), documents, tuple(labels), splits, notes=notes)


def _splits(
    path: Path, parts: list[str], asked: str | None
) -> tuple[tuple[Split, ...], tuple[str, ...]]:
    there = tuple(dict.fromkeys(parts))
    if all(part in _WHOLE for part in there):
        if asked is not None:
            raise InvalidInputError(f"{path} has no part {asked!r}: its lines name no split.")
        drawn = seeded_splits(len(parts))
        note = f"no split is given: {len(drawn)} seeded ones, {TRAIN_SHARE:.0%} for training"
        return drawn, (note,)
    test = "test" if asked is None else asked
    for needed in ("train", test):
        if needed not in there:
            raise InvalidInputError(
                f"{path} has no part {needed!r}; its lines name {', '.join(map(repr, there))}."
            )
    if test == "train":
        raise InvalidInputError(f"{path}: 'train' is trained on, so it cannot be tested on.")
    column = np.array(parts)
    own = Split(np.flatnonzero(column == "train"), np.flatnonzero(column == test))
    left = [part for part in there if part not in ("train", test)]
    n_left = sum(parts.count(part) for part in left)
    note = f"documents of other parts were left out: {n_left:,} ({', '.join(left)})"
    return (own,), (note,) if left else ()
