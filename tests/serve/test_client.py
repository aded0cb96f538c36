"""The client answers as the index in process does: one suite for both, and for asyncio."""

from __future__ import annotations

import inspect
import json
import pickle
import subprocess
import sys
import threading
import traceback
from functools import partial

import anyio
import pytest

import softcosine as sc
from killing import ended
from serve_answers import bridge
from softcosine import errors
from softcosine.client import AsyncRemoteIndex, AsyncRemoteWriter, RemoteIndex, RemoteWriter
from softcosine.index.writer.index_writer import IndexWriter
from softcosine.serve.keys import KeyRing

httpx = pytest.importorskip("httpx")
URL = "http://server"


class Awaited:
    """Calls of a client for asyncio, run in the event loop of the server."""

    def __init__(self, portal, awaiting):
        self._portal, self._awaiting = portal, awaiting

    def __getattr__(self, name):
        method = getattr(self._awaiting, name)
        if name in ("index", "writer"):
            return lambda *args, **kwargs: Awaited(self._portal, method(*args, **kwargs))
        return lambda *args, **kwargs: self._portal.call(partial(method, *args, **kwargs))


def added(client):
    """Add a document, and return what was changed."""
    writer = client.index("faq").writer()
    writer.add("x", "tea")
    return writer.commit()


def connected(server, kind, **options):
    """Return a client of a server in this process."""
    if kind == "client":
        return sc.Client(URL, transport=bridge(server), **options)
    transport = httpx.ASGITransport(server.app)
    return Awaited(server.portal, sc.AsyncClient(URL, transport=transport, **options))


@pytest.fixture
def index(root):
    return sc.SoftIndex.open(root / "faq")


@pytest.fixture(params=["client", "async"])
def remote(request, serving):
    return connected(serving(), request.param)


@pytest.fixture(params=["index", "client", "async"])
def searched(request):
    """Return an index in process, or the same one on a server."""
    if request.param == "index":
        return request.getfixturevalue("index")
    server = request.getfixturevalue("serving")()
    return connected(server, request.param).index("faq")


def everything(hits):
    """Return what hits hold, also what their comparison leaves out."""
    return hits, hits.plan, hits.suggestions, [hit.snippet for hit in hits], repr(hits)


@pytest.mark.smoke
@pytest.mark.parametrize(
    ("query", "options"),
    [
        ("bicycle tyre", {}),
        ("tea -cold", {"k": 1, "syntax": True}),
        ("tea", {"offset": 1, "where": {"n": {">": 1}}}),
        (["tea", "tyre"], {"ranking": "soft_cosine", "mmr": 0.5}),
        (("tea", "tyre"), {"sort": ["-n", "kind"], "facets": ("kind", "n")}),
        ({"text": "tea"}, {}),
        ("green tea", {"expand": False, "fill": True}),
        ("grene", {"correct": False}),
        ("grene tea", {}),
        ("tyre of the car", {"first_stage": sc.FirstStage(4, 20), "min_score": 0.01}),
        ("tyre of the car", {"first_stage": 2, "keep_stop_words": True}),
        ("+tea", {"syntax": False, "expand": False, "max_terms": None}),
        ("nothing of this", {"ask": "words"}),
    ],
)
def test_a_search_is_that_of_the_index(searched, index, query, options):
    assert everything(searched.search(query, **options)) == everything(
        index.search(query, **options)
    )


def test_many_searches_are_those_of_the_index(searched, index):
    queries = ["tea", "bicycle", ["green", "tea"], "tyre"] * 20
    found = searched.search_batch(queries, k=2, facets=["kind"])
    assert found == index.search_batch(queries, k=2, facets=["kind"])
    assert searched.search_batch([]) == []


def test_similar_documents_and_explanations_are_those_of_the_index(searched, index):
    for id in index:
        options = {"k": 2, "min_score": 0.01, "where": {"any": [{"n": {">=": 1}}]}}
        assert everything(searched.similar(id, **options)) == everything(
            index.similar(id, **options)
        )
        for query in ("bicycle tires", ["tea", "tyre"]):
            assert searched.explain(query, id) == index.explain(query, id)


@pytest.mark.parametrize(
    "options", [{"syntax": True}, {"ranking": "soft_cosine", "correct": False}]
)
def test_scores_and_rankings_are_those_of_the_index(searched, index, options):
    ids = ["car", "tea", "car", "bike"]
    for query in ("bicycle tires +green", {"text": "teo"}, ["tea"]):
        found = searched.scores(query, ids, **options)
        assert found.tolist() == index.scores(query, ids, **options).tolist()
        assert found.dtype == float
    queries = ["tea", "tires -flat", ["zzz"]] * 20
    own, expected = (one.ranked(queries, k=3, **options) for one in (searched, index))
    for top, other in zip(own, expected, strict=True):
        assert top.documents.tolist() == other.documents.tolist()
        assert top.scores.tolist() == other.scores.tolist()
        assert top.documents.dtype == other.documents.dtype
        assert (top.plan.proven, top.plan.ask) == (other.plan.proven, other.plan.ask)
    assert searched.scores("tea", []).tolist() == []
    assert searched.ranked([]) == []


def test_compared_documents_are_those_of_the_index(searched, index):
    for id in index:
        for other in index:
            assert searched.explain_similar(id, other) == index.explain_similar(id, other)
    for options in ({"min_similarity": 0.01}, {"k": 2}, {"k": 1, "ranking": "inner_product"}):
        assert list(searched.pairs(**options)) == list(index.pairs(**options))
        assert repr(searched.pairs(**options)) == repr(index.pairs(**options))
    for options in ({}, {"min_similarity": 0.01}, {"min_similarity": 0.01, "method": "leaders"}):
        assert searched.dedupe(**options) == index.dedupe(**options)


@pytest.mark.parametrize("to", ["lucene", "elasticsearch"])
@pytest.mark.parametrize("words", ["terms", "forms", "analyzed"])
def test_an_expanded_query_is_that_of_the_index(searched, index, to, words):
    options = {"to": to, "words": words, "field": "body", "max_terms": 4, "syntax": True}
    for query in ("tires +tea", '-"flat tyre" bicycle', ["tea"], "zzz"):
        found, expected = searched.expand(query, **options), index.expand(query, **options)
        assert found == expected
        assert str(found) == str(expected)
        if to == "elasticsearch":
            assert found.body == expected.body


def test_documents_are_those_of_the_index(searched, index):
    ids = ["tea", "pot/1", "tea"]
    assert searched.get(ids) == index.get(ids)
    assert searched.get(["gone", "car"], missing_ok=True) == index.get(["car"])
    for options in (
        {"k": 1, "offset": 1, "sort": "-n", "facets": ["kind"]},
        {"where": {"kind": "drink"}},
        {"k": None, "offset": 1},
        {"k": 0, "facets": ["n"]},
    ):
        assert searched.filter(**options) == index.filter(**options)
    assert searched.count() == 4
    assert searched.count({"n": {"in": [1, 3]}}) == 2


def test_neighbors_are_those_of_the_index(searched, index):
    for word in ("bicycle", "tyre", "zzzz"):
        assert searched.neighbors(word, k=2) == index.neighbors(word, k=2)


@pytest.mark.parametrize(
    "wrong",
    [
        lambda index: index.search("tea", ranking="best"),
        lambda index: index.search("tea", mmr=2.0),
        lambda index: index.search("tea", where={"n": {"?": 1}}),
        lambda index: index.search("tea", sort="n", mmr=0.5),
        lambda index: index.search({"title": "tea"}),
        lambda index: index.search_batch(["tea"], facets=["kind"], first_stage=4),
        lambda index: index.search_batch("tea"),
        lambda index: index.search("tea", ask="encoder"),
        lambda index: index.similar("gone"),
        lambda index: index.explain("tea", "gone"),
        lambda index: index.get(["gone"]),
        lambda index: index.get([1]),
        lambda index: index.filter({"n": {"?": 1}}),
        lambda index: index.expand("tea", to="lucene", field={"title": "x"}),
        lambda index: index.scores("tea", ["tea", "gone"]),
        lambda index: index.scores("tea", "tea"),
        lambda index: index.ranked("tea"),
        lambda index: index.ranked(["tea"], mmr=2.0),
        lambda index: index.explain_similar("tea", "gone"),
        lambda index: index.pairs(),
        lambda index: index.pairs(k=1, ranking="soft_bm25"),
        lambda index: index.pairs(k=1, by="meaning"),
        lambda index: index.dedupe(min_similarity=2.0),
    ],
)
def test_errors_are_those_of_the_index(searched, index, wrong):
    def outcome(of):
        try:
            return wrong(of)
        except Exception as error:
            return type(error), str(error)

    assert outcome(searched) == outcome(index)


@pytest.mark.parametrize(
    "wrong",
    [{"k": "3"}, {"mmr": float("nan")}, {"where": {"n": object()}}, {"k": 10**6}, {"speed": 9}],
)
def test_values_that_cannot_be_sent_or_are_refused(remote, wrong):
    with pytest.raises(errors.InvalidInputError):
        remote.index("faq").search("tea", **wrong)


def test_a_deadline_ends_a_search(searched):
    with sc.using_deadline(0), pytest.raises(errors.DeadlineExceededError):
        searched.search("tea")
    with sc.using_deadline(0), pytest.raises(errors.DeadlineExceededError):
        searched.search_batch(["tea", "tyre"])
    for compare in (searched.dedupe, lambda: list(searched.pairs(min_similarity=0.01))):
        with sc.using_deadline(0), pytest.raises(errors.DeadlineExceededError):
            compare()
    with sc.using_deadline(60):
        assert list(searched.pairs(min_similarity=0.01))
        assert searched.search_batch(["tea"]) == [searched.search("tea")]


def test_results_can_be_pickled(remote):
    hits = remote.index("faq").search("grene tea")
    assert everything(pickle.loads(pickle.dumps(hits))) == everything(hits)


def test_documents_are_added_and_deleted(remote, root):
    from datetime import date

    faq = remote.index("faq")
    writer = faq.writer()
    ids = ["..", "a/b", "\r\nX: y", "ü", "?k=1#x"]
    for id in ids:
        writer.add(id, f"kettle {id}", {"day": date(2026, 5, 1)})
        added = writer.commit()
        assert (added.added, added.replaced) == (1, 0)
    assert [one.id for one in faq.get(ids)] == ids
    assert faq.get([".."])[0].metadata == {"day": "2026-05-01"}
    assert faq.count({"day": {">=": date(2026, 4, 30)}}) == len(ids)
    writer.add_many(["ü", "x"], [["tea", "pot"], "kettle"], [{"n": 7}, None])
    changed = writer.commit()
    assert changed[:2] == (1, 1)
    assert changed.commit == faq.info()["commit"]
    assert faq.search("kettle", where={"day": {"exists": False}}).ids == ["x"]
    with pytest.raises(errors.InvalidInputError, match="read such a document by a search"):
        faq.get([""])
    for n_deleted, *deletions in (
        (1, {"id": ".."}),
        (1, {"id": "a/b"}, {"id": "gone", "missing_ok": True}),
        (1, {"where": {"n": 7}}),
    ):
        for options in deletions:
            writer.delete(**options)
        assert writer.commit().deleted == n_deleted
    for both in ({}, {"id": "x", "where": {}}):
        with pytest.raises(errors.InvalidInputError, match="where="):
            writer.delete(**both)
    with pytest.raises(errors.InvalidInputError, match="fewer ids"):
        writer.add_many(["x"], ["tea", "pot"])
    writer.rollback()
    for refused, kind in (
        (lambda: (writer.delete("x"), writer.delete("gone")), errors.UnknownDocumentError),
        (lambda: writer.add_many(["y", "z"], ["tea", 3]), errors.InvalidInputError),
    ):
        refused()
        with pytest.raises(kind):
            writer.commit()
        writer.rollback()
    assert list(sc.SoftIndex.open(root / "faq"))[4:] == ["\r\nX: y", "?k=1#x", "x"]


@pytest.fixture(params=["index", "client", "async"])
def changing(request, root, serving):
    """Return a function that runs changes in the block of a writer, and the index afterwards."""
    opened = sc.SoftIndex.open(root / "faq")
    server = None if request.param == "index" else serving()

    def change(work):
        if request.param == "async":

            async def run():
                transport = httpx.ASGITransport(server.app)
                client = sc.AsyncClient(URL, transport=transport)
                async with client, client.index("faq").writer() as writer:
                    work(writer)

            server.portal.call(run)
        else:
            index = opened if server is None else connected(server, "client").index("faq")
            with index.writer() as writer:
                work(writer)
        opened.refresh()
        return opened

    return change


def test_a_writer_commits_all_of_its_changes_at_once(changing, root):
    before = sc.SoftIndex.open(root / "faq").snapshot.generation

    def work(writer):
        writer.add("x", "kettle", {"n": 9})
        writer.add_many(["y", "tea"], [["black", "tea"], "white tea"])
        writer.delete("bike")
        writer.delete("gone", missing_ok=True)
        writer.delete(where={"n": 3})
        writer.update_metadata("x", {"m": 1})
        writer.update_metadata("tea", {"n": 4}, replace=True)

    index = changing(work)
    assert list(index) == ["car", "x", "y", "tea"]
    assert [one.metadata for one in index.get(["x", "tea"])] == [{"n": 9, "m": 1}, {"n": 4}]
    assert index.snapshot.generation == before + 1


@pytest.mark.parametrize(
    "wrong",
    [
        lambda writer: writer.delete("gone"),
        lambda writer: writer.delete(where={"n": {"?": 1}}),
        lambda writer: writer.delete(),
        lambda writer: writer.add("z", 3),
        lambda writer: writer.add(3, "z"),
        lambda writer: writer.add_many(["z"], ["tea", "pot"]),
        lambda writer: writer.update_metadata("gone", {}),
        lambda writer: writer.update_metadata("tea", 3),
        lambda writer: 1 / 0,
    ],
)
def test_a_writer_changes_nothing_after_an_error(changing, root, wrong):
    before = sc.SoftIndex.open(root / "faq").commit

    def work(writer):
        writer.add("x", "kettle")
        wrong(writer)

    with pytest.raises((errors.InvalidInputError, errors.UnknownDocumentError, ZeroDivisionError)):
        changing(work)
    assert sc.SoftIndex.open(root / "faq").commit == before


def test_a_writer_of_a_server_counts_what_a_commit_changes(serving):
    faq = connected(serving(), "client").index("faq")
    writer = faq.writer(if_match=faq.info()["commit"])
    writer.add("x", "kettle")
    writer.delete("x")
    writer.add("tea", "tea")
    writer.delete("gone", missing_ok=True)
    writer.update_metadata("car", {"n": 1})
    changed = writer.commit()
    assert changed == (1, 1, faq.info()["commit"], 1, 1, 1)
    writer.add("y", "kettle")
    assert "y" not in faq
    writer.rollback()
    writer.delete("gone")
    with pytest.raises(errors.UnknownDocumentError):
        writer.commit()
    writer.rollback()
    writer.add("y", "kettle")
    assert writer.commit(refresh=True).added == 1  # if_match names the writer's own last commit
    other = faq.writer()
    other.add("z", "kettle")
    other.commit()
    writer.add("w", "kettle")
    with pytest.raises(errors.ProblemError) as caught:
        writer.commit()
    assert caught.value.kind == "changed-meanwhile"
    writer.close()
    with pytest.raises(errors.InvalidInputError, match="closed"):
        writer.add("w", "kettle")


# What the client lacks, by reason; docs/serve.md says so.
_OBJECTS = {
    "document_vectors",
    "query_vectors",  # of the index in process
    "S", "analyzer", "documents", "encoder", "parse", "parse_word", "snapshot",
    "source", "vocabulary", "with_fields", "with_note", "with_similarity", "with_weighting",
    "words", "at_commit", "set_similarity", "set_weighting", "list_use",
}  # fmt: skip
_FILES = {"backup", "create", "from_frame", "from_texts", "open", "path", "save"}
_STATE = {"commit", "epoch", "fields", "frozen", "language", "note", "ranking", "weighting"}
_FOLLOWED = {"refresh"}  # a server follows all commits
_OF_WRITERS = {
    "encode", "encoder", "freeze", "generation", "merge", "n_docs", "set_similarity",
    "set_weighting", "thaw", "vocabulary",
}  # fmt: skip
_LOCAL_PARAMETERS = {
    "threads", "progress", "timeout", "memory", "merge", "default",
    "number",  # of documents of shards
}  # fmt: skip


def public(kind):
    return {name for name in dir(kind) if not name.startswith("_")}


@pytest.mark.parametrize(
    ("own", "remotes", "lacking"),
    [
        (sc.SoftIndex, (RemoteIndex, AsyncRemoteIndex), _OBJECTS | _FILES | _STATE | _FOLLOWED),
        (IndexWriter, (RemoteWriter, AsyncRemoteWriter), _OF_WRITERS),
    ],
)
def test_the_client_has_every_member_of_the_index_or_a_reason(own, remotes, lacking):
    for kind in remotes:
        assert public(own) - public(kind) == lacking
        for name in public(own) & public(kind):
            wanted, given = (
                inspect.signature(getattr(one, name)).parameters for one in (own, kind)
            )
            if all(one.kind is not one.VAR_KEYWORD for one in given.values()):
                assert set(wanted) - set(given) - {"options"} <= _LOCAL_PARAMETERS, name


def test_the_state_of_the_index_is_in_its_info(remote, index):
    told = remote.index("faq").info()
    assert set(told) >= _STATE
    for name in _STATE - {"fields", "weighting"}:
        assert told[name] == getattr(index, name)


def test_a_change_of_another_commit_is_refused(remote):
    faq = remote.index("faq")
    commit = faq.info()["commit"]
    writer, later = faq.writer(if_match=commit), faq.writer(if_match=commit)
    writer.add("x", "kettle")
    assert writer.commit().added == 1
    later.add("y", "kettle")
    for change in (
        later.commit,
        lambda: faq.decide(forbid=[("tea", "pot")], if_match=commit),
    ):
        with pytest.raises(errors.ProblemError, match="read the index again") as caught:
            change()
        assert caught.value.kind == "changed-meanwhile"
    assert "y" not in faq.filter(k=None).ids


def test_the_blocking_index_is_a_collection_of_ids(serving):
    faq = connected(serving(), "client").index("faq")
    assert len(faq) == 4
    assert list(faq) == ["bike", "tea", "pot/1", "car"]
    assert "pot/1" in faq
    assert "gone" not in faq
    assert 7 not in faq


def test_words(remote):
    faq = remote.index("faq")
    assert faq.suggest("t", k=1) == [("the", 3)]
    assert faq.term("bicycle")["neighbors"][0]["origin"]["name"]
    with pytest.raises(errors.UnknownTermError, match="zzzz"):
        faq.term("zzzz")
    told = faq.decide(pin={("tea", "pot"): 0.5}, forbid=[("tyre", "tire")])
    assert told == faq.similarities()
    assert len(told["lines"]) == 2
    assert dict(faq.neighbors("tea"))["pot"] == pytest.approx(0.5, abs=0.2)
    assert faq.decide(remove=[("tea", "pot")], weigh={("tea", "coffee"): 0.5})["lines"]


def test_indexes_and_aliases(remote):
    recipe = sc.SimilarityRecipe(sources=("edit-distance",))
    made = remote.create("new", similarity=recipe, language="english", note="mine")
    assert (made["documents"], made["note"]) == (0, "mine")
    with pytest.raises(errors.AlreadyExistsError):
        remote.create("new")
    with pytest.raises(errors.InvalidInputError, match="speed"):
        remote.create("other", speed=3)
    assert {one["name"] for one in remote.indexes()} == {"faq", "new"}
    remote.set_alias("current", "faq")
    assert remote.aliases() == {"current": "faq"}
    assert remote.index("current").search("tea").ids == ["tea", "pot/1"]
    with pytest.raises(errors.AlreadyExistsError, match="alias"):
        remote.delete("faq")
    remote.delete_alias("current")
    with pytest.raises(FileNotFoundError, match="there are faq, new"):
        remote.index("current").search("tea")
    faq = remote.index("faq")
    assert faq.merge() is None


def test_a_failed_task_raises_its_error():
    problem = {"type": "urn:softcosine:busy", "detail": "another writer has it."}
    record = {"id": "1", "kind": "merge", "index": "faq", "state": "waiting"}
    for task, kind in (
        (record | {"state": "failed", "problem": problem}, errors.IndexLockedError),
        (record | {"state": "failed", "step": "the server ended"}, errors.ServerError),
        (record | {"state": "cancelled"}, errors.ServerError),
    ):
        client = scripted(httpx.Response(202, json=record), httpx.Response(200, json=task))
        with pytest.raises(kind, match=r"another writer|the server ended|cancelled"):
            client.index("faq").merge()


# Connections.


def scripted(*replies, **options):
    """Return a client whose requests get these replies, or errors, one after the other."""
    left, seen = list(replies), []

    def handle(request):
        seen.append(request)
        reply = left.pop(0)
        if isinstance(reply, Exception):
            raise reply
        return reply

    client = sc.Client(URL, transport=httpx.MockTransport(handle), **options)
    client.seen = seen
    return client


def busy(status, kind="busy", wait="0"):
    problem = {"type": f"urn:softcosine:{kind}", "status": status, "detail": "later.", "title": ""}
    headers = {"Content-Type": "application/problem+json", "Retry-After": wait}
    return httpx.Response(status, headers=headers, content=json.dumps(problem))


def changed():
    return httpx.Response(200, json={"added": 1, "replaced": 0, "commit": "c"})


@pytest.mark.parametrize(
    "first",
    [
        busy(503), busy(429, "too-many-searches"), busy(503, wait="soon"),
        httpx.RemoteProtocolError("gone"), httpx.ReadError("gone"),
    ],
)  # fmt: skip
def test_a_change_that_replaces_itself_is_repeated(first):
    client = scripted(first, changed())
    assert added(client).added == 1
    assert len(client.seen) == 2
    assert client.seen[0].content == client.seen[1].content


def test_a_change_that_was_perhaps_made_is_repeated_only_if_that_changes_nothing():
    for change, if_match in (
        (lambda one: one.delete("a"), None),
        (lambda one: one.add("a", "tea"), "commit"),
    ):
        client = scripted(httpx.ReadError("gone"))
        writer = client.index("faq").writer(if_match=if_match)
        change(writer)
        with pytest.raises(errors.ServerError, match="may have been made"):
            writer.commit()
        assert len(client.seen) == 1
    client = scripted(httpx.ReadError("gone"))
    with pytest.raises(errors.ServerError, match="may have been made"):
        client.index("faq").decide(forbid=[("a", "b")], if_match="commit")


def test_what_cannot_be_repeated_is_not():
    for reply, told in (
        (httpx.ReadError("broken"), r"lost: broken.*may have been made"),
        (httpx.ReadTimeout("slow"), r"no reply within 30 seconds.*may have been made"),
        (httpx.ConnectError("refused"), "no connection: refused"),
    ):
        client = scripted(reply)
        with pytest.raises(errors.ServerError, match=told):
            client.create("new")
    client = scripted(busy(503), httpx.Response(201, json={"name": "new"}))
    assert client.create("new") == {"name": "new"}  # it was refused before it began


def test_repetitions_end():
    client = scripted(*[busy(503)] * 3, retries=2)
    with pytest.raises(errors.IndexLockedError, match=r"later\."):
        added(client)
    assert len(client.seen) == 3


def test_nothing_is_repeated_past_the_timeout_or_the_deadline():
    for wait, timeout, deadline in (("99999999", 30, None), ("3", 2, None), ("3", 30, 2)):
        client = scripted(busy(503, wait=wait), timeout=timeout)
        with sc.using_deadline(deadline), pytest.raises(errors.IndexLockedError):
            client.index("faq").search("tea")
        assert len(client.seen) == 1


def test_a_repeated_search_has_the_time_that_is_left():
    client = scripted(busy(503, wait="1"), busy(503, wait="9"))
    with sc.using_deadline(5), pytest.raises(errors.IndexLockedError):
        client.index("faq").search("tea")
    before, after = (json.loads(one.content)["timeout_ms"] for one in client.seen)
    assert after <= before - 1000


def calling(kind, reply):
    """Return a function that calls a client of either kind, whose requests get `reply`."""
    transport = httpx.MockTransport(reply)
    if kind == "client":
        return lambda call: call(sc.Client(URL, transport=transport))
    return lambda call: anyio.run(call, sc.AsyncClient(URL, transport=transport))


DEEP = b'{"a":' * 100_000 + b"1" + b"}" * 100_000


@pytest.mark.parametrize("kind", ["client", "async"])
@pytest.mark.parametrize(
    ("content", "name", "arguments"),
    [
        (DEEP, "search", ["tea"]),
        (b"{}", "search", ["tea"]),
        (b'{"hits": 3}', "ranked", [["tea"]]),
        (b'{"documents": [[]], "n_matching": 1, "offset": 0}', "filter", []),
        (b'{"documents": [], "n_matching": 1, "offset": 0, "facets": 1}', "filter", []),
        (b'{"scores": ["high"]}', "scores", ["tea", ["x"]]),
    ],
    ids=range(6),
)
def test_a_reply_of_another_form_is_an_error_of_the_server(kind, content, name, arguments):
    call = calling(kind, lambda _: httpx.Response(200, content=content))
    with pytest.raises(errors.ServerError, match=r"at http://server: the reply .*( none |form)"):
        call(lambda client: getattr(client.index("faq"), name)(*arguments))


@pytest.mark.parametrize("kind", ["client", "async"])
@pytest.mark.parametrize("content", [b'{"added": 1, "colour": "red"}', b'{"deleted": null}'])
def test_a_commit_that_is_answered_in_another_form(kind, content):
    call = calling(kind, lambda _: httpx.Response(200, content=content))
    with pytest.raises(errors.ServerError, match=r"at http://server: the reply .* form"):
        call(added)


@pytest.mark.parametrize("bug", [TypeError, AttributeError, ValueError])
def test_a_bug_of_the_client_is_no_error_of_the_server(bug, monkeypatch):
    def failing(kind, value):
        raise bug("ours")

    monkeypatch.setattr("softcosine.client.exchange.read", failing)
    call = calling("client", lambda _: httpx.Response(200, content=b'{"scores": [0.5]}'))
    with pytest.raises(bug, match="ours") as caught:
        call(lambda client: client.index("faq").scores("tea", ["x"]))
    assert not isinstance(caught.value, errors.ServerError)


def test_a_wrong_argument_is_no_error_of_the_server():
    with pytest.raises(ValueError, match="too many values") as caught:
        scripted().index("faq").decide(forbid=["tea"])
    assert not isinstance(caught.value, errors.ServerError)


@pytest.mark.parametrize("kind", ["client", "async"])
def test_a_compressed_reply_is_not_unpacked(kind):
    class Bomb(httpx.SyncByteStream, httpx.AsyncByteStream):
        def __iter__(self):
            raise AssertionError("the body was read")

        __aiter__ = __iter__

    def reply(request):
        assert request.headers["Accept-Encoding"] == "identity"
        return httpx.Response(200, headers={"Content-Encoding": "gzip"}, stream=Bomb())

    with pytest.raises(errors.ServerError, match=r"compressed \(gzip\)"):
        calling(kind, reply)(lambda client: client.indexes())


@pytest.mark.parametrize(
    "reply",
    [
        httpx.Response(404, text="<html>"),
        httpx.Response(200, text="<html>"),
        httpx.Response(200, json=[1]),
        httpx.Response(302, headers={"Location": "/login"}),
        httpx.Response(500, json={"detail": "x"}),
    ],
)
def test_another_program_at_the_address(reply):
    with pytest.raises(errors.ServerError, match="another program"):
        scripted(reply).indexes()


def test_every_problem_of_the_server_has_an_exception():
    from softcosine.serve.problems import _STATUS

    for kind, status in _STATUS.items():
        client = scripted(busy(status, kind), retries=0)
        with pytest.raises((errors.SoftCosineError, OSError)) as caught:
            client.indexes()
        if isinstance(caught.value, errors.ProblemError):
            assert caught.value.kind == kind


def test_a_search_of_many_that_is_refused_is_repeated_alone():
    hits = {
        "hits": [], "offset": 0, "query": "q", "ranking": "soft_bm25", "suggestions": [],
        "outside": [], "unknown": [], "left_out": [],
        "required": [], "excluded": [],
        "plan": {"method": "terms", "reason": "", "ask": "words", "proven": True},
    }  # fmt: skip
    results = [hits, json.loads(busy(429).content)]
    client = scripted(
        httpx.Response(200, json={"results": results}), busy(429), httpx.Response(200, json=hits)
    )
    assert len(client.index("faq").search_batch(["a", "b"])) == 2
    assert [json.loads(request.content).get("q") for request in client.seen] == [None, "b", "b"]


def test_the_deadline_goes_to_the_server():
    client = scripted(busy(504, "deadline"))
    with sc.using_deadline(5), pytest.raises(errors.DeadlineExceededError, match="later"):
        client.index("faq").search("tea")
    assert 4000 < json.loads(client.seen[0].content)["timeout_ms"] <= 5000


# Addresses and keys.


@pytest.mark.parametrize(
    "url",
    ["server:8080", "ftp://x", "http://", "http://x:99999", "http://[x", "", None, b"http://x"],
)
def test_what_is_no_address_is_refused(url):
    with pytest.raises(errors.InvalidInputError, match="http://127"):
        sc.Client(url)


def test_no_secret_is_shown():
    secret = "sc_geheim"
    with pytest.raises(errors.InvalidInputError) as caught:
        sc.Client(f"http://me:{secret}@server")
    assert secret not in str(caught.value)
    for wrong in (f"{secret} x", f"{secret}\nX: y", f"{secret}ü"):
        with pytest.raises(errors.InvalidInputError) as caught:
            sc.Client(URL, key=wrong)
        assert secret not in str(caught.value)
    client = scripted(httpx.ConnectError("refused"), key=secret)
    with pytest.raises(errors.ServerError, match=URL) as refused:
        client.indexes()
    assert client.seen[0].headers["Authorization"] == f"Bearer {secret}"
    shown = "".join(traceback.format_exception(refused.value))
    for text in (shown, repr(client), repr(client.index("faq")), repr(vars(client))):
        assert secret not in text


@pytest.mark.parametrize("kind", ["client", "async"])
def test_keys(serving, tmp_path, monkeypatch, kind):
    ring = KeyRing(tmp_path / "keys.json")
    secret = ring.add("me", ["search"])
    server = serving(keys=tmp_path / "keys.json")
    with pytest.raises(errors.ProblemError, match="pass key=") as caught:
        connected(server, kind).index("faq").search("tea")
    assert caught.value.kind == "missing-key"
    with pytest.raises(errors.ProblemError, match="SOFTCOSINE_KEY") as caught:
        connected(server, kind, key="sc_other").index("faq").search("tea")
    monkeypatch.setenv("SOFTCOSINE_KEY", f"{secret}\n")
    client = connected(server, kind)
    assert client.index("faq").search("tea").ids == ["tea", "pot/1"]
    with pytest.raises(errors.ProblemError, match="needs write") as caught:
        added(client)
    assert caught.value.kind == "wrong-scope"


def test_a_server_that_takes_no_changes(serving):
    client = connected(serving(read_only=True), "client")
    with pytest.raises(PermissionError, match="--read-only"):
        added(client)


# A server in a process of its own.


@pytest.fixture
def address(root):
    process = subprocess.Popen(
        [sys.executable, "-m", "softcosine", "serve", str(root), "--port", "0"],
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
    )  # fmt: skip
    with ended(process):
        yield process.stdout.readline().split(" at ")[1].split()[0]
        process.terminate()
        process.wait(60)


def test_clients_of_a_server_process(address, index):
    with sc.Client(address) as client:
        faq = client.index("faq")
        assert faq.search("bicycle") == index.search("bicycle")
        ids = ["%2F", ".", "..", "a/b"]
        with faq.writer() as writer:
            for id in ids:
                writer.add(id, "kettle")
        assert [one.id for one in faq.get(ids)] == ids
        found = []
        threads = [
            threading.Thread(target=lambda: found.append(faq.search("kettle").ids))
            for _ in range(8)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert [sorted(one) for one in found] == [ids] * 8

    async def many():
        async with sc.AsyncClient(address) as client:
            faq = client.index("faq")
            found = []

            async def one():
                found.append((await faq.search("kettle")).ids)

            async with anyio.create_task_group() as group:
                for _ in range(8):
                    group.start_soon(one)
            return found

    assert [sorted(one) for one in anyio.run(many)] == [ids] * 8


def test_nothing_listens():
    with (
        sc.Client("http://127.0.0.1:1") as client,
        pytest.raises(errors.ServerError, match=r"http://127\.0\.0\.1:1: .*softcosine serve"),
    ):
        client.indexes()


@pytest.mark.parametrize("name", ["faq/documents/tea", "..", "", "a b", "faq%2Fx", 5, None])
def test_what_is_no_name_of_an_index_is_not_sent(name):
    client = scripted()
    for ask in (
        client.index, client.delete, client.create, client.delete_alias,
        lambda name: client.set_alias(name, "faq"),
    ):  # fmt: skip
        with pytest.raises(errors.InvalidInputError, match="no name of an index"):
            ask(name)
    assert not client.seen


def test_long_documents_come_in_smaller_pages_and_searches_alone(serving, root):
    with sc.SoftIndex.create(root / "long", plain=True, encoder=None).writer() as writer:
        for number in range(40):
            writer.add(f"d{number}", f"tea word{number} " + "filler " * 1428)
    own = sc.SoftIndex.open(root / "long")
    server = serving(limits={"answer_bytes": 100_000})
    with sc.Client("http://testserver", transport=bridge(server)) as client:
        index = client.index("long")
        assert index.filter(k=None) == own.filter(k=None)
        assert list(index) == list(own)
        with pytest.raises(errors.ProblemError, match="lower k"):
            index.filter(k=40)
        queries = ["tea word1", "tea word2", "word3 tea"]
        assert index.search_batch(queries, k=3) == own.search_batch(queries, k=3)
        (top,) = index.ranked(["tea"], k=40)
        assert top.documents.tolist() == own.ranked(["tea"], k=40)[0].documents.tolist()
