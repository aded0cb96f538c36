"""Thesauri as sources of term similarity: synonym files and WordNet.

- ``thesaurus.py``: `ThesaurusSimilarity`, the source;
- ``synonym_files.py``: readers of synonym files, with a table of the formats;
- ``wordnet_files.py``: the reader of WordNet; ``wordnet.py``: its graph;
- ``concepts.py``: the table of words and concepts that both become.
"""
