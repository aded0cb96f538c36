"""`WriterCalls`: changes of an index on a server, collected and sent as one bulk."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from softcosine._validation import check_flag, check_type
from softcosine.client.bodies import Text, document_body, mapping_of
from softcosine.client.calls import Steps, call
from softcosine.client.exchange import Changed, Exchange, json_bytes, result_of
from softcosine.errors import InvalidInputError
from softcosine.index.writer.document import checked_id, from_columns
from softcosine.text.weighting import Weighting


class WriterCalls:
    """Changes of an index, held in memory until `commit` sends all of them in one request.

    The server makes all of them in one commit, or none. Parameters are those of `IndexWriter`; the
    server checks their values at the commit.

    Parameters
    ----------
    client : Client or AsyncClient
    path : str
        Of the index, below ``/v1/``.
    if_match : str or None
        The commit that must be the last one.
    """

    def __init__(self, client: Any, path: str, if_match: str | None) -> None:
        self._client = client
        self._exchange: Exchange = client._exchange
        self._path = path
        self._if_match = if_match
        self._lines: list[bytes] = []
        self._open = True

    def add(self, id: str, text: Text, metadata: Mapping[str, Any] | None = None) -> None:
        """Add a document, or replace the document with the same id."""
        self._collect("add", **document_body(checked_id(id), text, metadata))

    def add_many(
        self,
        ids: Iterable[str],
        texts: Iterable[Text],
        metadata: Iterable[Mapping[str, Any] | None] | None = None,
    ) -> None:
        """Add documents in order, each as `add` does; iterables are read once."""
        for id, text, own in from_columns(texts, ids, metadata):
            self.add(id, text, own)

    def delete(
        self,
        id: str | None = None,
        *,
        where: Mapping[str, Any] | None = None,
        missing_ok: bool = False,
    ) -> None:
        """Delete a document, or all that pass a filter; `commit` returns how many."""
        if (id is None) == (where is None):
            raise InvalidInputError("give the id of a document to delete, or a filter by where=.")
        own = None if id is None else checked_id(id)
        self._collect("delete", id=own, where=mapping_of(where), missing_ok=missing_ok)

    def update_metadata(
        self, id: str, metadata: Mapping[str, Any], *, replace: bool = False
    ) -> None:
        """Change the metadata of a document without analysing its text again."""
        own = mapping_of(metadata)
        self._collect("update_metadata", id=checked_id(id), metadata=own, replace=replace)

    def set_weighting(self, weighting: Weighting, *, ranking: str | None = None) -> None:
        """Use other term weights, and another default ranking, from the commit on."""
        check_type("weighting", weighting, Weighting, "pass a Weighting")
        self._collect("set_weighting", weighting=weighting.to_dict(), ranking=ranking)

    @call
    def commit(self, refresh: bool | None = None) -> Steps[Changed]:
        """Make all changes in one commit, or none of them.

        If the server refuses them they stay here, for another `commit`, or a `rollback`.

        Parameters
        ----------
        refresh : bool, optional
            Whether to recompute the statistics; see `IndexWriter.commit`.

        Returns
        -------
        Changed
            Counts of what was changed, and the commit.

        Raises
        ------
        ProblemError
            With the kind ``changed-meanwhile``, if `if_match` was given, and there is another
            commit.
        InvalidInputError, UnknownDocumentError, IndexLockedError, PermissionError
        """
        return (yield from self.sent(refresh))

    def rollback(self) -> None:
        """Drop the changes since the last commit."""
        self._lines.clear()

    def close(self) -> None:
        """Drop the changes since the last commit, and take no more."""
        self._lines.clear()
        self._open = False

    def sent(self, refresh: bool | None = None) -> Steps[Changed]:
        """Send the changes; see `commit`."""
        self._check_open()
        check_flag("refresh", refresh, optional=True)
        params = () if refresh is None else (("refresh", str(refresh).lower()),)
        answer = yield from self._exchange.ask(
            "POST", f"{self._path}/changes", b"\n".join(self._lines), params=params, changes=True,
            if_match=self._if_match,
        )  # fmt: skip
        self._lines.clear()
        changed = result_of(Changed, answer)
        if self._if_match is not None:
            self._if_match = changed.commit
        return changed

    def _collect(self, op: str, **change: Any) -> None:
        self._check_open()
        self._lines.append(json_bytes({"op": op, **change}))

    def _check_open(self) -> None:
        if not self._open:
            raise InvalidInputError("this writer is closed; open another one.")
