"""Similar cues from free associations, judged by people; similar queries from clicks."""

from __future__ import annotations

import csv
import gzip
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array, csr_array, diags_array
from scipy.sparse.linalg import svds
from scipy.stats import spearmanr

from softcosine.evaluate.significance import paired_bootstrap
from softcosine.lab.snos.graph import normalized
from softcosine.lab.snos.learning import snos
from softcosine.lab.snos.many import snos_many

__all__ = ["similar_cues", "similar_queries"]

SETS = {
    "WS-353": ("EN-WS-353-ALL", 10.0),
    "SimLex": ("EN-SIMLEX-999", 10.0),
    "MEN": ("EN-MEN-TR-3k", 50.0),
    "RG-65": ("EN-RG-65", 4.0),
}
# A judged pair is relevant from this part of its scale on.
RELEVANT = 0.6
# Words with fewer judged partners are not ranked among these.
PARTNERS = 10
DIMENSIONS = (100, 300)
BASELINE = "cosine, logarithms"

# Of SNOS: weights, and how they are scaled. Each takes a minute or two where there are 4,927 cues.
FEW_VARIANTS = (("counts", "both"), ("logarithms", "both"), ("logarithms, idf", "both"))
VARIANTS = (
    *FEW_VARIANTS,
    *(("counts", "columns"), ("counts", "rows"), ("counts", "binary"), ("logarithms", "length")),
)

Matrix = NDArray[np.float64]
Judged = list[tuple[int, int, float]]


def similar_cues(folder: Path, report: Callable[[str], object]) -> dict[str, Any]:
    """Compare systems on the judged pairs of which both words are cues."""
    cues, B = _associations(folder / "lexica" / "assoc_USF.tsv.gz")
    numbers = {cue: number for number, cue in enumerate(cues)}
    judged = {name: _judged(folder, *kept, numbers) for name, kept in SETS.items()}
    rows: list[dict[str, Any]] = []
    at_ten: dict[str, Matrix] = {}
    for name, S in _systems(B, FEW_VARIANTS):
        np.fill_diagonal(S, -1.0)
        row: dict[str, Any] = {"system": name}
        for kept, pairs in judged.items():
            values = [S[i, j] for i, j, _ in pairs]
            row[f"ρ {kept}"] = round(float(spearmanr(values, [s for *_, s in pairs])[0]), 3)
        everything, among = _precisions(S, judged["MEN"])
        row["p@10, all cues"] = round(float(everything.mean()), 4)
        row["p@10, judged cues"] = round(float(among.mean()), 4)
        at_ten[name] = everything
        rows.append(row)
        report(f"cues: {row}")
        del S
    return {
        "rows": rows,
        "cues": len(cues),
        "responses": B.shape[0],
        "edges": B.nnz,
        "judged pairs": {name: len(pairs) for name, pairs in judged.items()},
        "attainable p@10, all cues": _attainable(judged["MEN"]),
        "chosen": _chosen(rows, at_ten),
    }


def similar_queries(folder: Path, report: Callable[[str], object]) -> dict[str, Any]:
    """Compare systems on queries that share a word, of which the graph of clicks knows nothing."""
    queries, labels, B = _clicks(folder / "clicks" / "clicks_zz.tsv.gz")
    relevant = _sharing(queries)
    asked = np.flatnonzero(relevant.any(axis=1))
    words = _words_of(labels)
    rows = []
    at_ten: dict[str, Matrix] = {}
    named = [*_systems(B), ("SNOS, with the words of entities", _with_words(B, words))]
    named.append(("cosine, of the words of entities", _cosines(csr_array(words @ B))))
    for name, similar in named:
        S = similar.copy()
        np.fill_diagonal(S, -1.0)
        best = np.argsort(-S, axis=1, kind="stable")[:, :10]
        found = np.take_along_axis(S, best, axis=1) > 0.0
        hits = np.take_along_axis(relevant, best, axis=1) & found
        at_ten[name] = hits.mean(axis=1)[asked]
        gain = paired_bootstrap(at_ten[name], at_ten[BASELINE])
        rows.append(
            {
                "system": name,
                "p@10": round(float(at_ten[name].mean()), 4),
                f"against {BASELINE}": _told(gain),
                "queries with ten": int(found.all(axis=1).sum()),
            }
        )
        report(f"clicks: {rows[-1]}")
    attainable = np.minimum(relevant.sum(axis=1)[asked], 10).mean() / 10
    S = snos(B, normalize="both", method="dense").soft_cosines
    examples = {}
    for query in np.argsort(-np.asarray(B.sum(axis=0)), kind="stable")[:8]:
        order = np.argsort(-S[query], kind="stable")
        examples[queries[query]] = [queries[j] for j in order if j != query][:5]
    return {
        "rows": rows,
        "queries": len(queries),
        "entities": B.shape[0],
        "edges": B.nnz,
        "asked": len(asked),
        "attainable p@10": round(float(attainable), 4),
        "examples": examples,
    }


def _systems(
    B: csr_array, variants: tuple[tuple[str, str], ...] = VARIANTS
) -> Iterator[tuple[str, Matrix]]:
    """Similarities of the columns of B, system by system."""
    logarithms = B.copy()
    logarithms.data = np.log1p(B.data)
    frequencies = np.diff(B.indptr)
    idf = np.log(B.shape[1] / np.maximum(frequencies, 1)) + 1
    weighed = csr_array(diags_array(idf) @ logarithms)
    ways = {"logarithms": logarithms, "counts": B, "logarithms, idf": weighed}
    for way, matrix in ways.items():
        yield f"cosine, {way}", _cosines(matrix)
    for way, matrix in ways.items():
        yield from _lsi(way, matrix)
    for way, normalize in variants:
        result = snos(ways[way], normalize=normalize, method="factored", tolerance=3e-4)
        yield f"SNOS, {way}, {normalize}, similarity", result.S_o.copy()
        yield f"SNOS, {way}, {normalize}, soft cosine", result.soft_cosines


def _lsi(way: str, B: csr_array) -> Iterator[tuple[str, Matrix]]:
    dimensions = [k for k in DIMENSIONS if k < min(B.shape)]
    _, values, right = svds(B, k=max(dimensions), v0=np.ones(min(B.shape)))
    order = np.argsort(-values)
    vectors = (right[order] * values[order][:, None]).T
    for k in dimensions:
        lengths = np.linalg.norm(vectors[:, :k], axis=1, keepdims=True)
        units = vectors[:, :k] / np.where(lengths > 0, lengths, 1.0)
        yield f"LSI, {way}, k={k}", units @ units.T


def _cosines(B: csr_array) -> Matrix:
    units = normalized(B, "length")
    similar: Matrix = csr_array(units.T @ units).toarray()
    return similar


def _with_words(B: csr_array, words: csr_array) -> Matrix:
    relations = {("query", "entity"): B.T, ("entity", "word"): csr_array(words.T)}
    found = snos_many(relations, normalize="both", tolerance=1e-4)
    S: Matrix = found.similarities["query"]
    return S


def _precisions(S: Matrix, pairs: Judged) -> tuple[Matrix, Matrix]:
    """Precision at 10 among all cues, where unjudged ones are wrong; and among judged partners."""
    partners: dict[int, dict[int, bool]] = {}
    for i, j, score in pairs:
        for a, b in ((i, j), (j, i)):
            partners.setdefault(a, {})[b] = score >= RELEVANT
    everything, among = [], []
    for cue in sorted(partners):
        relevant = {other for other, good in partners[cue].items() if good}
        if relevant:
            best = np.argsort(-S[cue], kind="stable")[:10].tolist()
            everything.append(len(relevant.intersection(best)) / 10)
        if relevant and len(partners[cue]) >= PARTNERS:
            others = np.array(sorted(partners[cue]))
            best = others[np.argsort(-S[cue, others], kind="stable")[:10]].tolist()
            among.append(len(relevant.intersection(best)) / 10)
    return np.array(everything), np.array(among)


def _attainable(pairs: Judged) -> float:
    counts: dict[int, int] = {}
    for i, j, score in pairs:
        if score >= RELEVANT:
            counts[i], counts[j] = counts.get(i, 0) + 1, counts.get(j, 0) + 1
    return round(float(np.mean([min(n, 10) for n in counts.values()])) / 10, 4)


def _chosen(rows: list[dict[str, Any]], at_ten: Mapping[str, Matrix]) -> list[dict[str, Any]]:
    """Of each family the variant that correlates best with the other sets; scored on MEN."""
    others = [f"ρ {name}" for name in SETS if name != "MEN"]
    chosen = []
    for family in ("cosine", "LSI", "SNOS"):
        members = [row for row in rows if row["system"].startswith(family)]
        chosen.append(max(members, key=lambda row: sum(row[name] for name in others)))
    told = []
    for row in chosen:
        gain = paired_bootstrap(at_ten[row["system"]], at_ten[chosen[0]["system"]])
        told.append({**row, "p@10 against cosine": _told(gain)})
    return told


def _told(gain: Any) -> str:
    return f"{gain.difference:+.4f} [{gain.low:+.4f}, {gain.high:+.4f}]"


def _table(path: Path) -> Iterator[dict[str, str]]:
    with gzip.open(path, "rt", encoding="utf-8", newline="") as lines:
        yield from csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE)


def _associations(path: Path) -> tuple[list[str], csr_array]:
    """Cues, and how many people gave each response to each."""
    edges = [(row["cue"], row["response"], float(row["R1"])) for row in _table(path)]
    return _matrix(edges)[0], _matrix(edges)[2]


def _clicks(path: Path) -> tuple[list[str], list[str], csr_array]:
    """Return queries, names of the entities clicked, and the clicks."""
    edges = [(row["query"], row["label"], float(row["clicks"])) for row in _table(path)]
    return _matrix(edges)


def _matrix(edges: list[tuple[str, str, float]]) -> tuple[list[str], list[str], csr_array]:
    left, right = sorted({a for a, _, _ in edges}), sorted({b for _, b, _ in edges})
    columns = {name: number for number, name in enumerate(left)}
    rows = {name: number for number, name in enumerate(right)}
    ends = [rows[b] for _, b, _ in edges], [columns[a] for a, _, _ in edges]
    shape = len(right), len(left)
    return left, right, csr_array(coo_array(([w for *_, w in edges], ends), shape=shape))


def _judged(folder: Path, name: str, scale: float, numbers: Mapping[str, int]) -> Judged:
    pairs = []
    with gzip.open(folder / "wordsim" / f"{name}.txt.gz", "rt", encoding="utf-8") as lines:
        for line in lines:
            a, b, score = line.split()
            if a != b and a in numbers and b in numbers:
                pairs.append((numbers[a], numbers[b], float(score) / scale))
    return pairs


def _sharing(queries: list[str]) -> NDArray[np.bool_]:
    """Whether two queries share a word of at least four letters."""
    words = [{word for word in query.lower().split() if len(word) >= 4} for query in queries]
    shared = np.array([[bool(a & b) for b in words] for a in words])
    np.fill_diagonal(shared, False)
    return shared


def _words_of(labels: list[str]) -> csr_array:
    """Words (rows) of the names of entities."""
    edges = [(label, word, 1.0) for label in labels for word in set(label.lower().split())]
    names, _, words = _matrix(edges)
    assert names == labels
    return words
