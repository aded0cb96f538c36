"""From what a user calls sources to one source, joined."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from typing import TYPE_CHECKING

from softcosine.errors import InvalidInputError
from softcosine.sources.kinds import KINDS, LEARNED, OF_COSINES, PROPOSED, SourceSettings, told

if TYPE_CHECKING:
    from softcosine.sources.source import TermSimilaritySource

__all__ = [
    "JOINS",
    "SourceSettings",
    "check_sources",
    "join_by",
    "joined_source",
    "learn_from_texts",
    "phrases_named",
]

# Where each join stands; what is not asked for is not loaded.
JOINS = {
    "strongest": ("softcosine.sources.joins.combine", "strongest"),
    "mean": ("softcosine.sources.joins.combine", "mean"),
    "noisy-or": ("softcosine.sources.joins.noisy_or", "noisy_or"),
    "first": ("softcosine.sources.joins.combine", "first"),
}


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
            f"threshold and exponent are of vectors, and {given}; leave them out, or set the "
            "least similarity."
        )
    if engine is not None:
        from softcosine.sources.vectors.proposers import proposer_by_name

        proposer_by_name(engine)
        if not any(kind in PROPOSED for kind in kinds):
            raise InvalidInputError(
                f"{engine} proposes neighbours by vectors that are given, and none of "
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
    return join_by(join)(*sources), note


def learn_from_texts(names: Sequence[str]) -> bool:
    """Whether some of the sources that are named learn from texts."""
    return any(told(name)[0] in LEARNED for name in names)


def phrases_named(names: Sequence[str]) -> tuple[str, ...]:
    """Return the words of the lists of synonyms that are named, to take phrases from."""
    from softcosine.sources.in_terms import phrases_in
    from softcosine.sources.thesauri.thesaurus import ThesaurusSimilarity

    own = {"synonyms": None, "list": True}  # whether its pairs are pinned; by its size otherwise
    lists = [
        ThesaurusSimilarity.load(place, pinned=own[kind])
        for kind, place in map(told, names)
        if kind in own
    ]
    return tuple(word for one in lists for word in phrases_in(one))


def join_by(name: str) -> Callable[..., TermSimilaritySource]:
    """Return the function that joins sources, by one of the names in `JOINS`."""
    module, function = JOINS[name]
    join: Callable[..., TermSimilaritySource] = getattr(import_module(module), function)
    return join


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
