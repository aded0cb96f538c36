"""A small judged collection in which similar words help: queries and documents differ in words."""

from __future__ import annotations

import json
from pathlib import Path

from softcosine.evaluate.datasets.ranking import RankingSet
from softcosine.evaluate.documents import Documents

# Of each topic, what documents say, and what people ask.
TOPICS = (
    (["car", "engine", "road", "driver"], ["automobile motor", "vehicle highway", "cars driving"]),
    (["doctor", "illness", "fever"], ["physician disease", "sick flu", "doctors illness"]),
    (["film", "actor", "scene"], ["movie actress", "cinema drama", "films acting"]),
    (["ship", "sea", "sailor"], ["boat ocean", "vessel harbour", "ships sailing"]),
    (["bread", "flour", "oven"], ["loaf baking", "dough bakery", "breads cooking"]),
    (["money", "bank", "loan"], ["cash credit", "finance debt", "banks lending"]),
)
FILLERS = ["the", "and", "of", "in", "a", "with", "for", "some", "more", "other"]


def judged_set(*, fields: bool = False, candidates: bool = False, splits: bool = False):
    """Return 18 queries on 24 documents, in one field or in a title and a text."""
    titles, texts, ids, gains = [], [], [], {}
    for topic, (words, _) in enumerate(TOPICS):
        for number in range(4):
            said = [words[(number + i) % len(words)] for i in range(2)]
            other = TOPICS[(topic + 1 + number) % len(TOPICS)][0][0]
            filler = FILLERS[(topic + number) % len(FILLERS)]
            titles.append(f"{said[0]} {filler}")
            texts.append(f"{filler} {said[1]} {' '.join(FILLERS[: number + 1])} {other}")
            ids.append(f"d{topic}{number}")
    queries, asked, parts = [], [], {}
    for topic, (_, questions) in enumerate(TOPICS):
        for number, question in enumerate(questions):
            query = f"q{topic}{number}"
            queries.append(query)
            asked.append(f"the {question}")
            gains[query] = {f"d{topic}{i}": 1 + (i == 0) for i in range(4)}
            parts[query] = ("train", "dev", "test")[number]
    listed = None
    if candidates:
        listed = {
            query: tuple(id for id in ids if id[1] in (query[1], str((int(query[1]) + 1) % 6)))
            for query in queries
        }
    columns = {"title": titles, "text": texts} if fields else {"text": texts}
    if not fields:
        columns = {"text": [f"{a} {b}" for a, b in zip(titles, texts, strict=True)]}
    return RankingSet(
        "toy", Documents(tuple(ids), columns), Documents(tuple(queries), {"text": asked}), gains,
        candidates=listed, splits=parts if splits else None,
    )  # fmt: skip


def written(folder: Path, found: RankingSet) -> Path:
    """Write a collection as a folder of documents, queries and qrels."""
    folder.mkdir()
    documents = found.documents
    with (folder / "corpus.jsonl").open("w", encoding="utf-8") as file:
        for number, id in enumerate(documents.ids):
            texts = {name: column[number] for name, column in documents.fields.items()}
            file.write(json.dumps({"id": id, **texts}) + "\n")
    with (folder / "queries.jsonl").open("w", encoding="utf-8") as file:
        for id, text in zip(found.queries.ids, found.queries.texts, strict=True):
            file.write(json.dumps({"id": id, "text": text}) + "\n")
    lines = [f"{q}\t{d}\t{g}\n" for q, judged in found.qrels.items() for d, g in judged.items()]
    (folder / "qrels.tsv").write_text("query-id\tcorpus-id\tscore\n" + "".join(lines))
    return folder
