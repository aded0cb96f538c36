"""spaCy's pipelines: word vectors as a source of similarity, lemmas for an analyzer."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("spacy", reason="needs spacy, which is not installed")

import spacy

import softcosine as sc
from softcosine.errors import InvalidInputError
from softcosine.similarity.registry import SourceSettings, source_named

VECTORS = {
    "tyre": [3.0, 4.0],
    "tyres": [3.0, 4.0],
    "tire": [4.0, 3.0],
    "Moon": [-4.0, 3.0],
    "blank": [0.0, 0.0],  # without a vector: unknown
}
LEMMAS = {"tyres": "tyre", "Mice": "mouse", "went": "go", "left": "leave"}


@pytest.fixture
def pipeline():
    """A blank pipeline with vectors and rules of lemmas, made here: nothing is downloaded."""
    nlp = spacy.blank("en")
    for word, vector in VECTORS.items():
        nlp.vocab.set_vector(word, np.array(vector, np.float32))
    ruler = nlp.add_pipe("attribute_ruler")
    for word, lemma in LEMMAS.items():
        ruler.add(patterns=[[{"ORTH": word}]], attrs={"LEMMA": lemma})
    ruler.add(patterns=[[{"ORTH": "the"}, {"ORTH": "left"}]], attrs={"LEMMA": "left"}, index=1)
    return nlp


def test_the_vectors_of_a_pipeline_are_a_source(pipeline):
    source = sc.EmbeddingSimilarity.from_spacy(pipeline, threshold=0.1, exponent=2)
    same = sc.EmbeddingSimilarity(list(VECTORS), list(VECTORS.values()), threshold=0.1, exponent=2)
    words = [*VECTORS, "moon", "unknown"]
    for left in words:
        expected = same.similarities([left] * len(words), words)
        assert source.similarities([left] * len(words), words).tolist() == expected.tolist()


def test_a_pipeline_in_a_folder_is_a_source_by_name(pipeline, tmp_path):
    pipeline.to_disk(tmp_path / "nlp")
    source = source_named(f"spacy:{tmp_path / 'nlp'}", SourceSettings(None, None, None, None))
    assert sorted(source.words) == ["Moon", "tire", "tyre", "tyres"]


def test_a_pipeline_that_is_not_installed_is_named_with_the_command(tmp_path):
    with pytest.raises(InvalidInputError, match="python -m spacy download no_such_pipeline"):
        source_named("spacy:no_such_pipeline", SourceSettings(None, None, None, None))


@pytest.mark.parametrize(
    ("given", "message"),
    [(spacy.blank("en"), "no vectors by word"), ("en_core_web_md", "is no pipeline of spaCy")],
    ids=["without vectors", "a name"],
)
def test_what_has_no_vectors_is_refused(given, message):
    with pytest.raises(InvalidInputError, match=message):
        sc.EmbeddingSimilarity.from_spacy(given)


def test_lemmas_are_by_word_and_the_most_frequent_in_the_texts_wins(pipeline):
    texts = ["We went; Mice left", "they left for the left", "the tyres, 20km e-mails"]
    lemmas = sc.spacy_lemmas(pipeline, texts)
    assert lemmas == {"went": "go", "mice": "mouse", "left": "leave", "tyres": "tyre"}


def test_an_index_of_lemmas_needs_no_spacy(pipeline, tmp_path):
    texts = ["Mice went away", "he will go home", "new tyres"]
    analyzer = sc.Analyzer(lemmas=sc.spacy_lemmas(pipeline, texts))
    source = sc.EmbeddingSimilarity.from_spacy(pipeline)
    index = sc.SoftIndex.from_texts(texts, analyzer=analyzer, source=source, encoder=None)
    index.save(tmp_path / "lemmas.index")
    opened = sc.SoftIndex.open(tmp_path / "lemmas.index")
    assert opened.analyzer == analyzer
    assert opened.search("go", expand=False).ids == index.search("go", expand=False).ids
    assert sorted(opened.search("+went", syntax=True).ids) == ["0", "1"]
    assert opened.search("tire").ids == ["2"]
    (part,) = opened.explain("mouse", "0").parts
    assert (part.query_word, part.document_word, part.exact) == ("mouse", "mice", True)


def test_a_pipeline_without_lemmas_is_refused():
    with pytest.raises(InvalidInputError, match="gives no lemmas"):
        sc.spacy_lemmas(spacy.blank("en"), ["some words"])
