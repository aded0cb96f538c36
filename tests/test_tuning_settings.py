"""Settings that tuning chooses: in files, as systems, as indexes, and the space around them."""

from __future__ import annotations

import json
from typing import get_args

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import softcosine as sc
from softcosine.errors import AlreadyExistsError, InvalidInputError, MalformedFileError
from softcosine.evaluate.documents import Documents
from softcosine.evaluate.systems.table import from_spec
from softcosine.evaluate.tuning.settings import Settings, indexed
from softcosine.evaluate.tuning.space import DIMENSIONS, space_around, space_for
from softcosine.evaluate.tuning.workbench import Workbench
from softcosine.index.defaults import MEANING_WEIGHTS
from softcosine.index.rankings import Ranking
from softcosine.similarity.composite import SourceOfOne
from toy_encoder import ToyEncoder, toy_space
from toy_judged import judged_set

NAMED = ("english", "texts")
COSINES = {"exponent": 4.0, "threshold": 0.3}
USUAL = {"combine": "first", "max_neighbors": 100, "scaling": "definite"}


def chosen(**changes):
    """Return settings as tuning makes them; without sources S = I."""
    given = {"sources": ("english",), **COSINES, **USUAL, "stemmer": None, **changes}
    return Settings().changed(**given)


settings_of = st.builds(
    lambda ranked, **changes: chosen(**changes, **ranked),
    ranked=st.one_of(
        st.fixed_dictionaries(
            {
                "ranking": st.sampled_from(get_args(Ranking)),
                "language": st.sampled_from(["auto", "english", "none"]),
            }
        ),
        st.fixed_dictionaries(  # the table is for English
            {
                "language": st.just("english"),
                "ranking": st.sampled_from(sorted(MEANING_WEIGHTS)),
                "encoder": st.just("static"),
                "meaning": st.sampled_from([0.0, 4.0]),
            }
        ),
    ),
    sources=st.sampled_from([(), ("english",), ("texts",), ("english", "texts")]),
    combine=st.sampled_from(["first", "strongest", "noisy-or"]),
    exponent=st.sampled_from([1.0, 2.5, 4.0]),
    threshold=st.sampled_from([0.2, 0.3, 0.5]),
    max_neighbors=st.sampled_from([0, 1, 3, 100]),
    scaling=st.sampled_from(["definite", "balanced"]),
    tf=st.sampled_from(["log", "raw", "binary", "bm25"]),
    idf=st.sampled_from(["smooth", "probabilistic", "bm25", "none"]),
    k1=st.sampled_from([0.9, 1.6]),
    b=st.sampled_from([0.0, 0.75]),
    fields=st.sampled_from(
        [None, (("title", 2.0), ("text", 1.0)), (("title", 1.0), ("text", 1.0))]
    ),
    stemmer=st.sampled_from([None, "english", "auto"]),
    stop_words=st.sampled_from([None, "english"]),
)


@pytest.fixture(scope="module")
def toy():
    return judged_set(fields=True)


@pytest.fixture(scope="module")
def bench(toy):
    return Workbench(toy.documents, queries=toy.queries.texts, longest=50)


@given(settings_of)
def test_settings_come_back_from_their_file_and_from_their_dictionary(settings):
    assert Settings.from_dict(json.loads(json.dumps(settings.to_dict()))) == settings
    assert Settings.from_dict({}) == Settings()


def test_a_file_of_settings_is_written_whole_and_not_over_another(tmp_path):
    path = tmp_path / "tuned.json"
    source = tmp_path / "a, b.csv"
    source.write_text("tyre,tire\n")
    settings = Settings(similarity=sc.SimilarityRecipe(sources=[str(source)])).changed(
        fields=(("title", 2.0),), k1=1, language="german"
    )
    settings.save(path)
    assert Settings.load(path) == settings
    with pytest.raises(AlreadyExistsError, match="exists already"):
        settings.save(path)
    Settings().save(path, overwrite=True)
    assert Settings.load(path) == Settings()
    assert sorted(one.name for one in tmp_path.iterdir()) == ["a, b.csv", "tuned.json"]
    pairs = sc.PairSimilarity({("tyre", "tire"): 0.75})
    with pytest.raises(InvalidInputError, match="PairSimilarity is a source without a name"):
        Settings().changed(sources=[pairs]).save(path, overwrite=True)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "it is no JSON"),
        pytest.param('{"a":' * 200_000, "it is no JSON", id="deep"),
        pytest.param(
            '{"format": "softcosine-settings", "version": 1, "similarity": {"exponent": 1'
            + "0" * 400
            + "}}",
            "it must be a finite number above 0",
            id="large",
        ),
        ("[]", "it holds no settings"),
        ('{"exponent": 2}', "it holds no settings"),
        ('{"format": "softcosine-settings", "version": 9}', "version 9"),
        ('{"format": "softcosine-settings", "version": 1, "exp": 2}', "no setting 'exp'"),
        (
            '{"format": "softcosine-settings", "version": 1, "similarity": {"exponent": -1}}',
            "a finite number above 0",
        ),
        (
            '{"format": "softcosine-settings", "version": 1, "weighting": {"k": 1}}',
            "a setting is of a wrong kind: .*'k'",
        ),
        ('{"format": "softcosine-settings", "version": 1, "fields": 3}', "of a wrong kind"),
        (
            '{"format": "softcosine-settings", "version": 1, "similarity": {"sources": 3}}',
            "sources is of type int",
        ),
    ],
)
def test_what_is_wrong_with_a_file_of_settings_is_said(tmp_path, content, message):
    path = tmp_path / "tuned.json"
    path.write_text(content)
    with pytest.raises(MalformedFileError, match=message):
        Settings.load(path)


def test_a_file_of_settings_that_is_not_there(tmp_path):
    with pytest.raises(FileNotFoundError, match="there is no file"):
        Settings.load(tmp_path / "none.json")


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ({"sources": "english"}, "a single string"),
        ({"combine": "sum"}, "it must be one of"),
        ({"scaling": "some"}, "it must be one of"),
        ({"language": "klingon"}, "language is 'klingon'"),
        ({"ask": "oracle", "encoder": "minilm"}, "ask is 'oracle'"),
        ({"meaning": 3.0}, "for documents with an encoder"),
        ({"meaning": -1, "encoder": "minilm"}, "meaning"),
        ({"exponent": 0}, "a finite number above 0"),
        ({"exponent": "2"}, "a finite number above 0"),
        ({"threshold": 1.5}, "a number from 0 to 1"),
        ({"max_neighbors": -1}, "whole number"),
        ({"ranking": "best"}, "ranking is 'best'"),
        ({"tf": "much"}, "it must be one of"),
        ({"k1": -1}, "k1"),
        ({"stemmer": "klingon"}, "stemmer is 'klingon'"),
        ({"stop_words": 3}, "stop_words is of type int"),
        ({"fields": (("title", -1),)}, "weight of field"),
    ],
)
def test_settings_that_cannot_be(setting, message):
    with pytest.raises(InvalidInputError, match=message):
        Settings().changed(**setting)


def found_by(index, queries):
    return [
        [(hit.id, hit.score) for hit in hits]
        for hits in index.search_batch(queries, k=30, syntax=False)
    ]


@given(settings_of)
def test_the_workbench_ranks_as_an_index_made_by_the_settings(toy, bench, settings):
    made = indexed(toy.documents, settings)
    expected = found_by(made, toy.queries.texts)
    ranked = bench.fitted(settings).ranked(toy.queries, k=30)
    ids = toy.documents.ids
    for row, pairs in enumerate(expected):
        numbers = ranked.numbers[row][ranked.numbers[row] >= 0].tolist()
        assert [(ids[n], s) for n, s in zip(numbers, ranked.scores[row], strict=False)] == pairs
    numbers = [np.arange(len(ids))] * len(toy.queries)
    scored = bench.fitted(settings).scored(toy.queries, numbers)
    for query, scores in zip(toy.queries.texts, scored, strict=True):
        np.testing.assert_array_equal(scores, made.scores(query, list(ids), syntax=False))


@pytest.mark.parametrize("fields", [None, (("title", 2.0), ("text", 1.0))])
@pytest.mark.parametrize("ask", ["static", "encoder", None])
@pytest.mark.parametrize(
    ("ranking", "meaning"), [("soft_bm25", 7.0), ("soft_cosine", 0.5), ("soft_cosine", 0.0)]
)
def test_by_meaning_too_the_workbench_ranks_as_an_index_made_by_the_settings(
    toy, fields, ask, ranking, meaning
):
    encoder, space = ToyEncoder(), toy_space(["automobile", "car", "ship", "sea", "the"])
    bench = Workbench(
        toy.documents, background=("a boat",), encoder=encoder, encoder_cache=None,
        meaning_space=space,
    )  # fmt: skip
    settings = chosen(
        fields=fields,
        ranking=ranking,
        meaning=meaning,
        ask=ask,
        encoder="toy",
        language="english",
    )
    made = indexed(toy.documents, settings, encoder=ToyEncoder(), meaning_space=space)
    bare = Workbench(toy.documents, encoder=encoder, encoder_cache=None, meaning_space=space)
    expected = [
        [(hit.number, hit.score) for hit in hits]
        for hits in made.search_batch(toy.queries.texts, k=30, syntax=False, ask=ask)
    ]
    ranked = bare.fitted(settings).ranked(toy.queries, k=30)
    for row, pairs in enumerate(expected):  # the bench scales vectors to unit length before
        scores = {n: pytest.approx(score, rel=1e-6, abs=1e-6) for n, score in pairs}
        found = dict(zip(ranked.numbers[row].tolist(), ranked.scores[row], strict=True))
        found.pop(-1, None)
        assert found == scores
    assert bench.fitted(settings).ranked(toy.queries, k=30).numbers.max() < len(toy.documents)


@given(settings_of)
def test_the_system_of_the_same_spec_ranks_the_same(toy, bench, settings):
    fitted = from_spec(settings.spec()).fit(toy.documents)
    expected = fitted.ranked(toy.queries, k=30)
    ranked = bench.fitted(settings).ranked(toy.queries, k=30)
    np.testing.assert_array_equal(ranked.numbers, expected.numbers)
    np.testing.assert_allclose(ranked.scores, expected.scores, rtol=1e-12)


def test_the_default_is_what_an_index_does_where_nothing_is_said(toy, bench):
    default = space_for(toy.documents.texts, NAMED, toy.documents.names).default
    usual = sc.SoftIndex.from_texts(toy.documents.texts, ids=toy.documents.ids)
    made = indexed(toy.documents, default)
    assert (made.S.to_scipy() != usual.S.to_scipy()).nnz == 0
    assert found_by(made, toy.queries.texts) == found_by(usual, toy.queries.texts)


def test_the_weight_of_meaning_follows_the_ranking_and_the_encoder(toy):
    for encoder, bm25, cosine in (("static", 10.0, 0.5), ("toy", 50.0, 1.0), (None, None, None)):
        around = space_for(toy.documents.texts, NAMED, ("text",), encoder=encoder)
        moved = {one.ranking: one.meaning for one in around.moves(around.default, "ranking")}
        assert (around.default.meaning, moved["soft_cosine"]) == (bm25, cosine)


def test_an_encoder_in_place_of_the_table_has_the_default_weight(toy):
    settings = chosen(encoder="static", meaning=7.0, language="english")
    made = indexed(toy.documents, settings)
    assert made.snapshot.settings.meaning_weights["soft_tf_bm25"] == 7.0
    made = indexed(toy.documents, settings, encoder=ToyEncoder(), encoder_cache=None)
    assert made.snapshot.settings.meaning_weights["soft_tf_bm25"] == 50.0


def test_of_fields_too_the_default_is_what_an_index_does(toy):
    fields = {"title": 2.0, "text": 1.0}
    columns = [toy.documents.fields[name] for name in fields]
    texts = [dict(zip(fields, row, strict=True)) for row in zip(*columns, strict=True)]
    usual = sc.SoftIndex.from_texts(texts, ids=toy.documents.ids, fields=fields)
    default = space_for(toy.documents.texts, NAMED, toy.documents.names).default
    made = indexed(toy.documents, default.changed(fields=tuple(fields.items())))
    assert (made.S.to_scipy() != usual.S.to_scipy()).nnz == 0
    assert found_by(made, toy.queries.texts) == found_by(usual, toy.queries.texts)


def test_of_another_language_the_default_is_spelling():
    texts = ["der Hund bellt laut am Morgen", "die Katze schläft immer am Nachmittag"]
    space = space_for(texts, ("english", "character-ngrams"), ("text",))
    assert space.default.similarity.sources == ("character-ngrams",)
    assert (space.default.language, space.default["max_neighbors"]) == ("german", 100)
    assert space.values["stop_words"] == (None, "german")
    assert space_for(texts, NAMED, ("text",), language="none").default.language == "none"
    assert all("english" not in names for names, _ in space.values["sources"])
    usual = sc.SoftIndex.from_texts(texts)
    made = indexed(Documents.of(texts), space.default)
    assert found_by(made, ["Hund Katze"]) == found_by(usual, ["Hund Katze"])


def test_a_source_is_asked_once_for_what_several_settings_want(toy):
    asked = []

    class Counted(SourceOfOne):
        kind = "counted"

        def neighbors(self, terms, among, *, max_neighbors):
            asked.append(len(terms))
            return self.source.neighbors(terms, among, max_neighbors=max_neighbors)

        def similarities(self, left, right):
            return self.source.similarities(left, right)

    source = Counted(sc.EmbeddingSimilarity.english())
    bench = Workbench(toy.documents, queries=toy.queries.texts, longest=50)
    one = Settings(language="english").changed(sources=(source,), scaling="definite")
    ranked = [
        bench.fitted(one.changed(max_neighbors=limit, ranking=ranking)).ranked(toy.queries, k=5)
        for limit in (50, 20, 3)
        for ranking in ("soft_bm25", "soft_cosine")
    ]
    assert len(ranked) == 6
    n_terms = len(sc.analyze(toy.documents.texts, sc.Analyzer("english")).vocabulary)
    assert asked.count(n_terms) == 1
    n_asked = len(asked)
    bench.fitted(one.changed(max_neighbors=7)).ranked(toy.queries, k=5)
    assert all(n < n_terms for n in asked[n_asked:])  # columns that are full ask on


def test_background_counts_in_the_statistics_and_is_never_ranked(toy):
    more = ("a car and a ship", "money and bread", "zeppelin")
    bench = Workbench(toy.documents, background=more)
    for fields in (None, (("title", 2.0), ("text", 1.0))):
        fitted = bench.fitted(chosen(sources=("english", "texts"), fields=fields))
        assert "zeppelin" in fitted.index.vocabulary
        ranked = fitted.ranked(toy.queries, k=40)
        assert ranked.numbers.shape == (len(toy.queries), 40)
        assert ranked.numbers.max() < len(toy.documents)
        assert (ranked.numbers[:, 0] >= 0).all()


@pytest.fixture(scope="module")
def space():
    return space_around(
        chosen(language="english", stemmer="auto"),
        sources=("english", "texts", "edit-distance"), fields=("title", "text"),
    )  # fmt: skip


@given(settings_of, st.sampled_from(DIMENSIONS), st.booleans())
def test_moves_are_distinct_and_other_settings_in_their_simplest_form(
    space, settings, dimension, near
):
    moves = space.moves(settings, dimension, near=near)
    assert len({one.key() for one in moves}) == len(moves)
    assert settings not in moves
    assert all(space.simplest(one) == one for one in moves)


@given(settings_of)
def test_what_the_simplest_form_changes_has_no_effect(toy, bench, settings):
    space = space_for(toy.documents.texts, NAMED, toy.documents.names)
    simple = space.simplest(settings)
    expected = bench.fitted(settings).ranked(toy.queries, k=30)
    ranked = bench.fitted(simple).ranked(toy.queries, k=30)
    np.testing.assert_array_equal(ranked.numbers, expected.numbers)


def test_what_is_learned_from_few_texts_is_tried_with_few_neighbors(space):
    moves = space.moves(space.default, "sources")
    moved = {one.similarity.sources: one["max_neighbors"] for one in moves}
    assert moved["texts",] == 10
    assert moved["english", "texts"] == 100
    assert moved["english", "texts", "edit-distance"] == 100


def test_a_space_begins_with_the_default_and_with_what_suits_the_soft_cosine(space):
    starts = space.starts()
    assert starts[0] == space.default
    assert starts[1].ranking == "soft_cosine"
    fixed = space_around(
        space.default, sources=("english",), fields=("text",), given={"ranking": ["inner_product"]},
    )  # fmt: skip
    assert [one.ranking for one in fixed.starts()] == ["inner_product"]
    assert fixed.values["fields"] == (None,)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"power": [2]}, "setting is 'power'; it must be one of ranking"),
        ({"exponent": []}, "a list of values"),
        ({"exponent": "2"}, "a list of values"),
        ({"exponent": [-2]}, "a finite number above 0"),
        ({"fields": [{"title": -2}]}, "weight of field"),
    ],
)
def test_values_that_cannot_be_tried(given, message):
    with pytest.raises(InvalidInputError, match=message):
        space_around(
            chosen(), sources=("english",), fields=("text",), given=given,
        )  # fmt: skip


def test_sources_are_named_alone_or_with_a_plus():
    space = space_around(
        chosen(), sources=("english",), fields=("text",),
        given={"sources": ["none", "english", "english+texts"]},
    )  # fmt: skip
    assert [names for names, _ in space.values["sources"]] == [
        (), ("english",), ("english", "texts"),
    ]  # fmt: skip


def test_an_index_by_settings_needs_their_fields(toy):
    with pytest.raises(InvalidInputError, match="the field 'body', and the documents have"):
        indexed(toy.documents, Settings(fields=(("body", 1.0),)))


def test_an_index_by_settings_takes_sources_that_are_there(toy):
    pairs = sc.PairSimilarity([("automobile", "car", 0.9)])
    made = indexed(toy.documents, Settings().changed(sources=(pairs,)))
    assert made.search("automobile").ids
    assert "PairSimilarity" in made.note


def test_the_spec_names_fields_and_files_of_any_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a+b.csv").write_text("tyre,tire\n")
    settings = Settings(fields=(("to+from", 2.0), ("x:y", 0.5))).changed(sources=("a+b.csv",))
    system = from_spec(settings.spec())
    assert system.sources == ("a+b.csv",)
    assert system.fields == {"to+from": 2.0, "x:y": 0.5}
