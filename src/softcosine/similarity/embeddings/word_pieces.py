"""WordPiece: words split into the pieces of a vocabulary, like BERT's tokenizer."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softcosine._ragged import running_sum
from softcosine._validation import check_whole
from softcosine.errors import InvalidInputError
from softcosine.kernels.counting import expand
from softcosine.kernels.pieces import split_words
from softcosine.similarity.embeddings.word_vectors import checked_words
from softcosine.text.packing import pack_strings, unpack_strings
from softcosine.text.pieces import StringTable

_SPECIAL = re.compile(r"\[[A-Za-z0-9_]+\]")  # [PAD], [UNK], [unused7]: special tokens
_MOST_TOKENS = 100_000_000  # a damaged file can name any token number
_PUNCTUATION = frozenset("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~")
_ASCII_WORDS_AND_MARKS = re.compile(r"[^\s!-/:-@\[-`{-~]+|[!-/:-@\[-`{-~]")
_CJK = re.compile(
    "([\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0002a6df\U0002a700-\U0002b81f"
    "\U0002b920-\U0002ceaf\U0002f800-\U0002fa1f])"
)

_PLAIN = bytes(range(32, 127)) + b"\t\n\r"  # characters that become themselves or a space
_SPACES = re.compile("[ \t\n\r]")
# Class of each byte of UTF-8, as for `number_pieces`: itself, but 255 (not in UTF-8) separates.
_CLASSES = np.arange(256, dtype=np.uint8)
_CLASSES[[0, 1, 255]] = 0xC0, 0xC1, 0  # the first two are not in UTF-8 either

# Normalizer and pre-tokenizer in the format of ``tokenizer.json``.
BERT_UNCASED: Mapping[str, Any] = {
    "normalizer": {"type": "BertNormalizer", "lowercase": True},
    "pre_tokenizer": {"type": "BertPreTokenizer"},
}


def has_word_pieces(tokens: Sequence[str]) -> bool:
    """Whether a list is a WordPiece vocabulary: at least 1 % of it are suffix pieces.

    Lists of whole words contain a few strings that look like suffix pieces, such as ``###``.
    """
    n_pieces = len([token for token in tokens if token[:2] == "##" and token[2:].isalnum()])
    return 0 < n_pieces >= len(tokens) / 100


class WordPieces:
    """Splits words into word pieces.

    A term is normalised and split into words as by the tokenizer. Each word is split greedily into
    the longest word pieces of the vocabulary; all pieces except the first start with the prefix. A
    word that cannot be split has no pieces. *Unfathomable* may become *un ##fat ##hom ##able*.

    Schuster and Nakajima 2012, "Japanese and Korean Voice Search"; Devlin et al. 2019, "BERT".

    Parameters
    ----------
    tokens : sequence of str
        Token ``i`` has vector ``i``. Tokens in square brackets are special tokens and never match.
    tokenizer : mapping, default `BERT_UNCASED`
        ``normalizer`` and ``pre_tokenizer`` as in a Hugging Face ``tokenizer.json``. The latter is
        that of BERT.
    prefix : str, default "##"
        Prefix of all pieces of a word except the first.
    max_characters : int, default 100
        Longer words have no pieces.

    Raises
    ------
    InvalidInputError
        If the tokenizer has an unsupported step, a token is not a string, or `max_characters` is
        not a whole number.
    """

    words: tuple[str, ...]
    kind = "word_pieces"

    def __init__(
        self,
        tokens: Sequence[str],
        tokenizer: Mapping[str, Any] = BERT_UNCASED,
        *,
        prefix: str = "##",
        max_characters: int = 100,
    ) -> None:
        check_whole("max_characters", max_characters)
        self._tokenizer = {name: tokenizer.get(name) for name in ("normalizer", "pre_tokenizer")}
        self._normalize = _normalizer(self._tokenizer["normalizer"])
        kind = (self._tokenizer["pre_tokenizer"] or {}).get("type")
        if kind != "BertPreTokenizer":
            raise InvalidInputError(
                f"the tokenizer cuts text by {kind!r}; needed is BertPreTokenizer."
            )
        self._classes = _byte_classes(self._tokenizer["normalizer"] or {})
        self._table: tuple[Any, ...] | None = None
        self._prefix = prefix
        self._max_characters = max_characters
        self._tokens = tuple(checked_words(tokens))
        found: dict[str, int] = {}
        for number, token in enumerate(self._tokens):
            if token and not (token[0] == "[" and _SPECIAL.fullmatch(token)):
                found.setdefault(token, number)
        self._found = found
        # Suffix pieces without their prefix.
        suffixes = [token for token in found if token.startswith(prefix)]
        self._suffixes = {token[len(prefix) :]: found[token] for token in suffixes}
        self._longest = max(map(len, found), default=0)
        self.words = tuple(token for token in found if not prefix or not token.startswith(prefix))

    @classmethod
    def from_tokenizer(cls, tokenizer: Mapping[str, Any]) -> WordPieces:
        """Return the word pieces of a tokenizer, in the format of ``tokenizer.json``.

        Raises
        ------
        InvalidInputError
            If it is not a WordPiece tokenizer, has an unsupported step, or is damaged.
        """
        try:
            model = tokenizer["model"]
            kind = model.get("type") or "WordPiece"
            if kind != "WordPiece":
                raise InvalidInputError(
                    f"the tokenizer is of type {kind!s:.40}; needed is WordPiece."
                )
            prefix = model.get("continuing_subword_prefix", "##")
            if not isinstance(prefix, str):
                raise ValueError(f"continuing_subword_prefix is {prefix!r}")
            added = {token["id"]: token for token in tokenizer.get("added_tokens") or ()}
            n_tokens = 1 + max((*model["vocab"].values(), *added), default=-1)
            if n_tokens > _MOST_TOKENS:
                raise ValueError(f"a token has the number {n_tokens - 1}")
            tokens = [""] * n_tokens
            for token, number in model["vocab"].items():
                if not added.get(number, {}).get("special"):  # special tokens
                    tokens[number] = token
            return cls(
                tokens,
                tokenizer,
                prefix=prefix,
                max_characters=model.get("max_input_chars_per_word", 100),
            )
        except InvalidInputError:
            raise
        except (ValueError, KeyError, TypeError, AttributeError, IndexError, RecursionError) as e:
            raise InvalidInputError(f"not a readable tokenizer: {e!r:.200}") from None

    def only(self, numbers: NDArray[np.integer[Any]]) -> WordPieces:
        """Return some of the pieces, which get the numbers from 0 on."""
        return WordPieces([self._tokens[number] for number in numbers], **self.settings())

    @property
    def n_pieces(self) -> int:
        """Number of tokens."""
        return len(self._tokens)

    def marks(self) -> NDArray[np.int32]:
        """Return the tokens that consist of punctuation and symbols only, ascending."""
        marks = [
            number
            for token, number in self._found.items()
            if _is_mark_or_symbol(token[-1]) and all(map(_is_mark_or_symbol, token))
        ]
        return np.array(sorted(marks), np.int32)

    def texts(self) -> list[str]:
        """Return the text of each token: without the prefix, and "" for special tokens."""
        return [
            token.removeprefix(self._prefix) if token in self._found else ""
            for token in self._tokens
        ]

    def pieces(self, terms: Sequence[str]) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
        """Return the tokens of each term: those of term ``i`` at ``indptr[i]:indptr[i + 1]``."""
        words = StringTable(_CLASSES if self._classes is None else self._classes)
        numbers, lengths = words.number([self._cuttable(term) for term in terms])
        starts, most = words.starts[: len(words) + 1], min(self._max_characters, len(words.arena))
        found = np.empty(starts[-1], np.int32)
        bounds = np.empty(len(starts), np.int64)
        split_words(words.arena, starts, most, *self._tokens_by_hash(), found, bounds)
        of_terms = np.empty(int(np.diff(bounds)[numbers].sum()), np.int32)
        indptr = np.empty(len(terms) + 1, np.int64)
        expand(numbers, running_sum(lengths), bounds, found, of_terms, indptr)
        return indptr, of_terms

    def _tokens_by_hash(self) -> tuple[Any, ...]:
        """Return the tokens as `split_words` takes them: hash table, numbers, most bytes of one."""
        if self._table is None:
            keys = [_utf8(token) for token in self._found]
            keys += [b"\xfe" + _utf8(suffix) for suffix in self._suffixes]
            table = StringTable(_CLASSES)
            table.number(keys)
            numbers = np.array([*self._found.values(), *self._suffixes.values()], np.int32)
            longest = max(map(len, keys), default=0)
            self._table = table.slots, table.starts, table.arena, numbers, longest
        return self._table

    def _cuttable(self, text: str) -> bytes:
        """Return a text whose words are between bytes that separate, or separate bytes."""
        if self._classes is None:
            return b"\xff".join(map(_utf8, self.split(text)))
        data = _utf8(text)
        if not data.translate(None, _PLAIN):
            return data
        words = (
            word if word.isascii() and word.isprintable() else " ".join(self.split(word))
            for word in _SPACES.split(text)
        )
        return _utf8(" ".join(words))

    def split(self, text: str) -> list[str]:
        """Return the words of a text, normalised; a punctuation mark can be a word."""
        return _words_and_marks(self._normalize(text))

    def numbers(self, word: str) -> list[int]:
        """Return the tokens of one of the words that `split` returns."""
        length = len(word)
        if length > self._max_characters:
            return []
        numbers: list[int] = []
        start, found = 0, self._found
        while start < length:
            for stop in range(min(length, start + self._longest), start, -1):
                number = found.get(word[start:stop])
                if number is not None:
                    break
            else:
                return []
            numbers.append(number)
            start, found = stop, self._suffixes
        return numbers

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the tokens as arrays."""
        blob, offsets = pack_strings(self._tokens)
        return {"words": blob, "word_offsets": offsets}

    def settings(self) -> dict[str, Any]:
        """Return the other settings as JSON types."""
        return {
            "tokenizer": self._tokenizer,
            "prefix": self._prefix,
            "max_characters": self._max_characters,
        }

    def __reduce__(self) -> tuple[Any, ...]:
        return WordPieces.from_state, (self.settings(), self.arrays())  # functions are not pickled

    @classmethod
    def from_state(
        cls, settings: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]
    ) -> WordPieces:
        """Return the word pieces from the results of `settings` and `arrays`."""
        return cls(unpack_strings(arrays["words"], arrays["word_offsets"]), **settings)


def _utf8(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _byte_classes(normalizer: Mapping[str, Any]) -> NDArray[np.uint8] | None:
    """Return the classes of bytes by which BERT's tokenizers split ASCII text; None for others.

    What they do with a word between spaces does not depend on other words.
    """
    if normalizer.get("type") != "BertNormalizer":
        return None
    classes = _CLASSES.copy()
    classes[[*b" \t\n\r"]] = 0
    classes[[*map(ord, _PUNCTUATION)]] = 1
    if normalizer.get("lowercase", True):
        classes[ord("A") : ord("Z") + 1] += 32
    return classes


def _normalizer(step: Mapping[str, Any] | None) -> Callable[[str], str]:
    """Return the normalisation function of a tokenizer."""
    if step is None:
        return lambda text: text
    name = step.get("type")
    if name == "Sequence":
        steps = [_normalizer(inner) for inner in step["normalizers"]]

        def in_turn(text: str) -> str:
            for change in steps:
                text = change(text)
            return text

        return in_turn
    if name == "BertNormalizer":
        return _bert_normalizer(step)
    if name in ("NFC", "NFD", "NFKC", "NFKD"):
        return lambda text: unicodedata.normalize(name, text)
    simple = {"Lowercase": str.lower, "StripAccents": _without_marks}
    if name not in simple:
        raise InvalidInputError(
            f"the tokenizer normalises text by {name!r}, which is not known here; needed is one of "
            "BertNormalizer, Lowercase, StripAccents, NFC, NFD, NFKC, NFKD, or a Sequence of them."
        )
    return simple[name]


def _bert_normalizer(step: Mapping[str, Any]) -> Callable[[str], str]:
    lowercase = step.get("lowercase", True)
    strip = step.get("strip_accents")
    strip = lowercase if strip is None else strip
    clean = step.get("clean_text", True)
    chinese = step.get("handle_chinese_chars", True)

    def normalize(text: str) -> str:
        if text.isascii() and text.isprintable():
            return text.lower() if lowercase else text
        if clean:
            if text.isascii():
                text = text.translate(_ASCII_CLEANED)
            else:
                text = "".join(map(_cleaned, text))
        if not text.isascii():
            if chinese:
                text = _CJK.sub(r" \1 ", text)
            if strip:
                text = _without_marks(unicodedata.normalize("NFD", text))
        return text.lower() if lowercase else text

    return normalize


def _cleaned(character: str) -> str:
    """Return a space for white space, nothing for a control character, else the character."""
    if character in "\t\n\r":
        return " "
    if unicodedata.category(character) in ("Cc", "Cf", "Co") or character == "\ufffd":
        return ""
    return " " if character.isspace() else character


_ASCII_CLEANED = {code: _cleaned(chr(code)) for code in range(128) if not chr(code).isprintable()}


def _without_marks(text: str) -> str:
    return "".join(c for c in text if unicodedata.category(c) != "Mn")


def _words_and_marks(text: str) -> list[str]:
    """Split at white space, and around every punctuation mark."""
    if text.isalnum():
        return [text]
    if text.isascii():
        return _ASCII_WORDS_AND_MARKS.findall(text)
    parts: list[str] = []
    for word in text.split():
        if word.isalnum():
            parts.append(word)
        else:
            parts += _around_marks(word)
    return parts


def _around_marks(text: str) -> list[str]:
    parts: list[str] = []
    begun = False
    for character in text:
        mark = character in _PUNCTUATION or unicodedata.category(character).startswith("P")
        if mark or not begun:
            parts.append(character)
        else:
            parts[-1] += character
        begun = not mark
    return parts


def _is_mark_or_symbol(character: str) -> bool:
    return unicodedata.category(character)[0] in "PS"
