"""Documents of a server that an index lacks, as a snapshot with the S and weights of the index."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from softcosine.index.directory.snapshot import IndexedSegment, Snapshot
from softcosine.index.segment.documents import MemoryDocuments
from softcosine.index.segment.inverting import invert
from softcosine.text.analyzer import Analyzer
from softcosine.text.corpus import analyze
from softcosine.text.vocabulary import Vocabulary

__all__ = ["unindexed"]


def unindexed(
    snapshot: Snapshot,
    texts: Mapping[str, str],
    tokens: Mapping[str, Sequence[str]],
    *,
    stemmed: bool,
    words: Sequence[str] = (),
) -> Snapshot:
    """Return a snapshot of other documents, in which they get the scores that the index would give.

    Statistics are those of the index. Words outside its vocabulary do not count, except for `words`
    (document frequency 0, similar to what the index's source says).

    Parameters
    ----------
    snapshot : Snapshot
        Of an index of one field.
    texts : mapping of ids to texts
    tokens : mapping of ids to tokens
        Documents without a text; fewer than `MAX_DOCS`, like those with one.
    stemmed : bool
        Whether tokens are terms of the index already.
    words : sequence of str
        Words of the query that the index lacks.
    """
    vocabulary, S, analyzer = snapshot.S.vocabulary, snapshot.S, snapshot.analyzer
    terms = dict.fromkeys(" ".join(analyzer.stem(word.split(" "))) for word in words)
    if new := [term for term in terms if vocabulary.get(term) < 0]:
        forms = [(term,) for term in new] if vocabulary.has_forms else None
        vocabulary = vocabulary.extended(new, forms=forms)
        source = snapshot.source
        S = S.restricted(vocabulary) if source is None else S.extend(vocabulary, source, warn=False)
    alone = replace(analyzer, stemmer=None) if stemmed else analyzer
    segments = [
        *([_segment(texts, list(texts.values()), analyzer, vocabulary)] if texts else []),
        *([_segment(tokens, [""] * len(tokens), alone, vocabulary)] if tokens else []),
    ]
    statistics = tuple(one.padded(len(vocabulary)) for one in snapshot.statistics)
    return snapshot.changed(segments=tuple(segments), S=S, statistics=statistics)


def _segment(
    documents: Mapping[str, str | Sequence[str]],
    stored: Sequence[str],
    analyzer: Analyzer,
    vocabulary: Vocabulary,
) -> IndexedSegment:
    values: list[str | Sequence[str]] = list(documents.values())
    made = invert(
        values, analyze(values, analyzer), analyzer, vocabulary,
        n_fields=1, positions=True, frozen=True,
    )  # fmt: skip
    (one,) = made.segments
    return IndexedSegment(
        one.fields, MemoryDocuments(stored, ids=list(documents)), positions=one.positions
    )
