"""Command ``softcosine mcp``: indexes as tools of a language model."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated, Any

from softcosine.cli.completing import complete_named_index
from softcosine.cli.derived import FromRequest, argument, option
from softcosine.cli.opening import in_a_folder, one_index, open_searchable
from softcosine.cli.options import KnownEncoder
from softcosine.cli.output import console
from softcosine.cli.signals import end_at_once
from softcosine.errors import InvalidInputError
from softcosine.index.requests import ScoringOptions


def mcp(
    indexes: Annotated[
        list[str],
        argument(
            "INDEX",
            "Folders that 'index' wrote; NAME=FOLDER gives a name.",
            autocompletion=complete_named_index,
        ),
    ],
    options: Annotated[
        dict[str, Any], FromRequest(ScoringOptions, only=("ranking", "ask", "meaning"))
    ],
    writable: bool = option("--writable", "Let the model add and delete documents.", False),
    max_characters: int | None = option("--max-characters N", "Longest text [1000].", None, min=1),
    encoder: KnownEncoder = None,
    config: bool = option("--config", "Print the configuration of a client, and exit.", False),
) -> None:
    """Serve indexes to a language model (Model Context Protocol), over standard input and output.

      softcosine mcp faq.index --config
      softcosine mcp faq.index laws=/data/law.index

    You do not run this command yourself: a client, such as a desktop application for a model, runs
    it. --config prints the JSON that tells a client how; put it into the client's configuration
    file and restart the client. Then ask the model something that the documents answer.

    The model gets the tools search, similar, explain, related_words, get_document and index_info,
    and with --writable add_documents and delete_documents. It sees each commit of other processes.
    An index is named after its folder: faq.index is faq. Needs softcosine[mcp].

    --encoder names the encoder of indexes that were encoded with another one than minilm;
    --ranking, --ask and --meaning hold for every search of the model, as in 'search'.
    """
    from softcosine.index.soft_index import SoftIndex
    from softcosine.mcp.server import MAX_CHARACTERS, mcp_server

    folders = _named(indexes)
    opened = {name: SoftIndex.open(folder) for name, folder in folders.items()}
    if encoder is not None:
        spaces = {name: one.snapshot.meaning for name, one in opened.items()}
        encoded = [name for name, own in spaces.items() if own is not None and not own.static]
        for name in encoded or opened:  # without any, the error says why
            opened[name] = one_index(open_searchable(folders[name], encoder))
    ScoringOptions.of(**options)
    for one in opened.values():
        one.words(options.get("ranking"))  # raises for an unknown one
    if config:
        if encoder is not None and Path(encoder).exists():
            encoder = str(Path(encoder).absolute())
        given = {"max-characters": max_characters, "encoder": encoder, **options}
        arguments = ["-m", "softcosine", "mcp"]
        arguments += [f"{name}={folder.absolute()}" for name, folder in folders.items()]
        arguments += ["--writable"] if writable else []
        for option, value in given.items():
            arguments += [] if value is None else [f"--{option}", str(value)]
        entry = {"softcosine": {"command": sys.executable, "args": arguments}}
        sys.stdout.write(f"{json.dumps({'mcpServers': entry}, indent=2)}\n")
        return
    server = mcp_server(
        opened, writable=writable, max_characters=max_characters or MAX_CHARACTERS, **options
    )
    if sys.stdin.isatty():
        told = "Waiting for an MCP client, which starts this command itself; see --config."
        console(stderr=True).print(told)
    end_at_once()  # a thread reads standard input; commits are atomic without cleanup
    server.run()


def _named(given: list[str]) -> dict[str, Path]:
    """Return the folders by names: ``NAME=FOLDER``, or the folder's name without ``.index``.

    Raises
    ------
    InvalidInputError
        If two indexes have the same name.
    """
    named: dict[str, Path] = {}
    for one in given:
        name, equals, folder = one.partition("=")
        if not equals or Path(one).exists():
            folder = one
            name = Path(one).absolute().name.removesuffix(".index")
        if not name or name in named:
            raise InvalidInputError(
                f"{one}: the name {name!r} is {'taken' if name else 'empty'}; write NAME={folder}."
            )
        named[name] = in_a_folder(Path(folder))
    return named
