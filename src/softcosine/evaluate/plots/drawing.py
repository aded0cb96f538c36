"""Pictures by matplotlib; equal data give equal files."""

from __future__ import annotations

import io
import logging
import re
import threading
import unicodedata
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from softcosine.errors import InvalidInputError, MissingDependencyError
from softcosine.index.wire import wire
from softcosine.storage import checked_path, written_beside

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST_ROWS = 200  # of a heat map
_SUFFIXES = (".png", ".svg", ".pdf")
_DPI = 150
_FONT = "DejaVu Sans"  # bundled with matplotlib
# Fonts for other scripts, if installed; the first one with the character is used.
_OTHER_FONTS = (
    "Noto Sans CJK JP", "Noto Sans CJK SC", "Noto Sans JP", "Noto Sans SC", "Source Han Sans",
    "WenQuanYi Zen Hei", "WenQuanYi Micro Hei", "Droid Sans Fallback", "Hiragino Sans",
    "Arial Unicode MS", "Microsoft YaHei", "SimHei", "Yu Gothic", "MS Gothic", "Malgun Gothic",
    "Apple SD Gothic Neo", "Noto Sans Arabic", "Noto Sans Hebrew", "Noto Sans Devanagari",
    "Noto Sans Bengali", "Noto Sans Tamil", "Noto Sans Thai", "Nirmala UI", "Leelawadee UI",
    "Noto Sans Symbols", "Noto Sans Symbols2", "Noto Sans Symbols 2", "Noto Sans Math",
    "Segoe UI Symbol", "Apple Symbols", "Symbola", "Unifont",
)  # fmt: skip
_UNKNOWN = "\N{REPLACEMENT CHARACTER}"
_LOCK = threading.Lock()  # matplotlib's settings are global


class Picture(ABC):
    """Base of pictures: numbers that can be drawn; displayed as an image in a notebook."""

    __slots__ = ()
    _what: ClassVar[str] = "Drawing a picture"

    @property
    @abstractmethod
    def _size(self) -> tuple[float, float]:
        """Width and height, in inches."""

    @abstractmethod
    def _draw(self, figure: Figure) -> None:
        """Draw onto an empty figure of that size."""

    def to_dict(self) -> dict[str, Any]:
        """Return the numbers as JSON types."""
        numbers: dict[str, Any] = wire(self)
        return numbers

    def figure(self) -> Figure:
        """Return a matplotlib figure, for further use.

        Raises
        ------
        MissingDependencyError
            If matplotlib is not installed.
        """
        with _settings(self._what):
            return self._drawn()

    def save(self, path: str | Path) -> None:
        """Write the picture to a file, atomically; an existing file is replaced.

        Parameters
        ----------
        path : path
            The suffix sets the format: ``.png``, ``.svg`` or ``.pdf``.

        Raises
        ------
        InvalidInputError
            If the suffix is another one.
        FileNotFoundError
            If the folder does not exist.
        MissingDependencyError
            If matplotlib is not installed.
        """
        path = checked_picture_path(path)
        content = self._rendered(path.suffix.lower())
        with written_beside(path) as new:
            new.write_bytes(content)

    def _repr_png_(self) -> bytes | None:
        try:
            return self._rendered(".png")
        except MissingDependencyError:
            return None  # the notebook then prints the repr

    def _drawn(self) -> Figure:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure

        figure = Figure(figsize=self._size, layout="constrained")
        FigureCanvasAgg(figure)
        self._draw(figure)
        return figure

    def _rendered(self, suffix: str) -> bytes:
        # No date and no random ids, so that equal data give equal files.
        metadata = {".svg": {"Date": None}, ".pdf": {"CreationDate": None}}.get(suffix)
        stream = io.BytesIO()
        with _settings(self._what):
            self._drawn().savefig(stream, format=suffix[1:], dpi=_DPI, metadata=metadata)
        return stream.getvalue()


def checked_picture_path(path: str | Path) -> Path:
    """Return the checked path of a picture.

    Raises
    ------
    InvalidInputError
        If the suffix is not one of a picture format.
    FileNotFoundError
        If the folder does not exist.
    """
    checked = checked_path(path)
    if checked.suffix.lower() not in _SUFFIXES:
        raise InvalidInputError(
            f"{path}: a picture is saved as {', '.join(_SUFFIXES)}; end its name so."
        )
    if not checked.absolute().parent.is_dir():
        raise FileNotFoundError(f"the folder {checked.parent} does not exist; create it first.")
    return checked


def check_picture(path: Path, rows: int = 0) -> None:
    """Check the file of a picture, of `rows` documents if it is a heat map, before any work.

    Raises
    ------
    InvalidInputError
        If the file name has no known ending, or there are too many rows.
    FileNotFoundError
        If the folder does not exist.
    MissingDependencyError
        If matplotlib is not installed.
    """
    checked_picture_path(path)
    if rows > MOST_ROWS:
        raise InvalidInputError(
            f"--plot draws at most {MOST_ROWS} documents, not {rows:,}; take a smaller -k."
        )
    try:
        import matplotlib  # noqa: F401
    except ImportError as error:
        raise MissingDependencyError("matplotlib", "plots", "--plot") from error


def label(text: str, width: int) -> str:
    """Return a text in one line, shortened in the middle to a number of columns.

    Both ends are kept, because ids often differ there. Wide characters take two columns. A run of
    characters that no font can draw becomes one replacement character.
    """
    line = " ".join(re.sub(f"{_UNKNOWN}+", _UNKNOWN, drawable(text)).split())
    if columns(line) <= width:
        return line
    end = _within(reversed(line), (width - 1) // 3)[::-1]
    return f"{_within(line, width - 1 - columns(end)).rstrip()}…{end.lstrip()}"


def drawable(text: str) -> str:
    """Return a text with characters that no installed font can draw replaced, to avoid warnings."""
    fonts = _charmaps()
    return "".join(_drawable(character, fonts) for character in text)


def _drawable(character: str, fonts: Mapping[str, Callable[[], Mapping[int, int]]]) -> str:
    if character.isspace():
        return " "
    if character.isprintable() and any(ord(character) in known() for known in fonts.values()):
        return character
    # Marks without width, such as emoji variation selectors, are dropped.
    return "" if unicodedata.category(character) in ("Mn", "Me", "Cf") else _UNKNOWN


def columns(text: str) -> int:
    """Return the number of columns of a text; wide characters take two."""
    return sum(map(_columns_of, text))


def _columns_of(character: str) -> int:
    wide = character == _UNKNOWN or unicodedata.east_asian_width(character) in "WF"
    return 2 if wide else 1


def _within(characters: Iterable[str], width: int) -> str:
    """Return the first characters that fit into a width."""
    room = width

    def fits(character: str) -> bool:
        nonlocal room
        room -= _columns_of(character)
        return room >= 0

    return "".join(takewhile(fits, characters))


@contextmanager
def _settings(what: str) -> Iterator[None]:
    """Use matplotlib's own defaults instead of the user's, with installed fonts."""
    try:
        from matplotlib import style
    except ImportError as error:
        raise MissingDependencyError("matplotlib", "plots", what) from error
    own = {"font.family": list(_charmaps()), "svg.hashsalt": "softcosine"}
    logger = logging.getLogger("matplotlib.font_manager")
    with _LOCK, style.context(["default", own]):
        level = logger.level
        logger.setLevel(logging.ERROR)  # it warns about missing weights of fonts for other scripts
        try:
            yield
        finally:
            logger.setLevel(level)


@cache
def _charmaps() -> dict[str, Callable[[], Mapping[int, int]]]:
    """For each installed font family, a function that returns its character map."""
    from matplotlib.font_manager import FontProperties, findfont, fontManager, get_font

    def reader(family: str) -> Callable[[], Mapping[int, int]]:
        return cache(lambda: get_font(findfont(FontProperties(family=family))).get_charmap())

    there = {entry.name for entry in fontManager.ttflist}
    return {name: reader(name) for name in (_FONT, *_OTHER_FONTS) if name == _FONT or name in there}
