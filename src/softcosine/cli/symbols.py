"""Unicode symbols as documents of the demo, and their index in the user's data folder."""

from __future__ import annotations

import re
import shutil
import sys
import time
import unicodedata
import zlib
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from softcosine.errors import SoftCosineError
from softcosine.version import __version__

if TYPE_CHECKING:
    from softcosine.cli.progress import Reporter
    from softcosine.index.soft_index import SoftIndex


# Names without meaning of their own, and musical notations, whose names are terms of music theory.
_LEFT_OUT = re.compile(
    r"RADICAL|BRAILLE PATTERN|SIGNWRITING|HEXAGRAM FOR|TETRAGRAM FOR|MUSICAL SYMBOL|ZNAMENNY"
    r"|INSTRUMENTAL NOTATION|VOCAL NOTATION"
)

_SETTINGS: dict[str, Any] = {"ranking": "soft_cosine"}


@dataclass(frozen=True, slots=True)
class OpenedSymbols:
    """The index of the symbols' names, opened or built.

    Attributes
    ----------
    index : SoftIndex
        The id of a document is the character itself.
    path : Path or None
        Folder of the index; None if it could not be written.
    built : float or None
        Seconds of building; None if the index existed.
    problem : str
        Reason why the index could not be written; empty if it was.
    """

    index: SoftIndex
    path: Path | None
    built: float | None
    problem: str = ""


def symbols() -> dict[str, str]:
    """Return the symbols and punctuation marks (categories S* and P*), with names in lower case.

    Radicals, Braille, signwriting, hexagrams, tetragrams and musical notations are left out. The
    number of symbols depends on the Unicode version of this Python.
    """
    characters = map(chr, range(sys.maxunicode + 1))
    signs = (one for one in characters if unicodedata.category(one)[0] in "SP")
    names = {one: unicodedata.name(one, "") for one in signs}
    return {one: name.lower() for one, name in names.items() if name and not _LEFT_OUT.search(name)}


def index_symbols(report: Reporter | None = None, *, encoder: str | None = None) -> SoftIndex:
    """Return an index of the names with soft cosine and the bundled English vectors.

    With an encoder, the cosine of meaning is added.

    Co-occurrence in names of three or four words adds nothing to the vectors: the index is a
    little better without it (docs/benchmarks/symbols.md).
    """
    from softcosine.index.soft_index import SoftIndex
    from softcosine.similarity.embeddings.embedding import EmbeddingSimilarity

    names = symbols()
    settings = {"ids": [*names], "source": EmbeddingSimilarity.english(), **_SETTINGS}
    return SoftIndex.from_texts([*names.values()], **settings, encoder=encoder, progress=report)


def open_symbols(report: Reporter | None = None, *, encoder: str | None = None) -> OpenedSymbols:
    """Open the index of this Unicode version and this softcosine, or build and store it.

    Parameters
    ----------
    report : Reporter, optional
        Called with the progress of building.
    encoder : str, optional
        Reads the names.
    """
    from softcosine.index.soft_index import SoftIndex
    from softcosine.storage.home import data_folder

    folder = data_folder()
    name = f"symbols-{unicodedata.unidata_version}-{__version__}"
    edition = zlib.crc32(f"{_SETTINGS} {encoder}".encode())
    path = None if folder is None else folder / f"{name}-{edition:08x}.index"
    if path is not None:
        with suppress(SoftCosineError, OSError):  # missing, or of another version
            return OpenedSymbols(SoftIndex.open(path), path, None)
    started = time.perf_counter()
    index = index_symbols(report, encoder=encoder)
    built = time.perf_counter() - started
    if folder is None or path is None:
        return OpenedSymbols(index, None, built, "this user has no home folder")
    try:
        for stale in folder.glob(f"{name}-*.index"):  # damaged, or of other settings
            shutil.rmtree(stale, ignore_errors=True)
        path.parent.mkdir(parents=True, exist_ok=True)
        index.save(path, overwrite=True)
    except OSError as error:
        problem = error.strerror or str(error)
        return OpenedSymbols(index, None, built, f"{path.parent}: {problem}")
    return OpenedSymbols(index, path, built)
