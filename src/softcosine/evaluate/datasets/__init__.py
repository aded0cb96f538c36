"""Judged collections of every kind, from files as they are published: `load` reads them all."""

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
