"""What joblib hands to other processes: large arrays come back mapped, and read-only."""

from __future__ import annotations

import numpy as np
import pytest

import softcosine as sc
from softcosine.kernels.elimination import elimination_tree
from toys import similarity_matrix

joblib = pytest.importorskip("joblib")


@pytest.fixture
def mapped(tmp_path):
    """Give an object as another process gets it from joblib."""

    def through(value):
        joblib.dump(value, tmp_path / "value")
        return joblib.load(tmp_path / "value", mmap_mode="r")

    return through


S = similarity_matrix([[1, 0.5, 0], [0.5, 1, 0.25], [0, 0.25, 1]])
X = np.array([[1, 0, 2], [0, 1, 1], [3, 0, 0]])


def matrices():
    """S with the arrays that kernels take made already, and without."""
    asked = similarity_matrix(S.to_scipy().toarray())
    assert len(asked.arrays) == 3
    return [similarity_matrix(S.to_scipy().toarray()), asked]


@pytest.mark.parametrize("given", matrices(), ids=["fresh", "asked"])
def test_a_mapped_matrix_serves_as_any_other(mapped, given):
    other = mapped(given)
    assert all(array.flags.writeable for array in other.arrays)
    right = sc.SoftNeighbors(S).fit(X).search(X, k=2)
    found = sc.SoftNeighbors(other).fit(X).search(X, k=2)
    assert np.array_equal(found.ids, right.ids)
    assert np.array_equal(found.scores, right.scores)
    np.testing.assert_array_equal(
        sc.orthonormal_basis(other).E.toarray(), sc.orthonormal_basis(S).E.toarray()
    )


def test_mapped_neighbors_and_indexes_answer(mapped):
    neighbors = sc.SoftNeighbors(S).fit(X)
    right = neighbors.search(X, k=2)
    assert np.array_equal(mapped(neighbors).search(X, k=2).scores, right.scores)
    unfitted = mapped(sc.SoftNeighbors(S))
    assert np.array_equal(unfitted.fit(X).search(X, k=2).scores, right.scores)
    index = sc.SoftIndex.from_texts(["a flat tyre", "green tea"])
    assert mapped(index).search("tire").ids == index.search("tire").ids


def test_a_mapped_basis_solves(mapped):
    basis = sc.orthonormal_basis(S)
    found = mapped(basis).solved(X).toarray()
    np.testing.assert_array_equal(found, basis.solved(X).toarray())


def test_kernels_take_copies_of_arrays_that_are_closed():
    indptr, indices, _ = S.arrays

    pivots, parents = np.arange(3, dtype=np.int32), np.empty(3, np.int32)
    expected = np.empty(3, np.int32)
    elimination_tree(indptr, indices, pivots, pivots, expected)
    closed = indices.copy()
    closed.flags.writeable = False
    elimination_tree(indptr, closed, pivots, pivots, parents)
    assert np.array_equal(parents, expected)
    with pytest.raises(TypeError):
        elimination_tree(indptr, "no array", pivots, pivots, parents)
