"""Segmenters for scripts without spaces, by optional packages."""

from __future__ import annotations

import threading
import warnings
from functools import cache
from importlib.util import find_spec

from softcosine.errors import MissingDependencyError
from softcosine.text.words import Segmenter

# Required packages by language.
SEGMENTERS = {"chinese": ("jieba",), "japanese": ("fugashi", "unidic_lite")}


def has_segmenter(language: str) -> bool:
    """Whether a segmenter for the language exists and is installed."""
    return language in SEGMENTERS and all(find_spec(name) for name in SEGMENTERS[language])


def segmenter_for(language: str) -> Segmenter:
    """Return the segmenter of a language; loaded once per process.

    Thread-safe.

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
        warnings.simplefilter("ignore")  # invalid escapes in its source
        from jieba import Tokenizer

    tokenizer = Tokenizer()
    # Like initialize(), but without a cache file in the temporary folder that all users share.
    tokenizer.FREQ, tokenizer.total = tokenizer.gen_pfdict(tokenizer.get_dict_file())
    tokenizer.initialized = True

    def cut(run: str) -> list[str]:
        return list(tokenizer.cut(run))

    return cut


@cache
def _japanese() -> Segmenter:
    from fugashi import Tagger

    tagger, lock = Tagger("-Owakati"), threading.Lock()  # a tagger is not thread-safe

    def cut(run: str) -> list[str]:
        with lock:
            return str(tagger.parse(run)).split()

    return cut


_LOADERS = {"chinese": _chinese, "japanese": _japanese}
