"""Text analysis: from texts to term counts and weights.

- ``analyzer.py``: `Analyzer`, the rules by which a text becomes terms; ``words.py``: the tokenizer;
- ``corpus.py``: `analyze`, a whole corpus at once; ``stream.py``: corpora larger than memory;
- ``vocabulary.py``: `Vocabulary`, the numbered terms with their document frequencies;
- ``weighting.py``: `Weighting`, tf-idf and BM25;
- ``language.py``: language detection; ``stop_words.py``: stop word lists.
"""
