"""Sentence encoder of sentence-transformers, by torch."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softcosine.encoders.encoder import Prompts, card_languages
from softcosine.errors import InvalidInputError, MissingDependencyError

_BATCH = 32  # texts padded together


class SentenceTransformersEncoder:
    """Model of sentence-transformers, which is loaded by torch.

    Parameters
    ----------
    model : str or path
        A folder, or a name on the Hugging Face hub.
    name : str, optional
        Name of the model; by default as given.
    download : bool, default True
        Whether to download a model that is not on this machine.
    device : str, optional
        Device of torch, such as ``cpu``.

    Raises
    ------
    MissingDependencyError
        If sentence-transformers is not installed.
    InvalidInputError
        If the model is not there or cannot be loaded.
    """

    __slots__ = ("_transformer", "name")

    def __init__(
        self,
        model: str | PathLike[str],
        *,
        name: str | None = None,
        download: bool = True,
        device: str | None = None,
    ) -> None:
        place = str(model)
        self.name = place if name is None else name
        try:
            from sentence_transformers import SentenceTransformer
        except ImportError as error:
            raise MissingDependencyError(
                "sentence-transformers",
                "sentence-transformers",
                f"Encoding texts by {place!r}, which is no folder with an ONNX model and "
                "tokenizer.json here,",
            ) from error
        try:
            self._transformer: Any = SentenceTransformer(
                place, device=device, local_files_only=not download
            )
        except (OSError, ValueError) as error:
            hint = "" if download else ", or say download=true"
            raise InvalidInputError(
                f"the model {place!r} could not be loaded ({str(error).splitlines()[0]}); give a "
                f"folder, or a model that was downloaded before{hint}."
            ) from error

    @property
    def dimensions(self) -> int | None:
        """Number of components of a vector."""
        model = self._transformer
        new = getattr(model, "get_embedding_dimension", None)  # its name since version 6
        dimensions: int | None = (new or model.get_sentence_embedding_dimension)()
        return dimensions

    @property
    def max_tokens(self) -> int | None:
        """Number of tokens that the model reads of a text, counting those it adds."""
        longest: int | None = self._transformer.max_seq_length
        return longest

    @property
    def languages(self) -> tuple[str, ...]:
        """Codes of the languages that the model was trained on; empty if unknown."""
        return card_languages(getattr(self._transformer, "_model_card_text", None) or "")

    @property
    def prompts(self) -> Prompts:
        """What queries and documents must begin with."""
        return Prompts.of_model(self._transformer)

    @property
    def tokenizer(self) -> Mapping[str, Any] | None:
        """Tokenizer in the format of ``tokenizer.json``; None for one written in Python."""
        return parsed_tokenizer(self._transformer)

    def n_truncated(self, texts: Sequence[str]) -> int:
        """Return the number of texts that are longer than the model reads."""
        if self.max_tokens is None:
            return 0
        lengths = map(len, self._transformer.tokenizer(list(texts), verbose=False)["input_ids"])
        return sum(length > self.max_tokens for length in lengths)

    def encode(self, texts: Sequence[str], /) -> NDArray[np.float32]:
        """Return the vectors of some texts, (n_texts, dimensions)."""
        # The caller adds a prompt, so that the model must not add its default one.
        default = getattr(self._transformer, "default_prompt_name", None)
        own = {} if default is None else {"prompt": ""}
        vectors = self._transformer.encode(
            list(texts), batch_size=_BATCH, convert_to_numpy=True, show_progress_bar=False, **own
        )
        return np.asarray(vectors, np.float32)


def parsed_tokenizer(model: object) -> Mapping[str, Any] | None:
    """Return the ``tokenizer`` of a model in the format of ``tokenizer.json``, if it has one."""
    tokenizer = getattr(model, "tokenizer", None)
    backend = getattr(tokenizer, "backend_tokenizer", None)  # of transformers
    found = tokenizer if backend is None else json.loads(backend.to_str())
    return found if isinstance(found, Mapping) else None
