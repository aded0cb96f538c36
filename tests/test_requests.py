"""Requests: one description of every option, and its checks."""

from __future__ import annotations

import inspect
import re
from typing import get_args, get_type_hints

import msgspec
import numpy as np
import pytest
import typer

from softcosine import FirstStage, PairSimilarity, SimilarityRecipe, SoftIndex
from softcosine.errors import InvalidInputError
from softcosine.index.options import IndexKeywords, IndexOptions, IndexRequest
from softcosine.index.requests import (
    ExplainRequest,
    Request,
    ScoringKeywords,
    SearchKeywords,
    SearchOptions,
    SearchRequest,
)
from softcosine.operations import OPERATIONS

LOCAL = {"threads", "progress", "checkpoint"}  # of methods alone


@pytest.mark.parametrize("name", OPERATIONS)
def test_a_method_and_its_request_have_the_same_options_and_defaults(name):
    parameters = inspect.signature(getattr(SoftIndex, name)).parameters
    spelled = {one.name: one.default for one in parameters.values() if one.name != "self"}
    spelled = {"q" if name == "query" else name: value for name, value in spelled.items()}
    fields = {
        field.name: field.default_factory() if callable(field.default_factory) else field.default
        for field in msgspec.structs.fields(OPERATIONS[name].request)
    }
    if spelled.pop("options", None) is not None:
        hints = get_type_hints(getattr(SoftIndex, name))
        (keywords,) = get_args(hints["options"])
        assert set(keywords.__annotations__) | set(spelled) == set(fields)
        fields = {option: fields[option] for option in spelled}
    assert set(spelled) - LOCAL == set(fields)
    for option, default in fields.items():
        if default is msgspec.NODEFAULT:
            assert spelled[option] is inspect.Parameter.empty
        else:
            assert spelled[option] == (tuple(default) if isinstance(default, list) else default)


def test_an_operation_answers_as_its_method():
    index = SoftIndex.from_texts(["a flat tyre", "green tea"], plain=True)
    request = SearchRequest.of(q="tyre", k=1, where={})
    assert OPERATIONS["search"].execute(index, request) == index.search("tyre", k=1, where={})


@pytest.mark.parametrize(
    ("keywords", "request_kind"),
    [
        (SearchKeywords, SearchOptions),
        (ScoringKeywords, ExplainRequest),
        (IndexKeywords, IndexOptions),
    ],
)
def test_keywords_are_the_options_of_a_request(keywords, request_kind):
    names = {field.name for field in msgspec.structs.fields(request_kind)}
    assert set(keywords.__annotations__) == names - {"q", "id"}


def kinds(base: type[Request] = Request) -> list[type[Request]]:
    """All requests."""
    below = [kind for own in base.__subclasses__() for kind in (own, *kinds(own))]
    return list(dict.fromkeys(below))


@pytest.mark.parametrize("kind", kinds(), ids=lambda kind: kind.__name__)
def test_every_option_has_a_line_of_explanation(kind):
    for name, schema in msgspec.json.schema_components([kind])[1][kind.__name__][
        "properties"
    ].items():
        assert schema.get("description"), name


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"k": "3"}, "k is '3'; it must be a whole number"),
        ({"k": True}, "k is True; it must be a whole number"),
        ({"k": 2.5}, "k is 2.5; it must be a whole number"),
        ({"q": 5}, "the query is 5; it must be a string"),
        ({"meaning": float("nan")}, "meaning is nan; it must be a number from 0 to 1,000,000"),
        ({"min_score": float("inf")}, "min_score is inf; it must be a finite number"),
        ({"ask": "x"}, "ask is 'x'; it must be one of encoder, static, words, or None"),
        ({"where": [1]}, r"where is \[1\]; it must be a mapping, or None"),
        ({"kk": 1}, "no option 'kk'; there are .*offset"),
        ({"first_stage": {"terms": -1}}, "first_stage is .*must be a whole number"),
        ({"sort": "a", "mmr": 0.5}, "sort and mmr"),
    ],
)
def test_a_wrong_option_is_named_with_what_is_needed(options, message):
    with pytest.raises(InvalidInputError, match=message):
        SearchRequest.of(**{"q": "a", **options})
    if all(not isinstance(value, float) for value in options.values()):  # JSON has no NaN
        with pytest.raises(msgspec.ValidationError):
            msgspec.json.decode(msgspec.json.encode({"q": "a", **options}), type=SearchRequest)


def test_a_missing_option_is_named():
    with pytest.raises(InvalidInputError, match="the query is missing; pass a string"):
        SearchRequest.of(k=3)


def test_numbers_and_arrays_of_numpy_are_taken():
    request = SearchRequest.of(
        q=np.array(["flat", "tyre"]), k=np.int64(3), meaning=np.float32(0.5), facets=("a",)
    )
    assert (request.q, request.k, request.meaning) == (["flat", "tyre"], 3, 0.5)
    assert request.facets == ["a"]


def test_a_request_as_json_is_read_back():
    request = SearchRequest.of(q="a", k=3, where={"a": [1]}, first_stage=FirstStage(None, 200))
    assert msgspec.json.decode(msgspec.json.encode(request), type=SearchRequest) == request


def test_every_door_has_the_options_of_making_an_index_and_tells_them():
    pytest.importorskip("starlette")
    from softcosine.cli.app import app
    from softcosine.client import Client
    from softcosine.serve.models import CreateBody

    stated, every = IndexRequest.__struct_fields__, IndexOptions.__struct_fields__
    assert CreateBody.__struct_fields__ == stated
    for method, options in (
        (SoftIndex.create, every), (SoftIndex.from_texts, every), (Client.create, stated)
    ):  # fmt: skip
        told = re.findall(r"\w+", inspect.getdoc(method))
        assert set(options) <= set(told)
    flags = {"fields": "field", "keep_texts": "texts"}
    index = typer.main.get_command(app).commands["index"].loaded
    shown = {one.removeprefix("--") for own in index.params for one in own.opts}
    for name in {*stated, "encoder_cache", "meaning_space"} - {"similarity"}:
        assert flags.get(name, name.replace("_", "-")) in shown


def test_all_ways_to_say_how_similar_words_are_found_make_one_recipe():
    pairs = PairSimilarity({("tyre", "tire"): 0.75})
    recipe = SimilarityRecipe(sources=["edit-distance"], max_neighbors=3)
    for options, expected in (
        ({}, SimilarityRecipe()),
        ({"plain": True}, SimilarityRecipe(sources=())),
        ({"max_neighbors": 3}, SimilarityRecipe(max_neighbors=3)),
        ({"source": pairs, "max_neighbors": 3}, SimilarityRecipe(sources=[pairs], max_neighbors=3)),
        ({"similarity": recipe}, recipe),
        ({"similarity": recipe.to_dict()}, recipe),
    ):
        assert IndexOptions.of(**options).similarity == expected


def test_objects_stay_as_they_are_where_numbers_are_those_of_numpy():
    class Listed(list):
        """An encoder that is a collection, as a sequence of layers is."""

    encoder, pair = Listed([1]), (None, Listed([2]))
    fields = {"title": np.float64(2)}
    made = IndexOptions.of(encoder=encoder, min_df=np.int64(2), max_df=np.float32(0.5))
    assert made.encoder is encoder
    assert (made.min_df, made.max_df) == (2, 0.5)
    assert IndexOptions.of(encoder=pair, fields=fields, max_neighbors=np.int32(4)).encoder is pair


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"kk": 1}, "no option 'kk'; there are .*max_neighbors"),
        ({"min_df": True}, "min_df is True; it must be a whole number of 0 or more or a number"),
        ({"max_df": 1.5}, r"max_df is 1.5; .* from 0 to 1\."),
        ({"max_neighbors": 2.0}, "max_neighbors is 2.0; it must be a whole number of 0 or more"),
        ({"meaning": float("nan")}, "meaning is nan; it must be a number from 0 to 1,000,000"),
        ({"meaning": {"soft_bm25": -1}}, "meaning is .*-1"),
        ({"keep_texts": 0}, "keep_texts is 0; it must be True or False"),
        ({"encoder": None, "encoder_cache": "x"}, "are for an index with an encoder"),
        ({"plain": True, "meaning": 0}, "are for an index with an encoder"),
        ({"plain": False, "similarity": {}, "S": 3}, "exclude each other"),
    ],
)
def test_a_wrong_option_of_making_an_index_is_named(options, message):
    for make in (IndexOptions.of, SoftIndex.create):
        with pytest.raises(InvalidInputError, match=message):
            make(**options)


def test_fields_that_are_read_once_are_read_once():
    assert [own.name for own in IndexOptions.of(fields=iter("ab")).fields] == ["a", "b"]
    with pytest.raises(InvalidInputError, match="a field is called 3"):
        IndexOptions.of(fields=iter(["a", 3]))
    with pytest.raises(InvalidInputError, match="language is 'bad'"):
        IndexOptions.of(fields=iter("ab"), language="bad")
