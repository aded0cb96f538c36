"""Settings of a server: which folder, which limits, what is allowed."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path

from softcosine._threads import usable_cpus
from softcosine.cluster.opening import ShardOptions
from softcosine.index.defaults import ENCODER


@dataclass(frozen=True, slots=True)
class Limits:
    """Upper limits of requests.

    Attributes
    ----------
    query_bytes : int
        Of a JSON body, except of those below.
    change_bytes : int
        Of a JSON body of similarities.
    body_bytes : int
        Of a JSON body of documents, and of a JSON line.
    bulk_bytes : int
        Of a body of JSON lines.
    answer_bytes : int
        Of the documents that the searches of one request read, and of their answers, together.
    k, offset : int
        Of the hits or documents of one answer.
    query_words, query_characters : int
        Of a query.
    searches : int
        Searches of one multi-search.
    pairs : int
        Pairs of similar documents of one answer.
    timeout_ms : int
        Deadline of a search, its waiting included, also where a request asks for a longer one.
    comparison_ms : int
        Deadline of a task that compares documents with one another, from its start.
    threads : int
        Searches that run at the same time, one thread each.
    waiting : int
        Searches that wait for a thread; further ones are refused.
    writes : int
        Changes of one index that run or wait; further ones are refused.
    writer_seconds : float
        How long a change waits for a writer of another process.
    receive_seconds : float
        How long a client may pause within a body, all pauses together if it sends slowly.
    """

    query_bytes: int = 128 << 10
    change_bytes: int = 1 << 20
    body_bytes: int = 8 << 20
    bulk_bytes: int = 1 << 30
    answer_bytes: int = 64 << 20
    k: int = 1000
    offset: int = 100_000
    query_words: int = 1000
    query_characters: int = 20_000
    searches: int = 32
    pairs: int = 100_000
    timeout_ms: int = 10_000
    comparison_ms: int = 3_600_000
    threads: int = field(default_factory=usable_cpus)
    waiting: int = 64
    writes: int = 16
    writer_seconds: float = 10.0
    receive_seconds: float = 30.0

    def of_comparisons(self) -> Limits:
        """Return the limits of comparisons, of which one runs at a time."""
        return replace(self, threads=1, timeout_ms=self.comparison_ms)


@dataclass(frozen=True, slots=True)
class ServeSettings:
    """Settings of a server.

    Attributes
    ----------
    path : Path
        An index, or a folder of indexes.
    limits : Limits
    read_only : bool
        Whether all changes are refused.
    keys : Path or None
        File of the keys; without it every request may do everything.
    origins : tuple of str
        Web origins that browsers may send requests from (CORS).
    hosts : tuple of str
        Names by which the server may be addressed; any if empty. Without them, a web page could
        reach a server of this host by a name of its own that it lets point here.
    log_queries : bool
        Whether the log has the texts of queries.
    state : Path or None
        Folder of what the processes of one server share: tasks and
        sessions. By default ``.serve`` in the folder of indexes.
    shards : ShardOptions
        Where the shards of sharded indexes are searched.
    encoder : {"auto", "static", "minilm", "none"} or None
        Of new indexes, if a request names none.
    """

    path: Path
    limits: Limits = field(default_factory=Limits)
    read_only: bool = False
    keys: Path | None = None
    origins: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ()
    log_queries: bool = False
    state: Path | None = None
    shards: ShardOptions = field(default_factory=ShardOptions)
    encoder: str | None = ENCODER
