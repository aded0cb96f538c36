"""The terms of all chunks: their counts added up, and one vocabulary."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from itertools import count, pairwise

import numpy as np

from softcosine.cluster.build_plan import BuildPlan
from softcosine.cluster.tally import Tally
from softcosine.errors import DuplicateIdError
from softcosine.index.segment.statistics import FieldStatistics
from softcosine.text.counted_terms import by_frequency, within_df_limits
from softcosine.text.forms import forms_of
from softcosine.text.packing import unpack_strings
from softcosine.text.vocabulary import Vocabulary


def counted_terms(
    plan: BuildPlan, tallies: Sequence[Tally]
) -> tuple[Vocabulary, tuple[FieldStatistics, ...]]:
    """Return the terms within the limits, in code point order, and the statistics over them."""
    n_docs, n_fields = sum(one.n_docs for one in tallies), len(plan.field_names)
    numbers: defaultdict[str, int] = defaultdict(count().__next__)
    counted: defaultdict[str, dict[str, int]] = defaultdict(dict)  # forms of stems
    counts = np.zeros((2 * n_fields + 1, 0), np.int64)
    for tally in tallies:
        terms, forms = tally.folder.arrays("terms"), tally.folder.arrays("forms")
        strings = unpack_strings(terms["blob"], terms["offsets"])
        own = np.fromiter(map(numbers.__getitem__, strings), np.int64, len(strings))
        if (missing := len(numbers) - counts.shape[1]) > 0:
            counts = np.pad(counts, ((0, 0), (0, missing + len(numbers))))
        counts[:, own] += np.concatenate((terms["frequencies"], terms["lengths"]))  # each once
        if not forms:
            continue
        words, n_times = unpack_strings(forms["blob"], forms["offsets"]), forms["counts"].tolist()
        for term, (start, end) in zip(strings, pairwise(forms["starts"].tolist()), strict=True):
            of_term = counted[term]
            for word, n in zip(words[start:end], n_times[start:end], strict=True):
                of_term[word] = of_term.get(word, 0) + n
    limits = plan.settings
    within = within_df_limits(
        counts[0, : len(numbers)], n_docs, min_df=limits.min_df, max_df=limits.max_df
    )
    kept = sorted(term for term, holds in zip(numbers, within.tolist(), strict=True) if holds)
    counts = counts[:, [numbers[term] for term in kept]]
    of_stems = {term: by_frequency(own) for term, own in counted.items() if own}
    vocabulary = Vocabulary(
        kept, document_frequencies=counts[0], n_docs=n_docs,
        forms=forms_of(kept, of_stems) if plan.analyzer.stems else None,
    )  # fmt: skip
    statistics = tuple(
        FieldStatistics(n_docs, counts[1 + field], int(counts[1 + n_fields + field].sum()))
        for field in range(n_fields)
    )
    return vocabulary, statistics


def check_ids(tallies: Sequence[Tally]) -> None:
    """Raise DuplicateIdError if two documents have the same id."""
    hashes = np.concatenate([one.hashes for one in tallies])
    order = np.argsort(hashes, kind="stable")
    same = np.flatnonzero(hashes[order[1:]] == hashes[order[:-1]])
    firsts = np.cumsum([0, *(one.n_docs for one in tallies)])
    # Nearly always a duplicate: two of 10^9 ids have the same hash with a chance of 3 %.
    seen: dict[str, str] = {}
    for i in np.unique(np.concatenate((order[same], order[same + 1]))).tolist():
        chunk = int(np.searchsorted(firsts, i, side="right")) - 1
        tally, number = tallies[chunk], i - int(firsts[chunk])
        ((_, document),) = tally.documents(slice(number, number + 1))
        here = tally.place(number)
        if document.id in seen:
            raise DuplicateIdError(
                f"{here}: the id {document.id[:80]!r} was given before, at {seen[document.id]}; "
                "ids must be unique."
            )
        seen[document.id] = here
