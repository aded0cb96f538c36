"""A corpus read in chunks teaches what the whole corpus in memory teaches, to the bit."""

from __future__ import annotations

import tempfile
import tracemalloc
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

from conftest import JIT
from softcosine.errors import InvalidInputError
from softcosine.lab.regression.source import RegressionSimilarity
from softcosine.similarity.cooccurrence import pair_counts
from softcosine.similarity.cooccurrence.cooccurrence import CooccurrenceSimilarity
from softcosine.similarity.cooccurrence.counts import Nearness, cooccurrence_counts
from softcosine.similarity.source import TermSimilaritySource, state_of
from softcosine.text import stream as stream_module
from softcosine.text.analyzer import Analyzer
from softcosine.text.corpus import analyze
from softcosine.text.stream import TextStream
from softcosine.text.vocabulary import Vocabulary

SMALL = 1 << 16  # the least memory that a stream takes

FITS: dict[str, Callable[[Any], TermSimilaritySource]] = {
    "cooccurrence": lambda corpus: CooccurrenceSimilarity.fit(corpus, dimensions=4, min_count=2),
    "regression": lambda corpus: RegressionSimilarity.fit(corpus, min_count=2, max_terms=90),
}


def corpus(n_docs: int, *, seed: int = 0, n_words: int = 60) -> list[str]:
    """Texts of frequent and rare words in several forms."""
    random = np.random.default_rng(seed)
    words = np.array([f"{stem}{end}" for stem in _stems(n_words // 3) for end in ("", "s", "ing")])
    shares = 1 / np.arange(1, len(words) + 1)
    lengths = random.integers(0, 30, n_docs)
    return [" ".join(random.choice(words, n, p=shares / shares.sum())) for n in lengths]


def _stems(n: int) -> list[str]:
    return [f"w{a}{b}lk" for a in "aeiou" for b in "bcdfghklmnprst"][:n]


def parts(source: TermSimilaritySource) -> list[tuple[str, bytes]]:
    state = state_of(source)
    return [(name, array.tobytes()) for name, array in sorted(state.arrays.items())]


@pytest.fixture
def tiny_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Cut texts into few documents a chunk, so that a small corpus is spilled and merged."""
    monkeypatch.setattr(stream_module, "_CHUNK_DOCUMENTS", 3)
    monkeypatch.setattr(pair_counts, "_MAX_RUNS", 4)
    monkeypatch.setattr(pair_counts, "_ENTRY_BYTES", 12 * 40)
    monkeypatch.setattr(stream_module, "_WORDS", 5)


@pytest.mark.parametrize("name", FITS)
@pytest.mark.parametrize("analyzer", [None, Analyzer("english"), Analyzer("english", max_ngram=2)])
@pytest.mark.usefixtures("tiny_chunks")
def test_a_stream_teaches_what_the_texts_in_memory_teach(
    name: str, analyzer: Analyzer | None
) -> None:
    texts = corpus(60)
    fit = FITS[name]
    expected = fit(analyze(texts, analyzer))
    assert len(expected.words) > 5  # type: ignore[attr-defined]
    assert parts(fit(TextStream(texts, analyzer, memory=SMALL))) == parts(expected)


@pytest.mark.usefixtures("tiny_chunks")
def test_tokens_that_hold_spaces_are_forms_of_their_ngrams() -> None:
    documents = [["new york", "cities"], ["in", "new york", "city"], ["york", "cities"]] * 4
    analyzer = Analyzer("english", max_ngram=3)
    expected = analyze(documents, analyzer).vocabulary
    found, _ = TextStream(documents, analyzer, memory=SMALL).frequent_terms(
        min_count=1, max_terms=99, by_documents=False
    )
    assert found.terms == expected.terms
    assert found.forms == expected.forms


@pytest.mark.parametrize("name", FITS)
@pytest.mark.usefixtures("tiny_chunks")
def test_with_a_vocabulary_a_generator_is_read_once(name: str) -> None:
    texts = corpus(60)
    analyzed = analyze(texts, min_df=2)
    expected = FITS[name](analyzed)
    stream = TextStream((text for text in texts), vocabulary=analyzed.vocabulary, memory=SMALL)
    assert parts(FITS[name](stream)) == parts(expected)


@given(
    st.lists(st.lists(st.sampled_from("abcdefgh"), max_size=9), max_size=9),
    st.sampled_from([None, 1, 3]),
    st.integers(1, 3),
    st.integers(0, 6),
)
def test_counts_are_those_of_the_definition(
    documents: list[list[str]], window: int | None, min_count: int, max_terms: int
) -> None:
    nearness = Nearness(window, min_count, max_terms)
    runs: list[str] = [w for d in documents for w in (d if window else set(d))]
    often = sorted(set(runs), key=lambda w: (-runs.count(w), w))
    terms = sorted([w for w in often if runs.count(w) >= min_count][:max_terms])
    expected = np.zeros((len(terms), len(terms)), np.int64)
    place = {term: i for i, term in enumerate(terms)}
    for document in documents:
        if window is None:
            for a in {*document} & {*terms}:
                for b in ({*document} & {*terms}) - {a}:
                    expected[place[a], place[b]] += 1
            continue
        for i, a in enumerate(document):
            for j, b in enumerate(document):
                if a != b and {a, b} <= {*terms} and abs(i - j) <= window:
                    weight = window + 1 - abs(i - j)
                    expected[place[a], place[b]] += weight
    vocabulary = Vocabulary([*"hgfedcba"])
    for source in (
        analyze(documents),
        TextStream(documents, memory=SMALL),
        TextStream(iter(documents), vocabulary=vocabulary, memory=SMALL),
    ):
        with cooccurrence_counts(source, nearness) as found:
            dense = np.zeros_like(expected)
            for first, last, block in found.pairs.blocks():
                dense[first:last] = block.toarray()
        order = [found.names.index(term) for term in terms]
        assert sorted(found.names) == terms
        assert dense[np.ix_(order, order)].tolist() == expected.tolist()
        assert found.pairs.totals[order].tolist() == expected.sum(axis=1).tolist()
        assert found.frequencies[order].tolist() == [runs.count(term) for term in terms]


class StopError(Exception):
    """Stands for whatever ends a fit early."""


class Breaking:
    """Texts whose reading fails in a given round."""

    def __init__(self, texts: Sequence[str], good_rounds: int) -> None:
        self.texts, self.rounds = texts, good_rounds

    def __iter__(self) -> Iterator[str]:
        yield from self.texts[: len(self.texts) // 2]
        if self.rounds == 0:
            raise StopError
        self.rounds -= 1
        yield from self.texts[len(self.texts) // 2 :]


@pytest.mark.parametrize("good_rounds", [0, 1])
@pytest.mark.usefixtures("tiny_chunks")
def test_an_interrupted_fit_leaves_nothing_behind(
    good_rounds: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    seen = []
    stream = TextStream(
        Breaking(corpus(60), good_rounds),
        memory=SMALL,
        progress=lambda _: seen.append(list(tmp_path.iterdir())),
    )
    with pytest.raises(StopError):
        CooccurrenceSimilarity.fit(stream)
    assert list(tmp_path.iterdir()) == []
    assert seen


def test_progress_counts_the_documents_of_each_reading(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stream_module, "_CHUNK_DOCUMENTS", 4)
    calls: list[int] = []
    CooccurrenceSimilarity.fit(TextStream(corpus(10), progress=calls.append), dimensions=2)
    assert calls == [4, 8, 10] * 2


@pytest.mark.skipif(not JIT, reason="many documents, which take minutes without the compiler")
def test_memory_does_not_grow_with_the_corpus() -> None:
    def generated(n_docs: int) -> Iterator[list[str]]:
        random = np.random.default_rng(0)
        for _ in range(n_docs):
            yield list(map(str, random.integers(0, 300, 40)))

    vocabulary = Vocabulary(map(str, range(300)))
    peaks = []
    for n_docs in (300, 300, 1800):
        tracemalloc.start()
        CooccurrenceSimilarity.fit(
            TextStream(generated(n_docs), vocabulary=vocabulary, memory=1 << 18), dimensions=2
        )
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[2] < 1.5 * peaks[1] + (1 << 18)


def test_bad_input_is_named() -> None:
    with pytest.raises(InvalidInputError, match="read only once"):
        TextStream(text for text in ["a"])
    with pytest.raises(InvalidInputError, match="single string"):
        TextStream("a b")
    for memory in (1, "1 GB"):
        with pytest.raises(InvalidInputError, match=f"memory is {memory!r};"):
            TextStream(["a"], memory=memory)  # type: ignore[arg-type]
    with pytest.raises(InvalidInputError, match="texts is of type int"):
        TextStream(3)  # type: ignore[arg-type]
    with pytest.raises(InvalidInputError, match="the analyzer is of type str"):
        TextStream(["a"], "english")  # type: ignore[arg-type]
    with pytest.raises(InvalidInputError, match="vocabulary"):
        TextStream(["a"], vocabulary=["a"])  # type: ignore[arg-type]
    with pytest.raises(InvalidInputError, match=r"of type list; call fit\(softcosine\.analyze"):
        CooccurrenceSimilarity.fit(["a b"])  # type: ignore[arg-type]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="only Linux has a disk that is full")
def test_a_full_disk_is_named_with_the_folder_of_temporary_files(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def full(mode: str = "w+b", **options: Any) -> Any:
        return Path("/dev/full").open(mode.replace("+", ""), **options)

    monkeypatch.setattr(pair_counts, "TemporaryFile", full)
    with ExitStack() as files, pytest.raises(OSError, match="probably full") as caught:
        pair_counts._FileRun(2, files).append((0, 2, csr_array(np.ones((2, 2), np.int64))))
    assert caught.value.filename == tempfile.gettempdir()


def test_a_document_that_is_none_is_named_by_its_position(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stream_module, "_CHUNK_DOCUMENTS", 2)
    with pytest.raises(InvalidInputError, match="from document 2: document 1 is None"):
        list(TextStream(["a", "b", "c", None]).chunks())  # type: ignore[list-item]
