"""Documents as they come in, checked."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from softcosine.errors import InvalidInputError
from softcosine.index.metadata_values import Default, metadata_json
from softcosine.text.analyzer import describe, is_token_list, shortened

__all__ = ["NewDocument", "checked_id", "new_document"]


@dataclass(frozen=True, slots=True)
class NewDocument:
    """A document as it was added.

    Attributes
    ----------
    id : str
    texts : tuple of str, or of token lists
        One a field.
    metadata : str or None
        As JSON.
    """

    id: str
    texts: tuple[Any, ...]
    metadata: str | None

    @property
    def tokenized(self) -> bool:
        """Whether the texts are token lists."""
        return isinstance(self.texts[0], list)

    @property
    def size(self) -> int:
        """Characters in all, about."""
        texts = sum(
            # A token counts with the space behind it.
            len(text) if isinstance(text, str) else sum(map(len, text)) + len(text)
            for text in self.texts
        )
        return len(self.id) + len(self.metadata or "") + texts

    @property
    def shown(self) -> str:
        """The text that is kept: the fields' texts, one a line."""
        return "\n".join(text if isinstance(text, str) else " ".join(text) for text in self.texts)


def new_document(
    id: object,
    text: object,
    metadata: object,
    *,
    fields: Sequence[str],
    default: Default | None = None,
) -> NewDocument:
    """Check a document.

    Parameters
    ----------
    id : str
    text : str, list of tokens, or mapping of field names to str
        See `IndexWriter.add`.
    metadata : mapping or None
    fields : sequence of str
        Names of the index's fields.
    default : callable, optional
        See `softcosine.index.metadata_values.json_of`.

    Raises
    ------
    InvalidInputError
    """
    checked = checked_id(id)
    texts = _texts(checked, text, fields)
    return NewDocument(checked, texts, metadata_json(shortened(checked), metadata, default))


def checked_id(id: object) -> str:
    """Return an id; InvalidInputError if it is no string."""
    if not isinstance(id, str):
        raise InvalidInputError(
            f"the id is {id!r}, of type {type(id).__name__}; ids are strings, so pass str(id)."
        )
    return id


def _texts(id: str, text: object, fields: Sequence[str]) -> tuple[Any, ...]:
    """Return the text of every field."""
    if isinstance(text, Mapping):
        return _of_fields(id, text, fields)
    if len(fields) > 1:
        raise InvalidInputError(
            f"the text of document {shortened(id)} is {describe(text)}; this index has the fields "
            f"{', '.join(map(repr, fields))}, so pass a mapping of their names to strings."
        )
    if isinstance(text, str):
        return (text,)
    if not is_token_list(text):
        raise InvalidInputError(
            f"the text of document {shortened(id)} is {describe(text)}; pass a string, or a list "
            "of tokens."
        )
    assert isinstance(text, Iterable)
    tokens = list(text)
    for token in tokens:
        if not isinstance(token, str):
            raise InvalidInputError(
                f"a token of document {shortened(id)} is {describe(token)}; tokens are strings."
            )
    return (list(map(str, tokens)),)


def _of_fields(id: str, texts: Mapping[Any, Any], fields: Sequence[str]) -> tuple[str, ...]:
    """Return the text of every field; empty where none is given."""
    for name, value in texts.items():
        if name not in fields:
            raise InvalidInputError(
                f"document {shortened(id)} has a field {name!r}, and the index has "
                f"{', '.join(map(repr, fields))}."
            )
        if not isinstance(value, str):
            raise InvalidInputError(
                f"field {name!r} of document {shortened(id)} is {describe(value)}; it must be a "
                "string."
            )
    return tuple(texts.get(name, "") for name in fields)
