"""Commands ``softcosine serve`` and ``softcosine keys``."""

from __future__ import annotations

import webbrowser
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast
from urllib.parse import urlencode

import typer

from softcosine._validation import check_choice
from softcosine.cli.derived import argument, option
from softcosine.cli.options import Json, bytes_in
from softcosine.cli.output import print_json, printable
from softcosine.errors import InvalidInputError, MissingDependencyError

if TYPE_CHECKING:
    from softcosine.cluster.opening import ShardOptions
    from softcosine.serve.process import Bind
    from softcosine.serve.settings import Limits

_ENCODERS = ("auto", "static", "minilm", "none")
_KeyFile = Annotated[Path, argument("FILE", "The file of keys.")]
_KeyName = Annotated[str, argument("NAME", "Who uses the key.")]


@dataclass(frozen=True)
class Binding:
    """Where a server listens."""

    host: str = option("--host ADDRESS", "Address to listen on.", "127.0.0.1")
    port: int = option("--port -p N", "0 for a free one.", 8080, min=0, max=65535)
    insecure: bool = option("--insecure", "Let other hosts connect without a key.", False)
    certificate: Path | None = option("--certificate FILE", "TLS: the certificates, as PEM.", None)
    private_key: Path | None = option("--private-key FILE", "TLS: the private key, if apart.", None)
    workers: int = option("--workers N", "Number of processes; they share mapped files.", 1, min=1)

    def bind(self) -> Bind:
        """Return the address; InvalidInputError if TLS lacks its certificate."""
        from softcosine.serve.process import Bind

        if self.private_key is not None and self.certificate is None:
            raise InvalidInputError("--private-key is for TLS; pass --certificate too.")
        return Bind(**vars(self))


@dataclass(frozen=True)
class Bounds:
    """What a server takes at most."""

    threads: int | None = option("--threads N", "Searches at a time [CPUs].", None, min=1)
    waiting: int = option("--waiting N", "Searches that may wait; more get 429.", 64, min=0)
    timeout: float = option("--timeout SECONDS", "Longest time of a search.", 10.0, min=0.001)
    body_bytes: str = option("--max-body SIZE", "Largest document as JSON: 8M, 1G.", "8M")
    bulk_bytes: str = option("--max-bulk SIZE", "Largest body of JSON lines.", "1G")
    answer_bytes: str = option(
        "--max-answer SIZE", "Most bytes that an answer reads and writes.", "64M"
    )
    k: int = option("--max-k N", "Most hits of an answer.", 1000, min=1)
    pairs: int = option("--max-pairs N", "Most similar pairs of an answer.", 100_000, min=1)

    def limits(self) -> Limits:
        """Return the limits of a server."""
        from softcosine.serve.settings import Limits

        given = {name: own for name, own in vars(self).items() if own is not None}
        for name in ("body", "bulk", "answer"):
            given[f"{name}_bytes"] = bytes_in(given[f"{name}_bytes"], f"--max-{name}")
        milliseconds = max(1, round(1000 * given.pop("timeout")))
        return Limits(**given, timeout_ms=milliseconds)


@dataclass(frozen=True)
class Shards:
    """How the shards of a sharded index are searched."""

    engine: str | None = option(
        "--engine NAME", "Search shards in actors of 'ray' [threads].", None, "ray", more=True
    )
    replicas: int = option("--replicas N", "Actors for each shard.", 1, min=1, more=True)
    shard_timeout: float | None = option(
        "--shard-timeout SECONDS",
        "Answer without slower shards, and name them.",
        None,
        min=0.001,
        more=True,
    )

    def of(self, paths: Iterable[Path]) -> ShardOptions:
        """Return the options; InvalidInputError if they need a sharded index and there is none."""
        from softcosine.cluster.opening import ShardOptions, is_sharded

        if self.engine is not None:
            check_choice("--engine", self.engine, ("ray",))
        elif self.replicas > 1:
            raise InvalidInputError("--replicas needs --engine ray: threads have no replicas.")
        if self != Shards() and not any(map(is_sharded, paths)):
            raise InvalidInputError(
                "--engine, --replicas and --shard-timeout need a sharded index, as 'shards build' "
                "makes it."
            )
        return ShardOptions(cast("Any", self.engine), self.replicas, self.shard_timeout)


def serve(
    folder: Annotated[Path, argument("FOLDER", "A folder of indexes, or one index.")],
    shards: Shards,
    binding: Binding,
    bounds: Bounds,
    read_only: bool = option("--read-only", "Refuse all changes.", False),
    keys: Path | None = option(
        "--keys FILE", "File of 'keys add'; requests need a key of it.", None
    ),
    origins: list[str] | None = option(
        "--origin URL", "A web site that may send requests; repeatable.", None
    ),
    hosts: list[str] | None = option(
        "--allow-host NAME", "Another name of this server; repeatable.", None
    ),
    log_queries: bool = option("--log-queries", "Log the texts of queries too.", False),
    encoder: str = option(
        "--encoder NAME",
        "Encoder of new indexes: auto, as of 'index', static, minilm or none.",
        "auto",
        *_ENCODERS,
    ),
) -> None:
    r"""Serve the indexes of a folder over HTTP, as JSON.

      softcosine serve indexes/
      softcosine serve faq.index --port 0 --read-only
      curl http://127.0.0.1:8080/v1/indexes/faq.index/search \
           -H 'Content-Type: application/json' -d '{"q": "flat tire", "k": 3}'

    The address shows a page to search, explain and compare. An index is reached by the name of its
    folder; /openapi.json describes all routes, and docs/serve.md has examples. The command prints
    the address when it is ready, and one line of JSON per request to standard error. Commits of
    other processes are seen within a second.

    By default only this host can connect. For others, make a key by 'keys add' and pass --keys, and
    use TLS, by --certificate or by a proxy in front.

    --engine ray, --replicas and --shard-timeout are for the sharded indexes of the folder.

    Ctrl-C or SIGTERM ends it: requests that run are finished, and no change is left half-done.
    """
    with _server_needed():
        from softcosine.serve.process import serve as run
        from softcosine.serve.settings import ServeSettings
    check_choice("--encoder", encoder, _ENCODERS)
    bind = binding.bind()
    inside = folder.iterdir() if folder.is_dir() else ()
    settings = ServeSettings(
        folder, bounds.limits(), read_only=read_only, keys=keys, origins=tuple(origins or ()),
        hosts=tuple(hosts or ()), log_queries=log_queries,
        shards=shards.of([folder, *inside]), encoder=encoder,
    )  # fmt: skip

    def started(address: str) -> None:
        typer.echo(f"softcosine serves {printable(str(folder))} at {address} (Ctrl-C ends it)")
        if keys is None and not read_only:
            who = "on this machine" if bind.loopback else f"who reaches {bind.host}"
            typer.echo(f"There is no key (--keys): anybody {who} may write.")

    run(settings, bind, started)


def serve_page(index: Path, query: str) -> None:
    """Serve an index on a free port, read-only, and open its page with a query in the browser."""
    with _server_needed():
        from softcosine.serve.process import Bind, serve
        from softcosine.serve.settings import ServeSettings

    def started(address: str) -> None:
        page = f"{address}/#{urlencode({'q': query})}"
        typer.echo(f"The page is at {page} (Ctrl-C ends it)")
        webbrowser.open(page)

    serve(ServeSettings(index, read_only=True), Bind(port=0), started)


@contextmanager
def _server_needed() -> Iterator[None]:
    """Say how to install the packages of the server, if one is missing."""
    try:
        yield
    except ImportError as error:
        if (error.name or "").startswith("softcosine"):
            raise
        raise MissingDependencyError(error.name or "starlette", "serve", "The server") from error


def add_key(
    file: _KeyFile,
    name: _KeyName,
    scopes: list[str] | None = option(
        "--scope SCOPE", "search, write or admin; repeatable [search].",
        None, "search", "write", "admin",
    ),
) -> None:  # fmt: skip
    """Make a key for the server and print it; only its hash is stored.

      softcosine keys add keys.json web-site
      softcosine keys add keys.json importer --scope search --scope write

    search: searches and documents. write: changes of documents and similarities. admin: create and
    delete indexes, aliases, merges. A key has the scopes that you name, and no others.
    """
    from softcosine.serve.keys import KeyRing

    typer.echo(KeyRing(file).add(name, scopes or ["search"]))


def list_keys(file: _KeyFile, as_json: Json = False) -> None:
    """List the keys of a file, with their scopes.

    JSON: for each key name, scopes and made.
    """
    from softcosine.serve.keys import KeyRing

    if not file.exists():
        raise FileNotFoundError(f"there is no file {file}; 'keys add' makes it.")
    for key in KeyRing(file).current():
        if as_json:
            print_json({"name": key.name, "scopes": key.scopes, "made": key.made})
        else:
            typer.echo(f"{printable(key.name)}  {', '.join(key.scopes)}  {printable(key.made)}")


def remove_key(file: _KeyFile, name: _KeyName) -> None:
    """Remove a key; running servers refuse it from their next request on."""
    from softcosine.serve.keys import KeyRing

    KeyRing(file).remove(name)
    typer.echo(f"Removed the key {printable(name)}.")
