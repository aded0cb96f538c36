"""PostgreSQL: a table of postings, searched by plain SQL; coordinates where pgvector is there."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from importlib.util import find_spec
from itertools import pairwise
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from softcosine.errors import InvalidInputError, MissingDependencyError, ServerError
from softcosine.index.query.filters import Where
from softcosine.servers.address import ServerAddress, is_loopback
from softcosine.servers.documents import ServerDocument
from softcosine.servers.marker import Marker
from softcosine.servers.server import Candidates, Failure
from softcosine.servers.storable_text import escaped_id, original_id, storable_json, storable_text

if find_spec("psycopg") is None:
    raise MissingDependencyError("psycopg", "postgres", "PostgreSQL")

import psycopg
from psycopg import errors
from psycopg.sql import SQL, Composable, Identifier, Literal

from softcosine.servers.postgresql_filters import filter_of

__all__ = ["PostgreSQL"]

_T = TypeVar("_T")

_WAIT = "10s"  # for the lock of another sync
_BUSY = (errors.LockNotAvailable, errors.DuplicateTable, errors.UniqueViolation)
# A row of the binary format of COPY: the number of columns, and each value after its size.
_ROW = np.dtype(
    [("n", ">i2"), ("n0", ">i4"), ("term", ">i4"), ("n1", ">i4"), ("document", ">i4"),
     ("n2", ">i4"), ("impact", ">f4")]
)  # fmt: skip
_COPY_HEADER = b"PGCOPY\n\xff\r\n\0" + bytes(8)
_COPY_END = b"\xff\xff"

_TABLES = (
    """CREATE TABLE {marker} (
        one boolean PRIMARY KEY DEFAULT true CHECK (one),
        marker jsonb NOT NULL,
        revision bigint NOT NULL)""",
    """CREATE TABLE {documents} (
        number integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        id text COLLATE "C" NOT NULL UNIQUE,
        digest bytea NOT NULL,
        terms integer[] NOT NULL,
        text text NOT NULL,
        metadata jsonb NOT NULL{coordinates})""",
    """CREATE TABLE {postings} (
        term integer NOT NULL,
        document integer NOT NULL,
        impact real NOT NULL,
        PRIMARY KEY (term, document) INCLUDE (impact))""",
)
_FORGET = """DELETE FROM {postings} AS posting USING {documents} AS old, unnest(old.terms) AS gone
    WHERE old.id = ANY(%s) AND posting.document = old.number AND posting.term = gone"""
_COLUMNS = ("id", "digest", "terms", "text", "metadata")
_PUT = """INSERT INTO {documents} ({columns}) VALUES ({values})
    ON CONFLICT (id) DO UPDATE SET ({columns}) = ({excluded}) RETURNING number"""
_PRESENT = "SELECT name FROM unnest(%s::text[]) AS name WHERE to_regclass(name) IS NOT NULL"
_SEARCH = """WITH best AS (
        SELECT document, sum(weight * impact) AS score
        FROM unnest(%s::integer[], %s::float8[]) AS query (term, weight)
        JOIN {postings} USING (term)
        WHERE {where}
        GROUP BY document ORDER BY score DESC LIMIT %s)
    SELECT id, score FROM best JOIN {documents} ON number = document ORDER BY score DESC"""
# A sum is in no index, so that the extension does not search approximately.
_NEAREST = """SELECT id, 1 - (coordinates <=> {unit}) AS cosine
    FROM {documents} WHERE coordinates IS NOT NULL AND {where}
    ORDER BY (coordinates <=> {unit}) + 0 LIMIT %s"""
_EXTENSION = "SELECT count(*) FROM pg_extension WHERE extname = 'vector'"


class PostgreSQL:
    """Three tables of a database: ``<collection>_documents``, ``_postings`` and ``_marker``.

    With the extension pgvector in the database (CREATE EXTENSION vector), coordinates of documents
    are stored too, and searched exactly.

    A sync is one transaction. Away from loopback the connection uses TLS, if the URL, the
    environment or the service file do not say otherwise. Passwords come from there, or from
    ``~/.pgpass``.

    Several threads may use it; their statements run one after the other.
    """

    name = "postgresql"
    max_terms = None
    max_candidates = None

    def __init__(self, address: ServerAddress, *, collection: str, timeout: float) -> None:
        self.address = str(address)
        self._url = f"postgresql://{address.rest}"
        self._timeout = timeout
        self._lock = threading.RLock()
        self._tables: dict[str, Composable] = {
            name: Identifier(f"{collection}_{name}") for name in ("marker", "documents", "postings")
        }
        self._collection = collection
        self._dimensions = 0
        self._connection = self._connected()

    @property
    def stores_vectors(self) -> bool:
        """Whether the database has the extension pgvector."""
        found = self._run(lambda: self._connection.execute(_EXTENSION).fetchone())
        return found is not None and found[0] > 0

    def _connected(self) -> psycopg.Connection[Any]:
        options: dict[str, Any] = {"connect_timeout": max(2, round(self._timeout))}
        try:
            given = psycopg.conninfo.conninfo_to_dict(self._url)
            host = str(given.get("host") or os.environ.get("PGHOST", ""))
            chosen = {"sslmode", "service"} & given.keys() or "PGSSLMODE" in os.environ
            if not chosen and not is_loopback(host):
                options["sslmode"] = "require"
            connection = psycopg.connect(
                self._url, autocommit=True, application_name="softcosine", **options
            )
            # Compiling a plan takes longer than these searches.
            connection.execute("SET jit = off")
            connection.execute(f"SET lock_timeout = '{_WAIT}'")
            (encoding,) = connection.execute("SHOW server_encoding").fetchone() or ("",)
        except psycopg.Error as error:
            raise self._failure(error) from error
        if encoding != "UTF8":
            connection.close()
            raise self._error(f"the database has the encoding {encoding}; use one in UTF8.")
        return connection

    def relative_error(self, n_terms: int) -> float | None:
        """Return the error of impacts in float32, and of sums in float64."""
        return 2.0**-23 + (n_terms + 8) * 2.0**-52

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Make all writes visible together at the end; none of them after an error."""
        with self._lock:
            created = self.marker() is None
            try:
                with self._connection.transaction():
                    yield
                if created:  # so that searches read the index alone
                    self._connection.execute(self._sql("VACUUM (ANALYZE) {postings}, {documents}"))
            except psycopg.Error as error:
                raise self._failure(error) from error

    def marker(self) -> tuple[Marker, int] | None:
        """Return the marker and its revision; None without tables."""

        def read() -> Any:
            try:
                with self._savepoint():
                    query = self._sql("SELECT marker, revision FROM {marker}")
                    return self._connection.execute(query).fetchone()
            except errors.UndefinedTable:
                names = [f"{self._collection}_{name}" for name in self._tables]
                others = self._connection.execute(_PRESENT, (names,)).fetchall()
                if others:
                    raise self._not_ours(others[0][0]) from None
                return None
            except errors.UndefinedColumn:
                raise self._not_ours(f"{self._collection}_marker") from None

        found = self._run(read)
        if found is None:
            return None
        try:
            marker = Marker.from_json(found[0])
        except InvalidInputError as error:
            raise self._error(
                f"the table {self._collection}_marker is not usable: {error}."
            ) from error
        self._dimensions = marker.dimensions
        return marker, int(found[1])

    def create(self, marker: Marker) -> int:
        """Create the tables."""
        self._dimensions = marker.dimensions
        coordinates = SQL("")
        if marker.dimensions:
            column = SQL(", coordinates vector({})")
            coordinates = column.format(Literal(marker.dimensions))

        def make() -> int:
            for table in _TABLES:
                self._connection.execute(self._sql(table, coordinates=coordinates))
            query = self._sql("INSERT INTO {marker} (marker, revision) VALUES (%s, 1)")
            self._connection.execute(query, (json.dumps(marker.to_json()),))
            return 1

        return self._run(make)

    def write_marker(self, marker: Marker, *, expected: int) -> int:
        """Replace the marker, if it has the expected revision."""
        query = self._sql("UPDATE {marker} SET marker = %s, revision = %s WHERE revision = %s")
        values = (json.dumps(marker.to_json()), expected + 1, expected)
        n_changed = self._run(lambda: self._connection.execute(query, values).rowcount)
        if n_changed != 1:
            raise self._error("another sync of these tables has run meanwhile; sync again.")
        return expected + 1

    def drop(self) -> None:
        """Delete the tables."""
        if self.marker() is not None:
            query = self._sql("DROP TABLE {marker}, {documents}, {postings}")
            self._run(lambda: self._connection.execute(query))

    def put(self, documents: Sequence[ServerDocument]) -> list[Failure]:
        """Add or replace documents."""
        columns = (*_COLUMNS, "coordinates") if self._dimensions else _COLUMNS
        put = self._sql(
            _PUT, columns=SQL(", ").join(map(Identifier, columns)),
            values=SQL(", ").join([SQL("%s")] * len(columns)),
            excluded=SQL(", ").join([Identifier("excluded", name) for name in columns]),
        )  # fmt: skip

        def write() -> None:
            with self._connection.cursor() as cursor:
                ids = [escaped_id(document.id) for document in documents]
                cursor.execute(self._sql(_FORGET), (ids,))
                rows = [
                    (
                        id, document.digest, document.terms.tolist(), storable_text(document.text),
                        storable_json(document.metadata_json), _vector(document.coordinates),
                    )[: len(columns)]
                    for id, document in zip(ids, documents, strict=True)
                ]  # fmt: skip
                cursor.executemany(put, rows, returning=True)
                numbers: list[int] = []
                while len(numbers) < len(rows):
                    numbers += [int(number) for (number,) in cursor.fetchall()]
                    cursor.nextset()
                query = self._sql(
                    "COPY {postings} (term, document, impact) FROM STDIN (FORMAT binary)"
                )
                with cursor.copy(query) as copy:
                    copy.write(_COPY_HEADER + _rows(documents, numbers) + _COPY_END)

        self._run(write)
        return []

    def delete(self, ids: Sequence[str]) -> list[Failure]:
        """Delete documents."""
        stored = [escaped_id(id) for id in ids]

        def write() -> None:
            self._connection.execute(self._sql(_FORGET), (stored,))
            query = self._sql("DELETE FROM {documents} WHERE id = ANY(%s)")
            self._connection.execute(query, (stored,))

        self._run(write)
        return []

    def digests(self) -> Iterator[tuple[str, bytes]]:
        """Yield ids and digests."""
        query = self._sql("SELECT id, digest FROM {documents}")
        for id, digest in self._run(lambda: self._connection.execute(query).fetchall()):
            yield original_id(id), bytes(digest)

    def filter(self, where: Where) -> Composable | None:
        """Return a filter in SQL."""
        return filter_of(where)

    def search(
        self,
        terms: NDArray[np.int64],
        weights: NDArray[np.float64],
        n: int,
        *,
        filter: Any | None = None,
        timeout: float | None = None,
    ) -> Candidates:
        """Return the best documents by the sum of weight times impact."""
        where: Composable = SQL("true")
        if filter is not None:
            passing = "document IN (SELECT number FROM {documents} WHERE {filter})"
            where = self._sql(passing, filter=filter)
        query = self._sql(_SEARCH, where=where)
        return self._found(query, (terms.tolist(), weights.tolist(), n), timeout)

    def nearest(
        self,
        unit: NDArray[np.float64],
        n: int,
        *,
        filter: Any | None = None,
        timeout: float | None = None,
    ) -> Candidates | None:
        """Return the nearest documents by coordinates; None without them."""
        if not self._dimensions:
            return None
        where = SQL("true") if filter is None else filter
        written = SQL("{}::vector").format(Literal(str(unit.tolist())))
        return self._found(self._sql(_NEAREST, unit=written, where=where), (n,), timeout)

    def _found(
        self, query: Composable, values: tuple[Any, ...], timeout: float | None
    ) -> Candidates:
        def read() -> Any:
            if timeout is None:
                return self._connection.execute(query, values).fetchall()
            with self._connection.transaction():
                limit = SQL("SET LOCAL statement_timeout = {}").format(
                    Literal(max(1, round(1000 * timeout)))
                )
                self._connection.execute(limit)
                return self._connection.execute(query, values).fetchall()

        found = self._run(read)
        ids = [original_id(id) for id, _ in found]
        return Candidates(ids, np.array([score for _, score in found], np.float64))

    def _sql(self, template: str, **parts: Composable) -> Composable:
        return SQL(template).format(**self._tables, **parts)

    def _savepoint(self) -> Any:
        """Return a context in which an error does not end the surrounding transaction."""
        idle = self._connection.info.transaction_status == psycopg.pq.TransactionStatus.IDLE
        return nullcontext() if idle else self._connection.transaction()

    def _run(self, work: Callable[[], _T]) -> _T:
        """Run statements; connect again, once, if the connection was lost between two of them."""
        with self._lock:
            status = psycopg.pq.TransactionStatus
            alone = self._connection.info.transaction_status in (status.IDLE, status.UNKNOWN)
            try:
                return work()
            except psycopg.OperationalError as error:
                if not (alone and self._connection.closed):
                    raise self._failure(error) from error
            except psycopg.Error as error:
                raise self._failure(error) from error
            self._connection = self._connected()
            try:
                return work()
            except psycopg.Error as error:
                raise self._failure(error) from error

    def _failure(self, error: psycopg.Error) -> ServerError:
        problem = " ".join(str(error).split()) or type(error).__name__
        if isinstance(error, errors.QueryCanceled):
            problem = "the search took longer than timeout; allow more, or send fewer terms."
        elif isinstance(
            error, errors.LockNotAvailable | errors.DuplicateTable | errors.UniqueViolation
        ):
            problem = f"another sync or export is in progress; wait for its end ({problem})."
        elif isinstance(error, psycopg.OperationalError):
            problem = f"no connection, or it was lost: {problem}"
        return self._error(problem)

    def _not_ours(self, table: str) -> ServerError:
        return self._error(
            f"there is a table {table} that softcosine did not make; choose another collection."
        )

    def _error(self, problem: str) -> ServerError:
        return ServerError(self.name, self.address, problem)


def _vector(coordinates: NDArray[np.int8] | None) -> str | None:
    """Return coordinates as pgvector reads them."""
    return None if coordinates is None else str(coordinates.tolist())


def _rows(documents: Sequence[ServerDocument], numbers: Sequence[int]) -> bytes:
    """Return the postings of documents in the binary format of COPY."""
    ends = np.cumsum([0, *(len(document.terms) for document in documents)]).tolist()
    rows = np.zeros(ends[-1], _ROW)
    rows["n"], rows["n0"], rows["n1"], rows["n2"] = 3, 4, 4, 4
    for document, number, (begin, end) in zip(documents, numbers, pairwise(ends), strict=True):
        rows["term"][begin:end] = document.terms
        rows["document"][begin:end] = number
        rows["impact"][begin:end] = document.impacts
    return rows.tobytes()
