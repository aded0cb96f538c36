"""Synonyms, WordNet and lists of pairs."""
