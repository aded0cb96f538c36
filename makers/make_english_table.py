"""Make the bundled table of English word vectors, ``similarity/data/english.npz``.

Every word is encoded by all-MiniLM-L6-v2 alone and in two short phrases, and so are WordNet's
definitions of it; their mean is centred, freed of its first principal component, reduced and
rounded.  See README.md beside this file for the reasons and for how to run it, and
measure_english_table.py for the figures behind each choice.
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
from numpy.typing import NDArray
from scipy.sparse import csr_array

from encoder import CARRIER, MODEL, encode, model_folder
from english_words import (
    inflections,
    lemmas_of,
    symbol_name_words,
    wordnet_words,
    wordpiece_words,
)
from wordnet_files import read_senses, read_synsets

TARGET = Path(__file__).parents[1] / "src/softcosine/similarity/data/english.npz"
MAX_BYTES = 4_900_000
PHRASES = ("{}", "the word {}", "meaning of {}")
MAX_SENSES = 4  # of each part of speech; their definitions weigh 1, 1/2, 1/3, 1/4
DEFINITIONS_WEIGHT = 0.8  # against the phrases' 1, for words that are one WordPiece
PIECED_WEIGHT = 2.4  # for words that the encoder knows only by their pieces (hydrangea: hydra)
N_DIMENSIONS = 128
N_FIT = 10_000  # the most frequent WordPiece words; rare words would bend the axes to taxonomy
N_REMOVED = 1
DAMPING = 0.75  # component variances enter with this power; 1 is plain PCA, 0 is whitening
STEPS_PER_DEVIATION = 1.75  # rounding: deflate then spends 3.4 bits a number, at no loss


def candidate_words(wordnet: Path) -> tuple[list[str], int]:
    """All words in order of preference, and how many of them are in the table in any case."""
    certain = wordpiece_words(model_folder() / "vocab.txt") + symbol_name_words()
    return list(dict.fromkeys(certain + wordnet_words(wordnet))), len(set(certain))


def cached_encode(texts: list[str], cache: Path | None) -> NDArray[np.float32]:
    """Encode the texts, shape (n_texts, 384), as float16 holds them, with or without a cache."""
    if cache is None:
        return encode(texts).astype(np.float16).astype(np.float32)
    path = cache / f"{hashlib.sha256(chr(10).join(texts).encode()).hexdigest()[:16]}.npy"
    if not path.is_file():
        cache.mkdir(parents=True, exist_ok=True)
        np.save(path, encode(texts).astype(np.float16))
    return np.asarray(np.load(path), dtype=np.float32)


def encode_words(words: list[str], wordnet: Path, cache: Path | None) -> NDArray[np.float32]:
    """Centred encodings of the words, phrases and definitions together, shape (n_words, 384)."""
    phrases = np.zeros((len(words), 384), dtype=np.float32)
    for phrase in PHRASES:
        phrases += cached_encode([phrase.format(word) for word in words], cache)
    phrases /= np.linalg.norm(phrases, axis=1, keepdims=True)
    meanings, defined = encode_definitions(words, wordnet, cache)
    pieces = set(wordpiece_words(model_folder() / "vocab.txt"))
    weights = np.array([DEFINITIONS_WEIGHT if w in pieces else PIECED_WEIGHT for w in words])
    centred: NDArray[np.float32] = phrases - phrases[:N_FIT].mean(axis=0)
    meanings -= meanings[defined].mean(axis=0)
    centred[defined] += (weights[:, None] * meanings)[defined].astype(np.float32)
    return centred


def encode_definitions(
    words: list[str], wordnet: Path, cache: Path | None
) -> tuple[NDArray[np.float32], NDArray[np.bool_]]:
    """Mean encoding of each word's definitions, and whether it has any.

    A definition is encoded behind its word (``tyre: hoop that covers a wheel``), examples left
    out.  An inflected form without a definition of its own takes the mean of its lemmas'.
    """
    row = {word: i for i, word in enumerate(words)}
    synsets = list(read_synsets(wordnet))
    gloss = {(synset.part, synset.offset): synset.gloss for synset in synsets}
    texts, owners, weights = [], [], []
    for lemma, part, offsets in read_senses(wordnet):
        if lemma in row:
            for rank, offset in enumerate(offsets[:MAX_SENSES]):
                texts.append(f"{lemma}: {gloss[part, offset].split(';')[0].strip()}")
                owners.append(row[lemma])
                weights.append(1 / (1 + rank))
    sharing = csr_array((weights, (owners, range(len(texts)))), shape=(len(words), len(texts)))
    means, defined = _row_means(sharing, cached_encode(texts, cache))
    of_lemmas = [
        (row[form], row[lemma])
        for form, lemma, _ in inflections(wordnet, lemmas_of(synsets))
        if form in row and lemma in row and not defined[row[form]] and defined[row[lemma]]
    ]
    forms, lemmas = zip(*of_lemmas, strict=True)
    sharing = csr_array((np.ones(len(forms)), (forms, lemmas)), shape=(len(words), len(words)))
    inherited, inheriting = _row_means(sharing, means)
    means[inheriting] = inherited[inheriting]
    return means, defined | inheriting


def _row_means(
    sharing: csr_array, vectors: NDArray[np.float32]
) -> tuple[NDArray[np.float32], NDArray[np.bool_]]:
    """Weighted mean of the vectors that each row of `sharing` names, and whether it names any."""
    total = np.asarray(sharing.sum(axis=1))
    means = (sharing @ vectors) / np.maximum(total, 1e-12)[:, None]
    return means.astype(np.float32), total > 0


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
    return np.asarray(reduced, dtype=np.float32)


def quantise(vectors: NDArray[np.float32], steps: float = STEPS_PER_DEVIATION) -> NDArray[np.int8]:
    """Rows rounded to int8 by one scale for all, which cosines do not see."""
    step = float(vectors.std(dtype=np.float64)) / steps
    return np.asarray(np.clip(np.rint(vectors / step), -127, 127), dtype=np.int8)


def packed(words: list[str], vectors: NDArray[np.int8], about: dict[str, object]) -> bytes:
    """Lay the table out as the bytes of an ``.npz`` file, rows in code point order of the words."""
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
    """Make the table of as many of the first words as stay within `MAX_BYTES`."""
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
    parser.add_argument("--cache", type=Path, help="a folder to keep the encodings in")
    parser.add_argument("--output", type=Path, default=TARGET)
    options = parser.parse_args()
    words, n_certain = candidate_words(options.wordnet)
    vectors = quantise(reduce(encode_words(words, options.wordnet, options.cache)))
    weights = (model_folder() / "model.safetensors").read_bytes()
    about: dict[str, object] = {
        "model": MODEL,
        "model_licence": "Apache-2.0",
        "weights_from": f"{CARRIER} {version(CARRIER)}",
        "weights_sha256": hashlib.sha256(weights).hexdigest(),
        "words_from": f"WordPiece; Unicode {unicodedata.unidata_version} symbols; WordNet 3.0",
        "phrases": PHRASES,
        "definitions_from": "WordNet 3.0",
        "definitions_weight": [DEFINITIONS_WEIGHT, PIECED_WEIGHT],
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
