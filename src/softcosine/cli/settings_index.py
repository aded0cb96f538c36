"""Option ``--settings`` of ``softcosine index``: an index with settings chosen by ``tune``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from softcosine.errors import InvalidInputError

__all__ = ["index_with_settings"]


def index_with_settings(
    settings: Path,
    inputs: Sequence[str],
    output: Path,
    *,
    overwrite: bool,
    id_field: str | None,
    text_fields: Sequence[str] | None,
    format: str | None,
    encoding: str,
    pattern: str | None,
) -> str:
    """Read documents, index them with settings, and write the index atomically.

    Fields with a weight in the settings have scores of their own; otherwise `text_fields` are
    joined into one text.

    Returns
    -------
    str
        The note on the source of the similarities.

    Raises
    ------
    InvalidInputError
        If `text_fields` are given and the settings have fields.
    FileNotFoundError, MalformedFileError
    """
    from softcosine.cli.progress import Reporter
    from softcosine.cli.reading import each_document, fields_named
    from softcosine.evaluate.documents import Documents
    from softcosine.evaluate.tuning.indexing import indexed
    from softcosine.evaluate.tuning.settings import Settings

    chosen = Settings.load(settings)
    weighed = tuple(name for name, _ in chosen.fields or ())
    if weighed and text_fields:
        raise InvalidInputError(
            f"{settings} has weights for the fields {', '.join(weighed)}; leave --text out."
        )
    fields = fields_named(id_field, weighed or text_fields, separate=True)
    with Reporter() as report:
        columns: dict[str, list[str]] = {name: [] for name in fields.names}
        ids, metadata = [], []
        for document in each_document(
            inputs, fields=fields, format=format, encoding=encoding, pattern=pattern,
            progress=lambda done: report("reading documents", done, None),
        ):  # fmt: skip
            text = document.text if isinstance(document.text, dict) else {}
            for name, column in columns.items():
                column.append(text.get(name, ""))
            ids.append(document.id)
            metadata.append(document.metadata)
        documents = Documents(tuple(ids), columns)
        made = indexed(documents, chosen, metadata=metadata, progress=report)
        report("writing", 0, None)
        made.save(output, overwrite=overwrite)
    return made.note
