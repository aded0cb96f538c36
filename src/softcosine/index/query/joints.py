"""Spellings of a query's words with other joints: apart, hyphenated or as one word.

``60 W`` is also ``60W``, ``KX9916`` is ``KX 9916``, ``e-mail`` is ``email``. The index has what
joints make of words (`softcosine.text.words`), so a query needs only such terms of the index.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterator, Sequence
from itertools import chain, combinations, islice, pairwise, product

from softcosine.text.analyzer import Analyzer, checked_tokens
from softcosine.text.vocabulary import Vocabulary
from softcosine.text.words import JOINED, LETTER, MOST_PARTS, Span, has_unspaced, is_joint

_ATOM = re.compile(r"\d+(?:\.\d+)*|[^\d.]+")
_LONGEST_TEXT = 10_000  # characters; of a longer one, such as a document, words are as written
_MOST_VARIANTS = 16  # of a phrase


class TermNumbers(dict[str, int]):
    """The numbers of terms, -1 for absent ones, each looked up once."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._vocabulary = vocabulary

    def __missing__(self, term: str) -> int:
        number = self[term] = self._vocabulary.get(term)
        return number

    def read(self, terms: Sequence[str]) -> None:
        """Look up terms together, which costs less."""
        self.update(zip(terms, self._vocabulary.indices(terms).tolist(), strict=True))


def units_of(
    text: str | Sequence[str],
    analyzer: Analyzer,
    numbers: TermNumbers,
    *,
    listed: Container[str] = (),
    phrase: bool = False,
) -> list[list[tuple[str, ...]]]:
    """Return the runs of words of a text that could be joined otherwise.

    Parameters
    ----------
    text : str, or sequence of str
        Tokens have no other joints.
    analyzer : Analyzer
    numbers : TermNumbers
    listed : container of str
        Further terms that count as indexed.
    phrase : bool
        Whether the words of a variant stand in a row. Then any two words, and single letters, can
        stand for a word; otherwise a joined word can.

    Returns
    -------
    list of list of tuple of str
        Of each run its words, then its other variants of which the index has every other word.
    """
    if not isinstance(text, str) or not analyzer.joints or len(text) > _LONGEST_TEXT:
        words = analyzer.words(text) if isinstance(text, str) else checked_tokens(text)
        return [[(word,)] for word in words]
    spans = analyzer.spans(text)
    ends = [i for i, pair in enumerate(pairwise(spans), 1) if not _could_join(text, *pair)]
    ends += [  # of a long run each number begins another
        i
        for first, stop in pairwise([0, *ends, len(spans)])
        if stop - first > MOST_PARTS
        for i in range(first + 1, stop)
        if spans[i].word[0].isdigit()
    ]
    bounds = pairwise(sorted({0, *ends, len(spans)}))
    runs = [tuple([span.word for span in spans[first:stop]]) for first, stop in bounds]
    units = [
        [run, (JOINED + run[0],)]  # what `_variants` gives, faster
        if len(run) == 1 and run[0].isalpha() and not phrase
        else list(dict.fromkeys(_variants(run, phrase=phrase)))
        for run in runs
    ]
    words = list({word: None for unit in units for one in unit for word in one})
    stems = analyzer.stem(words)
    numbers.read(stems)
    rows = zip(words, stems, strict=True)
    known = {word for word, stem in rows if numbers[stem] >= 0 or stem in listed}
    # Documents with the joined word of several words have these, too.
    known -= {JOINED + "".join(own) for own, *_ in units if len(own) > 1 and known.issuperset(own)}
    return [
        [own, *[one for one in others if known.issuperset({*one}.difference(own))]]
        for own, *others in units
    ]


def variants_of(units: Sequence[Sequence[tuple[str, ...]]]) -> Iterator[list[str]]:
    """Yield spellings of a text, its own first, up to a limit."""
    for chosen in islice(product(*units), _MOST_VARIANTS):
        yield list(chain.from_iterable(chosen))


def _could_join(text: str, left: Span, right: Span) -> bool:
    """Whether a joint stands between two words, or a blank between a number and letters."""
    gap = text[left.end : right.start]
    blank = gap.isspace()
    if blank and left.word[-1].isdigit() == right.word[0].isdigit():
        return False
    if blank or gap == " & ":
        return not has_unspaced(left.word + right.word)
    return is_joint(text, left, right)


def _variants(words: tuple[str, ...], *, phrase: bool) -> Iterator[tuple[str, ...]]:
    """Yield words, then other joints of their letters and numbers; two numbers stay apart."""
    whole, variants = "".join(words), [words]
    atoms = [atom for word in words for atom in _ATOM.findall(word)]
    if 1 < len(atoms) <= MOST_PARTS and "".join(atoms) == whole:
        for n_cuts in range(len(atoms)):
            for cuts in combinations(range(1, len(atoms)), n_cuts):
                parts = [atoms[a:b] for a, b in pairwise((0, *cuts, len(atoms)))]
                if all(len(part) == 1 or LETTER.search("".join(part)) for part in parts):
                    variants.append(tuple("".join(part) for part in parts))
    elif len(whole) == len(words) > 1 and whole.isalpha():  # many initials
        variants.append((whole,))
    yield from variants
    if not phrase:
        yield (JOINED + whole,)
        for one in variants if len(words) == 1 else [words]:
            for i, word in enumerate(one):
                yield (*one[:i], JOINED + word, *one[i + 1 :])
    elif len(words) == 1 and whole.isalnum():
        yield from ((whole[:i], whole[i:]) for i in range(1, len(whole)))
        yield tuple(whole) if len(whole) <= MOST_PARTS else words
