"""Raw tokens of text ("pieces"), split and numbered byte by byte, and their word pieces."""

from __future__ import annotations

import numpy as np

from softcosine.kernels.jit import inlined, kernel


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


@inlined
def _is_digit(byte):
    return 48 <= byte <= 57


@inlined
def _is_letter(byte):
    return 97 <= byte <= 122


@inlined
def _word_end(text, i):
    """Return the end of the word that begins at byte `i`, a possessive included."""
    if _is_letter(text[i]) and text[i + 1] == 43 and text[i + 2] == 43:  # c++
        return i + 3
    if _is_letter(text[i]) and text[i + 1] == 35:  # c#
        return i + (1 if _is_letter(text[i + 2]) or _is_digit(text[i + 2]) else 2)
    i += 1
    while True:
        if _is_letter(text[i]) or _is_digit(text[i]):
            i += 1
        elif (text[i] == 46 and _is_digit(text[i - 1]) and _is_digit(text[i + 1])) or (
            text[i] == 39 and _is_letter(text[i + 1])  # a dot between digits, or an apostrophe
        ):
            i += 2
        else:
            return i


@inlined
def _without_possessive(text, first, end):
    """Return the end of a word without each 's at its end."""
    while end - 2 > first and text[end - 2] == 39 and text[end - 1] == 115:
        end -= 2
    return end


@inlined
def _with_joined(words, run, n, n_parts, most_parts, longest, mark):
    """Write what joints make of the words from byte `run` to `n`, if anything; return the end."""
    length = n - run - n_parts
    most = longest if length == n_parts else most_parts
    has_letter = False
    for j in range(run, n):
        has_letter |= _is_letter(words[j])
    if n_parts < 2 or n_parts > most or length > longest or not has_letter:
        return n
    end = n
    for byte in mark:
        words[end] = byte
        end += 1
    for j in range(run, n):
        if words[j] != 32:
            words[end] = words[j]
            end += 1
    words[end] = 32
    return end + 1


@kernel("int64(uint8[::1], int64[::1], int64, int64, int64, uint8[::1], uint8[::1], int64[::1])")
def split_pieces(arena, starts, max_length, most_parts, longest, mark, words, n_words):
    """Write the words of ASCII pieces by the rules of `softcosine.text.words`. O(bytes).

    Parameters
    ----------
    arena : uint8[n_bytes], read
        Pieces in lower case, a space after each.
    starts : int64[n_pieces + 1], read
        Start of each piece, and the end of the last one.
    max_length : int64
        Longer words are truncated.
    most_parts, longest : int64
        Of a joined word: parts (of initials, any number), and characters; 0 for no joined words.
    mark : uint8[:], read
        Begins a joined word.
    words : uint8[(3 + len(mark)) * n_bytes], out
        The words of all pieces, a space after each; a joined word follows its parts.
    n_words : int64[n_pieces], out
        Number of words of each piece; -1 for pieces beyond ASCII, whose words are not written.

    Returns
    -------
    int64
        Number of bytes written.
    """
    n = 0
    for piece in range(len(n_words)):
        i, stop = starts[piece], starts[piece + 1] - 1
        n_words[piece] = 0
        for j in range(i, stop):
            if arena[j] > 127:
                n_words[piece], i = -1, stop
        run, n_parts, last, length = n, 0, stop, 0  # words that joints connect, and the last word
        while i < stop:
            if not (_is_letter(arena[i]) or _is_digit(arena[i])):
                i += 1
                continue
            first, i = i, _word_end(arena, i)
            joint = int(arena[last]) if first == last + 1 else 0
            between_numbers = length < 3 and _is_digit(words[n - 2]) and _is_digit(arena[first])
            if not (joint == 45 or (joint in (38, 46, 47) and not between_numbers)):
                end = _with_joined(words, run, n, n_parts, most_parts, longest, mark)
                n_words[piece] += end > n
                n, run, n_parts = end, end, 0
            last = end = _without_possessive(arena, first, i)
            if end - first > max_length:
                end = first + max_length
                while arena[end - 1] == 39 or arena[end - 1] == 46:
                    end -= 1
                end = _without_possessive(arena, first, end)
            length = end - first
            for j in range(length):
                words[n + j] = arena[first + j]
            words[n + length] = 32
            n += length + 1
            n_parts += 1
            n_words[piece] += 1
        end = _with_joined(words, run, n, n_parts, most_parts, longest, mark)
        n_words[piece] += end > n
        n = end
    return n


@inlined
def _entry_of(code, text, begin, end, inner, slots, starts, arena):
    """Return the number of ``text[begin:end]`` in a hash table of `number_pieces`; -1 if none.

    `code` is its hash. With ``inner`` 1 a byte 254 is before it there.
    """
    mask = len(slots) - 1
    slot = (code ^ (code >> 15)) & mask
    entry = slots[slot]
    while entry >= 0:
        if entry >> 32 == code:
            number = entry & 0xFFFFFFFF
            start = starts[number]
            length = starts[number + 1] - 1 - start
            same = length == inner + end - begin and (inner == 0 or arena[start] == 254)
            k = inner
            while same and k < length:
                same = arena[start + k] == text[begin + k - inner]
                k += 1
            if same:
                return number
        slot = (slot + 1) & mask
        entry = slots[slot]
    return -1


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
                token = _entry_of(code, words, i, j + 1, inner, slots, token_starts, tokens)
                if token >= 0:
                    best = token_numbers[token]
                    stop = j + 1
            if best < 0:
                n_found = bounds[word]
                break
            found[n_found] = best
            n_found += 1
            i = stop
            inner = 1
        bounds[word + 1] = n_found


@kernel(
    "int64(uint8[::1], int64[::1], int64[::1], uint8[::1], float64[::1], int64, float64,"
    " float64[::1], int64[::1], int32[::1])"
)
def likeliest_pieces(
    text, slots, starts, arena, scores, longest, unknown, best, begins, numbers
):  # fmt: skip
    """Split a text so that the sum of its pieces' scores is greatest (Viterbi).

    A character that no piece equals can be a piece of the score `unknown` and the number -1; of
    such neighbours one piece is kept. Of equal sums, the one whose last piece is longest wins.
    O(bytes × longest).

    Parameters
    ----------
    text : uint8[n_bytes], read
        UTF-8. No piece goes on over the byte 0xE2 of a space mark (U+2581).
    slots, starts, arena : read
        A hash table of `number_pieces`: the pieces.
    scores : float64[n_pieces], read
    longest : int64
        Bytes of the longest piece.
    unknown : float64
    best : float64[n_bytes + 1], out
        Greatest sum of the text up to each byte.
    begins : int64[n_bytes + 1], out
        Where the last piece of that sum begins.
    numbers : int32[n_bytes + 1], out
        First the last piece of that sum, at the end the pieces of the text, in order.

    Returns
    -------
    int64
        Number of pieces.
    """
    n_bytes = len(text)
    best[:] = -np.inf
    best[0] = 0.0
    for i in range(n_bytes):
        if text[i] & 0xC0 == 0x80:  # inside a character
            continue
        first = i + 1
        while first < n_bytes and text[first] & 0xC0 == 0x80:
            first += 1
        known = False
        code = 2166136261 & 0x7FFFFFFF
        for j in range(i, min(n_bytes, i + longest)):
            code = ((code ^ int(text[j])) * 16777619) & 0x7FFFFFFF
            stop = j + 1
            if stop < n_bytes and text[stop] & 0xC0 == 0x80:
                continue
            piece = _entry_of(code, text, i, stop, 0, slots, starts, arena)
            if piece >= 0:
                known |= stop == first
                total = best[i] + scores[piece]
                if total > best[stop]:
                    best[stop] = total
                    begins[stop] = i
                    numbers[stop] = piece
            if (
                stop + 2 < n_bytes
                and text[stop] == 0xE2
                and text[stop + 1] == 0x96
                and text[stop + 2] == 0x81
            ):
                break
        if not known and best[i] + unknown > best[first]:
            best[first] = best[i] + unknown
            begins[first] = i
            numbers[first] = -1
    # From the end to the front, then shifted to the beginning.
    last = n_bytes + 1
    stop = n_bytes
    while stop > 0:
        number = numbers[stop]
        if number >= 0 or last > n_bytes or numbers[last] >= 0:
            last -= 1
            numbers[last] = number
        stop = begins[stop]
    for k in range(last, n_bytes + 1):
        numbers[k - last] = numbers[k]
    return n_bytes + 1 - last
