"""Make the bundled list of antonyms, ``similarity/data/antonyms_en.txt``, from WordNet 3.0.

Pairs are WordNet's lexical antonyms (pointer ``!``), single words only; the indirect ones that
reach over "similar to" are left out.  Of two nouns or two verbs the inflected forms are paired
too (buys/sells, bought/sold) where WordNet's exception lists or the regular rules give exactly
one form of each and both are words of the bundled table.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from english_words import is_word
from wordnet_files import Synset, read_exceptions, read_synsets, with_ed, with_ing, with_s

DATA = Path(__file__).parents[1] / "src/softcosine/similarity/data"
HEADER = """\
# English antonyms: one pair a line, separated by a tab; either order is meant.
# Source: lexical antonym pointers of WordNet 3.0, with regular and irregular inflections.
# WordNet 3.0 Copyright 2006 by Princeton University.  All rights reserved.
# Licence: WordNet 3.0 licence, in full in LICENSES.md.
"""
Pair = tuple[str, str]
Rule = Callable[[str], str]
RULES: dict[str, tuple[Rule, ...]] = {"n": (with_s,), "v": (with_s, with_ed, with_ing)}


def base_pairs(synsets: list[Synset]) -> Iterator[tuple[Pair, str]]:
    """Each antonym pair, smaller word first, with its part of speech."""
    by_address = {(synset.part, synset.offset): synset for synset in synsets}
    for synset in synsets:
        for symbol, part, offset, source, target in synset.pointers:
            if symbol != "!" or not source or not target:
                continue
            left = synset.words[source - 1]
            right = by_address[part, offset].words[target - 1]
            if is_word(left) and is_word(right) and left != right:
                yield (min(left, right), max(left, right)), synset.part


def only_form(lemma: str, rule: Rule, listed: tuple[str, ...]) -> str | None:
    """Give the form by the exception list, else by rule; None where the list has several.

    The lists mix the forms of a verb: those in -ing are participles, the others past forms.
    """
    if rule is not with_s:
        listed = tuple(word for word in listed if word.endswith("ing") == (rule is with_ing))
    if len(listed) > 1:  # gave and given: which of them belongs to took is not said
        return None
    return listed[0] if listed else rule(lemma)


def inflected_pairs(
    pairs: set[tuple[Pair, str]], wordnet: Path, known: frozenset[str]
) -> Iterator[Pair]:
    """Pairs of the same form of both antonyms, both of them known words."""
    irregular = {part: read_exceptions(wordnet, part) for part in RULES}
    for (left, right), part in sorted(pairs):
        for rule in RULES.get(part, ()):
            lists = {} if part == "v" and rule is with_s else irregular[part]
            one = only_form(left, rule, lists.get(left, ()))
            other = only_form(right, rule, lists.get(right, ()))
            if one in known and other in known and one and other and one != other:
                yield min(one, other), max(one, other)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--wordnet", type=Path, required=True, help="folder with data.noun etc.")
    parser.add_argument("--output", type=Path, default=DATA / "antonyms_en.txt")
    options = parser.parse_args()
    with np.load(DATA / "english.npz") as table:
        known = frozenset(table["words"].tobytes().decode().split("\n"))
    pairs = set(base_pairs(list(read_synsets(options.wordnet))))
    found = {pair for pair, _ in pairs}
    inflected = set(inflected_pairs(pairs, options.wordnet, known)) - found
    lines = [f"{left}\t{right}\n" for left, right in sorted(found | inflected)]
    options.output.write_text(HEADER + "".join(lines), encoding="utf-8", newline="\n")
    print(f"{options.output}: {len(found):,} pairs and {len(inflected):,} of inflected forms")


if __name__ == "__main__":
    main()
