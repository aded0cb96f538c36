"""Lucene's classes, in a Java of this process (JPype1) that starts when they are first needed."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from threading import Lock
from typing import Any

from softcosine.errors import InvalidInputError, MissingDependencyError, ServerError
from softcosine.servers.server import TooManyClausesError

if find_spec("jpype") is None:
    raise MissingDependencyError("JPype1", "lucene", "Lucene")

import jpype

__all__ = ["analyzer_of", "checked", "java_map", "java_path", "java_set", "lucene_classes"]

_STARTING = Lock()
_OPTIONS = ("-XX:-UsePerfData", "-Xrs")  # no files in /tmp, and signals are Python's
_KNOWN = "org.apache.lucene.document.FeatureField"


def lucene_classes(address: str) -> Any:
    """Return the package ``org.apache.lucene``, whose attributes are packages and classes.

    Java is that of JAVA_HOME or of the system; it starts once a process, unless another program has
    started it in this process. The folder SOFTCOSINE_LUCENE (environment) has Lucene's jars.

    Parameters
    ----------
    address : str
        For messages.

    Raises
    ------
    ServerError
        If Java or Lucene is missing.
    """
    with _STARTING:
        if not jpype.isJVMStarted():
            _start(address)
        try:
            jpype.JClass(_KNOWN)
        except TypeError:  # not found
            for jar in _jars(address):
                jpype.addClassPath(jar)
        return jpype.JPackage("org").apache.lucene


def analyzer_of(name: str) -> Any:
    """Return an analyzer of Lucene by the name of its class; InvalidInputError if there is none."""
    made = None
    with suppress(TypeError):  # no such class, or one that needs arguments
        made = jpype.JClass(name)()
    if not isinstance(made, jpype.JClass("org.apache.lucene.analysis.Analyzer")):
        raise InvalidInputError(
            f"Java has no analyzer {name!r} that needs no arguments; name a class of Lucene's "
            "jars, such as org.apache.lucene.analysis.de.GermanAnalyzer."
        )
    return made


def java_set(values: list[Any]) -> Any:
    """Return a set of Java."""
    return jpype.JClass("java.util.HashSet")(values)


def java_map(values: dict[str, str]) -> Any:
    """Return a map of Java."""
    return jpype.JClass("java.util.HashMap")(values)


def java_path(path: Path) -> Any:
    """Return a path of Java."""
    return jpype.JClass("java.io.File")(str(path)).toPath()


@contextmanager
def checked(address: str, *, locked: str = "") -> Iterator[None]:
    """Raise ServerError for an exception of Java; `locked` explains a lock of another writer."""
    try:
        yield
    except jpype.JException as error:
        if locked and "LockObtainFailed" in type(error).__name__:
            raise ServerError("lucene", address, f"{locked}.") from error
        if "TooMany" in type(error).__name__:  # TooManyClauses, TooManyNestedClauses
            raise TooManyClausesError(
                "lucene", address, str(error), "IndexSearcher.setMaxClauseCount"
            ) from error
        raise ServerError("lucene", address, f"{error}.") from error


def _start(address: str) -> None:
    try:
        jpype.startJVM(*_OPTIONS, interrupt=False, convertStrings=False)
    except (ValueError, OSError, RuntimeError) as error:
        raise ServerError(
            "lucene", address,
            f"Java did not start ({error}); install Java 17 or later, such as Debian's "
            "openjdk-17-jre-headless, or set JAVA_HOME.",
        ) from error  # fmt: skip
    logging = jpype.JPackage("java").util.logging
    logging.Logger.getLogger("org.apache.lucene").setLevel(logging.Level.SEVERE)


def _jars(address: str) -> list[Path]:
    folder = os.environ.get("SOFTCOSINE_LUCENE", "")
    jars = sorted(Path(folder).glob("*.jar")) if folder else []
    if not any(jar.name.startswith("lucene-core-") for jar in jars):
        seen = f"no lucene-core in {folder}" if folder else "SOFTCOSINE_LUCENE is not set"
        raise ServerError(
            "lucene", address,
            f"{seen}; set SOFTCOSINE_LUCENE to a folder with the jars of Lucene 9.12, which come "
            "from Maven Central (see docs/servers.md).",
        )  # fmt: skip
    return jars
