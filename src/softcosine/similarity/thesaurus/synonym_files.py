"""Readers of synonym files: Solr rules, weighted tables and JSON lines, paraphrase lists."""

from __future__ import annotations

import json
import re
import warnings
from collections.abc import Iterator
from os import PathLike
from pathlib import Path
from typing import Any

from softcosine._progress import Progress
from softcosine._textio import comma_cells, numbered_lines, tab_cells
from softcosine._validation import check_choice, check_number
from softcosine.errors import InvalidInputError, MalformedFileError, SoftCosineWarning
from softcosine.storage import checked_path

# Terms that are all similar to each other, and their similarity.
Group = tuple[list[str], float]

_ESCAPED = re.compile(r"\\(.)")
_ONE_WAY = "{} has rules with =>: similarities have no direction, so both sides find each other."
_LEFT = ("left", "word1", "term1", "a", "word", "term", "source", "from")
_RIGHT = ("right", "word2", "term2", "b", "synonym", "similar", "antonym", "target", "to")
_WEIGHT = ("weight", "similarity", "score")


def read_groups(
    path: str | PathLike[str],
    *,
    weight: float,
    format: str | None = None,
    progress: Progress | None = None,
) -> Iterator[Group]:
    r"""Return an iterator over the groups of similar terms of a file.

    ========== ====================================================================================
    ``solr``   rules of Solr and Elasticsearch. In ``tyre, tire`` the terms are similar to each
               other; in ``pc, laptop => computer`` each term on the left is similar to each on
               the right, in both directions, which a warning says. A line that starts with ``#``
               is a comment; a backslash escapes a comma, ``=>`` and a backslash
    ``csv``    one pair of terms per line, with an optional weight; with or without a header
    ``tsv``    the same with tabs
    ``jsonl``  per line a JSON list of two terms and an optional weight, or an object with the
               fields ``left``, ``right`` (or ``word1``, ``word2``; ``word``, ``synonym``; ...) and
               optionally ``weight``
    ``ppdb``   fields separated by ``|||``: a phrase, its paraphrase and an optional weight; or
               lines of the Paraphrase Database, which start with a category in brackets. Their
               scores are ignored, and phrases that contain categories are skipped
    ``lists``  terms separated by white space: the first is similar to each of the others
    ========== ====================================================================================

    Text is UTF-8, gzipped or not. Blank lines are skipped.

    Parameters
    ----------
    path : path
    weight : float
        Similarity of pairs without a weight in the file, in (0, 1].
    format : str, optional
        One of the above. By default detected from the suffix for ``csv``, ``tsv`` and ``jsonl``.
        For other files the first line without a comment decides: ``|||`` means ``ppdb``, a tab
        ``tsv``, a comma or an arrow ``solr``, anything else ``lists``.
    progress : callable, optional
        Called as ``progress(done, total)``, in bytes of the file on disk.

    Returns
    -------
    iterator of (list of str, float)
        Terms as written, and their similarity in [0, 1]. The file is read lazily.

    Raises
    ------
    FileNotFoundError
        If the file does not exist.
    InvalidInputError
        If the format is not one of the above, or `weight` is out of range.
    MalformedFileError
        If a line violates the format. The message names the line.
    """
    path = checked_path(path)
    check_number("weight", weight, above=0, most=1)
    if format is None:
        format = format_of(path)
    check_choice("synonym format", format, FORMATS)
    return _groups(path, format, weight, progress)


def _groups(path: Path, format: str, weight: float, progress: Progress | None) -> Iterator[Group]:
    cut, first = _CELLS.get(format), True
    for number, line in numbered_lines(path, progress=progress):
        if line.startswith("#") and format != "jsonl":
            continue
        try:
            if cut is None:
                yield from _PARSERS[format](line, weight)
                if format == "solr" and _split(line, "=>")[1:]:
                    warnings.warn(_ONE_WAY.format(path.name), SoftCosineWarning, stacklevel=2)
                continue
            cells = cut(path, number, line)
            if not (first and _is_header(cells)):
                yield _pair(cells, weight)
            first = False
        except InvalidInputError as error:
            raise MalformedFileError(path, str(error), line=number) from None


def format_of(path: str | PathLike[str]) -> str:
    """Return the format of a file, detected from its suffix or its first line."""
    path = checked_path(path)
    name = path.name.lower().removesuffix(".gz")
    for ending, format in ((".csv", "csv"), (".tsv", "tsv"), (".jsonl", "jsonl")):
        if name.endswith(ending):
            return format
    for _, line in numbered_lines(path):
        if line.startswith("#"):
            continue
        for sign, format in (("|||", "ppdb"), ("\t", "tsv"), ("=>", "solr"), (",", "solr")):
            if sign in line:
                return format
        return "lists"
    return "solr"  # comments only


def _solr_rule(line: str, weight: float) -> Iterator[Group]:
    sides = _split(line, "=>")
    if len(sides) > 2:
        raise InvalidInputError(f"{line!r} has more than one =>; write one mapping a line.")
    terms = [[_ESCAPED.sub(r"\1", term).strip() for term in _split(side, ",")] for side in sides]
    if not all(term for side in terms for term in side):
        raise InvalidInputError(f"{line!r} has an empty term; separate terms by single commas.")
    if len(terms) == 1:
        yield terms[0], weight
    else:
        yield from (([left, right], weight) for left in terms[0] for right in terms[1])


def _split(text: str, separator: str) -> list[str]:
    """Split at separators without a preceding backslash."""
    pieces, start, place = [], 0, 0
    while place < len(text):
        if text[place] == "\\":
            place += 2
        elif text.startswith(separator, place):
            pieces.append(text[start:place])
            place = start = place + len(separator)
        else:
            place += 1
    return [*pieces, text[start:]]


def _is_header(cells: list[str]) -> bool:
    """Whether the first line names the columns."""
    names = [cell.casefold() for cell in cells]
    if len(names) == 3 and names[2] in _WEIGHT:
        return True
    return len(names) == 2 and names[0] in _LEFT and names[1] in _RIGHT


def _pair(cells: list[Any], weight: float) -> Group:
    """Return two terms and their checked weight."""
    if len(cells) not in (2, 3) or not all(isinstance(c, str) and c.strip() for c in cells[:2]):
        raise InvalidInputError(
            f"{cells!r} is not two terms and optionally a weight; needed is one pair a line "
            "(for lists of equivalent terms pass format='solr')."
        )
    if len(cells) == 3:
        weight = _weight(cells[2])
    return [cells[0].strip(), cells[1].strip()], weight


def _weight(value: Any) -> float:
    try:
        found = float(value)
    except (TypeError, ValueError, OverflowError):
        found = float("nan")
    if isinstance(value, bool) or not 0.0 <= found <= 1.0:
        raise InvalidInputError(f"the weight is {value!r}; needed is a number in [0, 1].")
    return found


def _json_pair(line: str, weight: float) -> Iterator[Group]:
    try:
        record = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise InvalidInputError(f"not JSON: {error}") from None
    if isinstance(record, dict):
        names = [
            next((name for name in choice if name in record), None)
            for choice in (_LEFT, _RIGHT, _WEIGHT)
        ]
        if names[0] is None or names[1] is None:
            raise InvalidInputError(
                f"{line!r} does not name two terms; needed are the fields left and right, and "
                "optionally weight."
            )
        record = [record[name] for name in names if name is not None]
    if not isinstance(record, list):
        raise InvalidInputError(f"{line!r} is neither a list nor an object of two terms.")
    yield _pair(record, weight)


def _paraphrase(line: str, weight: float) -> Iterator[Group]:
    cells = [cell.strip() for cell in line.split("|||")]
    if len(cells) > 2 and cells[0].startswith("[") and cells[0].endswith("]"):
        cells = cells[1:3]  # Paraphrase Database: its scores are not similarities
        if any("[" in cell for cell in cells):
            return  # a grammar rule with placeholders
    elif len(cells) > 3:
        cells = cells[:2]
    yield _pair(cells, weight)


def _list(line: str, weight: float) -> Iterator[Group]:
    head, *others = line.split()
    yield [head], weight  # known, even without neighbours
    yield from (([head, other], weight) for other in others)


FORMATS = ("solr", "csv", "tsv", "jsonl", "ppdb", "lists")
_CELLS = {"csv": comma_cells, "tsv": tab_cells}  # of a line of a table
_PARSERS = {"solr": _solr_rule, "jsonl": _json_pair, "ppdb": _paraphrase, "lists": _list}
