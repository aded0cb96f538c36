"""Make the bundled table of English word vectors, ``sources/data/english.npz``.

Every word is encoded once, alone, by all-MiniLM-L6-v2; the encodings are centred, freed of
their first principal components, reduced and rounded.  See README.md beside this file for the
reasons and for how to run it, and measure_english_table.py for the figures behind each choice.
"""

from __future__ import annotations

import argparse
import hashlib
import io
import json
import unicodedata
import zipfile
from importlib.metadata import version
from pathlib import Path

import numpy as np
from encoder import CARRIER, MODEL, encode, model_folder
from english_words import symbol_name_words, wordnet_words, wordpiece_words
from numpy.typing import NDArray

TARGET = Path(__file__).parents[1] / "src/softcosine/sources/data/english.npz"
MAX_BYTES = 4_900_000
N_DIMENSIONS = 128
N_FIT = 10_000  # the most frequent WordPiece words; rare words would bend the axes to taxonomy
N_REMOVED = 3
DAMPING = 0.5  # component variances enter with this power; 1 is plain PCA, 0 is whitening
STEPS_PER_DEVIATION = 4.0  # rounding: deflate then spends 4.6 bits a number, at no loss


def candidate_words(wordnet: Path) -> tuple[list[str], int]:
    """All words in order of preference, and how many of them are in the table in any case."""
    certain = wordpiece_words(model_folder() / "vocab.txt") + symbol_name_words()
    return list(dict.fromkeys(certain + wordnet_words(wordnet))), len(set(certain))


def cached_encodings(words: list[str], cache: Path | None) -> NDArray[np.float32]:
    """Encodings of the words, shape (n_words, 384), read from the cache if it holds them."""
    if cache is not None and cache.is_file():
        with np.load(cache) as stored:
            if stored["words"].tolist() == words:
                return np.asarray(stored["encodings"], dtype=np.float32)
    encodings = encode(words)
    if cache is not None:
        np.savez(cache, words=np.array(words), encodings=encodings)
    return encodings


def reduce(
    encodings: NDArray[np.float32],
    *,
    n_dimensions: int = N_DIMENSIONS,
    n_fit: int = N_FIT,
    n_removed: int = N_REMOVED,
    damping: float = DAMPING,
) -> NDArray[np.float32]:
    """Unit-length rows of shape (n_words, n_dimensions); centre and axes from the first `n_fit`.

    The first `n_removed` principal components are dropped; those kept are scaled so that
    their variances enter with the power `damping`.
    """
    centred = encodings.astype(np.float64) - encodings[:n_fit].mean(axis=0, dtype=np.float64)
    variances, axes = np.linalg.eigh(centred[:n_fit].T @ centred[:n_fit])
    kept = slice(n_removed, n_removed + n_dimensions)
    variances, axes = variances[::-1][kept], axes[:, ::-1][:, kept]
    axes = axes * np.sign(axes[np.abs(axes).argmax(axis=0), np.arange(axes.shape[1])])
    reduced = centred @ (axes * variances ** ((damping - 1) / 2))
    reduced /= np.linalg.norm(reduced, axis=1, keepdims=True)
    return reduced.astype(np.float32)


def quantise(vectors: NDArray[np.float32], steps: float = STEPS_PER_DEVIATION) -> NDArray[np.int8]:
    """Rows rounded to int8 by one scale for all, which cosines do not see."""
    step = float(vectors.std(dtype=np.float64)) / steps
    return np.clip(np.rint(vectors / step), -127, 127).astype(np.int8)


def packed(words: list[str], vectors: NDArray[np.int8], about: dict[str, object]) -> bytes:
    """The table as the bytes of an ``.npz`` file, rows in code point order of the words."""
    order = sorted(range(len(words)), key=words.__getitem__)
    blob = "\n".join(words[i] for i in order).encode()
    arrays = {
        "words": np.frombuffer(blob, dtype=np.uint8),
        "vectors": np.ascontiguousarray(vectors[order]),
        "about": np.array(json.dumps(about | {"n_words": len(words)}, sort_keys=True)),
    }
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name, array in arrays.items():
            member = io.BytesIO()
            np.lib.format.write_array(member, array, allow_pickle=False)
            entry = zipfile.ZipInfo(f"{name}.npy")  # dated 1980, so that builds are the same
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, member.getvalue())
    return out.getvalue()


def largest_table(
    words: list[str], n_certain: int, vectors: NDArray[np.int8], about: dict[str, object]
) -> bytes:
    """The table of the first words, as many as stay within `MAX_BYTES`."""
    low, high = n_certain, len(words) + 1
    best = packed(words[:low], vectors[:low], about)
    while high - low > 50:
        middle = (low + high) // 2
        table = packed(words[:middle], vectors[:middle], about)
        if len(table) <= MAX_BYTES:
            low, best = middle, table
        else:
            high = middle
    return best


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--wordnet", type=Path, required=True, help="folder with data.noun etc.")
    parser.add_argument("--cache", type=Path, help="an .npz file to keep the encodings in")
    parser.add_argument("--output", type=Path, default=TARGET)
    options = parser.parse_args()
    words, n_certain = candidate_words(options.wordnet)
    vectors = quantise(reduce(cached_encodings(words, options.cache)))
    weights = (model_folder() / "model.safetensors").read_bytes()
    about: dict[str, object] = {
        "model": MODEL,
        "model_licence": "Apache-2.0",
        "weights_from": f"{CARRIER} {version(CARRIER)}",
        "weights_sha256": hashlib.sha256(weights).hexdigest(),
        "words_from": f"WordPiece; Unicode {unicodedata.unidata_version} symbols; WordNet 3.0",
        "fitted_on": N_FIT,
        "components_removed": N_REMOVED,
        "damping": DAMPING,
    }
    table = largest_table(words, n_certain, vectors, about)
    options.output.parent.mkdir(parents=True, exist_ok=True)
    options.output.write_bytes(table)
    with np.load(io.BytesIO(table)) as made:
        print(f"{options.output}: {made['vectors'].shape}, {len(table):,} bytes")


if __name__ == "__main__":
    main()
