"""Sentence encoders by name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from os import PathLike
from pathlib import Path
from typing import Any, cast

from softcosine._validation import check_whole
from softcosine.encoders.encoder import Encode, Encoder, NamedEncoder, Prompts
from softcosine.encoders.hub import hub_folder
from softcosine.encoders.onnx_encoder import OnnxEncoder, imported_runtime
from softcosine.encoders.onnx_folder import HUB_FILES, has_onnx_model
from softcosine.encoders.sentence_transformers_encoder import (
    SentenceTransformersEncoder,
    parsed_tokenizer,
)
from softcosine.errors import InvalidInputError, MalformedFileError, MissingDependencyError

_HUB = "hub:"


@dataclass(frozen=True, slots=True)
class LightEncoder:
    """An encoder that a package brings as an ONNX model.

    Attributes
    ----------
    name : str
    alias : str
        A short name.
    hub : str
        The name on the Hugging Face hub.
    packages : tuple of str
        What it needs: the package with its files first.
    extra : str
        The extra of softcosine that installs it.
    """

    name: str
    alias: str
    hub: str
    packages: tuple[str, ...]
    extra: str

    @property
    def missing(self) -> str:
        """The first package that is not installed of those that it needs; empty if all are."""
        return next(filter(_is_missing, self.packages), "")


MINILM, MULTILINGUAL = "all-MiniLM-L6-v2", "multilingual-e5-small"
LIGHT = {
    MINILM: LightEncoder(
        name=MINILM,
        alias="minilm",
        hub=f"sentence-transformers/{MINILM}",
        packages=("softcosine_minilm", "onnxruntime", "tokenizers"),
        extra="encoder",
    ),
    MULTILINGUAL: LightEncoder(
        name=MULTILINGUAL,
        alias="multilingual",
        hub=f"intfloat/{MULTILINGUAL}",
        packages=("softcosine_multilingual", "onnxruntime"),
        extra="multilingual",
    ),
}
_NAMES = {
    name: encoder.name
    for encoder in LIGHT.values()
    for name in (encoder.name, encoder.alias, encoder.hub)
}


def canonical_name(name: str) -> str:
    """Return the one name of a model that has several.

    ``minilm`` is all-MiniLM-L6-v2, ``multilingual`` is multilingual-e5-small, and ``hub:NAME`` is
    the model of sentence-transformers NAME.
    """
    name = name.removeprefix(_HUB)
    return _NAMES.get(name, name)


def load_encoder(
    model: str | PathLike[str] | Encode | Encoder,
    *,
    name: str | None = None,
    threads: int | None = None,
    download: bool = True,
    device: str | None = None,
) -> NamedEncoder:
    """Return an encoder with a name.

    Parameters
    ----------
    model : str, path, callable, or object with ``encode``
        - ``minilm`` or ``all-MiniLM-L6-v2``, for English, and ``multilingual`` or
          ``multilingual-e5-small``: the ONNX model of softcosine-minilm or
          softcosine-multilingual, if installed, else that model of sentence-transformers;
        - a folder with an ONNX model and ``tokenizer.json``;
        - ``hub:NAME``: the same from the Hugging Face hub, such as ``hub:BAAI/bge-small-en-v1.5``;
        - another folder or name: a model of sentence-transformers;
        - a function of a list of texts, or an object with such a method ``encode``.
    name : str, optional
        Name of the model, needed for a function or object without one.
    threads : int, optional
        As for `OnnxEncoder`.
    download, device
        As for `SentenceTransformersEncoder`; with a device, ONNX is not used.

    Raises
    ------
    MissingDependencyError
        If an optional package is missing; the message says what to install.
    InvalidInputError
        If a model cannot be loaded, has no name, or its sizes are no numbers.
    """
    if not isinstance(model, str | PathLike):
        return _named(model, name)
    onnx = device is None

    def by_torch(place: str | PathLike[str], name: str | None) -> NamedEncoder:
        return SentenceTransformersEncoder(place, name=name, download=download, device=device)

    if str(model).startswith(_HUB):
        model = str(model).removeprefix(_HUB)
        name = canonical_name(model) if name is None else name
        if onnx:
            folder = hub_folder(model, HUB_FILES, download=download)
            return OnnxEncoder(folder, name=name, threads=threads)
    light = LIGHT.get(_NAMES.get(str(model), ""))
    if light is None:
        if onnx and has_onnx_model(model):
            return OnnxEncoder(model, name=name, threads=threads)
        return by_torch(model, name)
    if onnx and (installed := installed_encoder(light.name, rename=name, threads=threads)):
        return installed
    try:
        return by_torch(light.hub, name or light.name)
    except MissingDependencyError as error:
        missing = light.missing or light.packages[0]
        raise MissingDependencyError(
            missing.replace("_", "-"), light.extra, f"Encoding texts by {light.name}"
        ) from error


def installed_encoder(
    name: str, *, rename: str | None = None, threads: int | None = None
) -> OnnxEncoder | None:
    """Return the encoder of a name that is installed and needs no torch; None if there is none."""
    light = LIGHT.get(canonical_name(name))
    if light is None or light.missing:
        return None
    package = light.packages[0]
    try:
        return OnnxEncoder(import_module(package).folder(), name=rename, threads=threads)
    except MalformedFileError as error:
        problem = f"{error}; install {package.replace('_', '-')} anew."
        raise InvalidInputError(problem.replace(".;", ";")) from error


def query_table_of(name: str) -> Path:
    """Return the file of the query table that the package of an encoder brings.

    Raises
    ------
    InvalidInputError
        If there is none.
    """
    light = LIGHT.get(name)
    if light is not None and not _is_missing(light.packages[0]):
        file: Path = import_module(light.packages[0]).folder() / "queries.npz"
        if file.is_file():
            return file
    raise InvalidInputError(
        f"no query table of the encoder {name!r} is installed; softcosine-multilingual has that of "
        f"{MULTILINGUAL}, and softcosine admin teach makes one."
    )


def encode_function(model: object) -> Encode:
    """Return a callable itself, or the method ``encode`` of an object.

    Raises
    ------
    InvalidInputError
        If the model is neither.
    """
    encode = getattr(model, "encode", model)
    if not callable(encode):
        raise InvalidInputError(
            f"the model is of type {type(model).__name__}; needed is the name of a model, a "
            "callable that turns a list of strings into an array, or an object with encode()."
        )
    return encode


@dataclass(frozen=True, slots=True)
class _GivenEncoder:
    """A function or object with the attributes of a `NamedEncoder`."""

    encode: Encode
    name: str
    dimensions: int | None = None
    max_tokens: int | None = None
    tokenizer: Mapping[str, Any] | None = None
    prompts: Prompts | None = None

    def n_truncated(self, texts: list[str]) -> int:
        return 0


def _named(model: object, name: str | None) -> NamedEncoder:
    encode = encode_function(model)
    name = name or getattr(model, "name", None)
    if not isinstance(name, str) or not name.strip():
        raise InvalidInputError(
            "the encoder has no name; add name=, and another one whenever the model changes."
        )
    for size in ("dimensions", "max_tokens"):
        check_whole(f"{size} of the encoder {name!r}", getattr(model, size, None), optional=True)
    if getattr(model, "name", None) == name and hasattr(model, "n_truncated"):
        return cast("NamedEncoder", model)
    if getattr(model, "default_prompt_name", None) is not None:
        # A model of sentence-transformers, which would add its default prompt once more.
        encode = partial(cast("Any", encode), prompt="")
    dimensions = getattr(model, "dimensions", None)
    tokenizer, prompts = parsed_tokenizer(model), Prompts.of_model(model)
    return _GivenEncoder(encode, name, dimensions, tokenizer=tokenizer, prompts=prompts)


def _is_missing(package: str) -> bool:
    try:
        module = imported_runtime() if package == "onnxruntime" else import_module(package)
    except (ImportError, SyntaxError):
        return True
    return package.startswith("softcosine_") and not hasattr(module, "folder")  # half a package
