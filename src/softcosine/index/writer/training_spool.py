"""The training spool: texts of a new index, stored until the first commit learns from them."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import IO, Any

from softcosine.text.analyzer import Analyzer
from softcosine.text.corpus import AnalyzedTexts
from softcosine.text.stream import TextStream
from softcosine.text.vocabulary import Vocabulary

__all__ = ["TrainingSpool"]


class TrainingSpool:
    """Training texts: one batch in memory, many in a temporary file, or texts that are elsewhere.

    Parameters
    ----------
    folder : Path or None
        Folder of the file; the system deletes the file when the process ends.
    """

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder
        self._file: IO[str] | None = None
        self._first: tuple[Sequence[Any], AnalyzedTexts] | None = None
        self._kinds: set[bool] = set()
        self._elsewhere: Iterable[str] | None = None

    def refer(self, texts: Iterable[str]) -> None:
        """Take texts that are elsewhere; each iteration begins anew."""
        self._elsewhere = texts

    def add(self, texts: Sequence[Any], analyzed: AnalyzedTexts, *, last: bool) -> None:
        """Add a batch.

        Parameters
        ----------
        texts : sequence of str, or of token lists
        analyzed : AnalyzedTexts
            The same texts.
        last : bool
            Whether learning follows; a single batch then needs no file.
        """
        if last and self._file is None and self._first is None:
            self._first = texts, analyzed
            return
        if self._file is None:
            # JSON in ASCII, so that lone surrogates are preserved.
            self._file = tempfile.TemporaryFile(  # noqa: SIM115  # closed by close()
                "w+", encoding="ascii", dir=self._folder
            )
        if self._first is not None:  # the commit after it failed
            self._write(self._first[0])
            self._first = None
        self._write(texts)

    def texts(
        self, analyzer: Analyzer, vocabulary: Vocabulary | None, *, memory: int
    ) -> AnalyzedTexts | TextStream | None:
        """Return all texts for learning; None if there are none.

        Parameters
        ----------
        analyzer : Analyzer
        vocabulary : Vocabulary or None
            The terms that count, if some were removed.
        memory : int
            Approximate limit in bytes.
        """
        if self._elsewhere is not None:
            return TextStream(self._elsewhere, analyzer, vocabulary=vocabulary, memory=memory)
        if self._file is None:
            return None if self._first is None else self._first[1]
        self._file.flush()
        # A stream takes texts or token lists, not both; a text becomes the list of its words.
        words = analyzer.words if len(self._kinds) > 1 else None
        return TextStream(_Lines(self._file, words), analyzer, vocabulary=vocabulary, memory=memory)

    def close(self) -> None:
        """Delete the texts."""
        self._first = self._elsewhere = None
        if self._file is not None:
            self._file.close()
            self._file = None

    def _write(self, texts: Sequence[Any]) -> None:
        assert self._file is not None
        for text in texts:
            plain = isinstance(text, str)
            self._kinds.add(plain)
            self._file.write(json.dumps(text if plain else list(map(str, text))))
            self._file.write("\n")


class _Lines:
    """Texts in a file, read again by each iteration; one iteration at a time."""

    def __init__(self, file: IO[str], words: Callable[[str], list[str]] | None) -> None:
        self._file = file
        self._words = words

    def __iter__(self) -> Iterator[Any]:
        self._file.seek(0)
        for line in self._file:
            text = json.loads(line)
            yield text if self._words is None or isinstance(text, list) else self._words(text)
