"""Reader of question ranking in the format of SemEval-2016 Task 3 B."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from softcosine.errors import MalformedFileError
from softcosine.evaluate.datasets.lines import json_objects, kept_fields, named, stem
from softcosine.evaluate.datasets.ranking import RankingSet
from softcosine.evaluate.documents import Documents

_FIELDS = ("subject", "body")
_NEEDED = ("orgq_id", "relq_id")


def read_questions(path: Path, *, encoding: str = "utf-8") -> RankingSet:
    """Return a data set from JSON lines, one per pair of a question and a candidate.

    A line has ``orgq_id`` and ``relq_id``, ``org_subject``, ``org_body``, ``rel_subject`` and
    ``rel_body``, ``relevant`` (true or false) or ``label`` (``Irrelevant`` or another), and
    optionally ``split``. All questions are scored; a question without a relevant candidate scores
    0. If a question has different texts, the first one counts, and the data set has a note.

    Raises
    ------
    MalformedFileError
        If a line is malformed; the message has its number.
    """
    asked, known = _Texts("org"), _Texts("rel")
    qrels: dict[str, dict[str, int]] = {}
    splits: dict[str, str] = {}
    for number, row in json_objects(path, _NEEDED, encoding=encoding):
        try:
            query, document = (named(row, name) for name in _NEEDED)
            asked.add(query, row)
            known.add(document, row)
            judged = qrels.setdefault(query, {})
            if document in judged:
                raise ValueError(f"the candidate {document!r} of {query!r} comes twice.")
            judged[document] = _relevant(row)
            part = named(row, "split", usual="")
            if splits.setdefault(query, part) != part:
                raise ValueError(f"{query!r} is in {splits[query]!r} and in {part!r}.")
        except ValueError as error:
            raise MalformedFileError(path, str(error), line=number) from None
    return RankingSet(
        stem(path),
        known.documents(),
        asked.documents(),
        qrels,
        candidates={query: tuple(judged) for query, judged in qrels.items()},
        splits=splits if any(splits.values()) else None,
        notes=(*asked.notes, *known.notes),
    )


class _Texts:
    """Distinct questions of one side of the pairs."""

    def __init__(self, side: str) -> None:
        self._side = side
        self._found: dict[str, tuple[str, ...]] = {}
        self._differing: dict[str, None] = {}

    def add(self, id: str, row: Mapping[str, Any]) -> None:
        texts = tuple(row.get(f"{self._side}_{name}") or "" for name in _FIELDS)
        if not all(isinstance(text, str) for text in texts):
            raise ValueError(f"the subject or body of {id!r} is no string.")
        if self._found.setdefault(id, texts) != texts:
            self._differing[id] = None

    @property
    def notes(self) -> tuple[str, ...]:
        if not self._differing:
            return ()
        n, shown = len(self._differing), ", ".join([*self._differing][:3])
        return (f"of questions with several texts the first counts: {n:,} ({shown})",)

    def documents(self) -> Documents:
        columns = {
            name: [texts[place] for texts in self._found.values()]
            for place, name in enumerate(_FIELDS)
        }
        return Documents(tuple(self._found), kept_fields(columns))


def _relevant(row: Mapping[str, Any]) -> int:
    if isinstance(row.get("relevant"), bool):
        return int(row["relevant"])
    if isinstance(row.get("label"), str):
        return int(row["label"] != "Irrelevant")
    raise ValueError("neither 'relevant' (true or false) nor 'label' (a string) is there.")
