"""Dependency trees, and their paths as terms (syntactic n-grams)."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import KW_ONLY, dataclass, field
from os import PathLike
from typing import Literal

from softcosine._textio import opened
from softcosine._validation import check_choice, check_list, check_whole
from softcosine.errors import MalformedFileError
from softcosine.storage import checked_path
from softcosine.text.words import normalize

_SEPARATOR = ">"
_RELATION = ":"
_COLUMNS = 10
_DIGITS = 9  # limit of word numbers
_PARTS = ("word", "lemma", "tag")


@dataclass(frozen=True, slots=True)
class DependencyTree:
    """A sentence in which each word has a head, or is a root.

    Attributes
    ----------
    words, lemmas, tags, relations : tuple of str
        For each word: its form, its lemma, its universal part of speech, and its relation to its
        head. ``_`` if the file has none.
    heads : tuple of int
        Number of each word's head, counted from 0; -1 for a root.
    comments : tuple of str
        The comment lines before the sentence, without ``#`` and outer spaces.
    """

    words: tuple[str, ...]
    lemmas: tuple[str, ...]
    tags: tuple[str, ...]
    heads: tuple[int, ...]
    relations: tuple[str, ...]
    comments: tuple[str, ...] = ()

    def __len__(self) -> int:
        """Return the number of words."""
        return len(self.words)


def read_trees(path: str | PathLike[str]) -> Iterator[DependencyTree]:
    """Read the sentences of a CoNLL-U file.

    Multiword tokens are replaced by their words, and empty nodes are left out:
    the tree is that of the basic dependencies.

    Parameters
    ----------
    path : path
        UTF-8, gzipped or not.

    Yields
    ------
    DependencyTree

    Raises
    ------
    MalformedFileError
        If a line does not have ten columns, words are not numbered 1, 2, 3, ..., a head is
        unknown, or the heads form a cycle; names the line.
    """
    name = str(path)
    sentence = _Sentence()
    with opened(checked_path(path)) as file:
        for number, line in file.lines():
            text = line.rstrip("\n")
            if not text.strip():
                if sentence.words:
                    yield sentence.tree(name)
                    sentence = _Sentence(comments=[])
            elif text.startswith("#") and not sentence.words:
                sentence.comments.append(text[1:].strip())
            else:
                sentence.add(text, name, number)
    if sentence.words:
        yield sentence.tree(name)


def read_documents(path: str | PathLike[str]) -> Iterator[list[DependencyTree]]:
    """Read the documents of a CoNLL-U file: the sentences between two ``# newdoc`` comments.

    Sentences before the first such comment are one document; so is a file without any.

    Yields
    ------
    list of DependencyTree

    Raises
    ------
    MalformedFileError
        As `read_trees`.
    """
    document: list[DependencyTree] = []
    for tree in read_trees(path):
        begins = any(comment.split(" ")[0] == "newdoc" for comment in tree.comments)
        if begins and document:
            yield document
            document = []
        document.append(tree)
    if document:
        yield document


@dataclass(slots=True)
class _Sentence:
    """The lines of one sentence."""

    comments: list[str] = field(default_factory=list)
    words: list[list[str]] = field(default_factory=list)
    heads: list[int] = field(default_factory=list)
    lines: list[int] = field(default_factory=list)

    def add(self, text: str, path: str, line: int) -> None:
        """Add a line of ten columns."""
        columns = text.split("\t")
        if len(columns) != _COLUMNS:
            raise MalformedFileError(
                path,
                f"has {len(columns)} columns separated by tabs; CoNLL-U has {_COLUMNS}.",
                line=line,
            )
        number, head = columns[0], columns[6]
        if "-" in number or "." in number:
            kind = "-" if "-" in number else "."
            if not all(map(_is_number, number.split(kind, 1))):
                raise MalformedFileError(
                    path,
                    f"{number!r} is no number of a word, of words or of an empty node.",
                    line=line,
                )
            return
        due = len(self.words) + 1
        if number != str(due):
            raise MalformedFileError(
                path, f"the word's number is {number!r} where {due} is due.", line=line
            )
        if not _is_number(head):
            raise MalformedFileError(
                path, f"the head of {columns[1]!r} is {head!r}; needed is a number.", line=line
            )
        self.words.append(columns)
        self.heads.append(int(head) - 1)
        self.lines.append(line)

    def tree(self, path: str) -> DependencyTree:
        """Return the tree after a check of its heads."""
        for place, head in enumerate(self.heads):
            if head >= len(self.heads):
                raise MalformedFileError(
                    path,
                    f"the head of {self.words[place][1]!r} is {head + 1}, but the sentence has "
                    f"{len(self.heads)} words.",
                    line=self.lines[place],
                )
        circle = _find_circle(self.heads)
        if circle is not None:
            raise MalformedFileError(
                path,
                f"{self.words[circle][1]!r} hangs on itself, by way of its heads; a tree has no "
                "circle.",
                line=self.lines[circle],
            )
        forms, lemmas, tags, relations = (
            tuple(columns[i] for columns in self.words) for i in (1, 2, 3, 7)
        )
        return DependencyTree(
            forms, lemmas, tags, tuple(self.heads), relations, tuple(self.comments)
        )


def _is_number(text: str) -> bool:
    """Whether a text is a valid word number."""
    return text.isdecimal() and len(text) <= _DIGITS


def _find_circle(heads: list[int]) -> int | None:
    """Return the first word of a cycle of heads, if any."""
    done = [False] * len(heads)
    for start in range(len(heads)):
        way: list[int] = []
        seen: set[int] = set()
        place = start
        while place >= 0 and not done[place]:
            if place in seen:
                return min(way[way.index(place) :])
            seen.add(place)
            way.append(place)
            place = heads[place]
        for place in way:
            done[place] = True
    return None


@dataclass(frozen=True, slots=True)
class SyntacticNgrams:
    """The rules by which dependency trees become terms (theory T18).

    A term is a path from a word down to a direct or indirect dependent: a continuous syntactic
    n-gram (Sidorov et al. 2014). Its words are adjacent in the tree, not necessarily in the text.
    Terms are token lists, which every text entry point takes; `SyntacticSimilarity` is the source
    of their similarity.

    Parameters
    ----------
    max_length : int, default 3
        Maximum number of words of a path.
    min_length : int, default 2
        Minimum number of words; 1 also gives the single words.
    parts : {"word", "lemma", "tag"}, default "word"
        What represents a word: its form or lemma, normalised like texts, or its universal part
        of speech. A word without a lemma or part of speech is left out.
    relations : bool, default False
        Whether the path also contains the relation of each word to the one before.
    leave_out : collection of str, default ("PUNCT",)
        Parts of speech whose words are on no path.

    Raises
    ------
    InvalidInputError
        If a setting is out of range.

    Examples
    --------
    >>> tree = DependencyTree(
    ...     words=("Dogs", "chase", "small", "cats"),
    ...     lemmas=("dog", "chase", "small", "cat"),
    ...     tags=("NOUN", "VERB", "ADJ", "NOUN"),
    ...     heads=(1, -1, 3, 1),
    ...     relations=("nsubj", "root", "amod", "obj"),
    ... )
    >>> SyntacticNgrams().terms(tree)
    ['chase>dogs', 'cats>small', 'chase>cats>small', 'chase>cats']
    >>> SyntacticNgrams(2, parts="lemma", relations=True).terms(tree)
    ['chase>:nsubj>dog', 'cat>:amod>small', 'chase>:obj>cat']
    """

    max_length: int = 3
    _: KW_ONLY
    min_length: int = 2
    parts: Literal["word", "lemma", "tag"] = "word"
    relations: bool = False
    leave_out: Collection[str] = ("PUNCT",)

    def __post_init__(self) -> None:
        check_whole("min_length", self.min_length)
        check_whole("max_length", self.max_length, least=self.min_length)
        check_choice("parts", self.parts, _PARTS)
        check_list("leave_out", self.leave_out)
        object.__setattr__(self, "leave_out", frozenset(self.leave_out))

    def terms(self, trees: DependencyTree | Iterable[DependencyTree]) -> list[str]:
        """Return the terms of a sentence or of the sentences of a document.

        Returns
        -------
        list of str
            For each word in text order the paths that end with it, the shorter first.
        """
        if isinstance(trees, DependencyTree):
            return list(self._paths(trees))
        return [term for tree in trees for term in self._paths(tree)]

    def read(self, path: str | PathLike[str]) -> Iterator[list[str]]:
        """Return the terms of every document of a CoNLL-U file; see `read_documents`."""
        return map(self.terms, read_documents(path))

    def _paths(self, tree: DependencyTree) -> Iterator[str]:
        names = self._names(tree)
        for end in range(len(tree)):
            place, length = end, 0
            path: list[str] = []  # from the end up
            while place >= 0 and names[place] and length < self.max_length:
                path.append(names[place])
                length += 1
                if length >= self.min_length:
                    yield _SEPARATOR.join(reversed(path))
                if self.relations:
                    path.append(_RELATION + _escaped(tree.relations[place]))
                place = tree.heads[place]

    def _names(self, tree: DependencyTree) -> list[str]:
        """Return what represents each word; an empty string for words that are left out."""
        if self.parts == "tag":
            names = ["" if tag == "_" else tag for tag in tree.tags]
        elif self.parts == "lemma":
            names = ["" if lemma == "_" else normalize(lemma).strip() for lemma in tree.lemmas]
        else:
            names = [normalize(word).strip() for word in tree.words]
        kept = (tag not in self.leave_out for tag in tree.tags)
        return [_escaped(name) if keep else "" for name, keep in zip(names, kept, strict=True)]


def join_path(parts: Iterable[str]) -> str:
    r"""Return the term of a path, from the top down.

    Examples
    --------
    >>> join_path(["is", "a>b"])
    'is>a\\>b'
    >>> split_path(join_path(["is", "a>b"]))
    ('is', 'a>b')
    """
    return _SEPARATOR.join(map(_escaped, parts))


def split_path(term: str) -> tuple[str, ...]:
    """Return the parts of a path, from the top down; relations begin with a colon."""
    if "\\" not in term:
        return tuple(term.split(_SEPARATOR))
    parts = [""]
    letters = iter(term)
    for letter in letters:
        if letter == "\\":
            parts[-1] += next(letters, "\\")
        elif letter == _SEPARATOR:
            parts.append("")
        else:
            parts[-1] += letter
    return tuple(parts)


def _escaped(part: str) -> str:
    return part.replace("\\", "\\\\").replace(_SEPARATOR, "\\" + _SEPARATOR)
