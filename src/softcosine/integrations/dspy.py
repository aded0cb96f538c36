"""An index as a retriever of DSPy, which need not be installed to import this."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass
from typing import Any, Self

from softcosine import SoftIndex


@dataclass(frozen=True, slots=True)
class Passage:
    """A document that was found; DSPy reads `long_text`.

    Attributes
    ----------
    long_text : str
    id : str
    score : float
    metadata : dict
    """

    long_text: str
    id: str
    score: float
    metadata: dict[str, Any]


class SoftRetriever:
    """A retriever of DSPy: for ``dspy.configure(rm=...)``, or called in a module.

    Parameters
    ----------
    index : SoftIndex
    k : int
        Maximum number of passages.
    **options
        Other parameters of `SoftIndex.search`, such as ``where={"lang": "en"}``. A call takes
        these parameters, too.

    Examples
    --------
    >>> index = SoftIndex.from_texts(["a flat tyre", "green tea"], ids=["bike", "tea"])
    >>> SoftRetriever(index)("cup of tea")[0].long_text
    'green tea'
    """

    def __init__(self, index: SoftIndex, k: int = 3, **options: Any) -> None:
        self.index = index
        self.k = k
        self.options = {"syntax": False, **options}

    def __call__(self, query: str, k: int | None = None, **options: Any) -> list[Passage]:
        """Return the best documents."""
        hits = self.index.search(query, k=self.k if k is None else k, **{**self.options, **options})
        return [Passage(hit.text, hit.id, hit.score, hit.metadata) for hit in hits]

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return copy(self)  # optimizers copy programs; the copies share the index
