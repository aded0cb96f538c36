"""Commands whose options come from requests, or from dataclasses of options.

A parameter of a command is an option if its default is an `option`. It stands for several options
if its type is a dataclass, whose fields are the options, or ``Annotated[dict[str, Any],
FromRequest(...)]``: the options of a request, with its defaults and descriptions; they are checked
when the request is made.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field, dataclass, field, fields, is_dataclass
from functools import cached_property
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

import msgspec
import typer
from typer.core import TyperCommand

from softcosine.cli.completing import names_of
from softcosine.cli.conditions import read_where
from softcosine.errors import InvalidInputError
from softcosine.index.requests import FirstStage, Request

MORE = "More options"  # the panel that only --help-all shows
_SHORT = "softcosine.short_help"


def flag(flags: str, help: str, *names: str, more: bool = False, **settings: Any) -> Any:
    """Return the declaration of an option, for ``Annotated``.

    Parameters
    ----------
    flags : str
        The flags, and a placeholder for the value: ``"--output -o FILE"``.
    help : str
    *names : str
        What a shell completes; see `names_of`.
    more : bool
        Whether only ``--help-all`` shows it.
    **settings
        As of ``typer.Option``.
    """
    words = flags.split()
    metavar = None if words[-1].startswith("-") else words.pop()
    return typer.Option(
        *words, metavar=metavar, help=help, rich_help_panel=MORE if more else None,
        autocompletion=names_of(*names) if names else None, **settings,
    )  # fmt: skip


def argument(metavar: str, help: str, **settings: Any) -> Any:
    """Return the declaration of an argument, for ``Annotated``."""
    return typer.Argument(metavar=metavar, help=help, **settings)


def option(flags: str, help: str, default: Any, *names: str, **settings: Any) -> Any:
    """Return an option, as the default of a parameter or the field of a dataclass; see `flag`.

    The default is ``...`` if the option is required.
    """
    metadata = {"option": flag(flags, help, *names, **settings)}
    return field(default=MISSING if default is ... else default, metadata=metadata)


def _field_names(given: list[str]) -> str | dict[str, str]:
    """Return the field of a server, or one for each field of the index."""
    if len(given) == 1 and "=" not in given[0]:
        return given[0]
    for one in given:
        if "=" not in one:
            raise InvalidInputError(f"--field is {one!r}; write OWN=FIELD, such as title=headline.")
    return {own: name for own, _, name in (one.partition("=") for one in given)}


def _number(given: str) -> Any:
    """Return the number that an option has, or its text, which the library refuses."""
    try:
        return int(given) if given.isdecimal() else float(given)
    except ValueError:
        return given


def _field_weights(given: list[str]) -> dict[str, float]:
    """Return the weight of each field of ``--field``."""
    weights: dict[str, float] = {}
    for one in given:
        name, _, weight = one.rpartition("=") if "=" in one else (one, "", "1")
        if name in weights:
            raise InvalidInputError(f"--field names {name!r} twice; name each field once.")
        weights[name] = _number(weight)
    return weights


def _space(given: Path) -> Path | int:
    """Return the file of ``--meaning-space``, or its number of components."""
    return int(given.name) if str(given).isdecimal() else given


@dataclass(frozen=True)
class _Flag:
    """How a command line writes an option, where that differs from its name and description."""

    name: str = ""
    metavar: str = ""
    help: str = ""
    parse: Callable[[Any], Any] | None = None
    names: tuple[str, ...] = ()  # of `names_of`
    kind: Any = None  # of the value on the command line


_FLAGS = {
    "k": _Flag("-k"),
    "by": _Flag(metavar="HOW"),
    "encoder": _Flag(metavar="NAME", names=("auto", "minilm", "static", "none"), kind=str),
    "encoder_cache": _Flag(metavar="FILE", kind=Path),
    "facets": _Flag("--facet", "KEY", "Count the values of a metadata key; repeatable."),
    "field": _Flag(
        "--field", "FIELD",
        "Name of the text field on the server; OWN=FIELD for an index of several fields [as in the "
        "index]; repeatable.", _field_names,
    ),
    "fields": _Flag(
        "--field", "FIELD=WEIGHT",
        "Instead of --text: a text field with a score of its own, and the weight of that score, "
        "such as title=0.5; repeatable.", _field_weights, kind=list[str],
    ),
    "first_stage": _Flag(
        "--first-stage", "TERMS[:N]",
        "Find N candidates by TERMS terms, or all, and score these exactly: 32, all:1000.",
        FirstStage.parse, kind=str,
    ),
    "keep_texts": _Flag("--texts/--no-texts"),
    "language": _Flag(metavar="LANGUAGE", names=("text.analyzer:languages", "none")),
    "max_df": _Flag(metavar="N", parse=_number, kind=str),
    "max_terms": _Flag(parse=lambda given: given or None),
    "meaning": _Flag(metavar="WEIGHT", kind=float),
    "meaning_space": _Flag(metavar="FILE|N", parse=_space, kind=Path),
    "min_df": _Flag(metavar="N", parse=_number, kind=str),
    "min_score": _Flag("--min", "SCORE"),
    "min_similarity": _Flag("--min", "S"),
    "mmr": _Flag(metavar="SHARE"),
    "ranking": _Flag(names=("index.requests:TITLES",)),
    "sort": _Flag("--sort", "KEY", "Sort by metadata: year, or -year; repeatable."),
    "where": _Flag(
        "--where", "FILTER", "Filter by metadata: lang=en, 'year>=2020', or JSON; repeatable.",
        read_where,
    ),
}  # fmt: skip
_SHOWN = (  # by --help; the others by --help-all
    *("k", "offset", "min_score", "min_similarity", "where", "sort", "facets", "correct"),
    *("ranking", "meaning", "by", "method", "to", "field", "max_terms", "words", "fields"),
    *("language", "plain", "max_neighbors", "min_df", "encoder", "encoder_cache", "meaning_space"),
)


@dataclass(frozen=True)
class FromRequest:
    """The options of a request.

    Attributes
    ----------
    request : type of Request
    without, only : tuple of str
        Fields that are no options of the command, or those that are.
    defaults : mapping
        Where the default of the command differs.
    """

    request: type[Request]
    without: tuple[str, ...] = ()
    only: tuple[str, ...] = ()
    defaults: Mapping[str, Any] = field(default_factory=dict)

    @cached_property
    def parameters(self) -> list[inspect.Parameter]:
        """The parameters of the options."""
        hints = get_type_hints(self.request, include_extras=True)
        return [
            self._parameter(own.name, own.default, own.default_factory, hints[own.name])
            for own in msgspec.structs.fields(self.request)
            if own.name not in self.without and (not self.only or own.name in self.only)
        ]

    def value(self, given: dict[str, Any]) -> dict[str, Any]:
        """Return the options that are given, as the request takes them."""
        options = {name: own for name, own in given.items() if own is not None}
        for name, own in options.items():
            if (parse := _FLAGS.get(name, _Flag()).parse) is not None:
                options[name] = parse(own)
        return options

    def _parameter(self, name: str, default: Any, factory: Any, hint: Any) -> inspect.Parameter:
        own, (kind, text, choices) = _FLAGS.get(name, _Flag()), _described(hint)
        kind = own.kind or kind
        default = self.defaults.get(name, default)
        required = default is msgspec.NODEFAULT and factory is msgspec.NODEFAULT
        if type(default) is not kind:
            default = None
        declared = flag_name(name)
        if kind is bool and default is not False and not own.name:
            declared += f"/--no-{declared[2:]}"
        if choices:
            text = f"{text.removesuffix('.')}: {', '.join(choices[:-1])} or {choices[-1]}."
        if name == "max_terms":
            text = f"{text.removesuffix('.')} [0: all]."
        flags = f"{declared} {own.metavar or ('N' if kind is int else '')}"
        more = name not in _SHOWN
        declaration = flag(flags, own.help or text, *own.names, *choices, more=more)
        annotation = kind if required or default is not None else kind | None
        return _parameter(
            name, Annotated[annotation, declaration], MISSING if required else default
        )


def flag_name(name: str) -> str:
    """Return how a command line names an option of a request."""
    return _FLAGS.get(name, _Flag()).name or f"--{name.replace('_', '-')}"


def _described(hint: Any) -> tuple[Any, str, tuple[str, ...]]:
    """Return what a command line takes for an option, its description and its choices."""
    text = ""
    while get_origin(hint) in (Annotated, Union, UnionType):
        if get_origin(hint) is Annotated:
            hint, *metas = get_args(hint)
            text = text or next((m.description for m in reversed(metas) if m.description), "")
        else:
            kinds = [one for one in get_args(hint) if one is not type(None)]
            lists = [one for one in kinds if "list" in str(one) or "dict" in str(one)]
            hint = (lists or kinds)[0]
    if get_origin(hint) is Literal:
        return str, text, get_args(hint)
    return (list[str] if get_origin(hint) in (dict, list) else hint), text, ()


def _parameter(name: str, hint: Any, default: Any) -> inspect.Parameter:
    """Return the parameter of an option; its default may be a dataclass field."""
    if isinstance(default, Field):
        declaration = default.metadata.get("option")
        hint = hint if declaration is None else Annotated[hint, declaration]
        default = default.default
    default = inspect.Parameter.empty if default is MISSING else default
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, annotation=hint, default=default)


@dataclass(frozen=True)
class _Group:
    """The options of a dataclass."""

    kind: type

    @cached_property
    def parameters(self) -> list[inspect.Parameter]:
        hints = get_type_hints(self.kind, include_extras=True)
        return [_parameter(own.name, hints[own.name], own) for own in fields(self.kind)]

    def value(self, given: dict[str, Any]) -> Any:
        return self.kind(**given)


def expanded(command: Callable[..., None]) -> Callable[..., None]:
    """Return a command with the options that its parameters stand for."""
    hints = get_type_hints(command, include_extras=True)
    groups: dict[str, FromRequest | _Group] = {}
    parameters = []
    for own in inspect.signature(command).parameters.values():
        hint = hints[own.name]
        derived = [one for one in get_args(hint) if isinstance(one, FromRequest)]
        if derived or is_dataclass(hint):
            groups[own.name] = derived[0] if derived else _Group(hint)
            parameters += groups[own.name].parameters
        else:
            parameters.append(_parameter(own.name, hint, own.default))

    def run(**given: Any) -> None:
        given.pop("help_all", None)
        for name, group in groups.items():
            taken = {own.name: given.pop(own.name) for own in group.parameters}
            given[name] = group.value(taken)
        command(**given)

    if any(_is_more(one) for own in parameters for one in get_args(own.annotation)):
        parameters.append(_parameter("help_all", Annotated[bool, _HELP_ALL], False))
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {own.name: own.annotation for own in parameters}
    return run


def _is_more(option: Any) -> bool:
    return getattr(option, "rich_help_panel", None) == MORE


def _show_all(context: typer.Context, asked: bool) -> None:
    if asked:
        context.meta[_SHORT] = False
        typer.echo(context.get_help())
        raise typer.Exit


_HELP_ALL: Any = typer.Option(
    "--help-all", is_eager=True, callback=_show_all, help="Show all options and exit."
)


class Command(TyperCommand):
    """A command whose ``--help`` leaves out `MORE`."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the parameters; while help is written, those that it shows."""
        params = super().get_params(ctx)
        return [one for one in params if not (ctx.meta.get(_SHORT) and _is_more(one))]

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the arguments and options."""
        ctx.meta.setdefault(_SHORT, True)
        super().format_options(ctx, formatter)
        ctx.meta.pop(_SHORT)
