"""Documents of several fields, as the texts of their fields."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from softcosine.errors import InvalidInputError
from softcosine.text.analyzer import describe

__all__ = ["field_texts", "joined_texts"]


def field_texts(documents: Iterable[Any], names: Sequence[str]) -> Iterator[str]:
    """Give the texts of all fields, in order, document after document; what is missing is empty.

    Parameters
    ----------
    documents : iterable of mappings of field names to str
        Read once.
    names : sequence of str
        Of the fields.

    Raises
    ------
    InvalidInputError
        If one is no such mapping (its position is named).
    """
    shown = ", ".join(map(repr, names))
    if isinstance(documents, str | bytes | Mapping) or not isinstance(documents, Iterable):
        raise InvalidInputError(
            f"texts is {describe(documents)}; with fields, pass a list of mappings of {shown} to "
            "strings."
        )
    return _field_texts(documents, names, shown)


def joined_texts(texts: Sequence[str], n_fields: int) -> list[str]:
    """Return the text of each document that is kept: the fields' texts, one a line."""
    return ["\n".join(texts[first : first + n_fields]) for first in range(0, len(texts), n_fields)]


def _field_texts(documents: Iterable[Any], names: Sequence[str], shown: str) -> Iterator[str]:
    known = set(names)
    for position, document in enumerate(documents):
        if not isinstance(document, Mapping):
            raise InvalidInputError(
                f"document {position} is {describe(document)}; with fields, pass a mapping of "
                f"{shown} to strings."
            )
        for name in document.keys() - known:
            raise InvalidInputError(
                f"document {position} has a field {name!r}, and the index has {shown}."
            )
        for name in names:
            text = document.get(name, "")
            if not isinstance(text, str):
                raise InvalidInputError(
                    f"field {name!r} of document {position} is {describe(text)}; it must be a "
                    "string. Leave out a field that is empty."
                )
            yield text
