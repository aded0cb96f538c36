"""From a text to its terms: words, without stop words, stemmed, joined into n-grams."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from functools import cache
from typing import Any, Self

from softcosine._validation import check_choice, check_list, check_type, check_whole
from softcosine.errors import InvalidInputError
from softcosine.text.segmenters import SEGMENTERS, has_segmenter, segmenter_for
from softcosine.text.stop_words import ENGLISH, stop_word_lists
from softcosine.text.words import Segmenter, Span, find_words, normalize, word_spans

__all__ = ["Analyzer", "checked_analyzer", "languages"]

# Raised when a rule of words.py or of this file changes what a text's terms are.
_RULES = 1
_DIGIT = re.compile(r"\d")
_NO_LANGUAGES = {"porter", "dutch_porter"}  # other algorithms for English and Dutch
_STEMMED_AS = {"croatian": "serbian"}  # one algorithm, made for both
_MAX_NGRAM = 64  # a text of n words has n n-grams of each size, the longer the larger


@dataclass(frozen=True, slots=True)
class Analyzer:
    """The rules by which texts become terms, the same for documents and queries.

    In this order: words (the rules stand in `softcosine.text.words`), then `min_length` and
    `stop_words`, then stemming, then n-grams of neighbours among what is left.

    Parameters
    ----------
    stemmer : str, optional
        A Snowball algorithm such as ``"english"`` or ``"german"``. Words with a digit are never
        stemmed. By default words stay as they are.
    stop_words : str or collection of str, optional
        Words to leave out: a language such as ``"english"``, or any words. They are normalised as
        texts are, and compared with words before stemming. By default none.
    max_ngram : int, optional
        Terms of up to so many successive words, joined by a space; at most 64. By default 1.
    min_length : int, optional
        Words of fewer characters are left out. By default 1; 2 also leaves out single ideographs.
    segmenter : {"chinese", "japanese"}, optional
        What cuts text without spaces into words; it needs the extra of that name. By default such
        text is cut into overlapping pairs of characters.
    phrases : collection of str, optional
        Several words each; where they stand one after the other, in any forms, they are a term
        too, joined by spaces, though `max_ngram` is less. Kept as their words, sorted; phrases of
        which fewer than two words are left are none.

    Raises
    ------
    InvalidInputError
        If a setting is not one of those above.
    MissingDependencyError
        If the segmenter is not installed.

    See Also
    --------
    Analyzer.for_language : all that is made for a language, by its name.

    Examples
    --------
    >>> Analyzer("english", stop_words="english").terms("The tyres of the dogs' e-bikes, 3.11")
    ['tyre', 'dog', 'e', 'bike', '3.11']
    >>> Analyzer("english", phrases=["disk space"]).terms("No space on disks, low disk space")
    ['no', 'space', 'on', 'disk', 'low', 'disk', 'disk space', 'space']
    """

    stemmer: str | None = None
    _: KW_ONLY
    stop_words: str | Collection[str] | None = None
    max_ngram: int = 1
    min_length: int = 1
    segmenter: str | None = None
    phrases: Collection[str] = ()
    _stemmed: frozenset[tuple[str, ...]] = field(init=False, repr=False, compare=False)
    _longest: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        check_choice("stemmer", self.stemmer, _algorithms(), optional=True)
        for name in ("max_ngram", "min_length"):
            value = getattr(self, name)
            check_whole(name, value, most=_MAX_NGRAM if name == "max_ngram" else None)
            object.__setattr__(self, name, int(value))  # it is written as JSON
        object.__setattr__(self, "stop_words", _stop_words(self.stop_words))
        if self.segmenter is not None:
            check_choice("segmenter", self.segmenter, SEGMENTERS)
            segmenter_for(self.segmenter)
        phrases = [self.kept(phrase) for phrase in _strings("phrases", self.phrases)]
        several = sorted({" ".join(words) for words in phrases if len(words) > 1})
        stemmed = frozenset(tuple(self.stem(phrase.split(" "))) for phrase in several)
        object.__setattr__(self, "phrases", tuple(several))
        object.__setattr__(self, "_stemmed", stemmed)
        longest = max(self.max_ngram, max(map(len, stemmed), default=1))
        object.__setattr__(self, "_longest", longest)

    @classmethod
    def for_language(cls, language: str, **settings: Any) -> Self:
        """Return the analyzer for texts of a language.

        Parameters
        ----------
        language : str
            One of `languages`, in lower case, or ``"none"``. It chooses the stemmer, if Snowball
            has one, and the segmenter, if there is one and it is installed.
        **settings
            Of the analyzer, in place of these or beside them. Stop words stay where none are
            given.

        Raises
        ------
        InvalidInputError
            If there is no such language, or a setting is invalid.

        Examples
        --------
        >>> Analyzer.for_language("german").terms("die Häuser und die Bäume")
        ['die', 'haus', 'und', 'die', 'baum']
        >>> Analyzer.for_language("german", stop_words="german").terms("die Häuser und die Bäume")
        ['haus', 'baum']
        """
        if language == "none":
            return cls(**settings)
        if language not in languages():
            raise InvalidInputError(
                f"there is no language {language!r}; choose one of {', '.join(languages())}, or "
                "none."
            )
        stemmer = _STEMMED_AS.get(language, language)
        chosen = {
            "stemmer": stemmer if stemmer in _algorithms() else None,
            "segmenter": language if has_segmenter(language) else None,
        }
        return cls(**{**chosen, **settings})

    @property
    def cut(self) -> Segmenter | None:
        """What cuts text without spaces; None for pairs of characters."""
        return None if self.segmenter is None else segmenter_for(self.segmenter)

    def words(self, text: str) -> list[str]:
        """Return the normalised words of a text, in running order, none left out.

        Parameters
        ----------
        text : str

        Returns
        -------
        list of str

        Raises
        ------
        InvalidInputError
            If `text` is not a string.

        Examples
        --------
        >>> Analyzer().words("Don't panic: see E1042, C++ 3.11 & 東京都")
        ["don't", 'panic', 'see', 'e1042', 'c++', '3.11', '東京', '京都']
        """
        return find_words(normalize(_checked_text(text)), self.cut)

    def spans(self, text: str) -> list[Span]:
        """Return the words of a text and where they stand in it, for snippets.

        Parameters
        ----------
        text : str

        Returns
        -------
        list of Span
            In running order; their words are ``words(text)``. The offsets count characters of
            `text` as given, whatever normalising did to its length.

        Raises
        ------
        InvalidInputError
            If `text` is not a string.

        Examples
        --------
        >>> [(span.start, span.end, span.word) for span in Analyzer().spans("ﬁne Straße")]
        [(0, 3, 'fine'), (4, 10, 'strasse')]
        """
        return word_spans(_checked_text(text), self.cut)

    def terms(self, document: str | Sequence[str]) -> list[str]:
        """Return the terms of one document or query, in running order.

        The plain statement of the rules, and quick enough for queries; `softcosine.analyze`
        gives the same for whole corpora, faster.

        Parameters
        ----------
        document : str or sequence of str
            A text, or the tokens of one. Tokens are taken as they are, neither cut nor
            normalised, but stop words, `min_length`, stemming and n-grams apply to them.

        Returns
        -------
        list of str
            After each word the n-grams that begin with it, the shorter first.

        Raises
        ------
        InvalidInputError
            If `document` is neither, or a token is not a string.
        """
        return self.joined(self.stem(self.kept(document)))

    def kept(self, document: str | Sequence[str]) -> list[str]:
        """Return the words of one document or query that count, in running order, not stemmed.

        Parameters
        ----------
        document : str or sequence of str
            As for `terms`, which are these words stemmed and then `joined`.
        """
        words = self.words(document) if isinstance(document, str) else _checked_tokens(document)
        return list(filter(self.keeps, words))

    def joined(self, stems: Sequence[str]) -> list[str]:
        """Return the terms of successive stems: after each the n-grams that begin with it."""
        if self._longest == 1:
            return list(stems)
        return [" ".join(stems[start:end]) for start, end in self.ranges(stems)]

    def ranges(self, stems: Sequence[str]) -> list[tuple[int, int]]:
        """Return where the terms that are `joined` from successive stems begin and end."""
        return [
            (start, end)
            for start in range(len(stems))
            for end in range(start + 1, min(start + self._longest, len(stems)) + 1)
            if end - start <= self.max_ngram or tuple(stems[start:end]) in self._stemmed
        ]

    @property
    def longest(self) -> int:
        """The most words that a term may have."""
        return self._longest

    @property
    def stemmed_phrases(self) -> frozenset[tuple[str, ...]]:
        """The stems of each phrase."""
        return self._stemmed

    def with_phrases(self, phrases: Iterable[str]) -> Analyzer:
        """Return the analyzer with further phrases; single words among them are left out."""
        found = replace(self, phrases=(*self.phrases, *phrases))
        return self if found == self else found

    def keeps(self, word: str) -> bool:
        """Whether a word is long enough and no stop word."""
        return len(word) >= self.min_length and word not in (self.stop_words or ())

    def stem(self, words: Sequence[str]) -> list[str]:
        """Return the stem of each word.

        Parameters
        ----------
        words : sequence of str
            Normalised words.

        Returns
        -------
        list of str
            As long as `words`, which it equals when there is no stemmer. Words with a digit, and
            words with a lone surrogate, are their own stems.
        """
        if self.stemmer is None:
            return list(words)
        from Stemmer import Stemmer

        # A fresh stemmer costs less than a microsecond, and one must not serve two threads.
        algorithm = Stemmer(self.stemmer, 0)
        try:
            stems = algorithm.stemWords(words)
        except UnicodeEncodeError:
            stems = [
                word if any("\ud800" <= c <= "\udfff" for c in word) else algorithm.stemWord(word)
                for word in words
            ]
        return [
            word if not stem or _DIGIT.search(word) else stem
            for word, stem in zip(words, stems, strict=True)
        ]

    def to_dict(self) -> dict[str, Any]:
        """Return the settings in JSON's types, for storing beside an index."""
        return {
            "rules": _RULES,
            "stemmer": self.stemmer,
            "stop_words": sorted(self.stop_words or ()),
            "max_ngram": self.max_ngram,
            "min_length": self.min_length,
            "segmenter": self.segmenter,
            **({"phrases": list(self.phrases)} if self.phrases else {}),
        }

    @classmethod
    def from_dict(cls, settings: Mapping[str, Any]) -> Analyzer:
        """Return the analyzer whose `to_dict` gave these settings.

        Parameters
        ----------
        settings : mapping

        Raises
        ------
        InvalidInputError
            If a setting is missing, unknown or invalid, or the rules are those of another version
            of this library.
        """
        values = dict(settings)
        rules = values.pop("rules", None)
        if rules != _RULES:
            raise InvalidInputError(
                f"these settings follow version {rules!r} of the analyzer's rules, and this is "
                f"version {_RULES}; analyze the texts again with this version."
            )
        expected = {"stemmer", "stop_words", "max_ngram", "min_length"}
        if values.keys() - {"segmenter", "phrases"} != expected:  # which are not always there
            raise InvalidInputError(
                f"an analyzer has the settings {sorted(expected)}, but these are {sorted(values)}; "
                "pass what Analyzer.to_dict gave."
            )
        return cls(**values)


@cache
def languages() -> tuple[str, ...]:
    """Return the languages that there is a stemmer, a list of stop words or a segmenter for."""
    stemmed = set(_algorithms()) - _NO_LANGUAGES
    return tuple(sorted({*stemmed, *stop_word_lists(), *SEGMENTERS, "korean", "thai"}))


@cache
def _algorithms() -> tuple[str, ...]:
    from Stemmer import algorithms

    return tuple(sorted(algorithms()))


def _stop_words(given: str | Iterable[str] | None) -> frozenset[str]:
    if given is None:
        return frozenset()
    if isinstance(given, str):
        if given == "english":
            return ENGLISH  # without reading the others
        if given not in stop_word_lists():
            raise InvalidInputError(
                f"there is no list of stop words named {given!r}; choose one of "
                f"{', '.join(stop_word_lists())}, or pass the words themselves in a list."
            )
        return stop_word_lists()[given]
    return frozenset(map(normalize, _strings("stop_words", given)))


def _strings(name: str, given: Any) -> list[str]:
    check_list(name, given)
    strings = list(given)
    for string in strings:
        if not isinstance(string, str):
            raise InvalidInputError(f"{string!r} among {name} is no string; pass strings only.")
    return strings


def _checked_text(text: str) -> str:
    if not isinstance(text, str):
        raise InvalidInputError(f"the text is {describe(text)}; pass a string.")
    return text


def _checked_tokens(tokens: Sequence[str]) -> list[str]:
    if not is_token_list(tokens):
        raise InvalidInputError(
            f"the document is {describe(tokens)}; pass a string or a list of tokens."
        )
    checked = list(tokens)
    for position, token in enumerate(checked):
        if not isinstance(token, str):
            raise InvalidInputError(
                f"token {position} of the document is {describe(token)}; pass strings only."
            )
    return checked


def is_token_list(document: object) -> bool:
    """Whether a document has the type of a list of tokens: a list, a tuple or an array."""
    return isinstance(document, list | tuple) or (
        hasattr(document, "__array__") and getattr(document, "ndim", 0) == 1
    )


def checked_analyzer(analyzer: Analyzer) -> Analyzer:
    """Return the analyzer; InvalidInputError says how to make one."""
    check_type("the analyzer", analyzer, Analyzer, "pass an Analyzer, such as Analyzer('english')")
    return analyzer


def describe(value: object) -> str:
    """Say briefly what was given in place of a text."""
    if value is None:
        return "None"
    if isinstance(value, bytes | bytearray):
        return "bytes; decode them first, as in data.decode('utf-8')"
    if isinstance(value, float) and value != value:
        return "the number nan (a missing value?)"
    return f"of type {type(value).__name__}"


def shortened(text: str) -> str:
    """Return a text quoted for a message, a long one cut."""
    return repr(text if len(text) <= 80 else f"{text[:79]}…")
