"""Stop words (function words) by language."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib.resources import files

# Articles, pronouns, prepositions, conjunctions, auxiliaries and the adverbs of degree and place
# that accompany them; no noun, no verb of content, no number, and none of "not", "no", "against",
# "without", "before" and "after", which change the meaning of a query.
_ENGLISH = """
    a about all also am an and any are aren't as at be because been being both but by can can't
    cannot could couldn't did didn't do does doesn't doing don't each either else ever every for
    from had hadn't has hasn't have haven't having he he'd he'll her here hers herself him himself
    his how however i i'd i'll i'm i've if in into is isn't it it'd it'll its itself just let me
    mightn't mine mustn't my myself neither nor of off oh on or other our ours ourselves out own
    perhaps quite rather shall shan't she she'd she'll should shouldn't so some such than that
    that'd that'll the their theirs them themselves then there there'd there'll these they they'd
    they'll they're they've this those though through thus to too us very was wasn't we we'd we'll
    we're we've were weren't what what'll whatever when where whether which while who who'd who'll
    whom whose why will with won't would wouldn't yet you you'd you'll you're you've your yours
    yourself yourselves
"""
ENGLISH: frozenset[str] = frozenset(_ENGLISH.split())


@cache
def stop_word_lists() -> Mapping[str, frozenset[str]]:
    """Return the stop words of each language by its English name; read once per process.

    Origins and licences are in ``data/stop_words.txt`` and ``data/LICENSES.md``.
    """
    content = (files("softcosine.text") / "data" / "stop_words.txt").read_text(encoding="utf-8")
    lists = {"english": ENGLISH}
    for paragraph in content.split("\n\n"):
        if not paragraph.startswith("#"):
            language, _, words = paragraph.partition(":")
            lists[language] = frozenset(words.split())
    return dict(sorted(lists.items()))


def stop_words_of(language: str) -> frozenset[str]:
    """Return the stop words of a language, or of several with ``+`` between; empty if unknown."""
    lists = stop_word_lists()
    return frozenset[str]().union(*(lists.get(name, ()) for name in language.split("+")))
