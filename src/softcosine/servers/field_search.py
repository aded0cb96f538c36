"""Search over the text field of a server, with exact scores by the index."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Unpack

import numpy as np
from msgspec import structs

from softcosine.errors import InvalidInputError
from softcosine.index.directory.snapshot import IndexedSegment, Snapshot
from softcosine.index.query.constraints import all_of, mask_of
from softcosine.index.requests import ExpandRequest, FirstStage, SearchKeywords, SearchOptions
from softcosine.index.search.execution import Search
from softcosine.index.search.results import Hits
from softcosine.index.search.server_query import SentWords, server_query
from softcosine.index.segment.documents import MemoryDocuments
from softcosine.index.segment.inverting import invert
from softcosine.index.soft_index import SoftIndex
from softcosine.index.spaces.plan import Plan
from softcosine.servers import FIELD_OPTIONS
from softcosine.servers.text_field import TextField
from softcosine.text.corpus import analyze

_CANDIDATES = 100


def search_field(
    index: SoftIndex,
    field: TextField,
    query: str | Sequence[str],
    *,
    words: SentWords = "terms",
    timeout: float | None = None,
    **options: Unpack[SearchKeywords],
) -> Hits:
    """Return the best documents by the index among the candidates of a field.

    The scores are those of soft BM25 by the index. A candidate that the index lacks gets the score
    that the index would give its text; if the server does not store that, it is left out, as
    `Hits.plan` says. Nothing is proven: the server has its own statistics and rounds lengths.

    Parameters
    ----------
    index : SoftIndex
        Has one field, and the ids of the server, such as one of `learn_from`.
    field : TextField
    query : str, or a list of tokens
    first_stage : FirstStage, int or None, default 32
        The number of words that are sent beside those of the query, and of candidates, by default
        100; None for all words.
    words : {"terms", "forms", "analyzed"}
        See `SoftIndex.expand`.
    timeout : float, optional
        Seconds to wait for each reply of the server.
    k, offset, min_score, where, syntax, max_terms, keep_stop_words
        See `SoftIndex.search`. Candidates that the index lacks have no metadata for `where`.

    Raises
    ------
    InvalidInputError, ServerError
    """
    if unknown := sorted(options.keys() - FIELD_OPTIONS):
        raise InvalidInputError(
            f"a search of a field has no option {unknown[0]}; there are {', '.join(FIELD_OPTIONS)}."
        )
    tokens = _tokens(index, field, query) if words == "terms" else None
    options = {"first_stage": 32, **options, "ranking": "soft_bm25", "ask": "words", "meaning": 0.0}
    asked = SearchOptions.of(**options)
    request = structs.replace(asked, k=asked.n_wanted, offset=0, first_stage=None)
    stage, snapshot = asked.stage or FirstStage(None), index.snapshot
    n = max(stage.candidates or _CANDIDATES, request.k)
    expansion = ExpandRequest.of(
        q=query, to=field.server, field=field.name, words=words, syntax=asked.syntax,
        max_terms=None if stage.terms is None else max(1, 2 * stage.terms),
        keep_stop_words=asked.keep_stop_words,
    )  # fmt: skip
    sent = server_query(snapshot, expansion, tokens)
    found = field.search(sent, n, timeout=timeout)
    numbers = snapshot.documents.numbers_of(found.ids)
    hits, scored = _among(numbers, snapshot, query, request), "scored exactly by the index"
    if lacking := [id for id in found.ids if id not in numbers]:
        if texts := field.stored_texts(lacking, timeout=timeout):
            scored += f" ({len(texts):,} of them, which it lacks, by their texts)"
            new = _unindexed(snapshot, texts, (*hits.unknown, *hits.outside))
            others = _among(new.documents.numbers_of(lacking), new, query, request)
            hits = _merged(hits, others, snapshot)
        if n_left := len(lacking) - len(texts):
            scored += f", but {n_left:,} that it lacks and the server has no text of are left out"
    reason = (
        f"{len(sent.words):,} words, {len(found.ids):,} candidates of {field.server}, {scored}; "
        "not proven: the field has statistics of its own"
    )
    if not found.complete:
        reason += ", and the answer of the server is partial"
    plan = Plan(
        field.server, reason, n_terms=len(sent.words), n_candidates=len(found.ids), proven=False
    )
    page = hits.hits[asked.offset : asked.n_wanted]
    if lacks := [hit.id for hit in page if not hit.text]:
        texts = field.stored_texts(lacks, timeout=timeout)
        page = tuple(replace(hit, text=hit.text or texts.get(hit.id, "")) for hit in page)
    return replace(hits, hits=page, offset=asked.offset, plan=plan)


def _tokens(index: SoftIndex, field: TextField, query: str | Sequence[str]) -> dict[str, list[str]]:
    """Return what the server makes of the words of a query, by the term of each."""
    text = query if isinstance(query, str) else " ".join(query)
    spans = index.analyzer.spans(text)
    tokens = field.tokens([text[span.start : span.end] for span in spans])
    found: dict[str, list[str]] = {}
    for span, theirs in zip(spans, tokens, strict=True):
        if len(terms := index.analyzer.terms(span.word)) == len(theirs) == 1:
            found.setdefault(terms[0], []).extend(theirs)
    return {term: list(dict.fromkeys(tokens)) for term, tokens in found.items()}


def _among(
    numbers: Mapping[str, int],
    snapshot: Snapshot,
    query: str | Sequence[str],
    request: SearchOptions,
) -> Hits:
    """Return the hits among the given documents."""
    search = Search.of(snapshot, request)
    restrictions = search.restrictions
    every = mask_of(np.array(list(numbers.values()), np.int64), _n_numbers(snapshot))
    firsts = snapshot.documents.firsts[1:]
    among = [
        all_of([own, mask])
        for own, mask in zip(np.split(every, firsts), restrictions.filtered, strict=True)
    ]
    restrictions = replace(restrictions, filtered=among)
    return replace(search, restrictions=restrictions).execute([query], None)[0]


def _merged(hits: Hits, others: Hits, snapshot: Snapshot) -> Hits:
    """Merge two lists of hits by score; of equal scores, `hits` come first."""
    first = _n_numbers(snapshot)
    later = (replace(hit, number=first + hit.number) for hit in others)
    return replace(hits, hits=tuple(sorted((*hits, *later), key=lambda hit: -hit.score)))


def _n_numbers(snapshot: Snapshot) -> int:
    return sum(segment.n_docs for segment in snapshot.segments)


def _unindexed(snapshot: Snapshot, texts: Mapping[str, str], words: Sequence[str]) -> Snapshot:
    """Return a snapshot of texts that are not indexed, with the statistics of the index.

    Statistics are those of the index. Words outside its vocabulary do not count, except for `words`
    (document frequency 0, similar to what the index's source says).

    Parameters
    ----------
    snapshot : Snapshot
        Of an index of one field.
    texts : mapping of ids to texts
        Fewer than `MAX_DOCS`.
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
    values = list(texts.values())
    analyzed = analyze(values, analyzer)
    ((fields, positions),), _ = invert(
        values, analyzed, analyzer, vocabulary, n_fields=1, positions=True, frozen=True
    )
    documents = MemoryDocuments(values, ids=list(texts))
    segment = IndexedSegment(fields, documents, positions=positions)
    statistics = tuple(one.padded(len(vocabulary)) for one in snapshot.statistics)
    return snapshot.changed(segments=(segment,), S=S, statistics=statistics)
