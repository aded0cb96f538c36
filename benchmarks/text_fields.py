"""Soft search over the text field of a server: how near to the exact ten, how good, how fast.

Run ``python benchmarks/text_fields.py http://127.0.0.1:9200 http://127.0.0.1:9201``
with servers that run there (``.ci/servers`` fetches them). For each collection and analyzer, the
texts go to the server, an index is learned from the field, and the same queries are searched by the
index, by the field with boosted words (`SoftIndex.expand`), and by the field as it is.
``--questions`` measures ranking alone, on more collections, and their mean.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable, Sequence
from typing import Any
from urllib.parse import quote

import numpy as np

from measure import data_folder, write_report
from newsgroups import newsgroups
from softcosine import SoftIndex
from softcosine.evaluate.datasets.loading import load
from softcosine.evaluate.datasets.ranking import RankingSet
from softcosine.evaluate.measures import measured
from softcosine.evaluate.runs import Run
from softcosine.evaluate.significance import (
    paired_bootstrap,
    paired_bootstrap_of_collections,
)
from softcosine.servers.field_comparison import compared
from softcosine.servers.field_search import search_field
from softcosine.servers.http import Http
from softcosine.servers.learning import learn_from
from softcosine.servers.text_field import TextField
from softcosine.text.analyzer import Analyzer

K = 10
CANDIDATES = 100
JUDGED = ("cranfield", "cacm")
QUESTIONS = {  # with the analyzer of the language
    **dict.fromkeys(("adi", "npl", "lisa", "stackfaq", "medicationqa", "covidq"), "english"),
    **dict.fromkeys(("perlfaq", "tldr-man", "bankfaq", "mediqa-chiqa"), "english"),
    "gnomedesc-en": "english", "gnomedesc-de": "german", "gnomedesc-cs": "czech",
    "itafaq": "italian", "lohelp-cs": "czech",
}  # fmt: skip
PLAIN, EXACT = "field, BM25", "field, 64 words, exact scores of 100"
ANALYZED = "field, 64 words that it analyzes, exact scores of 100"
RANKED = (PLAIN, "field, 64 words", EXACT, ANALYZED)  # of ``--questions``
N_QUERIES, N_WORDS = 200, 5  # of 20 Newsgroups
ANALYZERS = {"elasticsearch": ("standard",), "opensearch": ("standard", "english")}
NAME = "softcosine_benchmark"


class Collection:
    """Texts and queries, and the judgements if there are any."""

    def __init__(self, name: str, n_docs: int | None = None) -> None:
        self.name = name
        self.judged: RankingSet | None = None
        if name != "newsgroups":
            folders = (data_folder() / kind / name for kind in ("retrieval", "questions"))
            found = load(next(folder for folder in folders if folder.exists()))
            assert isinstance(found, RankingSet)
            self.judged = found
            self.documents = dict(zip(found.documents.ids, found.documents.texts, strict=True))
            self.queries = dict(zip(found.judged.ids, found.judged.texts, strict=True))
        else:
            texts = newsgroups()[:n_docs]
            self.documents = {str(i): text for i, text in enumerate(texts)}
            random = np.random.default_rng(0)
            words = [[word for word in text.lower().split() if word.isalpha()] for text in texts]
            long = [own for own in words if len(own) >= 50]
            self.queries = {
                str(i): " ".join(random.choice(long[random.integers(len(long))], N_WORDS))
                for i in range(N_QUERIES)
            }


def fill(url: str, analyzer: str, documents: dict[str, str]) -> TextField:
    """Index texts on a server, in one shard."""
    http = Http(url)
    path = f"/{NAME}_field"
    http.request("DELETE", path, accept=(404,))
    field = {"type": "text", "analyzer": analyzer}
    http.request("PUT", path, {"mappings": {"properties": {"body": field}}})
    for id, text in documents.items():
        http.request("PUT", f"{path}/_doc/{quote(id, safe='')}", {"body": text})
    http.request("POST", f"{path}/_forcemerge?max_num_segments=1")
    http.request("POST", f"{path}/_refresh")
    return TextField.open(url + path, "body")


def run(
    collection: Collection, url: str, analyzer: str, ways: Sequence[str] = ()
) -> list[dict[str, object]]:
    """Return a row for each way to search, or for those that are given."""
    documents = collection.documents
    if analyzer == "whitespace":
        own = Analyzer()
        documents = {id: " ".join(own.terms(text)) for id, text in documents.items()}
    field = fill(url, analyzer, documents)
    index = learn_from(field)
    comparison = compared(index.snapshot, field)
    server = field.http.name
    stopped = frozenset(index.snapshot.stop_words)

    def plain(query: str) -> list[str]:
        every = Analyzer().terms(query) if analyzer == "whitespace" else query.split()
        words = [word for word in every if word.lower() not in stopped] or every
        body = {"query": {"match": {"body": " ".join(words)}}, "size": K, "_source": False}
        reply = field.http.request("POST", f"/{NAME}_field/_search", body).json
        return [hit["_id"] for hit in reply["hits"]["hits"]]

    def soft(n: int | None, k: int) -> Callable[[str], list[str]]:
        def search(query: str) -> list[str]:
            sent = index.expand(query, to=server, field="body", max_terms=n, syntax=False)
            return field.search(sent, k).ids

        return search

    stems = None
    if analyzer == "standard" and not ways:
        ids, texts = list(collection.documents), list(collection.documents.values())
        stems = SoftIndex.from_texts(
            texts, ids=ids, weighting=index.weighting, ranking="soft_bm25", encoder=None
        )  # fmt: skip

    def forms(query: str) -> list[str]:
        assert stems is not None
        sent = stems.expand(query, to=server, field="body", words="forms", syntax=False)
        return field.search(sent, K).ids

    def exact(query: str) -> list[str]:
        return index.search(query, k=K, syntax=False).ids

    wanted = {id: exact(query) for id, query in collection.queries.items()}
    rows, found = [], {}
    contestants: dict[str, Callable[[str], list[str]]] = {
        "index": exact,
        PLAIN: plain,
        "field, 64 words": soft(64, K),
        "field, 1000 words": soft(1000, K),
        f"field, 64 words, first {2 * K}": soft(64, 2 * K),
        f"field, 64 words, first {CANDIDATES}": soft(64, CANDIDATES),
        EXACT: lambda query: search_field(index, field, query, k=K, syntax=False).ids,
    }
    if ways and analyzer not in ("standard", "english"):
        contestants[ANALYZED] = lambda query: (
            search_field(index, field, query, k=K, syntax=False, words="analyzed").ids
        )
    if stems is not None:
        contestants["field, forms of 64 stems"] = forms
    for name, search in contestants.items():
        if ways and name not in ways:
            continue
        for query in list(collection.queries.values())[:5]:
            search(query)
        answers, seconds = _timed(search, collection.queries)
        recall = [len(set(own) & set(answers[id])) / len(own) for id, own in wanted.items() if own]
        found[name] = {id: tuple(own[:K]) for id, own in answers.items()}
        rows.append({
            "collection": collection.name, "server": server, "analyzer": analyzer,
            "equal words": round(comparison.equal, 4), "search": name,
            "recall of the exact ten": round(statistics.mean(recall), 4),
            "nDCG@10": "", "gain over BM25": "",
            "median ms": round(1e3 * statistics.median(seconds), 2),
        })  # fmt: skip
    if collection.judged is not None:
        _judge(collection, rows, found)
    return rows


def _judge(
    collection: Collection,
    rows: Sequence[dict[str, object]],
    found: dict[str, dict[str, tuple[str, ...]]],
) -> None:
    values = {
        name: measured(collection.judged, Run(rankings), ["ndcg@10"]).per_unit["ndcg@10"]
        for name, rankings in found.items()
    }
    for row in rows:
        own, base = values[str(row["search"])], values[PLAIN]
        gain = paired_bootstrap(own, base)
        row["values"] = own
        row["nDCG@10"] = round(float(np.mean(own)), 4)
        row["gain over BM25"] = f"{gain.difference:+.3f} [{gain.low:+.3f}, {gain.high:+.3f}]"


def _means(rows: Sequence[dict[str, Any]]) -> list[dict[str, object]]:
    """Return the mean over the collections for each analyzer and way to search."""
    found: list[dict[str, object]] = []
    rows = [row for row in rows if row["search"] != ANALYZED]  # of some collections alone
    groups = [(row["server"], row["analyzer"] == "standard", row["search"]) for row in rows]
    for key in dict.fromkeys(groups):
        own, base = (
            [
                row for row, group in zip(rows, groups, strict=True)
                if group == (*key[:2], name)
            ]
            for name in (key[2], PLAIN)
        )  # fmt: skip
        gains = [
            paired_bootstrap_of_collections(
                [row["values"] for row in own], [row["values"] for row in base], relative=relative
            )
            for relative in (False, True)
        ]
        found.append({
            **own[0], "collection": f"mean of {len(own)}", "equal words": "", "median ms": "",
            "analyzer": "standard" if key[1] else "of the language",
            "recall of the exact ten": round(
                statistics.mean(row["recall of the exact ten"] for row in own), 4
            ),
            "nDCG@10": round(float(np.mean([row["nDCG@10"] for row in own])), 4),
            "gain over BM25": "{0.difference:+.3f} [{0.low:+.3f}, {0.high:+.3f}]; "
            "{1.difference:+.1%} [{1.low:+.1%}, {1.high:+.1%}]".format(*gains),
        })  # fmt: skip
    return found


def _timed(
    search: Callable[[str], list[str]], queries: dict[str, str]
) -> tuple[dict[str, list[str]], list[float]]:
    answers, seconds = {}, []
    for id, query in queries.items():
        start = time.perf_counter()
        answers[id] = search(query)
        seconds.append(time.perf_counter() - start)
    return answers, seconds


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("urls", nargs="+")
    parser.add_argument("--collections", nargs="+", default=[*JUDGED, "newsgroups"])
    parser.add_argument("--documents", type=int, help="of 20 Newsgroups")
    parser.add_argument("--analyzers", nargs="+", help="whitespace: of words as the index has them")
    parser.add_argument("--report", default="text_fields")
    parser.add_argument("--questions", action="store_true", help="measure ranking alone")
    given = parser.parse_args(arguments)
    if given.questions:
        given.collections, given.report = QUESTIONS, "text_fields_questions"
    rows = []
    for name in given.collections:
        collection = Collection(name, given.documents)
        for url in given.urls:
            http = Http(url)
            http.request("GET", "/")  # whose reply names it
            usual = ANALYZERS[http.name]
            if given.questions:
                usual = ("standard", QUESTIONS[name])
            for analyzer in given.analyzers or usual:
                rows += run(collection, url, analyzer, RANKED if given.questions else ())
                print(f"{name}, {url}, {analyzer}: done", flush=True)
    if given.questions:
        rows += _means(rows)
    for row in rows:
        row.pop("values", None)
    parameters = {
        "k": K, "queries of 20 Newsgroups": f"{N_QUERIES} of {N_WORDS} words of a message",
    }  # fmt: skip
    notes = [
        "The index is learned from the field, with its k1 and b. The exact ten are those of the "
        "index. Each query is one request to the server; the times of the field include the "
        "expansion.",
        "Forms of stems: an index that stems, over a field that does not; its recall is measured "
        "by the exact ten of the other index.",
        "BM25 of the field gets the same words as the others: stop words are left out.",
        "Words that it analyzes: the most frequent form of each stem (``--words analyzed``), for "
        "analyzers whose stemmer is another.",
    ]
    write_report(
        given.report,
        "Soft search over the text field of a server",
        rows,
        parameters,
        notes=notes,
        script="text_fields",
    )


if __name__ == "__main__":
    main()
