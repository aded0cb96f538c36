"""Draw the pictures of ``docs/pictures.md``: ``python makers/example_pictures.py``.

They show the names of Python's Unicode symbols, as ``softcosine demo`` does, so that anybody can
draw them again. Another version of Python knows other symbols, and another one of matplotlib draws
them a little otherwise. Takes about half a minute.
"""

from __future__ import annotations

from pathlib import Path

import softcosine as sc
from softcosine.cli.symbols import symbols
from softcosine.evaluate.plots.drawing import Picture
from softcosine.plots import explanation_bars, similarity_heat_map, word_heat_map

FOLDER = Path(__file__).parent.parent / "docs" / "pictures"
QUERY = "sick kitten"
CRYING_CAT = "\N{CRYING CAT FACE}"


def main() -> None:
    """Index the symbols and draw."""
    names = symbols()
    index = sc.SoftIndex.from_texts(
        list(names.values()),
        ids=list(names),
        source=sc.EmbeddingSimilarity.english(),
        ranking="soft_cosine",
    )
    hits = index.search(QUERY, k=20)
    labels = [f"{rank}. {hit.text}" for rank, hit in enumerate(hits, 1)]
    pictures: dict[str, Picture] = {
        "documents": similarity_heat_map(index, hits.ids, labels=labels, title=QUERY),
        "words": word_heat_map(index, ["kitten", "sick", "music", "weather"], k=6),
        "explanation": explanation_bars(index.explain("face of a weeping kitten", CRYING_CAT)),
    }
    FOLDER.mkdir(exist_ok=True)
    for name, picture in pictures.items():
        path = FOLDER / f"{name}.png"
        # Coarser than they are saved otherwise: a repository keeps every version for good.
        picture.figure().savefig(path, dpi=72)
        print(f"{path.name}: {path.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
