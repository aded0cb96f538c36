"""The vocabulary: numbered terms with their document frequencies."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from softcosine._validation import check_list, check_type, check_whole
from softcosine.errors import InvalidInputError, NotFittedError, UnknownTermError
from softcosine.text.packing import PackedLists, PackedStrings
from softcosine.text.terms import Terms

# Stored arrays up to this number of bytes are checked on opening, larger ones by `check` only.
_CHECKED_AT_ONCE = 1 << 18


class Vocabulary:
    """Terms in a fixed order; term ``i`` is column ``i`` of every matrix over the vocabulary.

    Immutable. Two vocabularies are equal if they have the same terms in the same order. A stored
    vocabulary is opened without reading its terms; they are decoded or searched in the stored bytes
    on use.

    Parameters
    ----------
    terms : iterable of str
        Distinct strings, in the order of their numbers.
    document_frequencies : array-like of shape (n_terms,), optional
        Number of documents of each term.
    n_docs : int, optional
        Number of documents in all.
    forms : sequence of sequence of str, optional
        The surface forms of each term, the most frequent first.

    Attributes
    ----------
    terms : tuple of str
    document_frequencies : ndarray of shape (n_terms,), int64, read-only, or None
    n_docs : int or None
    forms : tuple of tuple of str, or None
        Under stemming, the surface forms of each stem by decreasing frequency, then by string; for
        an n-gram of stems, the n-gram of their most frequent forms. None without stemming.

    Raises
    ------
    InvalidInputError
        If terms are not distinct strings, or the other arguments do not fit them.

    Examples
    --------
    >>> vocabulary = Vocabulary(["black", "green", "tea"])
    >>> vocabulary.term(0), "tea" in vocabulary
    ('black', True)
    >>> vocabulary.index("tea"), vocabulary.get("coffee")
    (2, -1)
    """

    __slots__ = ("_document_frequencies", "_forms", "_hash", "_n_docs", "_ranks", "_terms")

    def __init__(
        self,
        terms: Iterable[str],
        *,
        document_frequencies: ArrayLike | None = None,
        n_docs: int | None = None,
        forms: Sequence[Sequence[str]] | PackedLists | None = None,
    ) -> None:
        numbered = Terms(PackedStrings.of(_distinct(terms)))
        self._set(
            numbered,
            _frequencies(document_frequencies, n_terms=len(numbered), n_docs=n_docs),
            n_docs,
            None if forms is None else PackedLists.of(forms),
        )

    def _set(
        self,
        terms: Terms,
        document_frequencies: NDArray[np.int64] | None,
        n_docs: int | None,
        forms: PackedLists | None,
    ) -> Vocabulary:
        check_whole("n_docs", n_docs, least=0, optional=True)
        if forms is not None and len(forms) != len(terms):
            raise InvalidInputError(
                f"forms has {len(forms)} entries but there are {len(terms)} terms; give one for "
                "each."
            )
        self._terms, self._forms = terms, forms
        self._document_frequencies = document_frequencies
        self._n_docs = None if n_docs is None else int(n_docs)
        self._ranks: NDArray[np.int32] | None = None
        self._hash: int | None = None
        return self

    @classmethod
    def from_sklearn(cls, vectorizer: Any) -> Vocabulary:
        """Return the columns of a fitted CountVectorizer or TfidfVectorizer as a vocabulary.

        Without document frequencies, because the vectorizers do not store them.

        Parameters
        ----------
        vectorizer : CountVectorizer or TfidfVectorizer
            Fitted, or with a fixed vocabulary.

        Raises
        ------
        NotFittedError
            If it is not fitted.
        InvalidInputError
            If it has no vocabulary, such as HashingVectorizer.
        """
        if hasattr(vectorizer, "vocabulary_"):
            return cls(
                _in_order(
                    vectorizer.vocabulary_,
                    source="the vectorizer",
                    repair="number its vocabulary from 0 without gaps",
                )
            )
        name = type(vectorizer).__name__
        if not hasattr(vectorizer, "get_feature_names_out") or not hasattr(
            vectorizer, "vocabulary"
        ):
            raise InvalidInputError(
                f"a {name} keeps no vocabulary; pass a fitted CountVectorizer or TfidfVectorizer."
            )
        try:
            terms = list(map(str, vectorizer.get_feature_names_out()))
        except (ValueError, AttributeError) as error:
            raise NotFittedError(
                f"this {name} is not fitted; call its fit or fit_transform first."
            ) from error
        return cls(terms)

    @classmethod
    def from_gensim(cls, dictionary: Any) -> Vocabulary:
        """Return the ids of a gensim Dictionary as a vocabulary, with its document frequencies.

        Raises
        ------
        InvalidInputError
            If it has no token2id, or its ids have gaps. Gaps are not closed, because existing bags
            of words would then mean other terms.
        """
        numbers = getattr(dictionary, "token2id", None)
        if not isinstance(numbers, Mapping):
            raise InvalidInputError(
                f"a {type(dictionary).__name__} has no token2id; pass a gensim.corpora.Dictionary."
            )
        terms = _in_order(
            numbers,
            source="the dictionary",
            repair="call dictionary.compactify() and make the bags of words anew",
        )
        counts, n_docs = getattr(dictionary, "dfs", None), getattr(dictionary, "num_docs", None)
        if not counts or not n_docs:
            return cls(terms)
        frequencies = [counts.get(number, 0) for number in range(len(terms))]
        return cls(terms, document_frequencies=frequencies, n_docs=n_docs)

    @classmethod
    def numbered(cls, n_terms: int) -> Vocabulary:
        """Return a vocabulary of the terms "0", "1", ..., for a matrix without terms."""
        return cls(map(str, range(n_terms)))

    @property
    def terms(self) -> tuple[str, ...]:
        """The terms, in the order of their numbers; decoded once if stored."""
        return self._terms.strings()

    @property
    def document_frequencies(self) -> NDArray[np.int64] | None:
        """Number of documents of each term, shape (n_terms,), if known."""
        return self._document_frequencies

    @property
    def n_docs(self) -> int | None:
        """Number of documents in all, if known."""
        return self._n_docs

    @property
    def forms(self) -> tuple[tuple[str, ...], ...] | None:
        """The surface forms of each term, the most frequent first; None without stemming."""
        return None if self._forms is None else self._forms.lists()

    def term(self, number: int) -> str:
        """Return one term by its number, without decoding others.

        Raises
        ------
        IndexError
            If the number is out of range.
        """
        return self._terms[number]

    @property
    def packed(self) -> PackedStrings:
        """The terms with their bytes in UTF-8."""
        return self._terms.packed

    @property
    def has_forms(self) -> bool:
        """Whether the vocabulary has surface forms."""
        return self._forms is not None

    def forms_of(self, number: int) -> tuple[str, ...]:
        """Return the surface forms of one term; empty without stemming."""
        return () if self._forms is None else self._forms[number]

    def index(self, term: str) -> int:
        """Return the number of a term.

        Raises
        ------
        UnknownTermError
            If the vocabulary does not have it.
        InvalidInputError
            If it is not a string.
        """
        check_type("the term", term, str, "pass a string")
        number = self.get(term)
        if number < 0:
            raise UnknownTermError(
                f"{term!r} is not among the {len(self)} terms of the vocabulary; terms are "
                "normalised and stemmed, so try Analyzer.terms on it first."
            )
        return number

    def get(self, term: str) -> int:
        """Return the number of a term, or -1 if the vocabulary does not have it."""
        return self._terms.get(term)

    def indices(self, terms: Iterable[str]) -> NDArray[np.int32]:
        """Return the numbers of several terms.

        Returns
        -------
        ndarray of shape (number of `terms`,), int32
            -1 for a term that the vocabulary does not have.
        """
        return self._terms.indices(terms)

    def ranks(self) -> NDArray[np.int32]:
        """Return the rank of each term in code point order.

        Returns
        -------
        ndarray of shape (n_terms,), int32, read-only
            A permutation of 0 to n_terms - 1, used by kernels to break ties.
        """
        if self._ranks is None:
            self._ranks = _read_only(self._terms.ranks())
        return self._ranks

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return the vocabulary as flat arrays, for storage.

        Returns
        -------
        dict of ndarray
            ``terms`` (uint8) and ``term_offsets`` (int64) as from `pack_strings`, and
            ``term_order`` (int32): the term numbers in code point order. If known:
            ``document_frequencies`` (int64), ``n_docs`` (int64, of one element), and the forms as
            ``forms``, ``form_offsets`` and ``form_bounds``: term ``i`` has the forms from
            ``form_bounds[i]`` to ``form_bounds[i + 1]``.
        """
        arrays: dict[str, NDArray[Any]] = {
            "terms": self.packed.blob,
            "term_offsets": self.packed.offsets,
            "term_order": self._terms.order(),
        }
        if self.document_frequencies is not None:
            arrays["document_frequencies"] = self.document_frequencies
        if self.n_docs is not None:
            arrays["n_docs"] = np.array([self.n_docs], dtype=np.int64)
        if self._forms is not None:
            arrays["forms"], arrays["form_offsets"] = self._forms.flat.arrays
            arrays["form_bounds"] = self._forms.bounds
        return arrays

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Vocabulary:
        """Return the vocabulary stored in the arrays of `to_arrays`; other arrays are ignored.

        The arrays, which may be memory-mapped, are not copied. Those of a small vocabulary are
        checked here, those of a large one by `check`, so that opening takes the same time for any
        number of terms.

        Raises
        ------
        InvalidInputError
            If an array is missing or the arrays do not fit each other.
        """
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
        made = cls.__new__(cls)._set(
            terms, frequencies, None if n_docs is None else n_docs.item(), forms
        )
        if sum(array.nbytes for array in arrays.values()) <= _CHECKED_AT_ONCE:
            made.check()
        return made

    def check(self) -> None:
        """Read and validate all data of a stored vocabulary.

        Raises
        ------
        InvalidInputError
            If a term is not valid text or a duplicate, the forms do not fit the terms, or a
            document frequency exceeds the number of documents.
        """
        self._terms.check()
        if self._forms is not None:
            self._forms.check()
        if self.document_frequencies is not None:
            _check_range(self.document_frequencies, self.n_docs)

    def extended(
        self,
        terms: Iterable[str],
        *,
        document_frequencies: ArrayLike | None = None,
        n_docs: int | None = None,
        forms: Sequence[Sequence[str]] | None = None,
    ) -> Vocabulary:
        """Return the vocabulary with further terms at the end; the numbers of the old terms stay.

        Parameters
        ----------
        terms : iterable of str
            New and distinct, in the order of their numbers.
        document_frequencies : array-like of shape (n_terms + number of `terms`,), optional
            Of all terms, because further documents contain old terms too. Unknown if not given.
        n_docs : int, optional
            Of how many documents.
        forms : sequence of sequence of str, optional
            The surface forms of each new term. Required if the old terms have forms, not allowed if
            there are old terms without forms.

        Raises
        ------
        InvalidInputError
            If a term exists already, or the other arguments do not fit.

        Notes
        -----
        The old terms are copied without decoding or checks.
        """
        new = _distinct(terms)
        there = np.flatnonzero(self._terms.indices(new) >= 0)
        if len(there):
            raise InvalidInputError(
                f"the vocabulary has the term {new[int(there[0])]!r} already; give new terms only."
            )
        longer = self._terms.extended(new)
        frequencies = _frequencies(document_frequencies, n_terms=len(longer), n_docs=n_docs)
        made = Vocabulary.__new__(Vocabulary)
        return made._set(longer, frequencies, n_docs, self._forms_with(new, forms))

    def _forms_with(
        self, new: tuple[str, ...], forms: Sequence[Sequence[str]] | None
    ) -> PackedLists | None:
        if forms is not None and len(forms) != len(new):
            raise InvalidInputError(
                f"forms has {len(forms)} entries but there are {len(new)} new terms; give one for "
                "each."
            )
        if not new:
            return self._forms
        if not len(self._terms):
            return None if forms is None else PackedLists.of(forms)
        if (forms is None) != (self._forms is None):
            has, given = ("have no", "some") if self._forms is None else ("have", "none")
            raise InvalidInputError(
                f"the {len(self._terms)} old terms {has} forms, and {given} are given for the new "
                "ones; a vocabulary has them for all terms or for none."
            )
        if self._forms is None or forms is None:
            return None
        return self._forms.extended(forms)

    def starts_with(self, other: Vocabulary) -> bool:
        """Whether the terms of another vocabulary are a prefix of these."""
        return self._terms.starts_with(other._terms)

    def __len__(self) -> int:
        return len(self._terms)

    def __iter__(self) -> Iterator[str]:
        return iter(self.terms)

    def __contains__(self, term: object) -> bool:
        return self._terms.get(term) >= 0

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Vocabulary):
            return NotImplemented
        return self is other or self._terms == other._terms

    def __hash__(self) -> int:
        if self._hash is None:
            self._hash = hash(self._terms)
        return self._hash

    def __reduce__(self) -> tuple[Any, ...]:
        return Vocabulary.from_arrays, (self.to_arrays(),)

    def __repr__(self) -> str:
        documents = "" if self.n_docs is None else f" of {self.n_docs} documents"
        return f"<Vocabulary: {len(self)} terms{documents}>"


def checked_vocabulary(vocabulary: Vocabulary) -> Vocabulary:
    """Return the vocabulary; raise InvalidInputError if it is something else."""
    check_type("the vocabulary", vocabulary, Vocabulary, "pass Vocabulary(terms)")
    return vocabulary


def _in_order(numbers: Mapping[str, int], *, source: str, repair: str) -> list[str]:
    """Terms by number; the numbers must be 0 to n - 1."""
    ordered = sorted(numbers.items(), key=lambda item: item[1])
    for expected, (term, number) in enumerate(ordered):
        if number != expected:
            raise InvalidInputError(
                f"{source} has {len(ordered)} terms, but {term!r} has number {number} where "
                f"{expected} is due; {repair}."
            )
    return [term for term, _ in ordered]


def _distinct(terms: Iterable[str]) -> tuple[str, ...]:
    check_list("terms", terms)
    checked = tuple(terms)
    for number, term in enumerate(() if {*map(type, checked)} <= {str} else checked):
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


def _read_only(array: NDArray[Any]) -> NDArray[Any]:
    array.flags.writeable = False
    return array
