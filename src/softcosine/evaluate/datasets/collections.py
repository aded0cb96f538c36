"""Reader of retrieval collections: documents, queries and judgements."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

from softcosine._textio import numbered_lines
from softcosine._validation import check_choice
from softcosine.errors import DuplicateIdError, InvalidInputError, MalformedFileError
from softcosine.evaluate.datasets.grades import CLEVERDON, GAINS, GRADES, grades_of
from softcosine.evaluate.datasets.lines import (
    first_line,
    kept_fields,
    stem,
)
from softcosine.evaluate.datasets.ranking import RankingSet, known_judgements
from softcosine.evaluate.datasets.trec import (
    TOPIC_FIELDS,
    read_trec_documents,
    read_trec_topics,
)
from softcosine.evaluate.documents import Documents
from softcosine.files import Fields, RecordReader, read_records

# Line number, id, title and text of each document or query.
_Texts = Iterator[tuple[int, str, str, str]]


def read_collection(
    documents: Sequence[Path],
    queries: Sequence[Path],
    qrels: Sequence[Path],
    *,
    name: str,
    grades: str | None = None,
    topic_fields: Sequence[str] = ("title",),
    encoding: str = "utf-8",
) -> RankingSet:
    """Return a collection from its files; the first line of a file determines its format.

    Parameters
    ----------
    documents : sequence of Path
        JSON lines (``id`` or ``_id``, ``text``, optionally ``title``), TREC (``<DOC>``), or lines
        of id, tab and text.
    queries : sequence of Path
        The same formats, with ``<top>`` for TREC topics.
    qrels : sequence of Path
        Query, document and gain, separated by tabs, with or without a header; or TREC's four
        columns. Each of several files is a split, named after the file (``test.tsv``).
    name : str
    grades : str, optional
        Scale of the judgements, ``gains`` or ``cleverdon``; default: by the name of the collection,
        see `softcosine.evaluate.datasets.grades`.
    topic_fields : sequence of str
        Fields of TREC topics that make the query: title (or query), description (or question) and
        narrative.
    encoding : str

    Raises
    ------
    MalformedFileError
        If a line is malformed, or a topic has none of `topic_fields`; the message has the line.
    DuplicateIdError
        If two ids are equal.
    InvalidInputError
        If there is no judgement of a known query and document.
    """
    for field in topic_fields:
        check_choice("the field of a topic", field, TOPIC_FIELDS)
    if not topic_fields:
        raise InvalidInputError(f"name what of a topic is asked: {', '.join(TOPIC_FIELDS)}.")
    chosen = grades_of(name) if grades is None else grades
    check_choice("grades", chosen, GRADES)
    found = _read_texts(documents, _DOCUMENTS, "documents", encoding)
    asked = _read_texts(queries, _queries_by(topic_fields), "queries", encoding)
    judged: dict[str, dict[str, float]] = {}
    splits: dict[str, str] = {}
    for path in qrels:
        for query, own in read_qrels(path, grades=chosen, encoding=encoding).items():
            if query in judged:
                raise InvalidInputError(
                    f"{path} judges query {query!r}, and so does the part {splits[query]!r}; a "
                    "query belongs to one part. Name the files of judgements that are meant."
                )
            judged[query] = own
            splits[query] = _part_of(path)
    if not judged:
        raise InvalidInputError(f"{', '.join(map(str, qrels))}: there are no judgements in it.")
    kept, notes = known_judgements(judged, found, asked)
    if not kept:
        raise InvalidInputError(
            f"none of the {len(judged):,} judged queries of {name} is among its {len(asked):,} "
            "queries with a document that it has; do the ids fit each other?"
        )
    if chosen == CLEVERDON:
        notes = ("Cleverdon's codes were read: gain 4, 3, 2, 1 for 1 to 4, and 0 for -1", *notes)
    return RankingSet(
        name, found, asked, kept, notes=notes,
        splits={id: splits[id] for id in asked.ids if id in kept} if len(qrels) > 1 else None,
    )  # fmt: skip


def read_qrels(
    path: Path, *, grades: str = GAINS, encoding: str = "utf-8"
) -> dict[str, dict[str, float]]:
    """Return judgements: for every query, the gain of each document, or `NOT_JUDGED`.

    Raises
    ------
    MalformedFileError
        If a line is malformed, or contradicts an earlier one; the message has the line.
    """
    found: dict[str, dict[str, float]] = {}
    tabs = True
    for position, (number, line) in enumerate(numbered_lines(path, encoding=encoding)):
        if not position:
            tabs = "\t" in line
        row = [value.strip() for value in (line.split("\t") if tabs else line.split())]
        if len(row) not in (3, 4):
            raise MalformedFileError(
                path,
                f"this line has {len(row)} columns; needed are query, document and gain, or "
                "TREC's query, 0, document and gain.",
                line=number,
            )
        query, document, code = row[0], row[-2], row[-1]
        value = _number(code)
        if value is None and not position:  # a header
            continue
        if value is None or not math.isfinite(value):
            raise MalformedFileError(
                path, f"the gain is {code[:40]!r}; a number was needed.", line=number
            )
        try:
            gain = GRADES[grades](value)
        except ValueError as error:
            raise MalformedFileError(path, f"{error}.", line=number) from None
        own = found.setdefault(query, {})
        if own.setdefault(document, gain) != gain:
            raise MalformedFileError(
                path,
                f"document {document!r} is judged twice for query {query!r}, and otherwise.",
                line=number,
            )
    return found


def _number(text: str) -> float | None:
    """Return a number, as int if it is whole; None if the text is not a number."""
    try:
        value = float(text)
    except ValueError:
        return None
    return int(value) if value.is_integer() else value


_Reader = Callable[[Path, str], _Texts]


def _read_texts(
    paths: Sequence[Path], readers: dict[str, _Reader], what: str, encoding: str
) -> Documents:
    ids: dict[str, None] = {}
    columns: dict[str, list[str]] = {"title": [], "text": []}
    for path in paths:
        kind = _format(first_line(path, encoding=encoding))
        if kind not in readers:
            raise MalformedFileError(
                path,
                f"these are no {what}; needed are lines of JSON, TREC's tags, or an id and a text "
                "with a tab between.",
                line=1,
            )
        for number, id, title, text in readers[kind](path, encoding):
            if id in ids:
                raise DuplicateIdError(f"{path}, line {number}: the id {id!r} comes twice.")
            ids[id] = None
            columns["title"].append(title)
            columns["text"].append(text)
    if not ids:
        raise InvalidInputError(f"{', '.join(map(str, paths))}: there are no {what} in it.")
    return Documents(tuple(ids), kept_fields(columns))


def _format(line: str) -> str:
    start = line.lstrip()[:1]
    return {"{": "json", "<": "trec"}.get(start, "tabs" if "\t" in line else "")


def _json(path: Path, encoding: str) -> _Texts:
    reader = RecordReader(Fields(separate=True))
    for record in read_records(str(path), format="jsonl", encoding=encoding):
        texts, id = reader.text(record), reader.id(record)
        if id is None:
            raise MalformedFileError(path, "'id' (or '_id') is missing.", line=record.line)
        assert isinstance(texts, dict)
        assert record.line is not None
        yield record.line, id, texts.get("title", ""), texts["text"]


def _tabs(path: Path, encoding: str) -> _Texts:
    for number, line in numbered_lines(path, encoding=encoding):
        id, tab, text = line.partition("\t")
        if not tab:
            raise MalformedFileError(path, "no tab stands between id and text.", line=number)
        yield number, id.strip(), "", text.replace("\t", " ").strip()


def _trec(path: Path, encoding: str) -> _Texts:
    return read_trec_documents(path, encoding=encoding)


def _queries_by(fields: Iterable[str]) -> dict[str, _Reader]:
    asked = tuple(fields)
    wanted = tuple(dict.fromkeys(TOPIC_FIELDS[field] for field in asked))

    def topics(path: Path, encoding: str) -> _Texts:
        for number, id, parts in read_trec_topics(path, encoding=encoding):
            text = "\n".join(parts[field] for field in wanted if parts[field])
            if not text:
                there = ", ".join(field for field, own in parts.items() if own) or "nothing"
                raise MalformedFileError(
                    path,
                    f"topic {id} has no {' or '.join(asked)} to ask; of the fields of topics it "
                    f"has {there}.",
                    line=number,
                )
            yield number, id, "", text

    return {**_DOCUMENTS, "trec": topics}


def _part_of(path: Path) -> str:
    """Return the split in a file name: test.tsv, qrels.test.txt, qrels-dev.tsv."""
    shown = stem(path) if stem(path) != "qrels" else path.name
    for piece in reversed(shown.replace("-", ".").replace("_", ".").split(".")):
        if piece not in ("gz", "tsv", "txt", "qrels", "qrel", ""):
            return piece
    return path.name


_DOCUMENTS: dict[str, _Reader] = {"json": _json, "trec": _trec, "tabs": _tabs}
