"""Where similarities come from: every join, and what a person or a guard overrules."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given

from softcosine.errors import InvalidInputError
from softcosine.lab import wordnet_similarity
from softcosine.similarity.combine.combined import first, noisy_or, scaled, strongest
from softcosine.similarity.embeddings.embedding import EmbeddingSimilarity
from softcosine.similarity.overrides.antonyms import Antonyms
from softcosine.similarity.overrides.decision_list import Decisions
from softcosine.similarity.overrides.decisions import decided, pinned, without
from softcosine.similarity.overrides.guard import Guarded, guarded
from softcosine.similarity.provenance import Origin, name_of, origins, overruled
from softcosine.similarity.source import TermSimilaritySource
from softcosine.similarity.spelling.edit_distance import EditDistanceSimilarity
from softcosine.similarity.thesaurus.thesaurus import ThesaurusSimilarity
from tables import TERMS, Table, several
from toys import ToySource


class Named(ToySource):
    """A user's own source, with a name of its own."""

    def __init__(self, name, pairs, **settings):
        super().__init__(pairs, **settings)
        self.name = name


GLOVE = Named("glove", {("a", "b"): 0.5, ("a", "c"): 0.25})
SYNONYMS = Named("synonyms", {("a", "b"): 0.75}, known=["c"])


def told(source: TermSimilaritySource, left: str, right: str) -> str:
    (origin,) = origins(source, [left], [right])
    assert origin.similarity == source.similarities([left], [right]).item()
    return str(origin)


def test_the_strongest_counts() -> None:
    source = strongest(GLOVE, SYNONYMS)
    assert told(source, "a", "b") == "synonyms 0.75 (glove 0.50)"
    assert told(source, "a", "c") == "glove 0.25"
    assert told(source, "b", "c") == "no source"
    assert told(strongest(SYNONYMS, SYNONYMS), "a", "b") == "synonyms 0.75, synonyms 0.75"


def test_everyone_who_says_something_counts_as_evidence() -> None:
    source = noisy_or(GLOVE, SYNONYMS)
    assert told(source, "a", "b") == "glove 0.50, synonyms 0.75"
    assert told(source, "a", "c") == "glove 0.25"


def test_the_first_that_knows_both_counts() -> None:
    assert told(first(SYNONYMS, GLOVE), "a", "c") == "synonyms (glove 0.25)"
    assert told(first(GLOVE, SYNONYMS), "a", "b") == "glove 0.50 (synonyms 0.75)"


def test_a_persons_decisions_are_named() -> None:
    source = decided(
        GLOVE,
        Decisions.of(
            pinned={("a", "b"): 0.9, ("a", "x"): 0.125},
            forbidden=[("A", "c")],
            weighed={"d": 0.5},
            isolated=["e"],
        ),
    )
    assert told(source, "a", "b") == "pinned 0.90 (glove 0.50)"
    assert told(source, "x", "A") == "pinned 0.12"
    assert told(source, "c", "a") == "forbidden (glove 0.25)"
    assert told(source, "b", "e") == "isolated"
    assert told(decided(GLOVE, Decisions.of(weighed={"a": 0.5})), "a", "b") == (
        "glove 0.50, times 0.5"
    )
    assert overruled(source, "A") == ["c"]
    assert overruled(Guarded(strongest(without(source, [("b", "a")]))), "a") == ["b", "c"]
    assert overruled(GLOVE, "a") == []


def test_guards_and_scales_are_told() -> None:
    guard = Guarded(
        ToySource({("a", "b"): 0.5, ("e1", "e2"): 0.5}), antonyms=Antonyms([("A", "b")])
    )
    assert told(guard, "a", "b") == "antonyms (toy source 0.50)"
    assert told(guard, "e1", "e2") == "digits (toy source 0.50)"
    assert told(guard, "a", "a") == "same word 1.00"
    assert told(scaled(GLOVE, 0.5), "a", "b") == "glove 0.50, times 0.5"


def test_sources_of_one_name_are_numbered() -> None:
    one = EmbeddingSimilarity(["a", "b"], [[3, 4], [4, 3]])
    other = EmbeddingSimilarity(["a", "b"], [[1, 0], [4, 3]])
    assert told(strongest(one, scaled(other, 0.5)), "a", "b") == "vectors 1 0.85 (vectors 2 0.41)"
    assert told(one, "a", "b") == "vectors 0.85"


def test_names_are_short_and_known_after_a_copy() -> None:
    english = EmbeddingSimilarity.english()
    assert name_of(english) == "english"
    assert name_of(EmbeddingSimilarity.from_state(english.state())) == "english"
    assert name_of(strongest(english)) == "strongest"
    assert name_of(noisy_or(english)) == "noisy or"
    assert name_of(guarded(english)) == "guarded"
    assert name_of(EditDistanceSimilarity()) == "spelling"
    assert name_of(GLOVE) == "glove"
    assert name_of(ToySource({})) == "toy source"


def test_a_thesaurus_has_the_name_of_its_file(tmp_path: Path) -> None:
    path = tmp_path / "words, from 2.txt"
    path.write_text("tyre, tire\n")
    assert name_of(ThesaurusSimilarity.load(path)) == "words, from 2.txt"


@pytest.mark.data
def test_wordnet_has_the_name_of_its_measure(data: Path) -> None:
    source = wordnet_similarity(data / "wordnet")
    assert name_of(source) == "wordnet by path"


@given(several)
def test_a_tree_says_what_every_part_says(tables: list[Table]) -> None:
    source = pinned(strongest(first(*tables), scaled(noisy_or(*tables), 0.5)), {("a", "b"): 0.5})
    left, right = [a for a in TERMS for _ in TERMS], list(TERMS) * len(TERMS)
    found = origins(source, left, right)
    assert [one.similarity for one in found] == source.similarities(left, right).tolist()
    for i, (a, b) in enumerate(zip(left, right, strict=True)):
        leaves = list(found[i].leaves())
        if a == b:
            assert leaves == [Origin("same word", 1.0)]
            continue
        if {a, b} == {"a", "b"}:
            assert leaves.pop(0) == Origin("pinned", 0.5)
            assert not any(leaf.counts for leaf in leaves)
        assert len(leaves) == 2 * len(tables)
        assert [leaf.similarity for leaf in leaves] == [
            table.similarities([a], [b]).item() for table in tables
        ] * 2
        json.dumps(found[i].to_dict())


def test_an_origin_is_a_tree_in_json() -> None:
    (origin,) = origins(scaled(strongest(GLOVE, SYNONYMS), 0.5), ["a"], ["b"])
    assert origin.to_dict() == {
        "name": "scaled",
        "similarity": 0.375,
        "counts": True,
        "note": "times 0.5",
        "parts": [
            {
                "name": "strongest",
                "similarity": 0.75,
                "counts": True,
                "parts": [
                    {"name": "glove", "similarity": 0.5, "counts": False},
                    {"name": "synonyms", "similarity": 0.75, "counts": True},
                ],
            }
        ],
    }


def test_pairs_of_different_number_are_refused() -> None:
    assert origins(GLOVE, [], []) == []
    with pytest.raises(InvalidInputError, match="left has 1 terms but right has 0"):
        origins(GLOVE, ["a"], [])
    assert np.isfinite(origins(strongest(GLOVE), ["a"], ["nowhere"])[0].similarity)
