"""Shards in actors of Ray Core: on several machines, with replicas, restarted when they die."""

from __future__ import annotations

import itertools
import os
import threading
import time
from collections.abc import Mapping, Sequence
from importlib import import_module
from types import ModuleType
from typing import Any

from softcosine._deadline import check_deadline, using_deadline
from softcosine.cluster.shard import Shard, ShardSource
from softcosine.errors import DeadlineExceededError, MissingDependencyError, ServerError

__all__ = ["RayWorkers", "imported_ray"]

_OLDEST, _TOO_NEW = (2, 30), (3, 0)
_AT_ONCE = 8  # calls of one actor at a time
_PAUSE = 0.05  # seconds before a call that failed is made again
_ATTEMPTS = 200  # without a deadline; a restart takes some seconds

_lock = threading.Lock()
_users = 0


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
    """The actors of one shard, in turn; without those that died and have not answered again."""

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
                except self._ray.exceptions.RayActorError:
                    self._ping(number)
                else:
                    self._down.pop(number, None)
        turn = next(self._turn)
        up = [number for number in range(len(self.actors)) if number not in self._down]
        return up[turn % len(up)] if up else turn % len(self.actors)

    def died(self, number: int) -> None:
        """Leave an actor out until it answers."""
        if number not in self._down:
            self._ping(number)

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
        self._owns = _start(self._ray)
        made = self._ray.remote(_Actor).options(
            max_restarts=-1, max_concurrency=_AT_ONCE, scheduling_strategy="SPREAD", num_cpus=0
        )
        self.shards = [
            _Replicas(self._ray, [made.remote(source) for _ in range(replicas)])
            for source in sources
        ]
        try:
            opened = [
                actor.call.remote("counts", (), None)
                for shard in self.shards
                for actor in shard.actors
            ]
            self._ray.get(opened)
        except self._ray.exceptions.RayTaskError as error:
            self.close()
            raise error.cause from error

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
            ready, _ = self._ray.wait(list(pending), timeout=left())
            if not ready:
                break
            for answer in ready:
                shard, replica = pending.pop(answer)
                try:
                    answers[shard] = self._ray.get(answer)
                except self._ray.exceptions.RayActorError as error:
                    attempts[shard] += 1
                    if end is None and attempts[shard] > _ATTEMPTS:
                        times = f"its actors died {attempts[shard]} times: {error}"
                        raise ServerError("Ray", f"shard {shard}", times) from error
                    self.shards[shard].died(replica)
                    if attempts[shard] > len(self.shards[shard].actors):
                        time.sleep(min(_PAUSE, left() or _PAUSE))
                    ask(shard)
                except self._ray.exceptions.RayTaskError as error:
                    if isinstance(error.cause, DeadlineExceededError):
                        check_deadline()  # that of the caller; else the shard was too slow
                        continue
                    raise error.cause from error
        return answers

    def close(self) -> None:
        """End the actors, and Ray if nothing else that was started here uses it."""
        for shard in self.shards:
            for actor in shard.actors:
                self._ray.kill(actor)
        self.shards = []
        if self._owns:
            self._owns = False
            _stop(self._ray)


def _start(ray: ModuleType) -> bool:
    """Start Ray if it is not; return whether it is one that was started here."""
    global _users
    with _lock:
        if ray.is_initialized() and _users == 0:
            return False
        if not ray.is_initialized():
            os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
            given = os.environ.get("RAY_ADDRESS")
            options: dict[str, Any] = {} if given else {"include_dashboard": False}
            ray.init(address=given or "local", log_to_driver=False, **options)
        _users += 1
        return True


def _stop(ray: ModuleType) -> None:
    global _users
    with _lock:
        _users -= 1
        if _users == 0:
            ray.shutdown()
