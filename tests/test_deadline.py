"""Deadlines of searches: they end, and the index stays usable."""

from __future__ import annotations

import pytest

import softcosine as sc
from softcosine import _deadline
from softcosine._deadline import check_deadline, has_deadline, using_deadline
from softcosine.errors import DeadlineExceededError, InvalidInputError
from softcosine.index.query import query_vectors
from softcosine.index.spaces import words as searcher
from softcosine.text.analyzer import Analyzer

TEXTS = [f"tea {'green ' * (i % 3)} pot {i}" for i in range(40)]


@pytest.fixture(scope="module")
def index():
    made = sc.SoftIndex.create(
        source=sc.PairSimilarity({("tea", "coffee"): 0.5}), language="none", ranking="soft_bm25"
    )
    for begin in range(0, len(TEXTS), 4):  # ten segments
        with made.writer(merge=None) as writer:
            for number in range(begin, begin + 4):
                writer.add(str(number), TEXTS[number])
    return made


class Clock:
    """A clock that stands still for some looks, and has then passed every deadline."""

    def __init__(self) -> None:
        self.allow(10**9)

    def allow(self, n_looks: int) -> None:
        self.n_looks, self.allowed = 0, n_looks

    def monotonic(self) -> float:
        self.n_looks += 1
        return 0.0 if self.n_looks <= self.allowed else 1e9


@pytest.fixture
def clock(monkeypatch):
    made = Clock()
    monkeypatch.setattr(_deadline, "time", made)
    return made


SEARCHES = [
    {},
    {"ranking": "soft_cosine"},
    {"ranking": "soft_tf_bm25"},
    {"facets": ["x"]},
    {"sort": "x"},
    {"mmr": 0.5},
    {"fill": True},
    {"where": {"x": None}},
    {"query": "grene coffee"},
    {"first_stage": 3},
    {"query": '+tea "green tea"', "syntax": True},
    {"expand": False},
]


@pytest.mark.parametrize("options", SEARCHES)
@pytest.mark.parametrize("threads", [1, 2])
def test_a_search_can_end_at_every_look_at_the_clock(index, clock, options, threads):
    options = dict(options)
    query = options.pop("query", "green coffee")

    def search():
        with sc.using_threads(threads):
            return index.search(query, **options)

    plain = search()
    clock.allow(10**9)
    with using_deadline(5):
        limited = search()
    assert [(hit.id, hit.score) for hit in limited] == [(hit.id, hit.score) for hit in plain]
    n_looks = clock.n_looks
    assert n_looks >= 3
    for allowed in range(1, n_looks):
        clock.allow(allowed)
        with using_deadline(5), pytest.raises(DeadlineExceededError, match="after its deadline"):
            search()
    assert search() == plain  # scratch arrays are clean


@pytest.mark.parametrize("threads", [1, 2])
def test_a_comparison_of_all_documents_ends_after_some_of_them(index, clock, threads):
    comparisons = [
        lambda: list(index.pairs(min_similarity=0.5, threads=threads)),
        lambda: list(index.pairs(k=2, threads=threads)),
        lambda: index.dedupe(threads=threads),
    ]
    for compare in comparisons:
        clock.allow(10**9)
        whole = compare()
        with using_deadline(5):
            assert compare() == whole
            clock.allow(0)
            with pytest.raises(DeadlineExceededError):
                compare()


def test_several_segments_are_searched_between_two_looks(index, monkeypatch):
    seen = []
    monkeypatch.setattr(
        searcher, "find_candidates",
        lambda *arguments: seen.append(len(arguments[0])) or find(*arguments),
    )  # fmt: skip
    from softcosine.kernels.search import find_candidates as find

    index.search("tea", ranking="soft_bm25")
    with using_deadline(60):
        index.search("tea", ranking="soft_bm25")
    assert seen == [10, 4, 8, 10]


def test_the_earliest_of_nested_deadlines_counts():
    assert not has_deadline()
    with using_deadline(0), using_deadline(100):
        assert has_deadline()
        with pytest.raises(DeadlineExceededError, match="0 seconds"):
            check_deadline()
    with using_deadline(100), using_deadline(None):
        check_deadline()
    assert not has_deadline()
    with pytest.raises(InvalidInputError, match="seconds"), using_deadline(-1):
        pass


def test_a_batch_on_several_threads_ends_too(index):
    with using_deadline(0), pytest.raises(DeadlineExceededError):
        index.search_batch(["tea"] * 200, threads=2)


@pytest.mark.parametrize(
    "options",
    [
        {"facets": [f"x{i}" for i in range(90)]},
        {"sort": [f"x{i}" for i in range(30)]},
        {"where": {"any": [{f"x{i % 90}": i} for i in range(1000)]}},
        {"query": " ".join(f"gree{chr(97 + i)}" for i in range(26))},
        {"mmr": 0.5, "k": 20},
    ],
)
def test_the_clock_is_looked_at_for_each_key_condition_word_and_hit(index, clock, options):
    options = {"query": "green tea pot", **options}
    n = max(
        len(options.get("facets", ())), len(options.get("sort", ())),
        len(options.get("where", {}).get("any", ())), len(options["query"].split()),
        options.get("k", 0),
    )  # fmt: skip
    clock.allow(10**9)
    with using_deadline(5):
        index.search(**options)
    assert clock.n_looks >= n


def test_suggestions_end_at_the_deadline(index, clock):
    query = "green " + " ".join(f"gree{chr(97 + i)}" for i in range(26))
    hits = index.search(query, correct=False)
    clock.allow(5)
    with using_deadline(5), pytest.raises(DeadlineExceededError):
        _ = hits.suggestions


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"facets": ["x"] * 101}, "facets is .* a list of at most 100 strings"),
        ({"where": {"any": [{f"x{i}": 1} for i in range(101)]}}, "101 keys"),
        ({"sort": ["x"] * 33}, "sort is .* a list of at most 32 strings"),
        ({"where": {"any": [{"x": i} for i in range(1025)]}}, "more than 1,024 conditions"),
        (
            {"where": {"not": {"all": [{f"x{j}": i for j in range(40)} for i in range(40)]}}},
            "1,024",
        ),
    ],
)
def test_what_takes_long_is_refused(index, options, message):
    with pytest.raises(InvalidInputError, match=message):
        index.search(**{"query": "green", **options})
    if "query" not in options and "sort" not in options:
        with pytest.raises(InvalidInputError, match=message):
            index.filter(**{"where": None, **options})


@pytest.mark.parametrize("form", ["text", "tokens"])
def test_reading_a_long_query_looks_at_the_clock(index, clock, monkeypatch, form):
    words = [f"w{number}" for number in range(200_000)]
    query = words if form == "tokens" else " ".join(words)
    seen, kept = [], Analyzer.kept

    def counting(analyzer, query):
        seen.append(kept(analyzer, query))
        return seen[-1]

    monkeypatch.setattr(Analyzer, "kept", counting)
    clock.allow(4)
    with using_deadline(5), pytest.raises(DeadlineExceededError):
        index.search(query)
    assert sum(map(len, seen)) <= 80_000
    clock.allow(20)
    with using_deadline(5), pytest.raises(DeadlineExceededError):
        index.search(query)
    assert clock.n_looks == 21  # also after the words are read


@pytest.mark.parametrize("join", [" ", "\n", "\u3000 ", ". "])
def test_a_long_query_has_the_terms_of_its_text(index, monkeypatch, join):
    words = [
        "tea",
        "green-pot",
        "U.S.A.",
        "caf\u00e9",
        "\u7dd1\u8336\u306e",
        "pot's",
        "12.5",
    ] * 4000
    query = join.join(words)
    ready = index.parse(query)
    monkeypatch.setattr(query_vectors, "_LONG", 10**9)
    whole = index.parse(query)
    assert ready.terms.tolist() == whole.terms.tolist()
    assert ready.frequencies.tolist() == whole.frequencies.tolist()
    assert ready.unknown == whole.unknown
