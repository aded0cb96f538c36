"""Search and similarity in the soft vector space model.

Cosine similarity counts only the terms that two texts share, so *dead* and *killed* have nothing in
common. Soft cosine adds a sparse matrix of term similarities. It is computed exactly, on an
inverted index.

Importing this package is cheap: each name is loaded at its first use.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from softcosine.version import __version__

_HOMES = {
    "Analyzer": "softcosine.text.analyzer",
    "Antonyms": "softcosine.similarity.overrides.antonyms",
    "AsyncClient": "softcosine.client",
    "CharacterNgramSimilarity": "softcosine.similarity.spelling.character_ngrams",
    "Client": "softcosine.client",
    "CooccurrenceSimilarity": "softcosine.similarity.cooccurrence.cooccurrence",
    "Decisions": "softcosine.similarity.overrides.decision_list",
    "EditDistanceSimilarity": "softcosine.similarity.spelling.edit_distance",
    "EmbeddingSimilarity": "softcosine.similarity.embeddings.embedding",
    "EncoderSimilarity": "softcosine.similarity.embeddings.encoder",
    "FirstStage": "softcosine.index.requests",
    "Guarded": "softcosine.similarity.overrides.guard",
    "IndexWriter": "softcosine.index.writer.index_writer",
    "Matches": "softcosine.sklearn.soft_neighbors",
    "MeaningSpace": "softcosine.space.meaning",
    "MergePolicy": "softcosine.index.writer.merging",
    "Neighbors": "softcosine.similarity.neighbors",
    "OnnxEncoder": "softcosine.encoders.onnx_encoder",
    "OrthonormalBasis": "softcosine.space.basis",
    "PairSimilarity": "softcosine.similarity.pairs",
    "ShardedIndex": "softcosine.cluster.sharded_index",
    "ShardPlan": "softcosine.cluster.plan",
    "SoftIndex": "softcosine.index.soft_index",
    "SoftNeighbors": "softcosine.sklearn.soft_neighbors",
    "SimilarityRecipe": "softcosine.matrix.recipe",
    "TermSimilarityMatrix": "softcosine.matrix.term_similarity_matrix",
    "TermSimilaritySource": "softcosine.similarity.source",
    "ThesaurusSimilarity": "softcosine.similarity.thesaurus.thesaurus",
    "Vocabulary": "softcosine.text.vocabulary",
    "Weighting": "softcosine.text.weighting",
    "Where": "softcosine.index.query.filters",
    "analyze": "softcosine.text.corpus",
    "cosine_documents": "softcosine.space.transforms",
    "cosine_queries": "softcosine.space.transforms",
    "decided": "softcosine.similarity.overrides.decisions",
    "estimate_fill_in": "softcosine.space.fill_in",
    "expand_queries": "softcosine.space.transforms",
    "first": "softcosine.similarity.combine.combined",
    "fit_meaning": "softcosine.space.table_fitting",
    "load_encoder": "softcosine.encoders.loading",
    "load_meaning": "softcosine.space.meaning_file",
    "save_meaning": "softcosine.space.meaning_file",
    "noisy_or": "softcosine.similarity.combine.combined",
    "origins": "softcosine.similarity.provenance",
    "orthonormal_basis": "softcosine.space.basis",
    "paired_soft_cosine_similarity": "softcosine.space.measures",
    "paired_soft_inner_product": "softcosine.space.measures",
    "pinned": "softcosine.similarity.overrides.decisions",
    "read_decisions": "softcosine.similarity.overrides.decision_files",
    "scaled": "softcosine.similarity.combine.combined",
    "soft_cosine_distances": "softcosine.space.measures",
    "soft_cosine_similarity": "softcosine.space.measures",
    "soft_inner_product": "softcosine.space.measures",
    "soft_norm": "softcosine.space.measures",
    "sparse_soft_cosine_similarity": "softcosine.space.measures",
    "strongest": "softcosine.similarity.combine.combined",
    "unit_documents": "softcosine.space.transforms",
    "using_deadline": "softcosine._deadline",
    "using_threads": "softcosine._threads",
    "without": "softcosine.similarity.overrides.decisions",
}

_MODULES = ("errors", "evaluate", "lab", "plots")

__all__ = ["__version__", *_MODULES, *_HOMES]

if TYPE_CHECKING:
    from softcosine import errors as errors
    from softcosine import evaluate as evaluate
    from softcosine import lab as lab
    from softcosine import plots as plots
    from softcosine._deadline import using_deadline as using_deadline
    from softcosine._threads import using_threads as using_threads
    from softcosine.client import AsyncClient as AsyncClient
    from softcosine.client import Client as Client
    from softcosine.cluster.plan import ShardPlan as ShardPlan
    from softcosine.cluster.sharded_index import ShardedIndex as ShardedIndex
    from softcosine.encoders.loading import load_encoder as load_encoder
    from softcosine.encoders.onnx_encoder import OnnxEncoder as OnnxEncoder
    from softcosine.index.query.filters import Where as Where
    from softcosine.index.requests import FirstStage as FirstStage
    from softcosine.index.soft_index import SoftIndex as SoftIndex
    from softcosine.index.writer.index_writer import IndexWriter as IndexWriter
    from softcosine.index.writer.merging import MergePolicy as MergePolicy
    from softcosine.matrix.recipe import SimilarityRecipe as SimilarityRecipe
    from softcosine.matrix.term_similarity_matrix import (
        TermSimilarityMatrix as TermSimilarityMatrix,
    )
    from softcosine.similarity.combine.combined import first as first
    from softcosine.similarity.combine.combined import noisy_or as noisy_or
    from softcosine.similarity.combine.combined import scaled as scaled
    from softcosine.similarity.combine.combined import strongest as strongest
    from softcosine.similarity.cooccurrence.cooccurrence import (
        CooccurrenceSimilarity as CooccurrenceSimilarity,
    )
    from softcosine.similarity.embeddings.embedding import (
        EmbeddingSimilarity as EmbeddingSimilarity,
    )
    from softcosine.similarity.embeddings.encoder import EncoderSimilarity as EncoderSimilarity
    from softcosine.similarity.neighbors import Neighbors as Neighbors
    from softcosine.similarity.overrides.antonyms import Antonyms as Antonyms
    from softcosine.similarity.overrides.decision_files import read_decisions as read_decisions
    from softcosine.similarity.overrides.decision_list import Decisions as Decisions
    from softcosine.similarity.overrides.decisions import decided as decided
    from softcosine.similarity.overrides.decisions import pinned as pinned
    from softcosine.similarity.overrides.decisions import without as without
    from softcosine.similarity.overrides.guard import Guarded as Guarded
    from softcosine.similarity.pairs import PairSimilarity as PairSimilarity
    from softcosine.similarity.provenance import origins as origins
    from softcosine.similarity.source import TermSimilaritySource as TermSimilaritySource
    from softcosine.similarity.spelling.character_ngrams import (
        CharacterNgramSimilarity as CharacterNgramSimilarity,
    )
    from softcosine.similarity.spelling.edit_distance import (
        EditDistanceSimilarity as EditDistanceSimilarity,
    )
    from softcosine.similarity.thesaurus.thesaurus import ThesaurusSimilarity as ThesaurusSimilarity
    from softcosine.sklearn.soft_neighbors import Matches as Matches
    from softcosine.sklearn.soft_neighbors import SoftNeighbors as SoftNeighbors
    from softcosine.space.basis import OrthonormalBasis as OrthonormalBasis
    from softcosine.space.basis import orthonormal_basis as orthonormal_basis
    from softcosine.space.fill_in import estimate_fill_in as estimate_fill_in
    from softcosine.space.meaning import MeaningSpace as MeaningSpace
    from softcosine.space.meaning_file import load_meaning as load_meaning
    from softcosine.space.meaning_file import save_meaning as save_meaning
    from softcosine.space.measures import (
        paired_soft_cosine_similarity as paired_soft_cosine_similarity,
    )
    from softcosine.space.measures import paired_soft_inner_product as paired_soft_inner_product
    from softcosine.space.measures import soft_cosine_distances as soft_cosine_distances
    from softcosine.space.measures import soft_cosine_similarity as soft_cosine_similarity
    from softcosine.space.measures import soft_inner_product as soft_inner_product
    from softcosine.space.measures import soft_norm as soft_norm
    from softcosine.space.measures import (
        sparse_soft_cosine_similarity as sparse_soft_cosine_similarity,
    )
    from softcosine.space.table_fitting import fit_meaning as fit_meaning
    from softcosine.space.transforms import cosine_documents as cosine_documents
    from softcosine.space.transforms import cosine_queries as cosine_queries
    from softcosine.space.transforms import expand_queries as expand_queries
    from softcosine.space.transforms import unit_documents as unit_documents
    from softcosine.text.analyzer import Analyzer as Analyzer
    from softcosine.text.corpus import analyze as analyze
    from softcosine.text.vocabulary import Vocabulary as Vocabulary
    from softcosine.text.weighting import Weighting as Weighting


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return import_module(f"softcosine.{name}")
    if name in _HOMES:
        globals()[name] = value = getattr(import_module(_HOMES[name]), name)
        return value
    raise AttributeError(f"module 'softcosine' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
