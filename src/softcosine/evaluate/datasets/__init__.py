"""Data sets with judgements, and the readers of their files; `load` reads every format.

- `loading`: `load`, which recognises the format.
- `ranking`: `RankingSet`, queries with judged documents; `collections` and `trec` read the files
  of retrieval collections, `questions` those of question ranking.
- `classification`: `ClassificationSet`, documents with labels.
- `pairs`: `PairSet` and `WordPairSet`, pairs with scores.
- `grades`: meaning of the numbers in judgements.
"""

from softcosine.evaluate.datasets.classification import ClassificationSet, Split, seeded_splits
from softcosine.evaluate.datasets.collections import read_collection, read_qrels
from softcosine.evaluate.datasets.loading import DataSet, load
from softcosine.evaluate.datasets.pairs import PairSet, WordPairSet
from softcosine.evaluate.datasets.ranking import RankingSet

__all__ = [
    "ClassificationSet",
    "DataSet",
    "PairSet",
    "RankingSet",
    "Split",
    "WordPairSet",
    "load",
    "read_collection",
    "read_qrels",
    "seeded_splits",
]
