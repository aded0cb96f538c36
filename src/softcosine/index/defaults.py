"""Fields of documents, and the default settings of `SoftIndex`.

docs/defaults.md explains the choices and their measurements. The default source of similarities is
in `softcosine.similarity.default`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from softcosine._validation import check_number
from softcosine.errors import InvalidInputError
from softcosine.text.weighting import Weighting

RANKING = "soft_tf_bm25"
# For English texts ranked by BM25, unless S = I or S is given: a light encoder if it is installed
# and the documents of the first commit are few, else sums over the bundled table.
ENCODER = "auto"
# Weight of a cosine of meaning in a score, on the scale of each ranking. Inner products have none.
MEANING_WEIGHTS = {
    "soft_bm25": 50.0, "soft_tf_bm25": 50.0, "soft_cosine": 1.0, "expanded_cosine": 1.0
}  # fmt: skip
# The same of documents that no encoder has read; docs/decisions.md.
STATIC_WEIGHTS = {
    "soft_bm25": 10.0, "soft_tf_bm25": 10.0, "soft_cosine": 0.5, "expanded_cosine": 0.5
}  # fmt: skip
# The same over the bundled table: rankings by cosine stay rankings by words alone.
AUTOMATIC_WEIGHTS = {**STATIC_WEIGHTS, "soft_cosine": 0.0, "expanded_cosine": 0.0}
# What an encoder gains in place of the table (nDCG@10, docs/results/questions.md).
TABLE = (
    "Meaning is by a bundled table of word pieces, which gains 7 % over BM25 on people's own "
    "questions; the encoder minilm gains 25 %."
)
WEIGHTING = Weighting(tf="log", idf="smooth", k1=1.6, b=0.75)

# Name of the only field of an index if you name none.
TEXT = "text"

# Limits of field weights, so that sums of scores stay far from the limits of float64.
_LEAST, _MOST = 1e-6, 1e6


@dataclass(frozen=True, slots=True)
class Field:
    """A field of every document, such as a title, which is a space with its own statistics.

    Attributes
    ----------
    name : str
    weight : float
        Factor of its score, from 0.000001 to 1000000.
    """

    name: str
    weight: float = 1.0

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name:
            raise InvalidInputError(
                f"a field is called {self.name!r}; a name is a string, and not empty."
            )
        check_number(f"the weight of field {self.name!r}", self.weight, least=_LEAST, most=_MOST)
        object.__setattr__(self, "weight", float(self.weight))


def checked_fields(fields: Any) -> tuple[Field, ...]:
    """Return fields, given as a mapping of names to weights, or as names; None is one field.

    Raises
    ------
    InvalidInputError
        If they are not valid, or a set: scores are added in the order of the fields.
    """
    if fields is None:
        return (Field(TEXT),)
    try:
        items = fields.items() if hasattr(fields, "items") else [(name, 1.0) for name in fields]
        checked = tuple(Field(name, weight) for name, weight in items)
    except TypeError:
        checked = ()
    distinct = len({one.name for one in checked}) == len(checked)
    if isinstance(fields, str | set | frozenset) or not checked or not distinct:
        raise InvalidInputError(
            f"fields is {fields!r}; pass a mapping of names to weights, or a list of names that "
            'are distinct, in order, such as {"title": 0.5, "body": 1}.'
        )
    return checked
