"""Nearest vectors, against all pairs computed one by one; every path gives the same bytes."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from conftest import JIT
from softcosine._progress import reporting
from softcosine.kernels import lanes
from softcosine.kernels.jit import kernel
from softcosine.kernels.selection import pair_similarities, unit_rows
from softcosine.similarity.embeddings import nearest
from softcosine.similarity.embeddings.embedding import EmbeddingSimilarity
from softcosine.similarity.embeddings.nearest import Nearest, UnitVectors
from softcosine.similarity.neighbors import Neighbors


def unit_vectors(vectors, strings=None):
    vectors = np.ascontiguousarray(vectors, np.float32)
    units, scales = np.empty_like(vectors), np.empty(len(vectors))
    unit_rows(vectors, np.ones(len(vectors)), units, scales)
    strings = np.arange(len(vectors)) if strings is None else np.asarray(strings)
    return UnitVectors(units, scales, strings.astype(np.int32))


def one_by_one(vectors, k, *, threshold, exponent):
    """Neighbours by sorting all similarities of each vector."""
    n = len(vectors)
    rows, columns = np.divmod(np.arange(n * n, dtype=np.int32), np.int32(n))
    S = np.empty(n * n, np.float32)
    pair_similarities(
        vectors.units, vectors.scales, rows, columns, np.float32(threshold), exponent, S
    )
    S = S.reshape(n, n)
    S[vectors.strings[:, None] == vectors.strings] = 0
    answer = []
    for row in S:
        order = np.lexsort((np.arange(n), -row))
        best = order[row[order] > 0][:k]
        answer.append((best.tolist(), row[best].tolist()))
    return answer


def listed(answers):
    counts, columns, similarities = (np.concatenate(part) for part in zip(*answers, strict=True))
    ends = np.cumsum(counts)
    parts = zip(ends - counts, ends, strict=True)
    return [(columns[a:b].tolist(), similarities[a:b].tolist()) for a, b in parts]


@pytest.fixture
def sizes(monkeypatch):
    """Set the sizes of blocks and chunks, the room of the lists and the number of threads."""

    def set_sizes(rows=5, columns=7, *, room=1, n_threads=1):
        monkeypatch.setattr(nearest, "_BLOCK_ROWS", rows)
        monkeypatch.setattr(nearest, "_BLOCK_COLUMNS", columns)
        monkeypatch.setattr(nearest, "_CHUNK_ROWS", 2)
        monkeypatch.setattr(nearest, "_CHUNK_COLUMNS", 3)
        monkeypatch.setattr(nearest, "_CHUNK_RANKED", 4)
        monkeypatch.setattr(nearest, "_CHUNK_ANSWER", 6)
        monkeypatch.setattr(nearest, "_ROOM", room)
        monkeypatch.setenv("SOFTCOSINE_THREADS", str(n_threads))

    return set_sizes


@st.composite
def collections(draw):
    """Vectors of few distinct components, some strings twice: ties, repetitions, zero cosines."""
    n, d = draw(st.integers(1, 40)), draw(st.integers(1, 11))
    random = np.random.default_rng(draw(st.integers(0, 2**20)))
    vectors = random.choice(draw(st.sampled_from(([1.0], [0, 1], [-1, 0, 1, 1, 3]))), (n, d))
    vectors[~vectors.any(axis=1), 0] = 1
    of_string = np.sort(random.integers(0, n, n)) if draw(st.booleans()) else np.arange(n)
    return unit_vectors(vectors[of_string], of_string)


@given(
    collections(),
    st.integers(1, 12),
    st.sampled_from((0.0, 0.3, 1.0)),
    st.sampled_from((1.0, 2.0, 0.4)),
    st.tuples(st.integers(1, 9), st.integers(1, 9)),
    st.sampled_from((1, 2, 64)),
)
def test_both_ways_give_the_first_of_all_pairs(vectors, k, threshold, exponent, block, room):
    expected = one_by_one(vectors, k, threshold=threshold, exponent=exponent)
    search = Nearest(vectors, threshold=threshold, exponent=exponent)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(nearest, "_BLOCK_ROWS", block[0])
        patch.setattr(nearest, "_BLOCK_COLUMNS", block[1])
        patch.setattr(nearest, "_ROOM", room)
        k = min(k, len(vectors))
        assert listed(search.of(vectors, k)) == expected
        assert listed(search.of_each(np.arange(len(vectors)), k)) == expected


def test_neither_blocks_nor_room_nor_threads_change_a_bit(sizes):
    vectors = unit_vectors(np.random.default_rng(0).standard_normal((150, 20)))
    search = Nearest(vectors, threshold=0.05, exponent=2.0)
    order = np.random.default_rng(1).permutation(150)
    answers = []
    for arguments in ((1, 1), (7, 64), (64, 7), (64, 200), (200, 200)):
        for room, n_threads in ((1, 1), (5, 4), (64, 3)):
            sizes(*arguments, room=room, n_threads=n_threads)
            whole = listed(search.of(vectors, 6))
            each = listed(search.of_each(order, 6))
            assert each == [whole[i] for i in order.tolist()]
            answers.append(whole)
    assert all(answer == answers[0] for answer in answers)
    assert answers[0] == one_by_one(vectors, 6, threshold=0.05, exponent=2.0)


@pytest.mark.parametrize("n_same", [3, 70, 150] if JIT else [3, 40])
def test_more_equal_vectors_than_there_is_room_for(sizes, n_same):
    random = np.random.default_rng(2)
    same = np.repeat(random.standard_normal((2, 33)), n_same, axis=0)
    near = same[0] + random.standard_normal((40, 33)) * 1e-4
    vectors = unit_vectors(np.vstack((same, near))[random.permutation(2 * n_same + 40)])
    search = Nearest(vectors, threshold=0.3, exponent=2.0)
    expected = one_by_one(vectors, 4, threshold=0.3, exponent=2.0)
    for room in (1, 64):
        sizes(room=room)
        assert listed(search.of(vectors, 4)) == expected
        assert listed(search.of_each(np.arange(len(vectors)), 4)) == expected


def test_neighbors_that_come_ever_nearer(sizes):
    n = 300 if JIT else 100
    angles = np.sqrt(np.arange(n)) / 20
    vectors = unit_vectors(np.stack((np.cos(angles), np.sin(angles)), axis=1))
    search = Nearest(vectors, threshold=0.0, exponent=1.0)
    expected = one_by_one(vectors, 5, threshold=0.0, exponent=1.0)
    for rows, columns in ((n, n), (50, 64), (11, 5)):
        sizes(rows, columns, room=2)
        assert listed(search.of(vectors, 5)) == expected
        assert listed(search.of_each(np.arange(n), 5)) == expected


@pytest.mark.parametrize(
    ("threshold", "count"), [(0.6, 2), (np.nextafter(np.float32(0.6), np.float32(1)), 1)]
)
def test_a_cosine_at_the_threshold_counts(threshold, count):
    vectors = [[1, 0], [3, 4], [4, 3]]  # cosines .6 and .8 with the first
    words = ["a", "b", "c"]
    source = EmbeddingSimilarity(words, vectors, threshold=float(threshold))
    assert len(source.neighbors(words, words, max_neighbors=9).of(0)[0]) == count
    assert len(source.neighbors(["a"], words, max_neighbors=9).of(0)[0]) == count


def test_all_among_all_is_answered_as_one_by_one():
    random = np.random.default_rng(3)
    words = [f"{'dbca'[i % 4]}{i}" for i in range(90)]
    vectors = random.integers(-1, 3, (90, 6)) + 0.0
    vectors[:2] = 0  # not known
    source = EmbeddingSimilarity(words, vectors, threshold=0.1)
    among = (*words, words[5], words[8], "nowhere", words[5])
    whole = source.neighbors(list(among), among, max_neighbors=7)
    parts = [source.neighbors([word], among, max_neighbors=7) for word in among]
    assert whole.indptr.tolist() == [0, *np.cumsum([part.indptr[-1] for part in parts])]
    assert whole.indices.tobytes() == b"".join(part.indices.tobytes() for part in parts)
    assert whole.similarities.tobytes() == b"".join(part.similarities.tobytes() for part in parts)
    backwards: Neighbors = source.neighbors(among[::-1], among, max_neighbors=7)
    for i in range(len(among)):
        assert [a.tolist() for a in whole.of(i)] == [
            a.tolist() for a in backwards.of(len(among) - 1 - i)
        ]


def test_many_neighbors_of_many_are_looked_for_by_blocks(monkeypatch):
    words = [f"w{i:03d}" for i in range(60)]
    vectors = np.random.default_rng(7).standard_normal((60, 8))
    source = EmbeddingSimilarity(words, vectors, threshold=0.0)
    whole = source.neighbors(words, words, max_neighbors=60)
    monkeypatch.setattr(nearest, "_MOST_CANDIDATES", 60 * 100)
    monkeypatch.setattr(Nearest, "of_each", None)
    parts = source.neighbors(words, words, max_neighbors=60)
    assert parts.indices.tobytes() == whole.indices.tobytes()
    assert parts.similarities.tobytes() == whole.similarities.tobytes()


def test_progress_counts_the_terms_up_to_all(sizes):
    sizes(10, 20)
    words = [f"w{i:03d}" for i in range(95)]
    source = EmbeddingSimilarity(words, np.random.default_rng(4).standard_normal((95, 8)))
    for asked in (words, words[:40]):
        told = []
        with reporting(lambda done, total, told=told: told.append((done, total))):
            source.neighbors(asked, words, max_neighbors=3)
        assert len(told) > 3
        assert told == sorted(told)
        assert told[-1] == (len(asked), len(asked))
    source.neighbors(words, words, max_neighbors=3)
    assert told[-1] == (40, 40)  # nobody listens any more


@kernel("void(float32[::1], int64, float32[::1], int64, float32, int64[::1])")
def compared(values, start, bounds, first, bound, answers):
    """Both comparisons, and the lowest bit of the first."""
    answers[0] = lanes.above(values, start, bound)
    answers[1] = lanes.above_each(values, start, bounds, first)
    answers[2] = lanes.lowest_bit(answers[0]) if answers[0] != 0 else -1


@kernel("void(float32[::1], float32[::1], int64, float64[::1])")
def summed(left, right, whole, answer):
    """Sum of the products."""
    answer[0] = lanes.sum_of_eights(left, right, whole)


def random_numbers() -> Iterator[np.ndarray]:
    random = np.random.default_rng(5)
    for _ in range(20):
        yield random.integers(-3, 4, 400).astype(np.float32)


@pytest.mark.skipif(not JIT, reason="what is compiled is compared with what is not")
def test_comparisons_of_many_numbers_at_a_time():
    for numbers in random_numbers():
        answers = np.zeros(3, np.int64)
        compared(numbers, 5, numbers, 130, np.float32(2), answers)
        hits = numbers[5:69] > 2
        assert [bool(answers[0] >> i & 1) for i in range(64)] == hits.tolist()
        each = numbers[5:69] > numbers[130:194]
        assert [bool(answers[1] >> i & 1) for i in range(64)] == each.tolist()
        assert answers[2] == (np.flatnonzero(hits)[0] if hits.any() else -1)


def test_products_are_summed_in_one_order_everywhere():
    random = np.random.default_rng(6)
    for n in (0, 8, 16, 296):
        left, right = random.standard_normal((2, n)).astype(np.float32)
        a = [0.0] * 8
        for i in range(n):
            a[i % 8] += float(left[i]) * float(right[i])
        expected = ((a[0] + a[4]) + (a[1] + a[5])) + ((a[2] + a[6]) + (a[3] + a[7]))
        answer = np.zeros(1)
        summed(left, right, n, answer)
        assert answer[0] == expected
