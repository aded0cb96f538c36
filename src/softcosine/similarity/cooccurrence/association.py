"""Terms are similar when a corpus uses them together."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from softcosine.errors import InvalidInputError
from softcosine.similarity.cooccurrence.counts import Company, Nearness, company
from softcosine.similarity.cooccurrence.learned import (
    LearnedPairs,
    best_pairs,
    check_evidence,
    check_scale,
)

if TYPE_CHECKING:
    from softcosine.text.corpus import AnalyzedTexts
    from softcosine.text.stream import TextStream

__all__ = ["MEASURES", "AssociationSimilarity"]

_Floats = NDArray[np.float64]
_Numbers = NDArray[np.integer[Any]]
# Of the counts of some pairs, those of all terms, the numbers of the pairs' terms, and everything
# counted. All counts are above 0, and what is added or multiplied is so in the same order from
# both sides.
_Measure = Callable[[_Floats, _Floats, _Numbers, _Numbers, float], _Floats]


def _npmi(both: _Floats, single: _Floats, i: _Numbers, j: _Numbers, whole: float) -> _Floats:
    own = np.log(single / whole)
    surprise = -np.log(both / whole)
    information = -(own[i] + own[j]) - surprise
    values = np.zeros_like(both)
    np.divide(information, surprise, out=values, where=surprise > 0.0)
    return values


def _conditional(both: _Floats, single: _Floats, i: _Numbers, j: _Numbers, _: float) -> _Floats:
    return np.asarray(both / np.sqrt(single[i] * single[j]))


def _confidence(both: _Floats, single: _Floats, i: _Numbers, j: _Numbers, _: float) -> _Floats:
    return both / np.maximum(single[i], single[j])


def _dice(both: _Floats, single: _Floats, i: _Numbers, j: _Numbers, _: float) -> _Floats:
    return 2.0 * both / (single[i] + single[j])


def _jaccard(both: _Floats, single: _Floats, i: _Numbers, j: _Numbers, _: float) -> _Floats:
    return both / (single[i] + single[j] - both)


MEASURES: dict[str, _Measure] = {
    "npmi": _npmi,
    "conditional": _conditional,
    "confidence": _confidence,
    "dice": _dice,
    "jaccard": _jaccard,
}


class AssociationSimilarity(LearnedPairs):
    r"""Similarity of terms that stand together oftener than others (first order).

    Without a window n_i is the number of documents that have term i, n_ij of those that have both,
    and N of all. With one, n_ij counts the pairs of places at most `window` apart where i and j
    stand, n_i sums them over all j, and N over all i. From these the `measure`

    =============== ==========================================================================
    ``npmi``        :math:`\ln \frac{N n_{ij}}{n_i n_j} / \ln \frac{N}{n_{ij}}`, the normalised
                    pointwise mutual information (Bouma 2009): 1 if the two always come
                    together, 0 by chance or less, and for terms that every document has
    ``conditional`` :math:`\sqrt{P(i|j) P(j|i)} = n_{ij} / \sqrt{n_i n_j}`, the geometric mean of
                    the conditional probabilities
    ``confidence``  :math:`\min(P(i|j), P(j|i)) = n_{ij} / \max(n_i, n_j)`, the lesser of them
    ``dice``        :math:`2 n_{ij} / (n_i + n_j)`, the reciprocal of their reciprocals' mean
    ``jaccard``     :math:`n_{ij} / (n_i + n_j - n_{ij})`
    =============== ==========================================================================

    and from its value a the similarity

    .. math:: s_{ij} = a^e \text{ where } a \frac{n_{ij}}{n_{ij} + \kappa} \ge t, \text{ else } 0

    with that shrunken value in the place of a: two terms that met once or twice are not similar
    for that.

    The source knows the terms that are similar to some other, and under stemming all surface forms
    of each. Build it by `fit`.

    Examples
    --------
    >>> from softcosine.text.corpus import analyze
    >>> texts = ["green tea", "green tea", "black tea", "black ice"] * 5
    >>> source = AssociationSimilarity.fit(
    ...     analyze(texts), measure="conditional", evidence=0, threshold=0, exponent=1
    ... )
    >>> source.similarities(["tea"] * 3, ["green", "black", "ice"]).round(2).tolist()
    [0.8199999928474426, 0.4099999964237213, 0.0]
    """

    __slots__ = ()

    kind: ClassVar[str] = "association"

    @classmethod
    def fit(
        cls,
        corpus: AnalyzedTexts | TextStream,
        *,
        measure: str = "npmi",
        window: int | None = None,
        min_count: int = 5,
        max_terms: int = 30_000,
        evidence: float = 5.0,
        threshold: float = 0.2,
        exponent: float = 3.0,
        max_neighbors: int = 10,
        progress: Callable[[int, int], None] | None = None,
    ) -> AssociationSimilarity:
        """Learn from a corpus.

        Parameters
        ----------
        corpus : AnalyzedTexts or TextStream
            What `analyze` gave, or texts that are too many for memory. Both teach the same.
        measure : str, default "npmi"
            One of those above.
        window : int, optional
            How many places apart two terms may stand. By default the whole document.
        min_count : int, default 5
            Terms in fewer documents (with a window, of fewer occurrences) are left out.
        max_terms : int, default 30,000
            Of the rest, the most frequent are taken, ties by their strings.
        evidence : float, default 5.0
            kappa above: pairs that met so often count half. 0 takes every value as it is.
        threshold : float, default 0.2
            t above, in [0, 1].
        exponent : float, default 3.0
            e above.
        max_neighbors : int, default 10
            How many others each term chooses; a pair stays that either of its terms chose.
        progress : callable, optional
            Called as ``progress(done, total)``, in terms.

        Returns
        -------
        AssociationSimilarity
            The same bits for the same corpus and settings, on any number of threads.

        Raises
        ------
        InvalidInputError
            If a setting is out of range.
        """
        if measure not in MEASURES:
            raise InvalidInputError(
                f"there is no measure {measure!r}; choose one of {', '.join(MEASURES)}."
            )
        check_evidence(evidence)
        check_scale(threshold=threshold, exponent=exponent, max_neighbors=max_neighbors)
        nearness = Nearness(window, fading=False, min_count=min_count, max_terms=max_terms)
        with company(corpus, nearness) as known:
            S = best_pairs(
                _values(
                    known,
                    MEASURES[measure],
                    by_documents=window is None,
                    evidence=evidence,
                    threshold=threshold,
                    progress=progress,
                ),
                len(known.pairs),
                threshold=threshold,
                exponent=exponent,
                max_neighbors=max_neighbors,
            )
        learned = {"measure": measure, "window": nearness.window, "exponent": float(exponent)}
        return cls._of(known.names, known.rows, S, learned)


def _values(
    known: Company,
    measure: _Measure,
    *,
    by_documents: bool,
    evidence: float,
    threshold: float,
    progress: Callable[[int, int], None] | None,
) -> Iterator[tuple[int, csr_array]]:
    """Shrunken values of all pairs that may reach the threshold, some rows at a time."""
    single = np.maximum(known.frequencies if by_documents else known.pairs.totals, 1)
    single = single.astype(np.float64)
    whole = max(1.0, float(known.n_docs if by_documents else known.pairs.totals.sum()))
    for first, last, block in known.pairs.blocks():
        rows = np.repeat(np.arange(last - first, dtype=np.int32), np.diff(block.indptr))
        # No value is above 1, so these pairs are too rare whatever it is.
        trust = block.data / (block.data + evidence)
        enough = np.flatnonzero(trust.astype(np.float32) >= threshold)
        i, j = rows[enough], block.indices[enough]
        values = measure(block.data[enough].astype(np.float64), single, i + first, j, whole)
        values = np.clip(values, 0.0, 1.0) * trust[enough]
        starts = np.searchsorted(enough, block.indptr)
        yield first, csr_array((values, j, starts), shape=block.shape)
        if progress is not None:
            progress(last, len(known.pairs))
