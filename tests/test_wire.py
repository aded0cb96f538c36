"""Results as JSON types and back."""

from __future__ import annotations

import json

import msgspec
import pytest

from softcosine import SoftIndex
from softcosine.index.near_duplicates.similar import SimilarGroup, SimilarPair
from softcosine.index.search.explanation import Explanation
from softcosine.index.search.results import Hits, Listing
from softcosine.index.wire import form, read, wire

TEXTS = ["a flat tyre on my bike", "the kettle boils water", "my dog barks", "a bike tyre"]


@pytest.fixture(scope="module")
def index() -> SoftIndex:
    metadata = [{"lang": "en", "n": n} for n in range(len(TEXTS))]
    return SoftIndex.from_texts(TEXTS, metadata=metadata)


def results(index: SoftIndex) -> list[tuple[type, object]]:
    """Results of every kind."""
    return [
        (Hits, index.search("bicycle puncture ketle", facets=["lang"])),
        (Hits, index.search("tyre", k=1, mmr=0.5)),
        (Explanation, index.explain("bicycle", "0")),
        (Listing, index.filter(sort="-n", facets=["n"])),
        (list[SimilarPair], list(index.pairs(min_similarity=0.1))),
        (list[SimilarGroup], index.dedupe(min_similarity=0.5)),
    ]


def test_a_result_is_read_back_as_it_was(index):
    for kind, result in results(index):
        text = json.dumps(wire(result), allow_nan=False)
        record = msgspec.json.decode(text, type=form(kind))
        again = read(kind, record)
        assert (list(again) if isinstance(result, list) else again) == result
        if isinstance(result, Hits):
            assert again.plan == result.plan
            assert again.suggestions == result.suggestions
            assert [hit.snippet for hit in again] == [hit.snippet for hit in result]


def test_hits_may_lack_parts_that_were_not_asked_for(index):
    record = wire(index.search("tyre"))
    record["hits"] = [{"id": hit["id"], "score": hit["score"]} for hit in record["hits"]]
    hits = read(Hits, msgspec.convert(record, form(Hits)))
    assert (hits.ids, hits[0].text, hits[0].snippet.text) == (index.search("tyre").ids, "", "")


def test_a_record_of_another_form_is_refused(index):
    record = wire(index.search("tyre"))
    for name, value in (("hits", 3), ("query", None), ("facets", [1])):
        with pytest.raises(msgspec.ValidationError):
            msgspec.convert({**record, name: value}, form(Hits))
    del record["plan"]["method"]
    with pytest.raises(msgspec.ValidationError, match="method"):
        msgspec.convert(record, form(Hits))


def test_a_form_has_a_schema():
    _, parts = msgspec.json.schema_components([form(Hits)])
    assert parts["Hits"]["properties"]["hits"]["items"] == {"$ref": "#/$defs/Hit"}
    assert parts["Hit"]["required"] == ["id", "score"]
