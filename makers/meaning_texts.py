"""Sentences of free licence for the fit of the bundled query table.

They come from WordNet, two dictionaries, Debian's package descriptions, and documentation that
Debian packages; README.md beside this file says how to get them. Sentences that share a run of
eight words with an evaluation collection are left out, and those that equal a query.
"""

from __future__ import annotations

import gzip
import html
import json
import random
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from wordnet_files import read_synsets

RUN = 8  # words
_WORD = re.compile(r"\w+")
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+(?=[A-Z\"'(])")
BLOCK = re.compile(
    r"<(p|dd|dt|li|h1|h2|h3|h4|td)\b[^>]*>(.*?)"
    r"(?=</\1>|<(?:p|dd|dt|li|h[1-4]|td|ul|ol|dl|pre|table|div)\b)",
    re.S | re.I,
)
NO_TEXT = re.compile(r"<(script|style|pre|nav|head)\b.*?</\1>", re.S | re.I)

Words = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Folders:
    """Where the sources are.

    Attributes
    ----------
    packages : Path
        Holds a folder for each unpacked Debian package, under its name.
    translations : Path
        Holds the package descriptions: apt's files ``*_Translation-en``, not compressed.
    wordnet : Path
        WordNet's data files.
    """

    packages: Path
    translations: Path
    wordnet: Path


@dataclass(frozen=True, slots=True)
class Source:
    """A source, its licence, and the largest number of its sentences to take."""

    name: str
    licence: str
    most: int
    sentences: Callable[[Folders], Iterator[str]]


@dataclass(frozen=True, slots=True)
class Taken:
    """The sentences of a source, and how many were left out for the evaluation collections."""

    source: Source
    n_usable: int
    n_left_out: int
    sentences: list[str]


def collect(folders: Folders, evaluation: Path | None, *, seed: int = 0) -> list[Taken]:
    """Return the sentences of all sources; no sentence occurs twice."""
    rng = random.Random(seed)
    runs, whole = (set(), set()) if evaluation is None else forbidden(_evaluation_texts(evaluation))
    seen: set[Words] = set()
    taken = []
    for source in SOURCES:
        usable: list[str] = []
        n_left_out = 0
        for sentence in source.sentences(folders):
            words = words_of(sentence)
            if words in seen or not sentence.isprintable():
                continue
            seen.add(words)
            if words in whole or not runs.isdisjoint(runs_of(words)):
                n_left_out += 1
            elif sum(map(str.isascii, sentence)) >= 0.97 * len(sentence):
                usable.append(sentence)
        some = rng.sample(usable, source.most) if len(usable) > source.most else usable
        taken.append(Taken(source, len(usable), n_left_out, some))
        print(f"{source.name}: {len(some):,} of {len(usable):,}, {n_left_out} left out", flush=True)
    return taken


def words_of(text: str) -> Words:
    """Return the words of a text, in lower case."""
    return tuple(_WORD.findall(text.lower()))


def runs_of(words: Words) -> set[int]:
    """Return the hashes of all runs of words."""
    return {hash(words[i : i + RUN]) for i in range(len(words) - RUN + 1)}


def forbidden(texts: Iterable[tuple[str, bool]]) -> tuple[set[int], set[Words]]:
    """Return the runs of words of evaluation texts, and the queries among them as a whole."""
    runs: set[int] = set()
    whole: set[Words] = set()
    for text, is_query in texts:
        words = words_of(text)
        runs |= runs_of(words)
        if is_query or len(words) < RUN:
            whole.add(words)
    return runs, whole


def _evaluation_texts(data: Path) -> Iterator[tuple[str, bool]]:
    collections = [*data.glob("questions/*/*.jsonl.gz"), *data.glob("retrieval/*/*.jsonl.gz")]
    yield from texts_of_records(collections)
    for path in sorted(data.glob("sentences/*.tsv.gz")):
        for line in _lines(path):
            for cell in line.split("\t"):
                yield cell, False
    for line in _lines(data / "semeval/forum_text.txt.gz"):
        yield line, False


def texts_of_records(paths: Iterable[Path]) -> Iterator[tuple[str, bool]]:
    """Yield the texts of files of records, and whether they are queries."""
    for path in sorted(paths):
        for line in _lines(path):
            record = json.loads(line)
            yield f"{record.get('title') or ''} {record['text']}", "queries" in path.name


def _lines(path: Path) -> Iterator[str]:
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        yield from lines


def _sentences(text: str) -> Iterator[str]:
    """Yield the sentences of a paragraph that are neither short nor code."""
    for sentence in _SENTENCE_END.split(re.sub(r"\s+", " ", text)):
        stripped = sentence.strip()
        letters = sum(c.isalpha() or c == " " for c in stripped)
        if (
            5 <= len(stripped.split()) <= 60
            and letters > 0.85 * len(stripped)
            and stripped[0].isalnum()
        ):
            yield stripped


def _files(folder: Path, pattern: str) -> Iterator[tuple[Path, str]]:
    for path in sorted(folder.rglob(pattern)):
        if path.is_file() and not path.is_symlink():
            content = path.read_bytes()
            if path.suffix == ".gz":
                content = gzip.decompress(content)
            yield path, content.decode("utf-8", "replace")


def _of_html(folder: str, *skipped: str) -> Callable[[Folders], Iterator[str]]:
    def sentences(folders: Folders) -> Iterator[str]:
        for path, text in _files(folders.packages / folder, "*.html*"):
            if any(part in str(path.relative_to(folders.packages)) for part in skipped):
                continue
            for block in BLOCK.finditer(NO_TEXT.sub(" ", text)):
                plain = html.unescape(re.sub(r"<[^>]+>", "", block[2]))
                yield from _sentences(plain.replace("\N{PILCROW SIGN}", ""))

    return sentences


def _of_rst(folder: str) -> Callable[[Folders], Iterator[str]]:
    def sentences(folders: Folders) -> Iterator[str]:
        for _, text in _files(folders.packages / folder, "*.rst*"):
            for block in re.split(r"\n\s*\n", text):
                marked = block.lstrip().startswith(("..", "=", "-", "*", "+", ":", "|"))
                if "::" not in block and not marked:
                    yield from _sentences(re.sub(r"[`*|]", "", block))

    return sentences


def _of_vim(folders: Folders) -> Iterator[str]:
    for path in sorted((folders.packages / "vim-doc").rglob("*.html")):
        if path.is_file():
            text = path.read_text("utf-8", "replace")
            for block in re.split(r"\n\s*\n", html.unescape(re.sub(r"<[^>]+>", "", text))):
                yield from _sentences(block)


def _of_wordnet(folders: Folders) -> Iterator[str]:
    for synset in read_synsets(folders.wordnet):
        names = ", ".join(word.replace("_", " ") for word in synset.words[:3])
        yield f"{names}: {synset.gloss}"


def _entries(path: Path) -> Iterator[tuple[str, str]]:
    """Yield headwords and bodies of a dictionary of dictd."""
    entry: list[str] = []
    with gzip.open(path, "rt", encoding="utf-8", errors="replace") as lines:
        for line in lines:
            if line[:1].strip() and entry:
                yield entry[0], " ".join(entry[1:])
                entry = []
            entry.append(line.strip())


def _of_gcide(folders: Folders) -> Iterator[str]:
    for head, body in _entries(folders.packages / "dict-gcide/usr/share/dictd/gcide.dict.dz"):
        word = head.split("\\")[0].strip()
        if not re.fullmatch(r"[A-Za-z' -]+", word):
            continue
        marks = r"\[[^\]]*\]|\{|\}|--[A-Z][\w. ]*\.?|\bSyn:.*|\bNote:.*"
        for sense in re.split(r"\b\d+\.\s|\([a-z]\)\s", re.sub(marks, " ", body)):
            said = re.split(r"\s\"", re.sub(r"\([A-Z][\w. &]*\)", "", sense))[0]
            said = re.sub(r"\s+", " ", said).strip(" ;,")
            if 4 <= len(said.split()) <= 50 and said.count(".") < 4:
                yield f"{word}: {said}"


def _of_foldoc(folders: Folders) -> Iterator[str]:
    for head, body in _entries(folders.packages / "dict-foldoc/usr/share/dictd/foldoc.dict.dz"):
        plain = re.sub(r"<[^>]*>|[{}]|\(\d{4}-\d\d-\d\d\)|\[[^\]]*\]", " ", body)
        for i, sentence in enumerate(_sentences(plain)):
            yield sentence if i else f"{head}: {sentence}"


def _of_packages(folders: Folders) -> Iterator[str]:
    seen = set()
    for path in sorted(folders.translations.glob("*Translation-en")):
        for paragraph in path.read_text("utf-8").split("\n\n"):
            found = re.search(r"^Description-en: (.*(?:\n .*)*)", paragraph, re.M)
            if found is None:
                continue
            short, *long = found[1].split("\n")
            if short not in seen and len(short.split()) >= 3:
                yield short
            seen.add(short)
            for block in re.sub(r"\n \.(?=\n|$)", "\n\n", "\n".join(long)).split("\n\n"):
                if re.search(r"\n\s+[*-] |^\s*[*-] ", block):
                    continue
                for sentence in _sentences(block):
                    lower = sentence.lower()
                    if "this package" not in lower or not any(
                        verb in lower for verb in ("contains", "provides", "is a")
                    ):
                        yield sentence


# Frequently asked questions, desktop help, man pages, tldr pages and Perl's documentation are left
# out as a whole: collections of questions are made of them.
SOURCES = (
    Source("WordNet 3.0 glosses", "WordNet licence (BSD-like)", 52_000, _of_wordnet),
    Source("GCIDE (dict-gcide)", "GPL-2+ (Webster 1913: public domain)", 22_000, _of_gcide),
    Source("FOLDOC (dict-foldoc)", "GFDL-1.1+, no invariant sections", 10_000, _of_foldoc),
    Source("Debian package descriptions", "as each package, all free", 28_000, _of_packages),
    Source(
        "python3.11-doc", "PSF-2.0", 6000,
        _of_html("python3.11-doc", "/faq/", "whatsnew", "_sources"),
    ),
    Source("rust-doc", "MIT or Apache-2.0", 5000, _of_html("rust-doc", "/src/", "core_arch")),
    Source("postgresql-doc-15", "PostgreSQL", 5000, _of_html("postgresql-doc-15")),
    Source(
        "apache2-doc", "Apache-2.0", 3500,
        _of_html(
            "apache2-doc", ".fr", ".de", ".es", ".ja", ".ko", ".tr", ".zh", ".pt", ".da", ".ru",
            "/fr/", "/de/", "/es/", "/ja/", "/ko/", "/tr/", "/zh-cn/", "/da/", "/pt-br/", "/ru/",
        ),
    ),
    Source(
        "python-django-doc", "BSD-3-Clause", 4000,
        _of_html("python-django-doc", "releases", "faq"),
    ),
    Source("linux-doc-6.1", "GPL-2", 6000, _of_rst("linux-doc-6.1")),
    Source("cmake-doc", "BSD-3-Clause", 2000, _of_html("cmake-doc", "release")),
    Source("debian-policy", "GPL-2+", 1500, _of_html("debian-policy")),
    Source("developers-reference", "GPL-2+", 1500, _of_html("developers-reference")),
    Source("debian-reference-en", "GPL-2+", 2000, _of_html("debian-reference-en")),
    Source(
        "debian-handbook", "GPL-2+ or CC-BY-SA-3.0", 4000,
        _of_html("debian-handbook/usr/share/doc/debian-handbook/html/en-US"),
    ),
    Source(
        "harden-doc", "GPL-2", 2000,
        _of_html("harden-doc", ".de", ".fr", ".es", ".ja", ".pt", ".it"),
    ),
    Source(
        "installation-guide-amd64", "GPL-2", 2000,
        _of_html("installation-guide-amd64/usr/share/doc/installation-guide-amd64/en"),
    ),
    Source(
        "debian-history", "GPL-2+", 500,
        _of_html(
            "debian-history", ".de", ".fr", ".ja", ".pt", ".it", ".ru", ".ko", ".lt", ".da"
        ),
    ),
    Source(
        "sqlite3-doc", "public domain", 3000, _of_html("sqlite3-doc", "releaselog", "changes")
    ),
    Source("octave-doc", "GPL-3+ or the notice of Octave", 2000, _of_html("octave-doc")),
    Source("vim-doc", "Vim licence, OPL-1+", 2500, _of_vim),
)  # fmt: skip
