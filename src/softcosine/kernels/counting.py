"""Document-term counts from token streams.

Documents are one flat stream of int32 numbers with offsets: document ``d`` is
``tokens[offsets[d]:offsets[d + 1]]``.
"""

from __future__ import annotations

from softcosine.kernels.jit import kernel


@kernel("void(int32[::1], int64[::1], int64[::1], int32[::1], int32[::1], int64[::1])")
def expand(pieces, piece_offsets, starts, terms, tokens, offsets):
    """Replace every piece by its terms. O(pieces + tokens).

    Parameters
    ----------
    pieces : int32[n_running_pieces], read
    piece_offsets : int64[n_docs + 1], read
    starts : int64[n_pieces + 1], read
        Piece ``p`` becomes ``terms[starts[p]:starts[p + 1]]``.
    terms : int32[:], read
    tokens : int32[:], out
        Length: all terms of all pieces.
    offsets : int64[n_docs + 1], out
    """
    end = 0
    offsets[0] = 0
    for doc in range(len(piece_offsets) - 1):
        for i in range(piece_offsets[doc], piece_offsets[doc + 1]):
            piece = pieces[i]
            for j in range(starts[piece], starts[piece + 1]):
                tokens[end] = terms[j]
                end += 1
        offsets[doc + 1] = end


@kernel("void(int32[::1], int64[::1], int32[::1], int64[::1], int64[::1])")
def count_documents(tokens, offsets, last, document_frequencies, distinct):
    """Count the documents of each term and the distinct terms of each document. O(tokens).

    Parameters
    ----------
    tokens : int32[:], read
        Negative numbers are not terms.
    offsets : int64[n_docs + 1], read
    last : int32[n_terms], scratch
        All -1.
    document_frequencies : int64[n_terms], out
        All 0 at first.
    distinct : int64[n_docs], out
    """
    for doc in range(len(offsets) - 1):
        n_distinct = 0
        for i in range(offsets[doc], offsets[doc + 1]):
            term = tokens[i]
            if term >= 0 and last[term] != doc:
                last[term] = doc
                document_frequencies[term] += 1
                n_distinct += 1
        distinct[doc] = n_distinct


@kernel(
    "void(int32[::1], int64[::1], int64[::1], int64[::1], int32[::1], int32[::1], int64[::1],"
    " int32[::1], int32[::1])"
)
def count_terms(
    tokens, offsets, term_ends, term_starts, documents, frequencies, row_ends, indices, data
):
    """Count each term in each document; rows are sorted by term without a sort.

    Documents are distributed to their terms, then read back term by term. O(tokens + pairs).

    Parameters
    ----------
    tokens, offsets
        As for `count_documents`.
    term_ends : int64[n_terms], scratch
        A copy of `term_starts`.
    term_starts : int64[n_terms], read
        Starts of the terms' pairs: cumulative document frequencies.
    documents, frequencies : int32[n_pairs], scratch
    row_ends : int64[n_docs], scratch
        Starts of the documents' rows.
    indices, data : int32[n_pairs], out
        Terms and their counts, document by document.
    """
    for doc in range(len(offsets) - 1):
        for i in range(offsets[doc], offsets[doc + 1]):
            term = tokens[i]
            if term < 0:
                continue
            end = term_ends[term]
            if end > term_starts[term] and documents[end - 1] == doc:
                frequencies[end - 1] += 1
            else:
                documents[end] = doc
                frequencies[end] = 1
                term_ends[term] = end + 1
    for term in range(len(term_starts)):
        for pair in range(term_starts[term], term_ends[term]):
            doc = documents[pair]
            end = row_ends[doc]
            indices[end] = term
            data[end] = frequencies[pair]
            row_ends[doc] = end + 1
