"""The same file and question through every door: the same hits, by the installed encoder."""

from __future__ import annotations

import asyncio
import json

import pytest

import softcosine as sc

pytest.importorskip("softcosine_minilm", reason="needs the encoder, which is not installed")
pytest.importorskip("onnxruntime", reason="needs the encoder, which is not installed")

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


def over_mcp(path, file, run):
    mcp = pytest.importorskip("mcp")
    from softcosine.mcp.server import mcp_server

    documents = [{"id": id, "text": text} for id, text in ENTRIES.items()]

    async def talk():
        async with mcp.Client(mcp_server({"faq": sc.SoftIndex.create()}, writable=True)) as client:
            await client.call_tool("add_documents", {"documents": documents})
            asked = [{"query": question, "k": K} for question in QUESTIONS]
            return [(await client.call_tool("search", one)).structured_content for one in asked]

    answers = asyncio.run(talk())
    return [[(hit["id"], hit["score"]) for hit in one["hits"]] for one in answers]


def by_langchain(path, file, run):
    pytest.importorskip("langchain_core")
    from softcosine.integrations.langchain import SoftVectorStore

    store = SoftVectorStore.from_texts(list(ENTRIES.values()), ids=list(ENTRIES), fill=False)
    answers = (store.similarity_search_with_score(question, k=K) for question in QUESTIONS)
    return [[(document.id, score) for document, score in one] for one in answers]


def by_haystack(path, file, run):
    pytest.importorskip("haystack")
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


@pytest.mark.usefixtures("automatic_encoder")
@pytest.mark.parametrize("door", DOORS)
def test_every_door_gives_the_same_hits_for_the_same_file_and_question(door, run, tmp_path):
    file = tmp_path / "faq.jsonl"
    records = [json.dumps({"id": id, "text": text}) for id, text in ENTRIES.items()]
    file.write_text("\n".join(records), "utf-8")
    wanted = from_texts(None, file, run)
    assert [answer[0][0] for answer in wanted[:4]] == ["login", "broken", "vegan", "Q-7712"]
    for found, answer in zip(door(tmp_path / "made", file, run), wanted, strict=True):
        assert [id for id, _ in found] == [id for id, _ in answer]
        assert [score for _, score in found] == pytest.approx([score for _, score in answer])
