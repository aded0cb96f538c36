"""The terms of all chunks: counts added up by partitions, and joined to one vocabulary."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from itertools import count, pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softcosine.cluster.build_plan import BuildPlan, terms_folder
from softcosine.cluster.ownership import owned
from softcosine.cluster.tally import Tally
from softcosine.cluster.tasks import once
from softcosine.errors import DuplicateIdError
from softcosine.index.segment.statistics import FieldStatistics
from softcosine.storage import Folder, open_folder, write_folder
from softcosine.text.counted_terms import within_df_limits
from softcosine.text.packing import pack_strings, unpack_strings
from softcosine.text.stream import forms_of, stems_in
from softcosine.text.vocabulary import Vocabulary

_KIND = "terms"


def merge_terms(work: Path, partition: int, n_docs: int) -> None:
    """Write the terms of a partition that are within the limits, unless they are written.

    Parameters
    ----------
    work : Path
        Folder of the work, with the tallies of all chunks.
    partition : int
    n_docs : int
        Number of documents of all chunks.

    Raises
    ------
    DuplicateIdError
        If two documents have the same id, whose hash belongs to the partition.
    """
    with once(terms_folder(work, partition)) as target:
        if target is None:
            return
        plan = BuildPlan.read(work)
        _check_ids(work, plan, partition)
        counts = _Counts(len(plan.field_names))
        for number in range(len(plan.chunks)):
            counts.add(Tally.open(work, plan, number), partition)
        kept = np.flatnonzero(
            within_df_limits(
                counts.frequencies[0], n_docs,
                min_df=plan.settings.min_df, max_df=plan.settings.max_df,
            )
        )  # fmt: skip
        arrays = counts.arrays(kept)
        if counts.has_forms and plan.analyzer.longest > 1:
            arrays |= counts.heads()
        write_folder(target, _KIND, {}, arrays)


class _Counts:
    """The counts of one partition, added up."""

    def __init__(self, n_fields: int) -> None:
        self._numbers: defaultdict[str, int] = defaultdict(count().__next__)
        self._forms: list[dict[str, int]] = []
        self.has_forms = False
        self._counts = np.zeros((2 * n_fields + 1, 0), np.int64)
        self._n_fields = n_fields

    @property
    def frequencies(self) -> NDArray[np.int64]:
        """Documents with each term: in any field, then in each one."""
        return self._counts[: self._n_fields + 1, : len(self._numbers)]

    def add(self, tally: Tally, partition: int) -> None:
        """Add the counts of a chunk."""
        terms = tally.folder.arrays("terms")
        first, stop = terms["bounds"][partition : partition + 2].tolist()
        strings = _strings(terms, first, stop)
        numbers = np.fromiter(map(self._numbers.__getitem__, strings), np.int64, len(strings))
        if (n_terms := len(self._numbers)) > self._counts.shape[1]:
            self._counts = np.pad(self._counts, ((0, 0), (0, 2 * n_terms - self._counts.shape[1])))
        own = np.concatenate((terms["frequencies"], terms["lengths"]))[:, first:stop]
        self._counts[:, numbers] += own  # a chunk has each term once
        forms = tally.folder.arrays("forms")
        self.has_forms = bool(forms)
        if not forms:
            return
        self._forms.extend({} for _ in range(n_terms - len(self._forms)))
        starts = forms["starts"][first : stop + 1]
        words = _strings(forms, int(starts[0]), int(starts[-1]))
        counted = forms["counts"][starts[0] : starts[-1]].tolist()
        for number, (start, end) in zip(
            numbers.tolist(), pairwise((starts - starts[0]).tolist()), strict=True
        ):
            of_term = self._forms[number]
            for word, n in zip(words[start:end], counted[start:end], strict=True):
                of_term[word] = of_term.get(word, 0) + n

    def arrays(self, kept: NDArray[np.int64]) -> dict[str, NDArray[Any]]:
        """Return the counts of some terms, and their forms by frequency."""
        terms = list(self._numbers)
        blob, offsets = pack_strings([terms[i] for i in kept.tolist()])
        arrays: dict[str, NDArray[Any]] = {
            "terms/blob": blob,
            "terms/offsets": offsets,
            "terms/counts": self._counts[:, kept],
        }
        if self.has_forms:
            forms = [_by_frequency(self._forms[i]) for i in kept.tolist()]
            blob, offsets = pack_strings([form for own in forms for form in own])
            arrays |= {
                "forms/blob": blob,
                "forms/offsets": offsets,
                "forms/starts": np.cumsum([0, *map(len, forms)], dtype=np.int64),
            }
        return arrays

    def heads(self) -> dict[str, NDArray[Any]]:
        """Return the most frequent form of every stem, which n-grams of kept terms may need."""
        found = [
            (stem, _by_frequency(forms)[0])
            for stem, forms in zip(self._numbers, self._forms, strict=True)
            if forms
        ]
        arrays: dict[str, NDArray[Any]] = {}
        for name, strings in (("stems", [s for s, _ in found]), ("heads", [h for _, h in found])):
            arrays[f"{name}/blob"], arrays[f"{name}/offsets"] = pack_strings(strings)
        return arrays


def joined(
    work: Path, plan: BuildPlan, n_docs: int
) -> tuple[Vocabulary, tuple[FieldStatistics, ...]]:
    """Return the vocabulary of all partitions in code point order, and the statistics over it."""
    partitions = [
        open_folder(terms_folder(work, number), _KIND) for number in range(plan.n_partitions)
    ]
    strings: list[str] = []
    forms: list[Sequence[str]] = []
    counts = []
    for folder in partitions:
        terms, of_forms = folder.arrays("terms"), folder.arrays("forms")
        strings += unpack_strings(terms["blob"], terms["offsets"])
        counts.append(terms["counts"])
        if of_forms:
            words = unpack_strings(of_forms["blob"], of_forms["offsets"])
            forms += [words[start:end] for start, end in pairwise(of_forms["starts"].tolist())]
    together = np.concatenate(counts, axis=1)
    order = np.array(sorted(range(len(strings)), key=strings.__getitem__), np.int64)
    ordered = [strings[i] for i in order.tolist()]
    if plan.analyzer.stems:
        known = {term: own for term, own in zip(strings, forms, strict=True) if own}
        if plan.analyzer.longest > 1:
            needed = stems_in(ordered)
            for folder in partitions:
                known = {**_heads(folder, needed), **known}
        forms = forms_of(ordered, known)
    together = together[:, order]
    n_fields = len(plan.field_names)
    vocabulary = Vocabulary(
        ordered, document_frequencies=together[0], n_docs=n_docs,
        forms=forms if plan.analyzer.stems else None,
    )  # fmt: skip
    statistics = tuple(
        FieldStatistics(n_docs, together[1 + field], int(together[1 + n_fields + field].sum()))
        for field in range(n_fields)
    )
    return vocabulary, statistics


def _heads(folder: Folder, needed: set[str]) -> dict[str, Sequence[str]]:
    """Return the most frequent forms of those stems of a partition that are needed."""
    stems, heads = (folder.arrays(name) for name in ("stems", "heads"))
    pairs = zip(
        unpack_strings(stems["blob"], stems["offsets"]),
        unpack_strings(heads["blob"], heads["offsets"]),
        strict=True,
    )
    return {stem: (head,) for stem, head in pairs if stem in needed}


def _strings(arrays: dict[str, NDArray[Any]], first: int, stop: int) -> list[str]:
    """Return some of the packed strings."""
    offsets = arrays["offsets"][first : stop + 1]
    return unpack_strings(arrays["blob"][offsets[0] : offsets[-1]], offsets - offsets[0])


def _by_frequency(forms: dict[str, int]) -> list[str]:
    return sorted(forms, key=lambda form: (-forms[form], form))


def _check_ids(work: Path, plan: BuildPlan, partition: int) -> None:
    """Raise DuplicateIdError if two documents have the same id."""
    hashes, owners, numbers = [], [], []
    for chunk in range(len(plan.chunks)):
        every = Tally.open(work, plan, chunk).hashes
        chosen = owned(every, partition, plan.n_partitions)
        hashes.append(every[chosen])
        numbers.append(np.arange(chosen.start, chosen.stop))
        owners.append(np.full(chosen.stop - chosen.start, chunk))
    together = np.concatenate(hashes)
    order = np.argsort(together, kind="stable")
    same = np.flatnonzero(together[order[1:]] == together[order[:-1]])
    if not len(same):
        return
    # Nearly always a duplicate: two of 10^9 ids have the same hash with a chance of 3 %.
    chunks, places = np.concatenate(owners), np.concatenate(numbers)
    seen: dict[str, str] = {}
    for i in np.unique(np.concatenate((order[same], order[same + 1]))).tolist():
        tally = Tally.open(work, plan, int(chunks[i]))
        number = int(places[i])
        ((_, document),) = tally.documents(slice(number, number + 1))
        here = tally.place(number)
        if document.id in seen:
            raise DuplicateIdError(
                f"{here}: the id {document.id[:80]!r} was given before, at {seen[document.id]}; "
                "ids must be unique."
            )
        seen[document.id] = here
