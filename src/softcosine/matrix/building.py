"""Construction of S from a source, and its extension by new terms."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array, diags_array, eye_array

from softcosine._progress import Progress
from softcosine._ragged import running_sum
from softcosine.errors import InvalidInputError
from softcosine.matrix.additions import AddedColumns, with_added
from softcosine.matrix.balance import balancing_scales, pinned_pairs, rescaled, with_pins
from softcosine.matrix.columns import GrowingColumns
from softcosine.matrix.neighbor_chunks import ask
from softcosine.matrix.representatives import representatives
from softcosine.matrix.restriction import Restricted
from softcosine.matrix.rules import Order, Rules, column_order
from softcosine.similarity.in_terms import TermKeys, in_terms
from softcosine.similarity.overrides.guard import guarded as with_guard
from softcosine.similarity.source import Neighbors, TermSimilaritySource, checked_source
from softcosine.text.analyzer import Analyzer
from softcosine.text.vocabulary import Vocabulary
from softcosine.version import __version__

__all__ = ["Built", "best_of_rows", "build", "described", "extend", "prepared", "with_diagonal"]

# Up to one new term in this many terms, new entries are stored beside the large S.
_FEW = 4

_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")


@dataclass(frozen=True, slots=True)
class Built:
    """S, the representative word of each term, how S was made, and the scales if balanced."""

    S: csr_array
    words: tuple[str, ...]
    settings: dict[str, Any]
    scales: NDArray[np.float32] | None


def build(
    source: TermSimilaritySource,
    vocabulary: Vocabulary,
    rules: Rules,
    order: Order | ArrayLike,
    *,
    balanced: bool = False,
    progress: Progress | None = None,
) -> Built:
    """Build S from the source's neighbours of every term.

    Only terms of the vocabulary are searched, so that other words never use up a column's limit. If
    a column is not full because its candidates' columns were full, more candidates are requested
    among the columns with room. Pinned pairs are entered first, so that other neighbours do not
    take their room.

    Parameters
    ----------
    source : TermSimilaritySource
    vocabulary : Vocabulary
    rules : Rules
    order : str or array of shape (n_terms,)
        See `softcosine.matrix.rules.column_order`.
    balanced : bool
        See `softcosine.matrix.balance`.
    progress : callable, optional
        Called with (terms done, terms in all).
    """
    sequence = column_order(vocabulary, order)
    words = representatives(source, vocabulary)
    limit = rules.max_neighbors
    admitted = rules.admitted(ask(source, words, words, max_neighbors=limit, progress=progress))
    if rules.strategy == "rows":
        S = with_diagonal(best_of_rows(admitted, limit))
    else:
        columns = GrowingColumns(len(words), limit=limit, dominant=rules.dominant)
        columns.enter(_pinned(admitted, source, words, limit), sequence)
        columns.enter(admitted, sequence)
        unfinished = np.diff(admitted.indptr) == limit
        _fill(columns, unfinished, np.zeros(len(words), np.bool_), source, words, rules, sequence)
        S = columns.to_csr()
    settings: dict[str, Any] = {
        "made": "source",
        **rules.to_dict(),
        "order": order if isinstance(order, str) else "weights",
        "source": described(source),
        "versions": _versions(),
    }
    scales = None
    if balanced:
        scales = balancing_scales(S)
        S = with_pins(rescaled(S, scales), words, source)
        settings["balanced"] = True
    return Built(S, words, settings, scales)


def extend(
    old: Restricted,
    source: TermSimilaritySource,
    vocabulary: Vocabulary,
    rules: Rules,
    settings: Mapping[str, Any],
    *,
    progress: Progress | None = None,
) -> Built:
    """Return S extended by new terms; existing entries stay.

    If there are few new terms, only the new entries are computed, and S is copied once.

    Parameters
    ----------
    old : Restricted
        S over the larger vocabulary. If it is balanced, the new terms get their own scales from all
        their similarities; the scales of old terms stay.
    source, vocabulary, rules, progress
        As for `build`.
    settings : mapping
        How S was made; its order and the factor of its off-diagonals apply again.
    """
    order = settings.get("order", "rare_first")
    sequence = column_order(vocabulary, "rare_first" if order == "weights" else order)
    factor = float(settings.get("shrunk", 1.0))
    new, words = old.missing, _words(old, source, vocabulary)
    apart = rules.strategy == "rows" or int(new.sum()) * _FEW <= len(new)
    S = _extended(old.S, new, source, words, rules, sequence, factor, progress, apart=apart)
    scales = old.scales
    if scales is not None:
        scales = np.where(new, balancing_scales(S, unit=factor), scales)
        S = rescaled(S, scales, only=new)
        S = with_pins(S, words, source, unit=factor, only=new)
    if apart:
        S = with_added(old.S, S, new)
    added = {
        "terms": int(new.sum()),
        "source": described(source),
        "versions": _versions(),
    }
    history = [*settings.get("extended", []), added]
    made = {**settings, **rules.to_dict(), "order": order, "extended": history}
    return Built(S, words, made, scales)


def _words(
    old: Restricted, source: TermSimilaritySource, vocabulary: Vocabulary
) -> tuple[str, ...]:
    """Return the representative words of the terms; those of old terms stay."""
    new = np.flatnonzero(old.missing).tolist()
    fresh = representatives(source, vocabulary, new)
    words = list(vocabulary.terms if old.words is None else old.words)
    for i, word in zip(new, fresh, strict=True):
        words[i] = word
    together = tuple(words)
    return vocabulary.terms if together == vocabulary.terms else together


def prepared(
    source: TermSimilaritySource,
    vocabulary: Vocabulary,
    *,
    guard: bool,
    analyzer: Analyzer | None = None,
) -> TermSimilaritySource:
    """Return the source as it is used for a vocabulary.

    The source is checked. If `guard` is true and there is no guard, one is added. Lists and
    decisions about a word are extended to all forms of its term.
    """
    checked = checked_source(source)
    checked = with_guard(checked) if guard else checked
    return in_terms(checked, TermKeys(analyzer, vocabulary=vocabulary))


def described(source: TermSimilaritySource) -> str:
    """Return the repr of a source without memory addresses."""
    return _ADDRESS.sub("", repr(source))


def _versions() -> dict[str, str]:
    return {"softcosine": __version__, "numpy": np.__version__}


def _extended(
    S: csr_array,
    new: NDArray[np.bool_],
    source: TermSimilaritySource,
    words: tuple[str, ...],
    rules: Rules,
    sequence: NDArray[np.int32],
    factor: float,
    progress: Progress | None,
    *,
    apart: bool,
) -> csr_array:
    """Return S with the entries of new terms; with `apart`, the new entries only."""
    chosen = np.flatnonzero(new)
    answer = ask(
        source, [words[i] for i in chosen.tolist()], words,
        max_neighbors=rules.max_neighbors, progress=progress,
    )  # fmt: skip
    admitted = _placed(rules.admitted(answer), chosen, None, len(words))
    unfinished = np.diff(admitted.indptr) == rules.max_neighbors
    admitted = _scaled(admitted, factor)
    if rules.strategy == "rows":
        return _added_rows(S, new, admitted, words, rules.max_neighbors)
    settings: dict[str, Any] = {"limit": rules.max_neighbors, "dominant": rules.dominant}
    columns = AddedColumns(S, new, **settings) if apart else GrowingColumns.holding(S, **settings)
    columns.enter(_pinned(admitted, source, words, rules.max_neighbors), sequence[new[sequence]])
    columns.enter(admitted, sequence[new[sequence]])
    _fill(columns, unfinished & new, ~new, source, words, rules, sequence, factor)
    return columns.to_csr()


def _fill(
    columns: GrowingColumns | AddedColumns,
    unfinished: NDArray[np.bool_],
    passive: NDArray[np.bool_],
    source: TermSimilaritySource,
    words: tuple[str, ...],
    rules: Rules,
    sequence: NDArray[np.int32],
    factor: float = 1.0,
) -> None:
    """Request more candidates for columns with room, among such columns, until nothing changes.

    Afterwards no two columns with room are neighbours by the source without an entry: a list
    shorter than requested is complete, and a column with room has entered its whole list.

    Parameters
    ----------
    unfinished : ndarray of shape (n_terms,), bool
        Columns with a truncated list of candidates.
    passive : ndarray of shape (n_terms,), bool
        Columns that do not choose but may be chosen.
    """
    if rules.dominant:  # entries are also refused by their sum, so free room means nothing
        return
    room = columns.open()
    while (unfinished & room).any():
        asking = np.flatnonzero(unfinished & room)
        searched = np.flatnonzero((unfinished | passive) & room)
        among = tuple(words[i] for i in searched.tolist())
        terms = among if len(asking) == len(searched) else [words[i] for i in asking.tolist()]
        answer = rules.admitted(ask(source, terms, among, max_neighbors=rules.max_neighbors))
        candidates = _placed(answer, asking, searched, len(words))
        unfinished = np.diff(candidates.indptr) == rules.max_neighbors
        choosing = np.zeros(len(words), np.bool_)
        choosing[asking] = True
        columns.enter(_scaled(candidates, factor), sequence[choosing[sequence]])
        before, room = room, columns.open()
        if np.array_equal(before, room):
            return  # no column became full: the lists would be the same again


def _pinned(
    candidates: Neighbors, source: TermSimilaritySource, words: tuple[str, ...], limit: int
) -> Neighbors:
    """Return the candidates that are pinned by a decision or a list; they are entered first."""
    stay = np.zeros(len(candidates.indices), np.bool_)
    stay[pinned_pairs(source, words, candidates.rows(), candidates.indices)] = True
    return candidates.where(stay, max_neighbors=limit)


def _placed(
    answer: Neighbors,
    rows: NDArray[np.int64],
    columns: NDArray[np.int64] | None,
    n_terms: int,
) -> Neighbors:
    """Renumber neighbours of some rows and columns by the numbers of all terms."""
    placed = answer.of_some(rows, n_terms)
    if columns is None:
        return placed
    return replace(placed, indices=columns[placed.indices].astype(np.int32))


def _scaled(neighbors: Neighbors, factor: float) -> Neighbors:
    if factor == 1.0:
        return neighbors
    return replace(neighbors, similarities=neighbors.similarities * np.float32(factor))


def _added_rows(
    S: csr_array,
    new: NDArray[np.bool_],
    candidates: Neighbors,
    words: Sequence[str],
    limit: int,
) -> csr_array:
    """Fill new rows with their best terms, and old rows with room with new terms that list them."""
    own = best_of_rows(candidates, limit)
    rows = candidates.rows()
    naming = ~new[candidates.indices]
    named = Neighbors.from_pairs(
        candidates.indices[naming],
        rows[naming],
        candidates.similarities[naming],
        n_terms=len(words),
        among=words,
        max_neighbors=limit,
    )
    room = np.maximum(limit - (np.diff(S.indptr) - 1), 0)
    place = np.arange(len(named.indices)) - np.repeat(named.indptr[:-1], np.diff(named.indptr))
    stay = place < room[named.rows()]
    back = named.where(stay, max_neighbors=limit)
    n = len(words)
    diagonal = diags_array(new.astype(np.float32))
    back_rows = csr_array((back.similarities, back.indices, back.indptr), (n, n))
    added = csr_array(own + back_rows + diagonal, dtype=np.float32)
    added.eliminate_zeros()
    added.sort_indices()
    return added


def best_of_rows(neighbors: Neighbors, limit: int) -> csr_array:
    """Return the first `limit` candidates of every row.

    Raises
    ------
    InvalidInputError
        If a row contains a candidate twice.
    """
    n = len(neighbors)
    lengths = np.diff(neighbors.indptr)
    place = np.arange(len(neighbors.indices)) - np.repeat(neighbors.indptr[:-1], lengths)
    kept = place < limit
    indptr = running_sum(np.minimum(lengths, limit))
    rows = csr_array((neighbors.similarities[kept], neighbors.indices[kept], indptr), shape=(n, n))
    rows.sort_indices()
    if not rows.has_canonical_format:
        raise InvalidInputError("the source gives a term twice among the neighbours of another.")
    return rows


def with_diagonal(entries: csr_array) -> csr_array:
    """Return the matrix plus the identity, as float32 with ascending column indices."""
    S = csr_array(entries + eye_array(entries.shape[0], dtype=np.float32), dtype=np.float32)
    S.sort_indices()
    return S
