"""How S is made, as one value: built, written, read."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from softcosine.errors import AlreadyExistsError, InvalidInputError, MalformedFileError
from softcosine.index.directory.manifest import IndexSettings
from softcosine.index.soft_index import SoftIndex
from softcosine.matrix.recipe import SimilarityRecipe
from softcosine.matrix.term_similarity_matrix import TermSimilarityMatrix
from softcosine.similarity import registry as kinds
from softcosine.similarity.combine.combined import strongest
from softcosine.similarity.overrides.decision_list import Decisions
from softcosine.similarity.overrides.guard import Guarded
from softcosine.similarity.pairs import PairSimilarity
from softcosine.similarity.spelling.edit_distance import EditDistanceSimilarity
from softcosine.text.analyzer import Analyzer
from softcosine.text.corpus import analyze
from softcosine.text.vocabulary import Vocabulary

WORDS = Vocabulary(["car", "cat", "hot", "cold", "tire", "tyre"])
PAIRS = PairSimilarity({("car", "tire"): 0.5, ("cat", "tyre"): 0.75})
TEXTS = ["a flat tyre of a car", "the cat is cold", "hot tea for the cat", "a tire for a car"] * 3

recipes = st.just(SimilarityRecipe(sources=())) | st.builds(
    SimilarityRecipe,
    sources=st.sampled_from([None, ("english",), ("texts", "edit-distance")]),
    combine=st.sampled_from(["strongest", "first", "noisy-or"]),
    overrides=st.sampled_from(
        [None, Decisions(), Decisions.of(pinned={("a b", "c"): 0.3}, isolated=['"#'])]
    ),
    guard=st.booleans(),
    max_neighbors=st.none() | st.integers(0, 50),
    min_similarity=st.floats(0, 1),
    order=st.sampled_from(["rare_first", "idf"]),
    scaling=st.sampled_from(["auto", "none", "balanced", "definite"]),
)


@given(recipes)
def test_a_recipe_that_is_written_and_read_is_the_same(recipe):
    assert SimilarityRecipe.from_dict(json.loads(json.dumps(recipe.to_dict()))) == recipe


def test_a_recipe_is_kept_in_a_file_that_a_person_can_write(tmp_path):
    recipe = SimilarityRecipe(sources=["english"], exponent=2, scaling="definite")
    recipe.save(tmp_path / "s.json")
    assert SimilarityRecipe.load(tmp_path / "s.json") == recipe
    with pytest.raises(AlreadyExistsError, match="overwrite=True"):
        recipe.save(tmp_path / "s.json")
    (tmp_path / "own.json").write_text('{"sources": ["english", "edit-distance"]}')
    own = SimilarityRecipe.load(tmp_path / "own.json")
    assert own == SimilarityRecipe(sources=("english", "edit-distance"))
    (tmp_path / "bad.json").write_text('{"source": "english"}')
    with pytest.raises(MalformedFileError, match="no setting 'source'; it has sources, combine"):
        SimilarityRecipe.load(tmp_path / "bad.json")


def test_s_is_what_the_parts_make_by_hand():
    recipe = SimilarityRecipe(
        sources=[PAIRS, "edit-distance"], max_neighbors=3, min_similarity=0.1,
        overrides=Decisions.of(forbidden=[("tire", "tyre")]),
    )  # fmt: skip
    made = recipe.build(WORDS)
    by_hand = TermSimilarityMatrix.from_source(
        Guarded(strongest(PAIRS, EditDistanceSimilarity())), WORDS, max_neighbors=3,
        min_similarity=0.1, balanced=True, warn=False,
    )  # fmt: skip
    assert made.S.similarity("tire", "tyre") == 0.0 < by_hand.similarity("tire", "tyre")
    assert made.note == (
        "Similarities come from PairSimilarity, edit-distance, joined by strongest. 1 decision "
        "overrides them."
    )
    without = SimilarityRecipe(sources=[PAIRS, "edit-distance"], max_neighbors=3,
                               min_similarity=0.1).build(WORDS)  # fmt: skip
    np.testing.assert_array_equal(without.S.to_scipy().toarray(), by_hand.to_scipy().toarray())


def test_no_source_makes_s_the_identity():
    made = SimilarityRecipe(sources=[]).build(WORDS)
    assert (made.S.to_scipy().toarray() == np.eye(len(WORDS))).all()
    assert made.source is None


def test_the_guard_may_be_left_out():
    hot = PairSimilarity({("hot", "cold"): 0.9})
    assert SimilarityRecipe(sources=[hot]).build(WORDS).S.similarity("hot", "cold") == 0.0
    made = SimilarityRecipe(sources=[hot], guard=False).build(WORDS)
    assert made.S.similarity("hot", "cold") > 0.0


def test_the_default_is_that_of_the_language_of_the_texts():
    analyzed = analyze(TEXTS, Analyzer("english"))
    made = SimilarityRecipe().build(analyzed.vocabulary, analyzed, language="english")
    whole = SoftIndex.from_texts(TEXTS, language="english")
    assert made.note == whole.snapshot.settings.note
    assert SimilarityRecipe().build(analyzed.vocabulary, language="english").note == made.note
    assert not SimilarityRecipe().needs_texts()


@pytest.mark.parametrize(
    "recipe",
    [
        SimilarityRecipe(max_neighbors=2),
        SimilarityRecipe(sources=["english"], scaling="definite", min_similarity=0.2),
        SimilarityRecipe(sources=["texts", "english"], combine="first"),
        SimilarityRecipe(sources=["english"], overrides=Decisions.of(pinned={("tea", "car"): 0.4})),
        SimilarityRecipe(sources=["english"], guard=False),
        SimilarityRecipe(sources=[]),
    ],
    ids=str,
)
def test_an_index_is_made_by_a_recipe_in_memory_and_in_a_folder(tmp_path, recipe):
    whole = SoftIndex.from_texts(TEXTS, similarity=recipe)
    SoftIndex.create(tmp_path / "x.index", similarity=recipe)
    index = SoftIndex.open(tmp_path / "x.index")  # as another process would
    with index.writer() as writer:
        writer.add_many(map(str, range(len(TEXTS))), TEXTS)
    assert index.note == whole.note
    for query in ("tea", "tyre", "automobile", "kitten"):
        assert index.search(query) == whole.search(query)
    if recipe.overrides is not None:
        assert whole.S.similarity("tea", "car") == np.float32(0.4)


def test_overrides_bring_their_phrases_as_terms():
    decided = Decisions.of(pinned={("flat tyre", "tea"): 0.5})
    recipe = SimilarityRecipe(sources=["english"], overrides=decided)
    index = SoftIndex.from_texts(TEXTS, similarity=recipe)
    assert index.search("flat tyre").ids[0] in {"0", "3", "6", "9"}
    assert "flat tyre" in index.vocabulary


def test_sources_without_a_name_cannot_be_written(tmp_path):
    recipe = SimilarityRecipe(sources=[PAIRS], overrides=Decisions.of(isolated=["car"]))
    for write in (recipe.to_dict, lambda: recipe.save(tmp_path / "x.json")):
        with pytest.raises(InvalidInputError, match="PairSimilarity is a source without a name"):
            write()
    assert list(tmp_path.iterdir()) == []
    index = SoftIndex.from_texts(TEXTS, similarity=recipe)
    assert index.S.neighbors("car") == []


def test_other_packages_add_kinds_of_sources(monkeypatch):
    class Entry:
        name = "toy"

        def load(self):
            return kinds.SourceKind(
                PairSimilarity, lambda cls, place, settings: cls({("car", place): 0.5}), placed=True
            )

    monkeypatch.setattr(kinds, "entry_points", lambda group: [Entry()])
    kinds._added.cache_clear()
    try:
        made = SimilarityRecipe(sources=["toy:cat"]).build(WORDS)
    finally:
        kinds._added.cache_clear()
        del kinds.KINDS["toy"]
    assert [term for term, _ in made.S.neighbors("car")] == ["cat"]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"sources": "english"}, "sources is a single string"),
        ({"sources": [3]}, "the source is 3"),
        ({"sources": ["nonsense"]}, "the source 'nonsense' is not understood"),
        ({"sources": b"english"}, "sources is a single string"),
        ({"sources": [""]}, "the source '' is not understood"),
        ({"sources": ["x" * 9999]}, "is not understood"),
        ({"combine": "best"}, "combine is 'best'"),
        ({"combine": ["first"]}, r"combine is \['first'\]"),
        ({"guard": "false"}, "guard is 'false'; it must be True or False"),
        ({"sources": [], "overrides": Decisions.of(isolated=["car"])}, r"there are none \(S = I\)"),
        ({"order": "best"}, "order is 'best'"),
        ({"scaling": "best"}, "scaling is 'best'; it must be one of auto, none"),
        ({"strategy": "rows", "scaling": "definite"}, "makes S asymmetric"),
        ({"threshold": 2}, "threshold is 2; it must be a number from 0 to 1"),
        ({"exponent": float("nan")}, "exponent is nan"),
        ({"max_neighbors": -1}, "max_neighbors is -1"),
        ({"min_similarity": 2}, "min_similarity is 2"),
        (
            {"sources": ["edit-distance"], "exponent": 2},
            "exponent are for named sources of vectors",
        ),
        ({"overrides": ["car ! cat"]}, "overrides"),
    ],
)
def test_what_makes_no_sense_is_refused_before_anything_is_read(settings, message):
    with pytest.raises(InvalidInputError, match=message):
        SimilarityRecipe(**settings)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ([], r"the recipe is \[\]"),
        ({"format": "softcosine-index"}, "with the format 'softcosine-recipe'"),
        ({"version": 7}, "of version 7; this release reads 1"),
        ({"overrides": "car ! cat"}, "the overrides are 'car ! cat'; needed is a list of lines"),
        ({"overrides": ["car"]}, "car"),
        ({1: 2, "nope": 3}, "a recipe has no setting 1"),
        ({"proposer": "faiss"}, 'delete "proposer" from the recipe'),
        ({"calibrate": True}, 'delete "calibrate" from the recipe'),
    ],
)
def test_what_is_no_recipe_is_refused(given, message):
    with pytest.raises(InvalidInputError, match=message):
        SimilarityRecipe.from_dict(given)


def test_a_recipe_of_an_earlier_release_is_read():
    recipe = SimilarityRecipe(sources=["english"])
    earlier = {**recipe.to_dict(), "proposer": None, "calibrate": False}
    assert SimilarityRecipe.from_dict(earlier) == recipe


def test_an_index_whose_recipe_named_a_proposer_opens():
    recipe = SimilarityRecipe(sources=["english"])
    settings = SoftIndex.create(plain=True).snapshot.settings.to_dict()
    settings["recipe"] = {**recipe.to_dict(), "proposer": "faiss", "calibrate": True}
    assert IndexSettings.from_dict(settings).recipe == recipe


def test_what_is_no_file_of_a_recipe_is_refused(tmp_path):
    with pytest.raises(InvalidInputError, match="the path is None"):
        SimilarityRecipe.load(None)
    with pytest.raises(MalformedFileError, match="it is a folder"):
        SimilarityRecipe.load(tmp_path)


def test_numbers_of_numpy_are_written_as_numbers(tmp_path):
    recipe = SimilarityRecipe(
        sources=["english"], guard=False, max_neighbors=np.int64(5), threshold=np.float32(0.5),
        exponent=np.float64(2), min_similarity=np.float32(0.25),
    )  # fmt: skip
    recipe.save(tmp_path / "s.json")
    assert SimilarityRecipe.load(tmp_path / "s.json") == recipe
    for own in ({"similarity": recipe}, {"max_neighbors": np.int64(5)}):
        SoftIndex.create(tmp_path / "x", overwrite=True, **own)


def test_a_tiny_exponent_gives_no_warning():
    recipe = SimilarityRecipe(sources=["english"], exponent=1e-300)
    assert recipe.build(WORDS).S is not None


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"similarity": "english"}, "similarity is of type str; pass a SimilarityRecipe"),
        ({"similarity": {"source": []}}, "a recipe has no setting 'source'; it has sources, "),
        ({"similarity": SimilarityRecipe(), "plain": True}, "exclude each other"),
        ({"similarity": SimilarityRecipe(), "max_neighbors": 3}, "a recipe has a setting of its"),
    ],
)
def test_an_index_takes_one_way_to_make_s(settings, message):
    with pytest.raises(InvalidInputError, match=message):
        SoftIndex.from_texts(["a"], **settings)


def test_a_list_stands_before_the_default_source_unless_it_says_only(tmp_path):
    (tmp_path / "own.txt").write_text("handy, mobiltelefon\n", encoding="utf-8")
    texts = ["Das Mobiltelefon ist kaputt", "Die Rechtschreibprüfung findet den Fehler nicht"]
    own = str(tmp_path / "own.txt")
    for sources, spelling in (
        ([own], ["1"]),
        ([f"list:{own}"], ["1"]),
        ([f"only:{own}"], []),
        ([f"only:list:{own}"], []),
        ([own, "edit-distance"], []),
    ):
        recipe = SimilarityRecipe(sources=sources)
        index = SoftIndex.from_texts(texts, language="german", similarity=recipe)
        assert index.search("Handy").ids == ["0"], sources
        assert index.search("Rechtschreibung").ids == spelling, sources
    english = SoftIndex.from_texts(
        ["start the mango", "a doctor for your illness"], language="english", encoder=None,
        similarity=SimilarityRecipe(sources=[own]),
    )  # fmt: skip
    assert english.search("physician").ids == ["1"]
