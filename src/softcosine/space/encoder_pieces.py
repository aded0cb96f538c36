"""Word pieces of an encoder's tokenizer: WordPiece, BPE or Unigram."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from softcosine.encoders.encoder import NamedEncoder
from softcosine.errors import InvalidInputError
from softcosine.similarity.embeddings.word_pieces import BERT_UNCASED, WordPieces

__all__ = ["word_pieces_of"]

_MARK = "\u2581"  # in front of the first piece of a word (SentencePiece)
_KEPT = ("NFC", "NFD", "NFKC", "NFKD", "StripAccents")


def word_pieces_of(encoder: NamedEncoder) -> WordPieces:
    """Return the word pieces of an encoder's tokenizer.

    Words are split greedily into the longest pieces, as by WordPiece. A BPE or Unigram tokenizer
    splits some words otherwise; sums of pieces need no equal splits, only the same ones in the fit
    and in queries. The pieces of these two are in lower case, as the terms of an index, from whose
    document frequencies pieces get theirs; "Paris" stands for "paris" if the latter is no piece.

    Raises
    ------
    InvalidInputError
        If the tokenizer is unknown, of another type, or damaged.
    """
    tokenizer = getattr(encoder, "tokenizer", None)
    if tokenizer is None:
        raise InvalidInputError(
            f"the tokenizer of the encoder {encoder.name!r} is unknown; needed is an attribute "
            "'tokenizer' with the content of its tokenizer.json, as ONNX folders and "
            "sentence-transformers have it."
        )
    try:
        kind = tokenizer["model"].get("type") or "WordPiece"
        if kind == "WordPiece":
            return WordPieces.from_tokenizer(tokenizer)
        if kind in ("BPE", "Unigram"):
            return _of_marked_pieces(tokenizer)
        problem = f"the tokenizer is of type {kind!s:.40}; needed is WordPiece, BPE or Unigram."
    except InvalidInputError as error:
        problem = str(error)
    except (ValueError, KeyError, TypeError, AttributeError, IndexError, RecursionError) as error:
        problem = f"not a readable tokenizer: {error!r:.200}"
    raise InvalidInputError(f"the encoder {encoder.name!r}: {problem}")


def _of_marked_pieces(tokenizer: Mapping[str, Any]) -> WordPieces:
    """Return the word pieces of a vocabulary that marks the first piece of a word."""
    vocabulary = tokenizer["model"]["vocab"]
    if isinstance(vocabulary, Mapping):  # of BPE
        tokens = [""] * len(vocabulary)
        for token, number in vocabulary.items():
            tokens[number] = token
    else:
        tokens = [token for token, _ in vocabulary]
    special = {
        token["content"] for token in tokenizer.get("added_tokens") or () if token.get("special")
    }
    if "ByteLevel" in _types(tokenizer.get("pre_tokenizer")):
        tokens = [_of_bytes(token) for token in tokens]
    if not any(token.startswith(_MARK) for token in tokens):
        raise InvalidInputError(
            f"the {tokenizer['model']['type']} tokenizer marks neither spaces nor the starts of "
            f"words by {_MARK!r}."
        )
    # The other way round, as WordPiece does: the mark in front of all pieces but the first.
    pieces = [
        "" if token in special else token[1:] if token.startswith(_MARK) else f"{_MARK}{token}"
        for token in tokens
    ]
    lower = {piece for piece in pieces if piece == piece.lower()} - {"", _MARK}
    for i, piece in enumerate(pieces):
        if piece not in lower:
            folded = piece.lower()
            pieces[i] = "" if folded in lower | {"", _MARK} else folded
            lower.add(folded)
    steps = [
        {"type": "NFKC" if step == "Precompiled" else step}
        for step in _types(tokenizer.get("normalizer"))
        if step in (*_KEPT, "Precompiled")
    ]
    uncased = {**BERT_UNCASED["normalizer"], "strip_accents": False}
    return WordPieces(
        pieces,
        {**BERT_UNCASED, "normalizer": {"type": "Sequence", "normalizers": [*steps, uncased]}},
        prefix=_MARK,
    )


def _types(step: Mapping[str, Any] | None) -> Iterator[str]:
    """Yield the types of a step of a tokenizer, and of those it is made of."""
    if step is not None:
        yield step["type"]
        for inner in (*step.get("normalizers", ()), *step.get("pretokenizers", ())):
            yield from _types(inner)


def _byte_characters() -> dict[str, int]:
    """Return the characters by which byte-level BPE writes bytes (Radford et al. 2019, GPT-2)."""
    plain = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(256) if byte not in plain]
    return {chr(byte): byte for byte in plain} | {
        chr(256 + i): byte for i, byte in enumerate(others)
    }


_BYTES = _byte_characters()


def _of_bytes(token: str) -> str:
    """Return a token of byte-level BPE as text, its leading space as the mark; else ""."""
    try:
        text = bytes(_BYTES[character] for character in token).decode()
    except (KeyError, UnicodeDecodeError):
        return ""
    return f"{_MARK}{text[1:]}" if text.startswith(" ") else text
