"""The plan of a build: what its tasks read, written once in the folder of the work."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from softcosine.cluster.splitting import Chunk, Input, inputs_at
from softcosine.errors import InvalidInputError
from softcosine.files import Fields, RecordReader
from softcosine.index.directory.manifest import IndexSettings
from softcosine.storage import write_text
from softcosine.text.analyzer import Analyzer

_FILE = "plan.json"


def tally_folder(work: Path, chunk: int) -> Path:
    """Return the folder of the tally of a chunk."""
    return work / f"tally-{chunk:06}"


@dataclass(frozen=True, slots=True)
class BuildPlan:
    """Inputs, settings and types that all tasks of a build share.

    Attributes
    ----------
    fingerprint : str
        Checksum of the inputs and all settings.
    inputs : tuple of Input
    chunks : tuple of Chunk
    id_name : str
        Field of the ids.
    fields : Fields
        Of the records.
    types : dict of str to str
        Of the columns of CSV and TSV.
    settings : IndexSettings
        As the first documents decide them.
    note : str
        On the language.
    """

    fingerprint: str
    inputs: tuple[Input, ...]
    chunks: tuple[Chunk, ...]
    id_name: str
    fields: Fields
    types: dict[str, str]
    settings: IndexSettings
    note: str

    @property
    def analyzer(self) -> Analyzer:
        """The analyzer of the texts."""
        assert self.settings.analyzer is not None
        return self.settings.analyzer

    @property
    def field_names(self) -> list[str]:
        """Names of the fields of the index."""
        return [field.name for field in self.settings.fields]

    def reader(self) -> RecordReader:
        """Return the reader of the records of a chunk."""
        return RecordReader.of_part(self.fields, self.types, self.id_name)

    def check_input(self, chunk: int, work: Path) -> None:
        """Raise InvalidInputError if the file of a chunk has changed since the build began."""
        (planned,) = {one for one in self.inputs if one.path == self.chunks[chunk].path}
        if inputs_at([planned.path]) != [planned]:
            raise InvalidInputError(
                f"{planned.path} has changed while read; delete {work.parent} and build again."
            )

    def write(self, work: Path) -> None:
        """Write the plan into the folder of the work, atomically."""
        values = {**asdict(self), "settings": self.settings.to_dict()}
        write_text(work / _FILE, json.dumps(values))

    @staticmethod
    def read(work: Path) -> BuildPlan:
        """Return the plan in the work folder; FileNotFoundError if it is missing."""
        return _read(work, (work / _FILE).stat().st_mtime_ns)


@lru_cache(maxsize=1)  # a worker runs many tasks of one build
def _read(work: Path, stamp: int) -> BuildPlan:
    values: dict[str, Any] = json.loads((work / _FILE).read_text(encoding="utf-8"))
    fields = values["fields"]
    text = fields["text"]
    values |= {
        "inputs": tuple(Input(**one) for one in values["inputs"]),
        "chunks": tuple(Chunk(**one) for one in values["chunks"]),
        "fields": Fields(**{**fields, "text": None if text is None else tuple(text)}),
        "settings": IndexSettings.from_dict(values["settings"]),
    }
    return BuildPlan(**values)
