"""Models of the Hugging Face hub by name."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from softcosine.errors import InvalidInputError, MissingDependencyError


def hub_folder(name: str, files: Iterable[str], *, download: bool = True) -> Path:
    """Return the folder of a model in the cache of huggingface_hub, which downloads what is new.

    Parameters
    ----------
    name : str
        A name on the hub, such as ``minishlab/potion-base-4M``.
    files : iterable of str
        Patterns of the files that are needed; nothing else is downloaded.
    download : bool, default True
        Whether to download files that are not in the cache.

    Raises
    ------
    MissingDependencyError
        If huggingface_hub is not installed.
    InvalidInputError
        If the hub does not have the model, or is unreachable and the model is not cached.
    """
    try:
        from huggingface_hub import snapshot_download
    except ImportError as error:
        raise MissingDependencyError(
            "huggingface_hub", "huggingface", f"Fetching the model {name!r}"
        ) from error
    try:
        return Path(snapshot_download(name, allow_patterns=[*files], local_files_only=not download))
    except (OSError, ValueError) as error:  # all errors of the hub derive from these
        raise InvalidInputError(
            f"the model {name!r} is no folder here and cannot be had from the Hugging Face hub: "
            f"{' '.join(str(error).split())}"
        ) from error
