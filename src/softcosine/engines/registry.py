"""Engines by name; each is imported on demand."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

from softcosine._validation import check_choice
from softcosine.engines.engine import Engine
from softcosine.errors import InvalidInputError

__all__ = ["ENGINES", "engine_by_name"]

ENGINES: dict[str, str] = {
    "annoy": "softcosine.engines.annoy:Annoy",
    "faiss": "softcosine.engines.faiss:Faiss",
    "hnswlib": "softcosine.engines.hnswlib:Hnswlib",
    "usearch": "softcosine.engines.usearch:Usearch",
}


def engine_by_name(name: str, settings: Mapping[str, Any] | None = None) -> Engine:
    """Return an empty engine.

    Parameters
    ----------
    name : str
        A key of `ENGINES`.
    settings : mapping, optional
        Arguments of its constructor.

    Raises
    ------
    InvalidInputError
        If the engine or a setting is unknown.
    MissingDependencyError
        If its package is not installed; gives the pip command.
    """
    check_choice("engine", name, ENGINES)
    module, _, kind = ENGINES[name].partition(":")
    made = getattr(import_module(module), kind)
    given = dict(settings or {})
    allowed = _settings_of(made)
    for setting in given:
        if setting not in allowed:
            raise InvalidInputError(
                f"the engine {name} has no setting {setting!r}; its settings are "
                f"{', '.join(allowed)}."
            )
    engine: Engine = made(**given)
    return engine


def _settings_of(kind: Any) -> list[str]:
    import inspect

    return [name for name in inspect.signature(kind).parameters if name != "self"]
