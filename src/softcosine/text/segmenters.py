"""Segmenters: words of scripts without spaces, by the packages that know a language's words."""

from __future__ import annotations

import threading
import warnings
from functools import cache
from importlib.util import find_spec

from softcosine.errors import MissingDependencyError
from softcosine.text.words import Segmenter

__all__ = ["SEGMENTERS", "has_segmenter", "segmenter_for"]

# Language, and the packages that must be there.
SEGMENTERS = {"chinese": ("jieba",), "japanese": ("fugashi", "unidic_lite")}


def has_segmenter(language: str) -> bool:
    """Whether there is a segmenter for a language, and it is installed."""
    return language in SEGMENTERS and all(find_spec(name) for name in SEGMENTERS[language])


def segmenter_for(language: str) -> Segmenter:
    """Return what cuts text of a language into words; loaded once a process.

    May be called from many threads at once.

    Parameters
    ----------
    language : {"chinese", "japanese"}

    Raises
    ------
    MissingDependencyError
        If it is not installed.
    """
    if not has_segmenter(language):
        package = " and ".join(SEGMENTERS[language]).replace("_", "-")
        raise MissingDependencyError(package, language, f"Cutting {language.title()} into words")
    return _LOADERS[language]()


@cache
def _chinese() -> Segmenter:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # its source has escapes that newer Pythons warn of
        from jieba import Tokenizer

    tokenizer = Tokenizer()
    # What initialize() does, without the copy that it shares with every user of the machine by a
    # file in the temporary folder.
    tokenizer.FREQ, tokenizer.total = tokenizer.gen_pfdict(tokenizer.get_dict_file())
    tokenizer.initialized = True

    def cut(run: str) -> list[str]:
        return list(tokenizer.cut(run))

    return cut


@cache
def _japanese() -> Segmenter:
    from fugashi import Tagger

    tagger, lock = Tagger("-Owakati"), threading.Lock()  # a tagger serves one thread at a time

    def cut(run: str) -> list[str]:
        with lock:
            return str(tagger.parse(run)).split()

    return cut


_LOADERS = {"chinese": _chinese, "japanese": _japanese}
