"""The laboratory: methods of papers that no measurement of this project recommends.

The core never imports it. Recipes and the command line find its sources by name, because
``softcosine.lab.sources`` registers them as entry points; import everything else from here.
docs/lab.md gives the measured effect of each method, by collection.

==================  ============================================================================
``snos/``           similarities learned from a graph: `SnosSimilarity`, `SNOS`, `snos.snos`
``syntactic/``      paths of dependency trees as terms
``regression/``     similarities by the regression of each term on all others
``term_pairs/``     similarities of pairs of terms, learned from preferences between documents
``text_pairs/``     soft cardinality, alignment, and a ranking of pairs learned from such measures
``phonetic.py``     words with the same pronunciation
``wordnet/``        similarity by WordNet: path, Wu & Palmer, Lin
==================  ============================================================================

Importing this package is cheap: each name is loaded at its first use.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from softcosine.lab.phonetic import PhoneticSimilarity as PhoneticSimilarity
    from softcosine.lab.regression.source import RegressionSimilarity as RegressionSimilarity
    from softcosine.lab.snos.estimator import SNOS as SNOS
    from softcosine.lab.snos.source import SnosSimilarity as SnosSimilarity
    from softcosine.lab.syntactic.dependency import SyntacticNgrams as SyntacticNgrams
    from softcosine.lab.syntactic.source import SyntacticSimilarity as SyntacticSimilarity
    from softcosine.lab.term_pairs.pair_weights import LearnedPairWeights as LearnedPairWeights
    from softcosine.lab.term_pairs.pair_weights import bm25_vectors as bm25_vectors
    from softcosine.lab.term_pairs.pair_weights import held_out_losses as held_out_losses
    from softcosine.lab.term_pairs.pair_weights import learn_pair_weights as learn_pair_weights
    from softcosine.lab.term_pairs.preferences import Preferences as Preferences
    from softcosine.lab.text_pairs.alignment import paired_alignment as paired_alignment
    from softcosine.lab.text_pairs.cardinality import (
        paired_soft_cardinalities as paired_soft_cardinalities,
    )
    from softcosine.lab.text_pairs.cardinality import (
        paired_soft_set_similarity as paired_soft_set_similarity,
    )
    from softcosine.lab.text_pairs.cardinality import soft_cardinality as soft_cardinality
    from softcosine.lab.text_pairs.cardinality import soft_set_similarity as soft_set_similarity
    from softcosine.lab.text_pairs.pair_features import PairFeatures as PairFeatures
    from softcosine.lab.text_pairs.pair_measures import PairMeasure as PairMeasure
    from softcosine.lab.text_pairs.reranker import PairReranker as PairReranker
    from softcosine.lab.text_pairs.taught_vectors import TaughtVectors as TaughtVectors
    from softcosine.lab.wordnet import wordnet_similarity as wordnet_similarity

_HOMES = {
    "LearnedPairWeights": "term_pairs.pair_weights",
    "PairFeatures": "text_pairs.pair_features",
    "PairMeasure": "text_pairs.pair_measures",
    "PairReranker": "text_pairs.reranker",
    "PhoneticSimilarity": "phonetic",
    "Preferences": "term_pairs.preferences",
    "RegressionSimilarity": "regression.source",
    "SNOS": "snos.estimator",
    "SnosSimilarity": "snos.source",
    "SyntacticNgrams": "syntactic.dependency",
    "SyntacticSimilarity": "syntactic.source",
    "TaughtVectors": "text_pairs.taught_vectors",
    "bm25_vectors": "term_pairs.pair_weights",
    "held_out_losses": "term_pairs.pair_weights",
    "learn_pair_weights": "term_pairs.pair_weights",
    "paired_alignment": "text_pairs.alignment",
    "paired_soft_cardinalities": "text_pairs.cardinality",
    "paired_soft_set_similarity": "text_pairs.cardinality",
    "soft_cardinality": "text_pairs.cardinality",
    "soft_set_similarity": "text_pairs.cardinality",
    "wordnet_similarity": "wordnet",
}

__all__ = [*_HOMES]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'softcosine.lab' has no attribute {name!r}")
    return getattr(import_module(f"softcosine.lab.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
