"""The parts of a score, which explanations show."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

# What no single word of a query or a text explains, words of less weight, and every word.
QUESTION, TEXT = "(whole question)", "(whole text)"
OTHERS, SHORT = "(other words)", "(short query)"
SUMS = ("same words", "similar words", "meaning")


@dataclass(frozen=True, slots=True)
class Part:
    """The contribution of one pair of words to a score.

    Attributes
    ----------
    query_word, document_word : str
    similarity : float
        s_ij; 1 for equal terms.
    contribution : float
        In units of the score.
    exact : bool
        Whether both words are the same term, such as two forms of one stem.
    field : str
        Field of the document word; empty in an index of one field.
    space : {"words", "meaning"}
        In ``meaning`` a word can be what no single word of the query (`QUESTION`) or the document
        (`TEXT`) explains, or the words of all weaker pairs (`OTHERS`). In ``words``, `SHORT` is
        what a document gets for having every word of a short query.
    """

    query_word: str
    document_word: str
    similarity: float
    contribution: float
    exact: bool
    field: str = ""
    space: Literal["words", "meaning"] = "words"

    @property
    def sign(self) -> str:
        """``=`` for an exact pair, ``~`` for a similar one, ``≈`` for meaning."""
        if self.space == "meaning":
            return "≈"
        return "=" if self.exact else "~"

    @property
    def kind(self) -> int:
        """The place of its sum in `SUMS`."""
        return 2 if self.space == "meaning" else int(not self.exact)

    def times(self, weight: float) -> Part:
        """Return the part of a weighted score."""
        return replace(self, contribution=weight * self.contribution)
