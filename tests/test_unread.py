"""Arrays that are too large to be read on opening: damage is found by the check, and no crash."""

from __future__ import annotations

import contextlib
from unittest.mock import patch

import numpy as np
import pytest

from crafted import all_ones, array_at, array_names, array_of, first_byte, patch_array, random
from softcosine.errors import CorruptIndexError, SoftCosineError
from softcosine.index.soft_index import SoftIndex
from softcosine.matrix.term_similarity_matrix import TermSimilarityMatrix
from softcosine.text.vocabulary import Vocabulary
from toys import ToySource

GROWN = Vocabulary(["tyre", "tire", "tea"], forms=[["tyres"], ["tires", "tire"], []])


@contextlib.contextmanager
def unread():
    """Arrays of any size are as if they were too large to be read on opening."""
    with (
        patch("softcosine.matrix.term_similarity_matrix._CHECKED_AT_ONCE", -1),
        patch("softcosine.matrix.stored._WORDS_AT_ONCE", -1),
        patch("softcosine.text.vocabulary._CHECKED_AT_ONCE", -1),
        patch("softcosine.text.terms._READ_MEANWHILE", 0),
    ):
        yield


@pytest.fixture
def large(tmp_path):
    """A saved matrix whose arrays are not read on opening."""
    path = tmp_path / "S"
    source = ToySource({("tyres", "tires"): 0.8, ("tires", "tea"): 0.3, ("tyres", "tea"): 0.25})
    TermSimilarityMatrix.from_source(source, GROWN, balanced=True).save(path)
    with unread():
        yield path


def test_a_document_of_known_words_is_added_without_reading_all_terms(tmp_path):
    with SoftIndex.create(tmp_path / "i", encoder=None).writer() as writer:
        writer.add("a", "a flat tyre of an e-bike")
    with unread(), patch("softcosine.text.packing.unpack_strings", side_effect=AssertionError):
        index = SoftIndex.open(tmp_path / "i")
        with index.writer() as writer:
            writer.add("b", "flat e-bike")
    assert [hit.id for hit in index.search("flat bike")] == ["b", "a"]


IMPOSSIBLE = {
    "matrix/indptr": [0, 4, 2, 7],
    "matrix/indices": [0, 1, 2, 0, 1, 2, 9],
    "matrix/data": [1, np.nan, 1, 1, 1, 1, 1],
    "matrix/scales": [1, 0, 1],
    "matrix/representatives": [255] * 13,
    "matrix/representatives_offsets": [0, 12, 10, 13],
    "vocabulary/terms": [255] * 11,
    "vocabulary/term_offsets": [0, 10, 8, 11],
    "vocabulary/term_order": [0, 1, 2],
    "vocabulary/forms": [255] * 14,
    "vocabulary/form_offsets": [0, 14, 10, 14],
    "vocabulary/form_bounds": [0, 3, 1, 3],
}


@pytest.mark.parametrize("name", IMPOSSIBLE)
def test_damage_of_large_arrays_is_found_by_the_check(large, name):
    TermSimilarityMatrix.load(large, verify=True)
    whole = array_of(large, name)
    changed = np.resize(np.array(IMPOSSIBLE[name], np.float64), whole.shape).astype(whole.dtype)
    if name.endswith(("indptr", "offsets", "bounds")):
        changed[-1] = whole[-1]  # both ends are looked at on opening
    patch_array(large, name, changed)
    with pytest.raises(CorruptIndexError):
        TermSimilarityMatrix.load(large).check()
    with pytest.raises(CorruptIndexError, match="has changed since it was written"):
        TermSimilarityMatrix.load(large, verify=True)


@pytest.mark.parametrize("change", [all_ones, random, first_byte])
def test_damaged_terms_of_a_large_matrix_give_errors_of_ours_or_answers(large, change):
    for name in array_names(large):
        if not name.startswith(("vocabulary/", "matrix/repr")):
            continue
        file = array_at(large, name)[0]
        whole = file.read_bytes()
        patch_array(large, name, change)
        with contextlib.suppress(SoftCosineError):
            S = TermSimilarityMatrix.load(large)
            for ask in (
                lambda S: [S.vocabulary.get(term) for term in ("tea", "tire", "tyre", "x")],
                lambda S: S.vocabulary.extended(["tee"], forms=[[]]).ranks(),
                lambda S: [S.representative(i) for i in range(3)],
                lambda S: [S.vocabulary.forms_of(i) for i in range(3)],
                lambda S: (S.representatives, S.vocabulary.forms),
                lambda S: S.neighbors("tea"),
                lambda S: S.check(),
            ):
                with contextlib.suppress(SoftCosineError):
                    ask(S)
        file.write_bytes(whole)
