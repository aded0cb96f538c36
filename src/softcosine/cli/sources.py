"""What the command line makes of sources: guarded, and a person's decisions above them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from softcosine.sources.kinds import NAMES, PREFIXES
from softcosine.sources.named import (
    JOINS,
    SourceSettings,
    check_sources,
    joined_source,
    learn_from_texts,
)

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

SOURCES_HELP = (
    f"A name ({', '.join(NAMES)}), a file of vectors or of synonyms, or KIND:PLACE "
    f"({', '.join(PREFIXES)}). By default what 'index' takes."
)

_NAMED = 5  # words that are named, of many


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
    language: str | None,
    guard: bool = True,
) -> TermSimilaritySource:
    """Put the guard above a source, and a person's decisions above the guard, all in terms."""
    from softcosine.index.language import antonyms_of
    from softcosine.sources.constraints.decisions import decided
    from softcosine.sources.constraints.guard import guarded
    from softcosine.sources.in_terms import TermKeys, in_terms

    whole = guarded(source, antonyms=antonyms_of(language)) if guard else source
    if decisions is not None:
        whole = decided(whole, decisions)
    return in_terms(whole, TermKeys(analyzer, vocabulary=vocabulary))


def words_outside(
    decisions: Decisions | None, vocabulary: Vocabulary, *, analyzer: Analyzer | None
) -> str:
    """Say what words were decided about that the vocabulary does not have, if any."""
    words = () if decisions is None else decisions.words_outside(vocabulary, analyzer=analyzer)
    if not words:
        return ""
    more = f" and {len(words) - _NAMED:,} more" if len(words) > _NAMED else ""
    return f"Decided about, but not in the vocabulary: {', '.join(words[:_NAMED])}{more}."
