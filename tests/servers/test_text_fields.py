"""Soft search over the text fields of running servers, and what a server is compared for."""

from __future__ import annotations

import json
from urllib.request import Request, urlopen

import numpy as np
import pytest

from conftest import ROOT
from sharded import shard_of
from softcosine.errors import AlreadyExistsError, InvalidInputError, ServerError
from softcosine.index.requests import ExpandRequest
from softcosine.index.search.server_query import server_query
from softcosine.index.soft_index import SoftIndex
from softcosine.servers import field_search, learning, text_field
from softcosine.servers.field_comparison import compared
from softcosine.servers.field_search import search_field
from softcosine.servers.learning import learn_from
from softcosine.servers.text_field import TextField
from softcosine.text.analyzer import Analyzer
from softcosine.text.weighting import Weighting

TEXTS = [
    "a flat tyre on the bicycle", "green tea in the pot", "bicycle tires were punctured",
    "automobile wheels and cars", "the repair shop for cars", "the wheel of a bike",
    "cheap repairs of a flat wheel", "black tea", "flat roofs, tyre tracks", "tea for two",
]  # fmt: skip
QUERIES = ["bike tyres", "car repair", "hot drink", "flat wheel cup", "tyre tyre tea"]


def call(url, method="GET", body=None):
    data = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
    headers = {"Content-Type": "application/json"}
    with urlopen(Request(url, data, headers, method=method), timeout=60) as reply:
        return json.load(reply)


def fill(url, name, texts, *, mapping=None, shards=1, stored=True):
    """An index of the server with texts in the field ``body``; its URL."""
    settings = {"number_of_shards": shards, "number_of_replicas": 0}
    properties = {"body": {"type": "text", **(mapping or {})}, "other": {"type": "keyword"}}
    mappings = {"properties": properties, "_source": {"enabled": stored}}
    call(f"{url}/{name}", "PUT", {"settings": settings, "mappings": mappings})
    if texts:
        add(f"{url}/{name}", texts)
    return f"{url}/{name}"


def add(url, texts):
    ids = texts if isinstance(texts, dict) else {str(i): text for i, text in enumerate(texts)}
    lines = [
        json.dumps(one)
        for id, text in ids.items()
        for one in ({"index": {"_id": id}}, {"body": text})
    ]
    reply = call(f"{url}/_bulk?refresh=true", "POST", "\n".join([*lines, ""]).encode())
    assert not reply["errors"]


@pytest.fixture(params=["elasticsearch", "opensearch"])
def server(request):
    return request.param, request.getfixturevalue(request.param)


def shown(hits):
    return [(hit.id, hit.score) for hit in hits]


def assert_scores_are_those_of(index, field, queries=QUERIES, **settings):
    to = field.http.name
    for query in queries:
        sent = index.expand(query, to=to, field="body", max_terms=None, syntax=True, **settings)
        found = field.search(sent, 100)
        hits = index.search(query, k=100, syntax=True)
        assert dict(zip(found.ids, found.scores, strict=True)) == pytest.approx(
            {hit.id: hit.score for hit in hits}, rel=1e-5
        )


def test_a_learned_index_gives_the_scores_of_the_server(server):
    _, url = server
    url = fill(url, "learned", TEXTS)
    field = TextField.open(url, "body")
    index = learn_from(field)
    assert list(index) == [str(i) for i in range(len(TEXTS))]
    assert (index.weighting.k1, index.weighting.b) == (1.2, 0.75)
    found = compared(index.snapshot, field)
    assert found.advice == ()
    assert found.words == "terms"
    assert found.facts.k1_factor
    assert_scores_are_those_of(index, field)
    operators = ["+tyre flat", "flat -tyre", '"flat tyre" wheel', 'tea -"black tea"', "+zyx tea"]
    assert_scores_are_those_of(index, field, operators)


def test_other_versions_of_servers_give_the_same_scores_up_to_their_factor(other_version):
    url = fill(other_version, "learned", TEXTS)
    field = TextField.open(url, "body")
    index = learn_from(field)
    found = compared(index.snapshot, field)
    assert found.facts.k1_factor == (field.server == "elasticsearch")
    assert_scores_are_those_of(index, field, k1_factor=found.facts.k1_factor)
    for query in QUERIES:
        hits, exact = search_field(index, field, query, k=4), index.search(query, k=4)
        assert [(hit.id, hit.score) for hit in hits] == [(hit.id, hit.score) for hit in exact]


def test_shards_are_searched_with_common_statistics(server):
    _, url = server
    field = TextField.open(fill(url, "sharded", TEXTS, shards=3), "body")
    index = learn_from(field)
    assert_scores_are_those_of(index, field)
    (advice,) = compared(index.snapshot, field).advice
    assert "dfs_query_then_fetch" in advice


def test_the_analyzer_nearest_to_the_field_is_chosen(opensearch):
    texts = [*TEXTS, "generals of universities"]  # Snowball's English stems these otherwise
    url = fill(opensearch, "english", texts, mapping={"analyzer": "english"})
    field = TextField.open(url, "body")
    index = learn_from(field)
    assert index.analyzer.stemmer == "porter"
    assert {"the", "of", "a"} <= set(index.analyzer.stop_words)
    assert compared(index.snapshot, field).advice == ()
    assert_scores_are_those_of(index, field)


class EnglishField:
    """A field whose analyzer is Lucene's: its Porter leaves words of two letters."""

    address, name, server, analyzer, search_analyzer, n_shards = (
        "x",
        "body",
        "opensearch",
        "",
        "",
        1,
    )

    def tokens(self, words):
        stem = Analyzer("porter").terms
        other = {
            "the": [],
            "_the": ["_the"],
            "ps": ["ps"],
            "possibly": ["possibl"],
            "straße": ["straße"],
        }
        return [other.get(word.lower(), stem(word)) for word in words]

    def texts(self):
        return iter([("1", "the p generals prints " * 9 + "ps"), ("2", "_The generals possibly")])

    def facts(self, token):
        return None


def test_the_field_decides_about_stop_words_and_words_that_it_stems_otherwise():
    field = EnglishField()
    index = learn_from(field)
    assert index.analyzer.stop_words == {"the"}
    assert index.analyzer.terms("The ps possibly prints") == ["ps", "possibl", "print"]
    assert [one.word for one in compared(index.snapshot, field).differences] == ["_The"]
    other = SoftIndex.from_texts(["ps p prints"], analyzer=Analyzer("porter"), plain=True)

    def sent(query):
        tokens = field_search._tokens(other, field, query)
        request = ExpandRequest(q=query, to="opensearch", field="body", syntax=True)
        made = server_query(other.snapshot, request, tokens)
        return {word.text for word in made.words}, [one.words for one in made.conditions]

    assert sent("ps prints") == ({"ps", "print"}, [])
    assert sent("+ps p") == ({"ps", "p"}, [(("ps", "p"),)])
    assert sent("possibly Straße") == ({"possibl", "straße"}, [])


def test_an_index_that_was_learned_is_not_to_be_learned():
    index = SoftIndex.from_texts(["ps possibly prints"], analyzer=Analyzer("porter"), plain=True)
    advice = [compared(index.snapshot, EnglishField(), learned=one).advice for one in (False, True)]
    assert ["learn" in one[0] for one in advice] == [True, False]


def test_forms_find_what_stems_do_not(server):
    _, url = server
    field = TextField.open(fill(url, "forms", TEXTS), "body")
    ids = [str(i) for i in range(len(TEXTS))]
    index = SoftIndex.from_texts(TEXTS, ids=ids, analyzer=Analyzer("english"), plain=True)
    found = compared(index.snapshot, field)
    assert found.words == "forms"
    assert any("the server has k1 1.2" in one for one in found.advice)
    sent = {
        words: index.expand("bicycles", to="elasticsearch", field="body", words=words)
        for words in ("terms", "forms")
    }
    assert field.search(sent["terms"], 10).ids == []
    assert set(field.search(sent["forms"], 10).ids) == {"0", "2"}


def test_the_server_can_analyze_forms_itself(opensearch):
    texts = ["die Häuser der Stadt", "ein Haus am See", "Städte und Seen"]
    url = fill(opensearch, "german", texts, mapping={"analyzer": "german"})
    field = TextField.open(url, "body")
    index = SoftIndex.from_texts(
        texts, ids=["0", "1", "2"], analyzer=Analyzer("german"), plain=True
    )
    sent = index.expand("Häusern", to="opensearch", field="body", words="analyzed")
    assert set(field.search(sent, 10).ids) == {"0", "1"}
    assert set(index.search("Häusern").ids) == {"0", "1"}


def test_differences_are_named(server):
    _, url = server
    texts = ["C++ in naïve straße", *TEXTS]
    field = TextField.open(fill(url, "different", texts), "body")
    older = SoftIndex.from_texts(texts[:-2], plain=True, analyzer=Analyzer(), weighting=Weighting())
    found = compared(older.snapshot, field)
    words = {one.word: (one.index, one.server) for one in found.differences}
    assert words["C++"] == (("c++",), ("c",))
    assert words["straße"] == (("strasse",), ("straße",))
    assert any("the server counts 11 documents, the index 9" in one for one in found.advice)
    assert any(one.server == one.index + 1 for one in found.terms)
    other = SoftIndex.from_texts(["quite another text"], plain=True, weighting=Weighting())
    assert "no sampled term" in compared(other.snapshot, field).advice[-1]


def test_texts_are_read_in_pages_with_their_ids(server, monkeypatch):
    _, url = server
    monkeypatch.setattr(text_field, "_READ_AT_ONCE", 2)
    ids = ["a/b", "ü %2F?#", "😀", '"quoted" \\ id', " space "]
    texts = dict(zip(ids, TEXTS, strict=False))
    mapping = {"fields": {"again": {"type": "text"}}}
    address = fill(url, "odd", {**texts, "none": None, "several": ["tea", "pot"]}, mapping=mapping)
    wanted = {**texts, "several": "tea\npot"}
    for name in ("body", "body.again"):
        assert dict(TextField.open(address, name).texts()) == wanted
    assert learn_from(TextField.open(address, "body")).get(["a/b"])[0].text == texts["a/b"]


def test_an_index_that_is_not_read_to_its_end_is_not_written(server, monkeypatch, tmp_path):
    _, url = server
    field = TextField.open(fill(url, "broken", TEXTS), "body")
    path = tmp_path / "index"
    learn_from(field, path)
    texts = TextField.texts

    def broken(self):
        yield from texts(self)
        raise self.http.error("1 shards failed")

    monkeypatch.setattr(TextField, "texts", broken)
    monkeypatch.setattr(learning, "_SAMPLED", 3)
    for target, overwrite in ((tmp_path / "new", False), (path, True)):
        with pytest.raises(ServerError, match="1 shards failed"):
            learn_from(field, target, overwrite=overwrite)
    assert [one.name for one in tmp_path.iterdir()] == ["index"]
    assert len(SoftIndex.open(path)) == len(TEXTS)
    with pytest.raises(AlreadyExistsError):
        learn_from(field, path)


def test_fields_that_cannot_be_searched_are_named(server):
    _, url = server
    url = fill(url, "fields", ["tea"])
    for name, message in (
        ("other", "is of type keyword; its text fields are body"),
        ("none", "is not in the index; its text fields are body"),
    ):
        with pytest.raises(InvalidInputError, match=message):
            TextField.open(url, name)
    with pytest.raises(InvalidInputError, match="names no index"):
        TextField.open(url.rpartition("/")[0], "body")


def test_a_field_that_is_not_ranked_by_bm25_is_refused(server):
    _, url = server
    url = fill(url, "boolean", ["tea tea", "pot"], mapping={"similarity": "boolean"})
    with pytest.raises(InvalidInputError, match="not ranked by BM25"):
        learn_from(TextField.open(url, "body"))


def test_most_of_the_exact_ten_come_with_few_words(server):
    _, url = server
    random = np.random.default_rng(0)
    words = [word for text in TEXTS for word in text.replace(",", "").split()]
    texts = [" ".join(random.choice(words, 9)) for _ in range(200)]
    field = TextField.open(fill(url, "few", texts), "body")
    index = learn_from(field)
    sent = index.expand("bike tyre", to="opensearch", field="body", max_terms=6)
    assert sent.n_left_out > 0
    exact = set(index.search("bike tyre", k=10).ids)
    assert len(exact & set(field.search(sent, 20).ids)) >= 9


def test_the_commands_go_from_a_running_server_to_soft_search(run, server, tmp_path):
    _, url = server
    url = fill(url, "commands", TEXTS)
    learned = tmp_path / "learned"
    printed = run("server", "learn", url, "--field", "body", "-o", learned)
    assert "10 documents" in " ".join(printed.split())
    assert "Nothing differs" in printed
    query = json.loads(
        run("server", "expand", learned, "bike tyres", "--to", "opensearch", "--field", "body")
    )
    found = call(f"{url}/_search", "POST", query)["hits"]["hits"]
    assert [one["_id"] for one in found] == SoftIndex.open(learned).search("bike tyres").ids
    words = ("search", learned, "bike tyres", "--json")
    over = ("server", "search", learned, url, "bike tyres", "--field", "body")
    printed = json.loads(run(*over, "--json"))
    exact = json.loads(run(*words))
    for found in (printed, exact):
        for name in ("seconds", "plan"):
            found.pop(name, None)
    assert printed == exact
    assert printed["hits"][0]["text"] == TEXTS[int(printed["hits"][0]["id"])]
    shown = " ".join(run(*over, "-k", "2").split())
    assert "scored exactly by the index; not proven" in shown
    assert "ranked by words" in shown
    few = json.loads(run(*over, "--first-stage", "1:2", "-k", "2", "--json"))
    assert (len(few["hits"]), few["plan"]["proven"]) == (2, False)
    assert "many" in run(*over, "--words", "many", code=2)
    told = run(*over[:-1], "other", code=2)
    assert "its text fields are body" in " ".join(told.split())
    summary = json.loads(run("server", "compare", learned, url, "--field", "body", "--json"))
    assert summary["equal"] == 1.0
    assert summary["facts"]["n_docs"] == 10


def test_candidates_of_a_field_get_the_scores_of_the_index(server):
    name, url = server
    field = TextField.open(fill(url, "stages", TEXTS), "body")
    index = learn_from(field)
    for query in QUERIES:
        hits = search_field(index, field, query, k=4)
        exact = index.search(query, k=4)
        assert [(hit.id, hit.score) for hit in hits] == [(hit.id, hit.score) for hit in exact]
    assert (hits.plan.method, hits.plan.proven) == (name, False)
    page = search_field(index, field, "flat tyre", k=2, offset=1)
    assert shown(page) == shown(index.search("flat tyre", k=2, offset=1))
    assert page.offset == 1
    kept = learn_from(field, keep_texts=False)
    assert {hit.text for hit in kept.search("flat tyre")} == {""}
    assert [hit.text for hit in search_field(kept, field, "flat tyre", k=3)] == [
        TEXTS[int(id)] for id in index.search("flat tyre", k=3).ids
    ]


def test_more_words_than_a_server_takes_are_an_error(few_clauses):
    field = TextField.open(fill(few_clauses, "few_clauses", TEXTS), "body")
    index = learn_from(field)
    hits = search_field(index, field, "bike car", first_stage=3)
    assert hits.ids[:2] == index.search("bike car", k=2).ids
    with pytest.raises(ServerError, match=r"raise indices\.query\.bool\.max_clause_count"):
        search_field(index, field, " ".join(TEXTS[:5]))


NEW = {
    "new": "the bicycle tyre is flat", "other": "a flat near the tea shop",
    "unheard": "zyxish tyre", "alone": "zyxish qwerties",
}  # fmt: skip


def as_in_a_shard(index, query, texts=NEW):
    """The hits of an index and of a shard of other documents, with the index's weights."""
    shard = shard_of(index)
    with shard.writer() as writer:
        for id, text in texts.items():
            writer.add(id, text)
    both = [*index.search(query, k=50), *shard.search(query, k=50)]
    return shown(sorted(both, key=lambda hit: -hit.score))


def test_newer_documents_get_the_scores_that_the_index_gives_their_texts(server):
    _, url = server
    url = fill(url, "newer", TEXTS)
    field = TextField.open(url, "body")
    index = learn_from(field)
    add(url, NEW)
    for query in [*QUERIES, "flat -bicycle", '"bicycle tyre"', '"tyre bicycle" tea']:
        hits = search_field(index, field, query, k=20, first_stage=None)
        assert shown(hits) == as_in_a_shard(index, query)
        assert [hit.text for hit in hits] == [
            NEW[hit.id] if hit.id in NEW else TEXTS[int(hit.id)] for hit in hits
        ]
    hits = search_field(index, field, "bicycle", k=20)
    assert len({hit.number for hit in hits}) == len(hits)
    (new,) = [hit for hit in hits if hit.id == "new"]
    assert "bicycle" in {new.snippet.text[one.start : one.end] for one in new.snippet.marks}
    assert "2 of them, which it lacks, by their texts" in hits.plan.reason
    # A word that only newer documents have counts as one of no document.
    hits = search_field(index, field, "zyxish", k=20)
    assert hits.ids == ["alone", "unheard"]  # as in shards, other new words do not count
    idf = np.log1p((len(TEXTS) + 0.5) / 0.5)
    length = 0.25 + 0.75 / index.snapshot.statistics[0].average_length
    assert hits[0].score == pytest.approx(idf * 2.2 / (1.0 + 1.2 * length), rel=1e-12)
    assert search_field(index, field, "bicycle", where={"lang": "en"}).ids == []


def test_documents_of_which_the_server_has_no_text_are_left_out(server):
    _, url = server
    index = learn_from(TextField.open(fill(url, "with_texts", TEXTS), "body"))
    place = fill(url, "unstored", TEXTS, stored=False)
    add(place, NEW)
    field = TextField.open(place, "body")
    query = "flat tyre bicycle tea"
    hits = search_field(index, field, query, k=20, first_stage=None)
    assert hits.hits == index.search(query, k=20).hits
    assert "3 that it lacks and the server has no text of are left out" in hits.plan.reason


def test_a_tiny_case_of_the_benchmark_works(opensearch, monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    import text_fields as benchmark

    collection = benchmark.Collection.__new__(benchmark.Collection)
    collection.name, collection.judged = "tiny", None
    collection.documents = {str(i): text for i, text in enumerate(TEXTS)}
    collection.queries = {str(i): query for i, query in enumerate(QUERIES)}
    rows = benchmark.run(collection, opensearch, "standard")
    others = ("field, BM25", "field, forms of 64 stems")
    recall = {row["search"]: row["recall of the exact ten"] for row in rows}
    assert all(recall[name] == 1.0 for name in recall if name not in others)
    assert set(others) < set(recall)
