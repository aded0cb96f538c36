"""As many documents as wanted, like those of a real collection.

A document is drawn from two neighbouring ones of the collection (20 Newsgroups stands by group, so
they mostly share a subject): each of their terms is kept by chance, with its frequency. Terms are
thus as frequent as the real ones, stand together as they do, and documents differ in length as they
do; only the vocabulary does not grow. Document i is the same in a collection of any size.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from softcosine.kernels.jit import kernel

__all__ = ["Synthetic", "words"]

CHUNK = 65_536  # documents that are drawn at a time
_PLAIN = re.compile("[a-z]{2,20}")
_LETTERS = "abcdefghijklmnopqrstuvwxyz"


@kernel(
    "void(int64[::1], int32[::1], int32[::1], int64[::1], int64[::1], uint64[::1], uint64,"
    " int64[::1], int32[::1], int32[::1])"
)
def _draw(  # type: ignore[no-untyped-def]
    pointers, terms, counts, firsts, seconds, seeds, threshold, out_pointers, out_terms, out_counts
):
    """Write, for each pair of documents, the terms kept of either, ascending.

    A term is kept with probability `threshold` / 2**32; kept of both, its frequencies are added.
    `out_terms` and `out_counts` have room for all terms of all pairs.
    """
    n = 0
    for i in range(firsts.shape[0]):
        x = seeds[i]
        a, a_end = pointers[firsts[i]], pointers[firsts[i] + 1]
        b, b_end = pointers[seconds[i]], pointers[seconds[i] + 1]
        begin = n
        while a < a_end or b < b_end:
            from_a = b == b_end or (a < a_end and terms[a] <= terms[b])
            if from_a:
                term, count = terms[a], counts[a]
                a += 1
            else:
                term, count = terms[b], counts[b]
                b += 1
            x ^= x << np.uint64(13)
            x ^= x >> np.uint64(7)
            x ^= x << np.uint64(17)
            if x >> np.uint64(32) < threshold:
                if n > begin and out_terms[n - 1] == term:
                    out_counts[n - 1] += count
                else:
                    out_terms[n] = term
                    out_counts[n] = count
                    n += 1
        out_pointers[i + 1] = n


@dataclass(frozen=True, slots=True)
class Synthetic:
    """Documents drawn from a collection.

    Attributes
    ----------
    counts : csr_array of shape (n_docs, n_terms), int32
        The collection.
    keep : float
        With which chance a term is kept.
    """

    counts: csr_array
    keep: float

    @classmethod
    def like(cls, counts: csr_array, *, terms: float) -> Synthetic:
        """Return documents of so many distinct terms on average, or as many as two have."""
        keep = 0.5
        for _ in range(8):  # nearly linear: soon exact
            drawn = cls(counts, keep).part(0, 4_096)
            keep = min(1.0, keep * terms * drawn.shape[0] / max(drawn.nnz, 1))
        return cls(counts, keep)

    def part(self, start: int, stop: int) -> csr_array:
        """Return the documents start..stop, (stop - start, n_terms), int32, canonical."""
        counts = self.counts
        seeds = _mixed(np.arange(start, stop, dtype=np.uint64))
        n_docs = counts.shape[0]
        firsts = (seeds % np.uint64(n_docs)).astype(np.int64)
        steps = 1 + (_mixed(seeds) % np.uint64(16)).astype(np.int64)
        seconds = (firsts + steps) % n_docs
        lengths = np.diff(counts.indptr)
        room = int(lengths[firsts].sum() + lengths[seconds].sum())
        pointers = np.zeros(stop - start + 1, np.int64)
        terms, data = np.empty(room, np.int32), np.empty(room, np.int32)
        _draw(
            counts.indptr.astype(np.int64), counts.indices.astype(np.int32),
            counts.data.astype(np.int32), firsts, seconds, seeds | np.uint64(1),
            np.uint64(self.keep * 2**32), pointers, terms, data,
        )  # fmt: skip
        n = int(pointers[-1])
        shape = (stop - start, counts.shape[1])
        X = csr_array((data[:n].copy(), terms[:n].copy(), pointers.astype(np.int32)), shape=shape)
        X.has_canonical_format = True
        return X

    def parts(self, n_docs: int, *, size: int = CHUNK) -> Iterator[csr_array]:
        """Yield the first documents, so many at a time."""
        for start in range(0, n_docs, size):
            yield self.part(start, min(start + size, n_docs))

    def texts(self, n_docs: int, spelled: Sequence[str]) -> Iterator[str]:
        """Yield the first documents as texts: their words in random order, a blank between."""
        generator = np.random.default_rng(0)
        array = np.array(spelled, dtype=object)
        for X in self.parts(n_docs, size=8_192):
            document = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
            order = np.repeat(document, X.data) + generator.random(int(X.data.sum()))
            tokens = array[np.repeat(X.indices, X.data)[np.argsort(order)]].tolist()
            ends = np.cumsum(np.asarray(X.sum(axis=1)).ravel()).tolist()
            start = 0
            for end in ends:
                yield " ".join(tokens[start:end])
                start = end


def words(terms: Sequence[str]) -> list[str]:
    """Spell terms so that every tokenizer takes each for one word, and no two for the same.

    Words of plain letters stay; others become letters that no word has.
    """
    spelled = []
    for number, term in enumerate(terms):
        if _PLAIN.fullmatch(term):
            spelled.append(term)
            continue
        letters = ""
        while number or not letters:
            number, letter = divmod(number, 26)
            letters += _LETTERS[letter]
        spelled.append(f"qxz{letters}")
    assert len(set(spelled)) == len(spelled)
    return spelled


def _mixed(numbers: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Turn numbers into well-mixed ones (splitmix64; Steele, Lea and Flood 2014)."""
    x = numbers + np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(x ^ (x >> np.uint64(31)))
