"""The MCP server: its tools in memory, over standard input and output, and over HTTP."""

from __future__ import annotations

import asyncio
import contextlib
import importlib.util
import json
import logging
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

pytest.importorskip("mcp", reason="needs mcp, which is not installed")

import httpx
import uvicorn
from mcp import Client, StdioServerParameters
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.routing import Route

import softcosine as sc
from killing import ended
from softcosine.mcp.server import mcp_server

READING = ["search", "similar", "explain", "related_words", "get_document", "index_info"]
WRITING = ["add_documents", "delete_documents"]
LONG = "The tea is getting cold. " * 10
DOCUMENTS = {
    "bike": ("a puncture in the tyre of a bicycle", {"lang": "en", "year": 2020}),
    "car": ("repair of cars and other automobiles", {"lang": "en", "year": 2021}),
    "tea": (LONG, {"lang": "en", "note": "x" * 300}),
    "velo": ("Reifen flicken", {"lang": "de"}),
}


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("made") / "faq.index"
    index = sc.SoftIndex.create(path, similarity=sc.SimilarityRecipe(sources=["english"]))
    with index.writer() as writer:
        for id, (text, metadata) in DOCUMENTS.items():
            writer.add(id, text, metadata)
    return path


@pytest.fixture
def folder(made, tmp_path) -> Path:
    return shutil.copytree(made, tmp_path / "faq.index")


@pytest.fixture
def index(folder) -> sc.SoftIndex:
    return sc.SoftIndex.open(folder)


def talk(server, conversation):
    """Let a client talk to a server: an object, an address, or a process."""

    async def run():
        async with Client(server) as client:
            return await conversation(client)

    return asyncio.run(run())


class RefusedError(Exception):
    """A tool answered by an error."""


def called(server, tool, **arguments):
    """The structured result of a tool; raises RefusedError with the message of an error."""

    async def call(client):
        return await client.call_tool(tool, arguments)

    result = talk(server, call)
    if result.is_error:
        raise RefusedError(result.content[0].text)
    assert json.loads(result.content[0].text) == result.structured_content
    return result.structured_content


def refused(server, tool, **arguments):
    """The message of a tool's error."""
    with pytest.raises(RefusedError) as error:
        called(server, tool, **arguments)
    return str(error.value)


def tools_of(server):
    async def listed(client):
        return (await client.list_tools()).tools

    return {tool.name: tool for tool in talk(server, listed)}


def test_a_server_has_tools_that_only_read(index):
    tools = tools_of(mcp_server({"faq": index}))
    assert list(tools) == READING
    for tool in tools.values():
        assert tool.annotations.read_only_hint
        assert not tool.annotations.destructive_hint
        assert tool.description
        assert tool.title


def test_a_writable_server_has_tools_that_are_marked_as_destructive(index):
    tools = tools_of(mcp_server({"faq": index}, writable=True))
    assert list(tools) == READING + WRITING
    for name in WRITING:
        assert not tools[name].annotations.read_only_hint
        assert tools[name].annotations.destructive_hint


def test_every_tool_has_schemas_of_what_it_takes_and_returns(index):
    for tool in tools_of(mcp_server({"faq": index}, writable=True)).values():
        assert tool.input_schema["additionalProperties"] is False
        assert tool.output_schema["type"] == "object"
        assert set(tool.output_schema["properties"]) >= set(tool.output_schema["required"])


def test_the_instructions_name_the_indexes(index):
    async def instructions(client):
        return client.instructions

    assert "faq, laws." in talk(mcp_server({"faq": index, "laws": index}), instructions)


@pytest.mark.smoke
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"k": 1},
        {"k": 1, "offset": 1},
        {"where": {"lang": "en", "year": {">": 2020}}},
        {"sort": ["-year"]},
        {"facets": ["lang"]},
    ],
    ids=str,
)
def test_a_search_returns_the_hits_of_the_index(index, options):
    query = "bicycles and automobiles"
    found = called(mcp_server({"faq": index}), "search", query=query, **options)
    expected = index.search(query, **options)
    assert [(hit["id"], hit["score"]) for hit in found["hits"]] == [
        (hit.id, hit.score) for hit in expected
    ]
    assert found["ranking"] == expected.ranking
    assert found["more"] == (len(index.search(query, **{**options, "k": 100})) > len(expected))
    assert found["facets"] == {
        key: [{"value": value, "n_docs": n_docs} for value, n_docs in counts]
        for key, counts in expected.facets.items()
    }


def test_a_search_tells_which_words_it_does_not_know(index):
    found = called(mcp_server({"faq": index}), "search", query="bycicle motorbike")
    assert found["unknown"] == ["bycicle"]
    (suggestion,) = found["suggestions"]
    assert suggestion["word"] == "bycicle"
    assert suggestion["candidates"][0]["word"] == "bicycle"
    assert found["outside"] == ["motorbike"]


def test_a_question_is_text_unless_it_has_syntax(index):
    server, asked = mcp_server({"faq": index}), {"query": 'repair -cars "tyre repair"'}
    found = called(server, "search", **asked)
    assert "car" in [hit["id"] for hit in found["hits"]]
    assert (found["required"], found["excluded"]) == ([], [])
    found = called(server, "search", **asked, syntax=True)
    assert (found["required"], found["excluded"]) == (['"tyre repair"'], ["cars"])
    why = called(server, "explain", query="-cars repair", id="car")
    assert {"car", "cars"} & {share["word"] for share in why["words"]}


@pytest.mark.parametrize("limit", [None, 40])
def test_long_texts_and_metadata_are_truncated(index, limit):
    server = mcp_server({"faq": index}, max_characters=40 if limit is None else 10)
    arguments = {} if limit is None else {"max_characters": limit}
    (hit,) = called(server, "search", query="cold", **arguments)["hits"]
    assert hit["text"] == LONG[:40]
    assert hit["truncated"]
    assert "cold" in hit["passage"]
    assert hit["metadata"] == {"lang": "en", "note": "x" * 40 + "…"}


def test_long_lists_in_metadata_are_truncated_as_text():
    index = sc.SoftIndex.from_texts(
        ["tea"], metadata=[{"list": list(range(99)), "title": "t" * 99}]
    )
    (hit,) = called(mcp_server({"a": index}, max_characters=10), "search", query="tea")["hits"]
    assert hit["metadata"] == {"list": "[0, 1, 2, …", "title": "t" * 10 + "…"}
    assert hit["title"] == "t" * 10 + "…"


def test_a_short_text_is_returned_whole(index):
    (hit,) = called(mcp_server({"faq": index}), "search", query="bicycle", k=1)["hits"]
    assert (hit["text"], hit["truncated"], hit["passage"]) == (DOCUMENTS["bike"][0], False, None)


def test_a_long_document_is_read_in_parts(index):
    server = mcp_server({"faq": index})
    text, truncated = "", True
    while truncated:
        read = called(server, "get_document", id="tea", start=len(text), max_characters=99)
        text, truncated = text + read["text"], read["truncated"]
    assert text == LONG
    assert read["n_characters"] == len(LONG)
    assert read["metadata"] == DOCUMENTS["tea"][1]


def test_similar_documents_are_those_of_the_index(index):
    found = called(mcp_server({"faq": index}), "similar", id="bike", where={"lang": "en"})
    expected = index.similar("bike", where={"lang": "en"})
    assert [(hit["id"], hit["score"]) for hit in found["hits"]] == [
        (hit.id, hit.score) for hit in expected
    ]
    assert found["ranking"] == expected.ranking


def test_the_words_of_an_explanation_sum_to_the_score(index):
    query = "bicycle tires and automobiles"
    found = called(mcp_server({"faq": index}), "explain", query=query, id="bike")
    expected = index.explain(query, "bike")
    assert found["score"] == expected.score
    total = sum(share["contribution"] for share in found["words"])
    assert total == pytest.approx(expected.score, abs=1e-9)
    assert sum(found["sums"].values()) == pytest.approx(expected.score, abs=1e-9)
    assert "parts" not in found


@pytest.mark.parametrize(("word", "indexed"), [("bicycle", True), ("motorbike", False)])
def test_related_words_are_the_neighbors_of_the_index_with_their_origins(index, word, indexed):
    found = called(mcp_server({"faq": index}), "related_words", word=word, k=3)
    assert found == {"index": "faq", **index.term(word, k=3)}
    assert found["indexed"] == indexed
    assert all(one["origin"] for one in found["neighbors"])


def test_the_indexes_are_described_with_their_metadata_keys(index):
    other = sc.SoftIndex.from_texts(
        [{"title": "Tea", "body": "green"}], fields=["title", "body"], plain=True
    )
    server = mcp_server({"faq": index, "other": other})
    first, second = called(server, "index_info")["indexes"]
    assert (first["name"], first["documents"], first["commit"]) == ("faq", 4, index.commit)
    assert first["metadata"] == {"lang": "en", "year": 2020, "note": "x" * 80 + "…"}
    assert [field["name"] for field in second["fields"]] == ["title", "body"]
    assert called(server, "index_info", index="other")["indexes"] == [second]


@pytest.mark.parametrize(
    ("tool", "arguments", "message"),
    [
        ("search", {"query": "a", "index": "none"}, "no index 'none'; name one of: faq."),
        ("search", {"query": "a", "where": {"year": {">>": 1}}}, "has the operator '>>'"),
        ("search", {"query": "a", "limit": 3}, "there is no option 'limit'; there are "),
        ("search", {"query": "a", "k": -1}, "k is -1; it must be a whole number from 0 to 100"),
        ("search", {"query": ["a"]}, "it must be a string of at most 100,000 characters"),
        ("search", {"query": "a " * 100_000}, "of at most 100,000 characters"),
        ("similar", {"id": "none"}, "no document with the id 'none'"),
        ("explain", {"query": "a", "id": "none"}, "no document with the id 'none'"),
        ("get_document", {"id": "none"}, "no document with the id 'none'"),
        ("related_words", {"word": "two words"}, "holds 2 terms"),
        ("related_words", {"word": "qwxzz"}, "no source has similar words"),
        ("delete_documents", {"ids": ["tea", "none"]}, "no document with the id 'none'"),
        ("delete_documents", {}, "ids of documents to delete, or a filter"),
        ("add_documents", {"documents": []}, "must be a list of 1 to 1,000"),
        ("add_documents", {"documents": [{"id": "a", "body": ""}]}, "unknown field `body`"),
        ("add_documents", {"documents": [{"id": "a", "text": ""}] * 2}, "the same id"),
        (
            "add_documents",
            {"documents": [{"id": "b", "text": "b"}, {"id": "a", "text": {"title": "a"}}]},
            "has a field 'title'",
        ),
    ],
    ids=str,
)
def test_an_error_reaches_the_client_with_its_message_and_changes_nothing(
    index, tool, arguments, message
):
    assert message in refused(mcp_server({"faq": index}, writable=True), tool, **arguments)
    assert list(index) == list(DOCUMENTS)


def test_a_lock_of_another_writer_is_an_error_with_its_message(index, monkeypatch):
    monkeypatch.setattr(
        sc.SoftIndex, "writer", lambda self, writer=sc.SoftIndex.writer: writer(self, timeout=0)
    )
    server = mcp_server({"faq": index}, writable=True)
    with index.writer():
        message = refused(server, "add_documents", documents=[{"id": "a", "text": "a"}])
    assert "another writer" in message
    assert message.endswith("; try again later.")


def test_several_indexes_are_told_apart_by_name(index):
    other = sc.SoftIndex.from_texts(["green tea"], ids=["green"], plain=True)
    server = mcp_server({"faq": index, "other": other})
    assert called(server, "search", query="tea", index="other")["hits"][0]["id"] == "green"
    assert "index is missing; name one of: faq, other." in refused(server, "search", query="tea")


def test_a_call_sees_the_last_commit_of_another_process(index, folder):
    server = mcp_server({"faq": index})
    with sc.SoftIndex.open(folder).writer() as writer:
        writer.add("new", "bicycle bicycle bicycle")
    assert called(server, "search", query="bicycle", k=1)["hits"][0]["id"] == "new"


def test_documents_are_added_replaced_and_deleted(index, folder):
    server = mcp_server({"faq": index}, writable=True)
    new = [
        {"id": "kettle", "text": "a kettle", "metadata": {"lang": "en"}},
        {"id": "tea", "text": "hot tea"},
    ]
    added = called(server, "add_documents", documents=new)
    assert (added["added"], added["replaced"], added["documents"]) == (2, 1, 5)
    assert added["commit"] == sc.SoftIndex.open(folder).commit
    assert index.get(["kettle"])[0].metadata == {"lang": "en"}
    assert called(server, "delete_documents", ids=["tea", "tea"])["deleted"] == 1
    deleted = called(server, "delete_documents", where={"lang": "en"})
    assert (deleted["deleted"], deleted["documents"]) == (3, 1)
    assert list(sc.SoftIndex.open(folder)) == ["velo"]


def test_texts_that_cannot_be_encoded_are_returned_with_replacements():
    texts = ["<script>alert(1)</script> \u202e tea \udc80 \x00"]
    index = sc.SoftIndex.from_texts(texts, metadata=[{"s": ["\ud800"]}], plain=True)
    (hit,) = called(mcp_server({"a": index}), "search", query="tea")["hits"]
    assert hit["text"] == texts[0].replace("\udc80", "\ufffd")
    assert hit["metadata"] == {"s": ["\ufffd"]}


def test_a_deleted_folder_is_an_error_with_its_message(index, folder):
    folder.rename(folder.with_name("moved.index"))
    message = refused(mcp_server({"faq": index}), "search", query="tea")
    assert f"there is no index at {folder}" in message


def test_making_a_server_leaves_logging_alone(index):
    root = logging.getLogger()
    before = root.level, list(root.handlers)
    mcp_server({"faq": index})
    assert (root.level, root.handlers) == before


def test_a_list_of_indexes_is_refused(index):
    with pytest.raises(sc.errors.InvalidInputError, match="a mapping of names to indexes"):
        mcp_server([index])


def test_clients_of_the_older_handshake_are_served(index):
    async def conversation():
        async with Client(mcp_server({"faq": index}), mode="legacy") as client:
            assert [tool.name for tool in (await client.list_tools()).tools] == READING
            return await client.call_tool("search", {"query": "bicycle", "k": 1})

    assert asyncio.run(conversation()).structured_content["hits"][0]["id"] == "bike"


def test_many_calls_at_once_are_answered_while_documents_are_added(index):
    async def conversation(client):
        new = [{"id": f"new {n}", "text": "bicycle"} for n in range(3)]
        adding = [client.call_tool("add_documents", {"documents": [one]}) for one in new]
        asking = [client.call_tool("search", {"query": "bicycle"}) for _ in range(20)]
        return await asyncio.gather(*adding, *asking)

    results = talk(mcp_server({"faq": index}, writable=True), conversation)
    assert [result.is_error for result in results] == [False] * 23
    assert sorted(index.search("bicycle", expand=False).ids) == ["bike", "new 0", "new 1", "new 2"]


# Over standard input and output.


def test_the_configuration_starts_a_process_that_answers(run, folder):
    config = json.loads(run("mcp", folder, "--config"))
    entry = config["mcpServers"]["softcosine"]
    assert entry["args"][-2:] == ["mcp", f"faq={folder}"]
    process = StdioServerParameters(**entry, env=dict(os.environ))

    async def conversation(client):
        assert [tool.name for tool in (await client.list_tools()).tools] == READING
        before = await client.call_tool("search", {"query": "bicycle", "k": 1})
        with sc.SoftIndex.open(folder).writer() as writer:
            writer.add("new", "bicycle bicycle bicycle")
        after = await client.call_tool("search", {"query": "bicycle", "k": 1})
        return [found.structured_content["hits"][0]["id"] for found in (before, after)]

    assert talk(process, conversation) == ["bike", "new"]


def test_the_configuration_has_absolute_paths_and_the_options(run, folder, monkeypatch):
    monkeypatch.chdir(folder.parent)
    options = ("--writable", "--max-characters", "50")
    shown = json.loads(run("mcp", "faq.index", "laws=faq.index", *options, "--config"))
    entry = shown["mcpServers"]["softcosine"]
    assert Path(entry["command"]).is_absolute()
    assert entry["args"][-6:] == ["mcp", f"faq={folder}", f"laws={folder}", *options]


def test_searches_are_made_as_the_server_was_started(index):
    options = {"ranking": "soft_cosine", "ask": "words", "meaning": 0.0}

    async def conversation(client):
        found = await client.call_tool("search", {"query": "bicycle repair"})
        why = await client.call_tool("explain", {"query": "bicycle repair", "id": "bike"})
        return found.structured_content, why.structured_content

    found, why = talk(mcp_server({"faq": index}, **options), conversation)
    expected = index.search("bicycle repair", **options)
    assert [hit["score"] for hit in found["hits"]] == [hit.score for hit in expected]
    assert why["score"] == index.explain("bicycle repair", "bike", **options).score
    assert found["ranking"] == "soft_cosine"


def test_the_configuration_repeats_how_searches_are_made(run, folder, tmp_path, monkeypatch):
    with sc.SoftIndex.open(folder).writer() as writer:
        writer.encode("static")
    monkeypatch.chdir(tmp_path)
    options = ["--ranking", "soft_cosine", "--ask", "static", "--meaning", "2.0"]
    shown = json.loads(run("mcp", folder, *options, "--config"))
    assert shown["mcpServers"]["softcosine"]["args"][-6:] == options
    for wrong in (["--ranking", "best"], ["--ask", "nobody"], ["--meaning", "-1"]):
        assert wrong[1] in run("mcp", folder, *wrong, "--config", code=2)


def test_an_encoder_is_for_indexes_with_coordinates(run, folder):
    shown = run("mcp", folder, "--encoder", "somewhere", "--config", code=2)
    assert "this index has no encoder" in shown


def test_two_indexes_of_one_name_are_refused(run, folder):
    shown = run("mcp", folder, folder, "--config", code=2)
    assert f"the name 'faq' is taken; write NAME={folder}." in shown


def test_a_missing_index_is_an_error_before_any_client_comes(run, tmp_path):
    assert "there is no index" in run("mcp", tmp_path / "none.index", "--config", code=1)


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such signals")
def test_a_process_ends_at_sigterm_while_it_waits_for_a_client(folder):
    command = [sys.executable, "-m", "softcosine", "mcp", str(folder)]
    hello = b'{"jsonrpc": "2.0", "id": 1, "method": "ping"}\n'
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    process = subprocess.Popen(command, **pipes)
    with ended(process):
        process.stdin.write(hello)
        process.stdin.flush()
        assert b'"id":1' in process.stdout.readline()
        process.terminate()
        assert process.wait(30) == -signal.SIGTERM


def test_a_missing_package_is_named_with_the_command_that_installs_it(run, folder, monkeypatch):
    monkeypatch.delitem(sys.modules, "softcosine.mcp.server")
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    assert "pip install 'softcosine[mcp]'" in run("mcp", folder, code=1)


# Over HTTP.


@contextlib.contextmanager
def serving(app):
    """Serve an application on a free loopback port; yield its address."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        settings = uvicorn.Config(app, log_config=None, ws="none", lifespan="on")
        server = uvicorn.Server(settings)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
        thread.start()
        try:
            while not server.started and thread.is_alive():
                time.sleep(0.01)
            yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join(30)


def application(server):
    return server.streamable_http_app(json_response=True, stateless_http=True)


def test_a_server_answers_over_http(index):
    with serving(application(mcp_server({"faq": index}))) as address:
        assert list(tools_of(f"{address}/mcp")) == READING
        found = called(f"{address}/mcp", "search", query="bicycle", k=1)
        assert found["hits"][0]["id"] == "bike"
        assert "no document" in refused(f"{address}/mcp", "get_document", id="none")


@pytest.mark.parametrize(("host", "status"), [("evil.example", 421), ("localhost:80", 200)])
def test_requests_to_another_host_are_refused(index, host, status):
    app = application(mcp_server({"faq": index}))
    request = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    headers = {"Host": host, "Accept": "application/json, text/event-stream"}
    with serving(app) as address:
        answer = httpx.post(f"{address}/mcp", json=request, headers=headers)
    assert answer.status_code == status


def test_the_application_can_be_part_of_another(index):
    server = mcp_server({"faq": index})

    @contextlib.asynccontextmanager
    async def lifespan(app):
        async with server.session_manager.run():
            yield

    async def health(request):
        return PlainTextResponse("well")

    mounted = application(server).routes
    app = Starlette(routes=[Route("/health", health), *mounted], lifespan=lifespan)
    with serving(app) as address:
        assert httpx.get(f"{address}/health").text == "well"
        assert called(f"{address}/mcp", "search", query="cars")["hits"][0]["id"] == "car"
