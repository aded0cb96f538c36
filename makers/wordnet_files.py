"""Read the plain database files of WordNet 3.0: lemmas, counts, glosses, antonyms, inflections.

Nothing but the standard library is needed.  The folder is the one that Debian's package
``wordnet-base`` unpacks to ``usr/share/wordnet``; the format is described in wndb(5WN).
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

PARTS = {"noun": "n", "verb": "v", "adj": "a", "adv": "r"}
_VOWELS = "aeiou"
_DOUBLING = re.compile(r"[^aeiou][aeiou][^aeiouwxy]$")
_MARKER = re.compile(r"\((?:a|p|ip)\)$")  # syntactic markers of adjectives, as in "galore(ip)"


@dataclass(frozen=True, slots=True)
class Synset:
    """One line of a data file.

    Attributes
    ----------
    part : str
        ``"n"``, ``"v"``, ``"a"`` (satellites too) or ``"r"``.
    offset : int
        Its address in the data file; with `part` it names the synset.
    words : tuple of str
        As spelt in WordNet: capitals kept, ``_`` between the words of a compound.
    pointers : tuple of (symbol, part, offset, source word, target word)
        Word numbers count from 1; 0 stands for the whole synset.
    gloss : str
        Definition and examples.
    """

    part: str
    offset: int
    words: tuple[str, ...]
    pointers: tuple[tuple[str, str, int, int, int], ...]
    gloss: str


def read_synsets(folder: Path) -> Iterator[Synset]:
    """Every synset of the four data files, in the order of the files."""
    for name, part in PARTS.items():
        path = folder / f"data.{name}"
        if not path.is_file():
            raise FileNotFoundError(
                f"{path} is missing; give the folder of WordNet's data files, as "
                "makers/README.md tells."
            )
        with path.open(encoding="utf-8") as lines:
            for line in lines:
                if not line.startswith(" "):  # the licence stands in front, indented
                    yield _parse(line, part)


def _parse(line: str, part: str) -> Synset:
    data, _, gloss = line.partition(" | ")
    fields = data.split()
    n_words = int(fields[3], 16)
    words = tuple(_MARKER.sub("", word) for word in fields[4 : 4 + 2 * n_words : 2])
    position = 4 + 2 * n_words
    n_pointers = int(fields[position])
    pointers = []
    for i in range(n_pointers):
        symbol, offset, target_part, numbers = fields[position + 1 + 4 * i : position + 5 + 4 * i]
        pointers.append(
            (symbol, target_part, int(offset), int(numbers[:2], 16), int(numbers[2:], 16))
        )
    return Synset(part, int(fields[0]), words, tuple(pointers), gloss.strip())


def read_tag_counts(folder: Path) -> Counter[tuple[str, str]]:
    """How often each (lemma, part of speech) was met in the sense-tagged texts."""
    counts: Counter[tuple[str, str]] = Counter()
    with (folder / "cntlist.rev").open(encoding="utf-8") as lines:
        for line in lines:
            sense_key, _, count = line.split()
            lemma, _, rest = sense_key.partition("%")
            counts[lemma, "nvara"[int(rest[0]) - 1]] += int(count)  # 5 is a satellite adjective
    return counts


def read_senses(folder: Path) -> Iterator[tuple[str, str, tuple[int, ...]]]:
    """Of every lemma and part of speech its synsets' offsets, most frequent sense first."""
    for name, part in PARTS.items():
        with (folder / f"index.{name}").open(encoding="utf-8") as lines:
            for line in lines:
                if not line.startswith(" "):
                    fields = line.split()
                    yield fields[0], part, tuple(map(int, fields[-int(fields[2]) :]))


def read_exceptions(folder: Path, part: str) -> dict[str, tuple[str, ...]]:
    """Irregular forms of each lemma, such as bought for buy, from one ``.exc`` file."""
    name = next(name for name, letter in PARTS.items() if letter == part)
    forms: defaultdict[str, list[str]] = defaultdict(list)
    with (folder / f"{name}.exc").open(encoding="utf-8") as lines:
        for line in lines:
            form, *lemmas = line.split()
            for lemma in lemmas:
                forms[lemma].append(form)
    return {lemma: tuple(found) for lemma, found in forms.items()}


def with_s(word: str) -> str:
    """Regular plural of a noun, or third person of a verb."""
    if word.endswith("y") and word[-2:-1] not in _VOWELS:
        return word[:-1] + "ies"
    if word.endswith(("s", "x", "z", "ch", "sh")):
        return word + "es"
    if word.endswith("woman"):  # WordNet's list has men, but no women
        return word[:-2] + "en"
    return word + "s"


def with_ed(verb: str) -> str:
    """Regular past of a verb; short verbs double their last consonant."""
    if verb.endswith("e"):
        return verb + "d"
    if verb.endswith("y") and verb[-2:-1] not in _VOWELS:
        return verb[:-1] + "ied"
    return _doubled(verb) + "ed"


def with_ing(verb: str) -> str:
    """Present participle of a verb."""
    if verb.endswith("ie"):
        return verb[:-2] + "ying"
    if verb.endswith("e") and not verb.endswith(("ee", "oe", "ye")):
        return verb[:-1] + "ing"
    return _doubled(verb) + "ing"


def _doubled(verb: str) -> str:
    n_vowel_groups = len(re.findall(r"[aeiouy]+", verb))
    if n_vowel_groups == 1 and _DOUBLING.search(verb):
        return verb + verb[-1]
    return verb
