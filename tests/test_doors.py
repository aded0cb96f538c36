"""The same file and question through every door: the same hits, by the installed encoder."""

from __future__ import annotations

import asyncio
import json

import pytest

import softcosine as sc
from conftest import need_framework

ENTRIES = {
    "return": "How do I send something back? Print the label and drop the parcel at a post office.",
    "refund": "When do I get my money? We pay it back three days after the parcel has arrived.",
    "login": "I forgot my password. Press the link under the form and read the email.",
    "broken": "The vase arrived in pieces. Send us a photo and we replace it at no cost.",
    "address": "Can you deliver to my neighbour? Edit the address before the order is packed.",
    "vegan": "Is the leather of the boots real? No, it is made of mushrooms.",
    "Q-7712": "Spare lid for the kettle Q-7712, steel, with a seal of silicone.",
}
QUESTIONS = [
    "log in does not work", "my cup is shattered", "do animals die for your shoes", "Q-7712 lid",
    "wrong street on the parcel", "reimburse me",
]  # fmt: skip
K = 4


def pairs(hits):
    return [(hit.id, hit.score) for hit in hits]


def from_texts(path, file, run):
    index = sc.SoftIndex.from_texts(ENTRIES.values(), ids=ENTRIES)
    return [pairs(index.search(question, k=K)) for question in QUESTIONS]


def from_a_frame(path, file, run):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"id": ENTRIES.keys(), "text": ENTRIES.values()})
    index = sc.SoftIndex.from_frame(frame, text="text", id="id")
    return [pairs(index.search(question, k=K)) for question in QUESTIONS]


def by_a_writer(path, file, run):
    index = sc.SoftIndex.create(path)
    with index.writer() as writer:
        writer.add_many(ENTRIES, ENTRIES.values())
    index = sc.SoftIndex.open(path)
    return [pairs(index.search(question, k=K)) for question in QUESTIONS]


def by_commands(path, file, run):
    run("index", file, "-o", path)
    answers = (run("search", path, one, "-k", K, "--json") for one in QUESTIONS)
    return [[(hit["id"], hit["score"]) for hit in json.loads(one)["hits"]] for one in answers]


def over_http(path, file, run):
    testing = pytest.importorskip("starlette.testclient")
    pytest.importorskip("httpx")
    from serve_answers import bridge
    from softcosine.serve import ServeSettings, create_app

    path.mkdir()
    with testing.TestClient(create_app(ServeSettings(path))) as server:
        client = sc.Client("http://server", transport=bridge(server))
        client.create("faq")
        index = client.index("faq")
        with index.writer() as writer:
            for id, text in ENTRIES.items():
                writer.add(id, text)
        return [pairs(index.search(question, k=K)) for question in QUESTIONS]


def talk(index, *calls):
    """What the tools of an MCP server answer."""
    mcp = pytest.importorskip("mcp")
    from softcosine.mcp.server import mcp_server

    async def answers():
        async with mcp.Client(mcp_server({"faq": index}, writable=True)) as client:
            return [(await client.call_tool(*call)).structured_content for call in calls]

    return asyncio.run(answers())


def over_mcp(path, file, run):
    documents = [{"id": id, "text": text} for id, text in ENTRIES.items()]
    asked = [("search", {"query": question, "k": K}) for question in QUESTIONS]
    _, *answers = talk(sc.SoftIndex.create(), ("add_documents", {"documents": documents}), *asked)
    return [[(hit["id"], hit["score"]) for hit in one["hits"]] for one in answers]


def by_langchain(path, file, run):
    need_framework("langchain_core")
    from softcosine.integrations.langchain import SoftVectorStore

    store = SoftVectorStore.from_texts(list(ENTRIES.values()), ids=list(ENTRIES), fill=False)
    answers = (store.similarity_search_with_score(question, k=K) for question in QUESTIONS)
    return [[(document.id, score) for document, score in one] for one in answers]


def by_haystack(path, file, run):
    need_framework("haystack")
    from haystack import Document

    from softcosine.integrations.haystack import SoftDocumentStore

    store = SoftDocumentStore()
    store.write_documents([Document(id=id, content=text) for id, text in ENTRIES.items()])
    return [pairs(store.index.search(question, k=K)) for question in QUESTIONS]


def in_evaluations(path, file, run):
    pytest.importorskip("pandas", reason="needs the extra evaluate, which is not installed")
    from softcosine.evaluate.documents import Documents
    from softcosine.evaluate.systems.table import from_spec

    fitted = from_spec("soft:encoder_cache=none").fit(Documents.of(ENTRIES.values(), ENTRIES))
    assert "Documents are encoded by all-MiniLM-L6-v2" in fitted.note
    ids, ranked = list(ENTRIES), fitted.ranked(Documents.of(QUESTIONS), k=K)
    rows = zip(ranked.numbers.tolist(), ranked.scores.tolist(), strict=True)
    return [[(ids[n], score) for n, score in zip(*row, strict=True) if n >= 0] for row in rows]


DOORS = [
    from_a_frame, by_a_writer, by_commands, over_http, over_mcp, by_langchain, by_haystack,
    in_evaluations,
]  # fmt: skip


@pytest.mark.smoke
@pytest.mark.usefixtures("automatic_encoder")
@pytest.mark.parametrize("door", DOORS)
def test_every_door_gives_the_same_hits_for_the_same_file_and_question(door, run, tmp_path):
    pytest.importorskip("softcosine_minilm", reason="needs the encoder, which is not installed")
    pytest.importorskip("onnxruntime", reason="needs the encoder, which is not installed")
    file = tmp_path / "faq.jsonl"
    records = [json.dumps({"id": id, "text": text}) for id, text in ENTRIES.items()]
    file.write_text("\n".join(records), "utf-8")
    wanted = from_texts(None, file, run)
    assert [answer[0][0] for answer in wanted[:4]] == ["login", "broken", "vegan", "Q-7712"]
    for found, answer in zip(door(tmp_path / "made", file, run), wanted, strict=True):
        assert [id for id, _ in found] == [id for id, _ in answer]
        assert [score for _, score in found] == pytest.approx([score for _, score in answer])


NOTES = [
    ({"where": {"lnag": "en"}}, "No document passes the filter. No document has the key 'lnag'"),
    ({"where": {"n": {">": 9}}}, "No document passes the filter"),
    ({"where": {"n": "9"}}, "No document passes the filter. 'n' is a number and is compared with "
     "text; compare with a number, without quotation marks"),
    ({"sort": "-nn"}, "No document has the key 'nn'; sort ignores it"),
    ({"facets": ["n", "nn"]}, "No document has the key 'nn'; facets ignores it"),
    ({"sort": "n", "facets": ["n"], "where": {"n": 1}}, ""),
]  # fmt: skip


@pytest.mark.parametrize(("options", "note"), NOTES)
def test_every_door_says_which_keys_no_document_has(options, note, run, tmp_path):
    testing = pytest.importorskip("starlette.testclient")
    from serve_answers import bridge
    from softcosine.serve import ServeSettings, create_app

    index = sc.SoftIndex.from_texts(["green tea", "a cup of tea"], metadata=[{"n": 1}, {"n": 2}])
    index.save(tmp_path / "faq")
    assert index.search("tea", **options).note == note
    (found,) = talk(index, ("search", {"query": "tea", **options}))
    assert found["note"] == note
    given = [("--where", json.dumps(options["where"]))] if "where" in options else []
    given += [("--sort", options["sort"])] if "sort" in options else []
    given += [("--facet", key) for key in options.get("facets", ())]
    asked = ("search", tmp_path / "faq", "tea", *(word for pair in given for word in pair))
    assert json.loads(run(*asked, "--json"))["note"] == note
    assert note in " ".join(run(*asked).split())
    with testing.TestClient(create_app(ServeSettings(tmp_path))) as server:
        remote = sc.Client("http://server", transport=bridge(server)).index("faq")
        assert remote.search("tea", **options).note == note
    if "where" in options:
        assert index.similar("0", where=options["where"]).note == note
        (found,) = talk(index, ("similar", {"id": "0", "where": options["where"]}))
        assert found["note"] == note
