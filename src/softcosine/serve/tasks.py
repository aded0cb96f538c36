"""`Tasks`: long changes and comparisons in the background; any process can look them up."""

from __future__ import annotations

import asyncio
import contextlib
import secrets
import threading
import time
from collections.abc import Awaitable, Callable
from typing import Any

from softcosine._progress import Report
from softcosine.serve.problems import Problem, problem_of
from softcosine.serve.state_store import StateStore

_PAUSE = 0.3  # seconds between two reports of progress


class _CancelledError(Exception):
    """The task is to end."""


class Tasks:
    """The tasks of one process.

    Parameters
    ----------
    store : StateStore
    """

    def __init__(self, store: StateStore) -> None:
        self._store = store
        self._running: set[asyncio.Task[None]] = set()
        self._unstored: dict[str, dict[str, Any]] = {}  # ends that the disk had no space for
        self._stopping = threading.Event()

    @property
    def n_running(self) -> int:
        """Tasks of this process that run or wait."""
        return len(self._running)

    async def start(
        self, kind: str, index: str, work: Callable[[Report], Awaitable[dict[str, Any]]]
    ) -> dict[str, Any]:
        """Start a task, and return its state.

        Parameters
        ----------
        kind : str
        index : str
        work : callable
            Gets the function that it reports progress to, which raises if the task is to end;
            returns the result.
        """
        id = secrets.token_hex(8)
        record: dict[str, Any] = {"id": id, "kind": kind, "index": index, "state": "waiting"}
        await asyncio.to_thread(self._store.put_task, id, record, ended=False)
        task = asyncio.create_task(self._run(dict(record), work))
        self._running.add(task)
        task.add_done_callback(self._running.discard)
        return record

    async def _run(
        self, record: dict[str, Any], work: Callable[[Report], Awaitable[dict[str, Any]]]
    ) -> None:
        last = 0.0

        def report(step: str, done: int, total: int | None) -> None:
            nonlocal last
            if self._stopping.is_set():
                raise _CancelledError
            now = time.monotonic()
            if record.get("step") == step and now - last < _PAUSE:
                return
            last = now
            record.update(state="running", step=step, done=done, total=total)
            if self._store.put_task(record["id"], record, ended=False):
                raise _CancelledError

        try:
            record.update(result=await work(report), state="done")
        except _CancelledError:
            record["state"] = "cancelled"
        except Exception as error:
            record.update(state="failed", problem=problem_of(error).to_dict())
        try:
            await asyncio.to_thread(self._store.put_task, record["id"], record, ended=True)
        except Exception as error:
            record.pop("result", None)
            record.update(state="failed", problem=problem_of(error).to_dict())
            self._unstored[record["id"]] = record

    async def get(self, id: str) -> dict[str, Any]:
        """Return the state of a task.

        Raises
        ------
        Problem
            ``unknown-task``.
        """
        if (record := self._unstored.get(id)) is not None:
            with contextlib.suppress(OSError):
                await asyncio.to_thread(self._store.put_task, id, record, ended=True)
                del self._unstored[id]
            return record
        record = await asyncio.to_thread(self._store.task, id)
        if record is None:
            raise Problem("unknown-task", f"there is no task {id!r:.100}; ended ones last a day.")
        return record

    async def cancel(self, id: str) -> dict[str, Any]:
        """Cancel a task, which ends at its next step; return its state."""
        await self.get(id)
        await asyncio.to_thread(self._store.cancel_task, id)
        return await self.get(id)

    async def stop(self) -> None:
        """End all tasks of this process; changes that are not committed are rolled back."""
        self._stopping.set()
        if self._running:
            await asyncio.wait(self._running)
