"""Raw tokens of text ("pieces"), split and numbered byte by byte."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from softcosine.kernels.jit import kernel

__all__ = ["number_pieces", "reinsert"]


@kernel(
    "void(uint8[::1], int64[::1], uint8[::1], int64[::1], int64[::1], uint8[::1], int32[::1],"
    " int64[::1], int64[::1])"
)
def number_pieces(
    text: NDArray[Any],
    ends: NDArray[Any],
    classes: NDArray[Any],
    slots: NDArray[Any],
    starts: NDArray[Any],
    arena: NDArray[Any],
    numbers: NDArray[Any],
    number_ends: NDArray[Any],
    state: NDArray[Any],
) -> None:
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
        Class of each byte; 0 separates pieces.
    slots : int64[power of 2], read and out
        -1 if empty, else hash << 32 | number.
    starts : int64[more than half of the slots], read and out
        Start of each piece in the arena, and the end of the last one.
    arena : uint8[:], read and out
        The distinct pieces in order of their numbers, a space after each.
    numbers : int32[at least half of n_bytes + n_docs], out
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
                if byte == 0:
                    break
                text[i] = byte
                # FNV-1a in 31 bits, so that products stay below 2**63.
                code = ((code ^ byte) * 16777619) & 0x7FFFFFFF
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
def reinsert(entries: NDArray[Any], slots: NDArray[Any]) -> None:
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
