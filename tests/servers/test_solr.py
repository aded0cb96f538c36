"""Queries for Solr, by Solr's own parser, analyzers and BM25."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import softcosine as sc
from softcosine.text.weighting import Weighting

WORDS = ["tea", "pot", "wheel", "tyre", "c++", "a:b", "(x)", "AND", "ü*", "/", "~1", "{!x}", "TO"]
PROSE = [
    "A flat tyre, on the Bicycle", "green tea in the pot", "Bicycle tires were punctured",
    "automobile wheels and cars", "the repair shop for cars", "the wheel of a bike", "tea for two",
]  # fmt: skip


class Solr:
    """A process of Solr."""

    def __init__(self, jars: Path, home: Path) -> None:
        script = Path(__file__).parents[1] / "solr_process.py"
        with (home.parent / "log").open("wb") as log:
            self._process = subprocess.Popen(
                [sys.executable, str(script), str(jars), str(home)], text=True, encoding="utf-8",
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log,
            )  # fmt: skip

    def _answer(self, request: dict[str, object]) -> dict[str, float]:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        print(json.dumps(request), file=self._process.stdin, flush=True)
        answer: dict[str, float] = json.loads(self._process.stdout.readline())
        assert "error" not in answer, answer
        return answer

    def add(self, texts: list[str]) -> None:
        """Hold these documents alone, with the ids 0, 1, ..."""
        self._answer({"add": {str(number): text for number, text in enumerate(texts)}})

    def scores(self, query: object, n: int = 300) -> dict[str, float]:
        """Scores of the best n documents."""
        return self._answer({"query": str(query), "rows": n})

    def close(self) -> None:
        """End the process."""
        self._process.kill()
        self._process.communicate()


@pytest.fixture(scope="module")
def solr(solr_jars: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Solr]:
    running = Solr(solr_jars, tmp_path_factory.mktemp("solr"))
    yield running
    running.close()


def test_solr_gives_short_documents_the_scores_of_soft_bm25(solr):
    random = np.random.default_rng(0)
    texts = [" ".join(random.choice(WORDS, random.integers(1, 40))) for _ in range(200)]
    solr.add(texts)
    index = sc.SoftIndex.from_texts(
        [text.split() for text in texts], ids=[str(i) for i in range(len(texts))], plain=True,
        language="none", ranking="soft_bm25", weighting=Weighting(k1=1.2, b=0.75),
    )  # fmt: skip
    queries = [list(random.choice(WORDS, random.integers(1, 6))) for _ in range(40)]
    for query in (*queries, WORDS, "tea", "+tea -pot wheel"):
        sent = index.expand(query, to="solr", field="words", max_terms=None,
                            syntax=True)  # fmt: skip
        exact = {hit.id: hit.score for hit in index.search(query, k=200, syntax=True)}
        assert solr.scores(sent) == pytest.approx(exact, rel=1e-5), sent


def test_solr_analyzes_the_words_of_a_field_that_stems(solr):
    solr.add(PROSE)
    index = sc.SoftIndex.from_texts(
        PROSE, ids=[str(i) for i in range(len(PROSE))], plain=True, ranking="soft_bm25",
        analyzer=sc.Analyzer("porter"), weighting=Weighting(k1=1.2, b=0.75),
    )  # fmt: skip
    for query in ("bicycle tires", "repairing a wheel", '"flat tyre" wheel', "+cars -shop"):
        sent = index.expand(query, to="solr", field="english", words="analyzed", max_terms=None,
                            syntax=True)  # fmt: skip
        exact = {hit.id: hit.score for hit in index.search(query, k=10, syntax=True)}
        assert solr.scores(sent) == pytest.approx(exact, rel=1e-5)


def test_a_query_of_no_known_word_finds_nothing(solr):
    solr.add(PROSE)
    index = sc.SoftIndex.from_texts(PROSE, plain=True)
    assert solr.scores(index.expand("", to="solr", field="words")) == {}
    assert solr.scores(index.expand("zyxish", to="solr", field="words")) == {}
