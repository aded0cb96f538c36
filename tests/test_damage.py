"""Files of an index that were altered in full size: an error of ours or an answer, no crash."""

from __future__ import annotations

import contextlib
import shutil

import numpy as np
import pytest

from crafted import MANIFEST, all_ones, array_names, array_of, first_byte, patch_array, random
from softcosine.errors import CorruptIndexError, SoftCosineError
from softcosine.index.soft_index import SoftIndex
from softcosine.lab.regression.source import RegressionSimilarity
from softcosine.matrix.ranges import check_starts, check_values
from softcosine.matrix.term_similarity_matrix import TermSimilarityMatrix
from softcosine.similarity.embeddings.embedding import EmbeddingSimilarity
from softcosine.similarity.overrides.decision_list import Decisions
from softcosine.similarity.overrides.decisions import decided
from softcosine.similarity.pairs import PairSimilarity
from softcosine.similarity.thesaurus.concepts import concepts_of_groups
from softcosine.similarity.thesaurus.thesaurus import ThesaurusSimilarity
from softcosine.sklearn.soft_neighbors import SoftNeighbors
from softcosine.text.corpus import analyze
from softcosine.text.vocabulary import Vocabulary
from toys import ToySource, similarity_matrix

TEXTS = ["a flat tyre on my bike bike", "tea and coffee", "the tire of a bike", "tea tea tea"]


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    path = tmp_path_factory.mktemp("damage") / "x"
    index = SoftIndex.from_texts(TEXTS, source=ToySource({("tyre", "tire"): 0.8}))
    index.save(path)
    return path


@pytest.fixture
def damaged(saved, tmp_path):
    def damage(name, change, array=None):
        path = tmp_path / "x"
        shutil.rmtree(path, ignore_errors=True)
        shutil.copytree(saved, path)
        (file,) = path.glob(name)
        if array is not None:
            patch_array(file, array, change)
            return path
        content = bytearray(file.read_bytes())
        change(content, 0)
        file.write_bytes(content)
        return path

    return damage


CHECKED = [
    (f"parts/{kind}-*", name)
    for kind, names in (
        ("space", ("matrix/indptr", "matrix/indices", "matrix/data", "vocabulary/term_offsets")),
        ("segment", ("0/documents", "0/pointers", "0/entries", "0/present_terms", "0/lengths")),
        ("segment", ("0/term_groups", "0/group_starts", "0/group_levels", "0/frequencies")),
        ("statistics", ("0/document_frequencies",)),
        ("norms", ("0",)),
    )
    for name in names
]


@pytest.mark.parametrize(("part", "name"), CHECKED)
def test_impossible_numbers_are_found_on_opening(damaged, part, name):
    with pytest.raises(CorruptIndexError, match=r"check|rise from 0|decrease|fit together"):
        SoftIndex.open(damaged(part, all_ones, name))


@pytest.mark.parametrize("change", [all_ones, random, first_byte])
def test_no_damage_leads_to_a_crash_or_to_nan(saved, damaged, change):
    files = [path for path in saved.rglob("*") if path.is_file()]
    arrays = [
        (path.parent, name)
        for path in saved.glob(f"parts/*/{MANIFEST}")
        for name in array_names(path.parent)
    ]
    for path, array in [(file, None) for file in files] + arrays:
        name = path.relative_to(saved).as_posix()
        with contextlib.suppress(SoftCosineError):
            index = SoftIndex.open(damaged(name, change, array))
            for ranking in ("soft_bm25", "soft_cosine"):
                for hits in (
                    index.search("tire tea", ranking=ranking),
                    index.similar("0", ranking=ranking),
                ):
                    assert np.isfinite([hit.score for hit in hits]).all()


def test_a_damaged_matrix_is_found_on_loading(tmp_path):
    S = TermSimilarityMatrix.from_matrix([[1, 0.5], [0.5, 1]])
    S.save(tmp_path / "S")
    patch_array(tmp_path / "S", "matrix/indices", all_ones)
    with pytest.raises(CorruptIndexError, match="a number in matrix/indices"):
        SoftNeighbors(TermSimilarityMatrix.load(tmp_path / "S"))


def test_counts_that_do_not_fit_together_are_found(damaged):
    name = "0/document_frequencies"
    path = damaged("parts/statistics-*", lambda *_: None, name)
    SoftIndex.open(path)
    (part,) = path.glob("parts/statistics-*")
    patch_array(part, name, np.full(array_of(part, name).shape, 99))
    with pytest.raises(CorruptIndexError, match="document_frequencies is not between 0 and 4"):
        SoftIndex.open(path)


@pytest.mark.parametrize("starts", [[], [1, 2], [0, 3, 2], [0, 1]])
def test_starts_rise_from_zero_to_the_end(starts):
    check_starts("x", np.array([0, 0, 2]), 2)
    with pytest.raises(CorruptIndexError, match="do not rise from 0 to 2"):
        check_starts("x", np.array(starts, np.int64), 2)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, -1.0])
def test_values_are_finite_and_not_too_small(value):
    check_values("x", np.array([0.0, 1.0]), least=0.0)
    with pytest.raises(CorruptIndexError, match="is not finite or too small"):
        check_values("x", np.array([0.0, value]), least=0.0)


KEPT = {
    "pairs": lambda: PairSimilarity([("tire", "tyre", 0.5), ("tea", "coffee", 0.25)]),
    "thesaurus": lambda: ThesaurusSimilarity(
        concepts_of_groups([(["tire", "tyre"], 1.0)]), name=""
    ),
    "decided": lambda: decided(
        PairSimilarity([("tire", "tyre", 0.5)]), Decisions.of(pinned={("tea", "bike"): 0.5})
    ),
    "regression": lambda: RegressionSimilarity.fit(analyze(TEXTS), min_count=1, threshold=0),
    "embedding": lambda: EmbeddingSimilarity(["tire", "tyre", "tea"], np.eye(3)[[0, 0, 1]]),
}


@pytest.mark.parametrize("change", [all_ones, random, first_byte])
@pytest.mark.parametrize("kind", KEPT)
def test_a_damaged_source_gives_an_error_of_ours_or_similarities(tmp_path, kind, change):
    words = ("tire", "tyre", "tea", "coffee", "bike", "nowhere")
    path = tmp_path / "S"
    similarity_matrix(np.eye(6), Vocabulary(words)).save(path, source=KEPT[kind]())
    source = TermSimilarityMatrix.load_source(path)
    assert source.neighbors(words, words, max_neighbors=3).indices.size
    file = path / "source.npys"
    whole = file.read_bytes()
    for name in [name for name in array_names(path) if name.startswith("source/")]:
        patch_array(path, name, change)
        with contextlib.suppress(SoftCosineError), np.errstate(all="ignore"):
            source = TermSimilarityMatrix.load_source(path)
            found = source.neighbors(words, words, max_neighbors=3)
            assert found.indices.size == 0 or 0 <= found.indices.min() <= found.indices.max() < 6
            source.similarities(words, words[::-1])
        file.write_bytes(whole)


def test_a_source_that_cannot_be_built_again_names_the_folder(tmp_path):
    path = tmp_path / "S"
    similarity_matrix(np.eye(1)).save(path, source=KEPT["decided"]())
    patch_array(path, "source/signs", all_ones)
    with pytest.raises(CorruptIndexError, match=r"the source in .*S cannot be built .* check"):
        TermSimilarityMatrix.load_source(path)
