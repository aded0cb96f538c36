"""A peer behind the same stack as the server: Starlette on uvicorn, answers by msgspec, in threads.

Run ``python benchmarks/serve_peer.py PEER TEXTS``; `serve.py` does. TEXTS is a JSON list. It prints
its address, and answers ``POST .../search`` with ids, scores and texts, without highlights.
"""

from __future__ import annotations

import json
import socket
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec
import uvicorn
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

Search = Callable[[str, int], list[tuple[int, float]]]


class Query(msgspec.Struct):
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


def served(search: Search, texts: Sequence[str]) -> Starlette:
    def answer(body: Query) -> bytes:
        hits = search(body.q, body.k)
        return msgspec.json.encode(
            {"hits": [{"id": str(n), "score": score, "text": texts[n]} for n, score in hits]}
        )

    async def search_route(request: Request) -> Response:
        body = msgspec.json.decode(await request.body(), type=Query)
        content = await run_in_threadpool(answer, body)
        return Response(content, media_type="application/json")

    path = "/v1/indexes/symbols/search"
    return Starlette(routes=[Route(path, search_route, methods=["POST"])])


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
