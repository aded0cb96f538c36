"""The typer application ``softcosine``: the table of commands, their help, and `main`."""

from __future__ import annotations

from softcosine.cli.signals import interrupted_quietly, orderly_ends

with interrupted_quietly():  # these imports take a moment
    import atexit
    import gc
    import inspect
    import re
    import sys
    import warnings
    from collections.abc import Callable, Sequence
    from functools import cached_property
    from importlib import import_module
    from typing import Annotated, Any

    import typer
    from typer.core import TyperCommand, TyperGroup

    from softcosine.cli.failures import clear_errors, show_warning
    from softcosine.cli.progress import announcing_compilation
    from softcosine.cli.streams import prepare_streams
    from softcosine.version import __version__


class _Commands(TyperGroup):
    """A group that prints each error as one line on standard error."""

    def make_context(self, *arguments: Any, **settings: Any) -> Any:
        with clear_errors():
            return super().make_context(*arguments, **settings)

    def invoke(self, ctx: Any) -> Any:
        with clear_errors(debug=bool(ctx.params.get("debug"))):
            result = super().invoke(ctx)
            sys.stdout.flush()
            return result


app = typer.Typer(
    name="softcosine",
    cls=_Commands,
    rich_markup_mode=None,
    add_completion=True,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Try first: softcosine demo",
)


def _version(asked: bool) -> None:
    if asked:
        typer.echo(f"softcosine {__version__}")
        raise typer.Exit


def _help(command: Callable[..., None]) -> str:
    """Return a command's docstring as help text that keeps the lines of indented examples."""
    return re.sub("\n\n(?= )", "\n\n\b\n", inspect.getdoc(command) or "")


def _softcosine(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_version, is_eager=True, help="Show the version."),
    ] = False,
    debug: Annotated[
        bool,
        typer.Option("--debug", envvar="SOFTCOSINE_DEBUG", help="Show the traceback of an error."),
    ] = False,
) -> None:
    """Search texts by meaning: cosine similarity that counts similar words as well as equal ones.

      softcosine index faq.jsonl -o faq.index
      softcosine search faq.index "bicycle tire repair" -k 5 --explain

    A score measures how well a document matches a query by equal and by similar words; it is 0 if
    no word of the query is similar to a word of the document. --explain shows the words behind it.
    """


app.callback(help=_help(_softcosine))(_softcosine)


def _keys() -> None:
    """Make, list and remove the keys of a server.

      softcosine keys add keys.json web-site
      softcosine serve indexes/ --keys keys.json --host 0.0.0.0

    The file stores only hashes of the keys. A server that other machines can reach needs a key.
    """


def _shards() -> None:
    """Build a collection as several indexes that answer as one, for tens of millions of documents.

      softcosine shards build big-*.jsonl.gz -o big.shards
      softcosine info big.shards

    'build' continues where it stopped if it is started again.
    """


def _admin() -> None:
    """Check, back up, merge and encode indexes.

    softcosine admin check faq.index
    softcosine admin backup faq.index s3://bucket/faq.index
    """


def _server() -> None:
    """Soft search of a text field of Elasticsearch, OpenSearch or Solr.

    softcosine server learn http://localhost:9200/faq --field body -o faq.index
    softcosine server search faq.index http://localhost:9200/faq "tire repair" --field body
    softcosine server expand faq.index "tire repair" --to elasticsearch --field body
    """


def _collection() -> None:
    """Compare all documents of an index, choose settings, and search many queries.

    softcosine collection tune cranfield/ -o tuned.json
    softcosine collection batch faq.index queries.jsonl -o hits.run -k 100
    """


# Name, function in a module of `cli` and help of commands; "" for an entry point of the name.
_Table = tuple[tuple[str, str, str], ...]
_COMMANDS: _Table = (
    ("index", "indexing.index", "Build an index from files of documents."),
    ("search", "searching.search", "Find the documents most similar to a query."),
    ("similar", "searching.similar", "Find the documents most similar to a document."),
    ("explain", "searching.explain", "Explain a score by pairs of words."),
    ("terms", "searching.terms", "Show the words similar to a word."),
    ("add", "writing.add", "Add or replace documents."),
    ("delete", "writing.delete", "Delete documents."),
    ("dedupe", "near_duplicates.dedupe", "Find groups of near duplicates."),
    ("info", "maintenance.info", "Show the contents and settings of an index."),
    ("evaluate", "", "Compare systems on a judged collection."),
    ("serve", "http_server.serve", "Serve the indexes of a folder over HTTP."),
    ("mcp", "mcp.mcp", "Serve indexes to a language model, as an MCP server."),
    ("demo", "demo.demo", "Search Unicode's symbols by meaning; needs no files of yours."),
)
_GROUPS: tuple[tuple[str, Callable[[], None], str, _Table], ...] = (
    ("admin", _admin, "Care for an index: check, backup, merge, encode ...", (
        ("check", "maintenance.check", "Check the integrity of an index."),
        ("backup", "maintenance.backup", "Copy an index, even during a write."),
        ("merge", "writing.merge", "Merge segments and free the space of deleted documents."),
        ("refresh", "writing.refresh", "Update the document frequencies and term weights."),
        ("encode", "writing.encode", "Encode documents, so that searches also rank by meaning."),
        ("teach", "teaching.teach_queries", "Fit a query table for your own encoder."),
    )),
    ("collection", _collection, "Whole collections: tune, batch, pairs.", (
        ("tune", "", "Choose settings on judged queries and measure their gain."),
        ("batch", "searching.batch", "Search many queries and write their hits to a file."),
        ("pairs", "near_duplicates.pairs", "Find all similar pairs, or nearest neighbours."),
    )),
    ("server", _server, "Text fields of Elasticsearch and others: expand, search, compare.", (
        ("expand", "server_fields.expand", "Print a query for Elasticsearch, OpenSearch or Solr."),
        ("search", "server_fields.search", "Search a field of a server, scored by an index."),
        ("compare", "server_fields.compare_server", "Compare an index with a server's field."),
        ("learn", "server_fields.learn_from", "Make an index of a server's field."),
    )),
    ("shards", _shards, "Several indexes that answer as one: build.", (
        ("build", "indexing.build_shards", "Build shards from files of documents."),
    )),
    ("keys", _keys, "Keys of a server: add, list, remove.", (
        ("add", "http_server.add_key", "Make a key and print it."),
        ("list", "http_server.list_keys", "List the keys and their scopes."),
        ("remove", "http_server.remove_key", "Remove a key."),
    )),
)  # fmt: skip


class _Lazy(TyperCommand):
    """A command whose module is loaded when the command is called."""

    home: str

    @cached_property
    def loaded(self) -> Any:
        """The command itself."""
        from softcosine.cli.derived import Command, expanded

        command = command_of(str(self.name), self.home)
        app = typer.Typer(rich_markup_mode=None, add_completion=False)
        app.command(self.name, cls=Command, help=_help(command))(expanded(command))
        return typer.main.get_command(app)

    def make_context(self, *arguments: Any, **settings: Any) -> Any:
        return self.loaded.make_context(*arguments, **settings)


def command_of(name: str, home: str) -> Any:
    """Return the function of a command of a table."""
    if home:
        module, _, function = home.partition(".")
        return getattr(import_module(f"softcosine.cli.{module}"), function)
    from softcosine.cli.entry_points import by_entry_point

    return by_entry_point("commands", name)


def _fill(group: typer.Typer, commands: _Table) -> None:
    for name, home, short in commands:
        kind = type("_Lazy", (_Lazy,), {"home": home})
        group.command(name, cls=kind, short_help=short)(lambda: None)


_fill(app, _COMMANDS)
for _name, _about, _short, _commands in _GROUPS:
    _group = typer.Typer(rich_markup_mode=None, no_args_is_help=True)
    _group.callback(help=_help(_about))(_about)
    _fill(_group, _commands)
    app.add_typer(_group, name=_name, short_help=_short)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line; always raises SystemExit.

    Parameters
    ----------
    arguments : sequence of str, optional
        Command-line arguments without the program name; default: those of the process.
    """
    # Imports make many objects and no garbage: garbage collection would cost a tenth of a second.
    gc.set_threshold(500_000, 50, 100)
    atexit.register(gc.freeze)  # nor does the end of the process search all objects for cycles
    prepare_streams()
    with (
        interrupted_quietly(),
        orderly_ends(),
        warnings.catch_warnings(),
        announcing_compilation(),
    ):
        warnings.showwarning = show_warning  # type: ignore[assignment]
        app(None if arguments is None else list(arguments), prog_name="softcosine")
