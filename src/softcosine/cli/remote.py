"""``softcosine search http://host:8080/faq``: an index of ``softcosine serve`` as INDEX."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

__all__ = ["search_remotely", "server_address"]

_URL = re.compile(r"(https?):/+(.+)/([^/]+)")  # a Path has one slash less


def server_address(index: Path) -> tuple[str, str] | None:
    """Return the address of a server and the name of an index, if INDEX is a URL."""
    match = _URL.fullmatch(index.as_posix())
    return None if match is None else (f"{match[1]}://{match[2]}", match[3])


def search_remotely(
    place: tuple[str, str],
    queries: Iterable[str],
    options: dict[str, Any],
    explaining: dict[str, Any] | None,
    *,
    plan: bool,
    as_json: bool,
    heading: Callable[..., None] | None,
) -> None:
    """Search an index of a server, and print the results.

    Parameters
    ----------
    place : (address, name)
    queries : iterable of str
    options : dict
        Of `SoftIndex.search`.
    explaining : dict, optional
        Of `SoftIndex.explain`, to show the parts of each score.
    plan, as_json : bool
    heading : callable, optional
        Prints a query above its results.
    """
    from softcosine.cli.output import hits_record, print_json, show_hits
    from softcosine.client import Client

    with Client(place[0]) as client:
        index = client.index(place[1])
        facts = index.info()
        weights = (facts["meaning"] or {"weights": {}})["weights"]
        for number, query in enumerate(queries):
            started = time.perf_counter()
            hits = index.search(query, **options)
            seconds = time.perf_counter() - started
            why = [] if explaining is None else [
                index.explain(query, hit.id, **explaining) for hit in hits
            ]  # fmt: skip
            given = options["meaning"]
            weight = weights.get(hits.ranking, 0.0) if given is None else given
            meaning = 0.0 if hits.plan.ask == "words" else weight
            if as_json:
                print_json(hits_record(hits, seconds, why, plan=plan, meaning=meaning))
                continue
            if heading is not None:
                heading(query, first=number == 0)
            show_hits(hits, facts["documents"], seconds, why, plan=plan, meaning=meaning)
