"""Calls to a source with its result checked, because users write sources too."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from softcosine.errors import InvalidInputError
from softcosine.similarity.neighbors import Neighbors
from softcosine.similarity.source import TermSimilaritySource


def known_by(source: TermSimilaritySource, terms: Sequence[str]) -> NDArray[np.bool_]:
    """Whether a source knows each term, shape (n_terms,).

    Raises
    ------
    InvalidInputError
        If the source does not return one bool per term.
    """
    answer = np.asarray(source.knows(terms))
    if answer.shape != (len(terms),) or (len(terms) and answer.dtype != np.bool_):
        raise InvalidInputError(
            f"{_named(source)}.knows gives {_described(answer)} for {len(terms)} terms; needed is "
            "an array of one bool a term."
        )
    return answer.astype(np.bool_, copy=False)


def similarities_by(
    source: TermSimilaritySource, left: Sequence[str], right: Sequence[str]
) -> NDArray[np.float32]:
    """Similarities of pairs by a source, shape (n_pairs,), in [0, 1].

    Raises
    ------
    InvalidInputError
        If the source does not return one such number per pair.
    """
    answer = np.asarray(source.similarities(left, right))
    if answer.shape != (len(left),) or (len(left) and answer.dtype.kind not in "fiu"):
        raise InvalidInputError(
            f"{_named(source)}.similarities gives {_described(answer)} for {len(left)} pairs; "
            "needed is an array of one number a pair."
        )
    bad = np.flatnonzero(~((answer >= 0.0) & (answer <= 1.0)))
    if bad.size:
        i = int(bad[0])
        raise InvalidInputError(
            f"{_named(source)}.similarities gives {answer[i]} for {left[i]!r} and {right[i]!r}; "
            "similarities lie in [0, 1]."
        )
    return answer.astype(np.float32, copy=False)


def neighbors_by(
    source: TermSimilaritySource,
    terms: Sequence[str],
    among: Sequence[str],
    *,
    max_neighbors: int,
) -> Neighbors:
    """Neighbours by a source, checked against the terms and the searched strings.

    Raises
    ------
    InvalidInputError
        If the result is not a `Neighbors`, has a wrong size or position, or a similarity is not in
        (0, 1].
    """
    answer = source.neighbors(terms, among, max_neighbors=max_neighbors)
    return check_neighbors(answer, n_asked=len(terms), n_among=len(among))


def check_neighbors(answer: object, *, n_asked: int, n_among: int) -> Neighbors:
    """Return `answer`; raise InvalidInputError if it does not fit the request.

    Parameters
    ----------
    answer : object
    n_asked, n_among : int
        Number of query terms, and of searched strings.
    """
    if not isinstance(answer, Neighbors):
        raise InvalidInputError(
            f"the source gives neighbours as {type(answer).__name__}; a Neighbors is needed."
        )
    indptr, indices, similarities = answer.indptr, answer.indices, answer.similarities
    for name, array, kinds in (
        ("indptr", indptr, "iu"),
        ("indices", indices, "iu"),
        ("similarities", similarities, "f"),
    ):
        if not isinstance(array, np.ndarray) or array.ndim != 1 or array.dtype.kind not in kinds:
            raise InvalidInputError(
                f"the source's {name} are {_described(array)}; a flat array of "
                f"{'float32' if kinds == 'f' else 'integers'} is needed."
            )
    if len(indptr) != n_asked + 1:
        raise InvalidInputError(
            f"the source gives the neighbours of {max(len(indptr) - 1, 0)} terms, and {n_asked} "
            "were asked for; give one row a term, in the order of the terms."
        )
    if (
        indptr[0] != 0
        or np.any(np.diff(indptr) < 0)
        or not indptr[-1] == indices.shape[0] == similarities.shape[0]
    ):
        raise InvalidInputError("the source's indptr does not fit its indices and similarities.")
    if indices.size and not (indices.min() >= 0 and indices.max() < n_among):
        raise InvalidInputError(
            f"the source names neighbours {indices.min()} to {indices.max()}, and there are the "
            f"terms 0 to {n_among - 1}."
        )
    bad = np.flatnonzero(~((similarities > 0.0) & (similarities <= 1.0)))
    if bad.size:
        raise InvalidInputError(
            f"the source gives a similarity of {similarities[bad[0]]}; similarities of neighbours "
            "lie above 0 and are at most 1."
        )
    return answer


def _named(source: object) -> str:
    return type(source).__name__


def _described(answer: object) -> str:
    if isinstance(answer, np.ndarray):
        return f"an array of shape {answer.shape} and dtype {answer.dtype}"
    return f"of type {type(answer).__name__}"
