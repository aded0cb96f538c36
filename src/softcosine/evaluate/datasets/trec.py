"""The formats of TREC: documents, topics and runs.

They look like SGML and are not: tags may stay open, and texts hold bare ampersands. So they are
read line by line and by tags, as the track's own tools do.
"""

from __future__ import annotations

import html
import math
import re
from collections.abc import Iterator
from pathlib import Path

from softcosine.errors import MalformedFileError
from softcosine.evaluate.datasets.lines import numbered_lines

__all__ = ["TOPIC_FIELDS", "read_trec_documents", "read_trec_run", "read_trec_topics"]

TOPIC_FIELDS = ("title", "description", "narrative")

_TAG = re.compile(r"</?[A-Za-z][^<>]*>")
_TITLE_TAGS = "TITLE|HEADLINE|TTL|HL|TI"
_TEXT_TAGS = "TEXT|BODY|ABSTRACT|AB"
_LEADS = {  # tag of a topic's part, and what stands before its text
    "title": ("title", r"\s*Topic:"),
    "desc": ("description", r"\s*Description:?"),
    "narr": ("narrative", r"\s*Narrative:?"),
}


def read_trec_documents(
    path: Path, *, encoding: str = "utf-8"
) -> Iterator[tuple[int, str, str, str]]:
    """Give each ``<DOC>``: the line it begins at, its id, title and text.

    The id is that of ``<DOCNO>``; the title that of ``<TITLE>`` or ``<HEADLINE>``; the text that of
    ``<TEXT>`` elements, or all the rest where there are none.

    Raises
    ------
    MalformedFileError
        If a document has no id, or does not end.
    """
    for start, body in _elements(path, "DOC", encoding):
        id = _inner(body, "DOCNO")
        if not id:
            raise MalformedFileError(path, "this document has no <DOCNO>.", line=start)
        titles = _inner(body, _TITLE_TAGS)
        text = _inner(body, _TEXT_TAGS)
        if not text:
            text = _plain(_without(body, f"DOCNO|DOCID|{_TITLE_TAGS}"))
        yield start, id, titles, text


def read_trec_topics(
    path: Path, *, encoding: str = "utf-8"
) -> Iterator[tuple[int, str, dict[str, str]]]:
    """Give each ``<top>``: the line it begins at, its number, and its parts (`TOPIC_FIELDS`).

    Raises
    ------
    MalformedFileError
        If a topic has no number, or does not end.
    """
    for start, body in _elements(path, "top", encoding):
        id = re.sub(r"(?i)^\s*number:\s*", "", _part(body, "num")).strip()
        if not id:
            raise MalformedFileError(path, "this topic has no <num>.", line=start)
        parts = {
            field: re.sub(rf"(?i)^{lead}\s*", "", _part(body, tag)).strip()
            for tag, (field, lead) in _LEADS.items()
        }
        yield start, id, parts


def read_trec_run(path: Path, *, encoding: str = "utf-8") -> dict[str, list[str]]:
    """Read a run (query, Q0, document, rank, score, name): documents in order, for every query.

    They are ordered by score, equal scores by rank.

    Raises
    ------
    MalformedFileError
        If a line is at fault; it is named.
    """
    found: dict[str, list[tuple[float, int, str]]] = {}
    seen: set[tuple[str, str]] = set()
    for number, line in numbered_lines(path, encoding=encoding):
        row = line.split()
        if len(row) != 6:
            raise MalformedFileError(
                path,
                f"this line has {len(row)} columns; a run has six: query, Q0, document, rank, "
                "score, name.",
                line=number,
            )
        query, document = row[0], row[2]
        try:
            rank, score = int(row[3]), float(row[4])
        except ValueError:
            raise MalformedFileError(
                path, f"rank {row[3]!r} or score {row[4]!r} is no number.", line=number
            ) from None
        if math.isnan(score):
            raise MalformedFileError(path, "the score is NaN, which has no order.", line=number)
        if (query, document) in seen:
            raise MalformedFileError(
                path, f"document {document!r} comes twice for query {query!r}.", line=number
            )
        seen.add((query, document))
        found.setdefault(query, []).append((-score, rank, document))
    return {query: [id for _, _, id in sorted(listed)] for query, listed in found.items()}


def _elements(path: Path, name: str, encoding: str) -> Iterator[tuple[int, str]]:
    """Give what stands between <name> and </name>, and where it begins."""
    opening, closing = re.compile(rf"(?i)<{name}\b[^>]*>"), re.compile(rf"(?i)</{name}\s*>")
    kept: list[str] | None = None
    start = 0
    for number, line in numbered_lines(path, encoding=encoding):
        rest = line
        while rest:
            if kept is None:
                found = opening.search(rest)
                if found is None:
                    break
                kept, start, rest = [], number, rest[found.end() :]
                continue
            found = closing.search(rest)
            again = opening.search(rest)
            if again is not None and (found is None or again.start() < found.start()):
                raise MalformedFileError(
                    path, f"<{name}> begins again, and the one of line {start} has not ended.",
                    line=number,
                )  # fmt: skip
            if found is None:
                kept.append(rest)
                break
            kept.append(rest[: found.start()])
            yield start, "\n".join(kept)
            kept, rest = None, rest[found.end() :]
    if kept is not None:
        raise MalformedFileError(path, f"<{name}> is not ended by </{name}>.", line=start)


def _inner(body: str, tags: str) -> str:
    """Return the text of all elements of some names."""
    found = re.findall(rf"(?is)<({tags})\b[^>]*>(.*?)</\1\s*>", body)
    return "\n".join(text for _, inner in found if (text := _plain(inner)))


def _part(body: str, tag: str) -> str:
    """Return the text from a tag, which may stay open, to the next one."""
    found = re.search(rf"(?is)<{tag}\b[^>]*>(.*?)(?=</?[a-z]+\b[^<>]*>|\Z)", body)
    return _plain(found[1]) if found else ""


def _without(body: str, tags: str) -> str:
    return re.sub(rf"(?is)<({tags})\b[^>]*>.*?</\1\s*>", " ", body)


def _plain(text: str) -> str:
    return html.unescape(_TAG.sub(" ", text)).strip()
