r"""Fitting query tables: vectors of word pieces whose sums approximate an encoder's vectors.

The encoder reads sentences, and each word piece alone. The table starts as the vectors of the
pieces, common pieces scaled down as in Arora, Liang and Ma 2017, "A Simple but Tough-to-Beat
Baseline for Sentence Embeddings". Adam then lowers, over batches of n sentences,

.. math::
    \frac1n \sum_i \bigl(1 - \cos(s_i, e_i)\bigr)
    + \frac{\lambda}{n} \sum_i KL\bigl(\mathrm{softmax}(E e_i / \tau)
    \,\Vert\, \mathrm{softmax}(E \hat{s}_i / \tau)\bigr)

where s_i is the sum of a sentence's pieces, ŝ_i that of length 1, e_i the encoder's vector of
length 1, and E those of the batch. The second term asks for the encoder's nearest sentences.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from softcosine._progress import Progress, Report, silent
from softcosine._ragged import running_sum
from softcosine._validation import check_list, check_number, check_type, check_whole
from softcosine.encoders.encoder import Encoder, NamedEncoder, Prompts
from softcosine.encoders.encoding import encode_texts
from softcosine.encoders.loading import load_encoder
from softcosine.encoders.vector_cache import VectorCache
from softcosine.errors import InvalidInputError
from softcosine.similarity.embeddings.word_pieces import BERT_UNCASED, WordPieces
from softcosine.space.meaning import MeaningSpace
from softcosine.space.query_table import QueryTable

_MARK = "\u2581"  # in front of the first piece of a word (SentencePiece)
_KEPT = ("NFC", "NFD", "NFKC", "NFKD", "StripAccents")


def word_pieces_of(encoder: NamedEncoder) -> WordPieces:
    """Return the word pieces of an encoder's tokenizer.

    Words are split greedily into the longest pieces, as by WordPiece. A BPE or Unigram tokenizer
    splits some words otherwise; sums of pieces need no equal splits, only the same ones in the fit
    and in queries. The pieces of these two are in lower case, as the terms of an index, from whose
    document frequencies pieces get theirs; "Paris" stands for "paris" if the latter is no piece.

    Raises
    ------
    InvalidInputError
        If the tokenizer is unknown, of another type, or damaged.
    """
    tokenizer = getattr(encoder, "tokenizer", None)
    if tokenizer is None:
        raise InvalidInputError(
            f"the tokenizer of the encoder {encoder.name!r} is unknown; needed is an attribute "
            "'tokenizer' with the content of its tokenizer.json, as ONNX folders and "
            "sentence-transformers have it."
        )
    try:
        kind = tokenizer["model"].get("type") or "WordPiece"
        if kind == "WordPiece":
            return WordPieces.from_tokenizer(tokenizer)
        if kind in ("BPE", "Unigram"):
            return _of_marked_pieces(tokenizer)
        problem = f"the tokenizer is of type {kind!s:.40}; needed is WordPiece, BPE or Unigram."
    except InvalidInputError as error:
        problem = str(error)
    except (ValueError, KeyError, TypeError, AttributeError, IndexError, RecursionError) as error:
        problem = f"not a readable tokenizer: {error!r:.200}"
    raise InvalidInputError(f"the encoder {encoder.name!r}: {problem}")


def _of_marked_pieces(tokenizer: Mapping[str, Any]) -> WordPieces:
    """Return the word pieces of a vocabulary that marks the first piece of a word."""
    vocabulary = tokenizer["model"]["vocab"]
    if isinstance(vocabulary, Mapping):  # of BPE
        tokens = [""] * len(vocabulary)
        for token, number in vocabulary.items():
            tokens[number] = token
    else:
        tokens = [token for token, _ in vocabulary]
    special = {
        token["content"] for token in tokenizer.get("added_tokens") or () if token.get("special")
    }
    if "ByteLevel" in _types(tokenizer.get("pre_tokenizer")):
        tokens = [_of_bytes(token) for token in tokens]
    if not any(token.startswith(_MARK) for token in tokens):
        raise InvalidInputError(
            f"the {tokenizer['model']['type']} tokenizer marks neither spaces nor the starts of "
            f"words by {_MARK!r}."
        )
    # The other way round, as WordPiece does: the mark in front of all pieces but the first.
    pieces = [
        "" if token in special else token[1:] if token.startswith(_MARK) else f"{_MARK}{token}"
        for token in tokens
    ]
    lower = {piece for piece in pieces if piece == piece.lower()} - {"", _MARK}
    for i, piece in enumerate(pieces):
        if piece not in lower:
            folded = piece.lower()
            pieces[i] = "" if folded in lower or folded == _MARK else folded
            lower.add(folded)
    steps = [
        {"type": "NFKC" if step == "Precompiled" else step}
        for step in _types(tokenizer.get("normalizer"))
        if step in (*_KEPT, "Precompiled")
    ]
    uncased = {**BERT_UNCASED["normalizer"], "strip_accents": False}
    return WordPieces(
        pieces,
        {**BERT_UNCASED, "normalizer": {"type": "Sequence", "normalizers": [*steps, uncased]}},
        prefix=_MARK,
    )


def _types(step: Mapping[str, Any] | None) -> Iterator[str]:
    """Yield the types of a step of a tokenizer, and of those it is made of."""
    if step is not None:
        yield step["type"]
        for inner in (*step.get("normalizers", ()), *step.get("pretokenizers", ())):
            yield from _types(inner)


def _byte_characters() -> dict[str, int]:
    """Return the characters by which byte-level BPE writes bytes (Radford et al. 2019, GPT-2)."""
    plain = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(256) if byte not in plain]
    return {chr(byte): byte for byte in plain} | {
        chr(256 + i): byte for i, byte in enumerate(others)
    }


_BYTES = _byte_characters()


def _of_bytes(token: str) -> str:
    """Return a token of byte-level BPE as text, its leading space as the mark; else ""."""
    try:
        text = bytes(_BYTES[character] for character in token).decode()
    except (KeyError, UnicodeDecodeError):
        return ""
    return f"{_MARK}{text[1:]}" if text.startswith(" ") else text


_ADDED = 2  # tokens that an encoder adds to a text, such as [CLS] and [SEP]
_NEIGHBORS = 10
_MOST_PIECES = 1 << 16  # that all get vectors; of more, those of the texts
_MOST_HELD_OUT = 1000
_CHUNK_ROWS = 1024

_Floats = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class FitSettings:
    """Settings of the fit.

    Attributes
    ----------
    epochs : int, default 4
        Number of passes over the texts.
    batch : int, default 1024
        Number of texts per step.
    rate : float, default 0.003
        Learning rate of the first step; it falls to 0 like a cosine.
    kl_weight : float, default 0.1
        λ, the weight of the divergence of neighbours.
    temperature : float, default 0.05
        τ.
    sif : float, default 0.001
        The start scales a piece by sif / (sif + its share of all pieces).
    seed : int, default 0
        Seed of the order of the texts.
    """

    epochs: int = 4
    batch: int = 1024
    rate: float = 3e-3
    kl_weight: float = 0.1
    temperature: float = 0.05
    sif: float = 1e-3
    seed: int = 0

    def __post_init__(self) -> None:
        check_whole("epochs", self.epochs)
        check_whole("batch", self.batch, least=2)
        check_number("rate", self.rate, above=0)
        check_number("kl_weight", self.kl_weight, least=0)
        check_number("temperature", self.temperature, above=0)
        check_number("sif", self.sif, above=0)
        check_whole("seed", self.seed, least=0)


def fit_meaning(
    encoder: str | PathLike[str] | Encoder,
    texts: Iterable[str],
    *,
    dimensions: int = 256,
    settings: FitSettings | None = None,
    cache: str | PathLike[str] | None = None,
    progress: Report = silent,
) -> MeaningSpace:
    """Return the space of meaning of an encoder, with a query table fitted on texts.

    Some 100,000 sentences of broad text suffice; texts as long as queries fit best. Equal texts
    count once. On one machine, equal texts, encoder and settings give an equal space.

    Parameters
    ----------
    encoder : str, path, or object with ``encode``
        See `softcosine.encoders.loading.load_encoder`. Its tokenizer must be a WordPiece, BPE or
        Unigram.
    texts : iterable of str
        At least as many as dimensions.
    dimensions : int, default 256
        Even, at most those of the encoder: the directions of greatest second moment of the texts'
        vectors, see `principal_directions`.
    settings : FitSettings, optional
    cache : path, optional
        A `VectorCache` of encoded texts and pieces: an interrupted fit continues with them.
    progress : callable, optional
        Called as ``progress(stage, done, total)``.

    Raises
    ------
    InvalidInputError
        If the encoder's tokenizer is not supported, its vectors are not usable, texts are too few,
        or `dimensions` does not fit.
    """
    check_whole("dimensions", dimensions, least=2)
    if dimensions % 2:
        raise InvalidInputError(f"dimensions is {dimensions}; it must be even.")
    distinct = _distinct(texts)
    known = load_encoder(encoder)
    pieces = word_pieces_of(known)
    if len(distinct) < dimensions:
        raise InvalidInputError(
            f"{len(distinct):,} different texts are too few for {dimensions} dimensions; give at "
            f"least {dimensions:,}, better 100,000."
        )
    counts = piece_counts(pieces, distinct, known.max_tokens)
    if pieces.n_pieces > _MOST_PIECES:
        occurring = np.unique(counts.indices)
        pieces, counts = pieces.only(occurring), counts[:, occurring]
    kept = None if cache is None else VectorCache(cache, known.name)
    targets = _unit_vectors(known, distinct, kept, partial(progress, "encoding texts"))
    if dimensions > targets.shape[1]:
        raise InvalidInputError(
            f"dimensions is {dimensions}, but the vectors of {known.name!r} have "
            f"{targets.shape[1]}; it must not be larger."
        )
    alone = _unit_vectors(known, pieces.texts(), kept, partial(progress, "encoding word pieces"))
    # The projection is stored as float16 where that is exact: half the bytes, and the error of
    # 2^-11 is far below that of coordinates in int8.
    projection = principal_directions(targets, dimensions).astype(np.float16).astype(np.float32)
    chosen = settings or FitSettings()
    start = sif_start(_of_length_1(alone @ projection), counts, chosen.sif)
    table = fit_table(counts, _of_length_1(targets @ projection), start, chosen, progress)
    return MeaningSpace(
        known.name, projection=projection, table=QueryTable.quantized(table, pieces)
    )


def split_texts(texts: Iterable[str]) -> tuple[list[str], list[str]]:
    """Return the different texts that are not blank: those to fit on, and those held out.

    Held out are a tenth, at most 1,000, drawn by a fixed seed.
    """
    distinct = _distinct(texts)
    n_held_out = min(_MOST_HELD_OUT, len(distinct) // 10)
    order = np.random.default_rng(0).permutation(len(distinct))
    held_out, kept = np.sort(order[:n_held_out]), np.sort(order[n_held_out:])
    return [distinct[i] for i in kept], [distinct[i] for i in held_out]


def _distinct(texts: Iterable[str]) -> list[str]:
    """Return the different texts that are not blank."""
    check_list("texts", texts)
    distinct = list(dict.fromkeys(texts))
    for text in distinct:
        check_type("a text", text, str, "pass strings")
    return [text for text in distinct if text.strip()]


@dataclass(frozen=True, slots=True)
class Prediction:
    """How well sums of word pieces predict an encoder's vectors of some texts.

    Attributes
    ----------
    n_texts : int
    mean_cosine : float
        Mean cosine of a sum and the encoder's vector.
    recall : float
        Mean share of the encoder's ten nearest other texts that are among the sum's ten nearest.
    """

    n_texts: int
    mean_cosine: float
    recall: float


def measure_prediction(
    space: MeaningSpace,
    encoder: str | PathLike[str] | Encoder,
    texts: Iterable[str],
    *,
    cache: str | PathLike[str] | None = None,
) -> Prediction:
    """Return how well a space's query table predicts the encoder's vectors of texts.

    Pieces have no weights, as in the fit. Use texts that the fit has not read.

    Parameters
    ----------
    space : MeaningSpace
        With a query table.
    encoder : str, path, or object with ``encode``
        That of the space.
    texts : iterable of str
        Texts without pieces are left out.
    cache : path, optional
        As for `fit_meaning`.
    """
    known = load_encoder(encoder)
    table = space.table
    if table is None or known.name != space.encoder:
        raise InvalidInputError(
            f"{space!r} is to be measured with the encoder {known.name!r}; needed are a query "
            "table, and the encoder it was fitted for."
        )
    distinct = _distinct(texts)
    counts = piece_counts(table.pieces, distinct, known.max_tokens)
    sums = counts.astype(np.float64) @ table.coordinates(np.arange(len(table)))
    kept = None if cache is None else VectorCache(cache, known.name)
    prompt = Prompts.of_model(known).query
    vectors = encode_texts(known, distinct, cache=kept, prompt=prompt)
    usable = sums.any(axis=1)
    n_texts = int(usable.sum())
    if n_texts < 2:
        return Prediction(n_texts, math.nan, math.nan)
    S = sums[usable] / np.linalg.norm(sums[usable], axis=1, keepdims=True)
    E = np.stack([space.unit(vector) for vector in vectors[usable]])
    n_near = min(_NEIGHBORS, n_texts - 1)
    common = 0
    for start in range(0, n_texts, _CHUNK_ROWS):
        rows = np.arange(start, min(start + _CHUNK_ROWS, n_texts))
        near = [_nearest(of[rows] @ E.T, rows, n_near) for of in (S, E)]
        common += int((near[0][:, :, np.newaxis] == near[1][:, np.newaxis]).sum())
    cosines = np.einsum("ij,ij->i", S, E)
    return Prediction(n_texts, float(cosines.mean()), common / (n_texts * n_near))


def _nearest(cosines: NDArray[np.float64], rows: NDArray[np.intp], n_near: int) -> NDArray[np.intp]:
    """Return the columns of the largest cosines of each row, without the row's own text."""
    cosines[np.arange(len(rows)), rows] = -np.inf
    return np.argpartition(-cosines, n_near - 1, axis=1)[:, :n_near]


def piece_counts(pieces: WordPieces, texts: list[str], max_tokens: int | None) -> csr_array:
    """Return how often each piece occurs in each text, (n_texts, n_pieces), float32.

    Only the first pieces of a text count, as many as the encoder reads.
    """
    indptr, numbers = pieces.pieces(texts)
    if max_tokens is not None:
        lengths = np.diff(indptr)
        first = np.arange(len(numbers)) - np.repeat(indptr[:-1], lengths) < max_tokens - _ADDED
        numbers = numbers[first]
        indptr = running_sum(np.minimum(lengths, max_tokens - _ADDED))
    ones = np.ones(len(numbers), np.float32)
    counts = csr_array((ones, numbers, indptr), shape=(len(texts), pieces.n_pieces))
    counts.sum_duplicates()
    return counts


def sif_start(alone: _Floats, counts: csr_array, sif: float) -> _Floats:
    """Return the start of the fit: each piece's vector when encoded alone, common ones small."""
    occurring = np.asarray(counts.sum(axis=0)).ravel()
    shares = occurring / max(occurring.sum(), 1.0)
    start: _Floats = (alone * (sif / (sif + shares))[:, np.newaxis]).astype(np.float32)
    return start


def fit_table(
    counts: csr_array,
    targets: _Floats,
    start: _Floats,
    settings: FitSettings,
    progress: Report = silent,
) -> _Floats:
    """Return fitted vectors of pieces, (n_pieces, n_components).

    Parameters
    ----------
    counts : csr_array of shape (n_texts, n_pieces)
    targets : ndarray of shape (n_texts, n_components)
        The encoder's vectors, of length 1.
    start : ndarray of shape (n_pieces, n_components)
    settings : FitSettings
    progress : callable
        Called in steps; the stage names the mean loss of the last epoch.
    """
    rng = np.random.default_rng(settings.seed)
    texts = np.flatnonzero(np.diff(counts.indptr))
    table, adam = start.copy(), _Adam(start.shape)
    n_batches = max(len(texts) // settings.batch, 1)
    n_steps = settings.epochs * n_batches
    stage = "fitting"
    for epoch in range(settings.epochs):
        order = rng.permutation(texts)
        total = 0.0
        for number in range(n_batches):
            step = epoch * n_batches + number
            rows = np.sort(order[number * settings.batch : (number + 1) * settings.batch])
            batch = counts[rows]
            loss, gradient = loss_and_gradient(batch @ table, targets[rows], settings)
            rate = settings.rate * 0.5 * (1.0 + math.cos(math.pi * step / n_steps))
            adam.lower(table, batch.T @ gradient, rate)
            total += loss
            progress(stage, step + 1, n_steps)
        stage = f"fitting (loss {total / n_batches:.3f})"
    return table


def loss_and_gradient(
    sums: _Floats, targets: _Floats, settings: FitSettings
) -> tuple[float, _Floats]:
    """Return the loss of a batch, and its gradient by the sums.

    Parameters
    ----------
    sums : ndarray of shape (n, n_components)
        Sums of pieces, of any length.
    targets : ndarray of shape (n, n_components)
        Of length 1.
    settings : FitSettings
    """
    n = len(sums)
    lengths = np.maximum(np.linalg.norm(sums, axis=1, keepdims=True), 1e-12)
    unit = sums / lengths
    log_p = _log_softmax(targets @ targets.T / settings.temperature)
    log_q = _log_softmax(unit @ targets.T / settings.temperature)
    p = np.exp(log_p)
    divergence = float((p * (log_p - log_q)).sum())
    cosines = float(np.einsum("ij,ij->", unit, targets))
    by_unit = (settings.kl_weight / settings.temperature) * ((np.exp(log_q) - p) @ targets)
    by_unit = (by_unit - targets) / n
    along = np.einsum("ij,ij->i", by_unit, unit)[:, np.newaxis]
    loss = 1.0 + (settings.kl_weight * divergence - cosines) / n
    return loss, (by_unit - along * unit) / lengths


def _log_softmax(logits: _Floats) -> _Floats:
    logits -= logits.max(axis=1, keepdims=True)
    shifted: _Floats = logits - np.log(np.exp(logits).sum(axis=1, keepdims=True))
    return shifted


class _Adam:
    """Adam on one array (Kingma and Ba 2015), in place."""

    def __init__(self, shape: tuple[int, ...]) -> None:
        self._first = np.zeros(shape, np.float32)
        self._second = np.zeros(shape, np.float32)
        self._step = 0

    def lower(self, values: _Floats, gradient: _Floats, rate: float) -> None:
        self._step += 1
        self._first *= 0.9
        self._first += 0.1 * gradient
        self._second *= 0.999
        self._second += 0.001 * np.square(gradient)
        root = np.sqrt(self._second / (1 - 0.999**self._step))
        root += 1e-8
        values -= rate / (1 - 0.9**self._step) * self._first / root


def principal_directions(vectors: _Floats, dimensions: int) -> NDArray[np.float64]:
    """Return the directions of greatest second moment, (n_components, dimensions).

    The vectors are not centred, which keeps cosines, unless most of their squares is that of their
    mean, as of encoders whose cosines are all above .5: then the first direction, which says
    nothing of a text, is left out, as by Mu and Viswanath 2018, "All-but-the-Top". The largest
    component of each direction is positive.
    """
    wide = vectors.astype(np.float64)
    _, directions = np.linalg.eigh(wide.T @ wide)
    shared = 2.0 * np.square(wide.mean(axis=0)).sum() * len(wide) > np.square(wide).sum()
    first = min(int(shared), wide.shape[1] - dimensions)
    chosen = directions[:, ::-1][:, first : first + dimensions]
    largest = np.take_along_axis(chosen, np.abs(chosen).argmax(axis=0)[np.newaxis], axis=0)
    directed: NDArray[np.float64] = chosen * np.sign(largest)
    return directed


def _unit_vectors(
    encoder: NamedEncoder, texts: list[str], cache: VectorCache | None, progress: Progress
) -> _Floats:
    """Return the encoder's vectors of texts as queries, of length 1; zeros for blank texts."""
    prompt = Prompts.of_model(encoder).query
    return _of_length_1(encode_texts(encoder, texts, cache=cache, progress=progress, prompt=prompt))


def _of_length_1(rows: _Floats) -> _Floats:
    """Return rows of length 1, and zeros for zeros."""
    unit: _Floats = rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12)
    return unit
