"""The training spool: texts of a new index, stored until the first commit learns from them."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import compress, repeat
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from softcosine.text.analyzer import Analyzer
from softcosine.text.stream import TextStream
from softcosine.text.vocabulary import Vocabulary


class TrainingSpool:
    """Training texts in a temporary file, or texts that are elsewhere.

    Parameters
    ----------
    folder : Path or None
        Folder of the file; the system deletes the file when the process ends.
    """

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder
        self._file: IO[str] | None = None
        self._kinds: set[bool] = set()
        self._elsewhere: Iterable[str] | None = None
        self._hashes: list[NDArray[np.int64]] = []  # of the ids of each batch
        self._n_fields = 1

    @property
    def n_docs(self) -> int:
        """Number of documents added, replaced and deleted ones included."""
        return sum(map(len, self._hashes))

    def refer(self, texts: Iterable[str]) -> None:
        """Take texts that are elsewhere; each iteration begins anew."""
        self._elsewhere = texts

    def add(self, texts: Sequence[Any], hashes: NDArray[np.int64]) -> None:
        """Add a batch.

        Parameters
        ----------
        texts : sequence of str, or of token lists
            All fields of the first document, then those of the second, and so on.
        hashes : ndarray of int64
            Of the ids of the documents.
        """
        if self._file is None:
            # JSON in ASCII, so that lone surrogates are preserved.
            self._file = tempfile.TemporaryFile(  # noqa: SIM115  # closed by close()
                "w+", encoding="ascii", dir=self._folder
            )
        for text in texts:
            plain = isinstance(text, str)
            self._kinds.add(plain)
            self._file.write(json.dumps(text if plain else list(map(str, text))) + "\n")
        self._n_fields = len(texts) // len(hashes)
        self._hashes.append(hashes)

    def texts(
        self,
        analyzer: Analyzer,
        vocabulary: Vocabulary | None,
        *,
        memory: int,
        live: NDArray[np.int64] | None = None,
    ) -> TextStream | None:
        """Return all texts for learning; None if there are none.

        Parameters
        ----------
        analyzer : Analyzer
        vocabulary : Vocabulary or None
            The terms that count, if some were removed.
        memory : int
            Approximate limit in bytes.
        live : ndarray of int64, optional
            Hashes of the ids of live documents, if others were added.
        """
        texts = self._elsewhere
        if self._file is not None:
            self._file.flush()
            # A stream takes texts or token lists, not both; a text becomes the list of its words.
            words = analyzer.words if len(self._kinds) > 1 else None
            mask = None
            if live is not None:  # the last texts of each id, if its document is live
                hashes = np.concatenate(self._hashes)
                last = len(hashes) - 1 - np.unique(hashes[::-1], return_index=True)[1]
                mask = np.zeros(len(hashes), np.bool_)
                mask[last] = np.isin(hashes[last], live)
                mask = np.repeat(mask, self._n_fields)
            texts = _Lines(self._file, words, mask)
        if texts is None:
            return None
        return TextStream(texts, analyzer, vocabulary=vocabulary, memory=memory)

    def close(self) -> None:
        """Delete the texts."""
        self._elsewhere, self._hashes = None, []
        if self._file is not None:
            self._file.close()
            self._file = None


class _Lines:
    """Texts in a file, read again by each iteration; one iteration at a time."""

    def __init__(
        self,
        file: IO[str],
        words: Callable[[str], list[str]] | None,
        live: NDArray[np.bool_] | None,
    ) -> None:
        self._file = file
        self._words = words
        self._live = live

    def __iter__(self) -> Iterator[Any]:
        self._file.seek(0)
        chosen = repeat(True) if self._live is None else self._live.tolist()
        for line in compress(self._file, chosen):
            text = json.loads(line)
            yield text if self._words is None or isinstance(text, list) else self._words(text)
