"""INDEX of a command: an index in a folder or at a URL, a sharded one, or one of a server."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import softcosine
from softcosine.errors import InvalidInputError, install_command

if TYPE_CHECKING:
    from softcosine.client import RemoteIndex
    from softcosine.cluster.opening import EitherIndex
    from softcosine.encoders.encoder import GivenEncoder
    from softcosine.index.search.searchable import Searchable
    from softcosine.index.soft_index import SoftIndex


_URL = re.compile(r"(https?):/+(.*)")  # a Path has one slash less
_TIMEOUT = 600.0  # seconds; a bulk takes as long as to index its documents


def _address(index: Path) -> tuple[str, str] | None:
    """Return the address of a server and the name of an index, if INDEX is a URL."""
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
    """Return INDEX; InvalidInputError if it is the address of an index of a server."""
    if is_served(index):
        raise InvalidInputError(
            f"this command needs the files of an index, and {name_of(index)} is on a server."
        )
    return index


def refuse(**of_folders: object) -> None:
    """Raise InvalidInputError for options, given for an index of a server, that need its files."""
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


@contextmanager
def any_index(
    index: Path, encoder: GivenEncoder | None = None, **of_folders: object
) -> Iterator[EitherIndex | RemoteIndex]:
    """Open an index in a folder, or connect to one of a server, which takes no `of_folders`."""
    if (place := _address(index)) is None:
        yield open_searchable(index, encoder)
        return
    from softcosine.client import Client

    refuse(encoder=encoder, **of_folders)
    with Client(place[0], timeout=_TIMEOUT) as client:
        yield client.index(place[1])


def open_searchable(
    path: Path, encoder: GivenEncoder | None = None, encoder_cache: Path | None = None
) -> EitherIndex:
    """Open an index, or a sharded one; an encoder needs coordinates of documents."""
    from softcosine.storage.remote import is_sharded

    kind = softcosine.ShardedIndex if is_sharded(path) else softcosine.SoftIndex
    opened = kind.open(path)
    if encoder is None and encoder_cache is None:
        return opened
    if opened.snapshot.meaning is None:
        read_by = encoder if isinstance(encoder, str) else "minilm"
        raise InvalidInputError(
            f"the documents of {path} have no coordinates, so no encoder is needed; run first: "
            f"softcosine admin encode {path} --encoder {read_by}"
        )
    return kind.open(path, encoder=encoder, encoder_cache=encoder_cache)


def one_index(opened: Searchable | RemoteIndex) -> SoftIndex:
    """Return an opened index; InvalidInputError if it is a sharded one."""
    if isinstance(opened, softcosine.SoftIndex):
        return opened
    raise InvalidInputError(
        "--plot and text fields of servers need one index, and this one is sharded."
    )


def facts_of(opened: Searchable | RemoteIndex) -> dict[str, Any] | None:
    """Return what ``info --json`` shows of meaning; None without coordinates."""
    from softcosine.index.search.searchable import Searchable

    if not isinstance(opened, Searchable):
        return cast("dict[str, Any] | None", opened.info()["meaning"])
    return opened.snapshot.meaning_record


def weight_of_meaning(
    facts: Mapping[str, Any] | None, ranking: str, options: Mapping[str, Any]
) -> float:
    """Return the weight of meaning in the scores of a ranking, if queries use it."""
    if facts is None or options.get("ask") == "words":
        return 0.0
    weight = options.get("meaning")
    return float(facts["weights"].get(ranking, 0.0) if weight is None else weight)


def missing_encoder(
    opened: Searchable | RemoteIndex,
    encoder: GivenEncoder | None,
    ranking: str,
    options: Mapping[str, Any],
) -> str:
    """Return why queries are not read by the encoder of an index; empty if they are."""
    from softcosine.index.encoding import how_to_get, light_encoder
    from softcosine.index.search.searchable import Searchable

    if encoder is not None or options.get("ask") or not isinstance(opened, Searchable):
        return ""
    meaning = opened.snapshot.meaning
    if meaning is None or not weight_of_meaning(facts_of(opened), ranking, options):
        return ""
    if meaning.static or light_encoder(meaning.encoder) is not None:
        return ""
    way = "by words alone" if meaning.table is None else "through the query table"
    return f"Searched {way}, because {meaning.encoder} is {how_to_get(meaning.encoder)}."


def better(opened: Searchable, path: str) -> str:
    """Return how to get the encoder in place of the table."""
    from softcosine.encoders.loading import MINILM
    from softcosine.index.encoding import light_encoder

    command = f"softcosine admin encode {path} --encoder minilm"
    if not opened.snapshot.settings.texts:
        command = "index with --encoder minilm, as no texts are stored"
    if light_encoder(MINILM) is None:
        return f"minilm is not installed: {install_command('encoder')}; then {command}."
    return f"To use minilm: {command}."
