"""Kinds of sources that the laboratory adds to recipes, as entry points."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

from softcosine.errors import MalformedFileError
from softcosine.similarity.registry import SourceKind, SourceSettings, texts_for


def _snos(cls: Any, _: str, settings: SourceSettings) -> Any:
    progress = settings.progress("spreading similarities")
    return cls.fit(texts_for("snos", settings), progress=progress, **settings.of_cosines())


def _clicks(cls: Any, path: str, settings: SourceSettings) -> Any:
    source = cls.load(
        path,
        reading=settings.progress(f"reading {Path(path).name}"),
        progress=settings.progress("spreading similarities"),
        **settings.of_cosines(),
    )
    if not source.words:
        raise MalformedFileError(
            path,
            "it makes no two queries similar; needed are lines of query, page and perhaps the "
            "number of clicks, with pages that several queries led to.",
        )
    return source


def _regression(cls: Any, _: str, settings: SourceSettings) -> Any:
    progress = settings.progress("regression")
    return cls.fit(texts_for("regression", settings), progress=progress)


def _wordnet(cls: Any, path: str, settings: SourceSettings, *, measure: str) -> Any:
    from softcosine.lab.wordnet.similarity import wordnet_similarity

    progress = settings.progress("reading WordNet")
    return wordnet_similarity(path or None, measure=measure, progress=progress)


_SNOS = "softcosine.lab.snos.source:SnosSimilarity"
_THESAURUS = "softcosine.similarity.thesaurus.thesaurus:ThesaurusSimilarity"
_WORDNETS = {
    measure: SourceKind(
        _THESAURUS, partial(_wordnet, measure=measure), named=True, placed=True, of_file=True
    )
    for measure in ("path", "wu_palmer", "lin")
}

SNOS = SourceKind(_SNOS, _snos, named=True, learned=True, of_cosines=True)
CLICKS = SourceKind(_SNOS, _clicks, placed=True, of_file=True, of_cosines=True)
REGRESSION = SourceKind(
    "softcosine.lab.regression.source:RegressionSimilarity", _regression, named=True, learned=True
)
PHONETIC = SourceKind("softcosine.lab.phonetic:PhoneticSimilarity", named=True)
SYNTACTIC = SourceKind("softcosine.lab.syntactic.source:SyntacticSimilarity", named=True)
WORDNET, WORDNET_WU_PALMER, WORDNET_LIN = _WORDNETS.values()
