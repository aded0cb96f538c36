"""Study 3: retrieval on five judged collections, words stemmed and not.

What is found by soft BM25 whose similarities a neural encoder taught, beside BM25, cosine, what the
package does by default, and other systems. Everything that is chosen for a collection is chosen on
the four others. All systems see the same words: stop words are left out for all.

    python studies/retrieval.py [--data FOLDER] [--json] [--out FOLDER] [--collections adi,cacm]
                                [--without-encoder]

The encoder is all-MiniLM-L6-v2; what it gave is kept among the user's data, so that a second run
takes minutes. Without it (``pip install ./packages/softcosine-minilm '.[encoder]'``) only the other
systems are run.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

import softcosine as sc
from retrieval_attempts import ATTEMPTS
from retrieval_page import (
    BASELINES,
    BY_MEANING,
    DEFAULT,
    DENSE,
    HYBRID,
    ONE_SPACE,
    OTHERS,
    TABLE,
    page,
)
from retrieval_rivals import RelevanceModel, summed
from retrieval_sets import (
    COLLECTIONS,
    Collection,
    best_without,
    figures_of,
    gain,
    ndcg_of,
    read,
    taught_similarity,
)
from softcosine.evaluate.systems import from_spec
from softcosine.index.query.query_vectors import query_vector
from softcosine.index.query.ready_query import ReadyQuery
from softcosine.similarity.overrides.guard import Guarded
from softcosine.similarity.source import TermSimilaritySource
from study import Clock, Encode, Report, argument_parser, minilm, read_arguments, write

Values = NDArray[np.float64]

SHARES = (0.2, 0.3, 0.5, 0.7, 1.0)
ALONE = float("inf")


@dataclass(frozen=True, slots=True, order=True)
class Words:
    """One way to make S and to rank by soft BM25; with nothing, ordinary BM25.

    Attributes
    ----------
    english : float
        What the similarities of the bundled English table are multiplied by; 0 leaves it out.
    distilled : float
        The same of those that were distilled from the encoder.
    k1 : float
    """

    english: float
    distilled: float
    k1: float

    def __str__(self) -> str:
        return f"English × {self.english:g}, distilled × {self.distilled:g}, k1 = {self.k1:g}"


def ways_of_words(*, distilled: bool) -> Iterator[Words]:
    """All settings of one space that are chosen from."""
    for english in (0.0, 1.0):
        for share in (0.0, 0.1, 0.2) if distilled else (0.0,):
            for k1 in (1.2, 1.6):
                yield Words(english, share, k1)


def measured_words(
    collection: Collection, analyzer: sc.Analyzer, *, distilled: bool, report: Report
) -> dict[Words, Values]:
    """Return soft BM25 of every judged query and document by every setting of one space."""
    dataset = collection.dataset
    texts = dataset.documents.texts
    plain = sc.SoftIndex.from_texts(texts, plain=True, analyzer=analyzer, ranking="soft_bm25")
    taught = None
    if distilled:
        assert collection.documents is not None
        taught = taught_similarity(sc.analyze(texts, analyzer), collection.documents)
    found: dict[Words, Values] = {}
    soft = plain
    for way in ways_of_words(distilled=distilled):
        if way.k1 == 1.2:
            soft = _with_similarity(plain, way, taught)
        index = soft.with_weighting(sc.Weighting(k1=way.k1))
        ((_, words),), numbers = index.words().summands, np.arange(len(index))
        parsed = map(index.parse, dataset.judged.texts)
        queries = [query_vector(own, words.ranking, index.S, index.source) for own in parsed]
        found[way] = np.stack(
            [words.prepare(ReadyQuery((query,))).exact(numbers) for query in queries]
        )
        report(f"{collection.name}: {way}")
    return found


def _with_similarity(
    plain: sc.SoftIndex, way: Words, taught: TermSimilaritySource | None
) -> sc.SoftIndex:
    parts: list[TermSimilaritySource] = []
    if way.english:
        parts.append(sc.scaled(sc.EmbeddingSimilarity.english(), way.english))
    if way.distilled:
        assert taught is not None
        parts.append(sc.scaled(taught, way.distilled))
    if not parts:
        return plain
    source = Guarded(sc.noisy_or(*parts))
    S = sc.TermSimilarityMatrix.from_source(
        source, plain.vocabulary, max_neighbors=100, order="frequent_first", warn=False
    )
    return plain.with_similarity(S, source=source)


def measured_rivals(
    collection: Collection, stemmer: str | None, others: Mapping[str, str], report: Report
) -> dict[str, Values]:
    """Return nDCG@10 of every query by every other system."""
    words = f"stop_words=english,stemmer={stemmer or 'none'}"
    dataset = collection.dataset
    results: dict[str, Values] = {}
    for label, spec in {**BASELINES, **others}.items():
        # Untuned is untuned: the package leaves no stop words out unless it is told to.
        own = f"stemmer={stemmer or 'none'}" if spec.startswith("soft") else words
        system = from_spec(f"{spec}{',' if ':' in spec else ':'}{own}")
        results[label] = figures_of(dataset, system.fit(dataset.documents))
        report(f"{collection.name}: {label}")
    analyzer = sc.Analyzer(stemmer, stop_words="english")
    results["BM25 with feedback (RM3)"] = RelevanceModel().figures(collection, analyzer)
    return results


def better_baseline(rivals: Mapping[str, Mapping[str, Values]]) -> dict[str, Values]:
    """Return for each collection the figures of the baseline that is best on it."""
    names = next(iter(rivals.values()))
    return {
        name: max((rivals[label][name] for label in BASELINES), key=lambda own: float(own.mean()))
        for name in names
    }


def measured_collection(
    collection: Collection, stemmer: str | None, others: Mapping[str, str], report: Report
) -> dict[str, dict[Any, Values]]:
    """Return nDCG@10 of every query by every system and every setting."""
    analyzer = sc.Analyzer(stemmer, stop_words="english")
    dataset = collection.dataset
    encoder = collection.documents is not None
    # S of many terms takes long, and of words that are not stemmed still longer.
    words = measured_words(
        collection, analyzer, distilled=encoder and stemmer is not None, report=report
    )
    shares = (*SHARES, ALONE)
    return {
        "systems": measured_rivals(collection, stemmer, others, report),
        "words": {way: ndcg_of(dataset, scores) for way, scores in words.items()},
        "dense": summed(collection, analyzer, shares) if encoder else {},
    }


def study(
    collections: Sequence[Collection],
    stemmer: str | None,
    others: Mapping[str, str],
    report: Report,
) -> dict[str, Any]:
    """Measure all systems, with words stemmed or not, and choose for each collection."""
    found: dict[str, dict[Any, dict[str, Values]]] = {}
    for collection in collections:
        for kind, by_setting in measured_collection(collection, stemmer, others, report).items():
            for setting, values in by_setting.items():
                found.setdefault(kind, {}).setdefault(setting, {})[collection.name] = values
    systems, words = found["systems"], found["words"]
    dense = found.get("dense", {})
    chosen: dict[str, dict[str, Any]] = {}

    def choose(label: str, settings: Mapping[Any, dict[str, Values]]) -> None:
        best = {
            collection.name: best_without(settings, collection.name) for collection in collections
        }
        systems[label] = {name: settings[setting][name] for name, setting in best.items()}
        chosen[label] = {**best, "all": best_without(settings, None)}

    choose(TABLE, {way: own for way, own in words.items() if not way.distilled})
    if dense:
        systems[DENSE] = dense.pop(ALONE)
        choose(HYBRID, dense)
        if any(way.distilled for way in words):
            choose(ONE_SPACE, words)
    return {"systems": systems, "chosen": chosen, "settings": words}


def told(found: Mapping[str, Any]) -> dict[str, Any]:
    """Return all numbers of `study` as JSON takes them."""
    systems = found["systems"]
    baseline = better_baseline(systems)
    return {
        "systems": {
            label: {
                "ndcg@10": {name: float(own.mean()) for name, own in of.items()},
                "mean": float(np.mean([own.mean() for own in of.values()])),
                "gain": gain(of, baseline).to_dict(),
                "gains": {
                    name: gain({name: own}, {name: baseline[name]}).to_dict()
                    for name, own in of.items()
                },
            }
            for label, of in systems.items()
        },
        "better_baseline": {name: float(own.mean()) for name, own in baseline.items()},
        "chosen": {
            label: {name: str(setting) for name, setting in own.items()}
            for label, own in found["chosen"].items()
        },
        "settings": {
            str(setting): {name: round(float(own.mean()), 5) for name, own in of.items()}
            for setting, of in found["settings"].items()
        },
        "per_query": {
            label: {name: [round(float(x), 6) for x in own] for name, own in of.items()}
            for label, of in systems.items()
            if label in (*BASELINES, DEFAULT, *BY_MEANING)
        },
    }


def main(arguments: Sequence[str] | None = None, *, encode: Encode | None = None) -> dict[str, Any]:
    """Run the study, write its results, and return them."""
    parser = argument_parser(__doc__)
    parser.add_argument("--collections", default=",".join(COLLECTIONS))
    parser.add_argument("--without-encoder", action="store_true")
    asked = read_arguments(parser, arguments)
    report = Clock()

    others = OTHERS
    if encode is None and not asked.without_encoder:
        encode, others = minilm(report), {**OTHERS, **BY_MEANING}
    folder = asked.data
    collections = [read(folder, name, encode) for name in asked.collections.split(",")]
    stemmed = told(study(collections, "english", others, report))
    unstemmed = told(study(collections, None, others, report))
    results = {
        "stemmed": stemmed,
        "unstemmed": unstemmed,
        "attempts": list(ATTEMPTS),
    }
    took = f"{report.seconds / 60:.0f} minutes, encoding not counted"
    made = f"Made in {took}, by `python studies/retrieval.py`."
    lines = page(stemmed, unstemmed, made)
    write("retrieval", asked, lines, results)
    return results


if __name__ == "__main__":
    main()
