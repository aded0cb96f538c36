"""Raw tokens of text ("pieces"), split and numbered byte by byte, and the word pieces in them."""

from __future__ import annotations

import numpy as np

from softcosine.kernels.jit import kernel


@kernel("void(uint8[::1], int64[::1], int64, int64, int64, int64, int32[::1], int64[::1])")
def hash_ngrams(text, offsets, min_n, max_n, n_buckets, first_row, rows, ends):
    """Row numbers of the n-grams of words.

    text (n_bytes,) read: concatenated words in UTF-8 with their boundary marks; offsets
    (n_words + 1,) read: start of each; rows out: ``first_row`` plus the FNV-1a hash of every n-gram
    modulo `n_buckets`, with space for (max_n - min_n + 1) per byte of text; ends (n_words,) out:
    end of each word's rows. As in fastText, bytes are signed, and a boundary mark alone is no
    n-gram. O(n_bytes max_n²).
    """
    n_rows = 0
    for word in range(offsets.shape[0] - 1):
        start = offsets[word]
        stop = offsets[word + 1]
        for first in range(start, stop):
            if text[first] & 0xC0 == 0x80:  # inside a character
                continue
            hashed = np.uint32(2166136261)
            last = first
            for n in range(1, max_n + 1):
                if last == stop:
                    break
                at_character = True
                while last < stop and (at_character or text[last] & 0xC0 == 0x80):
                    at_character = False
                    byte = np.uint32(text[last])
                    if byte >= np.uint32(128):
                        byte |= np.uint32(0xFFFFFF00)
                    product = np.uint64(hashed ^ byte) * np.uint64(16777619)
                    hashed = np.uint32(product & np.uint64(0xFFFFFFFF))
                    last += 1
                if n >= min_n and not (n == 1 and (first == start or last == stop)):
                    rows[n_rows] = first_row + np.int64(hashed) % n_buckets
                    n_rows += 1
        ends[word] = n_rows


@kernel(
    "void(uint8[::1], int64[::1], uint8[::1], int64[::1], int64[::1], uint8[::1], int32[::1],"
    " int64[::1], int64[::1])"
)
def number_pieces(text, ends, classes, slots, starts, arena, numbers, number_ends, state):
    """Replace each piece of running text by its number; new pieces get the next numbers. O(bytes).

    A hash table with open addressing. If it is half full, or the arena has no space for a piece,
    the kernel returns with `state` at that piece; the caller enlarges them and calls again.

    Parameters
    ----------
    text : uint8[n_bytes], read and overwritten by its classes
        UTF-8, document after document.
    ends : int64[n_docs], read
        End of each document in `text`.
    classes : uint8[256], read
        Class of each byte; 0 separates pieces, and 1 is of a byte that is a piece by itself.
    slots : int64[power of 2], read and out
        -1 if empty, else hash << 32 | number.
    starts : int64[more than half of the slots], read and out
        Start of each piece in the arena, and the end of the last one.
    arena : uint8[:], read and out
        The distinct pieces in order of their numbers, a space after each.
    numbers : int32[n_bytes], out
    number_ends : int64[n_docs], out
        End of each document in `numbers`.
    state : int64[4], read and out
        Document, byte, number of distinct pieces, and number of pieces written.
    """
    doc = state[0]
    i = state[1]
    n_pieces = state[2]
    n_numbers = state[3]
    mask = len(slots) - 1
    while doc < len(ends):
        end = ends[doc]
        while i < end:
            if classes[text[i]] == 0:
                i += 1
                continue
            begin = i
            code = 2166136261 & 0x7FFFFFFF
            while i < end:
                byte = int(classes[text[i]])
                if byte < 2:
                    break
                text[i] = byte
                # FNV-1a in 31 bits, so that products stay below 2**63.
                code = ((code ^ byte) * 16777619) & 0x7FFFFFFF
                i += 1
            if i == begin:
                code = ((code ^ int(text[i])) * 16777619) & 0x7FFFFFFF
                i += 1
            length = i - begin
            slot = (code ^ (code >> 15)) & mask
            while True:
                entry = slots[slot]
                if entry < 0:
                    start = starts[n_pieces]
                    if 2 * n_pieces >= mask or start + length >= len(arena):
                        state[0] = doc
                        state[1] = begin
                        state[2] = n_pieces
                        state[3] = n_numbers
                        return
                    for j in range(length):
                        arena[start + j] = text[begin + j]
                    arena[start + length] = 32
                    piece = n_pieces
                    n_pieces += 1
                    starts[n_pieces] = start + length + 1
                    slots[slot] = (code << 32) | piece
                    break
                if entry >> 32 == code:
                    piece = entry & 0xFFFFFFFF
                    start = starts[piece]
                    j = 0
                    if starts[piece + 1] - start - 1 == length:
                        while j < length and arena[start + j] == text[begin + j]:
                            j += 1
                        if j == length:
                            break
                slot = (slot + 1) & mask
            numbers[n_numbers] = piece
            n_numbers += 1
        number_ends[doc] = n_numbers
        doc += 1
    state[0] = doc
    state[1] = i
    state[2] = n_pieces
    state[3] = n_numbers


@kernel("void(int64[::1], int64[::1])")
def reinsert(entries, slots):
    """Put the entries of a hash table into a larger, empty one. O(entries).

    Parameters
    ----------
    entries : int64[:], read
        As in `number_pieces`, none empty.
    slots : int64[power of 2, more than twice the entries], out
        All -1 at first.
    """
    mask = len(slots) - 1
    for entry in entries:
        code = entry >> 32
        slot = (code ^ (code >> 15)) & mask
        while slots[slot] >= 0:
            slot = (slot + 1) & mask
        slots[slot] = entry


@kernel(
    "void(uint8[::1], int64[::1], int64, int64[::1], int64[::1], uint8[::1], int32[::1], int64,"
    " int32[::1], int64[::1])"
)
def split_words(
    words, starts, max_characters, slots, token_starts, tokens, token_numbers, longest, found,
    bounds,
):  # fmt: skip
    """Split words into the longest tokens of a vocabulary, from left to right. O(bytes longest).

    Parameters
    ----------
    words : uint8[:], read
        UTF-8, a further byte after each word.
    starts : int64[n_words + 1], read
    max_characters : int64
        Longer words have no tokens; so have those that cannot be split.
    slots, token_starts, tokens : read
        A hash table of `number_pieces`: tokens that begin a word, and after a byte 254 those that
        continue one.
    token_numbers : int32[n_entries], read
    longest : int64
        Bytes of the longest token.
    found : int32[n_bytes], out
        Numbers of the tokens of all words.
    bounds : int64[n_words + 1], out
        Those of word w are at ``bounds[w]:bounds[w + 1]``.
    """
    mask = len(slots) - 1
    n_found = 0
    bounds[0] = 0
    for word in range(len(starts) - 1):
        i, end = starts[word], starts[word + 1] - 1
        n_characters = 0
        for j in range(i, end):
            if words[j] & 0xC0 != 0x80:  # no continuation byte
                n_characters += 1
        if n_characters > max_characters:
            i = end
        inner = 0  # 1 after the first token
        while i < end:
            best = -1
            stop = i
            code = 2166136261 & 0x7FFFFFFF
            if inner == 1:
                code = ((code ^ 254) * 16777619) & 0x7FFFFFFF
            for j in range(i, min(end, i + longest)):
                code = ((code ^ int(words[j])) * 16777619) & 0x7FFFFFFF
                slot = (code ^ (code >> 15)) & mask
                entry = slots[slot]
                while entry >= 0:
                    if entry >> 32 == code:
                        token = entry & 0xFFFFFFFF
                        start = token_starts[token]
                        length = token_starts[token + 1] - 1 - start
                        same = length == inner + j + 1 - i and (inner == 0 or tokens[start] == 254)
                        k = inner
                        while same and k < length:
                            same = tokens[start + k] == words[i + k - inner]
                            k += 1
                        if same:
                            best = token_numbers[token]
                            stop = j + 1
                            break
                    slot = (slot + 1) & mask
                    entry = slots[slot]
            if best < 0:
                n_found = bounds[word]
                break
            found[n_found] = best
            n_found += 1
            i = stop
            inner = 1
        bounds[word + 1] = n_found
