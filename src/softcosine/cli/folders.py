"""Reader of folders of text files: one record per file."""

from __future__ import annotations

import os
from collections.abc import Iterator
from fnmatch import fnmatch
from pathlib import Path

from softcosine.errors import InvalidInputError
from softcosine.files import Record, opened

# Text files if no pattern is given.
_TEXT_SUFFIXES = (".txt", ".text", ".md", ".markdown", ".rst", ".adoc", ".org", ".tex")


def read_folder(
    folder: str, *, pattern: str | None = None, encoding: str = "utf-8", advice: str
) -> Iterator[Record]:
    """Yield one record per text file; the id is the path inside the folder.

    Parameters
    ----------
    folder : str
        Read with its subfolders in order of names; hidden files and folders are skipped.
    pattern : str, optional
        Names to read in the folder and its subfolders, such as ``"*.py"`` or ``"notes/*.txt"``;
        default: the endings of plain text and markup.
    encoding : str
    advice : str
        Advice in the error for a text in another encoding.

    Raises
    ------
    InvalidInputError
        If no file matches.
    OSError
        If a subfolder cannot be read.
    """
    root = Path(folder)
    if pattern is not None and (not pattern or Path(pattern).is_absolute()):
        raise InvalidInputError(
            f"--glob is {pattern!r}; it must be a pattern of names inside {folder}, such as "
            "'*.txt'."
        )
    visible = sorted(_visible(root))
    chosen = [
        name
        for name in visible
        if (_is_text_name(name) if pattern is None else _matches(name.parts, Path(pattern).parts))
    ]
    if not chosen:
        *most, last = (f"*{suffix}" for suffix in _TEXT_SUFFIXES)
        wanted = pattern or f"{', '.join(most)} or {last}"
        seen = "it is empty"
        if len(visible) == 1:
            seen = f"it holds one other file, {visible[0]}"
        elif visible:
            seen = f"it holds {len(visible)} other files, such as {visible[0]}"
        raise InvalidInputError(
            f"{folder}: no file there is named {wanted}; {seen}. Choose files by --glob, or give "
            "files of records by their names."
        )
    for name in chosen:
        with opened(root / name, encoding, advice=advice) as text:
            content = "".join(line for _, line in text.lines())
        yield Record({"id": name.as_posix(), "text": content}, str(root / name))


def _visible(root: Path) -> Iterator[Path]:
    """Yield the path inside the folder of every file that is not hidden."""

    def fail(error: OSError) -> None:
        raise error

    for place, folders, files in os.walk(root, onerror=fail):
        folders[:] = [name for name in folders if not name.startswith(".")]
        for name in files:
            path = Path(place, name)
            if not name.startswith(".") and path.is_file():
                yield path.relative_to(root)


def _matches(name: tuple[str, ...], pattern: tuple[str, ...]) -> bool:
    """Whether the end of a path matches a pattern; ``**`` matches any number of folders."""
    return any(_matches_whole(name[start:], pattern) for start in range(len(name) + 1))


def _matches_whole(name: tuple[str, ...], pattern: tuple[str, ...]) -> bool:
    if not pattern:
        return not name
    if pattern[0] == "**":
        # A final ** matches a file of any name, too.
        return any(_matches_whole(name[start:], pattern[1:]) for start in range(len(name) + 1))
    return bool(name) and fnmatch(name[0], pattern[0]) and _matches_whole(name[1:], pattern[1:])


def _is_text_name(name: Path) -> bool:
    plain = name.with_suffix("") if name.suffix.lower() == ".gz" else name
    return plain.suffix.lower() in _TEXT_SUFFIXES
