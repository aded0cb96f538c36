"""`load`: reader of data sets that recognises their kind by their files."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from softcosine._validation import check_choice
from softcosine.errors import InvalidInputError, MalformedFileError
from softcosine.evaluate.datasets.classification import ClassificationSet, read_classification
from softcosine.evaluate.datasets.collections import read_collection
from softcosine.evaluate.datasets.lines import first_line
from softcosine.evaluate.datasets.pairs import PairSet, WordPairSet, pair_layout, read_pairs
from softcosine.evaluate.datasets.questions import read_questions
from softcosine.evaluate.datasets.ranking import RankingSet
from softcosine.files import parsed_json

DataSet = RankingSet | ClassificationSet | PairSet
KINDS = ("retrieval", "questions", "classification", "pairs", "words")

# Beginnings of the names of the files or folders of a collection.
_PARTS = {
    "documents": ("corpus", "documents", "docs", "collection"),
    "queries": ("queries", "topics", "query", "topic"),
    "qrels": ("qrels", "qrel"),
}
_SKIPPED = (".md", ".py", ".png", ".html", ".bin", ".zip", ".tar")

UNDERSTOOD = (
    "Understood are folders with documents (corpus.jsonl, or TREC's), queries (or topics) and "
    "qrels; and files, compressed or not: questions with candidates (JSON lines with orgq_id and "
    "relq_id), documents with labels (JSON lines with label and text), pairs of sentences (score "
    "and two sentences, with tabs), pairs of words (two words and a score)"
)


def load(
    path: str | Path,
    *,
    kind: str | None = None,
    split: str | None = None,
    grades: str | None = None,
    topic_fields: Sequence[str] = ("title",),
    encoding: str = "utf-8",
) -> DataSet:
    """Return the data set in a file or folder.

    Parameters
    ----------
    path : str or Path
        A file, or a folder with the files of one data set.
    kind : str, optional
        One of `KINDS`: ``retrieval``, ``questions``, ``classification``, ``pairs`` or ``words``.
        Default: recognised by the files.
    split : str, optional
        The split to score, such as ``test``. Default: ``test`` for documents with labels, all
        queries for queries; `RankingSet.part` selects splits of those.
    grades : str, optional
        Scale of the judgements, ``gains`` or ``cleverdon``; see
        `softcosine.evaluate.datasets.grades`.
    topic_fields : sequence of str
        Fields of TREC topics that make the query: title (or query), description (or question) and
        narrative.
    encoding : str
        Encoding of the text files.

    Raises
    ------
    MalformedFileError
        If a file is malformed; the message has its name and the line.
    InvalidInputError
        If the kind is not recognised, or the split does not exist.
    FileNotFoundError
        If the path does not exist.

    Examples
    --------
    >>> load("cranfield")  # doctest: +SKIP
    <RankingSet cranfield: 1,400 documents, 225 judged queries>
    """
    given = Path(path)
    if not given.exists():
        raise FileNotFoundError(f"{given} does not exist.")
    check_choice("kind", kind, KINDS, optional=True)
    found, place = _recognized(given, kind, encoding)
    if found == "classification":
        return read_classification(place, split=split, encoding=encoding)
    if found in ("pairs", "words"):
        if split is not None:
            raise InvalidInputError(f"{place} has no part {split!r}: a file of pairs is one.")
        pairs = read_pairs(place, encoding=encoding)
        if found == "pairs":
            return pairs
        return WordPairSet(pairs.name, pairs.left, pairs.right, pairs.scores, pairs.background)
    if found == "questions":
        whole = read_questions(place, encoding=encoding)
    else:
        whole = _retrieval(place, grades, topic_fields, encoding)
    return whole if split is None else whole.part(split)


def _recognized(path: Path, kind: str | None, encoding: str) -> tuple[str, Path]:
    """Return the kind of the data set at a path, and its file or folder."""
    if path.is_file():
        found = kind or _kind_of_line(path, first_line(path, encoding=encoding))
        if found is None:
            raise InvalidInputError(f"{path}: it cannot be told what this file is. {UNDERSTOOD}.")
        return found, path
    parts = _parts_of(path)
    if kind == "retrieval" or (kind is None and all(parts.values())):
        return "retrieval", path
    there = [part for part, files in parts.items() if files]
    missing = [part for part in parts if part not in there]
    if kind is None and len(missing) == 1:
        raise InvalidInputError(
            f"{path} has {' and '.join(there)} but no {missing[0]}; needed is a file or folder "
            f"whose name begins with {_beginnings(missing)}."
        )
    files = [
        file
        for file in sorted(path.iterdir())
        if file.is_file() and not file.name.startswith(".") and file.suffix not in _SKIPPED
    ]
    sets = [(found, file) for file in files if (found := _kind_of(file, encoding)) is not None]
    if kind is not None:
        sets = [(found, file) for found, file in sets if found == kind]
    if len(sets) == 1:
        return sets[0]
    if sets:
        shown = ", ".join(file.name for _, file in sets[:12])
        raise InvalidInputError(f"{path} holds {len(sets)} data sets; name one of: {shown}.")
    shown = ", ".join(file.name for file in files[:12]) or "no files"
    raise InvalidInputError(f"{path} holds no data set, but {shown}. {UNDERSTOOD}.")


def _kind_of(path: Path, encoding: str) -> str | None:
    try:
        return _kind_of_line(path, first_line(path, encoding=encoding))
    except MalformedFileError:
        return None


def _kind_of_line(path: Path, line: str) -> str | None:
    if not line.lstrip().startswith("{"):
        layout = pair_layout(line)
        return None if layout is None else "words" if layout.words else "pairs"
    try:
        found = parsed_json(line)
    except ValueError as error:
        raise MalformedFileError(
            path,
            f"its first line is no JSON ({error}); every line must be one object.",
        ) from error
    if "orgq_id" in found:
        return "questions"
    return "classification" if "label" in found and "text" in found else None


def _beginnings(parts: Iterable[str]) -> str:
    return "; ".join(" or ".join(_PARTS[part]) for part in parts)


def _parts_of(folder: Path) -> dict[str, list[Path]]:
    """Return the files of documents, queries and qrels in a folder; lists can be empty."""
    parts: dict[str, list[Path]] = {}
    for part, beginnings in _PARTS.items():
        found = [
            entry
            for entry in sorted(folder.iterdir())
            if entry.name.lower().startswith(beginnings) and entry.suffix not in _SKIPPED
        ]
        parts[part] = [file for entry in found for file in _files(entry)]
    return parts


def _files(entry: Path) -> list[Path]:
    if entry.is_file():
        return [entry]
    return sorted(
        file for file in entry.rglob("*") if file.is_file() and not file.name.startswith(".")
    )


def _retrieval(
    path: Path, grades: str | None, topic_fields: Sequence[str], encoding: str
) -> RankingSet:
    parts = _parts_of(path) if path.is_dir() else {}
    if not parts or not all(parts.values()):
        raise InvalidInputError(
            f"{path} is no folder of a retrieval collection: it needs files or folders that begin "
            f"with {_beginnings(_PARTS)}."
        )
    return read_collection(
        parts["documents"], parts["queries"], parts["qrels"], name=path.resolve().name,
        grades=grades, topic_fields=topic_fields, encoding=encoding,
    )  # fmt: skip
