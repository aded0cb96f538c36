"""Documents or queries with ids and one or several text fields."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softcosine.errors import DuplicateIdError, InvalidInputError
from softcosine.files import joined_text


@dataclass(frozen=True, slots=True, repr=False)
class Documents:
    """Documents or queries with ids and text fields.

    Parameters
    ----------
    ids : tuple of str
        Unique ids.
    fields : mapping of str to sequence of str
        The texts of every field, one per document, such as ``text``, ``title`` and ``text``, or
        ``subject`` and ``body``. A document without a field has ``""`` there.

    Raises
    ------
    DuplicateIdError
        If two ids are equal.
    InvalidInputError
        If there is no field, or a field has another number of texts than ids.

    Examples
    --------
    >>> documents = Documents.of(["a flat tyre", "a puncture"])
    >>> documents
    <Documents: 2, text>
    >>> documents.ids
    ('0', '1')
    """

    ids: tuple[str, ...]
    fields: Mapping[str, Sequence[str]]

    def __post_init__(self) -> None:
        if not self.fields:
            raise InvalidInputError("documents without a field were given; name one, as 'text'.")
        for name, texts in self.fields.items():
            if len(texts) != len(self.ids):
                raise InvalidInputError(
                    f"field {name!r} has {len(texts)} texts for {len(self.ids)} documents; give "
                    "one text for each, '' where there is none."
                )
        if len(set(self.ids)) < len(self.ids):
            ordered = sorted(self.ids)
            twice = next(first for first, second in pairwise(ordered) if first == second)
            raise DuplicateIdError(f"the id {twice!r} comes twice; every id stands for one text.")

    @classmethod
    def of(cls, texts: Iterable[str], ids: Iterable[str] | None = None) -> Documents:
        """Return documents with one field, ``text``; default ids are running numbers."""
        kept = list(texts)
        named = tuple(map(str, range(len(kept)))) if ids is None else tuple(ids)
        return cls(named, {"text": kept})

    @property
    def texts(self) -> list[str]:
        """The text of each document: its fields, one per line; see `joined_text`."""
        return [joined_text(texts) for texts in zip(*self.fields.values(), strict=True)]

    def rows(self, fields: Iterable[str] = (), background: Sequence[str] = ()) -> list[Any]:
        """Return the documents and the background as texts, or as mappings of the given fields.

        Background texts have no fields, so they count in the statistics of every field.

        Raises
        ------
        InvalidInputError
            If there is no such field.
        """
        names = tuple(fields)
        if not names:
            return [*self.texts, *background]
        for name in names:
            if name not in self.fields:
                raise InvalidInputError(
                    f"the settings name the field {name!r}, and the documents have "
                    f"{', '.join(self.names)}; name some of these."
                )
        rows = zip(*(self.fields[name] for name in names), strict=True)
        same = ([text] * len(names) for text in background)
        return [dict(zip(names, texts, strict=True)) for texts in (*rows, *same)]

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the fields."""
        return tuple(self.fields)

    def __len__(self) -> int:
        return len(self.ids)

    def __repr__(self) -> str:
        return f"<Documents: {len(self):,}, {' + '.join(self.fields)}>"

    def numbers(self) -> dict[str, int]:
        """Return the mapping from ids to document numbers."""
        return {id: number for number, id in enumerate(self.ids)}

    def taken(self, numbers: Iterable[int] | NDArray[np.int64]) -> Documents:
        """Return the documents of the given numbers, in that order."""
        chosen = [int(number) for number in numbers]
        return Documents(
            tuple(self.ids[number] for number in chosen),
            {name: [texts[number] for number in chosen] for name, texts in self.fields.items()},
        )
