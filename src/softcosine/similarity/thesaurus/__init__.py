"""Thesauri as sources of term similarity: synonym files.

- ``thesaurus.py``: `ThesaurusSimilarity`, the source;
- ``synonym_files.py``: readers of synonym files, with a table of the formats;
- ``concepts.py``: the table of words and concepts that every thesaurus becomes.
"""
