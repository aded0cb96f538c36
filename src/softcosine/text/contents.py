"""Contents of a vocabulary, and their validation."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from softcosine._validation import check_list, check_whole
from softcosine.errors import InvalidInputError
from softcosine.text.packing import PackedLists, PackedStrings
from softcosine.text.terms import Terms

__all__ = ["Contents", "Forms"]

Forms = tuple[tuple[str, ...], ...] | PackedLists

# Stored arrays up to this number of bytes are checked on opening, larger ones by `check` only.
_CHECKED_AT_ONCE = 1 << 18


@dataclass(frozen=True, slots=True)
class Contents:
    """Terms with frequencies and forms; see `softcosine.text.vocabulary.Vocabulary`.

    Attributes
    ----------
    terms : Terms
    document_frequencies : ndarray of shape (n_terms,), int64, read-only, or None
    n_docs : int or None
    forms : tuple of tuple of str, PackedLists or None
        Of length n_terms.
    """

    terms: Terms
    document_frequencies: NDArray[np.int64] | None
    n_docs: int | None
    forms: Forms | None

    def __post_init__(self) -> None:
        n = len(self.terms)
        check_whole("n_docs", self.n_docs, least=0, optional=True)
        if self.forms is not None and len(self.forms) != n:
            raise InvalidInputError(
                f"forms has {len(self.forms)} entries but there are {n} terms; give one for each."
            )
        if self.document_frequencies is not None:
            _check_shape(self.document_frequencies, n)

    @classmethod
    def given(
        cls,
        terms: Iterable[str],
        *,
        document_frequencies: ArrayLike | None,
        n_docs: int | None,
        forms: Sequence[Sequence[str]] | None,
    ) -> Self:
        """Return checked contents; raise InvalidInputError if they do not fit each other."""
        numbered = Terms(_distinct(terms))
        return cls(
            numbered,
            _frequencies(document_frequencies, n_terms=len(numbered), n_docs=n_docs),
            None if n_docs is None else int(n_docs),
            None if forms is None else tuple(map(tuple, forms)),
        )

    @classmethod
    def stored(cls, arrays: Mapping[str, NDArray[Any]]) -> Self:
        """Return the contents in the arrays of `to_arrays`; small arrays are checked."""
        try:
            # Arrays of earlier versions have no order; it is computed when needed.
            terms = Terms(
                PackedStrings(arrays["terms"], arrays["term_offsets"]), arrays.get("term_order")
            )
            forms = None
            if "forms" in arrays:
                flat = PackedStrings(arrays["forms"], arrays["form_offsets"])
                forms = PackedLists(flat, arrays["form_bounds"])
        except KeyError as error:
            raise InvalidInputError(
                f"the array {error} of the vocabulary is missing; pass all that to_arrays gave."
            ) from error
        n_docs = arrays.get("n_docs")
        if n_docs is not None and n_docs.size != 1:
            raise InvalidInputError(f"n_docs holds {n_docs.size} numbers; it must hold one.")
        frequencies = arrays.get("document_frequencies")
        if frequencies is not None:
            _check_shape(frequencies, len(terms))
            frequencies = _read_only(np.asarray(frequencies, np.int64).view())
        made = cls(terms, frequencies, None if n_docs is None else int(n_docs.item()), forms)
        if sum(array.nbytes for array in arrays.values()) <= _CHECKED_AT_ONCE:
            made.check()
        return made

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return the contents as flat arrays."""
        packed = self.terms.packed()
        arrays: dict[str, NDArray[Any]] = {
            "terms": packed.blob,
            "term_offsets": packed.offsets,
            "term_order": self.terms.order(),
        }
        if self.document_frequencies is not None:
            arrays["document_frequencies"] = self.document_frequencies
        if self.n_docs is not None:
            arrays["n_docs"] = np.array([self.n_docs], dtype=np.int64)
        if self.forms is not None:
            forms = _packed(self.forms)
            arrays["forms"], arrays["form_offsets"] = forms.flat.blob, forms.flat.offsets
            arrays["form_bounds"] = forms.bounds
        return arrays

    def check(self) -> None:
        """Read all arrays; raise InvalidInputError if they are not valid."""
        self.terms.check()
        if isinstance(self.forms, PackedLists):
            self.forms.check()
        if self.document_frequencies is not None:
            _check_range(self.document_frequencies, self.n_docs)

    def extended(
        self,
        terms: Iterable[str],
        *,
        document_frequencies: ArrayLike | None,
        n_docs: int | None,
        forms: Sequence[Sequence[str]] | None,
    ) -> Contents:
        """Return the contents with further terms at the end; old ones are copied unchecked."""
        new = _distinct(terms)
        there = np.flatnonzero(self.terms.indices(new) >= 0)
        if len(there):
            raise InvalidInputError(
                f"the vocabulary has the term {new[int(there[0])]!r} already; give new terms only."
            )
        longer = self.terms.extended(new)
        return Contents(
            longer,
            _frequencies(document_frequencies, n_terms=len(longer), n_docs=n_docs),
            None if n_docs is None else int(n_docs),
            self._forms_with(new, forms),
        )

    def _forms_with(
        self, new: tuple[str, ...], forms: Sequence[Sequence[str]] | None
    ) -> Forms | None:
        if forms is not None and len(forms) != len(new):
            raise InvalidInputError(
                f"forms has {len(forms)} entries but there are {len(new)} new terms; give one for "
                "each."
            )
        if not new:
            return self.forms
        if not len(self.terms):
            return None if forms is None else PackedLists.of(forms)
        if (forms is None) != (self.forms is None):
            has, given = ("have no", "some") if self.forms is None else ("have", "none")
            raise InvalidInputError(
                f"the {len(self.terms)} old terms {has} forms, and {given} are given for the new "
                "ones; a vocabulary has them for all terms or for none."
            )
        if self.forms is None or forms is None:
            return None
        return _packed(self.forms).extended(forms)


def _distinct(terms: Iterable[str]) -> tuple[str, ...]:
    check_list("terms", terms)
    checked = tuple(terms)
    for number, term in enumerate(checked):
        if not isinstance(term, str):
            raise InvalidInputError(
                f"term {number} is {term!r}, of type {type(term).__name__}; terms are strings."
            )
    if len(set(checked)) != len(checked):
        twice = next(term for term, n in Counter(checked).items() if n > 1)
        raise InvalidInputError(f"the term {twice!r} is there twice; terms must be distinct.")
    return checked


def _frequencies(
    given: ArrayLike | None, *, n_terms: int, n_docs: int | None
) -> NDArray[np.int64] | None:
    if given is None:
        return None
    values = np.asarray(given)
    _check_shape(values, n_terms)
    _check_range(values, n_docs)
    return _read_only(values.astype(np.int64))


def _check_shape(values: NDArray[Any], n_terms: int) -> None:
    if values.shape != (n_terms,):
        raise InvalidInputError(
            f"document_frequencies has shape {values.shape} but there are {n_terms} terms; give "
            "one number for each term."
        )
    if n_terms and not np.issubdtype(values.dtype, np.integer):
        raise InvalidInputError(
            f"document_frequencies has dtype {values.dtype}; it counts documents, so pass integers."
        )


def _check_range(values: NDArray[Any], n_docs: int | None) -> None:
    if len(values) and (values.min() < 0 or (n_docs is not None and values.max() > n_docs)):
        raise InvalidInputError(
            f"document_frequencies reaches from {values.min()} to {values.max()}, but must stay "
            f"between 0 and the number of documents, {n_docs}."
        )


def _read_only(array: NDArray[np.int64]) -> NDArray[np.int64]:
    array.flags.writeable = False
    return array


def _packed(forms: Forms) -> PackedLists:
    return forms if isinstance(forms, PackedLists) else PackedLists.of(forms)
