"""Short names of sources, for explanations."""

from __future__ import annotations

import re

from softcosine.similarity.embeddings.deferred_table import DeferredTable
from softcosine.similarity.embeddings.embedding import EmbeddingSimilarity
from softcosine.similarity.embeddings.english import english_table
from softcosine.similarity.in_terms import ListInTerms
from softcosine.similarity.source import TermSimilaritySource

# Short names that differ from the class name, keyed by class name: no optional module is imported.
_NAMES = {
    "EmbeddingSimilarity": "vectors",
    "CooccurrenceSimilarity": "texts",
    "DistilledSimilarity": "distilled",
    "EditDistanceSimilarity": "spelling",
    "CharacterNgramSimilarity": "n-grams",
    "PhoneticSimilarity": "sound",
    "PairSimilarity": "pairs",
    "SyntacticSimilarity": "syntax",
}


def name_of(source: TermSimilaritySource) -> str:
    """Return the short name of a source, such as "english", "texts" or "vectors".

    If a source has an attribute `name`, this is its short name (a thesaurus: the name of its file,
    or "wordnet by path"). Otherwise the name depends on the class.

    Examples
    --------
    >>> name_of(EmbeddingSimilarity(["tyre", "tire"], [[3, 4], [4, 3]]))
    'vectors'
    """
    if isinstance(source, ListInTerms):
        source = source.source
    own = getattr(source, "name", None)
    if isinstance(own, str) and own:
        return own
    if isinstance(source, EmbeddingSimilarity) and _is_english(source):
        return "english"
    kind = type(source).__name__
    plain = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", kind.removesuffix("Similarity") or kind).lower()
    return _NAMES.get(kind, plain)


def _is_english(source: EmbeddingSimilarity) -> bool:
    """Whether a source uses the bundled English table, or a copy of it."""
    if isinstance(source.table, DeferredTable) and source.table.bundled:
        return True
    table = english_table()
    return len(source) == len(table) and source.words == table.words
