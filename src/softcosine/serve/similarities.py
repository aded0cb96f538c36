"""A person's decisions about words of an index: read, change, rebuild S by them."""

from __future__ import annotations

from functools import partial
from typing import Any

from softcosine._progress import Report
from softcosine.cluster.opening import EitherIndex
from softcosine.errors import InvalidInputError
from softcosine.index.writer.growing import rebuilt
from softcosine.serve.models import SimilaritiesBody
from softcosine.serve.served_index import EitherWriter
from softcosine.similarity.overrides.decision_list import Decision, Decisions
from softcosine.similarity.overrides.decisions import DecidedSimilarity, decided


def decisions_of(index: EitherIndex) -> Decisions:
    """Return the decisions that an index follows."""
    source = index.source
    return source.decisions if isinstance(source, DecidedSimilarity) else Decisions()


def similarities_answer(index: EitherIndex) -> dict[str, Any]:
    """Return the decisions that an index follows as JSON types."""
    lines = decisions_of(index).lines
    return {
        "decisions": [
            {"word": one.word, "sign": one.sign, "other": one.other, "value": one.value}
            for one in lines
        ],
        "lines": [str(one) for one in lines],
        "note": index.note,
        "commit": index.commit,
    }


def with_decisions(
    writer: EitherWriter, index: EitherIndex, body: SimilaritiesBody, report: Report
) -> None:
    """Change the decisions of an index, and build S anew from its source.

    Raises
    ------
    InvalidInputError
        If the index has no source to build S from, or decisions contradict each other.
    """
    source = index.source
    if source is None:
        raise InvalidInputError(
            "the index has no source of term similarity, so its similarities cannot be changed one "
            "by one; build it with a source."
        )
    new = [
        *(Decision(one.word, "=", one.other, one.similarity) for one in body.pin),
        *(Decision(one.word, "!", one.other) for one in body.forbid),
        *(Decision(one.word, "*", one.other, one.weight) for one in body.weigh),
    ]
    gone = {Decision(one.word, "!", one.other).key for one in body.remove}
    replaced = gone | {one.key for one in new}
    kept = [line for line in decisions_of(index).lines if line.key not in replaced]
    inner = source.source if isinstance(source, DecidedSimilarity) else source
    changed = decided(inner, Decisions((*kept, *new)))
    S, source = rebuilt(
        index.S, changed, index.analyzer,
        progress=partial(report, "finding similar terms"),
    )  # fmt: skip
    writer.set_similarity(S, source=source, note=index.note)
