"""The files and settings of an ONNX sentence encoder."""

from __future__ import annotations

import json
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

from softcosine.encoders.encoder import Prompts, card_languages
from softcosine.errors import MalformedFileError
from softcosine.storage import checked_path

_MODELS = ("model.onnx", "onnx/model.onnx")
_TOKENIZERS = ("unigram.npz", "tokenizer.json")  # the first loads faster, see `Unigram`
# The files of an encoder on the hub. Large weights are in a file beside the model.
_CONFIGS = ("config.json", "*/config.json", "*_config.json", "config_*.json", "modules.json")
_DATA = tuple(f"{model}_data" for model in _MODELS)
HUB_FILES = (*_MODELS, *_DATA, *_CONFIGS, "tokenizer.json", "README.md")
_MODULES = ("Transformer", "Pooling", "Dense", "Normalize")
_POOLINGS = {"pooling_mode_mean_tokens": "mean", "pooling_mode_cls_token": "cls"}


@dataclass(frozen=True, slots=True)
class OnnxFolder:
    """Settings of an ONNX sentence encoder, read from its folder.

    Attributes
    ----------
    path, model, tokenizer : Path
        The folder, and two files in it.
    name : str
        Name of the model.
    dimensions : int
    max_tokens : int or None
        Number of tokens that the model reads.
    pooling : {"mean", "cls"}
        What becomes of the vectors of a text's tokens: their mean, or the first one.
    normalize : bool
        Whether vectors are scaled to unit length.
    dense : bool
        Whether a layer follows the pooling, which only a whole model in one file can run.
    languages : tuple of str
        Codes of the languages in ``README.md``, the model's card; empty if unknown.
    prompts : Prompts
        As in ``config.json``, else in ``config_sentence_transformers.json``.
    """

    path: Path
    model: Path
    tokenizer: Path
    name: str
    dimensions: int
    max_tokens: int | None
    pooling: str
    normalize: bool
    languages: tuple[str, ...]
    prompts: Prompts
    dense: bool

    @classmethod
    def read(cls, folder: str | PathLike[str]) -> OnnxFolder:
        """Read ``config.json`` of softcosine-minilm, or the files of sentence-transformers.

        Raises
        ------
        MalformedFileError
            If a file is missing or damaged, or the model needs another pooling or module.
        """
        path = checked_path(folder)
        model = _onnx_model(path)
        if model is None:
            raise MalformedFileError(path, f"no ONNX model; needed is {' or '.join(_MODELS)}.")
        tokenizer = next(filter(Path.is_file, (path / name for name in _TOKENIZERS)), None)
        if tokenizer is None:
            raise MalformedFileError(path, f"no tokenizer; needed is {' or '.join(_TOKENIZERS)}.")
        config = _json(path / "config.json")
        own = config if "pooling" in config else _of_sentence_transformers(path, config)
        try:
            name, dimensions = str(own.get("name", path.name)), int(own["dimensions"])
            max_tokens = None if own["max_tokens"] is None else int(own["max_tokens"])
            pooling, normalize = str(own["pooling"]), bool(own["normalize"])
        except (KeyError, TypeError, ValueError) as error:
            raise MalformedFileError(
                path / "config.json", f"dimensions, max_tokens or normalize is missing ({error!r})."
            ) from error
        if pooling not in _POOLINGS.values():
            raise MalformedFileError(path, f"pooling is {pooling!r}; it must be mean or cls.")
        card = path / "README.md"
        languages = card_languages(card.read_text("utf-8", "replace")) if card.is_file() else ()
        prompts, dense, files = _prompts(path), bool(own.get("dense")), (path, model, tokenizer)
        return cls(
            *files, name, dimensions, max_tokens, pooling, normalize, languages, prompts, dense
        )


def has_onnx_model(folder: str | PathLike[str]) -> bool:
    """Whether the path is a folder with an ONNX model."""
    return _onnx_model(checked_path(folder)) is not None


def _onnx_model(path: Path) -> Path | None:
    return next((path / file for file in _MODELS if (path / file).is_file()), None)


def _of_sentence_transformers(path: Path, config: dict[str, Any]) -> dict[str, Any]:
    """Return the settings in the form of our own ``config.json``."""
    modules = [
        str(module["type"]).rpartition(".")[2] for module in _json(path / "modules.json", [])
    ]
    for module in modules:
        if module not in _MODULES:
            raise MalformedFileError(
                path / "modules.json",
                f"the model has a module {module}; only {', '.join(_MODULES)} can be run.",
            )
    pooling = _json(path / "1_Pooling" / "config.json", {"pooling_mode_mean_tokens": True})
    modes = [key for key, value in pooling.items() if key.startswith("pooling_mode_") and value]
    longest = [
        _json(path / "sentence_bert_config.json").get("max_seq_length"),
        config.get("max_position_embeddings"),
    ]
    dense = _json(path / "2_Dense" / "config.json")
    size = dense.get("out_features") if "Dense" in modules else config.get("hidden_size")
    return {
        "dense": "Dense" in modules,
        "dimensions": size,
        "max_tokens": next((n for n in longest if n is not None), None),
        "pooling": " and ".join(_POOLINGS.get(mode, mode) for mode in modes),
        "normalize": not modules or "Normalize" in modules,
    }


def _prompts(path: Path) -> Prompts:
    """Return what queries and documents must begin with."""
    file = path / "config.json"  # of our packages: a folder without it is no model
    if "prompts" not in (config := _json(file)):
        config = _json(file := path / "config_sentence_transformers.json")
    prompts, default = config.get("prompts") or {}, config.get("default_prompt_name")
    if not isinstance(prompts, dict) or not all(
        isinstance(prompt, str) for prompt in prompts.values()
    ):
        raise MalformedFileError(file, f"prompts is {prompts!r:.80}; needed are texts by name.")
    if default is not None and default not in prompts:
        raise MalformedFileError(
            file, f"the default prompt is {default!r}; prompts has {', '.join(prompts) or 'none'}."
        )
    found = Prompts.of(prompts, default)
    if any(found) and not _json(path / "1_Pooling" / "config.json").get("include_prompt", True):
        raise MalformedFileError(
            path, "the model leaves prompts out of the mean of tokens, which cannot be run here."
        )
    return found


def _json(path: Path, absent: Any = None) -> Any:
    """Return the content of a JSON file; `absent`, or {}, if there is none."""
    try:
        return json.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        return {} if absent is None else absent
    except (OSError, ValueError) as error:
        raise MalformedFileError(path, f"not readable as JSON ({error}).") from error
