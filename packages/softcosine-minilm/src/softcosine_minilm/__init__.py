"""The sentence encoder all-MiniLM-L6-v2 as an int8 ONNX model: files only, no code to run it."""

from pathlib import Path

__all__ = ["folder"]


def folder() -> Path:
    """Return the folder of ``model.onnx``, ``tokenizer.json`` and ``config.json``."""
    return Path(__file__).parent / "data"
