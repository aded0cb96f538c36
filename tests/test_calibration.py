"""Calibration: isotonic regression against scipy's, and what the calibrated source promises."""

from __future__ import annotations

import gzip
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import isotonic_regression
from scipy.stats import spearmanr

from softcosine.errors import InvalidInputError
from softcosine.similarity.combine.calibration import (
    CalibratedSimilarity,
    Calibration,
    calibrated,
    default_calibration,
    uncalibrated,
)
from softcosine.similarity.combine.combined import mean, scaled, strongest
from softcosine.similarity.combine.isotonic import _groups, _pooled
from softcosine.similarity.embeddings.embedding import EmbeddingSimilarity
from softcosine.similarity.overrides.guard import Guarded
from softcosine.similarity.source import register_source, source_from_state
from tables import TERMS, Table, check_neighbors, drawn, square
from toys import SavableToySource, ToySource

unit = st.floats(0, 1, allow_subnormal=False)
judged_pairs = st.lists(st.tuples(st.sampled_from((0.0, 0.25, 0.5, 0.7, 1.0)) | unit, unit))


@given(judged_pairs, st.integers(1, 9), st.sampled_from((1e-6, 1.0, 5.0)))
def test_a_fit_rises_strictly_from_0_to_below_1(
    pairs: list[tuple[float, float]], max_knots: int, prior: float
) -> None:
    raw, judged = [x for x, _ in pairs], [y for _, y in pairs]
    fitted = Calibration.fit(raw, judged, max_knots=max_knots, prior=prior)
    assert fitted.raw[0] == fitted.judged[0] == 0.0
    assert fitted.raw[-1] == 1.0
    assert fitted.judged[-1] < 1.0
    assert all(a < b for knots in (fitted.raw, fitted.judged) for a, b in pairwise(knots))
    assert len(fitted.raw) <= max_knots + 2
    assert fitted.n_pairs == sum(x > 0 for x in raw)
    values = fitted(np.linspace(0, 1, 1001, dtype=np.float32))
    assert values.dtype == np.float32
    assert (np.diff(values) >= 0).all()
    assert values[0] == 0.0


@given(st.lists(st.tuples(unit, unit), min_size=1), st.integers(1, 9))
def test_blocks_are_those_of_isotonic_regression(
    pairs: list[tuple[float, float]], n_groups: int
) -> None:
    x, y = np.array(pairs).T
    groups = _groups(x, y, n_groups)
    assert len(groups) <= n_groups
    weights, xs, ys = np.array(groups).T
    assert weights.sum() == len(pairs)
    assert weights @ xs == pytest.approx(x.sum())
    assert weights @ ys == pytest.approx(y.sum())
    expected = isotonic_regression(ys, weights=weights)
    blocks = _pooled(groups)
    fitted = (
        np.repeat([block[2] for block in blocks], np.diff(expected.blocks))
        if len(blocks) == len(expected.blocks) - 1
        else None
    )
    if fitted is None:  # scipy may leave equal neighbours apart
        assert np.unique(expected.x.round(9)).size <= len(blocks)
    else:
        assert fitted == pytest.approx(expected.x)


def test_equal_similarities_are_never_cut_apart() -> None:
    groups = _groups(np.array([0.5] * 90 + [1.0] * 10), np.arange(100) / 100, 8)
    assert [(n, x) for n, x, _ in groups] == [(90.0, 0.5), (10.0, 1.0)]


def test_no_pairs_leave_the_identity_and_few_move_little() -> None:
    nothing = Calibration.fit([], [])
    assert nothing(np.array([0.25, 1.0])).tolist() == pytest.approx([0.25, 1.0], abs=0.001)
    assert Calibration.fit([0.0, 0.0], [0.9, 0.1]).raw == nothing.raw
    few = Calibration.fit([0.5], [1.0])(np.array([0.5])).item()
    many = Calibration.fit([0.5] * 500, [0.9] * 500)(np.array([0.5])).item()
    assert 0.5 < few < 0.6
    assert many == pytest.approx(0.9, abs=0.01)


def test_judgements_against_the_order_are_pooled() -> None:
    raw = [0.2] * 100 + [0.4] * 100 + [0.8] * 100
    fitted = Calibration.fit(raw, [0.6] * 100 + [0.2] * 100 + [0.9] * 100)
    low, middle, high = fitted(np.array([0.2, 0.4, 0.8])).tolist()
    assert low < middle < high
    assert fitted(np.array([0.3])).item() == pytest.approx(0.4, abs=0.02)


def test_where_raw_similarity_1_is_judged_less_the_end_is_less() -> None:
    fitted = Calibration.fit([1.0] * 200 + [0.5] * 200, [0.7] * 200 + [0.4] * 200)
    assert fitted.judged[-1] == pytest.approx(0.7, abs=0.01)


@given(drawn(), st.integers(1, 6), judged_pairs)
def test_neighbours_are_those_of_the_mapped_table(
    table: Table, k: int, pairs: list[tuple[float, float]]
) -> None:
    fitted = Calibration.fit([x for x, _ in pairs], [y for _, y in pairs])
    source = CalibratedSimilarity(table, fitted)
    expected = fitted(table.S)
    np.fill_diagonal(expected, 1.0)
    assert square(source).tolist() == expected.tolist()
    check_neighbors(source, expected, k)


@pytest.mark.parametrize("k", [1, 2, 3, 4])
def test_similarities_that_rounding_makes_equal_stand_by_their_strings(k: int) -> None:
    step = np.spacing(np.float32(0.5))
    raw = {("x", word): 0.5 + step * i for i, word in enumerate("edcba")}
    flat = Calibration((0, 0.4, 0.6, 1), (0, 0.3, 0.3 + 1e-12, 0.9))
    for source in (CalibratedSimilarity(ToySource(raw), flat), scaled(ToySource(raw), 1e-45)):
        places, _ = source.neighbors(["x"], tuple("edcba"), max_neighbors=k).of(0)
        values = source.similarities(["x"] * 5, list("edcba"))
        expected = sorted(
            (i for i in range(5) if values[i]), key=lambda i: (-values[i], "edcba"[i])
        )
        assert places.tolist() == expected[:k]


def test_a_source_is_calibrated_by_pairs_that_are_given() -> None:
    vectors = ToySource({("a", "b"): 0.2, ("c", "d"): 0.6})
    pairs = [("a", "b", 0.5), ("c", "d", 0.9), ("a", "a", 0.0), ("a", "nowhere", 0.3)] * 50
    source = calibrated(vectors, pairs, fitted_on="pairs of mine")
    assert source.raw is vectors
    assert source.calibration.n_pairs == 100
    assert "fitted on 100 pairs of mine" in repr(source)
    found = source.similarities(["a", "c", "a", "a"], ["b", "d", "c", "a"]).tolist()
    assert found == pytest.approx([0.5, 0.9, 0.0, 1.0], abs=0.04)


def test_calibrations_can_be_taken_off_at_any_depth() -> None:
    register_source("tests-toy", SavableToySource.from_state)
    toy = SavableToySource({("a", "b"): 0.25})
    other = CalibratedSimilarity(toy, Calibration((0, 0.5, 1), (0, 0.9, 0.95)))
    joined = Guarded(strongest(CalibratedSimilarity(other, other.calibration), toy), antonyms=None)
    assert joined.similarities(["a"], ["b"]).item() > 0.4
    plain = uncalibrated(joined)
    assert isinstance(plain, Guarded)
    assert plain.similarities(["a"], ["b"]).item() == 0.25
    assert "calibrated" not in repr(plain)


def test_the_english_vectors_have_a_calibration_for_every_exponent() -> None:
    words = ["car", "tea", "puncture"], ["automobile", "moon", "tyre"]
    values = []
    for exponent in (1.0, 2.0, 4.0):
        source = calibrated(EmbeddingSimilarity.english(threshold=0.0, exponent=exponent))
        assert "judgements of MEN" in source.calibration.fitted_on
        values.append(source.similarities(*words).tolist())
    assert values[0] == pytest.approx(values[1], abs=0.01)
    assert values[0] == pytest.approx(values[2], abs=0.01)
    assert values[0][0] > 0.7
    stored = source_from_state(source.state())
    assert isinstance(stored, CalibratedSimilarity)
    assert stored.calibration == source.calibration
    vectors = EmbeddingSimilarity(["a", "b"], np.eye(2))
    assert default_calibration(vectors) != default_calibration(EmbeddingSimilarity.english())


@pytest.mark.parametrize("exponent", [1e-6, 0.1, 3.0, 50.0, 300.0, 1e6])
def test_calibrations_of_any_power_rise_without_end_or_gap(exponent: float) -> None:
    fitted = Calibration((0.0, 0.01, 0.3, 1.0), (0.0, 0.2, 0.6, 0.95)).of_power(exponent)
    values = fitted(np.linspace(0.0, 1.0, 1001, dtype=np.float32) ** np.float32(exponent))
    assert fitted.judged[-1] == 0.95
    assert values[0] == 0.0
    assert values[-1] == np.float32(0.95)
    assert (np.diff(values) >= 0.0).all()


@pytest.mark.data
def test_calibration_keeps_a_sources_order_and_helps_the_strongest_of_several(data: Path) -> None:
    with gzip.open(data / "wordsim" / "EN-WS-353-ALL.txt.gz", "rt", encoding="utf-8") as lines:
        pairs = [line.split() for line in lines]
    left, right = ([pair[i].lower() for pair in pairs] for i in (0, 1))
    human = [float(pair[2]) for pair in pairs]
    glove = np.load(data / "vectors" / "glove300d_u8_10k.npz")
    rows = glove["q"] / 255.0 * (glove["hi"] - glove["lo"]) + glove["lo"]
    vectors = EmbeddingSimilarity(glove["words"].tolist(), rows)
    english = EmbeddingSimilarity.english()

    def correlation(source: object) -> float:
        return float(spearmanr(source.similarities(left, right), human).statistic)

    for source in (vectors, english):
        assert correlation(calibrated(source)) == pytest.approx(correlation(source), abs=1e-3)
    plain, scaled_alike = (vectors, english), (calibrated(vectors), calibrated(english))
    assert correlation(strongest(*scaled_alike)) > correlation(strongest(*plain))
    assert correlation(mean(*scaled_alike)) > 0.6


def test_wrong_calibrations_are_refused() -> None:
    toy = ToySource({("a", "b"): 0.5})
    with pytest.raises(InvalidInputError, match=r"pair number 1 is \('a', 'c', 7\.5\)"):
        calibrated(toy, [("a", "b", 0.5), ("a", "c", 7.5)])
    with pytest.raises(InvalidInputError, match=r"pair number 0 is \('a', 'b'\)"):
        calibrated(toy, [("a", "b")])  # type: ignore[list-item]
    with pytest.raises(InvalidInputError, match="pair number 0 is"):
        calibrated(toy, [("a", "b", 10**400)])
    with pytest.raises(InvalidInputError, match="there is no calibration for <toys"):
        calibrated(toy)
    with pytest.raises(InvalidInputError, match="it must be a term similarity source"):
        calibrated("english")  # type: ignore[arg-type]
    with pytest.raises(InvalidInputError, match="judgement number 1 is nan"):
        Calibration.fit([0.5, 0.5], [0.5, float("nan")])
    with pytest.raises(InvalidInputError, match="similarity number 0 is -1"):
        Calibration.fit([-1.0], [0.5])
    with pytest.raises(InvalidInputError, match="2 similarities but 1 judgements"):
        Calibration.fit([0.5, 0.5], [0.5])
    for wrong in ({"max_knots": 0}, {"prior": 0.0}, {"prior": float("inf")}):
        with pytest.raises(InvalidInputError, match=r"max_knots is|prior is"):
            Calibration.fit([0.5], [0.5], **wrong)
    for knots in (((0, 1), (0, 1)), ((0, 0.5), (0, 0.5)), ((0, 0.5, 0.5, 1), (0, 0.1, 0.2, 0.3)),
                  ((0, 0.5, 1), (0, 0.5, 0.5)), ((0, 1), (0.1, 0.5)), ((0,), (0,)),
                  ((0, 0.5, 1), (0, 0.9)), ((0, 1), (0, 1 - 1e-12))):  # fmt: skip
        with pytest.raises(InvalidInputError, match="the knots are"):
            Calibration(*knots)


def test_terms_of_the_table_are_those_of_the_source() -> None:
    table = Table(np.eye(6, dtype=np.float32), [True, False] * 3)
    source = CalibratedSimilarity(table, Calibration())
    assert source.knows(TERMS).tolist() == table.knows(TERMS).tolist()
