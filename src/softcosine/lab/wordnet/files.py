"""Readers of WordNet: Princeton's files, as in Debian and nltk, and two tables."""

from __future__ import annotations

import gzip
import io
import os
import re
import sys
import zipfile
import zlib
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from os import PathLike
from pathlib import Path
from typing import IO

import numpy as np

from softcosine._progress import Progress
from softcosine.errors import MalformedFileError
from softcosine.lab.wordnet.graph import WordNet
from softcosine.storage import checked_path

_FILES = {"data.noun": "n", "data.verb": "v", "data.adj": "a", "data.adv": "r"}
_TABLES = ("synsets.tsv", "relations.tsv")
_POINTERS = {"@": "hypernyms", "@i": "hypernyms", "&": "similar"}
# Signs of the other pointers, which are not used.
_OTHERS = {*"~^=+\\<*>$!", "~i", "#m", "#p", "#s", "%m", "%p", "%s"}
_OTHERS |= {";c", ";r", ";u", "-c", "-r", "-u"}
_MARKER = re.compile(r"\((?:a|p|ip)\)$")  # position of an adjective
_NLTK_NAMES = ("wordnet", "wordnet.zip", "wordnet31", "wordnet31.zip")
_REPORTED = 10_000


def find_wordnet() -> Path:
    """Return the first usual place that has a WordNet.

    The usual places are ``$WNSEARCHDIR``, ``$WNHOME/dict``, the folders of Linux packages, and
    nltk's data (``$NLTK_DATA``, ``~/nltk_data``, ...).

    Raises
    ------
    FileNotFoundError
        If there is none. The message lists the searched places and how to get one.
    """
    folders = _folders()
    nltk = _nltk_folders()
    inside = [folder / "corpora" / name for folder in nltk for name in _NLTK_NAMES]
    for place in (*folders, *inside):
        if _is_wordnet(place):
            return place
    raise FileNotFoundError(
        f"no WordNet was found; looked in {', '.join(map(str, folders))}, and for nltk's "
        f"corpora/wordnet in {', '.join(map(str, nltk))}. Install one (apt-get "
        "install wordnet-base, or nltk.download('wordnet')), or pass the path of a folder "
        "with data.noun, data.verb, data.adj and data.adv."
    )


def _folders() -> list[Path]:
    """Return the folders of WordNet's own packages."""
    variables = os.environ.get("WNSEARCHDIR"), os.environ.get("WNHOME")
    folders = [Path(variables[0])] if variables[0] else []
    homes = [variables[1]] if variables[1] else []
    homes += ["/usr/local/WordNet-3.1", "/usr/local/WordNet-3.0", "/opt/homebrew/opt/wordnet"]
    return [*folders, Path("/usr/share/wordnet"), *(Path(home, "dict") for home in homes)]


def _nltk_folders() -> list[Path]:
    """Return the folders of nltk's data."""
    given = [Path(p) for p in os.environ.get("NLTK_DATA", "").split(os.pathsep) if p]
    places = [Path(root, inner) for root in (sys.prefix, "/usr") for inner in ("share", "lib")]
    places += [Path(sys.prefix), Path("/usr/local/share"), Path("/usr/local/lib"), Path.home()]
    return list(dict.fromkeys([*given, *(place / "nltk_data" for place in places)]))


def _is_wordnet(place: Path) -> bool:
    if place.is_dir():
        return (place / "data.noun").is_file()
    return place.is_file() and zipfile.is_zipfile(place)


def read_wordnet(
    path: str | PathLike[str] | None = None,
    *,
    progress: Progress | None = None,
) -> WordNet:
    """Read a WordNet.

    Parameters
    ----------
    path : path, optional
        One of: a folder or zip file with at least one of Princeton's files ``data.noun``,
        ``data.verb``, ``data.adj`` and ``data.adv``; a folder with the tables ``synsets.tsv``
        (synset, words separated by ``|``) and ``relations.tsv`` (synset, pointer, synset),
        gzipped or not. By default the first of the usual places (`find_wordnet`).
    progress : callable, optional
        Called as ``progress(done, total)``, in synsets; the total is an estimate.

    Raises
    ------
    FileNotFoundError
        If no WordNet is found.
    MalformedFileError
        If a line violates the format, or refers to a missing synset. The message names the line.
    """
    place = find_wordnet() if path is None else checked_path(path)
    if not place.exists():
        raise FileNotFoundError(f"there is no WordNet at {place}.")
    reading = _Reading(place, progress)
    with ExitStack() as stack:
        files = _open_all(place, stack)
        if any(name in _FILES for name in files):
            for name, letter in _FILES.items():
                if name in files:
                    reading.read(place / name, files[name], partial(reading.add_data, letter))
        elif all(name in files for name in _TABLES):
            reading.read(place / _TABLES[0], files[_TABLES[0]], reading.add_row)
            reading.read(place / _TABLES[1], files[_TABLES[1]], reading.add_relation)
        else:
            raise FileNotFoundError(
                f"there is no WordNet in {place}; needed are {', '.join(_FILES)}, or "
                f"{' and '.join(_TABLES)}."
            )
    if not reading.words:
        raise MalformedFileError(place, "the files hold no synsets; needed is a WordNet.")
    return reading.wordnet()


def _open_all(place: Path, stack: ExitStack) -> dict[str, IO[str]]:
    """Open the possibly needed files, by name, as text."""
    files: dict[str, IO[str]] = {}
    wanted = (*_FILES, *_TABLES)
    if place.is_dir():
        for name in wanted:
            plain, packed = place / name, place / f"{name}.gz"
            if plain.is_file():
                files[name] = stack.enter_context(plain.open(encoding="utf-8"))
            elif packed.is_file():
                text = gzip.open(packed, "rt", encoding="utf-8")  # noqa: SIM115
                files[name] = stack.enter_context(text)
        return files
    try:
        archive = stack.enter_context(zipfile.ZipFile(place))
        for inner in archive.namelist():
            name = inner.rpartition("/")[2]
            if name in wanted:
                raw = stack.enter_context(archive.open(inner))
                files[name] = stack.enter_context(io.TextIOWrapper(raw, encoding="utf-8"))
    # zipfile raises RuntimeError for a password, and its subclass NotImplementedError for
    # unsupported files.
    except (zipfile.BadZipFile, RuntimeError, OSError, ValueError, zlib.error) as error:
        raise MalformedFileError(place, f"the archive cannot be read: {error}") from None
    return files


@dataclass(slots=True)
class _Reading:
    """Data read from a WordNet so far."""

    place: Path
    progress: Progress | None
    numbers: dict[str, int] = field(default_factory=dict)
    words: list[tuple[str, ...]] = field(default_factory=list)
    # Relation (None: unused), source, target by name, file and line.
    pointers: list[tuple[str | None, int, str, Path, int]] = field(default_factory=list)
    file: Path = Path()
    line: int = 0

    def read(self, file: Path, lines: IO[str], add: Callable[[str], None]) -> None:
        """Add every line that is not blank."""
        self.file, self.line = file, 0
        try:
            for self.line, text in enumerate(lines, start=1):
                if text.strip():
                    add(text.rstrip("\r\n"))
        except (UnicodeDecodeError, EOFError, OSError, zipfile.BadZipFile, zlib.error) as error:
            self.line += 1
            raise self.fault(f"cannot be read: {error}") from None

    def fault(self, problem: str) -> MalformedFileError:
        """Return the error of the current line."""
        return MalformedFileError(self.file, problem, line=self.line)

    def add_synset(self, synset: str, words: Iterable[str]) -> int:
        number = len(self.numbers)
        if self.numbers.setdefault(synset, number) != number:
            raise self.fault(f"the synset {synset} is there twice.")
        self.words.append(tuple(_MARKER.sub("", word) for word in words))
        if self.progress is not None and number % _REPORTED == 0:
            self.progress(number, max(number, 117_659))
        return number

    def add_data(self, letter: str, text: str) -> None:
        """Add a line of one of Princeton's data files (see the manual page wndb.5WN)."""
        if text.startswith("  "):
            return  # licence text
        fields = text.partition("|")[0].split()
        try:
            n_words = int(fields[3], 16)
            words = fields[4 : 4 + 2 * n_words : 2]
            rest = fields[4 + 2 * n_words :]
            n_pointers = int(rest[0])
            pointers = rest[1 : 1 + 4 * n_pointers]
            if not (fields[0].isdecimal() and len(words) == n_words > 0):
                raise ValueError
            if len(pointers) != 4 * n_pointers:
                raise ValueError
        except (IndexError, ValueError):
            raise self.fault(
                f"{text[:60]!r}... is no synset; needed are its offset, file number, type, words "
                "and pointers, each with their count before them."
            ) from None
        number = self.add_synset(f"{fields[0]}-{letter}", words)
        for i in range(0, len(pointers), 4):
            sign, offset, kind, _ = pointers[i : i + 4]
            self.add_pointer(sign, number, f"{offset}-{kind}")

    def add_row(self, text: str) -> None:
        """Add a row of the table of synsets."""
        fields = text.split("\t")
        if len(fields) < 2 or fields[0][-2:] not in ("-n", "-v", "-a", "-r", "-s"):
            raise self.fault(
                f"{text[:60]!r} is no synset; needed are its name (such as 02084071-n), a tab, and "
                "its words with | between them."
            )
        self.add_synset(_satellite(fields[0]), fields[1].split("|"))

    def add_relation(self, text: str) -> None:
        """Add a row of the table of relations."""
        fields = text.split("\t")
        if len(fields) not in (3, 4):
            raise self.fault(
                f"{text[:60]!r} is no relation; needed are a synset, a pointer sign, a synset and "
                "optionally their word numbers, separated by tabs."
            )
        source = self.numbers.get(_satellite(fields[0]))
        if source is None:
            raise self.fault(f"the synset {fields[0]} is not in {_TABLES[0]}.")
        self.add_pointer(fields[1], source, fields[2])

    def add_pointer(self, sign: str, source: int, target: str) -> None:
        if sign not in _POINTERS and sign not in _OTHERS:
            raise self.fault(f"there is no pointer sign {sign!r}.")
        relation = _POINTERS.get(sign)
        self.pointers.append((relation, source, _satellite(target), self.file, self.line))

    def wordnet(self) -> WordNet:
        """Return the WordNet, with pointers resolved."""
        relations: dict[str, list[tuple[int, int]]] = {"hypernyms": [], "similar": []}
        for name, source, target, file, line in self.pointers:
            number = self.numbers.get(target)
            if number is None:
                self.file, self.line = file, line
                raise self.fault(
                    f"it points to the synset {target}, which is not there; the files are of "
                    "different versions, or one is missing."
                )
            if name is not None:
                relations[name].append((source, number))
        if self.progress is not None:
            self.progress(len(self.words), len(self.words))
        pairs = {name: np.array(r, np.int32).reshape(-1, 2) for name, r in relations.items()}
        return WordNet(self.place, tuple(self.numbers), tuple(self.words), **pairs)


def _satellite(synset: str) -> str:
    """Return the name of a synset, with adjective satellites as adjectives."""
    return f"{synset[:-1]}a" if synset.endswith("-s") else synset
