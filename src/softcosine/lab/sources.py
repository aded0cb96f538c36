"""Kinds of sources that the laboratory adds to recipes, as entry points."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from softcosine.errors import MalformedFileError
from softcosine.similarity.registry import SourceKind, SourceSettings, texts_for
from softcosine.similarity.source import TermSimilaritySource


def _snos(_: str, settings: SourceSettings) -> TermSimilaritySource:
    from softcosine.lab.snos.source import SnosSimilarity

    return SnosSimilarity.fit(
        texts_for("snos", settings),
        progress=partial(settings.report, "spreading similarities"),
        **settings.of_cosines(),
    )


def _clicks(path: str, settings: SourceSettings) -> TermSimilaritySource:
    from softcosine.lab.snos.source import SnosSimilarity

    source = SnosSimilarity.load(
        path,
        reading=partial(settings.report, f"reading {Path(path).name}"),
        progress=partial(settings.report, "spreading similarities"),
        **settings.of_cosines(),
    )
    if not source.words:
        raise MalformedFileError(
            path,
            "it makes no two queries similar; needed are lines of query, page and perhaps the "
            "number of clicks, with pages that several queries led to.",
        )
    return source


def _regression(_: str, settings: SourceSettings) -> TermSimilaritySource:
    from softcosine.lab.regression.source import RegressionSimilarity

    return RegressionSimilarity.fit(
        texts_for("regression", settings), progress=partial(settings.report, "regression")
    )


def _phonetic(_: str, settings: SourceSettings) -> TermSimilaritySource:
    from softcosine.lab.phonetic import PhoneticSimilarity

    return PhoneticSimilarity()


def _syntactic(_: str, settings: SourceSettings) -> TermSimilaritySource:
    from softcosine.lab.syntactic.source import SyntacticSimilarity

    return SyntacticSimilarity()


def _wordnet(path: str, settings: SourceSettings, *, measure: str) -> TermSimilaritySource:
    from softcosine.lab.wordnet import wordnet_similarity

    progress = partial(settings.report, "reading WordNet")
    return wordnet_similarity(path or None, measure=measure, progress=progress)


SNOS = SourceKind(_snos, named=True, learned=True, of_cosines=True)
CLICKS = SourceKind(_clicks, placed=True, of_file=True, of_cosines=True)
REGRESSION = SourceKind(_regression, named=True, learned=True)
PHONETIC = SourceKind(_phonetic, named=True)
SYNTACTIC = SourceKind(_syntactic, named=True)
WORDNET_WU_PALMER = SourceKind(
    partial(_wordnet, measure="wu_palmer"), named=True, placed=True, of_file=True
)
WORDNET_LIN = SourceKind(partial(_wordnet, measure="lin"), named=True, placed=True, of_file=True)
