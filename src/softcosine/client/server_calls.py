"""`ServerCalls`: the indexes, aliases and tasks of a server."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from softcosine.client.calls import Steps, call
from softcosine.client.exchange import Exchange, segment
from softcosine.client.failures import error_of
from softcosine.errors import ServerError
from softcosine.matrix.recipe import SimilarityRecipe

_FIRST_PAUSE, _LONGEST_PAUSE = 0.05, 1.0  # seconds between two looks at a task


class ServerCalls:
    """Calls of a server."""

    _exchange: Exchange

    @call
    def indexes(self) -> Steps[list[dict[str, Any]]]:
        """Return the state of each index, as `RemoteIndex.info`."""
        return list((yield from self._exchange.ask("GET", "indexes"))["indexes"])

    @call
    def create(
        self,
        /,
        name: str,
        *,
        similarity: SimilarityRecipe | Mapping[str, Any] | None = None,
        **options: Any,
    ) -> Steps[dict[str, Any]]:
        """Create an index without documents; return its state.

        Parameters
        ----------
        name : str
        similarity : SimilarityRecipe, or its dictionary, optional
            Without files, models and objects as sources.
        **options
            ``plain``, ``language``, ``ranking``, ``fields``, ``max_neighbors``, ``min_df``,
            ``max_df``, ``positions``, ``keep_texts``, ``encoder``, ``meaning`` and ``note`` of
            `SoftIndex.create`.

        Raises
        ------
        AlreadyExistsError, InvalidInputError, PermissionError
        """
        if similarity is not None:
            options["similarity"] = (
                similarity.to_dict()
                if isinstance(similarity, SimilarityRecipe)
                else dict(similarity)
            )
        path = f"indexes/{segment(name)}"
        return (yield from self._exchange.ask("PUT", path, options, repeatable=False))

    @call
    def delete(self, name: str) -> Steps[None]:
        """Delete an index and its files; searches that run on it finish.

        Raises
        ------
        FileNotFoundError
            If there is no such index.
        AlreadyExistsError
            If an alias stands for it.
        """
        yield from self._exchange.ask("DELETE", f"indexes/{segment(name)}", repeatable=False)

    @call
    def aliases(self) -> Steps[dict[str, str]]:
        """Return for each alias its index."""
        return dict((yield from self._exchange.ask("GET", "aliases"))["aliases"])

    @call
    def set_alias(self, alias: str, index: str) -> Steps[None]:
        """Let a name stand for an index: searches move to it at once."""
        yield from self._exchange.ask("PUT", f"aliases/{segment(alias)}", {"index": index})

    @call
    def delete_alias(self, alias: str) -> Steps[None]:
        """Delete an alias; the index stays."""
        yield from self._exchange.ask("DELETE", f"aliases/{segment(alias)}", repeatable=False)

    @call
    def task(self, id: str) -> Steps[dict[str, Any]]:
        """Return the state of a task."""
        return (yield from self._exchange.ask("GET", f"tasks/{segment(id)}"))

    @call
    def wait(self, id: str) -> Steps[dict[str, Any]]:
        """Return the state of a task after its end.

        Raises
        ------
        SoftCosineError, OSError
            The error that the task ended with.
        """
        return (yield from ended_task(self._exchange, id))

    @call
    def cancel(self, id: str) -> Steps[dict[str, Any]]:
        """Let a task end at its next step, and return its state; nothing is changed by it."""
        return (yield from self._exchange.ask("DELETE", f"tasks/{segment(id)}"))


def ended_task(exchange: Exchange, id: str) -> Steps[dict[str, Any]]:
    """Return the state of a task after its end; see `ServerCalls.wait`."""
    pause = _FIRST_PAUSE
    while True:
        record = yield from exchange.ask("GET", f"tasks/{segment(id)}")
        if record["state"] == "done":
            return record
        if problem := record.get("problem"):
            raise error_of(problem, exchange.address)
        if record["state"] not in ("waiting", "running"):
            raise ServerError(
                "softcosine", exchange.address,
                f"the task {record['kind']} of the index {record['index']} is {record['state']} "
                "(its last step: {}).".format(record.get("step") or "none"),
            )  # fmt: skip
        yield pause
        pause = min(2 * pause, _LONGEST_PAUSE)
