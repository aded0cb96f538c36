"""Protocols of sentence encoders."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import NamedTuple, Protocol, Self

from numpy.typing import ArrayLike

Encode = Callable[[list[str]], ArrayLike]


class Prompts(NamedTuple):
    """What a model wants before the text of a query and of a document; empty for nothing."""

    query: str = ""
    document: str = ""

    @classmethod
    def of_model(cls, model: object) -> Self:
        """Return the prompts of a model, which may be one of sentence-transformers."""
        known = getattr(model, "prompts", None)
        if isinstance(known, cls):
            return known
        return cls.of(known, getattr(model, "default_prompt_name", None))

    @classmethod
    def of(cls, prompts: Mapping[str, str] | None, default: str | None = None) -> Self:
        """Return those of a model of sentence-transformers: its prompts by name, and its default.

        Examples
        --------
        >>> Prompts.of({"query": "query: ", "passage": "passage: "})
        Prompts(query='query: ', document='passage: ')
        """
        known = prompts or {}
        other = known.get(default or "", "")
        document = next(filter(known.get, ("document", "passage", "corpus")), "")
        return cls(known.get("query") or other, known.get(document) or other)


class Encoder(Protocol):
    """Protocol of encoders, as of sentence-transformers and model2vec."""

    def encode(self, texts: list[str], /) -> ArrayLike:
        """Return the vectors of some texts, (n_texts, dimensions)."""
        ...


class NamedEncoder(Encoder, Protocol):
    """Encoder with an identity: vectors of encoders of one name are in one space.

    Two precisions of one model have the same name. Query tables can be fitted for an encoder with
    an attribute ``tokenizer``: the content of its ``tokenizer.json``, as a mapping. An attribute
    ``languages`` holds the codes of the languages that the model was trained on, if known, and
    ``prompts`` what queries and documents must begin with (`Prompts`). ``cut`` splits text without
    spaces into words, for explanations.
    """

    @property
    def name(self) -> str:
        """Name of the model."""
        ...

    @property
    def dimensions(self) -> int | None:
        """Number of components of a vector; None if unknown before the first text."""
        ...

    @property
    def max_tokens(self) -> int | None:
        """Number of tokens that the model reads of a text; None if unknown."""
        ...

    def n_truncated(self, texts: list[str]) -> int:
        """Return the number of texts that are longer than the model reads; 0 if unknown."""
        ...


# An encoder by its name or folder, or itself; or one for documents, None for that of the index,
# and one for queries.
GivenEncoder = str | Encoder | tuple[str | Encoder | None, str | Encoder]


def card_languages(card: str) -> tuple[str, ...]:
    r"""Return the codes of the languages that the header of a model card (``README.md``) names.

    Examples
    --------
    >>> card_languages("---\nlanguage:\n- en\n- de\nlicense: mit\n---\n# A model")
    ('en', 'de')
    """
    header = re.match(r"---\n(.*?)\n---", card, re.DOTALL)
    named = header and re.search(r"^language:(.*(?:\n\s*-.*)*)", header[1], re.MULTILINE)
    return tuple(re.findall("[a-z]{2,}", named[1])) if named else ()
