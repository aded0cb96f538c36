"""Shards in actors of Ray Core: on several machines, with replicas, restarted when they die."""

from __future__ import annotations

import ctypes
import itertools
import math
import os
import signal
import sys
import threading
import time
import weakref
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from importlib import import_module
from types import ModuleType
from typing import Any

from softcosine._deadline import check_deadline, using_deadline
from softcosine.cluster.shard import Shard, ShardSource
from softcosine.errors import (
    CommitNotFoundError,
    DeadlineExceededError,
    MissingDependencyError,
    ServerError,
)

_OLDEST, _TOO_NEW = (2, 30), (3, 0)
_AT_ONCE = 8  # calls of one actor at a time
_PAUSE = 0.05  # seconds before a call that failed is made again
_ATTEMPTS = 200  # without a deadline; a restart takes some seconds
_SIGACTION = 1024  # bytes, at least those of a struct sigaction

_lock = threading.Lock()


def imported_ray() -> ModuleType:
    """Return the module of Ray.

    Raises
    ------
    MissingDependencyError
        If it is not installed, or in an unsupported version.
    """
    wanted = f"ray>={'.'.join(map(str, _OLDEST))},<{_TOO_NEW[0]}"
    try:
        ray = import_module("ray")
    except ImportError as error:
        raise MissingDependencyError(wanted, "ray", 'engine="ray"') from error
    version = tuple(int(part) for part in ray.__version__.split(".")[:2])
    if not _OLDEST <= version < _TOO_NEW:
        raise MissingDependencyError(wanted, "ray", f'engine="ray" (found is {ray.__version__})')
    return ray


class _Actor:
    """A process that holds one shard."""

    def __init__(self, source: ShardSource) -> None:
        self._source = source
        self._shard: Shard | None = None
        self._opening = threading.Lock()

    def call(self, method: str, arguments: Sequence[Any], seconds: float | None) -> Any:
        """Call a method of the shard, which the first call opens."""
        with self._opening:  # not in __init__, whose errors would end the process
            if self._shard is None:
                self._shard = Shard.open(self._source)
        with using_deadline(seconds):
            return self._shard.call(method, arguments)

    def process(self) -> int:
        """Return the number of its process."""
        return os.getpid()


class _Replicas:
    """The actors of one shard, in turn; without those that died and have not answered again.

    An actor that is restarted when its commit is deleted never answers again.
    """

    def __init__(self, ray: ModuleType, actors: Sequence[Any]) -> None:
        self._ray = ray
        self.actors = tuple(actors)
        self._down: dict[int, Any] = {}  # a call that an actor answers when it is there again
        self._turn = itertools.count()

    def choose(self) -> int:
        """Return the number of an actor."""
        for number, ping in list(self._down.items()):
            if self._ray.wait([ping], timeout=0)[0]:
                try:
                    self._ray.get(ping)
                except (
                    self._ray.exceptions.RayActorError,
                    self._ray.exceptions.RayTaskError,
                ) as error:
                    if not isinstance(getattr(error, "cause", None), CommitNotFoundError):
                        self._ping(number)
                else:
                    self._down.pop(number, None)
        turn = next(self._turn)
        up = [number for number in range(len(self.actors)) if number not in self._down]
        return up[turn % len(up)] if up else turn % len(self.actors)

    def died(self, number: int) -> bool:
        """Skip an actor until it answers again; return whether another one is up."""
        if number not in self._down:
            self._ping(number)
        return len(self._down) < len(self.actors)

    def _ping(self, number: int) -> None:
        self._down[number] = self.actors[number].call.remote("counts", (), None)


class RayWorkers:
    """Searches shards in actors of Ray; see `softcosine.cluster.workers.Workers`.

    Parameters
    ----------
    sources : sequence of ShardSource
    replicas : int
        Number of actors for each shard.

    Raises
    ------
    MissingDependencyError
        As for `imported_ray`.
    IndexFormatError, FileNotFoundError
        As for `Shard.open`.
    """

    def __init__(self, sources: Sequence[ShardSource], *, replicas: int = 1) -> None:
        self._ray = imported_ray()
        self.shards: list[_Replicas] = []
        _start(self._ray)
        self._end = weakref.finalize(self, _end, self._ray, self.shards)
        self._end.atexit = False  # Ray ends its processes then
        try:
            made = self._ray.remote(_Actor).options(
                max_restarts=-1, max_concurrency=_AT_ONCE, scheduling_strategy="SPREAD", num_cpus=0
            )
            self.shards += [
                _Replicas(self._ray, [made.remote(source) for _ in range(replicas)])
                for source in sources
            ]
            opened = [
                actor.call.remote("counts", (), None)
                for shard in self.shards
                for actor in shard.actors
            ]
            self._ray.get(opened)
        except BaseException as error:
            self.close()
            if isinstance(error, self._ray.exceptions.RayTaskError):
                raise error.cause from error
            raise

    def scatter(
        self, method: str, calls: Mapping[int, Sequence[Any]], seconds: float | None
    ) -> dict[int, Any]:
        """Call a method of several shards at once; see `Workers`."""
        end = None if seconds is None else time.monotonic() + seconds
        answers: dict[int, Any] = {}
        pending: dict[Any, tuple[int, int]] = {}
        attempts = dict.fromkeys(calls, 0)

        def left() -> float | None:
            return None if end is None else max(0.0, end - time.monotonic())

        def ask(shard: int) -> None:
            replica = self.shards[shard].choose()
            actor = self.shards[shard].actors[replica]
            pending[actor.call.remote(method, calls[shard], left())] = shard, replica

        for shard in calls:
            ask(shard)
        while pending:
            seconds = left()
            if seconds is not None:
                seconds = math.ceil(1000 * seconds) / 1000  # Ray cuts off parts of milliseconds
            ready, _ = self._ray.wait(list(pending), timeout=seconds)
            if not ready and left() == 0.0:
                break
            for answer in ready:
                shard, replica = pending.pop(answer)
                try:
                    answers[shard] = self._ray.get(answer)
                except (
                    self._ray.exceptions.RayActorError,
                    self._ray.exceptions.ObjectLostError,
                ) as error:
                    if not self._end.alive:  # closed meanwhile
                        raise
                    attempts[shard] += 1
                    if end is None and attempts[shard] > _ATTEMPTS:
                        times = f"its actors failed {attempts[shard]} times: {error}"
                        raise ServerError("Ray", f"shard {shard}", times) from error
                    self.shards[shard].died(replica)
                    if left() == 0.0:
                        continue  # calls of an actor that is not restarted fail at once
                    if attempts[shard] > len(self.shards[shard].actors):
                        time.sleep(min(_PAUSE, left() or _PAUSE))
                    ask(shard)
                except self._ray.exceptions.RayTaskError as error:
                    if isinstance(error.cause, DeadlineExceededError):
                        check_deadline()  # that of the caller; else the shard was too slow
                        continue
                    deleted = isinstance(error.cause, CommitNotFoundError)
                    if not deleted or not self.shards[shard].died(replica):
                        raise error.cause from error
                    ask(shard)
        return answers

    def close(self) -> None:
        """End the actors; Ray runs until this process ends, or calls ``ray.shutdown()``.

        Workers that nothing refers to any more, such as those of an earlier commit, are closed too.
        """
        self._end()


def _end(ray: ModuleType, shards: Sequence[_Replicas]) -> None:
    for actor in [actor for shard in shards for actor in shard.actors]:
        if not ray.is_initialized():
            break  # they ended with it, and `kill` would start it again
        with suppress(ray.exceptions.RayError, ValueError):  # of an earlier start of Ray
            ray.kill(actor)


def _start(ray: ModuleType) -> None:
    """Start Ray if it is not."""
    with _lock:
        if ray.is_initialized():
            return
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        given = os.environ.get("RAY_ADDRESS")
        options: dict[str, Any] = {} if given else {"include_dashboard": False}
        with _keeping_sigterm():
            ray.init(address=given or "local", log_to_driver=False, **options)


@contextmanager
def _keeping_sigterm() -> Iterator[None]:
    """Keep what SIGTERM does in this process.

    Ray starts with a handler that ends it at once, without any cleanup, and stops with none at all.
    Only the system's call restores a handler outside of the main thread.
    """
    if sys.platform == "win32":
        yield
        return
    sigaction, before = ctypes.CDLL(None).sigaction, ctypes.create_string_buffer(_SIGACTION)
    sigaction(signal.SIGTERM, None, before)
    try:
        yield
    finally:
        sigaction(signal.SIGTERM, before, None)
