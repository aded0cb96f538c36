"""Sentence encoder on ONNX Runtime, without torch."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from functools import partial
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softcosine._threads import in_threads
from softcosine.encoders.onnx_folder import OnnxFolder
from softcosine.encoders.tokenizer import tokenizer_of
from softcosine.errors import MalformedFileError, MissingDependencyError

_CONSTANT_INPUTS = {"attention_mask": 1, "token_type_ids": 0}
_KNOWN = 2.25  # bytes a token
_WHOLE = "sentence_embedding"  # output of a file with all modules of a model
_ADDED = 8  # tokens that a tokenizer may add to a text, such as [CLS]


class OnnxEncoder:
    """Sentence encoder stored as an ONNX model, run on CPU.

    Each text is encoded alone, several texts at a time in threads. So its vector has the same bits
    alone, in any list and on any number of threads; a batch would share scales of dynamic
    quantisation. It is also faster, because a batch computes on padding.

    Parameters
    ----------
    folder : path
        Folder with ``model.onnx`` (or ``onnx/model.onnx``) and ``tokenizer.json``, as in
        softcosine-minilm and in models of sentence-transformers.
    name : str, optional
        Name of the model; by default as in ``config.json``, else that of the folder.
    threads : int, optional
        Number of texts encoded at a time; -1 means all usable CPUs. The default is that of
        `softcosine.using_threads`.

    Raises
    ------
    MissingDependencyError
        If onnxruntime or tokenizers is not installed.
    MalformedFileError
        If a file is missing or damaged, or the model needs inputs or modules not known here.
    """

    def __init__(
        self, folder: str | PathLike[str], *, name: str | None = None, threads: int | None = None
    ) -> None:
        self._files = files = OnnxFolder.read(folder)
        self.name = files.name if name is None else name
        self.dimensions, self.max_tokens = files.dimensions, files.max_tokens
        self.languages, self.prompts = files.languages, files.prompts
        self._threads = threads
        try:
            onnxruntime = imported_runtime()
            options = onnxruntime.SessionOptions()
            options.intra_op_num_threads = options.inter_op_num_threads = 1
            options.enable_mem_pattern = False  # it keeps a plan for every length of text
            options.log_severity_level = 3
            self._tokenizer = tokenizer_of(files.tokenizer, files.max_tokens)
        except ImportError as error:
            raise MissingDependencyError(
                error.name or "onnxruntime", "encoder", f"Encoding texts by {self.name!r}"
            ) from error
        try:
            self._session = onnxruntime.InferenceSession(
                str(files.model), options, providers=["CPUExecutionProvider"]
            )
        except Exception as error:  # of a damaged file; the package has no class for them
            raise MalformedFileError(
                files.path, f"the model cannot be loaded: {str(error).splitlines()[0]}"
            ) from error
        self.cut = getattr(self._tokenizer, "cut", None)  # text without spaces into words
        inputs = {tensor.name for tensor in self._session.get_inputs()} - {"input_ids"}
        if unknown := inputs - set(_CONSTANT_INPUTS):
            raise MalformedFileError(files.model, f"the model has unknown inputs {unknown}.")
        self._constants = {name: _CONSTANT_INPUTS[name] for name in sorted(inputs)}
        whole = [tensor.name for tensor in self._session.get_outputs() if tensor.name == _WHOLE]
        if files.dense and not whole:
            raise MalformedFileError(
                files.model,
                f"the model has a module Dense, and its file no output {_WHOLE}; export the whole "
                "model, as sentence-transformers does with backend='onnx'.",
            )
        self._outputs = whole or None

    def __reduce__(self) -> tuple[Any, ...]:
        return partial(OnnxEncoder, name=self.name, threads=self._threads), (self._files.path,)

    def __repr__(self) -> str:
        return f"OnnxEncoder({str(self._files.path)!r}, name={self.name!r})"

    @property
    def tokenizer(self) -> Mapping[str, Any]:
        """Tokenizer in the format of ``tokenizer.json``."""
        return self._tokenizer.to_json()

    def n_truncated(self, texts: Sequence[str]) -> int:
        """Return the number of texts that are longer than the model reads."""
        if self.max_tokens is None:
            return 0
        # A token has at least a byte, so the tokenizer is not needed for short texts.
        longest = self.max_tokens - _ADDED
        long = [text for text in map(_without_surrogates, texts) if len(text.encode()) > longest]
        return sum(self._tokenizer.encode(text)[1] for text in long)

    def knows_words(self, text: str) -> bool:
        """Whether a text has words of some language of a model of several; false for one language.

        Its tokens have 2.25 bytes or more on average; of random letters, 99 % have less.
        """
        if len(self.languages or ()) < 2:
            return False
        text = _without_surrogates(text)
        whole, empty = (len(self._tokenizer.encode(part)[0]) for part in (text, ""))
        return len("".join(text.split()).encode()) >= _KNOWN * (whole - empty)

    def encode(self, texts: Sequence[str], /) -> NDArray[np.float32]:
        """Return the vectors of some texts, (n_texts, dimensions)."""
        vectors = np.zeros((len(texts), self.dimensions), np.float32)
        longest_first = sorted(range(len(texts)), key=lambda i: len(texts[i]), reverse=True)
        found = in_threads(lambda i: self._vector(texts[i]), longest_first, self._threads)
        for i, vector in zip(longest_first, found, strict=True):
            vectors[i] = vector
        return vectors

    def _vector(self, text: str) -> NDArray[np.float64]:
        ids = np.array([self._tokenizer.encode(_without_surrogates(text))[0]], np.int64)
        inputs = {name: np.full_like(ids, value) for name, value in self._constants.items()}
        (output,) = self._session.run(self._outputs, {"input_ids": ids, **inputs})[0]
        output = output.astype(np.float64)
        if output.ndim == 2:  # a vector for each token
            output = output[0] if self._files.pooling == "cls" else output.mean(axis=0)
        if self._files.normalize:
            output /= max(float(np.linalg.norm(output)), 1e-12)
        return np.asarray(output)


def imported_runtime() -> Any:
    """Import ONNX Runtime without its reports.

    From 1.29 on its import writes a device id, and events are sent ten seconds later.
    """
    os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
    import onnxruntime

    return onnxruntime


def _without_surrogates(text: str) -> str:
    """Return the text with lone surrogates, which tokenizers refuse, replaced by "?"."""
    return text.encode("utf-8", "replace").decode()
