"""Which layout of documents in the plane keeps their neighbourhoods and shows their groups.

Run ``python benchmarks/document_map.py``; it needs the evaluation data and scikit-learn. All
layouts get the same exact soft cosines of 2,000 messages of 20 Newsgroups, drawn at random.
``--limit`` takes fewer and writes nothing.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from measure import data_folder, read_jsonl, write_report
from softcosine import SoftIndex
from softcosine.evaluate.plots.compared import compared_searcher
from softcosine.evaluate.plots.document_map import (
    Neighborhoods,
    kept_neighbors,
    laid_out,
    neighborhoods,
)
from softcosine.index.search.vectors import RankedVectors
from softcosine.space.latent import right_singular_vectors

Places = NDArray[np.float64]

N_DOCUMENTS = 2000
NEIGHBORS = (10, 20, 40)  # how many pull each document
PERPLEXITY = 15.0
COMPARED = 10  # nearest documents that are looked at


def equal(graph: csr_array) -> csr_array:
    """Return links that are all equally strong."""
    return csr_array((np.ones(graph.nnz), graph.indices, graph.indptr), shape=graph.shape)


def gaussian(graph: csr_array, perplexity: float) -> csr_array:
    """Return the links of t-SNE: Gaussian, each row as wide as the perplexity asks."""
    values = np.empty(graph.nnz)
    for begin, end in zip(graph.indptr[:-1], graph.indptr[1:], strict=True):
        apart = 2.0 * (graph.data[begin] - graph.data[begin:end])
        least, most, narrow = 0.0, np.inf, 1.0
        for _ in range(60):
            shares = np.exp(-narrow * apart)
            shares /= shares.sum()
            entropy = -float((shares * np.log(shares + 1e-300)).sum())
            if entropy > np.log(min(perplexity, 0.9 * (end - begin) + 0.1)):
                least, narrow = narrow, (narrow * 2 if np.isinf(most) else (narrow + most) / 2)
            else:
                most, narrow = narrow, (least + narrow) / 2
        values[begin:end] = shares
    return csr_array((values, graph.indices, graph.indptr), shape=graph.shape)


def by_scikit_learn(similarities: Places) -> Places:
    """Return t-SNE of scikit-learn, over all distances of unit vectors."""
    from sklearn.manifold import TSNE

    apart = np.sqrt(np.maximum(2.0 - 2.0 * similarities, 0.0))
    np.fill_diagonal(apart, 0.0)
    model = TSNE(metric="precomputed", init="random", perplexity=PERPLEXITY, random_state=0)
    return np.asarray(model.fit_transform(apart), np.float64)


def by_eigenvectors(graph: csr_array) -> Places:
    """Return the two leading eigenvectors of the graph's Laplacian."""
    from sklearn.manifold import SpectralEmbedding

    model = SpectralEmbedding(affinity="precomputed", random_state=0)
    return np.asarray(model.fit_transform(((graph + graph.T) / 2).toarray()))


def share_of_label(near: Sequence[NDArray[np.int64]], labels: NDArray[np.str_]) -> float:
    """Return how many of the nearest have the same label, on average."""
    return float(np.mean([np.mean(labels[own] == labels[i]) for i, own in enumerate(near)]))


def nearest_places(places: Places, k: int) -> list[NDArray[np.int64]]:
    """Return the k nearest points of each."""
    from scipy.spatial import cKDTree

    near = cKDTree(places).query(places, k=k + 1)[1]
    return [own[own != i][:k] for i, own in enumerate(near)]


def measured(
    texts: Sequence[str], labels: Sequence[str], neighbors: Sequence[int]
) -> list[dict[str, object]]:
    """Return a row for each layout."""
    index = SoftIndex.from_texts(texts, encoder=None)
    searcher = compared_searcher(index.snapshot, "soft_cosine")
    numbers = index.documents.numbers
    most = max(*neighbors, 3 * int(PERPLEXITY), COMPARED)
    found = neighborhoods(index.snapshot, numbers, k=most, threads=1)
    there, graph = found.connected()
    own, linked = np.array(labels)[there], Neighborhoods(numbers[there], graph)
    vectors = RankedVectors(searcher.searchers[0])
    (Y,) = vectors.documents(rows=len(texts))
    Y = csr_array(Y[there])
    S = vectors.S.to_scipy().astype(np.float64)
    similarities = np.asarray((Y @ S @ Y.T).toarray())
    ways: dict[str, Callable[[], Places]] = {
        "two leading dimensions of LSA": lambda: (
            Y @ right_singular_vectors(lambda: [Y], Y.shape[1], k=2)[0]
        ),
        "two leading eigenvectors of the graph": lambda: by_eigenvectors(linked.nearest(20).graph),
        "t-SNE of scikit-learn": lambda: by_scikit_learn(similarities),
        "ours, Gaussian links": lambda: laid_out(gaussian(graph, PERPLEXITY)),
        "ours, equal links to 20": lambda: laid_out(equal(linked.nearest(20).graph)),
    }
    for k in neighbors:
        ways[f"ours, links by similarity to {k}"] = partial(laid_out, linked.nearest(k).graph)
    rows: list[dict[str, object]] = []
    for name, lay_out in ways.items():
        places = lay_out()
        rows.append(
            {
                "layout": name,
                "nearest ten kept": round(kept_neighbors(graph, places, k=COMPARED), 3),
                "same newsgroup among ten": round(
                    share_of_label(nearest_places(places, COMPARED), own), 3
                ),
            }
        )
    nearest = [
        graph.indices[begin : min(end, begin + COMPARED)]
        for begin, end in zip(graph.indptr[:-1], graph.indptr[1:], strict=True)
    ]
    itself = round(share_of_label(nearest, own), 3)
    rows.append(
        {
            "layout": "(soft cosine itself)",
            "nearest ten kept": 1.0,
            "same newsgroup among ten": itself,
        }
    )
    return rows


def messages(limit: int) -> tuple[list[str], list[str]]:
    """Return texts without their headers, and their newsgroups."""
    records = list(read_jsonl(data_folder() / "classification" / "20news_bydate.jsonl.gz"))
    chosen = np.sort(np.random.default_rng(1).choice(len(records), limit, replace=False))
    texts = [records[i]["text"].partition("\n\n")[2] for i in chosen]
    return texts, [records[i]["label"] for i in chosen]


def main(arguments: Sequence[str]) -> None:
    """Measure all layouts, and write the report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--limit", type=int, help="so many messages, and no report")
    options = parser.parse_args(arguments)
    texts, labels = messages(options.limit or N_DOCUMENTS)
    rows = measured(texts, labels, NEIGHBORS)
    if options.limit is not None:
        print(rows)
        return
    notes = (
        "Every layout is of the same exact soft cosines, of messages without headers; those like "
        "no other are left out.",
        "Nearest ten kept: which share of each message's ten nearest by soft cosine is among its "
        "ten nearest on the map. A map can show its groups better than soft cosine itself, since "
        "links that several neighbours share bring more documents together than one can.",
        f"scikit-learn takes all distances, with a perplexity of {PERPLEXITY:g}, as the Gaussian "
        "links do; Barnes-Hut, a random start. Ours computes all forces exactly.",
    )
    parameters = {"messages": len(texts), "perplexity": PERPLEXITY}
    title = "Layouts of documents in the plane"
    print(write_report("document_map", title, rows, parameters, notes=notes))


if __name__ == "__main__":
    main(sys.argv[1:])
