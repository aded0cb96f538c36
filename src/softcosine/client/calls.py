"""Calls as generators, so that one definition serves a blocking client and one for asyncio.

A call yields the requests that it needs, or seconds to wait, and is sent the outcome of each; what
it returns is the result. The clients differ in who runs the generator (``client.py``).
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Generator, Mapping
from dataclasses import dataclass, field
from functools import wraps
from typing import Any, Concatenate, Generic, ParamSpec, TypeAlias, TypeVar, overload

from softcosine.errors import SoftCosineError

_T = TypeVar("_T")
_P = ParamSpec("_P")


@dataclass(frozen=True, slots=True)
class Request:
    """A request to a server.

    Attributes
    ----------
    method : str
    path : str
        Below the address of the server, percent-encoded.
    body : bytes or None
    headers : mapping of str to str
    params : sequence of (name, value)
    repeatable : bool
        Whether it may be sent again although it may have been executed.
    """

    method: str
    path: str
    body: bytes | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    params: tuple[tuple[str, str], ...] = ()
    repeatable: bool = True


@dataclass(frozen=True, slots=True)
class Reply:
    """The reply to a request."""

    status: int
    headers: Mapping[str, str]
    body: bytes


@dataclass(frozen=True, slots=True)
class Lost:
    """No reply came.

    Attributes
    ----------
    reason : {"connect", "timeout", "lost"}
        No connection; no reply in time; a connection that broke.
    error : Exception
    """

    reason: str
    error: Exception


Steps: TypeAlias = Generator[Request | float, Any, _T]


class Blocking:
    """An object whose calls return their results, run by its client."""

    _client: Any

    def _run(self, steps: Steps[Any]) -> Any:
        return self._client._run(steps)


class Awaiting:
    """An object whose calls return coroutines, run by its client."""

    _client: Any

    async def _run(self, steps: Steps[Any]) -> Any:
        return await self._client._run(steps)


class call(Generic[_P, _T]):  # noqa: N801  # a decorator
    """Decorator: a generator as a method that returns the result, or a coroutine of it."""

    def __init__(self, steps: Callable[Concatenate[Any, _P], Steps[_T]]) -> None:
        self._steps = steps
        self.__doc__ = steps.__doc__
        told = steps.__annotations__["return"]  # for help(): the result alone
        steps.__annotations__["return"] = told.removeprefix("Steps[").removesuffix("]")

    @overload
    def __get__(self, owner: None, kind: type) -> Callable[Concatenate[Any, _P], Steps[_T]]: ...
    @overload
    def __get__(self, owner: Blocking, kind: type) -> Callable[_P, _T]: ...
    @overload
    def __get__(self, owner: Awaiting, kind: type) -> Callable[_P, Coroutine[Any, Any, _T]]: ...
    def __get__(self, owner: Blocking | Awaiting | None, kind: type) -> Callable[..., Any]:
        if owner is None:  # for help() and the documentation
            return self._steps
        steps = self._steps.__get__(owner)

        @wraps(steps)
        def method(*args: _P.args, **kwargs: _P.kwargs) -> Any:
            return owner._run(_checked(steps(*args, **kwargs), owner))

        return method


def _checked(steps: Steps[_T], owner: Any) -> Steps[_T]:
    """Run a call; a reply that is not of the form that the call reads is a ServerError."""
    outcome = None
    try:
        step = next(steps)
        while True:
            outcome = (yield step) or outcome  # nothing is sent after a pause
            step = steps.send(outcome)
    except StopIteration as end:
        result: _T = end.value
        return result
    except Exception as error:
        if outcome is None or isinstance(error, SoftCosineError | OSError):
            raise
        raise owner._exchange.error(
            f"the reply is not in the form of softcosine serve ({type(error).__name__}: {error}); "
            "see whether the server and this client have the same version."
        ) from error
