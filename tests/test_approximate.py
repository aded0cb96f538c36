"""Neighbours that other engines propose: as similar as ever, and most of them found."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from softcosine.errors import InvalidInputError, MissingDependencyError
from softcosine.similarity.combine.combined import strongest
from softcosine.similarity.embeddings.approximate import ApproximateSimilarity
from softcosine.similarity.embeddings.embedding import EmbeddingSimilarity
from softcosine.similarity.embeddings.encoder import EncoderSimilarity
from softcosine.similarity.embeddings.proposers import (
    FaissProposer,
    Proposer,
    TorchProposer,
    UsearchProposer,
)
from softcosine.similarity.source import source_from_state

PACKAGES = {"faiss": "faiss", "usearch": "usearch.index", "torch": "torch"}


@pytest.fixture(params=PACKAGES)
def engine(request: pytest.FixtureRequest) -> Proposer:
    pytest.importorskip(PACKAGES[request.param])
    if request.param == "torch":
        return TorchProposer("cpu")
    return {"faiss": FaissProposer(), "usearch": UsearchProposer()}[request.param]


def cloud(n: int, dimensions: int = 16, seed: int = 0) -> EmbeddingSimilarity:
    """Words in clusters, as words are."""
    random = np.random.default_rng(seed)
    centers = random.standard_normal((max(1, n // 20), dimensions))
    vectors = centers[random.integers(0, len(centers), n)]
    vectors += 0.3 * random.standard_normal(vectors.shape)
    return EmbeddingSimilarity([f"w{i * 7919 % n}" for i in range(n)], vectors, threshold=0.2)


class Everything:
    """Proposes all columns, or rows it cannot answer: the oracle of what is done with them."""

    exact = True

    def __init__(self, incomplete: int = 0) -> None:
        self.incomplete = incomplete

    def build(self, units: NDArray[np.float32]) -> int:
        return len(units)

    def propose(
        self, built: int, units: NDArray[np.float32], k: int, margin: float
    ) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        assert k <= built
        complete = np.ones(len(units), np.bool_)
        if self.incomplete:
            complete[:: self.incomplete] = False
        return np.tile(np.arange(built)[::-1], (len(units), 1)), complete


def check_equal(source: ApproximateSimilarity, terms: list[str], among: object, k: int) -> None:
    exact = source.source.neighbors(terms, among, max_neighbors=k)  # type: ignore[arg-type]
    found = source.neighbors(terms, among, max_neighbors=k)  # type: ignore[arg-type]
    assert found.indptr.tolist() == exact.indptr.tolist()
    assert found.indices.tolist() == exact.indices.tolist()
    assert found.similarities.tobytes() == exact.similarities.tobytes()


@given(
    st.integers(1, 9), st.integers(0, 3), st.lists(st.integers(0, 12), max_size=12), st.randoms()
)
def test_scored_proposals_are_the_exact_neighbors(
    k: int, incomplete: int, terms: list[int], random: object
) -> None:
    vectors = np.random.default_rng(1).integers(-1, 2, (10, 3))
    inner = EmbeddingSimilarity([f"w{i}" for i in range(10)], vectors, threshold=0.1)
    asked = [f"w{i}" for i in terms]
    among = (*asked, "W3", "nowhere", *inner.words)
    check_equal(ApproximateSimilarity(inner, Everything(incomplete)), asked, among, k)


def test_blocks_of_rows_are_joined(monkeypatch: pytest.MonkeyPatch) -> None:
    from softcosine.similarity.embeddings import approximate

    monkeypatch.setattr(approximate, "_BLOCK_ROWS", 7)
    inner = cloud(40)
    terms = [*inner.words[:20], "nowhere", *inner.words[20:]]
    check_equal(ApproximateSimilarity(inner, Everything(3)), terms, inner.words, 5)


def test_most_neighbors_are_found_and_recall_is_measured(
    engine: Proposer, caplog: pytest.LogCaptureFixture
) -> None:
    inner = cloud(3000)
    source = ApproximateSimilarity(inner, engine)
    with caplog.at_level("INFO", "softcosine.similarity.embeddings.approximate"):
        found = source.neighbors(inner.words, inner.words, max_neighbors=10)
    exact = inner.neighbors(inner.words, inner.words, max_neighbors=10)
    share = np.mean(
        [len({*found.of(i)[0]} & {*exact.of(i)[0]}) / len(exact.of(i)[0]) for i in range(3000)]
    )
    assert share > 0.95
    assert source.recall == pytest.approx(share, abs=0.03)
    assert (f"finds {source.recall:.4f} of the 10 nearest" in caplog.text) != engine.exact


def test_similarities_keep_their_bits(engine: Proposer) -> None:
    inner = cloud(500)
    source = ApproximateSimilarity(inner, engine)
    found = source.neighbors(inner.words, inner.words, max_neighbors=6)
    left = [inner.words[i] for i in found.rows().tolist()]
    right = [inner.words[i] for i in found.indices.tolist()]
    assert found.similarities.tobytes() == inner.similarities(left, right).tobytes()
    assert all(a != b for a, b in zip(left, right, strict=True))
    assert source.similarities(left, right).tobytes() == found.similarities.tobytes()


def test_few_strings_equal_strings_and_unknown_ones(engine: Proposer) -> None:
    inner = cloud(12)
    source = ApproximateSimilarity(inner, engine)
    among = (*inner.words[:3], "nowhere", *inner.words[:3], inner.words[0])
    check_equal(source, [*inner.words, "nowhere"], among, 4)
    for terms, others, k in ((["w1"], ("no", "where"), 3), (["w1"], (), 3), ([], among, 3)):
        assert len(source.neighbors(terms, others, max_neighbors=k).indices) == 0
    assert len(source.neighbors(["w1"], among, max_neighbors=0).indices) == 0
    with pytest.raises(InvalidInputError, match="max_neighbors is -1"):
        source.neighbors(["w1"], among, max_neighbors=-1)


def test_a_list_is_searched_exactly() -> None:
    inner = cloud(30)
    source = ApproximateSimilarity(inner, FaissProposer("no such index"))
    check_equal(source, list(inner.words), list(inner.words), 5)
    assert source.recall is None


def test_saved_are_the_embeddings_alone(engine: Proposer) -> None:
    inner = cloud(30)
    source = ApproximateSimilarity(inner, engine)
    assert repr(source_from_state(source.state())) == repr(inner)
    assert repr(source) == f"ApproximateSimilarity({inner!r}, {engine!r})"
    assert source.knows(["w1", "nowhere"]).tolist() == [True, False]


def test_encoded_terms_may_be_approximated(engine: Proposer) -> None:
    words = [f"w{i}" for i in range(60)]
    inner = EncoderSimilarity(lambda ts: np.array([[1.0, int(t[1:]) % 9, 3.0] for t in ts]))
    source = ApproximateSimilarity(inner, engine)
    assert len(source.neighbors(words, tuple(words), max_neighbors=3).indices) == 180


def check_device_is_exact(device: str) -> None:
    inner = cloud(2000, dimensions=50)
    source = ApproximateSimilarity(inner, TorchProposer(device))
    assert source.recall == 1.0
    for k in (1, 10, 100):
        check_equal(source, list(inner.words), inner.words, k)
    # More equal cosines than there is room for candidates.
    tied = EmbeddingSimilarity([f"w{i}" for i in range(300)], np.ones((300, 3)))
    check_equal(ApproximateSimilarity(tied, TorchProposer(device)), ["w7"], tied.words, 5)


def test_pytorch_gives_the_exact_neighbors() -> None:
    pytest.importorskip("torch")
    check_device_is_exact("cpu")


def test_a_gpu_gives_the_exact_neighbors() -> None:
    torch = pytest.importorskip("torch")
    if not torch.cuda.is_available():
        pytest.skip("needs a GPU that PyTorch can use")
    check_device_is_exact("cuda")


def test_an_engine_that_is_not_there_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    inner = cloud(10)
    with pytest.raises(InvalidInputError, match="engine is 'annoy'; it must be one of faiss, us"):
        ApproximateSimilarity(inner, "annoy")
    with pytest.raises(InvalidInputError, match="sampled is -1"):
        ApproximateSimilarity(inner, "faiss", sampled=-1)
    with pytest.raises(InvalidInputError, match="engine is of type int; pass its name"):
        ApproximateSimilarity(inner, 3)  # type: ignore[arg-type]
    with pytest.raises(InvalidInputError, match=r"source is of type Strongest.*; engines search"):
        ApproximateSimilarity(strongest(inner), "faiss")  # type: ignore[arg-type]
    for name, module in PACKAGES.items():
        monkeypatch.setitem(sys.modules, module, None)
        with pytest.raises(MissingDependencyError, match=rf"pip install 'softcosine\[{name}\]'"):
            ApproximateSimilarity(inner, name).neighbors(["w1"], inner.words, max_neighbors=1)


def test_an_index_that_cannot_be_built_is_named() -> None:
    pytest.importorskip("faiss")
    source = ApproximateSimilarity(cloud(10), FaissProposer("nonsense"))
    with pytest.raises(InvalidInputError, match="Faiss cannot build 'nonsense' of 10 vectors"):
        source.neighbors(["w1"], source.source.words, max_neighbors=1)  # type: ignore[union-attr]


def test_a_device_that_is_not_there_is_named() -> None:
    torch = pytest.importorskip("torch")
    if torch.cuda.is_available():
        pytest.skip("there is a GPU")
    with pytest.raises(InvalidInputError, match="cannot use the device 'cuda'"):
        ApproximateSimilarity(cloud(10), "torch").neighbors(["w1"], ("w1",), max_neighbors=1)
