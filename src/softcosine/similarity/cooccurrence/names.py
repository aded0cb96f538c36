"""Names of the terms of a corpus in a learned source: terms and surface forms."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from softcosine.text.vocabulary import Vocabulary


def names_of(
    vocabulary: Vocabulary, terms: NDArray[np.integer] | None = None
) -> tuple[list[str], NDArray[np.int32]]:
    """Return all names of terms, and the row of each name.

    A string that is a surface form of one term and the stem of another means the first one, because
    texts and queries consist of forms. So forms come first.

    Parameters
    ----------
    vocabulary : Vocabulary
    terms : ndarray of shape (n_rows,), integer, optional
        The term of every row; by default all terms, in their order.

    Returns
    -------
    names : list of str
        All forms, then the terms themselves.
    rows : ndarray of shape (n_names,), int32
    """
    numbers = range(len(vocabulary)) if terms is None else terms.tolist()
    forms = vocabulary.forms
    called = [() if forms is None else forms[term] for term in numbers]
    names = [form for own in called for form in own]
    names += [vocabulary.terms[term] for term in numbers]
    rows = np.arange(len(called), dtype=np.int32)
    return names, np.concatenate((np.repeat(rows, [len(own) for own in called]), rows))
