"""``softcosine search http://host:8080/faq``: an index of ``softcosine serve`` as INDEX."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from softcosine.errors import InvalidInputError

if TYPE_CHECKING:
    from softcosine.client import RemoteIndex
    from softcosine.index.search.explanation import Explanation
    from softcosine.index.search.results import Hits
    from softcosine.index.search.searchable import Searchable

__all__ = [
    "any_index",
    "in_a_folder",
    "is_served",
    "name_of",
    "served_index",
    "show_served_hits",
    "weight_of_meaning",
    "written_there",
]

_URL = re.compile(r"(https?):/+(.*)")  # a Path has one slash less
_TIMEOUT = 600.0  # seconds; a bulk takes as long as to index its documents


def _address(index: Path) -> tuple[str, str] | None:
    """Return the address of a server and the name of an index, if INDEX is a URL.

    Raises
    ------
    InvalidInputError
        If it is the address of a server alone.
    """
    if (match := _URL.fullmatch(index.as_posix())) is None:
        return None
    host, slash, name = match[2].rpartition("/")
    if not slash:
        raise InvalidInputError(
            f"{match[1]}://{name} names no index; add its name: {match[1]}://{name}/faq."
        )
    return f"{match[1]}://{host}", name


def is_served(index: Path) -> bool:
    """Return whether INDEX is the address of an index of a server."""
    return _address(index) is not None


def name_of(index: Path) -> str:
    """Return INDEX as it is shown: an address, a URL, or a path."""
    from softcosine.storage.remote import url_of

    place = _address(index)
    return (url_of(index) or str(index)) if place is None else "/".join(place)


def in_a_folder(index: Path) -> Path:
    """Return INDEX; InvalidInputError if it is a URL."""
    if is_served(index):
        raise InvalidInputError(
            f"this command needs the files of an index, and {name_of(index)} is on a server; run "
            "it there, and name the folder."
        )
    return index


@contextmanager
def served_index(index: Path, **of_folders: object) -> Iterator[RemoteIndex]:
    """Connect to an index of a server.

    Parameters
    ----------
    index : Path
        Its address.
    **of_folders
        Values of the options that need the files of the index; None or False if not given.

    Raises
    ------
    InvalidInputError
        If one of these options is given.
    """
    given = [
        f"--{name.replace('_', '-')}"
        for name, value in of_folders.items()
        if value is not None and value is not False
    ]
    if given:
        raise InvalidInputError(
            f"{' and '.join(given)} {'is' if len(given) == 1 else 'are'} for an index in a folder; "
            f"leave {'it' if len(given) == 1 else 'them'} out."
        )
    from softcosine.client import Client

    place = _address(index)
    assert place is not None
    with Client(place[0], timeout=_TIMEOUT) as client:
        yield client.index(place[1])


@contextmanager
def any_index(index: Path, **of_folders: object) -> Iterator[Searchable | RemoteIndex]:
    """Open an index in a folder, also a sharded one, or connect to one of a server."""
    if is_served(index):
        with served_index(index, **of_folders) as served:
            yield served
        return
    from softcosine.cli.meaning import open_searchable

    yield open_searchable(index)


def show_served_hits(
    facts: Mapping[str, Any],
    find: Callable[[], Hits],
    why: Callable[[str], Explanation] | None,
    *,
    meaning: float | None,
    plan: bool = False,
    more: Iterable[str] = (),
    as_json: bool,
) -> None:
    """Search an index of a server, and print the hits.

    Parameters
    ----------
    facts : mapping
        The state of the index.
    find : callable
    why : callable, optional
        Explains a hit.
    meaning : float or None
        Value of ``--meaning``.
    plan, as_json : bool
    more : iterable of str
        Notes on the query besides those of the hits.
    """
    from softcosine.cli.output import hits_record, print_json, show_hits

    started = time.perf_counter()
    hits = find()
    seconds = time.perf_counter() - started
    explanations = [] if why is None else [why(hit.id) for hit in hits]
    weight = weight_of_meaning(facts, hits.ranking, meaning) if hits.plan.ask != "words" else 0.0
    if as_json:
        print_json(hits_record(hits, seconds, explanations, plan=plan, meaning=weight))
    else:
        show_hits(
            hits, facts["documents"], seconds, explanations, plan=plan, more=more, meaning=weight
        )  # fmt: skip


def weight_of_meaning(facts: Mapping[str, Any], ranking: str, given: float | None) -> float:
    """Return the weight of meaning in the scores of a ranking."""
    if facts["meaning"] is None:
        return 0.0
    return float(facts["meaning"]["weights"].get(ranking, 0.0)) if given is None else given


def written_there(served: RemoteIndex, index: Path, started: float) -> dict[str, Any]:
    """Return what the summary of every change of an index of a server contains."""
    facts = served.info()
    return {
        "index": name_of(index),
        **{key: facts[key] for key in ("documents", "segments", "generation")},
        "seconds": time.perf_counter() - started,
    }
