"""An MCP server of indexes, over standard input and output or over HTTP."""

from __future__ import annotations

import asyncio
import inspect
import json
import logging
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Any

from msgspec.json import schema_components

from softcosine._validation import check_whole
from softcosine.errors import (
    IndexLockedError,
    InvalidInputError,
    MissingDependencyError,
    SoftCosineError,
)
from softcosine.index.requests import Ask
from softcosine.index.soft_index import SoftIndex
from softcosine.version import __version__

if find_spec("mcp") is None:
    raise MissingDependencyError("mcp", "mcp", "Serving an index to language models")

import mcp_types
from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError, UnexpectedToolError

from softcosine.mcp.tools import TOOLS, Tools

MAX_CHARACTERS = 1000  # of a text of a hit


def mcp_server(
    indexes: Mapping[str, SoftIndex],
    *,
    writable: bool = False,
    max_characters: int = MAX_CHARACTERS,
    ranking: str | None = None,
    ask: Ask | None = None,
    meaning: float | None = None,
    run: Callable[[Callable[[], Any]], Awaitable[Any]] = asyncio.to_thread,
) -> Any:
    """Return an MCP server whose tools search indexes.

    Each call of a tool uses the last commit of its index, also of other processes.

    Parameters
    ----------
    indexes : mapping of names to SoftIndex
        Read at every call; indexes may be added and removed while the server runs.
    writable : bool
        Whether there are tools that add and delete documents.
    max_characters : int
        Where texts of hits are truncated, unless a call says otherwise.
    ranking, ask, meaning
        Of the tools search and explain, as in `SoftIndex.search`.
    run : callable, optional
        Runs the work of a tool, and returns its result; by default in a thread.

    Returns
    -------
    mcp.server.mcpserver.MCPServer
        ``run()`` serves it over standard input and output, ``streamable_http_app()`` over HTTP.

    Examples
    --------
    >>> import asyncio, softcosine as sc
    >>> from mcp import Client
    >>> index = sc.SoftIndex.from_texts(["a flat tyre", "green tea"], ids=["bike", "tea"])
    >>> async def ask(tool, **arguments):
    ...     async with Client(mcp_server({"faq": index})) as client:
    ...         return (await client.call_tool(tool, arguments)).structured_content
    >>> asyncio.run(ask("search", query="bicycle tires"))["hits"][0]["id"]
    'bike'
    """
    if not isinstance(indexes, Mapping):
        raise InvalidInputError(f"indexes is {indexes!r}; pass a mapping of names to indexes.")
    check_whole("max_characters", max_characters, least=1)
    searching: dict[str, Any] = {"ranking": ranking, "ask": ask, "meaning": meaning}
    tools = Tools(indexes, writable, max_characters, searching)
    with _unchanged_logging():
        return _Server(
            tools,
            run,
            name="softcosine",
            title="softcosine",
            version=__version__,
            description="Search in documents by equal and similar words.",
            instructions=_instructions(list(indexes)),
            log_level="WARNING",
        )


class _Server(MCPServer):  # type: ignore[misc]  # types of mcp are skipped
    """A server of `TOOLS`, whose errors reach the client with their messages."""

    def __init__(
        self, tools: Tools, run: Callable[[Callable[[], Any]], Awaitable[Any]], **facts: Any
    ) -> None:
        super().__init__(**facts)
        self._run = run
        self._own = {
            name: tool for name, tool in TOOLS.items() if tools.writable or not tool.writes
        }
        self._tools = tools

    async def list_tools(self) -> list[mcp_types.Tool]:
        """Return the tools and the schemas of what they take and return."""
        return [
            mcp_types.Tool(
                name=name,
                title=tool.title,
                description=inspect.getdoc(tool.answer),
                input_schema=_schema(tool.takes),
                output_schema=_schema(tool.returns),
                annotations=mcp_types.ToolAnnotations(
                    title=tool.title,
                    read_only_hint=not tool.writes,
                    destructive_hint=tool.writes,
                    idempotent_hint=True,
                    open_world_hint=False,
                ),
            )
            for name, tool in self._own.items()
        ]

    async def call_tool(
        self, name: str, arguments: dict[str, Any], context: Any = None
    ) -> mcp_types.CallToolResult:
        """Return the result of a tool; errors of the library are for the model to read."""
        if (tool := self._own.get(name)) is None:
            raise ToolError(f"there is no tool {name!r:.100}; there are {', '.join(self._own)}.")

        def answer() -> bytes:
            record = json.dumps(self._tools.call(tool, arguments), ensure_ascii=False)
            # Half of a surrogate pair cannot be sent; it becomes U+FFFD.
            return record.encode("utf-16", "surrogatepass").decode("utf-16", "replace").encode()

        try:
            text = (await self._run(answer)).decode()
        except IndexLockedError as error:
            raise ToolError(f"{error}".rpartition(";")[0] + "; try again later.") from error
        except (SoftCosineError, OSError) as error:
            raise ToolError(str(error)) from error
        except Exception as error:
            raise UnexpectedToolError(f"an unexpected error of the tool {name}") from error
        content = [mcp_types.TextContent(type="text", text=text)]
        return mcp_types.CallToolResult(content=content, structured_content=json.loads(text))


def _schema(kind: Any) -> dict[str, Any]:
    """Return the JSON schema of an object."""
    _, schemas = schema_components([kind], ref_template="#/$defs/{name}")
    return {**schemas.pop(kind.__name__), "$defs": schemas}


def _instructions(names: Sequence[str]) -> str:
    listed = f" The indexes are: {', '.join(names)}." if names else ""
    return (
        "Search engine over collections of documents. Documents match by equal and by similar "
        f"words, so ask in plain language.{listed} Call index_info for their contents and metadata "
        "keys, search to find documents, get_document to read a long one, explain to see why a "
        "document was found."
    )


@contextmanager
def _unchanged_logging() -> Iterator[None]:
    """Undo that the construction of an MCPServer adds a handler to the root logger."""
    root = logging.getLogger()
    handlers, level = list(root.handlers), root.level
    try:
        yield
    finally:
        root.handlers[:] = handlers
        root.setLevel(level)
