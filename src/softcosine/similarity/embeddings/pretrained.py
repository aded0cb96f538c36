"""Models of the Hugging Face hub by name."""

from __future__ import annotations

from pathlib import Path

from softcosine.errors import InvalidInputError, MissingDependencyError
from softcosine.storage import checked_path

__all__ = ["pretrained_folder"]

# The files of a table of static vectors; nothing else is downloaded.
_FILES = [
    "config.json",
    "model.safetensors",
    "tokenizer.json",
    "vocab.txt",
    "modules.json",
    "0_StaticEmbedding/*",
]


def pretrained_folder(name: str) -> Path:
    """Return the folder of a model; download it unless it is cached.

    Parameters
    ----------
    name : str
        A folder, or a name on the hub such as ``minishlab/potion-base-4M``.

    Raises
    ------
    MissingDependencyError
        If huggingface_hub is needed and not installed.
    InvalidInputError
        If the hub does not have the model, or is unreachable and the model is not cached.
    """
    folder = checked_path(name)
    if folder.is_dir():
        return folder
    try:
        from huggingface_hub import snapshot_download
    except ImportError as error:
        raise MissingDependencyError(
            "huggingface_hub", "huggingface", f"Fetching the model {name!r}"
        ) from error
    try:
        return Path(snapshot_download(name, allow_patterns=_FILES))
    except (OSError, ValueError) as error:  # all errors of the hub derive from these
        raise InvalidInputError(
            f"the model {name!r} is no folder here and cannot be had from the Hugging Face hub: "
            f"{error}"
        ) from error
