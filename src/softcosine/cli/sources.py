"""Sources and a person's decisions, as the command line takes them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from softcosine.similarity.combine.by_name import JOINS
from softcosine.similarity.registry import NAMES, PREFIXES

if TYPE_CHECKING:
    from softcosine.similarity.overrides.decision_list import Decisions
    from softcosine.text.analyzer import Analyzer
    from softcosine.text.vocabulary import Vocabulary

__all__ = ["JOINS", "SOURCES_HELP", "decisions_in", "words_outside"]

SOURCES_HELP = (
    f"A name ({', '.join(NAMES)}), a file of vectors or of synonyms, or KIND:PLACE "
    f"({', '.join(PREFIXES)}); more are in docs/lab.md. By default what 'index' takes."
)

_NAMED = 5  # words that are named, of many


def decisions_in(path: Path | None) -> Decisions | None:
    """Read a file of a person's decisions, if there is one."""
    if path is None:
        return None
    from softcosine.similarity.overrides.decisions import read_decisions

    return read_decisions(path)


def words_outside(
    decisions: Decisions | None, vocabulary: Vocabulary, *, analyzer: Analyzer | None
) -> str:
    """Say what words were decided about that the vocabulary does not have, if any."""
    words = () if decisions is None else decisions.words_outside(vocabulary, analyzer=analyzer)
    if not words:
        return ""
    more = f" and {len(words) - _NAMED:,} more" if len(words) > _NAMED else ""
    return f"Decided about, but not in the vocabulary: {', '.join(words[:_NAMED])}{more}."
