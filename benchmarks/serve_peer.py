"""A peer behind the same stack as the server: FastAPI on uvicorn, answers by orjson, in threads.

Run ``python benchmarks/serve_peer.py PEER TEXTS``; `serve.py` does. TEXTS is a JSON list. It prints
its address, and answers ``POST .../search`` with ids, scores and texts, without highlights.
"""

from __future__ import annotations

import json
import socket
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import orjson
import uvicorn
from fastapi import FastAPI
from pydantic import BaseModel
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

Search = Callable[[str, int], list[tuple[int, float]]]


class Query(BaseModel):
    """A search."""

    q: str
    k: int = 10


def bm25s(texts: Sequence[str]) -> Search:
    import bm25s as library

    retriever = library.BM25(backend="numba")
    retriever.index(library.tokenize(list(texts), show_progress=False), show_progress=False)

    def search(query: str, k: int) -> list[tuple[int, float]]:
        words = library.tokenize([query], return_ids=False, show_progress=False)
        known = [[word for word in words[0] if word in retriever.vocab_dict]]
        if not known[0]:
            return []
        found, scores = retriever.retrieve(known, k=min(k, len(texts)), show_progress=False)
        return list(zip(found[0].tolist(), scores[0].tolist(), strict=True))

    return search


def tantivy(texts: Sequence[str]) -> Search:
    import tantivy as library

    schema = library.SchemaBuilder()
    schema.add_text_field("text", tokenizer_name="en_stem")
    schema.add_unsigned_field("number", stored=True)
    index = library.Index(schema.build())
    writer = index.writer()
    for number, text in enumerate(texts):
        writer.add_document(library.Document(text=text, number=number))
    writer.commit()
    index.reload()
    searcher = index.searcher()

    def search(query: str, k: int) -> list[tuple[int, float]]:
        parsed, _ = index.parse_query_lenient(query, ["text"])
        hits = searcher.search(parsed, k, count=False).hits
        return [(searcher.doc(place)["number"][0], score) for score, place in hits]

    return search


PEERS: dict[str, Callable[[Sequence[str]], Search]] = {"bm25s": bm25s, "tantivy": tantivy}


def served(search: Search, texts: Sequence[str]) -> FastAPI:
    app = FastAPI()

    def answer(body: Query) -> bytes:
        hits = search(body.q, body.k)
        return orjson.dumps(
            {"hits": [{"id": str(n), "score": score, "text": texts[n]} for n, score in hits]}
        )

    @app.post("/v1/indexes/symbols/search")
    async def search_route(body: Query) -> Response:
        content = await run_in_threadpool(answer, body)
        return Response(content, media_type="application/json")

    return app


def main() -> None:
    texts = json.loads(Path(sys.argv[2]).read_text())
    app = served(PEERS[sys.argv[1]](texts), texts)
    # asyncio sends at once (TCP_NODELAY) on connections of sockets of this protocol alone.
    with socket.socket(proto=socket.IPPROTO_TCP) as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen()
        print(f"http://127.0.0.1:{listening.getsockname()[1]}", flush=True)
        config = uvicorn.Config(app, log_level="error", access_log=False)
        uvicorn.Server(config).run(sockets=[listening])


if __name__ == "__main__":
    main()
