"""From what a user calls sources to one source, joined, guarded and decided about."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from softcosine.cli.source_kinds import (
    KINDS,
    LEARNED,
    OF_COSINES,
    PROPOSED,
    SOURCES_HELP,
    SourceSettings,
    told,
)
from softcosine.errors import InvalidInputError

if TYPE_CHECKING:
    from softcosine.sources.constraints.decision_list import Decisions
    from softcosine.sources.source import TermSimilaritySource
    from softcosine.text.analyzer import Analyzer
    from softcosine.text.vocabulary import Vocabulary

__all__ = [
    "JOINS",
    "SOURCES_HELP",
    "SourceSettings",
    "check_sources",
    "decisions_in",
    "finished_source",
    "joined_source",
    "learn_from_texts",
    "words_outside",
]

JOINS = {"strongest": "strongest", "mean": "mean", "noisy-or": "noisy_or", "first": "first"}

_NAMED = 5  # words that are named, of many


def check_sources(
    names: Sequence[str], join: str, *, of_cosines: bool = False, engine: str | None = None
) -> None:
    """Find out what is wrong with what sources are called before anything is read.

    Parameters
    ----------
    names : sequence of str
        None for the sources that are taken by default.
    join : str
        One of `JOINS`.
    of_cosines : bool
        Whether a threshold or an exponent was given.
    engine : str or None
        What is to propose neighbours by vectors.

    Raises
    ------
    InvalidInputError
        If a name is not understood, or nobody can use a setting; names what is possible.
    FileNotFoundError
    """
    if join not in JOINS:
        raise InvalidInputError(f"there is no join {join!r}; choose one of {', '.join(JOINS)}.")
    kinds = [told(name)[0] for name in names]
    if of_cosines and not any(kind in OF_COSINES for kind in kinds):
        given = f"none of {', '.join(names)} has any" if names else "no source is named"
        raise InvalidInputError(
            f"--threshold and --exponent are of vectors, and {given}; leave them out, or use "
            "--min-similarity."
        )
    if engine is not None:
        from softcosine.sources.vectors.proposers import proposer_by_name

        proposer_by_name(engine)
        if not any(kind in PROPOSED for kind in kinds):
            raise InvalidInputError(
                f"--approximate is of vectors that are given, and none of "
                f"{', '.join(names) or 'the default sources'} has any; leave it out."
            )


def joined_source(
    names: Sequence[str], join: str, settings: SourceSettings, *, on_one_scale: bool = False
) -> tuple[TermSimilaritySource, str]:
    """Return the sources that were named, as one, and what is to be said about it.

    Parameters
    ----------
    names : sequence of str
        At least one.
    join : str
        One of `JOINS`.
    settings : SourceSettings
    on_one_scale : bool
        Whether each is calibrated to human judgements before it is joined, where the package has
        a calibration for it.

    Raises
    ------
    InvalidInputError
        As `check_sources`; or if there are no texts to learn from.
    FileNotFoundError, MalformedFileError
    """
    check_sources(names, join, of_cosines=bool(settings.of_cosines()))
    raw = [KINDS[kind](argument, settings) for kind, argument in map(told, names)]
    sources = [settings.proposed(name, source) for name, source in zip(names, raw, strict=True)]
    note = ""
    if on_one_scale:
        sources, left = _calibrated(sources, raw, names)
        if left:
            note = f"There is no calibration for {', '.join(left)}: taken as they are."
    if len(sources) == 1:
        return sources[0], note
    import softcosine

    return getattr(softcosine, JOINS[join])(*sources), note


def learn_from_texts(names: Sequence[str]) -> bool:
    """Whether some of the sources that are named learn from texts."""
    return any(told(name)[0] in LEARNED for name in names)


def decisions_in(path: Path | None) -> Decisions | None:
    """Read a file of a person's decisions, if there is one."""
    if path is None:
        return None
    from softcosine.sources.constraints.decisions import read_decisions

    return read_decisions(path)


def finished_source(
    source: TermSimilaritySource,
    decisions: Decisions | None,
    vocabulary: Vocabulary,
    *,
    analyzer: Analyzer | None,
    guard: bool = True,
) -> TermSimilaritySource:
    """Put the guard above a source, and a person's decisions above the guard."""
    from softcosine.sources.constraints.guard import guarded

    whole: TermSimilaritySource = guarded(source) if guard else source
    if decisions is None:
        return whole
    from softcosine.sources.constraints.decisions import decided

    return decided(whole, decisions.for_vocabulary(vocabulary, analyzer=analyzer))


def words_outside(
    decisions: Decisions | None, vocabulary: Vocabulary, *, analyzer: Analyzer | None
) -> str:
    """Say what words were decided about that the vocabulary does not have, if any."""
    words = () if decisions is None else decisions.words_outside(vocabulary, analyzer=analyzer)
    if not words:
        return ""
    more = f" and {len(words) - _NAMED:,} more" if len(words) > _NAMED else ""
    return f"Decided about, but not in the vocabulary: {', '.join(words[:_NAMED])}{more}."


def _calibrated(
    sources: Sequence[TermSimilaritySource],
    raw: Sequence[TermSimilaritySource],
    names: Sequence[str],
) -> tuple[list[TermSimilaritySource], list[str]]:
    """Return sources on one scale, and the names of those that have no calibration."""
    from softcosine.sources.joins.calibration import CalibratedSimilarity, default_calibration

    made: list[TermSimilaritySource] = []
    left = []
    for source, known_as, name in zip(sources, raw, names, strict=True):
        try:
            made.append(CalibratedSimilarity(source, default_calibration(known_as)))
        except InvalidInputError:
            made.append(source)
            left.append(name)
    return made, left
