"""Readers and writers of TREC formats: documents, topics and runs.

The formats look like SGML, but tags can stay open and texts contain bare ampersands. So the
readers search for tags line by line, like the tools of the tracks.
"""

from __future__ import annotations

import html
import math
import re
from collections.abc import Iterator
from pathlib import Path

from softcosine._textio import numbered_lines
from softcosine.errors import MalformedFileError

# Names of topic fields in the tracks. TREC-COVID's query and question are the title and description
# of other tracks.
TOPIC_FIELDS = {
    "title": "title",
    "description": "description",
    "narrative": "narrative",
    "query": "title",
    "question": "description",
}

_TAG = re.compile(r"</?[A-Za-z][^<>]*>")
_TITLE_TAGS = "TITLE|HEADLINE|TTL|HL|TI"
_TEXT_TAGS = "TEXT|BODY|ABSTRACT|AB"
_LEADS = {  # tags of each topic field, and an optional prefix of its text
    "title": ("title|query", r"Topic:"),
    "description": ("desc|description|question", r"Description:?"),
    "narrative": ("narr|narrative", r"Narrative:?"),
}
_NUMBER = re.compile(r"""(?i)\snumber\s*=\s*(["'])(.*?)\1""")


def read_trec_documents(
    path: Path, *, encoding: str = "utf-8"
) -> Iterator[tuple[int, str, str, str]]:
    """Yield the first line, id, title and text of each ``<DOC>``.

    The id is in ``<DOCNO>``, the title in ``<TITLE>`` or ``<HEADLINE>``, the text in ``<TEXT>``
    elements; without these, the text is the rest of the document.

    Raises
    ------
    MalformedFileError
        If a document has no id or no end tag.
    """
    for start, _, body in _elements(path, "DOC", encoding):
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
    """Yield the first line, number and fields (title, description, narrative) of each topic.

    A topic is a ``<top>`` with ``<num>``, ``<title>``, ``<desc>`` and ``<narr>``, or, as in
    TREC-COVID's topics.xml, a ``<topic number="1">`` with ``<query>``, ``<question>`` and
    ``<narrative>``. Missing fields are empty.

    Raises
    ------
    MalformedFileError
        If a topic has no number or no end tag.
    """
    for start, tag, body in _elements(path, "top|topic", encoding):
        named = _NUMBER.search(tag)
        id = _plain(named[2]) if named else re.sub(r"(?i)^number:\s*", "", _part(body, "num"))
        if not id:
            raise MalformedFileError(
                path, 'this topic has no <num>, and no number as in <topic number="1">.', line=start
            )
        parts = {
            field: re.sub(rf"(?i)^{lead}\s*", "", _part(body, tags))
            for field, (tags, lead) in _LEADS.items()
        }
        yield start, id, parts


def read_trec_run(path: Path, *, encoding: str = "utf-8") -> dict[str, list[str]]:
    """Return the ranked documents of every query from a run in six columns.

    The columns are query, Q0, document, rank, score, name. Documents are ordered by score, equal
    scores by rank.

    Raises
    ------
    MalformedFileError
        If a line is malformed; the message has its number.
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


def _elements(path: Path, names: str, encoding: str) -> Iterator[tuple[int, str, str]]:
    """Yield the first line, opening tag and content of every element of the given names."""
    first = opening = closing = re.compile(rf"(?i)<({names})\b[^>]*>")
    kept: list[str] | None = None
    start, tag, name = 0, "", ""
    for number, line in numbered_lines(path, encoding=encoding):
        rest = line
        while rest:
            if kept is None:
                found = first.search(rest)
                if found is None:
                    break
                kept, start, rest = [], number, rest[found.end() :]
                tag, name = found[0], found[1]
                opening = re.compile(rf"(?i)<{name}\b[^>]*>")
                closing = re.compile(rf"(?i)</{name}\s*>")
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
            yield start, tag, "\n".join(kept)
            kept, rest = None, rest[found.end() :]
    if kept is not None:
        raise MalformedFileError(path, f"<{name}> is not ended by </{name}>.", line=start)


def _inner(body: str, tags: str) -> str:
    """Return the text of all elements of the given names."""
    found = re.findall(rf"(?is)<({tags})\b[^>]*>(.*?)</\1\s*>", body)
    return "\n".join(text for _, inner in found if (text := _plain(inner)))


def _part(body: str, tags: str) -> str:
    """Return the text from one of the tags to the next tag; the tag can stay open."""
    found = re.search(rf"(?is)<(?:{tags})\b[^>]*>(.*?)(?=</?[a-z]+\b[^<>]*>|\Z)", body)
    return _plain(found[1]) if found else ""


def _without(body: str, tags: str) -> str:
    return re.sub(rf"(?is)<({tags})\b[^>]*>.*?</\1\s*>", " ", body)


def _plain(text: str) -> str:
    return html.unescape(_TAG.sub(" ", text)).strip()
