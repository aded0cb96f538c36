"""Term similarity sources: objects that give the similarity of two terms.

A source works with strings. It has no row numbers, limits per column or definiteness; those belong
to the term similarity matrix (`softcosine.matrix`).

- ``source.py``: the protocol `TermSimilaritySource`, and how sources are stored;
- ``registry.py``: sources by name (``"english"``) or file (``"thesaurus:synonyms.txt"``);
- ``pairs.py``: similarities given pair by pair;
- ``embeddings/``, ``thesaurus/``, ``cooccurrence/``, ``spelling/``: the other kinds of sources;
- ``combine/``: several sources joined into one;
- ``overrides/``: your decisions about words, antonyms, and the guard;
- ``provenance.py``: which source a similarity comes from.
"""
