"""The sentence encoder multilingual-e5-small as an ONNX model: files only."""

from pathlib import Path

__all__ = ["folder"]


def folder() -> Path:
    """Return the folder of the model, its tokenizer ``unigram.npz`` and ``config.json``."""
    return Path(__file__).parent / "data"
