"""Readers of WordNets in XML (WN-LMF), and of the database of the wn package."""

from __future__ import annotations

import gzip
import lzma
import tempfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any, cast
from xml.parsers import expat

import numpy as np

from softcosine._progress import Progress
from softcosine.errors import MalformedFileError, MissingDependencyError
from softcosine.similarity.thesaurus.wordnet import WordNet

__all__ = ["read_lmf", "read_wn_package", "wn_database"]

# Relation names that differ in this library. Inverse relations and those of other languages'
# wordnets are omitted.
_NAMES = {
    "holo_member": "holonym",
    "holo_part": "holonym",
    "holo_substance": "holonym",
    "also": "also_see",
    "entails": "entailment",
    "causes": "cause",
    "domain_topic": "domain",
    "domain_region": "domain",
    "exemplifies": "domain",
}
_SAME = ("hypernym", "instance_hypernym", "similar", "attribute", "derivation", "pertainym")
_NAMES |= {name: name for name in (*_SAME, "participle", "antonym")}
_PIECE = 1 << 20
_OPENERS: dict[bytes, Callable[[IO[bytes]], Any]] = {
    b"\x1f\x8b": lambda file: gzip.GzipFile(fileobj=file),
    b"\xfd7": lzma.LZMAFile,
}
# Exceptions for damaged compressed files and XML; the last two are for encodings.
_UNREADABLE = (
    *(expat.ExpatError, EOFError, OSError, lzma.LZMAError, zlib.error),
    *(LookupError, ValueError),
)


class _Handler:
    """Data read from the XML so far; the parser calls it back."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.parser = expat.ParserCreate()
        self.parser.StartElementHandler = self.start
        self.synsets: dict[str, str] = {}  # part of speech
        self.senses: list[tuple[str, str, str, int]] = []  # lemma, synset, name, line
        self.relations: list[tuple[str, str, str, int]] = []  # name, source, target, line
        self.lemma = self.place = ""

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        """Process the start of an element."""
        line = self.parser.CurrentLineNumber
        try:
            if tag == "Lemma":
                self.lemma = attributes["writtenForm"]
            elif tag == "Sense":
                self.place = attributes["id"]
                self.senses.append((self.lemma, attributes["synset"], self.place, line))
            elif tag == "Synset":
                self.place = attributes["id"]
                self.synsets[self.place] = attributes["partOfSpeech"].replace("s", "a")
            elif tag in ("SenseRelation", "SynsetRelation"):
                relation, target = attributes["relType"], attributes["target"]
                if relation in _NAMES:
                    self.relations.append((_NAMES[relation], self.place, target, line))
        except KeyError as error:
            raise MalformedFileError(
                self.path, f"the element {tag} has no {error.args[0]}.", line=line
            ) from None

    def wordnet(self, max_senses: int | None) -> WordNet:
        """Return the WordNet, with relations resolved."""
        synsets = {s: pos for s, pos in self.synsets.items() if pos in ("n", "v", "a", "r")}
        numbers = {synset: number for number, synset in enumerate(synsets)}
        words: list[list[str]] = [[] for _ in numbers]
        senses: dict[str, tuple[int, int]] = {}
        n_senses: dict[tuple[str, str], int] = {}
        for lemma, synset, sense, line in self.senses:
            if synset not in self.synsets:
                raise MalformedFileError(
                    self.path, f"the synset {synset} of the sense {sense} is not there.", line=line
                )
            if synset in numbers:
                key = lemma.lower(), synsets[synset]
                n_senses[key] = n_senses.get(key, 0) + 1
                left_out = max_senses is not None and n_senses[key] > max_senses
                words[numbers[synset]].append("" if left_out else lemma.replace(" ", "_"))
                senses[sense] = numbers[synset], len(words[numbers[synset]])
        places = senses | {synset: (number, 0) for synset, number in numbers.items()}
        known = {sense for _, _, sense, _ in self.senses} | self.synsets.keys()
        found: dict[str, list[tuple[int, int, int, int]]] = {}
        for name, source, target, line in self.relations:
            if target not in known:
                raise MalformedFileError(
                    self.path, f"the target {target} of {source} is not there.", line=line
                )
            if source in places and target in places:
                found.setdefault(name, []).append((*places[source], *places[target]))
        names = tuple(
            synset if synset.endswith(f"-{pos}") else f"{synset}-{pos}"
            for synset, pos in synsets.items()
        )
        relations = {name: np.array(rows, np.int32) for name, rows in found.items()}
        return WordNet(self.path, names, tuple(map(tuple, words)), relations)


def read_lmf(
    path: Path, *, max_senses: int | None = None, progress: Progress | None = None
) -> WordNet:
    """Read a WordNet in XML (WN-LMF), such as the Open English WordNet.

    Parameters
    ----------
    path : path
        Plain, or compressed with gzip or xz.
    max_senses : int, optional
        Limit of synsets per word and part of speech, in the order of the file.
    progress : callable, optional
        Called as ``progress(done, total)``, in bytes of the file on disk.

    Raises
    ------
    MalformedFileError
        If the XML is not WN-LMF, or refers to a missing synset or sense. The message names the
        line.
    """
    handler = _Handler(path)
    total = path.stat().st_size
    with path.open("rb") as raw:
        opener = _OPENERS.get(raw.read(2))
        raw.seek(0)
        stream = cast(IO[bytes], opener(raw)) if opener else raw
        try:
            while piece := stream.read(_PIECE):
                handler.parser.Parse(piece, False)
                if progress is not None:
                    progress(raw.tell(), total)
            handler.parser.Parse(b"", True)
        except MalformedFileError:
            raise
        except _UNREADABLE as error:
            raise MalformedFileError(
                path, f"cannot be read as XML: {error}", line=handler.parser.CurrentLineNumber
            ) from None
    if not handler.synsets:
        raise MalformedFileError(path, "the XML holds no synsets; needed is a WordNet (WN-LMF).")
    return handler.wordnet(max_senses)


def wn_database() -> Path:
    """Return the database path of the wn package, whether or not it exists."""
    return Path.home() / ".wn_data" / "wn.db"


def read_wn_package(*, max_senses: int | None = None, progress: Progress | None = None) -> WordNet:
    """Read the first English WordNet in the database of the wn package.

    Raises
    ------
    FileNotFoundError
        If there is none.
    MissingDependencyError
        If the package is not installed.
    """
    try:
        import wn
    except ImportError:
        raise MissingDependencyError("wn", "wordnet", "reading wn's copy of WordNet") from None
    lexicons = wn.lexicons(lang="en")
    if not lexicons:
        raise FileNotFoundError(
            "the wn package has no English WordNet; run: python -m wn download oewn:2024"
        )
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, f"{lexicons[0].id}.xml")
        wn.export(lexicons[:1], file)
        return read_lmf(file, max_senses=max_senses, progress=progress)
