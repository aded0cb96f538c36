"""The words of the bundled English table, from sources that may be passed on.

Three sources, in this order: the whole words of the encoder's own WordPiece vocabulary, the
words of the Unicode symbols' names, and WordNet's lemmas with their inflected forms, most
familiar first.  No other corpus or word list is read.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

from wordnet_files import (
    Synset,
    read_exceptions,
    read_synsets,
    read_tag_counts,
    with_ed,
    with_ing,
    with_s,
)

_WORD = re.compile(r"[a-z]+")
_SYMBOL_CATEGORIES = {"Sc", "Sk", "Sm", "So"}
_ENDS_LIKE_A_PLURAL = re.compile(r"[^sui]s$")
_UNCOUNTABLE = ("ness", "ism", "ics", "ing", "ity", "ess", "age", "ship", "hood")
MAX_LENGTH = 24


def is_word(text: str) -> bool:
    """Whether the text is one lower-case word of ASCII letters, of bearable length."""
    return _WORD.fullmatch(text) is not None and len(text) <= MAX_LENGTH


def wordpiece_words(vocabulary: Path) -> list[str]:
    """Whole words of a WordPiece ``vocab.txt``, in its order (by falling frequency)."""
    return [token for token in vocabulary.read_text("utf-8").split("\n") if is_word(token)]


def symbol_name_words() -> list[str]:
    """Words in the names of the symbols of this Python's Unicode database, sorted."""
    words: set[str] = set()
    for code in range(0x110000):
        if unicodedata.category(chr(code)) in _SYMBOL_CATEGORIES:
            words.update(_WORD.findall(unicodedata.name(chr(code), "").lower()))
    return sorted(word for word in words if is_word(word))


def wordnet_words(folder: Path) -> list[str]:
    """Lemmas of WordNet and their inflected forms, most familiar first.

    A lemma scores its occurrences in WordNet's glosses and in the sense-tagged texts, an
    inflected form its own in the glosses and a tenth of its lemma's as that part of speech.
    Lemmas never met follow by the number of their synsets and pointers, names and other
    capitalised words last.  A form not met in the glosses needs a lemma met ten times, and
    abstract nouns (-ness, -ism, ...) get no plural then.
    """
    synsets = list(read_synsets(folder))
    gloss_counts = Counter(
        word for synset in synsets for word in re.findall(r"[a-z]+", synset.gloss.lower())
    )
    tag_counts = read_tag_counts(folder)
    lemmas = lemmas_of(synsets)
    scores: dict[str, float] = {}
    occurrences: dict[tuple[str, str], float] = {}
    for lemma, (familiarity, parts) in lemmas.items():
        tagged = {part: tag_counts[lemma, part] for part in parts}
        scores[lemma] = familiarity + gloss_counts[lemma] + sum(tagged.values())
        for part, n_tagged in tagged.items():
            share = n_tagged / sum(tagged.values()) if any(tagged.values()) else 1 / len(parts)
            occurrences[lemma, part] = n_tagged + share * gloss_counts[lemma]
    for form, lemma, part in inflections(folder, lemmas):
        if form not in lemmas and is_word(form):
            inherited = occurrences[lemma, part] / 10
            attested = gloss_counts[form] > 0
            likely = inherited >= 1 and not (part == "n" and lemma.endswith(_UNCOUNTABLE))
            if attested or likely:
                scores[form] = max(scores.get(form, 0.0), gloss_counts[form] + inherited)
    return sorted(scores, key=lambda word: (-scores[word], word))


def lemmas_of(synsets: Iterable[Synset]) -> dict[str, tuple[float, frozenset[str]]]:
    """Of every one-word lemma a familiarity below 1, and its parts of speech."""
    links: Counter[str] = Counter()
    parts: dict[str, set[str]] = {}
    common: set[str] = set()
    for synset in synsets:
        for word in synset.words:
            lemma = word.lower()
            if is_word(lemma):
                links[lemma] += 2 + len(synset.pointers)
                parts.setdefault(lemma, set()).add(synset.part)
                if word == lemma:
                    common.add(lemma)
    return {
        lemma: (
            (1.0 if lemma in common else 0.1) * count / (count + 20),
            frozenset(parts[lemma]) if lemma in common else frozenset(),
        )
        for lemma, count in links.items()
    }


def inflections(
    folder: Path, lemmas: dict[str, tuple[float, frozenset[str]]]
) -> Iterator[tuple[str, str, str]]:
    """Triples (form, lemma, part of speech): the exception lists' forms, else by rule."""
    for part in "nva":
        irregular = read_exceptions(folder, part)
        for lemma in sorted(lemmas):
            if part not in lemmas[lemma][1] or len(lemma) < 3:
                continue
            for form in irregular.get(lemma, ()):
                yield form, lemma, part
            countable = lemma not in irregular and not _ENDS_LIKE_A_PLURAL.search(lemma)
            if part == "v" or (part == "n" and countable):
                yield with_s(lemma), lemma, part
            if part == "v":
                yield with_ing(lemma), lemma, part
                if lemma not in irregular:
                    yield with_ed(lemma), lemma, part
