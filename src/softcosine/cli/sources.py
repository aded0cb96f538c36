"""Sources of term similarity and decision files of the command line."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from softcosine.similarity.registry import NAMES, PREFIXES

if TYPE_CHECKING:
    from softcosine.similarity.overrides.decision_list import Decisions
    from softcosine.text.analyzer import Analyzer
    from softcosine.text.vocabulary import Vocabulary


SOURCES_HELP = (
    f"A name ({', '.join(NAMES)}), a file of vectors or of synonyms, or KIND:PLACE "
    f"({', '.join(PREFIXES)}); docs/lab.md lists more. Default: as in 'index'."
)

_NAMED = 5  # words printed before "and N more"


def decisions_in(path: Path | None) -> Decisions | None:
    """Return the decisions of a file; None without a file."""
    if path is None:
        return None
    from softcosine.similarity.overrides.decisions import read_decisions

    return read_decisions(path)


def words_outside(
    decisions: Decisions | None, vocabulary: Vocabulary, *, analyzer: Analyzer | None
) -> str:
    """Return a note on words of the decisions that are not in the vocabulary; empty if none."""
    words = () if decisions is None else decisions.words_outside(vocabulary, analyzer=analyzer)
    if not words:
        return ""
    more = f" and {len(words) - _NAMED:,} more" if len(words) > _NAMED else ""
    return f"Words of the decisions outside the vocabulary: {', '.join(words[:_NAMED])}{more}."
