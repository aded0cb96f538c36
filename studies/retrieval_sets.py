"""What the studies of retrieval share: the five collections, figures, choices left out, reports."""

from __future__ import annotations

import json
import os
import pickle
import platform
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any, Protocol, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from softcosine.evaluate.datasets import load
from softcosine.evaluate.datasets.ranking import RankingSet
from softcosine.evaluate.documents import Documents
from softcosine.evaluate.measures import measured
from softcosine.evaluate.runs import run_of
from softcosine.evaluate.significance import Interval, paired_bootstrap_of_collections
from softcosine.evaluate.systems.sentence_model import MINILM, SentenceModel, loaded
from softcosine.evaluate.systems.system import FittedSystem, Ranked
from softcosine.storage.home import kept_file

__all__ = [
    "COLLECTIONS",
    "REPOSITORY",
    "Collection",
    "Kept",
    "best_without",
    "data_folder",
    "figures_of",
    "gain",
    "markdown",
    "minilm",
    "ndcg_of",
    "read",
    "versions",
    "write",
]

COLLECTIONS = ("cranfield", "cacm", "npl", "lisa", "adi")
REPOSITORY = Path(__file__).resolve().parent.parent
DEPTH = 10
_MEASURE = "ndcg@10"
_PACKAGES = ("softcosine", "numpy", "scipy", "bm25s", "scikit-learn", "torch", "ir-measures")

Values = NDArray[np.float64]
Encode = Callable[[Sequence[str]], Values]
Setting = TypeVar("Setting", bound=Hashable)


@dataclass(frozen=True, slots=True)
class Collection:
    """A judged collection, its documents and judged queries encoded.

    Attributes
    ----------
    dataset : RankingSet
    documents, queries : ndarray of shape (n, dimensions), or None
        Encodings of unit length; None where there is no encoder.
    """

    dataset: RankingSet
    documents: Values | None
    queries: Values | None

    @property
    def name(self) -> str:
        """The collection's name."""
        return self.dataset.name


class Kept:
    """Figures that took long, kept in a folder by name; without a folder nothing is kept.

    Written and read by this study alone: pickles of one's own.
    """

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder

    def get(self, name: str, make: Callable[[], Any]) -> Any:
        """Return what is there, or make it and keep it."""
        if self._folder is None:
            return make()
        file = self._folder / f"{name}.pickle"
        if file.exists():
            return pickle.loads(file.read_bytes())
        made = make()
        self._folder.mkdir(parents=True, exist_ok=True)
        file.write_bytes(pickle.dumps(made))
        return made


def data_folder(given: str | None) -> Path:
    """Return the evaluation data: as given, ``$SOFTCOSINE_DATA``, or beside the clone."""
    usual = os.environ.get("SOFTCOSINE_DATA", REPOSITORY.parent / "shared" / "data")
    folder = Path(given or usual)
    if not folder.is_dir():
        raise SystemExit(f"there is no evaluation data in {folder}; name it by --data.")
    return folder


def minilm(report: Callable[[str], object]) -> Encode:
    """Return what encodes texts by all-MiniLM-L6-v2, each once: kept among the user's data."""

    def progress(done: int, total: int) -> None:
        if done % 1024 < 256 or done == total:
            report(f"encoded {done:,} of {total:,} texts")

    model = SentenceModel(
        MINILM,
        lambda: loaded(None, download=False, device="cpu"),
        cache=kept_file("encoded.sqlite"),
        progress=progress,
    )
    return model.vectors


def read(folder: Path, name: str, encode: Encode | None) -> Collection:
    """Read a collection, and encode it."""
    dataset = load(folder / "retrieval" / name)
    assert isinstance(dataset, RankingSet)
    if encode is None:
        return Collection(dataset, None, None)
    return Collection(dataset, encode(dataset.documents.texts), encode(dataset.judged.texts))


class Ranking(Protocol):
    """What ranks documents for queries, as every fitted system does."""

    def ranked(self, queries: Documents, *, k: int) -> Ranked:
        """Return the best documents for each query."""
        ...


def figures_of(dataset: RankingSet, fitted: Ranking) -> Values:
    """Return nDCG@10 of every judged query."""
    found = measured(dataset, run_of(dataset, cast(FittedSystem, fitted), depth=DEPTH), [_MEASURE])
    return found.per_unit[_MEASURE]


def ndcg_of(dataset: RankingSet, scores: Values) -> Values:
    """Return nDCG@10 of every judged query by a matrix of scores: the same as `figures_of`, faster.

    Parameters
    ----------
    dataset : RankingSet
    scores : ndarray of shape (n_queries, n_docs)
        What is 0 or less is not found.
    """
    numbers = dataset.documents.numbers()
    discounts = 1.0 / np.log2(np.arange(2, DEPTH + 2))
    found = np.zeros(len(scores))
    for query, id in enumerate(dataset.judged.ids):
        gains = np.zeros(scores.shape[1])
        for document, gain in dataset.qrels[id].items():
            gains[numbers[document]] = max(gain, 0)
        own = scores[query]
        least = np.partition(own, -min(DEPTH, len(own)))[-min(DEPTH, len(own))]
        among = np.flatnonzero((own >= least) & (own > 0.0))
        best = among[np.argsort(-own[among], kind="stable")[:DEPTH]]
        most = np.sort(gains)[::-1][:DEPTH] @ discounts[: len(gains)]
        if most > 0.0:
            found[query] = gains[best] @ discounts[: len(best)] / most
    return found


def best_without(figures: Mapping[Setting, Mapping[str, Values]], left_out: str | None) -> Setting:
    """Return the setting of the largest mean over all collections but one; of equal ones the first.

    Parameters
    ----------
    figures : mapping of setting to mapping of collection to ndarray
        Of every query.
    left_out : str or None
        None leaves none out.
    """

    def mean(setting: Setting) -> float:
        own = figures[setting]
        return float(np.mean([values.mean() for name, values in own.items() if name != left_out]))

    return max(figures, key=mean)


def gain(
    ours: Mapping[str, Values], theirs: Mapping[str, Values], *, relative: bool = True
) -> Interval:
    """Return the mean gain over collections and its 95 % paired bootstrap interval."""
    names = list(ours)
    return paired_bootstrap_of_collections(
        [ours[name] for name in names], [theirs[name] for name in names], relative=relative
    )


def markdown(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> list[str]:
    """Return the lines of a table."""
    lines = ["| " + " | ".join(columns) + " |", "|" + "---|" * len(columns)]
    return [*lines, *("| " + " | ".join(map(str, row)) + " |" for row in rows)]


def versions() -> dict[str, str]:
    """Return the versions of Python and of what was used."""
    found = {"python": platform.python_version()}
    for package in _PACKAGES:
        try:
            found[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    return found


def write(name: str, folder: Path, page: Sequence[str], told: Mapping[str, Any]) -> None:
    """Write ``NAME.md`` and ``NAME.json``."""
    folder.mkdir(parents=True, exist_ok=True)
    text = json.dumps({**told, "versions": versions()}, indent=1, ensure_ascii=False)
    (folder / f"{name}.json").write_text(text + "\n", encoding="utf-8")
    (folder / f"{name}.md").write_text("\n".join(page) + "\n", encoding="utf-8")
