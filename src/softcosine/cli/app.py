"""The command ``softcosine``: its commands, and how they are run; see `failures` for its errors."""

from __future__ import annotations

from softcosine.cli.signals import interrupted_quietly, orderly_ends

with interrupted_quietly():  # these take a moment
    import gc
    import inspect
    import re
    import sys
    import warnings
    from collections.abc import Callable, Sequence
    from typing import Annotated, Any

    import typer
    from typer.core import TyperGroup

    from softcosine.cli import (
        demo,
        evaluating,
        exporting,
        indexing,
        maintenance,
        near_duplicates,
        pictures,
        searching,
        similarity,
        tuning,
        writing,
    )
    from softcosine.cli.failures import clear_errors, show_warning
    from softcosine.cli.progress import announcing_compilation
    from softcosine.cli.streams import prepare_streams
    from softcosine.version import __version__

__all__ = ["app", "main"]


class _Commands(TyperGroup):
    """A group whose errors end as one line on standard error."""

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
    add_completion=False,
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
    """Return a command's help from its docstring, indented examples kept as they are."""
    return re.sub("\n\n(?= )", "\n\n\b\n", inspect.getdoc(command) or "")


def _softcosine(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_version, is_eager=True, help="Tell the version."),
    ] = False,
    debug: Annotated[
        bool,
        typer.Option("--debug", envvar="SOFTCOSINE_DEBUG", help="Show where an error arose."),
    ] = False,
) -> None:
    """Search texts by meaning: cosine similarity that knows which words mean alike.

      softcosine index faq.jsonl -o faq.index
      softcosine search faq.index "bicycle tire repair" -k 5 --explain

    A score says how much of the query a document answers, by the same words and by similar ones;
    it is 0 where no word of one is like a word of the other. --explain says which words made it.
    """


app.callback(help=_help(_softcosine))(_softcosine)


def _similarity() -> None:
    """Build, show, ask, check and compare the matrices that say which words are similar.

      softcosine similarity build english synonyms.txt --vocabulary faq.jsonl -o faq.matrix
      softcosine similarity neighbors faq.matrix tyre

    A matrix is a folder that 'build' writes, and that 'index --similarity' and 'set' use; the
    others take an index in its place as well.
    """


_matrices = typer.Typer(rich_markup_mode=None, no_args_is_help=True)
_matrices.callback(help=_help(_similarity))(_similarity)

_Table = tuple[tuple[str, Callable[..., None], str], ...]
_COMMANDS: _Table = (
    ("index", indexing.index, "Index documents: from files to a folder to search."),
    ("search", searching.search, "Find the documents that are most like some words."),
    ("similar", searching.similar, "Find the documents that are most like one of them."),
    ("explain", searching.explain, "Say by which words a document got its score."),
    ("terms", searching.terms, "Show which words are similar to a word."),
    ("pairs", near_duplicates.pairs, "Find all pairs of similar documents, or nearest neighbours."),
    ("dedupe", near_duplicates.dedupe, "Find groups of near duplicates."),
    ("map", pictures.draw_map, "Draw documents as a map: similar ones lie together."),
    ("add", writing.add, "Add documents to an index, or replace them."),
    ("delete", writing.delete, "Delete documents from an index."),
    ("merge", writing.merge, "Join an index's segments, and free the room of what is deleted."),
    ("refresh", writing.refresh, "Count an index's words anew, for their weights."),
    ("shard", writing.shard, "Make an empty index with the words and weights of another."),
    ("join", writing.join, "Add all documents of shards to an index."),
    ("evaluate", evaluating.evaluate, "Compare systems on a judged collection."),
    ("tune", tuning.tune, "Choose settings on labelled queries, and say what that brings."),
    ("export", exporting.export, "Bring an index into another engine, such as Faiss."),
    ("info", maintenance.info, "Tell what an index holds."),
    ("check", maintenance.check, "Check that an index is whole."),
    ("backup", maintenance.backup, "Copy an index, also while it is written."),
    ("salvage", maintenance.salvage, "Save what can be read of a damaged index."),
    ("demo", demo.demo, "Search Unicode's symbols by meaning; needs no files."),
)
_OF_MATRICES: _Table = (
    ("build", similarity.build, "Build a matrix from sources of similarity."),
    ("show", similarity.show, "Tell what a matrix holds, with histograms."),
    ("neighbors", similarity.neighbors, "Show which words are similar to a word."),
    ("check", similarity.check, "Check that a matrix is whole, and definite."),
    ("set", similarity.exchange, "Give an index another matrix."),
    ("diff", similarity.diff, "Show what changed from one matrix to another."),
)
for _group, _commands in ((app, _COMMANDS), (_matrices, _OF_MATRICES)):
    for _name, _command, _short in _commands:
        _group.command(_name, help=_help(_command), short_help=_short)(_command)
app.add_typer(_matrices, name="similarity", short_help="Matrices of which words are similar.")


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and leave by SystemExit.

    Parameters
    ----------
    arguments : sequence of str, optional
        What stands after the command's name; the process's own by default.
    """
    # Imports make many objects and no garbage: collecting it meanwhile costs a tenth of a second.
    gc.set_threshold(100_000, 50, 100)
    prepare_streams()
    with (
        interrupted_quietly(),
        orderly_ends(),
        warnings.catch_warnings(),
        announcing_compilation(),
    ):
        warnings.showwarning = show_warning  # type: ignore[assignment]
        app(None if arguments is None else list(arguments), prog_name="softcosine")
