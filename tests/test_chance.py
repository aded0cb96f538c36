"""Cosines corrected for chance: their mean, and what an index makes of it."""

from __future__ import annotations

from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import oracle
import softcosine as sc
from softcosine.encoders.loading import MINILM, MULTILINGUAL
from softcosine.index.writer import pending_commit
from softcosine.space.chance import above_chance, mean_cosine, slope_of
from toy_encoder import DIMENSIONS, ToyEncoder, toy_space

WORDS = ("flat", "tyre", "moon", "tea", "green", "wheel", "red", "night", "car", "road")
TEXTS = [
    f"{WORDS[i % 10]} {WORDS[i * 7 % 9]} {WORDS[i * i % 8]} {WORDS[i // 5]}" for i in range(45)
]
SPACE = toy_space([*WORDS])
ROWS = st.lists(st.lists(st.integers(-127, 127), min_size=3, max_size=3), max_size=60)


@given(ROWS, st.sampled_from(["toy", MINILM, MULTILINGUAL]), st.randoms())
def test_the_mean_is_that_of_all_pairs_in_any_order(rows, encoder, random):
    found = mean_cosine(np.array(rows, np.int8).reshape(-1, 3), encoder)
    distinct = sorted({tuple(row) for row in rows if any(row)})
    if len(distinct) < (10 if encoder == "toy" else 30):
        assert found == {"toy": 0.15, MINILM: 0.15, MULTILINGUAL: 0.82}[encoder]
    else:
        units = np.array(distinct) / np.linalg.norm(distinct, axis=1, keepdims=True)
        cosines = (units @ units.T)[np.triu_indices(len(units), 1)]
        assert found == pytest.approx(np.clip(cosines.mean(), 0, 0.9), abs=0.0006)
    random.shuffle(rows)
    assert mean_cosine(np.array(rows + rows, np.int8).reshape(-1, 3), encoder) == found


@given(st.lists(st.floats(-1, 1)), st.floats(0, 0.9))
def test_a_cosine_counts_from_the_mean_to_1(cosines, mean):
    known = np.arange(len(cosines)) % 3 > 0
    found = above_chance(np.array(cosines), slope_of(mean), known | (slope_of(mean) == 1.0))
    expected = oracle.above_chance(np.array(cosines), mean)
    np.testing.assert_allclose(found, np.where(known | (mean == 0.15), expected, 0), atol=1e-12)
    assert slope_of(None) == slope_of(0.15) == 1.0


def made(texts=TEXTS, **options):
    options = {"language": "english", "encoder": ToyEncoder(), "meaning_space": SPACE, **options}
    return sc.SoftIndex.from_texts(texts, ids=[f"d{text}" for text in texts], **options)


def as_before(index):
    """The index as earlier versions made it."""
    return index._like(index.snapshot.changed(mean_cosine=None))


def mean(index):
    return index.snapshot.settings.mean_cosine


@pytest.mark.parametrize("n_sampled", [12, 256])
def test_the_mean_depends_on_the_documents_alone(tmp_path, n_sampled):
    with patch.object(pending_commit, "N_SAMPLED", n_sampled):
        texts = [*dict.fromkeys(TEXTS)]
        right, epoch = mean(made(texts)), made(texts).snapshot
        assert right != 0.15
        assert mean(made(texts[::-1])) == right
        empty = {"language": "english", "encoder": ToyEncoder(), "meaning_space": SPACE}
        sc.SoftIndex.create(tmp_path / "x", **empty)
        index = sc.SoftIndex.open(tmp_path / "x", encoder=ToyEncoder())
        for part in (texts[20:], texts[:5], ["moon moon"], texts[5:20]):
            with index.writer() as writer:
                writer.add_many([f"d{text}" for text in part], part)
        with index.writer() as writer:
            writer.delete("dmoon moon")
        assert mean(index) == right
        with index.writer() as writer:
            writer.merge()
        assert mean(sc.SoftIndex.open(tmp_path / "x", encoder=ToyEncoder())) == right
        assert epoch.settings.meaning_weights == index.snapshot.settings.meaning_weights


def test_scores_floors_and_explanations_are_above_chance():
    index = made()
    slope = slope_of(mean(index))
    assert slope != 1.0
    for hit in index.search("flat car on the moon", k=99, meaning=5.0):
        explanation = index.explain("flat car on the moon", hit.id, meaning=5.0)
        assert sum(part.contribution for part in explanation.parts) == pytest.approx(hit.score)
    words = {hit.id: hit.score for hit in index.search("the tea", k=99, ask="words")}
    raw = as_before(index).search("the tea", k=99, meaning=5.0, min_score=-1e9)
    cosines = {hit.id: (hit.score - words.get(hit.id, 0.0)) / 5.0 for hit in raw}
    found = index.search("the tea", k=99, meaning=5.0)
    for hit in found:
        own = oracle.above_chance(np.array(cosines[hit.id]), mean(index))
        assert hit.score == pytest.approx(words.get(hit.id, 0.0) + 5.0 * own)


def test_an_index_of_before_keeps_its_cosines(tmp_path):
    as_before(made()).save(tmp_path / "x")
    index = sc.SoftIndex.open(tmp_path / "x", encoder=ToyEncoder())
    with index.writer() as writer:
        writer.add_many(["new", "newer"], ["moon on the road", "green tea"])
        writer.commit(refresh=True)
    assert mean(index) is None
    assert index.epoch != made().epoch


def test_the_usual_mean_of_few_documents_is_that_of_their_space():
    encoder = ToyEncoder(MULTILINGUAL)
    of_table = toy_space([*WORDS], encoder=MULTILINGUAL)  # without what all vectors share
    for space, mean in ((of_table, 0.15), (DIMENSIONS, 0.82)):
        index = sc.SoftIndex.from_texts(TEXTS[:3], encoder=encoder, meaning_space=space)
        assert index.snapshot.settings.mean_cosine == mean
