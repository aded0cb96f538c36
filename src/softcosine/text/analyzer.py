"""The analyzer: a text becomes words, without stop words, stemmed, and n-grams of them."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from functools import cache
from itertools import chain
from typing import Any, Self

from softcosine._validation import check_choice, check_list, check_type, check_whole
from softcosine.errors import InvalidInputError
from softcosine.text.segmenters import SEGMENTERS, has_segmenter, segmenter_for
from softcosine.text.stop_words import ENGLISH, stop_word_lists
from softcosine.text.words import (
    JOINED,
    Segmenter,
    Span,
    find_words,
    korean_stem,
    normalize,
    word_spans,
)

# Versions of the rules, without joints and with; increase them when a change of words.py or of this
# file changes the terms of a text.
_RULES = {1: False, 2: True}
_DIGIT = re.compile(r"\d")
_NO_LANGUAGES = {"porter", "dutch_porter"}  # algorithms for English and Dutch, not languages
_STEMMED_AS = {"croatian": "serbian"}  # one algorithm for both languages
_MAX_NGRAM = 64  # a text of n words has about n n-grams of each size


@dataclass(frozen=True, slots=True)
class Analyzer:
    r"""Rules that turn a text into terms, the same for documents and queries.

    The steps, in this order: split into words (rules in `softcosine.text.words`), remove words by
    `min_length` and `stop_words`, stem, add n-grams of the remaining words.

    Parameters
    ----------
    stemmer : str, optional
        A Snowball algorithm such as ``"english"`` or ``"german"``, which leaves words with a digit
        as they are, or ``"korean"`` (particles and common endings fall off). By default nothing is
        stemmed.
    stop_words : str or collection of str, optional
        Words to remove: a language such as ``"english"``, or a collection of words. They are
        normalised like texts, and compared with words before stemming. By default none.
    max_ngram : int, optional
        Greatest number of consecutive words in an n-gram; at most 64. The words are joined by a
        space. By default 1.
    min_length : int, optional
        Shorter words are removed. By default 1; 2 also removes single ideographs.
    segmenter : {"chinese", "japanese"}, optional
        Segmenter for text without spaces; it needs the extra of the same name. By default such text
        is split into overlapping character pairs.
    phrases : collection of str, optional
        Multi-word terms. Where the words of a phrase are consecutive, in any form, they make a term
        too, joined by spaces, even if `max_ngram` is smaller. Stored analyzed and sorted; a phrase
        with fewer than two remaining words is dropped.
    lemmas : mapping of str to str, optional
        The stems of some words, such as ``{"went": "go"}``; other words are stemmed by `stemmer`
        (Lucene: stemmer override). Stored as sorted pairs.
    joints : bool, optional
        Whether words with joints between them make one term, too: ``anti-slip`` is *anti*, *slip*
        and *antislip* (Lucene: word delimiter graph), which begins with a word joiner. Without it,
        the terms are those of indexes made before. By default True.

    Attributes
    ----------
    stemmed_phrases : frozenset of tuple of str
        The stems of each phrase.
    longest : int
        The greatest number of words in a term.

    Raises
    ------
    InvalidInputError
        If a setting is not one of those above.
    MissingDependencyError
        If the segmenter is not installed.

    See Also
    --------
    Analyzer.for_language : the analyzer of a language, by its name.

    Examples
    --------
    >>> Analyzer("english", stop_words="english").terms("The tyres of the dogs' e-bikes, 3.11")
    ['tyre', 'dog', 'e', 'bike', '\u2060ebik', '3.11']
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
    lemmas: Mapping[str, str] | Iterable[tuple[str, str]] = ()
    joints: bool = True
    _lemma_of: dict[str, str] = field(init=False, repr=False, compare=False)
    stemmed_phrases: frozenset[tuple[str, ...]] = field(init=False, repr=False, compare=False)
    longest: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        check_choice("stemmer", self.stemmer, stemmers(), optional=True)
        for name in ("max_ngram", "min_length"):
            value = getattr(self, name)
            check_whole(name, value, most=_MAX_NGRAM if name == "max_ngram" else None)
            object.__setattr__(self, name, int(value))  # JSON needs a Python int
        object.__setattr__(self, "stop_words", _stop_words(self.stop_words))
        if self.segmenter is not None:
            check_choice("segmenter", self.segmenter, SEGMENTERS)
            segmenter_for(self.segmenter)
        lemma_of = self._lemmas()
        object.__setattr__(self, "_lemma_of", lemma_of)
        object.__setattr__(self, "lemmas", tuple(sorted(lemma_of.items())))
        phrases = [self.kept(phrase) for phrase in _strings("phrases", self.phrases)]
        several = sorted({" ".join(words) for words in phrases if len(words) > 1})
        stemmed = frozenset(tuple(self.stem(phrase.split(" "))) for phrase in several)
        object.__setattr__(self, "phrases", tuple(several))
        object.__setattr__(self, "stemmed_phrases", stemmed)
        longest = max(self.max_ngram, max(map(len, stemmed), default=1))
        object.__setattr__(self, "longest", longest)

    @classmethod
    def for_language(cls, language: str, **settings: Any) -> Self:
        """Return the analyzer for a language.

        Parameters
        ----------
        language : str
            One of `languages`, in lower case, or ``"none"``. It sets the stemmer, if Snowball has
            one, and the segmenter, if there is one and it is installed. It sets no stop words.
            Several, as in ``"english+german"``, have no stemmer.
        **settings
            Further settings of the analyzer; they take precedence.

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
        names = [] if language == "none" else language.split("+")
        for name in names:
            if name not in languages():
                raise InvalidInputError(
                    f"there is no language {name!r}; choose one of {', '.join(languages())}, or "
                    "none."
                )
        stemmer = _STEMMED_AS.get(language, language)
        chosen = {
            "stemmer": stemmer if stemmer in stemmers() else None,
            "segmenter": next(filter(has_segmenter, names), None),
        }
        return cls(**{**chosen, **settings})

    def _lemmas(self) -> dict[str, str]:
        """Return the checked and normalised lemmas."""
        given = self.lemmas
        check_type("lemmas", given, Iterable, "pass a mapping of words to words")
        found: dict[str, str] = {}
        for pair in given.items() if isinstance(given, Mapping) else given:
            words = [self.words(word) for word in pair]
            if len(words) != 2 or any(len(parts) != 1 for parts in words):
                raise InvalidInputError(
                    f"lemmas have the entry {pair!r}; pass a mapping of single words to single "
                    "words."
                )
            found[words[0][0]] = words[1][0]
        return found

    @property
    def stems(self) -> bool:
        """Whether terms can differ from their words: there is a stemmer, or there are lemmas."""
        return self.stemmer is not None or bool(self._lemma_of)

    @property
    def cut(self) -> Segmenter | None:
        """The segmenter for text without spaces; None for character pairs."""
        return None if self.segmenter is None else segmenter_for(self.segmenter)

    def words(self, text: str) -> list[str]:
        """Return all normalised words of a text, in text order.

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
        """Return the words of a text with their offsets, for snippets.

        Returns
        -------
        list of Span
            In text order; their words are ``words(text)``. Offsets count characters of the original
            `text`, not of the normalised one.

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
        """Return the terms of one document or query, in text order.

        This is the reference implementation, fast enough for queries; `softcosine.analyze` returns
        the same terms for whole corpora, faster.

        Parameters
        ----------
        document : str or sequence of str
            A text, or its tokens. Tokens are neither split nor normalised; stop words,
            `min_length`, stemming and n-grams apply to them.

        Returns
        -------
        list of str
            Each word is followed by the n-grams that start with it, the shortest first. What joints
            make of words comes after the last of them.

        Raises
        ------
        InvalidInputError
            If `document` is neither, or a token is not a string.
        """
        return [term for term, _ in self.terms_and_words(document)]

    def terms_and_words(self, document: str | Sequence[str]) -> list[tuple[str, str]]:
        """Return the terms of one document or query with the words that they are made of."""
        words = self.kept(document, joints=self.joints)
        running = [place for place, word in enumerate(words) if not word.startswith(JOINED)]
        stems = self.stem(words)
        terms = [[(stem, str(word))] for stem, word in zip(stems, words, strict=True)]
        own = [stems[place] for place in running]
        for start, end in self.ranges(own):
            if end - start > 1:
                of_ngram = " ".join([words[place] for place in running[start:end]])
                terms[running[start]].append((" ".join(own[start:end]), of_ngram))
        return [*chain.from_iterable(terms)]

    def kept(self, document: str | Sequence[str], *, joints: bool = False) -> list[str]:
        """Return the words of one document or query that are not removed, before stemming.

        Parameters
        ----------
        document : str or sequence of str
            As for `terms`.
        joints : bool
            Whether each joined word follows its parts.
        """
        if isinstance(document, str):
            words = find_words(normalize(document), self.cut, joints=joints)
        else:
            words = checked_tokens(document)
        return list(filter(self.keeps, words))

    def ranges(self, stems: Sequence[str]) -> list[tuple[int, int]]:
        """Return start and end of each stem and n-gram of consecutive stems."""
        if self.longest == 1:
            return list(enumerate(range(1, len(stems) + 1)))
        return [
            (start, end)
            for start in range(len(stems))
            for end in range(start + 1, min(start + self.longest, len(stems)) + 1)
            if end - start <= self.max_ngram or tuple(stems[start:end]) in self.stemmed_phrases
        ]

    def with_phrases(self, phrases: Iterable[str]) -> Analyzer:
        """Return the analyzer with further phrases; single words are ignored."""
        found = replace(self, phrases=(*self.phrases, *phrases))
        return self if found == self else found

    def keeps(self, word: str) -> bool:
        """Whether a word is long enough and not a stop word."""
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
            One stem per word: its lemma, if it has one. Other words with a digit (but for Korean)
            or a lone surrogate are their own stems, as are all other words without a stemmer.
        """
        stems = list(words) if self.stemmer is None else _stemmed_by(self.stemmer, words)
        if not self._lemma_of:
            return stems
        return [self._lemma_of.get(word, stem) for word, stem in zip(words, stems, strict=True)]

    def to_dict(self) -> dict[str, Any]:
        """Return the settings as JSON types, for storage with an index."""
        return {
            "rules": 1 + self.joints,
            "stemmer": self.stemmer,
            "stop_words": sorted(self.stop_words or ()),
            "max_ngram": self.max_ngram,
            "min_length": self.min_length,
            "segmenter": self.segmenter,
            **({"phrases": list(self.phrases)} if self.phrases else {}),
            **({"lemmas": self._lemma_of} if self._lemma_of else {}),
        }

    @classmethod
    def from_dict(cls, settings: Mapping[str, Any]) -> Analyzer:
        """Return the analyzer with the settings that `to_dict` returned.

        Raises
        ------
        InvalidInputError
            If a setting is missing, unknown or invalid, or the settings are from a library version
            with other rules.
        """
        values = dict(settings)
        rules = values.pop("rules", None)
        if rules not in _RULES:
            raise InvalidInputError(
                f"these settings follow version {rules!r} of the analyzer's rules, and this is "
                f"version {max(_RULES)}; analyze the texts again with this version."
            )
        expected = {"stemmer", "stop_words", "max_ngram", "min_length"}
        if values.keys() - {"segmenter", "phrases", "lemmas"} != expected:  # optional packages
            raise InvalidInputError(
                f"an analyzer has the settings {sorted(expected)}, but these are {sorted(values)}; "
                "pass what Analyzer.to_dict gave."
            )
        return cls(**values, joints=_RULES[rules])


@cache
def languages() -> tuple[str, ...]:
    """Return the languages with a stemmer, a list of stop words or a segmenter."""
    stemmed = set(stemmers()) - _NO_LANGUAGES
    return tuple(sorted({*stemmed, *stop_word_lists(), *SEGMENTERS, "thai"}))


@cache
def stemmers() -> tuple[str, ...]:
    """Return the algorithms of Snowball, and Korean."""
    from Stemmer import algorithms

    return tuple(sorted((*algorithms(), "korean")))


def _stemmed_by(name: str, words: Sequence[str]) -> list[str]:
    if name == "korean":
        return list(map(korean_stem, words))
    from Stemmer import Stemmer

    # A stemmer is not thread-safe; a new one costs less than a microsecond.
    algorithm = Stemmer(name, 0)
    try:
        stems = algorithm.stemWords(words)
    except UnicodeEncodeError:
        stems = [
            word if any("\ud800" <= c <= "\udfff" for c in word) else algorithm.stemWord(word)
            for word in words
        ]
    return [
        word if stem == word or not stem or _DIGIT.search(word) else stem
        for word, stem in zip(words, stems, strict=True)
    ]


def _stop_words(given: str | Iterable[str] | None) -> frozenset[str]:
    if given is None:
        return frozenset()
    if isinstance(given, str):
        if given == "english":
            return ENGLISH  # without reading the lists
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


def checked_tokens(tokens: object, document: str = "the document") -> list[str]:
    """Return a document given as a list of tokens; `document` names it in messages."""
    if not is_token_list(tokens):
        raise InvalidInputError(
            f"{document} is {describe(tokens)}; pass a string or a list of tokens."
        )
    assert isinstance(tokens, Iterable)
    checked = list(tokens)
    if not set(map(type, checked)) <= {str}:
        for position, token in enumerate(checked):
            if not isinstance(token, str):
                raise InvalidInputError(
                    f"token {position} of {document} is {describe(token)}; tokens are strings."
                )
    return checked


def is_token_list(document: object) -> bool:
    """Whether a document is a list of tokens: a list, a tuple or an array."""
    return isinstance(document, list | tuple) or (
        hasattr(document, "__array__") and getattr(document, "ndim", 0) == 1
    )


def checked_analyzer(analyzer: Analyzer) -> Analyzer:
    """Return the analyzer; raise InvalidInputError if it is something else."""
    check_type("the analyzer", analyzer, Analyzer, "pass an Analyzer, such as Analyzer('english')")
    return analyzer


def describe(value: object) -> str:
    """Return a short description of a wrong argument, for messages."""
    if value is None:
        return "None"
    if isinstance(value, bytes | bytearray):
        return "bytes; decode them first, as in data.decode('utf-8')"
    if isinstance(value, float) and value != value:
        return "the number nan (a missing value?)"
    return f"of type {type(value).__name__}"


def shortened(text: str) -> str:
    """Return a quoted text for messages; a long text is truncated."""
    return repr(text if len(text) <= 80 else f"{text[:79]}…")
