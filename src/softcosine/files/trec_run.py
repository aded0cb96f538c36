"""Lines of runs in TREC's format of six columns: the ranked document ids of each query."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from softcosine.errors import InvalidInputError

# Readers drop a byte order mark, and no text file contains NUL.
_RUN_ID = re.compile("(?!\ufeff)[^\\s\0\ud800-\udfff]+")


def trec_run(rankings: Mapping[str, Sequence[str]], name: str, *, first: int = 1) -> str:
    """Return the lines of a run; ranks begin at `first`, and scores of each query descend to 1."""
    tag = "_".join(name.split()) or "run"
    return "".join(
        f"{query} Q0 {id} {first + place} {len(ids) - place} {tag}\n"
        for query, ids in rankings.items()
        for place, id in enumerate(ids)
    )


def check_trec_ids(what: str, ids: Iterable[str]) -> None:
    """Raise InvalidInputError if an id is not valid in a run."""
    for id in ids:
        if not _RUN_ID.fullmatch(id):
            raise InvalidInputError(
                f"a TREC run cannot hold {id!r}, the id of a {what}: its columns are separated by "
                "white space. Give ids of UTF-8 text, not empty, without white space or NUL."
            )
